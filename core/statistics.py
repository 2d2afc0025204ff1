"""Statistics of independent observations: means with intervals, p-values of several tests, races for the least mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .limits import LimitReached
from .quantities import FloatArray

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


# ------------------------------------------------------------------------------------------------------------ races

FIRST_SAMPLES = 32
"""Samples of each before any is left out."""
_AT_A_TIME = 8
"""Samples of each that are drawn together: a limit costs no more than these."""
_ERROR = 0.05


def race(
    sample: Callable[[Sequence[int], range], Sequence[Sequence[float]]], n_candidates: int, most: int
) -> list[FloatArray]:
    """Sample candidates side by side, and leave out those that are shown to have a greater mean than another.

    Parameters
    ----------
    sample : callable
        From some candidates, and numbers of samples, to the values of each at these. Sample k is drawn for all
        candidates with the same random numbers. If it raises `LimitReached`, the race is over.
    n_candidates : int
        Number of candidates.
    most : int
        Most samples of each.

    Returns
    -------
    list of array
        The values of each candidate, fewer of those that were left out. The race also ends when one is left. Of the
        candidates with the most samples, the best is the one of the least mean.

    Notes
    -----
    After 32 samples, and whenever their number has doubled, each candidate is compared with the one of the least mean
    so far, by Student's t test of the paired differences. A candidate is left out if its mean is greater at a level of
    5 % over all comparisons of the race together (Bonferroni): a race of Maron and Moore [1]_ with the test of
    Birattari et al. [2]_. The test sees nothing of what is rarer than the samples are many. So one more difference
    counts among those of each pair, as much in favour of the candidate as any two values of the race lie apart.

    References
    ----------
    .. [1] O. Maron, A. W. Moore: Hoeffding races: accelerating model selection search for classification and function
       approximation. NIPS 1993.
    .. [2] M. Birattari, T. Stützle, L. Paquete, K. Varrentrapp: A racing algorithm for configuring metaheuristics.
       GECCO 2002.
    """
    values: list[list[float]] = [[] for _ in range(n_candidates)]
    running = list(range(n_candidates))
    ends = _stage_ends(most)
    # The level is shared among all comparisons of the race (Bonferroni).
    level = _ERROR / max(len(ends) * (n_candidates - 1), 1)
    begin = 0
    for end in ends:
        if len(running) == 1 and begin:
            break
        try:
            for first in range(begin, end, _AT_A_TIME):
                rows = sample(running, range(first, min(first + _AT_A_TIME, end)))
                # Rows are added only when all candidates have theirs: each k-th value is of the same random numbers.
                for candidate, row in zip(running, rows, strict=True):
                    values[candidate] += row
        except LimitReached:
            break
        begin = end
        if end < most:
            running = _still_running({candidate: np.array(values[candidate]) for candidate in running}, level)
    return [np.array(row) for row in values]


def _stage_ends(most: int) -> list[int]:
    """Numbers of samples after which candidates are compared."""
    ends = [FIRST_SAMPLES]
    while ends[-1] < most:
        ends.append(2 * ends[-1])
    return [*ends[:-1], most]


def _still_running(values: dict[int, FloatArray], level: float) -> list[int]:
    """Return the candidates that are not shown to have a greater mean than the one of the least."""
    leader = min(values, key=lambda candidate: float(values[candidate].mean()))
    apart = max(float(row.max()) for row in values.values()) - min(float(row.min()) for row in values.values())
    return [
        candidate
        for candidate, row in values.items()
        if candidate == leader or not _greater(row - values[leader], apart, level)
    ]


def _greater(differences: FloatArray, apart: float, level: float) -> bool:
    """True if a t test shows the mean of paired differences to be above 0, with one contrary difference added."""
    from scipy.special import stdtr

    all_of_them = np.append(differences, -apart)
    n, mean, spread = len(all_of_them), float(all_of_them.mean()), float(all_of_them.std(ddof=1))
    if not mean > 0:
        return False
    return spread == 0 or float(stdtr(n - 1, -mean / (spread / math.sqrt(n)))) < level
