"""A first plan in a fraction of a second, of any bag that has time enough: VMs in lanes.

A lane is a core with an equal share of the memory of its VM. A VM with fewer lanes than cores has larger shares, so
that tasks with much memory find room, and nothing else must be looked at: whatever runs side by side in lanes fits.
What each task costs in a lane says where it goes first. Where memory never binds, all cores are lanes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from ...bounds.bags.divisible_bound import DivisibleBound, divisible_bound
from ...core.capacities import lower_of, slots_of
from ...core.limits import LimitReached, checkpoint, out_of_time
from ...core.quantities import MAX_SECONDS, FloatArray, IntArray
from ...instances.entries import NEVER, RentalOffer
from ...instances.instance import Instance
from ...models.bags.task_classes import memory_is_free, usable_offers
from ...schedules.method import Outcome
from ...schedules.schedule import Schedule
from ...schedules.timing import objective_weights
from .annealing import GOLDEN
from .core_loads import LITTLE_TO_GAIN, MANY_TASKS, rescue_of
from .least_rent import least_rent_start

MOMENTS = 12
"""Moments that are tried, where a plan is to end early."""
_MOST_WIDTHS = 6
"""Numbers of lanes of a type, at most."""


def earliest_plan(by: Callable[[int], Instance], most_usd: float, last_s: int, proven_s: int) -> Schedule | None:
    """Plan for an early end at no more than a cost, in lanes and with the least rent; None if this finds none.

    Parameters
    ----------
    by : callable
        From a moment to the question, with D_spot set, for the least cost of a plan that ends by then.
    most_usd : float
        What it may cost.
    last_s : int
        The latest moment.
    proven_s : int
        No such plan ends before.
    """
    instance = by(last_s)
    if instance.machines:
        return None
    lanes = _lanes(instance, None)

    def in_lanes(moment_s: int) -> Schedule | None:
        return _plan(instance, lanes, moment_s - instance.boot_overhead_s)

    def by_least_rent(moment_s: int) -> Schedule | None:
        question = by(moment_s)
        bound = divisible_bound(question)
        state = least_rent_start(question, bound, 0) if bound.objective <= most_usd else None
        return None if state is None else state.schedule()

    best = _earliest(in_lanes, most_usd, last_s, proven_s) if lanes.offers else None
    if not memory_is_free(instance) or (best is not None and out_of_time()):
        return best
    earlier = _earliest(by_least_rent, most_usd, last_s if best is None else best.makespan_s - 1, proven_s)
    return earlier or best


def _earliest(make: Callable[[int], Schedule | None], most_usd: float, last_s: int, proven_s: int) -> Schedule | None:
    """Look for the earliest moment by which a plan costs no more: by how much later than what is proved, by halves."""
    best: Schedule | None = None
    before_s, after_s = 0.5, last_s - proven_s
    with suppress(LimitReached):
        for _ in range(MOMENTS):
            if best is not None:
                checkpoint()  # plans in lanes do not look at the clock
            later_s = after_s if best is None else int((before_s * after_s) ** 0.5)
            plan = None if later_s <= before_s else make(proven_s + later_s)
            if plan is not None and plan.cost_usd <= most_usd:
                best, after_s = plan, min(later_s, plan.makespan_s - proven_s)
            elif best is None:
                return None
            else:
                before_s = max(later_s, before_s + 1)
    return best


def first_plan(instance: Instance) -> Outcome:
    """Plan soon: by lanes, and of a bag that is not large by the greedy, unless tasks must be done again in time.

    Parameters
    ----------
    instance : Instance
        With D_spot set, and without machines.
    """
    in_lanes = lanes_plan(instance)
    if instance.leaves_time or (in_lanes is not None and instance.n_tasks > MANY_TASKS):
        return Outcome(in_lanes)
    from .greedy import greedy  # here, since it is not asked for plans that survive

    of_greedy = greedy(instance, patient=instance.n_tasks <= MANY_TASKS)
    if in_lanes is None or (of_greedy.schedule is not None and of_greedy.schedule.objective <= in_lanes.objective):
        return of_greedy
    return Outcome(in_lanes)


class _Lanes(NamedTuple):
    """Ways to use the VMs of each offer: the number of lanes, and seconds, latest end and price of a task there.

    Times count from when VMs of the way can run tasks, which is so many seconds after the boot.
    """

    offers: list[RentalOffer]
    n_lanes: IntArray
    seconds: IntArray
    latest: IntArray
    price: FloatArray
    setup_s: IntArray


def lanes_plan(instance: Instance, bound: DivisibleBound | None = None) -> Schedule | None:
    """Plan a bag without machines and dates; None if some task finds no place in this way.

    Tasks that must end first, and of these the longest, go first, each to the cheapest lanes in which it ends early
    enough: to the first such lane, or that of a new VM. Burstable VMs run at the baseline. Where an early end is worth
    something, earlier moments than the deadline are tried.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    bound : DivisibleBound, optional
        Its prices are what lanes cost, which tells where VMs are scarce; else those of the offers.
    """
    lanes = _lanes(instance, bound)
    if not lanes.offers or instance.machines or instance.has_dates:
        return None
    deadline_s = instance.deadline_s - instance.boot_overhead_s
    best = _plan(instance, lanes, deadline_s)
    # Of large bags whose memory never binds, the search makes better plans as soon as it has one.
    settled = instance.n_tasks > MANY_TASKS and memory_is_free(instance)
    if best is None or settled or objective_weights(instance)[1] == 0:
        return best
    able = np.where(lanes.seconds <= lanes.latest, lanes.seconds, NEVER)
    least_s = int(able.min(axis=1)[instance.open_size > 0].max(initial=1))
    return _best_moment(lambda moment_s: _plan(instance, lanes, moment_s), best, least_s, deadline_s)


def _best_moment(make: Callable[[int], Schedule | None], best: Schedule, least_s: int, last_s: int) -> Schedule:
    """Look for the moment by which the plan is best, between two: by golden sections of their ratio."""
    low, high = math.log(max(least_s, 1)), math.log(last_s)
    known: dict[int, float] = {}
    for _ in range(MOMENTS):
        at = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)]
        moments = [round(math.exp(moment)) for moment in at]
        for moment_s in moments:
            if moment_s in known or not least_s <= moment_s <= last_s:
                continue
            if out_of_time():
                return best
            plan = make(moment_s)
            known[moment_s] = math.inf if plan is None else plan.objective
            if plan is not None and plan.objective < best.objective:
                best = plan
        earlier, later = (known.get(moment_s, math.inf) for moment_s in moments)
        if moments[0] >= moments[1] or abs(earlier - later) <= LITTLE_TO_GAIN * best.objective:
            break
        low, high = (low, at[1]) if earlier < later else (at[0], high)
    return best


def _lanes(instance: Instance, bound: DivisibleBound | None) -> _Lanes:
    """Return ways to use the VMs of each offer, with the numbers of lanes that tasks ask for."""
    offers, n_lanes, allowed = [], [], []
    for offer in usable_offers(instance):
        needed_kb, slots = np.maximum(lower_of(instance.memory_kb), 1), slots_of(instance.memory_kb)
        most = np.minimum(lower_of(offer.memory_kb) // needed_kb, offer.vcpus // slots)
        able = instance.sustained_s[:, offer.index] < NEVER
        asked = np.unique(most[able & (most > 0)])
        if len(asked) > _MOST_WIDTHS:
            asked = asked[np.linspace(0, len(asked) - 1, _MOST_WIDTHS).astype(int)]
        for width in asked.tolist():
            offers.append(offer)
            n_lanes.append(width)
            allowed.append(most >= width)
    if not offers:
        nothing = np.zeros((0, 0), dtype=np.int64)
        return _Lanes([], nothing, nothing, nothing, nothing.astype(float), nothing)
    indices = [offer.index for offer in offers]
    seconds = np.where(np.array(allowed).T, instance.sustained_s[:, indices], NEVER)
    of_vm = np.array([[offer.price_usd_per_s for offer in offers]])
    if bound is not None:
        column = np.searchsorted(bound.offers, indices)
        of_vm = bound.second_price(instance)[:, column] * np.array([offer.vcpus for offer in offers])
    price = of_vm / np.array(n_lanes)
    ready_s = instance.ready_s[indices]
    latest = instance.latest_end_s[:, indices] - ready_s
    of_task = np.where(seconds < NEVER, seconds, 0) * price
    if bound is not None and len(bound.again_price):
        of_task = of_task + bound.again_price[:, column]
    of_task = np.where(seconds < NEVER, of_task, np.inf)
    setup_s = ready_s - instance.boot_overhead_s
    return _Lanes(offers, np.array(n_lanes, dtype=np.int64), np.ascontiguousarray(seconds), latest, of_task, setup_s)


def _plan(instance: Instance, lanes: _Lanes, moment_s: int) -> Schedule | None:
    """Plan so that all ends by a moment, from when VMs have booted."""
    from .start_kernel import Room, place_early

    latest = np.minimum(lanes.latest, moment_s - lanes.setup_s)
    groups = instance.task_group
    able = lanes.seconds < NEVER
    first = latest.max(axis=1, where=able, initial=0)
    longest = np.where(able, lanes.seconds, 0).max(axis=1)
    order = np.lexsort((-longest, first))
    order = np.argsort(np.argsort(order, kind="stable")[groups], kind="stable")
    vms = np.array([min(offer.limit, instance.n_tasks) for offer in lanes.offers], dtype=np.int64)
    # Ways to use an offer share its VMs.
    indices = np.array([offer.index for offer in lanes.offers])
    pools = sorted({*indices.tolist()})
    limits = instance.group_limits
    size = 2 ** np.ceil(np.log2(np.maximum(lanes.n_lanes * vms, 1))).astype(np.int64)
    room = Room(
        lanes.n_lanes,
        np.array([pools.index(offer.index) for offer in lanes.offers], dtype=np.int64),
        np.array([min(instance.offers[index].limit, instance.n_tasks) for index in pools], dtype=np.int64),
        np.array([limit.weights[indices] for limit in limits], dtype=np.int64).reshape(len(limits), len(indices)),
        np.array([limit.most for limit in limits], dtype=np.int64),
        np.full(int(2 * size.sum()), MAX_SECONDS),
        np.cumsum(2 * size) - 2 * size,
        size,
    )
    rescue = rescue_of(instance, indices, np.arange(len(instance.tasks)))
    by_price = np.argsort(lanes.price, axis=1, kind="stable")
    opened = np.zeros(len(lanes.offers), dtype=np.int64)
    way, lane = np.full((2, len(groups)), -1)
    place = place_early if len(groups) >= MANY_TASKS else getattr(place_early, "py_func", place_early)
    if not place(groups[order], by_price, lanes.seconds, latest, room, rescue, opened, way, lane):
        return None
    seconds = lanes.seconds[groups[order], way]
    first_vm = np.cumsum(opened) - opened
    vm, core = first_vm[way] + lane // lanes.n_lanes[way], lane % lanes.n_lanes[way]
    by_lane = np.lexsort((np.arange(len(order)), core, vm))
    before = np.cumsum(seconds[by_lane]) - seconds[by_lane]
    begins = np.flatnonzero(np.diff(vm[by_lane], prepend=-1) | np.diff(core[by_lane], prepend=-1))
    start = before - np.repeat(before[begins], np.diff(np.append(begins, len(order))))
    task_vm, task_core, task_start = (np.empty(len(order), dtype=np.int64) for _ in range(3))
    tasks = order[by_lane]
    vm_offer = np.repeat(indices, opened)
    task_vm[tasks], task_core[tasks] = vm[by_lane], core[by_lane]
    task_start[tasks] = start + instance.ready_s[vm_offer[vm[by_lane]]]
    baseline = instance.offer_is_burstable[vm_offer][task_vm]
    return Schedule(instance, vm_offer, task_vm, task_core, task_start, baseline)
