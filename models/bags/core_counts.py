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

Machines that exist are VMs whose cores have a load already, and only the seconds of Z_jv count that are not paid
anyway. With machines the time of T counts from now, and a VM that is not ready now is waited for if it is used.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from ...core.errors import ModelRefusal
from ...core.quantities import IntArray
from ...instances.durations import NEVER
from ...instances.entries import Market, RentalOffer
from ...instances.instance import Instance
from ...schedules.evaluation import held_objective, objective_weights
from ...schedules.schedule import Schedule
from ..integer_program import IntegerProgram
from .core_patterns import BurstableMode, offers_without_credits, require_free_memory, schedule_of_cores
from .task_classes import TaskClasses, task_classes, usable_offers
from .windows import MakespanWindow

MOST_COUNTS = 100_000
"""Columns x beyond which the model refuses."""

MOST_CORES = 100_000
"""Cores beyond which the model refuses, whatever runs on them."""

_NAME = "the core-count model"


@dataclass(frozen=True, slots=True)
class _Kind:
    """VMs that are alike: those of an offer that may be rented, or one machine. Their times count from ready.

    Attributes
    ----------
    offer : RentalOffer
        What they are.
    vms : int
        How many.
    busy_s : tuple of int
        For each core, from when on it is free, the last one first.
    latest_s : int
        Latest end of what is placed there.
    machine : int
        Which machine it is, as an index into ``instance.machines``; -1 for VMs that may be rented.
    waits_s : int
        When they are ready, counted as the makespan is.
    free_s : int
        Seconds that cost nothing.
    """

    offer: RentalOffer
    vms: int
    busy_s: tuple[int, ...]
    latest_s: int
    machine: int = -1
    waits_s: int = 0
    free_s: int = 0

    @property
    def most_s(self) -> int:
        """Latest end, of what runs there already too."""
        return max(self.latest_s, *self.busy_s)


@dataclass(frozen=True, slots=True)
class _VmColumns:
    """Columns of one VM: for each core, class to column; its end; whether it is used; seconds that are paid."""

    counts: list[dict[int, int]]
    end: int
    rented: int | None
    paid: int | None


@dataclass(frozen=True, slots=True)
class _KindColumns:
    """Columns of one kind, by VM, and durations of the classes."""

    kind: _Kind
    seconds: list[int]
    vms: list[_VmColumns]


def core_count_columns(instance: Instance, window: MakespanWindow) -> int:
    """Columns x of the model, computed without building it: the measure of how hard it is.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    window : MakespanWindow
        Makespans to look at.
    """
    classes = task_classes(instance, from_state=True)
    kinds = _kinds(instance, usable_offers(instance), window)
    return sum(_cores_and_columns(instance, classes, kind)[1] for kind in kinds)


def offers_of_core_counts(instance: Instance, burstable: BurstableMode = "refuse") -> list[RentalOffer]:
    """List the offers of the model; see `CoreCountModel`.

    Raises
    ------
    ModelRefusal
        If memory can bind, or a usable offer is burstable.
    """
    offers = offers_without_credits(instance, burstable, _NAME)
    require_free_memory(instance, offers, _NAME)
    return offers


class CoreCountModel:
    """The model of an instance.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    window : MakespanWindow
        Makespans to look at; the model is exact within. It must not be empty.
    burstable : {"refuse", "baseline"}
        Whether burstable offers are refused, or run all their tasks in baseline mode: the optimum is then one of such
        plans only.

    Attributes
    ----------
    program : IntegerProgram
        The programme to be solved.

    Raises
    ------
    ModelRefusal
        If memory can bind, a usable offer is burstable, or there are too many columns.
    """

    def __init__(self, instance: Instance, window: MakespanWindow, burstable: BurstableMode = "refuse") -> None:
        if window.empty:
            raise ValueError("the window holds no makespan: there is nothing to look for")
        self.instance = instance
        self.window = window
        self.classes: TaskClasses = task_classes(instance, from_state=True)
        offers = offers_of_core_counts(instance, burstable)
        rented = {offer.index for offer in usable_offers(instance)}
        kinds = _kinds(instance, [offer for offer in offers if offer.index in rented], window)
        self._refuse_large(kinds)
        self.program = IntegerProgram()
        self._cost_weight, self._time_weight = objective_weights(instance)
        self._columns = [self._add_kind(kind, self._market_binds(kinds, kind.offer.market)) for kind in kinds]
        self._makespan = self._add_makespan()
        self._add_all_tasks_run()
        for columns in self._columns:
            for vm in columns.vms:
                self._add_cores_are_sorted(columns, vm)
                self._add_end_is_longest_load(columns, vm)
                self._add_end_covers_mean_load(columns, vm)
                self._add_rented_if_used(columns, vm)
                self._add_paid_after_free(columns, vm)
            self._add_vms_are_sorted(columns)
            self._add_makespan_is_last_end(columns)
        self._add_market_limits()

    def _seconds(self, offer: RentalOffer) -> IntArray:
        return np.asarray(self.instance.sustained_s[self.classes.group, offer.index])

    def _refuse_large(self, kinds: list[_Kind]) -> None:
        """Estimate the size before anything is built."""
        sizes = [_cores_and_columns(self.instance, self.classes, kind) for kind in kinds]
        cores, counts = (sum(column) for column in zip(*sizes, strict=True)) if sizes else (0, 0)
        if counts > MOST_COUNTS or cores > MOST_CORES:
            raise ModelRefusal(
                f"{_NAME} takes up to {MOST_COUNTS:,} counts of tasks on {MOST_CORES:,} cores, and would need "
                f"{counts:,}: {len(self.classes):,} classes of identical tasks on {cores:,} cores; 'columns' and "
                f"'search' know no cores"
            )

    def _market_binds(self, kinds: list[_Kind], market: Market) -> bool:
        """Whether the offers of a market allow more VMs than the market does."""
        cap = self.instance.market_limit(market)
        return cap is not None and cap < sum(
            kind.vms for kind in kinds if kind.offer.market == market and kind.machine < 0
        )

    # ---------------------------------------------------------------- columns

    def _add_kind(self, kind: _Kind, market_binds: bool) -> _KindColumns:
        """Columns x, Z and y of VMs that are alike."""
        seconds = self._seconds(kind.offer)
        able = [(index, int(each)) for index, each in enumerate(seconds.tolist()) if each < NEVER]
        price = self._cost_weight * kind.offer.price_usd_per_s
        counted = bool(kind.waits_s) or (market_binds and kind.machine < 0)
        columns = _KindColumns(kind, seconds.tolist(), [])
        for _ in range(kind.vms):
            counts = [
                {
                    index: self.program.add_column(
                        upper=min(int(self.classes.size[index]), (kind.latest_s - busy_s) // each)
                    )
                    for index, each in able
                    if each <= kind.latest_s - busy_s
                }
                for busy_s in kind.busy_s
            ]
            paid = None
            end = self.program.add_column(price if kind.machine < 0 else 0.0, kind.busy_s[0], kind.most_s)
            if kind.machine >= 0:
                paid = self.program.add_column(price, upper=max(kind.most_s - kind.free_s, 0))
            columns.vms.append(_VmColumns(counts, end, self.program.add_column() if counted else None, paid))
        return columns

    def _add_makespan(self) -> int:
        """Column T; the earliest makespan of the window is paid in any case, and what runs on machines."""
        ready_s = 0 if self.instance.machines else self.instance.boot_overhead_s
        held = held_objective(self.instance)
        self.program.constant = self._time_weight * (self.window.earliest_s + ready_s) + held
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

    def _add_cores_are_sorted(self, columns: _KindColumns, vm: _VmColumns) -> None:
        """Load of core k >= load of core k + 1, where both are free at the same time."""
        free_s = columns.kind.busy_s
        for number, (core, after) in enumerate(itertools.pairwise(vm.counts)):
            if free_s[number] != free_s[number + 1]:
                continue
            seconds = [columns.seconds[index] for index in core]
            self.program.add_row([*core.values(), *after.values()], [*seconds, *(-each for each in seconds)], lower=0)

    def _add_end_is_longest_load(self, columns: _KindColumns, vm: _VmColumns) -> None:
        """Z_jv >= load of the first core of those that are free at the same time; those of the others are no longer."""
        kind = columns.kind
        for number, core in enumerate(vm.counts):
            busy_s = kind.busy_s[number]
            if number and busy_s == kind.busy_s[number - 1]:
                continue
            seconds = [columns.seconds[index] for index in core]
            self.program.add_row([vm.end, *core.values()], [1, *(-each for each in seconds)], lower=busy_s)
            if kind.most_s > kind.latest_s and core:
                self.program.add_row([*core.values()], seconds, upper=kind.latest_s - busy_s)

    def _add_end_covers_mean_load(self, columns: _KindColumns, vm: _VmColumns) -> None:
        """c_j Z_jv >= load of all cores: the sum of the rows before, written down for the solvers' cuts."""
        members, loads = [vm.end], [len(vm.counts)]
        for core in vm.counts:
            members += core.values()
            loads += [-columns.seconds[index] for index in core]
        if len(vm.counts) > 1:
            self.program.add_row(members, loads, lower=sum(columns.kind.busy_s))

    def _add_rented_if_used(self, columns: _KindColumns, vm: _VmColumns) -> None:
        """Z_jv <= L_j y_jv."""
        if vm.rented is not None:
            self.program.add_row([vm.end, vm.rented], [1, -columns.kind.most_s], upper=0)

    def _add_paid_after_free(self, columns: _KindColumns, vm: _VmColumns) -> None:
        """Of a machine, only the seconds are paid that do not cost nothing."""
        if vm.paid is not None:
            self.program.add_row([vm.paid, vm.end], [1, -1], lower=-columns.kind.free_s)

    def _add_vms_are_sorted(self, columns: _KindColumns) -> None:
        """Z_jv >= Z_j,v+1, and y_jv >= y_j,v+1."""
        for vm, after in zip(columns.vms, columns.vms[1:], strict=False):
            self.program.add_row([vm.end, after.end], [1, -1], lower=0)
            if vm.rented is not None and after.rented is not None:
                self.program.add_row([vm.rented, after.rented], [1, -1], lower=0)

    def _add_makespan_is_last_end(self, columns: _KindColumns) -> None:
        """T >= Z_jv, after it is waited for if it is used; the first VM of an offer ends last."""
        members, coefficients = [self._makespan, columns.vms[0].end], [1, -1]
        if columns.kind.waits_s:
            assert columns.vms[0].rented is not None
            members.append(columns.vms[0].rented)
            coefficients.append(-columns.kind.waits_s)
        self.program.add_row(members, coefficients, lower=-self.window.earliest_s)

    def _add_market_limits(self) -> None:
        """Most VMs of a market at once."""
        for market in self.instance.markets:
            cap = self.instance.market_limit(market)
            rented = [
                vm.rented
                for columns in self._columns
                if columns.kind.offer.market == market and columns.kind.machine < 0
                for vm in columns.vms
                if vm.rented is not None
            ]
            if cap is not None and rented:
                self.program.add_row(rented, [1] * len(rented), upper=cap)

    # -------------------------------------------------------------- read back

    def schedule(self, values: IntArray) -> Schedule:
        """Make the plan of a solution."""
        cores: list[tuple[RentalOffer, IntArray, int]] = []
        of_machines: dict[int, list[IntArray]] = {}
        for columns in self._columns:
            for vm in columns.vms:
                for core in vm.counts:
                    counts = np.zeros(len(self.classes), dtype=np.int64)
                    counts[list(core)] = values[list(core.values())]
                    load = sum(int(counts[index]) * columns.seconds[index] for index in core)
                    if columns.kind.machine >= 0:
                        of_machines.setdefault(columns.kind.machine, []).append(counts)
                    elif load:
                        cores.append((columns.kind.offer, counts, load))
        return schedule_of_cores(self.instance, self.classes, cores, of_machines=of_machines)

    def start(self, schedule: Schedule) -> IntArray | None:
        """Return the values of a plan; None if it does not fit the window or the VMs of the model."""
        by_kind = {(columns.kind.offer.index, columns.kind.machine): columns for columns in self._columns}
        values = np.zeros(self.program.n_columns, dtype=np.int64)
        for columns in self._columns:
            for vm in columns.vms:
                values[vm.end] = columns.kind.busy_s[0]
        loaded: dict[tuple[int, int], list[list[tuple[int, IntArray | None]]]] = {}
        for vm_index, counts_of_cores in enumerate(self._cores_of(schedule)):
            key = int(schedule.vm_offer[vm_index]), int(schedule.vm_machine[vm_index])
            if counts_of_cores:
                if key not in by_kind:
                    return None
                loaded.setdefault(key, []).append(self._loads(by_kind[key], counts_of_cores))
        last = int(self.instance.running_end_s.max(initial=0))
        for key, vms in loaded.items():
            columns = by_kind[key]
            if len(vms) > columns.kind.vms:
                return None
            for mine, vm in zip(sorted(vms, key=_last_load, reverse=True), columns.vms, strict=False):
                for (_, counts), core in zip(mine, vm.counts, strict=False):
                    if counts is not None:
                        if any(g not in core for g in np.flatnonzero(counts).tolist()):
                            return None
                        values[list(core.values())] = counts[list(core)]
                values[vm.end] = _last_load(mine)
                if vm.rented is not None:
                    values[vm.rented] = 1
                if vm.paid is not None:
                    values[vm.paid] = max(_last_load(mine) - columns.kind.free_s, 0)
                last = max(last, _last_load(mine) + columns.kind.waits_s)
        values[self._makespan] = max(0, last - self.window.earliest_s)
        return values if self.program.satisfied_by(values) else None

    def _loads(self, columns: _KindColumns, counts_of_cores: dict[int, IntArray]) -> list[tuple[int, IntArray | None]]:
        """Load and counts of the cores of a VM in the order of the model: by when they are free, then by load."""
        machine = columns.kind.machine
        free_s = dict.fromkeys(counts_of_cores, 0) if machine < 0 else dict(_cores_of_machine(self.instance, machine))
        rows = []
        for core, busy_s in free_s.items():
            counts = counts_of_cores.get(core)
            load = 0 if counts is None else sum(int(c) * columns.seconds[g] for g, c in enumerate(counts) if c)
            rows.append((busy_s, load, counts))
        rows.sort(key=lambda row: (-row[0], -row[1]))
        return [(busy_s + load, counts) for busy_s, load, counts in rows]

    def _cores_of(self, schedule: Schedule) -> list[dict[int, IntArray]]:
        """For each VM of a plan, the counts of its cores that it uses for tasks of the classes."""
        class_of_task = np.full(self.instance.n_tasks, -1)
        for index, mine in enumerate(self.classes.tasks):
            class_of_task[mine] = index
        cores: list[dict[int, IntArray]] = [{} for _ in range(len(schedule.vm_offer))]
        places = zip(schedule.task_vm.tolist(), schedule.task_core.tolist(), class_of_task.tolist(), strict=True)
        for vm, core, index in places:
            if index >= 0:
                cores[vm].setdefault(core, np.zeros(len(self.classes), dtype=np.int64))[index] += 1
        return cores


def _last_load(cores: list[tuple[int, IntArray | None]]) -> int:
    return max(load for load, _ in cores)


def _kinds(instance: Instance, offers: list[RentalOffer], window: MakespanWindow) -> list[_Kind]:
    """VMs of the offers that may be rented, and the machines."""
    zero_s = 0 if instance.machines else instance.boot_overhead_s
    n_open = len(instance.open_tasks)
    kinds = []
    for offer in offers:
        waits_s = instance.boot_overhead_s - zero_s
        latest_s = min(instance.time_limit_s(offer.market) - instance.boot_overhead_s, window.latest_s - waits_s)
        vms, cores = min(offer.limit, n_open), min(offer.vcpus, n_open)
        if vms and latest_s >= 0:
            kinds.append(_Kind(offer, vms, (0,) * cores, latest_s, waits_s=waits_s))
    for number, machine in enumerate(instance.machines):
        offer = instance.offers[instance.machine_offer[number]]
        latest_s = min(instance.time_limit_s(offer.market), window.latest_s) - machine.ready_s
        busy_s = [seconds for _, seconds in _cores_of_machine(instance, number)]
        most = sum(seconds > 0 for seconds in busy_s) + n_open
        free_s = int(instance.machine_held_s[number]) - machine.ready_s
        latest_s = max(latest_s, -1) if machine.open else -1
        busy = tuple(busy_s[: max(most, 1)])
        kinds.append(_Kind(offer, 1, busy, latest_s, number, machine.ready_s, free_s))
    return kinds


def _cores_of_machine(instance: Instance, machine: int) -> list[tuple[int, int]]:
    """Cores of a machine, each with the second from ready on at which it is free: the last one first."""
    vcpus = instance.offers[instance.machine_offer[machine]].vcpus
    free_s = instance.machine_core_free_s[machine, :vcpus] - instance.machine_ready_s[machine]
    pairs = enumerate(np.maximum(free_s, 0).tolist())
    return sorted(pairs, key=lambda pair: -pair[1])


def _cores_and_columns(instance: Instance, classes: TaskClasses, kind: _Kind) -> tuple[int, int]:
    """Cores of a kind, and columns x of them."""
    seconds = instance.sustained_s[classes.group, kind.offer.index]
    columns = sum(int((seconds <= kind.latest_s - busy_s).sum()) for busy_s in kind.busy_s)
    return kind.vms * len(kind.busy_s), kind.vms * columns
