"""The policies: published dynamic schedulers and baselines, one module each."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from ....core.errors import InputError, Issue
from ..policy import Policy
from .burst_hads import BurstHads
from .hads import Hads, HadsAsPrinted
from .static import OnDemand, Static

POLICIES: dict[str, type[Policy]] = {
    policy.name: policy for policy in (Static, Hads, HadsAsPrinted, BurstHads, OnDemand)
}
"""Policies by name; add your own class to use it by name."""

__all__ = [
    "POLICIES",
    "BurstHads",
    "Hads",
    "HadsAsPrinted",
    "OnDemand",
    "Policy",
    "Static",
    "find_policy",
    "policy_class",
]


def find_policy(name: str, others: Sequence[str] = ()) -> Policy:
    """Make a policy by its name; see `policy_class`."""
    return policy_class(name, others)()


def policy_class(name: str, others: Sequence[str] = ()) -> type[Policy]:
    """Return the class of a policy by its name; ``others`` are names that messages offer as well.

    Raises
    ------
    InputError
        If there is none of that name; close names are suggested.
    """
    if name not in POLICIES:
        known = [*POLICIES, *others]
        close = difflib.get_close_matches(name, known, n=2)
        hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"
        raise InputError("policy", [Issue("", f"is not a policy ({hint})", value=name)])
    return POLICIES[name]
