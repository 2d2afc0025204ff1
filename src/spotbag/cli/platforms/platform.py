"""``spotbag platform``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from ...core.errors import SpotbagError, show_value
from ...core.processes import interruptible
from ...core.text_files import source_name
from ...core.wording import near_names
from ..arguments import check_output, names_in, print_stories, some, stories_of, warn, wrote
from ..arrivals import OF_PLATFORMS, PlatformFileOptions, deliver_jobs
from ..completion import PLATFORMS, names_of
from ..options import Only, argument, option
from ..progress import BAD_INPUT, counting
from ..run_options import DEFAULT_RUNS, RunOptions, policies_option, runs_option
from ..run_report import replay_counted
from .platform_report import library_platforms, platform_answer, print_runs

if TYPE_CHECKING:
    from ...core.workers import Workers
    from ...instances.platforms.job_draws import JobSet
    from ...instances.platforms.platform import Platform
    from ...replay.platforms.run_bounds import RunBounds
    from ...replay.platforms.runs import PlatformRuns
    from ...traces.trace import Trace

    Bounds: TypeAlias = tuple[tuple[RunBounds, ...], ...]

EXAMPLE = "Example:  spotbag platform caron/hybrid --draw mixed --number 60 -p time-saving --gantt platform.png"

_DEFAULT_NUMBER = 100
_DEFAULT_POLICIES = ("money-saving", "time-saving", "round-robin")
_ORDER = (
    *("policy", "draw", "number", "runs", "once", "seed", "workers", "dask", "bound"),
    *("story", "trace", "gantt", "write", "listed", "as_json"),
)
"""Options as the help lists them."""


@dataclass(frozen=True, kw_only=True)
class PlatformOptions(RunOptions):
    """Options of the command."""

    policy: list[str] | None = policies_option(
        "money-saving, time-saving and round-robin", names_of("replay.platforms.policies", "KIND.names")
    )
    draw: str | None = option(
        "KIND", "Draw jobs, for each run anew, in place of those of the file: small, big or mixed."
    )
    number: int | None = option("N", f"Jobs to draw; {_DEFAULT_NUMBER} if absent.", min=1)
    runs: int | None = runs_option(
        f"Draws to replay: of the jobs, and of where round-robin sends them; {DEFAULT_RUNS} by default, "
        "1 if nothing is random."
    )
    once: bool = option(None, "One run, that of the seed: what ran where, and what was missed.", False)
    bound: bool = option(None, "Also show what no policy can beat; takes a few seconds per run and policy.", False)
    write: str | None = option("FILE", "Write the platform, with jobs drawn for it, as JSON, and stop.")
    listed: bool = option(None, "List the platforms of the library, and stop.", False, name="list")

    def check(self, platform: str | None) -> tuple[str, JobSet | None]:
        """Refuse options that contradict each other; return the platform and the jobs to draw."""
        from ...instances.library import platform_names
        from ...instances.platforms.job_draws import JOB_SETS, JobSet

        if platform is None:
            names = some(platform_names())
            raise SpotbagError(f"PLATFORM is missing: give a file, - or a platform of the library: {names}")
        if self.number is not None and self.draw is None:
            raise SpotbagError("--number: how many jobs to draw; say which with --draw small, big or mixed")
        self.check_number()
        if self.draw is None:
            return platform, None
        if self.draw not in JOB_SETS:
            raise SpotbagError(
                f"--draw {show_value(self.draw)}: there are no such jobs ({near_names(self.draw, JOB_SETS)})"
            )
        return platform, JobSet(self.draw, _DEFAULT_NUMBER if self.number is None else self.number)

    def check_writing(self) -> None:
        """Refuse options of a replay where the platform is only written."""
        given = (self.policy, self.runs, self.trace, self.gantt)
        if self.bound or self.story or self.once or any(value is not None for value in given):
            raise SpotbagError("--write writes the platform and stops: leave out what is for a replay")


def platform_command(
    *,
    context: typer.Context,
    platform: str | None = argument(
        "PLATFORM",
        "A hybrid platform: a JSON file, - for standard input, the name of a platform of the library, a table "
        "of arrivals, or a log in SWF or GWF.",
        None,
        completes=PLATFORMS,
        show_default=False,
    ),
    options: Annotated[PlatformOptions, Only(*_ORDER)],
    of_jobs: Annotated[PlatformFileOptions, OF_PLATFORMS],
) -> None:
    """Replay malleable jobs on clusters and clouds: they arrive over time, each with a deadline and a budget.

    Jobs are the same for all policies. Means have 95 % confidence intervals.

    \b
    Policies (Caron and de Assuncao 2016):
      money-saving     A: if no resource keeps deadline and budget, the cheapest
                       of what the agents hand up
      time-saving      B: likewise, the fastest
      least-overspend  likewise, the one that exceeds the budget least
      least-delay      likewise, the one that is late least
      cheapest-of-all, fastest-of-all
                       likewise, of the offers of all resources
      round-robin      a resource drawn at random

    Rules that are not the paper's are added to them: money-saving+deadline+exact
      +deadline        queues by deadline, not by priority
      +patient         jobs that are late anyhow are not displaced
      +exact           clouds say what a job will cost, and when it will end

    Exit code 0: done; 2: bad input; 130: interrupted, after showing the runs so far.
    """  # noqa: D301 (the control character keeps the lines of the paragraph)
    if options.listed:
        library_platforms().show(options.as_json)
        return
    workers = options.executor(context)
    source, job_set = options.check(platform)
    if options.write is not None:
        _write_platform(options.write, source, job_set, options, of_jobs)
        return
    from ...replay.platforms.policies import KIND

    names = KIND.full_names(names_in(options.policy or _DEFAULT_POLICIES))
    if options.runs is None and job_set is None and all(map(_draws_nothing, names)):
        options = replace(options, once=True)  # other runs would be the same
    options.check_files(source)
    loaded = of_jobs.load(source)
    if job_set is None and not loaded.jobs:
        raise SpotbagError(f"{source_name(source)}: has no jobs: have some drawn, e.g. --draw mixed --number 100")
    _show_runs(loaded, names, job_set, options, workers)


def _write_platform(
    path: str, source: str, job_set: JobSet | None, options: PlatformOptions, of_jobs: PlatformFileOptions
) -> None:
    """Write the platform, with the jobs of a seed if some are drawn."""
    from ...replay.platforms.runs import platform_with_jobs

    options.check_writing()
    check_output(path, source)
    written = of_jobs.load(source)
    written = written if job_set is None else platform_with_jobs(written, job_set, options.seed)
    deliver_jobs(written, path, options.as_json)


def _show_runs(
    platform: Platform, names: Sequence[str], job_set: JobSet | None, options: PlatformOptions, workers: Workers
) -> None:
    """Replay the jobs; write what is wanted of the first run, and show all."""
    from ...replay.platforms.runs import replay_platform_once

    seed = options.seed
    traces = [replay_platform_once(platform, name, job_set=job_set, seed=seed)[1] for name in names if options.recorded]
    files, picture_refused = _write(traces, options)
    with interruptible():  # from here on there is an answer, which a signal asks for
        done, bounds = _replay(platform, names, job_set, options, workers)
        stories = stories_of(traces) if options.story else None
        if options.as_json:
            platform_answer(platform, job_set, done, seed, bounds, stories, files, picture_refused).print_json()
        elif stories is not None:
            print_stories(stories)
        elif done.n_runs:
            print_runs(platform, job_set, done, seed, bounds)
    for path in files:
        wrote(path)
    if picture_refused is not None:
        print(f"error: {picture_refused}", file=sys.stderr)
        raise typer.Exit(BAD_INPUT)


def _draws_nothing(policy: str) -> bool:
    """Tell if a policy makes the same decisions with any seed."""
    from ...replay.platforms.policies import KIND, PreferringPolicy

    return isinstance(KIND.single(policy, 0)(0), PreferringPolicy)


def _replay(
    platform: Platform, policies: Sequence[str], job_set: JobSet | None, options: PlatformOptions, workers: Workers
) -> tuple[PlatformRuns, Bounds | None]:
    """Replay the jobs under all policies, and bound what they come to, if that is asked for."""
    from ...replay.platforms.runs import replay_platform

    n_runs = options.n_runs
    how: dict[str, Any] = {"job_set": job_set, "seed": options.seed, "workers": workers}
    done = replay_counted(
        f"replaying {platform.name}",
        n_runs,
        lambda on_run: replay_platform(platform, policies, n_runs, on_run=on_run, **how),
    )
    if not options.bound or done.interrupted:
        return done, None
    bounds = _bounds(platform, done, **how)
    return (done, bounds) if bounds is not None else (replace(done, interrupted=True), None)


def _bounds(
    platform: Platform, runs: PlatformRuns, job_set: JobSet | None, seed: int, workers: Workers
) -> Bounds | None:
    """Bound all runs; None if that is interrupted, as means would be of fewer runs than those beside them."""
    from ...replay.platforms.run_bounds import bounds_of_runs

    with counting("bounds", runs.n_runs) as count:
        bounds = bounds_of_runs(
            platform, runs, job_set=job_set, seed=seed, workers=workers, on_run=lambda more: count("", more)
        )
    if len(bounds[0]) < runs.n_runs:
        warn(["interrupted: the runs are here, but no bounds"])
        return None
    return bounds


def _write(traces: Sequence[Trace], options: RunOptions) -> tuple[list[str], str | None]:
    """Write the trace of a run under all policies, and a picture of it.

    Returns the files that were written, and why there is no picture: that takes nothing from the rest.
    """
    files = options.write_trace(traces)
    try:
        return files + options.write_picture(traces), None
    except SpotbagError as error:
        return files, f"{options.gantt}: not drawn: {error}"
