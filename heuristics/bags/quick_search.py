"""Plans within milliseconds: all of them gone through if few tasks are left, else a search that the clock cools.

Of a few tasks, the best plan is known to be, and none is where there is none. `search` counts moves, so that a plan
does not depend on the machine; here the time is given, and the temperature falls with it. The search begins with the
plan that is being carried out: what it has where stays there at first, as far as the VMs still exist; what has lost its
place is put where it ends first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...bounds.bags.divisible_bound import DivisibleBound
from ...core.bill import begun_s
from ...core.limits import ITERATIONS, clock_s, count_work, stopped
from ...core.quantities import IntArray
from ...instances.entries import FULL_SPEED, NEVER, VmsLeft
from ...instances.instance import Instance
from ...models.bags.task_classes import memory_is_free, offers_of_vms, usable_offers
from ...schedules.queues import Queue, ends_in_time, schedule_of_queues
from ...schedules.schedule import Schedule, UnsuitablePlanError, plan_of_places
from ...schedules.timing import held_usd, objective_weights
from .annealing import LoadsWalk, QueuesWalk, SearchOptions, Steps, cooled, random_state
from .assignments import assignments_of
from .core_loads import GONE, CoreLoads, cores_of, offers_of, places_of, priced_start, start_from_schedule
from .listed_plans import listed_plan

if TYPE_CHECKING:
    from .annealing_kernel import Objective

_ENOUGH_S_A_TASK = 4e-5
"""Seconds for each task below which the first run begins cooler, by the square of what is lacking: hot, it would lose
the plan that is carried on, and find no other. Where there is ten times as much, another run follows."""
_ENOUGH_S_OF_FEW, _ENOUGH_S_A_PAIR = 5e-3, 4e-4
"""Most seconds of a search of few tasks: of any, and for each pair of tasks; a longer one would find nothing more."""
_TIE = 1e-4
"""Worth of a second of makespan where the cost alone counts, in mean prices of a VM, and the reverse."""


def quick_plan(
    instance: Instance,
    bound: DivisibleBound,
    start: Schedule | None,
    seed: int,
    until: float | Callable[[float], float],
) -> Schedule | None:
    """Plan until a moment of `clock_s`.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    bound : DivisibleBound
        Of the instance: its prices are the start where there is no plan.
    start : Schedule, optional
        The plan that is being carried out: of the instance, or of an earlier state of the same bag.
    seed : int
        Of the random numbers.
    until : float or callable
        When the search is to end; or what says it when a search begins that is to have a share of the time that is left
        then, as what goes before it takes time as well.

    Returns
    -------
    Schedule or None
        The best plan; None if none ends in time.
    """
    if not len(instance.open_tasks):
        return schedule_of_queues(instance, [])
    if memory_is_free(instance) and not instance.has_dates:
        state = None if start is None else start_from_schedule(instance, start, bound.offers)
        if state is not None:
            # Where the VMs of the start fill a limit of a group, it has no others, and there may be no way out.
            found = _cool_loads(state, seed, _moment(until, 1.0 if state.feasible() else 0.5))
            if found is not None or stopped():
                return found
        state = priced_start(instance, bound)
        return None if state is None else _cool_loads(state, seed, _moment(until, 1.0))
    plan = None if start is None else _carried_queues(instance, start)
    plan = plan or listed_plan(instance)
    return None if plan is None else _cool_assignments(plan, seed, _moment(until, 1.0))


def _moment(until: float | Callable[[float], float], share: float) -> float:
    """The moment until which a search has a share of the time that is left."""
    if callable(until):
        return until(share)
    now = clock_s()
    return now + share * (until - now)


def _enough(instance: Instance, until: float) -> float:
    """The moment at which a search that begins now ends: a few tasks have soon been in all places."""
    if until == math.inf:  # it is not ended by time
        return until
    return min(until, clock_s() + _ENOUGH_S_OF_FEW + _ENOUGH_S_A_PAIR * len(instance.open_tasks) ** 2)


def _cool_loads(state: CoreLoads, seed: int, until: float) -> Schedule | None:
    """Anneal core loads until a moment."""
    bag, until = state.instance, _enough(state.instance, until)
    state.objective = _with_ties(bag, state.objective, state.offers[state.vm_column])
    walk, options, n_open = LoadsWalk(state, random_state(seed, 0)), SearchOptions(), len(bag.open_tasks)
    walk.settle(0.0)
    if walk.best < math.inf and clock_s() >= until:
        return walk.schedule()
    for number, (cooler, end) in enumerate(_runs(n_open, until)):
        if number:
            walk.to_best()
        temperatures = options.temperatures(bag, number, cooler)
        for _ in cooled(walk, temperatures, Steps(math.inf, end, bag, "loads")):
            pass
    return walk.schedule()


def _cool_assignments(plan: Schedule, seed: int, until: float) -> Schedule:
    """Anneal the tasks of each VM and their order until a moment."""
    state = assignments_of(plan)
    state.objective = _with_ties(state.instance, state.objective, state.fleet.offer)
    walk = QueuesWalk(state, random_state(seed, 0))
    temperatures, until = SearchOptions().temperatures(state.instance, 0), _enough(state.instance, until)
    for _ in cooled(walk, temperatures, Steps(math.inf, until, state.instance, "queues")):
        pass
    found = walk.schedule()
    return plan if found is None or found.objective > plan.objective else found


def _with_ties(instance: Instance, objective: Objective, vm_offer: IntArray) -> Objective:
    """Objective in which what does not count decides ties: the time where the cost alone counts, and the reverse."""
    if objective.time_weight == 0.0:
        return objective._replace(time_weight=_TIE * float(objective.vm_price.mean()))
    if not objective.vm_price.any():
        usd = instance.offer_price_usd_per_s[vm_offer]
        return objective._replace(vm_price=_TIE * objective.time_weight * usd / max(float(usd.mean()), 1e-300))
    return objective


def _runs(n_open: int, until: float) -> Iterator[tuple[float, float]]:
    """Factors by which each run begins, and ends, cooler: as many as the time allows for so many tasks."""
    begin = clock_s()
    enough = max(until - begin, 0.0) / (n_open * _ENOUGH_S_A_TASK)
    runs = max(int(enough / 10), 1)
    for number in range(runs):
        yield 1.0 if number else min(enough, 1.0) ** 2, begin + (until - begin) * (number + 1) / runs


def _carried_queues(instance: Instance, start: Schedule) -> Schedule | None:
    """Carry a plan on, task by task in the order of starts, where memory may bind; None if it ends too late."""
    rows, machine_of_vm = places_of(instance, start)
    if (rows < 0).any():
        return None
    vms = start.task_vm[rows]
    offers = offers_of(instance, start)
    left = VmsLeft(instance)
    queues: dict[int, Queue] = {}
    for row in np.lexsort((start.task_core[rows], start.task_start_s[rows])).tolist():
        vm, task = int(vms[row]), int(instance.open_tasks[row])
        if vm not in queues:
            machine = int(machine_of_vm[vm])
            offer = instance.offers[instance.machine_offer[machine] if machine >= 0 else offers[vm]]
            if machine == GONE or (machine < 0 and left.of(offer.index) <= 0):
                return None
            left.take(offer.index, int(machine < 0))
            queues[vm] = Queue(offer, [], machine)
        queues[vm].tasks.append(task)
    if not all(ends_in_time(instance, queue) for queue in queues.values()):
        return None
    return schedule_of_queues(instance, [*queues.values()])


def held_plan(instance: Instance, start: Schedule, now_s: int) -> Schedule | None:
    """Return the part of a plan that is left of it, at its own times; None where a task or a VM of it is gone.

    Parameters
    ----------
    instance : Instance
        What is left, with D_spot set.
    start : Schedule
        The plan that is being carried out.
    now_s : int
        The moment of the state, in the time of the plan.

    Returns
    -------
    Schedule or None
        Whether it still holds is for the checker to say.
    """
    rows, machine_of_vm = places_of(instance, start)
    if (rows < 0).any() or (machine_of_vm[start.task_vm[rows]] == GONE).any():
        return None
    first = len(instance.machines)
    machine = machine_of_vm[start.task_vm[rows]]
    number = np.where(machine >= 0, machine, first + start.task_vm[rows])
    offers = np.concatenate([instance.machine_offer, offers_of(instance, start)]).astype(np.int64)
    core, start_s, baseline = (
        cores_of(instance, start, rows),
        start.task_start_s[rows] - now_s,
        start.task_baseline[rows],
    )
    try:
        return plan_of_places(instance, instance.open_tasks, number, core, start_s, offers, baseline)
    except UnsuitablePlanError:  # the instance has changed: a task cannot run there any more
        return None


_MOST_TASKS, _MOST_LOOKS = 5, 20_000
_DIGITS = 6
"""Decimals to which costs are compared, in seconds of the dearest VM: a sum in another order is no other cost."""


class AllPlans(NamedTuple):
    """The best of all plans; None if there is none."""

    schedule: Schedule | None


class _Vm(NamedTuple):
    """A VM that exists, or is rented: number, offer, when each core is free, until when it is paid, cost of its use."""

    number: int
    offer: int
    free_s: tuple[int, ...]
    held_s: int
    opening_usd: float


class _Place(NamedTuple):
    """A task on a core: the value of the plan with it, and its VMs then."""

    value: tuple[float, float]
    vm: int
    core: int
    start_s: int
    usd: float
    end_s: int
    vms: tuple[_Vm, ...]


def best_of_all(instance: Instance, until: float) -> AllPlans | None:
    """Go through all plans of what is left; None if there are too many, or where loads of cores do not say all.

    Parameters
    ----------
    instance : Instance
        With D_spot set and without a budget.
    until : float
        Moment of `clock_s` at which to give up.
    """
    latest_s = instance.latest_end_s
    if not 0 < len(instance.open_tasks) <= _MOST_TASKS or instance.leaves_time or (latest_s != latest_s[0]).any():
        return None
    # What follows knows a plan by when each core is free: that must be all that counts.
    burstable = any(offer.burstable for offer in offers_of_vms(instance))
    if burstable or instance.has_dates or not memory_is_free(instance):
        return None
    search = _InDepth(instance, until)
    return AllPlans(search.schedule()) if search.all_seen else None


class _InDepth:
    """A search in depth, what is best so far first: neither cost nor makespan falls with another task."""

    def __init__(self, instance: Instance, until: float) -> None:
        self.instance, self.until = instance, until
        self.dollar, self.second = objective_weights(instance)
        self.ready_s = instance.ready_s.tolist()
        self.price, self.opening, self.paid_s, self.block_s = (of_offer.tolist() for of_offer in instance.rents)
        self.unit_usd = max(*self.price, 1e-300)
        self.latest_s = instance.latest_end_s[0].tolist()
        self.rentable = usable_offers(instance)
        seconds = instance.duration_s[instance.task_group[instance.open_tasks], :, FULL_SPEED]
        order = np.argsort(-seconds.min(axis=1), kind="stable")  # the longest first
        self.tasks, self.seconds = instance.open_tasks[order], seconds[order].tolist()
        self.all_seen, self.looks = True, 0
        self.best, self.found = (np.inf, np.inf), tuple[_Place, ...]()
        free_s = [tuple(free for free in row if free < NEVER) for row in instance.machine_core_free_s.tolist()]
        held_s, offers = instance.machine_held_s.tolist(), instance.machine_offer.tolist()
        openings = instance.machine_opening_usd.tolist()
        there = [
            _Vm(k, offers[k], free_s[k], held_s[k], openings[k]) for k in np.flatnonzero(instance.machine_open).tolist()
        ]
        last_s = int(instance.running_end_s.max(initial=0))
        self._go_on(_Place((0, 0), 0, 0, 0, held_usd(instance), last_s, tuple(there)), ())

    def _go_on(self, last: _Place, placed: tuple[_Place, ...]) -> None:
        """Place the next task wherever it may be, and those that follow it."""
        if len(placed) == len(self.tasks):
            self.best, self.found = last.value, placed
            return
        for place in sorted(self._places(len(placed), last), key=lambda place: place.value):
            self.looks += 1
            count_work(ITERATIONS.place)
            self.all_seen &= self.looks <= _MOST_LOOKS and clock_s() < self.until
            if not self.all_seen or place.value >= self.best:
                return
            self._go_on(place, (*placed, place))

    def _places(self, task: int, last: _Place) -> Iterator[_Place]:
        """Places for a task, one of those that are alike."""
        first_new = len(self.instance.machines)
        left = VmsLeft(self.instance)
        for vm in last.vms:
            if vm.number >= first_new:
                left.take(vm.offer)
        new = [
            _Vm(
                first_new + len(last.vms),
                offer.index,
                (self.ready_s[offer.index],) * min(offer.vcpus, len(self.tasks)),
                self.ready_s[offer.index] + self.paid_s[offer.index],
                self.opening[offer.index],
            )
            for offer in self.rentable
            if left.of(offer.index) > 0
        ]
        seen = set[tuple[object, ...]]()
        for at, vm in enumerate([*last.vms, *new]):
            seconds = self.seconds[task][vm.offer]
            for core, start_s in enumerate(vm.free_s):
                end_s = start_s + seconds
                # Of VMs that differ by their number alone, and of their cores that are free at once, one stands for
                # all.
                alike = (*vm[1:], start_s)
                if end_s > self.latest_s[vm.offer] or alike in seen:
                    continue
                seen.add(alike)
                more_s = begun_s(self.block_s[vm.offer], end_s, vm.held_s)
                usd = last.usd + vm.opening_usd + self.price[vm.offer] * more_s
                last_s = max(last.end_s, end_s)
                free_s = (*vm.free_s[:core], end_s, *vm.free_s[core + 1 :])
                used = _Vm(vm.number, vm.offer, free_s, vm.held_s + more_s, 0.0)
                vms = (*last.vms[:at], used, *last.vms[at + 1 :])
                yield _Place(self._value(usd, last_s), vm.number, core, start_s, usd, last_s, vms)

    def _value(self, usd: float, end_s: int) -> tuple[float, float]:
        """Value of a plan: the quantity to be made least first, and the second one."""
        vm_s = round(usd / self.unit_usd, _DIGITS)
        if not self.dollar or not self.second:
            return (vm_s, end_s) if self.dollar else (end_s, vm_s)
        return self.dollar * usd + self.second * end_s, 0

    def schedule(self) -> Schedule | None:
        """Return the best plan that was found."""
        if not self.found:
            return None
        vms = {vm.number: vm.offer for vm in self.found[-1].vms}
        numbers, cores, starts_s = np.array([place[1:4] for place in self.found], dtype=np.int64).T
        machines = self.instance.machine_offer
        offers = np.zeros(max(len(machines), *(number + 1 for number in vms)), dtype=np.int64)
        offers[: len(machines)] = machines
        offers[[*vms]] = [*vms.values()]
        return plan_of_places(self.instance, self.tasks, numbers, cores, starts_s, offers)
