"""Reading and writing days: JSON of the format ``spotbag.timeline/1``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import resources
from typing import Annotated, Any, Literal

from pydantic import Field

from ..instances.errors import InputError
from ..instances.json_documents import (
    INTEGRAL,
    Record,
    check_format,
    format_json,
    parse_json,
    refuse_nonsense,
    validate_record,
)
from ..instances.problem import Name
from ..instances.text_files import read_text, source_name, write_text
from .timeline import Timeline, TimelineEvent, event_issues

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
