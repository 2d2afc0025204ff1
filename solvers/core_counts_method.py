"""The core-count model as a method."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ..heuristics.outcome import HeuristicOutcome
from ..heuristics.run import Run, TracePoint
from ..instances.problem import Instance
from ..models.core_counts import CoreCountModel
from ..models.makespan_window import makespan_window
from .backend import SolverLimits
from .cp_sat import solve_with_cp_sat
from .exact_outcome import exact_outcome
from .highs import solve_with_highs
from .start_plan import start_plan


@dataclass(frozen=True, slots=True)
class CoreCountOptions:
    """Options of the core-count model.

    Attributes
    ----------
    solver : {"highs", "cp-sat"}
        Which solver to use.
    """

    solver: Literal["highs", "cp-sat"] = "cp-sat"


def core_counts(instance: Instance, options: CoreCountOptions, run: Run) -> HeuristicOutcome:
    """Plan by the core-count model: exact where memory never binds; good for about 20 distinct tasks.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    options : CoreCountOptions
        Solver.
    run : Run
        Limits, threads, seed, initial plan.

    Raises
    ------
    ModelRefusal
        If memory can bind or the model would be too large.

    Notes
    -----
    Tasks on burstable VMs run in baseline mode; the bound is one of all plans.
    """
    begin = start_plan(instance, run)
    start = begin.schedule
    window = makespan_window(instance, math.inf if start is None else start.objective)
    if window.empty or begin.interrupted:
        proved = math.inf if window.empty else -math.inf
        return exact_outcome(instance, start, None, proved, begin.explanation, interrupted=begin.interrupted)
    model = CoreCountModel(instance, window, burstable="baseline")
    trace: list[TracePoint] = []

    def improved(objective: float, bound: float) -> None:
        best = objective if start is None else min(objective, start.objective)
        trace.append(TracePoint(len(trace) + 1, objective, best))
        run.report(trace[-1], len(trace))

    solve = solve_with_cp_sat if options.solver == "cp-sat" else solve_with_highs
    values = None if start is None else model.start(start)
    answer = solve(model.program, SolverLimits.of_run(run, improved), values)
    found = None if answer.values is None else model.schedule(answer.values)
    explanation = "the solver found no plan until it was stopped"
    if answer.status == "infeasible":
        explanation = "no plan runs all tasks of burstable VMs in baseline mode"
    return exact_outcome(instance, start, found, answer.bound, explanation, tuple(trace), answer.interrupted)
