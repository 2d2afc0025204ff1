"""Jobs of a hybrid platform as work that flows: tiers of clusters of one price, slots of time, and a cloud.

What all schedules of the jobs of a platform have in common, whatever the policy:

- A job runs wholly on one resource. On a cluster it takes whole processor-minutes, none of a minute that has begun when
  it arrives, and ends with the minute of its last one. In a cloud it runs for a second at least: on n machines of p
  processors each, for ``60 size / (n p)`` seconds, rounded up.
- Clusters of one price are a *tier*: together they have so many processor-minutes in each minute, and a job never gets
  more of them than the largest cluster has.
- A processor-minute costs what its cluster asks. Machines of a cloud are paid for as long as they run, or longer: a
  processor-minute costs ``cost_per_vm_hour / (60 p)`` or more.

Minutes are put together in *slots*: their processor-minutes add up, and work in a slot may end with its first minute.
That only takes constraints away, so what holds for slots holds for minutes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush
from typing import TypeAlias

import numpy as np

from ...core.quantities import SECONDS_PER_HOUR, IntArray
from ...instances.platforms.entries import SLOT_S, AllocatedCluster, AvailabilityStep, Cloud, DedicatedCluster
from ...instances.platforms.platform import Platform

Cluster: TypeAlias = DedicatedCluster | AllocatedCluster

MOST_SLOTS = 4_000
"""Even slots, for the time in which clusters are likely to be busy; longer ones follow."""

_LONGER = 0.02
"""Length of each slot after the even ones, relative to all time before it."""

_SLOWEST = 0.25
"""Share of all processors with which the time is estimated in which clusters are busy."""

_MOST_PROCESSOR_MINUTES = 2**62


@dataclass(frozen=True, slots=True)
class FluidCloud:
    """All clouds of a platform.

    Attributes
    ----------
    price : Fraction
        Of a processor-minute in the cheapest.
    machines : tuple of (Fraction, int)
        Price of a machine for an hour and its processors, for each cloud.
    """

    price: Fraction
    machines: tuple[tuple[Fraction, int], ...]

    def most_processors(self, cost_at_most: Fraction | None) -> int | None:
        """Most processors at once if no more may be paid, an hour at least for each machine; None for any number."""
        if cost_at_most is None or any(price == 0 for price, _ in self.machines):
            return None
        return max(math.floor(cost_at_most / price) * processors for price, processors in self.machines)


@dataclass(frozen=True)
class PlatformFluid:
    """The jobs of a platform, its tiers and its slots.

    Attributes
    ----------
    ids : tuple of str, shape (n_jobs,)
        Of the jobs, in the order of arrival.
    size, arrival_s, deadline_s : array of int, shape (n_jobs,)
        Processor-minutes and times of the jobs.
    prices : tuple of Fraction, ascending
        Of a processor-minute in each tier.
    processors : tuple of int
        Most that a cluster of each tier ever has.
    starts : array of int, shape (n_slots,)
        Minutes with which slots begin. The last slot has no end, and any number of processor-minutes.
    capacity, largest : array of int, shape (n_tiers, n_slots - 1)
        Processor-minutes of a tier in each other slot, and those of the cluster that has most there; no more than all
        jobs need.
    cloud : FluidCloud or None
        If there is any.
    """

    ids: tuple[str, ...]
    size: IntArray
    arrival_s: IntArray
    deadline_s: IntArray
    prices: tuple[Fraction, ...]
    processors: tuple[int, ...]
    starts: IntArray
    capacity: IntArray
    largest: IntArray
    cloud: FluidCloud | None

    @cached_property
    def first_minute(self) -> IntArray:
        """First minute that each job can use, shape (n_jobs,)."""
        return -(-self.arrival_s // SLOT_S)

    @cached_property
    def first_slot(self) -> IntArray:
        """Slot of the first minute of each job, shape (n_jobs,)."""
        return np.searchsorted(self.starts, self.first_minute, side="right") - 1

    @cached_property
    def least_end_s(self) -> IntArray:
        """End of each job if the largest cluster of a tier had nothing else to do, shape (n_tiers, n_jobs)."""
        most = np.array(self.processors, dtype=np.int64).reshape(-1, 1)
        return (self.first_minute + -(-self.size // most)) * SLOT_S

    def cloud_run_s(self, cost_at_most: Fraction | None) -> IntArray | None:
        """Shortest run of each job in a cloud, shape (n_jobs,), if no more may be paid; None if none can run there."""
        if self.cloud is None:
            return None
        processors = self.cloud.most_processors(cost_at_most)
        if processors is None:
            return np.ones(len(self.size), dtype=np.int64)
        # More than all work in a second is as good as no limit, and fits the arithmetic.
        processors = min(processors, SLOT_S * int(self.size.max(initial=1)))
        return None if processors == 0 else -(-SLOT_S * self.size // processors)


def platform_fluid(platform: Platform, most_slots: int = MOST_SLOTS) -> PlatformFluid:
    """Put the clusters of a platform into tiers, and time into slots.

    Parameters
    ----------
    platform : Platform
        With jobs or without.
    most_slots : int
        About how many even slots there may be; minutes are not divided.
    """
    jobs = platform.jobs_by_arrival
    size = np.array([job.size_processor_minutes for job in jobs], dtype=np.int64)
    arrival_s = np.array([job.arrival_s for job in jobs], dtype=np.int64)
    tiers = _clusters_by_price(platform)
    starts = _slots(-(-arrival_s // SLOT_S), size, [clusters for _, clusters in tiers], most_slots)
    work = int(size.sum())
    by_tier = [np.array([np.diff(processor_minutes_by(each, starts)) for each in clusters]) for _, clusters in tiers]
    shape = len(tiers), len(starts) - 1
    return PlatformFluid(
        ids=tuple(job.id for job in jobs),
        size=size,
        arrival_s=arrival_s,
        deadline_s=np.array([job.deadline_s for job in jobs], dtype=np.int64),
        prices=tuple(price for price, _ in tiers),
        processors=tuple(max(max(_step_processors(cluster)) for cluster in clusters) for _, clusters in tiers),
        starts=starts,
        # Room beyond all work changes no schedule, and whatever price it had would be taken off the bound.
        capacity=np.array([np.minimum(each.sum(axis=0), work) for each in by_tier], dtype=np.int64).reshape(shape),
        largest=np.array([np.minimum(each.max(axis=0), work) for each in by_tier], dtype=np.int64).reshape(shape),
        cloud=_fluid_cloud(platform),
    )


def _clusters_by_price(platform: Platform) -> list[tuple[Fraction, list[Cluster]]]:
    """Tiers: the clusters of each price of a processor-minute, which is exact; the cheapest first."""
    tiers: defaultdict[Fraction, list[Cluster]] = defaultdict(list)
    for resource in platform.resources:
        if isinstance(resource, AllocatedCluster):
            tiers[Fraction(resource.cost_per_processor_minute)].append(resource)
        elif isinstance(resource, DedicatedCluster):
            tiers[Fraction(0)].append(resource)
    return sorted(tiers.items())


def _fluid_cloud(platform: Platform) -> FluidCloud | None:
    """Put the clouds of a platform together; None if there are none."""
    machines = tuple(
        (Fraction(resource.cost_per_vm_hour), resource.processors_per_vm)
        for resource in platform.resources
        if isinstance(resource, Cloud)
    )
    if not machines:
        return None
    return FluidCloud(
        min(price / ((SECONDS_PER_HOUR // SLOT_S) * processors) for price, processors in machines), machines
    )


def _steps(cluster: Cluster) -> tuple[AvailabilityStep, ...]:
    if isinstance(cluster, DedicatedCluster):
        return (AvailabilityStep(from_s=0, processors=cluster.processors),)
    return cluster.availability


def _step_processors(cluster: Cluster) -> list[int]:
    return [step.processors for step in _steps(cluster)]


def processor_minutes_by(cluster: Cluster, minutes: IntArray) -> IntArray:
    """Processor-minutes of a cluster until minutes begin, counted from 0 s on."""
    steps = _steps(cluster)
    froms = np.array([step.from_s // SLOT_S for step in steps], dtype=np.int64)
    processors = np.array(_step_processors(cluster), dtype=np.int64)
    before = np.concatenate([[0], np.cumsum(np.diff(froms) * processors[:-1])])

    def in_steps(at: IntArray) -> IntArray:
        step = np.searchsorted(froms, at, side="right") - 1
        return np.asarray(before[step] + (at - froms[step]) * processors[step])

    repeat_s = cluster.repeat_s if isinstance(cluster, AllocatedCluster) else None
    if repeat_s is None:
        return in_steps(minutes)
    period = repeat_s // SLOT_S
    periods, rest = np.divmod(minutes, period)
    return np.asarray(periods * in_steps(np.array([period]))[0] + in_steps(rest))


def _usual_processors(cluster: Cluster) -> float:
    """Processors of a cluster in the long run."""
    if isinstance(cluster, AllocatedCluster) and cluster.repeat_s is not None:
        period = cluster.repeat_s // SLOT_S
        return float(processor_minutes_by(cluster, np.array([period]))[0]) / period
    return float(_step_processors(cluster)[-1])


def _slots(first_minute: IntArray, size: IntArray, tiers: list[list[Cluster]], most_slots: int) -> IntArray:
    """Choose where slots begin.

    How long clusters are busy is estimated with the processors of the smallest tier, or some of all if that is very
    small. That time is divided evenly; idle time between is one slot. Any choice is valid.
    """
    usual = [sum(map(_usual_processors, tier)) for tier in tiers]
    if len(size) == 0 or not usual:
        return np.array([0 if len(size) == 0 else int(first_minute[0])], dtype=np.int64)
    processors = max(min(usual), _SLOWEST * sum(usual))
    busy: list[list[int]] = []
    for minute, work in zip(first_minute.tolist(), size.tolist(), strict=True):
        if not busy or minute > busy[-1][1]:
            busy.append([minute, minute])
        busy[-1][1] += math.ceil(work / processors)
    length = -(-sum(last - first for first, last in busy) // most_slots)
    starts = [start for first, last in busy for start in (*range(first, last, length), last)]
    # By then the tier with least room has done all work by itself: what comes later is one open slot.
    horizon = starts[-1] + math.ceil(float(size.sum()) / min(usual))
    while starts[-1] < horizon:
        starts.append(starts[-1] + max(length, math.ceil(_LONGER * (starts[-1] - starts[0]))))
    # Beyond, processor-minutes would be too many for the arithmetic.
    latest = _MOST_PROCESSOR_MINUTES // sum(max(_step_processors(cluster)) for tier in tiers for cluster in tier)
    return np.array([start for start in starts if start <= latest], dtype=np.int64)


def least_cost_in_time(platform: Platform, delay_s_at_most: int = 0) -> Fraction | None:
    """Bound the cost of all schedules with no more delay from below; None if there is proved to be none.

    A job that is not late does its work on a cluster in whole minutes, from the first that begins after its arrival to
    the last that ends by its deadline. Let F_k be the most work that fits into these windows on all clusters of the k
    cheapest tiers together, if work may be divided at will, W all work, and c_k the price of a processor-minute in tier
    k. With the cloud in its place among the tiers, where all work fits, any schedule without delay costs at least

        sum_k c_k (F_k - F_k-1),    up to the tier with F_k = W:

    the k cheapest tiers do F_k or less, whatever the schedule. Jobs that no cluster of these tiers could do in time,
    even alone, do not count in F_k.

    If all delays are at most D together, fewer than D / theta jobs are late by more than theta. All others end in
    windows that are longer by theta; these few do no more work on clusters than as many of the largest jobs have, which
    F_k is raised by. That holds for any theta; the best counts.

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
        # Any theta proves a bound. Halves of D come within a factor of 2 of the best one, in few steps.
        later_s //= 2


def _least_cost(platform: Platform, later_s: int, exceptions: int) -> Fraction | None:
    """Bound the cost if all but so many jobs are late by at most so much."""
    jobs = platform.jobs
    size = np.array([job.size_processor_minutes for job in jobs], dtype=np.int64)
    first = np.array([-(-job.arrival_s // SLOT_S) for job in jobs], dtype=np.int64)
    end = np.array([(job.deadline_s + later_s) // SLOT_S for job in jobs], dtype=np.int64)
    spare = int(np.sort(size)[::-1][:exceptions].sum())
    cloud = _fluid_cloud(platform)
    work = int(size.sum())
    cost, done = Fraction(0), 0
    clusters: list[Cluster] = []
    possible = np.zeros(len(jobs), dtype=bool)
    for price, tier in _clusters_by_price(platform):
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

    All processor-minutes, in the order of time, go to the job with the earliest deadline (Glover 1967, maximum matching
    in convex bipartite graphs), from one arrival or deadline to the next at once.

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
