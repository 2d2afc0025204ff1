"""``solve``: the one call for all methods."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ...audits.bags.plan import check
from ...core.errors import InputError, Issue, SpotbagError
from ...core.limits import SIGN_OF_LIFE_S, LimitReached, Stop, out_of_time, seconds_left, stopped, within
from ...core.processes import interruptible
from ...heuristics.bags.d_spot import d_spot_warning, with_d_spot
from ...instances.instance import Instance
from ...models.bags.divisible_bound import divisible_bound
from ...models.bags.infeasibility import explain_infeasibility
from ...schedules.method import Incumbent, MethodOutcome, Run, TracePoint
from ...schedules.schedule import Schedule
from .methods import Method, find_method, make_options
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
    stop: Stop | None = None,
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
        The best plan and bound so far are returned when it is over. Where the first plan and its check take longer,
        that plan is returned.
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
        Called with a `TracePoint` and the iterations planned (0 if nobody knows), at least every quarter of a second,
        in the thread of the call. An exception in it ends the work, and is raised here.
    stop : Stop, optional
        Any object with ``is_set()``, such as `threading.Event`: once it says True, the best plan and bound so far are
        returned. Ctrl-C and SIGTERM do the same in the main thread, a program's own handlers left alone; a second one
        raises KeyboardInterrupt. See docs/stopping.md.

    Returns
    -------
    Result
        Also if no plan was found: then its message says why. Every result has a proven bound.

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
    progress = _Progress(on_progress)
    on_life = None if on_progress is None else progress.again
    with interruptible(stop, on_life):
        with within(_time_for_plan_s(instance, time_limit_s), begin=begin):
            instance = with_d_spot(given)
            if initial is not None:
                initial = start_of(instance, initial)
            run = Run(seed, progress, target_gap, threads, initial, Incumbent(initial))
            outcome, cut_short = MethodOutcome(None, _NO_TIME), True
            try:
                with within(None if chosen.bounds else _time_for_method_s()):
                    outcome = chosen.run(instance, made_options, run)
                    cut_short = out_of_time()
            except LimitReached:
                pass
            progress.again()
            outcome = _with_incumbent(instance, chosen, run, outcome, cut_short)
            schedule = outcome.schedule
            bound = _proven_bound(instance, outcome)
            progress.again()
            message = _message(instance, outcome, bound)
            interrupted = stopped()
        if schedule is not None:
            violations = check(instance, schedule).violations
            progress.again()
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
            message=message,
            warnings=tuple(text for text in (d_spot_warning(given, instance), *outcome.warnings) if text),
            bound=bound,
            runtime_s=time.perf_counter() - begin,
            seed=seed,
            stats={"iterations": outcome.trace[-1].iteration} if outcome.trace else {},
            trace=outcome.trace,
            interrupted=interrupted,
        )


_BY_SIMPLE_HEURISTICS = ("greedy", "lpt", "search")
"""Methods that have no plan only if the simple heuristics have none."""

_NO_TIME = "there was no time to find a plan"


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


_CHECK_S_A_TASK = 3e-6
_MOST_RESERVED = 0.3
_BOUND_S = 0.1
_BOUND_SHARE = 0.1


def _time_for_plan_s(instance: Instance, time_limit_s: float | None) -> float | None:
    """Seconds of a limit for a plan and a bound: all but what the check takes afterwards."""
    if time_limit_s is None:
        return None
    return time_limit_s - min(_CHECK_S_A_TASK * instance.n_tasks, _MOST_RESERVED * time_limit_s)


def _time_for_method_s() -> float | None:
    """Seconds for a method: all but what a bound takes afterwards, which few methods work out before."""
    left = seconds_left()
    return None if left is None else left - min(_BOUND_S, _BOUND_SHARE * left)


class _Progress:
    """Reports what a method reports, and the same once more where it has been silent for long."""

    def __init__(self, on_progress: Callable[[TracePoint, int], None] | None) -> None:
        self._on_progress = on_progress
        self._last = TracePoint(0, math.inf, math.inf), 0
        self._when = time.perf_counter()

    def __call__(self, point: TracePoint, planned: int) -> None:
        self._last = point, planned
        self._when = time.perf_counter()
        if self._on_progress is not None:
            self._on_progress(point, planned)

    def again(self) -> None:
        """Report the last point again if that was long ago."""
        if time.perf_counter() - self._when >= SIGN_OF_LIFE_S:
            self(*self._last)


def _with_incumbent(
    instance: Instance, method: Method, run: Run, outcome: MethodOutcome, cut_short: bool
) -> MethodOutcome:
    """Return the outcome of a method with what is known beside it.

    That is the plan to start from; and, of a method whose time was over, the best plan that it came across. Where it
    had none yet, that of a simple heuristic is better than none.
    """
    known = run.incumbent
    if not cut_short and outcome.schedule is not None:
        known.schedule = run.initial
    known.take(outcome.schedule)
    if outcome.bound is not None:
        known.raise_bound(outcome.bound)
    warnings = outcome.warnings
    if known.schedule is None and known.bound < math.inf and method.name not in _BY_SIMPLE_HEURISTICS and cut_short:
        known.take(_simple_plan(instance, run))
        if known.schedule is not None:
            text = f"there was no time for {method.name} to find a plan; this is one of a simple heuristic"
            warnings = (*warnings, text)
    return replace(
        outcome, schedule=known.schedule, bound=None if known.bound == -math.inf else known.bound, warnings=warnings
    )


def _simple_plan(instance: Instance, run: Run) -> Schedule | None:
    """Return the plan of the greedy, or else of longest task first; None if both find none, or are stopped."""
    from ...heuristics.bags.greedy import greedy  # here, so that no method loads another one for nothing
    from ...heuristics.bags.lpt import LptOptions, lpt

    with suppress(LimitReached):
        return greedy(instance).schedule or lpt(instance, LptOptions(), run).schedule
    return None


def _proven_bound(instance: Instance, outcome: MethodOutcome) -> float:
    """Bound of the method, or the divisible bound if it proved none."""
    if outcome.bound is not None:
        return outcome.bound
    return divisible_bound(instance).objective


def _message(instance: Instance, outcome: MethodOutcome, bound: float) -> str:
    """Why there is no plan: proved if it is, else what the method says."""
    if outcome.schedule is not None:
        return ""
    if math.isinf(bound) and not outcome.explanation.startswith("no plan exists"):
        reason = explain_infeasibility(instance)
        return f"{outcome.explanation}; {reason}" if outcome.explanation else reason
    return outcome.explanation or _NO_TIME


def _status(schedule: Schedule | None, bound: float) -> Status:
    """Say what was found, and what is proved."""
    if schedule is None:
        return "infeasible" if math.isinf(bound) else "no-plan"
    return "optimal" if closes_gap(schedule.objective, bound) else "feasible"
