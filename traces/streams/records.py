"""The records of traces of streams, field by field; see *Trace of a replay* in ``docs/formats.md``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field, create_model
from pydantic_core import PydanticCustomError

from ...core.quantities import Name
from ...core.records import Record, Text
from ..vm_records import (
    LARGEST,
    Count,
    EventRecord,
    LaunchEvent,
    Moment,
    Seed,
    StartEvent,
    SubmitEvent,
    TaskEvent,
    TaskId,
    VmEndRecord,
    VmEvent,
)


def _to_the_microsecond(seconds: float) -> float:
    if round(seconds, 6) != seconds:
        raise PydanticCustomError("microseconds", "must be whole microseconds: six decimals at most")
    return seconds


FineSeconds: TypeAlias = Annotated[float, Field(ge=0, le=LARGEST), AfterValidator(_to_the_microsecond)]


class StreamBillingRecord(Record):
    """Steps in which VMs are billed, by the second if it says none, and since when."""

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
    """Identity of the stream whose run times were drawn: its name, and the digest of its document."""

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


class StreamEndRecord(VmEndRecord):
    """The end of a replay of a stream, and its figures."""

    t: FineSeconds
    makespan_s: FineSeconds | None
    on_demand_started: Count
    late_s: FineSeconds
    idle_s: FineSeconds
    blocks: dict[Name, Count]
    suspensions: Count
    returns: Count


_EVENT_RECORDS: dict[str, type[EventRecord]] = {
    "submit": SubmitEvent,
    "launch": LaunchEvent,
    "ready": VmEvent,
    "start": StartEvent,
    "finish": TaskEvent,
    "wake": WakeEvent,
    "assign": AssignEvent,
    "return": ReturnEvent,
    "suspend": TaskEvent,
    "block-end": VmEvent,
    "terminate": VmEvent,
}


def _in_parts_of_seconds(record: type[EventRecord]) -> type[EventRecord]:
    """Return an event whose times have parts of seconds, which those of bags and platforms have not."""
    fine: dict[str, Any] = {name: (FineSeconds, ...) for name in ("t", "duration_s") if name in record.model_fields}
    return create_model(record.__name__, __base__=record, __doc__=record.__doc__, **fine)


STREAM_EVENT_RECORDS = {name: _in_parts_of_seconds(record) for name, record in _EVENT_RECORDS.items()}
"""Fields of each kind of event."""
