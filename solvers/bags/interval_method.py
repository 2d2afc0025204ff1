"""The method ``interval``: the CP-SAT interval model, from the best plan at hand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ...bounds.bags.configuration_bound import configuration_bound
from ...core.limits import seconds_left, within
from ...instances.instance import Instance
from ...models.bags.interval import IntervalModel
from ...models.bags.interval_places import IntervalSwitches, refuse_too_many_tasks
from ...schedules.method import Outcome, Run
from ..cp_sat import solve_cp_model
from .budget import BUDGET
from .exact_method import ModelTrace, exact_outcome, start_plan

Switch = Literal["on", "off"]


@dataclass(frozen=True, slots=True)
class IntervalOptions:
    """Parts of the model, none of which changes the optimum.

    Attributes
    ----------
    energy_cuts : {"on", "off"}
        Cuts for core seconds, memory seconds and tasks that cannot run together.
    symmetry : {"on", "off"}
        Order of identical VMs and identical tasks.
    fixing : {"on", "off"}
        Leave out what no plan better than the start does.
    """

    energy_cuts: Switch = "on"
    symmetry: Switch = "on"
    fixing: Switch = "on"


def interval(instance: Instance, options: IntervalOptions, run: Run) -> Outcome:
    """Solve the interval model, from ``run.initial`` or from longest task first.

    Parameters
    ----------
    instance : Instance
        With D_spot set if spot VMs are offered.
    options : IntervalOptions
        What the model contains.
    run : Run
        Seed, time limit, target gap, threads, progress and the plan to start from, which must be feasible.

    Returns
    -------
    Outcome
        A plan no worse than the start, and the larger of CP-SAT's bound and the configuration bound; the bound is
        infinite if the instance is proved infeasible.

    Raises
    ------
    ModelRefusal
        If the model would be too large.
    """
    refuse_too_many_tasks(instance)
    bound = configuration_bound(instance)
    if math.isinf(bound.objective):
        if instance.has_dates:
            from .infeasible import explain  # here, since few bags ask for it

            return Outcome(None, explain(instance), bound=math.inf)
        return Outcome(None, "no plan exists: even divisible tasks do not fit the limits", bound=math.inf)
    switches = IntervalSwitches(*(value == "on" for value in (options.energy_cuts, options.symmetry, options.fixing)))
    begin = start_plan(instance, run)
    start = begin.schedule
    left_s = seconds_left()
    # What takes longer to build is hardly looked at before the time is over, and then for longer than that.
    with within(None if left_s is None else BUDGET.first * left_s):
        model = IntervalModel(instance, bound, start, switches=switches)
    trace = ModelTrace(run, start)
    of_model = model.model, trace.limits(), model.schedule, model.factor, model.constant
    answer = solve_cp_model(*of_model, inclusions=not model.counts_vms, chain=model.longest_account_s)
    proved = max(bound.objective, answer.bound)
    explanation = _explain(model, answer.status)
    return exact_outcome(instance, start, answer.values, proved, explanation)


def _explain(model: IntervalModel, status: str) -> str:
    """Say why there is no plan."""
    if model.placeless is not None:
        name = model.instance.task_ids[model.placeless]
        return f"no plan exists: task {name!r} ends in time on no VM that may be rented"
    if status == "infeasible":
        return "no plan exists: the tasks do not fit the VMs that may be rented before the deadlines"
    return "CP-SAT found no plan until it was stopped; this proves nothing"
