"""The plan (the papers' primary map): which VMs are rented, and which task runs on which core when."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from ..core.errors import InputError, Issue, input_error, public
from ..core.quantities import BoolArray, FloatArray, IntArray, at_most, read_only
from ..core.records import made_all
from ..instances.entries import BASELINE
from ..instances.instance import Instance
from .documents import (
    MODES,
    Lateness,
    PlacedTask,
    RentedVm,
    ScheduleColumns,
    ScheduleDocument,
    ScheduleHeader,
    Survival,
)
from .timing import VmRents, makespan_s, objective_value, vm_rents, with_free_slots

_BY_NAME = read_only(np.zeros(0, dtype=np.int64))


class UnsuitablePlanError(InputError, ValueError):
    """Arrays that are no plan of an instance."""


def _no_plan(rule: str) -> UnsuitablePlanError:
    return UnsuitablePlanError("plan", [Issue("", rule)])


@dataclass(frozen=True, eq=False)
class Schedule:
    """A plan for an instance. Times, cost and objective are derived from the instance.

    Feasibility is not asked for here; see `spotbag.check`.

    Attributes
    ----------
    instance : Instance
        What it is a plan for, with ``d_spot_s`` set if spot VMs are offered.
    vm_offer : array of int, shape (n_vms,)
        Offer of each VM, as an index into ``instance.offers``.
    task_vm, task_core, task_start_s : array of int, shape (n_tasks,)
        Where and when each task runs.
    task_baseline : array of bool, shape (n_tasks,)
        Tasks that run in baseline mode (burstable VMs only).
    vm_ids : tuple of str, shape (n_vms,)
        Names of the VMs; those of machines are their ids.
    vm_machine : array of int, shape (n_vms,)
        Machine that a VM is, as an index into ``instance.machines``; -1 for VMs that are rented. By the names of the
        VMs if absent.

    Raises
    ------
    InputError
        If shapes or indices do not fit the instance, or a task cannot run where it is placed.
    """

    instance: Instance
    vm_offer: IntArray
    task_vm: IntArray
    task_core: IntArray
    task_start_s: IntArray
    task_baseline: BoolArray
    vm_ids: tuple[str, ...] = ()
    vm_machine: IntArray = field(default_factory=lambda: _BY_NAME)

    def __post_init__(self) -> None:
        if not isinstance(self.instance, Instance):
            raise _no_plan("instance must be a spotbag.Instance")
        n_tasks = self.instance.n_tasks
        for name in ("vm_offer", "task_vm", "task_core", "task_start_s", "task_baseline"):
            kind = bool if name == "task_baseline" else np.int64
            try:
                array = np.array(getattr(self, name), dtype=kind)
            except (TypeError, ValueError, OverflowError):
                raise _no_plan(f"{name} must be an array of {kind.__name__}") from None
            if array.ndim != 1 or (name.startswith("task") and len(array) != n_tasks):
                raise _no_plan(f"{name} has shape {array.shape}; the instance has {n_tasks} tasks")
            object.__setattr__(self, name, read_only(array))
        _check_indices("vm_offer", self.vm_offer, len(self.instance.offers))
        _check_indices("task_vm", self.task_vm, len(self.vm_offer))
        machine = self._machines()
        if len(machine) != len(self.vm_offer):
            raise _no_plan(f"vm_machine has shape {machine.shape}; the plan has {len(self.vm_offer)} VMs")
        _check_indices("vm_machine", machine + 1, len(self.instance.machines) + 1)
        object.__setattr__(self, "vm_machine", read_only(machine))
        if not self.vm_ids:
            object.__setattr__(self, "vm_ids", default_vm_ids(self.instance, self.vm_offer, machine))
        if len(self.vm_ids) != len(self.vm_offer) or len(set(self.vm_ids)) != len(self.vm_ids):
            raise _no_plan("vm_ids must name each VM once")
        if (self.task_core < 0).any() or (self.task_core >= self.vm_vcpus[self.task_vm]).any():
            raise _no_plan("task_core names a core that the VM does not have")
        # Durations where a task cannot run are far beyond any that it can have.
        if (self.task_duration_s > 10**9).any():
            raise _no_plan("a task is placed where it cannot run")
        if self.instance.slots.shared:
            object.__setattr__(self, "task_core", read_only(np.array([slots[0] for slots in self.task_slots])))

    def _machines(self) -> IntArray:
        """Machine of each VM, by the names of the VMs if it is not given."""
        if self.vm_machine is not _BY_NAME:
            return np.array(self.vm_machine, dtype=np.int64)
        if not (self.instance.machines and self.vm_ids):
            return np.full(len(self.vm_offer), -1, dtype=np.int64)
        number = {machine.id: index for index, machine in enumerate(self.instance.machines)}
        return np.array([number.get(name, -1) for name in self.vm_ids], dtype=np.int64)

    def __reduce__(self) -> tuple[Any, ...]:
        """Make copies anew from the fields, so that their arrays cannot be written to either."""
        return Schedule, tuple(getattr(self, entry.name) for entry in fields(self))

    @cached_property
    def task_duration_s(self) -> IntArray:
        """Time each task occupies its core, shape (n_tasks,)."""
        table = self.instance.duration_s
        mode = self.task_baseline.astype(np.int64) * BASELINE
        return read_only(np.asarray(table[self.instance.task_group, self.vm_offer[self.task_vm], mode]))

    @cached_property
    def task_end_s(self) -> IntArray:
        """End of each task, shape (n_tasks,)."""
        return read_only(self.task_start_s + self.task_duration_s)

    @cached_property
    def task_slots(self) -> list[tuple[int, ...]]:
        """Slots of each task: those that are free first, the first of them at a tie, in the order of starts.

        Tasks that run on machines keep those that are named of them. A task that finds too few has those that there
        are, and one at least: what is wrong with its plan is for the checker to say.
        """
        instance, running = self.instance, self.instance.running
        if not instance.slots.shared:
            return [(core,) for core in self.task_core.tolist()]
        need = dict(enumerate((instance.cores[instance.task_group] // instance.slots.cores).tolist()))
        ends_s, vms, n_slots = self.task_end_s.tolist(), self.task_vm.tolist(), self.vm_vcpus.tolist()
        named: list[dict[int, tuple[int, ...]]] = [{} for _ in n_slots]
        where = zip(running.task.tolist(), running.machine.tolist(), instance.running_slots, strict=True)
        for task, machine, slots in where:
            if self.vm_machine[vms[task]] == machine:
                named[vms[task]][task] = slots
        kept = [with_free_slots(slots, tasks, need) for slots, tasks in zip(n_slots, named, strict=True)]
        busy = [[(ends_s[task], slots) for task, slots in tasks.items()] for tasks in kept]
        free = [[*range(slots)] for slots in n_slots]
        found = dict[int, tuple[int, ...]]()
        for mine, taken_slots, tasks in zip(free, busy, kept, strict=True):
            heapify(taken_slots)
            mine[:] = set(mine).difference(*tasks.values())
            found |= tasks
        # All others in the order of their starts: slots of tasks that have ended by then are free again.
        ordered = np.lexsort((np.arange(instance.n_tasks), self.task_start_s)).tolist()
        for task in (task for task in ordered if task not in found):
            mine, start_s = free[vms[task]], int(self.task_start_s[task])
            while busy[vms[task]] and busy[vms[task]][0][0] <= start_s:
                mine += heappop(busy[vms[task]])[1]
            mine.sort()
            taken = tuple(mine[: need[task]])
            del mine[: need[task]]
            found[task] = taken or (0,)
            heappush(busy[vms[task]], (ends_s[task], taken))
        return [found[task] for task in range(instance.n_tasks)]

    @cached_property
    def task_cores(self) -> list[tuple[int, ...]]:
        """Cores of each task that has several, all of them; empty for all others."""
        several = self.instance.cores[self.instance.task_group] > 1
        if not several.any():
            return [()] * len(several)
        return [
            self.instance.slots.cores_of(slots) if named else ()
            for slots, named in zip(self.task_slots, several.tolist(), strict=True)
        ]

    @cached_property
    def checkpoint_interval_s(self) -> FloatArray:
        """Work between two checkpoints of each task, shape (n_tasks,) (HADS eq. 2); infinite where none are taken."""
        spot = self.instance.offer_is_spot[self.vm_offer[self.task_vm]]
        return read_only(np.where(spot, self.instance.checkpoint_interval_s[self.instance.task_group], np.inf))

    @cached_property
    def vm_vcpus(self) -> IntArray:
        """Slots of each VM, shape (n_vms,): its cores, where no task has several."""
        return read_only(np.array([offer.vcpus for offer in self.instance.offers], dtype=np.int64)[self.vm_offer])

    @cached_property
    def vm_ready_s(self) -> IntArray:
        """Times from which each VM can run tasks, shape (n_vms,): rented VMs after the boot."""
        return read_only(self.rents.ready_s)

    @cached_property
    def rents(self) -> VmRents:
        """Bills of the VMs."""
        return vm_rents(self.instance, self.vm_offer, self.vm_machine)

    @cached_property
    def vm_end_s(self) -> IntArray:
        """End of the last task of each VM, shape (n_vms,); the VM's readiness if it has none."""
        end = self.vm_ready_s.copy()
        np.maximum.at(end, self.task_vm, self.task_end_s)
        return read_only(end)

    @cached_property
    def vm_cost_usd(self) -> FloatArray:
        """Bill of each VM, shape (n_vms,)."""
        return read_only(self.cost_until_usd(self.vm_end_s))

    def cost_until_usd(self, until_s: IntArray) -> FloatArray:
        """Bill of each VM until some moments, shape (n_vms,), as its cloud bills it; nothing before it is ready.

        Burst-HADS, section III-A, where it is by the second: charged from omega after the launch until it terminates.
        What is paid already for a machine that exists is not paid again.
        """
        return self.rents.cost_usd(slice(None), until_s)  # type: ignore[no-any-return]

    @cached_property
    def cost_usd(self) -> float:
        """Bill of all VMs."""
        return float(self.vm_cost_usd.sum())

    @cached_property
    def makespan_s(self) -> int:
        """End of the last task."""
        return makespan_s(self.task_end_s)

    @property
    def within_budget(self) -> bool:
        """True if the cost is within the budget of the instance."""
        budget = self.instance.objective.budget_usd
        return budget is None or self.cost_usd <= at_most(budget)

    @cached_property
    def objective(self) -> float:
        """Value of the instance's objective."""
        return objective_value(self.instance, self.cost_usd, self.makespan_s)

    def vm_counts(self) -> dict[str, int]:
        """VMs of each offer by its name, e.g. ``{"c4.large spot": 2}``, in catalogue order."""
        offers = self.instance.offers
        return dict(Counter(str(offers[index]) for index in sorted(self.vm_offer.tolist())))

    def columns(
        self, method: str | None = None, survival: Survival | None = None, late: Lateness | None = None
    ) -> ScheduleColumns:
        """Return the plan's document in columns: what made it, what it survives, and which tasks it has late."""
        instance = self.instance
        offers = [instance.offers[index] for index in self.vm_offer.tolist()]
        burstable = instance.offer_is_burstable[self.vm_offer[self.task_vm]]
        baseline, burst = MODES.index("baseline"), MODES.index("burst")
        interval = self.checkpoint_interval_s
        # Columns of numbers, not a record for each task: the checker and the writer take them as they are.
        return ScheduleColumns(
            header=ScheduleHeader(
                instance=instance.name,
                method=method,
                deadline_s=instance.deadline_s,
                d_spot_s=instance.d_spot_s,
                cost_usd=self.cost_usd,
                makespan_s=self.makespan_s,
                objective=self.objective,
                goal=instance.goal,
                cost_weight=instance.cost_weight,
                cost_scale_usd=instance.cost_scale_usd,
                makespan_scale_s=instance.makespan_scale_s,
                survival=survival,
                dates=instance.has_dates or None,
                late=late,
            ),
            vms=tuple(
                made_all(
                    RentedVm,
                    [
                        {"id": name, "type": offer.vm_type.name, "market": offer.market}
                        for name, offer in zip(self.vm_ids, offers, strict=True)
                    ],
                )
            ),
            vm_names=self.vm_ids,
            task_ids=instance.task_ids,
            task_vm=self.task_vm,
            task_core=self.task_core * instance.slots.cores,
            task_start_s=self.task_start_s,
            task_end_s=self.task_end_s,
            task_mode=np.where(burstable, np.where(self.task_baseline, baseline, burst), 0),
            checkpoint_interval_s=_to_digits(interval),
            commands=instance.task_commands,
            cores=self.task_cores,
        )

    @public
    def next_tasks(self, vm: str, after_s: float = 0.0, begun: Container[str] = ()) -> dict[int, PlacedTask]:
        """Return the next task of each core of a VM, by core; a core that has none left is not among them.

        The first call for a plan sorts its tasks; others take next to no time.

        Parameters
        ----------
        vm : str
            Name of the VM.
        after_s : float
            The first that is planned to start then or later: a time of the plan. What is late, or early, is told by
            ``begun``.
        begun : container of str
            Tasks that have begun whatever the plan says: they are passed over.

        Raises
        ------
        InputError
            If the plan has no such VM.
        """
        if vm not in self._queues:
            raise input_error("vm", f"is {vm!r}, which the plan does not have (VMs: {', '.join(self.vm_ids[:8])})")
        columns, found = self._columns, {}
        for core, (starts_s, rows) in self._queues[vm].items():
            first = bisect_left(starts_s, after_s)
            row = next((row for row in rows[first:] if columns.task_ids[row] not in begun), None)
            if row is not None:
                found[core] = next(columns.records(np.array([row])))
        return found

    @cached_property
    def _columns(self) -> ScheduleColumns:
        return self.columns()

    @cached_property
    def _queues(self) -> dict[str, dict[int, tuple[list[int], list[int]]]]:
        """Starts and rows of the tasks of each core of each VM, in the order in which they start."""
        queues: dict[str, dict[int, tuple[list[int], list[int]]]] = {name: {} for name in self.vm_ids}
        order = np.lexsort((self.task_start_s, self.task_core, self.task_vm))
        columns = (order, self.task_vm[order], self.task_core[order], self.task_start_s[order])
        for row, vm, core, start_s in zip(*(column.tolist() for column in columns), strict=True):
            starts_s, rows = queues[self.vm_ids[vm]].setdefault(core, ([], []))
            starts_s.append(start_s)
            rows.append(row)
        return queues

    def to_document(
        self, method: str | None = None, survival: Survival | None = None, late: Lateness | None = None
    ) -> ScheduleDocument:
        """Return the plan as the document of a file; see `columns`."""
        columns = self.columns(method, survival, late)
        return ScheduleDocument(**dict(columns.header), vms=columns.vms, tasks=tuple(columns.records()))


def busy_before(plan: Schedule) -> tuple[IntArray, IntArray]:
    """Return the tasks by VMs and starts, and until when those before each keep its VM busy: the first, its boot."""
    rows = np.lexsort((plan.task_start_s, plan.task_vm))
    vm, end_s = plan.task_vm[rows], plan.task_end_s[rows]
    # The latest end so far on the same VM: ends of later VMs are raised above those of all before.
    raised = vm * (2 * int(np.abs(plan.task_end_s).max(initial=0)) + 1)
    busy_until_s = np.maximum.accumulate(raised + end_s) - raised
    begin_s = np.minimum(plan.vm_ready_s[vm], plan.task_start_s[rows])  # what runs already began before
    return rows, np.where(np.diff(vm, prepend=-1) > 0, begin_s, np.roll(busy_until_s, 1))


def with_new_names(plan: Schedule, taken: Collection[str]) -> Schedule:
    """Return a plan from a state whose new VMs have names that no VM has had: one of ``taken`` may be gone."""
    had = {*taken, *(machine.id for machine in plan.instance.machines)}
    names = [*plan.vm_ids]
    for vm in np.flatnonzero(plan.vm_machine < 0).tolist():
        stem, number = names[vm].rsplit("-", 1)[0], 1
        while names[vm] in had:
            names[vm] = f"{stem}-{number}"
            number += 1
        had.add(names[vm])
    if tuple(names) == plan.vm_ids:
        return plan
    named = object.__new__(Schedule)  # all but the names is the same, and known to be right
    named.__dict__.update(plan.__dict__, vm_ids=tuple(names))
    for made_of_names in ("_columns", "_queues"):
        named.__dict__.pop(made_of_names, None)
    return named


def default_vm_ids(
    instance: Instance, vm_offer: Sequence[int] | IntArray, vm_machine: Sequence[int] | IntArray = ()
) -> tuple[str, ...]:
    """Names like ``c4.large-spot-1``, numbered by offer; machines have their own, which no other VM gets."""
    taken = {machine.id for machine in instance.machines}
    seen: Counter[int] = Counter()
    names = []
    machines = np.asarray(vm_machine).tolist() or [-1] * len(vm_offer)
    for index, machine in zip(np.asarray(vm_offer).tolist(), machines, strict=True):
        if machine >= 0:
            names.append(instance.machines[machine].id)
            continue
        offer = instance.offers[index]
        while True:  # a machine may have the name that the next new VM would get
            seen[index] += 1
            name = f"{offer.vm_type.name}-{offer.market}-{seen[index]}"
            if name not in taken:
                break
        names.append(name)
    return tuple(names)


def _to_digits(interval_s: FloatArray) -> FloatArray:
    """Round checkpoint intervals as a plan states them, so that 30 is no 30.000000000000004; NaN for those without end.

    To digits, not to decimals: an interval of 1e-7 s is none of 0 s.
    """
    different, which = np.unique(interval_s, return_inverse=True)
    return np.array([float(f"{value:.15g}") if value < np.inf else np.nan for value in different])[which]


def _check_indices(name: str, array: Any, size: int) -> None:
    if len(array) and (array.min() < 0 or array.max() >= size):
        raise _no_plan(f"{name} must hold indices below {size}")


def plan_of_places(
    instance: Instance,
    tasks: IntArray,
    number: IntArray,
    core: IntArray,
    start_s: IntArray,
    offers: IntArray,
    baseline: BoolArray | None = None,
) -> Schedule:
    """Return the plan that has open tasks on cores of VMs, which are numbered: machines first, as in ``offers``.

    What runs on machines is where it is; VMs without tasks are left out.
    """
    running = instance.running
    of_task = np.zeros((3, instance.n_tasks), dtype=np.int64)
    of_task[:, tasks] = number, core, start_s
    of_task[:, running.task] = running.machine, running.core, running.start_s
    slow = np.zeros(instance.n_tasks, dtype=bool)
    slow[tasks] = False if baseline is None else baseline
    slow[running.task] = running.baseline
    # VMs are numbered anew, as those without tasks are left out.
    used = np.bincount(of_task[0], minlength=len(offers)) > 0
    vms = np.flatnonzero(used)
    task_vm = (np.cumsum(used) - 1)[of_task[0]]
    machine = np.where(vms < len(instance.machines), vms, -1)
    return Schedule(instance, offers[vms], task_vm, of_task[1], of_task[2], slow, vm_machine=machine)
