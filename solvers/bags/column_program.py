"""The integer programme of the column method: it picks the best plan from columns that are listed."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ...core.quantities import IntArray
from ...instances.instance import Instance
from ...models.integer_program import IntegerProgram
from ...schedules.timing import objective_weights
from .column_master import ColumnMaster
from .vm_columns import ColumnFinder, VmColumn


@dataclass(frozen=True, slots=True)
class ColumnProgram:
    """The programme of some columns.

    Attributes
    ----------
    program : IntegerProgram
        The programme.
    picked : array of int
        Its column for each of those listed.
    relaxed : list of (list of int, list of float)
        By burstable offer: its columns of tasks there, and the VM seconds that each task takes.
    """

    program: IntegerProgram
    picked: IntArray
    relaxed: list[tuple[list[int], list[float]]] = field(default_factory=list)

    def burstable_seconds(self, values: IntArray) -> list[float]:
        """VM seconds of the tasks on burstable VMs, by offer."""
        return [float(np.dot(values[columns], seconds)) for columns, seconds in self.relaxed]


def column_program(master: ColumnMaster, first_s: int, listed: list[VmColumn], burstable: bool = True) -> ColumnProgram:
    """Best plan of the listed columns: each class is run, limits are kept, the makespan is the last end.

    Parameters
    ----------
    master : ColumnMaster
        Whose columns they are.
    first_s : int
        Makespan, from ready, that is paid in any case.
    listed : list of VmColumn
        The columns.
    burstable : bool
        Whether tasks may run on burstable VMs, which are relaxed.
    """
    instance = master.instance
    time_weight = objective_weights(instance)[1]
    program = IntegerProgram(constant=time_weight * (first_s + instance.boot_overhead_s))
    picked = np.array([_add_column(program, master.finders[c.offer], c) for c in listed], dtype=np.int64)
    made = ColumnProgram(program, picked)
    _add_all_tasks_run(made, master, listed, burstable)
    ends = np.array([column.end_s for column in listed], dtype=np.int64)
    offer_of = np.array([column.offer for column in listed], dtype=np.int64)
    steps = _add_makespan(program, instance, first_s, ends)
    rented: dict[int, list[int]] = {}
    for k, finder in enumerate(master.finders):
        mine = offer_of == k
        if mine.any():
            by_end = _add_vms_by_core if finder.columns_of_vm > 1 else _add_vms
            rented[k] = by_end(program, finder, picked[mine], ends[mine], steps)
    for members, cap in master.markets:
        together = [column for k in members for column in rented.get(k, [])]
        if together:
            program.add_row(together, [1] * len(together), upper=cap)
    return made


def _add_column(program: IntegerProgram, finder: ColumnFinder, column: VmColumn) -> int:
    """Column of the programme for a VM, which has a price, or for a core, whose VM has one."""
    if finder.columns_of_vm == 1:
        return program.add_column(finder.rate * column.end_s, upper=finder.vms)
    return program.add_column(upper=finder.vms * finder.columns_of_vm)


def _add_all_tasks_run(made: ColumnProgram, master: ColumnMaster, listed: list[VmColumn], burstable: bool) -> None:
    """Each class is run as often as it has tasks, on columns or, as a relaxation, on burstable VMs."""
    program, picked = made.program, made.picked
    counts = master.counts_matrix(listed)
    of_class: dict[int, list[int]] = {}
    for tasks in master.relaxed if burstable else ():
        columns: list[int] = []
        for task in tasks:
            price = objective_weights(master.instance)[0] * task.offer.price_usd_per_s
            columns.append(program.add_column(price * task.seconds, upper=int(master.classes.size[task.group_class])))
            of_class.setdefault(task.group_class, []).append(columns[-1])
        made.relaxed.append((columns, [task.seconds for task in tasks]))
    for index, size in enumerate(master.classes.size.tolist()):
        rows = np.flatnonzero(counts[:, index])
        extra = of_class.get(index, [])
        times = [*counts[rows, index].tolist(), *([1] * len(extra))]
        program.add_row([*picked[rows].tolist(), *extra], times, lower=size)


def _add_makespan(program: IntegerProgram, instance: Instance, first_s: int, ends: IntArray) -> dict[int, int]:
    """Steps of the makespan beyond its first moment: by moment, the column that says whether it is reached."""
    time_weight = objective_weights(instance)[1]
    moments = np.unique(ends[ends > first_s]).tolist()
    steps = {
        moment: program.add_column(time_weight * (moment - previous))
        for moment, previous in zip(moments, [first_s, *moments], strict=False)
    }
    for earlier, later in pairwise(steps.values()):
        program.add_row([earlier, later], [1, -1], lower=0)
    return steps


def _add_vms(
    program: IntegerProgram, finder: ColumnFinder, picked: IntArray, ends: IntArray, steps: dict[int, int]
) -> list[int]:
    """VMs by their columns: not more than there are, none ends after the makespan; return what counts them."""
    program.add_row(picked.tolist(), [1] * len(picked), upper=finder.vms)
    for moment in np.unique(ends).tolist():
        mine = picked[ends == moment].tolist()
        if moment in steps:
            program.add_row([*mine, steps[moment]], [*([1] * len(mine)), -finder.vms], upper=0)
    counted: list[int] = picked.tolist()
    return counted


def _add_vms_by_core(
    program: IntegerProgram, finder: ColumnFinder, picked: IntArray, ends: IntArray, steps: dict[int, int]
) -> list[int]:
    """Cores by their ends sit on VMs that end then or later, as in the pattern model; return what counts the VMs."""
    vm_rate = finder.rate * finder.columns_of_vm
    levels = np.unique(ends).tolist()
    most_cores = finder.vms * finder.columns_of_vm
    cores = [program.add_column(upper=most_cores) for _ in levels]
    vms = [
        program.add_column(vm_rate * (level - previous), upper=finder.vms)
        for level, previous in zip(levels, [0, *levels], strict=False)
    ]
    for number, level in enumerate(levels):
        mine = picked[ends == level].tolist()
        members = [cores[number], *cores[number + 1 : number + 2], *mine]
        program.add_row(members, [1] + [-1] * (len(members) - 1), lower=0)
        program.add_row([cores[number], vms[number]], [1, -finder.columns_of_vm], upper=0)
        if level in steps:
            program.add_row([vms[number], steps[level]], [1, -finder.vms], upper=0)
    for earlier, later in pairwise(vms):
        program.add_row([earlier, later], [1, -1], lower=0)
    return vms[:1]
