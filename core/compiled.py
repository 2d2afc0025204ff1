"""Compiling inner loops with numba, cached on disk where that is possible.

A loop is compiled where it is used first, and a user waits for that once: so it is told apart what Python calls and
what only compiled loops call. The means by which Python calls a function take as long to compile as the function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


_OPTIONS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
_PART = {"no_cpython_wrapper": True}


def compiled(function: Function) -> Function:
    """Compile a function when it is first called; later processes find it in the cache.

    Without any folder to write to, it is compiled anew in every process. The plain function stays reachable as
    ``function.py_func``. While it runs, other threads can: `core.processes.run_compiled` ends it by one of them.
    """
    try:
        return cast(Function, numba.njit(cache=True, **_OPTIONS)(function))
    except RuntimeError:  # no place for a cache
        return cast(Function, numba.njit(**_OPTIONS)(function))


def compiled_part(function: Function) -> Function:
    """Compile a function that only compiled ones call; it is kept in their cache. Python cannot call it."""
    return cast(Function, numba.njit(**_OPTIONS | _PART)(function))


def inlined_part(function: Function) -> Function:
    """Compile a function into the only one that calls it."""
    return cast(Function, numba.njit(**_OPTIONS | _PART | {"inline": "always"})(function))
