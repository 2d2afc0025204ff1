"""Output of ``spotbag platform``: policies below each other, resources, and the platforms of the library."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from ...core.text_tables import Table, number, table_of, words
from ...core.wording import counted
from ..answers import ABSENT, Answer, Mean, Part, beside
from ..run_report import ReplayedRun, by_policy, mean, print_heading, worst_of_each
from ..tables import print_table, seconds

if TYPE_CHECKING:
    from ...core.statistics import Estimate
    from ...instances.platforms.job_draws import JobSet
    from ...instances.platforms.platform import Platform
    from ...replay.platforms.outcome import JobResult, PlatformOutcome
    from ...replay.platforms.run_bounds import RunBounds
    from ...replay.platforms.runs import PlatformRuns

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

    def tables(self) -> Iterator[Table]:
        """Yield a row for each platform of the library."""
        counts = ("agents", "dedicated", "allocated", "cloud", "jobs")
        columns = (number("clouds" if name == "cloud" else name, name, ",") for name in counts)
        yield table_of(self.platforms, words("name"), *columns, words("source"))


def print_runs(
    platform: Platform,
    job_set: JobSet | None,
    runs: PlatformRuns,
    seed: int,
    bounds: Sequence[Sequence[RunBounds]] | None,
) -> None:
    """Print a row for each policy, what no policy can beat, and of a single run what each resource did."""
    from ...core.quantities import SECONDS_PER_HOUR
    from ...replay.platforms.runs import platform_with_jobs

    single = runs.n_runs == 1
    number_of_jobs = len(runs.outcomes[0][0].jobs)
    jobs = counted(number_of_jobs, "job")
    jobs = jobs if job_set is None else f"{counted(number_of_jobs, f'{job_set.kind} job')} drawn"
    resources, agents = counted(len(platform.resources), "resource"), counted(len(platform.agents), "agent")
    print(f"{platform.name}: {jobs}, {resources} below {agents}")
    print_heading(runs, seed)
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
    print_table(table_of(summaries, words("policy"), *columns), tight=True)
    if bounds is not None:
        pairs = zip(summaries, bounds, strict=True)
        least = [replace(summary, means=_bound_estimates(of_policy)) for summary, of_policy in pairs]
        print_table(table_of(least, words("at least", "policy"), *columns[:3]), tight=True)
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
    print_table(table_of(summaries, words("policy"), *counts), tight=True)
    if single:
        _print_resources(platform_with_jobs(platform, job_set, seed), runs)
        _print_missed(runs)
    print("cost: in units of cost; in the paper, a processor-minute of the allocated cluster is one")
    print("execution time: from arrival to end, of all jobs together; delay: from the deadline to the end")
    if bounds is not None:
        print("at least: what no policy beats, had it known all jobs; cost for as much delay, times for as much cost")


def _print_resources(with_jobs: Platform, runs: PlatformRuns) -> None:
    """Print the jobs, work and cost of each resource in a single run."""
    from ...replay.platforms.outcome import resource_use

    table = table_of(
        worst_of_each(
            runs.outcomes, lambda outcome: [(outcome.policy, use) for use in resource_use(with_jobs, outcome)]
        ),
        words("policy", lambda row: row[0]),
        words("resource", lambda row: row[1].resource),
        number("jobs", lambda row: row[1].jobs, ","),
        number("late", lambda row: row[1].late_jobs, ","),
        number("work (processor-minutes)", lambda row: row[1].work_processor_minutes, ","),
        number("used", lambda row: None if row[1].use is None else f"{100 * row[1].use:.0f} %"),
        number("cost", lambda row: row[1].cost, ",.0f"),
    )
    print_table(table)


def _print_missed(runs: PlatformRuns) -> None:
    """Print the jobs of a single run that are late or over budget, the worst of each policy first."""
    more: list[str] = []

    def missed(outcome: PlatformOutcome) -> list[tuple[str, JobResult]]:
        found = [job for job in outcome.jobs if job.delay_s or job.overspend]
        found.sort(key=lambda job: (-job.delay_s, -job.overspend))
        if len(found) > _MOST_MISSED:
            more.append(f"... and {len(found) - _MOST_MISSED:,} more of {outcome.policy} (in --json)")
        return [(outcome.policy, job) for job in found[:_MOST_MISSED]]

    if rows := worst_of_each(runs.outcomes, missed):
        table = table_of(
            rows,
            words("policy", lambda row: row[0]),
            words("late, or\nover budget", lambda row: row[1].id),
            words("on", lambda row: row[1].resource),
            number("arrival\n(s)", lambda row: seconds(row[1].arrival_s)),
            number("start\n(s)", lambda row: seconds(row[1].start_s)),
            number("end\n(s)", lambda row: seconds(row[1].end_s)),
            number("deadline\n(s)", lambda row: seconds(row[1].deadline_s)),
            number("late by\n(s)", lambda row: seconds(row[1].delay_s) if row[1].delay_s else None),
            number("cost", lambda row: row[1].cost, ",.0f"),
            number("budget", lambda row: row[1].budget, ",.0f"),
        )
        print_table(table, tight=True)
    for line in more:
        print(line)


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


def library_platforms() -> PlatformList:
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
