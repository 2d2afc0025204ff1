"""List scheduling of the tasks of one VM with exact memory: the inner loop of the searches on assignments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.compiled import compiled

if TYPE_CHECKING:
    from ...core.quantities import IntArray


@compiled
def list_schedule_end(
    tasks: IntArray,
    count: int,
    durations: IntArray,
    memory_kb: IntArray,
    vcpus: int,
    size_kb: int,
    core_free: IntArray,
    ends: IntArray,
    starts: IntArray,
    needs: IntArray,
) -> int:
    """Return when the tasks of a VM end if they are appended in their order, counted from ready.

    The same rule as `spotbag.schedules.timing.VmTimeline`: a task starts at the earliest time at which a core is free
    for good and the memory suffices for the whole time it runs.

    Parameters
    ----------
    tasks : array of int, shape (>= count,)
        Tasks in their order.
    count : int
        How many there are.
    durations, memory_kb : array of int, shape (n_tasks,)
        Of each task on this VM.
    vcpus, size_kb : int
        Cores of the VM, and its memory; negative if that cannot bind.
    core_free : array of int, shape (>= vcpus,)
        Room for the work; so are ``ends``, ``starts`` and ``needs``, each of shape (>= count,).
    """
    for core in range(vcpus):
        core_free[core] = 0
    placed = 0
    latest = 0
    for position in range(count):
        task = tasks[position]
        duration = durations[task]
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
