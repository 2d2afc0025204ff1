"""Columns of a table of tasks, or of jobs that arrive: amounts in their cells, what headings mean, values of rows."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NoReturn, TypeAlias

from ..core.errors import Issue, SpotbagError, input_error
from ..core.quantities import KB_PER_MB, MB_PER_GB, NUMBER, TIME_UNITS_S, duration_s, number_of
from ..core.record_lists import grouped_by
from ..core.records import duplicates_anywhere
from ..core.text_tables import TextTable, columns_text
from ..core.wording import counted
from .table_formats import COMMENTS, FORMATS, OF_TASKS, REFUSED, MadeTable, Role, TableFormat, normal

_SPELLINGS_OF_MEMORY: dict[float, tuple[str, ...]] = {
    1 / (MB_PER_GB * KB_PER_MB): ("b", "bytes"),
    1 / KB_PER_MB: ("kb", "kib", "k", "ki", "kbytes"),
    1: ("mb", "mib", "m", "mi", "mbytes"),
    MB_PER_GB: ("gb", "gib", "g", "gi", "gbytes"),
    MB_PER_GB**2: ("tb", "tib", "t", "ti", "tbytes"),
}
MEMORY_UNITS_MB = {name: unit for unit, names in _SPELLINGS_OF_MEMORY.items() for name in names}
"""MB of each unit. As everywhere here, 1 GB = 1024 MB."""
_QUANTITY = re.compile(rf"({NUMBER})\s*([a-zA-Z]+)")
_CLOCK = re.compile(
    r"(?:(?:([0-9]+)(?: days?,? +|-)(?=[0-9]+:[0-9]+:))?([0-9]+):)?([0-5]?[0-9]):([0-5]?[0-9](?:\.[0-9]+)?)"
)
"""``12:30``, ``00:12:30``, and with days as Slurm and Python write them: ``1-02:03:04``, ``0 days 00:45:00``."""
_ISO = re.compile(r"P(?=.*[0-9])(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]+)?)S)?)?")
MINUTES_AND_SECONDS = re.compile(r"[0-9]+:[0-9]+(?:\.[0-9]+)?")
"""A clock of two parts, which others may read as hours and minutes."""
THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?\s*[a-zA-Z]*")
"""An amount with commas, each of which may stand between thousands."""
_PLURAL = re.compile(r"(?<=[a-zA-Z]{2})\(s\)")
"""LSF writes ``12 second(s)``; behind one letter, ``m(s)`` would become milliseconds."""
NO_COMMA = " with a decimal point (a decimal comma is understood where semicolons divide the cells)"


def seconds_of(cell: str, factor: float | None = None) -> float | None:
    """Seconds of a run time.

    A number times a factor, with units (``12min``, ``1h30m``), a clock (``00:12:30``, ``1-02:03:04``,
    ``0 days 00:45:00``), or ISO 8601 (``PT1H30M``).
    """
    number = number_of(cell)
    if number is not None:
        return None if factor is None else number * factor
    parts = _CLOCK.fullmatch(cell) or _ISO.fullmatch(cell)
    if parts is not None:
        days, hours, minutes, seconds = map(float, parts.groups("0"))
        return sum(
            amount * TIME_UNITS_S[unit]
            for amount, unit in ((days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s"))
        )
    cell = _PLURAL.sub("s", cell)
    amount = _quantity(cell, TIME_UNITS_S, None)
    if amount is not None or not cell or cell != cell.strip():  # or a number with odd blanks would be one of seconds
        return amount
    try:
        return duration_s(cell)
    except ValueError:
        return None


def memory_mb_of(text: str, factor: float | None = None) -> float | None:
    """MB of an amount of memory such as ``512MB`` or ``2 GB``, or of a number times a factor."""
    return _quantity(text, MEMORY_UNITS_MB, factor)


def _quantity(cell: str, units: Mapping[str, float], factor: float | None) -> float | None:
    number = number_of(cell)
    if number is not None:
        return None if factor is None else number * factor
    found = _QUANTITY.fullmatch(cell)
    amount = None if found is None else number_of(found[1])
    return (
        None if found is None or amount is None or found[2].lower() not in units else amount * units[found[2].lower()]
    )


def rule_of_amount(cell: str, units: Mapping[str, float], factor: float | None, no_unit: str, example: str) -> str:
    """Return the fault of a cell that is no amount."""
    if "," in cell:
        return f"must be a number{NO_COMMA}"
    found = _QUANTITY.fullmatch(cell)
    if found is not None and found[2].lower() not in units:
        return f"has a unit that is not known; known are {', '.join(units)}"
    if factor:
        return "must be a number"
    return no_unit if number_of(cell) is not None else f"must be {example}"


def unit_of(name: str | None, units: Mapping[str, float], option: str) -> float | None:
    """Return the factor of a unit that an option names.

    Raises
    ------
    SpotbagError
        If it is none.
    """
    if name is None:
        return None
    if name.lower() not in units:
        raise SpotbagError(f"{option} {name}: is no unit; units are {', '.join(units)}")
    return units[name.lower()]


# -------------------------------------------------------------------------------------------------------------- columns

MultiCore: TypeAlias = Literal["keep", "split", "skip"]
_UNITS: Mapping[Role, Mapping[str, float]] = {
    "memory": MEMORY_UNITS_MB,
    **dict.fromkeys(("runtime", "ready", "deadline", "arrival", "within"), TIME_UNITS_S),
}
"""Units that headings may name."""
_STATISTICS = {"max", "mean", "avg", "average", "median", "stddev"}
"""Headings beside which ``min`` is the least of several values, and no minute."""
_TYPE_NAME = re.compile(r"[\[(]([^\])]+)[\])]")
_UNIT = re.compile(r"[(\[](\w+)[)\]]\s*\Z")
"""A unit in brackets, whatever stands before it."""


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """Roles and units of the columns of a table, where its headings do not give them.

    Attributes
    ----------
    columns : dict
        Role (of `columns.toml`, or ``runtime[TYPE]``), with a unit or without, to the heading of its column.
    ignored : sequence of str
        Headings of columns that are left out.
    memory_unit, runtime_unit : str, optional
        Units of numbers in columns whose heading names none.
    only : dict
        Heading to the cells of the rows that are taken.
    stage : str, optional
        Stage, process or rule of a workflow whose tasks are taken.
    multi_core : {"keep", "split", "skip"}
        What is made of tasks of several cores: such a task, one for each core, or nothing.
    """

    columns: Mapping[str, str] | None = None
    ignored: Sequence[str] = ()
    memory_unit: str | None = None
    runtime_unit: str | None = None
    only: Mapping[str, Collection[str]] = field(default_factory=dict)
    stage: str | None = None
    multi_core: MultiCore = "keep"


class CellValues(dict[str, Any]):
    """Values of cells by their texts, of which most are repeated; each text is looked at once."""

    def __init__(self, read: Callable[[str], Any]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> Any:
        value = self[text] = self._read(text)
        return value


@dataclass(frozen=True)
class TableColumn:
    """A column of a file: its heading, its role, the factor of its numbers, and the VM type of its run times."""

    index: int
    heading: str
    role: Role
    factor: float | None = None
    vm_type: str | None = None
    values: CellValues = field(default_factory=lambda: CellValues(str), compare=False)


@dataclass(frozen=True, slots=True)
class TableColumns:
    """All columns of a table: those that are read, and those of which nothing is made, with the reason.

    Attributes
    ----------
    read : list of TableColumn
        What is read.
    refused : dict
        Index to the heading, to cells that ask for nothing, and to the reason why others are refused.
    chosen : dict
        Index to the cells of the rows that are taken.
    warnings : list of str
        Columns that are passed over.
    """

    read: list[TableColumn]
    refused: dict[int, tuple[str, re.Pattern[str] | None, str]]
    chosen: dict[int, Collection[str]]
    warnings: list[str]


def columns_of(
    table: TextTable | MadeTable, form: CsvFormat, known: TableFormat, catalogue: Sequence[str] = ()
) -> TableColumns:
    """Columns of a table, by what each of them holds.

    Parameters
    ----------
    table : table
        With headings.
    form : CsvFormat
        What they do not say.
    known : TableFormat
        What the table is one of.
    catalogue : sequence of str
        VM types that headings may name, longer names first.

    Raises
    ------
    SpotbagError
        If an option names a column that is not there, or two columns hold the same.
    """
    names = [normal(heading) for heading in table.first]
    mapped, filtered = _mapped(table, form, known), _chosen(table, form.only)
    decided = {(column.role, column.vm_type) for column in mapped.values()}
    columns: list[TableColumn] = []
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
        own = meaning(name, OF_TASKS)
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
    _refuse_two_of_a_role(columns if known.own else mapped.values(), table.source)
    if not known.own:
        _refuse_same_headings(table, names, [*known.joined, *(normal(column.heading) for column in columns)])
    # Of several columns of a role, the first that says something counts, in the order of the format.
    order = {name: place for of_role in known.columns.values() for place, name in enumerate(of_role)}
    columns.sort(key=lambda column: order.get(normal(column.heading), 0))
    return TableColumns(columns, refused, filtered, warnings)


def _mapped(table: TextTable | MadeTable, form: CsvFormat, known: TableFormat) -> dict[int, TableColumn]:
    """Columns whose roles are given by options; the unit, too, if the heading of one of that role has none."""
    for heading in form.ignored:
        if heading not in table.first:
            _refuse(table, f"--ignore-column {heading}", 0)
    said: dict[int, TableColumn] = {}
    for role, heading in (form.columns or {}).items():
        option, count = f"--column {role}={heading}", table.first.count(heading)
        if count != 1:
            _refuse(table, option, count)
        index = table.first.index(heading)
        column = _column(index, role, known)
        own = _column_of(index, heading, known) or _column(index, heading, known)
        if own is None and (unit := _UNIT.search(heading)):
            own = _column(index, f"{role}_{unit[1]}", known)
        if column is None:
            raise SpotbagError(f"{option}: {role!r} is no role; roles are {known.roles}")
        if index in said or heading in form.ignored:
            taken = "to be left out" if heading in form.ignored else f"the {said[index].role} already"
            raise SpotbagError(f"{option}: that column is {taken}")
        factor = own.factor if column.factor is None and own and own.role == column.role else column.factor
        said[index] = replace(column, heading=heading, factor=factor)
    return said


def _chosen(table: TextTable | MadeTable, only: Mapping[str, Collection[str]]) -> dict[int, Collection[str]]:
    """Cells of the columns by which rows are chosen."""
    found: dict[int, Collection[str]] = {}
    for heading, values in only.items():
        places = [index for index, cell in enumerate(table.first) if heading in (cell, normal(cell))]
        if len(places) != 1:
            _refuse(table, f"--only {heading}=...", len(places))
        found[places[0]] = values
    return found


def _refuse(table: TextTable | MadeTable, option: str, count: int) -> NoReturn:
    rule = f"there are {count} such columns" if count else "there is no such column"
    raise SpotbagError(f"{option}: {rule} in {table.source} ({columns_text(table.first)})")


def _refuse_same_headings(table: TextTable | MadeTable, names: Sequence[str], used: Iterable[str]) -> None:
    """Refuse a heading that several columns have, if anything is made of it."""
    twice = next((name for name in used if names.count(name) > 1), None)
    if twice is not None:
        rule = f"has {names.count(twice)} columns {table.first[names.index(twice)]!r}: which of them counts?"
        raise input_error(table.source, rule)


def _refuse_two_of_a_role(columns: Iterable[TableColumn], source: str) -> None:
    """Refuse columns that hold the same: two of a role, and a type."""
    seen: dict[tuple[str, str | None], TableColumn] = {}
    for column in columns:
        other = seen.setdefault((column.role, column.vm_type), column)
        if other is not column:
            of_type = f" on {column.vm_type}" if column.vm_type else ""
            rule = (
                f"columns {other.heading!r} and {column.heading!r} both hold the {column.role}{of_type}: "
                f"--column {column.role}={column.heading} takes one, --ignore-column {column.heading} leaves it out"
            )
            raise input_error(source, rule)


def _why_refused(name: str) -> tuple[re.Pattern[str], str] | None:
    """Harmless cells of a column that is refused, and the reason."""
    return next(((harmless, rule) for headings, harmless, rule in REFUSED if name in headings), None)


def _column_of(
    index: int, heading: str, known: TableFormat, catalogue: Sequence[str] = (), beside: Collection[str] = ()
) -> TableColumn | None:
    """Meaning of a heading in a table of a format; None if it has none."""
    if known.own:
        return _column(index, heading, known, catalogue, beside)
    name = normal(heading)
    role, unit = known.role_of(name), known.units.get(name)
    factor = (TIME_UNITS_S | MEMORY_UNITS_MB)[unit] if unit else None
    return None if role is None else TableColumn(index, heading, role, factor)


def _column(
    index: int, heading: str, known: TableFormat, catalogue: Sequence[str] = (), beside: Collection[str] = ()
) -> TableColumn | None:
    """Meaning of a heading beside others; None if it has none, or names a type that is not in the given catalogue."""
    vm_type, rest = _type_in(heading, catalogue) if known.typed else (None, heading)
    name = normal(rest)
    if any(heading.count(opened) != heading.count(closed) for opened, closed in ("()", "[]", "{}")):
        return None
    # Brackets may hold anything, such as a unit or a remark.
    if vm_type is not None and catalogue and vm_type not in catalogue:
        return None
    found = meaning(name, known.columns if known.own else OF_TASKS)
    if vm_type is not None:
        if name in ("", *TIME_UNITS_S):
            found = "runtime", TIME_UNITS_S.get(name)
        return TableColumn(index, heading, *found, vm_type) if found and found[0] == "runtime" else None
    if name == "min" and not _STATISTICS.isdisjoint(beside):
        return None
    if known.typed and name in TIME_UNITS_S and len(name) > 2:  # "seconds", "min"
        found = "runtime", TIME_UNITS_S[name]
    return None if found is None else TableColumn(index, heading, *found)


def _type_in(heading: str, catalogue: Sequence[str]) -> tuple[str | None, str]:
    """VM type that a heading names, of those of a catalogue, longest names first, and the rest of the heading."""
    # Up to the last bracket that closes: behind it, whatever opens one would be followed to the end in vain.
    bracketed = _TYPE_NAME.search(heading, 0, max(heading.rfind("]"), heading.rfind(")")) + 1)
    if bracketed is not None and normal(bracketed[1]) not in {**TIME_UNITS_S, **MEMORY_UNITS_MB}:
        return bracketed[1].strip(), heading[: bracketed.start()] + "_" + heading[bracketed.end() :]
    lowered = heading.lower()
    for name in catalogue:
        start = lowered.find(name.lower())
        beside = heading[max(start - 1, 0) : start] + heading[start + len(name) : start + len(name) + 1]
        if start >= 0 and not any(map(str.isalnum, beside)):  # M64 is not in M64ms
            return name, heading[:start] + "_" + heading[start + len(name) :]
    return None, heading


def meaning(heading: str, spellings: Mapping[Role, tuple[str, ...]]) -> tuple[Role, float | None] | None:
    """Role of a heading, and the factor of its unit, of those of the role; None for no unit, or no role."""
    name = re.sub(r"[\[\](){}]", "_", normal(heading)).replace("__", "_").strip("_")
    head, _, unit = name.rpartition("_")
    for role, names in spellings.items():
        if name in names:
            return role, None
        if head in names and unit in _UNITS.get(role, ()):
            return role, _UNITS[role][unit]
    return None


# ------------------------------------------------------------------------- rows

MOST_ISSUES = 25_000


class TableRows(ABC):
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
        self._of = grouped_by((column for column in made if column.vm_type is None), lambda column: column.role)

    @abstractmethod
    def _reading(self, column: TableColumn) -> Callable[[str], Any]:
        """Return the function that reads the cells of a column; it raises ValueError with the rule."""

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
            # One fault for a column, not one for each of its rows.
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


def columns_of_types(
    columns: Sequence[TableColumn], chosen: Sequence[str], table: TextTable | MadeTable, known: TableFormat
) -> tuple[list[TableColumn], list[str]]:
    """Leave out run times on types that are not chosen; every chosen type needs some."""
    source, first = table.source, table.delimiter.join(table.first)
    times = [column for column in columns if column.role == "runtime"]
    by_type = [column for column in times if column.vm_type is not None]
    if not times and not known.own:
        names = " or ".join(known.columns["runtime"])
        rule = f"is {known.title} without a column of run times: {names}; or say --column runtime_s=HEADING"
        raise input_error(source, rule)
    # A tool may write other reports beside the one that is read; which one it is saves a search.
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
    # A type without run times could run nothing, which nobody chooses it for.
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
