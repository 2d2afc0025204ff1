"""Reading and writing days: JSON of the format ``spotbag.timeline/1``."""

from __future__ import annotations

import dataclasses
import math
import operator
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias, get_args

from pydantic import Field

from ...core.errors import InputError, Issue
from ...core.json_documents import check_format, format_json, parse_json
from ...core.quantities import Name
from ...core.records import INTEGRAL, Record, refuse_nonsense, validate_record
from ...core.text_files import read_text, source_name, write_text
from ..entries import MARKETS, CloudName, Market

if TYPE_CHECKING:
    from ..clouds import Cloud

TIMELINE_FORMAT: Literal["spotbag.timeline/1"] = "spotbag.timeline/1"
_MOST_EVENTS = 10_000_000


Interruption: TypeAlias = Literal["interrupt", "hibernate", "stop", "terminate"]
"""Interruption of VMs: the one that the cloud has (``interrupt``), or one of the three that clouds have."""

EventKind: TypeAlias = Literal["interrupt", "hibernate", "stop", "terminate", "resume", "capacity", "price"]

INTERRUPTIONS: tuple[Interruption, ...] = get_args(Interruption)
EVENT_KINDS: tuple[EventKind, ...] = get_args(EventKind)


class TimelineEvent(NamedTuple):
    """Event of a day: an interruption or return of spot VMs, a change of capacity, or of a price.

    Attributes
    ----------
    time_s : int
        When, from the start of the application.
    vm_type : str
        Name of the VM type.
    kind : {"interrupt", "hibernate", "stop", "terminate", "resume", "capacity", "price"}
        An interruption is of all spot VMs of the type, and the type gives no more until it is back (HADS, section
        5.2.1), unless ``vm`` or ``share`` says of which. ``interrupt`` is what the cloud does. ``resume``: the type is
        back without a limit, or ``vm`` is. ``capacity``: at most ``vms`` spot VMs of the type can be there; those too
        many are interrupted, the last requested first. ``price``: the price of an offer, also of VMs that run.
    vm : int, optional
        Of an interruption or ``resume``: the spot VM of the type that was requested as the first (1), second, ...
    share : float, optional
        Of an interruption: of this share of the VMs that run and do not drain, rounded up, the last requested first.
    notice_s : int, optional
        Of an interruption: seconds for which a VM drains before it; 0 if absent, for ``interrupt`` the cloud's.
    vms : int, optional
        Of ``capacity``.
    by : {"interrupt", "hibernate", "stop", "terminate"}, optional
        Of ``capacity``: what happens to VMs that are too many; ``interrupt`` if absent.
    market : {"spot", "on-demand"}, optional
        Of ``price``: of which offer.
    usd_per_hour : float, optional
        Of ``price``: what it is from now on.
    age_s : int, optional
        Of an interruption of a ``vm``, at 0 s: it comes so long after that VM is ready for the first time.
    """

    time_s: int
    vm_type: str
    kind: EventKind
    vm: int | None = None
    share: float | None = None
    notice_s: int | None = None
    vms: int | None = None
    by: Interruption | None = None
    market: Market | None = None
    usd_per_hour: float | None = None
    age_s: int | None = None

    @property
    def interrupts(self) -> bool:
        """True for an interruption of VMs."""
        return self.kind in INTERRUPTIONS

    @property
    def of_type(self) -> bool:
        """True for an event of all spot VMs of the type."""
        return self.kind != "price" and self.vm is None and self.share is None


_KEYS = {"vm_type": "type", "kind": "event"}


class EventEntry(Record):
    """An event of a day; see `TimelineEvent`.

    Attributes
    ----------
    time_s : int
        When, in whole seconds from the start of the application.
    type : str
        Name of the VM type, whose spot VMs it is about.
    event : {"interrupt", "hibernate", "stop", "terminate", "resume", "capacity", "price"}
        What happens.
    vm : int, optional
        Of an interruption or ``resume``: of one VM, the spot VM of the type that was requested as the first (1), ...
    share : float, optional
        Of an interruption: of this share of the VMs that run.
    notice_s : int, optional
        Of an interruption: seconds for which a VM drains before it.
    vms : int, optional
        Of ``capacity``: how many spot VMs of the type there can be at most.
    by : {"interrupt", "hibernate", "stop", "terminate"}, optional
        Of ``capacity``: what happens to VMs that are too many.
    market : {"spot", "on-demand"}, optional
        Of ``price``: of which offer.
    usd_per_hour : float, optional
        Of ``price``: what it is from now on.
    age_s : int, optional
        Of an interruption of a ``vm``, at 0 s: it comes so long after that VM is ready for the first time.
    """

    time_s: Annotated[int, Field(ge=0, le=2**53), INTEGRAL]
    type: Name
    event: EventKind
    vm: Annotated[int, Field(ge=1, le=2**31), INTEGRAL] | None = None
    share: Annotated[float, Field(gt=0, le=1)] | None = None
    notice_s: Annotated[int, Field(ge=0, le=2**53), INTEGRAL] | None = None
    vms: Annotated[int, Field(ge=0, le=2**31), INTEGRAL] | None = None
    by: Interruption | None = None
    market: Market | None = None
    usd_per_hour: Annotated[float, Field(ge=0, le=1e9)] | None = None
    age_s: Annotated[int, Field(ge=0, le=2**53), INTEGRAL] | None = None


class TimelineDocument(Record):
    """A day as written in a file.

    Attributes
    ----------
    name : str, optional
        What it is called.
    cloud : str, optional
        Whose rules hold; see `spotbag.instances.clouds`.
    events : tuple of EventEntry
        In any order.
    """

    format: Literal["spotbag.timeline/1"] = TIMELINE_FORMAT
    name: Name = "a day by hand"
    cloud: CloudName | None = None
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
    # Entries have the fields of events, in the same order.
    events = tuple(TimelineEvent(*entry.__dict__.values()) for entry in entries)
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


def format_timeline(timeline: Timeline, cloud: CloudName | None = None) -> str:
    """Return a day as a JSON text, which may name a cloud; reading it gives the same day."""
    document = {"format": TIMELINE_FORMAT, "name": timeline.name, "cloud": cloud, "events": event_documents(timeline)}
    record = validate_record(TimelineDocument, document, "timeline")  # whatever is written can be read
    return format_json(record.model_dump(mode="json", exclude_none=True))


def event_documents(timeline: Timeline) -> list[dict[str, Any]]:
    """Return the events of a day as they stand in files: ``{"time_s": 600, "type": "c3.large", "event": "resume"}``."""
    return [
        {_KEYS.get(field, field): value for field, value in event._asdict().items() if value is not None}
        for event in timeline.events
    ]


def timeline_schema() -> str:
    """JSON Schema of ``spotbag.timeline/1``, as shipped with the package."""
    return resources.files(__package__).joinpath("timeline.schema.json").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Timeline:
    """The events of a day, known before the replay: every policy meets the same day.

    Attributes
    ----------
    events : tuple of TimelineEvent
        By time. Those about a whole type have different times; a whole type is interrupted again only after it was
        back, and is back only after an interruption or a ``capacity``.
    name : str
        Where it comes from.

    Raises
    ------
    InputError
        If a time is no whole number of seconds from 0 on, if the events do not go by time, if those of a type do not
        follow on each other so, or if an event has not what its kind needs; with all that is wrong.
    """

    events: tuple[TimelineEvent, ...] = ()
    name: str = "quiet"
    _resolved: bool = dataclasses.field(default=False, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.events, list | tuple) or not all(isinstance(one, TimelineEvent) for one in self.events):
            raise InputError(f"timeline {self.name!r}", [Issue("", "must be a tuple of events", "events")])
        issues = event_issues(self.events)
        if issues:
            raise InputError(f"timeline {self.name!r}", issues)

    def resolved(self, cloud: Cloud) -> Timeline:
        """Return the day as it is on a cloud: no event is an ``interrupt`` any more, and notices are numbers or absent.

        What is absent then is 0.
        """
        if self._resolved:
            return self
        events = tuple([_resolved(event, cloud) for event in self.events])
        same = all(map(operator.is_, events, self.events))
        timeline = self if same else unchecked_timeline(self.name, events)  # what was right before is right still
        object.__setattr__(timeline, "_resolved", True)
        return timeline


def unchecked_timeline(name: str, events: Iterable[TimelineEvent]) -> Timeline:
    """Make a timeline of events by time.

    That they are right is for the tests to say: to check takes most of the time.
    """
    timeline = Timeline.__new__(Timeline)
    for field_name, value in (("events", tuple(events)), ("name", name), ("_resolved", False)):
        object.__setattr__(timeline, field_name, value)
    return timeline


def _resolved(event: TimelineEvent, cloud: Cloud) -> TimelineEvent:
    said = event.kind if event.kind != "capacity" else event.by or "interrupt"
    if said != "interrupt":
        return event if event.notice_s != 0 else event._replace(notice_s=None)
    notice_s = (cloud.notice_s if event.notice_s is None else event.notice_s) or None
    if event.kind == "capacity":
        return event._replace(by=cloud.interruption, notice_s=notice_s)
    if event.age_s is not None:
        return event._replace(kind=cloud.interruption, notice_s=notice_s)
    # It has no other fields; made anew, as there are hundreds in a day, which takes a fifth of the time of a copy.
    return TimelineEvent(event.time_s, event.vm_type, cloud.interruption, event.vm, event.share, notice_s)


def event_issues(events: Sequence[TimelineEvent], places: Sequence[int] | None = None) -> list[Issue]:
    """Faults of the events of a day.

    Parameters
    ----------
    events : sequence of TimelineEvent
        Should go by time.
    places : sequence of int, optional
        Where each stands in its document; as they come if absent.
    """
    issues: list[Issue] = []
    now = 0
    types: dict[str, _TypeSoFar] = {}
    for index, event in enumerate(events):
        time_s = event.time_s
        place = index if places is None else places[index]
        where = f"events[{place}]"
        if type(time_s) is not int or time_s < 0:
            issues.append(Issue(where, "must be a whole number of seconds, 0 or more", "time_s", time_s))
            continue
        if event.kind not in EVENT_KINDS:
            issues.append(Issue(where, f"must be one of {', '.join(EVENT_KINDS)}", "event", event.kind))
            continue
        # An event with a fault of its own changes no state: else each would bring others with it.
        fault = _fault_of_fields(event)
        if fault is not None:
            issues.append(Issue(where, fault[1], fault[0], getattr(event, fault[0])))
            continue
        if time_s < now:
            issues.append(Issue(where, f"must not be before {now}, the time of the event before it", "time_s", time_s))
            continue
        now = time_s
        issues += types.setdefault(event.vm_type, _TypeSoFar()).issues(event, where, place)
    return issues


def _fault_of_fields(event: TimelineEvent) -> tuple[str, str] | None:
    """A field too many, missing or out of range in an event, and the rule; None if all is well."""
    given = [field for field in _OPTIONAL if getattr(event, field) is not None]
    fault = field_fault(event.kind, given, event.time_s)
    if fault is not None:
        return fault
    for field, least in (("vm", 1), ("notice_s", 0), ("vms", 0), ("age_s", 0)):
        value = getattr(event, field)
        if value is not None and (type(value) is not int or value < least):
            return field, f"must be a whole number, {least} or more"
    if event.share is not None and not 0 < event.share <= 1:
        return "share", "must be above 0, and at most 1"
    if event.usd_per_hour is not None and not 0 <= event.usd_per_hour < math.inf:
        return "usd_per_hour", "must be a finite number, 0 or more"
    if event.by is not None and event.by not in INTERRUPTIONS:
        return "by", f"must be one of {', '.join(INTERRUPTIONS)}"
    if event.market is not None and event.market not in MARKETS:
        return "market", f"must be one of {', '.join(MARKETS)}"
    return None


def field_fault(kind: EventKind, fields: Collection[str], time_s: int) -> tuple[str, str] | None:
    """Return the first optional field that an event of a kind and time has and must not have, or lacks, and the rule.

    The fields are the names of those that it has.
    """
    allowed = _FIELDS_OF[kind]
    for field in _OPTIONAL:
        if field in fields and field not in allowed:
            return field, f"does not belong to {kind!r}"
    for field in _NEEDED.get(kind, ()):
        if field not in fields:
            return field, f"is missing: {kind!r} needs it"
    if "age_s" in fields and ("vm" not in fields or time_s != 0):
        return "age_s", "needs 'vm', whose age it is, and the time_s 0"
    return ("share", "does not go together with 'vm'") if "vm" in fields and "share" in fields else None


_OPTIONAL = TimelineEvent._fields[3:]
_FIELDS_OF: Mapping[EventKind, frozenset[str]] = {
    **dict.fromkeys(INTERRUPTIONS, frozenset({"vm", "share", "notice_s", "age_s"})),
    "resume": frozenset({"vm"}),
    "capacity": frozenset({"vms", "by", "notice_s"}),
    "price": frozenset({"market", "usd_per_hour"}),
}
_NEEDED: Mapping[EventKind, tuple[str, ...]] = {"capacity": ("vms",), "price": ("market", "usd_per_hour")}


@dataclass(slots=True)
class _TypeSoFar:
    """State of a VM type so far: its last event of the whole type, and flags: down, disturbed by any event."""

    time_s: int = -1
    place: int = -1
    kind: EventKind = "resume"
    down: bool = False
    disturbed: bool = False
    aged: set[int] = dataclasses.field(default_factory=set)

    def issues(self, event: TimelineEvent, where: str, place: int) -> list[Issue]:
        """Faults of the next event; the state is updated with it."""
        name, kind = event.vm_type, event.kind
        if not event.of_type:
            self.disturbed |= event.interrupts
            if event.age_s is not None and event.vm is not None:
                if event.vm in self.aged:
                    return [Issue(where, f"is given twice for VM {event.vm} of type {name!r}", "age_s", event.age_s)]
                self.aged.add(event.vm)
            return []
        issues: list[Issue] = []
        if self.time_s == event.time_s:
            rule = f"is also the time of events[{self.place}]; two events of type {name!r} need different times"
            issues.append(Issue(where, rule, "time_s", event.time_s))
        elif kind == "resume" and not self.disturbed:
            if self.time_s < 0:
                rule = f"cannot be the first event of type {name!r}: nothing has happened to it yet"
            else:
                rule = f"follows on {self.kind!r} at {self.time_s} s: type {name!r} is back already"
            issues.append(Issue(where, rule, "event", kind))
        elif event.interrupts and self.down:
            rule = f"follows on {self.kind!r} at {self.time_s} s: type {name!r} is down already"
            issues.append(Issue(where, rule, "event", kind))
        self.time_s, self.place, self.kind = event.time_s, place, kind
        # A capacity of 0 is as good as an interruption, but may follow on one.
        self.down = event.interrupts or event.vms == 0
        self.disturbed = kind != "resume"
        return issues


QUIET = Timeline()
"""A day without events."""
