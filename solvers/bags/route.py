"""The loop of the route: steps in turn, on one incumbent."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from ...core.errors import ModelRefusal, SpotbagError
from ...core.limits import LimitReached, out_of_time, seconds_left, within
from ...instances.instance import Instance
from ...schedules.method import Outcome, Run, StepEnd, StepTaken, TracePoint
from .budget import BUDGET
from .facts import Facts
from .infeasible import explain

Lane: TypeAlias = Literal["search", "proof"]


@dataclass(frozen=True, slots=True)
class Step:
    """A part of the route.

    Attributes
    ----------
    name : str
        What ``--explain`` calls it.
    lane : {"search", "proof"}
        Whether it looks for plans, or for bounds and then for plans.
    applies : callable
        Whether it takes the bag.
    share : callable
        Share of the time that is left for it; of its patience, if there is no limit. None for all of the time, and as
        long as it takes without a limit.
    run : callable
        From the facts and its part of the run to what it comes to.
    """

    name: str
    lane: Lane
    applies: Callable[[Facts], bool]
    share: Callable[[Facts], float | None]
    run: Callable[[Facts, Run], Outcome]


class Route:
    """The best plan and bound so far, handed from step to step."""

    def __init__(self, instance: Instance, run: Run) -> None:
        self.run = run
        self.known = run.incumbent
        self.known.take(run.initial)
        self.facts = Facts(instance, run)
        self.explanation = ""
        self.warnings: tuple[str, ...] = ()
        self.failures: tuple[str, ...] = ()
        self._iterations = self._iterations_before = 0
        self._patience_ends: float | None = None

    def go(self, steps: Iterable[Step]) -> Outcome:
        """Ask all steps that apply, in turn, until nothing is left to be done."""
        with suppress(LimitReached):  # then the best plan and bound so far
            for step in steps:
                if self.finished():
                    break
                if step.applies(self.facts):
                    self._take(step)
        return self._outcome()

    def finished(self) -> bool:
        """Whether nothing is left to be done."""
        known = self.known
        return out_of_time() or known.bound == math.inf or self.run.answered(known.objective, known.bound)

    def _take(self, step: Step) -> None:
        """Run a step, and keep what is better; a refusal or a failure ends the step only."""
        share = step.share(self.facts)
        left = None if share is None else share * self._left_s()
        began = time.perf_counter()
        self._iterations_before = self._iterations
        part = replace(self.run, initial=self.known.schedule, on_progress=self._progress)
        before = self.known.objective, self.known.bound
        ended: StepEnd = "done"
        try:
            with within(left, begin=began) as limit:
                outcome = step.run(self.facts, part)
        except LimitReached:  # plans and bounds of a step that was cut short are known already
            ended = "time"
        except ModelRefusal:
            ended = "refused"
        except SpotbagError as error:  # what is known so far is the answer all the same
            ended = "failed"
            self.failures = (*self.failures, f"a step of auto failed: {error}")
        else:
            self.known.take(outcome.schedule)
            if outcome.bound is not None:
                self.known.raise_bound(outcome.bound)
            self.explanation = outcome.explanation or self.explanation
            self.warnings = outcome.warnings
        now = time.perf_counter()
        if ended == "done" and now > limit.deadline:
            ended = "time"
        took_s = now - began
        if share is None and self._patience_ends is not None:
            self._patience_ends += took_s  # such as a minute of compiling on a busy machine
        after = self.known.objective, self.known.bound
        brought = after[0] < before[0], after[1] > before[1]
        self.known.steps.append(StepTaken(step.name, began, took_s, *after, *brought, ended))

    def _left_s(self) -> float:
        """Seconds that are left for exact steps."""
        left = seconds_left()
        if left is None:
            now = time.perf_counter()
            self._patience_ends = self._patience_ends or now + BUDGET.patience_for_s(self.facts.instance.n_tasks)
            left = max(self._patience_ends - now, 0.0)
        return left

    def _progress(self, point: TracePoint, planned: int) -> None:
        """Pass on where a step stands, with what the steps before it have found."""
        best = min(point.best, self.known.objective)
        bound = max(self.known.bound, -math.inf if point.bound is None else point.bound)
        self._iterations = self._iterations_before + point.iteration
        known = bound if bound > -math.inf else None
        self.run.report(replace(point, iteration=self._iterations, best=best, bound=known), planned)

    def _outcome(self) -> Outcome:
        """Result of all steps."""
        best, bound = self.known.schedule, self.known.bound
        if best is None and bound == math.inf:
            self.explanation = explain(self.facts.instance)
        return Outcome(
            best,
            self.explanation if best is None else "",
            (*self.warnings, *self.failures),
            None if bound == -math.inf else bound,
        )
