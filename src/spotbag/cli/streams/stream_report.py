"""Output of ``spotbag stream``: policies below each other, and the streams of the library."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...core.text_tables import Column, Table, numbers
from ..answers import Answer, Mean, Part, beside
from ..run_report import ReplayedRun, by_policy, fields_except, mean_cell, print_heading
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


def print_runs(stream: Stream, runs: StreamRuns, seed: int) -> None:
    """Print a row for each policy, the blocks that were paid, and of a single run how each job went."""
    from ...core.wording import counted

    single = runs.n_runs == 1
    print(
        f"{stream.name}: {counted(len(stream.jobs), 'job')}, {counted(stream.n_tasks, 'task')}, "
        f"blocks of {seconds(stream.block_s)} s, {seconds(stream.creation_overhead_s)} s to launch a VM"
    )
    print_heading(runs, seed)
    summaries = runs.summaries()
    _print_policies(summaries, single)
    _print_blocks(stream, summaries, single)
    _print_counts(summaries, single)
    if single:
        _print_jobs(runs)
    print("violation cost: what a task in time costs, once for each that is late")
    print("late time: seconds after the deadline, of all late tasks together")
    print("idle time: seconds in which VMs were ready and ran nothing, together")


def _print_policies(summaries: Sequence[StreamSummary], single: bool) -> None:
    unfinished = any(summary.means["unfinished_tasks"].mean for summary in summaries)
    columns = [
        Column("policy"),
        *numbers("cost\n($)", "late\ntasks"),
        *([Column("never\nended", True)] if unfinished else []),
        *numbers("violation\ncost ($)", "late\ntime (s)", "idle\ntime (s)", "makespan\n(s)"),
    ]
    digits = 0 if single else 1
    rows = []
    for summary in summaries:
        means, violation = summary.means, summary.violation_cost_usd
        rows.append(
            [
                summary.policy,
                mean_cell(means["cost_usd"], 3),
                mean_cell(means["late_tasks"], digits),
                *([mean_cell(means["unfinished_tasks"], digits)] if unfinished else []),
                "-" if violation is None else f"{violation:,.3f}",
                mean_cell(means["late_s"], 0),
                mean_cell(means["idle_s"], 0),
                mean_cell(summary.makespan_s, 0),
            ]
        )
    print_table(Table(columns, rows), tight=True)


def _print_blocks(stream: Stream, summaries: Sequence[StreamSummary], single: bool) -> None:
    """Print the blocks of the VM types that any policy has rented."""
    used = [name for name in stream.type_names if any(summary.blocks[name].mean for summary in summaries)]
    if not used:
        return
    columns = [Column("paid blocks"), *(Column(name, True) for name in used)]
    digits = 0 if single else 1
    rows = [[summary.policy, *(mean_cell(summary.blocks[name], digits) for name in used)] for summary in summaries]
    print_table(Table(columns, rows))


def _print_counts(summaries: Sequence[StreamSummary], single: bool) -> None:
    """Print the counts that policies keep of their own, such as hosts and interrupted tasks of ``a2ha``."""
    names = list(dict.fromkeys(name for summary in summaries for name in summary.policy_counts))
    if not names:
        return
    headings = [re.sub("_s$", " (s)", name).replace("_", "\n").replace(" ", "\n") for name in names]
    columns = [Column("counted"), *(Column(heading, True) for heading in headings)]
    rows = [
        [
            summary.policy,
            *(
                mean_cell(summary.policy_counts[name], 0 if single or name.endswith("_s") else 1)
                if name in summary.policy_counts
                else "-"
                for name in names
            ),
        ]
        for summary in summaries
        if summary.policy_counts
    ]
    print_table(Table(columns, rows))


def _print_jobs(runs: StreamRuns) -> None:
    """Print the jobs of a single run; of many jobs the late ones, the worst of each policy first."""
    from ...core.wording import counted

    columns = [
        Column("policy"),
        Column("job"),
        *numbers("tasks", "late", "late time (s)", "last end (s)", "deadline (s)"),
    ]
    rows: list[list[str]] = []
    more: list[str] = []
    for [outcome] in runs.outcomes:
        shown = list(outcome.jobs)
        if len(shown) > _MOST_JOBS:
            missed = [job for job in shown if job.late_tasks or job.finished < job.n_tasks]
            more.append(f"{outcome.policy}: {len(missed):,} of {counted(len(shown), 'job')} not in time")
            shown = sorted(missed, key=lambda job: (job.finished - job.n_tasks, -job.late_s))[:_MOST_JOBS]
            more[-1] += f", of which the worst {len(shown)} are listed" if len(missed) > len(shown) else ""
        if rows and shown:
            rows.append([])
        rows += [_job_row(outcome.policy, job) for job in shown]
    if rows:
        print_table(Table(columns, rows))
    for line in more:
        print(f"{line} (all jobs: --json)")


def _job_row(policy: str, job: JobProgress) -> list[str]:
    ended = job.finished == job.n_tasks
    end = seconds(float(job.last_finish_s)) if ended else f"never: {job.n_tasks - job.finished:,}"
    late = (f"{job.late_tasks:,}", seconds(float(job.late_s)))
    return [policy, job.id, f"{job.n_tasks:,}", *late, end, seconds(job.deadline_s)]


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


def library_streams() -> list[ListedStream]:
    """Return the streams of the library, with their sizes and sources."""
    from ...instances.library import stream_names
    from ...instances.streams.stream_files import library_stream

    rows = []
    for name in stream_names():
        stream = library_stream(name)
        rows.append(
            ListedStream.of(
                stream,
                name=name,
                jobs=len(stream.jobs),
                tasks=stream.n_tasks,
                applications=len(stream.applications),
                vm_types=stream.type_names,
                last_deadline_s=max(job.deadline_s for job in stream.jobs),
                source=stream.provenance.source if stream.provenance else "",
            )
        )
    return rows


def print_streams(streams: Sequence[ListedStream]) -> None:
    """Print a row for each stream of the library."""
    columns = [
        Column("name"),
        *numbers("jobs", "tasks", "applications"),
        Column("VM types"),
        *numbers("block (s)", "last deadline (s)"),
        Column("source"),
    ]
    rows = [
        [
            row.name,
            f"{row.jobs:,}",
            f"{row.tasks:,}",
            f"{row.applications:,}",
            ", ".join(row.vm_types),
            seconds(row.block_s),
            seconds(row.last_deadline_s),
            row.source,
        ]
        for row in streams
    ]
    print_table(Table(columns, rows))
