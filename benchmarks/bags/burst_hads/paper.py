"""The paper on Burst-HADS: Teylo et al., 2020; what other assumptions change, and what its page says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spotbag.core.text_tables import Column, Table

from ...claims import ABOUT, is_below, show
from ...data_files import read_changes, read_notes, read_toml
from ...paper import Change, Paper, Results, Setting, by_environment, changed, read_columns
from ...paper_result import PublishedComparisonResult
from ...paper_tables import PaperTables, markdown_table
from ...statistics import mean_of
from ..paper_days import FROM_ALGORITHM_1, cost_usd, environments, fleets, makespan_s
from ..printed import burst_hads_figures
from .claims import BURST_CHEAPER, burst_hads_claims, burst_hads_findings
from .runs import ALL, BurstHadsDays, BurstHadsOptions, burst_hads_days, n_burst_hads_days
from .tables import burst_hads_rows

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
