"""The tables and figures of the HADS paper on our instances, beside what is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ....core.statistics import Estimate, average, estimate
from ....replay.bags.outcome import DayOutcome
from ...paper_result import NOTHING, ComparisonRow, estimate_of, exactly
from ..paper_days import BaselineBilling, Cell, cost_usd, makespan_s
from ..printed import HadsFigures, PublishedHadsResult, hads_figures
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

MEANS = "Table 10, means"
ALL = "all"


def hads_rows(days: HadsDays) -> Iterator[ComparisonRow]:
    """Tables 9 to 11 and Figs 8 to 13; of Figs 9 to 13 only what the text says is known."""
    figures = hads_figures()
    yield from _table_9(figures, days)
    yield from _table_10(figures, days)
    yield from _means(figures, days)
    yield from _table_11(figures, days)
    yield from _fig_8(figures, days)
    yield from _figs_9_and_10(figures, days)
    yield from _fig_11(days)
    yield from _fig_12(figures, days)
    yield from _fig_13(figures, days)


def _table_9(figures: HadsFigures, days: HadsDays) -> Iterator[ComparisonRow]:
    """Jobs without hibernation."""
    for printed in figures.baselines:
        found = days.baselines[printed.job]

        def row(policy: str, quantity: str, shown: float | None, ours: float, job: str = printed.job) -> ComparisonRow:
            return ComparisonRow("Table 9", job, "", policy, quantity, shown, exactly(ours))

        types = [vm_type.name for vm_type in found.schedule.instance.vm_types]
        for name in types:
            yield row("static", f"vms_{name}", printed.vms.get(name, 0), found.plan.vms.get(name, 0))
        yield row("static", "vms", sum(printed.vms.values()), sum(found.plan.vms.values()))
        own = found.on_demand["own", "cycles"]
        yield row(baseline_name("own", "cycles"), "vms", None, len(own.bills))
        yield row(baseline_name("own", "cycles"), "makespan_s", None, makespan_s(own))
        for (plan, billing), outcome in found.on_demand.items():
            alike = (plan, billing) == ("same", "cycles")
            policy = baseline_name(plan, billing)
            yield row(policy, "cost_usd", printed.on_demand_usd if alike else None, outcome.cost_usd)
            saving = 100 * (1 - found.hads.cost_usd / outcome.cost_usd)
            yield row(policy, "difference_percent", printed.difference_percent if alike else None, saving)
        for policy, outcome in (("static", found.static), (POLICY, found.hads)):
            yield row(policy, "makespan_s", printed.makespan_s, makespan_s(outcome))
            yield row(policy, "cost_usd", printed.spot_usd, outcome.cost_usd)


def _table_10(figures: HadsFigures, days: HadsDays) -> Iterator[ComparisonRow]:
    """Jobs in scenarios."""
    for printed in figures.results:
        cell = days.cells[printed.job, printed.scenario]
        # The paper counts on-demand VMs in the runs in which VMs hibernated.
        struck = [day.on_demand_started for day in cell.runs if day.hibernations]
        found: dict[str, Estimate] = {
            "hibernations": cell.mean(lambda day: day.hibernations),
            "on_demand_started": estimate(struck),
            "makespan_s": cell.mean(makespan_s),
            "cost_usd": cell.mean(cost_usd),
            "saving_percent": days.saving_percent(printed.job, printed.scenario, "cycles").estimate,
        }
        for quantity, ours in found.items():
            yield _cell_row("Table 10", cell, quantity, _printed(printed, quantity), ours)
        to_last_task = days.saving_percent(printed.job, printed.scenario, "last-task").estimate
        yield _cell_row("Table 10", cell, "saving_to_last_task_percent", None, to_last_task)
        late = cell.mean(lambda day: 100.0 * (not day.meets_deadline))
        yield _cell_row("Table 10", cell, "late_days_percent", 0.0, late)


def _means(figures: HadsFigures, days: HadsDays) -> Iterator[ComparisonRow]:
    """Means over the jobs of each scenario of Table 10, and over all cells."""
    billings: dict[str, BaselineBilling] = {"saving_percent": "cycles", "saving_to_last_task_percent": "last-task"}
    for scenario in (*SCENARIOS, ALL):
        keys = [key for key in days.cells if scenario in (ALL, key[1])]
        printed = [row for row in figures.results if scenario in (ALL, row.scenario)]
        ours = {
            name: average([days.saving_percent(*key, billing) for key in keys]) for name, billing in billings.items()
        }
        for name, metric in _MEANS.items():
            ours[name] = average([days.cells[key].statistic(metric) for key in keys])
        for name, statistic in ours.items():
            shown = sum(_printed(row, name) for row in printed) / len(printed) if name in _PRINTED else None
            yield ComparisonRow(MEANS, ALL, scenario, POLICY, name, shown, statistic.estimate)


_MEANS: dict[str, Callable[[DayOutcome], float]] = {
    "cost_usd": cost_usd,
    "makespan_s": makespan_s,
    "on_demand_started": lambda day: day.on_demand_started,
    "late_days_percent": lambda day: 100.0 * (not day.meets_deadline),
}
_PRINTED = ("cost_usd", "makespan_s", "on_demand_started", "saving_percent")


def _printed(result: PublishedHadsResult, quantity: str) -> float:
    value: float = getattr(result, quantity)
    return value


def _cell_row(table: str, cell: Cell, quantity: str, printed: float | None, ours: Estimate) -> ComparisonRow:
    return ComparisonRow(table, cell.job, cell.scenario, POLICY, quantity, printed, ours)


def _table_11(figures: HadsFigures, days: HadsDays) -> Iterator[ComparisonRow]:
    """Checkpoints of the big job."""
    metrics: dict[str, Callable[[DayOutcome], float]] = {
        "checkpoints": lambda day: day.checkpoints,
        "migrations": migrations,
        "recoveries": lambda day: day.recoveries,
        "cpu_time_saved_s": lambda day: day.cpu_time_saved_s,
    }
    for printed in figures.checkpoints:
        cell = days.cells[BIG_JOB, printed.scenario]
        for quantity, metric in metrics.items():
            yield _cell_row("Table 11", cell, quantity, getattr(printed, quantity), cell.mean(metric))


def _fig_8(figures: HadsFigures, days: HadsDays) -> Iterator[ComparisonRow]:
    """Mean duration of a hibernation."""
    for scenario, printed in figures.hibernation_duration_s.items():
        ours = estimate_of(hibernation_duration_s(days, scenario))
        yield ComparisonRow("Fig. 8", "all", scenario, POLICY, "hibernation_duration_s", printed, ours)


def _figs_9_and_10(figures: HadsFigures, days: HadsDays) -> Iterator[ComparisonRow]:
    """Rows on the hibernations of VMs with tasks."""
    known = {(entry.job, entry.scenario, entry.share): entry for entry in figures.shares}
    for (job, scenario), cell in days.cells.items():
        for share in SHARES:
            stated = known.get((job, scenario, share))
            yield ComparisonRow(
                "Figs 9-10",
                job,
                scenario,
                POLICY,
                f"share_{share}_percent",
                None if stated is None else stated.percent,
                estimate_of(share_percent(cell, share)),
                "=" if stated is None else stated.relation,
            )


def _fig_11(days: HadsDays) -> Iterator[ComparisonRow]:
    """Cost as the rates grow, and by how much it is above the on-demand baseline."""
    price = days.on_demand_usd(BIG_JOB)
    for (k_h, k_r), cell in days.sweep.items():
        yield ComparisonRow("Fig. 11", BIG_JOB, sweep_name(k_h, k_r), POLICY, "cost_usd", None, cell.mean(cost_usd))
        above = cell.mean(lambda day: 100 * (day.cost_usd / price - 1))
        stated = (k_h, k_r) == (7, 0)
        yield ComparisonRow(
            "Fig. 11",
            BIG_JOB,
            sweep_name(k_h, k_r),
            POLICY,
            "above_on_demand_percent",
            0.0 if stated else None,
            above,
            ">" if stated else "=",
        )


def _fig_12(figures: HadsFigures, days: HadsDays) -> Iterator[ComparisonRow]:
    """Attempts to steal that took a task."""
    for scenario in SCENARIOS:
        cell = days.cells[BIG_JOB, scenario]
        printed = figures.steal_success_percent.get(scenario)
        yield _cell_row("Fig. 12", cell, "steal_success_percent", printed, estimate_of(steal_success_percent(cell)))


def _fig_13(figures: HadsFigures, days: HadsDays) -> Iterator[ComparisonRow]:
    """Tasks of spot VMs in sc2, planned and stolen; the lines are of VM types."""
    for stated in figures.steals:
        planned = planned_tasks(days, stated.type)
        stolen = estimate_of(stolen_tasks(days, stated.type))
        for quantity, printed, ours in (
            ("planned_tasks", stated.planned, exactly(sum(planned) / len(planned)) if planned else NOTHING),
            ("stolen_tasks", stated.stolen, stolen),
        ):
            yield ComparisonRow("Fig. 13", BIG_JOB, "sc2", stated.type, quantity, printed, ours)
