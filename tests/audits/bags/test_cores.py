"""The checker counts the cores of tasks, by its own arithmetic, whatever a plan says of them."""

from __future__ import annotations

import pytest

from spotbag.audits.bags.plan import check
from spotbag.instances.instance import Instance
from spotbag.schedules.documents import PlacedTask, RentedVm, ScheduleDocument
from tests.instances.test_cores import bag

Placed = tuple[str, int, int, tuple[int, ...] | None]


def broken(instance: Instance, *placed: Placed) -> dict[str, float]:
    """Rules that are broken by a plan of one VM of the first type: task, core, start and all cores of each."""
    tasks = [
        PlacedTask(id=name, vm="vm", core=core, start_s=start_s, end_s=start_s + 100, cores=cores)
        for name, core, start_s, cores in placed
    ]
    vms = (RentedVm(id="vm", type=instance.vm_types[0].name, market="on-demand"),)
    report = check(instance, ScheduleDocument(instance=instance.name, vms=vms, tasks=tuple(tasks)))
    return {violation.rule: violation.amount for violation in report.violations}


@pytest.mark.parametrize(
    ("placed", "rules"),
    [
        ([("t0", 0, 0, (0, 1)), ("t1", 2, 0, (2, 3, 4))], {}),
        ([("t0", 0, 0, (0, 3)), ("t1", 1, 0, (1, 2, 4))], {}),  # they need not be neighbours
        ([("t0", 0, 0, None), ("t1", 2, 0, None)], {}),  # a plan need not name them all
        ([("t0", 0, 0, (0, 1)), ("t1", 1, 40, (1, 2, 3))], {"core": 60}),  # both have core 1
        ([("t0", 0, 0, (0,)), ("t1", 2, 0, (2, 3, 4))], {"core": 1}),  # fewer than it needs
        ([("t0", 0, 0, (0, 0)), ("t1", 2, 0, (2, 3, 4))], {"core": 1}),
        ([("t0", 0, 0, (0, 1)), ("t1", 2, 0, (2, 3, 5))], {"core": 1}),  # the VM has cores 0 to 4
        ([("t0", 1, 0, (0, 1)), ("t1", 2, 0, (2, 3, 4))], {"core": 1}),  # 0 is the first of them
    ],
)
def test_cores_of_tasks_are_counted(placed: list[Placed], rules: dict[str, float]) -> None:
    assert broken(bag([2, 3]), *placed) == rules


def test_no_more_cores_are_needed_than_there_are() -> None:
    instance = bag([2, 2, 3])
    assert broken(instance, ("t0", 0, 0, None), ("t1", 1, 0, None), ("t2", 2, 100, None)) == {}
    assert broken(instance, ("t0", 0, 0, None), ("t1", 1, 0, None), ("t2", 2, 99, None)) == {"core": 2}


def test_a_task_of_more_cores_than_its_vm_has_cannot_run_there() -> None:
    assert broken(bag([1, 8], (4, 8)), ("t0", 0, 0, None), ("t1", 1, 100, None)) == {"core": 4}


def test_memory_is_looked_at_beside_cores() -> None:
    instance = bag([2, 2], memory_mb=3000)
    assert broken(instance, ("t0", 0, 0, (0, 1)), ("t1", 2, 0, (2, 3))) == {"memory": 6000 - 5 * 1024}
    assert broken(instance, ("t0", 0, 0, (0, 1)), ("t1", 2, 100, (2, 3))) == {}
