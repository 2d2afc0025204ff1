"""The tables of the Burst-HADS paper on our instances, beside what is printed."""

from __future__ import annotations

from collections.abc import Iterator

from ....core.statistics import Estimate
from ....replay.bags.outcome import Outcome
from ...paper_result import ComparisonRow, exactly
from ..paper_days import Cell, cost_usd, makespan_s
from ..printed import BurstHadsFigures, burst_hads_figures
from .runs import BOTH, BurstHadsDays


def burst_hads_rows(days: BurstHadsDays) -> Iterator[ComparisonRow]:
    """Tables IV and VI, and the averages of the text.

    Each scheduler has the plan of its own paper: the iterated local search with a weight of 0.5, and the greedy. Both
    meet the same days.
    """
    figures = burst_hads_figures()
    yield from _table_4(figures, days)
    yield from _table_6(figures, days)
    yield from _averages(figures, days)


def _table_4(figures: BurstHadsFigures, days: BurstHadsDays) -> Iterator[ComparisonRow]:
    """Jobs without hibernation."""
    for printed in figures.quiet:
        rivals = days.rivals[printed.job]
        columns: list[tuple[str, Outcome, float, float]] = [
            ("burst-hads", rivals.burst, printed.burst_hads_cost_usd, printed.burst_hads_makespan_s),
            ("hads", rivals.hads, printed.hads_cost_usd, printed.hads_makespan_s),
            ("on-demand", rivals.on_demand, printed.on_demand_cost_usd, printed.on_demand_makespan_s),
        ]
        for policy, outcome, cost, makespan in columns:
            yield ComparisonRow("Table IV", printed.job, "", policy, "cost_usd", cost, exactly(outcome.cost_usd))
            ours = exactly(makespan_s(outcome))
            yield ComparisonRow("Table IV", printed.job, "", policy, "makespan_s", makespan, ours)


def _table_6(figures: BurstHadsFigures, days: BurstHadsDays) -> Iterator[ComparisonRow]:
    """Jobs in scenarios."""
    for printed in figures.results:
        pair = days.pairs[printed.job, printed.scenario]

        def row(policy: str, quantity: str, shown: float, ours: Estimate, cell: Cell = pair.burst) -> ComparisonRow:
            return ComparisonRow("Table VI", cell.job, cell.scenario, policy, quantity, shown, ours)

        columns: list[tuple[Cell, float, float, int]] = [
            (
                pair.burst,
                printed.burst_hads_on_demand_started,
                printed.burst_hads_cost_usd,
                printed.burst_hads_makespan_s,
            ),
            (pair.hads, printed.hads_on_demand_started, printed.hads_cost_usd, printed.hads_makespan_s),
        ]
        for cell, started, cost, makespan in columns:
            policy = cell.policy
            yield row(policy, "hibernations", printed.hibernations, cell.mean(lambda day: day.hibernations))
            yield row(policy, "resumes", printed.resumes, cell.mean(lambda day: day.resumes))
            yield row(policy, "on_demand_started", started, cell.mean(lambda day: day.on_demand_started))
            yield row(policy, "cost_usd", cost, cell.mean(cost_usd))
            yield row(policy, "makespan_s", makespan, cell.mean(makespan_s))
            yield row(policy, "late_days_percent", 0.0, cell.mean(lambda day: 100.0 * (not day.meets_deadline)))
        yield row(BOTH, "cost_reduction_percent", printed.cost_reduction_percent, pair.cost_reduction.estimate)
        shorter = pair.makespan_reduction.estimate
        yield row(BOTH, "makespan_reduction_percent", printed.makespan_reduction_percent, shorter)


def _averages(figures: BurstHadsFigures, days: BurstHadsDays) -> Iterator[ComparisonRow]:
    """Means over the cells of Table VI: as the text says, and as the printed costs and makespans give."""
    ours = days.averages()
    for entry in figures.averages:
        estimate = ours[entry.quantity].estimate
        yield ComparisonRow("averages, text", "all", "", BOTH, entry.quantity, entry.printed, estimate)
        yield ComparisonRow("averages, Table VI", "all", "", BOTH, entry.quantity, entry.recomputed, estimate)
