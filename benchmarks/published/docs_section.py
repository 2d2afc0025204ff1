"""What the sections on papers in the docs share: marks, tables, wrapped lists."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from ...core.text_files import write_text
from .claims import show, verdicts_in_words
from .comparison_rows import ComparisonRow, PublishedComparisonResult

Columns: TypeAlias = Sequence[tuple[str, str, int]]
"""Heading, quantity and decimals of each column."""

_WIDTH = 120


def with_section(text: str, new: str) -> str:
    """Return a text with a new section in place of the old one, or at its end.

    The first and the last line of the section are the marks by which the old one is found.
    """
    lines = new.strip().splitlines()
    begin, end = lines[0], lines[-1]
    if begin not in text or end not in text:
        return f"{text.rstrip()}\n\n{new}" if text.strip() else new
    before, rest = text.split(begin, 1)
    return before + new.rstrip() + rest.split(end, 1)[1]


def write_section(path: Path, title: str, new: str) -> None:
    """Write a section into a file; one that does not exist begins with a title."""
    old = path.read_text(encoding="utf-8") if path.exists() else f"# {title}\n"
    write_text(path, with_section(old, new))


def verdicts(result: PublishedComparisonResult) -> str:
    """How many statements of the paper hold."""
    return f"Of {len(result.claims)} statements, {verdicts_in_words(result.claims)}"


def claims_table(result: PublishedComparisonResult) -> str:
    """All statements of the paper with their verdicts."""
    rows = ((claim.statement, claim.verdict, claim.ours, claim.reason) for claim in result.claims)
    return markdown_table(("the paper says", "in our runs it", "our numbers", "why"), rows, words=4)


def notes_list(result: PublishedComparisonResult) -> str:
    """All notes, numbered."""
    return "\n".join(wrapped(f"{number}. {note}", "   ") for number, note in enumerate(result.notes, start=1))


def wrapped(text: str, indent: str = "") -> str:
    """Break a text into lines; all but the first begin with an indent."""
    return textwrap.fill(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def headings(columns: Columns) -> Iterator[str]:
    """Headings of columns."""
    return (heading for heading, _, _ in columns)


def table_lines(
    result: PublishedComparisonResult, table: str, columns: Columns, lead: Callable[[ComparisonRow], Sequence[str]]
) -> Iterator[Sequence[str]]:
    """Lines of a table: ``printed / ours``, or ours alone where nothing is printed.

    Parameters
    ----------
    result : PublishedComparisonResult
        All rows.
    table : str
        Which of them.
    columns : sequence of (str, str, int)
        The quantities.
    lead : callable
        What a line begins with; rows with the same make a line.
    """
    found: dict[Sequence[str], dict[str, ComparisonRow]] = {}
    for row in result.rows:
        if row.table == table:
            found.setdefault(lead(row), {})[row.quantity] = row
    for words, rows in found.items():
        if any(quantity in rows for _, quantity, _ in columns):
            yield *words, *(_cell(rows.get(quantity), digits) for _, quantity, digits in columns)


def _cell(row: ComparisonRow | None, digits: int) -> str:
    if row is None:
        return "-"
    ours = show(row.ours, digits)
    return ours if row.printed is None else f"{printed_text(row, digits)} / {ours}"


def printed_text(row: ComparisonRow, digits: int) -> str:
    """What the paper prints."""
    if row.printed is None:
        return "-"
    return ("" if row.relation == "=" else f"{row.relation} ") + f"{row.printed:,.{digits}f}"


def markdown_table(names: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """Return a table; columns after the first so many are numbers."""
    rule = "|" + "|".join(["---"] * words + ["---:"] * (len(names) - words)) + "|"
    return "\n".join([_line(names), rule, *map(_line, rows)])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
