"""The paper on A2HA: Silva, Veiga and Ferreira, 2011; its tables, what other assumptions change, and its page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from spotbag.core.quantities import SECONDS_PER_HOUR
from spotbag.core.statistics import Estimate, estimate
from spotbag.instances.streams.draws import draw_jobs
from spotbag.instances.streams.stream_files import library_stream

from ...claims import span
from ...data_files import Figures, read_changes, read_notes
from ...paper import Change, Paper, Results, Setting, changed, read_columns
from ...paper_tables import ComparisonRow, PaperTables, PublishedComparisonResult, Quantities, means, measured, row_of
from ...statistics import Quantity, mean_of, sd_of
from .claims import a2ha_claims, a2ha_findings
from .pictures import PICTURES
from .runs import (
    AT_THE_START,
    HOSTS,
    LINES,
    PAYMENT_H,
    QUANTITIES,
    TABLE_1,
    WALL_H,
    A2haCell,
    A2haRun,
    A2haRuns,
    Metric,
    NotKnowing,
    a2ha_runs,
    n_a2ha_runs,
    run_times_s,
)
from .settings import (
    AT_ONCE,
    BOOTING,
    BUDGET,
    BY_HOSTS,
    LONG_JOB,
    NOT_KNOWING,
    OPTIMAL_HOSTS,
    RATIOS,
    REFERENCES,
    SHORT_JOBS,
    SPEEDUPS,
    STYLES,
    SWEEP,
    TWICE,
    A2haFigures,
    A2haOptions,
    Style,
    a2ha_figures,
    sweep_name,
    sweep_ratios,
)

_AVERAGED, _TABLE_1 = (means(of) for of in (QUANTITIES, TABLE_1))
_SPEEDUP: Quantities[Sequence[A2haRun]] = {
    "hosts": lambda found: estimate([run.hosts for run in found]),
    "speedup": lambda found: estimate([run.speedup for run in found]),
    "speedup_sd": lambda found: sd_of([run.speedup for run in found]),
    "efficiency_percent": lambda found: estimate([run.efficiency_percent for run in found]),
}
_NOT_KNOWING: Mapping[str, Callable[[NotKnowing], float]] = {
    "payment_h": lambda pair: pair.run.paid_units,
    "fewest_h": lambda pair: pair.fewest_units,
    "least_h": lambda pair: pair.least_units,
    "payment_above_percent": lambda pair: pair.dearer_percent,
    "payment_gap_percent": lambda pair: pair.least_units_gap_percent,
    "hosts": lambda pair: pair.run.hosts,
    "wall_h": lambda pair: pair.run.wall_h,
    "best_hosts": lambda pair: pair.hosts,
    "best_wall_h": lambda pair: pair.wall_s / SECONDS_PER_HOUR,
    "wall_above_percent": lambda pair: pair.later_percent,
    "gap_percent": lambda pair: pair.gap_percent,
}
"""Columns on the price of not knowing the run times."""


_LINES_OF_TABLE_2 = [
    (name, boot) for name in LINES for boot in (AT_ONCE, BOOTING) if (name, boot) != ("optimal", BOOTING)
]


def a2ha_rows(runs: A2haRuns) -> Iterator[ComparisonRow]:
    """Tables 1 and 2 and Figs 9 to 12, of which only what the text says is known; what not knowing run times costs."""
    figures = a2ha_figures()
    for job in SHORT_JOBS:
        yield from _short_job(figures, runs, job)
    yield from _table_2(figures, runs)
    for (job, style), pairs in runs.not_knowing.items():
        for name, metric in _NOT_KNOWING.items():
            yield row_of(NOT_KNOWING, job, "", style, name, estimate([metric(pair) for pair in pairs]))


def _short_job(figures: A2haFigures, runs: A2haRuns, job: str) -> Iterator[ComparisonRow]:
    """A job of short tasks: optimal hosts, reference lines, Table 1, Figs 9 to 12, and twice the budget."""
    printed = figures.job(job)
    optimal = printed.optimal_hosts
    yield row_of(OPTIMAL_HOSTS, job, "", "", "formula_hosts", figures.formula_hosts(job), optimal)
    # One host for all tasks and one for each, with boot time: between them lies the heuristic.
    for name in ("serial", "1 per task"):
        for quantity in QUANTITIES:
            yield row_of(REFERENCES, job, "", name, quantity.name, estimate(runs.line(name, quantity.name, job)))
    for style in STYLES:
        cell = runs.short(job, style)
        off = cell.mean(lambda run: 100 * (run.hosts / optimal - 1))
        yield row_of(OPTIMAL_HOSTS, job, "", style, "hosts", cell.mean(HOSTS))
        yield row_of(OPTIMAL_HOSTS, job, "", style, "above_optimal_percent", off)
        yield from measured(("Table 1", job, "", style), _TABLE_1, cell, printed)
        share = cell.share_percent(lambda run: run.continued_hosts, PAYMENT_H)
        printed_share = 100 * printed.continued_hosts / printed.charged_h
        yield row_of("Table 1", job, "", style, "continued_percent", share, printed_share)
        yield from _speedups(SPEEDUPS, job, "", style, cell.runs, cell)
        for hosts, some in cell.by_hosts.items():
            yield from _speedups(BY_HOSTS, job, f"{hosts} hosts", style, some, cell)
    for ratios, cell in runs.sweep[job].items():
        for quantity in QUANTITIES:
            yield row_of(SWEEP, job, sweep_name(ratios), "", quantity.name, cell.mean(quantity))
            yield row_of(SWEEP, job, sweep_name(ratios), "", f"{quantity.name}_sd", cell.sd(quantity))
    # The conservative style for a user who pays the least, and for one who pays twice that.
    for factor, payer in ((1.0, runs.short(job, "conservative")), (TWICE, runs.twice[job])):
        yield from measured((BUDGET, job, f"{factor:g}", ""), _AVERAGED, payer)


def _speedups(
    table: str, job: str, scenario: str, style: str, found: Sequence[A2haRun], cell: A2haCell
) -> Iterator[ComparisonRow]:
    """Speedup of all orderings, or of those that led to a number of hosts."""
    share = Estimate(len(cell.runs), 100 * len(found) / len(cell.runs), None)
    yield row_of(table, job, scenario, style, "share_percent", share)
    yield from measured((table, job, scenario, style), _SPEEDUP, found)


def _table_2(figures: A2haFigures, runs: A2haRuns) -> Iterator[ComparisonRow]:
    """Each line as the paper has it, where hosts are ready at once, and with 5 minutes to boot."""
    for name, boot in _LINES_OF_TABLE_2:
        if name == "1 per task" and boot == AT_ONCE:
            for style in STYLES:
                yield from _true_optimum(style, runs)
        columns = {quantity: runs.line(name, quantity.name, at_once=boot == AT_ONCE) for quantity in QUANTITIES}
        yield from _line(figures.case(name), boot, columns)
    for case in figures.heuristic_cases:
        for cells, boot in ((runs.long, BOOTING), (runs.long_at_once, AT_ONCE)):
            for (name, initial), cell in cells.items():
                if initial == case.initial_hosts:
                    columns = {quantity: cell.values(quantity) for quantity in QUANTITIES}
                    yield from _line(case, f"{name}, {boot}", columns)


def _line(case: Figures, scenario: str, values: Mapping[Quantity[A2haRun], list[float]]) -> Iterator[ComparisonRow]:
    """Means and standard deviations, and how many printed standard deviations the means are off."""
    place = "Table 2", LONG_JOB, scenario, case.case
    for quantity, found in values.items():
        name, printed, spread = quantity.name, getattr(case, quantity.name), getattr(case, f"{quantity.name}_sd")
        mean, sd = mean_of(found), sd_of(found)
        yield row_of(*place, name, mean, printed)
        yield row_of(*place, f"{name}_sd", sd and Estimate(len(found), sd.value, None), spread)
        yield row_of(*place, f"{name}_off_sd", (mean.value - printed) / spread if printed and spread else None)


def _true_optimum(style: Style, runs: A2haRuns) -> Iterator[ComparisonRow]:
    """The least wall time for the payment of the heuristic with one initial host."""
    pairs = runs.not_knowing[LONG_JOB, style]
    values = {
        "hosts": [float(pair.hosts) for pair in pairs],
        "wall_h": [pair.wall_s / SECONDS_PER_HOUR for pair in pairs],
        "speedup": [pair.run.serial_s / pair.wall_s for pair in pairs],
        "payment_h": [float(pair.run.paid_units) for pair in pairs],
    }
    # The mean of what each ordering could be better by at most: 0 if all are proved.
    gap = sum(pair.gap_percent for pair in pairs) / len(pairs)
    scenario = f"pays as 1 initial, {style}" + (f"; at most {gap:.1f} % better" if gap else "")
    for quantity, numbers in values.items():
        yield row_of("Table 2", LONG_JOB, scenario, "true optimum", quantity, estimate(numbers))


# ---------------------------------------------------------------------------- assumptions, notes, page

_QUARTER_S = 900
"""A quarter of an hour, in which few tasks of the test suite do not end."""


def a2ha_notes(runs: A2haRuns) -> Iterator[str]:
    """Reasons, each with the paper's own numbers where they contradict each other."""
    seconds = run_times_s(draw_jobs(library_stream("a2ha/test-suite"), 0))
    sd = runs.short("test-suite", "conservative").sd(HOSTS)
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
        "conservative_h": runs.short("image", "conservative").value(PAYMENT_H),
        "aggressive_h": runs.short("image", "aggressive").value(PAYMENT_H),
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

    def listed(cells: list[A2haCell], metric: Metric, digits: int) -> str:
        return ", ".join(f"{cell.value(metric):.{digits}f}" for cell in cells)

    return {
        "alone_h": fmean(runs.line("1 per task", "payment_h")),
        "at_once_h": fmean(runs.line("1 per task", "payment_h", at_once=True)),
        "start_walls": listed(start, WALL_H, 2),
        "start_payments": listed(start, PAYMENT_H, 0),
        "walls": listed(ours, WALL_H, 2),
        "unused": listed(ours, lambda run: run.unused_hosts, 1),
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
        for quantity in QUANTITIES:
            row = result.row("Table 2", f"{quantity.name}_off_sd", LONG_JOB, f"{AT_THE_START}, {AT_ONCE}", case.case)
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
