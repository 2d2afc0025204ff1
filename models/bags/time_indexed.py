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
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from ...core.errors import ModelRefusal
from ...instances.instance import Instance
from ...schedules.schedule import Schedule
from ...schedules.timing import VmTimeline
from .time_indexed_equations import Equations, ModelVm, binding_groups, rentals_of

MAX_NONZEROS = 1_000_000
"""Nonzeros above which the model is refused: with its rows, building it takes ten seconds and half a gigabyte."""

MAX_ROWS = 200_000
"""Rows above which the model is refused. A long task that hardly has a choice makes as many rows as nonzeros."""

_PERIODS_WORTH_WHILE = 10
"""Periods until the deadline below which a grid is not worth a try."""

BurstableRule: TypeAlias = Literal["refuse", "baseline"]


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
