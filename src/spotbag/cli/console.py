"""Output of commands beside JSON: warnings, tables, exit codes, and the progress of long work."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.table import Table as ConsoleTable
from rich.text import Text

from ..core.text_tables import Shown, Table, table_of
from ..core.wording import counted, printable, printable_line

if TYPE_CHECKING:
    from rich.containers import Lines
    from rich.progress import ProgressColumn, Task
    from rich.progress_bar import ProgressBar


def warn(messages: Iterable[str]) -> None:
    """Print warnings on standard error."""
    for message in messages:
        print(f"warning: {message}", file=sys.stderr)


def wrote(path: str, what: str = "") -> None:
    """Say on standard error that a file is written, and what it is."""
    print(f"wrote {path}{f': {what}' if what else ''}", file=sys.stderr)


# ------------------------------------------------------------------------- tables

_LONGEST_WORD = 24
"""Most characters to which a column is kept as wide as its longest word; longer words may be broken."""


def print_in_width(table: Table, width: int | None, otherwise: int, tight: bool) -> None:
    """Print a table on a terminal of a width, or in another width where there is no terminal."""
    laid_out = _console_table(table, tight)
    # Rich would colour numbers in names and leave others plain.
    console = Console(highlight=False, width=width or otherwise)
    wanted = _measured(laid_out)
    if width is not None or wanted.maximum > otherwise:
        # What does not fit in any way is left to the terminal to wrap, or to the file to hold: nothing is cut off.
        console.width = max(console.width, wanted.minimum)
        _share_width(laid_out, console.width)
    console.print(laid_out)


def least_width(table: Table) -> int:
    """Columns of a terminal without which a table cannot be shown."""
    return _measured(_console_table(table, tight=False)).minimum


def _measured(table: ConsoleTable) -> Measurement:
    """Return the least and the greatest width of a table, in characters."""
    # Wider than any table, so that what is measured is the table and not the terminal.
    console = Console(width=10_000)
    return Measurement.get(console, console.options, table)


def _share_width(table: ConsoleTable, width: int) -> None:
    """Give the columns what they need at least, and what is left to the first ones.

    Left to itself, rich takes from the widest columns first, also what they need, and then cuts off the last ones.
    """
    spare = width - _measured(table).minimum
    for column in table.columns:
        least = column.min_width or 1
        natural = max(cell_len(str(cell)) for cell in (column.header, *column.cells))
        column.width = least + min(max(natural - least, 0), spare)
        spare -= column.width - least


def _console_table(table: Table, tight: bool) -> ConsoleTable:
    """Lay out a table: words and numbers are not broken, but for long names after a plus.

    An empty row is a line between blocks.
    """
    laid_out = ConsoleTable(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=tight)
    for index, column in enumerate(table.columns):
        cells = [printable(cell) for cell in table.cells(index)]
        parts = _unbroken_parts(" ".join([column.heading, *cells])) + (cells if column.numeric else [])
        least = min(max(map(len, parts), default=1), _LONGEST_WORD)
        side: Literal["left", "right"] = "right" if column.numeric else "left"
        laid_out.add_column(Text(printable(column.heading)), justify=side, overflow="fold", min_width=least)
    for row in table.rows:
        if row:
            laid_out.add_row(*(_BreakableText(printable(cell)) for cell in row))
        else:
            laid_out.add_section()
    return laid_out


def _unbroken_parts(text: str) -> list[str]:
    """Return the parts of a text that stay whole: words, and those with pluses in pieces that end with one."""
    return re.findall(r"[^\s+]*\++|[^\s+]+", text)


class _BreakableText(Text):
    """A text that is broken at spaces, and where a word is too long for the line, after its pluses."""

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Return the least and the greatest width of the text."""
        widest = super().__rich_measure__(console, options).maximum
        return Measurement(max(map(cell_len, _unbroken_parts(self.plain)), default=0), widest)

    def wrap(self, console: Console, width: int, **how: Any) -> Lines:
        """Break the text into lines of a width."""
        broken = re.sub(r"\S+", lambda word: _broken(word[0], width), self.plain)
        return Text(broken, self.style).wrap(console, width, **how)


def _broken(word: str, width: int) -> str:
    """Return a word in lines of no more than a width, if its parts allow that."""
    lines = [""]
    for part in _unbroken_parts(word):
        if lines[-1] and cell_len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


WIDTH_ELSEWHERE = 140
"""Columns of a table that goes to a file or a pipe."""

_repeatable = ContextVar("_repeatable", default=False)


@contextmanager
def repeatable_tables() -> Iterator[None]:
    """Leave out of tables what is measured, so that they are the same the next time."""
    token = _repeatable.set(True)
    try:
        yield
    finally:
        _repeatable.reset(token)


def print_table(table: Table, tight: bool = False) -> None:
    """Print a table; wide enough when it goes to a file or a pipe.

    A tight table has less space between its columns.
    """
    if _repeatable.get():
        table = table.with_columns(index for index, column in enumerate(table.columns) if not column.measured)
    print_in_width(table, terminal_width(), WIDTH_ELSEWHERE, tight)


def print_rows(rows: Iterable[Any], *columns: Shown | None, tight: bool = False) -> None:
    """Print a table of records by its columns; None among the rows is a line between blocks."""
    print_table(table_of(rows, *columns), tight)


def print_facts(facts: Iterable[tuple[str, str]], width: int) -> None:
    """Print names and values, one below the other, the names of a width."""
    for name, text in facts:
        print(f"  {name:<{width}} {text}")


def terminal_width() -> int | None:
    """Columns of the terminal that the output goes to; None if it goes elsewhere."""
    return Console().width if sys.stdout.isatty() else None


def seconds(value: float) -> str:
    """Whole seconds with thousands set apart."""
    return f"{round(value):,}"


VERDICTS = {"survives": "yes", "does-not-survive": "no", "not-shown": "not shown"}
"""Verdicts on survival as the cells of tables have them."""

# ------------------------------------------------------------------------- exit codes and progress

BAD_INPUT = 2
INTERRUPTED = 130
NO_FEASIBLE_PLAN = 1
NOT_CORRECT = 1
"""Exit code if what was judged is not right."""
LATE = 3
"""Exit code if there is a plan with late tasks."""


def busy(message: str, limit_s: float | None = None) -> AbstractContextManager[object]:
    """Show on a terminal that something is being done; with a time limit, by a bar that is full when it is over."""
    return _line("spinner" if limit_s is None else "bar", "what", "time", limit_s=limit_s, what=message)


@contextmanager
def drawing(path: str) -> Iterator[None]:
    """Show on a terminal that a picture is being drawn; then say that it is written."""
    with busy(f"drawing {path}"):
        yield
    wrote(path)


def progress(message: str, limit_s: float | None = None) -> AbstractContextManager[Callable[[Any, int], None] | None]:
    """Show a bar on a terminal: what is done, best objective, bound, gap, time; gives the callback that moves it.

    With a time limit, the bar is full when it is over; else when all iterations that are planned are done.
    """

    def changes(point: Any, planned: int) -> dict[str, Any]:
        text = f"best {point.best:.6g}"
        if point.bound is not None and 0 < point.best < float("inf"):
            text += f"  bound {point.bound:.6g}  gap {max(100 * (1 - point.bound / point.best), 0):.3f} %"
        return {"total": planned or None, "completed": point.iteration, "found": text}

    return _watched(message, limit_s, changes)


def points_found(message: str, limit_s: float) -> AbstractContextManager[Callable[[Any, int], None] | None]:
    """Show on a terminal how many points of a front there are, and a bar that is full when a time limit is over.

    Gives the callback that receives the points.
    """

    def changes(point: Any, found: int) -> dict[str, Any]:
        return {"found": f"  {counted(found, 'point')}, last {point.makespan_s:,} s for $ {point.cost_usd:.6f}"}

    return _watched(message, limit_s, changes)


@contextmanager
def _watched(
    message: str, limit_s: float | None, changes: Callable[[Any, int], dict[str, Any]]
) -> Iterator[Callable[[Any, int], None] | None]:
    """Show findings beside a bar; gives the callback that takes each of them, None where there is no terminal."""
    with _line("what", "bar", "found", "time", limit_s=limit_s, what=message, found="") as change:
        yield None if change is None else lambda point, number: change(**changes(point, number))


@contextmanager
def counting(message: str, total: int | None, *, left: bool = False) -> Iterator[Callable[..., None]]:
    """Show on a terminal how many of a number of things are done; None if nobody knows how many there will be.

    Gives the callback that counts on: it takes what was done last, and how many things that was (one if not said); with
    ``total``, how many there are, once that is known. ``left`` shows how much time is left, by the last half minute.
    """
    columns = ["what", "bar", "count", "time", *(["left"] if left else []), "last"]
    with _line(*columns, total=total, what=message, last="") as change:
        yield lambda last, done=1, **known: None if change is None else change(advance=done, last=last, **known)


@contextmanager
def _line(
    *columns: str, total: int | None = None, limit_s: float | None = None, **texts: str
) -> Iterator[Callable[..., None] | None]:
    """Show a line on a terminal until the work is done; gives what changes it, None where there is no terminal.

    Its columns are ``spinner``, ``bar``, ``count``, ``time``, ``left``, and texts by their names. A bar is that of
    the time of a limit, if there is one. No text is markup, and each is made safe to print: it may hold the name of a
    file or of an instance.
    """
    # In a file, a bar would be a line for each of its movements.
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress as bars

    # A class of this function, since importing what it inherits takes as long as a short command.
    class TimeBar(bars.BarColumn):
        """A bar of the time that has passed, whatever is done in it."""

        def render(self, task: Task) -> ProgressBar:
            bar = super().render(task)
            if limit_s is not None:
                bar.update(completed=min(task.elapsed or 0, limit_s), total=limit_s)
            return bar

    kinds: dict[str, Callable[[], ProgressColumn]] = {
        "spinner": bars.SpinnerColumn,
        "bar": bars.BarColumn if limit_s is None else TimeBar,
        "count": bars.MofNCompleteColumn,
        "time": bars.TimeElapsedColumn,
        "left": bars.TimeRemainingColumn,
    }
    made = [
        kinds[name]() if name in kinds else bars.TextColumn(f"{{task.fields[{name}]}}", markup=False)
        for name in columns
    ]
    # Not redirected: what is printed meanwhile must not pass by the streams that make it safe.
    console = Console(stderr=True)
    with bars.Progress(*made, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as shown:
        line = shown.add_task("", total=total, **_safe(texts))
        yield lambda **changes: shown.update(line, **_safe(changes))


def _safe(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: printable_line(value) if isinstance(value, str) else value for name, value in fields.items()}


@contextmanager
def beside_the_answer() -> Iterator[None]:
    """Draw and write what the answer does not need: an interrupt ends that alone, and the answer is still given."""
    from ..core.processes import ended_at_once

    try:
        with ended_at_once():
            yield
    except KeyboardInterrupt:
        warn(["interrupted: not all files are written"])
