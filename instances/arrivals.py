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
from ..core.quantities import MAX_SECONDS, as_written, exact_seconds, is_name, moment, number_of
from ..core.text_tables import TextTable, columns_text
from .table_columns import MINUTES_AND_SECONDS, CsvFormat, TableColumn, TableRows, columns_of, plain, seconds_of, whole
from .table_formats import JOBS, Role

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
        # Exactly: a deadline must not be missed by a rounding error.
        times_s = as_written(self.stretch or 0) * exact_seconds(arrival.runtime_s)
        return arrival.at_s + exact_seconds(self.after_s or 0) + times_s


def since_first(arrivals: Sequence[Arrival], deadlines: Deadlines) -> Iterator[tuple[Arrival, int, int]]:
    """Give each job with its arrival, rounded up, and its deadline, rounded down, in seconds from the first arrival."""
    # Whole seconds from a whole second on: parts of one would be lost by each job in another way.
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


def arrivals_of_table(text: str, source: str, form: CsvFormat | None = None) -> tuple[list[Arrival], list[str]]:
    """Read jobs from a table with a line of headings; return them with warnings.

    Parameters
    ----------
    text, source : str
        The table, and its name in messages.
    form : CsvFormat, optional
        What the headings do not say.

    Raises
    ------
    InputError
        With everything that is wrong: line, column, value and rule.
    """
    table = TextTable(text, source)
    table.check_headings()
    columns = columns_of(table, form or CsvFormat(), JOBS)
    roles = {column.role for column in columns.read}
    missing = next((role for role in ("arrival", "runtime") if role not in roles), None)
    if missing is not None:
        rule = f"has no column of the {missing}: call it {missing}_s, or say --column {missing}_s=HEADING"
        raise input_error(source, f"{rule} ({columns_text(table.first)})")
    if {"deadline", "within"} <= roles:
        raise input_error(source, "has deadlines, and times within which jobs should end: leave one of them out")
    rows = _Jobs(table, columns, JOBS)
    found = [arrival for line, cells in table if (arrival := rows.arrival(line, cells)) is not None]
    rows.refuse_duplicates(rows.named)
    if rows.issues or table.issues:
        raise InputError(source, [*rows.issues, *table.issues][:_MOST_ISSUES])
    if not found:
        raise input_error(source, "has no job with a run time below its headings")
    return found, columns.warnings + [f"{source}: {text}" for text in rows.left_out()]


class _Jobs(TableRows):
    """Makes jobs of rows, and keeps what is wrong with them."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.named: list[tuple[int, str]] = []
        self._clocks: dict[bool, int] = {}
        """Lines of the first date, and of the first number that is none, by whether it is a date."""

    def _reading(self, column: TableColumn) -> Callable[[str], Any]:
        return {
            "arrival": lambda cell: self._moment(column, cell),
            "deadline": lambda cell: self._moment(column, cell) if cell else None,
            "runtime": lambda cell: _seconds(column, cell) if cell else None,
            "within": lambda cell: _seconds(column, cell) if cell else None,
            "count": whole,
            "priority": whole,
            "budget": plain,
        }.get(column.role, _name)

    def arrival(self, line: int, cells: Sequence[str]) -> Arrival | None:
        """Make a job of a row; None if something is wrong, or it has no run time, or is not chosen."""
        self._line, before = line, len(self.issues)
        if before >= _MOST_ISSUES:
            return None
        if not self._is_chosen(cells):
            self._leave_out("that --only does not choose")
            return None
        self._refuse(cells)
        values = {role: self._value(column, cells) for role, (column,) in self._of.items()}
        name = values.pop("id", None) or f"j{len(self.named) + 1}"
        self.named.append((line, name))
        at_s, due_s, within_s, seconds = (
            values.pop(role, None) for role in ("arrival", "deadline", "within", "runtime")
        )
        if within_s is not None and at_s is not None:
            due_s = at_s + exact_seconds(within_s)
        if at_s is not None and due_s is not None and due_s <= at_s:
            rule = "must be after the arrival, on the same clock (a time from the arrival on is called within_s)"
            self._fault_of("deadline" if within_s is None else "within", cells, rule)
        if values.get("count") is not None and values["count"] < 1:
            self._fault_of("count", cells, "must be at least 1")
        if len(self.issues) > before:
            return None
        if not seconds:
            self._leave_out("without a run time" if seconds is None else "with a run time of 0")
            return None
        more = {role: value for role, value in values.items() if value is not None}
        return Arrival(line, name, at_s, seconds, due_s=due_s, **more)

    def _fault_of(self, role: Role, cells: Sequence[str], rule: str) -> None:
        column = self._of[role][0]
        self._fault(column.heading, cells[column.index], rule)

    def _moment(self, column: TableColumn, cell: str) -> Fraction:
        value = _clock_s(cell, column.factor)
        is_date = column.factor is None
        # Seconds of the epoch and dates are on one clock; small numbers are on a clock of the file.
        if is_date or value < _EPOCH_S[0]:
            self._clocks.setdefault(is_date, self._line)
            if len(self._clocks) > 1:
                other = self._clocks[not is_date]
                raise ValueError(f"is on another clock than line {other}: dates, or seconds of a clock")
        return value


def _clock_s(cell: str, factor: float | None) -> Fraction:
    """Seconds of a moment, on the clock of the file: those of the epoch for a date."""
    number = number_of(cell)
    if number is not None and factor is not None:
        return as_written(number) * as_written(factor)
    if number is not None and _EPOCH_S[0] <= number < _EPOCH_S[1]:
        return as_written(number)
    if number is not None and _EPOCH_MS[0] <= number < _EPOCH_MS[1]:
        return as_written(number) / 1000
    # A number with a unit is taken first, as 2026 with one is a time and no year.
    date = moment(cell)
    if not cell:
        raise ValueError("is missing")
    if number is None and factor is not None:
        raise ValueError("must be a number, as its heading has a unit; a column of dates has none: arrival, deadline")
    if number is not None or date is None:
        raise ValueError(
            "must be a date such as 2026-11-28T09:00:00Z or seconds of the epoch, or a number below a heading with "
            "its unit: arrival_s, deadline_min"
        )
    since = date - _EPOCH
    return since.days * 86400 + since.seconds + Fraction(since.microseconds, 10**6)


def _seconds(column: TableColumn, cell: str) -> float:
    number, factor = number_of(cell), column.factor
    if number is not None and factor is None:
        raise ValueError("has no unit: call the column runtime_s or within_min, or write 90s")
    if number is not None and factor is not None:
        number = float(as_written(number) * as_written(factor))
    # Refused here, and not warned of as for tasks: a stream would be wrong by a factor of sixty, and look right.
    if MINUTES_AND_SECONDS.fullmatch(cell):
        raise ValueError("may be minutes and seconds, or hours and minutes: write 00:12:30, or 12min30s")
    seconds = seconds_of(cell) if number is None else number
    if seconds is None:
        raise ValueError("must be a duration such as 90s, 12min, 1h30m or 00:12:30")
    if not 0 <= seconds <= MAX_SECONDS:
        raise ValueError("must not be negative" if seconds < 0 else f"must be at most {MAX_SECONDS:,} s")
    return seconds


def _name(cell: str) -> str | None:
    if cell and not is_name(cell):
        raise ValueError("must be a name of up to 200 characters")
    return cell or None
