"""Comparisons of runs of the A2HA paper: spreads, speedups for a number of hosts, shares of orderings."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from spotbag.core.statistics import Estimate

from ...claims import estimate_of
from ...statements import Statements
from .runs import METRICS, A2haCell, A2haRun, Metric
from .settings import Ratios

SAID = Statements.read(__package__)

TWO_JOBS = ("image", "synthetic")
"""The jobs of section 4.2, and of what is said of Figs 9 and 10."""


def name_of(ratios: Ratios) -> str:
    """Both ratios in a sentence."""
    return f"{ratios[0]:g}/{ratios[1]:g}"


def value(cell: A2haCell, quantity: str) -> float:
    """Mean of a quantity of Table 2."""
    return cell.statistic(METRICS[quantity]).value


def percent_of_runs(cell: A2haCell, is_so: Callable[[A2haRun], bool]) -> Estimate:
    """Percentage of the orderings of which something is so."""
    return cell.mean(lambda run: 100.0 * is_so(run))


def sd_less(one: A2haCell, other: A2haCell, metric: Metric) -> Estimate:
    """Standard deviation of the one less that of the other, over the same orderings."""
    mine, its = one.sd(metric), other.sd(metric)
    return estimate_of(None if mine is None or its is None else mine - its)


def same_hosts_difference(one: A2haCell, other: A2haCell) -> Estimate:
    """Speedup of the one less that of the other, averaged over numbers of hosts that both have twice or more.

    Orderings with the same number of hosts are others in both, so they are not paired; a number of hosts counts as
    often as the one that has it less often. The interval is that of the normal distribution.
    """
    pairs = [
        ([run.speedup for run in mine], [run.speedup for run in other.by_hosts[hosts]])
        for hosts, mine in one.by_hosts.items()
        if min(len(mine), len(other.by_hosts.get(hosts, ()))) > 1
    ]
    if not pairs:
        return estimate_of(None)
    weights = np.array([min(map(len, pair)) for pair in pairs], dtype=float)
    shares = weights / weights.sum()
    means = np.array([np.mean(mine) - np.mean(its) for mine, its in pairs])
    variances = np.array([sum(np.var(values, ddof=1) / len(values) for values in pair) for pair in pairs])
    half_width = 1.96 * math.sqrt(float(shares**2 @ variances))
    return Estimate(int(weights.sum()), float(shares @ means), half_width)


def speedup_elasticity(cell: A2haCell, metric: Metric) -> Estimate:
    """Elasticity: percentage growth of an ordering's speedup for each percent of growth of a number.

    Least squares of the logarithms over the orderings; the interval is that of the normal distribution.
    """
    logs = np.log([[metric(run), run.speedup] for run in cell.runs])
    less = logs - logs.mean(axis=0)
    n, square = len(logs), float(less[:, 0] @ less[:, 0])
    if n <= 2 or square == 0:
        return estimate_of(None)
    slope = float(less[:, 0] @ less[:, 1]) / square
    rest = less[:, 1] - slope * less[:, 0]
    return Estimate(n, slope, 1.96 * math.sqrt(float(rest @ rest) / (n - 2) / square))
