"""Interface of methods: the request of a run, its incumbent, and the result."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from threading import Lock
from typing import ClassVar, Literal, TypeAlias

from ..core.quantities import EXCESS, SOLVED, closes_gap
from ..instances.instance import Instance
from .schedule import Schedule

FEW_TASKS, MANY_TASKS, LARGE_TASKS = 400, 3_000, 20_000
"""Bags of which simple heuristics make a plan soon, task by task; bags for which starts are made by compiled loops,
which take a second to compile the first time, and of which the search makes one run; and bags of which not every task
is looked at by itself any more: what each VM runs is not annealed, and rescues are not kept, nor written out."""


@dataclass(frozen=True, slots=True)
class TracePoint:
    """State of a search at a moment.

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


StepEnd: TypeAlias = Literal["done", "time", "refused", "failed"]


@dataclass(frozen=True, slots=True)
class StepTaken:
    """A step of a run, and where the run stood after it.

    Attributes
    ----------
    name : str
        What ran.
    began_s, took_s : float
        When it began, and for how long it ran.
    objective, bound : float
        Of the best plan after it, and the best bound; infinite and minus infinity if there is none.
    better_plan, better_bound : bool
        What it brought.
    ended : {"done", "time", "refused", "failed"}
        Whether it ended by itself, by a limit, or had nothing to say.
    d_spot_s, deadline_s : int or None
        The question: D_spot and deadline of the plans.
    """

    name: str
    began_s: float
    took_s: float
    objective: float
    bound: float = -math.inf
    better_plan: bool = False
    better_bound: bool = False
    ended: StepEnd = "done"
    d_spot_s: int | None = None
    deadline_s: int | None = None


def kept(schedule: Schedule) -> Schedule | None:
    """Return a plan, in another order where tasks must be done again in time; None if that is not enough for it.

    Nor is a plan kept that is beyond its budget.
    """
    if not schedule.within_budget:
        return None
    if not schedule.instance.leaves_time:
        return schedule
    from .rescuable import rescuable  # here, since few plans are asked

    return rescuable(schedule)


@dataclass(slots=True)
class _Known:
    """The best plan and bound of all parts of a run."""

    schedule: Schedule | None
    bound: float = -math.inf
    lock: Lock = field(default_factory=Lock)


class Incumbent:
    """The best plan and the best bound of a run so far: what is left of a method whose limit is reached.

    Parts of a run may add to it in several threads at once.

    Attributes
    ----------
    better_plan, better_bound : bool
        Whether this part has added one.
    steps : list of StepTaken
        What has run so far, of a method that has steps; moments are those of ``time.perf_counter``.

    Parameters
    ----------
    schedule : Schedule, optional
        To begin with.
    second : float
        Where the objective is the makespan alone, what a second of it is worth: all objectives are multiples of it.
    """

    def __init__(self, schedule: Schedule | None = None, second: float = 0.0) -> None:
        self._known = _Known(schedule)
        self._second = second
        self._on_better: Callable[[], None] = lambda: None
        self.better_plan = self.better_bound = False
        self.steps: list[StepTaken] = []

    def part(self, on_better: Callable[[], None]) -> Incumbent:
        """Return a view of the incumbent for a part of the run, with a function to call for each improvement by it."""
        part = copy(self)
        part._on_better = on_better
        part.better_plan = part.better_bound = False
        return part

    @property
    def schedule(self) -> Schedule | None:
        """The best plan."""
        return self._known.schedule

    @schedule.setter
    def schedule(self, schedule: Schedule | None) -> None:
        self._known.schedule = schedule

    @property
    def bound(self) -> float:
        """The best proven bound; minus infinity if there is none."""
        return self._known.bound

    @property
    def objective(self) -> float:
        """Objective of the best plan; infinite without one."""
        schedule = self._known.schedule
        return math.inf if schedule is None else schedule.objective

    def take(self, schedule: Schedule | None) -> None:
        """Keep a plan if it is the best, and what must be can be done again."""
        plan = kept(schedule) if schedule is not None and schedule.objective < self.objective else None
        if plan is None:
            return
        # Another part may have had a better one meanwhile: what was compared above is compared again under the lock.
        with self._known.lock:
            better = plan.objective < self.objective
            if better:
                self._known.schedule, self.better_plan = plan, True
        if better:  # outside of the lock, as it may look at the incumbent
            self._on_better()

    def raise_bound(self, bound: float) -> None:
        """Keep a proven bound if it is the best; one of whole seconds is rounded up to them."""
        if self._second and math.isfinite(bound):
            bound = max(bound, math.ceil(bound / self._second - SOLVED) * self._second * (1 - EXCESS))
        with self._known.lock:
            better = bound > self._known.bound
            if better:
                self._known.bound, self.better_bound = float(bound), True  # of numpy, it was none of a JSON document
        if better:
            self._on_better()


@dataclass(frozen=True, slots=True)
class Run:
    """Seed and progress callback of a run, and what is known. Its time is that of `spotbag.core.limits`.

    Attributes
    ----------
    seed : int
        Same seed and no time limit: same plan.
    on_progress : callable, optional
        Called with each `TracePoint` and the number of iterations planned.
    target_gap : float
        Relative gap to the bound that is good enough.
    threads : int
        How many threads may work at once.
    initial : Schedule, optional
        A plan to start from; nothing worse is returned.
    incumbent : Incumbent
        Receives plans and bounds as soon as they are known.
    threshold : float
        If it is finite, the only question is whether there is a plan with an objective of at most this: a method may
        end as soon as it has one, or a bound above.
    """

    seed: int = 0
    on_progress: Callable[[TracePoint, int], None] | None = None
    target_gap: float = 0.0
    threads: int = 1
    initial: Schedule | None = None
    incumbent: Incumbent = field(default_factory=Incumbent)
    threshold: float = -math.inf

    def answered(self, objective: float, bound: float) -> bool:
        """True if a plan and a bound are good enough, or say of all plans if any is as good as the threshold."""
        known = objective <= self.threshold or (self.threshold > -math.inf and bound > self.threshold)
        return known or closes_gap(objective, bound, self.target_gap)

    def enough(self, objective: float) -> float:
        """Return the bound that is enough for a plan of an objective: what is above it need not be proved."""
        return objective * (1 - self.target_gap)

    def report(self, point: TracePoint, planned: int) -> None:
        """Report the progress."""
        if self.on_progress is not None:
            self.on_progress(point, planned)


@dataclass(frozen=True, slots=True)
class Outcome:
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
        How a search converged, of one that has not reported it to `Run`.
    """

    schedule: Schedule | None
    explanation: str = ""
    warnings: tuple[str, ...] = ()
    bound: float | None = None
    trace: tuple[TracePoint, ...] = ()


class Method(ABC):
    """Base of the methods of one's own: how a plan is made.

    Options are the fields of a dataclass: of a class with a field ``trials: int = 100``, users give ``-o trials=7`` or
    ``solve(instance, Mine(trials=7))``. A method without options may as well be a function of an instance and a `Run`
    that returns an `Outcome`.

    Attributes
    ----------
    name : str
        What users call it; not that of a method that is built in.
    summary : str
        One line.
    takes : str
        Which instances it takes, and what its bound is.
    exact : bool
        Whether it proves the optimum of the instances that it takes, given time.
    seeded : bool
        Whether its plan may depend on the seed; if not, one run is enough.
    machines : bool
        Whether it plans from a state: with VMs that exist (`Instance.machines`), and tasks that run on them.
    dates : bool
        Whether it knows tasks that have a release or a deadline of their own (`Instance.release_s`, `Instance.due_s`).
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    takes: ClassVar[str] = "any instance"
    exact: ClassVar[bool] = False
    seeded: ClassVar[bool] = False
    machines: ClassVar[bool] = False
    dates: ClassVar[bool] = False

    @abstractmethod
    def plan(self, instance: Instance, run: Run) -> Outcome:
        """Make a plan.

        It is called once for each question that `spotbag.solve` has: other values of D_spot, or earlier deadlines. A
        method that may take long calls `checkpoint` in its loops, and hands plans to `Run.incumbent` when it has them.
        It may be called in several threads at once.

        Parameters
        ----------
        instance : Instance
            With D_spot set, if spot VMs are offered. The plan is to keep to it and to make its objective least.
        run : Run
            Seed, plan to start from, and what receives plans and bounds.

        Returns
        -------
        Outcome
            Its plan goes through the independent checker.

        Raises
        ------
        ModelRefusal
            If it cannot take the instance; the message says why.
        """


MethodFunction: TypeAlias = Callable[[Instance, Run], Outcome]
"""A method without options."""
