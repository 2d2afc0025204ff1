"""A policy that goes along with what really happens: asked at each event, it says what it would do now.

The engine of replays is set up as a day that begins with the plan, and whose events are known only as they happen:
tasks end and VMs come when the caller says so, and not when they were expected to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...core.errors import input_error, public
from ...core.quantities import STATED
from ...instances.clouds import Cloud
from ...instances.entries import FULL_SPEED, named_cores
from ...schedules import events
from ...schedules.events import Draft, Event, wrong_state
from ...schedules.schedule import Schedule
from ...schedules.state import State
from ...schedules.timing import require_no_setups, with_free_slots
from ...schedules.vm_state import VmState
from ..engines import HIBERNATED, LAUNCHING, RUNNING, STOPPED, TERMINATED
from ..policies import Given
from . import moments, rows, rules
from .engine import Replay
from .interpreted import add_noticed, note, pop
from .plan import CheckedPlan, checked, replay_plan
from .policies import KIND
from .policies.static import OnDemand
from .record import event_records
from .rows import NONE, NOTED
from .runs import chosen_cloud
from .state import Policy, ReplayState, Vm, session_billing

_LONGER = 0.1
"""Time that is still expected of what takes longer than expected, as a part of what it has taken."""


@dataclass(frozen=True, slots=True)
class StartTask(events.TaskStarted):
    """A task is to start now on a core of a VM; on a burstable one, in which mode."""


@dataclass(frozen=True, slots=True)
class StopTask(events.TaskFailed):
    """A task that runs is to stop; with a checkpoint, once that is written: then it has failed, and waits."""

    checkpoint: bool = False

    def happen(self, after: Draft) -> None:
        """Have the task wait, if it is to stop at once."""
        if not self.checkpoint:
            events.TaskFailed.happen(self, after)


@dataclass(frozen=True, slots=True)
class MoveTask(events.TaskFailed):
    """A task is to wait on another VM from now on; if it runs, it is to stop, and goes on from its last checkpoint."""

    vm: str
    to: str

    def happen(self, after: Draft) -> None:
        """Have the task wait, if it runs."""
        if after.where(self.task) is not None:
            events.TaskFailed.happen(self, after)


@dataclass(frozen=True, slots=True)
class LaunchVm(events.VmRequested):
    """A VM is to be requested."""


@dataclass(frozen=True, slots=True)
class EndVm(events.VmEnded):
    """A VM is to be let go: nothing is left for it."""


Decision: TypeAlias = StartTask | StopTask | MoveTask | LaunchVm | EndVm


@dataclass(frozen=True, slots=True)
class Decided:
    """Answer of a policy.

    Attributes
    ----------
    decisions : tuple of Decision
        What is to be done now, in this order; each is the event that it makes once it is done.
    until_s : float, optional
        When to ask again if nothing happens before, in seconds since the bag was begun; None if that need not be.
    policy : LivePolicy
        The policy after that.
    """

    decisions: tuple[Decision, ...]
    until_s: float | None
    policy: LivePolicy


class LivePolicy:
    """A policy that goes along with what really happens to a plan.

    It never changes: `decide` returns the next one, with all that is kept: what waits on which core, which rescue is
    ready, when what is to be looked at. Whoever wants to go on after a crash keeps it (`pickle`) with the state.
    """

    __slots__ = ("_replay",)

    def __init__(self, replay: Replay) -> None:
        self._replay = replay

    @classmethod
    @public
    def begin(
        cls, plan: Schedule | CheckedPlan, policy: Given[Policy] = "on-time", *, cloud: Cloud | str | None = None
    ) -> LivePolicy:
        """Return a policy at the beginning of a plan, whose VMs have been requested, as in `State.begin`.

        Parameters
        ----------
        plan : Schedule
            A plan for the whole bag.
        policy : str, Policy or callable
            As `replay_day` takes it. It is told nothing of what is to be expected of the days.
        cloud : Cloud or str, optional
            What interruptions are, how long the notice is, and how VMs are billed; see `replay_day`.

        Raises
        ------
        InputError
            If that is not a policy, or one that knows no dates, and tasks have some.
        SpotbagError
            If the plan cannot be carried out, or is one from a state.
        """
        require_no_setups(plan.instance, "a live policy", "plan anew by replan, which does, whenever something happens")
        plan = checked(plan)
        plan.demand_possible()
        made = KIND.single(policy, 0)(0)
        if isinstance(made, OnDemand):
            raise input_error("policy", "'on-demand' is a price to compare with: follow a plan on demand by 'static'")
        replay = Replay(replay_plan(plan.schedule), made, cloud=chosen_cloud(cloud, plan.instance), record=True)
        replay.state.notes = []
        return cls(replay)

    @public
    def decide(self, state: State, *told: Event) -> Decided:
        """Return the decisions of the policy at this moment.

        Parameters
        ----------
        state : State
            The present state, with what has happened and what was decided before.
        *told : Event
            What has happened since it was last asked, as handed to `State.advance`; none if it is only time to ask. Of
            one moment, they are taken in the order in which a replay has them (`spotbag.replay.bags.engine.Replay`).

        Raises
        ------
        InputError
            If the state or an event contradicts what the policy knows, or what it cannot answer has happened.
        """
        replay = self._replay.copy()
        r = replay.state
        now_s = math.ceil(state.time_s - STATED)
        if now_s < r.now_s:
            raise wrong_state(f"is at {state.time_s:g} s, and the policy was asked at {r.now_s} s")
        r.now_s = now_s
        if not r.over:
            _Moment(replay, state, told).happen()
            if r.unfinished == 0:
                moments.end(r)
        # Times of a policy are whole seconds: what is released within this one is told when it is.
        notes: list[Any] = r.notes
        release_s = {note: r.groups[r.tasks[note[4]].group].ready_s for note in notes if note[1] == NOTED.START}
        held = {note: at_s for note, at_s in release_s.items() if at_s > state.time_s}
        r.notes = [note for note in r.notes if note not in held]
        decisions, until_s = tuple(_decisions(r, state)), _next_look_s(r)
        r.notes = [*held]
        return Decided(decisions, float(min(held.values())) if held else until_s, LivePolicy(replay))


def _decisions(r: ReplayState, state: State) -> Iterable[Decision]:
    """Yield the decisions, from the record, but for those that were undone within the moment."""
    cores = _Cores(r, state)
    named = {vm.name: vm for vm in r.vms}
    records = event_records(r.instance, [*named], [vm.offer_index for vm in r.vms], r.notes)  # type: ignore[arg-type]
    last = {record["task"]: record for record in records if record["event"] == "start"}
    begun = set[str]()
    for record in records:
        kind, task, vm = record["event"], record.get("task", ""), named.get(record.get("vm", ""))
        if kind == "start" and vm is not None:
            begun.add(task)
            run = r.tasks[r.instance.task_index[task]]
            if record is last[task] and run.running and run.vm == vm.index and vm.state == RUNNING:
                mine = cores.given(vm, task, record["core"])
                yield StartTask(task, vm.name, mine[0], record.get("mode"), mine if len(mine) > 1 else None)
        elif kind == "preempt" and task not in begun:
            goes_on = record["checkpoint"] and record["until_s"] > r.now_s
            cores.free("" if goes_on else task)
            yield StopTask(task, goes_on)
        elif kind in ("migrate", "steal"):
            cores.free(task)
            yield MoveTask(task, record["from"], record["to"])
        elif kind == "terminate":
            yield EndVm(record["vm"])
        elif kind == "launch" and vm is not None:
            usd = r.offers[vm.offer_index].now_usd_per_hour
            of = {"type": record["type"], "market": record["market"], "price_usd_per_hour": usd}
            of["billing"] = session_billing(r, vm)
            yield LaunchVm(VmState(id=vm.name, status="launching", ready_s=float(vm.ready_s), **of))


class _Cores:
    """The slots that tasks have on VMs, by the state, and what of the others those get that start."""

    def __init__(self, r: ReplayState, state: State) -> None:
        self.r, self.slots = r, r.instance.slots
        self.of_vm: dict[str, dict[str, tuple[int, ...]]] = {
            vm.id: {run.task: self.slots.slots_of(named_cores(run)) for run in vm.running}
            for vm in (state.vms if self.slots.shared else ())
        }

    def given(self, vm: Vm, task: str, slot: int) -> tuple[int, ...]:
        """Return the cores that a task starts on: where tasks share cores, not those of the queue that it stood in."""
        if not self.slots.shared:
            return self.slots.cores_of((slot,))
        known = self.of_vm.get(vm.name, {}) | {task: ()}
        need = {name: self.r.memory_kb(self.r.instance.task_index[name]) for name in known}
        self.of_vm[vm.name] = with_free_slots(vm.vcpus, known, need)
        return self.slots.cores_of(self.of_vm[vm.name][task])

    def free(self, task: str) -> None:
        """Have a task run no more."""
        for tasks in self.of_vm.values():
            tasks.pop(task, None)


def _next_look_s(r: ReplayState) -> float | None:
    """Time of the next question: at the next timer of the policy, or when something expected has not happened."""
    if r.over:
        return None
    times_s = [entry[0] for entry in r.queue if entry[0] > r.now_s and entry[1] in _TIMERS]
    for vm in r.vms:
        if vm.state == LAUNCHING:
            times_s.append(vm.ready_s + 1)
        elif vm.state == RUNNING:
            times_s += [vm.zero_s + run.end_s + 1 for run in vm.running if run is not None]
    return float(min(times_s)) if times_s else None


_TIMERS = (rows.START, rows.TRIGGER, rows.CYCLE_END, rows.IDLE_LIMIT, rows.WAKE)
"""Events of the queue that follow from decisions; when the others happen, the caller says."""


class _Moment:
    """A moment of a live day: what `moments.step` does in a replay, of events that are told."""

    def __init__(self, replay: Replay, state: State, told: Sequence[Event]) -> None:
        self.r: Any = replay.state
        self.cloud, self.last_call_s, self.state = replay.cloud, replay._last_call_s, state
        told_of = [event.task for event in told if isinstance(event, events.TaskWithdrawn)]
        if withdrawn := [*told_of, *(task for task in state.withdrawn if task in self.r.instance.task_index)]:
            raise wrong_state(f"has withdrawn the task {withdrawn[0]!r}, which no policy knows: replan the rest")
        gone = set[str]()
        self.afterwards: list[Event] = []  # a VM may be back in the second in which it goes
        for event in told:
            if isinstance(event, events.VmResumed | events.VmReady) and event.vm in gone:
                self.afterwards.append(event)
            gone |= {event.vm} if isinstance(event, events.VmHibernated) else set()
        self.events = sorted((event for event in told if event not in self.afterwards), key=self.phase)
        self.vms: dict[str, Vm] = {vm.name: vm for vm in replay.state.vms}
        self.leaving = {event.vm for event in self.events if isinstance(event, events.VmEnded | events.VmHibernated)}
        self.happened = self.deviates = self.asked = False

    def happen(self) -> None:
        """Let events that are told, and those that are due, happen; ask the policy."""
        self.expect()
        self.go_on()
        while self.r.unfinished and (self.afterwards or (self.r.queue and self.r.queue[0][0] <= self.r.now_s)):
            self.events, self.afterwards = self.afterwards, []
            self.go_on()

    def go_on(self) -> None:
        """Let events that are told happen, or decisions for this very moment, and ask the policy."""
        r = self.r
        r.n_idle = r.n_finished = r.n_preempted = 0
        moments.forget_moment(r)
        r.woken, self.happened = int(self.deviates), False
        r.priced_now, r.types_now = [], []
        due = []
        while r.queue and r.queue[0][0] <= r.now_s:
            due.append(pop(r))
        self.take(range(_RETURNS))
        for time_s, kind, v, core, _ in due:
            if kind == rows.START:
                self.start(r.vms[v], core, time_s)
        moments.start_due(r)
        self.take(range(_RETURNS, _RETURNS + 1))
        self.bring_back()
        self.take(range(_RETURNS + 1, _NEVER))
        for _, kind, v, _, epoch in due:
            if kind in (rows.TRIGGER, rows.CYCLE_END, rows.IDLE_LIMIT, rows.WAKE):
                moments.list_timer(r, kind, v, epoch, self.last_call_s)
        moments.sort_numbers(r.struck_now, r.n_struck)
        for v in r.struck_now[: r.n_struck]:
            self.lose(r.vms[v])
        for event in self.events:
            if isinstance(event, events.TaskSaved):
                self.saved(event)
        if not self.asked:  # later in the moment, what was decided is not done yet
            self.refuse_other()
        self.asked, self.deviates = True, False
        if r.unfinished and (self.happened or r.n_unused or r.n_triggered or r.woken):
            moments.ask(r)

    def bring_back(self) -> None:
        """Let VMs come back; on one that has hibernated, what ran there goes on."""
        r = self.r
        back = [r.vms[v] for v in r.back_now[: r.n_back]]
        moments.bring_back(r)
        for vm in back:
            for core, slot in enumerate(r.cores[vm.index]):
                if vm.state == RUNNING and slot.running != NONE and r.tasks[slot.running].dumping_s == NONE:
                    run = r.tasks[slot.running]
                    note(r, NOTED.START, vm.index, core, slot.running, run.end_s - run.start_s, run.mode, run.saved)
        moments.start_due(r)

    def take(self, phases: range) -> None:
        """Let the events of some phases happen."""
        for event in self.events:
            if self.phase(event) in phases:
                self.happened = True
                _HANDLERS[type(event)](self, event)

    def phase(self, event: Event) -> int:
        """Order of an event within its moment: a type has room before VMs are ready, and none after."""
        if isinstance(event, events.TypeLimited) and event.vms is not None:
            there = self.r.types[self.r.offers[self.offer(event.type, "spot")].type].capacity
            return _PHASES[events.TypeLimited] if NONE < there <= event.vms else _PHASES[events.VmDraining]
        return _PHASES.get(type(event), _NEVER)

    # ---------------------------------------------------------- what was expected

    def expect(self) -> None:
        """Expect tasks to end, and VMs to be ready, when the state says so; later, if that has not come."""
        r = self.r
        ready = {event.vm for event in self.events if isinstance(event, events.VmReady)} | self.leaving
        ended = {event.task for event in self.events if isinstance(event, events.TaskFinished)}
        known = {run.task: run.end_s for vm in self.state.vms for run in vm.running if run.end_s is not None}
        launching = {vm.id: vm.ready_s for vm in self.state.vms if vm.status == "launching"}
        for vm in r.vms:
            if vm.state == LAUNCHING:
                at_s = math.ceil(launching.get(vm.name, vm.ready_s) - STATED)
                at_s = r.now_s if vm.name in ready else self.later(at_s, r.boot_overhead_s)
                self.shift(vm, at_s - vm.ready_s)
            elif vm.state == RUNNING:
                changed = False
                for task in [slot.running for slot in r.cores[vm.index] if slot.running != NONE]:
                    run, name = r.tasks[task], r.instance.task_ids[task]
                    if run.dumping_s != NONE and name not in ended:
                        continue
                    end_s, taken_s = vm.zero_s + run.end_s, r.now_s - vm.zero_s - run.start_s
                    at_s = r.now_s if name in ended else self.later(math.ceil(known.get(name, end_s) - STATED), taken_s)
                    changed |= at_s != end_s
                    run.end_s = at_s - vm.zero_s
                if changed:
                    self.retime(vm)
                if vm.bursts and rules.unbounded_credits(r, vm, r.now_s) < 0:  # spent by what takes longer
                    rules.count_running(r, vm, FULL_SPEED, 0)

    def later(self, at_s: int, taken_s: int) -> int:
        """Time at which something is expected that takes longer than it should have taken."""
        return at_s if at_s > self.r.now_s else self.r.now_s + max(math.ceil(_LONGER * taken_s), 1)

    def shift(self, vm: Vm, by_s: int) -> None:
        """Have a VM that is launching be ready at another moment."""
        if by_s:
            vm.since_s += by_s if vm.since_s == vm.ready_s else 0
            vm.ready_s, vm.zero_s = vm.ready_s + by_s, vm.zero_s + by_s
            if self.r.has_releases:  # which come neither later nor sooner
                rules.list_anew(self.r, vm)
            self.deviate()

    def retime(self, vm: Vm) -> None:
        """Have waiting tasks of a VM wait for those that take longer, or for less."""
        rules.retime(vm)
        vm.disordered = 1
        if vm.state == RUNNING and vm.gone_s == NONE:
            rules.move_up(self.r, vm)
        self.deviate()

    def deviate(self) -> None:
        """Have the policy look at it all anew."""
        self.deviates, self.r.woken, self.r.spread_known = True, 1, 0

    def start(self, vm: Vm, core: int, time_s: int) -> None:
        """Start the task that was to start on a core; one that should have started earlier is late."""
        slot = self.r.cores[vm.index][core]
        if time_s == self.r.now_s:
            rules.planned_start(self.r, vm, core, time_s)
        elif slot.running == NONE and slot.first != NONE and vm.zero_s + self.r.tasks[slot.first].start_s == time_s:
            self.retime(vm)

    # -------------------------------------------------------------------- events

    def vm(self, name: str, *states: int) -> Vm:
        """Return a VM that is in one of some states."""
        vm = self.vms.get(name)
        if vm is None or vm.state not in states:
            raise wrong_state(f"has an event of the VM {name!r}, which the policy does not know in that state")
        return vm

    def running(self, name: str) -> tuple[Vm, int, int]:
        """Return where a task runs."""
        task = self.r.instance.task_index.get(name, NONE)
        vm = self.r.vms[self.r.tasks[task].vm] if task != NONE and self.r.tasks[task].running else None
        if vm is None or vm.state != RUNNING:
            raise wrong_state(f"has an event of the task {name!r}, which runs nowhere by what was decided")
        return vm, self.r.tasks[task].core, task

    def finished(self, event: events.TaskFinished) -> None:
        """End a task, and start the next."""
        r = self.r
        vm, core, task = self.running(event.task)
        r.tasks[task].dumping_s = NONE
        rules.finish(r, vm, core)

    def failed(self, event: events.TaskFailed) -> None:
        """Have a task wait behind what waits on its core, as one whose checkpoint is written."""
        vm, core, _ = self.running(event.task)
        moments.list_preempted(self.r, vm, core)

    def saved(self, event: events.TaskSaved) -> None:
        """Have a task that does not run go on from what is saved."""
        r = self.r
        if event.task not in r.instance.task_index:
            raise wrong_state(f"has an event of the task {event.task!r}, which {r.instance.name!r} does not have")
        run = r.tasks[r.instance.task_index[event.task]]
        vm = r.vms[run.vm]
        if run.vm == NONE or (run.running and vm.state == RUNNING):
            return
        run.saved, run.written, run.written_s = event.fraction, 0, 0.0
        if run.running:  # when its VM went: nothing is to be added to it
            run.start_s = rules.uptime_at(vm, r.now_s)
        else:
            run.end_s = run.start_s + rules.duration_of(r, run.group, vm.offer_index, run.mode, run.saved)
            self.retime(vm)

    def priced(self, event: events.VmPriced | events.OfferPriced) -> None:
        """Change the price of an offer."""
        if isinstance(event, events.VmPriced):
            offer = self.vm(event.vm, LAUNCHING, RUNNING, *_HALTED).offer_index
        else:
            offer = self.offer(event.type, event.market)
        if self.r.offers[offer].now_usd_per_hour != event.price_usd_per_hour:
            self.r.offers[offer].now_usd_per_hour = event.price_usd_per_hour
            self.r.priced_now.append(offer)
            self.r.n_priced += 1

    def offer(self, vm_type: str, market: str) -> int:
        """Return which offer it is."""
        for offer in self.r.instance.offers:
            if (offer.vm_type.name, offer.market) == (vm_type, market):
                return int(offer.index)
        raise wrong_state(f"has an event of {market} VMs of {vm_type!r}, which {self.r.instance.name!r} does not offer")

    def limited(self, event: events.TypeLimited) -> None:
        """Have room for other numbers of spot VMs of a type."""
        vm_type = self.r.offers[self.offer(event.type, "spot")].type
        self.r.types[vm_type].capacity = NONE if event.vms is None else event.vms
        if vm_type not in self.r.types_now:
            self.r.types_now.append(vm_type)
            self.r.n_types_now += 1

    def resumed(self, event: events.VmResumed) -> None:
        """Let a VM come back."""
        r, vm = self.r, self.vm(event.vm, *_HALTED)
        vm.listed = 1
        r.back_now[r.n_back] = vm.index
        r.n_back += 1

    def ready(self, event: events.VmReady) -> None:
        """Let a VM take tasks."""
        vm = self.vm(event.vm, LAUNCHING)
        if not rules.get_ready(self.r, vm) and vm.name not in self.leaving:  # it is there, whatever room there was
            vm.gone_s = vm.interrupted_by = NONE
            rules.move_up(self.r, vm)
        if vm.n_left == 0:
            rules.list_idle(self.r, vm)
        moments.start_due(self.r)

    def draining(self, event: events.VmDraining) -> None:
        """Give a VM notice, of as many seconds as its cloud gives if that is not said."""
        vm = self.vm(event.vm, RUNNING)
        until_s = self.r.now_s + self.cloud.notice_s if event.until_s is None else math.floor(event.until_s)
        notice_s = max(until_s - self.r.now_s, 1)
        if rules.give_notice(self.r, vm, _KINDS[self.cloud.interruption], notice_s, 0):
            add_noticed(self.r, vm.index)

    def credited(self, event: events.VmCredits) -> None:
        """Count on the credits that a VM has."""
        vm = self.vm(event.vm, RUNNING)
        rules.count_running(self.r, vm, FULL_SPEED, 0)
        vm.credit_balance = event.credits

    def gone(self, event: events.VmEnded | events.VmHibernated) -> None:
        """List a VM as one that is taken away now."""
        vm = self.vm(event.vm, LAUNCHING, RUNNING, TERMINATED, *_HALTED)
        if vm.state == TERMINATED:  # as was decided
            return
        if not vm.spot and vm.n_left:
            raise wrong_state(f"has lost the on-demand VM {vm.name!r}, which no policy counts with: replan the rest")
        if vm.state == LAUNCHING:
            vm.state, vm.session_from_s = RUNNING, self.r.now_s
        kind = rows.TERMINATE
        if isinstance(event, events.VmHibernated):
            kind = rows.STOP if self.cloud.interruption == "stop" else rows.HIBERNATE
        if rules.is_halted(vm) or not rules.give_notice(self.r, vm, kind, 0, 0):
            vm.interrupted_by = kind
        moments.list_struck(self.r, vm)

    def lose(self, vm: Vm) -> None:
        """Take a VM away: one that runs, or one that will not come back."""
        r = self.r
        vm.listed = 0
        if vm.state == RUNNING and vm.spot:
            rules.interrupt(r, vm)
        elif vm.spot:
            rules.end_halt(r, vm)
            vm.state, vm.reclaimed, vm.terminated_s = TERMINATED, 1, r.now_s
            vm.epoch += 1
            rules.give_back(r, vm)
        else:
            rules.terminate(r, vm)

    # ------------------------------------------------------------- contradictions

    def refuse_other(self) -> None:
        """Refuse a state in which something has happened that is not told, or that was not decided."""
        tasks, ids = self.r.tasks, self.r.instance.task_ids
        done = {ids[task] for task, run in enumerate(tasks) if run.ended_on != NONE}
        for name in done.symmetric_difference(self.state.done):
            what = "has not" if name in done else "has"
            raise wrong_state(f"{what} finished the task {name!r}, other than by the events")
        there_still = {vm.id for vm in self.state.vms}
        for name, known in self.vms.items():
            if known.state != TERMINATED and name not in there_still:
                raise wrong_state(f"has the VM {name!r} no more, other than by the events")
        slots = self.r.instance.slots  # where tasks share them, queues are no cores
        running = {(ids[task], run.vm, run.core * slots.cores) for task, run in enumerate(tasks) if run.running}
        places = {place[:2] for place in running} if slots.shared else running
        for vm in self.state.vms:
            there = self.vms.get(vm.id)
            if there is None or there.state == TERMINATED:
                raise wrong_state(f"has the VM {vm.id!r}, which the policy has not requested, or has let go")
            for run in vm.running:
                if (run.task, there.index, run.core)[: 2 if slots.shared else 3] not in places:
                    where = f"on core {run.core} of {vm.id!r}"
                    raise wrong_state(f"has the task {run.task!r} {where}, where it was not to start")


_HALTED = (HIBERNATED, STOPPED)
_KINDS = {"hibernate": rows.HIBERNATE, "stop": rows.STOP, "terminate": rows.TERMINATE}
_HANDLERS: Mapping[type, Callable[[_Moment, Any], None]] = {
    events.TaskFinished: _Moment.finished,
    events.TaskFailed: _Moment.failed,
    events.VmPriced: _Moment.priced,
    events.OfferPriced: _Moment.priced,
    events.TypeLimited: _Moment.limited,
    events.VmResumed: _Moment.resumed,
    events.VmReady: _Moment.ready,
    events.VmDraining: _Moment.draining,
    events.VmHibernated: _Moment.gone,
    events.VmEnded: _Moment.gone,
    events.VmCredits: _Moment.credited,
}
_PHASES = {kind: phase for phase, kind in enumerate(_HANDLERS)}
"""Order of the events of a moment; all others change nothing that is not in the state."""
_RETURNS, _NEVER = _PHASES[events.VmResumed], len(_PHASES)
