"""What a solver receives, and what it answers: the same for HiGHS and for CP-SAT."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from ..schedules.method import Run

SolverStatus: TypeAlias = Literal["optimal", "feasible", "infeasible", "unknown"]

Values = TypeVar("Values")


@dataclass(frozen=True, slots=True)
class SolverLimits:
    """When a solver stops, and with what it works.

    Attributes
    ----------
    deadline : float or None
        Moment of ``time.perf_counter()`` at which it stops.
    target_gap : float
        Relative gap at which it stops; 0 to go on until the optimum is proved.
    threads : int
        Threads; with one of them the same seed gives the same answer.
    seed : int
        Seed of its random numbers.
    on_progress : callable, optional
        Called with the objective of the best solution and the bound whenever one of them improves.
    """

    deadline: float | None = None
    target_gap: float = 0.0
    threads: int = 1
    seed: int = 0
    on_progress: Callable[[float, float], None] | None = None

    @classmethod
    def of_run(cls, run: Run, on_progress: Callable[[float, float], None] | None = None) -> SolverLimits:
        """Limits of what is left of a run."""
        deadline = None if run.time_limit_s is None else run.begin + run.time_limit_s
        return cls(deadline, run.target_gap, run.threads, run.seed % 2**31, on_progress)

    def seconds_left(self) -> float | None:
        """Seconds until the solver must stop; None without a limit."""
        return None if self.deadline is None else max(self.deadline - time.perf_counter(), 0.01)


@dataclass(frozen=True, slots=True)
class SolverAnswer(Generic[Values]):
    """What a solver found.

    Attributes
    ----------
    status : {"optimal", "feasible", "infeasible", "unknown"}
        "optimal": within the target gap; "unknown": stopped without a solution.
    values : Values or None
        The solution, in whatever form its model reads back.
    bound : float
        Proven lower bound, in the units of the model's objective; minus infinity if there is none.
    interrupted : bool
        Whether the user ended it.
    """

    status: SolverStatus
    values: Values | None
    bound: float
    interrupted: bool = False
