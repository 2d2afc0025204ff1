"""Where a front gets its points from: what finds the cheapest plan that ends by a moment, exactly or in general."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

from ...instances.instance import Instance
from ...schedules.schedule import Schedule
from .class_dynamic_programme import ClassProgramme
from .class_tables import ClassTables
from .goals import cheapest_by, plan_of
from .solve import solve


class Answer(NamedTuple):
    """A plan of the instance, a proven lower bound of the cost (or of the makespan), and how the question ended."""

    plan: Schedule | None
    bound: float
    message: str = ""
    interrupted: bool = False


class FrontOracle(Protocol):
    """Finds cheap plans, and bounds of their cost."""

    def cheapest(self, moment_s: int, limit_s: float, initial: Schedule | None) -> Answer:
        """Find the cheapest plan that ends by a moment; ``initial`` is one that does."""

    def fastest(self, limit_s: float, initial: Schedule | None) -> Answer | None:
        """Find the fastest plan, with a bound of the makespan; None if it is no easier than to ask for the cost."""


class ProgrammeOracle:
    """The class dynamic programme: all its answers are optimal.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    latest_s : int
        Latest moment that will be asked for.

    Raises
    ------
    ModelRefusal
        See `ClassTables`.
    """

    def __init__(self, instance: Instance, latest_s: int) -> None:
        self._ready_s = instance.boot_overhead_s
        self.programme = ClassProgramme(ClassTables(instance, latest_s - self._ready_s))

    def cheapest(self, moment_s: int, limit_s: float, initial: Schedule | None) -> Answer:
        """Find the cheapest plan; the limit is that of the whole run."""
        plan = self.programme.cheapest_by_makespan(moment_s - self._ready_s)
        return Answer(plan, math.inf if plan is None else plan.cost_usd)

    def fastest(self, limit_s: float, initial: Schedule | None) -> Answer | None:
        """Leave the fastest plan to questions for the cost."""
        return None


class SolveOracle:
    """`solve` by the method that it chooses itself, for each moment as a deadline.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    seed, threads : int
        See `solve`.
    """

    def __init__(self, instance: Instance, seed: int, threads: int) -> None:
        self._instance = instance
        self._seed = seed
        self._threads = threads

    def cheapest(self, moment_s: int, limit_s: float, initial: Schedule | None) -> Answer:
        """Minimise the cost with the moment as the deadline; the objective is the cost itself."""
        return self._ask(cheapest_by(self._instance, moment_s), limit_s, initial)

    def fastest(self, limit_s: float, initial: Schedule | None) -> Answer | None:
        """Minimise the makespan; the objective is the makespan itself."""
        objective = {"goal": "balanced", "cost_weight": 0.0, "makespan_scale_s": 1.0}
        return self._ask(self._instance.replace(objective=objective), limit_s, initial)

    def _ask(self, question: Instance, limit_s: float, initial: Schedule | None) -> Answer:
        result = solve(question, "auto", time_limit_s=limit_s, seed=self._seed, threads=self._threads, initial=initial)
        bound = -math.inf if result.bound is None else result.bound
        plan = None if result.schedule is None else plan_of(self._instance, result.schedule)
        return Answer(plan, bound, result.message, result.interrupted)
