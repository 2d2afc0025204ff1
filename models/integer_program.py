"""An integer programme that any back end can take: columns with integer bounds, sparse rows of integers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..core.limits import checkpoint
from ..core.quantities import BoolArray, FloatArray, IntArray

INFINITE = 2**40
"""Bound of a row that has none on that side: beyond everything that is counted here, and safe in integer solvers."""


@dataclass(slots=True)
class IntegerProgram:
    """Minimise ``constant + costs @ x`` over integers x within bounds of the columns and of the rows.

    All coefficients of the rows are integers, the costs are floating-point numbers.

    Attributes
    ----------
    constant : float
        Added to the objective.
    costs, lower, upper : list
        Of the columns.
    rows : list of (columns, coefficients)
        Of the rows, sparse.
    row_lower, row_upper : list of int
        Of the rows; `INFINITE` with a sign where there is none.
    """

    constant: float = 0.0
    costs: list[float] = field(default_factory=list)
    lower: list[int] = field(default_factory=list)
    upper: list[int] = field(default_factory=list)
    rows: list[tuple[list[int], list[int]]] = field(default_factory=list)
    row_lower: list[int] = field(default_factory=list)
    row_upper: list[int] = field(default_factory=list)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.costs)

    def add_column(self, cost: float = 0.0, lower: int = 0, upper: int = 1) -> int:
        """Add a column; return its index."""
        self.costs.append(cost)
        self.lower.append(lower)
        self.upper.append(upper)
        return len(self.costs) - 1

    def add_row(
        self, columns: Sequence[int], coefficients: Sequence[int], lower: int = -INFINITE, upper: int = INFINITE
    ) -> None:
        """Add a row; raises `LimitReached` if there is no time for more."""
        checkpoint()
        self.rows.append((list(columns), list(coefficients)))
        self.row_lower.append(lower)
        self.row_upper.append(upper)

    def value(self, values: IntArray) -> float:
        """Objective of a solution."""
        return self.constant + float(np.asarray(self.costs) @ values)

    def satisfied_by(self, values: IntArray) -> bool:
        """True if a solution keeps all bounds and rows."""
        if (values < self.lower).any() or (values > self.upper).any():
            return False
        for (columns, coefficients), low, high in zip(self.rows, self.row_lower, self.row_upper, strict=True):
            # In Python's own integers: this is the check that solvers, which compute within tolerances, have to pass.
            activity = sum(c * int(values[k]) for k, c in zip(columns, coefficients, strict=True))
            if not low <= activity <= high:
                return False
        return True

    def row_arrays(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Rows in compressed form: starts, columns, coefficients."""
        lengths = np.array([len(columns) for columns, _ in self.rows], dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        flat = np.array([k for columns, _ in self.rows for k in columns], dtype=np.int64)
        coefficients = np.array([float(c) for _, row in self.rows for c in row], dtype=float)
        return starts, flat, coefficients

    def smallest_cost(self) -> float:
        """Smallest cost that is not zero; 1 if there is none. What is lost in rounding is measured by it."""
        costs = np.abs(np.array(self.costs))
        positive: BoolArray = costs > 0
        return float(costs[positive].min()) if positive.any() else 1.0


_DOMAIN_OVER_OBJECTIVE = 2**10
_LARGEST_OBJECTIVE = INFINITE * _DOMAIN_OVER_OBJECTIVE


def integer_costs(costs: Sequence[float], upper: Sequence[int], known: float) -> tuple[list[int], float]:
    """Costs as integers, rounded down, and the factor they were multiplied by.

    Rounded down, they keep every bound of the integer objective a bound of the true one: variables are not negative.
    CP-SAT adds up the objective with all variables at their upper ends, however good the solution that is known: so
    much of its range is kept free that this does not overflow.

    Parameters
    ----------
    costs : sequence of float
        Nonnegative.
    upper : sequence of int
        Upper ends of the variables.
    known : float
        Objective of a solution that is known; infinite without one.
    """
    whole = sum(cost * high for cost, high in zip(costs, upper, strict=True))
    largest = max(min(known, whole), whole / _DOMAIN_OVER_OBJECTIVE)
    highest = max(costs, default=0.0) or 1.0
    factor = min(INFINITE / highest, _LARGEST_OBJECTIVE / largest if largest > 0 else math.inf)
    # A power of two changes no digit of a cost.
    factor = 2.0 ** math.floor(math.log2(factor))
    return [math.floor(cost * factor) for cost in costs], factor
