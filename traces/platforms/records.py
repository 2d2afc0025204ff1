"""The records of traces of hybrid platforms, field by field; see *Trace of a replay* in ``docs/formats.md``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ...core.quantities import Name
from ...core.records import Record
from ...instances.platforms.entries import MAX_PLATFORM_JOBS
from ..vm_records import Amount, Count, EventRecord, Moment, Seed, SubmitEvent, TaskId, VmEvent


class RulesRecord(Record):
    """Rules by which clusters and clouds work."""

    queue: Literal["priority", "deadline"]
    late_jobs: Literal["displaced", "stay"]
    estimates: Literal["printed", "exact"]


class JobSetRecord(Record):
    """Parameters of the jobs drawn for a platform."""

    kind: Literal["small", "big", "mixed"]
    number: Annotated[int, Field(ge=1, le=MAX_PLATFORM_JOBS)]


class PlatformRunRecord(Record):
    """The beginning of a replay on a hybrid platform."""

    record: Literal["run"]
    policy: Name
    seed: Seed
    job_set: JobSetRecord | None
    rules: RulesRecord
    displaces: bool


class PlaceEvent(EventRecord):
    """A job that has arrived, or has been displaced, joins a queue or is to run in a cloud."""

    job: TaskId
    resource: Name
    good: bool
    end_s: Moment
    cost: Amount
    displaced: Annotated[tuple[TaskId, ...], Field(strict=False)]
    last: bool | None = None


class ResourceEvent(EventRecord):
    """``stay`` and ``finish`` of a job at a resource."""

    job: TaskId
    resource: Name


class PlatformStartEvent(ResourceEvent):
    """A job starts; in a cloud, on machines."""

    vms: Annotated[tuple[Name, ...], Field(strict=False, min_length=1)] | None = None


class PlatformLaunchEvent(VmEvent):
    """A machine of a cloud is rented."""

    resource: Name


class PlatformEndRecord(Record):
    """The end of a replay on a hybrid platform, and its figures."""

    record: Literal["end"]
    t: Moment
    finished: Count
    cost: Amount
    execution_time_s: Count
    delay_s: Count
    overspend: Amount
    late_jobs: Count
    overspent_jobs: Count
    machines: Count
    vm_hours: Count
    good: Count
    bad: Count
    displaced: Count
    stays: Count
    unwanted: Count


PLATFORM_EVENT_RECORDS: dict[str, type[EventRecord]] = {
    "submit": SubmitEvent,
    "place": PlaceEvent,
    "stay": ResourceEvent,
    "launch": PlatformLaunchEvent,
    "start": PlatformStartEvent,
    "finish": ResourceEvent,
    "terminate": VmEvent,
}
"""Fields of each kind of event."""
