"""Simulated annealing on the tasks of each VM and their order, with exact memory: the inner loop, compiled by numba."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...core.compiled import compiled
from ...core.quantities import MAX_SECONDS
from .annealing_kernel import Cooling, Objective, Snapshot
from .timeline_kernel import Vms, list_schedule_end, workspace

if TYPE_CHECKING:
    from ...core.quantities import IntArray


class AssignmentState(NamedTuple):
    """Which tasks are on which VM, and in which order; changed in place.

    Attributes
    ----------
    tasks, number, vm_end : array of int, shapes (n_vms, capacity), (n_vms,) and (n_vms,)
        Tasks of each VM in their order (padded), their number, and its end.
    random : array of int, shape (1,)
        State of the random numbers.
    """

    tasks: IntArray
    number: IntArray
    vm_end: IntArray
    random: IntArray


@compiled
def anneal_assignments(
    vms: Vms,
    objective: Objective,
    plan: AssignmentState,
    cooling: Cooling,
    snapshot: Snapshot,
    value: float,
    best: float,
) -> tuple[float, float]:
    """Run a number of moves while the temperature falls.

    A move takes a task to a place in the order of another VM or of its own, or exchanges two tasks. The VMs it
    touches are scheduled anew by `list_schedule_end`.

    Parameters
    ----------
    vms : Vms
        Those of the problem.
    plan : AssignmentState
        The state.
    objective, cooling, snapshot, value, best
        See `annealing_kernel.anneal`.

    Returns
    -------
    tuple of float
        Objective of the state at the end, and of the best one.
    """
    vm_price, vm_free, vm_limit, time_weight, penalty = objective
    vm_tasks, vm_count, vm_end, random_state = plan
    n_vms, capacity = vm_tasks.shape
    new_a = np.empty(capacity, dtype=np.int64)
    new_b = np.empty(capacity, dtype=np.int64)
    work = workspace(vms, capacity)
    state = random_state[0]
    temperature = cooling.hot
    factor = (cooling.cold / cooling.hot) ** (1.0 / max(cooling.moves, 1))
    for _ in range(cooling.moves):
        temperature *= factor
        # A move: a task of one VM, another VM or the same one, and whether tasks are exchanged.
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
        if vms.durations[vms.offer[b], i] > MAX_SECONDS:
            continue
        # The tasks of both VMs after it.
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
            if vms.durations[vms.offer[a], j] > MAX_SECONDS:
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
        # What changes by it.
        end_a = list_schedule_end(vms, a, new_a, count_a, work)
        end_b = end_a if a == b else list_schedule_end(vms, b, new_b, count_b, work)
        others = 0
        for vm in range(n_vms):
            if vm not in (a, b) and vm_end[vm] > others:
                others = vm_end[vm]
        change = time_weight * (max(others, end_a, end_b) - max(others, vm_end[a], vm_end[b]))
        change += vm_price[a] * (max(end_a, vm_free[a]) - max(vm_end[a], vm_free[a]))
        change += penalty * (max(0, end_a - vm_limit[a]) - max(0, vm_end[a] - vm_limit[a]))
        if a != b:
            change += vm_price[b] * (max(end_b, vm_free[b]) - max(vm_end[b], vm_free[b]))
            change += penalty * (max(0, end_b - vm_limit[b]) - max(0, vm_end[b] - vm_limit[b]))
        # Accept it, or not, by the temperature.
        if change > 0.0:
            state = (state * 48271) % 2147483647
            if change > 40.0 * temperature or state / 2147483647.0 >= np.exp(-change / temperature):
                continue
        # Carry it out.
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
        if snapshot.wanted and value < best - 1e-12:
            best = value
            for vm in range(n_vms):
                snapshot.number[vm] = vm_count[vm]
                for position in range(vm_count[vm]):
                    snapshot.tasks[vm, position] = vm_tasks[vm, position]
    random_state[0] = state
    return value, best
