"""The inner loop of `on-time`: when a rescue on demand must begin at the latest, and what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....core.compiled import compiled
from ....instances.durations import NEVER

if TYPE_CHECKING:
    from ....core.quantities import IntArray


@compiled
def latest_rescue(
    duration_s: IntArray,
    memory_kb: IntArray,
    vms: IntArray,
    cores: IntArray,
    offers: IntArray,
    market_left: int,
    now_s: int,
    until_s: int,
    overhead_s: int,
    deadline_s: int,
) -> tuple[int, int, IntArray, IntArray]:
    """Pack tasks onto on-demand VMs so that all may wait for as long as can be found.

    Longest tasks first, each onto the core of the first VM that takes it which is free first; VMs that are there come
    first, then new ones. The latest start is found by bisection. Where memory may bind, each core of a VM has a share
    of its memory for its largest task: whatever starts when, all of it fits.

    Parameters
    ----------
    duration_s : array of int, shape (n_tasks, n_columns)
        How long each task takes on each on-demand type; `NEVER` if it cannot run there. In the order of packing.
    memory_kb : array of int, shape (n_tasks,)
        Memory of each task.
    vms : array of int, shape (n_vms, 3)
        VMs that are there: column of ``duration_s``, memory (-1 if it never binds), number of cores.
    cores : array of int, shape (n_cores, 2)
        Their cores, in the order of the VMs: when each is free for good, and the share of memory that it needs so far.
    offers : array of int, shape (n_offers, 4)
        Offers of new VMs, the one to prefer first: column, memory, number of cores, how many more there may be.
    market_left : int
        How many new VMs there may be in all.
    now_s, until_s, overhead_s, deadline_s : int
        The first and the last start to look at; from the request of a VM until it runs a task; the deadline.

    Returns
    -------
    latest_s : int
        If nothing is done before, all tasks still end in time. One second before ``now_s`` if no packing was found;
        what follows is then that of what fits from then on.
    left_out : int
        Tasks without a place.
    core_of : array of int, shape (n_tasks,)
        Core of each task: those of VMs that are there, then those of new VMs; -1 without a place.
    new : array of int
        Offer of each new VM, by its position.
    """
    n_tasks, n_vms, n_cores = len(duration_s), len(vms), len(cores)
    n_new = 0
    most_cores = 0
    for m in range(len(offers)):
        n_new += max(offers[m, 3], 0)
        most_cores = max(most_cores, offers[m, 2])
    n_new = min(n_new, max(market_left, 0), n_tasks)
    vm_column = np.empty(n_vms + n_new, np.int64)
    vm_memory = np.empty(n_vms + n_new, np.int64)
    vm_first = np.empty(n_vms + n_new + 1, np.int64)
    first = 0
    for v in range(n_vms):
        vm_column[v], vm_memory[v], vm_first[v] = vms[v, 0], vms[v, 1], first
        first += vms[v, 2]
    vm_first[n_vms] = first
    end_s = np.empty(n_cores + n_new * most_cores, np.int64)
    share_kb = np.empty(n_cores + n_new * most_cores, np.int64)
    used_kb = np.empty(n_vms + n_new, np.int64)
    taken = np.empty(len(offers), np.int64)
    opened = np.empty(n_new, np.int64)
    core_of = np.empty(n_tasks, np.int64)
    best_core_of = np.full(n_tasks, -1, np.int64)
    best_new = np.empty(0, np.int64)
    best_s, best_left = now_s - 1, n_tasks
    low_s, high_s = now_s, until_s
    start_s = now_s
    while low_s <= high_s:
        # ------ pack everything from start_s on
        n_opened = left_out = 0
        taken[:] = 0
        used_kb[:] = 0
        for v in range(n_vms):
            for c in range(vm_first[v], vm_first[v + 1]):
                end_s[c] = max(cores[c, 0], start_s)
                share_kb[c] = cores[c, 1]
                used_kb[v] += cores[c, 1]
        for j in range(n_tasks):
            place = -1
            for v in range(n_vms + n_opened):
                length_s = duration_s[j, vm_column[v]]
                if length_s >= NEVER:
                    continue
                for c in range(vm_first[v], vm_first[v + 1]):
                    if place >= 0 and end_s[c] >= end_s[place]:
                        continue
                    if end_s[c] + length_s > deadline_s:
                        continue
                    if vm_memory[v] >= 0 and used_kb[v] + max(memory_kb[j] - share_kb[c], 0) > vm_memory[v]:
                        continue
                    place = c
                if place >= 0:
                    end_s[place] += length_s
                    if vm_memory[v] >= 0:
                        used_kb[v] += max(memory_kb[j] - share_kb[place], 0)
                        share_kb[place] = max(memory_kb[j], share_kb[place])
                    break
            if place < 0 and n_opened < n_new:
                for m in range(len(offers)):
                    length_s = duration_s[j, offers[m, 0]]
                    if taken[m] >= offers[m, 3] or length_s >= NEVER:
                        continue
                    if start_s + overhead_s + length_s > deadline_s:
                        continue
                    if offers[m, 1] >= 0 and memory_kb[j] > offers[m, 1]:
                        continue
                    v = n_vms + n_opened
                    vm_column[v], vm_memory[v] = offers[m, 0], offers[m, 1]
                    vm_first[v + 1] = vm_first[v] + offers[m, 2]
                    used_kb[v] = 0
                    for c in range(vm_first[v], vm_first[v + 1]):
                        end_s[c] = start_s + overhead_s
                        share_kb[c] = 0
                    place = vm_first[v]
                    end_s[place] += length_s
                    share_kb[place] = memory_kb[j]
                    used_kb[v] = memory_kb[j]
                    taken[m] += 1
                    opened[n_opened] = m
                    n_opened += 1
                    break
            core_of[j] = place
            if place < 0:
                left_out += 1
                if start_s > now_s:
                    break
        # ------ keep it if all fits, and try later
        if left_out == 0 or start_s == now_s:
            best_core_of[:] = core_of
            best_new = opened[:n_opened].copy()
            best_left = left_out
            if left_out:
                break
            best_s = start_s
            low_s = start_s + 1
        else:
            high_s = start_s - 1
        start_s = (low_s + high_s) // 2
    return best_s, best_left, best_core_of, best_new
