"""A policy of a platform: which resource gets a job."""

from __future__ import annotations

from abc import ABC, abstractmethod

from .candidate import Candidate, PlatformJob
from .local_scheduler import PlatformRules
from .state import PlatformState


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
