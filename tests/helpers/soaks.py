"""Long looks at random cases: the continuous integration looks at a sample, `pytest -m soak` at all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy


def soak(sample: int, whole: int) -> pytest.MarkDecorator:
    """Parametrise a test by ``how_many`` cases it looks at: a sample is slow, the whole is a soak."""
    return pytest.mark.parametrize(
        "how_many",
        [pytest.param(sample, marks=pytest.mark.slow), pytest.param(whole, marks=pytest.mark.soak)],
    )


def some(cases: Sequence[Any], fast: int) -> list[Any]:
    """Mark all but the first few cases of a parametrised test as slow."""
    return [*cases[:fast], *(pytest.param(case, marks=pytest.mark.slow) for case in cases[fast:])]


def soak_of(*strategies: SearchStrategy[Any], sample: int, whole: int) -> Callable[[Callable[..., None]], Any]:
    """Make a soak of a test whose last arguments hypothesis draws."""

    def decorate(test: Callable[..., None]) -> Any:
        runs = {
            how_many: settings(max_examples=how_many, deadline=None, suppress_health_check=list(HealthCheck))(
                given(*strategies)(test)
            )
            for how_many in (sample, whole)
        }

        @soak(sample, whole)
        def parametrised(how_many: int) -> None:
            runs[how_many]()

        return parametrised

    return decorate
