"""The runs of Caron & de Assuncao: sets of jobs on their hybrid platform, clusters and budgets of several sizes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

from ....core.processes import each
from ....core.statistics import Statistic
from ....instances.platforms.entries import AllocatedCluster, AvailabilityStep, DedicatedCluster, Resource
from ....instances.platforms.job_draws import JobSetKind, draw_malleable_jobs, largest_cluster
from ....instances.platforms.platform import Platform
from ....instances.platforms.platform_files import library_platform
from ....replay.platforms.engine import PlatformReplay
from ....replay.platforms.outcome import PlatformOutcome
from ....replay.platforms.policies import platform_policy
from ...paper import OnDays
from ...sample import Sample

PAPER = "Caron & de Assuncao"
PLATFORM = "caron/hybrid"
SETS: tuple[JobSetKind, ...] = ("mixed", "small", "big")
"""In the order of the figures."""

NUMBERS = (25, 50, 100, 200, 400)
"""Of jobs in a set; the paper increases it gradually, and does not say how far."""

PROCESSORS = 64
BUDGETS = (1.0, 4.0)
"""Of each cluster; for a processor-minute, from and to. Neither is printed."""

GRID_PROCESSORS = (16, 64, 256, 1024)
GRID_BUDGETS = ((0.5, 2.0), BUDGETS, (4.0, 16.0))
GRID_NUMBERS = (50, 200)
"""What is not printed, varied."""

FAN_OUTS: Mapping[int, tuple[int, ...]] = {64: (2, 4, 8, 16, 64), 256: (2, 4, 8, 16, 64, 256)}
"""Most children of an agent, by the number of resources."""

_GRID_DRAWS = 10
_DRAWS_A_BATCH = 2
SECONDS_PER_HOUR = 3600
_MINUTES_PER_HOUR = 60


MONEY, TIME, ROUND_ROBIN = "money-saving", "time-saving", "round-robin"
CHEAPEST, FASTEST = "cheapest-of-all", "fastest-of-all"
OURS = TIME + "+deadline+patient+exact"
"""Policy B by rules of ours: queues by deadline above all."""
POLICIES = (MONEY, TIME, ROUND_ROBIN, CHEAPEST, FASTEST, OURS)
THEIRS = (MONEY, TIME)
"""Policies A and B of the paper."""


RULES = ("+exact", "+patient", "+deadline", "+deadline+patient+exact")
"""Rules that are not the paper's, each added to both policies; see `SUFFIXES`."""

EXACT, PATIENT, BY_DEADLINE = RULES[:3]
VARIANTS = tuple(policy + rules for policy in THEIRS for rules in RULES if policy + rules != OURS)
_GRID_POLICIES = (*THEIRS, ROUND_ROBIN)


@dataclass(frozen=True, slots=True)
class CaronOptions:
    """What is replayed.

    Attributes
    ----------
    runs : int
        Draws of each set of jobs, the same for all policies.
    seed : int
        Of the first draw.
    workers : int
        Processes.
    numbers, grid_numbers : tuple of int
        Jobs in a set; those of the settings that are not printed.
    fan_outs : mapping of int to tuple of int
        Of trees of agents: most children of an agent, by the number of resources; the last is all of them.
    """

    runs: int = 20
    seed: int = 0
    workers: int = 1
    numbers: tuple[int, ...] = NUMBERS
    grid_numbers: tuple[int, ...] = GRID_NUMBERS
    fan_outs: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: FAN_OUTS)

    def about(self) -> dict[str, Any]:
        """Return what a file of results says of them; the number of processes changes nothing."""
        return {"runs": self.runs, "seed": self.seed, "numbers": list(self.numbers)}

    @property
    def grid_draws(self) -> int:
        """Draws of the settings that are not printed."""
        return min(self.runs, _GRID_DRAWS)


class Setting(NamedTuple):
    """A set of jobs, and what the paper does not say.

    Attributes
    ----------
    kind : {"mixed", "small", "big"}
        Of the jobs.
    number : int
        How many.
    processors : int
        Of each of the two clusters.
    budgets : (float, float)
        Budget for a processor-minute, from and to.
    """

    kind: JobSetKind
    number: int
    processors: int = PROCESSORS
    budgets: tuple[float, float] = BUDGETS

    def platform(self, seed: int) -> Platform:
        """Return the platform with a draw of the jobs."""
        platform = _with_clusters_of(library_platform(PLATFORM), self.processors)
        jobs = draw_malleable_jobs(
            self.number,
            self.kind,
            seed,
            max_processors=largest_cluster(platform),
            budget_per_processor_minute=self.budgets,
        )
        return platform.with_jobs(jobs)


def _with_clusters_of(platform: Platform, processors: int) -> Platform:
    """Return a platform in which each cluster has so many processors."""

    def resized(resource: Resource) -> Resource:
        if isinstance(resource, DedicatedCluster):
            return resource.model_copy(update={"processors": processors})
        if isinstance(resource, AllocatedCluster):
            always = (AvailabilityStep(from_s=0, processors=processors),)
            return resource.model_copy(update={"availability": always, "repeat_s": None})
        return resource

    return platform.replace(resources=tuple(resized(resource) for resource in platform.resources))


Values: TypeAlias = dict[str, float]
"""Of a run, by the name of the quantity."""

METRICS = ("cost", "execution_time_h", "delay_h")
"""The three of section VI."""


def measured(outcome: PlatformOutcome, platform: Platform) -> Values:
    """Return what is kept of a run."""
    sizes = {job.id: job.size_processor_minutes for job in platform.jobs}
    work = {resource.id: 0 for resource in platform.resources}
    for job in outcome.jobs:
        work[job.resource] += sizes[job.id]
    cloud = platform.resources[-1]
    assert cloud.kind == "cloud", "the last resource of the platform is the cloud"
    hours = sum(machine.hours for machine in outcome.machines)
    return {
        "cost": outcome.cost,
        "execution_time_h": outcome.execution_time_s / SECONDS_PER_HOUR,
        "delay_h": outcome.delay_s / SECONDS_PER_HOUR,
        "late_jobs": outcome.late_jobs,
        "overspend": outcome.overspend,
        "overspent_jobs": outcome.overspent_jobs,
        "bad_percent": 100 * outcome.bad / outcome.placements,
        "displaced": outcome.displaced,
        **{f"{name}_percent": 100 * done / sum(sizes.values()) for name, done in work.items()},
        "cloud_work_h": work[cloud.id] / _MINUTES_PER_HOUR,
        "cloud_paid_h": float(hours * cloud.processors_per_vm),
    }


Cell: TypeAlias = Sample[Values]
"""The runs of a policy in a setting: what was measured, one for each draw."""


def cloud_use_percent(cell: Cell) -> Statistic | None:
    """Percentage that is used of what is paid in the cloud; None if nothing is."""
    return cell.share_percent(itemgetter("cloud_work_h"), itemgetter("cloud_paid_h"))


Cells: TypeAlias = dict[Setting, dict[str, Cell]]
"""By setting and policy."""


@dataclass(frozen=True, slots=True)
class CaronRuns:
    """All replays that the figures are made of.

    Attributes
    ----------
    figures : dict
        By setting and policy: those of Figs 2 to 7, and for big jobs.
    grid : dict
        By setting and policy: cluster sizes, budgets and numbers that the paper might have had.
    """

    figures: Cells
    grid: Cells


def figure_settings(options: CaronOptions) -> list[Setting]:
    """The settings of the figures, set by set."""
    return [Setting(kind, number) for kind in SETS for number in options.numbers]


def grid_settings(options: CaronOptions) -> list[Setting]:
    """Settings that the paper might have had."""
    product = itertools.product(SETS, options.grid_numbers, GRID_PROCESSORS, GRID_BUDGETS)
    return [Setting(*values) for values in product]


def n_caron_runs(options: CaronOptions) -> int:
    """How many draws `caron_runs` replays."""
    return len(figure_settings(options)) * options.runs + len(grid_settings(options)) * options.grid_draws


def caron_runs(options: CaronOptions, on_runs: OnDays) -> CaronRuns:
    """Replay all settings."""
    figures = _cells(figure_settings(options), (*POLICIES, *VARIANTS), options.runs, options, on_runs)
    grid = _cells(grid_settings(options), _GRID_POLICIES, options.grid_draws, options, on_runs)
    return CaronRuns(figures, grid)


def _cells(
    settings: Sequence[Setting], policies: Sequence[str], draws: int, options: CaronOptions, on_runs: OnDays
) -> Cells:
    last = options.seed + draws
    seeds = [range(first, min(first + _DRAWS_A_BATCH, last)) for first in range(options.seed, last, _DRAWS_A_BATCH)]
    batches = [(setting, batch) for setting in settings for batch in seeds]
    found: dict[Setting, list[list[Values]]] = {setting: [] for setting in settings}
    for (setting, batch), rows in zip(batches, each(partial(_batch, policies), batches, options.workers), strict=True):
        found[setting] += rows
        on_runs(len(batch), f"{setting.number} {setting.kind} jobs")
    return {
        setting: {policy: Sample(tuple(row[place] for row in rows)) for place, policy in enumerate(policies)}
        for setting, rows in found.items()
    }


def _batch(policies: Sequence[str], batch: tuple[Setting, Sequence[int]]) -> list[list[Values]]:
    """Replay some draws of a setting under all policies: a row of values for each draw."""
    setting, seeds = batch
    rows = []
    for seed in seeds:
        platform = setting.platform(seed)
        rows.append([measured(replayed(platform, policy, seed), platform) for policy in policies])
    return rows


def replayed(platform: Platform, policy: str, seed: int) -> PlatformOutcome:
    """Replay a policy; the seed is that of what it draws."""
    return PlatformReplay(platform, platform_policy(policy)(seed), seed=seed).run()
