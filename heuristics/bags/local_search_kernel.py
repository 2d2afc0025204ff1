"""The local search of Burst-HADS (Algorithm 3): the inner loop, compiled by numba."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...core.compiled import compiled
from ...core.quantities import MAX_SECONDS
from .timeline_kernel import Vms, list_schedule_end, workspace

if TYPE_CHECKING:
    from ...core.quantities import FloatArray, IntArray


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
