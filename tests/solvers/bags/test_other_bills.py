"""Plans cost what their cloud bills on a quiet day: a minimum, blocks, a fixed part; whatever method made them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.divisible_bound import divisible_bound
from spotbag.bounds.bags.lower_bounds import lower_bounds
from spotbag.core.errors import InputError, ModelRefusal
from spotbag.core.limits import LimitReached
from spotbag.heuristics.bags import core_loads, fewer_vms
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.timeline import QUIET
from spotbag.instances.clouds import CLOUDS
from spotbag.instances.entries import GOALS
from spotbag.instances.instance import Instance
from spotbag.replay.bags.runs import replay_day
from spotbag.schedules.queues import Queue, schedule_of_queues
from spotbag.schedules.state import State
from spotbag.schedules.timing import VmRents
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.pareto import pareto_front
from spotbag.solvers.bags.replan import replan
from spotbag.solvers.bags.solve import solve
from tests.helpers.random_instances import instance_documents
from tests.helpers.soaks import soak_of
from tests.helpers.tiny_instances import tiny_billing


def bag(*runtimes_s: int, **fields: Any) -> Instance:
    """Tasks by their seconds; a spot VM, of one core, costs $ 0.01 a second, one on demand $ 0.02."""
    offers = {"spot": {"price_usd_per_hour": 36, "limit": 3}, "on-demand": {"price_usd_per_hour": 72, "limit": 3}}
    document: dict[str, Any] = {
        "format": "spotbag.instance/1",
        "name": "some",
        "deadline_s": 10_000,
        "d_spot_s": 5000,
        "boot_overhead_s": 10,
        "vm_types": [{"name": "a", "vcpus": 1, "memory_mb": 1000, "offers": offers}],
        "tasks": [
            {"id": f"t{number}", "memory_mb": 1, "runtime_s": {"a": seconds}}
            for number, seconds in enumerate(runtimes_s)
        ],
    }
    return Instance.from_document(document | fields, "some")


@pytest.mark.parametrize(
    ("fields", "usd"),
    [
        ({}, 0.20),
        ({"cloud": "papers"}, 0.20),
        ({"cloud": "gcp"}, 0.60),
        ({"cloud": "aws-terminate"}, 0.60),
        ({"cloud": "gcp", "billing": {"minimum_s": 0}}, 0.20),
        ({"billing": {"block_s": 3600}}, 36.0),
        ({"cloud": "gcp", "billing": {"block_s": 25, "fixed_usd": 0.5}}, 1.25),  # 75 s and the fixed part
    ],
)
@pytest.mark.parametrize("method", [*METHODS])
def test_a_task_of_20_s_costs_what_is_billed(fields: dict[str, Any], usd: float, method: str) -> None:
    problem = bag(20, survive="none", **fields)
    found = solve(problem, method)
    plan = found.schedule
    assert plan is not None
    on_spot = bool(plan.instance.offer_is_spot[plan.vm_offer].all())
    fixed_usd = 0.0 if problem.billing is None else problem.billing.fixed_usd or 0.0
    assert plan.cost_usd == pytest.approx(usd if on_spot else 2 * (usd - fixed_usd) + fixed_usd)
    assert replay_day(plan, "static", QUIET).cost_usd == pytest.approx(plan.cost_usd, rel=1e-9)
    assert check(plan.instance, plan).cost_usd == pytest.approx(plan.cost_usd, rel=1e-9)
    if method in ("auto", "patterns", "columns", "class-programme", "interval"):
        assert (found.status, found.bound) == ("optimal", pytest.approx(usd))


def test_short_tasks_share_the_minimum_of_one_vm() -> None:
    """Three tasks of 10 s on a VM each would be billed 60 s each; on one, 60 s for all of them."""
    problem = bag(10, 10, 10, cloud="gcp", survive="none")
    found = solve(problem)
    assert found.schedule is not None
    assert (found.status, len(found.schedule.vm_ids)) == ("optimal", 1)
    assert found.schedule.cost_usd == pytest.approx(0.60)
    assert [point.schedule.cost_usd for point in pareto_front(problem).points] == pytest.approx(
        [3.0, 1.8, 1.2, 0.6][1:]
    )
    assert {bound.name: bound.value for bound in lower_bounds(with_d_spot(problem))}["least cost"] == pytest.approx(0.6)


def test_a_vm_that_runs_has_paid_its_minimum_and_one_that_boots_pays_it_once_it_is_used() -> None:
    """At 20 s, the VM of 10 s has run its first task of 10 s; gcp has billed it until 70 s."""
    problem = bag(10, 10, 60, cloud="gcp", survive="none")
    plan = solve(problem, "columns").schedule
    assert plan is not None
    assert plan.cost_usd == pytest.approx(0.80)
    before, after = (State.planned(plan, time_s) for time_s in (5, 20))
    assert before.spent_usd == 0
    assert after.spent_usd == pytest.approx(0.60)
    for state, left_usd in ((before, 0.80), (after, 0.20)):
        again = replan(problem, state, survive="none").schedule
        assert again is not None
        assert again.cost_usd == pytest.approx(left_usd)
        assert check(again.instance, again).cost_usd == pytest.approx(left_usd)


def look_at_random_bag(document: dict[str, Any], cloud: str, goal: str, method: str, seed: int) -> None:
    """Demand that a plan of a random bag costs what a quiet day of it does."""
    bill = {} if seed % 2 else {"billing": tiny_billing(seed)}
    try:
        problem = Instance.from_document(document | {"cloud": cloud, "objective": {"goal": goal}} | bill, "random")
        found = solve(problem, method, time_limit_s=1.0)
    except (InputError, ModelRefusal):  # tasks that fit nowhere; what a model does not take
        return
    if found.schedule is not None:
        day = replay_day(found.schedule, "static", QUIET)
        assert day.cost_usd == pytest.approx(found.schedule.cost_usd, rel=1e-9, abs=1e-15)


RANDOM = (
    instance_documents(max_tasks=14, restricted=False),
    st.sampled_from([*CLOUDS]),
    st.sampled_from(GOALS),
    st.sampled_from([*METHODS]),
    st.integers(0, 10**6),
)


@soak_of(*RANDOM, sample=20, whole=500)
def test_random_plans_cost_what_a_quiet_day_does(
    document: dict[str, Any], cloud: str, goal: str, method: str, seed: int
) -> None:
    look_at_random_bag(document, cloud, goal, method, seed)


def test_a_state_is_what_it_was_where_the_time_ends_while_vms_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    # 20 s on each of 3 VMs cost three minutes; in two of them, and in one, there is room for all.
    some = with_d_spot(bag(20, 20, 20, cloud="gcp"))
    plan = schedule_of_queues(some, [Queue(some.offers[0], [task]) for task in range(3)])
    state = core_loads.start_from_schedule(some, plan, divisible_bound(some).offers, 0)
    assert state is not None
    before, value = state.core_tasks.copy(), state.value()
    calls = iter([None, LimitReached()])

    def over_soon() -> None:
        if (error := next(calls)) is not None:
            raise error

    monkeypatch.setattr(fewer_vms, "checkpoint", over_soon)
    with pytest.raises(LimitReached):
        fewer_vms.close_vms(state)
    assert (state.core_tasks.tolist(), state.value()) == (before.tolist(), value)
    monkeypatch.undo()
    assert fewer_vms.close_vms(state)
    assert state.value() < value


def test_blocks_count_in_a_search_where_no_vm_has_an_opening() -> None:
    one = np.ones(2)
    rents = VmRents(one, 0 * one, np.zeros(2, int), np.zeros(2, int), np.array([1, 3600]))
    _, bill = core_loads.bills_of(rents, 1.0, 0)
    assert bill[:, 2].tolist() == [1, 3600]
