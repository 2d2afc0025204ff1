"""Columns of a table of tasks: which are read, as what, and which are refused."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, get_args

from ...core.errors import SpotbagError, input_error
from ...core.quantities import TIME_UNITS_S
from ...core.text_tables import TextTable, columns_text
from ..amounts import MEMORY_UNITS_MB
from ..columns import COMMENTS, OF_TASKS, Headings, TableColumn, TaskRole, meaning, normal
from .imported import Asked, MultiCore
from .task_documents import MadeTable
from .task_formats import FORMATS, REFUSED, TaskFormat

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


TaskColumn: TypeAlias = TableColumn[TaskRole]


@dataclass(frozen=True, slots=True)
class TaskColumns:
    """All columns of a table: those that are read, and those of which nothing is made, with the reason.

    Attributes
    ----------
    read : list of TaskColumn
        What is read.
    refused : dict
        Index to the heading, to cells that ask for nothing, and to the reason why others are refused.
    chosen : dict
        Index to the cells of the rows that are taken.
    warnings : list of str
        Columns that are passed over.
    """

    read: list[TaskColumn]
    refused: dict[int, tuple[str, re.Pattern[str] | None, str]]
    chosen: dict[int, Collection[str]]
    warnings: list[str]


def columns_of(
    table: TextTable | MadeTable, form: CsvFormat, known: TaskFormat, catalogue: Sequence[str]
) -> TaskColumns:
    """Content of each column, columns that are not understood, and warnings about columns that are passed over."""
    names = [normal(heading) for heading in table.first]
    headings: Headings[TaskRole] = Headings(
        table.first,
        table.source,
        f"{', '.join(ROLES)} and runtime[TYPE], with a unit such as memory_gb or runtime_min",
        lambda index, role: _column(index, role, ()),
        lambda index, heading: _column_of(index, heading, known) or _column(index, heading, ()),
    )
    mapped = headings.said(form.columns or {}, form.ignored)
    filtered = headings.chosen(form.only)
    decided = {(column.role, column.vm_type) for column in mapped.values()}
    columns: list[TaskColumn] = []
    refused: dict[int, tuple[str, re.Pattern[str] | None, str]] = {}
    passed: list[str] = []
    warnings = [] if known.own else [f"{table.source}: read as {known.title}"]
    for index, heading in enumerate(table.first):
        if heading in form.ignored:
            continue
        name = names[index]
        column = mapped.get(index) or _column_of(index, heading, known, catalogue, names)
        why = _why_refused(name)
        if (of_format := _why_refused(f"{known.name}.{name}")) is not None:
            refused[index] = heading, *of_format
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
    headings.refuse_two_of_a_role(columns if known.own else mapped.values())
    used = [] if known.own else [*known.joined, *(normal(column.heading) for column in columns)]
    if twice := [name for name in used if names.count(name) > 1]:
        heading = table.first[names.index(twice[0])]
        raise input_error(table.source, f"has {names.count(twice[0])} columns {heading!r}: which of them counts?")
    order = {name: place for of_role in known.columns.values() for place, name in enumerate(of_role)}
    columns.sort(key=lambda column: order.get(normal(column.heading), 0))
    return TaskColumns(columns, refused, filtered, warnings)


def _why_refused(name: str) -> tuple[re.Pattern[str], str] | None:
    """Harmless cells of a column that is refused, and the reason."""
    return next(((harmless, rule) for headings, harmless, rule in REFUSED if name in headings), None)


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
    columns: Sequence[TaskColumn], chosen: Sequence[str], table: TextTable | MadeTable, known: TaskFormat
) -> tuple[list[TaskColumn], list[str]]:
    """Leave out run times on types that are not chosen; every chosen type needs some."""
    source, first = table.source, table.delimiter.join(table.first)
    times = [column for column in columns if column.role == "runtime"]
    by_type = [column for column in times if column.vm_type is not None]
    if not times and not known.own:
        names = " or ".join(known.columns["runtime"])
        rule = f"is {known.title} without a column of run times: {names}; or say --column runtime_s=HEADING"
        raise input_error(source, rule)
    form = next((form for form in FORMATS.values() if form.other_forms and re.match(form.other_forms, first)), None)
    if not times and form is not None:
        rule = f"has no column of run times; of {form.title}, what is read is made by {form.source}"
        raise input_error(source, f"{rule} (or say --column runtime=HEADING)")
    if not times:
        raise input_error(
            source,
            "has no column of run times: call it runtime_s, runtime_min or runtime_h, or runtime_s[c6i.large] for each "
            f"VM type, or say --column runtime=HEADING ({_there_are(table.first)}); none is made of a start and an end",
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
