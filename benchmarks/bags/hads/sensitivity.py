"""Sensitivity of the results to assumptions on the HADS paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...paper import Change, Sensitivity, Setting, changed
from ...paper_result import PublishedComparisonResult
from ..paper_days import environments, n_late_days
from .runs import POLICY, HadsOptions
from .tables import ALL, MEANS

_RUNS = 100
"""Days of each cell in the table."""


_SPARE_TIME = ("spare time (Algorithm 7)", "of spot VMs only")
_D_SPOT = ("D_spot of J100 and ED200", "by Algorithm 1")

AS_READ = ": ".join(_SPARE_TIME)
BY_ALGORITHM_1 = ": ".join(_D_SPOT)
"""Names of results that the page speaks of."""


def _settings(options: HadsOptions) -> Sequence[Setting[HadsOptions]]:
    """Other environments, and other values of what is assumed, one at a time."""
    read = {"policy": f"{POLICY}+spare-time-spot"}
    changes: list[Change] = [
        ("on-demand VMs are paid", "to their last tasks", {"baseline": "last-task"}),
        ("plan of on-demand VMs", "their own", {"baseline_plan": "own"}),
        (*_D_SPOT, {"d_spot": "estimated"}),
        ("boot of a VM", "180 s", {"boot_s": 180}),
        ("rates of the scenarios", "half", {"rate_scale": 0.5}),
        (*_SPARE_TIME, read),
        ("migration trigger", "computed once", {"policy": f"{POLICY}+trigger-once"}),
        ("thieves", "on-demand VMs, too", {"policy": f"{POLICY}+any-thief"}),
        ("idle VMs", "end within a minute", {"policy": f"{POLICY}+idle-60"}),
        ("rates, spare time", "half, of spot VMs only", {"rate_scale": 0.5, **read}),
    ]
    return [*environments(options), *changed(options, _RUNS, changes)]


def base_of(
    results: Mapping[str, PublishedComparisonResult], other: PublishedComparisonResult
) -> PublishedComparisonResult:
    """Return the result under the page's own assumptions, with as many runs as another result."""
    return next(result for result in results.values() if result.about["runs"] == other.about["runs"])


def n_days(result: PublishedComparisonResult) -> int:
    """Days of all cells of Table 10."""
    return sum(row.ours.n for row in result.rows if (row.table, row.quantity) == ("Table 10", "late_days_percent"))


def _mean(quantity: str, digits: int) -> Callable[[PublishedComparisonResult], str]:
    return lambda result: f"{result.mean(MEANS, quantity, ALL, ALL, POLICY):.{digits}f}"


def _saving(result: PublishedComparisonResult) -> str:
    to_last_task = result.about["baseline"] == "last-task"
    return _mean("saving_to_last_task_percent" if to_last_task else "saving_percent", 1)(result)


def _late(result: PublishedComparisonResult) -> str:
    return f"{n_late_days(result, 'Table 10'):,} of {n_days(result):,}"


def could_be(result: PublishedComparisonResult, column: str) -> str:
    """Number of printed means of a column of Table 10 that are in reach of three of our days."""
    [finding] = [finding for finding in result.findings if finding.statement.startswith(f"Table 10, {column}")]
    return finding.ours


SENSITIVITY: Sensitivity[HadsOptions] = Sensitivity(
    {
        "mean cost ($)": _mean("cost_usd", 3),
        "mean saving (%)": _saving,
        "late days": _late,
        "could be ours: new VMs": lambda result: could_be(result, "new on-demand VMs"),
        "could be ours: makespan": lambda result: could_be(result, "makespan"),
        "could be ours: cost": lambda result: could_be(result, "cost"),
    },
    _settings,
)
