"""Tolerances, each with its reason: when a gap is closed, and what floating-point arithmetic may do to values.

A bound is a sum of products with terms of both signs. Where they cancel, its rounding error is as large as if they did
not: relative to the size of the terms, not to what is left of them, which can be 0. So a bound is lowered by that
before anybody sees it (`rounded_down`), and is then one of exact arithmetic.

The cost, makespan and objective of a plan are sums of terms that are not negative, none of which is larger than the
sum: their rounding error is relative to themselves, and so are the tolerances with which bounds are compared with them.

The checker of plans and the auditor have tolerances of their own: they share nothing with what they judge.
"""

from __future__ import annotations

import math

EXCESS = 1e-12
"""Part of a value by which it may exceed a whole number and is still rounded down to it: several thousand roundings,
each of 2^-53 of the value, and less than the digits that a document states."""

NOISE = 1e-9
"""Difference in seconds, VMs or shares that is dropped before values are compared, or rounded to whole numbers: sums of
up to 10^6 s have an error of some 1e-10 s."""

STATED = 1e-6
"""Excess over a whole number of seconds or intervals that is dropped where others measured and wrote the times, as in
states and traces: to a microsecond."""

LEAST_DUMP_S = 1e-6
"""A checkpoint that is written in less takes no time: a microsecond is the shortest run time in a document."""

SAME = 1e-9
"""Relative difference up to which two costs or times are the same: a sum in another order differs by less."""

REORDERED = 1e-12
"""Relative difference of two sums of the same few thousand terms in another order."""

SOLVED = 1e-6
"""Excess of a bound over a whole number of seconds that may come of the tolerance of the solver which found it."""

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
