"""Kelley's cutting planes: the maximum of a concave function of few variables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...core.gaps import rounded_down
from ...core.limits import LimitReached
from ...core.linear_programs import run_linear_program
from ...core.quantities import FloatArray

_NEAR = 0.1
"""How far from a point near the maximum the search goes, relative to the point."""


@dataclass(frozen=True, slots=True)
class Maximum:
    """What was found.

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
    constants, rows = second
    size = rows.shape[1]
    if max_cuts == 1 and around is not None:  # the value there is all that is asked
        return Maximum(_value_at(around, tasks(around)[0], second), around, np.zeros(len(constants)))
    import highspy

    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    infinity = highspy.kHighsInf
    columns = np.arange(size + 2, dtype=np.int32)  # theta, value of the tasks, value of the second part
    lower, upper = np.zeros(size), np.full(size, box)
    if around is not None:
        reach = _NEAR * np.maximum(around, _NEAR * float(around.max(initial=0.0)))
        lower, upper = np.maximum(around - reach, 0.0), np.minimum(around + reach, box)
    for low, high in zip(lower.tolist(), upper.tolist(), strict=True):
        solver.addVar(low, high)
    solver.addVar(-infinity, infinity)
    solver.addVar(-infinity, infinity)
    for index in range(size + 2):
        solver.changeColCost(index, -1.0 if index >= size else 0.0)
    for constant, row in zip(constants, rows, strict=True):  # second part - row theta <= constant
        solver.addRow(-infinity, float(constant), size + 2, columns, np.concatenate([-row, [0.0, 1.0]]))
    for constant, part in zip(limits.constants, limits.rows, strict=True):
        solver.addRow(-float(constant), infinity, size + 2, columns, np.concatenate([part, [0.0, 0.0]]))
    best = Maximum(-np.inf, np.zeros(size), np.zeros(0))
    weights = np.zeros(0)
    theta = np.zeros(size) if around is None else around
    for _ in range(max_cuts):
        value, gradient = tasks(theta)
        whole = _value_at(theta, value, second)
        if whole > best.value:
            best = Maximum(whole, theta, weights)
        # value of the tasks <= value + gradient (theta' - theta)
        cut = np.concatenate([-gradient, [1.0, 0.0]])
        solver.addRow(-infinity, value - float(gradient @ theta), size + 2, columns, cut)
        try:
            run_linear_program(solver)
        except LimitReached:  # what there is so far is a bound as well
            break
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            break
        solution = solver.getSolution()
        weights = np.abs(np.array(solution.row_dual)[: len(constants)])
        if -solver.getObjectiveValue() - best.value <= relative_tolerance * max(abs(best.value), 1e-12):
            break
        theta = np.clip(np.array(solution.col_value)[:size], lower, upper)
    return Maximum(best.value, best.theta, weights)


def _value_at(theta: FloatArray, of_tasks: float, second: LinearRows) -> float:
    """Value of both parts at a point, less what it may be rounded up."""
    constants, rows = second
    size_of_terms = abs(of_tasks) + float((np.abs(constants) + np.abs(rows) @ theta).max())
    return rounded_down(of_tasks + float((constants + rows @ theta).min()), size_of_terms)
