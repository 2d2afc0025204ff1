"""The route that `solve` takes by itself: bound, search, and the exact model that fits the bag."""

from __future__ import annotations

from collections.abc import Callable

from ...heuristics.bags.annealing import SearchOptions
from ...heuristics.bags.lanes import first_plan
from ...heuristics.bags.search import search
from ...instances.instance import Instance
from ...schedules.method import Outcome, Run
from .facts import Facts
from .methods import find_method, make_options
from .route import Route, Step

_MOVES_OF_TINY = 20_000


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
    facts.first = first_plan(facts.instance)
    return facts.first


def _configurations(facts: Facts, part: Run) -> Outcome:
    from ...bounds.bags.configuration_bound import configuration_bound  # here, as below, since few bags ask for it

    facts.configurations = configuration_bound(facts.instance)
    return Outcome(None, bound=facts.configurations.objective)


def _core_patterns(facts: Facts, part: Run) -> Outcome:
    from ...bounds.bags.core_pattern_bound import core_pattern_bound

    assert facts.configurations is not None, "the step before it has them"
    enough = part.enough(part.incumbent.objective)
    return Outcome(None, bound=core_pattern_bound(facts.instance, facts.configurations, enough))


def _by(name: str) -> Callable[[Facts, Run], Outcome]:
    """Return the step that asks a method."""

    def ask(facts: Facts, part: Run) -> Outcome:
        method = find_method(name)
        return method.run(facts.instance, make_options(method, {}), part)

    return ask


def _first_search(facts: Facts, part: Run) -> Outcome:
    options = SearchOptions(_MOVES_OF_TINY if facts.is_proved_soon else None)
    if facts.from_state:
        return search(facts.instance, options, part)
    return search(facts.instance, options, part, facts.first, bursts=not facts.few_classes, goes_on=False)


def _last_search(facts: Facts, part: Run) -> Outcome:
    return search(facts.instance, SearchOptions(), part, facts.first)


def _never(facts: Facts) -> bool:
    """Return False: a step that takes as long as it takes, and leaves no time to others."""
    return False


STEPS = (
    Step("first plan", "start", lambda b: b.plan_first, _first_plan, _never),
    Step("configurations", "proof", lambda b: b.binds, _configurations),
    Step("slack-fleets", "proof", lambda b: b.by_slack, _by("class-programme")),
    Step("first search", "both", lambda b: True, _first_search, lambda b: b.hurried, lambda b: b.first_search_s),
    Step("core-patterns", "proof", lambda b: b.configurations is not None, _core_patterns),
    Step("class-programme", "proof", lambda b: b.classed and not b.by_slack, _by("class-programme")),
    Step("patterns", "proof", lambda b: b.classed, _by("patterns")),
    Step("columns", "proof", lambda b: b.few_for_columns, _by("columns")),
    Step("interval", "proof", lambda b: b.exact, _by("interval")),
    Step("search", "search", lambda b: b.searches_again, _last_search, _never),
)
"""In the order in which they are asked."""
