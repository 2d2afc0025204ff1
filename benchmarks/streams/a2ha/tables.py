"""The tables and figures of the A2HA paper on our streams of its jobs, beside what is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from spotbag.core.quantities import SECONDS_PER_HOUR
from spotbag.core.statistics import Estimate, estimate, mean_of, sd_of

from ...paper_result import ComparisonRow, row_of
from ...paper_tables import JOB, Lead, PaperColumn, PaperTable, Quantity, mean_of_runs, measured, ours_alone
from .printed import LONG_QUANTITIES, A2haFigures, LongQuantity, PublishedLongCase, a2ha_figures
from .runs import METRICS, SECONDS_PER_MINUTE, A2haCell, A2haRun, A2haRuns, NotKnowing, line_values, optimal_by_paper
from .settings import LONG_JOB, SHORT_JOBS, STYLES, TWICE, Ratios, Style

AT_ONCE, BOOTING = "no boot", "5 min boot"
OPTIMAL_HOSTS, SWEEP, NOT_KNOWING = "optimal hosts", "Figs 9-11", "not knowing"
REFERENCES, BUDGET = "reference lines", "budget factor"
SPEEDUPS, BY_HOSTS = "Fig. 12", "Fig. 12, by hosts"

_SHORT_TASKS = (
    mean_of_runs("charged_h", "charged (h)", 1, METRICS["payment_h"]),
    mean_of_runs("interrupted_tasks", "interrupted tasks", 1, lambda run: run.interrupted_tasks),
    mean_of_runs("wasted_min", "wasted (min)", 1, lambda run: run.wasted_s / SECONDS_PER_MINUTE),
    mean_of_runs("continued_hosts", "continued hosts", 1, lambda run: run.continued_hosts),
)
_CONTINUED = Quantity[A2haCell](
    "continued_percent",
    "continued (%)",
    1,
    lambda cell: cell.share_percent(lambda run: run.continued_hosts, METRICS["payment_h"]),
)
_SPEEDUP = (
    Quantity[Sequence[A2haRun]]("hosts", "hosts", 1, lambda found: estimate([run.hosts for run in found])),
    Quantity[Sequence[A2haRun]]("speedup", "speedup", 2, lambda found: estimate([run.speedup for run in found])),
    Quantity[Sequence[A2haRun]]("speedup_sd", "sd", 2, lambda found: sd_of([run.speedup for run in found])),
    Quantity[Sequence[A2haRun]](
        "efficiency_percent", "efficiency (%)", 1, lambda found: estimate([run.efficiency_percent for run in found])
    ),
)


def _of_pairs(
    name: str, heading: str, digits: int, metric: Callable[[NotKnowing], float]
) -> Quantity[Sequence[NotKnowing]]:
    return Quantity(name, heading, digits, lambda pairs: estimate([metric(pair) for pair in pairs]))


_PAYMENTS = (
    _of_pairs("payment_h", "payment (h)", 1, lambda pair: pair.run.paid_units),
    _of_pairs("fewest_h", "least of any plan (h)", 1, lambda pair: pair.fewest_units),
    _of_pairs("least_h", "least for the same time (h)", 1, lambda pair: pair.least_units),
    _of_pairs("payment_above_percent", "dearer by (%)", 1, lambda pair: pair.dearer_percent),
    _of_pairs("payment_gap_percent", "gap (%)", 2, lambda pair: pair.least_units_gap_percent),
)
_TIMES = (
    _of_pairs("hosts", "hosts", 1, lambda pair: pair.run.hosts),
    _of_pairs("wall_h", "wall (h)", 3, lambda pair: pair.run.wall_h),
    _of_pairs("best_hosts", "hosts of the best", 1, lambda pair: pair.hosts),
    _of_pairs("best_wall_h", "least for the same payment (h)", 3, lambda pair: pair.wall_s / SECONDS_PER_HOUR),
    _of_pairs("wall_above_percent", "later by (%)", 1, lambda pair: pair.later_percent),
    _of_pairs("gap_percent", "gap (%)", 2, lambda pair: pair.gap_percent),
)
"""What not knowing the run times costs."""


def a2ha_rows(runs: A2haRuns) -> Iterator[ComparisonRow]:
    """Tables 1 and 2 and Figs 9 to 12, of which only what the text says is known; what not knowing run times costs."""
    figures = a2ha_figures()
    for job in SHORT_JOBS:
        yield from _short_job(figures, runs, job)
    yield from _table_2(figures, runs)
    for (job, style), pairs in runs.not_knowing.items():
        yield from measured((NOT_KNOWING, job, "", style), (*_PAYMENTS, *_TIMES), pairs)


def _short_job(figures: A2haFigures, runs: A2haRuns, job: str) -> Iterator[ComparisonRow]:
    """A job of short tasks: optimal hosts, reference lines, Table 1, Figs 9 to 12, and twice the budget."""
    printed = figures.job(job)
    optimal = printed.optimal_hosts
    yield row_of(OPTIMAL_HOSTS, job, "", "", "formula_hosts", printed.formula_hosts, optimal)
    lines = runs.short_lines.get(job, ())
    # One host for all tasks and one for each, with boot time: between them lies the heuristic.
    for name, of in (("serial", "serial"), ("1 per task", "alone")) if lines else ():
        found = [line_values(getattr(line, of)) for line in lines]
        for quantity in METRICS:
            ours = estimate([values[quantity] for values in found])
            yield row_of(REFERENCES, job, "", name, quantity, ours)
    for style in STYLES:
        cell = runs.short(job, style)
        off = cell.mean(lambda run: 100 * (run.hosts / optimal - 1))
        yield row_of(OPTIMAL_HOSTS, job, "", style, "hosts", cell.mean(METRICS["hosts"]))
        yield row_of(OPTIMAL_HOSTS, job, "", style, "above_optimal_percent", off)
        yield from measured(("Table 1", job, "", style), _SHORT_TASKS, cell, printed)
        share = 100 * printed.continued_hosts / printed.charged_h
        yield row_of("Table 1", job, "", style, _CONTINUED.name, _CONTINUED.of(cell), share)
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
    at_once, booting = (
        {
            "serial": [line_values(line) for line in serial],
            "1 per task": [line_values(line) for line in alone],
            "optimal": [optimal_by_paper(line) for line in alone],
        }
        for serial, alone in (
            ([lines.serial_at_once for lines in runs.lines], [lines.alone_at_once for lines in runs.lines]),
            ([lines.serial for lines in runs.lines], [lines.alone for lines in runs.lines]),
        )
    )
    for name, boot, found in (
        ("serial", AT_ONCE, at_once),
        ("serial", BOOTING, booting),
        ("optimal", AT_ONCE, at_once),
        ("1 per task", AT_ONCE, at_once),
        ("1 per task", BOOTING, booting),
    ):
        if name == "1 per task" and boot == AT_ONCE:
            for style in STYLES:
                yield from _true_optimum(style, runs)
        columns = {quantity: [values[quantity] for values in found[name]] for quantity in LONG_QUANTITIES}
        yield from _line(figures.case(name), boot, columns)
    for case in figures.heuristic_cases:
        for cells, boot in ((runs.long, BOOTING), (runs.long_at_once, AT_ONCE)):
            for (name, initial), cell in cells.items():
                if initial == case.initial_hosts:
                    columns = {quantity: cell.values(METRICS[quantity]) for quantity in LONG_QUANTITIES}
                    yield from _line(case, f"{name}, {boot}", columns)


def _line(
    case: PublishedLongCase, scenario: str, values: Mapping[LongQuantity, list[float]]
) -> Iterator[ComparisonRow]:
    """Means and standard deviations, and how many printed standard deviations the means are off."""
    place = "Table 2", LONG_JOB, scenario, case.case
    for quantity, found in values.items():
        printed, spread = case.mean(quantity), case.sd(quantity)
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


_STYLE, _RATIOS = Lead("ratios", attrgetter("policy")), Lead("ratios", attrgetter("scenario"))
_LINE, _OURS_WITH = Lead("line", attrgetter("policy")), Lead("ours with", attrgetter("scenario"))

_TABLE_2 = (
    PaperColumn("hosts", "hosts", 1),
    PaperColumn("wall (h)", "wall_h", 2),
    PaperColumn("speedup", "speedup", 1),
    PaperColumn("payment (h)", "payment_h", 1),
)
_SWEPT = (
    PaperColumn("wall (h)", "wall_h", 3),
    PaperColumn("speedup", "speedup", 2),
    PaperColumn("hosts", "hosts", 2),
    PaperColumn("payment (h)", "payment_h", 2),
)


def _sd(column: PaperColumn, heading: str = "") -> PaperColumn:
    return replace(column, heading=heading or column.heading, quantity=f"{column.quantity}_sd")


TABLES = (
    PaperTable(
        OPTIMAL_HOSTS,
        "Optimal numbers of hosts by the paper's formula, and the heuristic's (conservative: both ratios "
        "0.5; aggressive: 0.75)",
        [
            PaperColumn("optimal", "formula_hosts", 0),
            *ours_alone(
                *(
                    PaperColumn(heading or style, quantity, 1, style)
                    for style in STYLES
                    for heading, quantity in (("", "hosts"), ("above (%)", "above_optimal_percent"))
                )
            ),
        ],
        leads=(JOB,),
    ),
    PaperTable(
        REFERENCES,
        "One host for all tasks, and one for each, with 5 minutes to boot",
        ours_alone(*_TABLE_2),
        leads=(JOB, _LINE),
    ),
    PaperTable(
        "Table 1",
        "Table 1: hosts that end with their hour (the paper does not say with which ratios)",
        [quantity.column() for quantity in (*_SHORT_TASKS, _CONTINUED)],
        leads=(JOB, _STYLE),
    ),
    PaperTable(
        "Table 2",
        "Table 2: long tasks (the paper does not say with which ratios, nor whether hosts take time to boot)",
        _TABLE_2,
        leads=(_LINE, _OURS_WITH),
    ),
    PaperTable(
        "Table 2",
        "Table 2: standard deviations",
        [_sd(column) for column in _TABLE_2],
        leads=(_LINE, _OURS_WITH),
    ),
    PaperTable(
        "Table 2",
        "Table 2: our mean less the printed one, in printed standard deviations (within: from -1 to 1)",
        ours_alone(
            *(PaperColumn(column.heading.partition(" (")[0], f"{column.quantity}_off_sd", 1) for column in _TABLE_2)
        ),
        leads=(_LINE, _OURS_WITH),
    ),
    PaperTable(
        SWEEP,
        "Figs 9 to 11: by creationRatio / increaseRatio; sd: standard deviation (no numbers are printed)",
        ours_alone(*(shown for column in _SWEPT for shown in (column, _sd(column, "sd")))),
        leads=(JOB, _RATIOS),
    ),
    PaperTable(
        SPEEDUPS,
        "Fig. 12: hosts and speedup; efficiency: speedup by hosts (no numbers are printed; --plots draws ours)",
        ours_alone(*(quantity.column() for quantity in _SPEEDUP)),
        leads=(JOB, _STYLE),
    ),
    PaperTable(
        BUDGET,
        "A user who pays twice the least: hosts work in the first half of each paid hour (both ratios 0.5)",
        ours_alone(*_TABLE_2),
        leads=(JOB, Lead("budget factor", attrgetter("scenario"))),
    ),
    PaperTable(
        NOT_KNOWING,
        "What not knowing the run times costs: payment against the least for the same time; gap: how much"
        " less that could be at most",
        ours_alone(*(quantity.column() for quantity in _PAYMENTS)),
        leads=(JOB, _STYLE),
    ),
    PaperTable(
        NOT_KNOWING,
        "... and time against the least for the same payment; gap: how much less that could be at most",
        ours_alone(*(quantity.column() for quantity in _TIMES)),
        leads=(JOB, _STYLE),
    ),
)
