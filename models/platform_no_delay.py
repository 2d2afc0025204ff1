"""Least cost of a hybrid platform if no job may be late: how much work clusters can do in time, from cheap to dear.

A job that is not late does its work on a cluster in whole minutes, from the first that begins after its arrival to the
last that ends by its deadline. Let F_k be the most work that fits into these windows on all clusters of the k cheapest
tiers together, if work may be divided at will, W all work, and c_k the price of a processor-minute in tier k. With the
cloud in its place among the tiers, where all work fits, any schedule without delay costs at least

    sum_k c_k (F_k - F_k-1),    up to the tier with F_k = W:

the k cheapest tiers do F_k or less, whatever the schedule. Whole jobs that no cluster of these tiers could do in time,
even alone, do not count in F_k.

F_k is found by giving all processor-minutes, in the order of time, to the job with the earliest deadline (Glover 1967,
maximum matching in convex bipartite graphs), from one arrival or deadline to the next at once.
"""

from __future__ import annotations

from fractions import Fraction
from heapq import heappop, heappush

import numpy as np

from ..instances.platforms import SLOT_S, Platform
from ..instances.problem import IntArray
from .platform_fluid import Cluster, clusters_by_price, fluid_cloud, processor_minutes_by


def least_cost_without_delay(platform: Platform) -> Fraction | None:
    """Bound the cost of all schedules without delay from below; None if the jobs' work does not fit in time.

    Notes
    -----
    O(n log n) for n jobs, for each tier; and O(n) for each cluster. In exact fractions.
    """
    jobs = platform.jobs
    size = np.array([job.size_processor_minutes for job in jobs], dtype=np.int64)
    first = np.array([-(-job.arrival_s // SLOT_S) for job in jobs], dtype=np.int64)
    end = np.array([job.deadline_s // SLOT_S for job in jobs], dtype=np.int64)
    cloud = fluid_cloud(platform)
    work = int(size.sum())
    cost, done = Fraction(0), 0
    clusters: list[Cluster] = []
    possible = np.zeros(len(jobs), dtype=bool)
    for price, tier in clusters_by_price(platform):
        if cloud is not None and cloud.price <= price:
            break
        clusters += tier
        for cluster in tier:
            room = processor_minutes_by(cluster, end) - processor_minutes_by(cluster, np.minimum(first, end))
            possible |= room >= size
        in_time = most_work_in_time(clusters, size[possible], first[possible], end[possible])
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
