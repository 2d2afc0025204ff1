"""The tables of the Burst-HADS paper on our instances, beside what is printed."""

from __future__ import annotations

import math
from collections.abc import Iterator

from spotbag.core.statistics import average

from ...claims import estimate_of
from ...paper_result import ComparisonRow, row_of
from ...paper_tables import JOB, SCENARIO, PaperColumn, PaperTable, Quantity, StatedNumbers, measured, ours_alone
from ..paper_days import BASELINE_POLICY, Cell, cost_usd, makespan_s
from ..printed import BurstHadsFigures, PublishedComparison, PublishedQuietDay, burst_hads_figures
from .runs import ALL, BOTH, SCENARIOS, BurstHadsDays, Pair

_POLICIES = {"burst-hads": "Burst", "hads": "HADS"}
_CYCLES, _LAST_TASK = BASELINE_POLICY["cycles"], BASELINE_POLICY["last-task"]

_COST = Quantity[Cell]("cost_usd", "$", 3, lambda cell: cell.mean(cost_usd))
_MAKESPAN = Quantity[Cell]("makespan_s", "s", 0, lambda cell: cell.mean(makespan_s))
_EXTREMES = (
    Quantity[Cell]("cost_usd_least", "least plan ($)", 3, lambda cell: min(cell.values(cost_usd))),
    Quantity[Cell]("cost_usd_most", "most ($)", 3, lambda cell: max(cell.values(cost_usd))),
    Quantity[Cell]("makespan_s_least", "least plan (s)", 0, lambda cell: min(cell.values(makespan_s))),
    Quantity[Cell]("makespan_s_most", "most (s)", 0, lambda cell: max(cell.values(makespan_s))),
)
_HIBERNATIONS = Quantity[Cell]("hibernations", "hibernations", 2, lambda cell: cell.mean(lambda day: day.hibernations))
_RESUMES = Quantity[Cell]("resumes", "resumes", 2, lambda cell: cell.mean(lambda day: day.resumes))
_STARTED = Quantity[Cell]("on_demand_started", "VMs", 2, lambda cell: cell.mean(lambda day: day.on_demand_started))
_LATE = Quantity[Cell](
    "late_days_percent", "late days (%)", 1, lambda cell: cell.mean(lambda day: 100.0 * (not day.meets_deadline))
)
_REDUCTIONS = (
    Quantity[Pair]("cost_reduction_percent", "reduction (%)", 1, lambda pair: pair.cost_reduction),
    Quantity[Pair]("makespan_reduction_percent", "reduction (%)", 1, lambda pair: pair.makespan_reduction),
)
_OF_BURST = (
    Quantity[Pair]("steals", "steals", 2, lambda pair: pair.burst.mean(lambda day: day.steals)),
    Quantity[Pair]("tasks_at_full_speed", "tasks at full speed", 2, lambda pair: pair.at_full_speed),
)


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


def _table_4(printed: PublishedQuietDay, days: BurstHadsDays) -> Iterator[ComparisonRow]:
    """A job without hibernation: means over the plans of the search, and the least and the most of them."""
    rivals = days.rivals[printed.job]
    cells = {"burst-hads": rivals.burst, "hads": rivals.hads, _CYCLES: rivals.on_demand["cycles"]}
    for policy, cell in cells.items():
        name = "on_demand" if policy == _CYCLES else policy.replace("-", "_")
        for quantity in (_COST, _MAKESPAN):
            # HADS has one plan, and no interval.
            ours = quantity.of(cell)
            ours = estimate_of(ours).mean if policy == "hads" else ours
            shown = getattr(printed, f"{name}_{quantity.name}")
            yield row_of("Table IV", printed.job, "", policy, quantity.name, ours, shown)
    yield from measured(("Table IV", printed.job, "", _LAST_TASK), [_COST], rivals.on_demand["last-task"])
    yield from measured(("Table IV", printed.job, "", "burst-hads"), _EXTREMES, rivals.burst)


def _table_6(printed: PublishedComparison, days: BurstHadsDays) -> Iterator[ComparisonRow]:
    """A job in a scenario; the paper prints one number of hibernations, and of resumes, for both schedulers."""
    pair = days.pairs[printed.job, printed.scenario]
    place = "Table VI", printed.job, printed.scenario
    for policy in _POLICIES:
        yield from measured((*place, policy), [_HIBERNATIONS, _RESUMES], pair.of(policy), printed)
        for quantity in (_STARTED, _COST, _MAKESPAN):
            shown = getattr(printed, f"{policy.replace('-', '_')}_{quantity.name}")
            yield row_of(*place, policy, quantity.name, quantity.of(pair.of(policy)), shown)
        yield row_of(*place, policy, _LATE.name, _LATE.of(pair.of(policy)), 0.0)
    yield from measured((*place, BOTH), _REDUCTIONS, pair, printed)
    yield from measured((*place, "burst-hads"), _OF_BURST, pair)


def _means(figures: BurstHadsFigures, days: BurstHadsDays) -> Iterator[ComparisonRow]:
    """Means of Table VI over the jobs, for each scenario and over all."""
    for of, scenarios in {**{scenario: (scenario,) for scenario in SCENARIOS}, "all": SCENARIOS}.items():
        printed = [entry for entry in figures.results if entry.scenario in scenarios]
        pairs = days.pairs_of(scenarios=scenarios)
        place = "Table VI, means", "all", of
        for name, ours in (
            ("cost_reduction_percent", average([pair.cost_reduction for pair in pairs])),
            ("makespan_reduction_percent", average([pair.makespan_reduction for pair in pairs])),
        ):
            yield row_of(*place, BOTH, name, ours, _mean(getattr(entry, name) for entry in printed))
        for policy in _POLICIES:
            mean = _mean(_printed_saving(figures, entry, policy) for entry in printed)
            ours = average([days.saving(pair.of(policy)) for pair in pairs])
            yield row_of(*place, policy, "saving_percent", ours, mean)


def _mean(values: Iterator[float]) -> float:
    found = list(values)
    return math.fsum(found) / len(found)


def _printed_saving(figures: BurstHadsFigures, entry: PublishedComparison, policy: str) -> float:
    """Saving that follows from the printed costs."""
    [price] = [quiet.on_demand_cost_usd for quiet in figures.quiet if quiet.job == entry.job]
    cost: float = getattr(entry, f"{policy.replace('-', '_')}_cost_usd")
    return 100 * (1 - cost / price)


def _savings(figures: BurstHadsFigures, days: BurstHadsDays) -> Iterator[ComparisonRow]:
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


def _of_both(quantity: Quantity[Cell], unit: str = "", *, printed: bool = True) -> list[PaperColumn]:
    """Columns of both schedulers; of hibernations and resumes, the printed number stands once."""
    return [
        quantity.column(policy, unit.format(name), printed=printed or policy == "burst-hads")
        for policy, name in _POLICIES.items()
    ]


def _saving_column(policy: str, words: str, baseline: str) -> PaperColumn:
    heading = f"{_POLICIES[policy]}, {words} (%)"
    return PaperColumn(heading, f"saving_percent {baseline}", 1, policy, baseline == _CYCLES)


HEADLINE = PaperTable(
    "Table VI, means",
    "Means of Table VI over the jobs: what Burst-HADS takes off cost and makespan of HADS, and what both save against "
    "ILS On-demand",
    [
        _REDUCTIONS[0].column(BOTH, "cost reduction (%)"),
        _REDUCTIONS[1].column(BOTH, "makespan reduction (%)"),
        *(PaperColumn(f"saving, {name} (%)", "saving_percent", 1, policy) for policy, name in _POLICIES.items()),
    ],
    leads=(SCENARIO,),
)

_COSTS, _MAKESPANS = _of_both(_COST, "{} ($)"), _of_both(_MAKESPAN, "{} (s)")
_LEAST_COST, _MOST_COST, _LEAST_TIME, _MOST_TIME = ours_alone(*(found.column("burst-hads") for found in _EXTREMES))

TABLES = (
    PaperTable(
        "Table IV",
        "Table IV: cost without hibernation",
        [
            _COSTS[0],
            _LEAST_COST,
            _MOST_COST,
            _COSTS[1],
            _COST.column(_CYCLES, "on-demand ($)"),
            _COST.column(_LAST_TASK, "the same, to the last task ($)", printed=False),
        ],
        leads=(JOB,),
    ),
    PaperTable(
        "Table IV",
        "Table IV: makespan without hibernation",
        [_MAKESPANS[0], _LEAST_TIME, _MOST_TIME, _MAKESPANS[1], _MAKESPAN.column(_CYCLES, "on-demand (s)")],
        leads=(JOB,),
    ),
    PaperTable(
        "Table VI",
        "Table VI: hibernations and resumes (the paper prints one number for both schedulers)",
        [
            *_of_both(_HIBERNATIONS, "hibernations, {}", printed=False),
            *_of_both(_RESUMES, "resumes, {}", printed=False),
        ],
    ),
    PaperTable(
        "Table VI",
        "Table VI: regular on-demand VMs started, and late days",
        [*_of_both(_STARTED, "VMs, {}"), *_of_both(_LATE, "late days (%), {}")],
    ),
    PaperTable(
        "Table VI",
        "Table VI: cost, and by how much Burst-HADS reduces it",
        [*_COSTS, _REDUCTIONS[0].column(BOTH)],
    ),
    PaperTable(
        "Table VI",
        "Table VI: makespan, and by how much Burst-HADS reduces it",
        [*_MAKESPANS, _REDUCTIONS[1].column(BOTH)],
    ),
    PaperTable(
        "savings",
        "Savings against on-demand VMs: idle ones billed to the ends of their cycles, and each to its last task",
        [
            _saving_column(policy, words, baseline)
            for policy in _POLICIES
            for words, baseline in (("cycles", _CYCLES), ("last task", _LAST_TASK))
        ],
    ),
    PaperTable(
        "Table VI",
        "Stealing, and tasks migrated to burstable VMs at full speed, under Burst-HADS (the paper prints neither)",
        ours_alone(*(quantity.column("burst-hads") for quantity in _OF_BURST)),
    ),
)

STATED = StatedNumbers(
    "Numbers of the text",
    text="text",
    follows="tables",
    source="from Tables IV and VI",
    digits=2,
    text_digits=2,
    wording={
        "quiet_makespan_reduction_percent": "{policy}, no hibernation: makespan reduction (%)",
        "quiet_cost_increase_percent": "{policy}, no hibernation: cost increase (%)",
        "quiet_saving_percent": "no hibernation: saving of Burst-HADS against on-demand (%)",
        "quiet_makespan_increase_percent": "no hibernation: makespan increase against on-demand (%)",
        "makespan_reduction_percent": "{policy}: makespan reduction (%)",
        "cost_increase_percent": "{policy}: cost increase (%)",
        "burst_hads_saving_percent": "{policy}: saving of Burst-HADS against on-demand (%)",
        "hads_saving_percent": "{policy}: saving of HADS against on-demand (%)",
    },
)
