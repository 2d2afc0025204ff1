"""Rescues on demand, for `on-time`: what is left of a bag, which VMs may take it, and when that must begin."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np

from ....core.quantities import IntArray
from ....instances.durations import FULL_SPEED, NEVER
from ....instances.entries import RentalOffer
from ....schedules.timing import VmTimeline
from ..rows import NONE
from ..state import ReplayState
from ..vm import Vm

LOST, WAITS, RUNS = range(3)
"""What a task does that no on-demand VM will finish: it is where it cannot go on, it waits, it runs."""

_OFTEN = 0.01
"""Part of the time until the deadline within which a task writes a checkpoint that saves often."""

Core: TypeAlias = tuple[int, int]
"""A VM by its number, and a core of it."""


class Row(NamedTuple):
    """What tasks of a group ask of on-demand VMs of which the same is saved; ``order`` is least for the longest."""

    number: int
    durations_s: tuple[int, ...]
    memory_kb: int
    order: int


class Task(NamedTuple):
    """A task that no on-demand VM will finish, as things stand."""

    task: int
    vm: Vm
    kind: int
    saved: float
    row: Row


def longest_first(entry: Task) -> tuple[int, int]:
    """Order tasks by their least duration on demand."""
    return entry.row.order, entry.task


def cheapest_to_move(entry: Task) -> tuple[int, int, int]:
    """Order tasks: what is lost before what waits before what runs; longest first."""
    return entry.kind, entry.row.order, entry.task


class Table:
    """What never changes in a replay: offers; and durations on those on demand, by what is saved."""

    def __init__(self, replay: ReplayState) -> None:
        work = replay.work
        on_demand = [offer for offer in replay.instance.offers if offer.market == "on-demand"]
        self.column = {offer.index: number for number, offer in enumerate(on_demand)}
        self._offers = [(offer.index, work.sustained[offer.index]) for offer in on_demand]
        self._rows: dict[tuple[int, float], Row] = {}
        self._durations_s = np.empty((64, len(on_demand)), np.int64)
        self._memory_kb = np.empty(64, np.int64)
        self.new = sorted(
            (offer for offer in on_demand if not offer.burstable), key=lambda offer: self._dear(replay, offer)
        )
        self.binds = {offer.index: not replay.instance.memory_never_binds[offer.type_index] for offer in on_demand}
        new = [
            (self.column[offer.index], offer.memory_kb if self.binds[offer.index] else -1, offer.vcpus)
            for offer in self.new
        ]
        self.new_array: IntArray = np.array(new, np.int64).reshape(-1, 3)
        spot = [offer for offer in replay.instance.offers if offer.market == "spot"]
        self.spot = [offer for offer in spot if not offer.burstable]
        self.binds_spot = {offer.index: not replay.instance.memory_never_binds[offer.type_index] for offer in spot}
        self.interval_s = replay.instance.checkpoint_interval_s.tolist() if work.takes_checkpoints else None
        between_s = replay.instance.checkpoint_interval_s + replay.instance.dump_s
        often = work.takes_checkpoints & (between_s <= _OFTEN * replay.instance.deadline_s)
        self._between_s: list[float] = between_s.tolist()
        self._often: list[bool] = np.broadcast_to(often, len(replay.instance.dump_s)).tolist()
        self._group_of = work.group_of

    def saves_often(self, task: int) -> bool:
        """Whether hardly anything of a task is lost with its VM: what it does on spot VMs puts the rescue off."""
        return self._often[self._group_of[task]]

    def between_s(self, task: int) -> float:
        """Seconds from one checkpoint of a task to the next."""
        return self._between_s[self._group_of[task]]

    @staticmethod
    def _dear(replay: ReplayState, offer: RentalOffer) -> tuple[float, int]:
        """Price of the whole bag on an offer."""
        times_s = [time_s for time_s in replay.work.runtimes_s(offer.index) if time_s < NEVER]
        if not times_s:
            return math.inf, offer.index
        return offer.price_usd_per_hour * sum(times_s) / len(times_s) / offer.vcpus, offer.index

    def row(self, replay: ReplayState, task: int, saved: float) -> Row:
        """What a task asks of on-demand VMs."""
        key = replay.work.group_of[task], saved
        row = self._rows.get(key)
        if row is None:
            duration_s = replay.work.duration_s
            durations_s = tuple([duration_s(task, index, mode, saved) for index, mode in self._offers])
            number = len(self._rows)
            row = self._rows[key] = Row(number, durations_s, replay.memory_kb(task), -min(durations_s, default=NEVER))
            if number == len(self._memory_kb):
                self._durations_s = np.concatenate([self._durations_s, np.empty_like(self._durations_s)])
                self._memory_kb = np.concatenate([self._memory_kb, np.empty_like(self._memory_kb)])
            self._durations_s[number] = durations_s
            self._memory_kb[number] = row.memory_kb
        return row

    def arrays(self, tasks: Iterable[Task]) -> tuple[IntArray, IntArray, IntArray]:
        """Rows of tasks; of all rows, durations and memory."""
        return np.array([entry.row.number for entry in tasks], np.int64), self._durations_s, self._memory_kb


class Place(NamedTuple):
    """An on-demand VM that a rescue may use: a number, its column, its memory or -1, when each core is free."""

    number: int
    column: int
    memory_kb: int
    free_s: tuple[int, ...]
    share_kb: tuple[int, ...]


class Scene:
    """What a rescue is made of, as things stand; it is looked at once for each question, and follows decisions.

    Parameters
    ----------
    replay, table
        The replay, and what never changes in it.
    before : sequence of Task
        Open tasks of an earlier look, at most one for each task of the bag: most are as they were.

    Attributes
    ----------
    by_task : dict of int to Task
        All tasks that are unfinished, and not on an on-demand VM.
    ordered : list of Task
        The same, longest first.
    any_lost : bool
        Whether any of them was where it cannot go on when it was looked.
    places : list of Place
        What a rescue may use of on-demand VMs that are there.
    spot : list of Vm
        Spot VMs that take tasks, without burstable ones.
    """

    __slots__ = ("_replay", "_table", "any_lost", "by_task", "ordered", "places", "spot")

    def __init__(self, replay: ReplayState, table: Table, before: dict[int, Task]) -> None:
        self._replay, self._table = replay, table
        self.by_task = _open_tasks(replay, table, before)
        self.ordered = sorted(self.by_task.values(), key=longest_first)
        self.any_lost = any([entry.kind == LOST for entry in self.ordered])  # noqa: C419 - as fast as can be
        self.places = self._all_places()
        self.spot = [vm for vm in replay.vms if vm.spot and vm.burstable is None and vm.alive]

    def lost(self) -> list[Task]:
        """What is where it cannot go on, longest first."""
        return [entry for entry in self.ordered if entry.kind == LOST]

    def others(self, task: int) -> list[Task]:
        """All but one task, longest first."""
        return [entry for entry in self.ordered if entry.task != task]

    def moved(self, entry: Task, target: Vm) -> None:
        """Follow a task that has been moved."""
        source, task = entry.vm, entry.task
        at = bisect_left(self.ordered, longest_first(entry), key=longest_first)
        known = self.by_task.pop(task, None) is not None
        if target.spot:
            kind = RUNS if self._replay.tasks[task].running else WAITS
            there = self.by_task[task] = entry._replace(vm=target, kind=kind)
            self.ordered[at : at + known] = [there]
        elif known:
            del self.ordered[at]
        for vm in (source, target):
            if not vm.spot:
                self.places = [
                    place if place.number != vm.index else place_of(self._replay, self._table, vm)
                    for place in self.places
                ]

    def started(self, vm: Vm) -> None:
        """Follow a VM that has been requested."""
        if not vm.spot:
            self.places = self._all_places()
        elif vm.burstable is None:
            self.spot.append(vm)

    def ended(self, vm: Vm) -> None:
        """Follow a VM that has been terminated."""
        if not vm.spot:
            self.places = self._all_places()
        elif vm in self.spot:
            self.spot.remove(vm)

    def _all_places(self) -> list[Place]:
        replay, table = self._replay, self._table
        return [place_of(replay, table, vm) for vm in replay.vms if takes_rescues(vm)]


def _open_tasks(replay: ReplayState, table: Table, before: dict[int, Task]) -> dict[int, Task]:
    """All tasks that are unfinished, and not on an on-demand VM, by VM; those that are as before are the same."""
    found = {}
    rows, row_of, get = replay.tasks, table.row, before.get
    for vm in replay.vms:
        if not vm.spot or not vm.n_left:
            continue
        stuck = vm.gives_tasks
        of_running, of_waiting = LOST if stuck and not vm.draining else RUNS, LOST if stuck else WAITS
        for task in _by_cores(replay, vm):
            row = rows[task]
            kind = of_running if row.running else of_waiting
            saved, entry = replay.saved_if_moved(vm, task) if row.running else row.saved, get(task)
            if entry is None or entry.vm is not vm or entry.kind != kind or entry.saved != saved:
                entry = Task(task, vm, kind, saved, row_of(replay, task, saved))
            found[task] = entry
    return found


def _by_cores(replay: ReplayState, vm: Vm) -> list[int]:
    """Tasks of a VM: those that run, then those that wait, core by core."""
    slots = replay.cores[vm.index]
    found = [slot.running for slot in slots if slot.running != NONE]
    for slot in slots:
        task = slot.first
        while task != NONE:
            found.append(task)
            task = replay.tasks[task].next
    return found


def takes_rescues(vm: Vm) -> bool:
    """Whether a rescue may use a VM: on-demand, alive; no credits are spent on it that others count on.

    While a task writes a checkpoint there to leave, nothing is known of what its core does next.
    """
    if vm.spot or not vm.alive or vm.dumps:
        return False
    if not vm.bursts:
        return True
    return not vm.n_at_full_speed and all(run.mode != FULL_SPEED for queue in vm.waiting for run in queue)


def place_of(replay: ReplayState, table: Table, vm: Vm) -> Place:
    """Return what a rescue may use of an on-demand VM, once what waits there has moved up."""
    if vm.disordered and not table.binds[vm.offer_index]:
        cores = (0,) * vm.offer.vcpus
        return place_without(replay, Place(vm.index, table.column[vm.offer_index], -1, cores, cores), vm, -1)
    zero_s = vm.zero_s
    free_s = tuple([zero_s + core_s for core_s in replay.timeline(vm).core_free_s])
    if not table.binds[vm.offer_index]:
        return Place(vm.index, table.column[vm.offer_index], -1, free_s, (0,) * len(free_s))
    shares = []
    for run, queue in zip(vm.running, vm.waiting, strict=True):
        there = [*queue] if run is None else [run, *queue]
        shares.append(max([replay.memory_kb(entry.task) for entry in there], default=0))
    return Place(vm.index, table.column[vm.offer_index], vm.offer.memory_kb, free_s, tuple(shares))


def place_of_new(
    replay: ReplayState, table: Table, offer: RentalOffer, entries: Iterable[Task], number: int
) -> Place | None:
    """Return the place in rescues of a new VM that is given tasks now, in their order; None if one ends late there.

    That is the timetable which they will have: where memory binds, some wait for the memory of others.
    """
    column, binds = table.column[offer.index], table.binds[offer.index]
    timeline = VmTimeline(offer.vcpus, offer.memory_kb if binds else None, replay.now_s + replay.start_overhead_s)
    shares = [0] * offer.vcpus
    for entry in entries:
        duration_s, memory_kb = entry.row.durations_s[column], entry.row.memory_kb
        start_s = timeline.earliest_start_s(memory_kb, duration_s)
        if start_s is None or start_s + duration_s > replay.instance.deadline_s:
            return None
        core = timeline.append(start_s, memory_kb, duration_s)
        shares[core] = max(shares[core], memory_kb)
    return Place(number, column, offer.memory_kb if binds else -1, tuple(timeline.core_free_s), tuple(shares))


def place_without(replay: ReplayState, place: Place, vm: Vm, task: int) -> Place:
    """Return a place without a task, once what waits has moved up; only where memory never binds."""
    from_s = max(vm.uptime_s(replay.now_s), vm.first_start_s)
    free_s = [from_s if run is None or run.task == task else run.end_s for run in vm.running]
    for run, _ in vm.waiting_runs():
        if run.task != task:
            core = free_s.index(min(free_s))
            free_s[core] = max(free_s[core], from_s) + run.end_s - run.start_s
    return place._replace(free_s=tuple([vm.zero_s + core_s for core_s in free_s]))


@dataclass(slots=True)
class NewVm:
    """A VM that a rescue would request, and the tasks of its cores."""

    offer: RentalOffer
    cores: list[list[int]]


@dataclass(slots=True)
class Plan:
    """A rescue: tasks by cores of on-demand VMs that are there, and of new ones. Nothing of it is done yet."""

    cores: dict[Core, list[int]] = field(default_factory=dict)
    new: list[NewVm] = field(default_factory=list)
    latest_s: int = -1
    left_out: frozenset[int] = frozenset()

    def follow(self, replay: ReplayState, table: Table, by_task: dict[int, Task]) -> None:
        """Forget tasks that are finished, or on on-demand VMs; set when it must begin at the latest."""
        deadline_s = latest_s = replay.instance.deadline_s
        vms, columns = replay.vms, table.column
        for (number, _), entries in self.cores.items():
            if entries:
                work = _keep(entries, by_task, columns[vms[number].offer_index])
                if entries and deadline_s - work < latest_s:
                    latest_s = deadline_s - work
        for new in self.new:
            column, longest_s = columns[new.offer.index], -1
            for entries in new.cores:
                if entries:
                    work = _keep(entries, by_task, column)
                    if entries and work > longest_s:
                        longest_s = work
            if longest_s >= 0:
                latest_s = min(latest_s, deadline_s - longest_s - replay.start_overhead_s)
        self.new = [new for new in self.new if any(new.cores)]
        self.latest_s = latest_s

    def forget(self, task: int) -> None:
        """Forget a task."""
        for entries in self.cores.values():
            if task in entries:
                entries.remove(task)
        for new in self.new:
            for entries in new.cores:
                if task in entries:
                    entries.remove(task)

    def swap(self, vm: int, core: int, other: int) -> None:
        """Let two cores of a VM change places."""
        lists = self.cores
        here, there = lists.get((vm, core), []), lists.get((vm, other), [])
        lists[vm, core], lists[vm, other] = there, here

    def match(self, replay: ReplayState, table: Table, by_task: dict[int, Task]) -> None:
        """Give the most work of each VM to the core that is free first: what waits there may have moved up."""
        for number in {number for (number, _), entries in self.cores.items() if entries}:
            vm = replay.vms[number]
            if vm.memory_kb is None and vm.n_left:
                column = table.column[vm.offer_index]
                free_s = replay.timeline(vm).core_free_s
                lists = [self.cores.get((number, core), []) for core in range(vm.offer.vcpus)]
                lists.sort(key=lambda entries: -work_s(by_task, entries, column))
                for core, entries in zip(sorted(range(vm.offer.vcpus), key=free_s.__getitem__), lists, strict=True):
                    self.cores[number, core] = entries


def _keep(entries: list[int], by_task: dict[int, Task], column: int) -> int:
    """Leave those tasks only that are open; return their work on an on-demand type."""
    work, gone = 0, False
    for task in entries:
        entry = by_task.get(task)
        if entry is None:
            gone = True
        else:
            work += entry.row.durations_s[column]
    if gone:
        entries[:] = [task for task in entries if task in by_task]
    return work


def work_s(by_task: dict[int, Task], tasks: Iterable[int], column: int) -> int:
    """Work of tasks on an on-demand type."""
    total_s = 0
    for task in tasks:
        total_s += by_task[task].row.durations_s[column]
    return total_s


def core_latest_s(replay: ReplayState, by_task: dict[int, Task], tasks: Iterable[int], column: int) -> int:
    """When a core of an on-demand VM must begin with tasks at the latest."""
    return replay.instance.deadline_s - work_s(by_task, tasks, column)


def new_latest_s(replay: ReplayState, table: Table, by_task: dict[int, Task], new: NewVm) -> int:
    """When a new VM must be requested at the latest."""
    column = table.column[new.offer.index]
    longest_s = max([work_s(by_task, entries, column) for entries in new.cores])
    return replay.instance.deadline_s - longest_s - replay.start_overhead_s


class Packing:
    """A rescue as the search has found it.

    Attributes
    ----------
    latest_s : int
        When all of it may still begin; before now if there is none.
    due_s : int
        When the first VM or task of it must start.
    left_out : int
        Tasks that have no place in it.
    """

    __slots__ = ("_core_of", "_new", "_places", "_tasks", "due_s", "latest_s", "left_out")

    def __init__(
        self, tasks: Sequence[Task], places: Sequence[Place], found: tuple[int, int, int, IntArray, IntArray]
    ) -> None:
        self._tasks = tasks
        self._places = places
        self.latest_s, self.due_s, self.left_out, self._core_of, self._new = found

    def plan(self, table: Table) -> Plan:
        """Return what is to be kept of it."""
        plan = Plan(latest_s=self.due_s)
        lists: list[list[int]] = []
        for place in self._places:
            for core in range(len(place.free_s)):
                lists.append([])
                plan.cores[place.number, core] = lists[-1]
        for position in self._new.tolist():
            offer = table.new[position]
            plan.new.append(NewVm(offer, [[] for _ in range(offer.vcpus)]))
            lists += plan.new[-1].cores
        left_out = []
        for entry, core in zip(self._tasks, self._core_of.tolist(), strict=True):
            if core >= 0:
                lists[core].append(entry.task)
            else:
                left_out.append(entry.task)
        plan.left_out = frozenset(left_out)
        return plan


_NOTHING = np.empty(0, np.int64)


def pack(
    replay: ReplayState,
    table: Table,
    tasks: Sequence[Task],
    places: Sequence[Place],
    started: Sequence[RentalOffer] = (),
    window: tuple[int, int] | None = None,
) -> Packing:
    """Find a rescue that may begin as late as can be had.

    Parameters
    ----------
    replay, table
        The replay, and what never changes in it.
    tasks : sequence of Task
        What is to be rescued, longest first.
    places : sequence of Place
        VMs that are there.
    started : sequence of RentalOffer
        Offers of which a VM more is there than in the replay; they are among the places.
    window : tuple of int and int, optional
        The first and the last start to look at; from now to the deadline if absent.
    """
    from .on_time_kernel import latest_rescue

    now_s, deadline_s = replay.now_s, replay.instance.deadline_s
    if not tasks:
        return Packing(tasks, places, (deadline_s, deadline_s, 0, _NOTHING, _NOTHING))
    first_s, last_s = (now_s, deadline_s) if window is None else window
    vms = [(place.column, place.memory_kb, len(place.free_s)) for place in places]
    cores = [pair for place in places for pair in zip(place.free_s, place.share_kb, strict=True)]
    found = latest_rescue(
        *table.arrays(tasks),
        np.array(vms, np.int64).reshape(-1, 3),
        np.array(cores, np.int64).reshape(-1, 2),
        table.new_array,
        *_left(replay, table, len(tasks), started),
        first_s,
        last_s,
        replay.start_overhead_s,
        deadline_s,
    )
    return Packing(tasks, places, found)


def prices_from(
    replay: ReplayState, table: Table, tasks: Sequence[Task], starts_s: Sequence[int]
) -> list[float | None]:
    """Price of new VMs for tasks, longest first, requested at each of several moments; None if they do not suffice."""
    from .on_time_kernel import new_vms_from

    counts, offers, longest_s = new_vms_from(
        *table.arrays(tasks),
        table.new_array,
        *_left(replay, table, len(tasks), ()),
        np.array(starts_s, np.int64),
        replay.start_overhead_s,
        replay.instance.deadline_s,
    )
    before_s = replay.start_overhead_s - replay.instance.boot_overhead_s
    prices_usd = [replay.price_usd_per_s(offer) for offer in table.new]
    found: list[float | None] = []
    for count, positions, works_s in zip(counts.tolist(), offers.tolist(), longest_s.tolist(), strict=True):
        usd = 0.0
        for position, longest in zip(positions[: max(count, 0)], works_s[: max(count, 0)], strict=True):
            usd += replay.billing.billed_s(before_s + longest) * prices_usd[position]
        found.append(usd if count >= 0 else None)
    return found


def _left(replay: ReplayState, table: Table, n_tasks: int, started: Sequence[RentalOffer]) -> tuple[IntArray, int]:
    """How many more VMs of each on-demand offer there may be, and of all."""
    cap = replay.instance.limits.of("on-demand")
    rows = [replay.offers[offer.index] for offer in table.new]
    left = [
        offer.limit - row.rented - (sum(other is offer for other in started) if started else 0)
        for offer, row in zip(table.new, rows, strict=True)
    ]
    there = sum([replay.offers[index].rented for index in table.column]) + len(started)
    return np.array(left, np.int64), n_tasks if cap is None else cap - there
