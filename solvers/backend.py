"""Question and answer of a solver: the same for HiGHS and for CP-SAT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

from ..schedules.method import Run

SolverStatus: TypeAlias = Literal["optimal", "feasible", "infeasible", "unknown"]

Values = TypeVar("Values")


@dataclass(frozen=True, slots=True)
class SolverLimits:
    """Limits and settings of a solver, beside its time (see `spotbag.core.limits`).

    Attributes
    ----------
    target_gap : float
        Relative gap at which it stops; 0 to go on until the optimum is proved.
    threads : int
        Threads of CP-SAT; with one of them the same seed gives the same answer. HiGHS works in the thread that asks.
    seed : int
        Seed of its random numbers.
    on_progress : callable, optional
        Called with the objective of the best solution and the bound whenever one of them improves.
    """

    target_gap: float = 0.0
    threads: int = 1
    seed: int = 0
    on_progress: Callable[[float, float], None] | None = None

    @classmethod
    def of_run(cls, run: Run, on_progress: Callable[[float, float], None] | None = None) -> SolverLimits:
        """Limits of a run."""
        return cls(run.target_gap, run.threads, run.seed % 2**31, on_progress)

    def pass_on(self, news: list[tuple[float, float]]) -> Callable[[], None]:
        """Return a function that reports the news of a solver's thread, each once, in the thread that calls it."""

        def report() -> None:
            while news:
                # One by one: the thread of the solver may add some meanwhile, and none may be lost.
                objective, bound = news.pop(0)
                if self.on_progress is not None:
                    self.on_progress(objective, bound)

        return report


@dataclass(frozen=True, slots=True)
class SolverAnswer(Generic[Values]):
    """Answer of a solver.

    Attributes
    ----------
    status : {"optimal", "feasible", "infeasible", "unknown"}
        "optimal": within the target gap; "unknown": stopped without a solution.
    values : Values or None
        The solution, in whatever form its model reads back.
    bound : float
        Proven lower bound, in the units of the model's objective; minus infinity if there is none.
    """

    status: SolverStatus
    values: Values | None
    bound: float
