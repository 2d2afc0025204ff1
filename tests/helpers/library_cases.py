"""The instances of the library as parameters of tests."""

from __future__ import annotations

from typing import Any

import pytest

from spotbag.instances.library import library_names


def library_cases() -> list[Any]:
    """Names of all instances; the fast tests have two of each family, the others are slow ones."""
    cases: list[Any] = []
    of_family: dict[str, int] = {}
    for name in library_names():
        family = name.split("/")[0]
        of_family[family] = of_family.get(family, 0) + 1
        # Of a thousand tasks longest task first takes seconds; of many bursts their bound does.
        fast = of_family[family] <= 2 and not name.endswith(("/1000", "/1000-of-8", "-heavy"))
        cases.append(name if fast else pytest.param(name, marks=pytest.mark.slow))
    return cases
