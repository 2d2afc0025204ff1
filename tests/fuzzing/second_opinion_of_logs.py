"""A second reading of logs in the Standard and the Grid Workload(s) Format, and of tables of jobs that arrive."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from tests.fuzzing.oracles.job_logs import LogAsked
from tests.fuzzing.oracles.readings import DEFAULT_MEMORY_MB, RefusalDueError, Task, UndecidedError, Verdict
from tests.fuzzing.second_opinion import (
    checked,
    number_of,
    rows_of_table,
    seconds_of,
    text_of,
    verdict,
    whole_of,
    without_commas,
)

UNKNOWN = Fraction(-1)


class Job:
    """Fields of a line of a log, by their numbers in the format."""

    def __init__(self, fields: list[str]) -> None:
        self.fields = fields

    def number(self, column: int) -> Fraction | None:
        """Number in a column; nothing if it is unknown."""
        value = number_of(self.fields[column - 1])
        if value < 0 and value != UNKNOWN:
            raise RefusalDueError(f"column {column} is below 0")
        return None if value == UNKNOWN else value

    def first(self, *columns: int) -> Fraction | None:
        """Number of the first of some columns that is known."""
        return next((value for column in columns if (value := self.number(column)) is not None), None)


def jobs_of(data: bytes, kind: str, doubts: set[str]) -> Iterator[Job]:
    """Jobs of a log, one for each line that is no remark."""
    text = text_of(data)
    if data[:3] == b"\xef\xbb\xbf" or re.search(r"\r(?!\n)", text) or '"' in text:
        raise UndecidedError("a byte-order mark, lines that end with CR alone, or quotation marks")
    lines = [line for line in re.split(r"\r?\n", text) if line.strip() and line.strip()[0] not in ";#"]
    if any(line.strip()[0] == (";" if kind == "gwf" else "#") for line in re.split(r"\r?\n", text) if line.strip()):
        raise UndecidedError("remarks of another format")
    fields = [line.split() if kind == "swf" or "\t" not in line else line.strip("\r\n").split("\t") for line in lines]
    widths = {len(row) for row in fields}
    if kind == "swf" and widths - {18}:
        raise RefusalDueError("other than 18 columns")
    if kind == "gwf" and not widths <= set(range(20, 30)):
        raise UndecidedError("other columns than those of the format")
    if kind == "gwf" and len(widths) > 1:
        if not all("\t" in line for line in lines):
            raise RefusalDueError("lines of as many columns where blanks divide them")
        doubts.add("lines of as many columns")
    if any(not re.fullmatch(r"-1|\d{1,9}(\.\d{1,3})?", cell, re.ASCII) for row in fields for cell in row[:10]):
        doubts.add("a field that is no number, or below 0, and may not be asked for")
    if kind == "swf" and not all(re.fullmatch(r"-?\d{1,30}", cell, re.ASCII) for row in fields for cell in row[10:]):
        doubts.add("a field that is no number, or one of very many digits")
    if any("." in row[column] for row in fields for column in (4, 7)):
        doubts.add("parts of cores, of a job that may be left out")
    if any(cell != cell.strip() or not cell for row in fields for cell in row):
        raise UndecidedError("fields that are blank")
    yield from map(Job, fields)


def asked_for(job: Job, kind: str, asked: LogAsked, doubts: set[str]) -> bool:
    """Whether a job is one of those that are asked for, and ended well."""
    user = job.fields[11]
    if asked.user is not None and (number_of(user) != number_of(asked.user) if kind == "swf" else user != asked.user):
        return False
    if asked.bag is not None and job.fields[19] != asked.bag:
        return False
    if asked.from_s is not None or asked.to_s is not None:
        submitted = job.number(2)
        if submitted is None:
            raise UndecidedError("a job of which nobody knows when it was submitted")
        if submitted in (asked.from_s, asked.to_s):
            doubts.add("a job at the very end of the time that is asked for")
        if not (asked.from_s or 0) <= submitted < (math.inf if asked.to_s is None else asked.to_s):
            return False
    status = job.number(11)
    if status is not None and status.denominator != 1:
        raise UndecidedError("a status that is not whole")
    return status in (None, 1)


def taken(data: bytes, kind: str, asked: LogAsked, doubts: set[str]) -> Iterator[tuple[Job, Fraction, int]]:
    """Jobs of a log with their run time and cores, those that are left out aside."""
    for job in jobs_of(data, kind, doubts):
        try:
            wanted = asked_for(job, kind, asked, doubts)
            seconds = job.number(9 if asked.requested else 4)
            cores = job.first(8, 5)
            job.first(7, 10)
        except RefusalDueError:
            for column in (1, 3, 5, 6, 9, 10):
                if not re.fullmatch(r"-?\d+(\.\d+)?", job.fields[column - 1]):
                    raise UndecidedError("odd fields") from None
            if job.fields[10] not in ("1", "-1") or any(value is not None for value in (asked.user, asked.bag)):
                raise UndecidedError("a field that is no number of a job that may be left out") from None
            raise
        if seconds and seconds < Fraction(1, 2):
            raise UndecidedError("less than half a second, in a format of whole seconds")
        if not wanted or not seconds:
            doubts.add("a job that is left out")
            continue
        if cores is not None and (cores.denominator != 1 or not cores):
            raise (RefusalDueError if cores else UndecidedError)("cores that are not whole, or none")
        if cores is not None and cores > 10_000_000:
            raise UndecidedError("more cores than there are tasks in a bag")
        if cores is not None and cores > 1 and asked.cores == "skip":
            doubts.add("a job of several cores that is skipped")
            continue
        waits = job.fields[16] not in ("-1", "-1.0") if kind == "swf" else job.fields[18] not in ("UNITARY", "BoT")
        if waits:
            raise (RefusalDueError if re.fullmatch(r"[1-9]\d*", job.fields[16]) else UndecidedError)("a job that waits")
        if cores is not None and cores > 1 and asked.cores == "keep":
            raise UndecidedError("several cores: whether a type has them")
        if not re.fullmatch(r"0|[1-9]\d{0,15}", job.fields[0]):
            raise UndecidedError("a job without a number")
        yield job, seconds, int(cores or 1)


def second_bag_of_log(data: bytes, kind: str, asked: LogAsked) -> Verdict:
    """Bag of a log: jobs of the same run time and memory are one entry, named by the first."""

    def read(doubts: set[str]) -> list[Task]:
        found: dict[tuple[Fraction, Fraction], Task] = {}
        for job, seconds, cores in taken(data, kind, asked, doubts):
            memory = job.first(7, 10)
            if memory == 0:
                raise UndecidedError("memory of 0")
            mb = Fraction(DEFAULT_MEMORY_MB) if memory is None else memory / 1024
            before = found.get((seconds, mb))
            entry = before or Task(f"j{job.fields[0]}", float(mb), {"*": float(seconds)}, 0, None, None)
            found[seconds, mb] = entry._replace(count=entry.count + cores)
        if sum(task.count for task in found.values()) > 10_000_000:
            raise RefusalDueError("more tasks than a bag may have")
        if len({task.id for task in found.values()}) < len(found):
            raise UndecidedError("two jobs of one number")
        return checked(found.values(), doubts)

    return verdict(iter([read]))


# ------------------------------------------------------------------ jobs that arrive

WORDS = {
    "id": "id job job_id jobid name job_name",
    "count": "count tasks n_tasks number n copies",
    "application": "application app class program executable",
    "budget": "budget max_cost",
    "priority": "priority prio",
    "note": "note notes comment comments remark remarks description descriptions",
}
TIMES = {
    "arrival": "arrival arrival_time arrived submitted submit submit_time submission_time timestamp time date datetime "
    "created_at epoch",
    "runtime": "runtime run_time duration elapsed elapsed_time walltime wall_time service_time",
    "deadline": "deadline due due_time due_date",
    "within": "within time_to_deadline relative_deadline time_limit timelimit",
}


def role_of(heading: str) -> tuple[str, str] | None:
    """What a column of arrivals holds, and the unit of its heading."""
    for role, words in WORDS.items():
        if heading in words.split():
            return role, ""
    word, _, unit = heading.rpartition("_")
    for role, words in TIMES.items():
        if heading in words.split():
            return role, ""
        if word in words.split() and unit in ("s", "min", "h"):
            return role, unit
    return None


def moment_of(cell: str, unit: str) -> tuple[Fraction, bool]:
    """Seconds since the epoch, or of a clock of the file; whether it is a date, or a number of the epoch."""
    if re.match(r"\d{4}-\d\d-\d\d", cell, re.ASCII) and unit:
        raise RefusalDueError("a date below a heading with a unit")
    if re.fullmatch(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?", cell, re.ASCII):
        try:
            date = datetime.fromisoformat(cell)
        except ValueError as error:
            raise RefusalDueError(f"no date: {error}") from None
        span = (date if date.tzinfo else date.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
        return Fraction(span.days * 86400 + span.seconds) + Fraction(span.microseconds, 10**6), True
    if re.search(r"[^\d.]", cell):
        raise UndecidedError(f"a moment that may be none: {cell[:40]!r}")
    value = number_of(cell)
    if unit:
        return value * {"s": 1, "min": 60, "h": 3600}[unit], False
    if not 10**9 <= value < 3 * 10**9:
        raise UndecidedError("a number that may be no second of the epoch")
    return value, True


def second_jobs_of_table(data: bytes, made: Callable[..., Any]) -> Verdict:
    """Jobs of a table as a stream or a platform has them, by what makes them of arrivals in the first oracle."""

    def read(doubts: set[str]) -> Any:
        rows, divider = rows_of_table(text_of(data), lambda name: role_of(name) is not None, True, doubts)
        headings = list(dict.fromkeys(name for row in rows for name in row))
        roles = {name: role for name in headings if (role := role_of(name))}
        kinds = [role for role, _ in roles.values() if role != "note"]
        if len(roles) < len(headings) or len(set(kinds)) < len(kinds) or {"deadline", "within"} <= set(kinds):
            raise UndecidedError("columns that are not understood, or two of the same")
        if not {"arrival", "runtime"} <= set(kinds):
            raise RefusalDueError("no arrivals, or no run times")
        if without_commas(rows, divider, [name for name in headings if roles[name][0] not in WORDS].__contains__):
            raise UndecidedError("commas in numbers")
        name_of = {role: name for name, (role, _) in roles.items()}
        jobs: list[dict[str, Any]] = []
        clocks = set()
        for row in rows:
            cells = {role: row.get(name, "") for role, name in name_of.items()}
            units = dict(roles.values())
            if any(":" in cells.get(role, "") for role in ("runtime", "within")) and not all(
                re.fullmatch(r"|\d+:\d\d:\d\d|[^:]*", cells.get(role, "")) for role in ("runtime", "within")
            ):
                raise UndecidedError("minutes and seconds, or hours and minutes")
            seconds = seconds_of(cells["runtime"], units["runtime"])
            arrival, of_epoch = moment_of(cells["arrival"], units["arrival"])
            clocks.add(of_epoch)
            deadline = None
            if cells.get("deadline"):
                deadline, of_epoch = moment_of(cells["deadline"], units["deadline"])
                clocks.add(of_epoch)
            within = seconds_of(cells["within"], units["within"]) if cells.get("within") else None
            if cells.get("within") and within is None:
                raise UndecidedError("no time at all")
            if seconds is None:
                doubts.add("a job without a run time")
                raise UndecidedError("whether a job that is left out is the first")
            count = whole_of(cells["count"], "tasks") if cells.get("count") else 1
            if count < 1:
                raise RefusalDueError("no such number of tasks")
            if count > 1_000_000:
                raise UndecidedError("more tasks than a stream may have, or a job of very many")
            if len(cells.get("application", "")) > 150:
                raise UndecidedError("an application of a long name")
            if max(seconds, within or 0) > 10**9:
                raise UndecidedError("a run time that is too long")
            jobs.append(
                {
                    "id": cells.get("id") or f"j{len(jobs) + 1}",
                    "arrival": arrival,
                    "deadline": deadline,
                    "within": within,
                    "count": count,
                    "seconds": seconds,
                    "budget": number_of(cells["budget"]) if cells.get("budget") else None,
                    "priority": whole_of(cells["priority"], "priorities") if cells.get("priority") else 0,
                }
            )
        if not jobs:
            raise RefusalDueError("no jobs")
        if len(clocks) > 1:
            raise UndecidedError("dates, and numbers of another clock")
        if len({job["id"] for job in jobs}) < len(jobs):
            raise RefusalDueError("two jobs of the same id")
        if "id" in kinds and not all(row[name_of["id"]] for row in rows):
            raise UndecidedError("an id that is missing")
        if any(len(job["id"]) > 200 or "#" in job["id"] for job in jobs):
            raise UndecidedError("an id that may be none")
        return [made(job, min(each["arrival"] for each in jobs)) for job in jobs]

    return verdict(iter([read]))


def times_of(job: dict[str, Any], first: Fraction) -> tuple[int, int]:
    """Second at which a job arrives, and that of its deadline: an hour after it if nothing is said."""
    moment = job["arrival"] + (3600 if job["within"] is None else job["within"])
    moment = math.floor(moment if job["deadline"] is None else job["deadline"])
    if moment <= math.ceil(job["arrival"]):
        raise UndecidedError("a deadline that is before the job")
    if moment - first > 10**9:
        raise RefusalDueError("a deadline that is too far from the first arrival")
    return math.ceil(job["arrival"]) - math.ceil(first), moment - math.ceil(first)


def second_stream_job(job: dict[str, Any], first: Fraction) -> Any:
    """Job as a stream has it: id, arrival, deadline, tasks and run time."""
    if job["seconds"] > 10**8 or len(job["id"]) > 190:
        raise RefusalDueError("a run time, or an id, that is too long for a stream")
    return (job["id"], *times_of(job, first), job["count"], float(job["seconds"]))


def second_platform_job(job: dict[str, Any], first: Fraction) -> Any:
    """Job as a platform has it: id, work in processor-minutes, arrival, deadline, budget and priority."""
    work = math.ceil(job["seconds"] * job["count"] / 60)
    budget = 2.0 * work if job["budget"] is None else float(job["budget"])
    if not 0 <= job["priority"] <= 10**6 or not 0 <= budget <= 10**15 or not 1 <= work <= 10**9:
        raise UndecidedError("numbers that a platform may not have")
    return (job["id"], work, *times_of(job, first), budget, job["priority"])


def second_jobs_of_log(data: bytes, kind: str, asked: LogAsked, made: Callable[..., Any]) -> Verdict:
    """Jobs of a log as a stream or a platform has them: a job of several cores is as many tasks."""

    def read(doubts: set[str]) -> Any:
        nothing = {"deadline": None, "within": None, "budget": None, "priority": 0}
        jobs = []
        for job, seconds, cores in taken(data, kind, asked, doubts):
            if (arrival := job.number(2)) is None:
                raise UndecidedError("a job of which nobody knows when it was submitted")
            named = {"id": f"j{job.fields[0]}", "arrival": arrival, "count": cores, "seconds": seconds}
            jobs.append(nothing | named)
        if not jobs:
            raise RefusalDueError("no jobs")
        if len({job["id"] for job in jobs}) < len(jobs):
            raise UndecidedError("two jobs of one number")
        return [made(job, min(each["arrival"] for each in jobs)) for job in jobs]

    return verdict(iter([read]))
