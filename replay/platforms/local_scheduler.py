"""Base of the schedulers of all resources, and the tree of agents above them (Algorithm 4 of Caron & de Assuncao)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ...instances.platforms.platform import Platform
from ..policies import Rule
from .candidate import Candidate, PlatformJob, best, cheapest, least_delay, least_overspend


class LocalScheduler(ABC):
    """The scheduler of a resource: a job in, candidates out (section IV).

    Attributes
    ----------
    index, id : int and str
        Which resource it is.
    """

    index: int
    id: str

    @abstractmethod
    def candidates(self, job: PlatformJob, now_s: int) -> Sequence[Candidate]:
        """Offer to run a job.

        Parameters
        ----------
        job : PlatformJob
            It belongs to no resource at this moment.
        now_s : int
            The time.

        Returns
        -------
        sequence of Candidate
            None, if it would displace too much; nothing changes before one of them is accepted.
        """

    @abstractmethod
    def offer_without_displacement(self, job: PlatformJob, now_s: int) -> Candidate:
        """Offer to run a job at its place in the queue without pushing any other out, however late they get."""


QueueOrder: TypeAlias = Literal["priority", "deadline"]
LateJobs: TypeAlias = Literal["displaced", "stay"]
CloudEstimates: TypeAlias = Literal["printed", "exact"]


@dataclass(frozen=True, slots=True)
class PlatformRules:
    """Rules by which local schedulers work; those of Caron & de Assuncao by default.

    Attributes
    ----------
    queue : {"priority", "deadline"}
        The order of the queues of clusters: the largest priority first, as printed, or the earliest deadline, which
        is ours. Equals stand in the order of their arrival.
    late_jobs : {"displaced", "stay"}
        What becomes of a job that would be late behind a new one, and is late without it, too: by Algorithms 1 (line
        15) and 2 (line 27) it is displaced as any other; or it stays, and lets the new one pass.
    estimates : {"printed", "exact"}
        What clouds say of ends and costs: the formulas of Algorithm 3, by which a job runs to its deadline, or spends
        its budget; or those that the job will have.
    """

    queue: QueueOrder = "priority"
    late_jobs: LateJobs = "displaced"
    estimates: CloudEstimates = "printed"


SUFFIXES: dict[str, Rule] = {
    "deadline": Rule({"queue": "deadline"}, "queues by deadline, not by priority"),
    "patient": Rule({"late_jobs": "stay"}, "jobs that are late anyhow are not displaced"),
    "exact": Rule({"estimates": "exact"}, "clouds say what a job will cost, and when it will end"),
}
"""Rules that are not the paper's, by what is added to the name of a policy."""


# ------------------------------------------------------------------------ the tree of agents


class AgentTree:
    """Agents above local schedulers: a job goes down, the best candidates come up.

    Parameters
    ----------
    platform : Platform
        The agents.
    schedulers : sequence of LocalScheduler
        Of the resources, in the order of the platform.

    Attributes
    ----------
    messages : int
        Messages so far: each agent and each resource that is asked gets one and sends one.
    comparisons : int
        Candidates that agents have looked at.
    """

    def __init__(self, platform: Platform, schedulers: Sequence[LocalScheduler]) -> None:
        agents = {agent.id: number for number, agent in enumerate(platform.agents)}
        by_id = {scheduler.id: scheduler for scheduler in schedulers}
        self.messages = 0
        self.comparisons = 0
        self._root = agents[platform.root]
        self._resources = [
            [by_id[child] for child in children if child in by_id] for children in platform.children.values()
        ]
        self._agents = [
            [agents[child] for child in children if child in agents] for children in platform.children.values()
        ]

    def ask(self, job: PlatformJob, now_s: int, excluded: int) -> Sequence[Candidate]:
        """Ask for candidates, but not of one resource.

        Returns
        -------
        sequence of Candidate
            What the root returns: a good one, or up to two bad ones; none if no resource offers any.
        """
        return self._ask(self._root, job, now_s, excluded)

    def _ask(self, agent: int, job: PlatformJob, now_s: int, excluded: int) -> Sequence[Candidate]:
        candidates: list[Candidate] = []
        asked = len(self._agents[agent])
        for resource in self._resources[agent]:
            if resource.index != excluded:
                asked += 1
                candidates += resource.candidates(job, now_s)
        for below in self._agents[agent]:
            candidates += self._ask(below, job, now_s, excluded)
        self.messages += 2 * asked
        self.comparisons += len(candidates)
        return selected(candidates, job)


def selected(candidates: Sequence[Candidate], job: PlatformJob) -> Sequence[Candidate]:
    """Select the candidates that an agent hands up (Algorithm 4).

    Each choice is the first in a fixed order of all candidates, so a tree hands up what its root alone would select.
    """
    good = [candidate for candidate in candidates if candidate.good]
    if good:
        return (best(good, job, cheapest),)
    if len(candidates) < 2:
        return candidates
    frugal = best(candidates, job, least_overspend)
    early = best(candidates, job, least_delay)
    return (frugal,) if early is frugal else (frugal, early)
