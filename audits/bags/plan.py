"""The independent checker: says whether a plan is feasible, and comes to what it claims.

It works on the plan as a document and on the instance as it is written, in plain Python, and shares no code with
anything that builds a plan: durations, memory, cores, limits, credits and the bill are worked out here again.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from ...core.errors import SpotbagError
from ...instances.entries import Burstable, Checkpoints, Market, Task, VmType
from ...instances.instance import Instance
from ...schedules.documents import PlacedTask, RentedVm, ScheduleDocument
from ...schedules.schedule import Schedule
from ..findings import Violation

_NOISE = Fraction(1, 10**12)
_CREDIT_TOLERANCE = 1e-6
_CLAIM_TOLERANCE = 1e-6
"""By how much a claim may differ from what is found, relative to that.

A number that is written with seven significant digits differs by up to 5e-7 of itself. A floating-point sum of ten
million costs, none of which is negative, differs by far less: 1e7 * 2^-53, about 1e-9.
"""


RULES = {
    "task-once": "every task of the instance is in the plan exactly once, and no other",
    "vm": "VMs are of types and markets that are offered, each named once",
    "placement": "a task runs on a VM of the plan, on one of its cores, where it can run, in a mode the VM has",
    "run-time": "end - start is the duration of the task there",
    "ready": "nothing starts before the VM is ready",
    "core": "a core runs one task at a time",
    "memory": "the tasks that run at an instant fit the memory of the VM together",
    "d-spot": "tasks on spot VMs end by D_spot",
    "deadline": "all tasks end by the deadline",
    "limit": "VMs per type and market, and per market, are within the limits",
    "credits": "tasks at full speed on a burstable VM have the credits they spend",
    "claim": "cost, makespan and objective are what the plan says",
}
"""Rules by name."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What the checker found.

    Attributes
    ----------
    violations : tuple of Violation
        All broken rules; empty for a feasible plan.
    cost_usd, makespan_s, objective : number
        What the plan comes to, worked out here.
    notes : tuple of str
        What is worth knowing but breaks no rule.
    """

    violations: tuple[Violation, ...]
    cost_usd: float
    makespan_s: int
    objective: float
    notes: tuple[str, ...] = ()

    @property
    def feasible(self) -> bool:
        """Whether no rule is broken."""
        return not self.violations


def check(instance: Instance, plan: Schedule | ScheduleDocument, d_spot_s: int | None = None) -> CheckReport:
    """Check a plan against an instance.

    Parameters
    ----------
    instance : Instance
        What must be planned.
    plan : Schedule or ScheduleDocument
        The plan.
    d_spot_s : int, optional
        D_spot, for an instance that leaves it to be estimated.

    Raises
    ------
    SpotbagError
        If the plan has spot VMs and D_spot is known from nowhere.
    """
    document = plan.to_document() if isinstance(plan, Schedule) else plan
    if d_spot_s is None:
        d_spot_s = instance.d_spot_s
    if d_spot_s is None:
        if any(vm.market == "spot" for vm in document.vms):
            raise SpotbagError("the plan has spot VMs, but the instance gives no d_spot_s and none was passed")
        d_spot_s = 0
    return _Checker(instance, document, d_spot_s).report()


class _Checker:
    def __init__(self, instance: Instance, document: ScheduleDocument, d_spot_s: int) -> None:
        self.instance = instance
        self.document = document
        self.d_spot_s = d_spot_s
        self.types = {vm_type.name: vm_type for vm_type in instance.vm_types}
        self.tasks = {name: task for task in instance.tasks for name in _copies(task)}
        self.sizes_kb = {name: math.floor(_exact(vm_type.memory_mb) * 1024) for name, vm_type in self.types.items()}
        self.vms = {vm.id: vm for vm in document.vms}
        self.durations: dict[tuple[str, str, str, str | None], int | None] = {}

    def report(self) -> CheckReport:
        """Run all checks."""
        violations = [
            *self._tasks_once(),
            *self._vms(),
            *self._limits(),
        ]
        by_vm: dict[str, list[PlacedTask]] = defaultdict(list)
        for placed in self.document.tasks:
            violations += self._task(placed)
            if placed.id in self.tasks and placed.vm in self.vms:
                by_vm[placed.vm].append(placed)
        cost = Fraction(0)
        for vm in self.document.vms:
            placed_here = by_vm.get(vm.id, [])
            vm_type = self.types.get(vm.type)
            if vm_type is None or vm.market not in vm_type.offers or not placed_here:
                continue
            violations += _cores(vm, placed_here)
            violations += self._memory(vm, vm_type, placed_here)
            if vm_type.burstable is not None:
                violations += self._credits(vm, vm_type.burstable, placed_here)
            seconds = max(placed.end_s for placed in placed_here) - self.instance.boot_overhead_s
            cost += Fraction(vm_type.offers[vm.market].price_usd_per_hour) / 3600 * seconds
        makespan = max((placed.end_s for placed in self.document.tasks), default=0)
        cost_usd = float(cost)
        objective = self._objective(cost_usd, makespan)
        violations += self._claims(cost_usd, makespan)
        return CheckReport(tuple(violations), cost_usd, makespan, objective, tuple(self._notes()))

    def _tasks_once(self) -> Iterator[Violation]:
        times = Counter(placed.id for placed in self.document.tasks)
        for name in self.tasks:
            if name not in times:
                yield Violation("task-once", name, 1, "tasks", f"task {name!r} is not in the plan")
        for name, count in times.items():
            if name not in self.tasks:
                yield Violation("task-once", name, 1, "tasks", f"task {name!r} is not in the instance")
            elif count > 1:
                yield Violation("task-once", name, count - 1, "tasks", f"task {name!r} is in the plan {count} times")

    def _vms(self) -> Iterator[Violation]:
        for name, count in Counter(vm.id for vm in self.document.vms).items():
            if count > 1:
                yield Violation("vm", name, count - 1, "VMs", f"{count} VMs are called {name!r}")
        for vm in self.document.vms:
            if vm.type not in self.types:
                yield Violation("vm", vm.id, 1, "VMs", f"VM {vm.id!r} is of the unknown type {vm.type!r}")
            elif vm.market not in self.types[vm.type].offers:
                yield Violation("vm", vm.id, 1, "VMs", f"VM {vm.id!r}: no {vm.market} offer for {vm.type}")

    def _limits(self) -> Iterator[Violation]:
        rented = Counter((vm.type, vm.market) for vm in self.document.vms)
        for (name, market), count in rented.items():
            offer = self.types[name].offers.get(market) if name in self.types else None
            if offer is not None and count > offer.limit:
                message = f"{count} {name} {market} VMs, {count - offer.limit} over the limit of {offer.limit}"
                yield Violation("limit", f"{name} {market}", count - offer.limit, "VMs", message)
        by_market: Counter[Market] = Counter(vm.market for vm in self.document.vms)
        caps: dict[Market, int | None] = {
            "spot": self.instance.limits.max_spot,
            "on-demand": self.instance.limits.max_on_demand,
        }
        for market, count in by_market.items():
            cap = caps[market]
            if market not in self.instance.markets:
                message = f"{count} {market} VMs, a market that the instance does not allow"
                yield Violation("limit", market, count, "VMs", message)
            elif cap is not None and count > cap:
                message = f"{count} {market} VMs, {count - cap} over the limit of {cap}"
                yield Violation("limit", market, count - cap, "VMs", message)

    def _task(self, placed: PlacedTask) -> Iterator[Violation]:
        """Checks of one task on its own."""
        name = placed.id
        vm = self.vms.get(placed.vm)
        if vm is None:
            yield Violation("placement", name, 1, "tasks", f"task {name!r} is on {placed.vm!r}, no VM of the plan")
            return
        ready = self.instance.boot_overhead_s
        if placed.start_s < ready:
            early = ready - placed.start_s
            message = f"task {name!r} starts at {placed.start_s} s, {early} s before {vm.id} is ready"
            yield Violation("ready", name, early, "s", message)
        deadline = self.instance.deadline_s
        if placed.end_s > deadline:
            late = placed.end_s - deadline
            message = f"task {name!r} ends at {placed.end_s} s, {late} s after the deadline ({deadline} s)"
            yield Violation("deadline", name, late, "s", message)
        if vm.market == "spot" and placed.end_s > self.d_spot_s:
            late = placed.end_s - self.d_spot_s
            message = f"task {name!r} on {vm.id} ends at {placed.end_s} s, {late} s after D_spot ({self.d_spot_s} s)"
            yield Violation("d-spot", name, late, "s", message)
        vm_type = self.types.get(vm.type)
        task = self.tasks.get(name)
        if vm_type is None or task is None:
            return
        if placed.core >= vm_type.vcpus:
            message = f"task {name!r} is on core {placed.core} of {vm.id}, which has cores 0 to {vm_type.vcpus - 1}"
            yield Violation("placement", name, 1, "tasks", message)
        if placed.mode is not None and vm_type.burstable is None:
            message = f"task {name!r} is in {placed.mode} mode, but {vm.type} is not burstable"
            yield Violation("placement", name, 1, "tasks", message)
            return
        yield from self._interval(placed, task, vm.market)
        duration = self._duration(task, vm_type, vm.market, placed.mode)
        if duration is None:
            message = f"task {name!r} has no run time on {vm.type}"
            yield Violation("placement", name, 1, "tasks", message)
        elif placed.end_s - placed.start_s != duration:
            given = placed.end_s - placed.start_s
            message = f"task {name!r} on {vm.id} takes {duration} s, the plan gives it {given} s"
            yield Violation("run-time", name, abs(given - duration), "s", message)

    def _interval(self, placed: PlacedTask, task: Task, market: Market) -> Iterator[Violation]:
        """The checkpoint interval that the plan states for a task."""
        stated, rules = placed.checkpoint_interval_s, self.instance.checkpoint
        if stated is None:
            return
        if rules is None or market != "spot":
            message = f"the plan gives task {placed.id!r} checkpoints, where none are taken"
            yield Violation("claim", placed.id, stated, "s", message)
            return
        interval = (rules.dump_base_s + rules.dump_s_per_mb * task.memory_mb) / rules.overhead_fraction
        if not _agree(stated, interval):
            message = (
                f"the plan gives task {placed.id!r} a checkpoint interval of {stated:.9g} s, it is {interval:.9g} s"
            )
            yield Violation("claim", placed.id, abs(stated - interval), "s", message)

    def _duration(self, task: Task, vm_type: VmType, market: Market, mode: str | None) -> int | None:
        """Duration of a task on an offer, in exact arithmetic; None if it has no run time there."""
        key = (task.id, vm_type.name, market, mode)
        if key not in self.durations:
            self.durations[key] = self._work_out_duration(task, vm_type, market, mode)
        return self.durations[key]

    def _work_out_duration(self, task: Task, vm_type: VmType, market: Market, mode: str | None) -> int | None:
        """Run time, checkpoints on spot, baseline; the arithmetic is exact where floats could round the wrong way."""
        if task.runtime_s is not None:
            if vm_type.name not in task.runtime_s:
                return None
            given, speed = task.runtime_s[vm_type.name], 1.0
        else:
            assert task.base_runtime_s is not None
            given, speed = task.base_runtime_s, vm_type.speed
        if speed == 1.0 and given.is_integer():
            seconds = int(given)
        else:
            seconds = _round_up(given / speed, lambda: _exact(given) / _exact(speed))
        checkpoints = self.instance.checkpoint if market == "spot" else None
        count = 0 if checkpoints is None else _checkpoint_count(checkpoints, task, seconds)
        baseline = 1.0
        if mode == "baseline" and vm_type.burstable is not None:
            baseline = vm_type.burstable.baseline_fraction
        if checkpoints is None or count == 0:
            return seconds if baseline == 1.0 else _round_up(seconds / baseline, lambda: seconds / _exact(baseline))
        dump = checkpoints.dump_base_s + checkpoints.dump_s_per_mb * task.memory_mb
        return _round_up(
            (seconds + count * dump) / baseline,
            lambda: (seconds + count * _exact_dump(checkpoints, task)) / _exact(baseline),
        )

    def _memory(self, vm: RentedVm, vm_type: VmType, placed_here: list[PlacedTask]) -> Iterator[Violation]:
        """Memory in use after every start and end; the worst moment is reported."""
        size_kb = self.sizes_kb[vm_type.name]
        changes: list[tuple[int, int]] = []
        for placed in placed_here:
            need_kb = _memory_need_kb(self.tasks[placed.id])
            changes += [(placed.start_s, need_kb), (placed.end_s, -need_kb)]
        changes.sort()  # at equal times, what ends frees its memory first
        used_kb = worst_kb = worst_at = 0
        for moment, change in changes:
            used_kb += change
            if used_kb > worst_kb:
                worst_kb, worst_at = used_kb, moment
        if worst_kb > size_kb:
            over = (worst_kb - size_kb) / 1024
            need, size = worst_kb / 1024, size_kb / 1024
            message = f"{vm.id} needs {need:.1f} MB at {worst_at} s, {over:.1f} MB over its {size:.0f} MB"
            yield Violation("memory", vm.id, over, "MB", message)

    def _credits(self, vm: RentedVm, credits: Burstable, placed_here: list[PlacedTask]) -> Iterator[Violation]:
        """Credits over time: earned all the time, spent by what runs; full speed needs some left.

        A vCPU at full speed spends a credit a minute, one at the baseline its fraction of that. Without credits a VM
        runs at the baseline, so only tasks at full speed can lack any.
        """
        changes: list[tuple[int, int, int]] = []  # time, change of tasks at full speed, change of tasks at baseline
        for placed in placed_here:
            burst = placed.mode != "baseline"
            changes += [(placed.start_s, int(burst), int(not burst)), (placed.end_s, -int(burst), -int(not burst))]
        changes.sort()
        cap = 24 * credits.credits_per_hour if credits.max_credits is None else credits.max_credits
        balance = credits.initial_credits
        now = self.instance.boot_overhead_s
        at_full = at_baseline = 0
        lacking = 0.0
        first_at = now
        for moment, full, baseline in changes:
            spent = (at_full + at_baseline * credits.baseline_fraction) / 60
            balance += (credits.credits_per_hour / 3600 - spent) * (moment - now)
            if balance < 0:
                if at_full:
                    first_at = first_at if lacking else moment
                    lacking -= balance
                balance = 0.0
            balance = min(balance, cap)
            now = moment
            at_full += full
            at_baseline += baseline
        if lacking > _CREDIT_TOLERANCE:
            message = f"{vm.id} lacks {lacking:.3f} credits for its tasks at full speed, the first by {first_at} s"
            yield Violation("credits", vm.id, lacking, "credits", message)

    def _objective(self, cost_usd: float, makespan_s: int) -> float:
        """Objective of the instance."""
        weights = self.instance.objective
        cost_scale = weights.cost_scale_usd
        if cost_scale is None:
            cost_scale = sum(self._ideal_cost_usd(task) * task.count for task in self.instance.tasks)
        makespan_scale = weights.makespan_scale_s
        if makespan_scale is None:
            makespan_scale = self.instance.deadline_s
        self.weight_and_scales = weights.cost_weight, cost_scale, float(makespan_scale)
        return _weighted(cost_usd, makespan_s, *self.weight_and_scales)

    def _ideal_cost_usd(self, task: Task) -> float:
        """Cheapest on-demand core-seconds of a task; of any market if no on-demand offer can run it."""
        by_market: dict[Market, list[float]] = {"spot": [], "on-demand": []}
        need_kb = _memory_need_kb(task)
        for vm_type in self.types.values():
            seconds = self._work_out_duration(task, vm_type, "on-demand", None)
            if seconds is not None and seconds <= 10**9 and need_kb <= self.sizes_kb[vm_type.name]:
                for market, offer in vm_type.offers.items():
                    by_market[market].append(offer.price_usd_per_hour / 3600 / vm_type.vcpus * seconds)
        return min(by_market["on-demand"] or by_market["spot"])

    def _claims(self, cost_usd: float, makespan_s: int) -> Iterator[Violation]:
        """What the plan says of itself; its objective is judged by the weight and scales that it names."""
        document = self.document
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
                yield Violation("claim", name, abs(claimed - found), unit, message)

    def _notes(self) -> Iterator[str]:
        document, instance = self.document, self.instance
        if document.instance != instance.name:
            yield f"the plan was made for the instance {document.instance!r}, not {instance.name!r}"
        for name, option, made_for, judged_by in (
            ("deadline", "--deadline", document.deadline_s, instance.deadline_s),
            ("D_spot", "--d-spot", document.d_spot_s, self.d_spot_s),
        ):
            if made_for is not None and made_for != judged_by:
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


def _cores(vm: RentedVm, placed_here: list[PlacedTask]) -> Iterator[Violation]:
    """No two tasks of a core overlap."""
    latest: dict[int, PlacedTask] = {}
    for placed in sorted(placed_here, key=lambda entry: (entry.start_s, entry.end_s)):
        before = latest.get(placed.core)
        if before is not None and before.end_s > placed.start_s:
            overlap = min(before.end_s, placed.end_s) - placed.start_s
            message = f"tasks {before.id!r} and {placed.id!r} overlap by {overlap} s on core {placed.core} of {vm.id}"
            yield Violation("core", vm.id, overlap, "s", message)
        if before is None or placed.end_s > before.end_s:
            latest[placed.core] = placed


def _copies(task: Task) -> list[str]:
    if task.count == 1:
        return [task.id]
    return [task.id + "#" + str(number + 1) for number in range(task.count)]


def _checkpoint_count(checkpoints: Checkpoints, task: Task, seconds: int) -> int:
    """One checkpoint after every dump / ovh seconds of work, none at the end."""
    share = checkpoints.overhead_fraction
    dump = checkpoints.dump_base_s + checkpoints.dump_s_per_mb * task.memory_mb
    return _round_up(seconds * share / dump, lambda: seconds * _exact(share) / _exact_dump(checkpoints, task)) - 1


def _exact_dump(checkpoints: Checkpoints, task: Task) -> Fraction:
    return _exact(checkpoints.dump_base_s) + _exact(checkpoints.dump_s_per_mb) * _exact(task.memory_mb)


def _memory_need_kb(task: Task) -> int:
    return _round_up(task.memory_mb * 1024, lambda: _exact(task.memory_mb) * 1024)


def _exact(value: float) -> Fraction:
    """Decimal number that the file says, not the binary one nearest to it."""
    return Fraction(repr(value))


def _round_up(value: float, exactly: Callable[[], Fraction]) -> int:
    """Round up, but an excess below 1e-12 of the value counts as noise.

    The float decides where it is clear; next to a whole number the exact value does.
    """
    nearest = round(value)
    if abs(value - nearest) > 1e-9 * max(1.0, abs(value)):
        return math.ceil(value)
    return math.ceil(exactly() * (1 - _NOISE))
