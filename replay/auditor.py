"""The auditor: says whether what a trace tells can have happened, and comes to what it claims.

It works on the records of the trace and on the instance document as it is written, in plain Python with exact
arithmetic, and shares no code with the engine: clocks, durations, saved work, memory, cores, limits, credits, the day
of each VM and the bill are worked out here again, from the events alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..instances.wording import counted
from .audit_facts import NOISE, InstanceFacts, Work, exact
from .audit_figures import Figures, figure_findings
from .audit_findings import RULES, AuditReport, Finding
from .audit_vms import RANKS, RunBook, VmBook, expected_day
from .trace_files import Trace, check_records

_CREDIT_TOLERANCE = Fraction(1, 10**6)
_SAVED_TOLERANCE = Fraction(1, 10**9)
_FULL_SPEED = Fraction(1)

_DECISIONS = {"launch", "trigger-set", "migrate", "steal", "steal-attempt", "stranded", "terminate"}
"""What a policy decides, which it does only when something happens."""

_Event = dict[str, Any]


@dataclass(slots=True)
class _TaskBook:
    """A task, as far as the events have told."""

    home: str | None = None
    saved: Fraction = Fraction(0)
    mode: str | None = None
    running_on: str | None = None
    finished: bool = False
    late_by_s: int = 0
    moved_late: bool = False


def audit(trace: Trace, facts: InstanceFacts | None = None) -> AuditReport:
    """Audit a replay.

    Parameters
    ----------
    trace : Trace
        As read from a file, or made by a replay.
    facts : InstanceFacts, optional
        Those of ``trace.instance``, to work them out only once for many traces.

    Raises
    ------
    InputError
        If the instance is not valid, or a record is not of the format.
    """
    check_records(trace)
    return _Auditor(trace, InstanceFacts(trace.instance) if facts is None else facts).report()


def audit_traces(traces: Iterable[Trace]) -> list[AuditReport]:
    """Audit many replays; see `audit`. Traces that share an instance document share what is worked out from it."""
    reports: list[AuditReport] = []
    document: dict[str, Any] | None = None
    facts: InstanceFacts | None = None
    for trace in traces:
        if facts is None or trace.instance is not document:
            document, facts = trace.instance, InstanceFacts(trace.instance)
        reports.append(audit(trace, facts))
    return reports


class _Auditor:
    def __init__(self, trace: Trace, facts: InstanceFacts) -> None:
        self.trace = trace
        self.facts = facts
        self.run = trace.run
        self.findings: list[Finding] = []
        self.notes: list[str] = []
        self.vms: dict[str, VmBook] = {}
        self.tasks = {name: _TaskBook() for name in facts.tasks}
        self.figures = Figures(n_tasks=len(self.tasks))
        self.day: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for moment in self.run["timeline"]["events"]:
            self.day[moment["type"]].append((moment["time_s"], moment["event"]))
        self.now_s = 0
        self.rank = -1
        self.living: Counter[tuple[str, str]] = Counter()
        self.living_by_market: Counter[str] = Counter()
        self.quiet = True  # until the first hibernation
        self.markets_noted: set[str] = set()
        self.limits_noted = False
        self.first_homes: dict[str, set[str]] = defaultdict(set)
        self.unmentioned = self._find_first_homes()
        self.handlers: dict[str, Callable[[_Event, VmBook], None]] = {
            "ready": self._ready,
            "start": self._start,
            "finish": self._finish,
            "hibernate": self._hibernate,
            "resume": self._resume,
            "trigger-set": self._trigger_set,
            "trigger": self._trigger,
            "steal-attempt": self._steal_attempt,
            "stranded": self._stranded,
            "cycle-end": self._cycle_end,
            "terminate": self._terminate,
        }

    def report(self) -> AuditReport:
        """Go through the events, then the end."""
        for event in self.trace.events:
            self._event(event)
        cost, vm_costs = self._end()
        figures, last = self.figures, self.now_s
        self.findings += figure_findings(figures, self.trace.end, float(cost), last)
        self._note_lateness()
        makespan = figures.last_finish_s if figures.finished == figures.n_tasks else None
        return AuditReport(tuple(self.findings), float(cost), makespan, tuple(self.notes), vm_costs)

    def _find(self, rule: str, where: str, amount: float | Fraction, unit: str, message: str) -> None:
        assert rule in RULES
        self.findings.append(Finding(rule, where, float(amount), unit, message))

    def _find_first_homes(self) -> int:
        """Find where each task is in the plan: what happens to it first tells; return how many are never told of."""
        for event in self.trace.events:
            kind = event["event"]
            home = event["vm"] if kind == "start" else event["from"] if kind in ("migrate", "steal") else None
            book = self.tasks.get(event["task"]) if home is not None else None
            if book is not None and book.home is None and home is not None:
                book.home = home
                self.first_homes[home].add(event["task"])
        return sum(book.home is None for book in self.tasks.values())

    # ------------------------------------------------------------------ events

    def _event(self, event: _Event) -> None:
        kind, now = event["event"], event["t"]
        if now < self.now_s:
            early = self.now_s - now
            self._find("order", "", early, "s", f"{_told(event)} is told after what happens at {self.now_s} s")
        elif now > self.now_s:
            self.now_s, self.rank = now, -1
        figures = self.figures
        if figures.finished == figures.n_tasks and (kind != "terminate" or now > figures.last_finish_s):
            late = max(now - figures.last_finish_s, 1)
            message = f"{_told(event)}, after the bag has ended at {figures.last_finish_s} s"
            self._find("bill", event.get("vm", ""), late, "s", message)
        if kind in _DECISIONS and self.rank < 0:
            self._check_cause(event)
        if kind == "launch":
            self._launch(event)
        elif kind == "migrate":
            self._migrate(event)
        elif kind == "steal":
            self._steal(event)
        else:
            vm = self._vm(event, event["vm"])
            if vm is not None:
                rank = RANKS.get(kind, -1)
                if rank >= 0:
                    self._check_order(event, vm, rank)
                self._catch_up(vm, now, rank if kind in ("trigger", "cycle-end") else -1)
                self.handlers[kind](event, vm)

    def _check_order(self, event: _Event, vm: VmBook, rank: int) -> None:
        """At equal times, what happens by itself stands in the fixed order."""
        kind, now = event["event"], event["t"]
        # What follows at once from something else of this moment has no place of its own.
        follows = {
            "ready": vm.launched_s,
            "hibernate": vm.ready_s,
            "resume": vm.hibernated_since_s if vm.state == "hibernated" else None,
            "trigger": vm.trigger_set_s,
        }
        if now < self.now_s:
            return
        if follows.get(kind) == now:
            self.rank = max(self.rank, 0)
            return
        if rank < self.rank:
            before = next(name for name, other in RANKS.items() if other == self.rank)
            message = f"{_told(event)} stands after a {before} of the same moment"
            self._find("order", vm.name, 1, "events", message)
        self.rank = max(self.rank, rank)

    def _check_cause(self, event: _Event) -> None:
        """A decision is taken at a moment at which something happens; VMs of the plan are launched at the start.

        When nothing can happen any more and tasks are left, the VMs end.
        """
        kind, now, end = event["event"], event["t"], self.trace.end
        planned = kind == "launch" and now == 0 and self.quiet
        gives_up = kind == "terminate" and now == end["t"] and self.figures.finished < self.figures.n_tasks
        if not (planned or gives_up or now < self.now_s):
            self._find(
                "order", event.get("vm", ""), 1, "events", f"{_told(event)}: nothing happens then that led to it"
            )

    def _catch_up(self, vm: VmBook, now: int, rank: int) -> None:
        """Find what the VM should have done by now: of the same moment, what comes before a rank."""
        while vm.met < len(vm.expected):
            due = vm.expected[vm.met]
            if (due.time_s, RANKS[due.kind]) >= (now, rank):
                return
            vm.met += 1
            message = f"{vm.name} does not {due.kind} at {due.time_s} s, as {vm.type.name} VMs do"
            self._find("timeline", vm.name, 1, "events", message)

    def _vm(self, event: _Event, name: str) -> VmBook | None:
        vm = self.vms.get(name)
        if vm is None:
            self._find("vm", name, 1, "VMs", f"{_told(event)}: no VM {name!r} has been launched")
        elif vm.state == "terminated":
            self._find("state", name, 1, "events", f"{_told(event)}: {name} was terminated at {vm.terminated_s} s")
            return None
        return vm

    def _in_state(self, event: _Event, vm: VmBook, *states: str) -> bool:
        if vm.state in states:
            return True
        self._find("state", vm.name, 1, "events", f"{_told(event)}: {vm.name} is {vm.state}")
        return False

    # --------------------------------------------------------------------- VMs

    def _launch(self, event: _Event) -> None:
        name, market, now = event["vm"], event["market"], event["t"]
        vm_type = self.facts.types.get(event["type"])
        if name in self.vms:
            self._find("vm", name, 1, "VMs", f"{_told(event)}: there is a VM of this name already")
            return
        if vm_type is None:
            self._find("vm", name, 1, "VMs", f"{_told(event)}: unknown type {event['type']!r}")
            return
        if market not in vm_type.limits:
            self._find("vm", name, 1, "VMs", f"{_told(event)}: no {market} offer for {vm_type.name}")
        planned = now == 0 and self.quiet
        vm = self.vms[name] = VmBook(name, vm_type, market, now)
        vm.tasks |= self.first_homes.get(name, set())
        vm.first_start_uptime_s = 0 if planned else max(self.facts.migration_s - self.facts.boot_s, 0)
        self.figures.on_demand_started += market == "on-demand" and not planned
        self._check_limits(event, vm, planned)

    def _check_limits(self, event: _Event, vm: VmBook, planned: bool) -> None:
        market, name = vm.market, vm.type.name
        self.living[name, market] += 1
        self.living_by_market[market] += 1
        limit, cap = vm.type.limits.get(market), self.facts.market_limits[market]
        if limit is not None and self.living[name, market] > limit:
            over = self.living[name, market] - limit
            message = f"{_told(event)}: {over + limit} {name} {market} VMs, {over} over the limit of {limit}"
            self._over_limit(vm.name, over, message)
        if cap is not None and self.living_by_market[market] > cap:
            over = self.living_by_market[market] - cap
            message = f"{_told(event)}: {over + cap} {market} VMs, {over} over the limit of {cap}"
            self._over_limit(vm.name, over, message)
        if market not in self.facts.markets:
            if planned:
                message = f"{_told(event)}: the instance does not allow the {market} market"
                self._over_limit(vm.name, 1, message)
            elif market not in self.markets_noted:
                self.markets_noted.add(market)
                self.notes.append(f"{market} VMs are started during the day; the instance allows none in its plans")

    def _over_limit(self, vm: str, over: int, message: str) -> None:
        """More VMs than allowed: in the on-demand baseline, which is only a price to compare with, worth a note."""
        if self.run["hibernation"]:
            self._find("limit", vm, over, "VMs", message)
        elif not self.limits_noted:
            self.limits_noted = True
            self.notes.append(f"the on-demand baseline does not keep to the limits: {message}")

    def _ready(self, event: _Event, vm: VmBook) -> None:
        now = event["t"]
        if not self._in_state(event, vm, "launching"):
            return
        off = now - vm.launched_s - self.facts.boot_s
        if off:
            when = "late" if off > 0 else "early"
            message = f"{_told(event)}, {abs(off)} s too {when}: launched at {vm.launched_s} s"
            self._find("ready", vm.name, abs(off), "s", message)
        vm.make_ready(now)
        if vm.market == "spot" and self.run["hibernation"]:
            vm.expected = expected_day(self.day.get(vm.type.name, ()), now)
        self._may_be_idle(vm, now)

    def _hibernate(self, event: _Event, vm: VmBook) -> None:
        self.figures.hibernations += 1
        self.quiet = False
        self._check_day(event, vm)
        if not self._in_state(event, vm, "up"):
            return
        now = event["t"]
        self._no_longer_idle(vm, now)
        vm.hibernate(now)
        uptime = vm.uptime_s(now)
        for run in vm.runs.values():
            if run.due_uptime_s <= uptime:
                over = max(uptime - run.due_uptime_s, 1)
                message = (
                    f"task {run.task!r} still runs when {vm.name} hibernates at {now} s; it was due {over} s before"
                )
                self._find("run-time", run.task, over, "s", message)

    def _resume(self, event: _Event, vm: VmBook) -> None:
        self.figures.resumes += 1
        self._check_day(event, vm)
        if not self._in_state(event, vm, "hibernated"):
            return
        self._check_missed_trigger(vm, event["t"])
        vm.trigger_at_s = None
        vm.resume(event["t"])
        self._may_be_idle(vm, event["t"])

    def _check_day(self, event: _Event, vm: VmBook) -> None:
        """A hibernation or resume is the next one of the VM's day."""
        kind, now = event["event"], event["t"]
        if vm.met < len(vm.expected):
            due = vm.expected[vm.met]
            if (due.time_s, due.kind) == (now, kind):
                vm.met += 1
                return
        if not self.run["hibernation"]:
            reason = "the run has no hibernations"
        elif vm.market != "spot":
            reason = f"it is an {vm.market} VM"
        else:
            reason = f"nothing of the kind happens to {vm.type.name} VMs then"
        self._find("timeline", vm.name, 1, "events", f"{_told(event)}, but {reason}")

    def _trigger_set(self, event: _Event, vm: VmBook) -> None:
        now, at = event["t"], event["at_s"]
        if not self._in_state(event, vm, "hibernated"):
            return
        self._check_missed_trigger(vm, now)
        if at < now:
            self._find("trigger", vm.name, now - at, "s", f"{_told(event)} to {at} s, which is past")
        vm.trigger_at_s, vm.trigger_set_s = at, now

    def _trigger(self, event: _Event, vm: VmBook) -> None:
        now, at = event["t"], vm.trigger_at_s
        if not self._in_state(event, vm, "hibernated"):
            return
        if at is None:
            self._find("trigger", vm.name, 1, "events", f"{_told(event)}, but none is set")
        elif at != now:
            self._find("trigger", vm.name, abs(now - at), "s", f"{_told(event)}, but it is set to {at} s")
        vm.trigger_at_s = None

    def _check_missed_trigger(self, vm: VmBook, now: int) -> None:
        at = vm.trigger_at_s
        if at is not None and at < now:
            message = f"the migration trigger of {vm.name}, set to {at} s, has not been reached by {now} s"
            self._find("trigger", vm.name, now - at, "s", message)

    def _cycle_end(self, event: _Event, vm: VmBook) -> None:
        now = event["t"]
        if not self._in_state(event, vm, "up"):
            return
        uptime, cycle = vm.uptime_s(now), self.facts.cycle_s
        off = min(uptime % cycle, -uptime % cycle) if uptime else cycle
        if off:
            message = f"{_told(event)}, {off} s off the end of a cycle of {cycle} s (uptime {uptime} s)"
            self._find("cycle-end", vm.name, off, "s", message)
        if vm.runs:
            message = f"{_told(event)}: it is not idle, {len(vm.runs)} of its cores are busy"
            self._find("cycle-end", vm.name, len(vm.runs), "cores", message)
        if uptime == vm.told_cycle_uptime_s:
            self._find("cycle-end", vm.name, 1, "events", f"{_told(event)} is told twice")
        vm.told_cycle_uptime_s = uptime
        vm.idle_since_uptime_s = None

    def _may_be_idle(self, vm: VmBook, now: int) -> None:
        """Note that a VM has nothing left to do; tasks that the events never name may wait on any VM."""
        if not vm.tasks and vm.state == "up" and not self.unmentioned:
            vm.idle_since_uptime_s = vm.uptime_s(now)

    def _no_longer_idle(self, vm: VmBook, now: int) -> None:
        """Find an end of the cycle that a VM has passed while it was idle."""
        since, cycle = vm.idle_since_uptime_s, self.facts.cycle_s
        vm.idle_since_uptime_s = None
        if since is None:
            return
        boundary, uptime = max(-(-since // cycle), 1) * cycle, vm.uptime_s(now)
        if boundary < uptime:
            message = f"{vm.name} is idle at the end of its cycle (uptime {boundary} s), which is not told"
            self._find("cycle-end", vm.name, 1, "events", message)

    def _terminate(self, event: _Event, vm: VmBook) -> None:
        now = event["t"]
        self._no_longer_idle(vm, now)
        self._check_missed_trigger(vm, now)
        due = vm.launched_s + self.facts.boot_s
        if vm.state == "launching" and now > due:
            message = f"{_told(event)}: it has never been ready, which was due at {due} s"
            self._find("ready", vm.name, now - due, "s", message)
        if vm.state == "up":
            for task in vm.runs:
                left = vm.runs[task].due_uptime_s - vm.uptime_s(now)
                self._find("state", task, max(left, 1), "s", f"{_told(event)} while task {task!r} runs there")
        self.living[vm.type.name, vm.market] -= 1
        self.living_by_market[vm.market] -= 1
        vm.terminate(now)

    # ------------------------------------------------------------------- tasks

    def _task(self, event: _Event) -> _TaskBook | None:
        name = event["task"]
        book = self.tasks.get(name)
        if book is None:
            self._find("task-once", name, 1, "tasks", f"{_told(event)}: task {name!r} is not in the instance")
        elif book.finished:
            self._find("task-once", name, 1, "tasks", f"{_told(event)}: task {name!r} has finished before")
            return None
        return book

    def _start(self, event: _Event, vm: VmBook) -> None:
        name, core, now, mode = event["task"], event["core"], event["t"], event.get("mode")
        book = self._task(event)
        if book is None:
            return
        if book.running_on is not None:
            self._find("task-once", name, 1, "tasks", f"{_told(event)}: it is on a core of {book.running_on} already")
            self._drop_run(name, book)
        if book.home != vm.name:
            self._find("placement", name, 1, "tasks", f"{_told(event)}: task {name!r} belongs to {book.home}")
            self._move(name, book, vm.name)
        if self._in_state(event, vm, "up") and vm.uptime_s(now) < vm.first_start_uptime_s:
            early = vm.first_start_uptime_s - vm.uptime_s(now)
            message = f"{_told(event)}, {early} s before tasks can have been moved to this new VM"
            self._find("ready", name, early, "s", message)
        self._check_core(event, vm)
        self._check_mode(event, vm, name, mode)
        if book.mode is not None and mode != book.mode:
            self._find("placement", name, 1, "tasks", f"{_told(event)} in {mode} mode; it came in {book.mode} mode")
        self._check_saved(event, book)
        work = self.facts.work(name, vm.type, vm.market, mode, book.saved)
        stated = event["duration_s"]
        if work is None:
            message = f"{_told(event)}: task {name!r} cannot run on {vm.type.name}"
            self._find("placement", name, 1, "tasks", message)
            work = Work(Fraction(stated), 0, stated, _FULL_SPEED)
        elif stated != work.duration_s:
            message = f"{_told(event)} for {stated} s, it takes {work.duration_s} s there"
            self._find("run-time", name, abs(stated - work.duration_s), "s", message)
        need_kb = self.facts.memory_kb(name)
        vm.begin(RunBook(name, core, vm.uptime_s(now), work, mode != "baseline", need_kb), now)
        book.running_on = vm.name
        if vm.used_kb > vm.type.memory_kb:
            self._check_memory(event, vm)

    def _check_memory(self, event: _Event, vm: VmBook) -> None:
        """What runs from now on fits together; a task that is due now has its memory until now."""
        uptime = vm.uptime_s(event["t"])
        used_kb = sum(run.memory_kb for run in vm.runs.values() if run.due_uptime_s > uptime)
        if used_kb > vm.type.memory_kb:
            over = (used_kb - vm.type.memory_kb) / 1024
            need, size = used_kb / 1024, vm.type.memory_kb / 1024
            message = f"{_told(event)}: {vm.name} needs {need:.3f} MB, {over:.3f} MB over its {size:.3f} MB"
            self._find("memory", vm.name, over, "MB", message)

    def _check_core(self, event: _Event, vm: VmBook) -> None:
        core = event["core"]
        if core >= vm.type.vcpus:
            over = core - vm.type.vcpus + 1
            message = f"{_told(event)} on core {core}; {vm.name} has cores 0 to {vm.type.vcpus - 1}"
            self._find("placement", event["task"], over, "cores", message)
        other = vm.cores.get(core)
        if other is not None:
            left = max(vm.runs[other].due_uptime_s - vm.uptime_s(event["t"]), 1)
            message = f"{_told(event)} on core {core} of {vm.name}, which task {other!r} has for {left} s more"
            self._find("core", vm.name, left, "s", message)

    def _check_mode(self, event: _Event, vm: VmBook, task: str, mode: str | None) -> None:
        if mode is None and vm.type.credits is not None:
            self._find("placement", task, 1, "tasks", f"{_told(event)} in no mode; {vm.type.name} is burstable")
        elif mode is not None and vm.type.credits is None:
            self._find("placement", task, 1, "tasks", f"{_told(event)} in {mode} mode; {vm.type.name} is not burstable")

    def _check_saved(self, event: _Event, book: _TaskBook) -> None:
        if not (event.get("saved") or book.saved):
            return
        stated = exact(event.get("saved") or 0)
        off = abs(stated - book.saved)
        if off > _SAVED_TOLERANCE:
            name = event["task"]
            message = f"{_told(event)} with {float(stated):.9g} of task {name!r} saved; it is {float(book.saved):.9g}"
            self._find("saved", name, off, "of the task", message)

    def _finish(self, event: _Event, vm: VmBook) -> None:
        name, core, now = event["task"], event["core"], event["t"]
        book = self._task(event)
        if book is None:
            return
        if book.running_on != vm.name:
            where = "does not run" if book.running_on is None else f"runs on {book.running_on}"
            self._find("task-once", name, 1, "tasks", f"{_told(event)} on {vm.name}, but it {where}")
            if book.running_on is not None:
                self._drop_run(name, book)
        else:
            self._in_state(event, vm, "up")
            run = vm.runs[name]
            if run.core != core:
                message = f"{_told(event)} on core {core}, but it runs on core {run.core}"
                self._find("placement", name, abs(run.core - core), "cores", message)
            off = vm.uptime_s(now) - run.due_uptime_s
            if off:
                when = "late" if off > 0 else "early"
                message = f"{_told(event)}, {abs(off)} s too {when}: it takes {run.work.duration_s} s"
                self._find("run-time", name, abs(off), "s", message)
            vm.leave(name, now)
            if vm.market == "spot":
                self.figures.checkpoints += run.work.count
        self._move(name, book, None)
        book.running_on, book.finished = None, True
        book.late_by_s = max(now - self.facts.deadline_s, 0)
        figures = self.figures
        figures.finished += 1
        figures.late_tasks += book.late_by_s > 0
        figures.last_finish_s = max(figures.last_finish_s, now)
        self._may_be_idle(vm, now)

    def _drop_run(self, name: str, book: _TaskBook) -> RunBook | None:
        """End the run of a task wherever it is."""
        vm = self.vms[book.running_on] if book.running_on is not None else None
        book.running_on = None
        return None if vm is None else vm.leave(name, self.now_s)

    def _move(self, name: str, book: _TaskBook, to: str | None) -> None:
        """Let a task belong to another VM, or to none."""
        source = self.vms.get(book.home) if book.home is not None else None
        if source is not None:
            source.tasks.discard(name)
        book.home = to
        target = self.vms.get(to) if to is not None else None
        if target is not None:
            self._no_longer_idle(target, self.now_s)
            target.tasks.add(name)

    # ------------------------------------------------------------------- moves

    def _moved(self, event: _Event, rule: str) -> tuple[_TaskBook, VmBook, VmBook] | None:
        """What a migration or steal is about, if it can be told."""
        book = self._task(event)
        source, target = self._vm(event, event["from"]), self._vm(event, event["to"])
        if book is None or source is None or target is None:
            return None
        for vm in (source, target):
            self._catch_up(vm, event["t"], -1)
        name = event["task"]
        if book.home != source.name:
            self._find(rule, name, 1, "tasks", f"{_told(event)}: task {name!r} belongs to {book.home}")
        self._check_mode(event, target, name, event.get("mode"))
        if source is target:
            self._find(rule, name, 1, "tasks", f"{_told(event)}: that is no move")
        book.mode = event.get("mode")
        return book, source, target

    def _migrate(self, event: _Event) -> None:
        moved = self._moved(event, "migration")
        self.figures.migrations[event["kind"]] += 1
        if moved is None:
            return
        book, source, target = moved
        name, now = event["task"], event["t"]
        if source.state != "hibernated":
            self._find("migration", name, 1, "tasks", f"{_told(event)}: {source.name} is {source.state}")
        if target.state == "hibernated":
            self._find("migration", name, 1, "tasks", f"{_told(event)}: {target.name} is hibernated")
        self._check_kind(event, target)
        recovered = False
        if book.running_on is not None:
            runner = self.vms[book.running_on]
            done, fraction, work_s = self._checkpoints_done(runner, runner.runs[name], now)
            self.figures.checkpoints += done
            self._drop_run(name, book)
            if done:
                book.saved += fraction
                self.figures.cpu_time_saved_s += work_s
            recovered = book.saved > 0
            self.figures.recoveries += recovered
        if bool(event.get("recovered")) != recovered:
            message = f"{_told(event)}: it {'goes' if recovered else 'does not go'} on from a checkpoint"
            self._find("saved", name, 1, "tasks", message)
        self._check_saved(event, book)
        book.moved_late = book.moved_late or bool(event.get("late"))
        self._move(name, book, target.name)

    def _checkpoints_done(self, vm: VmBook, run: RunBook, now: int) -> tuple[int, Fraction, Fraction]:
        """Checkpoints that a run has written; the fraction of the task and the work that they save."""
        rules = self.facts.interval_and_dump_s(run.task) if vm.market == "spot" else None
        runtime = self.facts.runtime_s(run.task, vm.type.name)
        if rules is None or not run.work.count or runtime is None:
            return 0, Fraction(0), Fraction(0)
        interval, dump = rules
        elapsed = vm.uptime_s(now) - run.started_uptime_s
        done = min(run.work.count, int((elapsed * run.work.speed + NOISE) / (interval + dump)))
        return done, done * interval / runtime, done * interval

    def _check_kind(self, event: _Event, target: VmBook) -> None:
        """Whether the target of a migration is idle, busy or new; the tasks of a moment may go there one by one."""
        kind, now = event["kind"], event["t"]
        empty = not target.tasks
        fits = {
            "new": target.launched_s == now or (target.state == "launching" and empty),
            "idle": target.state == "up" and (empty or target.filled_s == now),
            "busy": bool(target.tasks) or self.unmentioned > 0,
        }
        if not fits[kind]:
            state = f"{target.state}, launched at {target.launched_s} s, with {len(target.tasks)} unfinished tasks"
            message = f"{_told(event)} is told as of kind {kind!r}; the target is {state}"
            self._find("migration", event["task"], 1, "tasks", message)
        if empty:
            target.filled_s = now

    def _steal(self, event: _Event) -> None:
        self.figures.tasks_stolen += 1
        moved = self._moved(event, "steal")
        if moved is None:
            return
        book, source, target = moved
        name, now = event["task"], event["t"]
        if source.state != "up":
            self._find("steal", name, 1, "tasks", f"{_told(event)}: {source.name} is {source.state}")
        if book.running_on is not None:
            self._find("steal", name, 1, "tasks", f"{_told(event)}: it runs on {book.running_on}")
            self._drop_run(name, book)
        if target.state != "up":
            self._find("steal", name, 1, "tasks", f"{_told(event)}: {target.name} is {target.state}")
        elif target.busy_at(now):
            self._find("steal", name, len(target.runs), "cores", f"{_told(event)}: {target.name} is not idle")
        target.stolen += 1
        self._move(name, book, target.name)
        self._may_be_idle(source, now)

    def _steal_attempt(self, event: _Event, vm: VmBook) -> None:
        stolen = event["stolen"]
        self.figures.steal_attempts += 1
        self.figures.steals += stolen > 0
        self._in_state(event, vm, "up")
        if stolen != vm.stolen:
            message = f"{_told(event)} of {stolen} tasks; there were {vm.stolen}"
            self._find("steal", vm.name, abs(stolen - vm.stolen), "tasks", message)
        own = len(vm.tasks) - vm.stolen
        if own > 0:
            self._find("steal", vm.name, own, "tasks", f"{_told(event)}: it is not idle, it has tasks of its own")
        vm.stolen = 0

    def _stranded(self, event: _Event, vm: VmBook) -> None:
        told, known = event["tasks"], len(vm.tasks)
        if not self._in_state(event, vm, "hibernated"):
            return
        off = max(known - told, told - known - self.unmentioned, 0)
        if off:
            message = f"{_told(event)}: {told} tasks; {known} are there"
            self._find("migration", vm.name, off, "tasks", message)

    # --------------------------------------------------------------------- end

    def _end(self) -> tuple[Fraction, dict[str, float]]:
        """Close the books of the VMs and of the tasks."""
        end, figures = self.trace.end["t"], self.figures
        over = figures.last_finish_s if figures.finished == figures.n_tasks else end
        rate = exact(self.run["billing"]["hibernated_usd_per_gb_hour"]) / 3600
        total, costs = Fraction(0), {}
        for vm in self.vms.values():
            if vm.state != "terminated":
                amount = max(end - over, 1)
                self._find("bill", vm.name, amount, "s", f"{vm.name} is never terminated")
                self._catch_up(vm, end, -1)
                vm.terminate(max(end, self.now_s))
            if vm.stolen:
                message = f"{vm.name} has stolen {vm.stolen} tasks in an attempt that is not told"
                self._find("steal", vm.name, vm.stolen, "tasks", message)
            if vm.lacking > _CREDIT_TOLERANCE:
                lacking = float(vm.lacking)
                message = (
                    f"{vm.name} lacks {lacking:.6f} credits for its tasks at full speed, the first by "
                    f"{vm.lacking_at_s} s"
                )
                self._find("credits", vm.name, lacking, "credits", message)
            for run in vm.runs.values():  # on VMs that never resumed
                figures.checkpoints += self._checkpoints_done(vm, run, end)[0]
            cost = vm.cost_usd(self.run["billing"], rate)
            total += cost
            costs[vm.name] = float(cost)
        self._check_unfinished()
        return total, costs

    def _check_unfinished(self) -> None:
        listed = Counter(self.trace.end["unfinished"])
        for name, book in self.tasks.items():
            if not book.finished and name not in listed:
                message = f"task {name!r} is lost: it has not finished and is not listed as unfinished"
                self._find("task-once", name, 1, "tasks", message)
        for name, count in listed.items():
            known = self.tasks.get(name)
            if known is None:
                message = f"task {name!r}, listed as unfinished, is not in the instance"
                self._find("task-once", name, 1, "tasks", message)
            elif known.finished:
                self._find("task-once", name, 1, "tasks", f"task {name!r} has finished, but is listed as unfinished")
            if count > 1:
                message = f"task {name!r} is listed as unfinished {count} times"
                self._find("task-once", name, count - 1, "tasks", message)

    def _note_lateness(self) -> None:
        late = [book.late_by_s for book in self.tasks.values() if book.late_by_s]
        deadline = self.facts.deadline_s
        if late:
            self.notes.append(
                f"{counted(len(late), 'task')} late for the deadline ({deadline} s), by up to {max(late)} s"
            )
        unfinished = sum(not book.finished for book in self.tasks.values())
        if unfinished:
            self.notes.append(f"{counted(unfinished, 'task')} unfinished")
        given_up = [book for book in self.tasks.values() if book.moved_late]
        if given_up:
            in_time = sum(book.finished and not book.late_by_s for book in given_up)
            self.notes.append(
                f"{counted(len(given_up), 'task')} migrated too late to count on the deadline; {in_time} of them met it"
            )


def _told(event: _Event) -> str:
    """Name an event in messages."""
    kind, moment = event["event"], f"{event['t']} s"
    if kind in ("migrate", "steal"):
        return f"{kind} of {event['task']!r} from {event['from']} to {event['to']} at {moment}"
    if "task" in event:
        return f"{kind} of {event['task']!r} on {event['vm']} at {moment}"
    return f"{kind} of {event['vm']} at {moment}"


__all__ = ["RULES", "AuditReport", "Finding", "audit", "audit_traces"]
