"""How long VMs can work on a day: the up seconds of each offer before the deadline, and which of them may be free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ...core.quantities import SECONDS_PER_HOUR, BoolArray, FloatArray, IntArray
from ...instances.bags.timeline import Timeline, TimelineEvent
from ...instances.entries import MARKETS, Market
from ...instances.instance import Instance

MAX_FREE_S = SECONDS_PER_HOUR
"""Uptime within which a first hibernation makes the time before it free (AWS; off by default)."""


class BillingRules(Protocol):
    """What the bound has to know of how VMs are billed."""

    @property
    def first_hour_free(self) -> bool:
        """Whether a spot VM that hibernates for the first time in its first hour is not charged for the time before."""


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
    free : bool
        Whether these are the seconds that the bill may leave out.
    """

    offer: int
    limit: int
    price_usd_per_s: float
    free: bool = False


@dataclass(frozen=True, slots=True)
class RentableTime:
    """When VMs can work on a day.

    Attributes
    ----------
    up_s : array of float, shape (n_columns,)
        Seconds that a VM of each column can work.
    span_s, up : array of float, shape (n_spans,) and of bool, shape (n_spans, n_columns)
        Lengths of the times in which the same columns are up, and which.
    """

    up_s: FloatArray
    span_s: FloatArray
    up: BoolArray


def rentable_columns(instance: Instance, first_hour_free: bool) -> list[RentableColumn]:
    """Return what a policy can rent: the offers of both markets.

    ``instance.markets`` restricts the plan, not what may rescue it. More VMs than there are tasks are never busy.
    """
    columns = []
    for offer in instance.offers:
        cap = instance.limits.of(offer.market)
        limit = min(offer.vm_type.offers[offer.market].limit, instance.n_tasks)
        limit = limit if cap is None else min(cap, limit)
        if limit:
            columns.append(RentableColumn(offer.index, limit, offer.price_usd_per_s))
            if first_hour_free and offer.market == "spot":
                columns.append(RentableColumn(offer.index, limit, 0.0, free=True))
    return columns


def limited_markets(instance: Instance, columns: list[RentableColumn]) -> list[tuple[Market, int]]:
    """Return the markets whose limit the limits of their offers do not imply."""
    result: list[tuple[Market, int]] = []
    for market in MARKETS:
        cap = instance.limits.of(market)
        vms = sum(c.limit for c in columns if instance.offers[c.offer].market == market and not c.free)
        if cap is not None and cap < vms:
            result.append((market, cap))
    return result


def rentable_time(instance: Instance, columns: list[RentableColumn], timeline: Timeline) -> RentableTime:
    """Work out when VMs can work between the first readiness and the deadline.

    A second of a spot VM may be free if its type hibernates after it and by the deadline, no later than an hour: only
    such a hibernation can be the first of a VM that is up in that second, within its first hour.
    """
    ready, end = instance.boot_overhead_s, instance.deadline_s
    if ready >= end:
        nothing = np.zeros(len(columns))
        return RentableTime(nothing, np.zeros(0), np.zeros((0, len(columns)), dtype=bool))
    by_type: dict[str, list[TimelineEvent]] = {}
    for event in timeline.events:
        if event.time_s <= end:
            by_type.setdefault(event.vm_type, []).append(event)
    moments = {ready, end}
    for events in by_type.values():
        moments.update(event.time_s for event in events)
    some_free = any(column.free for column in columns)
    if some_free:
        moments.update(moment - MAX_FREE_S for moment in list(moments))
    cuts = np.array(sorted(moment for moment in moments if ready <= moment <= end), dtype=np.int64)
    starts, lengths = cuts[:-1], np.diff(cuts).astype(float)
    up = np.ones((len(starts), len(columns)), dtype=bool)
    for position, column in enumerate(columns):
        offer = instance.offers[column.offer]
        if offer.market == "on-demand":
            continue
        events = by_type.get(offer.vm_type.name, [])
        up[:, position] = _is_up(events, starts)
        if some_free:
            up[:, position] &= _may_be_free(events, starts) == column.free
    return RentableTime(lengths @ up, lengths, up)


def _is_up(events: list[TimelineEvent], moments: IntArray) -> BoolArray:
    """Whether the type is up in the second that begins at each moment."""
    times = np.array([event.time_s for event in events], dtype=np.int64)
    states = np.array([True, *(event.kind == "resume" for event in events)])
    result: BoolArray = states[np.searchsorted(times, moments, side="right")]
    return result


def _may_be_free(events: list[TimelineEvent], moments: IntArray) -> BoolArray:
    """Whether the type hibernates after each moment, at most `MAX_FREE_S` later."""
    ends = np.array([event.time_s for event in events if event.kind == "hibernate"], dtype=np.int64)
    following = np.append(ends, np.iinfo(np.int64).max)[np.searchsorted(ends, moments, side="right")]
    result: BoolArray = following - MAX_FREE_S <= moments
    return result
