"""The VMs of a replay: who is there, how many more may be requested, what they cost."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter

from ...instances.entries import RentalOffer
from ...instances.instance import Instance
from ..vms import HIBERNATED, TERMINATED, Billing, VmBill
from .vm import Vm


class Fleet:
    """All VMs of a replay, in the order of their requests, and the limits that they count against.

    Attributes
    ----------
    vms : list of Vm
        All VMs so far.
    spot_vms : dict of str to list of Vm
        The spot VMs of each type.
    by_price : list of Vm
        Those that are not terminated, by the price of their offers, then as they were requested.
    burstable : list of Vm
        All burstable VMs.
    down : set of str
        Spot types that are hibernated.
    any_stranded : bool
        Whether any VM may be `Vm.stranded`.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.vms: list[Vm] = []
        self.spot_vms: dict[str, list[Vm]] = {}
        self.by_price: list[Vm] = []
        self.burstable: list[Vm] = []
        self.any_stranded = False
        self.down: set[str] = set()
        self._names: set[str] = set()
        self._rented: Counter[int] = Counter()
        self._rented_by_market: Counter[str] = Counter()

    def copy(self) -> Fleet:
        """Return a fleet that goes on from here on its own."""
        twin = Fleet(self._instance)
        twin.vms = [vm.copy() for vm in self.vms]
        twin.spot_vms = {name: [twin.vms[vm.index] for vm in vms] for name, vms in self.spot_vms.items()}
        twin.by_price = [twin.vms[vm.index] for vm in self.by_price]
        twin.burstable = [twin.vms[vm.index] for vm in self.burstable]
        twin.any_stranded = self.any_stranded
        twin.down = self.down.copy()
        twin._names = self._names.copy()
        twin._rented = self._rented.copy()
        twin._rented_by_market = self._rented_by_market.copy()
        return twin

    def request(self, name: str, offer: RentalOffer, ready_s: int, first_start_s: int = 0) -> Vm:
        """Add a VM that is launching."""
        binds = not self._instance.memory_never_binds[offer.type_index]
        vm = Vm(len(self.vms), name, offer, ready_s, first_start_s, bool(binds))
        self.vms.append(vm)
        insort(self.by_price, vm, key=_price_then_request)
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
        del self.by_price[bisect_left(self.by_price, _price_then_request(vm), key=_price_then_request)]
        self._rented[vm.offer_index] -= 1
        self._rented_by_market[vm.offer.market] -= 1

    def is_down(self, offer: RentalOffer) -> bool:
        """Whether an offer is spot and its type hibernated."""
        return offer.market == "spot" and offer.vm_type.name in self.down

    def may_grow(self, offer: RentalOffer, in_market: int = 0, of_offer: int = 0) -> bool:
        """Whether the limits allow one more VM of an offer, after some more of the market and of the offer."""
        if self._rented[offer.index] + of_offer >= offer.vm_type.offers[offer.market].limit:
            return False
        cap = self._instance.limits.of(offer.market)
        return cap is None or self._rented_by_market[offer.market] + in_market < cap

    def new_name(self, offer: RentalOffer) -> str:
        """Name of the next VM of an offer."""
        number = self._rented[offer.index] + 1
        while (name := f"{offer.vm_type.name}-{offer.market}-{number}") in self._names:
            number += 1
        return name

    def bills(self, billing: Billing, now_s: int) -> tuple[VmBill, ...]:
        """Bill of each VM, as if all that are not terminated were now."""
        return tuple(_bill(vm, billing, now_s) for vm in self.vms)


def _price_then_request(vm: Vm) -> tuple[float, int]:
    return vm.offer.price_usd_per_hour, vm.index


def _bill(vm: Vm, billing: Billing, now_s: int) -> VmBill:
    end_s = vm.terminated_s if vm.state == TERMINATED else max(now_s, vm.ready_s)
    hibernated_s = vm.hibernated_s + (now_s - vm.hibernated_at_s if vm.state == HIBERNATED else 0)
    running_s = end_s - vm.ready_s - hibernated_s
    offer = vm.offer
    cost = billing.cost_usd(
        offer.price_usd_per_s, running_s, hibernated_s, vm.first_hibernation_s, offer.vm_type.memory_mb
    )
    return VmBill(vm.name, offer.vm_type.name, offer.market, vm.ready_s, end_s, hibernated_s, cost)
