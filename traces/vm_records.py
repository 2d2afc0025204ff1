"""The records that traces of several systems have, field by field; see *Trace of a replay* in ``docs/formats.md``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from ..core.quantities import Name
from ..core.records import Record, Text
from ..instances.entries import Market

LARGEST = 2**53

Moment: TypeAlias = Annotated[int, Field(ge=0, le=LARGEST)]
Count: TypeAlias = Annotated[int, Field(ge=0, le=LARGEST)]
Seed: TypeAlias = Annotated[int, Field(ge=0, lt=2**64)]
Amount: TypeAlias = Annotated[float, Field(ge=0)]
Fraction: TypeAlias = Annotated[float, Field(ge=0, le=1)]
TaskId: TypeAlias = Annotated[str, Field(min_length=1, max_length=300)]
Mode: TypeAlias = Literal["burst", "baseline"]


class EventRecord(Record):
    """Fields of all events."""

    record: Literal["event"]
    t: Moment
    event: str


class VmEvent(EventRecord):
    """Event of a VM without further fields: ready, hibernated, terminated and so on."""

    vm: Name


class LaunchEvent(VmEvent):
    """A VM is requested."""

    type: Name
    market: Market


class TaskEvent(VmEvent):
    """Event of a task on a core of a VM without further fields: finished, suspended."""

    core: Count
    task: TaskId


class StartEvent(TaskEvent):
    """A task starts."""

    mode: Mode | None = None
    saved: Fraction | None = None
    duration_s: Count


class SubmitEvent(EventRecord):
    """A job arrives."""

    job: TaskId


class HeaderRecord(Record):
    """The first line; the instance in it is validated on its own."""

    record: Literal["header"]
    format: Literal["spotbag.trace/2"]
    spotbag: Text
    sha256: Name
    instance: dict[str, Any]


class VmEndRecord(Record):
    """The end of a replay on VMs, and the figures that bags and streams have in common."""

    record: Literal["end"]
    cost_usd: Amount
    finished: Count
    late_tasks: Count
    unfinished: Annotated[tuple[TaskId, ...], Field(strict=False)]
