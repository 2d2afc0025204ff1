"""The record of a replay of a plan by the second: the day, the order in it, questions to policies, due starts.

What happens by itself in a second is on record before the first decision of that second.
"""

from __future__ import annotations

from collections.abc import Collection

from ...traces.trace import Trace
from ..facts import InstanceFacts
from ..findings import Event
from ..vm_audit import Audit
from ..vm_books import LAST_RANK, RANKS, RunBook, VmBook
from .day import RECALLED, Day, Expected
from .timetable import Timetable

_DONE = {"reclaim": "end"} | {kind: kind for kind in ("hibernate", "stop", "resume", "restart")} | {"notice": "drain"}


class SecondsAudit(Audit):
    """The part of the audit of a replay of a plan that follows the seconds."""

    def __init__(self, trace: Trace, facts: InstanceFacts) -> None:
        super().__init__(trace, facts)
        prices = {
            (name, market): price
            for name, vm_type in facts.types.items()
            for market, price in vm_type.price_usd_per_s.items()
        }
        moments = sorted(self.run["timeline"]["events"], key=lambda moment: moment["time_s"])
        self.interrupts = self.run["hibernation"]
        self.day = Day([moment for moment in moments if self.interrupts or moment["event"] == "price"], prices)
        self.cloudless = "cloud" not in self.run  # of an older version, whose policies were asked between what happens
        self.asked_s = self.woken_s = -1
        self.stopping: Event | None = None  # the record that must follow at once on one of a task that stops at once
        self.preempted: list[tuple[VmBook, int]] = []  # VMs and cores with a checkpoint just written: next in turn
        self.triggers: dict[str, int] = {}  # when the tasks of a VM are to be migrated, if that is set
        self.touched: list[VmBook] = []  # VMs with something on record in this second
        self.timetables: dict[str, Timetable] = {}  # of the VMs that have been launched
        self.disturbed: list[VmBook] = []  # whose tasks move up before anything else happens, in this order

    def _preempted_at_once(self, event: Event) -> bool:
        """True if a task waits as soon as it is preempted: the decisions of that moment have not ended."""
        vm = self.vms.get(event["vm"]) if event["event"] == "preempted" else None
        run = None if vm is None else vm.runs.get(event["task"])
        return vm is not None and run is not None and run.preempted_uptime_s == vm.uptime_s(event["t"])

    def _follow_day(self, event: Event, rank: int | None) -> None:
        """Let the day go on to an event, up to what happens before it in its second, by rank.

        A decision of the policy has no rank: it comes after all that happens in its second.
        """
        kind, now = event["event"], event["t"]
        all_done = self.figures.finished == self.figures.n_tasks
        if rank is None:
            at_first = kind == "launch" and self._launched_at_first(event)
            until = -1 if at_first or all_done else max(self.rank, 0) if kind == "start" else LAST_RANK
        elif event.get("vm") in self.vms and self._comes_later(event, self.vms[event["vm"]]):
            until = RECALLED
        else:
            until = rank
        self.day.advance(now, until)
        if kind == "capacity" and not self._matching(event):  # one that falls, and is recorded later in the second
            self.day.advance(now, RANKS["hibernate"])
        self._check_announced(now, -1 if rank is None else rank)
        asked = until == LAST_RANK if rank is None else rank >= RANKS["trigger"]
        if asked and now == self.now_s and not (all_done or self.cloudless):
            self.rank = max(self.rank, RANKS["trigger"])
            self._policy_asked(now)

    def _policy_asked(self, now: int) -> None:
        """Find events that should stand before the first question to the policy in a second.

        When its first question or decision of a second is recorded, the day is: prices, capacities, and what struck,
        warned or brought back each existing VM; no run is due to end; no task is due to start; no boot is over.
        """
        if self.asked_s == now:
            return
        self.asked_s = now
        self._day_on_record(now, LAST_RANK)
        for vm in self.vms.values():
            if vm.state == "launching" and vm.launched_s + self.facts.boot_s == now:
                self._find("ready", vm.name, f"{vm.name} is ready at {now} s, which is not recorded")
            if vm.state != "up":
                continue
            uptime = vm.uptime_s(now)
            for run in vm.runs.values():
                if run.due_uptime_s == uptime:
                    does = "finish" if run.preempted_uptime_s is None else "stop"
                    due = f"task {run.task!r} on {vm.name} is to {does} by {now} s"
                    self._find("run-time", run.task, f"{due}, before any decision of that second", 1, "events")
            self._check_missed_starts(vm, uptime + 1)

    def _day_on_record(self, now: int, rank: int) -> None:
        """Find events of the day up to a moment, and of that moment up to a rank, that are not recorded."""
        self.day.advance(now, rank)
        self._check_announced(now, rank + 1)
        for vm in self.vms.values():
            if vm.state != "terminated":
                self._catch_up(vm, now, rank + 1)

    def _check_stopped(self, event: Event) -> None:
        """A task that is preempted and writes nothing stops at once: that is the next record."""
        due, self.stopping = self.stopping, None
        if due is not None and {key: event.get(key) for key in due} != due:
            message = f"{due['task']!r} is preempted on {due['vm']} at {due['t']} s and stops at once"
            self._find("preemption", due["task"], f"{message}, which is not recorded", 1, "events")

    def _comes_later(self, event: Event, vm: VmBook) -> bool:
        """True if an event was caused in its second: it follows the VMs that come back at once."""
        kind, now = event["event"], event["t"]
        if kind not in ("resume", "restart", "ready", "trigger", "cycle-end", "idle-limit"):
            return False
        at_once = kind == "ready" and (self._launched_at_first(event) or vm.sessions)  # no decision has requested it
        return self._follows_s(event, vm) == now and not at_once

    def _check_announced(self, now: int, rank: int) -> None:
        """Find prices and capacities that should stand in the trace by now."""
        announced = self.day.announced
        while announced and (announced[0].time_s, max(announced[0].rank, RANKS[announced[0].kind])) < (now, rank):
            due = announced.popleft()
            message = f"the {due.kind} of {due.fields['type']} changes at {due.time_s} s, which is not recorded"
            self._find("timeline", due.fields["type"], message)

    def _woken(self, event: Event) -> None:
        """A policy is woken once in a second."""
        if self.woken_s == event["t"]:
            self._find("order", "", f"{self._described(event)} is recorded twice")
        self.woken_s = event["t"]

    def _announced(self, event: Event) -> Expected | None:
        """A price or capacity changes as the day says."""
        due = self._matching(event)
        if due is None:
            message = f"{event['event']} of {event['type']} at {event['t']} s: the day says nothing of the kind"
            self._find("timeline", event["type"], message)
        else:
            self.day.announced.remove(due)
        return due

    def _matching(self, event: Event) -> Expected | None:
        """Find the announcement of a price or capacity."""
        for due in self.day.announced:
            said = {key: event.get(key) for key in due.fields}
            if (due.time_s, due.kind, due.fields) == (event["t"], event["event"], said):
                return due
        return None

    def _follows_s(self, event: Event, vm: VmBook) -> int | None:
        """Return the moment of the cause that an event may follow at once."""
        kind = event["event"]
        if kind in ("hibernate", "stop", "reclaim"):
            return vm.sessions[-1].start_s if vm.state == "up" else None
        if kind in ("resume", "restart"):
            return vm.halted_since_s if vm.halted else None
        uptime = vm.uptime_s(event["t"])
        if kind in ("finish", "preempted"):
            run = vm.runs.get(event["task"])
            return event["t"] if run is not None and uptime in (run.preempted_uptime_s, run.started_uptime_s) else None
        if kind in ("cycle-end", "idle-limit"):
            return event["t"] if vm.state == "up" and vm.became_idle_uptime_s == uptime else None
        # A VM without a boot, requested by a decision, may have a notice at the age of 0 s.
        return {"ready": vm.launched_s, "notice": vm.launched_s, "trigger": vm.trigger_set_s}.get(kind)

    def _check_cause(self, event: Event) -> None:
        if event["t"] not in self.day.times:  # of which nothing may be on record, if no VM is struck
            super()._check_cause(event)

    def _may_give_up(self, now: int) -> bool:
        """Hibernated VMs of a day with resumptions are waited for, and VMs terminated before they are ready."""
        if self.figures.finished == self.figures.n_tasks:
            return False
        booting = [vm for vm in self.vms.values() if "launching" in (vm.state, vm.ended_from)]
        return now in self.day.times | {vm.launched_s + self.facts.boot_s for vm in booting}

    def _last_s(self) -> int:
        """Nothing is on record of what happens on a day when all VMs are gone."""
        end_s = int(self.trace.end["t"])
        waits = self.figures.finished < self.figures.n_tasks
        waits = waits and all(vm.state == "terminated" for vm in self.vms.values())
        return end_s if waits and end_s in self.day.times else self.now_s

    def _moment_ends(self, next_s: int) -> None:
        self._questions_asked()
        self._move_up()
        for vm in self.touched:
            self._check_free_core(vm)
        self.touched.clear()
        if self.figures.finished == self.figures.n_tasks:
            return
        for name, at in [(name, at) for name, at in self.triggers.items() if at < next_s]:
            del self.triggers[name]
            message = f"the migration trigger of {name}, set to {at} s, has not been reached by {next_s} s"
            self._find("trigger", name, message, next_s - at)

    def _check_free_core(self, vm: VmBook) -> None:
        """Find a core that stays free while tasks wait that fit: in whatever order they do, the first would start."""
        table = self.timetables[vm.name]
        starts = vm.state == "up" and not vm.draining and vm.uptime_s(self.now_s) >= vm.first_start_uptime_s
        if not (starts and table.unsure and len(vm.cores) < vm.type.vcpus) or table.keeps_starts(vm.runs.values()):
            return
        if table.misses_all(vm.type.size - vm.used, self.now_s):
            message = f"a core of {vm.name} stays free at {self.now_s} s, though {len(vm.tasks)} tasks are there"
            self._find("timetable", vm.name, f"{message} that fit", 1, "cores")

    def _disturb(self, vm: VmBook) -> None:
        """Have the tasks that wait on a VM move up as soon as it is its turn."""
        self.timetables[vm.name].disturbed = True
        if vm not in self.disturbed:
            self.disturbed.append(vm)

    def _questions_asked(self, last: VmBook | None = None) -> None:
        """Have tasks move up where a checkpoint of a preempted one was written, once the policy has been asked.

        It is asked in the order in which the VMs were requested: about all, or up to the ``last``.
        """
        if not self.preempted:
            return
        vms = list(self.vms.values())
        asked = vms if last is None else vms[: vms.index(last) + 1]
        held = [vm for vm, _ in self.preempted]
        self.disturbed += [vm for vm in asked if vm in held and vm not in self.disturbed]
        self.preempted = [(vm, core) for vm, core in self.preempted if vm not in asked]

    def _held_cores(self, vm: VmBook) -> list[int]:
        """Cores on which a checkpoint of a preempted task was just written, of which the policy is asked first."""
        return [core for held, core in self.preempted if held is vm]

    def _move_up(self, until: VmBook | None = None) -> None:
        """Have tasks move up where others have been stolen: everywhere, or until it is a VM's turn."""
        if until is not None and until not in self.disturbed:
            return
        while self.disturbed:
            vm = self.disturbed.pop(0)
            if self._held_cores(vm):  # the policy is asked before
                continue
            if vm.state == "up" and not vm.draining:
                self.timetables[vm.name].move_up(self.now_s, *self._present(vm, self.now_s))
            if vm is until:
                return
            if until is not None:
                self.timetables[vm.name].early_s = self.now_s

    def _present(self, vm: VmBook, now: int) -> tuple[Collection[RunBook], int, int]:
        """Runs of a VM, the uptime from which tasks can start on it, and the moment at which its uptime was 0."""
        uptime, boots = vm.uptime_s(now), vm.state == "launching"
        from_s = vm.launched_s + self.facts.boot_s if boots else now
        return vm.runs.values(), max(uptime, vm.first_start_uptime_s), from_s - uptime

    def _check_missed_starts(self, vm: VmBook, until_uptime_s: int) -> None:
        """Find tasks that should have started on a VM that is up; one that drains starts nothing."""
        if vm.draining or self._held_cores(vm):
            return
        writing = [run.core for run in vm.runs.values() if run.preempted_uptime_s is not None]
        for slot in self.timetables[vm.name].due(until_uptime_s, writing):
            message = f"task {slot.task!r} does not start on {vm.name} when it has been up for {slot.start_s} s"
            self._find("timetable", slot.task, message, until_uptime_s - slot.start_s)

    def _catch_up(self, vm: VmBook, now: int, rank: int) -> None:
        """Find events that the VM should have had by now: of the same moment, those before a rank."""
        expected = self.day.expected_of(vm.name)
        while expected and (expected[0].time_s, RANKS[expected[0].kind]) < (now, rank):
            due = expected.popleft()
            message = f"{vm.name} does not {_DONE[due.kind]} at {due.time_s} s, as {vm.type.name} VMs do"
            self._find("timeline", vm.name, message)
