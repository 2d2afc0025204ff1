"""Columns of single VMs: the inner loops of pricing and enumeration.

A column is a set of tasks for one VM, counted by class, with the least time in which the VM can run it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.capacities import fits, lower_of, slots_in, upper_of
from ...core.compiled import compiled, compiled_part
from ...core.quantities import BoolArray, FloatArray, IntArray


class Machine(NamedTuple):
    """Room of a column, which is a VM or one core of it: cores, and memory (`core.capacities`)."""

    cores: int
    room: int


class SortedTasks(NamedTuple):
    """Tasks, identical ones side by side.

    Attributes
    ----------
    seconds, memory : array of int
        Of the tasks.
    same : array of bool
        Whether a task is identical to the one before it: it then never starts first.
    """

    seconds: IntArray
    memory: IntArray
    same: BoolArray


class Classes(NamedTuple):
    """Classes of tasks that can run on an offer, in ascending order of surplus per second of a core.

    Attributes
    ----------
    seconds, memory, size, dual : arrays, shape (n_classes,)
        Duration, memory, number of tasks and dual of each class.
    surplus : array of float, shape (n_classes,)
        What a task adds to the reduced cost if the VM wastes nothing: its share of cores and memory at the price of a
        second, less its dual.
    """

    seconds: IntArray
    memory: IntArray
    size: IntArray
    dual: FloatArray
    surplus: FloatArray


class Limits(NamedTuple):
    """Limits of a search for columns.

    Attributes
    ----------
    end : int
        Latest end.
    tasks, trials : int
        Most tasks of a column; most nodes of the search for one least end.
    narrowing : bool
        Retain the best columns only: once the table is full, the worst of them is the threshold.
    halt : array of int, shape (2,)
        Ends the search, as not complete, once the first is not 0; and the nodes that are left.
    """

    end: int
    tasks: int
    trials: int
    narrowing: bool
    halt: IntArray


class ColumnTable(NamedTuple):
    """Receives columns: tasks of each class, end, reduced cost, and whether the end is the least, not a bound of it."""

    counts: IntArray
    ends: IntArray
    reduced: FloatArray
    exact: BoolArray


@compiled
def least_end(
    tasks: SortedTasks, n: int, machine: Machine, goal: int, below: int, most_nodes: int, starts: IntArray
) -> tuple[int, bool, int]:
    """Least end of the first n tasks on one VM, by depth-first search over the moments at which tasks start.

    In some best plan every task starts at 0 or at the end of another. At each such moment the search either starts one
    of the waiting tasks that fit, or goes on to the next end.

    Parameters
    ----------
    tasks, n, machine : SortedTasks, int, Machine
        The tasks, their number, and where they run.
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
    seconds, memory, same = tasks
    cores, room = machine
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
        # Where the search stands: cores and memory in use, when the next task ends, and what is left to do.
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
                    work += (end[task] - now) * slots_in(memory[task])
                    energy += (end[task] - now) * lower_of(memory[task])
                    soonest = min(soonest, end[task])
            else:
                work += seconds[task] * slots_in(memory[task])
                energy += seconds[task] * lower_of(memory[task])
                longest = max(longest, seconds[task])
        # A whole plan, or a bound that leaves room for a better one: then deeper.
        deeper = False
        if waiting == 0:
            if latest < best:
                best = latest
                for task in range(n):
                    starts[task] = begin[task]
                if best <= goal:
                    return best, True, nodes
        elif max(latest, now + longest, now - (-work // cores), now - (-energy // lower_of(room))) < best:
            nodes += 1
            if nodes > most_nodes:
                return goal, False, nodes
            task = untried[level]
            while task < n and not deeper:
                # Of tasks that are alike, the earlier one in the list starts first: one order of them is enough.
                can = not started[task] and busy < cores and fits(room - used - memory[task])
                if can and not (same[task] and not started[task - 1]):
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
            # Nothing starts now, or all that could was tried: on to the next end, once.
            if not deeper and untried[level] <= n and busy > 0:
                untried[level] = n + 1  # one more than after all tasks: that this was done shows when it comes back
                level += 1
                moment[level] = soonest
                untried[level] = 0
                entered_by[level] = -1
                deeper = True
        # Back, where there is nothing left to try.
        if not deeper:
            if entered_by[level] >= 0:
                started[entered_by[level]] = False
                waiting += 1
            level -= 1
    return best, True, nodes


@compiled
def quick_bound(seconds: IntArray, memory: IntArray, n: int, machine: Machine) -> int:
    """Lower bound of the end of n tasks on one VM: longest, work, memory, pairs on a core, tasks that never overlap."""
    cores, room = machine
    longest = 0
    work = 0
    energy = 0
    large = wide = 0
    for task in range(n):
        longest = max(longest, seconds[task])
        work += seconds[task] * slots_in(memory[task])
        energy += seconds[task] * lower_of(memory[task])
        # No two of these are ever on the VM together, so that they take turns.
        if 2 * lower_of(memory[task]) > lower_of(room):
            large += seconds[task]
        if 2 * upper_of(memory[task]) > upper_of(room):
            wide += seconds[task]
    bound = max(longest, -(-work // cores), -(-energy // lower_of(room)), large, wide)
    if n > cores:
        # Of the cores + 1 longest tasks, two share a core.
        by_length = np.zeros(cores + 1, np.int64)
        for task in range(n):
            place = cores
            if seconds[task] > by_length[place]:
                while place > 0 and by_length[place - 1] < seconds[task]:
                    by_length[place] = by_length[place - 1]
                    place -= 1
                by_length[place] = seconds[task]
        bound = max(bound, by_length[cores - 1] + by_length[cores])
    return bound


@compiled_part
def _next_class(
    classes: Classes,
    taken: IntArray,
    following: int,
    most_end: int,
    work_left: int,
    energy_left: int,
    surplus_so_far: float,
    threshold: float,
) -> int:
    """First class from one on of which a task can be added, and the column still get below the threshold; else -1."""
    seconds, memory, size, _, surplus = classes
    n_classes = len(seconds)
    for index in range(following, n_classes):
        if taken[index] >= size[index] or seconds[index] > most_end:
            continue
        left = work_left - seconds[index] * slots_in(memory[index])
        if left < 0 or energy_left < seconds[index] * lower_of(memory[index]):
            continue
        # What can still be gained: the rest of the classes, the last one cut, as far as the cores reach.
        least = surplus_so_far + surplus[index]
        for later in range(index, n_classes):
            if surplus[later] >= 0 or left <= 0 or least <= threshold:
                break
            each = seconds[later] * slots_in(memory[later])
            more = min((size[later] - taken[later] - (1 if later == index else 0)) * each, left)
            least += surplus[later] * more / each
            left -= more
        if least <= threshold:
            return index
    return -1


@compiled_part
def _sort_tasks(
    task_seconds: IntArray, task_memory: IntArray, n: int, by_length: IntArray, in_order: SortedTasks
) -> None:
    """Sort n tasks, longest first, identical ones side by side."""
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
    seconds, memory, same = in_order
    for place in range(n):
        seconds[place] = task_seconds[by_length[place]]
        memory[place] = task_memory[by_length[place]]
        same[place] = place > 0 and seconds[place] == seconds[place - 1] and memory[place] == memory[place - 1]


@compiled
def find_columns(
    classes: Classes, machine: Machine, rate: float, fixed: float, threshold: float, limits: Limits, table: ColumnTable
) -> tuple[int, bool]:
    """Find columns of an offer whose reduced cost ``fixed + rate * end - duals`` is below a threshold.

    Parameters
    ----------
    classes, machine : Classes, Machine
        The tasks, and where they run.
    rate, fixed : float
        Price of a second, and of having a VM.
    threshold : float
        See above.
    limits : Limits
        Of the search.
    table : ColumnTable
        Receives the columns found. An end whose search was cut short is a lower bound, and not exact.

    Returns
    -------
    (int, bool)
        How many, and whether the search was complete.
    """
    seconds, memory, _, dual, surplus = classes
    cores, room = machine
    most_end, most_tasks = limits.end, limits.tasks
    n_classes = len(seconds)
    most_columns = len(table.ends)
    found = 0
    worst = 0
    chosen = np.zeros(most_tasks + 1, np.int64)
    taken = np.zeros(n_classes, np.int64)
    task_seconds = np.zeros(most_tasks, np.int64)
    task_memory = np.zeros(most_tasks, np.int64)
    starts = np.zeros(most_tasks, np.int64)
    by_length = np.zeros(most_tasks, np.int64)
    in_order = SortedTasks(
        np.zeros(most_tasks, np.int64), np.zeros(most_tasks, np.int64), np.zeros(most_tasks, np.bool_)
    )
    n = 0
    work = 0
    energy = 0
    total_surplus = fixed
    total_dual = 0.0
    following = 0
    while limits.halt[0] == 0:
        extended = -1
        if n < most_tasks:
            work_left, energy_left = cores * most_end - work, lower_of(room) * most_end - energy
            extended = _next_class(
                classes, taken, following, most_end, work_left, energy_left, total_surplus, threshold
            )
        if extended < 0:  # back: take the last task away
            if n == 0:
                return found, True
            n -= 1
            index = chosen[n]
            taken[index] -= 1
            work -= seconds[index] * slots_in(memory[index])
            energy -= seconds[index] * lower_of(memory[index])
            total_surplus -= surplus[index]
            total_dual -= dual[index]
            following = index + 1
            continue
        # On: add a task of the class.
        limits.halt[1] -= 1
        if limits.halt[1] < 0:
            return found, False
        index = extended
        chosen[n] = index
        taken[index] += 1
        task_seconds[n] = seconds[index]
        task_memory[n] = memory[index]
        n += 1
        work += seconds[index] * slots_in(memory[index])
        energy += seconds[index] * lower_of(memory[index])
        total_surplus += surplus[index]  # what is proved of the reduced cost before the end is known
        total_dual += dual[index]
        following = index  # none before: each set of tasks is made in one order of its classes
        # Is the column cheap enough, by a bound of its end, then by its least end?
        least = quick_bound(task_seconds, task_memory, n, machine)
        limit = most_end
        if rate > 0:
            affordable = (threshold - fixed + total_dual) / rate
            if affordable < limit:
                limit = int(affordable)
        if least > limit:
            continue
        _sort_tasks(task_seconds, task_memory, n, by_length, in_order)
        end, whole, more = least_end(in_order, n, machine, least, limit + 1, limits.trials, starts)
        limits.halt[1] -= more
        if end > limit:
            continue
        cost = fixed + rate * end - total_dual
        if cost > threshold:
            continue
        # Note it, in place of the worst one where the table is full.
        if found == most_columns:
            if not limits.narrowing:
                return found, False
            place = worst
        else:
            place = found
            found += 1
        for position in range(n_classes):
            table.counts[place, position] = taken[position]
        table.ends[place] = end
        table.reduced[place] = cost
        table.exact[place] = whole
        if limits.narrowing and found == most_columns:
            worst = int(np.argmax(table.reduced))
            threshold = min(threshold, table.reduced[worst])
    return found, False
