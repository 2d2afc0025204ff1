"""``spotbag stream``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...core.errors import SpotbagError
from ...core.processes import interruptible
from ...core.wording import listed
from ..arguments import check_output, names_in, parse_options, print_stories, some, stories_of, warn, wrote
from ..arrivals import OF_STREAMS, StreamFileOptions, deliver_jobs
from ..completion import STREAMS, names_of
from ..options import Only, argument, option
from ..progress import beside_the_answer
from ..run_options import DEFAULT_RUNS, RunOptions, policies_option, runs_option
from ..run_report import replay_counted
from .stream_report import library_streams, print_runs, stream_answer

if TYPE_CHECKING:
    from ...core.workers import Workers
    from ...instances.streams.stream import Stream
    from ...replay.streams.policies.a2ha import A2haSettings
    from ...replay.streams.policies.unknown import Sampling
    from ...replay.streams.runs import StreamRuns

EXAMPLE = "Example:  spotbag stream thai/table2 --policy known --policy large.4 --runs 100 --gantt stream.png"

_DEFAULT_POLICIES = ("known", "unknown")
_ORDER = (
    *("policy", "runs", "once", "seed", "workers", "dask", "sampling_fraction", "samples", "pairs", "run_times"),
    *("story", "trace", "gantt", "write", "listed", "as_json"),
)
"""Options as the help lists them."""


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
        "FILE", "Instead of STREAM: a list of run times in seconds, one a line, on VMs paid by the hour."
    )
    write: str | None = option("FILE", "Write the stream as JSON, as a starting point for your own, and stop.")
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

    def settings(self) -> tuple[Sampling, A2haSettings]:
        """Return the settings of policies."""
        from ...replay.streams.policies import a2ha_settings
        from ...replay.streams.policies.unknown import Sampling

        given = {"fraction": self.sampling_fraction, "samples_per_vm": self.samples}
        sampling = Sampling(**{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
        return sampling, a2ha_settings(parse_options(self.pairs or []))

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
        show_default=False,
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
        library_streams().show(options.as_json)
        return
    workers, source = options.executor(context), stream or options.run_times
    options.check(stream)
    if options.write is not None:
        check_output(options.write, source)
        deliver_jobs(options.load(stream, of_jobs), options.write, options.as_json)
        return
    options.check_files(source)
    names = names_in(options.policy or _DEFAULT_POLICIES)
    options.check_settings(names)
    loaded = options.load(stream, of_jobs)
    sampling, a2ha = options.settings()
    with interruptible():  # from here on there is an answer, which a signal asks for
        done, stories = _replay(loaded, names, options, workers, sampling, a2ha)
        if options.as_json:
            stream_answer(loaded, done, options.seed, sampling, a2ha, stories).print_json()
        elif stories is not None:
            print_stories(stories)
        elif done.n_runs:
            print_runs(loaded, done, options.seed)


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

    names, n_runs, seed = stream_kind(stream, sampling, a2ha).full_names(policies), options.n_runs, options.seed
    _warn_of_hopeless_jobs(stream)
    how: dict[str, Any] = {"seed": seed, "workers": workers, "sampling": sampling, "a2ha": a2ha}
    done = replay_counted(
        f"replaying {stream.name}",
        n_runs,
        lambda on_run: replay_stream(stream, names, n_runs, on_run=on_run, **how),
    )
    stories = None
    if options.recorded and not done.interrupted:
        with beside_the_answer():
            traces = [replay_stream_once(stream, name, seed, sampling, a2ha)[1] for name in names]
            stories = stories_of(traces) if options.story else None
            for write in (options.write_trace, options.write_picture):
                for path in write(traces):
                    wrote(path)
    return done, stories


def _warn_of_hopeless_jobs(stream: Stream) -> None:
    """Say which jobs no VM finishes in time on average, however many are rented."""
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
