"""Objectives of solvers that count in integers only."""

from __future__ import annotations

import math

_LARGEST_OBJECTIVE = 2**50
_LARGEST_COEFFICIENT = 2**40


def integer_costs(costs: list[float], largest_value: float) -> tuple[list[int], float]:
    """Costs as integers, rounded down, and the factor they were multiplied by.

    Rounded down, they keep every bound of the integer objective a bound of the true one: variables are not negative.

    Parameters
    ----------
    costs : list of float
        Nonnegative.
    largest_value : float
        An upper limit of the objectives that matter.
    """
    highest = max((abs(cost) for cost in costs), default=0.0) or 1.0
    factor = min(_LARGEST_COEFFICIENT / highest, _LARGEST_OBJECTIVE / largest_value if largest_value > 0 else math.inf)
    # A power of two changes no digit of a cost.
    factor = 2.0 ** math.floor(math.log2(factor))
    return [math.floor(cost * factor) for cost in costs], factor
