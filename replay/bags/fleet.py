"""The VMs of a replay: who is there, how many more may be requested, what they cost."""

from __future__ import annotations

import math
from bisect import insort
from collections import Counter

from ...core.quantities import SECONDS_PER_HOUR
from ...instances.clouds import Billing
from ...instances.entries import RentalOffer
from ...instances.instance import Instance
from ..vms import HIBERNATED, RUNNING, STOPPED, TERMINATED, VmBill
from .vm import Vm

_MB_PER_GB = 1024


class Fleet:
    """All VMs of a replay, in the order of their requests, and the limits that they count against.

    Attributes
    ----------
    vms : list of Vm
        All VMs so far.
    spot_vms : dict of str to list of Vm
        The spot VMs of each type.
    burstable : list of Vm
        All burstable VMs.
    any_stranded : bool
        Whether any VM may be `Vm.stranded`.
    capacity : dict of str to int
        Of spot types that do not give as many VMs as one likes: how many there can be.
    struck_by : dict of str to str
        Of spot types: the kind of interruption of those VMs for which there is no capacity.
    prices : dict of int to list of tuple of int and float
        Of offers whose price has changed: from when on it is how much, in USD per hour, by time.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.vms: list[Vm] = []
        self.spot_vms: dict[str, list[Vm]] = {}
        self._by_price: list[Vm] | None = None
        self.burstable: list[Vm] = []
        self.any_stranded = False
        self.capacity: dict[str, int] = {}
        self.struck_by: dict[str, str] = {}
        self.prices: dict[int, list[tuple[int, float]]] = {}
        self._names: set[str] = set()
        self._rented: Counter[int] = Counter()
        self._rented_by_market: Counter[str] = Counter()

    def copy(self) -> Fleet:
        """Return a fleet that goes on from here on its own."""
        twin = Fleet(self._instance)
        twin.vms = [vm.copy() for vm in self.vms]
        twin.spot_vms = {name: [twin.vms[vm.index] for vm in vms] for name, vms in self.spot_vms.items()}
        twin._by_price = None if self._by_price is None else [twin.vms[vm.index] for vm in self._by_price]
        twin.burstable = [twin.vms[vm.index] for vm in self.burstable]
        twin.any_stranded = self.any_stranded
        twin.capacity = self.capacity.copy()
        twin.struck_by = self.struck_by.copy()
        twin.prices = {offer: changes.copy() for offer, changes in self.prices.items()}
        twin._names = self._names.copy()
        twin._rented = self._rented.copy()
        twin._rented_by_market = self._rented_by_market.copy()
        return twin

    def request(self, name: str, offer: RentalOffer, ready_s: int, first_start_s: int = 0) -> Vm:
        """Add a VM that is launching."""
        binds = not self._instance.memory_never_binds[offer.type_index]
        vm = Vm(len(self.vms), name, offer, ready_s, first_start_s, bool(binds))
        self.vms.append(vm)
        if self._by_price is not None:
            insort(self._by_price, vm, key=_price_then_request)
        self._names.add(name)
        self._rented[offer.index] += 1
        self._rented_by_market[offer.market] += 1
        if vm.burstable is not None:
            self.burstable.append(vm)
        if vm.spot:
            self.spot_vms.setdefault(offer.vm_type.name, []).append(vm)
        return vm

    def give_back(self, vm: Vm) -> None:
        """Count a terminated VM against no limit any more."""
        if self._by_price is not None:
            self._by_price.remove(vm)
        self._rented[vm.offer_index] -= 1
        self._rented_by_market[vm.offer.market] -= 1

    @property
    def by_price(self) -> list[Vm]:
        """VMs that are not terminated, by price, then in the order of their requests; sorted once somebody asks."""
        if self._by_price is None:
            self._by_price = sorted((vm for vm in self.vms if vm.state != TERMINATED), key=_price_then_request)
        return self._by_price

    def may_grow(self, offer: RentalOffer, in_market: int = 0, of_offer: int = 0) -> bool:
        """Whether limits and capacity allow one more VM of an offer, after some more of the market and of the offer."""
        if self._rented[offer.index] + of_offer >= offer.vm_type.offers[offer.market].limit:
            return False
        cap = self._instance.limits.of(offer.market)
        if cap is not None and self._rented_by_market[offer.market] + in_market >= cap:
            return False
        return offer.market != "spot" or not self.capacity or self.room(offer.vm_type.name) > of_offer

    def rented(self, offer: RentalOffer) -> int:
        """VMs of an offer that are not terminated."""
        return self._rented[offer.index]

    def rented_of(self, market: str) -> int:
        """VMs of a market that are not terminated."""
        return self._rented_by_market[market]

    def present(self, vm_type: str) -> list[Vm]:
        """Spot VMs of a type that use its capacity: launching, running and draining ones."""
        return [vm for vm in self.spot_vms.get(vm_type, ()) if vm.state <= RUNNING]

    def room(self, vm_type: str) -> float:
        """How many more spot VMs of a type its capacity allows; infinite without a limit."""
        capacity = self.capacity.get(vm_type)
        return math.inf if capacity is None else capacity - len(self.present(vm_type))

    def has_room_for(self, vm: Vm) -> bool:
        """Whether a VM that is present is among those that its type has capacity for: the first requested."""
        capacity = self.capacity.get(vm.offer.vm_type.name) if vm.spot else None
        return capacity is None or vm in self.present(vm.offer.vm_type.name)[:capacity]

    def new_name(self, offer: RentalOffer) -> str:
        """Name of the next VM of an offer."""
        number = self._rented[offer.index] + 1
        while (name := f"{offer.vm_type.name}-{offer.market}-{number}") in self._names:
            number += 1
        return name

    def price_usd_per_hour(self, offer: RentalOffer) -> float:
        """Price of an offer now."""
        changes = self.prices.get(offer.index)
        return offer.price_usd_per_hour if changes is None else changes[-1][1]

    def bills(self, billing: Billing, now_s: int) -> tuple[VmBill, ...]:
        """Bill of each VM, as if all that are not terminated were now."""
        return tuple(_bill(vm, billing, now_s, self.prices.get(vm.offer_index, ())) for vm in self.vms)


def _price_then_request(vm: Vm) -> tuple[float, int]:
    return vm.offer.price_usd_per_hour, vm.index


def _bill(vm: Vm, billing: Billing, now_s: int, prices: list[tuple[int, float]] | tuple[()]) -> VmBill:
    """Bill of a VM: its sessions, and what it costs while it is hibernated or stopped."""
    offer, state = vm.offer, vm.state
    first_ready_s = vm.sessions[0][0] if vm.sessions else vm.ready_s if vm.session_s is None else vm.session_s
    end_s = vm.terminated_s if state == TERMINATED else max(now_s, first_ready_s)
    hibernated_s = vm.hibernated_s + (now_s - vm.halted_at_s if state == HIBERNATED else 0)
    stopped_s = vm.stopped_s + (now_s - vm.halted_at_s if state == STOPPED else 0)
    sessions = vm.sessions if vm.session_s is None else [*vm.sessions, (vm.session_s, now_s, False)]
    free = bool(sessions) and is_free(billing, offer, *sessions[0])
    paid = sessions[1:] if free else sessions
    if prices:
        costs = [_session_usd(offer.price_usd_per_hour, prices, start, end, billing) for start, end, _ in paid]
        cost = math.fsum(costs)
    else:
        billed_s = 0
        for start, end, _ in paid:
            billed_s += billing.billed_s(end - start)
        cost = offer.price_usd_per_s * billed_s
    cost = with_rest_usd(cost, billing, offer, hibernated_s, stopped_s)
    rested_s = 0
    if sessions:
        rested_s = end_s - first_ready_s - hibernated_s
        for start, end, _ in sessions:
            rested_s -= end - start
    return VmBill(vm.name, offer.vm_type.name, offer.market, first_ready_s, end_s, hibernated_s, cost, max(rested_s, 0))


def is_free(billing: Billing, offer: RentalOffer, start_s: int, end_s: int, interrupted: bool) -> bool:
    """True if the first session of a VM costs nothing."""
    within_an_hour = interrupted and end_s - start_s < SECONDS_PER_HOUR
    return billing.first_hour_free and offer.market == "spot" and within_an_hour


def with_rest_usd(cost: float, billing: Billing, offer: RentalOffer, hibernated_s: int, stopped_s: int) -> float:
    """Add to the bill of a VM what it costs while it is hibernated or stopped."""
    gb_hours = offer.vm_type.memory_mb / _MB_PER_GB / SECONDS_PER_HOUR
    if billing.hibernated_usd_per_gb_hour:
        cost += billing.hibernated_usd_per_gb_hour * gb_hours * hibernated_s
    if billing.stopped_usd_per_gb_hour:
        cost += billing.stopped_usd_per_gb_hour * gb_hours * stopped_s
    return cost


def _session_usd(
    first_usd_per_hour: float, prices: list[tuple[int, float]], start_s: int, end_s: int, billing: Billing
) -> float:
    """Price of a session, each second at that of its moment, and what is billed beyond its end at the last one."""
    billed_end_s = start_s + billing.billed_s(end_s - start_s)
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
