"""Assignments of tasks to VMs in their order: the VMs that there are, tasks alike, and plans that end too late."""

from __future__ import annotations

from typing import Any

import numpy as np

from spotbag.audits.bags.plan import check
from spotbag.heuristics.bags.assignments import assignments_of, assignments_of_queues
from spotbag.instances.instance import Instance
from spotbag.schedules.queues import Queue, schedule_of_queues
from spotbag.schedules.rescuable import RescuableInstance

SPOT, ON_DEMAND = 0, 1


def _bag(seconds: list[int], **more: Any) -> Instance:
    """Tasks on one type with two cores, three VMs of each market."""
    offers = {market: {"price_usd_per_hour": 3.6, "limit": 3} for market in ("spot", "on-demand")}
    document = {
        "format": "spotbag.instance/1",
        "name": "alike",
        "deadline_s": 100,
        "vm_types": [{"name": "two", "vcpus": 2, "memory_mb": 100, "offers": offers}],
        "tasks": [{"id": f"t{k}", "memory_mb": 1, "runtime_s": {"two": s}} for k, s in enumerate(seconds)],
        "objective": {"goal": "cheapest"},
    } | more
    bag = Instance.from_document(document, "alike")
    assert [offer.market for offer in bag.offers] == ["spot", "on-demand"]
    return bag.replace(d_spot_s=bag.deadline_s)


def test_spare_vms_keep_the_limits_of_offers_and_of_markets() -> None:
    """One spot VM is in use, of three that there may be; of those on demand, the market has one."""
    for spare, spot, on_demand in ((0, 1, 0), (1, 2, 1), (2, 3, 1), (9, 3, 1)):
        bag = _bag([20, 30], limits={"max_on_demand": 1})
        state = assignments_of(schedule_of_queues(bag, [Queue(bag.offers[SPOT], [0, 1])]), spare)
        assert np.bincount(state.fleet.offer, minlength=2).tolist() == [spot, on_demand]
        assert sorted(state.plan.number.tolist(), reverse=True) == [2] + [0] * (spot + on_demand - 1)


def test_open_machines_without_tasks_are_there_and_closed_ones_are_not() -> None:
    machines = [{"id": name, "type": "two", "market": "spot", "open": name != "shut"} for name in ("a", "b", "shut")]
    bag = _bag([20, 30], machines=machines)
    state = assignments_of(schedule_of_queues(bag, [Queue(bag.offers[SPOT], [0, 1], 0)]), 0)
    assert state.vm_machine.tolist() == [0, 1]
    assert state.plan.number.tolist() == [2, 0]


def test_what_runs_on_a_machine_that_takes_no_tasks_is_in_the_plan() -> None:
    machines = [
        {
            "id": "shut",
            "type": "two",
            "market": "spot",
            "open": False,
            "running": [{"task": "t1", "core": 0, "start_s": -5}],
        },
        {"id": "a", "type": "two", "market": "spot"},
    ]
    bag = _bag([20, 30], machines=machines)
    state = assignments_of(schedule_of_queues(bag, [Queue(bag.offers[SPOT], [0], 1)]), 0)
    assert state.vm_machine.tolist() == [1]
    plan = state.schedule(state.plan.tasks, state.plan.number, state.plan.slow)
    assert plan is not None
    assert sorted(plan.vm_machine.tolist()) == [0, 1]
    assert plan.task_end_s.tolist() == [20, 25]
    assert check(bag, plan).feasible


def _plan_of(bag: Instance, queues: list[Queue]) -> Any:
    state = assignments_of_queues(bag, queues, np.zeros(bag.n_tasks, dtype=bool))
    return state.schedule(state.plan.tasks, state.plan.number, state.plan.slow)


def test_a_plan_that_ends_too_late_is_none() -> None:
    """Two tasks of 60 s on two cores end at 60 s; a third of 40 s ends at 100 s, one of 41 s after the deadline."""
    for last, in_time in ((40, True), (41, False)):
        bag = _bag([60, 60, last])
        assert (_plan_of(bag, [Queue(bag.offers[SPOT], [0, 1, 2])]) is not None) == in_time


def test_a_plan_whose_task_has_its_own_latest_end_is_none_after_it() -> None:
    """A task of 50 s that is lost at 49 s is done again by 99 s, one that starts after 2 s at 101 s: it is too late.

    On demand, it may end at 52 s.
    """
    bag = _bag([2, 2, 50])
    question = RescuableInstance.of(bag, "type")
    assert question.latest_end_s[2].tolist() == [51, 100]
    assert _plan_of(question, [Queue(bag.offers[SPOT], [2, 0, 1])]) is not None
    assert _plan_of(question, [Queue(bag.offers[SPOT], [0, 1, 2])]) is None
    assert _plan_of(question, [Queue(bag.offers[ON_DEMAND], [0, 1, 2])]) is not None


def test_tasks_alike_are_the_nearest_in_time_and_never_the_task_itself() -> None:
    state = assignments_of_queues(
        bag := _bag([10, 11, 80, 79]), [Queue(_bag([1]).offers[SPOT], [0, 1, 2, 3])], np.zeros(4, bool)
    )
    assert state.alike[:, 0].tolist() == [1, 0, 3, 2]
    assert all(task not in state.alike[task] for task in range(bag.n_tasks))
    alone = assignments_of_queues(bag := _bag([10]), [Queue(bag.offers[SPOT], [0])], np.zeros(1, bool))
    assert alone.alike.tolist() == [[0]]
