"""Bags of tasks from logs of batch systems: the Standard Workload Format (SWF 2.2) and the Grid Workloads Format (GWF).

Both have a line for each job, and in the first columns the same. A log is read line by line, and jobs that are the same
are counted, so that memory goes with the number of different jobs.
"""

from __future__ import annotations

import io
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import IO, Any, TypeAlias

from ...core.errors import InputError, Issue, SpotbagError, input_error
from ...core.limits import checkpoint
from ...core.quantities import KB_PER_MB, MAX_SECONDS, NO_NUMBER, as_written, number_of
from ...core.text_files import STANDARD_INPUT, ReadFile, readable, source_name
from ...core.wording import counted
from ..arrivals import Arrival
from ..entries import MAX_TASKS
from ..table_columns import CellValues, MultiCore
from ..table_formats import COLUMNS_OF_LOGS, LogFormat
from .imported import Asked, Imported, grouped, make_instance

_COMMENTS = (";", "#")
_RUN, _ALLOCATED, _USED_KB, _REQUESTED, _TIME, _ASKED_KB, _STATUS, _USER = 3, 4, 6, 7, 8, 9, 10, 11
_PROGRAM, _STRUCTURE, _BAG = 13, 18, 19
_PRECEDING = 16
_BLANKS = re.compile(" +")
_MOST_ISSUES = 1_000
_LINES_PER_CHECK = 10_000


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Choice of the jobs of a log.

    Attributes
    ----------
    user, bag : str, optional
        Of this user; of this bag of tasks (GWF only).
    from_s, to_s : float, optional
        Submitted from this time on, and before that, in seconds of the log.
    statuses : tuple of int, optional
        With one of these; by default 1 (completed) and -1 (not recorded); all if empty.
    requested_times : bool
        Take the requested time as run time, instead of the time that the job took.
    multi_core : {"keep", "split", "skip"}
        What is made of jobs of several cores: a task of so many, one for each core, or nothing.
    most_jobs : int, optional
        Only the first ones of those.
    """

    user: str | None = None
    bag: str | None = None
    from_s: float | None = None
    to_s: float | None = None
    statuses: tuple[int, ...] = (1, -1)
    requested_times: bool = False
    multi_core: MultiCore = "keep"
    most_jobs: int | None = None


def instance_of_log(
    path: str | os.PathLike[str], kind: LogFormat, asked: Asked, wanted: JobFilter | None = None
) -> Imported:
    """Read a bag of tasks from a log of jobs.

    The memory of a task is what its job used for each core, or what it asked for, or `Asked.memory_mb`. Jobs of the
    same run time and memory are one entry with a count, named after the first of them.

    Parameters
    ----------
    path : path
        The log, or ``-`` for standard input.
    kind : {"swf", "gwf"}
        Its format.
    asked : Asked
        Deadline and VM types.
    wanted : JobFilter, optional
        Which jobs.

    Raises
    ------
    InputError
        With everything that is wrong: line, column, value and rule; if jobs have several cores, or depend on others.
    SpotbagError
        If the VM types cannot be loaded.
    """
    wanted = wanted or JobFilter()
    if wanted.bag is not None and kind == "swf":
        raise SpotbagError("--bag: SWF has no bags of tasks; GWF has (--user and a window of time choose jobs of SWF)")
    source = source_name(path)
    reader = _Log(kind, wanted, asked.memory_mb, source)
    with _lines(path, source) as lines:
        reader.read(lines)
    tasks = reader.tasks()
    numbers = [str(line) for line, _, _ in reader.groups.values()]
    made_from = f"{kind.upper()} log {os.path.basename(source)}"
    return make_instance(tasks, asked, source, made_from, lambda index: ("line", numbers[index]), reader.warnings())


def arrivals_of_log(
    lines: Iterable[str], kind: LogFormat, source: str, wanted: JobFilter
) -> tuple[list[Arrival], list[str]]:
    """Read the jobs of a log as they arrive, one of several cores as so many tasks; return them with warnings.

    Parameters
    ----------
    lines, source : iterable of str and str
        The log, and its name in messages.
    kind : {"swf", "gwf"}
        Its format.
    wanted : JobFilter
        Which jobs.

    Raises
    ------
    InputError
        With everything that is wrong: line, column, value and rule.
    """
    # Streams and platforms know no memory of jobs: any amount lets those pass that say none.
    reader = _Arrivals(kind, replace(wanted, multi_core="split"), 1.0, source)
    reader.read(lines)
    reader.tasks()  # which refuses what is wrong, and a log without jobs
    return reader.arrivals, reader.warnings()


@contextmanager
def _lines(path: str | os.PathLike[str], source: str) -> Iterator[IO[str]]:
    """Open a log of any length; logs are ASCII, but for comments in the letters of their places."""
    with readable(source):
        if isinstance(path, ReadFile):
            yield io.StringIO(path.text, newline=None)
        elif os.fspath(path) == STANDARD_INPUT:
            if sys.stdin is None:
                raise ValueError("standard input is closed")
            if isinstance(sys.stdin, io.TextIOWrapper):  # whatever the terminal's language makes of other letters
                sys.stdin.reconfigure(errors="replace")
            yield sys.stdin
        else:
            with open(path, encoding="utf-8", errors="replace") as file:
                yield file


def _numbers(*, whole: bool = False, most: float = math.inf) -> CellValues:
    """Values of a column of numbers: whole ones, or up to a bound, which are not negative but for -1, unknown."""

    def number(text: str) -> float:
        value = number_of(text)
        if value is None:
            raise ValueError(NO_NUMBER)
        if whole and not value.is_integer():
            raise ValueError("must be a whole number")
        if most < math.inf and not (value == -1 or 0 <= value <= most):
            raise ValueError(f"must be from 0 to {most:,.0f}, or -1 if it is not known")
        return value

    return CellValues(number)


_BELOW_0 = "must be at least 0, or -1 if it is not known"
_MOST_KB = 1e12
_INDEPENDENT = "UNITARY", "BOT", "-1", "?"
_Job: TypeAlias = tuple[float, float, int, float, int, bool, float | str]
"""Submission of a job, its run time, cores, memory (KB) and status, dependence on others, and user."""


def _cells_of_grid(line: str) -> list[str]:
    """Cells of a line of GWF: between tabs, of which each may be empty, or between blanks."""
    if "\t" in line:
        return [cell.strip(" ") for cell in line.strip(" \t\n").split("\t")]
    return _BLANKS.split(line.strip(" \n"))


class _Log:
    """Jobs of a log that are taken, counted by run time, memory and cores; and counts of the others, for warnings."""

    def __init__(self, kind: LogFormat, wanted: JobFilter, memory_mb: float | None, source: str) -> None:
        self.kind = kind
        self.wanted = wanted
        self.source = source
        self.groups: dict[tuple[float, float, int], tuple[int, str, int]] = {}
        """Run time (s), memory (KB) and cores to line and id of the first job, and number of tasks."""
        self._memory_kb = None if memory_mb is None else memory_mb * KB_PER_MB
        self._issues: list[Issue] = []
        self._jobs = self._tasks = 0
        self._other: dict[str, int] = {}
        self._several = self._split = self._without_memory = self._without_cores = 0
        """Jobs of several cores, those of them that become as many tasks, and jobs without memory or cores."""
        self._first_without_memory = 0
        """Line of the first job without memory."""
        self._width = 0
        """Columns of the line before; 0 before the first line."""
        seconds, kb = _numbers(most=MAX_SECONDS), _numbers(most=_MOST_KB)
        cores, whole = _numbers(whole=True, most=MAX_TASKS), _numbers(whole=True)
        self._columns = [(_TIME if wanted.requested_times else _RUN, seconds), (_ALLOCATED, cores), (_REQUESTED, cores)]
        self._columns += [(_USED_KB, kb), (_ASKED_KB, kb), (_STATUS, whole)]
        self._columns += [(_PRECEDING, whole), (_USER, whole)] if kind == "swf" else []
        """Columns of numbers, in the order of `_job`. Few are different in a log, so that each is converted once."""
        self._user: float | str | None = wanted.user if kind == "gwf" else None
        if kind == "swf" and wanted.user is not None:
            self._user = number_of(wanted.user)
            if self._user is None:
                raise SpotbagError(f"--user {wanted.user}: users of SWF are numbers")

    def read(self, lines: Iterable[str]) -> None:
        """Read all lines."""
        wanted = self.wanted
        statuses, user, bag, swf = frozenset(wanted.statuses), self._user, wanted.bag, self.kind == "swf"
        for number, line in enumerate(lines, 1):
            # Only a file's first line can have a byte-order mark; long logs must stay open to a request to stop.
            if number == 1:
                line = line.lstrip("\ufeff")
            elif number % _LINES_PER_CHECK == 0:
                checkpoint()
            cells = line.split() if swf else _cells_of_grid(line)
            if not cells or not cells[0] or cells[0][0] in _COMMENTS:
                continue
            job = (
                self._job(cells, number) if len(cells) == self._width or self._has_width(cells, number, line) else None
            )
            # What the user asked to leave out goes silently; what the log lacks is counted, for the warnings.
            if job is None or (bag is not None and cells[_BAG] != bag):
                continue
            submitted, run, cores, memory_kb, status, depends, user_of_job = job
            if user is not None and user_of_job != user:
                continue
            if (wanted.from_s is not None and submitted < wanted.from_s) or (
                wanted.to_s is not None and submitted >= wanted.to_s
            ):
                continue
            if statuses and status not in statuses:
                self._left_out(f"with status {status}")
                continue
            if run <= 0:
                self._left_out("without a run time" if run else "with a run time of 0")
                continue
            if cores > 1:
                self._several += 1
                if wanted.multi_core == "skip":
                    continue
                self._split += wanted.multi_core == "split"
            # Tasks of a bag are independent by definition: a workflow would give a plan that cannot be carried out.
            if depends:
                self._fault(number, "", cells[0], "depends on another job; only jobs that are independent can be a bag")
                continue
            if memory_kb <= 0:
                if self._memory_kb is None:
                    self._without_memory += 1
                    self._first_without_memory = self._first_without_memory or number
                    continue
                memory_kb = self._memory_kb
            self._take(number, cells, (run, memory_kb, max(cores, 1) if wanted.multi_core == "keep" else 1), cores)
            if wanted.most_jobs is not None and self._jobs >= wanted.most_jobs:
                break

    def _has_width(self, cells: list[str], number: int, line: str) -> bool:
        """True if a line has the columns of the format and, where blanks divide them, as many as the line before."""
        widths = COLUMNS_OF_LOGS[self.kind]
        if len(cells) not in widths:
            columns = f"{widths[-1]}" if len(widths) == 1 else f"{widths[0]} to {widths[-1]}"
            rule = f"has {len(cells)} columns; a line of {self.kind.upper()} has {columns}"
        elif "\t" in line or not self._width:
            self._width = len(cells)
            return True
        else:
            rule = f"has {len(cells)} columns, the line before {self._width}: which of them is missing?"
        self._fault(number, "", Issue.NOTHING, rule)
        return False

    def _job(self, cells: list[str], line: int) -> _Job | None:
        """Return the numbers in the cells of a job; None, with an issue, if a cell that must have one has none."""
        try:
            run, allocated, cores, used_kb, asked_kb, status, *more = [
                numbers[cells[column]] for column, numbers in self._columns
            ]
        except ValueError:
            self._find_fault(line, cells)
            return None
        submitted = number_of(cells[1])
        if submitted is None or (submitted < 0 and submitted != -1):
            self._fault(line, "column 2", cells[1], NO_NUMBER if submitted is None else _BELOW_0)
            return None
        depends = more[0] not in (-1, 0) if more else cells[_STRUCTURE].upper() not in _INDEPENDENT
        # What a job has used is nearer to what it needs than what was asked for.
        memory_kb = used_kb if used_kb > 0 else asked_kb
        user = more[1] if more else cells[_USER]
        return submitted, run, int(cores if cores > 0 else allocated), memory_kb, int(status), depends, user

    def _take(self, line: int, cells: list[str], key: tuple[float, float, int], cores: int) -> None:
        # Jobs that are split into tasks of one core count as many.
        name, tasks = cells[0], 1 if key[2] > 1 else max(cores, 1)
        if not (name.isascii() and name.isdigit()) and self.kind == "swf":
            self._fault(line, "column 1", name, "must be the number of a job")
        found = self.groups.get(key)
        if found is not None:
            self.groups[key] = found[0], found[1], found[2] + tasks
        else:
            self.groups[key] = line, name, tasks
        self._jobs += 1
        self._tasks += tasks
        if cores < 1:
            self._without_cores += 1
        if self._tasks > MAX_TASKS:
            rule = f"has more than {MAX_TASKS:,} tasks; take fewer: --user, --from, --to or --jobs"
            raise input_error(self.source, rule)

    def _left_out(self, what: str) -> None:
        self._other[what] = self._other.get(what, 0) + 1

    def _fault(self, line: int, column: str, value: Any, rule: str) -> None:
        if len(self._issues) < _MOST_ISSUES:
            self._issues.append(Issue(f"line {line}", rule, column, value))

    def _find_fault(self, line: int, cells: list[str]) -> None:
        for column, numbers in sorted(self._columns, key=itemgetter(0)):
            try:
                numbers[cells[column]]
            except ValueError as error:
                self._fault(line, f"column {column + 1}", cells[column], str(error))
                return

    def tasks(self) -> list[dict[str, Any]]:
        """Tasks as in the document of an instance.

        Raises
        ------
        InputError
            With everything that is wrong.
        """
        issues = grouped(self._issues)
        # One message with the number and the first line: logs have millions of jobs.
        if self._without_memory:
            verb = "does" if self._without_memory == 1 else "do"
            rule = (
                f"{counted(self._without_memory, 'job')} {verb} not say their memory (the first in line "
                f"{self._first_without_memory}): --memory 1GB is for those"
            )
            issues.append(Issue("", rule))
        if issues:
            raise InputError(self.source, issues)
        if not self.groups:
            others = "; ".join(f"{count:,} {what}" for what, count in self._other.items())
            raise input_error(self.source, "has no job that is wanted" + (f" ({others})" if others else ""))
        made = []
        for (run, memory_kb, cores), (_, name, count) in self.groups.items():
            # Logs have the memory of a processor.
            memory_mb = memory_kb * cores / KB_PER_MB
            task: dict[str, Any] = {"id": f"j{name}", "memory_mb": memory_mb, "base_runtime_s": run}
            if cores > 1:
                task["cores"] = cores
            if count > 1:
                task["count"] = count
            made.append(task)
        return made

    def warnings(self) -> list[str]:
        """Warnings about jobs that were left out, and about assumptions on the rest."""
        said = [f"{self.source}: {count:,} jobs {what} left out" for what, count in sorted(self._other.items())]
        if self._several and self.wanted.multi_core == "skip":
            said.append(f"{self.source}: {self._several:,} jobs of several cores left out")
        if self._without_cores:
            said.append(
                f"{self.source}: {self._without_cores:,} jobs do not say their cores, and are taken to have one"
            )
        if self._split:
            said.append(f"{self.source}: {self._split:,} jobs of several cores became a task for each core")
        return said


class _Arrivals(_Log):
    """Keeps the jobs that are taken one by one, too; the program of a job is its application."""

    def __init__(self, kind: LogFormat, wanted: JobFilter, memory_mb: float | None, source: str) -> None:
        super().__init__(kind, wanted, memory_mb, source)
        self.arrivals: list[Arrival] = []
        self._first: dict[str, int] = {}

    def _take(self, line: int, cells: list[str], key: tuple[float, float, int], cores: int) -> None:
        if float(cells[1]) == -1:
            self._left_out("without a time of submission")
            return
        super()._take(line, cells, key, cores)
        name, program = f"j{cells[0]}", cells[_PROGRAM]
        if self._first.setdefault(name, line) != line:
            self._fault(line, "column 1", cells[0], f"is a duplicate of line {self._first[name]}")
        application = "app" if program == "-1" else f"app{program}"
        self.arrivals.append(
            Arrival(line, name, as_written(float(cells[1])), key[0], max(cores, 1), application=application)
        )
