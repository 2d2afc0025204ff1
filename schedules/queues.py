"""Plans from queues: the tasks of each VM in the order in which they are appended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..instances.entries import RentalOffer
from ..instances.instance import Instance
from .schedule import Schedule
from .timing import VmTimeline


@dataclass(slots=True)
class Queue:
    """A VM and its tasks in order; a burstable VM runs them in baseline mode.

    Attributes
    ----------
    offer : RentalOffer
        What the VM is.
    tasks : list of int
        Tasks, as indices into ``instance.task_ids``.
    """

    offer: RentalOffer
    tasks: list[int]


def queue_times(instance: Instance, queue: Queue) -> list[tuple[int, int, int]]:
    """Core, start and end of each task of a queue, by list scheduling."""
    offer = queue.offer
    binds = not instance.memory_never_binds[offer.type_index]
    timeline = VmTimeline(offer.vcpus, offer.memory_kb if binds else None, instance.boot_overhead_s)
    times = []
    for task in queue.tasks:
        group = int(instance.task_group[task])
        need_kb, seconds = int(instance.memory_kb[group]), int(instance.sustained_s[group, offer.index])
        start = timeline.earliest_start_s(need_kb, seconds)
        assert start is not None, "a task of a queue fits the memory of its VM"
        times.append((timeline.append(start, need_kb, seconds), start, start + seconds))
    return times


def schedule_of_queues(instance: Instance, queues: Sequence[Queue]) -> Schedule:
    """Make the plan of queues; VMs without tasks are left out."""
    used = [queue for queue in queues if queue.tasks]
    task_vm, task_core, start_s = (np.zeros(instance.n_tasks, dtype=np.int64) for _ in range(3))
    for vm, queue in enumerate(used):
        for task, (core, start, _) in zip(queue.tasks, queue_times(instance, queue), strict=True):
            task_vm[task], task_core[task], start_s[task] = vm, core, start
    vm_offer = np.array([queue.offer.index for queue in used], dtype=np.int64)
    baseline = instance.offer_is_burstable[vm_offer][task_vm]
    return Schedule(instance, vm_offer, task_vm, task_core, start_s, baseline)


def queues_of_schedule(schedule: Schedule) -> list[Queue]:
    """Return the queues of a plan, each in the order of starts."""
    queues = [Queue(schedule.instance.offers[index], []) for index in schedule.vm_offer.tolist()]
    for task in np.lexsort((schedule.task_core, schedule.task_start_s)).tolist():
        queues[schedule.task_vm[task]].tasks.append(task)
    return queues


def ends_in_time(instance: Instance, queue: Queue) -> bool:
    """Whether all tasks of a queue end by the limit of its VM."""
    return all(end <= instance.time_limit_s(queue.offer.market) for _, _, end in queue_times(instance, queue))
