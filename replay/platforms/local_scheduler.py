"""Base of the schedulers of all resources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..policies import Rule
from .candidate import Candidate, PlatformJob


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
    """By which rules local schedulers work; those of Caron & de Assuncao if nothing is said.

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
