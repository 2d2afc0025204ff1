"""Facts of the plans among which one was chosen for the days to come."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...core.statistics import Estimate, fields_of
from ...schedules.schedule import Schedule
from .result import Result


@dataclass(frozen=True, slots=True)
class PlanOnDays:
    """A plan on the days of the report.

    Attributes
    ----------
    name, method : str
        How it was made, and by which method.
    schedule : Schedule
        The plan.
    survives : bool or None
        Whether it is shown to survive what is asked of it; None if nothing is.
    chosen : bool
        Whether it is the one that was chosen.
    days, late_days : int
        Days on which it was replayed; those of them that missed the deadline.
    cost_usd : Estimate
        Mean bill of a day.
    loss_usd : Estimate
        The same with ``late_usd`` for each day that missed the deadline: what is made least.
    p95_usd, worst_usd : float or None
        Bill that 95 % of the days do not exceed, and that of the dearest day.
    more_than_chosen_usd : Estimate
        Bill less that of the chosen plan, day by day.
    days_of_choice : int
        Days of the choice on which it was replayed: fewer than there were if it was left out early.
    """

    name: str
    method: str
    schedule: Schedule
    survives: bool | None
    chosen: bool
    days: int
    late_days: int
    cost_usd: Estimate
    loss_usd: Estimate
    p95_usd: float | None
    worst_usd: float | None
    more_than_chosen_usd: Estimate
    days_of_choice: int

    def to_dict(self) -> dict[str, Any]:
        """Return the plan and its figures as JSON values."""
        return {
            "plan": self.name,
            "method": self.method,
            "chosen": self.chosen,
            "survives": self.survives,
            "quiet_cost_usd": self.schedule.cost_usd,
            "makespan_s": self.schedule.makespan_s,
            "d_spot_s": self.schedule.instance.d_spot_s,
            **fields_of(self, "name", "method", "schedule", "survives", "chosen"),
        }


@dataclass(frozen=True, slots=True)
class PlanChoice:
    """The plan that was chosen for the days to come.

    Attributes
    ----------
    result : Result
        The plan; its bound is that of the cost on a quiet day, so that its gap is at most what care costs there. If
        there is no plan, it says why.
    policy, scenario : str
        How interruptions were answered, and where the days come from.
    seed : int
        Of the days. Those of the report are the first ones, as `replay_days` has them; those of the choice are others.
    late_usd : float
        What a day counts more if it misses the deadline.
    candidates : int
        Different plans among which it was chosen.
    days_of_choice : int
        Most days on which one of them was replayed for that.
    plans : tuple of PlanOnDays
        On the days of the report, by what they cost on a quiet day: the chosen one, that which is best on a quiet day,
        those of the published schedulers, and those that nothing else beat both on a quiet day and on the days of the
        choice.
    """

    result: Result
    policy: str
    scenario: str
    seed: int
    late_usd: float
    candidates: int
    days_of_choice: int
    plans: tuple[PlanOnDays, ...]

    @property
    def schedule(self) -> Schedule | None:
        """The chosen plan."""
        return self.result.schedule

    @property
    def chosen(self) -> PlanOnDays | None:
        """The chosen plan on the days of the report."""
        return next((plan for plan in self.plans if plan.chosen), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the choice as JSON values, the chosen plan left out."""
        return {
            **fields_of(self, "result", "plans"),
            "plans": [plan.to_dict() for plan in self.plans],
        }


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the least of some values that so great a share of them does not exceed; None of none."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)] if ordered else None
