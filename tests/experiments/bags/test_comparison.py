"""Comparisons: rows of runs, what they are measured by, means of plans only, files."""

from __future__ import annotations

import csv
import io
import json
import math
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spotbag.core.errors import InputError, ModelRefusal
from spotbag.core.limits import current_limit
from spotbag.experiments.bags.cells import Finished, Source
from spotbag.experiments.bags.comparison import (
    Case,
    Row,
    as_object,
    format_rows_csv,
    format_rows_json,
    known_values,
    make_references,
    row_of,
    run_case,
    same_problem,
    summarise,
    total_by_method,
)
from spotbag.experiments.bags.run import run_experiment
from spotbag.experiments.bags.specification import Specification
from spotbag.instances.bags.best_known import BestKnown, best_known
from spotbag.instances.library import library_instance

TWO_CORES = library_instance("tiny/two-cores")
KNOWN = BestKnown(
    instance="x",
    value=8.0,
    bound=6.0,
    status="feasible",
    cost_usd=1.0,
    makespan_s=10,
    method="auto",
    bound_method="auto",
    version="0.1.0",
)


TWO_METHODS = Specification(instances=["tiny/two-cores"], methods=["greedy", "lpt"])


def runs(asked: Specification, workers: int = 1) -> list[Row]:
    """Rows of an experiment that nobody keeps."""
    found: list[dict[str, Any]] = []
    run_experiment(asked, None, workers=workers, on_cell=lambda cell: found.append(cell.row))
    return [row_of(values) for values in found]


def row(method: str, objective: float | None, bound: float | None = None, seed: int = 0, label: str = "x") -> Row:
    """A run of 2 s; without an objective, one that found no plan."""
    if objective is None:
        return Row(label, method, seed, "no-plan", bound=bound, runtime_s=2.0, reason="task 't' fits nowhere")
    status = "optimal" if objective == bound else "feasible"
    return Row(label, method, seed, status, objective, bound, 2 * objective, int(objective), 2.0)


def test_every_method_meets_every_instance_and_only_seeded_ones_more_than_once() -> None:
    given = {label: Source(label, text=TWO_CORES.to_text()) for label in "ab"}
    asked = Specification(instances=["a", "b"], methods=["lpt", "ils"], seeds=3)
    made = [(cell.source.label, cell.method, cell.seed) for cell in asked.plan_cells(Path(), given)]
    assert made == [(label, *run) for label in "ab" for run in (("lpt", 0), ("ils", 0), ("ils", 1), ("ils", 2))]
    with pytest.raises(InputError, match="is unknown"):
        Specification(instances=["a"], methods=["magic"]).plan_cells(Path(), given)


def test_methods_without_random_numbers_give_the_same_plan_whatever_the_seed() -> None:
    instance = library_instance("hads/J60")
    for method in ("greedy", "lpt"):
        plans = [run_case(Case("a", instance.replace(d_spot_s=1274), method, seed)) for seed in (0, 1)]
        assert len({(plan.cost_usd, plan.makespan_s) for plan in plans}) == 1


def test_a_run_becomes_a_row() -> None:
    found = run_case(Case("two", TWO_CORES, "lpt", 0))
    assert (found.instance, found.method, found.status) == ("two", "lpt", "optimal")
    assert found.objective == pytest.approx(0.3)
    assert found.cost_usd == pytest.approx(0.03)
    assert found.makespan_s == 30
    assert found.runtime_s is not None
    assert found.reason == ""


def test_a_refusal_and_a_run_without_a_plan_become_rows_with_the_reason() -> None:
    refused = run_case(Case("m", library_instance("tiny/memory-parts-them"), "patterns", 0))
    assert (refused.status, refused.objective) == ("refused", None)
    assert "memory" in refused.reason
    late = library_instance("burst-hads/ED200").replace(markets=["spot"])
    stuck = run_case(Case("late", late, "greedy", 0))
    assert stuck.status == "infeasible"
    assert stuck.bound == math.inf
    assert "no plan exists" in stuck.reason
    for row in (refused, stuck):
        assert row_of(as_object(row)) == row


@pytest.mark.xdist_group("processes")
@pytest.mark.slow
def test_runs_in_processes_are_those_of_one_process() -> None:
    asked = Specification(instances=["tiny/two-cores", "tiny/boot"], methods=["greedy", "lpt"])
    alone, together = ({(one.instance, one.method): one.objective for one in runs(asked, n)} for n in (1, 2))
    assert len(alone) == 4
    assert alone == together


def test_an_interrupted_run_is_the_last() -> None:
    def interrupted(case: Case, **limits: Any) -> Row:
        return Row("two", case.method, 0, "no-plan", interrupted=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "spotbag.experiments.bags.comparison.run_case",
            interrupted,
        )
        [entry] = runs(TWO_METHODS)
        assert (entry.method, entry.interrupted) == ("greedy", True)


def test_a_stopped_comparison_has_the_rows_so_far() -> None:
    stop = threading.Event()
    found: list[dict[str, Any]] = []

    def take(cell: Finished) -> None:
        found.append(cell.row)
        stop.set()

    assert run_experiment(TWO_METHODS, None, on_cell=take, stop=stop).interrupted
    assert [(entry["method"], entry.get("interrupted")) for entry in found] == [("greedy", None)]
    assert run_experiment(TWO_METHODS, None, on_cell=take, stop=stop).done == 0
    assert len(runs(TWO_METHODS)) == 2


def test_gaps_are_to_the_best_bound_of_all_methods_and_of_what_is_known() -> None:
    rows = [row("a", 10.0, 4.0), row("b", 9.0, 5.0)]
    reference = make_references(rows, {})["x"]
    assert (reference.best, reference.best_by, reference.bound, reference.bound_by) == (9.0, "b", 5.0, "b")
    assert reference.optimum is None
    known = make_references(rows, {"x": KNOWN})["x"]
    assert (known.best, known.best_by, known.bound, known.bound_by) == (8.0, "best known", 6.0, "best known")
    first, second = summarise(rows, {"x": known})
    assert first.bound_gap_mean == pytest.approx(4 / 10)
    assert second.bound_gap_mean == pytest.approx(3 / 9)
    assert first.optimum_gap_mean is None


def test_an_optimum_proved_by_one_method_measures_the_others() -> None:
    rows = [row("a", 10.0, 4.0), row("b", 8.0, 8.0)]
    references = make_references(rows, {})
    assert references["x"].optimum == 8.0
    first, second = summarise(rows, references)
    assert first.optimum_gap_mean == pytest.approx(0.2)
    assert second.optimum_gap_mean == 0.0
    assert second.always_optimal
    assert not first.always_optimal


def test_a_bound_of_plans_that_survive_is_none_of_a_plan_that_does_not() -> None:
    """It was said to be above the plan, and one of them to be wrong."""
    survivor, other = row("a", 10.0, 10.0), row("b", 8.0, 6.0)
    reference = make_references([replace(survivor, bound_without=7.0), other], {})["x"]
    assert (reference.bound, reference.bound_by, reference.contradiction) == (7.0, "a", "")


def test_a_bound_of_one_method_proves_the_plan_of_another() -> None:
    reference = make_references([row("a", 8.0, 4.0), row("b", 9.0, 8.0)], {})["x"]
    assert (reference.optimum, reference.best_by, reference.bound_by) == (8.0, "a", "b")


def test_a_bound_above_a_plan_is_reported_and_proves_nothing() -> None:
    reference = make_references([row("a", 8.0, 4.0), row("b", 9.0, 8.5)], {})["x"]
    assert reference.optimum is None
    assert "the bound 8.5 of b is above the plan of a, 8" in reference.contradiction


def test_runs_without_a_plan_are_counted_and_never_averaged() -> None:
    rows = [row("a", 10.0, 5.0, 0), row("a", None, 5.0, 1), row("a", 20.0, 5.0, 2)]
    [summary] = summarise(rows, make_references(rows, {}))
    assert (summary.runs, summary.plans) == (3, 2)
    assert summary.statuses == {"feasible": 2, "no-plan": 1}
    assert summary.objective_mean == 15.0
    assert summary.objective_worst == 20.0
    assert summary.cost_usd_mean == 30.0
    assert summary.bound_gap_mean == pytest.approx((0.5 + 0.75) / 2)
    assert summary.bound_gap_worst == 0.75
    assert summary.reason == "task 't' fits nowhere"


def test_a_proof_that_no_plan_exists_measures_nothing() -> None:
    rows = [row("a", None, math.inf)]
    references = make_references(rows, {})
    assert references["x"].bound == math.inf
    [summary] = summarise(rows, references)
    assert (summary.plans, summary.bound_gap_mean, summary.objective_mean) == (0, None, None)
    assert as_object(references["x"])["bound"] is None


def test_methods_are_added_up_over_the_instances_that_they_solved() -> None:
    rows = [
        row("a", 10.0, 5.0, label="x"),
        row("a", None, 5.0, label="y"),
        row("b", 8.0, 4.0, label="x"),
        row("b", 5.0, 5.0, label="y"),
    ]
    first, second = total_by_method(summarise(rows, make_references(rows, {})))
    assert (first.method, first.instances, first.solved, first.optimal) == ("a", 2, 1, 0)
    assert first.gap_mean == first.gap_worst == pytest.approx(0.5)
    assert (second.solved, second.optimal, second.runtime_s) == (2, 1, 4.0)
    assert second.gap_mean == pytest.approx((3 / 8 + 0) / 2)
    assert second.gap_worst == pytest.approx(3 / 8)


def test_known_values_are_for_exactly_the_library_instance() -> None:
    instance = library_instance("tiny/two-cores")
    known = best_known()
    assert known_values({"mine": instance}, known) == {"mine": known["tiny/two-cores"]}
    assert known_values({"mine": instance.replace(deadline_s=instance.deadline_s + 1)}, known) == {}
    assert known_values({"mine": instance.replace(objective={"cost_weight": 0.9})}, known) == {}
    assert known_values({"mine": instance.replace(name="another")}, known) == {}
    assert same_problem(instance, instance.replace(description="the same", markets=list(instance.markets)))


def test_files_hold_every_run_and_nothing_infinite() -> None:
    rows = [row("a", 10.0, 5.0), row("b", None, math.inf)]
    first, second = csv.DictReader(io.StringIO(format_rows_csv(rows)))
    assert (first["instance"], first["objective"], first["makespan_s"], first["status"]) == (
        "x",
        "10.0",
        "10",
        "feasible",
    )
    assert (second["objective"], second["bound"], second["reason"]) == ("", "", "task 't' fits nowhere")
    document = json.loads(format_rows_json(rows, time_limit_s=5))
    assert document["time_limit_s"] == 5
    assert [entry["objective"] for entry in document["rows"]] == [10.0, None]


def test_a_refusal_says_whether_time_has_ended_the_work_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*given: Any, **named: Any) -> None:
        if named["time_limit_s"] == 1.0:
            current_limit().ended_by_time()
        raise ModelRefusal("would need 19 starts from the plan of a search")

    monkeypatch.setattr("spotbag.experiments.bags.comparison.solve", refuses)
    for time_limit_s in (1.0, 2.0):
        found = run_case(Case(TWO_CORES, "x", "greedy", 0, {}), time_limit_s)
        assert (found.status, found.ended_by_time) == ("refused", time_limit_s == 1.0)
