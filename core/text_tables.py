"""Tables of words and numbers: shown on a console or in Markdown, and read from texts.

Texts are as spreadsheets and scripts write them: cells divided by comma, semicolon, tab or bar, some in quotes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import InputError, Issue, input_error
from .wording import counted, printable, shortened

DELIMITERS = ",", ";", "\t", "|"
_SAID = re.compile(r'(?:\ufeff)?"?sep=([,;|\t])"?[ ,;\t]*(?:\r\n?|\n)', re.IGNORECASE)
"""A first line by which spreadsheets say what divides the cells."""
_IN_QUOTES = re.compile(r'"[^"]*(?:"|$)')
_OPENED = re.compile(r' *"')
_UNTIL_CLOSED = re.compile(r'[^"]*(?:""[^"]*)*')
_BLANKS = (
    "\t \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""Characters that are taken off around cells: no control characters but tabs."""
_MOST_COLUMNS = 16_384
"""Most columns of a table: as many as a sheet of a spreadsheet has."""
_MOST_ISSUES = 1_000
BARE_DELIMITERS = "\t", "|"
"""Delimiters of tools that quote no cells."""


def first_line_of(text: str) -> str:
    """Return the first line of a table that is not empty, but for one that says what divides the cells."""
    said = _SAID.match(text)
    lines = io.StringIO(text, newline=None)
    if said:
        lines.readline()
    return next((line for line in lines if line.strip(_BLANKS + '"\n')), "")


def delimiter_of(line: str) -> str:
    """Return the delimiter that a line has most of, outside quotation marks."""
    return max(DELIMITERS, key=_IN_QUOTES.sub("", line).count)


class TextTable:
    """The rows of a table, read as they are asked for.

    Lines end with LF, CR LF or CR, a quoted cell may go on in the next line, and empty rows do not count.

    Parameters
    ----------
    text : str
        The table.
    source : str
        Its name in messages.
    bare : bool
        Whether quotation marks are letters as all others.
    open_end : callable, optional
        True for a last heading below which what divides cells is a letter as all others, too.

    Attributes
    ----------
    delimiter : str
        What divides the cells: what the first line says (``sep=;``), or has most of, outside quotation marks.
    quoted : bool
        Whether there are quotation marks in it.
    first : list of str
        Cells of the first row.
    first_line : int
        Its number.
    word : str
        What is numbered: lines.
    issues : list of Issue
        Rows of another width than the first: they are left out of what is iterated over.

    Raises
    ------
    InputError
        If there is no row, or a quotation mark is not closed or has something behind it.
    """

    word = "line"

    def __init__(
        self, text: str, source: str, *, bare: bool = False, open_end: Callable[[str], bool] | None = None
    ) -> None:
        self.source = source
        self.issues: list[Issue] = []
        said = _SAID.match(text)
        lines = io.StringIO(text, newline="")
        lines.seek(said.end() if said else 0)
        self.delimiter = said[1] if said else delimiter_of(first_line_of(text))
        self.quoted = '"' in text and not bare
        self._most = -1
        self._rows = self._all_rows(lines, 2 if said else 1)
        found = next(self._rows, None)
        if found is None:
            raise input_error(source, "has no rows")
        self.first_line, self.first = found
        if len(self.first) > _MOST_COLUMNS:
            raise input_error(source, f"has {len(self.first):,} columns; a table has at most {_MOST_COLUMNS:,}")
        if open_end is not None and open_end(self.first[-1]):
            self._most = len(self.first) - 1

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """Give the rows below the first: the number of the line in which each begins, and its cells."""
        width = len(self.first)
        for line, cells in self._rows:
            if len(cells) == width:
                yield line, cells
            elif len(self.issues) < _MOST_ISSUES:
                rule = f"has {counted(len(cells), 'cell')}, the first line {width}"
                if more := [cell for cell in cells[width:] if cell]:
                    rule += f": {shortened(more[0], 50)!r} is below no heading"
                self.issues.append(Issue(f"line {line}", rule))

    def place(self, heading: str) -> int | None:
        """Return the column with a heading; None if there is none.

        Raises
        ------
        InputError
            If there are several: nobody knows which of them counts.
        """
        found = self.first.count(heading)
        if found > 1:
            raise self._error(self.first_line, f"has {found} columns {heading!r}: which of them counts?")
        return self.first.index(heading) if found else None

    def check_headings(self) -> None:
        """Refuse a first row of headings with characters that cannot be seen: it would not be what it looks like.

        Raises
        ------
        InputError
            If it has some.
        """
        odd = next((cell for cell in self.first if printable(cell) != cell), None)
        if odd is not None:
            raise self._error(self.first_line, f"has {shortened(odd, 50)!r}, with characters that cannot be seen")

    def _error(self, line: int, rule: str) -> InputError:
        return InputError(self.source, [Issue(f"line {line}", rule)])

    def _all_rows(self, lines: Iterator[str], first: int) -> Iterator[tuple[int, list[str]]]:
        cells: list[str] = []
        part: list[str] = []  # of a cell that goes on in the next line
        begun = opened = 0
        for number, ended in enumerate(lines, first):
            line = ended.rstrip("\r\n")
            if not opened:
                cells, begun = [], number
            if not self.quoted or (not opened and '"' not in line):
                cells = line.split(self.delimiter, self._most)
            else:
                opened = self._take_cells(line, number, opened, cells, part)
                if opened:
                    part.append(ended[len(line) :])
            if not opened:
                row = [cell.strip(_BLANKS) for cell in cells]
                if any(row):
                    yield begun, row
        if opened:
            raise self._error(opened, "has a quotation mark that is opened and not closed")

    def _take_cells(self, line: str, number: int, opened: int, cells: list[str], part: list[str]) -> int:
        """Append the cells of a line; return where a quotation mark was opened that is open at its end, or 0."""
        place = 0
        while True:
            start = place
            quote = None if opened else _OPENED.match(line, place)
            if quote is not None:
                opened, place = number, quote.end()
            if opened:
                inside = _UNTIL_CLOSED.match(line, place)
                assert inside is not None  # it matches the empty text
                part.append(inside[0])
                place = inside.end() + 1
                if place > len(line):
                    return opened
                cell = "".join(part).replace('""', '"')
                part.clear()
                rest = line.find(self.delimiter, place)
                between = line[place : rest if rest >= 0 else len(line)]
                # Tools that divide cells by tabs or bars quote none: a command may begin with a quotation mark.
                if between.strip(" \t"):
                    if self.delimiter not in BARE_DELIMITERS or opened != number:
                        raise self._error(number, f"has a closing quotation mark with {between[:20]!r} behind it")
                    rest = line.find(self.delimiter, start)
                    cell = line[start : rest if rest >= 0 else len(line)]
                cells.append(cell)
                opened = 0
            else:
                rest = line.find(self.delimiter, place)
                cells.append(line[place : rest if rest >= 0 else len(line)])
            if rest < 0:
                return 0
            place = rest + 1


def columns_text(headings: Sequence[str]) -> str:
    """Name columns, of many the first."""
    shown = ", ".join(repr(heading) for heading in headings[:8]) + (" ..." if len(headings) > 8 else "")
    return f"column{'s' if len(headings) > 1 else ''} {shown}"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    heading : str
        What stands above it, with its unit; may have several lines.
    numeric : bool
        Whether it holds numbers, which stand right below each other.
    measured : bool
        Whether it holds times of this machine, which are others the next time.
    """

    heading: str
    numeric: bool = False
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table, as it is whatever shows it.

    Attributes
    ----------
    columns : sequence of Column
        Its columns.
    rows : sequence of sequence of str
        A cell for each column; a row without cells divides blocks, where what shows the table can show that.

    Raises
    ------
    ValueError
        If a row has more or fewer cells than there are columns.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]

    def __post_init__(self) -> None:
        for row in self.rows:
            if row and len(row) != len(self.columns):
                raise ValueError(f"a row of {len(row)} cells in a table of {len(self.columns)} columns")

    @property
    def filled_rows(self) -> list[Sequence[str]]:
        """Rows of the table without the dividers of blocks."""
        return [row for row in self.rows if row]

    def cells(self, index: int) -> list[str]:
        """Return the cells of a column, given by its index."""
        return [row[index] for row in self.filled_rows]

    def with_columns(self, indices: Iterable[int]) -> Table:
        """Return the table with some of its columns only, given by their indices."""
        retained = list(indices)
        rows = [[row[index] for index in retained] if row else [] for row in self.rows]
        return Table([self.columns[index] for index in retained], rows)


@dataclass(frozen=True, slots=True)
class Shown:
    """A column of a table, and what of a record it shows.

    Attributes
    ----------
    column : Column
        The column.
    of : str or callable
        The attribute of a record, or a function of it; None is shown as a dash.
    form : str
        How the value is formatted.
    times : float
        What the value is multiplied by.
    """

    column: Column
    of: str | Callable[[Any], Any]
    form: str = ""
    times: float = 1

    def cell(self, record: Any) -> str:
        """Return the cell of a record."""
        value = getattr(record, self.of) if isinstance(self.of, str) else self.of(record)
        if value is None:
            return "-"
        return format(value if self.times == 1 else self.times * value, self.form)


def words(heading: str, of: str | Callable[[Any], Any] = "") -> Shown:
    """Return a column of words: of the attribute that the heading names, if not said otherwise."""
    return Shown(Column(heading), of or heading)


def number(
    heading: str, of: str | Callable[[Any], Any] = "", form: str = "", times: float = 1, *, measured: bool = False
) -> Shown:
    """Return a column of numbers; times of this machine are ``measured``."""
    return Shown(Column(heading, True, measured), of or heading, form, times)


def table_of(records: Iterable[Any], *shown: Shown | None) -> Table:
    """Return a table with a row for each record, of the existing columns; None as a record divides blocks."""
    there = [entry for entry in shown if entry is not None]
    rows = [[] if record is None else [entry.cell(record) for entry in there] for record in records]
    return Table([entry.column for entry in there], rows)
