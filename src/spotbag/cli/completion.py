"""Completion of words by a shell: the names that arguments and options may have."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter


def names_of(module: str, *lists: str) -> Callable[[str], list[str]]:
    """Return a function that completes a word by names; the module that has them is loaded at its first use.

    Parameters
    ----------
    module : str
        Within the package, e.g. ``instances.library``.
    lists : str
        What there has the names: sequences, mappings, or functions that return some.
    """

    def complete(incomplete: str) -> list[str]:
        found = import_module(f"...{module}", __name__)
        values = [attrgetter(name)(found) for name in lists]
        names = [name for value in values for name in (value() if callable(value) else value)]
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names if name.startswith(last)]

    return complete


def command_to_complete() -> str | None:
    """Return the command whose words a shell completes: the others need not be loaded."""
    words = os.environ.get("_TYPER_COMPLETE_ARGS", os.environ.get("COMP_WORDS", "")).split()
    return words[1] if len(words) > 1 else None


INSTANCES = names_of("instances.library", "library_names")
METHODS = names_of("solvers.bags.methods", "method_names")
STREAMS = names_of("instances.library", "stream_names")
PLATFORMS = names_of("instances.library", "platform_names")
