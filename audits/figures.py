"""The figures of the end record, counted again from the events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from .facts import Finding

_RELATIVE_TOLERANCE = 1e-9

_COUNTED = {"finished": "tasks", "late_tasks": "tasks", "on_demand_started": "VMs"}
"""Figures that are counts, and what they count."""

_COUNTED_IN_BAGS = {
    "finished": "tasks",
    "late_tasks": "tasks",
    "hibernations": "events",
    "resumes": "events",
    "stops": "events",
    "restarts": "events",
    "reclaims": "events",
    "preemptions": "events",
    "on_demand_started": "VMs",
    "steal_attempts": "attempts",
    "steals": "attempts",
    "tasks_stolen": "tasks",
    "checkpoints": "checkpoints",
    "recoveries": "tasks",
}
_COUNTED_IN_STREAMS = {"late_s": "s", "idle_s": "s", "suspensions": "tasks", "returns": "tasks"}
"""Units of the figures that only streams count."""


@dataclass(slots=True)
class Figures:
    """Figures counted from the events so far; see the end record in ``docs/formats.md``."""

    n_tasks: int
    finished: int = 0
    last_finish_s: int = 0
    late_tasks: int = 0
    late_weight: Fraction = Fraction(0)
    interruptions: Counter[str] = field(default_factory=Counter)
    resumes: int = 0
    restarts: int = 0
    preemptions: int = 0
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

    @property
    def hibernations(self) -> int:
        """Number of hibernations of VMs."""
        return self.interruptions["hibernate"]

    @property
    def stops(self) -> int:
        """Number of stops of VMs."""
        return self.interruptions["stop"]

    @property
    def reclaims(self) -> int:
        """Number of VMs that the cloud terminated."""
        return self.interruptions["reclaim"]


def figure_findings(
    figures: Figures, end: Mapping[str, Any], cost_usd: float, last_s: int, of_stream: bool
) -> Iterator[Finding]:
    """Compare the figures of an end record with those of the events.

    Parameters
    ----------
    figures : Figures
        The figures of the events.
    end : mapping
        The end record.
    cost_usd : float
        The bill.
    last_s : int
        Time of the last event.
    of_stream : bool
        Whether the replay is one of a stream, not of a bag; they have figures of their own.
    """
    for name, unit in (_COUNTED if of_stream else _COUNTED_IN_BAGS).items():
        yield from _off(name, end.get(name, 0), getattr(figures, name), unit)
    if not of_stream:
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
    yield from amount_off("cost_usd", end["cost_usd"], cost_usd, "USD")
    if of_stream:
        yield from _stream_findings(figures, end)
    else:
        weight = end["late_tasks"] if end.get("late_weight") is None else end["late_weight"]
        yield from amount_off("late_weight", weight, float(figures.late_weight), "")
        yield from amount_off("cpu_time_saved_s", end["cpu_time_saved_s"], float(figures.cpu_time_saved_s), "s")


def _stream_findings(figures: Figures, end: Mapping[str, Any]) -> Iterator[Finding]:
    """Compare the figures that streams have, and bags have not."""
    for name, unit in _COUNTED_IN_STREAMS.items():
        yield from _off(name, end[name], getattr(figures, name), unit)
    for vm_type in sorted(end["blocks"].keys() | figures.blocks.keys()):
        yield from _off(f"blocks.{vm_type}", end["blocks"].get(vm_type, 0), figures.blocks[vm_type], "blocks")


def amount_off(name: str, stated: float, found: float, unit: str) -> Iterator[Finding]:
    """Compare an amount that is stated with what it is, but for the noise of sums."""
    if abs(stated - found) > _RELATIVE_TOLERANCE * abs(found):
        yield from _off(name, stated, found, unit)


def _off(name: str, stated: float, found: float, unit: str) -> Iterator[Finding]:
    if stated != found:
        message = f"the end says {name} {float(stated):.12g}; the events come to {float(found):.12g}"
        yield Finding("figures", "", float(abs(stated - found)), unit, message)
