"""Column generation: a master problem over patterns of tasks, which grows by those that gain at its duals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ...core.errors import ModelRefusal
from ...core.limits import checkpoint
from ...core.quantities import STEPWISE_ROUNDING, FloatArray, IntArray
from ..programme import Programme

MOST_NEW = 12
"""Patterns of an offer that are added in a round."""

_MOST_ROUNDS = 300
_SMOOTHING = 0.5
"""Weight of the best multipliers so far: those of the last solution by themselves jump about."""


class PatternMaster(Programme):
    """Least cost of running all tasks over fractions of patterns: sets of tasks that a core, or a VM, can run.

    Rows: tasks of each class, at least all of them; then limits, such as on the cores of each offer and the
    VMs of each limited group; then those that are added. Columns: first, for each class, tasks that no pattern runs.

    Parameters
    ----------
    size : array of int, shape (n_classes,)
        Tasks of each class.
    most : sequence of float
        Right sides of the rows of limits.
    worst : float
        About what the objective is, above 0.
    dear : float
        Cost of a task that no pattern runs: more than any plan is worth.
    primal : bool
        See `Programme`.

    Attributes
    ----------
    least_gain : float
        What a pattern must gain above what is known, to be worth a column.
    """

    def __init__(
        self, size: IntArray, most: Sequence[float], worst: float, dear: float, *, primal: bool = False
    ) -> None:
        super().__init__(worst, primal=primal)
        self.size = size
        self.least_gain = STEPWISE_ROUNDING * worst
        self._signs = np.r_[np.ones(len(size)), -np.ones(len(most))]
        for number in size.tolist():
            self.add_row(lower=number)
        for limit in most:
            self.add_row(upper=limit)
        for index in range(len(size)):
            self.add_column(dear, [index], [1.0])

    def add_pattern(
        self, cost: float, counts: IntArray, rows: Sequence[int] = (), values: Sequence[float] = ()
    ) -> None:
        """Add the column of a pattern: its tasks of each class, and its entries in other rows."""
        nonzero = np.flatnonzero(counts)
        self.add_column(cost, np.r_[nonzero, np.array(rows, dtype=np.int64)], np.r_[counts[nonzero], values])

    @property
    def multipliers(self) -> FloatArray:
        """Duals of the last solution, all of which are at least 0; of rows that were added, with a lower bound."""
        duals = self.duals
        duals[: len(self._signs)] *= self._signs
        return np.maximum(duals, 0.0)

    def generate(
        self,
        price: Callable[[FloatArray, FloatArray], tuple[float, bool]],
        centre: FloatArray,
        done: Callable[[], bool],
        best: float = -math.inf,
    ) -> FloatArray:
        """Solve, and add patterns, until none gains or what is proved is enough; return the best multipliers.

        Parameters
        ----------
        price : callable
            Says for multipliers, and beside them all those of the last solution, what they prove, and adds patterns
            that gain by them; returns whether there are any.
        centre : array of float
            The best multipliers that are known, of all rows or of the first ones.
        done : callable
            Whether what is proved is enough, after each round.
        best : float
            What they prove.

        Raises
        ------
        ModelRefusal
            If the linear programme is not solved.
        """
        for _ in range(_MOST_ROUNDS):
            checkpoint()
            if not self.solve():
                raise ModelRefusal("a linear programme over patterns of tasks was not solved")
            multipliers, added = self.multipliers, False
            for weight in (_SMOOTHING, 0.0):
                between = weight * centre + (1 - weight) * multipliers[: len(centre)]
                value, added = price(between, multipliers)
                if value > best:
                    best, centre = value, between
                if added:
                    break
            if not added or done():
                break
        return centre
