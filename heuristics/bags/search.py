"""Our search: simulated annealing from the prices of the divisible bound, with a certificate of how far it is."""

from __future__ import annotations

import itertools
import math
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...bounds.bags.divisible_bound import DivisibleBound, divisible_bound
from ...core.limits import LimitReached, checkpoint, current_limit, overtime, seconds_left, share_of_time, within
from ...core.quantities import OPTIMALITY_TOLERANCE, at_most, closes_gap
from ...instances.instance import Instance
from ...models.bags.task_classes import MOST_CLASSES, has_more_classes, memory_is_free, usable_offers
from ...schedules.method import FEW_TASKS, MANY_TASKS, Outcome, Run
from ...schedules.schedule import Schedule
from ...schedules.timing import objective_weights
from .annealing import Found, LoadsWalk, SearchOptions, Steps, cooled, is_idle, random_state
from .core_loads import (
    LITTLE_TO_GAIN,
    CoreLoads,
    full_speed,
    priced_start,
    start_from_schedule,
)
from .first_plans import FILLED, first_plan, lanes_plan, least_rent_start

if TYPE_CHECKING:
    from ...schedules.queues import Queue

_PLAIN_TASKS, PLAIN_MOVES = 25, 10_000
"""Most tasks for which these moves by plain Python are enough: compiling takes seconds."""
_RUNS, _MOVES, _MOVES_OF_THOUSANDS = 7, 6_000_000, 860_000
"""Runs without a time limit, and moves of all of them; of more than 3,000 tasks, moves of the only run."""
_SHARE_OF_LPT, _MOST_LPT_TASKS = 0.05, 10_000
"""Share of the time for longest task first where memory may bind, and most tasks for which it is tried there.

It takes seconds for 1,000 tasks, of which the annealing makes more.
"""

_NO_PLAN_FROM_STATE = "the search found no plan from this state that ends by the deadline"
_NO_PLAN_BY_DATES = "the search found no plan that keeps the ready_s and the deadline_s of all tasks"

_MOST_LATE = 4e-3
"""Share of the load that may be late at the start, which the annealing puts right."""


class Start(NamedTuple):
    """The bound of a bag, and the state that its search begins with, if there is to be one."""

    bound: DivisibleBound
    state: CoreLoads | None

    def copy(self) -> Start:
        """Return a start whose state may be changed: other searches begin with this one, too."""
        return Start(self.bound, None if self.state is None else self.state.copy())


def search(
    instance: Instance,
    options: SearchOptions,
    run: Run,
    first: Outcome | None = None,
    start: Start | None = None,
    *,
    bursts: bool = True,
    goes_on: bool = True,
) -> Outcome:
    """Plan by simulated annealing, and bound the optimum from below.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    options : SearchOptions
        Effort.
    run : Run
        Seed, time limit, progress.
    first, start : Outcome and Start, optional
        Results of `first_plan` and of `begin`, if they were asked before.
    bursts : bool
        Whether full speed of burstable VMs is planned where memory never binds; that takes longer than the moves do.
    goes_on : bool
        Whether a time limit is used to its end where nothing of that is planned; else each run is made once.

    Returns
    -------
    Outcome
        The best plan met, by whichever heuristic, with a proven lower bound.
    """
    found = Found(run)
    memory_free = memory_is_free(instance) and not instance.has_dates  # loads of cores know none
    from_start = not (instance.machines or instance.has_dates)  # the simple heuristics know no others
    few = from_start and (instance.n_tasks <= MANY_TASKS or not memory_free)
    out_of_question = not memory_free and instance.n_tasks > _MOST_LPT_TASKS
    with suppress(LimitReached):  # then the best plan so far
        start = begin(instance, run) if start is None and from_start and not few else start
        if first is None and found.best is None and from_start and run.incumbent.bound < math.inf:
            first = first_plan(instance)
            found.take(first.schedule)
        bound, state = begin(instance, run) if start is None else start.copy()
        found.raise_bound(bound.objective)
        at_once = FEW_TASKS < instance.n_tasks <= MANY_TASKS  # the plan of a larger bag is taken where it begins
        if state is not None and at_once and not (bursts and _by_assignments(instance)):
            found.take(state.schedule())
        elif few and not out_of_question:
            out_of_question = _has_tried_longest_first(instance, found, None if memory_free else _SHARE_OF_LPT)
            checkpoint()
        # If it is proved infeasible, whoever asked sees that the simple heuristics found nothing either.
        if bound.objective < np.inf and not run.answered(found.objective, bound.objective):
            if memory_free:
                _search_cores(instance, bound, options, found, bursts, goes_on, state)
            else:
                _search_queues(instance, bound, options, found)
    if found.best is None:
        with suppress(LimitReached):
            return _without_annealing(instance, run, found, first, longest_first=not out_of_question)
    return Outcome(found.best, bound=found.proven)


def begin(instance: Instance, run: Run) -> Start:
    """Bound a bag, and make the state that the search begins with if that is a plan, or is soon one.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    run : Run
        Its incumbent receives the bound, and the plan of a large bag.
    """
    found = Found(run)
    state: CoreLoads | None = None
    soon = begins_with_a_plan(instance)
    # If there is no plan yet, and will be one soon, nothing but a request to stop ends this.
    awaited = soon and found.best is None and run.threshold == -math.inf
    with overtime(math.inf) if awaited else nullcontext():
        bound = divisible_bound(instance)
        found.raise_bound(bound.objective)
        if not soon or bound.objective == np.inf:
            return Start(bound, None)
        if objective_weights(instance)[1] == 0:
            state = _plan_to_begin_with(instance, bound)
        else:
            state, _ = _priced_beginning(instance, bound)
        if instance.n_tasks > MANY_TASKS and state is not None and state.feasible():
            found.take(state.schedule())
    return Start(bound, state)


def plan_by_prices(instance: Instance) -> Schedule | None:
    """Plan a large bag by the prices of its bound; None where the state that they make is no plan, or of other bags.

    Where the cost alone counts, VMs that are busy until they must end seldom survive a loss, and lanes are sooner made.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    """
    if instance.n_tasks <= MANY_TASKS or objective_weights(instance)[1] == 0 or not begins_with_a_plan(instance):
        return None
    bound = divisible_bound(instance)
    state = _priced_beginning(instance, bound)[0] if bound.objective < np.inf else None
    return state.schedule() if state is not None and state.feasible() else None


def _has_tried_longest_first(instance: Instance, found: Found, share: float | None) -> bool:
    """Try longest task first, for a share of the time at most; return whether it came to an end."""
    with suppress(LimitReached), within(None if share is None else share_of_time(share)):
        found.take(_longest_first(instance, found.run))
        return True
    return False


def _without_annealing(
    instance: Instance, run: Run, found: Found, first: Outcome | None, *, longest_first: bool
) -> Outcome:
    """Make a plan, where the annealing has none, by the simple heuristics that were not asked; or say why not.

    This is for a large bag, and a deadline that the annealing did not meet. What has found nothing finds nothing the
    second time: ``longest_first`` says whether that is still to be asked.
    """
    explanation = _NO_PLAN_BY_DATES if instance.has_dates else _NO_PLAN_FROM_STATE
    if not (instance.machines or instance.has_dates):
        if longest_first:
            found.take(_longest_first(instance, run))
        if first is None:
            first = first_plan(instance)
            found.take(first.schedule)
        if found.best is None and found.bound < np.inf and any(offer.burstable for offer in instance.offers):
            from .listed_plans import full_speed_plan

            found.take(full_speed_plan(instance))
        explanation = first.explanation or explanation
    if found.best is None and found.bound == np.inf:
        explanation = "no plan exists: even divisible tasks do not fit the limits"
    return Outcome(found.best, "" if found.best else explanation, bound=found.proven)


def _longest_first(instance: Instance, run: Run) -> Schedule | None:
    """Return the plan of longest task first; what few bags ask for is loaded where it is asked for, as below."""
    from .lpt import LptOptions, lpt

    return lpt(instance, LptOptions(), run).schedule


def _listed(instance: Instance) -> Schedule | None:
    """Return the plan of one task after the other from a state."""
    from .listed_plans import listed_plan

    return listed_plan(instance)


def _search_queues(instance: Instance, bound: DivisibleBound, options: SearchOptions, found: Found) -> None:
    """Anneal the tasks of each VM in the order of their starts."""
    from .assignment_search import search_assignments

    if (instance.machines or instance.has_dates) and found.best is None:  # no simple heuristic has made a plan
        found.take(_listed(instance))
    search_assignments(instance, options, found, _rate(instance, bound))


def _search_cores(
    instance: Instance,
    bound: DivisibleBound,
    options: SearchOptions,
    found: Found,
    bursts: bool,
    goes_on: bool,
    first_state: CoreLoads | None,
) -> None:
    """Search where memory never binds: core loads, and then full speed of burstable VMs where that pays."""
    if instance.machines and found.best is None and len(instance.open_tasks) <= FEW_TASKS:
        found.take(_listed(instance))
    if not (bursts and _by_assignments(instance)):
        _search_core_loads(instance, bound, options, found, goes_on, first_state)
        return
    try:  # it is no start: more VMs have more credits
        _search_core_loads(instance, bound, options, found, False, None)
        if not found.run.answered(found.objective, bound.objective):
            _search_queues(instance, bound, options, found)
    finally:  # it may be the best plan all the same, also when the time is over
        if first_state is not None and first_state.feasible():
            found.take(first_state.schedule())


_LATER = (0.002, 0.005, 0.01, 0.02)
"""By how much later than the earliest end of divided patterns of cores whole ones may be tried to end."""


def _take_patterns(instance: Instance, found: Found) -> None:
    """Take plans of cores that run whole patterns, and what these prove, of a bag of few classes."""
    from .assignment_search import MAKESPANS, core_pattern_starts

    starts = core_pattern_starts(instance, found.run.enough(found.objective))
    if starts is None:
        return
    found.raise_bound(max(found.bound, starts.bound))
    rng = np.random.default_rng(found.run.seed)
    cost_weight, time_weight = objective_weights(instance)
    for number in range(MAKESPANS if cost_weight else 1):
        before = found.objective
        if found.run.answered(before, found.bound):
            return
        _take_queues(instance, starts.queues(number, rng), found)
        if number and found.objective == before:
            break
    # Where nothing costs anything, patterns fill all cores that there are, and what is left over finds no room. So the
    # least cost is asked for, by moments that are a little later; where it is beyond a budget, no plan ends by then.
    budget = instance.objective.budget_usd
    for share in () if cost_weight else _LATER:
        moment_s = math.ceil(found.bound / time_weight * (1 + share))
        if time_weight * moment_s >= found.objective or found.run.answered(found.objective, found.bound):
            return
        d_spot = {} if instance.d_spot_s is None else {"d_spot_s": min(instance.d_spot_s, moment_s)}
        goal = {"goal": "balanced", "cost_weight": 1.0, "cost_scale_usd": 1.0}
        cheapest = core_pattern_starts(instance.replace(deadline_s=moment_s, objective=goal, **d_spot))
        if cheapest is not None and budget is not None and cheapest.bound > at_most(budget):
            found.raise_bound(max(found.bound, time_weight * (moment_s + 1)))
        elif cheapest is not None:
            _take_queues(instance, cheapest.queues(0, rng), found)


def _take_queues(instance: Instance, queues: list[Queue] | None, found: Found) -> None:
    """Take the plan of queues if all of it ends in time."""
    from ...schedules.queues import schedule_of_queues  # here, since few bags have few classes

    if queues is not None:
        plan = schedule_of_queues(instance, queues)
        latest_s = instance.latest_end_s[instance.task_group, plan.vm_offer[plan.task_vm]]
        found.take(plan if (plan.task_end_s <= latest_s).all() else None)


def _by_assignments(instance: Instance) -> bool:
    """True if full speed of burstable VMs is planned task by task: where loads do not say it all, or there are few."""
    if instance.machines or not bursting_pays(instance):
        return False
    burstable = [offer.index for offer in usable_offers(instance) if offer.burstable]
    return instance.n_tasks <= FEW_TASKS or bool(np.isinf(full_speed(instance)[burstable, 0]).any())


def begins_with_a_plan(instance: Instance) -> bool:
    """True if the search starts with a plan: where memory never binds, tasks have no dates, and VMs are new.

    Of a bag of more than some thousands of tasks, prices make one sooner than the greedy. Of a smaller one, it is made
    where cost alone counts: the fewest and cheapest VMs that the tasks fit. These are busy until the deadline, and few
    plans of that kind survive a loss, so that it is done where nothing has to, and for questions that leave time to do
    tasks again.
    """
    free_to_fill = instance.survive == "none" or instance.leaves_time
    soon = instance.n_tasks > MANY_TASKS or (free_to_fill and objective_weights(instance)[1] == 0)
    return soon and not (instance.machines or instance.has_dates) and memory_is_free(instance)


def _plan_to_begin_with(instance: Instance, bound: DivisibleBound) -> CoreLoads | None:
    """Return the state of a plan with as few VMs as do, and with tasks that end as early as they must; None without."""
    state = least_rent_start(instance, bound)
    if state is not None and closes_gap(state.value(), bound.objective, LITTLE_TO_GAIN):
        return state
    in_lanes = _state_in_lanes(instance, bound)
    if in_lanes is None or (state is not None and state.value() <= in_lanes.value()):
        return state
    return in_lanes


def _state_in_lanes(instance: Instance, bound: DivisibleBound) -> CoreLoads | None:
    """Return the state of a plan in lanes."""
    plan = lanes_plan(instance, bound)
    return None if plan is None else start_from_schedule(instance, plan, bound.offers)


def bursting_pays(instance: Instance) -> bool:
    """True if tasks could gain by full speed on burstable VMs that may be rented."""
    for offer in usable_offers(instance):
        if offer.burstable:
            from ...models.bags.cpu_credits import credit_rules, full_speed_possible  # here, since few bags have any

            horizon_s = instance.time_limit_s(offer.market) - int(instance.ready_s[offer.index])
            if full_speed_possible(instance, offer, credit_rules(offer, horizon_s), horizon_s).any():
                return True
    return False


def _search_core_loads(
    instance: Instance,
    bound: DivisibleBound,
    options: SearchOptions,
    found: Found,
    goes_on: bool,
    first_state: CoreLoads | None,
) -> None:
    """Anneal core loads from the prices of the bound and from the best plans so far, in turn.

    Where there is a ``first_state``, it begins there. If it ``goes_on``, that is done again and again until the time
    limit.
    """
    runs, moves = _effort(instance, options)
    rate = _rate(instance, bound)
    goes_on = goes_on and options.moves is None and seconds_left() is not None
    starts: dict[int, CoreLoads | None] = {0: first_state}
    if first_state is None:
        starts[0], settled = _priced_beginning(instance, bound)
    else:
        # Where a large bag has a better plan by now, that is the start; where few tasks are late, they are put right.
        small = instance.n_tasks <= MANY_TASKS
        settled = _late_share(first_state) <= _MOST_LATE and (small or not first_state.feasible())
        # With other VMs, the annealing may come further: where cores are filled less, it opens and closes few.
        if goes_on and instance.leaves_time and objective_weights(instance)[1] == 0:
            starts[1] = _state_in_lanes(instance, bound)
    if goes_on:
        current_limit().ended_by_time()  # more time would bring more
    last_better, best = 0, np.inf
    for number in itertools.count() if goes_on else range(runs):
        if found.objective < best:
            last_better, best = number, found.objective
        if number >= runs and is_idle(instance, number - last_better):
            return
        state = starts.pop(number, None)
        if state is None and number % 2 and found.best is not None:
            state = start_from_schedule(instance, found.best, bound.offers)
        elif state is None:
            state = priced_start(instance, bound) if number else None
        if not (number or settled or found.best is None) and _is_worse(state, found.objective, rate):
            state = start_from_schedule(instance, found.best, bound.offers) or state
        few_classes = number == 0 and instance.n_tasks > FEW_TASKS and not has_more_classes(instance, MOST_CLASSES)
        if state is not None and few_classes:
            found.take(state.schedule() if state.feasible() else None)
            _take_patterns(instance, found)
            if found.best is not None and _is_worse(state, found.objective, rate):
                state = start_from_schedule(instance, found.best, bound.offers) or state
        if state is None or found.run.answered(found.objective, found.bound):
            return
        state.charge(rate)
        if not state.objective.vm_price.any():
            # While another VM ends last, what a move brings is seen in the loads alone.
            worth = bound.core_price / max(float(bound.core_price.max()), 1e-300)
            state.cores = state.cores._replace(worth=worth)
            if not number % 2:  # runs from the best plan begin there anyhow
                _end_near(state, found, bound)
        _anneal(state, options, found, number, moves, rate)


def _end_near(state: CoreLoads, found: Found, bound: DivisibleBound) -> None:
    """Have no VM end later than the best plan by more than that plan may be above the optimum.

    Where the makespan alone counts, it does not say whether fewer VMs end last; seconds beyond a limit add up, and do.
    """
    proven, time_weight = max(found.bound, bound.objective), state.objective.time_weight
    if found.best is not None and 0 < proven < found.objective:
        last_s = math.floor((2 * found.objective - proven) / time_weight) - state.zero_s
        state.objective = state.objective._replace(vm_limit=np.minimum(state.objective.vm_limit, last_s))


def _rate(instance: Instance, bound: DivisibleBound) -> float:
    """Return the charge for a dollar beyond the budget: more than that is worth to tasks that may be cut."""
    budget_usd = instance.objective.budget_usd
    return bound.budget_price + objective_weights(instance)[1] * bound.end_s / budget_usd if budget_usd else 0.0


def _is_worse(state: CoreLoads | None, objective: float, rate: float) -> bool:
    """True if there is no state, or one that is worse than an objective; what it costs beyond a budget is charged."""
    if state is None:
        return True
    state.charge(rate)
    return state.value() > objective * (1 + OPTIMALITY_TOLERANCE)  # of one plan, it is summed in another order


def _effort(instance: Instance, options: SearchOptions) -> tuple[int, int]:
    """Runs without a time limit, and moves of each."""
    few = instance.n_tasks <= MANY_TASKS
    runs = _RUNS if few else 1
    if options.moves is None and instance.n_tasks <= _PLAIN_TASKS:
        moves = PLAIN_MOVES
    else:
        moves = options.moves or (_MOVES if few else _MOVES_OF_THOUSANDS)
    return runs, max(moves // runs, 1)


def _priced_beginning(instance: Instance, bound: DivisibleBound) -> tuple[CoreLoads | None, bool]:
    """Return a first state that leaves as much room as it takes for few tasks to be late, and whether it leaves any.

    Where limits bind, the prices of the bound fill the cores of cheap offers to the last second, which whole tasks
    cannot; of a bag of many tasks, the annealing would not find its way to a plan from there. If no room is enough, the
    state is that of the prices.
    """
    full: CoreLoads | None = None
    for filled in FILLED:
        state = priced_start(instance, bound, filled=filled)
        if state is None:
            break
        if _late_share(state) <= _MOST_LATE:
            return state, filled < 1.0
        full = full or state
    return full, False


def _late_share(state: CoreLoads) -> float:
    """Seconds by which VMs and tasks end too late, of the seconds of all VMs."""
    late_s = np.maximum(0, state.vm_end - state.objective.vm_limit).sum() + state.late.sum()
    return float(late_s) / max(int(state.vm_end.sum()), 1)


def _anneal(state: CoreLoads, options: SearchOptions, found: Found, number: int, moves: int, rate: float) -> None:
    """Make a run of the annealing."""
    run, first = found.run, found.iteration
    plain = state.instance.n_tasks <= _PLAIN_TASKS and options.moves is None
    walk = LoadsWalk(state, random_state(run.seed, number), plain=plain, rate=rate)
    try:
        for share, value in cooled(walk, options.temperatures(state.instance, number), Steps(moves)):
            found.step(first + int(share * moves), moves, value, walk.best)
            if walk.best <= run.threshold:
                break
            checkpoint()
    finally:
        if walk.best < found.objective:
            found.take(walk.schedule())
