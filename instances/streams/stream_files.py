"""Streams of jobs as files: JSON of the format ``spotbag.jobs/1``, the library, lists of run times, arrivals."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.errors import InputError, Issue, input_error
from ...core.quantities import MAX_SECONDS, SECONDS_PER_HOUR, exact_seconds, is_name, number_of, plain
from ...core.text_files import read_text, source_name
from ..library import load
from .entries import Application, Job, StreamVmType
from .run_times import LONGEST_RUN_S, MAX_SAMPLES, SHORTEST_RUN_S, SequenceRunTimes
from .stream import JOBS_FORMAT, Stream

if TYPE_CHECKING:
    from ..arrivals import Arrival, Deadlines

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
    # Late enough for a single VM to run all of them, one after the other.
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


def stream_of_arrivals(
    arrivals: Sequence[Arrival],
    deadlines: Deadlines,
    vm_types: Sequence[StreamVmType],
    speeds: Mapping[str, float],
    *,
    name: str,
    source: str,
    block_s: int,
    creation_overhead_s: int,
) -> Stream:
    """Make a stream of jobs that keep their run times: those of an application are one only if they run equally long.

    Parameters
    ----------
    arrivals, deadlines
        The jobs, and the deadlines of those whose file has none.
    vm_types, speeds
        VM types, and the speeds of some by which run times are divided.
    name, source : str
        Of the stream, and of the file in messages.
    block_s, creation_overhead_s : int
        See `Stream`.

    Raises
    ------
    InputError
        With everything that is wrong, by the lines of the file.
    """
    from ..arrivals import places_of, since_first  # here, since most streams and platforms come from no table

    runs = dict[str, dict[float, int]]()
    for arrival in arrivals:
        runs.setdefault(arrival.application, {}).setdefault(arrival.runtime_s, arrival.line)
    jobs = [
        {
            "id": arrival.id,
            "application": _name(arrival.application, arrival.runtime_s, runs[arrival.application]),
            "submitted_s": at_s,
            "deadline_s": due_s,
            "n_tasks": arrival.count,
        }
        for arrival, at_s, due_s in since_first(arrivals, deadlines)
    ]
    document = {
        "format": JOBS_FORMAT,
        "name": name,
        "block_s": block_s,
        "creation_overhead_s": creation_overhead_s,
        "vm_types": [vm_type.model_dump(mode="json", exclude_none=True) for vm_type in vm_types],
        "applications": [
            {"name": _name(application, run_s, seconds), "runtime_s": _run_times(run_s, vm_types, speeds)}
            for application, seconds in runs.items()
            for run_s in seconds
        ],
        "jobs": jobs,
    }
    first = [line for seconds in runs.values() for line in seconds.values()]
    with places_of({"jobs": [arrival.line for arrival in arrivals], "applications": first}, source):
        return Stream.from_document(document, source)


def _run_times(run_s: float, vm_types: Sequence[StreamVmType], speeds: Mapping[str, float]) -> dict[str, Any]:
    values_s = {vm_type.name: run_s / speeds.get(vm_type.name, 1) for vm_type in vm_types}
    return {name: {"distribution": "constant", "value_s": value_s} for name, value_s in values_s.items()}


def _name(application: str, run_s: float, runs: Mapping[float, int]) -> str:
    return application if len(runs) == 1 else f"{application} {plain(run_s)}s"
