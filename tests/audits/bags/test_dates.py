"""The checker on plans of tasks with dates."""

from __future__ import annotations

from typing import Any

import pytest

from spotbag.audits.bags.plan import check
from spotbag.instances.instance import Instance
from spotbag.schedules.documents import ScheduleDocument
from tests.audits.bags.test_plan import GOOD, two_core_instance
from tests.helpers.second_by_second import one_vm_plan


def dated(machines: list[Any] | None = None, **of: dict[str, Any]) -> Instance:
    tasks = [task.model_dump(exclude_unset=True) | of.get(task.id, {}) for task in two_core_instance().tasks]
    return two_core_instance(tasks=tasks, machines=machines or [])


def plan(instance: Instance) -> ScheduleDocument:
    return one_vm_plan(instance, GOOD, cost_usd=0.03, makespan_s=30)


@pytest.mark.parametrize(
    ("dates", "broken"),
    [
        ({"y": {"ready_s": 10, "deadline_s": 30}, "x": {"deadline_s": 10}, "z": {"ready_s": 0}}, {}),
        ({"y": {"ready_s": 13}}, {"release": 3}),
        ({"y": {"deadline_s": 28}}, {"due": 2}),
        ({"z": {"ready_s": 1, "deadline_s": 300}, "x": {"deadline_s": 10}}, {"release": 1}),
    ],
)
def test_dates_are_kept(dates: dict[str, dict[str, Any]], broken: dict[str, float]) -> None:
    instance = dated(**dates)
    report = check(instance, plan(instance))
    assert {violation.rule: violation.amount for violation in report.violations} == broken
    assert report.cost_usd == pytest.approx(0.03)


def test_messages_name_task_moment_and_date() -> None:
    instance = dated(y={"ready_s": 13}, x={"deadline_s": 10})
    violations = check(instance, one_vm_plan(instance, [("x", 0, 1, 11), *GOOD[1:]])).violations
    texts = [str(violation) for violation in violations]
    assert any("task 'x' ends at 11 s, 1 s after its deadline_s (10 s)" in text for text in texts)
    assert any("task 'y' starts at 10 s, 3 s before its ready_s (13 s)" in text for text in texts)


def test_a_running_task_has_begun_whatever_its_release_is() -> None:
    machine = {"id": "vm", "type": "a", "market": "spot", "running": [{"task": "x", "core": 0, "start_s": -4}]}
    running = [("x", 0, -4, 6), ("y", 0, 6, 26), ("z", 1, 0, 5)]
    for dates, broken in (({"ready_s": 5}, []), ({"deadline_s": 5}, ["due"])):
        instance = dated([machine], x=dates)
        assert [violation.rule for violation in check(instance, one_vm_plan(instance, running)).violations] == broken
