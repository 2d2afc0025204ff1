"""What other assumptions change: the settings that the page of the paper compares with its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...claims import show
from ...paper import Sensitivity, Setting
from ...paper_result import PublishedComparisonResult
from .claims import BURST_CHEAPER, SMALL_JOB
from .runs import ALL, BurstHadsOptions

_DAYS = 50
"""Of each cell, for each setting."""

_SEEDS = (0, 1, 2)
"""Of single plans."""

_SPOT, _INITIAL = {"spare_time": "spot"}, {"plan": "initial"}

_DIFFERENCE: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "spot": ("spare time in HADS", "asked of spot VMs", _SPOT),
    "spot, initial": ("the same; plan", "asked of spot VMs; not searched", {**_SPOT, **_INITIAL}),
    "initial": ("plan of Burst-HADS", "not searched", _INITIAL),
    "initial, early": (
        "the same; idle VMs of Burst-HADS",
        "not searched; end in a minute",
        {**_INITIAL, "ended_early": "burst-hads"},
    ),
    "initial, both early": (
        "the same; idle VMs of both",
        "not searched; end in a minute",
        {**_INITIAL, "ended_early": "both"},
    ),
    "both early": ("idle VMs of both", "end in a minute", {"ended_early": "both"}),
    "greedy": ("plan of Burst-HADS", "that of HADS", {"plan": "greedy"}),
}
"""Settings that take the difference of the costs of Burst-HADS and HADS apart: assumption, value, options."""

_OTHERS: Sequence[tuple[str, str, Mapping[str, Any]]] = (
    ("billing of ILS On-demand", "to the last task", {"baseline": "last-task"}),
    *(("plan of the search", f"seed {seed} on all days", {"plan_seed": seed}) for seed in _SEEDS),
    ("baseline of T3", "30 %", {"t3_baseline_percent": 30}),
    ("boot of a VM", "180 s", {"boot_s": 180}),
    ("rates of the scenarios", "half", {"rate_scale": 0.5}),
    ("D_spot", "by Algorithm 1 of HADS", {"d_spot": "estimated"}),
    ("scales of the search", "of the instance", {"scales": "instance"}),
)


def _settings(options: BurstHadsOptions) -> Sequence[Setting[BurstHadsOptions]]:
    few = replace(options, runs=min(_DAYS, options.runs))
    return [
        Setting(assumption, value, replace(few, **changes))
        for assumption, value, changes in (*_DIFFERENCE.values(), *_OTHERS)
    ]


DECOMPOSITION = {
    "": f": {_DAYS} runs",
    **{key: f"{assumption}: {value}" for key, (assumption, value, _) in _DIFFERENCE.items()},
}
"""Names of the results that take the difference of the costs apart; first that of the page's own assumptions."""


def mean_of_all(quantity: str, sign: int = 1) -> Callable[[PublishedComparisonResult], str]:
    """A mean over all cells with its interval; with a sign of -1, what it falls by in place of what it grows by."""

    def mean(result: PublishedComparisonResult) -> str:
        ours = result.row("text", quantity, "all", "", ALL).ours
        return show(replace(ours, mean=None if ours.mean is None else sign * ours.mean), 1)

    return mean


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
