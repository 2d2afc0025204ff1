"""Streams of jobs of one's own: made of what a table or a log says of their arrivals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.quantities import plain
from ..arrivals import Arrival, Deadlines, places_of, since_first
from .entries import StreamVmType
from .stream import JOBS_FORMAT, Stream


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
