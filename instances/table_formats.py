"""Files of tasks and jobs that people have: what their columns are called, and how each format is recognised.

All of it is data: `columns.toml`. A table is of one of these formats whatever divides its cells. `task_documents` makes
tables of files that are none.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from ..core.errors import Issue, input_error
from ..core.text_files import packaged_toml
from ..core.text_tables import BARE_DELIMITERS, TextTable, delimiter_of, first_line_of

Role: TypeAlias = str
"""Role of a column: what it holds, by a key of `columns.toml`."""

COMMENTS = "note", "notes", "comment", "comments", "remark", "remarks", "description"
"""Columns that are for people: nothing is made of them, and nothing could be."""

COLUMNS: Mapping[str, Any] = packaged_toml(__package__, "columns.toml")
"""Description of the columns of all files."""


def spelled(headings: Mapping[str, str]) -> dict[Role, tuple[str, ...]]:
    """Roles, or units, to the headings that have them."""
    return {role: tuple(words.split()) for role, words in headings.items()}


OF_TASKS, OF_JOBS = spelled(COLUMNS["tasks"]), spelled(COLUMNS["jobs"])
"""Roles to the normal headings of their columns (`normal`), in tables that people write."""


def normal(heading: str) -> str:
    """Return a heading in small letters, with ``_`` between its words."""
    return re.sub(r"[\s\-_.:/]+", "_", heading.strip().lower()).strip("_")


@dataclass(slots=True)
class MadeTable:
    """Table made of another document; as of `TextTable`.

    Attributes
    ----------
    source : str
        Its name in messages.
    first : list of str
        Headings.
    rows : list
        Numbers of rows and their cells.
    waits : sequence, optional
        Numbers of rows whose tasks wait for those of others; None if the document does not say.
    word : str
        What is numbered.
    """

    source: str
    first: list[str]
    rows: list[tuple[int, list[str]]]
    waits: Sequence[tuple[int, int]] | None = None
    word: str = "task"
    delimiter: str = ","
    issues: list[Issue] = field(default_factory=list)

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        return iter(self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFormat:
    """Format of a file of tasks, or of jobs that arrive.

    Attributes
    ----------
    name, title : str
        Of its import; what it is, in messages.
    source : str
        What makes such a file.
    example : str
        File of an example.
    marks : tuple of set
        Headings by which it is recognised: all of any set.
    columns : dict
        Role to the headings that hold it. In a table of other tools, the first one counts that says something in a
        row; of ids, the first that is different in all rows. Headings are normal ones (`normal`).
    units : dict
        Heading to the unit of its plain numbers.
    done : set
        States of tasks that are taken, in capitals.
    not_done : set, optional
        States of tasks that are not; all others if absent.
    nothing : set
        Cells that stand for nothing.
    own : bool
        Whether people write it, so that each column is meant, and a memory of 0 too, if tasks have no default. In
        files of tools, columns that are not understood are left out, and a memory of 0 was not measured.
    steps : str
        Heading of ids whose part after a point names a step of a job: rows of steps become part of that of the job.
    joined : sequence of str
        Two headings whose cells together, with a point between them, are the id.
    repeats : bool
        Whether several rows of an id are repetitions of one task, of which the longest counts.
    other_forms : str
        Pattern of the first line of what its tool writes in other forms, which are not read.
    stage_in : sequence of str, optional
        Heading and pattern of what names the stage of a task, in tables without a column of it.
    blanks : bool
        Whether blanks may divide the cells.
    end_of_line : str
        What stands for the end of a line in commands.
    typed : bool
        Whether a column may hold run times on a VM type.
    """

    name: str
    title: str
    source: str = ""
    example: str
    marks: tuple[frozenset[str], ...] = ()
    columns: Mapping[Role, tuple[str, ...]]
    units: Mapping[str, str] = field(default_factory=dict)
    done: frozenset[str]
    not_done: frozenset[str] | None = None
    nothing: frozenset[str] = frozenset({""})
    own: bool = False
    steps: str = ""
    joined: Sequence[str] = ()
    repeats: bool = False
    other_forms: str = ""
    stage_in: Sequence[str] | None = None
    blanks: bool = False
    end_of_line: str = "\n"
    typed: bool = True

    @property
    def roles(self) -> str:
        """Roles of columns, for messages."""
        if not self.typed:
            return f"{', '.join(self.columns)}, with a unit such as arrival_s"
        return f"{', '.join(OF_TASKS)} or runtime[TYPE], with a unit such as memory_gb or runtime_min"

    def unread(self, headings: Iterable[str]) -> list[str]:
        """Headings of which nothing is made, and nothing is refused."""
        known = {*self.joined, *(heading for headings, _, _ in REFUSED for heading in headings)}
        return [one for one in headings if self.role_of(normal(one)) is None and normal(one) not in known]

    def role_of(self, heading: str) -> Role | None:
        """Role of a normal heading."""
        return next((role for role, names in self.columns.items() if heading in names), None)


def _format(name: str, said: Mapping[str, Any]) -> TableFormat:
    """Return the format that a part of the description of columns says; one of people if it names no columns."""
    # What names no columns is a table of people, who have the headings of tasks.
    own = "columns" not in said
    words = {
        key: frozenset(text.split()) for key, text in (COLUMNS["people"] if own else said).items() if key in _STATES
    }
    units = spelled(said.get("units", {}))
    return TableFormat(
        name=name,
        columns=OF_TASKS if own else spelled(said["columns"]),
        marks=tuple(frozenset(mark.split()) for mark in said.get("marks", ())),
        units={heading: unit for unit, headings in units.items() for heading in headings},
        done=words.get("done", frozenset()),
        not_done=words.get("not_done"),
        nothing=words.get("nothing", frozenset()) | {""},
        own=own,
        **{key: value for key, value in said.items() if key not in ("columns", "marks", "units", *_STATES)},
    )


_STATES = "done", "not_done", "nothing"
FORMATS: Mapping[str, TableFormat] = MappingProxyType(
    {name: _format(name, said) for name, said in COLUMNS["formats"].items()}
)
"""Formats by the names of their imports."""
CSV = FORMATS["csv"]
JOBS = replace(CSV, name="jobs", columns=OF_JOBS, typed=False)
_NOTHING_SAID = r"|-|\[\]|\{\}|none|null|\(null\)|n/a"
REFUSED: tuple[tuple[frozenset[str], re.Pattern[str], str], ...] = tuple(
    (
        frozenset(said["headings"].split()),
        re.compile(said["harmless"].replace("{nothing}", _NOTHING_SAID), re.IGNORECASE),
        said["why"],
    )
    for said in COLUMNS["refused"]
)
"""Headings of what a bag cannot say, cells that ask for nothing, and why others are refused."""


def format_of_headings(headings: Collection[str]) -> TableFormat:
    """Format of a table with some headings; that of tables of one's own if no other is recognised."""
    given = {normal(heading) for heading in headings}
    return next((form for form in FORMATS.values() if any(mark <= given for mark in form.marks)), CSV)


def format_of_table(text: str) -> TableFormat:
    """Format of the text of a table, or of its beginning."""
    line = first_line_of(text)
    return format_of_headings([cell.strip().strip('"') for cell in line.split(delimiter_of(line))])


HEAD = 65_536
"""Characters of a file by which it is recognised."""
LogFormat: TypeAlias = Literal["swf", "gwf"]
FileKind: TypeAlias = Literal["table", "document", "instance", "wfformat", LogFormat]
"""Kinds of files with tasks: a table, JSON of which a table is made, an instance, or what has a reader of its own."""
_BATCH = re.compile(r'\{\s*(?:"meta"\s*:\s*\{.*?)?"(?:jobs|jobSummaryList)"\s*:\s*\[', re.DOTALL)
_LSF = re.compile(r'\{(?:"(?:[^"\\]|\\.)*"|[^"{}\[\]])*?"RECORDS"\s*:\s*\[')
_FORMAT = re.compile(r'\{\s*"format"\s*:(?!(?-s:.*)\}[ \t]*\r?\n\s*\{)|.*"format"\s*:\s*"spotbag\.', re.DOTALL)
_WORKFLOW = re.compile(r'"(?:schemaVersion|workflow)"\s*:')
_RECORD_IN_A_LINE = re.compile(r"\{.*\}[ \t]*\r?\n\s*\{")
_FLAT = re.compile(r'\{\s*(?=")(?:"(?:[^"\\\n]|\\.)*"|[^"{}\n])*\}\s*\Z')
COLUMNS_OF_LOGS: Mapping[LogFormat, range] = {"swf": range(18, 19), "gwf": range(20, 30)}
"""Numbers of columns that a line may have; of GWF, the last ones may be missing."""
_NUMBERS_OF_LOGS = 11
"""Columns of a log, from the first on, that are numbers in both formats."""


def kind_of_file(head: str) -> FileKind:
    """Kind of a file, by its beginning."""
    from ..core.quantities import number_of  # which loads numpy, and the help of imports need not

    start = head.lstrip("\ufeff \t\r\n")
    if start.startswith("["):
        return "document"
    if start.startswith("{"):
        if _FORMAT.match(start):
            return "instance"
        # Before the marks of workflows, which may stand anywhere inside a job.
        if has_jobs_inside(start):
            return "document"
        if _WORKFLOW.search(start):
            return "wfformat"
        return "document" if _RECORD_IN_A_LINE.match(start) or _FLAT.match(start) else "instance"
    line = next(
        (line for line in io.StringIO(start, newline=None) if line.strip() and line.lstrip()[0] not in ";#"), ""
    )
    # Logs have no headings: a first line of numbers, as many as a format has columns, tells them from tables.
    cells = line.strip("\n").split("\t") if "\t" in line and "," not in line else line.split()
    if any(number_of(cell.strip()) is None for cell in cells[:_NUMBERS_OF_LOGS]):
        return "table"
    return next((kind for kind, widths in COLUMNS_OF_LOGS.items() if len(cells) in widths), "table")


def has_jobs_inside(text: str) -> bool:
    """True if a text begins as an object of AWS Batch or LSF does, which holds a list of jobs."""
    return bool(_BATCH.match(text) or _LSF.match(text))


def table_of_blanks(text: str, source: str) -> tuple[TableFormat, MadeTable] | None:
    """Make a table of one whose cells blanks divide; None if a text is none, or if blanks within cells may hide."""
    first = first_line_of(text).split()
    form = format_of_headings(first)
    if not form.blanks or "\t" in first_line_of(text) or len(form.unread(first)) > 1:
        return None
    lines = ((number, line.split()) for number, line in enumerate(io.StringIO(text, newline=None), 1))
    rows = [(number, cells) for number, cells in lines if cells]
    odd = next((number for number, cells in rows if len(cells) != len(first)), None)
    # One row with a blank in a cell would shift its numbers under other headings.
    if odd is not None:
        rule = f"line {odd} has more or fewer cells than there are headings, or blanks within them: {form.source}"
        raise input_error(source, rule)
    return form, MadeTable(source, first, rows[1:], word="line")


def table_of_text(text: str, source: str) -> tuple[TableFormat, TextTable]:
    """Read the headings of a table whose cells commas and the like divide, and say of which format it is."""
    form = format_of_table(text)
    bare = form is not CSV and delimiter_of(first_line_of(text)) in BARE_DELIMITERS
    table = TextTable(text, source, bare=bare, open_end=lambda last: bare and form.role_of(normal(last)) == "command")
    table.check_headings()
    read = format_of_headings(table.first)  # a heading in quotation marks may go on in the next line
    return read, TextTable(text, source) if bare and read is CSV else table
