"""The policies: published dynamic schedulers and baselines, one module each."""

from __future__ import annotations

import difflib

from ...instances.errors import InputError, Issue
from .base import Policy
from .burst_hads import BurstHads
from .hads import Hads, HadsAsPrinted
from .on_demand import OnDemand
from .static import Static

POLICIES: dict[str, type[Policy]] = {
    policy.name: policy for policy in (Static, Hads, HadsAsPrinted, BurstHads, OnDemand)
}
"""Policies by name; add your own class to use it by name."""

__all__ = ["POLICIES", "BurstHads", "Hads", "HadsAsPrinted", "OnDemand", "Policy", "Static", "find_policy"]


def find_policy(name: str) -> Policy:
    """Make a policy by its name.

    Raises
    ------
    InputError
        If there is none of that name; close names are suggested.
    """
    if name not in POLICIES:
        close = difflib.get_close_matches(name, POLICIES, n=2)
        hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(POLICIES)}"
        raise InputError("policy", [Issue("", f"is no policy ({hint})", value=name)])
    return POLICIES[name]()
