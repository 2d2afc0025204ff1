"""First plans in a fraction of a second: VMs in lanes, and as few and as cheap VMs as the deadline needs.

A lane is a core with an equal share of the memory of its VM. A VM with fewer lanes than cores has larger shares, so
that tasks with much memory find room, and nothing else must be looked at: whatever runs side by side in lanes fits.
What each task costs in a lane says where it goes first. Where memory never binds, all cores are lanes. Any bag that has
time enough finds a plan in this way.

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
from typing import NamedTuple

import numpy as np

from ...bounds.bags.divisible_bound import DivisibleBound, divisible_bound
from ...core.capacities import lower_of, slots_of
from ...core.limits import LimitReached, checkpoint, out_of_time
from ...core.quantities import MAX_SECONDS, OPTIMALITY_TOLERANCE, FloatArray, IntArray
from ...instances.entries import NEVER, RentalOffer, VmsLeft
from ...instances.instance import Instance
from ...models.bags.task_classes import memory_is_free, usable_offers
from ...schedules.method import Outcome
from ...schedules.schedule import Schedule
from ...schedules.timing import objective_weights
from .annealing import GOLDEN
from .core_loads import (
    LITTLE_TO_GAIN,
    MANY_TASKS,
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

MOMENTS = 12
"""Moments that are tried, where a plan is to end early."""
_MOST_WIDTHS = 6
"""Numbers of lanes of a type, at most."""


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
    lanes = _lanes(instance, None)

    def in_lanes(moment_s: int) -> Schedule | None:
        return _plan(instance, lanes, moment_s - instance.boot_overhead_s)

    def by_least_rent(moment_s: int) -> Schedule | None:
        question = by(moment_s)
        bound = divisible_bound(question)
        state = least_rent_start(question, bound, 0) if bound.objective <= most_usd else None
        return None if state is None else state.schedule()

    # Lanes are soon filled; the least rent asks for a bound at each moment, and is left to what is earlier still.
    best = _earliest(in_lanes, most_usd, last_s, proven_s) if lanes.offers else None
    if not memory_is_free(instance) or (best is not None and out_of_time()):
        return best
    earlier = _earliest(by_least_rent, most_usd, last_s if best is None else best.makespan_s - 1, proven_s)
    return earlier or best


def _earliest(make: Callable[[int], Schedule | None], most_usd: float, last_s: int, proven_s: int) -> Schedule | None:
    """Look for the earliest moment by which a plan costs no more: by how much later than what is proved, by halves."""
    best: Schedule | None = None
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
    if instance.leaves_time or (in_lanes is not None and instance.n_tasks > MANY_TASKS):
        return Outcome(in_lanes)
    from .greedy import greedy  # here, since it is not asked for plans that survive

    of_greedy = greedy(instance, patient=instance.n_tasks <= MANY_TASKS)
    if in_lanes is None or (of_greedy.schedule is not None and of_greedy.schedule.objective <= in_lanes.objective):
        return of_greedy
    return Outcome(in_lanes)


class _Lanes(NamedTuple):
    """Ways to use the VMs of each offer: the number of lanes, and seconds, latest end and price of a task there.

    Times count from when VMs of the way can run tasks, which is so many seconds after the boot.
    """

    offers: list[RentalOffer]
    n_lanes: IntArray
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
    best = _plan(instance, lanes, deadline_s)
    # Of large bags whose memory never binds, the search makes better plans as soon as it has one.
    settled = instance.n_tasks > MANY_TASKS and memory_is_free(instance)
    if best is None or settled or objective_weights(instance)[1] == 0:
        return best
    able = np.where(lanes.seconds <= lanes.latest, lanes.seconds, NEVER)
    least_s = int(able.min(axis=1)[instance.open_size > 0].max(initial=1))
    return _best_moment(lambda moment_s: _plan(instance, lanes, moment_s), best, least_s, deadline_s)


def _best_moment(make: Callable[[int], Schedule | None], best: Schedule, least_s: int, last_s: int) -> Schedule:
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
    """Return ways to use the VMs of each offer, with the numbers of lanes that tasks ask for."""
    offers, n_lanes, allowed = [], [], []
    for offer in usable_offers(instance):
        needed_kb, slots = np.maximum(lower_of(instance.memory_kb), 1), slots_of(instance.memory_kb)
        most = np.minimum(lower_of(offer.memory_kb) // needed_kb, offer.vcpus // slots)
        able = instance.sustained_s[:, offer.index] < NEVER
        # As many lanes as the tasks of some group allow at most: fewer would take no others, and more not these.
        asked = np.unique(most[able & (most > 0)])
        if len(asked) > _MOST_WIDTHS:
            asked = asked[np.linspace(0, len(asked) - 1, _MOST_WIDTHS).astype(int)]
        for width in asked.tolist():
            offers.append(offer)
            n_lanes.append(width)
            allowed.append(most >= width)
    if not offers:
        nothing = np.zeros((0, 0), dtype=np.int64)
        return _Lanes([], nothing, nothing, nothing, nothing.astype(float), nothing)
    indices = [offer.index for offer in offers]
    seconds = np.where(np.array(allowed).T, instance.sustained_s[:, indices], NEVER)
    of_vm = np.array([[offer.price_usd_per_s for offer in offers]])
    if bound is not None:
        column = np.searchsorted(bound.offers, indices)
        of_vm = bound.second_price(instance)[:, column] * np.array([offer.vcpus for offer in offers])
    price = of_vm / np.array(n_lanes)
    ready_s = instance.ready_s[indices]
    latest = instance.latest_end_s[:, indices] - ready_s
    of_task = np.where(seconds < NEVER, seconds, 0) * price
    if bound is not None and len(bound.again_price):
        of_task = of_task + bound.again_price[:, column]
    of_task = np.where(seconds < NEVER, of_task, np.inf)
    setup_s = ready_s - instance.boot_overhead_s
    return _Lanes(offers, np.array(n_lanes, dtype=np.int64), np.ascontiguousarray(seconds), latest, of_task, setup_s)


def _plan(instance: Instance, lanes: _Lanes, moment_s: int) -> Schedule | None:
    """Plan so that all ends by a moment, from when VMs have booted."""
    from .start_kernel import Room, place_early

    latest = np.minimum(lanes.latest, moment_s - lanes.setup_s)
    groups = instance.task_group
    able = lanes.seconds < NEVER
    first = latest.max(axis=1, where=able, initial=0)
    longest = np.where(able, lanes.seconds, 0).max(axis=1)
    order = np.lexsort((-longest, first))
    # The rank of each group, by which its tasks are sorted; among themselves, they stay as they are.
    order = np.argsort(np.argsort(order, kind="stable")[groups], kind="stable")
    vms = np.array([min(offer.limit, instance.n_tasks) for offer in lanes.offers], dtype=np.int64)
    # Ways to use an offer share its VMs.
    indices = np.array([offer.index for offer in lanes.offers])
    pools = sorted({*indices.tolist()})
    limits = instance.group_limits
    size = 2 ** np.ceil(np.log2(np.maximum(lanes.n_lanes * vms, 1))).astype(np.int64)
    room = Room(
        lanes.n_lanes,
        np.array([pools.index(offer.index) for offer in lanes.offers], dtype=np.int64),
        np.array([min(instance.offers[index].limit, instance.n_tasks) for index in pools], dtype=np.int64),
        np.array([limit.weights[indices] for limit in limits], dtype=np.int64).reshape(len(limits), len(indices)),
        np.array([limit.most for limit in limits], dtype=np.int64),
        np.full(int(2 * size.sum()), MAX_SECONDS),
        np.cumsum(2 * size) - 2 * size,
        size,
        np.zeros(len(lanes.offers), dtype=np.int64),
    )
    rescue = rescue_of(instance, indices, np.arange(len(instance.tasks)))
    by_price = np.argsort(lanes.price, axis=1, kind="stable")
    way, lane = np.full((2, len(groups)), -1)
    # Of fewer tasks, plain Python has a plan before the loop is loaded.
    place = place_early if len(groups) >= MANY_TASKS else getattr(place_early, "py_func", place_early)
    if not place(groups[order], by_price, lanes.seconds, latest, room, rescue, way, lane):
        return None
    seconds = lanes.seconds[groups[order], way]
    first_vm = np.cumsum(room.opened) - room.opened
    vm, core = first_vm[way] + lane // lanes.n_lanes[way], lane % lanes.n_lanes[way]
    by_lane = np.lexsort((np.arange(len(order)), core, vm))
    before = np.cumsum(seconds[by_lane]) - seconds[by_lane]
    begins = np.flatnonzero(np.diff(vm[by_lane], prepend=-1) | np.diff(core[by_lane], prepend=-1))
    start = before - np.repeat(before[begins], np.diff(np.append(begins, len(order))))
    task_vm, task_core, task_start = (np.empty(len(order), dtype=np.int64) for _ in range(3))
    tasks = order[by_lane]
    vm_offer = np.repeat(indices, room.opened)
    task_vm[tasks], task_core[tasks] = vm[by_lane], core[by_lane]
    task_start[tasks] = start + instance.ready_s[vm_offer[vm[by_lane]]]
    baseline = instance.offer_is_burstable[vm_offer][task_vm]
    return Schedule(instance, vm_offer, task_vm, task_core, task_start, baseline)


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
