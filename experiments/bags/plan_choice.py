"""``choose_plan``: the plan with the least mean cost on the days to come."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple, cast

import numpy as np

from ...core.errors import InputError, Issue
from ...core.limits import LimitReached, Stop, checkpoint, share_of_time, within
from ...core.processes import interruptible
from ...core.quantities import closes_gap
from ...core.statistics import estimate, race
from ...core.workers import Workers, each
from ...instances.bags.scripted_days import Scenario
from ...instances.clouds import Cloud
from ...instances.instance import Instance
from ...replay.bags.plan import CheckedPlan, checked, with_verdict
from ...replay.bags.policies import KIND
from ...replay.bags.runs import chosen_cloud, on_demand_price_usd, outcomes_of
from ...replay.bags.state import Policy
from ...replay.engines import check_runs
from ...replay.policies import Given, PolicyMaker
from ...schedules.documents import LOSSES, Survival
from ...schedules.lateness import require_in_time
from ...schedules.schedule import Schedule
from ...solvers.bags.candidates import QUIET, Candidate, candidates, survival_level
from ...solvers.bags.methods import GivenMethod
from ...solvers.bags.plan_choice import PlanChoice, PlanOnDays, percentile
from ...solvers.bags.result import Quantity, Result, Stage
from ...solvers.bags.solve import solve

_FIRST_OF_CHOICE = 10**9
"""Number of the first day of the choice: nobody replays as many, so that those of the report are others."""
_DAYS_A_CASE = 32
_SHARE_OF_QUIET, _SHARE_OF_CANDIDATES, _SHARE_OF_RACE = 0.3, 0.4, 0.6
"""Shares of what is left of a time limit then."""
_PRICES_OF_A_LATE_DAY = 10.0
"""Cost that a day counts that misses the deadline, as a multiple of the cost of the bag on demand."""
_MOST_REPORTED = 12
_NO_TIME = "there was no time to replay a day for the choice of the plan"


class _Day(NamedTuple):
    """Outcome of a day: the bill, and True if the deadline was missed."""

    cost_usd: float
    late: bool


@dataclass(frozen=True, slots=True)
class _Days:
    """Source of the days, and the policy that answers to them."""

    make: PolicyMaker[Policy]
    scenario: Scenario
    seed: int
    cloud: Cloud

    def __call__(self, case: tuple[CheckedPlan, range, int]) -> list[_Day]:
        """Replay some days of a plan; the last number is how many there are in all."""
        plan, numbers, total = case
        days = []
        for outcome in outcomes_of(plan, self.make, self.scenario, numbers, self.seed, self.cloud, total):
            days.append(_Day(outcome.cost_usd, not outcome.meets_deadline))
            checkpoint()
        return days


def choose_plan(
    instance: Instance,
    scenario: Scenario,
    policy: Given[Policy] = "on-time",
    days: int = 200,
    *,
    method: GivenMethod = "auto",
    time_limit_s: float | None = None,
    late_usd: float | None = None,
    seed: int = 0,
    workers: Workers = 1,
    cloud: Cloud | str | None = None,
    on_progress: Callable[[str, int], None] | None = None,
    stop: Stop | None = None,
) -> PlanChoice:
    """Choose the plan with the least mean cost on the days to come, under a policy that answers to interruptions.

    Parameters
    ----------
    instance : Instance
        The problem. Plans must survive what its ``survive`` asks for.
    scenario : Scenario
        Where the days come from.
    policy : str, Policy or callable
        What answers to events; see `replay_day`.
    days : int
        Most days on which a plan is replayed for the choice. As many others are replayed for the report, so that
        nothing in it is flattered by the choice.
    method : str, Method or callable
        What makes the plan that is best on a quiet day; see `solve`.
    time_limit_s : float, optional
        For everything.
    late_usd : float, optional
        What a day counts more if it misses the deadline; ten times what the bag costs on demand if absent.
    seed : int
        Of the days and of the methods.
    workers : int or distributed.Client
        Processes, or a Dask cluster. The choice is the same.
    cloud : Cloud or str, optional
        See `replay_days`.
    on_progress : callable, optional
        Called with what was just done, and with how many replays that were.
    stop : Stop, optional
        Any object with ``is_set()``: once it says True, the best plan so far is returned; see `spotbag.solve`.

    Returns
    -------
    PlanChoice
        The plan, and the others beside it on the days of the report.

    Raises
    ------
    InputError
        If an argument is out of its range, or the policy is none.
    SpotbagError
        If days of the scenario do not suit the instance.

    Notes
    -----
    The candidates are made by `spotbag.solvers.bags.candidates`; those that are shown to be dearer on average are left
    out early (`spotbag.core.statistics.race`). All of them meet the same days.
    """
    check_runs(days, workers)
    require_in_time(instance)
    if late_usd is not None and not late_usd >= 0:
        raise InputError("late_usd", [Issue("", "must be 0 or more", value=late_usd)])
    begin = time.perf_counter()
    make = KIND.single(policy, 0, workers=workers)
    say = on_progress or (lambda text, replays: None)
    scenario.day(instance, seed, 0)
    found = _Days(make, scenario, seed, chosen_cloud(cloud, instance, scenario))
    choice: _Choice | None = None
    with interruptible(stop) as limit:
        with within(time_limit_s, begin=begin):
            quiet = result = solve(instance, method, time_limit_s=share_of_time(_SHARE_OF_QUIET), seed=seed)
            say(QUIET, 0)
            if quiet.schedule is not None:
                if late_usd is None:
                    late_usd = price_of_a_late_day_usd(quiet.schedule, found.cloud)
                with within(share_of_time(_SHARE_OF_CANDIDATES)):
                    plans = candidates(instance, quiet, seed=seed, on_made=lambda name: say(name, 0))
                choice = _Choice(found, plans, 1 if scenario.fixed else days, late_usd, workers, say)
                with within(share_of_time(_SHARE_OF_RACE)):
                    choice.choose()
                choice.report()
        if choice is not None:
            result = _result(instance, quiet, choice.plans[choice.best])
            if not any(choice.days):
                result = replace(result, warnings=(*result.warnings, _NO_TIME))
    return PlanChoice(
        result=replace(result, runtime_s=time.perf_counter() - begin, interrupted=limit.stopped()),
        policy=make.name,
        scenario=scenario.name,
        seed=seed,
        late_usd=late_usd or 0.0,
        candidates=0 if choice is None else len(choice.plans),
        days_of_choice=0 if choice is None else max(map(len, choice.days), default=0),
        plans=() if choice is None else choice.reported,
    )


def price_of_a_late_day_usd(plan: Schedule, cloud: Cloud) -> float:
    """Return what a late day counts more, by a plan of `solve`, which breaks no rule: many times its cost on demand.

    Of a plan that has no such price, it is its own cost that counts.
    """
    price = on_demand_price_usd(with_verdict(plan, ()), cloud, idle_limit_s=0)
    return _PRICES_OF_A_LATE_DAY * (plan.cost_usd if price is None else price)


@dataclass(slots=True)
class _Choice:
    """The candidates and their days.

    Attributes
    ----------
    plans : sequence of Candidate
        All of them, the best on a quiet day first.
    best : int
        The one that is chosen.
    days : list of list of _Day
        Of each, its days of the choice.
    reported : tuple of PlanOnDays
        Those that matter, on other days.
    late_usd : float
        What a day counts more if it misses the deadline.
    """

    found: _Days
    plans: Sequence[Candidate]
    n_days: int
    late_usd: float
    workers: Workers
    say: Callable[[str, int], None]
    best: int = 0
    days: list[list[_Day]] = field(init=False)
    checked: dict[int, CheckedPlan] = field(default_factory=dict)
    reported: tuple[PlanOnDays, ...] = ()

    def __post_init__(self) -> None:
        self.days = [[] for _ in self.plans]

    def choose(self) -> None:
        """Choose a candidate by a race."""
        surviving = [number for number, plan in enumerate(self.plans) if plan.survives is not False]
        allowed = surviving or list(range(len(self.plans)))

        def sample(runners: Sequence[int], numbers: range) -> list[list[float]]:
            chosen = [allowed[runner] for runner in runners]
            shifted = range(_FIRST_OF_CHOICE + numbers.start, _FIRST_OF_CHOICE + numbers.stop)
            rows = self._replayed(chosen, shifted)
            for number, row in zip(chosen, rows, strict=True):
                self.days[number] += row
            return [[self._loss(day) for day in row] for row in rows]

        values = race(sample, len(allowed), self.n_days)
        longest = max(map(len, values))
        means = [float(row.mean()) if len(row) == longest and longest else np.inf for row in values]
        self.best = allowed[int(np.argmin(means))] if longest else allowed[0]

    def _loss(self, day: _Day) -> float:
        return day.cost_usd + self.late_usd * day.late

    def _replayed(self, plans: Sequence[int], numbers: range) -> list[list[_Day]]:
        """Replay days of some plans, all of the same."""
        parts = [
            range(first, min(first + _DAYS_A_CASE, numbers.stop))
            for first in range(numbers.start, numbers.stop, _DAYS_A_CASE)
        ]
        total = len(self.plans) * self.n_days
        for number in plans:
            self.checked[number] = checked(self.checked.get(number, self.plans[number].schedule))
        cases = [(self.checked[number], part, total) for number in plans for part in parts]
        done = []
        with_plan = [number for number in plans for _ in parts]
        for number, row in zip(with_plan, each(self.found, cases, self.workers), strict=True):
            self.say(self.plans[number].name, len(row))
            done.append(row)
            checkpoint()
        return [list(chain(*done[place : place + len(parts)])) for place in range(0, len(done), len(parts))]

    def report(self) -> None:
        """Replay the plans that matter on other days."""
        numbers = [self.best, *(number for number in self._that_matter() if number != self.best)]
        rows: dict[int, list[_Day]] = {number: [] for number in numbers}
        with suppress(LimitReached):
            for first in range(0, self.n_days, _DAYS_A_CASE):
                part = range(first, min(first + _DAYS_A_CASE, self.n_days))
                for number, row in zip(numbers, self._replayed(numbers, part), strict=True):
                    rows[number] += row
        if rows[self.best]:
            figures = [self._figures(number, row, rows[self.best]) for number, row in rows.items()]
            self.reported = tuple(sorted(figures, key=lambda plan: plan.schedule.cost_usd))

    def _that_matter(self) -> list[int]:
        """Plans worth a report, by number: the best on a quiet day, those of schedulers, those that no other beats."""
        means = [float(np.mean([self._loss(day) for day in row])) if row else np.inf for row in self.days]
        order = sorted(range(len(self.plans)), key=lambda number: (self.plans[number].schedule.cost_usd, means[number]))
        unbeaten, least = [], np.inf
        for number in order:
            if means[number] < least:
                unbeaten.append(number)
                least = means[number]
        usual = [number for number, plan in enumerate(self.plans) if plan.name in (QUIET, "greedy", "ils")]
        return [*usual, *(number for number in reversed(unbeaten) if number not in usual)][:_MOST_REPORTED]

    def _figures(self, number: int, row: Sequence[_Day], chosen: Sequence[_Day]) -> PlanOnDays:
        """Return figures of a plan on the days of the report, and its cost above the chosen one."""
        plan = self.plans[number]
        costs = [day.cost_usd for day in row]
        return PlanOnDays(
            name=plan.name,
            method=plan.method,
            schedule=plan.schedule,
            survives=plan.survives,
            chosen=number == self.best,
            days=len(row),
            late_days=sum(day.late for day in row),
            cost_usd=estimate(costs),
            loss_usd=estimate([self._loss(day) for day in row]),
            p95_usd=percentile(costs, 0.95),
            worst_usd=max(costs, default=None),
            more_than_chosen_usd=estimate([a.cost_usd - b.cost_usd for a, b in zip(row, chosen, strict=True)]),
            days_of_choice=len(self.days[number]),
        )


def _result(instance: Instance, quiet: Result, plan: Candidate) -> Result:
    """Return the chosen plan as the result of planning."""
    if plan.name == QUIET:
        return quiet
    schedule, bound = plan.schedule, quiet.bound
    stages: tuple[Stage, ...] = ()
    if instance.goal != "balanced":
        proven = bound is not None and closes_gap(schedule.objective, bound)
        first, second = ("makespan_s", "cost_usd") if instance.goal == "fastest" else ("cost_usd", "makespan_s")
        first_stage = Stage(cast("Quantity", first), schedule.objective, bound, proven)
        stages = (first_stage, Stage(cast("Quantity", second), getattr(schedule, second), None, False))
    level = survival_level(instance)
    survival: Survival | None = None
    warnings: tuple[str, ...] = ()
    if level is not None:
        from ...heuristics.bags.rescue import survival_of  # here, since it loads a compiler, and not all ask for it

        survival = Survival(level=level, verdict="not-shown", reason="it was interrupted")
        with suppress(LimitReached):
            survival = survival_of(schedule, level)
        if survival.verdict != "survives":
            warnings = (f"no plan was found that survives {LOSSES[level]}: {survival.reason}",)
    return Result(
        status="feasible",
        instance=schedule.instance,
        method=plan.method,
        schedule=schedule,
        warnings=warnings,
        bound=bound,
        stages=stages,
        survival=survival,
        seed=quiet.seed,
    )
