"""Longest task first over the VM counts that come out best."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.limits import LimitReached, checkpoint, stop_point
from ...core.quantities import FloatArray, IntArray
from ...instances.entries import NEVER, VmsLeft, keeps_group_limits
from ...instances.instance import Instance
from ...schedules.method import Outcome, Run
from ...schedules.schedule import Schedule, plan_of_places
from ...schedules.timing import VmTimeline
from .core_loads import MOST_PLACES

_FEW_PLACED = 5_000
"""Tasks that are placed, in all trials, in some hundredths of a second."""


@dataclass(frozen=True, slots=True)
class LptOptions:
    """Options of longest task first.

    Attributes
    ----------
    trials : int, optional
        Combinations of VM counts tried at most; by the number of tasks if absent.
    """

    trials: int | None = None


def lpt(instance: Instance, options: LptOptions, run: Run) -> Outcome:
    """Plan by longest task first, for the VM counts that come out best.

    For given counts, tasks go longest first to the VM on which they end first, within its time limit and memory;
    burstable VMs run them in baseline mode. The counts start from all VMs that can be rented and change by steps, as
    long as the objective falls.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    options : LptOptions
        Effort.
    run : Run
        Time limit.
    """
    longest_first = LongestFirst(instance)
    counts = longest_first.most()
    # A trial takes about as long as there are tasks times VMs; all together take some seconds, whatever the bag.
    trials = options.trials or max(2, MOST_PLACES // (instance.n_tasks * (sum(counts) + 50)))
    best: Schedule | None = None
    seen: set[tuple[int, ...]] = set()
    improved = True
    while improved:
        improved = False
        for candidate in longest_first.neighbours(counts, first=best is None):
            if candidate in seen:
                continue
            if len(seen) >= trials:
                return Outcome(best)
            seen.add(candidate)
            # The first plan is worth more than the time; a long row of trials that lead to none is not.
            few = len(seen) == 1 or len(seen) * instance.n_tasks <= _FEW_PLACED
            first = run.incumbent.schedule is None and few
            try:
                schedule = longest_first.plan(candidate, stop_point if first else checkpoint)
            except LimitReached:
                return Outcome(best, "stopped before there was a plan")
            if schedule is not None and (best is None or schedule.objective < best.objective - 1e-12):
                best, counts, improved = schedule, candidate, True
                run.incumbent.take(best)
                break
    if best is None:
        counts_text = ", ".join(f"{count} {offer}" for count, offer in zip(counts, longest_first.offers, strict=True))
        return Outcome(None, f"longest task first ends too late, even on {counts_text or 'no VM at all'}")
    return Outcome(best)


_Places = tuple[IntArray, IntArray, IntArray]
"""VM, core and start of each task, filled in place."""


class LongestFirst:
    """Longest task first for given VM counts."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.offers = [offer for offer in instance.offers if offer.limit]
        self.indices = np.array([offer.index for offer in self.offers], dtype=np.int64)
        self.ready_s = instance.ready_s[self.indices].tolist()
        self.durations = instance.sustained_s[:, self.indices]
        shortest = self.durations.min(axis=1, initial=NEVER)
        self.order = np.argsort(-shortest[instance.task_group], kind="stable")
        self.limits_s = np.array([instance.time_limit_s(offer.market) for offer in self.offers])

    def most(self) -> tuple[int, ...]:
        """All VMs that can be rented, the larger offers of a limited group first."""
        return self.first_vms(sorted(range(len(self.offers)), key=lambda k: -self.offers[k].vcpus))

    def first_vms(self, order: Sequence[int], vms: float = math.inf) -> tuple[int, ...]:
        """The first VMs of the offers in an order: a number of them, or all that can be rented and be of use."""
        counts = [0] * len(self.offers)
        left = VmsLeft(self.instance)
        for k in order:
            offer = self.offers[k]
            counts[k] = int(min(left.of(offer.index), -(-self.instance.n_tasks // offer.vcpus), vms))
            left.take(offer.index, counts[k])
            vms -= counts[k]
        return tuple(counts)

    def neighbours(self, counts: tuple[int, ...], first: bool) -> Iterator[tuple[int, ...]]:
        """Neighbouring counts, different in one offer, by large steps first; the counts themselves to begin with."""
        if first:
            yield counts
        for k, count in enumerate(counts):
            most = min(self.offers[k].limit, self.instance.n_tasks)
            steps = sorted({0, count // 2, count - 1, count + 1, min(2 * count, most)} - {count})
            for changed in steps:
                candidate = (*counts[:k], changed, *counts[k + 1 :])
                if 0 <= changed <= most and any(candidate) and self._keeps_group_limits(candidate):
                    yield candidate
        for k in range(len(counts)):  # exchanges of a VM for one of another offer
            for other in range(len(counts)):
                if k != other and counts[k] > 0 and counts[other] < self.offers[other].limit:
                    candidate_list = list(counts)
                    candidate_list[k] -= 1
                    candidate_list[other] += 1
                    if self._keeps_group_limits(tuple(candidate_list)):
                        yield tuple(candidate_list)

    def _keeps_group_limits(self, counts: tuple[int, ...]) -> bool:
        return keeps_group_limits(self.instance, self.indices, np.array(counts))

    def plan(
        self, counts: tuple[int, ...], check_limit: Callable[[], None] = checkpoint, latest_s: float = math.inf
    ) -> Schedule | None:
        """Plan on these VMs, to end by a moment and in time; None if a task finds no place."""
        limits_s = np.minimum(self.limits_s, latest_s)
        column = np.repeat(np.arange(len(self.offers)), counts)
        task_vm, task_core, start_s = (np.zeros(self.instance.n_tasks, dtype=np.int64) for _ in range(3))
        memory_may_bind = any(map(self._binds, set(column.tolist())))
        place = self._place_one_by_one if memory_may_bind else self._place_by_free_core
        if not place(column, limits_s, (task_vm, task_core, start_s), check_limit):
            return None
        offers = np.array([offer.index for offer in self.offers], dtype=np.int64)[column]
        slow, tasks = self.instance.offer_is_burstable[offers][task_vm], np.arange(self.instance.n_tasks)
        return plan_of_places(self.instance, tasks, task_vm, task_core, start_s, offers, slow)

    def _binds(self, k: int) -> bool:
        return not self.instance.memory_never_binds[self.offers[k].type_index]

    def _timeline(self, k: int) -> VmTimeline:
        return VmTimeline(self.offers[k].vcpus, self.offers[k].memory_kb if self._binds(k) else None, self.ready_s[k])

    def _place_by_free_core(
        self, column: IntArray, limits_s: FloatArray, places: _Places, check_limit: Callable[[], None]
    ) -> bool:
        """Place all tasks where memory never binds; whether they found a place in time.

        Of the cores of an offer the one that is free first, and the first of these, comes first: one heap an offer.
        """
        heaps: list[list[tuple[int, int, int]]] = [[] for _ in self.offers]
        for vm, k in enumerate(column.tolist()):
            heaps[k] += [(self.ready_s[k], vm, core) for core in range(self.offers[k].vcpus)]
        limits = limits_s.tolist()
        durations = self.durations.tolist()
        open_columns = [k for k, heap in enumerate(heaps) if heap]
        taken: list[tuple[int, int, int]] = []
        for group in self.instance.task_group[self.order].tolist():
            check_limit()
            seconds = durations[group]
            best_end, best = NEVER, -1
            for k in open_columns:
                end = heaps[k][0][0] + seconds[k]
                if end < best_end and end <= limits[k]:
                    best_end, best = end, k
            if best < 0:
                return False
            start, vm, core = heaps[best][0]
            taken.append((vm, core, start))
            heapq.heapreplace(heaps[best], (best_end, vm, core))
        for places_of_all, in_order in zip(places, zip(*taken, strict=True), strict=True):
            places_of_all[self.order] = in_order
        return True

    def _place_one_by_one(
        self, column: IntArray, limits_s: FloatArray, places: _Places, check_limit: Callable[[], None]
    ) -> bool:
        """Place all tasks where memory may bind; whether they found a place in time."""
        instance = self.instance
        timelines = [self._timeline(k) for k in column.tolist()]
        free = np.array(self.ready_s, dtype=np.int64)[column]
        limits = limits_s[column].tolist()
        memory_free = [not self._binds(k) for k in column.tolist()]
        task_vm, task_core, start_s = places
        for task in self.order.tolist():
            check_limit()
            group = instance.task_group[task]
            durations = self.durations[group][column]
            need_kb = int(instance.memory_kb[group])
            vm = _first_to_end(free + durations, limits, durations.tolist(), timelines, memory_free, need_kb)
            if vm < 0:
                return False
            seconds = int(durations[vm])
            start = timelines[vm].earliest_start_s(need_kb, seconds)
            assert start is not None
            task_vm[task] = vm
            task_core[task] = timelines[vm].append(start, need_kb, seconds)
            start_s[task] = start
            free[vm] = timelines[vm].earliest_core_s
        return True


def _first_to_end(
    ends: IntArray,
    limits: list[float],
    durations: list[int],
    timelines: list[VmTimeline],
    memory_free: list[bool],
    need_kb: int,
) -> int:
    """VM on which a task ends first, within the limit of that VM; -1 if there is none.

    ``ends`` are those without waiting for memory, which may come later: a lower bound, by which VMs are looked at.
    """
    best, best_end, latest = -1, NEVER, max(limits)
    by_end = np.argsort(ends, kind="stable")
    for vm, end in zip(by_end.tolist(), ends[by_end].tolist(), strict=True):
        if end >= best_end or end > latest:
            break  # ends only grow from here on
        if not memory_free[vm]:
            start = timelines[vm].earliest_start_s(need_kb, durations[vm])
            end = NEVER if start is None else start + durations[vm]
        if end <= limits[vm] and end < best_end:
            best, best_end = vm, end
    return best
