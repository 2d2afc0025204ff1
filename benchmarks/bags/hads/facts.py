"""Facts for the prose of the page, computed from the results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spotbag.instances.library import library_instance

from ...paper_result import PublishedComparisonResult
from ..paper_days import FROM_PRINTED_MAKESPAN, environment_table, fleets, n_late_days
from ..printed import hads_figures
from .runs import BIG_JOB, FAMILY, POLICY, on_demand_rate_usd, spot_offers
from .sensitivity import AS_READ, BY_ALGORITHM_1, SENSITIVITY, base_of, could_be, n_days
from .tables import ALL, MEANS


def hads_facts(results: Mapping[str, PublishedComparisonResult]) -> dict[str, Any]:
    """Return the values of the page's template."""
    result, as_read, estimated = next(iter(results.values())), results[AS_READ], results[BY_ALGORITHM_1]
    as_printed = base_of(results, as_read)
    fitted = [plan.job for plan in result.plans if plan.d_spot_source == FROM_PRINTED_MAKESPAN]
    ratios = []
    for printed in hads_figures().baselines:
        # Printed cost on demand as a share of the bill of the printed VMs for all of the printed makespan.
        instance = library_instance(f"{FAMILY}/{printed.job}")
        rate = on_demand_rate_usd(instance, spot_offers(instance, printed.vms))
        ratios.append(f"{100 * printed.on_demand_usd / (rate * printed.makespan_s):.0f}")

    def mean(of: PublishedComparisonResult, quantity: str) -> float:
        return of.mean(MEANS, quantity, ALL, ALL, POLICY)

    def resumed(of: PublishedComparisonResult) -> str:
        return f"{of.mean('Figs 9-10', 'share_resumed_percent', BIG_JOB, 'sc3', POLICY):.0f}"

    [big_estimated] = [plan for plan in estimated.plans if plan.job == BIG_JOB]
    return {
        "environments": environment_table(results, SENSITIVITY.columns),
        "fleets": fleets(results, "greedy"),
        "jobs": ", ".join(printed.job for printed in hads_figures().baselines),
        "fitted_jobs": " and ".join(fitted),
        "printed_over_rates": f"{', '.join(ratios[:-1])} and {ratios[-1]}",
        "estimated_d_spot_s": big_estimated.d_spot_s,
        "estimated_on_demand": all(name.endswith("on demand") for name in big_estimated.vms),
        "dearer_as_printed": f"{100 * (mean(as_printed, 'cost_usd') / mean(as_read, 'cost_usd') - 1):.0f}",
        "started_as_printed": f"{mean(as_printed, 'on_demand_started'):.1f}",
        "started_as_read": f"{mean(as_read, 'on_demand_started'):.1f}",
        "started_printed": f"{result.row(MEANS, 'on_demand_started', ALL, ALL, POLICY).printed:.1f}",
        "on_demand_as_printed": could_be(as_printed, "new on-demand VMs"),
        "on_demand_as_read": could_be(as_read, "new on-demand VMs"),
        "cost_as_printed": could_be(as_printed, "cost"),
        "cost_as_read": could_be(as_read, "cost"),
        "late_as_printed": f"{n_late_days(as_printed, 'Table 10'):,} of {n_days(as_printed):,}",
        "late_as_read": f"{n_late_days(as_read, 'Table 10'):,}",
        "hold_as_read": ", ".join(
            str(number)
            for number, (printed, read) in enumerate(zip(as_printed.claims, as_read.claims, strict=True), start=1)
            if read.verdict == "holds" != printed.verdict
        ),
        "resumed_as_printed": resumed(as_printed),
        "resumed_as_read": resumed(as_read),
        "late_days": f"{n_late_days(result, 'Table 10'):,}",
        "late_of_ed200": f"{n_late_days(result, 'Table 10', job=BIG_JOB):,}",
        "late_by_algorithm_1": f"{n_late_days(estimated, 'Table 10'):,} of {n_days(estimated):,}",
    }
