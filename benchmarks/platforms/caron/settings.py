"""Settings of the replays of Caron & de Assuncao: sets of jobs on their hybrid platform; assumptions, and replays.

Assumptions are made where they are silent: on sizes and budgets, and on more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from spotbag.core.quantities import SECONDS_PER_HOUR
from spotbag.instances.platforms.entries import (
    MAX_MACHINES_PER_JOB,
    SLOT_S,
    AllocatedCluster,
    AvailabilityStep,
    Cloud,
    DedicatedCluster,
    Resource,
)
from spotbag.instances.platforms.job_draws import JobSetKind, draw_malleable_jobs, largest_cluster
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.replay.platforms.candidate import Candidate, PlatformJob
from spotbag.replay.platforms.cloud import CloudScheduler
from spotbag.replay.platforms.cluster import ClusterScheduler
from spotbag.replay.platforms.engine import PlatformReplay
from spotbag.replay.platforms.local_scheduler import CloudEstimates, PlatformRules
from spotbag.replay.platforms.outcome import PlatformOutcome
from spotbag.replay.platforms.policies import platform_policy
from spotbag.replay.platforms.state import PlatformPolicy, PlatformState

from ...paper import PaperOptions

ROUND_ROBIN = "round-robin"
NONE_DISPLACED = ", none displaced"
"""Added to the name of a policy: clusters make no room by pushing others out."""


@dataclass(frozen=True, slots=True)
class Assumptions:
    """Assumptions where the paper is silent; the defaults are those of our figures.

    Attributes
    ----------
    processors_per_vm : int
        Of a cloud machine, at the printed price for a processor; the paper prints 8.
    estimates : {"printed", "exact"}
        What a cloud promises; ``get_time`` of Algorithm 3 is not printed. See `PlatformRules`.
    deadline_clusters : int
        The shortest run time that a deadline allows is on the processors of so many clusters.
    mean_gap_s : float
        Between arrivals; the paper prints a minute.
    round_robin : {"drawn", "in turn"}
        Whether a resource is drawn for each job, as the text says, or each has its turn, as the name says.
    speed_up_exponent : float
        A job on p processors is p to this power as fast as on one, from above 0 to 1; it is linear in the paper's
        algorithms.
    """

    processors_per_vm: int = 8
    estimates: CloudEstimates = "printed"
    deadline_clusters: int = 1
    mean_gap_s: float = 60.0
    round_robin: Literal["drawn", "in turn"] = "drawn"
    speed_up_exponent: float = 1.0


AS_OURS = Assumptions()


class InTurn(PlatformPolicy):
    """Sends each job to the next resource, the first one after the last; nothing is displaced."""

    name = ROUND_ROBIN
    displaces = False

    def __init__(self, rules: PlatformRules) -> None:
        self.rules = rules
        self._next = 0

    def choose(self, replay: PlatformState, job: PlatformJob, sender: int) -> Candidate | None:
        """Take the resource whose turn it is."""
        resource = replay.schedulers[self._next]
        self._next = (self._next + 1) % len(replay.schedulers)
        return resource.offer_without_displacement(job, replay.now_s)


class PowerLawCloud(CloudScheduler):
    """A cloud where a job on p processors is only p to a power as fast as on one.

    Clusters need no such class. They give all processors to one job after the other: a cluster on which jobs are ``s``
    times as fast as on one processor works as one of ``s`` processors with linear speed-up, at the price of all.

    Parameters
    ----------
    index, cloud, rules
        As of a `CloudScheduler`.
    exponent : float
        The power, as in the speed-up of Prasanna and Musicus (1996).
    """

    def __init__(self, index: int, cloud: Cloud, rules: PlatformRules, exponent: float) -> None:
        super().__init__(index, cloud, rules)
        self._per_vm = cloud.processors_per_vm
        self._exponent = exponent

    def machines_for(self, job: PlatformJob, time_s: int) -> int:
        """Fewest machines for a job in a given time; no more than a job may have."""
        # The inverse of the power law, which rounding may leave one machine short.
        enough = (job.size * SLOT_S / time_s) ** (1 / self._exponent) / self._per_vm
        machines = max(min(int(enough), MAX_MACHINES_PER_JOB), 1)
        while machines < MAX_MACHINES_PER_JOB and self.run_s(job, machines) > time_s:
            machines += 1
        return machines

    def run_s(self, job: PlatformJob, machines: int) -> int:
        """Run time of a job on some machines."""
        # Rounded up: in a part of a second a job has not ended.
        return -int(-job.size * SLOT_S // (machines * self._per_vm) ** self._exponent)


class AssumedReplay(PlatformReplay):
    """A replay in which the speed-up need not be linear.

    Parameters
    ----------
    exponent : float
        See `Assumptions`.
    platform, policy, seed
        As of a `PlatformReplay`.
    """

    def __init__(self, platform: Platform, policy: PlatformPolicy, seed: int, exponent: float) -> None:
        self._exponent = exponent
        super().__init__(platform, policy, seed=seed)

    def _scheduler_of(self, index: int, resource: Resource) -> ClusterScheduler | CloudScheduler:
        if isinstance(resource, Cloud) and self._exponent < 1:
            return PowerLawCloud(index, resource, self.rules, self._exponent)
        return super()._scheduler_of(index, resource)


def replayed(platform: Platform, policy: str, seed: int, assumptions: Assumptions = AS_OURS) -> PlatformOutcome:
    """Replay a policy; the seed is that of what it draws."""
    return AssumedReplay(platform, _policy(policy, seed, assumptions), seed, assumptions.speed_up_exponent).run()


def _policy(name: str, seed: int, assumptions: Assumptions) -> PlatformPolicy:
    exact = "+exact" if assumptions.estimates == "exact" else ""
    policy = platform_policy(name.removesuffix(NONE_DISPLACED) + exact)(seed)
    if name.endswith(NONE_DISPLACED):
        policy.displaces = False
    if name == ROUND_ROBIN and assumptions.round_robin == "in turn":
        return InTurn(policy.rules)
    return policy


# ---------------------------------------------------------------------------- settings


PLATFORM = "caron/hybrid"
SETS: tuple[JobSetKind, ...] = ("mixed", "small", "big")
"""Kinds of job sets, in the order of the figures."""

NUMBERS = (25, 50, 100, 200, 400)
"""Numbers of jobs in a set; the paper increases it gradually, and does not say how far."""

PROCESSORS = 64
BUDGETS = (1.0, 4.0)
"""Processors of each cluster; budgets for a processor-minute, from and to. Neither is printed."""

GRID_PROCESSORS = (16, 64, 256, 1024)
GRID_BUDGETS = ((0.5, 2.0), BUDGETS, (4.0, 16.0))
"""Values of the settings that the paper does not print."""

FAN_OUTS: Mapping[int, tuple[int, ...]] = {64: (2, 4, 8, 16, 64), 256: (2, 4, 8, 16, 64, 256)}
"""Most children of an agent, by the number of resources."""

_MINUTES_PER_HOUR = 60


MONEY, TIME = "money-saving", "time-saving"
CHEAPEST, FASTEST = "cheapest-of-all", "fastest-of-all"
OURS = TIME + "+deadline+patient+exact"
"""Policy B by rules of ours: queues by deadline above all."""
POLICIES = (MONEY, TIME, ROUND_ROBIN, CHEAPEST, FASTEST, OURS)
THEIRS = (MONEY, TIME)
"""Policies A and B of the paper."""


# Names of tables; and of the points of a frontier, in place of a policy.
FIGURES, WHERE, OTHER_RULES = "Figs 2-7", "where", "rules"
GRID, PAIR, SIZES, CELLS, TREES = "grid", "A and B", "sizes", "grid cells", "trees"
GAPS, FRONTIER = "bounds", "frontier"
BOUND = "bound"


RULES = ("+exact", "+patient", "+deadline", "+deadline+patient+exact")
"""Rules that are not the paper's, each added to both policies; see `SUFFIXES`."""

EXACT, PATIENT, BY_DEADLINE = RULES[:3]
UNDISPLACED = FASTEST + NONE_DISPLACED
VARIANTS = (*(policy + rules for policy in THEIRS for rules in RULES if policy + rules != OURS), UNDISPLACED)


@dataclass(frozen=True, slots=True)
class CaronOptions(PaperOptions):
    """Options of the replays.

    Attributes
    ----------
    numbers : tuple of int
        Jobs in a set.
    processors : tuple of int
        Of each cluster, in the settings over which statements are judged.
    budgets : tuple of (float, float)
        For a processor-minute, from and to, in those settings.
    grid_draws : int
        Draws of each of them; no more than `runs`.
    fan_outs : mapping of int to tuple of int
        Of trees of agents: most children of an agent, by the number of resources; the last is all of them.
    assumptions : Assumptions
        What else the paper leaves open, in those settings.
    only_statements : bool
        Whether nothing is replayed but what the statements of the paper are judged by.
    """

    runs: int = 20
    numbers: tuple[int, ...] = NUMBERS
    processors: tuple[int, ...] = GRID_PROCESSORS
    budgets: tuple[tuple[float, float], ...] = GRID_BUDGETS
    grid_draws: int = 10
    fan_outs: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: FAN_OUTS)
    assumptions: Assumptions = AS_OURS
    only_statements: bool = False

    def about(self) -> dict[str, Any]:
        """Return the options for a file of results."""
        return {"runs": self.runs, "seed": self.seed, "numbers": list(self.numbers)}

    @property
    def draws_over_the_grid(self) -> int:
        """Draws of the settings over which statements are judged."""
        return min(self.runs, self.grid_draws)


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
    assumptions : Assumptions
        What else is open.
    """

    kind: JobSetKind
    number: int
    processors: int = PROCESSORS
    budgets: tuple[float, float] = BUDGETS
    assumptions: Assumptions = AS_OURS

    def platform(self, seed: int) -> Platform:
        """Return the platform with a draw of the jobs."""
        platform = self._resized(library_platform(PLATFORM))
        jobs = draw_malleable_jobs(
            self.number,
            self.kind,
            seed,
            max_processors=self.assumptions.deadline_clusters * largest_cluster(platform),
            mean_gap_s=self.assumptions.mean_gap_s,
            budget_per_processor_minute=self.budgets,
        )
        return platform.with_jobs(jobs)

    def _resized(self, platform: Platform) -> Platform:
        """Return a platform in which clusters and cloud machines have as many processors as they are worth.

        Of a cluster, these are as many as jobs are faster on it than on one processor: see `PowerLawCloud`.
        """
        # A cluster keeps a processor, however flat the speed-up is.
        worth = max(round(self.processors**self.assumptions.speed_up_exponent), 1)

        def resized(resource: Resource) -> Resource:
            if isinstance(resource, DedicatedCluster):
                return resource.model_copy(update={"processors": worth})
            if isinstance(resource, AllocatedCluster):
                # Fewer processors stand for all of the cluster, so they cost as much as all of it.
                price = resource.cost_per_processor_minute * self.processors / worth
                always = (AvailabilityStep(from_s=0, processors=worth),)
                changes = {"availability": always, "repeat_s": None, "cost_per_processor_minute": price}
                return resource.model_copy(update=changes)
            return _with_machines_of(resource, self.assumptions.processors_per_vm)

        return platform.replace(resources=tuple(resized(resource) for resource in platform.resources))


def _with_machines_of(cloud: Cloud, processors: int) -> Cloud:
    """Return a cloud with another number of processors in a machine, each at its old price."""
    price = cloud.cost_per_vm_hour * processors / cloud.processors_per_vm
    return cloud.model_copy(update={"processors_per_vm": processors, "cost_per_vm_hour": price})


Values: TypeAlias = dict[str, float]
"""Values of a run, by the name of the quantity."""

METRICS = ("cost", "execution_time_h", "delay_h")
"""The three of section VI."""


def measured(outcome: PlatformOutcome, platform: Platform) -> Values:
    """Return the recorded values of a run."""
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


def number_name(setting: Setting) -> str:
    """Name of a number of jobs."""
    return f"{setting.number} jobs"


def grid_name(setting: Setting) -> str:
    """Name of a possible setting of the paper."""
    low, high = setting.budgets
    return f"{setting.number} jobs, {setting.processors} processors, budget {low:g}-{high:g}"
