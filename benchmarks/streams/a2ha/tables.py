"""The tables and figures of the A2HA paper on our streams of its jobs, beside what is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from spotbag.core.quantities import SECONDS_PER_HOUR
from spotbag.core.statistics import Estimate, estimate

from ...data_files import Figures
from ...paper_result import ComparisonRow, row_of
from ...paper_tables import Quantities, means, measured
from ...statistics import mean_of, sd_of
from .printed import LONG_QUANTITIES, A2haFigures, LongQuantity, a2ha_figures
from .runs import LINES, METRICS, TABLE_1, A2haCell, A2haRun, A2haRuns, NotKnowing
from .settings import LONG_JOB, SHORT_JOBS, STYLES, TWICE, Ratios, Style

AT_ONCE, BOOTING = "no boot", "5 min boot"
OPTIMAL_HOSTS, SWEEP, NOT_KNOWING = "optimal hosts", "Figs 9-11", "not knowing"
REFERENCES, BUDGET = "reference lines", "budget factor"
SPEEDUPS, BY_HOSTS = "Fig. 12", "Fig. 12, by hosts"

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
        for quantity in METRICS:
            yield row_of(REFERENCES, job, "", name, quantity, estimate(runs.line(name, quantity, job)))
    for style in STYLES:
        cell = runs.short(job, style)
        off = cell.mean(lambda run: 100 * (run.hosts / optimal - 1))
        yield row_of(OPTIMAL_HOSTS, job, "", style, "hosts", cell.mean(METRICS["hosts"]))
        yield row_of(OPTIMAL_HOSTS, job, "", style, "above_optimal_percent", off)
        yield from measured(("Table 1", job, "", style), means(TABLE_1), cell, printed)
        share = cell.share_percent(lambda run: run.continued_hosts, METRICS["payment_h"])
        printed_share = 100 * printed.continued_hosts / printed.charged_h
        yield row_of("Table 1", job, "", style, "continued_percent", share, printed_share)
        yield from _speedups(SPEEDUPS, job, "", style, cell.runs, cell)
        for hosts, some in cell.by_hosts.items():
            yield from _speedups(BY_HOSTS, job, f"{hosts} hosts", style, some, cell)
    for ratios, cell in runs.sweep[job].items():
        for quantity, metric in METRICS.items():
            yield row_of(SWEEP, job, sweep_name(ratios), "", quantity, cell.mean(metric))
            yield row_of(SWEEP, job, sweep_name(ratios), "", f"{quantity}_sd", cell.sd(metric))
    # The conservative style for a user who pays the least, and for one who pays twice that.
    for factor, payer in ((1.0, runs.short(job, "conservative")), (TWICE, runs.twice[job])):
        for quantity, metric in METRICS.items():
            yield row_of(BUDGET, job, f"{factor:g}", "", quantity, payer.mean(metric))


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
        columns = {quantity: runs.line(name, quantity, at_once=boot == AT_ONCE) for quantity in LONG_QUANTITIES}
        yield from _line(figures.case(name), boot, columns)
    for case in figures.heuristic_cases:
        for cells, boot in ((runs.long, BOOTING), (runs.long_at_once, AT_ONCE)):
            for (name, initial), cell in cells.items():
                if initial == case.initial_hosts:
                    columns = {quantity: cell.values(METRICS[quantity]) for quantity in LONG_QUANTITIES}
                    yield from _line(case, f"{name}, {boot}", columns)


def _line(case: Figures, scenario: str, values: Mapping[LongQuantity, list[float]]) -> Iterator[ComparisonRow]:
    """Means and standard deviations, and how many printed standard deviations the means are off."""
    place = "Table 2", LONG_JOB, scenario, case.case
    for quantity, found in values.items():
        printed, spread = getattr(case, quantity), getattr(case, f"{quantity}_sd")
        mean, sd = mean_of(found), sd_of(found)
        yield row_of(*place, quantity, mean, printed)
        yield row_of(*place, f"{quantity}_sd", sd and Estimate(len(found), sd.value, None), spread)
        yield row_of(*place, f"{quantity}_off_sd", (mean.value - printed) / spread if printed and spread else None)


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


def sweep_name(ratios: Ratios) -> str:
    """Name of a setting of the sweeps."""
    return f"{ratios[0]:g} / {ratios[1]:g}"
