"""Comparisons of runs of the A2HA paper: spreads, speedups for a number of hosts, shares of orderings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ....core.statistics import Estimate
from ...claims import Claim, Verdict, judged
from ...paper_result import NOTHING
from .runs import METRICS, A2haCell, A2haRun, Metric
from .settings import Ratios

Found: TypeAlias = tuple[str, Verdict]
"""A comparison in words, and its verdict."""

BY_ARITHMETIC = "arithmetic decides it, no replay"
"""In the reasons of statements on formulas, on printed numbers, and on what a set-up without decisions comes to."""

TWO_JOBS = ("image", "synthetic")
"""The jobs of section 4.2, and of what is said of Figs 9 and 10."""


def judged_with(
    statement: str, found: Sequence[Found], ours: str, why: str, *, against: str = "", **where: Any
) -> Claim:
    """Return a claim as `judged` does, with a remark for any verdict, and another for a failed claim.

    A single comparison is not named: it is what stands in ``ours``.
    """
    claim = judged(statement, found, ours, **where)
    reasons = [claim.reason if len(found) > 1 else "", against if claim.verdict != "holds" else "", why]
    return replace(claim, reason="; ".join(filter(None, reasons)))


def name_of(ratios: Ratios) -> str:
    """Both ratios in a sentence."""
    return f"{ratios[0]:g}/{ratios[1]:g}"


def span(values: Iterable[float], digits: int) -> str:
    """The least and the largest of some numbers, as ``1.0 to 2.0``; ``-`` of none."""
    found = list(values)
    if not found:
        return "-"
    low, high = (f"{value:.{digits}f}" for value in (min(found), max(found)))
    return low if low == high else f"{low} to {high}"


def mean_span(estimates: Iterable[Estimate], digits: int) -> str:
    """The least and the largest of some means."""
    return span((each.mean for each in estimates if each.mean is not None), digits)


def value(cell: A2haCell, quantity: str) -> float:
    """Mean of a quantity of Table 2."""
    return cell.statistic(METRICS[quantity]).value


def percent_of_runs(cell: A2haCell, is_so: Callable[[A2haRun], bool]) -> Estimate:
    """Percentage of the orderings of which something is so."""
    return cell.mean(lambda run: 100.0 * is_so(run))


def sd_less(one: A2haCell, other: A2haCell, metric: Metric) -> Estimate:
    """Standard deviation of the one less that of the other, over the same orderings."""
    mine, its = one.sd(metric), other.sd(metric)
    return NOTHING if mine is None or its is None else (mine - its).estimate


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
        return NOTHING
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
        return NOTHING
    slope = float(less[:, 0] @ less[:, 1]) / square
    rest = less[:, 1] - slope * less[:, 0]
    return Estimate(n, slope, 1.96 * math.sqrt(float(rest @ rest) / (n - 2) / square))
