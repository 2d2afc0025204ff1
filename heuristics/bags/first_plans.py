"""First plans in a fraction of a second: VMs in lanes, and as few and as cheap VMs as the deadline needs.

A lane is an equal share of a VM: a core, or several, with as much of the memory. Fewer lanes have larger shares, so
that tasks with much memory or several cores find room, and nothing else must be looked at: whatever runs side by side
in lanes fits. Tasks that need the widest lanes choose first; where these end, narrower ones take their room. What each
task costs in a lane says where it goes first. Any bag that has time enough finds a plan in this way.

The least rent is for bags whose memory never binds, where the cost alone counts. The prices of the divisible bound say
what a second of each offer is worth. Where that is more than it costs, the VMs of an offer are too few, and each is to
be used to its last second: it takes the tasks that would cost most more elsewhere, and whole tasks fill its cores as in
bin packing. On all other offers nothing is lost where cores end early, if those of a VM end together: there, as few VMs
as the tasks need share them longest first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from ...bounds.bags.divisible_bound import FEW_CUTS, DivisibleBound, divisible_bound
from ...core.capacities import lower_of, slots_of
from ...core.limits import LimitReached, checkpoint, out_of_time
from ...core.quantities import MAX_SECONDS, OPTIMALITY_TOLERANCE, FloatArray, IntArray
from ...instances.entries import NEVER, RentalOffer, VmsLeft
from ...instances.instance import Instance
from ...models.bags.task_classes import memory_is_free, usable_offers
from ...schedules.method import MANY_TASKS, Outcome
from ...schedules.schedule import Schedule
from ...schedules.timing import makespan_s, objective_value, objective_weights, vm_rents
from .annealing import GOLDEN
from .core_loads import (
    LITTLE_TO_GAIN,
    SPARE_VMS,
    CoreLoads,
    by_size,
    core_level_s,
    core_seconds,
    empty_state,
    fill,
    rentable_vms,
    rescue_of,
)

if TYPE_CHECKING:
    from .annealing_kernel import Rescue
    from .start_kernel import Room

Plan = TypeVar("Plan", "Schedule", "_Places")

MOMENTS = 12
"""Moments that are tried, where a plan is to end early."""
_MOST_LEVELS = 12
"""Widths of lanes, at most."""


def earliest_plan(by: Callable[[int], Instance], most_usd: float, last_s: int, proven_s: int) -> Schedule | None:
    """Plan for an early end at no more than a cost, in lanes and with the least rent; None if this finds none.

    Parameters
    ----------
    by : callable
        From a moment to the question, with D_spot set, for the least cost of a plan that ends by then.
    most_usd : float
        What it may cost.
    last_s : int
        The latest moment.
    proven_s : int
        No such plan ends before.
    """
    instance = by(last_s)
    if instance.machines:
        return None
    multipliers: FloatArray | None = None

    def in_lanes(last_s: int, bound: DivisibleBound | None = None) -> Schedule | None:
        lanes = _lanes(instance, bound)

        def make(moment_s: int) -> _Places | None:
            return _places(instance, lanes, moment_s - instance.boot_overhead_s)

        found = _earliest(make, most_usd, last_s, proven_s) if lanes.offers else None
        return None if found is None else found.schedule()

    def by_least_rent(moment_s: int) -> Schedule | None:
        nonlocal multipliers
        question = by(moment_s)
        # The prices of one moment are near those of the next.
        warm = () if multipliers is None else (multipliers, FEW_CUTS)
        bound = divisible_bound(question, *warm)
        multipliers = bound.multipliers
        state = least_rent_start(question, bound, 0) if bound.objective <= most_usd else None
        return None if state is None else state.schedule()

    # Lanes are soon filled; the least rent asks for a bound at each moment, and is left to what is earlier still.
    best = in_lanes(last_s)
    if best is not None and out_of_time():
        return best
    before_s = last_s if best is None else best.makespan_s - 1
    if memory_is_free(instance):
        return _earliest(by_least_rent, most_usd, before_s, proven_s) or best
    return in_lanes(before_s, divisible_bound(by(before_s))) or best


def _earliest(make: Callable[[int], Plan | None], most_usd: float, last_s: int, proven_s: int) -> Plan | None:
    """Look for the earliest moment by which a plan costs no more: by how much later than what is proved, by halves."""
    best: Plan | None = None
    before_s, after_s = 0.5, last_s - proven_s
    with suppress(LimitReached):
        for _ in range(MOMENTS):
            if best is not None:
                checkpoint()  # plans in lanes do not look at the clock
            # Halves of the logarithm, as nobody knows whether seconds or hours are to be gained.
            later_s = after_s if best is None else int((before_s * after_s) ** 0.5)
            plan = None if later_s <= before_s else make(proven_s + later_s)
            if plan is not None and plan.cost_usd <= most_usd:
                best, after_s = plan, min(later_s, plan.makespan_s - proven_s)
            elif best is None:
                return None
            else:
                before_s = max(later_s, before_s + 1)
    return best


def first_plan(instance: Instance) -> Outcome:
    """Plan soon: by lanes, and of a bag that is not large by the greedy, unless tasks must be done again in time.

    Parameters
    ----------
    instance : Instance
        With D_spot set, and without machines.
    """
    in_lanes = lanes_plan(instance)
    if in_lanes is not None and not memory_is_free(instance):  # where it is, the search begins with prices
        with suppress(LimitReached):
            priced = lanes_plan(instance, divisible_bound(instance))
            in_lanes = priced if priced is not None and priced.objective < in_lanes.objective else in_lanes
    if instance.leaves_time or (in_lanes is not None and instance.n_tasks > MANY_TASKS):
        return Outcome(in_lanes)
    from .greedy import greedy  # here, since it is not asked for plans that survive

    of_greedy = greedy(instance)
    if in_lanes is None or (of_greedy.schedule is not None and of_greedy.schedule.objective <= in_lanes.objective):
        return of_greedy
    return Outcome(in_lanes)


class _Lanes(NamedTuple):
    """VMs of each offer divided into lanes, by how many tasks of a kind fit side by side.

    Tasks that need more of a VM come first: the wider lanes that they leave are divided for those that need less. Times
    count from when VMs of the offer can run tasks, which is so many seconds after the boot.

    Attributes
    ----------
    offers : list of RentalOffer
        The offers that tasks can use.
    n_lanes : array of int, shape (n_levels, n_offers)
        Lanes of a VM at each level, the widest first; 0 where none of its tasks fit.
    level : array of int, shape (n_groups,)
        Level of the tasks of each group.
    seconds, latest, price : array, shape (n_groups, n_offers)
        Duration of a task in a lane, `NEVER` where it cannot run, its latest end, and what it costs.
    setup_s : array of int, shape (n_offers,)
        Seconds from the boot until VMs can run tasks.
    """

    offers: list[RentalOffer]
    n_lanes: IntArray
    level: IntArray
    seconds: IntArray
    latest: IntArray
    price: FloatArray
    setup_s: IntArray


def lanes_plan(instance: Instance, bound: DivisibleBound | None = None) -> Schedule | None:
    """Plan a bag without machines and dates; None if some task finds no place in this way.

    Tasks that must end first, and of these the longest, go first, each to the cheapest lanes in which it ends early
    enough: to the first such lane, or that of a new VM. Burstable VMs run at the baseline. Where an early end is worth
    something, earlier moments than the deadline are tried.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    bound : DivisibleBound, optional
        Its prices are what lanes cost, which tells where VMs are scarce; else those of the offers.
    """
    lanes = _lanes(instance, bound)
    if not lanes.offers or instance.machines or instance.has_dates:
        return None
    deadline_s = instance.deadline_s - instance.boot_overhead_s
    best = _places(instance, lanes, deadline_s)
    if best is None:
        return None
    # Of large bags whose memory never binds, the search makes better plans as soon as it has one.
    settled = instance.n_tasks > MANY_TASKS and memory_is_free(instance)
    if not settled and objective_weights(instance)[1] > 0:
        able = np.where(lanes.seconds <= lanes.latest, lanes.seconds, NEVER)
        least_s = int(able.min(axis=1)[instance.open_size > 0].max(initial=1))
        best = _best_moment(lambda moment_s: _places(instance, lanes, moment_s), best, least_s, deadline_s)
    return best.schedule()


def _best_moment(make: Callable[[int], _Places | None], best: _Places, least_s: int, last_s: int) -> _Places:
    """Look for the moment by which the plan is best, between two: by golden sections of their ratio."""
    low, high = math.log(max(least_s, 1)), math.log(last_s)
    known: dict[int, float] = {}
    for _ in range(MOMENTS):
        at = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)]
        moments = [round(math.exp(moment)) for moment in at]
        for moment_s in moments:
            if moment_s in known or not least_s <= moment_s <= last_s:
                continue
            if out_of_time():
                return best
            plan = make(moment_s)
            known[moment_s] = math.inf if plan is None else plan.objective
            if plan is not None and plan.objective < best.objective:
                best = plan
        earlier, later = (known.get(moment_s, math.inf) for moment_s in moments)
        if moments[0] >= moments[1] or abs(earlier - later) <= LITTLE_TO_GAIN * best.objective:
            break
        low, high = (low, at[1]) if earlier < later else (at[0], high)
    return best


def _lanes(instance: Instance, bound: DivisibleBound | None) -> _Lanes:
    """Return the lanes of VMs of each offer, with the numbers that tasks ask for."""
    offers = usable_offers(instance)
    indices = [offer.index for offer in offers]
    needs, need = np.unique(instance.memory_kb, return_inverse=True)
    needed_kb, slots = np.maximum(lower_of(needs), 1), slots_of(needs)
    sides = [np.minimum(lower_of(offer.memory_kb) // needed_kb, offer.vcpus // slots) for offer in offers]
    side_by_side = np.array(sides, dtype=np.int64).reshape(len(offers), len(needs)).T
    seconds = np.where(side_by_side[need] > 0, instance.sustained_s[:, indices], NEVER)
    n_lanes, level = _levels(side_by_side)
    level = level[need]
    of_vm = np.array([[offer.price_usd_per_s for offer in offers]])
    if bound is not None:
        column = np.searchsorted(bound.offers, indices)
        of_vm = bound.second_price(instance)[:, column] * np.array([offer.vcpus for offer in offers])
    price = np.where(seconds < NEVER, seconds, 0) * of_vm / np.maximum(n_lanes[level], 1)
    if bound is not None and len(bound.again_price):
        price = price + bound.again_price[:, column]
    price = np.where(seconds < NEVER, price, np.inf)
    ready_s = instance.ready_s[indices]
    latest = instance.latest_end_s[:, indices] - ready_s
    setup_s = ready_s - instance.boot_overhead_s
    return _Lanes(offers, n_lanes, level, np.ascontiguousarray(seconds), latest, price, setup_s)


def _levels(side_by_side: IntArray) -> tuple[IntArray, IntArray]:
    """Return lanes of VMs at each level, the widest first, and the level of each need.

    Parameters
    ----------
    side_by_side : array of int, shape (n_needs, n_offers)
        How many tasks of each need fit a VM of each offer, the least need first.
    """
    others = np.append((side_by_side[1:] != side_by_side[:-1]).any(axis=1), True)
    kind = np.cumsum(others[::-1])[::-1] - 1  # what needs most comes first
    n_kinds = int(kind.max(initial=-1)) + 1
    level = kind * min(_MOST_LEVELS, n_kinds) // max(n_kinds, 1)
    lanes = np.full((int(level.max(initial=-1)) + 1, side_by_side.shape[1]), MAX_SECONDS)
    np.minimum.at(lanes, level, np.where(side_by_side > 0, side_by_side, MAX_SECONDS))
    return np.where(lanes < MAX_SECONDS, lanes, 0), level


class _Places:
    """Places of all tasks; a plan of many moments that are tried is asked for at one of them only.

    Attributes
    ----------
    cost_usd, makespan_s, objective
        Those of the plan.
    schedule : callable
        Makes the plan.
    """

    def __init__(self, instance: Instance, vm_offer: IntArray, vm: IntArray, core: IntArray, start_s: IntArray) -> None:
        baseline = instance.offer_is_burstable[vm_offer][vm]
        end_s = start_s + instance.sustained_s[instance.task_group, vm_offer[vm]]
        rents = vm_rents(instance, vm_offer, np.full(len(vm_offer), -1))
        vm_end_s = rents.ready_s.copy()
        np.maximum.at(vm_end_s, vm, end_s)
        self.cost_usd = float(rents.cost_usd(slice(None), vm_end_s).sum())
        self.makespan_s = makespan_s(end_s)
        self.objective = objective_value(instance, self.cost_usd, self.makespan_s)
        self.schedule = partial(Schedule, instance, vm_offer, vm, core, start_s, baseline)


def _places(instance: Instance, lanes: _Lanes, moment_s: int) -> _Places | None:
    """Find places in lanes so that all ends by a moment, from when VMs have booted; None if there are too few."""
    from .start_kernel import place_early

    latest = np.minimum(lanes.latest, moment_s - lanes.setup_s)
    groups = instance.task_group
    able = lanes.seconds < NEVER
    first = latest.max(axis=1, where=able, initial=0)
    longest = np.where(able, lanes.seconds, 0).max(axis=1)
    order = np.lexsort((-longest, first, lanes.level))
    # The rank of each group, by which its tasks are sorted; among themselves, they stay as they are.
    order = np.argsort(np.argsort(order, kind="stable")[groups], kind="stable")
    indices = np.array([offer.index for offer in lanes.offers])
    rescue = rescue_of(instance, indices, np.arange(len(instance.tasks)))
    by_price = np.argsort(lanes.price, axis=1, kind="stable")
    # Of fewer tasks, plain Python has a plan before the loop is loaded.
    place = place_early if len(groups) >= MANY_TASKS else getattr(place_early, "py_func", place_early)
    weights = np.array([limit.weights[indices] for limit in instance.group_limits], dtype=np.int64)
    vms = _Vms(lanes.offers, weights.reshape(-1, len(indices)), [limit.most for limit in instance.group_limits], rescue)
    places = np.zeros((4, len(order)), dtype=np.int64)
    for level, n_lanes in enumerate(lanes.n_lanes):
        of_level = np.flatnonzero(lanes.level[groups[order]] == level)
        room = vms.in_lanes(n_lanes, len(of_level))
        found = np.empty((3, len(of_level)), dtype=np.int64)
        if not place(groups[order[of_level]], by_price, lanes.seconds, latest, room, rescue, found):
            return None
        vms.take(room)
        places[:, of_level] = found[0], found[1] // n_lanes[found[0]], found[1] % n_lanes[found[0]], found[2]
    offer, vm, lane, start = places
    vm += (np.cumsum(vms.opened) - vms.opened)[offer]
    group = groups[order]
    n_lanes, seconds = lanes.n_lanes[lanes.level[group], offer], lanes.seconds[group, offer]
    _level(vm, lane, start, n_lanes, seconds, latest[group, offer])
    vm_offer = np.repeat(indices, vms.opened)
    task_vm, task_core, task_start = (np.empty(len(order), dtype=np.int64) for _ in range(3))
    # Lanes that do not share a part of their VM have cores of their own, also where they are of different levels.
    task_vm[order], task_core[order] = vm, lane * vms.cores[offer] // n_lanes
    task_start[order] = start + instance.ready_s[indices[offer]]
    return _Places(instance, vm_offer, task_vm, task_core, task_start)


def _level(
    vm: IntArray, lane: IntArray, start: IntArray, n_lanes: IntArray, seconds: IntArray, latest: IntArray
) -> None:
    """Have lanes of VMs that are not full end together: each task in the lane that ends first, the longest first.

    Parameters
    ----------
    vm, lane, start : array of int, shape (n_tasks,)
        VMs of tasks, and their lanes and starts, which change.
    n_lanes, seconds, latest : array of int, shape (n_tasks,)
        Lanes of the VM at the level of each task, its duration, and its latest end; the levels in their order.
    """
    ends, longest = np.zeros((2, int(vm.max(initial=-1)) + 1), dtype=np.int64)
    np.maximum.at(ends, vm, start + seconds)
    np.maximum.at(longest, vm, seconds)
    work = np.bincount(vm, seconds / n_lanes, len(ends))
    uneven = work + longest < ends
    among = np.flatnonzero(uneven[vm])
    among = among[np.lexsort((-seconds[among], n_lanes[among], vm[among]))]
    for tasks in np.split(among, np.flatnonzero(np.diff(vm[among])) + 1) if len(among) else ():
        loads = np.zeros(1, dtype=np.int64)
        into, begin = lane[tasks], start[tasks]
        for at, task in enumerate(tasks.tolist()):
            if n_lanes[task] != len(loads):
                loads = _divided(loads, int(n_lanes[task]))
            into[at] = chosen = loads.argmin()
            begin[at] = loads[chosen]
            loads[chosen] += seconds[task]
        if loads.max() < ends[vm[tasks[0]]] and (begin + seconds[tasks] <= latest[tasks]).all():
            lane[tasks], start[tasks] = into, begin


def _divided(loads: IntArray, n_lanes: int) -> IntArray:
    """Return loads of other lanes, shape (..., n_lanes): the most of those with which each shares a part of a VM."""
    before = loads.shape[-1]
    parts = [loads[..., k * before // n_lanes : -(-(k + 1) * before // n_lanes)] for k in range(n_lanes)]
    return np.stack([part.max(axis=-1) for part in parts], axis=-1)


class _Vms:
    """The VMs that are rented of each offer, and until when each part of them is used."""

    def __init__(self, offers: list[RentalOffer], weights: IntArray, most: list[int], rescue: Rescue) -> None:
        self.cores = np.array([offer.vcpus for offer in offers], dtype=np.int64)
        self.opened = np.zeros(len(offers), dtype=np.int64)
        self._limits = np.array([offer.limit for offer in offers], dtype=np.int64)
        self._weights, self._most = weights, np.array(most, dtype=np.int64)
        self._weighed, self._taken = np.zeros(len(most), dtype=np.int64), np.zeros(len(rescue.most_s), dtype=np.int64)
        self._loads = [np.zeros((0, 1), dtype=np.int64) for _ in offers]

    def in_lanes(self, n_lanes: IntArray, n_tasks: int) -> Room:
        """Return the room of VMs that are divided into so many lanes, for a number of tasks.

        A lane is used until the last of those with which it shares a part of its VM ends.
        """
        from .start_kernel import Room

        # No lane stays empty if another VM is rented, so that tasks need no more VMs than they fill.
        more = np.minimum(self._limits - self.opened, -(-n_tasks // np.maximum(n_lanes, 1)))
        size = 2 ** np.ceil(np.log2(np.maximum(n_lanes * (self.opened + more), 1))).astype(np.int64)
        first = np.cumsum(2 * size) - 2 * size
        tree = np.full(int(2 * size.sum()), MAX_SECONDS)
        for k, lanes in enumerate(n_lanes.tolist()):
            width = int(size[k])
            leaf = int(first[k]) + width
            if lanes and self.opened[k]:
                tree[leaf : leaf + lanes * self.opened[k]] = _divided(self._loads[k], lanes).reshape(-1)
            while width > 1:
                leaves = tree[first[k] + width : first[k] + 2 * width].reshape(-1, 2)
                width //= 2
                tree[first[k] + width : first[k] + 2 * width] = leaves.min(axis=1)
        most = self.opened + more
        limits = n_lanes, most, self._weights, self._most
        return Room(*limits, tree, first, size, self.opened, self._weighed, self._taken)

    def take(self, room: Room) -> None:
        """Keep the loads of the lanes, which those of the next level begin with."""
        for k, lanes in enumerate(room.lanes.tolist()):
            if lanes:
                begin = int(room.tree_first[k] + room.tree_size[k])
                self._loads[k] = room.tree[begin : begin + lanes * self.opened[k]].reshape(-1, lanes)


FILLED = (1.0, 0.97, 0.93, 0.88, 0.8)
"""Shares of the time that are given to tasks, until as many end early enough as must."""
_LAST = 3
"""Tasks of a full core that are chosen so as to leave no time."""


def least_rent_start(instance: Instance, bound: DivisibleBound, spare_vms: int = SPARE_VMS) -> CoreLoads | None:
    """Make a first state without machines that is a plan; None if not all tasks find a place in this way.

    Where tasks on spot VMs must end early, these VMs are filled as far as lets all of them do so.

    Parameters
    ----------
    instance : Instance
        With D_spot set, and without machines.
    bound : DivisibleBound
        Of the instance.
    spare_vms : int
        Empty VMs of each offer that the search may open.
    """
    for filled in FILLED if instance.leaves_time else (1.0,):
        state = _start(instance, bound, spare_vms, filled)
        if state is not None and state.feasible():
            return state
    return None


def _start(instance: Instance, bound: DivisibleBound, spare_vms: int, filled: float) -> CoreLoads | None:
    """Make a first state with spot VMs that are filled up to a share of their time."""
    rent = _Rent(instance, bound, filled)
    scarce = bound.scarce
    worth = rent.core_price * rent.vcpus  # of a second of a VM
    # First the scarcest offers choose, by the part of their price that is scarcity; then the cheapest ones take the
    # rest.
    for k in np.lexsort((rent.price / rent.vcpus, -scarce / np.maximum(worth, 1e-300))).tolist():
        rent.take(
            k,
            full=worth[k] > rent.price[k] * (1 + OPTIMALITY_TOLERANCE) and scarce[k] > OPTIMALITY_TOLERANCE * worth[k],
        )
    for k in np.argsort(rent.price / rent.vcpus, kind="stable").tolist():
        rent.take(k, full=False, all_that_fit=True)
    if rent.left.any():
        return None
    state = empty_state(instance, bound.offers, rent.opened, spare_vms)
    first_core = state.cores.first_of_vm[np.searchsorted(state.vm_column, np.arange(len(bound.offers)))]
    tasks = np.concatenate(rent.tasks)
    cores = np.concatenate([first_core[k] + cores for k, cores in zip(rent.columns, rent.cores, strict=True)])
    return state if fill(state, instance.open_tasks[tasks], cores) else None


class _Rent:
    """VMs rented so far by offer, and tasks without a place."""

    def __init__(self, instance: Instance, bound: DivisibleBound, filled: float) -> None:
        offers = [instance.offers[index] for index in bound.offers.tolist()]
        groups = instance.task_group[instance.open_tasks]
        self.offers = bound.offers
        self.vms_left = VmsLeft(instance)
        self.core_price = bound.core_price
        self.vcpus = np.array([offer.vcpus for offer in offers])
        self.price = np.array([offer.price_usd_per_s for offer in offers]) * objective_weights(instance)[0]
        last_s = np.array([instance.time_limit_s(offer.market) for offer in offers])
        level: FloatArray = (last_s - instance.ready_s[bound.offers]).astype(float)
        level = np.where(instance.offer_is_spot[bound.offers], filled * level, level)
        level = core_level_s(instance, bound.offers, np.minimum(level, bound.level_s))
        self.level = np.maximum(level, 1).astype(np.int64)
        self.rentable = rentable_vms(instance, bound.offers)
        self.opened = np.zeros(len(offers), dtype=np.int64)
        self.seconds = core_seconds(instance, bound.offers)[groups]
        price: FloatArray = np.where(self.seconds <= self.level, bound.task_price(instance)[groups], np.inf)
        self.price_of_task = price
        self.left = np.ones(len(groups), dtype=bool)
        self.open = np.ones(len(offers), dtype=bool)
        self.columns: list[int] = []
        self.tasks: list[IntArray] = []
        self.cores: list[IntArray] = []

    def take(self, k: int, full: bool, all_that_fit: bool = False) -> None:
        """Rent VMs of an offer, and put tasks there: of those that are left, the ones that cost most more elsewhere."""
        checkpoint()
        self.open[k] = all_that_fit
        most = min(int(self.rentable[k] - self.opened[k]), self.vms_left.of(int(self.offers[k])))
        tasks = np.flatnonzero(self.left & np.isfinite(self.price_of_task[:, k]))
        if not most or not len(tasks):
            return
        seconds = self.seconds[tasks, k]
        if not all_that_fit:
            more = self._more_elsewhere(tasks, k) / seconds
            order = np.argsort(-more, kind="stable")
            if full:
                room = most * int(self.vcpus[k] * self.level[k])
                # As many as cover the room: those that find no place in it are left for other offers.
                wanted = int(np.searchsorted(np.cumsum(seconds[order]), room)) + 1
            else:
                wanted = int((more >= -OPTIMALITY_TOLERANCE * self.core_price[k]).sum())
            tasks, seconds = tasks[order[:wanted]], seconds[order[:wanted]]
        if not len(tasks):
            return
        core = self._shared(k, seconds, most)
        if core is None:
            core = self._filled(k, seconds, most)
        placed = core >= 0
        vms = -(-(int(core.max()) + 1) // int(self.vcpus[k]))
        self.left[tasks[placed]] = False
        self.columns.append(k)
        self.tasks.append(tasks[placed])
        self.cores.append(core[placed] + self.opened[k] * self.vcpus[k])
        self.opened[k] += vms
        self.vms_left.take(int(self.offers[k]), vms)

    def _more_elsewhere(self, tasks: IntArray, k: int) -> FloatArray:
        """Return by how much tasks cost more on the cheapest of the offers that are still to come."""
        others = np.flatnonzero(self.open)
        if not len(others):
            return np.full(len(tasks), np.inf)
        more: FloatArray = self.price_of_task[np.ix_(tasks, others)].min(axis=1) - self.price_of_task[tasks, k]
        return more

    def _shared(self, k: int, seconds: IntArray, most: int) -> IntArray | None:
        """Share tasks out to the cores of as few VMs as they need; None if they end too late on all."""
        vms = max(-(-int(seconds.sum()) // int(self.vcpus[k] * self.level[k])), 1)
        # Whole tasks need hardly more VMs than their seconds do: steps begin at a hundredth, and double.
        more = max(vms // 100, 1)
        while vms <= most:
            core, load = _longest_first(seconds, vms * int(self.vcpus[k]))
            if load.max() <= self.level[k]:
                return core
            vms, more = max(min(vms + more, most), vms + 1), 2 * more
        return None

    def _filled(self, k: int, seconds: IntArray, vms: int) -> IntArray:
        """Fill the cores of VMs to their last second; the core of each task, -1 where it has no place.

        The longest tasks are shared out to all cores, so that each ends with short ones: what runs last on a spot VM
        may have to be done again.
        """
        from .start_kernel import filled_cores

        n_cores = vms * int(self.vcpus[k])
        by_length = np.argsort(-seconds, kind="stable")
        longest, rest = np.split(by_length, [max(len(seconds) - _LAST * n_cores, 0)])
        core, load = np.full(len(seconds), -1, dtype=np.int64), np.zeros(n_cores, dtype=np.int64)
        if len(longest):
            core[longest], load = _longest_first(seconds[longest], n_cores)
            if load.max() > self.level[k]:
                core[longest], load, rest = -1, np.zeros_like(load), by_length
        chosen = np.full(len(rest), -1, dtype=np.int64)
        by_size(filled_cores, seconds[rest[::-1]], self.level[k] - load, chosen)
        core[rest[::-1]] = chosen
        return core


def _longest_first(seconds: IntArray, n_cores: int) -> tuple[IntArray, IntArray]:
    """Share tasks out to cores, longest first; the core of each task, and the load of each core."""
    from .start_kernel import least_loaded_core

    order, cores = np.argsort(-seconds, kind="stable"), np.arange(n_cores)
    core, chosen = np.empty(len(seconds), dtype=np.int64), np.zeros(len(seconds), dtype=np.int64)
    by_size(least_loaded_core, seconds[order], cores, np.zeros_like(cores), chosen)
    core[order] = chosen
    load: IntArray = np.bincount(core, weights=seconds, minlength=n_cores).astype(np.int64)
    return core, load


def compile_filling() -> None:
    """Have the loop at hand that fills cores: only where limits bind do many tasks ask for it."""
    from .start_kernel import filled_cores

    nothing = np.zeros(0, dtype=np.int64)
    filled_cores(nothing, nothing, nothing)
