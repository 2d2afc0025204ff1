"""Compiling inner loops with numba, cached on disk where that is possible.

A loop is compiled where it is used first, and a user waits for that once: so it is told apart what Python calls and
what only compiled loops call. The means by which Python calls a function take as long to compile as the function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])


# numba's own parts have no types.
_cgutils: Any = cgutils
_types: Any = types
_carray: Any = cast(Any, numba).carray

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


def is_ready(function: Any) -> bool:
    """Whether a compiled function can be called without compiling it: it is in this process, or in the cache."""
    if function.signatures:
        return True
    file = getattr(getattr(function, "_cache", None), "_cache_file", None)
    return file is not None and bool(file._load_index())  # numba has no other way to ask


def compiled_part(function: Function) -> Function:
    """Compile a function that only compiled ones call; it is kept in their cache. Python cannot call it."""
    return cast(Function, numba.njit(**_OPTIONS | _PART)(function))


def inlined_part(function: Function) -> Function:
    """Compile a function into the only one that calls it."""
    return cast(Function, numba.njit(**_OPTIONS | _PART | {"inline": "always"})(function))


def records_of(context: np.dtype[Any], field: str, dtype: np.dtype[Any], columns: str | None = None) -> Any:
    """Return what gives compiled loops a record of an array whose address in memory is in another record.

    A loop with much state hands on one record with addresses instead of many arrays, which take long to compile and are
    counted at each call. Nothing checks the number, and whoever calls the loop keeps the arrays alive.

    Parameters
    ----------
    context : dtype
        Of the record that is handed on.
    field : str
        In which of its fields the address is.
    dtype : dtype
        Of the records of the array.
    columns : str, optional
        Of an array of two dimensions: the field with the length of its rows.

    Returns
    -------
    intrinsic
        Takes the record that is handed on, and the number of the record, or its row and column.
    """
    record, holder = numba.from_dtype(dtype), numba.from_dtype(context)
    number = ir.IntType(64)

    def load(builder: Any, pointer: Any, name: str) -> Any:
        offset = holder.offset(name)
        return builder.load(_cgutils.get_record_member(builder, pointer, offset, number))

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = arguments[1]
        if columns is not None:
            place = builder.add(builder.mul(place, load(builder, arguments[0], columns)), arguments[2])
        offset = builder.mul(place, ir.Constant(number, dtype.itemsize))
        return builder.inttoptr(builder.add(load(builder, arguments[0], field), offset), target.get_value_type(record))

    if columns is None:

        @intrinsic
        def at(typing_context: Any, r: Any, k: Any) -> Any:
            return record(holder, _types.int64), generate

    else:

        @intrinsic
        def at(typing_context: Any, r: Any, row: Any, column: Any) -> Any:
            return record(holder, _types.int64, _types.int64), generate

    return at


def _pointer_of(typing_context: Any, address: Any) -> Any:
    pointer = _types.CPointer(_types.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(pointer))

    return pointer(_types.int64), generate


_pointer: Any = intrinsic(_pointer_of)


@compiled_part
def numbers_at(address: int, row: int, length: int) -> Any:
    """Return a row of a table of 64-bit whole numbers, for compiled loops; see `records_of`."""
    return _carray(_pointer(address + 8 * row * length), (length,))
