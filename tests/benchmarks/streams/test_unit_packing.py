"""Packing of bags onto hosts that are paid by units, against all partitions."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from spotbag_papers.streams.unit_bounds import UnitsProblem
from spotbag_papers.streams.unit_packing import packed_by, paid_units_of, wall_s_of


def partitions(tasks: list[int]) -> Iterator[list[list[int]]]:
    """All ways to put tasks on hosts that are alike."""
    if not tasks:
        yield []
        return
    first, *rest = tasks
    for hosts in partitions(rest):
        yield [[first], *hosts]
        for at in range(len(hosts)):
            yield [*hosts[:at], [first, *hosts[at]], *hosts[at + 1 :]]


def ends_in(problem: UnitsProblem, hosts: list[list[int]], wall_s: int) -> bool:
    """Whether hosts end by a time and pay no more than the budget, by the definition."""
    busy_s = [sum(problem.run_times_s[task] for task in host) + problem.boot_s for host in hosts]
    return max(busy_s) <= wall_s and sum(-(-each // problem.unit_s) for each in busy_s) <= problem.budget_units


@pytest.mark.parametrize("seed", range(60))
def test_a_packing_is_a_plan_and_none_is_given_where_there_is_none(seed: int) -> None:
    rng = random.Random(seed)
    times = tuple(sorted((rng.randint(1, 30) for _ in range(rng.randint(1, 6))), reverse=True))
    problem = UnitsProblem(times, rng.randint(5, 40), rng.randint(0, 4), rng.randint(1, 8))
    wall_s = rng.randint(5, 90)
    found = packed_by(problem, wall_s, lambda: False)
    exists = any(ends_in(problem, hosts, wall_s) for hosts in partitions([*range(len(times))]))
    assert found is None or exists
    if found is not None:
        assert sorted(task for host in found for task in host) == [*range(len(times))]
        assert all(found)
        assert ends_in(problem, found, wall_s)
        assert paid_units_of(problem, found) <= problem.budget_units
        assert wall_s_of(problem, found) <= wall_s


def test_room_for_all_tasks_takes_as_many_hosts_as_the_budget_has() -> None:
    # Units of 10 s, three of them by 10 s: one task of 10 s on each host; two hosts have room for 20 of the 30 s.
    problem = UnitsProblem((10, 10, 10), 10, 0, 3)
    assert packed_by(problem, 10, lambda: False) is not None
    assert packed_by(problem, 9, lambda: False) is None
