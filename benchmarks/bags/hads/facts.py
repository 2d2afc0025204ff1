"""What the section of the docs says in its prose, computed from the results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...paper_result import PublishedComparisonResult
from ..paper_days import n_late_days
from ..printed import hads_figures
from .notes import price_factors
from .runs import BIG_JOB, POLICY, SCENARIOS


def hads_facts(results: Mapping[str, PublishedComparisonResult]) -> dict[str, Any]:
    """Return what the template needs."""
    result, estimated = results["as printed"], results["--d-spot estimated"]
    jobs = [printed.job for printed in hads_figures().baselines]
    factors = price_factors({job: result.mean("Table 9", "cost_usd", job, "", "on-demand") for job in jobs})
    ours = [factor for _, factor in factors.values()]
    *first, last = (f"{factor:.2f}" for factor, _ in factors.values())
    hibernations = result.row("Table 10", "hibernations", "J60", "sc4", POLICY)
    return {
        "jobs": ", ".join(jobs),
        "printed_factors": f"{', '.join(first)} and {last}",
        "our_factors": f"{min(ours):.2f} to {max(ours):.2f}",
        "our_hibernations": f"{hibernations.ours.mean:.1f}",
        "printed_hibernations": f"{hibernations.printed:.2f}",
        "estimated_d_spot_s": next(plan.d_spot_s for plan in estimated.plans if plan.job == BIG_JOB),
        "late_days": n_late_days(result, "Table 10"),
        "late_days_of_ed200": n_late_days(result, "Table 10", job=BIG_JOB),
        "late_days_estimated": n_late_days(estimated, "Table 10"),
        "days": f"{len(jobs) * len(SCENARIOS) * estimated.about['runs']:,}",
    }
