"""Timeline of one VM whose tasks start in a given order, with exact memory and CPU credits: an inner loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.capacities import fits
from ...core.compiled import compiled, compiled_part
from ...core.quantities import BoolArray, FloatArray, IntArray


class Fleet(NamedTuple):
    """VMs, and what the tasks take there.

    Attributes
    ----------
    durations : array of int, shape (2, n_offers, n_tasks)
        Seconds of each task on each offer at full speed, and at the baseline of burstable ones; huge where it cannot
        run.
    latest : array of int, shape (n_offers, n_tasks), or (0, 0)
        Latest end of each task on each offer; nothing where that of its VM is all that counts.
    release : array of int, shape (n_tasks,), or (0,)
        Earliest start of each task; nothing where there is none.
    late : array of float, shape (3, n_tasks), or (0, 0)
        When each task is due, what it is charged if it ends later, and for each second of that; nothing where none may.
    memory_kb : array of int, shape (n_tasks,)
        Memory of each task.
    offer, vcpus, size_kb : array of int, shape (n_vms,)
        Offer and cores of each VM, and its memory; negative if that cannot bind.
    core_start, held_kb, core_runs : array of int, shape (n_vms, most cores)
        When each core is free, and until then the memory that is held there and what runs there: a task at the baseline
        (0), one at full speed that runs already (2), or nothing (3).
    bursts : array of bool, shape (n_vms,)
        VMs on which tasks may run at full speed or at the baseline, as far as credits go.
    credits : array of float, shape (n_vms, 6)
        Of those: credits at the start and the most of them; earned in a second, and spent in a second by a core at full
        speed and at the baseline; and when they are counted from.
    """

    durations: IntArray
    latest: IntArray
    release: IntArray
    late: FloatArray
    memory_kb: IntArray
    offer: IntArray
    vcpus: IntArray
    size_kb: IntArray
    core_start: IntArray
    held_kb: IntArray
    core_runs: IntArray
    bursts: BoolArray
    credits: FloatArray


class VmEnds(NamedTuple):
    """End of a VM, and what decides it.

    Attributes
    ----------
    end, total : int
        When it ends, and the sum of the ends of its cores.
    lacking : float
        Credits that it lacks.
    late : int
        Seconds by which its tasks end too late, together; not those that may be late.
    charged : float
        What these are charged.
    """

    end: int
    total: int
    lacking: float
    late: int
    charged: float


class CoreWork(NamedTuple):
    """Scratch arrays, kept from call to call: of each core its end, what it holds, and what runs.

    That is as in `Fleet.core_runs`, with -1 for cores that are free and 1 for tasks at full speed that the plan starts.
    """

    end: IntArray
    held: IntArray
    runs: IntArray


@compiled_part
def core_work(fleet: Fleet) -> CoreWork:
    """Make the memory for the VM with the most cores."""
    most = 0
    for cores in fleet.vcpus:
        most = max(most, cores)
    work = np.empty((3, most), dtype=np.int64)
    return CoreWork(work[0], work[1], work[2])


@compiled_part
def _credits_after(
    credits: FloatArray, balance: float, seconds: float, n_full: int, n_slow: int
) -> tuple[float, float]:
    """Return the credits that are lacking after some seconds, and the balance.

    A VM earns all the time, and tasks spend in both modes. What lacks is charged once: the balance begins at 0 again.
    """
    balance += (credits[2] - n_full * credits[3] - n_slow * credits[4]) * seconds
    owed = max(-balance, 0.0)
    return owed, min(max(balance, 0.0), credits[1])


@compiled_part
def start_order_ends(
    fleet: Fleet,
    vm: int,
    tasks: IntArray,
    count: int,
    slow: BoolArray,
    starts: IntArray,
    cores: IntArray,
    work: CoreWork,
) -> VmEnds:
    """Return the end of a VM whose tasks start in their order.

    No task starts before the one in front of it; each starts as soon as it is released, and a core and its memory are
    free. Every plan of
    a VM is met so, or a better one: that of its tasks in the order of their starts. Time counts from ready; if there
    are machines, from second 0.

    Parameters
    ----------
    fleet, vm : Fleet, int
        The VMs, and which of them it is.
    tasks, count : array of int, shape (>= count,), int
        Tasks in their order, and how many there are. Each can run on the VM.
    slow : array of bool, shape (n_tasks,)
        Tasks that run at the baseline on burstable VMs.
    starts, cores : array of int, shape (n_tasks,), or (0,)
        Receive the start and the core of each task, if they are not empty.
    work : CoreWork
        Large enough.
    """
    memory_kb, offer, size_kb, vcpus = fleet.memory_kb, fleet.offer[vm], fleet.size_kb[vm], fleet.vcpus[vm]
    at_full, at_baseline = fleet.durations[0, offer], fleet.durations[1, offer]
    bursts = fleet.bursts[vm]
    end, held, runs = work
    busy, used, now, late, charged = 0, 0, 0, 0, 0.0
    for core in range(vcpus):
        end[core] = fleet.core_start[vm, core]
        held[core], runs[core] = 0, -1
        if end[core] > 0:
            held[core], runs[core] = fleet.held_kb[vm, core], fleet.core_runs[vm, core]
            busy += 1
            used += held[core]
    # Tasks at full speed, those of them that the plan starts (no others are to blame for credits that lack), and tasks
    # at the baseline.
    n_full, n_started, n_slow = 0, 0, 0
    balance, lacking, since = 0.0, 0.0, 0.0
    if bursts:
        balance, since = fleet.credits[vm, 0], fleet.credits[vm, 5]
        for core in range(vcpus):
            n_full += runs[core] == 2
            n_slow += runs[core] == 0
    for position in range(count + 1):
        closing = position == count  # what is left of the credits is followed to the end
        if closing and not bursts:
            break
        task = tasks[position] if not closing else 0
        need = memory_kb[task] if not closing else 0
        release = fleet.release[task] if len(fleet.release) > 0 and not closing else 0
        # Tasks end, the first ones first, until a core and the memory are free, and all that end by the release.
        while busy > 0:
            room = not closing and busy < vcpus and (size_kb < 0 or fits(size_kb - used - need))
            if room and now >= release:
                break
            # A VM has few cores: to look at all of them is faster than a heap.
            first = -1
            for core in range(vcpus):
                if runs[core] >= 0 and (first < 0 or end[core] < end[first]):
                    first = core
            if room and end[first] > release:
                break
            now = max(now, end[first])
            if bursts:
                owed, balance = _credits_after(fleet.credits[vm], balance, now - since, n_full, n_slow)
                lacking += owed if n_started > 0 else 0.0
                since = now
                n_full -= runs[first] == 1 or runs[first] == 2
                n_started -= runs[first] == 1
                n_slow -= runs[first] == 0
            used -= held[first]
            busy -= 1
            runs[first] = -1
        if closing:
            break
        now = max(now, release)
        free = 0
        while runs[free] >= 0:
            free += 1
        # Of the cores that are free, the one that has been so for the shortest time.
        for core in range(free + 1, vcpus):
            if runs[core] < 0 and end[core] > end[free]:
                free = core
        full = not (bursts and slow[task])
        if bursts:
            owed, balance = _credits_after(fleet.credits[vm], balance, now - since, n_full, n_slow)
            lacking += owed if n_started > 0 else 0.0
            since = now
            if full:
                n_full += 1
                n_started += 1
            else:
                n_slow += 1
        takes = at_full[task] if full else at_baseline[task]
        end[free] = now + takes
        if len(fleet.late):
            due = fleet.late[0, task]
            if fleet.latest[offer, task] < end[free] <= due:
                end[free] = int(due) + 1  # it waits until it is late
            if end[free] > due:
                charged += fleet.late[1, task] + fleet.late[2, task] * (end[free] - due)
        elif len(fleet.latest):
            late += max(0, end[free] - fleet.latest[offer, task])
        # Empty arrays say that the ends are wanted alone, as in all moves of a search.
        if len(starts):
            starts[task], cores[task] = end[free] - takes, free
        held[free], runs[free] = need, 1 if full else 0
        used += need
        busy += 1
    last, total = 0, 0
    for core in range(vcpus):
        last = max(last, end[core])
        total += end[core]
    return VmEnds(last, total, lacking, late, charged)


@compiled
def set_starts(
    fleet: Fleet, vm_tasks: IntArray, vm_count: IntArray, slow: BoolArray, starts: IntArray, cores: IntArray
) -> None:
    """Set the start and the core of each task, from the tasks of all VMs (padded) and how many of them there are."""
    work = core_work(fleet)
    for vm in range(len(vm_count)):
        start_order_ends(fleet, vm, vm_tasks[vm], vm_count[vm], slow, starts, cores, work)
