"""Distributions of the run times of an application's tasks on a VM type."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import BeforeValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from ...core.errors import Issue, show_value
from ...core.quantities import TICKS_PER_S, FloatArray, as_written, exact_seconds
from ...core.records import Record

LONGEST_RUN_S = 10**8
"""No task of a job runs longer: what is drawn beyond is cut off."""
SHORTEST_RUN_S = 1 / TICKS_PER_S
MAX_SAMPLES = 100_000

RunSeconds: TypeAlias = Annotated[float, Field(ge=SHORTEST_RUN_S, le=LONGEST_RUN_S)]


class ConstantRunTimes(Record):
    """Run time common to all tasks.

    Attributes
    ----------
    value_s : float
        How long.
    """

    distribution: Literal["constant"]
    value_s: RunSeconds
    ticks_per_s: ClassVar[int] = TICKS_PER_S

    @property
    def average_s(self) -> Fraction:
        """Exact mean of the distribution."""
        return _average_s([self.value_s])

    def quantiles_s(self, levels: FloatArray) -> FloatArray:
        """Run time at each level in [0, 1)."""
        return np.full(len(levels), self.value_s)


class UniformRunTimes(Record):
    """Every run time between two bounds is equally likely.

    Attributes
    ----------
    low_s, high_s : float
        The bounds.
    """

    distribution: Literal["uniform"]
    low_s: RunSeconds
    high_s: RunSeconds

    def issues_between_fields(self) -> list[Issue]:
        """Fault of bounds in the wrong order."""
        if self.low_s <= self.high_s:
            return []
        return [Issue("", f"is above high_s ({self.high_s:g})", "low_s", self.low_s)]

    @cached_property
    def ticks_per_s(self) -> int:
        """Fineness of what is drawn."""
        return _ticks_of_symmetric(self.average_s, self.low_s)

    @property
    def average_s(self) -> Fraction:
        """Exact mean of the distribution."""
        return (as_written(self.low_s) + as_written(self.high_s)) / 2

    def quantiles_s(self, levels: FloatArray) -> FloatArray:
        """Run time at each level in [0, 1)."""
        return self.low_s + levels * (self.high_s - self.low_s)


class NormalRunTimes(Record):
    """Normal distribution, cut off at the same distance below and above its mean, which so stays the mean.

    Attributes
    ----------
    mean_s : float
        The mean.
    sd_s : float
        Standard deviation before the distribution is cut off.
    min_s : float, optional
        Shortest run time; a tenth of the mean if absent. The longest is ``2 * mean_s - min_s``.
    """

    distribution: Literal["normal"]
    mean_s: RunSeconds
    sd_s: RunSeconds
    min_s: RunSeconds | None = None

    def issues_between_fields(self) -> list[Issue]:
        """Fault of a least run time above the mean."""
        if self.min_s is None or self.min_s <= self.mean_s:
            return []
        return [Issue("", f"is above mean_s ({self.mean_s:g})", "min_s", self.min_s)]

    @cached_property
    def ticks_per_s(self) -> int:
        """Fineness of what is drawn."""
        return _ticks_of_symmetric(self.average_s, self.shortest_s)

    @property
    def shortest_s(self) -> float:
        """Shortest run time."""
        return self.mean_s / 10 if self.min_s is None else self.min_s

    @property
    def average_s(self) -> Fraction:
        """Exact mean of the distribution."""
        return as_written(self.mean_s)

    def quantiles_s(self, levels: FloatArray) -> FloatArray:
        """Run time at each level in [0, 1)."""
        from scipy.special import ndtr, ndtri

        cut_off = float(ndtr((self.shortest_s - self.mean_s) / self.sd_s))
        deviations: FloatArray = ndtri(cut_off + levels * (1 - 2 * cut_off))
        return np.clip(self.mean_s + self.sd_s * deviations, self.shortest_s, 2 * self.mean_s - self.shortest_s)


class LognormalRunTimes(Record):
    """Lognormal distribution: few tasks take many times as long as most.

    Attributes
    ----------
    mean_s, sd_s : float
        Mean and standard deviation of the run times (not of their logarithms).
    """

    distribution: Literal["lognormal"]
    mean_s: RunSeconds
    sd_s: RunSeconds
    ticks_per_s: ClassVar[int] = TICKS_PER_S

    @property
    def average_s(self) -> Fraction:
        """Exact mean of the distribution."""
        return as_written(self.mean_s)

    def quantiles_s(self, levels: FloatArray) -> FloatArray:
        """Run time at each level in [0, 1)."""
        from scipy.special import ndtri

        variance = math.log1p((self.sd_s / self.mean_s) ** 2)
        deviations: FloatArray = ndtri(levels)
        return np.exp(math.log(self.mean_s) - variance / 2 + math.sqrt(variance) * deviations)


class SampledRunTimes(Record):
    """Run times that were measured; each is equally likely.

    Attributes
    ----------
    samples_s : tuple of float
        In any order.
    """

    samples_s: Annotated[tuple[RunSeconds, ...], Field(strict=False, min_length=1, max_length=MAX_SAMPLES)]
    ticks_per_s: ClassVar[int] = TICKS_PER_S

    @property
    def average_s(self) -> Fraction:
        """Exact mean of the samples."""
        return _average_s(self.samples_s)

    def quantiles_s(self, levels: FloatArray) -> FloatArray:
        """Run time at each level in [0, 1)."""
        samples = np.sort(np.array(self.samples_s))
        return samples[(levels * len(samples)).astype(np.int64)]


class SequenceRunTimes(Record):
    """Run times of the tasks of a job, one by one: the first task takes the first, and so on, whatever the seed.

    Attributes
    ----------
    sequence_s : tuple of float
        At least as many as any job has tasks that takes them.
    """

    sequence_s: Annotated[tuple[RunSeconds, ...], Field(strict=False, min_length=1, max_length=MAX_SAMPLES)]
    ticks_per_s: ClassVar[int] = TICKS_PER_S

    @property
    def average_s(self) -> Fraction:
        """Exact mean of all of them, also of those that a job with fewer tasks does not take."""
        return _average_s(self.sequence_s)

    def quantiles_s(self, levels: FloatArray) -> FloatArray:
        """Run time of each task; the levels do not matter."""
        return np.array(self.sequence_s[: len(levels)])


_RECORD_OF = {
    "constant": "ConstantRunTimes",
    "uniform": "UniformRunTimes",
    "normal": "NormalRunTimes",
    "lognormal": "LognormalRunTimes",
}
_RECORD_WITH = {"samples_s": "SampledRunTimes", "sequence_s": "SequenceRunTimes"}


def _record_of(value: Any) -> str | None:
    """Name of the record that run times are, by what they give; None if it cannot be told."""
    # A record that is handed over was validated before.
    if isinstance(value, Record):
        return type(value).__name__
    if not isinstance(value, Mapping):
        return None
    if "distribution" in value:
        name = value["distribution"]
        return _RECORD_OF.get(name) if isinstance(name, str) else None
    return next((name for key, name in _RECORD_WITH.items() if key in value), None)


def _one_kind(value: Any) -> Any:
    """Refuse run times that give several kinds of them, or none that is known, and say what is near."""
    if not isinstance(value, Mapping):
        return value
    kinds = ("distribution", *_RECORD_WITH)
    given = [key for key in kinds if key in value]
    if len(given) > 1:
        message = f"has {' and '.join(given)}: give one of them"
    elif given:
        name = value[given[0]]
        if given[0] != "distribution" or not isinstance(name, str) or name in _RECORD_OF:
            return value
        message = f"has a distribution {show_value(name)} that is unknown; there are {', '.join(_RECORD_OF)}"
    else:
        near = [(key, kind) for key in value for kind in difflib.get_close_matches(str(key)[:100], kinds, n=1)]
        if not near:
            return value
        message = f"has an unknown key {show_value(near[0][0])} (did you mean {near[0][1]!r}?)"
    raise PydanticCustomError("run_times", "{message}", {"message": message})


# The tags are the names of the records: `json_documents` finds the keys that a record knows by them.
RunTimes: TypeAlias = Annotated[
    Annotated[ConstantRunTimes, Tag("ConstantRunTimes")]
    | Annotated[UniformRunTimes, Tag("UniformRunTimes")]
    | Annotated[NormalRunTimes, Tag("NormalRunTimes")]
    | Annotated[LognormalRunTimes, Tag("LognormalRunTimes")]
    | Annotated[SampledRunTimes, Tag("SampledRunTimes")]
    | Annotated[SequenceRunTimes, Tag("SequenceRunTimes")],
    Discriminator(
        _record_of,
        custom_error_type="run_times",
        custom_error_message="must have a distribution ('constant', 'uniform', 'normal' or 'lognormal'), samples_s or "
        "sequence_s",
    ),
    BeforeValidator(_one_kind),
]


def is_the_same_for_all_seeds(run_times: RunTimes) -> bool:
    """True if the run times do not depend on the seed: nothing is drawn."""
    return isinstance(run_times, ConstantRunTimes | SequenceRunTimes)


def _average_s(seconds: Sequence[float]) -> Fraction:
    """Exact mean of run times that tasks take as they are listed, to the microsecond."""
    return Fraction(sum(map(exact_seconds, seconds))) / len(seconds)


def _ticks_of_symmetric(average_s: Fraction, shortest_s: float) -> int:
    """Fineness of what is drawn from a symmetric distribution: whole seconds if their average is that of it.

    That is so if they are symmetric themselves, about a whole or a half second, and none of them is 0.
    """
    return 1 if (2 * average_s).denominator == 1 and shortest_s >= 0.5 else TICKS_PER_S


def sampled_seconds(run_times: RunTimes, levels: Sequence[FloatArray]) -> list[int] | list[float]:
    """Run times at the levels of the tasks of each job, one after the other; whole numbers if all are whole.

    Rounded to the nearest microsecond, or second where that leaves the average of the distribution, which schedulers
    may know, as it is; halves up.
    """
    if isinstance(run_times, SequenceRunTimes):  # each job begins anew
        seconds_of_all = np.concatenate([run_times.quantiles_s(of_job) for of_job in levels])
    else:
        seconds_of_all = run_times.quantiles_s(np.concatenate(levels))
    ticks_per_s = run_times.ticks_per_s
    ticks = np.floor(np.minimum(seconds_of_all, LONGEST_RUN_S) * ticks_per_s + 0.5).astype(np.int64)
    # What rounds to 0 takes the shortest run time that a document may state.
    ticks = np.maximum(ticks, 1)
    whole = not (ticks % ticks_per_s).any()
    seconds: list[int] | list[float] = (ticks // ticks_per_s if whole else ticks / ticks_per_s).tolist()
    return seconds
