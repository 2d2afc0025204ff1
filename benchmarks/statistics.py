"""Statistics of independent observations with intervals: means, deviations, ratios, paired differences; of samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

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


def less(one: Statistic | None, other: Statistic | None) -> Statistic | None:
    """Return a value less another; None if one is missing."""
    return None if one is None or other is None else one - other


def percent_more(one: Statistic | None, other: Statistic | None) -> Statistic | None:
    """Percentage by which a value is above another; None if one is missing, or the other is 0."""
    ratio = None if one is None or other is None else quotient(one, other, 100.0)
    return ratio and Statistic(ratio.value - 100, ratio.influence)


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
    # To first order, a run moves the variance by its square less the average one, the deviation by that over twice the
    # deviation; the mean, from which squares are taken, adds nothing.
    average_square = math.fsum(squares) / n
    return Statistic(sd, tuple((square - average_square) / (2 * sd) for square in squares))


def ratio_of(parts: Sequence[float], wholes: Sequence[float], factor: float = 1.0) -> Statistic | None:
    """Sum of the parts over the sum of the wholes, times a factor; None if there is no whole."""
    whole = math.fsum(wholes) / len(wholes)
    if whole == 0:
        return None
    ratio = math.fsum(parts) / len(parts) / whole
    # To first order, a run moves the ratio by what its part is above its share of the whole.
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


Run = TypeVar("Run")


@dataclass(frozen=True)
class Quantity(Generic[Run]):
    """A number of a run, stated once for tables and for sentences.

    Attributes
    ----------
    name : str
        In rows, and among the printed numbers; with its unit.
    words : str
        In sentences.
    digits : int
        Decimals.
    unit : str
        Behind the number.
    of : callable
        The number of a run.
    """

    name: str
    words: str
    digits: int
    unit: str
    of: Callable[[Run], float]

    def __call__(self, run: Run) -> float:
        """Number of a run."""
        return self.of(run)

    def text(self, *samples: Sample[Run], between: str = " to ") -> str:
        """Means of samples in words, without the unit."""
        return between.join(f"{sample.value(self):,.{self.digits}f}" for sample in samples)


@dataclass(frozen=True)
class Sample(Generic[Run]):
    """The runs of one setting; runs of the same number in two samples come from the same random numbers.

    Attributes
    ----------
    runs : tuple
        Outcomes of replays, one for each run.
    """

    runs: tuple[Run, ...]

    def values(self, metric: Callable[[Run], float]) -> list[float]:
        """A number of each run."""
        return [metric(run) for run in self.runs]

    def statistic(self, metric: Callable[[Run], float]) -> Statistic:
        """Mean of a number over the runs."""
        return mean_of(self.values(metric))

    def mean(self, metric: Callable[[Run], float]) -> Estimate:
        """Mean of a number over the runs, with its interval."""
        return self.statistic(metric).estimate

    def value(self, metric: Callable[[Run], float]) -> float:
        """Mean of a number over the runs, without an interval."""
        return self.statistic(metric).value

    def percent(self, is_so: Callable[[Run], bool]) -> Estimate:
        """Percentage of the runs of which something is so."""
        return self.mean(lambda run: 100.0 * is_so(run))

    def less(self, other: Sample[Run], metric: Callable[[Run], float]) -> Estimate:
        """Mean of a number less that of another sample, run by run."""
        return (self.statistic(metric) - other.statistic(metric)).estimate

    def share_percent(self, part: Callable[[Run], float], whole: Callable[[Run], float]) -> Statistic | None:
        """Percentage of the sum of one number in the sum of another; None if the latter is 0."""
        return ratio_of(self.values(part), self.values(whole), 100.0)
