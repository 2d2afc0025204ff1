"""What the commands share: arguments, reading of instances, output."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from ..instances.instance import Instance
    from ..instances.platforms.platform import Platform
    from ..instances.streams.stream import JobStream

NO_FEASIBLE_PLAN = 1

_LONGEST_WORD = 24

InstanceArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="INSTANCE",
        help="A JSON file, - for standard input, or the name of a library instance.",
        show_default=False,
    ),
]
JobsArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="JOBS",
        help="A stream of jobs: a JSON file, - for standard input, or the name of a stream of the library.",
        show_default=False,
    ),
]
DeadlineOption: TypeAlias = Annotated[
    int | None, typer.Option("--deadline", metavar="S", help="Deadline in seconds, instead of the instance's.")
]
DSpotOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--d-spot", metavar="S", help="D_spot in seconds: spot VMs end by then. Estimated if nowhere given."),
]
MarketsOption: TypeAlias = Annotated[
    str | None, typer.Option("--markets", help="Markets that may be used: spot, on-demand, or both by a comma.")
]
CostWeightOption: TypeAlias = Annotated[
    float | None, typer.Option("--cost-weight", help="Weight of the cost in the objective, 0 to 1.")
]
CostScaleOption: TypeAlias = Annotated[
    float | None, typer.Option("--cost-scale", metavar="USD", help="Scale of the cost.")
]
MakespanScaleOption: TypeAlias = Annotated[
    float | None, typer.Option("--makespan-scale", metavar="S", help="Scale of the makespan.")
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]


def load_instance(argument: str) -> Instance:
    """Load an instance by path, ``-`` or library name; warnings go to standard error."""
    from ..instances.instance_files import instance_warnings, read_instance
    from ..instances.library import library_instance, library_names

    instance = read_instance(argument) if _is_path(argument, library_names()) else library_instance(argument)
    warn(instance_warnings(instance))
    return instance


def load_job_stream(argument: str) -> JobStream:
    """Load a stream of jobs by path, ``-`` or library name."""
    from ..instances.library import job_stream_names
    from ..instances.streams.stream_files import library_job_stream, read_job_stream

    return read_job_stream(argument) if _is_path(argument, job_stream_names()) else library_job_stream(argument)


def load_platform(argument: str) -> Platform:
    """Load a hybrid platform by path, ``-`` or library name."""
    from ..instances.library import platform_names
    from ..instances.platforms.platform_files import library_platform, read_platform

    return read_platform(argument) if _is_path(argument, platform_names()) else library_platform(argument)


def some(names: Sequence[str]) -> str:
    """Return the first of many names."""
    return ", ".join(names[:8]) + (" ..." if len(names) > 8 else "")


def _is_path(argument: str, names: Sequence[str]) -> bool:
    """Whether an argument means a file, and not one of the names of the library."""
    from ..core.text_files import STANDARD_INPUT, is_readable_file

    if argument == STANDARD_INPUT or is_readable_file(argument):
        return True
    looks_like_path = argument.endswith(".json") or argument.startswith((".", "/", "~")) or os.path.isdir(argument)
    return argument not in names and looks_like_path


def change_instance(
    instance: Instance,
    *,
    deadline: int | None = None,
    d_spot: int | None = None,
    markets: str | None = None,
    cost_weight: float | None = None,
    cost_scale: float | None = None,
    makespan_scale: float | None = None,
) -> Instance:
    """Return the instance with what the command line says instead of what it says itself."""
    from ..core.errors import InputError

    changes: dict[str, Any] = {}
    if deadline is not None:
        changes["deadline_s"] = deadline
    if d_spot is not None:
        changes["d_spot_s"] = d_spot
    if markets is not None:
        changes["markets"] = [market.strip() for market in markets.split(",")]
    weights = {"cost_weight": cost_weight, "cost_scale_usd": cost_scale, "makespan_scale_s": makespan_scale}
    given = {name: value for name, value in weights.items() if value is not None}
    if given:
        changes["objective"] = instance.objective.model_dump(exclude_unset=True) | given
    if not changes:
        return instance
    try:
        return instance.replace(**changes)
    except InputError as error:
        raise InputError(f"{instance.name} with the values of the command line", error.issues) from None


def warn(messages: Iterable[str]) -> None:
    """Print warnings on standard error."""
    for message in messages:
        print(f"warning: {message}", file=sys.stderr)


def print_json(value: Any) -> None:
    """Print one JSON object."""
    print(json.dumps(value, indent=2, allow_nan=False))


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

    from .table_cells import BreakableText, unbroken_parts

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


def print_story(lines: Iterable[str]) -> None:
    """Print what `tell_story` tells; on a terminal, lines go on below the words, not below the times."""
    from textwrap import fill

    width = terminal_width()
    for line in lines:
        print(fill(line, width, subsequent_indent=" " * 13, break_on_hyphens=False) if width else line)


def check_output(path: str | None, *others: str | None) -> None:
    """Refuse, before any work is done, an output file in a folder that does not exist, or over another file."""
    from ..core.errors import SpotbagError

    if path is None:
        return
    if any(source is not None and os.path.realpath(path) == os.path.realpath(source) for source in others):
        raise SpotbagError(f"{path}: is another file of this command; write to its own")
    if path == "-":
        raise SpotbagError(
            "-: is no name for an output file; a redirection of --json or /dev/stdout may be what you want"
        )
    if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise SpotbagError(f"{path}: cannot be written: the folder does not exist")


def seconds(value: int) -> str:
    """Seconds with thousands set apart."""
    return f"{value:,}"


def parse_options(pairs: list[str]) -> dict[str, str]:
    """Read ``name=value`` pairs."""
    from ..core.errors import SpotbagError

    options = {}
    for pair in pairs:
        name, mark, value = pair.partition("=")
        if not mark:
            raise SpotbagError(f"--option {pair}: must be NAME=VALUE")
        options[name.strip().replace("-", "_")] = value.strip()
    return options
