"""Random sets of malleable jobs: small, big and mixed (Caron & de Assuncao 2016, section VI).

As printed there: sizes are whole numbers of processor-minutes, each equally likely; priorities are from 1 to 20; the
times between arrivals, also before the first, are exponential with a mean of a minute, which are rounded to seconds
here; a deadline is uniform between the shortest run time that is possible, on all processors that a job can have, and
that on one processor, both counted from the arrival. Clusters are given away by the minute: the shortest run time is in
whole minutes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from ...core.errors import InputError, Issue
from ...core.quantities import MAX_SECONDS, IntArray
from ...core.wording import near_names
from .entries import MAX_PLATFORM_JOBS, MAX_PROCESSORS, SLOT_S, AllocatedCluster, Cloud, MalleableJob
from .platform import Platform

JobSetKind: TypeAlias = Literal["small", "big", "mixed"]
JOB_SETS: dict[JobSetKind, str] = {
    "small": "60 to 120 processor-minutes",
    "big": "1,000 to 2,000 processor-minutes",
    "mixed": "as many small as big ones, in random order",
}
"""Jobs of each kind of set, in words."""
_SMALL = (60, 120)
_BIG = (1000, 2000)
_PRIORITIES = (1, 20)
_MOST_BUDGET = 10**6
"""Most budget of a job for a processor-minute."""


@dataclass(frozen=True, slots=True)
class JobSet:
    """Jobs of section VI of Caron & de Assuncao 2016, drawn anew for each seed: small, big, or as many of both.

    Attributes
    ----------
    kind : {"small", "big", "mixed"}
        Which; see `JOB_SETS`.
    number : int
        How many.
    """

    kind: JobSetKind
    number: int

    def draw(self, platform: Platform, seed: int) -> tuple[MalleableJob, ...]:
        """Draw the jobs for a platform, of which only the size of its largest cluster matters."""
        return draw_malleable_jobs(self.number, self.kind, seed, max_processors=largest_cluster(platform))


def draw_malleable_jobs(
    number: int,
    kind: JobSetKind,
    seed: int,
    *,
    max_processors: int,
    mean_gap_s: float = 60,
    budget_per_processor_minute: tuple[float, float] = (1.0, 4.0),
) -> tuple[MalleableJob, ...]:
    """Draw a set of jobs as in section VI of Caron & de Assuncao 2016.

    Not printed, and ours: budgets. A job may pay a price for each of its processor-minutes that is uniform between two
    bounds; the allocated cluster of the paper costs 1, its cloud 2. In a mixed set of an odd number, one more is small.

    The jobs depend on the seed, their number and their kind, and on a platform by ``max_processors`` alone, which
    moves deadlines and nothing else. The first of a longer set are others.

    Parameters
    ----------
    number : int
        How many.
    kind : {"small", "big", "mixed"}
        See `JOB_SETS`.
    seed : int
        From 0 to 2**64 - 1.
    max_processors : int
        Most processors that a job can have at once; see `largest_cluster`.
    mean_gap_s : float
        Mean of the times between arrivals; 0 lets all arrive at once.
    budget_per_processor_minute : tuple of float
        Lowest and highest, in the unit of cost.

    Returns
    -------
    tuple of MalleableJob
        In the order of their arrival, called ``job-1`` and so on, with zeros in front.

    Raises
    ------
    InputError
        With everything that is out of range.
    """
    numbers = {"number": number, "seed": seed, "max_processors": max_processors, "mean_gap_s": mean_gap_s}
    issues = list(_range_issues(kind, numbers, *budget_per_processor_minute))
    if issues:
        raise InputError("job set", issues)
    # The kind belongs to the seed, or sets of two kinds would be made of the same numbers.
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=tuple(kind.encode())))
    sizes = _sizes(number, kind, rng)
    gaps_s = rng.exponential(mean_gap_s, number)
    priorities = rng.integers(*_PRIORITIES, number, endpoint=True)
    budgets = np.round(sizes * rng.uniform(*budget_per_processor_minute, number), 2)
    shortest_s = SLOT_S * -(-sizes // max_processors)
    # A level in [0, 1) for each, so that nothing else depends on the number of processors.
    allowed_s = shortest_s + np.floor(rng.random(number) * (SLOT_S * sizes - shortest_s + 1)).astype(np.int64)
    arrivals_s = np.rint(np.cumsum(gaps_s)).astype(np.int64)
    if arrivals_s[-1] + allowed_s.max() > MAX_SECONDS:
        rule = f"is too long for {number} jobs: times would be beyond {MAX_SECONDS} s"
        raise InputError("job set", [Issue("", rule, "mean_gap_s", mean_gap_s)])
    return _jobs(sizes, priorities, arrivals_s, arrivals_s + allowed_s, budgets)


def _jobs(*columns: npt.NDArray[Any]) -> tuple[MalleableJob, ...]:
    """Jobs of their sizes, priorities, arrivals, deadlines and budgets."""
    digits = len(str(len(columns[0])))
    names = "size_processor_minutes", "priority", "arrival_s", "deadline_s", "budget"
    return tuple(
        MalleableJob(id=f"job-{place:0{digits}}", **dict(zip(names, values, strict=True)))
        for place, values in enumerate(zip(*(column.tolist() for column in columns), strict=True), start=1)
    )


def _sizes(number: int, kind: JobSetKind, rng: np.random.Generator) -> IntArray:
    n_big = {"small": 0, "mixed": number // 2, "big": number}[kind]
    small = rng.integers(*_SMALL, number - n_big, endpoint=True)
    big = rng.integers(*_BIG, n_big, endpoint=True)
    return rng.permutation(np.concatenate([small, big]))


_RANGES = {
    "number": (1, MAX_PLATFORM_JOBS, str(MAX_PLATFORM_JOBS)),
    "seed": (0, 2**64 - 1, "2**64 - 1"),
    "max_processors": (1, MAX_PROCESSORS, str(MAX_PROCESSORS)),
    "mean_gap_s": (0, MAX_SECONDS, str(MAX_SECONDS)),
}
"""Least and most of each number, and the most in words."""


def _range_issues(kind: str, numbers: Mapping[str, float], low: float, high: float) -> Iterator[Issue]:
    if kind not in get_args(JobSetKind):
        yield Issue("", f"is no kind of a set of jobs ({near_names(str(kind), JOB_SETS)})", "kind", kind)
    for name, value in numbers.items():
        least, most, shown = _RANGES[name]
        if not least <= value <= most:
            yield Issue("", f"must be from {least} to {shown}", name, value)
    if not 0 <= low <= high <= _MOST_BUDGET:
        rule = f"must be two prices from 0 to {_MOST_BUDGET}, the lower one first; they are {low:g} and {high:g}"
        yield Issue("", rule, "budget_per_processor_minute")


def largest_cluster(platform: Platform) -> int:
    """Return the most processors that a job can ever have at once on a cluster of a platform.

    Where there is no cluster, it is those of the largest cloud machine: a cloud has as many machines as are asked for.
    """
    clouds = [resource.processors_per_vm for resource in platform.resources if isinstance(resource, Cloud)]
    clusters = [
        max(step.processors for step in resource.availability)
        if isinstance(resource, AllocatedCluster)
        else resource.processors
        for resource in platform.resources
        if not isinstance(resource, Cloud)
    ]
    return max(clusters or clouds)
