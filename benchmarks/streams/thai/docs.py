"""The section on Thai et al. in docs/streams.md: ``python -m spotbag.benchmarks.streams.thai.docs FILE``.

It is written between two marks, or at the end of a file without them; its pictures go beside the file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...claims import show
from ...paper import ComparisonRow, PublishedComparisonResult
from ...paper_pictures import prepare_pictures, write_pictures
from ...paper_tables import (
    Columns,
    claims_table,
    headings,
    markdown_table,
    notes_list,
    printed_text,
    table_lines,
    verdicts,
    write_section,
)
from .pictures import PICTURES
from .rows import FROM_TABLE_3, TEXT, bench_thai
from .runs import ThaiOptions

BEGIN = "<!-- written by spotbag.benchmarks.streams.thai.docs -->"
END = "<!-- end of what it writes -->"

_PICTURES = {
    "thai-fig-2-cost-and-late-tasks": "Cost and late tasks of each approach, ours and printed",
    "thai-fig-4-blocks": "Paid blocks of each approach by VM type",
    "thai-sampling": "Cost, late tasks, violation cost and excluded types over the length of the sampling phase",
}

_WORKERS = 2

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

_INTRODUCTION = """## Thai et al., beside the printed figures

```bash
spotbag bench thai --workers 2 --plots pictures    # Table 3, Figs 2 to 5 and a sweep of the sampling phase: a minute
```

replays `thai/table2`, the six jobs of the paper, under its eight approaches, all with the same draws of the run times,
and prints our mean and 95 % interval beside the printed number (mean of five runs), then 18 statements of section
6.3 with a verdict. Approaches are compared run by run; a statement holds, or does not, if the 95 % interval says so.
`--plots FOLDER` draws the figures, `--out FILE.csv` or `.json` writes all numbers. {runs} draws here; cells are
`printed / ours`. Violation costs (eq. 7 and 8) are those of the mean cost and the mean number of late tasks, also the
printed ones, as Fig. 3 is lost."""

_VARIANTS_TEXT = """`-paid-blocks` keeps to the letter of section 3.2: existing VMs get tasks of a new job only within
blocks that are paid anyhow. `unknown-learning` is ours: as `unknown-paid-blocks`, but every finished task counts, not
only the samples."""

_SWEEP = """The paper leaves this for later (section 4.1). A pair of application and VM type without a finished sample
is excluded: the type is not used for the application."""


def section(result: PublishedComparisonResult) -> str:
    """Return the section in Markdown."""
    pictures = iter(f"![{text}]({name}.png)" for name, text in _PICTURES.items())
    parts = [
        BEGIN,
        _INTRODUCTION.format(runs=result.about["runs"]),
        markdown_table(("approach", *headings(_TABLE_3)), _by_policy(result, "Table 3", _TABLE_3)),
        next(pictures),
        "### What the paper says",
        verdicts(result),
        claims_table(result),
        markdown_table(("against one another", "text", "Table 3", "ours"), _ratios(result)),
        "### Blocks, and mis-utilisation",
        markdown_table(("approach", *headings(_FIG_4)), _by_policy(result, "Fig. 4", _FIG_4)),
        next(pictures),
        markdown_table(("approach", *headings(_FIG_5)), _by_policy(result, "Fig. 5", _FIG_5)),
        "### Another reading, and what can be had",
        _VARIANTS_TEXT,
        markdown_table(("", *headings(_VARIANTS)), _by_policy(result, "variants", _VARIANTS)),
        "### How long to sample",
        _SWEEP,
        markdown_table(("", *headings(_SAMPLING)), _by_policy(result, "sampling", _SAMPLING)),
        next(pictures),
        "### Why numbers differ",
        notes_list(result),
        END,
    ]
    return "\n\n".join(parts) + "\n"


def _by_policy(result: PublishedComparisonResult, table: str, columns: Columns) -> Iterator[Sequence[str]]:
    return table_lines(result, table, columns, _name)


def _name(row: ComparisonRow) -> Sequence[str]:
    return (f"{row.policy}, {row.scenario}" if row.scenario else row.policy,)


def _ratios(result: PublishedComparisonResult) -> Iterator[Sequence[str]]:
    tables = {(row.policy, row.quantity): row for row in result.rows if row.table == FROM_TABLE_3}
    for row in result.rows:
        if row.table == TEXT:
            computed = tables[row.policy, row.quantity]
            yield (
                f"{row.policy}: {_RATIOS[row.quantity]}",
                printed_text(row, 0),
                printed_text(computed, 1),
                show(row.ours, 1),
            )


def main(arguments: Sequence[str]) -> None:
    """Write the section into the file that is named."""
    path = Path(arguments[0])
    prepare_pictures(str(path.parent))
    result = bench_thai(ThaiOptions(workers=_WORKERS))
    write_section(path, "Streams", section(result))
    write_pictures(PICTURES, result.rows, path.parent, tuple(_PICTURES))


if __name__ == "__main__":
    main(sys.argv[1:])
