"""Facts for the prose of the page, computed from the rows of the tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...claims import span
from ...paper_result import PublishedComparisonResult
from .printed import LONG_QUANTITIES, a2ha_figures
from .runs import AT_THE_START
from .settings import LONG_JOB, RATIOS, SHORT_JOBS, STYLES, sweep_ratios
from .tables import AT_ONCE, BY_HOSTS, NOT_KNOWING, SWEEP, sweep_name

_MANY = 1.5
"""From how many times the optimal number of hosts on the docs speak of many."""

_KIND = {
    "image": "a task takes some minutes, more or less",
    "synthetic": "tasks are alike",
    "test-suite": "a few tasks are much longer than the rest",
    "long": "an hour is short against a task",
}
"""What is special about a job."""


def a2ha_facts(results: Mapping[str, PublishedComparisonResult]) -> dict[str, Any]:
    """Return the values of the page's template."""
    result = next(iter(results.values()))
    return {
        "ratios": {sweep_name((ratio, ratio)) for ratio in RATIOS if ratio},
        "n_settings": len(list(sweep_ratios())),
        "first_orderings": next(row.ours.n for row in result.rows if row.table == NOT_KNOWING),
        "few_orderings": min(other.about["runs"] for other in results.values()),
        **_start(result),
        **_sweeps(result),
        **_many_hosts(result),
        **_not_knowing(result),
    }


def _start(result: PublishedComparisonResult) -> dict[str, Any]:
    """Largest deviation of hosts from the start on from the printed heuristic, in printed standard deviations."""
    off = []
    for case in a2ha_figures().heuristic_cases:
        for quantity in LONG_QUANTITIES:
            row = result.row("Table 2", f"{quantity}_off_sd", LONG_JOB, f"{AT_THE_START}, {AT_ONCE}", case.case)
            off.append(abs(row.ours.mean or 0.0))
    return {"start_off_sd": f"{max(off):.1f}"}


def _sweeps(result: PublishedComparisonResult) -> dict[str, Any]:
    """Effects of both ratios on time and hosts, from the least to the most; variation of means and orderings."""
    equal = [sweep_name((ratio, ratio)) for ratio in RATIOS if ratio]

    def change(quantity: str) -> float:
        few, many = (result.mean(SWEEP, quantity, "image", name) for name in (equal[0], equal[-1]))
        return many / few

    hosts = {job: [result.mean(SWEEP, "hosts", job, name) for name in equal] for job in SHORT_JOBS}
    sds = [result.mean(SWEEP, "hosts_sd", "test-suite", name) for name in equal]
    return {
        "image_time_percent": f"{100 * (1 - change('wall_h')):.0f}",
        "image_hosts_percent": f"{100 * (change('hosts') - 1):.0f}",
        "image_sd_times": f"{change('hosts_sd'):.1f}",
        "synthetic_hosts": span(hosts["synthetic"], 1),
        "suite_hosts": span(hosts["test-suite"], 0),
        "suite_sd": span(sds, 0),
    }


def _many_hosts(result: PublishedComparisonResult) -> dict[str, Any]:
    """Speedup by hosts of orderings with many hosts, and of the others, in both styles."""
    sums: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    for row in result.rows:
        if (row.table, row.quantity) == (BY_HOSTS, "efficiency_percent"):
            optimal = a2ha_figures().job(row.job).optimal_hosts
            share = result.mean(BY_HOSTS, "share_percent", row.job, row.scenario, row.policy)
            sums[int(row.scenario.split()[0]) > _MANY * optimal].append((share, row.ours.mean or 0.0))
    few, many = (_weighted(sums[is_many]) for is_many in (False, True))
    return {"many_times": f"{_MANY:g}", "few_efficiency": few, "many_efficiency": many}


def _weighted(pairs: list[tuple[float, float]]) -> str:
    weight = sum(share for share, _ in pairs)
    return f"{sum(share * value for share, value in pairs) / weight:.0f}" if weight else "-"


def _not_knowing(result: PublishedComparisonResult) -> dict[str, Any]:
    """Least and most cost of not knowing the run times, and differences between styles, and between jobs."""
    found: dict[str, Any] = {}
    for quantity, name in (("wall_above_percent", "time"), ("payment_above_percent", "payment")):
        above = {
            job: [result.mean(NOT_KNOWING, quantity, job, "", style) for style in STYLES]
            for job in (*SHORT_JOBS, LONG_JOB)
        }
        average = {job: sum(values) / len(values) for job, values in above.items()}
        least, most = (choose(average, key=average.__getitem__) for choose in (min, max))
        found[f"{name}_least"], found[f"{name}_most"] = (f"{_KIND[job]} ({job})" for job in (least, most))
        found[f"{name}_styles"] = f"{max(max(values) - min(values) for values in above.values()):.0f}"
        found[f"{name}_jobs"] = f"{average[most] - average[least]:.0f}"
    return found
