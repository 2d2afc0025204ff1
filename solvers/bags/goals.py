"""Goals of two quantities in order: the least cost and then the earliest end, or the other way round.

No weight stands for an order exactly. The first quantity is made least on its own; then the second, among the plans at
that value of the first. Both questions are put to the method as ones that it knows: the least cost of a plan that ends
by a moment. As that cost never falls when the moment comes earlier, halving the moments finds the earliest at which a
plan costs no more than a given amount, and every answer with a bound above the amount is a proof for all earlier ones.
Before that, the search is asked for the earliest end itself: it knows budgets, and so does the divisible bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import NamedTuple

from ...bounds.bags.divisible_bound import divisible_bound
from ...core.limits import LimitReached, out_of_time, seconds_left, share_of_time, within
from ...core.quantities import LEAST_SCALE, at_most
from ...instances.instance import Instance
from ...models.bags.makespan_bounds import makespan_lower_bound_s
from ...schedules.method import kept
from ...schedules.schedule import Schedule
from .attempts import Attempt, Attempts
from .budget import BUDGET

_WITH_BUDGETS = {"auto": ("search", "interval"), "search": ("search",), "interval": ("interval",)}
"""Methods, and those that know budgets and are asked in their places for an earlier end within one."""


class FirstStage(NamedTuple):
    """The plan after the first quantity.

    Attributes
    ----------
    instance : Instance
        With the D_spot of the plan.
    attempt : Attempt
        The plan, with the bound of all plans of the instance.
    took_s : float
        Seconds that the method took for it.
    survives : bool
        Whether D_spot was chosen so that the plan survives.
    without_usd : float or None
        Cost of the plan that need not survive, where that is cheaper.
    bound_without : float or None
        Bound of all plans, surviving or not, where that of the attempt is one of plans that survive.
    """

    instance: Instance
    attempt: Attempt
    took_s: float = math.inf
    survives: bool = False
    without_usd: float | None = None
    bound_without: float | None = None


class SecondStage(NamedTuple):
    """The plan after the second quantity, and what is proved of it.

    Attributes
    ----------
    schedule : Schedule
        The plan: in the first quantity no worse than before.
    bound : float or None
        Proven lower bound of the second quantity of all plans at the least value of the first; None if that value is
        not proved.
    """

    schedule: Schedule
    bound: float | None


def first_stage(attempts: Attempts, instance: Instance, initial: Schedule | None) -> Attempt:
    """Make the first quantity least: the objective of the instance, within its budget.

    Parameters
    ----------
    attempts : Attempts
        The method.
    instance : Instance
        With D_spot set.
    initial : Schedule, optional
        A plan of it to start from.
    """
    budget = instance.objective.budget_usd
    if budget is None:
        return attempts.make(instance, initial)
    question = cheapest_by(instance, instance.deadline_s)
    proven_s = math.ceil(min(divisible_bound(instance).objective, instance.deadline_s) - 1e-6)
    start = _earliest_start(question, initial, budget, proven_s)
    if start is not None and start.cost_usd <= at_most(budget):
        answer = Attempt(start, -math.inf)
    else:
        answer = attempts.make(question, start, threshold=at_most(budget), silent=True)
    if answer.bound > at_most(budget):
        if math.isinf(answer.bound):
            return answer
        d_spot_s = instance.d_spot_s  # perhaps that of a paper: with a later one, there are cheaper plans
        by = "" if d_spot_s in (None, instance.deadline_s) else f" with a D_spot of {d_spot_s:,} s"
        reason = f"no plan{by} exists within the budget of $ {budget:g}: each costs at least $ {answer.bound:.6f}"
        return Attempt(None, math.inf, reason, answer.warnings)
    if answer.schedule is None or answer.schedule.cost_usd > at_most(budget):
        reason = answer.message
        if answer.schedule is not None:
            cost = answer.schedule.cost_usd
            reason = (
                f"no plan was found within the budget of $ {budget:g}; the cheapest that was found costs $ {cost:.6f}"
            )
        return Attempt(None, proven_s, reason, answer.warnings)
    earliest = _Earliest(attempts, instance, budget, plan_of(instance, answer.schedule), lambda plan: True)
    earliest.look(BUDGET.patience_for_s(instance.n_tasks))
    return Attempt(earliest.plan, float(earliest.proven_s), warnings=answer.warnings)


def _earliest_start(question: Instance, initial: Schedule | None, budget_usd: float, proven_s: int) -> Schedule | None:
    """Return a plan to start from: the one that is given, or a simple one that ends earlier within the budget."""
    start = None if initial is None else plan_of(question, initial)
    if out_of_time() or question.has_dates:  # that plan knows none
        return start
    early = _earliest_in_lanes(question, budget_usd, proven_s, share_of_time(BUDGET.half))
    if early is None:
        return start
    earlier = start is None or start.cost_usd > at_most(budget_usd) or early.makespan_s < start.makespan_s
    return early if earlier and kept(early) is not None else start


def _earliest_in_lanes(question: Instance, budget_usd: float, proven_s: int, limit_s: float | None) -> Schedule | None:
    from ...heuristics.bags.first_plans import earliest_plan  # here, since few ask for it

    with within(limit_s):
        last_s = question.deadline_s
        early = earliest_plan(partial(cheapest_by, question), at_most(budget_usd), last_s, proven_s)
    return None if early is None else plan_of(question, early)


def simple_plan(instance: Instance, proven_s: int, limit_s: float | None) -> Schedule | None:
    """Return a plan that takes no search: in lanes, and where there is a budget, the earliest found that it pays for.

    Parameters
    ----------
    instance : Instance
        With D_spot set, and without machines.
    proven_s : int
        No plan within the budget ends before.
    limit_s : float or None
        Seconds to look for an earlier end.
    """
    from ...heuristics.bags.first_plans import lanes_plan  # here, as above

    budget = instance.objective.budget_usd
    if budget is None:
        return lanes_plan(instance)
    return _earliest_in_lanes(instance, budget, proven_s, limit_s)


def second_stage(
    attempts: Attempts,
    instance: Instance,
    first: Attempt,
    accepts: Callable[[Schedule], bool] = lambda plan: True,
    first_took_s: float = math.inf,
) -> SecondStage:
    """Make the second quantity least at the value of the first that was reached.

    Parameters
    ----------
    attempts : Attempts
        The method.
    instance : Instance
        With D_spot set; its goal is ``cheapest`` or ``fastest``.
    first : Attempt
        With a plan.
    accepts : callable
        Whether a plan can be taken: another one proves nothing, and the plan before is kept.
    first_took_s : float
        Seconds of the first stage: both share the patience, and the second is not to take longer where it has nothing
        to prove.
    """
    plan = first.schedule
    assert plan is not None, "there is something to be improved"
    patience_s = max(BUDGET.patience_for_s(instance.n_tasks) - first_took_s, BUDGET.least_s)
    if first.optimal and seconds_left() is not None:
        patience_s = math.inf  # a limit is there to be used where there is something to be proved
    elif not first.optimal:
        patience_s = min(max(BUDGET.half * first_took_s, BUDGET.least_s), patience_s)
    if instance.goal == "cheapest":
        earliest = _Earliest(attempts, instance, plan.cost_usd, plan, accepts)
        earliest.look(patience_s, prove=first.optimal)
        return SecondStage(earliest.plan, float(earliest.proven_s) if first.optimal else None)
    question = cheapest_by(instance, plan.makespan_s)
    with within(patience_s if attempts.method.exact else None):
        answer = attempts.make(question, plan_of(question, plan), silent=True)
    if answer.schedule is not None:
        cheaper = plan_of(instance, answer.schedule)
        if cheaper.cost_usd < plan.cost_usd and accepts(cheaper):
            plan = cheaper
    return SecondStage(plan, min(answer.bound, plan.cost_usd) if first.optimal else None)


def second_value(plan: Schedule) -> float:
    """Second quantity of a plan, by the goal of its instance."""
    return float(plan.makespan_s) if plan.instance.goal == "cheapest" else plan.cost_usd


def cheapest_by(instance: Instance, moment_s: int) -> Instance:
    """Return the question for the least cost of a plan that ends by a moment; its objective is the cost."""
    d_spot = instance.d_spot_s
    changes = {} if d_spot is None else {"d_spot_s": min(d_spot, moment_s)}
    objective = {"goal": "balanced", "cost_weight": 1.0, "cost_scale_usd": 1.0}
    return instance.replace(deadline_s=moment_s, objective=objective, **changes)


def _within(instance: Instance, budget_usd: float) -> Instance:
    """Return the question for the earliest end of a plan that costs no more than a budget, or nothing."""
    return instance.replace(objective={"goal": "fastest", "budget_usd": max(budget_usd, LEAST_SCALE)})


def plan_of(instance: Instance, plan: Schedule) -> Schedule:
    """Return a plan for another deadline, or another objective, as one of the instance."""
    return replace(plan, instance=instance)


def _left_s() -> float:
    left = seconds_left()
    return math.inf if left is None else left


class _Earliest:
    """Looks for the earliest end of a plan that costs at most a given amount, from one that does."""

    def __init__(
        self,
        attempts: Attempts,
        instance: Instance,
        most_usd: float,
        plan: Schedule,
        accepts: Callable[[Schedule], bool],
    ) -> None:
        self._attempts = attempts
        self._instance = instance
        self._most_usd = at_most(most_usd)
        self._accepts = accepts
        self._question = instance if instance.objective.budget_usd else _within(instance, self._most_usd)
        self.plan = plan
        self.proven_s = min(makespan_lower_bound_s(instance), plan.makespan_s)
        with suppress(LimitReached):
            self._prove(divisible_bound(self._question).objective)

    def look(self, patience_s: float, prove: bool = True) -> None:
        """Search for an earlier end, or halve the moments by other methods.

        Where there is a proof, search and halving take turns, each of twice the time of the last one: where moments
        are soon proved, nothing waits for a search, and neither has less than a quarter of the time.
        """
        exact, searches = self._attempts.method.exact, self._attempts.method.name in _WITH_BUDGETS
        with within(patience_s if exact else None):
            if not (exact and prove):
                if searches:
                    self._search(exact)
                else:
                    self._halve()
                return
            turn_s = BUDGET.short_search_s
            while not self._finished():
                before = self.plan.makespan_s, self.proven_s
                if searches:
                    with within(None if self._few else min(turn_s, share_of_time(BUDGET.half) or math.inf)):
                        self._search(exact)
                with within(share_of_time(BUDGET.half) if searches else None):
                    self._halve()
                    if not self._finished():
                        self._ask(self.plan.makespan_s - 1, _left_s())
                    cut_short = out_of_time()
                if before == (self.plan.makespan_s, self.proven_s) and not cut_short:
                    return
                turn_s *= 2

    @cached_property
    def _few(self) -> bool:
        """True if the bag has so few tasks that the interval model, which knows budgets, proves the end as a rule."""
        from .route import SMALL_TASKS  # here, since few ask for it

        return self._instance.n_tasks <= SMALL_TASKS

    def _search(self, again: bool) -> None:
        """Ask methods that know budgets for the earliest end itself. Then the first of them may halve the moments."""
        own = self._attempts
        asked = [
            own if own.method.name == name else own.by(name)
            for name in _WITH_BUDGETS[own.method.name]
            if self._few or name != "interval"
        ]
        for number, attempts in enumerate(asked, 1):
            if self._finished():
                return
            with suppress(LimitReached), within(share_of_time(BUDGET.half if number < len(asked) else 1.0)):
                answer = attempts.make(self._question, plan_of(self._question, self.plan), silent=True)
                self._take(answer.schedule)
                self._prove(answer.bound)
        if again and asked:
            self._attempts = asked[0]
            self._halve()
            self._attempts = own
        if self._instance.machines and not self._finished():
            # In the bound, machines are free until they are paid, however early the end; not by a deadline.
            earlier = cheapest_by(self._instance, self.plan.makespan_s - 1)
            self._prove(self.plan.makespan_s if divisible_bound(earlier).objective > self._most_usd else -math.inf)

    def _finished(self) -> bool:
        return self.proven_s >= self.plan.makespan_s or out_of_time()

    def _prove(self, bound: float) -> None:
        """Keep a proven bound of the earliest end."""
        if bound > self.proven_s:
            self.proven_s = math.ceil(min(bound, self.plan.makespan_s) - 1e-6)

    def _take(self, schedule: Schedule | None) -> bool:
        """Keep a plan that costs no more and can be taken; return whether it is one."""
        if schedule is None or schedule.cost_usd > self._most_usd:
            return False
        plan = plan_of(self._instance, schedule)
        if not self._accepts(plan):
            return False
        if plan.makespan_s < self.plan.makespan_s:
            self.plan = plan
        return True

    def _halve(self) -> None:
        low = self.proven_s
        while low < self.plan.makespan_s and not out_of_time():
            moment = (low + self.plan.makespan_s - 1) // 2
            questions = math.log2(self.plan.makespan_s - low + 1) + 1
            if not self._ask(moment, max(_left_s() / questions, BUDGET.least_question_s)):
                low = moment + 1

    def _ask(self, moment_s: int, limit_s: float) -> bool:
        """Ask for a plan that ends by a moment; return whether there is one, and keep what is proved."""
        question = cheapest_by(self._instance, moment_s)
        try:
            with within(limit_s):
                answer = self._attempts.make(question, threshold=self._most_usd, silent=True, must=False)
        except LimitReached:
            return False
        if answer.bound > self._most_usd:
            self.proven_s = max(self.proven_s, moment_s + 1)
        return self._take(answer.schedule)
