"""The tables of the Burst-HADS paper on our instances, beside what is printed."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from ...claims import estimate_of
from ...data_files import Figures
from ...paper_result import ComparisonRow, row_of
from ...paper_tables import Quantities, means, measured
from ...statistics import average
from ..paper_days import BASELINE_POLICY, Cell, cost_usd, makespan_s
from ..printed import burst_hads_figures
from .runs import ALL, BOTH, SCENARIOS, BurstHadsDays, Pair

_POLICIES = ("burst-hads", "hads")
_CYCLES, _LAST_TASK = BASELINE_POLICY["cycles"], BASELINE_POLICY["last-task"]

_COST: Quantities[Cell] = means({"cost_usd": cost_usd})
_ENDS: Quantities[Cell] = means({"cost_usd": cost_usd, "makespan_s": makespan_s})
_EXTREMES: Quantities[Cell] = {
    "cost_usd_least": lambda cell: min(cell.values(cost_usd)),
    "cost_usd_most": lambda cell: max(cell.values(cost_usd)),
    "makespan_s_least": lambda cell: min(cell.values(makespan_s)),
    "makespan_s_most": lambda cell: max(cell.values(makespan_s)),
}
_INTERRUPTIONS: Quantities[Cell] = means(
    {"hibernations": lambda day: day.hibernations, "resumes": lambda day: day.resumes}
)
_OF_SCHEDULER: Quantities[Cell] = {**means({"on_demand_started": lambda day: day.on_demand_started}), **_ENDS}
_REDUCTIONS: Quantities[Pair] = {
    "cost_reduction_percent": lambda pair: pair.cost_reduction,
    "makespan_reduction_percent": lambda pair: pair.makespan_reduction,
}
_OF_BURST: Quantities[Pair] = {
    "steals": lambda pair: pair.burst.mean(lambda day: day.steals),
    "tasks_at_full_speed": lambda pair: pair.at_full_speed,
}


def burst_hads_rows(days: BurstHadsDays) -> Iterator[ComparisonRow]:
    """Tables IV and VI, savings against on-demand VMs, and the numbers of the text.

    Each scheduler has the plan of its own paper: the iterated local search with a weight of 0.5, and the greedy. Both
    meet the same days.
    """
    figures = burst_hads_figures()
    for quiet in figures.quiet:
        yield from _table_4(quiet, days)
    for printed in figures.results:
        yield from _table_6(printed, days)
    yield from _means(figures, days)
    yield from _savings(figures, days)
    ours = days.stated()
    for entry in figures.averages:
        place = "all", "", entry.of or ALL, entry.quantity, ours[entry.quantity, entry.of]
        yield row_of("text", *place, entry.printed, entry.relation)
        yield row_of("tables", *place, entry.recomputed)


def _table_4(printed: Figures, days: BurstHadsDays) -> Iterator[ComparisonRow]:
    """A job without hibernation: means over the plans of the search, and the least and the most of them."""
    rivals = days.rivals[printed.job]
    cells = {"burst-hads": rivals.burst, "hads": rivals.hads, _CYCLES: rivals.on_demand["cycles"]}
    for policy, cell in cells.items():
        name = "on_demand" if policy == _CYCLES else policy.replace("-", "_")
        for quantity, of in _ENDS.items():
            # HADS has one plan, and no interval.
            ours = estimate_of(of(cell)).mean if policy == "hads" else of(cell)
            yield row_of("Table IV", printed.job, "", policy, quantity, ours, getattr(printed, f"{name}_{quantity}"))
    yield from measured(("Table IV", printed.job, "", _LAST_TASK), _COST, rivals.on_demand["last-task"])
    yield from measured(("Table IV", printed.job, "", "burst-hads"), _EXTREMES, rivals.burst)


def _table_6(printed: Figures, days: BurstHadsDays) -> Iterator[ComparisonRow]:
    """A job in a scenario; the paper prints one number of hibernations, and of resumes, for both schedulers."""
    pair = days.pairs[printed.job, printed.scenario]
    place = "Table VI", printed.job, printed.scenario
    for policy in _POLICIES:
        yield from measured((*place, policy), _INTERRUPTIONS, pair.of(policy), printed)
        for quantity, of in _OF_SCHEDULER.items():
            shown = getattr(printed, f"{policy.replace('-', '_')}_{quantity}")
            yield row_of(*place, policy, quantity, of(pair.of(policy)), shown)
        late = pair.of(policy).mean(lambda day: 100.0 * (not day.meets_deadline))
        yield row_of(*place, policy, "late_days_percent", late, 0.0)
    yield from measured((*place, BOTH), _REDUCTIONS, pair, printed)
    yield from measured((*place, "burst-hads"), _OF_BURST, pair)


def _means(figures: Figures, days: BurstHadsDays) -> Iterator[ComparisonRow]:
    """Means of Table VI over the jobs, for each scenario and over all."""
    for of, scenarios in {**{scenario: (scenario,) for scenario in SCENARIOS}, "all": SCENARIOS}.items():
        printed = [entry for entry in figures.results if entry.scenario in scenarios]
        pairs = days.pairs_of(scenarios=scenarios)
        place = "Table VI, means", "all", of
        for name, ours in (
            ("cost_reduction_percent", average([pair.cost_reduction for pair in pairs])),
            ("makespan_reduction_percent", average([pair.makespan_reduction for pair in pairs])),
        ):
            yield row_of(*place, BOTH, name, ours, fmean(getattr(entry, name) for entry in printed))
        for policy in _POLICIES:
            mean = fmean(_printed_saving(figures, entry, policy) for entry in printed)
            ours = average([days.saving(pair.of(policy)) for pair in pairs])
            yield row_of(*place, policy, "saving_percent", ours, mean)


def _printed_saving(figures: Figures, entry: Figures, policy: str) -> float:
    """Saving by the printed costs."""
    [price] = [quiet.on_demand_cost_usd for quiet in figures.quiet if quiet.job == entry.job]
    cost: float = getattr(entry, f"{policy.replace('-', '_')}_cost_usd")
    return 100 * (1 - cost / float(price))


def _savings(figures: Figures, days: BurstHadsDays) -> Iterator[ComparisonRow]:
    """Savings against on-demand VMs, under both billings of these; the printed ones follow from the printed costs."""
    recomputed = {(entry.quantity, entry.of): entry.recomputed for entry in figures.averages}
    for policy in _POLICIES:
        mean = recomputed[f"{policy.replace('-', '_')}_saving_percent", ""]
        for billing, baseline in BASELINE_POLICY.items():
            name = f"saving_percent {baseline}"

            def shown(printed: float, billing: str = billing) -> float | None:
                return printed if billing == "cycles" else None

            for entry in figures.results:
                cell = days.pairs[entry.job, entry.scenario].of(policy)
                saving = shown(_printed_saving(figures, entry, policy))
                yield row_of("savings", entry.job, entry.scenario, policy, name, days.saving(cell, billing), saving)
            yield row_of("savings", "all", "mean", policy, name, days.mean_saving(policy, billing), shown(mean))
