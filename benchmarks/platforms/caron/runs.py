"""The runs of Caron & de Assuncao: the figures, what is not printed, trees of agents, and bounds for any schedule."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import itemgetter
from typing import TypeAlias

from spotbag.core.quantities import SECONDS_PER_HOUR
from spotbag.core.workers import each
from spotbag.instances.platforms.job_draws import JobSetKind
from spotbag.instances.platforms.platform import Platform
from spotbag.replay.platforms.outcome import PlatformOutcome
from spotbag.solvers.platforms.bound import frontier, platform_bound

from ...paper import OnRuns
from ...statistics import Sample, Statistic
from .settings import (
    MONEY,
    POLICIES,
    ROUND_ROBIN,
    SETS,
    THEIRS,
    TIME,
    VARIANTS,
    CaronOptions,
    Setting,
    Values,
    measured,
    replayed,
)
from .trees import TreeRuns, n_tree_runs, tree_runs

BOUNDED = (MONEY, TIME, ROUND_ROBIN)
"""Policies that are compared with bounds."""

FRONTIER_NUMBER = 200
_POINTS = 6
_DRAWS = 4
_LARGEST = 3
"""Sets that are bounded, of each kind, from the largest down: smaller ones fit in the free cluster, by the bound."""

_SLOTS = 400
"""Slots into which time is divided: ten times as many move the bounds by some percent."""


@dataclass(frozen=True, slots=True)
class CaronBounds:
    """Bounds beside the policies that they are of.

    Attributes
    ----------
    gaps : dict
        By setting and policy, for each draw: cost, delay, and the least cost with no more delay.
    frontiers : dict of str to list of (float, float)
        By the kind of the jobs, cost and the least delay (h) with no more cost: no schedule lies below.
    points : dict of str to dict
        By the kind of the jobs and the policy, cost and delay (h) with the same jobs.
    number : int
        Jobs of the frontiers.
    """

    gaps: dict[Setting, dict[str, list[Values]]]
    frontiers: dict[JobSetKind, list[tuple[float, float]]]
    points: dict[JobSetKind, dict[str, tuple[float, float]]]
    number: int


def bound_draws(options: CaronOptions) -> int:
    """Draws of each setting that are compared with bounds."""
    return min(options.runs, _DRAWS)


def n_bound_runs(options: CaronOptions) -> int:
    """Number of draws reported by `caron_bounds`."""
    return len(SETS) * (len(_numbers(options)) * bound_draws(options) + 1)


def _numbers(options: CaronOptions) -> list[int]:
    return sorted(options.numbers)[-_LARGEST:]


def caron_bounds(options: CaronOptions, on_runs: OnRuns) -> CaronBounds:
    """Find the bounds."""
    seeds = range(options.seed, options.seed + bound_draws(options))
    settings = [Setting(kind, number) for kind in SETS for number in _numbers(options)]
    cases = [(setting, seed) for setting in settings for seed in seeds]
    gaps: dict[Setting, dict[str, list[Values]]] = {setting: {policy: [] for policy in BOUNDED} for setting in settings}
    for (setting, _), found in zip(cases, each(_gaps, cases, options.workers), strict=True):
        for policy, values in found.items():
            gaps[setting][policy].append(values)
        on_runs(1, f"bounds, {setting.number} {setting.kind} jobs")
    number = frontier_number(options)
    frontiers: dict[JobSetKind, list[tuple[float, float]]] = {}
    points: dict[JobSetKind, dict[str, tuple[float, float]]] = {}
    fronts = [(Setting(kind, number), options.seed) for kind in SETS]
    for (setting, _), (line, placed) in zip(fronts, each(_front, fronts, options.workers), strict=True):
        frontiers[setting.kind], points[setting.kind] = line, placed
        on_runs(1, f"frontier, {setting.kind} jobs")
    return CaronBounds(gaps, frontiers, points, number)


def frontier_number(options: CaronOptions) -> int:
    """Jobs of the frontiers: the number of the figures that is next to `FRONTIER_NUMBER`."""
    return min(options.numbers, key=lambda number: (abs(number - FRONTIER_NUMBER), number))


def _gaps(case: tuple[Setting, int]) -> dict[str, Values]:
    setting, seed = case
    platform = setting.platform(seed)
    return {policy: _with_bounds(platform, replayed(platform, policy, seed)) for policy in BOUNDED}


def _with_bounds(platform: Platform, outcome: PlatformOutcome) -> Values:
    """Return the cost of a run, and the least cost of any schedule with no more delay."""
    cost = platform_bound(platform, "cost", delay_s_at_most=outcome.delay_s, most_slots=_SLOTS)
    return {
        "cost": outcome.cost,
        "least_cost": cost.value,
        "delay_h": outcome.delay_s / SECONDS_PER_HOUR,
    }


def _front(case: tuple[Setting, int]) -> tuple[list[tuple[float, float]], dict[str, tuple[float, float]]]:
    """Return the frontier of a draw, and where the policies are."""
    setting, seed = case
    platform = setting.platform(seed)
    # Bounds of one draw: a frontier of means would bound no schedule.
    steps = frontier(platform, "cost", "delay_s", points=_POINTS, most_slots=_SLOTS)
    line = [(cost, delay_s / SECONDS_PER_HOUR) for cost, delay_s in steps]
    outcomes = {policy: replayed(platform, policy, seed) for policy in POLICIES}
    return line, {policy: (run.cost, run.delay_s / SECONDS_PER_HOUR) for policy, run in outcomes.items()}


def gap_percent(rows: Sequence[Values]) -> list[float]:
    """Percentage by which the least cost is below the cost of a policy; 0 if the latter is 0."""
    return [100 * (1 - row["least_cost"] / row["cost"]) if row["cost"] else 0.0 for row in rows]


# ---------------------------------------------------------------------------- runs


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
