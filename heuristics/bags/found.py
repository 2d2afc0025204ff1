"""What a search has found so far: the best plan and the bound, for whoever asks while it goes on."""

from __future__ import annotations

import numpy as np

from ...schedules.method import Run, TracePoint
from ...schedules.schedule import Schedule


class Found:
    """The best plan so far, and the iteration at which the search last said where it stands."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.iteration = 0
        self.bound = -np.inf
        if run.incumbent.objective == np.inf:
            run.incumbent.schedule = run.initial

    @property
    def best(self) -> Schedule | None:
        """The best plan, whoever has found it."""
        return self.run.incumbent.schedule

    @property
    def objective(self) -> float:
        """Objective of the best plan; infinite without one."""
        return np.inf if self.best is None else self.best.objective

    @property
    def proven(self) -> float | None:
        """The bound, if there is one."""
        return None if self.bound == -np.inf else self.bound

    def take(self, schedule: Schedule | None) -> None:
        """Keep a plan if it is the best, and what must be can be done again."""
        if schedule is not None and schedule.objective < self.objective - 1e-12:
            self.run.incumbent.take(schedule)

    def raise_bound(self, bound: float) -> None:
        """Keep a proven bound."""
        self.bound = bound
        self.run.incumbent.raise_bound(bound)

    def step(self, iteration: int, planned: int, current: float, best: float) -> None:
        """Report where the search stands."""
        self.iteration = iteration
        self.run.report(TracePoint(iteration, current, min(best, self.objective), bound=self.bound), planned)
