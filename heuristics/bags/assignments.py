"""Assignments: plans as the tasks of each VM in their order, for VMs whose memory may bind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...core.limits import checkpoint
from ...core.quantities import FloatArray, IntArray
from ...instances.durations import NEVER
from ...instances.entries import RentalOffer
from ...instances.instance import Instance
from ...schedules.evaluation import objective_weights
from ...schedules.queues import Queue, ends_in_time, queues_of_schedule, schedule_of_queues, timeline_of
from ...schedules.schedule import Schedule

if TYPE_CHECKING:
    from .timeline_kernel import Vms


@dataclass(slots=True)
class Assignments:
    """VMs, and the tasks of each in the order in which they are appended.

    Times count from ready; if there are machines, from second 0.

    Attributes
    ----------
    durations : array of int, shape (n_offers, n_tasks)
        Seconds of each task on each offer; burstable ones in baseline mode.
    vm_offer, vm_vcpus, vm_size_kb, vm_price, vm_limit : arrays, shape (n_vms,)
        Offer, cores, memory (-1 if it cannot bind), price of a second in units of the objective, latest end.
    vm_machine, vm_free : arrays of int, shape (n_vms,)
        Machine that a VM is, or -1; until when nothing more is paid.
    core_start, held_kb : arrays of int, shape (n_vms, most cores)
        When each core is free, and the memory that is held there until then.
    vm_tasks, vm_count, vm_end : arrays
        Tasks of each VM (padded), their number, and its end.
    """

    instance: Instance
    durations: IntArray
    memory_kb: IntArray
    vm_offer: IntArray
    vm_vcpus: IntArray
    vm_size_kb: IntArray
    vm_machine: IntArray
    vm_free: IntArray
    core_start: IntArray
    held_kb: IntArray
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
        ready = 0.0 if self.instance.machines else self.time_weight * self.instance.boot_overhead_s
        cost = float((self.vm_price * np.maximum(self.vm_end, self.vm_free)).sum() - self.vm_price @ self.vm_free)
        return cost + self.time_weight * float(self.vm_end.max()) + self.penalty * float(late) + ready

    def of_kernel(self) -> Vms:
        """Return the VMs as the compiled list scheduling takes them."""
        from .timeline_kernel import Vms

        return Vms(
            self.durations,
            self.memory_kb,
            self.vm_offer,
            self.vm_vcpus,
            self.vm_size_kb,
            self.core_start,
            self.held_kb,
        )

    def schedule(self, vm_tasks: IntArray, vm_count: IntArray) -> Schedule | None:
        """Make the plan of these tasks in this order; None if it ends too late."""
        rows = zip(self.vm_offer.tolist(), self.vm_machine.tolist(), vm_tasks, vm_count.tolist(), strict=True)
        queues = [
            Queue(self.instance.offers[offer], tasks[:count].tolist(), machine) for offer, machine, tasks, count in rows
        ]
        if not all(ends_in_time(self.instance, queue) for queue in queues):
            return None
        return schedule_of_queues(self.instance, queues)


def assignments_of(schedule: Schedule, spare_vms: int) -> Assignments:
    """Make the state of a plan, with ``spare_vms`` empty VMs of each offer beside it, as far as the limits allow.

    The plan must run tasks on burstable VMs in baseline mode only. Machines that take tasks are there as well.
    """
    instance = schedule.instance
    queues = queues_of_schedule(schedule)
    ends_s = schedule.vm_end_s.tolist()
    for machine in {*np.flatnonzero([entry.open for entry in instance.machines]).tolist()} - {
        queue.machine for queue in queues
    }:
        queues.append(Queue(instance.offers[instance.machine_offer[machine]], [], machine))
    rented = [queue.offer.index for queue in queues if queue.machine < 0]
    for market in instance.markets:
        cap = instance.market_limit(market)
        n_rented = sum(instance.offers[index].market == market for index in rented)
        for _ in range(spare_vms):
            for offer in instance.offers:
                free = cap is None or n_rented < cap
                if offer.limit and offer.market == market and free and rented.count(offer.index) < offer.limit:
                    rented.append(offer.index)
                    queues.append(Queue(offer, []))
                    n_rented += 1
    return _state_of(instance, queues, ends_s)


def _state_of(instance: Instance, queues: list[Queue], ends_s: list[int]) -> Assignments:
    """Make the state of queues, of which the first end then; the others are empty."""
    closed = {number for number, machine in enumerate(instance.machines) if not machine.open}
    if closed:
        ends_s = [end for end, queue in zip(ends_s, queues, strict=False) if queue.machine not in closed]
        queues = [queue for queue in queues if queue.machine not in closed]
    offers = [queue.offer for queue in queues]
    vm_offer = np.array([offer.index for offer in offers], dtype=np.int64)
    vm_machine = np.array([queue.machine for queue in queues], dtype=np.int64)
    vm_vcpus = np.array([offer.vcpus for offer in offers], dtype=np.int64)
    n_tasks = instance.n_tasks
    vm_tasks = np.zeros((len(offers), n_tasks), dtype=np.int64)
    vm_count = np.array([len(queue.tasks) for queue in queues], dtype=np.int64)
    for vm, queue in enumerate(queues):
        vm_tasks[vm, : vm_count[vm]] = queue.tasks
    cost_weight, time_weight = objective_weights(instance)
    prices = instance.offer_price_usd_per_s[vm_offer] * cost_weight
    boot_s = instance.boot_overhead_s
    zero_s = 0 if instance.machines else boot_s
    binds = ~instance.memory_never_binds
    vm_free = np.full(len(offers), boot_s - zero_s)
    core_start = np.full((len(offers), int(vm_vcpus.max())), boot_s - zero_s)
    held_kb = np.zeros_like(core_start)
    exists = np.flatnonzero(vm_machine >= 0)
    if len(exists):
        running, free_s = instance.running, instance.machine_core_free_s
        width = min(core_start.shape[1], free_s.shape[1])
        vm_free[exists] = instance.machine_paid_until_s[vm_machine[exists]]
        core_start[exists, :width] = free_s[vm_machine[exists], :width]
        held = np.zeros_like(free_s)
        held[running.machine, running.core] = instance.memory_kb[instance.task_group[running.task]]
        held_kb[exists, :width] = held[vm_machine[exists], :width]
    last_s = np.array([instance.time_limit_s(offer.market) - zero_s for offer in offers], dtype=np.int64)
    ends = np.where(np.arange(core_start.shape[1]) < vm_vcpus[:, None], core_start, 0).max(axis=1)
    ends[: len(ends_s)] = np.array(ends_s, dtype=np.int64) - zero_s
    return Assignments(
        instance=instance,
        durations=np.ascontiguousarray(instance.sustained_s[instance.task_group].T),
        memory_kb=instance.memory_kb[instance.task_group],
        vm_offer=vm_offer,
        vm_vcpus=vm_vcpus,
        vm_size_kb=np.array([offer.memory_kb if binds[offer.type_index] else -1 for offer in offers], dtype=np.int64),
        vm_machine=vm_machine,
        vm_free=vm_free,
        core_start=core_start,
        held_kb=held_kb,
        vm_price=prices,
        vm_limit=last_s,
        vm_tasks=vm_tasks,
        vm_count=vm_count,
        vm_end=ends,
        time_weight=time_weight,
        penalty=20 * (time_weight + float(prices.max()) * len(offers)),
    )


def listed_plan(instance: Instance) -> Schedule | None:
    """Plan from a state task by task, the longest first, each where it adds least to the objective.

    Returns
    -------
    Schedule or None
        None if a task found no place in time.
    """
    cost_weight, time_weight = objective_weights(instance)
    listed = [
        _Listed(instance, instance.offers[index], number)
        for number, index in enumerate(instance.machine_offer.tolist())
        if instance.machines[number].open
    ]
    left = {offer.index: offer.limit for offer in instance.offers if offer.limit}
    left_of_market = {market: instance.market_limit(market) for market in instance.markets}
    longest = instance.sustained_s.min(axis=1)[instance.task_group[instance.open_tasks]]
    makespan_s = int(instance.running_end_s.max(initial=0))
    for task in instance.open_tasks[np.argsort(-longest, kind="stable")].tolist():
        checkpoint()
        fresh = [
            _Listed(instance, instance.offers[index])
            for index, number in left.items()
            if number and left_of_market[instance.offers[index].market] != 0
        ]
        best: tuple[float, int, _Listed] | None = None
        for vm in [*listed, *fresh]:
            end_s = vm.end_if_placed_s(task)
            if end_s is not None:
                more = cost_weight * vm.more_usd(end_s) + time_weight * max(end_s - makespan_s, 0)
                if best is None or (more, end_s) < best[:2]:
                    best = more, end_s, vm
        if best is None:
            return None
        _, end_s, vm = best
        if vm in fresh:
            listed.append(vm)
            left[vm.queue.offer.index] -= 1
            cap = left_of_market[vm.queue.offer.market]
            left_of_market[vm.queue.offer.market] = None if cap is None else cap - 1
        vm.place(task)
        makespan_s = max(makespan_s, end_s)
    return schedule_of_queues(instance, [vm.queue for vm in listed])


class _Listed:
    """A VM, and what has been put there so far."""

    def __init__(self, instance: Instance, offer: RentalOffer, machine: int = -1) -> None:
        self.instance = instance
        self.queue = Queue(offer, [], machine)
        self.timeline = timeline_of(instance, offer, machine)
        self.last_s = instance.time_limit_s(offer.market)
        paid_s = instance.boot_overhead_s if machine < 0 else int(instance.machine_paid_until_s[machine])
        self.paid_s = max(paid_s, self.timeline.end_s)

    def _takes(self, task: int) -> tuple[int, int]:
        group = self.instance.task_group[task]
        return int(self.instance.memory_kb[group]), int(self.instance.sustained_s[group, self.queue.offer.index])

    def end_if_placed_s(self, task: int) -> int | None:
        """When a task would end here; None if that is too late."""
        need_kb, seconds = self._takes(task)
        start_s = self.timeline.earliest_start_s(need_kb, seconds) if seconds < NEVER else None
        return None if start_s is None or start_s + seconds > self.last_s else start_s + seconds

    def more_usd(self, end_s: int) -> float:
        """What it costs more if it ends then."""
        return self.queue.offer.price_usd_per_s * max(end_s - self.paid_s, 0)

    def place(self, task: int) -> None:
        """Append a task."""
        need_kb, seconds = self._takes(task)
        start_s = self.timeline.earliest_start_s(need_kb, seconds)
        assert start_s is not None, "it was asked before"
        self.timeline.append(start_s, need_kb, seconds)
        self.queue.tasks.append(task)
        self.paid_s = max(self.paid_s, start_s + seconds)
