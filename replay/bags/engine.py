"""The replay engine: an event loop in which VMs run the tasks of a plan, hibernate and resume, and a policy answers."""

from __future__ import annotations

import copy
import heapq

from ...instances.bags.timeline import QUIET, Timeline
from ...instances.durations import FULL_SPEED
from ..event_loop import EventLoop
from ..vms import HIBERNATED, PAPERS_BILLING, RUNNING, TERMINATED, Billing
from .outcome import DayOutcome, outcome_of
from .plan import ReplayPlan
from .policy import Policy
from .state import CYCLE_END, FINISH, HIBERNATE, IDLE_LIMIT, READY, RESUME, START, TRIGGER, ReplayState
from .vm import Vm, move_up

_ABOVE_ALL = -1
"""Stands for the VM in events of a whole type."""


class Replay(ReplayState, EventLoop[DayOutcome]):
    """A replay: its state, the policy, and the events that happen.

    `run` goes through to the end; `step` handles one event, after which the replay may be looked at or copied.

    Parameters
    ----------
    policy : Policy
        Answers to events.
    plan, timeline, billing, record
        See `ReplayState`.

    Attributes
    ----------
    policy : Policy
        What it was made with; what else it knows is in `ReplayState`.
    """

    def __init__(
        self,
        plan: ReplayPlan,
        policy: Policy,
        timeline: Timeline = QUIET,
        billing: Billing = PAPERS_BILLING,
        record: bool = False,
    ) -> None:
        super().__init__(policy.name, plan, timeline, billing, record)
        self.policy = policy
        self._day_events = sorted(timeline.events, key=lambda event: (event.time_s, event.kind == "hibernate"))
        self._next_of_timeline = 0
        limit_s = policy.idle_limit_s
        self._demand(limit_s is None or limit_s >= 0, f"idle_limit_s must be 0 or more seconds, not {limit_s}")
        self._wants_finished = type(policy).finished is not Policy.finished
        self._await_timeline()

    def copy(self) -> Replay:
        """Return a replay that goes on from here on its own; what never changes is shared."""
        twin = Replay.__new__(Replay)
        twin.__dict__.update(self.__dict__)
        twin.fleet = self.fleet.copy()
        twin.saved = self.saved.copy()
        twin.records = None if self.records is None else self.records.copy()
        twin.counts = self.counts.copy()
        twin._events = self._events.copy()
        twin._restless = [twin.vms[vm.index] for vm in self._restless]
        # What the policy remembers of this replay, it remembers of the twin.
        shared = (self.plan, self.instance, self.work, self.day)
        memo: dict[int, object] = {id(self): twin, id(self.fleet): twin.fleet, **{id(part): part for part in shared}}
        memo |= {id(vm): twin.vms[vm.index] for vm in self.vms}
        twin.policy = copy.deepcopy(self.policy, memo)
        return twin

    def terminate(self, vm: Vm) -> None:
        """Terminate a VM without tasks; its bill ends, and the policy answers."""
        super().terminate(vm)
        self.policy.terminated(self, vm)

    # --------------------------------------------------------------------- loop

    def step(self) -> bool:
        """Handle the next event; False if there is none, or the bag is done."""
        if self.unfinished == 0 or not self._events:
            self._end()
            return False
        time, kind, _, index, datum, epoch = heapq.heappop(self._events)
        if kind == FINISH:
            vm = self.vms[index]
            if vm.epoch == epoch:
                self.now_s = time
                self._finish(vm, datum)
        elif kind == START:
            self._planned_start(self.vms[index], datum, time)
        elif kind in (CYCLE_END, IDLE_LIMIT):
            self._idle_until(self.vms[index], epoch, time, kind)
        elif kind == TRIGGER:
            self._trigger(self.vms[index], epoch, time)
        else:
            self.now_s = time
            if kind == READY:
                self._ready(self.vms[index])
            else:
                self._happen(kind)
        if self._restless:
            self._settle()
        return True

    # -------------------------------------------------------------------- tasks

    def _planned_start(self, vm: Vm, core: int, time_s: int) -> None:
        queue = vm.waiting[core]
        # What was planned when this event was made may have moved since.
        if vm.state == RUNNING and vm.running[core] is None and queue and vm.zero_s + queue[0].start_s == time_s:
            self.now_s = time_s
            self._start(vm, core)

    def _finish(self, vm: Vm, core: int) -> None:
        run = vm.running[core]
        assert run is not None
        vm.running[core] = None
        vm.n_left -= 1
        vm.task_finished()
        self.unfinished -= 1
        self.last_finish_s = self.now_s
        self.counts["events"] += 1
        if vm.spot:
            saved = self.saved.get(run.task, 0.0) if self.saved else 0.0
            self.counts["checkpoints"] += self.work.checkpoints(run.task, vm.offer_index, saved)
        elif vm.burstable is not None:
            self._check_credits(vm)
            burst = run.mode == FULL_SPEED
            vm.count_running(self.now_s, -int(burst), -int(not burst))
        if self.saved:
            self.saved.pop(run.task, None)
        if self.now_s > self.instance.deadline_s:
            self.counts["late_tasks"] += 1
        if self.records is not None:
            self._note("finish", vm=vm.name, core=core, task=self.instance.task_ids[run.task])
        queue = vm.waiting[core]
        if queue:
            self._start_or_await(vm, core)
        if self._wants_finished and self.unfinished:
            self.policy.finished(self, vm, run.task)
        if vm.n_left == 0 and self.unfinished:
            self._became_idle(vm)

    # ---------------------------------------------------------------------- VMs

    def _ready(self, vm: Vm) -> None:
        if vm.state == TERMINATED:
            return
        vm.state = RUNNING
        if self.records is not None:
            self._note("ready", vm=vm.name)
        if self.fleet.is_down(vm.offer):
            self._hibernate(vm)
            self.policy.hibernated(self, vm)
            return
        self._move_up(vm)
        if vm.n_left == 0:
            self._became_idle(vm)

    def _await_timeline(self) -> None:
        """Put the next event of the day into the queue."""
        if self._next_of_timeline < len(self._day_events):
            event = self._day_events[self._next_of_timeline]
            self._push(event.time_s, RESUME if event.kind == "resume" else HIBERNATE, _ABOVE_ALL)

    def _happen(self, kind: int) -> None:
        """Let VMs hibernate or resume: all of this moment first, then the policy answers for each."""
        day, struck = self._day_events, []
        wanted, from_state = ("resume", HIBERNATED) if kind == RESUME else ("hibernate", RUNNING)
        while self._next_of_timeline < len(day):
            event = day[self._next_of_timeline]
            if event.time_s != self.now_s or event.kind != wanted:
                break
            self._next_of_timeline += 1
            if kind == RESUME:
                self.fleet.down.discard(event.vm_type)
            else:
                self.fleet.down.add(event.vm_type)
            struck += [vm for vm in self.fleet.spot_vms.get(event.vm_type, ()) if vm.state == from_state]
        self._await_timeline()
        for vm in struck:
            if kind == RESUME:
                self._resume(vm)
            else:
                self._hibernate(vm)
        for vm in struck:
            if kind == RESUME and vm.state == RUNNING:
                self.policy.resumed(self, vm)
                if vm.idle:
                    self._await_cycle_end(vm)
            elif vm.state == HIBERNATED:
                self.policy.hibernated(self, vm)

    def _hibernate(self, vm: Vm) -> None:
        if vm.first_hibernation_s is None:
            vm.first_hibernation_s = vm.uptime_s(self.now_s)
        vm.hibernated_at_s = self.now_s
        vm.state = HIBERNATED
        vm.epoch += 1
        vm.idle_epoch += 1
        vm.migration_kinds.clear()
        self.counts["hibernations"] += 1
        self.counts["events"] += 1
        if vm.n_left:
            self.counts["busy_hibernations"] += 1
        if self.records is not None:
            self._note("hibernate", vm=vm.name)

    def _resume(self, vm: Vm) -> None:
        pause_s = self.now_s - vm.hibernated_at_s
        vm.hibernated_s += pause_s
        vm.zero_s += pause_s
        vm.state = RUNNING
        vm.stranded = False
        self.counts["resumes"] += 1
        self.counts["events"] += 1
        if vm.trigger_s is not None:
            self.counts["resumes_in_time"] += 1
            vm.trigger_s = None
            vm.trigger_epoch += 1
        if self.records is not None:
            self._note("resume", vm=vm.name)
        for core, run in enumerate(vm.running):
            if run is not None:
                self._push(vm.zero_s + run.end_s, FINISH, vm.index, core, vm.epoch)
        self._move_up(vm)

    def _trigger(self, vm: Vm, epoch: int, time_s: int) -> None:
        if vm.trigger_epoch != epoch or vm.state != HIBERNATED:
            return
        self.now_s = time_s
        vm.trigger_s = None
        vm.trigger_epoch += 1
        self.counts["events"] += 1
        if self.records is not None:
            self._note("trigger", vm=vm.name)
        self.policy.trigger_reached(self, vm)

    # ----------------------------------------------------------------- idle VMs

    def _became_idle(self, vm: Vm) -> None:
        vm.idle_epoch += 1
        self._restless.append(vm)

    def _settle(self) -> None:
        """Let what waits move up where tasks were taken away, then let the policy answer for the VMs that are idle."""
        while self._restless:
            vm = self._restless.pop(0)
            if vm.disordered and vm.state == RUNNING:
                self._move_up(vm)
            if vm.idle:
                self.policy.idle(self, vm)
                if vm.idle:
                    self._await_cycle_end(vm)

    def _move_up(self, vm: Vm) -> None:
        """Start or await what waits; list scheduling anew, in the same order, if tasks have been taken away."""
        if vm.disordered:
            move_up(vm, self.now_s, self.work)
        for core in range(vm.offer.vcpus):
            self._start_or_await(vm, core)

    def _await_cycle_end(self, vm: Vm) -> None:
        """Await the end of the allocation cycle of an idle VM; the event comes once for each time that it is idle.

        So does the end of the time for which the policy keeps it, if it has a limit.
        """
        vm.idle_epoch += 1
        cycle_s = self.instance.allocation_cycle_s
        cycles = max(-(-vm.uptime_s(self.now_s) // cycle_s), 1)
        self._push(vm.zero_s + cycles * cycle_s, CYCLE_END, vm.index, 0, vm.idle_epoch)
        limit_s = self.policy.idle_limit_s
        if limit_s is not None:
            self._push(self.now_s + limit_s, IDLE_LIMIT, vm.index, 0, vm.idle_epoch)

    def _idle_until(self, vm: Vm, epoch: int, time_s: int, kind: int) -> None:
        if vm.idle_epoch != epoch or not vm.idle:
            return
        self.now_s = time_s
        self.counts["events"] += 1
        if self.records is not None:
            if kind == CYCLE_END:
                self._note("cycle-end", vm=vm.name)
            else:
                self._note("idle-limit", vm=vm.name, idle_s=self.policy.idle_limit_s)
        self.policy.cycle_ended(self, vm)

    # ---------------------------------------------------------------------- end

    def _end(self) -> None:
        """End all VMs with the bag (both papers), or when nothing can happen any more."""
        for vm in self.vms:
            if vm.state != TERMINATED:
                for run in vm.running:
                    if run is not None:  # on a VM that never resumes: what it has written is written
                        self.counts["checkpoints"] += self._last_checkpoint(vm, run.task)[2]
                self._terminate(vm)

    def outcome(self) -> DayOutcome:
        """Return what an ended replay came to."""
        return outcome_of(self)
