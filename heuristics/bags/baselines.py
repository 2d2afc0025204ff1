"""Two simple baselines, the cheapest offers first: longest task first on as few VMs as do, and first fit decreasing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...core.capacities import fits, largest_share
from ...core.limits import LimitReached, checkpoint
from ...core.quantities import FloatArray, IntArray
from ...instances.entries import NEVER, RentalOffer, VmsLeft
from ...instances.instance import Instance
from ...models.bags.makespan_bounds import makespan_lower_bound_s
from ...schedules.method import Outcome, Run
from ...schedules.schedule import Schedule
from ...schedules.timing import VmTimeline, objective_weights
from .first_plans import MOMENTS
from .lpt import LongestFirst


def fewest_vms(instance: Instance, run: Run) -> Outcome:
    """Plan by longest task first on as few VMs of the cheapest offers as the deadline needs.

    Offers come in the order of their price for the work that they can do; those after the first are opened when all VMs
    of the ones before do not suffice. Where the makespan counts as well, earlier moments than the deadline are tried by
    halves.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    run : Run
        Time limit.
    """
    longest_first = LongestFirst(instance)
    return _best_by_moments(instance, run, lambda moment_s: _on_fewest_vms(longest_first, moment_s))


def first_fit(instance: Instance, run: Run) -> Outcome:
    """Plan by first fit decreasing, with the time until the deadline as the capacity of each core.

    Tasks go longest first to the first VM rented on which they end in time; else to a new one of the offer that is
    cheapest for them. Where the makespan counts as well, earlier moments than the deadline are tried by halves.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    run : Run
        Time limit.
    """
    return _best_by_moments(instance, run, lambda moment_s: _FirstFit(instance, moment_s).plan())


def _best_by_moments(instance: Instance, run: Run, plan_by: Callable[[int], Schedule | None]) -> Outcome:
    """Return the best of the plans by the deadline and, where the makespan counts, by some earlier moments."""
    best: Schedule | None = None
    low_s, moment_s = makespan_lower_bound_s(instance), instance.deadline_s
    try:
        # Where the cost alone counts, an earlier end is worth nothing.
        for _ in range(MOMENTS if objective_weights(instance)[1] > 0 else 1):
            schedule = plan_by(moment_s)
            if schedule is not None and (best is None or schedule.objective < best.objective):
                best = schedule
                run.incumbent.take(best)
            else:
                low_s = moment_s + 1
            if best is None or low_s >= best.makespan_s:
                break
            moment_s = (low_s + best.makespan_s) // 2
    except LimitReached:
        return Outcome(best, "stopped before there was a plan")
    return Outcome(best, "the tasks do not all end by the deadline in this way")


def _price_of_second(instance: Instance, offers: Sequence[RentalOffer]) -> FloatArray:
    """Return the cost of a second of each group on each offer: the greater of its shares of cores and memory."""
    vcpus = np.array([offer.vcpus for offer in offers])
    memory_kb = np.array([offer.memory_kb for offer in offers], dtype=np.int64)
    price = np.array([offer.price_usd_per_s for offer in offers])
    cost: FloatArray = price * np.maximum(1 / vcpus, largest_share(instance.memory_kb[:, None], memory_kb))
    return cost


def _on_fewest_vms(longest_first: LongestFirst, moment_s: int) -> Schedule | None:
    """Return a plan on as few VMs as do, by doubling and halving their number; None if all of them do not."""
    instance, offers = longest_first.instance, longest_first.offers
    counted = instance.group_size[:, None]
    runs = longest_first.durations < NEVER
    seconds = np.where(runs, longest_first.durations, 0)
    work = np.where(runs, longest_first.durations.min(axis=1, initial=NEVER)[:, None], 0)
    cost = (_price_of_second(instance, offers) * seconds * counted).sum(axis=0)
    order = np.argsort(cost / np.maximum((work * counted).sum(axis=0), 1), kind="stable").tolist()
    most = sum(longest_first.first_vms(order))

    def plan(vms: int) -> Schedule | None:
        return longest_first.plan(longest_first.first_vms(order, vms), latest_s=moment_s)

    too_few, enough = 0, min(1, most)
    while (best := plan(enough)) is None:
        if enough == most:
            return None
        too_few, enough = enough, min(2 * enough, most)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        schedule = plan(middle)
        if schedule is None:
            too_few = middle
        else:
            best, enough = schedule, middle
    return best


class _FirstFit:
    """First fit decreasing until a moment."""

    def __init__(self, instance: Instance, moment_s: int) -> None:
        self.instance = instance
        self.offers = [offer for offer in instance.offers if offer.limit]
        self.ready_s = instance.ready_s[[offer.index for offer in self.offers]].tolist()
        self.limits_s = [min(instance.time_limit_s(offer.market), moment_s) for offer in self.offers]
        self.left = VmsLeft(instance)
        self.durations = instance.sustained_s[:, [offer.index for offer in self.offers]]
        self.column = np.zeros(64, dtype=np.int64)
        self.latest_free_s = np.zeros(64, dtype=np.int64)  # when a task of no length could still start
        self.timelines: list[VmTimeline] = []

    def plan(self) -> Schedule | None:
        """Return the plan; None if a task finds no place."""
        instance = self.instance
        task_vm, task_core, start_s = (np.zeros(instance.n_tasks, dtype=np.int64) for _ in range(3))
        longest_first = np.argsort(-self.durations.min(axis=1, initial=NEVER)[instance.task_group], kind="stable")
        cheapest = np.argsort(_price_of_second(instance, self.offers) * self.durations, axis=1, kind="stable").tolist()
        memory_kb = instance.memory_kb.tolist()
        for task in longest_first.tolist():
            checkpoint()
            group = int(instance.task_group[task])
            durations = self.durations[group]
            found = self._first_rented(durations, memory_kb[group])
            if found is None and self._rent(cheapest[group], durations, memory_kb[group]):
                found = len(self.timelines) - 1, self.timelines[-1].earliest_core_s
            if found is None:
                return None
            task_vm[task], start_s[task] = vm, start = found
            column = int(self.column[vm])
            timeline = self.timelines[vm]
            task_core[task] = timeline.append(start, memory_kb[group], int(durations[column]))
            self.latest_free_s[vm] = self.limits_s[column] - timeline.earliest_core_s
        rented = np.array([self.offers[k].index for k in self.column[: len(self.timelines)].tolist()], dtype=np.int64)
        baseline = instance.offer_is_burstable[rented][task_vm]
        return Schedule(instance, rented, task_vm, task_core, start_s, baseline)

    def _first_rented(self, durations: IntArray, need_kb: int) -> tuple[int, int] | None:
        """Return the first VM on which a task ends in time, and when it starts there."""
        count = len(self.timelines)
        for vm in np.flatnonzero(durations[self.column[:count]] <= self.latest_free_s[:count]).tolist():
            seconds, timeline = int(durations[self.column[vm]]), self.timelines[vm]
            start = timeline.earliest_start_s(need_kb, seconds)
            if start is not None and start + seconds <= self.limits_s[int(self.column[vm])]:
                return vm, start
        return None

    def _rent(self, offers: Sequence[int], durations: IntArray, need_kb: int) -> bool:
        """Rent a VM of the first of some offers on which a task ends in time."""
        for k in offers:
            offer = self.offers[k]
            late = self.ready_s[k] + int(durations[k]) > self.limits_s[k]
            if late or self.left.of(offer.index) <= 0 or not fits(offer.memory_kb - need_kb):
                continue
            self.left.take(offer.index)
            vm = len(self.timelines)
            if vm == len(self.column):
                self.column = np.concatenate([self.column, np.zeros_like(self.column)])
                self.latest_free_s = np.concatenate([self.latest_free_s, np.zeros_like(self.latest_free_s)])
            memory_kb = None if self.instance.memory_never_binds[offer.type_index] else offer.memory_kb
            self.timelines.append(VmTimeline(offer.vcpus, memory_kb, self.ready_s[k]))
            self.column[vm] = k
            return True
        return False
