"""The CP-SAT interval model: each task an optional interval on each VM, cores and memory cumulative.

It is exact for every offer. VMs are individual, times count from the moment they are ready:

    present_ivm                    task i runs on VM v, in mode m (full speed, or baseline on a burstable VM)
    start_i, paid_v, last          start of a task, seconds that a VM is paid, end of the last task
    min sum_v cost_v paid_v + cost_of_time last

VMs on which no two tasks can ever run together need no intervals: the order of their tasks is free, and they are paid
for the sum. On burstable VMs whose credits matter the starts are indexed by second, and the balance is followed from
second to second: it can pay to wait until credits are earned, and the model does so where it pays.

Machines, VMs that exist already, are VMs of the model like those that may be rented: what runs on them is there as
intervals that do not move, and only the seconds after those that are paid anyway cost anything. With machines, the time
of the model counts from now, and that of each VM from when it is ready.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...core.bill import begun_s
from ...core.capacities import lower_of, slots_in, slots_of
from ...core.limits import checkpoint
from ...core.quantities import at_most
from ...instances.entries import BASELINE, FULL_SPEED
from ...instances.instance import Instance
from ...schedules.schedule import Schedule, plan_of_places
from ...schedules.timing import held_objective, held_usd, objective_weights
from ..integer_program import integer_costs
from .configurations import ConfigurationBound
from .interval_places import Choices, CreditAccount, IntervalSwitches, Kind, Place, Vm, place_sum, weighted_sum
from .simultaneous_tasks import VmRoom

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


class IntervalModel:
    """The model of an instance; see the module.

    Parameters
    ----------
    instance : Instance
        With D_spot set if spot VMs are offered.
    bound : ConfigurationBound, optional
        Lower bounds of objective and makespan, and cuts.
    start : Schedule, optional
        A feasible plan: the model looks for nothing worse, and starts from it.
    switches : IntervalSwitches
        What is in the model.

    Attributes
    ----------
    model : CpModel
        The native model.
    factor, constant : float
        The objective is that of the model divided by the factor, plus the constant.
    placeless : int or None
        A task that has no place on any VM: the model is infeasible.
    hinted : bool
        Whether the start could be expressed.

    Raises
    ------
    ModelRefusal
        If it would be too large.
    """

    order_matters: ClassVar[bool] = False
    """True if the end of each task matters on a VM that runs one at a time."""

    def __init__(
        self,
        instance: Instance,
        bound: ConfigurationBound | None = None,
        start: Schedule | None = None,
        switches: IntervalSwitches | None = None,
    ) -> None:
        from ortools.sat.python import cp_model

        self.instance = instance
        self.bound = bound
        self.start = start
        self.switches = switches or IntervalSwitches()
        self.choices = Choices(instance, bound, start, self.switches)
        self.zero_s = self.choices.zero_s
        self.open_tasks = instance.open_tasks.tolist()
        self.last_s = self.choices.last_s
        self.model = cp_model.CpModel()
        self._add_variables()
        self._add_constraints()
        self._add_objective()
        # A plan that cannot be expressed still bounds the objective from above.
        self.hinted = start is not None and self._add_hint(start)

    # -------------------------------------------------------------- variables

    def _add_variables(self) -> None:
        """VMs, places, starts and the end of the last task."""
        from ortools.sat.python import cp_model

        instance, model = self.instance, self.model
        least = 0 if self.bound is None else self.bound.makespan_s - self.zero_s
        # An empty window has no domain: the model is then infeasible by a clause.
        self.last = model.new_int_var(min(max(least, 0), self.last_s), max(self.last_s, 0), "last")
        self.vms: list[Vm] = []
        self.places: list[Place] = []
        self.by_task: list[list[Place]] = [[] for _ in range(instance.n_tasks)]
        limited = {index for group in instance.group_limits for index in np.flatnonzero(group.weights).tolist()}
        for index, kind in enumerate(self.choices.kinds):
            room = VmRoom.of(instance, kind.offer.index, kind.usable)
            # Tasks that run one by one may come in any order, unless it matters when each of them ends: for dates, for
            # lateness, or to be done again in time.
            free_order = not (self.order_matters or instance.has_dates)
            free_order = free_order and not (instance.leaves_time and kind.offer.market == "spot")
            alone = kind.credits != "to be planned" and free_order and room.one_at_a_time()
            alone = alone and (not kind.busy or kind.offer.vcpus == 1)
            for number in range(kind.vms):
                end = paid = model.new_int_var(kind.busy_s, kind.most_s, f"end_{index}_{number}")
                if kind.machines or kind.free_s or kind.block_s > 1:
                    paid_s = range(0, self._most_paid_s(kind) + 1, kind.block_s)
                    domain = (
                        cp_model.Domain.from_values([*paid_s]) if kind.block_s > 1 else cp_model.Domain(0, paid_s[-1])
                    )
                    paid = model.new_int_var_from_domain(domain, f"paid_{index}_{number}")
                # Only where something depends on it: with these, CP-SAT has to do without a part of its presolve.
                counts = kind.opening_usd or (not kind.machines and kind.offer.index in limited)
                used = model.new_bool_var(f"used_{index}_{number}") if counts else None
                self.vms.append(Vm(kind, end, paid, alone, used))
                self._add_places(len(self.vms) - 1)
        self.by_vm: list[list[Place]] = [[] for _ in self.vms]
        for place in self.places:
            self.by_task[place.task].append(place)
            self.by_vm[place.vm].append(place)
        self.starts = {task: self._new_start(task) for task in self.open_tasks}
        self.accounts: dict[int, CreditAccount] = {}

    @property
    def counts_vms(self) -> bool:
        """True if something counts the VMs that have a task: an opening, or a limit of several offers."""
        return any(vm.used is not None for vm in self.vms)

    @property
    def longest_account_s(self) -> int:
        """Seconds of the longest balance of credits that is followed."""
        return max((self.vms[index].kind.most_s for index in self.accounts), default=0)

    def _most_paid_s(self, kind: Kind) -> int:
        """Most seconds that a VM can cost."""
        return int(begun_s(kind.block_s, kind.most_s, kind.free_s))

    def _add_places(self, vm: int) -> None:
        """Presence of each task on a VM, in each possible mode."""
        checkpoint()
        kind = self.vms[vm].kind
        for task in self.open_tasks:
            group = self.instance.task_group[task]
            for mode in (FULL_SPEED, BASELINE):
                if kind.modes[group, mode]:
                    seconds = int(self.instance.duration_s[group, kind.offer.index, mode])
                    place = Place(task, vm, mode, seconds, self.model.new_bool_var(f"present_{task}_{vm}_{mode}"))
                    if self._latest_start(place) >= 0:  # else it could not be done again in time, should it be lost
                        self.places.append(place)

    def _new_start(self, task: int) -> cp_model.IntVar:
        """Start of a task; 0 where the order is free."""
        latest = max((self._latest_start(place) for place in self.by_task[task]), default=0)
        return self.model.new_int_var(0, latest, f"start_{task}")

    def _latest_start(self, place: Place) -> int:
        vm = self.vms[place.vm]
        if vm.one_at_a_time:
            return 0
        latest_s = self.instance.latest_end_s[self.instance.task_group[place.task], vm.offer.index] - vm.kind.ready_s
        return min(vm.kind.limit_s, int(latest_s)) - place.seconds

    def _earliest_start(self, place: Place) -> int:
        """Release of a task, from when the VM is ready."""
        release_s = int(self.instance.release_s[self.instance.task_group[place.task]])
        return max(release_s - self.vms[place.vm].kind.ready_s, 0)

    # ------------------------------------------------------------ constraints

    def _add_constraints(self) -> None:
        self.each_task_runs_once()
        self.vms_are_paid_until_their_last_task()
        self.cores_and_memory_suffice()
        self.credits_suffice()
        self.groups_are_limited()
        self.what_is_lost_at_once_fits_the_time_on_demand()
        self.the_budget_is_kept()
        if self.switches.energy_cuts:
            self.energy_fits_the_paid_time()
            self.cores_hold_few_long_tasks()
        if self.switches.symmetry:
            self.identical_vms_are_ordered()
            self.identical_tasks_are_ordered()

    def each_task_runs_once(self) -> None:
        """Each task on one VM in one mode (Burst-HADS eq. 4, without the start). Without a place: infeasible."""
        self.placeless: int | None = None
        for task in self.open_tasks:
            places = self.by_task[task]
            if places:
                self.model.add_exactly_one(place.present for place in places)
            else:
                self.placeless = task
                self.model.add_bool_or([])

    def vms_are_paid_until_their_last_task(self) -> None:
        """VMs end after their tasks, and the last task after all (Burst-HADS eq. 5 and 6)."""
        for vm, places in zip(self.vms, self.by_vm, strict=True):
            later_s = vm.kind.ready_s - self.zero_s
            for place in places if later_s else ():  # only a VM that is used is waited for
                self.model.add(self.last >= vm.end_s + later_s * place.present)
            self.model.add(self.last >= vm.end_s)
        for vm, places in zip(self.vms, self.by_vm, strict=True):
            if vm.paid_s is not vm.end_s:
                self.model.add(vm.paid_s >= vm.end_s - vm.kind.free_s)
            if vm.used is not None:
                for place in places:
                    self.model.add_implication(place.present, vm.used)
            if vm.one_at_a_time:
                self.model.add(vm.end_s >= vm.kind.busy_s + place_sum(places, lambda place: place.seconds))
        for task in self.open_tasks:
            checkpoint()
            start, places = self.starts[task], self.by_task[task]
            for place in places:
                vm = self.vms[place.vm]
                if not vm.one_at_a_time:
                    self.model.add(vm.end_s >= start + place.seconds).only_enforce_if(place.present)
            if self.instance.release_s[self.instance.task_group[task]]:
                self.model.add(start >= place_sum(places, self._earliest_start))
            # The same for the linear relaxation.
            self.model.add(start <= place_sum(places, self._latest_start))
            self.model.add(self.last >= start + place_sum(places, self._seconds_from_zero))

    def _seconds_from_zero(self, place: Place) -> int:
        """Seconds of a place, after those until its VM is ready."""
        return place.seconds + self.vms[place.vm].kind.ready_s - self.zero_s

    def cores_and_memory_suffice(self) -> None:
        """Add rows: at no instant more tasks than cores, nor more memory than there is (Burst-HADS eq. 2 and 3)."""
        free = self.instance.memory_never_binds
        for number, (vm, places) in enumerate(zip(self.vms, self.by_vm, strict=True)):
            checkpoint()
            if vm.one_at_a_time or not places:
                continue
            intervals = [
                self.model.new_optional_fixed_size_interval_var(
                    self.starts[place.task], place.seconds, place.present, f"run_{place.task}_{place.vm}_{place.mode}"
                )
                for place in places
            ]
            # What runs there already.
            busy = [entry for entry in vm.kind.busy if entry.seconds]
            intervals += [
                self.model.new_fixed_size_interval_var(0, entry.seconds, f"busy_{number}_{core}")
                for core, entry in enumerate(busy)
            ]
            if vm.offer.vcpus == 1:
                self.model.add_no_overlap(intervals)
                continue
            tasks = [*(place.task for place in places), *range(-len(busy), 0)]
            needed = np.array([*map(self._need_kb, places), *(entry.need_kb for entry in busy)], dtype=np.int64)
            slots, size_kb = slots_of(needed).tolist(), lower_of(vm.offer.memory_kb)
            if sum(dict(zip(tasks, slots, strict=True)).values()) > vm.offer.vcpus:
                self.model.add_cumulative(intervals, slots, vm.offer.vcpus)
            if not free[vm.offer.type_index]:
                needs = lower_of(needed).tolist()
                self.model.add_cumulative(intervals, needs, size_kb)
                for of, size in ((needs, size_kb), (slots, vm.offer.vcpus)):
                    large = [k for k, need in enumerate(of) if 2 * need > size]
                    if len({tasks[k] for k in large}) > 1:  # own: no two of these at a time
                        self.model.add_no_overlap([intervals[k] for k in large])

    def credits_suffice(self) -> None:
        """Follow the credits of burstable VMs where they matter, as `spotbag.check` does (own)."""
        for index, vm in enumerate(self.vms):
            if vm.kind.credits == "to be planned" and self.by_vm[index]:
                self.accounts[index] = CreditAccount(self.model, index, vm, self.by_vm[index], self.starts)

    def groups_are_limited(self) -> None:
        """The VMs of a group weigh no more together than the instance allows."""
        for group in self.instance.group_limits:
            weights = group.weights.tolist()
            counted = [
                (vm.used, vm.end_s, weights[vm.offer.index])
                for vm in self.vms
                if vm.used is not None and not vm.kind.machines and weights[vm.offer.index]
            ]
            if group.most >= sum(weight for _, _, weight in counted):
                continue
            self.model.add(sum(weight * used for used, _, weight in counted) <= group.most)
            # The same in seconds, for the linear relaxation.
            self.model.add(sum(weight * end_s for _, end_s, weight in counted) <= group.most * self.last)

    def what_is_lost_at_once_fits_the_time_on_demand(self) -> None:
        """Leave time to do again all that goes down at once before any of its tasks has ended (`RescueTime`)."""
        time = self.instance.rescue_time
        if time is None:
            return
        groups = self.instance.task_group
        for members, from_s, most_s in zip(time.members, time.from_s, time.most_s.tolist(), strict=True):
            counts = members * (time.whole_s >= from_s) * time.again_s
            seconds = [int(counts[groups[place.task], self.vms[place.vm].offer.index]) for place in self.places]
            self.model.add(weighted_sum(self.places, seconds) <= most_s)

    def the_budget_is_kept(self) -> None:
        """The VMs cost no more than the budget; prices are rounded down, so that no plan within it is left out."""
        budget_usd = self.instance.objective.budget_usd
        if budget_usd is None:
            return
        left_usd = at_most(budget_usd) - held_usd(self.instance)
        prices, variables, most = self._costs()
        costs, factor = integer_costs(prices, most, budget_usd)
        within = math.ceil(left_usd * factor)
        self.model.add(sum(cost * variable for cost, variable in zip(costs, variables, strict=True)) <= within)

    def _costs(self) -> tuple[list[float], list[cp_model.IntVar], list[int]]:
        """Return the cost of VMs: prices, their variables, and the most of these."""
        opened = [(vm.kind.opening_usd, vm.used, 1) for vm in self.vms if vm.used is not None]
        seconds = [(vm.offer.price_usd_per_s, vm.paid_s, self._most_paid_s(vm.kind)) for vm in self.vms]
        prices, variables, most = zip(*seconds, *opened, strict=True) if seconds else ((), (), ())
        return [*prices], [*variables], [*most]

    # ------------------------------------------------- cuts and symmetry (own)

    def energy_fits_the_paid_time(self) -> None:
        """Core seconds, memory seconds and weighted seconds of the tasks of a VM within those that are paid."""
        free = self.instance.memory_never_binds
        groups = self.instance.task_group
        for vm, places in zip(self.vms, self.by_vm, strict=True):
            checkpoint()
            if vm.one_at_a_time:
                continue
            busy = vm.kind.busy
            held = sum(slots_in(entry.need_kb) * entry.seconds for entry in busy)
            used = held + place_sum(places, lambda place: slots_in(self._need_kb(place)) * place.seconds)
            self.model.add(vm.offer.vcpus * vm.end_s >= used)
            if not free[vm.offer.type_index]:
                held = sum(lower_of(entry.need_kb) * entry.seconds for entry in busy)
                used = held + place_sum(places, lambda place: lower_of(self._need_kb(place)) * place.seconds)
                self.model.add(lower_of(vm.offer.memory_kb) * vm.end_s >= used)
            weightings = () if self.bound is None else self.bound.weightings.get(vm.offer.index, ())
            for cut in weightings:
                weights = cut.weights[groups].tolist()
                weighted = weighted_sum(places, [weights[place.task] * place.seconds for place in places])
                self.model.add(cut.capacity * vm.end_s >= weighted)

    def cores_hold_few_long_tasks(self) -> None:
        """A VM is paid for its longest task, and in the time that is left a core takes one long task (own).

        For every length h up to half of the time H of a VM, tasks longer than H - h fill a core, and of those of at
        least h and above a third of H, a core takes two: the threshold functions of Martello and Toth, over time.
        """
        for vm, places in zip(self.vms, self.by_vm, strict=True):
            checkpoint()
            if vm.one_at_a_time or vm.kind.credits == "to be planned":
                continue
            for place in places:
                first_s = max(vm.kind.first_core_s, self._earliest_start(place))
                self.model.add(vm.end_s >= (first_s + place.seconds) * place.present)
            limit_s = vm.kind.limit_s
            lengths = {place.seconds for place in places if 3 * place.seconds > limit_s >= 2 * place.seconds}
            for shortest in sorted({*lengths, limit_s // 2 + 1}):
                halves = [
                    (2 if place.seconds > limit_s - shortest else 1, place)
                    for place in places
                    if place.seconds >= shortest
                ]
                if 2 * shortest > limit_s:
                    halves = [(2, place) for _, place in halves]
                if sum(half for half, _ in halves) > 2 * vm.offer.vcpus:
                    self.model.add(sum(half * place.present for half, place in halves) <= 2 * vm.offer.vcpus)

    def identical_vms_are_ordered(self) -> None:
        """VMs of the same kind by falling end."""
        for before, after in zip(self.vms, self.vms[1:], strict=False):
            if before.kind is after.kind:
                self.model.add(before.end_s >= after.end_s)

    def identical_tasks_are_ordered(self) -> None:
        """Tasks of a group by VM, then by start."""
        # More than any start: the VM decides, and then the start.
        step = self.last_s + 1
        for before, after in zip(self.open_tasks, self.open_tasks[1:], strict=False):
            checkpoint()
            if self.instance.task_group[before] == self.instance.task_group[after]:
                keys = [
                    self.starts[task] + place_sum(self.by_task[task], lambda place: step * place.vm)
                    for task in (before, after)
                ]
                self.model.add(keys[0] <= keys[1])

    # -------------------------------------------------------------- objective

    def _add_objective(self) -> None:
        """Cost and makespan (Burst-HADS eq. 1), between the bound and the start."""
        cost_weight, time_weight = objective_weights(self.instance)
        usd, paid, most_paid = self._costs()
        prices = [cost_weight * price for price in usd]
        self.constant = time_weight * self.zero_s + held_objective(self.instance)
        variables = [self.last, *paid]
        most = [max(self.last_s, 0), *most_paid]
        known = math.inf if self.start is None else self.start.objective - self.constant
        costs, self.factor = integer_costs([time_weight, *prices], most, known)
        objective = sum(cost * variable for cost, variable in zip(costs, variables, strict=True))
        self.model.minimize(objective)
        # Each cost was rounded down by less than 1: that much less the integer objective may be.
        lost = sum(most)
        if self.bound is not None and math.isfinite(self.bound.objective):
            least = math.floor((self.bound.objective - self.constant) * self.factor * (1 - 1e-9)) - lost
            if least > 0:
                self.model.add(objective >= least)
        if self.start is not None:
            highest = math.ceil((self.start.objective - self.constant) * self.factor * (1 + 1e-9)) + 1
            self.model.add(objective <= max(highest, 0))

    # ------------------------------------------------------------------- hint

    def _add_hint(self, start: Schedule) -> bool:
        """Hint at a plan, its VMs and identical tasks put in the order of the model; whether it could be."""
        slots = self._slots_of(start)
        if slots is None:
            return False
        chosen = self._places_of(start, slots)
        if chosen is None:
            return False
        ends = [vm.kind.busy_s for vm in self.vms]
        for place, begin in chosen.values():
            if self.vms[place.vm].one_at_a_time:
                ends[place.vm] += place.seconds
            else:
                ends[place.vm] = max(ends[place.vm], begin + place.seconds)
        for vm, seconds in zip(self.vms, ends, strict=True):
            self.model.add_hint(vm.end_s, seconds)
            if vm.paid_s is not vm.end_s:
                self.model.add_hint(vm.paid_s, begun_s(vm.kind.block_s, seconds, vm.kind.free_s))
        self.model.add_hint(self.last, start.makespan_s - self.zero_s)
        taken = {id(place) for place, _ in chosen.values()}
        for place in self.places:
            self.model.add_hint(place.present, id(place) in taken)
        for task, (_, begin) in chosen.items():
            self.model.add_hint(self.starts[task], begin)
        for vm_index, account in self.accounts.items():
            here = [(place, begin) for place, begin in chosen.values() if place.vm == vm_index]
            account.add_hint(here)
        return True

    def _slots_of(self, start: Schedule) -> list[int] | None:
        """VM of the model for each VM of a plan: those of a kind by falling end; None if there are too few."""
        rooms: dict[int, list[int]] = defaultdict(list)
        for index, vm in enumerate(self.vms):
            rooms[id(vm.kind)].append(index)
        machines = {machine: kind for kind in self.choices.kinds for machine in kind.machines}
        rented = {kind.offer.index: kind for kind in self.choices.kinds if not kind.machines}
        slots = [-1] * len(start.vm_offer)
        used = set(start.task_vm.tolist())
        for vm in np.argsort(-start.vm_end_s, kind="stable").tolist():
            if vm in used:
                machine = int(start.vm_machine[vm])
                kind = rented.get(int(start.vm_offer[vm])) if machine < 0 else machines[machine]
                room = rooms[id(kind)]
                if not room:
                    return None
                slots[vm] = room.pop(0)
        return slots

    def _places_of(self, start: Schedule, slots: list[int]) -> dict[int, tuple[Place, int]] | None:
        """Place and start of each task, identical tasks in the order of the model; None if one is not in it."""
        lookup = {(place.task, place.vm, place.mode): place for place in self.places}
        rows: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        groups = self.instance.task_group.tolist()
        for task in self.open_tasks:
            group, vm = groups[task], slots[int(start.task_vm[task])]
            own = self.vms[vm]
            begin = 0 if own.one_at_a_time else int(start.task_start_s[task]) - own.kind.ready_s
            rows[group].append((vm, begin, int(start.task_baseline[task])))
        for row in rows.values():
            row.sort(reverse=True)
        chosen = {}
        for task in self.open_tasks:
            vm, begin, mode = rows[groups[task]].pop()
            # Where only one mode is in the model, it is no slower.
            place = lookup.get((task, vm, mode)) or lookup.get((task, vm, 1 - mode))
            if place is None:
                return None
            chosen[task] = place, begin
        return chosen

    # -------------------------------------------------------------- read-back

    def schedule(self, value: Callable[[cp_model.IntVar], int]) -> Schedule:
        """Make the plan of a solution: cores are given out greedily by start, which is enough for intervals."""
        instance, first = self.instance, len(self.instance.machines)
        rows: list[tuple[int, ...]] = []
        left = {id(kind): [*kind.machines] for kind in self.choices.kinds}
        for number, (vm, places) in enumerate(zip(self.vms, self.by_vm, strict=True), first):
            ready_s, free = vm.kind.ready_s, [0] * vm.offer.vcpus
            if vm.kind.machines:
                number = left[id(vm.kind)].pop(0)
                free = np.maximum(instance.machine_core_free_s[number, : vm.offer.vcpus] - ready_s, 0).tolist()
            here = [place for place in places if value(place.present)]
            begins = self._begins(vm, here, value)
            for begin, place in sorted(zip(begins, here, strict=True), key=lambda pair: (pair[0], pair[1].task)):
                core = next(k for k, time in enumerate(free) if time <= begin)
                free[core] = begin + place.seconds
                rows.append((place.task, number, core, begin + ready_s, place.mode == BASELINE))
        tasks, numbers, cores, starts_s, modes = np.array(rows, dtype=np.int64).reshape(-1, 5).T
        offers = np.r_[instance.machine_offer, np.array([vm.offer.index for vm in self.vms], dtype=np.int64)]
        return plan_of_places(instance, tasks, numbers, cores, starts_s, offers, modes.astype(bool))

    def _begins(self, vm: Vm, here: list[Place], value: Callable[[cp_model.IntVar], int]) -> list[int]:
        """Starts of the tasks of a VM; one after the other where no two can run together."""
        if vm.one_at_a_time:
            return [vm.kind.busy_s + sum(place.seconds for place in here[:k]) for k in range(len(here))]
        return [value(self.starts[place.task]) for place in here]

    def _need_kb(self, place: Place) -> int:
        return int(self.instance.memory_kb[self.instance.task_group[place.task]])
