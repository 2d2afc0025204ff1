"""``solve``: the one call for all methods."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, Literal

import numpy as np

from ...audits.bags.plan import check
from ...bounds.bags.divisible_bound import divisible_bound
from ...core.errors import InputError, Issue, SpotbagError
from ...core.limits import (
    ITERATIONS,
    SIGN_OF_LIFE_S,
    Stop,
    Stopwatch,
    clock_s,
    current_limit,
    refuse_no_iterations,
    refuse_no_time_limit,
    seconds_left,
    share_of_time,
    stopped,
    within,
    work_clock,
)
from ...core.processes import default_threads, interruptible
from ...core.quantities import at_most, closes_gap
from ...heuristics.bags.d_spot import d_spot_warning, with_d_spot
from ...instances.entries import Goal, SurvivalLevel, SurvivalOption
from ...instances.instance import Instance
from ...schedules.documents import LOSSES, NO_TIME_TO_LOOK, Survival
from ...schedules.method import TracePoint
from ...schedules.schedule import Schedule, UnsuitablePlanError, busy_before
from .budget import BUDGET
from .goals import Attempt, Attempts, FirstStage, SecondStage, StepLog, cheapest_by, first_stage, plan_of, second_stage
from .methods import GivenMethod, find_method, make_options
from .result import Result, Stage, Status, stages_of

_MOST_THREADS = 1024


def solve(
    instance: Instance,
    method: GivenMethod = "auto",
    *,
    time_limit_s: float | None = None,
    iterations: int | None = None,
    target_gap: float = 0.0,
    seed: int = 0,
    threads: int | None = None,
    initial: Schedule | None = None,
    options: Mapping[str, Any] | None = None,
    on_progress: Callable[[TracePoint, int], None] | None = None,
    stop: Stop | None = None,
    goal: Goal | None = None,
    budget_usd: float | None = None,
    near_least: float | None = None,
    survive: SurvivalOption | None = None,
    late: Literal["least"] | None = None,
) -> Result:
    """Plan an instance.

    The method is run, for one D_spot or for several if none is given (see `Instance`), and its plan goes through the
    independent checker before it is handed out.

    Parameters
    ----------
    instance : Instance
        The problem.
    method : str, Method or callable
        A name that ``spotbag methods`` lists, or ``module:attribute``; or a method of your own: a
        `spotbag.plugins.Method`, as a class or an instance, or a function of an instance and a `spotbag.plugins.Run`
        that returns a `spotbag.plugins.Outcome`.
    time_limit_s : float, optional
        The best plan and bound so far are returned when it is over. Where the first plan and its check take longer,
        that plan is returned.
    iterations : int, optional
        A limit of work in place of one of time, in one thread: the same call makes the same plan, however busy the
        machine is. A million is about what a core does in a second; see docs/stopping.md.
    target_gap : float
        Relative gap between plan and bound at which they stop; 0 to go on until the optimum is proved.
    seed : int
        For methods that use random numbers: same seed, one thread and no time limit, same plan.
    threads : int, optional
        How many may work at once: with more than one, the route searches and proves side by side, and CP-SAT has the
        others. All usable cores if absent, or what the environment variable ``SPOTBAG_THREADS`` says; one where a plan
        must be the same each time, as which thread is the first depends on the machine.
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
    goal : {"cheapest", "fastest", "balanced"}, optional
        Instead of the goal of the instance; see `Objective`.
    budget_usd : float, optional
        Instead of the budget of the instance; for the goal ``fastest``.
    near_least : float, optional
        The fastest plan is wanted that costs at most so much more than the least, as a share of it: 0.05 for 5 %. The
        cheapest plan is looked for first, in half of the time; what it costs, and so much more, is the budget then.
    survive : {"one-type", "one-pool", "blackout", "each", "none"}, optional
        Instead of what the instance says.
    late : {"least"}, optional
        Instead of what the instance says: if no plan in time is found in half of the time, one is looked for with as
        few tasks late as can be, and as little late; it has the status ``late``.

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
    PluginError
        If a method that is not built in fails, or makes a plan that breaks a rule.
    """
    again = partial(solve, method=method, target_gap=target_gap, seed=seed, options=options, on_progress=on_progress)
    if iterations is not None:
        refuse_iterations_with(time_limit_s, threads, method)
        ask = partial(again, instance, initial=initial, stop=stop, goal=goal, budget_usd=budget_usd)
        return by_iterations(partial(ask, near_least=near_least, survive=survive, late=late), iterations)
    if near_least is not None:
        from ...schedules.lateness import refuse_late, with_late  # here, as below, since few ask for it

        refuse_late(instance if late is None else with_late(instance, late), near_least=near_least)
        ask = partial(again, threads=threads, stop=stop, survive=survive)
        if goal is not None or budget_usd is not None:
            raise InputError("near_least", [Issue("", "has a goal and a budget of its own: leave those out")])
        return _fastest_near_least(ask, instance, near_least, time_limit_s, initial)
    if on_progress is not None and not callable(on_progress):
        raise InputError("on_progress", [Issue("", "must be something to be called, or None", value=on_progress)])
    chosen = find_method(method)
    made_options = make_options(chosen, options or {})
    threads = default_threads() if threads is None else threads
    refuse_wrong(time_limit_s, seed, threads, target_gap)
    chosen.refuse_unknown(instance)
    if goal is not None or budget_usd is not None:
        instance = instance.with_goal(goal, budget_usd)
    if survive is not None:
        instance = instance.replace(survive=survive)
    if late is not None:
        instance = instance.replace(late=late)
    began_s = time.perf_counter()
    # Without a limit, patience is one of work: a machine that is busy proves no less.
    patient = not chosen.plugin and time_limit_s is None and seconds_left() is None and current_limit().work is None
    if instance.late is not None:
        from ...schedules.lateness import refuse_late
        from .late import least_late

        refuse_late(instance, instance.survive or "none")
        ask = partial(again, threads=threads)
        with interruptible(stop) as limit, work_clock() if patient else nullcontext():
            begin = clock_s()
            asked = with_d_spot(instance, "paper" if chosen.published else None)
            start = None if initial is None else start_of(asked, initial)
            result = least_late(ask, instance, asked, time_limit_s, (seed, threads), begin, start)
        return replace(result, runtime_s=time.perf_counter() - began_s, interrupted=limit.stopped())
    progress = _Progress(on_progress)
    on_life = None if on_progress is None else progress.again
    log = StepLog(began_s)
    attempts = Attempts(chosen, made_options, seed, threads, target_gap, progress, progress.again, log)
    with interruptible(stop, on_life) as limit, work_clock() if patient else nullcontext():
        begin = clock_s()
        with within(BUDGET.time_for_plan_s(instance.n_tasks, time_limit_s), begin=begin):
            question = _question(instance, chosen.published)
            attempts = replace(attempts, asked=question.instance)
            start = None if initial is None else start_of(question.instance, initial)
            first = _first_stage(attempts, question, start)
            second = _second_stage(attempts, question, first)
            bound, without = _bound(question, first.attempt), first.bound_without
        schedule = first.attempt.schedule if second is None else second.schedule
        if schedule is not None and chosen.closes_vms and not limit.stopped():
            left_s = None if time_limit_s is None else max(time_limit_s - (clock_s() - begin), 0.0)
            with within(None if left_s is None else BUDGET.half * left_s):
                schedule = _with_fewer_vms(question, first, schedule)
        if first.instance.leaves_time:
            from ...schedules.rescuable import of_bag  # here, since not all ask for it

            first = first._replace(instance=of_bag(first.instance))
        schedule = None if schedule is None else plan_of(first.instance, schedule)
        if schedule is not None:
            _refuse_false_answer(chosen.name, first.instance, schedule, bound)
            log.note("check", first.instance, schedule)
            bound = min(bound, schedule.objective)  # apart by rounding only
            without = None if without is None or closes_gap(bound, without) else without
            progress.end(schedule.objective)
        survival = None
        if schedule is not None and question.level is not None:
            left = None if time_limit_s is None else time_limit_s - (clock_s() - begin)
            survival = _survival(schedule, question.level, first.without_usd, left)
            log.note("certificate", first.instance, schedule)
            if survival.cost_without_usd is not None and not _has_spot(schedule) and question.chooses:
                from .survival import spot_with

                with within(None if left is None else max(left, BUDGET.certificate_s)):
                    ways = spot_with(attempts, question.given, question.level, bound)
                survival = survival.model_copy(update={"spot_with": ways})
            progress.again()
        stages = stages_of(schedule, bound, None if second is None else second.bound)
        warnings = (*_warnings(question, first.instance, survival), *first.attempt.warnings)
        warnings += ("" if schedule is None else _waiting(schedule),)
        trace = tuple(progress.trace)
        result = Result(
            status=_status(schedule, bound, stages),
            instance=first.instance,
            method=chosen.name,
            schedule=schedule,
            message=first.attempt.message if schedule else _way_out(question.instance, first.attempt.message),
            warnings=tuple(text for text in warnings if text),
            bound=bound,
            bound_without=without,
            stages=stages,
            survival=survival,
            runtime_s=time.perf_counter() - began_s,
            seed=seed,
            stats={"iterations": trace[-1].iteration} if trace else {},
            trace=trace,
            steps=tuple(log.steps),
        )
    return replace(result, interrupted=limit.stopped())


def _fastest_near_least(
    ask: Callable[..., Result], instance: Instance, share: float, time_limit_s: float | None, initial: Schedule | None
) -> Result:
    """Return the fastest plan that costs at most a share more than the cheapest one that is found first."""
    if not 0 <= share < math.inf:
        raise InputError("near_least", [Issue("", "must be a share that is not negative, such as 0.05", value=share)])
    begin = clock_s()
    half_s = None if time_limit_s is None else BUDGET.half * time_limit_s
    cheapest = ask(instance, goal="cheapest", time_limit_s=half_s, initial=initial)
    if cheapest.schedule is None or cheapest.interrupted:
        return cheapest
    left_s = None if time_limit_s is None else max(time_limit_s - (clock_s() - begin), SIGN_OF_LIFE_S)
    budget_usd = (1 + share) * cheapest.schedule.cost_usd
    fastest = ask(instance, goal="fastest", budget_usd=budget_usd, time_limit_s=left_s, initial=cheapest.schedule)
    later_s = cheapest.runtime_s
    steps = tuple(replace(step, began_s=step.began_s + later_s) for step in fastest.steps)
    return replace(fastest, runtime_s=clock_s() - begin, steps=(*cheapest.steps, *steps))


def by_iterations(ask: Callable[..., Result], iterations: int) -> Result:
    """Ask for a plan within iterations: with the clock of work, and in one thread."""
    refuse_no_iterations(iterations)
    begin = time.perf_counter()
    with work_clock() as work:
        result = ask(time_limit_s=iterations / ITERATIONS.second, threads=1)
    stats = {**result.stats, "counted_iterations": round(work.iterations)}
    return replace(result, runtime_s=time.perf_counter() - begin, stats=stats)


def refuse_iterations_with(time_limit_s: object, threads: object, method: GivenMethod) -> None:
    """Refuse arguments with which the same plan each time cannot be promised."""
    if time_limit_s is not None:
        raise InputError("iterations", [Issue("", "are a limit in place of one of time: give one or the other")])
    if threads not in (None, 1):
        rule = "are counted in one thread, for the same plan each time: leave threads out, or have a time limit"
        raise InputError("iterations", [Issue("", rule)])
    chosen = find_method(method)
    if chosen.plugin:
        rule = f"are counted by methods that are built in, which {chosen.plugin} is not: have a time limit"
        raise InputError("iterations", [Issue("", rule)])


def refuse_wrong(time_limit_s: object, seed: object, threads: object, target_gap: float = 0.0) -> None:
    """Refuse numbers that mean nothing."""
    if time_limit_s is not None:
        refuse_no_time_limit(time_limit_s)
    if not (isinstance(seed, Integral) and 0 <= int(seed) < 2**63):
        raise InputError("seed", [Issue("", "must be from 0 to 2^63 - 1", value=seed)])
    if not 0 <= target_gap < 1:
        raise InputError("target gap", [Issue("", "must be from 0 to less than 1", value=target_gap)])
    if not (isinstance(threads, Integral) and 1 <= int(threads) <= _MOST_THREADS):
        raise InputError("threads", [Issue("", f"must be from 1 to {_MOST_THREADS}", value=threads)])


def start_of(instance: Instance, initial: Schedule) -> Schedule:
    """Return the plan to start from as one of the instance with D_spot; refuse one that breaks a rule."""
    try:
        start = replace(initial, instance=instance)
    except UnsuitablePlanError as error:
        raise InputError("initial plan", [Issue("", f"does not fit the instance: {error.issues[0].rule}")]) from None
    violations = check(instance, start).violations
    if violations:
        raise InputError("initial plan", [Issue("", f"breaks a rule: {violation}") for violation in violations])
    return start


@dataclass(frozen=True, slots=True)
class _Question:
    """Question to a method.

    Attributes
    ----------
    given : Instance
        As it is given.
    instance : Instance
        With D_spot set: the latest, where it is to be chosen.
    level : {"one-type", "one-pool", "blackout", "each"} or None
        What a plan is to survive; None if that is of no interest.
    chooses : bool
        Whether D_spot is to be chosen so that the plan survives that.
    ordered : bool
        Whether a second quantity is made least after the first.
    """

    given: Instance
    instance: Instance
    level: SurvivalLevel | None
    chooses: bool
    ordered: bool


def _question(given: Instance, published: bool) -> _Question:
    """Return the question to a method; published methods have the D_spot, and the objective, of their paper."""
    instance = with_d_spot(given, "paper" if published else None)
    asked = given.survive or "one-type"
    level = None if asked == "none" else asked
    open_to_choice = given.d_spot_s is None and given.d_spot_rule is None and instance.d_spot_s is not None
    return _Question(
        given,
        instance,
        level,
        chooses=level is not None and open_to_choice and not published,
        ordered=instance.goal != "balanced" and not published,
    )


def _first_stage(attempts: Attempts, question: _Question, start: Schedule | None) -> FirstStage:
    """Make the first quantity least, of the plans that survive where that is to be chosen."""
    with within(share_of_time(BUDGET.first if question.ordered else 1.0)):
        if question.chooses and question.level is not None:
            from .survival import surviving_first_stage  # here, since not all ask for it

            must = question.given.survive is not None
            return surviving_first_stage(attempts, question.instance, question.level, start, must)
        watch = Stopwatch()
        attempt = first_stage(attempts, question.instance, start)
        return FirstStage(question.instance, attempt, watch.seconds())


def _second_stage(attempts: Attempts, question: _Question, first: FirstStage) -> SecondStage | None:
    """Make the second quantity least, if there is one; the plan survives what the first did."""
    if not question.ordered or first.attempt.schedule is None or stopped():
        return None
    if first.survives and question.level is not None:
        from .survival import surviving_second_stage

        return surviving_second_stage(attempts, question.instance, question.level, first)
    return second_stage(attempts, first.instance, first.attempt, first_took_s=first.took_s)


def _with_fewer_vms(question: _Question, first: FirstStage, plan: Schedule) -> Schedule:
    """Return a plan that is as good on fewer VMs, and survives if the given one does; that one if none is found."""
    from ...heuristics.bags.fewer_vms import with_fewer_vms  # here, since only some methods ask for it

    if (plan.vm_machine >= 0).all():  # VMs that exist are there in any case; their tasks may end before others boot
        return plan
    fewer = with_fewer_vms(plan_of(first.instance, plan), lambda: cheapest_by(first.instance, plan.makespan_s))
    if len(fewer.vm_offer) == len(plan.vm_offer):
        return plan
    if question.level is None:
        return fewer
    from .survival import in_surviving_order

    surviving = in_surviving_order(fewer, question.level)
    if surviving is None and not first.survives and in_surviving_order(plan, question.level) is None:
        return fewer
    return surviving or plan


def _bound(question: _Question, first: Attempt) -> float:
    """Return the proven bound of all plans."""
    as_given = with_d_spot(question.given)
    if as_given.d_spot_s == question.instance.d_spot_s:
        return first.bound
    return divisible_bound(as_given).objective  # one of plans with the paper's D_spot is none of all plans


def _refuse_false_answer(method: str, instance: Instance, schedule: Schedule, bound: float) -> None:
    """Refuse a plan that the checker refuses, or that is better than a proven bound."""
    violations = check(instance, schedule).violations
    if violations:
        raise SpotbagError(f"{method} made a plan that breaks a rule; please report this: {violations[0]}")
    objective = schedule.objective
    if bound > at_most(objective):
        raise SpotbagError(
            f"{method} claims a bound of {bound:.12g} and made a plan of {objective:.12g}; please report this"
        )


def _survival(schedule: Schedule, level: SurvivalLevel, without_usd: float | None, left_s: float | None) -> Survival:
    """Return the certificate of a plan, within what is left of a limit."""
    from ...heuristics.bags.rescue import survival_soon  # here, since not all ask for it

    if without_usd is not None and without_usd >= schedule.cost_usd:
        without_usd = None
    within_s = None if left_s is None else max(left_s, BUDGET.certificate_s)
    return survival_soon(schedule, level, within_s, BUDGET.certificate_s, without_usd)


def _way_out(instance: Instance, message: str) -> str:
    """Return a message on a bag without a plan, with the way out."""
    from ...bounds.bags.infeasibility import with_way_out  # here, since most bags have one

    return with_way_out(instance, message)


_MUCH_WAITING = 0.1
"""Part of the cost of a plan, paid while VMs wait for the release of a task, from which there is a note on it."""


def _waiting(schedule: Schedule) -> str:
    """Name the cost of VMs that run nothing until a task is released, if it is much."""
    if not schedule.instance.has_dates:
        return ""
    rows, before_s = busy_before(schedule)
    idle_s = np.maximum(schedule.task_start_s[rows] - before_s, 0)
    vm = schedule.task_vm[rows]
    usd = float(schedule.instance.offer_price_usd_per_s[schedule.vm_offer[vm]] @ idle_s)
    if usd <= _MUCH_WAITING * schedule.cost_usd:
        return ""
    return (
        f"$ {usd:.4f} of the cost is for VMs that wait until tasks are released: plans rent each VM once, from the "
        "beginning on, so plan late tasks as a bag of their own where that is dear"
    )


def _has_spot(schedule: Schedule) -> bool:
    return bool(schedule.instance.offer_is_spot[schedule.vm_offer].any())


def _warnings(question: _Question, instance: Instance, survival: Survival | None) -> Iterator[str]:
    """Warn of a D_spot that shuts out all spot VMs, and of a plan that does not survive though it should."""
    if not question.chooses:
        yield d_spot_warning(question.given, instance)
    should = question.chooses or question.given.survive is not None
    if survival is not None and survival.verdict != "survives" and should:
        if survival.reason == NO_TIME_TO_LOOK:
            yield NO_TIME_TO_LOOK
            return
        subject = "it is not shown that the plan survives"
        if question.chooses:
            subject = "no plan was found that survives"
        elif survival.verdict == "does-not-survive":
            subject = "the plan does not survive"
        yield f"{subject} {LOSSES[survival.level]}: {survival.reason}"


class _Progress:
    """Keeps and reports what methods report, and reports it once more where they have been silent for long.

    Iterations are counted on from one run of a method to the next.
    """

    def __init__(self, on_progress: Callable[[TracePoint, int], None] | None) -> None:
        self.trace: list[TracePoint] = []
        self._iterations_before = 0
        self._on_progress = on_progress
        self._last = TracePoint(0, math.inf, math.inf), 0
        self._when = time.perf_counter()

    def __call__(self, point: TracePoint, planned: int) -> None:
        last = self._last[0].iteration
        if self._iterations_before + point.iteration < last:
            self._iterations_before = last
        told = replace(point, iteration=self._iterations_before + point.iteration)
        if not self.trace or told != self.trace[-1]:  # such as the end of a run, which is where the next one begins
            self.trace.append(told)
        self._report(told, planned)

    def _report(self, point: TracePoint, planned: int) -> None:
        self._last = point, planned
        self._when = time.perf_counter()
        if self._on_progress is not None:
            self._on_progress(point, planned)

    def again(self) -> None:
        """Report the last point again if that was long ago."""
        if time.perf_counter() - self._when >= SIGN_OF_LIFE_S:
            self._report(*self._last)

    def end(self, objective: float) -> None:
        """Report the plan that is handed out, if it is better than the last point: not all steps report their plans."""
        point, planned = self._last
        if self.trace and objective < point.best:
            self.trace.append(replace(point, current=objective, best=objective))
            self._report(self.trace[-1], planned)
        self.again()


def _status(schedule: Schedule | None, bound: float, stages: tuple[Stage, ...]) -> Status:
    """Return the status of a plan and a bound."""
    if schedule is None:
        return "infeasible" if math.isinf(bound) else "no-plan"
    proven = all(stage.proven for stage in stages) and closes_gap(schedule.objective, bound)
    return "optimal" if proven else "feasible"
