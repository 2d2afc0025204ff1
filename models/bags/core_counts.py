"""Core-count model: how many tasks of each class run on each core of each VM.

For classes g, offers j, VMs v of an offer and cores k of a VM; time counted from the moment the VMs are ready. Columns

    x_gjvk    tasks of class g on a core
    Z_jv      end of a VM
    y_jv      1 if a VM is rented; only where the limit of a market binds
    T         makespan, as the seconds after the earliest one of the window

    min wc sum_jv p_j Z_jv + wt T

The model takes any bag, distinct tasks being classes of one. How long it takes depends on the number of columns x, see
`core_count_columns`: up to about 60 it is hard to beat, from about 100 on it seldom ends. VMs of an offer are
interchangeable, and so are the cores of a VM: the VMs are sorted by their ends and the cores by their loads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.errors import ModelRefusal
from ...core.quantities import IntArray
from ...instances.durations import NEVER
from ...instances.entries import RentalOffer
from ...instances.instance import Instance
from ...schedules.evaluation import objective_weights
from ...schedules.schedule import Schedule
from ..integer_program import IntegerProgram
from .core_patterns import BurstableMode, offers_without_credits, require_free_memory, schedule_of_cores
from .makespan_window import MakespanWindow
from .task_classes import TaskClasses, task_classes, usable_offers

MOST_COUNTS = 100_000
"""Columns x beyond which the model refuses."""

MOST_CORES = 100_000
"""Cores beyond which the model refuses, whatever runs on them."""

_NAME = "the core-count model"


@dataclass(frozen=True, slots=True)
class _VmColumns:
    """Columns of one VM: for each core, class to column; its end; whether it is rented."""

    counts: list[dict[int, int]]
    end: int
    rented: int | None


@dataclass(frozen=True, slots=True)
class _OfferColumns:
    """Columns of one offer, by VM; durations of the classes, and latest end."""

    offer: RentalOffer
    seconds: list[int]
    latest_s: int
    vms: list[_VmColumns]


def core_count_columns(instance: Instance, window: MakespanWindow) -> int:
    """Columns x of the model, computed without building it: the measure of how hard it is.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    window : MakespanWindow
        Makespans to look at, from ready.
    """
    classes = task_classes(instance)
    return sum(_cores_and_columns(instance, classes, offer, window)[1] for offer in usable_offers(instance))


def offers_of_core_counts(
    instance: Instance, burstable: BurstableMode = "refuse", without_offers: frozenset[int] = frozenset()
) -> list[RentalOffer]:
    """List the offers of the model; see `CoreCountModel`.

    Raises
    ------
    ModelRefusal
        If memory can bind, or a usable offer is burstable.
    """
    offers = offers_without_credits(instance, burstable, without_offers, _NAME)
    require_free_memory(instance, offers, _NAME)
    return offers


class CoreCountModel:
    """The model of an instance.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    window : MakespanWindow
        Makespans to look at, from ready; the model is exact within. It must not be empty.
    burstable : {"refuse", "baseline"}
        Whether burstable offers are refused, or run all their tasks in baseline mode: the optimum is then one of such
        plans only.
    without_offers : frozenset of int
        Offers that the caller has proved useless, as indices into ``instance.offers``.

    Attributes
    ----------
    program : IntegerProgram
        The programme to be solved.

    Raises
    ------
    ModelRefusal
        If memory can bind, a usable offer is burstable, or there are too many columns.
    """

    def __init__(
        self,
        instance: Instance,
        window: MakespanWindow,
        burstable: BurstableMode = "refuse",
        without_offers: frozenset[int] = frozenset(),
    ) -> None:
        if window.empty:
            raise ValueError("the window holds no makespan: there is nothing to look for")
        self.instance = instance
        self.window = window
        self.classes: TaskClasses = task_classes(instance)
        offers = offers_of_core_counts(instance, burstable, without_offers)
        self._refuse_large(offers)
        self.program = IntegerProgram()
        self._cost_weight, self._time_weight = objective_weights(instance)
        self._columns = [self._add_offer(offer, self._market_binds(offers, offer.market)) for offer in offers]
        self._makespan = self._add_makespan()
        self._add_all_tasks_run()
        for columns in self._columns:
            for vm in columns.vms:
                self._add_cores_are_sorted(columns, vm)
                self._add_end_is_longest_load(columns, vm)
                self._add_end_covers_mean_load(columns, vm)
                self._add_rented_if_used(columns, vm)
            self._add_vms_are_sorted(columns)
            self._add_makespan_is_last_end(columns)
        self._add_market_limits()

    def _seconds(self, offer: RentalOffer) -> IntArray:
        return np.asarray(self.instance.sustained_s[self.classes.group, offer.index])

    def _refuse_large(self, offers: list[RentalOffer]) -> None:
        """Estimate the size before anything is built."""
        sizes = [_cores_and_columns(self.instance, self.classes, offer, self.window) for offer in offers]
        cores, counts = (sum(column) for column in zip(*sizes, strict=True)) if sizes else (0, 0)
        if counts > MOST_COUNTS or cores > MOST_CORES:
            raise ModelRefusal(
                f"{_NAME} takes up to {MOST_COUNTS:,} counts of tasks on {MOST_CORES:,} cores, and would need "
                f"{counts:,}: {len(self.classes):,} classes of identical tasks on {cores:,} cores; 'columns' and "
                f"'search' know no cores"
            )

    def _market_binds(self, offers: list[RentalOffer], market: str) -> bool:
        """Whether the offers of a market allow more VMs than the market does."""
        cap = self.instance.limits.max_spot if market == "spot" else self.instance.limits.max_on_demand
        return cap is not None and cap < sum(
            _useful_sizes(self.instance, offer)[0] for offer in offers if offer.market == market
        )

    # ---------------------------------------------------------------- columns

    def _add_offer(self, offer: RentalOffer, market_binds: bool) -> _OfferColumns:
        """Columns x, Z and y of an offer."""
        latest, seconds = _latest_s(self.instance, offer, self.window), self._seconds(offer)
        able = [(index, int(seconds[index])) for index in np.flatnonzero(seconds <= min(latest, NEVER - 1)).tolist()]
        price = self._cost_weight * offer.price_usd_per_s
        vms, cores = _useful_sizes(self.instance, offer)
        columns = _OfferColumns(offer, seconds.tolist(), latest, [])
        for _ in range(vms):
            counts = [
                {
                    index: self.program.add_column(upper=min(int(self.classes.size[index]), latest // each))
                    for index, each in able
                }
                for _ in range(cores)
            ]
            end = self.program.add_column(price, upper=latest)
            columns.vms.append(_VmColumns(counts, end, self.program.add_column() if market_binds else None))
        return columns

    def _add_makespan(self) -> int:
        """Column T; the earliest makespan of the window is paid in any case."""
        self.program.constant = self._time_weight * (self.window.earliest_s + self.instance.boot_overhead_s)
        return self.program.add_column(self._time_weight, upper=self.window.latest_s - self.window.earliest_s)

    # ------------------------------------------------------------ constraints

    def _add_all_tasks_run(self) -> None:
        """sum_jvk x_gjvk = N_g."""
        members: list[list[int]] = [[] for _ in range(len(self.classes))]
        for columns in self._columns:
            for vm in columns.vms:
                for core in vm.counts:
                    for index, column in core.items():
                        members[index].append(column)
        for mine, size in zip(members, self.classes.size.tolist(), strict=True):
            self.program.add_row(mine, [1] * len(mine), lower=size, upper=size)

    def _add_cores_are_sorted(self, columns: _OfferColumns, vm: _VmColumns) -> None:
        """Load of core k >= load of core k + 1."""
        for core, after in zip(vm.counts, vm.counts[1:], strict=False):
            seconds = [columns.seconds[index] for index in core]
            self.program.add_row([*core.values(), *after.values()], [*seconds, *(-each for each in seconds)], lower=0)

    def _add_end_is_longest_load(self, columns: _OfferColumns, vm: _VmColumns) -> None:
        """Z_jv >= load of the first core; the loads of the others are no longer."""
        first = vm.counts[0]
        self.program.add_row([vm.end, *first.values()], [1, *(-columns.seconds[index] for index in first)], lower=0)

    def _add_end_covers_mean_load(self, columns: _OfferColumns, vm: _VmColumns) -> None:
        """c_j Z_jv >= load of all cores: the sum of the rows before, written down for the solvers' cuts."""
        members, loads = [vm.end], [len(vm.counts)]
        for core in vm.counts:
            members += core.values()
            loads += [-columns.seconds[index] for index in core]
        if len(vm.counts) > 1:
            self.program.add_row(members, loads, lower=0)

    def _add_rented_if_used(self, columns: _OfferColumns, vm: _VmColumns) -> None:
        """Z_jv <= L_j y_jv."""
        if vm.rented is not None:
            self.program.add_row([vm.end, vm.rented], [1, -columns.latest_s], upper=0)

    def _add_vms_are_sorted(self, columns: _OfferColumns) -> None:
        """Z_jv >= Z_j,v+1, and y_jv >= y_j,v+1."""
        for vm, after in zip(columns.vms, columns.vms[1:], strict=False):
            self.program.add_row([vm.end, after.end], [1, -1], lower=0)
            if vm.rented is not None and after.rented is not None:
                self.program.add_row([vm.rented, after.rented], [1, -1], lower=0)

    def _add_makespan_is_last_end(self, columns: _OfferColumns) -> None:
        """T >= Z_jv; the first VM of an offer ends last."""
        self.program.add_row([self._makespan, columns.vms[0].end], [1, -1], lower=-self.window.earliest_s)

    def _add_market_limits(self) -> None:
        """Most VMs of a market at once."""
        for market in self.instance.markets:
            cap = self.instance.limits.of(market)
            rented = [
                vm.rented
                for columns in self._columns
                if columns.offer.market == market
                for vm in columns.vms
                if vm.rented is not None
            ]
            if cap is not None and rented:
                self.program.add_row(rented, [1] * len(rented), upper=cap)

    # -------------------------------------------------------------- read back

    def schedule(self, values: IntArray) -> Schedule:
        """Make the plan of a solution."""
        cores: list[tuple[RentalOffer, IntArray, int]] = []
        for columns in self._columns:
            for vm in columns.vms:
                for core in vm.counts:
                    counts = np.zeros(len(self.classes), dtype=np.int64)
                    counts[list(core)] = values[list(core.values())]
                    load = sum(int(counts[index]) * columns.seconds[index] for index in core)
                    if load:
                        cores.append((columns.offer, counts, load))
        return schedule_of_cores(self.instance, self.classes, cores)

    def start(self, schedule: Schedule) -> IntArray | None:
        """Return the values of a plan; None if it does not fit the window or uses an offer that is left out."""
        by_offer = {columns.offer.index: columns for columns in self._columns}
        if any(index not in by_offer for index in schedule.vm_offer.tolist()):
            return None
        values = np.zeros(self.program.n_columns, dtype=np.int64)
        loaded: dict[int, list[list[tuple[int, IntArray]]]] = {index: [] for index in by_offer}
        for vm, cores in enumerate(self._cores_of(schedule)):
            columns = by_offer[int(schedule.vm_offer[vm])]
            loads = [sum(int(c) * columns.seconds[g] for g, c in enumerate(counts) if c) for counts in cores]
            # Only the loads tell cores apart: the longest is the first.
            order = sorted(range(len(cores)), key=lambda k: -loads[k])
            loaded[columns.offer.index].append([(loads[k], cores[k]) for k in order])
        last = 0
        for index, vms in loaded.items():
            used = sorted((vm for vm in vms if vm), key=lambda vm: -vm[0][0])
            if len(used) > len(by_offer[index].vms):
                return None
            for mine, vm_columns in zip(used, by_offer[index].vms, strict=False):
                for (_, counts), core in zip(mine, vm_columns.counts, strict=False):
                    if any(g not in core for g in np.flatnonzero(counts).tolist()):
                        return None
                    values[list(core.values())] = counts[list(core)]
                values[vm_columns.end] = mine[0][0]
                if vm_columns.rented is not None:
                    values[vm_columns.rented] = 1
                last = max(last, mine[0][0])
        values[self._makespan] = max(0, last - self.window.earliest_s)
        return values if self.program.satisfied_by(values) else None

    def _cores_of(self, schedule: Schedule) -> list[list[IntArray]]:
        """For each VM of a plan, the counts of its used cores."""
        class_of_task = np.empty(self.instance.n_tasks, dtype=np.int64)
        for index, mine in enumerate(self.classes.tasks):
            class_of_task[mine] = index
        cores: list[dict[int, IntArray]] = [{} for _ in range(len(schedule.vm_offer))]
        places = zip(schedule.task_vm.tolist(), schedule.task_core.tolist(), class_of_task.tolist(), strict=True)
        for vm, core, index in places:
            cores[vm].setdefault(core, np.zeros(len(self.classes), dtype=np.int64))[index] += 1
        return [list(mine.values()) for mine in cores]


def _latest_s(instance: Instance, offer: RentalOffer, window: MakespanWindow) -> int:
    """Latest end on an offer, from ready."""
    return min(instance.time_limit_s(offer.market) - instance.boot_overhead_s, window.latest_s)


def _useful_sizes(instance: Instance, offer: RentalOffer) -> tuple[int, int]:
    """VMs of an offer, and cores of each of them, that may be of use."""
    return min(offer.limit, instance.n_tasks), min(offer.vcpus, instance.n_tasks)


def _cores_and_columns(
    instance: Instance, classes: TaskClasses, offer: RentalOffer, window: MakespanWindow
) -> tuple[int, int]:
    """Cores of an offer, and columns x of them."""
    vms, cores = _useful_sizes(instance, offer)
    able = instance.sustained_s[classes.group, offer.index] <= _latest_s(instance, offer, window)
    return vms * cores, vms * cores * int(able.sum())
