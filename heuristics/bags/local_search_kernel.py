"""The local search of Burst-HADS (Algorithm 3): the inner loop, compiled by numba."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.compiled import compiled
from ...core.quantities import MAX_SECONDS
from .timeline_kernel import list_schedule_end

if TYPE_CHECKING:
    from ...core.quantities import FloatArray, IntArray


@compiled
def local_search(
    durations: IntArray,
    memory_kb: IntArray,
    vm_column: IntArray,
    vm_vcpus: IntArray,
    vm_size_kb: IntArray,
    vm_price: FloatArray,
    vm_limit: IntArray,
    vm_relaxed_limit: IntArray,
    time_weight: float,
    selected: IntArray,
    n_selected: int,
    task_vm: IntArray,
    vm_tasks: IntArray,
    vm_count: IntArray,
    vm_end: IntArray,
    random_state: IntArray,
    max_attempt: int,
    n_moves: int,
    best_task_vm: IntArray,
    best: float,
    true_task_vm: IntArray,
    true_best: float,
) -> tuple[float, float]:
    """Walk at random and keep the best plan met (Algorithm 3).

    Parameters
    ----------
    durations, memory_kb : arrays
        Seconds of each task on each offer, shape (n_offers, n_tasks), and its memory.
    vm_column, vm_vcpus, vm_size_kb, vm_price : arrays, shape (n_vms,)
        Offer, cores, memory (negative if it cannot bind), price of a second in units of the fitness.
    vm_limit, vm_relaxed_limit : array of int, shape (n_vms,)
        Latest end of each VM, with D_spot as it is and relaxed.
    selected, n_selected : array of int, int
        The selected VMs (``S.selected_vms``).
    task_vm, vm_tasks, vm_count, vm_end : arrays
        The plan S: VM of each task (``S.allocation_array``); tasks of each VM in the order of their ids, their number,
        and the end of the VM.
    best_task_vm, best : array and float
        The best plan under the relaxed limit, and its fitness (lines 2, 10-12).
    true_task_vm, true_best : array and float
        The same under the true limit.
    """
    n_tasks = len(task_vm)
    n_vms = len(vm_end)
    work = np.empty((3, n_tasks), dtype=np.int64)
    cores = np.empty(vm_vcpus.max(), dtype=np.int64)
    state = random_state[0]
    cost = 0.0
    late = 0
    late_relaxed = 0
    for vm in range(n_vms):
        cost += vm_price[vm] * vm_end[vm]
        late += vm_end[vm] > vm_limit[vm]
        late_relaxed += vm_end[vm] > vm_relaxed_limit[vm]
    for _ in range(max_attempt):  # line 6
        state = (state * 48271) % 2147483647
        target = selected[state % n_selected]  # line 5, anew for each attempt
        for _ in range(n_moves):  # line 7
            state = (state * 48271) % 2147483647
            task = state % n_tasks  # line 8
            source = task_vm[task]
            if source == target or durations[vm_column[target], task] > MAX_SECONDS:
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
                vm_end[vm] = list_schedule_end(
                    vm_tasks[vm], vm_count[vm], durations[vm_column[vm]], memory_kb, vm_vcpus[vm], vm_size_kb[vm],
                    cores, work[0], work[1], work[2],
                )  # fmt: skip
                cost += vm_price[vm] * vm_end[vm]
                late += vm_end[vm] > vm_limit[vm]
                late_relaxed += vm_end[vm] > vm_relaxed_limit[vm]
            if late_relaxed > 0:  # fitness is infinite (eq. 8)
                continue
            makespan = 0
            for vm in range(n_vms):
                if vm_end[vm] > makespan:
                    makespan = vm_end[vm]
            fitness = cost + time_weight * makespan
            if fitness < best - 1e-12:
                best = fitness
                best_task_vm[:] = task_vm
            if late == 0 and fitness < true_best - 1e-12:
                true_best = fitness
                true_task_vm[:] = task_vm
    random_state[0] = state
    return best, true_best
