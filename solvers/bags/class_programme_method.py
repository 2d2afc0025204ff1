"""The method ``class-programme``: the class dynamic programme, for plans better than the one at hand."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...core.errors import ModelRefusal
from ...instances.instance import Instance
from ...models.bags.class_dynamic_programme import best_plan
from ...models.bags.class_tables import require_few_count_vectors
from ...models.bags.core_patterns import BurstableMode
from ...models.bags.task_classes import memory_is_free, usable_offers
from ...models.bags.vm_limits import binding_market_limits
from ...schedules.method import MethodOutcome, Run
from .exact_method import begin_in_window, exact_outcome

_FEW_STATES = 10_000


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


def class_programme(instance: Instance, options: ClassProgrammeOptions, run: Run) -> MethodOutcome:
    """Plan by the class dynamic programme: exact for up to three classes of identical tasks whose memory never binds.

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
        If memory can bind, CPU credits must be followed over time, or there are too many classes or tasks.
    """
    require_few_count_vectors(instance)
    start, at_most, window, outcome = begin_in_window(instance, run)
    if outcome is not None:
        return outcome
    plan = best_plan(instance, window, at_most, burstable=options.burstable, target_gap=run.target_gap)
    explanation = "no plan was found until the time was over"
    baseline_only = options.burstable == "baseline"
    if baseline_only and plan.bound == math.inf:
        explanation = "no plan runs all tasks of burstable VMs in baseline mode"
    return exact_outcome(instance, start, plan.schedule, plan.bound, explanation, baseline_only=baseline_only)


def has_small_class_programme(instance: Instance) -> bool:
    """Whether the programme is rather done in a tenth of a second than a search; that it refuses credits is left open.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    """
    if not memory_is_free(instance):
        return False
    try:
        classes = require_few_count_vectors(instance)
    except ModelRefusal:
        return False
    caps = [cap for _, cap in binding_market_limits(instance, usable_offers(instance))]
    states: int = math.prod(size + 1 for size in (*classes.size.tolist(), *caps))
    return states <= _FEW_STATES
