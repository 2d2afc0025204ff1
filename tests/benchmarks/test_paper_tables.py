"""Tables of papers: lines of rows, on the console and in Markdown; pages of the docs."""

from __future__ import annotations

import dataclasses

import pytest

from spotbag.core.statistics import Estimate
from spotbag_papers.page import PAGES, fill, page_texts
from spotbag_papers.paper_tables import (
    ComparisonRow,
    PaperColumn,
    PaperTable,
    PublishedComparisonResult,
    StatedNumbers,
    console_table,
    docs_table,
    markdown_table,
)

COST = PaperColumn("cost ($)", "cost_usd", 2, "mine")
TIME = PaperColumn("time (s)", "time_s", 0, "other", printed=False)
TABLE = PaperTable("T", "A table", [COST, TIME])


def row(
    job: str, scenario: str, policy: str, quantity: str, mean: float, printed: float | None = None
) -> ComparisonRow:
    return ComparisonRow("T", job, scenario, policy, quantity, printed, Estimate(2, mean, 0.5))


ROWS = [
    row("J1", "sc1", "mine", "cost_usd", 1.0, 1.25),
    row("J1", "sc1", "other", "time_s", 1234.0),
    row("J1", "sc2", "mine", "cost_usd", 2.0, 2.25),
    row("J2", "sc1", "mine", "cost_usd", 3.0),
    row("J2", "sc1", "third", "cost_usd", 9.0),
    row("J2", "sc2", "third", "cost_usd", 9.0),
]


def test_the_console_has_columns_for_both_and_divides_jobs() -> None:
    table = console_table(TABLE, ROWS)
    assert [column.heading for column in table.columns] == [
        "job",
        "scenario",
        "cost ($) paper",
        "cost ($) ours",
        "time (s) ours",
    ]
    assert table.rows == [
        ["J1", "sc1", "1.25", "1.00±0.50", "1,234±0"],
        ["J1", "sc2", "2.25", "2.00±0.50", "-"],
        [],
        ["J2", "sc1", "-", "3.00±0.50", "-"],
        ["J2", "sc2", "-", "-", "-"],
    ]


def test_headings_do_not_say_ours_where_nothing_is_printed() -> None:
    columns = [dataclasses.replace(column, printed=False) for column in TABLE.columns]
    unprinted = dataclasses.replace(TABLE, columns=columns)
    headings = [column.heading for column in console_table(unprinted, ROWS).columns]
    assert headings == ["job", "scenario", "cost ($)", "time (s)"]


def test_the_console_leaves_out_what_is_the_same_in_all_lines() -> None:
    table = console_table(TABLE, ROWS[:3])
    assert [line[0] for line in table.rows] == ["sc1", "sc2"]
    assert [line[:2] for line in console_table(TABLE, ROWS[:1]).rows] == [["J1", "sc1"]]


def test_the_docs_have_both_in_a_cell_and_no_line_without_numbers() -> None:
    assert markdown_table(docs_table(TABLE, ROWS)).splitlines() == [
        "| job | scenario | cost ($) | time (s) |",
        "|---|---|---:|---:|",
        "| J1 | sc1 | 1.25 / 1.00 ± 0.50 | 1,234 ± 0 |",
        "| J1 | sc2 | 2.25 / 2.00 ± 0.50 | - |",
        "| J2 | sc1 | 3.00 ± 0.50 | - |",
    ]


def test_stated_numbers_stand_beside_those_that_follow_from_a_table() -> None:
    rows = [
        ComparisonRow("stated", "", "", "p", "times", 700.0, Estimate(2, 8.0, 1.0), ">"),
        ComparisonRow("follows", "", "", "p", "times", 183.52, Estimate(2, 8.0, 1.0)),
    ]
    stated = StatedNumbers("Ratios", "stated", "follows", "Table 3", 1, 0, {"times": "{policy}: times"})
    assert stated.table(rows).rows == [["p: times", "> 700", "183.5", "8.0 ± 1.0"]]


# ---------------------------------------------------------------------------- pages of the docs


def test_a_paragraph_is_broken_into_lines() -> None:
    filled = fill("- word\n  " + "word " * 40, "  ")
    assert [len(line) <= 120 for line in filled.splitlines()] == [True, True]
    assert filled.splitlines()[1].startswith("  word")


def test_a_template_needs_all_that_it_names() -> None:
    from jinja2 import UndefinedError

    page = PAGES["caron"]
    result = PublishedComparisonResult("P", {"runs": 2, "numbers": [5]}, (), (), ())
    bare = dataclasses.replace(page, paper=dataclasses.replace(page.paper, facts=lambda results: {}))
    with pytest.raises(UndefinedError, match="is undefined"):
        page_texts(bare, {setting.name: result for setting in page.paper.replays(page.options)})
