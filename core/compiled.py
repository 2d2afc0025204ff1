"""Compiling inner loops with numba, cached on disk where that is possible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """Compile a function when it is first called; later processes find it in the cache.

    Without any folder to write to, it is compiled anew in every process. The plain function stays reachable as
    ``function.py_func``. While it runs, other threads can: `core.processes.run_compiled` ends it by one of them.
    """
    try:
        return cast(Function, numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # no place for a cache
        return cast(Function, numba.njit(nogil=True)(function))
