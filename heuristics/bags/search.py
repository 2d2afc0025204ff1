"""Our search: simulated annealing from the prices of the divisible bound, with a certificate of how far it is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...core.gaps import closes_gap
from ...core.limits import LimitReached, checkpoint, current_limit, overtime, seconds_left, share_of_time, within
from ...instances.instance import Instance
from ...models.bags.cpu_credits import credit_rules, full_speed_possible
from ...models.bags.divisible_bound import DivisibleBound, divisible_bound
from ...models.bags.task_classes import memory_is_free, usable_offers
from ...schedules.evaluation import objective_weights
from ...schedules.method import Outcome, Run
from .assignment_search import search_assignments
from .assignments import listed_plan
from .core_loads import CoreLoads, full_speed, priced_start, start_from_schedule
from .found import Found
from .full_speed import full_speed_plan
from .lanes import first_plan, lanes_plan
from .least_rent import least_rent_start
from .lpt import LptOptions, lpt

if TYPE_CHECKING:
    from .annealing_kernel import Cooling

_PLAIN_TASKS = 25
_PLAIN_MOVES = 3_000
_ROUNDS = 20
_MOVES_PER_ROUND = 500_000
_MOVES_A_CALL = 25_000
_FEW_TASKS = 400
_FEW_LISTED = 300
"""Tasks of which a first plan from a state is made one by one: the annealing may meet none where D_spot is early."""

_FEW_THOUSAND_TASKS, _MANY_TASKS = 3_000, 20_000
_SHARE_OF_LPT, _MOST_LPT_TASKS = 0.05, 10_000
"""Share of the time for longest task first where memory may bind, and of so many tasks at most."""
_SNAPSHOT_TASKS = 2_000
_COLDEST = 0.003

_NO_PLAN_FROM_STATE = "the search found no plan from this state that ends by the deadline"

# Runs of the annealing: from the best plan so far or from the prices of the bound, and the first temperature in seconds
# (of makespan and of all VMs' mean price).
_FEW_TASKS_PLAN = ((False, 2.0), (True, 2.0), (False, 20.0), (True, 20.0), (True, 100.0), (True, 5.0), (True, 0.5))
_MANY_TASKS_PLAN = ((False, 0.15),)
_HOTTEST_OF_THOUSANDS, _HEAT_OF_THOUSANDS = (0.005, 0.02), 100.0
"""Range of the first temperature for thousands of tasks, and what it is times the number of tasks: with few moves for
each, what is hotter does not cool down."""
_AGAIN = ((True, 0.05), (False, 0.15), (True, 0.15))
"""Runs for many tasks that follow the first under a time limit, over and over."""
_IDLE_RUNS_A_TASK = 2
"""Runs after the last that found a better plan, for each task: of a tiny bag, more would find nothing."""
_HOTTEST_WITH_ROOM = 1.0
"""First temperature of the run from a start that leaves room, where cores are wanted to the last second."""

_LITTLE = 1e-3
"""Gap to the bound at which one way to begin is enough."""

_TASK_PENALTY = (0.3, 10.0)
"""First and last penalty for a second by which a task ends too late, in dearest prices of a second of a core."""

_BALANCE = (1e-3, 4.0)
"""Weight of squared loads, in units of the objective and of the makespan; where that alone counts, up to the second."""

_FILLED_PERCENT = (75, 100)
_MOST_LATE, _MOST_LATE_A_MOVE = 4e-3, 1e-6
"""Share of the load that may be late at the start, which the annealing puts right: with fewer moves a task, less."""
_MOVES_WITH_ROOM = 8_000_000


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Options of the search.

    Attributes
    ----------
    moves : int, optional
        Moves tried; by the number of tasks if absent.
    """

    moves: int | None = None


def search(
    instance: Instance,
    options: SearchOptions,
    run: Run,
    of_first: Outcome | None = None,
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
    of_first : Outcome, optional
        What `first_plan` has come to, if it was asked before.
    bursts : bool
        Whether full speed of burstable VMs is planned where memory never binds; else they run at the baseline, which
        takes no longer than the moves do.
    goes_on : bool
        Whether a time limit is used to its end where nothing of that is planned; else each run is made once.

    Returns
    -------
    Outcome
        The best plan met, with a proven lower bound: of the annealing, and of the greedy and longest task first where
        memory may bind or there are at most 3,000 tasks.
    """
    found = Found(run)
    memory_free = memory_is_free(instance)
    from_start = not instance.machines  # the simple heuristics know no others
    few = from_start and (instance.n_tasks <= _FEW_THOUSAND_TASKS or not memory_free)
    longest_first = slow = False  # simple heuristics that found nothing find nothing the second time
    with suppress(LimitReached):  # then the best plan so far
        soon = begins_with_a_plan(instance)
        if of_first is None and found.best is None and from_start and (few or not soon):
            of_first = first_plan(instance)
            found.take(of_first.schedule)
        least_rent: CoreLoads | None = None
        with _until_there_is_a_plan(found, soon):
            bound = divisible_bound(instance)
            found.raise_bound(bound.objective)
            if soon and bound.objective < np.inf:
                least_rent = _plan_to_begin_with(instance, bound, _spare(instance))
        taken = least_rent is not None and instance.n_tasks > _FEW_TASKS and not (bursts and _by_assignments(instance))
        if least_rent is not None and taken:
            found.take(least_rent.schedule())
        slow = not memory_free and instance.n_tasks > _MOST_LPT_TASKS
        if few and not taken and not slow:
            # Where memory may bind it takes seconds for 1,000 tasks; the annealing makes more of them.
            with suppress(LimitReached), within(None if memory_free else share_of_time(_SHARE_OF_LPT)):
                found.take(lpt(instance, LptOptions(), run).schedule)
                longest_first = True
            checkpoint()
        if bound.objective == np.inf or run.answered(found.objective, bound.objective):
            pass  # if it is proved infeasible: whoever asked sees that the simple heuristics found nothing either
        elif memory_free:
            _search_cores(instance, bound, options, found, bursts, goes_on, least_rent)
        else:
            if not from_start and found.best is None:
                found.take(listed_plan(instance))
            search_assignments(instance, options.moves, found, _rate(instance, bound))
    with suppress(LimitReached):
        if found.best is None and from_start:  # a large bag, and a deadline that the annealing did not meet
            if not longest_first and not slow:
                found.take(lpt(instance, LptOptions(), run).schedule)
            if of_first is None:
                of_first = first_plan(instance)
                found.take(of_first.schedule)
        burstable = from_start and any(offer.burstable for offer in instance.offers)
        if found.best is None and found.bound < np.inf and burstable:
            found.take(full_speed_plan(instance))
        if found.best is None:
            proved = "no plan exists: even divisible tasks do not fit the limits" if found.bound == np.inf else ""
            if from_start:
                of_first = of_first or first_plan(instance)
                proved = proved or of_first.explanation
            return Outcome(None, proved or _NO_PLAN_FROM_STATE, bound=found.proven)
    return Outcome(found.best, bound=found.proven)


def _search_cores(
    instance: Instance,
    bound: DivisibleBound,
    options: SearchOptions,
    found: Found,
    bursts: bool,
    goes_on: bool,
    least_rent: CoreLoads | None,
) -> None:
    """Search where memory never binds: core loads, and then full speed of burstable VMs where that pays."""
    if instance.machines and found.best is None and len(instance.open_tasks) <= _FEW_LISTED:
        found.take(listed_plan(instance))
    if not (bursts and _by_assignments(instance)):
        _search_core_loads(instance, bound, options, found, goes_on, least_rent)
        return
    with _taken_at_last(found, least_rent):  # no start: more VMs have more credits
        _search_core_loads(instance, bound, options, found, False, None)
        if not found.run.answered(found.objective, bound.objective):
            search_assignments(instance, options.moves, found, _rate(instance, bound))


def _by_assignments(instance: Instance) -> bool:
    """Whether full speed of burstable VMs is planned task by task: where loads do not say it all, or there are few."""
    if instance.machines or not bursting_pays(instance):
        return False
    burstable = [offer.index for offer in usable_offers(instance) if offer.burstable]
    return instance.n_tasks <= _FEW_TASKS or bool(np.isinf(full_speed(instance)[burstable, 0]).any())


def begins_with_a_plan(instance: Instance) -> bool:
    """True if the search starts with as few and cheap VMs as do: a plan as a rule, sooner than the greedy has one.

    Such VMs are full until the deadline, and then few plans survive. Of up to some thousands of tasks that are to
    survive, the choice of D_spot has better ones among plans that leave room.
    """
    free_to_fill = instance.survive == "none" or instance.n_tasks > _FEW_THOUSAND_TASKS
    free_to_fill = free_to_fill or instance.leaves_time
    return free_to_fill and not instance.machines and objective_weights(instance)[1] == 0 and memory_is_free(instance)


def _plan_to_begin_with(instance: Instance, bound: DivisibleBound, spare: int) -> CoreLoads | None:
    """Return the state of a plan with as few VMs as do, and with tasks that end as early as they must; None without."""
    state = least_rent_start(instance, bound, spare)
    if state is not None and closes_gap(state.value(), bound.objective, _LITTLE):
        return state
    in_lanes = _state_in_lanes(instance, bound, spare)
    if in_lanes is None or (state is not None and state.value() <= in_lanes.value()):
        return state
    return in_lanes


def _state_in_lanes(instance: Instance, bound: DivisibleBound, spare: int) -> CoreLoads | None:
    """Return the state of a plan in lanes."""
    plan = lanes_plan(instance, bound)
    return None if plan is None else start_from_schedule(instance, plan, bound.offers, spare)


def _until_there_is_a_plan(found: Found, soon: bool) -> AbstractContextManager[None]:
    """Let nothing but a request to stop end the work inside, if there is no plan yet, and will be one soon."""
    wanted = found.best is None and found.run.threshold == -math.inf
    return overtime(math.inf) if soon and wanted else nullcontext()


@contextmanager
def _taken_at_last(found: Found, state: CoreLoads | None) -> Iterator[None]:
    """Keep the plan of a state, if it is the best, after whatever is found inside."""
    try:
        yield
    finally:
        if state is not None:
            found.take(state.schedule())


def bursting_pays(instance: Instance) -> bool:
    """Whether tasks could gain by full speed on burstable VMs that may be rented."""
    for offer in usable_offers(instance):
        if offer.burstable:
            horizon_s = instance.time_limit_s(offer.market) - instance.boot_overhead_s
            if full_speed_possible(instance, offer, credit_rules(offer, horizon_s), horizon_s).any():
                return True
    return False


def _search_core_loads(
    instance: Instance,
    bound: DivisibleBound,
    options: SearchOptions,
    found: Found,
    goes_on: bool,
    least_rent: CoreLoads | None,
) -> None:
    """Anneal core loads from the prices of the bound and from the best plans so far, in turn.

    Of many tasks, ``least_rent`` is where it begins; of few, a turn of its own. If it ``goes_on``, that is done again
    and again until the time limit.
    """
    few = instance.n_tasks <= _FEW_TASKS
    plan: tuple[tuple[bool, float], ...] = _FEW_TASKS_PLAN if few else _MANY_TASKS_PLAN
    if instance.n_tasks > _FEW_THOUSAND_TASKS:
        least, most = _HOTTEST_OF_THOUSANDS
        plan = ((False, min(max(_HEAT_OF_THOUSANDS / instance.n_tasks, least), most)),)
    spare, of = _spare(instance), len(plan)
    fresh, starts = partial(priced_start, instance, bound, spare), dict[int, CoreLoads]()
    rate = _rate(instance, bound)
    goes_on = goes_on and options.moves is None and seconds_left() is not None
    if few and least_rent is not None:
        starts[len(plan)], plan = least_rent, (*plan, plan[0])
    elif least_rent is not None:
        starts[0], fresh = least_rent, partial(_plan_to_begin_with, instance, bound, spare)
        # With other VMs, the annealing may come further: where cores are filled less, it opens and closes few.
        in_lanes = _state_in_lanes(instance, bound, spare) if instance.leaves_time and goes_on else None
        if in_lanes is not None:
            starts[1] = in_lanes
    elif not few:
        more = options.moves is None and instance.n_tasks <= _MANY_TASKS
        moves = _MOVES_WITH_ROOM if more else options.moves or _default_moves(instance.n_tasks)
        roomy = _roomy_start(instance, bound, spare, moves)
        if roomy is not None:
            starts[0], plan, options = roomy, ((False, _HOTTEST_WITH_ROOM),), SearchOptions(moves)
    turns: Iterable[tuple[bool, float]] = plan
    if goes_on:
        current_limit().ended_by_time()  # more time would bring more
        turns = itertools.chain(plan, itertools.cycle(_FEW_TASKS_PLAN if few else _AGAIN))
    last_better, best = 0, np.inf
    for number, (from_best, hottest) in enumerate(turns):
        if found.objective < best:
            last_better, best = number, found.objective
        if number >= len(plan) and number - last_better > _IDLE_RUNS_A_TASK * instance.n_tasks:
            return
        state = starts.pop(number, None)
        if state is None and from_best and found.best is not None:
            state = start_from_schedule(instance, found.best, bound.offers, spare)
        elif state is None:
            state = fresh()
            if number == 0 and not few and found.best is not None and _is_worse(state, found.objective, rate):
                state = start_from_schedule(instance, found.best, bound.offers, spare) or state
        if state is None or found.run.answered(found.objective, found.bound):
            return
        state.charge(rate)
        if not state.vm_price.any():  # while another VM ends last, what a move brings is seen in the loads alone
            state.worth = bound.core_price / max(float(bound.core_price.max()), 1e-300)
        _anneal(state, options, found, number, of, hottest, rate)


def _rate(instance: Instance, bound: DivisibleBound) -> float:
    """Return what a dollar beyond the budget is charged: more than it is worth to tasks that may be cut."""
    budget_usd = instance.objective.budget_usd
    return bound.budget_price + objective_weights(instance)[1] * bound.end_s / budget_usd if budget_usd else 0.0


def _is_worse(state: CoreLoads | None, objective: float, rate: float) -> bool:
    """Whether there is no state, or one that is worse than an objective; what it costs beyond a budget is charged."""
    if state is None:
        return True
    state.charge(rate)
    return state.value() > objective


def _spare(instance: Instance) -> int:
    """Empty VMs of each offer that the annealing may open."""
    return 1 if instance.n_tasks < _MANY_TASKS else 0


def _roomy_start(instance: Instance, bound: DivisibleBound, spare: int, moves: int) -> CoreLoads | None:
    """Return a first state that leaves as much room as it takes for few tasks to be late; None if that takes none.

    Where limits bind, the prices of the bound fill the cores of cheap offers to the last second, which whole tasks
    cannot; of a bag of many tasks, the annealing would not find its way to a plan from there.
    """
    most = min(_MOST_LATE, _MOST_LATE_A_MOVE * moves / instance.n_tasks)
    full = priced_start(instance, bound, spare)
    if full is None or _late_share(full) <= most:
        return None
    found, low, high = None, *_FILLED_PERCENT
    while high - low > 1:  # by bisection: more room, less that is late
        checkpoint()
        middle = (low + high) // 2
        state = priced_start(instance, bound, spare, filled=middle / 100)
        if state is not None and _late_share(state) <= most:
            found, low = state, middle
        else:
            high = middle
    return found


def _late_share(state: CoreLoads) -> float:
    """Seconds by which VMs and tasks end too late, of the seconds of all VMs."""
    late_s = np.maximum(0, state.vm_end - state.vm_limit).sum() + state.late.sum()
    return float(late_s) / max(int(state.vm_end.sum()), 1)


def _anneal(
    state: CoreLoads, options: SearchOptions, found: Found, number: int, of: int, hottest: float, rate: float
) -> None:
    """Anneal a state in rounds; between them, cores are grouped anew into VMs."""
    from .annealing_kernel import Snapshot, anneal

    run, n_tasks = found.run, state.instance.n_tasks
    plain = n_tasks <= _PLAIN_TASKS and options.moves is None
    kernel = getattr(anneal, "py_func", anneal) if plain else anneal
    moves = _PLAIN_MOVES if plain else options.moves or _default_moves(n_tasks)
    rounds, each = _rounds(moves // of, _MOVES_PER_ROUND)
    unit = state.time_weight + float(state.vm_price.mean())
    cooling = (_COLDEST / hottest) ** (1 / rounds)
    random_state = np.array([(run.seed * 7919 + number) % 2147483646 + 1], dtype=np.int64)
    first_penalty = state.task_penalty * _TASK_PENALTY[0]
    best_tasks, best_count = state.core_tasks.copy(), state.core_count.copy()
    best = np.inf

    def note() -> tuple[float, float]:
        """Group the cores anew, and keep the state if it is the best."""
        nonlocal best_tasks, best_count
        state.regroup()
        value = state.value()
        if value < best - 1e-12 and state.feasible():
            best_tasks, best_count = state.core_tasks.copy(), state.core_count.copy()
            return value, value
        return value, best

    try:
        for round_number in range(rounds + 1):
            grown = (_TASK_PENALTY[1] / _TASK_PENALTY[0]) ** (round_number / rounds)
            state.task_penalty = first_penalty * grown
            state.charge(rate * grown)
            balance = unit * _balance(state, round_number / rounds)
            value, best = note()
            found.step((number * rounds + round_number) * each, moves, value, best)
            if round_number == rounds or best <= run.threshold:
                break
            hot, cold = (unit * hottest * cooling ** (round_number + step) for step in (0, 1))
            for part in _parts(each, hot, cold, _MOVES_A_CALL):
                checkpoint()
                value, best = kernel(
                    state.cores,
                    state.objective,
                    balance,
                    state.plan(random_state),
                    part,
                    Snapshot(n_tasks <= _SNAPSHOT_TASKS, best_tasks, best_count),
                    value,
                    best,
                )
    except LimitReached:
        _, best = note()
        raise
    finally:
        if best < found.objective:
            state.restore(best_tasks, best_count)
            state.regroup()
            if state.feasible():
                found.take(state.schedule())


def _balance(state: CoreLoads, part: float) -> float:
    """Return the weight of squared loads in a part of the run, in units of the objective."""
    first, last = _BALANCE
    grown = (last / first) ** part if len(state.worth) else 1.0
    return first * grown / max(int(state.vm_end.max()), 1)


def _parts(moves: int, hot: float, cold: float, most: int) -> Iterator[Cooling]:
    """Parts of a round that are short enough for the clock and the user to be heard between them."""
    from .annealing_kernel import Cooling

    n_parts = -(-moves // max(most, 1))
    ends = [moves * part // n_parts for part in range(n_parts + 1)]
    for first, last in itertools.pairwise(ends):
        temperatures = (hot * (cold / hot) ** (end / moves) for end in (first, last))
        yield Cooling(last - first, *temperatures)


def _rounds(moves: int, most_moves: int) -> tuple[int, int]:
    """Number of rounds, and moves of each; between rounds, cores are grouped anew."""
    rounds = max(_ROUNDS, -(-moves // most_moves))
    return rounds, max(moves // rounds, 1)


def _default_moves(n_tasks: int) -> int:
    """Moves that take well under a second up to 10,000 tasks."""
    if n_tasks <= _FEW_THOUSAND_TASKS:
        return 6_000_000 if n_tasks <= _FEW_TASKS else 8_000_000
    return min(max(8_000_000_000 // n_tasks, 800_000), 1_300_000)
