"""The inner loops of `on-time`: when a rescue on demand must begin at the latest, and what it is.

Functions over rows, as rules are. They are always compiled, also for replays in Python: see `interpreted.pack`.
"""

from __future__ import annotations

from ....core.capacities import UNLIMITED, fits, larger
from ....instances.entries import NEVER
from ..rows import NONE, Rows
from ..rules import can_start, count_planned, forget_planned


def latest_rescue(r: Rows, first_s: int, last_s: int) -> tuple[int, int]:
    """Pack listed tasks onto on-demand VMs so that all may wait for as long as can be found.

    Those that are due last first, and the longest of them, each onto the core of the first VM that takes it which is
    free first; VMs that are there come first, then new ones. A core does last what is packed first: the work of a core
    is all the time from its latest start to the deadline of the bag, and nothing of it is not released by its own
    latest start. The latest start is looked for from that of the rescue that is known. Where memory may bind,
    each core of a VM has a share of its memory for its largest task: whatever starts when, all of it fits.

    Parameters
    ----------
    r : Rows
        Tasks are those of ``packed``, in the order of packing; VMs that are there are the ``rescuers``.
    first_s, last_s : int
        The first and the last start to look at.

    Returns
    -------
    due_s : int
        When the first VM or task of the packing must start: if nothing is done before, all tasks still end in time.
    left_out : int
        Tasks without a place. Where no rescue was known before, there may be some, and the others have places.

    Notes
    -----
    Where each task goes is in ``found``: the place of the VM, among rescuers and then new ones, times ``most_cores``,
    and its core; `NONE` without a place. The offer of each new VM is in ``found_new``.
    """
    due_s, least = first_s - 1, r.n_packed
    if first_s > last_s:  # after the deadline nothing has a place
        for k in range(r.n_packed):
            r.found[k] = NONE
    low_s, high_s, start_s, step_s, was_good = first_s, last_s, first_s, 0, True
    while low_s <= high_s:
        begin_with_rescuers(r, start_s)
        go_on = start_s == first_s and not r.covered
        n_new, left_out = pack_from(r, r.n_rescuers, start_s + r.start_overhead_s, go_on)
        good = left_out == 0
        if good or go_on:
            keep_found(r, r.n_rescuers, n_new)
            least, due_s = left_out, due_of_packing(r, n_new)
        if go_on and not good:
            break
        if good:
            low_s = max(start_s, due_s) + 1
        else:
            high_s = start_s - 1
        # First where the rescue has begun that is known, then ever farther from there, at last in the middle.
        if start_s == first_s:
            start_s, step_s = r.standby_latest_s, 1
        elif step_s and (step_s == 1 or good == was_good):
            start_s = low_s + step_s - 1 if good else high_s - step_s + 1
            step_s *= 2
        else:
            start_s, step_s = (low_s + high_s) // 2, 0
        start_s, was_good = min(max(start_s, low_s), high_s), good
    return due_s, least


def due_of_packing(r: Rows, n_new: int) -> int:
    """Latest start of the first VM or task of a packing."""
    due_s = r.deadline_s
    for k in range(r.n_rescuers + n_new):
        work_s = most_work_s(r, k)
        if work_s:
            due_s = min(due_s, r.deadline_s - work_s - (r.start_overhead_s if k >= r.n_rescuers else 0))
    return due_s


def new_vms_from(r: Rows, start_s: int) -> int:
    """Pack listed tasks onto new on-demand VMs only, from a moment on; see `latest_rescue`.

    Return how many VMs it takes, `NONE` if a task has no place. The offer of each is in ``found_new``, the work of its
    core that has most in ``found_longest_s``.
    """
    n_new, left_out = pack_from(r, 0, start_s + r.start_overhead_s, False)
    if left_out:
        return NONE
    keep_found(r, 0, n_new)
    for k in range(n_new):
        r.found_longest_s[k] = most_work_s(r, k)
    return n_new


def keep_found(r: Rows, n_there: int, n_new: int) -> None:
    """Keep a packing: it is the last that is good."""
    for k in range(r.n_packed):
        r.found[k] = r.placed[k]
    r.n_found_new = n_new
    for k in range(n_new):
        r.found_new[k] = r.packed_vms[n_there + k].offer


def most_work_s(r: Rows, k: int) -> int:
    """Largest packed work of a core of a VM."""
    most_s = 0
    for core in cores_of(r, k):
        most_s = max(most_s, r.packed_cores[core].work_s)
    return most_s


def cores_of(r: Rows, k: int) -> range:
    """Places of the cores of a VM."""
    return range(k * r.most_cores, k * r.most_cores + r.offers[r.packed_vms[k].offer].vcpus)


def begin_with_rescuers(r: Rows, start_s: int) -> None:
    """Begin a packing with the VMs that are there, which take tasks from a moment on."""
    for k in range(r.n_rescuers):
        vm = r.packed_vms[k]
        vm.offer, vm.used_kb, vm.free_s = r.rescuer_offers[k], 0, NEVER
        for core in cores_of(r, k):
            row = r.packed_cores[core]
            row.end_s, row.kb, row.work_s = max(r.rescuer_free_s[core], start_s), r.rescuer_kb[core], 0
            vm.used_kb += row.kb
            vm.free_s = min(vm.free_s, row.end_s)


def pack_from(r: Rows, n_there: int, ready_s: int, go_on: bool) -> tuple[int, int]:
    """Pack tasks onto VMs that are there and new ones that are ready at some time.

    Return how many new ones, and how many tasks have no place; unless it is to go on, there may be more of them.
    """
    n_vms, left_out = n_there, 0
    forget_planned(r)
    for j in range(r.n_packed):
        task = r.packed[j]
        r.placed[j] = NONE
        most_s = r.deadline_s - r.need_least_s[task]
        for k in range(n_vms):
            if r.packed_vms[k].free_s <= most_s and put_on(r, j, task, k):
                break
        if r.placed[j] == NONE and n_vms - n_there < len(r.found_new):
            n_vms += open_for(r, j, task, n_vms, ready_s)
        if r.placed[j] == NONE:
            left_out += 1
            if not go_on:
                break
    forget_planned(r)
    return n_vms - n_there, left_out


def put_on(r: Rows, j: int, task: int, k: int) -> bool:
    """Put a task onto the core of a VM that is free first of those with memory for it, if it ends in time there."""
    vm = r.packed_vms[k]
    length_s = r.need_s[task * r.n_columns + r.column_of[vm.offer]]
    if vm.free_s + length_s > r.deadline_s:
        return False
    offer = r.offers[vm.offer]
    kb, room_kb = r.need_kb[task], UNLIMITED
    if offer.memory_kb != NONE:
        room_kb = offer.memory_kb - vm.used_kb
    after_s, most_s = r.need_after_s[task], r.deadline_s - length_s - r.need_ready_s[task]
    dated = after_s > 0 or most_s < r.deadline_s - length_s
    best, best_s = NONE, r.deadline_s - length_s + 1
    for core in cores_of(r, k):
        row = r.packed_cores[core]
        end_s = row.end_s
        if dated:
            work_s = max(row.work_s, after_s)
            end_s += work_s - row.work_s if work_s <= most_s else NEVER
        if end_s < best_s and fits(room_kb + row.kb - larger(kb, row.kb)):
            best, best_s = core, end_s
    if best == NONE:
        return False
    row = r.packed_cores[best]
    length_s += max(after_s - row.work_s, 0)
    row.end_s += length_s
    row.work_s += length_s
    vm.used_kb += larger(kb, row.kb) - row.kb
    row.kb = larger(kb, row.kb)
    vm.free_s = row.end_s
    for core in cores_of(r, k):
        vm.free_s = min(vm.free_s, r.packed_cores[core].end_s)
    r.placed[j] = best
    return True


def open_for(r: Rows, j: int, task: int, k: int, ready_s: int) -> int:
    """Put a task onto a new VM, the first that there can be on which it ends in time; return how many it is, 1 or 0."""
    for m in range(r.n_standby_offers):
        index = r.standby_offers[m]
        offer = r.offers[index]
        length_s = r.need_s[task * r.n_columns + r.column_of[index]]
        if max(ready_s, r.need_ready_s[task]) + length_s > r.deadline_s - r.need_after_s[task]:
            continue
        if not can_start(r, offer):
            continue
        if offer.memory_kb != NONE and not fits(offer.memory_kb - r.need_kb[task]):
            continue
        count_planned(r, offer)
        vm = r.packed_vms[k]
        vm.offer, vm.used_kb, vm.free_s = index, 0, ready_s
        for core in cores_of(r, k):
            row = r.packed_cores[core]
            row.end_s, row.kb, row.work_s = ready_s, 0, 0
        put_on(r, j, task, k)
        return 1
    return 0
