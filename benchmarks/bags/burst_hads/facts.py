"""What the page says in its prose, computed from the results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...paper_result import PublishedComparisonResult
from .claims import POINTS, SMALL_JOB
from .runs import ALL
from .sensitivity import DECOMPOSITION, cheaper_cells, mean_of_all


def burst_hads_facts(results: Mapping[str, PublishedComparisonResult]) -> dict[str, Any]:
    """Return what the template needs."""
    result = next(iter(results.values()))

    def quiet(quantity: str) -> str:
        return f"{result.mean('Table IV', quantity, SMALL_JOB, '', 'burst-hads'):.3f}"

    return {
        "least_plan": quiet("cost_usd_least"),
        "most_plan": quiet("cost_usd_most"),
        "both": sum(_is_cheap_and_fast(other) for other in results.values()) or "none",
        "without": {
            key: {
                "dearer": mean_of_all("cost_increase_percent")(results[name]),
                "cheaper_by": mean_of_all("cost_increase_percent", -1)(results[name]),
                "shorter": mean_of_all("makespan_reduction_percent")(results[name]),
                "cheaper": cheaper_cells(results[name]),
            }
            for key, name in DECOMPOSITION.items()
        },
    }


def _is_cheap_and_fast(result: PublishedComparisonResult) -> bool:
    """Whether Burst-HADS is hardly dearer than HADS, and as much faster as printed, give or take some points."""
    dearer, shorter = (
        result.row("text", quantity, "all", "", ALL)
        for quantity in ("cost_increase_percent", "makespan_reduction_percent")
    )
    assert dearer.printed is not None
    assert shorter.printed is not None
    return (dearer.ours.mean or 0.0) < dearer.printed + POINTS and (shorter.ours.mean or 0.0) > shorter.printed - POINTS
