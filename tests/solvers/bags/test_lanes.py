"""Search and proofs side by side: what the lanes share, and what the caller sees of them."""

from __future__ import annotations

import math
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from spotbag.audits.bags.plan import check
from spotbag.core.errors import InputError
from spotbag.core.limits import checkpoint, current_limit, within
from spotbag.core.processes import THREADS, default_threads, usable_cores
from spotbag.heuristics.bags.greedy import greedy
from spotbag.heuristics.bags.lpt import LptOptions, lpt
from spotbag.instances.library import library_instance
from spotbag.models.integer_program import IntegerProgram
from spotbag.schedules.method import Incumbent, Outcome, Run, TracePoint
from spotbag.solvers.backend import SolverLimits
from spotbag.solvers.bags.route import Facts, Lane, Route, Step
from spotbag.solvers.bags.solve import solve
from spotbag.solvers.highs import solve_with_highs
from tests.helpers.tiny_core_instances import hand_instance

TINY = hand_instance([5, 4, 1], d_spot_s=100, survive="none")


def step(name: str, lane: Lane, run: Run, into: list[tuple[str, int, str]]) -> Step:
    """A step that notes where it runs, and finds nothing."""

    def note(facts: Facts, part: Run) -> Outcome:
        into.append((name, part.seed, threading.current_thread().name))
        return Outcome(None)

    return Step(name, lane, lambda facts: True, note)


def test_each_lane_has_its_steps_in_a_thread_of_its_own_and_a_seed_of_its_own() -> None:
    noted: list[tuple[str, int, str]] = []
    run = Run(seed=7, threads=2)
    lanes: tuple[Lane, ...] = ("start", "proof", "both", "search")
    Route(TINY, run).go([step(lane, lane, run, noted) for lane in lanes])
    here = threading.current_thread().name
    assert noted[0] == ("start", 7, here)
    by_thread: dict[str, list[tuple[str, int]]] = {}
    for name, seed, thread in noted[1:]:
        by_thread.setdefault(thread, []).append((name, seed))
    assert here not in by_thread
    assert sorted(by_thread.values()) == [[("both", 7), ("search", 7)], [("proof", 8), ("both", 8)]]


def test_a_lane_that_proves_ends_the_other() -> None:
    begun = threading.Event()

    def search_for_ever(facts: Facts, part: Run) -> Outcome:
        begun.set()
        while True:
            checkpoint()

    def prove(facts: Facts, part: Run) -> Outcome:
        begun.wait()
        part.incumbent.take(lpt(facts.instance, LptOptions(), part).schedule)
        part.incumbent.raise_bound(part.incumbent.objective)
        return Outcome(None)

    steps = [
        Step("search", "search", lambda facts: True, search_for_ever, lambda facts: False),
        Step("proof", "proof", lambda facts: True, prove, lambda facts: False),
    ]
    run = Run(threads=2)
    outcome = Route(TINY, run).go(steps)
    assert outcome.schedule is not None
    assert outcome.bound == outcome.schedule.objective
    taken = {noted.name: (noted.ended, noted.better_plan, noted.better_bound) for noted in run.incumbent.steps}
    assert taken == {"search": ("time", False, False), "proof": ("done", True, True)}


def test_a_plan_that_comes_when_the_time_of_its_step_is_over_ends_no_lane() -> None:
    # The best plan of a search that was cut short ended both lanes, after a second of ten.
    def late(facts: Facts, part: Run) -> Outcome:
        plan = greedy(facts.instance).schedule
        with within(0.0):
            part.incumbent.take(plan)
        return Outcome(None)

    asked = threading.Event()

    def prove(facts: Facts, part: Run) -> Outcome:
        asked.set()
        return Outcome(None)

    steps = [
        Step("late", "proof", lambda facts: True, late, lambda facts: False),
        Step("proof", "proof", lambda facts: True, prove, lambda facts: False),
    ]
    Route(TINY, Run(threads=2)).go(steps)
    assert asked.is_set()


def test_what_goes_wrong_in_one_lane_ends_the_other_and_is_raised() -> None:
    def search_for_ever(facts: Facts, part: Run) -> Outcome:
        while True:
            checkpoint()

    def fail(facts: Facts, part: Run) -> Outcome:
        raise ZeroDivisionError("a mistake of ours")

    steps = [
        Step("search", "search", lambda facts: True, search_for_ever, lambda facts: False),
        Step("proof", "proof", lambda facts: True, fail, lambda facts: False),
    ]
    with pytest.raises(ZeroDivisionError, match="a mistake of ours"):
        Route(TINY, Run(threads=2)).go(steps)


@pytest.mark.parametrize("name", ["tiny/credits", "tiny/memory-parts-them", "tiny/boot", "tiny/checkpoints"])
def test_two_threads_prove_what_one_proves(name: str) -> None:
    instance = library_instance(name)
    one, two = (solve(instance, threads=threads) for threads in (1, 2))
    assert one.status == two.status == "optimal"
    assert two.schedule is not None
    assert two.objective == pytest.approx(one.objective, rel=1e-9)
    assert check(two.instance, two.schedule).feasible


@pytest.mark.slow
def test_progress_of_both_lanes_comes_in_the_thread_of_the_call() -> None:
    threads: set[threading.Thread] = set()
    points: list[TracePoint] = []

    def on_progress(point: TracePoint, planned: int) -> None:
        threads.add(threading.current_thread())
        points.append(point)

    result = solve(library_instance("memory/m10"), threads=2, time_limit_s=1.0, on_progress=on_progress)
    assert result.objective is not None
    assert threads == {threading.current_thread()}
    assert min(point.best for point in points) >= result.objective * (1 - 1e-9)
    bounds = [point.bound for point in points if point.bound is not None]
    assert max(bounds) <= result.objective * (1 + 1e-9)


def test_an_exception_in_on_progress_ends_both_lanes_and_is_raised() -> None:
    before = threading.active_count()

    def fail(point: TracePoint, planned: int) -> None:
        raise RuntimeError("of the callback")

    with pytest.raises(RuntimeError, match="of the callback"):
        solve(library_instance("memory/m10"), threads=2, time_limit_s=60, on_progress=fail)
    assert threading.active_count() == before
    assert current_limit().stops == ()


def test_a_stop_ends_both_lanes_with_the_best_plan_so_far() -> None:
    stop = threading.Event()

    def on_progress(point: TracePoint, planned: int) -> None:
        if math.isfinite(point.best):
            stop.set()

    result = solve(library_instance("memory/m10"), threads=2, time_limit_s=60, stop=stop, on_progress=on_progress)
    assert result.interrupted
    assert result.schedule is not None


def test_parts_of_a_run_know_what_they_have_added() -> None:
    whole, told = Incumbent(), []
    first, second = (whole.part(lambda name=name: told.append(name)) for name in ("first", "second"))
    plan = greedy(TINY).schedule
    assert plan is not None
    first.take(plan)
    second.take(plan)  # no better
    second.raise_bound(0.5)
    first.raise_bound(0.25)
    assert whole.schedule is first.schedule is second.schedule is plan
    assert whole.bound == first.bound == second.bound == 0.5
    assert (first.better_plan, first.better_bound) == (True, False)
    assert (second.better_plan, second.better_bound) == (False, True)
    assert told == ["first", "second"]


def test_highs_solves_in_several_threads_at_once() -> None:
    def least(weights: list[int]) -> float:
        program = IntegerProgram()
        columns = [program.add_column(float(weight), upper=9) for weight in weights]
        program.add_row(columns, [3 * weight + 1 for weight in weights], lower=200)
        answer = solve_with_highs(program, SolverLimits(threads=2))
        assert answer.status == "optimal"
        return answer.bound

    asked = [[3 + number, 5, 7, 11 + number] for number in range(12)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(least, asked)) == [least(weights) for weights in asked]


def test_threads_are_those_of_the_environment_or_all_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS, "3")
    assert default_threads() == 3
    monkeypatch.delenv(THREADS)
    assert default_threads() == usable_cores()
    monkeypatch.setenv(THREADS, "many")
    with pytest.raises(InputError, match="must be a whole number from 1 on"):
        solve(TINY, "greedy")
