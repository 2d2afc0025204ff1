"""The gap between a plan and a bound, when it is closed, and what floating-point arithmetic may do to bounds.

A bound is a sum of products with terms of both signs. Where they cancel, its rounding error is as large as if they did
not: relative to the size of the terms, not to what is left of them, which can be 0. So a bound is lowered by that
before anybody sees it (`rounded_down`), and is then one of exact arithmetic.

The cost, makespan and objective of a plan are sums of terms that are not negative, none of which is larger than the
sum: their rounding error is relative to themselves, and so are the tolerances with which bounds are compared with them.
"""

from __future__ import annotations

import math

OPTIMALITY_TOLERANCE = 1e-9
"""Relative gap below which a plan counts as optimal."""

ROUNDING = 1e-13
"""Rounding error of a sum, relative to the size of its terms: 900 times the 2^-53 of one operation. A term is a product
of a few numbers, and numpy adds terms up in pairs: no term takes part in more than some 60 operations, or in as many as
there are offers, of which a dot product may add up one after the other."""

STEPWISE_ROUNDING = 1e-12
"""Rounding error of a sum whose terms are added and taken away one after the other, relative to their size."""

NEARLY = 1e-6
"""Relative difference that is not worth going on for: above what solvers leave open, below what is seen of a gap."""

SAME_COST = 4 * OPTIMALITY_TOLERANCE
"""Relative difference up to which costs count as the same."""

_LAST_DIGIT = 1e-6
"""Some bounds leave just as much for rounding as the tolerance is: the last digit of an objective decides nothing."""


def closes_gap(objective: float, bound: float, target_gap: float = 0.0) -> bool:
    """True if a bound proves a plan good enough: optimal, or within a target gap."""
    gap = relative_gap(objective, bound)
    return gap is not None and gap <= max(target_gap, OPTIMALITY_TOLERANCE) * (1 + _LAST_DIGIT)


def relative_gap(objective: float | None, bound: float | None) -> float | None:
    """Gap between the objective of a plan and a lower bound, relative to the objective; None without one of them."""
    if objective is None or bound is None or math.isinf(objective):
        return None
    # Nothing is less than 0, which a plan has whose machines are paid already.
    return 0.0 if objective in (bound, 0) else (objective - bound) / abs(objective)


def rounded_down(value: float, size: float) -> float:
    """Return a number that is not above the exact value of a sum.

    Parameters
    ----------
    value : float
        The sum in floating-point numbers.
    size : float
        Sum of the absolute values of its terms.
    """
    return value - ROUNDING * size


def at_most(objective: float) -> float:
    """Return the largest value that is no more than an objective, but for rounding; a bound above it refutes that."""
    return objective * (1 + OPTIMALITY_TOLERANCE)


def whole_seconds(bound_s: float) -> float:
    """Return the least whole number of seconds that a bound of a makespan leaves; the bound if it is infinite."""
    return bound_s if math.isinf(bound_s) else float(math.ceil(bound_s * (1 - OPTIMALITY_TOLERANCE)))
