"""Malleable jobs of one's own on a platform: made of what a table or a log says of their arrivals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from ...core.quantities import exact_seconds
from ..arrivals import Arrival, Deadlines, places_of, since_first
from .entries import SLOT_S
from .platform import Platform


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
    jobs = []
    for arrival, at_s, due_s in since_first(arrivals, deadlines):
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
