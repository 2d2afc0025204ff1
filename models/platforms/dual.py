"""Prices prove lower bounds of the metrics of a hybrid platform, in whole numbers.

The metrics of a schedule are sums over its jobs: total cost, total execution time (from arrival to end), total delay
(from deadline to end, of late jobs). To bound one of them from below for all schedules that keep *caps* on others, let
there be a price mu_ks >= 0 for the processor-minutes of each tier k in each slot s, with capacities P_ks, and a price
lambda_c >= 0 for each capped metric f_c, with its cap F_c. For a schedule that keeps the caps, with x_jks
processor-minutes of job j,

    f >= f + sum_c lambda_c (f_c - F_c) + sum_ks mu_ks (sum_j x_jks - P_ks)
      >= sum_j min [f_j + sum_c lambda_c f_cj + sum_ks mu_ks x_jks] - sum_c lambda_c F_c - sum_ks mu_ks P_ks,

where each minimum is over all that a job can do as if it were alone (`fluid_kernel.least_costs`), with the
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
from typing import Literal, TypeAlias, get_args

import numpy as np

from ...core.quantities import FloatArray, IntArray
from ...instances.entries import NEVER
from ...instances.platforms.entries import SLOT_S
from .fluid import PlatformFluid
from .fluid_kernel import CloudTier, Jobs, Tiers, least_costs

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
