"""Linear programmes that grow: the one place where HiGHS is set up.

Among them are Kelley's cutting planes, for the maximum of a concave function of few variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.limits import ITERATIONS, LimitReached, checkpoint, count_work, current_limit, seconds_left
from ..core.processes import run_in_thread
from ..core.quantities import FloatArray, IntArray, rounded_down

if TYPE_CHECKING:
    import highspy

LEAVE_AFTER_S = 0.02
"""Seconds that HiGHS is waited for after its time is over: in presolve it may not look at the clock for longer."""

_OBJECTIVE = 1e4
"""The tolerances of HiGHS are absolute: objectives are brought up to about this size."""

MOST_COLUMNS = 4_000
"""Columns of tasks beyond which a bound has no programme of its own: it would take seconds."""

TOLERANCE = 1e-7
"""Tolerance of HiGHS for rows and for reduced costs."""

_LARGE = 5_000
"""Entries of a matrix from which on a solver is watched while it runs."""

_PRIMAL_SIMPLEX = 4

_NEAR = 0.1
"""Distance that the search goes from a point near the maximum, relative to the point."""


_claiming, _claimed = Lock(), Event()


def own_scheduler() -> None:
    """Have the scheduler of HiGHS, which is one for the process, made for one thread.

    With another number of threads than that of the scheduler, ``run`` fails and leaves an objective of 0 behind. So all
    solvers here work in the thread that runs them, and several may at once; the scheduler is made for that before the
    first of them, and never again while another may run.
    """
    import highspy

    with _claiming:  # which nobody passes until it is done
        if not _claimed.is_set():
            highspy.Highs.resetGlobalScheduler(True)
            _claimed.set()


def new_highs() -> highspy.Highs:
    """Make a HiGHS solver, which says nothing and works in the thread that runs it."""
    import highspy

    own_scheduler()
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    return solver


class Programme:
    """A linear programme that is minimised, and grows: each solve begins where the last one ended.

    Parameters
    ----------
    size : float, optional
        About what the objective is, above 0; costs, objectives and duals are in the caller's units whatever it is.
    primal : bool
        Whether to use the primal simplex method, for which new columns leave the last solution feasible.

    Attributes
    ----------
    objective : float
        That of the last solution, also after a change.
    """

    def __init__(self, size: float | None = None, *, primal: bool = False) -> None:
        import highspy

        self._unit = 1.0 if size is None else _OBJECTIVE / size
        self._solver = new_highs()
        self.objective = 0.0
        self._kinds = highspy.HighsModelStatus
        if primal:
            self._solver.setOptionValue("simplex_strategy", _PRIMAL_SIMPLEX)

    # ------------------------------------------------------------------ parts

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self._solver.getNumRow())

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self._solver.getNumCol())

    def add_column(
        self,
        cost: float,
        rows: Sequence[int] | IntArray = (),
        values: Sequence[float] | FloatArray | IntArray = (),
        lower: float = 0.0,
        upper: float = np.inf,
    ) -> None:
        """Add a column with its entries in existing rows."""
        indices, entries = np.asarray(rows, dtype=np.int32), np.asarray(values, dtype=float)
        count_work(ITERATIONS.row)
        self._solver.addCol(cost * self._unit, lower, upper, len(indices), indices, entries)

    def add_columns(
        self, costs: FloatArray, lower: float | FloatArray = 0.0, upper: float | FloatArray = np.inf
    ) -> None:
        """Add columns without entries."""
        low, high = (np.broadcast_to(np.asarray(bound, dtype=float), costs.shape).copy() for bound in (lower, upper))
        nothing = np.zeros(0, dtype=np.int32)
        starts = np.zeros(len(costs), dtype=np.int32)
        self._solver.addCols(len(costs), costs * self._unit, low, high, 0, starts, nothing, np.zeros(0))

    def add_rows(
        self, lower: FloatArray, upper: FloatArray, rows: IntArray, columns: IntArray, values: FloatArray
    ) -> None:
        """Add rows at once, with entries in existing columns; of each entry its row, from 0, and its column."""
        order = np.lexsort((columns, rows))
        starts = np.searchsorted(rows[order], np.arange(len(lower))).astype(np.int32)
        indices, entries = columns[order].astype(np.int32), values[order]
        self._solver.addRows(len(lower), lower, upper, len(indices), starts, indices, entries)

    def add_row(
        self,
        columns: Sequence[int] | IntArray = (),
        values: Sequence[float] | FloatArray | IntArray = (),
        lower: float = -np.inf,
        upper: float = np.inf,
    ) -> None:
        """Add a row with its entries in existing columns."""
        indices, entries = np.asarray(columns, dtype=np.int32), np.asarray(values, dtype=float)
        count_work(ITERATIONS.row)
        self._solver.addRow(lower, upper, len(indices), indices, entries)

    def set_cost(self, column: int, cost: float) -> None:
        """Change the cost of a column."""
        self._solver.changeColCost(column, cost * self._unit)

    def set_bounds(self, lower: FloatArray, upper: FloatArray, first: int = 0) -> None:
        """Change the bounds of columns that follow each other."""
        columns = np.arange(first, first + len(lower), dtype=np.int32)
        self._solver.changeColsBounds(len(columns), columns, lower, upper)

    def set_row_bounds(self, row: int, lower: float, upper: float) -> None:
        """Change the bounds of a row."""
        self._solver.changeRowBounds(row, lower, upper)

    # ------------------------------------------------------------------ solve

    def solve(self) -> bool:
        """Solve the programme; return True if an optimum was found.

        Raises
        ------
        LimitReached
            If the limit that holds was over before; the programme must not be touched then.
        """
        checkpoint()
        limit, left = current_limit(), seconds_left()
        each = ITERATIONS.simplex_step + ITERATIONS.simplex_entry * self._solver.getNumNz()
        if limit.work is not None and left is not None:
            # HiGHS has 32 bits for a number of iterations.
            most = min(int(left * ITERATIONS.second / each) + 1, 2**31 - 1)
            self._solver.setOptionValue("simplex_iteration_limit", most)
        else:
            # The time limit of HiGHS is one of all runs of a solver together.
            self._solver.setOptionValue("time_limit", np.inf if left is None else self._solver.getRunTime() + left)
        self._run(watched=self._solver.getNumNz() >= _LARGE and bool(limit.stops or limit.on_life))
        if self._solver.getModelStatus() == self._kinds.kNotset:  # its scheduler has more threads: it takes those
            self._solver.setOptionValue("threads", 0)
            self._run(watched=False)
        count_work(ITERATIONS.simplex_begin + each * (1 + self._solver.getInfo().simplex_iteration_count))
        status = self._solver.getModelStatus()
        if status in (self._kinds.kTimeLimit, self._kinds.kIterationLimit, self._kinds.kInterrupt):
            limit.ended_by_time()  # by the clock of HiGHS, which may be a little ahead of ours
            raise LimitReached
        self.objective = float(self._solver.getObjectiveValue()) / self._unit
        return bool(status == self._kinds.kOptimal)

    def _run(self, watched: bool) -> None:
        """Run the solver, if it is watched in a thread that a request to stop ends."""
        if not watched:
            self._solver.run()
            return
        stopped = False

        def watch(event: Any) -> None:
            event.interrupt(stopped)

        def end() -> None:
            nonlocal stopped
            stopped = True

        self._solver.cbSimplexInterrupt.subscribe(watch)
        if not run_in_thread(self._solver.run, end, leave_after_s=LEAVE_AFTER_S):
            raise LimitReached
        self._solver.cbSimplexInterrupt.unsubscribe(watch)

    @property
    def infeasible(self) -> bool:
        """True if the last solve proved that there is no solution."""
        return bool(self._solver.getModelStatus() == self._kinds.kInfeasible)

    @property
    def values(self) -> FloatArray:
        """Values of the columns in the solution, until the programme is changed."""
        return np.array(self._solver.getSolution().col_value)

    @property
    def duals(self) -> FloatArray:
        """Duals of the rows in the solution, until the programme is changed; at least 0 at a lower bound."""
        return np.array(self._solver.getSolution().row_dual) / self._unit


@dataclass(frozen=True, slots=True)
class Maximum:
    """Result of a maximisation.

    Attributes
    ----------
    value, theta : float and array
        The best point, and the value of the function there less what it may be rounded up.
    row_weights : array
        Duals of the rows of the second part in the last master problem.
    """

    value: float
    theta: FloatArray
    row_weights: FloatArray


class LinearRows(NamedTuple):
    """Linear functions of n variables: ``constants`` of shape (n_rows,), and ``rows`` of shape (n_rows, n)."""

    constants: FloatArray
    rows: FloatArray


MOST_CUTS = 400
"""Cutting planes of one maximum."""


def maximise_concave(
    tasks: Callable[[FloatArray], tuple[float, FloatArray]],
    second: LinearRows,
    limits: LinearRows,
    box: float,
    max_cuts: int,
    relative_tolerance: float,
    around: FloatArray | None = None,
) -> Maximum:
    """Maximise ``tasks(theta) + min(second(theta))``, for theta in a box where all ``limits(theta) >= 0``.

    Parameters
    ----------
    tasks : callable
        Concave function that returns its value, rounded down by what its own terms ask for, and a supergradient.
    second : LinearRows
        The second, piecewise linear part.
    limits : LinearRows
        Linear constraints.
    box : float
        Upper limit of all variables; the lower one is 0.
    max_cuts : int
        Most evaluations of ``tasks``.
    relative_tolerance : float
        Stop when the planes leave no more than this to gain.
    around : array, optional
        A point near the maximum: the search starts there, and does not go far from it.

    Returns
    -------
    Maximum
        Whatever the planes leave open, its value is one of the function, and so a lower bound of the maximum.
    """
    (n_rows, size), theta = second.rows.shape, around
    if max_cuts == 1 and theta is not None:  # the value there is all that is asked
        return Maximum(_value_at(theta, tasks(theta)[0], second), theta, np.zeros(n_rows))
    lower, upper = _within_reach(theta, size, box)
    theta = np.zeros(size) if theta is None else theta
    programme, columns = _without_tasks(second, limits, lower, upper)
    best = Maximum(-np.inf, np.zeros(size), np.zeros(0))
    weights = np.zeros(0)
    for _ in range(max_cuts):
        value, gradient = tasks(theta)
        whole = _value_at(theta, value, second)
        if whole > best.value:
            best = Maximum(whole, theta, weights)
        # value of the tasks <= value + gradient (theta' - theta)
        programme.add_row(columns, np.r_[-gradient, 1.0, 0.0], upper=value - float(gradient @ theta))
        try:
            if not programme.solve():
                break
        except LimitReached:  # what there is so far is a bound as well
            break
        weights = np.abs(programme.duals[:n_rows])
        if -programme.objective - best.value <= relative_tolerance * max(abs(best.value), 1e-12):
            break
        theta = np.clip(programme.values[:size], lower, upper)
    return Maximum(best.value, best.theta, weights)


def _within_reach(around: FloatArray | None, size: int, box: float) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of a search: the whole box, or what of it is near a point."""
    if around is None:
        return np.zeros(size), np.full(size, box)
    # A multiplier that is 0 there may grow, too: it has some of the reach of the largest one.
    reach = _NEAR * np.maximum(around, _NEAR * float(around.max(initial=0.0)))
    return np.maximum(around - reach, 0.0), np.minimum(around + reach, box)


def maximise_in_boxes(
    tasks: Callable[[FloatArray], tuple[float, FloatArray]],
    second: LinearRows,
    limits: LinearRows,
    box: float,
    last_box: float,
    relative_tolerance: float = TOLERANCE,
    enough: float = np.inf,
    max_cuts: int = MOST_CUTS,
) -> Maximum:
    """Maximise as `maximise_concave` does, in a box that grows while the maximum lies at its end.

    Boxes are no larger than a hundred times the last one; none is after a value that is above ``enough``.
    """
    best = maximise_concave(tasks, second, limits, box, max_cuts, relative_tolerance)
    at_end = best
    while best.value <= enough and at_end.theta.max(initial=0.0) >= 0.99 * box and box <= last_box:
        # The point may be at the end only because the box ends there.
        box *= 100.0
        at_end = maximise_concave(tasks, second, limits, box, max_cuts, relative_tolerance)
        best = at_end if at_end.value > best.value else best
    return best


def _without_tasks(
    second: LinearRows, limits: LinearRows, lower: FloatArray, upper: FloatArray
) -> tuple[Programme, IntArray]:
    """Return a programme, so far without planes of the tasks, and its columns: theta and the values of both parts."""
    programme = Programme()
    programme.add_columns(np.zeros(len(lower)), lower, upper)
    programme.add_columns(-np.ones(2), -np.inf)
    columns = np.arange(len(lower) + 2)
    for constant, row in zip(*second, strict=True):  # second part - row theta <= constant
        programme.add_row(columns, np.r_[-row, 0.0, 1.0], upper=float(constant))
    for constant, part in zip(*limits, strict=True):
        programme.add_row(columns, np.r_[part, 0.0, 0.0], lower=-float(constant))
    return programme, columns


def _value_at(theta: FloatArray, of_tasks: float, second: LinearRows) -> float:
    """Value of both parts at a point, less what it may be rounded up."""
    constants, rows = second
    size_of_terms = abs(of_tasks) + float((np.abs(constants) + np.abs(rows) @ theta).max())
    return rounded_down(of_tasks + float((constants + rows @ theta).min()), size_of_terms)
