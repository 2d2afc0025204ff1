"""Sets of tasks that share a host, as columns: weights that refute a time, and plans made of the columns.

For a time W, with x_c hosts that run the set c and pay k_c units,

    min sum_c k_c x_c
    sum_{c has j} x_c + s_{j-1} - s_j >= 1      tasks j, longest first
    x_c, s_j >= 0

where s_j carries places for task j that are left over down to the next task, which is no longer. Its duals are weights
for ``models.paid_units_bound.refutes``; a knapsack finds the sets that it lacks. In whole numbers, its solutions are
plans: there are at least j places for the j longest tasks, so giving the longest task the longest place and so on fits.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np

from ...bounds.programme import Programme
from ...core.limits import LimitReached, within
from ...core.quantities import OPTIMALITY_TOLERANCE, IntArray
from ...heuristics.streams.packing import Packing
from ...models.integer_program import IntegerProgram
from ...models.streams.paid_units import Heaviest, UnitsProblem, refutes
from ..backend import SolverLimits
from ..highs import solve_with_highs

_WEIGHT = 1_000_000
"""What a dual of 1, the price of a unit, is as a whole number."""

_ROUNDS = 8
"""Knapsacks for the duals of a master, each without the tasks of the columns that were found before."""


class SharedHosts:
    """Columns of a bag; what is found for one time is kept for others.

    Parameters
    ----------
    problem : UnitsProblem
        The bag.
    until : float
        When to stop, as of ``time.perf_counter``.
    """

    def __init__(self, problem: UnitsProblem, until: float) -> None:
        self._problem = problem
        self._until = until
        self._busy_s: dict[tuple[int, ...], int] = {}
        self.add((task,) for task in range(len(problem.run_times_s)))

    def add(self, sets: Iterable[Iterable[int]]) -> int:
        """Keep sets of tasks; say how many were new."""
        before = len(self._busy_s)
        for tasks in sets:
            key = tuple(sorted(tasks))
            self._busy_s[key] = sum(self._problem.run_times_s[task] for task in key)
        return len(self._busy_s) - before

    def refuted(self, wall_s: int) -> bool | None:
        """Whether no plan within the budget ends by a time, as far as fractions of columns tell; None out of time."""
        problem = self._problem
        rooms = problem.rooms_s(wall_s)
        master = _Master(len(problem.run_times_s))
        master.add(self._columns(wall_s))
        while True:
            try:
                with within(max(self._until - time.perf_counter(), 0.0)):
                    if not master.solve():
                        return None
            except LimitReached:
                return None
            if master.objective <= problem.budget_units + OPTIMALITY_TOLERANCE:
                return False
            weights = [int(max(dual, 0.0) * _WEIGHT) for dual in master.duals]
            found: set[tuple[int, ...]] = set()
            for round_ in range(_ROUNDS):
                heaviest = Heaviest(problem.run_times_s, weights, rooms[-1])
                if round_ == 0 and refutes(problem, wall_s, weights, heaviest.best):
                    return True
                worth = [
                    heaviest.tasks(room)
                    for units, room in enumerate(rooms, start=1)
                    if heaviest.best[room] > units * _WEIGHT
                ]
                if not worth:
                    break
                found.update(worth)
                for task in {task for tasks in worth for task in tasks}:
                    weights[task] = 0
            known = self._busy_s.keys()
            new = [tasks for tasks in sorted(found) if tasks not in known]
            if not new:
                return False
            self.add(new)
            master.add([(tasks, problem.units_of(self._busy_s[tasks])) for tasks in new])

    def plan(self, wall_s: int, until: float) -> Packing | None:
        """Plan of the columns that ends by a time within the budget; None if none was found in time."""
        n_tasks, columns = len(self._problem.run_times_s), self._columns(wall_s)
        program = IntegerProgram()
        for _, units in columns:
            program.add_column(float(units), upper=n_tasks)
        for _ in range(n_tasks - 1):
            program.add_column(upper=n_tasks)
        of_task: list[list[int]] = [[] for _ in range(n_tasks)]
        for column, (tasks, _) in enumerate(columns):
            for task in tasks:
                of_task[task].append(column)
        for task, mine in enumerate(of_task):
            before, after = ([len(columns) + k] if 0 <= k < n_tasks - 1 else [] for k in (task - 1, task))
            coefficients = [1] * (len(mine) + len(before)) + [-1] * len(after)
            program.add_row([*mine, *before, *after], coefficients, lower=1)
        try:
            with within(max(until - time.perf_counter(), 0.0)):
                answer = solve_with_highs(program, SolverLimits(), enough=float(self._problem.budget_units))
        except LimitReached:
            return None
        if answer.values is None or program.value(answer.values) > self._problem.budget_units + 0.5:
            return None
        return _packing(n_tasks, [tasks for tasks, _ in columns], answer.values)

    def _columns(self, wall_s: int) -> list[tuple[tuple[int, ...], int]]:
        """Columns: sets of tasks that end by a time, with the units of their host."""
        room_s = wall_s - self._problem.boot_s
        return [(tasks, self._problem.units_of(busy_s)) for tasks, busy_s in self._busy_s.items() if busy_s <= room_s]


class _Master(Programme):
    """The programme of the module."""

    def __init__(self, n_tasks: int) -> None:
        super().__init__()
        for _ in range(n_tasks):
            self.add_row(lower=1.0)
        for task in range(n_tasks - 1):
            self.add_column(0.0, [task, task + 1], [-1.0, 1.0])

    def add(self, columns: Iterable[tuple[tuple[int, ...], int]]) -> None:
        """Add columns with their units."""
        for tasks, units in columns:
            self.add_column(float(units), tasks, np.ones(len(tasks)))


def _packing(n_tasks: int, sets: list[tuple[int, ...]], values: IntArray) -> Packing:
    """Plan of whole numbers of hosts that run each set."""
    places: list[tuple[int, int]] = []
    hosts = 0
    for tasks, value in zip(sets, values.tolist(), strict=False):
        for _ in range(value):
            places += [(task, hosts) for task in tasks]
            hosts += 1
    packing: Packing = [[] for _ in range(hosts)]
    for task, (_, host) in zip(range(n_tasks), sorted(places), strict=False):
        packing[host].append(task)
    return [host for host in packing if host]
