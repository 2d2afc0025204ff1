"""How long a task occupies a core of an offer: one notion for all methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .problem import MAX_SECONDS, BoolArray, FloatArray, IntArray, type_memory_kb, whole

if TYPE_CHECKING:
    from .problem import Instance

NEVER = 2**61
"""Duration of a task that cannot run on an offer: beyond every deadline, and safe to add to a time."""

FULL_SPEED = 0
BASELINE = 1


def checkpoint_interval_s(instance: Instance) -> FloatArray:
    """Work between two checkpoints of each group on a spot VM, shape (n_groups,); infinite without checkpoints.

    HADS eq. 1 and 2 together: ``n_ckp = e * ovh / dump`` and ``interval = e / n_ckp`` give ``dump / ovh`` for every
    run time. The paper leaves the rounding of ``n_ckp`` open; see `checkpoint_count`.
    """
    if instance.checkpoint is None:
        return np.full(len(instance.tasks), np.inf)
    interval: FloatArray = dump_s(instance) / instance.checkpoint.overhead_fraction
    return interval


def dump_s(instance: Instance) -> FloatArray:
    """Time to write one checkpoint of each group, shape (n_groups,) (HADS, section 5.3.5)."""
    parameters = instance.checkpoint
    if parameters is None:
        return np.zeros(len(instance.tasks))
    memory = np.array([task.memory_mb for task in instance.tasks])
    seconds: FloatArray = parameters.dump_base_s + parameters.dump_s_per_mb * memory
    return seconds


def checkpoint_count(instance: Instance) -> FloatArray:
    """Checkpoints of each group on a spot VM of each type, shape (n_groups, n_types).

    One after every interval of work, none at or after the end of the task: ``ceil(e / interval) - 1``.
    """
    work = np.where(instance.runtime_s < NEVER, instance.runtime_s, 1).astype(float)
    intervals = work / checkpoint_interval_s(instance)[:, None]
    counts: FloatArray = np.maximum(np.ceil(intervals * (1 - 1e-12)) - 1, 0.0)
    return counts


def duration_table(instance: Instance) -> IntArray:
    """Seconds a task of each group occupies a core, shape (n_groups, n_offers, 2).

    Run time, on spot VMs plus the checkpoints, in baseline mode divided by the baseline; rounded up once.
    The last axis is the mode, `FULL_SPEED` or `BASELINE`. `NEVER` where it cannot run.

    Notes
    -----
    HADS, section 4.1 adds ``e * ovh`` to every task on a spot VM; that is the upper bound of what is added here,
    which is the time of the checkpoints that are taken.
    """
    able = instance.runtime_s < NEVER
    work = np.where(able, instance.runtime_s, 1).astype(float)
    with_checkpoints = work + checkpoint_count(instance) * dump_s(instance)[:, None]
    table = np.full((len(instance.tasks), len(instance.offers), 2), NEVER, dtype=np.int64)
    for offer in instance.offers:
        column = offer.type_index
        seconds = (with_checkpoints if offer.market == "spot" else work)[:, column]
        speeds = {FULL_SPEED: 1.0}
        if offer.vm_type.burstable is not None:
            speeds[BASELINE] = offer.vm_type.burstable.baseline_fraction
        for mode, speed in speeds.items():
            usable = able[:, column] & (seconds <= MAX_SECONDS * speed)
            table[:, offer.index, mode] = np.where(usable, whole(np.where(usable, seconds, 0.0) / speed), NEVER)
    return table


def sustained_table(instance: Instance) -> IntArray:
    """Seconds a task of each group occupies a core whatever the credits, shape (n_groups, n_offers).

    Burstable VMs at the baseline, all others at full speed.
    """
    return np.where(
        instance.offer_is_burstable, instance.duration_s[:, :, BASELINE], instance.duration_s[:, :, FULL_SPEED]
    )


def memory_never_binds(instance: Instance) -> BoolArray:
    """Types whose memory holds their largest tasks, one on each core, shape (n_types,)."""
    result = np.zeros(len(instance.vm_types), dtype=bool)
    memory = instance.memory_kb[instance.task_group]
    for index, vm_type in enumerate(instance.vm_types):
        able = memory[instance.runtime_s[instance.task_group, index] < NEVER]
        largest = np.partition(able, -vm_type.vcpus)[-vm_type.vcpus :] if able.size > vm_type.vcpus else able
        result[index] = int(largest.sum()) <= type_memory_kb(vm_type)
    return result


def ideal_cost_usd(instance: Instance) -> float:
    """Cost of the tasks if each paid only for its cheapest on-demand core-seconds; see `Instance.cost_scale_usd`."""
    usd = np.full((len(instance.tasks), len(instance.offers)), np.inf)
    for offer in instance.offers:
        seconds = instance.runtime_s[:, offer.type_index]
        usd[:, offer.index] = np.where(seconds < NEVER, seconds * (offer.price_usd_per_s / offer.vcpus), np.inf)
    cheapest = usd.min(axis=1)
    if not instance.offer_is_spot.all():
        on_demand = usd[:, ~instance.offer_is_spot].min(axis=1)
        cheapest = np.where(np.isfinite(on_demand), on_demand, cheapest)
    return float((cheapest * instance.group_size).sum())
