"""What a method receives for a run, and what it reports and returns."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .schedule import Schedule


@dataclass(frozen=True, slots=True)
class TracePoint:
    """Where a search stands.

    Attributes
    ----------
    iteration : int
        Iterations done.
    current, best : float
        Objective of the current plan (infinite if it breaks a limit) and of the best feasible one.
    d_spot_s : int or None
        D_spot that the current plan was searched with; larger than the instance's while it is relaxed.
    bound : float or None
        Proven lower bound so far.
    """

    iteration: int
    current: float
    best: float
    d_spot_s: int | None = None
    bound: float | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """Seed, time limit and progress callback of a run.

    Attributes
    ----------
    seed : int
        Same seed and no time limit: same plan.
    time_limit_s : float, optional
        The best plan so far is returned when it is over.
    on_progress : callable, optional
        Called with each `TracePoint` and the number of iterations planned.
    target_gap : float
        Relative gap to the bound that is good enough.
    threads : int
        Threads of a solver.
    initial : Schedule, optional
        A plan to start from; nothing worse is returned.
    """

    seed: int = 0
    time_limit_s: float | None = None
    on_progress: Callable[[TracePoint, int], None] | None = None
    target_gap: float = 0.0
    threads: int = 1
    initial: Schedule | None = None
    begin: float = field(default_factory=time.perf_counter)

    def out_of_time(self) -> bool:
        """Whether the time limit is over."""
        return self.time_limit_s is not None and time.perf_counter() - self.begin >= self.time_limit_s

    def report(self, point: TracePoint, planned: int) -> None:
        """Report the progress."""
        if self.on_progress is not None:
            self.on_progress(point, planned)


@dataclass(frozen=True, slots=True)
class MethodOutcome:
    """A plan, or why none was found.

    Attributes
    ----------
    schedule : Schedule or None
        The plan.
    explanation : str
        Without a plan: which task found no place and why.
    warnings : tuple of str
        What the method did not look at.
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
