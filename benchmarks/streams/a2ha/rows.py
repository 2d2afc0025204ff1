"""The tables and figures of the A2HA paper on our streams of its jobs, beside what is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ....core.quantities import SECONDS_PER_HOUR
from ....core.statistics import Estimate, estimate, mean_of, sd_of
from ...paper_result import NOTHING, ComparisonRow, estimate_of, exactly
from .printed import LONG_QUANTITIES, A2haFigures, LongQuantity, PublishedLongCase, a2ha_figures
from .runs import (
    METRICS,
    SECONDS_PER_MINUTE,
    A2haCell,
    A2haRun,
    A2haRuns,
    LongLines,
    NotKnowing,
    line_values,
    optimal_by_paper,
)
from .settings import LONG_JOB, SHORT_JOBS, STYLES, TWICE, Ratios, Style

AT_ONCE, BOOTING = "no boot", "5 min boot"
OPTIMAL_HOSTS, SWEEP, NOT_KNOWING = "optimal hosts", "Figs 9-11", "not knowing"
REFERENCES, BUDGET = "reference lines", "budget factor"
SPEEDUPS, BY_HOSTS = "Fig. 12", "Fig. 12, by hosts"


def a2ha_rows(runs: A2haRuns) -> Iterator[ComparisonRow]:
    """Tables 1 and 2 and Figs 9 to 12, of which only what the text says is known; what not knowing run times costs."""
    figures = a2ha_figures()
    yield from _optimal_hosts(figures, runs)
    yield from _references(runs)
    yield from _table_1(figures, runs)
    yield from _table_2(figures, runs)
    yield from _sweep(runs)
    yield from _speedups(runs)
    yield from _budget(runs)
    yield from _not_knowing(runs)


def _optimal_hosts(figures: A2haFigures, runs: A2haRuns) -> Iterator[ComparisonRow]:
    """Hosts by the paper's formula, and how far the heuristic is from what is printed."""
    for job in SHORT_JOBS:
        printed = figures.job(job)
        hosts = printed.optimal_hosts
        yield ComparisonRow(OPTIMAL_HOSTS, job, "", "", "formula_hosts", hosts, exactly(printed.formula_hosts))
        for style in STYLES:
            cell = runs.short(job, style)
            off = cell.mean(lambda run, hosts=hosts: 100 * (run.hosts / hosts - 1))  # type: ignore[misc]
            yield ComparisonRow(OPTIMAL_HOSTS, job, "", style, "hosts", None, cell.mean(METRICS["hosts"]))
            yield ComparisonRow(OPTIMAL_HOSTS, job, "", style, "above_optimal_percent", None, off)


def _references(runs: A2haRuns) -> Iterator[ComparisonRow]:
    """Rows of one host for all tasks and one for each, with boot time: between them lies the heuristic."""
    lines_of: dict[str, Callable[[LongLines], dict[str, float]]] = {
        "serial": lambda of: line_values(of.serial),
        "1 per task": lambda of: line_values(of.alone),
    }
    for job, lines in runs.short_lines.items():
        for name, values_of in lines_of.items():
            found = [values_of(one) for one in lines]
            for quantity in METRICS:
                ours = estimate([values[quantity] for values in found])
                yield ComparisonRow(REFERENCES, job, "", name, quantity, None, ours)


def _table_1(figures: A2haFigures, runs: A2haRuns) -> Iterator[ComparisonRow]:
    for job in SHORT_JOBS:
        printed = figures.job(job)
        for style in STYLES:
            cell = runs.short(job, style)
            values = {
                "charged_h": (printed.charged_h, cell.mean(METRICS["payment_h"])),
                "interrupted_tasks": (printed.interrupted_tasks, cell.mean(lambda run: run.interrupted_tasks)),
                "wasted_min": (printed.wasted_min, cell.mean(lambda run: run.wasted_s / SECONDS_PER_MINUTE)),
                "continued_hosts": (printed.continued_hosts, cell.mean(_continued)),
                "continued_percent": (
                    100 * printed.continued_hosts / printed.charged_h,
                    estimate_of(cell.share_percent(_continued, METRICS["payment_h"])),
                ),
            }
            for quantity, (number, ours) in values.items():
                yield ComparisonRow("Table 1", job, "", style, quantity, number, ours)


def _continued(run: A2haRun) -> float:
    return run.continued_hosts


# ------------------------------------------------------------------------------------------------------ Table 2


def _table_2(figures: A2haFigures, runs: A2haRuns) -> Iterator[ComparisonRow]:
    """Each line as the paper has it, where hosts are ready at once, and with 5 minutes to boot."""
    yield from _line(figures.case("serial"), AT_ONCE, runs, lambda of: line_values(of.serial_at_once))
    yield from _line(figures.case("serial"), BOOTING, runs, lambda of: line_values(of.serial))
    yield from _line(figures.case("optimal"), AT_ONCE, runs, lambda of: optimal_by_paper(of.alone_at_once))
    for style in STYLES:
        yield from _true_optimum(style, runs)
    yield from _line(figures.case("1 per task"), AT_ONCE, runs, lambda of: line_values(of.alone_at_once))
    yield from _line(figures.case("1 per task"), BOOTING, runs, lambda of: line_values(of.alone))
    for case in figures.heuristic_cases:
        for cells, boot in ((runs.long, BOOTING), (runs.long_at_once, AT_ONCE)):
            for (name, initial), cell in cells.items():
                if initial == case.initial_hosts:
                    values = {quantity: cell.values(METRICS[quantity]) for quantity in LONG_QUANTITIES}
                    yield from _measured(case, f"{name}, {boot}", values)


def _line(
    case: PublishedLongCase, scenario: str, runs: A2haRuns, values_of: Callable[[LongLines], dict[str, float]]
) -> Iterator[ComparisonRow]:
    found = [values_of(lines) for lines in runs.lines]
    yield from _measured(case, scenario, {name: [values[name] for values in found] for name in LONG_QUANTITIES})


def _measured(
    case: PublishedLongCase, scenario: str, values: Mapping[LongQuantity, list[float]]
) -> Iterator[ComparisonRow]:
    """Means and standard deviations, and how many printed standard deviations the means are off."""
    for quantity in LONG_QUANTITIES:
        printed, spread = case.mean(quantity), case.sd(quantity)
        mean = mean_of(values[quantity])
        yield ComparisonRow("Table 2", LONG_JOB, scenario, case.case, quantity, printed, mean.estimate)
        sd = sd_of(values[quantity])
        ours = NOTHING if sd is None else Estimate(len(values[quantity]), sd.value, None)
        yield ComparisonRow("Table 2", LONG_JOB, scenario, case.case, f"{quantity}_sd", spread, ours)
        off = Estimate(1, (mean.value - printed) / spread, None) if printed is not None and spread else NOTHING
        yield ComparisonRow("Table 2", LONG_JOB, scenario, case.case, f"{quantity}_off_sd", None, off)


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
        yield ComparisonRow("Table 2", LONG_JOB, scenario, "true optimum", quantity, None, estimate(numbers))


# --------------------------------------------------------------------------------------------------------- plots


def sweep_name(ratios: Ratios) -> str:
    """Name of a setting of the sweeps."""
    return f"{ratios[0]:g} / {ratios[1]:g}"


def _sweep(runs: A2haRuns) -> Iterator[ComparisonRow]:
    for job in SHORT_JOBS:
        for ratios, cell in runs.sweep[job].items():
            for quantity in ("wall_h", "hosts", "speedup", "payment_h"):
                metric, scenario = METRICS[quantity], sweep_name(ratios)
                yield ComparisonRow(SWEEP, job, scenario, "", quantity, None, cell.mean(metric))
                yield ComparisonRow(SWEEP, job, scenario, "", f"{quantity}_sd", None, estimate_of(cell.sd(metric)))


def _speedups(runs: A2haRuns) -> Iterator[ComparisonRow]:
    """Speedup of all orderings, and by the number of hosts that an ordering led to."""
    for job in SHORT_JOBS:
        for style in STYLES:
            cell = runs.short(job, style)
            for quantity, ours in _speedup(cell.runs, cell).items():
                yield ComparisonRow(SPEEDUPS, job, "", style, quantity, None, ours)
            for hosts, found in cell.by_hosts.items():
                for quantity, ours in _speedup(found, cell).items():
                    yield ComparisonRow(BY_HOSTS, job, f"{hosts} hosts", style, quantity, None, ours)


def _speedup(found: Sequence[A2haRun], cell: A2haCell) -> dict[str, Estimate]:
    return {
        "share_percent": Estimate(len(cell.runs), 100 * len(found) / len(cell.runs), None),
        "hosts": estimate([run.hosts for run in found]),
        "speedup": estimate([run.speedup for run in found]),
        "speedup_sd": estimate_of(sd_of([run.speedup for run in found])),
        "efficiency_percent": estimate([run.efficiency_percent for run in found]),
    }


def _budget(runs: A2haRuns) -> Iterator[ComparisonRow]:
    """The conservative style for a user who pays the least, and for one who pays twice that."""
    for job, twice in runs.twice.items():
        for factor, cell in ((1.0, runs.short(job, "conservative")), (TWICE, twice)):
            for quantity, metric in METRICS.items():
                yield ComparisonRow(BUDGET, job, f"{factor:g}", "", quantity, None, cell.mean(metric))


def _not_knowing(runs: A2haRuns) -> Iterator[ComparisonRow]:
    for (job, style), pairs in runs.not_knowing.items():
        metrics: dict[str, Callable[[NotKnowing], float]] = {
            "payment_h": lambda pair: pair.run.paid_units,
            "fewest_h": lambda pair: pair.fewest_units,
            "least_h": lambda pair: pair.least_units,
            "payment_above_percent": lambda pair: 100 * (pair.run.paid_units / pair.least_units - 1),
            "payment_gap_percent": lambda pair: 100 * (1 - pair.least_units_bound / pair.least_units),
            "hosts": lambda pair: pair.run.hosts,
            "best_hosts": lambda pair: pair.hosts,
            "wall_h": lambda pair: pair.run.wall_h,
            "best_wall_h": lambda pair: pair.wall_s / SECONDS_PER_HOUR,
            "wall_above_percent": lambda pair: 100 * (pair.run.wall_s / pair.wall_s - 1),
            "gap_percent": lambda pair: pair.gap_percent,
        }
        for quantity, metric in metrics.items():
            ours = estimate([metric(pair) for pair in pairs])
            yield ComparisonRow(NOT_KNOWING, job, "", style, quantity, None, ours)
