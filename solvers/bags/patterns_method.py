"""The method ``patterns``: the pattern model, in a window of makespans that better plans shrink."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

from ...bounds.bags.divisible_programme import makespan_window
from ...core.limits import LimitReached, checkpoint, out_of_time, share_of_time, within
from ...instances.instance import Instance
from ...models.bags.makespan_bounds import MakespanWindow
from ...models.bags.patterns import PatternModel, require_few_classes
from ...schedules.method import Outcome, Run
from ...schedules.schedule import Schedule
from ..backend import SolverLimits
from ..highs import solve_with_highs
from .budget import BUDGET
from .exact_method import ModelTrace, begin_in_window, exact_outcome


def patterns(instance: Instance, run: Run) -> Outcome:
    """Plan few classes of identical tasks on VMs whose memory never binds.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    run : Run
        Limits, and perhaps a plan to start from.

    Returns
    -------
    Outcome
        The best plan, with a bound of the instance as given. Burstable VMs are a relaxation at first; if the optimum
        rents some, the plan is the best with their tasks in baseline mode, and the bound need not be met.

    Raises
    ------
    ModelRefusal
        If memory can bind, or there are too many classes or patterns.
    """
    require_few_classes(instance)
    start, _, window, outcome = begin_in_window(instance, run)
    if outcome is not None:
        return outcome
    trace = ModelTrace(run, start)
    patience_s = BUDGET.patience_for_s(instance.n_tasks)
    first = _Answer(start, -math.inf, finished=False, rents_relaxed=False)
    with suppress(LimitReached), within(share_of_time(BUDGET.half)), within(patience_s):
        first = _solve(instance, window, start, trace.limits())
    best, bound, answer = first.best, first.bound, first
    run.incumbent.take(best)
    run.incumbent.raise_bound(min(bound, run.incumbent.objective))
    if not first.finished:
        checkpoint()
        # A better plan leaves a smaller window, and a smaller model: it pays to start again.
        window = makespan_window(instance, math.inf if best is None else best.objective)
        answer = _solve(instance, window, best, trace.limits())
        best, bound = answer.best, max(bound, answer.bound)
    if answer.rents_relaxed and not out_of_time():
        best = _solve(instance, window, best, trace.limits(), burstable="baseline").best
    explanation = "the solver found no plan until it was stopped"
    return exact_outcome(instance, start, best, bound, explanation)


@dataclass(frozen=True, slots=True)
class _Answer:
    """Best plan and bound, whether nothing is left to be done, and whether the solution rents relaxed offers."""

    best: Schedule | None
    bound: float
    finished: bool
    rents_relaxed: bool


def _solve(
    instance: Instance,
    window: MakespanWindow,
    best: Schedule | None,
    limits: SolverLimits,
    burstable: str = "relaxed",
) -> _Answer:
    """Solve the model of a window, from the best plan so far."""
    model = PatternModel(instance, window, burstable)
    answer = solve_with_highs(model.program, limits, None if best is None else model.start(best))
    rents_relaxed = answer.values is not None and model.uses_relaxed_offers(answer.values)
    if answer.values is not None and not rents_relaxed:
        found = model.schedule(answer.values)
        best = found if best is None or found.objective < best.objective else best
    finished = answer.status in ("optimal", "infeasible")
    return _Answer(best, answer.bound, finished, rents_relaxed)
