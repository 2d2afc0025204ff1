"""What files of foreign formats say, read another way than spotbag reads them.

Each oracle is written from the definition of a format and from ``docs/formats.md``, not from the reader. It takes the
bytes of a file and returns a `Verdict`: all readings that are right, or none if the file must be refused, and the
doubts for which a file with a reading may be refused as well. So a file must be refused, or must be read, or may be
refused but must be read as the oracle says if it is read.

Cells are divided by a state machine, numbers are matched by a pattern of ASCII digits and kept as decimals.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

DEFAULT_MEMORY_MB = 100.0
"""What ``--memory`` says in all bags."""

ARCHITECTURE_OF = {"c6i.large": "x86_64", "c7g.large": "arm64"}
"""The VM types of all bags."""

LARGEST_MB = 4096
"""Memory of each of them."""

MOST_TASKS = 10_000_000
NAME = re.compile(r"[^\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]{1,200}")
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)


class RefusalDueError(Exception):
    """A file has to be refused, and this is why."""


class UndecidedError(Exception):
    """The definitions do not say what a file means; this is of which of them that is so."""


@dataclass
class Verdict:
    """What is right to do with a file.

    Attributes
    ----------
    readings : list
        What the file may be taken to say, one or several; it must be refused if there is none.
    doubts : set of str
        Why a file that has readings may be refused nevertheless.
    why : str
        Why it must be refused.
    undecided : str
        Why nothing can be said.
    """

    readings: list[Any] = field(default_factory=list)
    doubts: set[str] = field(default_factory=set)
    why: str = ""
    undecided: str = ""

    @property
    def must_be_read(self) -> bool:
        """Whether a refusal is wrong."""
        return bool(self.readings) and not self.doubts


class Task(NamedTuple):
    """A task of a bag, or several that are the same; the type ``*`` stands for one run time on all."""

    id: str
    memory_mb: float
    runtime_s: dict[str, float]
    count: int
    command: str | None
    architecture: str | None


class Row(NamedTuple):
    """A VM type of a catalogue; `spot` has the price of each zone."""

    vcpus: int
    memory_mb: float
    architecture: str | None
    on_demand: float | None
    spot: dict[str, float]


def verdict_of(read: Callable[[set[str]], list[Any]]) -> Verdict:
    """Return the verdict of an oracle that notes its doubts in a set."""
    doubts: set[str] = set()
    try:
        return Verdict(read(doubts), doubts)
    except RefusalDueError as due:
        return Verdict(why=str(due))
    except UndecidedError as open_question:
        return Verdict(undecided=str(open_question))


def same(one: Any, other: Any, near: float = 0.0) -> bool:
    """Return whether two readings are equal; numbers may differ by rounding, and by what is called near."""
    if isinstance(one, float | int) and isinstance(other, float | int) and not isinstance(one, bool):
        return math.isclose(one, other, rel_tol=1e-12, abs_tol=near)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key], near) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(same(*pair, near) for pair in zip(one, other, strict=True))
    return bool(one == other)


def decoded(data: bytes, doubts: set[str], log: bool = False) -> str:
    """Decode a file; in a log, whose remarks may be in any letters, what is no UTF-8 stays as half a surrogate."""
    text = data.decode("utf-8", "surrogateescape")
    if re.search("[\udc80-\udcff]", text):
        if not log:
            raise RefusalDueError("not UTF-8")
        doubts.add("a log that is not UTF-8")
    if any(not letter.isprintable() and letter not in "\t\r\n\ufeff" for letter in text):
        doubts.add("characters that cannot be seen")
    if text.startswith("\ufeff" if log else "\ufeff\ufeff"):
        doubts.add("a byte-order mark before a log, or two")
    return text.lstrip("\ufeff")


def lines_of(text: str, doubts: set[str]) -> list[str]:
    """Divide a text that has no quoted cells into lines."""
    if re.search(r"\r(?!\n)", text):
        doubts.add("lines end with CR alone")
    return re.split(r"\r\n|\n|\r", text)


def cells_of(text: str, divider: str, doubts: set[str]) -> list[list[str]]:
    """Divide a text into rows of cells as RFC 4180 does, letter by letter; empty lines are no rows."""
    rows: list[list[str]] = [[]]
    cell: list[str] = []
    state, place, begun = "start", 0, 0
    while place < len(text):
        letter = text[place]
        begun = place if state == "start" and not cell else begun
        place += 1
        if state == "quoted":
            if letter != '"':
                cell.append(letter)
            elif text[place : place + 1] == '"':
                cell.append('"')
                place += 1
            else:
                state = "closed"
        elif letter == divider or letter in "\r\n":
            rows[-1].append("".join(cell))
            cell, state = [], "start"
            if letter != divider:
                place += letter == "\r" and text[place : place + 1] == "\n"
                rows.append([])
        elif state == "closed" and letter in " \t":
            doubts.add("blanks after a closing quotation mark")
        elif state == "closed" and divider in "\t|" and not re.search(r"[\r\n]", text[begun:place]):
            doubts.add("a cell that begins with a quotation mark, and goes on behind it")
            end = re.compile(rf"[\r\n{re.escape(divider)}]").search(text, begun)
            place = end.start() if end else len(text)
            cell, state = [text[begun:place]], "bare"
        elif state == "closed":
            raise RefusalDueError("letters after a closing quotation mark")
        elif letter == '"' and state == "start":
            state = "quoted"
        elif letter == '"' and not "".join(cell).strip():
            raise UndecidedError("blanks before an opening quotation mark")
        else:
            if letter == '"':
                doubts.add("a quotation mark within a cell without any")
            cell.append(letter)
            state = "bare"
    if state == "quoted":
        raise RefusalDueError("a quotation mark is opened and never closed")
    rows[-1].append("".join(cell))
    return [row for row in rows if row != [""]]


def tables_of(
    data: bytes, doubts: set[str], known: Callable[[str], bool]
) -> Iterator[tuple[str, list[list[str]], set[str]]]:
    """Yield the tables that a text may be, by what divides it, with at least one heading that is known."""
    text = decoded(data, doubts)
    if "\x00" in text:
        doubts.add("NUL")
    dividers = ",;\t|"
    if said := re.match(r'"?sep=([,;\t|])"?[ ,;\t]*(?:\r\n?|\n)', text, re.IGNORECASE):
        doubts.add("a first line that says what divides the cells")
        dividers, text = said[1], text[said.end() :]
    if re.match(r'[ \t"]*[\r\n]', text):
        doubts.add("empty lines before the headings")
    whys, found = [], False
    for divider in dividers:
        own = set(doubts)
        if divider == "|":
            own.add("bars between cells")
        try:
            rows = cells_of(text, divider, own)
        except RefusalDueError as due:
            whys.append(str(due))
            continue
        if rows and len(rows[0]) > 16_384:
            own.add("more columns than a table may have")
        while rows and not any(cell.strip() for cell in rows[0]):
            own.add("empty lines before the headings")
            del rows[0]
        if rows and any(known(heading) for heading in rows[0]) and (len(rows[0]) > 1 or divider in (",", dividers)):
            found = True
            yield divider, rows, own
    if not found:
        raise RefusalDueError("; ".join(whys) or "no headings that are known")


def number_of(text: str, doubts: set[str]) -> Decimal:
    """Read a number of ASCII digits."""
    if not PLAIN_NUMBER.fullmatch(text):
        bare = text.strip()
        if not NUMBER.fullmatch(bare):
            raise RefusalDueError(f"{text[:50]!r} is no number")
        doubts.add("a number with blanks around it" if bare != text else "a number with a sign or odd zeros")
        text = bare
    if len(text) > 400:
        doubts.add("a number of hundreds of digits")
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise UndecidedError("an exponent that no decimal has") from None
    if not math.isfinite(float(value)):
        raise RefusalDueError(f"{text[:50]!r} is too large")
    return value


def within(value: float, least: float, most: float, what: str) -> float:
    if not least <= value <= most:
        raise RefusalDueError(f"{what} {value} is out of bounds")
    return float(value)


def whole_of(value: Decimal, least: int, most: int, what: str) -> int:
    nearest = value if value == value.to_integral_value() else Decimal(float(value))
    if nearest != nearest.to_integral_value():
        raise RefusalDueError(f"{what} {value} is no whole number")
    return int(within(int(nearest), least, most, what))


def checked_name(text: Any, what: str) -> str:
    if not isinstance(text, str) or not NAME.fullmatch(text):
        raise RefusalDueError(f"{what} {text!r:.50} is no name")
    return text


def in_bounds(tasks: list[Task]) -> list[Task]:
    """Return tasks if a bag may have them."""
    if not tasks:
        raise RefusalDueError("no tasks")
    if sum(task.count for task in tasks) > MOST_TASKS:
        raise RefusalDueError("too many tasks")
    names: set[str] = set()
    counted = {task.id: task.count for task in tasks if task.count > 1}
    for task in tasks:
        head, _, number = task.id.rpartition("#")
        copy = task.count == 1 and head in counted and number.isdigit() and 1 <= int(number) <= counted[head]
        if task.id in names or copy:
            raise RefusalDueError(f"two tasks called {task.id!r}")
        names.add(task.id)
        within(task.memory_mb, 1e-6, 1e9, "memory")
        for seconds in task.runtime_s.values():
            within(seconds, 1e-6, 1e9, "run time")
    return tasks


def note_blanks(row: Sequence[str], doubts: set[str]) -> None:
    """Note blanks around cells; of a name with a blank that is none in ASCII nobody says whether it is another name."""
    if any(cell.strip(" \t") != cell.strip() for cell in row):
        raise UndecidedError("a cell with blanks of other kinds around it")
    if any(cell != cell.strip() for cell in row):
        doubts.add("a cell with blanks around it")


def by_role(
    rows: list[list[str]], role_of: Callable[[str], str | None], needed: Sequence[str], doubts: set[str]
) -> list[dict[str, str]]:
    """Name the cells of each row by what they hold."""
    roles = [role_of(heading) for heading in rows[0]]
    used = [role for role in roles if role]
    if any(used.count(role) > 1 for role in (*needed, "Arch", "AcceleratorName", "zone", "product")):
        if any(not re.fullmatch(r"[\w -]+", heading, re.ASCII) for heading in rows[0]):
            raise UndecidedError("two columns hold the same, if one is taken for what it nearly says")
        raise RefusalDueError("two columns hold the same")
    if len(used) != len(set(used)):
        doubts.add("two columns that are not used hold the same")
    if not set(needed) <= set(used):
        raise RefusalDueError("a column is missing")
    if len(used) < len(roles):
        doubts.add("a column of which nothing is made")
    if any(not re.fullmatch(r"\w+( \w+)*", heading, re.ASCII) for heading in rows[0]):
        doubts.add("a heading with blanks around it, or in unusual letters")
    found = []
    for row in rows[1:]:
        if not any(cell.strip() for cell in row):
            doubts.add("a row of empty cells")
            continue
        if len(row) != len(roles):
            raise RefusalDueError(f"{len(row)} cells for {len(roles)} headings")
        note_blanks(row, doubts)
        if any("\n" in cell or "\r" in cell for cell in row):
            doubts.add("a quoted cell of several lines")
        found.append({role: cell.strip() for role, cell in zip(roles, row, strict=True) if role})
    return found
