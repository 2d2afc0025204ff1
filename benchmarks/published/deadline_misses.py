"""Days that missed the deadline: how many, by how much, and what came before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...instances.wording import counted
from ...replay import Scenario, Trace, trace_day
from ...schedules import Schedule
from .published_days import Cell, makespan_s

NO_PLACE = "no place was left when the migration trigger came"
TOO_LATE_A_RESUME = "its VM resumed before the trigger, too late to end there what was left"
OTHERWISE = "otherwise"


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
        What came before its last task was late, and on how many days.
    """

    days: int
    late_s: tuple[int, ...]
    causes: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        if not self.late_s:
            return f"0 of {counted(self.days, 'day')}"
        middle = sorted(self.late_s)[len(self.late_s) // 2]
        return (
            f"{len(self.late_s)} of {counted(self.days, 'day')} ({100 * len(self.late_s) / self.days:.2f} %), late by "
            f"{middle} s in the middle and {max(self.late_s)} s at most"
        )

    def why(self) -> str:
        """Say what came before, most frequent first."""
        return "; ".join(f"{cause}: {counted(number, 'day')}" for cause, number in self.causes)


def miss_causes(cell: Cell, schedule: Schedule, days_from: Scenario, seed: int) -> Counter[str]:
    """Replay the late days of a cell once more, with a record, and see what came before their last task was late."""
    causes: Counter[str] = Counter()
    for number, outcome in enumerate(cell.outcomes):
        if not outcome.meets_deadline:
            timeline = days_from.day(schedule.instance, seed, number)
            causes[_cause(trace_day(schedule, cell.policy, timeline, day=number)[1])] += 1
    return causes


def _cause(trace: Trace) -> str:
    """What came before the last task ended.

    Either it was moved when no VM could end it in time any more, or it stayed on, or was moved early to, a VM that
    resumed before its migration trigger: a resume asks no question whether there is enough time left on that VM.
    """
    last = next(event for event in reversed(trace.events) if event["event"] == "finish")
    moved = [event for event in trace.events if event["event"] in ("migrate", "steal")]
    moves = [event for event in moved if event["task"] == last["task"]]
    if moves and moves[-1].get("late"):
        return NO_PLACE
    resumed = any(event["event"] == "resume" and event["vm"] == last["vm"] for event in trace.events)
    return TOO_LATE_A_RESUME if resumed else OTHERWISE


def collect_misses(cells: Sequence[Cell], causes: Counter[str]) -> Misses:
    """Collect the misses of several cells."""
    late = [int(makespan_s(day)) - day.deadline_s for cell in cells for day in cell.late_days]
    return Misses(sum(len(cell.outcomes) for cell in cells), tuple(late), tuple(causes.most_common()))
