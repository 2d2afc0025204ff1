"""The trace of an execution: what was started where and when, by the clock; see *Trace of a replay* in the formats."""

from __future__ import annotations

import dataclasses
import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import Field

from ...core.bill import unpaid_usd
from ...core.errors import input_error
from ...core.quantities import Name
from ...core.records import Record
from ...instances.entries import Market
from ..trace import Trace
from ..vm_records import LARGEST, Amount, Count, TaskId, VmEndRecord

if TYPE_CHECKING:
    from .execution import Execution, TaskRun, VmRun

Clock: TypeAlias = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]


class PlannedRunRecord(Record):
    """Where and when the last plan has a task; a later plan has a higher number."""

    task: TaskId
    vm: Name
    core: Count
    start_s: float
    end_s: float
    plan: Count


class ExecutionRunRecord(Record):
    """The beginning of an execution."""

    record: Literal["run"]
    policy: Name
    day: Count
    began_at: Clock
    plan: Annotated[tuple[PlannedRunRecord, ...], Field(strict=False)]


class ExecutionVmEvent(Record):
    """A VM takes tasks, has done all that it had to do, or was stopped or lost before."""

    record: Literal["event"]
    t: Clock
    event: str
    vm: Name


class ExecutionLaunchEvent(ExecutionVmEvent):
    """A VM is requested."""

    type: Name
    market: Market


class ExecutionTaskEvent(ExecutionVmEvent):
    """An attempt at a task starts, ends well, or is cut off."""

    core: Count
    task: TaskId


class ExecutionFailEvent(ExecutionTaskEvent):
    """An attempt at a task fails."""

    exit_code: int


class ExecutionEndRecord(VmEndRecord):
    """The end of an execution, and its figures: seconds of all attempts, and of all VMs, by the clock."""

    t: Clock
    makespan_s: Amount | None
    failures: Count
    cut_off: Count
    busy_s: Amount
    up_s: Amount


EXECUTION_EVENT_RECORDS: Mapping[str, type[Record]] = {
    "launch": ExecutionLaunchEvent,
    "ready": ExecutionVmEvent,
    "start": ExecutionTaskEvent,
    "finish": ExecutionTaskEvent,
    "fail": ExecutionFailEvent,
    "cut-off": ExecutionTaskEvent,
    "lost": ExecutionVmEvent,
    "done": ExecutionVmEvent,
}
"""Fields of each kind of event."""

_AT_ONCE = {"finish": 0, "fail": 0, "cut-off": 0, "launch": 1, "ready": 2, "start": 3, "lost": 4, "done": 4}
"""Order of what VMs and cores report for one moment: clocks may be coarse."""


def execution_trace(execution: Execution) -> Trace:
    """Return the trace of an execution; see `Execution.to_trace`."""
    bag = execution.instance
    if bag is None or not all(stretch.type for stretch in execution.vms):
        what = "does not say of which bag it is, or what its VMs were rented as"
        raise input_error("execution", f"{what}: what read_log and executors return does")
    ended = [(run, run.end_s) for run in execution.runs if run.end_s is not None]
    done_s = {run.task: end_s for run, end_s in reversed(ended) if run.done}
    usd_per_s = {(offer.vm_type.name, str(offer.market)): offer.price_usd_per_s for offer in bag.offers}
    usd = [
        unpaid_usd(usd_per_s.get((of[0].type, of[0].market), 0.0), _end_s(of[-1], execution), of[0].start_s)
        for of in _by_vm(execution.vms).values()
    ]
    unfinished = [name for name in bag.task_ids if name not in done_s]
    end: dict[str, Any] = {
        "record": "end",
        "t": max([execution.until_s, *(end_s for _, end_s in ended)]),
        "cost_usd": math.fsum(usd),
        "makespan_s": None if unfinished else max(done_s.values()),
        "finished": len(done_s),
        "late_tasks": sum(end_s > bag.deadline_s for end_s in done_s.values()),
        "unfinished": unfinished,
        "failures": len(execution.failures),
        "cut_off": sum(run.cut_off for run in execution.runs),
        "busy_s": math.fsum(end_s - run.start_s for run, end_s in ended),
        "up_s": math.fsum(_end_s(stretch, execution) - stretch.start_s for stretch in execution.vms),
    }
    plan = [dataclasses.asdict(task) for task in execution.planned]
    run = {"record": "run", "policy": "executed", "day": 0, "began_at": execution.began_at, "plan": plan}
    return Trace(bag.to_document(), run, list(_events(execution)), end)


def _end_s(stretch: VmRun, execution: Execution) -> float:
    return execution.until_s if stretch.end_s is None else stretch.end_s


def _by_vm(stretches: Iterable[VmRun]) -> dict[str, list[VmRun]]:
    found: dict[str, list[VmRun]] = {}
    for stretch in stretches:
        found.setdefault(stretch.vm, []).append(stretch)
    return found


def _events(execution: Execution) -> Iterator[dict[str, Any]]:
    """Yield what happened by time; of one moment, what a core or a VM reports stays in its own order."""
    planned_s = {task.task: (task.plan, task.start_s) for task in execution.planned}
    runs_on: dict[str, list[TaskRun]] = {}
    for run in execution.runs:
        runs_on.setdefault(run.vm, []).append(run)

    def turn(event: dict[str, Any]) -> tuple[float, int, tuple[int, float]]:
        return event["t"], _AT_ONCE[event["event"]], planned_s.get(event.get("task", ""), (0, 0.0))

    of_vms = (_of_vm(found, runs_on.get(name, []), turn) for name, found in _by_vm(execution.vms).items())
    return heapq.merge(*(sorted(events, key=itemgetter("t")) for events in of_vms), key=turn)


def _of_vm(
    stretches: Sequence[VmRun], runs: Sequence[TaskRun], turn: Callable[[dict[str, Any]], Any]
) -> Iterator[dict[str, Any]]:
    """Yield what a VM reports, stretch by stretch: it may end and be started again within a tick of the clock."""
    first, record = stretches[0], {"record": "event"}
    requested_s = max(min(first.requested_s, first.start_s), 0.0)
    launch = {"t": requested_s, "event": "launch", "vm": first.vm, "type": first.type, "market": first.market}
    yield record | launch
    for place, stretch in enumerate(stretches):
        yield record | {"t": stretch.start_s, "event": "ready", "vm": stretch.vm}
        cores: dict[int, list[TaskRun]] = {}
        until_s = stretches[place + 1].start_s if place + 1 < len(stretches) else math.inf
        here = [run for run in runs if run.start_s < until_s]
        runs = runs[len(here) :]
        for run in here:
            cores.setdefault(run.core, []).append(run)
        yield from heapq.merge(*map(_of_core, cores.values()), key=turn)
        if stretch.end_s is not None:
            kind = "lost" if stretch.lost else "done"
            yield record | {"t": stretch.end_s, "event": kind, "vm": stretch.vm}


def _of_core(runs: Sequence[TaskRun]) -> list[dict[str, Any]]:
    events = []
    for run in runs:
        what = {"vm": run.vm, "core": run.core, "task": run.task}
        events.append({"record": "event", "t": run.start_s, "event": "start"} | what)
        if run.end_s is not None:
            kind = "finish" if run.done else "fail" if run.failed else "cut-off"
            told = {"exit_code": run.exit_code} if run.failed else {}
            events.append({"record": "event", "t": run.end_s, "event": kind} | what | told)
    return events
