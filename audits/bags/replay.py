"""The audit of a replay of a plan: its timetable, hibernations, triggers, migrations, steals, checkpoints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from ...core.wording import counted
from ...traces.trace import Trace
from ..facts import NOISE, InstanceFacts, TypeFacts
from ..vm_audit import Audit, Event, TaskBook, described
from ..vm_books import RANKS, RunBook, VmBook, expected_day
from .timetable import Slot, Timetable


@dataclass(frozen=True, slots=True)
class PlannedVm:
    """A VM of the plan."""

    type: TypeFacts
    market: str
    slots: list[Slot]


class PlanAudit(Audit):
    """The audit of a replay of a plan."""

    decisions = frozenset({"launch", "trigger-set", "migrate", "steal", "steal-attempt", "stranded", "terminate"})

    def __init__(self, trace: Trace, facts: InstanceFacts) -> None:
        super().__init__(trace, facts)
        self.day: dict[str, list[tuple[int, str]]] = defaultdict(list)
        self._read_day()
        self.limits_noted = False
        self.planned: dict[str, PlannedVm] = {}
        self._read_plan()
        self.timetables: dict[str, Timetable] = {}  # of the VMs that have been launched
        self.disturbed: list[VmBook] = []  # whose tasks move up before anything else happens, in this order
        self.handlers: dict[str, Callable[[Event, VmBook], None]] = {
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
            "idle-limit": self._idle_limit,
            "terminate": self._terminate,
        }

    # ----------------------------------------------------------- what is given

    def _read_day(self) -> None:
        """Find what cannot be true of the timeline: types hibernate and resume in turn, at different times."""
        before_s, last = 0, dict[str, tuple[int, str]]()
        moments = self.run["timeline"]["events"]
        if moments and not self.run["hibernation"]:
            message = f"the timeline has {counted(len(moments), 'event')}, but the run has no hibernations"
            self._find("timeline", "", len(moments), "events", message)
        for moment in moments:
            time_s, name, kind = moment["time_s"], moment["type"], moment["event"]
            said, vm_type = f"the timeline says {kind} of {name} at {time_s} s", self.facts.types.get(name)
            if vm_type is None or "spot" not in vm_type.limits:
                self._find("timeline", name, 1, "events", f"{said}; the instance has no spot VMs of this type")
            if time_s < before_s:
                self._find("timeline", name, before_s - time_s, "s", f"{said}, after an event at {before_s} s")
            at_s, before = last.get(name, (-1, "resume"))
            if kind == before:
                since = f"after {before} at {at_s} s" if at_s >= 0 else "though it has not hibernated"
                self._find("timeline", name, 1, "events", f"{said}, {since}")
            elif time_s == at_s:
                self._find("timeline", name, 1, "events", f"{said}, and {before} at the same time")
            before_s, last[name] = max(before_s, time_s), (time_s, kind)
            self.day[name].append((time_s, kind))

    def _read_plan(self) -> None:
        """Find what cannot be true of the plan; note where it has each task."""
        for record in self.run["plan"]:
            name, market, vm_type = record["vm"], record["market"], self.facts.types.get(record["type"])
            if name in self.planned:
                self._find("plan", name, 1, "VMs", f"the plan has more than one VM {name!r}")
                continue
            if vm_type is None or market not in vm_type.limits:
                self._find("plan", name, 1, "VMs", f"VM {name!r} of the plan: no {market} offer for {record['type']}")
                continue
            if len(record["cores"]) != vm_type.vcpus:
                off = abs(len(record["cores"]) - vm_type.vcpus)
                message = f"VM {name!r} of the plan has {len(record['cores'])} cores, {vm_type.name} {vm_type.vcpus}"
                self._find("plan", name, off, "cores", message)
            vm = self.planned[name] = PlannedVm(vm_type, market, [])
            for core, entries in enumerate(record["cores"][: vm_type.vcpus]):
                free_s = self.facts.boot_s
                for entry in entries:
                    free_s = self._read_planned(name, vm, core, entry, free_s)
        for name, book in self.tasks.items():
            if book.home is None:
                self._find("plan", name, 1, "tasks", f"task {name!r} is not in the plan")

    def _read_planned(self, name: str, vm: PlannedVm, core: int, entry: Event, free_s: int) -> int:
        """Enter a task of the plan; return when its core is free again."""
        task, start_s, mode = entry["task"], int(entry["start_s"]), entry.get("mode")
        book, said = self.tasks.get(task), f"task {task!r} on {name} in the plan"
        if book is None or book.home is not None:
            reason = "is not in the instance" if book is None else f"is there already, on {book.home}"
            self._find("plan", task, 1, "tasks", f"{said}: it {reason}")
            return free_s
        book.home, book.mode = name, mode
        if (mode is None) != (vm.type.credits is None):
            burstable = "burstable" if vm.type.credits is not None else "not burstable"
            self._find("plan", task, 1, "tasks", f"{said} in {mode or 'no'} mode; {vm.type.name} is {burstable}")
        work = self.facts.work(task, vm.type, vm.market, mode, Fraction(0))
        if work is None:
            self._find("plan", task, 1, "tasks", f"{said}: it cannot run there")
            return free_s
        if start_s < free_s:
            message = f"{said} starts at {start_s} s, {free_s - start_s} s before its core is free"
            self._find("plan", task, free_s - start_s, "s", message)
        start = start_s - self.facts.boot_s
        vm.slots.append(Slot(task, core, start, start + work.duration_s, self.facts.memory_kb(task)))
        return start_s + work.duration_s

    # ------------------------------------------------------------------ events

    def _handle(self, event: Event) -> None:
        kind, now = event["event"], event["t"]
        if kind in RANKS:
            self._move_up()
        if kind == "launch":
            self._launch(event)
        elif kind == "migrate":
            self._migrate(event)
        elif kind == "steal":
            self._steal(event)
        else:
            vm = self._vm(event, event["vm"])
            if vm is not None:
                if kind in RANKS:
                    follows = {
                        "ready": vm.launched_s,
                        "hibernate": vm.ready_s,
                        "resume": vm.hibernated_since_s if vm.state == "hibernated" else None,
                        "trigger": vm.trigger_set_s,
                    }
                    self._check_order(event, vm.name, follows.get(kind))
                self._catch_up(vm, now, RANKS[kind] if kind in ("trigger", "cycle-end", "idle-limit") else -1)
                if vm.state == "up":
                    self._check_missed_starts(vm, vm.uptime_s(now))
                self.handlers[kind](event, vm)

    def _launched_at_first(self, event: Event) -> bool:
        return event["vm"] in self.planned

    def _may_give_up(self, now: int) -> bool:
        """What hibernates and resumes on a day is waited for, and a VM that is terminated before it is ready."""
        if self.figures.finished == self.figures.n_tasks:
            return False
        happens = {moment["time_s"] for moment in self.run["timeline"]["events"]}
        return now in happens | {vm.launched_s + self.facts.boot_s for vm in self.vms.values() if vm.ready_s is None}

    def _moment_ends(self) -> None:
        self._move_up()

    def _move_up(self, until: VmBook | None = None) -> None:
        """Let what waits move up where tasks have been stolen: everywhere, or until it is a VM's turn."""
        if until is not None and until not in self.disturbed:
            return
        while self.disturbed:
            vm = self.disturbed.pop(0)
            if vm.state == "up":
                self.timetables[vm.name].move_up(vm.runs.values(), self._starts_from_s(vm, self.now_s))
            if vm is until:
                return

    def _starts_from_s(self, vm: VmBook, now: int) -> int:
        """Uptime from which tasks can start on a VM."""
        return max(vm.uptime_s(now), vm.first_start_uptime_s)

    def _check_missed_starts(self, vm: VmBook, until_uptime_s: int) -> None:
        """Find tasks that should have started on a VM that is up."""
        for slot in self.timetables[vm.name].due(until_uptime_s):
            message = f"task {slot.task!r} does not start on {vm.name} when it has been up for {slot.start_s} s"
            self._find("timetable", slot.task, until_uptime_s - slot.start_s, "s", message)

    def _catch_up(self, vm: VmBook, now: int, rank: int) -> None:
        """Find what the VM should have done by now: of the same moment, what comes before a rank."""
        while vm.met < len(vm.expected):
            due = vm.expected[vm.met]
            if (due.time_s, RANKS[due.kind]) >= (now, rank):
                return
            vm.met += 1
            message = f"{vm.name} does not {due.kind} at {due.time_s} s, as {vm.type.name} VMs do"
            self._find("timeline", vm.name, 1, "events", message)

    # --------------------------------------------------------------------- VMs

    def _launch(self, event: Event) -> None:
        vm = self._new_vm(event)
        if vm is None:
            return
        table = self.timetables[vm.name] = Timetable(vm.type.vcpus, vm.type.memory_kb)
        planned = self._launched_at_first(event)
        if planned:
            self._launch_planned(event, vm, table)
        vm.first_start_uptime_s = 0 if planned else max(self.facts.migration_s - self.facts.boot_s, 0)
        self.figures.on_demand_started += vm.market == "on-demand" and not planned
        self._check_limits(event, vm, planned)

    def _launch_planned(self, event: Event, vm: VmBook, table: Timetable) -> None:
        """Give a VM the tasks that the plan has on it."""
        plan, now = self.planned[vm.name], event["t"]
        if now:
            self._find("plan", vm.name, now, "s", f"{described(event)}: VMs of the plan are requested at the start")
        if (vm.type.name, vm.market) != (plan.type.name, plan.market):
            message = f"{described(event)} of type {vm.type.name} {vm.market}; in the plan it is {plan.type.name}"
            self._find("plan", vm.name, 1, "VMs", f"{message} {plan.market}")
        for slot in plan.slots:
            if slot.core < vm.type.vcpus:
                table.plan(slot)
            vm.tasks.add(slot.task)

    def _over_limit(self, vm: str, over: int, message: str) -> None:
        """In the on-demand baseline, which is only a price to compare with, that is worth a note."""
        if self.run["hibernation"]:
            super()._over_limit(vm, over, message)
        elif not self.limits_noted:
            self.limits_noted = True
            self.notes.append(f"the on-demand baseline does not keep to the limits: {message}")

    def _ready(self, event: Event, vm: VmBook) -> None:
        now = event["t"]
        if not self._check_ready(event, vm):
            return
        vm.make_ready(now)
        if vm.market == "spot" and self.run["hibernation"]:
            vm.expected = expected_day(self.day.get(vm.type.name, ()), now)
        self._may_be_idle(vm, now)

    def _hibernate(self, event: Event, vm: VmBook) -> None:
        self.figures.hibernations += 1
        self._check_day(event, vm)
        if not self._in_state(event, vm, "up"):
            return
        now = event["t"]
        if vm.ready_s != now:
            self._check_missed_starts(vm, vm.uptime_s(now) + 1)  # a start comes before a hibernation
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

    def _resume(self, event: Event, vm: VmBook) -> None:
        self.figures.resumes += 1
        self._check_day(event, vm)
        if not self._in_state(event, vm, "hibernated"):
            return
        self._check_missed_trigger(vm, event["t"])
        vm.trigger_at_s = None
        vm.resume(event["t"])
        self.timetables[vm.name].move_up(vm.runs.values(), self._starts_from_s(vm, event["t"]))
        self._may_be_idle(vm, event["t"])

    def _check_day(self, event: Event, vm: VmBook) -> None:
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
        self._find("timeline", vm.name, 1, "events", f"{described(event)}, but {reason}")

    def _trigger_set(self, event: Event, vm: VmBook) -> None:
        now, at = event["t"], event["at_s"]
        if not self._in_state(event, vm, "hibernated"):
            return
        self._check_missed_trigger(vm, now)
        if at < now:
            self._find("trigger", vm.name, now - at, "s", f"{described(event)} to {at} s, which is past")
        vm.trigger_at_s, vm.trigger_set_s = at, now

    def _trigger(self, event: Event, vm: VmBook) -> None:
        now, at = event["t"], vm.trigger_at_s
        if not self._in_state(event, vm, "hibernated"):
            return
        if at is None:
            self._find("trigger", vm.name, 1, "events", f"{described(event)}, but none is set")
        elif at != now:
            self._find("trigger", vm.name, abs(now - at), "s", f"{described(event)}, but it is set to {at} s")
        vm.trigger_at_s = None

    def _check_missed_trigger(self, vm: VmBook, now: int) -> None:
        at = vm.trigger_at_s
        if at is not None and at < now:
            message = f"the migration trigger of {vm.name}, set to {at} s, has not been reached by {now} s"
            self._find("trigger", vm.name, now - at, "s", message)

    def _cycle_end(self, event: Event, vm: VmBook) -> None:
        now = event["t"]
        if not self._in_state(event, vm, "up"):
            return
        uptime, cycle = vm.uptime_s(now), self.facts.cycle_s
        off = min(uptime % cycle, -uptime % cycle) if uptime else cycle
        if off:
            message = f"{described(event)}, {off} s off the end of a cycle of {cycle} s (uptime {uptime} s)"
            self._find("cycle-end", vm.name, off, "s", message)
        if vm.runs:
            message = f"{described(event)}: it is not idle, {len(vm.runs)} of its cores are busy"
            self._find("cycle-end", vm.name, len(vm.runs), "cores", message)
        if uptime == vm.reported_cycle_uptime_s:
            self._find("cycle-end", vm.name, 1, "events", f"{described(event)} is recorded twice")
        vm.reported_cycle_uptime_s = uptime
        vm.idle_since_uptime_s = None

    def _idle_limit(self, event: Event, vm: VmBook) -> None:
        """How long a policy keeps idle VMs is its own affair; that this one has been idle for so long is not."""
        if not self._in_state(event, vm, "up"):
            return
        if vm.tasks:
            message = f"{described(event)}: it is not idle, it has {counted(len(vm.tasks), 'task')}"
            self._find("idle-limit", vm.name, len(vm.tasks), "tasks", message)
            return
        idle_s = vm.uptime_s(event["t"]) - vm.became_idle_uptime_s
        if idle_s != event["idle_s"]:
            message = f"{described(event)}, idle for {event['idle_s']} s: it has been idle for {idle_s} s"
            self._find("idle-limit", vm.name, abs(event["idle_s"] - idle_s), "s", message)

    def _may_be_idle(self, vm: VmBook, now: int) -> None:
        """Note that a VM has nothing left to do."""
        if not vm.tasks and vm.state == "up":
            vm.idle_since_uptime_s = vm.became_idle_uptime_s = vm.uptime_s(now)

    def _no_longer_idle(self, vm: VmBook, now: int) -> None:
        """Find an end of the cycle that a VM has passed while it was idle."""
        since, cycle = vm.idle_since_uptime_s, self.facts.cycle_s
        vm.idle_since_uptime_s = None
        if since is None:
            return
        boundary, uptime = max(-(-since // cycle), 1) * cycle, vm.uptime_s(now)
        if boundary < uptime:
            message = f"{vm.name} is idle at the end of its cycle (uptime {boundary} s), which is not recorded"
            self._find("cycle-end", vm.name, 1, "events", message)

    def _terminate(self, event: Event, vm: VmBook) -> None:
        now = event["t"]
        self._no_longer_idle(vm, now)
        self._check_missed_trigger(vm, now)
        ends = now == self.trace.end["t"]
        waiting = len(vm.tasks) - (len(vm.runs) if vm.state == "up" else 0)
        if waiting and not (ends and vm.state == "hibernated"):
            message = f"{described(event)}, {vm.state}, while {counted(waiting, 'task')} wait there"
            self._find("state", vm.name, waiting, "tasks", message)
        if ends and vm.trigger_at_s is not None and self.figures.finished < self.figures.n_tasks:
            message = f"the replay ends at {now} s; the migration trigger of {vm.name} is set to {vm.trigger_at_s} s"
            self._find("trigger", vm.name, max(vm.trigger_at_s - now, 1), "s", message)
        self._end_vm(event, vm)

    # ------------------------------------------------------------------- tasks

    def _start(self, event: Event, vm: VmBook) -> None:
        name, now, mode = event["task"], event["t"], event.get("mode")
        book = self._task(event)
        if book is None:
            return
        if self._runs_already(event, book):
            self._drop_run(name, book)
        self._check_timetable(event, vm)
        if book.home != vm.name:
            self._find("placement", name, 1, "tasks", f"{described(event)}: task {name!r} belongs to {book.home}")
            self._move(name, book, vm.name)
        if self._in_state(event, vm, "up") and vm.uptime_s(now) < vm.first_start_uptime_s:
            early = vm.first_start_uptime_s - vm.uptime_s(now)
            message = f"{described(event)}, {early} s before tasks can have been moved to this new VM"
            self._find("ready", name, early, "s", message)
        self._check_core(event, vm, vm.type.vcpus)
        self._check_mode(event, vm, name, mode)
        if book.mode is not None and mode != book.mode:
            self._find("placement", name, 1, "tasks", f"{described(event)} in {mode} mode; it came in {book.mode} mode")
        self._check_saved(event, book)
        self._begin(event, vm, book, self.facts.work(name, vm.type, vm.market, mode, book.saved))

    def _check_timetable(self, event: Event, vm: VmBook) -> None:
        """A task starts when and where it is its turn."""
        self._move_up(vm)
        slot, uptime = self.timetables[vm.name].take(event["task"]), vm.uptime_s(event["t"])
        if slot is None or vm.state != "up":
            return
        off = uptime - slot.start_s
        if off and not slot.missed:
            message = f"{described(event)}, up for {uptime} s, {abs(off)} s too {'late' if off > 0 else 'early'}"
            self._find("timetable", slot.task, abs(off), "s", message)
        if slot.core != event["core"]:
            message = f"{described(event)} on core {event['core']}; it is the turn of core {slot.core}"
            self._find("timetable", slot.task, abs(slot.core - event["core"]), "cores", message)

    def _finish(self, event: Event, vm: VmBook) -> None:
        name, now = event["task"], event["t"]
        book = self._task(event)
        if book is None:
            return
        run = self._end_run(event, vm, book)
        if run is not None and vm.market == "spot":
            self.figures.checkpoints += run.work.count
        self._move(name, book, None)
        self._count_finish(book, now, self.facts.deadline_s)
        self._may_be_idle(vm, now)

    def _move(self, name: str, book: TaskBook, to: str | None) -> None:
        """Let a task belong to another VM, or to none."""
        source = self.vms.get(book.home) if book.home is not None else None
        if source is not None:
            source.tasks.discard(name)
            self.timetables[source.name].take(name)
        book.home = to
        target = self.vms.get(to) if to is not None else None
        if target is not None:
            self._no_longer_idle(target, self.now_s)
            target.tasks.add(name)

    # ------------------------------------------------------------------- moves

    def _moved(self, event: Event, rule: str) -> tuple[TaskBook, VmBook, VmBook] | None:
        """What a migration or steal is about, if that can be said."""
        book = self._task(event)
        source, target = self._vm(event, event["from"]), self._vm(event, event["to"])
        if book is None or source is None or target is None:
            return None
        for vm in (source, target):
            self._catch_up(vm, event["t"], -1)
            if vm.state == "up":
                self._check_missed_starts(vm, vm.uptime_s(event["t"]))
        name = event["task"]
        if book.home != source.name:
            self._find(rule, name, 1, "tasks", f"{described(event)}: task {name!r} belongs to {book.home}")
        self._check_mode(event, target, name, event.get("mode"))
        if source is target:
            self._find(rule, name, 1, "tasks", f"{described(event)}: that is no move")
        book.mode = event.get("mode")
        return book, source, target

    def _migrate(self, event: Event) -> None:
        moved = self._moved(event, "migration")
        self.figures.migrations[event["kind"]] += 1
        if moved is None:
            return
        book, source, target = moved
        name, now = event["task"], event["t"]
        if source.state != "hibernated":
            self._find("migration", name, 1, "tasks", f"{described(event)}: {source.name} is {source.state}")
        if target.state == "hibernated":
            self._find("migration", name, 1, "tasks", f"{described(event)}: {target.name} is hibernated")
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
            message = f"{described(event)}: it {'goes' if recovered else 'does not go'} on from a checkpoint"
            self._find("saved", name, 1, "tasks", message)
        self._check_saved(event, book)
        book.moved_late = book.moved_late or bool(event.get("late"))
        self._append(event, book, source, target)

    def _append(self, event: Event, book: TaskBook, source: VmBook, target: VmBook) -> None:
        """Let a task wait on another VM, behind all that waits there."""
        name, now = event["task"], event["t"]
        self._move(name, book, target.name)
        self.timetables[source.name].disturbed = True
        work = self.facts.work(name, target.type, target.market, book.mode, book.saved)
        if work is not None:
            need_kb, from_s = self.facts.memory_kb(name), self._starts_from_s(target, now)
            self.timetables[target.name].append(name, need_kb, work.duration_s, target.runs.values(), from_s)

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

    def _check_kind(self, event: Event, target: VmBook) -> None:
        """Whether the target of a migration is idle, busy or new."""
        kind = event["kind"]
        if kind != ("busy" if target.tasks else "new" if target.state == "launching" else "idle"):
            state = f"{target.state}, launched at {target.launched_s} s, with {len(target.tasks)} unfinished tasks"
            message = f"{described(event)} is recorded as of kind {kind!r}; the target is {state}"
            self._find("migration", event["task"], 1, "tasks", message)

    def _steal(self, event: Event) -> None:
        self.figures.tasks_stolen += 1
        moved = self._moved(event, "steal")
        if moved is None:
            return
        book, source, target = moved
        name, now = event["task"], event["t"]
        if source.state != "up":
            self._find("steal", name, 1, "tasks", f"{described(event)}: {source.name} is {source.state}")
        if book.running_on is not None:
            self._find("steal", name, 1, "tasks", f"{described(event)}: it runs on {book.running_on}")
            self._drop_run(name, book)
        if target.state != "up":
            self._find("steal", name, 1, "tasks", f"{described(event)}: {target.name} is {target.state}")
        elif target.busy_at(now):
            self._find("steal", name, len(target.runs), "cores", f"{described(event)}: {target.name} is not idle")
        target.stolen += 1
        self._move_up(target)
        self._append(event, book, source, target)
        if source not in self.disturbed:
            self.disturbed.append(source)
        self._may_be_idle(source, now)

    def _steal_attempt(self, event: Event, vm: VmBook) -> None:
        stolen = event["stolen"]
        self.figures.steal_attempts += 1
        self.figures.steals += stolen > 0
        self._in_state(event, vm, "up")
        if stolen != vm.stolen:
            message = f"{described(event)} of {stolen} tasks; there were {vm.stolen}"
            self._find("steal", vm.name, abs(stolen - vm.stolen), "tasks", message)
        own = len(vm.tasks) - vm.stolen
        if own > 0:
            self._find("steal", vm.name, own, "tasks", f"{described(event)}: it is not idle, it has tasks of its own")
        vm.stolen = 0

    def _stranded(self, event: Event, vm: VmBook) -> None:
        stays, known = event["tasks"], len(vm.tasks)
        if not self._in_state(event, vm, "hibernated"):
            return
        off = abs(known - stays)
        if off:
            message = f"{described(event)}: {stays} tasks; {known} are there"
            self._find("migration", vm.name, off, "tasks", message)

    # --------------------------------------------------------------------- end

    def _close(self, vm: VmBook) -> None:
        end = self.trace.end["t"]
        if vm.state != "terminated":
            self._catch_up(vm, end, -1)
        if vm.stolen:
            message = f"{vm.name} has stolen {vm.stolen} tasks in an attempt that is not recorded"
            self._find("steal", vm.name, vm.stolen, "tasks", message)
        for run in vm.runs.values():  # on VMs that never resumed
            self.figures.checkpoints += self._checkpoints_done(vm, run, end)[0]

    def _check_unfinished(self) -> None:
        super()._check_unfinished()
        for name, plan in self.planned.items():
            if name not in self.vms:
                message = f"VM {name!r} of the plan, with {counted(len(plan.slots), 'task')}, is never requested"
                self._find("plan", name, 1, "VMs", message)
        left = [(name, book) for name, book in self.tasks.items() if not book.finished]
        for name, book in left:
            vm = None if book.home is None else self.vms.get(book.home)
            if vm is None or vm.ended_from != "hibernated":
                was = "there is no such VM" if vm is None else f"that is {vm.ended_from} when it ends"
                message = f"task {name!r} is unfinished though its VM, {book.home}, is not hibernated: {was}"
                self._find("task-once", name, 1, "tasks", message)
        end_s, until_s = self.trace.end["t"], max((time_s for day in self.day.values() for time_s, _ in day), default=0)
        if left and end_s < until_s:
            message = f"the replay ends at {end_s} s with {counted(len(left), 'task')} unfinished; the day goes on"
            self._find("timeline", "", until_s - end_s, "s", f"{message} until {until_s} s")

    def _note_lateness(self) -> None:
        late = [book.late_by_s for book in self.tasks.values() if book.late_by_s]
        deadline = self.facts.deadline_s
        if late:
            self.notes.append(
                f"{counted(len(late), 'task')} late for the deadline ({deadline} s), by up to {max(late)} s"
            )

    def _note_more(self) -> None:
        given_up = [book for book in self.tasks.values() if book.moved_late]
        if given_up:
            in_time = sum(book.finished and not book.late_by_s for book in given_up)
            self.notes.append(
                f"{counted(len(given_up), 'task')} migrated too late to count on the deadline; {in_time} of them met it"
            )
