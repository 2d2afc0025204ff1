"""A last resort where burstable VMs are too slow at the baseline: a core of each at full speed as far as credits go."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...core.limits import checkpoint, stop_point
from ...instances.entries import BASELINE, FULL_SPEED, NEVER, RentalOffer
from ...instances.instance import Instance
from ...schedules.queues import plan_of_places, timeline_of
from ...schedules.schedule import Schedule
from ...schedules.timing import VmTimeline
from .core_loads import FEW_TASKS

_SPARE_CREDITS = 1e-7


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
    check_limit = stop_point if instance.n_tasks <= FEW_TASKS else checkpoint
    machines = _machines(instance)
    fastest = instance.duration_s[:, :, FULL_SPEED].min(axis=1)
    order = instance.open_tasks[np.argsort(-fastest[instance.task_group[instance.open_tasks]], kind="stable")]
    task_vm, task_core, start_s = (np.zeros(instance.n_tasks, dtype=np.int64) for _ in range(3))
    baseline = np.zeros(instance.n_tasks, dtype=bool)
    for task in order.tolist():
        check_limit()
        group = int(instance.task_group[task])
        places = ((vm, machine.place(instance, group)) for vm, machine in enumerate(machines))
        found = [(place.end_s, vm, place) for vm, place in places if place is not None]
        if not found:
            return None
        _, vm, place = min(found, key=lambda entry: entry[:2])
        task_vm[task], task_core[task] = vm, machines[vm].take(instance, group, place)
        start_s[task], baseline[task] = place.start_s, place.baseline
    offers = np.array([machine.offer.index for machine in machines], dtype=np.int64)  # machines come first
    return plan_of_places(instance, order, task_vm[order], task_core[order], start_s[order], offers, baseline[order])


def _machines(instance: Instance) -> list[_Machine]:
    """Machines, and all VMs that may be rented together, those with more cores first where a market is limited."""
    machines = [_Machine.that_exists(instance, number) for number in range(len(instance.machines))]
    for market in instance.markets:
        cap = instance.market_limit(market)
        offers = [offer for offer in instance.offers if offer.market == market]
        for offer in sorted(offers, key=lambda offer: -offer.vcpus):
            count = min(offer.limit, instance.n_tasks) if cap is None else min(offer.limit, instance.n_tasks, cap)
            cap = None if cap is None else cap - count
            machines += [_Machine.of(instance, offer) for _ in range(count)]
    return machines


@dataclass(frozen=True, slots=True)
class _Place:
    """Start and end of a task, whether it runs at the baseline, and the credits that are left then."""

    start_s: int
    end_s: int
    baseline: bool = False
    credits: float = 0.0


@dataclass(slots=True)
class _Machine:
    """A VM, the timeline of its cores, and the credits at the end of its last task."""

    offer: RentalOffer
    timeline: VmTimeline
    limit_s: int
    credits: float = 0.0

    @classmethod
    def of(cls, instance: Instance, offer: RentalOffer) -> _Machine:
        """Rent a VM."""
        burstable = offer.vm_type.burstable
        binds = not instance.memory_never_binds[offer.type_index]
        cores = offer.vcpus if burstable is None else 1
        timeline = VmTimeline(cores, offer.memory_kb if binds else None, instance.boot_overhead_s)
        credits = 0.0 if burstable is None else min(burstable.initial_credits, burstable.credit_cap)
        limit_s = -1 if offer.market == "spot" and instance.d_spot_s is None else instance.time_limit_s(offer.market)
        return cls(offer, timeline, limit_s, credits)

    @classmethod
    def that_exists(cls, instance: Instance, number: int) -> _Machine:
        """Take a machine; one that is closed takes nothing more, a burstable one after all that runs there."""
        offer, machine = instance.offers[instance.machine_offer[number]], instance.machines[number]
        fresh = cls.of(instance, offer)
        fresh.timeline = timeline_of(instance, offer, number)
        rules = offer.vm_type.burstable
        if rules is not None:
            balance, since_s = fresh.credits, 0
            if machine.credits is not None:
                balance = min(machine.credits, rules.credit_cap)
            mine = instance.running.machine == number
            ends_s, at_baseline = np.maximum(instance.running_end_s[mine], 0), instance.running.baseline[mine]
            for end_s in np.unique(ends_s).tolist():
                runs = ends_s > since_s
                slow = int((runs & at_baseline).sum())
                balance = rules.credits_after(balance, end_s - since_s, int(runs.sum()) - slow, slow)
                since_s = end_s
            fresh.credits = balance
            fresh.timeline = VmTimeline(1, offer.memory_kb, max(int(instance.machine_ready_s[number]), since_s))
        if not machine.open:
            fresh.limit_s = -1
        return fresh

    def place(self, instance: Instance, group: int) -> _Place | None:
        """Where a task ends first here; None if it does not end in time."""
        full, slow = (int(instance.duration_s[group, self.offer.index, mode]) for mode in (FULL_SPEED, BASELINE))
        start = self.timeline.earliest_start_s(int(instance.memory_kb[group]), full) if full < NEVER else None
        if start is None:
            return None
        places = [_Place(start, start + full)]
        if self.offer.burstable:
            places = [*self._at_full_speed(start, full), *self._at_baseline(start, slow)]
        return min(
            (place for place in places if place.end_s <= self.limit_s), key=lambda place: place.end_s, default=None
        )

    def _at_full_speed(self, start: int, seconds: int) -> list[_Place]:
        """After a wait for credits, if need be; nowhere if a VM cannot hold as many."""
        burstable = self.offer.vm_type.burstable
        assert burstable is not None
        earned = burstable.credits_per_hour / 3600
        needed = max(seconds * (1 / 60 - earned), 0.0) + _SPARE_CREDITS
        if needed > max(burstable.credit_cap, self.credits) or (needed > self.credits and earned == 0):
            return []
        wait = math.ceil((needed - self.credits) / earned) if needed > self.credits else 0
        balance = burstable.credits_after(self.credits, wait) if wait else self.credits
        if balance < needed:
            return []
        left = burstable.credits_after(balance, seconds, at_full_speed=1)
        return [_Place(start + wait, start + wait + seconds, False, max(left - _SPARE_CREDITS, 0.0))]

    def _at_baseline(self, start: int, seconds: int) -> list[_Place]:
        if seconds >= NEVER:
            return []
        burstable = self.offer.vm_type.burstable
        assert burstable is not None
        left = burstable.credits_after(self.credits, seconds, at_baseline=1)
        return [_Place(start, start + seconds, True, max(left - _SPARE_CREDITS, 0.0))]

    def take(self, instance: Instance, group: int, place: _Place) -> int:
        """Run a task at its place; return its core."""
        self.credits = place.credits
        return self.timeline.append(place.start_s, int(instance.memory_kb[group]), place.end_s - place.start_s)
