"""Plans from a state, bounds and fronts, against all plans of tiny instances with machines."""

from __future__ import annotations

import math

import pytest
from exhaustive import exhaustive_front, exhaustive_plan
from fake_time import fake_time
from hypothesis import strategies as st
from soaks import soak_of
from tiny_instances import FAMILIES
from tiny_states import tiny_state

from spotbag.audits.bags.plan import check
from spotbag.instances.entries import Goal
from spotbag.models.bags.divisible_bound import divisible_bound
from spotbag.models.bags.makespan_bounds import makespan_lower_bound_s
from spotbag.schedules.method import Run
from spotbag.solvers.bags.interval_method import IntervalOptions, interval
from spotbag.solvers.bags.pareto import pareto_front
from spotbag.solvers.bags.solve import solve

SEEDS = st.integers(0, 10**9)
GOALS: tuple[Goal, ...] = ("cheapest", "fastest")


def agrees(family: str, seed: int) -> None:
    """The interval model finds the best of all plans and proves it, and no bound is above it."""
    instance = tiny_state(family, seed)
    best = exhaustive_plan(instance)
    outcome = interval(instance, IntervalOptions(), Run())
    if best is None:
        assert outcome.schedule is None
        assert outcome.bound == math.inf
        return
    assert best.objective is not None
    assert best.makespan_s is not None
    assert not check(instance, best).violations
    assert outcome.schedule is not None, outcome.explanation
    assert not check(instance, outcome.schedule).violations
    assert outcome.schedule.objective == pytest.approx(best.objective, rel=1e-7, abs=1e-12)
    assert outcome.bound == pytest.approx(best.objective, rel=1e-6, abs=1e-12)
    assert divisible_bound(instance).objective <= best.objective * (1 + 1e-9)
    assert makespan_lower_bound_s(instance) <= best.makespan_s


def goals_are_met(family: str, seed: int) -> None:
    """`auto` proves the first and the second quantity of both goals."""
    instance = tiny_state(family, seed)
    front = exhaustive_front(instance)
    for goal in GOALS:
        result = solve(instance, "auto", goal=goal, survive="none")
        if not front:
            assert result.status == "infeasible"
            continue
        assert result.status == "optimal"
        assert result.schedule is not None
        end_s, cost_usd = front[-1] if goal == "cheapest" else front[0]
        assert result.schedule.makespan_s == end_s
        assert result.schedule.cost_usd == pytest.approx(cost_usd, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_all_plans_from_a_state_is_found_and_proved(family: str, seed: int) -> None:
    agrees(family, seed)


@pytest.mark.parametrize("family", FAMILIES)
def test_goals_are_met_from_a_state(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_time(monkeypatch, look_s=1e-4)
    goals_are_met(family, 1)


@soak_of(st.sampled_from([*FAMILIES]), SEEDS, sample=200, whole=4000)
def test_thousands_of_states_agree_with_all_plans(family: str, seed: int) -> None:
    agrees(family, seed)


@soak_of(st.sampled_from([*FAMILIES]), SEEDS, sample=20, whole=1000)
def test_goals_are_met_from_a_thousand_states(family: str, seed: int) -> None:
    goals_are_met(family, seed)


@soak_of(st.sampled_from([*FAMILIES]), SEEDS, sample=5, whole=100)
def test_fronts_from_a_state_are_those_of_all_plans(family: str, seed: int) -> None:
    instance = tiny_state(family, seed)
    front = pareto_front(instance)
    assert front.complete
    found = [(point.makespan_s, point.cost_usd) for point in front.points]
    best = exhaustive_front(instance)
    assert [end_s for end_s, _ in found] == [end_s for end_s, _ in best]
    assert [usd for _, usd in found] == pytest.approx([usd for _, usd in best], rel=1e-7, abs=1e-12)
