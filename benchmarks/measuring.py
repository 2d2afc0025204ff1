"""Command lines and tables of the modules that measure."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from spotbag.core.limits import LimitReached, stop_point
from spotbag.core.processes import interruptible
from spotbag.core.text_tables import Column

from .paper_tables import markdown_lines


def asked(about: str | None, **defaults: Any) -> Namespace:
    """Read the command line of a module: an option for each default.

    Values are of the type of the default: a tuple has commas between them, of a mapping one or more keys can be chosen.
    """
    parser = ArgumentParser(description=about, formatter_class=RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        add = partial(parser.add_argument, f"--{name.replace('_', '-')}")
        if isinstance(default, bool):
            add(action="store_true")
        elif isinstance(default, tuple):
            # An empty tuple does not say what it may hold: names.
            add(type=_several(type(default[0]) if default else str), default=default)
        elif isinstance(default, Mapping):
            add(action="append", choices=list(default))
        else:
            add(type=type(default), default=default)
    given = parser.parse_args()
    for name, default in defaults.items():
        if isinstance(default, Mapping):
            setattr(given, name, getattr(given, name) or list(default))
    return given


def _several(kind: type) -> Callable[[str], tuple[Any, ...]]:
    def values(text: str) -> tuple[Any, ...]:
        return tuple(map(kind, text.split(",")))

    return values


def print_table(
    title: str, columns: Sequence[str] | Mapping[str, str], rows: Iterable[Sequence[object]], words: int = 0
) -> None:
    """Print a table of numbers in Markdown, each row as soon as it is there; its first columns may hold words.

    Columns are headings, or headings and how their numbers are formatted: what is not known is a dash, and words stay
    as they are. Ctrl-C ends the program: a row that it has cut short is not shown.
    """
    headings = [Column(heading, place >= words) for place, heading in enumerate(columns)]
    formats = list(columns.values()) if isinstance(columns, Mapping) else [""] * len(headings)

    def texts(row: Sequence[object]) -> list[str]:
        return [_text(value, form) for value, form in zip(row, formats, strict=True)]

    print(f"\n{title}\n", flush=True)
    with interruptible() as limit, suppress(LimitReached):
        for line in markdown_lines(headings, map(texts, rows)):
            stop_point()
            # A row may take minutes: it is to be seen at once, through a pipe as well.
            print(line, flush=True)
    if limit.stopped():
        raise SystemExit(130)


def _text(value: object, form: str) -> str:
    return "-" if value is None else value if isinstance(value, str) else format(value, form)
