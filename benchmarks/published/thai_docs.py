"""The section on Thai et al. in docs/job_streams.md: ``python -m spotbag.benchmarks.published.thai_docs FILE``.

It is written between two marks, or at the end of a file without them; its pictures go beside the file.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ...instances.text_files import write_text
from .claims import show, verdicts_in_words
from .comparison_rows import ComparisonRow, PublishedComparisonResult
from .thai import FROM_TABLE_3, TEXT, bench_thai
from .thai_pictures import prepare_pictures, write_thai_pictures
from .thai_runs import ThaiOptions

BEGIN = "<!-- written by spotbag.benchmarks.published.thai_docs -->"
END = "<!-- end of what it writes -->"

_PICTURES = {
    "thai-fig-2-cost-and-late-tasks": "Cost and late tasks of each approach, ours and printed",
    "thai-fig-4-blocks": "Paid blocks of each approach by VM type",
    "thai-sampling": "Cost, late tasks, violation cost and excluded types over the length of the sampling phase",
}

_JOBS = 2
_WIDTH = 120

_TABLE_3 = (
    ("cost ($)", "cost_usd", 3),
    ("late tasks", "late_tasks", 1),
    ("violation cost ($)", "violation_cost_usd", 4),
)
_FIG_4 = tuple((name, f"blocks_{name}", 1) for name in ("m3.medium", "m3.large", "m3.xlarge"))
_FIG_5 = (("idle (s)", "idle_s", 0), ("late (s)", "late_s", 0))
_VARIANTS = (*_TABLE_3, ("idle (s)", "idle_s", 0))
_SAMPLING = (
    *_VARIANTS,
    ("excluded pairs, of 9", "excluded_types", 2),
    ("learnt times off by (%)", "error_percent", 1),
)
_RATIOS = {
    "cost_usd_percent_more": "cost above (%)",
    "late_tasks_percent_more": "late tasks above (%)",
    "violation_cost_usd_percent_more": "violation cost above (%)",
    "late_tasks_times": "late tasks, times",
    "violation_cost_usd_times": "violation cost, times",
}

_Columns = Sequence[tuple[str, str, int]]

_INTRODUCTION = """## Thai et al., beside the printed figures

```bash
spotbag bench thai --jobs 2 --plots pictures    # Table 3, Figs 2 to 5 and a sweep of the sampling phase: a minute
```

replays `thai/table2`, the six jobs of the paper, under its eight approaches, all with the same draws of the run times,
and prints our mean and 95 % interval beside the printed number (mean of five runs), then every statement of section
6.3 with a verdict. Approaches are compared run by run; a statement holds, or does not, if the 95 % interval says so.
`--plots FOLDER` draws the figures, `--out FILE.csv` or `.json` writes all numbers. {runs} draws here; cells are
`printed / ours`. Violation costs (eq. 7 and 8) are those of the mean cost and the mean number of late tasks, also the
printed ones, as Fig. 3 is lost."""

_VARIANTS_TEXT = """`-paid-blocks` keeps to the letter of section 3.2: existing VMs get tasks of a new job only within
blocks that are paid anyhow. `unknown-learning` is ours: it does the same, and lets every finished task count, not only
the samples. It is cheaper than `unknown` and late less often than `known`, without
knowing any run time."""

_SWEEP = """The paper leaves this for later (section 4.1). A pair of application and VM type without a finished sample
is excluded: the type is not used for the application."""


def section(result: PublishedComparisonResult) -> str:
    """Return the section in Markdown."""
    pictures = iter(f"![{text}]({name}.png)" for name, text in _PICTURES.items())
    parts = [
        BEGIN,
        _INTRODUCTION.format(runs=result.about["runs"]),
        _markdown(("approach", *_headings(_TABLE_3)), _by_policy(result, "Table 3", _TABLE_3)),
        next(pictures),
        "### What the paper says",
        f"Of {len(result.claims)} statements, {verdicts_in_words(result.claims)}",
        _markdown(("the paper says", "in our runs it", "our numbers", "why"), _claims(result), words=4),
        _markdown(("against one another", "text", "Table 3", "ours"), _ratios(result)),
        "### Blocks, and mis-utilisation",
        _markdown(("approach", *_headings(_FIG_4)), _by_policy(result, "Fig. 4", _FIG_4)),
        next(pictures),
        _markdown(("approach", *_headings(_FIG_5)), _by_policy(result, "Fig. 5", _FIG_5)),
        "### Another reading, and what can be had",
        _VARIANTS_TEXT,
        _markdown(("", *_headings(_VARIANTS)), _by_policy(result, "variants", _VARIANTS)),
        "### How long to sample",
        _SWEEP,
        _markdown(("", *_headings(_SAMPLING)), _by_policy(result, "sampling", _SAMPLING)),
        next(pictures),
        "### Why numbers differ",
        "\n".join(_wrapped(f"{number}. {note}") for number, note in enumerate(result.notes, start=1)),
        END,
    ]
    return "\n\n".join(parts) + "\n"


def with_section(text: str, new: str) -> str:
    """Return a text with a new section in place of the old one, or at its end."""
    if BEGIN not in text or END not in text:
        return f"{text.rstrip()}\n\n{new}" if text.strip() else new
    before, rest = text.split(BEGIN, 1)
    return before + new.rstrip() + rest.split(END, 1)[1]


def _headings(columns: _Columns) -> Iterator[str]:
    return (heading for heading, _, _ in columns)


def _by_policy(result: PublishedComparisonResult, table: str, columns: _Columns) -> Iterator[Sequence[str]]:
    """Rows of a table: ``printed / ours``, or ours alone where nothing is printed."""
    found: dict[tuple[str, str], dict[str, ComparisonRow]] = {}
    for row in result.rows:
        if row.table == table:
            found.setdefault((row.policy, row.scenario), {})[row.quantity] = row
    for (policy, scenario), rows in found.items():
        name = f"{policy}, {scenario}" if scenario else policy
        yield name, *(_cell(rows.get(quantity), digits) for _, quantity, digits in columns)


def _cell(row: ComparisonRow | None, digits: int) -> str:
    if row is None:
        return "-"
    ours = show(row.ours, digits)
    return ours if row.printed is None else f"{_printed(row, digits)} / {ours}"


def _printed(row: ComparisonRow, digits: int) -> str:
    if row.printed is None:
        return "-"
    return ("" if row.relation == "=" else f"{row.relation} ") + f"{row.printed:,.{digits}f}"


def _claims(result: PublishedComparisonResult) -> Iterator[Sequence[str]]:
    return ((claim.statement, claim.verdict, claim.ours, claim.reason) for claim in result.claims)


def _ratios(result: PublishedComparisonResult) -> Iterator[Sequence[str]]:
    tables = {(row.policy, row.quantity): row for row in result.rows if row.table == FROM_TABLE_3}
    for row in result.rows:
        if row.table == TEXT:
            computed = tables[row.policy, row.quantity]
            yield f"{row.policy}: {_RATIOS[row.quantity]}", _printed(row, 0), _printed(computed, 1), show(row.ours, 1)


def _markdown(headings: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """Return a table; columns after the first so many are numbers."""
    rule = "|" + "|".join(["---"] * words + ["---:"] * (len(headings) - words)) + "|"
    return "\n".join([_line(headings), rule, *map(_line, rows)])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _wrapped(item: str) -> str:
    return textwrap.fill(item, _WIDTH, subsequent_indent="   ", break_long_words=False, break_on_hyphens=False)


def main(arguments: Sequence[str]) -> None:
    """Write the section into the file that is named."""
    path = Path(arguments[0])
    prepare_pictures(str(path.parent))
    result = bench_thai(ThaiOptions(jobs=_JOBS))
    old = path.read_text(encoding="utf-8") if path.exists() else "# Job streams\n"
    write_text(path, with_section(old, section(result)))
    write_thai_pictures(result.rows, path.parent, tuple(_PICTURES))


if __name__ == "__main__":
    main(sys.argv[1:])
