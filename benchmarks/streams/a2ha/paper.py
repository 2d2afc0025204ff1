"""The paper on A2HA: Silva, Veiga and Ferreira, 2011."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ...paper import Change, Paper, Sensitivity, Setting, changed
from ...paper_result import PublishedComparisonResult
from .claims import a2ha_claims
from .findings import a2ha_findings
from .notes import a2ha_notes
from .pictures import PICTURES
from .printed import a2ha_figures
from .runs import A2haRuns, a2ha_runs, n_a2ha_runs
from .settings import LONG_JOB, A2haOptions
from .tables import BOOTING, OPTIMAL_HOSTS, TABLES, a2ha_rows

_RUNS = 40
"""Orderings for each setting of the table of sensitivity, which are nine."""

_Number = Callable[[PublishedComparisonResult], str]


def _short(table: str, quantity: str, job: str) -> _Number:
    return lambda result: f"{result.mean(table, quantity, job, '', result.about['style']):.1f}"


def _long(initial: int, quantity: str, digits: int) -> _Number:
    def number(result: PublishedComparisonResult) -> str:
        scenario = f"{result.about['style']}, {BOOTING}"
        return f"{result.mean('Table 2', quantity, LONG_JOB, scenario, f'{initial} initial'):.{digits}f}"

    return number


def _settings(options: A2haOptions) -> Sequence[Setting[A2haOptions]]:
    changes: list[Change] = [
        ("time to boot", "none", {"boot_s": 0}),
        ("work expected of a new host", "60 min", {"host_processing_time_s": 3600}),
        ("rounding of hosts to create", "to the nearest", {"rounding": "nearest"}),
        ("rule for long tasks", "`new`", {"long_tasks": "new"}),
        ("rule for long tasks", "`total`", {"long_tasks": "total"}),
        ("ratios where none are printed", "0.75 and 0.75", {"style": "aggressive"}),
        ("run times of image", "gamma distribution", {"image_shape": "gamma"}),
        ("mean of the test suite", "63.5 s", {"suite_mean_s": 63.5}),
        ("orderings", "others", {"seed": options.seed + options.runs}),
    ]
    return changed(replace(options, optimum_runs=min(2, options.optimum_runs)), _RUNS, changes)


A2HA: Paper[A2haOptions, A2haRuns] = Paper(
    name="A2HA",
    runs_are="orderings of the tasks",
    n_runs=n_a2ha_runs,
    replay=lambda options, on_runs: a2ha_runs(a2ha_figures().long_cases, options, on_runs),
    rows=a2ha_rows,
    claims=a2ha_claims,
    notes=a2ha_notes,
    tables=TABLES,
    headline=TABLES[0],
    findings=a2ha_findings,
    sensitivity=Sensitivity(
        {
            "image: hosts": _short(OPTIMAL_HOSTS, "hosts", "image"),
            "image: paid (h)": _short("Table 1", "charged_h", "image"),
            "test suite: hosts": _short(OPTIMAL_HOSTS, "hosts", "test-suite"),
            "long, 100 initial: hosts": _long(100, "hosts", 0),
            "time (h)": _long(100, "wall_h", 2),
            "paid (h)": _long(100, "payment_h", 0),
            "long, 1 initial: time (h)": _long(1, "wall_h", 2),
        },
        _settings,
    ),
    pictures=PICTURES,
)
