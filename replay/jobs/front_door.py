"""``replay_jobs``: a job stream under several policies, with the same run times for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ...core.errors import InputError, Issue
from ...core.processes import in_processes
from ...instances.streams.draws import draw_jobs, draws
from ...instances.streams.stream import JobStream
from ...traces.trace import Trace
from .a2ha import A2haSettings
from .engine import JobReplay
from .outcome import JobOutcome
from .policies import job_policies, job_policy
from .summary import JobSummary, summarise_jobs
from .traces import job_trace
from .unknown import Sampling

_SEEDS_A_BATCH = 4


@dataclass(frozen=True, slots=True)
class JobRuns:
    """Policies side by side on the same draws of run times.

    Attributes
    ----------
    policies : tuple of str
        The policies.
    outcomes : tuple of tuple of JobOutcome
        Of each policy, one outcome a seed.
    interrupted : bool
        Whether there are fewer runs than were asked for.
    """

    policies: tuple[str, ...]
    outcomes: tuple[tuple[JobOutcome, ...], ...]
    interrupted: bool = False

    @property
    def n_runs(self) -> int:
        """Number of runs of each policy."""
        return len(self.outcomes[0])

    def summaries(self) -> list[JobSummary]:
        """Summarise each policy, in the order of ``policies``."""
        return [summarise_jobs(outcomes) for outcomes in self.outcomes]


def replay_jobs(
    stream: JobStream,
    policies: Sequence[str],
    runs: int,
    *,
    seed: int = 0,
    jobs: int = 1,
    sampling: Sampling | None = None,
    a2ha: A2haSettings | None = None,
    on_run: Callable[[int], None] | None = None,
) -> JobRuns:
    """Replay a job stream under several policies.

    Parameters
    ----------
    stream : JobStream
        The jobs.
    policies : sequence of str
        Names of policies; see `job_policy`.
    runs : int
        Draws of the run times: the seeds from ``seed`` on.
    seed : int
        The first of them.
    jobs : int
        Processes.
    sampling : Sampling, optional
        How ``unknown`` samples.
    a2ha : A2haSettings, optional
        Parameters of ``a2ha``.
    on_run : callable, optional
        Called with the number of runs that have just been done, each under all policies.

    Returns
    -------
    JobRuns
        An interrupt (Ctrl-C) ends it with the runs so far.

    Raises
    ------
    InputError
        If there is no such policy, or a number is out of range.
    """
    if runs < 1 or jobs < 1:
        raise InputError("replay", [Issue("", "must be 1 or more", "runs" if runs < 1 else "jobs", min(runs, jobs))])
    if not policies:
        raise InputError("replay", [Issue("", "must have at least one policy", "policies")])
    if seed + runs > 2**64:
        rule = f"and those of all {runs} runs, which count on from it, must be from 0 to 2**64 - 1"
        raise InputError("replay", [Issue("", rule, "seed", seed)])
    job_policies(stream, policies, sampling, a2ha)
    batches = [
        range(first, min(first + _SEEDS_A_BATCH, seed + runs)) for first in range(seed, seed + runs, _SEEDS_A_BATCH)
    ]
    done: list[list[JobOutcome]] = []
    interrupted = False
    try:
        for rows in _rows(partial(_batch, stream, tuple(policies), sampling, a2ha), batches, jobs):
            done += rows
            if on_run is not None:
                on_run(len(rows))
    except KeyboardInterrupt:
        interrupted = True
        if not done:
            raise
    return JobRuns(tuple(policies), tuple(zip(*done, strict=True)), interrupted)


def replay_jobs_once(
    stream: JobStream,
    policy: str,
    seed: int = 0,
    sampling: Sampling | None = None,
    a2ha: A2haSettings | None = None,
) -> tuple[JobOutcome, Trace]:
    """Replay a job stream once, and keep a record of all that happens; see `replay_jobs`."""
    replay = JobReplay(draw_jobs(stream, seed), job_policy(stream, policy, sampling, a2ha)(), record=True)
    outcome = replay.run()
    return outcome, job_trace(replay, outcome)


def _rows(
    work: Callable[[range], list[list[JobOutcome]]], batches: Sequence[range], jobs: int
) -> Iterator[list[list[JobOutcome]]]:
    if jobs == 1:
        return map(work, batches)
    return in_processes(work, batches, jobs)


def _batch(
    stream: JobStream,
    policies: Sequence[str],
    sampling: Sampling | None,
    a2ha: A2haSettings | None,
    seeds: range,
) -> list[list[JobOutcome]]:
    """Replay some seeds under all policies: a row of outcomes for each."""
    makers = job_policies(stream, policies, sampling, a2ha)
    return [[JobReplay(drawn, make()).run() for make in makers] for drawn in draws(stream, seeds)]
