"""Identical tasks on VMs whose memory never binds: the best plan, by dynamic programming.

If all tasks are alike, a VM that ends after r rounds runs up to ``cores * r`` of them for ``price * r * duration``. For
each possible makespan, the cheapest VMs that together run all tasks are a knapsack.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from ...core.limits import LimitReached, checkpoint
from ...core.quantities import IntArray
from ...instances.durations import NEVER
from ...instances.entries import RentalOffer
from ...instances.instance import Instance
from ...models.bags.vm_limits import binding_market_limits
from ...schedules.evaluation import objective_value
from ...schedules.schedule import Schedule

_MOST_WORK = 30_000_000


def identical_tasks_plan(instance: Instance) -> Schedule | None:
    """Plan a bag of identical tasks; None if they are not, or too many, or a market's limit makes it harder.

    If the limit is reached before the end, it is the best plan so far. Burstable VMs run their tasks in baseline mode.
    """
    offers = [offer for offer in instance.offers if offer.limit]
    table = instance.sustained_s[:, [offer.index for offer in offers]]
    if (table != table[0]).any() or binding_market_limits(instance, offers):
        return None
    n_tasks, ready = instance.n_tasks, instance.boot_overhead_s
    seconds = [int(value) for value in table[0]]
    limits = [instance.time_limit_s(offer.market) - ready for offer in offers]
    most_rounds = [
        0 if e >= NEVER else min(limit // e, -(-n_tasks // offer.vcpus))
        for e, limit, offer in zip(seconds, limits, offers, strict=True)
    ]
    vms = [min(offer.limit, n_tasks) for offer in offers]
    moments = sorted({e * r for e, rounds in zip(seconds, most_rounds, strict=True) for r in range(1, rounds + 1)})
    work = len(moments) * n_tasks * sum(count * rounds for count, rounds in zip(vms, most_rounds, strict=True))
    if work > _MOST_WORK:
        return None
    best: float = np.inf
    best_taken: list[tuple[int, int]] = []
    with suppress(LimitReached):  # then the best plan so far
        for moment in moments:
            cost_usd, taken = _cheapest(offers, vms, seconds, most_rounds, n_tasks, moment)
            total = objective_value(instance, cost_usd, moment + ready)
            if taken and total < best - 1e-12:
                best, best_taken = total, taken
    return _plan(instance, offers, seconds, best_taken) if best_taken else None


def _cheapest(
    offers: list[RentalOffer], vms: list[int], seconds: list[int], most_rounds: list[int], n_tasks: int, moment: int
) -> tuple[float, list[tuple[int, int]]]:
    """Least cost of running all tasks by a moment, and the VMs as pairs of offer and rounds."""
    cost = np.full(n_tasks + 1, np.inf)
    cost[0] = 0.0
    stages: list[tuple[int, IntArray, IntArray]] = []  # offer; for each number of tasks, rounds and tasks before
    everything = np.arange(n_tasks + 1)
    for k, offer in enumerate(offers):
        for _ in range(vms[k]):
            checkpoint()
            new, rounds_taken, before = cost.copy(), np.zeros(n_tasks + 1, dtype=np.int64), everything.copy()
            for rounds in range(1, min(most_rounds[k], moment // seconds[k]) + 1):
                source = np.maximum(everything - offer.vcpus * rounds, 0)
                reached = cost[source] + offer.price_usd_per_s * seconds[k] * rounds
                better = reached < new - 1e-15
                new[better] = reached[better]
                rounds_taken[better] = rounds
                before[better] = source[better]
            stages.append((k, rounds_taken, before))
            cost = new
    if not np.isfinite(cost[n_tasks]):
        return np.inf, []
    left, taken = n_tasks, []
    for k, rounds_taken, before in reversed(stages):
        if rounds_taken[left]:
            taken.append((k, int(rounds_taken[left])))
        left = int(before[left])
    return float(cost[n_tasks]), taken[::-1]


def _plan(instance: Instance, offers: list[RentalOffer], seconds: list[int], taken: list[tuple[int, int]]) -> Schedule:
    """Lay the tasks out on these VMs, round by round."""
    rows: list[tuple[int, int, int]] = []
    for vm, (k, rounds) in enumerate(taken):
        for index in range(offers[k].vcpus * rounds):
            position, core = divmod(index, offers[k].vcpus)
            rows.append((vm, core, instance.boot_overhead_s + position * seconds[k]))
    task_vm, task_core, start_s = (np.array(column) for column in zip(*rows[: instance.n_tasks], strict=True))
    vm_offer = np.array([offers[k].index for k, _ in taken], dtype=np.int64)
    baseline = instance.offer_is_burstable[vm_offer][task_vm]
    return Schedule(instance, vm_offer, task_vm, task_core, start_s, baseline)
