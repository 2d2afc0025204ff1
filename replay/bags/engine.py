"""The replay engine: an event loop in which VMs run the tasks of a plan, hibernate and resume, and a policy answers."""

from __future__ import annotations

import heapq
import math
from collections import deque
from typing import Any, Final, Literal, TypeAlias

from ...core.errors import SpotbagError
from ...instances.bags.timeline import QUIET, Timeline
from ...instances.durations import FULL_SPEED, NEVER
from ...instances.entries import RentalOffer
from ...schedules.timing import VmTimeline
from ...traces.vm_records import MIGRATION_KINDS
from ..event_loop import EventLoop
from ..vms import HIBERNATED, LAUNCHING, PAPERS_BILLING, RUNNING, TERMINATED, Billing
from .fleet import Fleet
from .outcome import Outcome
from .plan import ReplayPlan
from .policy import Policy
from .vm import Vm, append_task, move_up, take_task
from .work import sustained_mode

MigrationKind: TypeAlias = Literal["idle", "busy", "new"]

# Order of events at the same time.
_FINISH: Final = 0
_START: Final = 1
_RESUME: Final = 2
_READY: Final = 3
_HIBERNATE: Final = 4
_TRIGGER: Final = 5
_CYCLE_END: Final = 6

_ABOVE_ALL = -1
"""Stands for the VM in events of a whole type."""

_CREDIT_TOLERANCE = 1e-6


class Replay(EventLoop[Outcome]):
    """A replay: a plan, a day, a policy, and how far it has come.

    `run` goes through to the end; `step` handles one event, after which the replay may be looked at or copied.

    Parameters
    ----------
    plan : ReplayPlan
        The plan; never changed.
    policy : Policy
        Answers to events.
    timeline : Timeline
        The day.
    billing : Billing
        How VMs are billed.
    record : bool
        Whether to keep a record of every event and decision in `records`.

    Attributes
    ----------
    plan, policy, day, billing : ReplayPlan, Policy, Timeline, Billing
        What it was made with.
    instance, work : Instance and WorkTable
        Those of the plan.
    start_overhead_s : int
        From the request of a new VM until a migrated task runs on it: the longer of booting and migration.
    fleet : Fleet
        All VMs so far.
    unfinished : int
        Tasks that are not finished.
    saved : dict of int to float
        Of each unfinished task that has gone on elsewhere from a checkpoint: the fraction of it that is saved.
    """

    def __init__(
        self,
        plan: ReplayPlan,
        policy: Policy,
        timeline: Timeline = QUIET,
        billing: Billing = PAPERS_BILLING,
        record: bool = False,
    ) -> None:
        super().__init__(policy.name, record)
        self.plan = plan
        self.policy = policy
        self.day = timeline
        self.billing = billing
        self.instance = plan.instance
        self.work = plan.work
        self.start_overhead_s = max(plan.instance.boot_overhead_s, plan.instance.migration_overhead_s)
        self.fleet = Fleet(plan.instance)
        self.unfinished = plan.instance.n_tasks
        self.saved: dict[int, float] = {}
        self.cpu_time_saved_s = 0.0
        self._day_events = sorted(timeline.events, key=lambda event: (event.time_s, event.kind == "hibernate"))
        self._makespan_s = 0
        self._next_of_timeline = 0
        self._restless: list[Vm] = []
        self._wants_finished = type(policy).finished is not Policy.finished
        for planned in plan.vms:
            vm = self._request(planned.name, planned.offer)
            vm.waiting = [deque(runs) for runs in planned.cores]
            vm.n_left = sum(map(len, planned.cores))
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
        return twin

    @property
    def vms(self) -> list[Vm]:
        """All VMs so far, in the order of their requests."""
        return self.fleet.vms

    # -------------------------------------------------------------------- loop

    def step(self) -> bool:
        """Handle the next event; False if there is none, or the bag is done."""
        if self.unfinished == 0 or not self._events:
            self._end()
            return False
        time, kind, _, index, datum, epoch = heapq.heappop(self._events)
        if kind == _FINISH:
            vm = self.vms[index]
            if vm.epoch == epoch:
                self.now_s = time
                self._finish(vm, datum)
        elif kind == _START:
            self._planned_start(self.vms[index], datum, time)
        elif kind == _CYCLE_END:
            self._cycle_end(self.vms[index], epoch, time)
        elif kind == _TRIGGER:
            self._trigger(self.vms[index], epoch, time)
        else:
            self.now_s = time
            if kind == _READY:
                self._ready(self.vms[index])
            else:
                self._happen(kind)
        if self._restless:
            self._settle()
        return True

    # ------------------------------------------------------------------- tasks

    def _start(self, vm: Vm, core: int) -> None:
        """Start the first task that waits for a core."""
        run = vm.waiting[core].popleft()
        vm.running[core] = run
        self._push(vm.zero_s + run.end_s, _FINISH, vm.index, core, vm.epoch)
        if vm.burstable is not None:
            burst = run.mode == FULL_SPEED
            vm.count_running(self.now_s, int(burst), int(not burst))
        if self.records is not None:
            fields: dict[str, Any] = {"vm": vm.name, "core": core, "task": self.instance.task_ids[run.task]}
            if vm.burstable is not None:
                fields["mode"] = "burst" if run.mode == FULL_SPEED else "baseline"
            if run.task in self.saved:
                fields["saved"] = self.saved[run.task]
            self._note("start", **fields, duration_s=run.end_s - run.start_s)

    def _start_or_await(self, vm: Vm, core: int) -> None:
        """Start the first task that waits for a free core of a VM that runs, now or when it is its time."""
        queue = vm.waiting[core]
        if not queue or vm.running[core] is not None:
            return
        start_s = vm.zero_s + queue[0].start_s
        # Where memory binds, what else finishes at this moment must free its memory first.
        if start_s <= self.now_s and vm.memory_kb is None:
            self._start(vm, core)
        else:
            self._push(start_s, _START, vm.index, core)

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
        self._makespan_s = self.now_s
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

    def _check_credits(self, vm: Vm) -> None:
        """Refuse a policy, or a plan, that runs tasks at full speed without credits."""
        if vm.credits_lacking(self.now_s) > _CREDIT_TOLERANCE:
            raise SpotbagError(
                f"{self.policy.name}: {vm.name} ran out of CPU credits by {self.now_s} s with tasks at full speed; a "
                "task may be put there at full speed only if the credits suffice to its end"
            )

    # --------------------------------------------------------------------- VMs

    def _request(self, name: str, offer: RentalOffer, first_start_s: int = 0) -> Vm:
        ready_s = self.now_s + self.instance.boot_overhead_s
        vm = self.fleet.request(name, offer, ready_s, first_start_s)
        self._push(ready_s, _READY, vm.index)
        if self.records is not None:
            self._note("launch", vm=name, type=offer.vm_type.name, market=offer.market)
        return vm

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
            self._push(event.time_s, _RESUME if event.kind == "resume" else _HIBERNATE, _ABOVE_ALL)

    def _happen(self, kind: int) -> None:
        """Let VMs hibernate or resume: all of this moment first, then the policy answers for each."""
        day, struck = self._day_events, []
        wanted, from_state = ("resume", HIBERNATED) if kind == _RESUME else ("hibernate", RUNNING)
        while self._next_of_timeline < len(day):
            event = day[self._next_of_timeline]
            if event.time_s != self.now_s or event.kind != wanted:
                break
            self._next_of_timeline += 1
            if kind == _RESUME:
                self.fleet.down.discard(event.vm_type)
            else:
                self.fleet.down.add(event.vm_type)
            struck += [vm for vm in self.fleet.spot_vms.get(event.vm_type, ()) if vm.state == from_state]
        self._await_timeline()
        for vm in struck:
            if kind == _RESUME:
                self._resume(vm)
            else:
                self._hibernate(vm)
        for vm in struck:
            if kind == _RESUME and vm.state == RUNNING:
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
                self._push(vm.zero_s + run.end_s, _FINISH, vm.index, core, vm.epoch)
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

    # -------------------------------------------------------------- idle VMs

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
        """Await the end of the allocation cycle of an idle VM; it is told once for each time that it is idle."""
        vm.idle_epoch += 1
        cycle_s = self.instance.allocation_cycle_s
        cycles = max(-(-vm.uptime_s(self.now_s) // cycle_s), 1)
        self._push(vm.zero_s + cycles * cycle_s, _CYCLE_END, vm.index, 0, vm.idle_epoch)

    def _cycle_end(self, vm: Vm, epoch: int, time_s: int) -> None:
        if vm.idle_epoch != epoch or not vm.idle:
            return
        self.now_s = time_s
        self.counts["events"] += 1
        if self.records is not None:
            self._note("cycle-end", vm=vm.name)
        self.policy.cycle_ended(self, vm)

    # ----------------------------------------------- what policies may ask for

    def memory_kb(self, task: int) -> int:
        """Memory need of a task."""
        return self.work.memory_kb[self.work.group_of[task]]

    def timeline(self, vm: Vm) -> VmTimeline:
        """Cores and memory of a VM from now on, in its uptime; not to be changed."""
        return vm.timeline(self.now_s, self.work)

    def saved_if_moved(self, vm: Vm, task: int) -> float:
        """Fraction of a task that is saved if it leaves a hibernated VM now."""
        return self._last_checkpoint(vm, task)[0]

    def duration_s(self, task: int, offer: RentalOffer, mode: int | None = None, saved: float = 0.0) -> int:
        """How long a task takes on an offer, at the baseline on burstable ones unless said otherwise; maybe `NEVER`."""
        chosen = sustained_mode(offer.burstable) if mode is None else mode
        return self.work.duration_s(task, offer.index, chosen, saved)

    def end_if_placed_s(self, vm: Vm, task: int, mode: int | None = None, saved: float = 0.0) -> int | None:
        """When a task would end on a VM if it were appended now; None if it cannot run there."""
        duration_s = self.duration_s(task, vm.offer, mode, saved)
        if duration_s >= NEVER:
            return None
        start_s = vm.timeline(self.now_s, self.work).earliest_start_s(self.memory_kb(task), duration_s)
        return None if start_s is None else vm.zero_s + start_s + duration_s

    def can_start(self, offer: RentalOffer, in_market: int = 0, of_offer: int = 0) -> bool:
        """Whether one more VM of an offer may be requested now, or after some more of the market and of the offer.

        The limits count all VMs that are not terminated. ``instance.markets`` restricts the plan, not what may rescue
        it. A spot type that is hibernated gives no new VMs.
        """
        return not self.fleet.is_down(offer) and self.fleet.may_grow(offer, in_market, of_offer)

    # --------------------------------------------------------------- decisions

    def migrate(self, task: int, source: Vm, target: Vm, mode: int | None = None, late: bool = False) -> None:
        """Move an unfinished task of a hibernated VM; one that was running goes on from its last checkpoint.

        Parameters
        ----------
        task : int
            The task.
        source, target : Vm
            From where to where.
        mode : int, optional
            `FULL_SPEED` or `BASELINE` on a burstable target; the baseline if absent.
        late : bool
            Whether it is known that the task misses the deadline there.
        """
        self._demand(source.state == HIBERNATED, f"{source.name} is not hibernated: its tasks stay")
        self._demand(target.alive, f"{target.name} is hibernated or terminated and takes no task")
        saved, saved_s, checkpoints = self._last_checkpoint(source, task)
        recovered = saved > 0.0 and source.run_of(task) is not None
        if checkpoints:
            self.saved[task] = saved
            self.counts["checkpoints"] += checkpoints
            self.cpu_time_saved_s += saved_s
        if recovered:
            self.counts["recoveries"] += 1
        kind = _kind_of(target)
        self._take(source, task)
        self.counts["migrated_" + kind] += 1
        if kind not in source.migration_kinds:
            source.migration_kinds.add(kind)
            self.counts["hibernations_" + kind] += 1
        if self.records is not None:
            fields: dict[str, Any] = {"task": self.instance.task_ids[task], "from": source.name, "to": target.name}
            fields["kind"] = kind
            if saved:
                fields["saved"] = saved
            if recovered:
                fields["recovered"] = True
            if late:
                fields["late"] = True
            self._note("migrate", **fields, **_mode_field(target, mode))
        self._place(target, task, mode)

    def steal(self, task: int, victim: Vm, thief: Vm, mode: int | None = None) -> None:
        """Move a waiting task of a VM to another that runs; what it leaves moves up."""
        self._demand(victim.state == RUNNING, f"{victim.name} does not run: nothing is stolen from it")
        self._demand(victim.run_of(task) is None, f"{victim.name} runs the task: only what waits is stolen")
        self._demand(thief.state == RUNNING, f"{thief.name} does not run and takes no task")
        self._take(victim, task)
        self.counts["tasks_stolen"] += 1
        if self.records is not None:
            fields = {"task": self.instance.task_ids[task], "from": victim.name, "to": thief.name}
            self._note("steal", **fields, **_mode_field(thief, mode))
        if victim not in self._restless:
            self._restless.append(victim)
        self._place(thief, task, mode)

    def start_vm(self, offer: RentalOffer) -> Vm:
        """Request a new VM; tasks moved to it start after `start_overhead_s`."""
        self._demand(self.can_start(offer), f"no more {offer} VM can be started")
        first_start_s = self.start_overhead_s - self.instance.boot_overhead_s
        vm = self._request(self.fleet.new_name(offer), offer, first_start_s)
        vm.waiting = [deque() for _ in range(offer.vcpus)]
        if offer.market == "on-demand":
            self.counts["on_demand_started"] += 1
        return vm

    def terminate(self, vm: Vm) -> None:
        """Terminate a VM without tasks; its bill ends."""
        self._demand(vm.state != TERMINATED, f"{vm.name} is terminated already")
        self._demand(vm.n_left == 0, f"{vm.name} has tasks left and cannot be terminated")
        self._terminate(vm)
        self.policy.terminated(self, vm)

    def set_trigger(self, vm: Vm, time_s: int, helpers: frozenset[int] = frozenset()) -> None:
        """Set, or set anew, when the tasks of a hibernated VM are to be migrated.

        Parameters
        ----------
        vm : Vm
            The VM.
        time_s : int
            Migration trigger time; now if it has passed.
        helpers : frozenset of int
            VMs that were counted on in computing it; kept in `Vm.helpers` for the policy.
        """
        self._demand(vm.state == HIBERNATED, f"{vm.name} is not hibernated: it needs no migration trigger")
        vm.helpers = helpers
        time_s = max(time_s, self.now_s)
        if vm.trigger_s == time_s:
            return
        vm.trigger_s = time_s
        vm.trigger_epoch += 1
        self._push(time_s, _TRIGGER, vm.index, 0, vm.trigger_epoch)
        if self.records is not None:
            self._note("trigger-set", vm=vm.name, at_s=time_s)

    def report_attempt(self, thief: Vm, stolen: int) -> None:
        """Count an attempt of an idle VM to steal tasks."""
        self.counts["steal_attempts"] += 1
        if stolen:
            self.counts["steals"] += 1
        if self.records is not None:
            self._note("steal-attempt", vm=thief.name, stolen=stolen)

    def report_stranded(self, vm: Vm, tasks: int) -> None:
        """Record that tasks of a hibernated VM found no place anywhere: they stay where they are."""
        if self.records is not None:
            self._note("stranded", vm=vm.name, tasks=tasks)

    # ------------------------------------------------------------ moving tasks

    def _last_checkpoint(self, vm: Vm, task: int) -> tuple[float, float, int]:
        """Fraction saved of a task, and what its present run adds to that: seconds of work, checkpoints."""
        saved = self.saved.get(task, 0.0)
        placed = vm.run_of(task)
        if placed is None or not vm.spot:
            return saved, 0.0, 0
        run = placed[1]
        elapsed_s = vm.uptime_s(self.now_s) - run.start_s
        done = self.work.checkpoints_until(task, vm.offer_index, run.mode, saved, elapsed_s)
        if done == 0:
            return saved, 0.0, 0
        fraction, seconds = self.work.saved_by(task, vm.offer_index, done)
        return saved + fraction, seconds, done

    def _take(self, vm: Vm, task: int) -> None:
        """Take a task from a VM."""
        if vm.burstable is not None:
            self._check_credits(vm)
        self._demand(take_task(vm, task, self.now_s), f"{vm.name} does not have the task to give away")

    def _place(self, vm: Vm, task: int, mode: int | None) -> None:
        """Append a task to a VM."""
        chosen = sustained_mode(vm.burstable is not None) if mode is None else mode
        duration_s = self.work.duration_s(task, vm.offer_index, chosen, self.saved.get(task, 0.0))
        core = append_task(vm, self.timeline(vm), self.work, task, chosen, duration_s)
        if core is None:
            raise SpotbagError(
                f"{self.policy.name}: task {self.instance.task_ids[task]!r} cannot run on {vm.name}; ask "
                "end_if_placed_s before a task is moved"
            )
        vm.n_left += 1
        vm.task_added(self.work.runtime_s(task, vm.offer_index))
        vm.idle_epoch += 1
        if vm.state == RUNNING:
            self._start_or_await(vm, core)

    # --------------------------------------------------------------------- end

    def _terminate(self, vm: Vm) -> None:
        if vm.state == HIBERNATED:
            vm.hibernated_s += self.now_s - vm.hibernated_at_s
        vm.terminated_s = max(self.now_s, vm.ready_s)  # one that never got ready is never billed
        vm.state = TERMINATED
        vm.epoch += 1
        self.fleet.give_back(vm)
        if self.records is not None:
            self._note("terminate", vm=vm.name)

    def _end(self) -> None:
        """End all VMs with the bag (both papers), or when nothing can happen any more."""
        for vm in self.vms:
            if vm.state != TERMINATED:
                for run in vm.running:
                    if run is not None:  # on a VM that never resumes: what it has written is written
                        self.counts["checkpoints"] += self._last_checkpoint(vm, run.task)[2]
                self._terminate(vm)

    def outcome(self) -> Outcome:
        """Return what an ended replay came to."""
        bills = self.fleet.bills(self.billing)
        counts = self.counts
        return Outcome(
            policy=self.policy.name,
            cost_usd=math.fsum(bill.cost_usd for bill in bills),
            makespan_s=None if self.unfinished else self._makespan_s,
            deadline_s=self.instance.deadline_s,
            late_tasks=counts["late_tasks"],
            unfinished_tasks=self.unfinished,
            hibernations=counts["hibernations"],
            resumes=counts["resumes"],
            resumes_in_time=counts["resumes_in_time"],
            on_demand_started=counts["on_demand_started"],
            migrations={kind: counts["migrated_" + kind] for kind in MIGRATION_KINDS},
            hibernations_by_migration={kind: counts["hibernations_" + kind] for kind in MIGRATION_KINDS},
            busy_hibernations=counts["busy_hibernations"],
            steal_attempts=counts["steal_attempts"],
            steals=counts["steals"],
            tasks_stolen=counts["tasks_stolen"],
            checkpoints=counts["checkpoints"],
            recoveries=counts["recoveries"],
            cpu_time_saved_s=self.cpu_time_saved_s,
            events=counts["events"],
            bills=bills,
        )

    def unfinished_ids(self) -> list[str]:
        """Ids of the tasks that are not finished, in the order of the instance."""
        left = {task for vm in self.vms for task in vm.tasks()}
        return [self.instance.task_ids[task] for task in sorted(left)]


def _kind_of(vm: Vm) -> MigrationKind:
    """What a VM is before it gets a task."""
    if vm.n_left:
        return "busy"
    return "new" if vm.state == LAUNCHING else "idle"


def _mode_field(vm: Vm, mode: int | None) -> dict[str, str]:
    """Mode of a task, for the record of a move to a burstable VM."""
    if vm.burstable is None:
        return {}
    return {"mode": "burst" if mode == FULL_SPEED else "baseline"}
