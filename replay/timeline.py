"""A day: when the spot VMs of each type hibernate and resume."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

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
    """

    events: tuple[TimelineEvent, ...] = ()
    name: str = "quiet"


QUIET = Timeline()
"""A day without events."""
