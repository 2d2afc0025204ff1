"""Plans made task by task over machines and new VMs: each task where it adds least, or where it ends first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.bill import begun_s
from ...core.limits import checkpoint, stop_point
from ...core.quantities import IntArray
from ...instances.entries import FULL_SPEED, LACKING_CREDITS, NEVER, SECONDS_PER_CREDIT, RentalOffer, VmsLeft
from ...instances.instance import Instance
from ...schedules.method import FEW_TASKS
from ...schedules.queues import timeline_of
from ...schedules.schedule import Schedule, plan_of_places
from ...schedules.timing import VmTimeline, objective_weights, vm_rents

# Sums of credits differ in their last digits from those of the checker, which lets ten times as much pass.
_SPARE_CREDITS = LACKING_CREDITS / 10


def listed_plan(instance: Instance) -> Schedule | None:
    """Plan task by task, the longest first, each where it adds least to the objective.

    Tasks with dates come in the order of their releases, and then of their latest starts.

    Returns
    -------
    Schedule or None
        None if a task found no place in time, or one that runs already ends after the deadline.
    """
    cost_weight, time_weight = objective_weights(instance)
    groups = instance.task_group[instance.open_tasks]
    longest = instance.sustained_s.min(axis=1)[groups]
    order = np.argsort(-longest, kind="stable")
    if instance.has_dates:
        order = np.lexsort((instance.due_s[groups] - longest, instance.release_s[groups]))

    def more(vm: _Vm, end_s: int, makespan_s: int) -> tuple[float, int]:
        usd = vm.opening_usd + vm.offer.price_usd_per_s * begun_s(vm.block_s, end_s, vm.paid_s)
        return cost_weight * usd + time_weight * max(end_s - makespan_s, 0), end_s

    return _one_by_one(instance, order, instance.offers, more, checkpoint)


def full_speed_plan(instance: Instance) -> Schedule | None:
    """Plan longest task first over machines and all VMs that may be rented; None if a task finds no place in time.

    A burstable VM uses one core. Each of its tasks runs at full speed, after a wait for the credits that it spends if
    they are too few, or at the baseline, whichever ends first.

    Parameters
    ----------
    instance : Instance
        With D_spot set.

    Raises
    ------
    LimitReached
        If it is asked to stop; and, of more than 400 tasks, if the time is over.
    """
    fastest = instance.duration_s[:, :, FULL_SPEED].min(axis=1)
    order = np.argsort(-fastest[instance.task_group[instance.open_tasks]], kind="stable")
    larger_first = sorted(instance.offers, key=lambda offer: -offer.vcpus)
    check_limit = stop_point if instance.n_tasks <= FEW_TASKS else checkpoint
    return _one_by_one(instance, order, larger_first, lambda vm, end_s, _: (end_s,), check_limit, bursts=True)


def _one_by_one(
    instance: Instance,
    order: IntArray,
    offers: Sequence[RentalOffer],
    value: Callable[[_Vm, int, int], tuple[float, ...]],
    check_limit: Callable[[], None],
    bursts: bool = False,
) -> Schedule | None:
    """Place open tasks one by one, each on the VM with the least value; None if one finds no place in time.

    The value is one of the VM, the end of the task there, and the makespan before. Of several VMs with the least one,
    the first is taken: machines, then VMs that have tasks already, then new ones in the order of the offers.
    """
    last_s = int(instance.running_end_s.max(initial=0))
    if (instance.running_end_s > instance.due_s[instance.task_group[instance.running.task]]).any():
        return None
    first, machine_offer = len(instance.machines), instance.machine_offer
    numbers = np.flatnonzero(instance.machine_open).tolist()
    vms = [_Vm(instance, instance.offers[machine_offer[number]], number, number, bursts) for number in numbers]
    rented: list[int] = []
    left = VmsLeft(instance)
    rows = []
    for task in instance.open_tasks[order].tolist():
        check_limit()
        new = [_Vm(instance, offer, first + len(rented), -1, bursts) for offer in offers if left.of(offer.index) > 0]
        group = int(instance.task_group[task])
        placed = [(vm, place) for vm in (*vms, *new) if (place := vm.place(group)) is not None]
        if not placed:
            return None
        vm, place = min(placed, key=lambda pair: value(pair[0], pair[1].end_s, last_s))
        if vm.number == first + len(rented):
            vms.append(vm)
            rented.append(vm.offer.index)
            left.take(vm.offer.index)
        rows.append((task, vm.number, vm.take(group, place), place.start_s, place.baseline))
        last_s = max(last_s, place.end_s)
    tasks, places, cores, starts_s, modes = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    vm_offers = np.concatenate([machine_offer, np.array(rented, dtype=np.int64)])
    return plan_of_places(instance, tasks, places, cores, starts_s, vm_offers, modes.astype(bool))


@dataclass(frozen=True, slots=True)
class _Place:
    """Start and end of a task, whether it runs at the baseline, and the credits that are left then."""

    start_s: int
    end_s: int
    baseline: bool = False
    credits: float = 0.0


class _Vm:
    """A VM, what has been put there so far, until when it is paid, and its credits then where tasks may burst."""

    def __init__(self, instance: Instance, offer: RentalOffer, number: int, machine: int, bursts: bool) -> None:
        self.instance, self.offer, self.number = instance, offer, number
        self.timeline = timeline_of(instance, offer, machine)
        rent = vm_rents(instance, np.array([offer.index]), np.array([machine]))
        self.opening_usd, self.block_s = float(rent.opening_usd[0]), int(rent.block_s[0])
        self.paid_s = max(int(rent.paid_until_s[0]), self.timeline.end_s)
        self.rules = offer.vm_type.burstable if bursts else None
        self.credits = 0.0
        if self.rules is not None:
            self.timeline = VmTimeline(1, offer.memory_kb, self._idle_from_s(machine))

    def _idle_from_s(self, machine: int) -> int:
        """Set the credits of a burstable VM once all that runs there has ended; return when that is."""
        instance, rules = self.instance, self.rules
        assert rules is not None, "others have no credits"
        self.credits, since_s = min(rules.initial_credits, rules.credit_cap), 0
        if machine < 0:
            return int(instance.ready_s[self.offer.index])
        known = instance.machines[machine].credits
        if known is not None:
            self.credits = min(known, rules.credit_cap)
        mine = instance.running.machine == machine
        ends_s, at_baseline = np.maximum(instance.running_end_s[mine], 0), instance.running.baseline[mine]
        for end_s in np.unique(ends_s).tolist():
            runs = ends_s > since_s
            slow = int((runs & at_baseline).sum())
            self.credits = rules.credits_after(self.credits, end_s - since_s, int(runs.sum()) - slow, slow)
            since_s = end_s
        return max(int(instance.machine_ready_s[machine]), since_s)

    def place(self, group: int) -> _Place | None:
        """Place on this VM at which a task of a group ends first; None if it does not end in time."""
        instance, index = self.instance, self.offer.index
        full, slow = instance.duration_s[group, index].tolist()
        seconds = int(instance.sustained_s[group, index]) if self.rules is None else full
        if seconds >= NEVER:
            return None
        need_kb, release_s = int(instance.memory_kb[group]), int(instance.release_s[group])
        start_s = self.timeline.earliest_start_s(need_kb, seconds, release_s)
        if start_s is None:
            return None
        places = [_Place(start_s, start_s + seconds, self.offer.burstable)]
        if self.rules is not None:
            places = [*self._at_full_speed(start_s, full), *self._at_baseline(start_s, slow)]
        in_time = (place for place in places if place.end_s <= instance.latest_end_s[group, index])
        return min(in_time, key=lambda place: place.end_s, default=None)

    def _at_full_speed(self, start: int, seconds: int) -> list[_Place]:
        """Places at full speed, after a wait for credits if need be; none if a VM cannot hold as many."""
        assert self.rules is not None, "others have no credits"
        earned = self.rules.credits_per_hour / 3600
        needed = max(seconds * (1 / SECONDS_PER_CREDIT - earned), 0.0) + _SPARE_CREDITS
        if needed > max(self.rules.credit_cap, self.credits) or (needed > self.credits and earned == 0):
            return []
        wait = math.ceil((needed - self.credits) / earned) if needed > self.credits else 0
        balance = self.rules.credits_after(self.credits, wait) if wait else self.credits
        if balance < needed:
            return []
        left = self.rules.credits_after(balance, seconds, at_full_speed=1)
        return [_Place(start + wait, start + wait + seconds, False, max(left - _SPARE_CREDITS, 0.0))]

    def _at_baseline(self, start: int, seconds: int) -> list[_Place]:
        if seconds >= NEVER:
            return []
        assert self.rules is not None, "others have no credits"
        left = self.rules.credits_after(self.credits, seconds, at_baseline=1)
        return [_Place(start, start + seconds, True, max(left - _SPARE_CREDITS, 0.0))]

    def take(self, group: int, place: _Place) -> int:
        """Run a task at its place; return its core."""
        self.credits, self.opening_usd = place.credits, 0.0
        self.paid_s += begun_s(self.block_s, place.end_s, self.paid_s)
        return self.timeline.append(place.start_s, int(self.instance.memory_kb[group]), place.end_s - place.start_s)
