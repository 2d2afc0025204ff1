"""The search within milliseconds: its steps by the clock, and where it puts what has lost its place."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotbag.core.quantities import IntArray
from spotbag.heuristics.bags import quick_search
from spotbag.heuristics.bags.annealing_kernel import Objective
from spotbag.heuristics.bags.start_kernel import place_where_cheapest
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance


def _bag() -> Instance:
    """A bag of which nothing is known yet."""
    return library_instance("tiny/one-task").replace(name="new")


def _speed(moves_a_s: float) -> quick_search._Speed:
    return quick_search._Speed(_bag(), moves_a_s)


def test_the_first_step_is_short_whatever_the_clock_says() -> None:
    """It was as long as the microseconds before it let expect of the machine, which was the whole time and more."""
    for seconds in (0.01, 60.0):
        steps = iter(quick_search._Coolings(1.0, 0.01, time.perf_counter() + seconds, _speed(1e6)))
        assert next(steps).moves <= quick_search._MOST_MOVES


def test_one_slow_step_does_not_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(quick_search.time, "perf_counter", lambda: now)
    coolings = quick_search._Coolings(1.0, 0.01, 0.1, _speed(1e6))
    for number, cooling in enumerate(coolings):
        now += cooling.moves * 1e-7
        coolings.moved()
        now += 6e-3 if number == 3 else 1e-4
    assert now >= 0.09


def test_what_follows_the_moves_of_a_step_does_not_make_the_next_one_short(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(quick_search.time, "perf_counter", lambda: now)
    coolings = quick_search._Coolings(1.0, 0.01, 0.1, _speed(1e6))
    moves = []
    for cooling in coolings:
        moves.append(cooling.moves)
        now += cooling.moves * 1e-7
        coolings.moved()
        now += 1e-3
    assert len(moves) > 10
    assert moves[5] == pytest.approx(0.9e7 * (0.1 / quick_search._STEPS - 1e-3), rel=0.01)
    assert now <= 0.1


def test_temperatures_fall_from_the_first_to_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(quick_search.time, "perf_counter", lambda: now)
    temperatures = []
    coolings = quick_search._Coolings(8.0, 0.5, 0.05, _speed(2.5e6))
    for cooling in coolings:
        temperatures += [cooling.hot, cooling.cold]
        now += cooling.moves * 1e-7
        coolings.moved()
    assert temperatures == sorted(temperatures, reverse=True)
    assert temperatures[0] == pytest.approx(8.0)
    assert temperatures[-1] == pytest.approx(0.5, rel=0.3)
    assert now == pytest.approx(0.05, rel=0.1)


def test_the_first_step_of_a_bag_that_is_known_cools(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the speed of the last search for any state of it, it has its share of the time and of the temperatures."""
    now = 0.0
    monkeypatch.setattr(quick_search.time, "perf_counter", lambda: now)
    bag = _bag()
    for is_known in (False, True):
        speed = quick_search._Speed(bag, 2.5e6)
        assert speed.is_known == is_known
        coolings = quick_search._Coolings(8.0, 0.5, now + 0.004, speed)
        first = next(iter(coolings))
        assert (first.cold < 0.9 * first.hot) == is_known
        now += first.moves * 1e-7
        coolings.moved()
        for step in coolings:
            now += step.moves * 1e-7
            coolings.moved()
    assert quick_search._Speed(bag, 2e5).is_known is False


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
