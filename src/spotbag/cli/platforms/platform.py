"""``spotbag platform``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from ...core.processes import interruptible
from ..answers import Written
from ..arguments import (
    Only,
    check_output,
    names_in,
    print_stories,
    some,
    stories_of,
    warn,
    wrote,
)
from ..arrivals import OF_PLATFORMS, PlatformFileOptions
from ..completion import names_of
from ..progress import BAD_INPUT, counting
from ..run_options import (
    DEFAULT_RUNS,
    RunOptions,
    policies_option,
    runs_option,
    workers_of,
)
from ..run_report import warn_of_missing
from .platform_report import PlatformList, library_platforms, platform_answer, print_platforms, print_runs

if TYPE_CHECKING:
    from ...core.workers import Workers
    from ...instances.platforms.job_draws import JobSet
    from ...instances.platforms.platform import Platform
    from ...replay.platforms.run_bounds import RunBounds
    from ...replay.platforms.runs import PlatformRuns
    from ...traces.trace import Trace

EXAMPLE = "Example:  spotbag platform caron/hybrid --draw mixed --number 60 -p time-saving --gantt platform.png"

_DEFAULT_NUMBER = 100
_DEFAULT_POLICIES = ("money-saving", "time-saving", "round-robin")
_USUAL = PlatformFileOptions()
_ORDER = (
    *("policy", "draw", "number", "runs", "once", "seed", "workers", "dask", "bound"),
    *("story", "trace", "gantt", "write", "listed", "as_json"),
)
"""Options as the help lists them."""


@dataclass(frozen=True, kw_only=True)
class PlatformOptions(RunOptions):
    """Options of the command."""

    policy: Annotated[
        list[str] | None,
        policies_option(
            "See above.",
            "money-saving, time-saving and round-robin",
            names_of("replay.platforms.policies", "KIND.names"),
        ),
    ] = None
    draw: Annotated[
        str | None,
        typer.Option(
            "--draw",
            metavar="KIND",
            help="Draw jobs, for each run anew, in place of those of the file: small, big or mixed.",
        ),
    ] = None
    number: Annotated[
        int | None,
        typer.Option("--number", metavar="N", min=1, help=f"Jobs to draw; {_DEFAULT_NUMBER} if absent."),
    ] = None
    runs: Annotated[
        int | None,
        runs_option(
            f"Draws to replay: of the jobs, and of where round-robin sends them; {DEFAULT_RUNS} by default, "
            "1 if nothing is random."
        ),
    ] = None
    once: Annotated[
        bool, typer.Option("--once", help="One run, that of the seed: what ran where, and what was missed.")
    ] = False
    bound: Annotated[
        bool,
        typer.Option("--bound", help="Also show what no policy can beat; takes a few seconds per run and policy."),
    ] = False
    write: Annotated[
        str | None,
        typer.Option("--write", metavar="FILE", help="Write the platform, with jobs drawn for it, as JSON, and stop."),
    ] = None
    listed: Annotated[bool, typer.Option("--list", help="List the platforms of the library, and stop.")] = False


def platform_command(
    context: typer.Context,
    platform: Annotated[
        str | None,
        typer.Argument(
            metavar="PLATFORM",
            autocompletion=names_of("instances.library", "platform_names"),
            help="A hybrid platform: a JSON file, - for standard input, the name of a platform of the library, a table "
            "of arrivals, or a log in SWF or GWF.",
            show_default=False,
        ),
    ] = None,
    options: Annotated[PlatformOptions, Only(*_ORDER)] = PlatformOptions(),
    of_jobs: Annotated[PlatformFileOptions, OF_PLATFORMS] = _USUAL,
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
        _list(options.as_json)
        return
    workers, seed = workers_of(context, options.workers, options.dask), options.seed
    argument, job_set = _check_options(platform, options)
    if options.write is not None:
        _check_writing(options, options.write, argument)
        deliver_platform(of_jobs.load(argument), options.write, options.as_json, job_set, seed)
        return
    names = _full_names(options.policy or _DEFAULT_POLICIES)
    if options.runs is None and job_set is None and all(map(_draws_nothing, names)):
        options = replace(options, once=True)  # other runs would be the same
    options.check_files(argument)
    loaded = _load(argument, job_set, of_jobs)
    traces = _traces(loaded, names, job_set, seed) if options.recorded else []
    files, picture_refused = _write(traces, options)
    with interruptible():  # from here on there is an answer, which a signal asks for
        done = _replay(loaded, names, job_set, options, workers)
        bounds = _bounds(loaded, done, job_set, seed, workers) if options.bound and not done.interrupted else None
        if options.bound and bounds is None:
            done = replace(done, interrupted=True)
        stories = stories_of(traces) if options.story else None
        if options.as_json:
            answer = platform_answer(loaded, job_set, done, seed, bounds, stories, files, picture_refused)
            answer.print_json()
        elif stories is not None:
            print_stories(stories)
        elif done.n_runs:
            print_runs(loaded, job_set, done, seed, bounds)
    for path in files:
        wrote(path)
    if picture_refused is not None:
        print(f"error: {picture_refused}", file=sys.stderr)
        raise typer.Exit(BAD_INPUT)


def _list(as_json: bool) -> None:
    platforms = library_platforms()
    if as_json:
        PlatformList(platforms=tuple(platforms)).print_json()
    else:
        print_platforms(platforms)


def _check_options(platform: str | None, options: PlatformOptions) -> tuple[str, JobSet | None]:
    """Refuse options that contradict each other; return the platform and the jobs to draw."""
    from ...core.errors import SpotbagError, show_value
    from ...core.wording import near_names
    from ...instances.library import platform_names
    from ...instances.platforms.job_draws import JOB_SETS, JobSet

    draw, number = options.draw, options.number
    if platform is None:
        names = some(platform_names())
        raise SpotbagError(f"PLATFORM is missing: give a file, - or a platform of the library: {names}")
    if number is not None and draw is None:
        raise SpotbagError("--number: how many jobs to draw; say which with --draw small, big or mixed")
    options.check_number()
    if draw is None:
        return platform, None
    if draw not in JOB_SETS:
        raise SpotbagError(f"--draw {show_value(draw)}: there are no such jobs ({near_names(draw, JOB_SETS)})")
    return platform, JobSet(draw, _DEFAULT_NUMBER if number is None else number)


def _check_writing(options: PlatformOptions, path: str, argument: str) -> None:
    """Refuse options of a replay where the platform is only written."""
    from ...core.errors import SpotbagError

    given = (options.policy, options.runs, options.trace, options.gantt)
    if options.bound or options.story or options.once or any(value is not None for value in given):
        raise SpotbagError("--write writes the platform and stops: leave out what is for a replay")
    check_output(path, argument)


def _full_names(policies: Sequence[str]) -> list[str]:
    """Names of the policies, each once, whatever the order of its rules."""
    from ...replay.platforms.policies import KIND

    return KIND.full_names(names_in(policies))


def _draws_nothing(policy: str) -> bool:
    """Tell if a policy makes the same decisions with any seed."""
    from ...replay.platforms.policies import KIND, PreferringPolicy

    return isinstance(KIND.single(policy, 0)(0), PreferringPolicy)


def _load(argument: str, job_set: JobSet | None, of_jobs: PlatformFileOptions) -> Platform:
    """Load a platform that has jobs, or has some drawn for it."""
    from ...core.errors import SpotbagError
    from ...core.text_files import source_name

    platform = of_jobs.load(argument)
    if job_set is None and not platform.jobs:
        raise SpotbagError(f"{source_name(argument)}: has no jobs: have some drawn, e.g. --draw mixed --number 100")
    return platform


def deliver_platform(
    platform: Platform, path: str | None, as_json: bool, job_set: JobSet | None = None, seed: int = 0
) -> None:
    """Write a platform as JSON, or print it; with jobs, if some are drawn, as they are for the run of a seed."""
    from ...core.wording import counted
    from ...instances.platforms.platform_files import write_platform
    from ...replay.platforms.runs import platform_with_jobs

    written = platform if job_set is None else platform_with_jobs(platform, job_set, seed)
    if path is None:
        print(written.to_text(), end="")
        return
    write_platform(written, path)
    if as_json:
        Written(platform=platform.name, jobs=len(written.jobs), written=(path,)).print_json()
    resources = counted(len(platform.resources), "resource")
    wrote(path, f"{platform.name}, {resources}, {counted(len(written.jobs), 'job')}")


def _traces(platform: Platform, policies: Sequence[str], job_set: JobSet | None, seed: int) -> list[Trace]:
    """Trace of the first run under each policy."""
    from ...replay.platforms.runs import replay_platform_once

    return [replay_platform_once(platform, name, job_set=job_set, seed=seed)[1] for name in policies]


def _replay(
    platform: Platform, policies: Sequence[str], job_set: JobSet | None, options: RunOptions, workers: Workers
) -> PlatformRuns:
    """Replay the jobs under all policies."""
    from ...replay.platforms.runs import replay_platform

    with counting(f"replaying {platform.name}", options.n_runs) as count:
        done = replay_platform(
            platform,
            policies,
            options.n_runs,
            job_set=job_set,
            seed=options.seed,
            workers=workers,
            on_run=lambda more: count("", more),
        )
    warn_of_missing(done, options.n_runs)
    return done


def _bounds(
    platform: Platform, runs: PlatformRuns, job_set: JobSet | None, seed: int, workers: Workers
) -> tuple[tuple[RunBounds, ...], ...] | None:
    """Bound all runs; None if that is interrupted, as means would be of fewer runs than those beside them."""
    from ...replay.platforms.run_bounds import bounds_of_runs

    with counting("bounds", runs.n_runs) as count:
        bounds = bounds_of_runs(
            platform,
            runs,
            job_set=job_set,
            seed=seed,
            workers=workers,
            on_run=lambda more: count("", more),
        )
    if len(bounds[0]) < runs.n_runs:
        warn(["interrupted: the runs are here, but no bounds"])
        return None
    return bounds


def _write(traces: Sequence[Trace], options: RunOptions) -> tuple[list[str], str | None]:
    """Write the trace of a run under all policies, and a picture of it.

    Returns the files that were written, and why there is no picture: that takes nothing from the rest.
    """
    from ...core.errors import SpotbagError

    files = options.write_trace(traces)
    try:
        return files + options.write_picture(traces), None
    except SpotbagError as error:
        return files, f"{options.gantt}: not drawn: {error}"
