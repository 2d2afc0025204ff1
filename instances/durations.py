"""Time for which a task occupies a core of an offer: one definition for all methods."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.quantities import MAX_SECONDS, BoolArray, FloatArray, IntArray, whole
from ..core.tolerances import EXCESS, LEAST_DUMP_S
from .entries import Checkpoints, RentalOffer, VmType, type_memory_kb

NEVER = 2**61
"""Duration of a task that cannot run on an offer: beyond every deadline, and safe to add to a time."""

FULL_SPEED = 0
BASELINE = 1


def given_runtime_s(tasks: Sequence[Any], vm_types: Sequence[VmType]) -> FloatArray:
    """Run time of each group on each VM type as given, shape (n_groups, n_types); infinite if it cannot run.

    A task that asks for an architecture has no run time on types of another, whatever is given.

    Parameters
    ----------
    tasks : sequence
        Entries of the bag, or rows of them (`core.record_lists.Records.rows`).
    vm_types : sequence of VmType
        The catalogue.
    """
    names = [vm_type.name for vm_type in vm_types]
    table = np.empty((len(tasks), len(names)))
    given = np.fromiter((bool(task.runtime_s) for task in tasks), bool, len(tasks))
    by_name = [task.runtime_s for task in tasks if task.runtime_s]
    times: Iterable[float]
    try:
        times = itertools.chain.from_iterable(map(_values_of(names), by_name))
        table[given] = np.fromiter(times, float, len(by_name) * len(names)).reshape(-1, len(names))
    except KeyError:  # not every type can run every task
        times = (runtime_s.get(name, math.inf) for runtime_s in by_name for name in names)
        table[given] = np.fromiter(times, float, len(by_name) * len(names)).reshape(-1, len(names))
    base_s = np.fromiter((task.base_runtime_s or math.inf for task in tasks if not task.runtime_s), float)
    table[~given] = base_s[:, None] / np.array([vm_type.speed for vm_type in vm_types])
    asked = [task.architecture or None for task in tasks]
    for architecture in {*asked} - {None}:
        rows = np.fromiter((name == architecture for name in asked), bool, len(asked))
        table[np.ix_(rows, np.array([vm_type.architecture != architecture for vm_type in vm_types]))] = np.inf
    return table


def _values_of(names: Sequence[str]) -> Callable[[Mapping[str, float]], tuple[float, ...]]:
    """Return a function that looks up the values of some keys."""
    if len(names) > 1:
        return operator.itemgetter(*names)
    return lambda values: tuple(values[name] for name in names)


def checkpoint_interval_s(checkpoint: Checkpoints | None, memory_mb: FloatArray) -> FloatArray:
    """Work between two checkpoints of each group on a spot VM, shape (n_groups,); infinite without checkpoints.

    HADS eq. 1 and 2 together: ``n_ckp = e * ovh / dump`` and ``interval = e / n_ckp`` give ``dump / ovh`` for every
    run time. The paper leaves the rounding of ``n_ckp`` open; see `checkpoint_count`. If a checkpoint
    takes no time, less than a microsecond, there is one after every second.
    """
    if checkpoint is None:
        return np.full(len(memory_mb), np.inf)
    dump = dump_s(checkpoint, memory_mb)
    interval: FloatArray = np.where(dump < LEAST_DUMP_S, 1.0, dump / checkpoint.overhead_fraction)
    return interval


def dump_s(checkpoint: Checkpoints | None, memory_mb: FloatArray) -> FloatArray:
    """Time to write one checkpoint of each group, shape (n_groups,) (HADS, section 5.3.5)."""
    if checkpoint is None:
        return np.zeros(len(memory_mb))
    seconds: FloatArray = checkpoint.dump_base_s + checkpoint.dump_s_per_mb * memory_mb
    return seconds


def checkpoint_count(checkpoint: Checkpoints | None, memory_mb: FloatArray, runtime_s: IntArray) -> FloatArray:
    """Checkpoints of each group on a spot VM of each type, shape (n_groups, n_types).

    One after every interval of work, none at or after the end of the task: ``ceil(e / interval) - 1``.
    """
    work = np.where(runtime_s < NEVER, runtime_s, 1).astype(float)
    intervals = work / checkpoint_interval_s(checkpoint, memory_mb)[:, None]
    counts: FloatArray = np.maximum(np.ceil(intervals * (1 - EXCESS)) - 1, 0.0)
    return counts


def duration_table(
    checkpoint: Checkpoints | None, memory_mb: FloatArray, runtime_s: IntArray, offers: Sequence[RentalOffer]
) -> IntArray:
    """Seconds a task of each group occupies a core, shape (n_groups, n_offers, 2).

    Run time, on spot VMs plus the checkpoints, in baseline mode divided by the baseline; rounded up once.
    The last axis is the mode, `FULL_SPEED` or `BASELINE`. `NEVER` where it cannot run.

    Notes
    -----
    HADS, section 4.1 adds ``e * ovh`` to every task on a spot VM; that is the upper bound of what is added here,
    which is the time of the checkpoints that are taken.
    """
    able = runtime_s < NEVER
    work = np.where(able, runtime_s, 1).astype(float)
    with_checkpoints = (
        work + checkpoint_count(checkpoint, memory_mb, runtime_s) * dump_s(checkpoint, memory_mb)[:, None]
    )
    table = np.full((len(memory_mb), len(offers), 2), NEVER, dtype=np.int64)
    for offer in offers:
        column = offer.type_index
        seconds = (with_checkpoints if offer.market == "spot" else work)[:, column]
        speeds = {FULL_SPEED: 1.0}
        if offer.vm_type.burstable is not None:
            speeds[BASELINE] = offer.vm_type.burstable.baseline_fraction
        for mode, speed in speeds.items():
            usable = able[:, column] & (seconds <= MAX_SECONDS * speed)
            table[:, offer.index, mode] = np.where(usable, whole(np.where(usable, seconds, 0.0) / speed), NEVER)
    return table


def memory_never_binds(
    vm_types: Sequence[VmType],
    memory_kb: IntArray,
    runtime_s: IntArray,
    group_size: IntArray,
    known: BoolArray | None = None,
) -> BoolArray:
    """Types whose memory holds their largest tasks, one on each core, shape (n_types,); the other arrays by group.

    Of types that are known to be some, nothing is worked out.
    """
    result = np.zeros(len(vm_types), dtype=bool) if known is None else known.copy()
    if result.all():
        return result
    memory = np.repeat(memory_kb, group_size)
    for index, vm_type in enumerate(vm_types):
        if result[index]:
            continue
        able = memory[np.repeat(runtime_s[:, index], group_size) < NEVER]
        largest = np.partition(able, -vm_type.vcpus)[-vm_type.vcpus :] if able.size > vm_type.vcpus else able
        result[index] = int(largest.sum()) <= type_memory_kb(vm_type)
    return result
