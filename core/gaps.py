"""The gap between a plan and a bound, and when it is closed."""

from __future__ import annotations

import math

OPTIMALITY_TOLERANCE = 1e-9
"""Relative gap below which a plan counts as optimal."""

_LAST_DIGIT = 1e-6
"""Some bounds leave just as much for rounding as the tolerance is: the last digit of an objective decides nothing."""


def closes_gap(objective: float, bound: float, target_gap: float = 0.0) -> bool:
    """Whether a bound proves a plan good enough: optimal, or within a target gap."""
    gap = relative_gap(objective, bound)
    return gap is not None and gap <= max(target_gap, OPTIMALITY_TOLERANCE) * (1 + _LAST_DIGIT)


def relative_gap(objective: float | None, bound: float | None) -> float | None:
    """Gap between the objective of a plan and a lower bound, relative to the objective; None without one of them."""
    if objective is None or bound is None or math.isinf(objective):
        return None
    # Nothing is less than 0, which a plan has whose machines are paid already.
    return 0.0 if objective in (bound, 0) else (objective - bound) / abs(objective)
