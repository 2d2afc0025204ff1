"""The driver of the annealing: its steps by moves and by the clock, its temperatures; and where lost tasks are put."""

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotbag.core.quantities import IntArray
from spotbag.heuristics.bags import annealing
from spotbag.heuristics.bags.annealing_kernel import Cooling, Objective
from spotbag.heuristics.bags.start_kernel import place_where_cheapest
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance


def _bag(moves_a_s: float | None = None) -> Instance:
    """A bag of which nothing is known yet but how many moves a second a loop makes."""
    bag = library_instance("tiny/one-task").replace(name="new")
    if moves_a_s is not None:
        bag.__dict__[annealing._SPEEDS] = {"loads": moves_a_s}
    return bag


def _steps(seconds: float, bag: Instance) -> annealing.Steps:
    return annealing.Steps(math.inf, time.perf_counter() + seconds, bag, "loads")


def test_the_first_step_is_short_whatever_the_clock_says() -> None:
    """It was as long as the microseconds before it let expect of the machine, which was the whole time and more."""
    for seconds in (0.01, 60.0):
        assert next(iter(_steps(seconds, _bag())))[0] == annealing._FIRST_MOVES


def test_one_slow_step_does_not_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.perf_counter", lambda: now)
    steps = _steps(0.1, _bag())
    for number, (moves, _, _) in enumerate(steps):
        now += moves * 1e-7
        steps.moved()
        now += 6e-3 if number == 3 else 1e-4
    assert now >= 0.09


def test_what_follows_the_moves_of_a_step_does_not_make_the_next_one_short(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.perf_counter", lambda: now)
    steps = _steps(0.1, _bag())
    moves = []
    for moved, _, _ in steps:
        moves.append(moved)
        now += moved * 1e-7
        steps.moved()
        now += 1e-3
    assert len(moves) > 10
    assert moves[5] == pytest.approx(1e7 * 0.1 / annealing._STEPS, rel=0.01)
    assert now <= 0.1


def test_moves_that_are_counted_do_not_ask_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """60,000 moves are 20 steps of 3,000; 1,000,000 are 40 of 25,000, which is the most between two looks at it."""
    monkeypatch.setattr("time.perf_counter", None)
    for moves, each in ((60_000, 3_000), (1_000_000, 25_000)):
        steps = [*annealing.Steps(moves)]
        assert {step[0] for step in steps} == {each}
        assert [step[1] for step in steps] == pytest.approx([step * each / moves for step in range(moves // each)])
        assert steps[-1][2] == 1.0


def test_moves_end_a_run_before_the_clock_does(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.perf_counter", lambda: now)
    steps, done = annealing.Steps(50_000, 10.0, _bag(1e6), "loads"), 0
    for moves, before, after in steps:
        assert before == pytest.approx(done / 50_000)
        done += moves
        assert after == pytest.approx(done / 50_000)
        now += moves * 1e-6
        steps.moved()
    assert done == 50_000


def test_temperatures_fall_from_the_first_to_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.perf_counter", lambda: now)

    class Still:
        """A state that nothing changes."""

        unit, best = 1.0, math.inf

        def settle(self, share: float) -> float:
            return 0.0

        def move(self, cooling: Cooling) -> None:
            nonlocal now
            temperatures.extend([cooling.hot, cooling.cold])
            now += cooling.moves * 1e-7

    temperatures: list[float] = []
    runs = [*annealing.cooled(Still(), (8.0, 0.5), _steps(0.05, _bag(2.5e6)))]
    first, *_ = runs
    assert first == (0.0, 0.0)
    assert temperatures == sorted(temperatures, reverse=True)
    assert temperatures[0] == pytest.approx(8.0)
    assert temperatures[-1] == pytest.approx(0.5, rel=0.3)
    assert now == pytest.approx(0.05, rel=0.1)


def test_the_first_step_of_a_bag_that_is_known_cools(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the speed of the last search for any state of it, it has its share of the time and of the temperatures."""
    now = 0.0
    monkeypatch.setattr("time.perf_counter", lambda: now)
    bag = _bag()
    for is_known in (False, True):
        steps = annealing.Steps(math.inf, now + 0.004, bag, "loads")
        for number, (moves, before, after) in enumerate(steps):
            assert number or (after > before) == is_known
            now += moves * 1e-7
            steps.moved()


def test_temperatures_follow_from_the_tasks() -> None:
    """Half a mean task of 100 s, over 4 tasks, is 12.5 s; the last is a fiftieth."""
    offers = {"on-demand": {"price_usd_per_hour": 1.0, "limit": 1}}
    options = annealing.SearchOptions()
    for count, expected in ((4, (12.5, 0.25)), (100_000, (0.0005, 0.00001))):
        bag = Instance(
            name="equal",
            deadline_s=10**9,
            vm_types=[{"name": "a", "vcpus": 1, "memory_mb": 1, "offers": offers}],
            tasks=[{"id": "t", "memory_mb": 0.1, "runtime_s": {"a": 100}, "count": count}],
        )
        assert options.temperatures(bag, 0) == pytest.approx(expected)
        hottest = [options.temperatures(bag, run)[0] for run in range(1, 200)]
        assert min(hottest) >= 12.5 / count
        assert max(hottest) <= 40 * 50 / count


@given(st.integers(0, 10_000))
def test_lost_tasks_go_where_they_add_least(seed: int) -> None:
    """By the objective worked out anew for each core, as the compiled loop does by what changes."""
    rng = np.random.default_rng(seed)
    n_vms, n_tasks, n_columns = int(rng.integers(1, 5)), int(rng.integers(1, 8)), 2
    vcpus = rng.integers(1, 4, n_vms)
    vms = np.repeat(np.arange(n_vms), vcpus)
    columns = rng.integers(0, n_columns, n_vms)[vms]
    durations = rng.integers(1, 50, (n_columns, n_tasks))
    load = rng.integers(0, 60, len(vms))
    first = np.concatenate([[0], np.cumsum(vcpus)[:-1]])
    objective = Objective(
        rng.random(n_vms), rng.integers(0, 60, n_vms), rng.integers(30, 120, n_vms), float(rng.random()), 50.0
    )

    def value(loads: IntArray) -> float:
        ends = np.maximum.reduceat(loads, first)
        return float(objective.vm_price @ np.maximum(ends, objective.vm_free) + objective.time_weight * ends.max())

    expected = load.copy()
    chosen = np.empty(n_tasks, dtype=np.int64)
    place_where_cheapest(
        np.arange(n_tasks), durations, columns, vms, load, np.maximum.reduceat(load, first), objective, chosen
    )
    for task, core in enumerate(chosen.tolist()):
        after = []
        for other in range(len(vms)):
            loads = expected.copy()
            loads[other] += durations[columns[other], task]
            late_s = max(int(loads[other]) - int(objective.vm_limit[vms[other]]), 0)
            after.append(value(loads) - value(expected) + objective.penalty * late_s)
        assert after[core] <= min(after) + 1e-4
        expected[core] += durations[columns[core], task]
    assert (expected == load).all()
