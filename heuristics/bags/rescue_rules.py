"""Rescues of what spot VMs lose, and the survey of all moments at which they may: the rules, over rows.

They are plain Python, for bags of which little is asked, and what is compiled for others (`rescue_questions.loop`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from heapq import heappush, heapreplace

from ...core.bill import begun_s
from ...core.capacities import fits
from ...core.quantities import NOISE, NONE
from ...instances.entries import NEVER

SURVEY, LOSS, ROOM, COST = range(4)
"""Questions: rescues of all moments; what is lost at one; what may be rented then; what a rescue adds to the cost."""
DONE, OVER_BUDGET, FAILED = range(3)
"""Ends of a survey: all moments are covered; it has to be continued; no rescue was found."""
MOST_TYPES = 6
"""Types of which all sets that may go down are looked at, 63 at most; for more, their bill is bounded."""
QUICK, FILLED, EVENED, N_PACKINGS = range(4)
"""Packings: the first that is found; core after core; and that one's VMs, with all of them busy for about as long."""


@dataclass(slots=True, eq=False)
class RentalRow:
    """A rental: cores, most VMs, memory (negative if that cannot bind), and its bill; see `Rents`.

    From the request of a VM, it is ``ready`` after some seconds, and runs a moved task after ``takeover`` at least.
    """

    vcpus: int = 0
    limit: int = 0
    size_kb: int = 0
    ready: int = 0
    takeover: int = 0
    paid: int = 0
    block: int = 1
    price: float = 0.0
    opening: float = 0.0


@dataclass(slots=True, eq=False)
class SpotTaskRow:
    """A task of a spot VM.

    Its times and dates; group; type and speed of the VM; run time; checkpoints, their interval and period.
    """

    start: int = 0
    end: int = 0
    release: int = 0
    due: int = 0
    group: int = 0
    type_index: int = 0
    checkpoints: int = 0
    runtime: float = 0.0
    interval: float = 0.0
    period: float = 0.0
    speed: float = 0.0


@dataclass(slots=True, eq=False)
class SpotVmRow:
    """A spot VM: type, when it has booted, planned end, and its bill; see `VmRents`."""

    type_index: int = 0
    booted: int = 0
    end: int = 0
    paid_until: int = 0
    block: int = 1
    price: float = 0.0
    opening: float = 0.0


@dataclass(slots=True, eq=False)
class OwnVmRow:
    """A regular on-demand VM of the plan.

    What it is, its planned end, from when on it costs more than planned, in which blocks, price of a second; and its
    cores in ``core_end``, none if it takes no more tasks.
    """

    rental: int = 0
    end: int = 0
    paid_until: int = 0
    block: int = 1
    first_core: int = 0
    cores: int = 0
    price: float = 0.0


@dataclass(slots=True, eq=False)
class PlaceRow:
    """Place of a lost task: VM, core, start, end, and which task was put on the VM before."""

    vm: int = 0
    core: int = 0
    start: int = 0
    end: int = 0
    before: int = 0


@dataclass(slots=True, eq=False)
class PackedVmRow:
    """A VM of a rescue.

    What it is; which of the plan's own VMs, `NONE` for a new one; its first core and their number; its end, 0 without
    tasks; and the task that came last.
    """

    rental: int = 0
    own: int = 0
    first: int = 0
    cores: int = 0
    end: int = 0
    last: int = 0


@dataclass(slots=True, eq=False)
class MomentRow:
    """A second with a rescue: the last that it serves, its slack, and the most by which it adds to the bill."""

    at: int = 0
    last: int = 0
    slack: int = 0
    cost: float = 0.0


@dataclass(slots=True, eq=False)
class Rows:
    """A plan, a question about its rescues, and the answer.

    Attributes
    ----------
    rentals : list of RentalRow
        What a rescue may rent, cheapest first.
    orders : list of list of int, shape (2, n_rentals)
        Rentals, cheapest first, and by their cores, most first.
    seconds : list of list of int, shape (n_rentals, n_groups)
        Run time of each group; `NEVER` where it cannot run.
    need_kb : list of int, shape (n_groups,)
        Memory of the tasks.
    tasks, spot_vms : list of SpotTaskRow and of SpotVmRow
        The tasks of spot VMs, and the spot VMs.
    own_vms : list of OwnVmRow
        The regular on-demand VMs.
    core_end : list of int
        Planned end of each of their cores.
    counted_end : list of int
        Ends of all VMs that count in limits of several offers, burstable ones included.
    counted_weights, group_weights : list of list of int, shape (n_groups, n_counted) and (n_groups, n_rentals)
        Weights in each such limit: of these VMs, and of a VM of each rental.
    group_most : list of int, shape (n_groups,)
        Most that on-demand VMs weigh together in each limit.
    deadline : int
        Deadline.
    asked : int
        `SURVEY`, `LOSS`, `ROOM` or `COST`.
    down : list of int, shape (n_types,)
        1 for types that go down.
    since, until : int
        First and last second that matter.
    patience : int
        Seconds by which it should be possible to carry a rescue out later.
    cheap, at_once : int
        1 if its cost matters; 1 if only a rescue for the first second itself is asked for.
    budget : int
        Work to be done at most, in places that are looked at.
    halt : list of int, shape (1,)
        Not 0 once it is to end early.
    lost : list of int
        What is lost, as indices of ``tasks``, longest first.
    left : list of list of int, shape (n_rentals, n_tasks)
        What is left of each task that is lost, in seconds on each rental.
    room : list of int, shape (n_rentals + n_groups,)
        New VMs that may be rented: of each rental, and what they may weigh in each limit of several.
    moments : list of MomentRow
        Rescues of a survey.
    status, second, work : int
        `DONE`, `OVER_BUDGET` or `FAILED`; from where to go on, or where there is none; work done.
    packing : int
        Which packing the last rescue of a survey is, or the one that is asked about.
    added : float
        What that adds to the bill.
    places : list of list of PlaceRow, shape (3, n_tasks)
        Where each task that is lost goes, in each packing.
    vms : list of list of PackedVmRow, shape (3, n_own + n_tasks)
        The VMs of each packing.
    n_lost, n_moments, n_cores, n_vms
        Lengths of lists that are filled.
    core_free, core_vm, most_cores : list of int, list of int, int
        Cores of the packing at work: when each is free, and its VM; how many there may be.
    free_vms : list of int
        What is left of ``room``.
    keys, heaps, heap_sizes, trees, leaf_core, leaves, own_leaves
        Room to work in.
    type_number, saved, ends, n_types
        Numbers of the types that go down, what is not paid for their VMs, and when the tasks of each end on each VM.
    """

    rentals: list[RentalRow] = field(default_factory=list)
    orders: list[list[int]] = field(default_factory=list)
    seconds: list[list[int]] = field(default_factory=list)
    need_kb: list[int] = field(default_factory=list)
    tasks: list[SpotTaskRow] = field(default_factory=list)
    spot_vms: list[SpotVmRow] = field(default_factory=list)
    own_vms: list[OwnVmRow] = field(default_factory=list)
    core_end: list[int] = field(default_factory=list)
    counted_end: list[int] = field(default_factory=list)
    counted_weights: list[list[int]] = field(default_factory=list)
    group_weights: list[list[int]] = field(default_factory=list)
    group_most: list[int] = field(default_factory=list)
    deadline: int = 0
    asked: int = SURVEY
    down: list[int] = field(default_factory=list)
    since: int = 0
    until: int = 0
    patience: int = 0
    cheap: int = 0
    at_once: int = 0
    budget: int = 0
    halt: list[int] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    left: list[list[int]] = field(default_factory=list)
    room: list[int] = field(default_factory=list)
    moments: list[MomentRow] = field(default_factory=list)
    status: int = DONE
    second: int = 0
    work: int = 0
    packing: int = QUICK
    added: float = 0.0
    places: list[list[PlaceRow]] = field(default_factory=list)
    vms: list[list[PackedVmRow]] = field(default_factory=list)
    n_lost: int = 0
    n_moments: int = 0
    n_cores: int = 0
    n_vms: list[int] = field(default_factory=list)
    core_free: list[int] = field(default_factory=list)
    core_vm: list[int] = field(default_factory=list)
    most_cores: int = 0
    free_vms: list[int] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    heaps: list[list[int]] = field(default_factory=list)
    heap_sizes: list[int] = field(default_factory=list)
    trees: list[list[int]] = field(default_factory=list)
    leaf_core: list[list[int]] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)
    own_leaves: list[int] = field(default_factory=list)
    type_number: list[int] = field(default_factory=list)
    saved: list[float] = field(default_factory=list)
    ends: list[list[int]] = field(default_factory=list)
    n_types: int = 0


# Keys are one number: what is sorted by in the upper bits, which 31 hold, and a task or a core in the lower ones.
SHIFT = 32
LOW = (1 << SHIFT) - 1
_LONGEST_S = LOW >> 1


def answer(r: Rows) -> int:
    """Answer the question that is asked."""
    if r.asked == LOSS:
        list_lost(r, r.since)
    elif r.asked == ROOM:
        count_room(r, r.since)
    elif r.asked == COST:
        r.added = added_cost(r, r.packing, r.since, r.until)
    else:
        survey(r)
    return r.status


def survey(r: Rows) -> None:
    """Find a rescue for each moment from a second on; one serves later moments too, as long as it can wait."""
    r.n_moments, r.work, r.second = 0, 0, r.since
    while True:
        now = r.second if r.at_once else next_moment(r, r.second)
        if now < 0 or now > r.until or (r.at_once and r.n_moments > 0):
            r.status = DONE
            return
        if r.n_moments == len(r.moments) or r.work > r.budget:
            r.status = OVER_BUDGET
            return
        list_lost(r, now)
        # What is not lost is only passed over: sixteen such tasks count as one.
        r.work += (r.n_lost + len(r.tasks) // 16) * len(r.rentals)
        if not rescue_lost(r, now):
            r.status, r.second = FAILED, now
            return
        r.second = r.moments[r.n_moments].last + 1
        r.n_moments += 1


def rescue_lost(r: Rows, now: int) -> bool:
    """Find a rescue of what is lost at a second, and if asked for, a cheap one; return whether there is one."""
    count_room(r, now)
    r.packing = QUICK
    found = longest_first(r, QUICK, now, r.deadline, NONE)
    # Where each task ends first, long ones may find no room at last: first fit, by price and by size, may have it.
    for order in range(2):
        if not found:
            found = first_fit(r, QUICK, now, r.deadline, order)
    if not found:
        return False
    moment = r.moments[r.n_moments]
    slack = slack_of(r, QUICK)
    delay = min(slack, r.patience, r.until - now)
    moment.cost = 0.0
    if r.cheap:
        cost = rescue_cost(r, QUICK, now, now + delay)
        if first_fit(r, FILLED, now, r.deadline - delay, 0):
            filled_cost = rescue_cost(r, FILLED, now, now + delay)
            even = longest_first(r, EVENED, now, r.deadline - delay, FILLED)
            if filled_cost < cost:
                cost, r.packing = filled_cost, FILLED
            if even and rescue_cost(r, EVENED, now, now + delay) < cost:
                r.packing = EVENED
        slack = slack_of(r, r.packing)
        moment.cost = added_cost(r, r.packing, now, now + delay)
    moment.at, moment.last, moment.slack = now, now + delay, slack
    return True


# ---------------------------------------------------------------------------- what is lost


def next_moment(r: Rows, since: int) -> int:
    """Return the first second from some second on before which nothing changes for a rescue; -1 if nothing is lost.

    It is the one before something of what may be lost completes, or before a VM ends that counts against a limit. So a
    rescue of that second begins as well at any since ``since``: the same is lost, and as many VMs can be requested.
    """
    best = NONE
    for number in range(len(r.tasks)):
        task = r.tasks[number]
        if task.end <= since or not r.down[task.type_index]:
            continue
        moment = task.end - 1
        if task.checkpoints > 0 and (best < 0 or task.start < best):
            moment = min(moment, before_checkpoint(task, since))
        if best < 0 or moment < best:
            best = moment
    if best >= 0:
        for number in range(len(r.counted_end)):
            if since < r.counted_end[number] <= best:
                best = r.counted_end[number] - 1
    return best


def before_checkpoint(task: SpotTaskRow, since: int) -> int:
    """Return the last second before a task writes its next checkpoint; its end if it writes no more."""
    done = checkpoints_by(task, since - task.start)
    if done >= task.checkpoints:
        return task.end
    elapsed = max(math.ceil((done + 1) * task.period / task.speed), 1)
    # A quotient of floats may be off by one: what counts elsewhere as written counts here.
    while checkpoints_by(task, elapsed) <= done:
        elapsed += 1
    while checkpoints_by(task, elapsed - 1) > done:
        elapsed -= 1
    return task.start + elapsed - 1


def checkpoints_by(task: SpotTaskRow, elapsed_s: int) -> int:
    """Return the number of checkpoints that are written when a task has run for so long."""
    if task.checkpoints == 0 or elapsed_s <= 0:
        return 0
    return min(task.checkpoints, math.floor((elapsed_s * task.speed + NOISE) / task.period))


def list_lost(r: Rows, now: int) -> None:
    """List the tasks that are lost if marked types go down, after the finishes and starts of that second.

    Those come first that must start first to end in time: of tasks without dates, the longest.
    """
    r.n_lost = 0
    for number in range(len(r.tasks)):
        task = r.tasks[number]
        if task.end <= now or not r.down[task.type_index]:
            continue
        done = checkpoints_by(task, now - task.start)
        shortest = _LONGEST_S
        for rental in range(len(r.rentals)):
            left = r.seconds[rental][task.group]
            if done and left < NEVER:
                left = math.ceil(left * (1.0 - done * task.interval / task.runtime) - NOISE)
            r.left[rental][number] = left
            shortest = min(shortest, left)
        r.keys[r.n_lost] = ((_LONGEST_S + task.due - r.deadline - shortest) << SHIFT) | number
        r.n_lost += 1
    sort_lost(r)


def count_room(r: Rows, now: int) -> None:
    """Count the new VMs that may be requested at a second, of each rental and in each limit of several."""
    n_rentals = len(r.rentals)
    for rental in range(n_rentals):
        r.room[rental] = r.rentals[rental].limit
    for group in range(len(r.group_most)):
        r.room[n_rentals + group] = r.group_most[group]
        for number in range(len(r.counted_end)):
            if r.counted_end[number] > now:
                r.room[n_rentals + group] -= r.counted_weights[group][number]
    for number in range(len(r.own_vms)):
        if r.own_vms[number].end > now:
            r.room[r.own_vms[number].rental] -= 1


# ---------------------------------------------------------------------------- packings


def begin_packing(r: Rows, p: int, now: int) -> None:
    """Begin a packing with the plan's VMs that are alive, without tasks."""
    r.n_vms[p] = r.n_cores = 0
    r.most_cores = len(r.core_end)
    for rental in range(len(r.rentals)):
        vms = max(min(r.room[rental], r.n_lost), 0)
        cores = min(r.rentals[rental].vcpus, r.n_lost)
        r.most_cores += vms * cores if r.rentals[rental].size_kb >= 0 else min(vms * cores, r.n_lost + cores)
    for place in range(len(r.rentals) + len(r.group_most)):
        r.free_vms[place] = r.room[place]
    for number in range(len(r.own_vms)):
        own = r.own_vms[number]
        if own.end > now:
            earliest = now + r.rentals[own.rental].takeover
            vm = r.vms[p][add_vm(r, p, own.rental, own.cores, earliest)]
            vm.own = number
            for core in range(own.cores):
                # Where memory may bind, what the plan still runs there is waited for.
                binds = r.rentals[own.rental].size_kb >= 0
                busy = own.end if binds else r.core_end[own.first_core + core]
                r.core_free[vm.first + core] = max(busy, earliest)


def add_vm(r: Rows, p: int, rental: int, cores: int, free: int) -> int:
    """Add a new VM whose cores are free from some second on; return its number."""
    number, first = r.n_vms[p], r.n_cores
    vm = r.vms[p][number]
    vm.rental, vm.own, vm.first, vm.cores, vm.end, vm.last = rental, NONE, first, cores, 0, NONE
    for core in range(first, first + cores):
        r.core_free[core], r.core_vm[core] = free, number
    r.n_vms[p] += 1
    r.n_cores += cores
    return number


def open_vm(r: Rows, p: int, rental: int, earliest: int) -> PackedVmRow:
    """Rent a VM for a packing; return it."""
    r.free_vms[rental] -= 1
    for group in range(len(r.group_most)):
        r.free_vms[len(r.rentals) + group] -= r.group_weights[group][rental]
    return r.vms[p][add_vm(r, p, rental, min(r.rentals[rental].vcpus, r.n_lost), earliest)]


def may_open(r: Rows, rental: int) -> bool:
    """Return the answer whether another VM of a rental may be rented."""
    for group in range(len(r.group_most)):
        weight = r.group_weights[group][rental]
        if weight > 0 and r.free_vms[len(r.rentals) + group] < weight:
            return False
    return r.free_vms[rental] > 0


def put(r: Rows, p: int, number: int, core: int, start: int, left: int) -> None:
    """Put a task on a core."""
    place, vm = r.places[p][number], r.vms[p][r.core_vm[core]]
    place.vm, place.core, place.before = r.core_vm[core], core - vm.first, vm.last
    place.start, place.end = start, start + left
    vm.last = number
    vm.end = max(vm.end, start + left)
    r.core_free[core] = start + left


def longest_first(r: Rows, p: int, now: int, latest: int, pattern: int) -> bool:
    """Put each task, longest first, where it ends first.

    Parameters
    ----------
    pattern : int
        Only VMs like those that have tasks in that packing are used; if none has, or there is none, all that may be.

    Returns
    -------
    bool
        Whether all tasks end by ``latest``.
    """
    begin_packing(r, p, now)
    keep_pattern(r, p, pattern, now)
    list_free_cores(r, p)
    for place in range(r.n_lost):
        number = r.lost[place]
        release, due = r.tasks[number].release, r.tasks[number].due - r.deadline + latest
        best_end, best_rental, best_core, best_start = due + 1, NONE, NONE, 0
        for rental in range(len(r.rentals)):
            left, earliest = r.left[rental][number], max(now + r.rentals[rental].takeover, release)
            if earliest + left >= best_end:
                continue
            if r.rentals[rental].size_kb >= 0:
                start, core = soonest_with_memory(r, p, rental, place, left, best_end - left)
                if core >= 0:
                    best_end, best_rental, best_core, best_start = start + left, rental, core, start
            elif r.heap_sizes[rental] > 0:
                free = max(r.heaps[rental][0] >> SHIFT, release)
                if free + left < best_end:
                    best_end, best_rental, best_start = free + left, rental, free
                    best_core = r.heaps[rental][0] & LOW
            if earliest + left < best_end and may_open(r, rental):
                best_end, best_rental, best_core, best_start = earliest + left, rental, NONE, earliest
        if best_rental < 0 or r.halt[0]:
            return False
        fits = r.rentals[best_rental].size_kb < 0
        if best_core < 0:
            earliest = now + r.rentals[best_rental].takeover
            vm = open_vm(r, p, best_rental, earliest)
            best_core = vm.first
            if fits:
                for core in range(vm.first, vm.first + vm.cores):
                    push(r, best_rental, (earliest << SHIFT) | core)
                # The new cores are free before all others; the task goes to whichever of them is on top.
                best_core = r.heaps[best_rental][0] & LOW
        put(r, p, place, best_core, best_start, best_end - best_start)
        if fits:
            replace_least(r, best_rental, (best_end << SHIFT) | best_core)
    return True


def keep_pattern(r: Rows, p: int, pattern: int, now: int) -> None:
    """Leave to a packing only VMs like those that have tasks in another one, if any has."""
    fixed = False
    if pattern != NONE:
        for vm in range(r.n_vms[pattern]):
            fixed |= r.vms[pattern][vm].end > 0
    if not fixed:
        return
    # No others may be opened: those of the pattern are added right away, without tasks.
    for rental in range(len(r.rentals)):
        r.free_vms[rental] = 0
    n_own = r.n_vms[p]
    for vm in range(n_own):
        if r.vms[pattern][vm].end == 0:
            r.vms[p][vm].cores = 0
    for vm in range(n_own, r.n_vms[pattern]):
        rental = r.vms[pattern][vm].rental
        add_vm(r, p, rental, r.vms[pattern][vm].cores, now + r.rentals[rental].takeover)


def list_free_cores(r: Rows, p: int) -> None:
    """Make a heap of the cores of each rental whose memory cannot bind: by when they are free."""
    for rental in range(len(r.rentals)):
        r.heap_sizes[rental] = 0
    for number in range(r.n_vms[p]):
        vm = r.vms[p][number]
        if r.rentals[vm.rental].size_kb < 0:
            for core in range(vm.first, vm.first + vm.cores):
                push(r, vm.rental, (r.core_free[core] << SHIFT) | core)


def first_fit(r: Rows, p: int, now: int, latest: int, order: int) -> bool:
    """Put each task, longest first, on the first core that ends it by ``latest``; return whether all have one.

    The plan's VMs come first, then new ones of each rental, in their order; the next is opened where none has room.
    """
    n_rentals = len(r.rentals)
    begin_packing(r, p, now)
    half = plant_trees(r, p, latest)
    n_own = r.n_vms[p]
    for place in range(r.n_lost):
        if r.halt[0]:
            return False
        number = r.lost[place]
        # The room of a core counts to the end of all: what is due earlier asks for so much more of it.
        release, early = r.tasks[number].release, r.deadline - r.tasks[number].due
        best_rental, best_leaf, best_core, best_start = NONE, NONE, NONE, 0
        for attempt in range(2 * n_rentals):
            own = attempt < n_rentals
            rental = r.orders[order][attempt if own else attempt - n_rentals]
            left, earliest = r.left[rental][number], now + r.rentals[rental].takeover
            if max(earliest, release) + left > latest - early:
                continue
            fits = r.rentals[rental].size_kb < 0
            if fits:
                leaf = first_leaf(r, rental, half, left + early)
                if leaf >= 0 and (not own or leaf < r.own_leaves[rental]):
                    best_leaf, best_core = leaf, r.leaf_core[rental][leaf]
                    best_start = max(r.core_free[best_core], release)
            else:
                first, end = (0, n_own) if own else (n_own, r.n_vms[p])
                best_start, best_core = first_with_memory(r, p, rental, place, left, latest - early - left, first, end)
            if best_core < 0 and not own and may_open(r, rental):
                best_core, best_start = open_vm(r, p, rental, earliest).first, max(earliest, release)
                if fits:
                    best_leaf = r.leaves[rental]
                    for core in range(best_core, r.n_cores):
                        add_leaf(r, rental, half, core, latest - earliest)
            if best_core >= 0:
                best_rental = rental
                break
        if best_rental < 0:
            return False
        left = r.left[best_rental][number]
        put(r, p, place, best_core, best_start, left)
        if best_leaf >= 0:
            set_leaf(r, best_rental, half, best_leaf, latest - best_start - left)
    return True


def plant_trees(r: Rows, p: int, latest: int) -> int:
    """Make a tree over the cores of each rental, by how much time they have; return how many leaves each may have."""
    half = 1
    while half < r.most_cores + 1:
        half *= 2
    for rental in range(len(r.rentals)):
        for leaf in range(2 * half):
            r.trees[rental][leaf] = NONE
        r.leaves[rental] = r.own_leaves[rental] = 0
    for core in range(r.n_cores):
        rental = r.vms[p][r.core_vm[core]].rental
        add_leaf(r, rental, half, core, latest - r.core_free[core])
        r.own_leaves[rental] += 1
    return half


def add_leaf(r: Rows, rental: int, half: int, core: int, room: int) -> None:
    """Add a core that has some time to the tree of its rental."""
    leaf = r.leaves[rental]
    r.leaf_core[rental][leaf] = core
    r.leaves[rental] += 1
    set_leaf(r, rental, half, leaf, room)


def set_leaf(r: Rows, rental: int, half: int, leaf: int, room: int) -> None:
    """Note the time that a core has."""
    tree, place = r.trees[rental], half + leaf
    tree[place] = room
    place >>= 1
    while place >= 1:
        greater = max(tree[2 * place], tree[2 * place + 1])
        if tree[place] == greater:
            break
        tree[place] = greater
        place >>= 1


def first_leaf(r: Rows, rental: int, half: int, at_least: int) -> int:
    """Return the first core of a tree with enough time for a task; `NONE` if there is none."""
    tree, place = r.trees[rental], 1
    if tree[1] < at_least:
        return NONE
    while place < half:
        place *= 2
        if tree[place] < at_least:
            place += 1
    return place - half


# ---------------------------------------------------------------------------- where memory may bind


def soonest_with_memory(r: Rows, p: int, rental: int, place: int, left: int, before: int) -> tuple[int, int]:
    """Return when, before some second, the VMs of a rental could start a task first, and the core; or `NONE`."""
    core = NONE
    for number in range(r.n_vms[p]):
        vm = r.vms[p][number]
        if vm.rental == rental and vm.cores > 0 and free_from(r, vm) < before:
            start = start_with_memory(r, p, vm, place, left)
            if start < before:
                before, core = start, idlest_core(r, vm, start)
    return before, core


def first_with_memory(
    r: Rows, p: int, rental: int, place: int, left: int, latest: int, first: int, end: int
) -> tuple[int, int]:
    """Return when the first of some VMs of a rental that can starts a task by some second, and the core; or `NONE`."""
    for number in range(first, end):
        vm = r.vms[p][number]
        if vm.rental == rental and vm.cores > 0 and free_from(r, vm) <= latest:
            start = start_with_memory(r, p, vm, place, left)
            if start <= latest:
                return start, idlest_core(r, vm, start)
    return 0, NONE


def free_from(r: Rows, vm: PackedVmRow) -> int:
    """Return when the first core of a VM is free for good."""
    free = r.core_free[vm.first]
    for core in range(vm.first + 1, vm.first + vm.cores):
        free = min(free, r.core_free[core])
    return free


def idlest_core(r: Rows, vm: PackedVmRow, start: int) -> int:
    """Return the core of a VM that has been idle for the shortest time at a second."""
    chosen = NONE
    for core in range(vm.first, vm.first + vm.cores):
        if r.core_free[core] <= start and (chosen < 0 or r.core_free[core] > r.core_free[chosen]):
            chosen = core
    return chosen


def start_with_memory(r: Rows, p: int, vm: PackedVmRow, place: int, left: int) -> int:
    """Return when a task could start on a VM whose memory may bind.

    The rule of `spotbag.schedules.timing.VmTimeline`: the earliest second at which a core is free for good and the
    memory suffices to the end; on the core that has been idle for the shortest time then.
    """
    start = max(free_from(r, vm), r.tasks[r.lost[place]].release)
    most_kb = r.rentals[vm.rental].size_kb - need_of(r, place)
    while True:
        blocked = NONE
        if not fits(most_kb - used_kb(r, p, vm, start)):
            blocked = start
        other = vm.last
        while other >= 0:
            moment = r.places[p][other].start
            sooner = start <= moment < start + left and (blocked < 0 or moment < blocked)
            # Memory is taken where tasks start, so that no other moments need be looked at.
            if sooner and not fits(most_kb - used_kb(r, p, vm, moment)):
                blocked = moment
            other = r.places[p][other].before
        if blocked < 0:
            return start
        freed, other = NONE, vm.last
        while other >= 0:
            row = r.places[p][other]
            if row.start <= blocked < row.end and (freed < 0 or row.end < freed):
                freed = row.end
            other = row.before
        start = freed


def used_kb(r: Rows, p: int, vm: PackedVmRow, moment: int) -> int:
    """Return the memory that the tasks of a VM take at a second."""
    used, other = 0, vm.last
    while other >= 0:
        if r.places[p][other].start <= moment < r.places[p][other].end:
            used += need_of(r, other)
        other = r.places[p][other].before
    return used


def need_of(r: Rows, place: int) -> int:
    """Return the memory of a task that is lost."""
    return r.need_kb[r.tasks[r.lost[place]].group]


# ---------------------------------------------------------------------------- costs


def slack_of(r: Rows, p: int) -> int:
    """Return the seconds by which all tasks could end later; the deadline without tasks."""
    slack = r.deadline
    for place in range(r.n_lost):
        slack = min(slack, r.tasks[r.lost[place]].due - r.places[p][place].end)
    return slack


def rescue_cost(r: Rows, p: int, now: int, until: int) -> float:
    """Return the most that a rescue costs, carried out as it is from a second on, or later by some seconds.

    VMs of the plan that have ended meanwhile are replaced by new ones of the same kind.
    """
    cost = 0.0
    for number in range(r.n_vms[p]):
        cost += vm_cost(r, r.vms[p][number], r.vms[p][number].end, now, until)
    return cost


def vm_cost(r: Rows, vm: PackedVmRow, end: int, now: int, until: int) -> float:
    """Return the most that a VM of a rescue costs if its last task ends at a second; see `rescue_cost`."""
    if end == 0:
        return 0.0
    seconds = end - now - r.rentals[vm.rental].ready
    if vm.own >= 0:
        own = r.own_vms[vm.own]
        longer: float = own.price * begun_s(own.block, end + min(until, own.end - 1) - now, own.paid_until)
        if own.end > until:
            return longer
        return max(longer, new_cost(r, vm, seconds))
    return new_cost(r, vm, seconds)


def new_cost(r: Rows, vm: PackedVmRow, seconds: int) -> float:
    """Return the cost of a new VM that is up for some seconds."""
    rental = r.rentals[vm.rental]
    usd: float = rental.opening + rental.price * begun_s(rental.block, seconds, rental.paid)
    return usd


def added_cost(r: Rows, p: int, now: int, until: int) -> float:
    """Return the most that the bill grows, whichever of the types that are marked go down between two seconds.

    Of the rescue of all of them, only what is lost is carried out: a VM of the rescue is paid for until the last of
    these tasks ends. The spot VMs of the types that go down are paid until ``until``, all others as planned.
    """
    count_saved(r, until)
    if r.n_types > MOST_TYPES:  # bounded: all that is lost is done again, and the least is saved
        least = r.saved[0]
        for k in range(1, r.n_types):
            least = min(least, r.saved[k])
        return rescue_cost(r, p, now, until) - least
    for vm in range(r.n_vms[p]):
        for k in range(r.n_types):
            r.ends[vm][k] = 0
    for place in range(r.n_lost):
        row, k = r.places[p][place], r.type_number[r.tasks[r.lost[place]].type_index]
        r.ends[row.vm][k] = max(r.ends[row.vm][k], row.end)
    most = -math.inf
    for chosen in range(1, 1 << r.n_types):
        cost = 0.0
        for vm in range(r.n_vms[p]):
            end = 0
            for k in range(r.n_types):
                if chosen >> k & 1:
                    end = max(end, r.ends[vm][k])
            cost += vm_cost(r, r.vms[p][vm], end, now, until)
        for k in range(r.n_types):
            if chosen >> k & 1:
                cost -= r.saved[k]
        most = max(most, cost)
    return most


def count_saved(r: Rows, until: int) -> None:
    """Number the types that go down, and count what is not paid for the VMs of each if that happens at a second."""
    r.n_types = 0
    for number in range(len(r.down)):
        r.type_number[number] = NONE
    for number in range(len(r.spot_vms)):
        vm = r.spot_vms[number]
        if r.down[vm.type_index]:
            if r.type_number[vm.type_index] < 0:
                r.type_number[vm.type_index] = r.n_types
                r.saved[r.n_types] = 0.0
                r.n_types += 1
            paid = begun_s(vm.block, min(until, vm.end), vm.paid_until)
            saved = vm.price * (begun_s(vm.block, vm.end, vm.paid_until) - paid)
            r.saved[r.type_number[vm.type_index]] += saved + (until < vm.booted) * vm.opening


# ---------------------------------------------------------------------------- what lists do otherwise than arrays


def sort_lost(r: Rows) -> None:
    """List the lost tasks by their keys."""
    for place, key in enumerate(sorted(r.keys[: r.n_lost])):
        r.lost[place] = key & LOW


def sort_lost_in_arrays(r: Rows) -> None:
    """List the lost tasks by their keys: by a heap, as `sorted` makes a new list."""
    for place in range(r.n_lost):
        sift_up(r.keys, place, r.keys[place])
    for place in range(r.n_lost):
        r.lost[place] = r.keys[0] & LOW
        last = r.n_lost - 1 - place
        sift_down(r.keys, last, r.keys[last])


def push(r: Rows, rental: int, key: int) -> None:
    """Put a key on a heap."""
    heap = r.heaps[rental]
    del heap[r.heap_sizes[rental] :]
    heappush(heap, key)
    r.heap_sizes[rental] += 1


def push_in_arrays(r: Rows, rental: int, key: int) -> None:
    """Put a key on a heap."""
    sift_up(r.heaps[rental], r.heap_sizes[rental], key)
    r.heap_sizes[rental] += 1


def replace_least(r: Rows, rental: int, key: int) -> None:
    """Take the least key from a heap, and put another one on it."""
    heapreplace(r.heaps[rental], key)


def replace_least_in_arrays(r: Rows, rental: int, key: int) -> None:
    """Take the least key from a heap, and put another one on it."""
    sift_down(r.heaps[rental], r.heap_sizes[rental], key)


def sift_up(heap: list[int], place: int, key: int) -> None:
    """Put a key where it belongs in a heap, from its last place on."""
    while place > 0:
        parent = (place - 1) >> 1
        if heap[parent] <= key:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = key


def sift_down(heap: list[int], size: int, key: int) -> None:
    """Put a key where it belongs in a heap, from its first place on."""
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


IN_ARRAYS = {sort_lost: sort_lost_in_arrays, push: push_in_arrays, replace_least: replace_least_in_arrays}
"""Parts of the rules, and what the compiled loop has in their places."""
