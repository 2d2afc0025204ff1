"""Plans changed so that more of what they may lose can be done again: tasks elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...core.limits import checkpoint
from ...instances.durations import NEVER
from ...instances.entries import RentalOffer
from ...instances.instance import Instance
from ...instances.rescuable import least_on_demand_s, left_on_demand_s
from ...schedules.evaluation import objective_weights
from ...schedules.rescue_order import (
    core_base_s,
    first_core,
    left_at_end_s,
    longest_first_order,
)
from ...schedules.schedule import Schedule

_MOST_LOOKS = 500_000
"""Tasks that are to move times cores that they may move to."""
_MOST_TARGETS = 64
"""VMs of the plan that tasks may move to: of more, those that end first."""


@dataclass(slots=True)
class _Core:
    """A core: its VM, and its tasks with their durations and what is left of each just before its end.

    Tasks follow one another from ``base_s`` on; before that, a machine may run one (``runs``, with its start).
    """

    vm: int
    offer: RentalOffer
    base_s: int
    paid_until_s: int
    machine: int = -1
    runs: tuple[int, int] | None = None
    tasks: list[tuple[int, int, int]] = field(default_factory=list)
    end_s: int = 0

    def __post_init__(self) -> None:
        self.end_s = self.base_s


def repaired(schedule: Schedule) -> Schedule | None:
    """Return the plan with tasks elsewhere that end too late to be done again, each on its own; None if it has no way.

    They are taken off their spot VMs and put back, longest first, where they cost least: on a spot core on which all
    tasks still end early enough, on an on-demand core, or on a new VM. Tasks that run already stay.
    """
    instance = schedule.instance
    offers = [instance.offers[index] for index in schedule.vm_offer.tolist()]
    if not all(instance.memory_never_binds[offer.type_index] for offer in instance.offers):
        return None
    if (instance.offer_is_burstable[schedule.vm_offer][schedule.task_vm] & ~schedule.task_baseline).any():
        return None
    left = left_at_end_s(schedule)
    base_s, first = core_base_s(schedule).tolist(), first_core(schedule).tolist()
    cores: dict[tuple[int, int], _Core] = {}
    for vm, offer in enumerate(offers):
        for number in range(offer.vcpus):
            paid_s, machine = int(schedule.vm_paid_until_s[vm]), int(schedule.vm_machine[vm])
            cores[vm, number] = _Core(vm, offer, base_s[first[vm] + number], paid_s, machine)
    running = instance.running.task.tolist()
    for task in running:
        place = int(schedule.task_vm[task]), int(schedule.task_core[task])
        cores[place].runs = task, int(schedule.task_start_s[task])
    ordered = longest_first_order(schedule)
    rows = zip(
        *(
            column.tolist()
            for column in (schedule.task_vm, schedule.task_core, schedule.task_duration_s, left, ordered.task_start_s)
        ),
        strict=True,
    )
    latest = instance.deadline_s + 1 - max(instance.boot_overhead_s, instance.migration_overhead_s)
    taken_out: list[int] = []
    fixed = set(running)
    for task, (vm, number, seconds, left_s, _) in sorted(enumerate(rows), key=lambda row: row[1][4]):
        core = cores[vm, number]
        if task in fixed:
            continue
        if core.offer.market == "spot" and core.end_s + seconds + left_s > latest:
            taken_out.append(task)
        else:
            core.tasks.append((task, seconds, left_s))
            core.end_s += seconds
    if not taken_out or len(taken_out) * (min(len(cores), _MOST_TARGETS) + 10) > _MOST_LOOKS:
        return None
    return _Replacement(instance, list(cores.values()), len(offers), latest).plan(taken_out)


class _Replacement:
    """Puts tasks where they cost least and can still be done again."""

    def __init__(self, instance: Instance, cores: list[_Core], n_vms: int, latest_s: int) -> None:
        self._instance = instance
        self._latest_s = latest_s
        self._cost_weight, self._time_weight = objective_weights(instance)
        self._vms: list[list[_Core]] = [[] for _ in range(n_vms)]
        for core in cores:
            self._vms[core.vm].append(core)
        self._makespan_s = max((core.end_s for core in cores), default=0)
        self._rented = [0] * len(instance.offers)
        for vm in self._vms:
            self._rented[vm[0].offer.index] += vm[0].machine < 0 and any(core.tasks for core in vm)
        self._vms = [vm for vm in self._vms if any(core.tasks or core.runs for core in vm)]
        may_grow = [vm for vm in self._vms if vm[0].machine < 0 or instance.machines[vm[0].machine].open]
        self._targets = sorted(may_grow, key=lambda vm: max(core.end_s for core in vm))[:_MOST_TARGETS]
        self._least_s = least_on_demand_s(instance)

    def plan(self, tasks: list[int]) -> Schedule | None:
        """Put all tasks back; None if one finds no place."""
        group = self._instance.task_group
        for task in sorted(tasks, key=lambda task: -int(self._least_s[group[task]])):
            checkpoint()
            if not self._put(task):
                return None
        return self._schedule()

    def _put(self, task: int) -> bool:
        instance = self._instance
        group = int(instance.task_group[task])
        least = int(self._least_s[group])
        best: tuple[float, int, list[_Core], _Core, int, int] | None = None
        vms = [*self._targets, *self._new_vms()]
        for vm in vms:
            offer = vm[0].offer
            if offer.burstable:
                continue
            seconds = int(instance.sustained_s[group, offer.index])
            if seconds >= NEVER:
                continue
            left = least
            if offer.market == "spot":
                written, runtime = (
                    instance.checkpoint_count[group, offer.type_index],
                    instance.runtime_s[group, offer.type_index],
                )
                left = int(
                    left_on_demand_s(self._least_s[group], written, instance.checkpoint_interval_s[group], runtime)
                )
            vm_end = max(vm[0].paid_until_s, *(core.end_s for core in vm))
            for core in vm:
                end_s = core.end_s + seconds
                if end_s > instance.time_limit_s(offer.market):
                    continue
                longer = max(end_s - vm_end, 0)
                value = self._cost_weight * offer.price_usd_per_s * longer
                value += self._time_weight * max(end_s - self._makespan_s, 0)
                if best is not None and (value, end_s) >= best[:2]:
                    continue
                if offer.market == "spot" and not self._in_time(core, seconds, left):
                    continue
                best = value, end_s, vm, core, seconds, left
        if best is None:
            return False
        _, end_s, vm, core, seconds, left = best
        if core.vm < 0 and not any(vm is known for known in self._targets):
            self._vms.append(vm)
            self._targets.append(vm)
            self._rented[vm[0].offer.index] += 1
        core.tasks.append((task, seconds, left))
        core.tasks.sort(key=lambda entry: -entry[2])
        core.end_s = end_s
        self._makespan_s = max(self._makespan_s, end_s)
        return True

    def _new_vms(self) -> list[list[_Core]]:
        """An empty VM of each offer that may be rented once more."""
        instance = self._instance
        found = []
        for offer in instance.offers:
            cap = instance.market_limit(offer.market)
            in_market = sum(
                number
                for other, number in zip(instance.offers, self._rented, strict=True)
                if other.market == offer.market
            )
            if self._rented[offer.index] < offer.limit and (cap is None or in_market < cap):
                boot_s = instance.boot_overhead_s
                found.append([_Core(-1, offer, boot_s, boot_s) for _ in range(offer.vcpus)])
        return found

    def _in_time(self, core: _Core, seconds: int, left: int) -> bool:
        """Whether every task of a core could be done again if one more ran there, longest first."""
        end_s = core.base_s
        for _, duration, rest in sorted([*core.tasks, (-1, seconds, left)], key=lambda entry: -entry[2]):
            end_s += duration
            if end_s + rest > self._latest_s:
                return False
        return True

    def _schedule(self) -> Schedule:
        instance = self._instance
        task_vm, task_core, start_s = (np.zeros(instance.n_tasks, dtype=np.int64) for _ in range(3))
        for number, vm in enumerate(self._vms):
            for place, core in enumerate(vm):
                now_s = core.base_s
                if core.runs is not None:
                    task, start = core.runs
                    task_vm[task], task_core[task], start_s[task] = number, place, start
                for task, seconds, _ in core.tasks:
                    task_vm[task], task_core[task], start_s[task] = number, place, now_s
                    now_s += seconds
        vm_offer = np.array([vm[0].offer.index for vm in self._vms], dtype=np.int64)
        baseline = instance.offer_is_burstable[vm_offer][task_vm]
        machine = np.array([vm[0].machine for vm in self._vms], dtype=np.int64)
        return Schedule(instance, vm_offer, task_vm, task_core, start_s, baseline, vm_machine=machine)
