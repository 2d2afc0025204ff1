"""Findings of the replays beyond the HADS paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from spotbag.core.statistics import CONFIDENCE, sd_of

from ...claims import Case, Claim, below, exactly, tally
from ...paper_tables import Quantity
from ...statements import Statements
from ..paper_days import Cell
from ..printed import hads_figures
from .runs import BIG_JOB, HadsDays
from .tables import CHECKPOINTS, TABLE_10, hibernations

_RUNS = 3
"""Runs of which the paper prints means."""

_COLUMNS = ("hibernations", "new on-demand VMs", "makespan", "cost")
_SAVED = ("checkpoints", "migrations", "recoveries", "CPU time saved")
_SAID = Statements.read(__package__)


def hads_findings(days: HadsDays) -> Iterator[Claim]:
    """Judge statements of ours: whether hibernations fall from sc2 to sc4, and what three days may come to."""
    figures, cells = hads_figures(), days.cells
    printed = {(row.job, row.scenario): row.hibernations for row in figures.results}
    fewer = [below(job, cells[job, "sc4"].less(cells[job, "sc2"], hibernations), 2) for job in days.jobs]
    yield _SAID.judge(
        "fewer-in-sc4",
        fewer,
        ", ".join(f"{case.mean:+.1f}" for case in fewer),
        printed=", ".join(f"{printed[job, 'sc4'] - printed[job, 'sc2']:+.1f}" for job in days.jobs),
    )
    of_table_10 = [(f"{row.job} {row.scenario}", cells[row.job, row.scenario], row) for row in figures.results]
    of_table_11 = [(row.scenario, cells[BIG_JOB, row.scenario], row) for row in figures.checkpoints]
    yield from _three_runs("Table 10", _COLUMNS, TABLE_10, of_table_10)
    yield from _three_runs("Table 11", _SAVED, CHECKPOINTS, of_table_11)


def _three_runs(
    table: str,
    columns: Sequence[str],
    quantities: Sequence[Quantity[Cell]],
    rows: Sequence[tuple[str, Cell, object]],
) -> Iterator[Claim]:
    """Of each column, how many printed means could be those of three of our days."""
    for column, quantity in zip(columns, quantities, strict=False):
        assert quantity.metric is not None
        found = [_within(label, cell, quantity.metric, getattr(row, quantity.name)) for label, cell, row in rows]
        yield _SAID.judge("could-be-ours", found, tally(), table=table, column=column)


def _within(label: str, cell: Cell, metric: Callable[..., float], printed: float) -> Case:
    low, high = range_of_three(cell.values(metric))
    ours = f"{low:,.2f} to {high:,.2f}, printed {printed:,.2f}"
    if math.isinf(high):
        return Case(label, ours, "not decided")
    return exactly(label, low <= printed <= high, ours)


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
