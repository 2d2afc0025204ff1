"""The method ``class-programme``: the class dynamic programme, for plans better than the one at hand.

Where the cost alone counts, the same prices and slacks reach further: `slack_fleets`.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

from ...core.errors import ModelRefusal
from ...instances.instance import Instance
from ...models.bags.core_patterns import BurstableMode
from ...models.bags.task_classes import task_classes
from ...schedules.method import Outcome, Run
from ...schedules.timing import objective_weights
from .class_dynamic_programme import best_plan
from .class_tables import MOST_COUNT_VECTORS, count_vectors, require_few_count_vectors
from .exact_method import ModelTrace, begin_in_window, exact_outcome, start_plan
from .slack_fleets import SlackFleets


@dataclass(frozen=True, slots=True)
class ClassProgrammeOptions:
    """Options of the class dynamic programme.

    Attributes
    ----------
    burstable : {"refuse", "baseline"}
        Refuse instances with burstable VMs whose CPU credits must be followed over time, or rent all burstable VMs for
        tasks in baseline mode only: then nothing is proved.
    """

    burstable: BurstableMode = "refuse"


def class_programme(instance: Instance, options: ClassProgrammeOptions, run: Run) -> Outcome:
    """Plan by the class dynamic programme: exact for few classes of identical tasks whose memory never binds.

    Where the cost alone counts, bags of more classes, or with more tasks, are planned by the slack of their VMs:
    exactly, unless the best plan has tasks on burstable VMs; then there is a bound.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    options : ClassProgrammeOptions
        What becomes of burstable VMs.
    run : Run
        Limits and initial plan.

    Raises
    ------
    ModelRefusal
        If memory can bind, CPU credits must be followed over time, or there are too many count vectors.
    """
    if objective_weights(instance)[1] == 0:
        with suppress(ModelRefusal):  # then that of the programme says more
            outcome = _by_slack(instance, run)
            if not _is_open(outcome, run) or count_vectors(task_classes(instance)) > MOST_COUNT_VECTORS:
                return outcome
    require_few_count_vectors(instance)
    start, at_most, window, nothing_left = begin_in_window(instance, run)
    if nothing_left is not None:
        return nothing_left
    plan = best_plan(instance, window, at_most, burstable=options.burstable, target_gap=run.target_gap)
    explanation = "no plan was found until the time was over"
    baseline_only = options.burstable == "baseline"
    if baseline_only and plan.bound == math.inf:
        explanation = "no plan runs all tasks of burstable VMs in baseline mode"
    return exact_outcome(instance, start, plan.schedule, plan.bound, explanation, baseline_only=baseline_only)


def _by_slack(instance: Instance, run: Run) -> Outcome:
    """Plan by the slack of VMs."""
    fleets = SlackFleets(instance)
    begin = start_plan(instance, run)
    start = begin.schedule
    at_most = math.inf if start is None else start.objective
    if run.answered(at_most, fleets.bound):
        return exact_outcome(instance, start, None, min(fleets.bound, at_most), begin.explanation)
    trace = ModelTrace(run, start)

    def on_bound(bound: float) -> None:
        # At once: if time ends the search, this is the bound that is left.
        run.incumbent.raise_bound(bound)
        trace.improved(at_most, bound)

    plan = fleets.cheapest(at_most, run.target_gap, run.threshold, on_bound)
    if plan.stopped:
        explanation = "no plan was found until the time was over, or the search too large"
    else:
        explanation = "plans without burstable VMs are too dear, and the search by slack knows no CPU credits"
    return exact_outcome(instance, start, plan.schedule, plan.bound, explanation)


def _is_open(outcome: Outcome, run: Run) -> bool:
    """True if something is left to be proved."""
    best = math.inf if outcome.schedule is None else outcome.schedule.objective
    bound = -math.inf if outcome.bound is None else outcome.bound
    return bound < math.inf and not run.answered(best, bound)
