"""Sizing without a solver: a knapsack that must be filled, over the tasks that are still to be covered.

    f(t) = min_i (w_i + f(t - a_i)),  f(t) = 0 for t <= 0

for types that cover a_i tasks each. A weight w_i is the price times a number that no count of VMs reaches, plus
one: the cheapest solution, and among the cheapest the one with fewest VMs.

All t are brought up to date for one type at once. With t in rows of a_i numbers, ``f(t) = min_k (k w + f(t - k a))``
goes along the columns, and less the weight that a row adds it is a running minimum. A type is passed over if the types
before it cover what it covers at no more weight; the best ratios come first, so that few are left.

From f, the counts are read by walking down from t = n: take the first type in the catalogue with
``f(t) = w_i + f(t - a_i)``. Once a type does not fit into an optimum of what is left, it fits into none later on, so
the walk never goes back, and there are most of the first type, then of the second, and so on.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ...instances.entries import NEVER
from ...models.streams.sizing import Covering


def cheapest_counts(covering: Covering) -> tuple[int, ...]:
    """Counts of the optimum that is meant: least cost, fewest VMs, most of the first types.

    Parameters
    ----------
    covering : Covering
        With at least one type, unless there are no tasks.
    """
    counts = [0] * len(covering.tasks)
    if covering.n_tasks == 0:
        return tuple(counts)
    weights = _weights(covering)
    least = _least_weights(covering, weights)
    left, position = covering.n_tasks, 0
    while left > 0:
        after = max(left - covering.tasks[position], 0)
        if int(least[left]) == weights[position] + int(least[after]):
            counts[position] += 1
            left = after
        else:
            position += 1
    return tuple(counts)


def _weights(covering: Covering) -> list[int]:
    """Price and one VM of each type as one number."""
    more_than_any_count = max(covering.most_useful()) + 1
    return [price * more_than_any_count + 1 for price in covering.prices]


def _least_weights(covering: Covering, weights: list[int]) -> Any:
    """f(0), f(1), ..., f(n)."""
    n_tasks = covering.n_tasks
    order = sorted(range(len(weights)), key=lambda i: (Fraction(weights[i], covering.tasks[i]), i))
    best = order[0]
    heaviest = (n_tasks // covering.tasks[best] + 1) * weights[best] + max(weights) * (n_tasks + 1)
    # Prices of many digits: Python's own integers, slower and just as exact.
    kind: Any = np.int64 if heaviest < NEVER else object
    least = -(-np.arange(n_tasks + 1, dtype=kind) // covering.tasks[best]) * weights[best]
    for i in order[1:]:
        if least[covering.tasks[i]] > weights[i]:
            least[1:] = _with_one_more_type(least[1:], covering.tasks[i], weights[i])
    return least


def _with_one_more_type(least: Any, tasks: int, weight: int) -> Any:
    """f(1), ..., f(n) with one more type."""
    rows = -(-len(least) // tasks)
    table = np.empty((rows + 1) * tasks, dtype=least.dtype)
    table[:tasks] = 0  # nothing is left to be covered
    table[tasks : tasks + len(least)] = least
    table[tasks + len(least) :] = least[-1]
    by_rows = table.reshape(rows + 1, tasks)
    added = np.arange(rows + 1, dtype=least.dtype)[:, None] * weight
    by_rows -= added
    np.minimum.accumulate(by_rows, axis=0, out=by_rows)
    by_rows += added
    return table[tasks : tasks + len(least)]
