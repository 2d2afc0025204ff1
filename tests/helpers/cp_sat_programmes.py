"""Integer programmes solved by CP-SAT, to compare HiGHS with."""

from __future__ import annotations

import math

import numpy as np

from spotbag.core.limits import checkpoint
from spotbag.core.quantities import IntArray
from spotbag.models.integer_program import INFINITE, IntegerProgram, integer_costs
from spotbag.solvers.backend import SolverAnswer, SolverLimits
from spotbag.solvers.cp_sat import solve_cp_model


def solve_with_cp_sat(
    program: IntegerProgram, limits: SolverLimits, start: IntArray | None = None
) -> SolverAnswer[IntArray]:
    """Solve an integer programme with CP-SAT; see `spotbag.solvers.highs.solve_with_highs`."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    columns = [
        model.new_int_var(low, high, f"x{index}")
        for index, (low, high) in enumerate(zip(program.lower, program.upper, strict=True))
    ]
    for (members, coefficients), low, high in zip(program.rows, program.row_lower, program.row_upper, strict=True):
        checkpoint()
        expression = cp_model.LinearExpr.weighted_sum([columns[k] for k in members], coefficients)
        if low <= -INFINITE:
            model.add(expression <= high)
        elif high >= INFINITE:
            model.add(expression >= low)
        else:
            model.add_linear_constraint(expression, low, high)
    known = math.inf if start is None else program.value(start) - program.constant
    costs, factor = integer_costs(program.costs, program.upper, known)
    model.minimize(cp_model.LinearExpr.weighted_sum(columns, costs))
    if start is not None:
        for column, value in zip(columns, start.tolist(), strict=True):
            model.add_hint(column, value)
    return solve_cp_model(
        model,
        limits,
        lambda value: np.array([value(column) for column in columns], dtype=np.int64),
        factor,
        program.constant,
    )
