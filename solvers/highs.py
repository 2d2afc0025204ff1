"""HiGHS as a back end for integer programmes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..bounds.programme import LEAVE_AFTER_S, new_highs
from ..core.limits import ITERATIONS, LimitReached, checkpoint, count_work, current_limit, seconds_left
from ..core.processes import run_in_thread
from ..core.quantities import OPTIMALITY_TOLERANCE, IntArray
from ..models.integer_program import INFINITE, IntegerProgram
from .backend import SolverAnswer, SolverLimits, SolverStatus

_LARGEST_OBJECTIVE = 1e7
"""HiGHS compares reduced costs with absolute tolerances: objectives are brought up to about this size."""

_MARGIN = OPTIMALITY_TOLERANCE / 10
"""Part by which a proven bound of HiGHS is lowered, relative to its size: it computes in floating-point numbers."""


def solve_with_highs(
    program: IntegerProgram,
    limits: SolverLimits,
    start: IntArray | None = None,
    better_than: float = math.inf,
    enough: float = -math.inf,
) -> SolverAnswer[IntArray]:
    """Solve an integer programme with HiGHS.

    Parameters
    ----------
    program : IntegerProgram
        The programme.
    limits : SolverLimits
        When to stop.
    start : array of int, optional
        A solution to start from.
    better_than : float
        Look only for solutions with a smaller objective; "infeasible" then means that there is none.
    enough : float
        Any solution with at most this objective will do, and is looked for more than it is proved that there is none.

    Returns
    -------
    SolverAnswer
        Values are those of the columns.
    """
    if program.n_columns == 0:
        return _without_columns(program)
    factor = _scale(program, program.value(start) if start is not None else better_than)
    solver = _with_program(program, factor, limits, start)
    if math.isfinite(enough):
        solver.setOptionValue("objective_target", enough * factor)
        solver.setOptionValue("mip_heuristic_effort", 0.5)
    if math.isfinite(better_than):
        solver.setOptionValue("objective_bound", better_than * factor)
    checkpoint()
    watch = _Watch(solver, factor)
    left = seconds_left()
    if left is not None and watch.begin_s > left:  # it would hear of its end only then
        current_limit().ended_by_time()
        raise LimitReached
    if run_in_thread(solver.run, watch.end, limits.pass_on(watch.news), leave_after_s=LEAVE_AFTER_S):
        watch.count()
        return _answer(solver, program, factor)
    # HiGHS goes on in its thread, and what it has told so far is all that can be read.
    if watch.last is None or not program.satisfied_by(watch.last[0]):
        raise LimitReached
    values, bound = watch.last
    return SolverAnswer("feasible", values, _lowered(bound))


class _Watch:
    """Watch over a solver that runs in a thread of its own: ends it, and keeps what it finds.

    Where work is counted in place of time, the clock of the solver must say nothing: it may look so many times whether
    to go on, each of which is worth a pass over its matrix. Between two looks there may be a whole linear programme, so
    that its steps count as well.

    Attributes
    ----------
    news : list of (float, float)
        Objectives and bounds of the solver's thread that callers have not heard of yet; they do in their own.
    last : (array of int, float) or None
        The best solution, and the bound when it was found.
    """

    def __init__(self, solver: Any, factor: float) -> None:
        self._factor = factor
        self._solver = solver
        self._work_of_look = ITERATIONS.look_entry * solver.getNumNz()
        self._work_of_step = ITERATIONS.simplex_step + ITERATIONS.simplex_entry * solver.getNumNz()
        self._looks, self._most_looks = 0, math.inf
        self._stopped = False
        self.news: list[tuple[float, float]] = []
        self.last: tuple[IntArray, float] | None = None
        left = seconds_left()
        if left is not None and current_limit().work is not None:
            self._most_looks = left * ITERATIONS.second / max(self._work_of_look, 1)
        elif left is not None:
            solver.setOptionValue("time_limit", left)
        solver.cbMipInterrupt.subscribe(self._look)
        solver.cbSimplexInterrupt.subscribe(self._look)
        solver.cbMipImprovingSolution.subscribe(self._improved)

    @property
    def begin_s(self) -> float:
        """About the seconds that the first linear programme takes, of a step for every second row."""
        return float(self._work_of_step * self._solver.getNumRow() / 2 / ITERATIONS.second)

    def _look(self, event: Any) -> None:
        self._looks += 1
        event.interrupt(self._stopped or self._looks > self._most_looks)  # type: ignore[no-untyped-call, unused-ignore]

    def _improved(self, event: Any) -> None:
        found = event.data_out
        bound = found.mip_dual_bound / self._factor
        self.last = np.rint(np.array(found.mip_solution)).astype(np.int64), bound
        self.news.append((found.objective_function_value / self._factor, bound))

    def end(self) -> None:
        """Have the solver end at its next look."""
        self._stopped = True

    def count(self) -> None:
        """Count the work of a solver that has ended."""
        steps = max(self._solver.getInfo().simplex_iteration_count, 0)
        count_work(self._work_of_look * self._looks + self._work_of_step * steps)
        if self._looks > self._most_looks:
            current_limit().ended_by_time()


def _with_program(program: IntegerProgram, factor: float, limits: SolverLimits, start: IntArray | None) -> Any:
    """Return a solver that has a programme, and a solution to start from if there is one."""
    import highspy

    solver: Any = new_highs()
    solver.setOptionValue("random_seed", limits.seed)
    solver.setOptionValue("mip_rel_gap", limits.target_gap)
    solver.setOptionValue("mip_abs_gap", 0.0)
    # Tolerances stay as they are: with mip_feasibility_tolerance 1e-9 and a start, HiGHS 1.14 called plans optimal that
    # are not (0.25106957 on hads/J80, where the optimum is 0.25100886).
    solver.passModel(_highs_model(program, factor))
    if start is not None:
        solution = highspy.HighsSolution()
        solution.col_value = start.astype(float).tolist()
        solver.setSolution(solution)
    return solver


def _without_columns(program: IntegerProgram) -> SolverAnswer[IntArray]:
    """Answer for a programme that has nothing to decide; HiGHS does not look at its rows."""
    nothing = np.zeros(0, dtype=np.int64)
    if program.satisfied_by(nothing):
        return SolverAnswer("optimal", nothing, program.constant)
    return SolverAnswer("infeasible", None, math.inf)


def _scale(program: IntegerProgram, objective: float) -> float:
    """Factor of the objective under which its smallest coefficient is 1, unless the objective then gets too large."""
    factor = 1.0 / program.smallest_cost()
    return min(factor, _LARGEST_OBJECTIVE / abs(objective)) if 0 < abs(objective) < math.inf else factor


def _highs_model(program: IntegerProgram, factor: float) -> Any:
    import highspy

    infinity = highspy.kHighsInf
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = program.n_columns, len(program.rows)
    model.offset_ = program.constant * factor
    model.col_cost_ = np.array(program.costs) * factor
    model.col_lower_ = np.array(program.lower, dtype=float)
    model.col_upper_ = np.array(program.upper, dtype=float)
    model.row_lower_ = np.array([-infinity if low <= -INFINITE else float(low) for low in program.row_lower])
    model.row_upper_ = np.array([infinity if high >= INFINITE else float(high) for high in program.row_upper])
    starts, columns, coefficients = program.row_arrays()
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = starts.astype(np.int32)
    model.a_matrix_.index_ = columns.astype(np.int32)
    model.a_matrix_.value_ = coefficients
    model.integrality_ = [highspy.HighsVarType.kInteger] * program.n_columns
    return model


def _answer(solver: Any, program: IntegerProgram, factor: float) -> SolverAnswer[IntArray]:
    import highspy

    kinds = highspy.HighsModelStatus
    status = solver.getModelStatus()
    if status in (kinds.kInfeasible, kinds.kUnboundedOrInfeasible):  # no programme here is unbounded
        return SolverAnswer("infeasible", None, math.inf)
    if status == kinds.kTimeLimit:
        current_limit().ended_by_time()  # by its own clock, which may be a little ahead of ours
    information = solver.getInfo()
    bound = _lowered(information.mip_dual_bound / factor)
    values = None
    if information.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        values = np.rint(np.array(solver.getSolution().col_value)).astype(np.int64)
        if not program.satisfied_by(values):
            values = None  # feasible within tolerances only
    found: SolverStatus = "unknown" if values is None else "optimal" if status == kinds.kOptimal else "feasible"
    return SolverAnswer(found, values, bound)


def _lowered(bound: float) -> float:
    """Proven part of a bound of HiGHS."""
    return bound - _MARGIN * abs(bound) if math.isfinite(bound) else -math.inf
