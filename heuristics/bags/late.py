"""Plans with tasks that are late: as few as may be, by weight, then as little late, then the best by the objective.

The tasks are placed one by one, those first that take least for their weight. The annealing of the house makes that
better: a late task is charged, and each second that it is late.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from ...core.limits import LimitReached, checkpoint
from ...instances.entries import NEVER, RentalOffer, VmsLeft
from ...instances.instance import Instance
from ...schedules.lateness import lost_tasks, relaxed, value_of
from ...schedules.queues import timeline_of
from ...schedules.schedule import Schedule, plan_of_places
from .annealing import QueuesWalk, SearchOptions, Steps, cooled, random_state
from .assignments import assignments_of

_MOVES_A_TASK, _MOST_MOVES = 1_000, 200_000
"""Moves without a limit of time."""
_MORE = 10.0
"""Times the objective of a plan that a second late is charged, and times its seconds that a late task is."""
_HOT = 0.3
"""First temperature, as a part of what a late task is charged."""


def first_late_plan(instance: Instance) -> Schedule | None:
    """Return the better one of two plans; None if a task has no place at all.

    Each task is put where it ends first, those first that take least for their weight; those that cannot be in time
    even alone come behind all others, or before them.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    """
    tasks, shortest = instance.open_tasks, instance.sustained_s.min(axis=1)
    # Smith's rule (1956): on one machine, the sum of weighted ends is least in this order.
    tasks = tasks[np.argsort((shortest / instance.weight)[instance.task_group[tasks]], kind="stable")]
    lost = np.isin(instance.task_group[tasks], [entry.group for entry in lost_tasks(instance)])
    orders = [tasks[np.argsort(lost, kind="stable")]]
    if lost.any():
        orders.append(tasks[np.argsort(~lost, kind="stable")])
    return best_late(instance, *(_placed(instance, order.tolist()) for order in orders))


def best_late(instance: Instance, *plans: Schedule | None) -> Schedule | None:
    """Return the best of some plans; None if there is none."""
    values = [(value, plan) for plan in plans if plan is not None and (value := value_of(plan, instance)) is not None]
    return min(values, key=lambda pair: pair[0])[1] if values else None


def _placed(instance: Instance, tasks: Iterable[int]) -> Schedule | None:
    """Place tasks one by one where they end first, those on burstable VMs at the baseline; None if one has no place.

    On a spot VM, what would end after D_spot and yet in time waits until it is late.
    """
    there = [(offer, number) for number, offer in enumerate(instance.machine_offer.tolist())]
    rented = [(offer.index, -1) for offer in _rented(instance)]
    vms = [number for number in range(len(there)) if instance.machine_open[number]]
    vms += range(len(there), len(there) + len(rented))
    offers = np.array([offer for offer, _ in there + rented], dtype=np.int64)
    timelines = [timeline_of(instance, instance.offers[offer], number) for offer, number in there + rented]
    free_s = np.array([timelines[vm].earliest_core_s for vm in vms], dtype=np.int64)
    of_vm, rows = offers[vms], list[tuple[int, ...]]()
    for task in tasks:
        checkpoint()
        group = int(instance.task_group[task])
        need_kb, due_s, release_s = (int(of[group]) for of in (instance.memory_kb, instance.due_s, instance.release_s))
        seconds, latest_s = instance.sustained_s[group, of_vm], instance.latest_end_s[group, of_vm]
        # No task ends earlier than if it had not to wait for memory: by these ends, VMs are looked at until none is
        # better.
        least_s, best = np.maximum(free_s, release_s) + seconds, (NEVER, -1, 0)
        for place in np.argsort(least_s, kind="stable").tolist():
            if least_s[place] >= best[0]:
                break
            timeline, takes_s = timelines[vms[place]], int(seconds[place])
            start_s = timeline.earliest_start_s(need_kb, takes_s, release_s)
            if start_s is not None and latest_s[place] < start_s + takes_s <= due_s:
                start_s = timeline.earliest_start_s(need_kb, takes_s, due_s + 1 - takes_s)
            if start_s is not None and takes_s < NEVER:
                best = min(best, (start_s + takes_s, place, start_s))
        end_s, place, start_s = best
        if place < 0:
            return None
        core = timelines[vms[place]].append(start_s, need_kb, end_s - start_s)
        free_s[place] = timelines[vms[place]].earliest_core_s
        rows.append((task, vms[place], core, start_s))
    placed, numbers, cores, starts_s = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    slow = instance.offer_is_burstable[offers[numbers]]
    return plan_of_places(instance, placed, numbers, cores, starts_s, offers, slow)


def _rented(instance: Instance) -> list[RentalOffer]:
    """Offers of VMs that may be rented together, as many as can be of use: first, a place for each task."""
    n_open, able = len(instance.open_tasks), instance.sustained_s < NEVER
    placeless = (instance.open_size > 0) & ~able[:, instance.machine_offer[instance.machine_open]].any(axis=1)
    left = VmsLeft(instance)
    of_use = [min(offer.limit, n_open) for offer in instance.offers]
    rented: list[RentalOffer] = []

    def worth(offer: RentalOffer) -> tuple[int, bool, int, float]:
        gain = int(able[placeless, offer.index].sum())
        return gain, offer.market == "spot", offer.vcpus, -offer.price_usd_per_hour

    while there := [offer for offer in instance.offers if of_use[offer.index] and left.of(offer.index) > 0]:
        offer = max(there, key=worth)
        number = 1 if worth(offer)[0] else min(of_use[offer.index], left.of(offer.index))
        rented += [offer] * number
        of_use[offer.index] -= number
        left.take(offer.index, number)
        placeless &= ~able[:, offer.index]
    return rented


def anneal_late(plan: Schedule, seed: int, until: float) -> Schedule:
    """Make a plan better until a moment of `clock_s`, or, where that is infinite, for some moves.

    The temperature falls from what decides which tasks are late to what decides on the objective.
    """
    instance, wider = plan.instance, relaxed(plan.instance)
    group, value = instance.task_group, value_of(plan, instance)
    assert value is not None, "the plan is right"
    weights = instance.weight[group]
    state = assignments_of(replace(plan, instance=wider))
    # One after the other: a late task outweighs all seconds of delay, and a second of delay the whole objective.
    second = _MORE * (value.objective or 1.0) / weights.min()
    task = _MORE * second * max(value.lateness_s / weights.max(), wider.deadline_s)
    state.fleet = state.fleet._replace(
        latest=np.ascontiguousarray(instance.latest_end_s[group].T - state.zero_s),
        late=np.array([instance.due_s[group] - state.zero_s, task * weights, second * weights]),
    )
    walk = QueuesWalk(state, random_state(seed, 0))
    hot, cold = _HOT * task * float(weights.mean()) / walk.unit, SearchOptions().temperatures(wider, 0)[1]
    moves = min(_MOVES_A_TASK * instance.n_tasks, _MOST_MOVES) if until == math.inf else math.inf
    with suppress(LimitReached):
        for _ in cooled(walk, (hot, cold), Steps(moves, until, wider, "queues")):
            checkpoint()
    found = walk.schedule()
    return best_late(instance, plan, None if found is None else replace(found, instance=instance)) or plan
