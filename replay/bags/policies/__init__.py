"""The policies: published dynamic schedulers and baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...policies import PolicyKind, options_of, split_policy_name
from ..state import Policy

if TYPE_CHECKING:
    from .burst_hads import BurstHads
    from .hads import Hads
    from .on_time import OnTime
    from .static import OnDemand, Rescue, Static
    from .uniform_progress import GreedySpot, TimeSliced, UniformProgress

# Classes are called as their policies are: each is loaded when it is first asked for.
_MODULES = {
    "static": "static",
    "hads": "hads",
    "burst-hads": "burst_hads",
    "rescue": "static",
    "on-time": "on_time",
    "uniform-progress": "uniform_progress",
    "greedy-spot": "uniform_progress",
    "time-sliced": "uniform_progress",
    "on-demand": "static",
}

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
    "TimeSliced",
    "UniformProgress",
    "find_policy",
    "named_policy",
]


@cache
def _loaded(name: str) -> type[Policy]:
    kind: type[Policy] = getattr(import_module(f".{_MODULES[name]}", __package__), _class_name(name))
    return kind


class _Policies(Mapping[str, type[Policy]]):
    def __getitem__(self, name: str) -> type[Policy]:
        return _loaded(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


def _class_name(policy: str) -> str:
    return policy.title().replace("-", "")


def __getattr__(name: str) -> Any:
    for policy in _MODULES:
        if _class_name(policy) == name:
            return POLICIES[policy]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


POLICIES: Mapping[str, type[Policy]] = _Policies()
"""Policies that are built in, by name."""


def find_policy(name: str, others: Sequence[str] = ()) -> Policy:
    """Make a policy by its name; see `named_policy`."""
    return named_policy(name, others)()


def named_policy(name: str, others: Sequence[str] = ()) -> Callable[[], Policy]:
    """Return the maker of a policy, by its name; ``others`` are names that messages offer as well.

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
    base, rules = split_policy_name(name, POLICIES, lambda policy: POLICIES[policy].rules, others)
    policy = POLICIES[base]
    return partial(policy, **options_of(policy.rules, rules)) if rules else policy


KIND = PolicyKind(Policy, POLICIES, named_policy)
"""The kind of policies of bags."""
