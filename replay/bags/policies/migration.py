"""Migration in HADS and Burst-HADS: where a task may go, how long it takes there, and where if nowhere is right."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ....core.capacities import UNLIMITED, fits, smaller
from ....instances.entries import FULL_SPEED, NEVER, SECONDS_PER_CREDIT
from ...engines import RUNNING
from ..interpreted import add_helper, add_sketch, note
from ..rows import NONE, NOTED, OfferRow, Rows, VmRow
from ..rules import (
    add_span,
    can_start,
    core_free,
    count_planned,
    credits_of,
    duration_of,
    earliest_among,
    earliest_start,
    earliest_uptime,
    end_if_placed,
    forget_planned,
    is_alive,
    is_idle,
    last_checkpoint,
    list_spans,
    list_tasks,
    longest_of,
    may_give,
    migrate,
    saved_now,
    span,
    start_vm,
    without_ended,
)

SpareTime: TypeAlias = Literal["all", "spot"]
"""VMs of which spare time is asked: all, as Algorithm 7 of HADS is printed, or spot VMs only, as Burst-HADS says."""


def takes(
    r: Rows, vm: VmRow, duration_s: int, runtime_s: int, kb: int, ready_s: int, due_s: int, spare_all: int
) -> bool:
    """True if a task may go to a VM that is there (HADS Algorithm 7), and ends when it is due if it has dates.

    Enough time must be left after its last task to do its longest one again elsewhere: ``D - eft > e_m + alpha`` (line
    3), with e_m the whole run time, as after a hibernation just before the first checkpoint. Where spare time is asked
    of spot VMs only, ``eft <= D`` is enough on an on-demand VM, which cannot hibernate. The eft of line 2 is that of
    the VM, not of the task.
    """
    span(r, vm)
    # The one is for ``>`` in line 3, as times are whole seconds.
    left_s = r.deadline_s - vm.zero_s
    if vm.spot or spare_all:
        left_s -= max(longest_of(r, vm), runtime_s) + r.start_overhead_s + 1
    start_s = max(vm.free_s, ready_s - vm.zero_s)
    if vm.most_kb != NONE:
        start_s = earliest_start(r, vm, kb, duration_s, start_s)
    end_s = start_s + duration_s
    return start_s != NONE and max(end_s, vm.ends_s) <= left_s and end_s <= due_s - vm.zero_s


def may_migrate(r: Rows, vm: VmRow, group: int, saved: float, mode: int, spare_all: int) -> bool:
    """True if a task of a group may go to a VM that is there; see `takes`."""
    duration_s = duration_of(r, group, vm.offer_index, mode, saved)
    if duration_s >= NEVER:
        return False
    row, runtime_s = r.groups[group], r.durations[group][vm.offer_index].runtime_s
    return takes(r, vm, duration_s, runtime_s, row.memory_kb, row.ready_s, row.due_s, spare_all)


def find_least(r: Rows, source: VmRow, n_tasks: int, offer_index: int) -> None:
    """Find the least that listed tasks ask of a VM of an offer, in each respect; the offer has it then."""
    offer = r.offers[offer_index]
    # Good until the next stamp. Each task asks at least this, in each respect: who turns this down turns down all.
    offer.stamp = r.stamp
    offer.least_duration_s = offer.least_runtime_s = NEVER
    offer.least_kb = UNLIMITED
    for k in range(n_tasks):
        group = r.tasks[r.listed[k]].group
        duration_s = duration_of(r, group, offer_index, offer.sustained, saved_now(r, source, r.listed[k]))
        if duration_s < NEVER:
            offer.least_duration_s = min(offer.least_duration_s, duration_s)
            offer.least_runtime_s = min(offer.least_runtime_s, r.durations[group][offer_index].runtime_s)
            offer.least_kb = smaller(offer.least_kb, r.groups[group].memory_kb)


# --------------------------------------------------------------------------- targets


def list_targets(r: Rows, source: VmRow, n_tasks: int, to_burstable: int, spare_all: int) -> tuple[int, int]:
    """List the VMs that run, as targets of one migration: idle ones and busy ones; return how many of each.

    Attempts 1 and 2 of HADS (Algorithm 6, lines 2-23), 2 and 3 of Burst-HADS (Algorithm 4, lines 16-37): spot before
    on-demand, each by price. Burstable VMs take tasks only while they are idle, and only if the policy wants it. While
    a migration goes on, VMs only fill up: one that turns down the least of all is not listed at all.
    """
    n_idle = n_busy = 0
    for market in range(2):
        for price in range(r.n_prices):
            v = r.prices[price].first
            while v != NONE:
                vm = r.vms[v]
                v = vm.after
                # Spot VMs in the first round, on-demand VMs in the second.
                if vm.spot == market or vm.state > RUNNING or vm.gone_s != NONE:
                    continue
                if vm.n_left == 0:
                    if vm.state != RUNNING or (vm.bursts and not to_burstable):
                        continue
                elif vm.bursts:
                    continue
                least = r.offers[vm.offer_index]
                if least.stamp != r.stamp:
                    find_least(r, source, n_tasks, vm.offer_index)
                least_s = least.least_duration_s
                if least_s >= NEVER or not takes(
                    r, vm, least_s, least.least_runtime_s, least.least_kb, 0, r.deadline_s, spare_all
                ):
                    continue
                if vm.n_left == 0:
                    r.free_vms[n_idle] = vm.index
                    n_idle += 1
                else:
                    r.busy_vms[n_busy] = vm.index
                    n_busy += 1
    return n_idle, n_busy


def insert_busy(r: Rows, v: int, n_busy: int) -> int:
    """Add a VM to the busy targets; return how many there are. What was asked behind it is asked again."""
    vm, place = r.vms[v], n_busy
    price = r.offers[vm.offer_index].usd_per_hour
    while place:
        other = r.vms[r.busy_vms[place - 1]]
        others = r.offers[other.offer_index].usd_per_hour
        if other.spot > vm.spot or (
            other.spot == vm.spot and (others < price or (others == price and other.index < v))
        ):
            break
        r.busy_vms[place] = other.index
        place -= 1
    r.busy_vms[place] = v
    # Places behind it have moved by one; those before have turned the groups down and do so still.
    for k in range(r.n_groups_now):
        group = r.groups_now[k]
        r.busy_asked[group] = min(r.busy_asked[group], place)
    return n_busy + 1


def list_groups(r: Rows, n_tasks: int) -> None:
    """List the groups of listed tasks, of which no VM has been asked yet."""
    r.stamp += 1
    r.n_groups_now = 0
    for k in range(n_tasks):
        group = r.tasks[r.listed[k]].group
        if r.asked[group] != r.stamp:
            r.asked[group] = r.stamp
            r.idle_asked[group] = r.busy_asked[group] = 0
            r.groups_now[r.n_groups_now] = group
            r.n_groups_now += 1


def migrate_tasks(r: Rows, source: VmRow, n_tasks: int, to_burstable: int, spare_all: int, burst_first: int) -> None:
    """Migrate the first tasks of `Rows.listed` from a hibernated VM (HADS Algorithm 6, Burst-HADS Algorithm 4).

    Whether idle burstable VMs are targets, whether spare time is asked of all VMs, and whether the first attempt is an
    idle burstable VM at full speed. What has turned down a whole task turns down every whole task that is like it.
    """
    list_groups(r, n_tasks)
    n_idle, n_busy = list_targets(r, source, n_tasks, to_burstable, spare_all)
    n_left = 0
    for k in range(n_tasks):
        task = r.listed[k]
        group = r.tasks[task].group
        saved = saved_now(r, source, task)
        if burst_first and to_idle_burstable(r, source, task, saved):
            continue
        place = r.idle_asked[group] if saved == 0.0 else 0
        while place < n_idle and not goes_to(r, source, task, saved, r.vms[r.free_vms[place]], spare_all):
            place += 1
        if saved == 0.0:
            r.idle_asked[group] = place
        if place < n_idle:
            v = r.free_vms[place]
            n_idle -= 1
            for other in range(place, n_idle):
                r.free_vms[other] = r.free_vms[other + 1]
            for other in range(r.n_groups_now):
                r.idle_asked[r.groups_now[other]] -= r.idle_asked[r.groups_now[other]] > place
            if not r.vms[v].bursts:
                n_busy = insert_busy(r, v, n_busy)
            continue
        place = r.busy_asked[group] if saved == 0.0 else 0
        while place < n_busy and not goes_to(r, source, task, saved, r.vms[r.busy_vms[place]], spare_all):
            place += 1
        if saved == 0.0:
            r.busy_asked[group] = place
        if place < n_busy:
            continue
        v = to_new_vm(r, source, task, saved)
        if v == NONE:
            r.left[n_left] = task
            n_left += 1
        else:
            n_busy = insert_busy(r, v, n_busy)
    if n_left:
        list_places(r)
        migrate_anyway(r, source, r.left, n_left)


def goes_to(r: Rows, source: VmRow, task: int, saved: float, vm: VmRow, spare_all: int) -> bool:
    """Migrate a task to a VM if it may go there."""
    mode = r.offers[vm.offer_index].sustained
    if not may_migrate(r, vm, r.tasks[task].group, saved, mode, spare_all):
        return False
    migrate(r, task, source, vm, mode, 0)
    return True


def to_idle_burstable(r: Rows, source: VmRow, task: int, saved: float) -> bool:
    """Attempt 1 of Burst-HADS: an idle burstable VM with the credits to run the task at full speed (lines 4-15)."""
    v = r.first_bursting
    while v != NONE:
        vm = r.vms[v]
        v = vm.after_bursting
        if not is_idle(vm):
            continue
        duration_s = duration_of(r, r.tasks[task].group, vm.offer_index, FULL_SPEED, saved)
        # Credits needed: line 6; the rest: line 7.
        if duration_s >= NEVER or credits_of(r, vm, r.now_s) <= -(-duration_s // SECONDS_PER_CREDIT):
            continue
        if may_migrate(r, vm, r.tasks[task].group, saved, FULL_SPEED, 0):
            migrate(r, task, source, vm, FULL_SPEED, 0)
            return True
    return False


def to_new_vm(r: Rows, source: VmRow, task: int, saved: float) -> int:
    """Migrate a task to a new on-demand VM, the cheapest that ends it in time; `NONE` if there is none.

    Attempt 3 of HADS (Algorithm 6, lines 24-36), 4 of Burst-HADS (Algorithm 4, lines 38-50). Both print ``start + e +
    alpha < D``. Here a task may end at the deadline, as in `takes`: eq. 4 of HADS sets the trigger so that the two
    sides are equal, and the printed test would turn down what the trigger was computed for.
    """
    row = r.groups[r.tasks[task].group]
    start_s = max(r.now_s + r.start_overhead_s, row.ready_s)
    for k in range(r.n_regular):
        offer = r.regular[k]
        duration_s = duration_of(r, r.tasks[task].group, offer, FULL_SPEED, saved)
        in_time = duration_s < NEVER and start_s + duration_s <= row.due_s
        if in_time and can_start(r, r.offers[offer]):
            v = start_vm(r, offer)
            migrate(r, task, source, r.vms[v], FULL_SPEED, 0)
            return v
    return NONE


def list_to_leave(r: Rows, vm: VmRow) -> int:
    """List the tasks of a VM that drains which gain nothing by staying; return how many there are.

    That is what waits, and what neither ends nor saves more.
    """
    n, kept = list_tasks(r, vm, r.listed), 0
    for k in range(n):
        task = r.listed[k]
        run = r.tasks[task]
        if run.running and vm.gone_s != NONE:
            # All of it is saved if it ends before the VM is gone.
            stays = 1.0
            if vm.state != RUNNING or run.dumping_s != NONE or vm.zero_s + run.end_s > vm.gone_s:
                stays = last_checkpoint(r, vm, task, vm.gone_s)[0]
            if stays > saved_now(r, vm, task):
                continue
        r.listed[kept] = task
        kept += 1
    return kept


# -------------------------------------------------------- where tasks end first, if nowhere is right


def list_places(r: Rows) -> None:
    """List where tasks could go at a moment.

    Of an offer whose memory never binds, the VM of which a core is free first is best for every task: they are a heap,
    whose keys are brought up to date when they are looked at, as VMs only fill up. Others stand behind the heaps.
    """
    for offer in range(r.n_offers):
        r.offers[offer].n_places = 0
    for price in range(r.n_prices):
        v = r.prices[price].first
        while v != NONE:
            if could_take(r, r.vms[v]) and r.vms[v].most_kb == NONE:
                r.offers[r.vms[v].offer_index].n_places += 1
            v = r.vms[v].after
    first = 0
    for offer in range(r.n_offers):
        r.offers[offer].first_place = first
        first += r.offers[offer].n_places
        r.offers[offer].n_places = 0
    r.n_places = first
    for price in range(r.n_prices):
        v = r.prices[price].first
        while v != NONE:
            vm = r.vms[v]
            if could_take(r, vm):
                if vm.most_kb == NONE:
                    enter_heap(r, r.offers[vm.offer_index], vm)
                else:
                    add_place(r, vm)
            v = vm.after


def add_place(r: Rows, vm: VmRow) -> None:
    """Add a VM that is looked at one by one: one whose memory may bind, or a new one."""
    r.places[r.n_places] = vm.index
    r.n_places += 1


def could_take(r: Rows, vm: VmRow) -> bool:
    """True if a VM takes tasks; a burstable one only while it is idle."""
    return is_alive(vm) and (not vm.bursts or is_idle(vm))


def free_of(r: Rows, vm: VmRow) -> int:
    """Time at which a VM can begin with another task; a burstable one has no more than one."""
    if vm.bursts and vm.n_left:
        return NEVER
    span(r, vm)
    return vm.zero_s + vm.free_s


def enter_heap(r: Rows, offer: OfferRow, vm: VmRow) -> None:
    """Add a VM to the heap of its offer."""
    vm.place_s = free_of(r, vm)
    k = offer.n_places
    offer.n_places += 1
    while k:
        above = r.vms[r.places[offer.first_place + (k - 1) // 2]]
        if is_free_before(above, vm):
            break
        r.places[offer.first_place + k] = above.index
        k = (k - 1) // 2
    r.places[offer.first_place + k] = vm.index


def first_of_heap(r: Rows, offer: OfferRow) -> int:
    """Return the VM of an offer of which a core is free first; `NONE` without any."""
    if offer.n_places == 0:
        return NONE
    while True:
        vm = r.vms[r.places[offer.first_place]]
        free_s = free_of(r, vm)
        # Keys are old where tasks have been placed since, and never too large: the first that holds is the least.
        if free_s == vm.place_s:
            return vm.index if free_s < NEVER else NONE
        vm.place_s = free_s
        k = 0
        while 2 * k + 1 < offer.n_places:
            below = 2 * k + 1
            other = r.vms[r.places[offer.first_place + below]]
            if below + 1 < offer.n_places:
                right = r.vms[r.places[offer.first_place + below + 1]]
                if is_free_before(right, other):
                    below, other = below + 1, right
            if is_free_before(vm, other):
                break
            r.places[offer.first_place + k] = other.index
            k = below
        r.places[offer.first_place + k] = vm.index


def first_free_by(r: Rows, offer: OfferRow, v: int, time_s: int) -> int:
    """Return the first VM of an offer of which a core is free by a time; one of them is known."""
    for k in range(offer.first_place, offer.first_place + offer.n_places):
        other = r.places[k]
        if other < v and free_of(r, r.vms[other]) <= time_s:
            v = other
    return v


def is_free_before(vm: VmRow, other: VmRow) -> bool:
    """True if one VM of a heap has a core free before another."""
    return vm.place_s < other.place_s or (vm.place_s == other.place_s and vm.index < other.index)


def best_place(r: Rows, group: int, saved: float) -> tuple[int, int]:
    """Earliest end of a task, and the VM on which it is, or behind all VMs the offer of a new one; `NONE` if none.

    An on-demand VM is preferred where it makes no difference.
    """
    best_s, best_spot, best, ready_s = NEVER, 2, NONE, r.groups[group].ready_s
    for index in range(r.n_offers):
        offer = r.offers[index]
        v = NONE
        if offer.n_places and duration_of(r, group, index, offer.sustained, saved) < NEVER:
            v = first_of_heap(r, offer)
        if v != NONE:
            if ready_s > r.vms[v].place_s:  # no matter which is free first
                v = first_free_by(r, offer, v, ready_s)
            end_s = max(r.vms[v].place_s, ready_s) + duration_of(r, group, index, offer.sustained, saved)
            if best == NONE or (end_s, offer.spot, v) < (best_s, best_spot, best):
                best_s, best_spot, best = end_s, offer.spot, v
    # Behind all heaps are those that are looked at one by one.
    first = r.offers[r.n_offers - 1].first_place + r.offers[r.n_offers - 1].n_places
    for k in range(first, r.n_places):
        vm = r.vms[r.places[k]]
        if vm.bursts and vm.n_left:
            continue
        end_s = end_if_placed(r, vm, group, r.offers[vm.offer_index].sustained, saved)
        if end_s < NEVER and (best == NONE or (end_s, vm.spot, vm.index) < (best_s, best_spot, best)):
            best_s, best_spot, best = end_s, vm.spot, vm.index
    for k in range(r.n_regular):
        index = r.regular[k]
        duration_s = duration_of(r, group, index, FULL_SPEED, saved)
        if duration_s < NEVER and can_start(r, r.offers[index]):
            end_s = max(r.now_s + r.start_overhead_s, ready_s) + duration_s
            if best == NONE or (end_s, 0, r.n_vms + index) < (best_s, best_spot, best):
                best_s, best_spot, best = end_s, 0, r.n_vms + index
    return best_s, best


def migrate_anyway(r: Rows, source: VmRow, tasks: list[int], n_tasks: int) -> None:
    """Migrate tasks for which no attempt has found a place to where they end first, of the places that are listed.

    The papers do not say what happens then. Here a deadline that cannot be kept is missed by as little as possible.
    What can go nowhere at all stays on its VM, and `retry_stranded` tries again.
    """
    left = 0
    for k in range(n_tasks):
        task = tasks[k]
        group = r.tasks[task].group
        end_s, best = best_place(r, group, saved_now(r, source, task))
        if best == NONE:
            left += 1
            continue
        if best >= r.n_vms:
            best = start_vm(r, best - r.n_vms)
            add_place(r, r.vms[best])
        target = r.vms[best]
        migrate(r, task, source, target, r.offers[target.offer_index].sustained, int(end_s > r.groups[group].due_s))
    if left:
        source.stranded = r.any_stranded = 1
        note(r, NOTED.STRANDED, source.index, NONE, NONE, left, 0, 0.0)


def retry_stranded(r: Rows) -> None:
    """Try again to place the tasks that have stayed on interrupted VMs because nothing could take them."""
    if not r.any_stranded:
        return
    # What is stranded once more sets it again.
    r.any_stranded = 0
    list_places(r)
    for v in range(r.n_vms):
        vm = r.vms[v]
        if vm.stranded and may_give(vm):
            vm.stranded = 0
            n_tasks = list_tasks(r, vm, r.listed)
            migrate_anyway(r, vm, r.listed, n_tasks)


# ----------------------------------------------------- estimates: estimate_rt of HADS (Algorithm 4)


def estimate(r: Rows, vm: VmRow, spare_all: int) -> int:
    """Estimate how long before they are due the unfinished tasks of a hibernated VM end elsewhere (HADS Algorithm 4).

    The least time of all tasks; below 0 if one is late. Each task goes to the first VM that may take it: those selected
    for earlier tasks (K), idle ones (IR), busy ones (BR), each by price (line 3), else a new on-demand VM (lines
    10-18). Without the overhead of starting VMs, which the migration trigger adds (eq. 4). The VMs that are counted on
    become the helpers of the VM.

    Notes
    -----
    The paper does not say what VMs are busy with while the tasks wait for the trigger: what they have left now counts,
    which is more than they will have left then. A task that fits nowhere counts on its own on the fastest type, and one
    that is not ready as if it were: the trigger may come later.
    """
    n_tasks = list_tasks(r, vm, r.listed)
    list_groups(r, n_tasks)
    n_others = list_others(r, vm)
    r.n_chosen = r.n_spans = 0
    # A task that is due after the deadline counts as one that is due then.
    slack_s = r.deadline_s - r.now_s
    for k in range(n_tasks):
        due_s = r.groups[r.tasks[r.listed[k]].group].due_s
        slack_s = min(slack_s, due_s - end_elsewhere(r, vm, r.listed[k], n_others, spare_all))
    forget_planned(r)
    vm.first_helper = r.n_helpers
    for k in range(r.n_chosen):
        if r.sketches[k].vm != NONE:
            add_helper(r, r.sketches[k].vm)
    vm.n_helpers = r.n_helpers - vm.first_helper
    return slack_s


def list_others(r: Rows, vm: VmRow) -> int:
    """List the VMs that no task has been assigned to: idle ones, then busy ones, each by price; how many."""
    n = n_busy = 0
    for price in range(r.n_prices):
        v = r.prices[price].first
        while v != NONE:
            other = r.vms[v]
            v = other.after
            if other.state > RUNNING or other.gone_s != NONE or other.index == vm.index:
                continue
            if other.n_left == 0:
                if other.state == RUNNING or not other.bursts:
                    r.free_vms[n] = other.index
                    n += 1
            elif not other.bursts:
                r.busy_vms[n_busy] = other.index
                n_busy += 1
    for k in range(n_busy):
        r.free_vms[n + k] = r.busy_vms[k]
    return n + n_busy


def end_elsewhere(r: Rows, vm: VmRow, task: int, n_others: int, spare_all: int) -> int:
    """Assign a task to the first VM that may take it, or to a new one; return when it ends."""
    group = r.tasks[task].group
    saved = saved_now(r, vm, task)
    for place in range(r.n_chosen):
        k = r.chosen[place]
        offer = r.offers[r.sketches[k].offer]
        if offer.bursts:
            continue  # they take tasks only while they are idle, so one at the most
        duration_s = duration_of(r, group, r.sketches[k].offer, offer.sustained, saved)
        start_s = NONE if duration_s >= NEVER else start_on_sketch(r, k, group, duration_s)
        if start_s != NONE:
            return assign(r, k, group, start_s, duration_s)
    # What has turned down a task turns down each that is like it: others stay as they are until they are chosen.
    place = r.idle_asked[group] if saved == 0.0 else 0
    while place < n_others:
        other = r.vms[r.free_vms[place]]
        mode = r.offers[other.offer_index].sustained
        if other.helping != r.stamp and may_migrate(r, other, group, saved, mode, spare_all):
            if saved == 0.0:
                r.idle_asked[group] = place
            other.helping = r.stamp
            k = sketch_of(r, other, spare_all)
            duration_s = duration_of(r, group, other.offer_index, mode, saved)
            return assign(r, k, group, start_on_sketch(r, k, group, duration_s), duration_s)
        place += 1
    if saved == 0.0:
        r.idle_asked[group] = n_others
    for place in range(r.n_regular):
        index = r.regular[place]
        duration_s = duration_of(r, group, index, FULL_SPEED, saved)
        if duration_s >= NEVER or not can_start(r, r.offers[index]):
            continue
        if may_take_new(r, group, index, duration_s, spare_all):
            k = new_sketch(r, index, r.now_s, spare_all)
            count_planned(r, r.offers[index])
            return assign(r, k, group, 0, duration_s)
    # It fits nowhere: as on a VM of its own, of the type on which it is shortest.
    shortest_s = NEVER
    for place in range(r.n_regular):
        shortest_s = min(shortest_s, duration_of(r, group, r.regular[place], FULL_SPEED, saved))
    if shortest_s >= NEVER:
        for index in range(r.n_offers):
            shortest_s = min(shortest_s, duration_of(r, group, index, r.offers[index].sustained, saved))
    return r.now_s + shortest_s


def may_take_new(r: Rows, group: int, offer: int, duration_s: int, spare_all: int) -> bool:
    """True if a new VM may take a task: the overhead of starting it is in the trigger, here it is there at once."""
    most_kb = r.offers[offer].memory_kb
    if most_kb != NONE and not fits(most_kb - r.groups[group].memory_kb):
        return False
    left_s = r.deadline_s - r.now_s - duration_s
    if spare_all:
        left_s -= r.durations[group][offer].runtime_s + r.start_overhead_s + 1
    return left_s >= 0


# -------------------------------------------------------------------------- sketches


def sketch_of(r: Rows, vm: VmRow, spare_all: int) -> int:
    """Choose a VM that is there; return its sketch."""
    spare = int(vm.spot == 1 or spare_all == 1)
    k = choose(r, vm.index, vm.offer_index, vm.zero_s, longest_of(r, vm) if spare else 0, spare)
    from_s = earliest_uptime(r, vm)
    for core in range(vm.vcpus):
        r.sketched[k][core] = core_free(r, r.cores[vm.index][core], from_s)
    if vm.most_kb != NONE:
        r.sketches[k].first_span = list_spans(r, vm, from_s)
    return k


def new_sketch(r: Rows, offer: int, zero_s: int, spare_all: int) -> int:
    """Choose a new VM, which runs tasks from a moment on; return its sketch."""
    k = choose(r, NONE, offer, zero_s, 0, spare_all)
    for core in range(r.offers[offer].vcpus):
        r.sketched[k][core] = 0
    return k


def choose(r: Rows, v: int, offer: int, zero_s: int, longest_s: int, spare: int) -> int:
    """Choose a VM: those chosen are kept by price, the one that comes later after others of its price."""
    # Sketches stay where they are, and only their numbers are sorted: others hold on to them.
    place = k = add_sketch(r)
    price = r.offers[offer].usd_per_hour
    while place and r.offers[r.sketches[r.chosen[place - 1]].offer].usd_per_hour > price:
        r.chosen[place] = r.chosen[place - 1]
        place -= 1
    r.chosen[place] = k
    sketch = r.sketches[k]
    sketch.vm, sketch.offer, sketch.zero_s, sketch.longest_s, sketch.spare = v, offer, zero_s, longest_s, spare
    sketch.kb, sketch.first_span = r.offers[offer].memory_kb, NONE
    return k


def start_on_sketch(r: Rows, k: int, group: int, duration_s: int) -> int:
    """Start of a task on a VM with what is assigned to it already; `NONE` if it may not (HADS Algorithm 7)."""
    sketch, free = r.sketches[k], r.sketched[k]
    start_s, ends_s = NEVER, 0
    for core in range(r.offers[sketch.offer].vcpus):
        start_s = min(start_s, free[core])
        ends_s = max(ends_s, free[core])
    if sketch.kb != NONE:
        # Cores only fill up, so no later task starts before: what has ended by then is in nobody's way.
        sketch.first_span = without_ended(r, sketch.first_span, start_s)
        start_s = earliest_among(r, sketch.first_span, start_s, sketch.kb - r.groups[group].memory_kb, duration_s)
        if start_s == NONE:
            return NONE
    left_s = r.deadline_s - sketch.zero_s - max(start_s + duration_s, ends_s)
    if sketch.spare:
        runtime_s = r.durations[group][sketch.offer].runtime_s
        left_s -= max(sketch.longest_s, runtime_s) + r.start_overhead_s + 1
    return start_s if left_s >= 0 else NONE


def core_on_sketch(r: Rows, k: int, start_s: int) -> int:
    """Core of a task that starts at some time: the one that has been idle for the shortest time then."""
    which = latest_s = NONE
    for core in range(r.offers[r.sketches[k].offer].vcpus):
        if latest_s < r.sketched[k][core] <= start_s:
            which, latest_s = core, r.sketched[k][core]
    return which


def assign(r: Rows, k: int, group: int, start_s: int, duration_s: int) -> int:
    """Assign a task to a sketch; return when it ends."""
    sketch = r.sketches[k]
    r.sketched[k][core_on_sketch(r, k, start_s)] = start_s + duration_s
    if sketch.kb != NONE:
        kb = r.groups[group].memory_kb
        sketch.first_span = add_span(r, start_s, start_s + duration_s, kb, sketch.first_span)
    sketch.longest_s = max(sketch.longest_s, r.durations[group][sketch.offer].runtime_s)
    return sketch.zero_s + start_s + duration_s
