"""Base of the audits of plans and of streams: the order of events, VMs, cores, memory, the bill."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from ..core.quantities import plain
from ..core.wording import counted
from ..traces.trace import Trace
from .facts import InstanceFacts, Share, Work, exact
from .figures import Figures, figure_findings
from .findings import AuditReport, Event, Findings
from .vm_books import RANKS, RunBook, VmBook

_CREDIT_TOLERANCE = Fraction(1, 10**6)
_SAVED_TOLERANCE = Fraction(1, 10**9)
_FULL_SPEED = Fraction(1)


@dataclass(slots=True)
class TaskBook:
    """A task, as far as the events so far describe it; ``home`` is the VM it waits or runs on."""

    home: str | None = None
    saved: Fraction = Fraction(0)
    mode: str | None = None
    running_on: str | None = None
    finished: bool = False
    late_by_s: int = 0
    moved_late: bool = False


class Audit(Findings, ABC):
    """An audit of a replay, from its events alone.

    Parameters
    ----------
    trace : Trace
        The replay; its records are those of the format.
    facts : InstanceFacts
        Those of its instance.
    """

    decisions: ClassVar[frozenset[str]]
    """Kinds of events that are decisions of a policy, which it takes only when something happens."""

    def __init__(self, trace: Trace, facts: InstanceFacts) -> None:
        super().__init__()
        self.trace = trace
        self.facts = facts
        self.run = trace.run
        self.vms: dict[str, VmBook] = {}
        self.tasks = {name: TaskBook() for name in facts.tasks}
        self.figures = Figures(n_tasks=len(self.tasks))
        self.now_s: int = 0
        self.rank = -1
        self.living: Counter[tuple[str, str]] = Counter()
        self.markets_noted: set[str] = set()

    def report(self) -> AuditReport:
        """Go through the events, then the end."""
        for event in self.trace.events:
            self._event(event)
        # The last moment ends with the trace, though nothing comes after it.
        self._moment_ends(self.trace.end["t"] + 1)
        cost, vm_costs = self._end()
        figures, last = self.figures, self._last_s()
        self.findings += figure_findings(figures, self.trace.end, float(cost), last, self.trace.of_stream)
        self._note_lateness()
        unfinished = figures.n_tasks - figures.finished
        if unfinished:
            self.notes.append(f"{counted(unfinished, 'task')} unfinished")
        self._note_more()
        makespan = None if unfinished else plain(figures.last_finish_s)
        return AuditReport(tuple(self.findings), float(cost), makespan, tuple(self.notes), vm_costs)

    # ---------------------------------------------------- what each kind says

    @abstractmethod
    def _handle(self, event: Event) -> None:
        """Follow an event of one of the `kinds`."""

    @abstractmethod
    def _launched_at_first(self, event: Event) -> bool:
        """True if a launch needs no cause, as it comes before all other events."""

    def _may_give_up(self, now: int) -> bool:
        """True if the replay may end with tasks unfinished, at a moment without another event."""
        return False

    @abstractmethod
    def _cost_usd(self, vm: VmBook) -> Fraction:
        """Cost of a VM that is terminated."""

    @abstractmethod
    def _note_lateness(self) -> None:
        """Note which tasks are late."""

    def _note_more(self) -> None:
        """Add notes of the kind of audit."""

    def _moment_ends(self, next_s: int) -> None:
        """Look at the events of a moment, before the next one at ``next_s``, or the end."""

    def _last_s(self) -> int:
        """End of the replay."""
        return self.now_s

    def _close(self, vm: VmBook) -> None:
        """Look at a VM at the end."""

    # ------------------------------------------------------------------ events

    def _event(self, event: Event) -> None:
        kind, now = event["event"], event["t"]
        if now < self.now_s:
            message = f"{self._described(event)} is recorded after what happens at {plain(self.now_s)} s"
            self._find("order", "", message, self.now_s - now)
        elif now > self.now_s:
            self._moment_ends(now)
            self.now_s, self.rank = now, -1
        figures = self.figures
        if figures.finished == figures.n_tasks and (kind != "terminate" or now > figures.last_finish_s):
            late = max(now - figures.last_finish_s, 1)
            self._find("bill", event, f", after the last task has ended at {plain(figures.last_finish_s)} s", late)
        if kind in self.decisions and self.rank < 0:
            self._check_cause(event)
        self._handle(event)

    def _check_order(self, event: Event, where: str, follows_s: int | None, rank: int = -1) -> None:
        """Judge the order of what happens by itself at one time: by the ranks of the kinds of events, or by others.

        What follows at once from something of the same moment (``follows_s``) has no place of its own.
        """
        kind, now = event["event"], event["t"]
        rank = RANKS[kind] if rank < 0 else rank
        if now < self.now_s:
            return
        # What was caused a moment ago stands behind its cause, whatever its kind; it must not hold back what follows.
        if follows_s == now:
            self.rank = max(self.rank, 0)
            return
        if rank < self.rank:
            before = next(name for name, other in RANKS.items() if other == self.rank)
            self._find("order", where, f"{self._described(event)} stands after a {before} of the same moment")
        self.rank = max(self.rank, rank)

    def _check_cause(self, event: Event) -> None:
        """A decision is taken at a moment at which something happens; the first VMs are launched at the start.

        When nothing can happen any more and tasks are left, the VMs end.
        """
        kind, now, end = event["event"], event["t"], self.trace.end
        at_first = kind == "launch" and self._launched_at_first(event)
        gives_up = kind == "terminate" and now == end["t"] and self._may_give_up(now)
        if not (at_first or gives_up or now < self.now_s):
            self._find("order", event, ": nothing happens then that led to it")

    def _vm(self, event: Event, name: str, gone: bool = False) -> VmBook | None:
        """Find the book of an existing VM; with ``gone`` also if the cloud has terminated it."""
        vm = self.vms.get(name)
        if vm is None:
            self._find("vm", name, f"{self._described(event)}: no VM {name!r} has been launched")
        # What is decided about the tasks of a VM that the cloud has taken is decided after its end.
        elif vm.state == "terminated" and not (gone and vm.reclaimed):
            self._find("state", event, f": {name} was terminated at {plain(vm.terminated_s or 0)} s", where=name)
            return None
        return vm

    def _in_state(self, event: Event, vm: VmBook, *states: str) -> bool:
        if vm.state in states:
            return True
        self._find("state", event, f": {vm.name} is {vm.state}")
        return False

    def _runs_already(self, event: Event, book: TaskBook) -> bool:
        """True, with a finding, if a task that starts is on a core already."""
        if book.running_on is None:
            return False
        self._find("task-once", event, f": it is on a core of {book.running_on} already")
        return True

    # --------------------------------------------------------------------- VMs

    def _new_vm(self, event: Event) -> VmBook | None:
        """Open the book of a VM that is launched, if it can be."""
        name, market = event["vm"], event["market"]
        vm_type = self.facts.types.get(event["type"])
        if name in self.vms:
            self._find("vm", event, ": there is a VM of this name already")
            return None
        if vm_type is None:
            self._find("vm", event, f": unknown type {event['type']!r}")
            return None
        if market not in vm_type.limits:
            self._find("vm", event, f": no {market} offer for {vm_type.name}")
        vm = self.vms[name] = VmBook(name, vm_type, market, event["t"])
        return vm

    def _check_limits(self, event: Event, vm: VmBook, strict: bool) -> None:
        """Count a VM from its launch on, and find the limits and quotas that it exceeds.

        The markets of the instance bind its plans, not what policies do during the day: for a VM of a plan
        (``strict``), one of another market is a finding, for others it is noted once.
        """
        market, name = vm.market, vm.type.name
        self.living[name, market] += 1
        for there, most, what, _ in self.facts.limits_of(name, market, self.living):
            if there > most:
                over = there - most
                self._over_limit(event, f": {there} {what}, {over} over the limit of {most}", over)
        if market not in self.facts.markets:
            if strict:
                self._over_limit(event, f": the instance does not allow the {market} market")
            elif market not in self.markets_noted:
                self.markets_noted.add(market)
                self.notes.append(f"{market} VMs are started during the day; the instance allows none in its plans")

    def _over_limit(self, event: Event, said: str, over: int = 1) -> None:
        """Report that there are more VMs than allowed."""
        self._find("limit", event, said, over, "VMs")

    def _check_ready(self, event: Event, vm: VmBook) -> bool:
        """A VM that is launching is ready when its boot is over."""
        now = event["t"]
        if not self._in_state(event, vm, "launching"):
            return False
        off = now - vm.launched_s - self.facts.boot_s
        self._check_time("ready", event, off, f": launched at {plain(vm.launched_s)} s")
        return True

    def _end_vm(self, event: Event, vm: VmBook) -> None:
        """Close the book of a VM that is terminated."""
        now = event["t"]
        due = vm.launched_s + self.facts.boot_s
        if vm.state == "launching" and now > due:
            self._find("ready", event, f": it has never been ready, which was due at {plain(due)} s", now - due)
        if vm.state == "up":
            for task in vm.runs:
                left = vm.runs[task].due_uptime_s - vm.uptime_s(now)
                self._find("state", task, f"{self._described(event)} while task {task!r} runs there", max(left, 1))
        self._no_longer_counts(vm)
        vm.terminate(now)

    def _no_longer_counts(self, vm: VmBook) -> None:
        """Stop counting a VM against its limits."""
        self.living[vm.type.name, vm.market] -= 1

    # ------------------------------------------------------------------- tasks

    def _follow(self, event: Event, vm: VmBook) -> None:
        """Follow an event by the method for its kind, unless its task is unknown or done, which is a finding."""
        kind = event["event"]
        self.figures.events[kind] += 1
        follow = getattr(self, f"_{kind.replace('-', '_')}")
        if "task" not in event:
            follow(event, vm)
        elif (book := self._task(event)) is not None:
            follow(event, vm, book)

    def _task(self, event: Event) -> TaskBook | None:
        name = event["task"]
        book = self.tasks.get(name)
        if book is None:
            self._find("task-once", event, f": task {name!r} is not in the instance")
        elif book.finished:
            self._find("task-once", event, f": task {name!r} has finished before")
            return None
        return book

    def _begin(self, event: Event, vm: VmBook, book: TaskBook, work: Work | None) -> None:
        """Put a task on a core, for the work that is left of it; None if it cannot run there."""
        name, stated, now = event["task"], event["duration_s"], event["t"]
        if work is None:
            self._find("placement", event, f": task {name!r} cannot run on {vm.type.name}")
            # Followed as the trace has it, so that one fault is one finding.
            work = Work(Fraction(stated), 0, stated, _FULL_SPEED)
        elif stated != work.duration_s:
            message = f" for {plain(stated)} s, it takes {plain(work.duration_s)} s there"
            self._find("run-time", event, message, abs(stated - work.duration_s))
        need = self.facts.need(name)
        burst = vm.type.credits is not None and event.get("mode") != "baseline"
        vm.begin(RunBook(name, event["core"], vm.uptime_s(now), work, burst, need), now)
        book.running_on = vm.name
        if not vm.used.within(vm.type.size):
            self._check_memory(event, vm)

    def _check_memory(self, event: Event, vm: VmBook) -> None:
        """Check the memory of a VM from now on; tasks due to end now have freed theirs."""
        uptime = vm.uptime_s(event["t"])
        used = sum((run.need for run in vm.runs.values() if run.due_uptime_s > uptime), Share())
        for need, size, unit in used.beyond(vm.type.size):
            over = need - size
            message = (
                f"{self._described(event)}: {vm.name} needs {need:.3f} {unit}, {over:.3f} {unit} over its {size:.3f}"
            )
            self._find("memory", vm.name, f"{message} {unit}", over, unit)

    def _check_core(self, event: Event, vm: VmBook, n_cores: int) -> None:
        core = event["core"]
        if core >= n_cores:
            over = core - n_cores + 1
            self._find("placement", event, f" on core {core}; {vm.name} has cores 0 to {n_cores - 1}", over, "cores")
        other = vm.cores.get(core)
        if other is not None:
            left = max(vm.runs[other].due_uptime_s - vm.uptime_s(event["t"]), 1)
            message = f" on core {core} of {vm.name}, which task {other!r} has for {plain(left)} s more"
            self._find("core", event, message, left)

    def _check_mode(self, event: Event, vm: VmBook, task: str, mode: str | None) -> None:
        if mode is None and vm.type.credits is not None:
            self._find("placement", event, f" in no mode; {vm.type.name} is burstable")
        elif mode is not None and vm.type.credits is None:
            self._find("placement", event, f" in {mode} mode; {vm.type.name} is not burstable")

    def _check_saved(self, event: Event, book: TaskBook) -> None:
        if not (event.get("saved") or book.saved):
            return
        stated = exact(event.get("saved") or 0)
        off = abs(stated - book.saved)
        if off > _SAVED_TOLERANCE:
            name = event["task"]
            message = f" with {float(stated):.9g} of task {name!r} saved; it is {float(book.saved):.9g}"
            self._find("saved", event, message, off, "of the task")

    def _check_same_core(self, event: Event, run: RunBook) -> None:
        """A task leaves the core that it is on."""
        core = event["core"]
        if run.core != core:
            message = f" on core {core}, but it runs on core {run.core}"
            self._find("placement", event, message, abs(run.core - core), "cores")

    def _end_run(self, event: Event, vm: VmBook, book: TaskBook) -> RunBook | None:
        """Take a task that finishes off its core; None if it does not run there."""
        name, now = event["task"], event["t"]
        if book.running_on != vm.name:
            where = "does not run" if book.running_on is None else f"runs on {book.running_on}"
            self._find("task-once", event, f" on {vm.name}, but it {where}")
            # Off its core all the same: else whatever starts there later would be another finding.
            if book.running_on is not None:
                self._drop_run(name, book)
            return None
        self._in_state(event, vm, "up")
        run = vm.runs[name]
        self._check_same_core(event, run)
        off = vm.uptime_s(now) - run.due_uptime_s
        if off:  # the words take longer than the look, and most tasks end when they are to
            self._check_time("run-time", event, off, f": it takes {plain(run.work.duration_s)} s")
        vm.leave(name, now)
        book.running_on = None
        return run

    def _count_finish(self, book: TaskBook, now: int, deadline_s: int, weight: Fraction = Fraction(1)) -> None:
        """Count a finished task, and its lateness."""
        book.finished = True
        book.late_by_s = max(now - deadline_s, 0)
        figures = self.figures
        figures.finished += 1
        figures.late_tasks += book.late_by_s > 0
        figures.late_weight += weight * (book.late_by_s > 0)
        figures.late_s += book.late_by_s
        figures.last_finish_s = max(figures.last_finish_s, now)

    def _drop_run(self, name: str, book: TaskBook) -> None:
        """End the run of a task wherever it is."""
        if book.running_on is not None:
            self.vms[book.running_on].leave(name, self.now_s)
            book.running_on = None

    # --------------------------------------------------------------------- end

    def _end(self) -> tuple[Fraction, dict[str, float]]:
        """Close the books of the VMs and of the tasks."""
        end, figures = self.trace.end["t"], self.figures
        over = figures.last_finish_s if figures.finished == figures.n_tasks else end
        total, costs = Fraction(0), {}
        for vm in self.vms.values():
            if vm.state != "terminated":
                amount = max(end - over, 1)
                self._find("bill", vm.name, f"{vm.name} is never terminated", amount)
            self._close(vm)
            if vm.state != "terminated":
                vm.terminate(max(end, self.now_s))
            if vm.lacking > _CREDIT_TOLERANCE:
                lacking = float(vm.lacking)
                message = (
                    f"{vm.name} lacks {lacking:.6f} credits for its tasks at full speed, the first by "
                    f"{vm.lacking_at_s} s"
                )
                self._find("credits", vm.name, message, lacking, "credits")
            figures.idle_s += vm.idle_s
            cost = self._cost_usd(vm)
            total += cost
            costs[vm.name] = float(cost)
        self._check_unfinished()
        return total, costs

    def _check_unfinished(self) -> None:
        listed = Counter(self.trace.end["unfinished"])
        for name, book in self.tasks.items():
            if not book.finished and name not in listed:
                message = f"task {name!r} is lost: it has not finished and is not listed as unfinished"
                self._find("task-once", name, message)
        for name, count in listed.items():
            known = self.tasks.get(name)
            if known is None:
                self._find("task-once", name, f"task {name!r}, listed as unfinished, is not in the instance")
            elif known.finished:
                self._find("task-once", name, f"task {name!r} has finished, but is listed as unfinished")
            if count > 1:
                message = f"task {name!r} is listed as unfinished {count} times"
                self._find("task-once", name, message, count - 1, "tasks")
