"""VM columns: sets of tasks for one VM of an offer, with the least time in which it can run them.

A plan is a choice of columns. Exact for memory that binds and for bags of distinct tasks, as long as there are few
tasks to a VM. Where memory never binds, a column can also be what a single core runs; the cores of an offer, sorted
by their ends, are then dealt out to its VMs. Burstable VMs are not columns; they are there as a relaxation
(`RelaxedTask`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...bounds.bags.divisible_bound import DivisibleBound
from ...core.capacities import lower_of, slots_of
from ...core.limits import ITERATIONS
from ...core.processes import run_compiled
from ...core.quantities import FloatArray, IntArray
from ...instances.entries import FULL_SPEED, RentalOffer
from ...instances.instance import Instance
from ...models.bags.task_classes import TaskClasses, effective_cores, least_usd_per_s, least_work_s
from ...schedules.schedule import Schedule
from ...schedules.timing import objective_weights
from .vm_columns_kernel import Classes, ColumnTable, Limits, Machine, SortedTasks, find_columns, least_end, quick_bound

MOST_TASKS_OF_A_VM = 24
MOST_NODES = 4_000_000
"""Nodes of a search beyond which it is cut short."""


@dataclass(frozen=True, slots=True)
class VmColumn:
    """Tasks of a VM of an offer.

    Attributes
    ----------
    offer : int
        Position of the offer among those that the columns are made for.
    counts : array of int, shape (n_classes,)
        Tasks of each class.
    end_s : int
        Least time they take together, from ready; a lower bound of it if finding it would take too long.
    exact : bool
        Whether it is the least time.
    """

    offer: int
    counts: IntArray
    end_s: int
    exact: bool


@dataclass(frozen=True, slots=True)
class FoundColumns:
    """Columns with their reduced costs, and whether there are no others below the threshold."""

    columns: list[VmColumn]
    reduced: FloatArray
    complete: bool


@dataclass(frozen=True, slots=True)
class PlacedColumn:
    """A column with its end as far as it is known, and class and start of each task in an order of starts if exact."""

    column: VmColumn
    tasks: list[tuple[int, int]]


class ColumnFinder:
    """Finds columns of one offer by their reduced cost.

    Parameters
    ----------
    position : int
        What `VmColumn.offer` says for this offer.
    instance : Instance
        With D_spot set.
    classes : TaskClasses
        Its classes.
    offer : RentalOffer
        Not burstable.
    bound : DivisibleBound
        Its prices say how the price of a VM is split between its cores and its memory.
    by_core : bool
        Whether a column is a core, not a VM; only where memory never binds.

    Attributes
    ----------
    vms, columns_of_vm : int
        VMs that may be rented, and columns that one holds.
    rate : float
        Price of a second of a column, at least, in units of the objective.
    """

    def __init__(
        self,
        position: int,
        instance: Instance,
        classes: TaskClasses,
        offer: RentalOffer,
        bound: DivisibleBound,
        by_core: bool,
    ) -> None:
        self.columns_of_vm = offer.vcpus if by_core else 1
        self.cores = offer.vcpus // self.columns_of_vm
        self.position = position
        self.offer = offer
        self.n_classes = len(classes)
        self.vms = min(offer.limit, instance.n_tasks)
        self.limit_s = instance.time_limit_s(offer.market) - instance.boot_overhead_s
        self._cost_weight, self._rents = objective_weights(instance)[0], instance.rents
        self.rate = self._cost_weight * float(least_usd_per_s(instance, [offer])[0]) / self.columns_of_vm
        seconds = instance.duration_s[classes.group, offer.index, FULL_SPEED]
        self.able = np.flatnonzero(seconds <= self.limit_s)
        self.seconds = seconds[self.able]
        self.size = classes.size[self.able]
        free = bool(instance.memory_never_binds[offer.type_index])
        self.memory_kb = (
            np.zeros(len(self.able), dtype=np.int64) if free else instance.memory_kb[classes.group][self.able]
        )
        self._core_s = self.seconds * slots_of(self.memory_kb)
        self.room_kb = 1 if free else offer.memory_kb
        self.machine = Machine(self.cores, self.room_kb)
        priced = int(np.flatnonzero(bound.offers == offer.index)[0])
        for_memory = float(bound.memory_price[priced]) * lower_of(offer.memory_kb)
        whole = for_memory + float(bound.core_price[priced]) * offer.vcpus
        self._memory_share = for_memory / whole if whole > 0 and not free else 0.0

    def cost(self, end_s: int, since_s: int = 0) -> float:
        """Cost of a VM that ends at a moment, more than of one that ends at another, in units of the objective."""
        return self._cost_weight * float(self._rents.cost_usd(self.offer.index, end_s, since_s))

    def share_s(self) -> FloatArray:
        """Least seconds of a VM that a task of each class takes up, shape (n_able,)."""
        by_cores = self._core_s * ((1 - self._memory_share) / self.cores)
        of_memory = self._memory_share / lower_of(self.room_kb)
        share: FloatArray = by_cores + self.seconds * lower_of(self.memory_kb) * of_memory
        return share

    def find(
        self,
        duals: FloatArray,
        fixed: float,
        most_end_s: int,
        threshold: float,
        *,
        most_columns: int,
        most_trials: int,
        narrowing: bool,
    ) -> FoundColumns:
        """Find columns whose reduced cost is at most a threshold; see `find_columns`.

        Parameters
        ----------
        duals : array of float, shape (n_classes,)
            Price of a task of each class.
        fixed : float
            Price of having a VM of the offer.
        most_end_s : int
            Latest end, from ready.
        threshold : float
            Largest reduced cost.
        most_columns, most_trials : int
            Limits of the search: columns, nodes for the least end of one set of tasks.
        narrowing : bool
            Keep the best columns only.

        """
        mine = duals[self.able]
        surplus = self.rate * self.share_s() - mine
        # What a set can still gain is bounded by a fractional knapsack of core seconds, filled in this order.
        order = np.argsort(surplus / self._core_s, kind="stable")
        table = ColumnTable(
            np.zeros((most_columns, len(order)), dtype=np.int64),
            np.zeros(most_columns, dtype=np.int64),
            np.zeros(most_columns),
            np.zeros(most_columns, dtype=bool),
        )
        most_end = min(most_end_s, self.limit_s)
        most_tasks = int(min(MOST_TASKS_OF_A_VM, self.size.sum()))
        if not len(order):
            return FoundColumns([], table.reduced[:0], True)
        # Sets with more tasks than are looked at could exist: then the search is not complete.
        room_s = self.cores * most_end
        too_many = np.cumsum(np.repeat(np.sort(self._core_s), self.size[np.argsort(self._core_s)]))
        cut = most_tasks < self.size.sum() and bool(too_many[most_tasks] <= room_s)
        ordered = Classes(self.seconds[order], self.memory_kb[order], self.size[order], mine[order], surplus[order])
        halt = np.array([0, MOST_NODES])
        limits = Limits(most_end, most_tasks, most_trials, narrowing, halt)
        found, complete = run_compiled(
            lambda: find_columns(ordered, self.machine, self.rate, fixed, threshold, limits, table),
            halt,
            ITERATIONS.column_node,
        )
        whole = np.zeros((found, self.n_classes), dtype=np.int64)
        whole[:, self.able[order]] = table.counts[:found]
        rows = zip(whole, table.ends[:found].tolist(), table.exact[:found].tolist(), strict=True)
        made = [VmColumn(self.position, row, end, sure) for row, end, sure in rows]
        return FoundColumns(made, table.reduced[:found], complete and not cut)

    def place(self, column: VmColumn, most_trials: int = MOST_NODES) -> PlacedColumn:
        """Find the least end of a column, and the starts of its tasks."""
        counts = column.counts
        position = {int(index): place for place, index in enumerate(self.able.tolist())}
        # Longest first, and those that are alike side by side: the search skips orders that differ in these only.
        rows = sorted(
            (
                (int(self.seconds[position[g]]), int(self.memory_kb[position[g]]), g)
                for g in np.flatnonzero(counts).tolist()
            ),
            reverse=True,
        )
        tasks = [row for row in rows for _ in range(int(counts[row[2]]))]
        seconds = np.array([row[0] for row in tasks], dtype=np.int64)
        memory = np.array([row[1] for row in tasks], dtype=np.int64)
        same = np.array([k > 0 and tasks[k][:2] == tasks[k - 1][:2] for k in range(len(tasks))])
        starts = np.zeros(len(tasks), dtype=np.int64)
        goal = int(quick_bound(seconds, memory, len(tasks), self.machine))
        below = int(seconds.sum()) + 1
        in_order = SortedTasks(seconds, memory, same)
        end, complete, _ = least_end(in_order, len(tasks), self.machine, goal, below, most_trials, starts)
        placed = sorted(zip((row[2] for row in tasks), starts.tolist(), strict=True), key=lambda row: row[1])
        return PlacedColumn(replace(column, end_s=max(int(end), column.end_s), exact=bool(complete)), placed)


@dataclass(frozen=True, slots=True)
class RelaxedTask:
    """A task of a class on a burstable offer, by what it takes at least.

    Attributes
    ----------
    offer : RentalOffer
        The offer.
    group_class : int
        The class.
    seconds : float
        Seconds of a VM that it takes up at least.
    """

    offer: RentalOffer
    group_class: int
    seconds: float


def relaxed_tasks(instance: Instance, classes: TaskClasses, offer: RentalOffer) -> list[RelaxedTask]:
    """Least work of each class on a burstable offer: see `effective_cores`."""
    full = instance.duration_s[classes.group, offer.index, FULL_SPEED]
    limit = instance.time_limit_s(offer.market) - instance.boot_overhead_s
    work = least_work_s(instance, offer)[classes.group]
    return [
        RelaxedTask(offer, index, float(work[index]) / effective_cores(offer))
        for index in np.flatnonzero(full <= limit).tolist()
    ]


def plan_of_columns(
    instance: Instance, classes: TaskClasses, chosen: Sequence[tuple[ColumnFinder, PlacedColumn]]
) -> Schedule | None:
    """Make the plan of columns; None if tasks are missing. Tasks beyond those of a class are dropped."""
    left = [mine.tolist() for mine in classes.tasks]
    ready = instance.boot_overhead_s
    vm_offer: list[int] = []
    task_vm, task_core, start_s = (np.zeros(instance.n_tasks, dtype=np.int64) for _ in range(3))
    for finder, columns in _by_vm(chosen):
        free_from = [0] * finder.offer.vcpus
        used = False
        for number, column in enumerate(columns):
            first = number * finder.cores
            for index, start in column.tasks:
                if not left[index]:
                    continue
                # Tasks of a class are alike, so that any of them will do.
                task = left[index].pop(0)
                core = next(k for k in range(first, first + finder.cores) if free_from[k] <= start)
                seconds = int(instance.duration_s[classes.group[index], finder.offer.index, FULL_SPEED])
                free_from[core] = start + seconds
                task_vm[task], task_core[task], start_s[task] = len(vm_offer), core, ready + start
                used = True
        if used:
            vm_offer.append(finder.offer.index)
    if any(left):
        return None
    baseline = np.zeros(instance.n_tasks, dtype=bool)
    return Schedule(instance, np.array(vm_offer, dtype=np.int64), task_vm, task_core, start_s, baseline)


def _by_vm(chosen: Sequence[tuple[ColumnFinder, PlacedColumn]]) -> Iterator[tuple[ColumnFinder, list[PlacedColumn]]]:
    """Deal the columns of each offer out to its VMs, by their ends."""
    by_offer: dict[int, list[tuple[ColumnFinder, PlacedColumn]]] = {}
    for finder, column in chosen:
        by_offer.setdefault(finder.position, []).append((finder, column))
    for rows in by_offer.values():
        finder = rows[0][0]
        # Dealt out by their ends, cores make the ends of VMs the least that there are: see `schedule_of_cores`.
        columns = sorted((column for _, column in rows), key=lambda placed: -placed.column.end_s)
        for first in range(0, len(columns), finder.columns_of_vm):
            yield finder, columns[first : first + finder.columns_of_vm]
