"""Rescues: where tasks that were lost are done, made by list scheduling in plain Python.

Every rescue is a schedule, so that what is found is shown; that none is found shows nothing.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..facts import Share
from .survival_losses import NEVER_S, AvailableVms, Lost, OwnVm, RescueType

_TASKS_LOOKED_AT = 16
_VMS_LOOKED_AT = 8
"""Tasks, or VMs, that are looked at for one whose memory suffices, before that is given up."""
_ENOUGH = Share(2**62, 2**62)


@dataclass(slots=True)
class TakeoverVm:
    """A VM that takes over: its cores, and what has been put on them, in the order of the starts.

    Attributes
    ----------
    type : int
        Among the rescue types.
    own : OwnVm, optional
        The VM of the plan that it is; absent if it is new.
    free : list of (int, int)
        A heap: when each core is free, and the core.
    room_left, may_bind : Share and bool
        Memory that is free after the last start, and whether it is looked at.
    end_s, last_start_s : int
        End of the last task, and the last start of one.
    running : list of (int, int, Share)
        A heap: ends and needs of those that run then, and their numbers.
    tasks : list of (int, int, int, int)
        Index of a task among those lost, core, start and end.
    """

    type: int
    own: OwnVm | None
    free: list[tuple[int, int]]
    room_left: Share
    may_bind: bool
    end_s: int = 0
    last_start_s: int = 0
    running: list[tuple[int, int, Share]] = field(default_factory=list)
    tasks: list[tuple[int, int, int, int]] = field(default_factory=list)

    def room(self) -> tuple[int, Share]:
        """Earliest start of another task, not before the last one, and the free memory from then on."""
        at_s = self.free[0][0]
        if not self.may_bind:
            return at_s, _ENOUGH
        at_s = max(at_s, self.last_start_s)
        running = self.running
        while running and running[0][0] <= at_s:
            self.room_left += heapq.heappop(running)[2]
        return at_s, self.room_left

    def start_s(self, need: Share) -> int:
        """Earliest start of a task that is not before another's: then no later moment needs more memory than that."""
        at_s, room_left = self.room()
        if not need.within(room_left):
            for end_s, _, used in sorted(self.running):
                at_s, room_left = end_s, room_left + used
                if need.within(room_left):
                    break
        return at_s

    def take(self, number: int, start_s: int, end_s: int, need: Share) -> None:
        """Put a task on the core that is free first."""
        core = self.free[0][1]
        heapq.heapreplace(self.free, (end_s, core))
        self.last_start_s = start_s
        self.end_s = max(self.end_s, end_s)
        if self.may_bind:
            heapq.heappush(self.running, (end_s, number, need))
            self.room_left -= need
        self.tasks.append((number, core, start_s, end_s))


def _place(types: Sequence[RescueType], kind: int, own: OwnVm | None, at_s: int) -> TakeoverVm:
    """Make a VM without tasks; a new one is requested at a moment."""
    found = types[kind]
    new_from_s = [at_s + found.takeover_s] * found.slots
    free = sorted((from_s, core) for core, from_s in enumerate(own.slot_from_s if own else new_from_s))
    return TakeoverVm(kind, own, free, found.size, found.may_bind)


def earliest_ends(lost: Lost, types: Sequence[RescueType], fleet: AvailableVms, by_s: int) -> list[TakeoverVm] | None:
    """Put each task where it ends first, those first of which most is left; None if one ends late."""
    heaps: list[list[tuple[int, int, TakeoverVm]]] = [[] for _ in types]
    opened: list[TakeoverVm] = []

    def add(place: TakeoverVm) -> None:
        heapq.heappush(heaps[place.type], (place.free[0][0], len(opened), place))
        opened.append(place)

    for own in fleet.own:
        add(_place(types, own.type, own, fleet.at_s))
    rented, kinds = Counter[int](), range(len(types))
    may_open = [fleet.may_be_had({kind: 1}) for kind in kinds]
    # Greedy: a rescue that is found proves survival, and one that is missed proves nothing. So speed matters more.
    for number, (left_s, need) in enumerate(zip(lost.left_s, lost.needs, strict=True)):
        best_end, best_kind, best = by_s - lost.early_s[number] + 1, -1, 0
        for kind in kinds:
            seconds = left_s[kind]
            if seconds >= NEVER_S:
                continue
            at, start_s = 0, fleet.at_s + types[kind].takeover_s
            # A new VM of the type starts no later than any that is in use, as long as one can be rented.
            if may_open[kind]:
                at = -1
            elif not heaps[kind]:
                continue
            elif types[kind].may_bind:
                at, start_s = _roomiest(heaps[kind], need)
            else:
                start_s = heaps[kind][0][0]
            if lost.end_s(number, kind, start_s) < best_end:
                best_end, best_kind, best = lost.end_s(number, kind, start_s), kind, at
        if best_kind < 0:
            return None
        if best < 0:
            rented[best_kind] += 1
            may_open = [fleet.may_be_had(rented + Counter({kind: 1})) for kind in kinds]
            place = _place(types, best_kind, None, fleet.at_s)
            place.take(number, best_end - left_s[best_kind], best_end, need)
            add(place)
            continue
        heap = heaps[best_kind]
        _, order, place = heap[best]
        place.take(number, best_end - left_s[best_kind], best_end, need)
        # The VM at the top, the usual case, is put in its new place at once; else the whole heap is made anew.
        if best == 0:
            heapq.heapreplace(heap, (place.free[0][0], order, place))
        else:
            heap[best] = (place.free[0][0], order, place)
            heapq.heapify(heap)
    return [place for place in opened if place.tasks]


def _roomiest(heap: list[tuple[int, int, TakeoverVm]], need: Share) -> tuple[int, int]:
    """Position in a heap of the VM that can start a task first, among those whose cores are free first."""
    best, best_s = 0, heap[0][2].start_s(need)
    if best_s > heap[0][0]:
        order = heapq.nsmallest(_VMS_LOOKED_AT, range(len(heap)), key=heap.__getitem__)
        for at in order[1:]:
            if heap[at][0] >= best_s:
                break
            start_s = heap[at][2].start_s(need)
            if start_s < best_s:
                best, best_s = at, start_s
    return best, best_s


def filled(
    lost: Lost, types: Sequence[RescueType], fleet: AvailableVms, by_s: int, order: Sequence[int], own_first: bool
) -> list[TakeoverVm] | None:
    """Fill VMs with lost tasks up to the deadline, one after the other, the longest first; None if a task finds no VM.

    Parameters
    ----------
    lost : Lost
        The tasks.
    types, fleet : sequence of RescueType and AvailableVms
        VM types for the rescue, and the VMs of them that can be used.
    by_s : int
        When all must end.
    order : sequence of int
        Types of new VMs in the order in which they are rented.
    own_first : bool
        Whether VMs of the plan come before new ones, or after them.
    """
    waiting = _Waiting(lost, len(types))
    opened = []
    for place in _places(types, fleet, order, own_first):
        if not waiting.n:
            break
        if not waiting.fill(place, by_s):
            continue
        opened.append(place)
    return None if waiting.n else opened


def _places(
    types: Sequence[RescueType], fleet: AvailableVms, order: Sequence[int], own_first: bool
) -> Iterator[TakeoverVm]:
    """Yield empty VMs, each to be filled before the next one is asked for.

    A new VM counts as rented if it has got tasks. If it has got none, no waiting task can end in time on one of its
    type, and the next type is tried.
    """
    if own_first:
        yield from (_place(types, own.type, own, fleet.at_s) for own in fleet.own)
    rented: Counter[int] = Counter()
    for kind in order:
        while fleet.may_be_had(rented + Counter({kind: 1})):
            place = _place(types, kind, None, fleet.at_s)
            yield place
            if not place.tasks:
                break
            rented[kind] += 1
    if not own_first:
        yield from (_place(types, own.type, own, fleet.at_s) for own in fleet.own)


class _Waiting:
    """Queue of the unplaced tasks, for each type in descending order of the time left there."""

    def __init__(self, lost: Lost, n_types: int) -> None:
        self.lost = lost
        self.n = len(lost.rows)
        self.taken = bytearray(self.n)
        self.lists: list[tuple[list[int], list[int], list[int]] | None] = [None] * n_types

    def _list(self, kind: int) -> tuple[list[int], list[int], list[int]]:
        """Tasks, what is left of them as negative numbers, and for those that are taken a position to go on from."""
        found = self.lists[kind]
        if found is None:
            left_s, early_s, taken = self.lost.left_s, self.lost.early_s, self.taken
            able = [number for number, row in enumerate(left_s) if row[kind] < NEVER_S and not taken[number]]
            able.sort(key=lambda number: -left_s[number][kind] - early_s[number])
            negative_s = [-left_s[number][kind] - early_s[number] for number in able]
            found = able, negative_s, list(range(1, len(able) + 1))
            self.lists[kind] = found
        return found

    def _from(self, kind: int, at: int) -> int:
        """First position from one on whose task waits."""
        tasks, _, skip = self._list(kind)
        taken, end = self.taken, len(tasks)
        while at < end and taken[tasks[at]]:
            beyond = skip[at]
            if beyond < end and taken[tasks[beyond]]:
                skip[at] = beyond = skip[beyond]
            at = beyond
        return at

    def fill(self, place: TakeoverVm, by_s: int) -> bool:
        """Put on a VM what ends in time; whether that is anything."""
        tasks, negative_s, _ = self._list(place.type)
        needs, before = self.lost.needs, self.n
        while self.n:
            start_s, room_left = place.room()
            at = self._from(place.type, bisect_left(negative_s, start_s - by_s)) if start_s < by_s else len(tasks)
            first = chosen = at
            for _ in range(_TASKS_LOOKED_AT):
                if chosen == len(tasks):
                    break
                task = tasks[chosen]
                in_time = self.lost.end_s(task, place.type, start_s) + self.lost.early_s[task] <= by_s
                if in_time and needs[task].within(room_left):
                    break
                chosen = self._from(place.type, chosen + 1)
            else:
                chosen = len(tasks)
            if chosen == len(tasks) and first < chosen:  # none may start at once: the first of them, later
                chosen, start_s = first, place.start_s(needs[tasks[first]])
            if chosen == len(tasks):
                break
            task = tasks[chosen]
            end_s = self.lost.end_s(task, place.type, start_s)
            if end_s + self.lost.early_s[task] > by_s:
                break  # on a core that is free later, no more would end in time
            place.take(task, end_s - self.lost.left_s[task][place.type], end_s, needs[task])
            self.taken[task] = 1
            self.n -= 1
        return self.n < before
