"""Base of the stories of replays: the walk through the moments, and sentences about VMs and tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from ..core.record_lists import grouped_by
from ..core.wording import counted, moments_text
from .trace import Trace
from .vm_history import read_history

Event: TypeAlias = Mapping[str, Any]


class Narrator(ABC):
    """Describes a replay line by line; each system says what its moments are.

    Parameters
    ----------
    trace : Trace
        The replay.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.lines: list[str] = []

    def story(self) -> list[str]:
        """Return the heading, the moments in order of time, and the outcome."""
        self.lines = [self.heading()]
        for time_s, events in self.moments():
            self.pass_deadlines(time_s)
            self.moment(time_s, events)
        # A run may go on beyond its last event, and a deadline pass meanwhile.
        self.pass_deadlines(self.trace.end["t"])
        return self.lines + self.outcome()

    def moments(self) -> Iterator[tuple[int, list[Event]]]:
        """Yield the events of each second in which something happens."""
        # Events of a trace go by time, so that those of a second are neighbours.
        for time_s, events in groupby(self.trace.events, key=lambda event: event["t"]):
            yield time_s, list(events)

    def say(self, time_s: int, text: str) -> None:
        """Add a line about a second."""
        self.lines.append(f"{time_s:>9,} s  {text}")

    @abstractmethod
    def heading(self) -> str:
        """Sentence on the subject of the replay."""

    def pass_deadlines(self, before_s: int) -> None:  # noqa: B027 (a story of a platform has none)
        """Describe the deadlines before a second that have not been described."""

    @abstractmethod
    def moment(self, time_s: int, events: Sequence[Event]) -> None:
        """Add sentences on the events of a second."""

    @abstractmethod
    def outcome(self) -> list[str]:
        """Lines on the end of the replay."""


class TaskNarrator(Narrator):
    """Describes a replay of tasks on VMs, of a bag or of a stream.

    Raises
    ------
    SpotbagError
        If the trace contradicts itself.
    """

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace)
        self.history = read_history(trace)
        self.n_tasks = self.history.instance.n_tasks

    def launches_text(self, launches: Sequence[Event], kinds: Sequence[str], names: str = "") -> str:
        """Sentence on rented VMs, their kinds, and their ready times."""
        mix = ", ".join(f"{number} {kind}" for kind, number in Counter(kinds).items())
        readies = {self.history.vms[event["vm"]].ready_s for event in launches} - {None, launches[0]["t"]}
        ready = f", ready at {moments_text(readies)}" if readies else ""
        return f"{counted(len(launches), 'VM')} rented: {mix}{names}{ready}"

    def finished_text(self) -> str:
        """Sentence on the finished tasks and the time of the last."""
        end = self.trace.end
        if end["unfinished"]:
            return f"{end['finished']:,} of {counted(self.n_tasks, 'task')} finished by {end['t']:,} s"
        return f"{counted(self.n_tasks, 'task')} finished by {end['makespan_s']:,} s"


def by_kind(events: Sequence[Event]) -> dict[str, list[Event]]:
    """Group events by what they are."""
    return grouped_by(events, itemgetter("event"))


def missed_text(trace: Trace) -> str:
    """Number of tasks that missed a deadline, in words; empty if none did."""
    unfinished, late = len(trace.end["unfinished"]), trace.end["late_tasks"]
    missed = [f"{counted(unfinished, 'task')} unfinished"] if unfinished else []
    missed += [f"{counted(late, 'task')} late"] if late else []
    return ", ".join(missed)


def end_of_text(period: str, n_vms: int) -> str:
    """Phrase for terminations at the ends of cycles or blocks."""
    return f" at the end of {f'its {period}' if n_vms == 1 else f'their {period}s'}"


def idle_text(idle_s: int, n_vms: int) -> str:
    """Phrase for the total idle time of machines; empty if there was none."""
    together = "" if n_vms == 1 else " together"
    return f"idle for {idle_s:,} s{together}" if idle_s else ""
