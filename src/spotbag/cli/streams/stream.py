"""``spotbag stream``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ..arguments import JsonOption, check_output, load_stream, parse_options, print_json, some, warn
from ..exit_codes import INTERRUPTED
from ..progress import busy, counting
from .stream_report import library_streams, print_runs, print_streams, runs_object

if TYPE_CHECKING:
    from ...instances.streams.stream import Stream
    from ...replay.streams.policies.unknown import Sampling
    from ...traces.trace import Trace

EXAMPLE = "Example:  spotbag stream thai/table2 --policy known --policy large.4 --runs 100 --gantt stream.png"

_DEFAULT_RUNS = 20
_MOST_RUNS = 1_000_000
_DEFAULT_POLICIES = ("known", "unknown")


def stream_command(
    stream: Annotated[
        str | None,
        typer.Argument(
            metavar="STREAM",
            help="A stream of jobs: a JSON file, - for standard input, or the name of a stream of the library.",
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            help="See above. May be given several times; known and unknown if absent.",
        ),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            "--runs",
            "-n",
            metavar="N",
            min=1,
            max=_MOST_RUNS,
            help=f"Draws of the run times to replay; {_DEFAULT_RUNS} if absent.",
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="One run, that of the seed; tells how each job went.")] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the first run; the others count on.")] = 0,
    workers: Annotated[int, typer.Option("--workers", "-w", metavar="W", min=1, help="Processes.")] = 1,
    sampling_fraction: Annotated[
        float | None,
        typer.Option(
            "--sampling-fraction",
            metavar="F",
            help="Length of a sampling phase as a fraction of the time to the deadline; 0.1 if absent.",
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option("--samples", metavar="N", help="Tasks that each VM of a sampling phase gets; 10 if absent."),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "-o",
            metavar="NAME=VALUE",
            help="Setting of a2ha, e.g. creation_ratio=0.75.",
        ),
    ] = None,
    run_times: Annotated[
        str | None,
        typer.Option(
            "--run-times",
            metavar="FILE",
            help="Instead of STREAM: a list of run times in seconds, one a line, on VMs paid by the hour.",
        ),
    ] = None,
    trace: Annotated[
        str | None,
        typer.Option("--trace", metavar="FILE", help="Write all events of one run (--once), for 'spotbag audit'."),
    ] = None,
    gantt: Annotated[
        str | None, typer.Option("--gantt", metavar="FILE", help="Draw the first run: .png, .svg or .pdf.")
    ] = None,
    write: Annotated[
        str | None,
        typer.Option("--write", metavar="FILE", help="Write the stream as JSON, to begin one's own with, and stop."),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the streams of the library, and stop.")] = False,
    as_json: JsonOption = False,
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

    Exit code 0: done; 2: bad input.
    """  # noqa: D301 (the control character keeps the lines of the paragraph)
    if listed:
        _list(as_json)
        return
    from ...charts.picture_files import still_format
    from ...charts.streams.replay import PICTURE
    from ...core.errors import SpotbagError
    from ...replay.streams.policies import a2ha_settings, stream_policies
    from ...replay.streams.runs import replay_stream, replay_stream_once

    _check_options(stream, run_times, runs, once, trace)
    if write is not None:
        if trace is not None or gantt is not None:
            raise SpotbagError("--write writes the stream and stops: leave out --trace and --gantt")
        check_output(write, stream or run_times)
        _write_stream(_load(stream, run_times), write, as_json)
        return
    if gantt is not None:
        still_format(gantt, PICTURE)
    check_output(trace, stream or run_times, gantt)
    check_output(gantt, stream or run_times)
    loaded = _load(stream, run_times)
    sampling = _sampling(sampling_fraction, samples)
    a2ha = a2ha_settings(parse_options(option or []))
    names = list(dict.fromkeys(policy or _DEFAULT_POLICIES))
    stream_policies(loaded, names, sampling, a2ha)
    _warn_of_hopeless_jobs(loaded)
    n_runs = 1 if once else runs or _DEFAULT_RUNS
    with counting(f"replaying {loaded.name}", n_runs) as count:
        done = replay_stream(
            loaded,
            names,
            n_runs,
            seed=seed,
            workers=workers,
            sampling=sampling,
            a2ha=a2ha,
            on_run=lambda more: count("", more),
        )
    if done.interrupted:
        warn([f"interrupted: {done.n_runs} of {n_runs} runs are here"])
    if trace is not None or gantt is not None:
        _write([replay_stream_once(loaded, name, seed, sampling, a2ha)[1] for name in names], trace, gantt)
    if as_json:
        print_json(runs_object(loaded, done, seed, sampling, a2ha))
    else:
        print_runs(loaded, done, seed)
    if done.interrupted:
        raise typer.Exit(INTERRUPTED)


def _list(as_json: bool) -> None:
    streams = library_streams()
    if as_json:
        print_json({"streams": streams})
    else:
        print_streams(streams)


def _load(stream: str | None, run_times: str | None) -> Stream:
    from ...instances.streams.stream_files import stream_of_run_times

    return stream_of_run_times(run_times) if run_times is not None else load_stream(stream or "")


def _write_stream(stream: Stream, path: str, as_json: bool) -> None:
    """Write a stream as JSON."""
    from ...core.wording import counted
    from ...instances.streams.stream_files import write_stream

    write_stream(stream, path)
    if as_json:
        print_json({"stream": stream.name, "written": [path]})
    else:
        print(f"wrote {path}: {stream.name}, {counted(len(stream.jobs), 'job')}, {counted(stream.n_tasks, 'task')}")


def _check_options(stream: str | None, run_times: str | None, runs: int | None, once: bool, trace: str | None) -> None:
    """Refuse what does not go together."""
    from ...core.errors import SpotbagError
    from ...instances.library import stream_names

    if stream is not None and run_times is not None:
        raise SpotbagError("STREAM and --run-times: give one of them")
    if stream is None and run_times is None:
        raise SpotbagError(f"STREAM is missing: give a file, - or a stream of the library: {some(stream_names())}")
    if once and runs is not None:
        raise SpotbagError("--once and --runs: give one of them; a single run is told, several are averaged")
    if trace is not None and not once and runs != 1:
        raise SpotbagError("--trace: a trace tells a single run; add --once (the run of --seed)")


def _warn_of_hopeless_jobs(stream: Stream) -> None:
    """Say which jobs no VM finishes in time on average, however many are rented."""
    from ...models.streams.sizing import problem_of_job
    from ...solvers.streams.sizing import size_job

    for job in stream.jobs_by_submission:
        sizing = size_job(problem_of_job(stream, job), method="dynamic-programme")
        if sizing.status == "infeasible":
            warn([f"{job.id} cannot be in time: {sizing.reasons[0]}"])


def _sampling(fraction: float | None, samples: int | None) -> Sampling:
    from ...replay.streams.policies.unknown import Sampling

    usual = Sampling()
    return Sampling(
        usual.fraction if fraction is None else fraction, usual.samples_per_vm if samples is None else samples
    )


def _write(traces: Sequence[Trace], path: str | None, gantt: str | None) -> None:
    """Write the trace of a run under all policies, and a picture of it."""
    from ...charts.streams.replay import save_stream_gantt
    from ...traces.files import write_traces

    if path is not None:
        write_traces(path, traces)
    if gantt is not None:
        with busy(f"drawing {gantt}"):
            save_stream_gantt(traces, gantt)
