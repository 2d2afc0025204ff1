"""Bags of tasks from CSV files: a row for each task, or for several identical ones."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import ValidationError

from ...core.errors import InputError, Issue, SpotbagError, input_error
from ...core.quantities import KB_PER_MB, MAX_SECONDS, MB_PER_GB, NUMBER, STATED, TIME_UNITS_S, duration_s, number_of
from ...core.records import field_issues
from ...core.text_files import read_text, source_name
from ...core.text_tables import TextTable, columns_text
from ..entries import Architecture, Task
from ..instance import Instance
from .imported import COMMENTS, Asked, Imported, grouped, make_instance
from .vm_catalogue import LIMIT_PER_TYPE_AND_MARKET, VmChoice, chosen_rows, read_catalogue

Role = Literal["id", "command", "memory", "runtime", "count", "architecture", "ready", "deadline", "weight"]

_SPELLINGS: dict[Role, tuple[str, ...]] = {
    "id": ("id", "task", "task_id", "taskid", "name", "task_name", "job", "job_id", "job_name"),
    "command": ("command", "cmd", "command_line", "commandline", "script"),
    "memory": ("memory", "mem", "ram", "memory_usage", "max_memory", "peak_memory", "max_rss", "rss"),
    "runtime": ("runtime", "run_time", "duration", "time", "elapsed", "elapsed_time", "walltime", "wall_time", "wall"),
    "count": ("count", "copies", "n", "number", "tasks", "repeat", "repetitions"),
    "architecture": ("architecture", "arch", "cpu_architecture"),
    "ready": ("ready", "release", "earliest_start"),
    "deadline": ("deadline", "due", "latest_end"),
    "weight": ("weight",),
}
_OF_TIME: tuple[Role, ...] = ("runtime", "ready", "deadline")
_DATES = {"ready": "ready_s", "deadline": "deadline_s"}
_SPELLINGS_OF_MEMORY: dict[float, tuple[str, ...]] = {
    1 / (MB_PER_GB * KB_PER_MB): ("b", "bytes"),
    1 / KB_PER_MB: ("kb", "kib", "k"),
    1: ("mb", "mib", "m"),
    MB_PER_GB: ("gb", "gib", "g"),
    MB_PER_GB**2: ("tb", "tib"),
}
MEMORY_UNITS_MB = {name: unit for unit, names in _SPELLINGS_OF_MEMORY.items() for name in names}
"""MB of each unit. As everywhere here, 1 GB = 1024 MB."""
_ARCHITECTURES: dict[str, Architecture] = {
    "x86_64": "x86_64",
    "x86-64": "x86_64",
    "amd64": "x86_64",
    "x64": "x86_64",
    "intel": "x86_64",
    "arm64": "arm64",
    "aarch64": "arm64",
    "arm": "arm64",
    "graviton": "arm64",
}
_QUANTITY = re.compile(rf"({NUMBER})\s*([a-zA-Z]+)")
_CLOCK = re.compile(r"(?:([0-9]+):)?([0-5]?[0-9]):([0-5]?[0-9](?:\.[0-9]+)?)")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9:]*,[0-9]+[^,.]*")
_OR_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}(?![0-9])")
_NO_COMMA = " with a decimal point (a decimal comma is understood where semicolons divide the cells)"
_TYPE_NAME = re.compile(r"[\[(]([^\])]+)[\])]")
_MOST_ISSUES = 25_000


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """Roles and units of the columns of a CSV file, where the header does not give them.

    Attributes
    ----------
    columns : dict
        Role (``id``, ``command``, ``memory``, ``runtime``, ``count``, ``architecture``, ``ready``, ``deadline``,
        ``weight``, or ``runtime[TYPE]``) to the heading of its column.
    ignored : sequence of str
        Headings of columns that are left out.
    memory_unit, runtime_unit : str, optional
        Units of numbers in columns whose heading names none.
    """

    columns: Mapping[str, str] | None = None
    ignored: Sequence[str] = ()
    memory_unit: str | None = None
    runtime_unit: str | None = None


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the file: its heading, its role, the factor of its numbers, and the VM type of its run times."""

    index: int
    heading: str
    role: Role
    factor: float | None = None
    vm_type: str | None = None


def instance_of_csv(path: str | os.PathLike[str], asked: Asked, form: CsvFormat | None = None) -> Imported:
    """Read a bag of tasks from a CSV file.

    Parameters
    ----------
    path : path
        The file, or ``-`` for standard input: UTF-8, with or without byte-order mark, comma, semicolon or tab between
        the cells, headings in the first line.
    asked : Asked
        Deadline and VM types; without types, those that the headings name.
    form : CsvFormat, optional
        What the headings do not say.

    Returns
    -------
    Imported
        The instance, and what a user should know about it.

    Raises
    ------
    InputError
        With everything that is wrong: line, column, value and rule.
    SpotbagError
        If the VM types cannot be had.
    """
    form = form or CsvFormat()
    source = source_name(path)
    table = TextTable(read_text(path), source)
    table.check_headings()
    catalogue = {row.name: row for row in read_catalogue(asked.vms.prices).vm_types}
    # Longer type names first: a heading with c6i.large.metal must not be taken for c6i.large.
    columns, unknown, warnings = _columns(table, form, sorted(catalogue, key=len, reverse=True))
    asked = _with_types(asked, columns, source)
    columns, more = _columns_of_types(columns, [row.name for row in chosen_rows(asked.vms)], source)
    # Where commas divide the cells, no number can have a decimal comma.
    reader = _Reader(columns, unknown, asked, form, decimal_commas=table.delimiter != ",")
    tasks = reader.tasks(table)
    warnings += reader.notes(source)
    # All faults of rows are reported at once, so that one run shows every line to mend.
    if reader.issues or table.issues:
        raise InputError(source, grouped([*reader.issues, *table.issues]))
    if not tasks:
        raise input_error(source, "has a line of headings, and no tasks below it")
    made_from = f"CSV file {os.path.basename(source)}"
    return make_instance(
        tasks, asked, source, made_from, lambda index: ("line", str(reader.lines[index])), [*warnings, *more]
    )


def read_tasks(
    path: str | os.PathLike[str],
    deadline_s: int,
    types: Sequence[str] = (),
    *,
    limit: int = LIMIT_PER_TYPE_AND_MARKET,
    prices: str | os.PathLike[str] | None = None,
    region: str | None = None,
) -> Instance:
    """Read a bag of tasks from a CSV file, with VM types and prices of a catalogue.

    Parameters
    ----------
    path : path
        The file; docs/formats.md says what its headings may be.
    deadline_s : int
        All tasks end by then.
    types : sequence of str
        VM types, by name or patterns such as ``c6i.*``; those that the headings name if absent.
    limit : int
        VMs of each type in each market at once.
    prices : path, optional
        A catalogue file; the shipped one if absent.
    region : str, optional
        Needed if the catalogue has several.

    Raises
    ------
    InputError
        With everything that is wrong: line, column, value and rule.
    SpotbagError
        If the VM types cannot be had.
    """
    vms = VmChoice(types=types, limit=limit, prices=prices, region=region)
    return instance_of_csv(path, Asked(deadline_s, vms)).instance


def _normal(heading: str) -> str:
    return re.sub(r"[\s\-_.:/]+", "_", heading.strip().lower()).strip("_")


def _columns(
    table: TextTable, form: CsvFormat, catalogue: Sequence[str]
) -> tuple[list[_Column], dict[int, str], list[str]]:
    """Content of each column, columns that are not understood, and warnings about columns that are passed over."""
    ignored = _ignored(table, form)
    mapped = _mapped(table, form, ignored)
    decided = {(column.role, column.vm_type) for column in mapped.values()}
    columns, unknown, warnings = [], {}, []
    for index, heading in enumerate(table.first):
        if index in ignored:
            continue
        column = mapped.get(index) or _column(index, heading, catalogue)
        if column is None:
            unknown[index] = heading
        elif index not in mapped and (column.role, column.vm_type) in decided:
            warnings.append(f"{table.source}: column {heading!r} left out: --column says which is the {column.role}")
        else:
            columns.append(column)
    comments = [index for index, heading in unknown.items() if _normal(heading) in COMMENTS]
    if comments:
        warnings.append(f"{table.source}: nothing was made of {columns_text([unknown.pop(k) for k in comments])}")
    seen: dict[tuple[str, str | None], _Column] = {}
    for column in columns:
        other = seen.setdefault((column.role, column.vm_type), column)
        if other is not column:
            of_type = f" on {column.vm_type}" if column.vm_type else ""
            rule = (
                f"columns {other.heading!r} and {column.heading!r} both hold the {column.role}{of_type}: "
                f"--column {column.role}={column.heading} takes one, --ignore-column {column.heading} leaves it out"
            )
            raise input_error(table.source, rule)
    return columns, unknown, warnings


def _mapped(table: TextTable, form: CsvFormat, ignored: Collection[int]) -> dict[int, _Column]:
    """Columns whose role is said by its name."""
    mapped: dict[int, _Column] = {}
    for role, heading in (form.columns or {}).items():
        option = f"--column {role}={heading}"
        found = [index for index, cell in enumerate(table.first) if cell == heading]
        if len(found) != 1:
            rule = "there is no such column" if not found else f"there are {len(found)} such columns"
            raise SpotbagError(f"{option}: {rule} in {table.source} ({columns_text(table.first)})")
        column = _column(found[0], role, ())
        if column is None:
            raise SpotbagError(
                f"{option}: {role!r} is no role; roles are {', '.join(_SPELLINGS)} and runtime[TYPE], with a unit such "
                "as memory_gb or runtime_min"
            )
        if found[0] in mapped or found[0] in ignored:
            taken = "to be left out" if found[0] in ignored else f"the {mapped[found[0]].role} already"
            raise SpotbagError(f"{option}: that column is {taken}")
        mapped[found[0]] = replace(column, heading=heading)
    return mapped


def _ignored(table: TextTable, form: CsvFormat) -> set[int]:
    """Columns to leave out."""
    unknown = [heading for heading in form.ignored if heading not in table.first]
    if unknown:
        rule = f"there is no such column in {table.source} ({columns_text(table.first)})"
        raise SpotbagError(f"--ignore-column {unknown[0]}: {rule}")
    return {index for index, heading in enumerate(table.first) if heading in form.ignored}


def _column(index: int, heading: str, catalogue: Sequence[str]) -> _Column | None:
    """Meaning of a heading; None if it has none, or names a type that is not in the given catalogue."""
    vm_type, rest = _type_in(heading, catalogue)
    name = _normal(rest)
    if any(heading.count(opened) != heading.count(closed) for opened, closed in ("()", "[]")):
        return None
    if vm_type is not None and catalogue and vm_type not in catalogue:
        return None
    if vm_type is not None:
        if name in ("", *TIME_UNITS_S):
            return _Column(index, heading, "runtime", TIME_UNITS_S.get(name), vm_type)
        found = _role(name)
        return _Column(index, heading, "runtime", found[1], vm_type) if found and found[0] == "runtime" else None
    if name in TIME_UNITS_S and len(name) > 2:  # "seconds", "min"
        return _Column(index, heading, "runtime", TIME_UNITS_S[name])
    found = _role(name)
    return None if found is None else _Column(index, heading, *found)


def _type_in(heading: str, catalogue: Sequence[str]) -> tuple[str | None, str]:
    """VM type that a heading names, of those of a catalogue, longest names first, and the rest of the heading."""
    # Up to the last bracket that closes: behind it, whatever opens one would be followed to the end in vain.
    bracketed = _TYPE_NAME.search(heading, 0, max(heading.rfind("]"), heading.rfind(")")) + 1)
    if bracketed is not None and _normal(bracketed[1]) not in {**TIME_UNITS_S, **MEMORY_UNITS_MB}:
        return bracketed[1].strip(), heading[: bracketed.start()] + "_" + heading[bracketed.end() :]
    lowered = heading.lower()
    for name in catalogue:
        start = lowered.find(name.lower())
        if start >= 0:
            return name, heading[:start] + "_" + heading[start + len(name) :]
    return None, heading


def _role(name: str) -> tuple[Role, float | None] | None:
    """Role of a normal heading, and the factor of its unit if it has one."""
    name = re.sub(r"[\[\](){}]", "_", name).replace("__", "_").strip("_")
    for role, spellings in _SPELLINGS.items():
        if name in spellings:
            return role, None
    head, _, unit = name.rpartition("_")
    if head in _SPELLINGS["memory"] and unit in MEMORY_UNITS_MB:
        return "memory", MEMORY_UNITS_MB[unit]
    of_time = [role for role in _OF_TIME if head in _SPELLINGS[role] and unit in TIME_UNITS_S]
    return (of_time[0], TIME_UNITS_S[unit]) if of_time else None


def _with_types(asked: Asked, columns: Sequence[_Column], source: str) -> Asked:
    """Take the types of the headings if none are asked for."""
    if asked.vms.types:
        return asked
    named = [column.vm_type for column in columns if column.vm_type is not None]
    if not named:
        raise SpotbagError(
            f"{source}: no VM types are chosen: --types c6i.large,m6i.xlarge ('spotbag instance types' lists them)"
        )
    return replace(asked, vms=replace(asked.vms, types=named))


def _columns_of_types(
    columns: Sequence[_Column], chosen: Sequence[str], source: str
) -> tuple[list[_Column], list[str]]:
    """Leave out run times on types that are not chosen; every chosen type needs some."""
    times = [column for column in columns if column.role == "runtime"]
    by_type = [column for column in times if column.vm_type is not None]
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
    known = {column.vm_type for column in by_type}
    missing = [name for name in chosen if name not in known]
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


class _Reader:
    """Makes tasks of rows, and keeps what is wrong with them."""

    def __init__(
        self,
        columns: Sequence[_Column],
        unknown: Mapping[int, str],
        asked: Asked,
        form: CsvFormat,
        decimal_commas: bool,
    ) -> None:
        self.lines: list[int] = []
        self.issues: list[Issue] = []
        self._decimal_commas = decimal_commas
        self._with_comma: Issue | None = None
        self._or_thousands: Issue | None = None
        self._with_point: Issue | None = None
        self._unknown = dict(unknown)
        self._by_role: dict[Role, _Column] = {column.role: column for column in columns if column.vm_type is None}
        self._by_type = [column for column in columns if column.vm_type is not None]
        self._memory_mb = asked.memory_mb
        self._memory_unit = _unit(form.memory_unit, MEMORY_UNITS_MB, "--memory-unit")
        self._time_unit = _unit(form.runtime_unit, TIME_UNITS_S, "--runtime-unit")
        self._architectures = (
            {row.name: row.architecture for row in chosen_rows(asked.vms)} if "architecture" in (self._by_role) else {}
        )

    def tasks(self, rows: Iterable[tuple[int, list[str]]]) -> list[dict[str, Any]]:
        """Tasks as in the document of an instance."""
        made: list[dict[str, Any]] = []
        first: dict[str, int] = {}
        for line, cells in rows:
            if len(self.issues) >= _MOST_ISSUES:
                break
            self._refuse_unknown(line, cells)
            task = self._task(line, cells, len(made) + 1)
            if task is None:
                continue
            name = task["id"]
            if first.setdefault(name, line) != line:
                heading = self._by_role["id"].heading if "id" in self._by_role else ""
                self._fault(line, heading, name, f"is a duplicate of line {first[name]}")
            made.append(task)
            self.lines.append(line)
        self.issues += self._commas_of_two_meanings()
        return made

    def _refuse_unknown(self, line: int, cells: Sequence[str]) -> None:
        """Refuse columns that are not understood: a plan must not pass over their content."""
        for index in [index for index in self._unknown if cells[index]]:
            heading = self._unknown.pop(index)
            rule = (
                f"is in a column of which nothing is made: --ignore-column {heading!r} leaves it out, "
                f"--column ROLE={heading!r} takes it as {', '.join(_SPELLINGS)} or runtime[TYPE]"
            )
            self._fault(line, heading or f"column {index + 1}", cells[index], rule)

    def _commas_of_two_meanings(self) -> list[Issue]:
        """Refuse commas if points are in numbers as well, or if each of them may stand between thousands."""
        comma, point, thousands = self._with_comma, self._with_point, self._or_thousands
        found = comma or thousands
        if found is not None and point is not None:
            rule = f"has a comma where {point.where}, {point.value!r}, has a point: write one or the other everywhere"
            return [replace(found, rule=rule)]
        if thousands is not None and comma is None:
            rule = "may have a decimal comma, or one between thousands: write a decimal point, and nothing in thousands"
            return [replace(thousands, rule=rule)]
        return []

    def notes(self, source: str) -> list[str]:
        """Notes for the user on decimal commas, if any were read as such."""
        found = self._with_comma
        if found is None:
            return []
        return [f"{source}: commas in numbers are decimal commas, as in {found.where}: {found.field} {found.value}"]

    def _number(self, line: int, column: _Column, cell: str) -> str:
        """Return a cell with a decimal point; a comma is one too, where something else divides the cells."""
        if not self._decimal_commas:
            return cell
        if "." in cell and self._with_point is None:
            self._with_point = Issue(f"line {line}", "", column.heading, cell)
        if not _DECIMAL_COMMA.fullmatch(cell):
            return cell
        found = Issue(f"line {line}", "", column.heading, cell)
        if _OR_THOUSANDS.match(cell):
            self._or_thousands = self._or_thousands or found
        else:
            self._with_comma = self._with_comma or found
        return cell.replace(",", ".", 1)

    def _task(self, line: int, cells: Sequence[str], number: int) -> dict[str, Any] | None:
        before = len(self.issues)
        task: dict[str, Any] = {"id": f"t{number}"}
        headings: dict[str, str] = {}
        for role, column in self._by_role.items():
            cell = cells[column.index]
            headings[role] = column.heading
            if role == "id":
                task["id"] = cell
            elif role == "command":
                task |= {"command": cell} if cell else {}
            elif role == "count":
                task |= self._count(line, column, cell)
            elif role == "architecture":
                task |= self._architecture(line, column, cell)
            elif role in _DATES:
                headings[_DATES[role]] = column.heading
                task |= self._date(line, column, cell)
            elif role == "weight":
                task |= self._weight(line, column, cell)
            elif role == "memory":
                headings["memory_mb"] = column.heading
                task |= self._memory(line, column, cell)
            else:
                headings["base_runtime_s"] = column.heading
                seconds = self._seconds(line, column, cell)
                task |= {} if seconds is None else {"base_runtime_s": seconds}
        if self._by_type:
            task["runtime_s"] = self._run_times(line, cells, task.get("architecture"))
            headings |= {f"runtime_s.{column.vm_type}": column.heading for column in self._by_type}
        if "memory" not in self._by_role:
            task |= self._memory(line, None, "")
        # The record's own check would report the same cells again, under names of fields nobody has written.
        if len(self.issues) > before:
            return None
        try:
            Task.model_validate(task)
        except ValidationError as error:
            for issue in field_issues(error, Task, task):
                self._fault(line, headings.get(issue.field, issue.field), issue.value, issue.rule, task["id"])
            return None
        return task

    def _fault(self, line: int, heading: str, value: Any, rule: str, item: str = "") -> None:
        self.issues.append(Issue(f"line {line}", rule, heading, value, item))

    def _count(self, line: int, column: _Column, cell: str) -> dict[str, Any]:
        if not cell:
            return {}
        count = number_of(cell)
        if count is None or not count.is_integer():
            self._fault(line, column.heading, cell, "must be a whole number")
            return {}
        return {"count": int(count)}

    def _date(self, line: int, column: _Column, cell: str) -> dict[str, Any]:
        """Whole seconds of a release, rounded up, or of a deadline, rounded down: neither may be missed by a part."""
        if not cell:
            return {}
        seconds = 0.0 if number_of(cell) == 0 else self._seconds(line, column, cell, 0)
        if seconds is None:
            return {}
        rounded = math.ceil(seconds - STATED) if column.role == "ready" else math.floor(seconds + STATED)
        return {_DATES[column.role]: rounded}

    def _weight(self, line: int, column: _Column, cell: str) -> dict[str, Any]:
        if not cell:
            return {}
        weight = number_of(self._number(line, column, cell))
        if weight is None:
            self._fault(line, column.heading, cell, "must be a number")
            return {}
        return {"weight": weight}

    def _architecture(self, line: int, column: _Column, cell: str) -> dict[str, Any]:
        if not cell:
            return {}
        architecture = _ARCHITECTURES.get(cell.lower())
        if architecture is None:
            self._fault(line, column.heading, cell, "must be x86_64 or arm64")
            return {}
        return {"architecture": architecture}

    def _memory(self, line: int, column: _Column | None, cell: str) -> dict[str, Any]:
        if not cell:
            if self._memory_mb is None:
                heading = column.heading if column is not None else "memory"
                rule = "is missing (--memory 1GB is for tasks that do not say)"
                self._fault(line, heading, Issue.NOTHING, rule)
                return {}
            return {"memory_mb": self._memory_mb}
        assert column is not None
        factor = column.factor or self._memory_unit
        value = _quantity(self._number(line, column, cell), MEMORY_UNITS_MB, factor)
        if value is None:
            no_unit = "has no unit: call the column memory_mb or memory_gb, write 2GB, or say --memory-unit"
            rule = _rule_of_amount(cell, MEMORY_UNITS_MB, factor, no_unit, "an amount such as 512MB or 2GB")
            self._fault(line, column.heading, cell, rule)
            return {}
        if value <= 0:
            self._fault(line, column.heading, cell, "must be greater than 0")
        return {"memory_mb": value}

    def _seconds(self, line: int, column: _Column, cell: str, least: float | None = None) -> float | None:
        factor = column.factor or self._time_unit
        value = seconds_of(self._number(line, column, cell), factor)
        if not cell:
            self._fault(line, column.heading, Issue.NOTHING, "is missing")
        elif value is None:
            no_unit = "has no unit: call the column runtime_s or runtime_min, write 90s, or say --runtime-unit"
            example = "a duration such as 90s, 12min, 1h30m or 00:12:30"
            rule = _rule_of_amount(cell, TIME_UNITS_S, factor, no_unit, example)
            self._fault(line, column.heading, cell, rule)
        elif value <= 0 if least is None else value < least:
            self._fault(line, column.heading, cell, "must be greater than 0" if least is None else "must be at least 0")
        elif value > MAX_SECONDS:
            self._fault(line, column.heading, cell, f"must be at most {MAX_SECONDS:,} s")
        return value

    def _run_times(self, line: int, cells: Sequence[str], architecture: str | None) -> dict[str, float]:
        """Run times by type; a task cannot run on types whose cells are empty."""
        times: dict[str, float] = {}
        for column in self._by_type:
            assert column.vm_type is not None
            if not cells[column.index]:
                continue
            seconds = self._seconds(line, column, cells[column.index])
            other = architecture is not None and self._architectures[column.vm_type] != architecture
            if seconds is not None and not other:
                times[column.vm_type] = seconds
        if not times:
            names = columns_text([column.heading for column in self._by_type])
            rule = f"has a run time in none of the {names}" + (f" that are {architecture}" if architecture else "")
            self.issues.append(Issue(f"line {line}", rule))
        return times


def seconds_of(cell: str, factor: float | None = None) -> float | None:
    """Seconds of a run time: a number times a factor, with units (``12min``, ``1h30m``), or a clock (``00:12:30``)."""
    number = number_of(cell)
    if number is not None:
        return None if factor is None else number * factor
    clock = _CLOCK.fullmatch(cell)
    if clock is not None:
        hours, minutes, seconds = map(float, clock.groups("0"))
        return hours * TIME_UNITS_S["h"] + minutes * TIME_UNITS_S["min"] + seconds
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


def _rule_of_amount(cell: str, units: Mapping[str, float], factor: float | None, no_unit: str, example: str) -> str:
    """Return the fault of a cell that is no amount."""
    if "," in cell:
        return f"must be a number{_NO_COMMA}"
    found = _QUANTITY.fullmatch(cell)
    if found is not None and found[2].lower() not in units:
        return f"has a unit that is not known; known are {', '.join(units)}"
    if factor:
        return "must be a number"
    return no_unit if number_of(cell) is not None else f"must be {example}"


def _unit(name: str | None, units: Mapping[str, float], option: str) -> float | None:
    if name is None:
        return None
    if name.lower() not in units:
        raise SpotbagError(f"{option} {name}: is no unit; units are {', '.join(units)}")
    return units[name.lower()]
