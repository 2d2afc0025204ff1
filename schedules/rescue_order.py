"""The order of tasks on cores in which what spot VMs may lose can be done again latest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..core.quantities import BoolArray, IntArray
from ..instances.rescuable import on_demand_s, redone_after_s
from .schedule import Schedule


def rescuable(schedule: Schedule) -> Schedule | None:
    """Return the plan if all tasks that are lost with spot VMs can be done again on demand by the deadline.

    Where the order of the tasks on each core is what forbids it, the plan with the longest tasks first; None if neither
    leaves the time.
    """
    if not _fits_on_demand(schedule):
        return None
    if _in_time(schedule):
        return schedule
    ordered = longest_first_order(schedule)
    return ordered if _in_time(ordered) else None


def _in_time(schedule: Schedule) -> bool:
    """True if each task, but for those that run already, ends early enough."""
    instance = schedule.instance
    latest_s = instance.latest_end_s[instance.task_group, schedule.vm_offer[schedule.task_vm]]
    late = schedule.task_end_s > latest_s
    late[instance.running.task] = False
    return not late.any()


def _fits_on_demand(schedule: Schedule) -> bool:
    """True if on-demand VMs have time for all tasks lost at once before any has ended."""
    time = schedule.instance.rescue_time
    if time is None:
        return True
    places = schedule.instance.task_group, schedule.vm_offer[schedule.task_vm]
    counts = (time.whole_s[places] >= time.from_s[:, None]) * time.members[:, places[1]]
    return bool((counts @ time.again_s[places] <= time.most_s).all())


def longest_first_order(schedule: Schedule) -> Schedule:
    """Return the plan with the tasks of each spot core in the order in which they can be lost latest.

    What would take longest on demand comes first: by the argument of the earliest due date, if any order lets every
    task be done again after it is lost just before its end, this one does. Cores end when they did, so that the plan
    costs and takes the same. Where memory may bind or tasks have dates, on burstable VMs, and on cores with gaps,
    nothing is changed; nor are tasks that run already.
    """
    base_s = core_base_s(schedule)
    rows, core = _movable(schedule, base_s)
    if not len(rows):
        return schedule
    left = redone_at_end_s(schedule)[rows]
    order = np.lexsort((schedule.task_start_s[rows], -left, core))
    rows, core = rows[order], core[order]
    before = np.cumsum(schedule.task_duration_s[rows]) - schedule.task_duration_s[rows]
    first = np.searchsorted(core, core)
    start = schedule.task_start_s.copy()
    start[rows] = base_s[core] + before - before[first]
    return replace(schedule, task_start_s=start)


def first_core(schedule: Schedule) -> IntArray:
    """Number of the first core of each VM, among all cores."""
    first: IntArray = np.cumsum(schedule.vm_vcpus) - schedule.vm_vcpus
    return first


def core_base_s(schedule: Schedule) -> IntArray:
    """Seconds from which each core can begin tasks, shape (n_cores,): VM ready, and what runs there already ended."""
    base_s = np.repeat(schedule.vm_ready_s, schedule.vm_vcpus)
    runs = schedule.instance.running.task
    core = first_core(schedule)[schedule.task_vm[runs]] + schedule.task_core[runs]
    np.maximum.at(base_s, core, schedule.task_end_s[runs])
    return base_s


def _movable(schedule: Schedule, base_s: IntArray) -> tuple[IntArray, IntArray]:
    """Tasks of spot VMs whose order is free, and their cores."""
    instance = schedule.instance
    types = np.array([offer.type_index for offer in instance.offers])[schedule.vm_offer]
    free = instance.memory_never_binds[types] & instance.offer_is_spot[schedule.vm_offer]
    free &= ~instance.offer_is_burstable[schedule.vm_offer]
    movable = free[schedule.task_vm]
    movable[instance.running.task] = False
    movable &= not instance.has_dates
    rows = np.flatnonzero(movable)
    core = first_core(schedule)[schedule.task_vm[rows]] + schedule.task_core[rows]
    busy = np.bincount(core, weights=schedule.task_duration_s[rows], minlength=len(base_s))
    end = np.zeros(len(busy), dtype=np.int64)
    np.maximum.at(end, core, schedule.task_end_s[rows])
    whole: BoolArray = busy == end - base_s
    return rows[whole[core]], core[whole[core]]


def redone_at_end_s(schedule: Schedule) -> IntArray:
    """Seconds until each task of a spot VM would be done if it were lost just before its end, shape (n_tasks,)."""
    instance = schedule.instance
    types = np.array([offer.type_index for offer in instance.offers])[schedule.vm_offer[schedule.task_vm]]
    group, interval = instance.task_group, schedule.checkpoint_interval_s
    written = np.where(np.isfinite(interval), instance.checkpoint_count[group, types], 0.0)
    on_demand = {takeover_s: run_s[group] for takeover_s, run_s in on_demand_s(instance).items()}
    return redone_after_s(on_demand, written, interval, instance.runtime_s[group, types])
