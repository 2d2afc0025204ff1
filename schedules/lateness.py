"""Lateness: which tasks a plan has too late, what they come to, and which are lost in any."""

from __future__ import annotations

import copy
from typing import Literal, NamedTuple

import numpy as np

from ..core.errors import InputError, Issue
from ..core.quantities import IntArray
from ..instances.entries import NEVER
from ..instances.instance import Instance
from .schedule import Schedule
from .timing import objective_value


class Value(NamedTuple):
    """Value of a plan with late tasks: quantities in the order in which they are made least.

    Attributes
    ----------
    weight, lateness_s : float
        Weight of the late tasks, and their weighted seconds.
    objective : float
        Objective of the instance.
    """

    weight: float
    lateness_s: float
    objective: float


def late_s(plan: Schedule, instance: Instance) -> IntArray:
    """Seconds by which each task of a plan is late for an instance, shape (n_tasks,); 0 or less of one in time."""
    seconds: IntArray = plan.task_end_s - instance.due_s[instance.task_group]
    return seconds


def value_of(plan: Schedule, instance: Instance) -> Value | None:
    """Return the value of a plan; None if a task that is in time is on a spot VM after D_spot."""
    seconds, group = late_s(plan, instance), instance.task_group
    late = seconds > 0
    too_late = plan.task_end_s > instance.latest_end_s[group, plan.vm_offer[plan.task_vm]]
    # A late task may end at any time, D_spot or not; one in time must leave the time to do it again.
    too_late[instance.running.task] = False  # where they are and until when is no choice of the plan
    if (too_late & ~late).any():
        return None
    weight = instance.weight[group]
    objective = objective_value(instance, plan.cost_usd, plan.makespan_s)
    return Value(float(weight[late].sum()), float((weight * seconds)[late].sum()), objective)


def with_late(instance: Instance, late: Literal["least"] | None) -> Instance:
    """Return an instance whose tasks may be late, or may not; unchecked, and all arrays are shared."""
    twin = copy.copy(instance)
    twin.__dict__.update(instance.__dict__ | {"late": late})
    twin.model_fields_set.add("late")
    return twin


def refuse_late(instance: Instance, level: str = "none", near_least: float | None = None) -> None:
    """Refuse a budget, and survival, where a plan with late tasks is asked for: it cannot honour them.

    Raises
    ------
    InputError
        If there is a budget, or a plan is to survive losses.
    """
    if instance.late is None:
        return
    if instance.late != "least":
        raise InputError("late", [Issue("", "must be least, or absent", value=instance.late)])
    if instance.objective.budget_usd is not None or near_least is not None:
        rule = "has no budget: a plan with late tasks costs what it must; leave budget_usd and near_least out"
        raise InputError("late", [Issue("", rule, value=instance.late)])
    if level != "none":
        rule = f"promises no survival ({level}): no loss is made up for by a deadline that is lost already"
        raise InputError(
            "late", [Issue("", f"{rule}; survive=none (--survive none) goes with it", value=instance.late)]
        )


def require_in_time(instance: Instance) -> None:
    """Refuse a bag whose tasks may be late, where plans in time are chosen among.

    Raises
    ------
    InputError
        If they may be.
    """
    if instance.late is not None:
        rule = "has no meaning where one of several plans is chosen, as all of them are in time; leave it out"
        raise InputError("late", [Issue("", rule, value=instance.late)])


def relaxed(instance: Instance) -> Instance:
    """Return an instance with a deadline in which everything fits, which is that of spot VMs as well.

    No VM that has tasks left is idle after the deadline: then the best plan ends no later than if all tasks followed,
    one by one, where each takes longest.
    """
    seconds = np.where(instance.sustained_s < NEVER, instance.sustained_s, 0).max(axis=1, initial=0)
    begin_s = max(instance.deadline_s, int(instance.ready_s.max()), int(instance.running_end_s.max(initial=0)))
    begin_s = max(begin_s, int(instance.machine_ready_s.max(initial=0)), int(instance.release_s.max(initial=0)))
    horizon_s = begin_s + int(seconds[instance.task_group[instance.open_tasks]].sum())
    wider = copy.copy(instance)
    # Unchecked: a valid instance with more time is valid, and replanning has milliseconds.
    wider.__dict__.update(instance.__dict__ | {"deadline_s": horizon_s})
    for name in ("latest_end_s", "due_s"):
        wider.__dict__[name] = np.broadcast_to(np.int64(horizon_s), getattr(instance, name).shape)
    if instance.d_spot_s is not None:
        wider.__dict__["d_spot_s"] = horizon_s  # a late task may end at any time there
    if instance.goal == "balanced":
        scale = {"goal": "balanced", "makespan_scale_s": instance.makespan_scale_s}
        wider.__dict__["objective"] = instance.objective.model_copy(update=scale)
    return wider


class LostTask(NamedTuple):
    """A group of tasks that cannot be in time, even alone.

    Attributes
    ----------
    group : int
        The group.
    run_s, needed_s : int
        Its run time where it would end first, and the seconds to its end there, from the start of the boot if it needs
        one, or from when a core is free.
    since_s : int
        The last second at which that could have begun.
    offer : int
        Where that is, as an index into ``instance.offers``.
    """

    group: int
    run_s: int
    needed_s: int
    since_s: int
    offer: int


def lost_tasks(instance: Instance) -> list[LostTask]:
    """Return the groups of tasks to be placed that end in time on no VM that exists or may be rented, even alone."""
    seconds = instance.duration_s.min(axis=2)  # at full speed, where a mode is to be chosen
    rentable = np.array([offer.limit > 0 for offer in instance.offers])
    begin_s = np.where(rentable, instance.ready_s, NEVER)
    open_machines = instance.machine_open
    free_s = instance.machine_core_free_s.min(axis=1, initial=NEVER)[open_machines]
    np.minimum.at(begin_s, instance.machine_offer[open_machines], free_s)
    able = (seconds < NEVER) & (begin_s < NEVER)
    begin_s = np.maximum(np.where(begin_s < NEVER, begin_s, 0), instance.release_s[:, None])
    ends_s = np.where(able, seconds + begin_s, NEVER)
    in_time = (able & (ends_s <= instance.latest_end_s)).any(axis=1)
    found = []
    for group in np.flatnonzero(~in_time & (instance.open_size > 0) & able.any(axis=1)).tolist():
        offer = int(ends_s[group].argmin())
        run_s, needed_s = int(seconds[group, offer]), int(ends_s[group, offer])
        since_s = int(instance.latest_end_s[group, offer]) - needed_s
        found.append(LostTask(group, run_s, needed_s, since_s, offer))
    return found
