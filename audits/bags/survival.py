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
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from ...core.limits import sign_of_life
from ...core.quantities import SECONDS_PER_HOUR, IntArray
from ...instances.entries import SurvivalLevel
from ...instances.instance import Instance
from ...schedules.documents import ScheduleColumns, Survival
from ..facts import Share
from .survival_losses import NEVER_S, AvailableVms, Losses, Lost, RescueType
from .survival_rescues import TakeoverVm, Twins, earliest_ends, filled

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
