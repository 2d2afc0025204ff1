"""The time-indexed model: by hand, against brute force, and what it refuses."""

from __future__ import annotations

import math
from typing import Any, get_args

import numpy as np
import pytest
from pyomo.common.collections import ComponentMap

from spotbag.audits.bags.plan import check
from spotbag.core.errors import ModelRefusal
from spotbag.heuristics.bags.greedy import greedy
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.models.bags import time_indexed as model_module
from spotbag.models.bags.time_indexed import MAX_NONZEROS, MAX_ROWS, TimeIndexedModel, build_time_indexed, estimate_size
from spotbag.schedules.method import Outcome, Run
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.backend import SolverLimits
from spotbag.solvers.bags.solve import solve
from spotbag.solvers.bags.time_indexed_method import TimeIndexedOptions, time_indexed
from spotbag.solvers.pyomo_model import Solver, integer_program_of, solve_pyomo
from spotbag_papers.bags.time_indexed import tiny_bag
from tests.helpers.second_by_second import brute_force_objective
from tests.helpers.soaks import some


def vm_type(name: str, vcpus: int = 1, memory_mb: float = 1000, **prices: tuple[float, int]) -> dict[str, Any]:
    """VM type whose offers cost so many milli-dollars a second, up to a limit."""
    offers = {
        market.replace("_", "-"): {"price_usd_per_hour": 3.6 * price, "limit": limit}
        for market, (price, limit) in prices.items()
    }
    return {"name": name, "vcpus": vcpus, "memory_mb": memory_mb, "offers": offers}


def task(name: str, memory_mb: float = 100, **runtime_s: int) -> dict[str, Any]:
    return {"id": name, "memory_mb": memory_mb, "runtime_s": runtime_s}


def instance(vm_types: list[dict[str, Any]], tasks: list[dict[str, Any]], **fields: Any) -> Instance:
    """Objective: 0.5 for each milli-dollar and 0.5 for each second."""
    base: dict[str, Any] = {
        "name": "timed",
        "deadline_s": 40,
        "d_spot_s": 30,
        "objective": {"cost_weight": 0.5, "cost_scale_usd": 0.001, "makespan_scale_s": 1},
    }
    return Instance(**(base | {"vm_types": vm_types, "tasks": tasks} | fields))


def plan(problem: Instance, options: TimeIndexedOptions | None = None, initial: Schedule | None = None) -> Schedule:
    """Best plan of the model; the checker has seen it."""
    schedule = outcome_of(problem, options, initial).schedule
    assert schedule is not None
    return schedule


def outcome_of(
    problem: Instance, options: TimeIndexedOptions | None = None, initial: Schedule | None = None
) -> Outcome:
    outcome = time_indexed(problem, options or TimeIndexedOptions(), Run(initial=initial))
    if outcome.schedule is not None:
        assert check(problem, outcome.schedule).violations == ()
    return outcome


def solve_model(model: TimeIndexedModel) -> tuple[Schedule, Any]:
    """Best plan of a model, and the values of its variables."""
    answer = solve_pyomo(model.model, SolverLimits())
    assert answer.status == "optimal"
    assert answer.values is not None
    schedule = model.read_back(answer.values)
    assert check(model.instance, schedule).violations == ()
    return schedule, answer.values


# ---------------------------------------------------------------------------------------------------- by hand


def test_two_cores_share_three_tasks() -> None:
    problem = instance([vm_type("a", 2, spot=(1, 1))], [task("t0", a=6), task("t1", a=5), task("t2", a=4)])
    outcome = outcome_of(problem)
    assert outcome.schedule is not None
    # 9 and 6 on the cores: 9 milli-dollars and 9 s.
    assert outcome.schedule.objective == pytest.approx(9)
    assert outcome.bound == pytest.approx(9, rel=1e-8)
    assert outcome.bound is not None
    assert outcome.bound <= 9


def test_memory_that_binds_lets_tasks_wait() -> None:
    tasks = [task("t0", 600, a=6), task("t1", 600, a=5), task("t2", 400, a=8)]
    # t0 and t1 never run together, t2 fits beside either; with 900 MB, t2 runs alone too.
    problem = instance([vm_type("a", 2, spot=(1, 1))], tasks)
    assert plan(problem).makespan_s == 11
    tasks[2] = task("t2", 900, a=8)
    assert plan(problem.replace(tasks=tasks)).makespan_s == 19
    roomy = instance([vm_type("a", 2, 2000, spot=(1, 1))], tasks)
    assert plan(roomy).makespan_s == 11


def test_memory_counts_every_kilobyte() -> None:
    tasks = [task("t0", 500, a=5), task("t1", 500 + 1 / 1024, a=5)]
    assert plan(instance([vm_type("a", 2, spot=(1, 1))], tasks)).makespan_s == 10
    assert plan(instance([vm_type("a", 2, 1000 + 1 / 1024, spot=(1, 1))], tasks)).makespan_s == 5


def test_vms_become_ready_before_anything_starts_and_are_not_paid_until_then() -> None:
    problem = instance([vm_type("a", spot=(1, 1))], [task("t0", a=10)], boot_overhead_s=7)
    best = plan(problem)
    assert best.task_start_s.tolist() == [7]
    assert best.makespan_s == 17
    assert best.cost_usd == pytest.approx(0.010)
    late = outcome_of(problem.replace(d_spot_s=16))
    assert late.schedule is None
    assert late.bound == math.inf
    assert "no plan exists" in late.explanation
    assert plan(problem.replace(d_spot_s=17)).makespan_s == 17


def test_each_market_has_its_own_price_and_time_limit() -> None:
    # Spot is cheaper and ends at 30; the task of 31 s must go on demand.
    types = [vm_type("a", spot=(1, 2), on_demand=(3, 2))]
    best = plan(instance(types, [task("t0", a=31), task("t1", a=30)]))
    markets = [best.instance.offers[best.vm_offer[vm]].market for vm in best.task_vm]
    assert markets == ["on-demand", "spot"]
    assert best.objective == pytest.approx(0.5 * (3 * 31 + 30) + 0.5 * 31)


@pytest.mark.slow
def test_limits_of_markets_count_vms_that_run_tasks_only() -> None:
    types = [vm_type("a", spot=(1, 3)), vm_type("b", spot=(1, 3))]
    tasks = [task(f"t{k}", a=10, b=10) for k in range(3)]
    free = plan(instance(types, tasks))
    assert (free.makespan_s, len(free.vm_offer)) == (10, 3)
    capped = plan(instance(types, tasks, limits={"max_spot": 2}))
    assert (capped.makespan_s, len(capped.vm_offer)) == (20, 2)
    alone = instance([*types, vm_type("c", on_demand=(9, 1))], [task("t", a=10, b=10, c=10)], limits={"max_spot": 0})
    assert plan(alone).vm_counts() == {"c on-demand": 1}


def test_the_weight_alone_decides_between_cheap_and_fast() -> None:
    types = [vm_type("cheap", spot=(1, 1)), vm_type("fast", spot=(9, 1))]
    problem = instance(types, [task("t", cheap=20, fast=5)])
    for weight, makespan in ((1.0, 20), (0.0, 5)):
        best = plan(problem.replace(objective={**problem.objective.model_dump(), "cost_weight": weight}))
        assert best.makespan_s == makespan


def test_a_task_that_can_run_nowhere_makes_it_infeasible() -> None:
    problem = instance([vm_type("a", spot=(1, 1))], [task("t0", a=3), task("t1", a=31)])
    outcome = outcome_of(problem)
    assert (outcome.schedule, outcome.bound) == (None, math.inf)
    nothing = outcome_of(problem.replace(d_spot_s=0))
    assert (nothing.schedule, nothing.bound) == (None, math.inf)


@pytest.mark.parametrize("name", ["boot", "checkpoints", "fast-or-cheap", "memory-parts-them", "too-long-for-spot"])
def test_it_finds_the_optima_of_the_library(name: str) -> None:
    problem = library_instance(f"tiny/{name}")
    assert problem.provenance is not None
    assert problem.provenance.optimum is not None
    known = problem.provenance.optimum
    outcome = outcome_of(problem)
    assert outcome.schedule is not None
    assert outcome.schedule.objective == pytest.approx(known.objective, rel=1e-9)
    assert outcome.bound == pytest.approx(known.objective, rel=1e-8)


# ------------------------------------------------------------------------------------------------ brute force


def random_instance(seed: int) -> Instance:
    random = np.random.default_rng(seed)
    types = [
        vm_type("a", int(random.integers(1, 3)), 1000, spot=(1 + seed % 3, 2), on_demand=(5, 1)),
        vm_type("b", int(random.integers(1, 4)), float(random.choice([800, 1500])), spot=(2, 1)),
    ]
    tasks = [
        task(f"t{k}", float(random.choice([100, 400, 500.5, 700])), a=int(a), b=int(b))
        for k, (a, b) in enumerate(random.integers(1, 9, (4, 2)))
    ]
    deadline = int(random.integers(11, 16))
    return instance(
        types,
        tasks,
        deadline_s=deadline,
        d_spot_s=int(random.integers(6, deadline + 1)),
        boot_overhead_s=int(random.choice([0, 3])),
        limits={"max_spot": int(random.integers(1, 4))},
        objective={"cost_weight": float(random.choice([0.0, 0.3, 0.5, 0.9])), "cost_scale_usd": 0.01},
    )


@pytest.mark.parametrize("seed", range(8))
def test_it_agrees_with_brute_force(seed: int) -> None:
    problem = random_instance(seed)
    best = brute_force_objective(problem)
    outcome = outcome_of(problem)
    assert outcome.bound is not None
    if best is None:
        assert (outcome.schedule, outcome.bound) == (None, math.inf)
        return
    assert outcome.schedule is not None
    assert outcome.schedule.objective == pytest.approx(best, rel=1e-9)
    assert best * (1 - 1e-8) <= outcome.bound <= best * (1 + 1e-12)


def test_the_random_instances_are_feasible_and_infeasible_and_memory_binds_in_some() -> None:
    problems = [random_instance(seed) for seed in range(8)]
    assert any(not problem.memory_never_binds.all() for problem in problems)
    feasible = sum(brute_force_objective(problem) is not None for problem in problems)
    assert 0 < feasible < len(problems)


@pytest.mark.parametrize("seed", some(range(4), fast=1))
@pytest.mark.parametrize("step", [2, 3])
def test_a_coarse_grid_gives_feasible_plans_no_better_than_the_optimum_and_no_bound(seed: int, step: int) -> None:
    problem = random_instance(seed).replace(d_spot_s=40, deadline_s=40)
    best = brute_force_objective(problem)
    outcome = outcome_of(problem, TimeIndexedOptions(step_s=step))
    assert best is not None
    assert outcome.schedule is not None
    assert outcome.schedule.objective >= best * (1 - 1e-9)
    assert outcome.bound is None


def test_a_grid_that_all_durations_fit_loses_nothing() -> None:
    types = [vm_type("cheap", spot=(1, 1)), vm_type("fast", spot=(5, 1))]
    problem = instance(types, [task("t0", cheap=15, fast=5), task("t1", cheap=10, fast=10)], boot_overhead_s=5)
    answers = [solve_pyomo(build_time_indexed(problem, step).model, SolverLimits()).bound for step in (1, 5)]
    assert answers == pytest.approx([brute_force_objective(problem)] * 2, rel=1e-8)


def test_on_a_coarse_grid_true_durations_count() -> None:
    problem = instance([vm_type("a", spot=(1, 1))], [task("t0", a=11), task("t1", a=11)])
    model = build_time_indexed(problem, 10)
    # Two tasks of 2 periods each do not fit into the 3 periods of D_spot, while 22 s would.
    assert solve_pyomo(model.model, SolverLimits()).status == "infeasible"
    outcome = outcome_of(problem, TimeIndexedOptions(step_s=10))
    assert (outcome.schedule, outcome.bound) == (None, None)
    assert "10 s" in outcome.explanation
    assert plan(problem, TimeIndexedOptions(step_s=4)).makespan_s == 22


# ------------------------------------------------------------------------------------------------- as printed


def test_as_printed_a_task_takes_a_second_more() -> None:
    problem = instance([vm_type("a", spot=(1, 1))], [task("t0", a=10)])
    for literal, end in ((False, 10), (True, 11)):
        model = build_time_indexed(problem, literal=literal)
        schedule, values = solve_model(model)
        assert (values[model.model.makespan], values[model.model.end[0]]) == (end, end)
        assert schedule.makespan_s == 10  # read back with true durations


@pytest.mark.parametrize(("vcpus", "memory_mb"), [(1, 1000), (2, 150)])
def test_as_printed_every_task_in_a_row_loses_a_second(vcpus: int, memory_mb: float) -> None:
    # One after the other, for want of a core or of memory.
    problem = instance([vm_type("a", vcpus, memory_mb, spot=(1, 1))], [task("t0", a=9), task("t1", a=9)])
    model = build_time_indexed(problem, literal=True)
    _, values = solve_model(model)
    assert values[model.model.makespan] == 9 + 1 + 9 + 1
    # A D_spot of 19 s is enough, and the printed model denies it.
    tight = problem.replace(d_spot_s=19)
    assert plan(tight).makespan_s == 18
    outcome = outcome_of(tight, TimeIndexedOptions(equations="as-printed"))
    assert (outcome.schedule, outcome.bound) == (None, None)
    assert "as printed" in outcome.explanation


@pytest.mark.slow
def test_as_printed_is_the_corrected_model_with_longer_tasks() -> None:
    types = [vm_type("a", 2, 800, spot=(1, 2)), vm_type("b", 1, spot=(2, 1))]
    needs = [(100, 3, 5), (500, 4, 2), (500, 6, 3)]
    problem = instance(types, [task(f"t{k}", memory, a=a, b=b) for k, (memory, a, b) in enumerate(needs)], d_spot_s=15)
    longer = problem.replace(tasks=[task(f"t{k}", memory, a=a + 1, b=b + 1) for k, (memory, a, b) in enumerate(needs)])
    model = build_time_indexed(problem, literal=True)
    answer = solve_pyomo(model.model, SolverLimits())
    assert answer.bound == pytest.approx(plan(longer).objective, rel=1e-8)


# ------------------------------------------------------------------------------- refusals, sizes, warm starts


def test_a_model_that_is_too_large_is_refused_before_it_is_built() -> None:
    problem = library_instance("burst-hads/J100").replace(markets=["spot"], d_spot_s=2100)
    with pytest.raises(ModelRefusal) as refusal:
        build_time_indexed(problem, burstable="baseline")
    columns, rows, nonzeros = estimate_size(problem)
    assert nonzeros > MAX_NONZEROS
    message = str(refusal.value)
    sizes = (f"{columns:,} columns", f"{rows:,} rows", f"{nonzeros:,} nonzeros", f"{MAX_NONZEROS:,}", f"{MAX_ROWS:,}")
    for part in (*sizes, "coarser grid (step_s=", "search"):
        assert part in message
    step = int(message.split("step_s=")[1].split()[0])
    assert not estimate_size(problem, step).too_large
    assert estimate_size(problem, step // 2).too_large


@pytest.mark.parametrize(("run_times_s", "literal"), [([1_000_000], False), ([1, 1_000_000], False), ([1], True)])
def test_one_task_and_a_deadline_far_away_are_refused_before_anything_is_built(
    run_times_s: list[int], literal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = [task(f"t{k}", 1, a=seconds) for k, seconds in enumerate(run_times_s)]
    problem = instance([vm_type("a", 1, on_demand=(1, 1))], tasks, deadline_s=2_000_000, d_spot_s=2_000_000)
    monkeypatch.setattr(model_module, "Equations", None)
    with pytest.raises(ModelRefusal, match="would have"):
        build_time_indexed(problem, literal=literal)


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2, 5])
def test_the_estimated_size_is_the_size(seed: int, literal: bool) -> None:
    for step in (1, 3):
        problem = random_instance(seed)
        model = build_time_indexed(problem, step, literal=literal)
        program, _ = integer_program_of(model.model)
        nonzeros = sum(len(columns) for columns, _ in program.rows)
        size = estimate_size(problem, step, literal=literal)
        assert size == (program.n_columns, len(program.rows), nonzeros)


def test_burstable_vms_are_refused_or_run_at_the_baseline() -> None:
    burstable = {**vm_type("t", 1, on_demand=(1, 1)), "burstable": {"baseline_fraction": 0.5, "credits_per_hour": 60}}
    problem = instance([burstable, vm_type("a", spot=(1, 1))], [task("t0", t=10), task("t1", a=10)])
    with pytest.raises(ModelRefusal, match="t on-demand is burstable"):
        build_time_indexed(problem)
    outcome = outcome_of(problem, TimeIndexedOptions(burstable="baseline"))
    assert outcome.schedule is not None
    assert outcome.bound is None  # full speed might be better
    assert outcome.schedule.task_baseline.tolist() == [True, False]
    assert outcome.schedule.makespan_s == 20
    # One that cannot be rented changes nothing.
    spot_only = problem.replace(markets=["spot"], tasks=[task("t1", a=10)])
    assert outcome_of(spot_only).bound == pytest.approx(10, rel=1e-8)


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("seed", some(range(8), fast=1))
def test_a_plan_becomes_a_solution_to_start_from(seed: int, literal: bool) -> None:
    problem = random_instance(seed).replace(d_spot_s=40, deadline_s=40)
    start = greedy(problem).schedule
    assert start is not None
    for step in (1, 2):
        model = build_time_indexed(problem, step, literal=literal)
        assert model.set_start(start)
        program, columns = integer_program_of(model.model)
        values = np.array([column.value for column in columns])
        assert program.satisfied_by(values)
        if step == 1 and not literal:
            assert program.value(values) <= start.objective * (1 + 1e-9)
        back = model.read_back(ComponentMap(zip(columns, values.tolist(), strict=True)))
        assert check(problem, back).violations == ()
        assert back.objective <= start.objective * (1 + 1e-9)


def test_the_vms_of_a_plan_are_put_in_the_order_of_the_model() -> None:
    problem = instance([vm_type("a", spot=(1, 2))], [task("t0", a=3), task("t1", a=9)])
    zeros = np.zeros(2, dtype=np.int64)
    start = Schedule(problem, zeros, np.array([0, 1]), zeros, zeros, zeros.astype(bool))
    assert start.vm_end_s.tolist() == [3, 9]
    model = build_time_indexed(problem)
    assert model.set_start(start)
    assert [column.value for column in model.model.end.values()] == [9, 3]
    program, columns = integer_program_of(model.model)
    assert program.satisfied_by(np.array([column.value for column in columns]))


def test_a_plan_that_does_not_fit_the_grid_is_no_start() -> None:
    problem = instance([vm_type("a", spot=(1, 1))], [task("t0", a=11), task("t1", a=11)])
    start = plan(problem)
    model = build_time_indexed(problem, 10)
    assert not model.set_start(start)
    assert all(column.value is None for column in model.model.start.values())
    # And the plan to start from is returned, as nothing better was found.
    assert plan(problem, TimeIndexedOptions(step_s=10), initial=start) is start


def test_without_time_the_plan_to_start_from_is_returned_with_what_is_proved() -> None:
    problem = library_instance("tiny/memory-parts-them")
    start = greedy(problem).schedule
    assert start is not None
    outcome = solve(problem, "time-indexed", time_limit_s=1e-9, initial=start)
    assert outcome.objective == start.objective
    assert outcome.bound is not None
    assert outcome.bound <= start.objective


def test_without_time_the_plan_of_a_simple_heuristic_is_returned_and_said_to_be_one() -> None:
    result = solve(library_instance("tiny/memory-parts-them"), "time-indexed", time_limit_s=1e-9)
    assert result.status in ("feasible", "optimal")
    assert result.warnings == ("there was no time for time-indexed to find a plan; this is one of a simple heuristic",)


def test_threads_may_change_from_run_to_run() -> None:
    problem = instance([vm_type("a", 2, spot=(1, 1))], [task("t0", a=6), task("t1", a=5), task("t2", a=4)])
    for threads in (1, 2, 1):
        outcome = time_indexed(problem, TimeIndexedOptions(), Run(threads=threads))
        assert outcome.schedule is not None
        assert outcome.schedule.objective == pytest.approx(9)


# --------------------------------------------------------------------------------------- models of other people


def test_models_of_other_shapes_are_translated_or_named() -> None:
    import pyomo.environ as pyo

    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.Integers, bounds=(0, 9))
    model.y = pyo.Var(domain=pyo.Integers, bounds=(0, 9))
    model.fixed = pyo.Var(domain=pyo.Binary)
    model.fixed.fix(1)
    model.row = pyo.Constraint(expr=2 * model.x + 3 * model.y + model.fixed >= 12)
    model.objective = pyo.Objective(expr=1.5 * model.x + 2 * model.y + 0.25)
    answer = solve_pyomo(model, SolverLimits())
    assert answer.status == "optimal"
    assert answer.values is not None
    # 2 x + 3 y >= 11: x = 1, y = 3 costs 7.75.
    assert (answer.values[model.x], answer.values[model.y], answer.values[model.fixed]) == (1, 3, 1)
    assert answer.bound == pytest.approx(7.75)
    model.half = pyo.Constraint(expr=0.5 * model.x <= 3)
    with pytest.raises(ValueError, match="half has a coefficient or bound that is not whole: 0"):
        integer_program_of(model)
    model.half.deactivate()
    model.product = pyo.Constraint(expr=model.x * model.y <= 3)
    with pytest.raises(ValueError, match="product is not linear"):
        integer_program_of(model)
    model.product.deactivate()
    model.z = pyo.Var(bounds=(0, 1))
    with pytest.raises(ValueError, match="variable z is not a bounded integer"):
        integer_program_of(model)


# ---------------------------------------------------------------------------------------------------- both solvers


def demand_the_same_of_both_solvers(seed: int) -> None:
    """Demand one optimum of HiGHS and CP-SAT, proved by both, that the interval model has, too."""
    bag = tiny_bag(seed)
    highs, cp_sat = (outcome_of(bag, TimeIndexedOptions(solver=solver)) for solver in get_args(Solver))
    assert (highs.schedule is None) == (cp_sat.schedule is None)
    if highs.schedule is None or cp_sat.schedule is None:
        assert highs.bound == cp_sat.bound == math.inf
        return
    assert highs.schedule.objective == pytest.approx(cp_sat.schedule.objective, abs=1e-6)
    assert solve(bag, "interval").objective == pytest.approx(cp_sat.schedule.objective, abs=1e-6)
    for outcome in (highs, cp_sat):
        assert outcome.bound == pytest.approx(cp_sat.schedule.objective, abs=1e-6)


@pytest.mark.parametrize("seed", some(range(4), fast=1))
def test_highs_and_cp_sat_find_the_same_optimum(seed: int) -> None:
    demand_the_same_of_both_solvers(seed)


@pytest.mark.parametrize(
    "first", [pytest.param(first, marks=pytest.mark.soak if first else pytest.mark.slow) for first in range(0, 200, 20)]
)
def test_highs_and_cp_sat_find_the_same_optimum_of_200_tiny_bags(first: int) -> None:
    for seed in range(first, first + 20):
        demand_the_same_of_both_solvers(seed)


@pytest.mark.slow
def test_cp_sat_starts_from_a_plan_and_proves_that_there_is_none() -> None:
    bag = tiny_bag(1)
    best = outcome_of(bag, TimeIndexedOptions(solver="cp-sat")).schedule
    assert best is not None
    again = outcome_of(bag, TimeIndexedOptions(solver="cp-sat"), best)
    assert again.schedule is not None
    assert again.schedule.objective == pytest.approx(best.objective)
    too_many = tiny_bag(1, tasks=80, horizon_s=6)
    assert outcome_of(too_many, TimeIndexedOptions(solver="cp-sat")).bound == math.inf


def test_times_of_tiny_bags_grow_with_the_horizon() -> None:
    for horizon_s in (20, 120):
        longest_s = max(max(task.runtime_s.values()) for task in tiny_bag(0, tasks=30, horizon_s=horizon_s).tasks)
        assert horizon_s // 4 < longest_s <= horizon_s // 3
