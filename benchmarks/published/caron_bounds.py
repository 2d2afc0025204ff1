"""How far the policies of Caron & de Assuncao are from what no schedule of the same jobs can beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...instances.malleable_jobs import JobSetKind
from ...instances.platforms import Platform
from ...replay.platforms.engine import PlatformReplay
from ...replay.platforms.outcome import PlatformOutcome
from ...replay.platforms.policies import platform_policy
from ...solvers.platform_bound import frontier, platform_bound
from .caron_runs import (
    MONEY,
    POLICIES,
    ROUND_ROBIN,
    SECONDS_PER_HOUR,
    SETS,
    TIME,
    CaronOptions,
    Setting,
    Values,
    in_batches,
)
from .published_days import OnDays

BOUNDED = (MONEY, TIME, ROUND_ROBIN)
"""Policies that are compared with bounds."""

FRONTIER_NUMBER = 200
_POINTS = 9
_DRAWS = 2
_SLOTS = 400
"""How finely time is divided: ten times as many slots move the bounds by some percent."""


@dataclass(frozen=True, slots=True)
class CaronBounds:
    """Bounds beside the policies that they are of.

    Attributes
    ----------
    gaps : dict
        By setting and policy, for each draw: cost, delay and execution time, the least cost with no more delay, and
        the least execution time with no more cost.
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
    """How many draws `caron_bounds` tells of."""
    return len(SETS) * (len(options.numbers) * bound_draws(options) + 1)


def caron_bounds(options: CaronOptions, on_runs: OnDays) -> CaronBounds:
    """Find the bounds."""
    seeds = range(options.seed, options.seed + bound_draws(options))
    settings = [Setting(kind, number) for kind in SETS for number in options.numbers]
    cases = [(setting, seed) for setting in settings for seed in seeds]
    gaps: dict[Setting, dict[str, list[Values]]] = {
        setting: {policy: [] for policy in BOUNDED} for setting in settings
    }
    for (setting, _), found in zip(cases, in_batches(_gaps, cases, options.jobs), strict=True):
        for policy, values in found.items():
            gaps[setting][policy].append(values)
        on_runs(1, f"bounds, {setting.number} {setting.kind} jobs")
    number = frontier_number(options)
    frontiers: dict[JobSetKind, list[tuple[float, float]]] = {}
    points: dict[JobSetKind, dict[str, tuple[float, float]]] = {}
    fronts = [(Setting(kind, number), options.seed) for kind in SETS]
    for (setting, _), (line, placed) in zip(fronts, in_batches(_front, fronts, options.jobs), strict=True):
        frontiers[setting.kind], points[setting.kind] = line, placed
        on_runs(1, f"frontier, {setting.kind} jobs")
    return CaronBounds(gaps, frontiers, points, number)


def frontier_number(options: CaronOptions) -> int:
    """Jobs of the frontiers: the number of the figures that is next to `FRONTIER_NUMBER`."""
    return min(options.numbers, key=lambda number: (abs(number - FRONTIER_NUMBER), number))


def _replayed(platform: Platform, policy: str, seed: int) -> PlatformOutcome:
    return PlatformReplay(platform, platform_policy(policy)(seed), seed=seed).run()


def _gaps(case: tuple[Setting, int]) -> dict[str, Values]:
    setting, seed = case
    platform = setting.platform(seed)
    return {policy: _with_bounds(platform, _replayed(platform, policy, seed)) for policy in BOUNDED}


def _with_bounds(platform: Platform, outcome: PlatformOutcome) -> Values:
    """Return what a run came to, and the least that any schedule comes to with no more delay, and no more cost."""
    cost = platform_bound(platform, "cost", delay_s_at_most=outcome.delay_s, most_slots=_SLOTS)
    time_s = platform_bound(platform, "execution_time_s", cost_at_most=outcome.cost, most_slots=_SLOTS)
    return {
        "cost": outcome.cost,
        "least_cost": cost.value,
        "delay_h": outcome.delay_s / SECONDS_PER_HOUR,
        "execution_time_h": outcome.execution_time_s / SECONDS_PER_HOUR,
        "least_execution_time_h": time_s.value / SECONDS_PER_HOUR,
    }


def _front(case: tuple[Setting, int]) -> tuple[list[tuple[float, float]], dict[str, tuple[float, float]]]:
    """Return the frontier of a draw, and where the policies are."""
    setting, seed = case
    platform = setting.platform(seed)
    steps = frontier(platform, "cost", "delay_s", points=_POINTS, most_slots=_SLOTS)
    line = [(cost, delay_s / SECONDS_PER_HOUR) for cost, delay_s in steps]
    outcomes = {policy: _replayed(platform, policy, seed) for policy in POLICIES}
    return line, {policy: (run.cost, run.delay_s / SECONDS_PER_HOUR) for policy, run in outcomes.items()}


BOUNDED_METRICS = ("cost", "execution_time_h")


def gap_percent(rows: Sequence[Values], metric: str) -> list[float]:
    """By how many percent the least of a metric is below what a policy came to; 0 if that is 0."""
    return [100 * (1 - row[f"least_{metric}"] / row[metric]) if row[metric] else 0.0 for row in rows]
