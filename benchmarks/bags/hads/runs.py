"""The days of the HADS paper: its jobs planned by its greedy, in its scenarios, under its scheduler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from spotbag.heuristics.bags.d_spot import estimate_d_spot
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.bags.scripted_days import Scenario
from spotbag.instances.entries import RentalOffer
from spotbag.instances.instance import Instance
from spotbag.replay.bags.outcome import DayOutcome
from spotbag.replay.bags.runs import replay_day, trace_day
from spotbag.schedules.schedule import Schedule
from spotbag.traces.trace import Trace

from ...paper import OnRuns
from ...paper_tables import PlanUsed
from ...statistics import Statistic, average, mean_of, ratio_of
from ..paper_days import (
    BASELINE_POLICY,
    BaselineBilling,
    Cell,
    DayOptions,
    Misses,
    collect_misses,
    cost_usd,
    hads_figures,
    library_job,
    make_plan,
    makespan_s,
    miss_causes,
    on_demand_market,
    paper_scenario,
    plan_used,
    replay_cell,
)

FAMILY = "hads"
POLICY = "hads"
SCENARIOS = ("sc1", "sc2", "sc3", "sc4", "sc5", "sc6", "sc7")
BIG_JOB = "ED200"
"""Job of Table 11 and of Figs 11 to 13."""

SWEEP_K_H = (1, 2, 3, 4, 5, 6, 7)
SWEEP_K_R = (0, 3, 7)
"""Rates of Fig. 11."""

Metric: TypeAlias = Callable[[DayOutcome], float]
"""A number of a day."""

BaselinePlan: TypeAlias = Literal["own", "same"]


def baseline_name(plan: BaselinePlan, billing: BaselineBilling) -> str:
    """Name of an on-demand baseline in tables."""
    return BASELINE_POLICY[billing] + (", same plan" if plan == "same" else "")


@dataclass(frozen=True, slots=True)
class HadsOptions(DayOptions):
    """Settings of the replayed days.

    Attributes
    ----------
    baseline_plan : {"same", "own"}
        What the on-demand baseline carries out: the plan of HADS, each spot VM replaced by one on demand, as in the
        paper, or the greedy's plan for on-demand VMs only.
    policy : str
        The scheduler: ``hads``, with other rules than the paper's after a plus, such as ``hads+spare-time-spot``.
    boot_s : int
        Seconds from the request of a VM until it is ready.
    """

    baseline_plan: BaselinePlan = field(default="same", kw_only=True)
    policy: str = field(default=POLICY, kw_only=True)
    boot_s: int = field(default=0, kw_only=True)


@dataclass(frozen=True, slots=True)
class FirstCycle:
    """Events of spot VMs in their first allocation cycle on a day (section 5.3.4 and Fig. 13), read from a trace.

    Attributes
    ----------
    thieves, once_at_first : int
        Spot VMs that stole; those of them that stole once only, in their first allocation cycle.
    done, done_thieves : int
        Spot VMs that had executed all their planned tasks when their first cycle ended; those of them that stole then.
    stolen : Counter
        Tasks that spot VMs stole, by VM type.
    vms : Counter
        Spot VMs, by type.
    """

    thieves: int
    once_at_first: int
    done: int
    done_thieves: int
    stolen: Counter[str]
    vms: Counter[str]


@dataclass(frozen=True, slots=True)
class HadsBaseline:
    """A job without hibernation.

    Attributes
    ----------
    schedule : Schedule
        The plan.
    plan : PlanUsed
        The plan, described.
    algorithm_1_s : int
        D_spot as Algorithm 1 estimates it.
    static, hads : DayOutcome
        A day without hibernation under each policy.
    on_demand : dict of (str, str) to DayOutcome
        The on-demand baseline, by its plan and its billing.
    """

    schedule: Schedule
    plan: PlanUsed
    algorithm_1_s: int
    static: DayOutcome
    hads: DayOutcome
    on_demand: dict[tuple[BaselinePlan, BaselineBilling], DayOutcome]


@dataclass(frozen=True, slots=True)
class HadsDays:
    """Replayed days behind the tables.

    Attributes
    ----------
    options : HadsOptions
        What was replayed.
    baselines : dict
        By job.
    cells : dict
        By job and scenario.
    sweep : dict
        Of `BIG_JOB`, by k_h and k_r.
    misses : Misses
        Days of the cells that missed the deadline.
    first_cycles : list of FirstCycle
        What spot VMs of `BIG_JOB` did in their first allocation cycle on each day of sc2.
    first_hibernation_s : list of float
        When the VM types of `BIG_JOB` hibernated for the first time on each day of the largest k_h of the sweep, on
        average; only days on which one did.
    """

    options: HadsOptions
    baselines: dict[str, HadsBaseline]
    cells: dict[tuple[str, str], Cell]
    sweep: dict[tuple[int, int], Cell]
    misses: Misses
    first_cycles: list[FirstCycle]
    first_hibernation_s: list[float]

    @property
    def jobs(self) -> list[str]:
        """The jobs, in the order of the paper."""
        return list(self.baselines)

    def on_demand_usd(
        self, job: str, billing: BaselineBilling | None = None, plan: BaselinePlan | None = None
    ) -> float:
        """Cost of a job on on-demand VMs; planned and billed as the options say if nothing else is given."""
        key = plan or self.options.baseline_plan, billing or self.options.baseline
        return self.baselines[job].on_demand[key].cost_usd

    def saving_percent(
        self, job: str, scenario: str, billing: BaselineBilling | None = None, plan: BaselinePlan | None = None
    ) -> Statistic:
        """Saving against on-demand VMs."""
        price = self.on_demand_usd(job, billing, plan)
        return self.cells[job, scenario].statistic(lambda day: 100 * (1 - day.cost_usd / price))

    def hibernation_duration_s(self, scenario: str) -> Statistic | None:
        """Mean duration of a hibernation in a scenario, over all jobs; the end of the bag ends it."""
        cells = [self.cells[job, scenario] for job in self.jobs]
        slept = [cell.values(lambda day: sum(bill.hibernated_s for bill in day.bills)) for cell in cells]
        counts = [cell.values(lambda day: day.hibernations) for cell in cells]
        return ratio_of([sum(day) for day in zip(*slept, strict=True)], [sum(day) for day in zip(*counts, strict=True)])

    def planned_tasks(self, vm_type: str) -> list[int]:
        """Tasks of each VM of a type in the plan of `BIG_JOB`."""
        plan = self.baselines[BIG_JOB].schedule
        counts = Counter(plan.task_vm.tolist())
        return [counts[vm] for vm, offer in enumerate(planned_offers(plan)) if offer.vm_type.name == vm_type]

    def stolen_tasks(self, vm_type: str) -> Statistic | None:
        """Mean number of tasks stolen by a spot VM of a type in sc2 with `BIG_JOB`; None without such VMs."""
        return ratio_of(
            [day.stolen[vm_type] for day in self.first_cycles], [day.vms[vm_type] for day in self.first_cycles]
        )

    def mean_over_k_h(self, k_r: int, metric: Metric) -> Statistic:
        """Mean of a number over all k_h of the sweep."""
        return average([mean_of(self.sweep[k_h, k_r].values(metric)) for k_h in SWEEP_K_H])


def n_hads_days(options: HadsOptions) -> int:
    """Number of days replayed by `hads_days`."""
    return options.runs * (len(hads_figures().baselines) * len(SCENARIOS) + len(SWEEP_K_H) * len(SWEEP_K_R))


def hads_days(options: HadsOptions, on_days: OnRuns) -> HadsDays:
    """Replay all days of the paper."""
    figures = hads_figures()
    baselines = {printed.job: _baseline(printed.job, printed.makespan_s, options) for printed in figures.baselines}
    cells: dict[tuple[str, str], Cell] = {}
    causes: Counter[str] = Counter()
    for job, baseline in baselines.items():
        for scenario in SCENARIOS:
            days_from = paper_scenario(FAMILY, scenario, options)
            [cell] = replay_cell(job, scenario, days_from, baseline.schedule, [options.policy], options, on_days)
            cells[job, scenario] = cell
            causes += miss_causes(cell, baseline.schedule, days_from, options.seed)
    plan = baselines[BIG_JOB].schedule
    sweep: dict[tuple[int, int], Cell] = {}
    for k_r in SWEEP_K_R:
        for k_h in SWEEP_K_H:
            days_from = _sweep_scenario(k_h, k_r, options)
            [sweep[k_h, k_r]] = replay_cell(
                BIG_JOB, sweep_name(k_h, k_r), days_from, plan, [options.policy], options, on_days
            )
    return HadsDays(
        options,
        baselines,
        cells,
        sweep,
        collect_misses(list(cells.values()), causes),
        _first_cycles(plan, options),
        _first_hibernations_s(plan, options),
    )


def sweep_name(k_h: int, k_r: int) -> str:
    """Name of a scenario of Fig. 11."""
    return f"k_h={k_h}, k_r={k_r}"


def _sweep_scenario(k_h: int, k_r: int, options: HadsOptions) -> Scenario:
    return find_scenario("poisson", k_h=k_h, k_r=k_r, rate_scale=options.rate_scale)


def _baseline(job: str, printed_makespan_s: int, options: HadsOptions) -> HadsBaseline:
    instance, source = library_job(FAMILY, job, printed_makespan_s, options.d_spot, options.environment)
    instance = instance.replace(boot_overhead_s=options.boot_s)
    schedule = make_plan(instance, "greedy")
    plans: dict[BaselinePlan, Schedule] = {"own": make_plan(on_demand_market(instance), "greedy"), "same": schedule}
    return HadsBaseline(
        schedule,
        plan_used(job, "greedy", schedule, source),
        estimate_d_spot(instance),
        replay_day(schedule, "static"),
        replay_day(schedule, options.policy),
        {
            (plan, billing): replay_day(plans[plan], policy)
            for plan in plans
            for billing, policy in BASELINE_POLICY.items()
        },
    )


def _first_cycles(plan: Schedule, options: HadsOptions) -> list[FirstCycle]:
    """First allocation cycles of spot VMs, on each day of sc2."""
    days_from = paper_scenario(FAMILY, "sc2", options)
    found = []
    for number in range(options.runs):
        timeline = days_from.day(plan.instance, options.seed, number)
        # Records of all days would fill the memory: each is read at once, and a few counts are kept.
        trace = trace_day(plan, options.policy, timeline, day=number)[1]
        found.append(first_cycle(trace, plan.instance.allocation_cycle_s))
    return found


def _first_hibernations_s(plan: Schedule, options: HadsOptions) -> list[float]:
    """Time of the first hibernation at the largest k_h, as a mean over the VM types, on each day."""
    days_from = _sweep_scenario(SWEEP_K_H[-1], 0, options)
    found = []
    for number in range(options.runs):
        first: dict[str, int] = {}
        # When a type hibernates is known of a day before it is replayed.
        for event in days_from.day(plan.instance, options.seed, number).events:
            if event.kind == "interrupt":
                first.setdefault(event.vm_type, event.time_s)
        if first:
            found.append(sum(first.values()) / len(first))
    return found


def spot_offers(instance: Instance, vms: Mapping[str, int]) -> list[RentalOffer]:
    """Offers of spot VMs, by how many of each type."""
    by_name = {offer.vm_type.name: offer for offer in instance.offers if offer.market == "spot"}
    return [by_name[name] for name, number in vms.items() for _ in range(number)]


def planned_offers(schedule: Schedule) -> list[RentalOffer]:
    """Offers of the VMs of a plan."""
    return [schedule.instance.offers[index] for index in schedule.vm_offer.tolist()]


def on_demand_rate_usd(instance: Instance, rented: Sequence[RentalOffer]) -> float:
    """Price on demand, by the second, of VMs of the types of some others."""
    prices = {offer.type_index: offer.price_usd_per_s for offer in instance.offers if offer.market == "on-demand"}
    return sum(prices[offer.type_index] for offer in rented)


def price_difference_percent(instance: Instance, rented: Sequence[RentalOffer]) -> float:
    """Percentage by which VMs are cheaper than on demand."""
    return 100 * (1 - sum(offer.price_usd_per_s for offer in rented) / on_demand_rate_usd(instance, rented))


def migrations(day: DayOutcome) -> float:
    """Tasks migrated on a day."""
    return sum(day.migrations.values())


def hibernations(day: DayOutcome) -> float:
    """Hibernations of a day."""
    return day.hibernations


METRICS: Mapping[str, Metric] = {
    "hibernations": hibernations,
    "on_demand_started": lambda day: day.on_demand_started,
    "makespan_s": makespan_s,
    "cost_usd": cost_usd,
    "late_days_percent": lambda day: 100.0 * (not day.meets_deadline),
}
TABLE_10 = {name: METRICS[name] for name in ("hibernations", "on_demand_started", "makespan_s", "cost_usd")}
CHECKPOINTS: Mapping[str, Metric] = {
    "checkpoints": lambda day: day.checkpoints,
    "migrations": migrations,
    "recoveries": lambda day: day.recoveries,
    "cpu_time_saved_s": lambda day: day.cpu_time_saved_s,
}


# ---------------------------------------------------------------------------- first allocation cycles


@dataclass(slots=True)
class _Vm:
    """A spot VM of the plan: when it was ready, what it has slept, when it stole."""

    type: str
    planned: int
    ready_s: int = 0
    slept_s: int = 0
    asleep_since_s: int | None = None
    finished: int = 0
    lost: bool = False
    steals_s: list[int] = field(default_factory=list)
    done_s: int | None = None
    stole_when_done: bool = False
    stolen: int = 0

    def uptime_s(self, now_s: int) -> int:
        # The uptime of a hibernated VM stands still, and with it its cycle.
        return now_s - self.ready_s - self.slept_s


def first_cycle(trace: Trace, cycle_s: int) -> FirstCycle:
    """Read the first allocation cycle of a plan's spot VMs from a trace.

    Parameters
    ----------
    trace : Trace
        The day.
    cycle_s : int
        Length of an allocation cycle.

    Notes
    -----
    A VM has executed its planned tasks if it ended all of them itself; at that moment it tries to steal.
    """
    vms = {vm["vm"]: _Vm(vm["type"], sum(map(len, vm["cores"]))) for vm in trace.run["plan"] if vm["market"] == "spot"}
    for event in trace.events:
        _count(vms, event)
    done = [vm for vm in vms.values() if vm.done_s is not None and vm.done_s < cycle_s]
    stolen: Counter[str] = Counter()
    for vm in vms.values():
        stolen[vm.type] += vm.stolen
    return FirstCycle(
        thieves=sum(bool(vm.steals_s) for vm in vms.values()),
        once_at_first=sum(len(vm.steals_s) == 1 and vm.steals_s[0] < cycle_s for vm in vms.values()),
        done=len(done),
        done_thieves=sum(vm.stole_when_done for vm in done),
        stolen=stolen,
        vms=Counter(vm.type for vm in vms.values()),
    )


def _count(vms: dict[str, _Vm], event: dict[str, Any]) -> None:
    """Take an event into account."""
    kind, now_s = event["event"], event["t"]
    # A migration counts for the VM that loses the task: it has not ended all its tasks itself.
    vm = vms.get(event.get("from" if kind == "migrate" else "vm", ""))
    if vm is None:
        return
    if kind == "ready":
        vm.ready_s = now_s
    elif kind == "hibernate":
        vm.asleep_since_s = now_s
    elif kind == "resume" and vm.asleep_since_s is not None:
        vm.slept_s += now_s - vm.asleep_since_s
        vm.asleep_since_s = None
    elif kind == "finish":
        vm.finished += 1
    elif kind == "migrate":
        vm.lost = True
    elif kind == "steal-attempt":
        # Only the first attempt is at the end of the planned tasks: later ones are at the end of stolen ones.
        whole = not vm.lost and vm.finished == vm.planned and vm.done_s is None
        if whole:
            vm.done_s = vm.uptime_s(now_s)
            vm.stole_when_done = event["stolen"] > 0
        if event["stolen"]:
            vm.steals_s.append(vm.uptime_s(now_s))
            vm.stolen += event["stolen"]
