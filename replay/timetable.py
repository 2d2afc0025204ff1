"""Changes of the timetable of a VM: a task leaves, a task is appended, what waits moves up."""

from __future__ import annotations

from ..instances.durations import FULL_SPEED, NEVER
from ..schedules.timing import VmTimeline
from .plan import Run
from .vm import Vm
from .work import WorkTable


def take_task(vm: Vm, task: int, now_s: int) -> bool:
    """Take a task from a VM, one that runs there or one that waits; False if it is not there."""
    placed = vm.run_of(task)
    if placed is not None:
        core, run = placed
        vm.running[core] = None
        if vm.burstable is not None:
            burst = run.mode == FULL_SPEED
            vm.count_running(now_s, -int(burst), -int(not burst))
    else:
        found = next(((queue, run) for queue in vm.waiting for run in queue if run.task == task), None)
        if found is None:
            return False
        found[0].remove(found[1])
    vm.n_left -= 1
    vm.disordered = True
    vm.timetable_changed()
    return True


def append_task(vm: Vm, timeline: VmTimeline, work: WorkTable, task: int, mode: int, duration_s: int) -> int | None:
    """Append a task to a VM by list scheduling; return its core, None if it cannot run there."""
    need_kb = work.memory_kb[work.group_of[task]]
    start_s = timeline.earliest_start_s(need_kb, duration_s)
    if start_s is None or duration_s >= NEVER:
        return None
    core = timeline.append(start_s, need_kb, duration_s)
    vm.waiting[core].append(Run(start_s, start_s + duration_s, task, mode))
    return core


def move_up(vm: Vm, now_s: int, work: WorkTable) -> None:
    """Schedule anew what waits on a VM from which tasks have been taken, in the same order."""
    vm.disordered = False
    timeline = VmTimeline(vm.offer.vcpus, vm.memory_kb, max(vm.uptime_s(now_s), vm.first_start_s))
    for core, running in enumerate(vm.running):
        if running is not None:
            timeline.place(core, running.start_s, running.end_s, work.memory_kb[work.group_of[running.task]])
    waiting = [run for run, _ in vm.waiting_runs()]
    for queue in vm.waiting:
        queue.clear()
    for run in waiting:
        append_task(vm, timeline, work, run.task, run.mode, run.end_s - run.start_s)
    vm.set_timeline(timeline)
