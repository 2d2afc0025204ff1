"""What the schedulers of all resources have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from .candidate import Candidate
from .job import PlatformJob


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
