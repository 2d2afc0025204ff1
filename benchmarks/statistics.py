"""Statistics of independent observations with intervals: means, deviations, ratios, paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from spotbag.core.statistics import Estimate, estimate


@dataclass(frozen=True, slots=True)
class Statistic:
    """A value, and how much each observation moved it.

    Attributes
    ----------
    value : float
        The value over all observations.
    influence : tuple of float
        One number for each observation, of mean zero.
    """

    value: float
    influence: tuple[float, ...]

    @property
    def estimate(self) -> Estimate:
        """The value with its interval."""
        spread = estimate(self.influence)
        return Estimate(len(self.influence), self.value, spread.half_width)

    def scaled(self, factor: float) -> Statistic:
        """Return a multiple of the value."""
        return Statistic(self.value * factor, tuple(each * factor for each in self.influence))

    def __neg__(self) -> Statistic:
        return self.scaled(-1)

    def __sub__(self, other: Statistic) -> Statistic:
        pairs = zip(self.influence, other.influence, strict=True)
        return Statistic(self.value - other.value, tuple(mine - its for mine, its in pairs))


def mean_of(values: Sequence[float]) -> Statistic:
    """Mean over observations."""
    mean = math.fsum(values) / len(values)
    return Statistic(mean, tuple(value - mean for value in values))


def sd_of(values: Sequence[float]) -> Statistic | None:
    """Standard deviation over observations; None of a single one."""
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
    """Percentage by which the mean of ``mine`` is below that of ``others``."""
    ratio = ratio_of(mine, others, -100.0)
    if ratio is None:
        raise ValueError("the mean of the other must not be 0")
    return Statistic(100.0 + ratio.value, ratio.influence)


def average(statistics: Sequence[Statistic]) -> Statistic:
    """Mean of statistics of the same observations."""
    n = len(statistics)
    observations = zip(*(entry.influence for entry in statistics), strict=True)
    influence = tuple(math.fsum(observation) / n for observation in observations)
    return Statistic(math.fsum(entry.value for entry in statistics) / n, influence)


def quotient(one: Statistic, other: Statistic, factor: float = 1.0) -> Statistic | None:
    """Ratio of two statistics of the same observations, times a factor; None if the divisor is 0."""
    if other.value == 0:
        return None
    ratio = one.value / other.value
    pairs = zip(one.influence, other.influence, strict=True)
    return Statistic(factor * ratio, tuple(factor * (mine - ratio * its) / other.value for mine, its in pairs))
