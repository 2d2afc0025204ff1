"""Keeping the best values: only what is better replaces an entry, and nothing that contradicts it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from spotbag.core.errors import SpotbagError
from spotbag.experiments.bags.best_known import Update, better_entry, stored_plan, update_best_known
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.best_known import BestKnown, best_known, best_known_plan_path, format_best_known
from spotbag.instances.library import library_instance
from spotbag.solvers.bags.result import Result
from spotbag.solvers.bags.solve import solve

NAME = "hads/J60"


@pytest.fixture(scope="module")
def good() -> Result:
    return solve(library_instance(NAME), "lpt")


@pytest.fixture(scope="module")
def bad() -> Result:
    return solve(library_instance(NAME), "greedy")


def update(file: Path, method: str, name: str = NAME) -> Update:
    [found] = update_best_known([name], version="9.9", method=method, time_limit_s=5.0, file=file)
    return found


def entry_of(result: Result) -> BestKnown:
    entry = better_entry(None, result, "1.0")
    assert entry is not None
    return entry


def test_the_first_result_makes_the_entry(good: Result) -> None:
    entry = entry_of(good)
    assert good.schedule is not None
    assert (entry.value, entry.bound) == (good.objective, good.bound)
    assert (entry.cost_usd, entry.makespan_s) == (good.schedule.cost_usd, good.schedule.makespan_s)
    assert (entry.status, entry.method, entry.bound_method, entry.version) == ("feasible", "lpt", "lpt", "1.0")


def test_a_worse_result_changes_nothing_and_a_better_one_replaces_the_plan(good: Result, bad: Result) -> None:
    best = entry_of(good)
    assert better_entry(best, bad, "2.0") is best
    replaced = better_entry(entry_of(bad), good, "2.0")
    assert replaced is not None
    assert (replaced.value, replaced.method, replaced.version) == (best.value, "lpt", "2.0")
    assert replaced.bound_method == "greedy"  # the same bound: who proved it first


def test_a_bound_of_plans_that_survive_is_none_of_an_entry(good: Result) -> None:
    assert good.bound is not None
    known = entry_of(dataclasses.replace(good, bound=good.objective, bound_without=good.bound))
    assert (known.bound, known.status) == (good.bound, "feasible")


def test_the_larger_bound_is_retained_whatever_the_plan(good: Result, bad: Result) -> None:
    assert bad.bound is not None
    before = entry_of(good)
    stronger = dataclasses.replace(bad, bound=bad.bound * 1.01)
    after = better_entry(before, stronger, "2.0")
    assert after is not None
    assert (after.value, after.method) == (before.value, "lpt")
    assert (after.bound, after.bound_method) == (bad.bound * 1.01, "greedy")
    weaker = dataclasses.replace(good, bound=0.01)
    assert better_entry(after, weaker, "3.0") is after


def test_a_bound_that_meets_the_value_makes_it_optimal(good: Result) -> None:
    assert good.objective is not None
    proved = better_entry(entry_of(good), dataclasses.replace(good, bound=good.objective * (1 + 1e-12)), "2.0")
    assert proved is not None
    assert (proved.status, proved.bound) == ("optimal", proved.value)


def test_a_bound_above_the_best_value_is_an_error(good: Result, bad: Result) -> None:
    assert good.objective is not None
    before = entry_of(good)
    with pytest.raises(SpotbagError, match="is above the plan of lpt"):
        better_entry(before, dataclasses.replace(bad, bound=good.objective * 1.001), "2.0")
    with pytest.raises(SpotbagError, match="is above the plan of lpt"):
        better_entry(before, dataclasses.replace(bad, schedule=None, bound=float("inf")), "2.0")


def test_a_plan_that_the_checker_does_not_pass_makes_no_entry(good: Result) -> None:
    assert good.schedule is not None
    early = dataclasses.replace(good.schedule, task_start_s=good.schedule.task_start_s * 0)
    with pytest.raises(SpotbagError, match="breaks a rule"):
        better_entry(None, dataclasses.replace(good, schedule=early), "1.0")


def test_no_plan_makes_no_entry(good: Result) -> None:
    assert better_entry(None, dataclasses.replace(good, schedule=None), "1.0") is None


def test_updates_go_from_worse_to_better_and_never_back(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    first = update(file, "greedy")
    assert (first.change, first.before) == ("new", None)
    second = update(file, "lpt")
    assert second.change == "better plan"
    assert second.before == first.after
    written = file.read_bytes()
    third = update(file, "greedy")
    assert (third.change, third.after) == ("none", second.after)
    assert file.read_bytes() == written
    entry = best_known(file)[NAME]
    assert entry == second.after
    plan = stored_plan(with_d_spot(library_instance(NAME)), entry, file)
    assert plan is not None
    assert plan.objective == pytest.approx(entry.value, rel=1e-12)


def test_a_stored_plan_that_is_worse_than_its_entry_or_breaks_a_rule_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    entry = update(file, "greedy").after
    assert entry is not None
    better = entry.model_copy(update={"value": entry.value * 0.9})
    file.write_text(format_best_known([better]))
    found = update(file, "lpt")
    assert (found.change, found.after) == ("error", better)
    assert "its entry says" in found.message
    path = best_known_plan_path(NAME, file)
    path.write_text(path.read_text().replace('"core": 1', '"core": 0'))
    assert "breaks a rule" in update(file, "lpt").message
    assert best_known(file) == {NAME: better}


def test_a_better_stored_plan_puts_its_entry_right(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    entry = update(file, "lpt").after
    assert entry is not None
    file.write_text(format_best_known([entry.model_copy(update={"value": entry.value * 1.5})]))
    found = update(file, "greedy")
    assert found.change == "better plan"
    assert found.after is not None
    assert found.after.value == pytest.approx(entry.value, rel=1e-12)


def test_a_method_that_refuses_leaves_the_entry_alone(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    found = update(file, "patterns", "tiny/memory-parts-them")
    assert (found.change, found.after) == ("error", None)
    assert "memory" in found.message
    assert not file.exists()
