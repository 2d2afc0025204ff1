"""Cells that are drawn from a seed, and what judges a method by cells."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from spotbag.bounds.bags.divisible_bound import divisible_bound
from spotbag.core.errors import InputError
from spotbag.experiments.bags.families import Draw
from spotbag.experiments.bags.results import experiment_results, judge_experiment
from spotbag.experiments.bags.rows import EXPERIMENT_FORMAT
from spotbag.experiments.bags.run import run_experiment
from spotbag.experiments.bags.specification import (
    format_specification,
    parse_specification,
    read_specification,
    ready_text,
)
from spotbag.heuristics.bags.d_spot import with_d_spot

USER_MAP = read_specification("user-map")[0]
[MAP] = USER_MAP.draws
FEW = """
methods = ["lpt"]

[[draws]]
name = "few"
cells = 3

[draws.same]
catalogue = "hads"

[draws.axes]
n_tasks = [3, 5]

[draws.axes.market]
both = {}
spot = { markets = "spot" }

[draws.axes.time]
some = { time_limit_s = 5.0, share = 2 }
none = { time_limit_s = "none" }
"""


def test_cells_are_the_same_for_a_seed_and_more_begin_with_the_same() -> None:
    def cells(**changes: int) -> list[dict[str, Any]]:
        return [source.identity for source in MAP.model_copy(update=changes).sources()]

    assert cells() == cells()
    assert cells()[:60] == cells(cells=60)
    assert cells(cells=300)[:200] == cells()
    others = cells(seed=2)
    assert not any(cell in others for cell in cells())


def test_each_value_of_an_axis_is_drawn_equally_often_also_among_the_first_cells() -> None:
    for n_cells in (60, 200):
        drawn = [source.drawn for source in MAP.model_copy(update={"cells": n_cells}).sources()]
        for axis, values in MAP.axes.items():
            shares = {str(name): MAP.values(axis)[str(name)].get("share", 1) for name in values}
            counts = Counter(cell[axis] for cell in drawn)
            each = n_cells / sum(shares.values())
            assert all(int(each) * share <= counts[name] <= (int(each) + 1) * share for name, share in shares.items())
    assert sum(cell["time"] == "none" for cell in drawn) == 20


@pytest.mark.parametrize(
    "most", [60, pytest.param(1_000, marks=pytest.mark.slow), pytest.param(10_000, marks=pytest.mark.soak)]
)
def test_each_cell_of_the_user_map_is_a_bag_as_its_name_says(most: int) -> None:
    sources = [source for source in MAP.sources() if int(source.drawn["n_tasks"]) <= most]
    assert sources
    for source in sources:
        drawn, bag = source.drawn, source.instance()
        assert bag.n_tasks == int(drawn["n_tasks"])
        assert bag.goal == {"in-budget": "fastest"}.get(drawn["goal"], drawn["goal"])
        assert bag.survive == {"nothing": "none"}.get(drawn["survive"], drawn["survive"])
        assert bag.deadline_s == {"tight": 2700, "loose": 43200}[drawn["deadline"]]
        assert set(bag.markets) == ({"spot", "on-demand"} if drawn["markets"] == "both" else {drawn["markets"]})
        # Cores of tasks that differ are shared on a VM as memory is.
        assert (drawn["kind"] in ("memory-binds", "several-cores")) == (not all(bag.memory_never_binds))
        assert (drawn["kind"] == "few-classes") == (len(bag.tasks) == 8)
        assert (drawn["kind"] in ("ten-types", "several-cores")) == (len(bag.vm_types) == 10)
        assert (drawn["kind"] == "several-cores") == (max(bag.cores) == 8)
        assert (drawn["kind"] == "burstable") == any(offer.burstable for offer in bag.offers)
        assert (drawn["goal"] == "in-budget") == (bag.objective.budget_usd is not None)
        if drawn["goal"] == "in-budget":
            least_usd = divisible_bound(with_d_spot(bag.with_goal("cheapest", None))).objective
            assert bag.objective.budget_usd == pytest.approx(1.5 * least_usd)


@pytest.mark.slow
def test_cells_have_settings_of_their_own(tmp_path: Path) -> None:
    asked = parse_specification(FEW, "few")
    assert parse_specification(format_specification(asked), "again") == asked
    plans, _ = asked.cells(tmp_path)
    assert sorted((cell.time_limit_s is None, cell.time_limit_s or 0.0) for cell in plans) == [
        (False, 5.0),
        (False, 5.0),
        (True, 0.0),
    ]
    own, _ = asked.model_copy(update={"time_limits_s": {"lpt": 2.0}}).cells(tmp_path)
    assert {cell.time_limit_s for cell in own} == {2.0}
    run_experiment(asked, tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["drawn"]["time"] == "none") == (row["time_limit_s"] is None) for row in rows] == [True] * 3
    assert {row["status"] for row in rows} <= {"optimal", "feasible"}
    more = asked.drawn(None, 5)
    assert run_experiment(more, tmp_path).before == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('markets = "spot"', 'market = "spot"'), "market"),
        (('markets = "spot"', 'markets = "sopt"'), "sopt"),
        (('markets = "spot"', 'markets = ["spot"]'), "must be one value, not a list"),
        (("share = 2", "share = 0"), "share"),
        (('time_limit_s = "none"', 'time_limit_s = "no"'), "time_limit_s"),
        (("n_tasks = [3, 5]", "n_tasks = []"), "must have values"),
        (("n_tasks = [3, 5]", 'n_tasks = ["few"]'), "n_tasks"),
        (('catalogue = "hads"', "catalog = 3"), "catalog"),
        (("cells = 3", "cells = 0"), "cells"),
        (("n_tasks = [3, 5]", ""), "n_tasks"),
    ],
)
def test_what_is_wrong_with_a_draw_is_said(change: tuple[str, str], message: str) -> None:
    assert change[0] in FEW
    with pytest.raises(InputError, match=message):
        parse_specification(FEW.replace(*change), "mine.toml")


CLASSICAL = read_specification("classical")[0]


def test_a_draw_of_no_number_is_every_combination_once() -> None:
    [identical, unrelated] = CLASSICAL.draws
    for draw, count in ((identical, 3 * 6), (unrelated, 3 * 4)):
        cells = [tuple(source.drawn.values()) for source in draw.sources()]
        assert len(cells) == len(set(cells)) == len(draw.sources()) == count
    assert CLASSICAL.drawn(5, None).draws[1].seed == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("identical_machines", "identical_engines"), "did you mean identical_machines"),
        (("spotbag.experiments.bags.classical:identical_machines", "classical"), "must be module:function"),
        (("n_machines = 3 }", "machines = 3 }"), "unexpected keyword argument 'machines'"),
        (("n_tasks = 10, n_machines = 3 }", "n_tasks = 10 }"), "missing a required argument: 'n_machines'"),
    ],
)
def test_what_does_not_fit_a_generator_is_said(change: tuple[str, str], message: str) -> None:
    text = ready_text("classical")
    assert change[0] in text
    with pytest.raises(InputError, match=message):
        parse_specification(text.replace(*change), "mine.toml")


def test_another_seed_is_refused_where_nothing_is_drawn() -> None:
    with pytest.raises(InputError, match="draws no cells, so it has no seed"):
        parse_specification('instances = ["tiny/boot"]', "mine.toml").drawn(3, None)


def test_a_draw_needs_the_number_of_tasks() -> None:
    with pytest.raises(InputError, match="n_tasks"):
        Draw(name="a", cells=1, axes={"goal": ["cheapest"]}).check("mine.toml")


# ----------------------------------------------------------------------------- what is judged


def _row(instance: str, method: str, **values: Any) -> dict[str, Any]:
    about = {"goal": "cheapest", "survive": "none", "n_tasks": 100, "memory_binds": False, "status": "feasible"}
    return {"cell": f"{instance} {method}", "instance": instance, "method": method} | about | values


def _plan(cost_usd: float, makespan_s: int = 100, **values: Any) -> dict[str, Any]:
    return {"objective": cost_usd, "cost_usd": cost_usd, "makespan_s": makespan_s} | values


def _judged(tmp_path: Path, *rows: dict[str, Any]) -> Any:
    about = {"format": EXPERIMENT_FORMAT, "version": "1", "cells": 1, "spec": {"methods": ["auto", "lpt", "greedy"]}}
    (tmp_path / "experiment.json").write_text(json.dumps(about), encoding="utf-8")
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return judge_experiment(tmp_path)


def test_a_plan_is_judged_by_its_bound_and_by_the_best_of_the_others(tmp_path: Path) -> None:
    rows = _row("a", "auto", **_plan(2.0, bound=1.5)), _row("a", "lpt", **_plan(1.8, bound=1.6)), _row("a", "greedy")
    found = _judged(tmp_path, *rows)
    [cell] = found.cells
    assert (cell.verdict, cell.baseline) == ("beaten", "lpt")
    assert cell.better_bound == "lpt"
    assert (cell.gap, cell.baseline_percent) == (pytest.approx(0.2), pytest.approx(10.0))  # 0.4 / 2, and 0.2 / 2
    assert [(group.plans, group.within) for group in found.groups] == [(0, (0, 0, 0)), (1, (0, 0, 0)), (0, (0, 0, 0))]


@pytest.mark.parametrize(
    ("goal", "mine", "its", "verdict", "percent"),
    [
        ("cheapest", _plan(2.0, 100), _plan(2.0, 90), "beaten-second", 10.0),
        ("cheapest", _plan(2.0, 100), _plan(2.5, 90), "held", -25.0),
        ("fastest", _plan(2.0, 100, objective=100), _plan(1.5, 100, objective=100), "beaten-second", 25.0),
        ("balanced", _plan(2.0, 100), _plan(2.0, 90), "held", 0.0),
    ],
)
def test_the_second_quantity_counts_where_the_first_is_the_same(
    goal: str, mine: dict[str, Any], its: dict[str, Any], verdict: str, percent: float, tmp_path: Path
) -> None:
    [cell] = _judged(tmp_path, _row("a", "auto", goal=goal, **mine), _row("a", "lpt", goal=goal, **its)).cells
    assert (cell.verdict, cell.baseline_percent) == (verdict, pytest.approx(percent))


@pytest.mark.parametrize(
    ("survive", "mine", "its", "verdict"),
    [
        ("one-type", "survives", "does-not-survive", "held"),
        ("one-type", "survives", "not-shown", "held"),
        ("one-type", "survives", "survives", "beaten"),
        (None, "survives", "does-not-survive", "held"),
        (None, "does-not-survive", "does-not-survive", "beaten"),
        ("none", None, None, "beaten"),
    ],
)
def test_the_plan_of_another_method_counts_if_it_meets_the_same_demand(
    survive: str | None, mine: str | None, its: str | None, verdict: str, tmp_path: Path
) -> None:
    plan = _row("a", "auto", survive=survive, survives=mine, **_plan(2.0))
    [cell] = _judged(tmp_path, plan, _row("a", "lpt", survive=survive, survives=its, **_plan(1.0))).cells
    assert cell.verdict == verdict


@pytest.mark.parametrize(("survives", "gap", "by"), [("survives", 0.1, ""), ("does-not-survive", 0.2, "lpt")])
def test_the_gap_of_a_plan_that_survives_is_to_the_bound_of_such_plans(
    survives: str, gap: float, by: str, tmp_path: Path
) -> None:
    own = {"bound": 1.4} if by else {"bound": 1.8, "bound_without": 1.2}
    rows = _row("a", "auto", survives=survives, **own, **_plan(2.0)), _row("a", "lpt", **_plan(2.1, bound=1.6))
    [cell] = _judged(tmp_path, *rows).cells
    assert (cell.gap, cell.better_bound) == (pytest.approx(gap), by)
    assert experiment_results(tmp_path)[0].gap == pytest.approx(gap)


def test_cells_without_a_plan_are_told_apart(tmp_path: Path) -> None:
    nothing = {"status": "no-plan"}
    found = _judged(
        tmp_path,
        *(_row("missed", "auto", **nothing), _row("missed", "lpt", **_plan(1.0))),
        *(_row("open", "auto", **nothing), _row("open", "lpt", **nothing)),
        *(_row("proved", "auto", status="infeasible"), _row("proved", "lpt", **nothing)),
    )
    assert [cell.verdict for cell in found.cells] == ["missed", "no-plan", "impossible"]
    assert [cell.wanting for cell in found.cells] == [True, True, False]
    assert [(group.cells, group.plans) for group in found.groups] == [(0, 0), (2, 0), (0, 0)]


@pytest.mark.parametrize(
    ("n_tasks", "memory_binds", "wanted"),
    [(1000, False, 0.001), (1000, True, 0.01), (60, False, 0.01), (59, True, 0.03)],
)
def test_the_gap_that_is_wanted_depends_on_size_and_memory(
    n_tasks: int, memory_binds: bool, wanted: float, tmp_path: Path
) -> None:
    about = {"n_tasks": n_tasks, "memory_binds": memory_binds}
    for gap, wanting in ((0.99 * wanted, False), (1.01 * wanted, True)):
        [cell] = _judged(tmp_path, _row("a", "auto", **about, **_plan(1.0, bound=1 - gap))).cells
        assert (cell.wanted_gap, cell.wanting) == (wanted, wanting)


def test_a_method_that_was_not_run_cannot_be_judged(tmp_path: Path) -> None:
    _judged(tmp_path)
    with pytest.raises(InputError, match="none of the experiment, which has auto, lpt, greedy"):
        judge_experiment(tmp_path, "ils")
