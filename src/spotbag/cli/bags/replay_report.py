"""Output of ``spotbag replay`` on many days: policies side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...core.text_tables import Column, Table, number, words
from ...core.wording import counted
from ..answers import Answer, Mean, Part, beside
from ..console import least_width, print_rows, print_table, seconds, terminal_width
from ..runs import by_policy, fields_except, mean_cell

if TYPE_CHECKING:
    from ...instances.clouds import Cloud, InterruptionKind
    from ...replay.bags.outcome import DayOutcome
    from ...replay.bags.runs import Days, PairedDifference, PolicySummary
    from ...schedules.schedule import Schedule

CLAIRVOYANT, HINDSIGHT = REFERENCES = ("clairvoyant", "hindsight")
"""Names among the policies of what they are compared with on each day: the bound, and the least cost found."""

_ROWS: tuple[tuple[str, str, int, tuple[InterruptionKind, ...] | None], ...] = (
    ("hibernations", "hibernations", 2, ("hibernate",)),
    ("resumes", "resumes", 2, ("hibernate",)),
    ("VMs stopped", "stops", 2, ("stop",)),
    ("  started again", "restarts", 2, ("stop",)),
    ("back before the migration trigger", "resumes_in_time", 2, ("hibernate", "stop")),
    ("VMs terminated by the cloud", "reclaims", 2, ("terminate",)),
    ("on-demand VMs started", "on_demand_started", 2, None),
    ("tasks migrated to idle VMs", "migrations_idle", 2, None),
    ("  to busy VMs", "migrations_busy", 2, None),
    ("  to new VMs", "migrations_new", 2, None),
    ("tasks preempted", "preemptions", 2, ()),
    ("tasks late, by weight", "late_weight", 2, ()),
    ("attempts to steal", "steal_attempts", 2, None),
    ("  that stole a task", "steals", 2, None),
    ("checkpoints", "checkpoints", 1, None),
    ("recoveries from one", "recoveries", 2, None),
    ("CPU time saved by them (s)", "cpu_time_saved_s", 1, None),
)
"""Rows of the table: heading, metric, decimals; where it stands there only if something of the kind has happened, or if
the cloud interrupts VMs so, by which interruptions."""


class ReplayedPlan(Part):
    """The plan that was replayed."""

    by: str
    cost_usd: float
    makespan_s: int


class ReplaySummary(Part):
    """A policy over all days: beside these, a mean for each thing that is counted."""

    policy: str
    days: int
    misses: int
    unfinished: int
    cost_usd: Mean
    makespan_s: Mean
    saving_percent: Mean
    regret_usd: Mean
    means: dict[str, Mean] = beside()


class ReplayedDay(Part):
    """A day; ``policies`` has what became of it under each policy."""

    day: int
    bound_usd: float | None
    hindsight_usd: float | None
    policies: Mapping[str, Mapping[str, Any]]


class Replay(Answer, kind="replay"):
    """``spotbag replay``."""

    instance: str
    plan: ReplayedPlan
    deadline_s: int
    d_spot_s: int | None
    scenario: str
    cloud: Cloud
    seed: int
    runs: int
    interrupted: bool
    on_demand_usd: float | None
    on_demand_last_task_usd: float | None
    policies: tuple[ReplaySummary, ...]
    differences: tuple[PairedDifference, ...]
    days: tuple[ReplayedDay, ...]


def print_summary(
    title: str, schedule: Schedule, days: Days, scenario: str, seed: int, references: Sequence[str]
) -> None:
    """Print the policies side by side, then the differences to the first of them, then what to look at."""
    from ...instances.clouds import interruption_text

    instance = schedule.instance
    print(
        f"{title}, {counted(instance.n_tasks, 'task')} on {counted(len(schedule.vm_ids), 'VM')}, "
        f"$ {schedule.cost_usd:.4f}, makespan {seconds(schedule.makespan_s)} s of {seconds(instance.deadline_s)} s"
    )
    print(
        f"scenario {scenario} on {days.cloud.name}, {counted(days.n_runs, 'day')} of seed {seed}; "
        "mean ± half of the 95 % interval"
    )
    if days.cloud.name != "papers":
        what = interruption_text(days.cloud.interruption, days.cloud.notice_s)
        print(f"{days.cloud.name}: spot VMs {what}; VMs are {days.cloud.billing}")
    print()
    summaries = days.summaries()
    columns = [Column(""), *(Column(name, True) for name in (*[entry.policy for entry in summaries], *references))]
    rows = [*_main_rows(summaries, days, references), []]
    for heading, metric, digits, kinds in _ROWS:
        means = [summary.means[metric] for summary in summaries]
        # What cannot happen on a cloud has no row, unless it has happened nevertheless, by an event of a script.
        if kinds is None or days.cloud.interruption in kinds or any(found.mean for found in means):
            rows.append([heading, *(mean_cell(found, digits) for found in means), *[""] * len(references)])
    for part in _side_by_side(Table(columns, rows)):
        print_table(part)
    _print_notes(days, references)
    if len(summaries) > 1:
        print()
        _print_differences(days)
    if summaries:
        print()
        _print_worst(days)


def _side_by_side(table: Table) -> Iterator[Table]:
    """Divide a table into as many as a narrow terminal needs, each with the headings of the rows."""
    width = terminal_width()
    first, end = 1, len(table.columns)
    # As many policies side by side as fit, at least one, whatever the width.
    while first < len(table.columns):
        part = table.with_columns([0, *range(first, end)])
        part = Table(part.columns, [row for row in part.rows if not row or any(row[1:])])
        if width is None or end == first + 1 or least_width(part) <= width:
            yield part
            first, end = end, len(table.columns)
        else:
            end -= 1


def _main_rows(summaries: Sequence[PolicySummary], days: Days, references: Sequence[str]) -> list[list[str]]:
    """Return the rows of cost and time: cells of policies, and of the references where they have some."""
    from ...core.statistics import estimate

    by_name = {CLAIRVOYANT: days.bounds_usd, HINDSIGHT: days.hindsight_usd}
    costs = [[cost for cost in by_name[name] if cost is not None] for name in references]
    on_demand_usd = days.on_demand_usd
    saved = [[] if on_demand_usd is None else [100 * (1 - cost / on_demand_usd) for cost in of] for of in costs]

    def line(heading: str, cells: Iterable[str], of_references: Iterable[str] = ()) -> list[str]:
        return [heading, *cells, *(of_references or [""] * len(references))]

    def means(of: str, digits: int) -> Iterable[str]:
        return (mean_cell(getattr(entry, of), digits) for entry in summaries)

    def shares(of: str) -> Iterable[str]:
        return (_share(getattr(entry, of), days.n_runs) for entry in summaries)

    missed = [_share(days.n_runs - len(found), days.n_runs) for found in costs]
    lines = [
        line("cost ($)", means("cost_usd", 4), [mean_cell(estimate(found), 4) for found in costs]),
        line("saving against on-demand (%)", means("saving_percent", 1), [mean_cell(estimate(of), 1) for of in saved]),
        line("makespan (s)", means("makespan_s", 0)),
        line("days that miss the deadline", shares("misses"), missed),
        line("  with tasks that never end", shares("unfinished")),
    ]
    if CLAIRVOYANT in references:
        pairs = zip(days.hindsight_usd, days.bounds_usd, strict=True)
        gaps = [best - bound for best, bound in pairs if best is not None and bound is not None]
        regret = line("regret: cost above the bound ($)", means("regret_usd", 4))
        if HINDSIGHT in references:
            # Regret of the references themselves: only of hindsight there is some, and it may be that of the bound.
            regret[references.index(HINDSIGHT) - len(references)] = mean_cell(estimate(gaps), 4)
        lines.append(regret)
    return lines


def _print_notes(days: Days, references: Sequence[str]) -> None:
    if any(any(day.migrations.values()) for outcomes in days.outcomes for day in outcomes):
        print("A VM counts as new or idle for the first task that it takes, as busy for those after it.")
    if any(day.makespan_s is None for outcomes in days.outcomes for day in outcomes):
        print("Cost, saving, makespan and differences are means over the days on which all tasks ended.")
    if days.on_demand_usd is not None:
        print(f"on-demand: $ {days.on_demand_usd:.4f} with idle VMs paid for to the ends of their allocation cycles;")
        print(f"$ {days.on_demand_last_task_usd:.4f} if VMs end with their last tasks.")
    if CLAIRVOYANT in references:
        print(
            "clairvoyant: a lower bound on the cost of any policy that meets the deadline and knows the day beforehand;"
        )
        print("regret is a mean over the days on which a policy met the deadline.")
        if days.cloud.billing.first_hour_free:
            print("Who knows when VMs are taken within their first hour, which is free then, may pay next to nothing:")
            print(
                "hindsight says what was found."
                if HINDSIGHT in references
                else "--policy hindsight says what was found."
            )
    if HINDSIGHT in references:
        print("hindsight: the least cost found that meets the deadline, of the policies here and of plans made for the")
        print("known day and replayed on it; as much regret as it has may be due to the bound.")


def _print_differences(days: Days) -> None:
    from ...replay.bags.runs import compare_days

    print(f"Day by day against {days.policies[0]}:")
    print_rows(
        [compare_days(outcomes, days.outcomes[0]) for outcomes in days.outcomes[1:]],
        words("policy"),
        number("cost ($)", lambda entry: mean_cell(entry.cost_usd, 4, signed=True)),
        number("makespan (s)", lambda entry: mean_cell(entry.makespan_s, 0, signed=True)),
        number("days cheaper / dearer", lambda entry: f"{entry.cheaper} / {entry.dearer}"),
    )


def _print_worst(days: Days) -> None:
    """Name the day of each policy that is most worth a look."""
    from ...replay.bags.runs import is_baseline

    for name, outcomes in zip(days.policies, days.outcomes, strict=True):
        # The baseline pays the same on all days.
        if is_baseline(name):
            continue
        number = max(range(len(outcomes)), key=lambda index: _badness(outcomes[index]))
        worst = outcomes[number]
        if worst.makespan_s is None:
            what = f"{counted(worst.unfinished_tasks, 'task')} never ended"
        elif worst.late_tasks:
            late_s = worst.makespan_s - worst.deadline_s
            what = f"{counted(worst.late_tasks, 'task')} late"
            what += f", the last by {seconds(late_s)} s" if late_s > 0 else ""
        else:
            what = f"$ {worst.cost_usd:.4f}, makespan {seconds(worst.makespan_s)} s"
        print(f"Worst day of {name}: {number} ({what}); the same command with")
        print(f"  --policy {name} --day {number} --gantt day.png   shows it.")


def _badness(outcome: DayOutcome) -> tuple[int, int, float, float]:
    # Days with tasks that never end come first, then those that are latest, then the dearest.
    late_s = 0 if outcome.makespan_s is None else max(outcome.makespan_s - outcome.deadline_s, 0)
    return outcome.unfinished_tasks, late_s, outcome.late_weight, outcome.cost_usd


def _share(count: int, days: int) -> str:
    return f"{count} ({100 * count / days:.1f} %)"


def replay_answer(schedule: Schedule, maker: str, days: Days, scenario: str, seed: int) -> Replay:
    """Return the answer on all days: the plan, policies, differences, and each day."""
    from ...replay.bags.runs import compare_days

    def outcome(_: int, found: DayOutcome) -> Mapping[str, Any]:
        return fields_except(found, "policy", "bills", "events")

    def day(number: int) -> ReplayedDay:
        costs = {"bound_usd": days.bounds_usd[number], "hindsight_usd": days.hindsight_usd[number]}
        return ReplayedDay(day=number, **costs, policies=by_policy(days, number, outcome))

    return Replay.of(
        days,
        schedule.instance,
        instance=schedule.instance.name,
        plan=ReplayedPlan.of(schedule, by=maker),
        scenario=scenario,
        seed=seed,
        runs=days.n_runs,
        policies=tuple(ReplaySummary.of(summary) for summary in days.summaries()),
        differences=tuple(compare_days(each, days.outcomes[0]) for each in days.outcomes[1:] if days.n_runs),
        days=tuple(map(day, range(days.n_runs))),
    )
