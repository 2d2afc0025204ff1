"""``replay_stream``: a stream under several policies, with the same run times for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ...core.limits import Stop
from ...core.plugins import blaming
from ...core.statistics import Estimate, estimate
from ...core.workers import Workers
from ...instances.streams.draws import SampledJobs, draw_jobs, draws
from ...instances.streams.stream import Stream
from ...traces.trace import Trace
from ..engines import Runs, Summary, by_name, check_runs, means_of, outcomes_by_policy, replay_batches
from ..policies import Given, PolicyMaker
from .engine import StreamReplay
from .outcome import StreamOutcome, stream_trace, violation_cost_usd
from .policies import stream_kind
from .policies.a2ha import A2haSettings
from .policies.unknown import Sampling
from .state import StreamPolicy

_SEEDS_A_BATCH = 4


class StreamRuns(Runs[StreamOutcome]):
    """Policies side by side on the same draws of run times."""

    __slots__ = ()

    def summaries(self) -> list[StreamSummary]:
        """Summarise each policy, in the order of ``policies``; none without runs."""
        return [summarise_stream(outcomes) for outcomes in self.outcomes if outcomes]


def replay_stream(
    stream: Stream,
    policies: Sequence[Given[StreamPolicy]],
    runs: int,
    *,
    seed: int = 0,
    workers: Workers = 1,
    sampling: Sampling | None = None,
    a2ha: A2haSettings | None = None,
    on_run: Callable[[int], None] | None = None,
    stop: Stop | None = None,
) -> StreamRuns:
    """Replay a stream under several policies.

    Parameters
    ----------
    stream : Stream
        The jobs.
    policies : sequence of str, StreamPolicy or callable
        Names of policies, see `stream_policy`; policies of your own, each by its class, an instance, or a function that
        makes one, see `spotbag.replay.policies`. Each run has a policy of its own.
    runs : int
        Draws of the run times: the seeds from ``seed`` on.
    seed : int
        The first of them.
    workers : int or distributed.Client
        Processes, or a Dask cluster, whose workers have spotbag installed. The runs are the same.
    sampling : Sampling, optional
        How ``unknown`` samples, given by its name.
    a2ha : A2haSettings, optional
        Parameters of ``a2ha``, given by its name.
    on_run : callable, optional
        Called with the number of runs that have just been done, each under all policies. An exception in it ends the
        replay, and is raised here.
    stop : Stop, optional
        Any object with ``is_set()``, such as `threading.Event`: once it says True, the runs so far are returned. Ctrl-C
        and SIGTERM do the same; see `spotbag.solve`.

    Returns
    -------
    StreamRuns
        Fewer of them, and ``interrupted``, if it was stopped; there may be none.

    Raises
    ------
    InputError
        If one is not a policy, or cannot be sent to other processes; if a number is out of range.
    SpotbagError
        If a policy decides what cannot be carried out.
    """
    check_runs(runs, workers, seed)
    makers = stream_kind(stream, sampling, a2ha).several(policies, seed, workers)
    work, seeds = partial(_batch, stream, makers), range(seed, seed + runs)
    done, interrupted = replay_batches(work, seeds, workers=workers, per_batch=_SEEDS_A_BATCH, on_run=on_run, stop=stop)
    return StreamRuns(tuple(make.name for make in makers), outcomes_by_policy(done, len(makers)), interrupted)


def replay_stream_once(
    stream: Stream,
    policy: Given[StreamPolicy],
    seed: int = 0,
    sampling: Sampling | None = None,
    a2ha: A2haSettings | None = None,
) -> tuple[StreamOutcome, Trace]:
    """Replay a stream once, and keep a record of all that happens; see `replay_stream`."""
    check_runs(1, 1, seed)
    make = stream_kind(stream, sampling, a2ha).single(policy, seed)
    with blaming(make.called):
        replay = StreamReplay(draw_jobs(stream, seed), make(seed), record=True)
        outcome = replay.run()
    return outcome, stream_trace(replay, outcome)


def _batch(stream: Stream, makers: Sequence[PolicyMaker[StreamPolicy]], seeds: range) -> Iterator[list[StreamOutcome]]:
    """Replay some seeds under all policies: a row of outcomes for each."""
    for seed, sampled in zip(seeds, draws(stream, seeds), strict=True):
        yield [_run(sampled, make, seed) for make in makers]


def _run(sampled: SampledJobs, make: PolicyMaker[StreamPolicy], seed: int) -> StreamOutcome:
    with blaming(make.called):
        return StreamReplay(sampled, make(seed)).run()


METRICS: dict[str, Callable[[StreamOutcome], float]] = by_name(
    *("cost_usd", "late_tasks", "unfinished_tasks", "late_s", "idle_s", "busy_s", "suspensions", "returns")
)
"""Metrics that are averaged over all runs, by name."""


@dataclass(frozen=True, slots=True)
class StreamSummary(Summary):
    """Runs of a policy in sum; the means are of the `METRICS`.

    Attributes
    ----------
    makespan_s : Estimate
        Over the runs in which all tasks ended.
    blocks : dict of str to Estimate
        Paid blocks, by VM type.
    policy_counts : dict of str to Estimate
        What the policy counts beyond this, by name.
    violation_cost_usd : float or None
        Of the mean cost and the mean number of late tasks, as in the paper (eq. 7 and 8); None if no task is in time.
    """

    makespan_s: Estimate
    blocks: dict[str, Estimate]
    policy_counts: dict[str, Estimate]
    violation_cost_usd: float | None


def summarise_stream(outcomes: Sequence[StreamOutcome]) -> StreamSummary:
    """Summarise the runs of one policy; at least one."""
    means = means_of(outcomes, METRICS)
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
