"""CP-SAT as a back end: for models of its own, and for integer programmes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ..core.errors import SpotbagError
from ..core.limits import ITERATIONS, LimitReached, checkpoint, count_work, current_limit, seconds_left
from ..core.processes import run_in_thread
from ..models.integer_program import INFINITE, IntegerProgram, integer_costs
from .backend import SolverAnswer, SolverLimits

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

    from ..core.quantities import IntArray

Values = TypeVar("Values")

_LEAVE_AFTER_S = 0.1
"""Seconds that CP-SAT is waited for after its time is over: long enough for one that has just begun to hear of it."""

_MOST_ROUNDS = 1000
"""Rounds after which OR-Tools 9.15 ends its presolve."""


def solve_with_cp_sat(
    program: IntegerProgram, limits: SolverLimits, start: IntArray | None = None
) -> SolverAnswer[IntArray]:
    """Solve an integer programme whose costs are not negative.

    Parameters
    ----------
    program : IntegerProgram
        Columns and rows.
    limits : SolverLimits
        When to stop.
    start : array of int, optional
        A solution to start from.
    """
    from ortools.sat.python import cp_model

    known = math.inf if start is None else program.value(start) - program.constant
    costs, factor = integer_costs(program.costs, program.upper, known)
    model = cp_model.CpModel()
    columns = [
        model.new_int_var(low, high, f"x{number}")
        for number, (low, high) in enumerate(zip(program.lower, program.upper, strict=True))
    ]
    for (places, coefficients), low, high in zip(program.rows, program.row_lower, program.row_upper, strict=True):
        checkpoint()
        least = cp_model.INT_MIN if low <= -INFINITE else low
        most = cp_model.INT_MAX if high >= INFINITE else high
        row = cp_model.LinearExpr.weighted_sum([columns[place] for place in places], coefficients)
        model.add_linear_constraint(row, least, most)
    model.minimize(cp_model.LinearExpr.weighted_sum(columns, costs))
    if start is not None:
        for column, value in zip(columns, start.tolist(), strict=True):
            model.add_hint(column, value)

    def read(value: Callable[[cp_model.IntVar], int]) -> IntArray:
        return np.array([value(column) for column in columns], dtype=np.int64)

    return solve_cp_model(model, limits, read, factor, program.constant)


def solve_cp_model(
    model: cp_model.CpModel,
    limits: SolverLimits,
    read: Callable[[Callable[[cp_model.IntVar], int]], Values],
    factor: float,
    constant: float = 0.0,
    *,
    inclusions: bool = True,
    chain: int = 0,
) -> SolverAnswer[Values]:
    """Solve a CP-SAT model whose objective is ``factor`` times the true one less a constant.

    Parameters
    ----------
    model : CpModel
        With hints, if there is a solution to start from.
    limits : SolverLimits
        When to stop.
    read : callable
        Makes the values of the answer; it is given a function from variables to their values.
    factor, constant : float
        The true objective is that of the model divided by ``factor``, plus ``constant``.
    inclusions : bool
        Whether presolve looks for rows that include others: OR-Tools 9.15 loses optima there of some models that say of
        VMs whether they are used.
    chain : int
        Length of the longest chain of variables, such as a balance from second to second. A round of presolve finds of
        one of them what no optimum needs; where all rounds would take most of the time, it does not look for that.
    """
    from ortools.sat.python import cp_model, cp_model_helper

    if problem := model.validate():
        raise SpotbagError(f"CP-SAT refuses a model; please report this: {problem}")
    solver = _new_solver(limits, inclusions, min(chain, _MOST_ROUNDS) * len(model.proto.variables))
    news: list[tuple[float, float]] = []  # of the solver's thread; callers hear of them in their own
    last: list[tuple[cp_model_helper.CpSolverResponse, float]] = []

    class Report(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            bound = self.best_objective_bound / factor + constant
            found = cp_model_helper.CpSolverResponse()
            found.copy_from(self.response_proto)
            last[:] = [(found, bound)]
            news.append((self.objective_value / factor + constant, bound))

    report = Report()
    statuses: list[cp_model.CpSolverStatus] = []
    ended = run_in_thread(
        lambda: statuses.append(_solved(solver, model, report)),
        solver.stop_search,
        limits.pass_on(news),
        leave_after_s=_LEAVE_AFTER_S,
    )
    if not ended:
        if not last:
            raise LimitReached
        found, bound = last[0]
        return SolverAnswer("feasible", read(lambda column: cp_model_helper.ResponseHelper.value(found, column)), bound)
    count_work(ITERATIONS.cp_sat_second * solver.response_proto.deterministic_time)
    return _answer(solver, statuses[0], read, lambda objective: objective / factor + constant)


def _new_solver(limits: SolverLimits, inclusions: bool, n_looks: int) -> cp_model.CpSolver:
    """Return a solver with the settings of `solve_cp_model`, and the time that is left.

    ``n_looks`` is how many variables presolve looks at for what no optimum needs, each once in a round.
    """
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    parameters = solver.parameters
    parameters.num_workers = limits.threads
    parameters.random_seed = limits.seed
    parameters.relative_gap_limit = limits.target_gap
    parameters.catch_sigint_signal = False  # `core.processes.interruptible` hears of it, and ends the search
    if not inclusions:
        parameters.presolve_inclusion_work_limit = 0
    checkpoint()
    left = seconds_left()
    # Half of the time is what presolve may take, so that there is a search as well.
    if left is not None and n_looks * ITERATIONS.presolve_variable > left * ITERATIONS.second / 2:
        parameters.keep_all_feasible_solutions_in_presolve = True
    if left is not None and current_limit().work is not None:
        # Its own count of work: the same on any machine, so that the same call makes the same plan.
        parameters.max_deterministic_time = left * ITERATIONS.second / ITERATIONS.cp_sat_second
    elif left is not None:
        parameters.max_time_in_seconds = left
    return solver


def _answer(
    solver: cp_model.CpSolver,
    status: cp_model.CpSolverStatus,
    read: Callable[[Callable[[cp_model.IntVar], int]], Values],
    true_value: Callable[[float], float],
) -> SolverAnswer[Values]:
    """Return the answer of a solver that has ended, with objectives as they are outside of the model."""
    from ortools.sat.python import cp_model

    if status == cp_model.MODEL_INVALID:
        raise SpotbagError("CP-SAT calls a model invalid; please report this")
    if status == cp_model.INFEASIBLE:
        return SolverAnswer("infeasible", None, math.inf)
    if status != cp_model.OPTIMAL:
        current_limit().ended_by_time()  # by its own clock, which may be a little ahead of ours
    bound = true_value(solver.best_objective_bound)
    if status == cp_model.UNKNOWN:
        return SolverAnswer("unknown", None, bound)
    return SolverAnswer("optimal" if status == cp_model.OPTIMAL else "feasible", read(solver.value), bound)


def _solved(
    solver: cp_model.CpSolver, model: cp_model.CpModel, report: cp_model.CpSolverSolutionCallback
) -> cp_model.CpSolverStatus:
    """Solve a model; once more without presolve where that fails (OR-Tools, issue 5288: ``raw_hash_map<>::at``)."""
    try:
        return solver.solve(model, report)
    except IndexError:
        solver.parameters.cp_model_presolve = False
        return solver.solve(model, report)
