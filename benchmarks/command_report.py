"""Output of ``spotbag bench``: the tables of a paper with our figures beside the printed ones."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from spotbag.cli.console import WIDTH_ELSEWHERE, print_table, seconds, terminal_width
from spotbag.core.text_tables import Column, Table, number, table_of, words
from spotbag.core.wording import printable, shortened

if TYPE_CHECKING:
    from .paper import Paper
    from .paper_tables import ComparisonRow, PlanUsed, PublishedComparisonResult


_UNBROKEN = "\N{NO-BREAK SPACE}"

_NUMBER, _FIGURES, _MARGINS = 2, 28, 7
"""Columns of a terminal for the parts of a statement on one line, and what is left between them."""


def print_screen(paper: Paper[Any, Any], result: PublishedComparisonResult) -> None:
    """Print the main table, how the statements fare, and which do not hold."""
    from .claims import verdicts_in_words
    from .paper_tables import console_table

    _print_about(paper, result)
    print(paper.tables.headline.title)
    print_table(console_table(paper.tables.headline, result.rows), tight=True)
    print(f"{verdicts_in_words(result.claims)}.")
    width = terminal_width() or WIDTH_ELSEWHERE
    longest = (_NUMBER, max(width - _NUMBER - 2 * _FIGURES - _MARGINS, _FIGURES), _FIGURES, _FIGURES)
    against, undecided = [], []
    for place, claim in enumerate(result.claims, start=1):
        if claim.verdict == "does not hold" and not claim.fitted:
            cells = (str(place), claim.statement, claim.printed or "-", claim.ours)
            against.append([shortened(cell, length) for cell, length in zip(cells, longest, strict=True)])
        elif claim.verdict == "not decided" and not claim.fitted:
            undecided.append(str(place))
    if undecided:
        print(f"Not decided: {', '.join(undecided)}.")
    if against:
        print("Not so on our days:" if result.plans else "Not so in our runs:")
        print_table(
            Table([Column("#", True), *map(Column, ("the paper says", "printed", "ours"))], against), tight=True
        )
    print("--full prints all tables, all statements and the reasons.")


def print_result(paper: Paper[Any, Any], result: PublishedComparisonResult) -> None:
    """Print all tables, then the claims, then why figures may differ."""
    from .claims import verdicts_in_words
    from .paper_tables import claims_table, console_table, findings_table

    _print_about(paper, result)
    if result.plans:
        _print_plans(result)
        print()
    for table in paper.tables.all:
        print(table.title)
        print_table(console_table(table, result.rows), tight=True)
        print()
    if paper.tables.stated is not None:
        print_table(paper.tables.stated.table(result.rows))
        print()
    print(f"What the paper says: {verdicts_in_words(result.claims)}")
    claims = claims_table(result.claims)
    # A verdict of two or three words is read as one: narrow terminals must not break it.
    rows = [[*row[:2], row[2].replace(" ", _UNBROKEN), *row[3:]] for row in claims.rows]
    print_table(Table(claims.columns, rows))
    for place, claim in enumerate(result.claims, start=1):
        if claim.reason:
            _print_filled(f"{place}:", claim.reason)
    print()
    if result.findings:
        print("What else was found")
        print_table(findings_table(result.findings))
        print()
    for place, note in enumerate(result.notes, start=1):
        _print_filled(f"[{place}]", note)


def _print_filled(label: str, text: str) -> None:
    """Print a paragraph as wide as the terminal, behind its number."""
    print(textwrap.fill(f"{label} {printable(text)}", terminal_width() or WIDTH_ELSEWHERE, subsequent_indent="   "))


def _print_about(paper: Paper[Any, Any], result: PublishedComparisonResult) -> None:
    recorded = result.about.get("traces")
    drawn = f"seed {result.about['seed']}" if recorded is None else f"recorded in {recorded}"
    about = f"{result.about['runs']} {paper.runs_are}, {drawn}"
    if "rate_scale" in result.about:
        about += f", rate scale {result.about['rate_scale']:g}"
    print(f"{result.paper}: {about}; 'paper' is printed, 'ours' the mean ± half of the 95 % interval")
    print()


def _print_plans(result: PublishedComparisonResult) -> None:
    """Print the plans; for HADS, the printed ones above ours."""
    rows: list[tuple[PlanUsed, str]] = []
    for plan in result.plans:
        printed = _printed_vms(result.rows, plan.job)
        rows += [(plan, printed), (plan, "")] if printed else [(plan, "")]

    def ours(of: Callable[[PlanUsed], Any]) -> Callable[[tuple[PlanUsed, str]], Any]:
        return lambda row: "" if row[1] else of(row[0])

    table = table_of(
        rows,
        words("job", lambda row: row[0].job),
        words("plan by", lambda row: "paper" if row[1] else row[0].method),
        words("VMs", lambda row: row[1] or _vms(row[0].vms)),
        number("D_spot (s)", ours(lambda plan: None if plan.d_spot_s is None else seconds(plan.d_spot_s))),
        words("D_spot from", ours(lambda plan: plan.d_spot_source)),
        number("makespan (s)", ours(lambda plan: seconds(plan.makespan_s))),
        number("cost ($)", ours(lambda plan: f"{plan.cost_usd:.4f}")),
    )
    print("Plans")
    print_table(table)


def _vms(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def _printed_vms(rows: Sequence[ComparisonRow], job: str) -> str:
    """Return the VMs of a plan as the paper prints them, if it does."""
    found = [row for row in rows if row.job == job and row.quantity.startswith("vms_")]
    return _vms({row.quantity.removeprefix("vms_"): int(row.printed or 0) for row in found})
