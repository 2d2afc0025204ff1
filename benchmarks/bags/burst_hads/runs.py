"""The days of the Burst-HADS paper: each scheduler with the plan of its own paper, on the same days.

The iterated local search draws random numbers, so its plan is one of many: day n has the plan of seed n. A day and its
plan are drawn together, independently of all other days, so that an interval over days is one over plans as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Literal, NamedTuple, TypeAlias

from spotbag.heuristics.bags.iterated_local_search import IlsOptions, VmDestination, burst_allocation
from spotbag.instances.entries import Burstable
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.replay.bags.outcome import DayOutcome
from spotbag.replay.bags.runs import replay_day, trace_day
from spotbag.schedules.queues import queues_of_schedule, schedule_of_queues
from spotbag.schedules.schedule import Schedule
from spotbag.traces.bags.lateness import cause_of_day

from ...paper import OnRuns, replayed
from ...paper_tables import PlanUsed
from ...statistics import Statistic, average, mean_of
from ..paper_days import (
    BASELINE_POLICY,
    BaselineBilling,
    Cell,
    DayOptions,
    Environment,
    Misses,
    burst_hads_figures,
    collect_misses,
    cost_usd,
    library_job,
    make_plan,
    makespan_s,
    on_demand_market,
    paper_scenario,
    plan_used,
)

FAMILY = "burst-hads"
SCENARIOS = ("sc1", "sc2", "sc3", "sc4", "sc5")

Scales: TypeAlias = Literal["paper", "instance"]

BOTH = "burst-hads against hads"
"""Policy of rows that compare the two."""

ALL = "all cells"
"""Name, in place of a job, of the numbers of the text that are of no single one."""

WORST = ("ED200", "sc2")
"""Job and worst scenario whose savings the text states."""

_DAYS_A_BATCH = 5
_SEEDS_APART = 1_000_000
"""Between the plans of two seeds of the days: more than there are days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstHadsOptions(DayOptions):
    """Settings of the replayed days.

    Attributes
    ----------
    scales : {"paper", "instance"}
        By what the iterated local search divides cost and makespan, which the paper only calls normalized: the cost of
        its initial plan and D_spot, or what objectives are measured by elsewhere here.
    plan : {"searched", "initial", "greedy"}
        Plan of Burst-HADS: that of its iterated local search, the initial solution of this with burstable VMs, or that
        of HADS.
    plan_seed : int, optional
        Of one plan for all days; if absent, day n has the plan of seed n.
    spare_time : {"all", "spot"}
        Of which VMs Algorithm 7 of HADS asks spare time: of all, as printed, or of spot VMs only.
    ended_early : {"none", "burst-hads", "both"}
        Which schedulers end an idle VM that is not burstable after a minute, not at the end of its allocation cycle.
    t3_baseline_percent : {20, 30}, optional
        What a burstable VM does without credits, of a core, if not as in the environment; it earns credits at that
        rate.
    boot_s : int
        Seconds from the request of a VM until it is ready.
    vm_dest : {"attempt", "search"}
        How often the local search draws the VM that tasks move to: see `IlsOptions`.
    """

    scales: Scales = "paper"
    plan: Literal["searched", "initial", "greedy"] = "searched"
    plan_seed: int | None = None
    spare_time: Literal["all", "spot"] = "all"
    ended_early: Literal["none", "burst-hads", "both"] = "none"
    t3_baseline_percent: Literal[20, 30] | None = None
    boot_s: int = 0
    vm_dest: VmDestination = "attempt"

    @property
    def policies(self) -> tuple[str, str]:
        """Names of the policies of Burst-HADS and of HADS."""
        spare = "+spare-time-spot" if self.spare_time == "spot" else ""
        # Rules of a policy follow its name; without any it is as published.
        burst, hads = ("+idle-60" if self.ended_early in ended else "" for ended in (("burst-hads", "both"), ("both",)))
        return f"burst-hads{burst}", f"hads{spare}{hads}"


@dataclass(frozen=True, slots=True)
class BurstPlan:
    """The plan of Burst-HADS on a day.

    Attributes
    ----------
    vms, burstable_vms : int
        How many it rents.
    makespan_s, regular_makespan_s : int
        When its last task ends, and the last one that is on no burstable VM.
    """

    vms: int
    burstable_vms: int
    makespan_s: int
    regular_makespan_s: int


@dataclass(frozen=True, slots=True)
class Rivals:
    """A job under both schedulers and on on-demand VMs, on quiet days.

    Attributes
    ----------
    burst, hads : Cell
        Quiet days under the schedulers.
    on_demand : dict of str to Cell
        Quiet days of the search's plan of on-demand VMs, by the billing of idle ones.
    burst_plans : tuple of BurstPlan
        The plans of Burst-HADS, by day.
    plans : tuple of PlanUsed
        Those of the first day, described.
    """

    burst: Cell
    hads: Cell
    on_demand: dict[str, Cell]
    burst_plans: tuple[BurstPlan, ...]
    plans: tuple[PlanUsed, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Results of both schedulers on the days of a job in a scenario.

    Attributes
    ----------
    burst, hads : Cell
        The days.
    at_full_speed : Statistic
        Tasks of a day that Burst-HADS migrated to burstable VMs at full speed.
    """

    burst: Cell
    hads: Cell
    at_full_speed: Statistic

    def of(self, policy: str) -> Cell:
        """The days of one of them."""
        return self.burst if policy == "burst-hads" else self.hads

    @property
    def cost_reduction(self) -> Statistic:
        """Percentage by which Burst-HADS is cheaper."""
        return self.burst.reduction_percent(self.hads, cost_usd)

    @property
    def makespan_reduction(self) -> Statistic:
        """Percentage by which Burst-HADS is shorter."""
        return self.burst.reduction_percent(self.hads, makespan_s)


@dataclass(frozen=True, slots=True)
class BurstHadsDays:
    """Replayed days behind the tables.

    Attributes
    ----------
    baseline : {"cycles", "last-task"}
        How the plan on on-demand VMs is billed that savings are judged by.
    rivals : dict
        By job.
    pairs : dict
        By job and scenario.
    misses : dict
        By policy, the days that missed the deadline.
    """

    baseline: BaselineBilling
    rivals: dict[str, Rivals]
    pairs: dict[tuple[str, str], Pair]
    misses: dict[str, Misses]

    @property
    def jobs(self) -> list[str]:
        """The jobs, in the order of the paper."""
        return list(self.rivals)

    @staticmethod
    def n_tasks(job: str) -> int:
        """Tasks of a job."""
        return library_instance(f"{FAMILY}/{job}").n_tasks

    def pairs_of(self, job: str = "", scenarios: Collection[str] = SCENARIOS) -> list[Pair]:
        """The pairs of a job, or of all, in some scenarios."""
        return [pair for (of, scenario), pair in self.pairs.items() if job in ("", of) and scenario in scenarios]

    def on_demand(self, job: str) -> Cell:
        """Quiet days of a job on on-demand VMs, with the billing that savings are judged by."""
        return self.rivals[job].on_demand[self.baseline]

    def saving(self, cell: Cell, billing: BaselineBilling | None = None) -> Statistic:
        """Percentage by which the days of a cell are cheaper than the job on on-demand VMs."""
        return cell.reduction_percent(self.rivals[cell.job].on_demand[billing or self.baseline], cost_usd)

    def mean_saving(self, policy: str, billing: BaselineBilling) -> Statistic:
        """Mean saving of a scheduler over all cells."""
        return average([self.saving(pair.of(policy), billing) for pair in self.pairs.values()])

    def shorter(self, job: str = "") -> Statistic:
        """Mean reduction of the makespan over the scenarios of a job, or over all cells."""
        return average([pair.makespan_reduction for pair in self.pairs_of(job)])

    def dearer(self) -> Statistic:
        """Mean increase of the cost over all cells."""
        return -average([pair.cost_reduction for pair in self.pairs.values()])

    def stated(self) -> dict[tuple[str, str], Statistic]:
        """Ours of the numbers that the text states, by quantity and what they are of."""
        found = {
            ("makespan_reduction_percent", ""): self.shorter(),
            ("cost_increase_percent", ""): self.dearer(),
            ("burst_hads_saving_percent", ""): self.mean_saving("burst-hads", self.baseline),
            ("hads_saving_percent", ""): self.mean_saving("hads", self.baseline),
        }
        quiet_saving, quiet_longer = [], []
        for job, rivals in self.rivals.items():
            on_demand = self.on_demand(job)
            found["makespan_reduction_percent", job] = self.shorter(job)
            found["quiet_makespan_reduction_percent", job] = rivals.burst.reduction_percent(rivals.hads, makespan_s)
            found["quiet_cost_increase_percent", job] = -rivals.burst.reduction_percent(rivals.hads, cost_usd)
            quiet_saving.append(rivals.burst.reduction_percent(on_demand, cost_usd))
            quiet_longer.append(-rivals.burst.reduction_percent(on_demand, makespan_s))
        found["quiet_saving_percent", ""] = average(quiet_saving)
        found["quiet_makespan_increase_percent", ""] = average(quiet_longer)
        worst = self.pairs[WORST]
        found["burst_hads_saving_percent", " ".join(WORST)] = self.saving(worst.burst)
        found["hads_saving_percent", " ".join(WORST)] = self.saving(worst.hads)
        return found


class _Meeting(NamedTuple):
    """A day of a scenario: both schedulers, tasks migrated at full speed, and why each was late, if it was."""

    burst: DayOutcome
    hads: DayOutcome
    at_full_speed: int
    causes: tuple[str | None, str | None]


class _Day(NamedTuple):
    """A day of a job: the plan of Burst-HADS, quiet days (by role), and each scenario."""

    plan: BurstPlan
    quiet: dict[str, DayOutcome]
    meetings: dict[str, _Meeting]


def n_burst_hads_days(options: BurstHadsOptions) -> int:
    """Number of days replayed by `burst_hads_days`."""
    return options.runs * len(burst_hads_figures().quiet)


def burst_hads_days(options: BurstHadsOptions, on_days: OnRuns) -> BurstHadsDays:
    """Replay all days of the paper."""
    rivals: dict[str, Rivals] = {}
    pairs: dict[tuple[str, str], Pair] = {}
    causes: dict[str, Counter[str]] = {"burst-hads": Counter(), "hads": Counter()}
    for job in (printed.job for printed in burst_hads_figures().quiet):
        work = partial(_days, job, options)
        found = replayed(work, range(options.runs), options, on_days, job, _DAYS_A_BATCH)
        rivals[job] = _rivals(job, options, found)
        for scenario in SCENARIOS:
            days = [day.meetings[scenario] for day in found]
            burst = Cell(tuple(day.burst for day in days), job, scenario, "burst-hads")
            hads = Cell(tuple(day.hads for day in days), job, scenario, "hads")
            pairs[job, scenario] = Pair(burst, hads, mean_of([day.at_full_speed for day in days]))
            for policy, found_causes in zip(causes, zip(*(day.causes for day in days), strict=True), strict=True):
                causes[policy].update(cause for cause in found_causes if cause is not None)
    misses = {
        policy: collect_misses([pair.of(policy) for pair in pairs.values()], found) for policy, found in causes.items()
    }
    return BurstHadsDays(options.baseline, rivals, pairs, misses)


def _rivals(job: str, options: BurstHadsOptions, days: list[_Day]) -> Rivals:
    def quiet(name: str, policy: str) -> Cell:
        return Cell(tuple(day.quiet[name] for day in days), job, "", policy)

    plans = _plans(job, options, 0)
    source = _instance(job, _planning(options))[1]
    return Rivals(
        quiet("burst-hads", "burst-hads"),
        quiet("hads", "hads"),
        {billing: quiet(policy, "on-demand") for billing, policy in BASELINE_POLICY.items()},
        tuple(day.plan for day in days),
        tuple(
            plan_used(job, method, plan, source)
            for method, plan in zip(("ils", "greedy", "ils on demand"), plans, strict=True)
        ),
    )


def _days(job: str, options: BurstHadsOptions, numbers: range) -> Iterator[_Day]:
    """Plan and replay some days of a job."""
    scenarios = {name: paper_scenario(FAMILY, name, options) for name in SCENARIOS}
    burst_policy, hads_policy = options.policies
    for number in numbers:
        searched, greedy, regular = _plans(job, options, number)
        quiet = {
            "burst-hads": replay_day(searched, burst_policy),
            "hads": replay_day(greedy, hads_policy),
            **{policy: replay_day(regular, policy) for policy in BASELINE_POLICY.values()},
        }
        meetings = {}
        for name, scenario in scenarios.items():
            timeline = scenario.day(greedy.instance, options.seed, number)
            burst, trace = trace_day(searched, burst_policy, timeline, day=number)
            # Few days of HADS are late: only these are gone through again with a record, which says why.
            hads = replay_day(greedy, hads_policy, timeline)
            at_full_speed = sum(event["event"] == "migrate" and event.get("mode") == "burst" for event in trace.events)
            cause = None if hads.meets_deadline else cause_of_day(trace_day(greedy, hads_policy, timeline)[1])
            meetings[name] = _Meeting(_brief(burst), _brief(hads), at_full_speed, (cause_of_day(trace), cause))
        yield _Day(_burst_plan(searched), {name: _brief(day) for name, day in quiet.items()}, meetings)


def _brief(outcome: DayOutcome) -> DayOutcome:
    """Leave out the bills of the VMs: there are too many to pass them on."""
    return replace(outcome, bills=())


def _burst_plan(plan: Schedule) -> BurstPlan:
    burstable = plan.instance.offer_is_burstable[plan.vm_offer]
    regular = plan.task_end_s[~burstable[plan.task_vm]]
    return BurstPlan(len(burstable), int(burstable.sum()), plan.makespan_s, int(regular.max(initial=0)))


def _planning(options: BurstHadsOptions) -> BurstHadsOptions:
    """Return the options on which plans depend, all others as they are by default: so plans are made once for many."""
    # Neither the days nor the policies change a plan, and making it takes seconds.
    names = ("d_spot", "environment", "t3_baseline_percent", "boot_s", "vm_dest", "scales")
    return BurstHadsOptions(**{name: getattr(options, name) for name in names})


def _plans(job: str, options: BurstHadsOptions, number: int) -> tuple[Schedule, Schedule, Schedule]:
    """Plans of a day: of Burst-HADS, of HADS, and of the search on on-demand VMs."""
    of, seed = _planning(options), options.seed * _SEEDS_APART + number
    seed = seed if options.plan_seed is None else options.plan_seed
    planned = _plan(job, of, options.plan, seed if options.plan == "searched" else 0)
    return planned, _plan(job, of, "greedy"), _plan(job, of, "on-demand", seed)


@cache
def _instance(job: str, of: BurstHadsOptions) -> tuple[Instance, str]:
    """A job, and where its D_spot comes from."""
    printed = burst_hads_figures().row("quiet", job=job)
    instance, source = library_job(FAMILY, job, printed.hads_makespan_s, of.d_spot, of.environment)
    if of.t3_baseline_percent is not None:
        # A type earns what all its cores spend at the baseline, a credit for a minute at full speed.
        fraction = of.t3_baseline_percent / 100
        earned = Environment(burstable=Burstable(baseline_fraction=fraction, credits_per_hour=fraction * 60 * 2))
        instance = earned.applied(instance)
    return instance.replace(boot_overhead_s=of.boot_s), source


@cache
def _plan(
    job: str, of: BurstHadsOptions, kind: Literal["searched", "on-demand", "greedy", "initial"], seed: int = 0
) -> Schedule:
    """Plan of a job: by the search of a seed, also with regular on-demand VMs only; by the greedy of HADS; or initial.

    The last is the initial solution of the search with burstable VMs (Algorithm 1, lines 3 and 25-27).
    """
    instance, search = _instance(job, of)[0], {"scales": of.scales, "vm_dest": of.vm_dest}
    if kind == "searched":
        return make_plan(instance, "ils", seed, search)
    if kind == "on-demand":
        return make_plan(on_demand_market(instance), "ils", seed, {**search, "burst_rate": 0.0})
    if kind == "greedy":
        return make_plan(instance, "greedy")
    initial = replace(make_plan(instance.replace(markets=["spot"]), "greedy"), instance=instance)
    queues = burst_allocation(instance, queues_of_schedule(initial), IlsOptions().burst_rate)
    return initial if queues is None else schedule_of_queues(instance, queues)
