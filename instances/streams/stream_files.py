"""Reading and writing streams of jobs: JSON of the format ``spotbag.jobs/1``; the streams of the library."""

from __future__ import annotations

import io
import math
import os
from pathlib import Path

from ...core.errors import InputError, Issue, input_error
from ...core.quantities import MAX_SECONDS, SECONDS_PER_HOUR, exact_seconds, is_name, number_of
from ...core.text_files import read_text, source_name
from ..library import load
from .entries import Application, Job, StreamVmType
from .run_times import LONGEST_RUN_S, MAX_SAMPLES, SHORTEST_RUN_S, SequenceRunTimes
from .stream import Stream

_MOST_ISSUES = 1000


def read_stream(path: str | os.PathLike[str]) -> Stream:
    """Read a stream of jobs from a JSON file, or from standard input for ``-``.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    return Stream.read(path)


def stream_of_run_times(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    block_s: int = SECONDS_PER_HOUR,
    creation_overhead_s: int = 300,
    price_usd_per_block: float = 1.0,
    deadline_s: int | None = None,
) -> Stream:
    """Make a stream of one job of a list of run times: a text file with one number of seconds a line.

    Empty lines, and what follows a ``#``, do not count. The run times are those of the tasks in the order of the file,
    for all seeds, on the one VM type ``host``.

    Parameters
    ----------
    path : path
        Of the list; ``-`` for standard input.
    name : str, optional
        Of the stream; that of the file without its ending if absent.
    block_s, creation_overhead_s : int
        Length of a block that is billed; from the creation of a VM until it is ready.
    price_usd_per_block : float
        Price of a VM for a block.
    deadline_s : int, optional
        Of the job; when a single VM could have done it if absent.

    Raises
    ------
    InputError
        With every line that is wrong, up to a thousand.
    """
    source = source_name(path)
    run_times = _listed_seconds(read_text(path), source)
    stem = Path(source).stem
    done_s = creation_overhead_s + math.ceil(sum(map(exact_seconds, run_times)))
    return Stream(
        name=name if name is not None else stem if is_name(stem) else "run times",
        block_s=block_s,
        creation_overhead_s=creation_overhead_s,
        vm_types=(StreamVmType(name="host", price_usd_per_block=price_usd_per_block),),
        applications=(Application(name="job", runtime_s={"host": SequenceRunTimes(sequence_s=run_times)}),),
        jobs=(
            Job(
                id="job",
                application="job",
                submitted_s=0,
                deadline_s=min(done_s, MAX_SECONDS) if deadline_s is None else deadline_s,
                n_tasks=len(run_times),
            ),
        ),
    )


def _listed_seconds(text: str, source: str) -> tuple[float, ...]:
    seconds, issues = [], []
    for number, line in enumerate(io.StringIO(text, newline=None), start=1):
        entry = line.partition("#")[0].strip(" \t\n")
        if not entry:
            continue
        value = number_of(entry)
        if value is None or not SHORTEST_RUN_S <= value <= LONGEST_RUN_S:
            rule = f"must be a number of seconds, one a line, from {SHORTEST_RUN_S:g} to {LONGEST_RUN_S}"
            issues.append(Issue(f"line {number}", rule, value=entry))
            if len(issues) >= _MOST_ISSUES:
                break
        else:
            seconds.append(value)
    if issues:
        raise InputError(source, issues)
    if not seconds:
        raise input_error(source, "has no run times: a number of seconds a line")
    if len(seconds) > MAX_SAMPLES:
        raise input_error(source, f"has {len(seconds)} run times, more than {MAX_SAMPLES}")
    return tuple(seconds)


def write_stream(stream: Stream, path: str | os.PathLike[str]) -> None:
    """Write a stream of jobs as a JSON file; reading it gives the same stream.

    Raises
    ------
    SpotbagError
        If the file cannot be written.
    """
    stream.write(path)


def library_stream(name: str) -> Stream:
    """Load a stream of the library by its name.

    Raises
    ------
    InputError
        If there is none of that name; close names are suggested.
    """
    return load(Stream, name)
