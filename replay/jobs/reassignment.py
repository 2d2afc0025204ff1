"""Algorithm 3 of Thai et al.: tasks that are about to be late move to VMs that can take them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .engine import JobReplay
    from .forecast import Forecast
    from .vm import JobVm


def reassign(replay: JobReplay, forecast: Forecast) -> int:
    """Move from each VM the first task that is expected to be late, to the VM with the largest permissible delay.

    Only what waits is moved: a task that runs would lose what it has done. The task is the next that the receiver
    runs, which is what delays all others by its run time (line 5); and it must be in time there itself: "execute an
    additional task without resulting in a deadline violation". VMs that take samples neither give nor take.

    Returns
    -------
    int
        Tasks moved.
    """
    moved = 0
    delay_s: dict[int, float] = {}
    vms = [vm for vm in replay.vms if vm.alive and vm.index not in forecast.held_until_s]
    for vm in vms:
        task = forecast.first_late_task(vm) if vm.queue else None
        target = None if task is None else _target(replay, forecast, task, vm, vms, delay_s)
        if task is not None and target is not None:
            replay.take_back(task, vm)
            replay.assign(task, target, 0)
            delay_s.pop(vm.index, None)
            del delay_s[target.index]
            moved += 1
    return moved


def _target(
    replay: JobReplay, forecast: Forecast, task: int, source: JobVm, vms: list[JobVm], delay_s: dict[int, float]
) -> JobVm | None:
    """VM with the largest permissible delay of those that can take a task (line 5); ``delay_s`` is what is known."""
    job = replay.job_of[task]
    best, best_delay = None, -math.inf
    for vm in vms:
        expected = forecast.runtime_s(job, vm.type_index)
        if vm is source or expected == math.inf:
            continue
        if vm.index not in delay_s:
            delay_s[vm.index] = forecast.permissible_delay_s(vm)
        delay = delay_s[vm.index]
        in_time = forecast.next_start_s(vm) + expected <= replay.jobs[job].deadline_s
        if in_time and delay >= expected and delay > best_delay:
            best, best_delay = vm, delay
    return best
