"""Rows: records whose fields are stated once, for plain Python and for compiled loops.

A row is a dataclass with slots, of whole numbers and real ones. What holds rows in tables is a row as well, with
fields of lists: `list[Row]`, `list[list[Row]]`, or of numbers. Python works with the objects themselves; compiled loops
see the same names over arrays (`core.compiled_rows`).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np

Row = TypeVar("Row")

NUMBERS = {"int": np.dtype(np.int64), "float": np.dtype(np.float64)}
"""Types of single fields, and how compiled loops have them."""

LENGTH, COLUMNS = "_length", "_columns"
"""Endings of the fields for the rows of a table, and for the columns of each, after its name."""


class TableField(NamedTuple):
    """A table in a row: of which rows, or numbers, and whether each row of it is a list of them."""

    name: str
    row: type
    nested: bool


@cache
def dtype_of(row: type) -> np.dtype[Any]:
    """Return the record of a row, or the type of a number; of a table, where it is in memory, and its size."""
    if row in (int, float):
        return NUMBERS[row.__name__]
    members: list[tuple[str, np.dtype[Any]]] = []
    tables = {table.name for table in tables_of(row)}
    for name, kind in _stated(row):
        if name in tables:
            members += [(name + part, NUMBERS["int"]) for part in ("", LENGTH, COLUMNS)]
        else:
            members.append((name, NUMBERS[kind]))
    return np.dtype(members)


@cache
def tables_of(row: type) -> tuple[TableField, ...]:
    """Return the tables that a row holds."""
    tables = []
    # Types are texts, as annotations are not evaluated, and a row may name one that is defined below it.
    for name, kind in _stated(row):
        element, depth = kind, 0
        while element.startswith("list["):
            element, depth = element[len("list[") : -1], depth + 1
        if depth:
            of = {"int": int, "float": float}.get(element) or getattr(sys.modules[row.__module__], element)
            tables.append(TableField(name, of, depth > 1))
    return tuple(tables)


def rows_of(kind: type[Row], table: Any) -> list[Row]:
    """Return the rows of a table as objects."""
    return [kind(*values) for values in table.tolist()]


def enter(record: Any, name: str, array: Any) -> None:
    """Tell the record of a row where one of its tables is; whoever has the record keeps the array alive."""
    record[name], record[name + LENGTH] = array.ctypes.data, len(array)
    record[name + COLUMNS] = array.shape[1] if array.ndim > 1 else 0


def _stated(row: type) -> Iterator[tuple[str, str]]:
    """Name and type, as it is written, of each field of a row."""
    return ((entry.name, str(entry.type)) for entry in fields(row))
