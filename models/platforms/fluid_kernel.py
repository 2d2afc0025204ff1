"""The inner loop of the bounds of hybrid platforms: what each job costs at least at given prices."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from ...core.compiled import compiled
from ...core.quantities import IntArray


class Jobs(NamedTuple):
    """The jobs, all of shape (n_jobs,).

    Attributes
    ----------
    size, arrival_s, deadline_s, first_slot : array of int
        Processor-minutes, arrival, deadline, and the first slot in which a job can work.
    latest_s : array of int
        No job may end after it.
    """

    size: IntArray
    arrival_s: IntArray
    deadline_s: IntArray
    first_slot: IntArray
    latest_s: IntArray


class Tiers(NamedTuple):
    """The tiers of clusters.

    Attributes
    ----------
    largest, slot_prices : array of int, shape (n_tiers, n_slots - 1)
        Most processor-minutes that a job can have in a slot, and what one costs there on top.
    least_end_s : array of int, shape (n_tiers, n_jobs)
        When a job ends on a tier, at the earliest.
    cost, most_size : array of int, shape (n_tiers,)
        What a processor-minute costs in all slots, and the largest job that may run there.
    """

    largest: IntArray
    slot_prices: IntArray
    least_end_s: IntArray
    cost: IntArray
    most_size: IntArray


class CloudTier(NamedTuple):
    """The cloud.

    Attributes
    ----------
    run_s : array of int, shape (n_jobs,) or (0,)
        How long jobs run there; empty if none can.
    cost, most_size : int
        What a processor-minute costs, and the largest job that may run there.
    """

    run_s: IntArray
    cost: int
    most_size: int


@compiled
def least_costs(
    jobs: Jobs, tiers: Tiers, slot_end_s: IntArray, cloud: CloudTier, second: int, late_second: int, nowhere: int
) -> IntArray:
    """Cost of each job that runs wholly on the tier, or in the cloud, and ends in the slot, where that costs least.

    To end in a slot, a job fills the cheapest slots up to it, each with no more than the largest cluster has there.
    With a heap of what it fills, dearest first, the slots are gone through once.

    Parameters
    ----------
    jobs, tiers, cloud : Jobs, Tiers, CloudTier
        What has to run, and where it can.
    slot_end_s : array of int, shape (n_slots,)
        When work in a slot ends, at the earliest. The last slot takes everything and has no price.
    second, late_second : int
        What a second from arrival to end costs, and one after the deadline.
    nowhere : int
        More than any job costs.

    Returns
    -------
    array of int, shape (n_jobs,)
        ``nowhere`` if a job cannot run.
    """
    size, arrival_s, deadline_s, first_slot, latest_s = jobs
    largest, slot_prices, least_end_s, cost, most_size = tiers
    n_jobs, n_tiers, last = len(size), len(largest), len(slot_end_s) - 1
    least = np.full(n_jobs, nowhere, np.int64)
    for j in range(n_jobs):
        # In the cloud there is one way, which tiers must beat.
        if len(cloud.run_s) and size[j] <= cloud.most_size:
            end = arrival_s[j] + cloud.run_s[j]
            if end <= latest_s[j]:
                least[j] = second * cloud.run_s[j] + late_second * max(end - deadline_s[j], 0) + cloud.cost * size[j]
        for k in range(n_tiers):
            if size[j] > most_size[k]:
                continue
            # Keyed by the negative price, so that the dearest slot comes out first; numba needs the type of the items.
            heap = [(np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)]
            filled, paid = np.int64(0), cost[k] * size[j]
            for slot in range(first_slot[j], last + 1):
                end = max(slot_end_s[slot], least_end_s[k, j])
                if end > latest_s[j]:
                    break
                time = second * (end - arrival_s[j]) + late_second * max(end - deadline_s[j], 0)
                # From here on, ends are only later: the time alone costs too much.
                if time + cost[k] * size[j] >= least[j]:
                    break
                amount = size[j] if slot == last else min(largest[k, slot], size[j])
                price = np.int64(0) if slot == last else slot_prices[k, slot]
                if amount == 0 or (filled == size[j] and price >= -heap[0][0]):
                    continue
                # The slot takes what it can; whatever is too much leaves the dearest slots again.
                heappush(heap, (-price, np.int64(slot), amount))
                filled += amount
                paid += amount * price
                while filled > size[j]:
                    dearest = heappop(heap)
                    excess = min(filled - size[j], dearest[2])
                    filled -= excess
                    paid += excess * dearest[0]
                    if excess < dearest[2]:
                        heappush(heap, (dearest[0], dearest[1], dearest[2] - excess))
                if filled == size[j] and time + paid < least[j]:
                    least[j] = time + paid
    return least
