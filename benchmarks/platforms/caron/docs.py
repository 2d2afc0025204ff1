"""The section on Caron & de Assuncao in docs/caron.md: ``python -m spotbag.benchmarks.platforms.caron.docs FILE``.

It is written between two marks, or at the end of a file without them; its pictures go beside the file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ...paper import ComparisonRow, PublishedComparisonResult
from ...paper_pictures import prepare_pictures, write_pictures
from ...paper_tables import (
    Columns,
    claims_table,
    headings,
    markdown_table,
    notes_list,
    table_lines,
    verdicts,
    write_section,
)
from .pictures import PICTURES
from .rows import FIGURES, GAPS, GRID, OTHER_RULES, TREES, WHERE, bench_caron
from .runs import CaronOptions

BEGIN = "<!-- written by spotbag.benchmarks.platforms.caron.docs -->"
END = "<!-- end of what it writes -->"

_PICTURES = {
    "caron-mixed": "Total cost, execution time and delay of mixed jobs over their number, a line for each policy",
    "caron-small": "The same of small jobs",
    "caron-big": "The same of big jobs",
    "caron-grid": "Whether each policy is below round robin, for cluster sizes, numbers of jobs and budgets",
    "caron-frontier": "Cost against delay: a line that no schedule gets below, and the policies above it",
    "caron-trees": "Messages over the most children of an agent: in all, of the busiest agent, one after another",
}

_WORKERS = 2

_FIGURES = (
    ("cost", "cost", 0),
    ("execution time (h)", "execution_time_h", 1),
    ("delay (h)", "delay_h", 2),
    ("late jobs", "late_jobs", 1),
    ("jobs over budget", "overspent_jobs", 1),
    ("by", "overspend", 0),
)
_WHERE = (
    ("dedicated (%)", "dedicated_percent", 1),
    ("allocated (%)", "allocated_percent", 1),
    ("cloud (%)", "cloud_percent", 1),
    ("paid in the cloud and used (%)", "cloud_use_percent", 1),
    ("displaced", "displaced", 1),
)
_GRID = (
    ("holds", "holds", 0),
    ("does not hold", "does_not_hold", 0),
    ("not decided", "not_decided", 0),
    ("alike", "alike", 0),
)
_GAPS = (
    ("delay (h)", "delay_h", 2),
    ("cost", "cost", 0),
    ("least cost", "least_cost", 0),
    ("gap (%)", "cost_gap_percent", 1),
)
_RULES = (
    *_FIGURES[:3],
    ("paid in the cloud and used (%)", "cloud_use_percent", 1),
    ("displaced", "displaced", 1),
)
_TREES = (
    ("agents", "agents", 0),
    ("levels m", "depth", 0),
    ("mn", "mn", 0),
    ("messages", "sent", 1),
    ("offers compared", "comparisons", 1),
    ("of the busiest agent", "busiest", 0),
    ("one after another", "path", 0),
    ("placed alike (%)", "same_percent", 0),
)

_INTRODUCTION = """## The paper's figures

```bash
spotbag bench caron --workers 2 --plots pictures     # Figs 2 to 7, and what is not printed: about two minutes
```

draws each set of jobs {runs} times, the same for all policies, replays it on `caron/hybrid`, and judges every
statement of sections V and VI. A statement holds, or does not, if the 95 % interval of the difference says so, draw by
draw; where two policies come to the same in every draw, there is nothing to judge. `--number` sets the numbers of jobs,
`--plots FOLDER` draws the figures, `--out FILE.csv` or `.json` writes all numbers. The paper's own figures are lost,
and no table repeats them: nothing is printed beside our numbers."""

_GRID_TEXT = """### What is not printed

Cluster sizes, numbers of jobs and budgets are not printed, so a statement may hold in some settings and not in others.
Each one is judged in 24 settings a set (10 draws): 16, 64, 256 or 1024 processors in each cluster, 50 or 200 jobs,
budgets from 0.5 to 2, 1 to 4 or 4 to 16 units for a processor-minute."""

_WHERE_TEXT = """### Where the work is done

In percent of all processor-minutes, for the largest set; *displaced* are jobs that were pushed out of a queue."""

_GAPS_TEXT = """### What could be saved

The least cost of any schedule with no more delay, also of one that knows all jobs beforehand
([bounds](platforms.md#what-no-policy-can-beat)), of the first 4 draws. A gap is what could be saved at most."""

_FRONTIER_TEXT = """Of one draw, the least delay for a cost; right of the last step, the bound says nothing:"""

_RULES_TEXT = """### Other rules

[Rules](platforms.md#policies) of the local schedulers that are not the paper's, for the largest set."""

_TREES_TEXT = """### Trees of agents

The same jobs on the same resources, a third of each kind, below balanced trees in which no agent has more than so many
children. Messages and offers are those of a placement, by policy A; *one after another* counts the answers that
agents handle on the longest way from a resource to the root."""


def section(result: PublishedComparisonResult) -> str:
    """Return the section in Markdown."""
    pictures = {name: f"![{text}]({name}.png)" for name, text in _PICTURES.items()}
    parts = [
        BEGIN,
        _INTRODUCTION.format(runs=result.about["runs"]),
        "### What the paper says",
        verdicts(result) + ". Why is in the [notes](#why-it-is-so).",
        claims_table(result),
        *(pictures[f"caron-{kind}"] for kind in ("mixed", "small", "big")),
        _table(result, FIGURES, ("jobs", "policy"), _FIGURES, _set_and_policy),
        _GRID_TEXT,
        pictures["caron-grid"],
        _table(result, GRID, ("jobs", "policy", "statement"), _GRID, _statement),
        _WHERE_TEXT,
        _table(_of_the_largest(result), WHERE, ("jobs", "policy"), _WHERE, _set_and_policy),
        _GAPS_TEXT,
        _table(result, GAPS, ("jobs", "policy"), _GAPS, _set_and_policy),
        _FRONTIER_TEXT,
        pictures["caron-frontier"],
        _RULES_TEXT,
        _table(_of_the_largest(result), OTHER_RULES, ("jobs", "policy"), _RULES, _set_and_policy),
        _TREES_TEXT,
        _table(result, TREES, ("resources", "most children n"), _TREES, _tree),
        pictures["caron-trees"],
        "### Why it is so",
        notes_list(result),
        END,
    ]
    return "\n\n".join(parts) + "\n"


def _table(
    result: PublishedComparisonResult,
    table: str,
    lead_names: Sequence[str],
    columns: Columns,
    lead: Callable[[ComparisonRow], Sequence[str]],
) -> str:
    lines = table_lines(result, table, columns, lead)
    return markdown_table((*lead_names, *headings(columns)), lines, words=len(lead_names))


def _set_and_policy(row: ComparisonRow) -> Sequence[str]:
    return row.scenario.replace("jobs", f"{row.job} jobs"), row.policy


def _statement(row: ComparisonRow) -> Sequence[str]:
    return row.job, row.policy, row.scenario.replace("_h", "").replace("_", " ")


def _tree(row: ComparisonRow) -> Sequence[str]:
    return row.job.split()[0], row.scenario.split()[0]


def _of_the_largest(result: PublishedComparisonResult) -> PublishedComparisonResult:
    """Only the rows of the largest sets."""
    most = max(result.about["numbers"])
    return replace(result, rows=tuple(row for row in result.rows if row.scenario == f"{most} jobs"))


def main(arguments: Sequence[str]) -> None:
    """Write the section into the file that is named."""
    path = Path(arguments[0])
    prepare_pictures(str(path.parent))
    result = bench_caron(CaronOptions(workers=_WORKERS))
    write_section(path, "Caron & de Assuncao", section(result))
    write_pictures(PICTURES, result.rows, path.parent, tuple(_PICTURES))


if __name__ == "__main__":
    main(sys.argv[1:])
