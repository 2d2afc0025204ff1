"""``spotbag platform``."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from ...core.errors import SpotbagError, show_value
from ...core.processes import interruptible
from ...core.text_files import source_name
from ...core.text_tables import number, words
from ...core.wording import counted, near_names
from ..answers import ABSENT, Answer, Mean, Part, beside, column, listing
from ..arguments import names_in, some
from ..arrivals import OF_PLATFORMS, PlatformFileOptions, deliver_jobs
from ..console import BAD_INPUT, counting, print_rows, seconds, warn
from ..options import PLATFORMS, Only, argument, names_of, option
from ..runs import (
    DEFAULT_RUNS,
    ReplayedRun,
    RunOptions,
    by_policy,
    mean,
    policies_option,
    print_heading,
    print_of_each,
    print_stories,
    replay_counted,
    runs_option,
    stories_of,
)

if TYPE_CHECKING:
    from ...core.statistics import Estimate
    from ...core.workers import Workers
    from ...instances.platforms.job_draws import JobSet
    from ...instances.platforms.platform import Platform
    from ...replay.platforms.outcome import JobResult, PlatformOutcome
    from ...replay.platforms.runs import PlatformRuns, RunBounds

    Bounds: TypeAlias = tuple[tuple[RunBounds, ...], ...]

EXAMPLE = "Example:  spotbag platform caron/hybrid --draw mixed --number 60 -p time-saving --gantt platform.png"

_DEFAULT_NUMBER = 100
_MOST_MISSED = 20
_DEFAULT_POLICIES = ("money-saving", "time-saving", "round-robin")
_ORDER = (
    *("policy", "draw", "number", "runs", "once", "seed", "workers", "dask", "bound"),
    *("story", "trace", "gantt", "write", "listed", "as_json"),
)
"""Options as the help lists them."""


class PlatformMeans(Part):
    """A policy over all runs: beside these, a mean for each metric."""

    policy: str
    runs: int
    means: dict[str, Mean] = beside()
    at_least: dict[str, Mean] = ABSENT


class PlatformAnswer(Answer, kind="platform-runs"):
    """``spotbag platform``."""

    platform: str
    agents: int
    resources: int
    jobs: int
    job_set: JobSet | None
    seed: int
    runs: int
    interrupted: bool
    policies: tuple[PlatformMeans, ...]
    outcomes: tuple[ReplayedRun, ...]
    written: tuple[str, ...]
    picture_refused: str = ABSENT


class ListedPlatform(Part):
    """A platform of the library."""

    name: str = column(words("name"))
    agents: int = column(number("agents", form=","))
    dedicated: int = column(number("dedicated", form=","))
    allocated: int = column(number("allocated", form=","))
    cloud: int = column(number("clouds", "cloud", ","))
    jobs: int = column(number("jobs", form=","))
    source: str = column(words("source"))


class PlatformList(Answer, kind="platform-list"):
    """``spotbag platform --list``."""

    platforms: tuple[ListedPlatform, ...] = listing(*ListedPlatform.columns())


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
    write: str | None = option("FILE", "Write the platform, with jobs drawn for it, as JSON, and stop.", file="written")
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
        file="read",
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
        _library().show(options.as_json)
        return
    workers = options.executor(context)
    source, job_set = options.check(platform)
    if options.write is not None:
        _write_platform(options.write, source, job_set, options, of_jobs)
        return
    from ...replay.platforms.policies import KIND

    names = KIND.full_names(names_in(options.policy or _DEFAULT_POLICIES))
    # Without draws, a policy without random numbers does the same in each run.
    if options.runs is None and job_set is None and all(map(_draws_nothing, names)):
        options = replace(options, once=True)  # other runs would be the same
    options.check_records()
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
    refused = None
    options.write_trace(traces)
    try:
        options.write_picture(traces)
    except SpotbagError as error:  # which takes nothing from the rest
        refused = f"{options.gantt}: not drawn: {error}"
    with interruptible():  # from here on there is an answer, which a signal asks for
        done = _replay(platform, names, job_set, options, workers)
        stories = stories_of(traces) if options.story else None
        if options.as_json:
            written = (options.trace, options.gantt if refused is None else None)
            done.answer(stories, [path for path in written if path is not None], refused).print_json()
        elif stories is not None:
            print_stories(stories)
        elif done.runs.n_runs:
            done.print_tables()
    if refused is not None:
        print(f"error: {refused}", file=sys.stderr)
        raise typer.Exit(BAD_INPUT)


def _draws_nothing(policy: str) -> bool:
    """Tell if a policy makes the same decisions with any seed."""
    from ...replay.platforms.policies import KIND, PreferringPolicy

    return isinstance(KIND.single(policy, 0)(0), PreferringPolicy)


def _replay(
    platform: Platform, policies: Sequence[str], job_set: JobSet | None, options: PlatformOptions, workers: Workers
) -> _Replayed:
    """Replay the jobs under all policies, and bound their metrics, if that is asked for."""
    from ...replay.platforms.runs import replay_platform

    n_runs = options.n_runs
    how: dict[str, Any] = {"job_set": job_set, "seed": options.seed, "workers": workers}
    done = replay_counted(
        f"replaying {platform.name}",
        n_runs,
        lambda on_run: replay_platform(platform, policies, n_runs, on_run=on_run, **how),
    )
    bounds = None
    # Bounds take longer than runs, and who has interrupted waits for the answer.
    if options.bound and not done.interrupted:
        from ...replay.platforms.runs import bounds_of_runs

        with counting("bounds", n_runs) as count:
            bounds = bounds_of_runs(platform, done, on_run=lambda more: count("", more), **how)
        if len(bounds[0]) < n_runs:  # means would be of fewer runs than those beside them
            warn(["interrupted: the runs are here, but no bounds"])
            done, bounds = replace(done, interrupted=True), None
    return _Replayed(platform, job_set, options.seed, done, bounds)


@dataclass(frozen=True)
class _Replayed:
    """Runs of the jobs on a platform under policies, and what no policy beats, if that is known."""

    platform: Platform
    job_set: JobSet | None
    seed: int
    runs: PlatformRuns
    bounds: Bounds | None

    def with_jobs(self, number: int) -> Platform:
        """Return the platform with the jobs of a run."""
        from ...replay.platforms.runs import platform_with_jobs

        return platform_with_jobs(self.platform, self.job_set, self.seed + number)

    def answer(
        self, stories: Sequence[Sequence[str]] | None, written: Sequence[str], picture_refused: str | None
    ) -> PlatformAnswer:
        """Return the answer on the runs; of a single run, also each job and machine, and its story if it is told."""
        from ...replay.platforms.outcome import resource_use

        platform, job_set, runs, bounds = self.platform, self.job_set, self.runs, self.bounds

        def replayed(number: int) -> ReplayedRun:
            # The outcome names jobs; how much of a resource they use, only the jobs of this draw say.
            with_jobs = self.with_jobs(number)

            def as_object(index: int, outcome: PlatformOutcome) -> dict[str, Any]:
                report = _outcome_object(outcome, runs.n_runs == 1)
                report["by_resource"] = [asdict(use) | {"use": use.use} for use in resource_use(with_jobs, outcome)]
                report |= {} if bounds is None else {"at_least": asdict(bounds[index][number])}
                return report | ({} if stories is None else {"story": list(stories[index])})

            return ReplayedRun(seed=self.seed + number, policies=by_policy(runs, number, as_object))

        policies = (
            PlatformMeans.of(summary, at_least=ABSENT if bounds is None else _bound_estimates(bounds[index]))
            for index, summary in enumerate(runs.summaries())
        )
        return PlatformAnswer.of(
            self,
            runs,
            platform=platform.name,
            agents=len(platform.agents),
            resources=len(platform.resources),
            jobs=len(platform.jobs) if job_set is None else job_set.number,
            runs=runs.n_runs,
            policies=tuple(policies),
            outcomes=tuple(map(replayed, range(runs.n_runs))),
            written=written,
            picture_refused=ABSENT if picture_refused is None else picture_refused,
        )

    def print_tables(self) -> None:
        """Print a row for each policy, what no policy can beat, and of a single run what each resource did."""
        from ...core.quantities import SECONDS_PER_HOUR

        platform, job_set, runs, bounds = self.platform, self.job_set, self.runs, self.bounds
        single = runs.n_runs == 1
        number_of_jobs = len(runs.outcomes[0][0].jobs)
        jobs = counted(number_of_jobs, "job")
        jobs = jobs if job_set is None else f"{counted(number_of_jobs, f'{job_set.kind} job')} drawn"
        resources, agents = counted(len(platform.resources), "resource"), counted(len(platform.agents), "agent")
        print(f"{platform.name}: {jobs}, {resources} below {agents}")
        print_heading(runs, self.seed)
        summaries = runs.summaries()
        digits = 0 if single else 1
        columns = (
            mean("cost", "cost", 0),
            mean("execution\ntime (h)", "execution_time_s", 2, unit=SECONDS_PER_HOUR),
            mean("delay\n(h)", "delay_s", 2, unit=SECONDS_PER_HOUR),
            mean("late\njobs", "late_jobs", digits),
            mean("jobs over\nbudget", "overspent_jobs", digits),
            mean("over budget\nby", "overspend", 0),
        )
        print_rows(summaries, words("policy"), *columns, tight=True)
        if bounds is not None:
            pairs = zip(summaries, bounds, strict=True)
            least = [replace(summary, means=_bound_estimates(of_policy)) for summary, of_policy in pairs]
            print_rows(least, words("at least", "policy"), *columns[:3], tight=True)
        # Few policies send jobs to resources that nobody wants: no column where none has.
        unwanted = any(summary.means["unwanted"].mean for summary in summaries)
        counts = (
            mean("placed\ngood", "good", digits),
            mean("placed\nbad", "bad", digits),
            mean("displaced", "displaced", digits),
            mean("unwanted", "unwanted", digits) if unwanted else None,
            mean("cloud\nmachines", "machines", digits),
            mean("machine\nhours", "vm_hours", digits),
            mean("messages per\nplacement", "messages_per_placement", 1),
        )
        print_rows(summaries, words("policy"), *counts, tight=True)
        if single:
            _print_resources(self.with_jobs(0), runs)
            _print_missed(runs)
        print("cost: in units of cost; in the paper, a processor-minute of the allocated cluster is one")
        print("execution time: from arrival to end, of all jobs together; delay: from the deadline to the end")
        if bounds is not None:
            print(
                "at least: what no policy beats, had it known all jobs; cost for as much delay, times for as much cost"
            )


def _print_resources(with_jobs: Platform, runs: PlatformRuns) -> None:
    """Print the jobs, work and cost of each resource in a single run."""
    from ...replay.platforms.outcome import resource_use

    print_of_each(
        runs,
        lambda outcome: (resource_use(with_jobs, outcome), ""),
        words("resource"),
        number("jobs", form=","),
        number("late", "late_jobs", ","),
        number("work (processor-minutes)", "work_processor_minutes", ","),
        number("used", lambda use: None if use.use is None else f"{100 * use.use:.0f} %"),
        number("cost", form=",.0f"),
    )


def _print_missed(runs: PlatformRuns) -> None:
    """Print the jobs of a single run that are late or over budget, the worst of each policy first."""

    def missed(outcome: PlatformOutcome) -> tuple[list[JobResult], str]:
        found = [job for job in outcome.jobs if job.delay_s or job.overspend]
        found.sort(key=lambda job: (-job.delay_s, -job.overspend))
        more = len(found) - _MOST_MISSED
        return found[:_MOST_MISSED], f"... and {more:,} more of {outcome.policy} (in --json)" if more > 0 else ""

    print_of_each(
        runs,
        missed,
        words("late, or\nover budget", "id"),
        words("on", "resource"),
        number("arrival\n(s)", lambda job: seconds(job.arrival_s)),
        number("start\n(s)", lambda job: seconds(job.start_s)),
        number("end\n(s)", lambda job: seconds(job.end_s)),
        number("deadline\n(s)", lambda job: seconds(job.deadline_s)),
        number("late by\n(s)", lambda job: seconds(job.delay_s) if job.delay_s else None),
        number("cost", form=",.0f"),
        number("budget", form=",.0f"),
        tight=True,
    )


def _bound_estimates(bounds: Sequence[RunBounds]) -> dict[str, Estimate]:
    from ...core.statistics import estimate

    rows = [asdict(bound) for bound in bounds]
    return {name: estimate([row[name] for row in rows]) for name in rows[0]}


def _outcome_object(outcome: PlatformOutcome, single: bool) -> dict[str, Any]:
    from ...replay.platforms.runs import METRICS

    report: dict[str, Any] = {name: metric(outcome) for name, metric in METRICS.items()} | {"end_s": outcome.end_s}
    if single:
        report["jobs"] = [asdict(job) for job in outcome.jobs]
        report["machine_bills"] = [asdict(machine) for machine in outcome.machines]
    return report


def _library() -> PlatformList:
    """Return the platforms of the library, with their sizes and sources."""
    from ...instances.library import platform_names
    from ...instances.platforms.platform_files import library_platform

    def listed(name: str) -> ListedPlatform:
        platform = library_platform(name)
        kinds = Counter(resource.kind for resource in platform.resources)
        return ListedPlatform(
            name=name,
            agents=len(platform.agents),
            **{kind: kinds[kind] for kind in ("dedicated", "allocated", "cloud")},
            jobs=len(platform.jobs),
            source=platform.provenance.source if platform.provenance else "",
        )

    return PlatformList(platforms=tuple(map(listed, platform_names())))
