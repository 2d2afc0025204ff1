"""What tables and logs say of jobs that arrive over time: by the documented headings, as streams and platforms."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from tests.fuzzing.oracles.csv_tasks import _flat, _runtime_s
from tests.fuzzing.oracles.job_logs import LogAsked, jobs_of_lines
from tests.fuzzing.oracles.readings import (
    NAME,
    RefusalDueError,
    UndecidedError,
    Verdict,
    checked_name,
    note_blanks,
    number_of,
    tables_of,
    verdict_of,
    whole_of,
    within,
)

_NAMES = {
    "id": "id job job_id jobid name job_name",
    "arrival": "arrival arrival_time arrived submitted submit submit_time submission_time timestamp time date datetime "
    "created_at epoch",
    "runtime": "runtime run_time duration elapsed elapsed_time walltime wall_time service_time",
    "count": "count tasks n_tasks number n copies",
    "deadline": "deadline due due_time due_date",
    "within": "within time_to_deadline relative_deadline time_limit timelimit",
    "application": "application app class program executable",
    "budget": "budget max_cost",
    "priority": "priority prio",
}
_ROLE_OF = {name: role for role, names in _NAMES.items() for name in names.split()}
_REMARKS = ("note", "notes", "comment", "comments", "remark", "remarks", "description")
_UNIT = re.compile(r"(.+)_(ms|s|sec|secs|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DATE = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:(Z)|([+-])(\d\d):?(\d\d))?)?", re.ASCII
)


class OwnJob(NamedTuple):
    """A job as its file has it; times on the clock of the file."""

    id: str
    at_s: Fraction
    due_s: Fraction | None
    run_s: float
    count: int = 1
    budget: float | None = None
    priority: int = 0


def _column(heading: str) -> tuple[str, str] | None:
    """Role of a heading and its unit, empty if it has none."""
    flat = _flat(heading).replace(".", "_").strip("_")
    if flat in _ROLE_OF:
        return _ROLE_OF[flat], ""
    found = _UNIT.fullmatch(flat)
    role = _ROLE_OF.get(found[1]) if found else None
    return (role, found[2]) if found and role in ("arrival", "runtime", "deadline", "within") else None


def jobs_of_table(data: bytes, wanted: Callable[[list[OwnJob], set[str]], Any]) -> Verdict:
    """Return what a table says of jobs, as `wanted` makes it of them."""

    def read(doubts: set[str]) -> list[Any]:
        readings, whys = [], []
        for _, rows, own in tables_of(data, doubts, lambda heading: _column(heading) is not None):
            try:
                readings.append(wanted(_jobs_of_rows(rows, own), own))
                doubts |= own
            except RefusalDueError as due:
                whys.append(str(due))
        if not readings:
            raise RefusalDueError("; ".join(whys))
        return readings

    return verdict_of(read)


def _jobs_of_rows(rows: list[list[str]], doubts: set[str]) -> list[OwnJob]:
    columns = [_column(heading) for heading in rows[0]]
    if any(not re.fullmatch(r"[\w -]+", heading, re.ASCII) or heading != heading.strip() for heading in rows[0]):
        doubts.add("a heading with blanks around it, or in unusual letters")
    for heading, column in zip(rows[0], columns, strict=True):
        place = rows[0].index(heading)
        if not any("".join(row[place : place + 1]).strip() for row in rows[1:]):
            doubts |= {"a column of which nothing is made"} if column is None else set()
        elif column is None and heading.strip().lower() not in _REMARKS:
            if heading.isascii():
                raise RefusalDueError(f"column {heading!r} is not understood")
            raise UndecidedError("a heading in letters that may count for nothing")
    roles = [column[0] for column in columns if column]
    if len(roles) != len(set(roles)):
        raise RefusalDueError("two columns hold the same")
    if not {"arrival", "runtime"} <= set(roles) or {"deadline", "within"} <= set(roles):
        raise RefusalDueError("a column is missing, or one too many")
    jobs, names, clocks = [], set(), set()
    for row in rows[1:]:
        if not any(cell.strip() for cell in row):
            doubts.add("a row of empty cells")
            continue
        if len(row) != len(columns):
            raise RefusalDueError(f"{len(row)} cells for {len(columns)} headings")
        if any("\n" in cell or "\r" in cell for cell in row):
            doubts.add("a quoted cell of several lines")
        note_blanks(row, doubts)
        cells = {column: cell.strip() for column, cell in zip(columns, row, strict=True) if column}
        job = _job_of_cells(cells, f"j{len(names) + 1}", clocks, doubts)
        if job.id in names:
            raise RefusalDueError(f"two jobs called {job.id!r}")
        names.add(job.id)
        if job.run_s:
            jobs.append(job)
    if len(clocks) > 1:
        raise RefusalDueError("dates, and seconds of a clock of their own")
    return jobs


def _job_of_cells(cells: dict[tuple[str, str], str], name: str, clocks: set[str], doubts: set[str]) -> OwnJob:
    found: dict[str, Any] = {"id": name, "count": 1, "run_s": 0.0, "priority": 0}
    for (role, unit), cell in cells.items():
        if role in ("arrival", "deadline") and (cell or role == "arrival"):
            found[role] = _moment_s(cell, unit, clocks, doubts)
        elif not cell:
            continue
        elif role in ("runtime", "within"):
            if ":" in cell and not re.fullmatch(r"\d+:\d\d:\d\d", cell, re.ASCII):
                doubts.add("a time of day of two parts, or with a fraction")
            if re.search(r"\d[eE][+-]?\d+\D", cell):
                doubts.add("an exponent before a unit")
            seconds = _runtime_s(cell, {"": ""}.get(unit, "s"), doubts)
            if seconds and not float(seconds):
                raise RefusalDueError("a number that is too small")
            if unit and re.fullmatch(r"[\d.eE+-]+", cell, re.ASCII):
                seconds = Decimal(repr(float(seconds))) * _factor(unit)
            if seconds < 0 or (not unit and seconds > 10**9):
                raise RefusalDueError(f"{role} {cell!r}")
            found["run_s" if role == "runtime" else "within"] = float(seconds)
        elif role == "id":
            found["id"] = checked_name(cell, "id")
        elif role == "application":
            checked_name(cell, "application")
            if len(cell) > 150:
                doubts.add("a long name of an application")
        elif role == "budget":
            found["budget"] = float(_number(cell, doubts))
        else:
            found[role] = whole_of(_number(cell, doubts), 1 if role == "count" else -(10**400), 10**400, role)
    at_s, due_s = found.pop("arrival"), found.pop("deadline", None)
    if "within" in found:
        due_s = at_s + _micro(found.pop("within"))
    if due_s is not None and due_s <= at_s:
        raise RefusalDueError("a deadline before the arrival")
    return OwnJob(at_s=at_s, due_s=due_s, **found)


def _number(text: str, doubts: set[str]) -> Decimal:
    value = number_of(text, doubts)
    if value and not float(value):
        raise RefusalDueError("a number that is too small")
    return value


def _factor(unit: str) -> Decimal:
    return Decimal("0.001") if unit == "ms" else Decimal(_SECONDS[unit[0]])


def _micro(seconds: float) -> Fraction:
    """Seconds to the microsecond, as run times are kept."""
    return Fraction(round(seconds * 10**6), 10**6)


def _moment_s(cell: str, unit: str, clocks: set[str], doubts: set[str]) -> Fraction:
    """Seconds of a moment; numbers are those of double precision."""
    if unit:
        seconds = Fraction(repr(float(_number(cell, doubts)))) * Fraction(_factor(unit))
        if seconds < 10**8:
            clocks.add("own")
        return seconds
    clocks.add("date")
    if found := _DATE.fullmatch(cell):
        return _date_s(found, doubts)
    number = Fraction(repr(float(_number(cell, doubts))))
    if 10**8 <= number < 10**10:
        return number
    if 10**11 <= number < 10**13:
        return number / 1000
    raise RefusalDueError(f"moment {cell!r} without a unit")


def _date_s(found: re.Match[str], doubts: set[str]) -> Fraction:
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    try:
        days = date(year, month, day).toordinal() - date(1970, 1, 1).toordinal()
    except ValueError as error:
        raise RefusalDueError(str(error)) from None
    east = int(found[10] or 0) * 60 + int(found[11] or 0)
    if hour > 23 or minute > 59 or second > 59 or int(found[11] or 0) > 59 or east >= 24 * 60:
        raise RefusalDueError("no time of day")
    if len(found[7] or "") > 6 or east > 14 * 60:
        doubts.add("nanoseconds, or a zone that nobody has")
    if year in (1, 9999):
        doubts.add("a year at the end of all dates")
    micros = int((found[7] or "0").ljust(6, "0")[:6])
    east_s = east * 60 * (-1 if found[9] == "-" else 1)
    return days * 86400 + hour * 3600 + minute * 60 + second - east_s + Fraction(micros, 10**6)


def jobs_of_log(data: bytes, kind: str, asked: LogAsked, wanted: Callable[[list[OwnJob], set[str]], Any]) -> Verdict:
    """Return what a log says of jobs, as `wanted` makes it of them."""

    def read(doubts: set[str]) -> list[Any]:
        jobs = []
        for fields, (name, run_s, _, count) in jobs_of_lines(data, kind, asked, doubts):
            at_s = Fraction(repr(float(number_of(fields[1], doubts))))
            if at_s == -1:  # not known
                continue
            jobs.append(OwnJob(checked_name(f"j{name}", "job"), at_s, None, run_s, count))
            if len(fields[13]) > 150 or not NAME.fullmatch(fields[13]):
                doubts.add("a program that is no name, of which a platform makes nothing")
        if len({job.id for job in jobs}) < len(jobs):
            raise RefusalDueError("a job number twice")
        return [wanted(jobs, doubts)]

    return verdict_of(read)


def stream_jobs(jobs: list[OwnJob], doubts: set[str]) -> list[Any]:
    """Return the jobs of a stream: id, arrival, deadline (an hour later, if the file has none), tasks, run time."""
    made = []
    for job, at_s, due_s in _since_first(jobs, doubts):
        if len(job.id) > 190:
            raise RefusalDueError("an id that is too long")
        whole_of(Decimal(job.count), 1, 10**6, "tasks")
        within(job.run_s, 1e-6, 1e8, "run time")
        made.append((job.id, at_s, due_s, job.count, job.run_s))
    if sum(job.count for job in jobs) > 10**6:
        raise RefusalDueError("too many tasks")
    return made


def platform_jobs(jobs: list[OwnJob], doubts: set[str]) -> list[Any]:
    """Return the jobs of a platform: id, work, arrival, deadline, budget (2 for each minute) and priority."""
    made = []
    for job, at_s, due_s in _since_first(jobs, doubts):
        size = max(math.ceil(_micro(job.run_s) * job.count / 60), 1)
        budget = 2.0 * size if job.budget is None else job.budget
        whole_of(Decimal(size), 1, 10**9, "work")
        whole_of(Decimal(job.priority), 0, 10**6, "priority")
        made.append((job.id, size, at_s, due_s, within(budget, 0, 1e15, "budget"), job.priority))
    return made


def _since_first(jobs: list[OwnJob], doubts: set[str]) -> list[tuple[OwnJob, int, int]]:
    if not jobs:
        raise RefusalDueError("no jobs")
    first_s = math.ceil(min(job.at_s for job in jobs))
    found = []
    for job in jobs:
        at_s, due_s = math.ceil(job.at_s), math.floor(job.at_s + 3600 if job.due_s is None else job.due_s)
        if due_s <= at_s or due_s - first_s > 10**9:
            raise RefusalDueError("a deadline at the arrival, or too late")
        if job.run_s > 1e9:
            doubts.add("a very long run time")
        found.append((job, at_s - first_s, due_s - first_s))
    return found
