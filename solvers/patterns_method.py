"""Plans by the nested-Hall pattern model, on HiGHS or CP-SAT."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ..heuristics.outcome import HeuristicOutcome
from ..heuristics.run import Run, TracePoint
from ..instances.problem import Instance, IntArray
from ..models.integer_program import IntegerProgram
from ..models.makespan_window import makespan_window
from ..models.nested_hall import NestedHallModel
from ..schedules.schedule import Schedule
from .backend import SolverAnswer, SolverLimits
from .starting_plan import starting_plan


@dataclass(frozen=True, slots=True)
class PatternOptions:
    """Options of the pattern model.

    Attributes
    ----------
    solver : {"highs", "cp-sat"}
        What solves it.
    """

    solver: Literal["highs", "cp-sat"] = "highs"


def solve_program(
    solver: str, program: IntegerProgram, limits: SolverLimits, start: IntArray | None
) -> SolverAnswer[IntArray]:
    """Solve an integer programme with the back end of that name."""
    if solver == "cp-sat":
        from .cp_sat import solve_with_cp_sat

        return solve_with_cp_sat(program, limits, start)
    from .highs import solve_with_highs

    return solve_with_highs(program, limits, start)


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
    best = starting_plan(instance, run)
    at_most = math.inf if best is None else best.objective
    window = makespan_window(instance, at_most)
    if window.empty:
        return HeuristicOutcome(best, bound=at_most)
    trace: list[TracePoint] = []

    def progress(objective: float, bound: float) -> None:
        trace.append(TracePoint(len(trace) + 1, objective, min(objective, at_most), bound=min(bound, objective)))
        run.report(trace[-1], 0)

    limits = SolverLimits.of_run(run, progress)
    model = NestedHallModel(instance, window)
    start = None if best is None else model.start(best)
    answer = solve_program(options.solver, model.program, limits, start)
    bound = min(answer.bound, at_most)  # outside of the window no plan is better than the one at hand
    interrupted = answer.interrupted
    if answer.values is not None and not model.uses_relaxed_offers(answer.values):
        best = _better(best, model.schedule(answer.values))
    elif answer.values is not None and not interrupted:
        model = NestedHallModel(instance, window, burstable="baseline")
        answer = solve_program(options.solver, model.program, limits, None if best is None else model.start(best))
        interrupted = answer.interrupted
        if answer.values is not None:
            best = _better(best, model.schedule(answer.values))
    explanation = ""
    if best is None:
        proved = math.isinf(bound) and bound > 0
        explanation = "no plan exists: the pattern model has no solution" if proved else "no plan was found in time"
    return HeuristicOutcome(
        best, explanation, bound=None if bound == -math.inf else bound, trace=tuple(trace), interrupted=interrupted
    )


def _better(first: Schedule | None, second: Schedule) -> Schedule:
    return second if first is None or second.objective < first.objective else first
