"""The independent judge of survival: whether what a plan loses on spot VMs can be done on demand by the deadline.

It judges anybody's plan, by arithmetic and schedules of its own, and shares no code with what makes plans or
certificates. At a moment t, after whatever ends or starts then, all spot VMs of some types go down for good. Lost is
each of their tasks that ends after t; of one that runs, what its checkpoints have not saved is left. It may be done

- on new VMs on demand, not burstable, within the limits, less the plan's own that end after t;
- on the plan's own VMs on demand that end after t and are not burstable: on each core from its last end in the plan
  on, or from the VM's where memory may bind. A machine that takes no more tasks is none of them, but counts;

from an overhead after t on, the longer of migration and boot with the setup of the VM's type, in seconds rounded up. A
plan survives a level if that ends by the deadline for each t and each set of types that the level names: each type, or
any types together.

Any types together
------------------
A rescue of all types is one of any of them, if only their tasks are done: what is left out frees cores and memory. The
bill is that of the VMs that have some of these tasks, each to the last of them, and of the spot VMs of all other types
as planned. The highest over all sets of types counts; of many types, it is bounded by all of the rescue and the one
type whose loss saves least.

Which moments suffice
---------------------
Those a second before a task of these types ends, and before one of its checkpoints is there. Between two of them,
what is lost stays the same, and a rescue at the later one serves the earlier one: wait, then carry it out. The bill is
no higher, since no spot VM is paid for longer. Nor does waiting lack a VM: one that the plan returns meanwhile may be
rented anew.

By the same argument a rescue serves all moments of a *block*: what is lost at its first is done by the VMs that
are available at its last, where each spot VM is paid until the last. At moments in between, less is lost. The judge
begins with one block of all moments, and halves those for which it finds no rescue; then that with the highest bill,
again and again, until it is a single moment or enough has been tried. The highest bill is a bound of every bill with a
rescue.

Rescues
-------
Are made by list scheduling in plain Python, or by twins, and every one is a schedule: so what is found is shown; that
none is found shows nothing.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

import numpy as np

from ...core.limits import sign_of_life
from ...core.quantities import SECONDS_PER_HOUR, IntArray
from ...instances.entries import SurvivalLevel
from ...instances.instance import Instance
from ...schedules.documents import ScheduleColumns, Survival
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


# --------------------------------------------------------------- the judge

_MOST_TO_FIND = 2_000_000
_MOST_TO_IMPROVE = 120_000
"""Tasks that are placed, over all rescues, before no more are tried: to find some, and to lower the worst bill."""
_MOST_WHOLE_PLANS = 20
"""The latter, if the plan is so large that this many times all its tasks are more."""
_WEIGHT_OF_MEMORY = 4
"""Factor by which a task counts more where memory may bind."""
_DUAL_FUNCTIONS = 29
_MOST_TYPES = 6
"""Types of which all sets are looked at, 63 at most; for more, their bill is bounded, here as in the certificates."""


class Judge:
    """Judges a plan at several levels.

    Parameters
    ----------
    instance : Instance
        What is planned.
    plan : ScheduleColumns
        A feasible plan for it, whatever its D_spot.
    """

    def __init__(self, instance: Instance, plan: ScheduleColumns) -> None:
        self.losses = Losses(instance, plan)
        self._found: dict[tuple[str, ...], Survival] = {}

    def judge(self, level: SurvivalLevel) -> Survival:
        """Judge a level: if the plan survives it, and at most for how much.

        Parameters
        ----------
        level : {"one-type", "one-pool", "blackout", "each"}
            What goes down.

        Returns
        -------
        Survival
            The verdict. If the plan survives, the highest bill with the rescues that were found, and at
            ``one-type`` and ``one-pool`` also if any go down at once; no less than on a day on which nothing is lost.
            If not, ``worst_at_s`` and ``worst_types`` are a moment that is beyond rescue, or one for which none was
            found, and ``reason`` says why. It holds no rescue.
        """
        everything = self.losses.spot_types
        if level == "blackout":
            return self._together(everything)
        if level == "each":
            return self._each()
        found = [self._together(group) for group in self.losses.groups(level)]
        for verdict in ("does-not-survive", "not-shown"):
            for one in found:
                if one.verdict == verdict:
                    return one.model_copy(update={"level": level})
        blackout = self._together(everything)
        worst = max(found, key=lambda one: one.worst_cost_usd or 0.0, default=blackout)
        return worst.model_copy(update={"level": level, "blackout_cost_usd": blackout.worst_cost_usd})

    def rescues(self, types: tuple[str, ...], at_s: int) -> bool:
        """True if a rescue is found that begins when the spot VMs of some types go down."""
        return _Blocks(self.losses, types).usd(at_s, at_s) is not None

    def _together(self, types: tuple[str, ...]) -> Survival:
        """Judge the survival of a loss of all spot VMs of some types at once."""
        if types not in self._found:
            self._found[types] = _Blocks(self.losses, types).survival()
        return self._found[types]

    def _each(self) -> Survival:
        """Judge by twins: what each spot VM loses, on a VM of its type on demand, in the order of the plan.

        On each core, that begins an overhead after the loss, and takes longer than it would have by no more than the
        longest loss of a task there.
        """
        twins = Twins(self.losses)
        reason = twins.lack()
        if reason is None:
            usd = float(self.losses.paid_usd(self.losses.spot_types, -1) + twins.worst_usd())
            return Survival(level="each", verdict="survives", worst_cost_usd=usd)
        for one in (self.judge("one-type"), self.judge("blackout")):
            if one.verdict == "does-not-survive":
                return one.model_copy(update={"level": "each"})
        return Survival(level="each", verdict="not-shown", reason=reason)


class _Blocks:
    """Blocks of moments at which all spot VMs of some types go down."""

    def __init__(self, losses: Losses, types: tuple[str, ...]) -> None:
        self.losses, self.types = losses, types
        self.moments_s: IntArray = losses.moments_s(types)
        self.placed = 0

    def survival(self) -> Survival:
        """Judge the loss at every moment."""
        planned_usd = self.losses.paid_usd()
        if not len(self.moments_s):
            return Survival(level="blackout", verdict="survives", worst_cost_usd=float(planned_usd))
        found: list[tuple[Fraction, int, int]] = []
        # One rescue may do for a whole block: begun at the last moment with all that is lost at the first.
        waiting, lacking = [(0, len(self.moments_s) - 1)], -1
        while waiting:
            first, last = waiting.pop()
            usd = self._worst_usd(first, last) if self.placed <= _MOST_TO_FIND else None
            if usd is not None:
                found.append((-usd, first, last))
            elif first < last and self.placed <= _MOST_TO_FIND:
                middle = (first + last) // 2
                waiting += [(middle + 1, last), (first, middle)]
            else:
                at_s = int(self.moments_s[last])
                # Only a bound can tell "does not survive"; without one, the search for rescues was too weak.
                reason = beyond_rescue(self.losses, self.types, at_s, self.losses.instance.deadline_s)
                if reason is not None:
                    return self._failed("does-not-survive", at_s, reason)
                lacking = at_s
        if lacking >= 0:
            return self._failed("not-shown", lacking, "no rescue was found, and no bound shows that there is none")
        # The dearest block is halved again and again: smaller blocks lose less and begin earlier, so their bills fall.
        heapq.heapify(found)
        enough = self.placed + max(_MOST_TO_IMPROVE, _MOST_WHOLE_PLANS * len(self.losses.rows_of(self.types)))
        while self.placed < enough and found[0][1] < found[0][2]:
            usd, first, last = heapq.heappop(found)
            middle = (first + last) // 2
            for part in ((first, middle), (middle + 1, last)):
                better = self._worst_usd(*part)
                heapq.heappush(found, (usd if better is None else max(usd, -better), *part))
        usd, _, last = found[0]
        return Survival(
            level="blackout",
            verdict="survives",
            worst_cost_usd=float(max(-usd, planned_usd)),  # the latter on the day on which nothing is lost
            worst_at_s=int(self.moments_s[last]) if -usd > planned_usd else None,
            worst_types=self.types,
        )

    def _failed(self, verdict: str, at_s: int, reason: str) -> Survival:
        fields = {"level": "blackout", "verdict": verdict, "worst_at_s": at_s, "worst_types": self.types}
        return Survival(**fields, reason=reason)  # type: ignore[arg-type]

    def _worst_usd(self, first: int, last: int) -> Fraction | None:
        """Bill of the cheapest rescue that is found for a block; None without any."""
        return self.usd(int(self.moments_s[first]), int(self.moments_s[last]))

    def usd(self, from_s: int, at_s: int) -> Fraction | None:
        """Bill if what is lost at a moment is rescued from another one on; None if no rescue is found.

        It is the highest over all sets of the types.
        """
        sign_of_life()
        losses = self.losses
        lost, fleet = losses.lost(self.types, from_s), losses.fleet(at_s)
        usd = [self._highest_usd(lost, places, at_s) for places in self._rescues(lost, fleet)]
        # Twins are a way out at single moments only: their argument is about what runs at that moment.
        if not usd and from_s == at_s:
            by_twins = Twins(losses).usd_at(self.types, fleet)
            usd = [] if by_twins is None else [by_twins + self._least_saved_usd(at_s)]
        return min(usd, default=None)

    def _least_saved_usd(self, at_s: int) -> Fraction:
        """Bill of the plan's VMs if the type goes down whose loss saves least: no less for any set of types."""
        return max(self.losses.paid_usd((name,), at_s) for name in self.types)

    def _highest_usd(self, lost: Lost, places: list[TakeoverVm], at_s: int) -> Fraction:
        """Highest bill, over all sets of the types, if of a rescue only what they lose is done."""
        losses = self.losses
        # There are 2^n sets of types: of many types, a bound that is no less for any set must do.
        if len(self.types) > _MOST_TYPES:
            return self._least_saved_usd(at_s) + _rescue_usd(losses, places, at_s)
        types = [losses.type_of(row) for row in lost.rows]
        bills = []
        for size in range(1, len(self.types) + 1):
            for down in combinations(self.types, size):
                done = [name in down for name in types]
                bills.append(losses.paid_usd(down, at_s) + _rescue_usd(losses, places, at_s, done))
        return max(bills)

    def _rescues(self, lost: Lost, fleet: AvailableVms) -> list[list[TakeoverVm]]:
        """Find rescues that end by the deadline."""
        types, by_s = self.losses.types, self.losses.instance.deadline_s
        if _task_without_place(lost, _from_s(fleet, types), by_s) >= 0:
            return []
        self.placed += len(lost.rows) * (_WEIGHT_OF_MEMORY if any(found.may_bind for found in types) else 1)
        left_s = np.array(lost.left_s, dtype=float)
        # A type is worth its price only by its speed for these tasks.
        slowness = (left_s / left_s.min(axis=1)[:, None]).mean(axis=0)
        cheapest = sorted(
            range(len(types)), key=lambda kind: types[kind].usd_per_s / types[kind].slots * slowness[kind]
        )
        strongest = sorted(range(len(types)), key=lambda kind: -types[kind].slots / slowness[kind])
        orders = [(cheapest, True), (strongest, True), *([(cheapest, False)] if fleet.own else [])]
        # Filled VMs are few and cheap; tasks where they end first meet more deadlines. The latter costs more time.
        tried = [filled(lost, types, fleet, by_s, order, own_first) for order, own_first in orders]
        found = [places for places in tried if places is not None]
        if not found:
            spread = earliest_ends(lost, types, fleet, by_s)
            return [] if spread is None else [spread]
        # The same VMs, with each task where it ends first: then the last ends are closer together.
        best = min(found, key=lambda places: _rescue_usd(self.losses, places, fleet.at_s))
        own = tuple(place.own for place in best if place.own is not None)
        new = Counter(place.type for place in best if place.own is None)
        counts = tuple(new[kind] for kind in range(len(types)))
        evened = earliest_ends(lost, types, AvailableVms(fleet.at_s, own, counts, ()), by_s)
        return [best] if evened is None else [best, evened]


def _rescue_usd(losses: Losses, vms: Iterable[TakeoverVm], at_s: int, done: Sequence[bool] | None = None) -> Fraction:
    """Bill of a rescue: new VMs from the end of their boot, VMs of the plan from their end in the plan.

    ``done`` says which of the tasks that are lost are done; all if absent.
    """
    usd = Fraction(0)
    for vm in vms:
        end_s = max((end_s for number, _, _, end_s in vm.tasks if done is None or done[number]), default=0)
        if vm.own is not None:
            usd += losses.after_plan(vm.own.number).usd(end_s)
        elif end_s:
            usd += losses.rented(vm.type, at_s).usd(end_s)
    return usd


def beyond_rescue(losses: Losses, types: tuple[str, ...], at_s: int, by_s: int) -> str | None:
    """Message of a bound that rules out a rescue by a time if spot VMs of some types go down; None if none does."""
    lost, fleet = losses.lost(types, at_s), losses.fleet(at_s)
    from_s = _from_s(fleet, losses.types)
    number = _task_without_place(lost, from_s, by_s)
    if number >= 0:
        name = losses.plan.task_ids[lost.rows[number]]
        can = [kind for kind in from_s if lost.left_s[number][kind] < NEVER_S]
        if losses.stays[lost.rows[number]]:
            return f"task {name!r} may not be on demand (markets)"
        if not can:
            return f"task {name!r} fits no VM that may be had on demand then"
        takeover_s, left_s = min(
            ((losses.types[kind].takeover_s, lost.left_s[number][kind]) for kind in can), key=lambda both: sum(both)
        )
        remain_s = by_s - lost.early_s[number] - max(at_s + takeover_s, lost.release_s[number])
        remains = f"{remain_s:,} s remain" if remain_s > 0 else "no time remains"
        return f"task {name!r} has at least {left_s:,} s left, and {remains} for it"
    window_s = by_s - at_s - min(losses.types[kind].takeover_s for kind in from_s)
    least_s = np.array(lost.left_s, dtype=np.int64)[:, list(from_s)].min(axis=1)
    own_s = np.array([max(by_s - slot_s, 0) for own in fleet.own for slot_s in own.slot_from_s], dtype=np.int64)
    n_new = fleet.most([found.slots for found in losses.types])
    room_s, work_s = n_new * window_s + int(own_s.sum()), int(least_s.sum())
    if work_s > room_s:
        return f"what is lost needs at least {work_s:,} core-seconds, and {room_s:,} can be had"
    reason = _beyond_memory(losses, lost, fleet, least_s, by_s, window_s)
    if reason is not None:
        return reason
    # Dual-feasible functions u_k of Fekete and Schepers: what fits together into 1 has at most u_k(1) = 1 together.
    for k in range(1, _DUAL_FUNCTIONS + 1):

        def scaled(seconds: IntArray, k: int = k) -> int:
            grown = (k + 1) * seconds
            return int(np.where(grown % window_s == 0, k * seconds, grown // window_s * window_s).sum())

        if scaled(least_s) > n_new * k * window_s + scaled(own_s):
            cores = n_new + len(own_s)
            return f"{len(lost.rows)} tasks are lost that do not fit on {cores} cores in the {window_s:,} s that remain"
    return None


def _beyond_memory(
    losses: Losses, lost: Lost, fleet: AvailableVms, least_s: IntArray, by_s: int, window_s: int
) -> str | None:
    """Message for lost tasks that need more memory-seconds than are available; None if there are enough."""
    types = losses.types

    def needed_and_room(share: Callable[[Share], int]) -> tuple[int, int]:
        room = sum(share(types[own.type].size) * max(by_s - min(own.slot_from_s), 0) for own in fleet.own)
        room += fleet.most([share(found.size) for found in types]) * window_s
        needs = zip(lost.needs, least_s.tolist(), strict=True)
        return sum(share(need) * seconds for need, seconds in needs), room

    needed, room = needed_and_room(lambda share: share.slots)
    if needed > room:
        return f"what is lost needs at least {needed:,} seconds of slots, and {room:,} can be had"
    needed, room = needed_and_room(lambda share: share.kb)
    if needed <= room:
        return None
    needed_gb_h, room_gb_h = needed / 1024**2 / SECONDS_PER_HOUR, room / 1024**2 / SECONDS_PER_HOUR
    return f"what is lost needs at least {needed_gb_h:,.1f} GB of memory for an hour, and {room_gb_h:,.1f} can be had"


def _from_s(fleet: AvailableVms, types: Sequence[RescueType]) -> dict[int, int]:
    """Time from which a core of each type can be used, for the types of which there can be one."""
    found = {kind: fleet.at_s + one.takeover_s for kind, one in enumerate(types) if fleet.may_be_had({kind: 1})}
    for own in fleet.own:
        found[own.type] = min(found.get(own.type, min(own.slot_from_s)), *own.slot_from_s)
    return found


def _task_without_place(lost: Lost, from_s: Mapping[int, int], by_s: int) -> int:
    """Number of a lost task that ends late wherever it is alone; -1 without any. See `_from_s`."""
    if not from_s:
        return 0
    left_s = np.array(lost.left_s, dtype=np.int64)[:, list(from_s)]
    start_s = np.maximum(np.array(list(from_s.values())), np.array(lost.release_s, dtype=np.int64)[:, None])
    late = np.flatnonzero((start_s + left_s + np.array(lost.early_s, dtype=np.int64)[:, None] > by_s).all(axis=1))
    return int(late[0]) if len(late) else -1
