"""Rescues: where tasks that were lost are done, made by list scheduling in plain Python, or by twins.

Every rescue is a schedule, so that what is found is shown; that none is found shows nothing.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ...core.quantities import IntArray
from ..bill import bill_usd
from ..facts import Share
from .survival_losses import NEVER_S, AvailableVms, Losses, Lost, OwnVm, RescueType

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


class Twins:
    """Twins of the spot VMs of a plan.

    A task that runs when its VM goes down has a *loss*: what is left of it, less what it would still have taken. All
    that comes after it on its core is late by the overhead and that loss, or by less; where memory may bind, all that
    comes after it on the VM.
    """

    def __init__(self, losses: Losses) -> None:
        self.losses = losses
        self._longest_s: dict[tuple[int, str, int, int], int] = {}

    def kind(self, vm: int) -> int:
        """Number of the rescue type of the twin of a VM."""
        return self.losses.type_number[self.losses.plan.vms[vm].type]

    def _type(self, vm: int) -> RescueType:
        """Type of the twin of a VM."""
        return self.losses.types[self.kind(vm)]

    def _loss_s(self, row: int, at_s: int) -> int:
        left_s = self.losses.left_s(row, at_s)[self.losses.type_number[self.losses.type_of(row)]]
        return max(left_s - (int(self.losses.plan.task_end_s[row]) - at_s), 0)

    def _moments_s(self, row: int) -> list[int]:
        """Seconds before a task or one of its checkpoints ends: the loss is largest at one of them."""
        start_s, end_s = int(self.losses.plan.task_start_s[row]), int(self.losses.plan.task_end_s[row])
        marks_s = [start_s + mark_s for mark_s in self.losses.marks_s(row) if 0 < start_s + mark_s < end_s]
        return [*(mark_s - 1 for mark_s in marks_s), end_s - 1]

    def _longest_loss_s(self, row: int) -> int:
        """Longest loss of a task, whenever its VM goes down."""
        losses, plan = self.losses, self.losses.plan
        seconds = int(plan.task_end_s[row] - plan.task_start_s[row])
        key = int(losses.entry[row]), losses.type_of(row), int(plan.task_mode[row]), seconds
        if key not in self._longest_s:
            moments_s = self._moments_s(row)[-self._late_moments(row) :]
            self._longest_s[key] = max(self._loss_s(row, at_s) for at_s in moments_s)
        return self._longest_s[key]

    def _late_moments(self, row: int) -> int:
        """Number of checkpoints at the end of a task one of which has the longest loss.

        From one checkpoint to the next, the loss grows by what passes less what is saved, but that both are rounded up:
        so an earlier one is longer by less than two seconds. If both are whole and equal, all are the same.
        """
        grows_s, whole = self.losses.growth_of_loss_s(row)
        if grows_s > 0:
            return int(2 / grows_s) + 3
        return 2 if whole and not grows_s else len(self.losses.marks_s(row)) + 1

    def _last_ends_s(self, rows: IntArray) -> IntArray:
        """End of what a loss makes late, for rows that are all tasks of some VMs."""
        plan, losses = self.losses.plan, self.losses
        cores: dict[tuple[int, int], int] = {}
        places = list(zip(plan.task_vm[rows].tolist(), plan.task_core[rows].tolist(), strict=True))
        for place, end_s in zip(places, plan.task_end_s[rows].tolist(), strict=True):
            cores[place] = max(cores.get(place, 0), end_s)
        # The twin runs the tasks of a first core one after the other in a slot. So a loss makes late only what follows
        # on that core, unless memory or cores may bind, or slots are fewer than first cores: then, all of the VM.
        used = Counter(vm for vm, _ in cores)
        types = {vm: self._type(vm) for vm in used}
        waits = {vm for vm, found in types.items() if found.may_bind or used[vm] > found.slots}
        return np.array([int(losses.vm_end_s[vm]) if vm in waits else cores[vm, core] for vm, core in places])

    def lack(self) -> str | None:
        """Reason against the twin rule, for spot VMs that go down one by one at any moments; None if it holds."""
        losses = self.losses
        if losses.dated and losses.spot_types:
            return "tasks have dates, which twins do not know"
        counts = Counter(losses.plan.vms[number].type for number in np.flatnonzero(losses.vm_end_s > 0).tolist())
        for name in losses.spot_types:
            kind = losses.type_number.get(name)
            if kind is None:
                return f"spot VMs of {name} have no twins: the type is burstable, or not offered on demand"
            if counts[name] > losses.types[kind].limit:
                limit = losses.types[kind].limit
                return f"{counts[name]} VMs of {name} would be needed on demand at once, and the limit is {limit}"
        for quota in losses.quotas if losses.spot_types else ():
            needed = losses.on_demand_weight(quota, counts)
            if needed > quota.most:
                return f"{needed} {quota.unit} would be needed on demand at once, and the limit is {quota.most}"
        rows = losses.rows_of(losses.spot_types)
        for row in rows[losses.stays[rows]].tolist():
            return f"task {losses.plan.task_ids[row]!r} may not be on demand (markets), where its twin would be"
        for row, last_s in zip(rows.tolist(), self._last_ends_s(rows).tolist(), strict=True):
            takeover_s = self._type(int(losses.plan.task_vm[row])).takeover_s
            late = last_s + self._longest_loss_s(row) + takeover_s - losses.instance.deadline_s
            if late > 0:
                name = losses.plan.task_ids[row]
                return f"if its VM goes down while task {name!r} runs, a twin of the VM may end {late:,} s late"
        return None

    def worst_usd(self) -> Fraction:
        """Highest cost of spot VMs and twins where the twin rule holds."""
        losses = self.losses
        worst_s: dict[int, tuple[int, int, int]] = {}  # first and last moment of each VM, and its longest loss
        for row in losses.rows_of(losses.spot_types).tolist():
            vm, moments_s = int(losses.plan.task_vm[row]), self._moments_s(row)
            first, last, longest = worst_s.get(vm, (moments_s[0], moments_s[-1], 0))
            worst_s[vm] = min(first, moments_s[0]), max(last, moments_s[-1]), max(longest, self._longest_loss_s(row))
        total, by_the_second = Fraction(0), losses.rules._replace(block_s=1)
        for vm, (first, last, loss_s) in worst_s.items():
            spot = losses.sessions[vm]._replace(rules=by_the_second)
            kind = self.kind(vm)
            end_s = losses.types[kind].takeover_s + int(losses.vm_end_s[vm]) + loss_s
            # Between the first moment and the last one, a bill by the second is at most a convex function of the
            # moment; blocks are paid to their ends.
            bills = []
            for at_s in (first, min(max(spot.from_s, first), last), last):
                twin = losses.rented(kind, at_s)._replace(rules=by_the_second)
                bills.append(spot.usd(at_s) + twin.usd(end_s))
            blocks_usd = (losses.rules.block_s - 1) * (spot.usd_per_s + losses.types[kind].usd_per_s)
            total += max(max(bills) + blocks_usd, losses.vm_usd(vm))
        return total

    def usd_at(self, types: Collection[str], fleet: AvailableVms) -> Fraction | None:
        """Bill of twins if all spot VMs of some types go down at once; None if they end late, or beyond the limits."""
        losses, at_s, plan = self.losses, fleet.at_s, self.losses.plan
        if losses.dated or any(name not in losses.type_number for name in types):
            return None
        rows = losses.rows_of(types)
        ends_s: dict[int, int] = {}
        for row, last_s in zip(rows.tolist(), self._last_ends_s(rows).tolist(), strict=True):
            if int(plan.task_end_s[row]) <= at_s:
                continue
            if losses.stays[row]:
                return None
            vm = int(plan.task_vm[row])
            loss_s = self._loss_s(row, at_s) if int(plan.task_start_s[row]) <= at_s else 0
            end_s = max(int(losses.vm_end_s[vm]), last_s + loss_s) + self._type(vm).takeover_s
            ends_s[vm] = max(ends_s.get(vm, 0), end_s)
        counts = Counter(map(self.kind, ends_s))
        if not fleet.may_be_had(counts) or max(ends_s.values()) > losses.instance.deadline_s:
            return None
        return bill_usd((losses.rented(self.kind(vm), at_s), end_s) for vm, end_s in ends_s.items())
