"""Prices prove lower bounds of the metrics of a hybrid platform, in whole numbers.

The metrics of a schedule are sums over its jobs: total cost, total execution time (from arrival to end), total delay
(from deadline to end, of late jobs). To bound one of them from below for all schedules that keep *caps* on others, let
there be a price mu_ks >= 0 for the processor-minutes of each tier k in each slot s, with capacities P_ks, and a price
lambda_c >= 0 for each capped metric f_c, with its cap F_c. For a schedule that keeps the caps, with x_jks
processor-minutes of job j,

    f >= f + sum_c lambda_c (f_c - F_c) + sum_ks mu_ks (sum_j x_jks - P_ks)
      >= sum_j min [f_j + sum_c lambda_c f_cj + sum_ks mu_ks x_jks] - sum_c lambda_c F_c - sum_ks mu_ks P_ks,

where each minimum is over all that a job can do as if it were alone (`least_costs`), with the
caps for itself: no job costs more, takes longer, or is later than all together. Prices are whole multiples of 1 / Q and
costs are rounded down to such, so all is whole numbers: whoever chose the prices, by whatever arithmetic, the bound
holds.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from ...core.compiled import compiled, compiled_part
from ...core.quantities import FloatArray, IntArray
from ...instances.entries import NEVER
from ...instances.platforms.entries import SLOT_S
from .fluid import PlatformFluid

Metric: TypeAlias = Literal["cost", "execution_time_s", "delay_s"]
METRICS: tuple[Metric, ...] = get_args(Metric)
Caps: TypeAlias = Mapping[Metric, Fraction]

_MOST_BITS = NEVER.bit_length() - 1
"""Power of 2 below which the cost of a job stays; integers of the inner loop have 63 bits."""

_LARGEST_PRICE = math.sqrt(sys.float_info.max)


@dataclass(frozen=True, slots=True)
class Prices:
    """Multipliers: what it costs to use what is limited.

    Attributes
    ----------
    slots : array of float, shape (n_tiers, n_slots - 1)
        mu, of a processor-minute; not negative.
    metrics : mapping
        lambda, of capped metrics; not negative.
    """

    slots: FloatArray
    metrics: Mapping[Metric, float]

    @property
    def finite(self) -> bool:
        """True if all are numbers small enough to be counted with."""
        largest = max(self.slots.max(initial=0.0), *self.metrics.values(), 0.0)
        return not math.isnan(self.slots.sum()) and largest < _LARGEST_PRICE


@dataclass(frozen=True, slots=True)
class DualValue:
    """Proof by prices.

    Attributes
    ----------
    value : Fraction or None
        Lower bound of the metric; None if there is no schedule that keeps the caps.
    stranded : str or None
        Id of a job that exceeds a cap wherever it runs, even alone.
    """

    value: Fraction | None
    stranded: str | None


def dual_value(fluid: PlatformFluid, metric: Metric, caps: Caps, prices: Prices) -> DualValue:
    """Evaluate the bound that prices prove; see the module.

    Parameters
    ----------
    fluid : PlatformFluid
        The jobs and what there is for them.
    metric : {"cost", "execution_time_s", "delay_s"}
        What is bounded.
    caps : mapping
        Most that other metrics may be, and the metric itself. No job can be worse than that alone, whatever the prices.
    prices : Prices
        Any.
    """
    cloud_run_s = fluid.cloud_run_s(caps.get("cost"))
    weights = dict.fromkeys(METRICS, 0.0) | dict(prices.metrics) | {metric: 1.0}
    cloud_price = fluid.cloud.price if fluid.cloud else Fraction(0)
    dearest = float(max(*fluid.prices, cloud_price, Fraction(0)))
    longest_s = int(fluid.starts[-1] + 1) * SLOT_S + int(fluid.least_end_s.max(initial=0))
    longest_s += 0 if cloud_run_s is None else int(cloud_run_s.max(initial=0))
    most = (weights["execution_time_s"] + weights["delay_s"]) * longest_s
    most += int(fluid.size.max(initial=0)) * (weights["cost"] * dearest + float(prices.slots.max(initial=0.0)))
    bits = _MOST_BITS - math.ceil(math.log2(max(most, 2.0)))  # Q itself stays below that power, too
    unit = Fraction(2) ** bits  # Q
    whole = {name: math.floor(Fraction(weight) * unit) for name, weight in weights.items()}
    mu = np.floor(np.ldexp(prices.slots, bits)).astype(np.int64)
    nowhere = 2**62  # more than any job costs
    least = least_costs(
        Jobs(fluid.size, fluid.arrival_s, fluid.deadline_s, fluid.first_slot, _latest_s(fluid, caps)),
        Tiers(
            fluid.largest,
            mu,
            fluid.least_end_s,
            np.array([math.floor(whole["cost"] * price) for price in fluid.prices], dtype=np.int64),
            np.array([_most_size(fluid, price, caps) for price in fluid.prices], dtype=np.int64),
        ),
        (fluid.starts + 1) * SLOT_S,
        CloudTier(
            np.zeros(0, dtype=np.int64) if cloud_run_s is None else cloud_run_s,
            math.floor(whole["cost"] * cloud_price),
            _most_size(fluid, cloud_price, caps),
        ),
        whole["execution_time_s"],
        whole["delay_s"],
        nowhere,
    )
    stranded = np.flatnonzero(least == nowhere)
    if len(stranded):
        return DualValue(None, fluid.ids[stranded[0]])
    rooms = zip(mu.ravel().tolist(), fluid.capacity.ravel().tolist(), strict=True)
    total = sum(least.tolist()) - sum(price * room for price, room in rooms if price)
    value = Fraction(total) - sum(whole[name] * cap for name, cap in caps.items() if name != metric)
    return DualValue(value / unit, None)


def _latest_s(fluid: PlatformFluid, caps: Caps) -> IntArray:
    """Time at which a job has used up a whole cap on execution time or delay, shape (n_jobs,)."""
    latest = np.full(len(fluid.size), NEVER)
    if "execution_time_s" in caps:
        latest = np.minimum(latest, fluid.arrival_s + min(math.floor(caps["execution_time_s"]), NEVER // 2))
    if "delay_s" in caps:
        latest = np.minimum(latest, fluid.deadline_s + min(math.floor(caps["delay_s"]), NEVER // 2))
    return latest


def _most_size(fluid: PlatformFluid, price: Fraction, caps: Caps) -> int:
    """Largest job that a cap on the cost pays for at a price of a processor-minute."""
    largest = int(fluid.size.max(initial=0))
    return min(math.floor(caps["cost"] / price), largest) if price and "cost" in caps else largest


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


@compiled_part
def _in_cloud(jobs: Jobs, cloud: CloudTier, j: int, second: int, late_second: int, nowhere: int) -> int:
    """Cost of a job in the cloud, where there is one way to run it; ``nowhere`` if it cannot."""
    if not len(cloud.run_s) or jobs.size[j] > cloud.most_size:
        return nowhere
    end = jobs.arrival_s[j] + cloud.run_s[j]
    if end > jobs.latest_s[j]:
        return nowhere
    late_s = max(end - jobs.deadline_s[j], 0)
    cost: int = second * cloud.run_s[j] + late_second * late_s + cloud.cost * jobs.size[j]
    return cost


@compiled_part
def _on_tier(
    jobs: Jobs, tiers: Tiers, slot_end_s: IntArray, j: int, k: int, second: int, late_second: int, least: int
) -> int:
    """Least cost of a job on a tier, if that is less than what is known; else what is known.

    To end in a slot, a job fills the cheapest slots up to it, each with no more than the largest cluster has there.
    With a heap of what it fills, dearest first, the slots are gone through once.
    """
    size, last = jobs.size[j], len(slot_end_s) - 1
    # Keyed by the negative price, so that the dearest slot comes out first; numba needs the type of the items.
    heap = [(np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)]
    filled, paid = np.int64(0), tiers.cost[k] * size
    for slot in range(jobs.first_slot[j], last + 1):
        end = max(slot_end_s[slot], tiers.least_end_s[k, j])
        if end > jobs.latest_s[j]:
            break
        time = second * (end - jobs.arrival_s[j]) + late_second * max(end - jobs.deadline_s[j], 0)
        # From here on, ends are only later: the time alone costs too much.
        if time + tiers.cost[k] * size >= least:
            break
        amount = size if slot == last else min(tiers.largest[k, slot], size)
        price = np.int64(0) if slot == last else tiers.slot_prices[k, slot]
        if amount == 0 or (filled == size and price >= -heap[0][0]):
            continue
        # The slot takes what it can; whatever is too much leaves the dearest slots again.
        heappush(heap, (-price, np.int64(slot), amount))
        filled += amount
        paid += amount * price
        while filled > size:
            dearest = heappop(heap)
            excess = min(filled - size, dearest[2])
            filled -= excess
            paid += excess * dearest[0]
            if excess < dearest[2]:
                heappush(heap, (dearest[0], dearest[1], dearest[2] - excess))
        if filled == size and time + paid < least:
            least = time + paid
    return least


@compiled
def least_costs(
    jobs: Jobs, tiers: Tiers, slot_end_s: IntArray, cloud: CloudTier, second: int, late_second: int, nowhere: int
) -> IntArray:
    """Cost of each job that runs wholly on the tier, or in the cloud, and ends in the slot, where that costs least.

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
    least = np.full(len(jobs.size), nowhere, np.int64)
    for j in range(len(least)):
        # The cloud comes first: what it costs cuts the search on the tiers short, which must beat it.
        least[j] = _in_cloud(jobs, cloud, j, second, late_second, nowhere)
        for k in range(len(tiers.largest)):
            if jobs.size[j] <= tiers.most_size[k]:
                least[j] = _on_tier(jobs, tiers, slot_end_s, j, k, second, late_second, least[j])
    return least
