"""The independent checker: says whether a plan is feasible, and has the cost and makespan that it claims.

It works on the plan as a document in columns and on the instance as it is written, and shares no code with anything
that builds a plan: durations, memory, cores, limits, credits and the bill are worked out here again. Arrays of numbers
find the tasks and the VMs that may break a rule; these few are then looked at one by one, in exact arithmetic.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...core.errors import InputError, Issue, SpotbagError
from ...core.limits import sign_of_life
from ...core.quantities import MAX_SECONDS, SECONDS_PER_HOUR, BoolArray, FloatArray
from ...instances.entries import SURVIVAL_LEVELS, Burstable, Market, RunningTask, SurvivalLevel, Task, VmType
from ...instances.instance import Instance
from ...schedules.documents import (
    MODES,
    Lateness,
    LateTask,
    PlacedTask,
    RentedVm,
    ScheduleColumns,
    ScheduleDocument,
    Survival,
)
from ...schedules.schedule import Schedule
from ..bill import bill_usd, sessions_of
from ..facts import exact, quota_rules, rounded_up
from ..findings import SURVIVAL_RULES, Violation
from .plan_arrays import (
    Bag,
    CoresOfRows,
    RowsByVm,
    Vms,
    dump_s,
    exact_interval_and_dump_s,
    exact_run_time_s,
    interval_s,
    most_in_use,
    size_kb,
)

if TYPE_CHECKING:
    from ...schedules.state import State

_CREDIT_TOLERANCE = 1e-6
_MOMENT_TOLERANCE_S = Fraction(1, 10**6)
_CLAIM_TOLERANCE = 1e-6
"""Most that a claim may differ from what is found, relative to that.

A number that is written with seven significant digits differs by up to 5e-7 of itself. A floating-point sum of ten
million costs, none of which is negative, differs by far less: 1e7 * 2^-53, about 1e-9.
"""


RULES = {
    "task-once": "every task of the instance is in the plan exactly once, and no other",
    "vm": "VMs are of types and markets that are offered, each named once",
    "placement": "a task runs on a VM of the plan, on one of its cores, where it can run, in a mode the VM has",
    "run-time": "end - start is the duration of the task there",
    "ready": "nothing starts before the VM is ready",
    "machine": "tasks that run already stay where they run, and machines that take no more tasks get none",
    "state": "tasks that run end when the state expects it at the earliest, and its VMs have tasks while they are up",
    "core": "a core runs one task at a time, and a task has as many cores as it needs",
    "memory": "the tasks that run at an instant fit the memory of the VM together",
    "d-spot": "tasks on spot VMs end by D_spot; from a state, those that run already need not, nor those that are late",
    "deadline": "all tasks end by the deadline, unless the instance allows them to be late",
    "release": "no task starts before its own ready_s; from a state, those that run already need not",
    "due": "no task ends after its own deadline_s, unless the instance allows them to be late",
    "limit": "VMs per type and market, and per market, are within the limits, machines included",
    "credits": "tasks at full speed on a burstable VM have the credits they spend",
    "budget": "the plan costs at most the budget",
    "claim": "cost, makespan, objective and late tasks are what the plan says",
} | SURVIVAL_RULES
"""Rules by name."""

CLAIMS = frozenset({"claim", *SURVIVAL_RULES})
"""Rules of what a plan says of itself: where no other is broken, it can be carried out."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Report of the checker on one plan.

    Attributes
    ----------
    violations : tuple of Violation
        All broken rules; empty for a feasible plan.
    cost_usd, makespan_s, objective : number
        Cost, makespan and objective of the plan, worked out here.
    notes : tuple of str
        What is worth knowing but breaks no rule.
    survival : Survival, optional
        What the plan survives, found here, if that was asked for or the plan says it.
    certificate : Survival, optional
        What the plan itself says of that, where it is found to hold.
    late : Lateness, optional
        Which tasks are late, found here, if the instance allows them to be; its bound is none but what is known of any.
    """

    violations: tuple[Violation, ...]
    cost_usd: float
    makespan_s: int
    objective: float
    notes: tuple[str, ...] = ()
    survival: Survival | None = None
    certificate: Survival | None = None
    late: Lateness | None = None

    @property
    def feasible(self) -> bool:
        """True if the plan breaks no rule, and no task is late."""
        return not (self.violations or self.late)

    @property
    def status(self) -> Literal["feasible", "late", "infeasible"]:
        """Verdict on the plan: it breaks a rule, or else has late tasks, where the instance allows them."""
        return "infeasible" if self.violations else "late" if self.late else "feasible"


def check(
    instance: Instance,
    plan: Schedule | ScheduleDocument,
    d_spot_s: int | None = None,
    survive: SurvivalLevel | None = None,
    state: State | None = None,
) -> CheckReport:
    """Check a plan against an instance.

    Parameters
    ----------
    instance : Instance
        What must be planned.
    plan : Schedule or ScheduleDocument
        The plan.
    d_spot_s : int, optional
        D_spot, for an instance that does not give it. If neither does, that of the plan, else the deadline, unless the
        instance asks for the estimate of Algorithm 1 of HADS.
    survive : {"one-type", "one-pool", "blackout", "each"}, optional
        Level at which survival is judged; that of the plan's own certificate, if it has one, is judged in any case.
    state : State, optional
        What has happened so far, if the plan is for what that leaves of the instance. Times of the plan, ``d_spot_s``
        and the cost that is found count from its moment on.

    Raises
    ------
    SpotbagError
        If the plan has spot VMs, and the instance asks for the estimate.
    """
    if survive is not None and survive not in SURVIVAL_LEVELS:
        raise InputError("survive", [Issue("", f"must be one of {', '.join(SURVIVAL_LEVELS)}", value=survive)])
    if d_spot_s is not None and not (isinstance(d_spot_s, Integral) and d_spot_s >= 0):
        raise InputError("d_spot_s", [Issue("", "must be a whole number of seconds, 0 or more", value=d_spot_s)])
    columns = plan.columns()
    against_state: tuple[Violation, ...] = ()
    if state is not None:
        against_state = tuple(_against_state(state, instance.deadline_s, columns))
        instance = state.remaining(instance)
    if d_spot_s is None:
        d_spot_s = instance.d_spot_s
    if d_spot_s is None:
        if instance.d_spot_rule is not None and any(vm.market == "spot" for vm in columns.vms):
            raise SpotbagError("the plan has spot VMs, but the instance wants d_spot_s estimated and none was passed")
        # Without a D_spot of the instance, the plan is held to the one that it was made for.
        made_for_s = columns.header.d_spot_s
        d_spot_s = instance.deadline_s if made_for_s is None else min(made_for_s, instance.deadline_s)
    report = _Checker(instance, columns, d_spot_s).report()
    report = replace(report, violations=(*report.violations, *against_state))
    claimed = columns.header.survival
    # A certificate is judged even if nobody asks for survival: a false one must not pass.
    level = survive if survive is not None or claimed is None else claimed.level
    return report if level is None else _with_survival(report, instance, columns, level)


def _with_survival(
    report: CheckReport, instance: Instance, columns: ScheduleColumns, level: SurvivalLevel
) -> CheckReport:
    """Judge survival as well, of a plan that can be carried out."""
    from .survival import Judge
    from .survival_claims import doubts, false_claims

    if report.late is not None or not {violation.rule for violation in report.violations} <= {"claim"}:
        survival = Survival(level=level, verdict="not-shown", reason="the plan is not feasible itself")
        return replace(report, survival=survival)
    judge, claimed = Judge(instance, columns), columns.header.survival
    if claimed is not None:
        found, notes = list(false_claims(judge, claimed, report.cost_usd)), list(doubts(judge, claimed))
        holds = claimed.level == level and claimed.verdict == "survives" and not (found or notes)
        report = replace(
            report,
            violations=(*report.violations, *found),
            notes=(*report.notes, *notes),
            certificate=claimed if holds else None,
        )
    return replace(report, survival=judge.judge(level))


def _against_state(state: State, deadline_s: int, plan: ScheduleColumns) -> Iterator[Violation]:
    """Violations by what a state itself says, without what is made of it."""
    # Times of the plan count from the next moment that is whole seconds before the deadline.
    now_s = deadline_s - math.floor(deadline_s - exact(state.time_s))
    number = {name: index for index, name in enumerate(plan.vm_names)}
    row_of = {name: row for row, name in enumerate(plan.task_ids)}
    for vm in state.vms:
        if vm.id not in number or (vm.status == "running" and all(run.end_s is None for run in vm.running)):
            continue  # there is no more to be said than that it is up
        from_s = exact(vm.ready_s) - now_s if vm.status == "launching" else Fraction(0)
        until_s = Fraction(MAX_SECONDS) if vm.until_s is None else exact(vm.until_s) - now_s
        runs = {row_of[run.task]: run for run in vm.running if run.task in row_of}
        for row in np.flatnonzero(plan.task_vm == number[vm.id]).tolist():
            start_s, end_s = int(plan.task_start_s[row]), int(plan.task_end_s[row])
            run, task = runs.get(row), f"task {plan.task_ids[row]!r}"
            least_s = Fraction(0) if run is None or run.end_s is None else exact(run.end_s) - now_s
            late, message = Fraction(0), ""
            if run is None and vm.status in ("draining", "hibernated"):
                late, message = Fraction(1), f"{task} is to start on {vm.id}, which is {vm.status}"
            elif run is None and start_s < from_s:
                late = from_s - start_s
                message = f"{task} starts at {start_s} s; {vm.id} is ready at {float(from_s):g} s"
            elif end_s < least_s:
                late = least_s - end_s
                message = f"{task} ends at {end_s} s; the state expects it to end at {float(least_s):g} s"
            elif end_s > until_s:
                late, message = end_s - until_s, f"{task} ends at {end_s} s; {vm.id} goes at {float(until_s):g} s"
            if late > _MOMENT_TOLERANCE_S:
                yield Violation.of("state", plan.task_ids[row], message, float(late))


class _Checker:
    def __init__(self, instance: Instance, plan: ScheduleColumns, d_spot_s: int) -> None:
        self.instance = instance
        self.plan = plan
        self.d_spot_s = d_spot_s
        self.types = {vm_type.name: vm_type for vm_type in instance.vm_types}
        self.sizes_kb = {name: size_kb(vm_type.memory_mb, vm_type.reserved_mb) for name, vm_type in self.types.items()}
        self.bag = Bag.of(instance)
        # The entry of the bag for each row of the plan; -1 for a task that is not in the instance.
        self.entry = self.bag.entries_of(plan.task_ids)
        sign_of_life()  # of large plans, each part takes a while
        self.vms = Vms(instance, plan, self.sizes_kb)
        self.numbers = {name: index for index, name in enumerate(plan.vm_names)}
        self.machines = {machine.id: machine for machine in instance.machines}
        setups_s = [self.types[vm.type].setup_s if vm.type in self.types else 0 for vm in plan.vms]
        self.ready_s = np.full(len(plan.vm_names), instance.boot_overhead_s, dtype=np.int64)
        self.ready_s[[self.numbers[vm.id] for vm in plan.vms]] += np.array(setups_s, dtype=np.int64)
        self.closed = np.zeros(len(plan.vm_names), dtype=bool)
        there = [(self.numbers[name], machine) for name, machine in self.machines.items() if name in self.numbers]
        for at, machine in there:
            self.ready_s[at], self.closed[at] = machine.ready_s, not machine.open
        self.cores = CoresOfRows(plan)
        # Rows of tasks that run already, and those of them that are where they run.
        self.runs = np.zeros(len(plan.task_ids), dtype=bool)
        self.stays = np.zeros(len(plan.task_ids), dtype=bool)
        if len(instance.running.task):
            self._find_running()
        self.durations: dict[tuple[str, str, str, str | None], int | None] = {}

    @cached_property
    def running(self) -> dict[str, tuple[str, RunningTask]]:
        """Machine of each running task, and its entry there."""
        machines = self.instance.machines
        return {entry.task: (machine.id, entry) for machine in machines for entry in machine.running}

    def _find_running(self) -> None:
        plan, running = self.plan, self.instance.running
        number = np.full(len(self.bag.names) + 1, -1)  # among those that run; the last is of tasks that are unknown
        number[running.task] = np.arange(len(running.task))
        if self.entry is self.bag.entry_of:
            of_row = number[:-1]
        else:
            of_row = number[[self.bag.position.get(name, -1) for name in plan.task_ids]]
        rows = np.flatnonzero(of_row >= 0)
        mine = of_row[rows]
        where = np.array([self.numbers.get(machine.id, -1) for machine in self.instance.machines], dtype=np.int64)
        core = np.array([entry.core for machine in self.instance.machines for entry in machine.running])
        same = (plan.task_vm[rows] == where[running.machine[mine]]) & (plan.task_core[rows] == core[mine])
        same &= plan.task_start_s[rows] == running.start_s[mine]
        same &= (plan.task_mode[rows] == MODES.index("baseline")) == running.baseline[mine]
        named = [{*(entry.cores or ())} for machine in self.instance.machines for entry in machine.running]
        if any(named):  # a plan that names no more than the first of them leaves the others as they are
            pairs = zip(rows.tolist(), mine.tolist(), strict=True)
            kept = [
                not (plan.cores[row] and named[number]) or {*plan.cores[row]} == named[number] for row, number in pairs
            ]
            same &= np.array(kept, dtype=bool)
        self.runs[rows] = True
        self.stays[rows[same]] = True

    def report(self) -> CheckReport:
        """Run all checks."""
        violations = [
            *self._tasks_once(),
            *self._vms(),
            *self._limits(),
            *self._tasks_stay(),
        ]
        plan, vms = self.plan, self.vms
        doubtful_rows = np.flatnonzero(self._doubtful_rows())
        for placed in plan.records(doubtful_rows) if len(doubtful_rows) else ():
            violations += self._task(placed)
        sign_of_life()
        rows = np.flatnonzero((self.entry >= 0) & vms.known[plan.task_vm])
        by_vm = RowsByVm(plan, rows)
        sign_of_life()
        doubtful = self._doubtful_vms(by_vm)
        # Costs and makespan are worked out of broken plans as well: a report has always all figures.
        # Of VMs with the same name, the last.
        here = np.array([self.numbers[vm.id] for vm in plan.vms], dtype=np.int64) if vms.doubled else vms.numbers
        used = np.array(vms.offered, dtype=bool) & (by_vm.count[here] > 0)
        sessions, end_s = sessions_of(self.instance, plan.vms), by_vm.end_s[here].tolist()
        cost_usd = float(bill_usd((sessions[number], end_s[number]) for number in np.flatnonzero(used).tolist()))
        for number in np.flatnonzero(used & (doubtful[here] | vms.doubled)).tolist():
            vm = plan.vms[number]
            vm_type = self.types[vm.type]
            placed_here = list(plan.records(by_vm.rows_of(int(here[number]))))
            violations += self._cores(vm, vm_type, placed_here)
            violations += self._memory(vm, vm_type, placed_here)
            if vm_type.burstable is not None:
                violations += self._credits(vm, vm_type.burstable, placed_here)
        makespan = int(plan.task_end_s.max()) if len(plan.task_end_s) else 0
        objective = self._objective(cost_usd, makespan)
        violations += self._budget(cost_usd)
        violations += self._claims(cost_usd, makespan)
        late = self._lateness()
        violations += self._claims_of_lateness(late)
        may_be_late = late if self.instance.late is not None else None
        return CheckReport(tuple(violations), cost_usd, makespan, objective, tuple(self._notes()), late=may_be_late)

    def _doubtful_rows(self) -> BoolArray:
        """Mask of the rows with signs of a broken rule of single tasks, a superset of those found by `_task`."""
        plan, bag, vms = self.plan, self.bag, self.vms
        start, end, vm, mode = plan.task_start_s, plan.task_end_s, plan.task_vm, plan.task_mode
        spot = vms.spot[vm]
        stays = self.stays
        doubtful = ~vms.known[vm] | ((start < self.ready_s[vm]) & ~stays) | (end > self.instance.deadline_s)
        doubtful |= spot & (end > self.d_spot_s) & ~stays
        doubtful |= self.closed[vm] & ~stays
        if bag.dates_s is not None:
            release_s, due_s = bag.dates_s[:, self.entry]
            doubtful |= ((start < release_s) & ~stays) | (end > due_s)
        # Rules of a task on a VM apply only where both are known: the last entry of each array stands for unknown ones,
        # and means nothing.
        judged = (self.entry >= 0) & vms.of_known_type[vm]
        wrong = self.cores.wrong(bag.cores[self.entry], vms.vcpus[vm])
        wrong |= (mode > 0) & ~vms.burstable[vm]
        seconds, clear = bag.durations_s(self.entry, plan, vms, self.instance.checkpoint)
        wrong |= ~clear | (end - start != seconds)
        stated = plan.checkpoint_interval_s
        if not np.isnan(stated).all():
            wrong |= ~np.isnan(stated) & ~(spot & self._intervals_agree(stated))
        return doubtful | (judged & wrong)

    def _intervals_agree(self, stated: FloatArray) -> BoolArray:
        rules = self.instance.checkpoint
        if rules is None:
            return np.zeros(len(stated), dtype=bool)
        interval = interval_s(rules, dump_s(rules, self.bag.memory_mb[self.entry]))
        agree: BoolArray = np.abs(stated - interval) <= _CLAIM_TOLERANCE * interval
        return agree

    def _doubtful_vms(self, by_vm: RowsByVm) -> BoolArray:
        """Mask of the VMs with signs of a broken rule of cores, memory or credits, a superset of the real ones."""
        vms, need_kb = self.vms, self.bag.need_kb[self.entry[by_vm.rows]]
        doubtful = by_vm.overlapping(self.cores)
        cores = self.bag.cores[self.entry[by_vm.rows]]
        if (cores > 1).any():
            doubtful |= by_vm.overfull(np.ones(len(doubtful), dtype=bool), cores, vms.vcpus)
        # If the largest tasks of all cores fit at once, memory cannot be short: few VMs need a look at each moment.
        binding = by_vm.most_at_once(need_kb) > vms.size_kb * (1 - 1e-9)
        if binding.any():
            doubtful |= by_vm.overfull(binding, need_kb, vms.size_kb)
        if vms.burstable.any():
            # At the baseline a task spends no more than is earned: only tasks at full speed can run out of credits.
            rows = by_vm.rows[self.plan.task_mode[by_vm.rows] != MODES.index("baseline")]
            at_full_speed = np.bincount(self.plan.task_vm[rows], minlength=len(doubtful)) > 0
            doubtful |= vms.burstable & at_full_speed
        return doubtful

    def _tasks_once(self) -> Iterator[Violation]:
        if self.entry is self.bag.entry_of:  # all tasks, each once, in their order
            return
        times = Counter(self.plan.task_ids)
        for name in self.bag.names:
            if name not in times:
                yield Violation.of("task-once", name, f"task {name!r} is not in the plan")
        for name, count in times.items():
            if name not in self.bag.position:
                yield Violation.of("task-once", name, f"task {name!r} is not in the instance")
            elif count > 1:
                yield Violation.of("task-once", name, f"task {name!r} is in the plan {count} times", count - 1, "tasks")

    def _tasks_stay(self) -> Iterator[Violation]:
        """Violations by running tasks which the plan has in other places."""
        if not self.runs.any():
            return
        moved = self.runs.copy()
        moved[self.stays] = False
        for placed in self.plan.records(np.flatnonzero(moved)) if moved.any() else ():
            name, entry = self.running[placed.id]
            message = (
                f"task {placed.id!r} runs on core {entry.core} of {name} since {entry.start_s} s; the plan has it on "
                f"core {placed.core} of {placed.vm} from {placed.start_s} s on"
            )
            if (placed.vm, placed.core, placed.start_s) == (name, entry.core, entry.start_s):
                message = f"task {placed.id!r} runs in {entry.mode} mode; the plan has it in another"
                if placed.cores and entry.cores and {*placed.cores} != {*entry.cores}:
                    on = f"cores {[*entry.cores]} of {name}"
                    message = f"task {placed.id!r} runs on {on}; the plan has it on {[*placed.cores]}"
            yield Violation.of("machine", placed.id, message)

    def _vms(self) -> Iterator[Violation]:
        for name, count in Counter(vm.id for vm in self.plan.vms).items() if self.vms.doubled else ():
            if count > 1:
                yield Violation.of("vm", name, f"{count} VMs are called {name!r}", count - 1, "VMs")
        kinds, offered = self.vms.kinds, self.vms.offered
        for vm, kind, is_offered in zip(self.plan.vms, kinds, offered, strict=True):
            if not is_offered and vm.type not in self.types:
                yield Violation.of("vm", vm.id, f"VM {vm.id!r} is of the unknown type {vm.type!r}")
            elif not is_offered:
                yield Violation.of("vm", vm.id, f"VM {vm.id!r}: no {vm.market} offer for {vm.type}")
            machine = self.machines.get(vm.id)
            if machine is not None and (machine.type, machine.market) != kind:
                message = f"VM {vm.id!r} exists already, and is a {machine.type} {machine.market} VM"
                yield Violation.of("vm", vm.id, message)

    def _limits(self) -> Iterator[Violation]:
        machines = self.machines
        new = Counter[tuple[str, Any]]((vm.type, vm.market) for vm in self.plan.vms if vm.id not in machines)
        # Machines that exist count as well, but what was rented before does not break a limit of this plan.
        rented = new.copy()
        existing = Counter[tuple[str, Any]]((machine.type, machine.market) for machine in machines.values())
        rented.update({kind: count for kind, count in existing.items() if rented[kind]})
        for (name, market), count in rented.items():
            offer = self.types[name].offers.get(market) if name in self.types else None
            if offer is not None and count > offer.limit:
                message = f"{count} {name} {market} VMs, {count - offer.limit} over the limit of {offer.limit}"
                yield Violation.of("limit", f"{name} {market}", message, count - offer.limit, "VMs")
        for market, count in Counter([market for _, market in new.elements()]).items():
            if market not in self.instance.markets:
                message = f"{count} {market} VMs, a market that the instance does not allow"
                yield Violation.of("limit", market, message, count, "VMs")
        vcpus = {name: vm_type.vcpus for name, vm_type in self.types.items()}
        for quota in quota_rules(self.instance.limits.model_dump()):
            if quota.total(new, vcpus) and (over := quota.total(new + existing, vcpus) - quota.most) > 0:
                message = f"{over + quota.most} {quota.name} {quota.unit}, {over} over the limit of {quota.most}"
                yield Violation.of("limit", quota.name, message, over, quota.unit)

    def _task(self, placed: PlacedTask) -> Iterator[Violation]:
        """Checks of one task on its own."""
        name = placed.id
        number = self.numbers[placed.vm]
        if not self.vms.known[number]:
            yield Violation.of("placement", name, f"task {name!r} is on {placed.vm!r}, no VM of the plan")
            return
        vm, task, machine = self.plan.vms[number], self.bag.task(name), self.machines.get(placed.vm)
        if machine is not None and not machine.open and name not in self.running:
            yield Violation.of("machine", name, f"task {name!r} is to start on {vm.id}, which takes no more tasks")
        yield from self._times(placed, vm, task)
        # Rules of times are judged above even where the type is unknown; those below need it.
        vm_type = self.types.get(vm.type)
        if vm_type is None or task is None:
            return
        if placed.core >= vm_type.vcpus:
            message = f"task {name!r} is on core {placed.core} of {vm.id}, which has cores 0 to {vm_type.vcpus - 1}"
            yield Violation.of("placement", name, message)
        named, need = placed.cores or (), task.cores
        right = not named or (named[0] == placed.core and len({*named}) == len(named) == need)
        if not right or max(named, default=0) >= vm_type.vcpus:
            message = f"task {name!r} is on cores {[*named]} of {vm.id}, {placed.core} the first; it needs {need}"
            yield Violation.of("core", name, message, max(abs(len({*named}) - need), 1), "cores")
        if placed.mode is not None and vm_type.burstable is None:
            message = f"task {name!r} is in {placed.mode} mode, but {vm.type} is not burstable"
            yield Violation.of("placement", name, message)
            return
        yield from self._interval(placed, task, vm.market)
        duration = self._duration(task, vm_type, vm.market, placed.mode)
        if task.cores > vm_type.vcpus:
            message = f"task {name!r} needs {task.cores} cores, {vm.id} has {vm_type.vcpus}"
            yield Violation.of("core", name, message, task.cores - vm_type.vcpus, "cores")
        elif duration is None:
            message = f"task {name!r} has no run time on {vm.type}"
            if task.markets is not None and vm.market not in task.markets:
                message = f"task {name!r} is on the {vm.market} VM {vm.id}; its markets are {', '.join(task.markets)}"
            yield Violation.of("placement", name, message)
        elif placed.end_s - placed.start_s != duration:
            given = placed.end_s - placed.start_s
            message = f"task {name!r} on {vm.id} takes {duration} s, the plan gives it {given} s"
            yield Violation.of("run-time", name, message, abs(given - duration))

    def _times(self, placed: PlacedTask, vm: RentedVm, task: Task | None) -> Iterator[Violation]:
        """When a task starts and ends: those that run have started before, and all may be late where the bag allows."""
        name, start_s, end_s = placed.id, placed.start_s, placed.end_s
        ready_s, deadline_s, d_spot_s = int(self.ready_s[self.numbers[vm.id]]), self.instance.deadline_s, self.d_spot_s
        release_s = start_s if task is None or not task.ready_s else task.ready_s
        due_s = end_s if task is None or task.deadline_s is None else task.deadline_s
        runs = name in self.running
        excused = self.instance.late is not None and end_s > min(due_s, deadline_s)
        # D_spot binds no on-demand VM and nothing that runs already; it is there for the deadline, and what is late is
        # excused from both.
        beyond_d_spot = runs or excused or vm.market != "spot"
        starts, ends = f"task {name!r} starts at {start_s} s", f"ends at {end_s} s"
        for rule, by_s, exempt, said, than in (
            ("ready", ready_s - start_s, runs, starts, f"before {vm.id} is ready"),
            ("deadline", end_s - deadline_s, excused, f"task {name!r} {ends}", f"after the deadline ({deadline_s} s)"),
            (
                "d-spot",
                end_s - d_spot_s,
                beyond_d_spot,
                f"task {name!r} on {vm.id} {ends}",
                f"after D_spot ({d_spot_s} s)",
            ),
            ("release", release_s - start_s, runs, starts, f"before its ready_s ({release_s} s)"),
            ("due", end_s - due_s, excused, f"task {name!r} {ends}", f"after its deadline_s ({due_s} s)"),
        ):
            if by_s > 0 and not exempt:
                yield Violation.of(rule, name, f"{said}, {by_s} s {than}", by_s)

    def _interval(self, placed: PlacedTask, task: Task, market: Market) -> Iterator[Violation]:
        """The checkpoint interval that the plan states for a task."""
        stated, rules = placed.checkpoint_interval_s, self.instance.checkpoint
        if stated is None:
            return
        if rules is None or market != "spot":
            message = f"the plan gives task {placed.id!r} checkpoints, where none are taken"
            yield Violation.of("claim", placed.id, message, stated)
            return
        interval = float(exact_interval_and_dump_s(rules, task.memory_mb)[0])
        if not _agree(stated, interval):
            message = (
                f"the plan gives task {placed.id!r} a checkpoint interval of {stated:.9g} s, it is {interval:.9g} s"
            )
            yield Violation.of("claim", placed.id, message, abs(stated - interval))

    def _duration(self, task: Task, vm_type: VmType, market: Market, mode: str | None) -> int | None:
        """Duration of a task on an offer, in exact arithmetic; None if it has no run time there."""
        key = (task.id, vm_type.name, market, mode)
        if key not in self.durations:
            self.durations[key] = self._work_out_duration(task, vm_type, market, mode)
        return self.durations[key]

    def _work_out_duration(self, task: Task, vm_type: VmType, market: Market, mode: str | None) -> int | None:
        """Seconds for which a task occupies a core, in exact arithmetic on the decimal numbers of the file."""
        seconds = exact_run_time_s(task, vm_type)
        if seconds is None or (task.markets is not None and market not in task.markets):
            return None
        total = Fraction(seconds)
        rules = self.instance.checkpoint
        if market == "spot" and rules is not None:
            interval, dump = exact_interval_and_dump_s(rules, task.memory_mb)
            # One checkpoint after every interval of work, but none at the end, where there is nothing left to save.
            total += (rounded_up(seconds / interval) - 1) * dump
        if mode == "baseline" and vm_type.burstable is not None:
            total /= exact(vm_type.burstable.baseline_fraction)
        return rounded_up(total)

    def _cores(self, vm: RentedVm, vm_type: VmType, placed_here: list[PlacedTask]) -> Iterator[Violation]:
        """No two tasks of a core overlap, and at no moment are more cores needed than there are."""
        latest: dict[int, PlacedTask] = {}
        for placed in sorted(placed_here, key=lambda entry: (entry.start_s, entry.end_s)):
            for core in sorted({*(placed.cores or (placed.core,))}):
                before = latest.get(core)
                if before is not None and before.end_s > placed.start_s:
                    overlap = min(before.end_s, placed.end_s) - placed.start_s
                    message = f"tasks {before.id!r} and {placed.id!r} overlap by {overlap} s on core {core} of {vm.id}"
                    yield Violation.of("core", vm.id, message, overlap)
                if before is None or placed.end_s > before.end_s:
                    latest[core] = placed
        needs = [int(self.bag.cores[self.bag.entry(placed.id)]) for placed in placed_here]
        if max(needs, default=1) == 1:
            return
        uses = [(placed.start_s, placed.end_s, need) for placed, need in zip(placed_here, needs, strict=True)]
        worst, worst_at = most_in_use(uses)
        if worst > vm_type.vcpus:
            message = f"the tasks on {vm.id} need {worst} cores at {worst_at} s, it has {vm_type.vcpus}"
            yield Violation.of("core", vm.id, message, worst - vm_type.vcpus, "cores")

    def _memory(self, vm: RentedVm, vm_type: VmType, placed_here: list[PlacedTask]) -> Iterator[Violation]:
        """Memory in use after every start and end; the worst moment is reported.

        What tasks that run already need together is for the state to say: only where the plan has others with them.
        """
        size_kb = self.sizes_kb[vm_type.name]
        changes: list[tuple[int, int, int]] = []
        for placed in placed_here:
            need_kb, starts = int(self.bag.need_kb[self.bag.entry(placed.id)]), int(placed.id not in self.running)
            changes += [(placed.start_s, need_kb, starts), (placed.end_s, -need_kb, -starts)]
        changes.sort()  # at equal times, what ends frees its memory first
        used_kb = worst_kb = worst_at = started = 0
        for moment, change, starts in changes:
            used_kb += change
            started += starts
            if started and used_kb > worst_kb:
                worst_kb, worst_at = used_kb, moment
        if worst_kb > size_kb:
            over = (worst_kb - size_kb) / 1024
            need, size = worst_kb / 1024, size_kb / 1024
            message = f"{vm.id} needs {need:.1f} MB at {worst_at} s, {over:.1f} MB over its {size:.0f} MB"
            yield Violation.of("memory", vm.id, message, over, "MB")

    def _credits(self, vm: RentedVm, credits: Burstable, placed_here: list[PlacedTask]) -> Iterator[Violation]:
        """Credits over time: earned all the time, spent by what runs; full speed needs some left.

        A vCPU at full speed spends a credit a minute, one at the baseline its fraction of that. Without credits a VM
        runs at the baseline, so only tasks at full speed can lack any: of those that the plan starts, as when those
        that run already end is for the state to say.
        """
        # Time, and changes of tasks at full speed, of those of them that the plan starts, and of tasks at baseline.
        changes: list[tuple[int, int, int, int]] = []
        for placed in placed_here:
            burst = int(placed.mode != "baseline")
            starts, baseline = burst * int(placed.id not in self.running), 1 - burst
            changes += [(placed.start_s, burst, starts, baseline), (placed.end_s, -burst, -starts, -baseline)]
        changes.sort()
        cap = 24 * credits.credits_per_hour if credits.max_credits is None else credits.max_credits
        machine = self.machines.get(vm.id)
        known = credits.initial_credits if machine is None or machine.credits is None else machine.credits
        balance = min(known, cap)
        now = int(self.ready_s[self.numbers[vm.id]])
        at_full = started = at_baseline = 0
        lacking = 0.0
        first_at = now
        for change_s, full, starts, baseline in changes:
            moment = max(change_s, now)  # of a machine, the credits at second 0 are known
            spent = (at_full + at_baseline * credits.baseline_fraction) / 60
            balance += (credits.credits_per_hour / SECONDS_PER_HOUR - spent) * (moment - now)
            if balance < 0:
                if started:
                    first_at = first_at if lacking else moment
                    lacking -= balance
                balance = 0.0
            balance = min(balance, cap)
            now = moment
            at_full += full
            started += starts
            at_baseline += baseline
        if lacking > _CREDIT_TOLERANCE:
            message = f"{vm.id} lacks {lacking:.3f} credits for its tasks at full speed, the first by {first_at} s"
            yield Violation.of("credits", vm.id, message, lacking, "credits")

    def _budget(self, cost_usd: float) -> Iterator[Violation]:
        """The plan costs at most what the instance allows."""
        budget = self.instance.objective.budget_usd
        if budget is not None and cost_usd > budget * (1 + _CLAIM_TOLERANCE):
            message = f"the plan costs $ {cost_usd:.6f}, more than the budget of $ {budget:g}"
            yield Violation.of("budget", self.instance.name, message, cost_usd - budget, "USD")

    def _objective(self, cost_usd: float, makespan_s: int) -> float:
        """Objective of the instance."""
        asked = self.instance.objective
        weight, cost_scale, makespan_scale = asked.cost_weight, asked.cost_scale_usd, asked.makespan_scale_s
        goal = asked.goal or ("cheapest" if weight is None and cost_scale is None and makespan_scale is None else "")
        if goal in ("cheapest", "fastest"):
            self.weight_and_scales = float(goal == "cheapest"), 1.0, 1.0
        else:
            if cost_scale is None:
                cost_scale = self.bag.ideal_cost_usd(self.sizes_kb)
            if makespan_scale is None:
                makespan_scale = self.instance.deadline_s
            self.weight_and_scales = 0.5 if weight is None else weight, cost_scale, float(makespan_scale)
        return _weighted(cost_usd, makespan_s, *self.weight_and_scales)

    def _claims(self, cost_usd: float, makespan_s: int) -> Iterator[Violation]:
        """Violations by stated figures; the objective is judged by the weight and scales which the plan states."""
        document = self.plan.header
        stated = document.cost_weight, document.cost_scale_usd, document.makespan_scale_s
        own = [mine if said is None else said for said, mine in zip(stated, self.weight_and_scales, strict=True)]
        objective = _weighted(cost_usd, makespan_s, *own)
        for name, claimed, found, unit, tolerance in (
            ("cost_usd", document.cost_usd, cost_usd, "USD", _CLAIM_TOLERANCE),
            ("makespan_s", document.makespan_s, makespan_s, "s", 0.0),
            ("objective", document.objective, objective, "", _CLAIM_TOLERANCE),
        ):
            if claimed is not None and not _agree(claimed, found, tolerance):
                message = f"the plan says {name} {claimed:.9g}, it comes to {found:.9g}"
                yield Violation.of("claim", name, message, abs(claimed - found), unit)

    def _lateness(self) -> Lateness | None:
        """Tasks that end after they are due, each with its weight; None if none does."""
        late_s = self.plan.task_end_s - self.instance.deadline_s
        if self.bag.dates_s is not None:
            late_s = np.maximum(late_s, self.plan.task_end_s - self.bag.dates_s[1, self.entry])
        rows = np.flatnonzero(late_s > 0)
        if not len(rows):
            return None
        rows = rows[np.argsort(-late_s[rows], kind="stable")].tolist()
        named = [(name := self.plan.task_ids[row], int(late_s[row]), self.bag.task(name)) for row in rows]
        tasks = tuple(
            LateTask(id=name, late_s=seconds, weight=1.0 if task is None or task.weight is None else task.weight)
            for name, seconds, task in named
        )
        return Lateness(
            weight=sum(task.weight for task in tasks),
            weight_bound=0.0,
            lateness_s=sum(task.weight * task.late_s for task in tasks),
            tasks=tasks,
        )

    def _claims_of_lateness(self, found: Lateness | None) -> Iterator[Violation]:
        """Violations by what the plan says of late tasks, if it is judged by the deadline that it was made for."""
        claimed = self.plan.header.late
        if claimed is None or self.plan.header.deadline_s not in (None, self.instance.deadline_s):
            return
        own = {} if found is None else {task.id: (task.late_s, task.weight) for task in found.tasks}
        said = {task.id: (task.late_s, task.weight) for task in claimed.tasks}
        for name in [*own, *(said.keys() - own.keys())]:
            if own.get(name) != said.get(name):
                seconds, told = own.get(name, (0, 0))[0], said.get(name, (0, 0))[0]
                message = f"the plan says that task {name!r} is {told} s late, it is {seconds} s late"
                if seconds == told:
                    message = f"the plan says that task {name!r} counts {said[name][1]:g}, it counts {own[name][1]:g}"
                yield Violation.of("claim", name, message, abs(told - seconds))
        for what, value, most, unit in (
            ("weight", claimed.weight, 0.0 if found is None else found.weight, ""),
            ("lateness_s", claimed.lateness_s, 0.0 if found is None else found.lateness_s, "s"),
        ):
            if not _agree(value, most):
                message = f"the plan says a {what} of late tasks of {value:.9g}, it comes to {most:.9g}"
                yield Violation.of("claim", f"late.{what}", message, abs(value - most), unit)
        if claimed.weight_bound > claimed.weight * (1 + _CLAIM_TOLERANCE):
            message = f"the plan says that {claimed.weight_bound:g} are late in every plan, more than in this one"
            yield Violation.of("claim", "late.weight_bound", message, claimed.weight_bound - claimed.weight, "")

    def _notes(self) -> Iterator[str]:
        document, instance = self.plan.header, self.instance
        if document.instance != instance.name:
            yield f"the plan was made for the instance {document.instance!r}, not {instance.name!r}"
        if document.goal is not None and document.goal != instance.goal:
            yield (
                f"the plan was made for the goal {document.goal}; it is judged by {instance.goal} "
                f"(--goal {document.goal} judges it by its own)"
            )
        for name, option, made_for, judged_by in (
            ("deadline", "--deadline", document.deadline_s, instance.deadline_s),
            ("D_spot", "--d-spot", document.d_spot_s, self.d_spot_s),
        ):
            binds = name == "deadline" or judged_by < instance.deadline_s
            if made_for is not None and made_for != judged_by and binds:
                yield (
                    f"the plan was made for a {name} of {made_for} s; it is judged by {judged_by} s "
                    f"({option} {made_for} judges it by its own)"
                )
        if document.objective is not None:
            names = "cost_weight", "cost_scale_usd", "makespan_scale_s"
            for name, own in zip(names, self.weight_and_scales, strict=True):
                stated = getattr(document, name)
                if stated is not None and not _agree(stated, own):
                    yield f"the objective that the plan states has a {name} of {stated:g}; here it is {own:g}"


def _agree(claimed: float, found: float, tolerance: float = _CLAIM_TOLERANCE) -> bool:
    return abs(claimed - found) <= tolerance * abs(found)


def _weighted(cost_usd: float, makespan_s: int, weight: float, cost_scale: float, makespan_scale: float) -> float:
    return weight * cost_usd / cost_scale + (1 - weight) * makespan_s / makespan_scale
