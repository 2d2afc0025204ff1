"""The route that `solve` takes by itself: bound, search, and the exact model that fits the bag."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from ...core.errors import ModelRefusal, SpotbagError
from ...core.gaps import closes_gap
from ...core.limits import LimitReached, checkpoint, out_of_time, seconds_left, within
from ...heuristics.bags.core_pattern_starts import MOST_CLASSES as MOST_CLASSES_OF_STARTS
from ...heuristics.bags.greedy import greedy
from ...heuristics.bags.search import SearchOptions, bursting_pays, search
from ...instances.instance import Instance
from ...models.bags.configuration_bound import ConfigurationBound, configuration_bound
from ...models.bags.core_pattern_bound import core_pattern_bound
from ...models.bags.patterns import MOST_CLASSES
from ...models.bags.task_classes import memory_is_free, offers_of_vms, task_classes, usable_offers
from ...schedules.method import Outcome, Run, TracePoint
from .class_programme_method import (
    ClassProgrammeOptions,
    class_programme,
    cost_counts_alone,
    has_small_class_programme,
)
from .columns_method import MOST_CLASSES as MOST_CLASSES_OF_COLUMNS
from .columns_method import ColumnOptions, columns
from .core_counts_method import CoreCountOptions, core_counts, has_small_core_counts
from .infeasible import explain
from .interval_method import IntervalOptions, interval
from .patterns_method import PatternOptions, patterns

_PATIENCE_S = 30.0
"""Seconds that the exact steps take at most if there is no time limit."""

_QUICK_TASKS = 3_000
_FEW_CLASSES = 12
_TINY = 12
_SMALL = 20
_MIDDLING = 60
_SMALL_SEARCH_S, _SEARCH_OF_MIDDLING_S, _SEARCH_BEFORE_COLUMNS_S = 1.0, 5.0, 10.0
"""Seconds of the first search, at most, of bags that exact steps may prove; there is another at the end."""
_MOST_FROM_STATE = 60
_MOVES_OF_TINY = 20_000
_MOVES_BEFORE_PATTERNS = 300_000
_SHARE_OF_CORE_PATTERNS = 0.4
_WIDE_GAP = 0.015
_SHARE_OF_COLUMNS = 0.3, 0.9
"""Of columns between two long searches; the second where the gap is wide, which is the bound's doing as a rule."""

_Step = Callable[[Run], Outcome]


@dataclass(frozen=True, slots=True)
class AutoOptions:
    """The route has no options."""


def auto(instance: Instance, options: AutoOptions, run: Run) -> Outcome:
    """Plan by the divisible bound, the search, and exact models as long as they are worth a try.

    Every step gets the best plan so far; the best plan and the best bound of all steps are returned.

    Parameters
    ----------
    instance : Instance
        With D_spot set.
    options : AutoOptions
        None.
    run : Run
        Limits. Without a time limit, the exact steps take 30 s at most.
    """
    route = _Route(instance, run)
    if instance.machines:
        _from_state(route)
        return route.outcome()
    with suppress(LimitReached):  # then the best plan and bound so far
        limited = seconds_left() is not None
        of_greedy: Outcome | None = None
        if limited or instance.n_tasks <= _QUICK_TASKS:  # a plan first, then a better one
            of_greedy = route.take(lambda part: greedy(instance), patient=True)
            checkpoint()
        classes = task_classes(instance)
        checkpoint()
        memory_free = memory_is_free(instance)
        few = memory_free and len(classes) <= _FEW_CLASSES
        tiny = instance.n_tasks <= _TINY
        burstable = any(offer.burstable for offer in usable_offers(instance))
        assigned = not memory_free or (burstable and bursting_pays(instance))  # a search that uses all its time
        classed = memory_free and len(classes) <= MOST_CLASSES
        counts_first = classed and has_small_core_counts(instance, route.known.schedule)
        short: int | None = None  # a short search is enough where proofs are quick; under a limit they may not come
        if (classed and has_small_class_programme(instance)) or (tiny and not limited):
            short = _MOVES_OF_TINY
        elif few and not limited:
            short = _MOVES_BEFORE_PATTERNS
        configurations: ConfigurationBound | None = None
        if not memory_free or (assigned and not few and instance.n_tasks <= _MIDDLING):

            def configure(part: Run) -> Outcome:
                nonlocal configurations
                configurations = configuration_bound(instance)
                return Outcome(None, bound=configurations.objective)

            route.take(configure, share=0.5)
        by_slack = classed and cost_counts_alone(instance) and not has_small_class_programme(instance)
        if by_slack:  # proved in less time than a search takes, as a rule
            share = 0.2 if run.threshold == -math.inf else 0.7  # a bound above a threshold comes from nothing else
            route.take(lambda part: class_programme(instance, ClassProgrammeOptions(), part), share)
        hurried = limited and short is None and counts_first  # a small model is worth more than the end of a search
        small = instance.n_tasks <= _SMALL
        if limited and assigned and short is None and not few:
            hurried, share, most_s = True, 1.0, math.inf  # where nothing else can prove anything, all the time
            if small:
                share, most_s = 0.3, _SMALL_SEARCH_S
            elif memory_free and len(classes) <= MOST_CLASSES_OF_COLUMNS:
                share, most_s = 0.5, _SEARCH_BEFORE_COLUMNS_S
            elif instance.n_tasks <= _MIDDLING:
                share, most_s = 0.4, _SEARCH_OF_MIDDLING_S
            elif len(classes) <= MOST_CLASSES_OF_COLUMNS:
                share = 0.8 if len(classes) <= MOST_CLASSES_OF_STARTS else 0.6
            share = min(share, most_s / max(seconds_left() or 0.0, most_s))
        else:
            share = 0.3 if hurried else 1.0
        route.take(
            lambda part: search(instance, SearchOptions(short), part, of_greedy, bursts=not few, goes_on=False),
            share,
            patient=not hurried,
        )
        if configurations is not None:
            known = configurations
            route.take(
                lambda part: Outcome(
                    None, bound=core_pattern_bound(instance, known, part.enough(route.known.objective))
                ),
                share=_SHARE_OF_CORE_PATTERNS,
            )
        more = small or not memory_free  # whether something follows the columns
        again = limited and assigned and not small and not few  # whether the search goes on at the end for long
        if classed and not by_slack:
            route.take(lambda part: class_programme(instance, ClassProgrammeOptions(), part), share=0.3)
        if counts_first:
            route.take(lambda part: core_counts(instance, CoreCountOptions(), part), share=0.5)
        if classed:
            route.take(lambda part: patterns(instance, PatternOptions(), part), share=1.0 if few else 0.4)
        if len(classes) <= MOST_CLASSES_OF_COLUMNS:
            share = 0.7 if more else 1.0
            if again:
                wide = memory_free and not closes_gap(route.known.objective, route.known.bound, _WIDE_GAP)
                share = _SHARE_OF_COLUMNS[wide]
            route.take(lambda part: columns(instance, ColumnOptions(), part), share)
        if small and memory_free and not burstable and not counts_first:
            route.take(lambda part: core_counts(instance, CoreCountOptions(), part), share=0.5)
        if more:
            route.take(lambda part: interval(instance, IntervalOptions(), part), share=0.6 if again else 1.0)
        if short is not None or limited:
            route.take(lambda part: search(instance, SearchOptions(), part, of_greedy), patient=True)
    return route.outcome()


def _from_state(route: _Route) -> None:
    """Plan with machines: the bound and the search, then the exact models that know them."""
    instance = route.instance
    n_open, memory_free = len(instance.open_tasks), memory_is_free(instance)
    burstable = any(offer.burstable for offer in offers_of_vms(instance))
    few = n_open <= _SMALL or len(task_classes(instance, from_state=True)) <= _FEW_CLASSES
    counted = few and memory_free and not burstable
    exact = n_open <= _MOST_FROM_STATE or not memory_free
    hurried = exact and seconds_left() is not None
    short = n_open <= _TINY or counted  # proofs are quick there
    with suppress(LimitReached):
        if short:
            route.take(lambda part: search(instance, SearchOptions(_MOVES_OF_TINY), part), patient=True)
        if counted:
            route.take(lambda part: core_counts(instance, CoreCountOptions(), part), share=0.4)
        if not short:
            share = 0.4 if hurried else 1.0
            route.take(lambda part: search(instance, SearchOptions(), part), share, patient=not hurried)
        if exact:
            route.take(lambda part: interval(instance, IntervalOptions(), part))
        if short or hurried:
            route.take(lambda part: search(instance, SearchOptions(), part), patient=not hurried)


class _Route:
    """The best plan and bound so far, handed from step to step."""

    def __init__(self, instance: Instance, run: Run) -> None:
        self.instance = instance
        self.run = run
        self.known = run.incumbent
        self.known.take(run.initial)
        self.explanation = ""
        self.warnings: tuple[str, ...] = ()
        self.failures: tuple[str, ...] = ()
        self._iterations = self._iterations_before = 0
        self._patience_ends: float | None = None

    def finished(self) -> bool:
        """Whether nothing is left to be done."""
        known = self.known
        return out_of_time() or known.bound == math.inf or self.run.answered(known.objective, known.bound)

    def take(self, step: _Step, share: float = 1.0, patient: bool = False) -> Outcome | None:
        """Run a step, unless the gap is closed, and keep what is better; a refusal or a failure ends the step only.

        What it came to is returned, unless it was not run to its end.

        It gets a share of the time that is left; a patient one gets all of it, and goes on to its end without a limit.
        """
        if self.finished():
            return None
        left = None if patient else self._patience_s(share)
        began = time.perf_counter()
        self._iterations_before = self._iterations
        part = replace(self.run, initial=self.known.schedule, on_progress=self._progress)
        try:
            with within(left):
                outcome = step(part)
        except (ModelRefusal, LimitReached):  # plans and bounds of a step that was cut short are known already
            return None
        except SpotbagError as error:  # what is known so far is the answer all the same
            self.failures = (*self.failures, f"a step of auto failed: {error}")
            return None
        finally:
            if patient and self._patience_ends is not None:
                self._patience_ends += time.perf_counter() - began  # such as a minute of compiling on a busy machine
        self.known.take(outcome.schedule)
        if outcome.bound is not None:
            self.known.raise_bound(outcome.bound)
        self.explanation = outcome.explanation or self.explanation
        self.warnings = outcome.warnings
        return outcome

    def _patience_s(self, share: float) -> float:
        """Share of the seconds that are left for exact steps."""
        left = seconds_left()
        if left is None:
            now = time.perf_counter()
            self._patience_ends = self._patience_ends or now + _PATIENCE_S
            left = max(self._patience_ends - now, 0.0)
        return share * left

    def _progress(self, point: TracePoint, planned: int) -> None:
        """Pass on where a step stands, with what the steps before it have found."""
        best = min(point.best, self.known.objective)
        bound = max(self.known.bound, -math.inf if point.bound is None else point.bound)
        self._iterations = self._iterations_before + point.iteration
        known = bound if bound > -math.inf else None
        self.run.report(replace(point, iteration=self._iterations, best=best, bound=known), planned)

    def outcome(self) -> Outcome:
        """What all steps came to."""
        best, bound = self.known.schedule, self.known.bound
        if best is None and bound == math.inf:
            self.explanation = explain(self.instance)
        return Outcome(
            best,
            self.explanation if best is None else "",
            (*self.warnings, *self.failures),
            None if bound == -math.inf else bound,
        )
