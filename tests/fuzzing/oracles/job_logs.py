"""What logs in the Standard Workload Format and in the Grid Workload Format say."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.fuzzing.oracles.readings import (
    DEFAULT_MEMORY_MB,
    LARGEST_MB,
    MOST_TASKS,
    NUMBER,
    RefusalDueError,
    Task,
    UndecidedError,
    Verdict,
    checked_name,
    decoded,
    in_bounds,
    lines_of,
    number_of,
    verdict_of,
    whole_of,
)

FIELDS = {"swf": range(18, 19), "gwf": range(20, 30)}
"""How many a line has; those of GWF beyond the bag of tasks may be missing."""


@dataclass(frozen=True)
class LogAsked:
    """What is asked for of a log."""

    cores: str = "keep"
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
        for _, (name, runtime, memory, copies) in jobs_of_lines(data, kind, asked, doubts):
            if name in numbers:
                doubts.add("a job number twice")
            numbers.add(name)
            counts.setdefault((runtime, memory), [name, 0])[1] += copies
        tasks = [
            Task(checked_name(f"j{name}", "job number"), memory, {"*": runtime}, count, None, None)
            for (runtime, memory), (name, count) in counts.items()
        ]
        return [in_bounds(tasks)]

    return verdict_of(read)


def jobs_of_lines(
    data: bytes, kind: str, asked: LogAsked, doubts: set[str]
) -> Iterator[tuple[list[str], tuple[str, float, float, int]]]:
    """Yield the jobs of a log that are asked for: the fields of the line, and number, run time, memory and tasks."""
    divide = _Fields(kind)
    for line in lines_of(decoded(data, doubts, log=True), doubts):
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
        if job is not None:
            yield fields, job


def _by_blanks(line: str, kind: str) -> list[str]:
    fields = [field for field in re.split("[ \t]+", line) if field]
    return fields if len(fields) in FIELDS[kind] else line.split()


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
        if re.match(r"[^\x21-\x7e \t\r\n]+\d|\d+[^\x21-\x7e \t\r\n]", line):
            raise UndecidedError("a job number with characters that cannot be seen")
        if self.kind == "swf" or not line.strip():
            return _by_blanks(line, self.kind)
        if self.tabs is None:
            self.tabs = "\t" in line.strip()
        if self.tabs != ("\t" in line.strip()):
            raise RefusalDueError("some lines divided by tabs, others by blanks")
        if any(field.strip(" ") != field.strip() for field in line.split("\t")[11:]):
            raise UndecidedError("a name with blanks of other kinds around it")
        fields = [field.strip() for field in line.strip().split("\t")] if self.tabs else _by_blanks(line, self.kind)
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
    if len(fields) not in FIELDS[kind]:
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
    wanted = [lambda: whole_of(_known(fields, 10, doubts), -(10**400), 10**400, "status") in (1, -1)]
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
    if cores > 1 and asked.cores == "keep":
        raise UndecidedError("several cores: whether a type has them")
    if cores > MOST_TASKS:
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
    return fields[0], float(runtime), memory_mb, cores


def _known(fields: list[str], place: int, doubts: set[str]) -> Decimal:
    return number_of(fields[place], doubts)


def _integer(value: Decimal, what: str) -> int:
    return whole_of(value, -(10**12), 10**12, what)


def _unknown(value: Decimal | int, what: str, doubts: set[str]) -> None:
    """Accept -1, which says that a value is not known, and nothing else that is negative."""
    if value == 0:
        doubts.add(f"{what} of 0, taken as unknown")
    elif value != -1:
        raise RefusalDueError(f"{what} {value}")


def _is_id(given: str, wanted: str) -> bool:
    given = given.strip()
    if given != wanted and NUMBER.fullmatch(given) and NUMBER.fullmatch(wanted) and float(given) == float(wanted):
        raise UndecidedError("the id that is asked for in other letters")
    return given == wanted
