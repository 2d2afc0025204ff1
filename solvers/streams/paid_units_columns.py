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

import math
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...core.limits import stopped
from ...core.processes import run_in_thread
from ...core.quantities import FloatArray
from ...heuristics.streams.packing import Packing
from ...models.streams.paid_units import Heaviest, UnitsProblem, refutes
from ..highs import own_scheduler

_WEIGHT = 1_000_000
"""What a dual of 1, the price of a unit, is as a whole number."""

_ROUNDS = 8
"""Knapsacks for the duals of a master, each without the tasks of the columns that were found before."""

_TOLERANCE = 1e-9


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
        master = _Master(problem, self._until)
        master.add(self._columns(wall_s))
        while True:
            cost, duals = master.solve()
            if cost <= problem.budget_units + _TOLERANCE:
                return False
            if stopped() or time.perf_counter() > self._until:
                return None
            weights = [int(dual * _WEIGHT) for dual in duals]
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
        master = _Master(self._problem, until, whole=True)
        master.add(self._columns(wall_s))
        cost, _ = master.solve()
        return master.packing() if cost <= self._problem.budget_units + 0.5 else None

    def _columns(self, wall_s: int) -> list[tuple[tuple[int, ...], int]]:
        """Sets that end by a time, with the units of their host."""
        room_s = wall_s - self._problem.boot_s
        return [(tasks, self._problem.units_of(busy_s)) for tasks, busy_s in self._busy_s.items() if busy_s <= room_s]


class _Master:
    """The programme of the module in HiGHS."""

    def __init__(self, problem: UnitsProblem, until: float, whole: bool = False) -> None:
        import highspy

        own_scheduler()
        self._highspy = highspy
        self._problem = problem
        self._until = until
        self._whole = whole
        self._columns: list[tuple[int, ...]] = []
        self._n_tasks = len(problem.run_times_s)
        solver = self._solver = highspy.Highs()
        solver.setOptionValue("output_flag", False)
        solver.setOptionValue("threads", 1)
        self._stopped = False

        def watch(event: Any) -> None:
            event.interrupt(self._stopped)  # type: ignore[no-untyped-call, unused-ignore]

        if whole:
            solver.cbMipInterrupt.subscribe(watch)
            solver.setOptionValue("objective_target", float(problem.budget_units))
            solver.setOptionValue("mip_heuristic_effort", 0.5)
        nothing = np.array([], dtype=np.int32), np.array([])
        for _ in range(self._n_tasks):
            solver.addRow(1.0, highspy.kHighsInf, 0, *nothing)
        for task in range(self._n_tasks - 1):
            rows = np.array([task, task + 1], dtype=np.int32)
            solver.addCol(0.0, 0.0, highspy.kHighsInf, 2, rows, np.array([-1.0, 1.0]))

    def add(self, columns: Iterable[tuple[tuple[int, ...], int]]) -> None:
        """Add columns with their units."""
        for tasks, units in columns:
            rows = np.array(tasks, dtype=np.int32)
            self._solver.addCol(float(units), 0.0, self._highspy.kHighsInf, len(rows), rows, np.ones(len(rows)))
            if self._whole:
                last = self._solver.getNumCol() - 1
                self._solver.changeColIntegrality(last, self._highspy.HighsVarType.kInteger)
            self._columns.append(tasks)

    def solve(self) -> tuple[float, FloatArray]:
        """Least units, infinite if nothing was found in time, and a weight of each task."""
        left_s = max(self._until - time.perf_counter(), 0.0)
        # HiGHS counts the time of all runs of a solver.
        self._solver.setOptionValue("time_limit", self._solver.getRunTime() + left_s)
        if not self._whole:
            self._solver.run()  # milliseconds: changing threads would take longer
        else:
            run_in_thread(self._solver.run, self._stop)
        info = self._solver.getInfo()
        if info.primal_solution_status != self._highspy.SolutionStatus.kSolutionStatusFeasible:
            return math.inf, np.zeros(self._n_tasks)
        duals = np.array(self._solver.getSolution().row_dual) if not self._whole else np.zeros(self._n_tasks)
        return float(info.objective_function_value), np.maximum(duals, 0.0)

    def _stop(self) -> None:
        self._stopped = True

    def packing(self) -> Packing:
        """Plan of the whole numbers that were found."""
        values = self._solver.getSolution().col_value[self._n_tasks - 1 :]
        places: list[tuple[int, int]] = []
        hosts = 0
        for tasks, value in zip(self._columns, values, strict=True):
            for _ in range(round(value)):
                places += [(task, hosts) for task in tasks]
                hosts += 1
        packing: Packing = [[] for _ in range(hosts)]
        for task, (_, host) in zip(range(self._n_tasks), sorted(places), strict=False):
            packing[host].append(task)
        return [host for host in packing if host]
