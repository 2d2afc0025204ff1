"""What CSV files of tasks say."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

from tests.fuzzing.oracles.readings import (
    ARCHITECTURE_OF,
    DEFAULT_MEMORY_MB,
    LARGEST_MB,
    MOST_TASKS,
    RefusalDueError,
    Task,
    UndecidedError,
    Verdict,
    checked_name,
    in_bounds,
    number_of,
    tables_of,
    verdict_of,
    whole_of,
    within,
)

_ROLES = {
    "id": ("id", "task", "task_id", "name", "job"),
    "command": ("command", "cmd", "command_line", "script"),
    "count": ("count", "copies", "n"),
    "architecture": ("architecture", "arch"),
    "market": ("market", "markets"),
    "cores": ("cores", "cpus", "vcpus", "threads"),
    "state": ("status", "state"),
    "exit": ("exit", "exit_code"),
}
_DONE = re.compile(r"completed?|done|ok|success(ful)?|succeeded|finished|passed", re.IGNORECASE)
_NOT_DONE = re.compile(r"failed|cached|aborted|running|pending|timeout|cancelled|error", re.IGNORECASE)
_OF_OTHERS = ("depends_on", "parents")
_ASKS_FOR_NOTHING = re.compile(r"-|\[\]|\{\}|none|null|n/a", re.IGNORECASE)
_MEMORY = re.compile(r"(memory|mem|ram|rss)(?:_([kmg]i?b?))?")
_TIME_UNIT = r"ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?"
_RUNTIME = re.compile(rf"(runtime|run_time|duration|elapsed|walltime|time)(?:_({_TIME_UNIT}))?")
_MB = {"kb": Decimal(1) / 1024, "mb": Decimal(1), "gb": Decimal(1024), "tb": Decimal(1024 * 1024)}
_SECONDS = {"ms": Decimal("0.001"), "s": 1, "min": 60, "h": 3600, "m": 60, "d": 86400}
_ARCHITECTURES = dict.fromkeys(("x86_64", "x86-64", "amd64", "x64", "intel"), "x86_64") | dict.fromkeys(
    ("arm64", "aarch64", "arm", "graviton"), "arm64"
)
_REMARKS = ("note", "notes", "comment", "comments", "remark", "remarks", "description", "descriptions")
"""Headings of columns that say nothing of a plan; what else is not understood must be refused."""


class _Column(NamedTuple):
    role: str
    unit: str
    vm_type: str = ""
    usual: bool = True


def _unit_of_time(unit: str | None) -> str:
    return "ms" if unit == "ms" else {"": "", "s": "s", "m": "min", "h": "h", "d": "d"}[(unit or "")[:1]]


def _flat(heading: str) -> str:
    """Write a heading without capitals, and with one ``_`` for what may divide words; none with half a bracket."""
    if any(heading.count(opened) != heading.count(closed) for opened, closed in ("()", "[]", "{}")):
        return heading
    return re.sub(r"[\s_:/()\[\]{}-]+", "_", heading.lower()).strip("_")


_USUAL_HEADING = re.compile(r"[\w .-]+(\[[\w.-]+\])?", re.ASCII)


@cache
def _column(heading: str, types: tuple[str, ...]) -> _Column | None:
    """Say what a column holds."""
    flat = _flat(heading)
    for vm_type in types:  # points are blanks, but for those of a type
        flat = flat.replace(_flat(vm_type), _flat(vm_type).replace(".", "\0"))
    flat = flat.replace(".", "_").replace("\0", ".")
    if flat in ("min", "minutes", "seconds", "hours", "days"):
        raise UndecidedError("a unit of time for a heading")
    for role, names in _ROLES.items():
        if flat in names:
            return _Column(role, "")
    if found := _MEMORY.fullmatch(flat):
        return _Column("memory", found[2][0] + "b" if found[2] else "", usual=found[2] in (None, "mb", "gb", "kb"))
    if found := _RUNTIME.fullmatch(flat):
        return _Column(
            "runtime", _unit_of_time(found[2]), usual=found[2] in (None, "s", "min", "h") and found[1] != "time"
        )
    for vm_type in types:
        name = re.escape(_flat(vm_type))
        if found := re.fullmatch(rf"(?:{_RUNTIME.pattern})_?{name}|{name}(?:_({_TIME_UNIT}))?", flat):
            unit = found[2] or found[3]
            as_written = (
                f"[{vm_type}]" in heading and found[1] != "time" if found[1] else heading.strip().startswith(vm_type)
            )
            return _Column("runtime", _unit_of_time(unit), vm_type, as_written and unit in (None, "s", "min", "h"))
    return None


def bag_of_csv(data: bytes, types: tuple[str, ...]) -> Verdict:
    """Return what a CSV file of tasks says, for VM types that are named."""

    def read(doubts: set[str]) -> list[Any]:
        readings, whys = [], []
        for divider, rows, own in tables_of(data, doubts, lambda heading: _column(heading, types) is not None):
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
        if "a heading with blanks around it, or in unusual letters" in doubts:
            raise UndecidedError("two columns hold the same, if one is taken for what it nearly says")
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
            if _flat(heading) in _OF_OTHERS:
                doubts.add("dependencies, or words for none")
                cells = {"".join(row[place : place + 1]).strip() for row in rows[1:]} - {""}
                if all(_ASKS_FOR_NOTHING.fullmatch(cell) for cell in cells):
                    continue
                if {"state", "exit"} & {column.role for column in columns if column} or any(
                    len(row) != len(columns) for row in rows
                ):
                    raise UndecidedError("dependencies of what may be left out")
            raise RefusalDueError(f"column {heading!r} is not understood")
    commas = {cell for row in rows[1:] for cell in row if "," in cell} if divider in "\t|" else set()
    commas -= {cell for cell in commas if "day" in cell}
    roles_of_numbers = [
        place for place, column in enumerate(columns) if column and column.role in ("memory", "runtime", "count")
    ]
    of_numbers = {row[place].strip() for row in rows[1:] for place in roles_of_numbers if place < len(row)} & {
        cell.strip() for cell in commas
    }
    thousands = bool(of_numbers) and all(
        re.fullmatch(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?\s*[a-zA-Z]*", cell, re.ASCII) for cell in of_numbers
    )
    if thousands:
        doubts.add("commas between thousands")
    elif divider in "\t|" and any(re.search(r"\d,\d{3}(?!\d)", cell) for cell in of_numbers):
        doubts.add("commas some of which may stand between thousands")
    comma = _Commas(divider, thousands)
    tasks = []
    for row in rows[1:]:
        number = len(tasks) + 1
        if not any(cell.strip() for cell in row):
            doubts.add("a row of empty cells")
            continue
        if len(row) != len(columns):
            raise RefusalDueError(f"task {number} has {len(row)} cells for {len(columns)} headings")
        cells = {column: cell for column, cell in zip(columns, row, strict=True) if column}
        if (task := _task_of_cells(cells, number, types, comma, doubts)) is not None:
            tasks.append(task)
    if comma.points and comma.commas:
        raise RefusalDueError("decimal commas and points")
    if comma.commas and comma.thousands == comma.commas:
        raise RefusalDueError("commas that may all stand between thousands")
    return in_bounds(tasks)


class _Commas:
    """Decimal commas, where commas do not divide cells, how many may stand between thousands, and points."""

    def __init__(self, divider: str, thousands: bool) -> None:
        self.allowed = divider != ","
        self.between_thousands = thousands
        self.commas = self.thousands = self.points = 0

    def plain(self, text: str, doubts: set[str]) -> str:
        """Return a cell with a decimal point for a decimal comma; that behind days is none."""
        if self.allowed and re.match(r"\d+ days?, ", text, re.ASCII):
            self.points += "." in text
            return text
        if self.between_thousands:
            return text.replace(",", "")
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
) -> Task | None:
    """Read a task; None if a row says that it came to nothing."""
    found: dict[str, Any] = {"id": f"t{number}", "memory": DEFAULT_MEMORY_MB, "count": 1, "command": None}
    runtime_s = {}
    if _left_out(cells, doubts):
        return None
    times = [cell.strip() for column, cell in cells.items() if column.role == "runtime" and not column.vm_type]
    if times and re.fullmatch(r"[+-]?[0.]+\s*[a-z]*", times[0], re.IGNORECASE):
        raise UndecidedError("a run time of 0 in unusual letters, of a row that may be left out")
    for column, cell in cells.items():
        bare = cell.strip()
        if bare != cell and column.role != "command":
            doubts.add("a cell with blanks around it")
        if column.role == "id":
            found["id"] = checked_name(bare, "id")
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
        elif column.role == "market":
            if bare and re.search("spot|demand|any|all|both|standard|emptible|rruptible", bare, re.IGNORECASE) is None:
                raise RefusalDueError(f"market {cell!r}")
            if bare:
                doubts.add("a market, which readings do not have")
        elif column.role == "cores":
            doubts |= {"a hyphen for no number of cores"} if bare == "-" else set()
            cores = number_of(bare, doubts) if bare not in ("", "-") else Decimal(1)
            if cores not in (0, 1):
                doubts.add("a part of a core")
                if cores < 0:
                    raise RefusalDueError("cores below 0")
                if cores > 1:
                    raise UndecidedError("several cores: whether a type has them")
        elif column.role == "count":
            if bare:
                found["count"] = whole_of(number_of(comma.plain(bare, doubts), doubts), 1, MOST_TASKS, "count")
        elif column.role == "memory":
            if bare:
                found["memory"] = float(_memory_mb(comma.plain(bare, doubts), column.unit, doubts))
                if not found["memory"]:
                    doubts.add("memory of 0, which was not measured")
                    found["memory"] = DEFAULT_MEMORY_MB
            else:
                doubts.add("an empty cell of memory, with --memory")
        elif column.role == "runtime" and bare:
            runtime_s[column.vm_type or "*"] = float(_runtime_s(comma.plain(bare, doubts), column.unit, doubts))
    if runtime_s.get("*", 1) == 0:
        doubts.add("a row with a run time of 0")
        return None
    if not runtime_s:
        raise RefusalDueError("no run time")
    for seconds in runtime_s.values():
        within(seconds, 1e-6, math.inf, "run time")
    if any(seconds > 1e9 for seconds in runtime_s.values()):
        doubts.add("a run time that is too long, which may be that of a type on which the task does not run")
    architecture = found.get("architecture")
    if architecture and "*" not in runtime_s:
        runtime_s = {name: value for name, value in runtime_s.items() if ARCHITECTURE_OF[name] == architecture}
        if not runtime_s:
            doubts.add("a task whose architecture has no type")
    if found["memory"] > LARGEST_MB:
        doubts.add("memory that no type has")
    return Task(found["id"], found["memory"], runtime_s, found["count"], found["command"], architecture)


def _left_out(cells: dict[_Column, str], doubts: set[str]) -> bool:
    """Say whether a row is one of what did not end well, or has no run time."""
    for column, cell in cells.items():
        bare = cell.strip()
        if column.role == "state" and bare and not _DONE.fullmatch(bare):
            doubts.add("a row of what is not done")
            if not _NOT_DONE.fullmatch(bare):
                raise RefusalDueError(f"state {cell!r}")
            return True
        if column.role == "exit" and bare not in ("", "-", "0"):
            doubts.add("a row of what did not end well")
            if not re.fullmatch(r"-?\d+", bare, re.ASCII):
                raise RefusalDueError(f"exit {cell!r}")
            if int(bare):
                return True
    times = [cell for column, cell in cells.items() if column.role == "runtime"]
    if len(times) == 1 and not times[0].strip() and all(not column.vm_type for column in cells):
        doubts.add("a row without a run time")
        return True
    if len(times) == 1 and re.fullmatch(r"0(\.0*)?", times[0].strip(), re.ASCII):
        doubts.add("a row with a run time of 0")
        return True
    return False


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
    return number_of(found[1], doubts) * _MB[unit]


def _runtime_s(text: str, unit: str, doubts: set[str]) -> Decimal:
    if found := re.fullmatch(r"(?:(\d+)(?:-| days?,? +))?(\d+):(\d+):(\d+(?:\.\d+)?)", text, re.ASCII):
        days, hours, minutes, seconds = (Decimal(part or 0) for part in found.groups())
        if found[1] or minutes > 59 or seconds >= 60 or not re.fullmatch(r"\d\d?\d?:\d\d:\d\d(\.\d+)?", text, re.ASCII):
            doubts.add("a time of day in unusual letters")
        return days * 86400 + hours * 3600 + minutes * 60 + seconds
    if found := re.fullmatch(r"(\d+):(\d+(?:\.\d+)?)", text, re.ASCII):
        doubts.add("a time of day in unusual letters")
        return Decimal(found[1]) * 60 + Decimal(found[2])
    if found := re.fullmatch(r"P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?", text, re.ASCII):
        doubts.add("a duration of ISO 8601")
        days, hours, minutes, seconds = (Decimal(part or 0) for part in found.groups())
        return days * 86400 + hours * 3600 + minutes * 60 + seconds
    if "(s)" in text:
        doubts.add("a unit as LSF has it")
        text = text.replace("(s)", "s")
    part = r"([^a-zA-Z\s][^a-zA-Z]*?(?:[eE][+-]?\d+)?)\s*(ms|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|[smhd])\s*"
    parts = re.findall(part, text, re.IGNORECASE)
    joined = re.fullmatch(f"(?:{part})+", text, re.IGNORECASE)
    if joined and parts:
        if any(own not in ("s", "min", "m", "h", "d") for _, own in parts) or re.search(r"\s", text):
            doubts.add("a unit of time in unusual letters")
        if len(parts) > 1 and "ms" in [own.lower() for _, own in parts]:
            raise UndecidedError("milliseconds among other units")
        order = [{"s": 0, "m": 1, "h": 2, "d": 3}[own[0].lower()] for _, own in parts]
        if order != sorted(set(order), reverse=True):
            doubts.add("units of time in an unusual order")
        if len(parts) > 1 and any(not re.fullmatch(r"\d+", part, re.ASCII) for part, _ in parts):
            doubts.add("several units of time with fractions or signs")
            if any("-" in part for part, _ in parts):
                raise RefusalDueError("a sign within a time")
        units = [_SECONDS["ms" if own.lower() == "ms" else own[0].lower()] for _, own in parts]
        return sum((number_of(part, doubts) * unit for (part, _), unit in zip(parts, units, strict=True)), Decimal(0))
    if not unit:
        raise RefusalDueError(f"run time {text!r} without a unit")
    return number_of(text, doubts) * _SECONDS[unit]
