"""The figures of the end record, counted again from the events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from .findings import Finding

_RELATIVE_TOLERANCE = 1e-9

_COUNTED = {
    "finished": "tasks",
    "late_tasks": "tasks",
    "hibernations": "events",
    "resumes": "events",
    "on_demand_started": "VMs",
    "steal_attempts": "attempts",
    "steals": "attempts",
    "tasks_stolen": "tasks",
    "checkpoints": "checkpoints",
    "recoveries": "tasks",
}
"""Figures that are counts, and what they count."""

_COUNTED_IN_STREAMS = {"late_s": "s", "idle_s": "s", "suspensions": "tasks", "returns": "tasks"}
"""More of them, of streams only."""


@dataclass(slots=True)
class Figures:
    """What the events come to so far; see the end record in ``docs/formats.md``."""

    n_tasks: int
    finished: int = 0
    last_finish_s: int = 0
    late_tasks: int = 0
    hibernations: int = 0
    resumes: int = 0
    on_demand_started: int = 0
    migrations: Counter[str] = field(default_factory=Counter)
    steal_attempts: int = 0
    steals: int = 0
    tasks_stolen: int = 0
    checkpoints: int = 0
    recoveries: int = 0
    cpu_time_saved_s: Fraction = Fraction(0)
    late_s: int = 0
    idle_s: int = 0
    blocks: Counter[str] = field(default_factory=Counter)
    suspensions: int = 0
    returns: int = 0


def figure_findings(
    figures: Figures, end: Mapping[str, Any], cost_usd: float, last_s: int, of_stream: bool
) -> Iterator[Finding]:
    """Compare the figures of an end record with what the events come to.

    Parameters
    ----------
    figures : Figures
        What the events come to.
    end : mapping
        The end record.
    cost_usd : float
        The bill.
    last_s : int
        Time of the last event.
    of_stream : bool
        Whether the replay is one of a stream, which has more figures.
    """
    for name, unit in _COUNTED.items():
        yield from _off(name, end[name], getattr(figures, name), unit)
    for kind in ("idle", "busy", "new"):
        yield from _off(f"migrations.{kind}", end["migrations"][kind], figures.migrations[kind], "tasks")
    makespan = figures.last_finish_s if figures.finished == figures.n_tasks else None
    if makespan is None or end["makespan_s"] is None:
        if makespan != end["makespan_s"]:
            left = figures.n_tasks - figures.finished
            message = f"the end says makespan_s {end['makespan_s']}; it is {makespan}, {left} tasks are unfinished"
            yield Finding("figures", "", max(left, 1), "tasks", message)
    else:
        yield from _off("makespan_s", end["makespan_s"], makespan, "s")
    yield from _off("t", end["t"], last_s, "s")
    for name, found, unit in (
        ("cost_usd", cost_usd, "USD"),
        ("cpu_time_saved_s", float(figures.cpu_time_saved_s), "s"),
    ):
        if abs(end[name] - found) > _RELATIVE_TOLERANCE * abs(found):
            yield from _off(name, end[name], found, unit)
    yield from _stream_findings(figures, end, of_stream)


def _stream_findings(figures: Figures, end: Mapping[str, Any], of_stream: bool) -> Iterator[Finding]:
    """Compare the figures that streams have, and plans have not."""
    for name in (*_COUNTED_IN_STREAMS, "blocks"):
        stated = end.get(name)
        if not of_stream:
            if stated is not None:
                message = f"the end says {name}, which only a replay of a stream has"
                yield Finding("figures", "", 1, "figures", message)
        elif stated is None:
            message = f"the end does not say {name}, as one of a stream does"
            yield Finding("figures", "", 1, "figures", message)
        elif name == "blocks":
            for vm_type in sorted(stated.keys() | figures.blocks.keys()):
                yield from _off(f"blocks.{vm_type}", stated.get(vm_type, 0), figures.blocks[vm_type], "blocks")
        else:
            yield from _off(name, stated, getattr(figures, name), _COUNTED_IN_STREAMS[name])


def _off(name: str, stated: float, found: float, unit: str) -> Iterator[Finding]:
    if stated != found:
        message = f"the end says {name} {stated:.12g}; the events come to {found:.12g}"
        yield Finding("figures", "", abs(stated - found), unit, message)
