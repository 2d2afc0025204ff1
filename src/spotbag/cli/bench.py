"""``spotbag bench``: the papers' tables, which the distribution ``spotbag-papers`` has."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import typer

# Empty until `load_commands`: the help of all lists the group, whose commands another distribution has.
app = typer.Typer(no_args_is_help=True, help="The papers' tables: our replays beside the printed numbers.")


def papers_module(name: str) -> ModuleType:
    """Return a module of the distribution ``spotbag-papers``.

    Raises
    ------
    SpotbagError
        If it is not installed.
    """
    from ..core.errors import SpotbagError

    if not is_installed():
        raise SpotbagError("the papers are a distribution of their own: pip install spotbag-papers")
    return import_module(f"spotbag_papers.{name}")


def is_installed() -> bool:
    """Presence of the distribution ``spotbag-papers``."""
    return find_spec("spotbag_papers") is not None


def load_commands() -> None:
    """Have the distribution give its commands to ``app``."""
    papers_module("command")
