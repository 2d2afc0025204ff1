"""Assignments: plans as the tasks of each VM in their order, for VMs whose memory may bind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.quantities import FloatArray, IntArray
from ...instances.instance import Instance
from ...schedules.evaluation import objective_weights
from ...schedules.queues import Queue, ends_in_time, queues_of_schedule, schedule_of_queues
from ...schedules.schedule import Schedule


@dataclass(slots=True)
class Assignments:
    """VMs, and the tasks of each in the order in which they are appended. Times count from ready.

    Attributes
    ----------
    durations : array of int, shape (n_offers, n_tasks)
        Seconds of each task on each offer; burstable ones in baseline mode.
    vm_offer, vm_vcpus, vm_size_kb, vm_price, vm_limit : arrays, shape (n_vms,)
        Offer, cores, memory (-1 if it cannot bind), price of a second in units of the objective, latest end.
    vm_tasks, vm_count, vm_end : arrays
        Tasks of each VM (padded), their number, and its end.
    """

    instance: Instance
    durations: IntArray
    memory_kb: IntArray
    vm_offer: IntArray
    vm_vcpus: IntArray
    vm_size_kb: IntArray
    vm_price: FloatArray
    vm_limit: IntArray
    vm_tasks: IntArray
    vm_count: IntArray
    vm_end: IntArray
    time_weight: float
    penalty: float

    def value(self) -> float:
        """Objective, and the penalty for whatever ends too late."""
        late = np.maximum(0, self.vm_end - self.vm_limit).sum()
        ready = self.time_weight * self.instance.boot_overhead_s
        cost = float((self.vm_price * self.vm_end).sum())
        return cost + self.time_weight * float(self.vm_end.max()) + self.penalty * float(late) + ready

    def schedule(self, vm_tasks: IntArray, vm_count: IntArray) -> Schedule | None:
        """Make the plan of these tasks in this order; None if it ends too late."""
        rows = zip(self.vm_offer.tolist(), vm_tasks, vm_count.tolist(), strict=True)
        queues = [Queue(self.instance.offers[offer], tasks[:count].tolist()) for offer, tasks, count in rows]
        if not all(ends_in_time(self.instance, queue) for queue in queues):
            return None
        return schedule_of_queues(self.instance, queues)


def assignments_of(schedule: Schedule, spare_vms: int) -> Assignments:
    """Make the state of a plan, with ``spare_vms`` empty VMs of each offer beside it, as far as the limits allow.

    The plan must run tasks on burstable VMs in baseline mode only.
    """
    instance = schedule.instance
    usable = [offer for offer in instance.offers if offer.limit]
    vm_offer = schedule.vm_offer.tolist()
    for market in instance.markets:
        cap = instance.limits.of(market)
        rented = sum(instance.offers[index].market == market for index in vm_offer)
        for _ in range(spare_vms):
            for offer in usable:
                free = cap is None or rented < cap
                if offer.market == market and free and vm_offer.count(offer.index) < offer.limit:
                    vm_offer.append(offer.index)
                    rented += 1
    offers = [instance.offers[index] for index in vm_offer]
    n_tasks = instance.n_tasks
    vm_tasks = np.zeros((len(offers), n_tasks), dtype=np.int64)
    vm_count = np.zeros(len(offers), dtype=np.int64)
    for vm, queue in enumerate(queues_of_schedule(schedule)):
        vm_count[vm] = len(queue.tasks)
        vm_tasks[vm, : vm_count[vm]] = queue.tasks
    cost_weight, time_weight = objective_weights(instance)
    prices = instance.offer_price_usd_per_s[vm_offer] * cost_weight
    ready = instance.boot_overhead_s
    limits = [instance.time_limit_s(offer.market) - ready for offer in offers]
    binds = ~instance.memory_never_binds
    ends = np.zeros(len(offers), dtype=np.int64)
    ends[: len(schedule.vm_end_s)] = schedule.vm_end_s - ready
    return Assignments(
        instance=instance,
        durations=np.ascontiguousarray(instance.sustained_s[instance.task_group].T),
        memory_kb=instance.memory_kb[instance.task_group],
        vm_offer=np.array(vm_offer, dtype=np.int64),
        vm_vcpus=np.array([offer.vcpus for offer in offers], dtype=np.int64),
        vm_size_kb=np.array([offer.memory_kb if binds[offer.type_index] else -1 for offer in offers], dtype=np.int64),
        vm_price=prices,
        vm_limit=np.array(limits, dtype=np.int64),
        vm_tasks=vm_tasks,
        vm_count=vm_count,
        vm_end=ends,
        time_weight=time_weight,
        penalty=20 * (time_weight + float(prices.max()) * len(offers)),
    )
