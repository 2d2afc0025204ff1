"""The records of traces of bags, field by field; see *Trace of a replay* in ``docs/formats.md``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ...core.quantities import Name
from ...core.records import Record, Text
from ...instances.entries import Market
from ..vm_records import (
    LARGEST,
    Amount,
    Count,
    EventRecord,
    FinishEvent,
    Fraction,
    LaunchEvent,
    Mode,
    Moment,
    StartEvent,
    TaskId,
    VmEndRecord,
    VmEvent,
)

MIGRATION_KINDS = ("idle", "busy", "new")
"""State of the VM that a task migrates to (HADS, section 5.3.2)."""


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
    """What is charged besides the price of running VMs, and what is not charged."""

    first_hour_free: bool
    hibernated_usd_per_gb_hour: Amount


class PlannedTaskRecord(Record):
    """A task of the plan; its place says on which core of which VM."""

    task: TaskId
    start_s: Moment
    mode: Mode | None = None


class PlannedVmRecord(Record):
    """A VM of the plan, with the tasks of each of its cores."""

    vm: Name
    type: Name
    market: Market
    cores: Annotated[
        tuple[Annotated[tuple[PlannedTaskRecord, ...], Field(strict=False)], ...], Field(strict=False, min_length=1)
    ]


class BagRunRecord(Record):
    """The beginning of a replay."""

    record: Literal["run"]
    policy: Name
    day: Count
    plan: Annotated[tuple[PlannedVmRecord, ...], Field(strict=False)]
    timeline: DayRecord
    billing: BillingRecord
    hibernation: bool


class TriggerSetEvent(VmEvent):
    """The migration trigger time of a hibernated VM is computed; it may lie in the past of the VM's own plan."""

    at_s: Annotated[int, Field(ge=-LARGEST, le=LARGEST)]


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


class IdleLimitEvent(VmEvent):
    """An idle VM has been idle for as long as the policy keeps one."""

    idle_s: Count


class MigrationCounts(Record):
    """Migrated tasks by the state of the VM they went to."""

    idle: Count
    busy: Count
    new: Count


class BagEndRecord(VmEndRecord):
    """The end of a replay, and its figures."""

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


BAG_EVENT_RECORDS: dict[str, type[EventRecord]] = {
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
    "idle-limit": IdleLimitEvent,
    "terminate": VmEvent,
}
"""Fields of each kind of event."""
