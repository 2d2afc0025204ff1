"""The tables and figures of the HADS paper on our instances, beside what is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ....core.statistics import Estimate, Statistic, estimate
from ....replay.bags.outcome import Outcome
from ...paper import NOTHING, ComparisonRow, OnDays, PublishedComparisonResult, exactly
from ..paper_days import Cell, DayOptions, cost_usd, makespan_s
from ..printed import HadsFigures, PublishedHadsResult, hads_figures
from .claims import hads_claims
from .notes import hads_notes
from .runs import (
    BIG_JOB,
    POLICY,
    SCENARIOS,
    SHARES,
    SWEEP_K_H,
    SWEEP_K_R,
    HadsDays,
    hads_days,
    hibernation_duration_s,
    share_percent,
    steal_success_percent,
    sweep_name,
)


def n_hads_days(options: DayOptions) -> int:
    """How many days `bench_hads` replays."""
    jobs = len(hads_figures().baselines)
    return options.runs * (jobs * len(SCENARIOS) + len(SWEEP_K_H) * len(SWEEP_K_R))


def bench_hads(options: DayOptions, on_days: OnDays = lambda days, label: None) -> PublishedComparisonResult:
    """Make the tables and figures of the HADS paper.

    Parameters
    ----------
    options : DayOptions
        What days are replayed.
    on_days : callable, optional
        Told how many days have just been done, and of what.

    Returns
    -------
    PublishedComparisonResult
        Rows, claims, notes.

    Raises
    ------
    KeyboardInterrupt
        If the user ended it.

    Notes
    -----
    Tables 9 to 11 and Figs 8 to 12 of Teylo et al., HADS, Cluster Computing 2020. Of Figs 9 to 12 only what the text
    says is known.
    """
    figures = hads_figures()
    days = hads_days(figures, options, on_days)
    rows = [
        *_table_9(figures, days),
        *_table_10(figures, days),
        *_table_11(figures, days),
        *_fig_8(figures, days),
        *_figs_9_and_10(figures, days),
        *_fig_11(days),
        *_fig_12(figures, days),
    ]
    return PublishedComparisonResult(
        paper="HADS",
        about=options.about(),
        plans=tuple(baseline.plan for baseline in days.baselines.values()),
        rows=tuple(rows),
        claims=tuple(hads_claims(figures, days)),
        notes=tuple(hads_notes(figures, days)),
    )


def maybe(statistic: Statistic | None) -> Estimate:
    """The estimate of a statistic; of nothing if there is none."""
    return NOTHING if statistic is None else statistic.estimate


def _table_9(figures: HadsFigures, days: HadsDays) -> Iterator[ComparisonRow]:
    """Jobs without hibernation."""
    for printed in figures.baselines:
        found = days.baselines[printed.job]

        def row(policy: str, quantity: str, shown: float | None, ours: float, job: str = printed.job) -> ComparisonRow:
            return ComparisonRow("Table 9", job, "", policy, quantity, shown, exactly(ours))

        types = [vm_type.name for vm_type in found.schedule.instance.vm_types]
        for name in types:
            yield row("static", f"vms_{name}", printed.vms.get(name, 0), found.plan.vms.get(name, 0))
        price = found.on_demand.cost_usd
        yield row("on-demand", "cost_usd", printed.on_demand_usd, price)
        for policy, outcome in (("static", found.static), ("hads", found.hads)):
            yield row(policy, "makespan_s", printed.makespan_s, makespan_s(outcome))
            yield row(policy, "cost_usd", printed.spot_usd, outcome.cost_usd)
            saving = 100 * (1 - outcome.cost_usd / price)
            yield row(policy, "difference_percent", printed.difference_percent, saving)


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
            "saving_percent": days.saving_percent(printed.job, printed.scenario).estimate,
        }
        for quantity, ours in found.items():
            yield _cell_row("Table 10", cell, quantity, _printed(printed, quantity), ours)
        late = cell.mean(lambda day: 100.0 * (not day.meets_deadline))
        yield _cell_row("Table 10", cell, "late_days_percent", 0.0, late)


def _printed(result: PublishedHadsResult, quantity: str) -> float:
    value: float = getattr(result, quantity)
    return value


def _cell_row(table: str, cell: Cell, quantity: str, printed: float | None, ours: Estimate) -> ComparisonRow:
    return ComparisonRow(table, cell.job, cell.scenario, cell.policy, quantity, printed, ours)


def _table_11(figures: HadsFigures, days: HadsDays) -> Iterator[ComparisonRow]:
    """Checkpoints of the big job."""
    metrics: dict[str, Callable[[Outcome], float]] = {
        "checkpoints": lambda day: day.checkpoints,
        "migrations": lambda day: sum(day.migrations.values()),
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
        ours = maybe(hibernation_duration_s(days, scenario))
        yield ComparisonRow("Fig. 8", "all", scenario, POLICY, "hibernation_duration_s", printed, ours)


def _figs_9_and_10(figures: HadsFigures, days: HadsDays) -> Iterator[ComparisonRow]:
    """What came of the hibernations of VMs that had tasks."""
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
                maybe(share_percent(cell, share)),
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
        yield _cell_row("Fig. 12", cell, "steal_success_percent", printed, maybe(steal_success_percent(cell)))
