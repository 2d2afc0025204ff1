"""Means, shares and relative changes over days, each with the 95 % interval that the days give.

Everything here is a function of means over the same days, so the interval is that of its linearisation: the mean of one
number a day (its influence), which is what `estimate` measures. Days that several cells share stay paired that way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...replay.summary import Estimate, estimate


@dataclass(frozen=True, slots=True)
class Statistic:
    """A value, and how much each day moved it.

    Attributes
    ----------
    value : float
        The value over all days.
    influence : tuple of float
        One number a day, of mean zero.
    """

    value: float
    influence: tuple[float, ...]

    @property
    def estimate(self) -> Estimate:
        """The value with its interval."""
        spread = estimate(self.influence)
        return Estimate(len(self.influence), self.value, spread.half_width)

    def __sub__(self, other: Statistic) -> Statistic:
        pairs = zip(self.influence, other.influence, strict=True)
        return Statistic(self.value - other.value, tuple(mine - its for mine, its in pairs))


def mean_of(values: Sequence[float]) -> Statistic:
    """Mean over days."""
    mean = math.fsum(values) / len(values)
    return Statistic(mean, tuple(value - mean for value in values))


def sd_of(values: Sequence[float]) -> Statistic | None:
    """Standard deviation over days; None of a single one."""
    n = len(values)
    if n < 2:
        return None
    mean = math.fsum(values) / n
    squares = [(value - mean) ** 2 for value in values]
    sd = math.sqrt(math.fsum(squares) / (n - 1))
    if sd == 0:
        return Statistic(0.0, (0.0,) * n)
    average_square = math.fsum(squares) / n
    return Statistic(sd, tuple((square - average_square) / (2 * sd) for square in squares))


def ratio_of(parts: Sequence[float], wholes: Sequence[float], factor: float = 1.0) -> Statistic | None:
    """Sum of the parts over the sum of the wholes, times a factor; None if there is no whole."""
    whole = math.fsum(wholes) / len(wholes)
    if whole == 0:
        return None
    ratio = math.fsum(parts) / len(parts) / whole
    pairs = zip(parts, wholes, strict=True)
    return Statistic(factor * ratio, tuple(factor * (part - ratio * each) / whole for part, each in pairs))


def reduction_percent(mine: Sequence[float], others: Sequence[float]) -> Statistic:
    """By how many percent the mean of the one is below the mean of the other."""
    ratio = ratio_of(mine, others, -100.0)
    if ratio is None:
        raise ValueError("the mean of the other must not be 0")
    return Statistic(100.0 + ratio.value, ratio.influence)


def average(statistics: Sequence[Statistic]) -> Statistic:
    """Mean over cells that share their days."""
    n = len(statistics)
    days = zip(*(entry.influence for entry in statistics), strict=True)
    return Statistic(math.fsum(entry.value for entry in statistics) / n, tuple(math.fsum(day) / n for day in days))


def quotient(one: Statistic, other: Statistic, factor: float = 1.0) -> Statistic | None:
    """One statistic over another of the same days, times a factor; None if the other is 0."""
    if other.value == 0:
        return None
    ratio = one.value / other.value
    pairs = zip(one.influence, other.influence, strict=True)
    return Statistic(factor * ratio, tuple(factor * (mine - ratio * its) / other.value for mine, its in pairs))
