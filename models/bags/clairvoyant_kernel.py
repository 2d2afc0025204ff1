"""The inner loop of the clairvoyant bound: every group fills its cheapest columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...core.compiled import compiled

if TYPE_CHECKING:
    from ...core.quantities import FloatArray, IntArray


class Overhead(NamedTuple):
    """What checkpoints add to the time of tasks.

    Attributes
    ----------
    fraction, interval_s : array of float, shape (n_groups,)
        Seconds of checkpoints for a second of work, and the work between two checkpoints.
    offer : array of int, shape (n_columns,)
        Offer of the columns on which tasks take checkpoints; -1 for others.
    """

    fraction: FloatArray
    interval_s: FloatArray
    offer: IntArray


@compiled
def fill_cheapest(
    counts: FloatArray,
    work_s: FloatArray,
    shares: FloatArray,
    memory_kb: FloatArray,
    overhead: Overhead,
    core_price: FloatArray,
    memory_price: FloatArray,
) -> tuple[float, FloatArray, FloatArray]:
    """Do all tasks where it is cheapest, on each column no more than a share of every task.

    The last interval of a task is done without a checkpoint, on one offer; which one is tried out.

    Parameters
    ----------
    counts, memory_kb : array of float, shape (n_groups,)
        Tasks of each group, and the memory of one.
    work_s : array of float, shape (n_groups, n_columns)
        Core seconds of a task on each column, without checkpoints.
    shares : array of float, shape (n_groups, n_columns)
        Most of a task that each column can do, 0 to 1; those of a group sum to 1 or more.
    overhead : Overhead
        What checkpoints add.
    core_price, memory_price : array of float, shape (n_columns,)
        Price of a core for a second, and of a KB of memory for a second.

    Returns
    -------
    (float, array, array)
        What all tasks cost; core seconds, and KB seconds of memory, that each column gets.
    """
    n_groups, n_columns = work_s.shape
    core_s, memory_kb_s = np.zeros(n_columns), np.zeros(n_columns)
    part_s, least_s = np.zeros(n_columns), np.zeros(n_columns)
    prices, left_of = np.zeros(2 * n_columns), np.zeros(2 * n_columns)
    value = 0.0
    for g in range(n_groups):
        least = np.inf
        before = -1
        for last in range(n_columns):
            # Columns of an offer follow one another; without checkpoints there is nothing to try.
            if last > 0 and (overhead.offer[last] < 0 or overhead.offer[last] == before):
                continue
            before = overhead.offer[last]
            # Each column twice: with checkpoints, and without them for the last interval.
            for k in range(n_columns):
                price = work_s[g, k] * (core_price[k] + memory_kb[g] * memory_price[k])
                prices[k] = price
                left_of[k] = shares[g, k]
                left_of[n_columns + k] = 0.0
                if overhead.offer[k] >= 0 and overhead.fraction[g] > 0.0:
                    prices[k] = price * (1.0 + overhead.fraction[g])
                    if overhead.offer[k] == before:  # it is cheaper, and taken first
                        prices[n_columns + k] = price
                        left_of[n_columns + k] = min(shares[g, k], overhead.interval_s[g] / work_s[g, k])
                        left_of[k] -= left_of[n_columns + k]
            part_s[:] = 0.0
            cost, left = 0.0, 1.0
            while left > 0.0 and cost < least:
                best = -1
                for k in range(2 * n_columns):
                    if left_of[k] > 0.0 and (best < 0 or prices[k] < prices[best]):
                        best = k
                if best < 0:
                    break
                part = min(left, left_of[best])
                left_of[best] = 0.0
                left -= part
                cost += part * prices[best]
                if best >= n_columns:
                    part_s[best - n_columns] += part * work_s[g, best - n_columns]
                elif overhead.offer[best] >= 0:
                    part_s[best] += part * work_s[g, best] * (1.0 + overhead.fraction[g])
                else:
                    part_s[best] += part * work_s[g, best]
            if cost < least:
                least = cost
                least_s[:] = part_s
            if overhead.fraction[g] == 0.0:
                break
        value += counts[g] * least
        core_s += counts[g] * least_s
        memory_kb_s += counts[g] * memory_kb[g] * least_s
    return value, core_s, memory_kb_s
