"""Names of a module that are loaded when they are first asked for, so that importing it costs next to nothing."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from types import FunctionType
from typing import Any

_IMPORT = re.compile(r"^from (\.[\w.]+) import (\([^)]*\)|.*)$", re.MULTILINE)
_NAME = re.compile(r"(\w+) as \1\b")


def names_of_stub(path: str) -> dict[str, str]:
    """Return the module of each name that a stub (``.pyi``) imports as itself."""
    with open(path, encoding="utf-8") as stub:
        return {name: module for module, names in _IMPORT.findall(stub.read()) for name in _NAME.findall(names)}


def lazy_names(
    module: str, file: str, *, public: bool = False
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a module whose names are those that its stub imports.

    Parameters
    ----------
    module, file : str
        Name and file of the module.
    public : bool
        Whether functions are given to users: they check how they are called, and are of this module.
    """
    package = module if file.endswith("__init__.py") else module.rpartition(".")[0]
    places = names_of_stub(f"{file.removesuffix('.py')}.pyi")
    there = vars(sys.modules[module])

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        found = getattr(import_module(places[name], package), name)
        if public and isinstance(found, FunctionType):
            from .errors import public as checked

            found = checked(found)
            found.__module__ = module  # by which processes find it
        there[name] = found
        return found

    return get, lambda: sorted({*there, *places}), sorted(places)
