"""Who chooses among candidates: the policies of Caron & de Assuncao, and what they are compared with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ...instances.errors import InputError, Issue
from ...instances.job_stream import near_names
from .candidate import Candidate, Preference, cheapest, choose, fastest, least_delay, least_overspend
from .job import NOWHERE, PlatformJob
from .rules import SUFFIXES, PlatformRules

if TYPE_CHECKING:
    from .engine import PlatformReplay


class PlatformPolicy(ABC):
    """Chooses a candidate for each job; made afresh for each replay.

    Attributes
    ----------
    name : str
        What users call it.
    rules : PlatformRules
        By which rules the local schedulers work for it.
    displaces : bool
        Whether it places jobs where they displace others, as local schedulers offer it; for the record.
    """

    name: str
    rules: PlatformRules = PlatformRules()
    displaces: bool = True

    @abstractmethod
    def choose(self, replay: PlatformReplay, job: PlatformJob, sender: int) -> Candidate | None:
        """Choose where a job goes.

        Parameters
        ----------
        replay : PlatformReplay
            The state of everything.
        job : PlatformJob
            It belongs to no resource.
        sender : int
            The resource whose queue it has just been pushed out of, which is not asked; `NOWHERE` for a new one.

        Returns
        -------
        Candidate or None
            None if nobody takes it.
        """


class TreePolicy(PlatformPolicy):
    """Asks the tree of agents; of two bad candidates it takes the one it prefers (section VI).

    Parameters
    ----------
    name : str
        What users call it.
    preference : callable
        Which bad candidate it prefers.
    rules : PlatformRules
        By which rules the local schedulers work.
    """

    def __init__(self, name: str, preference: Preference, rules: PlatformRules) -> None:
        self.name = name
        self.rules = rules
        self._preference = preference

    def choose(self, replay: PlatformReplay, job: PlatformJob, sender: int) -> Candidate | None:
        """Choose among what the root returns."""
        candidates = replay.tree.ask(job, replay.now_s, sender)
        return choose(candidates, job, self._preference) if candidates else None


class BestOfAll(PlatformPolicy):
    """Asks all resources itself, and chooses among all their candidates: the basic scheduler of section V.

    Parameters
    ----------
    name : str
        What users call it.
    preference : callable
        Which bad candidate it prefers.
    rules : PlatformRules
        By which rules the local schedulers work.
    """

    def __init__(self, name: str, preference: Preference, rules: PlatformRules) -> None:
        self.name = name
        self.rules = rules
        self._preference = preference

    def choose(self, replay: PlatformReplay, job: PlatformJob, sender: int) -> Candidate | None:
        """Choose among what all resources offer."""
        asked = [scheduler for scheduler in replay.schedulers if scheduler.index != sender]
        candidates = [candidate for scheduler in asked for candidate in scheduler.candidates(job, replay.now_s)]
        replay.counts["messages"] += 2 * len(asked)
        replay.counts["comparisons"] += len(candidates)
        return choose(candidates, job, self._preference) if candidates else None


class RoundRobin(PlatformPolicy):
    """Sends each job to a resource that is drawn at random, all equally likely (section VI); nothing is displaced.

    The paper calls it round robin.

    Parameters
    ----------
    name : str
        What users call it.
    rules : PlatformRules
        By which rules the local schedulers work.
    seed : int
        Of the draws.
    """

    displaces = False

    def __init__(self, name: str, rules: PlatformRules, seed: int) -> None:
        import numpy as np

        self.name = name
        self.rules = rules
        self._random = np.random.default_rng(seed)

    def choose(self, replay: PlatformReplay, job: PlatformJob, sender: int) -> Candidate | None:
        """Draw a resource."""
        assert sender == NOWHERE, "it displaces nothing"
        drawn = int(self._random.integers(len(replay.schedulers)))
        replay.counts["messages"] += 2
        return replay.schedulers[drawn].offer_without_displacement(job, replay.now_s)


_PREFERENCES: dict[str, tuple[type[TreePolicy] | type[BestOfAll], Preference, str]] = {
    "money-saving": (
        TreePolicy,
        cheapest,
        "policy A: without a good candidate, the cheaper of the two that the tree returns",
    ),
    "time-saving": (TreePolicy, fastest, "policy B: without a good candidate, the faster of the two"),
    "least-overspend": (TreePolicy, least_overspend, "strategy 2: least overspend, then fastest"),
    "least-delay": (TreePolicy, least_delay, "strategy 1: least delay, then cheapest"),
    "cheapest-of-all": (BestOfAll, cheapest, "asks all resources; without a good candidate, the cheapest of all"),
    "fastest-of-all": (BestOfAll, fastest, "asks all resources; without a good candidate, the fastest of all"),
}

_ROUND_ROBIN = "round-robin"

PLATFORM_POLICIES: dict[str, str] = {name: description for name, (_, _, description) in _PREFERENCES.items()} | {
    _ROUND_ROBIN: "a resource drawn at random, all equally likely; nothing is displaced"
}
"""What each policy does, by name; the rules of the local schedulers are changed by `SUFFIXES`."""


def platform_policy(name: str) -> Callable[[int], PlatformPolicy]:
    """Return what makes a policy, from a seed for what it draws.

    Parameters
    ----------
    name : str
        One of `PLATFORM_POLICIES`, and rules that are not the paper's, each after a plus: ``money-saving+deadline``.

    Raises
    ------
    InputError
        If there is no such policy, or no such rule; close names are suggested.
    """
    base, *suffixes = name.split("+")
    if base not in PLATFORM_POLICIES:
        raise InputError("policy", [Issue("", f"is no policy ({near_names(base, PLATFORM_POLICIES)})", value=name)])
    changes: dict[str, str] = {}
    for suffix in suffixes:
        if suffix not in SUFFIXES:
            rule = f"changes no rule by {suffix!r} ({near_names(suffix, SUFFIXES)})"
            raise InputError("policy", [Issue("", rule, value=name)])
        changes |= SUFFIXES[suffix][0]
    rules = replace(PlatformRules(), **changes)  # type: ignore[arg-type]
    if base == _ROUND_ROBIN:
        return partial(RoundRobin, name, rules)
    kind, preference, _ = _PREFERENCES[base]
    return lambda seed: kind(name, preference, rules)
