"""The records of traces of plans that were run, field by field; see *Trace of a replay* in ``docs/formats.md``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from ...core.quantities import Name, OwnPrice
from ...core.records import Record
from ...instances.entries import Market
from ..vm_records import LARGEST, Amount, Count, TaskId, VmEndRecord

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
    price_usd_per_hour: OwnPrice | None = None


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
