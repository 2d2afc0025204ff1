"""View of the replay of a bag for policies, their decisions and their answers: tasks, VMs and their state."""

from __future__ import annotations

import copy
import math
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, cast

from ...core.bill import paid_until_s
from ...core.errors import SpotbagError
from ...core.quantities import SECONDS_PER_HOUR
from ...core.rows import tables_of
from ...instances.clouds import Billing
from ...instances.entries import BASELINE, FULL_SPEED, NEVER, BillingRules, Burstable, RentalOffer
from ...instances.instance import Instance
from ...schedules.timing import VmTimeline, require_no_dates
from ..engines import HIBERNATED, LAUNCHING, RUNNING, STOPPED, TERMINATED, VmBill
from ..policies import Rule, Rules, named_with_rules
from . import rows, rules
from .interpreted import QUESTIONS, add_helper, note, push
from .moments import request_plan
from .outcome import BILLED, COUNTED, COUNTED_BY_KIND, bills_of, sessions_of
from .plan import PlanTables, ReplayPlan, Run, law_values, new_name, rest_values
from .rows import MIGRATION_KINDS, NONE, MigrationKind, Rows, TaskRow, VmRow

if TYPE_CHECKING:
    from ...schedules.state import State
    from ...schedules.vm_state import VmStatus
    from .packing import Packing
    from .record import Note


_INTERRUPTIONS = {rows.HIBERNATE: "hibernate", rows.STOP: "stop", rows.TERMINATE: "terminate"}


class Vm(VmRow):
    """A VM of a replay: its row (see `VmRow`), in the words of policies, which change it by decisions alone.

    Everything on it happens in its *uptime*, which stands still while it is hibernated, stopped or booting again: the
    timetable of its cores is exact whatever the day brings.

    Attributes
    ----------
    index, name, offer, offer_index, spot : int, str, RentalOffer, int, int
        Which VM it is; index in `ReplayState.vms`. Whether it is a spot VM: 1 if so, else 0, as all such fields.
    state : int
        `LAUNCHING`, `RUNNING`, `HIBERNATED`, `STOPPED` or `TERMINATED`.
    ready_s, terminated_s : int
        When it is ready, also after it was stopped; when it was terminated.
    zero_s : int
        Moment at which the uptime was 0, shifted by the time in which it stood still: ``uptime = now - zero_s``.
    notice_s, drains_of_type : int
        How long the notice of the last interruption was, or of the one that it drains for; whether the whole type goes.
    reclaimed : int
        Whether the cloud has terminated it.
    halted_at_s : int
        When it was interrupted last.
    hibernated_s, stopped_s : int
        Seconds in hibernation, and stopped, before the present ones.
    n_left : int
        Tasks on it that are not finished.
    n_at_full_speed, n_at_baseline : int
        Of a burstable VM: how many tasks run in each mode.
    disordered : int
        Whether tasks have been taken away, so that those that wait can move up.
    stranded : int
        For policies: whether it has tasks that should have been migrated and found no place.
    first_start_s : int
        Uptime before which it runs nothing: what is moved to a new VM must arrive.
    epoch, idle_epoch, trigger_epoch : int
        How often it has been interrupted or ended; has begun or ceased to be idle; has got another migration trigger.
    """

    __slots__ = ("_replay", "_runs", "_runs_of", "name", "offer")

    def __init__(self, name: str, offer: RentalOffer) -> None:
        super().__init__()
        self.name, self.offer = name, offer  # `rules.request` sets all that is in its row
        # Its tables without the VMs: else all would keep each other in memory until somebody looks for such circles.
        self._replay: Rows
        self._runs_of = -1
        self._runs: tuple[list[Run | None], list[deque[Run]]] = ([], [])

    def copy(self) -> Vm:
        """Return a VM that goes on from here on its own."""
        twin = Vm.__new__(Vm)
        for name in (*VmRow.__slots__, *Vm.__slots__):
            setattr(twin, name, getattr(self, name))
        return twin

    # ------------------------------------------------------------------ states

    @property
    def burstable(self) -> Burstable | None:
        """Bursts of its type, if there are any."""
        return self.offer.vm_type.burstable

    @property
    def memory_kb(self) -> int | None:
        """Size of the VM in the unit of `Instance.memory_kb`; None where it never binds."""
        return None if self.most_kb == NONE else self.most_kb

    @property
    def drains_until_s(self) -> int | None:
        """Time of the interruption of which a running VM has notice; it starts nothing more."""
        return None if self.gone_s == NONE else self.gone_s

    @property
    def interruption(self) -> str | None:
        """Kind of the last interruption, or of the one that it drains for: ``hibernate``, ``stop``, ``terminate``."""
        return _INTERRUPTIONS.get(self.interrupted_by)

    @property
    def trigger_s(self) -> int | None:
        """Time at which its tasks are to be migrated, if that is set."""
        return None if self.trigger_at_s == NONE else self.trigger_at_s

    @property
    def helpers(self) -> frozenset[int]:
        """Indices of the VMs on which the migration counted when the trigger was computed."""
        return frozenset(self._replay.helpers[self.first_helper : self.first_helper + self.n_helpers])

    @property
    def migration_kinds(self) -> set[MigrationKind]:
        """Kinds of VMs that its tasks were migrated to since its last interruption."""
        return {kind for bit, kind in enumerate(MIGRATION_KINDS) if self.kinds >> bit & 1}

    @property
    def session_s(self) -> int | None:
        """Time since which it runs and is billed; None if it does not."""
        return None if self.session_from_s == NONE else self.session_from_s

    @property
    def sessions(self) -> list[tuple[int, int, bool]]:
        """Earlier sessions: from when to when it ran, and whether the cloud ended it."""
        return sessions_of(self._replay.sessions, self.first_session)

    @property
    def alive(self) -> bool:
        """True if it takes tasks: launching, or running without notice of an interruption."""
        return rules.is_alive(self)

    @property
    def draining(self) -> bool:
        """True if it runs and has notice of its interruption: what runs goes on, and nothing more starts."""
        return self.gone_s != NONE

    @property
    def hibernated(self) -> bool:
        """True if it is hibernated."""
        return self.state == HIBERNATED

    @property
    def halted(self) -> bool:
        """True if it is hibernated or stopped: it may come back."""
        return rules.is_halted(self)

    @property
    def gives_tasks(self) -> bool:
        """True if its tasks may be migrated: it is hibernated or stopped, drains, or the cloud has terminated it."""
        return rules.may_give(self)

    @property
    def busy(self) -> bool:
        """True if it takes tasks and has some."""
        return self.n_left > 0 and rules.is_alive(self)

    @property
    def executing(self) -> bool:
        """True if it is executing a task at this moment."""
        return rules.is_executing(self._replay, self)

    @property
    def idle(self) -> bool:
        """True if it runs, takes tasks and has none."""
        return rules.is_idle(self)

    def uptime_s(self, now_s: int) -> int:
        """Seconds for which the VM has been running; negative while it is launching."""
        return rules.uptime_at(self, now_s)

    # ------------------------------------------------------------------- tasks

    @property
    def running(self) -> list[Run | None]:
        """Runs by core; None where none is."""
        return self._present_runs()[0]

    @property
    def waiting(self) -> list[deque[Run]]:
        """Queues by core, in order."""
        return self._present_runs()[1]

    def _present_runs(self) -> tuple[list[Run | None], list[deque[Run]]]:
        if self._runs_of != self.changes:
            tasks = self._replay.tasks
            running: list[Run | None] = []
            waiting: list[deque[Run]] = []
            for slot in self._replay.cores[self.index]:
                running.append(None if slot.running == NONE else _run(tasks, slot.running))
                queue: deque[Run] = deque()
                task = slot.first
                while task != NONE:
                    queue.append(_run(tasks, task))
                    task = tasks[task].next
                waiting.append(queue)
            self._runs, self._runs_of = (running, waiting), self.changes
        return self._runs

    @property
    def dumps(self) -> dict[int, int]:
        """Uptime of the preemption, by core, of each task that is preempted and writes a checkpoint."""
        replay = self._replay
        tasks = ((core, slot.running) for core, slot in enumerate(replay.cores[self.index]) if slot.running != NONE)
        found = {core: replay.tasks[task].dumping_s for core, task in tasks}
        return {core: begun_s for core, begun_s in found.items() if begun_s != NONE}

    @property
    def written(self) -> dict[int, tuple[float, int]]:
        """Work saved, by core, of each run that has outlived an interruption with notice: what it had saved then.

        In seconds of its work, and the checkpoints that it had written.
        """
        tasks = self._replay.tasks
        runs = {core: tasks[run.task] for core, run in enumerate(self.running) if run is not None}
        return {core: (row.written_s, row.written) for core, row in runs.items() if row.written}

    def waiting_runs(self) -> Iterator[tuple[Run, int]]:
        """Waiting runs, and their cores, in the order in which they are to start."""
        runs = [(run, core) for core, queue in enumerate(self.waiting) for run in queue]
        runs.sort(key=lambda pair: (pair[0].start_s, pair[1]))
        return iter(runs)

    def tasks(self) -> list[int]:
        """Unfinished tasks: those that run, by core, then those that wait, in the order in which they are to start."""
        out = self._replay.ordered
        return out[: rules.list_tasks(self._replay, self, out)] if self.n_left else []

    def run_of(self, task: int) -> tuple[int, Run] | None:
        """Core and run of a task that is running (or was, when the VM was interrupted); None for one that waits."""
        tasks = self._replay.tasks
        running = 0 <= task < len(tasks) and tasks[task].vm == self.index and tasks[task].running
        return (tasks[task].core, _run(tasks, task)) if running else None

    def longest_s(self, work: PlanTables) -> int:
        """Return the longest run time on this VM of its unfinished tasks."""
        return rules.longest_of(self._replay, self)

    def last_start_s(self) -> int:
        """Return the uptime at which the last of those that wait is to start; a time that has passed if none waits."""
        return rules.last_start_of(self._replay, self)

    def timeline(self, now_s: int, work: PlanTables) -> VmTimeline:
        """Cores and memory from now on, in uptime."""
        replay, uptime_s = self._replay, max(self.uptime_s(now_s), self.first_start_s)
        timeline = VmTimeline(self.vcpus, self.memory_kb, uptime_s)
        for core, slot in enumerate(replay.cores[self.index]):
            task = slot.first if slot.running == NONE else slot.running
            while task != NONE:
                row = replay.tasks[task]
                timeline.place(core, row.start_s, row.end_s, replay.groups[row.group].memory_kb)
                task = slot.first if row.running else row.next
        timeline.advance(uptime_s)
        return timeline

    # ----------------------------------------------------------------- credits

    def credits(self, now_s: int) -> float:
        """CPU credits of a burstable VM; earned all the time, spent by what runs."""
        return rules.credits_of(self._replay, self, now_s)

    def credits_lacking(self, now_s: int) -> float:
        """Missing credits: those that tasks at full speed have spent in vain."""
        return max(-rules.unbounded_credits(self._replay, self, now_s), 0.0) if self.n_at_full_speed else 0.0


def _run(tasks: list[TaskRow], task: int) -> Run:
    row = tasks[task]
    return Run(row.start_s, row.end_s, task, row.mode)


# Of a stopped VM, all that planning needs to know is that nothing can start on it.
_STATUS: dict[int, VmStatus] = {
    LAUNCHING: "launching",
    RUNNING: "running",
    HIBERNATED: "hibernated",
    STOPPED: "hibernated",
}

_ROWS_OF = {table.name: table.row for table in tables_of(Rows)}
_OF_VMS = tuple(rows.shapes({"vms": 0}))
_BROKEN = {
    rows.REFUSAL.NOTHING_LOST: "is neither interrupted nor about to be: its tasks stay",
    rows.REFUSAL.NO_TRIGGER: "is neither interrupted nor about to be: it needs no migration trigger",
    rows.REFUSAL.ENDED_ALREADY: "is terminated already",
    rows.REFUSAL.HAS_TASKS: "has tasks left and cannot be terminated",
}
"""Faults of a VM that a decision is about, in words."""

_OF_ALL_VMS = ("offers", "groups", "durations", "tasks", "cores", "sessions", "helpers", "heads", "ordered")


def session_billing(state: ReplayState, vm: Vm) -> BillingRules | None:
    """Return the rules that bill the sessions of a VM from its readiness on; None if by the second alone."""
    from ...schedules.vm_state import session_rules

    return session_rules(state.billing.bill(vm.offer), vm.offer.vm_type.setup_s)


class ReplayState(Rows):
    """The state of a replay: what a policy sees, and the decisions that it may take.

    It holds what has happened and what was decided, in rows (see `Rows`), and of what the day will bring nothing that a
    policy is told.

    Parameters
    ----------
    policy_name : str
        Name of the policy.
    plan : ReplayPlan
        The plan; never changed.
    billing : Billing
        How VMs are billed.
    record : bool
        Whether to keep a record of every event and decision.
    scenario_law : optional
        What is known of days like this one; given to policies whose class has ``asks_for_law = True``.

    Attributes
    ----------
    plan, billing, scenario_law
        What it was made with.
    instance, work : Instance and PlanTables
        Those of the plan.
    vms : list of Vm
        All VMs so far, in the order of their requests.
    now_s : int
        Time of the last event.
    start_overhead_s : int
        From the request of a new VM until a migrated task runs on it: the longer of migration, and booting with the
        longest setup of a type.
    unfinished : int
        Tasks that are not finished.
    last_finish_s : int
        When the last of the tasks that are finished has finished.
    cpu_time_saved_s : float
        Seconds of work that recoveries did not do again.
    """

    vms: list[Vm]  # type: ignore[assignment]

    def __init__(
        self, policy_name: str, plan: ReplayPlan, billing: Billing, record: bool, scenario_law: object = None
    ) -> None:
        super().__init__()
        instance, tables = plan.instance, plan.tables
        self.policy_name, self.plan, self.billing, self.scenario_law = policy_name, plan, billing, scenario_law
        self.instance, self.work = instance, tables
        self.policy: Any = None
        self.packing: Packing | None = None
        self.queue: list[tuple[int, int, int, int, int, int]] = []
        self._names: dict[str, int] = {}
        self.recording = int(record)
        values = tables.settings | rest_values(billing) | law_values(scenario_law, instance.deadline_s)
        for name, value in (values | tables.shared).items():
            setattr(self, name, value)
        self.limits = [rows.LimitRow(*values) for values in tables.limit_values]
        self.offers = [rows.OfferRow(*values) for values in tables.offers_billed(billing)[1]]
        self.tasks = [TaskRow(*values) for values in tables.task_values]
        self._make_tables(tables.counts, lambda n: [0] * n)
        self._tables = self._tables_of_vms()
        self._lengthen(2 * len(plan.vms) + 32)
        request_plan(self)

    def copy(self) -> Self:
        """Return a state that goes on from here on its own; what never changes is shared."""
        twin = copy.copy(self)
        for table in tables_of(Rows):
            if table.name in self.plan.tables.shared or table.name == "vms":
                continue
            values = getattr(self, table.name)
            if values and isinstance(values[0], list):
                setattr(twin, table.name, [[copy.copy(row) for row in of] for of in values])
            elif values and not isinstance(values[0], int | tuple):
                setattr(twin, table.name, [copy.copy(row) for row in values])
            else:
                setattr(twin, table.name, copy.copy(values))
        twin._tables, twin.packing = twin._tables_of_vms(), None
        twin.vms = []
        for vm in self.vms:
            twin.vms.append(vm.copy())
            twin.vms[-1]._replay = twin._tables
        twin.queue, twin._names = self.queue.copy(), self._names.copy()
        return twin

    def __copy__(self) -> Self:
        twin = type(self).__new__(type(self))
        for entry in fields(Rows):
            setattr(twin, entry.name, getattr(self, entry.name))
        twin.__dict__.update(self.__dict__)
        return twin

    # --------------------------------------------------------- what rows are made of

    def _tables_of_vms(self) -> Rows:
        """Return rows with the tables that VMs look into, and nothing else."""
        tables = Rows.__new__(Rows)
        for name in _OF_ALL_VMS:
            setattr(tables, name, getattr(self, name))
        return tables

    def _add_vm(self, offer_index: int) -> int:
        """Make room for one more VM, with its name; return which it is."""
        v, offer = self.n_vms, self.instance.offers[offer_index]
        planned, rented = self.plan.vms, self.offers[offer_index].rented
        name = planned[v].name if v < len(planned) else new_name(offer, rented, self._names)
        self._names[name] = v
        vm = Vm(name, offer)
        vm._replay = self._tables
        self.vms.append(vm)
        self.cores.append([rows.CoreRow() for _ in range(offer.vcpus)])
        if 2 * self.n_vms + 4 > self.most_listed:
            self._lengthen(self.most_listed)
        return v

    def _make_tables(self, counts: Mapping[str, int], numbers: Callable[[int], list[int]]) -> None:
        """Make the tables whose units are counted."""
        for name, shape in rows.shapes(counts).items():
            row = _ROWS_OF[name]
            setattr(self, name, numbers(*shape) if row is int else [row() for _ in range(*shape)])

    def _lengthen(self, more: int) -> None:
        """Make lists of VMs longer."""
        for name in _OF_VMS:
            getattr(self, name).extend([0] * more)
        self.most_listed += more

    def _make_room_for_standby(self) -> None:
        """Make room for what `on-time` knows of tasks and VMs, and for the loops that look for rescues."""
        tables = self.plan.tables
        if self.packing is not None and self.n_vms + tables.most_new <= len(self.rescuers):
            return
        from .packing import Packing, numbers  # here, so that other policies do not load it

        # Loops know tables by their addresses: where one has grown, another `Packing` is needed.
        if not self.standby:
            self._make_tables(tables.counts_of_rescues, numbers)
        if self.n_vms + tables.most_new > len(self.rescuers):
            n_vms = 2 * self.n_vms + 32 + tables.most_new
            self._make_tables({"rescuers": n_vms, "rescuer_cores": n_vms * self.most_cores}, numbers)
            self.rescuers_known = 0
        self.packing = Packing(self)

    def _refuse(self, reason: int, v: int, number: int) -> NoReturn:
        """Refuse a decision that cannot be carried out, about a VM and a task, or about an offer."""
        vm, name = self.vms[v], self.policy_name
        if reason == rows.REFUSAL.NO_ROOM:
            raise SpotbagError(f"{name} at {self.now_s} s: no more {self.instance.offers[number]} VM can be started")
        if reason == rows.REFUSAL.NO_CREDITS:
            raise SpotbagError(
                f"{name}: {vm.name} ran out of CPU credits by {self.now_s} s with tasks at full speed; a "
                "task may be put there at full speed only if the credits suffice to its end"
            )
        if reason in _BROKEN:
            raise SpotbagError(f"{name} at {self.now_s} s: {vm.name} {_BROKEN[reason]}")
        raise SpotbagError(
            f"{name}: task {self.instance.task_ids[number]!r} cannot run on {vm.name}; ask end_if_placed_s before a "
            "task is moved"
        )

    def _demand(self, condition: bool, broken: str) -> None:
        """Refuse a decision that cannot be carried out: a mistake of the policy."""
        if not condition:
            raise SpotbagError(f"{self.policy_name} at {self.now_s} s: {broken}")

    # ------------------------------------------------------------- what has happened

    @property
    def records(self) -> list[dict[str, Any]] | None:
        """Events and decisions, as in a trace file; None if no record is kept."""
        if not self.recording:
            return None
        from .record import event_records  # here, so that replays without one do not load it

        names, offers = [vm.name for vm in self.vms], [vm.offer_index for vm in self.vms]
        return event_records(self.instance, names, offers, cast("list[Note]", self.notes))

    @property
    def saved(self) -> Mapping[int, float]:
        """Fraction saved of each unfinished task that has gone on elsewhere from a checkpoint."""
        return _Saved(self.tasks)

    @property
    def counts(self) -> Counter[str]:
        """Counts of events and decisions, by name."""
        counts = {name: getattr(self, name) for name in (*COUNTED, *COUNTED_BY_KIND)}
        return Counter(counts | {"events": self.events_handled})

    def bills(self) -> tuple[VmBill, ...]:
        """Bill of each VM, as if all that are not terminated were now."""
        if not self.over:
            # On a copy, so that nobody changes a replay by asking what it has cost.
            ended = self.copy()
            for vm in ended.vms:
                if vm.state != TERMINATED:
                    rules.terminate(ended, vm)
            ended.over = 1
            return ended.bills()
        names, billed = [vm.name for vm in self.vms], map(attrgetter(*BILLED), self.vms)
        days = self.days[: self.next_day]
        return bills_of(names, self.instance.offers, billed, self.billing, days, self.sessions)

    def unfinished_ids(self) -> list[str]:
        """Ids of the tasks that are not finished, in the order of the instance."""
        left = {task for vm in self.vms for task in vm.tasks()}
        return [self.instance.task_ids[task] for task in sorted(left)]

    def remaining(self) -> State:
        """Return the present state, for whoever plans the rest: see `replan`.

        What waits on a VM waits in the state, too, wherever it is to run. What ran on a VM when it was interrupted, or
        will not end before it is, waits, and has saved what its checkpoints have. Money is that of the billing, as if
        all VMs were terminated now.
        """
        from ...schedules.state import State
        from ...schedules.vm_state import TaskOnVm, VmState

        names, there = self.instance.task_ids, [vm for vm in self.vms if vm.state != TERMINATED]
        left = {task for vm in self.vms for task in vm.tasks()}
        saved = dict(self.saved)
        for vm in self.vms:
            for core, run in enumerate(vm.running):
                if run is not None and not _goes_on(vm, core, run):
                    saved[run.task] = rules.saved_now(self, vm, run.task)
        vms = []
        for vm in there:
            running = [
                TaskOnVm(
                    task=names[run.task],
                    core=core * self.instance.slots.cores,
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
                    ready_s=self._ready_s(vm),
                    paid_until_s=self._paid_until_s(vm),
                    price_usd_per_hour=self.offers[vm.offer_index].now_usd_per_hour,
                    billing=session_billing(self, vm),
                    credits=None if vm.burstable is None else vm.credits(self.now_s),
                    running=tuple(running),
                )
            )
        return State(
            instance=self.instance.name,
            time_s=self.now_s,
            spent_usd=math.fsum(bill.cost_usd for bill in self.bills()),
            done=tuple([name for task, name in enumerate(names) if task not in left]),
            saved={names[task]: fraction for task, fraction in sorted(saved.items()) if fraction > 0},
            vms=tuple(vms),
            gone=tuple([vm.name for vm in self.vms if vm.state == TERMINATED]),
        )

    def _ready_s(self, vm: Vm) -> int:
        """Time at which a VM is, or was, ready to run tasks in its present session, of which the setup is a part."""
        since_s, setup_s = vm.ready_s if vm.session_s is None else vm.session_s, vm.offer.vm_type.setup_s
        return max(since_s, vm.zero_s + setup_s, min(since_s + setup_s, self.now_s))

    def _paid_until_s(self, vm: Vm) -> float | None:
        """Time until which the present session of a VM is paid by the day's billing; None if that is not beyond now."""
        bill: Any = self.offers[vm.offer_index]
        until_s = 0 if vm.session_s is None else paid_until_s(bill, vm.session_s, self.now_s)
        return float(until_s) if until_s > self.now_s else None

    # ------------------------------------------------ what a policy may ask for

    def memory_kb(self, task: int) -> int:
        """Need of a task of what tasks on a VM share, as `Instance.memory_kb`."""
        return self.groups[self.tasks[task].group].memory_kb

    def timeline(self, vm: Vm) -> VmTimeline:
        """Cores and memory of a VM from now on, in its uptime; not to be changed."""
        return vm.timeline(self.now_s, self.work)

    def saved_if_moved(self, vm: Vm, task: int) -> float:
        """Fraction of a task that is saved if it leaves a VM now that is interrupted or drains."""
        run = self.tasks[task]
        return rules.saved_now(self, vm, task) if run.vm == vm.index else run.saved

    def saved_if_kept(self, vm: Vm, task: int) -> float:
        """Fraction of a task that is saved when a VM that drains is interrupted; 1 if the task ends before."""
        placed, until_s = vm.run_of(task), vm.drains_until_s
        if placed is None or until_s is None:
            return self.saved_if_moved(vm, task)
        return 1.0 if _goes_on(vm, *placed) else rules.last_checkpoint(self, vm, task, until_s)[0]

    def price_usd_per_s(self, offer: RentalOffer) -> float:
        """Price of a VM of an offer now, for a second."""
        return self.offers[offer.index].now_usd_per_hour / SECONDS_PER_HOUR

    def duration_s(self, task: int, offer: RentalOffer, mode: int | None = None, saved: float = 0.0) -> int:
        """Seconds of a task on an offer, at the baseline on burstable ones unless said otherwise; maybe `NEVER`."""
        return rules.duration_of(self, self.tasks[task].group, offer.index, self._mode(offer.index, mode), saved)

    def runtime_s(self, task: int, offer: RentalOffer) -> int:
        """Run time of a whole task on an offer at full speed, without checkpoints; `NEVER` if it cannot run there."""
        return rules.runtime_of(self, task, offer.index)

    def dump_s(self, task: int, offer: RentalOffer, mode: int | None = None) -> int:
        """Seconds of writing a checkpoint of a task on an offer, as before a preemption; `duration_s` has the mode."""
        return rules.dump_of(self, self.tasks[task].group, offer.index, self._mode(offer.index, mode))

    def end_if_placed_s(self, vm: Vm, task: int, mode: int | None = None, saved: float = 0.0) -> int | None:
        """End of a task on a VM if it were appended now; None if it cannot run there."""
        group, mode = self.tasks[task].group, self._mode(vm.offer_index, mode)
        end_s = rules.end_if_placed(self, vm, group, mode, saved)
        return None if end_s >= NEVER else end_s

    def can_start(self, offer: RentalOffer, in_market: int = 0, of_offer: int = 0) -> bool:
        """True if one more VM of an offer may be requested now, or after some more of the market and of the offer.

        In quotas, the others of the market count as those of the offer do. The limits count all VMs that are not
        terminated. ``instance.markets`` restricts the plan, not what may rescue
        it. A spot type gives no more VMs than there is capacity for, and none while it is down.
        """
        row = self.offers[offer.index]
        if not (in_market or of_offer):
            return rules.can_start(self, row)
        for member in self.members[row.first_limit : row.first_limit + row.n_limits]:
            limit = self.limits[member.limit]
            more = in_market if limit.own == NONE else of_offer
            if limit.used + (more + 1) * member.weight > limit.most:
                return False
        return not row.spot or rules.room_of(self, row.type) > of_offer

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
        rules.must_give(self, source, rows.REFUSAL.NOTHING_LOST)
        self._demand(target.alive, f"{target.name} drains, is interrupted or terminated, and takes no task")
        self._demand_task(task, source)
        rules.migrate(self, task, source, target, self._mode(target.offer_index, mode), int(late))

    def steal(self, task: int, victim: Vm, thief: Vm, mode: int | None = None) -> None:
        """Move a waiting task of a VM that launches or runs to another; what it leaves moves up."""
        self._demand(victim.state <= RUNNING, f"{victim.name} does not run: nothing is stolen from it")
        self._demand(victim.run_of(task) is None, f"{victim.name} runs the task: only what waits is stolen")
        self._demand(thief.alive, f"{thief.name} drains or does not run, and takes no task")
        self._demand_task(task, victim)
        rules.steal(self, task, victim, thief, self._mode(thief.offer_index, mode))

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
        self._demand(self.tasks[task].dumping_s == NONE, f"{vm.name} writes the checkpoint of the task already")
        self._demand(not checkpoint or self.takes_checkpoints == 1, "the bag takes no checkpoints")
        rules.preempt(self, task, vm, int(checkpoint))

    def wake_at(self, time_s: int) -> None:
        """Have the policy's ``woken`` asked at a later time, as it is at the start.

        Policies that ask for ever are woken no more once twice the deadline has passed, or the day if that is longer.
        """
        self._demand(time_s > self.now_s, f"{time_s} s is not later than now")
        push(self, time_s, rows.WAKE, 0, 0, 0)

    def start_vm(self, offer: RentalOffer) -> Vm:
        """Request a new VM; tasks moved to it start after `start_overhead_s`."""
        self._demand(self.can_start(offer), f"no more {offer} VM can be started")
        return self.vms[rules.start_vm(self, offer.index)]

    def terminate(self, vm: Vm) -> None:
        """Terminate a VM without tasks; its bill ends, and the policy answers."""
        rules.let_go(self, vm)

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
        rules.must_give(self, vm, rows.REFUSAL.NO_TRIGGER)
        vm.first_helper, vm.n_helpers = self.n_helpers, len(helpers)
        for helper in sorted(helpers):
            add_helper(self, helper)
        rules.set_trigger(self, vm, time_s)

    def report_attempt(self, thief: Vm, stolen: int) -> None:
        """Count an attempt of an idle VM to steal tasks."""
        self.steal_attempts += 1
        self.steals += int(stolen > 0)
        note(self, rows.NOTED.STEAL_ATTEMPT, thief.index, NONE, NONE, stolen, 0, 0.0)

    def report_stranded(self, vm: Vm, tasks: int) -> None:
        """Record a number of tasks of an interrupted VM without a place anywhere: they stay where they are."""
        note(self, rows.NOTED.STRANDED, vm.index, NONE, NONE, tasks, 0, 0.0)

    def _demand_task(self, task: int, vm: Vm) -> None:
        has_it = 0 <= task < len(self.tasks) and self.tasks[task].vm == vm.index
        self._demand(has_it, f"{vm.name} does not have the task to give away")

    def _mode(self, offer: int, mode: int | None) -> int:
        """Mode of a task on an offer, its sustained one unless said otherwise."""
        if mode is None:
            return self.offers[offer].sustained
        self._demand(mode in (FULL_SPEED, BASELINE), f"a mode is FULL_SPEED or BASELINE, not {mode}")
        return mode

    # ------------------------------------------------------------------------- rescue

    def _plan_rescue(self) -> None:
        """Find the rescue that the certificate has for the loss of all VMs that give tasks, if it names that."""
        from ...heuristics.bags.rescue import rescue_at, rescue_by_twins  # here, so that other policies do not load it

        schedule = self.plan.schedule
        lost = [vm for vm in self.vms if vm.n_left and vm.gives_tasks]
        rescue = rescue_by_twins(schedule, [vm.index for vm in lost], self.now_s)
        if rescue is None and not self.rescue_tried:
            types = {vm.offer.vm_type.name for vm in lost}
            others = (vm for vm in self.vms if vm.spot and not vm.gives_tasks and vm.n_left)
            if types.isdisjoint(vm.offer.vm_type.name for vm in others):
                rescue = rescue_at(schedule, types, self.now_s)
        self.rescue_tried, self.rescue_found = 1, int(rescue is not None)
        if rescue is not None:
            self.rescue_vms = [
                rows.RescueVmRow(vm.offer.index, NONE if vm.new else self._names[vm.id]) for vm in rescue.vms
            ]
            pairs = zip(rescue.task.tolist(), rescue.task_vm.tolist(), strict=True)
            self.rescue_tasks = [rows.RescueTaskRow(*pair) for pair in pairs]
            self.n_rescue_vms, self.n_rescue_tasks = len(self.rescue_vms), len(self.rescue_tasks)


class _Saved(Mapping[int, float]):
    """Saved fractions of tasks, looked up where they are asked for: policies ask for single tasks, and often."""

    def __init__(self, tasks: list[TaskRow]) -> None:
        self._tasks = tasks

    def __getitem__(self, task: int) -> float:
        if not 0 <= task < len(self._tasks) or not self._tasks[task].saved:
            raise KeyError(task)
        return self._tasks[task].saved

    def __iter__(self) -> Iterator[int]:
        return (task for task, row in enumerate(self._tasks) if row.saved)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _goes_on(vm: Vm, core: int, run: Run) -> bool:
    """True if what a core of a VM runs goes on to its end, for all that is known."""
    until_s = vm.drains_until_s
    return vm.state == RUNNING and core not in vm.dumps and (until_s is None or vm.zero_s + run.end_s <= until_s)


IDLE_60 = Rule({"idle_limit_s": 60}, "idle VMs end after a minute, not at the end of their allocation cycle")
"""The rule of all policies that keep idle VMs."""


class Policy:
    """Base of the policies; what is not overridden does nothing.

    Each replay has a policy of its own, which may keep what it knows in itself (see `spotbag.replay.policies`).
    Decisions are methods of `ReplayState`: ``migrate``, ``steal``, ``preempt``, ``start_vm``, ``terminate``,
    ``set_trigger``, ``wake_at``. What the day will bring is nowhere to be found.

    Attributes
    ----------
    name : str
        What users call it.
    summary : str
        One line.
    source : str
        Paper and algorithms.
    rules : Rules
        Other rules that its name may have after a plus, if it is used by name: what each changes of the options with
        which the class is made.
    idle_limit_s : int, optional
        Seconds after which an idle VM is asked about, if its allocation cycle does not end before.
    asks_for_law : bool
        Whether it wants to know what is known of days like the one that it meets: ``ReplayState.scenario_law``.
    dates : bool
        Whether it may meet tasks with dates of their own; bags with some are refused if not.
    """

    name: str
    summary: str = ""
    source: str = ""
    rules: ClassVar[Rules] = {}
    idle_limit_s: int | None = None
    asks_for_law: ClassVar[bool] = False
    dates: ClassVar[bool] = True

    def name_with_options(self) -> str:
        """Return the name of the class and, of a dataclass, the options that are not its own."""
        options: tuple[Field[Any], ...] = fields(self) if is_dataclass(self) else ()
        changed = {entry.name: getattr(self, entry.name) for entry in options}
        changed = {entry.name: changed[entry.name] for entry in options if changed[entry.name] != entry.default}
        return named_with_rules(type(self).name, self.rules, changed)

    def idle(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that runs and has no task left."""

    def cycle_ended(self, replay: ReplayState, vm: Vm) -> None:
        """Answer an idle VM that has reached the end of its allocation cycle, or has been idle for `idle_limit_s`."""

    def noticed(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that has notice of its interruption: it drains until ``vm.drains_until_s``."""

    def hibernated(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that is hibernated or stopped: it may come back."""

    def lost(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that the cloud has terminated: what was on it must be migrated, or is never finished."""

    def trigger_reached(self, replay: ReplayState, vm: Vm) -> None:
        """Answer an interrupted VM whose migration trigger time has come."""

    def resumed(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that has resumed, or boots again after it was stopped."""

    def capacity_changed(self, replay: ReplayState, vm_type: str) -> None:
        """Answer a type of which there can be more, or fewer, spot VMs than before."""

    def price_changed(self, replay: ReplayState, offer: RentalOffer) -> None:
        """Answer a new price of an offer."""

    def preempted(self, replay: ReplayState, vm: Vm, task: int) -> None:
        """Answer a preempted task whose checkpoint is written."""

    def woken(self, replay: ReplayState) -> None:
        """Answer the start, and times at which the policy has asked to be woken."""

    def finished(self, replay: ReplayState, vm: Vm, task: int) -> None:
        """Answer a task that has finished."""

    def terminated(self, replay: ReplayState, vm: Vm) -> None:
        """Answer a VM that the policy has terminated."""


class RulePolicy(Policy):
    """A policy whose answers are functions over rows, as the rules of a replay are (see `rules`).

    Python calls them where somebody looks at a day; of many days they are part of a compiled loop, which there is for
    each such policy in `policies.POLICIES`.

    Attributes
    ----------
    answers : mapping of str to function
        Of methods of `Policy`, the functions that answer in their places: they take what the question does, a function
        of `interpreted`. Nothing is done about others.
    """

    answers: ClassVar[Mapping[str, Callable[..., None]]] = {}

    def __post_init__(self) -> None:
        """Have the name of a policy with options, a dataclass, say which are not its own."""
        self.name = self.name_with_options()

    def row_options(self) -> dict[str, int]:
        """Return the options of the policy as its answers read them: the values of fields of `Rows`."""
        return {}

    def capacity_changed(self, replay: ReplayState, vm_type: str) -> None:
        """Answer by the rule."""
        if "capacity_changed" in self.answers:  # most have none, and days change the capacity again and again
            self.answer("capacity_changed", replay, replay.plan.tables.names.types[vm_type])

    def price_changed(self, replay: ReplayState, offer: RentalOffer) -> None:
        """Answer by the rule."""
        self.answer("price_changed", replay, offer.index)

    def answer(self, question: str, replay: ReplayState, *given: Any) -> None:
        """Answer a question by its rule, if there is one."""
        rule = self.answers.get(question)
        if rule is not None:
            # Each time: another policy may hand its questions on to this one, or an option be changed meanwhile.
            for name, value in self.row_options().items():
                setattr(replay, name, value)
            rule(replay, *given)


def _by_rule(question: str) -> Callable[..., None]:
    """Return the method that answers a question by the rule for it."""

    def answer(self: RulePolicy, replay: ReplayState, *given: Any) -> None:
        if question in self.answers:
            self.answer(question, replay, *given)

    return answer


for _question in QUESTIONS:
    if _question not in vars(RulePolicy):
        setattr(RulePolicy, _question, _by_rule(_question))


def answers(policy: Policy, question: str) -> bool:
    """True if a policy has an answer to a question, by a method or by a rule."""
    method = getattr(type(policy), question)
    if isinstance(policy, RulePolicy) and method is getattr(RulePolicy, question):
        return question in policy.answers
    return method is not getattr(Policy, question)


def require_dates_known(policy: Policy, instance: Instance) -> None:
    """Refuse a bag whose tasks have dates, if a policy knows none."""
    if not policy.dates:
        require_no_dates(instance, f"the policy {policy.name}", "others do, such as on-time, hads and static")
