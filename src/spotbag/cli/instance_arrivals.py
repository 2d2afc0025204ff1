"""``spotbag instance import stream`` and ``platform``: jobs that arrive over time, from files."""

from __future__ import annotations

from typing import Annotated

import typer

from ..core.text_files import read_text, source_name
from .arguments import JsonOption, check_output
from .arrivals import OF_PLATFORMS, OF_STREAMS, PlatformFileOptions, StreamFileOptions
from .instance_output import OutOption, to_file
from .platforms.platform import deliver_platform
from .streams.stream import deliver_stream

FileArgument = Annotated[
    str, typer.Argument(metavar="FILE", help="A table, or a log in SWF or GWF; - for standard input.")
]


def import_stream(
    file: FileArgument,
    options: Annotated[StreamFileOptions, OF_STREAMS],
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import jobs that arrive over time as a stream: a table, or a log in SWF or GWF.

    Headings say what a column holds: arrival (a date, seconds of the epoch, or arrival_s), runtime_s, count (tasks),
    deadline or within_s (from the arrival on), application, id. All times count from the first arrival.
    """
    check_output(to_file(out), file, options.prices)
    deliver_stream(options.make(read_text(file), source_name(file)), to_file(out), as_json)


def import_platform(
    file: FileArgument,
    options: Annotated[PlatformFileOptions, OF_PLATFORMS],
    out: OutOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import jobs that arrive over time as malleable jobs of a platform: a table, or a log in SWF or GWF.

    Headings are those of a stream, and budget and priority. The work of a job is what all its tasks run for.
    """
    check_output(to_file(out), file)
    deliver_platform(options.make(read_text(file), source_name(file)), to_file(out), as_json)
