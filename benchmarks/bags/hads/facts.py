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
    result, estimated, half_rates = (
        next(iter(results.values())),
        results["D_spot: by Algorithm 1"],
        results["rates of the scenarios: half"],
    )
    jobs = [printed.job for printed in hads_figures().baselines]
    factors = price_factors({job: result.mean("Table 9", "cost_usd", job, "", "on-demand") for job in jobs})
    ours = [factor for _, factor in factors.values()]
    *first, last = (f"{factor:.2f}" for factor, _ in factors.values())
    orders = ("sc2 is the dearest", "sc3 is the cheapest", "the saving is larger in sc4 than in sc2")
    steals = {
        scenario: result.row("Fig. 12", "steal_success_percent", BIG_JOB, scenario, POLICY).ours.mean or 0.0
        for scenario in ("sc2", "sc5")
    }
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
        "orders_hold": all(result.verdict(order) == "holds" for order in orders),
        "ed200_above_on_demand": -result.mean("Table 10", "saving_percent", BIG_JOB, "sc2", POLICY),
        "half_rates_cheaper": half_rates.verdict("HADS is cheaper than on-demand VMs") == "holds"
        and half_rates.verdict(f"{BIG_JOB}, k_h = 7, k_r = 0: dearer") == "does not hold",
        "steals_sc2": steals["sc2"],
        "steals_sc5": steals["sc5"],
        "estimated_on_demand": all(
            name.endswith("on demand") for plan in estimated.plans if plan.job == BIG_JOB for name in plan.vms
        ),
        "days": f"{len(jobs) * len(SCENARIOS) * estimated.about['runs']:,}",
    }
