"""Simulated annealing on the tasks of each VM and their order, with exact memory: the inner loop, compiled by numba."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.compiled import compiled
from ...core.quantities import MAX_SECONDS
from .timeline_kernel import list_schedule_end

if TYPE_CHECKING:
    from ...core.quantities import FloatArray, IntArray


@compiled
def anneal_assignments(
    durations: IntArray,
    memory_kb: IntArray,
    vm_column: IntArray,
    vm_vcpus: IntArray,
    vm_size_kb: IntArray,
    vm_price: FloatArray,
    vm_limit: IntArray,
    time_weight: float,
    penalty: float,
    vm_tasks: IntArray,
    vm_count: IntArray,
    vm_end: IntArray,
    random_state: IntArray,
    iterations: int,
    hot: float,
    cold: float,
    best_tasks: IntArray,
    best_count: IntArray,
    value: float,
    best: float,
) -> tuple[float, float]:
    """Run a number of moves while the temperature falls from ``hot`` to ``cold``.

    A move takes a task to a place in the order of another VM or of its own, or exchanges two tasks. The VMs it
    touches are scheduled anew by `list_schedule_end`.

    Parameters
    ----------
    durations : array of int, shape (n_columns, n_tasks)
        Seconds of each task on each offer; huge where it cannot run.
    memory_kb : array of int, shape (n_tasks,)
        Memory of each task.
    vm_column, vm_vcpus, vm_size_kb, vm_price, vm_limit : arrays, shape (n_vms,)
        Column, cores, memory (negative if it cannot bind), price of a second and latest end of each VM.
    vm_tasks, vm_count, vm_end : arrays
        The state: tasks of each VM in their order (padded), their number, and its end.
    random_state : array of int, shape (1,)
        State of the random numbers.
    best_tasks, best_count : arrays
        The best state met.
    value, best : float
        Objective of the state, and of the best one.

    Returns
    -------
    tuple of float
        Objective of the state at the end, and of the best one.
    """
    n_vms, capacity = vm_tasks.shape
    work = np.empty((3, max(capacity, 1)), dtype=np.int64)
    new_a = np.empty(capacity, dtype=np.int64)
    new_b = np.empty(capacity, dtype=np.int64)
    cores = np.empty(vm_vcpus.max(), dtype=np.int64)
    state = random_state[0]
    temperature = hot
    cooling = (cold / hot) ** (1.0 / max(iterations, 1))
    for _ in range(iterations):
        temperature *= cooling
        state = (state * 48271) % 2147483647
        a = state % n_vms
        if vm_count[a] == 0:
            continue
        state = (state * 48271) % 2147483647
        b = state % n_vms
        state = (state * 48271) % 2147483647
        at_a = state % vm_count[a]
        state = (state * 48271) % 2147483647
        exchange = state % 2 == 0 and vm_count[b] > 0
        state = (state * 48271) % 2147483647
        i = vm_tasks[a, at_a]
        if durations[vm_column[b], i] > MAX_SECONDS:
            continue
        count_a, count_b = vm_count[a], vm_count[b]
        for position in range(count_a):
            new_a[position] = vm_tasks[a, position]
        if a == b:
            if count_a < 2:
                continue
            at_b = state % count_a
            if exchange:
                new_a[at_a], new_a[at_b] = new_a[at_b], new_a[at_a]
            else:
                step = 1 if at_b > at_a else -1
                for position in range(at_a, at_b, step):
                    new_a[position] = new_a[position + step]
                new_a[at_b] = i
        elif exchange:
            at_b = state % count_b
            j = vm_tasks[b, at_b]
            if durations[vm_column[a], j] > MAX_SECONDS:
                continue
            for position in range(count_b):
                new_b[position] = vm_tasks[b, position]
            new_a[at_a] = j
            new_b[at_b] = i
        else:
            if count_b == capacity:
                continue
            at_b = state % (count_b + 1)
            for position in range(at_b):
                new_b[position] = vm_tasks[b, position]
            new_b[at_b] = i
            for position in range(at_b, count_b):
                new_b[position + 1] = vm_tasks[b, position]
            for position in range(at_a, count_a - 1):
                new_a[position] = new_a[position + 1]
            count_a -= 1
            count_b += 1
        end_a = list_schedule_end(
            new_a, count_a, durations[vm_column[a]], memory_kb, vm_vcpus[a], vm_size_kb[a], cores, work[0], work[1],
            work[2],
        )  # fmt: skip
        end_b = end_a
        if a != b:
            end_b = list_schedule_end(
                new_b, count_b, durations[vm_column[b]], memory_kb, vm_vcpus[b], vm_size_kb[b], cores, work[0],
                work[1], work[2],
            )  # fmt: skip
        others = 0
        for vm in range(n_vms):
            if vm not in (a, b) and vm_end[vm] > others:
                others = vm_end[vm]
        change = time_weight * (max(others, end_a, end_b) - max(others, vm_end[a], vm_end[b]))
        change += vm_price[a] * (end_a - vm_end[a])
        change += penalty * (max(0, end_a - vm_limit[a]) - max(0, vm_end[a] - vm_limit[a]))
        if a != b:
            change += vm_price[b] * (end_b - vm_end[b])
            change += penalty * (max(0, end_b - vm_limit[b]) - max(0, vm_end[b] - vm_limit[b]))
        if change > 0.0:
            state = (state * 48271) % 2147483647
            if change > 40.0 * temperature or state / 2147483647.0 >= np.exp(-change / temperature):
                continue
        for position in range(count_a):
            vm_tasks[a, position] = new_a[position]
        if a != b:
            for position in range(count_b):
                vm_tasks[b, position] = new_b[position]
            vm_count[b] = count_b
            vm_end[b] = end_b
        vm_count[a] = count_a
        vm_end[a] = end_a
        value += change
        if value < best - 1e-12:
            best = value
            for vm in range(n_vms):
                best_count[vm] = vm_count[vm]
                for position in range(vm_count[vm]):
                    best_tasks[vm, position] = vm_tasks[vm, position]
    random_state[0] = state
    return value, best
