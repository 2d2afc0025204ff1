"""Bags as users have them, which ``user_bags.toml`` draws: what binds in them differs."""

from __future__ import annotations

from functools import cache
from typing import Any

from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.solve import solve

from ..data_files import drawn_bags

USER_BAGS = drawn_bags(str(__package__), "user_bags.toml")
"""Parameters by name."""


@cache
def named_bag(name: str) -> Instance:
    """Return a bag of the library, or one of those here."""
    if name not in USER_BAGS:
        return library_instance(name)
    given = dict(USER_BAGS[name])
    others = given.pop("others", {})
    drawn = generate_instance(**given, max_on_demand=None, name=name)
    return Instance.from_document(drawn.to_document() | others, name) if others else drawn


@cache
def planned(name: str, method: str = "auto", **options: Any) -> Schedule:
    """Plan a bag."""
    plan = solve(named_bag(name), method, **options).schedule
    assert plan is not None
    return plan
