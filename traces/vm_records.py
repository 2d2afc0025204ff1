"""The records of trace files, field by field; see *Trace of a replay* in ``docs/formats.md``."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from ..core.quantities import Name
from ..core.records import Record, Text
from ..instances.entries import Market

MIGRATION_KINDS = ("idle", "busy", "new")
"""State of the VM that a task migrates to (HADS, section 5.3.2)."""


_LARGEST = 2**53

Moment: TypeAlias = Annotated[int, Field(ge=0, le=_LARGEST)]
Count: TypeAlias = Annotated[int, Field(ge=0, le=_LARGEST)]
Amount: TypeAlias = Annotated[float, Field(ge=0)]
Fraction: TypeAlias = Annotated[float, Field(ge=0, le=1)]
TaskId: TypeAlias = Annotated[str, Field(min_length=1, max_length=300)]
Mode: TypeAlias = Literal["burst", "baseline"]


class TimelineMoment(Record):
    """All spot VMs of a type hibernate, or resume."""

    time_s: Moment
    type: Name
    event: Literal["hibernate", "resume"]


class DayRecord(Record):
    """The timeline of the day."""

    name: Text
    events: Annotated[tuple[TimelineMoment, ...], Field(strict=False)]


class BillingRecord(Record):
    """What is charged besides the price of running VMs, in which steps and since when."""

    first_hour_free: bool
    hibernated_usd_per_gb_hour: Amount
    block_s: Annotated[int, Field(ge=1, le=_LARGEST)] | None = None
    from_request: bool = False


class JobRecord(Record):
    """A job of a stream: a bag of tasks that arrives during the replay and has a deadline of its own."""

    id: TaskId
    application: Text
    submitted_s: Moment
    deadline_s: Moment
    n_tasks: Annotated[int, Field(ge=1, le=_LARGEST)]


class RunRecord(Record):
    """The beginning of a replay."""

    record: Literal["run"]
    policy: Name
    day: Count
    timeline: DayRecord
    billing: BillingRecord
    hibernation: bool
    jobs: Annotated[tuple[JobRecord, ...], Field(strict=False, min_length=1)] | None = None


class EventRecord(Record):
    """What all events have in common."""

    record: Literal["event"]
    t: Moment
    event: str


class VmEvent(EventRecord):
    """``ready``, ``hibernate``, ``resume``, ``trigger``, ``cycle-end`` and ``terminate`` of a VM."""

    vm: Name


class LaunchEvent(VmEvent):
    """A VM is requested."""

    type: Name
    market: Market


class StartEvent(VmEvent):
    """A task starts."""

    core: Count
    task: TaskId
    mode: Mode | None = None
    saved: Fraction | None = None
    duration_s: Count


class FinishEvent(VmEvent):
    """A task finishes."""

    core: Count
    task: TaskId


class TriggerSetEvent(VmEvent):
    """The migration trigger time of a hibernated VM is computed; it may lie in the past of the VM's own plan."""

    at_s: Annotated[int, Field(ge=-_LARGEST, le=_LARGEST)]


class MigrateEvent(EventRecord):
    """A task of a hibernated VM moves to another VM."""

    task: TaskId
    from_vm: Name = Field(alias="from")
    to: Name
    kind: Literal["idle", "busy", "new"]
    saved: Fraction | None = None
    recovered: bool | None = None
    late: bool | None = None
    mode: Mode | None = None


class StealEvent(EventRecord):
    """A waiting task moves to an idle VM."""

    task: TaskId
    from_vm: Name = Field(alias="from")
    to: Name
    mode: Mode | None = None


class StealAttemptEvent(VmEvent):
    """An idle VM has looked for tasks to steal."""

    stolen: Count


class StrandedEvent(VmEvent):
    """Migration found no place for some tasks."""

    tasks: Count


class SubmitEvent(EventRecord):
    """A job arrives."""

    job: TaskId


class WakeEvent(EventRecord):
    """A moment that the policy had asked for."""

    vm: Name | None = None


class AssignEvent(VmEvent):
    """A task of the pool joins the queue of a VM, at its end if no position is told."""

    task: TaskId
    position: Count | None = None


class ReturnEvent(VmEvent):
    """A task that waits on a VM goes back to the pool."""

    task: TaskId


class SuspendEvent(VmEvent):
    """A running task stops, and is the first that waits on its VM."""

    core: Count
    task: TaskId


class MigrationCounts(Record):
    """Migrated tasks by the state of the VM they went to."""

    idle: Count
    busy: Count
    new: Count


class EndRecord(Record):
    """The end of a replay, and its figures."""

    record: Literal["end"]
    t: Moment
    cost_usd: Amount
    makespan_s: Moment | None
    finished: Count
    late_tasks: Count
    unfinished: Annotated[tuple[TaskId, ...], Field(strict=False)]
    hibernations: Count
    resumes: Count
    on_demand_started: Count
    migrations: MigrationCounts
    steal_attempts: Count
    steals: Count
    tasks_stolen: Count
    checkpoints: Count
    recoveries: Count
    cpu_time_saved_s: Amount
    late_s: Count | None = None
    idle_s: Count | None = None
    blocks: dict[Name, Count] | None = None
    suspensions: Count | None = None
    returns: Count | None = None


class HeaderRecord(Record):
    """The first line; the instance in it is validated on its own."""

    record: Literal["header"]
    format: Literal["spotbag.trace/1"]
    spotbag: Text
    instance: dict[str, Any]


EVENT_RECORDS: dict[str, type[EventRecord]] = {
    "launch": LaunchEvent,
    "ready": VmEvent,
    "start": StartEvent,
    "finish": FinishEvent,
    "hibernate": VmEvent,
    "resume": VmEvent,
    "trigger-set": TriggerSetEvent,
    "trigger": VmEvent,
    "migrate": MigrateEvent,
    "steal": StealEvent,
    "steal-attempt": StealAttemptEvent,
    "stranded": StrandedEvent,
    "cycle-end": VmEvent,
    "terminate": VmEvent,
    "submit": SubmitEvent,
    "wake": WakeEvent,
    "assign": AssignEvent,
    "return": ReturnEvent,
    "suspend": SuspendEvent,
}
"""Fields of each kind of event."""

JOB_EVENTS = frozenset({"submit", "wake", "assign", "return", "suspend"})
"""Events that only replays of streams tell."""
