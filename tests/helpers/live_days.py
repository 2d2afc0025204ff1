"""Days of a replay told to a live policy as they happen, moment by moment."""

from __future__ import annotations

import heapq
import math
import pickle
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from spotbag import (
    LaunchVm,
    LivePolicy,
    OfferPriced,
    Schedule,
    StartTask,
    State,
    TaskFailed,
    TaskFinished,
    TypeLimited,
    VmDraining,
    VmEnded,
    VmHibernated,
    VmReady,
    VmResumed,
)
from spotbag.instances.bags.timeline import Timeline
from spotbag.instances.clouds import Cloud
from spotbag.instances.entries import BASELINE, FULL_SPEED, Slots
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.live import Decided
from spotbag.replay.bags.plan import ReplayPlan
from spotbag.replay.bags.state import Policy
from spotbag.schedules.events import Event

_OF_VMS: dict[str, Any] = {
    "ready": VmReady,
    "notice": VmDraining,
    "hibernate": VmHibernated,
    "stop": VmHibernated,
    "reclaim": VmEnded,
    "resume": VmResumed,
    "restart": VmResumed,
}


def as_the_cloud_does(day: Timeline) -> Timeline:
    """Return a day whose interruptions are of the kind and with the notice of its cloud, whichever that is."""
    events = []
    for event in day.events:
        if event.kind not in ("resume", "capacity", "price"):
            event = event._replace(kind="interrupt", notice_s=None)
        elif event.kind == "capacity":
            event = event._replace(by=None, notice_s=None)
        events.append(event)
    return Timeline(tuple(events), day.name)


def told_of(day: Timeline, records: list[dict[str, Any]]) -> dict[int, list[Event]]:
    """Return the events of each moment of a replay, from its day and its record."""
    told: dict[int, list[Event]] = {}
    for entry in day.events:
        if entry.of_type and entry.time_s <= records[-1]["t"]:
            vms = entry.vms if entry.kind == "capacity" else None if entry.kind == "resume" else 0
            told.setdefault(entry.time_s, []).append(TypeLimited(entry.vm_type, vms))
    at_once = {(record["t"], record["task"]) for record in records if record["event"] == "preempt"}
    for record in records:
        kind, now = record["event"], told.setdefault(record["t"], [])
        if kind in _OF_VMS:
            now.append(_OF_VMS[kind](record["vm"]))
        elif kind == "finish":
            now.append(TaskFinished(record["task"]))
        elif kind == "preempted" and (record["t"], record["task"]) not in at_once:
            now.append(TaskFailed(record["task"]))
        elif kind == "price":
            now.append(OfferPriced(record["type"], record["market"], record["usd_per_hour"]))
    return told


_KEYS = ("event", "task", "vm", "from", "to", "core", "mode", "type", "market")
_STRUCK = ("hibernate", "stop", "reclaim")


def decided_in(records: list[dict[str, Any]]) -> dict[int, Counter[tuple[Any, ...]]]:
    """Return what was decided at each moment of a replay, but for the requests of the plan.

    What starts and is undone in the same second is left out; what goes on on a VM that resumes is started again.
    """
    found: dict[int, Counter[tuple[Any, ...]]] = {}
    running: dict[str, dict[str, Any]] = {}
    for place, record in enumerate(records):
        kind, now_s, now = record["event"], record["t"], found.setdefault(record["t"], Counter())
        starts = []
        if kind == "start":
            running[record["task"]] = record
            starts = [record]
        elif kind in ("finish", "preempted", "migrate", "steal"):
            running.pop(record["task"], None)
        elif kind in ("stop", "reclaim"):
            running = {task: start for task, start in running.items() if start["vm"] != record["vm"]}
        elif kind == "resume":
            starts = [start for start in running.values() if start["vm"] == record["vm"]]
        for start in starts:
            later = [other for other in records[place + 1 :] if other["t"] == now_s]
            undone = [other for other in later if other["event"] in _STRUCK and other["vm"] == start["vm"]]
            moves = ("preempt", "migrate", "steal", *(["finish"] if kind == "resume" else []))
            undone += [other for other in later if other.get("task") == start["task"] and other["event"] in moves]
            if not undone:
                now[tuple(start.get(key) for key in _KEYS)] += 1
        if kind in ("migrate", "steal"):
            now["move", record["task"], None, record["from"], record["to"], *[None] * 4] += 1
        elif kind == "preempt":
            before = [other for other in records[:place] if other["t"] == now_s]
            begun = [other["task"] for other in before if other["event"] == "start"]
            resumed = [other["vm"] for other in before if other["event"] == "resume"]
            if record["task"] not in begun and record["vm"] not in resumed:
                now["preempt", record["task"], *[None] * 7] += 1
        elif kind in ("launch", "terminate"):
            now[tuple(record.get(key) for key in _KEYS)] += 1
    return {now_s: now for now_s, now in found.items() if now}


def decisions_of(decided: Decided, slots: Slots) -> Counter[tuple[Any, ...]]:
    """Return decisions of a live policy in the same form."""
    found: Counter[tuple[Any, ...]] = Counter()
    for one in decided.decisions:
        match type(one).__name__, one:
            case "StartTask", start:
                queue = None if slots.shared else start.core // slots.cores
                told = ("start", start.task, start.vm, None, None, queue, start.mode, None, None)
            case "StopTask", stop:
                told = ("preempt", stop.task, None, None, None, None, None, None, None)
            case "MoveTask", move:
                told = ("move", move.task, None, move.vm, move.to, None, None, None, None)
            case "LaunchVm", launch:
                told = ("launch", None, launch.vm.id, None, None, None, None, launch.vm.type, launch.vm.market)
            case _, end:
                told = ("terminate", None, end.vm, None, None, None, None, None, None)
        found[told] += 1
    return found


def differences(plan: ReplayPlan, policy: Policy, day: Timeline, cloud: Cloud) -> Iterator[str]:
    """Replay a day, have a live policy meet it, and yield where it decides otherwise than the replay did."""
    run = Replay(plan, policy, as_the_cloud_does(day), cloud, record=True)
    gives_up = bool(run.run().unfinished_tasks)  # as nothing can happen any more, which nobody knows who lives the day
    records = run.state.records
    assert records is not None
    first, slots = len(plan.vms), plan.instance.slots
    told = told_of(run.day, records)
    if slots.shared:  # a task that starts has cores that are free, whichever queue it stood in
        records = [record | ({"core": None} if "core" in record else {}) for record in records]
    taken = decided_in(records[first:])
    live = LivePolicy.begin(plan.schedule, type(policy), cloud=cloud)
    state, moments, now_s = State.begin(plan.schedule), sorted(told), 0
    until_s: float | None = 0.0
    while until_s is not None or moments:
        now_s = int(min([*moments[:1], *([] if until_s is None else [until_s])]))
        if now_s > records[-1]["t"] - gives_up:
            break
        moments = [moment for moment in moments if moment > now_s]
        left, found = told.get(now_s, []), Counter[tuple[Any, ...]]()
        while True:  # a VM may be ready in the second in which it is requested
            there = {vm.id for vm in state.vms}
            events = [event for event in left if getattr(event, "vm", None) in {None, *there}]
            left = [event for event in left if event not in events]
            state = state.advance(now_s, *events)
            answer = live.decide(state, *events)
            state, live, until_s = state.advance(now_s, *answer.decisions), answer.policy, answer.until_s
            found += decisions_of(answer, slots)
            if not left or not answer.decisions:
                break
        wanted = taken.pop(now_s, Counter())
        if found != wanted:
            yield f"{now_s} s: decided {dict(found - wanted)}, not {dict(wanted - found)}, of {told.get(now_s)}"
            return
    if gives_up:
        taken.pop(records[-1]["t"], None)
    if taken:
        yield f"not asked at {sorted(taken)}"


@dataclass
class World:
    """A world in which a live policy is carried out: tasks take other times than planned, VMs boot late, some go.

    Attributes
    ----------
    plan : Schedule
        The plan.
    policy : str
        Who decides.
    drawn : random.Random
        What happens.
    longer : tuple of float
        Between which factors of their run times tasks take, whole ones and what is left of them.
    late_s : float
        By how much VMs boot late at the most.
    """

    plan: Schedule
    policy: str
    drawn: random.Random
    longer: tuple[float, float] = (1.0, 1.0)
    late_s: float = 0.0

    def run(self, losses: int) -> float | None:
        """Carry the plan out to its end, and return when that was; so many times a spot VM is taken away.

        None if tasks are left that no VM may take any more. None starts before it is released; those that end after
        they are due are ``late``.
        """
        self.late = set[str]()
        bag = self.plan.instance
        state = State.begin(self.plan)
        live: LivePolicy = LivePolicy.begin(self.plan, self.policy, cloud="aws-terminate")
        happens: list[tuple[float, int, str, str]] = []
        for vm in state.vms:
            self._later(happens, vm.ready_s + self.drawn.uniform(0, self.late_s), "ready", vm.id)
        for _ in range(losses):
            self._later(happens, self.drawn.uniform(0, bag.deadline_s), "lost", "")
        until_s: float | None = 0.0
        while len(state.done) < bag.n_tasks and (happens or until_s is not None):
            event: Event | None = None
            now_s = math.inf if until_s is None else until_s
            if happens and happens[0][0] <= now_s:
                now_s, number, kind, name = heapq.heappop(happens)
                event = self._event(state, kind, name, number)
                if event is None:
                    continue
                if kind == "end" and now_s > bag.due_s[bag.task_group[bag.task_index[name]]]:
                    self.late.add(name)
            told = [] if event is None else [event]
            now_s = max(now_s, state.time_s)
            state = state.advance(now_s, *told)
            answer = live.decide(pickle_again(state), *told)
            state, live, until_s = state.advance(now_s, *answer.decisions), pickle_again(answer.policy), answer.until_s
            for one in answer.decisions:
                if isinstance(one, StartTask):
                    assert now_s >= bag.release_s[bag.task_group[bag.task_index[one.task]]]
                    self._later(happens, now_s + self._takes_s(state, one), "end", one.task)
                elif isinstance(one, LaunchVm):
                    self._later(happens, one.vm.ready_s + self.drawn.uniform(0, self.late_s), "ready", one.vm.id)
        if set(state.done) != set(bag.task_ids):
            return None
        assert not state.vms
        return state.time_s

    def _later(self, happens: list[tuple[float, int, str, str]], at_s: float, kind: str, name: str) -> None:
        self._number = getattr(self, "_number", 0) + 1
        if kind == "end":
            self._ends = getattr(self, "_ends", {}) | {name: self._number}
        heapq.heappush(happens, (at_s, self._number, kind, name))

    def _event(self, state: State, kind: str, name: str, number: int) -> Event | None:
        """What has happened; None if it cannot have happened any more."""
        if kind == "lost":
            spot = [vm.id for vm in state.vms if vm.market == "spot"]
            return VmEnded(self.drawn.choice(spot)) if spot else None
        if kind == "ready":
            return VmReady(name) if any(vm.id == name and vm.status == "launching" for vm in state.vms) else None
        return TaskFinished(name) if name in state.running_ids and self._ends[name] == number else None

    def _takes_s(self, state: State, start: StartTask) -> float:
        bag = self.plan.instance
        vm = next(vm for vm in state.vms if vm.id == start.vm)
        offer = next(one for one in bag.offers if (one.vm_type.name, one.market) == (vm.type, vm.market))
        mode = BASELINE if start.mode == "baseline" else FULL_SPEED
        group = bag.task_group[bag.task_index[start.task]]
        return float(bag.duration_s[group, offer.index, mode]) * self.drawn.uniform(*self.longer)


def pickle_again(value: Any) -> Any:
    """Return what comes back from a file."""
    return pickle.loads(pickle.dumps(value))
