"""Records of traces of bags and of plans that were run, field by field; *Trace of a replay* in ``docs/formats.md``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ...core.quantities import Name, OwnPrice
from ...core.records import Record, Text
from ...instances.bags.timeline import field_fault
from ...instances.clouds import InterruptionKind
from ...instances.entries import Market
from ..vm_records import (
    LARGEST,
    Amount,
    Count,
    EventRecord,
    Fraction,
    LaunchEvent,
    Mode,
    Moment,
    StartEvent,
    TaskEvent,
    TaskId,
    VmEndRecord,
    VmEvent,
)

Clock: TypeAlias = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]


class PlannedRunRecord(Record):
    """Place and time of a task in the last plan; a later plan has a higher number."""

    task: TaskId
    vm: Name
    core: Count
    start_s: float
    end_s: float
    plan: Count
    cores: Annotated[tuple[Count, ...], Field(strict=False)] | None = None


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


class TimelineMoment(Record):
    """Resolved event of a day: an interruption or return of spot VMs, or a change of capacity or of a price."""

    time_s: Moment
    type: Name
    event: Literal["hibernate", "stop", "terminate", "resume", "capacity", "price"]
    vm: Annotated[int, Field(ge=1, le=LARGEST)] | None = None
    share: Annotated[float, Field(gt=0, le=1)] | None = None
    notice_s: Moment | None = None
    vms: Count | None = None
    by: InterruptionKind | None = None
    market: Market | None = None
    usd_per_hour: Amount | None = None
    age_s: Moment | None = None

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Self:
        fault = field_fault(self.event, self.model_dump(exclude_none=True), self.time_s)
        if fault is not None:
            raise PydanticCustomError("fields", "{fault}", {"fault": f"{fault[0]!r} {fault[1]}"})
        return self


class DayRecord(Record):
    """The timeline of the day."""

    name: Text
    events: Annotated[tuple[TimelineMoment, ...], Field(strict=False)]


class CloudRecord(Record):
    """The cloud whose day it is."""

    name: Text
    interruption: InterruptionKind
    notice_s: Moment


class BillingRecord(Record):
    """Billing rules of sessions, with charges besides and exceptions."""

    minimum_s: Count = 0
    block_s: Annotated[int, Field(ge=1, le=LARGEST)] = 1
    boot_s: Count = 0
    fixed_usd: Amount = 0.0
    first_hour_free: bool
    hibernated_usd_per_gb_hour: Amount
    stopped_usd_per_gb_hour: Amount = 0.0


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
    cloud: CloudRecord | None = None
    billing: BillingRecord
    hibernation: bool


class NoticeEvent(VmEvent):
    """A VM gets notice of its interruption: until then it drains."""

    until_s: Moment


class PriceEvent(EventRecord):
    """The price of an offer changes."""

    type: Name
    market: Market
    usd_per_hour: Amount


class CapacityEvent(EventRecord):
    """Change of the capacity of a VM type for spot VMs."""

    type: Name
    vms: Count


class PreemptEvent(TaskEvent):
    """A running task is to stop; its core is busy until a checkpoint is written, if one is."""

    checkpoint: bool
    until_s: Moment


class PreemptedEvent(TaskEvent):
    """Preemption of a task, which now waits behind all other tasks of its core."""

    saved: Fraction | None = None


class TriggerSetEvent(VmEvent):
    """The migration trigger time of a VM is computed; it may lie in the past of the VM's own plan."""

    at_s: Annotated[int, Field(ge=-LARGEST, le=LARGEST)]


class MigrateEvent(EventRecord):
    """A task of a VM that is interrupted, or drains, moves to another VM."""

    task: TaskId
    from_vm: Name = Field(alias="from")
    to: Name
    kind: Literal["idle", "busy", "new"]
    saved: Fraction | None = None
    recovered: bool | None = None
    late: bool | None = None
    mode: Mode | None = None


class StealEvent(EventRecord):
    """A waiting task moves to an idle VM, or to one that is launching."""

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

    t: Moment
    makespan_s: Moment | None
    hibernations: Count
    resumes: Count
    stops: Count = 0
    restarts: Count = 0
    reclaims: Count = 0
    preemptions: Count = 0
    late_weight: Amount | None = None
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
    "finish": TaskEvent,
    "notice": NoticeEvent,
    "hibernate": VmEvent,
    "stop": VmEvent,
    "reclaim": VmEvent,
    "resume": VmEvent,
    "restart": VmEvent,
    "price": PriceEvent,
    "capacity": CapacityEvent,
    "preempt": PreemptEvent,
    "preempted": PreemptedEvent,
    "wake": EventRecord,
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
