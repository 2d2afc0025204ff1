"""The audit of a replay of a plan: its timetable, hibernations, triggers, migrations, steals, checkpoints."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from ...core.wording import counted
from ...instances.entries import MARKETS
from ...traces.trace import Trace
from ..facts import NOISE, InstanceFacts, TypeFacts, round_up
from ..findings import Event
from ..vm_audit import TaskBook
from ..vm_books import NOTHING_SAVED, RANKS, RunBook, Saves, VmBook
from .day import RECALLED, RECORD_OF
from .seconds import SecondsAudit
from .timetable import Slot, Timetable


@dataclass(frozen=True, slots=True)
class PlannedVm:
    """A VM of the plan."""

    type: TypeFacts
    market: str
    slots: list[Slot]


class PlanAudit(SecondsAudit):
    """The audit of a replay of a plan."""

    decisions = frozenset(
        {"launch", "trigger-set", "migrate", "steal", "steal-attempt", "stranded", "preempt", "terminate"}
    )

    def __init__(self, trace: Trace, facts: InstanceFacts) -> None:
        super().__init__(trace, facts)
        self._read_day()
        self.limits_noted = False
        self.planned: dict[str, PlannedVm] = {}
        self._read_plan()

    # ----------------------------------------------------------- what is given

    def _read_day(self) -> None:
        """Report contradictions in the timeline: types are interrupted and come back in turn, at different times."""
        before_s, last = 0, dict[str, tuple[int, str, bool]]()
        disturbed = set[str]()
        moments = self.run["timeline"]["events"]
        struck = [moment for moment in moments if moment["event"] != "price"]
        if struck and not self.interrupts:
            message = f"the timeline has {counted(len(struck), 'event')}, but the run has no hibernations"
            self._find("timeline", "", message, len(struck), "events")
        ages = Counter((moment["type"], moment["vm"]) for moment in moments if moment.get("age_s") is not None)
        for (name, number), count in ages.items():
            if count > 1:
                message = f"the timeline gives {count} ages at which VM {number} of {name} is struck"
                self._find("timeline", name, message, count - 1, "events")
        for moment in moments:
            time_s, name, kind = moment["time_s"], moment["type"], moment["event"]
            said, vm_type = f"the timeline says {kind} of {name} at {time_s} s", self.facts.types.get(name)
            market = moment.get("market", "spot")
            if vm_type is None or market not in vm_type.limits:
                self._find("timeline", name, f"{said}; the instance has no {market} VMs of this type")
            if time_s < before_s:
                self._find("timeline", name, f"{said}, after an event at {before_s} s", before_s - time_s)
            before_s = max(before_s, time_s)
            # Events of single VMs change nothing for the type as a whole, but a type can be back after them.
            if kind == "price" or moment.get("vm") is not None or moment.get("share") is not None:
                if kind not in ("price", "resume"):
                    disturbed.add(name)
                continue
            # A type that is down cannot be interrupted again, and one that nothing happened to cannot come back.
            at_s, before, down = last.get(name, (-1, "resume", False))
            if down if kind in RECORD_OF else kind == "resume" and name not in disturbed:
                since = f"after {before} at {at_s} s" if at_s >= 0 else "though it has not hibernated"
                self._find("timeline", name, f"{said}, {since}")
            elif time_s == at_s:
                self._find("timeline", name, f"{said}, and {before} at the same time")
            last[name] = time_s, kind, kind in RECORD_OF or moment.get("vms") == 0
            if kind == "resume":
                disturbed.discard(name)
            else:
                disturbed.add(name)

    def _read_plan(self) -> None:
        """Report contradictions in the plan, and note the planned place of each task."""
        for record in self.run["plan"]:
            name, market, vm_type = record["vm"], record["market"], self.facts.types.get(record["type"])
            if name in self.planned:
                self._find("plan", name, f"the plan has more than one VM {name!r}", 1, "VMs")
                continue
            if vm_type is None or market not in vm_type.limits:
                self._find("plan", name, f"VM {name!r} of the plan: no {market} offer for {record['type']}", 1, "VMs")
                continue
            if len(record["cores"]) != vm_type.vcpus:
                off = abs(len(record["cores"]) - vm_type.vcpus)
                message = f"VM {name!r} of the plan has {len(record['cores'])} cores, {vm_type.name} {vm_type.vcpus}"
                self._find("plan", name, message, off, "cores")
            vm = self.planned[name] = PlannedVm(vm_type, market, [])
            for core, entries in enumerate(record["cores"][: vm_type.vcpus]):
                free_s = self.facts.boot_s + vm_type.setup_s
                for entry in entries:
                    free_s = self._read_planned(name, vm, core, entry, free_s)
        for name, book in self.tasks.items():
            if book.home is None:
                self._find("plan", name, f"task {name!r} is not in the plan")

    def _read_planned(self, name: str, vm: PlannedVm, core: int, entry: Event, free_s: int) -> int:
        """Enter a task of the plan; return when its core is free again."""
        task, start_s, mode = entry["task"], int(entry["start_s"]), entry.get("mode")
        book, said = self.tasks.get(task), f"task {task!r} on {name} in the plan"
        if book is None or book.home is not None:
            reason = "is not in the instance" if book is None else f"is there already, on {book.home}"
            self._find("plan", task, f"{said}: it {reason}")
            return free_s
        book.home, book.mode = name, mode
        if (mode is None) != (vm.type.credits is None):
            burstable = "burstable" if vm.type.credits is not None else "not burstable"
            self._find("plan", task, f"{said} in {mode or 'no'} mode; {vm.type.name} is {burstable}")
        work = self.facts.work(task, vm.type, vm.market, mode, Fraction(0))
        if work is None:
            self._find("plan", task, f"{said}: it cannot run there")
            return free_s
        if start_s < free_s:
            message = f"{said} starts at {start_s} s, {free_s - start_s} s before its core is free"
            self._find("plan", task, message, free_s - start_s)
        self._check_release(task, start_s, f"{said} starts at {start_s} s")
        start = start_s - self.facts.boot_s
        vm.slots.append(self._slot(task, vm, core, (start, start + work.duration_s)))
        return start_s + work.duration_s

    # ------------------------------------------------------------------ events

    def _handle(self, event: Event) -> None:
        kind, now = event["event"], event["t"]
        rank = RANKS.get(kind)
        self._check_stopped(event)
        if rank is not None and not self._preempted_at_once(event):
            if rank >= RANKS["trigger"]:
                self._questions_asked()
            self._move_up()
        self._follow_day(event, rank)
        if kind == "launch":
            self._launch(event)
        elif kind == "migrate":
            self._migrate(event)
        elif kind == "steal":
            self._steal(event)
        elif kind in ("price", "capacity", "wake"):
            if kind == "wake":
                self._woken(event)
            due = None if kind == "wake" else self._announced(event)
            self._check_order(event, event.get("type", ""), None, -1 if due is None else due.rank)
        else:
            vm = self._vm(event, event["vm"], gone=kind in ("trigger-set", "trigger", "stranded"))
            if vm is not None:
                if rank is not None:
                    self._check_order(event, vm.name, self._follows_s(event, vm))
                self._catch_up(vm, now, rank if rank is not None and rank >= RANKS["trigger"] else -1)
                if vm.state == "up":
                    self._check_missed_starts(vm, vm.uptime_s(now))
                self._follow(event, vm)
                self.touched.append(vm)

    def _launched_at_first(self, event: Event) -> bool:
        return event["vm"] in self.planned

    # --------------------------------------------------------------------- VMs

    def _launch(self, event: Event) -> None:
        vm = self._new_vm(event)
        if vm is None:
            return
        table = self.timetables[vm.name] = Timetable(vm.type.vcpus, vm.type.size)
        planned = self._launched_at_first(event)
        if planned:
            self._launch_planned(event, vm, table)
        if vm.market == "spot" and not self.interrupts:
            self._find("vm", event, ": in the on-demand baseline, without hibernations, there are no spot VMs")
        moved_s = 0 if planned else self.facts.migration_s - self.facts.boot_s
        vm.first_start_uptime_s = max(moved_s, vm.type.setup_s)
        self.figures.on_demand_started += vm.market == "on-demand" and not planned
        self._check_limits(event, vm, planned)
        if vm.market == "spot" and self.interrupts and not self.day.requested(vm.name, vm.type.name) and not planned:
            self._find("limit", event, f": there is no capacity for another {vm.type.name} spot VM")

    def _launch_planned(self, event: Event, vm: VmBook, table: Timetable) -> None:
        """Judge the request of a VM of the plan, due at second 0, in the order of the plan; note its planned tasks."""
        plan, now = self.planned[vm.name], event["t"]
        if now:
            self._find("plan", event, ": VMs of the plan are requested at the start", now)
        turn = list(self.planned).index(vm.name)
        if list(self.vms).index(vm.name) != turn:
            message = f": it is number {turn + 1} in the plan, whose VMs are requested first, in its order"
            self._find("plan", event, message, 1, "VMs")
        if (vm.type.name, vm.market) != (plan.type.name, plan.market):
            of_plan = f"in the plan it is {plan.type.name} {plan.market}"
            self._find("plan", event, f" of type {vm.type.name} {vm.market}; {of_plan}", 1, "VMs")
        for slot in plan.slots:
            if slot.core < vm.type.vcpus:  # a VM of another type, found above, may have fewer cores
                table.plan(slot)
            vm.tasks.add(slot.task)

    def _check_limits(self, event: Event, vm: VmBook, strict: bool) -> None:
        """Find VMs of the on-demand baseline that no plan within the limits can have had on either market."""
        super()._check_limits(event, vm, strict)
        if self.interrupts:
            return
        name, there = vm.type.name, self.living.total()
        of_type = sum(self.living[name, market] for market in vm.type.limits) - sum(vm.type.limits.values())
        caps: dict[str, int] = {}  # most VMs of each market, of any types
        for quota in self.facts.quotas:
            if quota.types is None and not quota.of_vcpus:
                caps[quota.market] = min(quota.most, caps.get(quota.market, quota.most))
        in_all = there - sum(caps.values()) if len(caps) == len(MARKETS) else 0
        over = max(of_type, in_all)
        if over > 0:
            self._find("limit", event, f": {over} over what the limits of all markets allow together", over, "VMs")

    def _over_limit(self, event: Event, said: str, over: int = 1) -> None:
        """Report VMs beyond a limit; as a note in the on-demand baseline, whose spot VMs have become on-demand VMs."""
        if self.interrupts:
            super()._over_limit(event, said, over)
        elif not self.limits_noted:
            self.limits_noted = True
            self.notes.append(f"the on-demand baseline does not keep to the limits: {self._described(event)}{said}")

    def _ready(self, event: Event, vm: VmBook) -> None:
        now = event["t"]
        if not self._check_ready(event, vm):
            return
        vm.make_ready(now)
        self.day.ready(vm.name, now)
        if not self.day.expected_of(vm.name):
            self.timetables[vm.name].move_up(now, *self._present(vm, now))
        self._may_be_idle(vm, now)

    def _notice(self, event: Event, vm: VmBook) -> None:
        """A VM drains: what runs goes on, and nothing more starts."""
        self._check_day(event, vm)
        if not self._in_state(event, vm, "up"):
            return
        now = event["t"]
        self._check_missed_starts(vm, vm.uptime_s(now) + 1)  # a start comes before a notice
        self._no_longer_idle(vm, now)
        vm.noticed_s = now
        vm.drains_until_s = event["until_s"]
        self.timetables[vm.name].disturbed = True

    def _interrupted(self, event: Event, vm: VmBook) -> None:
        kind = event["event"]
        self._check_day(event, vm)
        if not self._in_state(event, vm, "up"):
            return
        now = event["t"]
        if vm.sessions[-1].start_s != now:
            self._check_missed_starts(vm, vm.uptime_s(now) + 1)  # a start comes before an interruption
        self._no_longer_idle(vm, now)
        uptime = vm.uptime_s(now)
        for run in vm.runs.values():
            if run.due_uptime_s <= uptime:
                over = max(uptime - run.due_uptime_s, 1)
                message = f"task {run.task!r} still runs at {self._described(event)}; it was due {over} s before"
                self._find("run-time", run.task, message, over)
        self._price_session(vm)
        if kind == "reclaim":
            vm.reclaim(now)
            self._no_longer_counts(vm)
        else:
            vm.halt("stopped" if kind == "stop" else "hibernated", now)

    _hibernate = _stop = _reclaim = _interrupted

    def _price_session(self, vm: VmBook) -> None:
        """Note the price at which a session ends."""
        if vm.state == "up":
            vm.sessions[-1].last_usd_per_s = self.day.price_usd_per_s(vm.type.name, vm.market)

    def _again(self, vm: VmBook, run: RunBook, saves: Saves, uptime: int) -> Slot:
        """Take down what a run saves that has ended before its task has, and let the task wait."""
        name, book = run.task, self.tasks[run.task]
        self._take_down(book, saves)
        self._drop_run(name, book)
        work = self.facts.work(name, vm.type, vm.market, book.mode, book.saved)
        core = min(run.core, vm.type.vcpus - 1)  # another core is found where the run starts
        return self._slot(name, vm, core, (uptime, uptime + (work.duration_s if work is not None else 0)))

    def _slot(self, task: str, vm: PlannedVm | VmBook, core: int, times_s: tuple[int, int]) -> Slot:
        """Place of a task in the timetable of a VM."""
        book, baseline_s = self.tasks[task], None
        if book.mode == "burst" and vm.type.credits is not None:
            work = self.facts.work(task, vm.type, vm.market, "baseline", book.saved)
            baseline_s = None if work is None else work.duration_s
        return Slot(task, core, *times_s, self.facts.need(task), self.facts.ready_s(task), baseline_s)

    def _take_down(self, book: TaskBook, saves: Saves) -> bool:
        """Count the work that a run has saved; return True if the task has a checkpoint to go on from."""
        done, fraction, work_s = saves
        self.figures.checkpoints += done
        if done:
            book.saved += fraction
            self.figures.cpu_time_saved_s += work_s
        self.figures.recoveries += book.saved > 0
        return book.saved > 0

    def _comes_back(self, event: Event, vm: VmBook, state: str) -> bool:
        """True if a VM is in the state from which it comes back; then none of its tasks is to be migrated any more."""
        self._check_day(event, vm)
        if not self._in_state(event, vm, state):
            return False
        self.triggers.pop(vm.name, None)
        self.timetables[vm.name].disturbed |= self.facts.has_releases  # what was not ready has less time to wait
        return True

    def _resume(self, event: Event, vm: VmBook) -> None:
        if not self._comes_back(event, vm, "hibernated"):
            return
        for run in vm.runs.values():
            run.written = self._saved_by_run(vm, run, event["t"])
        vm.resume(event["t"])
        self.timetables[vm.name].move_up(event["t"], *self._present(vm, event["t"]))
        self._may_be_idle(vm, event["t"])

    def _restart(self, event: Event, vm: VmBook) -> None:
        """A stopped VM boots again: what ran there waits again, the first on its core, with what is saved."""
        if not self._comes_back(event, vm, "stopped"):
            return
        now, table = event["t"], self.timetables[vm.name]
        for run in sorted(vm.runs.values(), key=lambda run: run.core):
            slot = self._again(vm, run, self._saved_by_run(vm, run, now), vm.uptime_s(now))
            if vm.type.credits is not None:  # late: the credits for what it does once more are spent
                slot.start_s, slot.end_s = run.started_uptime_s, slot.end_s - slot.start_s + run.started_uptime_s
            table.plan_first(slot)
            table.disturbed = True
        vm.restart(now)
        table.move_up(now, *self._present(vm, now))

    def _check_day(self, event: Event, vm: VmBook) -> None:
        """A notice, an interruption or a return is the next one of the VM's day."""
        kind, now = event["event"], event["t"]
        expected = self.day.expected_of(vm.name)
        if expected and (expected[0].time_s, expected[0].kind) == (now, kind):
            due = expected.popleft()
            off = abs(event.get("until_s", 0) - due.fields.get("until_s", 0))
            if off:
                until_s = due.fields["until_s"]
                self._find("timeline", event, f" until {event['until_s']} s; it drains until {until_s} s", off)
            return
        if not self.interrupts:
            reason = "the run has no hibernations"
        elif vm.market != "spot":
            reason = f"it is an {vm.market} VM"
        else:
            reason = f"nothing of the kind happens to {vm.type.name} VMs then"
        self._find("timeline", event, f", but {reason}")

    def _gives_tasks(self, event: Event, vm: VmBook) -> bool:
        """True if tasks may leave the VM: while it drains, and once it is interrupted."""
        return vm.draining or vm.reclaimed or self._in_state(event, vm, "hibernated", "stopped")

    def _trigger_set(self, event: Event, vm: VmBook) -> None:
        """Note when the tasks of a VM are to be migrated: it is one that may give them away, and that is not past."""
        now, at = event["t"], event["at_s"]
        if not self._gives_tasks(event, vm):
            return
        if at < now:
            self._find("trigger", event, f" to {at} s, which is past", now - at)
        self.triggers[vm.name], vm.trigger_set_s = at, now

    def _trigger(self, event: Event, vm: VmBook) -> None:
        now, at = event["t"], self.triggers.pop(vm.name, None)
        if not self._gives_tasks(event, vm):
            return
        if at is None:
            self._find("trigger", event, ", but none is set")
        elif at != now:
            self._find("trigger", event, f", but it is set to {at} s", abs(now - at))

    def _cycle_end(self, event: Event, vm: VmBook) -> None:
        now = event["t"]
        if not self._in_state(event, vm, "up"):
            return
        uptime, cycle = vm.uptime_s(now), self.facts.cycle_s
        off = min(uptime % cycle, -uptime % cycle) if uptime else cycle
        if off:
            self._find("cycle-end", event, f", {off} s off the end of a cycle of {cycle} s (uptime {uptime} s)", off)
        if vm.runs:
            message = f": it is not idle, {len(vm.runs)} of its cores are busy"
            self._find("cycle-end", event, message, len(vm.runs), "cores")
        if uptime == vm.reported_cycle_uptime_s:
            self._find("cycle-end", event, " is recorded twice")
        vm.reported_cycle_uptime_s = uptime
        vm.idle_since_uptime_s = None

    def _idle_limit(self, event: Event, vm: VmBook) -> None:
        """Check the idle time stated by an idle-limit event; the limit itself is the policy's choice."""
        if not self._in_state(event, vm, "up"):
            return
        if vm.tasks:
            message = f": it is not idle, it has {counted(len(vm.tasks), 'task')}"
            self._find("idle-limit", event, message, len(vm.tasks), "tasks")
            return
        idle_s = vm.uptime_s(event["t"]) - vm.became_idle_uptime_s
        if idle_s != event["idle_s"]:
            message = f", idle for {event['idle_s']} s: it has been idle for {idle_s} s"
            self._find("idle-limit", event, message, abs(event["idle_s"] - idle_s))

    def _may_be_idle(self, vm: VmBook, now: int) -> None:
        """Note the uptime at which a VM became idle, if it has no task left."""
        if not vm.tasks and vm.state == "up" and not vm.draining:
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
            self._find("cycle-end", vm.name, message)

    def _terminate(self, event: Event, vm: VmBook) -> None:
        now = event["t"]
        self._no_longer_idle(vm, now)
        ends = now == self.trace.end["t"] and self.figures.finished < self.figures.n_tasks
        waiting = len(vm.tasks) - (len(vm.runs) if vm.state == "up" else 0)
        if waiting and not (ends and vm.halted):
            self._find("state", event, f", {vm.state}, while {counted(waiting, 'task')} wait there", waiting, "tasks")
        elif waiting and not self.cloudless:  # it is the replay that ends: nothing more can happen
            self._day_on_record(now, RECALLED)
        at = self.triggers.pop(vm.name, None)
        if ends and vm.tasks and at is not None:
            message = f"the replay ends at {now} s; the migration trigger of {vm.name} is set to {at} s"
            self._find("trigger", vm.name, message, max(at - now, 1))
        self._price_session(vm)
        self._end_vm(event, vm)
        self.day.ended(vm.name)

    # ------------------------------------------------------------------- tasks

    def _start(self, event: Event, vm: VmBook, book: TaskBook) -> None:
        name, now, mode = event["task"], event["t"], event.get("mode")
        if self._runs_already(event, book):
            self._drop_run(name, book)
        self._check_timetable(event, vm)
        self._check_release(name, now, self._described(event))
        if book.home != vm.name:
            self._find("placement", event, f": task {name!r} belongs to {book.home}")
            self._move(name, book, vm.name)
        if self._in_state(event, vm, "up") and vm.uptime_s(now) < vm.first_start_uptime_s:
            early = vm.first_start_uptime_s - vm.uptime_s(now)
            message = f"{self._described(event)}, {early} s before tasks can have been moved to this new VM"
            self._find("ready", name, message, early)
        if vm.draining:
            message = f"{self._described(event)}: {vm.name} drains until {vm.drains_until_s} s, and starts nothing"
            self._find("state", name, message, 1, "tasks")
        self._check_core(event, vm, vm.type.vcpus)
        self._check_mode(event, vm, name, mode)
        if book.mode is not None and mode != book.mode:
            self._find("placement", event, f" in {mode} mode; it came in {book.mode} mode")
        self._check_saved(event, book)
        self._begin(event, vm, book, self.facts.work(name, vm.type, vm.market, mode, book.saved))

    def _check_release(self, task: str, start_s: int, said: str) -> None:
        """A task starts when it is ready, or later."""
        early_s = self.facts.ready_s(task) - start_s
        if early_s > 0:
            self._find("release", task, f"{said}, {early_s} s before its ready_s", early_s)

    def _check_timetable(self, event: Event, vm: VmBook) -> None:
        """A task starts when and where it is its turn."""
        held = self._held_cores(vm)
        if held and not self.timetables[vm.name].is_due(event["task"], vm.uptime_s(event["t"]), held):
            self._questions_asked(vm)
        self._move_up(vm)
        table, uptime = self.timetables[vm.name], vm.uptime_s(event["t"])
        unsure, slot = table.unsure, table.take(event["task"])
        if slot is not None and slot.slowed:
            self.tasks[slot.task].mode = "baseline"
        if slot is None or unsure or vm.state != "up":
            return
        off = uptime - slot.start_s
        if off and not slot.missed:
            message = f"{self._described(event)}, up for {uptime} s, {abs(off)} s too {'late' if off > 0 else 'early'}"
            self._find("timetable", slot.task, message, abs(off))
        if slot.core != event["core"]:
            message = f"{self._described(event)} on core {event['core']}; it is the turn of core {slot.core}"
            self._find("timetable", slot.task, message, abs(slot.core - event["core"]), "cores")

    def _finish(self, event: Event, vm: VmBook, book: TaskBook) -> None:
        name, now = event["task"], event["t"]
        run = self._end_run(event, vm, book)
        if run is not None and run.preempted_uptime_s is not None:
            self._find("preemption", event, ", though it has been preempted")
        if run is not None and vm.market == "spot":
            self.figures.checkpoints += run.work.count
        self._move(name, book, None)
        self._count_finish(book, now, self.facts.due_s(name), self.facts.weight(name))
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
            target.reported_cycle_uptime_s = -1

    # ------------------------------------------------------------------- moves

    def _moved(self, event: Event, rule: str) -> tuple[TaskBook, VmBook, VmBook] | None:
        """Task, source and target of a migration or steal; None if one of them is unknown."""
        book = self._task(event)
        source, target = self._vm(event, event["from"], gone=True), self._vm(event, event["to"])
        if book is None or source is None or target is None:
            return None
        for vm in (source, target):
            self._catch_up(vm, event["t"], -1)
            if vm.state == "up":
                self._check_missed_starts(vm, vm.uptime_s(event["t"]))
        name = event["task"]
        if book.home != source.name:
            self._find(rule, name, f"{self._described(event)}: task {name!r} belongs to {book.home}", 1, "tasks")
        self._check_mode(event, target, name, event.get("mode"))
        if source is target:
            self._find(rule, name, f"{self._described(event)}: that is no move", 1, "tasks")
        book.mode = event.get("mode")
        return book, source, target

    def _migrate(self, event: Event) -> None:
        moved = self._moved(event, "migration")
        self.figures.migrations[event["kind"]] += 1
        if moved is None:
            return
        book, source, target = moved
        name, now = event["task"], event["t"]
        if not (source.halted or source.draining or source.reclaimed):
            self._find("migration", event, f": {source.name} is {source.condition}")
        if target.halted or target.draining:
            self._find("migration", event, f": {target.name} is {target.condition}")
        self._check_kind(event, target)
        recovered = False
        if book.running_on is not None:
            runner = self.vms[book.running_on]
            recovered = self._take_down(book, self._saved_by_run(runner, runner.runs[name], now))
            self._drop_run(name, book)
        if bool(event.get("recovered")) != recovered:
            self._find("saved", event, f": it {'goes' if recovered else 'does not go'} on from a checkpoint")
        self._check_saved(event, book)
        book.moved_late = book.moved_late or bool(event.get("late"))
        self._append(event, book, source, target)

    def _append(self, event: Event, book: TaskBook, source: VmBook, target: VmBook) -> None:
        """Let a task wait on another VM, behind all that waits there."""
        name, now = event["task"], event["t"]
        self._move(name, book, target.name)
        self.timetables[source.name].disturbed = True
        work = self.facts.work(name, target.type, target.market, book.mode, book.saved)
        table = self.timetables[target.name]
        # Where tasks were taken away, the policy may have moved others up: the table's starts are no longer certain.
        table.unsure = table.unsure or (table.disturbed and target.state == "up")
        if work is not None:
            slot = self._slot(name, target, 0, (0, work.duration_s))
            table.append(slot, *self._present(target, now))

    def _saved_by_run(self, vm: VmBook, run: RunBook, now: int) -> Saves:
        """Checkpoints of a run, and the fraction of the task and the work saved by them.

        One that knew of its interruption long enough has written one more, just before; what is written stays written.
        """
        rules = self.facts.interval_and_dump_s(run.task) if vm.market == "spot" else None
        if rules is None:
            return NOTHING_SAVED
        interval, dump = rules
        until = vm.uptime_s(now) if run.preempted_uptime_s is None else run.preempted_uptime_s
        worked = (until - run.started_uptime_s) * run.work.speed
        knew = vm.state != "up" and vm.notice_s and run.preempted_uptime_s is None
        done = _whole_checkpoints(run, worked, interval + dump)
        written = [self._saves(vm, run, done, done * interval), run.written]
        # The notice must be long enough to write the checkpoint; the work done while it is written is lost.
        if knew and vm.notice_s * run.work.speed + NOISE >= dump:
            written.append(self._saved_by_one_more(vm, run, worked - dump))
        # Checkpoints stay written: of several, the one that saves most is used.
        return max(written, key=lambda saves: (saves[2], saves[0]))

    def _saved_by_one_more(self, vm: VmBook, run: RunBook, worked: Fraction) -> Saves:
        """Savings of a run with one checkpoint more, written after some work: as `_saved_by_run`.

        It saves whole seconds of work. If a regular one is being written then, that is the last.
        """
        rules = self.facts.interval_and_dump_s(run.task)
        if rules is None:
            return NOTHING_SAVED
        interval, dump = rules
        done = _whole_checkpoints(run, worked, interval + dump)
        since = worked - done * (interval + dump)
        if done < run.work.count and since > interval + NOISE:
            return self._saves(vm, run, done + 1, (done + 1) * interval)
        work_s = max(Fraction(math.floor(done * interval + since + NOISE)), done * interval)
        return self._saves(vm, run, done + (work_s > done * interval), work_s)

    def _saves(self, vm: VmBook, run: RunBook, done: int, work_s: Fraction) -> Saves:
        runtime = self.facts.runtime_s(run.task, vm.type.name)
        return (done, work_s / runtime, work_s) if done and runtime else NOTHING_SAVED

    def _check_kind(self, event: Event, target: VmBook) -> None:
        """Check the stated kind of the target of a migration: idle, busy or new."""
        kind = event["kind"]
        if kind != ("busy" if target.tasks else "new" if target.state == "launching" else "idle"):
            state = f"{target.state}, launched at {target.launched_s} s, with {len(target.tasks)} unfinished tasks"
            self._find("migration", event, f" is recorded as of kind {kind!r}; the target is {state}")

    def _steal(self, event: Event) -> None:
        self.figures.events["steal"] += 1
        moved = self._moved(event, "steal")
        if moved is None:
            return
        book, source, target = moved
        name, now = event["task"], event["t"]
        if source.state not in ("up", "launching"):
            self._find("steal", event, f": {source.name} is {source.condition}")
        if book.running_on is not None:
            self._find("steal", event, f": it runs on {book.running_on}")
            self._drop_run(name, book)
        if target.state not in ("up", "launching") or target.draining:
            self._find("steal", event, f": {target.name} is {target.condition}")
        target.stolen = target.stolen + 1 if target.stole_s == now else 1
        target.stole_s = now
        self._move_up(target)
        table = self.timetables[source.name]
        table.unsure = table.unsure or (table.preempted and table.disturbed and source.state == "up")
        self._append(event, book, source, target)
        if source not in self.disturbed:
            self.disturbed.append(source)
        self._may_be_idle(source, now)

    def _steal_attempt(self, event: Event, vm: VmBook) -> None:
        stolen = event["stolen"]
        self.figures.steals += stolen > 0
        self._in_state(event, vm, "up", "launching")
        known = vm.stolen if vm.stole_s == event["t"] else 0
        if stolen != known:
            self._find("steal", event, f" of {stolen} tasks; there were {known}", abs(stolen - known), "tasks")
        own = len(vm.tasks) - known
        if own > 0:
            self._find("steal", event, ": it is not idle, it has tasks of its own", own, "tasks")
        vm.stolen = 0

    def _stranded(self, event: Event, vm: VmBook) -> None:
        stays, known = event["tasks"], len(vm.tasks)
        if not self._gives_tasks(event, vm):
            return
        off = max(stays - known, 0) if vm.draining else abs(known - stays)  # what drains may end in time
        if off:
            self._find("migration", event, f": {stays} tasks; {known} are there", off, "tasks")

    def _preempt(self, event: Event, vm: VmBook, book: TaskBook) -> None:
        """A running task stops, and writes a checkpoint first if it is to."""
        name, now = event["task"], event["t"]
        if not self._in_state(event, vm, "up"):
            return
        self.figures.preemptions += 1
        run = vm.runs.get(name)
        if run is None or run.preempted_uptime_s is not None:
            does = "does not run there" if run is None else "has been preempted already"
            self._find("preemption", event, f": it {does}")
            return
        self._check_same_core(event, run)
        uptime, rules = vm.uptime_s(now), self.facts.interval_and_dump_s(name)
        if run.due_uptime_s < uptime:
            over = uptime - run.due_uptime_s
            self._find("run-time", event, f", {over} s after it was due to finish", over)
        if event["checkpoint"] and rules is None:
            self._find("preemption", event, ": the bag has no checkpoints")
        dump_s = round_up(rules[1] / run.work.speed) if event["checkpoint"] and rules is not None else 0
        off = abs(event["until_s"] - now - dump_s)
        if off:
            self._find("preemption", event, f" until {event['until_s']} s; writing a checkpoint takes {dump_s} s", off)
        table = self.timetables[vm.name]
        table.unsure = table.unsure or table.disturbed or table.early_s == now
        if not dump_s:
            self.stopping = {"event": "preempted", "t": now, "vm": vm.name, "task": name}
        longer = uptime + dump_s > run.due_uptime_s
        run.preempted_uptime_s, run.stops_uptime_s, run.writes = uptime, uptime + dump_s, event["checkpoint"]
        if longer:  # what waits for its memory waits longer
            self._disturb(vm)

    def _preempted(self, event: Event, vm: VmBook, book: TaskBook) -> None:
        """A task that was preempted waits behind all that waits on its core."""
        name, now = event["task"], event["t"]
        run = vm.runs.get(name)
        if not self._in_state(event, vm, "up"):
            return
        if run is None or run.preempted_uptime_s is None:
            self._find("preemption", event, ", but nobody has asked for that")
            return
        self._check_same_core(event, run)
        uptime = vm.uptime_s(now)
        off = abs(uptime - run.due_uptime_s)
        if off:
            self._find("preemption", event, f", {off} s off the end of its checkpoint", off)
        saves = self._saved_by_run(vm, run, now)
        if run.writes:
            worked = (run.preempted_uptime_s - run.started_uptime_s) * run.work.speed
            saves = self._saved_by_one_more(vm, run, worked)
        table = self.timetables[vm.name]
        table.unsure = table.unsure or table.disturbed
        table.plan_last(self._again(vm, run, saves, uptime))
        table.preempted = True
        self._check_saved(event, book)
        if uptime == run.preempted_uptime_s:
            self._disturb(vm)
        else:
            table.disturbed = True
            self.preempted.append((vm, run.core))

    # --------------------------------------------------------------------- end

    def _cost_usd(self, vm: VmBook) -> Fraction:
        return self.day.bill_usd(vm, self.run["billing"])

    def _close(self, vm: VmBook) -> None:
        end = self.trace.end["t"]
        if vm.state != "terminated":
            self.day.advance(end, -1)
            self._catch_up(vm, end, -1)
            self._price_session(vm)
        for run in vm.runs.values():  # on VMs that never resumed
            self.figures.checkpoints += self._saved_by_run(vm, run, end)[0]

    def _check_unfinished(self) -> None:
        super()._check_unfinished()
        gives_up = self.figures.finished < self.figures.n_tasks and not self.cloudless
        self._day_on_record(self.trace.end["t"], RECALLED if gives_up else -1)
        for name, plan in self.planned.items():
            if name not in self.vms:
                message = f"VM {name!r} of the plan, with {counted(len(plan.slots), 'task')}, is never requested"
                self._find("plan", name, message, 1, "VMs")
        left = [(name, book) for name, book in self.tasks.items() if not book.finished]
        for name, book in left:
            vm = None if book.home is None else self.vms.get(book.home)
            if vm is None or not (vm.reclaimed or vm.ended_from in ("hibernated", "stopped")):
                was = "there is no such VM" if vm is None else f"that is {vm.ended_from} when it ends"
                message = f"task {name!r} is unfinished though its VM, {book.home}, is not hibernated: {was}"
                self._find("task-once", name, message)
        end_s, until_s = self.trace.end["t"], max(self.day.times, default=0)
        if left and end_s < until_s:
            message = f"the replay ends at {end_s} s with {counted(len(left), 'task')} unfinished; the day goes on"
            self._find("timeline", "", f"{message} until {until_s} s", until_s - end_s)

    def _note_lateness(self) -> None:
        late = [book.late_by_s for book in self.tasks.values() if book.late_by_s]
        own = any(self.facts.due_s(name) != self.facts.deadline_s for name in self.tasks)
        due = "deadlines" if own else f"deadline ({self.facts.deadline_s} s)"
        if late:
            self.notes.append(f"{counted(len(late), 'task')} late for the {due}, by up to {max(late)} s")

    def _note_more(self) -> None:
        given_up = [book for book in self.tasks.values() if book.moved_late]
        if given_up:
            in_time = sum(book.finished and not book.late_by_s for book in given_up)
            self.notes.append(
                f"{counted(len(given_up), 'task')} migrated too late to count on the deadline; {in_time} of them met it"
            )


def _whole_checkpoints(run: RunBook, worked: Fraction, period: Fraction) -> int:
    """Number of checkpoints that are complete once a run has worked for so long, one after each period."""
    return min(run.work.count, int((worked + NOISE) / period)) if run.work.count else 0
