"""The route that `solve` takes by itself: bound, search, and the exact model that fits the bag."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...bounds.bags.configuration_bound import configuration_bound
from ...bounds.bags.core_pattern_bound import core_pattern_bound
from ...core.gaps import closes_gap
from ...core.limits import seconds_left
from ...heuristics.bags.core_pattern_starts import MOST_CLASSES as MOST_CLASSES_OF_STARTS
from ...heuristics.bags.lanes import first_plan
from ...heuristics.bags.search import SearchOptions, search
from ...instances.instance import Instance
from ...schedules.method import Outcome, Run
from .budget import BUDGET
from .class_programme_method import ClassProgrammeOptions, class_programme
from .columns_method import ColumnOptions, columns
from .facts import Facts
from .interval_method import IntervalOptions, interval
from .patterns_method import PatternOptions, patterns
from .route import Route, Step

_MOVES_OF_TINY = 20_000
_MOVES_BEFORE_PATTERNS = 300_000
_WIDE_GAP = 0.015


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
    return Route(instance, run).go(STEPS)


def _first_plan(facts: Facts, part: Run) -> Outcome:
    facts.first = first_plan(facts.instance)
    return facts.first


def _configurations(facts: Facts, part: Run) -> Outcome:
    facts.configurations = configuration_bound(facts.instance)
    return Outcome(None, bound=facts.configurations.objective)


def _core_patterns(facts: Facts, part: Run) -> Outcome:
    assert facts.configurations is not None, "the step before it has them"
    enough = part.enough(part.incumbent.objective)
    return Outcome(None, bound=core_pattern_bound(facts.instance, facts.configurations, enough))


def _class_programme(facts: Facts, part: Run) -> Outcome:
    return class_programme(facts.instance, ClassProgrammeOptions(), part)


def _patterns(facts: Facts, part: Run) -> Outcome:
    return patterns(facts.instance, PatternOptions(), part)


def _columns(facts: Facts, part: Run) -> Outcome:
    return columns(facts.instance, ColumnOptions(), part)


def _interval(facts: Facts, part: Run) -> Outcome:
    return interval(facts.instance, IntervalOptions(), part)


def _first_search(facts: Facts, part: Run) -> Outcome:
    if facts.from_state:
        return search(facts.instance, SearchOptions(_MOVES_OF_TINY if facts.is_proved_soon else None), part)
    moves: int | None = None
    if facts.is_proved_soon:
        moves = _MOVES_OF_TINY if facts.class_programme or facts.tiny else _MOVES_BEFORE_PATTERNS
    options = SearchOptions(moves)
    return search(facts.instance, options, part, facts.first, bursts=not facts.few_classes, goes_on=False)


def _last_search(facts: Facts, part: Run) -> Outcome:
    return search(facts.instance, SearchOptions(), part, facts.first)


def _share_of_first_search(facts: Facts) -> float | None:
    """Share of the first search: all, unless proofs are likely that need time."""
    if not facts.hurried:
        return None
    if facts.from_state or facts.cores_alone or facts.few_classes:
        return BUDGET.search_before_proofs
    if facts.small:
        share, most_s = BUDGET.search_before_proofs, BUDGET.search_of_small_s
    elif facts.memory_free and facts.few_for_columns:
        share, most_s = BUDGET.search_of_columns, BUDGET.search_of_columns_s
    elif facts.middling:
        share, most_s = BUDGET.search_of_middling, BUDGET.search_of_middling_s
    elif facts.few_for_columns:
        return BUDGET.search_of_classes if facts.n_classes <= MOST_CLASSES_OF_STARTS else BUDGET.search_of_many
    else:
        return None
    return min(share, most_s / max(seconds_left() or 0.0, most_s))


def _share_of_slack(facts: Facts) -> float:
    return BUDGET.slack_of_threshold if facts.run.threshold > -math.inf else BUDGET.slack


def _share_of_patterns(facts: Facts) -> float:
    return BUDGET.patterns_of_few if facts.few_classes else BUDGET.patterns


def _share_of_interval(facts: Facts) -> float:
    return BUDGET.interval_before_search if facts.goes_on else 1.0


def _share_of_columns(facts: Facts) -> float:
    if facts.goes_on:
        known = facts.run.incumbent
        wide = facts.memory_free and not closes_gap(known.objective, known.bound, _WIDE_GAP)
        return BUDGET.columns_of_wide_gap if wide else BUDGET.columns_between_searches
    return BUDGET.columns if facts.exact else 1.0


STEPS = (
    Step("first plan", "search", lambda b: b.plan_first, lambda b: None, _first_plan),
    Step("configurations", "proof", lambda b: b.binds, lambda b: BUDGET.configurations, _configurations),
    Step("slack-fleets", "proof", lambda b: b.by_slack, _share_of_slack, _class_programme),
    Step("first search", "search", lambda b: True, _share_of_first_search, _first_search),
    Step(
        "core-patterns",
        "proof",
        lambda b: b.configurations is not None,
        lambda b: BUDGET.core_patterns,
        _core_patterns,
    ),
    Step(
        "class-programme",
        "proof",
        lambda b: b.classed and not b.by_slack,
        lambda b: BUDGET.class_programme,
        _class_programme,
    ),
    Step("patterns", "proof", lambda b: b.classed, _share_of_patterns, _patterns),
    Step("columns", "proof", lambda b: b.few_for_columns, _share_of_columns, _columns),
    Step("interval", "proof", lambda b: b.exact, _share_of_interval, _interval),
    Step("search", "search", lambda b: b.searches_again, lambda b: None, _last_search),
)
"""In the order in which they are asked."""
