"""Random days, and rescues, in compiled loops that look at each number of a row: run with ``NUMBA_BOUNDSCHECK=1``.

A process of its own has loops of its own: with a folder of its own for what it compiles.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numba
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spotbag.core.compiled import compiled
from spotbag.core.compiled_rows import COLUMNS, LENGTH, rows_from
from spotbag.core.rows import dtype_of
from spotbag.instances.library import library_instance
from spotbag.replay.bags.compiled_engine import TOO_MANY, CompiledReplays
from spotbag.replay.bags.engine import Replay
from spotbag.replay.bags.plan import ReplayPlan, replay_plan
from spotbag.replay.bags.policies import find_policy
from spotbag.solvers.bags.solve import solve
from tests.helpers.back_ends import policies_for, random_meeting, random_replay_plan
from tests.helpers.random_instances import instance_documents
from tests.helpers.rescues import demand_the_same_rescues, random_plan

BAGS = ("hads/J60", "burst-hads/J60", "memory/m30")
DAYS = 4
"""Days of each bag under each policy."""
PLANS = 200
"""Small plans whose rescues are looked at."""


@dataclass(slots=True, eq=False)
class Number:
    """A row of a table."""

    value: int = 0


@dataclass(slots=True, eq=False)
class Tables:
    """A row with tables: one of rows, one of lists of numbers."""

    numbers: list[Number] = field(default_factory=list)
    lists: list[list[int]] = field(default_factory=list)


tables_of_record = rows_from(Tables)


@compiled
def look_up(record: Any, k: int, column: int) -> int:
    """Look something up: in a list if a column is given."""
    r = tables_of_record(record)
    return r.numbers[k].value if column < 0 else r.lists[k][column]


def demand_checked_bounds() -> None:
    """Look up what there is, and what is just outside."""
    numbers, lists = np.zeros(3, dtype=dtype_of(Number)), np.arange(6).reshape(3, 2)
    numbers["value"] = 5, 6, 7
    context = np.zeros(1, dtype=dtype_of(Tables))
    for name, array in (("numbers", numbers), ("lists", lists)):
        context[name], context[name + LENGTH] = array.ctypes.data, len(array)
        context[name + COLUMNS] = array.shape[1] if array.ndim > 1 else 0
    assert [look_up(context[0], k, -1) for k in range(3)] == [5, 6, 7]
    assert [[look_up(context[0], k, column) for column in range(2)] for k in range(3)] == lists.tolist()
    for k, column in ((-1, -1), (3, -1), (3, 0), (-1, 1), (0, 2)):
        try:
            found = look_up(context[0], k, column)
        except IndexError:
            continue
        raise AssertionError(f"{k}, {column} was looked up: {found}")


def demand_the_same_days(plan: ReplayPlan, days: int, rng: np.random.Generator) -> None:
    """Go through days in both back ends; the first with tables that have to grow."""
    loops = CompiledReplays(plan)
    loops._allocate(dict(zip(TOO_MANY, (1, 3, 1), strict=True)))
    for _ in range(days):
        day, cloud = random_meeting(plan.instance, rng)
        for name in policies_for(plan.instance):
            outcome = loops.outcome(find_policy(name), day, cloud)
            assert outcome == Replay(plan, find_policy(name), day, cloud).run(), name


@settings(max_examples=40, database=None, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(instance_documents(max_tasks=14, dates=True), st.integers(0, 2**32))
def demand_the_same_random_days(document: dict[str, Any], seed: int) -> None:
    """Go through a day of a random plan."""
    rng = np.random.default_rng(seed)
    plan = random_replay_plan(document, rng)
    if plan is not None:
        demand_the_same_days(plan, 1, rng)


def main() -> None:
    """Look at all."""
    assert numba.config.BOUNDSCHECK == 1, "bounds are not checked"
    demand_checked_bounds()
    demand_the_same_random_days()
    for bag in BAGS:
        schedule = solve(library_instance(bag), "greedy").schedule
        assert schedule is not None
        demand_the_same_days(replay_plan(schedule), DAYS, np.random.default_rng(0))
        demand_the_same_rescues(schedule)
    for seed in range(PLANS):
        demand_the_same_rescues(random_plan(seed))


if __name__ == "__main__":
    main()
