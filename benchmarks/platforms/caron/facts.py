"""Facts for the prose of the page: settings that are not printed, and the draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...paper_result import PublishedComparisonResult
from .bounds import bound_draws
from .runs import grid_settings
from .sensitivity import LEAST_EXPONENT
from .settings import BUDGETS, GRID_BUDGETS, GRID_PROCESSORS, PROCESSORS, SETS, CaronOptions


def caron_facts(results: Mapping[str, PublishedComparisonResult]) -> dict[str, Any]:
    """Return the values of the page's template."""
    result = next(iter(results.values()))
    options = CaronOptions(runs=result.about["runs"], numbers=tuple(result.about["numbers"]))
    worth = round(PROCESSORS**LEAST_EXPONENT)
    return {
        "worth": worth,
        "worth_price": f"{PROCESSORS / worth:.1f}",
        "largest": {f"{max(options.numbers)} jobs"},
        "two_numbers": {f"{number} jobs" for number in sorted(options.numbers)[::2][-2:]},
        "grid_settings": len(grid_settings(options)) // len(SETS),
        "grid_draws": options.draws_over_the_grid,
        "grid_processors": _listed(map(str, GRID_PROCESSORS)),
        "grid_numbers": _listed(map(str, options.numbers)),
        "grid_budgets": _listed(_range(budgets) for budgets in GRID_BUDGETS),
        "processors": PROCESSORS,
        "own_budgets": _range(BUDGETS),
        "bound_draws": bound_draws(options),
    }


def _range(budgets: tuple[float, float]) -> str:
    low, high = budgets
    return f"{low:g} to {high:g}"


def _listed(words: Iterable[str]) -> str:
    """Several words, the last one after an "or"."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
