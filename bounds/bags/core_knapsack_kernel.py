"""Greatest value of the tasks that a core can run until each moment: a knapsack, with its inner loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.compiled import compiled
from ...core.limits import ITERATIONS, count_work
from ...core.quantities import BoolArray, IntArray


class Knapsack(NamedTuple):
    """Greatest value of the tasks of a core until each moment, and the tasks that have it.

    Attributes
    ----------
    best : array of int, shape (n_loads,)
        The most that tasks are worth whose seconds are at most 0, 1, ...
    items : list of tuple of int
        Class and number of tasks of each item: parts of 1, 2, 4, ... of those that a core can run.
    taken : array of bool, shape (n_items, n_loads)
        Whether an item is part of the best, as far as the items before it say.
    """

    best: IntArray
    items: list[tuple[int, int]]
    taken: BoolArray


def knapsack(values: IntArray, seconds: IntArray, copies: IntArray, most_s: int) -> Knapsack:
    """Return the best tasks of a core until each moment, of so many copies of each class; values may be below 0."""
    kinds = np.flatnonzero((values > 0) & (seconds <= most_s))
    numbers = np.minimum(copies[kinds], most_s // seconds[kinds])
    items = [
        (kind, part) for kind, number in zip(kinds.tolist(), numbers.tolist(), strict=True) for part in _parts(number)
    ]
    best = np.empty(most_s + 1, dtype=np.int64)
    taken = np.empty((len(items), most_s + 1), dtype=bool)
    count_work(ITERATIONS.knapsack_entry * taken.size)
    core_gains(values[kinds], seconds[kinds], numbers, best, taken)
    return Knapsack(best, items, taken)


def _parts(number: int) -> list[int]:
    """Parts of 1, 2, 4, ... and the rest, which make every number up to this one."""
    parts, part = [], 1
    while number > 0:
        parts.append(min(part, number))
        number -= parts[-1]
        part *= 2
    return parts


@compiled
def core_gains(values: IntArray, seconds: IntArray, copies: IntArray, best: IntArray, taken: BoolArray) -> None:
    """Fill the table of a knapsack whose items are parts of 1, 2, 4, ... tasks of each class.

    Parameters
    ----------
    values, seconds, copies : array of int, shape (n_classes,)
        Of a task of each class: what it is worth and how long it takes; and how many there are. All above 0.
    best : array of int, shape (n_loads,)
        Receives the most that tasks are worth whose seconds are at most 0, 1, ...
    taken : array of bool, shape (n_items, n_loads)
        Receives whether an item is part of that, as far as the items before it say.
    """
    n_loads = len(best)
    best[:] = 0
    item = 0
    for kind in range(len(values)):
        left, part = copies[kind], 1
        while left > 0:
            # By parts of 1, 2, 4, ... and the rest, every number of tasks is a choice of few items.
            part = min(part, left)
            step, worth = part * seconds[kind], part * values[kind]
            # From the largest load down, so that what is added to has not got this part already.
            for load in range(n_loads - 1, step - 1, -1):
                with_it = best[load - step] + worth
                taken[item, load] = with_it > best[load]
                if with_it > best[load]:
                    best[load] = with_it
            for load in range(min(step, n_loads)):
                taken[item, load] = False
            item += 1
            left -= part
            part *= 2
