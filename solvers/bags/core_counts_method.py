"""The method ``core-counts``: the core-count model, on CP-SAT or HiGHS, for plans better than the one at hand."""

from __future__ import annotations

from dataclasses import dataclass

from ...instances.instance import Instance
from ...models.bags.core_counts import CoreCountModel
from ...models.bags.core_patterns import BurstableMode
from ...schedules.method import MethodOutcome, Run
from ..program_solver import SolverName, solve_program
from .exact_method import ModelTrace, begin_in_window, exact_outcome


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


def core_counts(instance: Instance, options: CoreCountOptions, run: Run) -> MethodOutcome:
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
    return exact_outcome(instance, start, found, answer.bound, explanation, trace.points, baseline_only=True)
