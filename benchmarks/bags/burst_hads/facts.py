"""What the section of the docs says in its prose, computed from the results, and from days of one plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ....instances.library import library_instance
from ....schedules.schedule import Schedule
from ...claims import show
from ...paper_result import PublishedComparisonResult
from ..paper_days import DayOptions, cost_usd, make_plan, n_late_days, paper_scenario, replay_cell
from .runs import BOTH, FAMILY

_JOB = "J60"


def burst_hads_facts(results: Mapping[str, PublishedComparisonResult]) -> dict[str, Any]:
    """Return what the template needs."""
    result = next(iter(results.values()))
    search = [plan.vms for plan in result.plans if plan.method == "ils"]
    greedy = [plan for plan in result.plans if plan.method == "greedy"]
    [d_spot_s] = [plan.d_spot_s for plan in greedy if plan.job == _JOB]
    averages = {
        quantity: f"{result.mean('averages, text', quantity, 'all', '', BOTH):.0f}"
        for quantity in ("makespan_reduction_percent", "cost_increase_percent")
    }
    quiet = {name: result.row("Table IV", "cost_usd", _JOB, "", name) for name in ("burst-hads", "hads")}
    return {
        "makespan_reduction": averages["makespan_reduction_percent"],
        "cost_increase": averages["cost_increase_percent"],
        "late_days": n_late_days(result, "Table VI", policy="burst-hads") or "none",
        "search_vms": _range(sum(vms.values()) for vms in search),
        "greedy_vms": _range(sum(plan.vms.values()) for plan in greedy),
        "burstable_vms": _range(sum(n for name, n in vms.items() if name.startswith("t3.")) for vms in search),
        "quiet_burst": f"{quiet['burst-hads'].ours.mean:.3f}",
        "quiet_hads": f"{quiet['hads'].ours.mean:.3f}",
        "printed_burst": f"{quiet['burst-hads'].printed:.3f}",
        "printed_hads": f"{quiet['hads'].printed:.3f}",
        "d_spot_s": d_spot_s,
        "same_plan": _same_plan(d_spot_s, result.about["runs"]),
    }


def _same_plan(d_spot_s: int | None, runs: int) -> dict[str, str]:
    """By how much Burst-HADS is dearer than HADS from the same greedy plan, by scenario."""
    plan: Schedule = make_plan(library_instance(f"{FAMILY}/{_JOB}").replace(d_spot_s=d_spot_s), "greedy")
    options = DayOptions(runs)
    found = {}
    for scenario in ("sc2", "sc5"):
        days_from = paper_scenario(FAMILY, scenario, options)
        policies = ["burst-hads", "hads"]
        burst, hads = replay_cell(_JOB, scenario, days_from, plan, policies, options, lambda days, label: None)
        found[scenario] = show(burst.less(hads, cost_usd), 4)
    return found


def _range(numbers: Iterable[int]) -> str:
    """The least and the largest of some numbers, as ``1 to 2``."""
    low, *others = sorted(set(numbers))
    return f"{low} to {others[-1]}" if others else f"{low}"
