"""Hybrid platforms as files: JSON of the format ``spotbag.platform/1``, the library, jobs that arrive."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from ...core.quantities import exact_seconds
from ..library import load
from .entries import SLOT_S
from .platform import Platform

if TYPE_CHECKING:
    from ..arrivals import Arrival, Deadlines


def read_platform(path: str | os.PathLike[str]) -> Platform:
    """Read a hybrid platform from a JSON file, or from standard input for ``-``.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    return Platform.read(path)


def write_platform(platform: Platform, path: str | os.PathLike[str]) -> None:
    """Write a hybrid platform as a JSON file; reading it gives the same platform.

    Raises
    ------
    SpotbagError
        If the file cannot be written.
    """
    platform.write(path)


def library_platform(name: str) -> Platform:
    """Load a hybrid platform of the library by its name.

    Raises
    ------
    InputError
        If there is none of that name; close names are suggested.
    """
    return load(Platform, name)


def platform_of_arrivals(
    arrivals: Sequence[Arrival],
    deadlines: Deadlines,
    resources: Platform,
    *,
    budget_per_minute: float,
    name: str,
    source: str,
) -> Platform:
    """Make a platform of the agents and resources of another, and of jobs whose work is all that their tasks run for.

    Parameters
    ----------
    arrivals, deadlines
        The jobs, and the deadlines of those whose file has none.
    resources : Platform
        With the agents and resources.
    budget_per_minute : float
        What a job whose file does not say it may cost for each processor-minute.
    name, source : str
        Of the platform, and of the file in messages.

    Raises
    ------
    InputError
        With everything that is wrong, by the lines of the file.
    """
    from ..arrivals import places_of, since_first  # here, since most streams and platforms come from no table

    jobs = []
    for arrival, at_s, due_s in since_first(arrivals, deadlines):
        # Work is counted in whole processor-minutes, at least one.
        size = max(math.ceil(Fraction(exact_seconds(arrival.runtime_s) * arrival.count) / SLOT_S), 1)
        budget = size * budget_per_minute if arrival.budget is None else arrival.budget
        jobs.append(
            {
                "id": arrival.id,
                "size_processor_minutes": size,
                "priority": arrival.priority,
                "arrival_s": at_s,
                "deadline_s": due_s,
                "budget": budget,
            }
        )
    document = resources.to_document() | {"name": name, "jobs": jobs}
    document.pop("provenance", None)
    document.pop("description", None)
    with places_of({"jobs": [arrival.line for arrival in arrivals]}, source):
        return Platform.from_document(document, source)
