"""Sensitivity of the results to assumptions on the HADS paper."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ...paper import Sensitivity, Setting
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
    """Other values of what is assumed, one at a time."""
    few = replace(options, runs=min(options.runs, _RUNS))
    other_rules = {
        "spare-time-spot": _SPARE_TIME,
        "trigger-once": ("migration trigger", "computed once"),
        "any-thief": ("thieves", "on-demand VMs, too"),
        "idle-60": ("idle VMs", "end within a minute"),
    }
    return [
        *environments(options),
        Setting("on-demand VMs are paid", "to their last tasks", replace(few, baseline="last-task")),
        Setting("plan of on-demand VMs", "their own", replace(few, baseline_plan="own")),
        Setting(*_D_SPOT, replace(few, d_spot="estimated")),
        Setting("boot of a VM", "180 s", replace(few, boot_s=180)),
        Setting("rates of the scenarios", "half", replace(few, rate_scale=0.5)),
        *(Setting(*words, replace(few, policy=f"{POLICY}+{rule}")) for rule, words in other_rules.items()),
        Setting(
            "rates, spare time",
            "half, of spot VMs only",
            replace(few, rate_scale=0.5, policy=f"{POLICY}+spare-time-spot"),
        ),
    ]


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
