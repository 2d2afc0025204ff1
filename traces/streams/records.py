"""The records of traces of streams, field by field; see *Trace of a replay* in ``docs/formats.md``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ...core.quantities import Name
from ...core.records import Record, Text
from ..vm_records import (
    LARGEST,
    Count,
    EventRecord,
    FinishEvent,
    LaunchEvent,
    Moment,
    Seed,
    StartEvent,
    SubmitEvent,
    TaskId,
    VmEndRecord,
    VmEvent,
)


class StreamBillingRecord(Record):
    """In which steps VMs are billed, by the second if it says none, and since when."""

    block_s: Annotated[int, Field(ge=1, le=LARGEST)] | None = None
    from_request: bool = False


class JobRecord(Record):
    """A job of a stream: a bag of tasks that arrives during the replay and has a deadline of its own."""

    id: TaskId
    application: Text
    submitted_s: Moment
    deadline_s: Moment
    n_tasks: Annotated[int, Field(ge=1, le=LARGEST)]


class StreamIdentity(Record):
    """What identifies the stream whose run times were drawn: its name, and the digest of its document."""

    name: Name
    sha256: Name


class StreamRunRecord(Record):
    """The beginning of a replay of a stream."""

    record: Literal["run"]
    policy: Name
    seed: Seed
    stream: StreamIdentity
    billing: StreamBillingRecord
    jobs: Annotated[tuple[JobRecord, ...], Field(strict=False, min_length=1)]


class WakeEvent(EventRecord):
    """A moment that the policy had asked for."""

    vm: Name | None = None


class AssignEvent(VmEvent):
    """A task of the pool joins the queue of a VM, at its end if there is no position."""

    task: TaskId
    position: Count | None = None


class ReturnEvent(VmEvent):
    """A task that waits on a VM goes back to the pool."""

    task: TaskId


class SuspendEvent(VmEvent):
    """A running task stops, and is the first that waits on its VM."""

    core: Count
    task: TaskId


class StreamEndRecord(VmEndRecord):
    """The end of a replay of a stream, and its figures."""

    on_demand_started: Count
    late_s: Count
    idle_s: Count
    blocks: dict[Name, Count]
    suspensions: Count
    returns: Count


STREAM_EVENT_RECORDS: dict[str, type[EventRecord]] = {
    "submit": SubmitEvent,
    "launch": LaunchEvent,
    "ready": VmEvent,
    "start": StartEvent,
    "finish": FinishEvent,
    "wake": WakeEvent,
    "assign": AssignEvent,
    "return": ReturnEvent,
    "suspend": SuspendEvent,
    "block-end": VmEvent,
    "terminate": VmEvent,
}
"""Fields of each kind of event."""
