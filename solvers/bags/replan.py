"""Planning again while a plan is carried out: from a state, within milliseconds."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from typing import Any

import numpy as np

from ...audits.bags.plan import check
from ...core.errors import InputError, Issue, SpotbagError
from ...core.limits import LimitReached, Stop, stopped, within
from ...core.processes import interruptible
from ...core.quantities import FloatArray
from ...heuristics.bags.quick_search import quick_plan
from ...instances.entries import SURVIVAL_OPTIONS, SurvivalOption
from ...instances.instance import Instance
from ...models.bags.divisible_bound import DivisibleBound, divisible_bound
from ...schedules.schedule import Schedule
from ...schedules.state import State
from .result import Result, Stage, closes_gap
from .solve import solve

LONG_S = 0.3
"""From this time on, the method that `solve` would use goes on from the quick plan."""
_QUICK_S = 0.05
_RESERVE_S, _RESERVE_S_A_TASK = 0.001, 2.2e-6
"""What making and checking the plan takes."""
_CUTS, _MORE_CUTS = 3, 40
_CUT_S, _CUT_S_A_TASK = 150e-6, 60e-9
_SHARE_OF_BOUND = 0.25
_PRICES = "_prices_of_replans"


def replan(
    instance: Instance,
    state: State,
    *,
    time_limit_s: float = 0.05,
    start: Schedule | Result | None = None,
    stop: Stop | None = None,
    survive: SurvivalOption | None = None,
    method: str = "auto",
    seed: int = 0,
    threads: int = 1,
) -> Result:
    """Plan what a state has left of a bag.

    Parameters
    ----------
    instance : Instance
        The bag as it was at the beginning; its prices, limits and deadline are those that hold from now on.
    state : State
        What has happened so far.
    time_limit_s : float
        Seconds for everything: the plan, its bound, and the check. Up to 0.3 s it is a search that begins from
        ``start``; with more time, ``method`` goes on from there.
    start : Schedule or Result, optional
        The plan that is being carried out: of the bag, or of an earlier state of it. Much better plans are found with
        it in little time.
    stop : Stop, optional
        Any object with ``is_set()``: once it says True, the best plan so far is returned.
    survive : {"one-type", "blackout", "each", "none"}, optional
        What the plan must survive; as the instance says if absent, and nothing if that says nothing.
    method : str
        For time limits over 0.3 s: one of the methods that plan from a state.
    seed, threads : int
        See `solve`.

    Returns
    -------
    Result
        Its instance is what is left (`State.remaining`), its plan is one of that: times count from the moment of the
        state, VMs that exist have their ids, and tasks that run are where they run. Its cost is what is to be paid from
        now on.

    Raises
    ------
    InputError
        If the state is of another bag, the deadline has passed, nothing is left, or an argument is out of its range.

    Notes
    -----
    A process that has never planned before compiles first: see `spotbag.warm_up`.
    """
    begin = time.perf_counter()
    if not (isinstance(time_limit_s, int | float) and time_limit_s > 0):
        raise InputError("time limit", [Issue("", "must be a positive number of seconds", value=time_limit_s)])
    level = survive or instance.survive or "none"
    if level not in SURVIVAL_OPTIONS:
        rule = f"is unknown (known: {', '.join(SURVIVAL_OPTIONS)})"
        raise InputError("survive", [Issue("", rule, value=level)])
    remaining = state.remaining(instance)
    running = start.schedule if isinstance(start, Result) else start
    with interruptible(stop):
        long = time_limit_s > LONG_S or level != "none" or remaining.objective.budget_usd is not None
        quick_s = min(_QUICK_S, 0.3 * time_limit_s) if long else time_limit_s
        quick = _quick(remaining, running, quick_s, seed, begin, instance)
        if not long:
            return quick
        left_s = max(time_limit_s - (time.perf_counter() - begin), 1e-3)
        initial = quick.schedule
        budget = remaining.objective.budget_usd
        if initial is not None and budget is not None and initial.cost_usd > budget:
            initial = None
        given = remaining if instance.d_spot_s is not None else remaining.replace(d_spot_s=None)
        return solve(
            given,
            method,
            time_limit_s=left_s,
            initial=initial,
            survive=level,
            seed=seed,
            threads=threads,
        )


def _quick(
    remaining: Instance, running: Schedule | None, time_limit_s: float, seed: int, begin: float, given: Instance
) -> Result:
    """Plan, bound and check within milliseconds."""
    if remaining.d_spot_s is None:
        remaining.__dict__["d_spot_s"] = remaining.deadline_s
    with within(time_limit_s, begin=begin):
        bound = _bound(remaining, given, _SHARE_OF_BOUND * time_limit_s)
    reserve_s = min(_RESERVE_S + _RESERVE_S_A_TASK * remaining.n_tasks, 0.5 * time_limit_s)
    infeasible = math.isinf(bound.objective)
    # A first plan is made whatever the time: it is the one that is being carried out, with what has lost its place.
    schedule = None
    with suppress(LimitReached):
        if not infeasible:
            schedule = quick_plan(remaining, bound, running, seed, begin + time_limit_s - reserve_s)
    interrupted = stopped()
    value = bound.objective
    if schedule is not None:
        violations = check(remaining, schedule).violations
        if violations:
            raise SpotbagError(f"replan made a plan that breaks a rule; please report this: {violations[0]}")
        value = min(value, schedule.objective)
    message = ""
    if schedule is None:
        message = (
            "no plan exists: even divisible tasks do not end by the deadline, or do not fit the limits"
            if infeasible
            else "no plan was found in this time that ends by the deadline"
        )
    optimal = schedule is not None and remaining.goal == "balanced" and closes_gap(schedule.objective, value)
    return Result(
        status="infeasible" if infeasible else "no-plan" if schedule is None else "optimal" if optimal else "feasible",
        instance=remaining,
        method="search",
        schedule=schedule,
        message=message,
        bound=value,
        stages=_stages(remaining, schedule, value),
        runtime_s=time.perf_counter() - begin,
        seed=seed,
        interrupted=interrupted,
    )


def _bound(remaining: Instance, given: Instance, seconds: float) -> DivisibleBound:
    """Bound what is left, from the prices of the last time that this was asked for the same bag."""
    known: dict[tuple[Any, ...], FloatArray] = given.__dict__.setdefault(_PRICES, {})
    key = (
        len(remaining.offers),
        tuple(offer.index for offer in remaining.offers if offer.limit),
        tuple(np.unique(remaining.machine_offer).tolist()),
    )
    start = known.get(key)
    cuts = int(seconds / (_CUT_S + _CUT_S_A_TASK * remaining.n_tasks))
    cuts = min(max(cuts, 2), _CUTS if start is not None else _MORE_CUTS)
    bound = divisible_bound(remaining, start, cuts)
    if len(bound.multipliers):
        known[key] = bound.multipliers
    return bound


def _stages(remaining: Instance, schedule: Schedule | None, bound: float) -> tuple[Stage, ...]:
    """What was made least in which order."""
    if schedule is None or remaining.goal == "balanced":
        return ()
    cost, makespan = schedule.cost_usd, float(schedule.makespan_s)
    if remaining.goal == "cheapest":
        return (
            Stage("cost_usd", cost, bound, closes_gap(cost, bound)),
            Stage("makespan_s", makespan, None, False),
        )
    return (
        Stage("makespan_s", makespan, bound, closes_gap(makespan, bound)),
        Stage("cost_usd", cost, None, False),
    )
