"""The loop of the route: steps in turn, or in two lanes side by side, on one incumbent."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from threading import Event
from typing import Literal, TypeAlias

from ...core.errors import ModelRefusal, SpotbagError
from ...core.limits import LimitReached, out_of_time, seconds_left, within
from ...core.processes import run_in_threads
from ...instances.instance import Instance
from ...schedules.method import Outcome, Run, StepEnd, StepTaken, TracePoint
from .budget import BUDGET
from .facts import Facts

Lane: TypeAlias = Literal["start", "both", "search", "proof"]


@dataclass(frozen=True, slots=True)
class Step:
    """A part of the route.

    Attributes
    ----------
    name : str
        What ``--explain`` calls it.
    lane : {"start", "both", "search", "proof"}
        Of two lanes side by side, where it is done: before both, in both (from different seeds), in the one that looks
        for plans, or in the one that looks for bounds and then for plans.
    applies : callable
        Whether it takes the bag.
    run : callable
        From the facts and its part of the run to what it comes to.
    shares : callable
        Whether it leaves time for the steps that follow it, or its patience if there is no limit; if not, it takes as
        long as it takes.
    most_s : callable
        Most seconds for it where it shares.
    """

    name: str
    lane: Lane
    applies: Callable[[Facts], bool]
    run: Callable[[Facts, Run], Outcome]
    shares: Callable[[Facts], bool] = lambda facts: True
    most_s: Callable[[Facts], float] = lambda facts: math.inf


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
        self.lanes: list[_Lane] = []
        self.settled = Event()
        self.report = run.report

    def go(self, steps: Sequence[Step]) -> Outcome:
        """Ask all steps that apply until nothing is left to be done."""
        with suppress(LimitReached):  # then the best plan and bound so far
            if self.facts.side_by_side:
                self._side_by_side(steps)
            else:
                self._lane(self.run).go(steps)
        return self._outcome()

    def finished(self) -> bool:
        """Whether nothing is left to be done, or no time for it."""
        return out_of_time() or self._answered()

    def _answered(self) -> bool:
        return self.known.bound == math.inf or self.run.answered(self.known.objective, self.known.bound)

    def settle(self) -> None:
        """End the other lane as well if nothing is left to be done; that the time of a step is over is its own end."""
        if self._answered():
            self.settled.set()

    def _lane(self, run: Run) -> _Lane:
        self.lanes.append(_Lane(self, run))
        return self.lanes[-1]

    def _side_by_side(self, steps: Sequence[Step]) -> None:
        """Search in one thread and prove in another, which searches from another seed when nothing is to be proved.

        What steps report is passed on in the thread of the call.
        """
        self._lane(self.run).go([step for step in steps if step.lane == "start"])
        for_plans = [step for step in steps if step.lane in ("both", "search")]
        for_proofs = [step for step in steps if step.lane in ("both", "proof")]
        news: deque[tuple[TracePoint, int]] = deque()
        self.report = lambda point, planned: news.append((point, planned))
        searching = self._lane(self.run)
        proving = self._lane(replace(self.run, seed=self.run.seed + 1, threads=self.run.threads - 1))

        def pass_on() -> None:
            while news:
                self.run.report(*news.popleft())

        def in_lane(lane: _Lane, *parts: Sequence[Step]) -> None:
            with suppress(LimitReached), within(stop=self.settled, on_life=_nothing):
                for part in parts:
                    lane.go(part)

        searches = [step for step in steps if step.lane == "search" and self.facts.limited]
        works = [
            partial(copy_context().run, in_lane, searching, for_plans),
            partial(copy_context().run, in_lane, proving, for_proofs, searches),
        ]
        run_in_threads(works, self.settled.set, pass_on)

    def _outcome(self) -> Outcome:
        """Result of all steps."""
        best, bound = self.known.schedule, self.known.bound
        if best is None and bound == math.inf:
            from .infeasible import explain

            self.explanation = explain(self.facts.instance)
        return Outcome(
            best,
            self.explanation if best is None else "",
            (*self.warnings, *self.failures),
            None if bound == -math.inf else bound,
        )


def _nothing() -> None:
    """Give no sign of life: the thread of the call does that."""


class _Lane:
    """Steps one after the other."""

    def __init__(self, route: Route, run: Run) -> None:
        self._route = route
        self._run = run
        self._iterations_before = self.iterations = 0
        self._patience_ends: float | None = None

    def go(self, steps: Sequence[Step]) -> None:
        """Ask all steps that apply, in turn, until nothing is left to be done."""
        for number, step in enumerate(steps, 1):
            if self._route.finished():
                return
            if step.applies(self._route.facts):
                self._take(step, steps[number:])

    def _take(self, step: Step, later: Sequence[Step]) -> None:
        """Run a step, and keep what is better; a refusal or a failure ends the step only."""
        route = self._route
        shares = step.shares(route.facts)
        left = self._left_s(step, later) if shares else None
        began = time.perf_counter()
        self._iterations_before = self.iterations
        own = route.known.part(route.settle)
        part = replace(self._run, initial=own.schedule, on_progress=self._progress, incumbent=own)
        ended: StepEnd = "done"
        try:
            with within(left, begin=began) as limit:
                outcome = step.run(route.facts, part)
        except LimitReached:  # plans and bounds of a step that was cut short are known already
            ended = "time"
        except ModelRefusal:
            ended = "refused"
        except SpotbagError as error:  # what is known so far is the answer all the same
            ended = "failed"
            route.failures = (*route.failures, f"a step of auto failed: {error}")
        else:
            own.take(outcome.schedule)
            if outcome.bound is not None:
                own.raise_bound(outcome.bound)
            route.explanation = outcome.explanation or route.explanation
            route.warnings = outcome.warnings
        now = time.perf_counter()
        if ended == "done" and now > limit.deadline:
            ended = "time"
        took_s = now - began
        if not shares and self._patience_ends is not None:
            self._patience_ends += took_s  # such as a minute of compiling on a busy machine
        brought = own.better_plan, own.better_bound
        route.known.steps.append(StepTaken(step.name, began, took_s, own.objective, own.bound, *brought, ended))

    def _left_s(self, step: Step, later: Sequence[Step]) -> float:
        """Seconds for a step: all that are left, of which it leaves some to those that follow it."""
        facts, left = self._route.facts, seconds_left()
        if left is None:
            now = time.perf_counter()
            self._patience_ends = self._patience_ends or now + BUDGET.patience_for_s(facts.instance.n_tasks)
            left = max(self._patience_ends - now, 0.0)
        others = any(other.applies(facts) for other in reversed(later))
        return min(left * (BUDGET.step if others else 1.0), step.most_s(facts))

    def _progress(self, point: TracePoint, planned: int) -> None:
        """Pass on where a step stands, with what the steps before it have found."""
        known = self._route.known
        best = min(point.best, known.objective)
        bound = max(known.bound, -math.inf if point.bound is None else point.bound)
        self.iterations = self._iterations_before + point.iteration
        iteration = sum(lane.iterations for lane in self._route.lanes)
        proved = bound if bound > -math.inf else None
        self._route.report(replace(point, iteration=iteration, best=best, bound=proved), planned)
