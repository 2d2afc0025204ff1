"""What the commands share: arguments, reading of instances, output."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from .tables import (
    terminal_width,
)

if TYPE_CHECKING:
    from ..instances.instance import Instance
    from ..instances.platforms.platform import Platform
    from ..instances.streams.stream import Stream

InstanceArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="INSTANCE",
        help="A JSON file, - for standard input, or the name of a library instance.",
        show_default=False,
    ),
]
StreamArgument: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="STREAM",
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
RandomSeedOption: TypeAlias = Annotated[int, typer.Option("--seed", min=0, help="Seed of the random numbers.")]
ThreadsOption: TypeAlias = Annotated[int, typer.Option("--threads", min=1, help="Threads of a solver.")]
PlanGanttOption: TypeAlias = Annotated[
    str | None, typer.Option("--gantt", metavar="FILE", help="Draw the plan: .png, .svg, .pdf or .html.")
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]


def load_instance(argument: str) -> Instance:
    """Load an instance by path, ``-`` or library name; warnings go to standard error."""
    from ..instances.instance_files import instance_warnings, read_instance
    from ..instances.library import library_instance, library_names

    instance = read_instance(argument) if is_path(argument, library_names()) else library_instance(argument)
    warn(instance_warnings(instance))
    return instance


def load_stream(argument: str) -> Stream:
    """Load a stream of jobs by path, ``-`` or library name."""
    from ..instances.library import stream_names
    from ..instances.streams.stream_files import library_stream, read_stream

    return read_stream(argument) if is_path(argument, stream_names()) else library_stream(argument)


def load_platform(argument: str) -> Platform:
    """Load a hybrid platform by path, ``-`` or library name."""
    from ..instances.library import platform_names
    from ..instances.platforms.platform_files import library_platform, read_platform

    return read_platform(argument) if is_path(argument, platform_names()) else library_platform(argument)


def some(names: Sequence[str]) -> str:
    """Return the first of many names."""
    return ", ".join(names[:8]) + (" ..." if len(names) > 8 else "")


def is_path(argument: str, names: Sequence[str]) -> bool:
    """Whether an argument means a file; a name of the library does not, whatever lies in the working folder."""
    from ..core.text_files import STANDARD_INPUT, is_readable_file

    if argument == STANDARD_INPUT:
        return True
    readable = is_readable_file(argument)
    if argument in names:
        if readable:
            warn([f"{argument} is taken from the library; the file of this name is ./{argument}"])
        return False
    return readable or argument.endswith(".json") or argument.startswith((".", "/", "~")) or os.path.isdir(argument)


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
        scales = instance.objective.model_dump(include={*weights}, exclude_none=True)
        changes["objective"] = {"goal": "balanced"} | scales | given
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


def print_story(lines: Iterable[str]) -> None:
    """Print what `describe_trace` gives; on a terminal, lines go on below the words, not below the times."""
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
