"""Replayed days of both papers' tables: what is printed, a plan, a scenario, a policy, and its days."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args

from pydantic import Field

from spotbag.core.errors import SpotbagError
from spotbag.core.limits import LimitReached
from spotbag.core.records import Record
from spotbag.core.wording import counted
from spotbag.heuristics.bags.d_spot import estimate_d_spot
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.bags.scripted_days import Scenario
from spotbag.instances.entries import Burstable, Limits, VmType
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.replay.bags.outcome import DayOutcome
from spotbag.replay.bags.runs import replay_days, trace_day
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.solve import solve
from spotbag.traces.bags.lateness import CAUSES, cause_of_day

from ..claims import Case, Verdict, exactly
from ..data_files import Figures, read_figures, read_toml
from ..paper import OnRuns, PaperOptions, Results, Setting, by_environment
from ..paper_tables import PlanUsed, PublishedComparisonResult
from ..statistics import Sample, Statistic, reduction_percent


def hads_figures() -> Figures:
    """Read the printed figures of the HADS paper.

    Returns
    -------
    Figures
        ``jobs`` (Table 5), ``baselines`` without hibernation (Table 9), ``results`` (Table 10, means of three runs) and
        ``checkpoints`` of ED200 (Table 11) are tables; ``hibernation_duration_s`` is by scenario (Fig. 8),
        ``steal_success_percent`` by those that the text names (ED200, Fig. 12).

        ``shares``: of the hibernations, those after which tasks were migrated to a VM in that state, or that VMs
        resumed from before the migration trigger, as far as the text states them of Figs 9 and 10; ``relation`` is how
        the share is to the number. ``steals``: two spot VMs of a run of ED200 in sc2 (Fig. 13); the text says which
        numbers are those of which VM, the captions of the figure have it the other way round.
    """
    return read_figures(Figures, __package__, "hads.json")


def burst_hads_figures() -> Figures:
    """Read the printed figures of the Burst-HADS paper.

    Returns
    -------
    Figures
        ``jobs``, ``quiet`` without hibernation (Table IV) and ``results`` (Table VI, means of three runs) are tables;
        reductions are those of Burst-HADS against HADS, and there is one number of hibernations, and of resumes, for
        both. ``averages``: numbers of section IV, of all cells where they are ``of`` nothing; ``printed`` is what the
        text says, and ``recomputed`` what the printed costs and makespans give.
    """
    return read_figures(Figures, __package__, "burst_hads.json")


DSpotRule: TypeAlias = Literal["printed", "estimated"]
BaselineBilling: TypeAlias = Literal["cycles", "last-task"]

BASELINE_POLICY: dict[BaselineBilling, str] = {"cycles": "on-demand", "last-task": "on-demand+last-task"}
"""The policy that bills the plan on on-demand VMs, by how it bills idle ones."""

FROM_ALGORITHM_1 = "Algorithm 1"
FROM_PRINTED_MAKESPAN = "printed makespan"


Share: TypeAlias = Literal["new", "idle", "busy", "resumed"]
SHARES: tuple[Share, ...] = ("new", "idle", "busy", "resumed")


class Environment(Record):
    """Limits and types of VMs, where the authors' files differ from what the papers print.

    Attributes
    ----------
    per_type : int, optional
        VMs of a type and market at once; as printed if absent.
    over_all : int, optional
        VMs of a market at once, over all types.
    without : tuple of str
        VM types that cannot be rented.
    burstable : Burstable, optional
        CPU credits of burstable VMs.
    burstable_vcpus : int, optional
        Their cores.
    """

    per_type: int | None = None
    over_all: int | None = None
    without: Annotated[tuple[str, ...], Field(strict=False)] = ()
    burstable: Burstable | None = None
    burstable_vcpus: int | None = None

    def applied(self, instance: Instance) -> Instance:
        """Return a job in this environment."""
        changes: dict[str, Any] = {
            "vm_types": [self._type(vm_type) for vm_type in instance.vm_types if vm_type.name not in self.without]
        }
        # A task must not have a run time on a type that is not there.
        if self.without:
            changes["tasks"] = [
                task.model_copy(
                    update={"runtime_s": {of: s for of, s in (task.runtime_s or {}).items() if of not in self.without}}
                )
                for task in instance.tasks
            ]
        if self.over_all is not None:
            changes["limits"] = Limits(max_spot=self.over_all, max_on_demand=self.over_all)
        return instance.replace(**changes)

    def _type(self, vm_type: VmType) -> VmType:
        changes: dict[str, Any] = {}
        if self.per_type is not None:
            changes["offers"] = {
                market: offer.model_copy(update={"limit": self.per_type}) for market, offer in vm_type.offers.items()
            }
        if vm_type.burstable is not None:
            given = {"burstable": self.burstable, "vcpus": self.burstable_vcpus}
            changes |= {name: value for name, value in given.items() if value is not None}
        return vm_type.model_copy(update=changes)


EnvironmentName: TypeAlias = Literal["printed", "3 VMs, 30 %", "env.json"]

ENVIRONMENTS: Mapping[EnvironmentName, Environment] = {
    name: Environment.model_validate(read_toml(__package__, "environments.toml")[name])
    for name in get_args(EnvironmentName)
}


@dataclass(frozen=True, slots=True)
class DayOptions(PaperOptions):
    """Settings of the replayed days.

    Attributes
    ----------
    rate_scale : float
        Multiplies the rates of all scenarios.
    d_spot : {"printed", "estimated"}
        Where D_spot comes from; see `with_paper_d_spot`.
    baseline : {"cycles", "last-task"}
        How the plan on on-demand VMs is billed that schedulers are compared with: as they are, idle VMs to the ends of
        their allocation cycles, or each VM to the end of its last task.
    environment : {"printed", "3 VMs, 30 %", "env.json"}
        Which VMs can be rented; see `ENVIRONMENTS`.
    """

    rate_scale: float = 1.0
    d_spot: DSpotRule = "printed"
    baseline: BaselineBilling = field(default="cycles", kw_only=True)
    environment: EnvironmentName = field(default="printed", kw_only=True)


Days = TypeVar("Days", bound=DayOptions)


def environments(options: Days) -> list[Setting[Days]]:
    """Return the settings of the environments that are not printed, with all days."""
    return [
        Setting("environment", name, replace(options, environment=name), environment=True)
        for name in ENVIRONMENTS
        if name != "printed"
    ]


def fleets(results: Results, method: str) -> dict[str, str]:
    """Return the numbers of VMs in the plans of all jobs but the smallest, by environment."""
    found = {}
    for name, result in by_environment(results).items():
        plans = [plan for plan in result.plans if plan.method == method and plan.job != "J60"]
        found[name] = ", ".join(str(sum(plan.vms.values())) for plan in plans)
    return found


@dataclass(frozen=True)
class Cell(Sample[DayOutcome]):
    """The days of a job in a scenario under a policy.

    Attributes
    ----------
    runs : tuple of DayOutcome
        One for each day.
    job, scenario, policy : str
        Which.
    """

    job: str
    scenario: str
    policy: str

    def reduction_percent(self, other: Cell, metric: Callable[[DayOutcome], float]) -> Statistic:
        """Percentage by which the mean of a number is below that of another cell, day by day."""
        return reduction_percent(self.values(metric), other.values(metric))

    def share_after_percent(self, share: Share) -> Statistic | None:
        """Share of the hibernations of VMs that had tasks; None if there was none.

        Either some task was migrated to a VM in that state afterwards, or the VM resumed before its migration trigger.
        A hibernation may count for several.
        """
        return self.share_percent(
            lambda day: day.resumes_in_time if share == "resumed" else day.hibernations_by_migration[share],
            lambda day: day.busy_hibernations,
        )

    @property
    def hibernated_vms_percent(self) -> Statistic | None:
        """Share of the spot VMs that hibernated at least once; None if there are none."""

        def spot_vms(least_s: int) -> Callable[[DayOutcome], float]:
            return lambda day: sum(bill.market == "spot" and bill.hibernated_s >= least_s for bill in day.bills)

        return self.share_percent(spot_vms(1), spot_vms(0))

    @property
    def steal_success_percent(self) -> Statistic | None:
        """Share of the attempts to steal that took a task; None if there was none."""
        return self.share_percent(lambda day: day.steals, lambda day: day.steal_attempts)

    @property
    def late_days(self) -> list[DayOutcome]:
        """Late days, which miss the deadline."""
        return [day for day in self.runs if not day.meets_deadline]


def cost_usd(day: DayOutcome) -> float:
    """Cost of a day."""
    return day.cost_usd


def makespan_s(day: DayOutcome) -> float:
    """Makespan of a day.

    Raises
    ------
    SpotbagError
        If tasks were left unfinished; the published policies finish all in these scenarios.
    """
    if day.makespan_s is None:
        raise SpotbagError(f"{day.policy}: {day.unfinished_tasks} tasks never ended: there is no makespan")
    return day.makespan_s


def with_paper_d_spot(instance: Instance, printed_makespan_s: int, rule: DSpotRule) -> tuple[Instance, str]:
    """Return the instance with D_spot set, and where it comes from.

    D_spot is that of Algorithm 1 of HADS. Some printed plans end later than that, so their D_spot must have been
    larger; by the rule ``printed`` it is the second after the printed makespan then, as the greedy wants tasks to end
    strictly before it.
    """
    estimated = estimate_d_spot(instance)
    if rule == "printed" and printed_makespan_s >= estimated:
        return instance.replace(d_spot_s=printed_makespan_s + 1), FROM_PRINTED_MAKESPAN
    return instance.replace(d_spot_s=estimated), FROM_ALGORITHM_1


def library_job(
    family: str, job: str, printed_makespan_s: int, rule: DSpotRule, environment: EnvironmentName = "printed"
) -> tuple[Instance, str]:
    """A job of the library in an environment, with D_spot set; see `with_paper_d_spot`."""
    instance = ENVIRONMENTS[environment].applied(library_instance(f"{family}/{job}"))
    return with_paper_d_spot(instance, printed_makespan_s, rule)


def on_demand_market(instance: Instance) -> Instance:
    """Return the instance with on-demand VMs only, for the plan of the papers' baseline."""
    return instance.replace(markets=["on-demand"])


def make_plan(instance: Instance, method: str, seed: int = 0, options: Mapping[str, Any] | None = None) -> Schedule:
    """Plan an instance.

    Raises
    ------
    SpotbagError
        If there is no plan.
    LimitReached
        If it is asked to stop before the method has ended by itself.
    """
    result = solve(instance, method, seed=seed, options=dict(options) if options else None)
    if result.interrupted:
        raise LimitReached
    if result.schedule is None:
        raise SpotbagError(f"{instance.name}: no plan found by {method}: {result.message}")
    return result.schedule


def plan_used(job: str, method: str, schedule: Schedule, d_spot_source: str) -> PlanUsed:
    """Describe a plan that is replayed."""
    return PlanUsed(
        job,
        method,
        schedule.instance.d_spot_s,
        d_spot_source,
        vms_of(schedule),
        schedule.makespan_s,
        schedule.cost_usd,
    )


def vms_of(schedule: Schedule) -> dict[str, int]:
    """Count the VMs of a plan by type; on-demand ones are marked so."""
    offers = [schedule.instance.offers[index] for index in schedule.vm_offer.tolist()]
    # In the order of the types, spot VMs of a type before those on demand.
    counts = Counter((offer.type_index, offer.market == "on-demand", offer.vm_type.name) for offer in offers)
    return {name + " on demand" * on_demand: counts[kind, on_demand, name] for kind, on_demand, name in sorted(counts)}


def replay_cell(
    job: str,
    scenario: str,
    days_from: Scenario,
    schedule: Schedule,
    policies: Sequence[str],
    options: DayOptions,
    on_days: OnRuns,
) -> list[Cell]:
    """Replay a plan in a scenario; one cell for each policy.

    Raises
    ------
    LimitReached
        If it is asked to stop: means of fewer days than asked for would not be comparable.
    """
    label = f"{job} {scenario}"
    days = replay_days(
        schedule,
        policies,
        days_from,
        options.runs,
        seed=options.seed,
        workers=options.workers,
        bounds=False,
        on_day=lambda done: on_days(done, label),
    )
    if days.interrupted:
        raise LimitReached
    return [Cell(found, job, scenario, policy) for policy, found in zip(days.policies, days.outcomes, strict=True)]


def paper_scenario(family: str, scenario: str, options: DayOptions) -> Scenario:
    """A scenario of a paper, with the rate scale of the options."""
    return find_scenario(f"{family}/{scenario}", rate_scale=options.rate_scale)


_ENOUGH_DAYS = 299
"""Days that show, without a miss, that at most one in a hundred misses, with 95 % confidence (0.99^299 < 0.05)."""


@dataclass(frozen=True, slots=True)
class Misses:
    """Late days, which miss the deadline.

    Attributes
    ----------
    days : int
        All days.
    late_s : tuple of int
        By how much each late day missed it.
    causes : tuple of (str, int)
        Why the task was late that ended last, in the order of `spotbag.traces.bags.lateness.CAUSES`, and on how many
        days.
    """

    days: int
    late_s: tuple[int, ...]
    causes: tuple[tuple[str, int], ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Verdict on the claim of no late day; fewer days than `_ENOUGH_DAYS` cannot tell."""
        if self.late_s:
            return "does not hold"
        return "holds" if self.days >= _ENOUGH_DAYS else "not decided"

    def __str__(self) -> str:
        if not self.late_s:
            return f"0 of {counted(self.days, 'day')}"
        middle = sorted(self.late_s)[len(self.late_s) // 2]
        return (
            f"{len(self.late_s)} of {counted(self.days, 'day')} ({100 * len(self.late_s) / self.days:.2f} %), late by "
            f"{middle} s in the middle and {max(self.late_s)} s at most"
        )

    def why(self) -> str:
        """Reasons of the lateness of the last tasks, one of each late day; or of an open verdict."""
        if self.verdict == "not decided":
            return f"{_ENOUGH_DAYS} days without a miss would show that at most one in a hundred misses"
        return "; ".join(f"{cause}: {counted(number, 'day')}" for cause, number in self.causes)


def miss_causes(cell: Cell, schedule: Schedule, days_from: Scenario, seed: int) -> Counter[str]:
    """Replay the late days of a cell once more, with a record; count them by the cause for the task that ended last."""
    causes: Counter[str] = Counter()
    for number, outcome in enumerate(cell.runs):
        if not outcome.meets_deadline:
            timeline = days_from.day(schedule.instance, seed, number)
            cause = cause_of_day(trace_day(schedule, cell.policy, timeline, day=number)[1])
            assert cause is not None
            causes[cause] += 1
    return causes


def collect_misses(cells: Sequence[Cell], causes: Counter[str]) -> Misses:
    """Collect the misses of several cells."""
    late = [int(makespan_s(day)) - day.deadline_s for cell in cells for day in cell.late_days]
    found = tuple((cause, causes[cause]) for cause in CAUSES if causes[cause])
    return Misses(sum(len(cell.runs) for cell in cells), tuple(late), found)


PRINTED_RUNS = 3
"""Runs of each cell, in both papers."""

_TOO_RARE = 0.05
"""Probability below which a result is not taken for chance."""


def none_late(cells: Iterable[Cell]) -> Case:
    """Compare runs of which none is late with our days: whether so few would be, by chance."""
    # Runs of a cell are independent of each other, and cells as well: chances multiply.
    chance = math.prod((1 - len(cell.late_days) / len(cell.runs)) ** PRINTED_RUNS for cell in cells)
    return exactly("", chance > _TOO_RARE, f"probability {chance:.2f}")


def n_late_days(result: PublishedComparisonResult, table: str, job: str = "", policy: str = "") -> int:
    """Count the late days of all cells of a table, or of those of a job or a policy."""
    return sum(
        # Rows have percentages: rounding gives the days back.
        round((row.ours.mean or 0.0) / 100 * row.ours.n)
        for row in result.rows
        if (row.table, row.quantity) == (table, "late_days_percent")
        and job in ("", row.job)
        and policy in ("", row.policy)
    )
