"""Reference lines by hand and against all plans; bounds that no plan beats; the paper's arithmetic."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from spotbag_papers.streams.unit_bounds import (
    Heaviest,
    HostLine,
    UnitsProblem,
    fewest_paid_units,
    hosts_by_formula,
    one_host_per_task_line,
    refutes,
    serial_line,
    simple_bound_s,
)
from tests.helpers.all_partitions import least_wall, partitions, wall_and_units

tiny_bags = st.tuples(st.lists(st.integers(1, 15), min_size=1, max_size=6), st.integers(1, 12), st.integers(0, 14))


def test_the_lines_by_hand() -> None:
    run_times = [3000, 3300, 3301]
    assert serial_line(run_times) == HostLine(hosts=1, wall_s=9901, paid_units=3, serial_s=9601)
    assert one_host_per_task_line(run_times) == HostLine(hosts=3, wall_s=3601, paid_units=4, serial_s=9601)
    assert serial_line(run_times).speedup == 9601 / 9901
    assert fewest_paid_units(run_times) == 3
    assert fewest_paid_units([10_500]) == 3
    assert fewest_paid_units([10_501]) == 4


def test_an_empty_bag_needs_no_host() -> None:
    assert serial_line([]) == one_host_per_task_line([]) == HostLine(0, 0, 0, 0)
    assert serial_line([]).speedup == 0
    assert fewest_paid_units([]) == 0


def test_hosts_of_the_paper() -> None:
    # Footnote 6 and the dashed lines of Figs. 9 to 11; the third is printed as 29.
    jobs = {"image": (256, 220), "synthetic": (256, 150), "outsystems": (1480, 60)}
    assert [hosts_by_formula(*job) for job in jobs.values()] == [18, 12, 27]
    assert hosts_by_formula(0, 100) == 0


def test_a_host_per_task_of_the_long_job_pays_512_hours() -> None:
    # Table 2: 256 hosts, 512 h.
    line = one_host_per_task_line([5400] * 256)
    assert (line.hosts, line.paid_units) == (256, 512)
    assert serial_line([5400] * 256, boot_s=0).paid_units == 384


@given(tiny_bags)
def test_no_plan_pays_less_than_the_fewest_units_nor_ends_before_a_host_per_task(
    bag: tuple[list[int], int, int],
) -> None:
    run_times, unit, boot = bag
    plans = [wall_and_units(hosts, run_times, unit, boot) for hosts in partitions(len(run_times))]
    assert fewest_paid_units(run_times, unit, boot) == min(units for _, units in plans)
    for line in (serial_line(run_times, unit, boot), one_host_per_task_line(run_times, unit, boot)):
        assert (line.wall_s, line.paid_units) in plans
    assert one_host_per_task_line(run_times, unit, boot).wall_s == min(wall for wall, _ in plans)


def problem(run_times: list[int], unit: int, boot: int, budget: int) -> UnitsProblem:
    return UnitsProblem(tuple(sorted(run_times, reverse=True)), unit, boot, budget)


def test_rooms_by_hand() -> None:
    one = problem([50] * 10, 100, 10, 5)
    assert one.rooms_s(250) == [90, 190, 240]
    assert one.rooms_s(300) == [90, 190, 290]
    # Of 5 units by 250: one host has 240 (two units are left over), two have 240 + 190, three 190 + 190 + 90.
    assert one.capacity_s(250).tolist() == [240, 430, 470, 460, 450]


@given(tiny_bags, st.integers(1, 60), st.integers(1, 8))
def test_capacity_is_the_most_that_hosts_have(bag: tuple[list[int], int, int], wall: int, budget: int) -> None:
    run_times, unit, boot = bag
    one = problem(run_times, unit, boot, budget)
    largest = -(-wall // unit)
    for hosts, capacity in enumerate(one.capacity_s(wall).tolist(), start=1):
        most = max(
            sum(min(units * unit, wall) - boot for units in choice)
            for choice in itertools.combinations_with_replacement(range(1, min(largest, 8) + 1), hosts)
            if sum(choice) <= budget
        )
        assert capacity >= most
        if largest <= 8 and hosts * largest <= budget:
            assert capacity == hosts * (wall - boot)


@given(tiny_bags, st.integers(0, 6))
def test_the_simple_bound_holds(bag: tuple[list[int], int, int], more: int) -> None:
    run_times, unit, boot = bag
    budget = fewest_paid_units(run_times, unit, boot) + more
    least = least_wall(run_times, unit, boot, budget)
    assert least is not None
    assert simple_bound_s(problem(run_times, unit, boot, budget)) <= least


def test_the_simple_bound_knows_of_shared_hosts_and_of_room() -> None:
    assert simple_bound_s(problem([60, 60, 60], 200, 10, 2)) == 130  # two of three share a host
    assert simple_bound_s(problem([1] * 240, 200, 10, 2)) == 130  # 120 s on each of two hosts
    assert simple_bound_s(problem([70, 1], 200, 10, 2)) == 80


@given(tiny_bags, st.integers(0, 3), st.data())
def test_weights_refute_only_what_no_plan_does(bag: tuple[list[int], int, int], more: int, data: st.DataObject) -> None:
    run_times, unit, boot = bag
    budget = fewest_paid_units(run_times, unit, boot) + more
    least = least_wall(run_times, unit, boot, budget)
    assert least is not None
    one = problem(run_times, unit, boot, budget)
    weights = data.draw(st.lists(st.integers(0, 9), min_size=len(run_times), max_size=len(run_times)))
    for wall in range(least, least + 3):
        best = Heaviest(one.run_times_s, weights, max(one.rooms_s(wall))).best
        assert not refutes(one, wall, weights, best)


def test_weights_refute_what_room_alone_does_not() -> None:
    # Three tasks of 60 and two hosts with room for 100 each: 180 <= 200, but each has room for one of them.
    one = problem([60, 60, 60], 110, 10, 2)
    best = Heaviest(one.run_times_s, [1, 1, 1], 100).best
    assert one.capacity_s(110).max() >= 180
    assert refutes(one, 110, [1, 1, 1], best)
    assert not refutes(problem([60, 60, 60], 110, 10, 3), 110, [1, 1, 1], best)


@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=7),
    st.integers(0, 40),
)
def test_heaviest_sets(items: list[tuple[int, int]], room: int) -> None:
    times, weights = [time for time, _ in items], [weight for _, weight in items]
    heaviest = Heaviest(times, weights, room)
    for seconds in range(room + 1):
        most = max(
            sum(weights[task] for task in tasks)
            for size in range(len(items) + 1)
            for tasks in itertools.combinations(range(len(items)), size)
            if sum(times[task] for task in tasks) <= seconds
        )
        tasks = heaviest.tasks(seconds)
        assert heaviest.best[seconds] == most == sum(weights[task] for task in tasks)
        assert sum(times[task] for task in tasks) <= seconds
