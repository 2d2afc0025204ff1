"""Class dynamic programme: by hand, against brute force, the pattern model and exhaustive fronts; stops, refusals."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.divisible_programme import makespan_window
from spotbag.core.errors import ModelRefusal
from spotbag.core.limits import within
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.instance import Instance
from spotbag.models.bags import patterns as pattern_model
from spotbag.models.bags.core_patterns import enumerate_patterns
from spotbag.models.bags.makespan_bounds import MakespanWindow
from spotbag.models.bags.patterns import PatternModel
from spotbag.schedules.method import Run
from spotbag.schedules.timing import objective_value
from spotbag.solvers.backend import SolverLimits
from spotbag.solvers.bags import class_tables
from spotbag.solvers.bags.class_dynamic_programme import BestPlan, ClassProgramme, ParetoPoint, best_plan
from spotbag.solvers.bags.class_programme_method import ClassProgrammeOptions, class_programme
from spotbag.solvers.bags.class_tables import has_small_class_programme
from spotbag.solvers.bags.solve import solve
from spotbag.solvers.highs import solve_with_highs
from tests.helpers.exhaustive import exhaustive_front
from tests.helpers.second_by_second import brute_force_objective
from tests.helpers.soaks import soak, some
from tests.helpers.stops import StopAt
from tests.helpers.tiny_core_instances import (
    all_outcomes,
    few_classes_instance,
    hand_instance,
    nondominated,
    tiny_instance,
)
from tests.helpers.tiny_instances import earning_instance


def pareto_front(instance: Instance, *options: Any) -> list[ParetoPoint]:
    """Return every nondominated pair of makespan and cost, with a plan, from the fastest to the cheapest."""
    tables = class_tables.ClassTables(instance, makespan_window(instance).latest_s, *options)
    return list(ClassProgramme(tables).front())[::-1]


def checked_plan(instance: Instance, at_most: float = math.inf) -> BestPlan:
    plan = best_plan(instance, makespan_window(instance, at_most), at_most)
    assert not plan.stopped
    if plan.schedule is not None:
        assert not check(instance, plan.schedule).violations
        assert plan.schedule.objective == pytest.approx(plan.bound, rel=1e-9)
    return plan


def test_the_best_plan_by_hand() -> None:
    # Two cores, 30 = 10 + 20 beside 30: T = 30 and 30 s of the VM.
    plan = checked_plan(hand_instance([10, 20, 30]))
    assert plan.schedule is not None
    assert plan.schedule.makespan_s == 30
    assert plan.bound == pytest.approx(0.5 * 0.030 + 0.5 * 0.030)


def test_what_a_second_vm_costs_and_what_it_saves() -> None:
    # Four tasks of 10 s: one VM ends at 20 for 20 s, two VMs end at 10 for 20 s in all.
    plan = checked_plan(hand_instance([10, 10, 10, 10], limit=2, boot_overhead_s=5))
    assert plan.schedule is not None
    assert plan.schedule.makespan_s == 15
    assert plan.schedule.cost_usd == pytest.approx(0.020)


def test_a_limit_of_the_market_keeps_the_second_vm_away() -> None:
    plan = checked_plan(hand_instance([10, 10, 10, 10], limit=2, limits={"max_spot": 1}))
    assert plan.schedule is not None
    assert plan.schedule.makespan_s == 20
    offers = {"on-demand": {"price_usd_per_hour": 3.6, "limit": 3}}
    types = [{"name": name, "vcpus": 1, "memory_mb": 1000, "offers": offers} for name in ("a", "b")]
    tasks = [{"id": "t", "memory_mb": 1, "runtime_s": {"a": 10, "b": 7}, "count": 5}]
    capped = hand_instance([], vm_types=types, tasks=tasks, limits={"max_on_demand": 4})
    # Four VMs for five tasks: three of b, and an a only if that saves more than it costs.
    best = min(objective_value(capped, *reversed(point)) for point in all_outcomes(capped))
    assert checked_plan(capped).bound == pytest.approx(best)


def test_nothing_better_than_the_optimum_is_found() -> None:
    problem = hand_instance([10, 20, 30])
    plan = checked_plan(problem, at_most=0.030)
    assert plan.schedule is None
    assert plan.bound == 0.030
    assert checked_plan(problem, at_most=0.031).bound == pytest.approx(0.030)


def test_infeasible_is_proved() -> None:
    # 24 s of work on two cores, and 12 s: but 8 + 8 > 12.
    problem = hand_instance([8, 8, 8], deadline_s=12, d_spot_s=12)
    window = MakespanWindow(8, 12)
    assert best_plan(problem, window) == BestPlan(None, math.inf)
    assert pareto_front(problem) == []
    outcome = class_programme(problem, ClassProgrammeOptions(), Run())
    assert outcome.schedule is None
    assert outcome.bound == math.inf
    assert "no plan exists" in outcome.explanation


@pytest.mark.parametrize("seed", some(range(40), fast=15))
def test_brute_force_finds_nothing_better(seed: int) -> None:
    problem = tiny_instance(seed, most_tasks=4)
    best = brute_force_objective(problem)
    plan = checked_plan(problem)
    assert plan.bound == (math.inf if best is None else pytest.approx(best, rel=1e-9))
    assert (plan.schedule is None) == (best is None)
    outcome = class_programme(problem, ClassProgrammeOptions(), Run())
    assert outcome.bound == (math.inf if best is None else pytest.approx(best, rel=1e-9))
    if outcome.schedule is not None:
        assert not check(problem, outcome.schedule).violations
        assert outcome.schedule.objective == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("seed", some(range(1000, 1040), fast=15))
def test_fronts_are_those_of_all_plans(seed: int) -> None:
    _compare_front_with_all_plans(tiny_instance(seed))


@soak(100, 600)
def test_hundreds_of_fronts_are_those_of_all_plans(how_many: int) -> None:
    for seed in range(2000, 2000 + how_many):
        _compare_front_with_all_plans(tiny_instance(seed))


def _compare_front_with_all_plans(problem: Instance) -> None:
    expected = nondominated(all_outcomes(problem))
    front = pareto_front(problem)
    assert [point.makespan_s for point in front] == [makespan for makespan, _ in expected]
    assert [point.cost_usd for point in front] == pytest.approx([cost for _, cost in expected])
    for point in front:
        assert not check(problem, point.schedule).violations
        assert (point.schedule.makespan_s, point.schedule.cost_usd) == (point.makespan_s, point.cost_usd)


@pytest.mark.parametrize(
    ("counts", "max_spot"),
    [
        ([90], None),
        ([20, 25], None),
        pytest.param([30, 40, 30], None, marks=pytest.mark.slow),
        ([60], 7),
        ([15, 10], 3),
    ],
)
@pytest.mark.parametrize("cost_weight", [0.5, 0.9])
def test_the_pattern_model_agrees(counts: list[int], max_spot: int | None, cost_weight: float) -> None:
    objective = {"cost_weight": cost_weight, "cost_scale_usd": 0.1, "makespan_scale_s": 2700}
    problem = few_classes_instance(counts, objective=objective, limits={"max_spot": max_spot})
    outcome = class_programme(problem, ClassProgrammeOptions(), Run())
    assert outcome.schedule is not None
    assert not check(problem, outcome.schedule).violations
    assert outcome.bound == pytest.approx(outcome.schedule.objective, rel=1e-12)
    window = makespan_window(problem, outcome.schedule.objective)
    model = PatternModel(problem, window)
    answer = solve_with_highs(model.program, SolverLimits(), model.start(outcome.schedule))
    assert answer.status == "optimal"
    assert answer.values is not None
    assert model.schedule(answer.values).objective == pytest.approx(outcome.schedule.objective, rel=1e-9)


def test_a_vm_of_a_limited_market_that_is_not_rented_is_slack() -> None:
    # The cheapest fleet by 3 s rents the one spot VM allowed; one without it came out first, and was called cheapest.
    on_demand = {"price_usd_per_hour": 1.0, "limit": 3}
    spot, dear_spot, dear = (on_demand | changes for changes in ({"price_usd_per_hour": 0.3, "limit": 2}, {}, {}))
    dear_spot |= {"price_usd_per_hour": 1.8, "limit": 1}
    dear |= {"price_usd_per_hour": 3.6}
    types = [
        {"name": "a", "vcpus": 1, "memory_mb": 1000, "offers": {"spot": spot, "on-demand": on_demand}},
        {"name": "b", "vcpus": 3, "memory_mb": 1000, "offers": {"spot": dear_spot, "on-demand": dear}},
    ]
    tasks = [
        {"id": "x", "memory_mb": 1, "runtime_s": {"a": 3, "b": 3}},
        {"id": "y", "memory_mb": 1, "runtime_s": {"a": 4, "b": 2}},
        {"id": "z", "memory_mb": 1, "runtime_s": {"a": 2, "b": 6}, "count": 3},
    ]
    checkpoint = {"overhead_fraction": 0.5, "dump_base_s": 1, "dump_s_per_mb": 0}  # a second after every other
    limits = {"max_spot": 1}
    front = pareto_front(
        hand_instance([], vm_types=types, tasks=tasks, limits=limits, checkpoint=checkpoint, deadline_s=14, d_spot_s=4)
    )
    assert [point[:2] for point in front[:1]] == [(3, pytest.approx((0.3 * 2 + 1.0 * (2 + 2 + 3) + 3.6 * 2) / 3600))]


def test_every_weighted_optimum_lies_on_the_front() -> None:
    problem = few_classes_instance([4, 6, 4])
    front = pareto_front(problem)
    for faster, slower in itertools.pairwise(front):
        assert faster.makespan_s < slower.makespan_s
        assert faster.cost_usd > slower.cost_usd
    for cost_weight in (0.0, 0.3, 0.7, 1.0):
        weighted = problem.replace(
            objective={"cost_weight": cost_weight, "cost_scale_usd": 0.1, "makespan_scale_s": 2700}
        )
        best = min(objective_value(weighted, point.cost_usd, point.makespan_s) for point in front)
        assert checked_plan(weighted).bound == pytest.approx(best, rel=1e-9)


def test_the_cheapest_plan_by_a_moment() -> None:
    programme = ClassProgramme(class_tables.ClassTables(hand_instance([10, 10, 10, 10], limit=2), 40))
    fast = programme.cheapest_by_makespan(19)
    assert fast is not None
    assert fast.makespan_s == 10
    assert programme.cheapest_by_makespan(9) is None


def test_a_run_that_is_out_of_time_keeps_the_plan_it_started_from() -> None:
    problem = few_classes_instance([30, 40, 30])
    window, start = makespan_window(problem), solve(problem, "greedy").schedule
    with within(0.0):
        assert best_plan(problem, window) == BestPlan(None, -math.inf, stopped=True)
    result = solve(problem, "class-programme", time_limit_s=1e-9, initial=start)
    assert start is not None
    assert result.objective == start.objective
    assert result.bound is not None
    assert result.bound < start.objective


def test_bounds_of_a_search_that_is_stopped_hold() -> None:
    problem = few_classes_instance([12, 20, 14])
    best = checked_plan(problem)
    window = makespan_window(problem)
    bounds = []
    for most in (10, 40, 80, 120, 10_000):
        with within(stop=StopAt(most)):
            plan = best_plan(problem, window)
        bounds.append(plan.bound)
        assert plan.bound <= best.bound * (1 + 1e-12)
        if plan.schedule is not None:
            assert not check(problem, plan.schedule).violations
    assert math.isfinite(bounds[-1])


def test_a_target_gap_ends_the_search_early() -> None:
    problem = few_classes_instance([30, 40, 30])
    outcome = class_programme(problem, ClassProgrammeOptions(), Run(target_gap=0.9))
    assert outcome.schedule is not None
    assert outcome.bound is not None
    assert 0.1 * outcome.schedule.objective <= outcome.bound < outcome.schedule.objective


def test_what_the_programme_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelRefusal, match="50,000 count vectors, and there are 131,072 of 17 classes"):
        pareto_front(hand_instance([*range(1, 18)]))
    tasks = [{"id": f"t{k}", "memory_mb": 1, "runtime_s": {"a": k + 1}, "count": 60} for k in range(3)]
    with pytest.raises(ModelRefusal, match="50,000 count vectors, and there are 226,981 of 3 classes"):
        pareto_front(hand_instance([], tasks=tasks))
    offers = {"spot": {"price_usd_per_hour": 3.6, "limit": 20}}
    types = [{"name": name, "vcpus": 1, "memory_mb": 1000, "offers": offers} for name in ("a", "b")]
    thirty = [task | {"count": 30} for task in tasks]
    with pytest.raises(
        ModelRefusal, match="there are 566,029 of 3 classes of identical tasks within 1 limit of groups"
    ):
        pareto_front(hand_instance([], vm_types=types, tasks=thirty, limits={"max_spot": 18}))
    with pytest.raises(ModelRefusal, match="memory of a can bind"):
        pareto_front(hand_instance([], tasks=[{"id": "t", "memory_mb": 60_000, "runtime_s": {"a": 3}, "count": 2}]))
    monkeypatch.setattr(class_tables, "MOST_TABLE_CELLS", 10)
    with pytest.raises(ModelRefusal, match=r"are 56 of 8 count vectors on up to 2 cores of 1 offers"):
        pareto_front(hand_instance([10, 20, 30]))
    monkeypatch.undo()
    monkeypatch.setattr(class_tables, "MOST_TABLE_STEPS", 10)
    with pytest.raises(ModelRefusal, match="up to 10 steps to find the least ends of VMs"):
        pareto_front(hand_instance([10, 20, 30]))


def test_small_programmes_are_known_by_their_states() -> None:
    assert has_small_class_programme(few_classes_instance([9, 9, 9]))
    assert not has_small_class_programme(few_classes_instance([30, 40, 30]))
    assert not has_small_class_programme(few_classes_instance([20, 20, 20], limits={"max_spot": 2}))
    assert has_small_class_programme(hand_instance([1, 2, 3, 4]))
    heavy = [{"id": "t", "memory_mb": 60_000, "runtime_s": {"a": 3}, "count": 2}]
    assert not has_small_class_programme(hand_instance([], tasks=heavy))


def test_a_burstable_vm_ends_when_it_has_earned_what_it_spends() -> None:
    # 36 credits an hour are 0.6 s of full speed a second: 6 s of work end at 10, both on one core, which waits first.
    offers = {"on-demand": {"price_usd_per_hour": 3.6, "limit": 1}}
    credits = {"baseline_fraction": 0.3, "credits_per_hour": 36}
    types = [{"name": "b", "vcpus": 2, "memory_mb": 1000, "offers": offers, "burstable": credits}]
    tasks = [{"id": "t", "memory_mb": 1, "runtime_s": {"b": 3}, "count": 2}]
    problem = hand_instance([], vm_types=types, tasks=tasks, boot_overhead_s=5)
    (point,) = pareto_front(problem)
    assert point[:2] == (15, pytest.approx(0.010))
    assert sorted(point.schedule.task_start_s.tolist()) == [9, 12]
    assert not point.schedule.task_baseline.any()
    assert not check(problem, point.schedule).violations
    # With 0.05 credits, 3 s at full speed, at the beginning, 5 s suffice; with 0.1 there is nothing to wait for.
    for initial, makespan in ((0.05, 10), (0.1, 8)):
        types[0]["burstable"] = credits | {"initial_credits": initial}
        (point,) = pareto_front(hand_instance([], vm_types=types, tasks=tasks, boot_overhead_s=5))
        assert point.makespan_s == makespan


def compare_earning_front_with_all_plans(seed: int) -> bool:
    """Whether the programme takes the instance; its front is then that of all plans, second by second."""
    problem = with_d_spot(earning_instance(seed))
    try:
        front = pareto_front(problem)
    except ModelRefusal:
        return False
    assert [point[:2] for point in front] == [(end, pytest.approx(usd)) for end, usd in exhaustive_front(problem)], seed
    assert not any(check(problem, point.schedule).violations for point in front), seed
    return True


def test_credits_of_many_decimals_are_no_more_than_are_earned() -> None:
    # 20,000 s at full speed spend what 24 credits an hour earn in 50,000 s; a little less takes a second longer.
    tasks = [{"id": "t", "memory_mb": 1, "runtime_s": {"b": 20_000}}]
    for credits_per_hour, end_s in ((24, 50_000), (23.99999991, 50_001)):
        burstable = {"baseline_fraction": 0.2, "credits_per_hour": credits_per_hour}
        offers = {"on-demand": {"price_usd_per_hour": 3.6, "limit": 1}}
        types = [{"name": "b", "vcpus": 1, "memory_mb": 1000, "offers": offers, "burstable": burstable}]
        result = solve(hand_instance([], vm_types=types, tasks=tasks, deadline_s=60_000), "class-programme")
        assert result.schedule is not None
        assert (result.status, result.schedule.makespan_s) == ("optimal", end_s)


def test_fronts_with_burstable_vms_are_those_of_all_plans() -> None:
    assert sum(compare_earning_front_with_all_plans(seed) for seed in range(8)) >= 4


@soak(60, 5_000)
def test_thousands_of_fronts_with_burstable_vms_are_those_of_all_plans(how_many: int) -> None:
    assert sum(compare_earning_front_with_all_plans(seed) for seed in range(8, 8 + how_many)) >= how_many / 2


def test_patterns_are_counted_before_they_are_listed() -> None:
    offer = hand_instance([1]).offers[0]
    seconds, size = np.array([1, 3, 2]), np.array([10**9, 10**9, 2])
    with pytest.raises(ModelRefusal, match="more than 200,000 patterns"):
        enumerate_patterns(seconds, size, 10**9, offer, "a model")
    few = enumerate_patterns(seconds, size, 4, offer, "a model")
    loads = {tuple(counts): load for counts, load in zip(few.counts.tolist(), few.load_s.tolist(), strict=True)}
    by_hand = [(a, b, c) for a in range(5) for b in range(2) for c in range(3) if 0 < a + 3 * b + 2 * c <= 4]
    assert loads == {(a, b, c): a + 3 * b + 2 * c for a, b, c in by_hand}
    assert few.load_s.tolist() == sorted(few.load_s.tolist())


def test_patterns_of_all_offers_together_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = few_classes_instance([3, 5, 4])
    window = makespan_window(problem)
    assert PatternModel(problem, window).program.n_columns > 0
    monkeypatch.setattr(pattern_model, "MOST_PATTERNS", 200)
    with pytest.raises(ModelRefusal, match="more than 200 patterns of 3 classes of identical tasks on 3 offers"):
        PatternModel(problem, window)


def test_burstable_offers_are_refused_or_slow() -> None:
    offers = {"on-demand": {"price_usd_per_hour": 3.6, "limit": 1}}
    slow = {"baseline_fraction": 0.2, "credits_per_hour": 0, "initial_credits": 0.02, "max_credits": 100}
    types = [
        {"name": "a", "vcpus": 1, "memory_mb": 1000, "offers": offers},
        {"name": "b", "vcpus": 1, "memory_mb": 1000, "offers": offers, "burstable": slow},
    ]
    tasks = [{"id": "t", "memory_mb": 1, "runtime_s": {"a": 10, "b": 1}, "count": 2}]
    problem = hand_instance([], vm_types=types, tasks=tasks)
    with pytest.raises(ModelRefusal, match="credits at the end of a VM only, and those of b must be followed"):
        pareto_front(problem)
    # In baseline mode 5 s each on b: both there.
    assert [point[:2] for point in pareto_front(problem, "baseline")] == [(10, pytest.approx(0.010))]
    outcome = class_programme(problem, ClassProgrammeOptions("baseline"), Run())
    assert outcome.schedule is not None
    assert outcome.bound is not None
    # One task at full speed, on credits, and one at the baseline: one VM of b takes 6 s.
    assert outcome.bound <= 0.5 * 0.006 + 0.5 * 0.006
    assert "baseline" in outcome.warnings[0]
