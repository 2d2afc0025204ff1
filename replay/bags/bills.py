"""Bills of the VMs of a replay: what is on them by its rules, changes of prices, and what VMs cost that do not run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...core.bill import Bill, billed_s
from ...core.quantities import SECONDS_PER_HOUR
from ..vms import VmBill
from .rows import NONE, PRICE, DayRow, SessionRow

if TYPE_CHECKING:
    from ...instances.clouds import Billing
    from ...instances.entries import RentalOffer

_MB_PER_GB = 1024

BILLED = (
    *("offer_index", "since_s", "terminated_s", "hibernated_s", "stopped_s", "ran_s"),
    *("first_session", "n_paid", "cost_usd"),
)
"""What a bill is made of, of the row of a VM."""


def bills_of(
    names: Sequence[str],
    offers: Sequence[RentalOffer],
    rows: Iterable[Sequence[Any]],
    billing: Billing,
    days: Iterable[DayRow],
    sessions: Sequence[SessionRow],
) -> tuple[VmBill, ...]:
    """Return the bills of VMs that have been terminated.

    Parameters
    ----------
    names : sequence of str
        What VMs are called.
    offers : sequence of RentalOffer
        Those of the instance.
    rows : iterable of tuple
        Of each VM, what is `BILLED`.
    billing : Billing
        How VMs are billed.
    days : iterable of DayRow
        What has happened, of which prices count.
    sessions : sequence of SessionRow
        Those of all VMs; not looked at unless prices have changed.
    """
    changed: dict[int, list[tuple[int, float]]] = {}
    for event in days:
        if event.kind == PRICE:
            changed.setdefault(event.offer, []).append((event.time_s, event.usd_per_hour))
    hibernated_usd, stopped_usd = billing.hibernated_usd_per_gb_hour, billing.stopped_usd_per_gb_hour
    bills = []
    for name, row in zip(names, rows, strict=True):
        index, since_s, end_s, hibernated_s, stopped_s, ran_s, first, n_paid, cost = row
        offer = offers[index]
        vm_type = offer.vm_type
        if index in changed:
            of_vm = sessions_of(sessions, first)
            paid = of_vm[len(of_vm) - n_paid :]
            cost = _changing_usd(billing.bill(offer), offer.price_usd_per_hour, changed[index], paid)
        if hibernated_usd or stopped_usd:
            gb_hours = vm_type.memory_mb / _MB_PER_GB / SECONDS_PER_HOUR
            cost = cost + hibernated_usd * gb_hours * hibernated_s + stopped_usd * gb_hours * stopped_s
        rested_s = end_s - since_s - hibernated_s - ran_s
        bills.append(VmBill(name, vm_type.name, offer.market, since_s, end_s, hibernated_s, cost, rested_s))
    return tuple(bills)


def sessions_of(sessions: Sequence[SessionRow], first: int) -> list[tuple[int, int, bool]]:
    """Return the sessions of a VM from one on: from when to when it ran, and whether the cloud ended it."""
    found = []
    while first != NONE:
        row = sessions[first]
        found.append((row.start_s, row.end_s, bool(row.lost)))
        first = row.next
    return found


def _changing_usd(
    bill: Bill, usd_per_hour: float, prices: Sequence[tuple[int, float]], sessions: Sequence[tuple[int, int, bool]]
) -> float:
    """Price of sessions, each second at that of its moment, and what is billed beyond an end at the last one.

    ``prices`` are those after the first one, by time: from when on, and how much in USD per hour.
    """
    costs = []
    for start_s, end_s, _ in sessions:
        billed_end_s = start_s + billed_s(bill, end_s - start_s)
        price, at_s, parts = usd_per_hour, start_s, []
        for time_s, changed in prices:
            if time_s > end_s:
                break
            if time_s > at_s:
                parts.append(price * (time_s - at_s))
                at_s = time_s
            price = changed
        parts.append(price * (billed_end_s - at_s))
        costs.append(math.fsum(parts) / SECONDS_PER_HOUR)
    return bill.fixed_usd * len(sessions) + math.fsum(costs)
