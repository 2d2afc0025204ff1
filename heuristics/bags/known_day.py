"""A plan for a day that is known: each spot VM is given what it can do in the seconds that the day leaves it.

VMs that hibernate lose nothing: what counts is how long each is up by the deadline, and D_spot has no meaning where
all interruptions are known. Tasks go longest first to the cheapest VM with room for them; the annealing on core
loads (`annealing_kernel`) then lowers the bill, with a latest end for each VM.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...core.limits import checkpoint
from ...core.quantities import MAX_SECONDS, IntArray
from ...instances.instance import Instance
from ...models.bags.task_classes import memory_is_free, usable_offers
from ...schedules.schedule import Schedule
from .annealing import LoadsWalk, SearchOptions, Steps, cooled
from .core_loads import CoreLoads, core_level_s, empty_state, fill

_MOVES = 150_000
"""Moves of a run of the annealing; with three times as many, the plan costs less by half a percent."""


def known_day_plan(instance: Instance, up_s: Mapping[int, Sequence[int]]) -> Schedule | None:
    """Plan for a day of which it is known how long spot VMs are up.

    Parameters
    ----------
    instance : Instance
        With the goal ``cheapest``, and the deadline for D_spot.
    up_s : dict of int to sequence of int
        Of each spot offer, for how many seconds the first VM that is requested is up, the second, and so on.

    Returns
    -------
    Schedule or None
        Spot VMs in the order in which they are to be requested, with times as on a quiet day. None if no plan is found,
        or where memory may bind or tasks have dates, for which this has no means.
    """
    if instance.has_dates or not memory_is_free(instance):
        return None
    offers = np.array([offer.index for offer in usable_offers(instance)], dtype=np.int64)
    state = empty_state(instance, offers, np.zeros(len(offers), dtype=np.int64), _most_vms(instance, offers, up_s))
    if not len(state.vm_end):
        return None
    for column, index in enumerate(offers.tolist()):
        if index in up_s:
            vms = np.flatnonzero(state.vm_column == column)
            # The fullest VMs of a column are its first ones: `CoreLoads.regroup`.
            state.objective.vm_limit[vms] = sorted(up_s[index][: len(vms)], reverse=True)
    best: LoadsWalk | None = None
    # Burstable VMs are a bargain for as long as their credits last: whether for longer, only a walk from there can say.
    # Of others, both starts are the same, and the walks differ by their random numbers.
    for run, seconds in enumerate((instance.sustained_s[:, offers][instance.task_group].T, state.cores.durations)):
        cores = _longest_first(state, seconds)
        if cores is None or not fill(state, instance.open_tasks, cores):
            continue
        walk = LoadsWalk(state, run + 1)
        for _ in cooled(walk, SearchOptions().temperatures(instance, run), Steps(_MOVES)):
            checkpoint()
        if best is None or walk.best < best.best:
            best = walk
    plan = None if best is None else best.schedule()
    return None if plan is None else _in_order_of_requests(plan, up_s)


def _most_vms(instance: Instance, offers: IntArray, up_s: Mapping[int, Sequence[int]]) -> int:
    """Most VMs of an offer that are looked at: twice those that could do all of the work, as cores are not filled."""
    work_s = instance.sustained_s[:, offers][instance.task_group]
    work_s = np.where(work_s <= MAX_SECONDS, work_s, 0).sum(axis=0)
    most = 1
    for index, seconds in zip(offers.tolist(), work_s.tolist(), strict=True):
        up = max(up_s.get(index, (instance.deadline_s - instance.boot_overhead_s,)), default=0)
        if up > 0:
            most = max(most, -(-2 * seconds // (up * instance.offers[index].vcpus)))
    return most


def _longest_first(state: CoreLoads, seconds: IntArray) -> IntArray | None:
    """Core of each task: that of the cheapest VM with room for it, or else, where it is late by least.

    VMs are the cheaper, the less all tasks cost on them, which take some seconds there, shape (n_columns, n_tasks).
    """
    tasks = state.instance.open_tasks
    mean_s = seconds[:, tasks].mean(axis=1)[state.vm_column]
    first = state.cores.first_of_vm
    price = state.objective.vm_price / np.diff(first) * mean_s
    by_price = np.lexsort((-state.objective.vm_limit, price))
    cores = np.concatenate([np.arange(first[vm], first[vm + 1]) for vm in by_price.tolist()])
    column = state.cores.offer[cores]
    left = core_level_s(state.instance, state.offers[column], state.objective.vm_limit[state.cores.vm[cores]])
    result = np.empty(len(tasks), dtype=np.int64)
    for place in np.argsort(-state.cores.durations[:, tasks].min(axis=0), kind="stable").tolist():
        checkpoint()
        takes_s = state.cores.durations[column, tasks[place]]
        room = takes_s <= left
        chosen = int(room.argmax()) if room.any() else int((left - takes_s).argmax())
        if takes_s[chosen] > MAX_SECONDS:
            return None
        left[chosen] -= takes_s[chosen]
        result[place] = cores[chosen]
    return result


def _in_order_of_requests(schedule: Schedule, up_s: Mapping[int, Sequence[int]]) -> Schedule:
    """Let the fullest VM of each spot offer be requested so that it is the one that is up longest, and so on."""
    end_s = np.zeros(len(schedule.vm_offer), dtype=np.int64)
    np.maximum.at(end_s, schedule.task_vm, schedule.task_end_s)
    number = np.arange(len(end_s))
    for offer, seconds in up_s.items():
        vms = np.flatnonzero(schedule.vm_offer == offer)
        longest_up = np.argsort(-np.array(seconds[: len(vms)], dtype=np.int64), kind="stable")
        number[vms[np.argsort(-end_s[vms], kind="stable")]] = vms[longest_up]
    return Schedule(
        schedule.instance,
        schedule.vm_offer,
        number[schedule.task_vm],
        schedule.task_core,
        schedule.task_start_s,
        schedule.task_baseline,
    )
