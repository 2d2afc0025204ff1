"""Findings of the replays beyond the HADS paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from ....core.statistics import CONFIDENCE, sd_of
from ....replay.bags.outcome import DayOutcome
from ...claims import Claim, Verdict, is_below, judged, show
from ..paper_days import Cell, cost_usd, makespan_s
from ..printed import hads_figures
from .runs import BIG_JOB, HadsDays, migrations

_RUNS = 3
"""Runs of which the paper prints means."""


def hads_findings(days: HadsDays) -> Iterator[Claim]:
    """Judge statements of ours."""
    yield _fewer_hibernations(days)
    yield from _three_runs(days)


def _hibernations(day: DayOutcome) -> float:
    return day.hibernations


def _fewer_hibernations(days: HadsDays) -> Claim:
    """Printed as numbers, not as a sentence; under the law of Table 8 it cannot be."""
    found, ours = [], []
    for job in days.jobs:
        less = days.cells[job, "sc4"].less(days.cells[job, "sc2"], _hibernations)
        found.append((f"{job} {show(less, 2)}", is_below(less)))
        ours.append(f"{less.mean or 0:+.1f}")
    printed = {(row.job, row.scenario): row.hibernations for row in hads_figures().results}
    return judged(
        "fewer hibernations in sc4 than in sc2 for every job, as Table 10 has it",
        found,
        ", ".join(ours),
        "the rate of hibernation is the same, and in sc4 VMs resume and hibernate again",
        printed=", ".join(f"{printed[job, 'sc4'] - printed[job, 'sc2']:+.1f}" for job in days.jobs),
    )


def _three_runs(days: HadsDays) -> Iterator[Claim]:
    """Of each column, how many printed means could be those of three of our days."""
    figures = hads_figures()
    columns: dict[str, tuple[str, Callable[[DayOutcome], float]]] = {
        "hibernations": ("hibernations", _hibernations),
        "new on-demand VMs": ("on_demand_started", lambda day: day.on_demand_started),
        "makespan": ("makespan_s", makespan_s),
        "cost": ("cost_usd", cost_usd),
    }
    for name, (quantity, metric) in columns.items():
        cells = [
            (f"{row.job} {row.scenario}", days.cells[row.job, row.scenario], getattr(row, quantity))
            for row in figures.results
        ]
        yield _could_be_ours("Table 10", name, cells, metric)
    saved: dict[str, tuple[str, Callable[[DayOutcome], float]]] = {
        "checkpoints": ("checkpoints", lambda day: day.checkpoints),
        "migrations": ("migrations", migrations),
        "recoveries": ("recoveries", lambda day: day.recoveries),
        "CPU time saved": ("cpu_time_saved_s", lambda day: day.cpu_time_saved_s),
    }
    for name, (quantity, metric) in saved.items():
        cells = [
            (row.scenario, days.cells[BIG_JOB, row.scenario], getattr(row, quantity)) for row in figures.checkpoints
        ]
        yield _could_be_ours("Table 11", name, cells, metric)


def _could_be_ours(
    table: str, name: str, cells: list[tuple[str, Cell, float]], metric: Callable[[DayOutcome], float]
) -> Claim:
    found: list[tuple[str, Verdict]] = []
    for label, cell, printed in cells:
        low, high = range_of_three(cell.values(metric))
        found.append((f"{label} {low:,.2f} to {high:,.2f}, printed {printed:,.2f}", _within(printed, low, high)))
    held = sum(verdict == "holds" for _, verdict in found)
    return judged(
        f"{table}, {name}: printed means could be those of three of our days", found, f"{held} of {len(found)}"
    )


def _within(value: float, low: float, high: float) -> Verdict:
    if math.isinf(high):
        return "not decided"
    return "holds" if low <= value <= high else "does not hold"


def range_of_three(values: list[float]) -> tuple[float, float]:
    """Prediction interval of 95 % for the mean of three more days, from the days replayed.

    By Student's t, as if days were normally distributed; endless of a single day.
    """
    from scipy.special import stdtrit

    n = len(values)
    spread = sd_of(values)
    mean = math.fsum(values) / n
    if spread is None:
        return -math.inf, math.inf
    half = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * spread.value * math.sqrt(1 / _RUNS + 1 / n)
    return mean - half, mean + half
