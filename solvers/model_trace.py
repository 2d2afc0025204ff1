"""How a solver converged, told while it runs."""

from __future__ import annotations

import math

from ..schedules.method import Run, TracePoint
from ..schedules.schedule import Schedule
from .backend import SolverLimits


class ModelTrace:
    """Notes and reports the plans and bounds of a solver.

    Parameters
    ----------
    run : Run
        Who is told.
    start : Schedule or None
        The plan that it starts from.
    """

    def __init__(self, run: Run, start: Schedule | None) -> None:
        self._run = run
        self._at_most = math.inf if start is None else start.objective
        self._points: list[TracePoint] = []

    def improved(self, objective: float, bound: float) -> None:
        """Note a better plan of the solver, or a better bound."""
        best = min(objective, self._at_most)
        known = min(bound, best) if math.isfinite(bound) else None
        self._points.append(TracePoint(len(self._points) + 1, objective, best, bound=known))
        self._run.report(self._points[-1], 0)

    def limits(self) -> SolverLimits:
        """Limits of what is left of the run, with this trace as its progress."""
        return SolverLimits.of_run(self._run, self.improved)

    @property
    def points(self) -> tuple[TracePoint, ...]:
        """What was noted."""
        return tuple(self._points)
