"""Facts of the document of a hybrid platform for the auditor: numbers exactly as they are written."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, TypeAlias

from ...instances.platforms.platform import Platform
from ..facts import exact

MINUTE_S = 60
NOISE = Fraction(1, 10**9)
"""A part of an amount of money below this is arithmetic noise."""


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """A job; ``place`` is its place in the order of arrival."""

    id: str
    place: int
    size: int
    priority: int
    arrival_s: int
    deadline_s: int
    budget: Fraction


@dataclass(frozen=True)
class ClusterFacts:
    """A cluster: from which minute on it has how many processors, and after how many minutes that begins again."""

    id: str
    cost_per_processor_minute: Fraction
    from_minute: tuple[int, ...]
    processors: tuple[int, ...]
    repeat: int | None = None

    @cached_property
    def work_per_repetition(self) -> int:
        """Processor-minutes of the steps together, if they are repeated."""
        assert self.repeat is not None
        ends = [*self.from_minute[1:], self.repeat]
        return sum((end - start) * n for start, end, n in zip(self.from_minute, ends, self.processors, strict=True))

    def stretch(self, minute: int) -> tuple[int, int | None]:
        """Processors in a minute, and the minute of their next change; None if there is none."""
        began = 0 if self.repeat is None else minute - minute % self.repeat
        step = bisect_right(self.from_minute, minute - began)
        if step < len(self.from_minute):
            return self.processors[step - 1], began + self.from_minute[step]
        return self.processors[step - 1], None if self.repeat is None else began + self.repeat


@dataclass(frozen=True, slots=True)
class CloudFacts:
    """A cloud of machines."""

    id: str
    processors: int
    cost_per_hour: Fraction


ResourceFacts: TypeAlias = ClusterFacts | CloudFacts


class PlatformFacts:
    """The document of a hybrid platform.

    Parameters
    ----------
    document : mapping
        Of the format ``spotbag.platform/1``.

    Raises
    ------
    InputError
        If it is not a valid platform.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        Platform.parse_document(document, "platform of the trace")
        self.resources = {entry["id"]: _resource_facts(entry) for entry in document["resources"]}
        arriving = sorted(document.get("jobs", ()), key=lambda entry: int(entry.get("arrival_s", 0)))
        self.jobs = {entry["id"]: _job_facts(entry, place) for place, entry in enumerate(arriving)}


def _job_facts(entry: Mapping[str, Any], place: int) -> StreamFacts:
    return StreamFacts(
        id=entry["id"],
        place=place,
        size=int(entry["size_processor_minutes"]),
        priority=int(entry.get("priority", 0)),
        arrival_s=int(entry.get("arrival_s", 0)),
        deadline_s=int(entry["deadline_s"]),
        budget=exact(entry["budget"]),
    )


def _resource_facts(entry: Mapping[str, Any]) -> ResourceFacts:
    name, kind = entry["id"], entry["kind"]
    if kind == "cloud":
        processors = int(entry.get("processors_per_vm", 8))
        return CloudFacts(name, processors, exact(entry.get("cost_per_vm_hour", 960)))
    if kind == "dedicated":
        return ClusterFacts(name, Fraction(0), (0,), (int(entry["processors"]),))
    repeat_s = entry.get("repeat_s")
    return ClusterFacts(
        id=name,
        cost_per_processor_minute=exact(entry.get("cost_per_processor_minute", 1)),
        from_minute=tuple(int(step["from_s"]) // MINUTE_S for step in entry["availability"]),
        processors=tuple(int(step["processors"]) for step in entry["availability"]),
        repeat=None if repeat_s is None else int(repeat_s) // MINUTE_S,
    )
