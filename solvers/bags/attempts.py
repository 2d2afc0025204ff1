"""Runs of a method, each for one question: a D_spot, and one quantity to be made least."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ...audits.bags.plan import check
from ...bounds.bags.divisible_bound import divisible_bound
from ...core.limits import LimitReached, out_of_time, within
from ...core.plugins import PluginError
from ...core.quantities import at_most, closes_gap
from ...instances.instance import Instance
from ...schedules.method import Incumbent, Outcome, Run, StepEnd, StepTaken, TracePoint
from ...schedules.schedule import Schedule, UnsuitablePlanError
from ...schedules.timing import objective_weights
from .budget import BUDGET
from .methods import MethodEntry, find_method, make_options

_BY_SIMPLE_HEURISTICS = ("greedy", "lpt", "search")
"""Methods that have no plan only if the simple heuristics have none."""

NO_TIME = "there was no time to find a plan"

_MOMENTS = frozenset({"deadline", "d-spot", "due"})
"""Rules of the checker by which a plan may be too late."""


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
    if (
        known.schedule is None
        and known.bound < math.inf
        and must
        and method.name not in _BY_SIMPLE_HEURISTICS
        and cut_short
    ):
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
