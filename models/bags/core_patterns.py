"""Patterns: what one core of a VM runs, counted by class of tasks; and plans made of them.

The pattern model, the class programme and the search by slack share them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from ...core.errors import ModelRefusal
from ...core.limits import checkpoint
from ...core.quantities import FloatArray, IntArray
from ...instances.entries import FULL_SPEED, NEVER, RentalOffer
from ...instances.instance import Instance
from ...schedules.schedule import Schedule
from .task_classes import TaskClasses

BurstableMode: TypeAlias = Literal["refuse", "baseline"]
"""Treatment of burstable offers whose CPU credits a model cannot plan: refuse them, or run all tasks there at the
baseline."""

MOST_PATTERNS = 200_000
"""Patterns of a core of one offer, and in a programme of all offers, beyond which models refuse."""


@dataclass(frozen=True, slots=True)
class OfferPatterns:
    """Patterns of one offer, by load.

    Attributes
    ----------
    offer : RentalOffer
        The offer.
    counts : array of int, shape (n_patterns, n_classes)
        Tasks of each class on the core.
    load_s : array of int, shape (n_patterns,)
        Seconds that they take, ascending.
    """

    offer: RentalOffer
    counts: IntArray
    load_s: IntArray


def require_free_memory(instance: Instance, offers: Sequence[RentalOffer], model: str) -> None:
    """Refuse an instance whose memory may bind: order and loads of cores alone do not make a plan there."""
    if instance.slots.shared:
        raise ModelRefusal(
            f"{model} knows core loads only, and tasks need different numbers of cores; 'interval', 'columns' and "
            "'time-indexed' plan them"
        )
    binding = sorted({offer.vm_type.name for offer in offers if not instance.memory_never_binds[offer.type_index]})
    if binding:
        raise ModelRefusal(
            f"{model} knows core loads only, and the memory of {', '.join(binding)} can bind: its largest tasks, one "
            f"on each core, need more than it has; 'interval' and 'columns' take memory into account"
        )


def enumerate_patterns(
    seconds: IntArray,
    size: IntArray,
    latest_s: int | IntArray,
    offer: RentalOffer,
    model: str,
    losses: FloatArray | None = None,
    most_lost: float = math.inf,
) -> OfferPatterns:
    """List all patterns of an offer that end in time, the empty one left out.

    Parameters
    ----------
    seconds, size : array of int, shape (n_classes,)
        Duration on the offer and number of tasks of each class.
    latest_s : int or array of int, shape (n_classes,)
        Latest end of a core, or of the tasks of each class, of which those whose latest end comes first go first.
    offer : RentalOffer
        The offer.
    model : str
        Name of the model in the message.
    losses : array of float, shape (n_classes,), optional
        What a task of each class loses on the offer, at least 0.
    most_lost : float
        Most that the tasks of a pattern may lose together.

    Raises
    ------
    ModelRefusal
        If there are more than `MOST_PATTERNS`.
    """
    counts = np.zeros((1, len(size)), dtype=np.int64)
    loads = np.zeros(1, dtype=np.int64)
    lost = np.zeros(1)
    latest_s = np.broadcast_to(np.asarray(latest_s), seconds.shape)
    # By their latest ends, since a core that keeps all of them in any order keeps them in this one (earliest due date).
    for index in np.lexsort((-seconds, latest_s)).tolist():
        each, most_s = int(seconds[index]), int(latest_s[index])
        if each >= NEVER or each > most_s:
            continue
        checkpoint()
        # How often the class runs: never, once, ...
        ways = np.maximum(np.minimum((most_s - loads) // each, size[index]), 0) + 1
        loss = 0.0 if losses is None else float(losses[index])
        if loss > 0:
            ways = np.minimum(ways, np.floor(np.minimum((most_lost - lost) / loss, size[index])).astype(np.int64) + 1)
        total = int(ways.sum())
        if total > MOST_PATTERNS:
            raise ModelRefusal(
                f"{model} would need more than {MOST_PATTERNS:,} patterns of {len(size)} classes of identical "
                f"tasks on a core of {offer.vm_type.name} within {int(latest_s.max()):,} s; "
                "'columns' makes the useful ones only"
            )
        times = np.arange(total) - np.repeat(np.cumsum(ways) - ways, ways)
        by_times = np.argsort(times, kind="stable")
        source, times = np.repeat(np.arange(len(loads)), ways)[by_times], times[by_times]
        counts, loads, lost = counts[source], loads[source] + times * each, lost[source] + times * loss
        counts[:, index] = times
    order = np.argsort(loads, kind="stable")[1:]
    return OfferPatterns(offer, counts[order], loads[order])


def schedule_of_cores(
    instance: Instance,
    classes: TaskClasses,
    cores: Sequence[tuple[RentalOffer, IntArray, int]],
    at_full_speed: Sequence[tuple[RentalOffer, int, Sequence[IntArray]]] = (),
) -> Schedule:
    """Make the plan of cores: sorted by load, the cores of an offer are dealt out to its VMs.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    classes : TaskClasses
        Its classes.
    cores : sequence of (offer, counts, load)
        Of each core that is used. Counts beyond the tasks that are left are dropped, from the last core on.
    at_full_speed : sequence of (offer, end from ready, counts of each core)
        Burstable VMs whose tasks all run at full speed. A core that has less to do waits first: that saves credits.

    Notes
    -----
    Dealt out by load, the k-th core goes to VM ceil(k / cores of a VM): the ends of the VMs, sorted, are then the least
    possible for these loads. Tasks of ``cores`` run in baseline mode on burstable VMs.
    """
    left = [mine.tolist() for mine in classes.tasks]
    retained: dict[int, list[tuple[int, list[int]]]] = {}
    for offer, counts, _ in sorted(cores, key=lambda core: (core[0].index, -core[2])):
        mine = []
        for index in np.flatnonzero(counts).tolist():
            taken = min(int(counts[index]), len(left[index]))
            mine += left[index][:taken]
            del left[index][:taken]
        if mine:
            # Not the load of the pattern: where tasks were dropped, the core ends earlier, and its VM may, too.
            seconds = int(instance.sustained_s[instance.task_group[mine], offer.index].sum())
            retained.setdefault(offer.index, []).append((seconds, mine))
    vm_offer: list[int] = []
    task_vm, task_core, start_s = (np.zeros(instance.n_tasks, dtype=np.int64) for _ in range(3))
    for index, loaded in sorted(retained.items()):
        vcpus = instance.offers[index].vcpus
        for position, (_, mine) in enumerate(sorted(loaded, key=lambda core: -core[0])):
            if position % vcpus == 0:
                vm_offer.append(index)
            now = instance.boot_overhead_s
            for task in mine:
                task_vm[task], task_core[task], start_s[task] = len(vm_offer) - 1, position % vcpus, now
                now += int(instance.sustained_s[instance.task_group[task], index])
    baseline = instance.offer_is_burstable[np.array(vm_offer, dtype=np.int64)].tolist()
    for offer, end_s, counts_of_cores in at_full_speed:
        vm_offer.append(offer.index)
        baseline.append(False)
        for core, counts in enumerate(counts_of_cores):
            mine = [left[index].pop() for index in np.flatnonzero(counts).tolist() for _ in range(int(counts[index]))]
            seconds = instance.duration_s[instance.task_group[mine], offer.index, FULL_SPEED]
            task_vm[mine], task_core[mine] = len(vm_offer) - 1, core
            start_s[mine] = instance.boot_overhead_s + end_s - np.cumsum(seconds)
    if any(left):
        raise ValueError("the cores do not run all tasks")
    in_baseline = np.array(baseline, dtype=bool)[task_vm]
    return Schedule(instance, np.array(vm_offer, dtype=np.int64), task_vm, task_core, start_s, in_baseline)
