"""What files of foreign formats say, read another way than spotbag reads them.

Each oracle is written from the definition of a format and from ``docs/formats.md``, not from the reader. It takes the
bytes of a file and returns a `Verdict`: all readings that are right, or none if the file must be refused, and the
doubts for which a file with a reading may be refused as well. So a file must be refused, or must be read, or may be
refused but must be read as the oracle says if it is read.

Cells are divided by a state machine, numbers are matched by a pattern of ASCII digits and kept as decimals.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

DEFAULT_MEMORY_MB = 100.0
"""What ``--memory`` says in all bags."""

ARCHITECTURE_OF = {"c6i.large": "x86_64", "c7g.large": "arm64"}
"""The VM types of all bags."""

LARGEST_MB = 4096
"""Memory of each of them."""

_MOST_TASKS = 10_000_000
_NAME = re.compile(r"[^\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]{1,200}")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


class RefusalDueError(Exception):
    """A file has to be refused, and this is why."""


class UndecidedError(Exception):
    """The definitions do not say what a file means; this is of which of them that is so."""


@dataclass
class Verdict:
    """What is right to do with a file.

    Attributes
    ----------
    readings : list
        What the file may be taken to say, one or several; it must be refused if there is none.
    doubts : set of str
        Why a file that has readings may be refused nevertheless.
    why : str
        Why it must be refused.
    undecided : str
        Why nothing can be said.
    """

    readings: list[Any] = field(default_factory=list)
    doubts: set[str] = field(default_factory=set)
    why: str = ""
    undecided: str = ""

    @property
    def must_be_read(self) -> bool:
        """Whether a refusal is wrong."""
        return bool(self.readings) and not self.doubts


class Task(NamedTuple):
    """A task of a bag, or several that are the same; the type ``*`` stands for one run time on all."""

    id: str
    memory_mb: float
    runtime_s: dict[str, float]
    count: int
    command: str | None
    architecture: str | None


class Row(NamedTuple):
    """A VM type of a catalogue; `spot` has the price of each zone."""

    vcpus: int
    memory_mb: float
    architecture: str | None
    on_demand: float | None
    spot: dict[str, float]


def verdict_of(read: Callable[[set[str]], list[Any]]) -> Verdict:
    """Return the verdict of an oracle that notes its doubts in a set."""
    doubts: set[str] = set()
    try:
        return Verdict(read(doubts), doubts)
    except RefusalDueError as due:
        return Verdict(why=str(due))
    except UndecidedError as open_question:
        return Verdict(undecided=str(open_question))


def same(one: Any, other: Any, near: float = 0.0) -> bool:
    """Return whether two readings are equal; numbers may differ by rounding, and by what is called near."""
    if isinstance(one, float | int) and isinstance(other, float | int) and not isinstance(one, bool):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=near)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key], near) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(same(*pair, near) for pair in zip(one, other, strict=True))
    return bool(one == other)


# ------------------------------------------------------------------ letters, cells, numbers


def _text(data: bytes, doubts: set[str], log: bool = False) -> str:
    """Decode a file; in a log, whose remarks may be in any letters, what is no UTF-8 stays as half a surrogate."""
    text = data.decode("utf-8", "surrogateescape")
    if re.search("[\udc80-\udcff]", text):
        if not log:
            raise RefusalDueError("not UTF-8")
        doubts.add("a log that is not UTF-8")
    if text.startswith("\ufeff" if log else "\ufeff\ufeff"):
        doubts.add("a byte-order mark before a log, or two")
    return text.lstrip("\ufeff")


def _lines(text: str, doubts: set[str]) -> list[str]:
    """Divide a text that has no quoted cells into lines."""
    if re.search(r"\r(?!\n)", text):
        doubts.add("lines end with CR alone")
    return re.split(r"\r\n|\n|\r", text)


def _cells(text: str, divider: str, doubts: set[str]) -> list[list[str]]:
    """Divide a text into rows of cells as RFC 4180 does, letter by letter; empty lines are no rows."""
    rows: list[list[str]] = [[]]
    cell: list[str] = []
    state, place = "start", 0
    while place < len(text):
        letter = text[place]
        place += 1
        if state == "quoted":
            if letter != '"':
                cell.append(letter)
            elif text[place : place + 1] == '"':
                cell.append('"')
                place += 1
            else:
                state = "closed"
        elif letter == divider or letter in "\r\n":
            rows[-1].append("".join(cell))
            cell, state = [], "start"
            if letter != divider:
                place += letter == "\r" and text[place : place + 1] == "\n"
                rows.append([])
        elif state == "closed" and letter in " \t":
            doubts.add("blanks after a closing quotation mark")
        elif state == "closed":
            raise RefusalDueError("letters after a closing quotation mark")
        elif letter == '"' and state == "start":
            state = "quoted"
        elif letter == '"' and not "".join(cell).strip():
            raise UndecidedError("blanks before an opening quotation mark")
        else:
            if letter == '"':
                doubts.add("a quotation mark within a cell without any")
            cell.append(letter)
            state = "bare"
    if state == "quoted":
        raise RefusalDueError("a quotation mark is opened and never closed")
    rows[-1].append("".join(cell))
    return [row for row in rows if row != [""]]


def _tables(
    data: bytes, doubts: set[str], known: Callable[[str], bool]
) -> Iterator[tuple[str, list[list[str]], set[str]]]:
    """Yield the tables that a text may be, by what divides it, with at least one heading that is known."""
    text = _text(data, doubts)
    if "\x00" in text:
        doubts.add("NUL")
    if re.match(r'[ \t"]*[\r\n]', text):
        doubts.add("empty lines before the headings")
    whys, found = [], False
    for divider in ",;\t":
        own = set(doubts)
        try:
            rows = _cells(text, divider, own)
        except RefusalDueError as due:
            whys.append(str(due))
            continue
        if rows and len(rows[0]) > 16_384:
            own.add("more columns than a table may have")
        while rows and not any(cell.strip() for cell in rows[0]):
            own.add("empty lines before the headings")
            del rows[0]
        if rows and any(known(heading) for heading in rows[0]) and (len(rows[0]) > 1 or divider == ","):
            found = True
            yield divider, rows, own
    if not found:
        raise RefusalDueError("; ".join(whys) or "no headings that are known")


def _number(text: str, doubts: set[str]) -> Decimal:
    """Read a number of ASCII digits."""
    if not _PLAIN_NUMBER.fullmatch(text):
        bare = text.strip(" \t\xa0\u3000\x0b\x0c\u2028")
        if not _NUMBER.fullmatch(bare):
            raise RefusalDueError(f"{text[:50]!r} is no number")
        doubts.add("a number with blanks around it" if bare != text else "a number with a sign or odd zeros")
        text = bare
    if len(text) > 400:
        doubts.add("a number of hundreds of digits")
    value = Decimal(text)
    if not math.isfinite(float(value)):
        raise RefusalDueError(f"{text[:50]!r} is too large")
    return value


def _within(value: float, least: float, most: float, what: str) -> float:
    if not least <= value <= most:
        raise RefusalDueError(f"{what} {value} is out of bounds")
    return float(value)


def _whole(value: Decimal, least: int, most: int, what: str) -> int:
    if value != value.to_integral_value():
        raise RefusalDueError(f"{what} {value} is no whole number")
    return int(_within(int(value), least, most, what))


def _named(text: Any, what: str) -> str:
    if not isinstance(text, str) or not _NAME.fullmatch(text):
        raise RefusalDueError(f"{what} {text!r:.50} is no name")
    return text


def _in_bounds(tasks: list[Task]) -> list[Task]:
    """Return tasks if a bag may have them."""
    if not tasks:
        raise RefusalDueError("no tasks")
    if sum(task.count for task in tasks) > _MOST_TASKS:
        raise RefusalDueError("too many tasks")
    names: set[str] = set()
    counted = {task.id: task.count for task in tasks if task.count > 1}
    for task in tasks:
        head, _, number = task.id.rpartition("#")
        if task.id in names or (head in counted and number.isdigit() and 1 <= int(number) <= counted[head]):
            raise RefusalDueError(f"two tasks called {task.id!r}")
        names.add(task.id)
        _within(task.memory_mb, 1e-6, 1e9, "memory")
        for seconds in task.runtime_s.values():
            _within(seconds, 1e-6, 1e9, "run time")
    return tasks


# ------------------------------------------------------------------ tasks in CSV files

_ROLES = {
    "id": ("id", "task", "task_id", "name", "job"),
    "command": ("command", "cmd", "command_line", "script"),
    "count": ("count", "copies", "n"),
    "architecture": ("architecture", "arch"),
}
_MEMORY = re.compile(r"(memory|mem|ram|rss)(?:_([kmg]i?b?))?")
_TIME_UNIT = r"s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?"
_RUNTIME = re.compile(rf"(runtime|run_time|duration|elapsed|walltime)(?:_({_TIME_UNIT}))?")
_MB = {"kb": Decimal(1) / 1024, "mb": Decimal(1), "gb": Decimal(1024), "tb": Decimal(1024 * 1024)}
_SECONDS = {"s": 1, "min": 60, "h": 3600, "m": 60, "d": 86400}
_ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "arm64": "arm64", "aarch64": "arm64"}
_REMARKS = ("note", "notes", "comment", "comments", "remark", "remarks", "description", "descriptions")
"""Headings of columns that say nothing of a plan; what else is not understood must be refused."""


class _Column(NamedTuple):
    role: str
    unit: str
    vm_type: str = ""
    usual: bool = True


def _unit_of_time(unit: str | None) -> str:
    return {"": "", "s": "s", "m": "min", "h": "h"}[(unit or "")[:1]]


def _flat(heading: str) -> str:
    """Write a heading without capitals, and with one ``_`` for all that is no letter."""
    return re.sub(r"[^a-z0-9.]+", "_", heading.lower()).strip("_")


_USUAL_HEADING = re.compile(r"[\w .-]+(\[[\w.-]+\])?", re.ASCII)


@cache
def _column(heading: str, types: tuple[str, ...]) -> _Column | None:
    """Say what a column holds."""
    flat = _flat(heading)
    for role, names in _ROLES.items():
        if flat in names:
            return _Column(role, "")
    if found := _MEMORY.fullmatch(flat):
        return _Column("memory", found[2][0] + "b" if found[2] else "", usual=found[2] in (None, "mb", "gb", "kb"))
    if found := _RUNTIME.fullmatch(flat):
        return _Column("runtime", _unit_of_time(found[2]), usual=found[2] in (None, "s", "min", "h"))
    for vm_type in types:
        name = re.escape(_flat(vm_type))
        if found := re.fullmatch(rf"(?:{_RUNTIME.pattern})_{name}|{name}(?:_({_TIME_UNIT}))?", flat):
            unit = found[2] or found[3]
            return _Column(
                "runtime", _unit_of_time(unit), vm_type, unit in (None, "s", "min", "h") and vm_type in heading
            )
    return None


def bag_of_csv(data: bytes, types: tuple[str, ...]) -> Verdict:
    """Return what a CSV file of tasks says, for VM types that are named."""

    def read(doubts: set[str]) -> list[Any]:
        readings, whys = [], []
        for divider, rows, own in _tables(data, doubts, lambda heading: _column(heading, types) is not None):
            try:
                readings.append(_tasks_of_rows(rows, divider, types, own))
                doubts |= own
            except RefusalDueError as due:
                whys.append(str(due))
        if not readings:
            raise RefusalDueError("; ".join(whys))
        return readings

    return verdict_of(read)


def _tasks_of_rows(rows: list[list[str]], divider: str, types: tuple[str, ...], doubts: set[str]) -> list[Task]:
    columns = [_column(heading, types) for heading in rows[0]]
    for heading, column in zip(rows[0], columns, strict=True):
        usual = _USUAL_HEADING.fullmatch(heading) and heading == heading.strip() and (column is None or column.usual)
        if not usual:
            doubts.add("a heading with blanks around it, or in unusual letters")
    roles = [(column.role, column.vm_type) for column in columns if column]
    if len(roles) != len(set(roles)):
        raise RefusalDueError("two columns hold the same")
    with_times = {vm_type for role, vm_type in roles if role == "runtime"}
    if with_times not in ({""}, set(types)):
        raise RefusalDueError("no column of run times, or not of each type")
    if len(rows) == 1:
        raise RefusalDueError("no rows")
    for place, (heading, column) in enumerate(zip(rows[0], columns, strict=True)):
        if (
            column is None
            and _flat(heading) not in _REMARKS
            and any("".join(row[place : place + 1]).strip() for row in rows[1:])
        ):
            raise RefusalDueError(f"column {heading!r} is not understood")
    comma = _Commas(divider)
    tasks = []
    for row in rows[1:]:
        number = len(tasks) + 1
        if not any(cell.strip() for cell in row):
            doubts.add("a row of empty cells")
            continue
        if len(row) != len(columns):
            raise RefusalDueError(f"task {number} has {len(row)} cells for {len(columns)} headings")
        cells = {column: cell for column, cell in zip(columns, row, strict=True) if column}
        tasks.append(_task_of_cells(cells, number, types, comma, doubts))
    if comma.points and comma.commas:
        raise RefusalDueError("decimal commas and points")
    if comma.commas and comma.thousands == comma.commas:
        raise RefusalDueError("commas that may all stand between thousands")
    return _in_bounds(tasks)


class _Commas:
    """Decimal commas, where commas do not divide cells, how many may stand between thousands, and points."""

    def __init__(self, divider: str) -> None:
        self.allowed = divider != ","
        self.commas = self.thousands = self.points = 0

    def plain(self, text: str, doubts: set[str]) -> str:
        """Return a cell with a decimal point for a decimal comma."""
        self.points += "." in text
        if "," not in text or not self.allowed:
            return text
        self.commas += 1
        if found := re.search(r"(\d*),\d{3}(?!\d)", text):
            self.thousands += 1 <= len(found[1]) <= 3 and found[1][0] != "0"
            doubts.add("a decimal comma before three digits")
        return text.replace(",", ".", 1)


def _task_of_cells(
    cells: dict[_Column, str], number: int, types: tuple[str, ...], comma: _Commas, doubts: set[str]
) -> Task:
    found: dict[str, Any] = {"id": f"t{number}", "memory": DEFAULT_MEMORY_MB, "count": 1, "command": None}
    runtime_s = {}
    for column, cell in cells.items():
        bare = cell.strip()
        if bare != cell and column.role != "command":
            doubts.add("a cell with blanks around it")
        if column.role == "id":
            found["id"] = _named(bare, "id")
        elif column.role == "command":
            found["command"] = cell or None
            if bare != cell:
                doubts.add("a command with blanks around it")
                found["command"] = bare or None
        elif column.role == "architecture":
            if bare and bare not in _ARCHITECTURES:
                if bare.lower() not in _ARCHITECTURES:
                    raise RefusalDueError(f"architecture {cell!r}")
                doubts.add("an architecture in capitals")
            found["architecture"] = _ARCHITECTURES.get(bare.lower())
        elif column.role == "count":
            if bare:
                found["count"] = _whole(_number(comma.plain(bare, doubts), doubts), 1, _MOST_TASKS, "count")
        elif column.role == "memory":
            if bare:
                found["memory"] = float(_memory_mb(comma.plain(bare, doubts), column.unit, doubts))
            else:
                doubts.add("an empty cell of memory, with --memory")
        elif bare:
            runtime_s[column.vm_type or "*"] = float(_runtime_s(comma.plain(bare, doubts), column.unit, doubts))
    if not runtime_s:
        raise RefusalDueError("no run time")
    for seconds in runtime_s.values():
        _within(seconds, 1e-6, 1e9, "run time")
    architecture = found.get("architecture")
    if architecture and "*" not in runtime_s:
        runtime_s = {name: value for name, value in runtime_s.items() if ARCHITECTURE_OF[name] == architecture}
        if not runtime_s:
            doubts.add("a task whose architecture has no type")
    if found["memory"] > LARGEST_MB:
        doubts.add("memory that no type has")
    return Task(found["id"], found["memory"], runtime_s, found["count"], found["command"], architecture)


def _memory_mb(text: str, unit: str, doubts: set[str]) -> Decimal:
    found = re.fullmatch(r"(.*?)\s*([kmgt]i?b?|)", text, re.IGNORECASE | re.DOTALL)
    assert found
    own = found[2].lower()
    if own:
        if own not in ("kb", "mb", "gb") or found[2] != found[2].upper() or text != found[1] + found[2]:
            doubts.add("a unit of memory in unusual letters")
        unit = own[0] + "b"
    if not unit:
        raise RefusalDueError(f"memory {text!r} without a unit")
    return _number(found[1], doubts) * _MB[unit]


def _runtime_s(text: str, unit: str, doubts: set[str]) -> Decimal:
    if found := re.fullmatch(r"(?:(\d+)-)?(\d+):(\d+):(\d+(?:\.\d+)?)", text, re.ASCII):
        days, hours, minutes, seconds = (Decimal(part or 0) for part in found.groups())
        if found[1] or minutes > 59 or seconds >= 60 or len(found[3]) != 2 or len(text) > 100:
            doubts.add("a time of day in unusual letters")
        return days * 86400 + hours * 3600 + minutes * 60 + seconds
    if found := re.fullmatch(r"(\d+):(\d+(?:\.\d+)?)", text, re.ASCII):
        doubts.add("a time of day in unusual letters")
        return Decimal(found[1]) * 60 + Decimal(found[2])
    part = r"([^a-zA-Z]+?)\s*(seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|[smhd])\s*"
    parts = re.findall(part, text, re.IGNORECASE)
    joined = re.fullmatch(f"(?:{part})+", text, re.IGNORECASE)
    if joined and parts:
        if any(own not in ("s", "min", "m", "h", "d") for _, own in parts) or re.search(r"\s", text):
            doubts.add("a unit of time in unusual letters")
        order = [{"s": 0, "m": 1, "h": 2, "d": 3}[own[0].lower()] for _, own in parts]
        if order != sorted(set(order), reverse=True):
            doubts.add("units of time in an unusual order")
        if len(parts) > 1 and any(not re.fullmatch(r"\d+", part, re.ASCII) for part, _ in parts):
            doubts.add("several units of time with fractions or signs")
            if any("-" in part for part, _ in parts):
                raise RefusalDueError("a sign within a time")
        return sum((_number(part, doubts) * _SECONDS[own[0].lower()] for part, own in parts), Decimal(0))
    if not unit:
        raise RefusalDueError(f"run time {text!r} without a unit")
    return _number(text, doubts) * _SECONDS[unit]


# ------------------------------------------------------------------ logs of batch systems


@dataclass(frozen=True)
class LogAsked:
    """What is asked for of a log."""

    cores: str = "refuse"
    user: str | None = None
    bag: str | None = None
    from_s: int | None = None
    to_s: int | None = None
    requested: bool = False


def bag_of_log(data: bytes, kind: str, asked: LogAsked) -> Verdict:
    """Return what a log in SWF or GWF says: jobs of the same run time and memory are one entry, named by the first."""

    def read(doubts: set[str]) -> list[Any]:
        counts: dict[tuple[float, float], list[Any]] = {}
        numbers: set[str] = set()
        divide = _Fields(kind)
        for line in _lines(_text(data, doubts, log=True), doubts):
            if re.match(r"\s*[#;]", line):
                if not line.startswith("#" if kind == "gwf" else ";"):
                    doubts.add("a remark that is indented, or of the other format")
                continue
            fields = divide(line, doubts)
            if not any(fields):
                continue
            if "\x00" in line:
                doubts.add("NUL")
            job = _job(fields, kind, asked, doubts)
            if job is None:
                continue
            name, runtime, memory, copies = job
            if name in numbers:
                doubts.add("a job number twice")
            numbers.add(name)
            counts.setdefault((runtime, memory), [name, 0])[1] += copies
        tasks = [
            Task(f"j{name}", memory, {"*": runtime}, count, None, None)
            for (runtime, memory), (name, count) in counts.items()
        ]
        return [_in_bounds(tasks)]

    return verdict_of(read)


def _by_blanks(line: str) -> list[str]:
    everywhere = line.split()
    return everywhere if len(everywhere) in (18, 29) else [field for field in re.split("[ \t]+", line) if field]


class _Fields:
    """How the fields of a log are divided: by blanks; in GWF by tabs, or by blanks with as many in each line."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.tabs: bool | None = None
        self.count = 0

    def __call__(self, line: str, doubts: set[str]) -> list[str]:
        """Return the fields of a line."""
        if re.search(r"[^\S \t]|^\s|\t$", line):
            doubts.add("unusual blanks")
        if self.kind == "swf" or not line.strip():
            return _by_blanks(line)
        if self.tabs is None:
            self.tabs = "\t" in line.strip()
        if self.tabs != ("\t" in line.strip()):
            raise RefusalDueError("some lines divided by tabs, others by blanks")
        fields = [field.strip() for field in line.strip().split("\t")] if self.tabs else _by_blanks(line)
        if any(field != field.strip() for field in line.split("\t")):
            doubts.add("unusual blanks")
        self.count = self.count or len(fields)
        if len(fields) != self.count:
            if not self.tabs:
                raise RefusalDueError("lines of other numbers of fields")
            doubts.add("lines of other numbers of fields")
        return fields


def _job(fields: list[str], kind: str, asked: LogAsked, doubts: set[str]) -> tuple[str, float, float, int] | None:
    """Return number, run time, memory and tasks of a job; nothing if it is not asked for."""
    if kind == "swf" and len(fields) != 18:
        raise RefusalDueError(f"{len(fields)} fields")
    if kind == "gwf" and not 20 <= len(fields) <= 29:
        raise RefusalDueError(f"{len(fields)} fields")
    if kind == "gwf" and len(fields) < 29:
        doubts.add("fewer than 29 fields in GWF")
    fractions, whole = (1, 2, 3, 5, 6, 8, 9), (4, 7, 10, 11, 12, 13, 14, 15, 16, 17)
    if any(
        not re.fullmatch(r"-1|(0|[1-9]\d{0,6})(\.\d{1,15})?", fields[place], re.ASCII) for place in fractions
    ) or any(
        not re.fullmatch(r"-1|0|[1-9]\d{0,6}", fields[place], re.ASCII)
        for place in (whole if kind == "swf" else whole[:3])
    ):
        doubts.add("a field that is not used, or of a job that is not asked for, in unusual letters")
    wanted = [lambda: _whole(_known(fields, 10, doubts), -(10**400), 10**400, "status") in (1, -1)]
    if asked.user is not None:
        wanted.append(lambda: _is_id(fields[11], str(asked.user)))
    if asked.bag is not None:
        wanted.append(lambda: _is_id(fields[19], str(asked.bag)))
    if asked.from_s is not None or asked.to_s is not None:
        wanted.append(lambda: _is_between(_known(fields, 1, doubts), asked))
    dues = []
    for of_one in wanted:  # a job that is left out for one reason may be wrong in another
        try:
            if not of_one():
                return None
        except RefusalDueError as due:
            dues.append(due)
    if dues:
        raise dues[0]
    return _taken(fields, kind, asked, doubts)


def _is_between(submitted: Decimal, asked: LogAsked) -> bool:
    if submitted < 0:
        raise UndecidedError("a job without a time of submission, by which it is asked for")
    return (asked.from_s or 0) <= submitted < (math.inf if asked.to_s is None else asked.to_s)


def _taken(fields: list[str], kind: str, asked: LogAsked, doubts: set[str]) -> tuple[str, float, float, int] | None:
    runtime = _known(fields, 8 if asked.requested else 3, doubts)
    if runtime <= 0:
        if runtime not in (0, -1):
            raise RefusalDueError(f"run time {runtime}")
        return None
    cores = _integer(_known(fields, 7, doubts), "cores")
    if cores < 1:
        _unknown(cores, "cores", doubts)
        cores = _integer(_known(fields, 4, doubts), "cores")
    if cores < 1:
        _unknown(cores, "cores", doubts)
        cores = 1
    if cores > 1 and asked.cores == "skip":
        if fields[16] != "-1" if kind == "swf" else fields[18] not in ("UNITARY", "BoT"):
            doubts.add("a job that is left out, and may depend on another one")
        return None
    if kind == "swf":
        if _integer(_known(fields, 16, doubts), "job before") > 0:
            raise RefusalDueError("depends on another job")
    elif fields[18].upper() not in ("UNITARY", "BOT"):
        if fields[18] not in ("-1",):
            raise RefusalDueError("depends on another job")
        doubts.add("a job of unknown structure")
    elif fields[18] not in ("UNITARY", "BoT"):
        doubts.add("a structure in other capitals")
    if cores > 1 and asked.cores == "refuse":
        raise RefusalDueError("several cores")
    if cores > _MOST_TASKS:
        raise RefusalDueError("too many cores")
    memory_mb = DEFAULT_MEMORY_MB
    for place in (6, 9):
        kilobytes = _known(fields, place, doubts)
        if kilobytes > 0:
            memory_mb = float(kilobytes / 1024)
            if memory_mb > LARGEST_MB:
                doubts.add("memory that no type has")
            break
        _unknown(kilobytes, "memory", doubts)
    if not re.fullmatch(r"[1-9]\d{0,14}", fields[0], re.ASCII):
        doubts.add("a job number in unusual letters")
    return _named("j" + fields[0], "job number")[1:], float(runtime), memory_mb, cores


def _known(fields: list[str], place: int, doubts: set[str]) -> Decimal:
    return _number(fields[place], doubts)


def _integer(value: Decimal, what: str) -> int:
    return _whole(value, -(10**12), 10**12, what)


def _unknown(value: Decimal | int, what: str, doubts: set[str]) -> None:
    """Accept -1, which says that a value is not known, and nothing else that is negative."""
    if value == 0:
        doubts.add(f"{what} of 0, taken as unknown")
    elif value != -1:
        raise RefusalDueError(f"{what} {value}")


def _is_id(given: str, wanted: str) -> bool:
    if given != wanted and _NUMBER.fullmatch(given) and _NUMBER.fullmatch(wanted) and float(given) == float(wanted):
        raise UndecidedError("the id that is asked for in other letters")
    return given == wanted


# ------------------------------------------------------------------ JSON of others


class _Object(dict[str, Any]):
    """An object of JSON, and the keys that stand in it twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        keys = [key for key, _ in pairs]
        self.twice = {key for key in keys if keys.count(key) > 1} if len(self) < len(keys) else set()


class _Constant:
    """``NaN`` and ``Infinity``, which are no JSON."""


def _json(data: bytes, doubts: set[str]) -> Any:
    odd = set()

    def pairs(found: list[tuple[str, Any]]) -> _Object:
        made = _Object(found)
        if made.twice:
            odd.add("keys that stand twice where they are not used")
        return made

    def constant(_: str) -> _Constant:
        odd.add("NaN or Infinity where it is not used")
        return _Constant()

    text = _text(data, doubts)
    try:
        found = json.loads(text, object_pairs_hook=pairs, parse_float=Decimal, parse_constant=constant)
    except ValueError as error:
        if "digits" in str(error):  # a limit of Python
            raise UndecidedError("a whole number of thousands of digits") from None
        raise RefusalDueError("no JSON") from None
    except RecursionError:
        raise UndecidedError("nested a thousand times") from None
    if re.search(r"\\ud[89a-f]", text, re.IGNORECASE):
        odd.add("escapes of surrogates")
    if len(text) > 100_000 or re.search(r"\d{300}|[\[{:]{100}", text):
        odd.add("very long or deep")
    doubts |= odd
    return found


def _member(holder: Any, key: str, kind: type | tuple[type, ...], needed: bool = True) -> Any:
    """Return a member of an object, which must have its type; nothing if it is absent and may be."""
    if not isinstance(holder, _Object):
        raise RefusalDueError(f"{holder!r:.50} is no object")
    if key in holder.twice:
        raise RefusalDueError(f"{key} stands twice")
    if key not in holder or (holder[key] is None and not needed):
        if needed:
            raise RefusalDueError(f"{key} is missing")
        return None
    if not isinstance(holder[key], kind) or (isinstance(holder[key], bool) and kind is not bool):
        raise RefusalDueError(f"{key} {holder[key]!r:.50} has the wrong type")
    return holder[key]


_NUMERIC = (int, Decimal)


def _as_float(value: int | Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        raise RefusalDueError("a number that is too large") from None


def _nullable(holder: Any, key: str, doubts: set[str]) -> None:
    if isinstance(holder, _Object) and key in holder and holder[key] is None:
        doubts.add("null for a member that may be absent")


# ------------------------------------------------------------------ workflows


def bag_of_wfformat(data: bytes, split_cores: bool) -> Verdict:
    """Return what a workflow of WfFormat 1.4 or 1.5 says, if its tasks do not depend on each other."""

    def read(doubts: set[str]) -> list[Any]:
        whole = _json(data, doubts)
        version = _member(whole, "schemaVersion", (str, Decimal))
        if str(version) not in ("1.4", "1.5"):
            raise RefusalDueError(f"schemaVersion {version}")
        if not isinstance(version, str):
            doubts.add("schemaVersion as a number")
        if not isinstance(whole.get("name"), str) or not whole["name"]:
            doubts.add("a workflow without a name")
        workflow = _member(whole, "workflow", dict)
        if str(version) == "1.4":
            return _bag_of_1_4(workflow, split_cores, doubts)
        if "tasks" in workflow:
            doubts.add("members of another version")
        names = _specified(_member(workflow, "specification", dict), doubts)
        execution = _member(workflow, "execution", dict)
        if not isinstance(execution.get("makespanInSeconds"), _NUMERIC) or not isinstance(
            execution.get("executedAt"), str
        ):
            doubts.add("an execution without makespanInSeconds or executedAt")
        runs = {}
        for run in _member(execution, "tasks", list):
            name = _named(_member(run, "id", str), "id")
            if name in runs:
                raise RefusalDueError(f"{name!r} was run twice")
            runs[name] = run
        if runs.keys() != set(names):
            raise RefusalDueError("specification and execution have different tasks")
        in_order = list(runs) if list(runs) == names else None
        if in_order is None:
            doubts.add("specification and execution in different orders")
        return [
            _in_bounds([_task_of_run(name, runs[name], split_cores, parted, doubts) for name in order])
            for order in (names, list(runs))
            for parted in (False, True)
        ]

    return verdict_of(read)


def _specified(specification: Any, doubts: set[str]) -> list[str]:
    names: list[str] = []
    read: list[tuple[str, str]] = []
    written: list[tuple[str, str]] = []
    for task in _member(specification, "tasks", list):
        names.append(_named(_member(task, "id", str), "id"))
        if _member(task, "parents", list) or _member(task, "children", list):
            raise RefusalDueError("tasks that depend on each other")
        if not isinstance(task.get("name"), str) or not task["name"]:
            doubts.add("a task without a name")
        if task.keys() & {"runtimeInSeconds", "memoryInBytes", "coreCount", "command"}:
            doubts.add("members of another place")
        for key, files in (("inputFiles", read), ("outputFiles", written)):
            _nullable(task, key, doubts)
            for file in _member(task, key, list, needed=False) or []:
                if not isinstance(file, str):
                    raise RefusalDueError("a file that is no text")
                files.append((file, names[-1]))
    if any(file == other and reader != writer for file, reader in read for other, writer in written):
        raise RefusalDueError("a task reads what another one writes")
    if len(set(names)) < len(names):
        raise RefusalDueError("a task is specified twice")
    return names


def _bag_of_1_4(workflow: Any, split_cores: bool, doubts: set[str]) -> list[Any]:
    """Return the bag of a workflow of version 1.4, where tasks say all of themselves, with an id or only a name."""
    if not isinstance(workflow.get("makespanInSeconds"), _NUMERIC) or not isinstance(workflow.get("executedAt"), str):
        doubts.add("an execution without makespanInSeconds or executedAt")
    if "specification" in workflow or "execution" in workflow:
        doubts.add("members of another version")
    tasks = _member(workflow, "tasks", list)
    files: dict[str, list[tuple[str, int]]] = {"input": [], "output": []}
    for number, task in enumerate(tasks):
        if not isinstance(task, _Object):
            raise RefusalDueError("a task that is no object")
        name = task.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            doubts.add("a task without a name")
        if task.get("type") not in ("compute", "transfer", "auxiliary"):
            doubts.add("a task without a type")
        if "coreCount" in task:
            raise UndecidedError("coreCount in version 1.4, which calls it cores")
        for key in ("parents", "children"):
            if _member(task, key, list, needed=key == "parents"):
                raise RefusalDueError("tasks that depend on each other")
        for file in _member(task, "files", list, needed=False) or []:
            link = _member(file, "link", str)
            if link not in files:
                raise RefusalDueError(f"link {link!r:.50}")
            files[link].append((_member(file, "name", str), number))
        for key in ("children", "files", "id"):
            _nullable(task, key, doubts)
    if any(file == other and one != two for file, one in files["input"] for other, two in files["output"]):
        raise RefusalDueError("a task reads what another one writes")
    readings, dues = [], []
    for name_of in (
        lambda task: task.get("id"),
        lambda task: task.get("name"),
        lambda task: task.get("id") or task.get("name"),
        lambda task: f"{task.get('name')}_{task.get('id')}",
    ):
        for parted in (False, True):
            try:
                named = [(_named(name_of(task), "id"), task) for task in tasks]
                readings.append(
                    _in_bounds([_task_of_run(name, task, split_cores, parted, doubts, "cores") for name, task in named])
                )
            except RefusalDueError as due:
                dues.append(due)
    if not readings:
        raise dues[0]
    if dues:
        doubts.add("ids or names that are missing, or not of one task only")
    return readings


def _task_of_run(
    name: str, run: Any, split_cores: bool, parted: bool, doubts: set[str], of_cores: str = "coreCount"
) -> Task:
    """Return a task; the memory that is asked for may be that of each core, or parted among them."""
    if of_cores == "coreCount" and run.keys() & {"parents", "children", "inputFiles", "outputFiles", "files"}:
        doubts.add("members of another place")
    for key in ("memoryInBytes", of_cores, "command"):
        _nullable(run, key, doubts)
    runtime_s = _as_float(_member(run, "runtimeInSeconds", _NUMERIC))
    cores = _member(run, of_cores, _NUMERIC, needed=False)
    count = 1 if cores is None else _whole(Decimal(cores), 1, _MOST_TASKS, of_cores)
    if count > 1 and not split_cores:
        raise RefusalDueError("several cores")
    size = _member(run, "memoryInBytes", _NUMERIC, needed=False)
    memory_mb = DEFAULT_MEMORY_MB / (count if parted else 1)
    if size and not _as_float(size):
        doubts.add("memory of less than any number but 0")
    elif size:
        memory_mb = _as_float(size) / 2**20 / count
    if memory_mb > LARGEST_MB:
        doubts.add("memory that no type has")
    return Task(name, memory_mb, {"*": runtime_s}, count, _command(run, doubts), None)


def _command(run: Any, doubts: set[str]) -> str | None:
    command = _member(run, "command", dict, needed=False)
    if command is None:
        return None
    _nullable(command, "program", doubts)
    _nullable(command, "arguments", doubts)
    program = _member(command, "program", str, needed=False)
    words = _member(command, "arguments", list, needed=False) or []
    if not all(isinstance(word, str) for word in words):
        raise RefusalDueError("arguments that are no texts")
    if not program:
        if words:
            raise UndecidedError("arguments without a program")
        doubts.add("a command without a program")
        return None
    if not all(words):
        doubts.add("an empty argument")
    return " ".join([program, *words]).strip() or None


# ------------------------------------------------------------------ what AWS prints


def types_of_aws(data: bytes) -> Verdict:
    """Return vCPUs, memory and architecture of the VM types of ``describe-instance-types``."""

    def read(doubts: set[str]) -> list[Any]:
        whole = _json(data, doubts)
        rows: dict[str, Row] = {}
        if isinstance(whole, dict) and "NextToken" in whole:
            doubts.add("more pages follow")
        for entry in _member(whole, "InstanceTypes", list):
            name = _named(_member(entry, "InstanceType", str), "InstanceType").strip()
            cores = _member(_member(entry, "VCpuInfo", dict), "DefaultVCpus", _NUMERIC)
            memory = _member(_member(entry, "MemoryInfo", dict), "SizeInMiB", _NUMERIC)
            if not isinstance(cores, int) or not isinstance(memory, int):
                doubts.add("a whole number of AWS with a point or an exponent, or a fraction of a MiB")
            vcpus = _whole(Decimal(cores), 1, 4096, "vCPUs")
            memory_mb = _within(_as_float(memory), 1e-6, 1e9, "memory")
            architecture = _architecture(entry, doubts)
            burstable = _member(entry, "BurstablePerformanceSupported", bool, needed=False)
            if burstable is None:
                doubts.add("BurstablePerformanceSupported is missing")
            elif burstable != name.startswith(("t2.", "t3.", "t3a.", "t4g.")):
                raise UndecidedError("a type that is burstable by its name or its entry alone")
            row = Row(vcpus, memory_mb, architecture, None, {})
            if name in rows:
                raise RefusalDueError(f"{name} twice")
            rows[name] = row
        if not rows:
            raise RefusalDueError("no types")
        return [rows]

    return verdict_of(read)


def _architecture(entry: Any, doubts: set[str]) -> str | None:
    processor = _member(entry, "ProcessorInfo", dict, needed=False)
    names = _member(processor, "SupportedArchitectures", list, needed=False) if processor is not None else None
    if not names:
        doubts.add("an architecture that is not said")
        return None
    if not all(isinstance(name, str) for name in names):
        raise RefusalDueError("an architecture that is no text")
    found = {name for name in names if name in ("x86_64", "arm64")}
    if len(found) != 1:
        raise UndecidedError("an architecture that bags do not know, or several")
    if names not in (["x86_64"], ["arm64"], ["i386", "x86_64"]):
        doubts.add("unusual architectures")
    return found.pop()


# ------------------------------------------------------------------ histories of prices

_PRICE_COLUMNS = {
    "type": ("instancetype", "type"),
    "zone": ("availabilityzone", "zone"),
    "product": ("productdescription", "product", "os"),
    "price": ("spotprice", "price"),
    "time": ("timestamp", "date", "time"),
}
_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:([T ])(\d\d):(\d\d)(?::(\d\d)([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII | re.IGNORECASE
)


_ZONE = re.compile(r"us-east-1[a-f]", re.ASCII)
_LOCAL_ZONE = re.compile(r"us-east-1-[a-z]{3}-\d[a-z]", re.ASCII)
"""Of the region that files are of; what other words are is not said."""


class Price(NamedTuple):
    """A price of a spot VM type in a zone from a moment on."""

    type: str
    zone: str
    product: str
    usd_per_hour: float
    at: float


def prices_of_history(data: bytes, window_s: float | None, product: str = "Linux/UNIX") -> Verdict:
    """Return the price of each type in each zone: the last one, or the mean over a time before the last entry."""

    def read(doubts: set[str]) -> list[Any]:
        prices = _prices(data, doubts)
        kept = [price for price in prices if price.product in (product, "") and not _LOCAL_ZONE.fullmatch(price.zone)]
        usual = [price for price in kept if _ZONE.fullmatch(price.zone)]
        unusual = sorted({price.zone for price in kept if not _ZONE.fullmatch(price.zone)})
        if not all(_NAME.fullmatch(price.type) for price in prices):
            doubts.add("a type of an unusual name")
        if len(
            {
                price.zone
                for price in prices
                if not _ZONE.fullmatch(price.zone) and not _LOCAL_ZONE.fullmatch(price.zone)
            }
        ):
            doubts.add("a zone of an unusual name, which may be taken or left out")
        if len(unusual) > 3:
            raise UndecidedError("many zones of unusual names")
        if not usual:
            doubts.add("no price that is wanted")
        ends = {max((price.at for price in some), default=0.0) for some in (prices, kept, usual)}
        subsets = [
            {zone for place, zone in enumerate(unusual) if number >> place & 1} for number in range(2 ** len(unusual))
        ]
        return [
            _zones(
                [price for price in kept if _ZONE.fullmatch(price.zone) or price.zone in subset], window_s, end, since
            )
            for subset in subsets
            for end in ends
            for since in ({False, True} if window_s else {False})
        ]

    return verdict_of(read)


def _zones(prices: list[Price], window_s: float | None, end: float, since_ever: bool) -> dict[str, dict[str, float]]:
    """Return the price of each type in each zone; a first price may hold since ever, or count from its entry on."""
    zones: dict[str, dict[str, list[Price]]] = {}
    for price in sorted(prices, key=lambda price: price.at):
        zones.setdefault(price.type, {}).setdefault(price.zone, []).append(price)
    found: dict[str, dict[str, float]] = {}
    for vm_type, by_zone in zones.items():
        for zone, history in by_zone.items():
            value = history[-1].usd_per_hour
            if window_s is not None:
                begin = end - window_s if since_ever else max(end - window_s, history[0].at)
                history[0] = history[0]._replace(at=min(history[0].at, begin))
                spans = [
                    (max(min(after, end) - max(price.at, begin), 0), price.usd_per_hour)
                    for price, after in zip(history, [*(later.at for later in history[1:]), end], strict=True)
                ]
                if end > begin:
                    value = sum(span * usd for span, usd in spans) / (end - begin)
            found.setdefault(vm_type, {})[zone] = value
    return found


def _prices(data: bytes, doubts: set[str]) -> list[Price]:
    """Read a history as JSON, as what ``--output text`` prints, or as a table; nothing may be said twice."""
    text = _text(data, doubts)
    if text.lstrip(" \t\r\n")[:1] in ("{", "["):
        entries = [
            [_entry(entry, key, doubts) for key in _AWS_KEYS]
            for entry in _member(_json(data, doubts), "SpotPriceHistory", list)
        ]
        if re.search(r'"NextToken"', text):
            doubts.add("more pages follow")
    elif re.search("^[^\t\n]*SPOTPRICEHISTORY[^\t\n]*\t", text, re.MULTILINE):
        raw = [line.split("\t") for line in _lines(text, doubts) if line.strip()]
        rows = [[cell.strip().strip('"').strip() for cell in row] for row in raw]
        if not text.startswith("SPOTPRICEHISTORY"):
            doubts.add("empty lines, or other words, before the first price")
        if '"' in text:
            doubts.add("quotation marks in what --output text prints")
        if any(len(row) not in (6, 7) for row in rows):
            raise RefusalDueError("a line that has not six or seven cells")
        if any(len(row) == 7 for row in rows):  # newer command lines print AvailabilityZoneId as well
            doubts.add("a line of seven cells")
        if raw != rows or any(row[0] != "SPOTPRICEHISTORY" for row in rows):
            doubts.add("a line with another first word, or blanks around cells")
        entries = [[row[-4], row[1], *row[-3:]] for row in rows]
    elif text.startswith("SPOTPRICEHISTORY") or re.match(
        r'\s*([^,\r\n]+,\s*){4,5}"?\d{4}-|\s*([^;\r\n]+;){4,5}"?\d{4}-', text
    ):
        raise UndecidedError("what --output text prints, divided in another way")
    elif re.match(r"\s*([^\t\r\n]+\t){4,5}\d{4}-\d\d-\d\dT", text):
        rows = [[cell.strip() for cell in line.split("\t")] for line in _lines(text, doubts) if line.strip()]
        if any(len(row) not in (5, 6) or "SPOTPRICEHISTORY" in row[-4:] for row in rows):
            raise RefusalDueError("a line that has not five or six cells, or others than one thinks")
        doubts.add("what --output text prints, without its first column")
        entries = [[row[-4], row[0], *row[-3:]] for row in rows]
    else:
        entries = _entries_of_table(data, doubts)
    prices = [_price(entry, doubts) for entry in entries]
    if not prices:
        raise RefusalDueError("no prices")
    said: dict[tuple[str, str, str, float], float] = {}
    for price in prices:
        key = (price.type, price.zone, price.product, price.at)
        if said.setdefault(key, price.usd_per_hour) != price.usd_per_hour:
            raise RefusalDueError(f"two prices of {key} at once")
    if len(said) < len(prices):
        doubts.add("a price twice, the same both times")
    return prices


def _entry(entry: Any, key: str, doubts: set[str]) -> str | None:
    found: str | None = _member(entry, key, str, needed=False)
    if found is None:
        doubts.add("a member that is missing or null")
    return found


_AWS_KEYS = ("InstanceType", "AvailabilityZone", "ProductDescription", "SpotPrice", "Timestamp")


def _price_role(heading: str) -> str | None:
    flat = re.sub(r"[^a-z]+", "", heading.lower())
    return next((role for role, names in _PRICE_COLUMNS.items() if flat in names), None)


def _entries_of_table(data: bytes, doubts: set[str]) -> list[list[str | None]]:
    readings, whys = [], []
    for _, rows, own in _tables(data, doubts, lambda heading: _price_role(heading) is not None):
        try:
            readings.append(_by_role(rows, _price_role, ("type", "price", "time"), own))
            doubts |= own
        except RefusalDueError as due:
            whys.append(str(due))
    if len(readings) != 1:
        raise RefusalDueError("; ".join(whys) or "divided in several ways")
    return [[row.get(role) for role in _PRICE_COLUMNS] for row in readings[0]]


def _by_role(
    rows: list[list[str]], role_of: Callable[[str], str | None], needed: Sequence[str], doubts: set[str]
) -> list[dict[str, str]]:
    """Name the cells of each row by what they hold."""
    roles = [role_of(heading) for heading in rows[0]]
    used = [role for role in roles if role]
    if any(used.count(role) > 1 for role in (*needed, "Arch", "AcceleratorName", "zone", "product")):
        raise RefusalDueError("two columns hold the same")
    if len(used) != len(set(used)):
        doubts.add("two columns that are not used hold the same")
    if not set(needed) <= set(used):
        raise RefusalDueError("a column is missing")
    if len(used) < len(roles):
        doubts.add("a column of which nothing is made")
    if any(not re.fullmatch(r"\w+( \w+)*", heading, re.ASCII) for heading in rows[0]):
        doubts.add("a heading with blanks around it, or in unusual letters")
    found = []
    for row in rows[1:]:
        if not any(cell.strip() for cell in row):
            doubts.add("a row of empty cells")
            continue
        if len(row) != len(roles):
            raise RefusalDueError(f"{len(row)} cells for {len(roles)} headings")
        if any(cell != cell.strip() for cell in row):
            doubts.add("a cell with blanks around it")
        if any("\n" in cell or "\r" in cell for cell in row):
            doubts.add("a quoted cell of several lines")
        found.append({role: cell.strip() for role, cell in zip(roles, row, strict=True) if role})
    return found


def _price(entry: list[str | None], doubts: set[str]) -> Price:
    vm_type, zone, product, price, time = entry
    if price is None or time is None:
        raise RefusalDueError("an entry without a price or a time")
    if zone == "" or product == "":
        raise UndecidedError("a price of no zone or no product, where others have one")
    usd = _within(float(_number(price, doubts)), 1e-9, 1e6, "price")
    found = _TIME.fullmatch(time.strip())
    if time != time.strip():
        doubts.add("a time with blanks around it")
    if not found:
        raise RefusalDueError(f"{time!r:.50} is no time")
    year, month, day, between, hour, minute, second, part, zone_of_time = found.groups()
    if (
        part not in (None, ".000")
        or between != "T"
        or second is None
        or (zone_of_time and not re.fullmatch("Z|[+-]..:..", zone_of_time))
    ):
        doubts.add("a time in unusual letters")
    try:
        moment = datetime(*(int(field or 0) for field in (year, month, day, hour, minute, second)), tzinfo=timezone.utc)  # type: ignore[misc,arg-type]  # noqa: UP017
        if zone_of_time and zone_of_time not in "Zz":
            hours, minutes = int(zone_of_time[1:3]), int(zone_of_time[-2:])
            if hours > 23 or minutes > 59:
                raise ValueError("no offset")
            moment -= timedelta(hours=hours, minutes=minutes) * (-1 if zone_of_time[0] == "-" else 1)
        at = moment.timestamp()
    except (ValueError, OverflowError):
        raise RefusalDueError(f"{time!r:.50} is no time") from None
    if not 1990 <= moment.year <= 2100:
        doubts.add("a time of another century")
    at += float("0" + (part or "").replace(",", "."))
    return Price(vm_type or "", zone or "", product or "", usd, at)


def steps_of_history(data: bytes, zone: str) -> Verdict:
    """Return the changes of the prices of a zone, in seconds from the first entry that counts."""

    def read(doubts: set[str]) -> list[Any]:
        prices = _prices(data, doubts)
        of_zone = [price for price in prices if price.zone in (zone, "")]
        if not any(price.zone for price in prices):
            doubts.add("a zone that is asked for, in a history without zones")
        readings = []
        for some in (prices, of_zone):
            products = {price.product for price in some}
            if "Linux/UNIX" not in products and len(products) != len({price.product for price in prices}):
                doubts.add("one product in the zone, several in the history")
            product = products.pop() if len(products) == 1 else "Linux/UNIX"
            wanted = [price for price in of_zone if price.product in (product, "")]
            if not all(_NAME.fullmatch(price.type) for price in prices):
                doubts.add("a type of an unusual name")
            starts = {min(price.at for price in some) for some in (prices, of_zone, wanted) if wanted}
            readings += [
                steps_of((whole(price.at - start), price.type, price.usd_per_hour) for price in wanted)
                for start in starts
                for whole in (float, math.ceil)  # a change happens at the first whole second that is not before it
            ]
        if not readings:
            raise RefusalDueError("no price of the zone")
        return readings

    return verdict_of(read)


def steps_of(prices: Iterable[tuple[float, str, float]]) -> dict[str, list[tuple[float, float]]]:
    """Return the price of each type over time, without entries that change nothing."""
    found: dict[str, list[tuple[float, float]]] = {}
    for at, vm_type, usd_per_hour in sorted(prices, key=lambda price: price[0]):
        steps = found.setdefault(vm_type, [])
        if not steps or steps[-1][1] != usd_per_hour:
            steps.append((at, usd_per_hour))
    return found


# ------------------------------------------------------------------ SkyPilot's catalogue of AWS

_SKYPILOT = ("InstanceType", "vCPUs", "MemoryGiB", "Price", "SpotPrice", "Region", "AvailabilityZone")
_SKYPILOT_MORE = ("AcceleratorName", "AcceleratorCount", "GpuInfo", "Arch")


def rows_of_skypilot(data: bytes) -> Verdict:
    """Return the types of ``vms.csv`` by name and region, with the spot price of each zone."""

    def role(heading: str) -> str | None:
        return heading.strip() if heading.strip() in _SKYPILOT + _SKYPILOT_MORE else None

    def read(doubts: set[str]) -> list[Any]:
        whys = []
        for divider, rows, own in _tables(data, doubts, lambda heading: role(heading) is not None):
            if divider != ",":
                doubts.add("SkyPilot's table not divided by commas")
            try:
                found = _types_of_rows(_by_role(rows, role, _SKYPILOT, own), own)
            except RefusalDueError as due:
                whys.append(str(due))
                continue
            doubts |= own
            if not found:
                doubts.add("types without any price")
            return [found]
        raise RefusalDueError("; ".join(whys))

    return verdict_of(read)


def _is_of_aws(cells: dict[str, str]) -> bool:
    return all(
        re.fullmatch(pattern, cells[name], re.ASCII)
        for name, pattern in (
            ("InstanceType", r"[a-z][a-z0-9-]*\.[a-z0-9-]+"),
            ("Region", r"[a-z]{2}(-[a-z]+)+-\d"),
            ("AvailabilityZone", r"[a-z]{2,}\d-az\d"),
        )
    )


def _types_of_rows(rows: list[dict[str, str]], doubts: set[str]) -> dict[tuple[str, str], Row]:
    found: dict[tuple[str, str], Row] = {}
    zones: set[tuple[str, ...]] = set()
    for cells in rows:
        if cells.get("AcceleratorName"):
            numbers = [cells[name] for name in ("vCPUs", "MemoryGiB", "Price", "SpotPrice")]
            if not _is_of_aws(cells) or any(text and not _PLAIN_NUMBER.fullmatch(text) for text in numbers):
                doubts.add("an odd cell in a row that is left out")
            continue
        if re.fullmatch(r"mac.*|(t1|t2)\..*", cells["InstanceType"]) or re.fullmatch(
            r".+-\w+\d-az\d", cells["AvailabilityZone"]
        ):
            raise UndecidedError("a type or a zone that may be left out")
        if not _is_of_aws(cells):
            doubts.add("a type, a region or a zone that AWS does not have")
        if cells.get("AcceleratorCount"):
            doubts.add("a number of accelerators without a name")
        key = (_named(cells["InstanceType"], "InstanceType"), _named(cells["Region"], "Region"))
        vcpus = _whole(_number(cells["vCPUs"], doubts), 1, 4096, "vCPUs")
        memory_mb = _within(float(_number(cells["MemoryGiB"], doubts)) * 1024, 1e-6, 1e9, "memory")
        architecture = cells.get("Arch") or None
        if "Arch" not in cells:
            doubts.add("no column Arch")
        elif architecture not in ("x86_64", "arm64", None):
            raise UndecidedError("an architecture that bags do not know, or several")
        on_demand, spot = (
            _within(float(_number(cells[name], doubts)), 1e-9, 1e6, name) if cells[name] else None
            for name in ("Price", "SpotPrice")
        )
        row = Row(vcpus, memory_mb, architecture, on_demand, {})
        before = found.setdefault(key, row)
        if (before.on_demand is None) != (on_demand is None):
            doubts.add("an on-demand price in some zones only")
            row = row._replace(on_demand=before.on_demand or on_demand)
            before = found[key] = before._replace(on_demand=row.on_demand)
        if not same(before._replace(spot={}), row):
            raise RefusalDueError(f"{key} is said to be two things")
        if (*key, cells["AvailabilityZone"]) in zones:
            doubts.add("a type twice in a zone")
        zones.add((*key, cells["AvailabilityZone"]))
        if spot is not None:
            if not cells["AvailabilityZone"]:
                raise UndecidedError("a spot price of no zone")
            zone = _named(cells["AvailabilityZone"], "zone")
            if zone in before.spot and before.spot[zone] != spot:
                raise RefusalDueError(f"two spot prices of {key} in {zone}")
            before.spot[zone] = spot
    if not found:
        raise RefusalDueError("no types")
    return {key: row for key, row in found.items() if row.on_demand is not None or row.spot}
