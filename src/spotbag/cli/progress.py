"""Progress of long work, on standard error and only on a terminal; exit codes; files beside an answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..core.wording import counted, printable_line
from .arguments import warn

if TYPE_CHECKING:
    from rich.progress import ProgressColumn, Task
    from rich.progress_bar import ProgressBar


BAD_INPUT = 2
INTERRUPTED = 130
NO_FEASIBLE_PLAN = 1
NOT_CORRECT = 1
"""What was judged is not right."""
LATE = 3
"""There is a plan, with tasks that are late."""


@contextmanager
def busy(message: str, limit_s: float | None = None) -> Iterator[None]:
    """Show on a terminal that something is being done; with a time limit, by a bar that is full when it is over."""
    with _line("spinner" if limit_s is None else "bar", "what", "time", limit_s=limit_s, what=message):
        yield


@contextmanager
def progress(message: str, limit_s: float | None = None) -> Iterator[Callable[[Any, int], None] | None]:
    """Show a bar on a terminal: what is done, best objective, bound, gap, time; gives the callback that moves it.

    With a time limit, the bar is full when it is over; else when all iterations that are planned are done.
    """
    with _line("what", "bar", "best", "time", limit_s=limit_s, what=message, best="") as change:
        if change is None:
            yield None
            return

        def show(point: Any, planned: int) -> None:
            text = f"best {point.best:.6g}"
            if point.bound is not None and 0 < point.best < float("inf"):
                text += f"  bound {point.bound:.6g}  gap {max(100 * (1 - point.bound / point.best), 0):.3f} %"
            change(total=planned or None, completed=point.iteration, best=text)

        yield show


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
def points_found(message: str, limit_s: float) -> Iterator[Callable[[Any, int], None] | None]:
    """Show on a terminal how many points of a front there are, and a bar that is full when a time limit is over.

    Gives the callback that receives the points.
    """
    with _line("what", "bar", "found", "time", limit_s=limit_s, what=message, found="") as change:
        if change is None:
            yield None
            return

        def show(point: Any, found: int) -> None:
            text = f"  {counted(found, 'point')}, last {point.makespan_s:,} s for $ {point.cost_usd:.6f}"
            change(found=text)

        yield show


@contextmanager
def _line(
    *columns: str, total: int | None = None, limit_s: float | None = None, **texts: str
) -> Iterator[Callable[..., None] | None]:
    """Show a line on a terminal until the work is done; gives what changes it, None where there is no terminal.

    Its columns are ``spinner``, ``bar``, ``count``, ``time``, ``left``, and texts by their names. A bar is that of
    the time of a limit, if there is one. No text is markup, and each is made safe to print: it may hold the name of a
    file or of an instance.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    class TimeBar(BarColumn):
        """A bar of the time that has passed, whatever is done in it."""

        def render(self, task: Task) -> ProgressBar:
            bar = super().render(task)
            if limit_s is not None:
                bar.update(completed=min(task.elapsed or 0, limit_s), total=limit_s)
            return bar

    kinds: dict[str, Callable[[], ProgressColumn]] = {
        "spinner": SpinnerColumn,
        "bar": BarColumn if limit_s is None else TimeBar,
        "count": MofNCompleteColumn,
        "time": TimeElapsedColumn,
        "left": TimeRemainingColumn,
    }
    made = [
        kinds[name]() if name in kinds else TextColumn(f"{{task.fields[{name}]}}", markup=False) for name in columns
    ]
    # Not redirected: what is printed meanwhile must not pass by the streams that make it safe.
    console = Console(stderr=True)
    with Progress(*made, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bars:
        line = bars.add_task("", total=total, **_safe(texts))
        yield lambda **changes: bars.update(line, **_safe(changes))


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
