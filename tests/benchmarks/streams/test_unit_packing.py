"""Packing of bags onto hosts that are paid by units, against all partitions."""

from __future__ import annotations

import random

import pytest

from spotbag_papers.streams.unit_bounds import UnitsProblem
from spotbag_papers.streams.unit_packing import _levelled, packed_by, paid_units_of, wall_s_of
from tests.helpers.all_partitions import least_wall, wall_and_units


@pytest.mark.parametrize("seed", range(60))
def test_a_packing_is_a_plan_and_none_is_given_where_there_is_none(seed: int) -> None:
    rng = random.Random(seed)
    times = tuple(sorted((rng.randint(1, 30) for _ in range(rng.randint(1, 6))), reverse=True))
    problem = UnitsProblem(times, rng.randint(5, 40), rng.randint(0, 4), rng.randint(1, 8))
    wall_s = rng.randint(5, 90)
    found = packed_by(problem, wall_s, lambda: False)
    if found is not None:
        least_s = least_wall(times, problem.unit_s, problem.boot_s, problem.budget_units)
        assert least_s is not None
        assert least_s <= wall_s
        assert sorted(task for host in found for task in host) == [*range(len(times))]
        assert all(found)
        end_s, units = wall_and_units(found, times, problem.unit_s, problem.boot_s)
        assert (wall_s_of(problem, found), paid_units_of(problem, found)) == (end_s, units)
        assert end_s <= wall_s
        assert units <= problem.budget_units


def test_room_for_all_tasks_takes_as_many_hosts_as_the_budget_has() -> None:
    # Units of 10 s, three of them by 10 s: one task of 10 s on each host; two hosts have room for 20 of the 30 s.
    problem = UnitsProblem((10, 10, 10), 10, 0, 3)
    assert packed_by(problem, 10, lambda: False) is not None
    assert packed_by(problem, 9, lambda: False) is None


def test_a_swap_makes_room_where_the_longest_tasks_first_overfill_a_host() -> None:
    # 5, 3 and 4, 3, 3 by the longest first, which exceeds a room of 9 s; 4 against 3 gives 5, 4 and 3, 3, 3.
    problem = UnitsProblem((5, 4, 3, 3, 3), 9, 0, 2)
    packing = _levelled(problem, [9, 9], lambda: False)
    assert packing is not None
    assert sorted(sorted(host) for host in packing) == [[0, 1], [2, 3, 4]]
