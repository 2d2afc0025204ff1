"""The equations of the time-indexed programme, one method for each; `time_indexed` states them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ...core.capacities import lower_of, slots_of
from ...core.limits import checkpoint
from ...core.quantities import IntArray
from ...instances.entries import GroupLimit, RentalOffer
from ...instances.instance import Instance
from ...schedules.timing import objective_weights

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
