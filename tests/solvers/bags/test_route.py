"""The route of `auto`: which steps take a bag, with which share of the time, and what is noted of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spotbag.core.errors import ModelRefusal, SpotbagError
from spotbag.core.limits import LimitReached, seconds_left, within
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.heuristics.bags.greedy import greedy
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.schedules.method import Outcome, Run
from spotbag.solvers.bags.budget import BUDGET
from spotbag.solvers.bags.route import STEPS, Facts, Lane, Route, Step
from spotbag.solvers.bags.solve import solve
from tests.helpers.fake_time import fake_time
from tests.helpers.tiny_core_instances import hand_instance


def taken(instance: Instance, limit_s: float | None, monkeypatch: pytest.MonkeyPatch) -> dict[str, float | None]:
    """Return the steps of a bag that find nothing, and the seconds that each has; the clock stands still."""
    found: dict[str, float | None] = {}

    def of(step: Step) -> Step:
        def run(facts: Facts, part: Run) -> Outcome:
            found[step.name] = seconds_left()
            return step.run(facts, part) if step.name == "configurations" else Outcome(None)

        return replace(step, run=run)

    fake_time(monkeypatch)
    with within(limit_s):
        Route(with_d_spot(instance), Run()).go([of(step) for step in STEPS])
    return found


def test_a_bag_of_many_distinct_tasks_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    assert taken(library_instance("distinct/1000"), 10.0, monkeypatch) == {
        "first plan": 10.0,
        "first search": 10.0,
        "search": 10.0,
    }


def test_memory_that_binds_is_bounded_before_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    # 30 tasks, one of a kind: half of the time for each step that others follow.
    assert taken(library_instance("memory/m30"), 10.0, monkeypatch) == {
        "first plan": 10.0,
        "configurations": 5.0,
        "first search": 5.0,
        "core-patterns": 5.0,
        "columns": 5.0,
        "interval": 5.0,
        "search": 10.0,
    }


def test_exact_steps_have_some_seconds_where_there_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    patience_s = BUDGET.patience_for_s(30)
    assert taken(library_instance("memory/m30"), None, monkeypatch) == {
        "first plan": None,
        "configurations": pytest.approx(0.5 * patience_s),
        "first search": None,
        "core-patterns": pytest.approx(0.5 * patience_s),
        "columns": pytest.approx(0.5 * patience_s),
        "interval": pytest.approx(patience_s),
    }


def test_all_steps_have_names_of_their_own() -> None:
    assert len({step.name for step in STEPS}) == len(STEPS)


def test_what_ended_a_step_is_noted() -> None:
    def ends(error: Exception | None) -> Step:
        def run(facts: Facts, part: Run) -> Outcome:
            if error is not None:
                raise error
            return greedy(facts.instance)

        return Step(type(error).__name__, "search", lambda facts: True, run, lambda facts: False)

    errors = ModelRefusal("it does not fit"), SpotbagError("out of order"), LimitReached(), None
    run = Run()
    outcome = Route(with_d_spot(hand_instance([5, 4])), run).go([ends(error) for error in errors])
    noted = [(step.name, step.ended, step.better_plan) for step in run.incumbent.steps]
    assert noted == [
        ("ModelRefusal", "refused", False),
        ("SpotbagError", "failed", False),
        ("LimitReached", "time", False),
        ("NoneType", "done", True),
    ]
    assert outcome.warnings == ("a step of auto failed: out of order",)


@pytest.mark.parametrize("method", ["auto", "greedy"])
def test_steps_follow_one_another_and_end_with_the_check(method: str) -> None:
    result = solve(hand_instance([5, 4, 1]), method, survive="none")
    assert result.steps[0].name == {"auto": "first plan"}.get(method, method)
    assert result.steps[-1].name == "check"
    ends = [step.began_s + step.took_s for step in result.steps]
    begins = [step.began_s for step in result.steps]
    assert all(end <= begin + 1e-9 for end, begin in zip(ends, begins[1:], strict=False))
    assert ends[-1] <= result.runtime_s
    assert result.steps[-1].objective == result.objective
    assert result.to_dict()["steps"][-1]["bound"] is None


@pytest.mark.slow
def test_questions_are_told_apart_by_their_moments() -> None:
    # The second quantity is asked for by earlier deadlines.
    result = solve(hand_instance([5, 4, 3, 1], limit=2), goal="cheapest", survive="none")
    assert {step.deadline_s for step in result.steps} >= {result.instance.deadline_s}
    assert all(step.deadline_s is not None and step.deadline_s <= result.instance.deadline_s for step in result.steps)


def test_two_lanes_have_no_more_threads_together_than_the_run() -> None:
    found: dict[str, int] = {}

    def step(name: Lane) -> Step:
        def run(facts: Facts, part: Run) -> Outcome:
            found[name] = part.threads
            return Outcome(None)

        return Step(name, name, lambda facts: True, run)

    route = Route(with_d_spot(library_instance("memory/m30")), Run(threads=4))
    route._side_by_side([step("proof")])
    assert found == {"proof": 3}  # the other one searches in one
