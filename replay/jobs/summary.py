"""Means and confidence intervals of the runs of a job stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...core.statistics import Estimate, estimate
from .outcome import JobOutcome, violation_cost_usd

METRICS: dict[str, Callable[[JobOutcome], float]] = {
    "cost_usd": lambda run: run.cost_usd,
    "late_tasks": lambda run: run.late_tasks,
    "unfinished_tasks": lambda run: run.unfinished_tasks,
    "late_s": lambda run: run.late_s,
    "idle_s": lambda run: run.idle_s,
    "busy_s": lambda run: run.busy_s,
    "suspensions": lambda run: run.suspensions,
    "returns": lambda run: run.returns,
}
"""What is averaged over all runs, by name."""


@dataclass(frozen=True, slots=True)
class JobSummary:
    """How a policy went through its runs.

    Attributes
    ----------
    policy : str
        The policy.
    runs : int
        Runs replayed.
    means : dict of str to Estimate
        The `METRICS`.
    makespan_s : Estimate
        Over the runs in which all tasks ended.
    blocks : dict of str to Estimate
        Paid blocks, by VM type.
    policy_counts : dict of str to Estimate
        What the policy counts beyond this, by name.
    violation_cost_usd : float or None
        Of the mean cost and the mean number of late tasks, as in the paper (eq. 7 and 8); None if no task is in time.
    """

    policy: str
    runs: int
    means: dict[str, Estimate]
    makespan_s: Estimate
    blocks: dict[str, Estimate]
    policy_counts: dict[str, Estimate]
    violation_cost_usd: float | None


def summarise_jobs(outcomes: Sequence[JobOutcome]) -> JobSummary:
    """Summarise the runs of one policy; at least one."""
    means = {name: estimate([float(metric(run)) for run in outcomes]) for name, metric in METRICS.items()}
    cost, late, unfinished = (means[name].mean or 0.0 for name in ("cost_usd", "late_tasks", "unfinished_tasks"))
    counted = outcomes[0].policy_counts
    return JobSummary(
        policy=outcomes[0].policy,
        runs=len(outcomes),
        means=means,
        makespan_s=estimate([float(run.makespan_s) for run in outcomes if run.makespan_s is not None]),
        blocks={name: estimate([float(run.blocks[name]) for run in outcomes]) for name in outcomes[0].blocks},
        policy_counts={name: estimate([float(run.policy_counts[name]) for run in outcomes]) for name in counted},
        violation_cost_usd=violation_cost_usd(cost, late + unfinished, outcomes[0].n_tasks),
    )
