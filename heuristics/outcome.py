"""What a heuristic returns."""

from __future__ import annotations

from dataclasses import dataclass

from ..schedules.schedule import Schedule


@dataclass(frozen=True, slots=True)
class HeuristicOutcome:
    """A plan, or why none was found.

    Attributes
    ----------
    schedule : Schedule or None
        The plan.
    explanation : str
        Without a plan: which task found no place and why.
    warnings : tuple of str
        What the heuristic did not look at.
    """

    schedule: Schedule | None
    explanation: str = ""
    warnings: tuple[str, ...] = ()
