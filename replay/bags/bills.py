"""Bills of the VMs of a replay: their sessions, and what they cost while they are hibernated or stopped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ...core.bill import Bill, billed_s, cost_usd, is_free
from ...core.quantities import SECONDS_PER_HOUR
from ...instances.clouds import Billing
from ...instances.entries import RentalOffer
from ..vms import VmBill

_MB_PER_GB = 1024

Session = tuple[int, int, bool]
"""From when to when a VM ran, and whether the cloud ended it."""

Prices = Sequence[tuple[int, float]]
"""From when on an offer costs how much in USD per hour, by time; empty if its price has not changed."""


class Rent(NamedTuple):
    """A VM as its bill has it: until when it was rented, and how long it was hibernated and stopped."""

    name: str
    offer: RentalOffer
    ready_s: int
    end_s: int
    hibernated_s: int
    stopped_s: int


def bill_of(rent: Rent, sessions: Sequence[Session], billing: Billing, bill: Bill, prices: Prices = ()) -> VmBill:
    """Return the bill of a VM, by the rule of its offer and what the cloud asks for while it does not run."""
    offer = rent.offer
    first_ready_s = sessions[0][0] if sessions else rent.ready_s
    paid = sessions
    if sessions and sessions[0][2] and is_free(bill, sessions[0][1] - sessions[0][0]):
        paid = sessions[1:]
    if prices:
        cost = bill.fixed_usd * len(paid)
        cost += math.fsum([_session_usd(offer.price_usd_per_hour, prices, *session[:2], bill) for session in paid])
    else:
        seconds = 0
        for start_s, end_s, _ in paid:
            seconds += billed_s(bill, end_s - start_s)
        cost = cost_usd(bill, seconds, len(paid))
    if rent.hibernated_s or rent.stopped_s:
        cost = with_rest_usd(cost, billing, rent)
    end_s = max(rent.end_s, first_ready_s)
    rested_s = 0
    if sessions:
        rested_s = end_s - first_ready_s - rent.hibernated_s
        for start_s, stop_s, _ in sessions:
            rested_s -= stop_s - start_s
    names = rent.name, offer.vm_type.name, offer.market
    return VmBill(*names, first_ready_s, end_s, rent.hibernated_s, cost, max(rested_s, 0))


def with_rest_usd(cost: float, billing: Billing, rent: Rent) -> float:
    """Add to the bill of a VM what it costs while it is hibernated or stopped."""
    gb_hours = rent.offer.vm_type.memory_mb / _MB_PER_GB / SECONDS_PER_HOUR
    if billing.hibernated_usd_per_gb_hour:
        cost += billing.hibernated_usd_per_gb_hour * gb_hours * rent.hibernated_s
    if billing.stopped_usd_per_gb_hour:
        cost += billing.stopped_usd_per_gb_hour * gb_hours * rent.stopped_s
    return cost


def _session_usd(first_usd_per_hour: float, prices: Prices, start_s: int, end_s: int, bill: Bill) -> float:
    """Price of a session, each second at that of its moment, and what is billed beyond its end at the last one."""
    billed_end_s = start_s + billed_s(bill, end_s - start_s)
    price, at_s, parts = first_usd_per_hour, start_s, []
    for time_s, changed in prices:
        if time_s > end_s:
            break
        if time_s > at_s:
            parts.append(price * (time_s - at_s))
            at_s = time_s
        price = changed
    parts.append(price * (billed_end_s - at_s))
    return math.fsum(parts) / SECONDS_PER_HOUR
