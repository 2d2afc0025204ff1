"""The paper on HADS: Teylo et al., Cluster Computing 2020; what other assumptions change, and what its page says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from spotbag.instances.library import library_instance

from ...data_files import read_changes, read_notes
from ...paper import Paper, Results, Setting, changed, column, read_columns
from ...paper_result import PublishedComparisonResult
from ...paper_tables import PaperTables
from ..paper_days import FROM_ALGORITHM_1, FROM_PRINTED_MAKESPAN, environments, fleets, n_late_days
from ..printed import hads_figures
from .claims import hads_claims, hads_findings
from .runs import (
    BIG_JOB,
    FAMILY,
    POLICY,
    HadsDays,
    HadsOptions,
    hads_days,
    n_hads_days,
    on_demand_rate_usd,
    spot_offers,
)
from .tables import ALL, MEANS, hads_rows

_RUNS = 100
"""Days of each cell in the table."""

AS_READ = "spare time (Algorithm 7): of spot VMs only"
BY_ALGORITHM_1 = "D_spot of J100 and ED200: by Algorithm 1"
"""Names of results that the page speaks of."""


def _settings(options: HadsOptions) -> Sequence[Setting[HadsOptions]]:
    return [*environments(options), *changed(options, _RUNS, read_changes(__package__))]


def base_of(results: Results, other: PublishedComparisonResult) -> PublishedComparisonResult:
    """Return the result under the page's own assumptions, with as many runs as another result."""
    return next(result for result in results.values() if result.about["runs"] == other.about["runs"])


def n_days(result: PublishedComparisonResult) -> int:
    """Days of all cells of Table 10."""
    return sum(row.ours.n for row in result.rows if (row.table, row.quantity) == ("Table 10", "late_days_percent"))


def _saving(result: PublishedComparisonResult) -> str:
    to_last_task = result.about["baseline"] == "last-task"
    quantity = "saving_to_last_task_percent" if to_last_task else "saving_percent"
    return column(MEANS, quantity, 1, ALL, ALL, POLICY)(result)


def _late(result: PublishedComparisonResult) -> str:
    return f"{n_late_days(result, 'Table 10'):,} of {n_days(result):,}"


def could_be(result: PublishedComparisonResult, heading: str) -> str:
    """Number of printed means of a column of Table 10 that are in reach of three of our days."""
    [finding] = [finding for finding in result.findings if finding.statement.startswith(f"Table 10, {heading}")]
    return finding.ours


def hads_notes(days: HadsDays) -> Iterator[str]:
    """Reasons, each with the paper's own numbers where they contradict each other."""
    factors = price_factors({job: days.on_demand_usd(job) for job in days.jobs})
    percents = [100 * ours / theirs for theirs, ours in factors.values()]
    plans = [baseline.plan for baseline in days.baselines.values()]
    given = [plan for plan in plans if plan.d_spot_source != FROM_ALGORITHM_1]
    values = {
        "factors": ", ".join(f"{job} {theirs:.2f} ({ours:.2f})" for job, (theirs, ours) in factors.items()),
        "on_demand_percent": f"{min(percents):.0f} to {max(percents):.0f}",
        "printed_d_spot": ", ".join(f"{plan.job} {plan.d_spot_s} s" for plan in given) or None,
    }
    return read_notes(__package__, values)


def price_factors(on_demand_usd: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Ratios, by job, of the on-demand baseline to the least price of the printed mean work: as printed, and ours."""
    figures = hads_figures()
    work_s = {job.job: job.tasks * job.mean_runtime_s for job in figures.jobs}
    factors = {}
    for printed in figures.baselines:
        offers = library_instance(f"{FAMILY}/{printed.job}").offers
        rate = min(offer.price_usd_per_s / offer.vcpus for offer in offers if offer.market == "on-demand")
        least_usd = work_s[printed.job] * rate
        factors[printed.job] = (printed.on_demand_usd / least_usd, on_demand_usd[printed.job] / least_usd)
    return factors


def hads_facts(results: Results) -> dict[str, Any]:
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

    costs = [of.mean(MEANS, "cost_usd", ALL, ALL, POLICY) for of in (as_printed, as_read)]
    [big_estimated] = [plan for plan in estimated.plans if plan.job == BIG_JOB]
    return {
        "fleets": fleets(results, "greedy"),
        "jobs": ", ".join(printed.job for printed in hads_figures().baselines),
        "fitted_jobs": " and ".join(fitted),
        "printed_over_rates": f"{', '.join(ratios[:-1])} and {ratios[-1]}",
        "estimated_d_spot_s": big_estimated.d_spot_s,
        "estimated_on_demand": all(name.endswith("on demand") for name in big_estimated.vms),
        "dearer_as_printed": f"{100 * (costs[0] / costs[1] - 1):.0f}",
        "as_printed": as_printed,
        "as_read": as_read,
        "estimated": estimated,
        "n_late_days": partial(n_late_days, table="Table 10"),
        "hold_as_read": ", ".join(
            str(number)
            for number, (printed, read) in enumerate(zip(as_printed.claims, as_read.claims, strict=True), start=1)
            if read.verdict == "holds" != printed.verdict
        ),
    }


PAPER: Paper[HadsOptions, HadsDays] = Paper(
    key="hads",
    name="HADS",
    package=__package__,
    options=HadsOptions,
    runs_are="days of each cell",
    n_runs=n_hads_days,
    replay=hads_days,
    rows=hads_rows,
    claims=hads_claims,
    findings=hads_findings,
    notes=hads_notes,
    tables=PaperTables.read(__package__),
    facts=hads_facts,
    columns=read_columns(
        __package__,
        saving=_saving,
        late=_late,
        new_vms=lambda result: could_be(result, "new on-demand VMs"),
        makespan=lambda result: could_be(result, "makespan"),
        cost=lambda result: could_be(result, "cost"),
    ),
    settings=_settings,
    plans=lambda days: (baseline.plan for baseline in days.baselines.values()),
)
