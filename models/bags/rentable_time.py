"""Time for which VMs can work on a day: the up seconds of each offer before the deadline, and free ones among them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...core.errors import InputError, Issue
from ...core.quantities import SECONDS_PER_HOUR, BoolArray, FloatArray, IntArray
from ...instances.bags.timeline import Timeline, TimelineEvent
from ...instances.clouds import PAPERS, Billing
from ...instances.entries import NEVER, Market
from ...instances.group_limits import limits_of, one_limit_each
from ...instances.instance import Instance


@dataclass(frozen=True, slots=True)
class RentableColumn:
    """Seconds of an offer at one price.

    Attributes
    ----------
    offer : int
        As an index into ``instance.offers``.
    limit : int
        VMs at the same time, ``instance.markets`` left aside.
    price_usd_per_s : float
        What a VM costs for a second; 0 for those that may be free.
    free_until_s : int
        If not 0, these are the seconds that the bill leaves out if the VM is interrupted so long after it is ready.
    """

    offer: int
    limit: int
    price_usd_per_s: float
    free_until_s: int = 0


@dataclass(frozen=True, slots=True)
class RentableTime:
    """Time for which VMs can work on a day.

    Attributes
    ----------
    up_s : array of float, shape (n_columns,)
        Seconds that a VM of each column can work.
    span_s, up : array of float, shape (n_spans,) and of bool, shape (n_spans, n_columns)
        Lengths of the times in which the same columns are up, and which.
    limits : array of float, shape (n_columns,)
        VMs of each column at the same time.
    """

    up_s: FloatArray
    span_s: FloatArray
    up: BoolArray
    limits: FloatArray


def rentable_columns(instance: Instance, billing: Billing | None = None) -> list[RentableColumn]:
    """Return the offers of both markets, which a policy can rent.

    ``instance.markets`` restricts the plan, not what may rescue it. More VMs than there are tasks are never busy.
    """
    columns = []
    for offer in instance.offers:
        limit = min(instance.limits.most_vms(offer.vm_type, offer.market), instance.n_tasks)
        if limit:
            bill = (billing or PAPERS.billing).bill(offer)
            columns.append(RentableColumn(offer.index, limit, bill.usd))
            if bill.free_until_s:
                columns.append(RentableColumn(offer.index, limit, 0.0, bill.free_until_s))
    return columns


def limited_groups(instance: Instance, columns: list[RentableColumn]) -> list[tuple[FloatArray, float]]:
    """Return the limits of several offers that those of the offers do not imply: weights by column, and the most."""
    # Free seconds are of the same VMs as those that are paid: counted twice, limits would seem to bind that do not.
    vms = np.array([column.limit if not column.free_until_s else 0 for column in columns], dtype=np.int64)
    limits = limits_of(instance.limits, (instance.offers[column.offer] for column in columns))
    return one_limit_each([(weights, most) for weights, most in limits if weights @ vms > most])


def rentable_time(instance: Instance, columns: list[RentableColumn], timeline: Timeline) -> RentableTime:
    """Work out when VMs can work between the first readiness and the deadline.

    A second of a spot VM may be free if VMs of its type are interrupted after it and by the deadline, no later than
    `Bill.free_until_s`: only such an interruption can be the first of a VM that is up in that second, soon enough; of
    no more VMs at a time than are interrupted. The day is one on a cloud: `Timeline.resolved`.
    """
    ready, end = instance.boot_overhead_s, instance.deadline_s
    limits = np.array([float(column.limit) for column in columns])
    if ready >= end:
        nothing = np.zeros(len(columns))
        return RentableTime(nothing, np.zeros(0), np.zeros((0, len(columns)), dtype=bool), limits)
    by_type: dict[str, _TypeDay] = {}
    for event in timeline.events:
        if event.time_s <= end and event.kind != "price":
            by_type.setdefault(event.vm_type, _TypeDay()).add(event)
    moments = {ready, end}
    for day in by_type.values():
        moments.update(day.changes_s)
        moments.update(day.interruptions_s)
    free_s = max((column.free_until_s for column in columns), default=0)
    if free_s:
        # Seconds may be free from so long before an interruption on: a span begins there.
        moments.update(moment - free_s for moment in list(moments))
    cuts = np.array(sorted(moment for moment in moments if ready <= moment <= end), dtype=np.int64)
    starts, lengths = cuts[:-1], np.diff(cuts).astype(float)
    up = np.ones((len(starts), len(columns)), dtype=bool)
    for position, column in enumerate(columns):
        offer = instance.offers[column.offer]
        if offer.market == "on-demand":
            continue
        day = by_type.get(offer.vm_type.name, _NOTHING)
        up[:, position] = day.is_up(starts)
        if not free_s:
            continue
        most_free = day.most_interrupted(column.limit, end)
        if column.free_until_s:
            limits[position] = min(limits[position], most_free)
            up[:, position] &= day.may_be_free(starts, end, free_s)
        # Where all VMs of an offer may be free, none has to be paid for: else it would have twice its VMs then.
        elif most_free >= column.limit:
            up[:, position] &= ~day.may_be_free(starts, end, free_s)
    return RentableTime(lengths @ up, lengths, up, limits)


class _TypeDay:
    """Events of the spot VMs of a type on a day, as far as they say when some VM can work.

    A VM works until its notice is over. That of several VMs some are interrupted, or may be there, is left aside: one
    can work.

    Attributes
    ----------
    ages : bool
        Whether VMs go at ages, so that any moment may be that of an interruption.
    changes_s : list of int
        When the type goes down, and when it is back, in turn.
    interruptions_s : list of int
        When VMs of the type may be interrupted.
    singles : list of tuple
        Those of single VMs, and of shares: when, which VM, which share.
    first_of_type_s : int
        When the first comes that may be of any number of VMs.
    """

    __slots__ = ("ages", "changes_s", "first_of_type_s", "interruptions_s", "singles")

    def __init__(self) -> None:
        self.ages = False
        self.changes_s: list[int] = []
        self.interruptions_s: list[int] = []
        self.singles: list[tuple[int, int | None, float]] = []
        self.first_of_type_s = NEVER

    def add(self, event: TimelineEvent) -> None:
        """Take in the next event."""
        if event.kind == "interrupt" or event.by == "interrupt":
            rule = "says 'interrupt', which depends on the cloud: use timeline.resolved(cloud)"
            raise InputError("timeline", [Issue("", rule)])
        down = event.interrupts or event.vms == 0
        gone_s = event.time_s + (event.notice_s or 0) + (event.age_s or 0)
        self.ages |= event.age_s is not None
        if event.interrupts or event.kind == "capacity":
            self.interruptions_s.append(gone_s)
            if event.of_type:
                self.first_of_type_s = min(self.first_of_type_s, gone_s)
            else:
                self.singles.append((gone_s, event.vm, event.share or 0.0))
        # Downs and ups take turns in the list: an event that says what is so already would put all that follow out of
        # step.
        if not event.of_type or down == bool(len(self.changes_s) % 2):
            return
        if not down and self.changes_s[-1] >= event.time_s:
            self.changes_s.pop()  # back before those that drain are gone
        else:
            self.changes_s.append(gone_s if down else event.time_s)

    def is_up(self, moments: IntArray) -> BoolArray:
        """Mask of the moments in whose second some VM can work."""
        result: BoolArray = np.searchsorted(self.changes_s, moments, side="right") % 2 == 0
        return result

    def most_interrupted(self, limit: int, end_s: int) -> int:
        """Most VMs, of a number at a time, that can be interrupted by the end."""
        if self.first_of_type_s <= end_s:
            return limit
        found = [(vm, share) for gone_s, vm, share in self.singles if gone_s <= end_s]
        vms = len({vm for vm, _ in found if vm is not None})
        return min(vms + sum(math.ceil(share * limit) for vm, share in found if vm is None), limit)

    def may_be_free(self, moments: IntArray, end_s: int, free_s: int) -> BoolArray:
        """Mask of the moments after which VMs may be interrupted, within some seconds, and by the end."""
        if self.ages:
            return np.ones(len(moments), dtype=bool)
        ends = np.array(sorted(moment for moment in self.interruptions_s if moment <= end_s), dtype=np.int64)
        following = np.append(ends, np.iinfo(np.int64).max)[np.searchsorted(ends, moments, side="right")]
        result: BoolArray = following - free_s <= moments
        return result


_NOTHING = _TypeDay()


def prices_of_day(
    instance: Instance, columns: list[RentableColumn], timeline: Timeline
) -> tuple[FloatArray, FloatArray] | None:
    """Lowest and highest price of each column for a second up to the deadline; None if no price changes."""
    changes = [event for event in timeline.events if event.kind == "price" and event.time_s <= instance.deadline_s]
    if not changes:
        return None
    lowest = np.array([column.price_usd_per_s for column in columns])
    highest = lowest.copy()
    place: dict[tuple[str, Market | None], int] = {
        (instance.offers[column.offer].vm_type.name, instance.offers[column.offer].market): position
        for position, column in enumerate(columns)
        if not column.free_until_s
    }
    for event in changes:
        position = place.get((event.vm_type, event.market))
        if position is not None and event.usd_per_hour is not None:
            price = event.usd_per_hour / SECONDS_PER_HOUR
            lowest[position], highest[position] = min(lowest[position], price), max(highest[position], price)
    return lowest, highest
