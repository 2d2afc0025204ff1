"""Compiling inner loops with numba, cached on disk where that is possible.

A loop is compiled where it is used first, and a user waits for that once: so it is told apart what Python calls and
what only compiled loops call. The means by which Python calls a function take as long to compile as the function.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.caching import FunctionCache
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from .limits import LimitReached, current_limit, overtime
from .processes import COMPILING, run_in_thread

Function = TypeVar("Function", bound=Callable[..., Any])


# numba's own parts have no types.
_cgutils: Any = cgutils
_types: Any = types
_carray: Any = cast(Any, numba).carray
_config: Any = cast(Any, numba).config
_FunctionCache: Any = FunctionCache

_LEAVE_AFTER_S = 0.3
"""Seconds in which a function that was compiled before is surely read."""

_OPTIONS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
_PART = {"no_cpython_wrapper": True}


def compiled(function: Function) -> Function:
    """Compile a function when it is first called; later processes find it in the cache while no part of it changes.

    Where it cannot be kept (no folder to write to, a full disk), it is compiled anew in every process. The plain
    function stays reachable as ``function.py_func``. While it runs, other threads can: `core.processes.run_compiled`
    ends it by one of them. Whoever asks work to stop does not wait until it is compiled.
    """
    made = _by_types(numba.njit(**_OPTIONS)(function))
    with suppress(RuntimeError):  # no place for a cache
        made._cache = _Cache(made)
    made._compile_for_args = partial(_compile, made._compile_for_args)
    return cast(Function, made)


def _by_types(made: Any) -> Any:
    """Have a function compiled once for all numbers of a type; numba compiles it again for each that is written out."""
    resolve = made.get_call_template

    def resolve_by_types(given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return resolve(tuple(map(_types.unliteral, given)), {key: _types.unliteral(of) for key, of in named.items()})

    made.get_call_template = resolve_by_types
    return made


class _Cache(_FunctionCache):  # type: ignore[misc]
    """Files of a compiled loop; what cannot be read or written is as if it were not there.

    They are valid for the loop as it is in this process, with all that it is made of. Numba by itself looks only at the
    file in which the loop stands, and goes on with parts and constants that have changed in others.
    """

    def __init__(self, loop: Any) -> None:
        super().__init__(loop.py_func)
        self._loop = loop

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Read what was compiled; None if there is nothing."""
        self._cache_file._source_stamp = fingerprint(self._loop)  # what is compiled now is saved by it, too
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # files that were cut or damaged fail in any way
            self._forget()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write what was compiled."""
        try:
            super().save_overload(sig, data)
        except Exception:
            self._forget()

    def is_filled(self) -> bool:
        """Whether anything that was compiled is there."""
        self._cache_file._source_stamp = fingerprint(self._loop)
        try:
            return bool(self._cache_file._load_index())  # numba has no other way to ask
        except Exception:
            return False

    def _forget(self) -> None:
        """Take away the index: it might name a file that was not written, or one of another version of the function."""
        with suppress(OSError):
            os.unlink(self._cache_file._index_path)


def parts_of(loop: Any) -> dict[FunctionType, dict[str, Any]]:
    """Return the parts of a compiled loop.

    Returns
    -------
    dict
        The plain function of the loop and of all parts that it calls, directly or not; for each, the values of the
        names that it uses from outside: parts, constants, types, modules.
    """
    parts: dict[FunctionType, dict[str, Any]] = {}
    left = [_plain(loop)]
    while left:
        function = left.pop()
        if function is not None and function not in parts:
            parts[function] = dict(_used_by(function))
            left += map(_plain, parts[function].values())
    return parts


def _plain(value: Any) -> FunctionType | None:
    """Return the function that is compiled, or that writes code (`records_of`); None for all other values."""
    function = getattr(value, "py_func", getattr(value, "_defn", value))
    if not isinstance(function, FunctionType) or (function is value and not _is_ours(function.__module__)):
        return None  # numba replaces functions of others by its own
    return function


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == __name__.partition(".")[0]


def _used_by(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name in _names(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def fingerprint(loop: Any) -> str:
    """Return a digest of all that a compiled loop is made of, and of how it is compiled.

    It is of the code and the values in this process, not of files, which may have changed since they were imported.
    """
    parts = parts_of(loop)
    values = {id(value): value for uses in parts.values() for value in uses.values()}
    texts = {key: repr(_described(value)) for key, value in values.items()}  # once, however often it is used
    digest = hashlib.sha256(repr((_config.BOUNDSCHECK, _described(loop))).encode())
    for function, uses in parts.items():
        digest.update(repr((_described(function.__code__), _described(function.__defaults__))).encode())
        digest.update(repr({name: texts[id(value)] for name, value in uses.items()}).encode())
    return digest.hexdigest()


def _described(value: Any) -> Any:
    """Return something whose `repr` is the same in all processes, and only for equal values."""
    match value:
        case tuple():
            return tuple(map(_described, value))
        case frozenset():
            return sorted(repr(_described(one)) for one in value)
        case CodeType():
            names = (value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars, value.co_argcount)
            return value.co_code, value.co_exceptiontable, names, _described(value.co_consts)
        case np.ndarray():
            return value.dtype, value.shape, value.tobytes()
        case type():
            return value.__module__, value.__qualname__, getattr(value, "_fields", ())
        case Dispatcher():
            return _described(value.py_func), sorted(value.targetoptions.items())
        case FunctionType() | BuiltinFunctionType():
            return value.__module__, value.__qualname__
        case ModuleType() if not _is_ours(value.__name__):
            return value.__name__
        case None | bool() | int() | float() | complex() | str() | bytes() | range() | np.generic() | np.dtype():
            return type(value).__name__, value
        case types.Type() | ir.Type():
            return str(value)
    if (function := _plain(value)) is not None:  # an intrinsic
        return _described(function)
    raise TypeError(f"a compiled loop uses {value!r}: import single names, of functions and constants")


def _compile(compile_for: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Compile a function for its arguments: in a thread, which is left to itself when the work is asked to stop.

    Raises
    ------
    LimitReached
        If it is.
    """
    if not current_limit().stops:
        return compile_for(*given, **named)
    made: list[Any] = []
    with overtime(math.inf):  # what is compiled is there the next time
        ended = run_in_thread(
            lambda: made.append(compile_for(*given, **named)),
            lambda: None,
            leave_after_s=_LEAVE_AFTER_S,
            name=COMPILING,
        )
    if not ended:
        raise LimitReached
    return made[0]


def is_ready(function: Any) -> bool:
    """Whether a compiled function can be called without compiling it: it is in this process, or in the cache."""
    return bool(function.signatures) or (isinstance(function._cache, _Cache) and function._cache.is_filled())


def compiled_part(function: Function) -> Function:
    """Compile a function that only compiled ones call; it is kept in their cache. Python cannot call it."""
    return cast(Function, _by_types(numba.njit(**_OPTIONS | _PART)(function)))


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
