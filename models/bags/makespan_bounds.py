"""Combinatorial lower bounds of the makespan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.quantities import BoolArray, FloatArray, IntArray
from ...instances.entries import (
    BASELINE,
    FULL_SPEED,
    NEVER,
    SECONDS_PER_CREDIT,
    Burstable,
    RentalOffer,
    binding_limits,
    most_within,
)
from ...instances.instance import Instance
from .task_classes import LET_PASS_CREDITS, MOST_CLASSES


@dataclass(frozen=True, slots=True)
class MakespanWindow:
    """First and last makespan, counted from the moment the VMs are ready; from now if there are machines."""

    earliest_s: int
    latest_s: int

    @property
    def empty(self) -> bool:
        """True if there is no makespan left."""
        return self.earliest_s > self.latest_s


_EARLIEST_ENDS = "_earliest_ends_s"


def makespan_lower_bound_s(instance: Instance) -> int:
    """Least possible end of the last task: the largest of the bounds of this module, counted from the start."""
    if instance.machines:
        return _least_with_machines_s(instance)
    shortest = _shortest_s(instance)
    able = shortest < NEVER
    if not able.all():
        return instance.deadline_s + 1  # a task has no offer that may be used
    bounds = [
        int(_earliest_ends_s(instance).max()),
        _pigeonhole_s(np.repeat(shortest, instance.group_size), usable_cores(instance)),
        _largest_groups_s(instance),
    ]
    return max(instance.boot_overhead_s + max(bounds), _of_dates_s(instance))


def _least_with_machines_s(instance: Instance) -> int:
    """Least end of running tasks, and of each task that is to be placed, alone where it can end first."""
    open_ends = _first_ends_s(instance)[instance.open_size > 0]
    if len(open_ends) and open_ends.max() >= NEVER:
        return instance.deadline_s + 1  # a task has no place at all
    return int(max(open_ends.max(initial=0), instance.running_end_s.max(initial=0), _of_dates_s(instance)))


def _first_ends_s(instance: Instance) -> IntArray:
    """First end of a task of each group, alone on a machine or on a VM that may be rented; shape (n_groups,)."""
    ends = np.where((durations := _earliest_ends_s(instance)) < NEVER, durations + instance.boot_overhead_s, NEVER)
    first_free_s = np.full(len(instance.offers), NEVER)
    free_s = instance.machine_core_free_s.min(axis=1)[instance.machine_open]
    np.minimum.at(first_free_s, instance.machine_offer[instance.machine_open], free_s)
    for index in np.flatnonzero(first_free_s < NEVER).tolist():
        full = instance.duration_s[:, index, FULL_SPEED]
        np.minimum(ends, np.where(full < NEVER, full + first_free_s[index], NEVER), out=ends)
    return ends


def without_time(instance: Instance) -> BoolArray:
    """Groups of which a task cannot end by its deadline, alone where it ends first or where it runs, as a mask."""
    ends_s = _first_ends_s(instance) if instance.machines else _earliest_ends_s(instance) + instance.boot_overhead_s
    late = (instance.open_size > 0) & (np.maximum(ends_s, _released_ends_s(instance)) > instance.due_s)
    running = instance.task_group[instance.running.task]
    late[running[instance.running_end_s > instance.due_s[running]]] = True
    return late


def _released_ends_s(instance: Instance) -> IntArray:
    """End of a task of each group that begins with its release wherever it takes least, shape (n_groups,)."""
    ends_s: IntArray = instance.release_s + instance.duration_s.min(axis=(1, 2))
    return ends_s


def _of_dates_s(instance: Instance) -> int:
    """Bound of the makespan by dates: the end of the last task that is released; after the deadline if one is late."""
    if not instance.has_dates:
        return 0
    if without_time(instance).any():
        return instance.deadline_s + 1
    return int(_released_ends_s(instance)[instance.open_size > 0].max(initial=0))


def usable_cores(instance: Instance) -> int:
    """Most cores that can be rented at once."""
    offers = [offer for offer in instance.offers if offer.limit]
    vcpus = np.array([float(offer.vcpus) for offer in offers])
    vms = np.array([float(offer.limit) for offer in offers])
    return most_within(vcpus, vms, binding_limits(instance, offers))


def _shortest_s(instance: Instance) -> IntArray:
    """Shortest duration of each group on any offer that may be used, shape (n_groups,)."""
    usable = np.array([offer.limit > 0 for offer in instance.offers])
    durations = np.where(usable, instance.duration_s[:, :, FULL_SPEED], NEVER)
    return np.asarray(durations.min(axis=1))


def _earliest_ends_s(instance: Instance) -> IntArray:
    """Earliest end of a task of each group on any offer that may be used, shape (n_groups,).

    Of what is left of a bag, from that bag: it is asked again and again.
    """
    if instance.taken_from is None:
        return _ends_on_s(instance, [offer.index for offer in instance.offers if offer.limit])
    whole, groups = instance.taken_from
    usable = [offer.index for offer in instance.offers if offer.limit]
    known: dict[tuple[int, ...], IntArray] = whole.__dict__.setdefault(_EARLIEST_ENDS, {})
    ends = known.get(tuple(usable))
    if ends is None:
        ends = known[tuple(usable)] = _ends_on_s(whole, usable)
    return ends[groups]


def _ends_on_s(instance: Instance, usable: list[int]) -> IntArray:
    """Earliest end of a task of each group on new VMs of some offers, from the end of the boot, shape (n_groups,)."""
    ends = np.full(len(instance.tasks), NEVER, dtype=np.int64)
    for index in usable:
        full, burstable = instance.duration_s[:, index, FULL_SPEED], instance.offers[index].vm_type.burstable
        if burstable is not None:
            earned = np.ceil(np.minimum(_credits_earned_s(burstable, full), NEVER))
            full = np.maximum(full, earned.astype(np.int64))
            full = np.minimum(full, instance.duration_s[:, index, BASELINE])
        setup_s = instance.offers[index].vm_type.setup_s
        np.minimum(ends, np.where(full < NEVER, full + setup_s, NEVER) if setup_s else full, out=ends)
    return ends


def _credits_earned_s(burstable: Burstable, seconds: IntArray) -> FloatArray:
    """Seconds in which a VM earns what tasks lack, each alone, to run at full speed: 1/60 credit a second."""
    lacking = np.maximum(seconds / SECONDS_PER_CREDIT - burstable.initial_credits - LET_PASS_CREDITS, 0.0)
    if burstable.credits_per_hour == 0:
        return np.where(lacking > 0, np.inf, 0.0)
    # Less what rounding may have added: the moment is rounded up to a whole second.
    earned: FloatArray = lacking * 3600 / burstable.credits_per_hour * (1 - 1e-9)
    return earned


def _pigeonhole_s(durations_s: IntArray, cores: int) -> int:
    """Bound by pigeonholes: of the qK + 1 longest tasks, some core of the K gets q + 1, the shortest ones at least."""
    longest_first = np.sort(durations_s)[::-1]
    total = np.concatenate([[0], np.cumsum(longest_first)])
    rounds = np.arange(1, (len(longest_first) - 1) // cores + 1)
    if not len(rounds):
        return 0
    last = rounds * cores + 1
    return int((total[last] - total[last - rounds - 1]).max())


def _largest_groups_s(instance: Instance) -> int:
    """Bound by the largest groups, each alone: least time in which all cores together can run its tasks one by one."""
    largest = np.argsort(-instance.group_size, kind="stable")[:MOST_CLASSES]
    offers = [offer for offer in instance.offers if offer.limit]
    indices = [offer.index for offer in offers]
    cores = np.array([0 if offer.burstable else offer.limit * offer.vcpus for offer in offers])
    burstable = [offer for offer in offers if offer.burstable]
    best = 0
    for group in largest.tolist():
        count = int(instance.group_size[group])
        # Largest first: from here on, groups are single tasks, which the other bounds see.
        if count == 1:
            break
        durations = instance.duration_s[group, indices, FULL_SPEED]
        others = [_TasksOfBurstable(instance, offer, group) for offer in burstable]
        low, high = 0, int(durations.min()) * count
        if others:  # credits may be lacking
            high = instance.deadline_s + 1
        while low < high:
            middle = (low + high) // 2
            if int((cores * (middle // durations)).sum()) + sum(mine.most(middle) for mine in others) >= count:
                high = middle
            else:
                low = middle + 1
        best = max(best, low)
    return best


class _TasksOfBurstable:
    """Most tasks of a group on the VMs of a burstable offer.

    At full speed a VM runs no more than it has credits for: k tasks lack at least k times what one of them lacks, as
    the initial credits are there once.
    """

    def __init__(self, instance: Instance, offer: RentalOffer, group: int) -> None:
        assert offer.vm_type.burstable is not None
        self._vms, self._vcpus = offer.limit, offer.vcpus
        self._full_s = int(instance.duration_s[group, offer.index, FULL_SPEED])
        self._baseline_s = int(instance.duration_s[group, offer.index, BASELINE])
        self._earned_s = float(_credits_earned_s(offer.vm_type.burstable, np.array([self._full_s]))[0])

    def most(self, moment_s: int) -> int:
        """Most tasks by a moment from ready."""
        at_full_speed = self._vcpus * (moment_s // self._full_s)
        if self._earned_s > 0:
            at_full_speed = min(at_full_speed, int(moment_s / self._earned_s))
        return self._vms * (at_full_speed + self._vcpus * (moment_s // self._baseline_s))
