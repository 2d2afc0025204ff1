"""The method ``core-counts``: the core-count model, on CP-SAT or HiGHS, for plans better than the one at hand."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...bounds.bags.makespan_window import makespan_window
from ...instances.instance import Instance
from ...models.bags.core_counts import CoreCountModel, core_count_columns, offers_of_core_counts
from ...models.bags.core_patterns import BurstableMode
from ...models.bags.task_classes import memory_is_free, offers_of_vms
from ...schedules.method import Outcome, Run
from ...schedules.schedule import Schedule
from ..program_solver import SolverName, solve_program
from .exact_method import ModelTrace, begin_in_window, exact_outcome

_FEW_COLUMNS = 60
"""Columns up to which the core-count model is rather solved in a second than other models are."""


@dataclass(frozen=True, slots=True)
class CoreCountOptions:
    """Options of the core-count model.

    Attributes
    ----------
    solver : {"highs", "cp-sat"}
        Which solver to use.
    burstable : {"refuse", "baseline"}
        Refuse instances with burstable VMs, or rent them for tasks in baseline mode only: then nothing is proved.
    """

    solver: SolverName = "cp-sat"
    burstable: BurstableMode = "refuse"


def core_counts(instance: Instance, options: CoreCountOptions, run: Run) -> Outcome:
    """Plan by the core-count model: exact where memory never binds; good for about 20 distinct tasks.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    options : CoreCountOptions
        Solver, and what becomes of burstable VMs.
    run : Run
        Limits, threads, seed, initial plan.

    Raises
    ------
    ModelRefusal
        If memory can bind, burstable VMs can be rented, or the model would be too large.
    """
    offers_of_core_counts(instance, options.burstable)
    start, _, window, outcome = begin_in_window(instance, run)
    if outcome is not None:
        return outcome
    model = CoreCountModel(instance, window, burstable=options.burstable)
    trace = ModelTrace(run, start)
    values = None if start is None else model.start(start)
    answer = solve_program(options.solver, model.program, trace.limits(), values)
    found = None if answer.values is None else model.schedule(answer.values)
    explanation = "the solver found no plan until it was stopped"
    if answer.status == "infeasible":
        explanation = "no plan runs all tasks of burstable VMs in baseline mode"
    return exact_outcome(instance, start, found, answer.bound, explanation, baseline_only=True)


def has_small_core_counts(instance: Instance, best: Schedule | None) -> bool:
    """Whether the model is valid, and so small that it is worth a try before larger ones.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    best : Schedule or None
        The best plan that is known: it limits the makespans.
    """
    if not memory_is_free(instance) or any(offer.burstable for offer in offers_of_vms(instance)):
        return False
    window = makespan_window(instance, math.inf if best is None else best.objective)
    return core_count_columns(instance, window) <= _FEW_COLUMNS
