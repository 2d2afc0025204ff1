"""Eq. 6 of a sizing as an integer programme, built with PuLP.

The optimum that is meant is the least by a list of *ranks*: cost, number of VMs, then minus the VMs of the
first type, of the second, and so on. Each is minimised in its turn, with the ranks before it fixed at their optima.

To a solver, 28.999999 is a whole number. If that changes an objective or a row by one, the solver can trade it for a
difference that matters: objectives of one rank have small coefficients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...core.errors import ModelRefusal
from .sizing import Covering

LARGEST_PRICE = 2**27
"""Whole prices beyond which the programme refuses."""


_TOO_FINE = (
    "the integer programme cannot tell prices of so many digits apart; round them, or take the method dynamic-programme"
)


@dataclass(frozen=True, slots=True)
class Objective:
    """Coefficients of the VMs of each type, and the value where it is known."""

    coefficients: tuple[int, ...]
    optimum: int | None = None

    def value(self, counts: Sequence[int]) -> int:
        """Value of counts."""
        return sum(number * cost for number, cost in zip(counts, self.coefficients, strict=True))


class SizingProgram:
    """Eq. 6 with one objective, as a PuLP problem: built, not solved.

    Attributes
    ----------
    problem : pulp.LpProblem
        For experts. Variables ``vms_0``, ``vms_1``, ... by position in the catalogue.
    variables : list of pulp.LpVariable
        In the order of the covering.

    Parameters
    ----------
    covering : Covering
        What is to be covered.
    most : sequence of int
        Upper limit of each count.
    objective : Objective
        To be minimised.
    fixed : sequence of Objective
        Ranks that keep their optima.
    """

    def __init__(
        self, covering: Covering, most: Sequence[int], objective: Objective, fixed: Sequence[Objective] = ()
    ) -> None:
        import pulp

        self.covering = covering
        self.fixed = tuple(fixed)
        self.problem = pulp.LpProblem("sizing", pulp.LpMinimize)
        self.variables = [
            self.problem.add_variable(f"vms_{position}", 0, limit, pulp.LpInteger)
            for position, limit in zip(covering.positions, most, strict=True)
        ]
        self.problem += self._sum(objective.coefficients), "cost"
        self.problem += self._sum(covering.tasks) >= covering.n_tasks, "tasks"
        for number, one in enumerate(fixed):
            self.problem += self._sum(one.coefficients) == one.optimum, f"optimum_{number}"

    def _sum(self, coefficients: Sequence[int]) -> Any:
        import pulp

        return pulp.LpAffineExpression(list(zip(self.variables, coefficients, strict=True)))

    def read_back(self) -> tuple[int, ...] | None:
        """Counts of the solution; None if there is none that keeps all rows in whole numbers."""
        values = [variable.value() for variable in self.variables]
        if any(value is None for value in values):
            return None
        counts = tuple(round(value) for value in values)
        exact = all(one.value(counts) == one.optimum for one in self.fixed)
        return counts if exact and min(counts, default=0) >= 0 and self.covering.covered(counts) else None


def ranks_of(covering: Covering) -> list[Objective]:
    """Cost, VMs, and minus the VMs of every type but the last, which the others decide.

    Raises
    ------
    ModelRefusal
        If the prices are too fine.
    """
    n_types, dearest = len(covering.tasks), max(covering.prices)
    if dearest > LARGEST_PRICE:
        raise ModelRefusal(f"{_TOO_FINE}: one is {dearest:,} times the unit that all are multiples of")
    of_types = [tuple(-int(i == k) for i in range(n_types)) for k in range(n_types - 1)]
    return [Objective(coefficients) for coefficients in (covering.prices, (1,) * n_types, *of_types)]


def inexact() -> ModelRefusal:
    """Refusal for counts that a solver takes for a solution, and that are none in whole numbers."""
    return ModelRefusal(_TOO_FINE)


def tightened(covering: Covering, most: Sequence[int], objective: Objective) -> tuple[int, ...]:
    """Upper limits of the counts of solutions whose objective is its optimum W.

    With u the least objective of a task, ``min_i w_i / a_i``, a solution of value W has
    ``sum_i (w_i - u a_i) x_i <= W - u n``, and every term is nonnegative: exact reduced costs.
    """
    assert objective.optimum is not None
    open_types = [i for i, limit in enumerate(most) if limit > 0]
    weights, tasks = objective.coefficients, covering.tasks
    if not open_types or min(weights[i] for i in open_types) < 0:
        return tuple(most)
    best = min(open_types, key=lambda i: Fraction(weights[i], tasks[i]))
    room = objective.optimum * tasks[best] - weights[best] * covering.n_tasks
    limits = list(most)
    for i in open_types:
        reduced = weights[i] * tasks[best] - weights[best] * tasks[i]
        if reduced > 0:
            limits[i] = min(limits[i], room // reduced)
    return tuple(limits)
