"""The start of the search, task by task: compiled by numba; the first two are plain Python on lists for small bags."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...core.compiled import compiled

if TYPE_CHECKING:
    from ...core.quantities import FloatArray, IntArray
    from .annealing_kernel import Objective


@compiled
def cheapest_with_room(
    tasks: IntArray | Sequence[int],
    groups: IntArray | Sequence[int],
    by_price: IntArray | Sequence[Sequence[int]],
    seconds: IntArray | Sequence[Sequence[int]],
    room: FloatArray | Sequence[float],
    left: FloatArray | list[float],
    chosen: IntArray | list[int],
) -> None:
    """Choose an offer for each task: the cheapest that has room for it, else the one with most room left, by its size.

    Parameters
    ----------
    tasks : sequence of int
        Tasks in the order in which they choose.
    groups : sequence of int
        Group of each task.
    by_price, seconds : sequences of int, shape (n_groups, n_offers)
        Offers from the cheapest on, and seconds on each offer; negative where the group cannot run.
    room, left : sequences of float, shape (n_offers,)
        Seconds of all cores of an offer, and what is left of them; changed.
    chosen : sequence of int, shape (n_tasks,)
        Receives the offers.
    """
    for task in tasks:
        times = seconds[groups[task]]
        found = -1
        roomiest = -1
        most = 0.0
        for k in by_price[groups[task]]:
            if times[k] < 0:
                continue
            if times[k] <= left[k]:
                found = k
                break
            share = (left[k] - times[k]) / max(room[k], 1.0)
            if roomiest < 0 or share > most:
                roomiest = k
                most = share
        if found < 0:
            found = roomiest
        left[found] -= times[found]
        chosen[task] = found


@compiled
def least_loaded_core(
    seconds: IntArray | Sequence[int],
    cores: IntArray | Sequence[int],
    free: IntArray | Sequence[int],
    chosen: IntArray | list[int],
) -> None:
    """Put each task on the core with the least load, the first of them at a tie.

    Parameters
    ----------
    seconds : sequence of int, shape (n_tasks,)
        How long the tasks take, in the order in which they are put.
    cores, free : sequences of int
        Cores, and when each of them is free; first those that are free first.
    chosen : sequence of int, shape (n_tasks,)
        Receives the core of each task.
    """
    heap = [(free[index], cores[index]) for index in range(len(cores))]
    for position, task_s in enumerate(seconds):
        load, core = heap[0]
        heapq.heapreplace(heap, (load + task_s, core))
        chosen[position] = core


@compiled
def place_where_cheapest(
    tasks: IntArray,
    durations: IntArray,
    columns: IntArray,
    vms: IntArray,
    load: IntArray,
    vm_end: IntArray,
    objective: Objective,
    chosen: IntArray,
) -> None:
    """Put tasks one by one on the core where they add least to the objective, the one that ends first at a tie.

    Parameters
    ----------
    tasks : array of int, shape (n_tasks,)
        In the order in which they are put.
    durations : array of int, shape (n_columns, n_tasks of the bag)
        Seconds of each task on each kind of VM.
    columns, vms, load : arrays of int, shape (n_cores,)
        Kind and VM of each core, and when it is free; changed.
    vm_end : array of int, shape (n_vms,)
        When each VM ends; changed.
    objective : Objective
        What a state costs.
    chosen : array of int, shape (n_tasks,)
        Receives the cores.
    """
    vm_price, vm_free, vm_limit, time_weight, penalty = objective
    makespan = vm_end.max()
    for position, task in enumerate(tasks):
        best, least = 0, np.inf
        for core, vm in enumerate(vms):
            end = load[core] + durations[columns[core], task]
            value = vm_price[vm] * max(end - max(vm_end[vm], vm_free[vm]), 0) + time_weight * max(end - makespan, 0)
            value += penalty * (max(end - vm_limit[vm], 0) + 1e-9 * end)
            if value < least:
                best, least = core, value
        load[best] += durations[columns[best], task]
        vm_end[vms[best]] = max(vm_end[vms[best]], load[best])
        makespan = max(makespan, load[best])
        chosen[position] = best
