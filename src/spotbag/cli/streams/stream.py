"""``spotbag stream``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ...core.processes import interruptible
from ..answers import Written
from ..arguments import (
    Only,
    check_output,
    names_in,
    parse_options,
    print_stories,
    some,
    stories_of,
    warn,
    wrote,
)
from ..arrivals import OF_STREAMS, StreamFileOptions
from ..completion import names_of
from ..progress import beside_the_answer, counting
from ..run_options import (
    DEFAULT_RUNS,
    RunOptions,
    policies_option,
    runs_option,
    workers_of,
)
from ..run_report import warn_of_missing
from .stream_report import StreamList, library_streams, print_runs, print_streams, stream_answer

if TYPE_CHECKING:
    from ...core.workers import Workers
    from ...instances.streams.stream import Stream
    from ...replay.streams.policies.a2ha import A2haSettings
    from ...replay.streams.policies.unknown import Sampling
    from ...replay.streams.runs import StreamRuns

EXAMPLE = "Example:  spotbag stream thai/table2 --policy known --policy large.4 --runs 100 --gantt stream.png"

_DEFAULT_POLICIES = ("known", "unknown")
_USUAL = StreamFileOptions()
_ORDER = (
    *("policy", "runs", "once", "seed", "workers", "dask", "sampling_fraction", "samples", "option", "run_times"),
    *("story", "trace", "gantt", "write", "listed", "as_json"),
)
"""Options as the help lists them."""


@dataclass(frozen=True, kw_only=True)
class StreamOptions(RunOptions):
    """Options of the command."""

    policy: Annotated[
        list[str] | None,
        policies_option(
            "See above.",
            "known and unknown",
            names_of("replay.streams.policies", "KIND.names"),
        ),
    ] = None
    runs: Annotated[int | None, runs_option(f"Draws of the run times to replay; {DEFAULT_RUNS} if absent.")] = None
    once: Annotated[bool, typer.Option("--once", help="One run, that of the seed; shows how each job went.")] = False
    sampling_fraction: Annotated[
        float | None,
        typer.Option(
            "--sampling-fraction",
            metavar="F",
            help="Length of a sampling phase as a fraction of the time to the deadline; 0.1 if absent.",
        ),
    ] = None
    samples: Annotated[
        int | None,
        typer.Option("--samples", metavar="N", help="Tasks that each VM of a sampling phase gets; 10 if absent."),
    ] = None
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "-o",
            metavar="NAME=VALUE",
            help="Setting of a2ha, e.g. creation_ratio=0.75.",
        ),
    ] = None
    run_times: Annotated[
        str | None,
        typer.Option(
            "--run-times",
            metavar="FILE",
            help="Instead of STREAM: a list of run times in seconds, one a line, on VMs paid by the hour.",
        ),
    ] = None
    write: Annotated[
        str | None,
        typer.Option(
            "--write", metavar="FILE", help="Write the stream as JSON, as a starting point for your own, and stop."
        ),
    ] = None
    listed: Annotated[bool, typer.Option("--list", help="List the streams of the library, and stop.")] = False


def stream_command(
    context: typer.Context,
    stream: Annotated[
        str | None,
        typer.Argument(
            metavar="STREAM",
            autocompletion=names_of("instances.library", "stream_names"),
            help="A stream of jobs: a JSON file, - for standard input, the name of a stream of the library, a table "
            "of arrivals, or a log in SWF or GWF.",
            show_default=False,
        ),
    ] = None,
    options: Annotated[StreamOptions, Only(*_ORDER)] = StreamOptions(),
    of_jobs: Annotated[StreamFileOptions, OF_STREAMS] = _USUAL,
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
        _list(options.as_json)
        return
    workers, argument = workers_of(context, options.workers, options.dask), stream or options.run_times
    _check_options(stream, options)
    if options.write is not None:
        _check_writing(options, options.write, argument)
        deliver_stream(_load(stream, options.run_times, of_jobs), options.write, options.as_json)
        return
    options.check_files(argument)
    names = names_in(options.policy or _DEFAULT_POLICIES)
    _check_settings(names, options)
    loaded = _load(stream, options.run_times, of_jobs)
    sampling = _sampling(options.sampling_fraction, options.samples)
    a2ha = _a2ha_settings(options.option or [])
    with interruptible():  # from here on there is an answer, which a signal asks for
        done, stories = _replay(loaded, names, options, workers, sampling, a2ha)
        if options.as_json:
            stream_answer(loaded, done, options.seed, sampling, a2ha, stories).print_json()
        elif stories is not None:
            print_stories(stories)
        elif done.n_runs:
            print_runs(loaded, done, options.seed)


def _check_settings(policies: Sequence[str], options: StreamOptions) -> None:
    """Refuse settings of policies that are not replayed."""
    from ...core.errors import SpotbagError
    from ...replay.streams.policies import SAMPLING_POLICIES
    from ...replay.streams.policies.a2ha import A2ha

    sampling = list(SAMPLING_POLICIES)
    for option, given, able in (
        ("--sampling-fraction", options.sampling_fraction, sampling),
        ("--samples", options.samples, sampling),
        ("--option", options.option, [A2ha.name]),
    ):
        if given is not None and not set(able) & set(policies):
            rule = f"is for {', '.join(able)}, and has no effect on {', '.join(policies)}"
            raise SpotbagError(f"{option}: {rule}; leave it out, or add --policy {able[0]}")


def _replay(
    stream: Stream,
    policies: Sequence[str],
    options: StreamOptions,
    workers: Workers,
    sampling: Sampling,
    a2ha: A2haSettings,
) -> tuple[StreamRuns, list[list[str]] | None]:
    """Replay a stream under all policies, and write and tell what is wanted of the first run."""
    from ...replay.streams.policies import stream_kind
    from ...replay.streams.runs import replay_stream, replay_stream_once

    names = stream_kind(stream, sampling, a2ha).full_names(policies)
    _warn_of_hopeless_jobs(stream)
    with counting(f"replaying {stream.name}", options.n_runs) as count:
        done = replay_stream(
            stream,
            names,
            options.n_runs,
            seed=options.seed,
            workers=workers,
            sampling=sampling,
            a2ha=a2ha,
            on_run=lambda more: count("", more),
        )
    warn_of_missing(done, options.n_runs)
    stories = None
    if options.recorded and not done.interrupted:
        with beside_the_answer():
            traces = [replay_stream_once(stream, name, options.seed, sampling, a2ha)[1] for name in names]
            stories = stories_of(traces) if options.story else None
            for write in (options.write_trace, options.write_picture):
                for path in write(traces):
                    wrote(path)
    return done, stories


def _list(as_json: bool) -> None:
    streams = library_streams()
    if as_json:
        StreamList(streams=tuple(streams)).print_json()
    else:
        print_streams(streams)


def _load(stream: str | None, run_times: str | None, of_jobs: StreamFileOptions) -> Stream:
    from ...instances.streams.stream_files import stream_of_run_times

    return stream_of_run_times(run_times) if run_times is not None else of_jobs.load(stream or "")


def deliver_stream(stream: Stream, path: str | None, as_json: bool) -> None:
    """Write a stream as JSON, or print it if there is no path."""
    from ...core.wording import counted
    from ...instances.streams.stream_files import write_stream

    if path is None:
        print(stream.to_text(), end="")
        return
    write_stream(stream, path)
    if as_json:
        Written(stream=stream.name, written=(path,)).print_json()
    wrote(path, f"{stream.name}, {counted(len(stream.jobs), 'job')}, {counted(stream.n_tasks, 'task')}")


def _check_options(stream: str | None, options: StreamOptions) -> None:
    """Refuse options that contradict each other."""
    from ...core.errors import SpotbagError
    from ...instances.library import stream_names

    if stream is not None and options.run_times is not None:
        raise SpotbagError("STREAM and --run-times: give one of them")
    if stream is None and options.run_times is None:
        raise SpotbagError(f"STREAM is missing: give a file, - or a stream of the library: {some(stream_names())}")
    options.check_number()


def _check_writing(options: StreamOptions, path: str, argument: str | None) -> None:
    """Refuse options of a replay where the stream is only written."""
    from ...core.errors import SpotbagError

    if options.recorded:
        raise SpotbagError("--write writes the stream and stops: leave out --trace and --gantt, as well as --tell")
    check_output(path, argument)


def _warn_of_hopeless_jobs(stream: Stream) -> None:
    """Say which jobs no VM finishes in time on average, however many are rented."""
    from ...core.wording import listed
    from ...models.streams.sizing import problem_of_job
    from ...solvers.streams.sizing import size_job

    hopeless: dict[tuple[str, int], list[str]] = {}
    for job in stream.jobs_by_submission:
        hopeless.setdefault((job.application, job.deadline_s - job.submitted_s), []).append(job.id)
    for jobs in hopeless.values():
        problem = problem_of_job(stream, stream.job(jobs[0]), n_tasks=1)
        sizing = size_job(problem, method="dynamic-programme")
        if sizing.status == "infeasible":
            warn([f"{listed(jobs, 'job')} cannot be in time: {sizing.reasons[0]}"])


def _sampling(fraction: float | None, samples: int | None) -> Sampling:
    from ...replay.streams.policies.unknown import Sampling

    usual = Sampling()
    return Sampling(
        usual.fraction if fraction is None else fraction, usual.samples_per_vm if samples is None else samples
    )


def _a2ha_settings(options: list[str]) -> A2haSettings:
    from ...replay.streams.policies import a2ha_settings

    return a2ha_settings(parse_options(options))
