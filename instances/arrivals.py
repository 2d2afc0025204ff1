"""Arrivals: jobs of tables and logs, from which streams and platforms are made."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from ..core.errors import InputError, Issue, SpotbagError, input_error
from ..core.quantities import MAX_SECONDS, NO_NUMBER, TIME_UNITS_S, exact_seconds, is_name, moment, number_of
from ..core.text_tables import TextTable, columns_text
from .amounts import MINUTES_AND_SECONDS, seconds_of
from .columns import COMMENTS, OF_JOBS, Headings, JobRole, TableColumn, meaning, normal

_UNITS: Mapping[JobRole, Mapping[str, float]] = dict.fromkeys(
    ("arrival", "runtime", "deadline", "within"), TIME_UNITS_S
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_S, _EPOCH_MS = (10**8, 10**10), (10**11, 10**13)
"""Numbers without a unit that are seconds, or milliseconds, of the epoch: from 1973 on."""
_MOST_ISSUES = 1_000
_PLACE = re.compile(r"(jobs|applications)\[([0-9]+)\]")


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job as its file has it.

    Attributes
    ----------
    line : int
        Where it stands.
    id, application : str
        What it and its program are called.
    at_s, due_s : Fraction
        When it arrives, and by when it should have ended, on the clock of the file; None for no deadline.
    runtime_s : float
        Of each of its tasks.
    count : int
        Number of its tasks.
    budget : float, optional
        What it may cost.
    priority : int
        A larger number goes first.
    """

    line: int
    id: str
    at_s: Fraction
    runtime_s: float
    count: int = 1
    due_s: Fraction | None = None
    application: str = "app"
    budget: float | None = None
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Deadlines of jobs whose file has none: a time after the arrival, a multiple of the run time, or their sum."""

    after_s: float | None = None
    stretch: float | None = None

    def of(self, arrival: Arrival) -> Fraction:
        """Return the deadline of a job, on the clock of its file.

        Raises
        ------
        SpotbagError
            If nothing says it.
        """
        if arrival.due_s is not None:
            return arrival.due_s
        if self.after_s is None and self.stretch is None:
            raise SpotbagError(
                f"line {arrival.line} has no deadline: a column deadline or within_s has it, --deadline 2h is after "
                "each arrival, --stretch 3 that many run times after it"
            )
        times_s = exact(self.stretch or 0) * exact_seconds(arrival.runtime_s)
        return arrival.at_s + exact_seconds(self.after_s or 0) + times_s


def exact(value: float) -> Fraction:
    """Return the decimal number that a float is written as."""
    return Fraction(repr(value))


def since_first(arrivals: Sequence[Arrival], deadlines: Deadlines) -> Iterator[tuple[Arrival, int, int]]:
    """Give each job with its arrival, rounded up, and its deadline, rounded down, in seconds from the first arrival."""
    first_s = math.ceil(min(arrival.at_s for arrival in arrivals))
    for arrival in arrivals:
        yield arrival, math.ceil(arrival.at_s) - first_s, math.floor(deadlines.of(arrival)) - first_s


@contextmanager
def places_of(lines: Mapping[str, Sequence[int]], source: str) -> Iterator[None]:
    """Have faults of a document say the lines of the file that its ``jobs`` and ``applications`` come from."""
    try:
        yield
    except InputError as error:
        placed = []
        for issue in error.issues:
            found = _PLACE.match(issue.where)
            where = issue.where if found is None else f"line {lines[found[1]][int(found[2])]}"
            placed.append(Issue(where, issue.rule, issue.field, issue.value, issue.item))
        raise InputError(source, placed) from None


def arrivals_of_table(
    text: str, source: str, columns: Mapping[str, str] | None = None, ignored: Sequence[str] = ()
) -> tuple[list[Arrival], list[str]]:
    """Read jobs from a table with a line of headings; return them with warnings.

    Parameters
    ----------
    text, source : str
        The table, and its name in messages.
    columns : mapping, optional
        Role, with a unit such as ``arrival_min``, to the heading of its column, where the heading says something else.
    ignored : sequence of str
        Headings of columns that are left out.

    Raises
    ------
    InputError
        With everything that is wrong: line, column, value and rule.
    """
    table = TextTable(text, source)
    table.check_headings()
    roles, left_out = _columns(table, columns or {}, ignored)
    rows = _Rows(roles)
    found = [arrival for line, cells in table if (arrival := rows.arrival(line, cells)) is not None]
    if rows.issues or table.issues:
        raise InputError(source, [*rows.issues, *table.issues])
    if not found:
        raise input_error(source, "has no job with a run time below its headings")
    said = [f"{source}: {columns_text(left_out)} left out: --column says which counts"] if left_out else []
    said += [f"{source}: {rows.without:,} jobs without a run time, or with one of 0, left out"] if rows.without else []
    return found, said


_KNOWN = ", ".join(OF_JOBS)


def _column(index: int, heading: str) -> TableColumn[JobRole] | None:
    found = meaning(heading, OF_JOBS, _UNITS)
    return None if found is None else TableColumn(index, heading, *found)


def _columns(
    table: TextTable, columns: Mapping[str, str], ignored: Sequence[str]
) -> tuple[dict[JobRole, TableColumn[JobRole]], list[str]]:
    """Columns of the roles, and those left out for what is said; others are refused."""
    headings = Headings(table.first, table.source, f"{_KNOWN}, with a unit: arrival_s", _column, _column)
    said = headings.said(columns, ignored)
    decided = {column.role for column in said.values()}
    read, left_out = list[TableColumn[JobRole]](), list[str]()
    for index, heading in enumerate(table.first):
        column = said.get(index) or _column(index, heading)
        if heading in ignored or (column is None and normal(heading) in COMMENTS):
            continue
        if column is None:
            rule = f"is not understood: --ignore-column leaves it out, --column ROLE=HEADING takes it as {_KNOWN}"
            raise InputError(table.source, [Issue(f"line {table.first_line}", rule, f"column {heading!r}")])
        if index not in said and column.role in decided:
            left_out.append(heading)
        else:
            read.append(column)
    headings.refuse_two_of_a_role(read)
    roles = {column.role: column for column in read}
    missing = [role for role in ("arrival", "runtime") if role not in roles]
    if missing:
        rule = f"has no column of the {missing[0]}: call it {missing[0]}_s, or say --column {missing[0]}_s=HEADING"
        raise input_error(table.source, f"{rule} ({columns_text(table.first)})")
    if "deadline" in roles and "within" in roles:
        raise input_error(table.source, "has deadlines, and times within which jobs should end: leave one of them out")
    return roles, left_out


class _Rows:
    """Makes jobs of rows, and keeps what is wrong with them."""

    def __init__(self, columns: Mapping[JobRole, TableColumn[JobRole]]) -> None:
        self.issues: list[Issue] = []
        self.without = 0
        self._columns = columns
        self._lines: dict[str, int] = {}
        self._clocks: dict[bool, int] = {}
        """Lines of the first date, and of the first number that is none, by whether it is a date."""

    def arrival(self, line: int, cells: Sequence[str]) -> Arrival | None:
        """Make a job of a row; None if something is wrong, or it has no run time."""
        before = len(self.issues)
        values = {role: self._value(line, column, cells[column.index]) for role, column in self._columns.items()}
        name = values.get("id") or f"j{len(self._lines) + 1}"
        if self._lines.setdefault(name, line) != line:
            self._fault(line, "id", name, f"is a duplicate of line {self._lines[name]}")
        at_s, due_s, within_s = (values.get(role) for role in ("arrival", "deadline", "within"))
        if within_s is not None and at_s is not None:
            due_s = at_s + exact_seconds(within_s)
        if at_s is not None and due_s is not None and due_s <= at_s:
            role: JobRole = "deadline" if within_s is None else "within"
            rule = "must be after the arrival, on the same clock (a time from the arrival on is called within_s)"
            self._fault(line, role, cells[self._columns[role].index], rule)
        if len(self.issues) > before or at_s is None:
            return None
        if not values["runtime"]:
            self.without += 1
            return None
        more = {
            role: values[role]
            for role in ("count", "application", "budget", "priority")
            if values.get(role) is not None
        }
        return Arrival(line, name, at_s, values["runtime"], due_s=due_s, **more)

    def _value(self, line: int, column: TableColumn[JobRole], cell: str) -> Any:
        role, factor = column.role, column.factor
        if not cell:
            if role == "arrival":
                self._fault(line, role, Issue.NOTHING, "is missing")
            return None
        try:
            value = _READERS[role](cell, factor)
        except ValueError as error:
            self._fault(line, role, cell, str(error))
            return None
        if role in ("arrival", "deadline") and (factor is None or value < _EPOCH_S[0]):
            self._clocks.setdefault(factor is None, line)
            if len(self._clocks) > 1:
                rule = f"is on another clock than line {self._clocks[factor is not None]}: dates, or seconds of a clock"
                self._fault(line, role, cell, rule)
        return value

    def _fault(self, line: int, role: JobRole, value: Any, rule: str) -> None:
        if len(self.issues) < _MOST_ISSUES:
            heading = self._columns[role].heading if role in self._columns else role
            self.issues.append(Issue(f"line {line}", rule, heading, value))


def _clock_s(cell: str, factor: float | None) -> Fraction:
    """Seconds of a moment, on the clock of the file: those of the epoch for a date."""
    number = number_of(cell)
    if number is not None and factor is not None:
        return exact(number) * exact(factor)
    if number is not None and _EPOCH_S[0] <= number < _EPOCH_S[1]:
        return exact(number)
    if number is not None and _EPOCH_MS[0] <= number < _EPOCH_MS[1]:
        return exact(number) / 1000
    date = moment(cell) if factor is None else None
    if number is not None or date is None:
        raise ValueError(
            "must be a date such as 2026-11-28T09:00:00Z or seconds of the epoch, or a number below a heading with "
            "its unit: arrival_s, deadline_min"
        )
    since = date - _EPOCH
    return since.days * 86400 + since.seconds + Fraction(since.microseconds, 10**6)


def _seconds(cell: str, factor: float | None) -> float:
    number = number_of(cell)
    if number is not None and factor is None:
        raise ValueError("has no unit: call the column runtime_s or within_min, or write 90s")
    if number is not None and factor is not None:
        number = float(exact(number) * exact(factor))
    if MINUTES_AND_SECONDS.fullmatch(cell):
        raise ValueError("may be minutes and seconds, or hours and minutes: write 00:12:30, or 12min30s")
    seconds = seconds_of(cell) if number is None else number
    if seconds is None:
        raise ValueError("must be a duration such as 90s, 12min, 1h30m or 00:12:30")
    if not 0 <= seconds <= MAX_SECONDS:
        raise ValueError("must not be negative" if seconds < 0 else f"must be at most {MAX_SECONDS:,} s")
    return seconds


def _whole(cell: str, factor: float | None) -> int:
    number = number_of(cell)
    if number is None or not number.is_integer():
        raise ValueError("must be a whole number")
    return int(number)


def _count(cell: str, factor: float | None) -> int:
    count = _whole(cell, factor)
    if count < 1:
        raise ValueError("must be at least 1")
    return count


def _amount(cell: str, factor: float | None) -> float:
    number = number_of(cell)
    if number is None:
        raise ValueError(NO_NUMBER)
    return number


def _name(cell: str, factor: float | None) -> str:
    if not is_name(cell):
        raise ValueError("must be a name of up to 200 characters")
    return cell


_READERS: Mapping[JobRole, Callable[[str, float | None], Any]] = {
    "id": _name,
    "arrival": _clock_s,
    "runtime": _seconds,
    "count": _count,
    "deadline": _clock_s,
    "within": _seconds,
    "application": _name,
    "budget": _amount,
    "priority": _whole,
}
