"""``solve``: the one call for all methods."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from ...audits.bags.plan import check
from ...core.errors import InputError, Issue, SpotbagError
from ...heuristics.bags.d_spot import d_spot_warning, with_d_spot
from ...instances.instance import Instance
from ...models.bags.divisible_bound import divisible_bound
from ...models.bags.infeasibility import explain_infeasibility
from ...schedules.method import MethodOutcome, Run, TracePoint
from ...schedules.schedule import Schedule
from .methods import find_method, make_options
from .result import OPTIMALITY_TOLERANCE, Result, Status, closes_gap


def solve(
    instance: Instance,
    method: str = "auto",
    *,
    time_limit_s: float | None = None,
    target_gap: float = 0.0,
    seed: int = 0,
    threads: int = 1,
    initial: Schedule | None = None,
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
        One of `spotbag.solvers.bags.methods.METHODS`.
    time_limit_s : float, optional
        Searches and solvers return the best plan and bound so far when it is over.
    target_gap : float
        Relative gap between plan and bound at which they stop; 0 to go on until the optimum is proved.
    seed : int
        For methods that use random numbers: same seed, one thread and no time limit, same plan.
    threads : int
        Threads of a solver.
    initial : Schedule, optional
        A plan of the instance to start from; nothing worse is returned.
    options : mapping, optional
        Options of the method, by name.
    on_progress : callable, optional
        Called by searches and solvers with a `TracePoint` and the iterations planned (0 if nobody knows).

    Returns
    -------
    Result
        Also if no plan was found: then its message says why. An interrupt (Ctrl-C) ends searches and solvers with the
        best plan so far. Every result has a proven bound.

    Raises
    ------
    InputError
        If the method or an option is unknown, D_spot can be neither read nor estimated, or ``initial`` breaks a rule.
    ModelRefusal
        If the method is an exact model that is not valid for the instance, or too large.
    """
    chosen = find_method(method)
    made_options = make_options(chosen, options or {})
    if time_limit_s is not None and not time_limit_s > 0:
        raise InputError("time limit", [Issue("", "must be positive", value=time_limit_s)])
    if not 0 <= seed < 2**63:
        raise InputError("seed", [Issue("", "must be from 0 to 2^63 - 1", value=seed)])
    if not 0 <= target_gap < 1:
        raise InputError("target gap", [Issue("", "must be from 0 to less than 1", value=target_gap)])
    if not 1 <= threads <= 1024:
        raise InputError("threads", [Issue("", "must be from 1 to 1024", value=threads)])
    given = instance
    begin = time.perf_counter()
    instance = with_d_spot(given)
    if initial is not None:
        initial = start_of(instance, initial)
    run = Run(seed, time_limit_s, on_progress, target_gap, threads, initial, begin)
    outcome = chosen.run(instance, made_options, run)
    schedule = outcome.schedule
    if initial is not None and (schedule is None or initial.objective < schedule.objective):
        schedule = initial
    bound = _proven_bound(instance, outcome)
    if schedule is not None:
        violations = check(instance, schedule).violations
        if violations:
            raise SpotbagError(f"{method} made a plan that breaks a rule; please report this: {violations[0]}")
        if bound > schedule.objective * (1 + OPTIMALITY_TOLERANCE):
            objective = schedule.objective
            raise SpotbagError(
                f"{method} claims a bound of {bound:.12g} and made a plan of {objective:.12g}; please report this"
            )
        bound = min(bound, schedule.objective)  # apart by rounding only
    return Result(
        status=_status(schedule, bound),
        instance=instance,
        method=method,
        schedule=schedule,
        message=_message(instance, outcome, schedule, bound),
        warnings=tuple(text for text in (d_spot_warning(given, instance), *outcome.warnings) if text),
        bound=bound,
        runtime_s=time.perf_counter() - run.begin,
        seed=seed,
        stats={"iterations": outcome.trace[-1].iteration} if outcome.trace else {},
        trace=outcome.trace,
        interrupted=outcome.interrupted,
    )


def start_of(instance: Instance, initial: Schedule) -> Schedule:
    """Return the plan to start from as one of the instance with D_spot; refuse one that breaks a rule."""
    try:
        start = Schedule(
            instance, initial.vm_offer, initial.task_vm, initial.task_core, initial.task_start_s, initial.task_baseline
        )
    except ValueError as error:
        raise InputError("initial plan", [Issue("", f"does not fit the instance: {error}")]) from None
    violations = check(instance, start).violations
    if violations:
        raise InputError("initial plan", [Issue("", f"breaks a rule: {violation}") for violation in violations])
    return start


def _proven_bound(instance: Instance, outcome: MethodOutcome) -> float:
    """Bound of the method, or the divisible bound if it proved none."""
    if outcome.bound is not None:
        return outcome.bound
    return divisible_bound(instance).objective


def _message(instance: Instance, outcome: MethodOutcome, schedule: Schedule | None, bound: float) -> str:
    """Why there is no plan: proved if it is, else what the method says."""
    if schedule is not None:
        return ""
    if math.isinf(bound) and not outcome.explanation.startswith("no plan exists"):
        reason = explain_infeasibility(instance)
        return f"{outcome.explanation}; {reason}" if outcome.explanation else reason
    return outcome.explanation


def _status(schedule: Schedule | None, bound: float) -> Status:
    """Say what was found, and what is proved."""
    if schedule is None:
        return "infeasible" if math.isinf(bound) else "no-plan"
    return "optimal" if closes_gap(schedule.objective, bound) else "feasible"
