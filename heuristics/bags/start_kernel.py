"""The start of the search, task by task: compiled by numba; the first two are plain Python on lists for small bags."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...core.compiled import compiled, shared_part
from ...core.quantities import FloatArray, IntArray
from .annealing_kernel import rent

if TYPE_CHECKING:
    from .annealing_kernel import Objective, Rescue

_TRIED = 256
"""Tasks that are tried as the longest of the last ones of a core."""
_MOST_GIVEN = 64
"""Tasks of a core that are tried as what it exchanges with another one."""


class Room(NamedTuple):
    """The VMs that may be rented, each divided into lanes, and the load of each lane, in a tree.

    Attributes
    ----------
    lanes, vms : array of int, shape (n_offers,)
        Lanes of a VM of each offer, and the most VMs.
    weights : array of int, shape (n_groups, n_offers)
        Weight of a VM in each limit of several offers.
    most : array of int, shape (n_groups,)
        Most that the VMs weigh there together.
    tree, tree_first, tree_size : array of int
        Loads of the lanes of each offer, `MAX_SECONDS` of those that are not there: from where its tree begins, and how
        many leaves it has, a power of two. Node 1 is the root; the children of node k are 2 k and 2 k + 1.
    opened : array of int, shape (n_offers,)
        How many VMs are used.
    weighed : array of int, shape (n_groups,)
        What they weigh in each limit of several offers.
    taken : array of int, shape (n_sets,)
        Time on demand that tasks take of each set; see `Rescue`.
    """

    lanes: IntArray
    vms: IntArray
    weights: IntArray
    most: IntArray
    tree: IntArray
    tree_first: IntArray
    tree_size: IntArray
    opened: IntArray
    weighed: IntArray
    taken: IntArray


@compiled
def cheapest_with_room(
    tasks: IntArray | Sequence[int],
    groups: IntArray | Sequence[int],
    by_price: IntArray | Sequence[Sequence[int]],
    seconds: IntArray | Sequence[Sequence[int]],
    room: FloatArray | Sequence[float],
    left: FloatArray | list[float],
    chosen: IntArray | list[int],
) -> None:
    """Choose an offer for each task: the cheapest that has room for it, else the one with most room left, by its size.

    Parameters
    ----------
    tasks : sequence of int
        Tasks in the order in which they choose.
    groups : sequence of int
        Group of each task.
    by_price, seconds : sequences of int, shape (n_groups, n_offers)
        Offers from the cheapest on, and seconds on each offer; negative where the group cannot run.
    room, left : sequences of float, shape (n_offers,)
        Seconds of all cores of an offer, and what is left of them; changed.
    chosen : sequence of int, shape (n_tasks,)
        Receives the offers.
    """
    for task in tasks:
        times = seconds[groups[task]]
        found = -1
        roomiest = -1
        most = 0.0
        for k in by_price[groups[task]]:
            if times[k] < 0:
                continue
            if times[k] <= left[k]:
                found = k
                break
            share = (left[k] - times[k]) / max(room[k], 1.0)
            if roomiest < 0 or share > most:
                roomiest = k
                most = share
        if found < 0:  # tasks are whole: the last ones may exceed the room that tasks which are cut would have filled
            found = roomiest
        left[found] -= times[found]
        chosen[task] = found


@compiled
def least_loaded_core(
    seconds: IntArray | Sequence[int],
    cores: IntArray | Sequence[int],
    free: IntArray | Sequence[int],
    chosen: IntArray | list[int],
) -> None:
    """Put each task on the core with the least load, the first of them at a tie.

    Parameters
    ----------
    seconds : sequence of int, shape (n_tasks,)
        How long the tasks take, in the order in which they are put.
    cores, free : sequences of int
        Cores, and when each of them is free; first those that are free first.
    chosen : sequence of int, shape (n_tasks,)
        Receives the core of each task.
    """
    # Cores that are free first come first, so that the list is a heap already.
    heap = [(free[index], cores[index]) for index in range(len(cores))]
    for position, task_s in enumerate(seconds):
        load, core = heap[0]
        heapq.heapreplace(heap, (load + task_s, core))
        chosen[position] = core


@compiled
def level_cores(seconds: IntArray, load: IntArray, chosen: IntArray) -> None:
    """Have cores end as close to each other as exchanges between two of them bring about.

    Parameters
    ----------
    seconds : array of int, shape (n_tasks,)
        How long the tasks take.
    load : array of int, shape (n_cores,)
        When each core ends; changed.
    chosen : array of int, shape (n_tasks,)
        Core of each task; changed.
    """
    n_cores = len(load)
    by_core = np.argsort(chosen, kind="mergesort")
    count = np.bincount(chosen, minlength=n_cores)
    # Beside its tasks, each core has one place more: what it passes on without return is exchanged with that.
    begins = np.cumsum(count + 1) - (count + 1)
    places = np.full(len(seconds) + n_cores, -1)
    task = 0
    for core in range(n_cores):
        for at in range(count[core]):
            places[begins[core] + at] = by_core[task]
            task += 1
    last_s = load.max() + 1
    while load.max() < last_s:
        last_s = load.max()
        order = np.argsort(-load, kind="mergesort")
        # The core that ends last and the one that ends first meet in the middle; then the next two.
        for rank in range(n_cores // 2):
            late, early = order[rank], order[n_cores - 1 - rank]
            of_late = places[begins[late] : begins[late] + count[late] + 1]
            of_early = places[begins[early] : begins[early] + count[early] + 1]
            moved = _exchange(seconds, load[late] - load[early], of_late, of_early)
            load[late] -= moved
            load[early] += moved
    for core in range(n_cores):
        for at in range(begins[core], begins[core] + count[core] + 1):
            if places[at] >= 0:
                chosen[places[at]] = core


@shared_part
def _exchange(seconds: IntArray, apart: int, of_late: IntArray, of_early: IntArray) -> int:
    """Exchange the places of two cores that bring their ends closest to each other; return what that moves."""
    least, best, gives, takes = apart, 0, 0, 0
    if apart <= 1:
        return 0
    # Of many tasks, some dozens have differences enough.
    each, other = len(of_late) // _MOST_GIVEN + 1, len(of_early) // _MOST_GIVEN + 1
    for give in range(0, len(of_late), each):
        if of_late[give] < 0 or least <= 1:
            continue
        for take in range(0, len(of_early), other):
            moved = seconds[of_late[give]] - (seconds[of_early[take]] if of_early[take] >= 0 else 0)
            left = abs(apart - 2 * moved)
            if left < least:
                least, best, gives, takes = left, moved, give, take
    if least < apart:
        of_late[gives], of_early[takes] = of_early[takes], of_late[gives]
    return best


@shared_part
def _longest(
    seconds: IntArray | Sequence[int], before: list[int], chosen: IntArray | list[int], most: int, end: int
) -> int:
    """Return the longest task of at most some seconds that is left, of the first ones; -1 if there is none."""
    low, high = 0, end
    while low < high:
        middle = (low + high) // 2
        if seconds[middle] <= most:
            low = middle + 1
        else:
            high = middle
    found = low - 1
    while found >= 0 and chosen[found] >= 0:
        found = before[found]
    task = low - 1  # whoever asks next jumps at once
    while task >= 0 and chosen[task] >= 0:
        following = before[task]
        before[task] = found
        task = following
    return found


@shared_part
def _best_last(
    seconds: IntArray | Sequence[int], before: list[int], chosen: IntArray | list[int], first: int, left: int
) -> tuple[int, int, int]:
    """Return the tasks, three at most, that together leave least of some seconds; -1 for those that are none."""
    taken = (first, -1, -1)
    rest = left - seconds[first]
    one = first
    for _ in range(_TRIED):
        if one < 0 or rest == 0:
            break
        two_left = left - seconds[one]
        two = _longest(seconds, before, chosen, two_left, one)
        if two >= 0:
            three_left = two_left - seconds[two]
            if three_left < rest:
                rest, taken = three_left, (one, two, -1)
            three = _longest(seconds, before, chosen, three_left, two)
            if three >= 0 and three_left - seconds[three] < rest:
                rest, taken = three_left - seconds[three], (one, two, three)
        one = _longest(seconds, before, chosen, left, one)
    return taken


@compiled
def filled_cores(
    seconds: IntArray | Sequence[int], free_s: IntArray | Sequence[int], chosen: IntArray | list[int]
) -> None:
    """Fill core after core to its last second, as far as tasks are left.

    The longest task that fits goes first. What would be the last one of a core is chosen anew: one, two or three tasks
    that together leave least time.

    Parameters
    ----------
    seconds : sequence of int, shape (n_tasks,)
        How long the tasks take, in ascending order.
    free_s : sequence of int, shape (n_cores,)
        Seconds of each core.
    chosen : sequence of int, shape (n_tasks,)
        -1 for all tasks; receives the core of those that find a place.
    """
    n_tasks = len(seconds)
    before = [task - 1 for task in range(n_tasks)]  # of a task that is placed: none is left between
    shortest = 0
    for core in range(len(free_s)):
        left = free_s[core]
        while left > 0:
            while shortest < n_tasks and chosen[shortest] >= 0:
                shortest += 1
            if shortest == n_tasks or seconds[shortest] > left:
                break
            # Of the tasks that are left, the longest that fits comes first on each core.
            first = _longest(seconds, before, chosen, left, n_tasks)
            taken = (first, -1, -1)
            # Too little is left for any task: pairs and triples may fill the core to its last second.
            if 0 < left - seconds[first] < seconds[shortest]:
                taken = _best_last(seconds, before, chosen, first, left)
            for task in taken:
                if task >= 0:
                    chosen[task] = core
                    left -= seconds[task]


@compiled
def place_where_cheapest(
    tasks: IntArray,
    durations: IntArray,
    columns: IntArray,
    vms: IntArray,
    load: IntArray,
    vm_end: IntArray,
    objective: Objective,
    chosen: IntArray,
) -> None:
    """Put tasks one by one on the core where they add least to the objective, the one that ends first at a tie.

    Parameters
    ----------
    tasks : array of int, shape (n_tasks,)
        In the order in which they are put.
    durations : array of int, shape (n_columns, n_tasks of the bag)
        Seconds of each task on each kind of VM.
    columns, vms, load : arrays of int, shape (n_cores,)
        Kind and VM of each core, and when it is free; changed.
    vm_end : array of int, shape (n_vms,)
        When each VM ends; changed.
    objective : Objective
        What a state costs.
    chosen : array of int, shape (n_tasks,)
        Receives the cores.
    """
    vm_limit, time_weight, penalty = objective.vm_limit, objective.time_weight, objective.penalty
    makespan = vm_end.max()
    for position, task in enumerate(tasks):
        best, least = 0, np.inf
        for core, vm in enumerate(vms):
            end = load[core] + durations[columns[core], task]
            value = rent(objective, vm, max(end, vm_end[vm])) - rent(objective, vm, vm_end[vm])
            value += time_weight * max(end - makespan, 0)
            value += penalty * (max(end - vm_limit[vm], 0) + 1e-9 * end)
            if value < least:
                best, least = core, value
        load[best] += durations[columns[best], task]
        vm_end[vms[best]] = max(vm_end[vms[best]], load[best])
        makespan = max(makespan, load[best])
        chosen[position] = best


@shared_part
def _can_be_done_again(rescue: Rescue, taken: IntArray, k: int, group: int) -> bool:
    """True if what may be lost at once with a task fits what can be done again on demand."""
    for one in range(len(taken)):
        counts = rescue.members[one, k] and rescue.whole_s[k, group] >= rescue.from_s[one]
        if counts and taken[one] + rescue.again_s[k, group] > rescue.most_s[one]:
            return False
    return True


@shared_part
def _rent_another(room: Room, k: int) -> bool:
    """Rent another VM of an offer, as far as its limit and those of its groups go; return whether there is one."""
    if room.opened[k] == room.vms[k]:
        return False
    for one in range(len(room.most)):
        if room.weights[one, k] and room.weighed[one] + room.weights[one, k] > room.most[one]:
            return False
    for one in range(len(room.most)):
        room.weighed[one] += room.weights[one, k]
    for lane in range(room.opened[k] * room.lanes[k], (room.opened[k] + 1) * room.lanes[k]):
        _set_load(room.tree, room.tree_first[k], room.tree_size[k] + lane, 0)
    room.opened[k] += 1
    return True


@shared_part
def _first_lane(tree: IntArray, first: int, size: int, most: int) -> int:
    """Return the first lane of an offer with a load of so much at most; -1 if there is none."""
    if tree[first + 1] > most:  # each inner node of the tree has the least load below it
        return -1
    node = 1
    while node < size:
        node = 2 * node if tree[first + 2 * node] <= most else 2 * node + 1
    lane: int = node - size
    return lane


@shared_part
def _set_load(tree: IntArray, first: int, node: int, load: int) -> None:
    """Set the load of the lane of a node, and the least load of all nodes above it."""
    tree[first + node] = load
    node //= 2
    while node > 0:
        tree[first + node] = min(tree[first + 2 * node], tree[first + 2 * node + 1])
        node //= 2


@compiled
def place_early(
    order: IntArray,
    by_price: IntArray,
    seconds: IntArray,
    latest: IntArray,
    room: Room,
    rescue: Rescue,
    places: IntArray,
) -> bool:
    """Put each task where it is cheapest and ends early enough; return whether all have found a place.

    It goes to the first lane of an offer in which it does, or to one of a new VM.

    Parameters
    ----------
    order : array of int, shape (n_tasks,)
        Group of each task, in the order in which they choose.
    by_price, seconds, latest : array of int, shape (n_groups, n_offers)
        The offers, cheapest first; duration of a task, `NEVER` where it cannot run, and its latest end.
    room : Room
        What may be rented; receives what is.
    rescue : Rescue
        On-demand time for rescues, and what tasks take of it; of groups, on each offer.
    places : array of int, shape (3, n_tasks)
        Receives the offer of each task, its lane among those of the offer, and its start.
    """
    for task in range(len(order)):
        group, found = order[task], False
        for rank in range(len(room.lanes)):
            k = by_price[group, rank]
            most = latest[group, k] - seconds[group, k]
            if most < 0 or (len(room.taken) and not _can_be_done_again(rescue, room.taken, k, group)):
                continue
            first, size = room.tree_first[k], room.tree_size[k]
            lane = _first_lane(room.tree, first, size, most)
            if lane < 0:  # no lane is early enough
                lane = room.opened[k] * room.lanes[k]
                if not _rent_another(room, k):
                    continue
            load = room.tree[first + size + lane]
            _set_load(room.tree, first, size + lane, load + seconds[group, k])
            places[0, task], places[1, task], places[2, task] = k, lane, load
            for one in range(len(room.taken)):
                if rescue.members[one, k] and rescue.whole_s[k, group] >= rescue.from_s[one]:
                    room.taken[one] += rescue.again_s[k, group]
            found = True
            break
        if not found:
            return False
    return True
