"""Arrays for the checker of plans: the bag, the VMs and the rows of a plan, and numbers rounded exactly.

Floats decide where they are clear; what lies next to a whole number counts as unclear, and is left to fractions.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain
from operator import is_

import numpy as np

from ...core.limits import sign_of_life
from ...core.quantities import SECONDS_PER_HOUR, BoolArray, FloatArray, IntArray
from ...core.record_lists import picked
from ...instances.entries import MARKETS, Checkpoints, Market, Task, VmType
from ...instances.instance import Instance
from ...schedules.documents import MODES, ScheduleColumns
from ..facts import (
    LEAST_DUMP_S,
    LONGEST_S,
    WITHOUT_EXCESS,
    copies,
    exact,
    interval_and_dump_s,
    rounded_up,
    without_zone,
)

_FLOAT_ERROR = 1e-14
"""More than ten roundings, of floats and of what they are worked out from, change a number by, relative to it."""
_NO_TIMES: Mapping[str, float] = {}
_BAG = "_bag_of_checker"
_NO_DATE = 2**62


class Bag:
    """The tasks of an instance, by its entries, each of which may stand for several.

    Arrays by entry have one more at their end, which stands for tasks that are not in the instance.

    Attributes
    ----------
    names : list of str, shape (n_tasks,)
        Names of all tasks.
    memory_mb, need_kb, cores : arrays, shape (n_entries + 1,)
        Memory of a task, how much of it counts, and its cores.
    outside : dict
        Market to the entries that may not be there, arrays of shape (n_entries + 1,); empty where all may be anywhere.
    dates_s : array, shape (2, n_entries + 1), optional
        Release and deadline of a task of its own; None where none has any.
    """

    def __init__(self, instance: Instance) -> None:
        self.tasks, self.rows = instance.tasks, instance.task_rows
        rows = self.rows
        self.vm_types = instance.vm_types
        self.counts = np.array([row.count or 1 for row in rows], dtype=np.int64)
        self.names = [row.id for row in rows]
        if (self.counts > 1).any():
            entries = zip(self.names, self.counts.tolist(), strict=True)
            self.names = [name for entry, count in entries for name in copies(entry, count)]
        self.memory_mb = np.array([*[row.memory_mb for row in rows], 1.0])
        need_kb, clear = _rounded_up(self.memory_mb * 1024)
        for index in np.flatnonzero(~clear).tolist():
            need_kb[index] = rounded_up(exact(float(self.memory_mb[index])) * 1024)
        self.need_kb = need_kb.astype(np.int64)
        self.cores = np.array([*[row.cores or 1 for row in rows], 1])
        self.base_s = np.array([*[row.base_runtime_s or math.nan for row in rows], math.nan])
        architectures = [row.architecture or "" for row in rows]
        self.architectures = np.array([*architectures, ""]) if any(architectures) else None
        named = [*[row.markets or () for row in rows], ()]
        self.outside = {
            market: np.array([bool(markets) and market not in markets for markets in named])
            for market in (MARKETS if any(named) else ())
        }
        release_s = [row.ready_s or 0 for row in rows]
        due_s = [row.deadline_s if row.deadline_s or row.deadline_s == 0 else _NO_DATE for row in rows]
        dated = any(release_s) or min(due_s, default=_NO_DATE) < _NO_DATE
        self.dates_s = np.array([[*release_s, 0], [*due_s, _NO_DATE]]) if dated else None

    @classmethod
    def of(cls, instance: Instance) -> Bag:
        """Read the tasks of an instance; those that another one has as well, once for all that is left of it."""
        if instance.taken_from is None:
            return cls(instance)
        whole, entries = instance.taken_from
        rows, numbers = instance.task_rows, entries.tolist()
        # Where they are said to come from is not trusted: they must be the very same objects.
        same = len(rows) == len(numbers) and all(map(is_, rows, picked(whole.task_rows, numbers)))
        if not same or instance.vm_types is not whole.vm_types:
            return cls(instance)
        known = whole.__dict__.get(_BAG)
        if known is None:
            known = whole.__dict__[_BAG] = cls(whole)
        return cls(instance) if (known.counts > 1).any() else known._part(instance, entries)

    def _part(self, instance: Instance, entries: IntArray) -> Bag:
        """Bag of some of the entries, each of one task."""
        part = copy.copy(self)
        for name in ("position", "entry_of", "run_times"):
            part.__dict__.pop(name, None)
        part.tasks, part.rows = instance.tasks, instance.task_rows
        taken = np.append(entries, -1)
        part.counts = self.counts[entries]
        part.names = [*picked(self.names, entries.tolist())]
        part.memory_mb, part.need_kb, part.base_s = self.memory_mb[taken], self.need_kb[taken], self.base_s[taken]
        part.cores = self.cores[taken]
        part.architectures = None if self.architectures is None else self.architectures[taken]
        part.outside = {market: entries[taken] for market, entries in self.outside.items()}
        part.given_s = self.given_s[taken]
        return part

    @cached_property
    def run_times(self) -> list[Mapping[str, float]]:
        """Run times by type that each entry gives, shape (n_entries + 1,)."""
        return [*[row.runtime_s or _NO_TIMES for row in self.rows], _NO_TIMES]

    @cached_property
    def given_s(self) -> FloatArray:
        """Run time that each entry gives for each type, shape (n_entries + 1, n_types + 1); NaN where it gives none."""
        names = [_run_time_key(vm_type) for vm_type in self.vm_types]
        return np.array([[*[times.get(name, math.nan) for name in names], math.nan] for times in self.run_times])

    @cached_property
    def position(self) -> dict[str, int]:
        """Position of each task by its name."""
        return {name: index for index, name in enumerate(self.names)}

    @cached_property
    def entry_of(self) -> IntArray:
        """Entry of each task, shape (n_tasks,)."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def entries_of(self, names: Sequence[str]) -> IntArray:
        """Entry of each name, -1 if it is not in the instance."""
        if list(names) == self.names:
            return self.entry_of
        positions = np.array([self.position.get(name, -1) for name in names], dtype=np.int64)
        return np.where(positions >= 0, self.entry_of[positions], -1)

    def entry(self, name: str) -> int:
        """Entry of a task of the instance."""
        return int(self.entry_of[self.position[name]])

    def task(self, name: str) -> Task | None:
        """The entry itself; None for a name that is not in the instance."""
        return self.tasks[self.entry(name)] if name in self.position else None

    def durations_s(
        self, entry: IntArray, plan: ScheduleColumns, vms: Vms, rules: Checkpoints | None
    ) -> tuple[FloatArray, BoolArray]:
        """Duration of each row's task where it is, and whether that is clear: see `plan.py`."""
        given, speed = self.base_s[entry], vms.speed[plan.task_vm]
        by_type = np.isnan(given)
        if by_type.any():
            if "given_s" in self.__dict__:
                explicit = self.given_s[entry, vms.type_numbers[plan.task_vm]]
            else:
                times = map(self.run_times.__getitem__, entry.tolist())
                keys = [*map(_run_time_key, self.vm_types), ""]
                types = map(keys.__getitem__, vms.type_numbers[plan.task_vm].tolist())
                explicit = np.array([seconds.get(name, math.nan) for seconds, name in zip(times, types, strict=True)])
            given, speed = np.where(by_type, explicit, given), np.where(by_type, 1.0, speed)
        if self.architectures is not None:
            asked = self.architectures[entry]
            given = np.where((asked != "") & (asked != vms.architecture[plan.task_vm]), math.nan, given)
        for market, outside in self.outside.items():
            given = np.where(outside[entry] & vms.in_market[market][plan.task_vm], math.nan, given)
        seconds, clear = _rounded_up(given / speed)
        if rules is not None:
            dump = dump_s(rules, self.memory_mb[entry])
            intervals, counted = _rounded_up(seconds / interval_s(rules, dump))
            spot = vms.spot[plan.task_vm]
            seconds = np.where(spot, seconds + (intervals - 1) * dump, seconds)
            clear &= counted | ~spot
        at_baseline = plan.task_mode == MODES.index("baseline")
        seconds, rounded = _rounded_up(seconds / np.where(at_baseline, vms.baseline[plan.task_vm], 1.0))
        return seconds, clear & rounded

    def run_times_s(self, number: int, size_kb: int) -> FloatArray:
        """Run time of each entry on a type in whole seconds, shape (n_entries,); infinite if it cannot run there."""
        vm_type = self.vm_types[number]
        given = self.base_s[:-1] / vm_type.speed
        by_type = np.isnan(given)
        given[by_type] = self.given_s[:-1][by_type, number]
        if self.architectures is not None:
            asked = self.architectures[:-1]
            given[(asked != "") & (asked != (vm_type.architecture or ""))] = math.nan
        seconds, clear = _rounded_up(given)
        for index in np.flatnonzero(~clear & ~np.isnan(given)).tolist():
            seconds[index] = exact_run_time_s(self.tasks[index], vm_type)
        able = (seconds <= LONGEST_S) & (self.need_kb[:-1] <= size_kb) & (self.cores[:-1] <= vm_type.vcpus)
        return np.where(able, seconds, np.inf)

    def ideal_cost_usd(self, sizes_kb: Mapping[str, int]) -> float:
        """Cheapest on-demand core-seconds of all tasks; of any market for those that no on-demand offer can run."""
        cheapest = {market: np.full(len(self.counts), np.inf) for market in ("spot", "on-demand")}
        for number, vm_type in enumerate(self.vm_types):
            sign_of_life()
            seconds = self.run_times_s(number, sizes_kb[vm_type.name])
            for market, offer in vm_type.offers.items():
                usd = offer.price_usd_per_hour / SECONDS_PER_HOUR / vm_type.vcpus * seconds * self.cores[:-1]
                if market in self.outside:
                    usd = np.where(self.outside[market][:-1], np.inf, usd)
                cheapest[market] = np.minimum(cheapest[market], usd)
        on_demand = cheapest["on-demand"]
        usd = np.where(np.isfinite(on_demand), on_demand, cheapest["spot"])
        return math.fsum((usd * self.counts).tolist())


class Vms:
    """The VMs of a plan in arrays by their numbers; those beyond the plan's are of names that no VM has.

    Attributes
    ----------
    known, of_known_type, offered, spot, burstable : arrays of bool
        Whether the plan has the VM, its type is in the catalogue, its market is offered, and which it is.
    in_market : dict
        Market to the VMs of it.
    kinds : list of (str, str)
        Type and market of each VM of the plan.
    numbers : array of int
        Numbers of the VMs of the plan.
    type_numbers : array of int
        Which type of the catalogue it is; -1 for none.
    vcpus, size_kb, speed, baseline, architecture : arrays
        What the type says.
    doubled : bool
        Whether VMs have the same name.
    """

    def __init__(self, instance: Instance, plan: ScheduleColumns, sizes_kb: Mapping[str, int]) -> None:
        # Unknown types have the number -1: the last entry of each array, added for them, stands for these.
        number = {vm_type.name: index for index, vm_type in enumerate(instance.vm_types)}
        self.kinds: list[tuple[str, Market]] = [(vm.type, vm.market) for vm in plan.vms]
        self.numbers = np.arange(len(plan.vms))
        names = [*[name for name, _ in self.kinds], *([""] * (len(plan.vm_names) - len(plan.vms)))]
        self.type_numbers = types = np.array([number.get(name, -1) for name in names], dtype=np.int64)
        self.known = np.arange(len(types)) < len(plan.vms)
        self.of_known_type = types >= 0
        vcpus, sizes, speeds, baselines, burstable = [], [], [], [], []
        for vm_type in instance.vm_types:
            vcpus.append(vm_type.vcpus)
            sizes.append(sizes_kb[vm_type.name])
            speeds.append(vm_type.speed)
            burstable.append(vm_type.burstable is not None)
            baselines.append(1.0 if vm_type.burstable is None else vm_type.burstable.baseline_fraction)
        self.vcpus = np.array([*vcpus, 0])[types]
        self.size_kb = np.array([*sizes, 0])[types]
        self.speed = np.array([*speeds, 1.0])[types]
        self.baseline = np.array([*baselines, 1.0])[types]
        self.burstable = np.array([*burstable, False])[types]
        self.architecture = np.array([*(vm_type.architecture or "" for vm_type in instance.vm_types), ""])[types]
        offers = {vm_type.name: vm_type.offers for vm_type in instance.vm_types}
        self.offered = [market in offers.get(name, ()) for name, market in self.kinds]
        markets = [*[market for _, market in self.kinds], *([""] * (len(types) - len(plan.vms)))]
        self.in_market = {market: np.array([own == market for own in markets], dtype=bool) for market in MARKETS}
        self.spot = self.in_market["spot"]
        self.doubled = len(set(plan.vm_names)) < len(plan.vm_names)


class CoresOfRows:
    """The cores of each row of a plan: those that it names, or its first one.

    Attributes
    ----------
    named : array of bool, shape (n_rows,)
        Whether the row names its cores.
    """

    def __init__(self, plan: ScheduleColumns) -> None:
        count = np.fromiter(map(len, plan.cores), dtype=np.int64, count=len(plan.cores))
        self.named, self._count = count > 0, count
        # Pairs of a row and one of its cores.
        self._row = np.repeat(np.arange(len(count)), np.maximum(count, 1))
        self._core = plan.task_core[self._row]
        self._names_first = np.ones(len(count), dtype=bool)
        if self.named.any():
            named = np.fromiter(chain.from_iterable(plan.cores), dtype=np.int64, count=int(count.sum()))
            self._core[self.named[self._row]] = named
            rows = np.flatnonzero(self.named)
            self._names_first[rows] = named[(np.cumsum(count) - count)[rows]] == plan.task_core[rows]

    def wrong(self, need: IntArray, vcpus: IntArray) -> BoolArray:
        """Mask of the rows whose cores are not as many as the task needs, each once, the first first, of those there.

        Parameters
        ----------
        need, vcpus : array of int, shape (n_rows,)
            Cores that the task needs, and that the VM has.
        """
        found: BoolArray = (need > vcpus) | (self.named & (self._count != need)) | ~self._names_first
        found[self._row[self._core >= vcpus[self._row]]] = True
        if self.named.any():
            order = np.lexsort((self._core, self._row))
            row, core = self._row[order], self._core[order]
            found[row[1:][(row[1:] == row[:-1]) & (core[1:] == core[:-1])]] = True
        return found

    def in_order(self, plan: ScheduleColumns, rows: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """VM, start, end and core of each pair of some rows and their cores, sorted by VM, core and start."""
        asked = np.zeros(len(self._count), dtype=bool)
        asked[rows] = True
        mine = np.flatnonzero(asked[self._row])
        row, core = self._row[mine], self._core[mine]
        start_s, end_s, vm = plan.task_start_s[row], plan.task_end_s[row], plan.task_vm[row]
        order = np.lexsort((end_s, start_s, core, vm))
        return vm[order], start_s[order], end_s[order], core[order]


class RowsByVm:
    """Rows of a plan whose tasks and VMs are known, sorted by VM, core and start.

    Attributes
    ----------
    rows : array of int
        The rows, sorted.
    count, end_s : arrays of int
        For each VM by its number, how many rows it has, and when the last of them ends.
    """

    def __init__(self, plan: ScheduleColumns, rows: IntArray) -> None:
        self._plan = plan
        # Sorted once: then neighbours are the tasks that follow each other on a core.
        order = np.lexsort((plan.task_start_s[rows], plan.task_core[rows], plan.task_vm[rows]))
        self.rows = rows[order]
        self.vm, self.core = plan.task_vm[self.rows], plan.task_core[self.rows]
        self.start_s, end_s = plan.task_start_s[self.rows], plan.task_end_s[self.rows]
        self.task_end_s = end_s
        self.count = np.bincount(self.vm, minlength=len(plan.vm_names))
        self.last = np.cumsum(self.count)
        self.end_s = np.zeros(len(self.count), dtype=np.int64)
        present = np.flatnonzero(self.count)
        self.end_s[present] = np.maximum.reduceat(end_s, (self.last - self.count)[present])
        self.same_core = (self.vm[1:] == self.vm[:-1]) & (self.core[1:] == self.core[:-1])

    def rows_of(self, vm: int) -> IntArray:
        """Rows of a VM in the order of the plan."""
        return np.sort(self.rows[self.last[vm] - self.count[vm] : self.last[vm]])

    def overlapping(self, cores: CoresOfRows) -> BoolArray:
        """VMs with tasks that overlap on a core: then two overlap of which one starts next after the other."""
        vm, start_s, end_s, same_core = self.vm, self.start_s, self.task_end_s, self.same_core
        if cores.named.any():
            vm, start_s, end_s, core = cores.in_order(self._plan, self.rows)
            same_core = (vm[1:] == vm[:-1]) & (core[1:] == core[:-1])
        found = np.zeros(len(self.count), dtype=bool)
        found[vm[1:][same_core & (end_s[:-1] > start_s[1:])]] = True
        return found

    def most_at_once(self, need_kb: IntArray) -> FloatArray:
        """Memory of the largest task of each core together, for each VM; no more is needed if none overlap."""
        first = np.flatnonzero(np.concatenate([[True], ~self.same_core]))[: len(self.rows)]
        largest = np.maximum.reduceat(need_kb, first)
        return np.bincount(self.vm[first], weights=largest, minlength=len(self.count)).astype(float)

    def overfull(self, among: BoolArray, need: IntArray, size: IntArray) -> BoolArray:
        """Mask of the VMs among some whose tasks may need more memory, or cores, than the VM has, at some moment.

        Where a sum may be beyond 64 bits, none is ruled out: the checker then looks at each in exact arithmetic.

        Parameters
        ----------
        among : array of bool, shape (n_vms,)
            The VMs that are asked about.
        need : array of int, shape (n_rows,)
            Memory or cores that the task of each row needs.
        size : array of int, shape (n_vms,)
            Memory or cores of each VM.
        """
        mine = np.flatnonzero(among[self.vm])
        if float(need[mine].sum(dtype=float)) > 2**62:
            return among
        vm = np.tile(self.vm[mine], 2)
        change = np.concatenate([need[mine], -need[mine]])
        moment = np.concatenate([self.start_s[mine], self.task_end_s[mine]])
        order = np.lexsort((change, moment, vm))  # at equal times, what ends frees its memory first
        used = np.cumsum(change[order])  # one sum for all VMs: the changes of each add up to 0
        found = np.zeros(len(self.count), dtype=bool)
        found[vm[order][used > size[vm[order]]]] = True
        return found


def most_in_use(uses: Iterable[tuple[int, int, int]]) -> tuple[int, int]:
    """Return the most of something that is in use at once, and since when, by starts, ends and amounts of its uses."""
    changes = [change for start_s, end_s, amount in uses for change in ((start_s, amount), (end_s, -amount))]
    used = most = most_at_s = 0
    for at_s, change in sorted(changes):  # at equal times, what ends frees its part first
        used += change
        if used > most:
            most, most_at_s = used, at_s
    return most, most_at_s


def dump_s(rules: Checkpoints, memory_mb: FloatArray) -> FloatArray:
    """Time to write a checkpoint of tasks of some memory."""
    return rules.dump_base_s + rules.dump_s_per_mb * memory_mb


def interval_s(rules: Checkpoints, dump_s: FloatArray) -> FloatArray:
    """Work between two checkpoints, by the time to write one; a second if writing takes no time."""
    interval: FloatArray = np.where(dump_s < float(LEAST_DUMP_S), 1.0, dump_s / rules.overhead_fraction)
    return interval


def exact_interval_and_dump_s(rules: Checkpoints, memory_mb: float) -> tuple[Fraction, Fraction]:
    """Return the work between two checkpoints of a task of some memory and the time to write one, as fractions."""
    return interval_and_dump_s(rules.dump_base_s, rules.dump_s_per_mb, rules.overhead_fraction, memory_mb)


@lru_cache(maxsize=1000)  # catalogues are small, and their sizes asked for again and again
def size_kb(memory_mb: float, reserved_mb: float) -> int:
    """Return the memory of a VM for tasks in whole KB, from all of it and what is reserved in MB."""
    return math.floor(exact(memory_mb) * 1024) - rounded_up(exact(reserved_mb) * 1024)


def exact_run_time_s(task: Task, vm_type: VmType) -> int | None:
    """Run time of a task on a type in whole seconds; None if it has none there."""
    if task.architecture is not None and task.architecture != vm_type.architecture:
        return None
    if task.runtime_s is None:
        assert task.base_runtime_s is not None
        return rounded_up(exact(task.base_runtime_s) / exact(vm_type.speed))
    given = task.runtime_s.get(_run_time_key(vm_type))
    return None if given is None else rounded_up(exact(given))


def _run_time_key(vm_type: VmType) -> str:
    """Name of a type in run times."""
    return without_zone(vm_type.name, vm_type.zone)


def _rounded_up(values: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Numbers rounded up, and a mask of the clear ones: no float error reaches from them to the next whole number."""
    less = values * float(WITHOUT_EXCESS)
    clear = (np.abs(less - np.rint(less)) > _FLOAT_ERROR * less) & (less < 1e12)
    return np.ceil(less), clear
