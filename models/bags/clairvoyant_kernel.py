"""The inner loop of the clairvoyant bound: every group fills its cheapest columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.compiled import compiled

if TYPE_CHECKING:
    from ...core.quantities import FloatArray


@compiled
def fill_cheapest(
    counts: FloatArray,
    work_s: FloatArray,
    shares: FloatArray,
    memory_kb: FloatArray,
    core_price: FloatArray,
    memory_price: FloatArray,
) -> tuple[float, FloatArray, FloatArray]:
    """Do all tasks where it is cheapest, on each column no more than a share of every task.

    Parameters
    ----------
    counts, memory_kb : array of float, shape (n_groups,)
        Tasks of each group, and the memory of one.
    work_s : array of float, shape (n_groups, n_columns)
        Core seconds of a task on each column.
    shares : array of float, shape (n_groups, n_columns)
        Most of a task that each column can do, 0 to 1; those of a group sum to 1 or more.
    core_price, memory_price : array of float, shape (n_columns,)
        Price of a core for a second, and of a KB of memory for a second.

    Returns
    -------
    (float, array, array)
        What all tasks cost; core seconds, and KB seconds of memory, that each column gets.
    """
    n_groups, n_columns = work_s.shape
    core_s, memory_kb_s = np.zeros(n_columns), np.zeros(n_columns)
    filled = np.zeros(n_columns, np.bool_)
    value = 0.0
    for g in range(n_groups):
        left = 1.0
        filled[:] = False
        while left > 0.0:
            best, least = -1, np.inf
            for k in range(n_columns):
                if shares[g, k] > 0.0 and not filled[k]:
                    price = work_s[g, k] * (core_price[k] + memory_kb[g] * memory_price[k])
                    if price < least:
                        best, least = k, price
            if best < 0:
                break
            filled[best] = True
            part = min(left, shares[g, best])
            left -= part
            value += counts[g] * part * least
            seconds = counts[g] * part * work_s[g, best]
            core_s[best] += seconds
            memory_kb_s[best] += seconds * memory_kb[g]
    return value, core_s, memory_kb_s
