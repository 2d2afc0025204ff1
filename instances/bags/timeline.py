"""Reading and writing days: JSON of the format ``spotbag.timeline/1``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from ...core.errors import InputError, Issue
from ...core.json_documents import check_format, format_json, parse_json
from ...core.quantities import Name
from ...core.records import INTEGRAL, Record, refuse_nonsense, validate_record
from ...core.text_files import read_text, source_name, write_text

TIMELINE_FORMAT: Literal["spotbag.timeline/1"] = "spotbag.timeline/1"
_MOST_EVENTS = 10_000_000


class EventEntry(Record):
    """An event of a day.

    Attributes
    ----------
    time_s : int
        When, in whole seconds from the start of the application.
    type : str
        Name of the VM type, all of whose spot VMs it is about.
    event : {"hibernate", "resume"}
        What happens to them; for each type in turn, the first a hibernation.
    """

    time_s: Annotated[int, Field(ge=0, le=2**53), INTEGRAL]
    type: Name
    event: Literal["hibernate", "resume"]


class TimelineDocument(Record):
    """A day as written in a file.

    Attributes
    ----------
    name : str, optional
        What it is called.
    events : tuple of EventEntry
        In any order.
    """

    format: Literal["spotbag.timeline/1"] = TIMELINE_FORMAT
    name: Name = "a day by hand"
    events: Annotated[tuple[EventEntry, ...], Field(strict=False)]


def read_timeline(path: str | os.PathLike[str]) -> Timeline:
    """Read a day from a JSON file, or from standard input for ``-``.

    Raises
    ------
    InputError
        With everything that is wrong in it. Whether an instance has its VM types is for `ScriptedScenario`.
    """
    return parse_timeline(read_text(path), source_name(path))


def parse_timeline(text: str, source: str = "timeline") -> Timeline:
    """Read a day from a JSON text; ``source`` names it in messages.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    return timeline_of_document(parse_json(text, source), source)


def timeline_of_document(document: Mapping[str, Any], source: str = "timeline") -> Timeline:
    """Make a timeline of a parsed JSON document; ``source`` names it in messages.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    check_format(document, TIMELINE_FORMAT, source)
    refuse_nonsense(document, source, _MOST_EVENTS, events=EventEntry)
    record = validate_record(TimelineDocument, document, source)
    places = sorted(range(len(record.events)), key=lambda place: record.events[place].time_s)
    entries = [record.events[place] for place in places]
    events = tuple(TimelineEvent(entry.time_s, entry.type, entry.event) for entry in entries)
    issues = event_issues(events, places)
    if issues:
        raise InputError(source, issues)
    return Timeline(events, record.name)


def write_timeline(timeline: Timeline, path: str | os.PathLike[str]) -> None:
    """Write a day as a JSON file; reading it gives the same day.

    Raises
    ------
    InputError
        If the name of the day, or of a type, cannot stand in a file.
    SpotbagError
        If the file cannot be written.
    """
    write_text(path, format_timeline(timeline))


def format_timeline(timeline: Timeline) -> str:
    """Return a day as a JSON text; reading it gives the same day."""
    events = event_documents(timeline)
    # Whatever is written can be read.
    record = validate_record(
        TimelineDocument, {"format": TIMELINE_FORMAT, "name": timeline.name, "events": events}, "timeline"
    )
    return format_json(record.model_dump(mode="json"))


def event_documents(timeline: Timeline) -> list[dict[str, Any]]:
    """Return the events of a day as they stand in files: ``{"time_s": 600, "type": "c3.large", "event": "resume"}``."""
    return [{"time_s": event.time_s, "type": event.vm_type, "event": event.kind} for event in timeline.events]


def timeline_schema() -> str:
    """JSON Schema of ``spotbag.timeline/1``, as shipped with the package."""
    return resources.files(__package__).joinpath("timeline.schema.json").read_text(encoding="utf-8")


EventKind: TypeAlias = Literal["hibernate", "resume"]


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """All spot VMs of a type hibernate, or resume, together (HADS, section 5.2.1).

    Attributes
    ----------
    time_s : int
        When, from the start of the application.
    vm_type : str
        Name of the VM type.
    kind : {"hibernate", "resume"}
        What happens to them.
    """

    time_s: int
    vm_type: str
    kind: EventKind


@dataclass(frozen=True, slots=True)
class Timeline:
    """The events of a day, known before the replay: every policy meets the same day.

    Attributes
    ----------
    events : tuple of TimelineEvent
        By time, for each type hibernate and resume in turn, the first a hibernation.
    name : str
        Where it comes from.

    Raises
    ------
    InputError
        If a time is no whole number of seconds from 0 on, if the events do not go by time, or if those of a type do
        not alternate at different times; with all that is wrong.
    """

    events: tuple[TimelineEvent, ...] = ()
    name: str = "quiet"

    def __post_init__(self) -> None:
        issues = event_issues(self.events)
        if issues:
            raise InputError(f"timeline {self.name!r}", issues)


def event_issues(events: Sequence[TimelineEvent], places: Sequence[int] | None = None) -> list[Issue]:
    """Say what is wrong with the events of a day.

    Parameters
    ----------
    events : sequence of TimelineEvent
        Should go by time.
    places : sequence of int, optional
        Where each stands in its document; as they come if absent.
    """
    issues: list[Issue] = []
    now = 0
    last_of: dict[str, tuple[int, int, EventKind]] = {}
    for index, event in enumerate(events):
        time_s, vm_type, kind = event.time_s, event.vm_type, event.kind
        place = index if places is None else places[index]
        where = f"events[{place}]"
        if type(time_s) is not int or time_s < 0:
            issues.append(Issue(where, "must be a whole number of seconds, 0 or more", "time_s", time_s))
            continue
        if kind not in ("hibernate", "resume"):
            issues.append(Issue(where, "must be 'hibernate' or 'resume'", "event", kind))
            continue
        if time_s < now:
            issues.append(Issue(where, f"must not be before {now}, the time of the event before it", "time_s", time_s))
            continue
        now = time_s
        before = last_of.get(vm_type)
        if before is None:
            if kind == "resume":
                rule = f"cannot be the first event of type {vm_type!r}: it has not hibernated yet"
                issues.append(Issue(where, rule, "event", kind))
        elif before[0] == time_s:
            rule = f"is also the time of events[{before[1]}]; two events of type {vm_type!r} need different times"
            issues.append(Issue(where, rule, "time_s", time_s))
        elif before[2] == kind:
            rule = f"follows on {kind!r} at {before[0]} s: the events of type {vm_type!r} must alternate"
            issues.append(Issue(where, rule, "event", kind))
        last_of[vm_type] = time_s, place, kind
    return issues


QUIET = Timeline()
"""A day without events."""
