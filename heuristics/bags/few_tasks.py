"""All plans of a few tasks, gone through one by one: the best one is known to be, and none is where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...core.bill import begun_s
from ...core.limits import ITERATIONS, clock_s, count_work
from ...instances.entries import FULL_SPEED, NEVER
from ...instances.group_limits import VmsLeft
from ...instances.instance import Instance
from ...models.bags.task_classes import memory_is_free, offers_of_vms, usable_offers
from ...schedules.schedule import Schedule, plan_of_places
from ...schedules.timing import held_usd, objective_weights

_MOST_TASKS, _MOST_LOOKS = 5, 20_000
_DIGITS = 6
"""Decimals to which costs are compared, in seconds of the dearest VM: a sum in another order is no other cost."""


class AllPlans(NamedTuple):
    """The best of all plans; None if there is none."""

    schedule: Schedule | None


class _Vm(NamedTuple):
    """A VM that exists, or is rented: number, offer, when each core is free, until when it is paid, cost of its use."""

    number: int
    offer: int
    free_s: tuple[int, ...]
    held_s: int
    opening_usd: float


class _Place(NamedTuple):
    """A task on a core: the value of the plan with it, and its VMs then."""

    value: tuple[float, float]
    vm: int
    core: int
    start_s: int
    usd: float
    end_s: int
    vms: tuple[_Vm, ...]


def best_of_all(instance: Instance, until: float) -> AllPlans | None:
    """Go through all plans of what is left; None if there are too many, or where loads of cores do not say all.

    Parameters
    ----------
    instance : Instance
        With D_spot set and without a budget.
    until : float
        Moment of `clock_s` at which to give up.
    """
    latest_s = instance.latest_end_s
    if not 0 < len(instance.open_tasks) <= _MOST_TASKS or instance.leaves_time or (latest_s != latest_s[0]).any():
        return None
    burstable = any(offer.burstable for offer in offers_of_vms(instance))
    if burstable or instance.has_dates or not memory_is_free(instance):
        return None
    search = _Search(instance, until)
    return AllPlans(search.schedule()) if search.all_seen else None


class _Search:
    """A search in depth, what is best so far first: neither cost nor makespan falls with another task."""

    def __init__(self, instance: Instance, until: float) -> None:
        self.instance, self.until = instance, until
        self.dollar, self.second = objective_weights(instance)
        self.ready_s = instance.ready_s.tolist()
        self.price, self.opening, self.paid_s, self.block_s = (of_offer.tolist() for of_offer in instance.rents)
        self.unit_usd = max(*self.price, 1e-300)
        self.latest_s = instance.latest_end_s[0].tolist()
        self.rentable = usable_offers(instance)
        seconds = instance.duration_s[instance.task_group[instance.open_tasks], :, FULL_SPEED]
        order = np.argsort(-seconds.min(axis=1), kind="stable")  # the longest first
        self.tasks, self.seconds = instance.open_tasks[order], seconds[order].tolist()
        self.all_seen, self.looks = True, 0
        self.best, self.found = (np.inf, np.inf), tuple[_Place, ...]()
        free_s = [tuple(free for free in row if free < NEVER) for row in instance.machine_core_free_s.tolist()]
        held_s, offers = instance.machine_held_s.tolist(), instance.machine_offer.tolist()
        openings = instance.machine_opening_usd.tolist()
        there = [
            _Vm(k, offers[k], free_s[k], held_s[k], openings[k]) for k in np.flatnonzero(instance.machine_open).tolist()
        ]
        last_s = int(instance.running_end_s.max(initial=0))
        self._go_on(_Place((0, 0), 0, 0, 0, held_usd(instance), last_s, tuple(there)), ())

    def _go_on(self, last: _Place, placed: tuple[_Place, ...]) -> None:
        """Place the next task wherever it may be, and those that follow it."""
        if len(placed) == len(self.tasks):
            self.best, self.found = last.value, placed
            return
        for place in sorted(self._places(len(placed), last), key=lambda place: place.value):
            self.looks += 1
            count_work(ITERATIONS.place)
            self.all_seen &= self.looks <= _MOST_LOOKS and clock_s() < self.until
            if not self.all_seen or place.value >= self.best:
                return
            self._go_on(place, (*placed, place))

    def _places(self, task: int, last: _Place) -> Iterator[_Place]:
        """Places for a task, one of those that are alike."""
        first_new = len(self.instance.machines)
        left = VmsLeft(self.instance)
        for vm in last.vms:
            if vm.number >= first_new:
                left.take(vm.offer)
        new = [
            _Vm(
                first_new + len(last.vms),
                offer.index,
                (self.ready_s[offer.index],) * min(offer.vcpus, len(self.tasks)),
                self.ready_s[offer.index] + self.paid_s[offer.index],
                self.opening[offer.index],
            )
            for offer in self.rentable
            if left.of(offer.index) > 0
        ]
        seen = set[tuple[object, ...]]()
        for at, vm in enumerate([*last.vms, *new]):
            seconds = self.seconds[task][vm.offer]
            for core, start_s in enumerate(vm.free_s):
                end_s = start_s + seconds
                alike = (*vm[1:], start_s)
                if end_s > self.latest_s[vm.offer] or alike in seen:
                    continue
                seen.add(alike)
                more_s = begun_s(self.block_s[vm.offer], end_s, vm.held_s)
                usd = last.usd + vm.opening_usd + self.price[vm.offer] * more_s
                last_s = max(last.end_s, end_s)
                free_s = (*vm.free_s[:core], end_s, *vm.free_s[core + 1 :])
                used = _Vm(vm.number, vm.offer, free_s, vm.held_s + more_s, 0.0)
                vms = (*last.vms[:at], used, *last.vms[at + 1 :])
                yield _Place(self._value(usd, last_s), vm.number, core, start_s, usd, last_s, vms)

    def _value(self, usd: float, end_s: int) -> tuple[float, float]:
        """Value of a plan: the quantity to be made least first, and the second one."""
        vm_s = round(usd / self.unit_usd, _DIGITS)
        if not self.dollar or not self.second:
            return (vm_s, end_s) if self.dollar else (end_s, vm_s)
        return self.dollar * usd + self.second * end_s, 0

    def schedule(self) -> Schedule | None:
        """Return the best plan that was found."""
        if not self.found:
            return None
        vms = {vm.number: vm.offer for vm in self.found[-1].vms}
        numbers, cores, starts_s = np.array([place[1:4] for place in self.found], dtype=np.int64).T
        machines = self.instance.machine_offer
        offers = np.zeros(max(len(machines), *(number + 1 for number in vms)), dtype=np.int64)
        offers[: len(machines)] = machines
        offers[[*vms]] = [*vms.values()]
        return plan_of_places(self.instance, self.tasks, numbers, cores, starts_s, offers)
