"""Tables on the console."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

if TYPE_CHECKING:
    from rich.table import Table


if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.containers import Lines
    from rich.measure import Measurement

_LONGEST_WORD = 24


def print_table(table: Table) -> None:
    """Print a table; wide enough when it goes to a file or a pipe."""
    from rich.console import Console

    width = terminal_width()
    console = Console(highlight=False, width=width or 140)
    if width is not None:
        # What does not fit in any way is left to the terminal to wrap: nothing is cut off.
        console.width = max(width, least_width(table))
        _share_width(table, console.width)
    console.print(table)


def _share_width(table: Table, width: int) -> None:
    """Give the columns what they need at least, and what is left to the first ones.

    Left to itself, rich takes from the widest columns first, also what they need, and then cuts off the last ones.
    """
    spare = width - least_width(table)
    for column in table.columns:
        least = column.min_width or 1
        natural = max(map(_cell_length, (column.header, *column.cells)))
        column.width = least + min(max(natural - least, 0), spare)
        spare -= column.width - least


def _cell_length(cell: Any) -> int:
    """Columns of a terminal that a heading or a cell takes."""
    from rich.cells import cell_len

    return cell_len(str(cell))


def least_width(table: Table) -> int:
    """Columns without which a table cannot be shown."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console(width=10_000)
    return Measurement.get(console, console.options, table).minimum


def terminal_width() -> int | None:
    """Columns of the terminal that the output goes to; None if it goes elsewhere."""
    from rich.console import Console

    return Console().width if sys.stdout.isatty() else None


def narrow_terminal(columns: int) -> bool:
    """Whether the output goes to a terminal that has fewer columns than wanted."""
    width = terminal_width()
    return width is not None and width < columns


def make_table(columns: Sequence[tuple[str, bool]], rows: Iterable[Sequence[str]], tight: bool = False) -> Table:
    """Make a table; a column is its heading and whether it holds numbers.

    Words and numbers are not broken, but for long names after a plus. An empty row is a line between blocks; a tight
    table has less space between its columns.
    """
    from rich import box
    from rich.table import Table

    lines = list(rows)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=tight)
    for index, (heading, numeric) in enumerate(columns):
        parts = unbroken_parts(" ".join([heading, *(row[index] for row in lines if row)]))
        parts += [row[index] for row in lines if row and numeric]
        least = min(max(map(len, parts), default=1), _LONGEST_WORD)
        table.add_column(heading, justify="right" if numeric else "left", overflow="fold", min_width=least)
    for row in lines:
        if row:
            table.add_row(*(BreakableText(cell) for cell in row))
        else:
            table.add_section()
    return table


def seconds(value: int) -> str:
    """Seconds with thousands set apart."""
    return f"{value:,}"


def unbroken_parts(text: str) -> list[str]:
    """Return the parts of a text that stay whole: words, and those with pluses in pieces that end with one."""
    return re.findall(r"[^\s+]*\++|[^\s+]+", text)


class BreakableText(Text):
    """A text that is broken at spaces, and where a word is too long for the line, after its pluses."""

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Say how wide it must and may be."""
        from rich.cells import cell_len
        from rich.measure import Measurement

        widest = super().__rich_measure__(console, options).maximum
        return Measurement(max(map(cell_len, unbroken_parts(self.plain)), default=0), widest)

    def wrap(self, console: Console, width: int, **how: Any) -> Lines:
        """Break it into lines of a width."""
        broken = re.sub(r"\S+", lambda word: _broken(word[0], width), self.plain)
        return Text(broken, self.style).wrap(console, width, **how)


def _broken(word: str, width: int) -> str:
    """Return a word in lines of no more than a width, if its parts allow that."""
    from rich.cells import cell_len

    lines = [""]
    for part in unbroken_parts(word):
        if lines[-1] and cell_len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)
