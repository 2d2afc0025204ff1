"""Columns of a table of tasks: which are read, as what, and which are refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from ...core.errors import SpotbagError, input_error
from ...core.quantities import TIME_UNITS_S
from ...core.text_tables import TextTable, columns_text
from ..amounts import MEMORY_UNITS_MB
from ..columns import COMMENTS, OF_TASKS, TaskRole, meaning, normal
from .imported import Asked, MultiCore
from .task_documents import MadeTable
from .task_formats import REFUSED, TaskFormat

ROLES: tuple[TaskRole, ...] = get_args(TaskRole)
DATES: Mapping[TaskRole, str] = {"ready": "ready_s", "deadline": "deadline_s"}
_UNITS: Mapping[TaskRole, Mapping[str, float]] = {
    "memory": MEMORY_UNITS_MB,
    **dict.fromkeys(("runtime", *DATES), TIME_UNITS_S),
}
_STATISTICS = {"max", "mean", "avg", "average", "median", "stddev"}
"""Headings beside which ``min`` is the least of several values, and no minute."""
_TYPE_NAME = re.compile(r"[\[(]([^\])]+)[\])]")


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """Roles and units of the columns of a CSV file, where the header does not give them.

    Attributes
    ----------
    columns : dict
        Role (see `ROLES`, or ``runtime[TYPE]``), with a unit or without, to the heading of its column.
    ignored : sequence of str
        Headings of columns that are left out.
    memory_unit, runtime_unit : str, optional
        Units of numbers in columns whose heading names none.
    only : dict
        Heading to the cells of the rows that are taken.
    stage : str, optional
        Stage, process or rule of a workflow whose tasks are taken.
    multi_core : {"refuse", "split", "skip"}
        What is done with tasks of several cores: an error, a task for each core, or nothing is made of them.
    """

    columns: Mapping[str, str] | None = None
    ignored: Sequence[str] = ()
    memory_unit: str | None = None
    runtime_unit: str | None = None
    only: Mapping[str, Collection[str]] = field(default_factory=dict)
    stage: str | None = None
    multi_core: MultiCore = "refuse"


class CellValues(dict[str, Any]):
    """Values of a column by the texts of its cells; each text is looked at once."""

    def __init__(self, read: Callable[[str], Any]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> Any:
        value = self[text] = self._read(text)
        return value


@dataclass(frozen=True, slots=True)
class TaskColumn:
    """A column of the file: its heading, its role, the factor of its numbers, and the VM type of its run times."""

    index: int
    heading: str
    role: TaskRole
    factor: float | None = None
    vm_type: str | None = None
    values: CellValues = field(default_factory=lambda: CellValues(str), compare=False)


@dataclass(frozen=True, slots=True)
class TaskColumns:
    """All columns of a table: those that are read, and those of which nothing is made, with the reason."""

    read: list[TaskColumn]
    refused: dict[int, tuple[str, re.Pattern[str] | None, str]]
    warnings: list[str]


def columns_of(
    table: TextTable | MadeTable, form: CsvFormat, known: TaskFormat, catalogue: Sequence[str]
) -> TaskColumns:
    """Content of each column, columns that are not understood, and warnings about columns that are passed over."""
    ignored = _ignored(table, form)
    mapped = _mapped(table, form, known, ignored)
    decided = {(column.role, column.vm_type) for column in mapped.values()}
    names = [normal(heading) for heading in table.first]
    filtered = filters_of(table, form)
    columns: list[TaskColumn] = []
    refused: dict[int, tuple[str, re.Pattern[str] | None, str]] = {}
    passed: list[str] = []
    warnings = [] if known.own else [f"{table.source}: read as {known.title}"]
    for index, heading in enumerate(table.first):
        if index in ignored:
            continue
        name = normal(heading)
        column = mapped.get(index) or _column_of(index, heading, known, catalogue, names)
        why = next(((harmless, rule) for headings, harmless, rule in REFUSED if name in headings), None)
        own = meaning(name, OF_TASKS, _UNITS)
        of_people = known.own or (own is not None and own[1] is not None)  # no tool names units so
        if column is not None and index in filtered and column.role in ("state", "exit"):
            continue  # whoever chooses rows by a state has said which of them are tasks
        if column is None and why is not None:
            refused[index] = heading, *why
        elif column is None and (name in COMMENTS or index in filtered or not of_people):
            passed += [] if index in filtered or name in known.joined else [heading]
        elif column is None:
            refused[index] = heading, None, ""
        elif index not in mapped and (column.role, column.vm_type) in decided:
            warnings.append(f"{table.source}: column {heading!r} left out: --column says which is the {column.role}")
        else:
            columns.append(column)
    if passed:
        warnings.append(f"{table.source}: nothing was made of {columns_text(passed)}")
    _refuse_two_of_a_role(columns if known.own else [*mapped.values()], table.source)
    if not known.own and (
        twice := next((column for column in columns if names.count(normal(column.heading)) > 1), None)
    ):
        raise input_error(
            table.source, f"has {names.count(normal(twice.heading))} columns {twice.heading!r}: which of them counts?"
        )
    order = {name: place for of_role in known.columns.values() for place, name in enumerate(of_role)}
    columns.sort(key=lambda column: order.get(normal(column.heading), 0))
    return TaskColumns(columns, refused, warnings)


def _refuse_two_of_a_role(columns: Sequence[TaskColumn], source: str) -> None:
    seen: dict[tuple[str, str | None], TaskColumn] = {}
    for column in columns:
        other = seen.setdefault((column.role, column.vm_type), column)
        if other is not column:
            of_type = f" on {column.vm_type}" if column.vm_type else ""
            rule = (
                f"columns {other.heading!r} and {column.heading!r} both hold the {column.role}{of_type}: "
                f"--column {column.role}={column.heading} takes one, --ignore-column {column.heading} leaves it out"
            )
            raise input_error(source, rule)


def _column_of(
    index: int, heading: str, known: TaskFormat, catalogue: Sequence[str] = (), beside: Collection[str] = ()
) -> TaskColumn | None:
    """Meaning of a heading in a table of a format; None if it has none."""
    if known.own:
        return _column(index, heading, catalogue, beside)
    name = normal(heading)
    role, unit = known.role_of(name), known.units.get(name)
    factor = (TIME_UNITS_S | MEMORY_UNITS_MB)[unit] if unit else None
    return None if role is None else TaskColumn(index, heading, role, factor)


def filters_of(table: TextTable | MadeTable, form: CsvFormat) -> dict[int, Collection[str]]:
    """Cells of the columns by which rows are chosen."""
    found: dict[int, Collection[str]] = {}
    for heading, values in form.only.items():
        places = [index for index, cell in enumerate(table.first) if heading in (cell, normal(cell))]
        if len(places) != 1:
            rule = "there is no such column" if not places else f"there are {len(places)} such columns"
            raise SpotbagError(f"--only {heading}=...: {rule} in {table.source} ({columns_text(table.first)})")
        found[places[0]] = values
    return found


def _mapped(
    table: TextTable | MadeTable, form: CsvFormat, known: TaskFormat, ignored: Collection[int]
) -> dict[int, TaskColumn]:
    """Columns whose role is said by its name; the unit, too, if the heading of one of that role has none."""
    mapped: dict[int, TaskColumn] = {}
    for role, heading in (form.columns or {}).items():
        option = f"--column {role}={heading}"
        found = [index for index, cell in enumerate(table.first) if cell == heading]
        if len(found) != 1:
            rule = "there is no such column" if not found else f"there are {len(found)} such columns"
            raise SpotbagError(f"{option}: {rule} in {table.source} ({columns_text(table.first)})")
        column = _column(found[0], role, ())
        if column is None:
            raise SpotbagError(
                f"{option}: {role!r} is no role; roles are {', '.join(ROLES)} and runtime[TYPE], with a unit such "
                "as memory_gb or runtime_min"
            )
        if found[0] in mapped or found[0] in ignored:
            taken = "to be left out" if found[0] in ignored else f"the {mapped[found[0]].role} already"
            raise SpotbagError(f"{option}: that column is {taken}")
        own = _column_of(found[0], heading, known) or _column(found[0], heading, ())
        factor = own.factor if column.factor is None and own is not None and own.role == column.role else column.factor
        mapped[found[0]] = replace(column, heading=heading, factor=factor)
    return mapped


def _ignored(table: TextTable | MadeTable, form: CsvFormat) -> set[int]:
    """Columns to leave out."""
    unknown = [heading for heading in form.ignored if heading not in table.first]
    if unknown:
        rule = f"there is no such column in {table.source} ({columns_text(table.first)})"
        raise SpotbagError(f"--ignore-column {unknown[0]}: {rule}")
    return {index for index, heading in enumerate(table.first) if heading in form.ignored}


def _column(index: int, heading: str, catalogue: Sequence[str], beside: Collection[str] = ()) -> TaskColumn | None:
    """Meaning of a heading beside others; None if it has none, or names a type that is not in the given catalogue."""
    vm_type, rest = _type_in(heading, catalogue)
    name = normal(rest)
    if any(heading.count(opened) != heading.count(closed) for opened, closed in ("()", "[]")):
        return None
    if vm_type is not None and catalogue and vm_type not in catalogue:
        return None
    if vm_type is not None:
        if name in ("", *TIME_UNITS_S):
            return TaskColumn(index, heading, "runtime", TIME_UNITS_S.get(name), vm_type)
        found = meaning(name, OF_TASKS, _UNITS)
        return TaskColumn(index, heading, "runtime", found[1], vm_type) if found and found[0] == "runtime" else None
    if name == "min" and not _STATISTICS.isdisjoint(beside):
        return None
    if name in TIME_UNITS_S and len(name) > 2:  # "seconds", "min"
        return TaskColumn(index, heading, "runtime", TIME_UNITS_S[name])
    found = meaning(name, OF_TASKS, _UNITS)
    return None if found is None else TaskColumn(index, heading, *found)


def _type_in(heading: str, catalogue: Sequence[str]) -> tuple[str | None, str]:
    """VM type that a heading names, of those of a catalogue, longest names first, and the rest of the heading."""
    # Up to the last bracket that closes: behind it, whatever opens one would be followed to the end in vain.
    bracketed = _TYPE_NAME.search(heading, 0, max(heading.rfind("]"), heading.rfind(")")) + 1)
    if bracketed is not None and normal(bracketed[1]) not in {**TIME_UNITS_S, **MEMORY_UNITS_MB}:
        return bracketed[1].strip(), heading[: bracketed.start()] + "_" + heading[bracketed.end() :]
    lowered = heading.lower()
    for name in catalogue:
        start = lowered.find(name.lower())
        if start >= 0:
            return name, heading[:start] + "_" + heading[start + len(name) :]
    return None, heading


def with_types(asked: Asked, columns: Sequence[TaskColumn], source: str) -> Asked:
    """Take the types of the headings if none are asked for."""
    if asked.vms.types:
        return asked
    named = [column.vm_type for column in columns if column.vm_type is not None]
    if not named:
        raise SpotbagError(
            f"{source}: no VM types are chosen: --types c6i.large,m6i.xlarge ('spotbag instance types' lists them)"
        )
    return replace(asked, vms=replace(asked.vms, types=named))


def columns_of_types(
    columns: Sequence[TaskColumn], chosen: Sequence[str], source: str, known: TaskFormat
) -> tuple[list[TaskColumn], list[str]]:
    """Leave out run times on types that are not chosen; every chosen type needs some."""
    times = [column for column in columns if column.role == "runtime"]
    by_type = [column for column in times if column.vm_type is not None]
    if not times and not known.own:
        names = " or ".join(known.columns["runtime"])
        rule = f"is {known.title} without a column of run times: {names}; or say --column runtime_s=HEADING"
        raise input_error(source, rule)
    if not times:
        raise input_error(
            source,
            "has no column of run times: call it runtime_s, runtime_min or runtime_h, or runtime_s[c6i.large] for each "
            "VM type, or say --column runtime=HEADING",
        )
    if len(by_type) < len(times) and by_type:
        common = next(column for column in times if column.vm_type is None)
        raise input_error(
            source,
            f"column {common.heading!r} holds run times for all types, column {by_type[0].heading!r} for one: give one "
            "of both (with one for all, --speed says how types differ)",
        )
    given = {column.vm_type for column in by_type}
    missing = [name for name in chosen if name not in given]
    if by_type and missing:
        raise input_error(
            source,
            f"has no column of run times on {', '.join(missing)} "
            f"({_there_are([column.heading for column in by_type])}); add one, or leave the type out of --types",
        )
    left_out = [column for column in by_type if column.vm_type not in chosen]
    if not left_out:
        return [*columns], []
    names = columns_text([column.heading for column in left_out])
    return [column for column in columns if column not in left_out], [f"{source}: {names} left out, not among --types"]


def _there_are(headings: Sequence[str]) -> str:
    return f"there {'are' if len(headings) > 1 else 'is'} {columns_text(headings)}"
