"""Means, confidence intervals and paired differences of the days that policies went through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..core.statistics import Estimate, estimate
from ..traces.vm_records import MIGRATION_KINDS
from .outcome import Outcome

METRICS: dict[str, Callable[[Outcome], float]] = {
    "late_tasks": lambda day: day.late_tasks,
    "unfinished_tasks": lambda day: day.unfinished_tasks,
    "hibernations": lambda day: day.hibernations,
    "resumes": lambda day: day.resumes,
    "resumes_in_time": lambda day: day.resumes_in_time,
    "on_demand_started": lambda day: day.on_demand_started,
    **{f"migrations_{kind}": lambda day, kind=kind: day.migrations[kind] for kind in MIGRATION_KINDS},  # type: ignore[misc]
    "steal_attempts": lambda day: day.steal_attempts,
    "steals": lambda day: day.steals,
    "tasks_stolen": lambda day: day.tasks_stolen,
    "checkpoints": lambda day: day.checkpoints,
    "recoveries": lambda day: day.recoveries,
    "cpu_time_saved_s": lambda day: day.cpu_time_saved_s,
}
"""What is averaged over all days, by name."""


@dataclass(frozen=True, slots=True)
class PolicySummary:
    """How a policy went through its days.

    Attributes
    ----------
    policy : str
        The policy.
    days : int
        Days replayed.
    misses, unfinished : int
        Days that missed the deadline; those of them on which tasks never ended.
    cost_usd, makespan_s : Estimate
        Over the days on which all tasks ended: half a bag is no bargain.
    means : dict of str to Estimate
        The `METRICS`, over all days.
    saving_percent : Estimate
        Cost saved against the plan on on-demand VMs, over the same days; none if it has no such price.
    regret_usd : Estimate
        Cost above the bound of the day, over the days on which the deadline was met; no days without bounds.
    """

    policy: str
    days: int
    misses: int
    unfinished: int
    cost_usd: Estimate
    makespan_s: Estimate
    means: dict[str, Estimate]
    saving_percent: Estimate
    regret_usd: Estimate


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """A policy against another on the same days: differences are taken day by day.

    Attributes
    ----------
    policy, against : str
        The policies.
    cost_usd, makespan_s : Estimate
        Of the policy less that of the other, over the days on which both ended all tasks.
    cheaper, dearer : int
        Those of these days on which the policy was cheaper, and dearer.
    """

    policy: str
    against: str
    cost_usd: Estimate
    makespan_s: Estimate
    cheaper: int
    dearer: int


def summarise(
    outcomes: Sequence[Outcome], on_demand_usd: float | None = None, bounds_usd: Sequence[float | None] | None = None
) -> PolicySummary:
    """Summarise the days of one policy.

    Parameters
    ----------
    outcomes : sequence of Outcome
        One for each day.
    on_demand_usd : float, optional
        Cost of the plan on on-demand VMs.
    bounds_usd : sequence of float, optional
        Lower bound of the cost of each day; None where no policy can meet the deadline.
    """
    ended = [day for day in outcomes if day.makespan_s is not None]
    saving = [] if on_demand_usd is None else [100 * (1 - day.cost_usd / on_demand_usd) for day in ended]
    regret = [
        day.cost_usd - bound
        for day, bound in zip(outcomes, bounds_usd or [None] * len(outcomes), strict=True)
        if bound is not None and day.meets_deadline
    ]
    return PolicySummary(
        policy=outcomes[0].policy,
        days=len(outcomes),
        misses=sum(not day.meets_deadline for day in outcomes),
        unfinished=sum(day.unfinished_tasks > 0 for day in outcomes),
        cost_usd=estimate([day.cost_usd for day in ended]),
        makespan_s=estimate([day.makespan_s for day in ended if day.makespan_s is not None]),
        means={name: estimate([value(day) for day in outcomes]) for name, value in METRICS.items()},
        saving_percent=estimate(saving),
        regret_usd=estimate(regret),
    )


def compare_days(outcomes: Sequence[Outcome], others: Sequence[Outcome]) -> PairedDifference:
    """Compare two policies on the same days."""
    pairs = [pair for pair in zip(outcomes, others, strict=True) if all(day.makespan_s is not None for day in pair)]
    cost = [mine.cost_usd - other.cost_usd for mine, other in pairs]
    ended = [(mine.makespan_s, other.makespan_s) for mine, other in pairs]
    return PairedDifference(
        policy=outcomes[0].policy,
        against=others[0].policy,
        cost_usd=estimate(cost),
        makespan_s=estimate([mine - other for mine, other in ended if mine is not None and other is not None]),
        cheaper=sum(difference < 0 for difference in cost),
        dearer=sum(difference > 0 for difference in cost),
    )
