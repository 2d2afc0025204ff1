"""What the Gantt chart of a stream shows, independent of how it is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.errors import SpotbagError, show_value
from ...core.wording import counted, shortened
from ...traces.trace import Trace


@dataclass(slots=True)
class StreamBar:
    """A task on a VM, from a start until it finishes or is suspended.

    Attributes
    ----------
    task : str
        The task.
    job, row : int
        Its job, as an index into `StreamPicture.jobs`; its VM, as an index into `StreamPanel.rows`.
    start_s, end_s : int
        From when to when.
    suspended : bool
        Whether it was suspended at the end.
    late : bool
        Whether the task finished at the end, after the deadline of its job.
    """

    task: str
    job: int
    row: int
    start_s: int
    end_s: int
    suspended: bool = False
    late: bool = False


@dataclass(slots=True)
class VmRow:
    """A VM from its request to its end.

    Attributes
    ----------
    name, vm_type : str
        What it is.
    requested_s, ready_s, end_s : int
        When it was requested, ready, and terminated; one that was terminated before is ready at its end.
    block_ends_s : tuple of int
        Ends of its blocks; none if it is billed by the second.
    """

    name: str
    vm_type: str
    requested_s: int
    ready_s: int
    end_s: int
    block_ends_s: tuple[int, ...] = ()

    @property
    def paid_until_s(self) -> int:
        """When what was paid for is over."""
        return self.block_ends_s[-1] if self.block_ends_s else self.end_s


@dataclass(frozen=True, slots=True)
class StreamMark:
    """What there is to say about a job: what it is, when it is submitted, and when it is due."""

    id: str
    application: str
    submitted_s: int
    deadline_s: int


@dataclass(frozen=True, slots=True)
class StreamPanel:
    """The chart of one replay.

    Attributes
    ----------
    title : str
        Policy and figures.
    rows : list of VmRow
        VMs by type, those of a type in the order of their requests, the first at the top.
    bars : list of StreamBar
        In the order of their starts.
    end_s : int
        When the last thing shown ends.
    """

    title: str
    rows: list[VmRow]
    bars: list[StreamBar]
    end_s: int


@dataclass(frozen=True, slots=True)
class StreamPicture:
    """Charts of replays of one stream, to be drawn one above the other.

    Attributes
    ----------
    title : str
        What was replayed.
    jobs : list of StreamMark
        In the order of submission.
    panels : list of StreamPanel
        One for each replay.
    """

    title: str
    jobs: list[StreamMark]
    panels: list[StreamPanel]

    @property
    def end_s(self) -> int:
        """When the last thing shown ends."""
        return max([panel.end_s for panel in self.panels] + [job.deadline_s for job in self.jobs])


def stream_picture(traces: Sequence[Trace]) -> StreamPicture:
    """Lay out the Gantt charts of replays of a stream.

    Raises
    ------
    SpotbagError
        If there is no trace, one is not of a stream, they are of different jobs, or one contradicts itself.
    """
    if not traces:
        raise SpotbagError("no trace to draw: a picture shows at least one replay")
    for trace in traces:
        if trace.of_platform:
            raise SpotbagError(
                f"the trace of {shortened(str(trace.instance.get('name')), 60)!r} is one on a hybrid platform, not of "
                "a stream; spotbag.charts.platforms.replay draws it"
            )
        if not trace.of_stream:
            raise SpotbagError(
                f"the trace of {shortened(str(trace.instance.get('name')), 60)!r} is one of a plan, not of a job "
                "stream; write_replay_gantt draws it"
            )
        if trace.run["jobs"] != traces[0].run["jobs"]:
            raise SpotbagError("the traces are of different streams; a picture shows replays of one")
    jobs = [
        StreamMark(job["id"], job["application"], job["submitted_s"], job["deadline_s"])
        for job in traces[0].run["jobs"]
    ]
    names = list(dict.fromkeys(_run_name(trace) for trace in traces))
    n_tasks = sum(job["n_tasks"] for job in traces[0].run["jobs"])
    title = f"{shortened(', '.join(names), 80)}: {counted(len(jobs), 'job')}, {counted(n_tasks, 'task')}"
    return StreamPicture(title, jobs, [_panel(trace) for trace in traces])


def _panel(trace: Trace) -> StreamPanel:
    history = _Reader(trace).read()
    types = [vm_type["name"] for vm_type in trace.instance["vm_types"]]
    order = sorted(range(len(history.vms)), key=lambda index: types.index(history.vms[index].vm_type))
    row_of = {index: row for row, index in enumerate(order)}
    for bar in history.bars:
        bar.row = row_of[bar.row]
    rows = [history.vms[index] for index in order]
    end_s = max([int(trace.end["t"]), *(row.paid_until_s for row in rows)])
    return StreamPanel(_title(trace), rows, history.bars, end_s)


def _run_name(trace: Trace) -> str:
    """Stream and seed; the instance has the seed in its name only if it depends on it."""
    seed = f"seed {trace.run['seed']}"
    return f"{str(trace.instance['name']).removesuffix(f' {seed}')} {seed}"


def _title(trace: Trace) -> str:
    end = trace.end
    n_tasks = sum(job["n_tasks"] for job in trace.run["jobs"])
    late = f"{end['late_tasks']:,} of {counted(n_tasks, 'task')} late"
    if end["late_tasks"] and "late_s" in end:
        late += f" ({end['late_s']:,} s in all)"
    ends = f"{len(end['unfinished']):,} unfinished" if end["unfinished"] else f"all done at {end['makespan_s']:,} s"
    return f"policy {shortened(trace.run['policy'], 60)}: ${end['cost_usd']:.3f}, {late}, {ends}"


@dataclass(slots=True)
class _Reader:
    """Walks through the events once; until it has ended, the row of a bar is the number of its VM."""

    trace: Trace
    vms: list[VmRow] = field(default_factory=list)
    bars: list[StreamBar] = field(default_factory=list)
    number: dict[str, int] = field(default_factory=dict)
    running: dict[str, StreamBar] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)

    def read(self) -> _Reader:
        job_of = _job_of(self.trace)
        for position, event in enumerate(self.trace.events, 1):
            try:
                self._take(event, job_of)
            except KeyError as error:
                raise SpotbagError(
                    f"event {position} of the trace ({event['event']!r} at {event['t']} s): "
                    f"{show_value(error.args[0])} is not known, or not in a state for that; 'spotbag audit' says more"
                ) from None
        end_s = int(self.trace.end["t"])
        for bar in self.running.values():
            bar.end_s = end_s
        for vm in self.vms:
            if vm.name not in self.ended:
                vm.end_s = end_s
            vm.ready_s = min(vm.ready_s, vm.end_s)
            vm.block_ends_s = _block_ends_s(vm, self.trace.run["billing"])
        return self

    def _take(self, event: Mapping[str, Any], job_of: Mapping[str, int]) -> None:
        kind, time_s = event["event"], event["t"]
        if kind == "launch":
            if not any(vm_type["name"] == event["type"] for vm_type in self.trace.instance["vm_types"]):
                raise KeyError(event["type"])
            self.number[event["vm"]] = len(self.vms)
            never_s = int(self.trace.end["t"])
            self.vms.append(VmRow(event["vm"], event["type"], time_s, never_s, never_s))
        elif kind == "ready":
            self.vms[self.number[event["vm"]]].ready_s = time_s
        elif kind == "terminate":
            self.vms[self.number[event["vm"]]].end_s = time_s
            self.ended.add(event["vm"])
        elif kind == "start":
            bar = StreamBar(event["task"], job_of[event["task"]], self.number[event["vm"]], time_s, time_s)
            self.running[event["task"]] = bar
            self.bars.append(bar)
        elif kind in ("suspend", "finish"):
            bar = self.running.pop(event["task"])
            bar.end_s = time_s
            bar.suspended = kind == "suspend"
            bar.late = kind == "finish" and time_s > self.trace.run["jobs"][bar.job]["deadline_s"]


def _job_of(trace: Trace) -> dict[str, int]:
    """Job of each task: the tasks of the instance belong to the jobs in their order."""
    from ...instances.instance import Instance

    owners = [index for index, job in enumerate(trace.run["jobs"]) for _ in range(job["n_tasks"])]
    ids = Instance.from_document(trace.instance, "instance of the trace").task_ids
    return dict(zip(ids, owners, strict=False))


def _block_ends_s(vm: VmRow, billing: Mapping[str, Any]) -> tuple[int, ...]:
    """Ends of the blocks that are paid; none if the VM is billed by the second."""
    block_s = billing.get("block_s")
    if block_s is None:
        return ()
    first_s = vm.requested_s if billing.get("from_request") else vm.ready_s
    blocks = max(-(-(vm.end_s - first_s) // block_s), 1)
    return tuple(first_s + block * block_s for block in range(1, blocks + 1))
