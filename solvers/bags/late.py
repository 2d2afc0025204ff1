"""The best that can still be done when the deadline is lost: a plan with few tasks late, and what would save them."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from ...audits.bags.plan import check
from ...bounds.bags.infeasibility import WAY_OUT, late_weight_bound, why_late, with_more_vms
from ...core.errors import ModelRefusal, SpotbagError
from ...core.limits import LimitReached, checkpoint, clock_s, overtime, seconds_left, stopped, within
from ...core.quantities import closes_gap
from ...heuristics.bags.late import anneal_late, best_late, first_late_plan
from ...instances.entries import NEVER
from ...instances.instance import Instance
from ...schedules.documents import Lateness, LateTask, MoreVms
from ...schedules.lateness import late_s, lost_tasks, with_late
from ...schedules.method import Run
from ...schedules.schedule import Schedule
from ..backend import SolverLimits
from .budget import BUDGET
from .goals import NO_TIME
from .infeasible import deadline_with_plan_s, simple_plan
from .result import Result

LATE_TASKS = 30
"""Most tasks to be placed of a bag whose plans with late tasks are proved."""


def least_late(
    ask: Callable[..., Result],
    instance: Instance,
    question: Instance,
    time_limit_s: float | None,
    seed_and_threads: tuple[int, int],
    begin: float,
    initial: Schedule | None,
) -> Result:
    """Return a plan in time if one is found, and else one with as few late tasks, and as little late, as are found.

    Parameters
    ----------
    ask : callable
        Looks for a plan in time of an instance, within ``time_limit_s``, from ``initial``.
    instance, question : Instance
        As it is given, and with D_spot set.
    time_limit_s, seed_and_threads
        See `solve`.
    begin : float
        Moment of `clock_s` from which the time counts.
    initial : Schedule, optional
        A plan of the question to start from, in time or not.
    """
    seed, threads = seed_and_threads
    bound = late_weight_bound(question)
    in_time, asked = with_late(instance, None), None
    if not bound:
        limit_s = math.inf if time_limit_s is None else time_limit_s
        share_s = BUDGET.half * limit_s
        early = initial if initial is not None and (late_s(initial, question) <= 0).all() else None
        asked = ask(in_time, time_limit_s=None if share_s == math.inf else share_s, initial=early)
        took_s = clock_s() - begin
        # Time ended the search, and no plan with late tasks is needed: what is left of it is for a better one in time.
        if asked.schedule is not None and BUDGET.most * share_s <= took_s < limit_s:
            left_s = max(limit_s - took_s, BUDGET.least_question_s)
            asked = ask(in_time, time_limit_s=left_s, initial=asked.schedule)
        if asked.schedule is not None or asked.interrupted:
            return asked
        bound = least_weight(question, asked)

    look_s = BUDGET.least_s if time_limit_s is None else min(BUDGET.least_s, BUDGET.look_share * time_limit_s)
    with within(None if time_limit_s is None else time_limit_s - 2 * look_s, begin=begin):
        plan, bound = late_plan(question, seed, bound, initial, threads, prove=True)
    return late_result(question, plan, bound, asked, seed, begin, look_s=look_s)


def least_weight(instance: Instance, asked: Result) -> float:
    """Return a proven lower bound of the weight of late tasks, after a search for a plan in time that found none."""
    proved = float(instance.weight.min()) if asked.status == "infeasible" else 0.0
    return max(late_weight_bound(instance), proved)


def late_plan(
    instance: Instance, seed: int, bound: float, start: Schedule | None, threads: int, prove: bool
) -> tuple[Schedule | None, float]:
    """Return the best plan found with tasks that are late, and a bound of their weight.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    seed, threads : int
        See `solve`.
    bound : float
        A bound that is known.
    start : Schedule, optional
        A plan of the instance; nothing worse is returned.
    prove : bool
        Whether there is time for a model of a bag of few tasks.
    """
    n_open = len(instance.open_tasks)
    prove &= n_open <= LATE_TASKS
    with suppress(LimitReached), overtime(math.inf):  # whatever the time: something must be done
        start = best_late(instance, first_late_plan(instance), start)
    left_s = seconds_left()
    if start is not None and n_open:
        until = math.inf if prove or left_s is None else clock_s() + BUDGET.first * left_s
        start = anneal_late(start, seed, until)
    if prove:
        with suppress(ModelRefusal, LimitReached):
            return _by_model(instance, start, seed, threads, bound)
    return start, bound


def _by_model(
    instance: Instance, plan: Schedule | None, seed: int, threads: int, bound: float
) -> tuple[Schedule | None, float]:
    """Ask the interval model for the fewest late tasks, the least lateness, and the best objective, in turn."""
    from ...models.bags.interval_late import TURNS, LateIntervalModel
    from ..cp_sat import solve_cp_model

    patience_s = BUDGET.patience_for_s(instance.n_tasks)
    model = LateIntervalModel(instance)
    for number, turn in enumerate(TURNS):
        left_s = seconds_left()
        with suppress(LimitReached), within(patience_s if left_s is None else left_s / (len(TURNS) - number)):
            model.ask(turn, plan)
            # CP-SAT takes seeds of 31 bits.
            limits = SolverLimits(threads=threads, seed=seed % 2**31)
            of_turn = model.model, limits, model.plan, model.factor, model.constant
            answer = solve_cp_model(*of_turn, inclusions=not model.counts_vms)
            plan = best_late(instance, answer.values, plan)
            if turn == "weight":
                bound = max(bound, answer.bound)
        if plan is None:
            break
    return plan, bound


def late_result(
    instance: Instance,
    plan: Schedule | None,
    bound: float,
    asked: Result | None,
    seed: int,
    begin: float,
    look_s: float = 0.0,
) -> Result:
    """Make the result of a plan that may have tasks late, after the checker has passed it.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    plan : Schedule or None
        The plan.
    bound : float
        Proven lower bound of the weight of late tasks.
    asked : Result or None
        That of the search for a plan in time.
    seed, begin
        See `least_late`.
    look_s : float
        Seconds in which it may be found what would save the late tasks, for a deadline and for more VMs each.
    """
    message = why_late(instance) if asked is None else asked.message.removesuffix(WAY_OUT)
    message = message or f"at least {bound:g} of the tasks, by weight, are late in every plan"
    known = Result("infeasible", instance, "late", None, seed=seed) if asked is None else asked
    known = replace(known, instance=instance, schedule=None, bound=None)
    if plan is None:
        known = replace(known, status="no-plan", message=NO_TIME, runtime_s=clock_s() - begin)
        offers = [offer.index for offer in instance.offers if offer.limit]
        offers += instance.machine_offer[instance.machine_open].tolist()
        if (instance.duration_s[instance.open_size > 0][:, offers] == NEVER).all(axis=(1, 2)).any():
            message = "no plan exists: some tasks fit no VM that exists or may be rented, whatever the deadline"
            return replace(known, status="infeasible", message=message)
        message = "all tasks fit VMs that exist or may be rented at once, within their limits"
        if bound == math.inf:
            return replace(known, status="infeasible", message=f"no plan exists: not {message}")
        return known if stopped() else replace(known, message=f"no plan was found in which {message}")
    report = check(with_late(instance, "least"), plan)
    if report.violations:
        raise SpotbagError(f"late made a plan that breaks a rule; please report this: {report.violations[0]}")
    late = lateness_of(plan, instance, bound)
    if late is not None and look_s:
        late = late.model_copy(update=_saviours(instance, late, look_s))
    return replace(
        known,
        status="feasible" if late is None else "late",
        schedule=plan,
        message="" if late is None else message,
        late=late,
        runtime_s=clock_s() - begin,
    )


def lateness_of(plan: Schedule, instance: Instance, bound: float) -> Lateness | None:
    """Say which tasks a plan has late, with what is proved of their weight; None if none is."""
    seconds, group = late_s(plan, instance), instance.task_group
    rows = np.flatnonzero(seconds > 0)
    if not len(rows):
        return None
    since_s = {entry.group: entry.since_s for entry in lost_tasks(instance)}
    runs = {*instance.running.task.tolist()}
    rows = rows[np.lexsort((rows, -seconds[rows]))]
    tasks = tuple(
        LateTask(
            id=instance.task_ids[row],
            late_s=int(seconds[row]),
            weight=float(instance.weight[group[row]]),
            lost_since_s=None if row in runs else since_s.get(int(group[row])),
        )
        for row in rows.tolist()
    )
    weight = float(sum(task.weight for task in tasks))
    after_s = (plan.task_end_s - instance.latest_end_s[group, plan.vm_offer[plan.task_vm]])[rows]
    return Lateness(
        weight=weight,
        weight_bound=weight if closes_gap(weight, bound) else bound,
        lateness_s=float(sum(task.weight * task.late_s for task in tasks)),
        tasks=tasks,
        # Where tasks have dates, there is more to move than the deadline.
        enough_deadline_s=None if instance.has_dates else instance.deadline_s + int(after_s.max()),
    )


def _saviours(instance: Instance, late: Lateness, look_s: float) -> dict[str, object]:
    """Return a deadline by which a quick method has a plan, and the numbers of VMs with which one has."""
    enough_s = late.enough_deadline_s
    if enough_s is not None:
        with within(look_s):
            enough_s = deadline_with_plan_s(instance, instance.deadline_s, enough_s)
    more: list[MoreVms] = []
    with suppress(LimitReached), within(look_s):
        for offer in instance.offers:
            number = 1
            while number <= len(instance.open_tasks) and offer.listed_as is None and offer.market in instance.markets:
                checkpoint()
                wider = with_more_vms(instance, offer, number)
                if lost_tasks(wider):
                    break
                if simple_plan(wider, Run()) is not None:
                    more.append(MoreVms(type=offer.vm_type.name, market=offer.market, vms=number))
                    break
                # What is found is enough, though perhaps not the least: each number takes a plan, and time is short.
                number *= 2
    return {"enough_deadline_s": enough_s, "enough_vms": tuple(more) or None}
