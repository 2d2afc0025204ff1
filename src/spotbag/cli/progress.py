"""Progress of long work, on standard error and only on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    pass


@contextmanager
def busy(message: str) -> Iterator[None]:
    """Show on a terminal that something is being done."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(message):
        yield


@contextmanager
def progress(message: str) -> Iterator[Callable[[Any, int], None] | None]:
    """Show a bar on a terminal: what is done, best objective, bound, gap, time; gives the callback that moves it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[best]}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(message, total=None, best="")

        def show(point: Any, planned: int) -> None:
            text = f"best {point.best:.6g}"
            if point.bound is not None and 0 < point.best < float("inf"):
                text += f"  bound {point.bound:.6g}  gap {max(100 * (1 - point.bound / point.best), 0):.3f} %"
            bars.update(bar, total=planned or None, completed=point.iteration, best=text)

        yield show


@contextmanager
def counting(message: str, total: int) -> Iterator[Callable[..., None]]:
    """Show on a terminal how many of a number of things are done.

    Gives the callback that counts on: it takes what was done last, and how many things that was (one if not said).
    """
    if not sys.stderr.isatty():
        yield lambda last, done=1: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[last]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = bars.add_task(message, total=total, last="")
        yield lambda last, done=1: bars.update(bar, advance=done, last=last)
