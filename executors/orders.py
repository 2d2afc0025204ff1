"""The order in which a plan is carried out: what each core runs, and what waits for memory and cores of others."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import numpy as np

from ..core.errors import InputError, Issue
from ..core.quantities import IntArray
from ..core.wording import counted, listed
from ..schedules.documents import ScheduleColumns, ScheduleDocument
from ..schedules.schedule import Schedule
from ..traces.bags.execution import PlannedTask

Target: TypeAlias = Literal["shell", "skypilot"]
TARGETS: tuple[Target, ...] = get_args(Target)
"""Tools for which plans can be exported."""


@dataclass(frozen=True, slots=True)
class TaskOrder:
    """A task of a VM in its place.

    Attributes
    ----------
    planned : PlannedTask
        Which task, where and when.
    command : str or None
        What it runs.
    number : int
        Number of the task on its VM, from 1, in the order of the planned starts.
    waits_for : tuple of int
        Numbers of tasks of other cores that must have ended before it starts, since the memory or the cores may not be
        enough for both; what those wait for, and what tasks before it on its core wait for, is not repeated.
    ready_s : int
        Its release: it starts no earlier, in seconds from the start of the plan. Of a document, which says only
        whether there are dates: the planned start if there are, else 0.
    """

    planned: PlannedTask
    command: str | None
    number: int
    waits_for: tuple[int, ...]
    ready_s: int = 0


@dataclass(frozen=True, slots=True)
class VmOrder:
    """Tasks of a VM in the order of their starts.

    Attributes
    ----------
    vm, type, market : str
        Its id, and what is rented.
    zone : str or None
        Of a pool, ``type@zone``: where it is rented.
    ready_s : int
        From when on it takes tasks by the plan; 0 if that is a document, which does not say it.
    tasks : list of TaskOrder
        In the order of the planned starts.
    """

    vm: str
    type: str
    market: str
    zone: str | None = None
    ready_s: int = 0
    tasks: list[TaskOrder] = field(default_factory=list)

    @property
    def cores(self) -> list[int]:
        """Cores with tasks, ascending."""
        return sorted({task.planned.core for task in self.tasks})

    @property
    def end_s(self) -> float:
        """Planned end of the last task."""
        return max(task.planned.end_s for task in self.tasks)


def planned_tasks(plan: Schedule | ScheduleDocument) -> tuple[PlannedTask, ...]:
    """Planned place and time of each task, in the order of the document."""
    return _planned(plan.columns())


def vm_orders(plan: Schedule | ScheduleDocument) -> list[VmOrder]:
    """Return the tasks of each VM in their order, with the tasks to wait for; VMs without tasks are left out.

    On each core, tasks run one after the other. Where memory may bind, or tasks need different numbers of cores, a task
    also waits for the end of all tasks of its VM that end in the plan before it starts, however long they take. Of
    tasks that run at the same time, then, any two overlap in the plan; so there is a moment of the plan at which all of
    them run, and its memory and its cores are enough.

    Parameters
    ----------
    plan : Schedule or ScheduleDocument
        The plan. A document does not say how much memory VMs have, so that memory is taken to bind on all of them; nor
        does it say their zones, which are read from the names of pools (``type@zone``).

    Raises
    ------
    InputError
        If the plan is in disorder: a task is in it twice or is on no VM of it, or two tasks of a core overlap.
    """
    columns = plan.columns()
    planned = _planned(columns)
    _refuse_disorder(planned, {vm.id for vm in columns.vms})
    orders = []
    zones = {kind.name: kind.zone for kind in plan.instance.vm_types} if isinstance(plan, Schedule) else {}
    vm_ready_s = plan.vm_ready_s.tolist() if isinstance(plan, Schedule) else [0] * len(columns.vms)
    begin_s = columns.task_start_s if columns.header.dates else np.zeros_like(columns.task_start_s)
    ready_s = (plan.instance.release_s[plan.instance.task_group] if isinstance(plan, Schedule) else begin_s).tolist()
    vm_of = {name: number for number, name in enumerate(columns.vm_names)}
    by_vm: list[list[int]] = [[] for _ in columns.vm_names]
    # Ties by end and core, so that the numbers of tasks do not depend on the order in the document.
    for row in np.lexsort((columns.task_core, columns.task_end_s, columns.task_start_s)).tolist():
        by_vm[int(columns.task_vm[row])].append(row)
    for vm in columns.vms:
        rows = by_vm[vm_of[vm.id]]
        if not rows:
            continue
        waits = _waits([planned[row] for row in rows]) if _others_may_bind(plan, rows) else [()] * len(rows)
        tasks = [
            TaskOrder(planned[row], columns.commands[row], number, waits[number - 1], ready_s[row])
            for number, row in enumerate(rows, 1)
        ]
        zone = zones.get(vm.type, vm.type.partition("@")[2] or None)
        orders.append(VmOrder(vm.id, vm.type, vm.market, zone, vm_ready_s[vm_of[vm.id]], tasks))
    return orders


def _planned(columns: ScheduleColumns) -> tuple[PlannedTask, ...]:
    numbers: tuple[IntArray, ...] = (columns.task_vm, columns.task_core, columns.task_start_s, columns.task_end_s)
    rows = zip(columns.task_ids, *(column.tolist() for column in numbers), columns.cores, strict=True)
    return tuple(
        [
            PlannedTask(name, columns.vm_names[vm], core, start, end, cores=cores)
            for name, vm, core, start, end, cores in rows
        ]
    )


def refuse_running(plan: Schedule | ScheduleDocument) -> None:
    """Refuse a plan from a state in which tasks run: executors start every task themselves, and would start these anew.

    Raises
    ------
    InputError
        If tasks run in the state that the plan is from.
    """
    if isinstance(plan, Schedule):
        running = [plan.instance.task_ids[task] for task in plan.instance.running.task.tolist()]
    else:
        # Times of a document count from the state that it is from, so that what ran then has begun before 0.
        running = [task.task for task in planned_tasks(plan) if task.start_s < 0]
    if running:
        rule = (
            f"{counted(len(running), 'task')} of it ran when it was made ({listed(running, 'task')}), and would be run "
            "again: stop what runs them, read the logs, and plan from the state in which nothing runs"
        )
        raise InputError("plan", [Issue("", rule)])


def _refuse_disorder(planned: Sequence[PlannedTask], vms: set[str]) -> None:
    issues = []
    seen: set[str] = set()
    last: dict[tuple[str, int], PlannedTask] = {}
    for task in sorted(planned, key=lambda task: (task.start_s, task.end_s)):
        if task.vm not in vms:
            issues.append(Issue("tasks", "is no VM of the plan", "vm", task.vm, task.task))
        if task.end_s <= task.start_s:
            issues.append(Issue("tasks", f"must be after {task.start_s}, its start", "end_s", task.end_s, task.task))
        if task.task in seen:
            issues.append(Issue("tasks", "is in the plan more than once", item=task.task))
        seen.add(task.task)
        before = last.get((task.vm, task.core))
        if before is not None and before.end_s > task.start_s:
            rule = f"starts before {before.task!r} has ended on core {task.core} of {task.vm}"
            issues.append(Issue("tasks", rule, "start_s", task.start_s, task.task))
        last[task.vm, task.core] = task
    if issues:
        raise InputError("plan", [*issues[:3], Issue("", "'spotbag check' says all that is wrong with a plan")])


def _others_may_bind(plan: Schedule | ScheduleDocument, rows: Sequence[int]) -> bool:
    """True if tasks of a VM may need more memory together than it has, or cores in whose queues others stand."""
    if isinstance(plan, ScheduleDocument) or plan.instance.slots.shared:
        return True
    instance = plan.instance
    largest: dict[int, int] = {}
    for row in rows:
        # A core runs one task at a time: where the largest of each fit together, so do any.
        core = int(plan.task_core[row])
        largest[core] = max(largest.get(core, 0), int(instance.memory_kb[instance.task_group[row]]))
    offer = instance.offers[int(plan.vm_offer[plan.task_vm[rows[0]]])]
    return sum(largest.values()) > offer.memory_kb


def _waits(planned: Sequence[PlannedTask]) -> list[tuple[int, ...]]:
    """Numbers of the tasks that each task of a VM waits for, the last of each other core."""
    lists: dict[int, list[int]] = {}
    for number, task in enumerate(planned, 1):
        lists.setdefault(task.core, []).append(number)
    ends = {core: [planned[number - 1].end_s for number in numbers] for core, numbers in lists.items()}
    waited: dict[tuple[int, int], int] = {}
    result = []
    for task in planned:
        found = []
        for core, numbers in lists.items():
            ended = bisect_right(ends[core], task.start_s)
            # What an earlier task of its core has waited for has ended: only what came since is named.
            if core == task.core or ended <= waited.get((task.core, core), 0):
                continue
            waited[task.core, core] = ended
            found.append(numbers[ended - 1])
        result.append(tuple(found))
    return result
