"""How a search converged: what was reported is what the result keeps, and it ends at the plan."""

from __future__ import annotations

import math

import pytest

from spotbag.core.plugins import PluginError
from spotbag.heuristics.bags.greedy import greedy
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.schedules.method import Outcome, Run, TracePoint
from spotbag.solvers.bags.result import Result
from spotbag.solvers.bags.solve import solve

POINTS = (TracePoint(1, 9.0, 9.0, d_spot_s=50), TracePoint(2, 8.0, 7.0, d_spot_s=60))


def told_and_found(method: object, instance: Instance | None = None, **how: object) -> tuple[list[TracePoint], Result]:
    """What is reported, without the signs of life, and the result."""
    told: list[TracePoint] = []
    instance = instance or library_instance("tiny/two-cores")
    result = solve(instance, method, on_progress=lambda point, _: told.append(point), **how)  # type: ignore[arg-type]
    return [point for point in dict.fromkeys(told) if point.best < math.inf], result


def reporting(instance: Instance, run: Run) -> Outcome:
    """Say where it stands, and then improve the plan without a word."""
    for point in POINTS:
        run.report(point, 2)
    return greedy(instance)


def telling_at_the_end(instance: Instance, run: Run) -> Outcome:
    return Outcome(greedy(instance).schedule, trace=POINTS)


@pytest.mark.parametrize("method", [reporting, telling_at_the_end])
def test_a_plan_better_than_all_that_was_reported_is_reported_itself(method: object) -> None:
    told, result = told_and_found(method, survive="none")
    cost = result.objective
    assert cost is not None
    assert cost < 7.0
    assert told == [*POINTS, TracePoint(2, cost, cost, d_spot_s=60)]
    assert result.trace == tuple(told)
    assert result.stats == {"iterations": 2}


def test_iterations_are_counted_on_where_a_method_runs_again() -> None:
    """Under a limit, a method goes on from a plan that survives: its second run begins with iteration 1."""
    instance = library_instance("hads/J60")
    unhurried = instance.replace(deadline_s=4 * instance.deadline_s, d_spot_s=None, d_spot_rule=None)
    told, result = told_and_found(reporting, unhurried, time_limit_s=60)
    assert [point.iteration for point in told] == [1, 2, 3, 4, 4]
    assert result.trace == tuple(told)


def test_costs_are_no_trace_of_the_fastest_plan_within_a_budget() -> None:
    """The first question is the least cost, in dollars; the objective is the end, in seconds."""
    told, result = told_and_found("search", goal="fastest", budget_usd=100.0)
    assert result.schedule is not None
    assert result.schedule.objective == result.schedule.makespan_s
    assert told == []
    assert result.trace == ()


def test_a_trace_of_anything_else_is_refused() -> None:
    def method(instance: Instance, run: Run) -> Outcome:
        return Outcome(greedy(instance).schedule, trace=((1, 2.0),))  # type: ignore[arg-type]

    with pytest.raises(PluginError, match="must return TracePoints as its trace, not"):
        told_and_found(method)


@pytest.mark.parametrize("method", ["auto", "search", "ils", "columns", "interval", "patterns"])
def test_the_last_point_is_no_worse_than_the_plan(method: str) -> None:
    told, result = told_and_found(method, survive="none", options={"moves": 2_000} if method == "search" else {})
    assert result.objective is not None
    assert result.trace == tuple(told)
    assert all(point.best <= result.objective for point in told[-1:])
