"""State of the replay of a platform as a policy sees it, and the base of policies, which choose resources for jobs."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ...core.errors import SpotbagError
from ...instances.platforms.entries import Cloud, Resource
from ...instances.platforms.platform import Platform
from ..engines import EventQueue
from .candidate import Candidate, PlatformJob
from .cloud import CloudScheduler, Machine
from .cluster import ClusterScheduler
from .local_scheduler import AgentTree, PlatformRules


class PlatformState(EventQueue[int]):
    """The state of a replay of the jobs of a platform: what a policy sees, which decides by what it chooses.

    Parameters
    ----------
    platform : Platform
        With at least one job.
    policy_name : str
        Name of the policy.
    rules : PlatformRules
        By which rules the local schedulers work.
    displaces : bool
        Whether jobs are placed where they displace others.
    seed : int
        Of the jobs and of what the policy draws; for the record.
    record : bool
        Whether to keep a record of every event and decision in `records`.

    Attributes
    ----------
    platform, rules, displaces, seed : Platform, PlatformRules, bool, int
        What it was made with.
    jobs : list of PlatformJob
        In the order of their arrival.
    schedulers : list of ClusterScheduler or CloudScheduler
        Local schedulers, in the order of the resources.
    tree : AgentTree
        The agents above them.
    machines : list of Machine
        All machines of clouds so far.
    finished : int
        Jobs that have ended.
    """

    def __init__(
        self, platform: Platform, policy_name: str, rules: PlatformRules, displaces: bool, seed: int, record: bool
    ) -> None:
        super().__init__(policy_name, record)
        if not platform.jobs:
            raise SpotbagError(f"{platform.name}: has no jobs to be replayed")
        self.platform = platform
        self.rules = rules
        self.displaces = displaces
        self.seed = seed
        self.jobs = [PlatformJob.of(index, job) for index, job in enumerate(platform.jobs_by_arrival)]
        self.schedulers = [self._scheduler_of(index, resource) for index, resource in enumerate(platform.resources)]
        self.tree = AgentTree(platform, self.schedulers)
        self.machines: list[Machine] = []
        self.finished = 0

    def _scheduler_of(self, index: int, resource: Resource) -> ClusterScheduler | CloudScheduler:
        """Make the local scheduler of a resource."""
        if isinstance(resource, Cloud):
            return CloudScheduler(index, resource, self.rules)
        return ClusterScheduler(index, resource, self.rules)

    def offers(self, job: PlatformJob, sender: int) -> list[Candidate]:
        """Ask all resources but one what they offer for a job; nothing changes by that.

        Parameters
        ----------
        job : PlatformJob
            The job that a policy has to place.
        sender : int
            The resource that is not asked; `NOWHERE` for none.

        Returns
        -------
        list of Candidate
            In the order of the resources: one of a cluster, or none if it would displace too much; one or two of a
            cloud. Of a policy that displaces nothing, one of each that does not. A question and an answer for each
            resource are counted.
        """
        asked = [scheduler for scheduler in self.schedulers if scheduler.index != sender]
        candidates: list[Candidate] = []
        for scheduler in asked:
            if self.displaces:
                candidates += scheduler.candidates(job, self.now_s)
            else:
                candidates.append(scheduler.offer_without_displacement(job, self.now_s))
        self.counts["messages"] += 2 * len(asked)
        self.counts["comparisons"] += len(candidates)
        return candidates

    def cost_per_vm_hour(self, resource: int) -> float:
        """Price of a machine of a cloud."""
        cloud = self.schedulers[resource]
        assert isinstance(cloud, CloudScheduler)
        return cloud.bill.usd


class PlatformPolicy(ABC):
    """Chooses a candidate for each job.

    Each replay has a policy of its own, which may keep what it knows in itself (see `spotbag.replay.policies`).

    Parameters
    ----------
    seed : int
        Of the run, for policies that draw something.

    Attributes
    ----------
    name : str
        What users call it.
    summary : str
        One line.
    rules : PlatformRules
        By which rules the local schedulers work for it.
    displaces : bool
        Whether it places jobs where they displace others, as local schedulers offer it.
    """

    name: str
    summary: str = ""
    rules: PlatformRules = PlatformRules()
    displaces: bool = True

    def __init__(self, seed: int = 0) -> None:  # noqa: B027 (policies that draw nothing need no other)
        """Make the policy; nothing is drawn here."""

    @abstractmethod
    def choose(self, replay: PlatformState, job: PlatformJob, sender: int) -> Candidate | None:
        """Choose where a job goes.

        Parameters
        ----------
        replay : PlatformState
            The state of everything, which is not to be changed; `PlatformState.offers` has what resources offer.
        job : PlatformJob
            It belongs to no resource.
        sender : int
            The resource whose queue it has just been pushed out of, which is not asked; `NOWHERE` for a new one.

        Returns
        -------
        Candidate or None
            One that a resource offers. None if none takes it: then it stays where it was pushed out, or is the last
            in the queue in which it ends first, if it is new.
        """
