"""Closing VMs: where that makes a state of the search better, and where a plan costs no more and ends no later.

Of two plans of the same cost and end, that with fewer VMs has less to be interrupted.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ...core.limits import LimitReached, checkpoint
from ...core.quantities import EXCESS, NOISE, BoolArray, at_most
from ...instances.instance import Instance
from ...models.bags.task_classes import memory_is_free, usable_offers
from ...schedules.method import LARGE_TASKS, kept
from ...schedules.schedule import Schedule, busy_before
from .core_loads import (
    CoreLoads,
    fill,
    place_lost,
    start_from_schedule,
)


def with_fewer_vms(plan: Schedule, question: Callable[[], Instance]) -> Schedule:
    """Return a plan that costs no more, ends no later and has fewer VMs; the given one if none is found.

    First whole VMs are closed: what they run is appended to others of their offer. Then tasks of a VM go to idle cores
    of any, where memory is no matter.

    Parameters
    ----------
    plan : Schedule
        A feasible one.
    question : callable
        Makes the instance that asks for the least cost by the end of the plan.
    """
    best, instance = _better(plan, _appended(plan)), plan.instance
    if len(instance.open_tasks) <= LARGE_TASKS and memory_is_free(instance) and not instance.has_dates:
        with suppress(LimitReached):
            closed = _closed(replace(best, instance=question()))
            return best if closed is None else _better(best, replace(closed, instance=instance))
    return best


def _better(plan: Schedule, other: Schedule | None) -> Schedule:
    """Return the second plan if it has fewer VMs and is no worse in cost and end, else the first."""
    if other is None or len(other.vm_offer) >= len(plan.vm_offer) or other.makespan_s > plan.makespan_s:
        return plan
    other = kept(other)
    return plan if other is None or other.cost_usd > at_most(plan.cost_usd) else other


def _closed(plan: Schedule) -> Schedule | None:
    """Close VMs whose tasks cost no more on cores of others."""
    instance = plan.instance
    if not _has_room(plan):
        return None
    rented = np.array([offer.index for offer in usable_offers(instance)], dtype=np.int64)
    offers = np.concatenate([rented, np.unique(instance.machine_offer)])
    state = start_from_schedule(instance, plan, offers, 0)
    if state is None or not state.feasible() or not close_vms(state, ties=True):
        return None
    return state.schedule()


def _has_room(plan: Schedule) -> bool:
    """True if the work of some VM that is rented might fit the time that cores of all others have left."""
    instance, vms = plan.instance, len(plan.vm_offer)
    used = np.unique(plan.vm_offer)
    seconds = instance.duration_s[:, used].min(axis=2)
    least_s = np.bincount(plan.task_vm, seconds.min(axis=1)[instance.task_group], vms)
    limits_s = np.minimum(instance.latest_end_s.max(axis=0), plan.makespan_s)
    left_s = plan.vm_vcpus * np.maximum(limits_s[plan.vm_offer] - plan.vm_ready_s, 0)
    left_s = np.maximum(left_s - np.bincount(plan.task_vm, plan.task_duration_s, vms), 0)
    return bool((least_s <= left_s.sum() - left_s)[plan.vm_machine < 0].any())


def _appended(plan: Schedule) -> Schedule | None:
    """Close VMs whose tasks can follow those of others of the same offer; the shortest VM of each offer goes first."""
    instance = plan.instance
    limits_s = np.minimum(instance.latest_end_s.max(axis=0), plan.makespan_s)
    takes = np.append(instance.machine_open, True)[plan.vm_machine]
    room_s = np.where(takes, np.maximum(limits_s[plan.vm_offer] - plan.vm_end_s, 0), 0)
    length_s = plan.vm_end_s - plan.vm_ready_s
    room_of_offer_s = np.bincount(plan.vm_offer, room_s, len(limits_s))
    # VMs that exist run something already, or are there; at full speed, a burstable VM spends the credits that it has.
    bursts = np.bincount(plan.task_vm, ~plan.task_baseline, len(takes)) > 0
    closable = (plan.vm_machine < 0) & ~(bursts & instance.offer_is_burstable[plan.vm_offer])
    wanted = np.flatnonzero(closable & (length_s <= room_of_offer_s[plan.vm_offer] - room_s))
    if not len(wanted):
        return None
    closing = _Closing(plan, takes)
    for vm in wanted[np.argsort(length_s[wanted], kind="stable")].tolist():
        closing.close(vm)
    return closing.plan()


class _Closing:
    """VMs of a plan that are closed one by one.

    What moves are blocks: tasks of a VM from one moment at which none runs to the next. They are done elsewhere as they
    are, whatever they need of memory and cores.
    """

    def __init__(self, plan: Schedule, takes: BoolArray) -> None:
        self._plan = plan
        instance, group = plan.instance, plan.instance.task_group
        rows, busy_until_s = busy_before(plan)
        start_s, end_s = plan.task_start_s[rows], plan.task_end_s[rows]
        latest_s = np.minimum(instance.latest_end_s[group, plan.vm_offer[plan.task_vm]], plan.makespan_s)[rows]
        first = np.flatnonzero(start_s >= busy_until_s)
        begin_s = start_s[first]
        self._rows, self._first, self._begin_s = rows, first, begin_s
        self._length_s = (np.maximum.reduceat(end_s, first) - begin_s).tolist()
        self._earliest_s = (begin_s - np.minimum.reduceat(start_s - instance.release_s[group][rows], first)).tolist()
        self._latest_s = (begin_s + np.minimum.reduceat(latest_s - end_s, first)).tolist()
        self._vm, self._start_s = plan.task_vm[rows[first]], begin_s.copy()
        bounds = np.searchsorted(self._vm, np.arange(len(takes) + 1)).tolist()
        self._blocks = [[*range(*pair)] for pair in pairwise(bounds)]
        self._end_s = plan.vm_end_s.tolist()
        self._offer = plan.vm_offer.tolist()
        self._by_end: dict[int, list[tuple[int, int]]] = {offer: [] for offer in self._offer}
        for vm in np.flatnonzero(takes).tolist():
            self._by_end[self._offer[vm]].append((self._end_s[vm], vm))
        for ends in self._by_end.values():
            ends.sort()

    def close(self, vm: int) -> None:
        """Close a VM if its blocks can be appended to others, each where it ends latest, and cost no more there."""
        ends, length_s, last = self._by_end[self._offer[vm]], self._length_s, len(self._end_s)
        rents, ready_s = self._plan.rents, int(self._plan.vm_ready_s[vm])
        _remove(ends, (self._end_s[vm], vm))
        moved: list[tuple[int, int, int]] = []
        usd = rents.cost_usd(vm, ready_s) - rents.cost_usd(vm, self._end_s[vm])
        for block in sorted(self._blocks[vm], key=lambda block: -length_s[block]):
            # Best fit, the longest first, as in bin packing: little room is left over at the ends.
            place = bisect_right(ends, (self._latest_s[block], last)) - 1
            if place < 0 or ends[place][0] < self._earliest_s[block]:
                break
            begin_s, receiver = ends.pop(place)
            end_s = begin_s + length_s[block]
            insort(ends, (end_s, receiver))
            moved.append((block, receiver, begin_s))
            usd += rents.cost_usd(receiver, end_s) - rents.cost_usd(receiver, begin_s)
        if len(moved) == len(self._blocks[vm]) and usd <= EXCESS * self._plan.cost_usd:
            for block, receiver, begin_s in moved:
                self._vm[block], self._start_s[block] = receiver, begin_s
                self._blocks[receiver].append(block)
                self._end_s[receiver] = max(self._end_s[receiver], begin_s + length_s[block])
            self._blocks[vm] = []
            return
        # Backwards, as a receiver may have got several of the blocks, one behind the other.
        for block, receiver, begin_s in reversed(moved):
            _remove(ends, (begin_s + length_s[block], receiver))
            insort(ends, (begin_s, receiver))
        insort(ends, (self._end_s[vm], vm))

    def plan(self) -> Schedule:
        """Return the plan without the VMs that are closed."""
        plan, rows = self._plan, self._rows
        task_vm, start_s = plan.task_vm.copy(), plan.task_start_s.copy()
        size = np.diff(np.append(self._first, len(rows)))
        task_vm[rows] = np.repeat(self._vm, size)
        start_s[rows] += np.repeat(self._start_s - self._begin_s, size)
        used = np.bincount(task_vm, minlength=len(plan.vm_offer)) > 0
        vms = plan.vm_offer[used], (np.cumsum(used) - 1)[task_vm]
        return replace(
            plan, vm_offer=vms[0], task_vm=vms[1], task_start_s=start_s, vm_ids=(), vm_machine=plan.vm_machine[used]
        )


def _remove(ends: list[tuple[int, int]], end: tuple[int, int]) -> None:
    """Take an end out of sorted ones."""
    del ends[bisect_left(ends, end)]


def close_vms(state: CoreLoads, *, ties: bool = False) -> bool:
    """Close VMs one by one where that makes the state better, and say whether it is.

    Their tasks go where it adds least. The annealing, which moves task by task, does not see what is gained by the last
    of them. With ``ties``, a state of fewer rented VMs is better if it is as good.

    Raises
    ------
    LimitReached
        If the time is over: the state is what it was.
    """
    before, best = (state.core_tasks.copy(), state.core_count.copy()), state.value()
    core, tasks = state.placed()
    of_task = np.zeros(state.instance.n_tasks, dtype=np.int64)
    of_task[tasks] = core
    open_tasks = state.instance.open_tasks
    cores, closed, better = of_task[open_tasks], False, False
    objective, nothing_s = state.objective, np.maximum.reduceat(state.core_start, state.cores.first_of_vm[:-1])
    most, left_s = at_most(best), objective.vm_limit.copy()
    try:
        # The shortest first: what is closed fills others, and leaves them less room for the next ones.
        for vm in np.argsort(state.vm_end, kind="stable").tolist():
            checkpoint()
            mine = state.cores.vm[cores] == vm
            if not mine.any() or (ties and state.vm_machine[vm] >= 0):
                continue
            left_s[vm] = nothing_s[vm]  # nor does it take its tasks back
            state.objective, fewer = objective._replace(vm_limit=left_s), np.where(mine, -1, cores)
            value = place_lost(state, fewer)
            state.objective = objective
            as_good = value <= (most if ties else best - NOISE)
            if as_good and fill(state, open_tasks, fewer) and state.feasible():
                cores, best, closed = fewer, min(value, best), True
            else:
                left_s[vm] = objective.vm_limit[vm]
        better = closed and fill(state, open_tasks, cores) and state.value() <= most
    finally:
        state.objective = objective
        if not better:
            state.restore(*before)
    return better
