"""Common parts of the engines of all systems: states and bills of VMs, a clock, a queue of events and a record."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections import Counter
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, cast

from ..core.errors import SpotbagError
from ..core.limits import stop_point
from ..core.quantities import NONE as NONE  # stands for no time of a VM as well
from ..core.quantities import ExactSeconds, plain

LAUNCHING, RUNNING, HIBERNATED, STOPPED, TERMINATED = range(5)


class VmBill(NamedTuple):
    """A VM and what it cost.

    Attributes
    ----------
    name, type, market : str
        Which VM.
    ready_s, end_s : float
        From when to when it was rented.
    hibernated_s, stopped_s : int
        Seconds of that in hibernation, and stopped or booting again.
    cost_usd : float
        Its bill.
    """

    name: str
    type: str
    market: str
    ready_s: float
    end_s: float
    hibernated_s: int
    cost_usd: float
    stopped_s: int = 0


_EVENTS_A_LOOK = 20
"""Events between two looks at whether it is asked to stop."""

EventRecord: TypeAlias = dict[str, Any]

Result = TypeVar("Result")

Time = TypeVar("Time", bound=ExactSeconds)
"""Time of a clock: whole seconds, or fractions of them as well."""

QueuedEvent: TypeAlias = tuple[Time, int, int, int, int, int]
"""Time, kind (which orders events of the same time), sequence, and three numbers that the kind gives a meaning."""


class EventQueue(Generic[Time]):
    """A clock, a queue of events and a record of them: what the state of every replay has.

    Events come in the order of their times; at equal times by kind, then in the order in which they were queued.

    Parameters
    ----------
    policy_name : str
        Name of the policy, for messages.
    record : bool
        Whether to keep a record of every event and decision in `records`.

    Attributes
    ----------
    now_s : int or Fraction
        Time of the last event.
    records : list of dict or None
        Events and decisions, as in a trace file; None if no record is kept.
    counts : Counter
        How often what has happened.
    """

    def __init__(self, policy_name: str, record: bool) -> None:
        self.policy_name = policy_name
        self.now_s = cast("Time", 0)
        self.records: list[EventRecord] | None = [] if record else None
        self.counts: Counter[str] = Counter()
        self._events: list[QueuedEvent[Time]] = []
        self._sequence = 0

    def _push(self, time_s: Time, kind: int, index: int, datum: int = 0, epoch: int = 0) -> None:
        self._sequence += 1
        heapq.heappush(self._events, (time_s, kind, self._sequence, index, datum, epoch))

    def _happens(self, event: str, **fields: Any) -> None:
        """Count an event, and record it."""
        self.counts["events"] += 1
        self._note(event, **fields)

    def _note(self, event: str, **fields: Any) -> None:
        """Record an event or a decision, if a record is kept."""
        if self.records is not None:
            self.records.append({"record": "event", "t": plain(self.now_s), "event": event, **fields})

    def _demand(self, condition: bool, broken: str) -> None:
        """Refuse a decision that cannot be carried out: a mistake of the policy."""
        if not condition:
            raise SpotbagError(f"{self.policy_name} at {plain(self.now_s)} s: {broken}")


class EventLoop(ABC, Generic[Result]):
    """Handles events to the end."""

    def run(self) -> Result:
        """Go on to the end.

        Raises
        ------
        LimitReached
            If it is asked to stop before.
        """
        step = self.step
        while True:
            for _ in range(_EVENTS_A_LOOK):
                if not step():
                    return self.outcome()
            stop_point()

    @abstractmethod
    def step(self) -> bool:
        """Handle the next event; False if there is none, or all is done."""

    @abstractmethod
    def outcome(self) -> Result:
        """Return the outcome of an ended replay."""
