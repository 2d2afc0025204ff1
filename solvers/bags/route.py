"""The route of `auto`: its steps, facts of the bag that they decide by, and the loop that asks them.

Bound, search, and the exact model that fits the bag are asked in turn, or in two lanes side by side, on one incumbent.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import cached_property, partial
from threading import Event
from typing import TYPE_CHECKING, Literal, TypeAlias

from ...core.errors import ModelRefusal, SpotbagError
from ...core.limits import LimitReached, checkpoint, clock_s, out_of_time, own_work, seconds_left, within
from ...core.processes import run_in_threads
from ...heuristics.bags.annealing import SearchOptions
from ...heuristics.bags.first_plans import first_plan
from ...heuristics.bags.search import PLAIN_MOVES, Start, begin, begins_with_a_plan, bursting_pays, search
from ...instances.instance import Instance
from ...models.bags.task_classes import (
    MOST_CLASSES,
    MOST_CLASSES_OF_COLUMNS,
    has_more_classes,
    memory_is_free,
    offers_of_vms,
    task_classes,
    usable_offers,
)
from ...schedules.method import MANY_TASKS, Outcome, Run, StepEnd, StepTaken, TracePoint
from ...schedules.timing import objective_weights
from .budget import BUDGET, SMALL_TASKS
from .methods import find_method, make_options

if TYPE_CHECKING:
    from ...models.bags.configurations import ConfigurationBound


_FEW, _MIDDLING = 12, 60
"""Tasks of a tiny bag, or classes of one with few; tasks of a middling bag."""
MOST_ASSIGNABLE = 25_000
"""Pairs of a task and a core, of which CP-SAT makes something in seconds."""


class Facts:
    """Facts of a bag and of a run, each worked out when it is first asked for.

    Attributes
    ----------
    instance : Instance
        With D_spot set.
    run : Run
        Seed, threads and what is asked; its incumbent is the best plan and bound so far.
    limited : bool
        Whether there is a time limit.
    first : Outcome or None
        Result of `first_plan`, once it was asked.
    start : Start or None
        What the search begins with, of a large bag that has its first plan by it.
    configurations : ConfigurationBound or None
        The bound of configurations, once it is known.
    """

    def __init__(self, instance: Instance, run: Run) -> None:
        self.instance, self.run = instance, run
        self.limited = seconds_left() is not None
        self.first: Outcome | None = None
        self.start: Start | None = None
        self.configurations: ConfigurationBound | None = None

    @cached_property
    def side_by_side(self) -> bool:
        """True if a search goes on while others prove: there is more than one thread."""
        return self.run.threads > 1

    @cached_property
    def from_state(self) -> bool:
        """True if VMs exist already."""
        return bool(self.instance.machines)

    @cached_property
    def n_tasks(self) -> int:
        """Number of tasks to be planned."""
        return len(self.instance.open_tasks)

    @cached_property
    def n_classes(self) -> float:
        """Classes of identical tasks; infinite if there are more than any step takes."""
        if has_more_classes(self.instance, MOST_CLASSES_OF_COLUMNS):
            return math.inf
        classes = task_classes(self.instance, from_state=True)
        checkpoint()
        return len(classes)

    @cached_property
    def memory_free(self) -> bool:
        """True if memory can bind nowhere, and tasks have no dates: what they are on is all that counts."""
        return memory_is_free(self.instance) and not self.instance.has_dates

    @cached_property
    def burstable(self) -> bool:
        """True if there are burstable VMs."""
        return any(offer.burstable for offer in offers_of_vms(self.instance))

    @cached_property
    def cores_alone(self) -> bool:
        """True if a VM is nothing but the loads of its cores: neither memory nor credits count."""
        return self.memory_free and not (self.burstable and bursting_pays(self.instance))

    @cached_property
    def few_classes(self) -> bool:
        """True if there are so few classes that exact models prove the bag as a rule."""
        return self.memory_free and self.n_classes <= _FEW

    @cached_property
    def _new_and_apart(self) -> bool:
        """True if there are new VMs only, no dates, and nothing is asked of what several of them lose at once."""
        apart = not (self.from_state or self.instance.has_dates or self.instance.has_setups)
        return apart and self.instance.rescue_time is None

    @cached_property
    def classed(self) -> bool:
        """True if models of classes take the bag, which know VMs that are new, each by itself."""
        return self._new_and_apart and self.memory_free and self.n_classes <= MOST_CLASSES

    @cached_property
    def few_for_columns(self) -> bool:
        """True if columns take the bag: new VMs, each by itself, and not too many classes."""
        return self._new_and_apart and self.n_classes <= MOST_CLASSES_OF_COLUMNS

    @cached_property
    def tiny(self) -> bool:
        """True if a tenth of a second of search is enough."""
        return self.n_tasks <= _FEW

    @cached_property
    def small(self) -> bool:
        """True if exact models prove the bag as a rule."""
        return self.n_tasks <= SMALL_TASKS

    @cached_property
    def middling(self) -> bool:
        """True if exact models may prove the bag, or find a better plan."""
        return self.n_tasks <= _MIDDLING

    @cached_property
    def plan_first(self) -> bool:
        """True if the first plan is made by simple heuristics, or by the beginning of the search, before all else."""
        return not (self.from_state or self.instance.has_dates)

    @cached_property
    def class_programme(self) -> bool:
        """True if the class programme is done in a tenth of a second."""
        if not self.classed:
            return False
        from .class_tables import has_small_class_programme  # here, as below, since few bags have few classes

        return has_small_class_programme(self.instance)

    @cached_property
    def by_slack(self) -> bool:
        """True if the programme over the slack of VMs proves the bag in less time than a search takes, as a rule."""
        return self.classed and objective_weights(self.instance)[1] == 0 and not self.class_programme

    @cached_property
    def by_time_alone(self) -> bool:
        """True if the makespan alone counts, and VMs may differ."""
        return objective_weights(self.instance)[0] == 0 and len(usable_offers(self.instance)) > 1

    @cached_property
    def assignable(self) -> bool:
        """True if a model of which core each task is on may prove the least makespan, or find a better plan."""
        if self.small or not (self.by_time_alone and self.cores_alone):
            return False
        from ...models.bags.assignment_model import is_assignment, n_pairs

        return is_assignment(self.instance) and n_pairs(self.instance) <= MOST_ASSIGNABLE

    @cached_property
    def binds(self) -> bool:
        """True if the bound of configurations is worth its time: memory binds, or credits in a middling bag.

        Where the makespan alone counts, and offers differ, patterns of cores follow, which know what tasks fit a core.
        """
        if self.by_time_alone and self.few_for_columns and not self.classed:
            return True
        if self.from_state or self.cores_alone or self.few_classes:
            return False
        return self.middling or not self.memory_free

    @cached_property
    def exact(self) -> bool:
        """True if models of places and moments are worth a try at the end."""
        return (self.middling if self.from_state else self.small) or not self.memory_free

    @cached_property
    def hurried(self) -> bool:
        """True if the first search leaves time for proofs."""
        if not self.limited or self.is_proved_soon:
            return False
        if self.from_state:
            return self.exact
        exact = not (self.cores_alone or self.few_classes) and (self.middling or self.few_for_columns)
        return exact or self.assignable

    @cached_property
    def first_search_s(self) -> float:
        """Most seconds of the first search where it is hurried."""
        return BUDGET.short_search_s if self.small or self.side_by_side else BUDGET.first_search_s

    @cached_property
    def is_proved_soon(self) -> bool:
        """True if a short search is enough, since proofs are quick."""
        if self.from_state:
            return self.tiny
        return self.class_programme or (not self.limited and self.tiny)

    @cached_property
    def searches_again(self) -> bool:
        """True if there is a search at the end: after a short one, and where there may be time for it."""
        if self.side_by_side:
            return self.limited or self.is_proved_soon
        return self.is_proved_soon or (self.hurried if self.from_state else self.limited)


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
        Function from the facts and its part of the run to its result.
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
        """True if nothing is left to be done, or no time for it."""
        return out_of_time() or self._answered()

    def _answered(self) -> bool:
        return self.known.bound == math.inf or self.run.answered(self.known.objective, self.known.bound)

    def settle(self) -> None:
        """Set the end of the other lane as well if nothing is left to be done; a step out of time ends by itself."""
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
        # The search has one thread to itself; CP-SAT, which shares out work by itself, has all others.
        proving = self._lane(replace(self.run, seed=self.run.seed + 1, threads=self.run.threads - 1))

        def pass_on() -> None:
            while news:
                self.run.report(*news.popleft())

        def in_lane(lane: _Lane, *parts: Sequence[Step]) -> None:
            with own_work(), suppress(LimitReached), within(stop=self.settled, on_life=_nothing):
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
    """Sequence of steps, one after the other."""

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
        began, began_s = clock_s(), time.perf_counter()
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
        if ended == "done" and clock_s() > limit.deadline:
            ended = "time"
        if not shares and self._patience_ends is not None:
            self._patience_ends += clock_s() - began  # such as a minute of compiling on a busy machine
        brought = own.better_plan, own.better_bound
        took_s = time.perf_counter() - began_s
        route.known.steps.append(StepTaken(step.name, began_s, took_s, own.objective, own.bound, *brought, ended))

    def _left_s(self, step: Step, later: Sequence[Step]) -> float:
        """Seconds for a step: all that are left, of which it leaves some to those that follow it."""
        facts, left = self._route.facts, seconds_left()
        if left is None:
            now = clock_s()
            self._patience_ends = self._patience_ends or now + BUDGET.patience_for_s(facts.instance.n_tasks)
            left = max(self._patience_ends - now, 0.0)
        others = any(other.applies(facts) for other in reversed(later))
        return min(left * (BUDGET.half if others else 1.0), step.most_s(facts))

    def _progress(self, point: TracePoint, planned: int) -> None:
        """Pass on where a step stands, with what the steps before it have found."""
        known = self._route.known
        best = min(point.best, known.objective)
        bound = max(known.bound, -math.inf if point.bound is None else point.bound)
        self.iterations = self._iterations_before + point.iteration
        iteration = sum(lane.iterations for lane in self._route.lanes)
        proved = bound if bound > -math.inf else None
        self._route.report(replace(point, iteration=iteration, best=best, bound=proved), planned)


def auto(instance: Instance, run: Run) -> Outcome:
    """Plan by the divisible bound, the search, and exact models as long as they are worth a try.

    Every step gets the best plan so far; the best plan and the best bound of all steps are returned.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    run : Run
        Limits. Without a time limit, the exact steps take 30 s at most.
    """
    return Route(instance, run).go(STEPS)


def _first_plan(facts: Facts, part: Run) -> Outcome:
    if facts.n_tasks > MANY_TASKS and begins_with_a_plan(facts.instance):
        facts.start = begin(facts.instance, part)
        if part.incumbent.schedule is not None or part.incumbent.bound == math.inf:
            return Outcome(None)
    facts.first = first_plan(facts.instance)
    return facts.first


def _counts(facts: Facts, part: Run) -> Outcome:
    from ...bounds.bags.counted_bound import counted_bound  # here, as below, since few bags ask for it

    return Outcome(None, bound=counted_bound(facts.instance))


def _configurations(facts: Facts, part: Run) -> Outcome:
    from ...bounds.bags.configuration_bound import configuration_bound

    facts.configurations = configuration_bound(facts.instance)
    return Outcome(None, bound=facts.configurations.objective)


def _core_patterns(facts: Facts, part: Run) -> Outcome:
    from ...bounds.bags.core_pattern_bound import core_pattern_bound

    assert facts.configurations is not None, "the step before it has them"
    enough = part.enough(part.incumbent.objective)
    return Outcome(None, bound=core_pattern_bound(facts.instance, facts.configurations, enough))


def _assignment(facts: Facts, part: Run) -> Outcome:
    from ...models.bags.assignment_model import AssignmentModel
    from ..backend import SolverLimits
    from ..cp_sat import solve_cp_model
    from .exact_method import exact_outcome

    instance, known = facts.instance, part.incumbent
    start, proven = known.schedule, max(known.bound, 0.0)  # the other lane may have better ones in a moment
    last_s = instance.deadline_s if start is None else start.makespan_s - 1
    second = objective_weights(instance)[1]
    if proven > second * last_s:
        return Outcome(None)
    first_s = max(math.ceil(proven / second - 1e-6), instance.boot_overhead_s)
    model = AssignmentModel(instance, first_s, last_s)
    answer = solve_cp_model(model.model, SolverLimits.of_run(part), model.schedule, model.factor, model.constant)
    return exact_outcome(instance, start, answer.values, answer.bound, "CP-SAT found no plan in time")


def _by(name: str) -> Callable[[Facts, Run], Outcome]:
    """Return the step that asks a method."""

    def ask(facts: Facts, part: Run) -> Outcome:
        method = find_method(name)
        return method.run(facts.instance, make_options(method, {}), part)

    return ask


def _first_search(facts: Facts, part: Run) -> Outcome:
    options = SearchOptions(2 * PLAIN_MOVES if facts.is_proved_soon else None)
    if facts.from_state:
        return search(facts.instance, options, part)
    return search(facts.instance, options, part, facts.first, facts.start, bursts=not facts.few_classes, goes_on=False)


def _last_search(facts: Facts, part: Run) -> Outcome:
    return search(facts.instance, SearchOptions(), part, facts.first, facts.start)


def _never(facts: Facts) -> bool:
    """Return False: a step that takes as long as it takes, and leaves no time to others."""
    return False


STEPS = (
    Step("first plan", "start", lambda b: b.plan_first, _first_plan, _never),
    Step("counts", "proof", lambda b: b.by_time_alone, _counts),
    Step("configurations", "proof", lambda b: b.binds, _configurations),
    Step("slack-fleets", "proof", lambda b: b.by_slack, _by("class-programme")),
    Step("first search", "both", lambda b: True, _first_search, lambda b: b.hurried, lambda b: b.first_search_s),
    Step("core-patterns", "proof", lambda b: b.configurations is not None, _core_patterns),
    Step("assignment", "proof", lambda b: b.assignable, _assignment),
    Step("class-programme", "proof", lambda b: b.classed and not b.by_slack, _by("class-programme")),
    Step("patterns", "proof", lambda b: b.classed, _by("patterns")),
    Step("columns", "proof", lambda b: b.few_for_columns and not b.assignable, _by("columns")),
    Step("interval", "proof", lambda b: b.exact, _by("interval")),
    Step("search", "search", lambda b: b.searches_again, _last_search, _never),
)
"""Steps in the order in which they are asked."""
