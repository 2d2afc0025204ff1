"""The figures of the end record, counted again from the events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ..core.quantities import plain
from .findings import Finding

_RELATIVE_TOLERANCE = 1e-9

_OF_BOTH = {"finished": "tasks", "late_tasks": "tasks", "on_demand_started": "VMs"}
_OF_BAGS = {
    "finished": "tasks",
    "late_tasks": "tasks",
    **dict.fromkeys(("hibernations", "resumes", "stops", "restarts", "reclaims", "preemptions"), "events"),
    "on_demand_started": "VMs",
    **dict.fromkeys(("steal_attempts", "steals"), "attempts"),
    "tasks_stolen": "tasks",
    "checkpoints": "checkpoints",
    "recoveries": "tasks",
}
_OF_STREAMS = {"late_s": "s", "idle_s": "s", "suspensions": "tasks", "returns": "tasks"}
"""Counted figures that both have, those of bags, and those that only streams have, with their units."""

_OF_EVENTS = {
    "hibernations": "hibernate",
    "resumes": "resume",
    "stops": "stop",
    "restarts": "restart",
    "reclaims": "reclaim",
    "steal_attempts": "steal-attempt",
    "tasks_stolen": "steal",
    "suspensions": "suspend",
    "returns": "return",
}
"""Figures that count events of a kind."""


@dataclass(slots=True)
class Figures:
    """Figures counted from the events so far; see the end record in ``docs/formats.md``."""

    n_tasks: int
    finished: int = 0
    last_finish_s: int = 0
    late_tasks: int = 0
    late_weight: Fraction = Fraction(0)
    events: Counter[str] = field(default_factory=Counter)
    preemptions: int = 0
    on_demand_started: int = 0
    migrations: Counter[str] = field(default_factory=Counter)
    steals: int = 0
    checkpoints: int = 0
    recoveries: int = 0
    cpu_time_saved_s: Fraction = Fraction(0)
    late_s: int = 0
    idle_s: int = 0
    blocks: Counter[str] = field(default_factory=Counter)


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
    yield from _counts_off(_OF_BOTH if of_stream else _OF_BAGS, figures, end)
    if not of_stream:
        for kind in ("idle", "busy", "new"):
            yield from figure_off(f"migrations.{kind}", end["migrations"][kind], figures.migrations[kind], "tasks")
    makespan = figures.last_finish_s if figures.finished == figures.n_tasks else None
    if makespan is None or end["makespan_s"] is None:
        if makespan != end["makespan_s"]:
            left = figures.n_tasks - figures.finished
            said, found = (None if value is None else plain(value) for value in (end["makespan_s"], makespan))
            message = f"the end says makespan_s {said}; it is {found}, {left} tasks are unfinished"
            yield Finding.of("figures", "", message, max(left, 1), "tasks")
    else:
        yield from figure_off("makespan_s", end["makespan_s"], makespan, "s")
    yield from figure_off("t", end["t"], last_s, "s")
    yield from amount_off("cost_usd", end["cost_usd"], cost_usd, "USD")
    if of_stream:
        yield from _counts_off(_OF_STREAMS, figures, end)
        for vm_type in sorted(end["blocks"].keys() | figures.blocks.keys()):
            yield from figure_off(f"blocks.{vm_type}", end["blocks"].get(vm_type, 0), figures.blocks[vm_type], "blocks")
    else:
        weight = end["late_tasks"] if end.get("late_weight") is None else end["late_weight"]
        yield from amount_off("late_weight", weight, float(figures.late_weight), "")
        yield from amount_off("cpu_time_saved_s", end["cpu_time_saved_s"], float(figures.cpu_time_saved_s), "s")


def _counts_off(units: Mapping[str, str], figures: Figures, end: Mapping[str, Any]) -> Iterator[Finding]:
    """Compare figures that are counts."""
    for name, unit in units.items():
        found = figures.events[_OF_EVENTS[name]] if name in _OF_EVENTS else getattr(figures, name)
        yield from figure_off(name, end.get(name, 0), found, unit)


def amount_off(name: str, stated: float, found: float, unit: str) -> Iterator[Finding]:
    """Compare an amount that is stated with what it is, but for the noise of sums."""
    if abs(stated - found) > _RELATIVE_TOLERANCE * abs(found):
        yield from figure_off(name, stated, found, unit)


def figure_off(name: str, stated: float, found: float | Fraction, unit: str) -> Iterator[Finding]:
    """Compare a figure that is stated with what it is."""
    if stated != found:
        message = f"the end says {name} {float(stated):.12g}; the events come to {float(found):.12g}"
        yield Finding.of("figures", "", message, float(abs(stated - found)), unit)
