"""The primary scheduling of Burst-HADS, Algorithms 1 to 3.

Part 1 is an iterated local search over spot VMs, part 2 the allocation of burstable ones.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from ...core.errors import ModelRefusal
from ...core.limits import LimitReached, checkpoint, clock_s, seconds_left, within
from ...core.quantities import IntArray
from ...instances.entries import FULL_SPEED, Market, RentalOffer, VmsLeft
from ...instances.instance import Instance
from ...schedules.method import Outcome, Run, TracePoint
from ...schedules.queues import Queue, ends_in_time, queue_times, schedule_of_queues
from ...schedules.schedule import Schedule
from .annealing import STEP_MOVES
from .core_loads import MOST_PLACES
from .greedy import greedy

_TIMES_OF_TRIAL = 3.0
_TASKS_LAID_OUT_AT_ONCE = 2_000_000


VmDestination: TypeAlias = Literal["attempt", "search"]


@dataclass(frozen=True, slots=True)
class IlsOptions:
    """Parameters of the iterated local search, with the paper's values (section IV).

    Attributes
    ----------
    max_iteration : int
        Iterations of the outer loop.
    max_attempt : int
        Attempts of a local search.
    swap_rate : float
        Moves of an attempt, as a fraction of the tasks.
    max_failed : int
        Iterations without a better plan after which D_spot is relaxed.
    relax_rate : float
        By which D_spot grows then, in each iteration.
    burst_rate : float
        Burstable VMs for each VM used.
    scales : {"instance", "paper"}
        Scales of cost and makespan in the fitness: the instance's, or the cost of the initial plan and D_spot.
    vm_dest : {"attempt", "search"}
        How often the VM is drawn that tasks move to: for each attempt of a local search, or once for all of them, as
        line 5 of Algorithm 3 has it.
    """

    max_iteration: int = 200
    max_attempt: int = 50
    swap_rate: float = 0.10
    max_failed: int = 20
    relax_rate: float = 0.25
    burst_rate: float = 0.2
    scales: Literal["instance", "paper"] = "instance"
    vm_dest: VmDestination = "attempt"


def iterated_local_search(instance: Instance, options: IlsOptions, run: Run) -> Outcome:
    """Plan by the primary task scheduling of Burst-HADS (Algorithm 1).

    Part 1 is an iterated local search over spot VMs (lines 2-24), part 2 adds burstable VMs (lines 25-27).

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    options : IlsOptions
        Parameters.
    run : Run
        Seed, time limit, progress.

    Returns
    -------
    Outcome
        The plan, and how the search converged.

    Raises
    ------
    ModelRefusal
        If it would take too much memory.

    Notes
    -----
    Departures, each where it happens: the relaxed D_spot is used in the local search and in the acceptance (as printed,
    lines 18-19 use D_spot, and relaxing has no effect), at most up to the deadline; the best plan under the true D_spot
    is kept beside the best relaxed one, part 2 is applied to both, and the better plan is returned (the initial one if
    part 2 finds no place in either). An attempt makes at least one move. Tasks keep the order of their ids on a VM.
    If the bag does not fit on spot VMs alone, the initial plan takes on-demand VMs where that market is allowed. Where
    there are no spot VMs, the search is over regular on-demand VMs (the paper's "ILS On-demand", section IV).
    """
    initial, warnings, explanation = _initial_solution(instance)
    if initial is None:
        return Outcome(None, explanation, warnings)
    run.incumbent.take(initial)
    checkpoint()
    search = LocalSearch(instance, initial, options, run)
    limit_s = _search_s(search)
    with suppress(LimitReached), within(limit_s):  # then the best plan so far
        _iterate(search, options, run)
    try:
        schedules = _with_burstable(search)
    except LimitReached:
        schedules = _without_burstable(search)
    if not schedules:  # in the order of their ids, the tasks of a tight initial plan may end too late
        schedules = [initial]
    best = min(schedules, key=lambda schedule: schedule.objective)  # line 28
    return Outcome(best, warnings=warnings)


def _iterate(search: LocalSearch, options: IlsOptions, run: Run) -> None:
    """Run lines 4 to 24 of the algorithm."""
    search.local_search()  # line 4
    last_best = i = 0  # lines 7-8; line 5 is S_best = S, line 6 RD_spot = D_spot
    while i < options.max_iteration:  # line 9
        search.select_random_vm()  # lines 11-13
        if i - last_best > options.max_failed:  # lines 14-15
            search.relax_d_spot()  # line 16
        search.local_search()  # line 18
        if search.accept():  # lines 19-20
            last_best = i  # line 21
        i += 1  # line 23
        point = TracePoint(i, search.current, search.true_best, search.relaxed_d_spot_s)
        run.report(point, options.max_iteration)


def _with_burstable(search: LocalSearch) -> list[Schedule]:
    """Lines 25-27 for the best plans so far: those that are in time with some tasks on burstable VMs."""
    instance = search.instance
    plans = [burst_allocation(instance, queues, search.options.burst_rate) for queues in search.best_plans()]
    return [schedule_of_queues(instance, queues) for queues in plans if queues is not None]


def _without_burstable(search: LocalSearch) -> list[Schedule]:
    """The best plan under the true D_spot as it stands, if it is in time: for when there is no time for more."""
    queues = search.best_plans()[0]
    in_time = all(ends_in_time(search.instance, queue) for queue in queues)
    return [schedule_of_queues(search.instance, queues)] if in_time else []


def _search_s(search: LocalSearch) -> float | None:
    """Seconds for the search: what is left, less what the burstable VMs take afterwards, which is tried out."""
    left = seconds_left()
    if left is None:
        return None
    before = clock_s()
    for schedule in _with_burstable(search):
        search.run.incumbent.take(schedule)
    return left - _TIMES_OF_TRIAL * (clock_s() - before)


def _initial_solution(instance: Instance) -> tuple[Schedule | None, tuple[str, ...], str]:
    """Algorithm 2: the first two phases of the HADS greedy, on spot VMs; with the third if that is not enough."""
    spot = any(offer.market == "spot" and offer.limit for offer in instance.offers)
    if spot:
        outcome = greedy(instance.replace(markets=["spot"]))
        if outcome.schedule is not None:
            return replace(outcome.schedule, instance=instance), (), ""
        if "on-demand" not in instance.markets:
            return None, (), f"the bag does not fit on spot VMs alone: {outcome.explanation}"
    outcome = greedy(instance)
    text = "the bag does not fit on spot VMs alone; on-demand VMs are used as well"
    return outcome.schedule, (text,) if spot else (), outcome.explanation


class LocalSearch:
    """The plan S, the VMs selected and those left, and the best plans."""

    def __init__(self, instance: Instance, initial: Schedule, options: IlsOptions, run: Run) -> None:
        from .local_search_kernel import Vms

        self.instance, self.options, self.run = instance, options, run
        self.ready = instance.boot_overhead_s
        n_tasks = instance.n_tasks
        # The VMs of the plan, then all others of the market that is searched (M^s).
        vm_offer = initial.vm_offer.tolist()
        spot = any(offer.market == "spot" and offer.limit for offer in instance.offers)
        self.market: Market = "spot" if spot else "on-demand"
        for offer in instance.offers:
            if offer.market == self.market and not offer.burstable:
                # Each iteration selects one VM more at most: others would never have tasks.
                most = min(offer.limit, n_tasks, vm_offer.count(offer.index) + options.max_iteration)
                vm_offer += [offer.index] * (most - vm_offer.count(offer.index))
        self.offers = [instance.offers[index] for index in vm_offer]
        self.left = list(range(len(initial.vm_offer), len(vm_offer)))
        self.selected = np.arange(len(vm_offer), dtype=np.int64)
        self.n_selected = len(initial.vm_offer)
        binds = ~instance.memory_never_binds
        sizes = [offer.memory_kb if binds[offer.type_index] else -1 for offer in self.offers]
        self.vms = Vms(
            np.ascontiguousarray(instance.duration_s[:, :, FULL_SPEED][instance.task_group].T),
            instance.memory_kb[instance.task_group],
            np.array(vm_offer, dtype=np.int64),
            np.array([offer.vcpus for offer in self.offers], dtype=np.int64),
            np.array(sizes, dtype=np.int64),
        )
        self.relaxed_d_spot_s = instance.d_spot_s
        weight = instance.cost_weight
        cost_scale, time_scale = instance.cost_scale_usd, instance.makespan_scale_s
        if options.scales == "paper":
            cost_scale, time_scale = initial.cost_usd, float(instance.d_spot_s or instance.deadline_s)
        prices = np.array([offer.price_usd_per_s for offer in self.offers])
        self.vm_price = prices * (weight / cost_scale)
        self.time_weight = (1 - weight) / time_scale
        self.random = np.random.default_rng(run.seed)
        self.random_state = np.array([run.seed % 2147483646 + 1], dtype=np.int64)
        self.task_vm = initial.task_vm.copy()
        self.current = self.best = self.true_best = math.inf
        self.best_task_vm, self.true_task_vm = self.task_vm.copy(), self.task_vm.copy()
        if len(vm_offer) * n_tasks > MOST_PLACES:
            raise ModelRefusal(
                f"the iterated local search holds a place for each task on each VM: {n_tasks:,} tasks on "
                f"{len(vm_offer):,} VMs are {len(vm_offer) * n_tasks:,} places, more than {MOST_PLACES:,}; "
                f"'search' takes any number"
            )
        self.vm_tasks = np.zeros((len(vm_offer), n_tasks), dtype=np.int64)
        self.vm_count = np.zeros(len(vm_offer), dtype=np.int64)
        self.vm_end = np.zeros(len(vm_offer), dtype=np.int64)
        self._lay_out()
        if self._in_time(instance.d_spot_s):
            self.current = self.best = self.true_best = self._fitness()

    def _limits(self, d_spot_s: int | None) -> IntArray:
        """Latest end of each VM from ready, for a D_spot."""
        deadline = self.instance.deadline_s
        spot = deadline if d_spot_s is None else min(d_spot_s, deadline)
        ends = [spot if offer.market == "spot" else deadline for offer in self.offers]
        return np.array(ends, dtype=np.int64) - self.ready

    def _lay_out(self) -> None:
        """Set the tasks and the end of each VM, from the VM of each task, in the order of their numbers."""
        from .local_search_kernel import set_ends

        # Tasks in the order of their ids, VM by VM; memory that is touched for the first time takes long.
        by_vm = np.argsort(self.task_vm, kind="stable")
        self.vm_count[:] = np.bincount(self.task_vm, minlength=len(self.vm_count))
        first = np.concatenate([[0], np.cumsum(self.vm_count)])
        vms, at_once = self.vms, max(_TASKS_LAID_OUT_AT_ONCE // self.instance.n_tasks, 1)
        for first_vm in range(0, len(self.vm_end), at_once):
            checkpoint()
            part = slice(first_vm, first_vm + at_once)
            tasks = by_vm[first[first_vm] : first[min(first_vm + at_once, len(self.vm_end))]]
            vm_of_task = self.task_vm[tasks]
            places = np.arange(len(tasks)) + first[first_vm] - first[vm_of_task]
            self.vm_tasks[vm_of_task, places] = tasks
            some = vms._replace(offer=vms.offer[part], vcpus=vms.vcpus[part], size_kb=vms.size_kb[part])
            set_ends(some, self.vm_tasks[part], self.vm_count[part], self.vm_end[part])

    def _in_time(self, d_spot_s: int | None) -> bool:
        return bool((self.vm_end <= self._limits(d_spot_s)).all())

    def _fitness(self) -> float:
        """Equation 8 for a plan in time."""
        return float((self.vm_price * self.vm_end).sum() + self.time_weight * self.vm_end.max())

    def local_search(self) -> None:
        """Algorithm 3 from S; S becomes the best plan met (lines 4 and 18)."""
        from .local_search_kernel import Attempts, BestPlans, Fitness, PlanState, local_search

        best_task_vm = self.task_vm.copy()
        begin = self._fitness() if self._in_time(self.relaxed_d_spot_s) else math.inf
        # 1e-9, as 0.29 times 100 is less than 29 in floating point.
        moves = max(int(self.options.swap_rate * self.instance.n_tasks + 1e-9), 1)
        limits, relaxed_limits = self._limits(self.instance.d_spot_s), self._limits(self.relaxed_d_spot_s)
        fitness = Fitness(self.vm_price, limits, relaxed_limits, self.time_weight)
        plan = PlanState(self.task_vm, self.vm_tasks, self.vm_count, self.vm_end, self.random_state)
        best_plans = BestPlans(best_task_vm, self.true_task_vm)
        self.current, left = begin, self.options.max_attempt
        slice_of_attempts = max(STEP_MOVES // moves, 1)
        selected = self.selected[: self.n_selected]
        target = int(self.random.choice(selected)) if self.options.vm_dest == "search" else -1
        while left > 0:
            checkpoint()
            walk = Attempts(selected, min(slice_of_attempts, left), moves, target)
            self.current, self.true_best = local_search(
                self.vms, fitness, plan, walk, best_plans, self.current, self.true_best
            )
            left -= slice_of_attempts
        self.task_vm[:] = best_task_vm
        self._lay_out()

    def select_random_vm(self) -> None:
        """First perturbation: one more VM, as long as there are any (lines 11-13)."""
        to_rent = VmsLeft(self.instance)
        for vm in self.selected[: self.n_selected].tolist():
            to_rent.take(self.offers[vm].index)
        places = [place for place, vm in enumerate(self.left) if to_rent.of(self.offers[vm].index) > 0]
        if not places:
            return
        vm = self.left.pop(places[int(self.random.integers(len(places)))])
        self.selected[self.n_selected] = vm
        self.n_selected += 1

    def relax_d_spot(self) -> None:
        """Second perturbation: relax D_spot, at most up to the deadline (line 16)."""
        if self.relaxed_d_spot_s is not None:
            relaxed = self.relaxed_d_spot_s + int(self.options.relax_rate * self.relaxed_d_spot_s)
            self.relaxed_d_spot_s = min(relaxed, self.instance.deadline_s)

    def accept(self) -> bool:
        """Keep S if it is the best under the relaxed D_spot (lines 19-22)."""
        if self.current < self.best - 1e-12:
            self.best = self.current
            self.best_task_vm[:] = self.task_vm
            return True
        return False

    def best_plans(self) -> list[list[Queue]]:
        """Return the queues of the best plan under the true D_spot and under the relaxed one."""
        return [self._queues(self.true_task_vm), self._queues(self.best_task_vm)]

    def _queues(self, task_vm: IntArray) -> list[Queue]:
        queues = [Queue(offer, []) for offer in self.offers]
        for task, vm in enumerate(task_vm.tolist()):
            queues[vm].tasks.append(task)
        return [queue for queue in queues if queue.tasks]


def burst_allocation(instance: Instance, queues: list[Queue], burst_rate: float) -> list[Queue] | None:
    """Add burstable VMs to a plan, and mend with them what a relaxed D_spot has left too late.

    ``ceil(burst_rate * VMs with tasks)`` burstable VMs (line 26, decision on ``|selected_vms|``) of the cheapest
    burstable type are added, as far as the limits allow. Tasks that end after D_spot go to them, one each, in baseline
    mode; further ones to the cheapest regular on-demand VMs. A burstable VM that is still idle takes the task that
    ends last. (Section III-C, the paragraph after Algorithm 3; the paper gives no pseudocode.)

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    queues : list of Queue
        The plan; it is not changed.
    burst_rate : float
        Burstable VMs for each VM used.

    Returns
    -------
    list of Queue or None
        The plan with them; None if a task that is too late finds no place.

    Notes
    -----
    The paper does not say what happens to the order on a VM that loses a task; the tasks left keep theirs. An idle
    burstable VM stays out if the task that ends last would miss the deadline on it.
    """
    plan = _Plan(instance, [Queue(queue.offer, list(queue.tasks)) for queue in queues if queue.tasks])
    burstable = plan.rent_burstable(math.ceil(burst_rate * len(plan.queues) - 1e-9))
    idle = list(burstable)
    for task in plan.take_late_tasks():
        checkpoint()
        taker = next((vm for vm in idle if plan.fits(vm, task)), None)
        if taker is not None:
            taker.tasks.append(task)
            idle.remove(taker)
        elif not plan.put_on_demand(task):
            return None
    for vm in idle:
        checkpoint()
        last = plan.last_task()
        if last is None or not plan.fits(vm, last[1]):
            break
        queue, task = last
        queue.tasks.remove(task)
        vm.tasks.append(task)
    # Without a task that left, memory may let others start in another order: what is late then has no place.
    for queue in plan.queues:
        checkpoint()
        if not ends_in_time(instance, queue):
            return None
    return [*plan.queues, *burstable]


class _Plan:
    """Queues, and the VMs that may be added."""

    def __init__(self, instance: Instance, queues: list[Queue]) -> None:
        self.instance = instance
        self.queues = queues
        self.burstable: list[Queue] = []
        self.left = VmsLeft(instance)
        for queue in queues:
            self.left.take(queue.offer.index)

    def rent_burstable(self, wanted: int) -> list[Queue]:
        """Rent burstable VMs of the cheapest type, as many as wanted and allowed."""
        offers = [
            offer for offer in self.instance.offers if offer.burstable and offer.limit and offer.market == "on-demand"
        ]
        if offers:
            offer = min(offers, key=lambda entry: entry.price_usd_per_hour)
            while len(self.burstable) < wanted and self.left.of(offer.index) > 0:
                self.burstable.append(self._rent(offer))
        return self.burstable

    def _rent(self, offer: RentalOffer) -> Queue:
        self.left.take(offer.index)
        return Queue(offer, [])

    def take_late_tasks(self) -> list[int]:
        """Take the tasks that end too late from their VMs, of each VM the latest first."""
        late: list[int] = []
        for queue in self.queues:
            checkpoint()
            limit = self.instance.time_limit_s(queue.offer.market)
            while queue.tasks:
                ends = [end for _, _, end in queue_times(self.instance, queue)]
                if max(ends) <= limit:
                    break
                late.append(queue.tasks.pop(ends.index(max(ends))))
        return late

    def fits(self, vm: Queue, task: int) -> bool:
        """True if a task can be appended to a VM and ends in time."""
        if self.instance.sustained_s[self.instance.task_group[task], vm.offer.index] > self.instance.deadline_s:
            return False
        return ends_in_time(self.instance, Queue(vm.offer, [*vm.tasks, task]))

    def put_on_demand(self, task: int) -> bool:
        """Append a task to a regular on-demand VM, a new one of the cheapest type if need be."""
        regular = [queue for queue in self.queues if queue.offer.market == "on-demand"]
        for queue in regular:
            if self.fits(queue, task):
                queue.tasks.append(task)
                return True
        offers = [offer for offer in self.instance.offers if offer.market == "on-demand" and not offer.burstable]
        for offer in sorted(offers, key=lambda entry: entry.price_usd_per_hour):
            if self.left.of(offer.index) > 0 and self.fits(Queue(offer, []), task):
                self.queues.append(self._rent(offer))
                self.queues[-1].tasks.append(task)
                return True
        return False

    def last_task(self) -> tuple[Queue, int] | None:
        """Return the task that ends last, burstable VMs aside, and its VM."""
        last: tuple[int, Queue, int] | None = None
        for queue in self.queues:
            checkpoint()
            for task, (_, _, end) in zip(queue.tasks, queue_times(self.instance, queue), strict=True):
                if last is None or end > last[0]:
                    last = end, queue, task
        return None if last is None else (last[1], last[2])
