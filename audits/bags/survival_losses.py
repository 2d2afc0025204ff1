"""Losses of a plan when spot VMs go down for good: the tasks, their rest, and the VMs for a rescue.

All times are whole seconds, and all numbers are worked out by fractions from those in the files.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

import numpy as np

from ...core.limits import sign_of_life
from ...core.quantities import SECONDS_PER_HOUR, BoolArray, IntArray
from ...instances.instance import Instance
from ...schedules.documents import MODES, ScheduleColumns
from ..bill import Session, bill_usd, rules_of, sessions_of
from ..facts import QuotaRule, Share, exact, quota_rules, rounded_up, slots_of, without_zone
from .plan_arrays import Bag, exact_interval_and_dump_s, size_kb

NEVER_S = 2**40
"""Seconds left of a task on a type that cannot run it."""
_NOISE_S = 10**9
"""A nanosecond, the inverse of this, is noise: a checkpoint that ends so much later counts, and so does work."""


@dataclass(frozen=True, slots=True)
class RescueType:
    """A type of which VMs may take over: on-demand, and not burstable.

    Attributes
    ----------
    name : str
        Of the type.
    ready_s, takeover_s : int
        From the request of a VM until it is ready; and from a loss until it runs what is moved to it, at the earliest.
    slots, size, limit : int, Share and int
        Slots of a VM (cores, if all tasks have one), how much there is of what tasks share there, and most VMs on
        demand.
    usd_per_s : Fraction
        Price.
    may_bind : bool
        Whether some tasks, as many as slots, need more than the size.
    """

    name: str
    ready_s: int
    takeover_s: int
    slots: int
    size: Share
    limit: int
    usd_per_s: Fraction
    may_bind: bool


@dataclass(frozen=True, slots=True)
class OwnVm:
    """A VM of the plan that may take over: its number, its type among the rescue types, and from when on its slots."""

    number: int
    type: int
    slot_from_s: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AvailableVms:
    """VMs available for a rescue at a moment.

    Attributes
    ----------
    at_s : int
        The moment.
    own : tuple of OwnVm
        VMs of the plan.
    new : tuple of int, shape (n_types,)
        VMs of each type that may be rented.
    groups : tuple of (tuple of int, int)
        Of each limit of several types: what a VM of each type counts, and how much is left.
    """

    at_s: int
    own: tuple[OwnVm, ...]
    new: tuple[int, ...]
    groups: tuple[tuple[tuple[int, ...], int], ...]

    def may_be_had(self, counts: Mapping[int, int]) -> bool:
        """True if new VMs of the types may be rented together in these numbers."""
        if any(count > self.new[kind] for kind, count in counts.items()):
            return False
        sums = ((sum(count * weights[kind] for kind, count in counts.items()), left) for weights, left in self.groups)
        return all(not weight or weight <= left for weight, left in sums)

    def most(self, worth: Sequence[int]) -> int:
        """Upper bound of what new VMs are worth together, by the limit of each type, and by each limit of several."""
        kinds, new = range(len(worth)), [max(number, 0) for number in self.new]
        bounds = [sum(worth[kind] * new[kind] for kind in kinds)]
        for weights, left in self.groups:
            counted = [kind for kind in kinds if weights[kind]]
            total, left = Fraction(sum(worth[kind] * new[kind] for kind in kinds if not weights[kind])), max(left, 0)
            dearest_first = [Fraction(-worth[kind], weights[kind] or 1) for kind in kinds]
            for kind in sorted(counted, key=dearest_first.__getitem__):
                vms = min(Fraction(new[kind]), Fraction(left, weights[kind]))
                total, left = total + worth[kind] * vms, left - int(vms * weights[kind])
            bounds.append(int(total))
        return min(bounds)


@dataclass(frozen=True, slots=True)
class Lost:
    """Lost tasks, those that must start first on demand to end in time first.

    Attributes
    ----------
    rows : list of int, shape (n_lost,)
        Their rows in the plan.
    left_s : list of list of int, shape (n_lost, n_types)
        What is left of each on each rescue type; `NEVER_S` where it cannot run.
    needs : list of Share, shape (n_lost,)
        How much each needs of what tasks on a VM share.
    release_s, early_s : list of int, shape (n_lost,)
        When each may start, and by how much its deadline is earlier than that of the bag.
    """

    rows: list[int]
    left_s: list[list[int]]
    needs: list[Share]
    release_s: list[int]
    early_s: list[int]

    def end_s(self, number: int, kind: int, from_s: int) -> int:
        """End of a task on a VM of some type that has time for it from a moment on."""
        return max(from_s, self.release_s[number]) + self.left_s[number][kind]


class Losses:
    """Losses of a plan that the checker has found to be a plan for the instance.

    Attributes
    ----------
    types : tuple of RescueType
        Where tasks may be done.
    spot_types : tuple of str
        Types of the spot VMs that have tasks, by the catalogue.
    vm_end_s : array of int, shape (n_vms,)
        End of the last task of each VM, 0 without tasks.
    sessions : list of Session, shape (n_vms,)
        Session of each VM, or what of it is not paid.
    slot_end_s : dict
        Number of each VM that may take over to the times from which on its slots have no task of the plan, ascending.
    closed : frozenset of int
        VMs that take no more tasks than those of the plan.
    dated, release_s, early_s : bool and array of int
        Whether tasks have dates; when the task of each row may start, and by how much its deadline is earlier than
        that of the bag.
    stays : array of bool
        Rows of tasks that may not be on demand.
    slots : Slots
        What cores count as.
    """

    def __init__(self, instance: Instance, plan: ScheduleColumns) -> None:
        self.instance, self.plan = instance, plan
        self.bag = bag = Bag(instance)
        self.entry = bag.entries_of(plan.task_ids)
        self.slots = slots_of(set(bag.cores[:-1].tolist()))
        of_slots = bag.cores // self.slots.cores if self.slots.shared else np.zeros_like(bag.cores)
        self.need = np.array([bag.need_kb, of_slots])[:, self.entry]
        self.dated = bag.dates_s is not None
        self.release_s = self.early_s = np.zeros(len(self.entry), dtype=np.int64)
        if bag.dates_s is not None:
            self.release_s, due_s = bag.dates_s[:, self.entry]
            self.early_s = np.maximum(instance.deadline_s - due_s, 0)
        self.vm_end_s = np.zeros(len(plan.vms), dtype=np.int64)
        np.maximum.at(self.vm_end_s, plan.task_vm, plan.task_end_s)
        machines = {machine.id: machine for machine in instance.machines}
        exist = [(number, machines[vm.id]) for number, vm in enumerate(plan.vms) if vm.id in machines]
        self.closed = frozenset(number for number, machine in exist if not machine.open)
        self.ready_s = [instance.boot_overhead_s] * len(plan.vms)
        for number, machine in exist:
            self.ready_s[number] = machine.ready_s
        self.rules = rules_of(instance)
        self.sessions = sessions_of(instance, plan.vms)
        self.given = {vm_type.name: vm_type for vm_type in instance.vm_types}
        self.run_s: dict[str, IntArray] = {}
        self.types = tuple(self._rescue_types())
        self.type_number = {found.name: number for number, found in enumerate(self.types)}
        self.vm_kind = [self.type_number.get(vm.type) for vm in plan.vms]
        lost = {vm.type for number, vm in enumerate(plan.vms) if vm.market == "spot" and self.vm_end_s[number] > 0}
        self.spot_types = tuple(vm_type.name for vm_type in instance.vm_types if vm_type.name in lost)
        used = np.flatnonzero(self.vm_end_s > 0).tolist()
        self.on_demand = [number for number in used if plan.vms[number].market == "on-demand"]
        self.slot_end_s = self._slot_ends_s()
        self.stays = bag.outside.get("on-demand", np.zeros(len(bag.need_kb), dtype=bool))[self.entry]
        whole = [np.where(self.stays, NEVER_S, self.run_s[found.name][self.entry]) for found in self.types]
        self.whole_s = np.stack(whole, axis=1) if whole else np.zeros((len(self.entry), 0), dtype=np.int64)
        self.quotas = [quota for quota in quota_rules(self.instance.limits.model_dump()) if quota.market == "on-demand"]
        self._marks: dict[tuple[int, str, int], list[int]] = {}
        self._rows: dict[tuple[str, ...], IntArray] = {}

    def _rescue_types(self) -> Iterator[RescueType]:
        """Types on which tasks may be done again; of these, and those that the plan uses, run times are kept."""
        used = {self.plan.vms[number].type for number in np.flatnonzero(self.vm_end_s > 0).tolist()}
        for number, vm_type in enumerate(self.instance.vm_types):
            sign_of_life()
            offer, memory_kb = vm_type.offers.get("on-demand"), size_kb(vm_type.memory_mb, vm_type.reserved_mb)
            rescues = offer is not None and vm_type.burstable is None  # what a burstable one can do depends on credits
            if rescues or vm_type.name in used:
                seconds = self.bag.run_times_s(number, memory_kb)
                self.run_s[vm_type.name] = np.where(np.isfinite(seconds), seconds, NEVER_S).astype(np.int64)
            if rescues and offer is not None:
                able = self.need[:, self.run_s[vm_type.name][self.entry] < NEVER_S]
                slots, size = max(vm_type.vcpus // self.slots.cores, 1), self.slots.share(vm_type.vcpus, memory_kb)
                largest = np.sort(able)[:, -slots:].sum(axis=1)  # if these fit together, nothing shared binds here
                usd_per_s, binds = exact(offer.price_usd_per_hour) / SECONDS_PER_HOUR, not Share(*largest).within(size)
                ready_s = self.instance.boot_overhead_s + vm_type.setup_s
                takeover_s = max(ready_s, self.instance.migration_overhead_s)  # tasks move while VMs get ready
                yield RescueType(vm_type.name, ready_s, takeover_s, slots, size, offer.limit, usd_per_s, binds)

    # ---------------------------------------------------------------------------------------------------- what is lost

    def groups(self, level: str) -> tuple[tuple[str, ...], ...]:
        """Sets of types lost at one moment: each pool alone, all pools of a type, or also all types; see `judge`."""
        pools = tuple((name,) for name in self.spot_types)
        if level == "one-pool":
            return pools
        if level != "one-type":  # any of them: each alone, and all together, are enough for bounds
            return pools if len(pools) < 2 else (*pools, self.spot_types)
        groups: dict[str, list[str]] = {}
        for name in self.spot_types:
            groups.setdefault(without_zone(name, self.given[name].zone), []).append(name)
        return tuple(map(tuple, groups.values()))

    def type_of(self, row: int) -> str:
        """Name of the type of the VM on which a task is."""
        return self.plan.vms[int(self.plan.task_vm[row])].type

    def _doomed(self, types: Collection[str]) -> BoolArray:
        """Mask of the spot VMs of some types."""
        return np.array([vm.market == "spot" and vm.type in types for vm in self.plan.vms], dtype=bool)

    def rows_of(self, types: Collection[str]) -> IntArray:
        """Rows of the tasks on spot VMs of some types, by their ends."""
        key = tuple(sorted(types))
        if key not in self._rows:
            rows = np.flatnonzero(self._doomed(key)[self.plan.task_vm])
            self._rows[key] = rows[np.argsort(self.plan.task_end_s[rows], kind="stable")]
        return self._rows[key]

    def moments_s(self, types: Collection[str]) -> IntArray:
        """Seconds before a task on spot VMs of some types ends, and before one of its checkpoints does."""
        rows = self.rows_of(types)
        found = [self.plan.task_end_s[rows] - 1]
        if self.instance.checkpoint is not None:
            for row in rows.tolist():
                marks = self.marks_s(row)
                if marks:
                    found.append(int(self.plan.task_start_s[row]) - 1 + np.array(marks, dtype=np.int64))
        moments_s: IntArray = np.unique(np.concatenate(found))
        return moments_s[moments_s >= 0]

    def marks_s(self, row: int) -> list[int]:
        """Seconds after its start from which on each checkpoint of a task on a spot VM is there."""
        plan, rules = self.plan, self.instance.checkpoint
        if rules is None:
            return []
        key = int(self.entry[row]), self.type_of(row), int(plan.task_mode[row])
        if key not in self._marks:
            interval, dump = self._interval_and_dump_s(row)
            count = rounded_up(self._run_s(row) / interval) - 1
            period = (interval + dump) / self._speed(row)
            parts, of = period.numerator, period.denominator
            ends = [-((of - number * parts * _NOISE_S) // (of * _NOISE_S)) for number in range(1, count + 1)]
            self._marks[key] = ends
        return self._marks[key]

    def left_s(self, row: int, at_s: int) -> list[int]:
        """Seconds left of a task on each rescue type if its VM goes down at a moment."""
        whole: list[int] = self.whole_s[row].tolist()
        done = bisect_right(self.marks_s(row), at_s - int(self.plan.task_start_s[row]))
        if not done:
            return whole
        rest = 1 - done * self._interval_and_dump_s(row)[0] / self._run_s(row)
        parts, of = rest.numerator, rest.denominator
        return [
            seconds if seconds >= NEVER_S else -((of - seconds * parts * _NOISE_S) // (of * _NOISE_S))
            for seconds in whole
        ]

    def growth_of_loss_s(self, row: int) -> tuple[Fraction, bool]:
        """Growth of the time to redo a task on demand, from one checkpoint to the next; True if whole seconds.

        That is the time that passes less that which the checkpoint saves there; and whether both are whole seconds.
        """
        if self.instance.checkpoint is None:
            return Fraction(0), True
        interval, dump = self._interval_and_dump_s(row)
        passes_s = (interval + dump) / self._speed(row)
        saves_s = interval * int(self.whole_s[row][self.type_number[self.type_of(row)]]) / self._run_s(row)
        return passes_s - saves_s, passes_s.denominator == saves_s.denominator == 1

    def _interval_and_dump_s(self, row: int) -> tuple[Fraction, Fraction]:
        rules = self.instance.checkpoint
        assert rules is not None
        memory_mb = float(self.bag.memory_mb[self.entry[row]])
        return exact_interval_and_dump_s(rules, memory_mb)

    def _run_s(self, row: int) -> int:
        """Run time of a task where it is, at full speed and without checkpoints."""
        return int(self.run_s[self.type_of(row)][self.entry[row]])

    def _speed(self, row: int) -> Fraction:
        if int(self.plan.task_mode[row]) != MODES.index("baseline"):
            return Fraction(1)
        burstable = self.given[self.type_of(row)].burstable
        assert burstable is not None
        return exact(burstable.baseline_fraction)

    def lost(self, types: Collection[str], at_s: int) -> Lost:
        """Lost tasks if all spot VMs of some types go down at a moment."""
        plan, ordered = self.plan, self.rows_of(types)
        rows = ordered[np.searchsorted(plan.task_end_s[ordered], at_s, side="right") :]
        left = self.whole_s[rows]
        if self.instance.checkpoint is not None:
            for place in np.flatnonzero(plan.task_start_s[rows] < at_s).tolist():
                left[place] = self.left_s(int(rows[place]), at_s)
        least = left.min(axis=1) if left.shape[1] else np.full(len(rows), NEVER_S)
        order = np.lexsort((rows, -least - self.early_s[rows]))
        rows = rows[order]
        needs = [Share(*need) for need in self.need[:, rows].T.tolist()]
        dates = self.release_s[rows].tolist(), self.early_s[rows].tolist()
        return Lost(rows.tolist(), left[order].tolist(), needs, *dates)

    # ------------------------------------------------------------------------------------------------ where it is done

    def fleet(self, at_s: int) -> AvailableVms:
        """VMs available for a rescue when spot VMs go down at a moment."""
        alive = [number for number in self.on_demand if self.vm_end_s[number] > at_s]
        counts = Counter(self.plan.vms[number].type for number in alive)
        groups = tuple(
            (
                tuple(quota.counts(found.name, self.given[found.name].vcpus, "on-demand") for found in self.types),
                quota.most - self.on_demand_weight(quota, counts),
            )
            for quota in self.quotas
        )
        # Machines of a state may be more than the limit of their type: none of that may be rented, and no fewer others.
        new = tuple(max(found.limit - counts[found.name], 0) for found in self.types)
        own = []
        for number in alive:
            kind = self.vm_kind[number]
            if kind is not None and number not in self.closed:
                found = self.types[kind]
                from_s = max(at_s + found.takeover_s, int(self.vm_end_s[number]) if found.may_bind else 0)
                own.append(OwnVm(number, kind, tuple(max(end_s, from_s) for end_s in self.slot_end_s[number])))
        return AvailableVms(at_s, tuple(own), new, groups)

    def on_demand_weight(self, quota: QuotaRule, counts: Mapping[str, int]) -> int:
        """Count of numbers of VMs on demand, by type, in a limit of several types."""
        return sum(number * quota.counts(name, self.given[name].vcpus, "on-demand") for name, number in counts.items())

    def _slot_ends_s(self) -> dict[int, list[int]]:
        """See `Losses.slot_end_s`: a slot is any cores, so the first one is there once so many cores are free for good.

        Tasks that do not name all of their cores have the lowest that are free when they start.
        """
        plan, core_end_s = self.plan, dict[int, list[int]]()
        for number in self.on_demand:
            if self.vm_kind[number] is not None:
                core_end_s[number] = [-NEVER_S] * self.given[plan.vms[number].type].vcpus
        rows = np.flatnonzero(np.isin(plan.task_vm, list(core_end_s)))
        for row in rows[np.argsort(plan.task_start_s[rows], kind="stable")].tolist():
            ends_s, start_s = core_end_s[int(plan.task_vm[row])], int(plan.task_start_s[row])
            named, needed = plan.cores[row] or (int(plan.task_core[row]),), int(self.bag.cores[self.entry[row]])
            free = (core for core, end_s in enumerate(ends_s) if end_s <= start_s and core not in named)
            for core in (*named, *islice(free, needed - len(named))):
                ends_s[core] = max(ends_s[core], int(plan.task_end_s[row]))
        together = self.slots.cores
        return {
            number: [max(end_s, self.ready_s[number]) for end_s in sorted(ends_s)[together - 1 :: together]]
            for number, ends_s in core_end_s.items()
        }

    # ----------------------------------------------------------------------------------------------------------- bills

    def rented(self, kind: int, requested_s: int) -> Session:
        """Session of a new VM of a rescue type."""
        return Session(self.rules, requested_s + self.instance.boot_overhead_s, self.types[kind].usd_per_s)

    def vm_usd(self, vm: int) -> Fraction:
        """Bill of one of the plan's VMs as planned."""
        return self.sessions[vm].usd(int(self.vm_end_s[vm]))

    def after_plan(self, vm: int) -> Session:
        """Return the planned cost of one of the plan's VMs, beyond the part that is paid."""
        return self.sessions[vm].after(int(self.vm_end_s[vm]))

    def paid_usd(self, types: Collection[str] = (), until_s: int = 0) -> Fraction:
        """Bill of the plan's VMs as planned, where the spot VMs of some types are paid until a moment only."""
        ends_s = np.where(self._doomed(types), np.minimum(self.vm_end_s, until_s), self.vm_end_s).tolist()
        return bill_usd((self.sessions[vm], ends_s[vm]) for vm in np.flatnonzero(self.vm_end_s > 0).tolist())
