"""Policies, which choose among candidates: those of Caron & de Assuncao, and others for comparison."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from ..policies import PolicyKind, options_of, split_policy_name
from .candidate import (
    NOWHERE,
    Candidate,
    PlatformJob,
    Preference,
    cheapest,
    choose,
    fastest,
    least_delay,
    least_overspend,
)
from .local_scheduler import SUFFIXES, PlatformRules
from .state import PlatformPolicy, PlatformState


class PreferringPolicy(PlatformPolicy):
    """Takes the cheapest good candidate; without one, the bad one that it prefers (step 4 of section III).

    Parameters
    ----------
    name : str
        What users call it.
    known : callable
        Returns the candidates that it knows of, but not of the sender.
    preference : callable
        Which bad candidate it prefers.
    rules : PlatformRules
        By which rules the local schedulers work.
    """

    def __init__(self, name: str, known: _Known, preference: Preference, rules: PlatformRules) -> None:
        self.name = name
        self.rules = rules
        self.known = known
        self._preference = preference

    def choose(self, replay: PlatformState, job: PlatformJob, sender: int) -> Candidate | None:
        """Choose among the candidates that it knows of."""
        candidates = self.known(replay, job, sender)
        return choose(candidates, job, self._preference) if candidates else None


_Known: TypeAlias = Callable[[PlatformState, PlatformJob, int], Sequence[Candidate]]


def asked_of_tree(replay: PlatformState, job: PlatformJob, sender: int) -> Sequence[Candidate]:
    """Ask the tree of agents, whose root returns a good candidate or up to two bad ones (section VI)."""
    return replay.tree.ask(job, replay.now_s, sender)


asked_of_all: _Known = PlatformState.offers
"""Ask all resources: the basic scheduler of section V."""


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
        # Here, as no other policy draws anything.
        import numpy as np

        self.name = name
        self.rules = rules
        self._random = np.random.default_rng(seed)

    def choose(self, replay: PlatformState, job: PlatformJob, sender: int) -> Candidate | None:
        """Draw a resource."""
        assert sender == NOWHERE, "it displaces nothing"
        sampled = int(self._random.integers(len(replay.schedulers)))
        replay.counts["messages"] += 2
        return replay.schedulers[sampled].offer_without_displacement(job, replay.now_s)


PolicyFactory: TypeAlias = Callable[[int], PlatformPolicy]
"""Makes a policy for a run, from its seed: a class, or any other callable."""

_PREFERENCES: dict[str, tuple[_Known, Preference, str]] = {
    "money-saving": (
        asked_of_tree,
        cheapest,
        "policy A: without a good candidate, the cheaper of the two that the tree returns",
    ),
    "time-saving": (asked_of_tree, fastest, "policy B: without a good candidate, the faster of the two"),
    "least-overspend": (asked_of_tree, least_overspend, "strategy 2: least overspend, then fastest"),
    "least-delay": (asked_of_tree, least_delay, "strategy 1: least delay, then cheapest"),
    "cheapest-of-all": (asked_of_all, cheapest, "asks all resources; without a good candidate, the cheapest of all"),
    "fastest-of-all": (asked_of_all, fastest, "asks all resources; without a good candidate, the fastest of all"),
}

_ROUND_ROBIN = "round-robin"

PLATFORM_POLICIES: dict[str, str] = {name: description for name, (_, _, description) in _PREFERENCES.items()} | {
    _ROUND_ROBIN: "a resource drawn at random, all equally likely; nothing is displaced"
}
"""Summary of each policy, by name; the rules of the local schedulers are changed by `SUFFIXES`."""


def platform_policy(name: str) -> PolicyFactory:
    """Return the maker of a policy, from a seed for its draws.

    Parameters
    ----------
    name : str
        One of `PLATFORM_POLICIES`, and rules that are not the paper's, each after a plus: ``money-saving+deadline``.
        The name of the policy has them in the order of `SUFFIXES`, however they were given.

    Raises
    ------
    InputError
        If there is no such policy, or no such rule; close names are suggested. If a rule is given twice.
    """
    base, suffixes = split_policy_name(name, PLATFORM_POLICIES, lambda _: SUFFIXES)
    rules = replace(PlatformRules(), **options_of(SUFFIXES, suffixes))
    called = "+".join([base, *suffixes])
    if base == _ROUND_ROBIN:
        return partial(RoundRobin, called, rules)
    known, preference, _ = _PREFERENCES[base]
    return lambda seed: PreferringPolicy(called, known, preference, rules)


def _fault_of_rules(policy: PlatformPolicy) -> str:
    """Name the fault in the rules of a policy; empty if there is none."""
    return (
        "" if isinstance(policy.rules, PlatformRules) else f"must have PlatformRules as its rules, not {policy.rules!r}"
    )


KIND = PolicyKind(PlatformPolicy, PLATFORM_POLICIES, lambda name, _: platform_policy(name), _fault_of_rules)  # type: ignore[type-abstract]
"""The kind of policies of platforms."""
