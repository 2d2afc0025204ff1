"""The days of the HADS paper: its jobs planned by its greedy, in its scenarios, under its scheduler."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ....core.statistics import Statistic, ratio_of
from ....instances.bags.scenarios import find_scenario
from ....replay.bags.outcome import Outcome
from ....replay.bags.runs import replay_day
from ....schedules.schedule import Schedule
from ...paper import OnRuns
from ...paper_result import PlanUsed
from ..paper_days import (
    Cell,
    DayOptions,
    Misses,
    collect_misses,
    library_job,
    make_plan,
    miss_causes,
    paper_scenario,
    plan_used,
    replay_cell,
)
from ..printed import Share, hads_figures

FAMILY = "hads"
POLICY = "hads"
SCENARIOS = ("sc1", "sc2", "sc3", "sc4", "sc5", "sc6", "sc7")
BIG_JOB = "ED200"
"""Job of Table 11 and of Figs 11 and 12."""

SWEEP_K_H = (1, 2, 3, 4, 5, 6, 7)
SWEEP_K_R = (0, 3, 7)
"""Rates of Fig. 11."""

SHARES: tuple[Share, ...] = ("new", "idle", "busy", "resumed")


@dataclass(frozen=True, slots=True)
class HadsBaseline:
    """A job without hibernation.

    Attributes
    ----------
    schedule : Schedule
        The plan.
    plan : PlanUsed
        The plan, described.
    static, hads, on_demand : Outcome
        A quiet day under each policy.
    """

    schedule: Schedule
    plan: PlanUsed
    static: Outcome
    hads: Outcome
    on_demand: Outcome


@dataclass(frozen=True, slots=True)
class HadsDays:
    """All days that the tables are made of.

    Attributes
    ----------
    baselines : dict
        By job.
    cells : dict
        By job and scenario.
    sweep : dict
        Of `BIG_JOB`, by k_h and k_r.
    misses : Misses
        Days of the cells that missed the deadline.
    """

    baselines: dict[str, HadsBaseline]
    cells: dict[tuple[str, str], Cell]
    sweep: dict[tuple[int, int], Cell]
    misses: Misses

    @property
    def jobs(self) -> list[str]:
        """The jobs, in the order of the paper."""
        return list(self.baselines)

    def on_demand_usd(self, job: str) -> float:
        """Cost of the plan of a job on on-demand VMs."""
        return self.baselines[job].on_demand.cost_usd

    def saving_percent(self, job: str, scenario: str) -> Statistic:
        """Saving against on-demand VMs."""
        price = self.on_demand_usd(job)
        return self.cells[job, scenario].statistic(lambda day: 100 * (1 - day.cost_usd / price))


def n_hads_days(options: DayOptions) -> int:
    """How many days `hads_days` replays."""
    return options.runs * (len(hads_figures().baselines) * len(SCENARIOS) + len(SWEEP_K_H) * len(SWEEP_K_R))


def hads_days(options: DayOptions, on_days: OnRuns) -> HadsDays:
    """Replay all days of the paper."""
    figures = hads_figures()
    baselines = {printed.job: _baseline(printed.job, printed.makespan_s, options) for printed in figures.baselines}
    cells: dict[tuple[str, str], Cell] = {}
    causes: Counter[str] = Counter()
    for job, baseline in baselines.items():
        for scenario in SCENARIOS:
            days_from = paper_scenario(FAMILY, scenario, options)
            [cell] = replay_cell(job, scenario, days_from, baseline.schedule, [POLICY], options, on_days)
            cells[job, scenario] = cell
            causes += miss_causes(cell, baseline.schedule, days_from, options.seed)
    sweep: dict[tuple[int, int], Cell] = {}
    for k_r in SWEEP_K_R:
        for k_h in SWEEP_K_H:
            days_from = find_scenario("poisson", k_h=k_h, k_r=k_r, rate_scale=options.rate_scale)
            plan = baselines[BIG_JOB].schedule
            [sweep[k_h, k_r]] = replay_cell(BIG_JOB, sweep_name(k_h, k_r), days_from, plan, [POLICY], options, on_days)
    return HadsDays(baselines, cells, sweep, collect_misses(list(cells.values()), causes))


def sweep_name(k_h: int, k_r: int) -> str:
    """What a scenario of Fig. 11 is called."""
    return f"k_h={k_h}, k_r={k_r}"


def _baseline(job: str, printed_makespan_s: int, options: DayOptions) -> HadsBaseline:
    instance, source = library_job(FAMILY, job, printed_makespan_s, options.d_spot)
    schedule = make_plan(instance, "greedy")
    static, hads, on_demand = (replay_day(schedule, policy) for policy in ("static", POLICY, "on-demand"))
    return HadsBaseline(schedule, plan_used(job, "greedy", schedule, source), static, hads, on_demand)


def share_percent(cell: Cell, share: Share) -> Statistic | None:
    """Share of the hibernations of VMs that had tasks; None if there was none.

    Either some task was migrated to a VM in that state afterwards, or the VM resumed before its migration trigger. A
    hibernation may count for several.
    """

    def counted(day: Outcome) -> float:
        return day.resumes_in_time if share == "resumed" else day.hibernations_by_migration[share]

    return cell.share_percent(counted, lambda day: day.busy_hibernations)


def steal_success_percent(cell: Cell) -> Statistic | None:
    """Share of the attempts to steal that took a task; None if there was none."""
    return cell.share_percent(lambda day: day.steals, lambda day: day.steal_attempts)


def hibernation_duration_s(days: HadsDays, scenario: str) -> Statistic | None:
    """Mean duration of a hibernation in a scenario, over all jobs; the end of the bag ends it."""
    cells = [days.cells[job, scenario] for job in days.jobs]
    slept = [cell.values(lambda day: sum(bill.hibernated_s for bill in day.bills)) for cell in cells]
    counts = [cell.values(lambda day: day.hibernations) for cell in cells]
    return ratio_of([sum(day) for day in zip(*slept, strict=True)], [sum(day) for day in zip(*counts, strict=True)])
