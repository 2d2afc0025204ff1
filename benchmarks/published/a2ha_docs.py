"""The section on A2HA in docs/a2ha.md: ``python -m spotbag.benchmarks.published.a2ha_docs FILE``.

It is written between two marks, or at the end of a file without them; its pictures go beside the file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from .a2ha import NOT_KNOWING, SPEEDUPS, SWEEP, bench_a2ha, sweep_name
from .a2ha_pictures import PICTURES
from .a2ha_runs import RATIOS, A2haOptions
from .comparison_rows import ComparisonRow, PublishedComparisonResult
from .docs_section import (
    Columns,
    claims_table,
    headings,
    markdown_table,
    notes_list,
    table_lines,
    verdicts,
    wrapped,
    write_section,
)
from .pictures import prepare_pictures, write_pictures

BEGIN = "<!-- written by spotbag.benchmarks.published.a2ha_docs -->"
END = "<!-- end of what it writes -->"

_PICTURES = {
    "a2ha-fig-9-image": "Time and hosts of the image job over creationRatio, a line for each increaseRatio",
    "a2ha-fig-12-speedup": "Speedup over the number of hosts in both styles",
    "a2ha-not-knowing": "By how much the heuristic is later and dearer than with known run times",
}

_JOBS = 2

_TABLE_1 = (
    ("charged (h)", "charged_h", 1),
    ("interrupted tasks", "interrupted_tasks", 1),
    ("wasted (min)", "wasted_min", 1),
    ("continued hosts", "continued_hosts", 1),
    ("continued, of the charged (%)", "continued_percent", 1),
)
_TABLE_2 = (
    ("hosts", "hosts", 1),
    ("wall (h)", "wall_h", 2),
    ("speedup", "speedup", 1),
    ("payment (h)", "payment_h", 1),
)
_TABLE_2_SD = tuple((heading, f"{quantity}_sd", digits) for heading, quantity, digits in _TABLE_2)
_TABLE_2_OFF = tuple((heading, f"{quantity}_off_sd", 1) for heading, quantity, _ in _TABLE_2)
_SWEEP = (
    ("wall (h)", "wall_h", 3),
    ("deviation", "wall_h_sd", 3),
    ("hosts", "hosts", 2),
    ("deviation", "hosts_sd", 2),
    ("payment (h)", "payment_h", 2),
)
_SPEEDUPS = (
    ("hosts", "hosts", 1),
    ("speedup", "speedup", 2),
    ("deviation", "speedup_sd", 2),
    ("speedup by hosts (%)", "efficiency_percent", 1),
)
_PRICE = (
    ("payment (h)", "payment_h", 1),
    ("least of any plan (h)", "fewest_h", 1),
    ("dearer by (%)", "payment_above_percent", 1),
    ("hosts", "hosts", 1),
    ("wall (h)", "wall_h", 3),
    ("least for the same payment (h)", "best_wall_h", 3),
    ("later by (%)", "wall_above_percent", 1),
    ("gap (%)", "gap_percent", 2),
)

_INTRODUCTION = """## The paper's tables and figures

```bash
spotbag bench a2ha --jobs 2 --plots pictures     # Tables 1 and 2, Figs 9 to 12, what not knowing costs: some minutes
```

replays the jobs of the paper, `a2ha/image`, `a2ha/synthetic`, `a2ha/test-suite` and `a2ha/long`, each in {runs}
orderings (of the synthetic and the long job, draws of the run times), with the same ones for all settings, and
prints our mean and 95 % interval beside the printed number, then every statement of section 4 with a verdict: a
statement holds, or does not, if the interval says so. `--plots FOLDER` draws the figures, `--out FILE.csv` or
`.json` writes all numbers. Cells are `printed / ours`. *Conservative* is a creationRatio and an increaseRatio of
0.5, *aggressive* of 0.75 (section 4.2)."""

_TABLE_1_TEXT = """### Table 1: hosts that end with their hour

Which ratios it was made with is not said."""

_TABLE_2_TEXT = """### Table 2: long tasks

256 tasks of 1.5 h on average, standard deviation 20 minutes: the only set-up that is fully given but for the ratios.
Lines `no boot` are those of hosts that are ready at once, which the printed lines seem to be (note 3); `all at the
start` has the printed number of hosts from the start on, and predicts nothing: it comes within one printed standard
deviation of every number, which none of the others does. The true optimum is of the first 10 orderings."""

_SWEEP_TEXT = """### Figs 9 to 11: both ratios

{learnt_9}

![{picture_9}](a2ha-fig-9-image.png)

Lines of the table are creationRatio / increaseRatio, deviations are standard deviations; `--out` writes all
21 settings."""

_SPEEDUP_TEXT = """### Fig. 12: speedup and hosts

{learnt_12}

![{picture_12}](a2ha-fig-12-speedup.png)"""

_PRICE_TEXT = """### What not knowing the run times costs

{learnt_price}

![{picture_price}](a2ha-not-knowing.png)

Payment is compared with the least of any plan, which is that of a single host; time with the least of any plan that
pays no more than the heuristic did ([exact.md](exact.md#paid-units-the-least-makespan-within-a-budget)), of the
first 10 orderings. The gap is how much less that could be at most."""

_LEARNT = {
    "learnt_9": (
        "Both ratios buy the same thing: less time for more hosts. For image, from the lowest to the highest "
        "ratios, a sixth of the time goes and a fifth of the hosts comes, but the standard deviation of the hosts "
        "grows fivefold, as then the first tasks alone decide. The synthetic job has 13 hosts whatever the ratios "
        "are; in the test suite, chance (which tasks come first) moves the hosts far more than either ratio."
    ),
    "learnt_12": (
        "The ratios decide how many hosts there are, hardly how well they are used: points of both styles lie on "
        "one curve, the aggressive ones a little higher. It flattens: beyond one and a half times the optimal "
        "number, more hosts are mostly paid for idle time."
    ),
    "learnt_price": (
        "Not knowing costs little where tasks are alike (synthetic) and much where they are not (image, test "
        "suite) or where an hour is short against a task (long). The two styles differ less than the jobs do."
    ),
}


def section(result: PublishedComparisonResult) -> str:
    """Return the section in Markdown."""
    words = {name: wrapped(text) for name, text in _LEARNT.items()}
    words |= dict(zip(("picture_9", "picture_12", "picture_price"), _PICTURES.values(), strict=True))
    parts = [
        BEGIN,
        _INTRODUCTION.format(runs=result.about["runs"]),
        "### What the paper says",
        verdicts(result),
        claims_table(result),
        _TABLE_1_TEXT,
        _table(result, "Table 1", ("job", "ratios"), _TABLE_1, _job_and_policy),
        _TABLE_2_TEXT,
        _table(result, "Table 2", ("line", "ours with"), _TABLE_2, _policy_and_scenario),
        "Standard deviations:",
        _table(result, "Table 2", ("line", "ours with"), _TABLE_2_SD, _policy_and_scenario),
        "Our mean less the printed one, in printed standard deviations; from -1 to 1 is within:",
        _table(result, "Table 2", ("line", "ours with"), _TABLE_2_OFF, _policy_and_scenario),
        _SWEEP_TEXT.format(**words),
        _table(_equal_ratios(result), SWEEP, ("job", "ratios"), _SWEEP, _job_and_scenario),
        _SPEEDUP_TEXT.format(**words),
        _table(result, SPEEDUPS, ("job", "ratios"), _SPEEDUPS, _job_and_policy),
        _PRICE_TEXT.format(**words),
        _table(result, NOT_KNOWING, ("job", "ratios"), _PRICE, _job_and_policy),
        "### Why numbers differ",
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


def _job_and_policy(row: ComparisonRow) -> Sequence[str]:
    return row.job, row.policy


def _job_and_scenario(row: ComparisonRow) -> Sequence[str]:
    return row.job, row.scenario


def _policy_and_scenario(row: ComparisonRow) -> Sequence[str]:
    return row.policy, row.scenario


def _equal_ratios(result: PublishedComparisonResult) -> PublishedComparisonResult:
    """Of the sweeps, only the settings in which both ratios are the same, and above 0."""
    kept = {sweep_name((ratio, ratio)) for ratio in RATIOS if ratio}
    rows = tuple(row for row in result.rows if row.table != SWEEP or row.scenario in kept)
    return replace(result, rows=rows)


def main(arguments: Sequence[str]) -> None:
    """Write the section into the file that is named."""
    path = Path(arguments[0])
    prepare_pictures(str(path.parent))
    result = bench_a2ha(A2haOptions(jobs=_JOBS))
    write_section(path, "A2HA", section(result))
    write_pictures(PICTURES, result.rows, path.parent, tuple(_PICTURES))


if __name__ == "__main__":
    main(sys.argv[1:])
