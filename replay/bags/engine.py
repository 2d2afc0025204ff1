"""The replay engine: VMs run the tasks of a plan, the cloud takes them away and gives them back, a policy answers."""

from __future__ import annotations

import copy
import heapq
import math
from collections.abc import Sequence

from ...instances.bags.timeline import QUIET, Timeline, TimelineEvent
from ...instances.clouds import PAPERS, Cloud
from ...instances.entries import RentalOffer
from ..event_loop import EventLoop
from ..vms import LAUNCHING, RUNNING
from .live import LiveState
from .outcome import DayOutcome, outcome_of
from .plan import ReplayPlan
from .policy import Policy
from .state import CYCLE_END, FINISH, IDLE_LIMIT, INTERRUPT, READY, RECALL, START, TRIGGER, WAKE
from .vm import Vm

_NEVER_S = 2**62
_NOISE = 1e-9
_WAKES_UNTIL = 2
"""How often the deadline, or the day if that is longer, passes until policies are woken no more."""


class Replay(EventLoop[DayOutcome]):
    """A replay: the day, the state that it leads to, and the policy that answers.

    `run` goes through to the end; `step` handles all of one moment, after which the replay may be looked at or copied.

    All that happens in one second happens first: tasks end and start, preempted tasks are saved; prices change;
    capacity is back, VMs resume and are booted again; VMs get ready; VMs have notice; VMs are interrupted. Then the
    policy is asked: about tasks that have finished, prices, capacity, VMs that are back, idle ones, those that have
    notice, those that were interrupted, preempted tasks, migration triggers, ends of allocation cycles, ends of idle
    limits, and its own wake-up calls; each by VM, in the order of requests, and only if it is still so. What a decision
    causes at once, a start or an idle VM, follows at once; all else that it causes in this second comes after these
    questions, in the same order.

    A replay ends with the bag, or when nothing can happen any more. That comes even if a policy always asks for another
    wake-up call: none comes after twice the deadline, or twice the last event of the day if that is later.

    Parameters
    ----------
    plan : ReplayPlan
        The plan; never changed.
    policy : Policy
        Answers to events.
    timeline : Timeline
        The day. What it leaves open is as on the cloud.
    cloud : Cloud
        What interruptions are, and how VMs are billed.
    record : bool
        Whether to keep a record of every event and decision.
    law : optional
        What is known of days like this one, for policies that ask for it.

    Attributes
    ----------
    policy, cloud, day : Policy, Cloud, Timeline
        What it was made with; the day as it is on the cloud.
    state : LiveState
        What has happened so far: what the policy sees.
    """

    def __init__(
        self,
        plan: ReplayPlan,
        policy: Policy,
        timeline: Timeline = QUIET,
        cloud: Cloud = PAPERS,
        record: bool = False,
        law: object = None,
    ) -> None:
        self.policy = policy
        self.cloud = cloud
        self.day = timeline.resolved(cloud)
        known = law if type(policy).asks_for_law else None
        self.state = LiveState(policy.name, plan, cloud.billing, record, known)
        self._next = 0
        self._next_s = self.day.events[0].time_s if self.day.events else _NEVER_S
        limit_s = policy.idle_limit_s
        self.state._demand(limit_s is None or limit_s >= 0, f"idle_limit_s must be 0 or more seconds, not {limit_s}")
        if type(policy).woken is not Policy.woken:
            self.state._push(0, WAKE, 0)
        last_s = self.day.events[-1].time_s if self.day.events else 0
        self._last_call_s = _WAKES_UNTIL * max(last_s, plan.instance.deadline_s)
        self._wants_finished = type(policy).finished is not Policy.finished
        # Of each preempted task that the policy has yet to be asked about, the VM: what waits there stays where it is.
        self._held: list[int] = []

    def copy(self) -> Replay:
        """Return a replay that goes on from here on its own; what never changes is shared."""
        twin = Replay.__new__(Replay)
        twin.__dict__.update(self.__dict__)
        state = self.state
        twin.state = state.copy()
        # What the policy remembers of this replay, it remembers of the twin.
        shared = (state.plan, state.instance, state.work)
        memo: dict[int, object] = {id(state): twin.state, id(state.fleet): twin.state.fleet}
        memo |= {id(part): part for part in shared}
        memo |= {id(vm): twin.state.vms[vm.index] for vm in state.vms}
        twin.policy = copy.deepcopy(self.policy, memo)
        return twin

    def outcome(self) -> DayOutcome:
        """Return what an ended replay came to."""
        return outcome_of(self.state)

    # --------------------------------------------------------------------- loop

    def step(self) -> bool:
        """Handle all that happens at the next moment, and ask the policy; False if nothing does, or the bag is done."""
        state = self.state
        queue = state._events
        if state.unfinished == 0 or (not queue and self._next_s == _NEVER_S):
            state.end()
            return False
        before_s = state.now_s
        now_s = state.now_s = min(queue[0][0], self._next_s) if queue else self._next_s
        finished: list[tuple[int, int, int]] = []
        idle: list[Vm] = []
        preempted: list[tuple[int, int]] = []
        vms = state.vms
        happened = False
        # Tasks end and start.
        while queue and queue[0][0] <= now_s and queue[0][1] <= START:
            time_s, kind, _, index, core, epoch = heapq.heappop(queue)
            vm = vms[index]
            if kind == START:
                happened |= state.planned_start(vm, core, time_s)
                continue
            run = vm.running[core]
            if vm.epoch != epoch or run is None or vm.zero_s + run.end_s != time_s:
                continue
            if kind == FINISH:
                if core in vm.dumps:
                    continue
                happened = True
                task = state.finish(vm, core)
                if self._wants_finished:
                    finished.append((index, core, task))
                if vm.n_left == 0:
                    vm.idle_epoch += 1
                    idle.append(vm)
            elif core in vm.dumps:
                happened = True
                preempted.append((index, state.end_preemption(vm, core)))
        if state.unfinished == 0:
            return True
        alone = self._next_s != now_s and (not queue or queue[0][0] > now_s) and not preempted
        if alone and len(idle) <= 1 and not finished:  # as most moments are
            if not happened:
                state.now_s = before_s
            elif idle:
                self._ask_idle(idle[0])
                self._settle()
            return True
        moment = _Moment(finished, idle, preempted)
        if not alone:
            happened |= self._go_on(moment)
        if happened:
            self._ask(moment)
        else:
            state.now_s = before_s
        return True

    def _go_on(self, moment: _Moment) -> bool:
        """Let everything else happen at the present moment, but tasks that end and start; False if nothing does."""
        state = self.state
        now_s, queue, vms = state.now_s, state._events, state.vms
        today = self._take_events() if self._next_s == now_s else ()
        happened = bool(today)
        back: list[Vm] = []
        if today:
            self._change_prices(today, moment)
            back += self._give_capacity(today, moment)
        while queue and queue[0][0] <= now_s and queue[0][1] == RECALL:
            _, _, _, index, _, epoch = heapq.heappop(queue)
            vm = vms[index]
            if vm.epoch == epoch and vm.halted and vm not in back and self._room(vm.offer.vm_type.name, back) > 0:
                back.append(vm)
        for vm in sorted(back, key=_index):
            happened = True
            state.come_back(vm)
            moment.resumed.append(vm)
        struck: dict[int, Vm] = {}
        self._start_due()
        while queue and queue[0][0] <= now_s and queue[0][1] == READY:
            vm = vms[heapq.heappop(queue)[3]]
            if vm.state == LAUNCHING and vm.ready_s == now_s:
                happened = True
                if not state.get_ready(vm):
                    struck[vm.index] = vm
                elif vm.n_left == 0:
                    vm.idle_epoch += 1
                    moment.idle.append(vm)
                self._start_due()
        if today:
            struck |= self._strike(today, moment)
        while queue and queue[0][0] <= now_s and queue[0][1] == INTERRUPT:
            vm = vms[heapq.heappop(queue)[3]]
            if vm.drains_until_s == now_s:
                struck[vm.index] = vm
        while queue and queue[0][0] <= now_s and queue[0][1] >= TRIGGER:
            _, kind, _, index, _, epoch = heapq.heappop(queue)
            if kind in (CYCLE_END, IDLE_LIMIT):
                if vms[index].idle_epoch == epoch and vms[index].idle:
                    moment.cycle_ended.append((kind, index, epoch))
            elif kind == TRIGGER:
                if vms[index].trigger_epoch == epoch and vms[index].gives_tasks:
                    moment.triggers.append((index, epoch))
            elif now_s <= self._last_call_s:
                moment.woken = True
        if struck:
            happened = True
            moment.interrupted = [struck[index] for index in sorted(struck)]
            for vm in moment.interrupted:
                state.interrupt(vm)
        return happened or bool(moment.cycle_ended or moment.triggers or moment.woken)

    # ------------------------------------------------------------------ the day

    def _take_events(self) -> Sequence[TimelineEvent]:
        """Events of the day at the present moment."""
        events, first = self.day.events, self._next
        last = first
        while last < len(events) and events[last].time_s == self._next_s:
            last += 1
        self._next = last
        self._next_s = events[last].time_s if last < len(events) else _NEVER_S
        return events[first:last]

    def _change_prices(self, today: Sequence[TimelineEvent], moment: _Moment) -> None:
        for event in today:
            if event.kind == "price":
                assert event.usd_per_hour is not None
                for offer in self.state.instance.offers:
                    if offer.vm_type.name == event.vm_type and offer.market == event.market:
                        self.state.set_price(offer, event.usd_per_hour)
                        moment.prices.append(offer)

    def _give_capacity(self, today: Sequence[TimelineEvent], moment: _Moment) -> list[Vm]:
        """Raise the capacity of types that are back, wholly or in part; return the VMs that come back."""
        fleet = self.state.fleet
        back: list[Vm] = []
        for event in today:
            name, n = event.vm_type, event.vms
            if event.kind == "resume" and event.vm is None:
                fleet.capacity.pop(name, None)
            elif event.kind == "capacity":
                assert n is not None
                if n < fleet.capacity.get(name, math.inf):
                    continue
                fleet.capacity[name] = n
                self.state.note_capacity(name, n)
            elif event.kind != "resume":
                continue
            waiting = [vm for vm in fleet.spot_vms.get(name, ()) if vm.halted and vm not in back]
            if event.vm is not None:
                waiting = [vm for vm in waiting if vm in fleet.spot_vms[name][event.vm - 1 : event.vm]]
            else:
                moment.capacity.append(name)
            back += waiting[: max(0, int(min(self._room(name, back), len(waiting))))]
        return back

    def _room(self, vm_type: str, back: Sequence[Vm]) -> float:
        """How many more spot VMs of a type there can be, after some that come back."""
        return self.state.fleet.room(vm_type) - sum(vm.offer.vm_type.name == vm_type for vm in back)

    def _strike(self, today: Sequence[TimelineEvent], moment: _Moment) -> dict[int, Vm]:
        """Give notice to the VMs that the events of a moment take away; return those that go at once."""
        at_once: dict[int, Vm] = {}
        for with_notice in (True, False):
            for event in today:
                if bool(event.notice_s) == with_notice and (event.interrupts or event.kind == "capacity"):
                    for vm in self._struck_by(event, moment):
                        kind = event.by if event.kind == "capacity" else event.kind
                        assert kind is not None
                        if not self.state.give_notice(vm, kind, event.notice_s or 0, event.of_type):
                            continue
                        if with_notice:
                            moment.noticed.append(vm)
                        else:
                            at_once[vm.index] = vm
        return at_once

    def _struck_by(self, event: TimelineEvent, moment: _Moment) -> list[Vm]:
        """VMs that run and are taken away; the capacity falls."""
        fleet, name = self.state.fleet, event.vm_type
        if event.vm is not None:
            return [vm for vm in fleet.spot_vms.get(name, ())[event.vm - 1 : event.vm] if vm.state == RUNNING]
        if event.share is not None:
            running = [vm for vm in fleet.spot_vms.get(name, ()) if vm.state == RUNNING and not vm.draining]
            return running[len(running) - math.ceil(event.share * len(running) - _NOISE) :]
        present = fleet.present(name)
        if event.kind == "capacity":
            assert event.vms is not None
            assert event.by is not None
            if fleet.capacity.get(name) != event.vms:
                fleet.capacity[name] = event.vms
                self.state.note_capacity(name, event.vms)
            fleet.struck_by[name] = event.by
            present = present[event.vms :]
        else:
            fleet.capacity[name] = 0
            fleet.struck_by[name] = event.kind
        if name not in moment.capacity:
            moment.capacity.append(name)
        return [vm for vm in present if vm.state == RUNNING]

    # ------------------------------------------------------------ the questions

    def _ask(self, moment: _Moment) -> None:
        """Ask the policy about all that has happened, then settle what its decisions cause at once."""
        state, policy = self.state, self.policy
        vms = state.vms
        self._held = [index for index, _ in moment.preempted]
        for index, _, task in sorted(moment.finished):
            policy.finished(state, vms[index], task)
            self._settle()
        for offer in moment.prices:
            policy.price_changed(state, offer)
            self._settle()
        for name in moment.capacity:
            policy.capacity_changed(state, name)
            self._settle()
        for vm in moment.resumed:
            if vm.state <= RUNNING:
                policy.resumed(state, vm)
                self._settle()
                if vm.idle:
                    self._await_cycle_end(vm)
        moment.idle.sort(key=_index)
        for vm in moment.idle:
            self._ask_idle(vm)
            self._settle()
        for vm in sorted(moment.noticed, key=_index):
            if vm.draining:
                policy.noticed(state, vm)
                self._settle()
        for vm in moment.interrupted:
            if vm.halted:
                policy.hibernated(state, vm)
            elif vm.reclaimed:
                policy.lost(state, vm)
            self._settle()
        for index, task in sorted(moment.preempted):
            vm = vms[index]
            if any(run.task == task for run, _ in vm.waiting_runs()):
                policy.preempted(state, vm, task)
            self._held.remove(index)
            if index not in self._held:
                state._restless.append(vm)
            self._settle()
        for index, epoch in sorted(moment.triggers):
            self._ask_trigger(vms[index], epoch)
        for kind, index, epoch in sorted(moment.cycle_ended):
            self._ask_cycle_end(vms[index], kind, epoch)
        if moment.woken:
            if state.records is not None:
                state._note("wake")
            policy.woken(state)
            self._settle()

    def _ask_trigger(self, vm: Vm, epoch: int) -> None:
        if vm.trigger_epoch != epoch or not vm.gives_tasks:
            return
        state = self.state
        vm.trigger_s = None
        vm.trigger_epoch += 1
        state.counts["events"] += 1
        if state.records is not None:
            state._note("trigger", vm=vm.name)
        self.policy.trigger_reached(state, vm)
        self._settle()

    def _ask_cycle_end(self, vm: Vm, kind: int, epoch: int) -> None:
        if vm.idle_epoch != epoch or not vm.idle:
            return
        state = self.state
        state.counts["events"] += 1
        if state.records is not None:
            if kind == CYCLE_END:
                state._note("cycle-end", vm=vm.name)
            else:
                state._note("idle-limit", vm=vm.name, idle_s=self.policy.idle_limit_s)
        self.policy.cycle_ended(state, vm)
        self._settle()

    def _ask_idle(self, vm: Vm) -> None:
        if vm.idle:
            self.policy.idle(self.state, vm)
            if vm.idle:
                self._await_cycle_end(vm)

    def _settle(self) -> None:
        """Let the policy answer for VMs that it has terminated; let what waits move up where tasks were taken away."""
        state = self.state
        while state._ended or state._restless:
            if state._ended:
                self.policy.terminated(state, state._ended.pop(0))
                continue
            vm = state._restless.pop(0)
            if vm.index in self._held:
                continue
            if vm.disordered and vm.state == RUNNING and not vm.draining:
                state.move_up(vm)
            self._ask_idle(vm)
        self._start_due()

    def _start_due(self) -> None:
        """Start tasks that only waited for all others of the moment to free their memory."""
        state = self.state
        queue = state._events
        while queue and queue[0][1] == START and queue[0][0] <= state.now_s:
            time_s, _, _, index, core, _ = heapq.heappop(queue)
            state.planned_start(state.vms[index], core, time_s)

    def _await_cycle_end(self, vm: Vm) -> None:
        """Await the end of the allocation cycle of an idle VM; the event comes once for each time that it is idle.

        So does the end of the time for which the policy keeps it, if it has a limit.
        """
        state = self.state
        vm.idle_epoch += 1
        cycle_s = state.instance.allocation_cycle_s
        cycles = max(-(-vm.uptime_s(state.now_s) // cycle_s), 1)
        state._push(vm.zero_s + cycles * cycle_s, CYCLE_END, vm.index, 0, vm.idle_epoch)
        limit_s = self.policy.idle_limit_s
        if limit_s is not None:
            state._push(state.now_s + limit_s, IDLE_LIMIT, vm.index, 0, vm.idle_epoch)


class _Moment:
    """What has happened at a moment, for the policy to be asked about."""

    __slots__ = (
        "capacity",
        "cycle_ended",
        "finished",
        "idle",
        "interrupted",
        "noticed",
        "preempted",
        "prices",
        "resumed",
        "triggers",
        "woken",
    )

    def __init__(self, finished: list[tuple[int, int, int]], idle: list[Vm], preempted: list[tuple[int, int]]) -> None:
        self.finished = finished
        self.idle = idle
        self.preempted = preempted
        self.prices: list[RentalOffer] = []
        self.capacity: list[str] = []
        self.resumed: list[Vm] = []
        self.noticed: list[Vm] = []
        self.interrupted: list[Vm] = []
        self.triggers: list[tuple[int, int]] = []
        self.cycle_ended: list[tuple[int, int, int]] = []
        self.woken = False


def _index(vm: Vm) -> int:
    return vm.index
