"""The audit of a plan that was really run: by the clock, run times and boots are what they were."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

from ...core.quantities import SECONDS_PER_HOUR
from ...core.wording import counted
from ...instances.clouds import cloud_of
from ...instances.entries import BillingRules
from ...traces.trace import Trace
from ..bill import Rules, Session
from ..facts import InstanceFacts, Share, TypeFacts, exact
from ..figures import amount_off
from ..findings import AuditReport, Event, Findings

_UNITS = {"finished": "tasks", "late_tasks": "tasks", "failures": "attempts", "cut_off": "attempts", "cost_usd": "USD"}
"""Units of the figures; all others are seconds."""


@dataclass(slots=True)
class _Vm:
    """A VM, as far as the events so far describe it: when it was first ready, since when it is up, or was until."""

    type: TypeFacts
    market: str
    usd_per_s: Fraction
    up: bool = False
    began: bool = False
    began_s: Fraction = Fraction(0)
    since_s: Fraction = Fraction(0)
    ended_s: Fraction = Fraction(0)
    running: dict[int, str] = field(default_factory=dict)


class ExecutionAudit(Findings):
    """The audit of an execution, from its events and the plan alone; how long anything took is not judged.

    Parameters
    ----------
    trace : Trace
        The execution; its records are those of the format.
    facts : InstanceFacts
        Those of its instance.
    """

    def __init__(self, trace: Trace, facts: InstanceFacts) -> None:
        super().__init__()
        self.trace = trace
        self.facts = facts
        given = trace.instance.get("billing")
        cloud = cloud_of(trace.instance.get("cloud"), None if given is None else BillingRules(**given))
        self.rules = Rules.of(asdict(cloud.billing))
        self.machines = {entry["id"]: entry for entry in trace.instance.get("machines", ())}
        self.vms: dict[str, _Vm] = {}
        self.now_s = Fraction(0)
        self.living: Counter[tuple[str, str]] = Counter()
        self.began: dict[str, tuple[str, int, Fraction]] = {}  # where and when what runs has started
        self.first: dict[tuple[str, str, int], list[Fraction | None]] = {}  # first attempt at a place: start and end
        self.last: dict[str, tuple[str, int]] = {}  # place of the last attempt of each task
        self.done_s: dict[str, Fraction] = {}
        self.counts: Counter[str] = Counter()
        self.busy_s = self.up_s = Fraction(0)

    def report(self) -> AuditReport:
        """Go through the events, the plan, then the end."""
        for event in self.trace.events:
            self._event(event)
        self._plan()
        usd = self._bill()
        late = [by_s for name, end_s in self.done_s.items() if (by_s := end_s - self.facts.due_s(name)) > 0]
        unfinished = {name for name in self.facts.tasks if name not in self.done_s}
        makespan_s = None if unfinished else max(self.done_s.values(), default=Fraction(0))
        found = {
            "finished": len(self.done_s),
            "late_tasks": len(late),
            "failures": self.counts["fail"],
            "cut_off": self.counts["cut-off"],
            "makespan_s": makespan_s,
            "cost_usd": sum(usd.values(), Fraction(0)),
            "busy_s": self.busy_s,
            "up_s": self.up_s,
        }
        self._figures(found, unfinished)
        notes = [f"{counted(len(unfinished), 'task')} unfinished"] if unfinished else []
        if late:
            notes.append(f"{counted(len(late), 'task')} after the deadline, by up to {float(max(late)):.1f} s")
        own = sum(vm.usd_per_s != vm.type.price_usd_per_s[vm.market] for vm in self.vms.values())
        if own:
            notes.append(f"{counted(own, 'VM')} at another price than that of the instance")
        costs = {name: float(value) for name, value in usd.items()}
        end_s = None if makespan_s is None else float(makespan_s)
        return AuditReport(tuple(self.findings), float(sum(usd.values())), end_s, tuple(notes), costs)

    # ------------------------------------------------------------------ events

    def _event(self, event: Event) -> None:
        """Judge the order of an event and what it says of its VM; kinds not named here end an attempt of a task."""
        now_s, kind, name = exact(event["t"]), event["event"], event["vm"]
        if now_s < self.now_s:
            message = f" is recorded after what happens at {float(self.now_s):g} s"
            self._find("order", event, message, self.now_s - now_s)
        self.now_s = max(self.now_s, now_s)
        if kind == "launch":
            self._launch(event)
            return
        vm = self.vms.get(name)
        if vm is None:
            self._find("vm", event, ": no such VM was launched")
        elif kind in ("ready", "lost", "done"):
            self._change(event, vm)
        elif kind == "start":
            self._start(event, vm)
        else:
            self._stop(event, vm)

    def _launch(self, event: Event) -> None:
        name, market, vm_type = event["vm"], event["market"], self.facts.types.get(event["type"])
        if name in self.vms:
            self._find("vm", event, ": it was launched before")
        elif vm_type is None or market not in vm_type.limits:
            self._find("vm", event, f": no {market} offer of {event['type']}")
        else:
            own = event.get("price_usd_per_hour")
            listed = vm_type.price_usd_per_s[market]
            self.vms[name] = _Vm(vm_type, market, listed if own is None else exact(own) / SECONDS_PER_HOUR)
            self._count(event, self.vms[name])

    def _count(self, event: Event, vm: _Vm) -> None:
        """Count a VM that is rented from now on against its limits."""
        self.living[vm.type.name, vm.market] += 1
        for there, most, _, unit in self.facts.limits_of(vm.type.name, vm.market, self.living):
            if there > most:
                self._find("limit", event, f": {there} {unit} where the limit is {most}", there - most, "VMs")

    def _change(self, event: Event, vm: _Vm) -> None:
        """Judge that a VM takes tasks from now on, or none any more, and follow the time for which it is up."""
        ready = event["event"] == "ready"
        if vm.up == ready:
            self._find("state", event, f": it {'is up' if vm.up else 'is not up'}", 1, "VMs")
            return
        vm.up = ready
        if ready:
            vm.since_s = self.now_s
            if vm.began:
                self._count(event, vm)
            else:
                vm.began, vm.began_s = True, self.now_s
            return
        if vm.running:
            self._find("state", event, f": {', '.join(vm.running.values())} run there still", len(vm.running), "tasks")
        vm.ended_s = self.now_s
        self.up_s += self.now_s - vm.since_s
        self.living[vm.type.name, vm.market] -= 1

    def _start(self, event: Event, vm: _Vm) -> None:
        """Judge the start of an attempt of a task: its VM and core, and the cores and memory that are taken then."""
        task, core, name = event["task"], event["core"], event["vm"]
        if task not in self.facts.tasks:
            self._find("placement", event, ": no such task")
            return
        if not vm.up:
            self._find("state", task, f"{self._described(event)}: the VM is not up", 1, "VMs")
        if core >= vm.type.whole.vcpus or self.facts.given_runtime_s(task, vm.type.name) is None:
            self._find("placement", event, f": it cannot run there on {vm.type.name}")
        if not self.facts.may_be(task, vm.market):
            self._find("placement", event, f": it may not be on a {vm.market} VM")
        early_s = self.facts.ready_s(task) - self.now_s
        if early_s > 0:
            self._find("release", event, f": {float(early_s):g} s before its ready_s", early_s)
        if task in self.done_s or task in self.began:
            what = "is done" if task in self.done_s else f"runs on {self.began[task][0]}"
            self._find("task-once", event, f": it {what}")
        if core in vm.running:
            self._find("core", event, f": the core runs {vm.running[core]}", 1, "tasks")
        vm.running[core], self.began[task] = task, (name, core, self.now_s)
        self.last[task] = name, core
        self.first.setdefault((task, name, core), [self.now_s, None])
        over = (need := sum(map(self.facts.cores, vm.running.values()))) - vm.type.whole.vcpus
        if over > 0:
            self._find("core", event, f": its tasks need {need} cores", over, "cores")
        over = sum(map(self.facts.need, vm.running.values()), Share()).kb - vm.type.size.kb
        if over > 0:
            self._find("memory", event, ": its tasks need too much memory", over / 1024, "MB")

    def _stop(self, event: Event, vm: _Vm) -> None:
        """Judge the end of an attempt of a task, and count it by its kind."""
        task, core, name, kind = event["task"], event["core"], event["vm"], event["event"]
        if vm.running.get(core) != task or self.began.get(task, ("", -1, 0))[:2] != (name, core):
            self._find("state", task, f"{self._described(event)}: it does not run there", 1, "tasks")
            return
        del vm.running[core]
        begun_s = self.began.pop(task)[2]
        self.busy_s += self.now_s - begun_s
        first = self.first[task, name, core]
        # Of several attempts at a place, the end of the first says when the next task had its turn.
        if first[1] is None:
            first[1] = self.now_s
        self.counts[kind] += 1
        if kind == "fail" and event["exit_code"] == 0:
            self._find("state", task, f"{self._described(event)}: exit code 0 is no failure", 1, "tasks")
        if kind == "finish":
            self.done_s[task] = self.now_s

    # ---------------------------------------------------------------- the plan

    def _plan(self) -> None:
        """Report contradictions in the plan, and between it and what was run."""
        planned: dict[str, tuple[str, int]] = {}
        by_core: dict[tuple[str, int], list[dict[str, Any]]] = {}
        for entry in self.trace.run["plan"]:
            task, place = entry["task"], (entry["vm"], entry["core"])
            if task in planned or task not in self.facts.tasks:
                what = "is in the plan twice" if task in planned else "is not in the instance"
                self._find("plan", task, f"task {task!r} of the plan {what}")
                continue
            planned[task] = place
            cores, need = entry.get("cores") or [entry["core"]], self.facts.cores(task)
            # Of a VM that was never launched nobody knows the type: what it was to run is judged where it ran.
            there = self.vms[entry["vm"]].type.whole.vcpus if entry["vm"] in self.vms else max(cores) + 1
            if "cores" in entry and not (cores[0] == entry["core"] and len({*cores}) == need and max(cores) < there):
                message = f"task {task!r} of {need} cores is on {[*cores]} of the plan, {entry['core']} the first"
                self._find("plan", task, message, max(abs(len({*cores}) - need), 1), "cores")
            for core in {*cores}:
                by_core.setdefault((entry["vm"], core), []).append(entry)
        for task in self.facts.tasks.keys() - planned.keys():
            self._find("plan", task, f"task {task!r} is not in the plan")
        for task, (name, core) in self.last.items():
            # What was cut off, or failed, may have been planned elsewhere since.
            if (name, core) != planned.get(task, (name, core)) and (task in self.done_s or task in self.began):
                message = f"task {task!r} ran on core {core} of {name}; the plan has it on {planned[task]}"
                self._find("timetable", task, message)
        for entries in by_core.values():
            self._turns(sorted(entries, key=lambda entry: (entry["plan"], entry["start_s"], entry["end_s"])))

    def _turns(self, entries: list[dict[str, Any]]) -> None:
        """Find what the plan has on a core at the same time, and what did not wait for its turn there."""
        for before, after in pairwise(entries):
            over_s = exact(before["end_s"]) - exact(after["start_s"])
            if before["plan"] == after["plan"] and over_s > 0:
                message = f"task {after['task']!r} of the plan starts before {before['task']!r} ends on the same core"
                self._find("plan", after["task"], message, over_s)
        places = [(entry["task"], entry["vm"], entry["core"]) for entry in entries]
        for earlier, later in pairwise(place for place in places if place in self.first):
            start_s, end_s = self.first[later][0], self.first[earlier][1]
            if start_s is not None and (end_s is None or start_s < end_s):
                message = f"task {later[0]!r} starts at {float(start_s):g} s; the plan has it behind {earlier[0]!r}"
                self._find("timetable", later[0], message, 0 if end_s is None else end_s - start_s)

    # ------------------------------------------------------------------ the end

    def _bill(self) -> dict[str, Fraction]:
        """Bill all VMs, from when they were first ready."""
        until_s, usd = exact(self.trace.end["t"]), {}
        if until_s < self.now_s:
            message = f"the end is at {float(until_s):g} s; something happens at {float(self.now_s):g} s"
            self._find("order", "", message, self.now_s - until_s)
        for name, vm in self.vms.items():
            self.up_s += until_s - vm.since_s if vm.up else 0
            usd[name] = self._session_usd(name, vm, until_s if vm.up else vm.ended_s) if vm.began else Fraction(0)
        return usd

    def _session_usd(self, name: str, vm: _Vm, until_s: Fraction) -> Fraction:
        """Bill of a VM by the rules of the instance; a machine that was ready before pays what is not paid yet."""
        machine = self.machines.get(name)
        if machine is None or machine.get("launching") or machine.get("ready_s"):
            return Session(self.rules, vm.began_s - vm.type.setup_s, vm.usd_per_s).usd(until_s)
        paid_s = max(vm.began_s, exact(machine.get("paid_until_s", 0)))
        return Session(self.rules, paid_s, vm.usd_per_s, begins=False).usd(until_s)

    def _figures(self, found: dict[str, Any], unfinished: set[str]) -> None:
        """Compare the figures of the end with those of the events."""
        end = self.trace.end
        for name, value in found.items():
            if value is None or end[name] is None:
                if value is not end[name]:
                    message = f"the end says {name} {end[name]}; {counted(len(unfinished), 'task')} unfinished"
                    self._find("figures", "", message, 1, "tasks")
            else:
                self.findings += amount_off(name, end[name], float(value), _UNITS.get(name, "s"))
        other = unfinished.symmetric_difference(end["unfinished"])
        if other or len(end["unfinished"]) != len(unfinished):
            message = "the end lists other tasks as unfinished than those that have not finished"
            self._find("task-once", min(other, default=""), message, len(other), "tasks")

    def _described(self, event: Event) -> str:
        what = f" of {event['task']!r}" if "task" in event else ""
        return f"the {event['event']}{what} on {event['vm']} at {event['t']:g} s"
