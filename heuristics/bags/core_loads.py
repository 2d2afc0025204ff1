"""Core loads: plans for VMs whose memory never binds, as an assignment of tasks to cores.

The start of our search: which offer each task goes to follows from the prices of the divisible bound, which core from
longest-task-first. `annealing_kernel` does the rest.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from ...core.limits import checkpoint
from ...core.quantities import FloatArray, IntArray
from ...instances.durations import NEVER
from ...instances.instance import Instance
from ...models.bags.divisible_bound import DivisibleBound
from ...schedules.evaluation import objective_weights
from ...schedules.schedule import Schedule

_TASKS_A_CHECK = 1024


@dataclass(slots=True)
class CoreLoads:
    """VMs, their cores, and the tasks on each core. Times count from the moment the VMs are ready.

    Attributes
    ----------
    durations : array of int, shape (n_columns, n_tasks)
        Seconds of each task on each column, a column being an offer that is used.
    offers : array of int, shape (n_columns,)
        Offer of each column.
    core_column, core_vm, vm_first, vm_column : arrays of int
        Column and VM of each core; first core and column of each VM.
    vm_price, vm_limit : arrays
        Price of a second in units of the objective, and latest end.
    core_tasks, core_count, load, vm_end : arrays
        Tasks of each core (padded) and their number, seconds on each core, end of each VM.
    """

    instance: Instance
    durations: IntArray
    offers: IntArray
    core_column: IntArray
    core_vm: IntArray
    vm_first: IntArray
    vm_column: IntArray
    vm_price: FloatArray
    vm_limit: IntArray
    core_tasks: IntArray
    core_count: IntArray
    load: IntArray
    vm_end: IntArray
    time_weight: float
    penalty: float

    def value(self) -> float:
        """Objective, and the penalty for whatever ends too late."""
        end = self.vm_end
        late = np.maximum(0, end - self.vm_limit).sum()
        ready = self.time_weight * self.instance.boot_overhead_s
        return float((self.vm_price * end).sum() + self.time_weight * end.max() + self.penalty * late) + ready

    def feasible(self) -> bool:
        """Whether all VMs end in time."""
        return bool((self.vm_end <= self.vm_limit).all())

    def regroup(self) -> None:
        """Sort the cores of each column by load and deal them out to its VMs: the best grouping for these loads."""
        order = np.arange(len(self.load))
        for column in range(len(self.offers)):
            cores = np.flatnonzero(self.core_column == column)
            order[cores] = cores[np.argsort(-self.load[cores], kind="stable")]
        self.core_tasks = np.ascontiguousarray(self.core_tasks[order])
        self.core_count = self.core_count[order]
        self.load = self.load[order]
        self.vm_end = np.maximum.reduceat(self.load, self.vm_first[:-1])

    def restore(self, core_tasks: IntArray, core_count: IntArray) -> None:
        """Take another state of the same VMs."""
        self.core_tasks = core_tasks.copy()
        self.core_count = core_count.copy()
        for core in range(len(core_count)):
            mine = core_tasks[core, : core_count[core]]
            self.load[core] = self.durations[self.core_column[core], mine].sum()
        self.vm_end = np.maximum.reduceat(self.load, self.vm_first[:-1])

    def schedule(self) -> Schedule:
        """Return the plan: on each core longest task first, VMs without tasks left out."""
        used = np.flatnonzero(self.vm_end > 0)
        number = np.full(len(self.vm_end), -1)
        number[used] = np.arange(len(used))
        n_tasks = self.instance.n_tasks
        task_vm, task_core, start = (np.zeros(n_tasks, dtype=np.int64) for _ in range(3))
        for core in np.flatnonzero(self.core_count > 0).tolist():
            tasks = np.sort(self.core_tasks[core, : self.core_count[core]])
            seconds = self.durations[self.core_column[core], tasks]
            order = np.argsort(-seconds, kind="stable")
            ends = np.cumsum(seconds[order])
            tasks = tasks[order]
            vm = self.core_vm[core]
            task_vm[tasks] = number[vm]
            task_core[tasks] = core - self.vm_first[vm]
            start[tasks] = self.instance.boot_overhead_s + ends - seconds[order]
        vm_offer = self.offers[self.vm_column[used]]
        baseline = self.instance.offer_is_burstable[vm_offer][task_vm]
        return Schedule(self.instance, vm_offer, task_vm, task_core, start, baseline)


def priced_start(instance: Instance, bound: DivisibleBound, spare_vms: int) -> CoreLoads | None:
    """Make a first state by the prices of the bound.

    Tasks that have most to lose go first, to their cheapest offer that still has room until the end of the divisible
    optimum. Burstable VMs run their tasks in baseline mode.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    bound : DivisibleBound
        Of the instance.
    spare_vms : int
        Empty VMs of each offer that the search may open.

    Returns
    -------
    CoreLoads or None
        None if a task can run nowhere in this way, e.g. at the baseline of a burstable VM.
    """
    offers = [instance.offers[index] for index in bound.offers.tolist()]
    table = instance.sustained_s[:, bound.offers]
    if (table.min(axis=1) >= NEVER).any():
        return None
    limits = _limits_s(instance, bound.offers)
    vms = np.array([min(offer.limit, instance.n_tasks) for offer in offers])
    vcpus = np.array([offer.vcpus for offer in offers])
    level = np.maximum(np.minimum(bound.end_s, limits), 1.0)
    column = _columns(bound.task_price(instance), table, instance.task_group, vms * vcpus * level)
    seconds = table[instance.task_group, column]
    work = np.bincount(column, weights=seconds, minlength=len(offers))
    opened = np.minimum(vms, np.ceil(work / (vcpus * level) - 1e-9).astype(np.int64))
    _keep_market_limits(instance, bound, opened)
    state = _empty_state(instance, bound.offers, opened, spare_vms)
    return state if _longest_first(state, column, opened) else None


def start_from_schedule(instance: Instance, schedule: Schedule, offers: IntArray, spare_vms: int) -> CoreLoads:
    """Make the state of a plan, with ``spare_vms`` empty VMs of each offer beside it.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    schedule : Schedule
        A plan that runs tasks on burstable VMs in baseline mode only.
    offers : array of int
        Offers that may be used.
    spare_vms : int
        Empty VMs of each offer that the search may open.
    """
    column_of = {int(index): column for column, index in enumerate(offers)}
    vm_column = np.array([column_of[int(index)] for index in schedule.vm_offer], dtype=np.int64)
    opened = np.bincount(vm_column, minlength=len(offers))
    state = _empty_state(instance, offers, opened, spare_vms)
    # VMs of a column are interchangeable: the plan's take the first of the state's.
    first_of_column = [int(np.searchsorted(state.vm_column, column)) for column in range(len(offers))]
    number = np.zeros(len(vm_column), dtype=np.int64)
    for vm, column in enumerate(vm_column.tolist()):
        number[vm] = first_of_column[column]
        first_of_column[column] += 1
    cores = state.vm_first[number[schedule.task_vm]] + schedule.task_core
    tasks: list[list[int]] = [[] for _ in range(len(state.core_vm))]
    for task, core in enumerate(cores.tolist()):
        tasks[core].append(task)
    _fill(state, tasks)
    return state


def _limits_s(instance: Instance, offers: IntArray) -> IntArray:
    """Latest end on each offer, from ready."""
    ends = [instance.time_limit_s(instance.offers[index].market) for index in offers.tolist()]
    return np.array(ends, dtype=np.int64) - instance.boot_overhead_s


def _empty_state(instance: Instance, indices: IntArray, opened: IntArray, spare_vms: int) -> CoreLoads:
    """VMs without tasks: those opened and some to spare, within the limits."""
    offers = [instance.offers[index] for index in indices.tolist()]
    vms = np.array([min(offer.limit, instance.n_tasks) for offer in offers])
    vcpus = np.array([offer.vcpus for offer in offers], dtype=np.int64)
    retained = np.minimum(vms, opened + spare_vms)
    for market in instance.markets:
        cap = instance.limits.of(market)
        members = np.array([offer.market == market for offer in offers])
        if cap is not None and retained[members].sum() > cap:
            retained[members] = opened[members]  # a spare VM could exceed the limit of the market
    vm_column = np.repeat(np.arange(len(offers)), retained)
    core_vm = np.repeat(np.arange(len(vm_column)), vcpus[vm_column])
    cost_weight, time_weight = objective_weights(instance)
    prices = instance.offer_price_usd_per_s[indices] * cost_weight
    return CoreLoads(
        instance=instance,
        durations=np.ascontiguousarray(instance.sustained_s[:, indices][instance.task_group].T),
        offers=indices,
        core_column=vm_column[core_vm],
        core_vm=core_vm,
        vm_first=np.concatenate([[0], np.cumsum(vcpus[vm_column])]).astype(np.int64),
        vm_column=vm_column,
        vm_price=prices[vm_column],
        vm_limit=_limits_s(instance, indices)[vm_column],
        core_tasks=np.zeros((0, 0), dtype=np.int64),
        core_count=np.zeros(len(core_vm), dtype=np.int64),
        load=np.zeros(len(core_vm), dtype=np.int64),
        vm_end=np.zeros(len(vm_column), dtype=np.int64),
        time_weight=time_weight,
        penalty=20 * (time_weight + float(prices.max()) * len(vm_column)),
    )


def _fill(state: CoreLoads, tasks: list[list[int]]) -> None:
    """Put lists of tasks on the cores, with room for more."""
    n_tasks = state.durations.shape[1]
    room = min(n_tasks, max(2 * max(len(mine) for mine in tasks), 64))
    state.core_tasks = np.zeros((len(tasks), room), dtype=np.int64)
    for core, mine in enumerate(tasks):
        state.core_tasks[core, : len(mine)] = mine
        state.core_count[core] = len(mine)
        state.load[core] = state.durations[state.core_column[core], mine].sum()
    state.regroup()


def _columns(prices: FloatArray, table: IntArray, groups: IntArray, room: FloatArray) -> IntArray:
    """Offer of each task: least price, most regret first, while there is room."""
    by_price = np.argsort(prices, axis=1, kind="stable")
    cheapest = np.take_along_axis(prices, by_price[:, :2], axis=1)
    regret = np.zeros(len(prices))
    if prices.shape[1] > 1:
        with np.errstate(invalid="ignore"):
            regret = np.where(np.isfinite(cheapest[:, 1]), cheapest[:, 1] - cheapest[:, 0], np.inf)
    able = [row[np.isfinite(price[row])].tolist() for row, price in zip(by_price, prices, strict=True)]
    seconds = table.tolist()
    left = room.tolist()
    result = np.empty(len(groups), dtype=np.int64)
    group_list = groups.tolist()
    for number, task in enumerate(np.argsort(-regret[groups], kind="stable").tolist()):
        if number % _TASKS_A_CHECK == 0:
            checkpoint()
        group = group_list[task]
        choices = [k for k in able[group] if seconds[group][k] < NEVER]
        for k in choices:
            if seconds[group][k] <= left[k]:
                break
        else:
            k = max(choices, key=lambda k: (left[k] - seconds[group][k]) / max(room[k], 1.0))
        left[k] -= seconds[group][k]
        result[task] = k
    return result


def _keep_market_limits(instance: Instance, bound: DivisibleBound, opened: IntArray) -> None:
    """Close VMs of the offers with most of them until each market keeps its limit."""
    for market in instance.markets:
        cap = instance.limits.of(market)
        members = [k for k, index in enumerate(bound.offers) if instance.offers[index].market == market]
        while cap is not None and members and opened[members].sum() > cap:
            opened[max(members, key=lambda k: opened[k])] -= 1


def _longest_first(state: CoreLoads, column: IntArray, opened: IntArray) -> bool:
    """Put the tasks of each column on the cores of its first VMs, longest first, on the least loaded core.

    Returns whether all tasks found one.
    """
    tasks: list[list[int]] = [[] for _ in range(len(state.core_vm))]
    orphans: list[int] = []
    for k in range(len(state.offers)):
        mine = np.flatnonzero(column == k)
        vms = np.flatnonzero(state.vm_column == k)[: opened[k]]
        cores = [core for vm in vms for core in range(state.vm_first[vm], state.vm_first[vm + 1])]
        if not cores:
            orphans += mine.tolist()
            continue
        seconds = state.durations[k]
        heap = [(0, core) for core in cores]
        for number, task in enumerate(mine[np.argsort(-seconds[mine], kind="stable")].tolist()):
            if number % _TASKS_A_CHECK == 0:
                checkpoint()
            load, core = heap[0]
            heapq.heapreplace(heap, (load + int(seconds[task]), core))
            tasks[core].append(task)
        for load, core in heap:
            state.load[core] = load  # the orphans look at it
    for task in orphans:  # their offer lost its VMs to a limit
        ends = state.load + state.durations[state.core_column, task]
        core = int(ends.argmin()) if len(ends) else -1
        if core < 0 or ends[core] >= NEVER:
            return False
        tasks[core].append(task)
        state.load[core] = ends[core]
    _fill(state, tasks)
    return True
