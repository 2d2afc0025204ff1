"""Facts of a hybrid platform for the auditor, numbers exactly as they are written; books of its resources and jobs."""

from __future__ import annotations

import math
from bisect import bisect, bisect_right, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

from ...core.quantities import SECONDS_PER_HOUR
from ...instances.platforms.platform import Platform
from ...traces.trace import Trace
from ..facts import exact
from ..figures import figure_off
from ..findings import Finding

MINUTE_S = 60
NOISE = Fraction(1, 10**9)
"""A part of an amount of money below this is arithmetic noise."""


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """A job; ``place`` is its place in the order of arrival."""

    id: str
    place: int
    size: int
    priority: int
    arrival_s: int
    deadline_s: int
    budget: Fraction


@dataclass(frozen=True)
class ClusterFacts:
    """A cluster: from which minute on it has how many processors, and after how many minutes that begins again."""

    id: str
    cost_per_processor_minute: Fraction
    from_minute: tuple[int, ...]
    processors: tuple[int, ...]
    repeat: int | None = None

    @cached_property
    def work_per_repetition(self) -> int:
        """Processor-minutes of the steps together, if they are repeated."""
        assert self.repeat is not None
        ends = [*self.from_minute[1:], self.repeat]
        return sum((end - start) * n for start, end, n in zip(self.from_minute, ends, self.processors, strict=True))

    def stretch(self, minute: int) -> tuple[int, int | None]:
        """Processors in a minute, and the minute of their next change; None if there is none."""
        began = 0 if self.repeat is None else minute - minute % self.repeat
        step = bisect_right(self.from_minute, minute - began)
        if step < len(self.from_minute):
            return self.processors[step - 1], began + self.from_minute[step]
        return self.processors[step - 1], None if self.repeat is None else began + self.repeat


@dataclass(frozen=True, slots=True)
class CloudFacts:
    """A cloud of machines."""

    id: str
    processors: int
    cost_per_hour: Fraction


ResourceFacts: TypeAlias = ClusterFacts | CloudFacts


class PlatformFacts:
    """The document of a hybrid platform.

    Parameters
    ----------
    document : mapping
        Of the format ``spotbag.platform/1``.

    Raises
    ------
    InputError
        If it is not a valid platform.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        Platform.parse_document(document, "platform of the trace")
        self.resources = {entry["id"]: _resource_facts(entry) for entry in document["resources"]}
        arriving = sorted(document.get("jobs", ()), key=lambda entry: int(entry.get("arrival_s", 0)))
        self.jobs = {entry["id"]: _job_facts(entry, place) for place, entry in enumerate(arriving)}


def _job_facts(entry: Mapping[str, Any], place: int) -> StreamFacts:
    return StreamFacts(
        id=entry["id"],
        place=place,
        size=int(entry["size_processor_minutes"]),
        priority=int(entry.get("priority", 0)),
        arrival_s=int(entry.get("arrival_s", 0)),
        deadline_s=int(entry["deadline_s"]),
        budget=exact(entry["budget"]),
    )


def _resource_facts(entry: Mapping[str, Any]) -> ResourceFacts:
    name, kind = entry["id"], entry["kind"]
    if kind == "cloud":
        processors = int(entry.get("processors_per_vm", 8))
        return CloudFacts(name, processors, exact(entry.get("cost_per_vm_hour", 960)))
    if kind == "dedicated":
        return ClusterFacts(name, Fraction(0), (0,), (int(entry["processors"]),))
    repeat_s = entry.get("repeat_s")
    return ClusterFacts(
        id=name,
        cost_per_processor_minute=exact(entry.get("cost_per_processor_minute", 1)),
        from_minute=tuple(int(step["from_s"]) // MINUTE_S for step in entry["availability"]),
        processors=tuple(int(step["processors"]) for step in entry["availability"]),
        repeat=None if repeat_s is None else int(repeat_s) // MINUTE_S,
    )


# --------------------------------------------------- the book of a cluster


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


# ----------------------------------------------------- the book of a cloud

MOST_MACHINES = 10_000


@dataclass(slots=True, eq=False)
class MachineBook:
    """A machine of a cloud, as far as the events so far describe it; ``job`` is the one that it runs."""

    name: str
    cloud: CloudBook
    launched_s: int
    paid_until_s: int
    used: bool = False
    job: str | None = None
    terminated_s: int | None = None
    retained: bool = False  # beyond the end of a paid hour, although it was idle

    @property
    def idle(self) -> bool:
        """True if a job may use the machine."""
        return self.used and self.job is None and self.terminated_s is None

    @property
    def hours(self) -> int:
        """Hours begun until the machine was given back."""
        return _started_hours(self.launched_s, self.paid_until_s if self.terminated_s is None else self.terminated_s)

    @property
    def cost(self) -> Fraction:
        """The bill for them."""
        return self.hours * self.cloud.facts.cost_per_hour


@dataclass(frozen=True, slots=True)
class Offer:
    """Promise of a cloud for a job: its end and its cost."""

    end_s: int
    cost: Fraction


@dataclass(slots=True, eq=False)
class CloudBook:
    """A cloud, as far as the events so far describe it.

    Attributes
    ----------
    facts : CloudFacts
        The cloud.
    idle : dict of str to MachineBook
        Its machines that are idle.
    """

    facts: CloudFacts
    idle: dict[str, MachineBook] = field(default_factory=dict)

    def run_s(self, job: StreamFacts, machines: int) -> int:
        """Run time of a job on some machines, in seconds."""
        return -(-MINUTE_S * job.size // (machines * self.facts.processors))

    def most_paid(self) -> list[int]:
        """Times until which the idle machines are paid, the latest first."""
        return sorted((machine.paid_until_s for machine in self.idle.values()), reverse=True)

    def charge(self, machines: Iterable[MachineBook], until_s: int) -> Fraction:
        """Pay machines until a time; return what that costs beyond what is paid."""
        hours = 0
        for machine in machines:
            more = _started_hours(machine.paid_until_s, until_s)
            machine.paid_until_s += more * SECONDS_PER_HOUR
            hours += more
        return hours * self.facts.cost_per_hour

    # ------------------------------------------------------------------ offers

    def offers(self, job: StreamFacts, now_s: int, machines: int, exactly: bool) -> list[Offer]:
        """Promises of the cloud for a job with a given number of machines (Algorithm 3).

        It offers to end at the deadline, on as few machines as that takes (a minute, if less is left), or on as many as
        a job may have. If that is beyond the budget, it offers as well to end as early as the budget allows, on as many
        machines as it pays for.
        The formulas of the algorithm say that the job takes the whole time, or the whole budget; exactly, it is what
        the job will have.
        """
        paid = self.most_paid()
        time_s = max(job.deadline_s - now_s, MINUTE_S)
        enough = min(-(-MINUTE_S * job.size // (self.facts.processors * time_s)), MOST_MACHINES)
        run_s = self.run_s(job, enough)
        end_s = now_s + (run_s if exactly else max(time_s, run_s))
        in_time = Offer(end_s, self._price(paid, enough, now_s, end_s))
        offers = [in_time] if machines == enough else []
        end_s = now_s + self.run_s(job, machines)
        cost = self._price(paid, machines, now_s, end_s)
        noise = job.budget * NOISE
        if in_time.cost > job.budget - noise and cost <= job.budget + noise and self._most(job, machines, now_s, paid):
            offers.append(Offer(end_s, cost if exactly else job.budget))
        return offers

    def _most(self, job: StreamFacts, machines: int, now_s: int, paid: Sequence[int]) -> bool:
        """True if the budget pays for no larger number of machines, up to the number for a run of one minute."""
        limit = min(-(-job.size // self.facts.processors), MOST_MACHINES)
        price = self.facts.cost_per_hour
        if price:
            limit = min(limit, len(paid) + int(job.budget / price) + 1)
        within = job.budget - job.budget * NOISE
        return machines <= limit and not any(
            self._price(paid, more, now_s, now_s + self.run_s(job, more)) <= within
            for more in range(machines + 1, limit + 1)
        )

    def _price(self, paid: Sequence[int], machines: int, now_s: int, until_s: int) -> Fraction:
        """Cost of machines until a time: idle ones, the longest paid first, from the end of what is paid."""
        hours = sum(_started_hours(paid_s, until_s) for paid_s in paid[:machines])
        hours += max(machines - len(paid), 0) * _started_hours(now_s, until_s)
        return hours * self.facts.cost_per_hour


def _started_hours(since_s: int, until_s: int) -> int:
    return max(-(-(until_s - since_s) // SECONDS_PER_HOUR), 0)


State: TypeAlias = Literal["to come", "to be placed", "waiting", "running", "done"]


# ------------------------------- the book of a job, and the figures of all


@dataclass(slots=True, eq=False)
class JobBook:
    """A job, as far as the events so far describe it.

    Attributes
    ----------
    facts : StreamFacts
        The job.
    state : str
        Where it is in its life; on clusters it runs as soon as it has processors, whatever is recorded.
    resource : str, optional
        Where it waits, runs or has run; while it is to be placed, which cluster has displaced it.
    behind_all : bool
        Whether it was placed behind all others there.
    start_s, due_s : int, optional
        When it starts and ends by the rules.
    start_recorded, recorded_end_s : bool and int, optional
        Whether a start is on record; when it ended, by the record.
    charge : Fraction
        What it costs.
    machines : list of MachineBook
        Those of a cloud that it has.
    """

    facts: StreamFacts
    state: State = "to come"
    resource: str | None = None
    behind_all: bool = False
    start_s: int | None = None
    due_s: int | None = None
    stated_start: bool = False
    stated_end_s: int | None = None
    charge: Fraction = Fraction(0)
    machines: list[MachineBook] = field(default_factory=list)

    @property
    def where(self) -> str:
        """Place of the job as a phrase after ``it``."""
        if self.state == "to come":
            return "has not arrived"
        if self.state == "to be placed":
            return "is to be placed"
        verb = {"waiting": "waits at", "running": "runs on", "done": "has ended on"}[self.state]
        return f"{verb} {self.resource}"

    @property
    def delay_s(self) -> int:
        """Seconds from the deadline to the end of the job; 0 if in time."""
        return 0 if self.stated_end_s is None else max(self.stated_end_s - self.facts.deadline_s, 0)

    @property
    def overspend(self) -> Fraction:
        """Excess of the charge over the budget."""
        return over_budget(self.charge, self.facts.budget)


def over_budget(cost: Fraction, budget: Fraction) -> Fraction:
    """Excess of a cost over a budget; 0 if it is arithmetic noise."""
    over = cost - budget
    return over if over > budget * NOISE else Fraction(0)


def alike(one: Fraction, other: Fraction) -> bool:
    """True if two amounts are equal but for arithmetic noise."""
    return abs(one - other) <= NOISE * max(abs(one), abs(other))


def platform_figure_findings(
    jobs: Collection[JobBook],
    machines: Collection[MachineBook],
    trace: Trace,
    last_s: int,
) -> Iterator[Finding]:
    """Compare the figures of an end record with those of the events.

    Parameters
    ----------
    jobs : collection of JobBook
        All jobs of the platform.
    machines : collection of MachineBook
        All that have been launched.
    trace : Trace
        Its end record, and its placements, which are counted whatever is wrong with them.
    last_s : int
        Time of the last event.
    """
    end, placed = trace.end, [event for event in trace.events if event["event"] == "place"]
    ended = [job for job in jobs if job.stated_end_s is not None]
    cost = sum((job.charge for job in jobs), Fraction(0))
    overspend = sum((job.overspend for job in jobs), Fraction(0))
    found: dict[str, tuple[int | Fraction, str]] = {
        # Counts and seconds are whole numbers, and must be equal.
        "t": (last_s, "s"),
        "finished": (len(ended), "jobs"),
        "execution_time_s": (sum((job.stated_end_s or 0) - job.facts.arrival_s for job in ended), "s"),
        "delay_s": (sum(job.delay_s for job in ended), "s"),
        "late_jobs": (sum(job.delay_s > 0 for job in ended), "jobs"),
        "overspent_jobs": (sum(job.overspend > 0 for job in jobs), "jobs"),
        "machines": (len(machines), "machines"),
        "vm_hours": (sum(machine.hours for machine in machines), "h"),
        "good": (sum(event["good"] for event in placed), "placements"),
        "bad": (sum(not event["good"] for event in placed), "placements"),
        "displaced": (sum(len(event["displaced"]) for event in placed), "jobs"),
        "stays": (sum(event["event"] == "stay" for event in trace.events), "jobs"),
        "unwanted": (sum(bool(event.get("last")) for event in placed), "jobs"),
    }
    # Costs are sums of floats in the replay, and are looked at only where they differ by more than noise.
    if abs(end["cost"] - cost) > NOISE * cost:
        found["cost"] = cost, "units of cost"
    # It is what is left of costs when budgets are taken off them.
    if abs(end["overspend"] - overspend) > NOISE * cost:
        found["overspend"] = overspend, "units of cost"
    for name, (value, unit) in found.items():
        yield from figure_off(name, end[name], value, unit)
