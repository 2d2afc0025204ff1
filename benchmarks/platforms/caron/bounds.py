"""Distance of the policies of Caron & de Assuncao from bounds for any schedule of the same jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spotbag.core.quantities import SECONDS_PER_HOUR
from spotbag.core.workers import each
from spotbag.instances.platforms.job_draws import JobSetKind
from spotbag.instances.platforms.platform import Platform
from spotbag.replay.platforms.outcome import PlatformOutcome
from spotbag.solvers.platforms.bound import frontier, platform_bound

from ...paper import OnRuns
from .assumptions import ROUND_ROBIN, replayed
from .settings import MONEY, POLICIES, SETS, TIME, CaronOptions, Setting, Values

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
    steps = frontier(platform, "cost", "delay_s", points=_POINTS, most_slots=_SLOTS)
    line = [(cost, delay_s / SECONDS_PER_HOUR) for cost, delay_s in steps]
    outcomes = {policy: replayed(platform, policy, seed) for policy in POLICIES}
    return line, {policy: (run.cost, run.delay_s / SECONDS_PER_HOUR) for policy, run in outcomes.items()}


def gap_percent(rows: Sequence[Values]) -> list[float]:
    """Percentage by which the least cost is below the cost of a policy; 0 if the latter is 0."""
    return [100 * (1 - row["least_cost"] / row["cost"]) if row["cost"] else 0.0 for row in rows]
