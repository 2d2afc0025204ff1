"""``spotbag stream``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.errors import SpotbagError
from ...core.processes import interruptible
from ...core.text_tables import Shown, number, words
from ...core.wording import counted, listed
from ..answers import Answer, Mean, Part, beside, column, listing
from ..arguments import names_in, parse_options, some
from ..arrivals import OF_STREAMS, StreamFileOptions, deliver_jobs
from ..console import beside_the_answer, print_rows, seconds, warn
from ..options import STREAMS, Only, argument, names_of, option
from ..runs import (
    DEFAULT_RUNS,
    ReplayedRun,
    RunOptions,
    by_policy,
    fields_except,
    mean,
    mean_cell,
    policies_option,
    print_heading,
    print_of_each,
    print_stories,
    replay_counted,
    runs_option,
    stories_of,
)

if TYPE_CHECKING:
    from ...core.workers import Workers
    from ...instances.streams.stream import Stream
    from ...replay.streams.outcome import StreamOutcome
    from ...replay.streams.policies.a2ha import A2haSettings
    from ...replay.streams.policies.unknown import Sampling
    from ...replay.streams.runs import StreamRuns, StreamSummary
    from ...replay.streams.state import JobProgress

EXAMPLE = "Example:  spotbag stream thai/table2 --policy known --policy large.4 --runs 100 --gantt stream.png"

_MOST_JOBS = 20
_DEFAULT_POLICIES = ("known", "unknown")
_ORDER = (
    *("policy", "runs", "once", "seed", "workers", "dask", "sampling_fraction", "samples", "pairs", "run_times"),
    *("story", "trace", "gantt", "write", "listed", "as_json"),
)
"""Options as the help lists them."""


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

    name: str = column(words("name"))
    jobs: int = column(number("jobs", form=","))
    tasks: int = column(number("tasks", form=","))
    applications: int = column(number("applications", form=","))
    vm_types: tuple[str, ...] = column(words("VM types", lambda row: ", ".join(row.vm_types)))
    block_s: int = column(number("block (s)", "block_s", ","))
    last_deadline_s: int = column(number("last deadline (s)", "last_deadline_s", ","))
    source: str = column(words("source"))


class StreamList(Answer, kind="stream-list"):
    """``spotbag stream --list``."""

    streams: tuple[ListedStream, ...] = listing(*ListedStream.columns())


@dataclass(frozen=True, kw_only=True)
class StreamOptions(RunOptions):
    """Options of the command."""

    policy: list[str] | None = policies_option("known and unknown", names_of("replay.streams.policies", "KIND.names"))
    runs: int | None = runs_option(f"Draws of the run times to replay; {DEFAULT_RUNS} if absent.")
    once: bool = option(None, "One run, that of the seed; shows how each job went.", False)
    sampling_fraction: float | None = option(
        "F", "Length of a sampling phase as a fraction of the time to the deadline; 0.1 if absent."
    )
    samples: int | None = option("N", "Tasks that each VM of a sampling phase gets; 10 if absent.")
    pairs: list[str] | None = option(
        "NAME=VALUE", "Setting of a2ha, e.g. creation_ratio=0.75.", name="option", short="-o"
    )
    run_times: str | None = option(
        "FILE", "Instead of STREAM: a list of run times in seconds, one a line, on VMs paid by the hour.", file="read"
    )
    write: str | None = option(
        "FILE", "Write the stream as JSON, as a starting point for your own, and stop.", file="written"
    )
    listed: bool = option(None, "List the streams of the library, and stop.", False, name="list")

    def check(self, stream: str | None) -> None:
        """Refuse options that contradict each other."""
        from ...instances.library import stream_names

        if stream is not None and self.run_times is not None:
            raise SpotbagError("STREAM and --run-times: give one of them")
        if stream is None and self.run_times is None:
            raise SpotbagError(f"STREAM is missing: give a file, - or a stream of the library: {some(stream_names())}")
        self.check_number()
        if self.write is not None and self.recorded:
            raise SpotbagError("--write writes the stream and stops: leave out --trace and --gantt, as well as --tell")

    def check_settings(self, policies: Sequence[str]) -> None:
        """Refuse settings of policies that are not replayed."""
        from ...replay.streams.policies import SAMPLING_POLICIES
        from ...replay.streams.policies.a2ha import A2ha

        sampling = list(SAMPLING_POLICIES)
        for name, given, able in (
            ("--sampling-fraction", self.sampling_fraction, sampling),
            ("--samples", self.samples, sampling),
            ("--option", self.pairs, [A2ha.name]),
        ):
            if given is not None and not set(able) & set(policies):
                rule = f"is for {', '.join(able)}, and has no effect on {', '.join(policies)}"
                raise SpotbagError(f"{name}: {rule}; leave it out, or add --policy {able[0]}")

    def settings(self) -> dict[str, Any]:
        """Return the settings of policies, by the names that replays have for them."""
        from ...replay.streams.policies import a2ha_settings
        from ...replay.streams.policies.unknown import Sampling

        given = {"fraction": self.sampling_fraction, "samples_per_vm": self.samples}
        sampling = Sampling(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
        return {"sampling": sampling, "a2ha": a2ha_settings(parse_options(self.pairs or []))}

    def load(self, stream: str | None, of_jobs: StreamFileOptions) -> Stream:
        """Load the stream, or make it of run times or jobs."""
        from ...instances.streams.stream_files import stream_of_run_times

        return of_jobs.load(stream or "") if self.run_times is None else stream_of_run_times(self.run_times)


def stream_command(
    *,
    context: typer.Context,
    stream: str | None = argument(
        "STREAM",
        "A stream of jobs: a JSON file, - for standard input, the name of a stream of the library, a table "
        "of arrivals, or a log in SWF or GWF.",
        None,
        completes=STREAMS,
        file="read",
    ),
    options: Annotated[StreamOptions, Only(*_ORDER)],
    of_jobs: Annotated[StreamFileOptions, OF_STREAMS],
) -> None:
    """Replay a stream of jobs: they arrive over time, each with a deadline, and a policy rents VMs by the block.

    Run times are drawn anew for each run, and are the same for all policies. Means have 95 % confidence intervals.

    \b
    Policies:
      known              knows average run times; rents the cheapest that suffices
      unknown            samples each application first, then goes on as known
      known-paid-blocks, unknown-paid-blocks
                         likewise; VMs take new jobs in blocks paid anyhow only
      unknown-learning   as unknown-paid-blocks; every finished task is a sample
      a2ha               predicts from finished tasks how many VMs of the first
                         type to rent (Silva et al. 2011)
      large.4            a fixed fleet of one type that can run all applications

    Exit code 0: done; 2: bad input; 130: interrupted, after showing the runs so far.
    """  # noqa: D301 (the control character keeps the lines of the paragraph)
    if options.listed:
        _library().show(options.as_json)
        return
    workers = options.executor(context)
    options.check(stream)
    if options.write is not None:
        deliver_jobs(options.load(stream, of_jobs), options.write, options.as_json)
        return
    options.check_records()
    names = names_in(options.policy or _DEFAULT_POLICIES)
    # Before the stream is read, by names as they are given: these say which settings have an effect.
    options.check_settings(names)
    loaded = options.load(stream, of_jobs)
    settings = options.settings()
    with interruptible():  # from here on there is an answer, which a signal asks for
        done, stories = _replay(loaded, names, options, workers, settings)
        if options.as_json:
            _answer(loaded, done, options.seed, settings, stories).print_json()
        elif stories is not None:
            print_stories(stories)
        elif done.n_runs:
            _print_runs(loaded, done, options.seed)


def _replay(
    stream: Stream, policies: Sequence[str], options: StreamOptions, workers: Workers, settings: Mapping[str, Any]
) -> tuple[StreamRuns, list[list[str]] | None]:
    """Replay a stream under all policies, and write and tell what is wanted of the first run."""
    from ...replay.streams.policies import stream_kind
    from ...replay.streams.runs import replay_stream, replay_stream_once

    names, n_runs, seed = stream_kind(stream, **settings).full_names(policies), options.n_runs, options.seed
    _warn_of_hopeless_jobs(stream)
    done = replay_counted(
        f"replaying {stream.name}",
        n_runs,
        lambda on_run: replay_stream(stream, names, n_runs, seed=seed, workers=workers, on_run=on_run, **settings),
    )
    stories = None
    # A record replays the first run once more; who has interrupted waits for the answer.
    if options.recorded and not done.interrupted:
        with beside_the_answer():
            traces = [replay_stream_once(stream, name, seed, **settings)[1] for name in names]
            stories = stories_of(traces) if options.story else None
            options.write_trace(traces)
            options.write_picture(traces)
    return done, stories


def _warn_of_hopeless_jobs(stream: Stream) -> None:
    """Say which jobs no VM finishes in time on average, however many are rented."""
    from ...models.streams.sizing import problem_of_job
    from ...solvers.streams.sizing import size_job

    # Jobs of an application that have equally long are sized once.
    hopeless: dict[tuple[str, int], list[str]] = {}
    for job in stream.jobs_by_submission:
        hopeless.setdefault((job.application, job.deadline_s - job.submitted_s), []).append(job.id)
    for jobs in hopeless.values():
        # One task in time is all that must be possible: more of them take more VMs.
        problem = problem_of_job(stream, stream.job(jobs[0]), n_tasks=1)
        sizing = size_job(problem, method="dynamic-programme")
        if sizing.status == "infeasible":
            warn([f"{listed(jobs, 'job')} cannot be in time: {sizing.reasons[0]}"])


def _print_runs(stream: Stream, runs: StreamRuns, seed: int) -> None:
    """Print a row for each policy, the blocks that were paid, and of a single run how each job went."""
    single = runs.n_runs == 1
    print(
        f"{stream.name}: {counted(len(stream.jobs), 'job')}, {counted(stream.n_tasks, 'task')}, "
        f"blocks of {seconds(stream.block_s)} s, {seconds(stream.creation_overhead_s)} s to launch a VM"
    )
    print_heading(runs, seed)
    summaries = runs.summaries()
    digits = 0 if single else 1
    # Policies that drop tasks are few: no column where none does.
    unfinished = any(summary.means["unfinished_tasks"].mean for summary in summaries)
    print_rows(
        summaries,
        words("policy"),
        mean("cost\n($)", "cost_usd", 3),
        mean("late\ntasks", "late_tasks", digits),
        mean("never\nended", "unfinished_tasks", digits) if unfinished else None,
        number("violation\ncost ($)", "violation_cost_usd", ",.3f"),
        mean("late\ntime (s)", "late_s", 0),
        mean("idle\ntime (s)", "idle_s", 0),
        mean("makespan\n(s)", attrgetter("makespan_s"), 0),
        tight=True,
    )

    def paid(name: str) -> Shown:
        return mean(name, lambda summary: summary.blocks[name], digits)

    used = [name for name in stream.type_names if any(summary.blocks[name].mean for summary in summaries)]
    if used:
        print_rows(summaries, words("paid blocks", "policy"), *map(paid, used))
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
        # Counts of one run are whole numbers, and tenths of seconds say nothing.
        digits = 0 if single or name.endswith("_s") else 1
        return number(heading, lambda summary: mean_cell(summary.policy_counts.get(name), digits))

    names = dict.fromkeys(name for summary in summaries for name in summary.policy_counts)
    if names:
        having = [summary for summary in summaries if summary.policy_counts]
        print_rows(having, words("counted", "policy"), *map(count, names))


def _print_jobs(runs: StreamRuns) -> None:
    """Print the jobs of a single run; of many jobs the late ones, the worst of each policy first."""

    def shown(outcome: StreamOutcome) -> tuple[Sequence[JobProgress], str]:
        jobs = outcome.jobs
        if len(jobs) <= _MOST_JOBS:
            return jobs, ""
        # All jobs in time look alike: of very many, those are shown that somebody would look for.
        missed = [job for job in jobs if job.late_tasks or job.finished < job.n_tasks]
        missed.sort(key=lambda job: (job.finished - job.n_tasks, -job.late_s))
        some = f", of which the worst {_MOST_JOBS} are listed" if len(missed) > _MOST_JOBS else ""
        count = f"{len(missed):,} of {counted(len(jobs), 'job')} not in time"
        return missed[:_MOST_JOBS], f"{outcome.policy}: {count}{some} (all jobs: --json)"

    def end(job: JobProgress) -> str:
        left = job.n_tasks - job.finished
        return f"never: {left:,}" if left else seconds(float(job.last_finish_s))

    print_of_each(
        runs,
        shown,
        words("job", "id"),
        number("tasks", "n_tasks", ","),
        number("late", "late_tasks", ","),
        number("late time (s)", lambda job: seconds(float(job.late_s))),
        number("last end (s)", end),
        number("deadline (s)", lambda job: seconds(job.deadline_s)),
    )


def _answer(
    stream: Stream, runs: StreamRuns, seed: int, settings: Mapping[str, Any], stories: Sequence[Sequence[str]] | None
) -> StreamAnswer:
    """Return the answer on the runs, with the events of a single run if they are told."""

    def as_object(index: int, outcome: StreamOutcome) -> dict[str, Any]:
        retained = fields_except(outcome, "policy", "seed", "bills", "events")
        retained |= {"violation_cost_usd": outcome.violation_cost_usd}
        return retained if stories is None else retained | {"story": list(stories[index])}

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
        **settings,
        policies=tuple(StreamMeans.of(summary) for summary in runs.summaries()),
        outcomes=tuple(outcomes),
    )


def _library() -> StreamList:
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
