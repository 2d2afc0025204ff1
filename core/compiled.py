"""Compiling inner loops with numba, cached on disk where that is possible.

A loop is compiled where it is used first, and a user waits for that once: so it is told apart what Python calls and
what only compiled loops call. The means by which Python calls a function take as long to compile as the function.
"""

# mypy: disable-error-code="misc, no-untyped-call, attr-defined, untyped-decorator"
# numba's own parts have no types.
from __future__ import annotations

import hashlib
import math
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import types
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.dispatcher import Dispatcher
from numba.core.typed_passes import NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes, ReconstructSSA
from numba.extending import register_jitable

from . import bill, capacities
from .limits import LimitReached, Stopwatch, current_limit, overtime
from .processes import COMPILING, NOT_KEPT, no_collection, run_in_thread

Function = TypeVar("Function", bound=Callable[..., Any])


_LEAVE_AFTER_S = 0.3
"""Seconds in which a function that was compiled before is surely read."""


class _PartLibrary(JITCodeLibrary):
    """Code of a function that only compiled loops call: it is optimised and made ready with theirs, not by itself.

    Numba by itself makes machine code of each part with all that it calls, and of these parts again with what calls
    them: three quarters of what a loop of many parts took to compile.
    """

    def finalize(self) -> None:
        """Be ready to be linked."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Null address: no function of this process is in the part."""
        return 0

    @property
    def codegen(self) -> Any:
        """Stand-in for numba's code generator, which has no place for environments of functions that are not there."""
        return _NoEnvironments()


class _NoEnvironments:
    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: only what Python calls has an environment."""


class _LoopLibrary(JITCodeLibrary):
    """Code of a loop, with the parts that it calls, and those that they call."""

    _linking_libraries: list[Any]

    def finalize(self) -> None:
        """Link all parts, and make machine code."""
        parts, left = dict.fromkeys(self._linking_libraries), list(self._linking_libraries)
        while left:
            new = [part for part in left.pop()._linking_libraries if part not in parts]
            parts |= dict.fromkeys(new)
            left += new
        self._linking_libraries = list(parts)
        super().finalize()


class _RulesLibrary(_LoopLibrary):
    """Code of a loop of rules, which counts no references to arrays: it is not optimised once for these beforehand."""

    def _optimize_final_module(self) -> None:
        """Optimise all parts together."""
        passes, builder = self._codegen._module_pass_manager()
        passes.run(self._final_module, builder)


class _Compiler(CompilerBase):
    """Compiler of a loop with its parts."""

    library: Any = _LoopLibrary
    without: tuple[type[Any], ...] = ()

    def define_pipelines(self) -> list[Any]:
        """Return the steps of numba, but for some, for code of its own kind."""
        state = self.state
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        pipeline = DefaultPassBuilder.define_nopython_pipeline(state)
        pipeline.passes = [step for step in pipeline.passes if step[0] not in self.without]
        return [pipeline]


class _LongCompiler(_Compiler):
    """Compiler of a long loop: to name its variables anew at each assignment takes a sixth of the time."""

    without = (ReconstructSSA,)


class RulesCompiler(_Compiler):
    """Compiler of a loop of rules over rows."""

    library = _RulesLibrary


class _PartCompiler(_Compiler):
    """Compiler of a part, which is linked later."""

    library = _PartLibrary


class RulesPartCompiler(_PartCompiler):
    """Compiler of a part of a loop of rules, which has neither functions within it nor arithmetic of whole arrays."""

    without = (InlineClosureLikes, NopythonRewrites)


_OPTIONS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True, "pipeline_class": _Compiler}
_PART = {"no_cpython_wrapper": True, "pipeline_class": _PartCompiler}


def compiled(function: Function, compiler: type[_Compiler] = _Compiler) -> Function:
    """Compile a function when it is first called; later processes find it in the cache while no part of it changes.

    Where it cannot be kept (no folder to write to, a full disk), it is compiled anew in every process. The plain
    function stays reachable as ``function.py_func``. While it runs, other threads can: `core.processes.run_compiled`
    ends it by one of them. Whoever asks work to stop does not wait until it is compiled.
    """
    made = _by_types(numba.njit(**_OPTIONS | {"pipeline_class": compiler})(function))
    with suppress(RuntimeError):  # no place for a cache
        made._cache = _Cache(made)
    made._compile_for_args = partial(_compile_and_keep, made)
    return cast(Function, made)


def compiled_long(function: Function) -> Function:
    """Compile a long loop sooner than `compiled`: each of its variables has one type, and none begins as a constant."""
    return compiled(function, _LongCompiler)


class NotKeptWarning(UserWarning):
    """Each process compiles anew."""


_warned: list[str] = []


def keeps_loops() -> bool:
    """Return the answer whether compiled code of this process is found by others."""
    return not _warned


def _warn_that_nothing_is_kept(why: str) -> None:
    """Say, once in a process, that others will compile all anew."""
    if not _warned:
        _warned.append(why)
        text = f"{NOT_KEPT} ({why}): each process takes seconds to compile it anew"
        warnings.warn(f"{text}; let NUMBA_CACHE_DIR name a folder that can be written to", NotKeptWarning, stacklevel=2)


def _by_types(made: Any) -> Any:
    """Have a function compiled once for all numbers of a type; numba compiles it again for each that is written out."""
    resolve = made.get_call_template

    def resolve_by_types(given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return resolve(tuple(map(types.unliteral, given)), {key: types.unliteral(of) for key, of in named.items()})

    made.get_call_template = resolve_by_types
    return made


class _Cache(FunctionCache):
    """Files of a compiled loop; what cannot be read or written is as if it were not there.

    They are valid for the loop as it is in this process, with all that it is made of. Numba by itself looks only at the
    file in which the loop stands, and goes on with parts and constants that have changed in others.
    """

    def __init__(self, loop: Any) -> None:
        super().__init__(loop.py_func)
        self._loop = loop

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Read the machine code of a signature from the cache; None if there is none."""
        self._cache_file._source_stamp = fingerprint(self._loop)  # what is compiled now is saved by it, too
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # files that were cut or damaged fail in any way
            self._forget()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the machine code of a signature to the cache."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            self._forget()
            _warn_that_nothing_is_kept(str(error))

    def is_filled(self) -> bool:
        """True if the cache holds machine code of the function."""
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
            parts[function] = dict(used_by(function))
            left += map(_plain, parts[function].values())
    return parts


def _plain(value: Any) -> FunctionType | None:
    """Return the function that is compiled, or that writes code (`rows_from`); None for all other values."""
    function = getattr(value, "py_func", getattr(value, "_defn", value))
    if not isinstance(function, FunctionType) or (function is value and not is_ours(function.__module__)):
        return None  # numba replaces functions of others by its own
    return function


def is_ours(module: str) -> bool:
    """True for a module of this package, whose functions can be compiled."""
    return module.partition(".")[0] == __name__.partition(".")[0]


def used_by(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Return the names that a function uses from outside, and what they stand for."""
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
    texts = {key: repr(described(value)) for key, value in values.items()}  # once, however often it is used
    digest = hashlib.sha256(repr((numba.config.BOUNDSCHECK, described(loop))).encode())
    for function, uses in parts.items():
        digest.update(repr((described(function.__code__), described(function.__defaults__))).encode())
        digest.update(repr({name: texts[id(value)] for name, value in uses.items()}).encode())
    return digest.hexdigest()


def described(value: Any) -> Any:
    """Return an object with a ``repr`` that is equal in all processes for equal values, and only for these."""
    match value:
        case tuple():
            return tuple(map(described, value))
        case frozenset():
            return sorted(repr(described(one)) for one in value)
        case CodeType():
            names = (value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars, value.co_argcount)
            return value.co_code, value.co_exceptiontable, names, described(value.co_consts)
        case np.ndarray():
            return value.dtype, value.shape, value.tobytes()
        case type():
            return value.__module__, value.__qualname__, getattr(value, "_fields", ())
        case Dispatcher():
            return described(value.py_func), sorted(value.targetoptions.items())
        case FunctionType() | BuiltinFunctionType():
            return value.__module__, value.__qualname__
        case ModuleType() if not is_ours(value.__name__):
            return value.__name__
        case None | bool() | int() | float() | complex() | str() | bytes() | range() | np.generic() | np.dtype():
            return type(value).__name__, value
        case types.Type():
            return str(value)
    if (function := _plain(value)) is not None:  # an intrinsic
        return described(function)
    raise TypeError(f"a compiled loop uses {value!r}: import single names, of functions and constants")


def _compile(compile_for: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """Compile a function for its arguments: in a thread, which is left to itself when the work is asked to stop.

    Raises
    ------
    LimitReached
        If it is.
    """
    made: list[Any] = []
    # What is compiled is there the next time. Of what a compiler makes, most is in use until it ends: to look for what
    # is not took a tenth of the time.
    with Stopwatch.stopped(), overtime(math.inf), no_collection():
        if not current_limit().stops:
            return compile_for(*given, **named)
        ended = run_in_thread(
            lambda: made.append(compile_for(*given, **named)),
            lambda: None,
            leave_after_s=_LEAVE_AFTER_S,
            name=COMPILING,
        )
    if not ended:
        raise LimitReached
    return made[0]


def _compile_and_keep(loop: Any, *given: Any, **named: Any) -> Any:
    """Compile a loop for its arguments, or load it; see `_compile`."""
    if not isinstance(loop._cache, _Cache) and os.path.exists(loop.py_func.__code__.co_filename):
        _warn_that_nothing_is_kept("neither the folder of spotbag nor the user's cache can be written to")
    return _compile(partial(type(loop)._compile_for_args, loop), *given, **named)


def is_ready(function: Any) -> bool:
    """True if a call needs no compilation: machine code is in this process, or in the cache."""
    return bool(function.signatures) or (isinstance(function._cache, _Cache) and function._cache.is_filled())


def compiled_part(function: Function, compiler: type[_PartCompiler] = _PartCompiler) -> Function:
    """Compile a function that only compiled ones call; it is kept in their cache. Python cannot call it."""
    return cast(Function, _by_types(numba.njit(**_OPTIONS | _PART | {"pipeline_class": compiler})(function)))


def shared_part(function: Function) -> Function:
    """Compile a function into those that call it; Python calls it as it stands."""
    made: Function = register_jitable(**_PART)(function)
    return made


for _rule in (*vars(bill).values(), *vars(capacities).values()):
    if isinstance(_rule, FunctionType) and _rule.__module__ in (bill.__name__, capacities.__name__):
        register_jitable(**_PART)(_rule)  # compiled loops call it as it stands
