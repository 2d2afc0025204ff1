"""Fronts: those of all plans, by either way; what is proven and what is not; limits, interrupts, refusals."""

from __future__ import annotations

import itertools
import math
import threading
from typing import Any

import numpy as np
import pytest

from spotbag import pareto_front
from spotbag.audits.bags.plan import check
from spotbag.charts.bags.plots import best_point
from spotbag.core.errors import InputError, ModelRefusal
from spotbag.core.limits import LimitReached
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.instance import Instance
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.class_fleets import FleetSearch
from spotbag.solvers.bags.pareto import Answer, FrontFacts, FrontPoint, Gap, ParetoFront, SolveOracle
from spotbag.solvers.bags.solve import solve
from tests.helpers.exhaustive import exhaustive_front
from tests.helpers.fake_time import fake_time, solvers_take_all_their_time
from tests.helpers.soaks import some
from tests.helpers.tiny_core_instances import few_classes_instance, hand_instance
from tests.helpers.tiny_instances import FAMILIES, tiny_instance


def values(front: ParetoFront) -> list[tuple[int, float]]:
    return [(point.makespan_s, pytest.approx(point.cost_usd)) for point in front.points]


def checked(instance: Instance, **options: Any) -> ParetoFront:
    """Front whose points are plans as they say, none of them beaten by another, with bounds and flags that fit."""
    front = pareto_front(instance, **options)
    for point in front.points:
        assert not check(instance, point.schedule, front.instance.d_spot_s).violations
        assert (point.schedule.makespan_s, point.schedule.cost_usd) == (point.makespan_s, point.cost_usd)
        assert point.bound_cost_usd <= point.cost_usd
        assert point.bound_cost_usd == point.cost_usd or not point.proven
    for faster, slower in itertools.pairwise(front.points):
        assert faster.makespan_s < slower.makespan_s
        assert faster.cost_usd > slower.cost_usd
    assert front.proven == (all(point.proven for point in front.points) and (front.points != () or front.complete))
    return front


@pytest.mark.parametrize("seed", some([4, 0, 6, 1, 3, 5], fast=1))
@pytest.mark.parametrize("family", some([*FAMILIES], fast=3))
def test_tiny_fronts_are_those_of_all_plans(family: str, seed: int) -> None:
    instance = tiny_instance(seed, **FAMILIES[family])
    front = checked(instance)
    assert front.complete
    assert front.proven
    assert values(front) == exhaustive_front(instance)


@pytest.mark.parametrize(
    "block", [pytest.param(block, marks=pytest.mark.soak if block else pytest.mark.slow) for block in range(40)]
)
@pytest.mark.parametrize("family", FAMILIES)
def test_hundreds_of_tiny_fronts_are_those_of_all_plans(family: str, block: int) -> None:
    for seed in range(100 + 5 * block, 105 + 5 * block):
        instance = tiny_instance(seed, **FAMILIES[family])
        front = checked(instance)
        assert (front.complete, values(front)) == (True, exhaustive_front(instance)), seed


@pytest.mark.parametrize(
    "counts", [[9], pytest.param([4, 5], marks=pytest.mark.slow), pytest.param([2, 3, 3], marks=pytest.mark.slow)]
)
def test_both_ways_find_the_same_front(counts: list[int]) -> None:
    instance = few_classes_instance(counts)
    fast = checked(instance, method="class-programme")
    general = checked(instance, method="epsilon-constraint")
    assert fast.complete
    assert general.complete
    assert (fast.method, general.method) == ("class-programme", "epsilon-constraint")
    assert len(fast.points) >= 2
    assert values(fast) == [(point.makespan_s, point.cost_usd) for point in general.points]


def test_a_front_by_hand() -> None:
    # 0.001 $/s, one core to a VM, ready at 5. One VM: 30 s of work, 35 for $ 0.030; two: 10 + 20, as cheap and done at
    # 25; three: 10 and two times 10, no faster than the longest task of 20 s.
    front = checked(hand_instance([10, 20], vcpus=1, limit=3, boot_overhead_s=5))
    assert values(front) == [(25, 0.030)]
    # On two cores, 10 + 20 beside each other are 20 s of one VM: cheaper than two VMs, and no slower.
    assert values(checked(hand_instance([10, 20], limit=2))) == [(20, 0.020)]


def test_many_plans_of_the_same_cost_are_one_point() -> None:
    # On one core to a VM all plans cost the same; only the fastest is a point.
    for method in ("class-programme", "epsilon-constraint"):
        front = checked(hand_instance([10] * 6, vcpus=1, limit=6, deadline_s=70, d_spot_s=70), method=method)
        assert (values(front), front.complete) == ([(10, 0.060)], True)


@pytest.mark.parametrize("method", some(["class-programme", "epsilon-constraint"], fast=1))
def test_a_few_points_are_evenly_spread_and_proven(method: str) -> None:
    instance = few_classes_instance([3, 5, 4])
    whole = values(checked(instance))
    front = checked(instance, method=method, most_points=4)
    found = [(point.makespan_s, point.cost_usd) for point in front.points]
    assert len(whole) > len(found) == 4
    assert front.proven
    assert not front.complete
    assert (found[0], found[-1]) == (whole[0], whole[-1])
    assert [point for point in whole if point[0] in dict(found)] == found
    widest = max(after - before for (before, _), (after, _) in itertools.pairwise(found))
    assert widest <= 0.7 * (whole[-1][0] - whole[0][0])


@pytest.mark.parametrize("every", some([2, 3], fast=1))
@pytest.mark.parametrize("seed", some([3, 11, 20, 33], fast=1))
def test_an_answer_without_proof_makes_nothing_proven_that_is_not(
    seed: int, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some answers are worse plans without a bound: what is marked as proven is on the front all the same."""
    instance = few_classes_instance([1 + seed % 4, 2 + seed % 3, 2])
    truth = dict(values(checked(instance)))
    original = SolveOracle.cheapest
    asked = itertools.count(1)

    def unproved(self: SolveOracle, moment_s: int, limit_s: float, initial: Any) -> Answer:
        answer = original(self, moment_s, limit_s, initial)
        if next(asked) % every:
            return answer
        return Answer(initial, 0.5 * truth[max(truth)].expected)

    monkeypatch.setattr(SolveOracle, "cheapest", unproved)
    fake_time(monkeypatch, look_s=0.01)
    front = checked(instance, method="epsilon-constraint", time_limit_s=20)
    assert front.points
    for point in front.points:
        if point.proven:
            assert truth[point.makespan_s] == point.cost_usd
        least = min(cost.expected for makespan, cost in truth.items() if makespan <= point.makespan_s)
        assert point.bound_cost_usd <= least * (1 + 1e-9)
    if front.complete:
        assert values(front) == list(truth.items())


def test_without_any_proof_no_point_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = few_classes_instance([3, 5, 4])
    plans = [point.schedule for point in pareto_front(instance).points]

    def plan_only(self: SolveOracle, moment_s: int, limit_s: float, initial: Any) -> Answer:
        return Answer([plan for plan in plans if plan.makespan_s <= moment_s][-1], 0.01)

    monkeypatch.setattr(SolveOracle, "cheapest", plan_only)
    monkeypatch.setattr(SolveOracle, "fastest", lambda *_: None)
    monkeypatch.setattr(FrontFacts, "bound_usd", lambda self, moment: 0.01 if moment >= 0 else math.inf)
    fake_time(monkeypatch, look_s=0.01)
    front = checked(instance, method="epsilon-constraint", time_limit_s=10, initial=plans[:1])
    assert front.points
    assert not front.complete
    assert not front.proven
    assert not any(point.proven for point in front.points)
    assert {point.bound_cost_usd for point in front.points} == {0.01}
    assert best_point(front) is None


def both_markets(counts: list[int], **fields: Any) -> Instance:
    """Few classes on spot and on-demand VMs, and on burstable VMs whose credits bind, within a limit of the market."""
    instance = few_classes_instance(counts)
    document = instance.to_document()
    for vm_type in document["vm_types"]:
        spot = vm_type["offers"]["spot"]
        vm_type["offers"]["on-demand"] = spot | {"price_usd_per_hour": 3 * spot["price_usd_per_hour"], "limit": 2}
    document["vm_types"].append(
        {
            "name": "t",
            "vcpus": 4,
            "memory_mb": 16_000,
            "offers": {"on-demand": {"price_usd_per_hour": 0.0832, "limit": 2}},
            "burstable": {"baseline_fraction": 0.3, "credits_per_hour": 96},
        }
    )
    for task, seconds in zip(document["tasks"], (304, 119, 260), strict=False):
        task["runtime_s"]["t"] = seconds
    return Instance.from_document(document | {"limits": {"max_on_demand": 5}} | fields, "both markets")


@pytest.mark.parametrize(
    ("counts", "with_burstable"), [([12, 15], 2), pytest.param([12, 15, 12], 5, marks=pytest.mark.slow)]
)
def test_fronts_over_both_markets_with_burstable_vms_are_proven(counts: list[int], with_burstable: int) -> None:
    front = checked(both_markets(counts))
    assert (front.method, front.complete, front.proven) == ("class-programme", True, True)
    rented = [{offer.split()[0] for offer in point.schedule.vm_counts()} for point in front.points]
    assert sum("t" in types for types in rented) >= with_burstable
    for weight in (0.2, 0.7):
        objective = {"cost_weight": weight, "cost_scale_usd": 0.2, "makespan_scale_s": 1000}
        instance = front.instance.replace(objective=objective)
        result = solve(instance, "patterns", time_limit_s=0.2)
        assert result.bound is not None
        best = min(weight * point.cost_usd / 0.2 + (1 - weight) * point.makespan_s / 1000 for point in front.points)
        assert result.bound <= best * (1 + 1e-9)
        assert result.objective is None or result.objective >= best * (1 - 1e-9)


@pytest.mark.slow
def test_both_ways_find_the_same_front_over_both_markets() -> None:
    instance = both_markets([2, 3, 2], deadline_s=400, d_spot_s=350)
    fast = checked(instance, method="class-programme")
    general = checked(instance, method="epsilon-constraint")
    assert (fast.complete, general.complete) == (True, True)
    assert values(fast) == values(general)


def test_a_bound_from_an_array_proves_in_booleans_of_json() -> None:
    points = pareto_front(few_classes_instance([3])).points
    facts = FrontFacts(0, 10_000)
    facts.add_plan(points[-1].schedule)
    facts.add_bound(10_000, np.float64(points[-1].cost_usd))
    facts.add_bound(points[-1].makespan_s - 1, np.float64(math.inf))
    assert facts.is_proven(points[-1].schedule) is True


def test_a_bound_above_a_plan_by_rounding_does_not_prove_that_faster_plans_cost_more() -> None:
    """Two VMs of one core do 10 s of work in 5 s, or one of them in 10 s, at the same cost."""
    instance = hand_instance([5, 5], vcpus=1, limit=2)
    fast = pareto_front(instance).points[0].schedule
    cores = np.zeros(2, dtype=np.int64)
    slow = Schedule(instance, fast.vm_offer[:1], cores, cores, np.array([0, 5]), cores > 0)
    assert (fast.makespan_s, slow.makespan_s, fast.cost_usd) == (5, 10, pytest.approx(slow.cost_usd))
    for digits in (-1e-9, 3e-18, 1e-9):
        facts = FrontFacts(0, 100)
        facts.add_plan(slow)
        facts.add_bound(10, slow.cost_usd * (1 + digits) + 3e-18)
        assert facts.is_least(slow)
        assert not facts.is_proven(slow)
        assert facts.bound_usd(9) == slow.cost_usd
        facts.add_bound(9, slow.cost_usd * (1 + 1e-9))  # as cheap as makes no difference
        assert not facts.is_proven(slow)
        facts.add_bound(9, slow.cost_usd * (1 + 1e-8))
        assert facts.is_proven(slow)


def test_of_two_points_none_is_dominated_by_a_plan_that_costs_the_same() -> None:
    """Tasks of 4 s, 8 s / 1.7 and 1 s at full speed on two VMs of $ 1 an hour end after 5 s at the cost of 6 s."""
    credits = {"baseline_fraction": 0.05, "credits_per_hour": 90, "initial_credits": 0.2}
    offers = {"on-demand": {"price_usd_per_hour": 1, "limit": 1}}
    vm_types = [
        {"name": name, "vcpus": 1, "memory_mb": 1e6, "offers": offers, "speed": speed, "burstable": credits}
        for name, speed in (("a", 1), ("b", 1.7))
    ]
    tasks = [
        {"id": "t0", "memory_mb": 1, "runtime_s": {"a": 4, "b": 4}},
        {"id": "t1", "memory_mb": 1, "base_runtime_s": 8},
        {"id": "t2", "memory_mb": 1, "runtime_s": {"a": 1, "b": 1}},
    ]
    instance = hand_instance([], vm_types=vm_types, tasks=tasks, deadline_s=29, d_spot_s=None)
    front = pareto_front(instance, most_points=2)
    assert [(point.makespan_s, point.cost_usd, point.proven) for point in front.points] == [
        (5, pytest.approx(10 / 3600), True)
    ]


def test_facts_keep_what_is_proved() -> None:
    points = pareto_front(few_classes_instance([3, 5, 4])).points
    first, last = points[0], points[-1]
    facts = FrontFacts(first.makespan_s - 10, last.makespan_s + 10)
    assert facts.gaps() == [Gap(facts.earliest_s, facts.latest_s)]
    assert facts.add_plan(last.schedule)
    assert not facts.add_plan(last.schedule)
    assert facts.add_plan(first.schedule)
    # A bound at the latest moment holds for all, and proves the cheapest point only once all before it cost more.
    facts.add_bound(facts.latest_s, last.cost_usd)
    assert facts.bound_usd(facts.earliest_s) == last.cost_usd
    assert facts.bound_usd(facts.earliest_s - 1) == math.inf
    assert facts.is_least(last.schedule)
    assert not facts.is_proven(last.schedule)
    facts.add_bound(last.makespan_s - 1, last.cost_usd * 1.001)
    assert facts.is_proven(last.schedule)
    assert not facts.is_proven(first.schedule)
    between = Gap(first.makespan_s, last.makespan_s - 1)
    assert facts.gaps() == [Gap(facts.earliest_s, first.makespan_s - 1), between]
    facts.add_bound(between.last_s, first.cost_usd)
    facts.add_bound(first.makespan_s - 1, math.inf)
    assert facts.gaps() == []
    assert facts.is_proven(first.schedule)
    # A worse bound is no news; a better plan takes the place of all that it beats.
    facts.add_bound(facts.latest_s, 0.0)
    assert facts.bound_usd(facts.latest_s) == last.cost_usd
    both = FrontFacts(0, 10_000)
    for point in points[1:]:
        both.add_plan(point.schedule)
    cheap = pareto_front(hand_instance([1] * 3)).points[0].schedule
    assert both.add_plan(cheap)
    assert both.plans == [cheap]


def test_no_plan_exists_and_why() -> None:
    late = checked(hand_instance([8, 8, 8], deadline_s=12, d_spot_s=12))
    assert (late.points, late.complete, late.proven) == ((), True, True)
    assert "no plan exists" in late.message
    assert late.to_dict()["status"] == "infeasible"
    general = checked(hand_instance([8, 8, 8], deadline_s=12, d_spot_s=12), method="epsilon-constraint")
    assert (general.points, general.complete) == ((), True)
    assert "no plan exists" in general.message
    nothing = checked(hand_instance([8, 8, 8], d_spot_s=0))
    assert (nothing.points, nothing.complete) == ((), True)
    assert nothing.message.startswith("no plan exists")


def test_the_time_limit_holds_and_points_are_retained(monkeypatch: pytest.MonkeyPatch) -> None:
    bag = generate_instance(300, seed=3, name="bag", d_spot_fraction=0.8, goal="balanced")
    clock = fake_time(monkeypatch, look_s=0.02)
    solvers_take_all_their_time(monkeypatch, clock)
    front = checked(bag, time_limit_s=5, most_points=4)
    assert 4 < front.runtime_s < 5.2  # there is always more to be asked; ten looks at the clock more
    assert 2 <= len(front.points) <= 4
    assert front.method == "epsilon-constraint"
    none = checked(few_classes_instance([30, 40, 30]), time_limit_s=1e-6)
    assert (none.points, none.complete, none.proven, none.to_dict()["status"]) == ((), False, False, "no-plan")
    assert "this proves nothing" in none.message


@pytest.mark.slow
@pytest.mark.parametrize("most_points", [4, None])
def test_what_the_programme_leaves_over_is_done_in_the_general_way(
    most_points: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance = few_classes_instance([3, 5, 4])
    whole = values(checked(instance))
    original = FleetSearch.cheapest_by
    calls = itertools.count()

    def slow(self: FleetSearch, *arguments: Any) -> Any:
        if next(calls) == 6:
            raise LimitReached
        return original(self, *arguments)

    monkeypatch.setattr(FleetSearch, "cheapest_by", slow)
    alone = checked(instance, method="class-programme", most_points=most_points)
    assert alone.points
    assert not alone.complete
    calls = itertools.count()
    fake_time(monkeypatch)
    front = checked(instance, time_limit_s=3600, most_points=most_points)
    assert front.method == "class-programme + epsilon-constraint"
    assert front.proven
    found = [(point.makespan_s, point.cost_usd) for point in front.points]
    assert len(found) == (len(whole) if most_points is None else most_points)
    assert [point for point in whole if point[0] in dict(found)] == found


@pytest.mark.parametrize("method", ["class-programme", "epsilon-constraint"])
def test_a_stop_returns_the_points_so_far(method: str) -> None:
    instance = few_classes_instance([3, 5, 4])
    whole = dict(values(checked(instance)))
    described = []
    stop = threading.Event()

    def ask(point: FrontPoint, found: int) -> None:
        described.append((point.makespan_s, found))
        if len(described) == 3:
            stop.set()

    front = checked(instance, method=method, on_point=ask, stop=stop)
    assert front.interrupted
    assert not front.complete
    assert 1 <= len(front.points) <= described[-1][1]
    if method == "class-programme":  # which proves one point after the other
        assert all(point.proven for point in front.points)
    assert all(whole[point.makespan_s] == point.cost_usd for point in front.points if point.proven)


def test_no_known_plan_beats_the_front() -> None:
    instance = generate_instance(40, seed=1, name="bag", d_spot_fraction=0.8, goal="balanced")
    known = [result.schedule for method in ("greedy", "lpt") if (result := solve(instance, method)).schedule]
    front = checked(instance, time_limit_s=1e-6, initial=known)
    assert front.points
    for plan in known:
        assert any(point.makespan_s <= plan.makespan_s and point.cost_usd <= plan.cost_usd for point in front.points)
    with pytest.raises(InputError, match="breaks a rule"):
        pareto_front(instance.replace(deadline_s=known[0].makespan_s - 1, d_spot_s=10), initial=known[:1])


def test_the_optimum_of_the_objective_is_on_the_front() -> None:
    objective = {"cost_weight": 0.3, "cost_scale_usd": 0.1, "makespan_scale_s": 2700}
    instance = few_classes_instance([3, 5, 4], objective=objective)
    best = best_point(checked(instance))
    assert best is not None
    assert best.schedule.objective == pytest.approx(solve(instance).objective)


def test_what_is_refused() -> None:
    instance = hand_instance([*range(1, 18)])
    with pytest.raises(ModelRefusal, match="131,072 of 17 classes"):
        pareto_front(instance, method="class-programme")
    for options in ({"time_limit_s": 0}, {"seed": -1}, {"threads": 0}, {"most_points": 1}, {"method": "magic"}):
        with pytest.raises(InputError):
            pareto_front(instance, **options)
