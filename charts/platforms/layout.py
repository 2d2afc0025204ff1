"""What the Gantt chart of a hybrid platform shows, independent of how it is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.errors import SpotbagError, show_value
from ...core.wording import counted, shortened
from ...instances.platforms.capacity import Capacity
from ...instances.platforms.entries import SLOT_S, VM_HOUR_S, AllocatedCluster, Cloud, Resource
from ...instances.platforms.platform import Platform
from ...traces.trace import Trace

MOST_LANES = 24
MOST_MACHINES = 160
MOST_JOBS = 300
"""Of each, in all panels together: what can still be told apart on a page."""

_HOUR_S = 3600


@dataclass(slots=True)
class PlatformBar:
    """A job on a cluster, or on a machine of a cloud.

    Attributes
    ----------
    job, lane : int
        Its index in `PlatformPicture.jobs`; that of its resource in `PlatformPanel.lanes`.
    profile : list of (float, float)
        Times in seconds, and the part of the lane that the job has from then on; at the last one it ends.
    row : int
        Row of its machine in the lane; 0 on a cluster.
    late : bool
        Whether it ends after its deadline.
    """

    job: int
    lane: int
    profile: list[tuple[float, float]]
    row: int = 0
    late: bool = False

    @property
    def start_s(self) -> float:
        """When it begins."""
        return self.profile[0][0]

    @property
    def end_s(self) -> float:
        """When it ends."""
        return self.profile[-1][0]


@dataclass(slots=True)
class MachineSpan:
    """A machine of a cloud from its launch until it is given back, in a row of the lane of the cloud."""

    row: int
    launched_s: int
    terminated_s: int

    @property
    def hour_ends_s(self) -> range:
        """Ends of the hours that are paid."""
        return range(self.launched_s + VM_HOUR_S, self.terminated_s + 1, VM_HOUR_S)


@dataclass(slots=True)
class Lane:
    """A resource.

    Attributes
    ----------
    id : str
        Which.
    what : str
        What it is, in few words.
    cloud : bool
        Whether it has machines, which stand in `rows`, not processors.
    profile : list of (float, float)
        Of a cluster, times in seconds and the part of its most processors that is there from then on.
    machines : list of MachineSpan
        Of a cloud; a row is used again when its machine has been given back.
    rows : int
        Rows of machines, at least one.
    """

    id: str
    what: str
    cloud: bool
    profile: list[tuple[float, float]] = field(default_factory=list)
    machines: list[MachineSpan] = field(default_factory=list)
    rows: int = 1


@dataclass(frozen=True, slots=True)
class Move:
    """A job that was pushed out of a queue and went elsewhere, from lane to lane."""

    job: int
    time_s: int
    origin: int
    goal: int


@dataclass(frozen=True, slots=True)
class PlatformPanel:
    """The chart of one replay: title, lanes in the order of the platform, bars in the order of starts, moves, end."""

    title: str
    lanes: list[Lane]
    bars: list[PlatformBar]
    moves: list[Move]
    end_s: float

    @property
    def machine_rows(self) -> int:
        """Rows of cloud machines."""
        return sum(lane.rows for lane in self.lanes if lane.cloud)


@dataclass(frozen=True, slots=True)
class PlatformPicture:
    """Charts of replays of the same jobs on a platform, to be drawn one above the other.

    Attributes
    ----------
    title : str
        What was replayed.
    jobs, arrivals_s : list of str and list of int
        Ids and arrivals, in the order of arrival.
    panels : list of PlatformPanel
        One for each replay.
    """

    title: str
    jobs: list[str]
    arrivals_s: list[int]
    panels: list[PlatformPanel]

    @property
    def start_s(self) -> int:
        """Minute of the first arrival: what is shown begins there, also if the clock began long before."""
        return self.arrivals_s[0] // SLOT_S * SLOT_S

    @property
    def end_s(self) -> float:
        """When the last thing shown ends."""
        return max(panel.end_s for panel in self.panels)


def platform_picture(traces: Sequence[Trace]) -> PlatformPicture:
    """Lay out the Gantt charts of replays on a hybrid platform.

    Raises
    ------
    SpotbagError
        If there is no trace, one is not of a platform, they are of different platforms or jobs, one contradicts
        itself, or there is more than can be told apart in a picture.
    """
    if not traces:
        raise SpotbagError("no trace to draw: a picture shows at least one replay")
    for trace in traces:
        if not trace.of_platform:
            name = shortened(str(trace.instance.get("name")), 60)
            other = "a stream; spotbag.charts.streams.replay" if trace.of_stream else "a plan; write_replay_gantt"
            raise SpotbagError(f"the trace of {name!r} is not one on a hybrid platform, but of {other} draws it")
        if trace.instance != traces[0].instance:
            raise SpotbagError("the traces are of different platforms or jobs; a picture shows replays of the same")
    platform = Platform.from_document(traces[0].instance, "platform of the trace")
    _refuse_what_is_too_much(len(platform.resources) * len(traces), MOST_LANES, "lanes of resources", "policies")
    _refuse_what_is_too_much(len(platform.jobs) * len(traces), MOST_JOBS, "jobs", "jobs or policies")
    panels = [_Reader(platform, trace).read() for trace in traces]
    rows: Counter[str] = Counter()
    for trace, panel in zip(traces, panels, strict=True):
        rows[trace.run["policy"]] += panel.machine_rows
    _refuse_too_many_rows(rows)
    jobs = platform.jobs_by_arrival
    seeds = ", ".join(dict.fromkeys(f"{trace.run['seed']}" for trace in traces))
    title = f"{shortened(platform.name, 80)} seed {seeds}: {counted(len(jobs), 'job')}"
    return PlatformPicture(title, [job.id for job in jobs], [job.arrival_s for job in jobs], panels)


def _refuse_what_is_too_much(number: int, most: int, what: str, fewer: str) -> None:
    if number > most:
        raise SpotbagError(f"a picture of {number:,} {what} cannot be read: {most} at most; draw one of fewer {fewer}")


def _refuse_too_many_rows(rows: Mapping[str, int]) -> None:
    """Refuse more rows of machines than can be read, and name the policies without which there are few enough."""
    number = sum(rows.values())
    if number <= MOST_MACHINES:
        return
    left_out: list[str] = []
    for policy in sorted(rows, key=lambda policy: -rows[policy]):
        left_out.append(policy)
        if sum(rows[other] for other in rows if other not in left_out) <= MOST_MACHINES:
            break
    if len(left_out) == len(rows):
        way_out = "draw one of fewer jobs"
    else:
        named = ", ".join(f"{policy} (which has {rows[policy]:,})" for policy in left_out)
        way_out = f"leave out {named}, or draw one of fewer jobs"
    raise SpotbagError(
        f"a picture of {number:,} rows of cloud machines cannot be read: {MOST_MACHINES} at most; {way_out}"
    )


def _title(trace: Trace) -> str:
    end, n_jobs = trace.end, len(trace.instance["jobs"])
    late = f"{end['late_jobs']:,} of {counted(n_jobs, 'job')} late"
    if end["late_jobs"]:
        late += f" ({end['delay_s'] / _HOUR_S:,.2f} h in all)"
    last_s = max((event["t"] for event in trace.events if event["event"] == "finish"), default=0)
    policy = shortened(trace.run["policy"], 60)
    return f"policy {policy}: cost {end['cost']:,.0f}, {late}, all done by {last_s / _HOUR_S:,.2f} h"


class _Reader:
    """Walks through the events once."""

    def __init__(self, platform: Platform, trace: Trace) -> None:
        self.trace = trace
        self.end_s = int(trace.end["t"])
        self.jobs = platform.jobs_by_arrival
        self.job_of = {job.id: index for index, job in enumerate(self.jobs)}
        self.lane_of = {resource.id: index for index, resource in enumerate(platform.resources)}
        self.lanes = [_lane(resource, self.end_s) for resource in platform.resources]
        self.queues = {
            index: _Queue(Capacity(resource), self.lanes[index].profile)
            for index, resource in enumerate(platform.resources)
            if not isinstance(resource, Cloud)
        }
        self.bars: list[PlatformBar] = []
        self.running: dict[str, list[PlatformBar]] = {}
        self.machine_of: dict[str, tuple[int, MachineSpan]] = {}
        self.free_rows: dict[int, list[int]] = {index: [] for index in range(len(self.lanes))}
        self.pushed_out: dict[int, int] = {}
        self.moves: list[Move] = []

    def read(self) -> PlatformPanel:
        for position, event in enumerate(self.trace.events, 1):
            try:
                self._take(event)
            except KeyError as error:
                raise SpotbagError(
                    f"event {position} of the trace ({event['event']!r} at {event['t']} s): "
                    f"{show_value(error.args[0])} is not known, or not in a state for that; 'spotbag audit' says more"
                ) from None
        last_s = max((bar.end_s for bar in self.bars), default=0)
        for lane in self.lanes:
            if lane.cloud:
                lane.what = (
                    f"{counted(len(lane.machines), 'machine')} of {lane.what}" if lane.machines else "no machines"
                )
        return PlatformPanel(_title(self.trace), self.lanes, self.bars, self.moves, max(self.end_s, last_s))

    def _take(self, event: Mapping[str, Any]) -> None:
        kind, time_s = event["event"], event["t"]
        if kind in ("place", "stay"):
            self._place(self.job_of[event["job"]], self.lane_of[event["resource"]], time_s)
            for displaced in event.get("displaced", ()):
                self.pushed_out[self.job_of[displaced]] = self.lane_of[event["resource"]]
        elif kind == "launch":
            self._launch(event["vm"], self.lane_of[event["resource"]], time_s)
        elif kind == "terminate":
            self._terminate(event["vm"], time_s)
        elif kind == "start":
            self._start(event, self.job_of[event["job"]], self.lane_of[event["resource"]])
        elif kind == "finish":
            self._finish(event["job"], time_s)

    def _place(self, job: int, lane: int, time_s: int) -> None:
        origin = self.pushed_out.pop(job, lane)
        if origin != lane:
            self.moves.append(Move(job, time_s, origin, lane))

    def _launch(self, name: str, lane: int, time_s: int) -> None:
        here, free = self.lanes[lane], self.free_rows[lane]
        row = min(free) if free else len({machine.row for machine in here.machines})
        if free:
            free.remove(row)
        here.machines.append(MachineSpan(row, time_s, self.end_s))
        here.rows = max(here.rows, row + 1)
        self.machine_of[name] = lane, here.machines[-1]

    def _terminate(self, name: str, time_s: int) -> None:
        lane, machine = self.machine_of[name]
        machine.terminated_s = time_s
        self.free_rows[lane].append(machine.row)

    def _start(self, event: Mapping[str, Any], job: int, lane: int) -> None:
        if lane in self.queues:
            profile = self.queues[lane].take(self.jobs[job].size_processor_minutes, event["t"])
            if profile is None:
                raise KeyError(event["job"])
            bars = [PlatformBar(job, lane, profile)]
        else:
            rows = [self.machine_of[name][1].row for name in event.get("vms", ())]
            bars = [PlatformBar(job, lane, [(event["t"], 1.0), (self.end_s, 0.0)], row) for row in rows]
        self.running[event["job"]] = bars
        self.bars += bars

    def _finish(self, name: str, time_s: int) -> None:
        for bar in self.running.pop(name):
            bar.late = time_s > self.jobs[bar.job].deadline_s
            if self.lanes[bar.lane].cloud:
                bar.profile[-1] = (time_s, 0.0)
            elif not time_s - SLOT_S < bar.end_s <= time_s:
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
        first = max(self._taken, self._capacity.by(start_s // SLOT_S))
        if self._capacity.slot_of(first) * SLOT_S != start_s:
            return None
        self._taken = first + size
        begin_s = self._time_s(first, first)
        end_s = self._time_s(self._taken, self._taken - 1)
        height = next(height for time_s, height in reversed(self._steps) if time_s <= begin_s)
        inside = [(time_s, height) for time_s, height in self._steps if begin_s < time_s < end_s]
        return [(begin_s, height), *inside, (end_s, 0.0)]

    def _time_s(self, number: int, belongs_to: int) -> float:
        """Time by which so many processor-minutes have been had, in the minute to which one of them belongs."""
        slot = self._capacity.slot_of(belongs_to)
        before = self._capacity.by(slot)
        return SLOT_S * (slot + (number - before) / (self._capacity.by(slot + 1) - before))


def _lane(resource: Resource, end_s: int) -> Lane:
    if isinstance(resource, Cloud):
        return Lane(resource.id, f"{resource.processors_per_vm:,}", cloud=True)
    if not isinstance(resource, AllocatedCluster):
        return Lane(resource.id, counted(resource.processors, "processor"), cloud=False, profile=[(0.0, 1.0)])
    most = max(step.processors for step in resource.availability)
    steps = [(step.from_s, step.processors) for step in resource.availability]
    period_s = resource.repeat_s
    periods = 1 if period_s is None else -(-end_s // period_s) + 1
    profile = [
        (float((period_s or 0) * period + from_s), processors / most)
        for period in range(periods)
        for from_s, processors in steps
    ]
    what = counted(most, "processor") if len(steps) == 1 else f"up to {counted(most, 'processor')}"
    return Lane(resource.id, what, cloud=False, profile=profile)
