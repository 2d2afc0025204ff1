"""The order in which plans are carried out, and what waits for memory or cores."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotbag.core.errors import InputError
from spotbag.executors.orders import VmOrder, planned_tasks, vm_orders
from spotbag.instances.entries import Offer, Task, VmType
from spotbag.instances.instance import Instance
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.schedule_files import schedule_of_document
from tests.helpers.exported_plans import Row, core_of, document_of
from tests.helpers.tiny_days import bag as tiny_bag
from tests.helpers.tiny_days import plan as tiny_plan
from tests.helpers.tiny_days import vm_type
from tests.instances.test_cores import bag


@st.composite
def plans_of_a_vm(draw: st.DrawFn) -> tuple[list[Row], list[int], list[int]]:
    """Tasks of a VM by core, memory of each, and how long each really takes."""
    rows: list[Row] = []
    for core in range(draw(st.integers(1, 4))):
        time = 0
        for number in range(draw(st.integers(1, 5))):
            start = time + draw(st.integers(0, 3))
            time = start + draw(st.integers(1, 5))
            rows.append((f"t{core}-{number}", "vm", core, start, time, "true"))
    amounts = st.lists(st.integers(1, 9), min_size=len(rows), max_size=len(rows))
    return rows, draw(amounts), draw(amounts)


def ran(order: VmOrder, taken_s: dict[str, int]) -> dict[str, tuple[int, int]]:
    """Carry out the tasks of a VM as early as their orders allow; return when each ran."""
    found: dict[str, tuple[int, int]] = {}
    by_number = {task.number: task.planned.task for task in order.tasks}
    free = dict.fromkeys(order.cores, 0)
    for task in order.tasks:  # what a task waits for begins before it in the plan
        ends = [found[by_number[number]][1] for number in task.waits_for]
        start = max([free[task.planned.core], *ends])
        found[task.planned.task] = start, start + taken_s[task.planned.task]
        free[task.planned.core] = found[task.planned.task][1]
    return found


@given(plans_of_a_vm())
def test_the_memory_that_the_plan_needs_at_most_is_enough_however_long_tasks_take(
    case: tuple[list[Row], list[int], list[int]],
) -> None:
    rows, memory, taken = case
    ids = [row[0] for row in rows]
    memory_of, taken_s = dict(zip(ids, memory, strict=True)), dict(zip(ids, taken, strict=True))
    [order] = vm_orders(document_of(rows))
    actual = ran(order, taken_s)
    planned = {row[0]: (row[3], row[4]) for row in rows}

    def most(times: dict[str, tuple[int, int]]) -> int:
        return max(sum(memory_of[name] for name in ids if times[name][0] <= start < times[name][1])
                   for start, _ in times.values())  # fmt: skip

    assert most(actual) <= most(planned)


@pytest.mark.parametrize(("memory_mb", "waits"), [(500, False), (501, True)])
def test_tasks_wait_for_other_cores_only_where_memory_may_bind(memory_mb: int, waits: bool) -> None:
    rows = [*core_of(["true"] * 2), *core_of(["true"] * 2, core=1)]
    tasks = tuple(Task(id=row[0], memory_mb=memory_mb, runtime_s={"c5.large": 1.0}) for row in rows)
    offers = {"spot": Offer(price_usd_per_hour=0.1, limit=1)}
    vm_type = VmType(name="c5.large", vcpus=2, memory_mb=1000, offers=offers)
    instance = Instance(name="own", deadline_s=10, d_spot_s=10, boot_overhead_s=0, vm_types=(vm_type,), tasks=tasks)
    schedule = schedule_of_document(document_of(rows), instance)
    assert any(task.waits_for for order in vm_orders(schedule) for task in order.tasks) == waits
    # The document alone does not know the memory.
    assert any(task.waits_for for order in vm_orders(schedule.to_document()) for task in order.tasks)


def test_a_task_waits_for_its_second_core() -> None:
    nothing = [0, 0, 0]
    plan = Schedule(bag([2, 1, 2], (4,)), [0], nothing, [0, 0, 1], [0, 100, 100], nothing)  # type: ignore[arg-type]
    assert plan.task_cores == [(0, 1), (), (1, 2)]
    [order] = vm_orders(plan)
    assert {task.planned.task: task.waits_for for task in order.tasks} == {"t0": (), "t1": (), "t2": (1,)}


def test_what_was_waited_for_is_not_waited_for_again() -> None:
    rows = [*core_of(["true"] * 2), ("a", "vm", 1, 1, 2, "true"), ("b", "vm", 1, 2, 3, "true")]
    [order] = vm_orders(document_of(rows))
    waits = {task.planned.task: task.waits_for for task in order.tasks}
    numbers = {task.planned.task: task.number for task in order.tasks}
    assert waits == {"t1": (), "t2": (), "a": (numbers["t1"],), "b": (numbers["t2"],)}


def test_tasks_wait_for_their_release_and_by_a_document_for_their_planned_start() -> None:
    instance = tiny_bag(
        {"u": {"a": 50}, "t": {"a": 100}}, [vm_type("a")], boot_overhead_s=10, dates={"t": {"ready_s": 70}}
    )
    plan = tiny_plan(instance, ["a spot"], {"u": (0, 0, 10), "t": (0, 0, 75)})
    [order], [told] = vm_orders(plan), vm_orders(plan.to_document())
    assert (order.ready_s, [task.ready_s for task in order.tasks]) == (10, [0, 70])
    assert (told.ready_s, [task.ready_s for task in told.tasks]) == (0, [10, 75])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "vm", 0, 0, 2, "x"), ("b", "vm", 0, 1, 3, "x")], "'b': start_s 1 starts before 'a' has ended"),
        ([("a", "vm", 0, 0, 2, "x"), ("a", "vm", 1, 0, 2, "x")], "'a': is in the plan more than once"),
        ([("a", "vm", 0, 2, 2, "x")], "'a': end_s 2 must be after 2"),
    ],
)
def test_a_plan_of_no_order_is_refused(rows: list[Row], message: str) -> None:
    with pytest.raises(InputError, match=message):
        vm_orders(document_of(rows))


def test_planned_tasks_are_those_of_the_document() -> None:
    [task, _] = planned_tasks(document_of(core_of(["true", "true"])))
    assert (task.task, task.vm, task.core, task.start_s, task.end_s) == ("t1", "vm", 0, 0, 1)
