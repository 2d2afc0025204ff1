"""The local search of Burst-HADS (Algorithm 3): the inner loop, compiled by numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.capacities import fits
from ...core.compiled import compiled, compiled_part
from ...core.quantities import MAX_SECONDS, FloatArray, IntArray


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
    """

    durations: IntArray
    memory_kb: IntArray
    offer: IntArray
    vcpus: IntArray
    size_kb: IntArray


class Workspace(NamedTuple):
    """Scratch arrays, kept from call to call: when each core is free; the tasks that hold memory."""

    core_free: IntArray
    ends: IntArray
    starts: IntArray
    needs: IntArray


@compiled_part
def workspace(vms: Vms, most_tasks: int) -> Workspace:
    """Make the workspace for VMs of so many tasks at most."""
    of_tasks = np.empty((3, max(most_tasks, 1)), dtype=np.int64)
    return Workspace(np.empty(vms.vcpus.max(), dtype=np.int64), of_tasks[0], of_tasks[1], of_tasks[2])


@compiled_part
def _start_with_memory(work: Workspace, placed: int, room: int, start: int, duration: int) -> int:
    """Return the earliest start from a moment on at which the memory suffices as long as a task runs.

    ``room`` is what the others may hold beside it; more is held only from one of their starts on.
    """
    _, ends, starts, needs = work
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
            if not fits(room - used):
                blocked_at = moment
        if blocked_at < 0:
            return start
        # The next moment at which something that runs then ends.
        freed = -1
        for other in range(placed):
            if starts[other] <= blocked_at < ends[other] and (freed < 0 or ends[other] < freed):
                freed = ends[other]
        start = freed


@compiled_part
def list_schedule_end(vms: Vms, vm: int, tasks: IntArray, count: int, work: Workspace) -> int:
    """Return when a VM ends if tasks are appended to it in their order.

    It counts from ready. The rule is that of
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
    core_free[:vcpus] = 0
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
            start = _start_with_memory(work, placed, size_kb - memory_kb[task], start, duration)
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


class Fitness(NamedTuple):
    """Equation 8.

    Attributes
    ----------
    vm_price : array of float, shape (n_vms,)
        Price of a second, in units of the fitness.
    vm_limit, vm_relaxed_limit : array of int, shape (n_vms,)
        Latest end of each VM, with D_spot as it is and relaxed.
    time_weight : float
        What a second of makespan adds.
    """

    vm_price: FloatArray
    vm_limit: IntArray
    vm_relaxed_limit: IntArray
    time_weight: float


class PlanState(NamedTuple):
    """The plan S; changed in place.

    Attributes
    ----------
    task_vm : array of int, shape (n_tasks,)
        VM of each task (``S.allocation_array``).
    vm_tasks, vm_count, vm_end : array of int, shapes (n_vms, n_tasks), (n_vms,) and (n_vms,)
        Tasks of each VM in the order of their ids (padded), their number, and the end of the VM.
    random : array of int, shape (1,)
        State of the random numbers.
    """

    task_vm: IntArray
    vm_tasks: IntArray
    vm_count: IntArray
    vm_end: IntArray
    random: IntArray


class Attempts(NamedTuple):
    """Length of the walk: the selected VMs (``S.selected_vms``), attempts, and moves of each.

    Tasks move to ``target``, or to a VM that is drawn for each attempt if that is -1.
    """

    selected: IntArray
    attempts: int
    moves: int
    target: int


class BestPlans(NamedTuple):
    """VM of each task in the best plan under the relaxed D_spot and under the true one; changed in place."""

    relaxed: IntArray
    true: IntArray


@compiled
def local_search(
    vms: Vms,
    fitness: Fitness,
    plan: PlanState,
    walk: Attempts,
    best_plans: BestPlans,
    best: float,
    true_best: float,
) -> tuple[float, float]:
    """Walk at random and keep the best plan met (Algorithm 3).

    Parameters
    ----------
    vms, fitness : Vms, Fitness
        The problem.
    plan : PlanState
        The plan S.
    walk : Attempts
        How long, and to which VMs.
    best_plans, best, true_best : BestPlans, float, float
        The best plans under the relaxed limit and under the true one, and their fitness (lines 2, 10-12).

    Returns
    -------
    tuple of float
        Fitness of the best plans, under the relaxed limit and under the true one.
    """
    vm_price, vm_limit, vm_relaxed_limit, time_weight = fitness
    task_vm, vm_tasks, vm_count, vm_end, random_state = plan
    n_tasks = len(task_vm)
    n_vms = len(vm_end)
    work = workspace(vms, n_tasks)
    state = random_state[0]
    cost = 0.0
    late = 0
    late_relaxed = 0
    for vm in range(n_vms):
        cost += vm_price[vm] * vm_end[vm]
        late += vm_end[vm] > vm_limit[vm]
        late_relaxed += vm_end[vm] > vm_relaxed_limit[vm]
    for _ in range(walk.attempts):  # line 6
        target = walk.target
        if target < 0:  # line 5, anew for each attempt
            state = (state * 48271) % 2147483647
            target = walk.selected[state % len(walk.selected)]
        for _ in range(walk.moves):  # line 7
            state = (state * 48271) % 2147483647
            task = state % n_tasks  # line 8
            source = task_vm[task]
            if source == target or vms.durations[vms.offer[target], task] > MAX_SECONDS:
                continue
            # Line 9: the task moves, whether that is good or not. Only the two VMs are scheduled anew.
            count = vm_count[source]
            position = 0
            while vm_tasks[source, position] != task:
                position += 1
            for after in range(position, count - 1):
                vm_tasks[source, after] = vm_tasks[source, after + 1]
            vm_count[source] = count - 1
            position = vm_count[target]
            while position > 0 and vm_tasks[target, position - 1] > task:
                vm_tasks[target, position] = vm_tasks[target, position - 1]
                position -= 1
            vm_tasks[target, position] = task
            vm_count[target] += 1
            task_vm[task] = target
            for vm in (source, target):
                cost -= vm_price[vm] * vm_end[vm]
                late -= vm_end[vm] > vm_limit[vm]
                late_relaxed -= vm_end[vm] > vm_relaxed_limit[vm]
                vm_end[vm] = list_schedule_end(vms, vm, vm_tasks[vm], vm_count[vm], work)
                cost += vm_price[vm] * vm_end[vm]
                late += vm_end[vm] > vm_limit[vm]
                late_relaxed += vm_end[vm] > vm_relaxed_limit[vm]
            if late_relaxed > 0:  # fitness is infinite (eq. 8)
                continue
            makespan = 0
            for vm in range(n_vms):
                if vm_end[vm] > makespan:
                    makespan = vm_end[vm]
            reached = cost + time_weight * makespan
            if reached < best - 1e-12:
                best = reached
                for other in range(n_tasks):
                    best_plans.relaxed[other] = task_vm[other]
            if late == 0 and reached < true_best - 1e-12:
                true_best = reached
                for other in range(n_tasks):
                    best_plans.true[other] = task_vm[other]
    random_state[0] = state
    return best, true_best
