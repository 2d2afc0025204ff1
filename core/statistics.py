"""Statistics of independent observations: means with intervals, ratios, paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over independent observations and its 95 % confidence interval, by Student's t.

    Attributes
    ----------
    n : int
        Number of observations.
    mean : float or None
        Their mean; None if there is none.
    half_width : float or None
        The interval is ``mean`` plus and minus this; None for fewer than two observations.
    """

    n: int
    mean: float | None
    half_width: float | None

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.mean is None or self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.mean is None or self.half_width is None else self.mean + self.half_width

    def scaled(self, factor: float) -> Estimate:
        """Estimate of a multiple of the mean."""
        mean, half = (None if value is None else value * factor for value in (self.mean, self.half_width))
        return Estimate(self.n, mean, half)

    def to_dict(self) -> dict[str, float | int | None]:
        """Estimate as JSON values."""
        return {"n": self.n, "mean": self.mean, "low": self.low, "high": self.high}


def fields_of(record: Any, *without: str) -> dict[str, Any]:
    """Return the fields of a dataclass, but for some, by name; estimates as JSON values."""
    values = {entry.name: getattr(record, entry.name) for entry in fields(record) if entry.name not in without}
    return {name: value.to_dict() if isinstance(value, Estimate) else value for name, value in values.items()}


def estimate(values: Sequence[float]) -> Estimate:
    """Estimate a mean from independent observations."""
    n = len(values)
    if n == 0:
        return Estimate(0, None, None)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(1, mean, None)
    from scipy.special import stdtrit

    spread = float(np.std(values, ddof=1))
    return Estimate(n, mean, float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * spread / math.sqrt(n))


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


def holm_adjusted(p_values: Sequence[float], tests: int | None = None) -> list[float]:
    """Adjust p-values for the number of tests by Holm's method: a test is significant if its value is small enough.

    Parameters
    ----------
    p_values : sequence of float
        Those of the tests.
    tests : int, optional
        How many tests there are, if others besides have no p-value that could be significant.
    """
    n = len(p_values) if tests is None else tests
    adjusted, least = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min((n - rank) * p_values[place], 1.0))
        adjusted[place] = least
    return adjusted
