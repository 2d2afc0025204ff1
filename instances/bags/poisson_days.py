"""Days on which the spot VMs of each type hibernate and resume at random (HADS, sections 5.2.1 and 5.2.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...core.errors import InputError, Issue
from ...core.quantities import whole
from .day_draws import exponential_numbers, horizon_s, sampled_timeline, spot_types
from .timeline import Timeline

if TYPE_CHECKING:
    from ...core.quantities import FloatArray, IntArray
    from ..entries import CloudName
    from ..instance import Instance

_MOST_EVENTS_PER_DEADLINE = 10_000
_LONGEST_MEAN_S = 1e30


@dataclass(frozen=True, slots=True)
class PoissonScenario:
    """Each spot type is up and down in turn, for exponential times (an alternating renewal process).

    All spot VMs of a type are up for Exp(lambda_h) from the readiness of the first VMs on, down for Exp(lambda_r), up
    for Exp(lambda_h), and so on, with ``lambda = rate_scale * k / deadline``: HADS, section 5.2.2. Types are
    independent of each other. With k_r = 0 they never resume.

    Attributes
    ----------
    name : str
        E.g. ``hads/sc1``.
    k_h, k_r : float
        Hibernations, and resumes, to be expected within a deadline of being up, and of being down.
    rate_scale : float
        Multiplies both.
    cloud : str, optional
        Whose rules hold; see `spotbag.instances.clouds`.

    Raises
    ------
    InputError
        If a number is negative, not finite or too large.

    Notes
    -----
    A day depends on the seed, its number, the three parameters, the deadline, the boot overhead and the position of
    each VM type in the catalogue, and on nothing else: not on the other types, not on how many days are drawn, not on
    what policies do. Days of scenarios with other parameters come from the same random numbers, so that their
    differences are due to the parameters.
    """

    name: str
    k_h: float
    k_r: float
    rate_scale: float = 1.0
    cloud: CloudName | None = None

    def __post_init__(self) -> None:
        issues = []
        for field in ("k_h", "k_r", "rate_scale"):
            value = getattr(self, field)
            if not 0 <= value < float("inf"):
                issues.append(Issue("", "must be a finite number, 0 or more", field, value))
            elif field != "rate_scale" and value * self.rate_scale > _MOST_EVENTS_PER_DEADLINE:
                rule = f"times rate_scale must be at most {_MOST_EVENTS_PER_DEADLINE} events per deadline"
                issues.append(Issue("", rule, field, value))
        if issues:
            raise InputError(self.name, issues)

    @property
    def fixed(self) -> bool:
        """Without hibernations every day is the same."""
        return self.k_h * self.rate_scale == 0

    @property
    def law(self) -> Mapping[str, float | None]:
        """Rates for policies that ask for them: interruptions and resumes of a type for each deadline."""
        return {
            "type_interruptions_per_deadline": self.rate_scale * self.k_h,
            "type_resumes_per_deadline": self.rate_scale * self.k_r,
        }

    def day(self, instance: Instance, seed: int, day: int) -> Timeline:
        """Draw a day; see `Scenario.day`."""
        types = spot_types(instance)
        name = f"{self.name}, seed {seed}, day {day}"
        start_s, end_s = instance.boot_overhead_s, horizon_s(instance)
        exponential = partial(exponential_numbers, seed, day, [index for index, _ in types])
        hibernate_rate, resume_rate = self.rate_scale * self.k_h, self.rate_scale * self.k_r

        if not types or hibernate_rate == 0 or start_s >= end_s:
            return Timeline((), name)
        mean_up_s = min(instance.deadline_s / hibernate_rate, _LONGEST_MEAN_S)
        if resume_rate == 0:
            exact_s = start_s + mean_up_s * exponential(1)
        else:
            mean_down_s = min(instance.deadline_s / resume_rate, _LONGEST_MEAN_S)
            exact_s = alternating(exponential, start_s, mean_up_s, mean_down_s, end_s)
        moments_s, counts = whole_moments(exact_s, end_s, resume_rate > 0)
        columns = np.arange(moments_s.shape[1])
        meanings = 2 * np.arange(len(types))[:, None] + columns % 2
        counted = columns < counts[:, None]
        return sampled_timeline(name, [type_name for _, type_name in types], moments_s[counted], meanings[counted])


def alternating(
    exponential: Callable[[int], FloatArray], start_s: int, mean_up_s: float, mean_down_s: float, end_s: int
) -> FloatArray:
    """Ends of the times up and down in turn, until all are after the end, shape (n_types, enough)."""
    # A few more than are likely to be needed: twice as many are drawn where these do not do.
    cycles = 8 + int(1.3 * (end_s - start_s) / (mean_up_s + mean_down_s))
    while True:
        lengths_s = exponential(2 * cycles)
        lengths_s[:, ::2] *= mean_up_s
        lengths_s[:, 1::2] *= mean_down_s
        moments_s: FloatArray = start_s + np.cumsum(lengths_s, axis=1)
        if moments_s[:, -1].min() >= end_s:
            return moments_s
        cycles *= 2


def whole_moments(exact_s: FloatArray, end_s: int, resumes: bool) -> tuple[IntArray, IntArray]:
    """Round moments up to different seconds; return them and, for each type, how many count.

    Those before the end do; where the last of them is a hibernation, and there are resumes, one at the end is added.
    """
    moments_s = whole(np.minimum(exact_s, end_s))
    # Rounding may bring two moments into one second: then the later one goes into the next.
    steps = np.arange(moments_s.shape[1])
    moments_s = np.maximum.accumulate(moments_s - steps, axis=1) + steps
    counts = np.count_nonzero(moments_s < end_s, axis=1)
    if resumes:
        down = np.flatnonzero(counts % 2)
        moments_s[down, counts[down]] = end_s  # there is such a column: the last moment is not before the end
        counts[down] += 1
    return moments_s, counts
