"""The time-indexed integer programme of Burst-HADS (section III-C), for all offers of an instance, corrected.

Time is cut into periods of ``step_s`` seconds, the first one at the moment the VMs are ready. A binary X says in which
period a task starts on which VM; Z is the end of a VM, ZT the makespan, in periods. For tasks i of e_ij periods and
memory r_i, VMs j of c_j cores, memory m_j, price p_j and time limit L_j:

    min wc sum_j p_j Z_j + wt ZT                                                   (eq. 1)
    sum over starts still running at t of r_i X_ijv <= m_j     for all j, t        (eq. 2)
    sum over starts still running at t of X_ijv <= c_j         for all j, t        (eq. 3)
    sum_jv X_ijv = 1                                           for all i           (eq. 4)
    sum_v (v + e_ij) X_ijv <= Z_j <= L_j                       for all i, j        (eq. 5)
    Z_j <= ZT                                                  for all j           (eq. 6)

What is corrected, and what is added to the printed model:

- A start q still runs at t if t - e_ij + 1 <= q <= t. The printed window begins at t - e_ij, one period too early; with
  periods counted from 1 and v + e_ij for the last one, every task takes one period too long.
- Eq. 6 is printed as X Z_j <= ZT, a product of variables. Z_j <= ZT for all VMs says the same.
- The printed X has a core as a fourth index. Eq. 3 sums over it, so it decides nothing: tasks that are at most c_j at a
  time find their cores one by one, in the order of their starts.
- Eq. 5 is printed with a row for each start. One row for each task and VM says the same to integers, and more to
  fractions.
- Z_j <= D_spot becomes Z_j <= L_j: the limit of the market the VM is rented in.
- Added: the limits of groups, the order of identical VMs, and the energy that cores and memory must provide.

Starts that end after the limit are left out. So are rows of memory that can never bind, and periods that no VM needs.
It is the reference among the exact models, and the slowest: see `estimate_size`.
"""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ...core.capacities import lower_of, slots_of
from ...core.errors import ModelRefusal
from ...core.limits import checkpoint
from ...core.quantities import IntArray
from ...instances.entries import GroupLimit, RentalOffer
from ...instances.instance import Instance
from ...schedules.schedule import Schedule
from ...schedules.timing import VmTimeline, objective_weights

MAX_NONZEROS = 1_000_000
"""Nonzeros above which the model is refused: with its rows, building it takes ten seconds and half a gigabyte."""

MAX_ROWS = 200_000
"""Rows above which the model is refused. A long task that hardly has a choice makes as many rows as nonzeros."""

_PERIODS_WORTH_WHILE = 10
"""Periods until the deadline below which a grid is not worth a try."""

BurstableRule: TypeAlias = Literal["refuse", "baseline"]
_Row: TypeAlias = tuple[list[int], list[Any], tuple[int | None, int]]


@dataclass(frozen=True, slots=True)
class ModelVm:
    """A VM that the model may rent.

    Attributes
    ----------
    offer : RentalOffer
        What is rented.
    number : int
        Position among the identical VMs of its offer, which are ordered by their ends, the last end first.
    horizon : int
        Latest end in periods.
    task_periods : array of int, shape (n_groups,)
        Periods a task of each group takes; 0 if it cannot run here.
    memory_need, memory_size : array of int, shape (n_groups,), and int
        Memory of the tasks and of the VM, in the largest unit in which all needs are whole.
    memory_binds : bool
        Whether tasks that fill the cores may exceed the memory.
    """

    offer: RentalOffer
    number: int
    horizon: int
    task_periods: IntArray
    memory_need: IntArray
    memory_size: int
    memory_binds: bool


@dataclass(frozen=True, slots=True)
class Rentals:
    """The identical VMs of an offer: the first of them, and how many there are."""

    vm: ModelVm
    count: int


def rentals_of(instance: Instance, step_s: int, literal: bool) -> list[Rentals]:
    """VMs of each offer on which a task can end in time."""
    result = []
    for offer in instance.offers:
        available = (instance.time_limit_s(offer.market) - instance.boot_overhead_s) // step_s if offer.limit else 0
        periods = -(-instance.sustained_s[:, offer.index] // step_s)
        able = periods <= available - int(literal)  # as printed, the earliest end is 1 + e
        if not able.any():
            continue
        periods = np.where(able, periods, 0)
        # Nothing is gained by idling: no VM works longer than all its tasks one after the other.
        work = int((periods * instance.group_size).sum())
        needed_kb = lower_of(instance.memory_kb)
        unit = math.gcd(*needed_kb[able].tolist())
        vm = ModelVm(
            offer=offer,
            number=0,
            horizon=available if literal else min(available, work),
            task_periods=periods,
            memory_need=needed_kb // unit,
            memory_size=lower_of(offer.memory_kb) // unit,
            memory_binds=not instance.memory_never_binds[offer.type_index],
        )
        result.append(Rentals(vm, min(offer.limit, int(instance.group_size[able].sum()))))
    return result


def binding_groups(instance: Instance, step_s: int, literal: bool) -> list[GroupLimit]:
    """Limits of groups that allow fewer VMs than the model has."""
    counts = np.zeros(len(instance.offers), dtype=np.int64)
    for rentals in rentals_of(instance, step_s, literal):
        counts[rentals.vm.offer.index] = rentals.count
    return [group for group in instance.group_limits if group.weights @ counts > group.most]


@dataclass(frozen=True, slots=True)
class TimeIndexedModel:
    """The model of an instance: built, not solved.

    Attributes
    ----------
    instance : Instance
        What it is a model of.
    step_s : int
        Length of a period.
    literal : bool
        Whether eq. 2-5 are as printed.
    exact : bool
        Whether its optimum is that of the instance. If not, its bound is no bound of the instance.
    vms : tuple of ModelVm
        The VMs, in the order of their index.
    model : pyomo.environ.ConcreteModel
        For experts. Variables: ``start[task, vm, core, period]`` (the core is 0 unless ``literal``), ``end[vm]`` and
        ``makespan`` in periods from ready, ``rented[vm]`` where a limit of several offers may bind.
    """

    instance: Instance
    step_s: int
    literal: bool
    exact: bool
    vms: tuple[ModelVm, ...]
    model: Any

    def read_back(self, values: Mapping[Any, float]) -> Schedule:
        """Make the plan of a solution.

        On each VM the tasks keep their order and start as early as their true durations allow, which is never later
        than in the model: a shift to the left frees cores and memory for those that follow.

        Parameters
        ----------
        values : mapping
            Value of each variable of `model`, by the variable.
        """
        instance = self.instance
        starts = sorted(
            (vm, period, task) for (task, vm, _, period), column in self.model.start.items() if values[column] > 0.5
        )
        used = sorted({vm for vm, _, _ in starts})
        position = {vm: index for index, vm in enumerate(used)}
        lines = [
            VmTimeline(vm.offer.vcpus, vm.offer.memory_kb if vm.memory_binds else None, instance.boot_overhead_s)
            for vm in (self.vms[index] for index in used)
        ]
        task_vm, task_core, task_start_s = (np.zeros(instance.n_tasks, dtype=np.int64) for _ in range(3))
        for vm, _, task in starts:
            group = int(instance.task_group[task])
            seconds = int(instance.sustained_s[group, self.vms[vm].offer.index])
            task_vm[task] = position[vm]
            task_start_s[task], task_core[task] = _append(lines[position[vm]], int(instance.memory_kb[group]), seconds)
        vm_offer = np.array([self.vms[index].offer.index for index in used], dtype=np.int64)
        baseline = instance.offer_is_burstable[vm_offer][task_vm]
        return Schedule(instance, vm_offer, task_vm, task_core, task_start_s, baseline)

    def set_start(self, schedule: Schedule) -> bool:
        """Give all variables the values of a plan, for solvers that start from one.

        The tasks of each VM keep their order and are timed anew on the grid. On burstable VMs they run at the baseline,
        the only mode that the model has for them.

        Parameters
        ----------
        schedule : Schedule
            A plan for the instance of the model.

        Returns
        -------
        bool
            Whether the plan fits the model; if not, no value is set.
        """
        order = np.lexsort((np.arange(self.instance.n_tasks), schedule.task_start_s))
        tasks_of: dict[int, list[int]] = defaultdict(list)
        for task in order.tolist():
            tasks_of[int(schedule.task_vm[task])].append(task)
        timed: dict[int, list[tuple[int, list[tuple[int, int, int]]]]] = defaultdict(list)
        first_of_offer = {vm.offer.index: index for index, vm in enumerate(self.vms) if vm.number == 0}
        for vm, tasks in tasks_of.items():
            offer = int(schedule.vm_offer[vm])
            if offer not in first_of_offer:
                return False
            placed = self._timed_on_grid(self.vms[first_of_offer[offer]], tasks)
            if placed is None:
                return False
            timed[offer].append(placed)
        ones: list[tuple[int, int, int, int]] = []  # indices of the start variables that are 1
        ends = [0] * len(self.vms)
        for offer, plans in timed.items():
            plans.sort(key=lambda plan: -plan[0])  # as the model orders identical VMs: the last end first
            for vm, (end, starts) in enumerate(plans, first_of_offer[offer]):
                if vm >= len(self.vms) or self.vms[vm].offer.index != offer:
                    return False
                ends[vm] = end
                ones += [(task, vm, core, period) for task, core, period in starts]
        self._set_values(ones, ends)
        return True

    def _timed_on_grid(self, vm: ModelVm, tasks: list[int]) -> tuple[int, list[tuple[int, int, int]]] | None:
        """End of a VM that runs tasks in this order, and task, core and period of each start; None if it ends too late.

        As printed, a task holds its core and memory for one period more, and the first period is 1.
        """
        lag = int(self.literal)
        line = VmTimeline(vm.offer.vcpus, vm.memory_size)
        end, starts = 0, []
        for task in tasks:
            group = int(self.instance.task_group[task])
            periods = int(vm.task_periods[group])
            if periods == 0:
                return None
            begin, core = _append(line, int(vm.memory_need[group]), periods + lag)
            starts.append((task, core if self.literal else 0, begin + lag))
            end = max(end, begin + lag + periods)
        return (end, starts) if end <= vm.horizon else None

    def _set_values(self, ones: list[tuple[int, int, int, int]], ends: list[int]) -> None:
        for column in self.model.start.values():
            column.set_value(0)
        for index in ones:
            self.model.start[index].set_value(1)
        for vm, end in enumerate(ends):
            self.model.end[vm].set_value(end)
        for vm, column in self.model.rented.items():
            column.set_value(int(ends[vm] > 0))
        self.model.makespan.set_value(max(ends, default=0))


def _append(line: VmTimeline, memory: int, duration: int) -> tuple[int, int]:
    """Put a task on a VM that is large enough for it, as early as possible; return start and core."""
    start = line.earliest_start_s(memory, duration)
    if start is None:
        raise ValueError("a task is placed on a VM whose memory is too small for it")
    return start, line.append(start, memory, duration)


class ModelSize(NamedTuple):
    """Size of a time-indexed model."""

    columns: int
    rows: int
    nonzeros: int

    @property
    def too_large(self) -> bool:
        """True if the model is refused."""
        return self.rows > MAX_ROWS or self.nonzeros > MAX_NONZEROS

    def __str__(self) -> str:
        return f"{self.columns:,} columns, {self.rows:,} rows and {self.nonzeros:,} nonzeros"


def estimate_size(instance: Instance, step_s: int = 1, *, literal: bool = False) -> ModelSize:
    """Columns, rows and nonzeros of the model, computed without building it.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    step_s : int
        Length of a period in seconds.
    literal : bool
        As in `build_time_indexed`.

    Returns
    -------
    ModelSize
        Exactly that of the model that would be built.

    Notes
    -----
    A start is a column for each task, VM and period, and a nonzero for each period it runs, for the cores and again
    for the memory: both grow with 1 / step_s, the nonzeros with its square. A period of a VM is a row for the cores,
    and another one for the memory.
    """
    lag = int(literal)
    groups = binding_groups(instance, step_s, literal)
    columns, rows, nonzeros = 1, instance.n_tasks + len(groups), 0  # the makespan; eq. 4, and the limits of groups
    for rentals in rentals_of(instance, step_s, literal):
        vm, count = rentals.vm, rentals.count
        able = vm.task_periods > 0
        tasks = instance.group_size[able].astype(float)
        periods = vm.task_periods[able].astype(float)
        starts = (vm.horizon - periods + 1 - lag) * (vm.offer.vcpus if literal else 1)
        n_starts = float((tasks * starts).sum())
        n_tasks = float(tasks.sum())
        window = float((tasks * starts * (periods + lag)).sum())
        resources = 2 if literal or vm.memory_binds else 1
        per_vm = n_starts + resources * window  # eq. 4, 3, 2
        per_vm += 2 * n_starts if literal else n_starts + n_tasks  # eq. 5
        per_vm += 2  # eq. 6
        if not literal:
            per_vm += resources * (n_starts + 1)  # energy
        rows_of_vm = resources * vm.horizon + (n_starts if literal else n_tasks) + 1  # eq. 2, 3; 5; 6
        rows_of_vm += 0 if literal else resources
        columns += int(count * (n_starts + 1))
        rows += int(count * rows_of_vm) + count - 1
        nonzeros += int(count * per_vm) + 2 * (count - 1)  # and the order of identical VMs
        counted_in = sum(group.weights[vm.offer.index] > 0 for group in groups)
        if counted_in:
            columns += count
            rows += int(count * n_tasks) + count - 1
            nonzeros += int(count * (n_starts + n_tasks + counted_in)) + 2 * (count - 1)
    return ModelSize(columns, rows, nonzeros)


def build_time_indexed(
    instance: Instance,
    step_s: int = 1,
    *,
    literal: bool = False,
    burstable: BurstableRule = "refuse",
) -> TimeIndexedModel:
    """Build the time-indexed model of an instance.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    step_s : int
        Length of a period in seconds. Durations are rounded up to whole periods: with more than 1, the plans are
        feasible, but the best one may be lost.
    literal : bool
        Eq. 2-5 as printed, with their window that is a period too wide, a core index and a row for each start. Eq. 6 is
        not linear as printed and stays replaced. For studies of the printed model.
    burstable : {"refuse", "baseline"}
        What to do if a burstable VM may be rented: refuse, or rent it for tasks in baseline mode only.

    Returns
    -------
    TimeIndexedModel
        The model. If the instance is infeasible, so is the model.

    Raises
    ------
    ModelRefusal
        If a burstable VM may be rented and that is to be refused, or the model has more than `MAX_NONZEROS` or
        `MAX_ROWS`.
    """
    if step_s < 1:
        raise ValueError(f"step_s must be at least 1 second, not {step_s}")
    restricted = _refuse_burstable(instance, burstable)
    _refuse_size(instance, step_s, literal)
    vms = tuple(
        replace(rentals.vm, number=number)
        for rentals in rentals_of(instance, step_s, literal)
        for number in range(rentals.count)
    )
    equations = Equations(instance, step_s, literal, vms, binding_groups(instance, step_s, literal))
    with _without_messages():
        equations.add_variables()
        equations.add_constraints()
        equations.add_objective()
    exact = step_s == 1 and not literal and not restricted
    return TimeIndexedModel(instance, step_s, literal, exact, vms, equations.model)


@contextmanager
def _without_messages() -> Iterator[None]:
    """Have Pyomo say nothing of a model that is not built to the end because its time is over."""
    logger = logging.getLogger("pyomo.core")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _refuse_burstable(instance: Instance, rule: BurstableRule) -> bool:
    """Refuse burstable VMs; return whether there are any that are restricted to baseline mode."""
    names = [str(offer) for offer in instance.offers if offer.burstable and offer.limit]
    if names and rule == "refuse":
        raise ModelRefusal(
            f"the time-indexed model knows no CPU credits, and {names[0]} is burstable"
            f"{f' (and {len(names) - 1} more)' if len(names) > 1 else ''}; "
            "allow burstable VMs in baseline mode only (burstable=baseline), take them out of the instance, "
            "or use another method (search)"
        )
    return bool(names)


def _refuse_size(instance: Instance, step_s: int, literal: bool) -> None:
    size = estimate_size(instance, step_s, literal=literal)
    if not size.too_large:
        return
    ways_out = ["another method (search)"]
    coarser = step_s
    while estimate_size(instance, coarser, literal=literal).too_large:
        coarser *= 2
    if coarser * _PERIODS_WORTH_WHILE <= instance.deadline_s:
        ways_out.insert(0, f"a coarser grid (step_s={coarser} is small enough)")
    raise ModelRefusal(
        f"the time-indexed model of {instance.name!r} with a step of {step_s} s would have {size}, and the limits are "
        f"{MAX_ROWS:,} rows and {MAX_NONZEROS:,} nonzeros; take {' or '.join(ways_out)}"
    )


class Equations:
    """The parts of the model: variables, constraints, objective; one method for each equation."""

    def __init__(
        self, instance: Instance, step_s: int, literal: bool, vms: tuple[ModelVm, ...], groups: list[GroupLimit]
    ) -> None:
        import pyomo.environ as pyo

        self.instance, self.step_s, self.literal, self.vms, self.limits = instance, step_s, literal, vms, groups
        self.groups: list[int] = instance.task_group.tolist()
        self.slots: list[int] = slots_of(instance.memory_kb).tolist()
        self.lag = int(literal)
        self.model = pyo.ConcreteModel(name="time-indexed")
        # Starts of each task on each VM (periods and columns), and of each task.
        self.starts: dict[tuple[int, int], list[tuple[int, Any]]] = {}
        self.starts_of_task: list[list[Any]] = [[] for _ in self.groups]

    # -------------------------------------------------------------- variables

    def add_variables(self) -> None:
        """Add the variables of Burst-HADS, equations 1 to 6, in periods: starts (X), ends of VMs (Z), makespan (ZT).

        Besides, whether a VM is rented, where a limit of several offers may bind. The cores of a VM share their starts,
        unless the model is the literal one.
        """
        import pyomo.environ as pyo

        model, vms = self.model, self.vms
        able = [[int(periods) for periods in vm.task_periods] for vm in vms]
        indices: list[tuple[int, int, int, int]] = []
        for task, group in enumerate(self.groups):
            checkpoint()
            indices += [
                (task, vm, core, period)
                for vm, periods in enumerate(able)
                if periods[group]
                for core in range(vms[vm].offer.vcpus if self.literal else 1)
                for period in range(self.lag, vms[vm].horizon - periods[group] + 1)
            ]
        model.start = pyo.Var(indices, domain=_binary)
        for (task, vm, _, period), column in model.start.items():
            self.starts.setdefault((task, vm), []).append((period, column))
            self.starts_of_task[task].append(column)
        model.end = pyo.Var(range(len(vms)), domain=pyo.Integers, bounds=lambda _, vm: (0, vms[vm].horizon))
        longest = max((vm.horizon for vm in vms), default=0)
        model.makespan = pyo.Var(domain=pyo.Integers, bounds=(0, longest))
        capped = [k for k, vm in enumerate(vms) if any(group.weights[vm.offer.index] for group in self.limits)]
        model.rented = pyo.Var(capped, domain=pyo.Binary)

    # ------------------------------------------------------------ constraints

    def add_constraints(self) -> None:
        """All equations, in the order of the paper, then what is added to it."""
        self.memory_suffices()
        self.cores_suffice()
        self.each_task_starts_once()
        if self.literal:
            self.vms_end_after_each_start_as_printed()
        else:
            self.vms_end_after_their_tasks()
        self.makespan_is_the_last_end()
        self.identical_vms_are_ordered()
        self.tasks_run_on_rented_vms()
        self.groups_keep_their_limits()
        if not self.literal:
            self.cores_provide_the_energy()
            self.memory_provides_the_energy()

    def memory_suffices(self) -> None:
        """Burst-HADS eq. 2: the tasks that run at the same time on a VM fit its memory."""
        rows = self._rows_by_period([vm for vm, entry in enumerate(self.vms) if entry.memory_binds or self.literal])
        self._add_rows(
            "memory_suffices",
            {
                (vm, period): (
                    [int(self.vms[vm].memory_need[group]) for group, _ in running],
                    [column for _, column in running],
                    (None, self.vms[vm].memory_size),
                )
                for (vm, period), running in rows.items()
            },
        )

    def cores_suffice(self) -> None:
        """Burst-HADS eq. 3: no more tasks at a time on a VM than it has cores."""
        rows = self._rows_by_period(list(range(len(self.vms))))
        self._add_rows(
            "cores_suffice",
            {
                (vm, period): (
                    [self.slots[group] for group, _ in running],
                    [column for _, column in running],
                    (None, self.vms[vm].offer.vcpus),
                )
                for (vm, period), running in rows.items()
            },
        )

    def each_task_starts_once(self) -> None:
        """Burst-HADS eq. 4. A task that can start nowhere leaves a row without columns, which nothing satisfies."""
        self._add_rows(
            "each_task_starts_once",
            {task: ([1] * len(columns), columns, (1, 1)) for task, columns in enumerate(self.starts_of_task)},
        )

    def vms_end_after_their_tasks(self) -> None:
        """Burst-HADS eq. 5, one row for each task and VM: the VM ends no earlier than the task."""
        self._add_rows(
            "vms_end_after_their_tasks",
            {
                (task, vm): (
                    [period + self._periods(task, vm) for period, _ in starts] + [-1],
                    [column for _, column in starts] + [self.model.end[vm]],
                    (None, 0),
                )
                for (task, vm), starts in self.starts.items()
            },
        )

    def vms_end_after_each_start_as_printed(self) -> None:
        """Burst-HADS eq. 5 as printed: one row for each start."""
        self._add_rows(
            "vms_end_after_each_start",
            {
                index: (
                    [index[3] + self._periods(index[0], index[1]), -1],
                    [column, self.model.end[index[1]]],
                    (None, 0),
                )
                for index, column in self.model.start.items()
            },
        )

    def makespan_is_the_last_end(self) -> None:
        """Burst-HADS eq. 6 without its product of variables: no VM ends after the makespan."""
        model = self.model
        self._add_rows(
            "makespan_is_the_last_end",
            {vm: ([1, -1], [model.end[vm], model.makespan], (None, 0)) for vm in range(len(self.vms))},
        )

    def identical_vms_are_ordered(self) -> None:
        """Order identical VMs, which the paper does not: by their ends, the last first, and rented ones first."""
        for name, columns in (("identical_vms_by_end", self.model.end), ("identical_vms_by_rental", self.model.rented)):
            later = [vm for vm in columns if self.vms[vm].number > 0]
            self._add_rows(name, {vm: ([1, -1], [columns[vm], columns[vm - 1]], (None, 0)) for vm in later})

    def tasks_run_on_rented_vms(self) -> None:
        """Add rows, not in the paper: a VM with a task counts against the limits of its offer; an idle one does not."""
        rented = self.model.rented
        self._add_rows(
            "tasks_run_on_rented_vms",
            {
                (task, vm): (
                    [1] * len(starts) + [-1],
                    [column for _, column in starts] + [rented[vm]],
                    (None, 0),
                )
                for (task, vm), starts in self.starts.items()
                if vm in rented
            },
        )

    def groups_keep_their_limits(self) -> None:
        """Add the limits of groups of VMs, which the paper does not have (``instance.limits``)."""
        rows: dict[Any, _Row] = {}
        for number, group in enumerate(self.limits):
            weights = {vm: int(group.weights[self.vms[vm].offer.index]) for vm in self.model.rented}
            weights = {vm: weight for vm, weight in weights.items() if weight}
            rows[number] = ([*weights.values()], [self.model.rented[vm] for vm in weights], (None, group.most))
        self._add_rows("groups_keep_their_limits", rows)

    def cores_provide_the_energy(self) -> None:
        """Valid cut: the tasks of a VM take no more core-periods than its cores have until its end."""
        cores = {vm: entry.offer.vcpus for vm, entry in enumerate(self.vms)}
        self._add_energy("cores_provide_the_energy", cores, dict.fromkeys(cores, self.slots))

    def memory_provides_the_energy(self) -> None:
        """Valid cut: the same for the memory, summed over the time that the tasks hold it."""
        sizes = {vm: entry.memory_size for vm, entry in enumerate(self.vms) if entry.memory_binds}
        needs = {vm: self.vms[vm].memory_need.tolist() for vm in sizes}
        self._add_energy("memory_provides_the_energy", sizes, needs)

    # -------------------------------------------------------------- objective

    def add_objective(self) -> None:
        """Burst-HADS eq. 1, scaled as the instance says. The makespan counts from the start, the cost from ready."""
        import pyomo.environ as pyo

        cost_weight, time_weight = objective_weights(self.instance)
        prices = [cost_weight * vm.offer.price_usd_per_s * self.step_s for vm in self.vms]
        expression = _linear(
            [*prices, time_weight * self.step_s],
            [*self.model.end.values(), self.model.makespan],
            time_weight * self.instance.boot_overhead_s,
        )
        self.model.objective = pyo.Objective(expr=expression, sense=pyo.minimize)

    # ----------------------------------------------------- how rows are added

    def _periods(self, task: int, vm: int) -> int:
        return int(self.vms[vm].task_periods[self.groups[task]])

    def _rows_by_period(self, vms: list[int]) -> dict[tuple[int, int], list[tuple[int, Any]]]:
        """Group and column of the starts that still run, for each VM and period.

        As printed, a start runs for one period more.
        """
        wanted = set(vms)
        rows: dict[tuple[int, int], list[tuple[int, Any]]] = {}
        for (task, vm), starts in self.starts.items():
            checkpoint()
            if vm in wanted:
                group, length = self.groups[task], self._periods(task, vm) + self.lag
                for begin, column in starts:
                    for period in range(begin, begin + length):
                        rows.setdefault((vm, period), []).append((group, column))
        return rows

    def _add_energy(self, name: str, sizes: dict[int, int], needs: dict[int, list[int]]) -> None:
        """Rows ``sum of need * periods of the tasks of a VM <= its size * its end``."""
        coefficients = {vm: [-size] for vm, size in sizes.items()}
        columns = {vm: [self.model.end[vm]] for vm in sizes}
        for (task, vm), starts in self.starts.items():
            if vm in sizes:
                energy = self._periods(task, vm) * needs[vm][self.groups[task]]
                coefficients[vm] += [energy] * len(starts)
                columns[vm] += [column for _, column in starts]
        self._add_rows(name, {vm: (coefficients[vm], columns[vm], (None, 0)) for vm in sizes})

    def _add_rows(self, name: str, rows: dict[Any, _Row]) -> None:
        """Add rows ``lower <= coefficients @ columns <= upper`` as a constraint of the model."""
        import pyomo.environ as pyo

        def rule(_: Any, *index: Any) -> Any:
            checkpoint()
            coefficients, columns, (lower, upper) = rows[index if len(index) > 1 else index[0]]
            return (lower, _linear(coefficients, columns), upper)

        setattr(self.model, name, pyo.Constraint(list(rows), rule=rule))


def _binary(model: Any, *index: int) -> Any:
    """Domain of a start; there can be a million of them, so the clock is looked at."""
    import pyomo.environ as pyo

    checkpoint()
    return pyo.Binary


def _linear(coefficients: list[Any], columns: list[Any], constant: float = 0) -> Any:
    """Linear expression; the slow way of operators would take most of the time."""
    from pyomo.core.expr import LinearExpression

    return LinearExpression(constant=constant, linear_coefs=coefficients, linear_vars=columns)
