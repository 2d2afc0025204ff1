"""Tables on the console."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..core.tables import Table

WIDTH_ELSEWHERE = 140
"""Columns of a table that goes to a file or a pipe."""

_repeatable = ContextVar("_repeatable", default=False)


@contextmanager
def repeatable_tables() -> Iterator[None]:
    """Leave out of tables what is measured, so that they are the same the next time."""
    token = _repeatable.set(True)
    try:
        yield
    finally:
        _repeatable.reset(token)


def print_table(table: Table, tight: bool = False) -> None:
    """Print a table; wide enough when it goes to a file or a pipe.

    A tight table has less space between its columns.
    """
    from .table_layout import print_in_width

    if _repeatable.get():
        table = table.with_columns(index for index, column in enumerate(table.columns) if not column.measured)
    print_in_width(table, terminal_width(), WIDTH_ELSEWHERE, tight)


def terminal_width() -> int | None:
    """Columns of the terminal that the output goes to; None if it goes elsewhere."""
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    return Console().width


def narrow_terminal(columns: int) -> bool:
    """Tell if the output goes to a terminal that has fewer columns than wanted."""
    width = terminal_width()
    return width is not None and width < columns


def seconds(value: float) -> str:
    """Whole seconds with thousands set apart."""
    return f"{round(value):,}"
