"""The paper on A2HA: Silva, Veiga and Ferreira, 2011; what other assumptions change, and what its page says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from spotbag.core.quantities import SECONDS_PER_HOUR
from spotbag.instances.streams.draws import draw_jobs
from spotbag.instances.streams.stream_files import library_stream

from ...claims import span
from ...data_files import read_notes
from ...paper import Change, Paper, Results, Sensitivity, Setting, changed
from ...paper_result import PublishedComparisonResult
from .claims import a2ha_claims, a2ha_findings
from .pictures import PICTURES
from .printed import LONG_QUANTITIES, A2haFigures, a2ha_figures
from .runs import AT_THE_START, METRICS, A2haCell, A2haRuns, a2ha_runs, n_a2ha_runs, run_times_s
from .settings import LONG_JOB, RATIOS, SHORT_JOBS, STYLES, A2haOptions, sweep_ratios
from .tables import AT_ONCE, BOOTING, BY_HOSTS, NOT_KNOWING, OPTIMAL_HOSTS, SWEEP, TABLES, a2ha_rows, sweep_name

_QUARTER_S = 900


def a2ha_notes(runs: A2haRuns) -> Iterator[str]:
    """Reasons, each with the paper's own numbers where they contradict each other."""
    figures = a2ha_figures()
    values = _ratios(runs) | _ready_at_once(figures, runs) | _table_1(figures, runs) | _no_plan(figures, runs)
    return read_notes(__package__, values)


def _ratios(runs: A2haRuns) -> dict[str, Any]:
    seconds = run_times_s(draw_jobs(library_stream("a2ha/test-suite"), 0))
    sd = runs.short("test-suite", "conservative").sd(METRICS["hosts"])
    return {
        "n_long": sum(one > _QUARTER_S for one in seconds),
        "longest_min": max(seconds) / 60,
        "suite_sd": "-" if sd is None else f"{sd.value:.1f}",
        "conservative_h": runs.short("image", "conservative").statistic(METRICS["payment_h"]).value,
        "aggressive_h": runs.short("image", "aggressive").statistic(METRICS["payment_h"]).value,
    }


def _ready_at_once(figures: A2haFigures, runs: A2haRuns) -> dict[str, Any]:
    cases = sorted(figures.heuristic_cases, key=lambda case: case.initial_hosts or 0)
    initials = [case.initial_hosts or 0 for case in cases]
    start = [runs.long_at_once[AT_THE_START, initial] for initial in initials]
    ours = [runs.long["conservative", initial] for initial in initials]

    def means(cells: list[A2haCell], quantity: str, digits: int) -> str:
        return ", ".join(f"{cell.statistic(METRICS[quantity]).value:.{digits}f}" for cell in cells)

    return {
        "alone_h": sum(lines.alone.paid_units for lines in runs.lines) / len(runs.lines),
        "at_once_h": sum(lines.alone_at_once.paid_units for lines in runs.lines) / len(runs.lines),
        "printed_alone_h": figures.case("1 per task").payment_h,
        "initials": _listed([f"{initial}" for initial in initials]),
        "printed_walls": _listed([f"{case.wall_h:.2f}" for case in cases]),
        "printed_payments": _listed([f"{case.payment_h:g}" for case in cases]),
        "start_walls": means(start, "wall_h", 2),
        "start_payments": means(start, "payment_h", 0),
        "walls": means(ours, "wall_h", 2),
        "unused": ", ".join(f"{cell.statistic(lambda run: run.unused_hosts).value:.1f}" for cell in ours),
        "hosts": ", ".join(f"{case.hosts:.0f}" for case in cases),
        "created": ", ".join(f"{case.hosts - initial:.0f}" for case, initial in zip(cases, initials, strict=True)),
    }


def _table_1(figures: A2haFigures, runs: A2haRuns) -> dict[str, Any]:
    lost = []
    for job in SHORT_JOBS:
        cell, printed = runs.short(job, "conservative"), figures.job(job)
        ours = sum(run.wasted_s for run in cell.runs) / max(sum(run.interrupted_tasks for run in cell.runs), 1)
        theirs = 60 * printed.wasted_min / printed.interrupted_tasks
        lost.append(f"{job} {theirs:.0f} printed, {ours:.0f} ours, {printed.mean_s:.0f} the mean task")
    image, suite = figures.job("image"), figures.job("test-suite")
    usable_s = SECONDS_PER_HOUR - 300
    return {
        "lost": "; ".join(lost),
        "image_continued": 100 * image.continued_hosts / image.charged_h,
        "suite_continued": 100 * suite.continued_hosts / suite.charged_h,
        "suite_formula": suite.formula_hosts,
        "suite_optimal": suite.optimal_hosts,
        "suite_low_s": (suite.optimal_hosts - 1) * usable_s / suite.n_tasks,
        "suite_high_s": suite.optimal_hosts * usable_s / suite.n_tasks,
    }


def _no_plan(figures: A2haFigures, runs: A2haRuns) -> dict[str, Any]:
    optimal = figures.case("optimal")
    pairs = runs.not_knowing[LONG_JOB, "conservative"]
    gap = sum(pair.gap_percent for pair in pairs) / len(pairs)
    return {
        "optimal_hosts": optimal.hosts,
        "optimal_wall_h": optimal.wall_h,
        "optimal_payment_h": optimal.payment_h,
        "started_h": 3 * optimal.hosts,
        "paid_h": sum(pair.run.paid_units for pair in pairs) / len(pairs),
        "best_h": sum(pair.wall_s for pair in pairs) / len(pairs) / SECONDS_PER_HOUR,
        "better": f", at most {gap:.1f} % more than what any plan needs" if gap else "",
        "n_pairs": len(pairs),
    }


def _listed(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


_MANY = 1.5
"""From how many times the optimal number of hosts on the docs speak of many."""

_KIND = {
    "image": "a task takes some minutes, more or less",
    "synthetic": "tasks are alike",
    "test-suite": "a few tasks are much longer than the rest",
    "long": "an hour is short against a task",
}
"""What is special about a job."""


def a2ha_facts(results: Results) -> dict[str, Any]:
    """Return the values of the page's template."""
    result = next(iter(results.values()))
    return {
        "ratios": {sweep_name((ratio, ratio)) for ratio in RATIOS if ratio},
        "n_settings": len(list(sweep_ratios())),
        "first_orderings": next(row.ours.n for row in result.rows if row.table == NOT_KNOWING),
        "few_orderings": min(other.about["runs"] for other in results.values()),
        **_start(result),
        **_sweeps(result),
        **_many_hosts(result),
        **_not_knowing(result),
    }


def _start(result: PublishedComparisonResult) -> dict[str, Any]:
    """Largest deviation of hosts from the start on from the printed heuristic, in printed standard deviations."""
    off = []
    for case in a2ha_figures().heuristic_cases:
        for quantity in LONG_QUANTITIES:
            row = result.row("Table 2", f"{quantity}_off_sd", LONG_JOB, f"{AT_THE_START}, {AT_ONCE}", case.case)
            off.append(abs(row.ours.mean or 0.0))
    return {"start_off_sd": f"{max(off):.1f}"}


def _sweeps(result: PublishedComparisonResult) -> dict[str, Any]:
    """Effects of both ratios on time and hosts, from the least to the most; variation of means and orderings."""
    equal = [sweep_name((ratio, ratio)) for ratio in RATIOS if ratio]

    def change(quantity: str) -> float:
        few, many = (result.mean(SWEEP, quantity, "image", name) for name in (equal[0], equal[-1]))
        return many / few

    hosts = {job: [result.mean(SWEEP, "hosts", job, name) for name in equal] for job in SHORT_JOBS}
    sds = [result.mean(SWEEP, "hosts_sd", "test-suite", name) for name in equal]
    return {
        "image_time_percent": f"{100 * (1 - change('wall_h')):.0f}",
        "image_hosts_percent": f"{100 * (change('hosts') - 1):.0f}",
        "image_sd_times": f"{change('hosts_sd'):.1f}",
        "synthetic_hosts": span(hosts["synthetic"], 1),
        "suite_hosts": span(hosts["test-suite"], 0),
        "suite_sd": span(sds, 0),
    }


def _many_hosts(result: PublishedComparisonResult) -> dict[str, Any]:
    """Speedup by hosts of orderings with many hosts, and of the others, in both styles."""
    sums: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    for row in result.rows:
        if (row.table, row.quantity) == (BY_HOSTS, "efficiency_percent"):
            optimal = a2ha_figures().job(row.job).optimal_hosts
            share = result.mean(BY_HOSTS, "share_percent", row.job, row.scenario, row.policy)
            sums[int(row.scenario.split()[0]) > _MANY * optimal].append((share, row.ours.mean or 0.0))
    few, many = (_weighted(sums[is_many]) for is_many in (False, True))
    return {"many_times": f"{_MANY:g}", "few_efficiency": few, "many_efficiency": many}


def _weighted(pairs: list[tuple[float, float]]) -> str:
    weight = sum(share for share, _ in pairs)
    return f"{sum(share * value for share, value in pairs) / weight:.0f}" if weight else "-"


def _not_knowing(result: PublishedComparisonResult) -> dict[str, Any]:
    """Least and most cost of not knowing the run times, and differences between styles, and between jobs."""
    found: dict[str, Any] = {}
    for quantity, name in (("wall_above_percent", "time"), ("payment_above_percent", "payment")):
        above = {
            job: [result.mean(NOT_KNOWING, quantity, job, "", style) for style in STYLES]
            for job in (*SHORT_JOBS, LONG_JOB)
        }
        average = {job: sum(values) / len(values) for job, values in above.items()}
        least, most = (choose(average, key=average.__getitem__) for choose in (min, max))
        found[f"{name}_least"], found[f"{name}_most"] = (f"{_KIND[job]} ({job})" for job in (least, most))
        found[f"{name}_styles"] = f"{max(max(values) - min(values) for values in above.values()):.0f}"
        found[f"{name}_jobs"] = f"{average[most] - average[least]:.0f}"
    return found


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


PAPER: Paper[A2haOptions, A2haRuns] = Paper(
    key="a2ha",
    name="A2HA",
    package=__package__,
    options=A2haOptions,
    runs_are="orderings of the tasks",
    n_runs=n_a2ha_runs,
    replay=lambda options, on_runs: a2ha_runs(a2ha_figures().long_cases, options, on_runs),
    rows=a2ha_rows,
    claims=a2ha_claims,
    notes=a2ha_notes,
    tables=TABLES,
    headline=TABLES[0],
    findings=a2ha_findings,
    facts=a2ha_facts,
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
