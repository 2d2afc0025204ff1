"""Planning again while a plan is carried out: from a state, within milliseconds."""

from __future__ import annotations

import copy
import math
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from ...audits.bags.plan import check
from ...bounds.bags.divisible_bound import DivisibleBound, divisible_bound
from ...bounds.bags.infeasibility import with_way_out
from ...core.errors import InputError, Issue, SpotbagError
from ...core.limits import (
    Limit,
    LimitReached,
    Stop,
    clock_s,
    current_limit,
    stopped,
    watched_time,
    within,
)
from ...core.processes import interruptible, no_collection
from ...core.quantities import FloatArray, closes_gap
from ...core.wording import first_names
from ...heuristics.bags.listed_plans import full_speed_plan
from ...heuristics.bags.quick_search import AllPlans, best_of_all, held_plan, quick_plan
from ...instances.entries import SURVIVAL_OPTIONS, SurvivalLevel, SurvivalOption
from ...instances.instance import Instance
from ...models.bags.task_classes import offers_of_vms
from ...schedules.documents import LOSSES, Survival
from ...schedules.lateness import refuse_late, with_late
from ...schedules.schedule import Schedule, with_new_names
from ...schedules.state import State
from .budget import BUDGET
from .goals import second_value
from .methods import find_method
from .result import Result, stages_of
from .solve import by_iterations, refuse_iterations_with, refuse_wrong, solve

USUAL_S = 0.05
LONG_S = 0.3
"""Time limit from which the method that `solve` would use goes on from the quick plan."""
_RESERVE_S, _RESERVE_S_A_TASK = 0.003, 1.6e-6
_RESERVE_OF_BEGIN, _MOST_RESERVE = 1.4, 0.65
"""Time reserved for making and checking the plan; of a bag that has been planned again before, it is known."""
_LEAST_SEARCH = 0.1
"""Share of the time that is left when the search begins, which it has whatever the ending takes."""
_KNOWN_ENDINGS, _ONE_OF, _LITTLE_LATER = 200, 100, 0.12
_MOST_OF, _SLACK_S = 0.9, 3e-4
"""Number of known endings; with the time that is left for the next one, one call of so many may be later than this
share of the limit, and this share of all calls ends as long before it."""
_CUTS = 40
"""Most cuts for new prices."""
_SHARE_OF_BOUND, _MOST_OF_BOUND = 0.4, 0.6
"""Share of the time that new prices may take for them to be looked for; and if it takes longer, at most. Before plans
that survive are looked for, a first plan has as large a share as the former."""
_SAME = 0.85
"""Prices are used again for no less than this part of the tasks that they were found for, nor for as many more."""
_STEPS = 6
"""Plans with an earlier D_spot that are tried where the first does not survive."""
_LOOK_S = 0.02
_MEMORY = "_memory_of_replans"
_NOT_ASKED = (
    "the plan is not asked to survive the loss of spot VMs, as solve asks by default: survive 'one-type' does "
    "(--survive one-type), and 'none' says that it need not"
)


def replan(
    instance: Instance,
    state: State,
    *,
    time_limit_s: float | None = USUAL_S,
    iterations: int | None = None,
    start: Schedule | Result | None = None,
    stop: Stop | None = None,
    survive: SurvivalOption | None = None,
    method: str = "auto",
    seed: int = 0,
    threads: int | None = None,
    late: Literal["least"] | None = None,
) -> Result:
    """Plan the rest of a bag, as a state leaves it.

    Parameters
    ----------
    instance : Instance
        The bag as it was at the beginning; its prices, limits and deadline are those that hold from now on.
    state : State
        What has happened so far.
    time_limit_s : float, optional
        Seconds for everything: the plan, its bound, and the check. Up to 0.3 s it is a search that begins from
        ``start``; with more time, and with none given (None), ``method`` goes on from there.
    iterations : int, optional
        A limit of work in place of one of time: the same call makes the same plan, however busy the machine is. 50,000
        are about what a core does in 0.05 s; see docs/stopping.md.
    start : Schedule or Result, optional
        The plan that is being carried out: of the bag, or of an earlier state of it. Much better plans are found with
        what fits of it in little time, and VMs of whose credits the state says nothing have those that a plan of the
        bag leaves them.
    stop : Stop, optional
        Any object with ``is_set()``: once it says True, the best plan so far is returned.
    survive : {"one-type", "one-pool", "blackout", "each", "none"}, optional
        What the plan is to survive; as the instance says if absent. If that says nothing, it need survive nothing,
        where `solve` takes ``one-type``: a warning says so of a plan with spot VMs. Where no plan is found in time that
        does, the best one is returned with a warning: something must be done.
    method : str
        For time limits over 0.3 s: one of the methods that plan from a state.
    seed, threads : int, optional
        See `solve`.
    late : {"least"}, optional
        See `solve`; where the deadline has passed, one of the next second stands for it.

    Returns
    -------
    Result
        Its instance is what is left (`State.remaining`), its plan is one of that: times count from the moment of the
        state, VMs that exist have their ids, and tasks that run are where they run. Its cost is what is to be paid from
        now on.

    Raises
    ------
    InputError
        If the state is of another bag, the deadline has passed and no plan may be late, nothing is left, or an argument
        is out of its range.

    Notes
    -----
    A process that has never planned before compiles first: see `spotbag.warm_up`.
    """
    if iterations is not None:
        refuse_iterations_with(None if time_limit_s == USUAL_S else time_limit_s, threads, method)
        ask = partial(replan, instance, state, start=start, stop=stop, survive=survive, method=method, seed=seed)
        return by_iterations(partial(ask, late=late), iterations)
    begin = clock_s()
    level = (instance.survive or "none") if survive is None else survive
    _refuse_wrong(state, start, stop, time_limit_s, level, seed, threads)
    find_method(method)
    late = late or instance.late
    # What cannot be asked to survive needs no warning that it was not.
    asked = level != "none" or "none" in (survive, instance.survive) or late is not None
    passed = ""
    if late is not None:
        refuse_late(with_late(instance, late), level)
        instance, passed = _with_time_left(instance, state)
    running = start.schedule if isinstance(start, Result) else start
    limit_s = math.inf if time_limit_s is None else time_limit_s
    with no_collection():
        remaining = (state if running is None else state.with_credits_of(running)).remaining(instance)
        if remaining.d_spot_s is None:
            remaining.__dict__["d_spot_s"] = remaining.deadline_s
        remaining.__dict__["late"] = None  # a plan in time comes first
        long = limit_s > LONG_S or remaining.objective.budget_usd is not None
        terms = _Terms(limit_s, begin, seed, None if level == "none" else level)
        with interruptible(stop) as limit:
            quick, initial = _first_answer(remaining, running, terms, instance, late, state.time_s, long)
        best = quick.status == "optimal" and (quick.survival is None or quick.survival.verdict == "survives")
        if not long or best or limit.stopped():
            return _told(quick, state, running, limit, asked, passed)
    with interruptible(stop) as limit:
        found = solve(
            remaining if instance.d_spot_s is not None else remaining.replace(d_spot_s=None),
            method,
            time_limit_s=None if time_limit_s is None else max(limit_s - (clock_s() - begin), 1e-3),
            initial=initial,
            survive=level,
            seed=seed,
            threads=threads,
            late=late,
        )
    if found.schedule is None and found.status == "no-plan":  # something must be done, even if it does not survive
        found = quick
    return _told(found, state, running, limit, asked, passed)


def _first_answer(
    remaining: Instance,
    running: Schedule | None,
    terms: _Terms,
    given: Instance,
    late: Literal["least"] | None,
    now_s: float,
    long: bool,
) -> tuple[Result, Schedule | None]:
    """Plan within milliseconds, with late tasks where no other plan is found and none is to follow.

    Returns
    -------
    tuple
        The answer, and the plan that one which takes longer may begin with.
    """
    limit_s = terms.time_limit_s
    quick_s = min(USUAL_S, 0.3 * limit_s) if long else limit_s * (1.0 if late is None else BUDGET.half)
    held = None if running is None else _held(remaining, running, now_s)
    quick = _quick(remaining, running, terms._replace(time_limit_s=quick_s), given, held)
    initial = quick.schedule
    if initial is None and late is not None and running is not None:
        initial = _held(with_late(remaining, late), running, now_s)
    if quick.schedule is None and late is not None and not long:
        from .late import late_plan, late_result, least_weight  # here, since few ask for it

        least = least_weight(remaining, quick)
        with within(limit_s, begin=terms.begin):
            plan, bound = late_plan(remaining, terms.seed, least, initial, threads=1, prove=False)
        quick = late_result(remaining, plan, bound, quick, terms.seed, terms.begin)
    if initial is not None and initial.instance.d_spot_s != remaining.d_spot_s:
        initial = replace(initial, instance=remaining)
    return quick, initial


def _refuse_wrong(
    state: object, start: object, stop: object, time_limit_s: object, level: str, seed: object, threads: object
) -> None:
    """Refuse arguments that are out of their range, or of another type."""
    if not isinstance(state, State):
        raise InputError("state", [Issue("", "must be a spotbag.State", value=state)])
    if not isinstance(start, Schedule | Result | None):
        raise InputError("start", [Issue("", "must be a Schedule, a Result, or None", value=start)])
    if stop is not None and not callable(getattr(stop, "is_set", None)):
        raise InputError("stop", [Issue("", "must have a method is_set(), such as threading.Event", value=stop)])
    refuse_wrong(time_limit_s, seed, 1 if threads is None else threads)
    if level not in SURVIVAL_OPTIONS:
        rule = f"is unknown (known: {', '.join(SURVIVAL_OPTIONS)})"
        raise InputError("survive", [Issue("", rule, value=level)])


def _with_time_left(instance: Instance, state: State) -> tuple[Instance, str]:
    """Return a bag whose deadline has not passed, and a warning if another one stands for its own."""
    next_s = math.floor(state.time_s) + 2
    if instance.deadline_s - state.time_s >= 1:
        return instance, ""
    said = f"the deadline of {instance.deadline_s:,} s has passed: what is left is late, counted from {next_s:,} s"
    return with_late(with_late(instance, "least").replace(deadline_s=next_s), None), said


def _told(result: Result, state: State, running: Schedule | None, limit: Limit, asked: bool, passed: str) -> Result:
    """Return a result that says whether work was stopped, with names of new VMs that neither bag nor last plan had."""
    plan = result.schedule
    warnings = (*result.warnings, *filter(None, [passed]), *_surprises(state, result.instance))
    if plan is not None:
        if not asked and plan.instance.offer_is_spot[plan.vm_offer].any():
            warnings = (*warnings, _NOT_ASKED)
        plan = with_new_names(plan, [*state.gone, *(() if running is None else running.vm_ids)])
    return replace(result, schedule=plan, warnings=warnings, interrupted=limit.stopped())


def _surprises(state: State, remaining: Instance) -> Iterator[str]:
    """Warn of VMs that should be ready or are too full, and of tasks that should have ended: what is assumed."""
    vms = [vm.id for vm in state.vms if vm.status == "launching" and vm.ready_s < state.time_s]
    if vms:
        yield (
            f"VMs that launch should be ready by now, and are planned as if ready at once: {first_names(vms)}; a later "
            "ready_s in the state (VmExpected) says when they are expected"
        )
    full = [
        vm.id
        for vm, machine in zip(state.vms, remaining.machines, strict=True)
        if vm.status == "running" and not machine.open
    ]
    if full:
        short = " or ".join(["cores"] * remaining.slots.shared + ["memory"] * remaining.slots.count_memory)
        yield f"tasks that run need more {short} than there is, nothing is planned beside them: on {first_names(full)}"
    running, ids = remaining.running, remaining.task_ids
    takes_s = remaining.running_end_s - running.start_s
    durations_s = {ids[task]: seconds for task, seconds in zip(running.task.tolist(), takes_s.tolist(), strict=True)}
    tasks = [
        run.task
        for vm in state.vms
        for run in vm.running
        if run.task in durations_s
        and (run.start_s + durations_s[run.task] if run.end_s is None else run.end_s) < state.time_s
    ]
    if tasks:
        yield (
            f"tasks that run should have ended by now, and are planned as if they end at once: {first_names(tasks)}; a "
            "later end_s in the state (TaskExpected) says when they are expected to end"
        )


class _Terms(NamedTuple):
    """Seconds for a quick plan from a moment on, the seed, and what it is to survive."""

    time_limit_s: float
    begin: float
    seed: int
    level: SurvivalLevel | None


class _Memory:
    """Experience with the last plans of a bag, for the next one.

    Attributes
    ----------
    prices : dict
        Prices that proved a bound, by the offers that have room.
    warm : bool
        Whether there was a plan: the first takes longer than those that follow.
    shares : deque of float
        How long it took to make and check those, as shares of what is usual.
    """

    def __init__(self) -> None:
        self.prices: dict[tuple[Any, ...], _Prices] = {}
        self.warm = False
        self.shares: deque[float] = deque(maxlen=_KNOWN_ENDINGS)

    @classmethod
    def of(cls, bag: Instance) -> _Memory:
        """Return the memory of a bag, which lives as long as the bag; a new one where the same plan is asked for."""
        if current_limit().work is not None:
            return cls()
        memory: _Memory = bag.__dict__.setdefault(_MEMORY, cls())
        return memory

    def reserve_s(self, usual_s: float, time_limit_s: float) -> float:
        """Seconds to leave for an ending: with those, most calls end in time, and nearly all of them a little later.

        The longest of all says nothing of the next one: another process had the processor meanwhile.
        """
        times = sorted(self.shares)
        nearly_all = times[max(len(times) - 2 - len(times) // _ONE_OF, 0)]
        most = times[int(_MOST_OF * (len(times) - 1))]
        return max(most * usual_s + _SLACK_S, nearly_all * usual_s - _LITTLE_LATER * time_limit_s)


class _SearchEnd:
    """Moment at which the search is to end: it is asked for once its start has been made.

    Attributes
    ----------
    moment : float, optional
        What was answered; the ending begins then.
    """

    def __init__(self, all_until: float, reserve_s: float) -> None:
        self._all_until, self._reserve_s = all_until, reserve_s
        self.moment: float | None = None

    def __call__(self, share: float) -> float:
        """Return the end of a search that is to have a share of what is left less the reserve.

        Part of what is left it has in any case: where one long ending were followed by no search, so would all others.
        """
        now = clock_s()
        left_s = max(self._all_until - now, 0.0)
        self.moment = now + share * max(left_s - self._reserve_s, _LEAST_SEARCH * left_s)
        return self.moment


def _at(remaining: Instance, d_spot_s: int) -> Instance:
    """Return the rest of a bag with another D_spot; all arrays but the latest ends are shared."""
    twin = copy.copy(remaining)
    twin.__dict__.update(remaining.__dict__)
    twin.__dict__["d_spot_s"] = d_spot_s
    twin.__dict__.pop("latest_end_s", None)
    return twin


def _survivor(
    remaining: Instance,
    bound: DivisibleBound,
    plan: Schedule,
    level: SurvivalLevel,
    seed: int,
    until: float,
    chooses: bool,
) -> Schedule | None:
    """Return a plan that is shown to survive; None if none is.

    That is this one or, if D_spot is to be chosen, the best of some with an earlier one.
    """
    from .survival import in_surviving_order

    found = in_surviving_order(plan, level)
    if found is not None or not chooses:
        return found
    best: Schedule | None = None

    def take(candidate: Schedule | None) -> bool:
        nonlocal best
        found = None if candidate is None else in_surviving_order(candidate, level)
        if found is not None and (best is None or found.objective < best.objective):
            best = found
        return found is not None

    low, high = 0, remaining.deadline_s
    each_s = (until - clock_s()) / _STEPS
    for step in range(_STEPS):
        if stopped() or (clock_s() >= until and best is not None):
            break
        d_spot_s = low if step == 0 else (low + high) // 2
        at = _at(remaining, d_spot_s)
        if take(quick_plan(at, bound, plan, seed, clock_s() + each_s)):
            low = d_spot_s
        elif step:
            high = d_spot_s
    return best


def _held(remaining: Instance, running: Schedule, now_s: float) -> Schedule | None:
    """Return the plan that is being carried out, if it holds as it is: it is the answer of the first instant.

    It is one of the bag, whose times count from its beginning, one of this very state, or one of an earlier state: its
    times count from as long before the deadline as it has until then. What is over the budget does not hold.
    """
    by_deadline_s = max(running.instance.deadline_s - remaining.deadline_s, 0)
    for moment_s in dict.fromkeys((by_deadline_s, math.ceil(now_s), 0)):  # that of another deadline by its own clock
        plan = held_plan(remaining, running, moment_s)
        if plan is not None and plan.within_budget and not check(remaining, plan).violations:
            return plan
    return None


def _quick(
    remaining: Instance, running: Schedule | None, terms: _Terms, given: Instance, held: Schedule | None
) -> Result:
    """Plan, bound and check within milliseconds; nothing worse than the plan that is held."""
    time_limit_s, begin, seed, level = terms
    memory = _Memory.of(given)
    with within(time_limit_s, begin=begin):
        bound = _bound(remaining, memory, time_limit_s)
    usual_s = _RESERVE_S + _RESERVE_S_A_TASK * remaining.n_tasks
    if level is None and memory.shares:
        reserve_s = memory.reserve_s(usual_s, time_limit_s)
    else:  # what is left to do takes as much longer than usual as what is done has taken
        reserve_s = max(usual_s, min(_RESERVE_OF_BEGIN * (clock_s() - begin), 2 * usual_s))
    until = begin + time_limit_s - min(reserve_s, _MOST_RESERVE * time_limit_s)
    search_end = _SearchEnd(begin + time_limit_s, reserve_s)
    infeasible = math.isinf(bound.objective)
    schedule = None
    survival = None
    proved: AllPlans | None = None
    if level is None and not infeasible and remaining.objective.budget_usd is None:
        proved = best_of_all(remaining, (clock_s() + until) / 2)
    if proved is not None:
        schedule, held, infeasible = proved.schedule, None, proved.schedule is None
    # A first plan is made whatever the time: it is the one that is being carried out, with what has lost its place.
    with suppress(LimitReached):
        if not infeasible and schedule is None:
            now = clock_s()
            first_until = search_end if level is None else now + _SHARE_OF_BOUND * (until - now)
            schedule = quick_plan(remaining, bound, running, seed, first_until)
            if schedule is None and held is None:
                schedule = _with_credits(remaining)
    if schedule is not None and not schedule.within_budget:
        schedule = None  # the search does not know budgets
    if held is not None and (schedule is None or held.objective < schedule.objective):
        schedule, infeasible = held, False
    if schedule is not None and level is not None:
        survivor = _survivor(remaining, bound, schedule, level, seed, until, given.d_spot_s is None)
        schedule = survivor or schedule
        left_s = max(begin + time_limit_s - clock_s(), 0.0)
        survival = _survival(schedule, level, left_s, survivor is not None)
    value = bound.objective if proved is None else math.inf
    result = _checked(remaining, schedule, value, infeasible, proved is not None, survival, terms)
    if schedule is not None and search_end.moment is not None and not stopped():
        if memory.warm:
            memory.shares.append((clock_s() - search_end.moment) / usual_s)
        memory.warm = True
    return result


def _checked(
    remaining: Instance,
    schedule: Schedule | None,
    value: float,
    infeasible: bool,
    proved: bool,
    survival: Survival | None,
    terms: _Terms,
) -> Result:
    """Make the result of a plan, after the checker has passed it, and of a bound of all plans."""
    if schedule is not None:
        violations = check(schedule.instance, schedule).violations
        if violations:
            raise SpotbagError(f"replan made a plan that breaks a rule; please report this: {violations[0]}")
        value = min(value, schedule.objective)
    warnings = ("" if survival is None or survival.verdict == "survives" else _beyond(survival),)
    settled = proved or remaining.goal == "balanced"
    optimal = schedule is not None and settled and closes_gap(schedule.objective, value)
    return Result(
        status="infeasible" if infeasible else "no-plan" if schedule is None else "optimal" if optimal else "feasible",
        instance=remaining if schedule is None else schedule.instance,
        method="search",
        schedule=schedule,
        message="" if schedule is not None else _without_plan(remaining, infeasible, proved),
        warnings=tuple(filter(None, warnings)),
        survival=survival,
        bound=value,
        stages=stages_of(schedule, value, second_value(schedule) if schedule is not None and proved else None),
        runtime_s=clock_s() - terms.begin,
        seed=terms.seed,
    )


def _without_plan(remaining: Instance, infeasible: bool, proved: bool) -> str:
    """Say why there is no plan."""
    budget = remaining.objective.budget_usd
    if infeasible:
        tasks = "the" if proved else "even divisible"
        message = f"no plan exists: {tasks} tasks do not end by the deadline, or do not fit the limits"
    else:
        message = "no plan was found in this time that ends by the deadline"
        message += "" if budget is None else f", for at most $ {budget:g}"
    return with_way_out(remaining, message)


def _with_credits(remaining: Instance) -> Schedule | None:
    """Return a plan with burstable VMs at full speed while credits last; None without such VMs, or if none is found."""
    if not any(offer.burstable for offer in offers_of_vms(remaining)):
        return None
    plan = full_speed_plan(remaining)
    return plan if plan is not None and check(remaining, plan).feasible else None


def _survival(schedule: Schedule, level: SurvivalLevel, left_s: float, survives: bool) -> Survival:
    """Return the certificate of a plan."""
    from ...heuristics.bags.rescue import survival_soon  # here, since few ask for it

    return survival_soon(schedule, level, left_s, _LOOK_S, survives=survives)


def _beyond(survival: Survival) -> str:
    """Warn of a plan that is not shown to survive."""
    return f"no plan was found in this time that survives {LOSSES[survival.level]}: {survival.reason}"


class _Prices(NamedTuple):
    """Multipliers of a proved bound, for how many tasks that were to be placed, and the seconds that they took.

    That is 0 where the first ones took too long, as they may in a process that is not warm: the next call tries again.
    """

    multipliers: FloatArray
    n_open: int
    took_s: float


def _bound(remaining: Instance, memory: _Memory, time_limit_s: float) -> DivisibleBound:
    """Bound the rest of a bag: by the last prices found for the same bag, or by new ones if much has changed since.

    Any prices prove a bound, which is soon worked out. A few cutting planes near the last prices prove no more, and new
    prices take many: they are looked for once in many calls.
    """
    key = (
        len(remaining.offers),
        tuple([offer.index for offer in remaining.offers if offer.limit]),
        tuple(np.flatnonzero(np.bincount(remaining.machine_offer)).tolist()),
    )
    last = memory.prices.get(key)
    n_open = len(remaining.open_tasks)
    if last is not None:
        same = last.took_s > 0.0 and _SAME * last.n_open <= n_open <= last.n_open / _SAME
        if same or last.took_s > _SHARE_OF_BOUND * time_limit_s:
            return divisible_bound(remaining, last.multipliers, 1)
    begin = clock_s()
    with watched_time() as clock, within(_MOST_OF_BOUND * time_limit_s):
        bound = divisible_bound(remaining, None, _CUTS)
    if len(bound.multipliers):
        took_s = 0.0 if last is None and clock.ended_work else clock_s() - begin
        memory.prices[key] = _Prices(bound.multipliers, n_open, took_s)
    return bound
