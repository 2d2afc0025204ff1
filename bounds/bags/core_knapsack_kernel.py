"""Greatest value of the tasks that a core can run until each moment: an inner loop."""

from __future__ import annotations

from ...core.compiled import compiled
from ...core.quantities import BoolArray, IntArray


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
