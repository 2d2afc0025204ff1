"""The paper on Burst-HADS: Teylo et al., 2020; its tables, what other assumptions change, and what its page says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from spotbag.core.text_tables import Column, Table

from ...claims import ABOUT, estimate_of, is_below, show
from ...data_files import Figures, read_changes, read_notes, read_toml
from ...paper import Change, Paper, Results, Setting, by_environment, changed, read_columns
from ...paper_tables import (
    ComparisonRow,
    PaperTables,
    PublishedComparisonResult,
    Quantities,
    markdown_table,
    means,
    measured,
    row_of,
)
from ...statistics import Statistic, average, mean_of
from ..paper_days import (
    BASELINE_POLICY,
    FROM_ALGORITHM_1,
    Cell,
    burst_hads_figures,
    cost_usd,
    environments,
    fleets,
    makespan_s,
)
from .claims import BURST_CHEAPER, burst_hads_claims, burst_hads_findings
from .runs import ALL, BOTH, SCENARIOS, BurstHadsDays, BurstHadsOptions, Pair, burst_hads_days, n_burst_hads_days

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
_REDUCTIONS: Mapping[str, Callable[[Pair], Statistic]] = {
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
        for name, of_pair in _REDUCTIONS.items():
            ours = average([of_pair(pair) for pair in pairs])
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
            # The printed costs are those of VMs that are billed to the ends of their cycles.
            name, printed = f"saving_percent {baseline}", billing == "cycles"
            for entry in figures.results:
                cell = days.pairs[entry.job, entry.scenario].of(policy)
                saving = _printed_saving(figures, entry, policy) if printed else None
                yield row_of("savings", entry.job, entry.scenario, policy, name, days.saving(cell, billing), saving)
            shown = mean if printed else None
            yield row_of("savings", "all", "mean", policy, name, days.mean_saving(policy, billing), shown)


# ---------------------------------------------------------------------------- assumptions, notes, page

_DAYS = 50
"""Days of each cell, for each setting."""

_APART = read_toml(__package__, "difference.toml")
_WORDS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    name: (words["heading"], words["values"]) for name, words in _APART["options"].items()
}
"""Options that account for the difference of the costs of Burst-HADS and HADS: in words, with their values in words."""

_DIFFERENCE: Sequence[Mapping[str, str]] = _APART["lines"]
"""Options that take the difference apart, in the order of their table; without any, it is what the page assumes."""


def _in_words(changes: Mapping[str, str]) -> Change:
    """Return the assumption in words, its value, and the options."""
    words = [(_WORDS[name][0], _WORDS[name][1][value]) for name, value in changes.items()]
    return ", ".join(name for name, _ in words), "; ".join(value for _, value in words), changes


def _settings(options: BurstHadsOptions) -> Sequence[Setting[BurstHadsOptions]]:
    difference = [_in_words(changes) for changes in _DIFFERENCE if changes]
    return [*environments(options), *changed(options, _DAYS, [*difference, *read_changes(__package__)])]


def cheaper_cells(result: PublishedComparisonResult) -> str:
    """Cells where Burst-HADS is cheaper in the mean, of those where the paper has it so."""
    rows = [row for row in result.rows if row.table == "Table VI" and row.quantity == "cost_reduction_percent"]
    means = [row.ours.mean or 0.0 for row in rows if row.scenario in BURST_CHEAPER]
    return f"{sum(mean > 0 for mean in means)} of {len(means)}"


def _late_percent(result: PublishedComparisonResult) -> str:
    """Days of all cells on which HADS is late, in percent."""
    rows = [row for row in result.rows if (row.quantity, row.policy) == ("late_days_percent", "hads")]
    return f"{sum(row.ours.mean or 0.0 for row in rows) / len(rows):.1f}"


def difference_table(results: Results) -> Table:
    """Table of the assumptions behind the difference between the costs of Burst-HADS and HADS."""
    # The others are no part of the difference (see `settings.toml`).
    columns = dict(list(COLUMNS.items())[:3])
    cells = []
    for changes in _DIFFERENCE:
        result = result_of(results, changes)
        settings = [words[str(result.about[name])] for name, (_, words) in _WORDS.items()]
        cells.append([*settings, *(number(result) for number in columns.values())])
    headings = [Column(heading) for heading, _ in _WORDS.values()]
    return Table([*headings, *(Column(heading, True) for heading in columns)], cells)


def result_of(results: Results, changes: Mapping[str, str]) -> PublishedComparisonResult:
    """Return the result of a setting that takes the difference apart, on the days of all of them."""
    if changes:
        assumption, value, _ = _in_words(changes)
        return results[f"{assumption}: {value}"]
    own = [result for name, result in results.items() if name.startswith(":")]
    return own[-1]  # the page's own assumptions with as few days as all others


COLUMNS = read_columns(__package__, cheaper_cells=cheaper_cells, late_percent=_late_percent)


def burst_hads_notes(days: BurstHadsDays) -> Iterator[str]:
    """Reasons, each with numbers."""
    plans = [plan for rivals in days.rivals.values() for plan in rivals.plans]
    given = dict.fromkeys((plan.job, plan.d_spot_s) for plan in plans if plan.d_spot_source != FROM_ALGORITHM_1)
    on_demand = [(printed, days.rivals[printed.job].on_demand["cycles"]) for printed in burst_hads_figures().quiet]
    ends = [100 * (cell.mean(makespan_s).mean or 0.0) / printed.on_demand_makespan_s for printed, cell in on_demand]
    costs = [100 * (cell.mean(cost_usd).mean or 0.0) / printed.on_demand_cost_usd for printed, cell in on_demand]
    values = {
        "on_demand_ends": f"{min(ends):.0f} to {max(ends):.0f} %",
        "on_demand_costs": f"{min(costs):.0f} to {max(costs):.0f} %",
        "sizes": ", ".join(
            f"{job} {show(mean_of([plan.vms for plan in rivals.burst_plans]).estimate, 1)} and "
            f"{sum(rivals.plans[1].vms.values())}"
            for job, rivals in days.rivals.items()
        ),
        "printed_d_spot": ", ".join(f"{job} {d_spot_s} s" for job, d_spot_s in given) or None,
    }
    return read_notes(__package__, values)


def burst_hads_facts(results: Results) -> dict[str, Any]:
    """Return the values of the page's template."""
    result = next(iter(results.values()))

    of_same_plan = result_of(results, {"plan": "greedy"}).row("text", "cost_increase_percent", "all", "", ALL)
    # The page's own setting is replayed with fewer days as well, for the others to be compared with: it counts once.
    settings = {
        name: other for name, other in results.items() if other is result or not _is_same_setting(other, result)
    }
    cheap = [name.removeprefix(": ") for name, other in settings.items() if _is_cheap_and_fast(other)]
    return {
        "difference": markdown_table(difference_table(results)),
        "policy_is_no_dearer": is_below(of_same_plan.ours) == "holds",
        "cheap_and_fast": len(cheap) or "none",
        "cheap_and_fast_names": "; ".join(cheap),
        "n_settings": len(settings),
        "near_by_environment": not _is_cheap_and_fast(result)
        and any(_is_cheap_and_fast(other) for other in by_environment(results).values()),
        "fleets": fleets(results, "ils"),
    }


def _is_same_setting(result: PublishedComparisonResult, other: PublishedComparisonResult) -> bool:
    return {**result.about, "runs": 0} == {**other.about, "runs": 0}


def _is_cheap_and_fast(result: PublishedComparisonResult) -> bool:
    """True if Burst-HADS is hardly dearer than HADS, and as much faster as printed, give or take some points."""
    dearer, shorter = (
        result.row("text", quantity, "all", "", ALL)
        for quantity in ("cost_increase_percent", "makespan_reduction_percent")
    )
    assert dearer.printed is not None
    assert shorter.printed is not None
    return (dearer.ours.mean or 0.0) < dearer.printed + ABOUT.points and (
        shorter.ours.mean or 0.0
    ) > shorter.printed - ABOUT.points


PAPER: Paper[BurstHadsOptions, BurstHadsDays] = Paper(
    key="burst-hads",
    name="Burst-HADS",
    package=__package__,
    options=BurstHadsOptions,
    runs_are="days of each cell",
    n_runs=n_burst_hads_days,
    replay=burst_hads_days,
    rows=burst_hads_rows,
    claims=burst_hads_claims,
    findings=burst_hads_findings,
    notes=burst_hads_notes,
    tables=PaperTables.read(__package__),
    facts=burst_hads_facts,
    columns=COLUMNS,
    settings=_settings,
    plans=lambda days: (plan for rivals in days.rivals.values() for plan in rivals.plans),
)
