"""The tables of the Burst-HADS paper on our instances, beside what is printed."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ....core.statistics import Estimate, average
from ...paper_result import ComparisonRow, exactly
from ..paper_days import BASELINE_POLICY, Cell, cost_usd, makespan_s
from ..printed import BurstHadsFigures, burst_hads_figures
from .runs import ALL, BOTH, SCENARIOS, BurstHadsDays


def burst_hads_rows(days: BurstHadsDays) -> Iterator[ComparisonRow]:
    """Tables IV and VI, savings against on-demand VMs, and the numbers of the text.

    Each scheduler has the plan of its own paper: the iterated local search with a weight of 0.5, and the greedy. Both
    meet the same days.
    """
    figures = burst_hads_figures()
    yield from _table_4(figures, days)
    yield from _table_6(figures, days)
    yield from _means(figures, days)
    yield from _savings(figures, days)
    yield from _stated(figures, days)


def _table_4(figures: BurstHadsFigures, days: BurstHadsDays) -> Iterator[ComparisonRow]:
    """Jobs without hibernation: means over the plans of the search, and the least and the most of them."""
    for printed in figures.quiet:
        rivals = days.rivals[printed.job]

        def row(
            policy: str, quantity: str, shown: float | None, ours: Estimate, job: str = printed.job
        ) -> ComparisonRow:
            return ComparisonRow("Table IV", job, "", policy, quantity, shown, ours)

        yield row("burst-hads", "cost_usd", printed.burst_hads_cost_usd, rivals.burst.mean(cost_usd))
        yield row("burst-hads", "makespan_s", printed.burst_hads_makespan_s, rivals.burst.mean(makespan_s))
        yield row("hads", "cost_usd", printed.hads_cost_usd, exactly(cost_usd(rivals.hads.runs[0])))
        yield row("hads", "makespan_s", printed.hads_makespan_s, exactly(makespan_s(rivals.hads.runs[0])))
        on_demand = rivals.on_demand["cycles"]
        policy = BASELINE_POLICY["cycles"]
        yield row(policy, "cost_usd", printed.on_demand_cost_usd, on_demand.mean(cost_usd))
        yield row(policy, "makespan_s", printed.on_demand_makespan_s, on_demand.mean(makespan_s))
        yield row(BASELINE_POLICY["last-task"], "cost_usd", None, rivals.on_demand["last-task"].mean(cost_usd))
        for quantity, metric in (("cost_usd", cost_usd), ("makespan_s", makespan_s)):
            values = rivals.burst.values(metric)
            yield row("burst-hads", f"{quantity}_least", None, exactly(min(values)))
            yield row("burst-hads", f"{quantity}_most", None, exactly(max(values)))


def _table_6(figures: BurstHadsFigures, days: BurstHadsDays) -> Iterator[ComparisonRow]:
    """Jobs in scenarios."""
    for printed in figures.results:
        pair = days.pairs[printed.job, printed.scenario]

        def row(
            policy: str, quantity: str, shown: float | None, ours: Estimate, cell: Cell = pair.burst
        ) -> ComparisonRow:
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
        yield row("burst-hads", "steals", None, pair.burst.mean(lambda day: day.steals))
        yield row("burst-hads", "tasks_at_full_speed", None, pair.at_full_speed.estimate)


def _means(figures: BurstHadsFigures, days: BurstHadsDays) -> Iterator[ComparisonRow]:
    """Means of Table VI over the jobs, for each scenario and over all."""
    for scenarios in (*((scenario,) for scenario in SCENARIOS), SCENARIOS):
        printed = [entry for entry in figures.results if entry.scenario in scenarios]
        pairs = days.pairs_of(scenarios=scenarios)
        of = scenarios[0] if len(scenarios) == 1 else "all"
        for quantity, shown, ours in (
            (
                "cost_reduction_percent",
                [entry.cost_reduction_percent for entry in printed],
                [pair.cost_reduction for pair in pairs],
            ),
            (
                "makespan_reduction_percent",
                [entry.makespan_reduction_percent for entry in printed],
                [pair.makespan_reduction for pair in pairs],
            ),
        ):
            mean = math.fsum(shown) / len(shown)
            yield ComparisonRow("Table VI, means", "all", of, BOTH, quantity, mean, average(ours).estimate)
        price = {entry.job: entry.on_demand_cost_usd for entry in figures.quiet}
        for policy, costs, cells in (
            ("burst-hads", [entry.burst_hads_cost_usd for entry in printed], [pair.burst for pair in pairs]),
            ("hads", [entry.hads_cost_usd for entry in printed], [pair.hads for pair in pairs]),
        ):
            savings = [100 * (1 - cost / price[entry.job]) for cost, entry in zip(costs, printed, strict=True)]
            mean = math.fsum(savings) / len(savings)
            found = average([days.saving(cell) for cell in cells]).estimate
            yield ComparisonRow("Table VI, means", "all", of, policy, "saving_percent", mean, found)


def _savings(figures: BurstHadsFigures, days: BurstHadsDays) -> Iterator[ComparisonRow]:
    """Savings against on-demand VMs, under both billings of these; the printed ones follow from the printed costs."""
    price = {printed.job: printed.on_demand_cost_usd for printed in figures.quiet}
    for printed in figures.results:
        pair = days.pairs[printed.job, printed.scenario]
        for cell, cost in ((pair.burst, printed.burst_hads_cost_usd), (pair.hads, printed.hads_cost_usd)):
            printed_saving = 100 * (1 - cost / price[cell.job])
            for billing, policy in BASELINE_POLICY.items():
                shown = printed_saving if billing == "cycles" else None
                ours = days.saving(cell, billing).estimate
                quantity = f"saving_percent {policy}"
                yield ComparisonRow("savings", cell.job, cell.scenario, cell.policy, quantity, shown, ours)
    for name in ("burst_hads", "hads"):
        [printed_mean] = [
            entry.recomputed
            for entry in figures.averages
            if (entry.quantity, entry.of) == (f"{name}_saving_percent", "")
        ]
        policy = name.replace("_", "-")
        for billing, baseline in BASELINE_POLICY.items():
            shown = printed_mean if billing == "cycles" else None
            ours = days.mean_saving(policy, billing).estimate
            yield ComparisonRow("savings", "all", "mean", policy, f"saving_percent {baseline}", shown, ours)


def _stated(figures: BurstHadsFigures, days: BurstHadsDays) -> Iterator[ComparisonRow]:
    """Numbers of the text: as it says them, and as the printed costs and makespans give them."""
    ours = days.stated()
    for entry in figures.averages:
        estimate = ours[entry.quantity, entry.of].estimate
        about = "all", "", entry.of or ALL, entry.quantity
        yield ComparisonRow("text", *about, entry.printed, estimate, entry.relation)
        yield ComparisonRow("tables", *about, entry.recomputed, estimate)
