"""Every rescue of a tiny plan, second by second: by recursion over all orders and places, in numbers of its own."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from spotbag.audits.bags.plan import check
from spotbag.instances.instance import Instance
from spotbag.schedules.documents import PlacedTask, RentedVm, ScheduleDocument
from tests.helpers.quotas import Kind, Quotas
from tests.helpers.random_instances import quotas


@dataclass
class Vm:
    """A VM that may take over: from when on its cores are free, what is paid anyway, and what runs there."""

    kind: int
    free: list[int]
    paid_until_s: int
    last_start_s: int = 0
    runs: tuple[tuple[int, int], ...] = ()
    price_usd_per_s: float = 0.0


class RescueSearch:
    """Rescues of a plan by the definition, at any second."""

    def __init__(self, instance: Instance, plan: ScheduleDocument) -> None:
        self.instance, self.plan = instance, plan
        self.tasks = {task.id: task for task in instance.tasks}
        self.kinds = [kind for kind in instance.vm_types if "on-demand" in kind.offers and kind.burstable is None]
        self.quotas = Quotas(instance)
        self.vms = {vm.id: vm for vm in plan.vms}
        self.end_s = {vm.id: max(task.end_s for task in plan.tasks if task.vm == vm.id) for vm in plan.vms}
        ready_s = [instance.boot_overhead_s + kind.setup_s for kind in self.kinds]
        self.takeover_s = [max(seconds, instance.migration_overhead_s) for seconds in ready_s]
        self.machines = {machine.id: machine for machine in instance.machines}

    def lost(self, types: Collection[str], at_s: int) -> tuple[tuple[str, Fraction], ...]:
        """Tasks that are lost, and the fraction of each that is left."""
        found = []
        for task in self.plan.tasks:
            vm = self.vms[task.vm]
            if vm.market == "spot" and vm.type in types and task.end_s > at_s:
                found.append((task.id, 1 - self._saved(task, vm.type, at_s)))
        return tuple(found)

    def _saved(self, placed: PlacedTask, kind: str, at_s: int) -> Fraction:
        rules, task = self.instance.checkpoint, self.tasks[placed.id]
        if rules is None:
            return Fraction(0)
        run_s = math.ceil(task.runtime_s[kind])
        dump = Fraction(str(rules.dump_base_s))
        interval = dump / Fraction(str(rules.overhead_fraction))
        saved = Fraction(0)
        while saved + interval < run_s and placed.start_s + (saved / interval + 1) * (interval + dump) <= at_s:
            saved += interval
        return saved / run_s

    def least_usd(self, lost: Sequence[tuple[str, Fraction]], at_s: int) -> float:
        """Least bill of a rescue of what is lost that begins at a second; infinite if none ends in time."""
        alive = [vm for vm in self.plan.vms if vm.market == "on-demand" and self.end_s[vm.id] > at_s]
        own = []
        for vm in alive:
            machine = self.machines.get(vm.id)
            if machine is not None and not machine.open:
                continue
            for number, kind in enumerate(self.kinds):
                if kind.name == vm.type:
                    ends = [0 if machine is None else machine.ready_s] * kind.vcpus
                    for task in self.plan.tasks:
                        if task.vm == vm.id:
                            ends[task.core] = max(ends[task.core], task.end_s)
                    if self._memory_may_bind(number):
                        ends = [self.end_s[vm.id]] * kind.vcpus
                    paid_s = max(self.end_s[vm.id], self._paid_until_s(vm.id))
                    price = self._price_usd_per_s(vm)
                    ready_s = at_s + self.takeover_s[number]
                    own.append(Vm(number, [max(end, ready_s) for end in ends], paid_s, price_usd_per_s=price))
        new = [kind.offers["on-demand"].limit - sum(vm.type == kind.name for vm in alive) for kind in self.kinds]
        best = [math.inf]
        counted = [(vm.type, "on-demand") for vm in alive]
        self._search(list(lost), own, new, counted, at_s, best)
        return best[0]

    def _paid_until_s(self, name: str) -> int:
        machine = self.machines.get(name)
        if machine is None:
            return self.instance.boot_overhead_s
        begins = machine.ready_s > 0 and machine.paid_until_s <= machine.ready_s
        setup_s = next(kind.setup_s for kind in self.instance.vm_types if kind.name == machine.type)
        return max(machine.ready_s, machine.paid_until_s) - begins * setup_s

    def _memory_may_bind(self, number: int) -> bool:
        kind = self.kinds[number]
        needs = sorted(task.memory_mb for task in self.tasks.values() if kind.name in (task.runtime_s or {}))
        return sum(needs[-kind.vcpus :]) > kind.memory_mb

    def _search(
        self,
        left: list[Any],
        vms: list[Vm],
        new: list[int],
        counted: list[Kind],
        at_s: int,
        best: list[float],
    ) -> None:
        usd = 0.0
        for vm in vms:
            end_s = max([end for end, _ in vm.runs], default=0)
            usd += vm.price_usd_per_s * max(end_s - vm.paid_until_s, 0)
        if usd >= best[0]:
            return
        if not left:
            best[0] = usd
            return
        for place, (name, fraction) in enumerate(left):
            others = left[:place] + left[place + 1 :]
            kinds = [(kind.name, "on-demand") for kind in self.kinds]
            fresh = [k for k, kind in enumerate(kinds) if new[k] > 0 and self.quotas.allow([*counted, kind], kind)]
            for choice in [*range(len(vms)), *(-1 - number for number in fresh)]:
                if choice >= 0:
                    old = vms[choice]
                else:
                    kind = self.kinds[-1 - choice]
                    price = kind.offers["on-demand"].price_usd_per_hour / 3600
                    free, paid_s = [at_s + self.takeover_s[-1 - choice]], at_s + self.instance.boot_overhead_s
                    old = Vm(-1 - choice, free * kind.vcpus, paid_s, price_usd_per_s=price)
                placed = self._placed(old, name, fraction)
                if placed is None:
                    continue
                counts, there = list(new), counted
                if choice < 0:
                    counts[-1 - choice] -= 1
                    there = [*counted, kinds[-1 - choice]]
                rest = [vm for index, vm in enumerate(vms) if index != choice]
                self._search(others, [*rest, placed], counts, there, at_s, best)

    def _placed(self, vm: Vm, name: str, fraction: Fraction) -> Vm | None:
        """Put a task on a VM, not before any other; None if it cannot run there or ends late."""
        kind, task = self.kinds[vm.kind], self.tasks[name]
        run_s = (task.runtime_s or {}).get(kind.name)
        if run_s is None or task.memory_mb > kind.memory_mb or "on-demand" not in (task.markets or ("on-demand",)):
            return None
        seconds = math.ceil(math.ceil(run_s) * fraction)
        core = min(range(kind.vcpus), key=lambda index: vm.free[index])
        start_s = max(vm.free[core], vm.last_start_s)
        while sum(need for end, need in vm.runs if end > start_s) + task.memory_mb > kind.memory_mb:
            start_s = min(end for end, _ in vm.runs if end > start_s)
        if start_s + seconds > self.instance.deadline_s:
            return None
        free = list(vm.free)
        free[core] = start_s + seconds
        runs = (*vm.runs, (start_s + seconds, int(task.memory_mb)))
        return Vm(vm.kind, free, vm.paid_until_s, start_s, runs, vm.price_usd_per_s)

    def _price_usd_per_s(self, vm: RentedVm) -> float:
        """Price of a VM of the plan: its own, or that of its type."""
        machine = self.machines.get(vm.id)
        if machine is not None and machine.price_usd_per_hour is not None:
            return machine.price_usd_per_hour / 3600
        kind = next(kind for kind in self.instance.vm_types if kind.name == vm.type)
        return kind.offers[vm.market].price_usd_per_hour / 3600

    def paid_usd(self, types: Collection[str], at_s: int) -> float:
        """Bill of all VMs as planned, where spot VMs of some types are paid until a second."""
        usd = 0.0
        for vm in self.plan.vms:
            down = vm.market == "spot" and vm.type in types
            end_s = min(self.end_s[vm.id], at_s) if down else self.end_s[vm.id]
            usd += self._price_usd_per_s(vm) * max(end_s - self._paid_until_s(vm.id), 0)
        return usd

    def seconds(self, types: Collection[str]) -> Iterator[tuple[int, float]]:
        """Every second at which something is lost, and the least bill of a rescue, which may begin later."""
        ends_s = [self.end_s[vm.id] for vm in self.plan.vms if vm.market == "spot" and vm.type in types]
        known: dict[Any, float] = {}
        for at_s in range(max(ends_s, default=0)):
            lost = self.lost(types, at_s)
            for begin_s in range(at_s, max(ends_s)):
                if (lost, begin_s) not in known:
                    known[lost, begin_s] = self.least_usd(lost, begin_s)
            yield at_s, self.paid_usd(types, at_s) + min(known[lost, begin_s] for begin_s in range(at_s, max(ends_s)))


@st.composite
def tiny_plans(draw: st.DrawFn) -> tuple[Instance, ScheduleDocument]:
    """Plans of a few tasks on a few VMs, with and without checkpoints, limits and burstable VMs."""
    names = ["a", "b"][: draw(st.integers(1, 2))]
    boot_s = draw(st.sampled_from([0, 0, 2]))
    rules = draw(st.sampled_from([None, (0.5, 1.0), (0.5, 1.5), (0.25, 0.5)]))
    kinds: list[dict[str, Any]] = [
        {
            "name": name,
            "vcpus": draw(st.integers(1, 2)),
            "memory_mb": draw(st.sampled_from([8, 10])),
            "setup_s": draw(st.sampled_from([0, 0, 1, 3])),
            "offers": {
                "spot": {"price_usd_per_hour": draw(st.sampled_from([1.8, 3.6, 7.2])), "limit": 2},
                "on-demand": {
                    "price_usd_per_hour": draw(st.sampled_from([3.6, 7.2])),
                    "limit": draw(st.integers(1, 2)),
                },
            },
        }
        for name in names
    ]
    if draw(st.integers(0, 5)) == 0:
        kinds[-1]["burstable"] = {"baseline_fraction": 1.0, "credits_per_hour": 0}
    tasks = [
        {
            "id": f"t{number}",
            "memory_mb": draw(st.integers(1, 8)),
            "runtime_s": {name: draw(st.integers(1, 7)) for name in names},
        }
        for number in range(draw(st.integers(1, 4)))
    ]
    vms: list[RentedVm] = []
    ends: dict[tuple[str, int], int] = {}
    placed: list[PlacedTask] = []
    for task in tasks:
        number = draw(st.integers(0, 2))
        while len(vms) <= number:
            kind = draw(st.sampled_from(kinds))
            market = draw(st.sampled_from(["spot", "spot", "on-demand"]))
            vms.append(RentedVm(id=f"vm{len(vms)}", type=kind["name"], market=market))
        vm = vms[number]
        [kind] = [kind for kind in kinds if kind["name"] == vm.type]
        core = draw(st.integers(0, kind["vcpus"] - 1))
        seconds = task["runtime_s"][vm.type]
        if rules is not None and vm.market == "spot":
            seconds = math.ceil(seconds + (math.ceil(seconds * rules[0] / rules[1]) - 1) * rules[1])
        start_s = ends.get((vm.id, core), boot_s + kind["setup_s"]) + draw(st.sampled_from([0, 0, 0, 3]))
        ends[vm.id, core] = start_s + seconds
        placed.append(PlacedTask(id=task["id"], vm=vm.id, core=core, start_s=start_s, end_s=start_s + seconds))
    last_s = max(ends.values())
    document: dict[str, Any] = {
        "format": "spotbag.instance/1",
        "name": "tiny",
        "deadline_s": max(last_s, 10 + boot_s) + draw(st.integers(0, 14)),
        "boot_overhead_s": boot_s,
        "migration_overhead_s": draw(st.sampled_from([0, 0, 1, 3])),
        "vm_types": kinds,
        "tasks": tasks,
        "objective": {"cost_weight": 1.0},
    }
    if draw(st.booleans()):
        document["limits"] = {"max_on_demand": draw(st.integers(1, 3))}
    if draw(st.booleans()):
        names = [kind["name"] for kind in kinds]
        document["limits"] = document.get("limits", {}) | {"quotas": draw(st.lists(quotas(names), max_size=2))}
    if rules is not None:
        document["checkpoint"] = {"overhead_fraction": rules[0], "dump_base_s": rules[1]}
    used = {task.vm for task in placed}
    plan = ScheduleDocument(instance="tiny", vms=tuple(vm for vm in vms if vm.id in used), tasks=tuple(placed))
    return Instance.from_document(document, "tiny"), plan


@st.composite
def tiny_rests(draw: st.DrawFn) -> tuple[Instance, ScheduleDocument]:
    """What is left of such plans, and of their instances, at some second; paid to some later one or not."""
    instance, plan = draw(tiny_plans())
    # Tasks that run are taken to fit their VM together: else a VM like it would hold what no new one may.
    assume(check(instance.replace(d_spot_s=instance.deadline_s), plan).feasible)
    now_s = draw(st.integers(0, max(task.end_s for task in plan.tasks) - 1))
    left = [task for task in plan.tasks if task.end_s > now_s]
    machines = []
    for vm in plan.vms:
        here = [task for task in left if task.vm == vm.id]
        running = [
            {"task": task.id, "core": task.core, "start_s": task.start_s - now_s}
            for task in here
            if task.start_s <= now_s
        ]
        machine: dict[str, Any] = {"id": vm.id, "type": vm.type, "market": vm.market, "running": running}
        setup_s = next(kind.setup_s for kind in instance.vm_types if kind.name == vm.type)
        machine["ready_s"] = max(instance.boot_overhead_s + setup_s - now_s, 0)
        machine["paid_until_s"] = draw(st.sampled_from([0, 0, 1, 4, 9]))
        machine["open"] = len(running) < len(here) or draw(st.booleans())
        machine["price_usd_per_hour"] = draw(st.sampled_from([None, 0.9, 0, 9.9]))
        if here and (now_s > 0 or draw(st.booleans())):
            machines.append(machine)
        elif here and draw(st.booleans()):
            machines.append({"id": f"idle {vm.id}", "type": vm.type, "market": "on-demand"})
    document = instance.to_document() | {"machines": machines, "deadline_s": instance.deadline_s - now_s}
    document["tasks"] = [task for task in document["tasks"] if task["id"] in {task.id for task in left}]
    rest = tuple(
        task.model_copy(update={"start_s": task.start_s - now_s, "end_s": task.end_s - now_s}) for task in left
    )
    used = {task.vm for task in left}
    document_of_plan = ScheduleDocument(instance="tiny", vms=tuple(vm for vm in plan.vms if vm.id in used), tasks=rest)
    return Instance.from_document(document, "tiny"), document_of_plan


def spot_types(plan: ScheduleDocument) -> Sequence[str]:
    """Types of the spot VMs."""
    return sorted({vm.type for vm in plan.vms if vm.market == "spot"})
