"""Estimates of the time that tasks of a hibernated VM would take elsewhere: estimate_rt of HADS (Algorithm 4)."""

from __future__ import annotations

from ....core.capacities import fits
from ....instances.entries import FULL_SPEED, NEVER
from ...engines import RUNNING
from ..interpreted import add_helper, add_sketch
from ..rows import NONE, Rows, VmRow
from ..rules import (
    add_span,
    can_start,
    core_free,
    count_planned,
    duration_of,
    earliest_among,
    earliest_uptime,
    forget_planned,
    list_spans,
    list_tasks,
    longest_of,
    saved_now,
    without_ended,
)
from .migration import list_groups, may_migrate


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
