"""Bags of a few tasks under way: the best of all plans is found, and proved to be."""

from __future__ import annotations

import math

import pytest
from hypothesis import strategies as st

from spotbag.audits.bags.plan import check
from spotbag.heuristics.bags.quick_search import best_of_all
from spotbag.instances.instance import Instance
from spotbag.models.bags.task_classes import memory_is_free, offers_of_vms
from spotbag.schedules.state import State
from spotbag.schedules.vm_state import VmState
from spotbag.solvers.bags.replan import replan
from tests.helpers.exhaustive import exhaustive_front, exhaustive_plan
from tests.helpers.soaks import soak_of
from tests.helpers.tiny_states import tiny_state


def is_the_best_of_all(seed: int) -> bool:
    """Compare it with a search of all plans, for all goals; false where it is for other methods to say."""
    instance = tiny_state("cores", seed)
    found = best_of_all(instance, math.inf)
    if found is None:
        bursts = any(offer.burstable for offer in offers_of_vms(instance))
        assert bursts or not memory_is_free(instance) or not 0 < len(instance.open_tasks) <= 5
        return False
    best, front = exhaustive_plan(instance), exhaustive_front(instance)
    if best is None:
        assert found.schedule is None
        return True
    assert found.schedule is not None
    assert not check(instance, found.schedule).violations
    assert found.schedule.objective == pytest.approx(best.objective, rel=1e-9, abs=1e-12)
    for goal, (end_s, cost_usd) in (("cheapest", front[-1]), ("fastest", front[0])):
        of_goal = best_of_all(instance.with_goal(goal), math.inf)
        assert of_goal is not None
        assert of_goal.schedule is not None
        assert of_goal.schedule.makespan_s == end_s
        assert of_goal.schedule.cost_usd == pytest.approx(cost_usd, rel=1e-9, abs=1e-12)
    return True


@pytest.mark.slow
def test_the_best_of_all_plans_is_found() -> None:
    assert sum(map(is_the_best_of_all, range(60))) > 20


@soak_of(st.integers(0, 10**9), sample=100, whole=5000)
def test_the_best_of_all_plans_of_thousands_of_states_is_found(seed: int) -> None:
    is_the_best_of_all(seed)


@pytest.mark.parametrize("goal", ["cheapest", "fastest", "balanced"])
@pytest.mark.parametrize("n_tasks", [1, 4])
def test_a_few_tasks_are_planned_and_proved_long_before_the_limit(goal: str, n_tasks: int) -> None:
    offers = {"on-demand": {"price_usd_per_hour": 0.36, "limit": 4}}
    bag = Instance(
        name="bag",
        deadline_s=900,
        boot_overhead_s=30,
        objective={"goal": goal},
        vm_types=[{"name": "a", "vcpus": 2, "memory_mb": 1000, "offers": offers}],
        tasks=[{"id": f"t{k}", "memory_mb": 10, "runtime_s": {"a": 100}} for k in range(n_tasks)],
    )
    state = State(instance="bag", time_s=50, vms=(VmState(id="v", type="a", market="on-demand"),))
    result = replan(bag, state, time_limit_s=600)
    assert (result.status, result.gap) == ("optimal", pytest.approx(0.0, abs=1e-9))
    assert replan(bag.replace(deadline_s=149), state).status == "infeasible"
