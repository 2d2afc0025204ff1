"""Means and confidence intervals of the runs on a hybrid platform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...core.statistics import Estimate, estimate
from .outcome import PlatformOutcome

METRICS: dict[str, Callable[[PlatformOutcome], float]] = {
    "cost": lambda run: run.cost,
    "execution_time_s": lambda run: run.execution_time_s,
    "delay_s": lambda run: run.delay_s,
    "overspend": lambda run: run.overspend,
    "late_jobs": lambda run: run.late_jobs,
    "overspent_jobs": lambda run: run.overspent_jobs,
    "good": lambda run: run.good,
    "bad": lambda run: run.bad,
    "displaced": lambda run: run.displaced,
    "stays": lambda run: run.stays,
    "unwanted": lambda run: run.unwanted,
    "machines": lambda run: len(run.machines),
    "vm_hours": lambda run: sum(machine.hours for machine in run.machines),
    "placements": lambda run: run.placements,
    "messages": lambda run: run.messages,
    "messages_per_placement": lambda run: run.messages / run.placements,
    "comparisons": lambda run: run.comparisons,
}
"""What is averaged over all runs, by name."""


@dataclass(frozen=True, slots=True)
class PlatformSummary:
    """How a policy went through its runs.

    Attributes
    ----------
    policy : str
        The policy.
    runs : int
        Runs replayed.
    means : dict of str to Estimate
        The `METRICS`.
    """

    policy: str
    runs: int
    means: dict[str, Estimate]


def summarise_platform(outcomes: Sequence[PlatformOutcome]) -> PlatformSummary:
    """Summarise the runs of one policy; at least one."""
    means = {name: estimate([float(metric(run)) for run in outcomes]) for name, metric in METRICS.items()}
    return PlatformSummary(outcomes[0].policy, len(outcomes), means)
