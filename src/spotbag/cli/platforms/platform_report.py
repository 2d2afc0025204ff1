"""Output of ``spotbag platform``: policies below each other, resources, and the platforms of the library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ...core.text_tables import Column, Table, numbers
from ..answers import ABSENT, Answer, Mean, Part, beside
from ..run_report import ReplayedRun, by_policy, mean_cell, print_heading
from ..tables import print_table, seconds

if TYPE_CHECKING:
    from ...core.statistics import Estimate
    from ...instances.platforms.job_draws import JobSet
    from ...instances.platforms.platform import Platform
    from ...replay.platforms.outcome import JobResult, PlatformOutcome
    from ...replay.platforms.run_bounds import RunBounds
    from ...replay.platforms.runs import PlatformRuns
    from ...replay.runs import Summary

_HOUR_S = 3600
_MOST_MISSED = 20


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

    name: str
    agents: int
    dedicated: int
    allocated: int
    cloud: int
    jobs: int
    source: str


class PlatformList(Answer, kind="platform-list"):
    """``spotbag platform --list``."""

    platforms: tuple[ListedPlatform, ...]


def print_runs(
    platform: Platform,
    job_set: JobSet | None,
    runs: PlatformRuns,
    seed: int,
    bounds: Sequence[Sequence[RunBounds]] | None,
) -> None:
    """Print a row for each policy, what no policy can beat, and of a single run what each resource did."""
    from ...core.wording import counted

    single = runs.n_runs == 1
    number = len(runs.outcomes[0][0].jobs)
    jobs = counted(number, "job") if job_set is None else f"{counted(number, f'{job_set.kind} job')} drawn"
    resources, agents = counted(len(platform.resources), "resource"), counted(len(platform.agents), "agent")
    print(f"{platform.name}: {jobs}, {resources} below {agents}")
    print_heading(runs, seed)
    summaries = runs.summaries()
    _print_metrics(summaries, single)
    if bounds is not None:
        _print_bounds(summaries, bounds)
    _print_counts(summaries, single)
    if single:
        _print_resources(platform, job_set, runs, seed)
        _print_missed(runs)
    print("cost: in units of cost; in the paper, a processor-minute of the allocated cluster is one")
    print("execution time: from arrival to end, of all jobs together; delay: from the deadline to the end")
    if bounds is not None:
        print("at least: what no policy beats, had it known all jobs; cost for as much delay, times for as much cost")


def _print_metrics(summaries: Sequence[Summary], single: bool) -> None:
    columns = [
        Column("policy"),
        *numbers("cost", "execution\ntime (h)", "delay\n(h)", "late\njobs", "jobs over\nbudget", "over budget\nby"),
    ]
    digits = 0 if single else 1
    rows = [
        [
            summary.policy,
            mean_cell(summary.means["cost"], 0),
            _hours(summary.means["execution_time_s"]),
            _hours(summary.means["delay_s"]),
            mean_cell(summary.means["late_jobs"], digits),
            mean_cell(summary.means["overspent_jobs"], digits),
            mean_cell(summary.means["overspend"], 0),
        ]
        for summary in summaries
    ]
    print_table(Table(columns, rows), tight=True)


def _print_bounds(summaries: Sequence[Summary], bounds: Sequence[Sequence[RunBounds]]) -> None:
    columns = [Column("at least"), *numbers("cost", "execution\ntime (h)", "delay\n(h)")]
    rows = []
    for summary, of_policy in zip(summaries, bounds, strict=True):
        least = _bound_estimates(of_policy)
        rows.append(
            [summary.policy, mean_cell(least["cost"], 0), _hours(least["execution_time_s"]), _hours(least["delay_s"])]
        )
    print_table(Table(columns, rows), tight=True)


def _print_counts(summaries: Sequence[Summary], single: bool) -> None:
    unwanted = any(summary.means["unwanted"].mean for summary in summaries)
    names = {
        "good": "placed\ngood",
        "bad": "placed\nbad",
        "displaced": "displaced",
        **({"unwanted": "unwanted"} if unwanted else {}),
        "machines": "cloud\nmachines",
        "vm_hours": "machine\nhours",
        "messages_per_placement": "messages per\nplacement",
    }
    columns = [Column("policy"), *(Column(heading, True) for heading in names.values())]
    rows = [
        [
            summary.policy,
            *(
                mean_cell(summary.means[name], 0 if single and name != "messages_per_placement" else 1)
                for name in names
            ),
        ]
        for summary in summaries
    ]
    print_table(Table(columns, rows), tight=True)


def _print_resources(platform: Platform, job_set: JobSet | None, runs: PlatformRuns, seed: int) -> None:
    """Print the jobs, work and cost of each resource in a single run."""
    from ...replay.platforms.runs import platform_with_jobs

    with_jobs = platform_with_jobs(platform, job_set, seed)
    columns = [
        Column("policy"),
        Column("resource"),
        *numbers("jobs", "late", "work (processor-minutes)", "used", "cost"),
    ]
    rows: list[list[str]] = []
    for outcomes in runs.outcomes:
        if rows:
            rows.append([])
        for resource in _resources(with_jobs, outcomes[0]):
            rows.append(
                [
                    outcomes[0].policy,
                    resource["resource"],
                    f"{resource['jobs']:,}",
                    f"{resource['late_jobs']:,}",
                    f"{resource['work_processor_minutes']:,}",
                    "-" if resource["use"] is None else f"{100 * resource['use']:.0f} %",
                    f"{resource['cost']:,.0f}",
                ]
            )
    print_table(Table(columns, rows))


def _print_missed(runs: PlatformRuns) -> None:
    """Print the jobs of a single run that are late or over budget, the worst of each policy first."""
    columns = [
        Column("policy"),
        Column("late, or\nover budget"),
        Column("on"),
        *numbers("arrival\n(s)", "start\n(s)", "end\n(s)", "deadline\n(s)", "late by\n(s)", "cost", "budget"),
    ]
    rows: list[list[str]] = []
    more: list[str] = []
    for [outcome] in runs.outcomes:
        missed = [job for job in outcome.jobs if job.delay_s or job.overspend]
        missed.sort(key=lambda job: (-job.delay_s, -job.overspend))
        if rows and missed:
            rows.append([])
        rows += [_missed_row(outcome.policy, job) for job in missed[:_MOST_MISSED]]
        if len(missed) > _MOST_MISSED:
            more.append(f"... and {len(missed) - _MOST_MISSED:,} more of {outcome.policy} (in --json)")
    if rows:
        print_table(Table(columns, rows), tight=True)
    for line in more:
        print(line)


def _missed_row(policy: str, job: JobResult) -> list[str]:
    times = (job.arrival_s, job.start_s, job.end_s, job.deadline_s)
    late = seconds(job.delay_s) if job.delay_s else "-"
    return [policy, job.id, job.resource, *map(seconds, times), late, f"{job.cost:,.0f}", f"{job.budget:,.0f}"]


def _hours(value: Estimate) -> str:
    """Mean and half width of the interval, of seconds."""
    return mean_cell(value, 2, unit=_HOUR_S)


def _bound_estimates(bounds: Sequence[RunBounds]) -> dict[str, Estimate]:
    from ...core.statistics import estimate

    rows = [asdict(bound) for bound in bounds]
    return {name: estimate([row[name] for row in rows]) for name in rows[0]}


def _resources(with_jobs: Platform, outcome: PlatformOutcome) -> list[dict[str, Any]]:
    """Return the jobs, work and cost of each resource in a run, from the platform with its jobs."""
    from ...replay.platforms.outcome import resource_use

    return [asdict(use) | {"use": use.use} for use in resource_use(with_jobs, outcome)]


def platform_answer(
    platform: Platform,
    job_set: JobSet | None,
    runs: PlatformRuns,
    seed: int,
    bounds: Sequence[Sequence[RunBounds]] | None,
    stories: Sequence[Sequence[str]] | None,
    written: Sequence[str],
    picture_refused: str | None,
) -> PlatformAnswer:
    """Return the answer on the runs; of a single run, also each job and machine.

    The story of a single run under each policy, if there is one, is given line by line.
    """
    from ...replay.platforms.runs import platform_with_jobs

    def replayed(number: int) -> ReplayedRun:
        with_jobs = platform_with_jobs(platform, job_set, seed + number)

        def as_object(index: int, outcome: PlatformOutcome) -> dict[str, Any]:
            report = _outcome_object(outcome, runs.n_runs == 1) | {"by_resource": _resources(with_jobs, outcome)}
            report |= {} if bounds is None else {"at_least": asdict(bounds[index][number])}
            return report | ({} if stories is None else {"story": list(stories[index])})

        return ReplayedRun(seed=seed + number, policies=by_policy(runs, number, as_object))

    policies = (
        PlatformMeans.of(summary, at_least=ABSENT if bounds is None else _bound_estimates(bounds[index]))
        for index, summary in enumerate(runs.summaries())
    )
    return PlatformAnswer.of(
        runs,
        platform=platform.name,
        agents=len(platform.agents),
        resources=len(platform.resources),
        jobs=len(platform.jobs) if job_set is None else job_set.number,
        job_set=job_set,
        seed=seed,
        runs=runs.n_runs,
        policies=tuple(policies),
        outcomes=tuple(map(replayed, range(runs.n_runs))),
        written=written,
        picture_refused=ABSENT if picture_refused is None else picture_refused,
    )


def _outcome_object(outcome: PlatformOutcome, single: bool) -> dict[str, Any]:
    from ...replay.platforms.runs import METRICS

    report: dict[str, Any] = {name: metric(outcome) for name, metric in METRICS.items()} | {"end_s": outcome.end_s}
    if single:
        report["jobs"] = [asdict(job) for job in outcome.jobs]
        report["machine_bills"] = [asdict(machine) for machine in outcome.machines]
    return report


def library_platforms() -> list[ListedPlatform]:
    """Return the platforms of the library, with their sizes and sources."""
    from ...instances.library import platform_names
    from ...instances.platforms.platform_files import library_platform

    rows = []
    for name in platform_names():
        platform = library_platform(name)
        rows.append(
            ListedPlatform(
                name=name,
                agents=len(platform.agents),
                **{
                    kind: sum(resource.kind == kind for resource in platform.resources)
                    for kind in ("dedicated", "allocated", "cloud")
                },
                jobs=len(platform.jobs),
                source=platform.provenance.source if platform.provenance else "",
            )
        )
    return rows


def print_platforms(platforms: Sequence[ListedPlatform]) -> None:
    """Print a row for each platform of the library."""
    counts = ("agents", "dedicated", "allocated", "cloud", "jobs")
    headings = {"cloud": "clouds"}
    columns = [Column("name"), *(Column(headings.get(key, key), True) for key in counts), Column("source")]
    rows = [[row.name, *(f"{getattr(row, key):,}" for key in counts), row.source] for row in platforms]
    print_table(Table(columns, rows))
