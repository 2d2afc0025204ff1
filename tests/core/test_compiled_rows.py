"""Rows and rules in compiled loops: the same names over arrays, and functions in place of others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from spotbag.core import compiled_rows
from spotbag.core.compiled import compiled, fingerprint, parts_of
from spotbag.core.compiled_rows import COLUMNS, LENGTH, RowType, compiled_rules, rows_from
from spotbag.core.rows import dtype_of, tables_of


@dataclass(slots=True, eq=False)
class Cell:
    """A row of tables."""

    count: int = 0
    share: float = 0.0


@dataclass(slots=True, eq=False)
class Sheet:
    """A row that holds tables."""

    cells: list[Cell] = field(default_factory=list)
    rows: list[list[Cell]] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    parts: list[list[float]] = field(default_factory=list)
    sum: int = 0
    mean: float = 0.0


sheet_of = rows_from(Sheet)


def work(r: Sheet) -> int:
    """Read and write everything."""
    for k in range(len(r.cells)):
        cell = r.cells[k]
        cell.count += r.marks[k]
        cell.share = cell.count / 2
        r.rows[k][1].count = cell.count
        r.parts[k][0] += r.rows[k][1].share
        r.sum += cell.count
    r.marks[0] = len(r.rows) + len(r.parts[0]) + len(r.marks)
    r.mean = r.sum / len(r.cells)
    return r.marks[0]


def filled(sheet: Sheet) -> tuple[Any, dict[str, Any]]:
    """Return the record of a row with tables, and its arrays."""
    record, arrays = np.zeros(1, dtype=dtype_of(Sheet)), {}
    for table in tables_of(Sheet):
        values = getattr(sheet, table.name)
        if table.row is Cell:
            pack = lambda cell: (cell.count, cell.share)  # noqa: E731
            values = [[pack(one) for one in row] if table.nested else pack(row) for row in values]
        arrays[table.name] = array = np.array(values, dtype=dtype_of(table.row))
        record[table.name], record[table.name + LENGTH] = array.ctypes.data, len(array)
        record[table.name + COLUMNS] = array.shape[1] if table.nested else 0
    return record, arrays


def test_a_loop_does_to_arrays_what_python_does_to_rows() -> None:
    sheet = Sheet(
        cells=[Cell(1, 0.5), Cell(2, 0.25)],
        rows=[[Cell(3, 1.5), Cell(4, 2.5)], [Cell(5, 3.5), Cell(6, 4.5)]],
        marks=[10, 20],
        parts=[[0.125], [0.75]],
    )
    record, arrays = filled(sheet)
    names = {"sheet_of": sheet_of, "work": compiled_rows.compiled_part(work)}
    loop = compiled(FunctionType(go.__code__, names, "go"))
    assert loop(record) == work(sheet) == 2 + 1 + 2
    _, expected = filled(sheet)
    for name, array in arrays.items():
        assert array.tolist() == expected[name].tolist(), name
    assert (record[0]["sum"], record[0]["mean"]) == (sheet.sum, sheet.mean) == (33, 16.5)


def go(record: Any) -> int:
    """What Python calls."""
    return work(sheet_of(record[0]))  # type: ignore[no-any-return]


def test_rows_of_other_fields_are_of_other_types() -> None:
    @dataclass
    class Other:
        count: int = 0

    assert RowType(Cell) == RowType(Cell)
    assert RowType(Cell).name.partition("_")[0] == "Cell"
    Other.__name__ = "Cell"
    assert RowType(Other) != RowType(Cell)
    assert RowType(Cell).field("count") != RowType(Cell).field("share")
    assert RowType(Cell).field("colour") is None


def test_rows_that_are_reached_in_another_way_are_of_other_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of both ways differs in a constant alone."""
    before = RowType(Cell).name

    def place(context: Any, builder: Any, table: Any, k: Any, size: int) -> Any:
        return builder.add(table.address, 1)

    monkeypatch.setattr(compiled_rows, "_place", place)
    compiled_rows._how_rows_are_reached.cache_clear()
    one = RowType(Cell).name
    place.__code__ = place.__code__.replace(co_consts=(None, 2))
    compiled_rows._how_rows_are_reached.cache_clear()
    assert len({before, one, RowType(Cell).name}) == 3
    monkeypatch.undo()
    compiled_rows._how_rows_are_reached.cache_clear()
    assert RowType(Cell).name == before


# ------------------------------------------------------------------------ rules

_RULES = """
TERM = 1

def leaf(number):
    return number + TERM

def answer(number):
    return number

def question(number):
    return answer(number) + leaf(number)

def beside(number):
    return 10 * leaf(number)

def root(number):
    return question(number) + beside(number)

def twice(number):
    return 2 * leaf(number)
"""


@pytest.fixture
def rules() -> dict[str, Any]:
    """Functions as if they were of this package, which alone are compiled."""
    names: dict[str, Any] = {"__name__": "spotbag.rules_of_a_test"}
    exec(_RULES, names)
    return names


def part(loop: Any, name: str) -> Any:
    return loop.py_func.__globals__[name]


def test_functions_stand_in_place_of_others(rules: dict[str, Any]) -> None:
    made: dict[Any, Any] = {}
    as_it_is = compiled_rules(rules["root"], "as it is", {}, made)
    other = compiled_rules(rules["root"], "other", {rules["answer"]: rules["twice"]}, made)
    assert rules["root"](3) == 3 + 4 + 40
    assert as_it_is(3) == 3 + 4 + 40
    assert other(3) == 8 + 4 + 40
    assert (as_it_is.py_func.__qualname__, other.py_func.__qualname__) == ("as it is", "other")


def test_parts_that_call_nothing_that_was_replaced_are_compiled_once(rules: dict[str, Any]) -> None:
    made: dict[Any, Any] = {}
    loops = [
        compiled_rules(rules["root"], name, {rules["answer"]: rules[answer]}, made)
        for name, answer in (("one", "answer"), ("two", "twice"), ("again", "twice"))
    ]
    one, two, again = loops
    assert part(one, "beside") is part(two, "beside") is part(again, "beside")
    assert part(one, "question") is not part(two, "question")
    assert part(two, "question") is part(again, "question")
    assert (
        part(part(one, "question"), "leaf") is part(part(two, "question"), "leaf") is part(part(one, "beside"), "leaf")
    )
    assert part(part(two, "question"), "answer") is part(part(again, "question"), "answer")
    assert len(made) == len(["leaf", "answer", "twice", "beside", "question", "question with twice"])


@pytest.mark.parametrize(
    ("answer", "change", "seen"),
    [
        ("answer", lambda rules: rules.update(TERM=2), True),
        ("answer", lambda rules: rules.update(TERM=1.0), True),
        ("answer", lambda rules: rules.update(beside=rules["leaf"]), True),
        ("answer", lambda rules: rules.update(OTHER=2), False),
        ("twice", lambda rules: None, True),
        ("answer", lambda rules: None, False),
    ],
)
def test_a_loop_is_keyed_by_what_it_is_made_of(
    rules: dict[str, Any], answer: str, change: Callable[[dict[str, Any]], None], seen: bool
) -> None:
    first, replaced = rules["answer"], rules[answer]
    before = fingerprint(compiled_rules(rules["root"], "root", {}, {}))
    change(rules)
    after = compiled_rules(rules["root"], "root", {first: replaced}, {})
    assert (fingerprint(after) != before) is seen
    assert {function.__name__ for function in parts_of(after)} >= {"root", "question", "leaf"}
