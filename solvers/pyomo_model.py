"""Pyomo models of integers, solved with HiGHS or CP-SAT.

Pyomo's own interfaces to HiGHS are not used: ``appsi_highs`` loses the solution when the user interrupts it, the one of
``pyomo.contrib.solver`` takes no solution to start from, and neither tells its progress. The model is translated, and
solved like all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np

from ..core.limits import checkpoint
from ..core.quantities import IntArray
from ..models.integer_program import INFINITE, IntegerProgram
from .backend import SolverAnswer, SolverLimits
from .cp_sat import solve_with_cp_sat
from .highs import solve_with_highs

Solver: TypeAlias = Literal["highs", "cp-sat"]


def solve_pyomo(model: Any, limits: SolverLimits, solver: Solver = "highs") -> SolverAnswer[Mapping[Any, float]]:
    """Solve a Pyomo model. The model is not changed.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel
        See `integer_program_of`. If all its variables have values, the search starts from them.
    limits : SolverLimits
        When to stop.
    solver : {"highs", "cp-sat"}
        By which; CP-SAT takes no negative costs.

    Returns
    -------
    SolverAnswer
        Values are a mapping from the variables of the model.

    Raises
    ------
    ValueError
        If the model is none of those that `integer_program_of` translates.
    """
    from pyomo.common.collections import ComponentMap

    program, columns = integer_program_of(model)
    solve = solve_with_highs if solver == "highs" else solve_with_cp_sat
    answer = solve(program, limits, _start(columns))
    values = None if answer.values is None else ComponentMap(zip(columns, answer.values.tolist(), strict=True))
    return SolverAnswer(answer.status, values, answer.bound)


def integer_program_of(model: Any) -> tuple[IntegerProgram, list[Any]]:
    """Translate a Pyomo model.

    Parameters
    ----------
    model : pyomo.environ.ConcreteModel
        With one objective, to be minimised; bounded integer variables, fixed or not; linear constraints with whole
        coefficients and limits.

    Returns
    -------
    program : IntegerProgram
        The same as columns and rows.
    columns : list of pyomo variables
        Variable of each column.

    Raises
    ------
    ValueError
        With the name of the part that cannot be translated.
    """
    import pyomo.environ as pyo

    program = IntegerProgram()
    columns = list(model.component_data_objects(pyo.Var, active=True))
    for column in columns:
        checkpoint()
        lower, upper = (column.value, column.value) if column.fixed else column.bounds
        if lower is None or upper is None or not (column.fixed or column.is_integer() or column.is_binary()):
            raise ValueError(f"variable {column.name} is not a bounded integer")
        program.add_column(0.0, _whole(lower, column), _whole(upper, column))
    # By identity: with Pyomo, ``==`` of two variables is no answer but a constraint.
    position = {id(column): index for index, column in enumerate(columns)}
    for row in model.component_data_objects(pyo.Constraint, active=True):
        constant, coefficients, variables = _linear_parts(row.body, row)
        shift = _whole(constant, row)
        program.add_row(
            [position[id(variable)] for variable in variables],
            [_whole(coefficient, row) for coefficient in coefficients],
            -INFINITE if row.lower is None else _whole(pyo.value(row.lower), row) - shift,
            INFINITE if row.upper is None else _whole(pyo.value(row.upper), row) - shift,
        )
    objectives = list(model.component_data_objects(pyo.Objective, active=True))
    if len(objectives) != 1 or objectives[0].sense != pyo.minimize:
        raise ValueError("the model must have one objective, to be minimised")
    program.constant, costs, variables = _linear_parts(objectives[0].expr, objectives[0])
    for cost, variable in zip(costs, variables, strict=True):
        program.costs[position[id(variable)]] = float(cost)
    return program, columns


def _linear_parts(expression: Any, part: Any) -> tuple[float, list[float], list[Any]]:
    """Constant, coefficients and variables of an expression; each variable once, fixed ones in the constant."""
    from pyomo.repn import generate_standard_repn

    parts = generate_standard_repn(expression, compute_values=True, quadratic=False)
    if not parts.is_linear():
        raise ValueError(f"{part.name} is not linear")
    return float(parts.constant), list(parts.linear_coefs), list(parts.linear_vars)


def _whole(number: float, part: Any) -> int:
    if number != int(number):
        raise ValueError(f"{part.name} has a coefficient or bound that is not whole: {number}")
    return int(number)


def _start(columns: list[Any]) -> IntArray | None:
    """Values of the variables; None if one has none."""
    values = [column.value for column in columns]
    if any(value is None for value in values):
        return None
    return np.array([round(value) for value in values], dtype=np.int64)
