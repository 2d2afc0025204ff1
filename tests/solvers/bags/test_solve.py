"""``solve``: its methods, options and results."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest

from spotbag.audits.bags.plan import check
from spotbag.core.errors import InputError, SpotbagError
from spotbag.core.limits import checkpoint
from spotbag.core.quantities import relative_gap
from spotbag.heuristics.bags import search
from spotbag.heuristics.bags.greedy import GreedyOptions, greedy
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.schedules.method import Outcome, Run
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags import methods as registry
from spotbag.solvers.bags import route
from spotbag.solvers.bags.exact_method import exact_outcome
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.solve import solve
from tests.helpers.fake_time import fake_time
from tests.helpers.library_cases import library_cases


@pytest.mark.parametrize("name", library_cases())
def test_every_library_instance_gets_a_checked_plan(name: str) -> None:
    result = solve(library_instance(name), "greedy")
    if name == "tiny/credits":
        assert result.status == "no-plan"
        return
    assert result.status in ("feasible", "optimal")
    assert result.schedule is not None
    assert check(result.instance, result.schedule).feasible


def test_auto_asks_for_a_first_plan_once_also_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counted(instance: Instance) -> Outcome:
        asked.append(instance)
        return greedy(instance)

    for user in (route, search):
        monkeypatch.setattr(user, "first_plan", counted)
    for time_limit_s in (None, 60):
        asked.clear()
        result = solve(library_instance("tiny/credits"), time_limit_s=time_limit_s)
        assert result.status == "optimal"
        assert len(asked) == 1


def test_the_result_as_json_has_all_figures() -> None:
    result = solve(library_instance("hads/J60"), "greedy", seed=3)
    figures = json.loads(json.dumps(result.to_dict()))
    expected = {
        "status",
        "method",
        "objective",
        "bound",
        "gap",
        "cost_usd",
        "makespan_s",
        "d_spot_s",
        "vms",
        "runtime_s",
    }
    assert expected <= figures.keys()
    assert figures["seed"] == 3
    assert sum(vm["tasks"] for vm in figures["vms"]) == 60
    assert sum(vm["cost_usd"] for vm in figures["vms"]) == pytest.approx(figures["cost_usd"])
    assert max(vm["end_s"] for vm in figures["vms"]) == figures["makespan_s"]


def test_no_plan_is_a_status_with_a_reason() -> None:
    result = solve(library_instance("burst-hads/ED200").replace(markets=["spot"], d_spot_s=1100), "greedy")
    assert result.status == "no-plan"
    assert result.objective is None
    assert result.gap is None
    assert "finds no place" in result.message
    assert result.to_dict()["cost_usd"] is None


def test_only_the_markets_allowed_are_used() -> None:
    instance = library_instance("burst-hads/J60")
    for market in ("spot", "on-demand"):
        schedule = solve(instance.replace(markets=[market]), "greedy").schedule
        assert schedule is not None
        assert {name.split()[1] for name in schedule.vm_counts()} == {market}
        assert schedule.instance.cost_scale_usd == instance.cost_scale_usd


def test_options_reach_the_method() -> None:
    instance = library_instance("hads/ED200").replace(d_spot_s=700)
    by_price = solve(instance, "greedy").schedule
    one_draw = solve(instance, "greedy", options={"phase2_draws": "1"}).schedule
    assert by_price is not None
    assert one_draw is not None
    assert by_price.vm_counts() != one_draw.vm_counts()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"phase1": "price"}, "phase1 is no option of greedy (did you mean 'phase1_order'?)"),
        ({"phase1_order": "name"}, "phase1_order 'name' must be price or makespan"),
        ({"phase2_draws": "0"}, "phase2_draws '0' must be a positive whole number or none"),
        ({"phase2_draws": True}, "phase2_draws true must be"),
        ({"type_limit": []}, "type_limit (an array) must be market or shared"),
    ],
)
def test_a_bad_option_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        solve(library_instance("tiny/boot"), "greedy", options=options)
    assert said in str(caught.value)


def test_none_is_an_option_value() -> None:
    assert solve(library_instance("tiny/boot"), "greedy", options={"phase2_draws": "none"}).status == "feasible"


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(InputError, match=r"is unknown \(known: auto"):
        solve(library_instance("tiny/boot"), "magic")


def test_a_plan_that_fails_the_checker_is_never_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def both_at_once(instance: Instance, *_: object) -> Outcome:
        return Outcome(Schedule(instance, [0], [0, 0], [0, 0], [20, 20], [False, False]))  # type: ignore[arg-type]

    faulty = registry.MethodEntry("faulty", "", lambda: (GreedyOptions, both_at_once), False, "")
    monkeypatch.setitem(METHODS, "faulty", faulty)
    with pytest.raises(
        SpotbagError, match="breaks a rule; please report this: core: tasks 'short' and 'long' overlap by 10 s"
    ):
        solve(library_instance("tiny/boot"), "faulty")


def claim_bound(monkeypatch: pytest.MonkeyPatch, factor: float) -> float:
    """Add a method that claims a multiple of the objective of its plan as a bound; return that objective."""
    outcome = METHODS["greedy"].run(library_instance("tiny/boot"), GreedyOptions(), Run())
    assert outcome.schedule is not None
    objective = outcome.schedule.objective

    def claims(*_: object) -> Outcome:
        return dataclasses.replace(outcome, bound=objective * factor)

    monkeypatch.setitem(
        METHODS, "claims", registry.MethodEntry("claims", "", lambda: (GreedyOptions, claims), False, "")
    )
    return objective


@pytest.mark.parametrize("factor", [1 + 1e-8, 2.0, math.inf])
def test_a_bound_above_the_plan_is_never_handed_out(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    claim_bound(monkeypatch, factor)
    with pytest.raises(SpotbagError, match=r"claims claims a bound of .* and made a plan of .*; please report this"):
        solve(library_instance("tiny/boot"), "claims")


@pytest.mark.parametrize(("factor", "status"), [(1 + 1e-10, "optimal"), (1.0, "optimal"), (1 - 1e-8, "feasible")])
def test_a_bound_is_the_objective_where_rounding_sets_it_above_the_plan(
    monkeypatch: pytest.MonkeyPatch, factor: float, status: str
) -> None:
    objective = claim_bound(monkeypatch, factor)
    result = solve(library_instance("tiny/boot"), "claims")
    assert (result.bound, result.status) == (objective * min(factor, 1.0), status)


def test_a_model_whose_bound_is_above_a_known_plan_is_in_error() -> None:
    """Models bound what is better than a known plan: above its objective is wrong, unless there is nothing better."""
    start = solve(library_instance("tiny/boot"), "greedy").schedule
    assert start is not None
    for factor in (1 + 1e-5, 2.0):
        with pytest.raises(SpotbagError, match="a model claims the bound"):
            exact_outcome(start.instance, start, None, start.objective * factor, "")
    for factor in (1.0, 1 + 1e-7, math.inf):
        outcome = exact_outcome(start.instance, start, None, start.objective * factor, "")
        assert (outcome.schedule, outcome.bound) == (start, start.objective)


def test_the_gap_is_relative_to_the_plan() -> None:
    assert relative_gap(2.0, 1.5) == 0.25
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(1.0, None) is None
    assert relative_gap(None, 1.0) is None


def test_a_method_without_a_bound_that_is_cut_short_leaves_the_plan_to_a_simple_heuristic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its time ends before that of the call, a part of which is for the bound."""

    def slow(*_: object) -> Outcome:
        while True:
            checkpoint()

    monkeypatch.setitem(METHODS, "slow", registry.MethodEntry("slow", "", lambda: (GreedyOptions, slow), False, ""))
    fake_time(monkeypatch, look_s=0.01)
    result = solve(library_instance("tiny/boot"), "slow", time_limit_s=10.0)
    assert result.status in ("feasible", "optimal")
    assert any("no time for slow" in warning for warning in result.warnings)
