"""History of each resource, machine and job of a hybrid platform in a replay, from its trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...instances.platforms.capacity import Capacity
from ...instances.platforms.entries import SLOT_S, VM_HOUR_S, AllocatedCluster, Cloud, Resource
from ...instances.platforms.platform import Platform
from ..trace import Trace


@dataclass(slots=True)
class JobSpan:
    """A job on a cluster, or on a machine of a cloud.

    Attributes
    ----------
    job, resource : int
        Its index by arrival; that of its resource in the platform.
    profile : list of (float, float)
        Times in seconds, and the part of the resource that the job has from then on; at the last one it ends.
    row : int
        Row of its machine; 0 on a cluster.
    late : bool
        Whether it ends after its deadline.
    """

    job: int
    resource: int
    profile: list[tuple[float, float]]
    row: int = 0
    late: bool = False

    @property
    def start_s(self) -> float:
        """Start of the job."""
        return self.profile[0][0]

    @property
    def end_s(self) -> float:
        """End of the job."""
        return self.profile[-1][0]


@dataclass(slots=True)
class MachineSpan:
    """A machine of a cloud from its launch until it is given back; a row is used again by later machines."""

    row: int
    launched_s: int
    terminated_s: int

    @property
    def hour_ends_s(self) -> range:
        """Ends of the hours that are paid."""
        return range(self.launched_s + VM_HOUR_S, self.terminated_s + 1, VM_HOUR_S)


@dataclass(slots=True)
class ResourceHistory:
    """A resource.

    Attributes
    ----------
    resource : Resource
        What it is.
    profile : list of (float, float)
        Of a cluster, times in seconds and the part of its most processors that is there from then on.
    machines : list of MachineSpan
        Of a cloud, in order of launch.
    rows : int
        Rows of machines, at least one.
    """

    resource: Resource
    profile: list[tuple[float, float]] = field(default_factory=list)
    machines: list[MachineSpan] = field(default_factory=list)
    rows: int = 1

    @property
    def cloud(self) -> bool:
        """True for a cloud, which has machines instead of processors."""
        return isinstance(self.resource, Cloud)

    @property
    def most_processors(self) -> int:
        """Processors of a cluster while it has the most, or of a machine."""
        if isinstance(self.resource, Cloud):
            return self.resource.processors_per_vm
        if isinstance(self.resource, AllocatedCluster):
            return max(step.processors for step in self.resource.availability)
        return self.resource.processors


@dataclass(frozen=True, slots=True)
class JobMove:
    """A job that was pushed out of a queue and went elsewhere, from resource to resource."""

    job: int
    time_s: int
    origin: int
    goal: int


@dataclass(frozen=True, slots=True)
class PlatformHistory:
    """A replay, by resource and job.

    Attributes
    ----------
    resources : list of ResourceHistory
        In the order of the platform.
    spans : list of JobSpan
        In the order of starts.
    moves : list of JobMove
        In order of time.
    end_s : float
        When the last of all ends.
    """

    resources: list[ResourceHistory]
    spans: list[JobSpan]
    moves: list[JobMove]
    end_s: float

    @property
    def machine_rows(self) -> int:
        """Rows of cloud machines."""
        return sum(entry.rows for entry in self.resources if entry.cloud)


def read_platform_history(platform: Platform, trace: Trace) -> PlatformHistory:
    """Put the events of a trace together.

    Parameters
    ----------
    platform : Platform
        That of the trace.
    trace : Trace
        A replay on it.

    Raises
    ------
    SpotbagError
        If an event names a resource, a job or a machine that cannot be meant there; the auditor says more.
    """
    return _Reader(platform, trace).read()


class _Reader:
    """A history in the making, from one walk through the events."""

    def __init__(self, platform: Platform, trace: Trace) -> None:
        self.trace = trace
        self.end_s = int(trace.end["t"])
        self.jobs = platform.jobs_by_arrival
        self.job_of = {job.id: index for index, job in enumerate(self.jobs)}
        self.resource_of = {resource.id: index for index, resource in enumerate(platform.resources)}
        self.resources = [ResourceHistory(resource, _profile(resource, self.end_s)) for resource in platform.resources]
        self.queues = {
            index: _Queue(Capacity(resource), self.resources[index].profile)
            for index, resource in enumerate(platform.resources)
            if not isinstance(resource, Cloud)
        }
        self.spans: list[JobSpan] = []
        self.running: dict[str, list[JobSpan]] = {}
        self.machine_of: dict[str, tuple[int, MachineSpan]] = {}
        self.free_rows: dict[int, list[int]] = {index: [] for index in range(len(self.resources))}
        self.pushed_out: dict[int, int] = {}
        self.moves: list[JobMove] = []

    def read(self) -> PlatformHistory:
        self.trace.follow(self._take)
        last_s = max((span.end_s for span in self.spans), default=0)
        return PlatformHistory(self.resources, self.spans, self.moves, max(self.end_s, last_s))

    def _take(self, event: Mapping[str, Any]) -> None:
        """Note what an event changes; a displaced job moves only when a later event places it anew."""
        kind, time_s = event["event"], event["t"]
        if kind in ("place", "stay"):
            self._place(self.job_of[event["job"]], self.resource_of[event["resource"]], time_s)
            for displaced in event.get("displaced", ()):
                self.pushed_out[self.job_of[displaced]] = self.resource_of[event["resource"]]
        elif kind == "launch":
            self._launch(event["vm"], self.resource_of[event["resource"]], time_s)
        elif kind == "terminate":
            self._terminate(event["vm"], time_s)
        elif kind == "start":
            self._start(event, self.job_of[event["job"]], self.resource_of[event["resource"]])
        elif kind == "finish":
            self._finish(event["job"], time_s)

    def _place(self, job: int, resource: int, time_s: int) -> None:
        origin = self.pushed_out.pop(job, resource)
        if origin != resource:
            self.moves.append(JobMove(job, time_s, origin, resource))

    def _launch(self, name: str, resource: int, time_s: int) -> None:
        here, free = self.resources[resource], self.free_rows[resource]
        # The lowest row that is free: a picture is as high as there are machines at once.
        row = min(free) if free else len({machine.row for machine in here.machines})
        if free:
            free.remove(row)
        here.machines.append(MachineSpan(row, time_s, self.end_s))
        here.rows = max(here.rows, row + 1)
        self.machine_of[name] = resource, here.machines[-1]

    def _terminate(self, name: str, time_s: int) -> None:
        resource, machine = self.machine_of[name]
        machine.terminated_s = time_s
        self.free_rows[resource].append(machine.row)

    def _start(self, event: Mapping[str, Any], job: int, resource: int) -> None:
        if resource in self.queues:
            profile = self.queues[resource].take(self.jobs[job].size_processor_minutes, event["t"])
            if profile is None:
                raise KeyError(event["job"])
            spans = [JobSpan(job, resource, profile)]
        else:
            rows = [self.machine_of[name][1].row for name in event.get("vms", ())]
            spans = [JobSpan(job, resource, [(event["t"], 1.0), (self.end_s, 0.0)], row) for row in rows]
        self.running[event["job"]] = spans
        self.spans += spans

    def _finish(self, name: str, time_s: int) -> None:
        for span in self.running.pop(name):
            span.late = time_s > self.jobs[span.job].deadline_s
            if self.resources[span.resource].cloud:
                span.profile[-1] = (time_s, 0.0)
            # The trace has the end of a whole minute, of the last of which a job may take a part.
            elif not time_s - SLOT_S < span.end_s <= time_s:
                raise KeyError(name)


class _Queue:
    """The processor-minutes of a cluster, given away one after the other."""

    def __init__(self, capacity: Capacity, steps: list[tuple[float, float]]) -> None:
        self._capacity = capacity
        self._steps = steps
        self._taken = 0

    def take(self, size: int, start_s: int) -> list[tuple[float, float]] | None:
        """Give processor-minutes to a job that starts; None if it cannot have started then.

        A job is drawn from its first to its last processor-minute as if each minute went to its jobs one after the
        other, so that bars do not overlap, and have areas in proportion to sizes.
        """
        # What nobody took before its first minute is lost: a cluster gives away no minute that is over.
        first = max(self._taken, self._capacity.by(start_s // SLOT_S))
        # In a minute without a free processor nothing starts: then the trace contradicts the platform.
        if self._capacity.slot_of(first) * SLOT_S != start_s:
            return None
        self._taken = first + size
        begin_s = self._time_s(first, first)
        end_s = self._time_s(self._taken, self._taken - 1)
        height = next(height for time_s, height in reversed(self._steps) if time_s <= begin_s)
        inside = [(time_s, height) for time_s, height in self._steps if begin_s < time_s < end_s]
        return [(begin_s, height), *inside, (end_s, 0.0)]

    def _time_s(self, number: int, belongs_to: int) -> float:
        """Time of a processor-minute, by its number and its minute."""
        slot = self._capacity.slot_of(belongs_to)
        before = self._capacity.by(slot)
        return SLOT_S * (slot + (number - before) / (self._capacity.by(slot + 1) - before))


def _profile(resource: Resource, end_s: int) -> list[tuple[float, float]]:
    """Part of the most processors of a cluster that is there, period by period; nothing of a cloud."""
    if isinstance(resource, Cloud):
        return []
    if not isinstance(resource, AllocatedCluster):
        return [(0.0, 1.0)]
    most = max(step.processors for step in resource.availability)
    period_s = resource.repeat_s
    periods = 1 if period_s is None else -(-end_s // period_s) + 1
    return [
        (float((period_s or 0) * period + step.from_s), step.processors / most)
        for period in range(periods)
        for step in resource.availability
    ]
