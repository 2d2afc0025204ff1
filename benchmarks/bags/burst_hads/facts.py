"""Facts for the prose of the page, computed from the results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...claims import ABOUT, is_below, show
from ...paper_result import PublishedComparisonResult
from ...paper_tables import markdown_table
from ..paper_days import by_environment, environment_table, fleets
from .claims import SMALL_JOB
from .runs import ALL
from .sensitivity import SENSITIVITY, difference_table, result_of


def burst_hads_facts(results: Mapping[str, PublishedComparisonResult]) -> dict[str, Any]:
    """Return the values of the page's template."""
    result = next(iter(results.values()))

    def quiet(quantity: str) -> str:
        return f"{result.mean('Table IV', quantity, SMALL_JOB, '', 'burst-hads'):.3f}"

    of_same_plan = result_of(results, {"plan": "greedy"}).row("text", "cost_increase_percent", "all", "", ALL)
    # The page's own setting is replayed with fewer days as well, for the others to be compared with: it counts once.
    settings = {
        name: other for name, other in results.items() if other is result or not _is_same_setting(other, result)
    }
    cheap = [name.removeprefix(": ") for name, other in settings.items() if _is_cheap_and_fast(other)]
    return {
        "least_plan": quiet("cost_usd_least"),
        "most_plan": quiet("cost_usd_most"),
        "difference": markdown_table(difference_table(results)),
        "policy_is_no_dearer": is_below(of_same_plan.ours) == "holds",
        "cheap_and_fast": len(cheap) or "none",
        "cheap_and_fast_names": "; ".join(cheap),
        "n_settings": len(settings),
        "near_by_environment": not _is_cheap_and_fast(result)
        and any(_is_cheap_and_fast(other) for other in by_environment(results).values()),
        "environments": environment_table(results, SENSITIVITY.columns),
        "fleets": fleets(results, "ils"),
        "conclusion": "; ".join(
            f"with {name}, Burst-HADS costs {_mean(other, 'cost_increase_percent')} % more than HADS and takes "
            f"{_mean(other, 'makespan_reduction_percent')} % less time"
            for name, other in by_environment(results).items()
        )
        + " (printed: 1.92 and 25.87 %).",
    }


def _mean(result: PublishedComparisonResult, quantity: str) -> str:
    return show(result.row("text", quantity, "all", "", ALL).ours, 1)


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
