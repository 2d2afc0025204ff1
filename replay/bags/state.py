"""What a policy sees of the replay of a bag, and may decide: tasks, VMs and their state, and how both change."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ...core.errors import SpotbagError
from ...instances.bags.timeline import Timeline
from ...instances.durations import FULL_SPEED, NEVER
from ...instances.entries import RentalOffer
from ...schedules.timing import VmTimeline
from ..event_loop import EventQueue
from ..vms import HIBERNATED, LAUNCHING, RUNNING, TERMINATED, Billing
from .fleet import Fleet
from .plan import ReplayPlan
from .vm import Vm, append_task, take_task
from .work import sustained_mode

if TYPE_CHECKING:
    from ...schedules.state import State, VmStatus

MigrationKind: TypeAlias = Literal["idle", "busy", "new"]

# Order of events at the same time.
FINISH, START, RESUME, READY, HIBERNATE, TRIGGER, CYCLE_END, IDLE_LIMIT = range(8)

_CREDIT_TOLERANCE = 1e-6
_STATUS: dict[int, VmStatus] = {LAUNCHING: "launching", RUNNING: "running", HIBERNATED: "hibernated"}


class ReplayState(EventQueue):
    """The state of a replay: what a policy sees, and the decisions that it may take.

    Parameters
    ----------
    policy_name : str
        Who decides.
    plan : ReplayPlan
        The plan; never changed.
    timeline : Timeline
        The day.
    billing : Billing
        How VMs are billed.
    record : bool
        Whether to keep a record of every event and decision in `records`.

    Attributes
    ----------
    plan, day, billing : ReplayPlan, Timeline, Billing
        What it was made with.
    instance, work : Instance and WorkTable
        Those of the plan.
    start_overhead_s : int
        From the request of a new VM until a migrated task runs on it: the longer of booting and migration.
    fleet : Fleet
        All VMs so far.
    unfinished : int
        Tasks that are not finished.
    last_finish_s : int
        When the last of the tasks that are finished has finished.
    saved : dict of int to float
        Of each unfinished task that has gone on elsewhere from a checkpoint: the fraction of it that is saved.
    cpu_time_saved_s : float
        Seconds of work that recoveries did not do again.
    """

    def __init__(self, policy_name: str, plan: ReplayPlan, timeline: Timeline, billing: Billing, record: bool) -> None:
        super().__init__(policy_name, record)
        self.plan = plan
        self.day = timeline
        self.billing = billing
        self.instance = plan.instance
        self.work = plan.work
        self.start_overhead_s = max(plan.instance.boot_overhead_s, plan.instance.migration_overhead_s)
        self.fleet = Fleet(plan.instance)
        self.unfinished = plan.instance.n_tasks
        self.last_finish_s = 0
        self.saved: dict[int, float] = {}
        self.cpu_time_saved_s = 0.0
        self._restless: list[Vm] = []
        for planned in plan.vms:
            vm = self._request(planned.name, planned.offer)
            vm.waiting = [deque(runs) for runs in planned.cores]
            vm.n_left = sum(map(len, planned.cores))

    @property
    def vms(self) -> list[Vm]:
        """All VMs so far, in the order of their requests."""
        return self.fleet.vms

    def unfinished_ids(self) -> list[str]:
        """Ids of the tasks that are not finished, in the order of the instance."""
        left = {task for vm in self.vms for task in vm.tasks()}
        return [self.instance.task_ids[task] for task in sorted(left)]

    def to_state(self) -> State:
        """Return what has happened so far, for those who plan the rest: see `State.remaining`.

        What waits on a VM waits in the state, too, wherever it is to run. What ran on a VM when it hibernated waits,
        and has saved what its checkpoints have. Money is that of the billing, as if all VMs were terminated now.
        """
        from ...schedules.state import State, TaskOnVm, VmState

        names, there = self.instance.task_ids, [vm for vm in self.vms if vm.state != TERMINATED]
        left = {task for vm in self.vms for task in vm.tasks()}
        saved = dict(self.saved)
        for vm in there:
            for run in vm.running:
                if run is not None and vm.state == HIBERNATED:
                    saved[run.task] = self._last_checkpoint(vm, run.task)[0]
        vms = []
        for vm in there:
            running = [
                TaskOnVm(
                    task=names[run.task],
                    core=core,
                    start_s=vm.zero_s + run.start_s,
                    end_s=vm.zero_s + run.end_s,
                    mode=None if vm.burstable is None else "burst" if run.mode == FULL_SPEED else "baseline",
                )
                for core, run in enumerate(vm.running)
                if run is not None and vm.state == RUNNING
            ]
            vms.append(
                VmState(
                    id=vm.name,
                    type=vm.offer.vm_type.name,
                    market=vm.offer.market,
                    status=_STATUS[vm.state],
                    ready_s=vm.ready_s,
                    price_usd_per_hour=vm.offer.price_usd_per_hour,
                    credits=None if vm.burstable is None else vm.credits(self.now_s),
                    running=tuple(running),
                )
            )
        return State(
            instance=self.instance.name,
            time_s=self.now_s,
            spent_usd=math.fsum(bill.cost_usd for bill in self.fleet.bills(self.billing, self.now_s)),
            done=tuple([name for task, name in enumerate(names) if task not in left]),
            saved={names[task]: fraction for task, fraction in sorted(saved.items()) if fraction > 0},
            vms=tuple(vms),
        )

    # ------------------------------------------------ what a policy may ask for

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

    # ---------------------------------------------------------------- decisions

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
        self._push(time_s, TRIGGER, vm.index, 0, vm.trigger_epoch)
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

    # -------------------------------------------- how decisions are carried out

    def _request(self, name: str, offer: RentalOffer, first_start_s: int = 0) -> Vm:
        ready_s = self.now_s + self.instance.boot_overhead_s
        vm = self.fleet.request(name, offer, ready_s, first_start_s)
        self._push(ready_s, READY, vm.index)
        if self.records is not None:
            self._note("launch", vm=name, type=offer.vm_type.name, market=offer.market)
        return vm

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
                f"{self.policy_name}: task {self.instance.task_ids[task]!r} cannot run on {vm.name}; ask "
                "end_if_placed_s before a task is moved"
            )
        vm.n_left += 1
        vm.task_added(self.work.runtime_s(task, vm.offer_index))
        vm.idle_epoch += 1
        if vm.state == RUNNING:
            self._start_or_await(vm, core)

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
            self._push(start_s, START, vm.index, core)

    def _start(self, vm: Vm, core: int) -> None:
        """Start the first task that waits for a core."""
        run = vm.waiting[core].popleft()
        vm.running[core] = run
        self._push(vm.zero_s + run.end_s, FINISH, vm.index, core, vm.epoch)
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

    def _check_credits(self, vm: Vm) -> None:
        """Refuse a policy, or a plan, that runs tasks at full speed without credits."""
        if vm.credits_lacking(self.now_s) > _CREDIT_TOLERANCE:
            raise SpotbagError(
                f"{self.policy_name}: {vm.name} ran out of CPU credits by {self.now_s} s with tasks at full speed; a "
                "task may be put there at full speed only if the credits suffice to its end"
            )

    def _terminate(self, vm: Vm) -> None:
        if vm.state == HIBERNATED:
            vm.hibernated_s += self.now_s - vm.hibernated_at_s
        vm.terminated_s = max(self.now_s, vm.ready_s)  # one that never got ready is never billed
        vm.state = TERMINATED
        vm.epoch += 1
        self.fleet.give_back(vm)
        if self.records is not None:
            self._note("terminate", vm=vm.name)


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
