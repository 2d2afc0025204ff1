"""Lower bounds: never above brute force or any plan, by hand where that can be, and what infeasible means."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.bounds.bags import divisible_bound as divisible
from spotbag.bounds.bags.divisible_bound import divisible_bound
from spotbag.bounds.bags.lower_bounds import lower_bounds
from spotbag.bounds.programme import LinearRows, maximise_concave
from spotbag.core.errors import SpotbagError
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.heuristics.bags.greedy import GreedyOptions
from spotbag.instances.bags.csv_tasks import read_tasks
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.entries import Objective
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance, library_names
from spotbag.models.bags.makespan_bounds import makespan_lower_bound_s, usable_cores
from spotbag.schedules.method import Outcome
from spotbag.schedules.rescuable import RescuableInstance
from spotbag.solvers.bags.solve import solve
from tests.helpers.exhaustive import exhaustive_front
from tests.helpers.library_cases import library_cases
from tests.helpers.random_instances import random_instances
from tests.helpers.rescues import random_rest
from tests.helpers.second_by_second import brute_force_objective
from tests.helpers.soaks import soak, soak_of
from tests.helpers.tiny_core_instances import hand_instance
from tests.helpers.tiny_instances import FAMILIES, tiny_instance


def test_the_longest_task_bounds_the_makespan() -> None:
    assert makespan_lower_bound_s(hand_instance([7, 3, 50], boot_overhead_s=5)) == 55


def test_two_of_the_longest_tasks_share_a_core() -> None:
    # Two cores, three tasks of 30, 20, 20: two of them on one core, at least 20 + 20.
    assert makespan_lower_bound_s(hand_instance([30, 20, 20])) == 40


def test_rounds_of_identical_tasks_are_counted_exactly() -> None:
    tasks = [{"id": "t", "memory_mb": 1, "runtime_s": {"a": 10}, "count": 7}]
    assert makespan_lower_bound_s(hand_instance([], tasks=tasks)) == 40  # 2 + 2 + 2 + 1


def test_limits_of_markets_count_the_largest_vms() -> None:
    offers = {"on-demand": {"price_usd_per_hour": 1, "limit": 5}}
    types = [{"name": name, "vcpus": v, "memory_mb": 1000, "offers": offers} for name, v in (("a", 2), ("b", 4))]
    assert usable_cores(hand_instance([1] * 50, vm_types=types, limits={"max_on_demand": 6})) == 5 * 4 + 2


def test_cores_work_no_longer_than_until_the_latest_ends_of_tasks_that_may_be_their_last_ones() -> None:
    # 80 s of work; one of two cores may end at 40 s, the other at 20 s: 20 s of work are left for the dear VM.
    names = ("a", 1.0), ("dear", 3.0)
    types = [
        {
            "name": name,
            "vcpus": 2,
            "memory_mb": 1000,
            "offers": {"on-demand": {"price_usd_per_hour": 3600 * usd, "limit": 1}},
        }
        for name, usd in names
    ]
    due_s = [40, 20, 20, 20]
    tasks = [
        {"id": f"t{k}", "memory_mb": 1, "runtime_s": {"a": 20, "dear": 20}, "deadline_s": due}
        for k, due in enumerate(due_s)
    ]
    bag = Instance(name="dated", deadline_s=40, objective={"goal": "cheapest"}, vm_types=types, tasks=tasks)
    assert divisible_bound(with_d_spot(bag)).objective == pytest.approx(30 * 1.0 + 10 * 3.0)
    assert solve(bag, "interval").objective == 20 * 1.0 + 20 * 3.0


def test_plans_of_the_example_that_survive_cost_more_than_its_cores_could_do_until_the_last_moment() -> None:
    bag = read_tasks(Path(__file__).parents[3] / "examples" / "tasks.csv", deadline_s=5400)
    bound = divisible_bound(RescuableInstance.of(bag.replace(d_spot_s=5400), "type"))
    assert bound.objective == pytest.approx(1.193206, abs=1e-6)


def test_the_divisible_bound_by_hand() -> None:
    # 60 s of work on two cores: T >= 30, and 30 s of the VM: 0.5 * 0.03 + 0.5 * 0.03.
    assert divisible_bound(hand_instance([10, 20, 30])).objective == pytest.approx(0.03)
    # With memory for one task at a time, 60 s.
    assert divisible_bound(
        hand_instance([], tasks=[{"id": "t", "memory_mb": 100_000, "runtime_s": {"a": 30}, "count": 2}])
    ).objective == pytest.approx(0.06)


def test_a_burstable_vm_without_credits_does_not_run_at_full_speed_for_good() -> None:
    burstable = {"baseline_fraction": 0.2, "credits_per_hour": 24}
    offers = {"on-demand": {"price_usd_per_hour": 3.6, "limit": 1}}
    types = [{"name": "a", "vcpus": 2, "memory_mb": 1000, "offers": offers, "burstable": burstable}]
    # 100 s of work at 2 * 0.2 cores: 250 s.
    assert divisible_bound(hand_instance([50, 50], vm_types=types)).objective == pytest.approx(0.5 * 0.25 + 0.5 * 0.25)


def test_initial_credits_are_good_for_so_much_work_and_no_more() -> None:
    burstable = {"baseline_fraction": 0.2, "credits_per_hour": 24, "initial_credits": 1, "max_credits": 100}
    offers = {"on-demand": {"price_usd_per_hour": 3.6, "limit": 1}}
    types = [{"name": "a", "vcpus": 2, "memory_mb": 1000, "offers": offers, "burstable": burstable}]
    # 100 s of work, 60 of them by the initial credit, and the rest at 2 * 0.2 cores: 100 s. At full speed 50 s.
    bound = divisible_bound(hand_instance([50, 50], vm_types=types))
    assert bound.objective == pytest.approx(0.5 * 0.1 + 0.5 * 0.1, rel=1e-5)
    assert bound.objective <= 0.1


def test_a_budget_bounds_the_earliest_end() -> None:
    def offers(usd: float) -> dict[str, object]:
        return {"on-demand": {"price_usd_per_hour": 3.6 * usd, "limit": 1}}

    types = [{"name": name, "vcpus": 1, "memory_mb": 1000, "offers": offers(usd)} for name, usd in (("a", 1), ("b", 3))]
    tasks = [{"id": f"t{k}", "memory_mb": 1, "runtime_s": {"a": 100, "b": 100}} for k in range(4)]
    bag = hand_instance([], tasks=tasks, vm_types=types)
    # T seconds of a, and 400 - T of b: 0.001 T + 0.003 (400 - T) <= 0.7 from T = 250 on. Without a budget 200 s.
    assert divisible_bound(bag.with_goal("fastest", 0.7)).objective == pytest.approx(250)
    assert divisible_bound(bag.with_goal("fastest")).objective == pytest.approx(200)
    # All on a: $ 0.4, and no plan is cheaper.
    assert divisible_bound(bag.with_goal("fastest", 0.39)).objective == math.inf


@pytest.mark.parametrize("family", FAMILIES)
def test_no_plan_within_a_budget_ends_before_the_bound(family: str) -> None:
    for seed in range(3):
        _compare_with_front(family, seed)


@soak(sample=40, whole=1000)
def test_no_plan_within_a_budget_ends_before_the_bound_in_hundreds_of_bags(how_many: int) -> None:
    for seed, family in itertools.product(range(how_many), FAMILIES):
        _compare_with_front(family, seed)


def _compare_with_front(family: str, seed: int) -> None:
    """Compare bounds of all budgets that buy an earlier end with the plans that have it."""
    bag = tiny_instance(seed, **FAMILIES[family]).replace(survive="none")
    for end_s, cost_usd in exhaustive_front(bag):
        bound = divisible_bound(with_d_spot(bag.with_goal("fastest", cost_usd))).objective
        assert bound <= end_s * (1 + 1e-9), (family, seed, cost_usd)


def test_a_task_at_full_speed_does_not_end_before_its_credits_are_earned() -> None:
    burstable = {"baseline_fraction": 0.2, "credits_per_hour": 36}
    offers = {"on-demand": {"price_usd_per_hour": 3.6, "limit": 1}}
    types = [{"name": "a", "vcpus": 2, "memory_mb": 1000, "offers": offers, "burstable": burstable}]
    # 60 s spend 1 credit, which takes 100 s to earn; at the baseline they take 300 s.
    assert makespan_lower_bound_s(hand_instance([60], vm_types=types)) == 100
    two = [{"id": "t", "memory_mb": 1, "runtime_s": {"a": 60}, "count": 2}]
    assert makespan_lower_bound_s(hand_instance([], tasks=two, vm_types=types)) == 200


def test_rounding_at_full_speed_does_not_lengthen_work_at_the_baseline() -> None:
    # Found by a random instance: 11 s and a checkpoint of 0.5 s take 12 s; at a fifth of the speed 58 s, not 60.
    burstable = {"baseline_fraction": 0.2, "credits_per_hour": 0}
    offers = {"spot": {"price_usd_per_hour": 3.6, "limit": 1}}
    problem = hand_instance(
        [11],
        vm_types=[{"name": "a", "vcpus": 1, "memory_mb": 1000, "offers": offers, "burstable": burstable}],
        checkpoint={"overhead_fraction": 0.05, "dump_base_s": 0.5},
    )
    best = brute_force_objective(problem)
    assert best == pytest.approx(0.5 * 0.058 + 0.5 * 0.058)
    assert divisible_bound(problem).objective <= best * (1 + 1e-12)


def test_what_even_divisible_tasks_cannot_meet_is_infeasible() -> None:
    tight = hand_instance([600, 600, 600, 600], deadline_s=1000)
    assert divisible_bound(tight).objective == math.inf
    result = solve(tight, "search")
    assert result.status == "infeasible"
    assert result.to_dict()["bound"] is None
    spot_only = library_instance("burst-hads/ED200").replace(markets=["spot"])
    assert solve(spot_only, "search").status in ("infeasible", "no-plan")


@pytest.mark.parametrize("name", library_cases())
def test_the_bound_is_below_every_plan(name: str) -> None:
    _compare_with_plans(name, {"search": {"moves": 500}}, most_tasks=100)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.soak if number % 8 else pytest.mark.slow)
        for number, name in enumerate(library_names())
    ],
)
def test_the_bound_is_below_the_best_plan_of_every_heuristic(name: str) -> None:
    _compare_with_plans(name, {}, most_tasks=200)


def _compare_with_plans(name: str, options: dict[str, dict[str, Any]], most_tasks: int) -> None:
    """Also with the plans of simple heuristics, for bags of no more tasks."""
    problem = with_d_spot(library_instance(name))
    bound = divisible_bound(problem).objective
    for method in ("greedy", "lpt", "ils", "search") if problem.n_tasks <= most_tasks else ("greedy", "search"):
        result = solve(problem, method, options=options.get(method))
        assert result.objective is None or result.objective >= bound * (1 - 1e-9)
        if result.schedule is not None:
            assert result.schedule.makespan_s >= makespan_lower_bound_s(problem)
    if problem.provenance is not None and problem.provenance.optimum is not None:
        assert bound <= problem.provenance.optimum.objective * (1 + 1e-9)


@given(random_instances(4))
@settings(max_examples=4, deadline=None)
def test_the_bound_is_never_above_brute_force(problem: Instance) -> None:
    _compare_with_brute_force(problem, most_vms=4)


@soak_of(random_instances(4), sample=50, whole=1000)
def test_the_bound_is_never_above_brute_force_on_thousands(problem: Instance) -> None:
    _compare_with_brute_force(problem, most_vms=5)


def _compare_with_brute_force(problem: Instance, most_vms: int) -> None:
    # A goal of two quantities also asks for earlier ends, for which plans may wait for credits; brute force has none.
    objective = problem.objective if problem.goal == "balanced" else Objective(goal="balanced")
    problem = with_d_spot(problem.replace(objective=objective))
    if problem.n_tasks > 4 or sum(min(offer.limit, problem.n_tasks) for offer in problem.offers) > most_vms:
        return
    best = brute_force_objective(problem)
    bound = divisible_bound(problem).objective
    if best is None:
        return
    assert bound <= best * (1 + 1e-9)
    result = solve(problem, "search")
    if result.objective is None or result.objective >= best * (1 - 1e-9):
        return
    # Brute force starts tasks at once; a plan below it has one that waits for credits, and an exact method knows those.
    assert any(vm_type.burstable and vm_type.burstable.credits_per_hour for vm_type in problem.vm_types)
    exact = solve(problem, "interval")
    assert exact.status == "optimal"
    assert exact.objective is not None
    assert bound * (1 - 1e-9) <= exact.objective <= result.objective * (1 + 1e-9)


@pytest.mark.slow
def test_a_plan_that_waits_for_credits_is_below_brute_force() -> None:
    def vm_type(name: str, vcpus: int, speed: float, burstable: dict[str, float] | None = None) -> dict[str, object]:
        offers = {"spot": {"price_usd_per_hour": 0.01, "limit": 1}}
        shape = {"name": name, "vcpus": vcpus, "memory_mb": 1024, "speed": speed, "offers": offers}
        return shape if burstable is None else shape | {"burstable": {"baseline_fraction": 0.2, **burstable}}

    earning = {"credits_per_hour": 36.0, "initial_credits": 0.0, "max_credits": 100.0}
    saved_up = {"credits_per_hour": 0.0, "initial_credits": 2.0, "max_credits": 100.0}
    tasks: list[dict[str, object]] = [
        {"id": f"t{index}", "memory_mb": 0.001, "base_runtime_s": seconds} for index, seconds in enumerate([1, 1, 48.4])
    ]
    document = {
        "format": "spotbag.instance/1",
        "name": "waits for credits",
        "deadline_s": 160,
        "d_spot_s": 64,
        "checkpoint": {"overhead_fraction": 0.5, "dump_base_s": 0.5},
        "vm_types": [vm_type("a", 1, 0.5, earning), vm_type("b", 4, 0.5), vm_type("c", 1, 1.7, saved_up)],
        "tasks": [*tasks, {"id": "t3", "memory_mb": 0.001, "runtime_s": {"a": 1.0}}],
    }
    problem = Instance.from_document(document, "waits for credits").with_goal("balanced")
    _compare_with_brute_force(problem, most_vms=4)


def test_prices_of_the_bound_are_those_of_its_offers() -> None:
    problem = with_d_spot(generate_instance(200, seed=1, d_spot_fraction=0.8, goal="balanced"))
    bound = divisible_bound(problem)
    prices = bound.task_price(problem)
    assert prices.shape == (200, len(bound.offers))
    assert (prices[np.isfinite(prices)] > 0).all()
    # At the dual optimum the cheapest prices add up to the bound and what the VMs' time is worth.
    assert prices.min(axis=1).sum() >= bound.objective * 0.5


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_the_part_with_the_makespan_is_nowhere_less_than_at_the_moments_that_are_looked_at(seed: int) -> None:
    """By what the VMs can be paid for until every single second, machine by machine."""
    rest, rng = random_rest(seed).instance, np.random.default_rng(seed)
    least_s = makespan_lower_bound_s(rest)
    pools = divisible._pools(rest)
    if least_s > rest.deadline_s or not pools.offers:
        return
    dual = divisible._Dual(rest, pools, least_s)
    theta = rng.exponential(1.0, dual.size) * (rng.random(dual.size) < 0.7)
    constants, rows = dual.time_rows()
    machines = [
        (rest.offers[offer], held_s)
        for offer, held_s, takes in zip(
            rest.machine_offer.tolist(), rest.machine_held_s.tolist(), rest.machine_open.tolist(), strict=True
        )
        if takes
    ]

    def value(moment: int) -> float:
        total = dual.time_weight * moment
        for k, offer in enumerate(pools.offers):
            until_s = min(moment, rest.time_limit_s(offer.market))
            if k < pools.n_rented:
                most_s = min(offer.limit, rest.n_tasks) * max(until_s - rest.boot_overhead_s, 0)
            else:
                most_s = sum(max(until_s - held_s, 0) for other, held_s in machines if other is offer)
            total -= theta[k] * most_s
        for position, (_, cap) in enumerate(dual.groups):
            total -= theta[len(pools.offers) + position] * cap * max(moment - rest.boot_overhead_s, 0)
        return total - float(theta[dual.parts["credits"]] @ dual.initial_work_s)

    least = min(map(value, range(least_s, rest.deadline_s + 1)))
    assert float((constants + rows @ theta).min()) == pytest.approx(least, rel=1e-9, abs=1e-9)


def test_kelley_finds_the_maximum_of_a_concave_function() -> None:
    # max min over pieces of 3 - |x - 1| - |y - 2|, and a second part that is flat.
    def peak(theta: np.typing.NDArray[np.float64]) -> tuple[float, np.typing.NDArray[np.float64]]:
        gap = theta - np.array([1.0, 2.0])
        return 3 - float(np.abs(gap).sum()), -np.sign(gap)

    unlimited = LinearRows(np.zeros(0), np.zeros((0, 2)))
    found = maximise_concave(peak, LinearRows(np.array([1.0]), np.zeros((1, 2))), unlimited, 10.0, 100, 1e-12)
    assert found.value == pytest.approx(4.0)
    assert found.theta == pytest.approx([1.0, 2.0])
    # And with the constraint x >= 3.
    at_least_3 = LinearRows(np.array([-3.0]), np.array([[1.0, 0.0]]))
    bounded = maximise_concave(peak, LinearRows(np.array([0.0]), np.zeros((1, 2))), at_least_3, 10.0, 100, 1e-12)
    assert bounded.value <= 1.0 + 1e-9 or bounded.theta[0] < 3


@pytest.mark.slow
@given(st.data())
@settings(max_examples=4, deadline=None)
def test_work_that_fills_the_vms_to_the_last_second_is_not_called_infeasible(data: st.DataObject) -> None:
    _bound_full_vms(data)


@soak_of(st.data(), sample=30, whole=500)
def test_work_that_fills_the_vms_is_not_called_infeasible_in_hundreds_of_bags(data: st.DataObject) -> None:
    _bound_full_vms(data)


def _bound_full_vms(data: st.DataObject) -> None:
    # Rounding made the dual of such instances pass for unbounded.
    deadline = data.draw(st.integers(20, 100_000))
    vcpus, limit = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 2))
    runtimes = []
    for _ in range(vcpus * limit):
        cuts = sorted({deadline, *data.draw(st.lists(st.integers(1, deadline), max_size=4))})
        runtimes += [after - before for before, after in itertools.pairwise([0, *cuts])]
    price = data.draw(st.sampled_from([0.01, 0.2, 3.6]))
    types = [
        {
            "name": "a",
            "vcpus": vcpus,
            "memory_mb": 1000,
            "offers": {"on-demand": {"price_usd_per_hour": price, "limit": limit}},
        }
    ]
    problem = hand_instance(
        runtimes, deadline_s=deadline, d_spot_s=None, vm_types=types, objective={"goal": "balanced"}
    )
    # Everything ends at the deadline: the cost of all VMs, and the whole makespan.
    weight = 0.5
    optimum = weight * price / 3600 * deadline * limit / problem.cost_scale_usd + (1 - weight)
    assert divisible_bound(problem).objective <= optimum * (1 + 1e-12)


def test_a_bound_above_the_plan_is_reported_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    from spotbag.heuristics.bags.greedy import greedy
    from spotbag.solvers.bags import methods as registry
    from spotbag.solvers.bags.methods import METHODS

    def too_sure(problem: Instance, *_: object) -> Outcome:
        return Outcome(greedy(problem).schedule, bound=1e9)

    monkeypatch.setitem(METHODS, "sure", registry.MethodEntry("sure", "", lambda: (GreedyOptions, too_sure), False, ""))
    with pytest.raises(SpotbagError, match="claims a bound of 1000000000 and made a plan of"):
        solve(library_instance("tiny/boot"), "sure")


def test_a_tiny_cost_scale_that_nobody_wrote_bounds_as_any_other() -> None:
    offers = {"on-demand": {"price_usd_per_hour": 1e-9, "limit": 5}}
    cheap = hand_instance(
        [1], vm_types=[{"name": "a", "vcpus": 2, "memory_mb": 1000, "offers": offers}], objective={"goal": "balanced"}
    )
    assert cheap.cost_scale_usd < 1e-12
    bounds = {bound.name: bound.value for bound in lower_bounds(cheap)}
    assert bounds["least cost"] == pytest.approx(1e-9 / 3600)
    assert bounds["least makespan"] == 1
