"""Bounds of any policy on a hybrid platform for the achievements of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from ...core.limits import LimitReached, Stop
from ...core.processes import interruptible
from ...core.workers import Workers, each
from ...instances.platforms.job_draws import JobSet
from ...instances.platforms.platform import Platform
from .outcome import PlatformOutcome
from .runs import PlatformRuns, platform_with_jobs

_Key: TypeAlias = tuple[int | None, float, float]
_Case: TypeAlias = tuple[int, Mapping[_Key, PlatformOutcome]]


@dataclass(frozen=True, slots=True)
class RunBounds:
    """Lower bounds next to a run, for all schedules of its jobs, also with all jobs known beforehand.

    Attributes
    ----------
    cost : float
        Least cost with no more total delay than the run has.
    execution_time_s, delay_s : float
        Least total execution time, and least total delay, for no more than the run costs.
    """

    cost: float
    execution_time_s: float
    delay_s: float


def run_bounds(platform: Platform, outcome: PlatformOutcome) -> RunBounds:
    """Bound the metrics of a run.

    Parameters
    ----------
    platform : Platform
        With the jobs of the run.
    outcome : PlatformOutcome
        Of the run.
    """
    from ...solvers.platforms.bound import platform_bound

    return RunBounds(
        cost=platform_bound(platform, "cost", delay_s_at_most=outcome.delay_s).value,
        execution_time_s=platform_bound(platform, "execution_time_s", cost_at_most=outcome.cost).value,
        delay_s=platform_bound(platform, "delay_s", cost_at_most=outcome.cost).value,
    )


def bounds_of_runs(
    platform: Platform,
    runs: PlatformRuns,
    *,
    job_set: JobSet | None = None,
    seed: int = 0,
    workers: Workers = 1,
    on_run: Callable[[int], None] | None = None,
    stop: Stop | None = None,
) -> tuple[tuple[RunBounds, ...], ...]:
    """Bound the runs of `replay_platform`, which got the same platform, jobs and seed.

    Parameters
    ----------
    platform : Platform
        As it was given.
    runs : PlatformRuns
        What it returned.
    job_set, seed, workers, on_run, stop
        As for `replay_platform`.

    Returns
    -------
    tuple of tuple of RunBounds
        Of each policy, one a run; of the first runs only, or none, if it was stopped.
    """
    cases = _distinct(runs, seed, job_set is None)
    bounds: dict[_Key, RunBounds] = {}
    n_done = 0
    with interruptible(stop, told=False), suppress(LimitReached):
        for found in each(partial(_bounds_of_run, platform, job_set), cases, workers):
            bounds |= found
            n_done += 1
            if on_run is not None:
                on_run(1)
    return tuple(
        tuple(bounds[_key(number, outcome, job_set is None)] for number, outcome in enumerate(outcomes[:n_done], seed))
        for outcomes in runs.outcomes
    )


def _key(seed: int, outcome: PlatformOutcome, same_jobs: bool) -> _Key:
    """Return the key of the bounds of a run: its jobs, which a seed draws or all runs have, cost and delay."""
    return None if same_jobs else seed, outcome.cost, outcome.delay_s


def _distinct(runs: PlatformRuns, seed: int, same_jobs: bool) -> list[_Case]:
    """Return each run with those of its outcomes that none before has the bounds of."""
    cases: list[_Case] = []
    seen: set[_Key] = set()
    for number, outcomes in enumerate(zip(*runs.outcomes, strict=True), seed):
        keyed = {_key(number, outcome, same_jobs): outcome for outcome in outcomes}
        cases.append((number, {key: outcome for key, outcome in keyed.items() if key not in seen}))
        seen |= keyed.keys()
    return cases


def _bounds_of_run(platform: Platform, job_set: JobSet | None, case: _Case) -> dict[_Key, RunBounds]:
    """Bound the outcomes of a run."""
    seed, outcomes = case
    with_jobs = platform_with_jobs(platform, job_set, seed)
    return {key: run_bounds(with_jobs, outcome) for key, outcome in outcomes.items()}
