"""Simulated annealing on the tasks of each VM and the order of their starts: the inner loops, compiled by numba.

First the timeline of one VM whose tasks start in a given order, with exact memory and CPU credits, which says what an
order is worth; then the annealing, which looks for better ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.capacities import fits
from ...core.compiled import compiled, compiled_long, compiled_part
from ...core.quantities import MAX_SECONDS, NOISE, BoolArray, FloatArray, IntArray
from .annealing_kernel import Cooling, Objective, beside, end_of_others, is_either, last_vm, over_budget, rent


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


_EXCHANGES, _TAILS, _FLIPS = 0.45, 0.08, 0.10
_OF_LAST_VM = 0.12
_ALIKE = 0.8
"""Share of exchanges that are with a task alike, and not with any."""

_AROUND = 16
"""Divisor of the order: where tasks have dates, a place is looked for within that part of it on both sides."""


class AssignmentState(NamedTuple):
    """Tasks of each VM, in the order in which they start; changed in place.

    Attributes
    ----------
    tasks, number : array of int, shapes (n_vms, capacity) and (n_vms,)
        Tasks of each VM in the order of their starts (padded), and their number.
    vm, slow : array of int and of bool, shape (n_tasks,)
        VM of each task, and whether it runs at the baseline if that is a burstable one.
    open : array of int, shape (n_open,)
        The tasks that are planned.
    end, total, lacking, late, charged : arrays, shape (n_vms,)
        See `VmEnds`.
    random : array of int, shape (1,)
        State of the random numbers.
    """

    tasks: IntArray
    number: IntArray
    vm: IntArray
    slow: BoolArray
    open: IntArray
    end: IntArray
    total: IntArray
    lacking: FloatArray
    late: IntArray
    charged: FloatArray
    random: IntArray


class BestAssignment(NamedTuple):
    """The best plan met: its tasks, their number and modes as in the state, and what it is worth, shape (1,)."""

    tasks: IntArray
    number: IntArray
    slow: BoolArray
    value: FloatArray


@compiled_part
def _paid(objective: Objective, vm: int, ends: VmEnds) -> float:
    """Cost of the seconds of a VM until its end; `beside` is what comes to it."""
    paid: float = objective.vm_price[vm] * max(ends.end, objective.vm_free[vm])
    return paid


@compiled_part
def _penalty(objective: Objective, credit_price: float, vm: int, ends: VmEnds) -> float:
    """Penalty for the rules that a VM breaks, and what its late tasks are charged."""
    charged: float = ends.charged + objective.penalty * max(0, ends.end - objective.vm_limit[vm])
    if ends.lacking > NOISE:
        charged += credit_price * ends.lacking
    return charged + objective.task_penalty * ends.late


@compiled_part
def _breaks(objective: Objective, vm: int, ends: VmEnds) -> bool:
    """True if a VM breaks a rule."""
    return ends.end > objective.vm_limit[vm] or ends.lacking > NOISE or ends.late > 0


@compiled_part
def _ends_of(plan: AssignmentState, vm: int) -> VmEnds:
    """Present end of a VM, and what decides it."""
    return VmEnds(plan.end[vm], plan.total[vm], plan.lacking[vm], plan.late[vm], plan.charged[vm])


@compiled_part
def _set_ends(plan: AssignmentState, vm: int, ends: VmEnds) -> None:
    plan.end[vm], plan.total[vm], plan.lacking[vm] = ends.end, ends.total, ends.lacking
    plan.late[vm], plan.charged[vm] = ends.late, ends.charged


@compiled_part
def _place(random: int, position: int, count: int, places: int, dated: bool) -> int:
    """Place in an order, drawn at random; if tasks have dates, one that is as far on as a position of another order."""
    if not dated:
        return random % places
    around = 1 + places // _AROUND
    place = position * places // count + random % (2 * around + 1) - around
    return min(max(place, 0), places - 1)


@compiled_long
def anneal_assignments(
    fleet: Fleet,
    objective: Objective,
    credit_price: float,
    plan: AssignmentState,
    alike: IntArray,
    cooling: Cooling,
    mean_share: float,
    best: BestAssignment,
) -> float:
    """Run a number of moves while the temperature falls, and return the objective at the end.

    A move exchanges two tasks, takes one to a place in the order of another VM or of its own, exchanges what two VMs
    start from some task on, or changes the mode of a task on a burstable VM.

    Parameters
    ----------
    fleet : Fleet
        The VMs.
    objective, cooling
        See `annealing_kernel.anneal`.
    credit_price : float
        Penalty for a credit that is lacking.
    plan : AssignmentState
        The state; its ends need not be set.
    alike : array of int, shape (n_tasks, n_alike)
        Tasks that take about as long as each one, and as much memory.
    mean_share : float
        Share of the price of a VM that is charged for the mean end of its cores and not for the last.
    best : BestAssignment
        Receives what is better than it, and breaks nothing.
    """
    vm_price, time_weight, vm_free, vm_bill = (
        objective.vm_price,
        objective.time_weight,
        objective.vm_free,
        objective.vm_bill,
    )
    by_bill = len(vm_bill) > 0
    n_vms, capacity = plan.tasks.shape
    vm_tasks, vm_count, vm_end, task_vm, slow = plan.tasks, plan.number, plan.end, plan.vm, plan.slow
    memory_none, cores_none = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    new_a, new_b = np.empty(capacity, dtype=np.int64), np.empty(capacity, dtype=np.int64)
    work = core_work(fleet)
    state = plan.random[0]
    # VMs that break a rule are counted, so that a plan is known to be right without a look at all of them.
    broken = 0
    value: float = 0.0
    paid: float = 0.0
    dated = len(fleet.release) > 0
    any_bursts = False
    for vm in range(n_vms):
        any_bursts = any_bursts or fleet.bursts[vm]
        ends = start_order_ends(fleet, vm, vm_tasks[vm], vm_count[vm], slow, memory_none, cores_none, work)
        _set_ends(plan, vm, ends)
        value += _penalty(objective, credit_price, vm, ends)
        paid += rent(objective, vm, ends.end)
        broken += _breaks(objective, vm, ends)
    longest = last_vm(vm_end, 0)
    by_budget = objective.budget < np.inf
    over = over_budget(objective, vm_end) if by_budget else 0.0
    value += time_weight * vm_end[longest] + (max(over, 0.0) if by_budget else paid)
    stale = np.ones(n_vms, dtype=np.bool_)  # VMs that are not as in the best plan
    flips = _FLIPS if any_bursts else 0.0
    temperature = cooling.hot
    factor = (cooling.cold / cooling.hot) ** (1.0 / max(cooling.moves, 1))
    for _ in range(cooling.moves):
        temperature *= factor
        # A task.
        state = (state * 48271) % 2147483647
        if state < _OF_LAST_VM * 2147483647 and vm_count[longest] > 0:
            state = (state * 48271) % 2147483647
            i = vm_tasks[longest, state % vm_count[longest]]
        else:
            state = (state * 48271) % 2147483647
            i = plan.open[state % len(plan.open)]
        a = task_vm[i]
        count_a = vm_count[a]
        at_a = 0
        while vm_tasks[a, at_a] != i:
            at_a += 1
        # What happens to it: the VM it meets, and the tasks of both VMs after it.
        state = (state * 48271) % 2147483647
        kind = state / 2147483647.0
        b = a
        count_b = 0
        j = -1
        at_b = -1
        # The other mode of a task on a burstable VM: its order stays.
        if kind < flips:
            if not fleet.bursts[a]:
                continue
            slow[i] = not slow[i]
            for position in range(count_a):
                new_a[position] = vm_tasks[a, position]
        elif kind < flips + _EXCHANGES:
            # An exchange, of tasks that are alike as a rule: they find room in each other's places.
            state = (state * 48271) % 2147483647
            j = alike[i, state % alike.shape[1]] if state < _ALIKE * 2147483647 else plan.open[state % len(plan.open)]
            b = task_vm[j]
            if j == i:
                continue
            count_b = vm_count[b]
            at_b = 0
            while vm_tasks[b, at_b] != j:
                at_b += 1
            if a != b and (
                fleet.durations[0, fleet.offer[b], i] > MAX_SECONDS
                or fleet.durations[0, fleet.offer[a], j] > MAX_SECONDS
            ):
                continue
            for position in range(count_a):
                new_a[position] = vm_tasks[a, position]
            new_a[at_a] = j
            if a == b:
                new_a[at_b] = i
            else:
                for position in range(count_b):
                    new_b[position] = vm_tasks[b, position]
                new_b[at_b] = i
        else:
            state = (state * 48271) % 2147483647
            b = state % n_vms
            state = (state * 48271) % 2147483647
            count_b = vm_count[b]
            # Tails: all from some task on change VMs, as far as they can run there.
            if kind < flips + _EXCHANGES + _TAILS:
                if a == b:
                    continue
                at_b = _place(state, at_a, count_a, count_b + 1, dated)
                tail_a, tail_b = count_a - at_a, count_b - at_b
                if at_a + tail_b > capacity or at_b + tail_a > capacity:
                    continue
                able = True
                for position in range(at_a, count_a):
                    able = able and fleet.durations[0, fleet.offer[b], vm_tasks[a, position]] <= MAX_SECONDS
                for position in range(at_b, count_b):
                    able = able and fleet.durations[0, fleet.offer[a], vm_tasks[b, position]] <= MAX_SECONDS
                if not able:
                    continue
                for position in range(at_a):
                    new_a[position] = vm_tasks[a, position]
                for position in range(tail_b):
                    new_a[at_a + position] = vm_tasks[b, at_b + position]
                for position in range(at_b):
                    new_b[position] = vm_tasks[b, position]
                for position in range(tail_a):
                    new_b[at_b + position] = vm_tasks[a, at_a + position]
                count_a, count_b = at_a + tail_b, at_b + tail_a
                j = -2
            elif a == b:
                # Another place in the order of the same VM: the tasks between move up by one.
                if count_a < 2:
                    continue
                at_b = _place(state, at_a, count_a, count_a, dated)
                for position in range(count_a):
                    new_a[position] = vm_tasks[a, position]
                step = 1 if at_b > at_a else -1
                for position in range(at_a, at_b, step):
                    new_a[position] = new_a[position + step]
                new_a[at_b] = i
            else:
                # A place in the order of another VM.
                if count_b == capacity or fleet.durations[0, fleet.offer[b], i] > MAX_SECONDS:
                    continue
                at_b = _place(state, at_a, count_a, count_b + 1, dated)
                for position in range(at_b):
                    new_b[position] = vm_tasks[b, position]
                new_b[at_b] = i
                for position in range(at_b, count_b):
                    new_b[position + 1] = vm_tasks[b, position]
                for position in range(at_a):
                    new_a[position] = vm_tasks[a, position]
                for position in range(at_a, count_a - 1):
                    new_a[position] = vm_tasks[a, position + 1]
                count_a -= 1
                count_b += 1
        # What changes by it. How much worse it may be is drawn first: most moves are refused before all is worked out.
        state = (state * 48271) % 2147483647
        most = -temperature * np.log(state / 2147483647.0)
        ends_a = start_order_ends(fleet, a, new_a, count_a, slow, memory_none, cores_none, work)
        before_a, before_b = _ends_of(plan, a), _ends_of(plan, b)
        paid = _paid(objective, a, ends_a) - _paid(objective, a, before_a)
        if by_bill:
            paid += beside(vm_bill, vm_price, vm_free, a, ends_a.end) - beside(
                vm_bill, vm_price, vm_free, a, before_a.end
            )
        change = _penalty(objective, credit_price, a, ends_a) - _penalty(objective, credit_price, a, before_a)
        ends_b = ends_a
        # Mean ends of cores count a little: cores that end early make later moves possible.
        shift = 0.0
        if mean_share > 0.0:
            shift = vm_price[a] * ((ends_a.total - before_a.total) / fleet.vcpus[a] - (ends_a.end - before_a.end))
        if a != b:
            ends_b = start_order_ends(fleet, b, new_b, count_b, slow, memory_none, cores_none, work)
            paid += _paid(objective, b, ends_b) - _paid(objective, b, before_b)
            if by_bill:
                paid += beside(vm_bill, vm_price, vm_free, b, ends_b.end)
                paid -= beside(vm_bill, vm_price, vm_free, b, before_b.end)
            change += _penalty(objective, credit_price, b, ends_b) - _penalty(objective, credit_price, b, before_b)
            if mean_share > 0.0:
                shift += vm_price[b] * ((ends_b.total - before_b.total) / fleet.vcpus[b] - (ends_b.end - before_b.end))
        change += max(over + paid, 0.0) - max(over, 0.0) if by_budget else paid
        # The end of all others is looked up only where the move is not refused already.
        change_of_end = 0
        last = max(ends_a.end, ends_b.end)
        if last >= vm_end[longest]:
            change_of_end = last - vm_end[longest]
        elif is_either(longest, a, b) and change + mean_share * shift - time_weight * (vm_end[longest] - last) <= most:
            change_of_end = max(last, end_of_others(vm_end, a, b)) - vm_end[longest]
        change += time_weight * change_of_end
        if change + mean_share * shift > most:
            if kind < flips:
                slow[i] = not slow[i]
            continue
        # Carry it out.
        value += change
        if by_budget:
            over += paid
        longest_end = vm_end[longest]
        broken += _breaks(objective, a, ends_a)
        broken -= _breaks(objective, a, before_a)
        for position in range(count_a):
            vm_tasks[a, position] = new_a[position]
        vm_count[a] = count_a
        _set_ends(plan, a, ends_a)
        stale[a] = True
        if a != b:
            broken += _breaks(objective, b, ends_b)
            broken -= _breaks(objective, b, before_b)
            for position in range(count_b):
                vm_tasks[b, position] = new_b[position]
            vm_count[b] = count_b
            _set_ends(plan, b, ends_b)
            stale[b] = True
            task_vm[i] = b
            if j >= 0:
                task_vm[j] = a
            elif j == -2:
                for position in range(at_a, count_a):
                    task_vm[vm_tasks[a, position]] = a
                for position in range(at_b, count_b):
                    task_vm[vm_tasks[b, position]] = b
        # All VMs are looked through only where the one that ended last has changed and ends earlier now.
        if last >= longest_end:
            longest = a if ends_a.end >= ends_b.end else b
        elif is_either(longest, a, b):
            longest = last_vm(vm_end, longest)
        if broken == 0 and over <= 0.0 and value < best.value[0] - 1e-12:
            best.value[0] = value
            # Between two best plans few VMs change: only those are copied.
            for vm in range(n_vms):
                if stale[vm]:
                    stale[vm] = False
                    best.number[vm] = vm_count[vm]
                    for position in range(vm_count[vm]):
                        best.tasks[vm, position] = vm_tasks[vm, position]
                        best.slow[vm_tasks[vm, position]] = slow[vm_tasks[vm, position]]
    plan.random[0] = state
    total_value: float = value
    return total_value
