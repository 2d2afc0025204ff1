"""``replay_platform``: jobs on a hybrid platform under several policies, the same jobs for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ...core.errors import InputError, Issue
from ...core.processes import in_processes
from ...core.statistics import Estimate, estimate
from ...instances.platforms.job_draws import JobSet
from ...instances.platforms.platform import Platform
from ...traces.trace import Trace
from .engine import PlatformReplay
from .outcome import PlatformOutcome, platform_trace
from .policies import PolicyFactory, policy_factories

_SEEDS_A_BATCH = 2
_NO_JOBS = "has no jobs: have some drawn, e.g. JobSet('mixed', 100)"


@dataclass(frozen=True, slots=True)
class PlatformRuns:
    """Policies side by side on the same jobs.

    Attributes
    ----------
    policies : tuple of str
        The policies.
    outcomes : tuple of tuple of PlatformOutcome
        Of each policy, one outcome a seed.
    interrupted : bool
        Whether there are fewer runs than were asked for.
    """

    policies: tuple[str, ...]
    outcomes: tuple[tuple[PlatformOutcome, ...], ...]
    interrupted: bool = False

    @property
    def n_runs(self) -> int:
        """Number of runs of each policy."""
        return len(self.outcomes[0])

    def summaries(self) -> list[PlatformSummary]:
        """Summarise each policy, in the order of ``policies``."""
        return [summarise_platform(outcomes) for outcomes in self.outcomes]


def replay_platform(
    platform: Platform,
    policies: Sequence[str | PolicyFactory],
    runs: int = 1,
    *,
    job_set: JobSet | None = None,
    seed: int = 0,
    workers: int = 1,
    on_run: Callable[[int], None] | None = None,
) -> PlatformRuns:
    """Replay jobs on a hybrid platform under several policies.

    Parameters
    ----------
    platform : Platform
        With jobs, unless they are drawn.
    policies : sequence of str or callable
        Names of policies, see `platform_policy`; or what makes a policy of one's own from the seed of a run, e.g. a
        subclass of `PlatformPolicy`.
    runs : int
        The seeds from ``seed`` on: each draws the jobs, if they are drawn, and what policies draw.
    job_set : JobSet, optional
        Jobs to be drawn in place of those of the platform.
    seed : int
        The first of them.
    workers : int
        Processes; what makes policies is sent to them, if there are several.
    on_run : callable, optional
        Called with the number of runs that have just been done, each under all policies.

    Returns
    -------
    PlatformRuns
        An interrupt (Ctrl-C) ends it with the runs so far.

    Raises
    ------
    InputError
        If there is no such policy, there are no jobs, or a number is out of range; if what makes a policy makes none,
        or cannot be sent to other processes.
    SpotbagError
        If a policy of one's own chooses what cannot be.
    """
    if runs < 1 or workers < 1:
        raise InputError(
            "replay", [Issue("", "must be 1 or more", "runs" if runs < 1 else "workers", min(runs, workers))]
        )
    given = _listed(policies)
    _check(seed, runs)
    factories = policy_factories(given, seed)
    if workers > 1:
        _demand_sendable(given)
    platform_with_jobs(platform, job_set, seed)
    batches = [
        range(first, min(first + _SEEDS_A_BATCH, seed + runs)) for first in range(seed, seed + runs, _SEEDS_A_BATCH)
    ]
    done: list[list[PlatformOutcome]] = []
    interrupted = False
    try:
        for rows in _rows(partial(_batch, platform, given, job_set), batches, workers):
            done += rows
            if on_run is not None:
                on_run(len(rows))
    except KeyboardInterrupt:
        interrupted = True
        if not done:
            raise
    names = tuple(make(seed).name for make in factories)
    return PlatformRuns(names, tuple(zip(*done, strict=True)), interrupted)


def replay_platform_once(
    platform: Platform,
    policy: str | PolicyFactory,
    *,
    job_set: JobSet | None = None,
    seed: int = 0,
) -> tuple[PlatformOutcome, Trace]:
    """Replay jobs on a hybrid platform once under one policy, and keep a record of all that happens.

    Parameters
    ----------
    platform : Platform
        With jobs, unless they are drawn.
    policy : str or callable
        The name of a policy, or what makes one from the seed, as for `replay_platform`.
    job_set : JobSet, optional
        Jobs to be drawn in place of those of the platform.
    seed : int
        Of the jobs, and of what the policy draws.

    Returns
    -------
    outcome : PlatformOutcome
        What it comes to: that of the run of this seed among those of `replay_platform`.
    trace : Trace
        All events and decisions; see `write_traces` and `audit` of ``spotbag.replay``.

    Raises
    ------
    InputError
        If there is no such policy, there are no jobs, or a number is out of range.
    SpotbagError
        If a policy of one's own chooses what cannot be.
    """
    _check(seed, 1)
    [make] = policy_factories([policy], seed)
    with_jobs = platform_with_jobs(platform, job_set, seed)
    replay = PlatformReplay(with_jobs, make(seed), seed=seed, record=True)
    outcome = replay.run()
    return outcome, platform_trace(replay, outcome)


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


def _listed(policies: Sequence[str | PolicyFactory]) -> tuple[str | PolicyFactory, ...]:
    """Return policies as they were given; refuse a single one, and none."""
    if isinstance(policies, str) or not isinstance(policies, Iterable):
        single = repr(policies) if isinstance(policies, str) else getattr(policies, "__name__", "...")
        raise InputError("replay", [Issue("", f"must be a list, also of a single policy: [{single}]", "policies")])
    given = tuple(policies)
    if not given:
        raise InputError("replay", [Issue("", "must have at least one policy", "policies")])
    return given


def _demand_sendable(policies: Sequence[str | PolicyFactory]) -> None:
    """Refuse what makes policies if it cannot be sent to other processes."""
    from joblib.externals.loky.backend.reduction import dumps

    for place, policy in enumerate(policies):
        try:
            dumps(policy)
        except Exception as error:  # whatever objects raise that cannot be pickled
            rule = f"cannot be sent to other processes ({error}): leave that out, or replay in this one (workers=1)"
            raise InputError("replay", [Issue(f"policies[{place}]", rule)]) from None


def _check(seed: int, runs: int) -> None:
    """Refuse seeds that there are not."""
    if seed < 0 or seed + runs > 2**64:
        rule = f"and those of all {runs} runs, which count on from it, must be from 0 to 2**64 - 1"
        raise InputError("replay", [Issue("", rule, "seed", seed)])


def _rows(
    work: Callable[[range], list[list[PlatformOutcome]]], batches: Sequence[range], workers: int
) -> Iterator[list[list[PlatformOutcome]]]:
    if workers == 1:
        yield from map(work, batches)
        return
    from joblib.externals.loky.process_executor import BrokenProcessPool, TerminatedWorkerError

    try:
        yield from in_processes(work, batches, workers)
    except TerminatedWorkerError:
        raise
    except BrokenProcessPool:
        rule = (
            "cannot be imported in other processes: have them in a module that can, or replay in this one (workers=1)"
        )
        raise InputError("replay", [Issue("", rule, "policies")]) from None


def _batch(
    platform: Platform,
    policies: Sequence[str | PolicyFactory],
    job_set: JobSet | None,
    seeds: range,
) -> list[list[PlatformOutcome]]:
    """Replay some seeds under all policies: a row of outcomes for each."""
    makers = policy_factories(policies, seeds[0])
    rows = []
    for seed in seeds:
        with_jobs = platform_with_jobs(platform, job_set, seed)
        rows.append([PlatformReplay(with_jobs, make(seed), seed=seed).run() for make in makers])
    return rows


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
