"""Plans by the nested-Hall pattern model, on HiGHS or CP-SAT."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..heuristics.outcome import HeuristicOutcome
from ..heuristics.run import Run
from ..instances.problem import Instance
from ..models.makespan_window import makespan_window
from ..models.nested_hall import NestedHallModel
from .exact_outcome import exact_outcome
from .model_trace import ModelTrace
from .program_solver import SolverName, solve_program
from .start_plan import start_plan


@dataclass(frozen=True, slots=True)
class PatternOptions:
    """Options of the pattern model.

    Attributes
    ----------
    solver : {"highs", "cp-sat"}
        What solves it.
    """

    solver: SolverName = "highs"


def patterns(instance: Instance, options: PatternOptions, run: Run) -> HeuristicOutcome:
    """Plan few classes of identical tasks on VMs whose memory never binds.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    options : PatternOptions
        Which solver.
    run : Run
        Limits, and perhaps a plan to start from.

    Returns
    -------
    HeuristicOutcome
        The best plan, with a bound of the instance as given. Burstable VMs are a relaxation at first; if the optimum
        rents some, the plan is the best with their tasks in baseline mode, and the bound need not be met.

    Raises
    ------
    ModelRefusal
        If memory can bind, or there are too many classes or patterns.
    """
    begin = start_plan(instance, run)
    best = begin.schedule
    at_most = math.inf if best is None else best.objective
    window = makespan_window(instance, at_most)
    if window.empty or begin.interrupted:
        proved = at_most if window.empty else -math.inf
        return exact_outcome(instance, best, None, proved, begin.explanation, interrupted=begin.interrupted)
    trace = ModelTrace(run, best)
    model = NestedHallModel(instance, window)
    answer = solve_program(options.solver, model.program, trace.limits(), None if best is None else model.start(best))
    bound, interrupted = answer.bound, answer.interrupted
    found = None
    if answer.values is not None and model.uses_relaxed_offers(answer.values) and not interrupted:
        model = NestedHallModel(instance, window, burstable="baseline")
        start = None if best is None else model.start(best)
        answer = solve_program(options.solver, model.program, trace.limits(), start)
        interrupted = answer.interrupted
    if answer.values is not None and not model.uses_relaxed_offers(answer.values):
        found = model.schedule(answer.values)
    explanation = "the solver found no plan until it was stopped"
    return exact_outcome(instance, best, found, bound, explanation, trace.points, interrupted)
