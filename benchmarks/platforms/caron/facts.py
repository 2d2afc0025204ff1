"""What the section of the docs says beside the tables: the settings that are not printed, and of which draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...paper_result import PublishedComparisonResult
from .bounds import bound_draws
from .runs import grid_settings
from .settings import GRID_BUDGETS, GRID_NUMBERS, GRID_PROCESSORS, SETS, CaronOptions


def caron_facts(results: Mapping[str, PublishedComparisonResult]) -> dict[str, Any]:
    """Return what the template needs."""
    [result] = results.values()
    options = CaronOptions(runs=result.about["runs"])
    return {
        "largest": {f"{max(result.about['numbers'])} jobs"},
        "grid_settings": len(grid_settings(options)) // len(SETS),
        "grid_draws": options.grid_draws,
        "grid_processors": _listed(map(str, GRID_PROCESSORS)),
        "grid_numbers": _listed(map(str, GRID_NUMBERS)),
        "grid_budgets": _listed(f"{low:g} to {high:g}" for low, high in GRID_BUDGETS),
        "bound_draws": bound_draws(options),
    }


def _listed(words: Iterable[str]) -> str:
    """Several words, the last one after an "or"."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
