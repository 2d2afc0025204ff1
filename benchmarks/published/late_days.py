"""Days that missed the deadline: how many, by how much, and what came before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...core.wording import counted
from ...instances.bags.scenarios import Scenario
from ...replay.bags.runs import trace_day
from ...schedules.schedule import Schedule
from ...traces.bags.lateness import CAUSES, missed_because
from .claims import Verdict
from .published_days import Cell, makespan_s

_ENOUGH_DAYS = 299
"""Without a miss on so many days, at most one day in a hundred misses, with 95 % confidence (0.99^299 < 0.05)."""


@dataclass(frozen=True, slots=True)
class Misses:
    """Days that missed the deadline.

    Attributes
    ----------
    days : int
        All days.
    late_s : tuple of int
        By how much each late day missed it.
    causes : tuple of (str, int)
        Why tasks were late, in the order of `spotbag.traces.bags.lateness.CAUSES`, and on how many days.
    """

    days: int
    late_s: tuple[int, ...]
    causes: tuple[tuple[str, int], ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Whether no day misses the deadline; fewer days than `_ENOUGH_DAYS` cannot tell."""
        if self.late_s:
            return "does not hold"
        return "holds" if self.days >= _ENOUGH_DAYS else "not decided"

    def __str__(self) -> str:
        if not self.late_s:
            return f"0 of {counted(self.days, 'day')}"
        middle = sorted(self.late_s)[len(self.late_s) // 2]
        return (
            f"{len(self.late_s)} of {counted(self.days, 'day')} ({100 * len(self.late_s) / self.days:.2f} %), late by "
            f"{middle} s in the middle and {max(self.late_s)} s at most"
        )

    def why(self) -> str:
        """Say why tasks were late, a day may count for several causes; or why nothing is decided."""
        if self.verdict == "not decided":
            return f"{_ENOUGH_DAYS} days without a miss would show that at most one in a hundred misses"
        return "; ".join(f"{cause}: {counted(number, 'day')}" for cause, number in self.causes)


def miss_causes(cell: Cell, schedule: Schedule, days_from: Scenario, seed: int) -> Counter[str]:
    """Replay the late days of a cell once more, with a record; count the days on which a task was late for a cause."""
    causes: Counter[str] = Counter()
    for number, outcome in enumerate(cell.outcomes):
        if not outcome.meets_deadline:
            timeline = days_from.day(schedule.instance, seed, number)
            causes.update(set(missed_because(trace_day(schedule, cell.policy, timeline, day=number)[1])))
    return causes


def collect_misses(cells: Sequence[Cell], causes: Counter[str]) -> Misses:
    """Collect the misses of several cells."""
    late = [int(makespan_s(day)) - day.deadline_s for cell in cells for day in cell.late_days]
    found = tuple((cause, causes[cause]) for cause in CAUSES if causes[cause])
    return Misses(sum(len(cell.outcomes) for cell in cells), tuple(late), found)
