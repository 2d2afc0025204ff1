"""Lists of names, counts, percentages and suggestions in words, and texts of others made safe to print."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import IO, Any

_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Control characters but for tabs and line feeds, those that turn or hide what follows, and lone surrogates."""


def printable(text: str) -> str:
    r"""Return a text with what would command a terminal, or mislead its reader, as ``\u001b`` and the like.

    These are escapes of JSON: a JSON document stays the same document.
    """
    return text if text.isascii() and text.isprintable() else _UNPRINTABLE.sub(_escape, text)


def printable_line(text: str) -> str:
    """Return a text as `printable` does, on one line."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


class PrintableStream:
    """A stream that writes what would command a terminal as escapes.

    Attributes
    ----------
    rich_proxied_file : text stream
        The stream itself, by the name under which rich looks for it: only rich may command the terminal. The texts that
        it is given are made safe where it is used, in `progress` and `tables`.
    """

    def __init__(self, stream: IO[str]) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write a text."""
        return self.rich_proxied_file.write(printable(text))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


def _escape(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]


def percent(fraction: float) -> str:
    """Fraction of a task as people say it; only what is finished is 100 %."""
    return f"{min(round(100 * fraction), 99 if fraction < 1 else 100)} %"


MOST_NAMED = 6
"""Items of a list that are named; of longer ones, only the first."""

_NAME_CHARACTERS = 60
_LEAST_RANGE = 3
# No zeros in front of the number, so that prefix and number written together are the name again.
_NUMBERED = re.compile(r"(.*[-#])([1-9][0-9]{0,8})")


def listed(items: Sequence[str], noun: str) -> str:
    """Items with commas, those that are numbered in a row as a range; of many the first and how many more there are."""
    names: list[str] = []
    place = 0
    while place < len(items) and len(names) < MOST_NAMED:
        length = _numbered_in_a_row(items, place)
        name = shortened(items[place], _NAME_CHARACTERS)
        if length < _LEAST_RANGE:
            length = 1
        else:
            name += f" to {prefix_and_number(items[place])[1] + length - 1}"
        names.append(name)
        place += length
    more = len(items) - place
    return ", ".join(names) + (f" and {counted(more, f'more {noun}')}" if more else "")


def _numbered_in_a_row(items: Sequence[str], place: int) -> int:
    """Length of the run of items, from an index on, with one name and consecutive numbers."""
    prefix, number = prefix_and_number(items[place])
    length = 1
    while number and place + length < len(items) and items[place + length] == f"{prefix}{number + length}":
        length += 1
    return length


def prefix_and_number(item: str) -> tuple[str, int]:
    """Split ``c4.large-spot-3`` or ``t5#3`` before its number; 0 if it has none."""
    found = _NUMBERED.fullmatch(item)
    return (item, 0) if found is None else (found[1], int(found[2]))


def counted_list(tasks: Sequence[str]) -> str:
    """Name of a single task; of several, the number and a list."""
    return tasks[0] if len(tasks) == 1 else f"{counted(len(tasks), 'task')} ({listed(tasks, 'task')})"


def moments_text(moments: Iterable[int | None]) -> str:
    """Moments with commas, in order."""
    return ", ".join(f"{moment:,} s" for moment in sorted(moment for moment in moments if moment is not None))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 VM``, ``2 VMs``, ``1,200 tasks``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def shortened(text: str, length: int) -> str:
    """Return a text that is no longer than asked, cut at the end if need be."""
    return text if len(text) <= length else text[: length - 1] + "…"


def cut_in_the_middle(text: str, length: int) -> str:
    """Return a text that is no longer than asked; names that differ only at their ends still do."""
    if len(text) <= length:
        return text
    end = (length - 1) // 2
    return f"{text[: length - 1 - end]}…{text[len(text) - end :]}"


_NAMES_COMPARED = 1000
_NAMES_SHOWN = 8


def near_names(name: str, known: Iterable[str]) -> str:
    """Hint for a name that is not known: those that are close to it, else the first that are known."""
    names = list(known)
    return close_names(name, names) or f"known: {', '.join(names[:8])}" + (" ..." if len(names) > 8 else "")


def first_names(names: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    return ", ".join(names[:_NAMES_SHOWN]) + (
        f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
    )


def close_names(name: str, known: Sequence[str]) -> str:
    """Hint for a name that is not known: those that are close to it; empty if there are none."""
    import difflib  # here, since most commands need no hint

    close = difflib.get_close_matches(name[:100], known[:_NAMES_COMPARED], n=3)
    return f"did you mean {' or '.join(close)}?" if close else ""


def dollars(value: float) -> str:
    """Dollars: to the cent, and smaller amounts to two digits that are not zero."""
    if not 0 < abs(value) < 1:
        return f"$ {value:,.2f}"
    return f"$ {value:.{1 - math.floor(math.log10(abs(value)))}f}"
