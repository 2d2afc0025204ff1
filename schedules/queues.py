"""Plans from queues: the tasks of each VM in the order in which they are appended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..instances.entries import RentalOffer
from ..instances.instance import Instance
from .schedule import Schedule, plan_of_places
from .timing import VmTimeline


@dataclass(slots=True)
class Queue:
    """A VM and its tasks in order; a burstable VM runs them in baseline mode.

    Attributes
    ----------
    offer : RentalOffer
        What the VM is.
    tasks : list of int
        Tasks, as indices into ``instance.task_ids``; not those that run on a machine already.
    machine : int
        Which machine it is, as an index into ``instance.machines``; -1 if it is rented.
    """

    offer: RentalOffer
    tasks: list[int]
    machine: int = -1


def timeline_of(instance: Instance, offer: RentalOffer, machine: int = -1) -> VmTimeline:
    """Return the cores and memory of a VM of which nothing is planned yet."""
    binds = not instance.memory_never_binds[offer.type_index]
    ready_s = int(instance.ready_s[offer.index]) if machine < 0 else int(instance.machine_ready_s[machine])
    timeline = VmTimeline(offer.vcpus, offer.memory_kb if binds else None, ready_s)
    if machine >= 0:
        running, ends = instance.running, instance.running_end_s
        for row in np.flatnonzero(running.machine == machine).tolist():
            need_kb = int(instance.memory_kb[instance.task_group[running.task[row]]])
            timeline.place(int(running.core[row]), int(running.start_s[row]), int(ends[row]), need_kb)
    return timeline


def queue_times(instance: Instance, queue: Queue) -> list[tuple[int, int, int]]:
    """Core, start and end of each task of a queue, by list scheduling."""
    offer = queue.offer
    timeline = timeline_of(instance, offer, queue.machine)
    times = []
    for task in queue.tasks:
        group = int(instance.task_group[task])
        need_kb, seconds = int(instance.memory_kb[group]), int(instance.sustained_s[group, offer.index])
        start = timeline.earliest_start_s(need_kb, seconds, int(instance.release_s[group]))
        assert start is not None, "a task of a queue fits the memory of its VM"
        times.append((timeline.append(start, need_kb, seconds), start, start + seconds))
    return times


def schedule_of_queues(instance: Instance, queues: Sequence[Queue]) -> Schedule:
    """Make the plan of queues; VMs without tasks are left out."""
    first, rows = len(instance.machines), list[tuple[int, ...]]()
    for vm, queue in enumerate(queues, first):
        number, slow = vm if queue.machine < 0 else queue.machine, queue.offer.burstable
        times = zip(queue.tasks, queue_times(instance, queue), strict=True)
        rows += [(task, number, core, start_s, slow) for task, (core, start_s, _) in times]
    tasks, numbers, cores, starts_s, modes = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    offers = np.r_[instance.machine_offer, np.array([queue.offer.index for queue in queues], dtype=np.int64)]
    return plan_of_places(instance, tasks, numbers, cores, starts_s, offers, modes.astype(bool))


def queues_of_schedule(schedule: Schedule) -> list[Queue]:
    """Return the queues of a plan, each in the order of starts."""
    vms = zip(schedule.vm_offer.tolist(), schedule.vm_machine.tolist(), strict=True)
    queues = [Queue(schedule.instance.offers[index], [], machine) for index, machine in vms]
    # What runs already is no task of a queue: it is where it is.
    runs = set(schedule.instance.running.task.tolist())
    for task in np.lexsort((schedule.task_core, schedule.task_start_s)).tolist():
        if task not in runs:
            queues[schedule.task_vm[task]].tasks.append(task)
    return queues


def ends_in_time(instance: Instance, queue: Queue) -> bool:
    """True if all tasks of a queue end by the limit of its VM, and by their own deadlines."""
    limit_s, due_s = instance.time_limit_s(queue.offer.market), instance.due_s[instance.task_group[queue.tasks]]
    ends = [end for _, _, end in queue_times(instance, queue)]
    return all(end <= min(limit_s, due) for end, due in zip(ends, due_s.tolist(), strict=True))
