"""Simulated annealing on core loads, for VMs whose memory never binds: the inner loop, compiled by numba.

Without memory only the load of each core matters: a VM ends with its most loaded core, and the order on a core is
free. The state is which task is on which core; a move takes a task of one core to another, or exchanges it for the
best task there. Its effect is worked out from the two cores and their VMs alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.compiled import compiled
from ...core.quantities import MAX_SECONDS

if TYPE_CHECKING:
    from ...core.quantities import FloatArray, IntArray

_SCANNED = 48


@compiled
def anneal(
    durations: IntArray,
    core_offer: IntArray,
    core_vm: IntArray,
    vm_first: IntArray,
    vm_price: FloatArray,
    vm_limit: IntArray,
    time_weight: float,
    penalty: float,
    balance: float,
    core_tasks: IntArray,
    core_count: IntArray,
    load: IntArray,
    vm_end: IntArray,
    random_state: IntArray,
    iterations: int,
    hot: float,
    cold: float,
    keep_best: bool,
    best_tasks: IntArray,
    best_count: IntArray,
    value: float,
    best: float,
) -> tuple[float, float]:
    """Run a number of moves while the temperature falls from ``hot`` to ``cold``.

    Parameters
    ----------
    durations : array of int, shape (n_offers, n_tasks)
        Seconds of each task on each offer; huge where it cannot run.
    core_offer, core_vm : array of int, shape (n_cores,)
        Offer and VM of each core.
    vm_first : array of int, shape (n_vms + 1,)
        First core of each VM; its cores follow one another.
    vm_price : array of float, shape (n_vms,)
        Price of a second, in units of the objective.
    vm_limit : array of int, shape (n_vms,)
        Latest end, from ready; each second more costs ``penalty``.
    balance : float
        Weight of the squared loads, which only tells moves apart that are equal otherwise.
    core_tasks, core_count, load, vm_end : arrays
        The state: tasks of each core (padded), their number, their sum of seconds, and the end of each VM.
    random_state : array of int, shape (1,)
        State of the random numbers.
    keep_best, best_tasks, best_count : bool and arrays
        Whether to keep the best state met, and where.
    value, best : float
        Objective of the state, and of the best one.

    Returns
    -------
    tuple of float
        Objective of the state at the end, and of the best one.
    """
    n_cores = len(core_offer)
    n_vms = len(vm_end)
    capacity = core_tasks.shape[1]
    state = random_state[0]
    temperature = hot
    cooling = (cold / hot) ** (1.0 / max(iterations, 1))
    longest = 0
    for vm in range(n_vms):
        if vm_end[vm] > vm_end[longest]:
            longest = vm
    for _ in range(iterations):
        temperature *= cooling
        # A core to relieve: of the VM that ends last, of any VM the most loaded one, or just any.
        state = (state * 48271) % 2147483647
        kind = state & 3
        if kind == 0:
            state = (state * 48271) % 2147483647
            a = state % n_cores
        else:
            if kind == 1:
                vm = longest
            else:
                state = (state * 48271) % 2147483647
                vm = state % n_vms
            a = vm_first[vm]
            for core in range(vm_first[vm] + 1, vm_first[vm + 1]):
                if load[core] > load[a]:
                    a = core
        if core_count[a] == 0:
            continue
        state = (state * 48271) % 2147483647
        b = state % n_cores
        if a == b:
            continue
        state = (state * 48271) % 2147483647
        at_a = state % core_count[a]
        i = core_tasks[a, at_a]
        va, vb, ka, kb = core_vm[a], core_vm[b], core_offer[a], core_offer[b]
        if durations[kb, i] > MAX_SECONDS:
            continue
        rest_a, rest_b = 0, 0
        for core in range(vm_first[va], vm_first[va + 1]):
            if core not in (a, b) and load[core] > rest_a:
                rest_a = load[core]
        if va != vb:
            for core in range(vm_first[vb], vm_first[vb + 1]):
                if core != b and load[core] > rest_b:
                    rest_b = load[core]
        others = 0
        for vm in range(n_vms):
            if vm not in (va, vb) and vm_end[vm] > others:
                others = vm_end[vm]
        old_end = max(others, vm_end[va], vm_end[vb])
        old = vm_price[va] * vm_end[va] + time_weight * old_end
        old += penalty * max(0, vm_end[va] - vm_limit[va])
        if va != vb:
            old += vm_price[vb] * vm_end[vb] + penalty * max(0, vm_end[vb] - vm_limit[vb])
        # The best partner among the tasks of b, or none (-1).
        scanned = min(core_count[b], _SCANNED)
        offset = 0
        if core_count[b] > _SCANNED:
            state = (state * 48271) % 2147483647
            offset = state % core_count[b]
        lost_a, gained_b = load[a] - durations[ka, i], load[b] + durations[kb, i]
        best_change = 1e300
        best_rank = 1e300
        best_at = -2
        for step in range(-1, scanned):
            new_a, new_b = lost_a, gained_b
            at_b = -1
            if step < 0:
                if core_count[b] == capacity:
                    continue
            else:
                at_b = (offset + step) % core_count[b]
                j = core_tasks[b, at_b]
                if durations[ka, j] > MAX_SECONDS:
                    continue
                new_a += durations[ka, j]
                new_b -= durations[kb, j]
            end_a = max(rest_a, new_a)
            if va == vb:
                end_a = max(end_a, new_b)
                end_b = end_a
            else:
                end_b = max(rest_b, new_b)
            change = vm_price[va] * end_a + time_weight * max(others, end_a, end_b)
            change += penalty * max(0, end_a - vm_limit[va]) - old
            if va != vb:
                change += vm_price[vb] * end_b + penalty * max(0, end_b - vm_limit[vb])
            rank = change + balance * (float(new_a) * new_a + float(new_b) * new_b)
            if rank < best_rank:
                best_rank = rank
                best_change = change
                best_at = at_b
        if best_at == -2:
            continue
        gain = best_rank - balance * (float(load[a]) * load[a] + float(load[b]) * load[b])
        if gain > 0.0:
            state = (state * 48271) % 2147483647
            if gain > 40.0 * temperature or state / 2147483647.0 >= np.exp(-gain / temperature):
                continue
        # Carry it out.
        load[a] -= durations[ka, i]
        load[b] += durations[kb, i]
        if best_at >= 0:
            j = core_tasks[b, best_at]
            core_tasks[b, best_at] = i
            core_tasks[a, at_a] = j
            load[a] += durations[ka, j]
            load[b] -= durations[kb, j]
        else:
            core_tasks[b, core_count[b]] = i
            core_count[b] += 1
            core_count[a] -= 1
            core_tasks[a, at_a] = core_tasks[a, core_count[a]]
        end_a = max(rest_a, load[a])
        if va == vb:
            end_a = max(end_a, load[b])
        else:
            vm_end[vb] = max(rest_b, load[b])
        vm_end[va] = end_a
        if others > max(vm_end[va], vm_end[vb]):
            if longest in (va, vb):
                for vm in range(n_vms):
                    if vm_end[vm] > vm_end[longest]:
                        longest = vm
        else:
            longest = va if vm_end[va] >= vm_end[vb] else vb
        value += best_change
        if keep_best and value < best - 1e-12:
            best = value
            for core in range(n_cores):
                best_count[core] = core_count[core]
                for position in range(core_count[core]):
                    best_tasks[core, position] = core_tasks[core, position]
    random_state[0] = state
    return value, best
