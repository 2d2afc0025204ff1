"""What ``spotbag replay`` prints of many days: policies side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ...core.tables import Column, Table
from ..run_report import by_policy, fields_except, mean_cell, means_object, runs_object
from ..tables import print_table, seconds, terminal_width

if TYPE_CHECKING:
    from ...instances.clouds import InterruptionKind
    from ...replay.bags.outcome import DayOutcome
    from ...replay.bags.runs import Days, PolicySummary
    from ...schedules.schedule import Schedule

CLAIRVOYANT = "clairvoyant"
"""Name of the bound among the policies."""

_ROWS: tuple[tuple[str, str, int], ...] = (
    ("hibernations", "hibernations", 2),
    ("resumes", "resumes", 2),
    ("VMs stopped", "stops", 2),
    ("  started again", "restarts", 2),
    ("back before the migration trigger", "resumes_in_time", 2),
    ("VMs terminated by the cloud", "reclaims", 2),
    ("on-demand VMs started", "on_demand_started", 2),
    ("tasks migrated to idle VMs", "migrations_idle", 2),
    ("  to busy VMs", "migrations_busy", 2),
    ("  to new VMs", "migrations_new", 2),
    ("tasks preempted", "preemptions", 2),
    ("attempts to steal", "steal_attempts", 2),
    ("  that stole a task", "steals", 2),
    ("checkpoints", "checkpoints", 1),
    ("recoveries from one", "recoveries", 2),
    ("CPU time saved by them (s)", "cpu_time_saved_s", 1),
)
"""Rows of the table: heading, metric, decimals."""
_IF_ANY: Mapping[str, tuple[InterruptionKind, ...]] = {
    "hibernations": ("hibernate",),
    "resumes": ("hibernate",),
    "stops": ("stop",),
    "restarts": ("stop",),
    "resumes_in_time": ("hibernate", "stop"),
    "reclaims": ("terminate",),
    "preemptions": (),
}
"""Rows that stand there only if something of the kind has happened, or if the cloud interrupts VMs so."""


def print_summary(title: str, schedule: Schedule, days: Days, scenario: str, seed: int, with_bound: bool) -> None:
    """Print the policies side by side, then the differences to the first of them, then what to look at."""
    from ...core.wording import counted
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
    columns = [Column(""), *(Column(summary.policy, True) for summary in summaries)]
    if with_bound:
        columns.append(Column(CLAIRVOYANT, True))
    rows = [*_main_rows(summaries, days, with_bound), []]
    for heading, metric, digits in _ROWS:
        usual = metric not in _IF_ANY or days.cloud.interruption in _IF_ANY[metric]
        if not usual and not any(summary.means[metric].mean for summary in summaries):
            continue
        rows.append([heading, *(mean_cell(summary.means[metric], digits) for summary in summaries), *[""] * with_bound])
    for part in _side_by_side(Table(columns, rows)):
        print_table(part)
    _print_notes(days, with_bound)
    if len(summaries) > 1:
        print()
        _print_differences(days)
    if summaries:
        print()
        _print_worst(days)


def _side_by_side(table: Table) -> Iterator[Table]:
    """Divide a table into as many as a narrow terminal needs, each with the headings of the rows."""
    from ..table_layout import least_width

    width = terminal_width()
    first, end = 1, len(table.columns)
    while first < len(table.columns):
        part = table.with_columns([0, *range(first, end)])
        part = Table(part.columns, [row for row in part.rows if not row or any(row[1:])])
        if width is None or end == first + 1 or least_width(part) <= width:
            yield part
            first, end = end, len(table.columns)
        else:
            end -= 1


def _main_rows(summaries: Sequence[PolicySummary], days: Days, with_bound: bool) -> list[list[str]]:
    from ...core.statistics import estimate

    def row(heading: str, cells: Sequence[str], bound: str = "") -> list[str]:
        return [heading, *cells, *([bound] if with_bound else [])]

    bounds = [bound for bound in days.bounds_usd if bound is not None]
    saved = [] if days.on_demand_usd is None else [100 * (1 - bound / days.on_demand_usd) for bound in bounds]
    impossible = days.n_runs - len(bounds)
    costs = [mean_cell(entry.cost_usd, 4) for entry in summaries]
    savings = [mean_cell(entry.saving_percent, 1) for entry in summaries]
    misses = [_share(entry.misses, days.n_runs) for entry in summaries]
    lines = [
        row("cost ($)", costs, mean_cell(estimate(bounds), 4)),
        row("saving against on-demand (%)", savings, mean_cell(estimate(saved), 1)),
        row("makespan (s)", [mean_cell(entry.makespan_s, 0) for entry in summaries]),
        row("days that miss the deadline", misses, _share(impossible, days.n_runs)),
        row("  with tasks that never end", [_share(entry.unfinished, days.n_runs) for entry in summaries]),
    ]
    if with_bound:
        lines.append(row("regret: cost above the bound ($)", [mean_cell(entry.regret_usd, 4) for entry in summaries]))
    return lines


def _print_notes(days: Days, with_bound: bool) -> None:
    if any(any(day.migrations.values()) for outcomes in days.outcomes for day in outcomes):
        print("A VM counts as new or idle for the first task that it takes, as busy for those after it.")
    if any(day.makespan_s is None for outcomes in days.outcomes for day in outcomes):
        print("Cost, saving, makespan and differences are means over the days on which all tasks ended.")
    if days.on_demand_usd is not None:
        print(f"on-demand: $ {days.on_demand_usd:.4f} with idle VMs paid for to the ends of their allocation cycles;")
        print(f"$ {days.on_demand_last_task_usd:.4f} if VMs end with their last tasks.")
    if with_bound:
        print(
            "clairvoyant: a lower bound on the cost of any policy that meets the deadline and knows the day beforehand;"
        )
        print("regret is a mean over the days on which a policy met the deadline.")


def _print_differences(days: Days) -> None:
    from ...replay.bags.runs import compare_days

    rows = []
    for outcomes in days.outcomes[1:]:
        entry = compare_days(outcomes, days.outcomes[0])
        rows.append(
            [
                entry.policy,
                mean_cell(entry.cost_usd, 4, signed=True),
                mean_cell(entry.makespan_s, 0, signed=True),
                f"{entry.cheaper} / {entry.dearer}",
            ]
        )
    print(f"Day by day against {days.policies[0]}:")
    columns = [
        Column("policy"),
        Column("cost ($)", True),
        Column("makespan (s)", True),
        Column("days cheaper / dearer", True),
    ]
    print_table(Table(columns, rows))


def _print_worst(days: Days) -> None:
    """Name the day of each policy that is most worth a look."""
    from ...core.wording import counted
    from ...replay.bags.runs import is_baseline

    for name, outcomes in zip(days.policies, days.outcomes, strict=True):
        if is_baseline(name):
            continue
        number = max(range(len(outcomes)), key=lambda index: _badness(outcomes[index]))
        worst = outcomes[number]
        if worst.makespan_s is None:
            what = f"{counted(worst.unfinished_tasks, 'task')} never ended"
        elif worst.late_tasks:
            late_s = worst.makespan_s - worst.deadline_s
            what = f"{counted(worst.late_tasks, 'task')} late, the last by {seconds(late_s)} s"
        else:
            what = f"$ {worst.cost_usd:.4f}, makespan {seconds(worst.makespan_s)} s"
        print(f"Worst day of {name}: {number} ({what}); the same command with")
        print(f"  --policy {name} --day {number} --gantt day.png   shows it.")


def _badness(outcome: DayOutcome) -> tuple[int, int, float]:
    late_s = 0 if outcome.makespan_s is None else max(outcome.makespan_s - outcome.deadline_s, 0)
    return outcome.unfinished_tasks, late_s, outcome.cost_usd


def _share(count: int, days: int) -> str:
    return f"{count} ({100 * count / days:.1f} %)"


def days_object(schedule: Schedule, maker: str, days: Days, scenario: str, seed: int) -> dict[str, Any]:
    """Return all that is known of the days as one JSON object."""
    from ...replay.bags.runs import compare_days

    about = {
        "instance": schedule.instance.name,
        "plan": {"by": maker, "cost_usd": schedule.cost_usd, "makespan_s": schedule.makespan_s},
        "deadline_s": schedule.instance.deadline_s,
        "d_spot_s": schedule.instance.d_spot_s,
        "scenario": scenario,
        "cloud": asdict(days.cloud),
    }
    settings = {"on_demand_usd": days.on_demand_usd, "on_demand_last_task_usd": days.on_demand_last_task_usd}
    summaries = [_summary_object(summary) for summary in days.summaries()]
    differences = [compare_days(outcomes, days.outcomes[0]) for outcomes in days.outcomes[1:] if days.n_runs]
    return runs_object(about, days, seed, settings, summaries) | {
        "differences": [
            asdict(entry) | {"cost_usd": entry.cost_usd.to_dict(), "makespan_s": entry.makespan_s.to_dict()}
            for entry in differences
        ],
        "days": [_day_object(days, number) for number in range(days.n_runs)],
    }


def _day_object(days: Days, number: int) -> dict[str, Any]:
    policies = by_policy(days, number, _outcome_object)
    return {"day": number, "bound_usd": days.bounds_usd[number], "policies": policies}


def _summary_object(summary: PolicySummary) -> dict[str, Any]:
    return {
        "policy": summary.policy,
        "days": summary.days,
        "misses": summary.misses,
        "unfinished": summary.unfinished,
        "cost_usd": summary.cost_usd.to_dict(),
        "makespan_s": summary.makespan_s.to_dict(),
        "saving_percent": summary.saving_percent.to_dict(),
        "regret_usd": summary.regret_usd.to_dict(),
        **means_object(summary.means),
    }


def _outcome_object(_: int, outcome: DayOutcome) -> Mapping[str, Any]:
    return fields_except(outcome, "policy", "bills", "events")
