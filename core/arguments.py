"""Arguments of public functions: which one is of no type that is taken, where a call has failed."""

from __future__ import annotations

import ast
import builtins
import collections.abc
import inspect
import os
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from numbers import Integral, Real
from typing import Any, TypeVar

_NUMBERS: dict[type, type] = {float: Real, int: Integral}
_SHOWN_ELEMENTS = 1000


def first_wrong(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[str, str, object] | None:
    """Return name, rule and value of the first argument that is of no type that its parameter takes."""
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*args, **kwargs).arguments
    except TypeError:  # Python says what is missing, or too much
        return None
    for name, value in bound.items():
        parameter = signature.parameters[name]
        given = (value,)
        if parameter.kind is parameter.VAR_POSITIONAL:
            given = value
        elif parameter.kind is parameter.VAR_KEYWORD:
            given = tuple(value.values())
        with suppress(_Unknown):
            kind = resolved(parameter.annotation, function)
            for one in given:
                if not _takes(kind, one):
                    return name, f"must be {_in_words(kind)}, not {_kind_of(one)}", one
    return None


class _Unknown(Exception):  # noqa: N818 (it is no error)
    """An annotation that cannot be read here: its argument is not checked."""


class _Names(dict[str, Any]):
    """Names of annotations, of which some are imported for type checkers only."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._module = sys.modules[inspect.unwrap(function).__module__]
        super().__init__(vars(builtins) | vars(self._module))

    def __missing__(self, name: str) -> Any:
        with suppress(OSError, ImportError, AttributeError):
            for node in ast.walk(ast.parse(inspect.getsource(self._module))):
                if not isinstance(node, ast.ImportFrom):
                    continue
                for alias in node.names:
                    if name == (alias.asname or alias.name):
                        place = "." * node.level + (node.module or "")
                        return getattr(import_module(place, self._module.__package__), alias.name)
        raise _Unknown


def resolved(annotation: Any, function: Callable[..., Any]) -> Any:
    """Return the type that an annotation stands for."""
    if annotation is inspect.Parameter.empty:
        raise _Unknown
    try:
        return eval(annotation, {}, _Names(function)) if isinstance(annotation, str) else annotation
    except (NameError, TypeError, AttributeError, SyntaxError):
        raise _Unknown from None


def _takes(kind: Any, value: Any) -> bool:
    """True if a value is of a type, and so are its elements where iteration does not use them up."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(kind, str | TypeVar) or kind in (Any, object):
        return True
    if kind is None or kind is type(None):
        return value is None
    if origin in (typing.Union, types.UnionType):
        return any(_takes(one, value) for one in inner)
    if origin is typing.Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    if origin is typing.Annotated:
        return _takes(inner[0], value)
    if origin is collections.abc.Callable:
        return callable(value)
    if origin is type:
        return isinstance(value, type)
    if origin is not None:
        if isinstance(value, str):  # a collection of its letters, which nobody means
            return False
        return isinstance(value, origin) and all(_takes(*pair) for pair in _elements(origin, inner, value))
    if not isinstance(kind, type):
        raise _Unknown
    if getattr(kind, "_is_protocol", False):
        return all(hasattr(value, name) for name in vars(kind) if not name.startswith("_"))
    return isinstance(value, _NUMBERS.get(kind, kind))


def _elements(origin: Any, inner: tuple[Any, ...], value: Any) -> Iterable[tuple[Any, Any]]:
    """Types and the elements that are to be of them, of the first of a collection."""
    if isinstance(value, Mapping) and len(inner) == 2:
        for key, element in [*value.items()][:_SHOWN_ELEMENTS]:
            yield inner[0], key
            yield inner[1], element
    elif origin is tuple and ... not in inner:
        yield from zip(inner, value, strict=True) if len(inner) == len(value) else [(type(None), value)]
    elif isinstance(value, list | tuple | set | frozenset) and inner:
        yield from ((inner[0], element) for element in [*value][:_SHOWN_ELEMENTS])


def _in_words(kind: Any) -> str:
    """Return the words for the values of a type."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(dict.fromkeys(_in_words(one) for one in inner))
    if origin is typing.Literal:
        return " or ".join(repr(one) for one in inner)
    if origin is typing.Annotated:
        return _in_words(inner[0])
    if kind is None or kind is type(None):
        return "None"
    if kind is os.PathLike or origin is os.PathLike:
        return "a path"
    if origin is collections.abc.Callable:
        return "something to be called"
    if origin is tuple and ... not in inner:
        return f"{len(inner)} of them: ({', '.join(_in_words(one) for one in inner)})"
    if origin is not None:
        of = f" of {_in_words(inner[-1]).removeprefix('a ').removeprefix('an ')}" if inner else ""
        return f"a {origin.__name__.lower()}{of}"
    plain = {float: "a number", int: "a whole number", str: "a text", bool: "True or False"}.get(kind)
    name = getattr(kind, "__name__", str(kind))
    return plain or f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def _kind_of(value: Any) -> str:
    """Return the word for the type of a value."""
    return "None" if value is None else type(value).__name__
