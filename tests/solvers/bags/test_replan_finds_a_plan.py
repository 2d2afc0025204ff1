"""States with a plan for which re-planning found none, in little time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from spotbag.heuristics.bags.quick_search import held_plan
from spotbag.instances.instance import Instance
from spotbag.schedules.state import State
from spotbag.solvers.bags.replan import _held, replan
from spotbag.solvers.bags.result import Result
from spotbag.solvers.bags.solve import solve


def test_full_speed_where_the_baseline_is_too_slow() -> None:
    # t takes 7 s at full speed, of 0.2 credits = 12 s, and 18 s at the baseline: after the deadline at 16 s.
    credits = {"baseline_fraction": 0.4, "credits_per_hour": 12, "initial_credits": 0.2}
    problem = Instance(
        name="nb", deadline_s=16, d_spot_s=16, survive="none",
        vm_types=[
            {"name": "b", "vcpus": 1, "memory_mb": 1000, "burstable": credits,
             "offers": {"on-demand": {"price_usd_per_hour": 0.36, "limit": 1}}},
            {"name": "s", "vcpus": 1, "memory_mb": 1000, "offers": {"spot": {"price_usd_per_hour": 1, "limit": 1}}},
        ],
        tasks=[{"id": "t", "memory_mb": 1, "runtime_s": {"b": 7}}, {"id": "u", "memory_mb": 1, "runtime_s": {"s": 2}}],
    )  # fmt: skip
    state = State(instance="nb", time_s=0, vms=[{"id": "v", "type": "s", "market": "spot", "status": "running"}])
    found = replan(problem, state).schedule
    assert found is not None
    assert found.makespan_s == 7


def test_a_spot_vm_that_gets_ready_after_d_spot_is_not_late() -> None:
    # v gets ready at 130 s, D_spot is 120 s: t runs on demand, 50 s from 95 s on.
    offers = {market: {"price_usd_per_hour": 1, "limit": 1} for market in ("spot", "on-demand")}
    problem = Instance(
        name="nl", deadline_s=1000, d_spot_s=120, survive="none",
        vm_types=[{"name": "a", "vcpus": 1, "memory_mb": 1000, "offers": offers}],
        tasks=[{"id": "t", "memory_mb": 1, "runtime_s": {"a": 50}}],
    )  # fmt: skip
    late = {"id": "v", "type": "a", "market": "spot", "status": "launching", "ready_s": 130}
    found = replan(problem, State(instance="nl", time_s=95, vms=[late])).schedule
    assert found is not None
    assert found.makespan_s == 50


def test_a_plan_that_holds_is_the_answer_of_the_first_instant() -> None:
    offers = {"on-demand": {"price_usd_per_hour": 1, "limit": 2}}
    problem = Instance(
        name="held", deadline_s=20, survive="none",
        vm_types=[{"name": "a", "vcpus": 1, "memory_mb": 1000, "offers": offers}],
        tasks=[{"id": f"t{k}", "memory_mb": 1, "runtime_s": {"a": 10}} for k in range(4)],
    )  # fmt: skip
    plan = solve(problem).schedule
    assert plan is not None
    state = State(instance="held", time_s=0, vms=[])
    held = held_plan(state.remaining(problem), plan, 0)
    assert held is not None
    assert held.makespan_s == 20
    assert replan(problem, state, start=plan, time_limit_s=1e-6).schedule is not None


def two_kinds(**asked: object) -> Instance:
    """Return a bag of four tasks: 10 s each at $ 1 a second and core, or 15 s at $ 0.1."""
    offers = {"on-demand": {"price_usd_per_hour": 3600, "limit": 4}}
    cheap = {"on-demand": {"price_usd_per_hour": 360, "limit": 4}}
    return Instance(
        name="kinds", deadline_s=60, survive="none",
        vm_types=[
            {"name": "fast", "vcpus": 1, "memory_mb": 1000, "offers": offers},
            {"name": "cheap", "vcpus": 1, "memory_mb": 1000, "offers": cheap},
        ],
        tasks=[{"id": f"t{k}", "memory_mb": 1, "runtime_s": {"fast": 10, "cheap": 15}} for k in range(4)],
        **asked,
    )  # fmt: skip


def test_a_plan_within_the_budget_is_not_lost_to_a_faster_one_that_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    # Four tasks cost 4 * 15 s * $ 0.1 = $ 6 on cheap VMs; the fastest plan costs $ 40 for 10 s.
    problem = two_kinds(objective={"goal": "fastest", "budget_usd": 6})
    plan = solve(problem.with_goal("cheapest")).schedule
    fastest = solve(two_kinds(objective={"goal": "fastest"})).schedule
    assert plan is not None
    assert fastest is not None
    assert (plan.cost_usd, fastest.cost_usd) == (pytest.approx(6), pytest.approx(40))
    state = State(instance="kinds", time_s=0, vms=[])
    monkeypatch.setattr(
        "spotbag.solvers.bags.replan.quick_plan", lambda remaining, *_: replace(fastest, instance=remaining)
    )
    starts: list[object] = []

    def noted(*args: Any, **given: Any) -> Result:
        starts.append(given["initial"])
        return solve(*args, **given)

    monkeypatch.setattr("spotbag.solvers.bags.replan.solve", noted)
    found = replan(problem, state, start=plan, time_limit_s=1e-3).schedule
    assert found is not None
    assert found.cost_usd <= 6 * (1 + 1e-9)
    assert None not in starts


def test_a_plan_from_an_earlier_state_holds_at_its_own_times() -> None:
    # At 4 s of the bag a plan of the state at 3 s is 1 s old, and its tasks start 1 s sooner than it says.
    problem = two_kinds(d_spot_s=60)
    first = State(instance="kinds", time_s=3, vms=[]).remaining(problem)
    plan = solve(first).schedule
    assert plan is not None
    late = replace(plan, task_start_s=plan.task_start_s + 5)
    remaining = State(instance="kinds", time_s=4, vms=[]).remaining(problem)
    held = _held(remaining, late, 4.0)
    assert held is not None
    assert held.task_start_s.tolist() == (plan.task_start_s + 4).tolist()


def _long_tasks(deadline_s: int = 1000) -> Instance:
    """Return two tasks that are too long for spot VMs, should these be lost."""
    offers = {"spot": {"price_usd_per_hour": 0.3, "limit": 2}, "on-demand": {"price_usd_per_hour": 1, "limit": 2}}
    return Instance(
        name="long", deadline_s=deadline_s,
        vm_types=[{"name": "s", "vcpus": 1, "memory_mb": 1000, "offers": offers}],
        tasks=[{"id": "t", "memory_mb": 1, "base_runtime_s": 700}, {"id": "u", "memory_mb": 1, "base_runtime_s": 650}],
    )  # fmt: skip


@pytest.mark.parametrize("survive", ["one-type", "blackout"])
def test_a_plan_to_start_from_that_cannot_survive_is_no_error(survive: Any) -> None:
    bag = _long_tasks()
    on_spot = solve(bag, survive="none", iterations=1000).schedule
    assert on_spot is not None
    assert bag.offer_is_spot[on_spot.vm_offer].all()
    found = solve(bag, survive=survive, initial=on_spot, iterations=1000)
    assert found.schedule is not None
    assert not found.instance.offer_is_spot[found.schedule.vm_offer].any()
    again = replan(bag, State.begin(on_spot).advance(0), survive=survive, start=on_spot, iterations=1000)
    assert again.schedule is not None


def test_a_task_longer_than_what_is_left_is_said_to_be_lost_within_a_limit_too() -> None:
    state = State(instance="long", time_s=400, done=["u"])
    result = replan(_long_tasks(), state, survive="none", time_limit_s=1)
    assert (result.status, result.schedule) == ("infeasible", None)
    assert "the deadline is 600 s" in result.message
    assert "'t' takes 700 s" in result.message
