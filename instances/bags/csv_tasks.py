"""Bags of tasks from CSV files: a row for each task, or for several identical ones."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import ValidationError

from ...core.errors import InputError, Issue, SpotbagError, input_error
from ...core.quantities import duration_s, number_of
from ...core.records import field_issues
from ...core.text_files import read_text, source_name
from ..entries import Architecture, Task
from ..instance import Instance
from .imported import Asked, Imported, grouped, make_instance
from .vm_catalogue import LIMIT_PER_TYPE_AND_MARKET, VmChoice, chosen_rows, read_catalogue

Role = Literal["id", "command", "memory", "runtime", "count", "architecture"]

_SPELLINGS: dict[Role, tuple[str, ...]] = {
    "id": ("id", "task", "task_id", "taskid", "name", "task_name", "job", "job_id", "job_name"),
    "command": ("command", "cmd", "command_line", "commandline", "script"),
    "memory": ("memory", "mem", "ram", "memory_usage", "max_memory", "peak_memory", "max_rss", "rss"),
    "runtime": ("runtime", "run_time", "duration", "time", "elapsed", "elapsed_time", "walltime", "wall_time", "wall"),
    "count": ("count", "copies", "n", "number", "tasks", "repeat", "repetitions"),
    "architecture": ("architecture", "arch", "cpu_architecture"),
}
MEMORY_UNITS_MB: dict[str, float] = {
    "b": 1 / 1024**2,
    "bytes": 1 / 1024**2,
    "kb": 1 / 1024,
    "kib": 1 / 1024,
    "k": 1 / 1024,
    "mb": 1,
    "mib": 1,
    "m": 1,
    "gb": 1024,
    "gib": 1024,
    "g": 1024,
    "tb": 1024**2,
    "tib": 1024**2,
}
"""MB of each unit. As everywhere here, 1 GB = 1024 MB."""
TIME_UNITS_S: dict[str, float] = {
    "ms": 0.001,
    "s": 1,
    "sec": 1,
    "secs": 1,
    "second": 1,
    "seconds": 1,
    "m": 60,
    "min": 60,
    "mins": 60,
    "minute": 60,
    "minutes": 60,
    "h": 3600,
    "hr": 3600,
    "hrs": 3600,
    "hour": 3600,
    "hours": 3600,
    "d": 86400,
    "day": 86400,
    "days": 86400,
}
"""Seconds of each unit."""
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
_QUANTITY = re.compile(r"([0-9.eE+]+?)\s*([a-zA-Z]+)")
_CLOCK = re.compile(r"(?:([0-9]+):)?([0-9]{1,2}):([0-9]{1,2}(?:\.[0-9]+)?)")
_DECIMAL_COMMA = re.compile(r"[0-9:]*,[0-9]+[^,.]*$")
_NO_COMMA = " with a decimal point (a decimal comma is understood where semicolons divide the cells)"
_TYPE_NAME = re.compile(r"[\[(]\s*([^\])]+?)\s*[\])]")
_MOST_ISSUES = 25_000


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How a CSV file is to be read, where its header does not say.

    Attributes
    ----------
    columns : dict
        Role (``id``, ``command``, ``memory``, ``runtime``, ``count``, ``architecture``, or ``runtime[TYPE]``) to the
        heading of its column.
    memory_unit, runtime_unit : str, optional
        Units of numbers in columns whose heading names none.
    """

    columns: Mapping[str, str] | None = None
    memory_unit: str | None = None
    runtime_unit: str | None = None


@dataclass(frozen=True, slots=True)
class _Column:
    """What a column holds: its heading, role, what its numbers are multiplied by, and whose run times they are."""

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
    text = read_text(path)
    delimiter = _delimiter(text)
    lines = _rows(text, delimiter, source)
    _, heading = next(lines)
    catalogue = [row.name for row in read_catalogue(asked.vms.prices).vm_types]
    columns, unused = _columns(heading, form, catalogue, source)
    asked, warnings = _with_types(asked, columns, source)
    chosen = [row.name for row in chosen_rows(asked.vms)]
    if unused:
        way = (
            f"'spotbag instance import csv --column ROLE=\"{unused[0]}\"' takes it, ROLE being {', '.join(_SPELLINGS)}"
        )
        if all(column.role != "id" for column in columns):
            way += "; tasks are called t1, t2, ..."
        warnings.append(f"{source}: nothing was made of {_columns_text(unused)} ({way})")
    columns, more = _columns_of_types(columns, chosen, source)
    reader = _Reader(columns, asked, form, len(heading), decimal_commas=delimiter != ",")
    tasks = reader.tasks(lines)
    warnings += reader.notes(source)
    if reader.issues:
        raise InputError(source, grouped(reader.issues))
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


def _delimiter(text: str) -> str:
    """Return what divides the cells: what the line of headings has most of."""
    first = text.lstrip("\r\n").split("\n", 1)[0]
    return max((",", ";", "\t"), key=first.count)


def _rows(text: str, delimiter: str, source: str) -> Iterator[tuple[int, list[str]]]:
    """Rows of cells with the numbers of their lines; empty lines are skipped."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
    before = 0
    try:
        for row in reader:
            line, before = before + 1, reader.line_num
            if any(cell.strip() for cell in row):
                yield line, [cell.strip() for cell in row]
    except csv.Error as error:
        rule = str(error)
        if "unexpected end" in rule:
            rule = "a quotation mark is opened and never closed"
        raise InputError(source, [Issue(f"line {before + 1}", f"is no CSV: {rule}")]) from None


def _normal(heading: str) -> str:
    return re.sub(r"[\s\-_.:/]+", "_", heading.strip().lower()).strip("_")


def _columns(
    heading: Sequence[str], form: CsvFormat, catalogue: Sequence[str], source: str
) -> tuple[list[_Column], list[str]]:
    """What each column holds, and the headings of those that nothing is made of."""
    mapped = {}
    for role, name in (form.columns or {}).items():
        indices = [index for index, cell in enumerate(heading) if cell == name]
        if len(indices) != 1:
            rule = "there is no such column" if not indices else f"there are {len(indices)} such columns"
            raise SpotbagError(f"--column {role}={name}: {rule} in {source} ({_columns_text(heading)})")
        mapped[indices[0]] = role
    columns, unused = [], []
    for index, cell in enumerate(heading):
        column = _column(index, mapped.get(index, cell), catalogue)
        if column is None:
            if index in mapped:
                raise SpotbagError(
                    f"--column {mapped[index]}={cell}: {mapped[index]!r} is no role; roles are "
                    f"{', '.join(_SPELLINGS)} and runtime[TYPE], with a unit such as memory_gb or runtime_min"
                )
            unused.append(cell)
            continue
        columns.append(replace(column, heading=cell))
    seen: dict[tuple[str, str | None], str] = {}
    for column in columns:
        other = seen.setdefault((column.role, column.vm_type), column.heading)
        if other != column.heading or sum(one.heading == other for one in columns) > 1:
            of_type = f" on {column.vm_type}" if column.vm_type else ""
            both = f"columns {other!r} and {column.heading!r}"
            raise input_error(
                source, f"{both} both hold the {column.role}{of_type} (--column {column.role}=HEADING says which)"
            )
    return columns, unused


def _column(index: int, heading: str, catalogue: Sequence[str]) -> _Column | None:
    """What a heading means; None if it means nothing."""
    vm_type, rest = _type_in(heading, catalogue)
    name = _normal(rest)
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
    """VM type that a heading names, and the rest of the heading."""
    bracketed = _TYPE_NAME.search(heading)
    if bracketed is not None and _normal(bracketed[1]) not in {**TIME_UNITS_S, **MEMORY_UNITS_MB}:
        return bracketed[1], heading[: bracketed.start()] + "_" + heading[bracketed.end() :]
    lowered = heading.lower()
    for name in sorted(catalogue, key=len, reverse=True):
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
    if head in _SPELLINGS["runtime"] and unit in TIME_UNITS_S:
        return "runtime", TIME_UNITS_S[unit]
    return None


def _with_types(asked: Asked, columns: Sequence[_Column], source: str) -> tuple[Asked, list[str]]:
    """Take the types of the headings if none are asked for."""
    if asked.vms.types:
        return asked, []
    named = [column.vm_type for column in columns if column.vm_type is not None]
    if not named:
        raise SpotbagError(
            f"{source}: no VM types are chosen: --types c6i.large,m6i.xlarge ('spotbag instance types' lists them)"
        )
    return replace(asked, vms=replace(asked.vms, types=named)), []


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
    left_out = [column.heading for column in by_type if column.vm_type not in chosen]
    warnings = [f"{source}: {_columns_text(left_out)} left out, not among --types"] if left_out else []
    return [column for column in columns if column.heading not in left_out], warnings


def _there_are(headings: Sequence[str]) -> str:
    return f"there {'are' if len(headings) > 1 else 'is'} {_columns_text(headings)}"


def _columns_text(headings: Sequence[str]) -> str:
    shown = ", ".join(repr(heading) for heading in headings[:8]) + (" ..." if len(headings) > 8 else "")
    return f"column{'s' if len(headings) > 1 else ''} {shown}"


class _Reader:
    """Makes tasks of rows, and keeps what is wrong with them."""

    def __init__(
        self, columns: Sequence[_Column], asked: Asked, form: CsvFormat, width: int, decimal_commas: bool
    ) -> None:
        self.columns = columns
        self.width = width
        self.lines: list[int] = []
        self.issues: list[Issue] = []
        self._decimal_commas = decimal_commas
        self._with_comma: Issue | None = None
        self._with_point: Issue | None = None
        self._by_role: dict[Role, _Column] = {column.role: column for column in columns if column.vm_type is None}
        self._by_type = [column for column in columns if column.vm_type is not None]
        self._memory_mb = asked.memory_mb
        self._memory_unit = _unit(form.memory_unit, MEMORY_UNITS_MB, "--memory-unit")
        self._time_unit = _unit(form.runtime_unit, TIME_UNITS_S, "--runtime-unit")
        self._architectures = (
            {row.name: row.architecture for row in chosen_rows(asked.vms)} if "architecture" in (self._by_role) else {}
        )

    def tasks(self, rows: Iterator[tuple[int, list[str]]]) -> list[dict[str, Any]]:
        """Tasks as in the document of an instance."""
        made: list[dict[str, Any]] = []
        first: dict[str, int] = {}
        for line, cells in rows:
            if len(self.issues) >= _MOST_ISSUES:
                break
            if len(cells) != self.width:
                rule = f"has {len(cells)} cells, the line of headings {self.width}"
                self.issues.append(Issue(f"line {line}", rule))
                continue
            task = self._task(line, cells, len(made) + 1)
            if task is None:
                continue
            name = task["id"]
            if first.setdefault(name, line) != line:
                heading = self._by_role["id"].heading if "id" in self._by_role else ""
                self._fault(line, heading, name, f"is a duplicate of line {first[name]}")
            made.append(task)
            self.lines.append(line)
        if self._with_comma is not None and self._with_point is not None:
            point = self._with_point
            rule = f"has a comma where {point.where}, {point.value!r}, has a point: write one or the other everywhere"
            self.issues.append(replace(self._with_comma, rule=rule))
        return made

    def notes(self, source: str) -> list[str]:
        """Say how numbers were read, where that might be taken amiss."""
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
        if not _DECIMAL_COMMA.match(cell):
            return cell
        if self._with_comma is None:
            self._with_comma = Issue(f"line {line}", "", column.heading, cell)
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
            rule = (
                f"must be a number{_NO_COMMA if ',' in cell else ''}"
                if factor or "," in cell
                else "has no unit: call the column memory_mb or memory_gb, write 2GB, or say --memory-unit"
            )
            self._fault(line, column.heading, cell, rule)
            return {}
        if value <= 0:
            self._fault(line, column.heading, cell, "must be greater than 0")
        return {"memory_mb": value}

    def _seconds(self, line: int, column: _Column, cell: str) -> float | None:
        factor = column.factor or self._time_unit
        value = seconds_of(self._number(line, column, cell), factor)
        if value is None:
            if not cell:
                rule = "is missing"
            elif "," in cell:
                rule = f"must be a number{_NO_COMMA}"
            elif factor or number_of(cell) is None:
                rule = "must be a number" if factor else "must be a duration such as 90s, 12min, 1h30m or 00:12:30"
            else:
                rule = "has no unit: call the column runtime_s or runtime_min, write 90s, or say --runtime-unit"
            self._fault(line, column.heading, cell or Issue.NOTHING, rule)
        elif value <= 0:
            self._fault(line, column.heading, cell, "must be greater than 0")
        return value

    def _run_times(self, line: int, cells: Sequence[str], architecture: str | None) -> dict[str, float]:
        """Run times by type; a task cannot run on types whose cells are empty."""
        times: dict[str, float] = {}
        for column in self._by_type:
            assert column.vm_type is not None
            other = architecture is not None and self._architectures[column.vm_type] != architecture
            if other or not cells[column.index]:
                continue
            seconds = self._seconds(line, column, cells[column.index])
            if seconds is not None:
                times[column.vm_type] = seconds
        if not times:
            names = _columns_text([column.heading for column in self._by_type])
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
        hours, minutes, seconds = clock[1] or 0, clock[2], clock[3]
        return int(hours) * 3600 + int(minutes) * 60 + float(seconds)
    amount = _quantity(cell, TIME_UNITS_S, None)
    if amount is not None or not cell:
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


def _unit(name: str | None, units: Mapping[str, float], option: str) -> float | None:
    if name is None:
        return None
    if name.lower() not in units:
        raise SpotbagError(f"{option} {name}: is no unit; units are {', '.join(units)}")
    return units[name.lower()]
