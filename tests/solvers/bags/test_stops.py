"""Requests to stop and exceptions in callbacks, for every method and for fronts."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable

import pytest

from spotbag.core.limits import LimitReached, current_limit, within
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.best_known import best_known
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.models.bags.time_indexed import build_time_indexed
from spotbag.schedules.method import TracePoint
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.pareto import FrontPoint, pareto_front
from spotbag.solvers.bags.solve import solve
from tests.helpers.soaks import soak
from tests.helpers.stops import StopAt

KNOWN = best_known()
QUICK = {"greedy", "lpt", "fewest-vms", "first-fit", "class-programme"}
"""Methods that end on small bags before there is anything to report."""


def bag(method: str) -> Instance:
    """A bag that a method takes, and on which it has some work."""
    smallest = ("class-programme", "time-indexed")
    return library_instance(
        "tiny/two-cores" if method in smallest else "hads/J60" if method == "patterns" else "memory/m10"
    )


@pytest.mark.parametrize("method", [name for name in METHODS if name not in QUICK])
def test_an_exception_in_on_progress_is_raised_and_a_second_call_works(method: str) -> None:
    instance, threads = bag(method), []

    def fail(point: TracePoint, planned: int) -> None:
        threads.append(threading.current_thread())
        raise RuntimeError("of the callback")

    with pytest.raises(RuntimeError, match="of the callback"):
        solve(instance, method, on_progress=fail, time_limit_s=20)
    assert threads == [threading.current_thread()]
    assert current_limit().stops == ()
    assert solve(instance, method, time_limit_s=20, target_gap=0.5).schedule is not None


def test_an_exception_in_on_point_is_raised_and_a_second_call_works() -> None:
    instance = library_instance("tiny/two-cores")

    def fail(point: FrontPoint, found: int) -> None:
        raise RuntimeError("of the callback")

    with pytest.raises(RuntimeError, match="of the callback"):
        pareto_front(instance, on_point=fail)
    assert current_limit().stops == ()
    assert pareto_front(instance).complete


def test_a_model_that_is_not_built_to_the_end_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    instance = with_d_spot(library_instance("hads/J60"))
    stop = StopAt(7_000)  # in the constraints, of which Pyomo reports what goes wrong
    with within(stop=stop), pytest.raises(LimitReached):
        build_time_indexed(instance, step_s=64, burstable="baseline")
    assert stop.asked == 7_000
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("looks", [20, 50, 100])
def test_ils_that_is_stopped_has_its_best_plan(looks: int) -> None:
    assert demand_nothing_lost_by_solve(library_instance("memory/m10"), "ils", looks)


def demand_nothing_lost_by_solve(instance: Instance, method: str, looks: int) -> bool:
    """Demand that the result of a stopped method has all that was reported; say whether it was stopped."""
    points: list[TracePoint] = []
    result = solve(
        instance, method, on_progress=lambda point, planned: points.append(point), stop=StopAt(looks), time_limit_s=60
    )
    best = min((point.best for point in points), default=math.inf)
    bound = max((point.bound for point in points if point.bound is not None), default=-math.inf)
    assert result.bound is not None
    assert (result.objective or math.inf) <= best * (1 + 1e-9)
    assert result.bound >= min(bound, best) * (1 - 1e-9)
    return result.interrupted


def demand_nothing_lost_by_front(instance: Instance, looks: int) -> bool:
    """Demand that the points of a stopped front are no worse than those that were reported."""
    reported: list[FrontPoint] = []
    front = pareto_front(instance, on_point=lambda point, found: reported.append(point), stop=StopAt(looks))
    for point in reported:
        assert any(
            mine.makespan_s <= point.makespan_s and mine.cost_usd <= point.cost_usd + 1e-9 for mine in front.points
        )
    return front.interrupted


@pytest.mark.parametrize("method", METHODS)
def test_a_method_that_is_stopped_at_once_says_so_and_proves_nothing_wrong(method: str) -> None:
    stop = threading.Event()
    stop.set()
    result = solve(bag(method), method, stop=stop)
    assert result.interrupted
    assert (result.status, bool(result.message)) == ("no-plan", True)
    assert result.bound is not None
    assert math.isfinite(result.bound)
    assert result.bound <= KNOWN[bag(method).name].value * (1 + 1e-9)


@soak(sample=12, whole=200)
def test_nothing_is_lost_whenever_it_is_stopped(how_many: int) -> None:
    draw = random.Random(16)
    stopped = 0
    cases: list[tuple[str, Callable[[int], bool]]] = [
        (method, lambda looks, method=method: demand_nothing_lost_by_solve(bag(method), method, looks))  # type: ignore[misc]
        for method in METHODS
    ]
    cases.append(("front", lambda looks: demand_nothing_lost_by_front(library_instance("hads/J60"), looks)))
    for number in range(how_many):
        _, demand = cases[number % len(cases)]
        stopped += demand(int(10 ** draw.uniform(0, 3)))
    assert stopped > how_many / 4
