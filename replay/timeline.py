"""A day: when the spot VMs of each type hibernate and resume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..instances.errors import InputError, Issue

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
