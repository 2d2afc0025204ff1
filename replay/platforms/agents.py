"""The tree of scheduling agents: Algorithm 4 of Caron & de Assuncao."""

from __future__ import annotations

from collections.abc import Sequence

from ...instances.platforms.platform import Platform
from .candidate import Candidate, PlatformJob, best, cheapest, least_delay, least_overspend
from .local_scheduler import LocalScheduler


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
            What the root returns: a good one, or up to two bad ones; none if nobody offers any.
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
    """Select what an agent hands up (Algorithm 4).

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
