"""Simulated annealing on core loads, for VMs whose memory never binds: the inner loop, compiled by numba.

Without memory only the load of each core matters: a VM ends with its most loaded core, and the order on a core is
free. The state is which task is on which core; a move takes a task of one core to another, or exchanges it for the
best task there. Its effect is worked out from the two cores and their VMs alone.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...core.compiled import compiled_long, shared_part
from ...core.quantities import MAX_SECONDS, FloatArray, IntArray

_SCANNED = 48
_DEAL_HEAT = 0.1
"""Temperature of deals, as a part of that of moves: hot, they lead to where all is balanced, not where it is cheap."""


# Random numbers are state * 48271 modulo 2^31 - 1 (Park, Miller and Stockmeyer, 1993): the same in plain Python and
# compiled, and in 64 bits without a thought of overflow.
_NO_CREDITS, _ALL_THE_SAME = np.zeros((0, 2)), np.zeros(0)
_NO_BILLS = np.zeros((0, 3))


class Objective(NamedTuple):
    """Objective of a state.

    Attributes
    ----------
    vm_price : array of float, shape (n_vms,)
        Price of a second, in units of the objective.
    vm_free : array of int, shape (n_vms,)
        Until when nothing more is paid: 0 for VMs that are rented.
    vm_limit : array of int, shape (n_vms,)
        Latest end, from ready.
    time_weight, penalty, task_penalty : float
        Cost of a second of makespan, of a second after the latest end of a VM, and of one after that of a task.
    budget : float
        What VMs may cost together before their cost counts; infinite if all of it does.
    vm_bill : array of float, shape (n_vms, 3), or (0, 3)
        Cost of a VM once it has a task, its end without tasks, and the length of the blocks that are billed; nothing
        where no VM costs more than its price.
    """

    vm_price: FloatArray
    vm_free: IntArray
    vm_limit: IntArray
    time_weight: float
    penalty: float
    task_penalty: float = 0.0
    budget: float = np.inf
    vm_bill: FloatArray = _NO_BILLS


class Cooling(NamedTuple):
    """Moves, and the temperatures between which they are tried; one in so many deals two VMs anew, none if 0.

    Deals do not look at latest ends of tasks, and know no budgets and credits.
    """

    moves: int
    hot: float
    cold: float
    deals: int = 0


class Snapshot(NamedTuple):
    """The best state met: tasks of each core or VM (padded) and their number, written only if ``wanted``."""

    wanted: bool
    tasks: IntArray
    number: IntArray


class Rescue(NamedTuple):
    """Seconds of tasks on demand: their own, or what doing them again takes.

    Attributes
    ----------
    again_s : array of int, shape (n_offers, n_tasks), or (0, 0)
        Core seconds on demand of each task, if it is on each offer; nothing where there is time enough for all.
    whole_s : array of int, shape (n_offers, n_tasks), or (0, 0)
        Seconds that each task runs there until it has ended or saved something.
    members : array of int, shape (n_sets, n_offers)
        1 for the offers that count in each set: those of what may go down at once, and those on demand.
    from_s, most_s : array of int, shape (n_sets,)
        Of each set, tasks count that are whole for so long, and the most that they may take; see `RescueTime`.
    """

    again_s: IntArray
    whole_s: IntArray
    members: IntArray
    from_s: IntArray
    most_s: IntArray


class Cores(NamedTuple):
    """The cores of all VMs.

    Attributes
    ----------
    durations : array of int, shape (n_offers, n_tasks)
        Seconds of each task on each offer; huge where it cannot run.
    offer, vm : array of int, shape (n_cores,)
        Offer and VM of each core.
    first_of_vm : array of int, shape (n_vms + 1,)
        First core of each VM; its cores follow one another.
    latest : array of int, shape (n_offers, n_tasks), or (0, 0)
        Latest end of each task on each offer; nothing where that of its VM is all that counts.
    rescue : Rescue
        On-demand time for rescues, and what tasks take of it.
    credits : array of float, shape (n_vms, 2), or (0, 2)
        Core seconds that each VM does by its initial credits, and those that it earns in a second; nothing where it has
        all that its cores can spend.
    worth : array of float, shape (n_offers,), or (0,)
        What a second of a core of each offer is worth, by which squared loads are weighed; all the same if empty.
    """

    durations: IntArray
    offer: IntArray
    vm: IntArray
    first_of_vm: IntArray
    latest: IntArray
    rescue: Rescue
    credits: FloatArray = _NO_CREDITS
    worth: FloatArray = _ALL_THE_SAME


class CoreState(NamedTuple):
    """Tasks on each core; changed in place.

    Attributes
    ----------
    tasks, number, load : array of int, shapes (n_cores, capacity), (n_cores,) and (n_cores,)
        Tasks of each core (padded), their number, and when the last of them ends.
    late : array of int, shape (n_cores,)
        Seconds by which a task of each core ends too late at most; see `lateness`.
    taken : array of int, shape (n_sets,)
        Core seconds that each set of `Rescue` takes.
    vm_end : array of int, shape (n_vms,)
        End of each VM.
    random : array of int, shape (1,)
        State of the random numbers.
    """

    tasks: IntArray
    number: IntArray
    load: IntArray
    late: IntArray
    taken: IntArray
    vm_end: IntArray
    random: IntArray


@shared_part
def lateness(latest: IntArray, durations: IntArray, tasks: IntArray, number: int, load: int) -> int:
    """Return by how much a task of a core ends too late at most, in the order in which that is least.

    By the argument of the earliest due date, tasks whose latest end comes first go first. Of the end of the core, no
    more is looked at than may be late.

    Parameters
    ----------
    latest, durations : array of int, shape (n_tasks,)
        Latest end and seconds of each task on the offer of the core.
    tasks : array of int, shape (>= number,)
        The tasks of the core, in any order.
    number, load : int
        How many there are, and when the last of them ends.
    """
    if number == 0:
        return 0
    earliest = latest[tasks[0]]
    for position in range(1, number):
        earliest = min(earliest, latest[tasks[position]])
    late, before, end = 0, MAX_SECONDS, load
    while end - earliest > late:
        # The tasks with the latest end of those that are left are the last ones.
        last, seconds = earliest, 0
        for position in range(number):
            task = tasks[position]
            if latest[task] < before:
                if latest[task] > last:
                    last, seconds = latest[task], 0
                if latest[task] == last:
                    seconds += durations[task]
        late = max(late, end - last)
        end -= seconds
        before = last
        if last == earliest:
            break
    return late


@shared_part
def _more_taken(rescue: Rescue, taken: IntArray, ka: int, kb: int, i: int, j: int, moved: bool) -> int:
    """Return by how much more sets take too much if a task of one offer goes to another, and one, if any, comes back.

    If it is ``moved``, that is what they take from now on.
    """
    more = 0
    for one in range(len(taken)):
        members, from_s = rescue.members[one], rescue.from_s[one]
        takes = 0
        for k, sign in ((kb, 1), (ka, -1)):
            if members[k]:
                if rescue.whole_s[k, i] >= from_s:
                    takes += sign * rescue.again_s[k, i]
                if j >= 0 and rescue.whole_s[k, j] >= from_s:
                    takes -= sign * rescue.again_s[k, j]
        over = taken[one] - rescue.most_s[one]
        more += max(0, over + takes) - max(0, over)
        if moved:
            taken[one] += takes
    return more


@shared_part
def end_with_credits(credits: FloatArray, vm: int, work: int, end: int) -> int:
    """Return when a VM ends whose cores are done by a moment: not before it has earned what its work spends."""
    lacking = work - credits[vm, 0]
    if lacking <= 0:
        return end
    earned: int = math.ceil(lacking / credits[vm, 1])
    return max(end, earned)


@shared_part
def beside(vm_bill: FloatArray, vm_price: FloatArray, vm_free: IntArray, vm: int, end: int) -> float:
    """Return the cost of a VM beside that of the seconds to its end: its opening, and the rest of a block."""
    usd: float = 0.0
    if end > vm_bill[vm, 1]:
        usd = vm_bill[vm, 0]
    if vm_bill[vm, 2] > 1.0:
        usd += vm_price[vm] * ((vm_free[vm] - max(end, vm_free[vm])) % vm_bill[vm, 2])
    return usd


@shared_part
def beside_both(
    vm_bill: FloatArray, vm_price: FloatArray, vm_free: IntArray, va: int, vb: int, end_a: int, end_b: int
) -> float:
    """Return the sum of `beside` over two VMs, or over one given twice."""
    usd = beside(vm_bill, vm_price, vm_free, va, end_a)
    if va != vb:
        usd += beside(vm_bill, vm_price, vm_free, vb, end_b)
    return usd


@shared_part
def rent(objective: Objective, vm: int, end: int) -> float:
    """Return the cost of a VM that ends at a moment, with what is paid already at its price."""
    paid: float = objective.vm_price[vm] * max(end, objective.vm_free[vm])
    if len(objective.vm_bill):
        paid += beside(objective.vm_bill, objective.vm_price, objective.vm_free, vm, end)
    return paid


@shared_part
def over_budget(objective: Objective, vm_end: IntArray) -> float:
    """Return the cost of VMs above the budget; negative if some of the budget is left."""
    over = -objective.budget
    for vm in range(len(vm_end)):
        over += rent(objective, vm, vm_end[vm])
    return over


@shared_part
def is_either(one: int, a: int, b: int) -> bool:
    """True if a core, or a VM, is one of two; compiles in a fraction of the time of a test on a tuple."""
    return one == a or one == b  # no tuple


@shared_part
def last_vm(vm_end: IntArray, last: int) -> int:
    """Return the VM that ends last; at a tie the one that is given, or else the first."""
    for vm in range(len(vm_end)):  # compiles in a fraction of the time of argmax
        if vm_end[vm] > vm_end[last]:
            last = vm
    return last


@shared_part
def end_of_others(vm_end: IntArray, a: int, b: int) -> int:
    """Return when the last of the VMs ends beside two of them."""
    end = 0
    for vm in range(len(vm_end)):
        if vm_end[vm] > end and not is_either(vm, a, b):
            end = vm_end[vm]
    return end


@shared_part
def _keep(snapshot: Snapshot, tasks: IntArray, number: IntArray) -> None:
    """Keep the tasks of each core."""
    for core in range(len(number)):
        snapshot.number[core] = number[core]
        for position in range(number[core]):
            snapshot.tasks[core, position] = tasks[core, position]


@compiled_long
def anneal(
    cores: Cores,
    objective: Objective,
    balance: float,
    plan: CoreState,
    cooling: Cooling,
    snapshot: Snapshot,
    value: float,
    best: float,
) -> tuple[float, float]:
    """Run a number of moves while the temperature falls.

    Parameters
    ----------
    cores, objective : Cores, Objective
        The problem.
    balance : float
        Weight of the squared loads, which only tells moves apart that are equal otherwise.
    plan : CoreState
        The state.
    cooling : Cooling
        Moves and temperatures.
    snapshot : Snapshot
        Receives the best state.
    value, best : float
        Objective of the state, and of the best one.

    Returns
    -------
    tuple of float
        Objective of the state at the end, and of the best one.
    """
    durations, core_offer, core_vm, vm_first, latest, rescue, credits, worth = cores
    vm_price, vm_free, vm_limit = objective.vm_price, objective.vm_free, objective.vm_limit
    time_weight, penalty = objective.time_weight, objective.penalty
    vm_bill, by_bill = objective.vm_bill, len(objective.vm_bill) > 0
    task_penalty, budget = objective.task_penalty, objective.budget
    core_tasks, core_count, load, late, taken, vm_end, random_state = plan
    by_task, by_set, by_budget = len(latest) > 0, len(rescue.again_s) > 0, budget < np.inf
    by_credits = len(credits) > 0
    over = over_budget(objective, vm_end) if by_budget else 0.0
    n_cores = len(core_offer)
    n_vms = len(vm_end)
    broken = 0  # seconds by which tasks are late, and by which sets take too much
    for core in range(n_cores):
        broken += late[core]
    for one in range(len(taken)):
        broken += max(0, taken[one] - rescue.most_s[one])
    capacity = core_tasks.shape[1]
    state = random_state[0]
    temperature = cooling.hot
    factor = (cooling.cold / cooling.hot) ** (1.0 / max(cooling.moves, 1))
    longest = last_vm(vm_end, 0)
    dealt = np.empty((4, max(n_cores, durations.shape[1]) if cooling.deals else 0), np.int64)
    until_deal = cooling.deals
    for _ in range(cooling.moves):
        temperature *= factor
        # Once in a while, two VMs deal their tasks anew: one of them the last to end in half of the cases.
        if cooling.deals:
            until_deal -= 1
            if until_deal == 0:
                until_deal = cooling.deals
                state = (state * 48271) % 2147483647
                vm = longest
                if state & 1:
                    state = (state * 48271) % 2147483647
                    vm = state % n_vms
                state = (state * 48271) % 2147483647
                other = state % n_vms
                if vm == other:
                    continue
                random_state[0] = state
                changed, change = _deal(cores, objective, balance, plan, vm, other, _DEAL_HEAT * temperature, dealt)
                state = random_state[0]
                if changed:
                    value += change
                    longest = last_vm(vm_end, 0)
                    if snapshot.wanted and broken == 0 and value < best - 1e-12:
                        best = value
                        _keep(snapshot, core_tasks, core_count)
                continue
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
        # A core to take a task of it, and the task.
        state = (state * 48271) % 2147483647
        b = state % n_cores
        if a == b:
            continue
        state = (state * 48271) % 2147483647
        at_a = state % core_count[a]
        i = core_tasks[a, at_a]
        va, vb, ka, kb = core_vm[a], core_vm[b], core_offer[a], core_offer[b]
        balance_a = balance * worth[ka] if len(worth) else balance
        balance_b = balance * worth[kb] if len(worth) else balance
        if durations[kb, i] > MAX_SECONDS:
            continue
        # What stays as it is: the ends of the other cores of both VMs, and of all other VMs; and the value of both.
        rest_a, rest_b, work_a, work_b = 0, 0, 0, 0
        for core in range(vm_first[va], vm_first[va + 1]):
            if not is_either(core, a, b):
                work_a += load[core]
                rest_a = max(rest_a, load[core])
        if va != vb:
            for core in range(vm_first[vb], vm_first[vb + 1]):
                if core != b:
                    work_b += load[core]
                    rest_b = max(rest_b, load[core])
        others = vm_end[longest]
        if is_either(longest, va, vb):
            others = end_of_others(vm_end, va, vb)
        old_end = max(others, vm_end[va], vm_end[vb])
        old_paid = vm_price[va] * max(vm_end[va], vm_free[va])
        old = time_weight * old_end + penalty * max(0, vm_end[va] - vm_limit[va])
        if va != vb:
            old_paid += vm_price[vb] * max(vm_end[vb], vm_free[vb])
            old += penalty * max(0, vm_end[vb] - vm_limit[vb])
        if by_bill:
            old_paid += beside_both(vm_bill, vm_price, vm_free, va, vb, vm_end[va], vm_end[vb])
        # The latest of the latest ends on both cores, without the tasks that leave them: of b without any one task.
        last_a, last_b, next_b, of_last = -1, -1, -1, -1
        if by_task:
            old += task_penalty * (late[a] + late[b])
            for position in range(core_count[a]):
                if position != at_a:
                    last_a = max(last_a, latest[ka, core_tasks[a, position]])
            for position in range(core_count[b]):
                last = latest[kb, core_tasks[b, position]]
                if last > last_b:
                    next_b, last_b, of_last = last_b, last, position
                elif last > next_b:
                    next_b = last
        # The best partner among the tasks of b, or none (-1); at most so many of them, from a random one on.
        scanned = min(core_count[b], _SCANNED)
        offset = 0
        if core_count[b] > _SCANNED:
            state = (state * 48271) % 2147483647
            offset = state % core_count[b]
        lost_a, gained_b = load[a] - durations[ka, i], load[b] + durations[kb, i]
        best_change = 1e300
        best_rank = 1e300
        best_late, best_paid = 0, 0.0
        best_at = -2
        for step in range(-1, scanned):
            # First the move of the task alone (-1), then its exchange for each of the partners.
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
            # The ends that both VMs would have; on one VM, both cores count for the same end.
            end_a = max(rest_a, new_a)
            if va == vb:
                end_a = max(end_a, new_b)
                if by_credits:
                    end_a = end_with_credits(credits, va, work_a + new_a + new_b, end_a)
                end_b = end_a
            else:
                end_b = max(rest_b, new_b)
                if by_credits:
                    end_a = end_with_credits(credits, va, work_a + new_a, end_a)
                    end_b = end_with_credits(credits, vb, work_b + new_b, end_b)
            # Rent, makespan and time limits change; within a budget, rent counts only as far as it is exceeded.
            paid = vm_price[va] * max(end_a, vm_free[va]) - old_paid
            change = time_weight * max(others, end_a, end_b) + penalty * max(0, end_a - vm_limit[va]) - old
            if va != vb:
                paid += vm_price[vb] * max(end_b, vm_free[vb])
                change += penalty * max(0, end_b - vm_limit[vb])
            if by_bill:
                paid += beside_both(vm_bill, vm_price, vm_free, va, vb, end_a, end_b)
            change += max(over + paid, 0.0) - max(over, 0.0) if by_budget else paid
            least_late = 0
            if by_task:  # of the last tasks of both cores; others may be later still
                end_of_last = last_a if at_b < 0 else max(last_a, latest[ka, core_tasks[b, at_b]])
                if end_of_last >= 0:
                    least_late = max(0, new_a - end_of_last)
                end_of_last = next_b if at_b == of_last else last_b
                least_late += max(0, new_b - max(end_of_last, latest[kb, i]))
                change += task_penalty * least_late
            if by_set and ka != kb:
                partner = -1 if at_b < 0 else core_tasks[b, at_b]
                change += task_penalty * _more_taken(rescue, taken, ka, kb, i, partner, False)
            rank = change + balance_a * float(new_a) * new_a + balance_b * float(new_b) * new_b
            if rank < best_rank:
                best_rank = rank
                best_change = change
                best_late, best_paid = least_late, paid
                best_at = at_b
        if best_at == -2:
            continue
        # Accept it, or not, by the temperature.
        gain = best_rank - balance_a * float(load[a]) * load[a] - balance_b * float(load[b]) * load[b]
        most_gain = 0.0
        if gain > 0.0 or by_task:
            state = (state * 48271) % 2147483647
            if gain > 40.0 * temperature:
                continue
            most_gain = -temperature * np.log(state / 2147483647.0)
            if gain > most_gain:
                continue
        # Carry it out.
        j = -1
        if best_at >= 0:
            j = core_tasks[b, best_at]
            core_tasks[b, best_at] = i
            core_tasks[a, at_a] = j
            lost_a += durations[ka, j]
            gained_b -= durations[kb, j]
        else:
            core_tasks[b, core_count[b]] = i
            core_count[b] += 1
            core_count[a] -= 1
            core_tasks[a, at_a] = core_tasks[a, core_count[a]]
        if by_task:
            late_a = lateness(latest[ka], durations[ka], core_tasks[a], core_count[a], lost_a)
            late_b = lateness(latest[kb], durations[kb], core_tasks[b], core_count[b], gained_b)
            more = task_penalty * (late_a + late_b - best_late)
            if gain + more > most_gain:  # it was not all: take it back
                if j >= 0:
                    core_tasks[b, best_at] = j
                else:
                    core_count[b] -= 1
                    core_tasks[a, core_count[a]] = core_tasks[a, at_a]
                    core_count[a] += 1
                core_tasks[a, at_a] = i
                continue
            best_change += more
            broken += late_a + late_b - late[a] - late[b]
            late[a], late[b] = late_a, late_b
        if by_set and ka != kb:
            broken += _more_taken(rescue, taken, ka, kb, i, j, True)
        load[a], load[b] = lost_a, gained_b
        # The ends of both VMs, and the VM that ends last.
        end_a, end_b = max(rest_a, load[a]), max(rest_b, load[b])
        work_a, work_b = work_a + load[a], work_b + load[b]
        if va == vb:
            end_a, work_a = max(end_a, load[b]), work_a + load[b]
        if by_credits:
            end_a = end_with_credits(credits, va, work_a, end_a)
        vm_end[va] = end_a
        if va != vb:
            vm_end[vb] = end_with_credits(credits, vb, work_b, end_b) if by_credits else end_b
        if others > max(vm_end[va], vm_end[vb]):
            if is_either(longest, va, vb):
                longest = last_vm(vm_end, longest)
        else:
            longest = va if vm_end[va] >= vm_end[vb] else vb
        value += best_change
        if by_budget:
            over += best_paid
        # Only plans that break no rule are worth keeping; the noise of sums must not look like a better plan.
        if snapshot.wanted and broken == 0 and over <= 0.0 and value < best - 1e-12:
            best = value
            _keep(snapshot, core_tasks, core_count)
    random_state[0] = state
    return value, best


@shared_part
def _deal(
    cores: Cores,
    objective: Objective,
    balance: float,
    plan: CoreState,
    va: int,
    vb: int,
    temperature: float,
    dealt: IntArray,
) -> tuple[bool, float]:
    """Deal the tasks of two VMs anew, if that is accepted: one of them gets what ends by a random moment there.

    A VM ends with its most loaded core: to end earlier, all of its cores must be relieved, and what a move of one
    task brings is nothing. The longest tasks choose first; each goes to the least loaded core.

    Parameters
    ----------
    cores, objective, balance, plan
        See `anneal`; the random numbers of the plan go on.
    va, vb : int
        The VMs; the first gets what ends by the moment.
    temperature : float
        By which what is worse is accepted.
    dealt : array of int, shape (4, n)
        Room to work in, for all tasks and cores.

    Returns
    -------
    changed : bool
        Whether the tasks have been dealt anew.
    change : float
        Of the objective.
    """
    durations, core_offer, _, vm_first, _, _, _, _ = cores
    vm_price, vm_free, vm_limit = objective.vm_price, objective.vm_free, objective.vm_limit
    time_weight, penalty = objective.time_weight, objective.penalty
    core_tasks, core_count, load, _, _, vm_end, random_state = plan
    capacity = core_tasks.shape[1]
    first_a, last_a, first_b, last_b = vm_first[va], vm_first[va + 1], vm_first[vb], vm_first[vb + 1]
    cores_a, n_cores = last_a - first_a, last_a - first_a + last_b - first_b
    ka, kb = core_offer[first_a], core_offer[first_b]
    tasks, core_of, loads, counts = dealt[0], dealt[1], dealt[2], dealt[3]
    # All tasks of both VMs in one list, the longest first (by insertion: there are few); the cores without them.
    n = 0
    before = 0.0
    for c in range(n_cores):
        core = first_a + c if c < cores_a else first_b + c - cores_a
        k = ka if c < cores_a else kb
        loads[c] = load[core]
        counts[c] = 0
        before += float(load[core]) * load[core]
        for position in range(core_count[core]):
            task = core_tasks[core, position]
            loads[c] -= durations[k, task]
            at = n
            while at > 0 and durations[kb, tasks[at - 1]] < durations[kb, task]:
                tasks[at] = tasks[at - 1]
                at -= 1
            tasks[at] = task
            n += 1
    if n < 2:
        return False, 0.0
    others = end_of_others(vm_end, va, vb)
    old_end = max(others, vm_end[va], vm_end[vb])
    random_state[0] = (random_state[0] * 48271) % 2147483647
    # A moment up to the present end: what the first VM would end after goes to the second.
    until = random_state[0] % (old_end + 1)
    # Each task goes to the least loaded core of the first VM, or else of the second; without a place, nothing changes.
    for index in range(n):
        task = tasks[index]
        place = -1
        if durations[ka, task] <= MAX_SECONDS:
            for c in range(cores_a):
                if counts[c] < capacity and (place < 0 or loads[c] < loads[place]):
                    place = c
            if place >= 0 and loads[place] + durations[ka, task] > until:
                place = -1
        if place < 0 and durations[kb, task] <= MAX_SECONDS:
            for c in range(cores_a, n_cores):
                if counts[c] < capacity and (place < 0 or loads[c] < loads[place]):
                    place = c
        if place < 0:
            return False, 0.0
        loads[place] += durations[ka if place < cores_a else kb, task]
        counts[place] += 1
        core_of[index] = place
    # Both ends, and the change of the objective; squares of loads reward cores of a VM that end together.
    end_a = end_b = 0
    after = 0.0
    for c in range(n_cores):
        after += float(loads[c]) * loads[c]
        if c < cores_a:
            end_a = max(end_a, loads[c])
        else:
            end_b = max(end_b, loads[c])
    change = vm_price[va] * (max(end_a, vm_free[va]) - max(vm_end[va], vm_free[va]))
    change += vm_price[vb] * (max(end_b, vm_free[vb]) - max(vm_end[vb], vm_free[vb]))
    if len(objective.vm_bill):
        change += beside_both(objective.vm_bill, vm_price, vm_free, va, vb, end_a, end_b)
        change -= beside_both(objective.vm_bill, vm_price, vm_free, va, vb, vm_end[va], vm_end[vb])
    change += time_weight * (max(others, end_a, end_b) - old_end)
    change += penalty * (max(0, end_a - vm_limit[va]) - max(0, vm_end[va] - vm_limit[va]))
    change += penalty * (max(0, end_b - vm_limit[vb]) - max(0, vm_end[vb] - vm_limit[vb]))
    gain = change + balance * (after - before)
    if gain > 0.0:
        random_state[0] = (random_state[0] * 48271) % 2147483647
        # Far above the temperature, no random number need be compared with a power.
        if gain > 40.0 * temperature or random_state[0] / 2147483647.0 >= np.exp(-gain / temperature):
            return False, 0.0
    # Only now does the state change: the loads, and the tasks of each core, written anew.
    for c in range(n_cores):
        core = first_a + c if c < cores_a else first_b + c - cores_a
        core_count[core] = 0
        load[core] = loads[c]
    for index in range(n):
        c = core_of[index]
        core = first_a + c if c < cores_a else first_b + c - cores_a
        core_tasks[core, core_count[core]] = tasks[index]
        core_count[core] += 1
    vm_end[va], vm_end[vb] = end_a, end_b
    return True, change
