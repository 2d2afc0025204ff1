"""A sample: one metric of the runs of one setting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..core.statistics import Estimate, Statistic, mean_of
from ..replay.bags.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Cell:
    """The days of a job in a scenario under a policy.

    Attributes
    ----------
    job, scenario, policy : str
        Which.
    outcomes : tuple of Outcome
        One for each day.
    """

    job: str
    scenario: str
    policy: str
    outcomes: tuple[Outcome, ...]

    def values(self, metric: Callable[[Outcome], float]) -> list[float]:
        """A number of each day."""
        return [metric(day) for day in self.outcomes]

    def statistic(self, metric: Callable[[Outcome], float]) -> Statistic:
        """Mean of a number over the days."""
        return mean_of(self.values(metric))

    def mean(self, metric: Callable[[Outcome], float]) -> Estimate:
        """Mean of a number over the days, with its interval."""
        return self.statistic(metric).estimate

    @property
    def late_days(self) -> list[Outcome]:
        """Days that missed the deadline."""
        return [day for day in self.outcomes if not day.meets_deadline]
