"""The plan as a JSON document: ``spotbag.schedule/1``."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from pydantic import Field

from ..core.errors import input_error
from ..core.quantities import FloatArray, IntArray, Name
from ..core.record_lists import LongList, rows_of
from ..core.records import INTEGRAL, Record, Text, WholeDocument
from ..instances.entries import MAX_TASKS, Checkpoints, Goal, Market, SurvivalLevel

SCHEDULE_FORMAT: Literal["spotbag.schedule/1"] = "spotbag.schedule/1"
CSV_COLUMNS = ("vm", "type", "market", "core", "task", "start_s", "end_s", "mode", "command")
"""Headings of a plan as a table."""
_LARGEST = 2**53

Mode: TypeAlias = Literal["burst", "baseline"]
MODES: tuple[Mode | None, ...] = (None, *get_args(Mode))
"""Modes by the numbers that columns have for them."""

Moment: TypeAlias = Annotated[int, Field(ge=-_LARGEST, le=_LARGEST), INTEGRAL]


class RentedVm(Record):
    """A VM of the plan.

    Attributes
    ----------
    id : str
        Unique in the plan.
    type, market : str
        What is rented.
    """

    id: Name
    type: Name
    market: Market


class PlacedTask(Record):
    """A task of the plan: which VM and core, from when to when (whole seconds from the start of the application).

    Attributes
    ----------
    id : str
        The task.
    vm : str
        Id of the VM that it runs on.
    core : int
        One of the cores of the VM, from 0 on.
    start_s, end_s : int
        From when to when.
    mode : {"burst", "baseline"}, optional
        On burstable VMs: at full speed, which spends credits, or at the baseline. Full speed if absent.
    checkpoint_interval_s : float, optional
        On spot VMs: work between two checkpoints; a claim like the cost.
    command : str, optional
        What the task runs, as its instance says.
    cores : tuple of int, optional
        All cores of a task that has several; ``core`` is the first.
    """

    id: Name
    vm: Name
    core: Annotated[int, Field(ge=0, le=_LARGEST), INTEGRAL]
    start_s: Moment
    end_s: Moment
    mode: Mode | None = None
    checkpoint_interval_s: Annotated[float, Field(gt=0)] | None = None
    command: Text | None = None
    cores: Annotated[tuple[Annotated[int, Field(ge=0, le=_LARGEST), INTEGRAL], ...], Field(strict=False)] | None = None


SurvivalVerdict: TypeAlias = Literal["survives", "does-not-survive", "not-shown"]
LOSSES: dict[SurvivalLevel, str] = {
    "one-type": "any one spot type down for good",
    "one-pool": "any one spot type in one zone down for good",
    "blackout": "any spot types down for good at once",
    "each": "any spot VMs down for good, each at a moment of its own",
}
"""Losses that plans survive at each level, in words."""
NO_TIME_TO_LOOK = "there was no time to find out what the plan survives"


class RescueVm(Record):
    """A VM that takes over tasks of VMs that went down.

    Attributes
    ----------
    id : str
        Of the plan's VM, or of a new one.
    type : str
        All are on-demand.
    new : bool
        Whether it is rented for the rescue; otherwise it is one of the plan's own.
    ready_s : int
        From when the rescue pays for it: a new VM from the moment of the loss and ``boot_overhead_s`` later, one of the
        plan's own from its end in the plan.
    end_s : int
        End of its last task; of one of the plan's own not before its end in the plan.
    cost_usd : float
        What the rescue pays for it.
    """

    id: Name
    type: Name
    new: bool
    ready_s: Moment
    end_s: Moment
    cost_usd: Annotated[float, Field(ge=0)]


class RescueTask(Record):
    """A task that was lost: where and when what is left of it is done, in whole seconds from the start of all.

    Attributes
    ----------
    id : str
        The task.
    vm : str
        Id of the VM that it runs on.
    core : int
        One of the cores of the VM, from 0 on.
    start_s, end_s : int
        From when to when.
    """

    id: Name
    vm: Name
    core: Annotated[int, Field(ge=0, le=_LARGEST), INTEGRAL]
    start_s: Moment
    end_s: Moment


class Rescue(Record):
    """Rescue of the tasks lost when all spot VMs of some types go down, after all other events of that second.

    Attributes
    ----------
    at_s : int
        The second.
    types : tuple of str
        The types.
    vms, tasks : tuple
        The VMs that take over, and the tasks that were lost.
    """

    at_s: Moment
    types: Annotated[tuple[Name, ...], Field(strict=False)]
    vms: Annotated[tuple[RescueVm, ...], Field(strict=False)]
    tasks: Annotated[tuple[RescueTask, ...], Field(strict=False)]


class SpotWith(Record):
    """A change with which spot VMs pay though the plan must survive; one of the first three fields says which.

    Attributes
    ----------
    deadline_s : int, optional
        A later deadline.
    checkpoint : Checkpoints, optional
        Checkpoints of the instance.
    level : {"one-type", "one-pool", "blackout"}, optional
        Less that is survived.
    cost_usd : float
        Cost of a plan that was found then, survives and has spot VMs; no plan without them is as good.
    """

    deadline_s: Moment | None = None
    checkpoint: Checkpoints | None = None
    level: SurvivalLevel | None = None
    cost_usd: Annotated[float, Field(ge=0)]


class Survival(Record):
    """The survival certificate of a plan: what it can lose and still keep its deadline.

    Attributes
    ----------
    level : {"one-type", "one-pool", "blackout", "each"}
        What goes down, for good or not: at one moment, all spot VMs of any one type, of a type in any one zone, or of
        any types; or any spot VMs, each at a moment of its own.
    verdict : {"survives", "does-not-survive", "not-shown"}
        Whether what is lost can always be done on demand by the deadline.
    worst_cost_usd : float, optional
        Highest bill that is possible then, with the rescue, as its cloud bills it.
    worst_at_s, worst_types : int and tuple of str, optional
        When that is, and what goes down then; where the plan does not survive, a moment that is beyond rescue.
    least_slack_s : int, optional
        Least time, over all moments, by which a rescue can end before the deadline.
    blackout_cost_usd : float, optional
        As the worst cost, if any types go down at once; absent if that is not survived, and for ``each``, whose worst
        cost includes it.
    cost_without_usd : float, optional
        What a plan costs that need not survive, where that is less.
    spot_with : tuple, optional
        Of a plan without spot VMs that would have some if it need not survive: changes with which one that survives
        has some.
    reason : str, optional
        Why the plan does not survive, or what could not be shown.
    rescue : Rescue, optional
        What is done at the worst moment.
    """

    level: SurvivalLevel
    verdict: SurvivalVerdict
    worst_cost_usd: Annotated[float, Field(ge=0)] | None = None
    worst_at_s: Moment | None = None
    worst_types: Annotated[tuple[Name, ...], Field(strict=False)] | None = None
    least_slack_s: Moment | None = None
    blackout_cost_usd: Annotated[float, Field(ge=0)] | None = None
    cost_without_usd: Annotated[float, Field(ge=0)] | None = None
    spot_with: Annotated[tuple[SpotWith, ...], Field(strict=False)] | None = None
    reason: Text | None = None
    rescue: Rescue | None = None


class LateTask(Record):
    """A task that ends too late in the best plan that is still possible.

    Attributes
    ----------
    id : str
        The task.
    late_s : int
        Seconds after it was due.
    weight : float
        What it counts.
    lost_since_s : int, optional
        Of a task that nothing can bring in time, even alone: the last second at which it could have begun its way, with
        the boot of a VM where that is the fastest. From a state it is before 0, as times count from its moment.
    """

    id: Name
    late_s: Annotated[int, Field(ge=1, le=_LARGEST), INTEGRAL]
    weight: Annotated[float, Field(gt=0)] = 1.0
    lost_since_s: Moment | None = None


class MoreVms(Record):
    """VMs beyond a limit with which a plan is found that has all tasks in time.

    Attributes
    ----------
    type, market : str
        Type and market of these VMs.
    vms : int
        Number of VMs beyond the limit.
    """

    type: Name
    market: Market
    vms: Annotated[int, Field(ge=1, le=_LARGEST), INTEGRAL]


class Lateness(Record):
    """Lateness of a plan: the late tasks, and what would save them.

    Attributes
    ----------
    weight : float
        Weight of the late tasks: their number, where each counts 1.
    weight_bound : float
        What is proved to be late in every plan: where it is the same, no plan has fewer late.
    lateness_s : float
        Seconds late, weighted, of all together.
    tasks : tuple of LateTask
        The late tasks, the latest first.
    enough_deadline_s : int, optional
        A deadline by which a plan ends; D_spot, where it is earlier than the deadline, is as much later.
    enough_vms : tuple of MoreVms, optional
        What would do instead: so many more VMs of any one of these.
    """

    weight: Annotated[float, Field(gt=0)]
    weight_bound: Annotated[float, Field(ge=0)]
    lateness_s: Annotated[float, Field(gt=0)]
    tasks: Annotated[tuple[LateTask, ...], Field(strict=False, min_length=1)]
    enough_deadline_s: Moment | None = None
    enough_vms: Annotated[tuple[MoreVms, ...], Field(strict=False)] | None = None

    @property
    def fewest(self) -> bool:
        """True if it is proved that no plan has fewer tasks late, by weight."""
        # Both are sums of weights, added up in other orders.
        return self.weight_bound >= self.weight * (1 - 1e-9)


class ScheduleHeader(Record):
    """Fields of a plan's document beside its VMs and tasks; see `ScheduleDocument`."""

    format: Literal["spotbag.schedule/1"] = SCHEDULE_FORMAT
    instance: Name
    method: Text | None = None
    deadline_s: Moment | None = None
    d_spot_s: Moment | None = None
    cost_usd: float | None = None
    makespan_s: Moment | None = None
    objective: float | None = None
    goal: Goal | None = None
    cost_weight: float | None = None
    cost_scale_usd: Annotated[float, Field(gt=0)] | None = None
    makespan_scale_s: Annotated[float, Field(gt=0)] | None = None
    survival: Survival | None = None
    dates: bool | None = None
    late: Lateness | None = None


class ScheduleDocument(ScheduleHeader, WholeDocument):
    """A plan as written in a file.

    Attributes
    ----------
    instance : str
        Name of the instance it is for.
    method : str, optional
        What made it.
    deadline_s, d_spot_s : int, optional
        Time limits that it was made for.
    cost_usd, makespan_s, objective : number, optional
        Figures that the plan claims to have; readers derive these from the instance, and the checker compares.
    goal : {"cheapest", "fastest", "balanced"}, optional
        What was asked of it.
    cost_weight, cost_scale_usd, makespan_scale_s : number, optional
        Weight and scales of the objective that it was made for; the claimed objective is judged by these.
    survival : Survival, optional
        What it claims to survive, and at what cost; a claim like the cost.
    dates : bool, optional
        Whether tasks have releases or deadlines of their own: run as soon as a core is free, they would be too early.
    late : Lateness, optional
        Which tasks it claims to have too late, and by how much; a claim like the cost.
    vms, tasks : sequence
        The plan.
    """

    FORMAT: ClassVar[str] = SCHEDULE_FORMAT
    SCHEMA: ClassVar[str] = "schedule.schema.json"
    LONG_LIST: ClassVar[str | None] = "tasks"
    most_entries: ClassVar[int] = MAX_TASKS
    vms: Annotated[tuple[RentedVm, ...], Field(strict=False)]
    tasks: Annotated[Sequence[PlacedTask], LongList()]

    @property
    def task_rows(self) -> Sequence[Any]:
        """The tasks, or rows of them; see `rows_of`."""
        return rows_of(self.tasks)

    def columns(self) -> ScheduleColumns:
        """Return the plan in columns."""
        numbers = {vm.id: index for index, vm in enumerate(self.vms)}
        names = [vm.id for vm in self.vms]
        # Names that no VM has get numbers as well, behind the VMs: what is wrong with them is for the checker to say.
        rows = self.task_rows
        for task in rows:
            if task.vm not in numbers:
                numbers[task.vm] = len(names)
                names.append(task.vm)
        code = {mode: number for number, mode in enumerate(MODES)}
        return ScheduleColumns(
            header=self,
            vms=self.vms,
            vm_names=names,
            task_ids=[task.id for task in rows],
            task_vm=np.array([numbers[task.vm] for task in rows], dtype=np.int64),
            task_core=np.array([task.core for task in rows], dtype=np.int64),
            task_start_s=np.array([task.start_s for task in rows], dtype=np.int64),
            task_end_s=np.array([task.end_s for task in rows], dtype=np.int64),
            task_mode=np.array([code[task.mode or None] for task in rows], dtype=np.int64),
            checkpoint_interval_s=np.array([task.checkpoint_interval_s or None for task in rows], dtype=np.float64),
            commands=[task.command or None for task in rows],
            cores=[tuple(task.cores or ()) for task in rows],
        )


@dataclass(frozen=True, slots=True, eq=False)
class ScheduleColumns:
    """Plan's document in columns, for plans with too many tasks for a record of each.

    Attributes
    ----------
    header : ScheduleHeader
        What the document says beside its VMs and tasks.
    vms : tuple of RentedVm
        The VMs.
    vm_names : sequence of str
        Their names, then those that tasks name and no VM has.
    task_ids : sequence of str, shape (n_rows,)
        Id of the task of each row.
    task_vm : array of int, shape (n_rows,)
        Its VM, as an index into ``vm_names``; the last of several VMs with the same name.
    task_core, task_start_s, task_end_s, task_mode : array of int, shape (n_rows,)
        Its core and times, and its mode as an index into `MODES`.
    checkpoint_interval_s : array of float, shape (n_rows,)
        Work between two checkpoints; NaN where the document states none.
    commands : sequence of str or None, shape (n_rows,)
        What each task runs; None where the document does not say.
    cores : sequence of tuple of int, shape (n_rows,)
        All cores of each task; empty where the document names but one.
    """

    header: ScheduleHeader
    vms: tuple[RentedVm, ...]
    vm_names: Sequence[str]
    task_ids: Sequence[str]
    task_vm: IntArray
    task_core: IntArray
    task_start_s: IntArray
    task_end_s: IntArray
    task_mode: IntArray
    checkpoint_interval_s: FloatArray
    commands: Sequence[str | None]
    cores: Sequence[tuple[int, ...]]

    def records(self, rows: IntArray | None = None) -> Iterator[PlacedTask]:
        """Make the records of some rows, or of all."""
        columns = self.task_vm, self.task_core, self.task_start_s, self.task_end_s, self.task_mode
        ids, commands, cores = (
            texts if rows is None else [texts[row] for row in rows.tolist()]
            for texts in (self.task_ids, self.commands, self.cores)
        )
        values = [(column if rows is None else column[rows]).tolist() for column in columns]
        intervals = (self.checkpoint_interval_s if rows is None else self.checkpoint_interval_s[rows]).tolist()
        for name, vm, core, start, end, mode, interval, command, named in zip(
            ids, *values, intervals, commands, cores, strict=True
        ):
            yield PlacedTask(
                id=name,
                vm=self.vm_names[vm],
                core=core,
                start_s=start,
                end_s=end,
                mode=MODES[mode],
                checkpoint_interval_s=None if math.isnan(interval) else interval,
                command=command,
                cores=named or None,
            )


def refuse_table(text: str, source: str) -> None:
    """Refuse a plan that was written as a table, whatever is to be read.

    Raises
    ------
    InputError
        If the text begins with the headings of one.
    """
    if text.startswith(",".join(CSV_COLUMNS[:5])):
        raise input_error(source, "is a plan as a table; only one in JSON (--out plan.json) can be read back")
