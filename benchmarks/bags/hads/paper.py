"""The paper on HADS: Teylo et al., Cluster Computing 2020; its tables, what other assumptions change, and its page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from spotbag.core.statistics import estimate
from spotbag.instances.library import library_instance

from ...data_files import Figures, read_changes, read_notes
from ...paper import Paper, Results, Setting, changed, column, read_columns
from ...paper_tables import ComparisonRow, PaperTables, PublishedComparisonResult, means, measured, row_of
from ...statistics import average
from ..paper_days import (
    FROM_ALGORITHM_1,
    FROM_PRINTED_MAKESPAN,
    SHARES,
    BaselineBilling,
    cost_usd,
    environments,
    fleets,
    hads_figures,
    makespan_s,
    n_late_days,
)
from .claims import hads_claims, hads_findings
from .runs import (
    BIG_JOB,
    CHECKPOINTS,
    FAMILY,
    METRICS,
    POLICY,
    SCENARIOS,
    TABLE_10,
    HadsDays,
    HadsOptions,
    baseline_name,
    hads_days,
    n_hads_days,
    on_demand_rate_usd,
    spot_offers,
    sweep_name,
)

MEANS, ALL = "Table 10, means", "all"


_SAVINGS: dict[str, BaselineBilling] = {"saving_percent": "cycles", "saving_to_last_task_percent": "last-task"}


def hads_rows(days: HadsDays) -> Iterator[ComparisonRow]:
    """Tables 9 to 11 and Figs 8 to 13; of Figs 9 to 13 only what the text says is known."""
    figures = hads_figures()
    for baseline in figures.baselines:
        yield from _table_9(baseline, days)
    yield from _table_10(days)
    yield from _means(days)
    for printed in figures.checkpoints:
        place = "Table 11", BIG_JOB, printed.scenario, POLICY
        yield from measured(place, means(CHECKPOINTS), days.cells[BIG_JOB, printed.scenario], printed)
    for scenario, duration_s in figures.hibernation_duration_s.items():
        ours = days.hibernation_duration_s(scenario)
        yield row_of("Fig. 8", "all", scenario, POLICY, "hibernation_duration_s", ours, duration_s)
    known = {(entry.job, entry.scenario, entry.share): entry for entry in figures.shares}
    for (job, scenario), cell in days.cells.items():
        for share in SHARES:
            stated = known.get((job, scenario, share))
            shown = (None, "=") if stated is None else (stated.percent, stated.relation)
            ours = cell.share_after_percent(share)
            yield row_of("Figs 9-10", job, scenario, POLICY, f"share_{share}_percent", ours, *shown)
    yield from _fig_11(days)
    for scenario in SCENARIOS:
        ours, rate = days.cells[BIG_JOB, scenario].steal_success_percent, figures.steal_success_percent.get(scenario)
        yield row_of("Fig. 12", BIG_JOB, scenario, POLICY, "steal_success_percent", ours, rate)
    for steal in figures.steals:
        # Tasks of spot VMs in sc2, planned and stolen; the lines are of VM types.
        planned, place = days.planned_tasks(steal.type), ("Fig. 13", BIG_JOB, "sc2", steal.type)
        mean = sum(planned) / len(planned) if planned else None
        yield row_of(*place, "planned_tasks", mean, steal.planned)
        yield row_of(*place, "stolen_tasks", days.stolen_tasks(steal.type), steal.stolen)


def _table_9(printed: Figures, days: HadsDays) -> Iterator[ComparisonRow]:
    """A job without hibernation."""
    found, place = days.baselines[printed.job], ("Table 9", printed.job, "")
    ours = found.plan.vms
    for name in (vm_type.name for vm_type in found.schedule.instance.vm_types):
        yield row_of(*place, "static", f"vms_{name}", ours.get(name, 0), printed.vms.get(name, 0))
    yield row_of(*place, "static", "vms", sum(ours.values()), sum(printed.vms.values()))
    own = found.on_demand["own", "cycles"]
    yield row_of(*place, baseline_name("own", "cycles"), "vms", len(own.bills))
    yield row_of(*place, baseline_name("own", "cycles"), "makespan_s", makespan_s(own))
    for (plan, billing), outcome in found.on_demand.items():
        alike, policy = (plan, billing) == ("same", "cycles"), baseline_name(plan, billing)
        yield row_of(*place, policy, "cost_usd", outcome.cost_usd, printed.on_demand_usd if alike else None)
        saving = 100 * (1 - found.hads.cost_usd / outcome.cost_usd)
        yield row_of(*place, policy, "difference_percent", saving, printed.difference_percent if alike else None)
    for policy, outcome in (("static", found.static), (POLICY, found.hads)):
        yield row_of(*place, policy, "makespan_s", makespan_s(outcome), printed.makespan_s)
        yield row_of(*place, policy, "cost_usd", outcome.cost_usd, printed.spot_usd)


def _table_10(days: HadsDays) -> Iterator[ComparisonRow]:
    """Jobs in scenarios."""
    for printed in hads_figures().results:
        cell = days.cells[printed.job, printed.scenario]
        place = "Table 10", printed.job, printed.scenario, POLICY
        # The paper counts on-demand VMs in the runs in which VMs hibernated.
        struck = estimate([day.on_demand_started for day in cell.runs if day.hibernations])
        yield row_of(*place, "on_demand_started", struck, printed.on_demand_started)
        others = {name: metric for name, metric in TABLE_10.items() if name != "on_demand_started"}
        yield from measured(place, means(others), cell, printed)
        for name, billing in _SAVINGS.items():
            saving = days.saving_percent(printed.job, printed.scenario, billing)
            yield row_of(*place, name, saving, getattr(printed, name, None))
        yield row_of(*place, "late_days_percent", cell.mean(METRICS["late_days_percent"]), 0.0)


def _means(days: HadsDays) -> Iterator[ComparisonRow]:
    """Means over the jobs of each scenario of Table 10, and over all cells."""
    for scenario in (*SCENARIOS, ALL):
        keys = [key for key in days.cells if scenario in (ALL, key[1])]
        printed = [row for row in hads_figures().results if scenario in (ALL, row.scenario)]
        ours = {
            name: average([days.saving_percent(*key, billing) for key in keys]) for name, billing in _SAVINGS.items()
        }
        for name in ("cost_usd", "makespan_s", "on_demand_started", "late_days_percent"):
            ours[name] = average([days.cells[key].statistic(METRICS[name]) for key in keys])
        for name, statistic in ours.items():
            known = hasattr(printed[0], name)
            shown = sum(getattr(row, name) for row in printed) / len(printed) if known else None
            yield row_of(MEANS, ALL, scenario, POLICY, name, statistic, shown)


def _fig_11(days: HadsDays) -> Iterator[ComparisonRow]:
    """Cost as the rates grow, and by how much it is above the on-demand baseline."""
    price = days.on_demand_usd(BIG_JOB)
    for (k_h, k_r), cell in days.sweep.items():
        place = "Fig. 11", BIG_JOB, sweep_name(k_h, k_r), POLICY
        yield row_of(*place, "cost_usd", cell.mean(cost_usd))
        above = cell.mean(lambda day: 100 * (day.cost_usd / price - 1))
        stated = (k_h, k_r) == (7, 0)
        yield row_of(*place, "above_on_demand_percent", above, 0.0 if stated else None, ">" if stated else "=")


# ---------------------------------------------------------------------------- assumptions, notes, page

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
