"""Reasons for the differences between our figures and those of the Burst-HADS paper: the numbers of `notes.md`."""

from __future__ import annotations

from collections.abc import Iterator

from spotbag.core.statistics import mean_of

from ...claims import show
from ...paper import read_notes
from ..paper_days import FROM_ALGORITHM_1, cost_usd, makespan_s
from ..printed import burst_hads_figures
from .runs import BurstHadsDays


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
