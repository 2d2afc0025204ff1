"""Statistics of independent observations: means with intervals, and p-values of several tests."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over independent observations and its 95 % confidence interval, by Student's t.

    Attributes
    ----------
    n : int
        Number of observations.
    mean : float or None
        Their mean; None if there is none.
    half_width : float or None
        The interval is ``mean`` plus and minus this; None for fewer than two observations.
    """

    n: int
    mean: float | None
    half_width: float | None

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.mean is None or self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.mean is None or self.half_width is None else self.mean + self.half_width

    def scaled(self, factor: float) -> Estimate:
        """Estimate of a multiple of the mean."""
        mean, half = (None if value is None else value * factor for value in (self.mean, self.half_width))
        return Estimate(self.n, mean, half)

    def to_dict(self) -> dict[str, float | int | None]:
        """Estimate as JSON values."""
        return {"n": self.n, "mean": self.mean, "low": self.low, "high": self.high}


def fields_of(record: Any, *without: str) -> dict[str, Any]:
    """Return the fields of a dataclass, but for some, by name; estimates as JSON values."""
    values = {entry.name: getattr(record, entry.name) for entry in fields(record) if entry.name not in without}
    return {name: value.to_dict() if isinstance(value, Estimate) else value for name, value in values.items()}


def estimate(values: Sequence[float]) -> Estimate:
    """Estimate a mean from independent observations."""
    n = len(values)
    if n == 0:
        return Estimate(0, None, None)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(1, mean, None)
    from scipy.special import stdtrit

    spread = float(np.std(values, ddof=1))
    return Estimate(n, mean, float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * spread / math.sqrt(n))


def holm_adjusted(p_values: Sequence[float], tests: int | None = None) -> list[float]:
    """Adjust p-values for the number of tests by Holm's method: a test is significant if its value is small enough.

    Parameters
    ----------
    p_values : sequence of float
        Those of the tests.
    tests : int, optional
        How many tests there are, if others besides have no p-value that could be significant.
    """
    n = len(p_values) if tests is None else tests
    adjusted, least = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min((n - rank) * p_values[place], 1.0))
        adjusted[place] = least
    return adjusted
