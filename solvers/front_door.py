"""``solve``: one way to all methods."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from ..heuristics.d_spot import d_spot_warning, with_d_spot
from ..heuristics.run import Run, TracePoint
from ..instances.errors import InputError, Issue, SpotbagError
from ..instances.problem import Instance
from ..schedules.checker import check
from ..schedules.schedule import Schedule
from .registry import find_method, make_options
from .result import Result, Status, relative_gap

OPTIMALITY_TOLERANCE = 1e-9
"""Relative gap below which a plan counts as optimal."""


def solve(
    instance: Instance,
    method: str = "greedy",
    *,
    time_limit_s: float | None = None,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
    on_progress: Callable[[TracePoint, int], None] | None = None,
) -> Result:
    """Plan an instance.

    D_spot is estimated if the instance does not give it, the method is run, and its plan goes through the
    independent checker before it is handed out.

    Parameters
    ----------
    instance : Instance
        The problem.
    method : str
        One of `spotbag.solvers.METHODS`.
    time_limit_s : float, optional
        A search returns the best plan so far when it is over.
    seed : int
        For methods that use random numbers: same seed and no time limit, same plan.
    options : mapping, optional
        Options of the method, by name.
    on_progress : callable, optional
        Called by a search with a `TracePoint` and the iterations planned.

    Returns
    -------
    Result
        Also if no plan was found: then its message says why. An interrupt (Ctrl-C) during a search ends it with the
        best plan so far.

    Raises
    ------
    InputError
        If the method or an option is unknown, or D_spot can be neither read nor estimated.
    """
    chosen = find_method(method)
    made_options = make_options(chosen, options or {})
    if time_limit_s is not None and not time_limit_s > 0:
        raise InputError("time limit", [Issue("", "must be positive", value=time_limit_s)])
    if not 0 <= seed < 2**63:
        raise InputError("seed", [Issue("", "must be from 0 to 2^63 - 1", value=seed)])
    run = Run(seed, time_limit_s, on_progress)
    given = instance
    instance = with_d_spot(given)
    outcome = chosen.run(instance, made_options, run)
    schedule, bound = outcome.schedule, outcome.bound
    if schedule is not None:
        violations = check(instance, schedule).violations
        if violations:
            raise SpotbagError(f"{method} made a plan that breaks a rule; please report this: {violations[0]}")
        if bound is not None and bound > schedule.objective * (1 + OPTIMALITY_TOLERANCE):
            objective = schedule.objective
            raise SpotbagError(
                f"{method} claims a bound of {bound:.12g} and made a plan of {objective:.12g}; please report this"
            )
        bound = None if bound is None else min(bound, schedule.objective)  # apart by rounding only
    return Result(
        status=_status(schedule, bound),
        instance=instance,
        method=method,
        schedule=schedule,
        message=outcome.explanation,
        warnings=tuple(text for text in (d_spot_warning(given, instance), *outcome.warnings) if text),
        bound=bound,
        runtime_s=time.perf_counter() - run.begin,
        seed=seed,
        stats={"iterations": outcome.trace[-1].iteration} if outcome.trace else {},
        trace=outcome.trace,
        interrupted=outcome.interrupted,
    )


def _status(schedule: Schedule | None, bound: float | None) -> Status:
    """Say what was found, and what is proved."""
    if schedule is None:
        return "infeasible" if bound is not None and math.isinf(bound) else "no-plan"
    gap = relative_gap(schedule.objective, bound)
    return "optimal" if gap is not None and gap <= OPTIMALITY_TOLERANCE else "feasible"
