"""Common parts of methods of exact models: the plan and window at the beginning, their trace, and their outcome."""

from __future__ import annotations

import math
from typing import NamedTuple

from ...bounds.bags.divisible_bound import divisible_bound
from ...bounds.bags.divisible_programme import makespan_window
from ...core.errors import SpotbagError
from ...core.quantities import NEARLY
from ...heuristics.bags.greedy import greedy
from ...heuristics.bags.listed_plans import listed_plan
from ...heuristics.bags.lpt import LptOptions, lpt
from ...instances.instance import Instance
from ...models.bags.makespan_bounds import MakespanWindow
from ...models.bags.task_classes import offers_of_vms
from ...schedules.method import Outcome, Run, TracePoint, kept
from ...schedules.schedule import Schedule
from ..backend import SolverLimits

NO_PLAN_EXISTS = "no plan exists: there is no way to run all tasks within the limits of the VMs and the deadline"


def exact_outcome(
    instance: Instance,
    start: Schedule | None,
    found: Schedule | None,
    model_bound: float,
    explanation: str,
    *,
    baseline_only: bool = False,
) -> Outcome:
    """Make the outcome of a model that looks for plans better than one that is known.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    start, found : Schedule or None
        The plan that is known, and the best one of the model.
    model_bound : float
        Lower bound of all plans better than the one that is known; infinite if there are none.
    explanation : str
        Why there is no plan, if there is none and that is no proof that none exists.
    baseline_only : bool
        Whether the model runs all tasks of burstable VMs in baseline mode. Where there are such VMs, what it proves
        then holds for such plans only, and the bound is the divisible one.
    """
    slow: list[str] = []
    if baseline_only:
        slow = sorted({offer.vm_type.name for offer in offers_of_vms(instance) if offer.burstable})
    given = [plan for plan in (found, start) if plan is not None]
    plans = [plan for plan in map(kept, given) if plan is not None]
    if len(plans) < len(given):  # the model knows not all that is asked: what it proves is that nothing is better
        model_bound = min(model_bound, *(plan.objective for plan in given))
    best = min(plans, key=lambda plan: plan.objective, default=None)
    bound = divisible_bound(instance).objective
    if not slow:
        bound = max(bound, model_bound)
    if best is not None:
        if math.isfinite(model_bound) and not slow and model_bound > best.objective * (1 + NEARLY):
            raise SpotbagError(
                f"a model claims the bound {model_bound:.12g}, and there is a plan of {best.objective:.12g}; "
                f"please report this"
            )
        bound = min(bound, best.objective)  # an infinite one says that there is nothing better than the best plan
    warnings: tuple[str, ...] = ()
    if slow:
        warnings = (f"the method looks at plans in baseline mode on {', '.join(slow)} only; the bound is of all plans",)
    if best is None and math.isinf(bound):
        explanation = NO_PLAN_EXISTS
    return Outcome(best, "" if best is not None else explanation, warnings, bound)


def start_plan(instance: Instance, run: Run) -> Outcome:
    """Return the plan that the run was given, else the better one of the greedy's and of longest task first.

    From a state, that is one task after the other where it adds least.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    run : Run
        Time limit and initial plan.
    """
    if run.initial is not None:
        return Outcome(run.initial)
    if instance.has_dates:  # the simple heuristics know none, and no machines
        return Outcome(listed_plan(instance), "no plan was found that keeps all dates of tasks")
    if instance.machines:
        return Outcome(listed_plan(instance), "no plan was found from this state that ends by the deadline")
    by_greedy = greedy(instance)
    run.incumbent.take(by_greedy.schedule)
    run.incumbent.raise_bound(divisible_bound(instance).objective)
    by_length = lpt(instance, LptOptions(), run)
    made = (by_greedy.schedule, by_length.schedule)
    plans = [plan for plan in map(kept, filter(None, made)) if plan is not None]
    best = min(plans, key=lambda plan: plan.objective, default=None)
    return Outcome(best, by_greedy.explanation if best is None else "")


class Beginning(NamedTuple):
    """Beginning of a model of a window of makespans.

    Attributes
    ----------
    start : Schedule or None
        A plan that is known.
    at_most : float
        Its objective; infinite without one.
    window : MakespanWindow
        Makespans of better plans.
    outcome : Outcome or None
        The outcome of the method where there is nothing to be modelled, as no makespan is left.
    """

    start: Schedule | None
    at_most: float
    window: MakespanWindow
    outcome: Outcome | None


def begin_in_window(instance: Instance, run: Run) -> Beginning:
    """Find a plan to begin with, and the makespans that better ones can have.

    Parameters
    ----------
    instance, run
        See `start_plan`.
    """
    begin = start_plan(instance, run)
    start = begin.schedule
    at_most = math.inf if start is None else start.objective
    window = makespan_window(instance, at_most)
    outcome = None
    if window.empty:
        outcome = exact_outcome(instance, start, None, math.inf, begin.explanation)
    return Beginning(start, at_most, window, outcome)


class ModelTrace:
    """Reports the plans and bounds of a solver.

    Parameters
    ----------
    run : Run
        Receives the progress.
    start : Schedule or None
        The plan that it starts from.
    """

    def __init__(self, run: Run, start: Schedule | None) -> None:
        self._run = run
        self._at_most = math.inf if start is None else start.objective
        self._iteration = 0

    def improved(self, objective: float, bound: float) -> None:
        """Report a better plan of the solver, or a better bound."""
        best = min(objective, self._at_most)
        known = min(bound, best) if math.isfinite(bound) else None
        self._iteration += 1
        self._run.report(TracePoint(self._iteration, objective, best, bound=known), 0)

    def limits(self) -> SolverLimits:
        """Limits of what is left of the run, with this trace as its progress."""
        return SolverLimits.of_run(self._run, self.improved)
