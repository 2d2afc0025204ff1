"""Goals of two quantities in order, against the whole front of tiny bags; thousands of them are soaked."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from spotbag.core.errors import InputError
from spotbag.core.limits import ITERATIONS, count_work, seconds_left
from spotbag.heuristics.bags.d_spot import estimate_d_spot
from spotbag.heuristics.bags.first_plans import earliest_plan
from spotbag.heuristics.bags.greedy import greedy
from spotbag.heuristics.bags.search import search
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.schedules.method import Outcome, Run
from spotbag.solvers.bags.budget import BUDGET
from spotbag.solvers.bags.goals import cheapest_by
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.result import Result
from spotbag.solvers.bags.solve import solve
from tests.helpers.exhaustive import exhaustive_front
from tests.helpers.fake_time import fake_time
from tests.helpers.soaks import some
from tests.helpers.tiny_core_instances import hand_instance
from tests.helpers.tiny_instances import FAMILIES, tiny_instance


def tiny(seed: int) -> Instance:
    return tiny_instance(seed, **FAMILIES["memory" if seed % 2 else "cores"]).replace(survive="none")


def pair(result: Result) -> tuple[int, float]:
    assert result.schedule is not None
    return result.schedule.makespan_s, pytest.approx(result.schedule.cost_usd, rel=1e-9)


@pytest.mark.parametrize("seed", some(range(3), fast=1))
def test_the_goals_are_the_ends_of_the_front(seed: int) -> None:
    instance = tiny(seed)
    front = exhaustive_front(instance)
    for goal, ends in (("cheapest", front[-1:]), ("fastest", front[:1])):
        result = solve(instance, goal=goal)  # type: ignore[arg-type]
        if not ends:
            assert result.status == "infeasible"
            continue
        assert (pair(result), result.status) == (ends[0], "optimal")
        assert [stage.proven for stage in result.stages] == [True, True]


@pytest.mark.parametrize("seed", some(range(2, 5), fast=2))
def test_a_budget_is_kept_by_the_fastest_plan_that_it_pays(seed: int) -> None:
    instance = tiny(seed)
    front = exhaustive_front(instance)
    for end, cost in front:
        result = solve(instance, goal="fastest", budget_usd=cost)
        assert (pair(result), result.status) == ((end, cost), "optimal")
    if front:
        result = solve(instance, goal="fastest", budget_usd=0.99 * front[-1][1])
        assert result.status == "infeasible"
        assert "within the budget" in result.message


@pytest.mark.parametrize("method", ["greedy", "ils"])
def test_a_budget_too_small_for_the_d_spot_of_a_paper_is_no_proof_for_others(method: str) -> None:
    # 100 s cost $ 0.01 on spot. HADS keeps the time to do the task again, and spot VMs end by 50 s = 150 - 100: then it
    # costs $ 0.1 on demand, or cut into halves 0.005 + 0.05. It was said that no plan exists within $ 0.05.
    offers = {
        market: {"price_usd_per_hour": price, "limit": 1} for market, price in (("spot", 0.36), ("on-demand", 3.6))
    }
    bag = hand_instance([100], deadline_s=150, d_spot_s=None, survive="none").replace(
        vm_types=[{"name": "a", "vcpus": 1, "memory_mb": 100, "offers": offers}]
    )
    result = solve(bag, method, goal="fastest", budget_usd=0.05)
    assert result.status == "no-plan"
    assert result.message == (
        "no plan with a D_spot of 50 s exists within the budget of $ 0.05: each costs at least $ 0.055000"
    )
    assert pair(solve(bag, goal="fastest", budget_usd=0.05)) == (100, pytest.approx(0.01))


def test_a_bag_that_names_no_objective_is_to_be_cheap() -> None:
    bag = next(bag for bag in map(tiny, range(1, 20)) if len(exhaustive_front(bag)) > 1)
    fast, cheap = (solve(bag.replace(objective=entry)) for entry in ({"goal": "fastest"}, {}))
    assert fast.schedule is not None
    assert cheap.schedule is not None
    assert cheap.instance.goal == "cheapest"
    assert cheap.objective == cheap.schedule.cost_usd < fast.schedule.cost_usd
    assert fast.objective == fast.schedule.makespan_s < cheap.schedule.makespan_s


def test_what_has_no_meaning_for_a_goal_is_refused() -> None:
    bag = library_instance("tiny/fast-or-cheap")
    with pytest.raises(InputError, match=r"budget_usd 1.* is for the goal 'fastest' only"):
        bag.with_goal("cheapest", budget_usd=1.0)
    with pytest.raises(InputError, match=r"cost_weight 0.3 is for the goal 'balanced' only; the goal is 'fastest'"):
        bag.replace(objective={"goal": "fastest", "cost_weight": 0.3})
    assert bag.with_goal("cheapest").with_goal("balanced").cost_weight == 0.5


def test_published_methods_have_the_d_spot_of_the_paper_and_a_bound_of_all_plans() -> None:
    bag = generate_instance(30, classes=3, seed=5)
    by_greedy = solve(bag, "greedy")
    by_search = solve(bag.replace(survive="none"), "search", options={"moves": 10_000})
    assert by_greedy.instance.d_spot_s == estimate_d_spot(bag) < bag.deadline_s
    assert by_greedy.bound is not None
    assert by_search.objective is not None
    assert by_greedy.bound <= by_search.objective


@pytest.mark.slow
@pytest.mark.parametrize("seed", some(range(2, 5), fast=1))
def test_near_the_least_cost_the_fastest_plan_is_that_of_the_front(seed: int) -> None:
    """Of the points of the front that cost at most so much more than the cheapest, the one that ends first."""
    instance = tiny(seed)
    front = exhaustive_front(instance)
    for share in (0.0, 0.05, 0.5, 3.0):
        result = solve(instance, near_least=share)
        if not front:
            assert result.status == "infeasible"
            continue
        first = next(point for point in front if point[1] <= (1 + share) * front[-1][1] * (1 + 1e-9))
        assert (pair(result), result.status) == (first, "optimal")
        assert result.instance.objective.budget_usd == pytest.approx((1 + share) * front[-1][1])


def test_near_the_least_cost_has_a_goal_of_its_own() -> None:
    bag = library_instance("tiny/fast-or-cheap")
    with pytest.raises(InputError, match=r"near_least: has a goal and a budget of its own"):
        solve(bag, goal="fastest", near_least=0.05)
    for share in (-0.01, float("inf"), float("nan")):
        with pytest.raises(InputError, match=r"near_least.* must be a share that is not negative"):
            solve(bag, near_least=share)


def test_the_fastest_plan_within_a_budget_is_looked_for_by_the_search_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where memory may bind, bounds took all the time that `auto` has for a question: here it has no plan to any."""
    bag = library_instance("tiny/fast-or-cheap").replace(survive="none")
    fastest = solve(bag, goal="fastest", budget_usd=1000.0).schedule
    assert fastest is not None

    def only_by_the_deadline(instance: Instance, options: object, run: Run) -> Outcome:
        return greedy(instance) if instance.deadline_s == bag.deadline_s else Outcome(None)

    monkeypatch.setitem(METHODS, "auto", replace(METHODS["auto"], load=lambda: (object, only_by_the_deadline)))
    found = solve(bag, goal="fastest", budget_usd=1000.0).schedule
    assert found is not None
    assert found.makespan_s == fastest.makespan_s


def test_a_simple_plan_for_an_early_moment_is_found_by_halves() -> None:
    # Two types of one core, for $ 0.001 and 0.003 a second. Three tasks on one and one on the other: 300 s, $ 0.6;
    # two on each: 200 s, $ 0.8; all on the first: 400 s, $ 0.4.
    types = [
        {
            "name": name,
            "vcpus": 1,
            "memory_mb": 1000,
            "offers": {"on-demand": {"price_usd_per_hour": 3.6 * usd, "limit": 1}},
        }
        for name, usd in (("a", 1), ("b", 3))
    ]
    tasks = [{"id": f"t{k}", "memory_mb": 1, "runtime_s": {"a": 100, "b": 100}} for k in range(4)]
    bag = hand_instance([], tasks=tasks, vm_types=types)
    for budget_usd, end_s in ((0.4, 400), (0.7, 300), (0.8, 200), (9.0, 200)):
        plan = earliest_plan(partial(cheapest_by, bag), budget_usd + 1e-9, 1000, 100)
        assert plan is not None
        assert plan.makespan_s == end_s
    assert earliest_plan(partial(cheapest_by, bag), 0.39, 1000, 100) is None


def test_both_quantities_share_the_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    # Twenty tasks where memory binds took 30 s for the first quantity, and 30 s more for the second. Three have 4.12 s.
    given = list[float]()

    def slow(*arguments: Any, **named: Any) -> Outcome:
        count_work(2 * ITERATIONS.second)  # by which patience goes, whatever the clock says
        return search(*arguments, **named)

    def look(earliest: object, patience_s: float, prove: bool = True, most_questions: int | None = None) -> None:
        given.append(patience_s)

    monkeypatch.setattr("spotbag.solvers.bags.route.search", slow)
    monkeypatch.setattr("spotbag.solvers.bags.goals._Earliest.look", look)
    result = solve(hand_instance([5, 4, 3]), goal="cheapest", survive="none")
    assert result.stages[0].proven
    assert given == [pytest.approx(BUDGET.patience_for_s(3) - 2, abs=0.05)]


def test_moments_that_are_soon_proved_wait_for_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    # Half of 300 s went by before the first moment of a bag of 60 tasks was asked about, whose proof takes 0.2 s.
    clock, turns = fake_time(monkeypatch), list[float]()

    def whole_turn(earliest: object, again: bool) -> None:
        turns.append(seconds_left() or 0.0)
        clock.now_s += turns[-1]

    monkeypatch.setattr("spotbag.solvers.bags.goals._Earliest._search", whole_turn)
    monkeypatch.setattr("spotbag.solvers.bags.goals.SMALL_TASKS", 0)
    result = solve(library_instance("tiny/fast-or-cheap"), goal="cheapest", survive="none", time_limit_s=300)
    assert [stage.proven for stage in result.stages] == [True, True]
    assert turns == [pytest.approx(1.0)]
