"""Lower bounds of the weight of the tasks that are late in every plan."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...core.capacities import lower_of, slots_of
from ...core.quantities import NEARLY, FloatArray, IntArray
from ...instances.entries import FULL_SPEED, NEVER
from ...instances.group_limits import binding_limits, most_worth, one_limit_each
from ...instances.instance import Instance
from ...schedules.lateness import lost_tasks

_STEPS = (0.5, 0.8, 1.25, 2.0)
_ROUNDS = 3
"""Factors by which the price of each offer is changed in turn, and how often."""


def late_weight_bound(instance: Instance) -> float:
    """Return a proven lower bound of the weight of late tasks, by tasks that may be cut, and by tasks on each core.

    What runs late already, and what is lost even alone, is late in every plan. All others fill, by prices of the time
    of each offer, at most the worth of all time until they are due: of what they weigh, most fits by weight for worth.
    """
    weights, open_size = instance.weight, instance.open_size.copy()
    group = instance.task_group[instance.running.task]
    certain = float(weights[group][instance.running_end_s > instance.due_s[group]].sum())
    for lost in lost_tasks(instance):
        certain += float(weights[lost.group] * open_size[lost.group])
        open_size[lost.group] = 0
    rest = np.flatnonzero(open_size)
    if not len(rest):
        return certain
    weight, count = weights[rest], open_size[rest]
    seconds = instance.duration_s[rest, :, FULL_SPEED]
    most = min(_most_in_time(instance, seconds, weight, count, rest))
    late = max(float(weight @ count) - most, 0.0)
    if (weights == np.floor(weights)).all():
        late = float(np.ceil(late * (1 - NEARLY) - NEARLY))
    return certain + late


def _most_in_time(
    instance: Instance, seconds: IntArray, weight: FloatArray, count: IntArray, groups: IntArray
) -> Iterator[float]:
    """Upper bounds of the weight in time: by the time of cores, by that of memory, by tasks on each core."""
    able, offers, boot_s = seconds < NEVER, instance.offers, instance.boot_overhead_s
    cores, size_kb = np.array([(offer.vcpus, lower_of(offer.memory_kb)) for offer in offers]).T
    latest_s = instance.latest_end_s[groups].max(axis=0)
    limits = np.array([float(min(offer.limit, instance.n_tasks)) for offer in offers])
    vm_s = np.maximum(latest_s - boot_s, 0).astype(float)
    free_s = [
        instance.machine_core_free_s[(instance.machine_offer == offer) & instance.machine_open]
        for offer in range(len(offers))
    ]
    core_s, machine_s = np.zeros(len(offers)), np.zeros(len(offers))  # of machines, of all cores and of all VMs
    for offer, rows in enumerate(free_s):
        left = np.maximum(latest_s[offer] - rows, 0)
        core_s[offer], machine_s[offer] = left.sum(), left.max(axis=1, initial=0).sum()
    needed = instance.memory_kb[groups][:, None]
    for used, a_vm, there in (
        (seconds * np.where(able, slots_of(needed), 1), cores * vm_s, core_s),
        (seconds * np.where(able, lower_of(needed), 1), size_kb * vm_s, size_kb * machine_s),
    ):
        yield _by_prices(instance, np.where(able, used, np.inf), a_vm, there, limits, weight, count)
    number = 0
    for offer, rows in enumerate(free_s):
        order = np.argsort(seconds[:, offer], kind="stable")
        order = order[able[order, offer]]
        ends_s = np.repeat(seconds[order, offer], count[order]).cumsum()
        number += int(limits[offer] * cores[offer] * np.searchsorted(ends_s, vm_s[offer], "right"))
        number += int(np.searchsorted(ends_s, latest_s[offer] - rows.ravel(), "right").sum())
    yield float(np.sort(np.repeat(weight, count))[::-1][:number].sum())


def _by_prices(
    instance: Instance,
    used: FloatArray,
    a_vm: FloatArray,
    there: FloatArray,
    vms: FloatArray,
    weight: FloatArray,
    count: IntArray,
) -> float:
    """Least upper bound, by some prices, of what fits: tasks use so much of an offer, and a VM and machines have it."""
    limits = one_limit_each(binding_limits(instance, instance.offers))

    def bound(prices: FloatArray) -> float:
        values = prices * a_vm
        worth = float(prices @ there) + float(values @ most_worth(values, vms, limits))
        each = (used * prices).min(axis=1)
        order = np.argsort(each / weight, kind="stable")
        filled = (each * count)[order].cumsum()
        whole = int(np.searchsorted(filled, worth, "right"))
        fits = float((weight * count)[order[:whole]].sum())
        if whole < len(order):
            spare = worth - (filled[whole - 1] if whole else 0.0)
            fits += float(weight[order[whole]] * spare / each[order[whole]])
        return fits

    able = np.isfinite(used)
    least = used.min(axis=1, keepdims=True)
    speed = np.where(able, np.where(np.isfinite(least), least, 1.0) / np.where(able, used, 1.0), 0.0)
    prices = np.where(able.any(axis=0), speed.sum(axis=0) / np.maximum(able.sum(axis=0), 1), 1.0)
    found = bound(prices)
    for _ in range(_ROUNDS if found < weight @ count else 0):  # where all fits by far, prices change little
        for offer in range(len(prices)):
            for step in _STEPS:
                tried = prices.copy()
                tried[offer] *= step
                other = bound(tried)
                if other < found:
                    prices, found = tried, other
    return found
