"""Survival: what a plan loses if spot VMs go down for good, and how the rest is done on demand by the deadline."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import combinations
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...core.bill import begun_s
from ...core.limits import LimitReached, checkpoint, overtime, within
from ...core.quantities import MAX_SECONDS, NONE, BoolArray, IntArray
from ...core.rows import dtype_of
from ...instances.entries import SURVIVAL_LEVELS, RentalOffer, SurvivalLevel
from ...schedules import documents
from ...schedules.documents import NO_TIME_TO_LOOK, Survival
from ...schedules.documents import SurvivalVerdict as Verdict
from ...schedules.method import LARGE_TASKS
from ...schedules.schedule import Schedule
from .core_loads import MOST_PLACES
from .rescue_questions import Lost, Packing, Questions, Twins, arrays_of, ints, loss_of, obstacle
from .rescue_rules import DONE, FAILED, MOST_TYPES, PackedVmRow, PlaceRow

_REFINING = 10_000_000
"""Places that are looked at before the worst case may be left as an upper bound that no moment reaches."""
_MOST_MOMENTS = 5_000
"""Seconds that serve those before them, in a survey, and seconds of which the rescue is refined."""
_MOST_FAILURES = 8


@dataclass(frozen=True, slots=True)
class RescueVm:
    """A VM of a rescue: a new one, or one of the plan that runs on.

    Attributes
    ----------
    id : str
        Its name.
    offer : RentalOffer
        What it is.
    new : bool
        Whether it is requested for the rescue.
    ready_s, end_s : int
        From when to when the rescue pays for it: of a VM of the plan, from its planned end, or from when on it is not
        paid for already.
    cost_usd : float
        What the rescue pays for it.
    """

    id: str
    offer: RentalOffer
    new: bool
    ready_s: int
    end_s: int
    cost_usd: float


@dataclass(frozen=True, slots=True, eq=False)
class Rescue:
    """Rescue of what is lost at a moment: where and when it is done by the deadline.

    Attributes
    ----------
    at_s, types : int and tuple of str
        When which spot types go down, after the finishes and starts of that second: then it begins.
    vms : tuple of RescueVm
        The VMs that tasks are moved to.
    task, task_vm, task_core, task_start_s, task_end_s : array of int
        The tasks that are lost, as indices into ``instance.task_ids``, and where and when they run; by their starts.
    """

    at_s: int
    types: tuple[str, ...]
    vms: tuple[RescueVm, ...]
    task: IntArray
    task_vm: IntArray
    task_core: IntArray
    task_start_s: IntArray
    task_end_s: IntArray

    @property
    def cost_usd(self) -> float:
        """Cost of all VMs of the rescue."""
        return math.fsum(vm.cost_usd for vm in self.vms)

    @property
    def end_s(self) -> int:
        """End of the last task."""
        return int(self.task_end_s.max(initial=0))


@dataclass(frozen=True, slots=True)
class Certificate:
    """Certificate of a plan: the losses that it survives, and their cost at worst.

    Attributes
    ----------
    level : {"one-type", "one-pool", "blackout", "each"}
        What goes down; see `certify`.
    verdict : {"survives", "does-not-survive", "not-shown"}
        Whether whatever is lost at any second can be done on demand by the deadline: it can; it is proved that it
        cannot; or neither is shown.
    worst_cost_usd : float or None
        If it survives: the most that plan and rescue cost together, whatever goes down when.
    worst_at_s, worst_types : int or None, tuple of str
        When that is, and which types it is that go down; nothing if no loss makes the plan dearer, or for ``each``.
        If it does not survive: a moment that is beyond rescue.
    least_slack_s : int or None
        Seconds by which the rescues of all moments end before the deadline, at least.
    rescue : Rescue or None
        The rescue at the worst moment.
    reason : str
        Why it does not survive, or what was not found: when, which types, what does not fit, and what would help.
    """

    level: SurvivalLevel
    verdict: Verdict
    worst_cost_usd: float | None = None
    worst_at_s: int | None = None
    worst_types: tuple[str, ...] = ()
    least_slack_s: int | None = None
    rescue: Rescue | None = None
    reason: str = ""

    @property
    def survives(self) -> bool:
        """True if it is shown that the plan survives."""
        return self.verdict == "survives"


def survival_of(schedule: Schedule, level: SurvivalLevel, without_usd: float | None = None) -> Survival:
    """Return the certificate of a plan as the record of a file; see `certify`.

    Parameters
    ----------
    schedule, level
        See `certify`.
    without_usd : float, optional
        What a plan costs that need not survive, where that is less.
    """
    certificate = certify(schedule, level)
    blackout = certify(schedule, "blackout") if level in ("one-type", "one-pool") else certificate
    rescue = certificate.rescue
    return Survival(
        level=level,
        verdict=certificate.verdict,
        worst_cost_usd=certificate.worst_cost_usd,
        worst_at_s=certificate.worst_at_s,
        worst_types=certificate.worst_types or None,
        least_slack_s=certificate.least_slack_s,
        blackout_cost_usd=None if level == "each" else blackout.worst_cost_usd,
        cost_without_usd=without_usd,
        reason=certificate.reason or None,
        rescue=None if rescue is None or len(rescue.task) > LARGE_TASKS else _record(schedule, rescue),
    )


def survival_soon(
    schedule: Schedule,
    level: SurvivalLevel,
    within_s: float | None,
    look_s: float,
    without_usd: float | None = None,
    survives: bool = False,
) -> Survival:
    """Return the certificate of a plan within some seconds, or else one without the worst case, which few more show.

    Nothing more is looked at if it is known that the plan survives.
    """
    with suppress(LimitReached), within(within_s):
        return survival_of(schedule, level, without_usd)
    verdict: Verdict = "survives" if survives else "not-shown"
    reason = None if survives else NO_TIME_TO_LOOK
    if not survives:
        with suppress(LimitReached), overtime(look_s):
            found = certify(schedule, level, cost=False)
            verdict, reason = found.verdict, found.reason or None
    return Survival(level=level, verdict=verdict, reason=reason, cost_without_usd=without_usd)


def _record(schedule: Schedule, rescue: Rescue) -> documents.Rescue:
    """Return a rescue as a record."""
    names, vms = schedule.instance.task_ids, rescue.vms
    core = rescue.task_core * schedule.instance.slots.cores
    columns = (rescue.task, rescue.task_vm, core, rescue.task_start_s, rescue.task_end_s)
    return documents.Rescue(
        at_s=rescue.at_s,
        types=rescue.types,
        vms=tuple(
            documents.RescueVm(
                id=vm.id,
                type=vm.offer.vm_type.name,
                new=vm.new,
                ready_s=vm.ready_s,
                end_s=vm.end_s,
                cost_usd=vm.cost_usd,
            )
            for vm in vms
        ),
        tasks=tuple(
            documents.RescueTask(id=names[task], vm=vms[vm].id, core=core, start_s=start_s, end_s=end_s)
            for task, vm, core, start_s, end_s in zip(*(column.tolist() for column in columns), strict=True)
        ),
    )


def certify(schedule: Schedule, level: SurvivalLevel, cost: bool = True) -> Certificate:
    """Return the certificate of a plan for the loss of spot VMs, for good or not, at any second.

    Parameters
    ----------
    schedule : Schedule
        The plan.
    level : {"one-type", "one-pool", "blackout", "each"}
        What goes down: all spot VMs of any one type at one moment; of any types at one moment; or any spot VMs, each at
        a moment of its own.
    cost : bool
        Whether the worst case and the least slack are asked for; else only the verdict, which is faster.

    Raises
    ------
    LimitReached
        If the limit of the work is over.

    Notes
    -----
    What is lost at second t is done on new regular on-demand VMs, as many as the limits of their types and
    limits of groups allow beside those of the plan that are still there; and on regular on-demand VMs of the
    plan, after what they have to do. ``markets`` restricts the plan, not what may rescue it. Nothing is asked of
    burstable and spot VMs, nor of machines that take no more tasks. Machines that the plan does not use are ended at
    second 0. A rescue begins at once; a moved task starts after the longer of the migration overhead and boot with the
    setup of the VM type, on VMs of the plan as well; and one that was running goes on from its last checkpoint. VMs
    that went down are given up, so that it does not matter whether they come back. VMs cost what the cloud of the
    instance bills.

    Level ``blackout`` is shown by rescues of all types. If some of them go down, their tasks go where the rescue of all
    has them, which is done no later when there are fewer; the other VMs go on, and are paid. The worst case is the most
    over all sets of types, or a bound of it where there are many.

    Level ``each`` is shown by twins: if for every spot VM a VM of the same type can be rented on demand, beside all
    others, and every core would be done in time after the longest loss of any of its tasks, then whatever is lost goes
    to the twins in the same order (`rescue_by_twins`).
    """
    if level not in SURVIVAL_LEVELS:
        raise ValueError(f"level must be one of {', '.join(SURVIVAL_LEVELS)}, not {level!r}")
    return _rescuer(schedule).certificate(level, cost)


def survives(schedule: Schedule, level: SurvivalLevel) -> bool:
    """True if `certify` shows that a plan survives; that it does not is found at the first loss without a rescue.

    Parameters
    ----------
    schedule, level
        See `certify`.

    Raises
    ------
    LimitReached
        If the limit of the work is over.
    """
    return _rescuer(schedule).survives(level)


def rescue_at(schedule: Schedule, types: Iterable[str], at_s: int) -> Rescue | None:
    """Return the rescue of a plan whose spot VMs of some types go down at a second.

    All is done in time, and plan and rescue cost no more than the certificates that name this loss promise:
    ``blackout``, and ``one-type`` if it is one type. Where tasks wait for their release, the certificates may promise
    the cost of a rescue that begins later: this one begins at once, and its VMs are paid as they wait.

    Parameters
    ----------
    schedule : Schedule
        The plan.
    types : iterable of str
        VM types of which all spot VMs go down.
    at_s : int
        When; what finishes or starts at this second has done so.

    Returns
    -------
    Rescue or None
        None if it is not shown that the plan survives this; a rescue of no task if nothing is lost.
    """
    return _rescuer(schedule).rescue_at(tuple(types), at_s)


def rescue_by_twins(schedule: Schedule, vms: Iterable[int], at_s: int) -> Rescue | None:
    """Return the rescue of a plan that survives level ``each`` if some of its spot VMs go down at a second.

    Parameters
    ----------
    schedule : Schedule
        The plan.
    vms : iterable of int
        The VMs, as indices into ``schedule.vm_ids``; others may have gone down before.
    at_s : int
        When; what finishes or starts at this second has done so.

    Returns
    -------
    Rescue or None
        Each VM's tasks on a twin of its own, in their order; None if the plan is not one that is to survive ``each``
        (``instance.survive``), or not shown to; see `rescue_at`.
    """
    asked = schedule.instance.survive == "each"
    return _rescuer(schedule).rescue_by_twins(sorted(vms), at_s) if asked else None


def spot_types(schedule: Schedule) -> tuple[str, ...]:
    """Names of the types of which the plan has spot VMs, in catalogue order."""
    instance = schedule.instance
    return tuple(
        instance.offers[index].vm_type.name
        for index in np.unique(schedule.vm_offer).tolist()
        if instance.offer_is_spot[index]
    )


# Solvers, policies and reports ask about the same plans. A value must not hold its key, or no plan would ever go:
# so a `_Rescuer` has no plan.
_rescuers: WeakKeyDictionary[Schedule, _Rescuer] = WeakKeyDictionary()


def _rescuer(schedule: Schedule) -> _Rescuer:
    """Return the questions about the rescues of a plan; kept as long as the plan is."""
    if schedule not in _rescuers:
        _rescuers[schedule] = _Rescuer(schedule)
    return _rescuers[schedule]


@dataclass(frozen=True, slots=True)
class _Moment:
    """A second for which there is a rescue, the last that it serves, its slack, and what both cost at most."""

    at_s: int
    last_s: int
    slack_s: int
    cost_usd: float

    @property
    def least_slack_s(self) -> int:
        """Slack of the rescue when it is carried out as late as it may be."""
        return self.slack_s - (self.last_s - self.at_s)


@dataclass(frozen=True, slots=True)
class _Gap:
    """A second for which no rescue was found."""

    at_s: int
    reason: str
    proved: bool


class _Rescuer:
    """The rescues of one plan. What is known of it is kept in arrays, and not the plan itself."""

    def __init__(self, schedule: Schedule) -> None:
        self.instance = schedule.instance
        self.cost_usd = schedule.cost_usd
        self.vm_ids = schedule.vm_ids
        self.types = spot_types(schedule)
        self.arrays = arrays_of(schedule)
        self.bag = self.arrays.bag
        self._gaps_of: dict[tuple[str, ...], list[_Gap]] = {}
        self._moments: dict[tuple[str, ...], list[_Moment]] = {}
        self._twins = Twins(schedule)
        self._ask = Questions(self.bag, len(self.instance.vm_types))

    # ------------------------------------------------------------- certificates

    def certificate(self, level: SurvivalLevel, cost: bool) -> Certificate:
        """Return the certificate of a level."""
        if level == "each":
            return self._certificate_of_each(cost)
        sets = self._sets(level)
        gaps = [(gap, types) for types in sets for gap in self._gaps(types)]
        if gaps:
            gap, types = min(gaps, key=lambda pair: (not pair[0].proved, pair[0].at_s))
            verdict: Verdict = "does-not-survive" if gap.proved else "not-shown"
            return Certificate(level, verdict, worst_at_s=gap.at_s, worst_types=types, reason=gap.reason)
        if not cost:
            return Certificate(level, "survives")
        moments = [(moment, types) for types in sets for moment in self.moments(types)]
        slack = min((moment.least_slack_s for moment, _ in moments), default=None)
        moment, types = max(moments, key=lambda pair: (pair[0].cost_usd, -pair[0].at_s), default=(None, ()))
        if moment is None or moment.cost_usd <= self.cost_usd:
            return Certificate(level, "survives", self.cost_usd, least_slack_s=slack)
        rescue = self._dearest(types, moment)
        return Certificate(level, "survives", moment.cost_usd, moment.at_s, rescue.types, slack, rescue)

    def survives(self, level: SurvivalLevel) -> bool:
        """True if the certificate of a level says so."""
        return not self._twins.missing() if level == "each" else all(map(self._has_no_gap, self._sets(level)))

    def _sets(self, level: SurvivalLevel) -> Sequence[tuple[str, ...]]:
        """Sets of types that go down at one moment."""
        if level == "blackout":
            return [self.types] if self.types else []
        if level == "one-pool":
            return [(name,) for name in self.types]
        of_type = {vm_type.name: vm_type.instance_type for vm_type in self.instance.vm_types}
        groups = dict.fromkeys(of_type[name] for name in self.types)
        return [tuple(name for name in self.types if of_type[name] == one) for one in groups]

    def _certificate_of_each(self, cost: bool) -> Certificate:
        """Return the certificate of the level ``each``: by twins, or refuted by all VMs at one moment."""
        missing = self._twins.missing()
        if not missing:
            worst = self._twins.worst_cost_usd() if cost else None
            return Certificate("each", "survives", worst, least_slack_s=self._twins.least_slack_s)
        at_once = self.certificate("blackout", cost=False)
        if at_once.verdict == "does-not-survive":
            return replace(at_once, level="each")
        return Certificate("each", "not-shown", reason=missing)

    def _dearest(self, types: tuple[str, ...], moment: _Moment) -> Rescue:
        """Return the rescue of the worst set of types at a moment; of all of them if there are too many sets."""
        fewest = 1 if len(types) <= MOST_TYPES else len(types)
        sets = (chosen for size in range(fewest, len(types) + 1) for chosen in combinations(types, size))
        rescues = [self._rescue_of(types, chosen, moment, moment.at_s) for chosen in sets]
        return max(rescues, key=lambda rescue: self._paid_usd(rescue.types, moment.at_s) + rescue.cost_usd)

    def _gaps(self, types: tuple[str, ...]) -> list[_Gap]:
        """Seconds without a rescue, some of them at most; if none, all have one."""
        if types not in self._gaps_of:
            self._gaps_of[types] = self._find_gaps(types)
        return self._gaps_of[types]

    def _has_no_gap(self, types: tuple[str, ...]) -> bool:
        if types not in self._gaps_of:
            if self._survey(types, 0, MAX_SECONDS, MAX_SECONDS, False, 0)[1] is not None:
                return False
            self._gaps_of[types] = []
        return not self._gaps_of[types]

    def _find_gaps(self, types: tuple[str, ...]) -> list[_Gap]:
        gaps: list[_Gap] = []
        since, work = 0, 0
        # What is not proved may be followed by what is, which says more.
        while len(gaps) < _MOST_FAILURES and not (gaps and gaps[-1].proved):
            _, failed_at, work = self._survey(types, since, MAX_SECONDS, MAX_SECONDS, False, work)
            if failed_at is None:
                break
            if failed_at < 0:
                reason = f"{loss_of(types)}: too much to be looked at for so many tasks"
                gaps.append(_Gap(-1 - failed_at, reason, False))
                break
            lost = self._ask.lost_at(self._marked(types), failed_at)
            reason, proved = obstacle(self.arrays, types, failed_at, lost, self._ask.room_at(failed_at))
            gaps.append(_Gap(failed_at, reason, proved))
            since = failed_at + 1
        return gaps

    def moments(self, types: tuple[str, ...]) -> list[_Moment]:
        """Return seconds that serve all others if some types go down; empty if nothing is lost ever.

        The dearest and the one with least slack serve no other second, unless that would take too long.
        """
        if types not in self._moments:
            self._moments[types] = self._refined(types)
        return self._moments[types]

    def _refined(self, types: tuple[str, ...]) -> list[_Moment]:
        moments, _, work = self._survey(types, 0, MAX_SECONDS, MAX_SECONDS, True, 0)
        blocks = {moment.at_s: moment for moment in moments}
        dearest: list[tuple[float, int, int]] = [(-moment.cost_usd, moment.at_s, moment.last_s) for moment in moments]
        tightest: list[tuple[float, int, int]] = [
            (moment.least_slack_s, moment.at_s, moment.last_s) for moment in moments
        ]
        heapify(dearest)
        heapify(tightest)
        settled: set[_Moment] = set()
        for _ in range(_MOST_MOMENTS if moments else 0):
            if work > _REFINING:
                break
            for heap in (dearest, tightest):
                while blocks[heap[0][1]].last_s != heap[0][2]:  # it has been divided
                    heappop(heap)
            worst = (blocks[dearest[0][1]], blocks[tightest[0][1]])
            chosen = next((moment for moment in worst if moment.at_s < moment.last_s and moment not in settled), None)
            if chosen is None:
                break
            # Into about four: those that matter are divided again, and the others are not worth it.
            patience = (chosen.last_s - chosen.at_s) // 4
            finer, failed_at, work = self._survey(types, chosen.at_s, chosen.last_s, patience, True, work)
            if failed_at is None:
                del blocks[chosen.at_s]
                for moment in finer:
                    blocks[moment.at_s] = moment
                    heappush(dearest, (-moment.cost_usd, moment.at_s, moment.last_s))
                    heappush(tightest, (moment.least_slack_s, moment.at_s, moment.last_s))
            else:  # what can wait for this second is better than what is found at it
                settled.add(chosen)
        return sorted(blocks.values(), key=lambda moment: moment.at_s)

    def _survey(
        self, types: tuple[str, ...], since: int, until: int, patience: int, cheap: bool, work: int
    ) -> tuple[list[_Moment], int | None, int]:
        """Return seconds that serve all between two; where there is no rescue; work done.

        The second without a rescue is None if there is none, and -1 minus a second where the work was too much.
        """
        down = self._marked(types)
        found: list[_Moment] = []
        second = since
        while True:
            checkpoint()
            # In parts, as the clock is not looked at within one.
            part = self._ask.survey(
                down, second, until, patience, cheap=cheap, at_once=False, budget=MOST_PLACES // 200
            )
            status, second = part.status, part.second
            work += part.work
            found += [_Moment(at, last, slack, self.cost_usd + usd) for at, last, slack, usd in part.moments]
            if status == DONE:
                return found, None, work
            if status == FAILED:
                twins = self._packed_by_twins(types, second)
                if twins is None:
                    return found, second, work
                added_usd = self._ask.added_usd(down, *twins, second)
                slack_s = self.instance.deadline_s - int(twins[1].places["end"].max())
                found.append(_Moment(second, second, slack_s, self.cost_usd + added_usd))
                second += 1
            if work > MOST_PLACES or len(found) > _MOST_MOMENTS:
                return found, -1 - second, work

    def _marked(self, types: tuple[str, ...]) -> BoolArray:
        return np.array([vm_type.name in types for vm_type in self.instance.vm_types], dtype=bool)

    # ------------------------------------------------------------------ rescues

    def rescue_at(self, types: tuple[str, ...], at_s: int) -> Rescue | None:
        """Return the rescue of a second: the cheapest of the certificates that name its loss."""
        tasks, vms = self.bag.tasks, self.instance.vm_types
        left = {vms[index].name for index in np.unique(tasks["type_index"][tasks["end"] > at_s]).tolist()}
        lost = tuple(name for name in self.types if name in types and name in left)
        if not lost:
            return self._rescue((), at_s, *_nothing())
        # The loss of one type is covered twice: by its own certificate, and by that of all types.
        sets = [lost, self.types] if len(lost) == 1 < len(self.types) else [self.types]
        found = [rescue for names in sets if (rescue := self._certified(names, lost, at_s)) is not None]
        return min(found, key=lambda rescue: rescue.cost_usd, default=None)

    def _certified(self, types: tuple[str, ...], lost: tuple[str, ...], at_s: int) -> Rescue | None:
        """Return the part of a rescue of some types that is for the lost ones of them; None if none is shown."""
        if types not in self._moments and self._gaps(types):
            return None
        moments = self.moments(types)
        moment = moments[bisect_left(moments, at_s, key=lambda moment: moment.last_s)]
        # What certificates promise is the cost and the slack at worst: a rescue that is found for this second alone,
        # and does not know what others need, is taken if it keeps both.
        at_once, group = self._at_once(types, lost, at_s), self.instance.task_group
        if (
            at_once is not None
            and self._paid_usd(lost, at_s) + at_once.cost_usd <= moment.cost_usd
            and (at_once.task_end_s + moment.least_slack_s <= self.instance.due_s[group[at_once.task]]).all()
        ):
            return at_once
        return self._rescue_of(types, lost, moment, at_s)

    def _at_once(self, types: tuple[str, ...], lost: tuple[str, ...], at_s: int) -> Rescue | None:
        """Return the rescue that is found if a second is looked at by itself."""
        found, tasks, packing = self._packed(types, at_s, 0)
        return self._rescue(lost, at_s, tasks, packing) if found else None

    def _packed(self, types: tuple[str, ...], at_s: int, patience_s: int) -> tuple[bool, Any, Any]:
        """Look for a rescue of a second that can wait for so long; return success, the loss, and where it goes."""
        down = self._marked(types)
        part = self._ask.survey(down, at_s, MAX_SECONDS, patience_s, cheap=True, at_once=True, budget=0)
        twins = None if part.moments else self._packed_by_twins(types, at_s)
        return (len(part.moments) > 0, part.lost, part.packing) if twins is None else (True, *twins)

    def _rescue_of(self, types: tuple[str, ...], lost: tuple[str, ...], moment: _Moment, at_s: int) -> Rescue:
        """Return a rescue for another second that it serves, too: the same, begun earlier or later."""
        _, tasks, packing = self._packed(types, moment.at_s, moment.last_s - moment.at_s)
        later = self._ask.lost_at(self._marked(types), at_s)
        place_of = {task: place for place, task in enumerate(tasks.task.tolist())}
        still = ints(place_of[task] for task in later.task.tolist())
        places = packing.places[still]
        # What is put on VMs of the plan cannot begin before these have done what is planned, and nothing before it is
        # released.
        shift_s = at_s - moment.at_s
        if (places["start"] + shift_s < self.bag.tasks["release"][later.task]).any():
            shift_s = 0
        movable = (shift_s > 0) | (packing.vms["own"][places["vm"]] < 0)
        places["start"] += np.where(movable, shift_s, 0)
        rental = packing.vms["rental"][places["vm"]]
        places["end"] = places["start"] + later.left[rental, np.arange(len(still))]
        return self._rescue(lost, at_s, later, packing._replace(places=places))

    def rescue_by_twins(self, vms: list[int], at_s: int) -> Rescue | None:
        """Return the rescue of some VMs by their twins; None if the plan is not shown to survive ``each``."""
        if self._twins.missing():
            return None
        lost = self._ask.lost_at(self._marked(self.types), at_s)
        chosen = np.isin(self._twins.task_vm[lost.task], vms)
        lost = Lost(lost.task[chosen], lost.left[:, chosen])
        return self._rescue(self.types, at_s, lost, self._on_twins(lost, at_s))

    def _on_twins(self, lost: Any, at_s: int) -> Any:
        """Return the packing of what is lost onto a twin of each VM, whose types must be among the rentals."""
        rental_of = {offer.type_index: number for number, offer in enumerate(self.arrays.regular)}
        rental = ints(rental_of[index] for index in self.bag.tasks["type_index"][lost.task].tolist())
        left_s = lost.left[rental, np.arange(len(rental))]
        numbers, vm = np.unique(self._twins.task_vm[lost.task], return_inverse=True)
        places, vms = (
            np.zeros(len(rental), dtype=dtype_of(PlaceRow)),
            np.zeros(len(numbers), dtype=dtype_of(PackedVmRow)),
        )
        places["vm"], places["core"] = vm, self._twins.task_core[lost.task]
        places["start"] = self._twins.start_s(lost.task, left_s, at_s)
        places["end"] = places["start"] + left_s
        vms["own"] = NONE
        vms["rental"][vm] = rental
        np.maximum.at(vms["end"], vm, places["end"])
        return Packing(places, vms)

    def _packed_by_twins(self, types: tuple[str, ...], at_s: int) -> tuple[Any, Any] | None:
        """Return the tasks that are lost at a second and their packing on twins; None if that is too many, or late."""
        regular = {offer.vm_type.name for offer in self.arrays.regular}
        if self.instance.has_dates or not regular.issuperset(types):
            return None
        lost = self._ask.lost_at(self._marked(types), at_s)
        packing, room = self._on_twins(lost, at_s), self._ask.room_at(at_s)
        weights = self.arrays.bag.group_weights
        count = np.bincount(packing.vms["rental"], minlength=weights.shape[1])
        used = np.concatenate([count, weights @ count])
        late = packing.places["end"].max(initial=0) > self.instance.deadline_s
        # A plan may be beyond a limit by itself, by machines that are there: that forbids only what takes more of it.
        return None if late or ((used > room) & (used > 0)).any() else (lost, packing)

    def _rescue(self, types: tuple[str, ...], at_s: int, lost: Any, packing: Any) -> Rescue:
        """Make the record of a rescue from its arrays: of what it does for tasks on spot VMs of some types."""
        of_types = self._marked(types)[self.bag.tasks["type_index"][lost.task]]
        order = np.lexsort((packing.places["core"], packing.places["start"]))
        order = order[of_types[order]]
        places = packing.places[order]
        numbers, vm_of = np.unique(places["vm"], return_inverse=True)
        end = np.zeros(len(numbers), dtype=np.int64)
        np.maximum.at(end, vm_of, places["end"])
        # A new VM must not be taken for one that is there, and be it one that the plan does not use.
        names = {*self.vm_ids, *(machine.id for machine in self.instance.machines)}
        vms = []
        for number, end_s in zip(numbers.tolist(), end.tolist(), strict=True):
            offer = self.arrays.regular[packing.vms["rental"][number]]
            own = int(packing.vms["own"][number])
            planned_s = 0 if own < 0 else int(self.bag.own_vms["end"][own])
            new = planned_s <= at_s
            if new:
                name, count = "", 0
                while not name or name in names:
                    count += 1
                    name = f"{offer.vm_type.name}-on-demand-{count}"
                names.add(name)
                ready_s = at_s + int(self.instance.ready_s[offer.index])
            else:
                name, ready_s = self.vm_ids[self.arrays.own_vm[own]], int(self.bag.own_vms["paid_until"][own])
            end_s = max(end_s, ready_s)
            usd = float(self.instance.rents.cost_usd(offer.index, end_s - ready_s))
            if not new:
                row = self.bag.own_vms[own]
                usd = float(row["price"] * begun_s(row["block"], end_s, row["paid_until"]))
            vms.append(RescueVm(name, offer, new, ready_s, end_s, usd))
        return Rescue(
            at_s,
            types,
            tuple(vms),
            self.arrays.spot_task[lost.task[order]],
            vm_of.astype(np.int64),
            places["core"].copy(),
            places["start"].copy(),
            places["end"].copy(),
        )

    def _paid_usd(self, types: tuple[str, ...], at_s: int) -> float:
        """Return the cost of the plan if some types are paid for until a second."""
        vms = self.bag.spot_vms
        paid = begun_s(vms["block"], np.minimum(at_s, vms["end"]), vms["paid_until"])
        saved = vms["price"] * (begun_s(vms["block"], vms["end"], vms["paid_until"]) - paid)
        saved += (at_s < vms["booted"]) * vms["opening"]
        return self.cost_usd - float(saved[self._marked(types)[vms["type_index"]]].sum())


def _nothing() -> Any:
    """Return an empty loss and its packing."""
    empty = np.zeros(0, dtype=np.int64)
    packing = Packing(np.zeros(0, dtype=dtype_of(PlaceRow)), np.zeros(0, dtype=dtype_of(PackedVmRow)))
    return Lost(empty, empty.reshape(0, 0)), packing
