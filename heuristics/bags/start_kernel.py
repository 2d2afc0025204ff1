"""The start of the search, task by task: compiled by numba for large bags, plain Python on lists for all others."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core.compiled import compiled

if TYPE_CHECKING:
    from ...core.quantities import FloatArray, IntArray


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
