"""Combinatorial lower bounds of the makespan."""

from __future__ import annotations

import numpy as np

from ...core.quantities import IntArray
from ...instances.durations import FULL_SPEED, NEVER
from ...instances.entries import Market
from ...instances.instance import Instance

_COUNTED_GROUPS = 50


def makespan_lower_bound_s(instance: Instance) -> int:
    """Least possible end of the last task: the largest of the bounds of this module, counted from the start."""
    shortest = _shortest_s(instance)
    able = shortest < NEVER
    if not able.all():
        return instance.deadline_s + 1  # a task has no offer that may be used
    bounds = [
        int(shortest.max()),
        _pigeonhole_s(np.repeat(shortest, instance.group_size), usable_cores(instance)),
        _largest_groups_s(instance),
    ]
    return instance.boot_overhead_s + max(bounds)


def usable_cores(instance: Instance) -> int:
    """Most cores that can be rented at once."""
    return sum(_cores_of_market(instance, market) for market in instance.markets)


def _cores_of_market(instance: Instance, market: Market) -> int:
    cap = instance.limits.of(market)
    left = instance.n_tasks if cap is None else min(cap, instance.n_tasks)
    cores = 0
    for offer in sorted(instance.offers, key=lambda entry: -entry.vcpus):
        if offer.market == market:
            vms = min(offer.limit, left)
            left -= vms
            cores += vms * offer.vcpus
    return cores


def _shortest_s(instance: Instance) -> IntArray:
    """Shortest duration of each group on any offer that may be used, shape (n_groups,)."""
    usable = np.array([offer.limit > 0 for offer in instance.offers])
    durations = np.where(usable, instance.duration_s[:, :, FULL_SPEED], NEVER)
    return np.asarray(durations.min(axis=1))


def _pigeonhole_s(durations_s: IntArray, cores: int) -> int:
    """Of the qK + 1 longest tasks, some core of the K gets q + 1: at least the q + 1 shortest of them."""
    longest_first = np.sort(durations_s)[::-1]
    total = np.concatenate([[0], np.cumsum(longest_first)])
    rounds = np.arange(1, (len(longest_first) - 1) // cores + 1)
    if not len(rounds):
        return 0
    last = rounds * cores + 1
    return int((total[last] - total[last - rounds - 1]).max())


def _largest_groups_s(instance: Instance) -> int:
    """For each of the largest groups alone: least time in which all cores together can run its tasks one by one."""
    largest = np.argsort(-instance.group_size, kind="stable")[:_COUNTED_GROUPS]
    offers = [offer for offer in instance.offers if offer.limit]
    cores = np.array([offer.limit * offer.vcpus for offer in offers])
    best = 0
    for group in largest.tolist():
        count = int(instance.group_size[group])
        if count == 1:
            break
        durations = instance.duration_s[group, [offer.index for offer in offers], FULL_SPEED]
        low, high = 0, int(durations.min()) * count
        while low < high:
            middle = (low + high) // 2
            if int((cores * (middle // durations)).sum()) >= count:
                high = middle
            else:
                low = middle + 1
        best = max(best, low)
    return best
