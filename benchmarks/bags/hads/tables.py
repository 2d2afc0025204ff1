"""The tables and figures of the HADS paper on our instances, beside what is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from spotbag.core.statistics import estimate
from spotbag.replay.bags.outcome import DayOutcome

from ...data_files import Figures
from ...paper_result import ComparisonRow, row_of
from ...paper_tables import means, measured
from ...statistics import average
from ..paper_days import BaselineBilling, cost_usd, makespan_s
from ..printed import hads_figures
from .runs import (
    BIG_JOB,
    POLICY,
    SCENARIOS,
    SHARES,
    HadsDays,
    baseline_name,
    hibernation_duration_s,
    migrations,
    planned_tasks,
    share_percent,
    steal_success_percent,
    stolen_tasks,
    sweep_name,
)

MEANS, ALL = "Table 10, means", "all"


def hibernations(day: DayOutcome) -> float:
    """Hibernations of a day."""
    return day.hibernations


_METRICS: Mapping[str, Callable[[DayOutcome], float]] = {
    "hibernations": hibernations,
    "on_demand_started": lambda day: day.on_demand_started,
    "makespan_s": makespan_s,
    "cost_usd": cost_usd,
    "late_days_percent": lambda day: 100.0 * (not day.meets_deadline),
}
TABLE_10 = {name: _METRICS[name] for name in ("hibernations", "on_demand_started", "makespan_s", "cost_usd")}
CHECKPOINTS: Mapping[str, Callable[[DayOutcome], float]] = {
    "checkpoints": lambda day: day.checkpoints,
    "migrations": migrations,
    "recoveries": lambda day: day.recoveries,
    "cpu_time_saved_s": lambda day: day.cpu_time_saved_s,
}
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
        ours = hibernation_duration_s(days, scenario)
        yield row_of("Fig. 8", "all", scenario, POLICY, "hibernation_duration_s", ours, duration_s)
    known = {(entry.job, entry.scenario, entry.share): entry for entry in figures.shares}
    for (job, scenario), cell in days.cells.items():
        for share in SHARES:
            stated = known.get((job, scenario, share))
            shown = (None, "=") if stated is None else (stated.percent, stated.relation)
            ours = share_percent(cell, share)
            yield row_of("Figs 9-10", job, scenario, POLICY, f"share_{share}_percent", ours, *shown)
    yield from _fig_11(days)
    for scenario in SCENARIOS:
        ours, rate = steal_success_percent(days.cells[BIG_JOB, scenario]), figures.steal_success_percent.get(scenario)
        yield row_of("Fig. 12", BIG_JOB, scenario, POLICY, "steal_success_percent", ours, rate)
    for steal in figures.steals:
        # Tasks of spot VMs in sc2, planned and stolen; the lines are of VM types.
        planned, place = planned_tasks(days, steal.type), ("Fig. 13", BIG_JOB, "sc2", steal.type)
        mean = sum(planned) / len(planned) if planned else None
        yield row_of(*place, "planned_tasks", mean, steal.planned)
        yield row_of(*place, "stolen_tasks", stolen_tasks(days, steal.type), steal.stolen)


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
        yield row_of(*place, "late_days_percent", cell.mean(_METRICS["late_days_percent"]), 0.0)


def _means(days: HadsDays) -> Iterator[ComparisonRow]:
    """Means over the jobs of each scenario of Table 10, and over all cells."""
    for scenario in (*SCENARIOS, ALL):
        keys = [key for key in days.cells if scenario in (ALL, key[1])]
        printed = [row for row in hads_figures().results if scenario in (ALL, row.scenario)]
        ours = {
            name: average([days.saving_percent(*key, billing) for key in keys]) for name, billing in _SAVINGS.items()
        }
        for name in ("cost_usd", "makespan_s", "on_demand_started", "late_days_percent"):
            ours[name] = average([days.cells[key].statistic(_METRICS[name]) for key in keys])
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
