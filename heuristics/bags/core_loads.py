"""Core loads: plans for VMs whose memory never binds, as an assignment of tasks to cores.

The start of our search: which offer each task goes to follows from the prices of the divisible bound, which core from
longest-task-first. `annealing_kernel` does the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...bounds.bags.divisible_bound import DivisibleBound
from ...core.limits import checkpoint
from ...core.quantities import FloatArray, IntArray, at_most
from ...instances.entries import FULL_SPEED, NEVER, SECONDS_PER_CREDIT
from ...instances.instance import Instance
from ...models.bags.task_classes import usable_offers
from ...schedules.method import MANY_TASKS
from ...schedules.schedule import Schedule, plan_of_places
from ...schedules.timing import VmRents, objective_weights, time_zero_s, vm_rents

if TYPE_CHECKING:
    from .annealing_kernel import Cores, CoreState, Objective, Rescue

LITTLE_TO_GAIN = 1e-3
"""Gap, or difference, of two objectives below which it is not worth the time to look for what is between them."""
MOST_PLACES = 60_000_000
"""Most places for tasks on the cores, or the VMs, of a state: 480 MB. As many are looked at in some seconds."""
SPARE_VMS = 1
GONE, NEW = range(-2, 0)


@dataclass(slots=True)
class CoreLoads:
    """VMs, their cores, and the tasks on each core.

    Times count from `time_zero_s`: from the end of the boot; if there are machines, from second 0.

    Attributes
    ----------
    offers : array of int, shape (n_columns,)
        Offer of each column: first those of VMs that may be rented, then those of machines.
    vm_column : array of int
        Column of each VM.
    vm_machine : array of int
        Machine that a VM is; -1 for VMs that are rented.
    core_start : array of int
        When each core is free.
    cores, objective : Cores and Objective
        As the annealing has them; their offers are columns.
    core_tasks, core_count, load, late, taken, vm_end : arrays
        Tasks of each core (padded) and their number, seconds on each core, by how much a task of it is late at most,
        what each set of `rescue` takes, end of each VM.
    """

    instance: Instance
    offers: IntArray
    vm_column: IntArray
    vm_machine: IntArray
    core_start: IntArray
    cores: Cores
    objective: Objective
    core_tasks: IntArray
    core_count: IntArray
    load: IntArray
    late: IntArray
    taken: IntArray
    vm_end: IntArray

    def copy(self) -> CoreLoads:
        """Return a state of the same VMs that may be changed without this one."""
        changed = ("core_tasks", "core_count", "load", "late", "taken", "vm_end")
        return replace(self, **{name: getattr(self, name).copy() for name in changed})

    def charge(self, rate: float) -> None:
        """Charge the cost above the budget of the instance, if there is one, at so much for a dollar."""
        vm_offer = self.offers[self.vm_column]
        self.objective = charged(self.objective, self.instance, vm_offer, self.vm_machine, rate)

    @property
    def zero_s(self) -> int:
        """The second from which times count."""
        return time_zero_s(self.instance)

    def value(self) -> float:
        """Objective, and the penalty for whatever ends too late."""
        end, by = self.vm_end, self.objective
        late = by.penalty * float(np.maximum(0, end - by.vm_limit).sum())
        late += by.task_penalty * float(self.late.sum() + self._taken_too_much_s)
        ready = by.time_weight * self.zero_s
        paid = self._paid()
        # What is paid already is no part of the objective; within a budget, it is one of what is spent.
        cost = paid - float(by.vm_price @ by.vm_free) if by.budget == np.inf else max(paid - by.budget, 0.0)
        return cost + by.time_weight * float(end.max()) + late + ready

    def feasible(self) -> bool:
        """True if all VMs, and all tasks, end in time, within the budget."""
        in_time = bool((self.vm_end <= self.objective.vm_limit).all()) and not self.late.any()
        return in_time and not self._taken_too_much_s and self._paid() <= self.objective.budget

    def _paid(self) -> float:
        """Cost of all VMs, with what is paid already at their prices; see `annealing_kernel.rent`."""
        by = self.objective
        last = np.maximum(self.vm_end, by.vm_free)
        if not len(by.vm_bill):
            return float((by.vm_price * last).sum())
        opening, idle_s, block_s = by.vm_bill.T
        paid = last + (by.vm_free - last) % block_s
        return float((by.vm_price * paid).sum() + opening[self.vm_end > idle_s].sum())

    @property
    def _taken_too_much_s(self) -> int:
        """Core seconds on demand that are taken beyond those that there are."""
        return int(np.maximum(self.taken - self.cores.rescue.most_s, 0).sum())

    def regroup(self) -> None:
        """Deal the contents of the cores of each column out to its VMs anew, by load: no grouping is better.

        Of machines, whose cores are free at different moments, it is a good one, and kept if it is better: those that
        are free first get the largest contents, and of a machine the core that is free first.
        """
        column, start, content = self.cores.offer, self.core_start, self.load - self.core_start
        # Contents that are alike end together: to exchange two of them between VMs could only make the earlier VM
        # later.
        order = by_content = np.lexsort((-content, column))
        if len(self.instance.machines):
            free_s = np.bincount(self.cores.vm, weights=start)[self.cores.vm]
            receivers = np.lexsort((start, self.cores.vm, free_s, column))
            ends, dealt = np.empty_like(content), np.empty_like(order)
            ends[receivers], dealt[receivers] = start[receivers] + content[by_content], by_content
            by, firsts = self.objective, self.cores.first_of_vm[:-1]
            new, old = (np.maximum(np.maximum.reduceat(end, firsts), by.vm_free) for end in (ends, self.load))
            first = np.flatnonzero(np.diff(self.vm_column, prepend=-1))  # VM of each column
            change = by.vm_price[first] * (np.add.reduceat(new, first) - np.add.reduceat(old, first))
            change += by.time_weight * (np.maximum.reduceat(new, first) - np.maximum.reduceat(old, first))
            better = np.zeros(len(self.offers), dtype=bool)
            better[self.vm_column[first]] = change < 0
            # Columns share no VM, so that each keeps its grouping unless the new one is better by itself.
            kept = np.where(better[column], dealt, np.arange(len(order)))
            order = np.where(self.vm_machine[self.cores.vm] < 0, by_content, kept)
        load = start + content[order]
        self.core_tasks = np.ascontiguousarray(self.core_tasks[order])
        self.core_count = self.core_count[order]
        self.load = load
        if len(self.instance.machines):
            self.set_ends()
        else:
            self._set_vm_ends()
            self.late = self.late[order]

    def set_ends(self) -> None:
        """Set the end of each VM, and by how much tasks are late, from the tasks and loads of the cores."""
        self._set_vm_ends()
        if len(self.cores.latest):
            core, tasks = self.placed()
            latest = self.cores.latest[self.cores.offer[core], tasks]
            by_latest = np.lexsort((latest, core))  # see `annealing_kernel.lateness`
            seconds = self.cores.durations[self.cores.offer[core], tasks[by_latest]]
            first = np.cumsum(self.core_count) - self.core_count
            before = np.concatenate([[0], np.cumsum(seconds)])
            end = self.core_start[core] + before[1:] - before[first[core]]
            self.late[:] = 0
            np.maximum.at(self.late, core, end - latest[by_latest])
        rescue = self.cores.rescue
        if len(rescue.again_s):
            core, tasks = self.placed()
            column = self.cores.offer[core]
            again_s, whole_s = rescue.again_s[column, tasks], rescue.whole_s[column, tasks]
            for one, (members, from_s) in enumerate(zip(rescue.members, rescue.from_s, strict=True)):
                self.taken[one] = (members[column] * again_s)[whole_s >= from_s].sum()

    def _set_vm_ends(self) -> None:
        """Set the end of each VM: by then it has earned what its work spends."""
        self.vm_end = np.maximum.reduceat(self.load, self.cores.first_of_vm[:-1])
        if len(self.cores.credits):
            lacking = np.add.reduceat(self.load, self.cores.first_of_vm[:-1]) - self.cores.credits[:, 0]
            earned_s = np.ceil(np.maximum(lacking, 0.0) / self.cores.credits[:, 1]).astype(np.int64)
            self.vm_end = np.maximum(self.vm_end, earned_s)

    def _wait_s(self) -> IntArray:
        """Seconds for which each core waits for credits: none, or so many that the core works up to the end of its VM.

        Of all ways to work without a break, the latter has spent least at every moment: see
        `cpu_credits.credits_count_at_the_end`.
        """
        wait_s = np.zeros(len(self.load), dtype=np.int64)
        for vm in np.flatnonzero(self.cores.credits[:, 0] < np.inf).tolist() if len(self.cores.credits) else ():
            mine = slice(self.cores.first_of_vm[vm], self.cores.first_of_vm[vm + 1])
            load, (work_s, earned) = self.load[mine], self.cores.credits[vm]
            if (np.minimum(load[:, None], load).sum(axis=1) > work_s + earned * load).any():
                wait_s[mine] = self.vm_end[vm] - load
        return wait_s

    def restore(self, core_tasks: IntArray, core_count: IntArray) -> None:
        """Take another state of the same VMs."""
        self.core_tasks = core_tasks.copy()
        self.core_count = core_count.copy()
        core, tasks = self.placed()
        self.load[:] = self.core_start
        np.add.at(self.load, core, self.cores.durations[self.cores.offer[core], tasks])
        self.set_ends()

    def plan(self, random_state: IntArray) -> CoreState:
        """Return the tasks on the cores, which the annealing changes in place."""
        from .annealing_kernel import CoreState

        loads = self.load, self.late, self.taken, self.vm_end
        return CoreState(self.core_tasks, self.core_count, *loads, random_state)

    def schedule(self) -> Schedule:
        """Return the plan: on each core longest task first, VMs without tasks left out.

        Where tasks have latest ends of their own, what has to end first is first.
        """
        instance, n_machines = self.instance, len(self.instance.machines)
        core, tasks = self.placed()
        seconds = self.cores.durations[self.cores.offer[core], tasks]
        first = self.cores.latest[self.cores.offer[core], tasks] if len(self.cores.latest) else -seconds
        order = np.lexsort((tasks, first, core))
        core, tasks, seconds = core[order], tasks[order], seconds[order]
        before = np.cumsum(seconds) - seconds  # on this core and on those in front of it
        first = np.cumsum(self.core_count) - self.core_count
        start_s = self.zero_s + (self.core_start + self._wait_s())[core] + before - before[first[core]]
        vm, machine = self.cores.vm[core], self.vm_machine[self.cores.vm[core]]
        number = np.where(machine < 0, n_machines + vm, machine)
        offers = np.concatenate([instance.machine_offer, self.offers[self.vm_column]])
        slow = (instance.offer_is_burstable & np.isinf(full_speed(instance)[:, 0]))[offers][number]
        return plan_of_places(instance, tasks, number, core - self.cores.first_of_vm[vm], start_s, offers, slow)

    def placed(self) -> tuple[IntArray, IntArray]:
        """Core of each task and the task, core by core."""
        core = np.repeat(np.arange(len(self.core_count)), self.core_count)
        first = np.cumsum(self.core_count) - self.core_count
        return core, self.core_tasks[core, np.arange(len(core)) - first[core]]


def priced_start(
    instance: Instance, bound: DivisibleBound, spare_vms: int = SPARE_VMS, *, filled: float = 1.0
) -> CoreLoads | None:
    """Make a first state by the prices of the bound.

    Tasks that have most to lose go first, to their cheapest offer that still has room until the end of the divisible
    optimum. Burstable VMs run their tasks in one mode, see `full_speed`.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    bound : DivisibleBound
        Of the instance.
    spare_vms : int
        Empty VMs of each offer that the search may open.
    filled : float
        Share of the time of an offer that is given to tasks, where that ends with D_spot or with the deadline: whole
        tasks never fill cores to the last second.

    Returns
    -------
    CoreLoads or None
        None if there is no VM that takes tasks, if a task can run nowhere in this way, e.g. at the baseline of a
        burstable VM, or if too many tasks of one core make the state too large.
    """
    if not len(bound.offers):
        return None
    offers = [instance.offers[index] for index in bound.offers.tolist()]
    table = core_seconds(instance, bound.offers)
    groups = instance.task_group[instance.open_tasks]
    if (table.min(axis=1)[groups] >= NEVER).any():
        return None
    vms = rentable_vms(instance, bound.offers)
    vcpus = np.array([offer.vcpus for offer in offers])
    ready_s = instance.ready_s[bound.offers]
    limits = np.array([instance.time_limit_s(offer.market) for offer in offers]) - ready_s
    level = np.maximum(np.minimum(np.minimum(bound.end_s, bound.level_s), limits * filled), 1.0)
    level = core_level_s(instance, bound.offers, level)
    room = vms * vcpus * level + _room_of_machines(instance, bound.offers, ready_s + level)
    column = _columns(bound.task_price(instance), table, groups, room)
    seconds = table[groups, column]
    work = np.bincount(column, weights=seconds, minlength=len(offers))
    # 1e-9: work that fills some VMs to the last second is not to open one more by rounding.
    opened = np.minimum(vms, np.ceil(work / (vcpus * level) - 1e-9).astype(np.int64))
    _keep_group_limits(instance, bound, opened)
    state = empty_state(instance, bound.offers, opened, spare_vms)
    if not len(state.vm_end):
        return None
    return state if _longest_first(state, column, opened) else None


def start_from_schedule(
    instance: Instance, schedule: Schedule, offers: IntArray, spare_vms: int = SPARE_VMS
) -> CoreLoads | None:
    """Make the state of a plan, with ``spare_vms`` empty VMs of each offer beside it.

    Tasks of VMs that do not exist, or not any more, are on new ones of their kind, or all where they add least to the
    objective, whichever is better; what has no place otherwise is put there, too.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    schedule : Schedule
        A plan of the instance, or of an earlier state of the same bag; on burstable VMs, the state has all tasks in one
        mode, see `full_speed`.
    offers : array of int
        Offers that may be used.
    spare_vms : int
        Empty VMs of each offer that the search may open.

    Returns
    -------
    CoreLoads or None
        None if there are no VMs, or too many tasks of one core make the state too large.
    """
    if not len(offers):
        return None
    rows, machine_of_vm = places_of(instance, schedule)
    tasks, known = instance.open_tasks, rows >= 0
    n_rented = len(usable_offers(instance))
    column_of = np.full(len(instance.offers), -1)
    column_of[offers[:n_rented]] = np.arange(n_rented)
    vm, core = schedule.task_vm[rows[known]], cores_of(instance, schedule, rows[known])
    column_of_vm = column_of[offers_of(instance, schedule)]
    wanted = np.bincount(vm, minlength=len(column_of_vm)) > 0
    new = np.flatnonzero(wanted & (machine_of_vm == NEW) & (column_of_vm >= 0))
    state = empty_state(instance, offers, np.bincount(column_of_vm[new], minlength=len(offers)), spare_vms)
    if not len(state.vm_end):
        return None
    vm_of_machine = np.full(len(instance.machines) + 1, -1)
    vm_of_machine[state.vm_machine[state.vm_machine >= 0]] = np.flatnonzero(state.vm_machine >= 0)
    place = vm_of_machine[np.maximum(machine_of_vm, -1)]
    # Two ways are tried: what ran on new VMs of the plan is placed anew, one by one, or goes to new VMs as it was.
    places = [place] if len(instance.machines) or not len(new) else []
    if len(new):
        # VMs of a column are interchangeable: the plan's take the first of the state's.
        in_place = place.copy()
        for column in np.unique(column_of_vm[new]).tolist():
            slots = np.flatnonzero((state.vm_column == column) & (state.vm_machine < 0))
            mine = new[column_of_vm[new] == column][: len(slots)]
            in_place[mine] = slots[: len(mine)]
        places.append(in_place)
    found: list[tuple[float, IntArray]] = []
    for place in places:
        cores = np.full(len(tasks), -1)
        cores[known] = np.where(place[vm] >= 0, state.cores.first_of_vm[place[vm]] + core, -1)
        found.append((place_lost(state, cores), cores))
    _, cores = min(found, key=lambda pair: pair[0])
    return state if fill(state, tasks, cores) else None


def place_lost(state: CoreLoads, cores: IntArray) -> float:
    """Put open tasks that have no core where they add least to the objective, the longest first; return what it is.

    They are those without one, and all of a core that ends too late.
    """
    from .start_kernel import place_where_cheapest

    tasks = state.instance.open_tasks
    load = _loads(state, tasks, cores)
    late = load > state.objective.vm_limit[state.cores.vm]
    if late.any():  # such as tasks of a VM that is gone, on one that takes its place
        cores[(cores >= 0) & late[cores]] = -1
        load = _loads(state, tasks, cores)
    vm_end = np.maximum.reduceat(load, state.cores.first_of_vm[:-1])
    lost = np.flatnonzero(cores < 0)
    if len(lost):
        lost = lost[np.argsort(-state.cores.durations[:, tasks[lost]].min(axis=0), kind="stable")]
        chosen = np.empty(len(lost), dtype=np.int64)
        place_where_cheapest(
            tasks[lost], state.cores.durations, state.cores.offer, state.cores.vm, load, vm_end, state.objective, chosen
        )
        cores[lost] = chosen
    state.vm_end = vm_end
    return state.value()


def _loads(state: CoreLoads, tasks: IntArray, cores: IntArray) -> IntArray:
    """Load of each core, of the tasks that have one."""
    load = state.core_start.copy()
    placed = cores >= 0
    np.add.at(load, cores[placed], state.cores.durations[state.cores.offer[cores[placed]], tasks[placed]])
    return load


def places_of(instance: Instance, start: Schedule) -> tuple[IntArray, IntArray]:
    """Row in the start of each open task, -1 without; and machine that each VM of the start is now.

    That is `GONE` for those that take no tasks, and `NEW` for those that do not exist: another may be rented.
    """
    tasks = instance.open_tasks
    mine, theirs = (bag.taken_from or (bag, np.arange(bag.n_tasks)) for bag in (instance, start.instance))
    # States of one bag share its entries: then tasks are the same by number, and no names need be compared.
    if mine[0].tasks is theirs[0].tasks:
        row_of = np.full(mine[0].n_tasks, -1)
        row_of[theirs[1]] = np.arange(len(theirs[1]))
        rows = row_of[mine[1][tasks]]
    else:
        index, names = start.instance.task_index, instance.task_ids
        rows = np.array([index.get(names[task], -1) for task in tasks.tolist()], dtype=np.int64)
    number = {machine.id: (k if machine.open else GONE) for k, machine in enumerate(instance.machines)}
    vms = [number.get(name, NEW) for name in start.vm_ids]
    return rows, np.array(vms, dtype=np.int64)


def cores_of(instance: Instance, start: Schedule, rows: IntArray) -> IntArray:
    """Core of tasks of a plan of an earlier state, in the slots that cores make now."""
    # A slot is what divides the cores of all tasks; of the tasks that are left, that may be more.
    return start.task_core[rows] * start.instance.slots.cores // instance.slots.cores


def offers_of(instance: Instance, start: Schedule) -> IntArray:
    """Offer of each VM of a plan of an earlier state, for those that are to be rented now: the first where none is."""
    now = {(offer.vm_type.name, offer.market): offer.index for offer in instance.offers if offer.listed_as is None}
    then = [now.get((offer.vm_type.name, offer.market), 0) for offer in start.instance.offers]
    return np.array(then, dtype=np.int64)[start.vm_offer]


def full_speed(instance: Instance) -> FloatArray:
    """Core seconds that a VM of each offer does by its initial credits, and earns in a second, shape (n_offers, 2).

    No limit, where tasks run at the baseline, or credits do not count: only where no more than their number at the end
    counts (`end_says_all`) they are a matter of loads, and full speed is no worse but for roundings.
    """
    result = np.tile([np.inf, 1.0], (len(instance.offers), 1))
    for offer in [] if instance.machines or instance.has_setups else usable_offers(instance):
        burstable = offer.vm_type.burstable
        if burstable is not None:
            from ...models.bags.cpu_credits import end_says_all  # here, since few bags have any

            horizon_s = instance.time_limit_s(offer.market) - int(instance.ready_s[offer.index])
            if end_says_all(offer, horizon_s):
                at_start = SECONDS_PER_CREDIT * min(burstable.initial_credits, burstable.credit_cap)
                result[offer.index] = at_start, burstable.credits_per_hour / SECONDS_PER_CREDIT
    return result


def _credits(of_vms: FloatArray) -> FloatArray:
    """Return nothing if no VM is limited by its credits."""
    return of_vms if (of_vms[:, 0] < np.inf).any() else np.zeros((0, 2))


def core_seconds(instance: Instance, indices: IntArray) -> IntArray:
    """Seconds of a core for a task of each group on some offers, at full speed or at the baseline."""
    at_full = full_speed(instance)[indices, 0] < np.inf
    return np.where(at_full, instance.duration_s[:, indices, FULL_SPEED], instance.sustained_s[:, indices])


def core_level_s(instance: Instance, indices: IntArray, level_s: FloatArray) -> FloatArray:
    """Seconds of work on each core of VMs of some offers that end by some moments, if their cores are equal."""
    offers = [instance.offers[index] for index in indices.tolist()]
    at_start, earned = full_speed(instance)[indices].T
    level: FloatArray = np.minimum(level_s, (at_start + earned * level_s) / [offer.vcpus for offer in offers])
    return level


def rentable_vms(instance: Instance, indices: IntArray) -> IntArray:
    """Rentable VMs of each column; none in the columns of machines, which come last."""
    limits = [min(instance.offers[index].limit, instance.n_tasks) for index in indices.tolist()]
    n_rented = len(usable_offers(instance))
    return np.array(limits[:n_rented] + [0] * (len(limits) - n_rented), dtype=np.int64)


def _machines(instance: Instance, indices: IntArray) -> tuple[IntArray, IntArray]:
    """Return the machines that take tasks in time and need not end before, and the column of each."""
    n_rented = len(usable_offers(instance))
    column_of = {index: n_rented + k for k, index in enumerate(indices[n_rented:].tolist())}
    limit_s = {index: instance.time_limit_s(instance.offers[index].market) for index in column_of}
    busy_s = instance.machine_ready_s.copy()  # what gets ready after D_spot takes no task, and is not late either
    np.maximum.at(busy_s, instance.running.machine, instance.running_end_s)
    columns, latest_s = np.full((2, len(instance.offers)), -1)
    for index, column in column_of.items():
        columns[index], latest_s[index] = column, limit_s[index]
    machines = np.flatnonzero(instance.machine_open & (busy_s <= latest_s[instance.machine_offer]))
    columns = columns[instance.machine_offer[machines]]
    by_column = np.argsort(columns, kind="stable")
    return machines[by_column], columns[by_column]


def _room_of_machines(instance: Instance, indices: IntArray, until_s: FloatArray) -> FloatArray:
    """Core seconds of the machines of each column until some moment of it."""
    room = np.zeros(len(indices))
    if instance.machines:
        machines, columns = _machines(instance, indices)
        free_s = np.maximum(until_s[columns][:, None] - instance.machine_core_free_s[machines], 0.0).sum(axis=1)
        np.add.at(room, columns, free_s)
    return room


def _limits_s(instance: Instance, offers: IntArray) -> IntArray:
    """Latest end on each offer, from where times count."""
    ends = [instance.time_limit_s(instance.offers[index].market) for index in offers.tolist()]
    return np.array(ends, dtype=np.int64) - time_zero_s(instance)


def latest_ends_s(instance: Instance, offers: IntArray) -> IntArray:
    """Latest end of each task on each offer, from where times count; nothing if that of the VMs says it all."""
    if not (instance.leaves_time or instance.has_dates):
        return np.zeros((0, 0), dtype=np.int64)
    return np.ascontiguousarray(instance.latest_end_s[:, offers][instance.task_group].T) - time_zero_s(instance)


def rescue_of(instance: Instance, indices: IntArray, groups: IntArray) -> Rescue:
    """Return the seconds on demand that tasks of some groups take on some offers; none where time is no matter."""
    from .annealing_kernel import Rescue

    time = instance.rescue_time
    if time is None:
        nothing, no_sets = np.zeros((0, 0), dtype=np.int64), np.zeros(0, dtype=np.int64)
        return Rescue(nothing, nothing, nothing, no_sets, no_sets)
    again_s, whole_s = (np.ascontiguousarray(of[:, indices][groups].T) for of in (time.again_s, time.whole_s))
    return Rescue(again_s, whole_s, np.ascontiguousarray(time.members[:, indices]), time.from_s, time.counted_s)


def empty_state(instance: Instance, indices: IntArray, opened: IntArray, spare_vms: int) -> CoreLoads:
    """VMs without tasks: those opened and some to spare, within the limits."""
    from .annealing_kernel import Cores, Objective

    offers = [instance.offers[index] for index in indices.tolist()]
    vcpus = np.array([offer.vcpus for offer in offers], dtype=np.int64)
    durations = np.ascontiguousarray(core_seconds(instance, indices)[instance.task_group].T)
    cost_weight, time_weight = objective_weights(instance)
    prices = instance.offer_price_usd_per_s[indices] * cost_weight
    retained = np.minimum(rentable_vms(instance, indices), opened + spare_vms)
    _spare_within_groups(instance, indices, opened, retained, durations)
    vm_column = np.repeat(np.arange(len(offers)), retained)
    vm_machine = np.full(len(vm_column), -1)
    zero_s = time_zero_s(instance)
    core_start = np.repeat(instance.ready_s[indices] - zero_s, vcpus * retained)
    if instance.machines:
        machines, columns = _machines(instance, indices)
        vm_column, vm_machine = np.concatenate([vm_column, columns]), np.concatenate([vm_machine, machines])
        free_s = instance.machine_core_free_s[machines]
        core_start = np.concatenate([core_start, free_s[free_s < NEVER]])
    core_vm = np.repeat(np.arange(len(vm_column)), vcpus[vm_column])
    rescue = rescue_of(instance, indices, instance.task_group)
    rents = vm_rents(instance, indices[vm_column], vm_machine)
    vm_price, vm_bill = bills_of(rents, cost_weight, zero_s)
    return CoreLoads(
        instance=instance,
        offers=indices,
        vm_column=vm_column,
        vm_machine=vm_machine,
        core_start=core_start,
        cores=Cores(
            durations=durations,
            offer=vm_column[core_vm],
            vm=core_vm,
            first_of_vm=np.concatenate([[0], np.cumsum(vcpus[vm_column])]).astype(np.int64),
            latest=latest_ends_s(instance, indices),
            rescue=rescue,
            credits=_credits(full_speed(instance)[indices[vm_column]]),
        ),
        objective=Objective(
            vm_price=vm_price,
            vm_free=rents.paid_until_s - zero_s,
            vm_limit=_limits_s(instance, indices)[vm_column],
            time_weight=time_weight,
            # A second too late costs more than what a second of all VMs together could save elsewhere.
            penalty=20 * (time_weight + float(prices.max(initial=0.0)) * len(vm_column)),
            # Only the unit: it grows while a run cools (`annealing._TASK_PENALTY`).
            task_penalty=float((prices / vcpus).max(initial=0.0)) + time_weight,
            vm_bill=vm_bill,
        ),
        core_tasks=np.zeros((0, 0), dtype=np.int64),
        core_count=np.zeros(len(core_vm), dtype=np.int64),
        load=core_start.copy(),
        late=np.zeros(len(core_vm), dtype=np.int64),
        taken=np.zeros(len(rescue.most_s), dtype=np.int64),
        vm_end=rents.ready_s - zero_s,
    )


def _spare_within_groups(
    instance: Instance, indices: IntArray, opened: IntArray, retained: IntArray, durations: IntArray
) -> None:
    """Take from the VMs of each offer that are retained spare ones, until each group keeps its limit.

    Those are kept first that save most time for their price. VMs that are opened keep the limits by themselves.
    """
    cost_weight, time_weight = objective_weights(instance)
    prices = instance.offer_price_usd_per_s[indices] * cost_weight
    vcpus = np.array([instance.offers[index].vcpus for index in indices.tolist()], dtype=np.int64)
    for group in instance.group_limits:
        weights = group.weights[indices]
        members = np.flatnonzero(weights)
        if (weights * retained)[members].sum() > group.most:
            work = vcpus[members] * durations.mean() / durations[members].mean(axis=1)
            saved = time_weight * work / max(int((retained * vcpus).sum()), 1) - prices[members]
            members = members[np.argsort(np.where(saved > 0, -saved, prices[members] / work), kind="stable")]
            spare = retained[members] - opened[members]
            left = group.most - int((weights * opened)[members].sum())
            for k, more in zip(members.tolist(), spare.tolist(), strict=True):
                retained[k] = opened[k] + min(more, max(left // weights[k], 0))
                left -= weights[k] * (retained[k] - opened[k])


def charged(
    objective: Objective, instance: Instance, vm_offer: IntArray, vm_machine: IntArray, rate: float
) -> Objective:
    """Return an objective with the cost above the budget of the instance, if there is one, at so much for a dollar."""
    budget_usd = instance.objective.budget_usd
    if budget_usd is None:
        return objective
    price, bill = bills_of(vm_rents(instance, vm_offer, vm_machine), rate, time_zero_s(instance))
    # `rent` counts what is paid already at its price, so that the budget is raised by as much.
    budget = at_most(budget_usd) * rate + float(price @ objective.vm_free)
    return objective._replace(vm_price=price, vm_bill=bill, budget=budget)


def bills_of(rents: VmRents, rate: float, zero_s: int) -> tuple[FloatArray, FloatArray]:
    """Return prices and bills of VMs as `Objective` has them, at a price for each dollar; times count from a second."""
    bill = np.column_stack([rents.opening_usd * rate, rents.ready_s - zero_s, rents.block_s])
    # Most bags have no openings and no blocks: loops look at none of that if the table is empty.
    return rents.usd_per_s * rate, bill if rents.opening_usd.any() or (rents.block_s > 1).any() else bill[:0]


def fill(state: CoreLoads, tasks: IntArray, cores: IntArray) -> bool:
    """Put tasks on cores, in this order, with room for more; returns whether the memory of a state suffices for that.

    Each core has as many places: a core with a million short tasks beside thousands with a long one takes too many.
    What the cores have is dealt out to the VMs anew.
    """
    by_core = np.argsort(cores, kind="stable")
    core, tasks = cores[by_core], tasks[by_core]
    n_cores = len(state.cores.vm)
    state.core_count = np.bincount(core, minlength=n_cores)
    first = np.cumsum(state.core_count) - state.core_count
    most = int(state.core_count.max())
    # Moves need free places, and a core without one refuses tasks: twice as many as the fullest core has.
    room = max(most, min(state.cores.durations.shape[1], max(2 * most, 64), MOST_PLACES // n_cores))
    if n_cores * room > MOST_PLACES:
        return False
    state.core_tasks = np.zeros((n_cores, room), dtype=np.int64)
    state.core_tasks[core, np.arange(len(core)) - first[core]] = tasks
    state.load[:] = state.core_start
    np.add.at(state.load, core, state.cores.durations[state.cores.offer[core], tasks])
    state.set_ends()
    state.regroup()
    return True


def _columns(prices: FloatArray, table: IntArray, groups: IntArray, room: FloatArray) -> IntArray:
    """Offer of each task: least price, most regret first, while there is room."""
    from .start_kernel import cheapest_with_room

    by_price = np.argsort(prices, axis=1, kind="stable")
    cheapest = np.take_along_axis(prices, by_price[:, :2], axis=1)
    # What has one offer alone would lose all: it chooses first.
    regret = np.zeros(len(prices))
    if prices.shape[1] > 1:
        with np.errstate(invalid="ignore"):
            regret = np.where(np.isfinite(cheapest[:, 1]), cheapest[:, 1] - cheapest[:, 0], np.inf)
    order = np.argsort(-regret[groups], kind="stable")
    seconds = np.where(np.isfinite(prices) & (table < NEVER), table, -1)
    result = np.empty(len(groups), dtype=np.int64)
    by_size(cheapest_with_room, order, groups, by_price, seconds, room, room.copy(), result)
    return result


def by_size(loop: Callable[..., None], *arrays: IntArray | FloatArray) -> None:
    """Run a compiled loop whose last array is its result; for a small bag as plain Python on lists."""
    checkpoint()
    result = arrays[-1]
    if len(result) >= MANY_TASKS:
        loop(*arrays)
    else:
        # Plain Python takes the entries of lists several times faster than those of arrays.
        plain = [array.tolist() for array in arrays]
        getattr(loop, "py_func", loop)(*plain)
        result[:] = plain[-1]


def _keep_group_limits(instance: Instance, bound: DivisibleBound, opened: IntArray) -> None:
    """Close VMs of the offers with most of them until each group keeps its limit."""
    for group in instance.group_limits:
        weights = group.weights[bound.offers]
        # VMs of the divisible optimum keep the limit, and are rounded up.
        while weights @ opened > group.most:
            opened[np.where(weights > 0, opened, -1).argmax()] -= 1


def _longest_first(state: CoreLoads, column: IntArray, opened: IntArray) -> bool:
    """Put the tasks of each column on the cores of its first VMs, or of its machines, longest first.

    Each goes to the core that is free first, and the cores of many tasks are levelled. Returns whether all tasks found
    one, and the memory of a state suffices.
    """
    from .start_kernel import least_loaded_core, level_cores

    open_tasks = state.instance.open_tasks
    cores = np.full(state.instance.n_tasks, -1, dtype=np.int64)
    sequence: list[IntArray] = []
    orphans: list[IntArray] = []
    for k in range(len(state.offers)):
        mine = open_tasks[column == k]
        vms = np.flatnonzero(state.vm_column == k)
        if len(vms) and state.vm_machine[vms[0]] < 0:
            vms = vms[: opened[k]]
        if not len(vms):
            orphans.append(mine)
            continue
        seconds = state.cores.durations[k, mine]
        longest_first = np.argsort(-seconds, kind="stable")
        first = int(state.cores.first_of_vm[vms[0]])
        usable = np.arange(first, state.cores.first_of_vm[vms[-1] + 1])
        usable = usable[np.argsort(state.core_start[usable], kind="stable")]
        chosen = np.zeros(len(mine), dtype=np.int64)
        by_size(least_loaded_core, seconds[longest_first], usable, state.core_start[usable], chosen)
        if state.instance.n_tasks >= MANY_TASKS:  # of fewer, the annealing has time enough to do it
            chosen -= first
            load = state.core_start[first : first + len(usable)].copy()
            np.add.at(load, chosen, seconds[longest_first])
            level_cores(seconds[longest_first], load, chosen)
            chosen += first
        sequence.append(mine[longest_first])
        cores[sequence[-1]] = chosen
        np.add.at(state.load, chosen, seconds[longest_first])  # the orphans look at it
    for task in np.concatenate([*orphans, np.zeros(0, dtype=np.int64)]).tolist():  # their offer lost its VMs to a limit
        checkpoint()
        ends = state.load + state.cores.durations[state.cores.offer, task]
        core = int(ends.argmin()) if len(ends) else -1
        if core < 0 or ends[core] >= NEVER:
            return False
        cores[task] = core
        state.load[core] = ends[core]
    tasks = np.concatenate([*sequence, *orphans])
    return fill(state, tasks, cores[tasks])
