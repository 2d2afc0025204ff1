"""Assumptions where Caron & de Assuncao are silent, beside sizes and budgets, and replays under others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from spotbag.instances.platforms.entries import MAX_MACHINES_PER_JOB, SLOT_S, Cloud, Resource
from spotbag.instances.platforms.platform import Platform
from spotbag.replay.platforms.candidate import Candidate, PlatformJob
from spotbag.replay.platforms.cloud import CloudScheduler
from spotbag.replay.platforms.cluster import ClusterScheduler
from spotbag.replay.platforms.engine import PlatformReplay
from spotbag.replay.platforms.local_scheduler import CloudEstimates, PlatformRules
from spotbag.replay.platforms.outcome import PlatformOutcome
from spotbag.replay.platforms.policies import platform_policy
from spotbag.replay.platforms.state import PlatformPolicy, PlatformState

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
        enough = (job.size * SLOT_S / time_s) ** (1 / self._exponent) / self._per_vm
        machines = max(min(int(enough), MAX_MACHINES_PER_JOB), 1)
        while machines < MAX_MACHINES_PER_JOB and self.run_s(job, machines) > time_s:
            machines += 1
        return machines

    def run_s(self, job: PlatformJob, machines: int) -> int:
        """Run time of a job on some machines."""
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
