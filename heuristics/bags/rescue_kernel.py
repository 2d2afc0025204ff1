"""Rescues of what spot VMs lose, and the survey of all moments at which they may: the inner loops, compiled by numba.

A *rental* is a regular on-demand offer, of which a rescue may rent VMs. Seconds count from the start of all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...core.compiled import compiled
from ...instances.durations import NEVER

if TYPE_CHECKING:
    from ...core.quantities import BoolArray, FloatArray, IntArray

DONE, OVER_BUDGET, FAILED = range(3)
"""How a survey ended: all moments are covered; it is to be gone on with; no rescue was found."""

_NOISE_S = 1e-9
_SHIFT = 32
_LOW = (1 << _SHIFT) - 1


class Rentals(NamedTuple):
    """What a rescue may rent, cheapest first.

    Attributes
    ----------
    seconds : array of int, shape (n_rentals, n_groups)
        Run time of each group; `NEVER` where it cannot run.
    vcpus, limit, size_kb : array of int, shape (n_rentals,)
        Cores, most VMs, and memory; negative if that cannot bind.
    price : array of float, shape (n_rentals,)
        Of a VM for a second.
    strongest : array of int, shape (n_rentals,)
        Rentals by their cores, most first.
    need_kb : array of int, shape (n_groups,)
        Memory of the tasks.
    """

    seconds: IntArray
    vcpus: IntArray
    limit: IntArray
    size_kb: IntArray
    price: FloatArray
    strongest: IntArray
    need_kb: IntArray


class SpotTasks(NamedTuple):
    """The tasks of spot VMs: times, group, type of the VM; run time, checkpoints, and speed of the VM."""

    start: IntArray
    end: IntArray
    group: IntArray
    type_index: IntArray
    runtime: FloatArray
    interval: FloatArray
    period: FloatArray
    checkpoints: IntArray
    speed: FloatArray


class SpotVms(NamedTuple):
    """The spot VMs: type, planned end, from when on they cost their price, price of a second."""

    type_index: IntArray
    end: IntArray
    paid_until: IntArray
    price: FloatArray


class OwnVms(NamedTuple):
    """The plan's regular on-demand VMs, and the ends of all on-demand VMs.

    Attributes
    ----------
    rental, end, paid_until : array of int, shape (n_own,)
        What each is, its planned end, and from when on it costs more than planned.
    first_core : array of int, shape (n_own + 1,)
        Its first core in ``core_end``. A VM that takes no more tasks has none.
    core_end : array of int
        Planned end of each core.
    counted_end : array of int
        Ends of all that count against ``max_on_demand``, burstable ones included.
    """

    rental: IntArray
    end: IntArray
    paid_until: IntArray
    first_core: IntArray
    core_end: IntArray
    counted_end: IntArray


class Terms(NamedTuple):
    """Deadline; boot; overhead from the request of a VM until it runs a migrated task; most on-demand VMs."""

    deadline: int
    boot: int
    overhead: int
    most_on_demand: int


class Bag(NamedTuple):
    """All of a plan that a rescue is about."""

    rentals: Rentals
    tasks: SpotTasks
    spot_vms: SpotVms
    own: OwnVms
    terms: Terms


class Lost(NamedTuple):
    """What is lost at a moment, longest first: index in `SpotTasks`, and what is left of it on each rental."""

    task: IntArray
    left: IntArray
    need_kb: IntArray


class Packing(NamedTuple):
    """Places of lost tasks on VMs, in the order of `Lost`; new VMs and those of the plan (``vm_own`` >= 0).

    ``vm_last`` and ``before`` link the tasks of each VM; ``used`` holds the numbers of VMs and of cores.
    """

    vm: IntArray
    core: IntArray
    start: IntArray
    end: IntArray
    vm_rental: IntArray
    vm_own: IntArray
    vm_first: IntArray
    vm_cores: IntArray
    vm_end: IntArray
    vm_last: IntArray
    before: IntArray
    core_free: IntArray
    core_vm: IntArray
    used: IntArray


@compiled
def _checkpoints_by(tasks: SpotTasks, task: int, elapsed_s: int) -> int:
    """Checkpoints that are written when a task has run for so long."""
    most: int = tasks.checkpoints[task]
    if most == 0 or elapsed_s <= 0:
        return 0
    done = math.floor((elapsed_s * tasks.speed[task] + _NOISE_S) / tasks.period[task])
    return min(most, int(done))


@compiled
def next_moment(bag: Bag, down: BoolArray, since: int) -> int:
    """Return the first second from some second on before something of what may be lost completes; -1 if none does."""
    tasks = bag.tasks
    best = -1
    for task in range(len(tasks.start)):
        end = tasks.end[task]
        if end <= since or not down[tasks.type_index[task]]:
            continue
        start = tasks.start[task]
        moment = end - 1
        if tasks.checkpoints[task] > 0 and (best < 0 or start < best):
            done = _checkpoints_by(tasks, task, since - start)
            if done < tasks.checkpoints[task]:
                elapsed = max(math.ceil((done + 1) * tasks.period[task] / tasks.speed[task]), 1)
                while _checkpoints_by(tasks, task, elapsed) <= done:
                    elapsed += 1
                while _checkpoints_by(tasks, task, elapsed - 1) > done:
                    elapsed -= 1
                moment = min(moment, start + elapsed - 1)
        if best < 0 or moment < best:
            best = moment
    return best


@compiled
def lost_at(bag: Bag, down: BoolArray, now: int) -> Lost:
    """Return what is lost if the types that are marked go down, after the finishes and starts of that second."""
    rentals, tasks = bag.rentals, bag.tasks
    n_lost = 0
    for task in range(len(tasks.start)):
        if tasks.end[task] > now and down[tasks.type_index[task]]:
            n_lost += 1
    chosen = np.empty(n_lost, dtype=np.int64)
    saved = np.zeros(n_lost)
    least = np.empty(n_lost, dtype=np.int64)
    n_lost = 0
    for task in range(len(tasks.start)):
        if tasks.end[task] <= now or not down[tasks.type_index[task]]:
            continue
        fraction = 0.0
        done = _checkpoints_by(tasks, task, now - tasks.start[task])
        if done:
            fraction = done * tasks.interval[task] / tasks.runtime[task]
        shortest = NEVER
        for rental in range(len(rentals.vcpus)):
            shortest = min(shortest, _left(rentals, rental, tasks.group[task], fraction))
        chosen[n_lost], saved[n_lost], least[n_lost] = task, fraction, -shortest
        n_lost += 1
    order = np.argsort(least, kind="mergesort")
    left = np.empty((len(rentals.vcpus), n_lost), dtype=np.int64)
    need_kb = np.empty(n_lost, dtype=np.int64)
    task_of = np.empty(n_lost, dtype=np.int64)
    for place in range(n_lost):
        task_of[place] = chosen[order[place]]
        group = tasks.group[task_of[place]]
        need_kb[place] = rentals.need_kb[group]
        for rental in range(len(rentals.vcpus)):
            left[rental, place] = _left(rentals, rental, group, saved[order[place]])
    return Lost(task_of, left, need_kb)


@compiled
def _left(rentals: Rentals, rental: int, group: int, saved: float) -> int:
    """What is left of a task on a rental, in whole seconds."""
    seconds: int = rentals.seconds[rental, group]
    if saved == 0.0 or seconds >= NEVER:
        return seconds
    return math.ceil(seconds * (1.0 - saved) - _NOISE_S)


@compiled
def may_open(bag: Bag, now: int) -> IntArray:
    """New VMs that may be requested at a second: of each rental, and of all of them (the last entry)."""
    n_rentals = len(bag.rentals.vcpus)
    room = np.empty(n_rentals + 1, dtype=np.int64)
    for rental in range(n_rentals):  # loops compile in a fraction of the time that slices take
        room[rental] = bag.rentals.limit[rental]
    room[n_rentals] = bag.terms.most_on_demand
    for end in bag.own.counted_end:
        if end > now:
            room[n_rentals] -= 1
    for vm in range(len(bag.own.end)):
        if bag.own.end[vm] > now:
            room[bag.own.rental[vm]] -= 1
    return room


@compiled
def _packing(bag: Bag, lost: Lost, now: int, room: IntArray) -> Packing:
    """Make a packing without tasks: the plan's VMs that are alive."""
    rentals, own = bag.rentals, bag.own
    n_lost = len(lost.task)
    n_cores = len(own.core_end)
    for rental in range(len(rentals.vcpus)):
        vms = max(min(room[rental], n_lost), 0)
        cores = min(rentals.vcpus[rental], n_lost)
        n_cores += vms * cores if rentals.size_kb[rental] >= 0 else min(vms * cores, n_lost + cores)
    n_vms = len(own.end) + n_lost
    of_tasks = np.empty((5, n_lost), dtype=np.int64)
    of_vms = np.zeros((6, n_vms), dtype=np.int64)
    of_cores = np.empty((2, n_cores), dtype=np.int64)
    packing = Packing(
        of_tasks[0],
        of_tasks[1],
        of_tasks[2],
        of_tasks[3],
        of_vms[0],
        of_vms[1],
        of_vms[2],
        of_vms[3],
        of_vms[4],
        of_vms[5],
        of_tasks[4],
        of_cores[0],
        of_cores[1],
        np.zeros(2, dtype=np.int64),
    )
    earliest = now + bag.terms.overhead
    for vm in range(len(own.end)):
        if own.end[vm] > now:
            number = _add_vm(packing, own.rental[vm], vm, own.first_core[vm + 1] - own.first_core[vm], earliest)
            first = packing.vm_first[number]
            for core in range(packing.vm_cores[number]):
                # Where memory may bind, what the plan still runs there is waited for.
                busy = own.end[vm] if rentals.size_kb[own.rental[vm]] >= 0 else own.core_end[own.first_core[vm] + core]
                packing.core_free[first + core] = max(busy, earliest)
    return packing


@compiled
def _add_vm(packing: Packing, rental: int, own: int, cores: int, free: int) -> int:
    """Add a VM whose cores are free from some second on; return its number."""
    vm: int = packing.used[0]
    first = packing.used[1]
    packing.vm_rental[vm], packing.vm_own[vm] = rental, own
    packing.vm_first[vm], packing.vm_cores[vm] = first, cores
    packing.vm_end[vm], packing.vm_last[vm] = 0, -1
    for core in range(first, first + cores):
        packing.core_free[core] = free
        packing.core_vm[core] = vm
    packing.used[0] += 1
    packing.used[1] += cores
    return vm


@compiled
def _place(packing: Packing, place: int, core: int, start: int, left: int) -> None:
    """Put a task on a core."""
    vm = packing.core_vm[core]
    packing.vm[place], packing.core[place] = vm, core - packing.vm_first[vm]
    packing.start[place], packing.end[place] = start, start + left
    packing.before[place] = packing.vm_last[vm]
    packing.vm_last[vm] = place
    packing.core_free[core] = start + left
    packing.vm_end[vm] = max(packing.vm_end[vm], start + left)


@compiled
def _start_with_memory(packing: Packing, lost: Lost, vm: int, size_kb: int, place: int, left: int) -> tuple[int, int]:
    """Return when a task could start on a VM whose memory may bind, and its core.

    The rule of `spotbag.schedules.timing.VmTimeline`: the earliest second at which a core is free for good and the
    memory suffices to the end; the core that has been idle for the shortest time then.
    """
    first, beyond = packing.vm_first[vm], packing.vm_first[vm] + packing.vm_cores[vm]
    start = packing.core_free[first:beyond].min()
    room = size_kb - lost.need_kb[place]
    while True:
        blocked = -1
        probe = -2
        while probe != -1:
            if probe == -2:
                moment = start
                probe = packing.vm_last[vm]
            else:
                moment = packing.start[probe]
                probe = packing.before[probe]
            if moment < start or moment >= start + left or (blocked >= 0 and moment >= blocked):
                continue
            used = 0
            other = packing.vm_last[vm]
            while other >= 0:
                if packing.start[other] <= moment < packing.end[other]:
                    used += lost.need_kb[other]
                other = packing.before[other]
            if used > room:
                blocked = moment
        if blocked < 0:
            break
        freed = -1
        other = packing.vm_last[vm]
        while other >= 0:
            end = packing.end[other]
            if packing.start[other] <= blocked < end and (freed < 0 or end < freed):
                freed = end
            other = packing.before[other]
        start = freed
    chosen = -1
    for core in range(first, beyond):
        free = packing.core_free[core]
        if free <= start and (chosen < 0 or free > packing.core_free[chosen]):
            chosen = core
    return start, chosen


@compiled
def _sift_up(heap: IntArray, place: int, key: int) -> None:
    while place > 0:
        parent = (place - 1) >> 1
        if heap[parent] <= key:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = key


@compiled
def _replace_least(heap: IntArray, size: int, key: int) -> None:
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= key:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = key


@compiled
def longest_first(
    bag: Bag, lost: Lost, now: int, latest: int, room: IntArray, pattern: Packing, halt: IntArray
) -> tuple[bool, Packing]:
    """Put each task, longest first, where it ends first.

    Parameters
    ----------
    room : array of int
        See `may_open`.
    pattern : Packing
        Only VMs like those that have tasks in that packing are used; if none has, all that may be had.

    Returns
    -------
    bool, Packing
        Whether all tasks end by ``latest``, and where they are.
    """
    rentals = bag.rentals
    n_rentals = len(rentals.vcpus)
    n_lost = len(lost.task)
    earliest = now + bag.terms.overhead
    packing = _packing(bag, lost, now, room)
    room = room.copy()
    fixed = False  # not an argument: for each constant there would be another version of the function
    for vm in range(pattern.used[0]):
        fixed |= pattern.vm_end[vm] > 0
    if fixed:
        for vm in range(packing.used[0]):
            if pattern.vm_end[vm] == 0:
                packing.vm_cores[vm] = 0
        for vm in range(packing.used[0], pattern.used[0]):
            _add_vm(packing, pattern.vm_rental[vm], -1, pattern.vm_cores[vm], earliest)
        for rental in range(n_rentals + 1):
            room[rental] = 0
    heaps = np.empty((n_rentals, len(packing.core_free) + 1), dtype=np.int64)
    sizes = np.zeros(n_rentals, dtype=np.int64)
    for vm in range(packing.used[0]):
        rental = packing.vm_rental[vm]
        if rentals.size_kb[rental] < 0:
            for core in range(packing.vm_first[vm], packing.vm_first[vm] + packing.vm_cores[vm]):
                _sift_up(heaps[rental], sizes[rental], (packing.core_free[core] << _SHIFT) | core)
                sizes[rental] += 1
    for place in range(n_lost):
        best_end, best_rental, best_core, best_start = latest + 1, -1, -1, 0
        for rental in range(n_rentals):
            left = lost.left[rental, place]
            if earliest + left >= best_end:
                continue
            if rentals.size_kb[rental] < 0:
                if sizes[rental] > 0:
                    free = heaps[rental, 0] >> _SHIFT
                    if free + left < best_end:
                        best_end, best_rental, best_start = free + left, rental, free
                        best_core = heaps[rental, 0] & _LOW
            else:
                for vm in range(packing.used[0]):
                    if packing.vm_rental[vm] != rental or packing.vm_cores[vm] == 0:
                        continue
                    first = packing.vm_first[vm]
                    if packing.core_free[first : first + packing.vm_cores[vm]].min() + left >= best_end:
                        continue
                    start, core = _start_with_memory(packing, lost, vm, rentals.size_kb[rental], place, left)
                    if start + left < best_end:
                        best_end, best_rental, best_core, best_start = start + left, rental, core, start
            if earliest + left < best_end and room[rental] > 0 and room[n_rentals] > 0:
                best_end, best_rental, best_core, best_start = earliest + left, rental, -1, earliest
        if best_rental < 0 or halt[0]:
            return False, packing
        fits = rentals.size_kb[best_rental] < 0
        if best_core < 0:
            cores = min(rentals.vcpus[best_rental], n_lost)
            vm = _add_vm(packing, best_rental, -1, cores, earliest)
            room[best_rental] -= 1
            room[n_rentals] -= 1
            best_core = packing.vm_first[vm]
            if fits:
                for core in range(best_core, best_core + cores):
                    _sift_up(heaps[best_rental], sizes[best_rental], (earliest << _SHIFT) | core)
                    sizes[best_rental] += 1
                # The new cores are free before all others; the task goes to whichever of them is on top.
                best_core = heaps[best_rental, 0] & _LOW
        _place(packing, place, best_core, best_start, lost.left[best_rental, place])
        if fits:
            _replace_least(heaps[best_rental], sizes[best_rental], (best_end << _SHIFT) | best_core)
    return True, packing


@compiled
def _set_leaf(tree: IntArray, leaf: int, value: int) -> None:
    place = len(tree) // 2 + leaf
    tree[place] = value
    place >>= 1
    while place >= 1:
        greater = max(tree[2 * place], tree[2 * place + 1])
        if tree[place] == greater:
            break
        tree[place] = greater
        place >>= 1


@compiled
def _first_leaf(tree: IntArray, at_least: int) -> int:
    """First leaf with a value of at least so much; -1 if there is none."""
    if tree[1] < at_least:
        return -1
    place = 1
    half = len(tree) // 2
    while place < half:
        place *= 2
        if tree[place] < at_least:
            place += 1
    return place - half


@compiled
def first_fit(
    bag: Bag, lost: Lost, now: int, latest: int, room: IntArray, order: IntArray, halt: IntArray
) -> tuple[bool, Packing]:
    """Put each task, longest first, on the first core that ends it by ``latest``.

    The plan's VMs come first, then new ones of each rental, in their order; the next is opened where none has room.
    """
    rentals = bag.rentals
    n_rentals = len(rentals.vcpus)
    n_lost = len(lost.task)
    earliest = now + bag.terms.overhead
    packing = _packing(bag, lost, now, room)
    room = room.copy()
    half = 1
    while half < len(packing.core_free) + 1:
        half *= 2
    trees = np.full((n_rentals, 2 * half), -1, dtype=np.int64)
    leaf_core = np.empty((n_rentals, half), dtype=np.int64)
    leaves = np.zeros(n_rentals, dtype=np.int64)
    for core in range(packing.used[1]):
        rental = packing.vm_rental[packing.core_vm[core]]
        leaf_core[rental, leaves[rental]] = core
        _set_leaf(trees[rental], leaves[rental], latest - packing.core_free[core])
        leaves[rental] += 1
    own_leaves = leaves.copy()
    own_vms = packing.used[0]
    for place in range(n_lost):
        if halt[0]:
            return False, packing
        best_rental, best_leaf, best_core, best_start = -1, -1, -1, 0
        for attempt in range(2 * n_rentals):
            own = attempt < n_rentals
            rental = order[attempt % n_rentals]
            left = lost.left[rental, place]
            if earliest + left > latest:
                continue
            if rentals.size_kb[rental] < 0:
                leaf = _first_leaf(trees[rental], left)
                if leaf >= 0 and (not own or leaf < own_leaves[rental]):
                    best_rental, best_leaf, best_core = rental, leaf, leaf_core[rental, leaf]
                    best_start = packing.core_free[best_core]
                    break
            else:
                for vm in range(0 if own else own_vms, own_vms if own else packing.used[0]):
                    if packing.vm_rental[vm] != rental or packing.vm_cores[vm] == 0:
                        continue
                    first = packing.vm_first[vm]
                    if packing.core_free[first : first + packing.vm_cores[vm]].min() + left > latest:
                        continue
                    start, core = _start_with_memory(packing, lost, vm, rentals.size_kb[rental], place, left)
                    if start + left <= latest:
                        best_rental, best_core, best_start = rental, core, start
                        break
                if best_rental >= 0:
                    break
            if not own and room[rental] > 0 and room[n_rentals] > 0:
                room[rental] -= 1
                room[n_rentals] -= 1
                vm = _add_vm(packing, rental, -1, min(rentals.vcpus[rental], n_lost), earliest)
                best_rental, best_core, best_start = rental, packing.vm_first[vm], earliest
                if rentals.size_kb[rental] < 0:
                    best_leaf = leaves[rental]
                    for core in range(best_core, packing.used[1]):
                        leaf_core[rental, leaves[rental]] = core
                        _set_leaf(trees[rental], leaves[rental], latest - earliest)
                        leaves[rental] += 1
                break
        if best_rental < 0:
            return False, packing
        left = lost.left[best_rental, place]
        _place(packing, place, best_core, best_start, left)
        if best_leaf >= 0:
            _set_leaf(trees[best_rental], best_leaf, latest - best_start - left)
    return True, packing


@compiled
def rescue_cost(bag: Bag, packing: Packing, now: int, until: int) -> float:
    """Return the most that a rescue costs, carried out as it is from a second on, or later by some seconds.

    VMs of the plan that have ended meanwhile are replaced by new ones of the same kind.
    """
    cost = 0.0
    for vm in range(packing.used[0]):
        end = packing.vm_end[vm]
        if end == 0:
            continue
        price = bag.rentals.price[packing.vm_rental[vm]]
        own = packing.vm_own[vm]
        if own < 0:
            cost += price * (end - now - bag.terms.boot)
            continue
        planned = bag.own.end[own]
        seconds = max(end + min(until, planned - 1) - now - bag.own.paid_until[own], 0)
        if planned <= until:
            seconds = max(seconds, end - now - bag.terms.boot)
        cost += price * seconds
    return cost


@compiled
def best_rescue(
    bag: Bag, lost: Lost, now: int, patience: int, cheap: bool, halt: IntArray
) -> tuple[bool, int, int, float, Packing]:
    """Find a rescue of what is lost at a second, and if asked for, a cheap one.

    Parameters
    ----------
    patience : int
        Seconds by which it should be possible to carry it out later.
    cheap : bool
        Whether its cost matters.

    Returns
    -------
    found : bool
        Whether there is one.
    slack : int
        Seconds by which it ends before the deadline; of the quickest one found, unless the cost matters.
    delay : int
        Seconds by which this one may be carried out later.
    cost : float
        The most that it costs then, see `rescue_cost`.
    packing : Packing
        The rescue.
    """
    deadline = bag.terms.deadline
    room = may_open(bag, now)
    all_rentals = np.arange(len(bag.rentals.vcpus))
    found, packing = longest_first(bag, lost, now, deadline, room, _packing(bag, lost, now, room), halt)
    if not found:
        found, packing = first_fit(bag, lost, now, deadline, room, all_rentals, halt)
    if not found:
        found, packing = first_fit(bag, lost, now, deadline, room, bag.rentals.strongest, halt)
    if not found:
        return False, 0, 0, 0.0, packing
    slack = deadline
    if len(lost.task):
        slack = deadline - packing.end.max()
    delay = min(slack, patience)
    cost = rescue_cost(bag, packing, now, now + delay)
    if cheap:
        fits, filled = first_fit(bag, lost, now, deadline - delay, room, all_rentals, halt)
        if fits:
            filled_cost = rescue_cost(bag, filled, now, now + delay)
            even, evened = longest_first(bag, lost, now, deadline - delay, room, filled, halt)
            if filled_cost < cost:
                cost, packing = filled_cost, filled
            if even:
                evened_cost = rescue_cost(bag, evened, now, now + delay)
                if evened_cost < cost:
                    cost, packing = evened_cost, evened
        if len(lost.task):
            slack = deadline - packing.end.max()
    return True, slack, delay, cost, packing


@compiled
def survey(
    bag: Bag,
    down: BoolArray,
    since: int,
    until: int,
    patience: int,
    cheap: bool,
    budget: int,
    moments: IntArray,
    costs: FloatArray,
    halt: IntArray,
) -> tuple[int, int, int, int]:
    """Find a rescue for each moment from a second on; one serves later moments too, as long as it can wait.

    Parameters
    ----------
    down : array of bool, shape (n_types,)
        The types that go down.
    since, until : int
        First and last second that matter.
    patience, cheap
        See `best_rescue`.
    budget : int
        Work to be done at most, in places that are looked at.
    moments : array of int, shape (most, 3)
        Receives the second of each rescue, the last that it serves, and its slack.
    costs : array of float, shape (most,)
        Receives the most that the lost spot VMs and the rescue cost at any of these seconds.

    Returns
    -------
    count, status, second, work : int
        Rescues; `DONE`, `OVER_BUDGET` or `FAILED`; from where to go on, or where there is none; work done.
    """
    count = 0
    work = 0
    second = since
    while True:
        now = next_moment(bag, down, second)
        if now < 0 or now > until:
            return count, DONE, second, work
        if count == len(costs) or work > budget:
            return count, OVER_BUDGET, second, work
        lost = lost_at(bag, down, now)
        work += (len(lost.task) + len(bag.tasks.start) // 16) * len(bag.rentals.vcpus)
        found, slack, delay, cost, _ = best_rescue(bag, lost, now, min(patience, until - now), cheap, halt)
        if not found:
            return count, FAILED, now, work
        last = now + delay
        for vm in range(len(bag.spot_vms.end)):
            if down[bag.spot_vms.type_index[vm]]:
                seconds = min(bag.spot_vms.end[vm], last) - bag.spot_vms.paid_until[vm]
                cost += bag.spot_vms.price[vm] * max(seconds, 0)
        moments[count, 0], moments[count, 1], moments[count, 2] = now, last, slack
        costs[count] = cost
        count += 1
        second = last + 1
