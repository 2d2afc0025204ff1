"""Burstable allocation: part 2 of the primary scheduling of Burst-HADS (Algorithm 1, lines 25-27)."""

from __future__ import annotations

import math

from ...core.limits import checkpoint
from ...instances.entries import RentalOffer
from ...instances.group_limits import VmsLeft
from ...instances.instance import Instance
from ...schedules.queues import Queue, ends_in_time, queue_times


def burst_allocation(instance: Instance, queues: list[Queue], burst_rate: float) -> list[Queue] | None:
    """Add burstable VMs to a plan, and mend with them what a relaxed D_spot has left too late.

    ``ceil(burst_rate * VMs with tasks)`` burstable VMs (line 26, decision on ``|selected_vms|``) of the cheapest
    burstable type are added, as far as the limits allow. Tasks that end after D_spot go to them, one each, in baseline
    mode; further ones to the cheapest regular on-demand VMs. A burstable VM that is still idle takes the task that
    ends last. (Section III-C, the paragraph after Algorithm 3; the paper gives no pseudocode.)

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    queues : list of Queue
        The plan; it is not changed.
    burst_rate : float
        Burstable VMs for each VM used.

    Returns
    -------
    list of Queue or None
        The plan with them; None if a task that is too late finds no place.

    Notes
    -----
    The paper does not say what happens to the order on a VM that loses a task; the tasks left keep theirs. An idle
    burstable VM stays out if the task that ends last would miss the deadline on it.
    """
    plan = _Plan(instance, [Queue(queue.offer, list(queue.tasks)) for queue in queues if queue.tasks])
    burstable = plan.rent_burstable(math.ceil(burst_rate * len(plan.queues) - 1e-9))
    idle = list(burstable)
    for task in plan.take_late_tasks():
        checkpoint()
        taker = next((vm for vm in idle if plan.fits(vm, task)), None)
        if taker is not None:
            taker.tasks.append(task)
            idle.remove(taker)
        elif not plan.put_on_demand(task):
            return None
    for vm in idle:
        checkpoint()
        last = plan.last_task()
        if last is None or not plan.fits(vm, last[1]):
            break
        queue, task = last
        queue.tasks.remove(task)
        vm.tasks.append(task)
    # Without a task that left, memory may let others start in another order: what is late then has no place.
    for queue in plan.queues:
        checkpoint()
        if not ends_in_time(instance, queue):
            return None
    return [*plan.queues, *burstable]


class _Plan:
    """Queues, and the VMs that may be added."""

    def __init__(self, instance: Instance, queues: list[Queue]) -> None:
        self.instance = instance
        self.queues = queues
        self.burstable: list[Queue] = []
        self.left = VmsLeft(instance)
        for queue in queues:
            self.left.take(queue.offer.index)

    def rent_burstable(self, wanted: int) -> list[Queue]:
        """Rent burstable VMs of the cheapest type, as many as wanted and allowed."""
        offers = [
            offer for offer in self.instance.offers if offer.burstable and offer.limit and offer.market == "on-demand"
        ]
        if offers:
            offer = min(offers, key=lambda entry: entry.price_usd_per_hour)
            while len(self.burstable) < wanted and self.left.of(offer.index) > 0:
                self.burstable.append(self._rent(offer))
        return self.burstable

    def _rent(self, offer: RentalOffer) -> Queue:
        self.left.take(offer.index)
        return Queue(offer, [])

    def take_late_tasks(self) -> list[int]:
        """Take the tasks that end too late from their VMs, of each VM the latest first."""
        late: list[int] = []
        for queue in self.queues:
            checkpoint()
            limit = self.instance.time_limit_s(queue.offer.market)
            while queue.tasks:
                ends = [end for _, _, end in queue_times(self.instance, queue)]
                if max(ends) <= limit:
                    break
                late.append(queue.tasks.pop(ends.index(max(ends))))
        return late

    def fits(self, vm: Queue, task: int) -> bool:
        """True if a task can be appended to a VM and ends in time."""
        if not _able(self.instance, vm.offer, task):
            return False
        return ends_in_time(self.instance, Queue(vm.offer, [*vm.tasks, task]))

    def put_on_demand(self, task: int) -> bool:
        """Append a task to a regular on-demand VM, a new one of the cheapest type if need be."""
        regular = [queue for queue in self.queues if queue.offer.market == "on-demand"]
        for queue in regular:
            if self.fits(queue, task):
                queue.tasks.append(task)
                return True
        offers = [offer for offer in self.instance.offers if offer.market == "on-demand" and not offer.burstable]
        for offer in sorted(offers, key=lambda entry: entry.price_usd_per_hour):
            if self.left.of(offer.index) > 0 and self.fits(Queue(offer, []), task):
                self.queues.append(self._rent(offer))
                self.queues[-1].tasks.append(task)
                return True
        return False

    def last_task(self) -> tuple[Queue, int] | None:
        """Return the task that ends last, burstable VMs aside, and its VM."""
        last: tuple[int, Queue, int] | None = None
        for queue in self.queues:
            checkpoint()
            for task, (_, _, end) in zip(queue.tasks, queue_times(self.instance, queue), strict=True):
                if last is None or end > last[0]:
                    last = end, queue, task
        return None if last is None else (last[1], last[2])


def _able(instance: Instance, offer: RentalOffer, task: int) -> bool:
    return int(instance.sustained_s[int(instance.task_group[task]), offer.index]) <= instance.deadline_s
