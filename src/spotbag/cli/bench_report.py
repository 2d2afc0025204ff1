"""What ``spotbag bench`` prints: the tables of a paper with our figures beside the printed ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .common import make_table, print_table, seconds

if TYPE_CHECKING:
    from ..benchmarks.published.comparison_rows import ComparisonRow, PlanUsed, PublishedComparisonResult

_UNKNOWN = "-"


@dataclass(frozen=True, slots=True)
class _Column:
    """A quantity of a table: heading, which policy and quantity, decimals, whether the paper's number is shown."""

    heading: str
    policy: str
    quantity: str
    digits: int
    printed: bool = True


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of a paper."""

    name: str
    title: str
    columns: tuple[_Column, ...]
    with_scenario: bool = True


_BOTH = "burst-hads against hads"

_TABLES = {
    "HADS": (
        _Table(
            "Table 9",
            "Table 9: without hibernation. static ends a VM with its last task, HADS with its allocation cycle; "
            "difference: to on-demand VMs",
            (
                _Column("makespan (s)", "static", "makespan_s", 0),
                _Column("on-demand ($)", "on-demand", "cost_usd", 3),
                _Column("spot, static ($)", "static", "cost_usd", 3),
                _Column("spot, HADS ($)", "hads", "cost_usd", 3, False),
                _Column("difference, static (%)", "static", "difference_percent", 1),
                _Column("difference, HADS (%)", "hads", "difference_percent", 1, False),
            ),
            with_scenario=False,
        ),
        _Table(
            "Table 10",
            "Table 10, first half: hibernations, on-demand VMs started in runs with hibernations, and late days",
            (
                _Column("hibernations", "hads", "hibernations", 2),
                _Column("on-demand VMs", "hads", "on_demand_started", 2),
                _Column("late days (%)", "hads", "late_days_percent", 1),
            ),
        ),
        _Table(
            "Table 10",
            "Table 10, second half: makespan, cost, saving against on-demand VMs",
            (
                _Column("makespan (s)", "hads", "makespan_s", 0),
                _Column("cost ($)", "hads", "cost_usd", 3),
                _Column("saving (%)", "hads", "saving_percent", 1),
            ),
        ),
        _Table(
            "Table 11",
            "Table 11: checkpoints of ED200",
            (
                _Column("checkpoints", "hads", "checkpoints", 1),
                _Column("task migrations", "hads", "migrations", 1),
                _Column("recoveries", "hads", "recoveries", 1),
                _Column("CPU time saved (s)", "hads", "cpu_time_saved_s", 0),
            ),
        ),
        _Table(
            "Fig. 8",
            "Fig. 8: mean duration of a hibernation, all jobs together",
            (_Column("duration (s)", "hads", "hibernation_duration_s", 0),),
        ),
        _Table(
            "Figs 9-10",
            "Figs 9 and 10: what came of the hibernations of VMs that had tasks (%); one may count for several",
            (
                _Column("new VMs", "hads", "share_new_percent", 1),
                _Column("idle VMs", "hads", "share_idle_percent", 1),
                _Column("busy VMs", "hads", "share_busy_percent", 1),
                _Column("resumed in time", "hads", "share_resumed_percent", 1),
            ),
        ),
        _Table(
            "Fig. 11",
            "Fig. 11: ED200, cost as the rates grow",
            (
                _Column("cost ($)", "hads", "cost_usd", 3, False),
                _Column("above on-demand (%)", "hads", "above_on_demand_percent", 1),
            ),
        ),
        _Table(
            "Fig. 12",
            "Fig. 12: ED200, attempts to steal that took a task",
            (_Column("success (%)", "hads", "steal_success_percent", 1),),
        ),
    ),
    "Burst-HADS": (
        _Table(
            "Table IV",
            "Table IV: without hibernation",
            (
                _Column("Burst ($)", "burst-hads", "cost_usd", 3),
                _Column("HADS ($)", "hads", "cost_usd", 3),
                _Column("on-demand ($)", "on-demand", "cost_usd", 3),
                _Column("Burst (s)", "burst-hads", "makespan_s", 0),
                _Column("HADS (s)", "hads", "makespan_s", 0),
                _Column("on-demand (s)", "on-demand", "makespan_s", 0),
            ),
            with_scenario=False,
        ),
        _Table(
            "Table VI",
            "Table VI: hibernations and resumes (the paper prints one number for both schedulers)",
            (
                _Column("hibernations, Burst", "burst-hads", "hibernations", 2),
                _Column("hibernations, HADS", "hads", "hibernations", 2, False),
                _Column("resumes, Burst", "burst-hads", "resumes", 2),
                _Column("resumes, HADS", "hads", "resumes", 2, False),
            ),
        ),
        _Table(
            "Table VI",
            "Table VI: regular on-demand VMs started, and late days",
            (
                _Column("VMs, Burst", "burst-hads", "on_demand_started", 2),
                _Column("VMs, HADS", "hads", "on_demand_started", 2),
                _Column("late days (%), Burst", "burst-hads", "late_days_percent", 1),
                _Column("late days (%), HADS", "hads", "late_days_percent", 1),
            ),
        ),
        _Table(
            "Table VI",
            "Table VI: cost, and by how much Burst-HADS reduces it",
            (
                _Column("Burst ($)", "burst-hads", "cost_usd", 3),
                _Column("HADS ($)", "hads", "cost_usd", 3),
                _Column("reduction (%)", _BOTH, "cost_reduction_percent", 1),
            ),
        ),
        _Table(
            "Table VI",
            "Table VI: makespan, and by how much Burst-HADS reduces it",
            (
                _Column("Burst (s)", "burst-hads", "makespan_s", 0),
                _Column("HADS (s)", "hads", "makespan_s", 0),
                _Column("reduction (%)", _BOTH, "makespan_reduction_percent", 1),
            ),
        ),
    ),
}

_AVERAGES = {
    "makespan_reduction_percent": "makespan reduction (%)",
    "cost_increase_percent": "cost increase (%)",
    "burst_hads_saving_percent": "saving of Burst-HADS against on-demand (%)",
    "hads_saving_percent": "saving of HADS against on-demand (%)",
}


def print_result(result: PublishedComparisonResult) -> None:
    """Print all tables, then the claims, then why figures may differ."""
    about = result.about
    print(
        f"{result.paper}: {about['runs']} days of each cell, seed {about['seed']}, rate scale {about['rate_scale']:g}; "
        "'paper' is printed, 'ours' the mean ± half of the 95 % interval"
    )
    print()
    _print_plans(result)
    for table in _TABLES[result.paper]:
        print()
        print(table.title)
        _print_table(table, [row for row in result.rows if row.table == table.name])
    averages = [row for row in result.rows if row.table.startswith("averages")]
    if averages:
        print()
        _print_averages(averages)
    print()
    _print_claims(result)
    print()
    for number, note in enumerate(result.notes, start=1):
        print(f"[{number}] {note}")


def _print_plans(result: PublishedComparisonResult) -> None:
    """The plans; for HADS, the printed ones above ours."""
    columns = [
        ("job", False),
        ("plan by", False),
        ("VMs", False),
        ("D_spot (s)", True),
        ("D_spot from", False),
        ("makespan (s)", True),
        ("cost ($)", True),
    ]
    cells: list[list[str]] = []
    for plan in result.plans:
        printed = _printed_vms(result.rows, plan.job)
        if printed:
            cells.append([plan.job, "paper", printed, "", "", "", ""])
        cells.append(_plan_cells(plan))
    print("Plans")
    print_table(make_table(columns, cells))


def _plan_cells(plan: PlanUsed) -> list[str]:
    return [
        plan.job,
        plan.method,
        _vms(plan.vms),
        _UNKNOWN if plan.d_spot_s is None else seconds(plan.d_spot_s),
        plan.d_spot_source,
        seconds(plan.makespan_s),
        f"{plan.cost_usd:.4f}",
    ]


def _vms(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def _printed_vms(rows: Sequence[ComparisonRow], job: str) -> str:
    """VMs that the paper prints, if it does."""
    found = [row for row in rows if row.job == job and row.quantity.startswith("vms_")]
    return _vms({row.quantity.removeprefix("vms_"): int(row.printed or 0) for row in found})


def _print_table(table: _Table, rows: Sequence[ComparisonRow]) -> None:
    from ..benchmarks.published.claims import show

    known = {(row.job, row.scenario, row.policy, row.quantity): row for row in rows}
    keys = list(dict.fromkeys((row.job, row.scenario) for row in rows))
    one_job = len({job for job, _ in keys}) == 1
    columns: list[tuple[str, bool]] = [] if one_job else [("job", False)]
    columns += [("scenario", False)] if table.with_scenario else []
    for column in table.columns:
        if column.printed:
            columns.append((f"{column.heading} paper", True))
        columns.append((f"{column.heading} ours", True))
    cells: list[list[str]] = []
    for number, (job, scenario) in enumerate(keys):
        if table.with_scenario and number and job != keys[number - 1][0]:
            cells.append([])
        line = [] if one_job else [job]
        line += [scenario] if table.with_scenario else []
        for column in table.columns:
            row = known[job, scenario, column.policy, column.quantity]
            if column.printed:
                line.append(_printed(row, column.digits))
            line.append(show(row.ours, column.digits).replace(" ", ""))
        cells.append(line)
    print_table(make_table(columns, cells, tight=True))


def _printed(row: ComparisonRow, digits: int) -> str:
    if row.printed is None:
        return _UNKNOWN
    sign = "" if row.relation == "=" else f"{row.relation} "
    return f"{sign}{row.printed:,.{digits}f}"


def _print_averages(rows: Sequence[ComparisonRow]) -> None:
    from ..benchmarks.published.claims import show

    columns = [("Averages over Table VI", False), ("paper", True), ("paper, from its costs", True), ("ours", True)]
    cells = []
    for quantity, heading in _AVERAGES.items():
        text, table = (row for row in rows if row.quantity == quantity)
        cells.append([heading, _printed(text, 2), _printed(table, 2), show(text.ours, 2)])
    print_table(make_table(columns, cells))


def _print_claims(result: PublishedComparisonResult) -> None:
    """The claims in three columns; the reason of one that does not hold is below its numbers."""
    counts = Counter(claim.verdict for claim in result.claims)
    print("What the paper says: " + ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common()))
    cells = []
    for claim in result.claims:
        ours = claim.ours + (f"\n{claim.reason}" if claim.reason else "")
        cells.append([claim.statement, claim.verdict, ours])
        cells.append([])
    columns = [("the paper says", False), ("on our days it", False), ("our numbers", False)]
    print_table(make_table(columns, cells[:-1]))
