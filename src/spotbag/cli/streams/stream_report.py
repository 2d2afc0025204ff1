"""Output of ``spotbag stream``: policies below each other, and the streams of the library."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ...core.text_tables import Shown, Table, number, table_of, words
from ...core.wording import counted
from ..answers import Answer, Mean, Part, beside
from ..run_report import ReplayedRun, by_policy, fields_except, mean, mean_cell, print_heading, worst_of_each
from ..tables import print_table, seconds

_MOST_JOBS = 20

if TYPE_CHECKING:
    from ...instances.streams.stream import Stream
    from ...replay.streams.outcome import StreamOutcome
    from ...replay.streams.policies.a2ha import A2haSettings
    from ...replay.streams.policies.unknown import Sampling
    from ...replay.streams.runs import StreamRuns, StreamSummary
    from ...replay.streams.state import JobProgress


class StreamMeans(Part):
    """A policy over all runs: beside these, a mean for each thing that is counted."""

    policy: str
    runs: int
    means: dict[str, Mean] = beside()
    makespan_s: Mean
    violation_cost_usd: float | None
    blocks: dict[str, Mean]
    policy_counts: dict[str, Mean]


class StreamAnswer(Answer, kind="stream-runs"):
    """``spotbag stream``."""

    stream: str
    jobs: int
    tasks: int
    block_s: int
    creation_overhead_s: int
    seed: int
    runs: int
    interrupted: bool
    sampling: Sampling
    a2ha: A2haSettings
    policies: tuple[StreamMeans, ...]
    outcomes: tuple[ReplayedRun, ...]


class ListedStream(Part):
    """A stream of the library."""

    name: str
    jobs: int
    tasks: int
    applications: int
    vm_types: tuple[str, ...]
    block_s: int
    last_deadline_s: int
    source: str


class StreamList(Answer, kind="stream-list"):
    """``spotbag stream --list``."""

    streams: tuple[ListedStream, ...]

    def tables(self) -> Iterator[Table]:
        """Yield a row for each stream of the library."""
        yield table_of(
            self.streams,
            words("name"),
            number("jobs", form=","),
            number("tasks", form=","),
            number("applications", form=","),
            words("VM types", lambda row: ", ".join(row.vm_types)),
            number("block (s)", "block_s", ","),
            number("last deadline (s)", "last_deadline_s", ","),
            words("source"),
        )


def print_runs(stream: Stream, runs: StreamRuns, seed: int) -> None:
    """Print a row for each policy, the blocks that were paid, and of a single run how each job went."""
    single = runs.n_runs == 1
    print(
        f"{stream.name}: {counted(len(stream.jobs), 'job')}, {counted(stream.n_tasks, 'task')}, "
        f"blocks of {seconds(stream.block_s)} s, {seconds(stream.creation_overhead_s)} s to launch a VM"
    )
    print_heading(runs, seed)
    summaries = runs.summaries()
    digits = 0 if single else 1
    unfinished = any(summary.means["unfinished_tasks"].mean for summary in summaries)
    table = table_of(
        summaries,
        words("policy"),
        mean("cost\n($)", "cost_usd", 3),
        mean("late\ntasks", "late_tasks", digits),
        mean("never\nended", "unfinished_tasks", digits) if unfinished else None,
        number("violation\ncost ($)", "violation_cost_usd", ",.3f"),
        mean("late\ntime (s)", "late_s", 0),
        mean("idle\ntime (s)", "idle_s", 0),
        mean("makespan\n(s)", attrgetter("makespan_s"), 0),
    )
    print_table(table, tight=True)

    def paid(name: str) -> Shown:
        return mean(name, lambda summary: summary.blocks[name], digits)

    used = [name for name in stream.type_names if any(summary.blocks[name].mean for summary in summaries)]
    if used:
        print_table(table_of(summaries, words("paid blocks", "policy"), *map(paid, used)))
    _print_counts(summaries, single)
    if single:
        _print_jobs(runs)
    print("violation cost: what a task in time costs, once for each that is late")
    print("late time: seconds after the deadline, of all late tasks together")
    print("idle time: seconds in which VMs were ready and ran nothing, together")


def _print_counts(summaries: Sequence[StreamSummary], single: bool) -> None:
    """Print the counts that policies keep of their own, such as hosts and interrupted tasks of ``a2ha``."""

    def count(name: str) -> Shown:
        heading = re.sub("_s$", " (s)", name).replace("_", "\n").replace(" ", "\n")
        digits = 0 if single or name.endswith("_s") else 1
        return number(heading, lambda summary: mean_cell(summary.policy_counts.get(name), digits))

    names = dict.fromkeys(name for summary in summaries for name in summary.policy_counts)
    if names:
        having = [summary for summary in summaries if summary.policy_counts]
        print_table(table_of(having, words("counted", "policy"), *map(count, names)))


def _print_jobs(runs: StreamRuns) -> None:
    """Print the jobs of a single run; of many jobs the late ones, the worst of each policy first."""
    more: list[str] = []

    def shown(outcome: StreamOutcome) -> list[tuple[str, JobProgress]]:
        jobs = list(outcome.jobs)
        if len(jobs) > _MOST_JOBS:
            missed = [job for job in jobs if job.late_tasks or job.finished < job.n_tasks]
            more.append(f"{outcome.policy}: {len(missed):,} of {counted(len(jobs), 'job')} not in time")
            jobs = sorted(missed, key=lambda job: (job.finished - job.n_tasks, -job.late_s))[:_MOST_JOBS]
            more[-1] += f", of which the worst {len(jobs)} are listed" if len(missed) > len(jobs) else ""
        return [(outcome.policy, job) for job in jobs]

    def end(job: JobProgress) -> str:
        left = job.n_tasks - job.finished
        return f"never: {left:,}" if left else seconds(float(job.last_finish_s))

    if rows := worst_of_each(runs.outcomes, shown):
        table = table_of(
            rows,
            words("policy", lambda row: row[0]),
            words("job", lambda row: row[1].id),
            number("tasks", lambda row: row[1].n_tasks, ","),
            number("late", lambda row: row[1].late_tasks, ","),
            number("late time (s)", lambda row: seconds(float(row[1].late_s))),
            number("last end (s)", lambda row: end(row[1])),
            number("deadline (s)", lambda row: seconds(row[1].deadline_s)),
        )
        print_table(table)
    for line in more:
        print(f"{line} (all jobs: --json)")


def stream_answer(
    stream: Stream,
    runs: StreamRuns,
    seed: int,
    sampling: Sampling,
    a2ha: A2haSettings,
    stories: Sequence[Sequence[str]] | None,
) -> StreamAnswer:
    """Return the answer on the runs, with the events of a single run if they are told."""

    def as_object(index: int, outcome: StreamOutcome) -> Mapping[str, Any]:
        story = {} if stories is None else {"story": list(stories[index])}
        return {**_outcome_object(outcome), **story}

    outcomes = (
        ReplayedRun(seed=seed + number, policies=by_policy(runs, number, as_object)) for number in range(runs.n_runs)
    )
    return StreamAnswer.of(
        stream,
        runs,
        stream=stream.name,
        jobs=len(stream.jobs),
        tasks=stream.n_tasks,
        seed=seed,
        runs=runs.n_runs,
        sampling=sampling,
        a2ha=a2ha,
        policies=tuple(StreamMeans.of(summary) for summary in runs.summaries()),
        outcomes=tuple(outcomes),
    )


def _outcome_object(outcome: StreamOutcome) -> Mapping[str, Any]:
    retained = fields_except(outcome, "policy", "seed", "bills", "events")
    return retained | {"violation_cost_usd": outcome.violation_cost_usd}


def library_streams() -> StreamList:
    """Return the streams of the library, with their sizes and sources."""
    from ...instances.library import stream_names
    from ...instances.streams.stream_files import library_stream

    def listed(name: str) -> ListedStream:
        stream = library_stream(name)
        return ListedStream.of(
            stream,
            jobs=len(stream.jobs),
            tasks=stream.n_tasks,
            applications=len(stream.applications),
            vm_types=stream.type_names,
            last_deadline_s=max(job.deadline_s for job in stream.jobs),
            source=stream.provenance.source if stream.provenance else "",
        )

    return StreamList(streams=tuple(map(listed, stream_names())))
