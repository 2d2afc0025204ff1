"""The section on A2HA in docs/a2ha.md: ``python -m spotbag.benchmarks.streams.a2ha.docs FILE``.

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
    wrapped,
    write_section,
)
from .pictures import PICTURES
from .rows import BUDGET, NOT_KNOWING, REFERENCES, SPEEDUPS, SWEEP, bench_a2ha, sweep_name
from .runs import RATIOS, A2haOptions

BEGIN = "<!-- written by spotbag.benchmarks.streams.a2ha.docs -->"
END = "<!-- end of what it writes -->"

_PICTURES = {
    "a2ha-fig-9-image": "Time, speedup and hosts of the image job over creationRatio, a line for each increaseRatio",
    "a2ha-fig-12-speedup": "Speedup over the number of hosts in both styles",
    "a2ha-not-knowing": "By how much the heuristic is later and dearer than with known run times",
}

_WORKERS = 2

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
    ("speedup", "speedup", 2),
    ("deviation", "speedup_sd", 2),
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
    ("least for the same time (h)", "least_h", 1),
    ("dearer by (%)", "payment_above_percent", 1),
    ("gap (%)", "payment_gap_percent", 2),
    ("hosts", "hosts", 1),
    ("wall (h)", "wall_h", 3),
    ("least for the same payment (h)", "best_wall_h", 3),
    ("later by (%)", "wall_above_percent", 1),
    ("gap (%)", "gap_percent", 2),
)

_INTRODUCTION = """## The paper's tables and figures

```bash
spotbag bench a2ha --workers 2 --plots pictures     # Tables 1 and 2, Figs 9 to 12, what not knowing costs: some minutes
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
deviation of every number. The other rules for long tasks, `new` (no more new hosts than half of the tasks) and `total`
(no more hosts in all, section 3.6), are of the conservative style; ours is a third reading (note 4). The true optimum
is of the first 10 orderings; where it is not proved, the line says how much better it could be.

{learnt_2}"""

_REFERENCES_TEXT = """### Short tasks: one host for all, and one for each

What Table 2 has for the long job, with 5 minutes to boot:"""

_SWEEP_TEXT = """### Figs 9 to 11: both ratios

{learnt_9}

{learnt_10}

{learnt_11}

![{picture_9}](a2ha-fig-9-image.png)

Lines of the table are creationRatio / increaseRatio, deviations are standard deviations; `--out` writes all
21 settings."""

_SPEEDUP_TEXT = """### Fig. 12: speedup and hosts

{learnt_12}

![{picture_12}](a2ha-fig-12-speedup.png)"""

_BUDGET_TEXT = """### Twice the least payment

A user who will pay twice the least lets hosts work for half of each hour only (section 3.1; `budget_factor`,
conservative style).

{learnt_budget}"""

_PRICE_TEXT = """### What not knowing the run times costs

{learnt_price}

![{picture_price}](a2ha-not-knowing.png)

Of the first 10 orderings. Payment is compared with the least that was found for plans which end as early as the
heuristic did; time with the least of any plan that pays no more than the heuristic did
([exact.md](exact.md#paid-units-the-least-makespan-within-a-budget)). The gaps are how much less either could be at
most. The least of any plan is that of a single host, whose user waits for many hours: how fast to be is a choice, not
the price of not knowing."""

_LEARNT = {
    "learnt_2": (
        "What one learns: more initial hosts are more hosts, and earlier, so that time is bought with payment. Waiting "
        "for predictions costs from 0.2 h (100 initial hosts) to 0.9 h (1, aggressive) against the same hosts from the "
        "start on."
    ),
    "learnt_9": (
        "Fig. 9, image: both ratios buy the same thing, time and speedup for hosts. From 0.25 / 0.25 to 1 / 1, an "
        "eighth of the time goes and a sixth of the hosts comes, but the standard deviation of the hosts grows more "
        "than threefold, as then the first tasks alone decide."
    ),
    "learnt_10": (
        "Fig. 10, synthetic: where tasks are alike, the first ones tell enough. There are 13 hosts whatever the ratios "
        "are, so high ratios are best: they hardly do more than create them earlier."
    ),
    "learnt_11": (
        "Fig. 11, test suite: chance (which tasks come first) moves the hosts of an ordering far more than the ratios "
        "move their mean; high ratios make the dear orderings dearer."
    ),
    "learnt_12": (
        "The first tasks, more than the ratios, decide how many hosts there are, and neither decides how well they are "
        "used: points of both styles lie on one curve, the aggressive ones a little higher. It flattens: beyond one "
        "and a half times the optimal number, more hosts are mostly paid for idle time."
    ),
    "learnt_budget": (
        "It buys time: twice the hosts, for 1.6 to 2.1 times the payment, finish a quarter to two fifths earlier."
    ),
    "learnt_price": (
        "Not knowing costs least where tasks are alike (synthetic). It costs most time where an hour is short against "
        "a task (long), and most money where a few tasks are much longer than the rest (test suite). The two styles "
        "differ less than the jobs do."
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
        _TABLE_2_TEXT.format(**words),
        _table(result, "Table 2", ("line", "ours with"), _TABLE_2, _policy_and_scenario),
        "Standard deviations:",
        _table(result, "Table 2", ("line", "ours with"), _TABLE_2_SD, _policy_and_scenario),
        "Our mean less the printed one, in printed standard deviations; from -1 to 1 is within:",
        _table(result, "Table 2", ("line", "ours with"), _TABLE_2_OFF, _policy_and_scenario),
        _REFERENCES_TEXT,
        _table(result, REFERENCES, ("job", "line"), _TABLE_2, _job_and_policy),
        _SWEEP_TEXT.format(**words),
        _table(_equal_ratios(result), SWEEP, ("job", "ratios"), _SWEEP, _job_and_scenario),
        _SPEEDUP_TEXT.format(**words),
        _table(result, SPEEDUPS, ("job", "ratios"), _SPEEDUPS, _job_and_policy),
        _BUDGET_TEXT.format(**words),
        _table(result, BUDGET, ("job", "budget factor"), _TABLE_2, _job_and_scenario),
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
    retained = {sweep_name((ratio, ratio)) for ratio in RATIOS if ratio}
    rows = tuple(row for row in result.rows if row.table != SWEEP or row.scenario in retained)
    return replace(result, rows=rows)


def main(arguments: Sequence[str]) -> None:
    """Write the section into the file that is named."""
    path = Path(arguments[0])
    prepare_pictures(str(path.parent))
    result = bench_a2ha(A2haOptions(workers=_WORKERS))
    write_section(path, "A2HA", section(result))
    write_pictures(PICTURES, result.rows, path.parent, tuple(_PICTURES))


if __name__ == "__main__":
    main(sys.argv[1:])
