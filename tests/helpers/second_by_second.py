"""Oracles that share nothing with the package but the reading of instances: slow, and plain to see."""

from __future__ import annotations

import itertools
import math
from typing import Any

from spotbag.audits.bags.plan import check
from spotbag.instances.entries import Task, VmType
from spotbag.instances.instance import Instance
from spotbag.schedules.documents import PlacedTask, RentedVm, ScheduleDocument
from tests.helpers.quotas import Quotas


def memory_kb(vm_type: VmType) -> int:
    """Memory of a VM that tasks may have."""
    return math.floor(vm_type.memory_mb * 1024) - math.ceil(round(vm_type.reserved_mb * 1024, 6))


def duration_s(instance: Instance, task: Task, vm_type: VmType, market: str, baseline: bool) -> int | None:
    """Seconds a task takes, checkpoint by checkpoint."""
    if task.runtime_s is not None:
        given = task.runtime_s.get(vm_type.name.split("@")[0])
    else:
        assert task.base_runtime_s is not None
        given = task.base_runtime_s / vm_type.speed
    if task.markets is not None and market not in task.markets:
        return None
    if given is None or math.ceil(task.memory_mb * 1024) > memory_kb(vm_type) or task.cores > vm_type.vcpus:
        return None
    work = math.ceil(given - 1e-9)
    total = float(work)
    rules = instance.checkpoint
    if market == "spot" and rules is not None:
        dump = rules.dump_base_s + rules.dump_s_per_mb * task.memory_mb
        interval = dump / rules.overhead_fraction if dump >= 1e-6 else 1
        done = interval
        while done < work - 1e-9:  # none at or after the end
            total += dump
            done += interval
    if baseline:
        assert vm_type.burstable is not None
        total /= vm_type.burstable.baseline_fraction
    return math.ceil(total - 1e-9)


def feasible(instance: Instance, plan: ScheduleDocument, d_spot_s: int) -> bool:
    """Whether a plan keeps all rules, looking at every second. Burstable VMs at full speed are not judged."""
    tasks = dict(zip(instance.task_ids, (instance.tasks[group] for group in instance.task_group), strict=True))
    types = {vm_type.name: vm_type for vm_type in instance.vm_types}
    if sorted(placed.id for placed in plan.tasks) != sorted(tasks):
        return False
    vms = {vm.id: vm for vm in plan.vms}
    if len(vms) != len(plan.vms):
        return False
    machines = {machine.id: machine for machine in instance.machines}
    running = {entry.task: (machine.id, entry) for machine in instance.machines for entry in machine.running}
    there = [*instance.machines, *(vm for vm in plan.vms if vm.id not in machines)]
    for vm in plan.vms:
        if vm.type not in types or vm.market not in types[vm.type].offers:
            return False
        if vm.id in machines:
            if (machines[vm.id].type, machines[vm.id].market) != (vm.type, vm.market):
                return False
            continue
        if vm.market not in instance.markets:
            return False
        same = sum(other.type == vm.type and other.market == vm.market for other in there)
        allowed = Quotas(instance).allow(((other.type, other.market) for other in there), (vm.type, vm.market))
        if same > types[vm.type].offers[vm.market].limit or not allowed:
            return False
    for placed in plan.tasks:
        if placed.vm not in vms:
            return False
        vm = vms[placed.vm]
        vm_type = types[vm.type]
        if placed.core >= vm_type.vcpus or (placed.mode is not None and vm_type.burstable is None):
            return False
        takes = duration_s(instance, tasks[placed.id], vm_type, vm.market, placed.mode == "baseline")
        limit = min(d_spot_s, instance.deadline_s) if vm.market == "spot" else instance.deadline_s
        if takes is None or placed.end_s - placed.start_s != takes:
            return False
        if placed.id in running:
            name, entry = running[placed.id]
            modes = entry.mode == "baseline", placed.mode == "baseline"
            if (placed.vm, placed.core, placed.start_s) != (name, entry.core, entry.start_s) or modes[0] != modes[1]:
                return False
            if placed.end_s > instance.deadline_s:
                return False
            continue
        if placed.vm in machines and not machines[placed.vm].open:
            return False
        ready_s = machines[placed.vm].ready_s if placed.vm in machines else instance.boot_overhead_s
        if placed.start_s < ready_s or placed.end_s > limit:
            return False
    for second in range(min(placed.start_s for placed in plan.tasks), max(placed.end_s for placed in plan.tasks)):
        for vm in plan.vms:
            now = [placed for placed in plan.tasks if placed.vm == vm.id and placed.start_s <= second < placed.end_s]
            cores = [core for placed in now for core in placed.cores or [placed.core]]
            if len(set(cores)) != len(cores) or max(cores, default=0) >= types[vm.type].vcpus:
                return False
            if sum(tasks[placed.id].cores for placed in now) > types[vm.type].vcpus:
                return False
            if any(placed.cores and len(placed.cores) != tasks[placed.id].cores for placed in now):
                return False
            if any(placed.cores and placed.cores[0] != placed.core for placed in now):
                return False
            used_kb = sum(math.ceil(tasks[placed.id].memory_mb * 1024) for placed in now)
            if used_kb > memory_kb(types[vm.type]):
                return False
    return True


def brute_force_objective(instance: Instance) -> float | None:
    """Optimum of a hand-sized instance over all plans; None if there is none."""
    d_spot = instance.d_spot_s if instance.d_spot_s is not None else instance.deadline_s
    groups = [instance.tasks[group] for group in instance.task_group]
    vms = [offer for offer in instance.offers for _ in range(min(offer.limit, len(groups)))]
    slots = [
        (vm, baseline) for vm, offer in enumerate(vms) for baseline in ([False, True] if offer.burstable else [False])
    ]
    best: float | None = None
    for choice in itertools.product(slots, repeat=len(groups)):
        used = {vm for vm, _ in choice}
        if not _within_limits(instance, [vms[vm] for vm in used]):
            continue
        ends = {}
        for vm in used:
            mine = [(groups[i], baseline) for i, (other, baseline) in enumerate(choice) if other == vm]
            limit = min(d_spot, instance.deadline_s) if vms[vm].market == "spot" else instance.deadline_s
            end = _earliest_end(instance, vms[vm], mine)
            if end is None or end > limit:
                break
            ends[vm] = end
        else:
            ready = instance.boot_overhead_s
            cost = sum(vms[vm].price_usd_per_hour / 3600 * (end - ready) for vm, end in ends.items())
            weight = instance.cost_weight
            value = weight * cost / instance.cost_scale_usd
            value += (1 - weight) * max(ends.values()) / instance.makespan_scale_s
            best = value if best is None else min(best, value)
    return best


def _within_limits(instance: Instance, offers: list[Any]) -> bool:
    return Quotas(instance).allow((offer.vm_type.name, offer.market) for offer in offers)


def _earliest_end(instance: Instance, offer: Any, tasks: list[tuple[Task, bool]]) -> int | None:
    """Least end of one VM: every order of its tasks, each put as early as cores and memory allow."""
    best: int | None = None
    vm_type = offer.vm_type
    for order in itertools.permutations(tasks):
        placed: list[tuple[int, int, int, int]] = []
        modes = []
        for task, baseline in order:
            takes = duration_s(instance, task, vm_type, offer.market, baseline)
            if takes is None:
                return None
            need = math.ceil(task.memory_mb * 1024)
            starts = sorted({instance.boot_overhead_s, *(end for _, end, _, _ in placed)})
            start = next(time for time in starts if _has_room(placed, time, time + takes, (need, task.cores), vm_type))
            placed.append((start, start + takes, need, task.cores))
            modes.append(baseline)
        if offer.burstable and not _credits_suffice(instance, offer, placed, modes):
            continue
        end = max(end for _, end, _, _ in placed)
        best = end if best is None else min(best, end)
    return best


def _has_room(
    placed: list[tuple[int, int, int, int]], start: int, end: int, need: tuple[int, int], vm_type: VmType
) -> bool:
    for moment in [start, *(other for other, *_ in placed if start < other < end)]:
        running = [need, *(needs for other_start, other_end, *needs in placed if other_start <= moment < other_end)]
        used_kb, cores = map(sum, zip(*running, strict=True))
        if cores > vm_type.vcpus or used_kb > memory_kb(vm_type):
            return False
    return True


def _credits_suffice(
    instance: Instance, offer: Any, placed: list[tuple[int, int, int, int]], modes: list[bool]
) -> bool:
    """Second by second: what is earned and spent."""
    rules = offer.vm_type.burstable
    balance = rules.initial_credits
    for second in range(instance.boot_overhead_s, max(end for _, end, *_ in placed)):
        running = [baseline for (start, end, *_), baseline in zip(placed, modes, strict=True) if start <= second < end]
        spent = sum(rules.baseline_fraction if baseline else 1.0 for baseline in running) / 60
        balance = min(balance + rules.credits_per_hour / 3600 - spent, rules.credit_cap)
        if balance < -1e-9 and not all(running):
            return False
        balance = max(balance, 0.0)
    return True


def one_vm_plan(instance: Instance, placements: list[tuple[str, int, int, int]], **claims: Any) -> ScheduleDocument:
    """Plan of one VM, of the first offer: id, core, start, end for each task."""
    offer = instance.offers[0]
    return ScheduleDocument(
        instance=instance.name,
        vms=(RentedVm(id="vm", type=offer.vm_type.name, market=offer.market),),
        tasks=tuple(
            PlacedTask(id=name, vm="vm", core=core, start_s=start, end_s=end) for name, core, start, end in placements
        ),
        **claims,
    )


def broken_rules(instance: Instance, plan: ScheduleDocument) -> dict[str, float]:
    """Rules that the checker says are broken, with the amount."""
    return {violation.rule: violation.amount for violation in check(instance, plan).violations}
