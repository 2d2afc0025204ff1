"""Local schedulers of clusters: Algorithms 1 (DCA) and 2 (ACA) of Caron & de Assuncao."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence

import numpy as np

from ...core.quantities import MAX_SECONDS, IntArray
from ...instances.platforms.capacity import Capacity
from ...instances.platforms.entries import SLOT_S, AllocatedCluster, DedicatedCluster
from .candidate import Candidate, PlatformJob, is_good
from .local_scheduler import LocalScheduler, PlatformRules

_BEHIND_ALL = MAX_SECONDS + 1
"""Key of jobs behind all others, which have the negative of their priority, or their deadline."""


class ClusterScheduler(LocalScheduler):
    """A queue before a cluster, by priority; the first job has all processors that are available.

    Jobs take the processor-minutes of the cluster one after the other: what a job leaves of its last minute belongs to
    the next one. A job that has begun is not interrupted, and stands before all that wait: Algorithm 1 counts the jobs
    of the queue only, as if none were running. A new job goes behind those of its priority (line 2 of Algorithm 1, 6 of
    Algorithm 2). Dedicated clusters differ from allocated ones in that they are free of charge, and always there.

    Parameters
    ----------
    index : int
        Index of the resource.
    cluster : DedicatedCluster or AllocatedCluster
        The resource.
    rules : PlatformRules
        The order of the queue, and the jobs that are displaced.
    """

    def __init__(self, index: int, cluster: DedicatedCluster | AllocatedCluster, rules: PlatformRules) -> None:
        self.index = index
        self.id = cluster.id
        self.epoch = 0  # a planned start counts only if the queue has not changed since
        self._by_deadline = rules.queue == "deadline"
        self._late_jobs_stay = rules.late_jobs == "stay"
        self._price = cluster.cost_per_processor_minute if isinstance(cluster, AllocatedCluster) else 0.0
        self._capacity = Capacity(cluster)
        self._joined = 0  # jobs so far
        self._begun = 0  # processor-minutes to the end of the last job that has begun
        # Of the jobs that wait, in the order of the queue: keys, jobs, the processor-minutes at which they end, and how
        # many there are from then to those by which they should have ended.
        self._keys: list[tuple[int, int]] = []
        self._jobs: list[PlatformJob] = []
        self._ends: IntArray = np.empty(0, dtype=np.int64)
        self._slack: IntArray = np.empty(0, dtype=np.int64)
        self._least_slack = 0

    # ------------------------------------------------------------------ offers

    def candidates(self, job: PlatformJob, now_s: int) -> Sequence[Candidate]:
        """Offer to run a job at the place that its priority has in the queue (Algorithms 1 and 2).

        Line 15 of Algorithm 1 displaces a job that would end exactly at its deadline; here as in line 27 of Algorithm 2
        and everywhere else in the paper, it is in time.
        """
        place = self._place_of(job)
        displaced: tuple[int, ...] = ()
        if place < len(self._jobs) and self._least_slack < job.size:
            pushed_out = self._displaced(place, job.size)
            if pushed_out is None:
                return ()
            displaced = pushed_out
        return (self._offer(job, self._start_at(place, now_s) + job.size, displaced),)

    def offer_without_displacement(self, job: PlatformJob, now_s: int) -> Candidate:
        """Offer to run a job at its place in the queue without pushing any other out."""
        return self._offer(job, self._start_at(self._place_of(job), now_s) + job.size, ())

    def offer_behind_all(self, job: PlatformJob, now_s: int) -> Candidate:
        """Offer to run a job after all that are in the queue."""
        end = self._start_at(len(self._jobs), now_s) + job.size
        return self._offer(job, end, ())._replace(last=True)

    def _offer(self, job: PlatformJob, end: int, displaced: tuple[int, ...]) -> Candidate:
        end_s = self._capacity.slots_for(end) * SLOT_S
        cost = self._price * job.size
        return Candidate(self.index, is_good(end_s, cost, job), end_s, cost, displaced)

    def _displaced(self, place: int, size: int) -> tuple[int, ...] | None:
        """Jobs from a place on that would be late behind another one; None if they have as much work as that one.

        Algorithms 1 (lines 14-21) and 2 (lines 26-32).
        """
        slack = self._slack[place:]
        late = slack < size
        if self._late_jobs_stay:
            late &= slack >= 0
        displaced: list[int] = []
        work = 0
        for position in np.flatnonzero(late):
            if slack[position] >= size - work:
                continue
            job = self._jobs[place + position]
            displaced.append(job.index)
            work += job.size
            if work >= size:
                return None
        return tuple(displaced)

    def _order(self, job: PlatformJob) -> int:
        """Place of a job in the order of the queue: the least first."""
        return job.deadline_s if self._by_deadline else -job.priority

    def _place_of(self, job: PlatformJob) -> int:
        """Place in the queue of a job that joins it: behind its equals."""
        return bisect(self._keys, (self._order(job), self._joined))

    def _start_at(self, place: int, now_s: int) -> int:
        """Processor-minute with which a job at a place of the queue would start."""
        if place:
            return int(self._ends[place - 1])
        return max(self._begun, self._capacity.by(-(-now_s // SLOT_S)))

    # ------------------------------------------------------------------- queue

    def accept(self, job: PlatformJob, displaced: Sequence[int], now_s: int) -> None:
        """Let others leave the queue, and a job join it: behind its equals, or behind all."""
        if displaced:
            gone = set(displaced)
            for place in [place for place, other in enumerate(self._jobs) if other.index in gone][::-1]:
                size = self._jobs[place].size
                del self._keys[place], self._jobs[place]
                self._ends = np.concatenate((self._ends[:place], self._ends[place + 1 :] - size))
                self._slack = np.concatenate((self._slack[:place], self._slack[place + 1 :] + size))
        self._joined += 1
        job.turn = self._joined
        self.join(job, now_s)

    def join(self, job: PlatformJob, now_s: int) -> None:
        """Let a job have its place in the queue, one that has been displaced the same again."""
        key = (_BEHIND_ALL if job.behind_all else self._order(job), job.turn)
        place = bisect(self._keys, key)
        end = self._start_at(place, now_s) + job.size
        slack = self._capacity.by(job.deadline_s // SLOT_S) - end
        self._keys.insert(place, key)
        self._jobs.insert(place, job)
        self._ends = np.concatenate((self._ends[:place], [end], self._ends[place:] + job.size))
        self._slack = np.concatenate((self._slack[:place], [slack], self._slack[place:] - job.size))
        self._note_change()

    def _note_change(self) -> None:
        self.epoch += 1
        self._least_slack = int(self._slack.min()) if self._jobs else 0

    def next_start_s(self) -> int | None:
        """Time at which the first job of the queue has its first processors; None if none waits."""
        if not self._jobs:
            return None
        return self._capacity.slot_of(int(self._ends[0]) - self._jobs[0].size) * SLOT_S

    def begin(self, now_s: int) -> list[tuple[PlatformJob, int]]:
        """Take the jobs that have processors in the minute that starts now from the queue, each with its end."""
        until = self._capacity.by(now_s // SLOT_S + 1)
        count = 0
        begun = []
        while count < len(self._jobs) and self._ends[count] - self._jobs[count].size < until:
            end_s = self._capacity.slots_for(int(self._ends[count])) * SLOT_S
            begun.append((self._jobs[count], end_s))
            count += 1
        self._begun = int(self._ends[count - 1]) if count else self._begun
        del self._keys[:count], self._jobs[:count]
        self._ends, self._slack = self._ends[count:], self._slack[count:]
        self._note_change()
        return begun

    def charge(self, job: PlatformJob) -> float:
        """Cost of a job here: nothing, or every processor-minute."""
        return self._price * job.size
