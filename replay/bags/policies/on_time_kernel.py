"""The inner loops of `on-time`: when a rescue on demand must begin at the latest, and what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....core.compiled import compiled, compiled_part
from ....instances.durations import NEVER

if TYPE_CHECKING:
    from ....core.quantities import IntArray


@compiled
def latest_rescue(
    row_of: IntArray,
    duration_s: IntArray,
    memory_kb: IntArray,
    vms: IntArray,
    cores: IntArray,
    offers: IntArray,
    left: IntArray,
    market_left: int,
    now_s: int,
    until_s: int,
    overhead_s: int,
    deadline_s: int,
) -> tuple[int, int, int, IntArray, IntArray]:
    """Pack tasks onto on-demand VMs so that all may wait for as long as can be found.

    Longest tasks first, each onto the core of the first VM that takes it which is free first; VMs that are there come
    first, then new ones. The latest start is found by bisection. Where memory may bind, each core of a VM has a share
    of its memory for its largest task: whatever starts when, all of it fits.

    Parameters
    ----------
    row_of : array of int, shape (n_tasks,)
        Row of each task in the next two. In the order of packing.
    duration_s : array of int, shape (n_rows, n_columns)
        How long tasks take on each on-demand type; `NEVER` if they cannot run there.
    memory_kb : array of int, shape (n_rows,)
        Their memory.
    vms : array of int, shape (n_vms, 3)
        VMs that are there: column of ``duration_s``, memory (-1 if it never binds), number of cores.
    cores : array of int, shape (n_cores, 2)
        Their cores, in the order of the VMs: when each is free for good, and the share of memory that it needs so far.
    offers : array of int, shape (n_offers, 3)
        Offers of new VMs, the one to prefer first: column, memory, number of cores.
    left : array of int, shape (n_offers,)
        How many more VMs of each there may be.
    market_left : int
        How many new VMs there may be in all.
    now_s, until_s, overhead_s, deadline_s : int
        The first and the last start to look at; from the request of a VM until it runs a task; the deadline.

    Returns
    -------
    latest_s : int
        If nothing is done before, all tasks still end in time. One second before ``now_s`` if no packing was found;
        what follows is then that of what fits from then on.
    due_s : int
        When the first VM or task of the packing must start, which may be later.
    left_out : int
        Tasks without a place.
    core_of : array of int, shape (n_tasks,)
        Core of each task: those of VMs that are there, then those of new VMs; -1 without a place.
    new : array of int
        Offer of each new VM, by its position.
    """
    n_tasks, n_vms, n_cores = len(row_of), len(vms), len(cores)
    n_new, most_cores = _most_new(offers, left, market_left, n_tasks)
    vm_column = np.empty(n_vms + n_new, np.int64)
    vm_memory = np.empty(n_vms + n_new, np.int64)
    vm_first = np.empty(n_vms + n_new + 1, np.int64)
    first = 0
    for v in range(n_vms):
        vm_column[v], vm_memory[v], vm_first[v] = vms[v, 0], vms[v, 1], first
        first += vms[v, 2]
    vm_first[n_vms] = first
    end_s = np.empty(n_cores + n_new * most_cores, np.int64)
    work_s = np.empty(n_cores + n_new * most_cores, np.int64)
    share_kb = np.empty(n_cores + n_new * most_cores, np.int64)
    used_kb = np.empty(n_vms + n_new, np.int64)
    taken = np.empty(len(offers), np.int64)
    opened = np.empty(n_new, np.int64)
    core_of = np.empty(n_tasks, np.int64)
    best_core_of = np.full(n_tasks, -1, np.int64)
    best_new = np.empty(0, np.int64)
    best_s, best_left, due_s = now_s - 1, n_tasks, deadline_s
    low_s, high_s = now_s, until_s
    start_s = now_s
    while low_s <= high_s:
        used_kb[:] = 0
        for v in range(n_vms):
            for c in range(vm_first[v], vm_first[v + 1]):
                end_s[c] = max(cores[c, 0], start_s)
                share_kb[c] = cores[c, 1]
                used_kb[v] += cores[c, 1]
        n_opened, left_out = _pack(
            row_of, duration_s, memory_kb, offers, left, n_vms, n_new, start_s + overhead_s, deadline_s,
            start_s == now_s, vm_column, vm_memory, vm_first, end_s, work_s, share_kb, used_kb, taken, opened, core_of,
        )  # fmt: skip
        if left_out == 0 or start_s == now_s:
            best_core_of[:] = core_of
            best_new = opened[:n_opened].copy()
            best_left = left_out
            due_s = deadline_s
            for c in range(vm_first[n_vms + n_opened]):
                if work_s[c] or c >= n_cores:
                    due_s = min(due_s, deadline_s - work_s[c] - (overhead_s if c >= n_cores else 0))
            if left_out:
                break
            best_s = start_s
            low_s = start_s + 1
        else:
            high_s = start_s - 1
        start_s = (low_s + high_s) // 2
    return best_s, due_s, best_left, best_core_of, best_new


@compiled
def new_vms_from(
    row_of: IntArray,
    duration_s: IntArray,
    memory_kb: IntArray,
    offers: IntArray,
    left: IntArray,
    market_left: int,
    starts_s: IntArray,
    overhead_s: int,
    deadline_s: int,
) -> tuple[IntArray, IntArray, IntArray]:
    """Pack tasks onto new on-demand VMs only, from each of several moments on; see `latest_rescue`.

    Returns
    -------
    n_new : array of int, shape (n_starts,)
        How many VMs it takes; -1 if a task has no place.
    new, longest_s : array of int, shape (n_starts, n)
        Of each VM: its offer, by its position, and the work of its core that has most.
    """
    n_tasks = len(row_of)
    n_new, most_cores = _most_new(offers, left, market_left, n_tasks)
    vm_column = np.empty(n_new, np.int64)
    vm_memory = np.empty(n_new, np.int64)
    vm_first = np.zeros(n_new + 1, np.int64)
    end_s = np.empty(n_new * most_cores, np.int64)
    work_s = np.empty(n_new * most_cores, np.int64)
    share_kb = np.empty(n_new * most_cores, np.int64)
    used_kb = np.empty(n_new, np.int64)
    taken = np.empty(len(offers), np.int64)
    opened = np.empty((len(starts_s), n_new), np.int64)
    core_of = np.empty(n_tasks, np.int64)
    counts = np.full(len(starts_s), -1, np.int64)
    longest_s = np.zeros((len(starts_s), n_new), np.int64)
    for k in range(len(starts_s)):
        used_kb[:] = 0
        n_opened, left_out = _pack(
            row_of, duration_s, memory_kb, offers, left, 0, n_new, starts_s[k] + overhead_s, deadline_s,
            False, vm_column, vm_memory, vm_first, end_s, work_s, share_kb, used_kb, taken, opened[k], core_of,
        )  # fmt: skip
        if left_out == 0:
            counts[k] = n_opened
            for v in range(n_opened):
                for c in range(vm_first[v], vm_first[v + 1]):
                    longest_s[k, v] = max(longest_s[k, v], work_s[c])
    return counts, opened, longest_s


@compiled_part
def _most_new(offers: IntArray, left: IntArray, market_left: int, n_tasks: int) -> tuple[int, int]:
    """How many new VMs there may be, and the most cores that one has."""
    n_new = most_cores = 0
    for m in range(len(offers)):
        n_new += max(left[m], 0)
        most_cores = max(most_cores, offers[m, 2])
    return min(n_new, max(market_left, 0), n_tasks), most_cores


@compiled_part
def _pack(
    row_of: IntArray,
    duration_s: IntArray,
    memory_kb: IntArray,
    offers: IntArray,
    left: IntArray,
    n_vms: int,
    n_new: int,
    ready_s: int,
    deadline_s: int,
    go_on: bool,
    vm_column: IntArray,
    vm_memory: IntArray,
    vm_first: IntArray,
    end_s: IntArray,
    work_s: IntArray,
    share_kb: IntArray,
    used_kb: IntArray,
    taken: IntArray,
    opened: IntArray,
    core_of: IntArray,
) -> tuple[int, int]:
    """Pack tasks onto VMs that are there and new ones that are ready at some time.

    Return how many new ones, and how many tasks have no place; unless it is to go on, there may be more of them.
    """
    n_opened = left_out = 0
    taken[:] = 0
    work_s[:] = 0
    for j in range(len(row_of)):
        row = row_of[j]
        place = -1
        for v in range(n_vms + n_opened):
            length_s = duration_s[row, vm_column[v]]
            if length_s >= NEVER:
                continue
            for c in range(vm_first[v], vm_first[v + 1]):
                if place >= 0 and end_s[c] >= end_s[place]:
                    continue
                if end_s[c] + length_s > deadline_s:
                    continue
                if vm_memory[v] >= 0 and used_kb[v] + max(memory_kb[row] - share_kb[c], 0) > vm_memory[v]:
                    continue
                place = c
            if place >= 0:
                end_s[place] += length_s
                work_s[place] += length_s
                if vm_memory[v] >= 0:
                    used_kb[v] += max(memory_kb[row] - share_kb[place], 0)
                    share_kb[place] = max(memory_kb[row], share_kb[place])
                break
        if place < 0 and n_opened < n_new:
            for m in range(len(offers)):
                length_s = duration_s[row, offers[m, 0]]
                if taken[m] >= left[m] or length_s >= NEVER or ready_s + length_s > deadline_s:
                    continue
                if offers[m, 1] >= 0 and memory_kb[row] > offers[m, 1]:
                    continue
                v = n_vms + n_opened
                vm_column[v], vm_memory[v] = offers[m, 0], offers[m, 1]
                vm_first[v + 1] = vm_first[v] + offers[m, 2]
                for c in range(vm_first[v], vm_first[v + 1]):
                    end_s[c] = ready_s
                    share_kb[c] = 0
                place = vm_first[v]
                end_s[place] += length_s
                work_s[place] += length_s
                share_kb[place] = memory_kb[row]
                used_kb[v] = memory_kb[row]
                taken[m] += 1
                opened[n_opened] = m
                n_opened += 1
                break
        core_of[j] = place
        if place < 0:
            left_out += 1
            if not go_on:
                break
    return n_opened, left_out
