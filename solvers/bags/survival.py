"""The choice of a plan that survives.

The search and the exact methods are asked for plans that leave each task on a spot VM time to be done again
(`RescuableInstance`), and their bounds are of all such plans. What is lost at once may still be too much for what can
be rented then: so the certificate is asked, and fewer spot VMs are tried where it says no.

Other methods know nothing but D_spot, and no method knows what level ``each`` asks for: there, plans are made for
several D_spot, and the best that is shown to survive is taken (`spotbag.heuristics.bags.rescue`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...bounds.bags.divisible_bound import divisible_bound
from ...core.limits import LimitReached, Stopwatch, out_of_time, overtime, seconds_left, share_of_time, stopped, within
from ...core.quantities import at_most, closes_gap
from ...heuristics.bags.core_loads import LITTLE_TO_GAIN
from ...heuristics.bags.d_spot import spot_offers, with_d_spot
from ...heuristics.bags.first_plans import lanes_plan
from ...heuristics.bags.rescue import certify, survives
from ...instances.entries import FULL_SPEED, NEVER, SURVIVAL_LEVELS, Checkpoints, SurvivalLevel
from ...instances.instance import Instance
from ...models.bags.makespan_bounds import makespan_lower_bound_s
from ...models.bags.task_classes import memory_is_free
from ...schedules.documents import LOSSES, SpotWith
from ...schedules.rescuable import LOST_AT_ONCE, RescuableInstance, longest_first_order, of_bag, rescuable
from ...schedules.schedule import Schedule, UnsuitablePlanError
from .budget import BUDGET
from .goals import Attempt, Attempts, FirstStage, SecondStage, first_stage, plan_of, second_stage, simple_plan
from .methods import find_method, make_options

_NOTHING = Attempt(None, -math.inf)
_STEPS = ((3_000, 7), (30_000, 4), (300_000, 2))
"""Pairs of a number of tasks, and how often D_spot is halved for bags of no more."""
_MOVES, _MOVES_WITHOUT = 1_000_000, 200_000
_RESCUE_SHARES = (1.0, 0.95, 0.9, 0.8, 0.65, 0.5, 0.3)
"""Shares of the time on demand that whole tasks may fill where it is short."""
_AS_LONG_AS_IT_TAKES = sys.maxsize


def in_surviving_order(schedule: Schedule, level: SurvivalLevel) -> Schedule | None:
    """Return a plan that is shown to survive as it is, or in another order on its cores; None else.

    That is looked at even if the limit of the work is over, which was used up to make the plan.
    """
    with overtime(BUDGET.look_s + BUDGET.look_s_a_task * schedule.instance.n_tasks), suppress(LimitReached):
        if survives(schedule, level):
            return schedule
        ordered = longest_first_order(schedule)
        if survives(ordered, level):
            return ordered
    return None


def can_survive(schedule: Schedule, level: SurvivalLevel) -> bool:
    """True if a plan is shown to survive in some order on its cores."""
    return in_surviving_order(schedule, level) is not None


def surviving_first_stage(
    attempts: Attempts, instance: Instance, level: SurvivalLevel, initial: Schedule | None, must: bool
) -> FirstStage:
    """Make the first quantity least, and choose a plan that survives.

    Parameters
    ----------
    attempts : Attempts
        The method.
    instance : Instance
        With D_spot at the deadline.
    level : {"one-type", "one-pool", "blackout", "each"}
        What is to be survived.
    initial : Schedule, optional
        A plan of it to start from.
    must : bool
        Whether a plan that does not survive is of no use.
    """
    knows = level != "each" and (attempts.method.exact or attempts.method.name == "search")
    first = _first_to_leave_time(attempts, instance, level, initial) if knows else None
    if first is None:
        first = _first_by_d_spot(attempts, instance, level, initial)
    # An interrupt must not cost the best plan so far; a note says then that it was not looked at.
    if first.survives or not must or stopped() or first.attempt.schedule is None:
        return first
    message = _beyond_rescue(plan_of(instance, first.attempt.schedule), level)
    return first._replace(attempt=replace(first.attempt, schedule=None, message=message))


def _first_to_leave_time(
    attempts: Attempts, instance: Instance, level: SurvivalLevel, initial: Schedule | None
) -> FirstStage | None:
    """Choose among plans that leave time to do again what is lost; None if none of them survives."""
    watch = Stopwatch()
    question = _rescuable_instance(instance, level)
    search = _Search(attempts, instance, level)
    start = _leaving_time(question, initial)
    with within(share_of_time(BUDGET.most)):
        question, start, look_s = _with_enough_time(search, question, start)
        # Where a plan may not survive though its tasks end early enough, that is found out while others can be made.
        risky = not _leaves_enough(question) or search.best is None
        early = _that_end_early(search, question) if search.best is None else None
        simple, left_s = search.best, seconds_left()
        of_it = BUDGET.half if early is not None or risky else 1.0
        with within(None if left_s is None else of_it * max(left_s - look_s, BUDGET.most * left_s / 2)):
            if attempts.method.name not in ("auto", "search"):  # most of their plans leave no time
                with within(share_of_time(BUDGET.half)):
                    start = first_stage(search.quick, question, start).schedule
            search.first = attempt = first_stage(attempts, question, start)
        took_s = watch.seconds()
        with suppress(LimitReached):
            if not search.take(instance, attempt.schedule):
                search.keep(initial)
                if early is not None and simple is not None:
                    search.take(instance, first_stage(attempts, early, plan_of(early, simple)).schedule)
                search.look_at_fewer(question)
            elif risky and left_s is not None and not search.settled():
                later = first_stage(attempts, question, attempt.schedule)
                search.take(instance, later.schedule)
                attempt = replace(later, bound=max(attempt.bound, later.bound))
    best = search.best
    if best is None and attempt.bound == math.inf:  # nothing but plans that do not survive
        plain = first_stage(attempts, instance, initial)
        none = attempt.message.replace("no plan exists", f"no plan exists that survives {LOSSES[level]}", 1)
        return FirstStage(instance, replace(plain, message=plain.message or none))
    if best is None and stopped() and attempt.schedule is not None:
        return FirstStage(question, attempt, took_s)
    if best is None:
        return None
    without = _without(search, instance, best)
    attempt = replace(attempt, schedule=plan_of(question, best), bound=max(attempt.bound, without.bound))
    without_usd = None if without.schedule is None else without.schedule.cost_usd
    return FirstStage(question, attempt, took_s, True, without_usd, without.bound)


def _leaves_enough(question: RescuableInstance) -> bool:
    """True if no moment is known at which on-demand VMs lack the time, or the memory, for what may be lost."""
    return question.rescue_time is None and memory_is_free(question)


def _rescuable_instance(instance: Instance, level: SurvivalLevel) -> RescuableInstance:
    return RescuableInstance.of(instance, LOST_AT_ONCE.get(level, "market"))


def _leaving_time(question: RescuableInstance, plan: Schedule | None) -> Schedule | None:
    """Return a plan as one that leaves time to do tasks again, in another order if need be; None if it does not."""
    if plan is None:
        return None
    with suppress(UnsuitablePlanError):  # a task is on a spot VM where it could not be done again
        return rescuable(plan_of(question, plan))
    return None


def _with_enough_time(
    search: _Search, question: RescuableInstance, start: Schedule | None
) -> tuple[RescuableInstance, Schedule | None, float]:
    """Look at a simple plan: the time on demand, or that to look at all of it, may be short.

    Returns
    -------
    question : RescuableInstance
        With as much of the time on demand as such a plan can fill.
    start : Schedule or None
        The better of it and the plan to start from.
    look_s : float
        Seconds to find out what a plan survives.
    """
    proven_s = makespan_lower_bound_s(question)  # the bound that knows the budget takes seconds of a large bag
    limit_s = share_of_time(BUDGET.half)
    with suppress(LimitReached), overtime(math.inf if search.best is None and not stopped() else 0.0):
        for asked, plan in _by_share(question, lambda asked: simple_plan(asked, proven_s, limit_s)):
            watch = Stopwatch()
            if search.take(of_bag(question), plan):
                look_s = watch.seconds()
                asked = question if _leaves_enough(question) else asked
                better = plan if start is None or plan.objective <= start.objective else start
                return asked, plan_of(asked, better), look_s
    return question, start, 0.0


def _by_share(
    question: RescuableInstance, make: Callable[[RescuableInstance], Schedule | None]
) -> Iterator[tuple[RescuableInstance, Schedule]]:
    """Plan with less and less of the time on demand, as far as there are plans, and it is that time which is short."""
    last: Schedule | None = None
    for share in _RESCUE_SHARES if question.rescue_time is not None else _RESCUE_SHARES[:1]:
        asked = question.counting_on(share)
        plan = make(asked)
        if plan is None:
            return
        if last is None or not np.array_equal(plan.task_end_s, last.task_end_s):
            yield asked, plan
        elif share == _RESCUE_SHARES[1]:  # the least share tells whether any other makes another plan
            least = make(question.counting_on(_RESCUE_SHARES[-1]))
            if least is not None and np.array_equal(least.task_end_s, last.task_end_s):
                return
        last = plan


def _that_end_early(search: _Search, question: RescuableInstance) -> RescuableInstance | None:
    """Return the question with the latest D_spot that is found for which a simple plan survives; None if none does."""
    latest = question.time_limit_s("spot") if question.offer_is_spot.any() else 0
    survived, proven_s = [0], makespan_lower_bound_s(question)

    def survives(d_spot_s: int, to_come: int) -> bool:
        plan = simple_plan(question.replace(d_spot_s=d_spot_s), proven_s, share_of_time(BUDGET.half))
        if plan is None or not search.take(of_bag(question), plan):
            return False
        survived.append(d_spot_s)
        return True

    apart = max(question.deadline_s / 100, 1)
    with suppress(LimitReached):
        # As a rule it is near the latest end of the longest task alone: from there in steps that double, as far as need
        # be, and then by halves.
        high, low, step = latest, min(latest, max(search.d_spot_of_single_tasks(), 0)), math.ceil(apart)
        while low > 0 and not survives(low, 1):
            high, low, step = low, max(low - step, 0), 2 * step
        _halve(low, high, apart, _AS_LONG_AS_IT_TAKES, survives, out_of_time)
    return question.replace(d_spot_s=survived[-1]) if survived[-1] else None


def _halve(
    low: int,
    high: int,
    apart: float,
    steps: int,
    ask: Callable[[int, int], bool | None],
    settled: Callable[[], bool],
) -> None:
    """Find by halving the value from which the answer is no: if it is for one, it is for all that are higher.

    Parameters
    ----------
    low, high : int
        Bounds of that value; they move.
    apart : float
        Distance of the bounds at which to stop.
    steps : int
        Most questions.
    ask : callable
        From a middle, and the number of questions that are still to come, to the answer; None, for none, is a yes.
    settled : callable
        Function that tells whether no more need be asked.
    """
    for step in range(steps):
        if high - low <= apart or settled():
            return
        middle = (low + high) // 2
        if ask(middle, steps - step) is False:
            high = middle
        else:
            low = middle


def _without(search: _Search, instance: Instance, best: Schedule) -> Attempt:
    """Return a plan that need not survive, and the bound of all plans."""
    bound = divisible_bound(instance).objective
    if closes_gap(best.objective, bound, LITTLE_TO_GAIN) or out_of_time():
        return Attempt(None, bound)
    with suppress(LimitReached), within(BUDGET.least_s if seconds_left() is None else None):
        plain = lanes_plan(instance)
        better = plain is not None and plain.within_budget and plain.objective < best.objective
        found = first_stage(search.by(_MOVES_WITHOUT), instance, plain if better else best)
        return replace(found, bound=max(found.bound, bound))
    return Attempt(None, bound)


def _first_by_d_spot(
    attempts: Attempts, instance: Instance, level: SurvivalLevel, initial: Schedule | None
) -> FirstStage:
    """Choose among plans for several D_spot; the plan without the guarantee if none survives."""
    watch = Stopwatch()
    with within(share_of_time(BUDGET.half)):
        attempt = first_stage(attempts, instance, initial)
    took_s = watch.seconds()
    if attempt.schedule is None:
        return FirstStage(instance, attempt, took_s)
    search = _Search(attempts, instance, level, attempt)
    with suppress(LimitReached):
        if search.take(instance, attempt.schedule):
            search.go_on()
        else:
            search.keep(initial)
            search.look()
            if attempts.method.exact or attempts.method.name == "search":
                search.leave_time(_rescuable_instance(instance, level))
    return search.chosen(took_s)


def surviving_second_stage(
    attempts: Attempts, instance: Instance, level: SurvivalLevel, first: FirstStage
) -> SecondStage:
    """Make the second quantity least at the value of the first, of plans that survive.

    Parameters
    ----------
    attempts, instance, level
        See `surviving_first_stage`.
    first : FirstStage
        With a plan that survives.
    """
    plan = first.attempt.schedule
    assert plan is not None, "there is something to be improved"
    survives = partial(can_survive, level=level)
    second = second_stage(attempts, first.instance, first.attempt, survives, first.took_s)
    if second.schedule is not plan:
        second = second._replace(schedule=in_surviving_order(second.schedule, level) or plan)
    other_d_spot = first.instance.d_spot_s != instance.d_spot_s
    if other_d_spot and not first.instance.leaves_time:  # others may survive with a later D_spot
        second = second._replace(bound=None)
    return second


_CHECKPOINT_S, _MOST_OVERHEAD = 10.0, 0.2
"""Time to write a checkpoint where a bag takes none, and the most that checkpoints may add, for ``spot_with``."""


def spot_with(attempts: Attempts, given: Instance, level: SurvivalLevel, bound: float) -> tuple[SpotWith, ...]:
    """Return changes of an instance with which spot VMs pay although the plan must survive their loss.

    Later deadlines, more frequent checkpoints and weaker levels are tried, each from the smallest change on, until one
    is proved. The proof is a surviving plan with spot VMs whose objective is below a bound of all plans without them.

    Parameters
    ----------
    attempts : Attempts
        The method.
    given : Instance
        The instance, whose best surviving plan has no spot VMs.
    level : {"one-type", "one-pool", "blackout", "each"}
        What the plan survives.
    bound : float
        Proven bound of the objective of surviving plans.
    """
    # With each of these deadlines, more tasks may be on spot VMs. To try them all would take too long.
    needed_s = RescuableInstance.of(with_d_spot(given), "market").least_deadline_s
    needed_s = needed_s[(needed_s > given.deadline_s) & (needed_s < NEVER)]
    quantiles = np.unique(np.quantile(needed_s, (0, 0.5, 1), method="lower")) if len(needed_s) else needed_s
    weaker = SURVIVAL_LEVELS[: SURVIVAL_LEVELS.index(level)]
    kinds: list[list[dict[str, Any]]] = [  # of each kind, the smallest change first
        [{"deadline_s": deadline_s} for deadline_s in quantiles.tolist()],
        [{"checkpoint": checkpoint} for checkpoint in _checkpoints(given)],
        [{"level": less} for less in reversed(weaker)],
    ]
    proved = []
    for changes in kinds:
        for change in changes:
            changed = given.replace(**change) if change.keys() != {"level"} else given
            survived = change.get("level", level)
            # Plans without spot VMs survive all levels and take no checkpoints: a bound of them holds, too, if the
            # deadline is the same.
            bound_without = -math.inf if "deadline_s" in change else bound
            plan = None
            share_s = share_of_time(BUDGET.half)
            with suppress(LimitReached), within(BUDGET.least_s if share_s is None else share_s):
                plan = _proved_spot_plan(attempts, changed, survived, bound_without)
            if plan is not None:
                proved.append(SpotWith(**change, cost_usd=plan.cost_usd))
                break
    return tuple(proved)


def _checkpoints(given: Instance) -> Iterator[Checkpoints]:
    """More frequent checkpoints than those of the instance, the rarest first; others where it takes none."""
    own = given.checkpoint
    run_s = float(np.where(given.runtime_s < NEVER, given.runtime_s, 0).max(initial=0))
    least = _CHECKPOINT_S / max(run_s, 1.0) if own is None else own.overhead_fraction
    base_s, per_mb = (_CHECKPOINT_S, 0.0) if own is None else (own.dump_base_s, own.dump_s_per_mb)
    while (least := 2 * least) <= _MOST_OVERHEAD:
        yield Checkpoints(overhead_fraction=least, dump_base_s=base_s, dump_s_per_mb=per_mb)


def _proved_spot_plan(attempts: Attempts, given: Instance, level: SurvivalLevel, bound: float) -> Schedule | None:
    """Return a plan that survives and is better than all without spot VMs; None if none is found."""
    instance = with_d_spot(given)
    question = _rescuable_instance(instance, level)
    if not (question.duration_s[:, question.offer_is_spot, FULL_SPEED] < NEVER).any():
        return None
    least = max(bound, divisible_bound(with_d_spot(given.replace(markets=("on-demand",)))).objective)
    search = _Search(attempts, instance, level)
    search.leave_time(question)
    best = search.best
    return best if best is not None and at_most(best.objective) < least else None


def _beyond_rescue(schedule: Schedule, level: SurvivalLevel) -> str:
    """Say why there is no plan, where the cheapest does not survive and no other was found that does."""
    with overtime(BUDGET.certificate_s), suppress(LimitReached):
        reason = certify(schedule, level, cost=False).reason
        return f"no plan was found that survives {LOSSES[level]}; the best that does not: {reason}"
    return f"no plan was found in time that is shown to survive {LOSSES[level]}"


def _is_same(plan: Schedule, other: Schedule | None) -> bool:
    """True if two plans have the same VMs and each task at the same place and time."""
    if other is None:
        return False
    names = ("vm_offer", "vm_machine", "task_vm", "task_core", "task_start_s", "task_baseline")
    return all(np.array_equal(getattr(plan, name), getattr(other, name)) for name in names)


class _Search:
    """The best surviving plan so far."""

    def __init__(self, attempts: Attempts, instance: Instance, level: SurvivalLevel, first: Attempt = _NOTHING) -> None:
        self._attempts = attempts
        self._silent = self.quick = replace(attempts, on_progress=lambda point, planned: None)
        # Exact methods, and long searches, take too long for plans that are but candidates.
        if attempts.method.exact or attempts.method.name == "search":
            self.quick = self.by(_MOVES)
        self._instance = instance
        self._level = level
        self.first = first
        self.best: Schedule | None = None

    def by(self, moves: int) -> Attempts:
        """Return the search with a limit on its moves."""
        method = find_method("search")
        most = min(moves, getattr(self._attempts.options, "moves", None) or moves)
        return replace(self._silent, method=method, options=make_options(method, {"moves": most}))

    def chosen(self, took_s: float) -> FirstStage:
        """Return the plan that was chosen; the one without the guarantee if none survives."""
        first, best = self.first, self.best
        assert first.schedule is not None, "there is a plan to begin with"
        if best is None:
            return FirstStage(self._instance, first, took_s)
        cheaper = first.schedule.cost_usd < best.cost_usd - 1e-12
        without_usd = first.schedule.cost_usd if cheaper else None
        return FirstStage(best.instance, replace(first, schedule=best), took_s, True, without_usd)

    def take(self, instance: Instance, schedule: Schedule | None) -> bool:
        """Keep a plan if it survives, within the budget, and is the best; return whether it survives."""
        if schedule is None or not schedule.within_budget:
            return False
        plan = plan_of(instance, schedule)
        ordered = plan if _is_same(plan, self.best) else in_surviving_order(plan, self._level)
        self._attempts.log.note("survival", instance, plan)
        if ordered is not None and (self.best is None or ordered.objective < self.best.objective):
            self.best = ordered
        return ordered is not None

    def keep(self, initial: Schedule | None) -> None:
        """Keep the plan to start from: it may survive where a better one does not."""
        if initial is not None and initial is not self.first.schedule:
            self.take(self._instance, initial)

    def settled(self) -> bool:
        """True if nothing better can be found."""
        if out_of_time():
            return True
        return self.best is not None and closes_gap(self.best.objective, self.first.bound, self._attempts.target_gap)

    def go_on(self) -> None:
        """Use the rest of a time limit, where there is one, for a better plan."""
        if seconds_left() is None or self.settled():
            return
        better = first_stage(self._attempts, self._instance, self.best)
        self.first = replace(self.first, bound=max(self.first.bound, better.bound))
        if better.schedule is not None and better.schedule.objective < self.first.schedule.objective:  # type: ignore[union-attr]
            self.first = replace(self.first, schedule=better.schedule)
            self.take(self._instance, better.schedule)

    def look(self) -> None:
        """Make plans for several D_spot."""
        instance = self._instance
        assert self.first.schedule is not None, "there is a plan to begin with"
        steps = self._steps()
        single_s = self.d_spot_of_single_tasks()
        # Twins know no dates: of tasks that have some, only plans without spot VMs are shown to survive each.
        low, high = 0, 0 if self._level == "each" and instance.has_dates else instance.deadline_s
        if 0 < single_s < high:
            # Where not even that survives, what is lost at once is too much: then fewer spot VMs.
            if self._try(single_s, 2 * steps + 2) is False:
                self.look_at_fewer(instance.replace(d_spot_s=single_s))
            else:
                low = single_s
        # Where there is no plan at all, there is none at an earlier D_spot either.
        _halve(low, high, instance.deadline_s / 100, steps, self._try, self.settled)
        if self.best is None:
            self._try(0, 1)

    def leave_time(self, question: RescuableInstance) -> None:
        """Make plans that leave time to do again what is lost at once: at level ``each``, some of them survive."""
        asked = question
        for asked, simple in _by_share(question, lanes_plan):  # noqa: B007
            if self.take(self._instance, simple):
                break
        plan = first_stage(self.by(_MOVES_WITHOUT), asked, _leaving_time(question, self.best)).schedule
        self.take(self._instance, plan)

    def look_at_fewer(self, question: Instance) -> None:
        """Make plans with fewer spot VMs than the first one has: what is lost at once is too much with these."""
        if self.first.schedule is None:
            return
        instance = self._instance
        exist = sum(machine.market == "spot" for machine in instance.machines)
        first_has = int(instance.offer_is_spot[self.first.schedule.vm_offer].sum())

        def survives(n_spot: int, to_come: int) -> bool | None:
            limits = instance.limits.model_copy(update={"max_spot": exist + n_spot})
            return self._ask(question.replace(limits=limits), instance, None, to_come)

        _halve(0, first_has, 1, self._steps(), survives, self.settled)

    def _steps(self) -> int:
        return next((steps for most, steps in _STEPS if self._instance.n_tasks <= most), 1)

    def d_spot_of_single_tasks(self) -> int:
        """D_spot up to which every task can be done again, if it is the only one."""
        instance = self._instance
        spot = spot_offers(instance)
        seconds = instance.duration_s[:, spot, FULL_SPEED]
        period = np.minimum(instance.checkpoint_interval_s + instance.dump_s, float(NEVER))
        lost = np.minimum(np.where(seconds < NEVER, seconds, 0).max(axis=1, initial=0), period).max(initial=0)
        return instance.deadline_s - int(instance.takeover_s.max()) - math.ceil(float(lost)) + 1

    def _try(self, d_spot_s: int, to_come: int) -> bool | None:
        """Make a plan for a D_spot; return whether one survives, None if there is no plan."""
        if self.settled():
            return None
        instance = self._instance.replace(d_spot_s=d_spot_s)
        return self._ask(instance, instance, self._start(instance), max(to_come, 1))

    def _ask(self, question: Instance, instance: Instance, start: Schedule | None, to_come: int) -> bool | None:
        """Plan in a part of the time; return whether the plan survives, None without one."""
        with suppress(LimitReached), within(share_of_time(1 / to_come)):
            plan = first_stage(self.quick, question, start).schedule
            return None if plan is None else self.take(instance, plan)
        return None

    def _start(self, instance: Instance) -> Schedule | None:
        """Return the best plan so far, if it is one for this D_spot."""
        best = self.best
        if best is None:
            return None
        spot = instance.offer_is_spot[best.vm_offer[best.task_vm]].copy()
        spot[instance.running.task] = False
        latest = int(best.task_end_s[spot].max(initial=0))
        return plan_of(instance, best) if latest <= instance.time_limit_s("spot") else None
