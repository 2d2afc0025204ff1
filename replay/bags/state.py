"""What a policy sees of the replay of a bag, and may decide: tasks, VMs and their state, and how both change."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from ...core.errors import SpotbagError
from ...core.quantities import SECONDS_PER_HOUR
from ...instances.clouds import Billing
from ...instances.durations import FULL_SPEED, NEVER
from ...instances.entries import RentalOffer
from ...schedules.timing import VmTimeline
from ..event_loop import EventQueue
from ..vms import HIBERNATED, LAUNCHING, RUNNING, STOPPED, TERMINATED
from .fleet import Fleet
from .plan import ReplayPlan, Run
from .vm import Vm, append_task, take_task
from .work import sustained_mode

if TYPE_CHECKING:
    from ...schedules.state import State, VmStatus

MigrationKind: TypeAlias = Literal["idle", "busy", "new"]

# Events of the state, in the order in which they are taken at the same time; see `Replay`.
FINISH, PREEMPTED, START, RECALL, READY, INTERRUPT, TRIGGER, CYCLE_END, IDLE_LIMIT, WAKE = range(10)

_CREDIT_TOLERANCE = 1e-6
# Of a stopped VM, all that planning needs to know is that nothing can start on it.
_STATUS: dict[int, VmStatus] = {
    LAUNCHING: "launching",
    RUNNING: "running",
    HIBERNATED: "hibernated",
    STOPPED: "hibernated",
}


class ReplayState(EventQueue[int]):
    """The state of a replay: what a policy sees, and the decisions that it may take.

    It holds what has happened and what was decided, and nothing of what the day will bring.

    Parameters
    ----------
    policy_name : str
        Who decides.
    plan : ReplayPlan
        The plan; never changed.
    billing : Billing
        How VMs are billed.
    record : bool
        Whether to keep a record of every event and decision in `records`.
    scenario_law : optional
        What is known of days like this one; given to policies whose class has ``asks_for_law = True``.

    Attributes
    ----------
    plan, billing, scenario_law
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

    def __init__(
        self, policy_name: str, plan: ReplayPlan, billing: Billing, record: bool, scenario_law: object = None
    ) -> None:
        super().__init__(policy_name, record)
        self.plan = plan
        self.billing = billing
        self.scenario_law = scenario_law
        self.instance = plan.instance
        self.work = plan.work
        self.start_overhead_s = max(plan.instance.boot_overhead_s, plan.instance.migration_overhead_s)
        self.fleet = Fleet(plan.instance)
        self.unfinished = plan.instance.n_tasks
        self.last_finish_s = 0
        self.saved: dict[int, float] = {}
        self.cpu_time_saved_s = 0.0
        # What decisions have caused: VMs from which tasks were taken, and VMs that were terminated.
        self._restless: list[Vm] = []
        self._ended: list[Vm] = []
        for planned in plan.vms:
            vm = self._request(planned.name, planned.offer)
            vm.waiting = [deque(runs) for runs in planned.cores]
            vm.n_left = sum(map(len, planned.cores))

    def copy(self) -> Self:
        """Return a state that goes on from here on its own; what never changes is shared."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.fleet = self.fleet.copy()
        twin.saved = self.saved.copy()
        twin.records = None if self.records is None else self.records.copy()
        twin.counts = self.counts.copy()
        twin._events = self._events.copy()
        twin._restless = [twin.vms[vm.index] for vm in self._restless]
        twin._ended = [twin.vms[vm.index] for vm in self._ended]
        return twin

    @property
    def vms(self) -> list[Vm]:
        """All VMs so far, in the order of their requests."""
        return self.fleet.vms

    def unfinished_ids(self) -> list[str]:
        """Ids of the tasks that are not finished, in the order of the instance."""
        left = {task for vm in self.vms for task in vm.tasks()}
        return [self.instance.task_ids[task] for task in sorted(left)]

    def remaining(self) -> State:
        """Return what has happened so far, for those who plan the rest: see `replan`.

        What waits on a VM waits in the state, too, wherever it is to run. What ran on a VM when it was interrupted, or
        will not end before it is, waits, and has saved what its checkpoints have. Money is that of the billing, as if
        all VMs were terminated now.
        """
        from ...schedules.state import State, TaskOnVm, VmState

        names, there = self.instance.task_ids, [vm for vm in self.vms if vm.state != TERMINATED]
        left = {task for vm in self.vms for task in vm.tasks()}
        saved = dict(self.saved)
        for vm in self.vms:
            for core, run in enumerate(vm.running):
                if run is not None and not _goes_on(vm, core, run):
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
                if run is not None and _goes_on(vm, core, run)
            ]
            vms.append(
                VmState(
                    id=vm.name,
                    type=vm.offer.vm_type.name,
                    market=vm.offer.market,
                    status="draining" if vm.draining else _STATUS[vm.state],
                    ready_s=vm.ready_s,
                    price_usd_per_hour=self.fleet.price_usd_per_hour(vm.offer),
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
        """Fraction of a task that is saved if it leaves a VM now that is interrupted or drains."""
        return self._last_checkpoint(vm, task)[0]

    def saved_if_kept(self, vm: Vm, task: int) -> float:
        """Fraction of a task that is saved when a VM that drains is interrupted; 1 if the task ends before."""
        placed, until_s = vm.run_of(task), vm.drains_until_s
        if placed is None or until_s is None:
            return self.saved_if_moved(vm, task)
        return 1.0 if _goes_on(vm, *placed) else self._last_checkpoint(vm, task, until_s)[0]

    def price_usd_per_s(self, offer: RentalOffer) -> float:
        """Price of a VM of an offer now, for a second."""
        return self.fleet.price_usd_per_hour(offer) / SECONDS_PER_HOUR

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
        it. A spot type gives no more VMs than there is capacity for, and none while it is down.
        """
        return self.fleet.may_grow(offer, in_market, of_offer)

    # ---------------------------------------------------------------- decisions

    def migrate(self, task: int, source: Vm, target: Vm, mode: int | None = None, late: bool = False) -> None:
        """Move an unfinished task of a VM that is interrupted or drains; one that ran goes on from its last checkpoint.

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
        self._demand(source.gives_tasks, f"{source.name} is neither interrupted nor about to be: its tasks stay")
        self._demand(target.alive, f"{target.name} drains, is interrupted or terminated, and takes no task")
        saved, recovered = self._stop_run(source, task)
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
        """Move a waiting task of a VM that launches or runs to another; what it leaves moves up."""
        self._demand(victim.state <= RUNNING, f"{victim.name} does not run: nothing is stolen from it")
        self._demand(victim.run_of(task) is None, f"{victim.name} runs the task: only what waits is stolen")
        self._demand(thief.alive, f"{thief.name} drains or does not run, and takes no task")
        self._take(victim, task)
        self.counts["tasks_stolen"] += 1
        if self.records is not None:
            fields = {"task": self.instance.task_ids[task], "from": victim.name, "to": thief.name}
            self._note("steal", **fields, **_mode_field(thief, mode))
        if victim not in self._restless:
            self._restless.append(victim)
        self._place(thief, task, mode)

    def preempt(self, task: int, vm: Vm, checkpoint: bool = False) -> None:
        """Stop a running task, which then waits behind what waits on its core, with what is saved of it.

        Parameters
        ----------
        task : int
            The task.
        vm : Vm
            Where it runs.
        checkpoint : bool
            Whether it writes a checkpoint first, for which its core stays busy. Its work up to now is saved then, and
            the policy's ``preempted`` is asked, unless a checkpoint takes no time.
        """
        placed = vm.run_of(task)
        self._demand(vm.state == RUNNING and placed is not None, f"{vm.name} does not run the task: nothing to preempt")
        assert placed is not None
        core, run = placed
        self._demand(core not in vm.dumps, f"{vm.name} writes the checkpoint of the task already")
        self._demand(not checkpoint or self.work.takes_checkpoints, "the bag takes no checkpoints")
        self.counts["preemptions"] += 1
        uptime_s = vm.uptime_s(self.now_s)
        dump_s = self.work.dump_s(task, vm.offer_index, run.mode) if checkpoint else 0
        if self.records is not None:
            fields: dict[str, Any] = {"vm": vm.name, "core": core, "task": self.instance.task_ids[task]}
            self._note("preempt", **fields, checkpoint=checkpoint, until_s=self.now_s + dump_s)
        if checkpoint:
            vm.dumps[core] = uptime_s
        if dump_s:
            vm.running[core] = run._replace(end_s=uptime_s + dump_s)
            vm.timetable_changed()
            self._push(self.now_s + dump_s, PREEMPTED, vm.index, core, vm.epoch)
            if uptime_s + dump_s <= run.end_s:
                return
            vm.disordered = True  # what waits for its memory waits longer
        else:
            self._put_behind(vm, core)
        if vm not in self._restless:
            self._restless.append(vm)

    def wake_at(self, time_s: int) -> None:
        """Have the policy's ``woken`` asked at a later time, as it is at the start.

        Policies that ask for ever are woken no more once twice the deadline has passed, or the day if that is longer.
        """
        self._demand(time_s > self.now_s, f"{time_s} s is not later than now")
        self._push(time_s, WAKE, 0)

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
        """Terminate a VM without tasks; its bill ends, and the policy answers."""
        self._demand(vm.state != TERMINATED, f"{vm.name} is terminated already")
        self._demand(vm.n_left == 0, f"{vm.name} has tasks left and cannot be terminated")
        self._terminate(vm)
        self._ended.append(vm)

    def set_trigger(self, vm: Vm, time_s: int, helpers: frozenset[int] = frozenset()) -> None:
        """Set, or set anew, when the tasks of a VM that is interrupted or drains are to be migrated.

        Parameters
        ----------
        vm : Vm
            The VM.
        time_s : int
            Migration trigger time; now if it has passed.
        helpers : frozenset of int
            VMs that were counted on in computing it; kept in `Vm.helpers` for the policy.
        """
        self._demand(vm.gives_tasks, f"{vm.name} is neither interrupted nor about to be: it needs no migration trigger")
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
        """Record that tasks of an interrupted VM found no place anywhere: they stay where they are."""
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
        if vm.state == RUNNING and not vm.disordered:  # else what waits there moves up soon, and starts then
            self._start_or_await(vm, core)

    def _start_or_await(self, vm: Vm, core: int) -> None:
        """Start the first task that waits for a free core of a VM that runs, now or when it is its time."""
        queue = vm.waiting[core]
        if not queue or vm.running[core] is not None or vm.drains_until_s is not None:
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

    def _last_checkpoint(self, vm: Vm, task: int, until_s: int | None = None) -> tuple[float, float, int]:
        """Fraction saved of a task, and what its present run adds to that: seconds of work, checkpoints.

        What is written stays written: of the regular checkpoints, the one of a notice, and those of notices that the
        run has outlived, as its VM has resumed, that counts which saves most. ``until_s`` asks for what they will be
        when the VM is interrupted, which drains until then.
        """
        saved = self.saved.get(task, 0.0)
        placed = vm.run_of(task)
        if placed is None or not vm.spot:
            return saved, 0.0, 0
        core, run = placed
        offer, begun_s = vm.offer_index, vm.dumps.get(core)
        elapsed_s = vm.uptime_s(self.now_s if until_s is None else until_s) - run.start_s
        if begun_s is not None:
            elapsed_s = begun_s - run.start_s
        most = self.work.saved_until(task, offer, run.mode, saved, elapsed_s)
        if begun_s is None and vm.notice_s and (vm.state > RUNNING or until_s is not None):
            most = max(most, self.work.last_checkpoint(task, offer, run.mode, saved, elapsed_s, vm.notice_s))
        if vm.written:
            most = max(most, vm.written.get(core, most))
        seconds, done = most
        if done == 0:
            return saved, 0.0, 0
        return saved + seconds / self.work.runtime_s(task, offer), seconds, done

    def _stop_run(self, vm: Vm, task: int) -> tuple[float, bool]:
        """Take down what a task has saved that goes on elsewhere or later; say how much, and whether it goes on."""
        saved, saved_s, checkpoints = self._last_checkpoint(vm, task)
        return self._take_down(vm, task, saved, saved_s, checkpoints)

    def _take_down(self, vm: Vm, task: int, saved: float, saved_s: float, checkpoints: int) -> tuple[float, bool]:
        """Take down what a task has saved in its run."""
        recovered = saved > 0.0 and vm.run_of(task) is not None
        if checkpoints:
            self.saved[task] = saved
            self.counts["checkpoints"] += checkpoints
            self.cpu_time_saved_s += saved_s
        if recovered:
            self.counts["recoveries"] += 1
        return saved, recovered

    def _put_behind(self, vm: Vm, core: int) -> None:
        """Let the task of a core wait behind what waits there, with what is saved."""
        run = vm.running[core]
        assert run is not None
        begun_s = vm.dumps.get(core)
        offer, before = vm.offer_index, self.saved.get(run.task, 0.0)
        if begun_s is None:
            saved, _ = self._stop_run(vm, run.task)
        else:
            worked_s = (begun_s - run.start_s) * self.work.speed(offer, run.mode)
            seconds, done = self.work.saved_by_one_more(run.task, offer, before, worked_s)
            saved = before + seconds / self.work.runtime_s(run.task, offer)
            self._take_down(vm, run.task, saved, seconds, done)
        self._take(vm, run.task)
        vm.n_left += 1
        last_s = vm.waiting[core][-1].end_s if vm.waiting[core] else 0
        start_s = max(last_s, vm.uptime_s(self.now_s))
        duration_s = self.work.duration_s(run.task, offer, run.mode, self.saved.get(run.task, 0.0))
        vm.waiting[core].append(run._replace(start_s=start_s, end_s=start_s + duration_s))
        vm.start_added(start_s)
        if self.records is not None:
            fields: dict[str, Any] = {"vm": vm.name, "core": core, "task": self.instance.task_ids[run.task]}
            self._note("preempted", **fields, saved=saved)

    def _check_credits(self, vm: Vm) -> None:
        """Refuse a policy, or a plan, that runs tasks at full speed without credits."""
        if vm.credits_lacking(self.now_s) > _CREDIT_TOLERANCE:
            raise SpotbagError(
                f"{self.policy_name}: {vm.name} ran out of CPU credits by {self.now_s} s with tasks at full speed; a "
                "task may be put there at full speed only if the credits suffice to its end"
            )

    def _end_session(self, vm: Vm, interrupted: bool) -> None:
        """End what a VM is billed for, if it runs."""
        if vm.session_s is not None:
            vm.sessions.append((vm.session_s, self.now_s, interrupted))
            vm.session_s = None
        vm.drains_until_s = None
        vm.drains_of_type = False

    def _end_halt(self, vm: Vm) -> int:
        """Settle how long a VM was hibernated or stopped; return it."""
        pause_s = self.now_s - vm.halted_at_s
        if vm.state == HIBERNATED:
            vm.hibernated_s += pause_s
        else:
            vm.stopped_s += pause_s
        return pause_s

    def _terminate(self, vm: Vm) -> None:
        if vm.halted:
            self._end_halt(vm)
        else:
            vm.halted_at_s = self.now_s
        self._end_session(vm, interrupted=False)
        vm.terminated_s = self.now_s if vm.sessions else max(self.now_s, vm.ready_s)  # one never ready is never billed
        vm.state = TERMINATED
        vm.epoch += 1
        self.fleet.give_back(vm)
        if self.records is not None:
            self._note("terminate", vm=vm.name)


def _goes_on(vm: Vm, core: int, run: Run) -> bool:
    """Whether what a core of a VM runs goes on to its end, for all that is known."""
    until_s = vm.drains_until_s
    return vm.state == RUNNING and core not in vm.dumps and (until_s is None or vm.zero_s + run.end_s <= until_s)


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
