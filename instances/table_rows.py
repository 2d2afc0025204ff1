"""Rows of a table of tasks, or of jobs that arrive: values by roles, what is wrong, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

from ..core.errors import Issue
from ..core.quantities import number_of
from ..core.records import duplicates_anywhere
from ..core.text_tables import TextTable
from ..core.wording import counted
from .columns import Role
from .table_columns import CellValues, TableColumn, TableColumns
from .table_formats import MadeTable, TableFormat

MOST_ISSUES = 25_000


class TableRows:
    """Values of the rows of a table, which are looked at one by one; `_reading` says how those of a column are read.

    Parameters
    ----------
    table : table
        With the rows.
    columns : TableColumns
        What they hold.
    known : TableFormat
        What the table is one of.
    """

    def __init__(self, table: TextTable | MadeTable, columns: TableColumns, known: TableFormat) -> None:
        self.issues: list[Issue] = []
        self._source, self._word, self._known = table.source, table.word, known
        self._line, self._item = 0, ""
        self._left: dict[str, tuple[int, int]] = {}
        self._refused, self._only = dict(columns.refused), columns.chosen
        made = [replace(column, values=CellValues(self._reading(column))) for column in columns.read]
        self._by_type = [column for column in made if column.vm_type is not None]
        self._of: dict[Role, list[TableColumn]] = {}
        for column in made:
            if column.vm_type is None:
                self._of.setdefault(column.role, []).append(column)

    def _reading(self, column: TableColumn) -> Callable[[str], Any]:
        """Return the function that reads the cells of a column; it raises ValueError with the rule."""
        raise NotImplementedError

    def _value(self, column: TableColumn, cells: Sequence[str]) -> Any:
        """Value of a cell; None if it has none, or is at fault."""
        try:
            return column.values[cells[column.index]]
        except ValueError as error:
            self._fault(column.heading, cells[column.index] or Issue.NOTHING, str(error))
            return None

    def _fault(self, heading: str, value: Any, rule: str) -> None:
        self.issues.append(Issue(f"{self._word} {self._line}", rule, heading, value, self._item))

    def _is_chosen(self, cells: Sequence[str]) -> bool:
        """Tell rows that ``--only`` takes from others."""
        return all(
            any(
                cells[index] == value or (value.endswith("*") and cells[index].startswith(value[:-1]))
                for value in values
            )
            for index, values in self._only.items()
        )

    def _leave_out(self, what: str) -> Literal[False]:
        count, line = self._left.get(what, (0, self._line))
        self._left[what] = count + 1, line
        return False

    def left_out(self) -> list[str]:
        """Numbers of the rows that were left out, with the reason and the first of each."""
        return [
            f"{counted(count, 'row')} {what} left out (the first in {self._word} {line})"
            for what, (count, line) in self._left.items()
        ]

    def _refuse(self, cells: Sequence[str]) -> None:
        """Refuse columns that are not understood, or cannot be honoured: a plan must not pass over their content."""
        for index, (heading, harmless, why) in [*self._refused.items()]:
            if not cells[index] or (harmless is not None and harmless.fullmatch(cells[index])):
                continue
            del self._refused[index]
            if why:
                rule = f"cannot be planned: {why} (--ignore-column {heading!r} goes on without it)"
            else:
                rule = (
                    f"is in a column of which nothing is made: --ignore-column {heading!r} leaves it out, "
                    f"--column ROLE={heading!r} takes it as {self._known.roles}"
                )
            self._fault(heading or f"column {index + 1}", cells[index], rule)

    def refuse_duplicates(self, named: Iterable[tuple[int, str]], hint: str = "") -> None:
        """Refuse names that stand in several lines."""
        heading = self._of["id"][0].heading if "id" in self._of else ""
        placed = ((f"{self._word} {line}", name) for line, name in named)
        self.issues += [replace(issue, rule=issue.rule + hint) for issue in duplicates_anywhere(heading, placed)]


def whole(cell: str) -> int | None:
    """Whole number of a cell; None for an empty one."""
    number = number_of(cell)
    if cell and (number is None or not number.is_integer()):
        raise ValueError("must be a whole number")
    return None if number is None else int(number)


def plain(cell: str) -> float | None:
    """Number of a cell; None for an empty one."""
    number = number_of(cell)
    if cell and number is None:
        raise ValueError("must be a number")
    return number
