"""Bags on identical hosts that are paid by started units: lines to compare with, and bounds that hold for every plan.

A bag of n tasks of known run times; a host is paid by started units of U seconds from its request, is ready ``boot``
seconds later and runs one task at a time. As many hosts as wanted can be requested at any time (Silva, Veiga, Ferreira:
"A2HA - automatic and adaptive host allocation in utility computing for bag-of-tasks", 2011).

Requesting all hosts at time 0, running their tasks without a pause and stopping after the last one makes no plan later
or dearer. So a plan is which tasks share a host: the host ends at ``boot + sum of its tasks`` and pays that, divided by
U and rounded up.

How early a bag can end whose hosts pay a limited number of units: bounds that hold for every plan.

To end by time W, a host that pays k units has ``room(k) = min(k U, W) - boot`` seconds for tasks: plans are packings
into bins of K = ceil(W / U) sizes, the k-th of which costs k. That a plan ends by W is refuted by *weights* of the
tasks, whole numbers u_j >= 0: let V_k be the largest weight of tasks that fit into room(k). If hosts of B units cannot
carry the weight of all tasks,

    max { sum_k m_k V_k : sum_k k m_k <= B, m_k >= 0 whole } < sum_j u_j,

no plan of B units ends by W. All in whole numbers: whoever chose the weights, by whatever arithmetic, the proof holds.
A time that is refuted refutes all earlier ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spotbag.core.bill import blocks_of
from spotbag.core.quantities import IntArray


@dataclass(frozen=True, slots=True)
class UnitsProblem:
    """A bag, its hosts and what may be paid.

    Attributes
    ----------
    run_times_s : tuple of int
        Longest first.
    unit_s, boot_s : int
        Of a host.
    budget_units : int
        Units that may be paid.
    """

    run_times_s: tuple[int, ...]
    unit_s: int
    boot_s: int
    budget_units: int

    def units_until(self, wall_s: int) -> int:
        """Units of a host that is paid from the start until a time."""
        return blocks_of(wall_s, self.unit_s)

    def largest_units(self, wall_s: int) -> int:
        """Units within the budget beyond which a host has no more room by a time."""
        return min(self.units_until(wall_s), self.budget_units)

    def room_s(self, units: int, wall_s: int) -> int:
        """Seconds for tasks of a host that pays a number of units and ends by a time; 0 if it is not ready."""
        return max(min(units * self.unit_s, wall_s) - self.boot_s, 0)

    def rooms_s(self, wall_s: int) -> list[int]:
        """Room of hosts of 1, 2, ... units."""
        return [self.room_s(units, wall_s) for units in range(1, self.largest_units(wall_s) + 1)]

    def units_of(self, busy_s: int) -> int:
        """Units of a host that is busy with tasks for so long."""
        return units_of(busy_s, self.unit_s, self.boot_s)

    def capacity_s(self, wall_s: int) -> IntArray:
        """Most seconds for tasks that 1, 2, ... hosts have together by a time, within the budget.

        Of the K units that a host can use, all but the last are full ones. More full units come first, since the last
        one is no longer.
        """
        largest = self.units_until(wall_s)
        last_s = wall_s - (largest - 1) * self.unit_s
        hosts = np.arange(1, min(len(self.run_times_s), self.budget_units) + 1, dtype=np.int64)
        full = np.minimum(self.budget_units, hosts * (largest - 1))
        last = np.minimum(hosts, self.budget_units - full)
        return np.asarray(full * self.unit_s + last * last_s - hosts * self.boot_s)


def simple_bound_s(problem: UnitsProblem) -> int:
    """Time before which no plan ends: the longest task, shared hosts, and room for all tasks.

    Notes
    -----
    Shared hosts: there are at most B of them, so of the qB + 1 longest tasks some host has q + 1. Room: hosts of B
    units must have room for all run time (``UnitsProblem.capacity_s``), which grows with the time.

    The problem must have tasks, and the budget must suffice for one host that runs them all.
    """
    times = problem.run_times_s
    total = np.concatenate([[0], np.cumsum(np.array(times, dtype=np.int64))])
    low = problem.boot_s + times[0] - 1  # refuted, as is all before
    rounds = np.arange(1, (len(times) - 1) // problem.budget_units + 1)
    if len(rounds):
        last = rounds * problem.budget_units + 1
        low = max(low, problem.boot_s + int((total[last] - total[last - rounds - 1]).max()) - 1)
    high = problem.boot_s + int(total[-1])
    while high - low > 1:
        middle = (low + high) // 2
        if problem.capacity_s(middle).max() >= total[-1]:
            high = middle
        else:
            low = middle
    return low + 1


def refutes(problem: UnitsProblem, wall_s: int, weights: Sequence[int], best: IntArray) -> bool:
    """True if weights prove that no plan within the budget ends by a time.

    Parameters
    ----------
    problem : UnitsProblem
        The bag.
    wall_s : int
        The time.
    weights : sequence of int
        u_j of each task, not negative.
    best : array of int
        Largest weight of tasks that fit into 0, 1, ... seconds, as of ``Heaviest``, at least to the largest room.
    """
    values = np.array([best[room] for room in problem.rooms_s(wall_s)], dtype=np.int64)
    carried = np.zeros(problem.budget_units + 1, dtype=np.int64)
    for units in range(1, problem.budget_units + 1):
        usable = min(units, len(values))
        carried[units] = (values[:usable] + carried[units - usable : units][::-1]).max(initial=0)
    return int(carried[-1]) < sum(weights)


class Heaviest:
    """Heaviest sets of tasks that fit into 0, 1, ..., ``room_s`` seconds: a knapsack for every room.

    Parameters
    ----------
    run_times_s : sequence of int
        Of the tasks.
    weights : sequence of int
        Whole numbers, not negative.
    room_s : int
        The largest room.
    """

    def __init__(self, run_times_s: Sequence[int], weights: Sequence[int], room_s: int) -> None:
        self._times = run_times_s
        self.best: IntArray = np.zeros(room_s + 1, dtype=np.int64)
        self._taken = np.zeros((len(run_times_s), room_s + 1), dtype=bool)
        for task, (time, weight) in enumerate(zip(run_times_s, weights, strict=True)):
            if weight and time <= room_s:
                with_task = self.best[: room_s + 1 - time] + weight
                np.greater(with_task, self.best[time:], out=self._taken[task, time:])
                np.maximum(with_task, self.best[time:], out=self.best[time:])

    def tasks(self, room_s: int) -> tuple[int, ...]:
        """Tasks of a heaviest set that fits into a room, in order."""
        found = []
        for task in range(len(self._times) - 1, -1, -1):
            if self._taken[task, room_s]:
                found.append(task)
                room_s -= self._times[task]
        return tuple(reversed(found))


@dataclass(frozen=True, slots=True)
class HostLine:
    """Units, hosts and wall time of a way to run a bag.

    Attributes
    ----------
    hosts : int
        Hosts that are requested.
    wall_s : int
        From the requests to the end of the last task; creating hosts counts.
    paid_units : int
        Started units of all hosts.
    serial_s : int
        Run time of all tasks together, what a host that is ready would take.
    """

    hosts: int
    wall_s: int
    paid_units: int
    serial_s: int

    @property
    def speedup(self) -> float:
        """Run time of all tasks together by wall time; 0 for an empty bag."""
        return self.serial_s / self.wall_s if self.wall_s else 0.0


def units_of(busy_s: int, unit_s: int, boot_s: int) -> int:
    """Billed units of a host that is busy with tasks for so long."""
    return blocks_of(boot_s + busy_s, unit_s)


def fewest_paid_units(run_times_s: Sequence[int], unit_s: int = 3600, boot_s: int = 300) -> int:
    """Fewest units that any plan pays: those of one host that runs all tasks.

    Notes
    -----
    Let the hosts of a plan be busy for w_1, ..., w_h seconds, h >= 1. Each pays at least ceil((boot + w_i) / U), and a
    sum of rounded numbers is no less than the rounded sum: together at least ceil((h boot + sum w_i) / U), which is at
    least ceil((boot + sum of all run times) / U). One host that runs everything pays just that.
    """
    return units_of(sum(run_times_s), unit_s, boot_s) if run_times_s else 0


def serial_line(run_times_s: Sequence[int], unit_s: int = 3600, boot_s: int = 300) -> HostLine:
    """Single host for all tasks: the fewest units, the longest wall time worth having."""
    total_s = sum(run_times_s)
    if not run_times_s:
        return HostLine(0, 0, 0, 0)
    return HostLine(1, boot_s + total_s, units_of(total_s, unit_s, boot_s), total_s)


def one_host_per_task_line(run_times_s: Sequence[int], unit_s: int = 3600, boot_s: int = 300) -> HostLine:
    """Each task has a host of its own: the shortest wall time of any plan."""
    if not run_times_s:
        return HostLine(0, 0, 0, 0)
    units = sum(units_of(run_time, unit_s, boot_s) for run_time in run_times_s)
    return HostLine(len(run_times_s), boot_s + max(run_times_s), units, sum(run_times_s))


def hosts_by_formula(n_tasks: int, mean_s: float, usable_s: float = 3300) -> int:
    """Number of hosts that the paper calls optimal (footnote 6): all run time by the usable part of a unit, rounded up.

    The paper prints 18, 12 and 29 for its three jobs. With the numbers it gives, the third is 27.
    """
    return math.ceil(n_tasks * mean_s / usable_s)
