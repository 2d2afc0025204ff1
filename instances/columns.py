"""Headings of tables: what columns of tasks, and of jobs that arrive, may be called, and the units in their names."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any, Generic, Literal, NoReturn, TypeAlias, TypeVar

from ..core.errors import SpotbagError, input_error
from ..core.text_tables import columns_text

TaskRole: TypeAlias = Literal[
    "id",
    "command",
    "memory",
    "runtime",
    "count",
    "architecture",
    "ready",
    "deadline",
    "weight",
    "market",
    "cores",
    "state",
    "exit",
    "stage",
]
JobRole: TypeAlias = Literal[
    "id", "arrival", "runtime", "count", "deadline", "within", "application", "budget", "priority"
]
RoleOf = TypeVar("RoleOf", bound=str)

COMMENTS = "note", "notes", "comment", "comments", "remark", "remarks", "description"
"""Columns that are for people: nothing is made of them, and nothing could be."""

COLUMNS: Mapping[str, Any] = tomllib.loads(
    resources.files(__package__).joinpath("columns.toml").read_text(encoding="utf-8")
)
"""Description of the columns of all files."""


def spelled(headings: Mapping[str, str]) -> dict[Any, tuple[str, ...]]:
    """Roles, or units, to the headings that have them."""
    return {role: tuple(words.split()) for role, words in headings.items()}


OF_TASKS: Mapping[TaskRole, tuple[str, ...]] = spelled(COLUMNS["tasks"])
OF_JOBS: Mapping[JobRole, tuple[str, ...]] = spelled(COLUMNS["jobs"])
"""Roles to the normal headings of their columns (`normal`), in tables that people write."""


def normal(heading: str) -> str:
    """Return a heading in small letters, with ``_`` between its words."""
    return re.sub(r"[\s\-_.:/]+", "_", heading.strip().lower()).strip("_")


_UNIT = re.compile(r"[(\[](\w+)[)\]]\s*\Z")
"""A unit in brackets, whatever stands before it."""


class CellValues(dict[str, Any]):
    """Values of cells by their texts, of which most are repeated; each text is looked at once."""

    def __init__(self, read: Callable[[str], Any]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> Any:
        value = self[text] = self._read(text)
        return value


@dataclass(frozen=True)
class TableColumn(Generic[RoleOf]):
    """A column of a file: its heading, its role, the factor of its numbers, and the VM type of its run times."""

    index: int
    heading: str
    role: RoleOf
    factor: float | None = None
    vm_type: str | None = None
    values: CellValues = field(default_factory=lambda: CellValues(str), compare=False)


def meaning(
    heading: str, spellings: Mapping[RoleOf, tuple[str, ...]], units: Mapping[RoleOf, Mapping[str, float]]
) -> tuple[RoleOf, float | None] | None:
    """Role of a heading, and the factor of its unit, of those of the role; None for no unit, or no role."""
    name = re.sub(r"[\[\](){}]", "_", normal(heading)).replace("__", "_").strip("_")
    head, _, unit = name.rpartition("_")
    for role, names in spellings.items():
        if name in names:
            return role, None
        if head in names and unit in units.get(role, ()):
            return role, units[role][unit]
    return None


@dataclass(frozen=True)
class Headings(Generic[RoleOf]):
    """Headings of a table, and what they may mean.

    Attributes
    ----------
    first, source : sequence of str and str
        The headings, and the name of the table in messages.
    roles : str
        Roles that there are, for messages.
    of_role : callable
        Column of an index and a role with its unit, as options name it; None if it is none.
    of_heading : callable
        Column of an index and a heading; None if it has no meaning.
    """

    first: Sequence[str]
    source: str
    roles: str
    of_role: Callable[[int, str], TableColumn[RoleOf] | None]
    of_heading: Callable[[int, str], TableColumn[RoleOf] | None]

    def said(self, columns: Mapping[str, str], ignored: Collection[str]) -> dict[int, TableColumn[RoleOf]]:
        """Columns whose roles are said by options; the unit, too, if the heading of one of that role has none.

        Raises
        ------
        SpotbagError
            If a column is not there, or said to be two things, or a role is none.
        """
        for heading in ignored:
            if heading not in self.first:
                self._refuse(f"--ignore-column {heading}", 0)
        said: dict[int, TableColumn[RoleOf]] = {}
        for role, heading in columns.items():
            option, count = f"--column {role}={heading}", self.first.count(heading)
            if count != 1:
                self._refuse(option, count)
            index = self.first.index(heading)
            column, own = self.of_role(index, role), self.of_heading(index, heading)
            if own is None and (unit := _UNIT.search(heading)):
                own = self.of_role(index, f"{role}_{unit[1]}")
            if column is None:
                raise SpotbagError(f"{option}: {role!r} is no role; roles are {self.roles}")
            if index in said or heading in ignored:
                taken = "to be left out" if heading in ignored else f"the {said[index].role} already"
                raise SpotbagError(f"{option}: that column is {taken}")
            factor = own.factor if column.factor is None and own and own.role == column.role else column.factor
            said[index] = replace(column, heading=heading, factor=factor)
        return said

    def chosen(self, only: Mapping[str, Collection[str]]) -> dict[int, Collection[str]]:
        """Cells of the columns by which rows are chosen.

        Raises
        ------
        SpotbagError
            If a column is not there, or there are several.
        """
        found: dict[int, Collection[str]] = {}
        for heading, values in only.items():
            places = [index for index, cell in enumerate(self.first) if heading in (cell, normal(cell))]
            if len(places) != 1:
                self._refuse(f"--only {heading}=...", len(places))
            found[places[0]] = values
        return found

    def _refuse(self, option: str, count: int) -> NoReturn:
        rule = f"there are {count} such columns" if count else "there is no such column"
        raise SpotbagError(f"{option}: {rule} in {self.source} ({columns_text(self.first)})")

    def refuse_two_of_a_role(self, columns: Iterable[TableColumn[RoleOf]]) -> None:
        """Refuse columns that hold the same.

        Raises
        ------
        InputError
            If there are two of a role, and a type.
        """
        seen: dict[tuple[str, str | None], TableColumn[RoleOf]] = {}
        for column in columns:
            other = seen.setdefault((column.role, column.vm_type), column)
            if other is not column:
                of_type = f" on {column.vm_type}" if column.vm_type else ""
                rule = (
                    f"columns {other.heading!r} and {column.heading!r} both hold the {column.role}{of_type}: "
                    f"--column {column.role}={column.heading} takes one, --ignore-column {column.heading} leaves it out"
                )
                raise input_error(self.source, rule)
