"""Sensitivity of the results to the assumptions: other settings beside those of the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from spotbag.core.text_tables import Column, Table

from ...claims import show
from ...paper import Change, Sensitivity, Setting, changed
from ...paper_result import PublishedComparisonResult
from ..paper_days import environments
from .claims import BURST_CHEAPER, SMALL_JOB
from .runs import ALL, BurstHadsOptions

_DAYS = 50
"""Of each cell, for each setting."""

_SEEDS = (0, 1, 2)
"""Of single plans."""

_WORDS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "spare_time": (
        "spare time in HADS",
        {"all": "asked of all VMs (as printed)", "spot": "asked of spot VMs (as read)"},
    ),
    "plan": (
        "plan of Burst-HADS",
        {"searched": "searched", "initial": "not searched", "greedy": "that of HADS"},
    ),
    "ended_early": (
        "idle VMs that end in a minute",
        {"none": "none", "burst-hads": "those of Burst-HADS", "both": "those of both"},
    ),
}
"""What takes the difference of the costs of Burst-HADS and HADS apart: an option, in words, and its values in words."""

_INITIAL = {"plan": "initial"}

_DIFFERENCE: Sequence[Mapping[str, str]] = (
    {"spare_time": "spot"},
    {},
    {"spare_time": "spot", **_INITIAL},
    _INITIAL,
    {**_INITIAL, "ended_early": "burst-hads"},
    {**_INITIAL, "ended_early": "both"},
    {"ended_early": "both"},
    {"plan": "greedy"},
)
"""Options that take the difference apart, in the order of their table; without any, it is what the page assumes."""


def _in_words(changes: Mapping[str, str]) -> Change:
    """Return the assumption in words, its value, and the options."""
    words = [(_WORDS[name][0], _WORDS[name][1][value]) for name, value in changes.items()]
    return ", ".join(name for name, _ in words), "; ".join(value for _, value in words), changes


_OTHERS: Sequence[Change] = (
    ("billing of ILS On-demand", "to the last task", {"baseline": "last-task"}),
    *(("plan of the search", f"seed {seed} on all days", {"plan_seed": seed}) for seed in _SEEDS),
    ("baseline of T3", "30 %", {"t3_baseline_percent": 30}),
    ("destination of moves in Algorithm 3", "once per search", {"vm_dest": "search"}),
    ("boot of a VM", "180 s", {"boot_s": 180}),
    ("rates of the scenarios", "half", {"rate_scale": 0.5}),
    ("D_spot", "by Algorithm 1 of HADS", {"d_spot": "estimated"}),
    ("scales of the search", "of the instance", {"scales": "instance"}),
)


def _settings(options: BurstHadsOptions) -> Sequence[Setting[BurstHadsOptions]]:
    changes = [*(_in_words(changes) for changes in _DIFFERENCE if changes), *_OTHERS]
    return [*environments(options), *changed(options, _DAYS, changes)]


def mean_of_all(quantity: str) -> Callable[[PublishedComparisonResult], str]:
    """A mean over all cells with its interval."""
    return lambda result: show(result.row("text", quantity, "all", "", ALL).ours, 1)


def cheaper_cells(result: PublishedComparisonResult) -> str:
    """Cells where Burst-HADS is cheaper in the mean, of those where the paper has it so."""
    rows = [row for row in result.rows if row.table == "Table VI" and row.quantity == "cost_reduction_percent"]
    means = [row.ours.mean or 0.0 for row in rows if row.scenario in BURST_CHEAPER]
    return f"{sum(mean > 0 for mean in means)} of {len(means)}"


def _late_percent(result: PublishedComparisonResult) -> str:
    """Days of all cells on which HADS is late, in percent."""
    rows = [row for row in result.rows if (row.quantity, row.policy) == ("late_days_percent", "hads")]
    return f"{sum(row.ours.mean or 0.0 for row in rows) / len(rows):.1f}"


def _quiet(quantity: str, digits: int) -> Callable[[PublishedComparisonResult], str]:
    """A mean over the plans of the small job, without hibernation."""
    return lambda result: f"{result.mean('Table IV', quantity, SMALL_JOB, '', 'burst-hads'):,.{digits}f}"


def difference_table(results: Mapping[str, PublishedComparisonResult]) -> Table:
    """Table of the assumptions behind the difference between the costs of Burst-HADS and HADS."""
    columns = {
        "cost increase (%)": mean_of_all("cost_increase_percent"),
        "cheaper, of sc2 and sc5": cheaper_cells,
        "makespan reduction (%)": mean_of_all("makespan_reduction_percent"),
    }
    cells = []
    for changes in _DIFFERENCE:
        result = result_of(results, changes)
        settings = [words[str(result.about[name])] for name, (_, words) in _WORDS.items()]
        cells.append([*settings, *(number(result) for number in columns.values())])
    headings = [Column(heading) for heading, _ in _WORDS.values()]
    return Table([*headings, *(Column(heading, True) for heading in columns)], cells)


def result_of(
    results: Mapping[str, PublishedComparisonResult], changes: Mapping[str, str]
) -> PublishedComparisonResult:
    """Return the result of a setting that takes the difference apart, on the days of all of them."""
    if changes:
        assumption, value, _ = _in_words(changes)
        return results[f"{assumption}: {value}"]
    own = [result for name, result in results.items() if name.startswith(":")]
    return own[-1]  # the page's own assumptions with as few days as all others


SENSITIVITY: Sensitivity[BurstHadsOptions] = Sensitivity(
    {
        "cost increase (%)": mean_of_all("cost_increase_percent"),
        "cheaper, of sc2 and sc5": cheaper_cells,
        "makespan reduction (%)": mean_of_all("makespan_reduction_percent"),
        "saving, Burst (%)": mean_of_all("burst_hads_saving_percent"),
        "saving, HADS (%)": mean_of_all("hads_saving_percent"),
        f"{SMALL_JOB}, no hibernation ($)": _quiet("cost_usd", 3),
        f"{SMALL_JOB}, no hibernation (s)": _quiet("makespan_s", 0),
        "late days, HADS (%)": _late_percent,
    },
    _settings,
)
