"""Logs of an exported plan, JSON lines of ``spotbag.log/1``: what happened, and the state that it leads to."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError

from ..core.bill import Bill, elapsed_usd
from ..core.errors import InputError, Issue, input_error
from ..core.json_documents import parse_json, refuse_another_document
from ..core.quantities import Name
from ..core.records import Faults, Record, field_issues
from ..core.text_files import read_text, source_name
from ..instances.entries import RentalOffer
from ..schedules.documents import Mode
from ..schedules.schedule import Schedule
from ..schedules.state import State
from ..schedules.vm_state import TaskOnVm, VmState, billing_of, several
from ..traces.bags.execution import Execution, PlannedTask, TaskRun, VmRun, grouped
from ..traces.vm_records import Count
from .orders import planned_tasks
from .shell import LOG_NAME


def read_log(
    schedule: Schedule,
    *paths: str | os.PathLike[str],
    lost: Collection[str] = (),
    began_at: float | None = None,
) -> Execution:
    """Read the logs of a run by the scripts of `export_plan`.

    Parameters
    ----------
    schedule : Schedule
        The plan that was exported.
    *paths : path
        Log files, folders of VMs, or the folder of the plan, which has these in it.
    lost : collection of str
        VMs that are gone: what they ran last was cut off, and does not run still.
    began_at : float, optional
        When the plan was begun, in seconds since 1970-01-01 UTC. If absent, the first of the logs begins when VMs are
        ready in the plan. A plan from a state is begun at the moment of the state.

    Returns
    -------
    Execution
        What happened. Its times count from the start of the plan, at which VMs are requested.

    Raises
    ------
    InputError
        If a file is no log, is one of another plan, or a VM that is lost is not in the plan.
    """
    unknown = [name for name in lost if name not in schedule.vm_ids]
    if unknown:
        raise InputError("lost", [Issue("", f"the plan has no VM {name!r}") for name in unknown])
    files = [file for path in paths for file in _log_files(Path(path))]
    ready_s = int(schedule.vm_ready_s.min(initial=schedule.instance.boot_overhead_s))
    offers = [schedule.instance.offers[offer] for offer in schedule.vm_offer.tolist()]
    cores = {name: offer.vm_type.vcpus for name, offer in zip(schedule.vm_ids, offers, strict=True)}
    found = read_logs(files, planned_tasks(schedule), cores, ready_s, lost, began_at)
    rented = {
        name: {"type": one.vm_type.name, "market": one.market, "price_usd_per_hour": one.price_usd_per_hour}
        for name, one in zip(schedule.vm_ids, offers, strict=True)
    }
    vms = tuple(replace(run, **rented[run.vm]) for run in found.vms)
    return replace(found, vms=vms, instance=schedule.instance)


def _log_files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    files = [path / LOG_NAME] if (path / LOG_NAME).is_file() else sorted(path.glob(f"*/{LOG_NAME}"))
    if not files:
        raise input_error(str(path), f"has no {LOG_NAME}, nor has a folder in it: has the plan been run?")
    yield from files


def execution_state(
    schedule: Schedule, execution: Execution, lost: Collection[str] = (), since: State | None = None
) -> State:
    """Return the state of a plan after an execution.

    Parameters
    ----------
    schedule : Schedule
        The plan.
    execution : Execution
        What happened until now.
    lost : collection of str
        VMs that are gone.
    since : State, optional
        The state that the plan was made from, if it was not made for all of the bag.

    Returns
    -------
    State
        The state at the moment of the last event. A VM that has ended all its tasks, or is lost, is rented no longer;
        one that was stopped is rented and runs nothing; one of which nothing is known is being launched. VMs are billed
        as the instance says, in one session from when they were first ready.
    """
    stretches, used = grouped("vm", execution.vms), {planned.vm for planned in execution.planned}
    since = since or State(instance=schedule.instance.name)
    before, since_s = {vm.id: vm for vm in since.vms}, since.time_s
    vms, over, spent_usd = [], [], 0.0
    # A VM none of whose tasks was planned in the end was never requested.
    for number, name in ((number, name) for number, name in enumerate(schedule.vm_ids) if name in used):
        found = stretches.get(name, [])
        # A log that breaks off tells nothing about its VM: only the caller knows that it is lost.
        gone = name in lost or (bool(found) and found[-1].end_s is not None and not found[-1].lost)
        ready_s = found[0].start_s if found else max(float(schedule.vm_ready_s[number]), execution.until_s)
        until_s = (found[-1].end_s if gone and found else None) or execution.until_s
        index = int(schedule.vm_offer[number])
        offer, bill = schedule.instance.offers[index], schedule.instance.bills[index]
        if name in before:  # it was billed there up to second 0 of this execution
            began_s = before[name].ready_s - since_s
            spent_usd += elapsed_usd(bill, until_s - began_s) - elapsed_usd(bill, -began_s)
        elif found:
            spent_usd += elapsed_usd(bill, until_s - ready_s)
        if gone:
            over.append(name)
            continue
        running = tuple(_on_vm(schedule, run, since_s) for run in execution.runs if run.runs_still and run.vm == name)
        # Prices, credits and paid time of the earlier state hold on.
        known = before.get(name) or _requested(name, offer, bill, since_s + ready_s)
        now = {"status": "running" if found or name in before else "launching", "running": running}
        vms.append(known.model_copy(update=now))
    done = tuple(found.planned.task for found in execution.deviations if found.status == "done")
    return State(
        instance=schedule.instance.name,
        time_s=since_s + execution.until_s,
        spent_usd=since.spent_usd + spent_usd,
        done=(*since.done, *done),
        saved={name: part for name, part in since.saved.items() if name not in set(done)},
        vms=tuple(vms),
        gone=(*over, *since.gone),
    )


def _requested(name: str, offer: RentalOffer, bill: Bill, ready_s: float) -> VmState:
    return VmState(
        id=name,
        type=offer.vm_type.name,
        market=offer.market,
        ready_s=ready_s,
        price_usd_per_hour=offer.price_usd_per_hour,
        billing=billing_of(bill),
    )


def _on_vm(schedule: Schedule, run: TaskRun, since_s: float) -> TaskOnVm:
    task = schedule.instance.task_index[run.task]
    burstable = schedule.instance.offer_is_burstable[schedule.vm_offer[schedule.vm_ids.index(run.vm)]]
    mode: Mode | None = None
    if burstable:
        mode = "baseline" if schedule.task_baseline[task] else "burst"
    cores = schedule.task_cores[task]
    named = several(cores if cores[:1] == (run.core,) else None)
    return TaskOnVm(task=run.task, core=run.core, start_s=since_s + run.start_s, mode=mode, **named)


# ------------------------------------------------------------------------------------------------------- lines of a log

LOG_FORMAT: Literal["spotbag.log/1"] = "spotbag.log/1"
_MOST_ISSUES = 20

Clock: TypeAlias = Annotated[float, Field(ge=0, le=2**53)]


class _Line(Record):
    """Time of a line, in seconds since 1970-01-01 UTC, common to all kinds of lines."""

    at: Clock


class BeginLine(_Line):
    """The scripts of a VM are started."""

    event: Literal["begin"]
    format: Literal["spotbag.log/1"]
    vm: Name


class StartLine(_Line):
    """A task starts."""

    event: Literal["start"]
    core: Count
    number: Count
    task: Name


class EndLine(_Line):
    """The command of a task ends."""

    event: Literal["end"]
    core: Count
    number: Count
    task: Name
    exit_code: Count
    message: str = ""


class StopLine(_Line):
    """A signal has stopped the scripts, and what they ran."""

    event: Literal["stop"]


class FinishLine(_Line):
    """End of all tasks of a VM."""

    event: Literal["finish"]


Line: TypeAlias = BeginLine | StartLine | EndLine | StopLine | FinishLine
_LINE: TypeAdapter[Line] = TypeAdapter(Annotated[Line, Field(discriminator="event")])


def read_logs(
    paths: Iterable[str | os.PathLike[str]],
    planned: Sequence[PlannedTask],
    cores: Mapping[str, int],
    ready_s: int,
    lost: Iterable[str] = (),
    began_at: float | None = None,
) -> Execution:
    """Read an execution from its logs.

    Parameters
    ----------
    paths : iterable of path
        Log files; each of them holds the log of a VM, or several one after the other.
    planned : sequence of PlannedTask
        The plan that was run.
    cores : dict
        How many cores each VM of the plan has.
    ready_s : int
        When the VMs are ready in the plan. The first of them to be started, in the logs, was started then.
    lost : iterable of str
        VMs that are gone: what they ran last was cut off.
    began_at : float, optional
        The start of the plan on the clock, if it is known.

    Raises
    ------
    InputError
        If a file is no log, or is one of another plan.
    """
    lines = [found for path in paths for found in parse_log(read_text(path), source_name(path), cores)]
    return execution_of_lines(lines, planned, ready_s, lost, began_at)


def parse_log(text: str, source: str, cores: Mapping[str, int]) -> list[tuple[str, Line]]:
    """Read the lines of a log, each with its VM, of which it is known how many cores it has.

    A last line that was cut short is left out.

    Raises
    ------
    InputError
        With the lines that are wrong.
    """
    found: list[tuple[str, Line]] = []
    issues: list[Issue] = []
    broken: list[Issue] = []
    vm = ""
    for number, text_line in enumerate(text.split("\n"), 1):
        if not text_line.strip():
            continue
        try:
            # A broken line is a fault only if the log goes on after it otherwise than by a new beginning.
            document = parse_json(text_line, source)
        except InputError:
            broken.append(Issue(f"line {number}", "is no line of a log"))
            continue
        try:
            line = _LINE.validate_python(document, context=Faults())
        except ValidationError as error:
            wrong = field_issues(error, Line, document)
            issues += [Issue(f"line {number}", issue.rule, issue.path, issue.value) for issue in wrong]
            continue
        if isinstance(line, BeginLine):
            # What was written when the machine went down may be cut short; then the scripts are started again.
            broken = broken[:-1]
            vm = line.vm
        elif not vm:
            issues.append(Issue(f"line {number}", "stands before the first 'begin' of a log", "event", line.event))
        elif isinstance(line, StartLine | EndLine) and line.core >= cores.get(vm, line.core + 1):
            issues.append(Issue(f"line {number}", f"must be below {cores[vm]}, the cores of {vm}", "core", line.core))
        issues += broken
        broken = []
        found.append((vm, line))
        if len(issues) >= _MOST_ISSUES:
            break
    issues += broken[:-1]
    if not found:
        refuse_another_document(text, LOG_FORMAT, source, but_with="event")
        issues = issues or [Issue("", f"is no log of a plan that was run ({LOG_FORMAT})")]
    if issues:
        raise InputError(source, issues)
    return found


def execution_of_lines(
    lines: Sequence[tuple[str, Line]],
    planned: Sequence[PlannedTask],
    ready_s: int,
    lost: Iterable[str] = (),
    began_at: float | None = None,
) -> Execution:
    """Put together what happened from the lines of logs; see `read_logs`.

    Raises
    ------
    InputError
        If the logs name VMs or tasks that the plan does not have.
    """
    _refuse_another_plan(lines, planned)
    if began_at is None:
        began_at = min((line.at for _, line in lines), default=0.0) - ready_s
    until_s = max((line.at for _, line in lines), default=began_at) - began_at
    by_vm: dict[str, list[Line]] = {}
    for vm, line in lines:
        by_vm.setdefault(vm, []).append(line)
    gone = set(lost)
    books = [_Book(vm, found, began_at, until_s, vm in gone) for vm, found in by_vm.items()]
    return Execution(
        tuple(planned),
        tuple(sorted((run for book in books for run in book.runs), key=lambda run: (run.start_s, run.vm, run.core))),
        tuple(sorted((run for book in books for run in book.vms), key=lambda run: (run.start_s, run.vm))),
        until_s,
        began_at,
    )


class _Book:
    """Runs on one VM, and its times up, from its log."""

    def __init__(self, vm: str, lines: Sequence[Line], began_at: float, until_s: float, lost: bool) -> None:
        self.vm = vm
        self.runs: list[TaskRun] = []
        self.vms: list[VmRun] = []
        self._open: dict[int, TaskRun] = {}  # by core
        self._since: float | None = None
        self._last_s = 0.0
        for line in lines:
            time_s = max(line.at - began_at, self._last_s)  # a clock that is set back does not undo what has happened
            self._take(line, time_s)
            self._last_s = time_s
        if lost:
            self._close(until_s, lost=True)
        elif self._since is not None:
            self.vms.append(VmRun(vm, self._since))
            self.runs += self._open.values()

    def _take(self, line: Line, time_s: float) -> None:
        if isinstance(line, BeginLine):
            self._close(self._last_s, lost=True)
            self._since = time_s
        elif isinstance(line, StartLine):
            self._cut_off(line.core, time_s)
            self._open[line.core] = TaskRun(line.task, self.vm, line.core, time_s)
        elif isinstance(line, EndLine):
            run = self._open.get(line.core)
            if run is not None and run.task == line.task:
                del self._open[line.core]
                self.runs.append(
                    TaskRun(line.task, self.vm, line.core, run.start_s, time_s, line.exit_code, line.message)
                )
        else:
            self._close(time_s, lost=isinstance(line, StopLine))

    def _cut_off(self, core: int, time_s: float) -> None:
        run = self._open.pop(core, None)
        if run is not None:
            self.runs.append(TaskRun(run.task, self.vm, core, run.start_s, time_s))

    def _close(self, time_s: float, *, lost: bool) -> None:
        for core in list(self._open):
            self._cut_off(core, time_s)
        if self._since is not None:
            self.vms.append(VmRun(self.vm, self._since, time_s, lost))
            self._since = None


def _refuse_another_plan(lines: Iterable[tuple[str, Line]], planned: Sequence[PlannedTask]) -> None:
    vms, tasks = {task.vm for task in planned}, {task.task for task in planned}
    issues = []
    for name in dict.fromkeys(vm for vm, _ in lines if vm not in vms):
        issues.append(Issue("", "is no VM of the plan that has tasks", "vm", name))
    names = dict.fromkeys(line.task for _, line in lines if isinstance(line, StartLine | EndLine))
    issues += [Issue("", "is no task of the plan", "task", name) for name in names if name not in tasks]
    if issues:
        raise InputError("log", [*issues[:3], Issue("", "this is the log of another plan")])
