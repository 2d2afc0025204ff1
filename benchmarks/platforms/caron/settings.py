"""What is replayed for Caron & de Assuncao: sets of jobs on their hybrid platform, under many policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from ....instances.platforms.entries import AllocatedCluster, AvailabilityStep, DedicatedCluster, Resource
from ....instances.platforms.job_draws import JobSetKind, draw_malleable_jobs, largest_cluster
from ....instances.platforms.platform import Platform
from ....instances.platforms.platform_files import library_platform
from ....replay.platforms.engine import PlatformReplay
from ....replay.platforms.outcome import PlatformOutcome
from ....replay.platforms.policies import platform_policy
from ...paper import PaperOptions

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


@dataclass(frozen=True, slots=True)
class CaronOptions(PaperOptions):
    """What is replayed.

    Attributes
    ----------
    numbers, grid_numbers : tuple of int
        Jobs in a set; those of the settings that are not printed.
    fan_outs : mapping of int to tuple of int
        Of trees of agents: most children of an agent, by the number of resources; the last is all of them.
    """

    runs: int = 20
    numbers: tuple[int, ...] = NUMBERS
    grid_numbers: tuple[int, ...] = GRID_NUMBERS
    fan_outs: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: FAN_OUTS)

    def about(self) -> dict[str, Any]:
        """Return what a file of results says of them."""
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


def replayed(platform: Platform, policy: str, seed: int) -> PlatformOutcome:
    """Replay a policy; the seed is that of what it draws."""
    return PlatformReplay(platform, platform_policy(policy)(seed), seed=seed).run()
