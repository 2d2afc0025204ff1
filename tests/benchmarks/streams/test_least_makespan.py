"""The least wall time within a budget of paid units: against all plans, by hand, and on bags like those of A2HA."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.core.limits import LimitReached
from spotbag.models.integer_program import IntegerProgram
from spotbag_papers.streams import least_makespan
from spotbag_papers.streams.least_makespan import (
    LeastMakespan,
    SharedHosts,
    _levelled,
    least_makespan_within,
    least_units_by,
    packed_by,
    paid_units_of,
    wall_s_of,
)
from spotbag_papers.streams.paid_units import bags
from spotbag_papers.streams.unit_bounds import UnitsProblem, fewest_paid_units, one_host_per_task_line, serial_line
from tests.helpers.all_partitions import least_wall, wall_and_units
from tests.helpers.fake_time import fake_time, solvers_take_all_their_time

FAR = 1e9
"""A moment that is not reached."""


def check(least: LeastMakespan, run_times_s: list[int], unit_s: int, boot_s: int, budget_units: int) -> None:
    """Whether a plan is one, and is what it says."""
    assert sorted(task for host in least.hosts for task in host) == list(range(len(run_times_s)))
    assert all(least.hosts)
    assert wall_and_units(least.hosts, run_times_s, unit_s, boot_s) == (least.wall_s, least.paid_units)
    assert least.paid_units is not None
    assert least.paid_units <= budget_units
    assert least.lower_bound_s is not None
    assert least.wall_s is not None
    assert least.lower_bound_s <= least.wall_s
    assert (least.status == "optimal") == (least.lower_bound_s == least.wall_s)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(1, 15), min_size=1, max_size=6),
    st.integers(1, 12),
    st.integers(0, 14),
    st.integers(-1, 8),
)
def test_against_all_plans(run_times: list[int], unit: int, boot: int, more: int) -> None:
    budget = fewest_paid_units(run_times, unit, boot) + more
    least = least_makespan_within(run_times, unit, boot, max(budget, 0))
    expected = least_wall(run_times, unit, boot, budget)
    if expected is None:
        assert least.status == "infeasible"
        assert (least.wall_s, least.gap, least.hosts) == (None, None, ())
        assert least.fewest_units > budget
    else:
        check(least, run_times, unit, boot, budget)
        assert least.lower_bound_s is not None
        assert least.wall_s is not None
        assert least.lower_bound_s <= expected <= least.wall_s


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.integers(1, 15), min_size=1, max_size=6),
    st.integers(1, 12),
    st.integers(0, 14),
    st.integers(0, 8),
)
def test_columns_refute_only_what_no_plan_does_and_make_plans(
    run_times: list[int], unit: int, boot: int, more: int
) -> None:
    budget = fewest_paid_units(run_times, unit, boot) + more
    expected = least_wall(run_times, unit, boot, budget)
    assert expected is not None
    problem = UnitsProblem(tuple(sorted(run_times, reverse=True)), unit, boot, budget)
    hosts = SharedHosts(problem, FAR)
    assert hosts.refuted(expected) is False
    if expected > boot + max(run_times):
        hosts.refuted(expected - 1)
        assert hosts.plan(expected - 1, FAR) is None
    hosts.add(least_makespan_within(problem.run_times_s, unit, boot, budget).hosts)
    packing = hosts.plan(expected, FAR)
    assert packing is not None
    assert sorted(task for host in packing for task in host) == list(range(len(run_times)))
    assert wall_s_of(problem, packing) <= expected
    assert paid_units_of(problem, packing) <= budget


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=25),
    st.integers(20, 60),
    st.integers(0, 10),
    st.integers(0, 20),
    st.integers(1, 400),
)
def test_packings_keep_time_and_budget(run_times: list[int], unit: int, boot: int, more: int, later: int) -> None:
    budget = fewest_paid_units(run_times, unit, boot) + more
    problem = UnitsProblem(tuple(sorted(run_times, reverse=True)), unit, boot, budget)
    target = boot + max(run_times) + later
    packing = packed_by(problem, target, lambda: False)
    if packing is not None:
        assert sorted(task for host in packing for task in host) == list(range(len(run_times)))
        assert wall_s_of(problem, packing) <= target
        assert paid_units_of(problem, packing) <= budget


@pytest.mark.parametrize(
    ("run_times", "budget", "hosts", "wall"),
    [
        ([50] * 4, 4, 4, 60),
        ([50] * 4, 3, 2, 160),  # hosts of one unit have room for a task, of two units for three; two of 110 s pay 4
        ([45] * 4, 2, 2, 100),
        ([60, 40, 40, 40], 2, 1, 190),  # two hosts have room for 180 s, and 60 + 40 fit into neither
        ([40] * 4, 2, 2, 90),
        ([90, 95], 3, 2, 105),
        ([], 0, 0, 0),
    ],
)
def test_by_hand(run_times: list[int], budget: int, hosts: int, wall: int) -> None:
    expected = least_wall(run_times, 100, 10, budget)
    least = least_makespan_within(run_times, 100, 10, budget)
    assert least.wall_s == (wall if run_times else 0) == (expected if run_times else 0)
    assert len(least.hosts) == hosts


def test_bounds_fall_with_the_budget_and_the_serial_plan_is_later_than_a_host_per_task() -> None:
    numbers = random.Random(3)
    run_times = [numbers.randint(20, 90) for _ in range(11)]
    serial, alone = serial_line(run_times, 100, 10), one_host_per_task_line(run_times, 100, 10)
    budgets = range(serial.paid_units, alone.paid_units + 2)
    plans = [least_makespan_within(run_times, 100, 10, budget) for budget in budgets]
    for plan, budget in zip(plans, budgets, strict=True):
        check(plan, run_times, 100, 10, budget)
    bounds = [plan.lower_bound_s or 0 for plan in plans]
    assert bounds == sorted(bounds, reverse=True)
    assert (plans[0].wall_s or 0) > (plans[-1].wall_s or 0) == alone.wall_s


@pytest.mark.parametrize(
    ("name", "factor"),
    [("image", 1.5), ("synthetic", 1.1), ("test-suite", 1.1), pytest.param("long", 1.2, marks=pytest.mark.slow)],
)
def test_bags_of_the_paper(name: str, factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    run_times = bags()[name]
    budget = round(factor * fewest_paid_units(run_times))
    fake_time(monkeypatch)
    least = least_makespan_within(run_times, budget_units=budget, time_limit_s=3600)
    check(least, run_times, 3600, 300, budget)
    assert least.gap is not None
    assert least.gap < 0.005


def test_the_bags_are_like_those_of_the_paper() -> None:
    sampled = bags()
    assert {name: len(times) for name, times in sampled.items()} == {
        "image": 256,
        "synthetic": 256,
        "test-suite": 1480,
        "long": 256,
    }
    suite = sorted(sampled["test-suite"])
    assert suite[740] < 30
    assert 0 < sum(time > 900 for time in suite) < 15
    assert 55 < sum(suite) / 1480 < 65
    # Without boot times, a host for each task of the long job pays about 512 h, as Table 2 says.
    assert one_host_per_task_line(sampled["long"], boot_s=0).paid_units == pytest.approx(512, abs=15)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 15), min_size=1, max_size=6), st.integers(2, 12), st.integers(0, 1), st.integers(0, 40))
def test_the_least_payment_by_a_time(run_times_s: list[int], unit_s: int, boot_s: int, slack_s: int) -> None:
    alone = one_host_per_task_line(run_times_s, unit_s, boot_s)
    wall_s = alone.wall_s + slack_s
    found, bound = least_units_by(run_times_s, unit_s, boot_s, wall_s, alone.paid_units)
    # All plans within one unit less are later, and one within what was found is in time.
    budgets = range(fewest_paid_units(run_times_s, unit_s, boot_s), alone.paid_units + 1)
    walls = {budget: least_wall(run_times_s, unit_s, boot_s, budget) for budget in budgets}
    least = next(budget for budget, wall in walls.items() if wall is not None and wall <= wall_s)
    assert bound <= least <= found <= alone.paid_units


def test_the_least_payment_by_a_time_of_equal_tasks() -> None:
    # A host has room for 9 tasks of 10 s in a unit: 90 of them pay 10 units by its end, 12 and a half by 80 s.
    assert least_units_by([10] * 90, 100, 10, 100, 90) == (10, 10)
    assert least_units_by([10] * 90, 100, 10, 80, 90) == (13, 13)
    assert least_units_by([10] * 90, 100, 10, 20, 90) == (90, 90)


@pytest.mark.slow
def test_the_time_limit_is_observed(monkeypatch: pytest.MonkeyPatch) -> None:
    run_times = bags()["long"][:48]
    budget = round(1.02 * fewest_paid_units(run_times))
    clock = fake_time(monkeypatch, look_s=0.001)
    solvers_take_all_their_time(monkeypatch, clock)
    least = least_makespan_within(run_times, budget_units=budget, time_limit_s=10)
    check(least, run_times, 3600, 300, budget)
    assert 10 <= least.runtime_s < 10.1


def test_the_time_may_be_over_while_a_programme_of_columns_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = random.Random(7)
    run_times = [numbers.randint(30, 130) for _ in range(12)]
    budget = fewest_paid_units(run_times, 100, 10) + 2
    monkeypatch.setattr(least_makespan, "packed_by", lambda *given: None)  # columns are all that is left
    monkeypatch.setattr(least_makespan, "solve_with_highs", _out_of_time)
    monkeypatch.setattr(IntegerProgram, "add_row", _out_of_time)
    least = least_makespan_within(run_times, 100, 10, budget)
    check(least, run_times, 100, 10, budget)
    assert least.status == "feasible"


def _out_of_time(*given: Any, **options: Any) -> None:
    raise LimitReached


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
