"""Least cost of a hybrid platform with little delay: how much work clusters can do in time, from cheap to dear.

A job that is not late does its work on a cluster in whole minutes, from the first that begins after its arrival to the
last that ends by its deadline. Let F_k be the most work that fits into these windows on all clusters of the k cheapest
tiers together, if work may be divided at will, W all work, and c_k the price of a processor-minute in tier k. With the
cloud in its place among the tiers, where all work fits, any schedule without delay costs at least

    sum_k c_k (F_k - F_k-1),    up to the tier with F_k = W:

the k cheapest tiers do F_k or less, whatever the schedule. Jobs that no cluster of these tiers could do in time, even
alone, do not count in F_k.

If all delays are at most D together, fewer than D / theta jobs are late by more than theta. All others end in windows
that are longer by theta; these few do no more work on clusters than as many of the largest jobs have, which F_k is
raised by. That holds for any theta; the best counts.

F_k is found by giving all processor-minutes, in the order of time, to the job with the earliest deadline (Glover 1967,
maximum matching in convex bipartite graphs), from one arrival or deadline to the next at once.
"""

from __future__ import annotations

from fractions import Fraction
from heapq import heappop, heappush

import numpy as np

from ...core.quantities import IntArray
from ...instances.platforms.entries import SLOT_S
from ...instances.platforms.platform import Platform
from .fluid import Cluster, clusters_by_price, fluid_cloud, processor_minutes_by


def least_cost_in_time(platform: Platform, delay_s_at_most: int = 0) -> Fraction | None:
    """Bound the cost of all schedules with no more delay from below; None if there is proved to be none.

    Parameters
    ----------
    platform : Platform
        With its jobs.
    delay_s_at_most : int
        D, of all jobs together.

    Notes
    -----
    O(n log n) for n jobs, for each tier and each of some theta: D, D / 2, D / 4, ... and 0. In exact fractions.
    """
    best = Fraction(0)
    later_s = delay_s_at_most
    while True:
        cost = _least_cost(platform, later_s, delay_s_at_most // (later_s + 1))
        if cost is None:
            return None
        best = max(best, cost)
        if later_s == 0:
            return best
        later_s //= 2


def _least_cost(platform: Platform, later_s: int, exceptions: int) -> Fraction | None:
    """Bound the cost if all but so many jobs are late by at most so much."""
    jobs = platform.jobs
    size = np.array([job.size_processor_minutes for job in jobs], dtype=np.int64)
    first = np.array([-(-job.arrival_s // SLOT_S) for job in jobs], dtype=np.int64)
    end = np.array([(job.deadline_s + later_s) // SLOT_S for job in jobs], dtype=np.int64)
    spare = int(np.sort(size)[::-1][:exceptions].sum())
    cloud = fluid_cloud(platform)
    work = int(size.sum())
    cost, done = Fraction(0), 0
    clusters: list[Cluster] = []
    possible = np.zeros(len(jobs), dtype=bool)
    for price, tier in clusters_by_price(platform):
        if done == work or (cloud is not None and cloud.price <= price):
            break
        clusters += tier
        for cluster in tier:
            room = processor_minutes_by(cluster, end) - processor_minutes_by(cluster, np.minimum(first, end))
            possible |= room >= size
        in_time = most_work_in_time(clusters, size[possible], first[possible], end[possible])
        in_time = min(in_time + spare, work)
        cost += price * (in_time - done)
        done = in_time
    if done < work and cloud is None:
        return None
    return cost + (cloud.price * (work - done) if cloud is not None else 0)


def most_work_in_time(clusters: list[Cluster], size: IntArray, first: IntArray, end: IntArray) -> int:
    """Most processor-minutes of jobs that clusters can do in windows of minutes, if work may be divided at will.

    Parameters
    ----------
    clusters : list
        That do them together.
    size, first, end : array of int, shape (n_jobs,)
        Processor-minutes of each job, its first minute, and the one after its last.
    """
    times = np.unique(np.concatenate([first, end]))
    rooms = np.diff(sum((processor_minutes_by(cluster, times) for cluster in clusters), np.zeros_like(times))).tolist()
    order = np.argsort(first, kind="stable").tolist()
    waiting: list[tuple[int, int]] = []  # end of the window and work that is left
    position = done = 0
    for time, room in zip(times.tolist(), rooms, strict=False):
        while position < len(order) and first[order[position]] <= time:
            job = order[position]
            heappush(waiting, (int(end[job]), int(size[job])))
            position += 1
        while room and waiting:
            window_end, left = heappop(waiting)
            if window_end <= time:
                continue
            taken = min(room, left)
            room -= taken
            done += taken
            if taken < left:
                heappush(waiting, (window_end, left - taken))
    return done
