"""Rows state their fields once: what compiled loops have of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from spotbag.core.rows import TableField, dtype_of, tables_of


@dataclass(slots=True, eq=False)
class Point:
    """Where something is."""

    x: int = 0
    y: int = 7
    weight: float = 0.5


@dataclass(slots=True, eq=False)
class Drawing:
    """What is drawn."""

    points: list[Point] = field(default_factory=list)
    lines: list[list[Point]] = field(default_factory=list)
    count: int = 0
    marks: list[int] = field(default_factory=list)
    shares: list[list[float]] = field(default_factory=list)
    scale: float = 1.0


@dataclass(slots=True, eq=False)
class Named:
    """No row: a name is no number."""

    name: str = ""


@dataclass(slots=True, eq=False)
class Lost:
    """No row: there is no such one in its file."""

    of: list[Nothing] = field(default_factory=list)  # type: ignore[name-defined]  # noqa: F821


def test_a_row_is_a_record_of_its_fields_in_their_order() -> None:
    assert dtype_of(Point) == np.dtype([("x", np.int64), ("y", np.int64), ("weight", np.float64)])
    assert dtype_of(Point).itemsize == 24
    assert (dtype_of(int), dtype_of(float)) == (np.dtype(np.int64), np.dtype(np.float64))


def test_a_table_is_where_it_is_and_its_size() -> None:
    assert tables_of(Point) == ()
    assert tables_of(Drawing) == (
        TableField("points", Point, False),
        TableField("lines", Point, True),
        TableField("marks", int, False),
        TableField("shares", float, True),
    )
    names = []
    for name in ("points", "lines", "count", "marks", "shares", "scale"):
        names += [name] if name in ("count", "scale") else [name, f"{name}_length", f"{name}_columns"]
    assert dtype_of(Drawing).names == tuple(names)
    assert [name for name in names if dtype_of(Drawing)[name] == np.float64] == ["scale"]


def test_records_are_made_of_rows_and_rows_of_records() -> None:
    table = np.array([(1, 2, 0.25)], dtype=dtype_of(Point))
    assert [Point(*values).weight for values in table.tolist()] == [0.25]
    assert [type(value) for value in table.tolist()[0]] == [int, int, float]


@pytest.mark.parametrize(("row", "what"), [(Named, KeyError), (Lost, AttributeError)])
def test_what_is_no_row_has_no_record(row: type, what: type[Exception]) -> None:
    with pytest.raises(what):
        dtype_of(row)
