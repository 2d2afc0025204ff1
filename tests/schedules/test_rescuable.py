"""Instances whose plans leave time to do again what is lost, and the parts that keep that, against brute force."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.divisible_bound import divisible_bound
from spotbag.heuristics.bags import annealing_kernel
from spotbag.heuristics.bags.annealing_kernel import Cooling, Snapshot, anneal
from spotbag.heuristics.bags.core_loads import priced_start
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.heuristics.bags.first_plans import lanes_plan
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.entries import NEVER
from spotbag.instances.instance import Instance
from spotbag.models.bags.core_patterns import enumerate_patterns
from spotbag.schedules.method import Run
from spotbag.schedules.rescuable import RescuableInstance, of_bag, rescuable
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.interval_method import IntervalOptions, interval
from spotbag.solvers.bags.solve import solve
from tests.helpers.soaks import soak, some
from tests.helpers.tiny_core_instances import hand_instance


def bag(**fields: Any) -> Instance:
    """Tasks of 100 and 40 s on VMs of one core, which cost 0.1 $ and 0.04 $ on spot, and three times that on demand."""
    offers = {
        "spot": {"price_usd_per_hour": 3.6, "limit": 3},
        "on-demand": {"price_usd_per_hour": 10.8, "limit": 3},
    }
    tasks = [{"id": f"t{seconds}", "memory_mb": 100, "base_runtime_s": seconds} for seconds in (100, 40)]
    document: dict[str, Any] = {
        "format": "spotbag.instance/1",
        "name": "by hand",
        "deadline_s": 250,
        "migration_overhead_s": 10,
        "vm_types": [{"name": "one", "vcpus": 1, "memory_mb": 1024, "offers": offers}],
        "tasks": tasks,
        "objective": {"goal": "cheapest"},
    }
    return with_d_spot(Instance.from_document(document | fields, "by hand"))


def test_latest_ends_leave_time_to_do_a_task_again_after_its_last_second() -> None:
    question = RescuableInstance.of(bag(), "type")
    # Lost at 140 s, 10 s to move it and 100 s: 250 s. So it ends at 141 s; and the shorter one at 201 s.
    assert question.latest_end_s.tolist() == [[141, 250], [201, 250]]
    assert question.d_spot_s == 201
    assert question.rescue_time is None
    assert RescuableInstance.of(bag(deadline_s=180), "type").duration_s[:, 0, 0].tolist() == [NEVER, 40]


def test_a_task_that_could_not_be_done_again_is_nowhere_on_spot_whatever_is_asked_first() -> None:
    """Durations were those of the bag where latest ends were asked for before, or D_spot was early already."""
    for d_spot_s in (180, 100):
        question = RescuableInstance.of(bag(deadline_s=180, d_spot_s=d_spot_s), "type")
        assert question.latest_end_s[0, 0] == 71
        assert question.duration_s[:, 0, 0].tolist() == [NEVER, 40]


def test_the_time_on_demand_counts_where_it_is_short() -> None:
    question = RescuableInstance.of(bag(limits={"max_on_demand": 1}, deadline_s=139), "type")
    time = question.rescue_time
    assert time is not None
    # In the first second, 140 s are lost, or to be done on demand anyway. Later, only the shorter one is lost, as the
    # other could not be done again: its 40 s fit the 139 - 39 - 10 s that are left in its last second.
    assert (time.again_s.tolist(), time.whole_s.tolist()) == ([[100, 100], [40, 40]], [[0, 100], [40, 40]])
    assert (time.members.tolist(), time.from_s.tolist(), time.most_s.tolist()) == ([[1, 1]], [0], [139])
    assert RescuableInstance.of(bag(limits={"max_on_demand": 1}, deadline_s=140), "type").rescue_time is None


def test_what_is_lost_just_before_the_first_task_ends_must_fit_the_time_that_is_left() -> None:
    """Six tasks of 100 s: plans with four on a spot type were taken, and none was found that survives."""
    tasks = [{"id": "t", "memory_mb": 100, "base_runtime_s": 100, "count": 6}]
    offers = {market: {"price_usd_per_hour": 3.6, "limit": 5} for market in ("spot", "on-demand")}
    dear = {market: {"price_usd_per_hour": 7.2, "limit": 5} for market in ("spot", "on-demand")}
    vm_types = [
        {"name": name, "vcpus": 1, "memory_mb": 1024, "offers": prices} for name, prices in (("a", offers), ("b", dear))
    ]
    instance = bag(tasks=tasks, vm_types=vm_types, limits={"max_on_demand": 1}, deadline_s=400)
    question = RescuableInstance.of(instance, "type")
    time = question.rescue_time
    assert time is not None
    # One VM on demand has 400 s in all, and 400 - 99 - 10 s after the 99th: what two tasks take.
    assert time.members.tolist() == [[1, 1, 0, 1], [1, 0, 0, 0], [0, 1, 1, 1], [0, 0, 1, 0]]
    assert (time.from_s.tolist(), time.most_s.tolist()) == ([0, 100, 0, 100], [400, 291, 400, 291])
    # Two on each: 2 x 0.1 on either market of a, and 2 x 0.2 on spot VMs of b.
    assert interval(question, IntervalOptions(), Run()).bound == pytest.approx(0.8)
    plan = solve(instance.replace(d_spot_s=None), "search", survive="one-type", options={"moves": 20_000}).schedule
    assert plan is not None
    assert plan.cost_usd == pytest.approx(0.8)


@pytest.mark.parametrize("seed", range(3))
def test_of_bag_is_the_instance_as_it_was_but_for_d_spot(seed: int) -> None:
    instance = with_d_spot(generate_instance(12, seed=seed, tightness=0.4))
    for made in (instance, RescuableInstance.of(instance, "market")):
        plain = of_bag(made)
        assert type(plain) is Instance
        same = instance.replace(d_spot_s=made.d_spot_s)
        assert plain.to_document() == same.to_document()
        assert (plain.latest_end_s == same.latest_end_s).all()
        assert (plain.duration_s == same.duration_s).all()


@soak(sample=300, whole=20_000)
def test_lateness_of_thousands_of_cores_is_that_of_the_best_order(how_many: int) -> None:
    look_at_lateness(range(how_many))


def test_lateness_is_that_of_the_best_order() -> None:
    look_at_lateness(range(20))


def look_at_lateness(seeds: range) -> None:
    """Compare the lateness of cores with the least of all orders of their tasks."""
    for seed in seeds:
        rng = random.Random(seed)
        number, start = rng.randint(0, 5), rng.choice([0, 0, 7])
        latest = np.array([rng.choice([rng.randint(0, 40), 20, 30]) for _ in range(7)])
        durations = np.array([rng.randint(1, 15) for _ in range(7)])
        tasks = np.array([*rng.sample(range(7), number), 0])
        load = start + int(durations[tasks[:number]].sum())
        orders = [
            max([0, *(start + np.cumsum(durations[list(order)]) - latest[list(order)])]) if order else 0
            for order in itertools.permutations(tasks[:number].tolist())
        ]
        assert annealing_kernel.lateness(latest, durations, tasks, number, load) == min(orders), seed


@pytest.mark.parametrize("seed", range(4))
def test_the_value_that_is_updated_move_by_move_is_that_of_the_state_where_plans_must_survive(seed: int) -> None:
    limits = {"max_on_demand": 3} if seed % 2 else {}
    given = generate_instance(40, seed=seed, tightness=0.6, goal="balanced").replace(limits=limits)
    question = RescuableInstance.of(with_d_spot(given), "type" if seed < 2 else "market").counting_on(0.9)
    assert (question.rescue_time is not None) == bool(limits)
    state = priced_start(question, divisible_bound(question), 1)
    unwanted = Snapshot(False, state.core_tasks.copy(), state.core_count.copy())
    plan = state.plan(np.array([seed + 1]))
    cooling = Cooling(20_000, 1e-2, 1e-5)
    value = anneal(state.cores, state.objective, 1e-9, plan, cooling, unwanted, state.value(), 1e9)[0]
    assert value == pytest.approx(state.value(), rel=1e-9)
    late, taken = state.late.copy(), state.taken.copy()
    state.set_ends()
    assert (state.late.tolist(), state.taken.tolist()) == (late.tolist(), taken.tolist())


def test_patterns_are_those_in_which_each_task_ends_early_enough() -> None:
    offer = hand_instance([1]).offers[0]
    for seed in range(30):
        rng = random.Random(seed)
        seconds, size = ([rng.randint(1, 6) for _ in range(3)], [rng.randint(1, 2) for _ in range(3)])
        latest = [rng.randint(2, 16) for _ in range(3)]
        found = enumerate_patterns(np.array(seconds), np.array(size), np.array(latest), offer, "a model")
        wanted = set()
        for counts in itertools.product(*(range(most + 1) for most in size)):
            tasks = [kind for kind, count in enumerate(counts) for _ in range(count)]
            for order in itertools.permutations(tasks):
                ends = itertools.accumulate(seconds[kind] for kind in order)
                if tasks and all(end <= latest[kind] for kind, end in zip(order, ends, strict=True)):
                    wanted.add(counts)
                    break
        assert sorted(map(tuple, found.counts.tolist())) == sorted(wanted), seed


def test_the_interval_model_lets_each_task_end_early_enough() -> None:
    # By 250 s, tasks of 100 s end by 141 s on spot, and one of 40 s by 201 s: 100 and 40 on a spot VM cost 0.14 $, in
    # this order only. The second of 100 s has another VM, as nothing else ends by then.
    tasks = [{"id": f"t{number}", "memory_mb": 100, "base_runtime_s": s} for number, s in enumerate((40, 100, 100))]
    question = RescuableInstance.of(bag(tasks=tasks), "type")
    outcome = interval(question, IntervalOptions(), Run())
    plan = outcome.schedule
    assert plan is not None
    assert (plan.cost_usd, outcome.bound) == (pytest.approx(0.24), pytest.approx(0.24))
    assert rescuable(plan) is not None
    one = RescuableInstance.of(bag(tasks=tasks[1:], limits={"max_spot": 1}), "type")
    assert interval(one, IntervalOptions(), Run()).bound == pytest.approx(0.1 + 0.3)


def memory_bag(seed: int) -> Instance:
    """Draw a bag whose memory may bind, with limits of offers and of markets."""
    rng = random.Random(f"memory {seed}")
    vm_types = []
    for name in ("a", "b")[: rng.randint(1, 2)]:
        price = rng.uniform(0.5, 2.0)
        offers = {
            market: {"price_usd_per_hour": price * share, "limit": rng.randint(1, 4)}
            for market, share in (("spot", 0.3), ("on-demand", 1.0))
            if rng.random() < 0.9 or market == "on-demand"
        }
        vm_types.append(
            {"name": name, "vcpus": rng.choice([1, 2, 4]), "memory_mb": rng.choice([1000, 2500]), "offers": offers}
        )
    tasks = [
        {"id": f"t{k}", "memory_mb": rng.choice([100, 300, 499.5, 700, 1000]), "base_runtime_s": rng.randint(20, 200)}
        for k in range(rng.randint(2, 14))
    ]
    return bag(
        vm_types=vm_types,
        tasks=tasks,
        deadline_s=rng.choice([400, 800, 1500]),
        boot_overhead_s=rng.choice([0, 25]),
        limits={"max_spot": rng.randint(1, 5), "max_on_demand": rng.randint(1, 5)},
        objective={"goal": rng.choice(["cheapest", "balanced"])},
    )


def wrong_lanes(seed: int) -> str:
    """What is wrong with the first plan of a bag; nothing if it has none."""
    instance = memory_bag(seed)
    question = RescuableInstance.of(instance, random.Random(seed).choice(["type", "market"]))
    plan = lanes_plan(question)
    if plan is None:
        return "none"
    columns = plan.vm_offer, plan.task_vm, plan.task_core, plan.task_start_s, plan.task_baseline
    violations = check(instance, Schedule(instance, *columns)).violations
    if violations:
        return violations[0].message
    late = plan.task_end_s > question.latest_end_s[question.task_group, plan.vm_offer[plan.task_vm]]
    if late.any():
        return "a task ends too late to be done again"
    time = question.rescue_time
    if time is not None:
        for members, from_s, most_s in zip(time.members, time.from_s, time.most_s, strict=True):
            places = list(zip(plan.instance.task_group, plan.vm_offer[plan.task_vm], strict=True))
            taken = sum(time.again_s[at] for at in places if members[at[1]] and time.whole_s[at] >= from_s)
            if taken > most_s:
                return f"{taken} core seconds are to be done on demand, and there are {most_s}"
    return ""


@pytest.mark.parametrize("first", some([0, 30, 60, 90], fast=1))
def test_the_first_plan_keeps_memory_limits_and_latest_ends(first: int) -> None:
    found = Counter(wrong_lanes(seed) for seed in range(first, first + 30))
    assert set(found) <= {"", "none"}
    assert found[""] >= 10


@soak(sample=200, whole=20_000)
def test_thousands_of_first_plans_keep_memory_limits_and_latest_ends(how_many: int) -> None:
    assert {wrong_lanes(seed) for seed in range(1000, 1000 + how_many)} <= {"", "none"}
