"""What ``spotbag bench`` prints: the tables of a paper with our figures beside the printed ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..benchmarks.paper_tables import RATIOS, TABLES
from ..benchmarks.paper_tables import Table as PaperTable
from ..core.tables import Column, Table
from .tables import print_table, seconds

if TYPE_CHECKING:
    from ..benchmarks.paper import ComparisonRow, PlanUsed, PublishedComparisonResult

_UNKNOWN = "-"


def print_result(result: PublishedComparisonResult) -> None:
    """Print all tables, then the claims, then why figures may differ."""
    print(f"{result.paper}: {_about(result)}; 'paper' is printed, 'ours' the mean ± half of the 95 % interval")
    print()
    if result.plans:
        _print_plans(result)
        print()
    for table in TABLES[result.paper]:
        print(table.title)
        _print_table(table, [row for row in result.rows if row.table == table.name])
        print()
    for name in RATIOS:
        rows = [row for row in result.rows if row.table.startswith(f"{name},")]
        if rows:
            _print_ratios(name, rows)
            print()
    _print_claims(result)
    print()
    for number, note in enumerate(result.notes, start=1):
        print(f"[{number}] {note}")


def _about(result: PublishedComparisonResult) -> str:
    about = result.about
    if "rate_scale" in about:
        return f"{about['runs']} days of each cell, seed {about['seed']}, rate scale {about['rate_scale']:g}"
    what = "draws of the run times"
    if "optimum_s" in about:
        what = "orderings of the tasks"
    elif "numbers" in about:
        what = "draws of each set of jobs"
    return f"{about['runs']} {what}, seed {about['seed']}"


def _print_plans(result: PublishedComparisonResult) -> None:
    """The plans; for HADS, the printed ones above ours."""
    columns = [
        Column("job"),
        Column("plan by"),
        Column("VMs"),
        Column("D_spot (s)", True),
        Column("D_spot from"),
        Column("makespan (s)", True),
        Column("cost ($)", True),
    ]
    cells: list[list[str]] = []
    for plan in result.plans:
        printed = _printed_vms(result.rows, plan.job)
        if printed:
            cells.append([plan.job, "paper", printed, "", "", "", ""])
        cells.append(_plan_cells(plan))
    print("Plans")
    print_table(Table(columns, cells))


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


def _print_table(table: PaperTable, rows: Sequence[ComparisonRow]) -> None:
    from ..benchmarks.claims import show

    known = {(row.job, row.scenario, row.policy, row.quantity): row for row in rows}
    # Rows that are not told apart by the policy have a column for each.
    keys = list(dict.fromkeys((row.job, row.scenario, row.policy if "policy" in table.leads else "") for row in rows))
    one_job = len({job for job, _, _ in keys}) == 1
    leads = [lead for lead in table.leads if lead != "job" or not one_job]
    columns = [Column(lead) for lead in leads]
    for column in table.columns:
        if column.printed:
            columns.append(Column(f"{column.heading} paper", True))
        columns.append(Column(f"{column.heading} ours", True))
    cells: list[list[str]] = []
    for number, (job, scenario, policy) in enumerate(keys):
        if number and job != keys[number - 1][0] and len(leads) > 1:
            cells.append([])
        line = [{"job": job, "scenario": scenario, "policy": policy}[lead] for lead in leads]
        for column in table.columns:
            row = known.get((job, scenario, policy or column.policy, column.quantity))
            if column.printed:
                line.append(_UNKNOWN if row is None else _printed(row, column.digits))
            line.append(_UNKNOWN if row is None else show(row.ours, column.digits).replace(" ", ""))
        cells.append(line)
    print_table(Table(columns, cells), tight=True)


def _printed(row: ComparisonRow, digits: int) -> str:
    if row.printed is None:
        return _UNKNOWN
    sign = "" if row.relation == "=" else f"{row.relation} "
    return f"{sign}{row.printed:,.{digits}f}"


def _print_ratios(name: str, rows: Sequence[ComparisonRow]) -> None:
    """Numbers that the paper states, beside what its table gives and ours."""
    from ..benchmarks.claims import show

    title, follows, digits, wording = RATIOS[name]
    columns = [Column(title), Column("paper", True), Column(follows, True), Column("ours", True)]
    cells = []
    for policy, quantity in dict.fromkeys((row.policy, row.quantity) for row in rows):
        text, table = (row for row in rows if (row.policy, row.quantity) == (policy, quantity))
        heading = wording[quantity].format(policy=policy)
        cells.append([heading, _printed(text, digits), _printed(table, digits), show(text.ours, digits)])
    print_table(Table(columns, cells))


def _print_claims(result: PublishedComparisonResult) -> None:
    """The claims in three columns; the reason of one that does not hold is below its numbers."""
    from ..benchmarks.claims import verdicts_in_words

    print(f"What the paper says: {verdicts_in_words(result.claims)}")
    cells = []
    for claim in result.claims:
        ours = claim.ours + (f"\n{claim.reason}" if claim.reason else "")
        cells.append([claim.statement, claim.verdict, ours])
        cells.append([])
    days = "on our days it" if result.plans else "in our runs it"
    columns = [Column("the paper says"), Column(days), Column("our numbers")]
    print_table(Table(columns, cells[:-1]))
