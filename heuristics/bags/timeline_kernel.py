"""List scheduling of the tasks of one VM with exact memory: the inner loop of the searches on assignments."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...core.compiled import compiled, compiled_part

if TYPE_CHECKING:
    from ...core.quantities import IntArray


class Vms(NamedTuple):
    """VMs, and what the tasks take there.

    Attributes
    ----------
    durations : array of int, shape (n_offers, n_tasks)
        Seconds of each task on each offer; huge where it cannot run.
    memory_kb : array of int, shape (n_tasks,)
        Memory of each task.
    offer, vcpus, size_kb : array of int, shape (n_vms,)
        Offer and cores of each VM, and its memory; negative if that cannot bind.
    core_start, held_kb : array of int, shape (n_vms, most cores)
        When each core is free, and the memory that is held there until then.
    """

    durations: IntArray
    memory_kb: IntArray
    offer: IntArray
    vcpus: IntArray
    size_kb: IntArray
    core_start: IntArray
    held_kb: IntArray


class Workspace(NamedTuple):
    """Scratch arrays, kept from call to call: when each core is free; the tasks that hold memory."""

    core_free: IntArray
    ends: IntArray
    starts: IntArray
    needs: IntArray


@compiled_part
def workspace(vms: Vms, most_tasks: int) -> Workspace:
    """Make the workspace for VMs of so many tasks at most."""
    most_cores = 0
    for cores in vms.vcpus:
        most_cores = max(most_cores, cores)
    of_tasks = np.empty((3, max(most_tasks + most_cores, 1)), dtype=np.int64)
    return Workspace(np.empty(most_cores, dtype=np.int64), of_tasks[0], of_tasks[1], of_tasks[2])


@compiled_part
def list_schedule_end(vms: Vms, vm: int, tasks: IntArray, count: int, work: Workspace) -> int:
    """Return when a VM ends if tasks are appended to it in their order.

    It counts from ready; if there are machines, from second 0. The rule is that of
    `spotbag.schedules.timing.VmTimeline`: a task starts at the earliest time at which a core is free for good and the
    memory suffices for the whole time it runs.

    Parameters
    ----------
    vms, vm : Vms, int
        The VMs, and which of them it is.
    tasks, count : array of int, shape (>= count,), int
        Tasks in their order, and how many there are.
    work : Workspace
        Large enough.
    """
    durations, memory_kb = vms.durations[vms.offer[vm]], vms.memory_kb
    vcpus, size_kb = vms.vcpus[vm], vms.size_kb[vm]
    core_free, ends, starts, needs = work
    placed = 0
    latest = 0
    # Cores of machines are busy at first, with the memory of what runs there.
    for core in range(vcpus):
        free = vms.core_start[vm, core]
        core_free[core] = free
        latest = max(latest, free)
        if vms.held_kb[vm, core] > 0:
            ends[placed], starts[placed], needs[placed] = free, 0, vms.held_kb[vm, core]
            placed += 1
    for position in range(count):
        task = tasks[position]
        duration = durations[task]
        # The core that is free first says when the task could start at the earliest.
        earliest = 0
        for core in range(1, vcpus):
            if core_free[core] < core_free[earliest]:
                earliest = core
        start = core_free[earliest]
        if size_kb >= 0:
            # Forget what ended before any core is free, then look for room from there on.
            retained = 0
            for other in range(placed):
                if ends[other] > start:
                    ends[retained], starts[retained], needs[retained] = ends[other], starts[other], needs[other]
                    retained += 1
            placed = retained
            room = size_kb - memory_kb[task]
            while True:
                # First moment in [start, start + duration) at which the memory does not suffice.
                blocked_at = -1
                for probe in range(-1, placed):
                    moment = start if probe < 0 else starts[probe]
                    if moment < start or moment >= start + duration or (blocked_at >= 0 and moment >= blocked_at):
                        continue
                    used = 0
                    for other in range(placed):
                        if starts[other] <= moment < ends[other]:
                            used += needs[other]
                    if used > room:
                        blocked_at = moment
                if blocked_at < 0:
                    break
                # The next moment at which something that runs then ends.
                freed = -1
                for other in range(placed):
                    if starts[other] <= blocked_at < ends[other] and (freed < 0 or ends[other] < freed):
                        freed = ends[other]
                start = freed
            ends[placed], starts[placed], needs[placed] = start + duration, start, memory_kb[task]
            placed += 1
            # The core that has been idle for the shortest time.
            for core in range(vcpus):
                if core_free[core] <= start and core_free[core] > core_free[earliest]:
                    earliest = core
        core_free[earliest] = start + duration
        if core_free[earliest] > latest:
            latest = core_free[earliest]
    return latest


@compiled
def set_ends(vms: Vms, vm_tasks: IntArray, vm_count: IntArray, vm_end: IntArray) -> None:
    """Set the ends of all VMs, from their tasks (padded) and how many of them there are."""
    work = workspace(vms, vm_tasks.shape[1])
    for vm in range(len(vm_end)):
        vm_end[vm] = list_schedule_end(vms, vm, vm_tasks[vm], vm_count[vm], work)
