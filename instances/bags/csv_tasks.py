"""Bags of tasks from tables: a row for each task, or for several identical ones.

`table_formats` says what the columns of each kind of table hold, and `task_documents` makes tables of other files.
"""

from __future__ import annotations

import gc
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ...core.errors import InputError, Issue, SpotbagError, input_error
from ...core.quantities import MAX_SECONDS, STATED, TIME_UNITS_S, number_of
from ...core.records import field_issues
from ...core.text_files import read_text, source_name
from ...core.text_tables import BARE_DELIMITERS, TextTable, columns_text
from ...core.wording import counted
from ..entries import MARKETS, MAX_TASKS, Market, Task
from ..instance import Instance
from ..table_columns import (
    MEMORY_UNITS_MB,
    MINUTES_AND_SECONDS,
    MOST_ISSUES,
    THOUSANDS,
    CellValues,
    CsvFormat,
    TableColumn,
    TableColumns,
    TableRows,
    columns_of,
    columns_of_types,
    memory_mb_of,
    plain,
    rule_of_amount,
    seconds_of,
    unit_of,
    whole,
)
from ..table_formats import (
    COLUMNS,
    CSV,
    FORMATS,
    HEAD,
    MadeTable,
    Role,
    TableFormat,
    kind_of_file,
    normal,
    spelled,
    table_of_blanks,
    table_of_text,
)
from .imported import Asked, Imported, grouped, make_instance
from .vm_catalogue import LIMIT_PER_TYPE_AND_MARKET, VmChoice, chosen_rows, read_catalogue

_WORDS: Mapping[str, Mapping[str, str]] = {
    of: {word: value for value, words in spelled(values).items() for word in words}
    for of, values in COLUMNS["words"].items()
}
"""Words to what they mean, by the columns in which they may stand."""
_MARKETS: Mapping[str, tuple[Market, ...]] = {"spot": ("spot",), "on_demand": ("on-demand",), "any": MARKETS}
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9:]*,[0-9]+[^,.]*")
_OR_THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}(?![0-9])")
_EXITED = re.compile(r"-?[0-9]+(?::[0-9]+)?(?:\.0+)?")
_ENDED_WELL = "", "-", "0", "0:0", "0.0"
_CORES = re.compile(r"([0-9]+)m")
"""Thousandths of cores, as Kubernetes has them."""
_DATES: Mapping[Role, str] = {"ready": "ready_s", "deadline": "deadline_s"}


def instance_of_csv(
    path: str | os.PathLike[str], asked: Asked, form: CsvFormat | None = None, kind: str | None = None
) -> Imported:
    """Read a bag of tasks from a table, or from what tables are made of (`task_documents`).

    Parameters
    ----------
    path : path
        The file, or ``-`` for standard input: UTF-8, with or without byte-order mark, comma, semicolon, tab or bar
        between the cells, headings in the first line; or JSON, or a folder of benchmarks of Snakemake.
    asked : Asked
        Deadline and VM types; without types, those that the headings name.
    form : CsvFormat, optional
        What the headings do not say.
    kind : str, optional
        Name of its format (`table_formats.FORMATS`); recognised by the headings if absent.

    Returns
    -------
    Imported
        The instance, and what a user should know about it.

    Raises
    ------
    InputError
        With everything that is wrong: line, column, value and rule.
    SpotbagError
        If the VM types cannot be loaded.
    """
    collects = gc.isenabled()
    gc.disable()  # a million rows are made, none of which goes before the end
    try:
        known, table = _read_table(path, kind)
        return _instance_of(known, table, asked, form or CsvFormat())
    finally:
        if collects:
            gc.enable()


def _read_table(path: str | os.PathLike[str], kind: str | None = None) -> tuple[TableFormat, TextTable | MadeTable]:
    """Read a file of tasks as a table, and say of which format it is.

    Parameters
    ----------
    path : path
        A file, ``-`` for standard input, or a folder of benchmarks of Snakemake.
    kind : str, optional
        Name of the format that it must have; if absent, or ``csv`` or ``json``, it is recognised by its headings.

    Raises
    ------
    InputError
        If it cannot be read, or is not of the format.
    """
    source = source_name(path)
    form: TableFormat
    table: TextTable | MadeTable
    if Path(path).is_dir():
        form, table = FORMATS["snakemake"], _benchmarks(Path(path), source)
    else:
        text = read_text(path)
        found = kind_of_file(text[:HEAD])
        if "wfformat" in (kind, found) or (text.lstrip().startswith(("[", "{")) and found != "table"):
            from .task_documents import table_of_document  # here, since most files are tables

            form, table = table_of_document(text, source, kind)
        else:
            form, table = table_of_blanks(text, source) or table_of_text(text, source)
        if form.repeats and "file" not in table.first:
            name = Path(source).stem
            rows = [(line, [*cells, name]) for line, cells in table]
            table = MadeTable(source, [*table.first, "file"], rows, issues=table.issues)
    if kind not in (None, "csv", "json", form.name):
        wanted = FORMATS[str(kind)]
        marks = " or ".join(", ".join(sorted(mark)) for mark in wanted.marks)
        raise input_error(source, f"is {form.title}, and not {wanted.title} ({wanted.source}), which has {marks}")
    return form, table


def _benchmarks(path: Path, source: str) -> MadeTable:
    """Join the benchmarks of Snakemake in a folder, and in those in it; each file is named after its task."""
    from .task_documents import table_of_records

    records: list[dict[str, str]] = []
    issues: list[Issue] = []
    for file in sorted(one for one in path.rglob("*") if one.is_file()):
        try:
            form, table = _read_table(file)
        except InputError:
            continue
        if form.repeats:
            name = file.relative_to(path).with_suffix("").as_posix()
            records += [{**dict(zip(table.first, cells, strict=True)), "file": name} for _, cells in table]
            issues += [Issue(f"{name} {issue.where}", issue.rule) for issue in table.issues]
    if not records and not issues:
        raise input_error(source, "is a folder without benchmarks of Snakemake (s, h:m:s, max_rss, ...)")
    return table_of_records(records, source, issues)


def _instance_of(known: TableFormat, table: TextTable | MadeTable, asked: Asked, form: CsvFormat) -> Imported:
    """Make an instance of a table."""
    source = table.source
    catalogue = {row.name: row for row in read_catalogue(asked.vms.prices).vm_types}
    # Longer type names first: a heading with c6i.large.metal must not be taken for c6i.large.
    columns = columns_of(table, form, known, sorted(catalogue, key=len, reverse=True))
    asked = _with_types(asked, columns.read, source)
    read, more = columns_of_types(columns.read, [row.name for row in chosen_rows(asked.vms)], table, known)
    columns = replace(columns, read=read)
    rows: Iterable[tuple[int, list[str]]] = _jobs(table, known) if known.steps else table
    # Rows may have to be read twice; see below.
    if known.own and table.delimiter in BARE_DELIMITERS:
        rows = [*rows]
    reader = _Reader(table, columns, asked, form, known)
    tasks = reader.tasks(rows)
    if reader.thousands and reader.with_comma:  # not all commas can stand between thousands
        reader = _Reader(table, columns, asked, form, known, thousands=False)
        tasks = reader.tasks(rows)
    # All faults of rows are reported at once, so that one run shows every line to mend.
    if reader.issues or table.issues:
        raise InputError(source, grouped([*reader.issues, *reader.faults_of(tasks), *table.issues]))
    if not tasks:
        left = "; ".join(reader.left_out())
        raise input_error(source, f"has no task that can be planned: {left}" if left else _EMPTY)
    title = "CSV file" if known is CSV else known.title.removeprefix("a ")
    warnings = [*columns.warnings, *reader.notes(), *more]
    try:
        return make_instance(
            tasks,
            asked,
            source,
            f"{title} {os.path.basename(source)}",
            lambda index: (table.word, str(reader.lines[index])),
            warnings,
        )
    except InputError:
        if issues := reader.faults_of(tasks):
            raise InputError(source, grouped(issues)) from None
        raise


def _with_types(asked: Asked, columns: Sequence[TableColumn], source: str) -> Asked:
    """Take the types of the headings if none are asked for."""
    if asked.vms.types:
        return asked
    named = [column.vm_type for column in columns if column.vm_type is not None]
    if not named:
        raise SpotbagError(
            f"{source}: no VM types are chosen: --types c6i.large,m6i.xlarge, in Python types, names some ('spotbag "
            "instance types' lists them)"
        )
    return replace(asked, vms=replace(asked.vms, types=named))


_EMPTY = "has a line of headings, and no tasks below it"


def read_tasks(
    path: str | os.PathLike[str],
    deadline_s: int,
    types: Sequence[str] = (),
    *,
    limit: int = LIMIT_PER_TYPE_AND_MARKET,
    prices: str | os.PathLike[str] | None = None,
    region: str | None = None,
) -> Instance:
    """Read a bag of tasks from a CSV file or another table, with VM types and prices of a catalogue.

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
        If the VM types cannot be loaded.
    """
    vms = VmChoice(types=types, limit=limit, prices=prices, region=region)
    return instance_of_csv(path, Asked(deadline_s, vms)).instance


def _size(cell: str) -> float:
    """Order of cells of memory; what is no amount, or one below 0, is the largest, for a fault to be found."""
    size = memory_mb_of(cell, MEMORY_UNITS_MB["b"]) if cell else 0
    return math.inf if size is None or size < 0 else size


_SHOWN_STAGES = 8
_STEP = re.compile(r"([0-9]+(?:_[^.]+)?(?:\+[0-9]+)?)\.(.+)")
_LARGEST = "maxrss"


def _jobs(table: TextTable | MadeTable, known: TableFormat) -> Iterator[tuple[int, list[str]]]:
    """Rows of jobs, each with the largest memory of its steps; that of the batch step if a job has none of its own."""
    names = [normal(heading) for heading in table.first]
    place = names.index(known.steps) if known.steps in names else names.index(known.columns["id"][1])
    memory, sizes = names.index(_LARGEST) if _LARGEST in names else None, CellValues(_size)
    jobs: dict[str, list[tuple[int, list[str]]]] = {}
    alone: dict[str, list[tuple[int, str, list[str]]]] = {}
    largest: dict[str, str] = {}
    for line, cells in table:
        step = _STEP.fullmatch(cells[place]) if "." in cells[place] else None
        name = step[1] if step else cells[place]
        if memory is not None and sizes[cells[memory]] > sizes[largest.setdefault(name, cells[memory])]:
            largest[name] = cells[memory]
        if step is None:
            jobs.setdefault(name, []).append((line, cells))
        elif name not in jobs:
            alone.setdefault(name, []).append((line, step[2], cells))
    for name, steps in alone.items():
        if name not in jobs:
            line, kind, cells = next((one for one in steps if one[1] == "batch"), steps[0])
            if kind != "batch" and len(steps) > 1:
                rule = "has several steps and no row of its job: leave out --state and --format filters of steps"
                table.issues.append(Issue(f"line {line}", rule, table.first[place], cells[place]))
            jobs[name] = [(line, [name if index == place else cell for index, cell in enumerate(cells)])]
    for name, rows in jobs.items():
        for line, cells in rows:
            yield line, cells if memory is None else [*cells[:memory], largest[name], *cells[memory + 1 :]]


class _Reader(TableRows):
    """Makes tasks of rows, and keeps what is wrong with them."""

    def __init__(
        self,
        table: TextTable | MadeTable,
        columns: TableColumns,
        asked: Asked,
        form: CsvFormat,
        known: TableFormat,
        *,
        thousands: bool = True,
    ) -> None:
        self.lines: list[int] = []
        self.with_comma: Issue | None = None
        self.thousands = thousands and table.delimiter in BARE_DELIMITERS
        """True if commas stand between thousands, as far as they can."""
        # Where commas divide the cells, no number can have a decimal comma, and no tool writes any.
        self._commas = table.delimiter != "," and known.own
        self._or_thousands: Issue | None = None
        self._with_point: Issue | None = None
        self._part_of_core: Issue | None = None
        self._clocks: dict[int, Issue] = {}
        self._form, self._memory_mb = form, asked.memory_mb
        self._memory_unit = unit_of(form.memory_unit, MEMORY_UNITS_MB, "--memory-unit")
        self._time_unit = unit_of(form.runtime_unit, TIME_UNITS_S, "--runtime-unit")
        self._split = 0
        super().__init__(table, columns, known)
        self._headings = [normal(heading) for heading in table.first]
        self._ids = self._names_of_tasks()
        self._names: list[tuple[str, ...]] = []
        self._stages: dict[str, int] = {}
        self._stage = self._stage_of(table)
        self._waits = table.waits if isinstance(table, MadeTable) else None
        self._wanted: dict[int, str] = {}
        """Names of tasks that are asked for, by their lines, if some wait for others."""
        self._filtered = bool(self._only or self._stage or "state" in self._of or "exit" in self._of)
        self._architectures = (
            {row.name: row.architecture for row in chosen_rows(asked.vms)} if "architecture" in self._of else {}
        )

    # ------------------------------------------------------------------ columns

    def _names_of_tasks(self) -> list[Callable[[Sequence[str]], str]]:
        """Functions from rows to names of tasks, the best first."""
        made: list[Callable[[Sequence[str]], str]] = []
        headings = self._headings
        if self._known.joined and set(self._known.joined) <= set(headings):
            one, other = (headings.index(name) for name in self._known.joined)
            made.append(lambda cells: f"{cells[one]}.{cells[other]}" if cells[one] and cells[other] else "")
        return [*made, *(itemgetter(column.index) for column in self._of.get("id", []))]

    def _stage_of(self, table: TextTable | MadeTable) -> Callable[[Sequence[str]], Sequence[str]] | None:
        """Return the function that says of which stage a row is, by its names."""
        headings = self._headings
        if "stage" in self._of:
            places = [column.index for column in self._of["stage"]]
            return lambda cells: [cells[place] for place in places]
        if self._known.stage_in is not None and self._known.stage_in[0] in headings:
            index, pattern = headings.index(self._known.stage_in[0]), re.compile(self._known.stage_in[1])
            return lambda cells: [pattern.sub(r"\1", cells[index])]
        if self._form.stage is not None:
            raise SpotbagError(
                f"--stage {self._form.stage}: {table.source} has no column of stages, processes or rules"
            )
        return None

    def _reading(self, column: TableColumn) -> Callable[[str], Any]:
        """Return the function that reads the cells of a column; it raises ValueError with the rule."""
        return {
            "memory": lambda cell: self._amount_mb(column, cell),
            "runtime": lambda cell: self._seconds(column, cell),
            "ready": lambda cell: self._date(column, cell),
            "deadline": lambda cell: self._date(column, cell),
            "weight": lambda cell: plain(self._number(column, cell)),
            "count": lambda cell: whole(self._number(column, cell)),
            "cores": lambda cell: self._cores(column, cell),
            "architecture": _architecture,
            "market": lambda cell: _markets(cell, names_market=normal(column.heading) in ("market", "markets")),
            "state": lambda cell: self._not_done(column, cell),
            "exit": lambda cell: (
                None if cell.upper() in (*_ENDED_WELL, *self._known.nothing) else self._exited(column, cell)
            ),
        }.get(column.role, str)

    def _cores(self, column: TableColumn, cell: str) -> int | None:
        """Cores of a task; a part of a core counts as one, with a warning."""
        if not cell or cell == "-":
            return None
        thousandths = _CORES.fullmatch(cell)
        cores = int(thousandths[1]) / 1000 if thousandths else number_of(cell)
        if cores is None or not 0 <= cores <= MAX_TASKS or (cores > 1 and not cores.is_integer()):
            raise ValueError(f"must be a whole number of cores, up to {MAX_TASKS:,}")
        if 0 < cores < 1 and self._part_of_core is None:
            self._part_of_core = Issue(f"{self._word} {self._line}", "", column.heading, cell)
        return 1 if 0 < cores < 1 else int(cores) or None

    def _exited(self, column: TableColumn, cell: str) -> str:
        if self._known.own and not _EXITED.fullmatch(cell):
            raise ValueError(f"must be a number, 0 if all went well (--ignore-column {column.heading!r} leaves it out)")
        return f"with {column.heading} {cell}"

    def _not_done(self, column: TableColumn, cell: str) -> str | None:
        """Return the reason to leave a row out by its state; None if it is done."""
        word = cell.upper().split(" ")[0].rstrip("+")
        if word in self._known.done or not word:
            return None
        heading = column.heading
        if self._known.not_done is not None and word not in self._known.not_done:
            raise ValueError(
                f"is no state that is known: --only '{heading}={cell}' takes such rows, --ignore-column {heading!r} all"
            )
        return f"with {heading} {word}"

    def _number(self, column: TableColumn, cell: str) -> str:
        """Return a cell with a decimal point; a comma is one too, where something else divides the cells."""
        if not self._commas:
            return cell
        found = Issue(f"{self._word} {self._line}", "", column.heading, cell)
        if self.thousands and THOUSANDS.fullmatch(cell):
            self._or_thousands = self._or_thousands or found
            return cell.replace(",", "")
        if "." in cell and self._with_point is None:
            self._with_point = found
        if not _DECIMAL_COMMA.fullmatch(cell):
            return cell
        if not self.thousands and _OR_THOUSANDS.match(cell):
            self._or_thousands = self._or_thousands or found
        else:
            self.with_comma = self.with_comma or found
        return cell.replace(",", ".", 1)

    def _amount_mb(self, column: TableColumn, cell: str) -> float | None:
        if cell.upper() in self._known.nothing:
            return None
        text = self._number(column, cell)
        if self._known.steps and text[-1:] in ("n", "c"):  # Slurm: of each node, of each core
            text = text[:-1]
        factor = column.factor or self._memory_unit
        value = 0.0 if text == "0" and not self._known.own else memory_mb_of(text, factor)
        if value is None:
            no_unit = "has no unit: call the column memory_mb or memory_gb, write 2GB, or say --memory-unit"
            raise ValueError(rule_of_amount(text, MEMORY_UNITS_MB, factor, no_unit, "an amount such as 512MB or 2GB"))
        # Tools write 0 for what was not measured; a table of people says it by an empty cell.
        if value < 0 or (value == 0 and self._known.own and self._memory_mb is None):
            raise ValueError("must be greater than 0")
        return value or None

    def _seconds(self, column: TableColumn, cell: str) -> float | None:
        """Return the seconds in a cell, by its own unit or else that of the column; None if it stands for nothing.

        The first clock of two parts in a column is noted for a warning: others may read it as hours and minutes.
        """
        if cell.upper() in self._known.nothing:
            return None
        factor = column.factor or self._time_unit
        text = self._number(column, cell)
        value = seconds_of(text, factor)
        if value is None:
            name = column.role
            no_unit = f"has no unit: call the column {name}_s or {name}_min, write 90s, or say --runtime-unit"
            since = " since the bag was begun" if column.role in _DATES else ""
            example = f"a duration{since} such as 90s, 12min, 1h30m or 00:12:30"
            raise ValueError(rule_of_amount(text, TIME_UNITS_S, factor, no_unit, example))
        if value < 0:
            raise ValueError("must be at least 0" if column.role in _DATES else "must be greater than 0")
        if value > MAX_SECONDS:
            raise ValueError(f"must be at most {MAX_SECONDS:,} s")
        if MINUTES_AND_SECONDS.fullmatch(cell):
            self._clocks.setdefault(column.index, Issue(f"{self._word} {self._line}", "", column.heading, cell))
        return value

    def _date(self, column: TableColumn, cell: str) -> int | None:
        """Whole seconds of a release, rounded up, or of a deadline, rounded down: neither may be missed by a part."""
        seconds = 0.0 if number_of(cell) == 0 else self._seconds(column, cell)
        if seconds is None:
            return None
        return math.ceil(seconds - STATED) if column.role == "ready" else math.floor(seconds + STATED)

    # ------------------------------------------------------------------ rows

    def tasks(self, rows: Iterable[tuple[int, list[str]]]) -> list[dict[str, Any]]:
        """Tasks as in the document of an instance."""
        made: list[dict[str, Any]] = []
        for line, cells in rows:
            if len(self.issues) >= MOST_ISSUES:
                break
            self._line = line
            self._item = self._ids[0](cells) if self._known.repeats else ""
            if self._filtered and not self._is_wanted(cells):
                continue
            if self._waits:
                self._wanted[line] = self._ids[0](cells)
            if self._refused:
                self._refuse(cells)
            task = self._task(cells)
            if task is not None:
                made.append(task)
                self.lines.append(line)
        self._refuse_order()
        self._name(made)
        if self._known.repeats:
            made = self._longest(made)
        if len({task["id"] for task in made}) < len(made):
            more = [name for name in self._known.joined if name not in self._headings]
            hint = f" (with a column {more[0]} beside it, both are the id)" if more else ""
            self.refuse_duplicates(zip(self.lines, (task["id"] for task in made), strict=True), hint)
        self.issues += self._commas_of_two_meanings()
        return made

    def _name(self, made: list[dict[str, Any]]) -> None:
        """Name tasks after the first column that says of each another name."""
        # An id of a tool may be that of a job with many tasks: a name that each has for itself is better.
        if len(self._ids) > 1:
            columns = [*zip(*self._names, strict=True)]
            best = next((names for names in columns if all(names) and len(set(names)) == len(names)), None)
            for task, name in zip(made, best or [names[0] for names in self._names], strict=True):
                task["id"] = name

    def _longest(self, made: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Take the longest of the repetitions of a task."""
        found: dict[str, tuple[dict[str, Any], int]] = {}
        for task, line in zip(made, self.lines, strict=True):
            before = found.setdefault(task["id"], (task, line))
            if task["base_runtime_s"] > before[0]["base_runtime_s"]:
                found[task["id"]] = task, line
        if len(found) < len(made):
            self._left["that are repetitions, of which the longest is taken,"] = len(made) - len(found), self.lines[0]
        self.lines = [line for _, line in found.values()]
        return [task for task, _ in found.values()]

    def _is_wanted(self, cells: Sequence[str]) -> bool:
        """Tell rows that are tasks from those that were not asked for, or came to nothing."""
        if not self._is_chosen(cells):
            return self._leave_out("that --only does not choose")
        stages = self._stage(cells) if self._stage is not None else ()
        # Whether a row of another stage came to nothing is not looked at: it would be counted twice.
        if is_other := self._form.stage not in (None, *stages):
            self._leave_out(f"of other stages than {self._form.stage}")
        else:
            done = (self._value(column, cells) for role in ("state", "exit") for column in self._of.get(role, ()))
            why = next((reason for reason in done if reason is not None), None)
            if why is not None:
                return self._leave_out(why)
        if stages and stages[0]:
            self._stages[stages[0]] = self._stages.get(stages[0], 0) + 1
        return not is_other

    def _names_of_stages(self) -> str:
        names = [f"{name} ({count:,})" for name, count in self._stages.items()]
        return ", ".join(names[:_SHOWN_STAGES]) + (" ..." if len(names) > _SHOWN_STAGES else "")

    def _refuse_order(self) -> None:
        """Refuse tasks that wait for others; those that are not asked for count as done."""
        inside = [pair for pair in self._waits or () if self._wanted.keys() >= {*pair}]
        if inside:
            one, other = (self._wanted[line] for line in inside[0])
            rule = (
                f"has {len(inside):,} dependencies between its {len(self._wanted):,} tasks ({one!r} waits for "
                f"{other!r}, for example); a bag is of independent tasks, and the order of others would be lost; "
                f"--stage NAME takes those of a stage: {self._names_of_stages()}"
            )
            self.issues.append(Issue("", rule))

    def _commas_of_two_meanings(self) -> list[Issue]:
        """Refuse commas if points are in numbers as well, or if each of them may stand between thousands."""
        if self.thousands:
            return []
        comma, point, thousands = self.with_comma, self._with_point, self._or_thousands
        found = comma or thousands
        if found is not None and point is not None:
            rule = f"has a comma where {point.where}, {point.value!r}, has a point: write one or the other everywhere"
            return [replace(found, rule=rule)]
        if thousands is not None and comma is None:
            rule = "may have a decimal comma, or one between thousands: write a decimal point, and nothing in thousands"
            return [replace(thousands, rule=rule)]
        return []

    def left_out(self) -> list[str]:
        """Numbers of the rows that were left out, with the way to take others."""
        said = super().left_out()
        state = next((column.heading for column in self._of.get("state", ())), None)
        if state is not None and any(what.startswith(f"with {state} ") for what in self._left):
            said.append(f"--only '{state}=...' says which are taken")
        if not self.lines and self._form.stage is not None:
            said.append(f"stages are {self._names_of_stages()}")
        cut = sum(len(self._wanted.keys() & {*pair}) == 1 for pair in self._waits or ())
        return said + ([f"{cut:,} dependencies on tasks that are not planned"] if cut else [])

    def notes(self) -> list[str]:
        """Notes for the user on rows that were left out, and on what could have been understood otherwise."""
        said = self.left_out()
        if self._split:
            said.append(f"{counted(self._split, 'task')} of several cores became a task for each core")
        if len(self._stages) > 1 and self._form.stage is None and self._waits is None:
            said.append(
                f"tasks of {len(self._stages)} stages, and the file does not say which wait for others: "
                f"{self._names_of_stages()} (--stage NAME takes one)"
            )
        comma = self._or_thousands if self.thousands else self.with_comma
        if comma is not None:
            kind = "stand between thousands" if self.thousands else "are decimal commas"
            said.append(f"commas in numbers {kind}, as in {comma.where}: {comma.field} {comma.value}")
        if (part := self._part_of_core) is not None:
            said.append(f"a part of a core is planned as a whole one, as in {part.where}: {part.field} {part.value}")
        for clock in self._clocks.values():
            minutes, _, seconds = str(clock.value).partition(":")
            said.append(
                f"times of two parts are minutes and seconds, as in {clock.where}: {clock.field} {clock.value} is "
                f"{minutes} min {seconds} s"
            )
        return [f"{self._source}: {text}" for text in said]

    def faults_of(self, tasks: Sequence[dict[str, Any]]) -> list[Issue]:
        """Return the faults of tasks by themselves, by their lines and headings."""
        issues = []
        headings = {key: self._of[role][0].heading for key, role in _KEYS.items() if role in self._of}
        headings |= {f"runtime_s.{column.vm_type}": column.heading for column in self._by_type}
        for task, line in zip(tasks, self.lines, strict=True):
            try:
                Task.model_validate(task)
            except ValidationError as error:
                for issue in field_issues(error, Task, task):
                    field_ = headings.get(issue.field, issue.field)
                    issues.append(Issue(f"{self._word} {line}", issue.rule, field_, issue.value, task["id"]))
            if len(issues) >= MOST_ISSUES:
                break
        return issues

    # ------------------------------------------------------------------ a row

    def _task(self, cells: Sequence[str]) -> dict[str, Any] | None:
        before = len(self.issues)
        of = self._of
        task: dict[str, Any] = {"id": self._ids[0](cells) if self._ids else f"t{len(self.lines) + 1}"}
        seconds = 0.0
        # Tools have several columns, of which some are empty or 0: the first that says something counts.
        for column in of.get("runtime", ()):
            seconds = self._value(column, cells)
            if seconds:
                break
        # A cell at fault has no value either, and must not pass for a task without a run time.
        if not self._by_type and not seconds and len(self.issues) == before:
            self._leave_out("without a run time" if seconds is None else "with a run time of 0")
            return None
        cores = self._cores_of(cells) if "cores" in of else 1
        if cores is None:
            return None
        task["memory_mb"] = self._memory(cells, cores)
        if self._by_type:
            architecture = self._value(of["architecture"][0], cells) if "architecture" in of else None
            task["runtime_s"] = self._run_times(cells, architecture)
        else:
            task["base_runtime_s"] = seconds
        if "command" in of:
            command = cells[of["command"][0].index]
            if command:
                task["command"] = command.replace(self._known.end_of_line, "\n")
        for key, role in _OPTIONAL.items():
            value = self._value(of[role][0], cells) if role in of else None
            if value is not None:
                task[key] = value
        if cores > 1 and self._form.multi_core == "keep":
            task["cores"] = cores
        elif cores > 1:
            task["count"] = task.get("count", 1) * cores
        if len(self.issues) > before:
            return None
        if len(self._ids) > 1:
            self._names.append(tuple(name(cells) for name in self._ids))
        return task

    def _cores_of(self, cells: Sequence[str]) -> int | None:
        """Cores of a task; None if nothing is to be made of it."""
        cores: int = next((value for column in self._of["cores"] if (value := self._value(column, cells))), 1)
        if cores > 1 and self._form.multi_core == "skip":
            self._leave_out("of several cores")
            return None
        self._split += cores > 1 and self._form.multi_core == "split"
        return cores

    def _memory(self, cells: Sequence[str], cores: int) -> float | None:
        columns = self._of.get("memory", ())
        before = len(self.issues)
        for column in columns:
            value: float | None = self._value(column, cells)
            if value is not None:
                # Slurm ends a request with "c" where it is one for each core.
                by_core = self._known.steps and cells[column.index].endswith("c")
                if self._form.multi_core == "keep":
                    return value * cores if by_core else value
                return value if by_core else value / cores
        if self._memory_mb is None and len(self.issues) == before:
            rule = "is missing (--memory 1GB is for tasks that do not say)"
            self._fault(columns[0].heading if columns else "memory", Issue.NOTHING, rule)
        return self._memory_mb

    def _run_times(self, cells: Sequence[str], architecture: str | None) -> dict[str, float]:
        """Run times by type; a task cannot run on types whose cells are empty."""
        times: dict[str, float] = {}
        for column in self._by_type:
            assert column.vm_type is not None
            seconds = self._value(column, cells)
            if seconds == 0:
                self._fault(column.heading, cells[column.index], "must be greater than 0")
            other = architecture is not None and self._architectures[column.vm_type] != architecture
            if seconds is not None and not other:
                times[column.vm_type] = seconds
        if not times:
            names = columns_text([column.heading for column in self._by_type])
            rule = f"has a run time in none of the {names}" + (f" that are {architecture}" if architecture else "")
            self.issues.append(Issue(f"{self._word} {self._line}", rule))
        return times


_KEYS: Mapping[str, Role] = {
    "id": "id",
    "command": "command",
    "count": "count",
    "architecture": "architecture",
    "memory_mb": "memory",
    "base_runtime_s": "runtime",
    "ready_s": "ready",
    "deadline_s": "deadline",
    "weight": "weight",
    "markets": "market",
}
"""Role of each key of a task."""
_OPTIONAL = {key: role for key, role in _KEYS.items() if role in ("count", "architecture", *_DATES, "weight", "market")}


def _architecture(cell: str) -> str | None:
    if cell and cell.lower() not in _WORDS["architecture"]:
        raise ValueError("must be x86_64 or arm64")
    return _WORDS["architecture"].get(cell.lower())


def _markets(cell: str, names_market: bool) -> list[Market] | None:
    """Markets of a task; None for all of them. A number is one of attempts on VMs that may be preempted."""
    words = re.sub(r"on[ _]demand", "on-demand", cell.lower()).replace(",", " ").split()
    known = {**_WORDS["market"], **({} if names_market else _WORDS["preemptible"])}
    found = [known.get("yes" if word.isdecimal() and int(word) else word) for word in words]
    if None in found:
        raise ValueError("must be spot, on-demand or any" + ("" if names_market else "; or yes or no"))
    named = {market for word in found if word for market in _MARKETS[word]}
    return [market for market in MARKETS if market in named] if 0 < len(named) < len(MARKETS) else None
