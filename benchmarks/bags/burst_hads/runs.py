"""The days of the Burst-HADS paper: each scheduler with the plan of its own paper, on the same days."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ....core.statistics import Statistic, average, mean_of, reduction_percent
from ....instances.instance import Instance
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
    cost_usd,
    library_job,
    make_plan,
    makespan_s,
    miss_causes,
    paper_scenario,
    plan_used,
    replay_cell,
)
from ..printed import burst_hads_figures

FAMILY = "burst-hads"
SCENARIOS = ("sc1", "sc2", "sc3", "sc4", "sc5")

Scales: TypeAlias = Literal["paper", "instance"]

BOTH = "burst-hads against hads"
"""Policy of rows that compare the two."""


@dataclass(frozen=True, slots=True)
class BurstHadsOptions(DayOptions):
    """What days are replayed.

    Attributes
    ----------
    scales : {"paper", "instance"}
        By what the iterated local search divides cost and makespan: the cost of its initial plan and D_spot, as the
        paper says, or what objectives are measured by elsewhere here.
    """

    scales: Scales = "paper"


@dataclass(frozen=True, slots=True)
class Rivals:
    """A job without hibernation, under both schedulers and on on-demand VMs.

    Attributes
    ----------
    burst_plan, hads_plan : Schedule
        By the iterated local search, and by the greedy.
    burst, hads, on_demand : Outcome
        A quiet day; ``on_demand`` is the search's plan without burstable VMs, on on-demand VMs.
    plans : tuple of PlanUsed
        The plans, described.
    """

    burst_plan: Schedule
    hads_plan: Schedule
    burst: Outcome
    hads: Outcome
    on_demand: Outcome
    plans: tuple[PlanUsed, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """The same days of a job in a scenario under both schedulers."""

    burst: Cell
    hads: Cell

    @property
    def cost_reduction(self) -> Statistic:
        """By how many percent Burst-HADS is cheaper."""
        return reduction_percent(self.burst.values(cost_usd), self.hads.values(cost_usd))

    @property
    def makespan_reduction(self) -> Statistic:
        """By how many percent Burst-HADS is shorter."""
        return reduction_percent(self.burst.values(makespan_s), self.hads.values(makespan_s))


@dataclass(frozen=True, slots=True)
class BurstHadsDays:
    """All days that the tables are made of.

    Attributes
    ----------
    rivals : dict
        By job.
    pairs : dict
        By job and scenario.
    misses : dict
        By policy, the days that missed the deadline.
    """

    rivals: dict[str, Rivals]
    pairs: dict[tuple[str, str], Pair]
    misses: dict[str, Misses]

    @property
    def jobs(self) -> list[str]:
        """The jobs, in the order of the paper."""
        return list(self.rivals)

    def averages(self) -> dict[str, Statistic]:
        """Means over all cells, by the quantity of the printed averages."""
        saving: dict[str, list[Statistic]] = {"burst": [], "hads": []}
        for (job, _), pair in self.pairs.items():
            price = self.rivals[job].on_demand.cost_usd
            for name, cell in (("burst", pair.burst), ("hads", pair.hads)):
                saving[name].append(mean_of([100 * (1 - cost / price) for cost in cell.values(cost_usd)]))
        cheaper = average([pair.cost_reduction for pair in self.pairs.values()])
        return {
            "makespan_reduction_percent": average([pair.makespan_reduction for pair in self.pairs.values()]),
            "cost_increase_percent": Statistic(-cheaper.value, tuple(-day for day in cheaper.influence)),
            "burst_hads_saving_percent": average(saving["burst"]),
            "hads_saving_percent": average(saving["hads"]),
        }


def n_burst_hads_days(options: BurstHadsOptions) -> int:
    """How many days `burst_hads_days` replays."""
    return options.runs * len(burst_hads_figures().quiet) * len(SCENARIOS) * 2


def burst_hads_days(options: BurstHadsOptions, on_days: OnRuns) -> BurstHadsDays:
    """Replay all days of the paper."""
    figures = burst_hads_figures()
    rivals: dict[str, Rivals] = {}
    pairs: dict[tuple[str, str], Pair] = {}
    cells: dict[str, list[Cell]] = {"burst-hads": [], "hads": []}
    causes: dict[str, Counter[str]] = {policy: Counter() for policy in cells}
    for printed in figures.quiet:
        job = printed.job
        instance, source = library_job(FAMILY, job, printed.hads_makespan_s, options.d_spot)
        rivals[job] = _rivals(job, instance, source, options)
        plans = {"burst-hads": rivals[job].burst_plan, "hads": rivals[job].hads_plan}
        for scenario in SCENARIOS:
            days_from = paper_scenario(FAMILY, scenario, options)
            for policy, plan in plans.items():
                cells[policy] += replay_cell(job, scenario, days_from, plan, [policy], options, on_days)
                causes[policy] += miss_causes(cells[policy][-1], plan, days_from, options.seed)
            pairs[job, scenario] = Pair(cells["burst-hads"][-1], cells["hads"][-1])
    return BurstHadsDays(
        rivals, pairs, {policy: collect_misses(found, causes[policy]) for policy, found in cells.items()}
    )


def _rivals(job: str, instance: Instance, source: str, options: BurstHadsOptions) -> Rivals:
    """Plan a job for both schedulers."""
    burst = make_plan(instance, "ils", options.seed, {"scales": options.scales})
    regular = make_plan(instance, "ils", options.seed, {"scales": options.scales, "burst_rate": 0.0})
    hads = make_plan(instance, "greedy")
    return Rivals(
        burst,
        hads,
        replay_day(burst, "burst-hads"),
        replay_day(hads, "hads"),
        replay_day(regular, "on-demand"),
        (plan_used(job, "ils", burst, source), plan_used(job, "greedy", hads, source)),
    )
