"""Core-count model: by hand, against brute force, the class programme and the pattern model; start and refusals."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pytest

from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.makespan_window import makespan_window
from spotbag.core.errors import ModelRefusal
from spotbag.core.limits import within
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.heuristics.bags.lpt import LptOptions, lpt
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.models.bags import core_counts as core_counts_module
from spotbag.models.bags.core_counts import CoreCountModel, core_count_columns
from spotbag.models.bags.patterns import PatternModel
from spotbag.models.bags.windows import MakespanWindow
from spotbag.schedules.method import Run
from spotbag.solvers.backend import SolverLimits
from spotbag.solvers.bags import auto as auto_module
from spotbag.solvers.bags.class_dynamic_programme import best_plan
from spotbag.solvers.bags.core_counts_method import CoreCountOptions, core_counts, has_small_core_counts
from spotbag.solvers.bags.solve import solve
from spotbag.solvers.cp_sat import solve_with_cp_sat
from spotbag.solvers.highs import solve_with_highs
from tests.helpers.fake_time import fake_time, solvers_take_all_their_time
from tests.helpers.second_by_second import brute_force_objective
from tests.helpers.soaks import some
from tests.helpers.tiny_core_instances import few_classes_instance, hand_instance, tiny_instance

SOLVERS: list[Literal["highs", "cp-sat"]] = ["highs", "cp-sat"]


def model_optimum(instance: Instance, solver: str) -> float:
    """Optimum by the model alone, without a plan to start from; infinite if there is none."""
    window = makespan_window(instance)
    if window.empty:
        return math.inf
    model = CoreCountModel(instance, window)
    solve = solve_with_highs if solver == "highs" else solve_with_cp_sat
    answer = solve(model.program, SolverLimits())
    if answer.values is None:
        assert answer.status == "infeasible"
        return math.inf
    assert answer.status == "optimal"
    schedule = model.schedule(answer.values)
    assert not check(instance, schedule).violations
    assert schedule.objective <= model.program.value(answer.values) * (1 + 1e-9)
    return schedule.objective


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_best_plan_by_hand(solver: str) -> None:
    assert model_optimum(hand_instance([10, 20, 30]), solver) == pytest.approx(0.5 * 0.030 + 0.5 * 0.030)
    # Four tasks of 10 s: two VMs end at 10 for 20 s in all, one ends at 20 for as much.
    two = hand_instance([10, 10, 10, 10], limit=2, boot_overhead_s=5)
    assert model_optimum(two, solver) == pytest.approx(0.5 * 0.020 + 0.5 * 0.015)
    one = hand_instance([10, 10, 10, 10], limit=2, limits={"max_spot": 1})
    assert model_optimum(one, solver) == pytest.approx(0.5 * 0.020 + 0.5 * 0.020)


def test_columns_for_rented_vms_are_there_only_where_a_market_binds() -> None:
    offers = {"spot": {"price_usd_per_hour": 3.6, "limit": 2}}
    types = [{"name": name, "vcpus": 1, "memory_mb": 1000, "offers": offers} for name in ("a", "b")]
    tasks = [{"id": "t", "memory_mb": 1, "runtime_s": {"a": 10, "b": 10}, "count": 4}]
    window = MakespanWindow(10, 40)
    free = CoreCountModel(hand_instance([], vm_types=types, tasks=tasks, limits={"max_spot": 4}), window)
    assert free.program.n_columns == 4 + 4 + 1  # one count and one end for each VM, the makespan
    bound = hand_instance([], vm_types=types, tasks=tasks, limits={"max_spot": 3})
    assert CoreCountModel(bound, window).program.n_columns == 4 + 4 + 4 + 1
    assert model_optimum(bound, "highs") == pytest.approx(0.5 * 0.040 + 0.5 * 0.020)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", some(range(200, 225), fast=5))
def test_brute_force_finds_nothing_better(seed: int, solver: Literal["highs", "cp-sat"]) -> None:
    problem = tiny_instance(seed, most_tasks=4, most_classes=4)
    best = brute_force_objective(problem)
    expected = math.inf if best is None else pytest.approx(best, rel=1e-9)
    assert model_optimum(problem, solver) == expected
    outcome = core_counts(problem, CoreCountOptions(solver), Run())
    assert outcome.bound == expected
    assert (outcome.schedule is None) == (best is None)
    if outcome.schedule is None:
        assert "no plan exists" in outcome.explanation
    else:
        assert not check(problem, outcome.schedule).violations
        assert outcome.schedule.objective == expected


@pytest.mark.parametrize("seed", some(range(300, 312), fast=5))
def test_other_exact_models_agree(seed: int) -> None:
    problem = tiny_instance(seed, most_tasks=12)
    window = makespan_window(problem)
    by_programme = math.inf if window.empty else best_plan(problem, window).bound
    assert model_optimum(problem, "cp-sat") == pytest.approx(by_programme, rel=1e-9)
    if not window.empty:
        model = PatternModel(problem, window)
        answer = solve_with_highs(model.program, SolverLimits())
        found = math.inf if answer.values is None else model.schedule(answer.values).objective
        assert found == pytest.approx(by_programme, rel=1e-9)


def test_a_bag_with_classes_of_many_tasks() -> None:
    problem = few_classes_instance([90])
    outcome = core_counts(problem, CoreCountOptions(), Run())
    assert outcome.schedule is not None
    assert not check(problem, outcome.schedule).violations
    window = makespan_window(problem, outcome.schedule.objective)
    best = best_plan(problem, window, outcome.schedule.objective)
    assert best.schedule is None
    assert outcome.bound == pytest.approx(best.bound, rel=1e-9)


@pytest.mark.parametrize("name", ["hads/J60", "tiny/two-cores", "distinct/200"])
def test_a_plan_to_start_from_has_its_value(name: str) -> None:
    problem = with_d_spot(library_instance(name)).replace(markets=("spot",))
    plan = lpt(problem, LptOptions(), Run()).schedule
    assert plan is not None
    model = CoreCountModel(problem, makespan_window(problem, plan.objective))
    values = model.start(plan)
    assert values is not None
    assert model.program.satisfied_by(values)
    assert model.program.value(values) == pytest.approx(plan.objective, rel=1e-12)
    # Cores of an offer are dealt out to its VMs anew.
    assert model.schedule(values).objective <= plan.objective * (1 + 1e-12)


def test_a_plan_outside_of_the_model_is_no_start() -> None:
    problem = hand_instance([10, 20, 30])
    plan = lpt(problem, LptOptions(), Run()).schedule
    assert plan is not None
    assert CoreCountModel(problem, MakespanWindow(10, 29)).start(plan) is None


def test_a_given_plan_is_never_made_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = with_d_spot(library_instance("distinct/200")).replace(markets=("spot",))
    plan = lpt(problem, LptOptions(), Run()).schedule
    assert plan is not None
    clock = fake_time(monkeypatch)
    solvers_take_all_their_time(monkeypatch, clock)
    with within(1.0):
        outcome = core_counts(problem, CoreCountOptions(), Run(initial=plan))
    assert clock.now_s == 1.0
    assert outcome.schedule is not None
    assert not check(problem, outcome.schedule).violations
    assert outcome.schedule.objective <= plan.objective
    assert outcome.bound is not None
    assert outcome.bound <= outcome.schedule.objective


def test_what_the_model_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    window = MakespanWindow(1, 100)
    heavy = hand_instance([], tasks=[{"id": "t", "memory_mb": 60_000, "runtime_s": {"a": 3}, "count": 2}])
    with pytest.raises(ModelRefusal, match="memory of a can bind"):
        CoreCountModel(heavy, window)
    with pytest.raises(ValueError, match="no makespan"):
        CoreCountModel(hand_instance([3]), MakespanWindow(5, 4))
    many = hand_instance(list(range(1, 301)), vcpus=4, limit=100)
    with pytest.raises(ModelRefusal, match=r"up to 100,000 counts .* need 120,000: 300 classes .* on 400 cores"):
        CoreCountModel(many, MakespanWindow(1, 900))
    monkeypatch.setattr(core_counts_module, "MOST_COUNTS", 5)
    with pytest.raises(ModelRefusal, match="need 6: 3 classes"):
        CoreCountModel(hand_instance([10, 20, 30]), window)


@pytest.mark.parametrize("seed", range(20))
def test_the_columns_are_counted_before_the_model_is_built(seed: int) -> None:
    problem = tiny_instance(seed)
    window = makespan_window(problem)
    if window.empty:
        return
    model = CoreCountModel(problem, window)
    built = sum(len(core) for columns in model._columns for vm in columns.vms for core in vm.counts)
    assert core_count_columns(problem, window) == built


def test_cores_without_work_are_refused_before_they_are_built() -> None:
    # Nothing can run on b in time, so that it has no counts; its cores alone would fill the memory.
    offers = {"on-demand": {"price_usd_per_hour": 1.0, "limit": 100_000}}
    types = [
        {"name": "a", "vcpus": 1, "memory_mb": 1000, "offers": {"on-demand": offers["on-demand"] | {"limit": 1}}},
        {"name": "b", "vcpus": 64, "memory_mb": 1000, "offers": offers},
    ]
    tasks = [{"id": "t", "memory_mb": 1, "runtime_s": {"a": 1, "b": 900_000}, "count": 100_000}]
    problem = hand_instance([], vm_types=types, tasks=tasks, deadline_s=200_000)
    with pytest.raises(ModelRefusal, match=r"100,000 cores, and would need 1: 1 classes .* on 6,400,001 cores"):
        CoreCountModel(problem, MakespanWindow(1, 200_000))


def test_33_tasks_in_4_classes_are_few_columns() -> None:
    few = hand_instance([], tasks=tasks_of_classes([9, 8, 8, 8]), vcpus=2, limit=4)
    assert has_small_core_counts(few, None)
    assert not has_small_core_counts(hand_instance([], tasks=tasks_of_classes([9, 8, 8, 8]), vcpus=4, limit=8), None)
    assert not has_small_core_counts(hand_instance([], tasks=tasks_of_classes([1] * 33), vcpus=2, limit=4), None)
    heavy = [task | {"memory_mb": 60_000} for task in tasks_of_classes([9, 8, 8, 8])]
    assert not has_small_core_counts(hand_instance([], tasks=heavy, vcpus=2, limit=4), None)


def tasks_of_classes(counts: list[int]) -> list[dict[str, Any]]:
    return [
        {"id": f"t{k}", "memory_mb": 1, "runtime_s": {"a": 31 + 17 * k}, "count": count}
        for k, count in enumerate(counts)
    ]


def test_auto_takes_core_counts_by_columns_not_by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_asked(*_: Any) -> Any:
        raise AssertionError("the core counts prove it")

    monkeypatch.setattr(auto_module, "patterns", not_asked)
    problem = hand_instance([], tasks=tasks_of_classes([9, 8, 8, 8]), vcpus=2, limit=3)
    assert solve(problem, "auto").status == "optimal"
    hurried = solve(problem, "auto", time_limit_s=60)
    assert hurried.status == "optimal"


def test_burstable_offers_are_refused_or_slow() -> None:
    offers = {"on-demand": {"price_usd_per_hour": 3.6, "limit": 1}}
    slow = {"baseline_fraction": 0.2, "credits_per_hour": 0, "initial_credits": 100, "max_credits": 100}
    types = [{"name": "b", "vcpus": 1, "memory_mb": 1000, "offers": offers, "burstable": slow}]
    tasks = [{"id": "t", "memory_mb": 1, "runtime_s": {"b": 1}, "count": 2}]
    problem = hand_instance([], vm_types=types, tasks=tasks)
    with pytest.raises(ModelRefusal, match="no CPU credits, and b can be rented"):
        CoreCountModel(problem, MakespanWindow(1, 20))
    model = CoreCountModel(problem, MakespanWindow(1, 20), "baseline")
    answer = solve_with_highs(model.program, SolverLimits())
    assert answer.values is not None
    schedule = model.schedule(answer.values)
    assert not check(problem, schedule).violations
    assert schedule.makespan_s == 10
    assert np.all(schedule.task_baseline)
    outcome = core_counts(problem, CoreCountOptions(burstable="baseline"), Run())
    assert outcome.bound is not None
    assert outcome.bound <= 0.5 * 0.002 + 0.5 * 0.002  # at full speed, on credits
    assert "baseline" in outcome.warnings[0]
