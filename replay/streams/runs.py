"""``replay_stream``: a stream under several policies, with the same run times for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ...core.errors import InputError, Issue
from ...core.processes import in_processes
from ...core.statistics import Estimate, estimate
from ...instances.streams.draws import draw_jobs, draws
from ...instances.streams.stream import Stream
from ...traces.trace import Trace
from .engine import StreamReplay
from .outcome import StreamOutcome, stream_trace, violation_cost_usd
from .policies import stream_policies, stream_policy
from .policies.a2ha import A2haSettings
from .policies.unknown import Sampling

_SEEDS_A_BATCH = 4


@dataclass(frozen=True, slots=True)
class StreamRuns:
    """Policies side by side on the same draws of run times.

    Attributes
    ----------
    policies : tuple of str
        The policies.
    outcomes : tuple of tuple of StreamOutcome
        Of each policy, one outcome a seed.
    interrupted : bool
        Whether there are fewer runs than were asked for.
    """

    policies: tuple[str, ...]
    outcomes: tuple[tuple[StreamOutcome, ...], ...]
    interrupted: bool = False

    @property
    def n_runs(self) -> int:
        """Number of runs of each policy."""
        return len(self.outcomes[0])

    def summaries(self) -> list[StreamSummary]:
        """Summarise each policy, in the order of ``policies``."""
        return [summarise_stream(outcomes) for outcomes in self.outcomes]


def replay_stream(
    stream: Stream,
    policies: Sequence[str],
    runs: int,
    *,
    seed: int = 0,
    workers: int = 1,
    sampling: Sampling | None = None,
    a2ha: A2haSettings | None = None,
    on_run: Callable[[int], None] | None = None,
) -> StreamRuns:
    """Replay a stream under several policies.

    Parameters
    ----------
    stream : Stream
        The jobs.
    policies : sequence of str
        Names of policies; see `stream_policy`.
    runs : int
        Draws of the run times: the seeds from ``seed`` on.
    seed : int
        The first of them.
    workers : int
        Processes.
    sampling : Sampling, optional
        How ``unknown`` samples.
    a2ha : A2haSettings, optional
        Parameters of ``a2ha``.
    on_run : callable, optional
        Called with the number of runs that have just been done, each under all policies.

    Returns
    -------
    StreamRuns
        An interrupt (Ctrl-C) ends it with the runs so far.

    Raises
    ------
    InputError
        If there is no such policy, or a number is out of range.
    """
    if runs < 1 or workers < 1:
        raise InputError(
            "replay", [Issue("", "must be 1 or more", "runs" if runs < 1 else "workers", min(runs, workers))]
        )
    if not policies:
        raise InputError("replay", [Issue("", "must have at least one policy", "policies")])
    if seed + runs > 2**64:
        rule = f"and those of all {runs} runs, which count on from it, must be from 0 to 2**64 - 1"
        raise InputError("replay", [Issue("", rule, "seed", seed)])
    stream_policies(stream, policies, sampling, a2ha)
    batches = [
        range(first, min(first + _SEEDS_A_BATCH, seed + runs)) for first in range(seed, seed + runs, _SEEDS_A_BATCH)
    ]
    done: list[list[StreamOutcome]] = []
    interrupted = False
    try:
        for rows in _rows(partial(_batch, stream, tuple(policies), sampling, a2ha), batches, workers):
            done += rows
            if on_run is not None:
                on_run(len(rows))
    except KeyboardInterrupt:
        interrupted = True
        if not done:
            raise
    return StreamRuns(tuple(policies), tuple(zip(*done, strict=True)), interrupted)


def replay_stream_once(
    stream: Stream,
    policy: str,
    seed: int = 0,
    sampling: Sampling | None = None,
    a2ha: A2haSettings | None = None,
) -> tuple[StreamOutcome, Trace]:
    """Replay a stream once, and keep a record of all that happens; see `replay_stream`."""
    replay = StreamReplay(draw_jobs(stream, seed), stream_policy(stream, policy, sampling, a2ha)(), record=True)
    outcome = replay.run()
    return outcome, stream_trace(replay, outcome)


def _rows(
    work: Callable[[range], list[list[StreamOutcome]]], batches: Sequence[range], workers: int
) -> Iterator[list[list[StreamOutcome]]]:
    if workers == 1:
        return map(work, batches)
    return in_processes(work, batches, workers)


def _batch(
    stream: Stream,
    policies: Sequence[str],
    sampling: Sampling | None,
    a2ha: A2haSettings | None,
    seeds: range,
) -> list[list[StreamOutcome]]:
    """Replay some seeds under all policies: a row of outcomes for each."""
    makers = stream_policies(stream, policies, sampling, a2ha)
    return [[StreamReplay(sampled, make()).run() for make in makers] for sampled in draws(stream, seeds)]


METRICS: dict[str, Callable[[StreamOutcome], float]] = {
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
class StreamSummary:
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


def summarise_stream(outcomes: Sequence[StreamOutcome]) -> StreamSummary:
    """Summarise the runs of one policy; at least one."""
    means = {name: estimate([float(metric(run)) for run in outcomes]) for name, metric in METRICS.items()}
    cost, late, unfinished = (means[name].mean or 0.0 for name in ("cost_usd", "late_tasks", "unfinished_tasks"))
    counted = outcomes[0].policy_counts
    return StreamSummary(
        policy=outcomes[0].policy,
        runs=len(outcomes),
        means=means,
        makespan_s=estimate([float(run.makespan_s) for run in outcomes if run.makespan_s is not None]),
        blocks={name: estimate([float(run.blocks[name]) for run in outcomes]) for name in outcomes[0].blocks},
        policy_counts={name: estimate([float(run.policy_counts[name]) for run in outcomes]) for name in counted},
        violation_cost_usd=violation_cost_usd(cost, late + unfinished, outcomes[0].n_tasks),
    )
