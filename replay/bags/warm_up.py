"""Compiling replays before there are any: what an image of a container does once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...instances.bags.scenarios import find_scenario
from ...instances.bags.timeline import QUIET
from ...instances.clouds import PAPERS
from ...instances.library import library_instance
from ...schedules.schedule import Schedule
from ...solvers.bags.solve import solve
from .compiled_engine import DRIVERS, CompiledReplays, has_loop
from .packing import compile_packing
from .plan import replay_plan
from .policies import POLICIES, find_policy
from .runs import replay_days

_BAG, _SCENARIO = "hads/J60", "hads/sc4"


def steps_of_replays() -> dict[str, Callable[[], None]]:
    """Return the steps that compile all loops of `replay_days`, by name."""
    plan = solve(library_instance(_BAG), "greedy", survive="none").schedule
    assert plan is not None, "the greedy plans it"
    compiled = [name for name, kind in POLICIES.items() if kind in DRIVERS and has_loop(kind, plan.instance)]
    return {
        "replay in Python": compile_packing,
        **{f"replay under {name}": partial(_replay, plan, name) for name in compiled},
        "replay with bounds": partial(_replay_with_bounds, plan),
    }


def _replay(plan: Schedule, policy: str) -> None:
    CompiledReplays(replay_plan(plan)).outcome(find_policy(policy), QUIET, PAPERS)


def _replay_with_bounds(plan: Schedule) -> None:
    replay_days(plan, ["static"], find_scenario(_SCENARIO), 1, bounds=True)
