"""Plans from a state, bounds and fronts, against all plans of tiny instances with machines."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import strategies as st

from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.configuration_bound import configuration_bound
from spotbag.bounds.bags.divisible_bound import divisible_bound
from spotbag.core.errors import ModelRefusal
from spotbag.heuristics.bags.listed_plans import listed_plan
from spotbag.instances.entries import Goal
from spotbag.instances.instance import Instance
from spotbag.models.bags.interval import IntervalModel
from spotbag.models.bags.makespan_bounds import makespan_lower_bound_s
from spotbag.models.bags.task_classes import memory_is_free
from spotbag.schedules.method import Run
from spotbag.solvers.bags.interval_method import IntervalOptions, interval
from spotbag.solvers.bags.pareto import pareto_front
from spotbag.solvers.bags.solve import solve
from tests.helpers.exhaustive import exhaustive_front, exhaustive_plan
from tests.helpers.fake_time import fake_time
from tests.helpers.soaks import soak_of, some
from tests.helpers.tiny_core_instances import hand_instance
from tests.helpers.tiny_instances import FAMILIES
from tests.helpers.tiny_states import tiny_state

SEEDS = st.integers(0, 10**9)
GOALS: tuple[Goal, ...] = ("cheapest", "fastest")
OFFER = {"price_usd_per_hour": 3.6, "limit": 1}


def agrees(family: str, seed: int) -> None:
    """The exact models find the best of all plans and prove it, and no bound is above it."""
    instance = tiny_state(family, seed)
    best = exhaustive_plan(instance)
    outcome = interval(instance, IntervalOptions(), Run())
    if best is None:
        assert (outcome.schedule, outcome.bound) == (None, math.inf)
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
@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_all_plans_from_a_state_is_found_and_proved(family: str, seed: int) -> None:
    agrees(family, seed)


@pytest.mark.parametrize("family", some([*FAMILIES], fast=3))
def test_goals_are_met_from_a_state(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_time(monkeypatch, look_s=1e-4)
    goals_are_met(family, 3)


def budgets_are_kept(family: str, seed: int) -> None:
    """The interval model proves the earliest end that each point of the front pays for: what runs costs something."""
    instance = tiny_state(family, seed)
    for end_s, cost_usd in exhaustive_front(instance):
        if cost_usd > 0:
            within = instance.replace(objective={"goal": "fastest", "budget_usd": cost_usd})
            result = solve(within, "interval", survive="none")
            assert (result.status, result.objective) == ("optimal", end_s)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_budget_is_kept_from_a_state(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_time(monkeypatch, look_s=1e-4)
    budgets_are_kept(family, 3)


@soak_of(st.sampled_from([name for name in FAMILIES if name != "burstable"]), SEEDS, sample=20, whole=500)
def test_budgets_are_kept_from_hundreds_of_states(family: str, seed: int) -> None:
    budgets_are_kept(family, seed)


def test_credits_of_a_machine_above_the_most_count_as_the_most() -> None:
    agrees("burstable", 555)


def test_a_plan_that_costs_nothing_more_is_optimal() -> None:
    """Every gap was taken relative to the cost, which is 0 where machines are paid until all is done."""
    vm_types = [{"name": "a", "vcpus": 2, "memory_mb": 1000, "offers": {"on-demand": OFFER}}]
    machine = {"id": "m", "type": "a", "market": "on-demand", "paid_until_s": 50}
    result = solve(hand_instance([10, 20, 30], vm_types=vm_types, machines=[machine]), goal="cheapest")
    assert result.schedule is not None
    assert (result.status, result.schedule.cost_usd, result.schedule.makespan_s) == ("optimal", 0.0, 30)


def _filled(deadline_s: int) -> Instance:
    """Tasks of 1 s and 9 s, and one VM that is paid for 10 s."""
    vm_types = [
        {"name": "a", "vcpus": 1, "memory_mb": 1000, "offers": {"on-demand": OFFER | {"price_usd_per_hour": 0.9}}}
    ]
    machine = {"id": "m", "type": "a", "market": "on-demand", "paid_until_s": 10}
    return hand_instance([1, 9], vm_types=vm_types, machines=[machine], deadline_s=deadline_s, d_spot_s=None)


@pytest.mark.parametrize("deadline_s", some([10, 11], fast=1))
@pytest.mark.parametrize("method", ["auto", "search", "interval"])
def test_tasks_that_fill_a_paid_vm_to_the_last_second_cost_nothing(method: str, deadline_s: int) -> None:
    """1 s + 9 s = 10 s are paid: $ 0. The bound was 4e-19, above all that a plan can cost, or above the plan."""
    result = solve(_filled(deadline_s), method, goal="cheapest")
    assert result.schedule is not None
    assert (result.status, result.schedule.cost_usd, result.schedule.makespan_s) == ("optimal", 0.0, 10)
    assert divisible_bound(_filled(deadline_s).replace(objective={"goal": "cheapest"})).objective == 0.0


@pytest.mark.parametrize("deadline_s", [10, 11])
def test_the_front_of_tasks_that_fill_a_paid_vm_to_the_last_second_is_one_plan(deadline_s: int) -> None:
    front = pareto_front(_filled(deadline_s))
    assert (front.complete, [(point.makespan_s, point.cost_usd) for point in front.points]) == (True, [(10, 0.0)])


@pytest.mark.slow
@pytest.mark.parametrize("weight", some([0.5, 1.0, 1e-6, 0.0], fast=1))
def test_large_multipliers_prove_nothing_that_is_lost_in_their_digits(weight: float) -> None:
    """Ten tasks of 360 s fill a VM until the deadline, of which a second is not paid: multipliers grew to 3e7.

    At weight 0.5 the objective is 0.5 / 3600 + 0.5 = 0.50014, and the bound was infinite.
    """
    vm_types = [{"name": "a", "vcpus": 1, "memory_mb": 1000, "offers": {"on-demand": OFFER}}]
    machine = {"id": "m", "type": "a", "market": "on-demand", "paid_until_s": 3599}
    given = {"vm_types": vm_types, "machines": [machine], "deadline_s": 3600, "d_spot_s": None}
    left = hand_instance([360] * 10, objective={"cost_weight": weight}, **given)
    plan, bound = listed_plan(left), divisible_bound(left).objective
    assert plan is not None
    assert bound <= plan.objective
    assert bound == pytest.approx(plan.objective, rel=1e-7)


@pytest.mark.parametrize("method", ["auto", "search", "interval"])
def test_where_nothing_waits_and_nothing_can_be_rented_the_plan_is_what_runs(method: str) -> None:
    """The task has 20 s - 5 s = 15 s left, which cost $ 15/3600; the VM drains, and it is the only one there may be."""
    vm_types = [{"name": "a", "vcpus": 1, "memory_mb": 1000, "offers": {"spot": {"price_usd_per_hour": 1, "limit": 1}}}]
    running = [{"task": "t0", "core": 0, "start_s": -5}]
    machine = {"id": "v", "type": "a", "market": "spot", "open": False, "running": running}
    left = hand_instance([20], vm_types=vm_types, machines=[machine], deadline_s=95, d_spot_s=95)
    result = solve(left, method, goal="cheapest")
    assert result.schedule is not None
    assert (result.status, result.schedule.makespan_s) == ("optimal", 15)
    assert result.schedule.cost_usd == pytest.approx(15 / 3600)


@pytest.mark.parametrize("method", ["auto", "search", "interval"])
def test_a_task_that_runs_and_ends_after_the_deadline_leaves_no_plan(method: str) -> None:
    """It ends at 60 s - 10 s = 50 s, and the deadline is 40 s; a method began with a plan that had it so."""
    vm_types = [{"name": "a", "vcpus": 2, "memory_mb": 1000, "offers": {"on-demand": OFFER | {"limit": 2}}}]
    running = [{"task": "t0", "core": 0, "start_s": -10}]
    machine = {"id": "v", "type": "a", "market": "on-demand", "running": running}
    left = hand_instance([60, 20], vm_types=vm_types, machines=[machine], deadline_s=40, d_spot_s=None)
    result = solve(left, method)
    assert (result.status, result.schedule) == ("infeasible", None)
    assert listed_plan(left) is None


def test_memory_of_machines_binds_where_no_more_vms_of_their_type_may_be_rented() -> None:
    vm_types = [
        {"name": name, "vcpus": 2, "memory_mb": memory_mb, "offers": {"on-demand": OFFER}}
        for name, memory_mb in (("small", 1000), ("large", 9000))
    ]
    machine = {"id": "m", "type": "small", "market": "on-demand", "paid_until_s": 90}
    tasks = [{"id": "t", "memory_mb": 600, "base_runtime_s": 10, "count": 3}]
    state = hand_instance([], tasks=tasks, vm_types=vm_types, machines=[machine])
    assert not memory_is_free(state)
    result = solve(state, "search", goal="cheapest", options={"moves": 500})
    assert result.schedule is not None
    assert (result.schedule.cost_usd, result.schedule.makespan_s) == (0.0, 30)


@pytest.mark.parametrize(
    ("machine", "deadline_s", "reason"),
    [
        ({"running": [{"task": "t1", "core": 0, "start_s": -5}]}, 20, "'t1', which runs on m, ends at 25 s, and the"),
        ({"open": False}, 100, "no VM may be rented, or none is ready before it must end, and no VM that exists takes"),
        ({}, 20, "at least 30 s on all VMs that exist or may be rented, and the deadline is 20 s; the least deadline"),
    ],
)
def test_it_is_said_why_there_is_no_plan_from_a_state(machine: dict[str, Any], deadline_s: int, reason: str) -> None:
    vm_types = [{"name": "a", "vcpus": 2, "memory_mb": 1000, "offers": {"on-demand": OFFER}}]
    given = {"id": "m", "type": "a", "market": "on-demand"} | machine
    state = hand_instance([10, 30, 20], vm_types=vm_types, machines=[given], deadline_s=deadline_s, d_spot_s=None)
    result = solve(state)
    assert result.status == "infeasible"
    assert reason in result.message


@pytest.mark.parametrize("method", ["patterns", "class-programme", "columns", "time-indexed", "greedy"])
def test_methods_that_know_no_machines_refuse_them(method: str) -> None:
    state = tiny_state("cores", 1)
    with pytest.raises(
        ModelRefusal, match="plans bags from their beginning; from a state plan: auto, search, interval"
    ):
        solve(state, method)
    with pytest.raises(ModelRefusal, match="plan bags from their beginning"):
        pareto_front(state, method="class-programme")


@pytest.mark.parametrize("seed", [0, 1])
def test_a_plan_from_a_state_is_a_start_of_the_interval_model(seed: int) -> None:
    instance = tiny_state("cores", seed)
    plan = listed_plan(instance)
    assert plan is not None
    assert IntervalModel(instance, configuration_bound(instance), plan).hinted


@soak_of(st.sampled_from([*FAMILIES]), SEEDS, sample=40, whole=2000)
def test_thousands_of_states_agree_with_all_plans(family: str, seed: int) -> None:
    agrees(family, seed)


@soak_of(st.sampled_from([*FAMILIES]), SEEDS, sample=20, whole=1000)
def test_goals_are_met_from_a_thousand_states(family: str, seed: int) -> None:
    goals_are_met(family, seed)


@soak_of(st.sampled_from([*FAMILIES]), SEEDS, sample=5, whole=100)
def test_fronts_from_a_state_are_those_of_all_plans(family: str, seed: int) -> None:
    instance = tiny_state(family, seed)
    solve(instance, survive="none")  # whatever has to be compiled takes none of the time of the front
    front = pareto_front(instance)
    assert front.complete
    found = [(point.makespan_s, point.cost_usd) for point in front.points]
    best = exhaustive_front(instance)
    assert [end_s for end_s, _ in found] == [end_s for end_s, _ in best]
    assert [usd for _, usd in found] == pytest.approx([usd for _, usd in best], rel=1e-7, abs=1e-12)
