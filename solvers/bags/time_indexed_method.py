"""The method ``time-indexed``: the integer programme of Burst-HADS, on HiGHS or CP-SAT; for small instances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ...instances.instance import Instance
from ...models.bags.time_indexed import BurstableRule, TimeIndexedModel, build_time_indexed
from ...schedules.method import Outcome, Run
from ...schedules.schedule import Schedule
from ..backend import SolverStatus
from ..pyomo_model import Solver, solve_pyomo
from .exact_method import ModelTrace


@dataclass(frozen=True, slots=True)
class TimeIndexedOptions:
    """Options of the time-indexed model.

    Attributes
    ----------
    step_s : int
        Length of a period in seconds; with more than 1 the plans are feasible, and nothing is proved.
    equations : {"corrected", "as-printed"}
        Eq. 2-5 of the paper as corrected, or as printed: then tasks take a period too long, and nothing is proved.
    burstable : {"refuse", "baseline"}
        Refuse instances with burstable VMs, or rent them for tasks in baseline mode only: then nothing is proved.
    solver : {"highs", "cp-sat"}
        By which it is solved.
    """

    step_s: int = 1
    equations: Literal["corrected", "as-printed"] = "corrected"
    burstable: BurstableRule = "refuse"
    solver: Solver = "highs"


def time_indexed(instance: Instance, options: TimeIndexedOptions, run: Run) -> Outcome:
    """Plan with the time-indexed model.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    options : TimeIndexedOptions
        Grid, equations, burstable VMs.
    run : Run
        Limits, and perhaps a plan to start from.

    Returns
    -------
    Outcome
        The best plan found. It has a bound if the model is that of the instance: on a grid of 1 s, with the corrected
        equations and without burstable VMs.

    Raises
    ------
    ModelRefusal
        If the model is not valid for the instance, or too large.
    """
    model = build_time_indexed(
        instance, options.step_s, literal=options.equations == "as-printed", burstable=options.burstable
    )
    if run.initial is not None:
        model.set_start(run.initial)
    trace = ModelTrace(run, run.initial)
    answer = solve_pyomo(model.model, trace.limits(), options.solver)
    schedule = None if answer.values is None else model.read_back(answer.values)
    # On a coarse grid, or with the equations as printed, the model may lose the plan that it begins with.
    if run.initial is not None and (schedule is None or schedule.objective > run.initial.objective):
        schedule = run.initial
    return Outcome(
        schedule,
        explanation=_explanation(model, answer.status, schedule),
        bound=answer.bound if model.exact and answer.bound > -math.inf else None,
    )


def _explanation(model: TimeIndexedModel, status: SolverStatus, schedule: Schedule | None) -> str:
    """Why there is no plan."""
    if schedule is not None:
        return ""
    if status != "infeasible":
        return "the solver ended without a plan"
    if model.exact:
        return "no plan exists: the time-indexed model has no solution"
    reasons = [
        f"on a grid of {model.step_s} s" if model.step_s > 1 else "",
        "with the equations as printed" if model.literal else "",
        "" if model.step_s > 1 or model.literal else "with burstable VMs in baseline mode only",
    ]
    return f"the time-indexed model has no solution {', '.join(filter(None, reasons))}; the instance may have a plan"
