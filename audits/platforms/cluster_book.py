"""The auditor's book of one cluster: the order of the waiting jobs, and the processors of the running ones."""

from __future__ import annotations

import math
from bisect import bisect, insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from .facts import MINUTE_S, ClusterFacts, StreamFacts


@dataclass(slots=True)
class Minutes:
    """The processors of a cluster, handed out minute by minute.

    Attributes
    ----------
    facts : ClusterFacts
        How many there are.
    minute, left : int
        The minute that is handed out, and its free processors.
    """

    facts: ClusterFacts
    minute: int
    left: int

    def copy(self) -> Minutes:
        """Return a copy, for a trial placement."""
        return Minutes(self.facts, self.minute, self.left)

    def from_time(self, time_s: int) -> None:
        """Leave the minutes that have begun before a time behind."""
        minute = -(-time_s // MINUTE_S)
        if minute > self.minute:
            self.minute = minute
            self.left, _ = self.facts.stretch(minute)

    def first(self) -> int:
        """Go on to the first minute in which a processor is left."""
        while not self.left:
            processors, until = self.facts.stretch(self.minute)
            self.minute = until if processors == 0 and until is not None else self.minute + 1
            self.left, _ = self.facts.stretch(self.minute)
        return self.minute

    def hand_out(self, work: int) -> int:
        """Hand out processor-minutes, at least one; return the end of the last one's minute, in seconds."""
        repeat = self.facts.repeat
        if repeat is not None:
            # After as much work as all steps have, just as much is left of the same minute of a repetition.
            repetitions = (work - 1) // self.facts.work_per_repetition
            self.minute += repetitions * repeat
            work -= repetitions * self.facts.work_per_repetition
        while True:
            self.first()
            if work <= self.left:
                self.left -= work
                return (self.minute + 1) * MINUTE_S
            work -= self.left
            processors, until = self.facts.stretch(self.minute)
            whole = (work - 1) // processors
            if until is not None:
                whole = min(whole, until - self.minute - 1)
            work -= whole * processors
            self.minute += 1 + whole
            self.left, _ = self.facts.stretch(self.minute)


class _Waiting(NamedTuple):
    """A job that waits, after what orders it: by priority or deadline, then by when it joined; or behind all."""

    behind_all: bool
    order: int
    turn: float
    job: StreamFacts


@dataclass(frozen=True, slots=True)
class Begun:
    """A job that has processors, from when to when."""

    job: StreamFacts
    start_s: int
    end_s: int


class ClusterBook:
    """A cluster, as far as the events so far describe it.

    Parameters
    ----------
    facts : ClusterFacts
        The cluster.
    rules : mapping
        Of the run record: the order of the queue, and what becomes of late jobs.
    """

    def __init__(self, facts: ClusterFacts, rules: Mapping[str, str]) -> None:
        self.facts = facts
        self._by_deadline = rules["queue"] == "deadline"
        self._late_jobs_stay = rules["late_jobs"] == "stay"
        self._minutes = Minutes(facts, 0, facts.stretch(0)[0])
        self._queue: list[_Waiting] = []
        self._joined = 0
        self._turns: dict[str, int] = {}  # of all that have ever joined

    def begin(self, until_s: int | None) -> Iterator[Begun]:
        """Let jobs begin in the minutes that start before a time; without a time, all of them."""
        while self._queue:
            start_s = self._minutes.first() * MINUTE_S
            if until_s is not None and start_s >= until_s:
                return
            job = self._queue.pop(0).job
            yield Begun(job, start_s, self._minutes.hand_out(job.size))

    def join(self, job: StreamFacts, now_s: int, behind_all: bool, again: bool) -> None:
        """Let a job wait, behind its equals; or again, where it has waited before."""
        self._minutes.from_time(now_s)
        turn = self._turns.pop(job.id, None)
        if turn is None or not again:
            turn = self._joined = self._joined + 1
        self._turns[job.id] = turn
        insort(self._queue, self._key(job, behind_all, turn))

    def leave(self, job: StreamFacts) -> None:
        """Take a job that waits out of the queue."""
        self._queue = [other for other in self._queue if other.job is not job]

    def end_s(self, job: StreamFacts, now_s: int, behind_all: bool) -> int:
        """End of a job that joined the queue now."""
        return self._after(self._key(job, behind_all), now_s)[0]

    def late_behind(self, job: StreamFacts, now_s: int) -> list[StreamFacts]:
        """Jobs late behind a job that joined the queue now; each is left out before the next is looked at."""
        key = self._key(job)
        _, minutes = self._after(key, now_s)
        late_anyhow = self._late(now_s) if self._late_jobs_stay else ()
        late = []
        for other in self._queue[bisect(self._queue, key) :]:
            behind = minutes.copy()
            if behind.hand_out(other.job.size) <= other.job.deadline_s or other.job.id in late_anyhow:
                minutes = behind
            else:
                late.append(other.job)
        return late

    def _late(self, now_s: int) -> set[str]:
        """Ids of the waiting jobs that would end after their deadline."""
        minutes = self._minutes.copy()
        minutes.from_time(now_s)
        return {other.job.id for other in self._queue if minutes.hand_out(other.job.size) > other.job.deadline_s}

    def waits_behind(self, job: StreamFacts, other: StreamFacts) -> bool:
        """True if a job waits in the queue, behind the position of another job."""
        return any(waiting.job is job for waiting in self._queue[bisect(self._queue, self._key(other)) :])

    def _after(self, key: _Waiting, now_s: int) -> tuple[int, Minutes]:
        """End of a job that joins the queue now, and the minutes left then."""
        minutes = self._minutes.copy()
        minutes.from_time(now_s)
        work = sum(other.job.size for other in self._queue[: bisect(self._queue, key)])
        return minutes.hand_out(work + key.job.size), minutes

    def _key(self, job: StreamFacts, behind_all: bool = False, turn: float = math.inf) -> _Waiting:
        order = job.deadline_s if self._by_deadline else -job.priority
        return _Waiting(behind_all, 0 if behind_all else order, turn, job)
