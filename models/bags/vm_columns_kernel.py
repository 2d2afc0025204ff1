"""Columns of single VMs: the inner loops of pricing and enumeration.

A column is a set of tasks for one VM, counted by class, with the least time in which the VM can run it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...core.compiled import compiled

if TYPE_CHECKING:
    from ...core.quantities import BoolArray, FloatArray, IntArray


@compiled
def least_end(
    seconds: IntArray,
    memory: IntArray,
    same: BoolArray,
    n: int,
    cores: int,
    room: int,
    goal: int,
    below: int,
    most_nodes: int,
    starts: IntArray,
) -> tuple[int, bool, int]:
    """Least end of n tasks on one VM, by depth-first search over the moments at which tasks start.

    In some best plan every task starts at 0 or at the end of another. At each such moment the search either starts one
    of the waiting tasks that fit, or goes on to the next end.

    Parameters
    ----------
    seconds, memory : array of int
        Of the tasks.
    same : array of bool
        Whether a task is identical to the one before it: it then never starts first.
    n, cores, room : int
        Number of tasks; cores and memory of the VM.
    goal : int
        A lower bound: a plan that ends then is good enough.
    below : int
        Only plans that end before count.
    most_nodes : int
        When to give up.
    starts : array of int
        Receives the starts of the best plan.

    Returns
    -------
    (int, bool, int)
        Least end, or ``below`` if there is none before; whether the search was complete (if it was not, the first is
        ``goal``, a lower bound); and its nodes.
    """
    depth = 2 * n + 2
    moment = np.zeros(depth, np.int64)
    untried = np.zeros(depth, np.int64)
    entered_by = np.full(depth, -1, np.int64)
    begin = np.zeros(n, np.int64)
    end = np.zeros(n, np.int64)
    started = np.zeros(n, np.bool_)
    waiting = n
    best = below
    nodes = 0
    level = 0
    while level >= 0:
        now = moment[level]
        busy = 0
        used = 0
        latest = 0
        soonest = 2**62
        longest = 0
        work = 0
        energy = 0
        for task in range(n):
            if started[task]:
                latest = max(latest, end[task])
                if end[task] > now:
                    busy += 1
                    used += memory[task]
                    work += end[task] - now
                    energy += (end[task] - now) * memory[task]
                    soonest = min(soonest, end[task])
            else:
                work += seconds[task]
                energy += seconds[task] * memory[task]
                longest = max(longest, seconds[task])
        deeper = False
        if waiting == 0:
            if latest < best:
                best = latest
                for task in range(n):
                    starts[task] = begin[task]
                if best <= goal:
                    return best, True, nodes
        elif max(latest, now + longest, now - (-work // cores), now - (-energy // room)) < best:
            nodes += 1
            if nodes > most_nodes:
                return goal, False, nodes
            task = untried[level]
            while task < n and not deeper:
                fits = not started[task] and busy < cores and used + memory[task] <= room
                if fits and not (same[task] and not started[task - 1]):
                    started[task] = True
                    begin[task] = now
                    end[task] = now + seconds[task]
                    waiting -= 1
                    untried[level] = task + 1
                    level += 1
                    moment[level] = now
                    untried[level] = task + 1
                    entered_by[level] = task
                    deeper = True
                task += 1
            if not deeper and untried[level] <= n and busy > 0:
                untried[level] = n + 1
                level += 1
                moment[level] = soonest
                untried[level] = 0
                entered_by[level] = -1
                deeper = True
        if not deeper:
            if entered_by[level] >= 0:
                started[entered_by[level]] = False
                waiting += 1
            level -= 1
    return best, True, nodes


@compiled
def quick_bound(seconds: IntArray, memory: IntArray, n: int, cores: int, room: int) -> int:
    """Lower bound of the end of n tasks on one VM: longest, work, memory, pairs on a core, tasks that never overlap."""
    longest = 0
    work = 0
    energy = 0
    large = 0
    for task in range(n):
        longest = max(longest, seconds[task])
        work += seconds[task]
        energy += seconds[task] * memory[task]
        if 2 * memory[task] > room:
            large += seconds[task]
    bound = max(longest, -(-work // cores), -(-energy // room), large)
    if n > cores:
        # Of the cores + 1 longest tasks, two share a core.
        by_length = np.sort(seconds[:n])[::-1]
        bound = max(bound, by_length[cores - 1] + by_length[cores])
    return bound


@compiled
def find_columns(
    seconds: IntArray,
    memory: IntArray,
    size: IntArray,
    dual: FloatArray,
    surplus: FloatArray,
    cores: int,
    room: int,
    rate: float,
    fixed: float,
    most_end: int,
    threshold: float,
    narrowing: bool,
    most_tasks: int,
    most_nodes: int,
    most_trials: int,
    counts: IntArray,
    ends: IntArray,
    reduced: FloatArray,
    exact: BoolArray,
) -> tuple[int, bool]:
    """Find columns of an offer whose reduced cost ``fixed + rate * end - duals`` is below a threshold.

    Parameters
    ----------
    seconds, memory, size, dual : arrays, shape (n_classes,)
        Duration, memory, number of tasks and dual of each class that can run there.
    surplus : array of float
        What a task adds to the reduced cost if the VM wastes nothing: its share of cores and memory at ``rate``, less
        its dual. The classes come in ascending order of surplus per second.
    cores, room, rate, fixed, most_end
        Of the VM: cores, memory, price of a second, price of having it, latest end.
    threshold : float
        See above.
    narrowing : bool
        Keep the best columns only: once the arrays are full, the worst of them is the threshold.
    most_tasks, most_nodes, most_trials : int
        Most tasks of a column; most nodes in all; most nodes of the search for one least end.
    counts, ends, reduced, exact : arrays
        Receive the columns found. An end whose search was cut short is a lower bound, and not exact.

    Returns
    -------
    (int, bool)
        How many, and whether the search was complete.
    """
    n_classes = len(seconds)
    most_columns = len(ends)
    found = 0
    worst = 0
    chosen = np.zeros(most_tasks + 1, np.int64)
    taken = np.zeros(n_classes, np.int64)
    task_seconds = np.zeros(most_tasks, np.int64)
    task_memory = np.zeros(most_tasks, np.int64)
    same = np.zeros(most_tasks, np.bool_)
    starts = np.zeros(most_tasks, np.int64)
    by_length = np.zeros(most_tasks, np.int64)
    sorted_seconds = np.zeros(most_tasks, np.int64)
    sorted_memory = np.zeros(most_tasks, np.int64)
    n = 0
    work = 0
    energy = 0
    total_surplus = fixed
    total_dual = 0.0
    following = 0
    nodes = 0
    while True:
        extended = -1
        if n < most_tasks:
            for index in range(following, n_classes):
                if taken[index] >= size[index] or seconds[index] > most_end:
                    continue
                left = cores * most_end - work - seconds[index]
                if left < 0 or room * most_end - energy < seconds[index] * memory[index]:
                    continue
                # What can still be gained: the rest of the classes, the last one cut, as far as the cores reach.
                least = total_surplus + surplus[index]
                for later in range(index, n_classes):
                    if surplus[later] >= 0 or left <= 0 or least <= threshold:
                        break
                    more = min((size[later] - taken[later] - (1 if later == index else 0)) * seconds[later], left)
                    least += surplus[later] * more / seconds[later]
                    left -= more
                if least <= threshold:
                    extended = index
                    break
        if extended < 0:
            if n == 0:
                return found, True
            n -= 1
            index = chosen[n]
            taken[index] -= 1
            work -= seconds[index]
            energy -= seconds[index] * memory[index]
            total_surplus -= surplus[index]
            total_dual -= dual[index]
            following = index + 1
            continue
        nodes += 1
        if nodes > most_nodes:
            return found, False
        index = extended
        chosen[n] = index
        taken[index] += 1
        task_seconds[n] = seconds[index]
        task_memory[n] = memory[index]
        n += 1
        work += seconds[index]
        energy += seconds[index] * memory[index]
        total_surplus += surplus[index]
        total_dual += dual[index]
        following = index
        least = quick_bound(task_seconds, task_memory, n, cores, room)
        limit = most_end
        if rate > 0:
            affordable = (threshold - fixed + total_dual) / rate
            if affordable < limit:
                limit = int(affordable)
        if least > limit:
            continue
        # Longest first, identical tasks side by side.
        for task in range(n):
            place = task
            while place > 0 and (
                task_seconds[by_length[place - 1]] < task_seconds[task]
                or (
                    task_seconds[by_length[place - 1]] == task_seconds[task]
                    and task_memory[by_length[place - 1]] < task_memory[task]
                )
            ):
                by_length[place] = by_length[place - 1]
                place -= 1
            by_length[place] = task
        for place in range(n):
            sorted_seconds[place] = task_seconds[by_length[place]]
            sorted_memory[place] = task_memory[by_length[place]]
            same[place] = (
                place > 0
                and sorted_seconds[place] == sorted_seconds[place - 1]
                and sorted_memory[place] == sorted_memory[place - 1]
            )
        end, whole, more = least_end(
            sorted_seconds, sorted_memory, same, n, cores, room, least, limit + 1, most_trials, starts
        )
        nodes += more
        if end > limit:
            continue
        cost = fixed + rate * end - total_dual
        if cost > threshold:
            continue
        if found == most_columns:
            if not narrowing:
                return found, False
            place = worst
        else:
            place = found
            found += 1
        for position in range(n_classes):
            counts[place, position] = taken[position]
        ends[place] = end
        reduced[place] = cost
        exact[place] = whole
        if narrowing and found == most_columns:
            worst = int(np.argmax(reduced))
            threshold = min(threshold, reduced[worst])
