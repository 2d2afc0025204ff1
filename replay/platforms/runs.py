"""``replay_platform``: jobs on a hybrid platform under several policies, the same jobs for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from ...core.errors import InputError, Issue
from ...core.limits import LimitReached, Stop
from ...core.plugins import blaming
from ...core.processes import interruptible
from ...core.workers import Workers, each
from ...instances.platforms.job_draws import JobSet
from ...instances.platforms.platform import Platform
from ...traces.trace import Trace
from ..engines import Runs, Summary, by_name, check_runs, means_of, outcomes_by_policy, replay_batches
from ..policies import Given, PolicyMaker
from .engine import PlatformReplay
from .outcome import PLACED, TOTALS, PlatformOutcome, platform_trace
from .policies import KIND
from .state import PlatformPolicy

_SEEDS_A_BATCH = 2
_NO_JOBS = "has no jobs: have some drawn, e.g. JobSet('mixed', 100)"


class PlatformRuns(Runs[PlatformOutcome]):
    """Policies side by side on the same jobs."""

    __slots__ = ()

    def summaries(self) -> list[Summary]:
        """Summarise each policy, in the order of ``policies``, none without runs; the means are of the `METRICS`."""
        with_runs = [outcomes for outcomes in self.outcomes if outcomes]
        return [Summary(outcomes[0].policy, len(outcomes), means_of(outcomes, METRICS)) for outcomes in with_runs]


def replay_platform(
    platform: Platform,
    policies: Sequence[Given[PlatformPolicy]],
    runs: int = 1,
    *,
    job_set: JobSet | None = None,
    seed: int = 0,
    workers: Workers = 1,
    on_run: Callable[[int], None] | None = None,
    stop: Stop | None = None,
) -> PlatformRuns:
    """Replay jobs on a hybrid platform under several policies.

    Parameters
    ----------
    platform : Platform
        With jobs, unless they are drawn.
    policies : sequence of str, PlatformPolicy or callable
        Names of policies, see `platform_policy`; policies of your own, each by its class, an instance, or a function
        that makes one, see `spotbag.replay.policies`. Each run has a policy of its own.
    runs : int
        The seeds from ``seed`` on: each draws the jobs, if they are drawn, and what policies draw.
    job_set : JobSet, optional
        Jobs to be drawn in place of those of the platform.
    seed : int
        The first of them.
    workers : int or distributed.Client
        Processes, or a Dask cluster, whose workers have spotbag installed; policies are sent to them. The runs are the
        same.
    on_run : callable, optional
        Called with the number of runs that have just been done, each under all policies. An exception in it ends the
        replay, and is raised here.
    stop : Stop, optional
        Any object with ``is_set()``, such as `threading.Event`: once it says True, the runs so far are returned. Ctrl-C
        and SIGTERM do the same; see `spotbag.solve`.

    Returns
    -------
    PlatformRuns
        Fewer of them, and ``interrupted``, if it was stopped; there may be none.

    Raises
    ------
    InputError
        If one is not a policy, or cannot be sent to other processes; if there are no jobs, or a number is out of range.
    SpotbagError
        If a policy of one's own chooses what cannot be.
    """
    check_runs(runs, workers, seed)
    makers = KIND.several(policies, seed, workers)
    # For its refusal alone: before processes are started, each of which would meet it.
    platform_with_jobs(platform, job_set, seed)
    work, seeds = partial(_batch, platform, makers, job_set), range(seed, seed + runs)
    done, interrupted = replay_batches(work, seeds, workers=workers, per_batch=_SEEDS_A_BATCH, on_run=on_run, stop=stop)
    return PlatformRuns(tuple(make.name for make in makers), outcomes_by_policy(done, len(makers)), interrupted)


def replay_platform_once(
    platform: Platform,
    policy: Given[PlatformPolicy],
    *,
    job_set: JobSet | None = None,
    seed: int = 0,
) -> tuple[PlatformOutcome, Trace]:
    """Replay jobs on a hybrid platform once under one policy, and keep a record of all that happens.

    Parameters
    ----------
    platform : Platform
        With jobs, unless they are drawn.
    policy : str, PlatformPolicy or callable
        As for `replay_platform`.
    job_set : JobSet, optional
        Jobs to be drawn in place of those of the platform.
    seed : int
        Of the jobs, and of what the policy draws.

    Returns
    -------
    outcome : PlatformOutcome
        Outcome of the run: that of the run of this seed among those of `replay_platform`.
    trace : Trace
        All events and decisions; see `write_traces` and `audit` of ``spotbag.replay``.

    Raises
    ------
    InputError
        If that is not a policy, there are no jobs, or a number is out of range.
    SpotbagError
        If a policy of one's own chooses what cannot be.
    """
    check_runs(1, 1, seed)
    make = KIND.single(policy, seed)
    with_jobs = platform_with_jobs(platform, job_set, seed)
    with blaming(make.called):
        replay = PlatformReplay(with_jobs, make(seed), seed=seed, record=True)
        outcome = replay.run()
    return outcome, platform_trace(replay, outcome, job_set)


def platform_with_jobs(platform: Platform, job_set: JobSet | None, seed: int) -> Platform:
    """Return a platform with the jobs that are replayed.

    Raises
    ------
    InputError
        If there are none.
    """
    if job_set is not None:
        return platform.with_jobs(job_set.draw(platform, seed))
    if not platform.jobs:
        raise InputError(platform.name, [Issue("", _NO_JOBS)])
    return platform


def _batch(
    platform: Platform, makers: Sequence[PolicyMaker[PlatformPolicy]], job_set: JobSet | None, seeds: range
) -> Iterator[list[PlatformOutcome]]:
    """Replay some seeds under all policies: a row of outcomes for each."""
    for seed in seeds:
        with_jobs = platform_with_jobs(platform, job_set, seed)
        yield [_run(with_jobs, make, seed) for make in makers]


def _run(platform: Platform, make: PolicyMaker[PlatformPolicy], seed: int) -> PlatformOutcome:
    with blaming(make.called):
        return PlatformReplay(platform, make(seed), seed=seed).run()


METRICS: dict[str, Callable[[PlatformOutcome], float]] = {
    **by_name(*TOTALS, *PLACED),
    "machines": lambda run: len(run.machines),
    "vm_hours": lambda run: sum(machine.hours for machine in run.machines),
    **by_name("placements", "messages"),
    "messages_per_placement": lambda run: run.messages / run.placements,
    **by_name("comparisons"),
}
"""Metrics that are averaged over all runs, by name."""


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
