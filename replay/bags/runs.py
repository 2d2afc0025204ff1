"""``replay_day`` and ``replay_days``: one day of a plan under a policy, and many under several."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ...core.errors import InputError, Issue, SpotbagError
from ...core.limits import LimitReached, Stop
from ...core.plugins import blaming
from ...core.processes import Signalled, interruptible
from ...core.statistics import Estimate, estimate
from ...core.workers import Workers
from ...instances.bags.scripted_days import Scenario, ScriptedScenario
from ...instances.bags.timeline import QUIET, Timeline
from ...instances.clouds import PAPERS, Cloud, cloud_of, find_cloud
from ...instances.instance import Instance
from ...schedules.schedule import Schedule
from ..engines import Runs, by_name, check_runs, means_of, replay_batches
from ..policies import Given, PolicyMaker
from .engine import Replay
from .outcome import DayOutcome
from .plan import CheckedPlan, ReplayPlan, checked, on_demand_schedule, replay_plan
from .policies import KIND, POLICIES, find_policy
from .policies.static import OnDemand
from .rows import MIGRATION_KINDS
from .state import Policy, require_dates_known

if TYPE_CHECKING:
    from ...traces.trace import Trace
    from .compiled_engine import CompiledReplays


_DAYS_A_BATCH = 8
_LOADS_FOR = 20_000
"""Tasks of all replays for which compiled loops are loaded, about as long as the other engine takes."""

_Row: TypeAlias = tuple[list[DayOutcome], float | None, float | None]
"""Outcome of a day under each policy, its bound, and the least cost found for it."""


def replay_day(
    schedule: Schedule | CheckedPlan,
    policy: Given[Policy] = "hads",
    timeline: Timeline = QUIET,
    *,
    cloud: Cloud | str | None = None,
) -> DayOutcome:
    """Replay a plan on one day.

    Parameters
    ----------
    schedule : Schedule or CheckedPlan
        The plan, checked here unless it has been.
    policy : str, Policy or callable
        What answers to events: a name; or a policy of your own, by its class, an instance, or a function
        that makes one. See `spotbag.replay.policies`.
    timeline : Timeline
        The day; quiet if absent.
    cloud : Cloud or str, optional
        What interruptions are, and how VMs are billed: a cloud, or its name. The instance's if absent, or that of
        both papers.

    Returns
    -------
    DayOutcome
        Cost, makespan and what happened.

    Raises
    ------
    InputError
        If that is not a policy, or the day has VM types that the instance does not offer as spot VMs.
    SpotbagError
        If the plan cannot be carried out.
    """
    timeline = ScriptedScenario(timeline, f"the day {timeline.name!r}").day(schedule.instance, 0, 0)
    [ready] = _ready(checked(schedule), [KIND.single(policy, 0)])
    return ready.outcome(0, timeline, chosen_cloud(cloud, schedule.instance))


def trace_day(
    schedule: Schedule | CheckedPlan,
    policy: Given[Policy] = "hads",
    timeline: Timeline = QUIET,
    *,
    cloud: Cloud | str | None = None,
    day: int = 0,
    law: object = None,
) -> tuple[DayOutcome, Trace]:
    """Replay a plan on one day, and keep a record of all that happens; see `replay_day`.

    Parameters
    ----------
    day : int
        Number of the day, for the record, and for policies that draw something.
    law : optional
        What is known of days like this one, for policies that ask for it: ``Scenario.law``.
    """
    from .record import trace_of  # here, so that replays without a record do not load it

    timeline = ScriptedScenario(timeline, f"the day {timeline.name!r}").day(schedule.instance, 0, 0)
    [ready] = _ready(checked(schedule), [KIND.single(policy, day)])
    chosen, met = chosen_cloud(cloud, schedule.instance), ready.met(timeline)
    with blaming(ready.make.called):
        made = ready.make(day)
        by_loops = _by_compiled_loops([ready], 1, lambda _: 0.0)
        found: Any = ready.loops().recorded(made, met, chosen, law) if by_loops else None
        if found is None:
            run = Replay(ready.plan, made, met, chosen, record=True, law=law)
            found = run.run(), run.state
        outcome, recorded = found
    return outcome, trace_of(recorded, met.resolved(chosen), chosen, outcome, day, hibernation=not ready.on_demand)


@dataclass(frozen=True, slots=True, kw_only=True)
class Days(Runs[DayOutcome]):
    """Policies side by side on the same days.

    Attributes
    ----------
    cloud : Cloud
        What interruptions were, and how VMs were billed.
    bounds_usd : tuple of float or None
        Lower bound of the cost of each day, for all policies that meet the deadline; None where none can, or where no
        bounds were asked for.
    hindsight_usd : tuple of float or None
        The least cost found with which each day can be ended in time if it is known: of the policies here but
        the on-demand baseline, and of plans made for that day and replayed on it. At least the bound; what of a regret
        is below it may be the bound's. None where nothing was found, or where it was not asked for.
    on_demand_usd : float or None
        Cost of the plan on on-demand VMs, paid for when they are idle as by the published schedulers; see `OnDemand`.
        None if it has no such price.
    on_demand_last_task_usd : float or None
        The same if each of them ends with its last task.
    """

    cloud: Cloud
    bounds_usd: tuple[float | None, ...]
    hindsight_usd: tuple[float | None, ...]
    on_demand_usd: float | None
    on_demand_last_task_usd: float | None

    @property
    def n_runs(self) -> int:
        """Number of days, also where no policies were asked for."""
        return len(self.bounds_usd)

    def summaries(self) -> list[PolicySummary]:
        """Summarise each policy; the on-demand baseline without regret, as it need not keep to the limits of the bound.

        Returns
        -------
        list of PolicySummary
            In the order of ``policies``; none without days.
        """
        result = []
        for name, outcomes in zip(self.policies, self.outcomes, strict=True) if self.n_runs else ():
            bounds = None if is_baseline(name) else self.bounds_usd
            result.append(summarise(outcomes, self.on_demand_usd, bounds))
        return result


def replay_days(
    schedule: Schedule | CheckedPlan,
    policies: Sequence[Given[Policy]],
    scenario: Scenario,
    runs: int,
    *,
    first_day: int = 0,
    seed: int = 0,
    workers: Workers = 1,
    cloud: Cloud | str | None = None,
    bounds: bool = True,
    hindsight: bool = False,
    on_day: Callable[[int], None] | None = None,
    stop: Stop | None = None,
) -> Days:
    """Replay a plan under several policies on the same days.

    Parameters
    ----------
    schedule : Schedule or CheckedPlan
        The plan, checked here unless it has been.
    policies : sequence of str, Policy or callable
        What answers to events, each as for `replay_day`; each day has a policy of its own. There may be none if bounds
        or hindsight are asked for.
    scenario : Scenario
        Where the days come from; day k of a seed is the same however many there are.
    runs : int
        Number of days.
    first_day : int
        Number of the first of them.
    seed : int
        Of the scenario.
    workers : int or distributed.Client
        Processes, or a Dask cluster, whose workers have spotbag installed. The days are the same.
    cloud : Cloud or str, optional
        What interruptions are, and how VMs are billed: a cloud, or its name. The scenario's if absent, else the
        instance's, or that of both papers.
    bounds : bool
        Whether to work out the lower bound of each day.
    hindsight : bool
        Whether to look for the least cost of each day if it is known: a tenth of a second a day for 60 tasks.
    on_day : callable, optional
        Called with the number of days that have just been done. An exception in it ends the replay, and is raised here.
    stop : Stop, optional
        Any object with ``is_set()``, such as `threading.Event`: once it says True, the days so far are returned. Ctrl-C
        and SIGTERM do the same; see `spotbag.solve`.

    Returns
    -------
    Days
        Fewer of them, and ``interrupted``, if it was stopped; there may be none.

    Raises
    ------
    InputError
        If one is not a policy, or cannot be sent to other processes; if a number is out of range.
    SpotbagError
        If the plan cannot be carried out.
    """
    check_runs(runs, workers)
    if first_day < 0:
        raise InputError("replay", [Issue("", "must be 0 or more", "first_day", first_day)])
    numbers = range(first_day, first_day + runs)
    makers = KIND.several(policies, 0, workers, none=bounds or hindsight)
    plan = checked(schedule)
    ready = _ready(plan, makers)
    chosen = chosen_cloud(cloud, plan.instance, scenario)
    work = _Work(plan.schedule, ready, scenario, seed, chosen, bounds, hindsight)
    signalled = Signalled()
    with interruptible(stop):
        on_demand_usd = on_demand_price_usd(plan, chosen)
        on_demand_last_task_usd = on_demand_price_usd(plan, chosen, idle_limit_s=0)
        with suppress(LimitReached):  # no day will be replayed
            work = work.in_loops(first_day, runs)
        done, interrupted = replay_batches(work, numbers, workers=workers, per_batch=_DAYS_A_BATCH, on_run=on_day)
    return Days(
        policies=tuple(entry.make.name for entry in ready),
        outcomes=tuple(tuple(outcomes[index] for outcomes, _, _ in done) for index in range(len(ready))),
        interrupted=interrupted or signalled.is_set(),
        cloud=chosen,
        bounds_usd=tuple(bound for _, bound, _ in done),
        hindsight_usd=tuple(found for _, _, found in done),
        on_demand_usd=on_demand_usd,
        on_demand_last_task_usd=on_demand_last_task_usd,
    )


def outcomes_of(
    schedule: Schedule | CheckedPlan,
    make: PolicyMaker[Policy],
    scenario: Scenario,
    days: range,
    seed: int,
    cloud: Cloud,
    planned: int,
) -> Iterator[DayOutcome]:
    """Replay some days of a plan in this process, one after the other, as `replay_days` has them by their numbers.

    Parameters
    ----------
    schedule, scenario, seed, cloud
        See `replay_days`.
    make : PolicyMaker
        What makes the policy of a day.
    days : range
        Their numbers.
    planned : int
        How many replays there are in all, of whatever plans: for many, compiled loops are worth while.
    """
    plan = checked(schedule)
    ready = _ready(plan, [make])
    work = _Work(plan.schedule, ready, scenario, seed, cloud).in_loops(days.start, planned)
    return (outcomes[0] for outcomes, _, _ in work(days))


def is_baseline(name: str) -> bool:
    """True if the policy of this name is the on-demand baseline, with whatever rules."""
    return name.partition("+")[0] == OnDemand.name


def on_demand_price_usd(
    schedule: Schedule | CheckedPlan, cloud: Cloud = PAPERS, *, idle_limit_s: int | None = None
) -> float | None:
    """Return the cost of the plan on on-demand VMs of its types; None if one of them has no such offer.

    Idle VMs are paid for to the end of their allocation cycle, as by the published schedulers, or for
    ``idle_limit_s``; see `OnDemand`.

    Also None if it was asked to stop before that was known.
    """
    try:
        return replay_day(schedule, OnDemand(idle_limit_s=idle_limit_s), cloud=cloud).cost_usd
    except (SpotbagError, LimitReached):
        return None


@dataclass(frozen=True, slots=True)
class _Ready:
    """Maker of a policy, and the plan that it starts from."""

    make: PolicyMaker[Policy]
    kind: type[Policy]
    plan: ReplayPlan

    @property
    def on_demand(self) -> bool:
        """True for the on-demand baseline."""
        return issubclass(self.kind, OnDemand)

    def met(self, timeline: Timeline) -> Timeline:
        """Return the day that the policy meets: on-demand VMs a quiet one."""
        return replace(QUIET, name=timeline.name) if self.on_demand else timeline

    def loops(self) -> CompiledReplays:
        """Return the compiled loops of the plan."""
        # They stand with the plan, so that all its policies and days share one set of arrays.
        if not self.plan.loops:
            from .compiled_engine import CompiledReplays

            self.plan.loops.append(CompiledReplays(self.plan))
        loops: CompiledReplays = self.plan.loops[0]
        return loops

    def outcome(
        self, number: int, timeline: Timeline, cloud: Cloud, law: object = None, compiled: bool = False
    ) -> DayOutcome:
        """Replay a day, in compiled loops where they can if that is wanted."""
        with blaming(self.make.called):
            policy, day = self.make(number), self.met(timeline)
            found = self.loops().outcome(policy, day, cloud, law) if compiled else None
            return Replay(self.plan, policy, day, cloud, law=law).run() if found is None else found


def _ready(plan: CheckedPlan, makers: Sequence[PolicyMaker[Policy]]) -> list[_Ready]:
    """Make a plan ready for some policies, once for all of them and once for the on-demand baseline."""
    # Only to see what they are: each day makes policies of its own.
    policies = [make(0) for make in makers]
    for policy in policies:
        require_dates_known(policy, plan.instance)
    kinds = [type(policy) for policy in policies]
    plans: dict[bool, ReplayPlan] = {}
    for on_demand in {issubclass(kind, OnDemand) for kind in kinds}:
        plan.demand_possible()
        plans[on_demand] = replay_plan(on_demand_schedule(plan.schedule) if on_demand else plan.schedule)
    return [_Ready(make, kind, plans[issubclass(kind, OnDemand)]) for make, kind in zip(makers, kinds, strict=True)]


def chosen_cloud(cloud: Cloud | str | None, instance: Instance, scenario: Scenario | None = None) -> Cloud:
    """Return the cloud that is asked for, else the scenario's, the instance's, or that of both papers."""
    chosen = cloud or getattr(scenario, "cloud", None)
    if chosen is None:
        return cloud_of(instance.cloud, instance.billing)
    return find_cloud(chosen) if isinstance(chosen, str) else chosen


def _by_compiled_loops(ready: Sequence[_Ready], runs: int, a_day_s: Callable[[Sequence[_Ready]], float]) -> bool:
    """True if days are replayed in compiled loops where they can be: for few, they would not even be loaded.

    Parameters
    ----------
    ready : sequence of _Ready
        The policies.
    runs : int
        Number of days.
    a_day_s : callable
        Tells how long a day takes in Python under some policies (s).
    """
    if sum(entry.plan.instance.n_tasks for entry in ready) * runs < _LOADS_FOR:
        return False
    from .compiled_engine import has_loop, is_worth_while

    looped = [entry for entry in ready if has_loop(entry.kind, entry.plan.instance)]
    return is_worth_while([entry.kind for entry in looped], lambda: runs * a_day_s(looped))


def without_loops(plan: CheckedPlan, policies: Sequence[Given[Policy]], runs: int) -> list[str]:
    """Return the names of policies that no compiled loop has, if a number of days takes long under them."""
    if plan.instance.n_tasks * runs < _LOADS_FOR:
        return []
    from .compiled_engine import has_loop

    makers = KIND.several(policies, 0, none=True)
    return [maker.name for maker in makers if not has_loop(type(maker(0)), plan.instance)]


@dataclass(frozen=True, slots=True)
class _Work:
    """Work of each day: outcomes under all policies, its bound, and the least cost found with hindsight."""

    schedule: Schedule
    ready: Sequence[_Ready]
    scenario: Scenario
    seed: int
    cloud: Cloud
    bounds: bool = False
    hindsight: bool = False
    compiled: bool = False

    def in_loops(self, first: int, days: int) -> _Work:
        """Have the days replayed in compiled loops if so many of them are done earlier there."""
        return replace(self, compiled=_by_compiled_loops(self.ready, days, partial(self._a_day_s, first)))

    def _a_day_s(self, number: int, ready: Sequence[_Ready]) -> float:
        """Time (s) of a day in Python under some policies, which no number of tasks tells."""
        work = replace(self, ready=ready, bounds=False, hindsight=False)
        next(work(range(number, number + 1)))  # loads what days need
        started_s = time.process_time()
        next(work(range(number, number + 1)))
        return time.process_time() - started_s

    def __call__(self, days: range) -> Iterator[_Row]:
        """Replay some days."""
        instance, law = self.schedule.instance, getattr(self.scenario, "law", None)
        bounds = hindsight = None
        if self.bounds:
            from ...solvers.bags.clairvoyant_bound import ClairvoyantBounds

            bounds = ClairvoyantBounds(instance, self.cloud.billing)
        if self.hindsight:
            from .hindsight import Hindsight

            hindsight = Hindsight(replay_plan(self.schedule), self.cloud)
        for number in days:
            timeline = self.scenario.day(instance, self.seed, number).resolved(self.cloud)
            outcomes = [entry.outcome(number, timeline, self.cloud, law, self.compiled) for entry in self.ready]
            bound = None if bounds is None else bounds.bound(timeline)
            found = None
            if hindsight is not None:
                within_limits = [day for day, entry in zip(outcomes, self.ready, strict=True) if not entry.on_demand]
                found = hindsight.cheapest_usd(timeline, within_limits)
            yield outcomes, bound.cost_usd if bound is not None and bound.feasible else None, found


METRICS: dict[str, Callable[[DayOutcome], float]] = {
    **by_name(
        "late_tasks", "late_weight", "unfinished_tasks", "hibernations", "resumes", "stops", "restarts", "reclaims"
    ),
    **by_name("resumes_in_time", "on_demand_started"),
    **{f"migrations_{kind}": lambda day, kind=kind: day.migrations[kind] for kind in MIGRATION_KINDS},  # type: ignore[misc]
    **by_name("preemptions", "steal_attempts", "steals", "tasks_stolen", "checkpoints", "recoveries"),
    **by_name("cpu_time_saved_s"),
}
"""Metrics that are averaged over all days, by name."""


@dataclass(frozen=True, slots=True)
class PolicySummary:
    """Days of a policy in sum.

    Attributes
    ----------
    policy : str
        The policy.
    days : int
        Days replayed.
    misses, unfinished : int
        Days that missed the deadline; those of them on which tasks never ended.
    cost_usd, makespan_s : Estimate
        Over the days on which all tasks ended: half a bag is no bargain.
    means : dict of str to Estimate
        The `METRICS`, over all days.
    saving_percent : Estimate
        Cost saved against the plan on on-demand VMs, over the same days; none if it has no such price.
    regret_usd : Estimate
        Cost above the bound of the day, over the days on which the deadline was met; no days without bounds.
    """

    policy: str
    days: int
    misses: int
    unfinished: int
    cost_usd: Estimate
    makespan_s: Estimate
    means: dict[str, Estimate]
    saving_percent: Estimate
    regret_usd: Estimate


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """A policy against another on the same days: differences are taken day by day.

    Attributes
    ----------
    policy, against : str
        The policies.
    cost_usd, makespan_s : Estimate
        Of the policy less that of the other, over the days on which both ended all tasks.
    cheaper, dearer : int
        Those of these days on which the policy was cheaper, and dearer.
    """

    policy: str
    against: str
    cost_usd: Estimate
    makespan_s: Estimate
    cheaper: int
    dearer: int


def summarise(
    outcomes: Sequence[DayOutcome], on_demand_usd: float | None = None, bounds_usd: Sequence[float | None] | None = None
) -> PolicySummary:
    """Summarise the days of one policy.

    Parameters
    ----------
    outcomes : sequence of DayOutcome
        One for each day.
    on_demand_usd : float, optional
        Cost of the plan on on-demand VMs.
    bounds_usd : sequence of float, optional
        Lower bound of the cost of each day; None where no policy can meet the deadline.
    """
    ended = [day for day in outcomes if day.makespan_s is not None]
    saving = [] if on_demand_usd is None else [100 * (1 - day.cost_usd / on_demand_usd) for day in ended]
    regret = [
        day.cost_usd - bound
        for day, bound in zip(outcomes, bounds_usd or [None] * len(outcomes), strict=True)
        if bound is not None and day.meets_deadline
    ]
    return PolicySummary(
        policy=outcomes[0].policy,
        days=len(outcomes),
        misses=sum(not day.meets_deadline for day in outcomes),
        unfinished=sum(day.unfinished_tasks > 0 for day in outcomes),
        cost_usd=estimate([day.cost_usd for day in ended]),
        makespan_s=estimate([day.makespan_s for day in ended if day.makespan_s is not None]),
        means=means_of(outcomes, METRICS),
        saving_percent=estimate(saving),
        regret_usd=estimate(regret),
    )


def compare_days(outcomes: Sequence[DayOutcome], others: Sequence[DayOutcome]) -> PairedDifference:
    """Compare two policies on the same days."""
    pairs = [pair for pair in zip(outcomes, others, strict=True) if all(day.makespan_s is not None for day in pair)]
    cost = [mine.cost_usd - other.cost_usd for mine, other in pairs]
    ended = [(mine.makespan_s, other.makespan_s) for mine, other in pairs]
    return PairedDifference(
        policy=outcomes[0].policy,
        against=others[0].policy,
        cost_usd=estimate(cost),
        makespan_s=estimate([mine - other for mine, other in ended if mine is not None and other is not None]),
        cheaper=sum(difference < 0 for difference in cost),
        dearer=sum(difference > 0 for difference in cost),
    )


def steps_of_replays() -> dict[str, Callable[[], None]]:
    """Return the steps that compile all loops of `replay_days`, by name: what an image of a container does once."""
    # None of it is loaded for a replay of few days.
    from ...instances.bags.scenarios import find_scenario
    from ...instances.library import library_instance
    from ...solvers.bags.solve import solve
    from .compiled_engine import DRIVERS, CompiledReplays, has_loop
    from .packing import compile_packing

    plan = solve(library_instance("hads/J60"), "greedy", survive="none").schedule
    assert plan is not None, "the greedy plans it"
    replays = CompiledReplays(replay_plan(plan))
    steps: dict[str, Callable[[], Any]] = {"replay in Python": compile_packing}
    for name, kind in POLICIES.items():
        if kind in DRIVERS and has_loop(kind, plan.instance):
            steps[f"replay under {name}"] = partial(replays.outcome, find_policy(name), QUIET, PAPERS)
    scenario = find_scenario("hads/sc4")
    steps["replay with bounds"] = partial(replay_days, plan, ["static"], scenario, 1, bounds=True)
    return steps
