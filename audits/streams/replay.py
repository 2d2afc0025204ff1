"""The audit of a replay of a stream: arrivals, queues, suspensions, blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from ...core.quantities import plain
from ...core.wording import counted
from ...traces.trace import Trace
from ..bill import Rules, Session
from ..facts import InstanceFacts, Work, exact
from ..findings import Event
from ..vm_audit import Audit, TaskBook
from ..vm_books import RANKS, VmBook


@dataclass(slots=True)
class _Job:
    """A job, as the run record has it, and whether it has arrived."""

    id: str
    submitted_s: int
    deadline_s: int
    tasks: list[str]
    submitted: bool = False


@dataclass(slots=True)
class _Queue:
    """Queue of a VM, with the time since which its first task is held up, and the last reported end of a block."""

    tasks: list[str] = field(default_factory=list)
    stuck_since_s: int | None = None
    idle_since_s: int | None = None
    reported_block_end_s: int = -1


@dataclass(frozen=True, slots=True)
class _Progress:
    """Seconds of a task that are done on a VM."""

    vm: str
    seconds: int


class StreamAudit(Audit):
    """The audit of a replay of a stream.

    Where tasks take parts of a second, so do times: fractions stand where the books of a bag have whole numbers.
    """

    decisions = frozenset({"launch", "assign", "return", "suspend", "terminate"})

    def __init__(self, trace: Trace, facts: InstanceFacts) -> None:
        super().__init__(_with_exact_times(trace), facts)
        self.began = False  # with anything but a launch
        self.queues: dict[str, _Queue] = {}
        self.touched: dict[str, VmBook] = {}  # at this moment
        self.progress: dict[str, _Progress] = {}
        self.jobs: list[_Job] = []
        self.job_by_id: dict[str, _Job] = {}
        self.job_of: dict[str, _Job] = {}  # by task
        self.next_job = 0
        self._read_jobs()

    # -------------------------------------------------------------------- jobs

    def _read_jobs(self) -> None:
        """Share out the tasks of the instance; find what cannot be true of the jobs of the run record."""
        names = list(self.facts.tasks)
        place, before_s = 0, 0
        for record in self.run["jobs"]:
            tasks = names[place : place + record["n_tasks"]]
            place += record["n_tasks"]
            job = _Job(record["id"], record["submitted_s"], record["deadline_s"], tasks)
            if self.job_by_id.setdefault(job.id, job) is not job:
                self._find("job", job.id, f"there is more than one job {job.id!r}")
            if job.submitted_s < before_s:
                early = before_s - job.submitted_s
                message = f"job {job.id!r}, submitted at {job.submitted_s} s, stands after one of {before_s} s"
                self._find("job", job.id, message, early)
            if job.deadline_s < job.submitted_s:
                message = f"job {job.id!r}, submitted at {job.submitted_s} s, is due before that, at {job.deadline_s} s"
                self._find("job", job.id, message, job.submitted_s - job.deadline_s)
            before_s = max(before_s, job.submitted_s)
            self.jobs.append(job)
            self.job_of |= dict.fromkeys(tasks, job)
        if place != len(names):
            message = f"the jobs have {counted(place, 'task')} together, the instance has {len(names):,}"
            self._find("job", "", message, abs(place - len(names)), "tasks")

    def _submit(self, event: Event) -> None:
        name = event["job"]
        job = self.job_by_id.get(name)
        if job is None or job.submitted:
            reason = "the run has no such job" if job is None else "it has arrived before"
            self._find("job", event, f": {reason}")
            return
        while self.jobs[self.next_job].submitted:
            self.next_job += 1
        first = self.jobs[self.next_job]
        if job is not first:
            self._find("job", event, f": {first.id!r} comes before it")
        self._check_time("job", event, event["t"] - job.submitted_s)
        job.submitted = True

    # ------------------------------------------------------------------ events

    def _handle(self, event: Event) -> None:
        kind = event["event"]
        if kind == "launch":
            self._launch(event)
            return
        self.began = True
        name = event.get("vm")
        if kind in ("submit", "wake"):
            self._check_order(event, name or "", None)
            if kind == "submit":
                self._submit(event)
            elif name is not None and name not in self.vms:
                self._find("vm", name, f"{self._described(event)}: no VM {name!r} has been launched")
            return
        vm = self._vm(event, event["vm"])
        if vm is not None:
            if kind in RANKS:
                self._check_order(event, vm.name, self._follows_s(event, vm))
            self.touched[vm.name] = vm
            self._follow(event, vm)

    def _follows_s(self, event: Event, vm: VmBook) -> int | None:
        """Time of the cause of an event in the same second; None if the event has no such cause."""
        if event["event"] == "ready":
            return vm.launched_s
        run = vm.runs.get(event["task"]) if event["event"] == "finish" else None
        # What was suspended in its last second has nothing left to do.
        return event["t"] if run is not None and run.work.duration_s <= 0 else None

    def _launched_at_first(self, event: Event) -> bool:
        return event["t"] == 0 and not self.began

    def _moment_ends(self, next_s: int) -> None:
        """Look for VMs that leave the first of their queue waiting, from this moment on or until now."""
        for vm in self.touched.values():
            queue = self.queues[vm.name]
            stuck = vm.state == "up" and bool(queue.tasks) and not vm.runs
            if stuck and queue.stuck_since_s is None:
                queue.stuck_since_s = self.now_s
            elif not stuck:
                self._find_stuck(vm)
        self.touched.clear()

    def _find_stuck(self, vm: VmBook) -> None:
        queue = self.queues[vm.name]
        since, queue.stuck_since_s = queue.stuck_since_s, None
        if since is not None:
            waited = max(self.now_s - since, 1)
            message = (
                f"{vm.name} runs nothing from {plain(since)} s, but leaves the first of its queue waiting for "
                f"{plain(waited)} s"
            )
            self._find("idle-while-waiting", vm.name, message, waited)

    # --------------------------------------------------------------------- VMs

    def _launch(self, event: Event) -> None:
        vm = self._new_vm(event)
        if vm is not None:
            self.queues[vm.name] = _Queue()
            if vm.market != "on-demand":
                self._find("vm", event, f": VMs of streams are on-demand, not {vm.market}")
            self.figures.on_demand_started += vm.market == "on-demand"
            self._check_limits(event, vm, strict=True)

    def _ready(self, event: Event, vm: VmBook) -> None:
        if self._check_ready(event, vm):
            vm.make_ready(event["t"])
            self._may_be_idle(vm, event["t"])

    def _block_end(self, event: Event, vm: VmBook) -> None:
        now, block = event["t"], self.facts.cycle_s
        if not self._in_state(event, vm, "up"):
            return
        elapsed = now - self._first_block_s(vm)
        off = min(elapsed % block, -elapsed % block) if elapsed > 0 else block
        if off:
            message = f", {plain(off)} s off the end of a block of {block} s ({plain(elapsed)} s after the first began)"
            self._find("block-end", event, message, off)
        busy = len(vm.runs) + len(self.queues[vm.name].tasks)
        if busy:
            self._find("block-end", event, f": it is not idle, it has {counted(busy, 'task')}", busy, "tasks")
        queue = self.queues[vm.name]
        if queue.reported_block_end_s == now:
            self._find("block-end", event, " is recorded twice")
        queue.reported_block_end_s, queue.idle_since_s = now, None

    def _first_block_s(self, vm: VmBook) -> int:
        """Begin of the first block of a VM that is up: that of the bill."""
        from_request = self.run["billing"].get("from_request", False)
        return vm.launched_s if from_request or vm.ready_s is None else vm.ready_s

    def _may_be_idle(self, vm: VmBook, now: int) -> None:
        """Note since when a VM has nothing to do."""
        queue = self.queues[vm.name]
        if vm.state == "up" and not vm.runs and not queue.tasks:
            queue.idle_since_s = now

    def _no_longer_idle(self, vm: VmBook, now: int) -> None:
        """Find an end of a block that a VM has passed while it was idle; the first of the time that it is idle."""
        queue, block = self.queues[vm.name], self.facts.cycle_s
        since, queue.idle_since_s = queue.idle_since_s, None
        if since is None:
            return
        start = self._first_block_s(vm)
        # A VM that is idle from its first second on is paid to the end of its first block.
        boundary = start + max(-(-(since - start) // block), 1) * block
        if boundary < now:
            message = f"{vm.name} is idle at the end of a block ({plain(boundary)} s), which is not recorded"
            self._find("block-end", vm.name, message)

    def _terminate(self, event: Event, vm: VmBook) -> None:
        self._no_longer_idle(vm, event["t"])
        waiting = self.queues[vm.name].tasks
        if waiting:
            self._find("state", event, f" while {counted(len(waiting), 'task')} wait there", len(waiting), "tasks")
        self._end_vm(event, vm)

    # ------------------------------------------------------------------- tasks

    def _task(self, event: Event) -> TaskBook | None:
        """Find the book of a task, which exists only when its job has arrived."""
        book = super()._task(event)
        job = self.job_of.get(event["task"])
        if book is not None and job is not None and not job.submitted:
            early = max(job.submitted_s - event["t"], 1)
            self._find("job", event, f": job {job.id!r} has not arrived", early)
        return book

    def _assign(self, event: Event, vm: VmBook, book: TaskBook) -> None:
        name, now = event["task"], event["t"]
        self._in_state(event, vm, "launching", "up")
        if book.home is not None:
            does = "waits" if book.running_on is None else "runs"
            self._find("queue", event, f": it is not in the pool, it {does} on {book.home}")
            self._take_away(name, book)
        self._no_longer_idle(vm, now)
        tasks = self.queues[vm.name].tasks
        position = event.get("position")
        if position is not None and position > len(tasks):
            message = f" at position {position}; {counted(len(tasks), 'task')} wait there"
            self._find("queue", event, message, position - len(tasks), "places")
        tasks.insert(len(tasks) if position is None else position, name)
        book.home = vm.name

    def _return(self, event: Event, vm: VmBook, book: TaskBook) -> None:
        name = event["task"]
        if book.home != vm.name or book.running_on is not None:
            self._find("queue", event, f": it {_where(book)}")
        if book.running_on is None:
            self._take_away(name, book)
            self._may_be_idle(vm, event["t"])

    def _suspend(self, event: Event, vm: VmBook, book: TaskBook) -> None:
        name, now = event["task"], event["t"]
        if book.running_on != vm.name:
            self._find("suspension", event, f": it {_where(book)}")
            return
        self._in_state(event, vm, "up")
        run = vm.runs[name]
        self._check_same_core(event, run)
        over = vm.uptime_s(now) - run.due_uptime_s
        if over > 0:
            self._find("run-time", event, f", {plain(over)} s after it was due to finish", over)
        vm.leave(name, now)
        book.running_on = None
        ran = vm.uptime_s(now) - run.started_uptime_s
        self.progress[name] = _Progress(vm.name, self._done_s(name, vm) + ran)
        self.queues[vm.name].tasks.insert(0, name)

    def _start(self, event: Event, vm: VmBook, book: TaskBook) -> None:
        name, mode = event["task"], event.get("mode")
        if self._runs_already(event, book):
            self._take_away(name, book)
        elif book.home != vm.name:
            self._find("placement", event, f": it {_where(book)}")
            self._take_away(name, book)
        else:
            before = self.queues[vm.name].tasks.index(name)
            if before:
                self._find("queue", event, f": {counted(before, 'task')} of the queue come before it", before, "tasks")
            self._take_away(name, book)
        self._no_longer_idle(vm, event["t"])
        self._in_state(event, vm, "up")
        self._check_core(event, vm, n_cores=1)
        self._check_mode(event, vm, name, mode)
        self._check_saved(event, book)
        work, given_s = None, self.facts.given_runtime_s(name, vm.type.name)
        if given_s is not None:
            work = Work(given_s, 0, _whole_if_it_is(given_s) - self._done_s(name, vm), Fraction(1))
        book.home = vm.name
        self._begin(event, vm, book, work)
        # It begins anew here, and what was done elsewhere is lost.
        if name in self.progress and self.progress[name].vm != vm.name:
            del self.progress[name]

    def _finish(self, event: Event, vm: VmBook, book: TaskBook) -> None:
        name, now = event["task"], event["t"]
        self._end_run(event, vm, book)
        self._take_away(name, book)
        job = self.job_of.get(name)
        self._count_finish(book, now, self.facts.deadline_s if job is None else job.deadline_s)
        self._may_be_idle(vm, now)

    def _done_s(self, task: str, vm: VmBook) -> int:
        """Seconds of a task that are done on a VM."""
        progress = self.progress.get(task)
        return progress.seconds if progress is not None and progress.vm == vm.name else 0

    def _take_away(self, name: str, book: TaskBook) -> None:
        """Take a task to the pool, wherever it runs or waits."""
        if book.running_on is not None:
            self._drop_run(name, book)
        queue = self.queues.get(book.home) if book.home is not None else None
        if queue is not None and name in queue.tasks:
            queue.tasks.remove(name)
        if book.home is not None:
            self.touched[book.home] = self.vms[book.home]
        book.home = None

    # --------------------------------------------------------------------- end

    def _close(self, vm: VmBook) -> None:
        self._find_stuck(vm)

    def _cost_usd(self, vm: VmBook) -> Fraction:
        billing, block_s = self.run["billing"], self.run["billing"].get("block_s")
        from_s = vm.launched_s if billing.get("from_request", False) else vm.ready_s
        assert vm.terminated_s is not None
        rules = Rules() if block_s is None else Rules(minimum_s=1, block_s=block_s)  # one block at least
        price = vm.type.price_usd_per_s.get(vm.market, Fraction(0))
        lasts_s = max(vm.terminated_s - (vm.terminated_s if from_s is None else from_s), 0)
        if block_s is not None:  # blocks are of whole seconds: a part of one is paid as one, in blocks of a second, too
            lasts_s = math.ceil(lasts_s)
        session = Session(rules, 0, price)
        self.figures.blocks[vm.type.name] += 0 if block_s is None else session.billed_s(lasts_s) // block_s
        return session.usd(lasts_s)

    def _check_unfinished(self) -> None:
        super()._check_unfinished()
        for job in self.jobs:
            if not job.submitted:
                self._find("job", job.id, f"job {job.id!r}, submitted at {job.submitted_s} s, never arrives")

    def _note_lateness(self) -> None:
        for job in self.jobs:
            late = [self.tasks[task].late_by_s for task in job.tasks if self.tasks[task].late_by_s]
            if late:
                tasks = f"{len(late):,} of {counted(len(job.tasks), 'task')}"
                due = f"its deadline of {job.deadline_s:,} s"
                self.notes.append(f"{job.id}: {tasks} late for {due}, by up to {plain(max(late))} s")


def _with_exact_times(trace: Trace) -> Trace:
    """Return a trace with its times as numbers that can be added up without rounding."""
    events = [_with_exact(event, ("t", "duration_s")) for event in trace.events]
    return replace(trace, events=events, end=_with_exact(trace.end, ("t", "makespan_s", "late_s", "idle_s")))


def _with_exact(record: Event, times: Sequence[str]) -> Event:
    changed = {name: _whole_if_it_is(exact(record[name])) for name in times if type(record.get(name)) is float}
    return record | changed if changed else record


def _whole_if_it_is(value: Fraction) -> Any:
    return value.numerator if value.denominator == 1 else value


def _where(book: TaskBook) -> str:
    """Place of a task as a phrase after ``it``."""
    if book.home is None:
        return "is in the pool"
    return f"{'waits' if book.running_on is None else 'runs'} on {book.home}"
