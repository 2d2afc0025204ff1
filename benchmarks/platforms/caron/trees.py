"""Trees of agents above the same resources: what depth costs in messages, and what it changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any, TypeAlias

from spotbag.core.quantities import SECONDS_PER_HOUR
from spotbag.core.workers import each
from spotbag.instances.platforms.agent_trees import depth_of, many_resources, regrouped
from spotbag.instances.platforms.job_draws import draw_malleable_jobs, largest_cluster
from spotbag.instances.platforms.platform import Platform
from spotbag.replay.platforms.candidate import Preference, least_delay, least_overspend
from spotbag.replay.platforms.engine import PlatformReplay
from spotbag.replay.platforms.local_scheduler import PlatformRules
from spotbag.replay.platforms.outcome import PlatformOutcome
from spotbag.replay.platforms.policies import PreferringPolicy, asked_of_all, asked_of_tree

from ...paper import OnRuns
from .settings import MONEY, CaronOptions, replayed

_PROCESSORS = 4
_JOBS = 100
_GAP_S = 1.0
"""Processors of a cluster, jobs, and seconds between them, such that some are late, displaced and sent on."""

_DRAWS = 2

_STRATEGIES = (least_delay, least_overspend)
"""Strategies of step 4."""


@dataclass(frozen=True, slots=True)
class TreeShape:
    """Cost of a placement in a tree, by the shape of the tree.

    Attributes
    ----------
    resources, agents : int
        Leaves and inner nodes.
    depth : int
        Levels of agents: the paper's ``m``.
    children : int
        Most nodes right below an agent: the paper's ``n``.
    messages : int
        Of a placement that asks everybody: a question and an answer for each node below the root.
    busiest : int
        Of them, those that one agent sends or gets, at most.
    path : int
        Answers that are handled one after another, at most: each agent on the way handles those of its children, and
        only then is its own answer there.
    """

    resources: int
    agents: int
    depth: int
    children: int
    messages: int
    busiest: int
    path: int


@dataclass(frozen=True, slots=True)
class TreeRuns:
    """The replays of the same jobs on the same resources below a tree.

    Attributes
    ----------
    shape : TreeShape
        The tree.
    messages, comparisons : tuple of float
        For each placement, of each draw.
    cost, execution_time_h, delay_h : tuple of float
        Of each draw.
    same : tuple of bool
        Of each draw, whether every job starts, ends and costs as it does below the root alone.
    as_basic : tuple of bool
        Of the root alone, of each draw and each strategy of step 4: whether every job starts, ends and costs as it does
        where a scheduler asks all resources itself; none of other trees.
    """

    shape: TreeShape
    messages: tuple[float, ...]
    comparisons: tuple[float, ...]
    cost: tuple[float, ...]
    execution_time_h: tuple[float, ...]
    delay_h: tuple[float, ...]
    same: tuple[bool, ...]
    as_basic: tuple[bool, ...]


def tree_draws(options: CaronOptions) -> int:
    """Number of draws replayed in each tree."""
    return min(options.runs, _DRAWS)


def n_tree_runs(options: CaronOptions) -> int:
    """Number of replays by `tree_runs`."""
    return sum(map(len, options.fan_outs.values())) * tree_draws(options)


def shape_of(platform: Platform) -> TreeShape:
    """Return the cost of a placement in a tree."""
    children = platform.children
    nodes = len(platform.agents) + len(platform.resources)
    return TreeShape(
        resources=len(platform.resources),
        agents=len(platform.agents),
        depth=depth_of(platform),
        children=max(map(len, children.values())),
        messages=2 * (nodes - 1),
        busiest=max(2 * (len(below) + (agent != platform.root)) for agent, below in children.items()),
        path=_path(platform, platform.root),
    )


def _path(platform: Platform, agent: str) -> int:
    below = platform.children[agent]
    return len(below) + max((_path(platform, child) for child in below if child in platform.children), default=0)


def tree_runs(options: CaronOptions, on_runs: OnRuns) -> tuple[TreeRuns, ...]:
    """Replay common draws of jobs below trees of all fan-outs, for each number of resources."""
    cases = [
        (resources, fan_outs, seed) for resources, fan_outs in options.fan_outs.items() for seed in tree_seeds(options)
    ]
    found: dict[int, list[list[_Draw]]] = {resources: [] for resources in options.fan_outs}
    for (resources, _, _), rows in zip(cases, each(_draw_in_all_trees, cases, options.workers), strict=True):
        found[resources].append(rows)
        on_runs(len(rows), f"trees of {resources} resources")
    return tuple(_joined(draws) for rows in found.values() for draws in zip(*rows, strict=True))


def tree_seeds(options: CaronOptions) -> range:
    """Seeds of the draws."""
    return range(options.seed, options.seed + tree_draws(options))


_Draw: TypeAlias = tuple[TreeShape, tuple[Any, ...], tuple[bool, ...]]
"""A draw in a tree: the fields of `TreeRuns` for one draw, those in the middle together."""


@cache  # no assumption changes them: all settings of the sensitivity have the same
def _draw_in_all_trees(case: tuple[int, tuple[int, ...], int]) -> list[_Draw]:
    """Replay a draw of the jobs in all trees; the last tree is the root alone."""
    n_resources, fan_outs, seed = case
    clusters = n_resources // 3
    flat = many_resources(n_resources - 2 * clusters, clusters, clusters, _PROCESSORS)
    jobs = draw_malleable_jobs(_JOBS, "mixed", seed, max_processors=largest_cluster(flat), mean_gap_s=_GAP_S)
    platforms = [regrouped(flat, fan_out).with_jobs(jobs) for fan_out in fan_outs]
    outcomes = [replayed(platform, MONEY, seed) for platform in platforms]
    root_alone = outcomes[-1]
    draws = []
    for platform, outcome in zip(platforms, outcomes, strict=True):
        alone = [_as_basic(platform, strategy, seed) for strategy in _STRATEGIES if platform is platforms[-1]]
        asked = outcome.messages / outcome.placements, outcome.comparisons / outcome.placements
        hours = outcome.execution_time_s / SECONDS_PER_HOUR, outcome.delay_s / SECONDS_PER_HOUR
        values = *asked, outcome.cost, *hours, _alike(outcome, root_alone)
        draws.append((shape_of(platform), values, tuple(alone)))
    return draws


def _as_basic(platform: Platform, preference: Preference, seed: int) -> bool:
    """True if a tree places jobs as one scheduler does that asks all resources itself, for a strategy of step 4."""
    rules = PlatformRules()
    policies = [PreferringPolicy("one", asked, preference, rules) for asked in (asked_of_tree, asked_of_all)]
    by_tree, by_itself = (PlatformReplay(platform, policy, seed=seed).run() for policy in policies)
    return _alike(by_tree, by_itself)


def _alike(one: PlatformOutcome, other: PlatformOutcome) -> bool:
    return (one.jobs, one.machines) == (other.jobs, other.machines)


def _joined(draws: Sequence[_Draw]) -> TreeRuns:
    """Put the draws of a tree together."""
    shapes, values, alone = zip(*draws, strict=True)
    columns: list[tuple[Any, ...]] = [*zip(*values, strict=True), tuple(chain.from_iterable(alone))]
    return TreeRuns(shapes[0], *columns)
