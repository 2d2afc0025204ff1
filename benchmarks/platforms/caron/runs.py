"""The runs of Caron & de Assuncao: the figures, what is not printed, trees of agents, and bounds."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import itemgetter
from typing import TypeAlias

from spotbag.core.workers import each

from ...paper import OnRuns
from ...sample import Sample
from ...statistics import Statistic
from .assumptions import ROUND_ROBIN, replayed
from .bounds import CaronBounds, caron_bounds, n_bound_runs
from .settings import POLICIES, SETS, THEIRS, VARIANTS, CaronOptions, Setting, Values, measured
from .trees import TreeRuns, n_tree_runs, tree_runs

_GRID_POLICIES = (*THEIRS, ROUND_ROBIN)
_DRAWS_A_BATCH = 2

Cell: TypeAlias = Sample[Values]
"""The runs of a policy in a setting: what was measured, one for each draw."""


def cloud_use_percent(cell: Cell) -> Statistic | None:
    """Percentage of the paid cloud time in use; None if none is paid."""
    return cell.share_percent(itemgetter("cloud_work_h"), itemgetter("cloud_paid_h"))


Cells: TypeAlias = dict[Setting, dict[str, Cell]]
"""Cells by setting and policy."""


@dataclass(frozen=True, slots=True)
class CaronRuns:
    """Replays behind the figures.

    Attributes
    ----------
    grid : dict
        By setting and policy: cluster sizes, budgets and numbers that the paper might have had.
    trees : sequence of TreeRuns
        Trees of agents.
    figures : dict
        By setting and policy: those of Figs 2 to 7, and for big jobs; empty if only statements are judged.
    bounds : CaronBounds, optional
        What no schedule of the same jobs can beat; likewise.
    """

    grid: Cells
    trees: Sequence[TreeRuns]
    figures: Cells
    bounds: CaronBounds | None


def figure_settings(options: CaronOptions) -> list[Setting]:
    """The settings of the figures, set by set."""
    return [Setting(kind, number) for kind in SETS for number in options.numbers]


def grid_settings(options: CaronOptions) -> list[Setting]:
    """Possible settings of the paper."""
    product = itertools.product(SETS, options.numbers, options.processors, options.budgets, [options.assumptions])
    return [Setting(*values) for values in product]


def n_caron_runs(options: CaronOptions) -> int:
    """Number of draws, replays of trees and bounds reported by `caron_runs`."""
    judged = len(grid_settings(options)) * options.draws_over_the_grid + n_tree_runs(options)
    if options.only_statements:
        return judged
    return judged + len(figure_settings(options)) * options.runs + n_bound_runs(options)


def caron_runs(options: CaronOptions, on_runs: OnRuns) -> CaronRuns:
    """Replay all settings."""
    grid = _cells(grid_settings(options), _GRID_POLICIES, options.draws_over_the_grid, options, on_runs)
    trees = tree_runs(options, on_runs)
    if options.only_statements:
        return CaronRuns(grid, trees, {}, None)
    figures = _cells(figure_settings(options), (*POLICIES, *VARIANTS), options.runs, options, on_runs)
    return CaronRuns(grid, trees, figures, caron_bounds(options, on_runs))


def _cells(
    settings: Sequence[Setting], policies: tuple[str, ...], draws: int, options: CaronOptions, on_runs: OnRuns
) -> Cells:
    last = options.seed + draws
    seeds = [range(first, min(first + _DRAWS_A_BATCH, last)) for first in range(options.seed, last, _DRAWS_A_BATCH)]
    # All settings go to the processes together, so that none of these waits for the last draw of a setting.
    batches = [(setting, batch) for setting in settings for batch in seeds]
    found: dict[Setting, list[list[Values]]] = {setting: [] for setting in settings}
    for (setting, batch), rows in zip(batches, each(partial(_batch, policies), batches, options.workers), strict=True):
        found[setting] += rows
        on_runs(len(batch), f"{setting.number} {setting.kind} jobs")
    return {
        setting: {policy: Sample(tuple(row[place] for row in rows)) for place, policy in enumerate(policies)}
        for setting, rows in found.items()
    }


@cache  # settings of the sensitivity with fewer sizes, numbers or budgets are among those of the page
def _batch(policies: tuple[str, ...], batch: tuple[Setting, range]) -> list[list[Values]]:
    """Replay some draws of a setting under all policies: a row of values for each draw."""
    setting, seeds = batch
    rows = []
    for seed in seeds:
        platform = setting.platform(seed)
        rows.append([measured(replayed(platform, policy, seed, setting.assumptions), platform) for policy in policies])
    return rows
