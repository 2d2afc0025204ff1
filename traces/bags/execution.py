"""Record of an execution of a plan's commands, by whatever executor, and its deviations from the plan."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import pairwise
from operator import attrgetter, itemgetter
from statistics import median
from typing import Any, TypeVar

from ...core.bill import Bill, elapsed_usd
from ...core.errors import input_error
from ...core.quantities import SECONDS_PER_HOUR
from ...core.record_lists import grouped_by
from ...instances.instance import Instance
from ..trace import Trace

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """Planned place and time of a task.

    Attributes
    ----------
    task, vm : str
        Ids of the task and of its VM.
    core : int
        Core of the VM.
    start_s, end_s : float
        When it runs, in seconds from the start of the plan.
    plan : int
        Which plan it is that says so, where several were made on the way: a later one has a higher number.
    cores : tuple of int
        All its cores, if it has several.
    """

    task: str
    vm: str
    core: int
    start_s: float
    end_s: float
    plan: int = 0
    cores: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskRun:
    """Attempt to run the command of a task; after a failure or a loss of the VM, others may follow.

    Attributes
    ----------
    task, vm : str
        Ids of the task and of the VM that ran it.
    core : int
        Core of the VM: of the tasks of a core, one runs at a time.
    start_s : float
        When it started, in seconds from the start of the plan.
    end_s : float, optional
        When it ended or was cut off; None if it runs still.
    exit_code : int, optional
        What the command ended with: 0 if all went well. None if it runs still or was cut off.
    message : str
        Why it failed, where that is known.
    """

    task: str
    vm: str
    core: int
    start_s: float
    end_s: float | None = None
    exit_code: int | None = None
    message: str = ""

    @property
    def done(self) -> bool:
        """True if the command ended with exit code 0."""
        return self.exit_code == 0

    @property
    def failed(self) -> bool:
        """True if the command ended with another exit code."""
        return self.exit_code not in (0, None)

    @property
    def cut_off(self) -> bool:
        """True if the command was ended with its VM, or by a user."""
        return self.end_s is not None and self.exit_code is None

    @property
    def runs_still(self) -> bool:
        """True if the command had not ended at the time of the record."""
        return self.end_s is None


@dataclass(frozen=True, slots=True)
class VmRun:
    """A stretch of time in which a VM took tasks of the plan; there are several if it was started again.

    Attributes
    ----------
    vm : str
        Id of the VM.
    start_s : float
        From when it took tasks, in seconds from the start of the plan.
    end_s : float, optional
        When it was done, stopped or lost; None if it takes tasks still, as far as is known.
    lost : bool
        Whether it was stopped or lost before it was done.
    type, market : str
        What it was rented as; empty if that is not known.
    requested_s : float
        When it was requested.
    price_usd_per_hour : float, optional
        At which it was rented; that of its type if absent.
    """

    vm: str
    start_s: float
    end_s: float | None = None
    lost: bool = False
    type: str = ""
    market: str = ""
    requested_s: float = 0.0
    price_usd_per_hour: float | None = None


@dataclass(frozen=True, slots=True)
class TaskDeviation:
    """A task as planned and as it was run.

    Attributes
    ----------
    planned : PlannedTask
        The plan.
    run : TaskRun, optional
        The attempt that counts: the first with exit code 0, or else the last; None if there is none.
    attempts : int
        How many there were.
    """

    planned: PlannedTask
    run: TaskRun | None
    attempts: int

    @property
    def status(self) -> str:
        """Status of the task: ``done``, ``failed``, ``cut off``, ``running`` or ``waiting``."""
        if self.run is None:
            return "waiting"
        if self.run.runs_still:
            return "running"
        return "done" if self.run.done else "failed" if self.run.failed else "cut off"

    @property
    def start_error_s(self) -> float | None:
        """Delay of the start against the plan; None if the task has not started."""
        return None if self.run is None else self.run.start_s - self.planned.start_s

    @property
    def end_error_s(self) -> float | None:
        """Delay of the end against the plan; None if the task is not done."""
        if self.run is None or self.run.end_s is None or not self.run.done:
            return None
        return self.run.end_s - self.planned.end_s


@dataclass(frozen=True, slots=True)
class VmDeviation:
    """A VM as planned and as it was used.

    Attributes
    ----------
    vm : str
        Its id.
    tasks, done : int
        How many tasks the plan has for it, and how many of these are done, wherever they were run.
    cores : int
        How many of its cores the plan or a run names, those between them included.
    planned_start_s, planned_end_s : float
        From the start of its first task to the end of its last one, in the plan.
    start_s, end_s : float or None
        The same of what it ran; the end is None while anything runs or nothing has ended.
    starts : int
        How often it was started.
    lost : bool
        Whether it was stopped or lost at last.
    """

    vm: str
    tasks: int
    done: int
    cores: int
    planned_start_s: float
    planned_end_s: float
    start_s: float | None
    end_s: float | None
    starts: int
    lost: bool


@dataclass(frozen=True)
class Execution:
    """Record of an execution of the commands of a plan.

    Attributes
    ----------
    planned : tuple of PlannedTask
        The plan that was carried out: each task once. Of a task that was planned anew on the way, where and when the
        last plan had it.
    runs : tuple of TaskRun
        All attempts, in the order of their starts.
    vms : tuple of VmRun
        When VMs took tasks, in the order of their starts.
    until_s : float
        When this was recorded, in seconds from the start of the plan.
    began_at : float
        The start of the plan on the clock, in seconds since 1970-01-01 UTC.
    instance : Instance, optional
        The bag that was planned, or what was left of it, if that is known, and one bag that has all that was run.
    """

    planned: tuple[PlannedTask, ...]
    runs: tuple[TaskRun, ...]
    vms: tuple[VmRun, ...]
    until_s: float
    began_at: float = 0.0
    instance: Instance | None = field(default=None, compare=False, repr=False)

    def to_trace(self) -> Trace:
        """Return the starts by place and clock, for the auditor: see `audit`.

        A VM is billed by the second, from when it first took tasks until it was done, stopped or lost, or the record
        ends.

        Raises
        ------
        InputError
            If the record does not say of which bag it is, or what its VMs were rented as.
        """
        return _trace(self)

    @cached_property
    def deviations(self) -> tuple[TaskDeviation, ...]:
        """Each task of the plan as planned and as it was run, in the order of the plan."""
        attempts = grouped("task", self.runs)
        return tuple(
            TaskDeviation(planned, _counting(attempts.get(planned.task, ())), len(attempts.get(planned.task, ())))
            for planned in self.planned
        )

    @cached_property
    def vm_deviations(self) -> tuple[VmDeviation, ...]:
        """Each VM of the plan that has tasks as planned and as it was used, in the order in which the plan names them.

        VMs that only runs name come last, without tasks.
        """
        done = {found.planned.task for found in self.deviations if found.status == "done"}
        names = dict.fromkeys([*(task.vm for task in self.planned), *(run.vm for run in self.runs)])
        planned = {name: list[PlannedTask]() for name in names} | grouped("vm", self.planned)
        runs = {name: list[TaskRun]() for name in names} | grouped("vm", self.runs)
        stretches = {name: list[VmRun]() for name in names} | grouped("vm", self.vms)
        return tuple(
            VmDeviation(
                vm=name,
                tasks=len(planned[name]),
                done=sum(task.task in done for task in planned[name]),
                cores=1 + max([task.core for task in planned[name]] + [run.core for run in runs[name]]),
                planned_start_s=min((task.start_s for task in planned[name]), default=0),
                planned_end_s=max((task.end_s for task in planned[name]), default=0),
                start_s=min((run.start_s for run in runs[name]), default=None),
                end_s=_end_of(runs[name]),
                starts=len(stretches[name]),
                lost=bool(stretches[name]) and stretches[name][-1].lost,
            )
            for name in names
        )

    @cached_property
    def wrong_vm(self) -> tuple[TaskRun, ...]:
        """Runs on another VM than the plan has for the task, or of tasks that the plan does not have.

        Of several attempts it is the last: an earlier plan may have had those before, and what was cut off.
        """
        vm_of = {planned.task: planned.vm for planned in self.planned}
        last = {run.task: run for run in self.runs}
        return tuple(run for run in last.values() if vm_of.get(run.task) != run.vm and not run.cut_off)

    @cached_property
    def inversions(self) -> tuple[tuple[TaskRun, TaskRun], ...]:
        """Pairs of neighbours in the plan of a core of which the later one did not wait for the earlier one.

        That is: the first attempt at the later one started before the first attempt at the earlier one had ended. They
        are looked for between tasks that were run where they were planned.
        """
        first = {name: runs[0] for name, runs in grouped("task", self.runs).items()}
        in_order = sorted(self.planned, key=attrgetter("plan", "start_s", "end_s"))
        found = []
        for place, tasks in grouped_by(in_order, attrgetter("vm", "core")).items():
            runs = [first[planned.task] for planned in tasks if planned.task in first]
            here = [run for run in runs if (run.vm, run.core) == place]
            found += [(early, late) for early, late in pairwise(here) if not _waited(early, late)]
        return tuple(found)

    @cached_property
    def failures(self) -> tuple[TaskRun, ...]:
        """Runs of commands with another exit code than 0."""
        return tuple(run for run in self.runs if run.failed)

    @cached_property
    def unfinished(self) -> tuple[str, ...]:
        """Tasks of the plan that have not ended with exit code 0, in the order of the plan."""
        return tuple(deviation.planned.task for deviation in self.deviations if deviation.status != "done")

    @cached_property
    def late(self) -> tuple[str, ...]:
        """Tasks that were done after they were due, in the order of the bag; none if the record names no bag."""
        bag = self.instance
        if bag is None:
            return ()
        # Backwards, so that of several runs that were done the first one counts.
        done_s = {run.task: run.end_s or 0.0 for run in reversed(self.runs) if run.done}
        due_s = zip(bag.task_ids, bag.due_s[bag.task_group].tolist(), strict=True)
        return tuple(name for name, time_s in due_s if done_s.get(name, 0.0) > time_s)

    @property
    def makespan_s(self) -> float | None:
        """End of the last task, if all are done."""
        if self.unfinished or not self.planned:
            return None
        return max(deviation.run.end_s or 0.0 for deviation in self.deviations if deviation.run is not None)

    @property
    def planned_makespan_s(self) -> float:
        """Planned end of the last task."""
        return max((planned.end_s for planned in self.planned), default=0)

    @property
    def median_start_error_s(self) -> float | None:
        """Median, over the tasks that were started, of how far from the planned moment that was; None if none was."""
        errors = [abs(found.start_error_s) for found in self.deviations if found.start_error_s is not None]
        return median(errors) if errors else None


def grouped(by: str, items: Iterable[_Item]) -> dict[str, list[_Item]]:
    """Items by an attribute, such as ``vm``, in their order."""
    return grouped_by(items, attrgetter(by))


def _counting(runs: Sequence[TaskRun]) -> TaskRun | None:
    """Return the attempt that counts."""
    return next((run for run in runs if run.done), runs[-1] if runs else None)


def _end_of(runs: Sequence[TaskRun]) -> float | None:
    ends = [run.end_s for run in runs if run.end_s is not None]
    return max(ends) if ends and len(ends) == len(runs) else None


def _waited(early: TaskRun, late: TaskRun) -> bool:
    return early.end_s is not None and early.end_s <= late.start_s


_AT_ONCE = {"finish": 0, "fail": 0, "cut-off": 0, "launch": 1, "ready": 2, "start": 3, "lost": 4, "done": 4}
"""Order of what VMs and cores report for one moment: clocks may be coarse."""


def _trace(execution: Execution) -> Trace:
    """Return the trace of an execution."""
    bag = execution.instance
    if bag is None or not all(stretch.type for stretch in execution.vms):
        what = "does not say of which bag it is, or what its VMs were rented as"
        but = "unless tasks that ran, or VMs that could be rented, were taken out of the bag on the way"
        raise input_error("execution", f"{what}: what read_log and executors return does, {but}")
    ended = [(run, run.end_s) for run in execution.runs if run.end_s is not None]
    done_s = {run.task: end_s for run, end_s in reversed(ended) if run.done}
    listed = {
        (one.vm_type.name, str(one.market)): (one.price_usd_per_hour, bill)
        for one, bill in zip(bag.offers, bag.bills, strict=True)
        if one.listed_as is None
    }
    # Machines whose sessions go on: their opening was paid before.
    goes_on = {
        machine.id: machine.paid_until_s for machine in bag.machines if not (machine.launching or machine.ready_s)
    }
    own: dict[str, float] = {}  # prices of VMs that are not those of the bag
    usd = []
    for name, stretches in grouped("vm", execution.vms).items():
        first = stretches[0]
        usd_per_hour, bill = listed.get((first.type, first.market), (0.0, Bill()))
        if first.price_usd_per_hour not in (None, usd_per_hour):
            usd_per_hour = own[name] = first.price_usd_per_hour
        bill, from_s = bill._replace(usd=usd_per_hour / SECONDS_PER_HOUR), first.start_s
        if name in goes_on:
            bill, from_s = Bill(bill.usd, block_s=bill.block_s), max(from_s, goes_on[name])
        seconds = _end_s(stretches[-1], execution) - from_s
        usd.append(elapsed_usd(bill, seconds) if seconds > 0 or name not in goes_on else 0.0)
    events = list(_events(execution))
    for event in events:
        if event["event"] == "launch" and event["vm"] in own:
            event["price_usd_per_hour"] = own[event["vm"]]
    unfinished = [name for name in bag.task_ids if name not in done_s]
    end: dict[str, Any] = {
        "record": "end",
        "t": max([execution.until_s, *(end_s for _, end_s in ended)]),
        "cost_usd": math.fsum(usd),
        "makespan_s": None if unfinished else max(done_s.values()),
        "finished": len(done_s),
        "late_tasks": len(execution.late),
        "unfinished": unfinished,
        "failures": len(execution.failures),
        "cut_off": sum(run.cut_off for run in execution.runs),
        "busy_s": math.fsum(end_s - run.start_s for run, end_s in ended),
        "up_s": math.fsum(_end_s(stretch, execution) - stretch.start_s for stretch in execution.vms),
    }
    plan = [
        {name: value for name, value in asdict(task).items() if name != "cores" or value} for task in execution.planned
    ]
    run = {"record": "run", "policy": "executed", "day": 0, "began_at": execution.began_at, "plan": plan}
    return Trace(bag.to_document(), run, events, end)


def _end_s(stretch: VmRun, execution: Execution) -> float:
    return execution.until_s if stretch.end_s is None else stretch.end_s


def _events(execution: Execution) -> Iterator[dict[str, Any]]:
    """Yield the events by time; within a moment, those of a core or a VM stay in their own order."""
    planned_s = {task.task: (task.plan, task.start_s) for task in execution.planned}
    runs_on = grouped("vm", execution.runs)

    def turn(event: dict[str, Any]) -> tuple[float, int, tuple[int, float]]:
        return event["t"], _AT_ONCE[event["event"]], planned_s.get(event.get("task", ""), (0, 0.0))

    of_vms = (_of_vm(found, runs_on.get(name, []), turn) for name, found in grouped("vm", execution.vms).items())
    return heapq.merge(*(sorted(events, key=itemgetter("t")) for events in of_vms), key=turn)


def _of_vm(
    stretches: Sequence[VmRun], runs: Sequence[TaskRun], turn: Callable[[dict[str, Any]], Any]
) -> Iterator[dict[str, Any]]:
    """Yield the reports of a VM, stretch by stretch: it may end and be started again within a tick of the clock."""
    first, record = stretches[0], {"record": "event"}
    requested_s = max(min(first.requested_s, first.start_s), 0.0)
    launch = {"t": requested_s, "event": "launch", "vm": first.vm, "type": first.type, "market": first.market}
    yield record | launch
    for place, stretch in enumerate(stretches):
        yield record | {"t": stretch.start_s, "event": "ready", "vm": stretch.vm}
        until_s = stretches[place + 1].start_s if place + 1 < len(stretches) else math.inf
        # Runs are in the order of their starts: those of this stretch stand in front.
        here = [run for run in runs if run.start_s < until_s]
        runs = runs[len(here) :]
        yield from heapq.merge(*map(_of_core, grouped_by(here, attrgetter("core")).values()), key=turn)
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
