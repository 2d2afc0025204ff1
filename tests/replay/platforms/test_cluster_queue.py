"""The queue before a cluster: what a job that joins changes, without going through all that wait."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import Any

import numpy as np

from spotbag.instances.platforms.entries import DedicatedCluster, MalleableJob
from spotbag.replay.platforms.candidate import PlatformJob
from spotbag.replay.platforms.cluster import ClusterScheduler
from spotbag.replay.platforms.local_scheduler import PlatformRules

READS: Counter[str] = Counter()


class Watched(PlatformJob):
    """A job that counts how often it is looked at."""

    def __getattribute__(self, name: str) -> Any:
        READS[name] += 1
        return super().__getattribute__(name)


def job(index: int, size: int, priority: int, deadline_s: int = 10**6) -> PlatformJob:
    entry = MalleableJob(
        id=f"j{index}", size_processor_minutes=size, priority=priority, arrival_s=0, deadline_s=deadline_s, budget=1.0
    )
    return Watched.of(index, entry)


def cluster(processors: int = 4) -> ClusterScheduler:
    return ClusterScheduler(
        0, DedicatedCluster(id="c", parent="root", kind="dedicated", processors=processors), PlatformRules()
    )


def test_a_job_joins_a_crowded_queue_without_all_others_being_looked_at() -> None:
    # Each joins in the middle of up to 500: gone through, they would be looked at 500 * 500 / 2 = 125,000 times.
    queue = cluster()
    jobs = [job(index, 1 + index % 7, index % 3) for index in range(500)]
    READS.clear()
    for one in jobs:
        queue.candidates(one, 0)
        queue.accept(one, (), 0)
    assert READS["size"] <= 10 * len(jobs)


def test_ends_and_slacks_are_those_of_a_queue_gone_through() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        queue = cluster(int(rng.integers(1, 9)))
        waiting: list[PlatformJob] = []
        now_s = 0
        for index in range(40):
            now_s += int(rng.integers(0, 4)) * 30
            start_s = queue.next_start_s()
            while start_s is not None and start_s <= now_s:
                begun = {one.index for one, _ in queue.begin(start_s)}
                waiting = [one for one in waiting if one.index not in begun]
                start_s = queue.next_start_s()
            one = job(index, int(rng.integers(1, 30)), int(rng.integers(0, 3)), int(rng.integers(60, 9000)))
            for offer in queue.candidates(one, now_s):
                queue.accept(one, offer.displaced, now_s)
                waiting = [other for other in waiting if other.index not in offer.displaced] + [one]
            waiting.sort(key=lambda other: (-other.priority, other.turn))
            assert [other.index for other in queue._jobs] == [other.index for other in waiting]
            if waiting:
                first = int(queue._ends[0]) - waiting[0].size
                ends = list(accumulate((other.size for other in waiting), initial=first))[1:]
                assert queue._ends.tolist() == ends
                latest = [queue._capacity.by(other.deadline_s // 60) for other in waiting]
                assert queue._slack.tolist() == [due - end for due, end in zip(latest, ends, strict=True)]
