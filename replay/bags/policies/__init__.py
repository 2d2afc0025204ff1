"""The policies: published dynamic schedulers and baselines, one module each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ...policies import PolicyKind
from ...policy_names import options_of, split_policy_name
from ..policy import Policy
from .burst_hads import BurstHads
from .hads import Hads
from .on_time import OnTime
from .rescue import Rescue
from .static import OnDemand, Static
from .uniform_progress import GreedySpot, UniformProgress

POLICIES: dict[str, type[Policy]] = {
    policy.name: policy for policy in (Static, Hads, BurstHads, Rescue, OnTime, UniformProgress, GreedySpot, OnDemand)
}
"""Policies that are built in, by name."""

__all__ = [
    "KIND",
    "POLICIES",
    "BurstHads",
    "GreedySpot",
    "Hads",
    "OnDemand",
    "OnTime",
    "Policy",
    "Rescue",
    "Static",
    "UniformProgress",
    "find_policy",
    "named_policy",
]


def find_policy(name: str, others: Sequence[str] = ()) -> Policy:
    """Make a policy by its name; see `named_policy`."""
    return named_policy(name, others)()


def named_policy(name: str, others: Sequence[str] = ()) -> Callable[[], Policy]:
    """Return what makes a policy, by its name; ``others`` are names that messages offer as well.

    Parameters
    ----------
    name : str
        One of `POLICIES`, and other rules than its own (`Policy.rules`), each after a plus: ``hads+trigger-once``.

    Raises
    ------
    InputError
        If there is no such policy, or no such rule; close names are suggested. If a rule is given twice, or two that
        change the same.
    """
    base, rules = split_policy_name(name, {name: policy.rules for name, policy in POLICIES.items()}, others)
    policy = POLICIES[base]
    return partial(policy, **options_of(policy.rules, rules)) if rules else policy


KIND = PolicyKind(Policy, POLICIES, named_policy)
"""What policies of bags are."""
