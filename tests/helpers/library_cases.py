"""The instances of the library as parameters of tests."""

from __future__ import annotations

from typing import Any

import pytest

from spotbag.instances.library import library_names

_LONG = frozenset({"memory-bound/1000", "memory-bound/1000-of-8"})


def library_cases() -> list[Any]:
    """Names of all instances; where longest task first takes seconds, the test is a slow one."""
    return [pytest.param(name, marks=pytest.mark.slow) if name in _LONG else name for name in library_names()]
