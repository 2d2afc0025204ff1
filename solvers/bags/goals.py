"""Questions to a method: runs of it, and goals of two quantities in order.

Each question is an instance: a D_spot, and one quantity to be made least. `Attempts` has the method answer it, with
what is known beside it, and notes what was done for it.

A goal is the least cost and then the earliest end, or the other way round. No weight stands for an order exactly. The
first quantity is made least on its own; then the second, among the plans at that value of the first. Both questions are
put to the method as ones that it knows: the least cost of a plan that ends by a moment. As that cost never falls when
the moment comes earlier, halving the moments finds the earliest at which a plan costs no more than a given amount, and
every answer with a bound above the amount is a proof for all earlier ones. Before that, the search is asked for the
earliest end itself: it knows budgets, and so does the divisible bound.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from ...audits.bags.plan import check
from ...bounds.bags.divisible_bound import divisible_bound
from ...core.limits import LimitReached, out_of_time, seconds_left, share_of_time, within
from ...core.plugins import PluginError
from ...core.quantities import LEAST_SCALE, at_most, closes_gap
from ...instances.instance import Instance
from ...models.bags.makespan_bounds import makespan_lower_bound_s
from ...schedules.method import Incumbent, Outcome, Run, StepEnd, StepTaken, TracePoint, kept
from ...schedules.schedule import Schedule, UnsuitablePlanError
from ...schedules.timing import objective_weights
from .budget import BUDGET, SMALL_TASKS
from .methods import MethodEntry, find_method, make_options

_BY_SIMPLE_HEURISTICS = ("greedy", "lpt", "search")
"""Methods that have no plan only if the simple heuristics have none, or if their time was over."""

NO_TIME = "there was no time to find a plan"

_MOMENTS = frozenset({"deadline", "d-spot", "due"})
"""Rules of the checker by which a plan may be too late."""

_WITH_BUDGETS = {"auto": ("search", "interval"), "search": ("search",), "interval": ("interval",)}
"""Methods, and those that know budgets and are asked in their places for an earlier end within one."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """Result of a run of a method.

    Attributes
    ----------
    schedule : Schedule or None
        The best plan.
    bound : float
        Proven lower bound of the objective; infinite if it is proved that there is no plan.
    message : str
        Why there is no plan.
    warnings : tuple of str
        What the method did not look at.
    """

    schedule: Schedule | None
    bound: float
    message: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def optimal(self) -> bool:
        """True if the bound proves the plan."""
        return self.schedule is not None and closes_gap(self.schedule.objective, self.bound)


class StepLog:
    """The steps so far, in the order in which they began.

    Attributes
    ----------
    steps : list of StepTaken
        With moments that count from the beginning of the whole.
    until_s : float
        The end of the last one.
    """

    def __init__(self, begin: float) -> None:
        self._begin = begin
        self.steps: list[StepTaken] = []
        self.until_s = 0.0

    def add(self, instance: Instance, taken: Iterable[StepTaken]) -> None:
        """Note the steps that a method has taken for a question."""
        for step in sorted(taken, key=lambda step: step.began_s):
            began_s = step.began_s - self._begin
            asked = replace(step, began_s=began_s, d_spot_s=instance.d_spot_s, deadline_s=instance.deadline_s)
            self.steps.append(asked)
            self.until_s = max(self.until_s, began_s + step.took_s)

    def note(
        self,
        name: str,
        instance: Instance,
        plan: Schedule | None,
        bound: float = -math.inf,
        better: tuple[bool, bool] = (False, False),
        ended: StepEnd = "done",
    ) -> None:
        """Note a step from the end of the last one until now."""
        objective = math.inf if plan is None else plan.objective
        began_s, self.until_s = self.until_s, time.perf_counter() - self._begin
        asked = instance.d_spot_s, instance.deadline_s
        self.steps.append(StepTaken(name, began_s, self.until_s - began_s, objective, bound, *better, ended, *asked))


@dataclass(frozen=True, slots=True)
class Attempts:
    """A method with what does not change from question to question.

    Attributes
    ----------
    method : MethodEntry
        Makes the plans.
    options : object
        Its options.
    seed, threads, target_gap
        See `solve`.
    on_progress : callable
        See `Run`.
    again : callable
        Called between long steps, so that the caller hears of them.
    log : StepLog
        What has run for all questions.
    asked : Instance, optional
        What the caller has asked about: questions with earlier moments are ours, and a plan that is too late for one of
        them is no mistake of a method that is not built in.
    """

    method: MethodEntry
    options: Any
    seed: int
    threads: int
    target_gap: float
    on_progress: Callable[[TracePoint, int], None]
    again: Callable[[], None]
    log: StepLog
    asked: Instance | None = None

    def by(self, name: str) -> Attempts:
        """Return attempts of another method, with its default options."""
        method = find_method(name)
        return replace(self, method=method, options=make_options(method, {}))

    def make(
        self,
        instance: Instance,
        initial: Schedule | None = None,
        *,
        threshold: float = -math.inf,
        silent: bool = False,
        must: bool = True,
    ) -> Attempt:
        """Run the method on an instance with D_spot set, within the limits that hold.

        Parameters
        ----------
        instance : Instance
            With D_spot set.
        initial : Schedule, optional
            A plan of it; nothing worse is returned.
        threshold : float
            See `Run`.
        silent : bool
            Whether its progress is of no interest: the objective is another one than that of the whole.
        must : bool
            Whether the plan of a simple heuristic is better than none.
        """
        told = silent

        def tell(point: TracePoint, planned: int) -> None:
            nonlocal told
            told = True
            self.on_progress(point, planned)

        on_progress, found = None if silent else tell, Incumbent(initial, _second_alone(instance))
        run = Run(self.seed, on_progress, self.target_gap, self.threads, initial, found, threshold)
        outcome, cut_short = Outcome(None, NO_TIME), True
        try:
            with within(None if self.method.bounds else BUDGET.time_for_method_s()):
                outcome = self.method.run(instance, self.options, run)
                cut_short = out_of_time()
        except LimitReached:
            pass
        self.again()
        if self.method.plugin:
            outcome = _checked(instance, self.asked, self.method, run, outcome)
        if not told:  # a method may as well tell its trace at the end
            for point in outcome.trace:
                tell(point, 0)
        outcome = _with_incumbent(instance, self.method, run, outcome, cut_short, must)
        bound = float(_proven_bound(instance, outcome))
        if found.steps:
            self.log.add(instance, found.steps)
        else:
            plan = outcome.schedule
            better = plan is not None and (initial is None or plan.objective < initial.objective)
            ended: StepEnd = "time" if cut_short else "done"
            self.log.note(self.method.name, instance, plan, bound, (better, bound > -math.inf), ended)
        self.again()
        return Attempt(outcome.schedule, bound, _message(instance, outcome, bound), outcome.warnings)


def _checked(instance: Instance, asked: Instance | None, method: MethodEntry, run: Run, outcome: Outcome) -> Outcome:
    """Refuse a plan that a method that is not built in has made, or has come across, if it breaks a rule.

    Others are checked when all is done; this one, before anything is worked out from it.
    """
    harder = asked is not None and (instance.deadline_s, instance.d_spot_s) != (asked.deadline_s, asked.d_spot_s)
    forgiven = _MOMENTS if harder else frozenset[str]()
    found = run.incumbent
    if found.schedule is not run.initial:
        found.schedule = _checked_plan(instance, method, found.schedule, forgiven)
    plan = _checked_plan(instance, method, outcome.schedule, forgiven)
    for bound, best in ((outcome.bound, plan), (found.bound, found.schedule)):
        if bound is not None and best is not None and bound > at_most(best.objective):
            raise PluginError(
                f"{method.plugin} claims a bound of {bound:.12g} and made a plan of {best.objective:.12g}"
            )
    return replace(outcome, schedule=plan)


def _checked_plan(
    instance: Instance, method: MethodEntry, plan: Schedule | None, forgiven: frozenset[str]
) -> Schedule | None:
    """Return a plan as one of the instance; refuse one that breaks a rule, leave out one that breaks forgiven ones."""
    if plan is None:
        return None
    try:
        plan = plan if plan.instance is instance else replace(plan, instance=instance)
    except UnsuitablePlanError as error:
        rule = error.issues[0].rule
        raise PluginError(f"{method.plugin} made a plan that does not fit the instance: {rule}") from error
    violations = check(instance, plan).violations
    if violations and {violation.rule for violation in violations} <= forgiven:
        return None
    if violations:
        more = f" (and {len(violations) - 1} more)" if len(violations) > 1 else ""
        raise PluginError(f"{method.plugin} made a plan that breaks a rule: {violations[0]}{more}")
    return plan


def _with_incumbent(
    instance: Instance, method: MethodEntry, run: Run, outcome: Outcome, cut_short: bool, must: bool
) -> Outcome:
    """Return the outcome of a method with what is known beside it.

    That is the plan to start from; and, of a method whose time was over, the best plan that it came across. Where it
    had none yet, that of a simple heuristic is better than none.
    """
    known = run.incumbent
    if not cut_short and outcome.schedule is not None:
        known.schedule = run.initial
    known.take(outcome.schedule)
    if outcome.bound is not None:
        known.raise_bound(outcome.bound)
    warnings = outcome.warnings
    asked = method.name in _BY_SIMPLE_HEURISTICS and outcome.explanation != NO_TIME
    if known.schedule is None and known.bound < math.inf and must and cut_short and not asked:
        from .infeasible import simple_plan  # here, since few ask for it

        with suppress(LimitReached):
            known.take(simple_plan(instance, run))
        if known.schedule is not None:
            text = f"there was no time for {method.name} to find a plan; this is one of a simple heuristic"
            warnings = (*warnings, text)
    return replace(
        outcome, schedule=known.schedule, bound=None if known.bound == -math.inf else known.bound, warnings=warnings
    )


def _second_alone(instance: Instance) -> float:
    """Return the weight of a second of makespan, if nothing else counts; 0 otherwise."""
    cost_weight, time_weight = objective_weights(instance)
    return 0.0 if cost_weight else time_weight


def _proven_bound(instance: Instance, outcome: Outcome) -> float:
    """Bound of the method, or the divisible bound if it proved none."""
    if outcome.bound is not None:
        return outcome.bound
    return divisible_bound(instance).objective


def _message(instance: Instance, outcome: Outcome, bound: float) -> str:
    """Reason for which there is no plan: proved if it is, else what the method says."""
    if outcome.schedule is not None:
        return ""
    if math.isinf(bound) and not outcome.explanation.startswith("no plan exists"):
        from .infeasible import explain

        reason = explain(instance)
        return f"{outcome.explanation}; {reason}" if outcome.explanation else reason
    return outcome.explanation or NO_TIME


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
    # Plans end at whole seconds; a bound just above one may be so by rounding.
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
    paid = start is not None and start.cost_usd <= at_most(budget_usd)
    last_s = start.makespan_s - 1 if start is not None and paid else question.deadline_s
    early = _earliest_plan(question, budget_usd, (proven_s, last_s), share_of_time(BUDGET.half))
    return start if early is None or kept(early) is None else early


def _earliest_plan(
    question: Instance, budget_usd: float, moments_s: tuple[int, int], limit_s: float | None
) -> Schedule | None:
    """Return a plan that ends between two moments and costs no more; None if none is soon found."""
    from ...heuristics.bags.first_plans import earliest_plan  # here, since few ask for it

    proven_s, last_s = moments_s
    if last_s < proven_s:
        return None
    with within(limit_s):
        early = earliest_plan(partial(cheapest_by, question), at_most(budget_usd), last_s, proven_s)
    return None if early is None else plan_of(question, early)


def simple_plan(instance: Instance, proven_s: int, limit_s: float | None) -> Schedule | None:
    """Return a plan that takes no search: by prices or in lanes; where there is a budget, the earliest it pays for.

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
    from ...heuristics.bags.search import plan_by_prices

    budget = instance.objective.budget_usd
    if budget is None:
        return plan_by_prices(instance) or lanes_plan(instance)
    return _earliest_plan(instance, budget, (proven_s, instance.deadline_s), limit_s)


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
    if out_of_time() and not first.optimal:  # where there is something to be proved, a bound is soon had
        return SecondStage(plan, None)
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
    return plan if plan.instance is instance else replace(plan, instance=instance)


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
        # Of so few tasks, the interval model, which knows budgets, proves the end as a rule.
        self._few = instance.n_tasks <= SMALL_TASKS
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
            # As much time for each question as halving will still take.
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
