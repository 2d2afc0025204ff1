"""What a heuristic returns."""

from __future__ import annotations

from dataclasses import dataclass

from ..schedules.schedule import Schedule
from .run import TracePoint


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
    bound : float or None
        Proven lower bound of the objective, infinite if the instance is proved infeasible.
    trace : tuple of TracePoint
        How a search converged.
    interrupted : bool
        Whether it was ended by the user; the plan is the best until then.
    """

    schedule: Schedule | None
    explanation: str = ""
    warnings: tuple[str, ...] = ()
    bound: float | None = None
    trace: tuple[TracePoint, ...] = ()
    interrupted: bool = False
