"""A sample: the runs of one setting, and what is estimated from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from spotbag.core.statistics import Estimate

from .statistics import Statistic, mean_of, ratio_of

Run = TypeVar("Run")


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

    def less(self, other: Sample[Run], metric: Callable[[Run], float]) -> Estimate:
        """Mean of a number less that of another sample, run by run."""
        return (self.statistic(metric) - other.statistic(metric)).estimate

    def share_percent(self, part: Callable[[Run], float], whole: Callable[[Run], float]) -> Statistic | None:
        """Percentage of the sum of one number in the sum of another; None if the latter is 0."""
        return ratio_of(self.values(part), self.values(whole), 100.0)
