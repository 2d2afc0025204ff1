"""Processors of a cluster over time, counted in processor-minutes from the beginning."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from .entries import SLOT_S, AllocatedCluster, DedicatedCluster


class Capacity:
    """Processor-minutes that a cluster has had by each minute, and the minute of each processor-minute.

    The processor-minutes of a cluster are numbered in the order of time: a job that takes numbers ``a`` to ``b - 1``
    starts in the minute of ``a`` and ends with that of ``b - 1``. So queues add up sizes, whatever the availability.

    Parameters
    ----------
    cluster : DedicatedCluster or AllocatedCluster
        The cluster.
    """

    def __init__(self, cluster: DedicatedCluster | AllocatedCluster) -> None:
        steps = (
            [(0, cluster.processors)]
            if isinstance(cluster, DedicatedCluster)
            else [(step.from_s // SLOT_S, step.processors) for step in cluster.availability]
        )
        repeat_s = cluster.repeat_s if isinstance(cluster, AllocatedCluster) else None
        self._always = steps[0][1] if len(steps) == 1 else 0
        self._starts = [start for start, _ in steps]
        self._processors = [processors for _, processors in steps]
        self._before = [0]
        for (start, processors), (end, _) in pairwise(steps):
            self._before.append(self._before[-1] + (end - start) * processors)
        self._period = 0 if repeat_s is None else repeat_s // SLOT_S
        self._per_period = self._in_steps(self._period)

    def by(self, slot: int) -> int:
        """Processor-minutes before the start of a minute."""
        if self._always:
            return self._always * slot
        if self._period:
            periods, slot = divmod(slot, self._period)
            return periods * self._per_period + self._in_steps(slot)
        return self._in_steps(slot)

    def slot_of(self, number: int) -> int:
        """Minute to which a processor-minute belongs."""
        if self._always:
            return number // self._always
        if self._period:
            periods, number = divmod(number, self._per_period)
            return periods * self._period + self._slot_in_steps(number)
        return self._slot_in_steps(number)

    def slots_for(self, number: int) -> int:
        """Minutes until a cluster has had some processor-minutes, at least one."""
        return self.slot_of(number - 1) + 1

    def _in_steps(self, slot: int) -> int:
        step = bisect_right(self._starts, slot) - 1
        return self._before[step] + (slot - self._starts[step]) * self._processors[step]

    def _slot_in_steps(self, number: int) -> int:
        # Of steps that begin with the same number, all but the last have no processors.
        step = bisect_right(self._before, number) - 1
        return self._starts[step] + (number - self._before[step]) // self._processors[step]
