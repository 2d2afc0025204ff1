"""The paper on A2HA: Silva, Veiga and Ferreira, 2011; what other assumptions change, and what its page says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from spotbag.core.quantities import SECONDS_PER_HOUR
from spotbag.instances.streams.draws import draw_jobs
from spotbag.instances.streams.stream_files import library_stream

from ...claims import span
from ...data_files import read_changes, read_notes
from ...paper import Change, Paper, Results, Setting, changed, read_columns
from ...paper_result import PublishedComparisonResult
from ...paper_tables import PaperTables
from .claims import a2ha_claims, a2ha_findings, value
from .pictures import PICTURES
from .printed import LONG_QUANTITIES, a2ha_figures
from .runs import AT_THE_START, METRICS, A2haCell, A2haRuns, a2ha_runs, n_a2ha_runs, run_times_s
from .settings import LONG_JOB, RATIOS, SHORT_JOBS, STYLES, A2haOptions, sweep_ratios
from .tables import AT_ONCE, BY_HOSTS, NOT_KNOWING, SWEEP, a2ha_rows, sweep_name

_QUARTER_S = 900
"""A quarter of an hour, in which few tasks of the test suite do not end."""


def a2ha_notes(runs: A2haRuns) -> Iterator[str]:
    """Reasons, each with the paper's own numbers where they contradict each other."""
    seconds = run_times_s(draw_jobs(library_stream("a2ha/test-suite"), 0))
    sd = runs.short("test-suite", "conservative").sd(METRICS["hosts"])
    lost = []
    for job in SHORT_JOBS:
        cell, printed = runs.short(job, "conservative"), a2ha_figures().job(job)
        ours = sum(run.wasted_s for run in cell.runs) / max(sum(run.interrupted_tasks for run in cell.runs), 1)
        theirs = 60 * printed.wasted_min / printed.interrupted_tasks
        lost.append(f"{job} {theirs:.0f} printed, {ours:.0f} ours, {printed.mean_s:.0f} the mean task")
    pairs = runs.not_knowing[LONG_JOB, "conservative"]
    gap = fmean(pair.gap_percent for pair in pairs)
    values = {
        "n_long": sum(one > _QUARTER_S for one in seconds),
        "longest_min": max(seconds) / 60,
        "suite_sd": "-" if sd is None else f"{sd.value:.1f}",
        "conservative_h": value(runs.short("image", "conservative"), "payment_h"),
        "aggressive_h": value(runs.short("image", "aggressive"), "payment_h"),
        "lost": "; ".join(lost),
        "paid_h": fmean(pair.run.paid_units for pair in pairs),
        "best_h": fmean(pair.wall_s for pair in pairs) / SECONDS_PER_HOUR,
        "better": f", at most {gap:.1f} % more than what any plan needs" if gap else "",
        "n_pairs": len(pairs),
    }
    return read_notes(__package__, values | _ready_at_once(runs))


def _ready_at_once(runs: A2haRuns) -> dict[str, Any]:
    initials = sorted(a2ha_figures().long_cases)
    start = [runs.long_at_once[AT_THE_START, initial] for initial in initials]
    ours = [runs.long["conservative", initial] for initial in initials]

    def means(cells: list[A2haCell], quantity: str, digits: int) -> str:
        return ", ".join(f"{value(cell, quantity):.{digits}f}" for cell in cells)

    return {
        "alone_h": fmean(runs.line("1 per task", "payment_h")),
        "at_once_h": fmean(runs.line("1 per task", "payment_h", at_once=True)),
        "start_walls": means(start, "wall_h", 2),
        "start_payments": means(start, "payment_h", 0),
        "walls": means(ours, "wall_h", 2),
        "unused": ", ".join(f"{cell.statistic(lambda run: run.unused_hosts).value:.1f}" for cell in ours),
    }


_MANY = 1.5
"""Multiple of the optimal number of hosts from which the docs speak of many."""

_KIND = {
    "image": "a task takes some minutes, more or less",
    "synthetic": "tasks are alike",
    "test-suite": "a few tasks are much longer than the rest",
    "long": "an hour is short against a task",
}
"""Words for the kind of a job."""


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


def _settings(options: A2haOptions) -> Sequence[Setting[A2haOptions]]:
    orderings: Change = ("orderings", "others", {"seed": options.seed + options.runs})
    few = replace(options, optimum_runs=min(2, options.optimum_runs))
    return changed(few, _RUNS, [*read_changes(__package__), orderings])


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
    tables=PaperTables.read(__package__),
    findings=a2ha_findings,
    facts=a2ha_facts,
    columns=read_columns(__package__),
    settings=_settings,
    pictures=PICTURES,
)
