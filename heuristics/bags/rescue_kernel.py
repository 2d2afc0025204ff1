"""Rescues of what spot VMs lose, and the survey of all moments at which they may: the inner loops, compiled by numba.

A *rental* is a regular on-demand offer, of which a rescue may rent VMs. Seconds count from the start of all.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.bill import unpaid_usd
from ...core.compiled import compiled, compiled_part, inlined_part
from ...instances.durations import NEVER

if TYPE_CHECKING:
    from ...core.quantities import BoolArray, FloatArray, IntArray

DONE, OVER_BUDGET, FAILED = range(3)
"""How a survey ended: all moments are covered; it is to be gone on with; no rescue was found."""
MOST_TYPES = 6
"""Types of which all sets that may go down are looked at, 63 at most; for more, their bill is bounded."""

_NOISE_S = 1e-9
_SHIFT = 32
_LOW = (1 << _SHIFT) - 1


RENTAL = np.dtype([("vcpus", np.int64), ("limit", np.int64), ("size_kb", np.int64), ("price", np.float64)])
"""What a rescue may rent: cores, most VMs, memory (negative if that cannot bind), price of a second."""
SPOT_TASK = np.dtype(
    [(name, np.int64) for name in ("start", "end", "group", "type_index", "checkpoints")]
    + [(name, np.float64) for name in ("runtime", "interval", "period", "speed")]
)
"""A task of a spot VM: times, group, type and speed of the VM; run time; number of checkpoints, interval and period."""
SPOT_VM = np.dtype([("type_index", np.int64), ("end", np.int64), ("paid_until", np.int64), ("price", np.float64)])
"""A spot VM: type, planned end, from when on it costs its price, price of a second."""
OWN_VM = np.dtype([(name, np.int64) for name in ("rental", "end", "paid_until", "first_core", "cores")])
"""A regular on-demand VM of the plan: what it is, its planned end, from when on it costs more than planned; its cores
in ``Bag.core_end``, none if it takes no more tasks."""
PLACE = np.dtype([(name, np.int64) for name in ("vm", "core", "start", "end", "before")])
PACKED_VM = np.dtype([(name, np.int64) for name in ("rental", "own", "first", "cores", "end", "last")])
_CORE = np.dtype([("free", np.int64), ("vm", np.int64)])


class Terms(NamedTuple):
    """Deadline; boot; overhead from the request of a VM until it runs a migrated task; most on-demand VMs."""

    deadline: int
    boot: int
    overhead: int
    most_on_demand: int


class Bag(NamedTuple):
    """All of a plan that a rescue is about, in few arrays of records: each array costs time to compile and to pass.

    Attributes
    ----------
    rentals : array of RENTAL
        What a rescue may rent, cheapest first.
    orders : array of int, shape (2, n_rentals)
        Rentals, cheapest first, and by their cores, most first.
    seconds : array of int, shape (n_rentals, n_groups)
        Run time of each group; `NEVER` where it cannot run.
    need_kb : array of int, shape (n_groups,)
        Memory of the tasks.
    tasks : array of SPOT_TASK
        The tasks of spot VMs.
    spot_vms : array of SPOT_VM
        The spot VMs.
    own_vms : array of OWN_VM
        The regular on-demand VMs.
    core_end : array of int
        Planned end of each of their cores.
    counted_end : array of int
        Ends of all VMs that count against ``max_on_demand``, burstable ones included.
    terms : Terms
        Deadline and overheads.
    """

    rentals: Any
    orders: IntArray
    seconds: IntArray
    need_kb: IntArray
    tasks: Any
    spot_vms: Any
    own_vms: Any
    core_end: IntArray
    counted_end: IntArray
    terms: Terms


class Lost(NamedTuple):
    """What is lost at a moment, longest first: index in ``Bag.tasks``, and what is left of it on each rental."""

    task: IntArray
    left: IntArray
    need_kb: IntArray


class Packing(NamedTuple):
    """Places of lost tasks on VMs, in the order of `Lost`; new VMs and those of the plan (``own`` >= 0).

    Attributes
    ----------
    places : array of records
        VM, core, start, and end of each task, and which task was put on the VM before.
    vms : array of records
        Rental, number in ``Bag.own_vms``, first core and number of cores, end, and the task that came last.
    cores : array of records
        From when on each is free, and its VM.
    used : array of int, shape (2,)
        Numbers of VMs and of cores.
    """

    places: Any
    vms: Any
    cores: Any
    used: IntArray


@compiled_part
def _checkpoints_by(task: Any, elapsed_s: int) -> int:
    """Checkpoints that are written when a task has run for so long."""
    most: int = task.checkpoints
    if most == 0 or elapsed_s <= 0:
        return 0
    done = math.floor((elapsed_s * task.speed + _NOISE_S) / task.period)
    return min(most, int(done))


@compiled_part
def _next_moment(bag: Bag, down: BoolArray, since: int) -> int:
    """Return the first second from some second on before which nothing changes for a rescue; -1 if nothing is lost.

    It is the one before something of what may be lost completes, or before a VM ends that counts against a limit. So a
    rescue of that second begins as well at any since ``since``: the same is lost, and as many VMs can be requested.
    """
    best = -1
    for task in bag.tasks:
        if task.end <= since or not down[task.type_index]:
            continue
        moment = task.end - 1
        if task.checkpoints > 0 and (best < 0 or task.start < best):
            done = _checkpoints_by(task, since - task.start)
            if done < task.checkpoints:
                elapsed = max(math.ceil((done + 1) * task.period / task.speed), 1)
                while _checkpoints_by(task, elapsed) <= done:
                    elapsed += 1
                while _checkpoints_by(task, elapsed - 1) > done:
                    elapsed -= 1
                moment = min(moment, task.start + elapsed - 1)
        if best < 0 or moment < best:
            best = moment
    if best >= 0:
        for end in bag.counted_end:
            if since < end <= best:
                best = end - 1
    return best


@compiled
def lost_at(bag: Bag, down: BoolArray, now: int) -> Lost:
    """Return what is lost if the types that are marked go down, after the finishes and starts of that second."""
    n_rentals = len(bag.rentals)
    heap = np.empty(len(bag.tasks), dtype=np.int64)
    n_lost = 0
    for number in range(len(bag.tasks)):
        task = bag.tasks[number]
        if task.end <= now or not down[task.type_index]:
            continue
        saved = _saved(task, now)
        shortest = _LOW
        for rental in range(n_rentals):
            shortest = min(shortest, _left(bag.seconds[rental, task.group], saved))
        _sift_up(heap, n_lost, ((_LOW - shortest) << _SHIFT) | number)
        n_lost += 1
    lost = Lost(
        np.empty(n_lost, dtype=np.int64),
        np.empty((n_rentals, n_lost), dtype=np.int64),
        np.empty(n_lost, dtype=np.int64),
    )
    for place in range(n_lost):
        number = heap[0] & _LOW
        last = n_lost - 1 - place
        _replace_least(heap, last, heap[last])
        task = bag.tasks[number]
        saved = _saved(task, now)
        lost.task[place] = number
        lost.need_kb[place] = bag.need_kb[task.group]
        for rental in range(n_rentals):
            lost.left[rental, place] = _left(bag.seconds[rental, task.group], saved)
    return lost


@compiled_part
def _saved(task: Any, now: int) -> float:
    """Part of a task that its checkpoints have saved at a second."""
    done = _checkpoints_by(task, now - task.start)
    saved: float = done * task.interval / task.runtime if done else 0.0
    return saved


@compiled_part
def _left(seconds: int, saved: float) -> int:
    """What is left of a task, in whole seconds."""
    if saved == 0.0 or seconds >= NEVER:
        return seconds
    return math.ceil(seconds * (1.0 - saved) - _NOISE_S)


@compiled
def may_open(bag: Bag, now: int) -> IntArray:
    """New VMs that may be requested at a second: of each rental, and of all of them (the last entry)."""
    n_rentals = len(bag.rentals)
    room = np.empty(n_rentals + 1, dtype=np.int64)
    for rental in range(n_rentals):  # loops compile in a fraction of the time that slices take
        room[rental] = bag.rentals[rental].limit
    room[n_rentals] = bag.terms.most_on_demand
    for end in bag.counted_end:
        if end > now:
            room[n_rentals] -= 1
    for vm in bag.own_vms:
        if vm.end > now:
            room[vm.rental] -= 1
    return room


@compiled_part
def _packing(bag: Bag, lost: Lost, now: int, room: IntArray) -> Packing:
    """Make a packing without tasks: the plan's VMs that are alive."""
    n_lost = len(lost.task)
    n_cores = len(bag.core_end)
    for number in range(len(bag.rentals)):
        rental = bag.rentals[number]
        vms = max(min(room[number], n_lost), 0)
        cores = min(rental.vcpus, n_lost)
        n_cores += vms * cores if rental.size_kb >= 0 else min(vms * cores, n_lost + cores)
    packing = Packing(
        np.empty(n_lost, dtype=PLACE),
        np.empty(len(bag.own_vms) + n_lost, dtype=PACKED_VM),
        np.empty(n_cores, dtype=_CORE),
        np.zeros(2, dtype=np.int64),
    )
    earliest = now + bag.terms.overhead
    for number in range(len(bag.own_vms)):
        own = bag.own_vms[number]
        if own.end > now:
            vm = packing.vms[_add_vm(packing, own.rental, own.cores, earliest)]
            vm.own = number
            for core in range(own.cores):
                # Where memory may bind, what the plan still runs there is waited for.
                binds = bag.rentals[own.rental].size_kb >= 0
                busy = own.end if binds else bag.core_end[own.first_core + core]
                packing.cores[vm.first + core].free = max(busy, earliest)
    return packing


@compiled_part
def _add_vm(packing: Packing, rental: int, cores: int, free: int) -> int:
    """Add a new VM whose cores are free from some second on; return its number."""
    number: int = packing.used[0]
    first = packing.used[1]
    vm = packing.vms[number]
    vm.rental = rental
    vm.own = -1
    vm.first = first
    vm.cores = cores
    vm.end = 0
    vm.last = -1
    for core in range(first, first + cores):
        packing.cores[core].free = free
        packing.cores[core].vm = number
    packing.used[0] += 1
    packing.used[1] += cores
    return number


@compiled_part
def _place(packing: Packing, number: int, core: int, start: int, left: int) -> None:
    """Put a task on a core."""
    place = packing.places[number]
    place.vm = packing.cores[core].vm
    vm = packing.vms[place.vm]
    place.core = core - vm.first
    place.start = start
    place.end = start + left
    place.before = vm.last
    vm.last = number
    vm.end = max(vm.end, start + left)
    packing.cores[core].free = start + left


@compiled_part
def _free_from(packing: Packing, number: int) -> int:
    """When the first core of a VM is free for good."""
    vm = packing.vms[number]
    free: int = packing.cores[vm.first].free
    for core in range(vm.first + 1, vm.first + vm.cores):
        free = min(free, packing.cores[core].free)
    return free


@compiled_part
def _start_with_memory(
    packing: Packing, lost: Lost, number: int, size_kb: int, place: int, left: int
) -> tuple[int, int]:
    """Return when a task could start on a VM whose memory may bind, and its core.

    The rule of `spotbag.schedules.timing.VmTimeline`: the earliest second at which a core is free for good and the
    memory suffices to the end; the core that has been idle for the shortest time then.
    """
    vm = packing.vms[number]
    start = _free_from(packing, number)
    room = size_kb - lost.need_kb[place]
    while True:
        blocked = -1
        probe = -2
        while probe != -1:
            if probe == -2:
                moment = start
                probe = vm.last
            else:
                moment = packing.places[probe].start
                probe = packing.places[probe].before
            if moment < start or moment >= start + left or (blocked >= 0 and moment >= blocked):
                continue
            used = 0
            other = vm.last
            while other >= 0:
                if packing.places[other].start <= moment < packing.places[other].end:
                    used += lost.need_kb[other]
                other = packing.places[other].before
            if used > room:
                blocked = moment
        if blocked < 0:
            break
        freed = -1
        other = vm.last
        while other >= 0:
            end = packing.places[other].end
            if packing.places[other].start <= blocked < end and (freed < 0 or end < freed):
                freed = end
            other = packing.places[other].before
        start = freed
    chosen = -1
    for core in range(vm.first, vm.first + vm.cores):
        free = packing.cores[core].free
        if free <= start and (chosen < 0 or free > packing.cores[chosen].free):
            chosen = core
    return start, chosen


@compiled_part
def _sift_up(heap: IntArray, place: int, key: int) -> None:
    while place > 0:
        parent = (place - 1) >> 1
        if heap[parent] <= key:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = key


@compiled_part
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


@compiled_part
def _longest_first(
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
    n_rentals = len(bag.rentals)
    n_lost = len(lost.task)
    earliest = now + bag.terms.overhead
    packing = _packing(bag, lost, now, room)
    free_vms = np.empty(n_rentals + 1, dtype=np.int64)
    fixed = False  # not an argument: for each constant there would be another version of the function
    for vm in range(pattern.used[0]):
        fixed |= pattern.vms[vm].end > 0
    for rental in range(n_rentals + 1):
        free_vms[rental] = 0 if fixed else room[rental]
    if fixed:
        for vm in range(packing.used[0]):
            if pattern.vms[vm].end == 0:
                packing.vms[vm].cores = 0
        for vm in range(packing.used[0], pattern.used[0]):
            _add_vm(packing, pattern.vms[vm].rental, pattern.vms[vm].cores, earliest)
    heaps = np.empty((n_rentals, len(packing.cores) + 1), dtype=np.int64)
    sizes = np.zeros(n_rentals, dtype=np.int64)
    for vm in range(packing.used[0]):
        packed = packing.vms[vm]
        rental = packed.rental
        if bag.rentals[rental].size_kb < 0:
            for core in range(packed.first, packed.first + packed.cores):
                _sift_up(heaps[rental], sizes[rental], (packing.cores[core].free << _SHIFT) | core)
                sizes[rental] += 1
    for place in range(n_lost):
        best_end, best_rental, best_core, best_start = latest + 1, -1, -1, 0
        for rental in range(n_rentals):
            left = lost.left[rental, place]
            if earliest + left >= best_end:
                continue
            if bag.rentals[rental].size_kb < 0:
                if sizes[rental] > 0:
                    free = heaps[rental, 0] >> _SHIFT
                    if free + left < best_end:
                        best_end, best_rental, best_start = free + left, rental, free
                        best_core = heaps[rental, 0] & _LOW
            else:
                for vm in range(packing.used[0]):
                    if packing.vms[vm].rental != rental or packing.vms[vm].cores == 0:
                        continue
                    if _free_from(packing, vm) + left >= best_end:
                        continue
                    start, core = _start_with_memory(packing, lost, vm, bag.rentals[rental].size_kb, place, left)
                    if start + left < best_end:
                        best_end, best_rental, best_core, best_start = start + left, rental, core, start
            if earliest + left < best_end and free_vms[rental] > 0 and free_vms[n_rentals] > 0:
                best_end, best_rental, best_core, best_start = earliest + left, rental, -1, earliest
        if best_rental < 0 or halt[0]:
            return False, packing
        fits = bag.rentals[best_rental].size_kb < 0
        if best_core < 0:
            cores = min(bag.rentals[best_rental].vcpus, n_lost)
            vm = _add_vm(packing, best_rental, cores, earliest)
            free_vms[best_rental] -= 1
            free_vms[n_rentals] -= 1
            best_core = packing.vms[vm].first
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


@compiled_part
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


@compiled_part
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


@compiled_part
def _first_fit(
    bag: Bag, lost: Lost, now: int, latest: int, room: IntArray, order: IntArray, halt: IntArray
) -> tuple[bool, Packing]:
    """Put each task, longest first, on the first core that ends it by ``latest``.

    The plan's VMs come first, then new ones of each rental, in their order; the next is opened where none has room.
    """
    n_rentals = len(bag.rentals)
    n_lost = len(lost.task)
    earliest = now + bag.terms.overhead
    packing = _packing(bag, lost, now, room)
    free_vms = np.empty(n_rentals + 1, dtype=np.int64)
    for rental in range(n_rentals + 1):
        free_vms[rental] = room[rental]
    half = 1
    while half < len(packing.cores) + 1:
        half *= 2
    trees = np.empty((n_rentals, 2 * half), dtype=np.int64)
    for rental in range(n_rentals):
        for leaf in range(2 * half):
            trees[rental, leaf] = -1
    leaf_core = np.empty((n_rentals, half), dtype=np.int64)
    leaves = np.zeros(n_rentals, dtype=np.int64)
    own_leaves = np.zeros(n_rentals, dtype=np.int64)
    for core in range(packing.used[1]):
        rental = packing.vms[packing.cores[core].vm].rental
        leaf_core[rental, leaves[rental]] = core
        _set_leaf(trees[rental], leaves[rental], latest - packing.cores[core].free)
        leaves[rental] += 1
        own_leaves[rental] += 1
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
            if bag.rentals[rental].size_kb < 0:
                leaf = _first_leaf(trees[rental], left)
                if leaf >= 0 and (not own or leaf < own_leaves[rental]):
                    best_rental, best_leaf, best_core = rental, leaf, leaf_core[rental, leaf]
                    best_start = packing.cores[best_core].free
                    break
            else:
                for vm in range(0 if own else own_vms, own_vms if own else packing.used[0]):
                    if packing.vms[vm].rental != rental or packing.vms[vm].cores == 0:
                        continue
                    if _free_from(packing, vm) + left > latest:
                        continue
                    start, core = _start_with_memory(packing, lost, vm, bag.rentals[rental].size_kb, place, left)
                    if start + left <= latest:
                        best_rental, best_core, best_start = rental, core, start
                        break
                if best_rental >= 0:
                    break
            if not own and free_vms[rental] > 0 and free_vms[n_rentals] > 0:
                free_vms[rental] -= 1
                free_vms[n_rentals] -= 1
                vm = _add_vm(packing, rental, min(bag.rentals[rental].vcpus, n_lost), earliest)
                best_rental, best_core, best_start = rental, packing.vms[vm].first, earliest
                if bag.rentals[rental].size_kb < 0:
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


@compiled_part
def _vm_cost(bag: Bag, vm: Any, end: int, now: int, until: int) -> float:
    """Return the most that a VM of a rescue costs if its last task ends at a second; see `_rescue_cost`."""
    if end == 0:
        return 0.0
    seconds = end - now - bag.terms.boot
    if vm.own >= 0:
        planned = bag.own_vms[vm.own].end
        longer = max(end + min(until, planned - 1) - now - bag.own_vms[vm.own].paid_until, 0)
        seconds = max(longer, seconds) if planned <= until else longer
    cost: float = bag.rentals[vm.rental].price * seconds
    return cost


@compiled_part
def _rescue_cost(bag: Bag, packing: Packing, now: int, until: int) -> float:
    """Return the most that a rescue costs, carried out as it is from a second on, or later by some seconds.

    VMs of the plan that have ended meanwhile are replaced by new ones of the same kind.
    """
    cost = 0.0
    for number in range(packing.used[0]):
        cost += _vm_cost(bag, packing.vms[number], packing.vms[number].end, now, until)
    return cost


@compiled
def added_cost(bag: Bag, down: BoolArray, lost: Lost, packing: Packing, now: int, until: int) -> float:
    """Return the most that the bill grows, whichever of the types that are marked go down between two seconds.

    Of the rescue of all of them, only what is lost is carried out: a VM of the rescue is paid for until the last of
    these tasks ends. The spot VMs of the types that go down are paid until ``until``, all others as planned.
    """
    number_of = np.full(len(down), -1, dtype=np.int64)
    n_types = 0
    for vm in bag.spot_vms:
        if down[vm.type_index] and number_of[vm.type_index] < 0:
            number_of[vm.type_index] = n_types
            n_types += 1
    saved = np.zeros(n_types)
    for vm in bag.spot_vms:
        if down[vm.type_index]:
            saved[number_of[vm.type_index]] += unpaid_usd(vm.price, vm.end, max(until, vm.paid_until))
    if n_types > MOST_TYPES:  # bounded: all that is lost is done again, and the least is saved
        bound: float = _rescue_cost(bag, packing, now, until) - saved.min()
        return bound
    ends = np.zeros((packing.used[0], n_types), dtype=np.int64)
    for number in range(len(lost.task)):
        place = packing.places[number]
        of_type = number_of[bag.tasks[lost.task[number]].type_index]
        ends[place.vm, of_type] = max(ends[place.vm, of_type], place.end)
    most = -np.inf
    for chosen in range(1, 1 << n_types):
        cost = 0.0
        for vm in range(packing.used[0]):
            end = 0
            for k in range(n_types):
                if chosen >> k & 1:
                    end = max(end, ends[vm, k])
            cost += _vm_cost(bag, packing.vms[vm], end, now, until)
        for k in range(n_types):
            if chosen >> k & 1:
                cost -= saved[k]
        most = max(most, cost)
    return most


@compiled_part
def _last_end(packing: Packing) -> int:
    """End of the last task; 0 without tasks."""
    last = 0
    for place in packing.places:
        last = max(last, place.end)
    return last


@inlined_part
def _best_rescue(
    bag: Bag, lost: Lost, now: int, patience: int, cheap: bool, nothing: Packing, halt: IntArray
) -> tuple[bool, int, int, Packing]:
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
    packing : Packing
        The rescue.
    """
    deadline = bag.terms.deadline
    room = may_open(bag, now)
    found, packing = _longest_first(bag, lost, now, deadline, room, nothing, halt)
    if not found:
        found, packing = _first_fit(bag, lost, now, deadline, room, bag.orders[0], halt)
    if not found:
        found, packing = _first_fit(bag, lost, now, deadline, room, bag.orders[1], halt)
    if not found:
        return False, 0, 0, packing
    slack = deadline - _last_end(packing)
    delay = min(slack, patience)
    if cheap:
        cost = _rescue_cost(bag, packing, now, now + delay)
        fits, filled = _first_fit(bag, lost, now, deadline - delay, room, bag.orders[0], halt)
        if fits:
            filled_cost = _rescue_cost(bag, filled, now, now + delay)
            even, evened = _longest_first(bag, lost, now, deadline - delay, room, filled, halt)
            if filled_cost < cost:
                cost, packing = filled_cost, filled
            if even:
                evened_cost = _rescue_cost(bag, evened, now, now + delay)
                if evened_cost < cost:
                    cost, packing = evened_cost, evened
        slack = deadline - _last_end(packing)
    return True, slack, delay, packing


@compiled
def survey(
    bag: Bag,
    down: BoolArray,
    since: int,
    until: int,
    patience: int,
    cheap: bool,
    at_once: bool,
    budget: int,
    moments: IntArray,
    costs: FloatArray,
    halt: IntArray,
) -> tuple[int, int, int, int, Lost, Packing]:
    """Find a rescue for each moment from a second on; one serves later moments too, as long as it can wait.

    Parameters
    ----------
    down : array of bool, shape (n_types,)
        The types that go down.
    since, until : int
        First and last second that matter.
    patience, cheap
        See `_best_rescue`.
    at_once : bool
        Whether only a rescue for the first second itself is asked for.
    budget : int
        Work to be done at most, in places that are looked at.
    moments : array of int, shape (most, 3)
        Receives the second of each rescue, the last that it serves, and its slack.
    costs : array of float, shape (most,)
        Receives the most by which the bill grows at any of these seconds, if its cost matters; see `added_cost`.

    Returns
    -------
    count, status, second, work : int
        Rescues; `DONE`, `OVER_BUDGET` or `FAILED`; from where to go on, or where there is none; work done.
    lost, packing : Lost, Packing
        What the last rescue saves, and where.
    """
    count, work, second = 0, 0, since
    end = bag.terms.deadline
    lost = lost_at(bag, down, end)  # nothing
    nothing = packing = _packing(bag, lost, end, may_open(bag, end))
    while True:
        now = second if at_once else _next_moment(bag, down, second)
        if now < 0 or now > until or (at_once and count > 0):
            return count, DONE, second, work, lost, packing
        if count == len(costs) or work > budget:
            return count, OVER_BUDGET, second, work, lost, packing
        lost = lost_at(bag, down, now)
        work += (len(lost.task) + len(bag.tasks) // 16) * len(bag.rentals)
        found, slack, delay, packing = _best_rescue(bag, lost, now, min(patience, until - now), cheap, nothing, halt)
        if not found:
            return count, FAILED, now, work, lost, packing
        last = now + delay
        moments[count, 0], moments[count, 1], moments[count, 2] = now, last, slack
        costs[count] = added_cost(bag, down, lost, packing, now, last) if cheap else 0.0
        count += 1
        second = last + 1
