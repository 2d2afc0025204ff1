"""Cheapest fleets by their slack: against hand counts, exhaustive search, and the class dynamic programme."""

from __future__ import annotations

import math
import random
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

from spotbag.audits.bags.plan import check
from spotbag.bounds.bags.divisible_programme import makespan_window
from spotbag.core.errors import ModelRefusal
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.solvers.bags import slack_kernel as kernel
from spotbag.solvers.bags.class_dynamic_programme import best_plan
from spotbag.solvers.bags.goals import cheapest_by
from spotbag.solvers.bags.slack_fleets import SlackFleets
from spotbag.solvers.bags.solve import solve
from tests.helpers.exhaustive import exhaustive_objective
from tests.helpers.soaks import soak
from tests.helpers.tiny_instances import FAMILIES, tiny_instance

COST_ALONE = {"goal": "balanced", "cost_weight": 1.0, "cost_scale_usd": 1.0}


def two_cores(counts: list[int], seconds: list[int], deadline_s: int, limit: int = 5) -> Instance:
    """Classes of tasks on VMs of two cores that cost 2 $ a second."""
    document = {
        "format": "spotbag.instance/1",
        "name": "two-cores",
        "deadline_s": deadline_s,
        "vm_types": [
            {
                "name": "two",
                "vcpus": 2,
                "memory_mb": 4096,
                "offers": {"on-demand": {"price_usd_per_hour": 7200.0, "limit": limit}},
            }
        ],
        "tasks": [
            {"id": f"t{index}", "memory_mb": 1, "count": count, "runtime_s": {"two": each}}
            for index, (count, each) in enumerate(zip(counts, seconds, strict=True))
        ],
        "objective": COST_ALONE,
    }
    return Instance.from_document(document, "test")


def test_cores_that_cannot_be_balanced_are_paid_for() -> None:
    """3 + 3 + 5 s: the best VM runs 3 + 3 beside 5 for 6 s and wastes one second of a core; the bound is 11 $."""
    fleets = SlackFleets(two_cores([2, 1], [3, 5], 10))
    assert fleets.bound == pytest.approx(11.0)
    plan = fleets.cheapest()
    assert plan.schedule is not None
    assert plan.schedule.cost_usd == pytest.approx(12.0)
    assert plan.bound == pytest.approx(12.0)
    assert fleets.cheapest(threshold=11.9).bound > 11.9
    assert fleets.cheapest(at_most=12.0).bound == pytest.approx(12.0)


def test_no_plan_is_proved_where_fractions_of_cores_would_do() -> None:
    """Three tasks of 6 s on the two cores of one VM within 10 s: the prices find room, as cores may do parts."""
    assert SlackFleets(two_cores([3], [6], 10, limit=1)).bound == math.inf
    # Two patterns of 9 s for tasks of 4 and 5 s; 1.5 of each would do for three of both, two cores do not.
    assert SlackFleets(two_cores([3, 1], [4, 7], 10, limit=1)).cheapest().bound == math.inf


def test_vms_of_a_limited_market_are_counted_once_a_plan_has_too_many() -> None:
    """Four tasks of 6 s within 10 s take two VMs: 12 $ each on demand, one of a type; 15 $ for a spot VM instead."""
    document = two_cores([4], [6], 10, limit=1).to_document() | {"d_spot_s": 10}
    two = document["vm_types"][0]
    spot = {"spot": {"price_usd_per_hour": 9000.0, "limit": 1}}
    document["vm_types"] += [two | {"name": "twin"}, two | {"name": "dear", "offers": spot}]
    document["tasks"][0]["runtime_s"] = dict.fromkeys(("two", "twin", "dear"), 6)

    def cheapest(**limits: int) -> float:
        fleets = SlackFleets(Instance.from_document(document | {"limits": limits}, "test"))
        assert fleets.bound == pytest.approx(24.0)
        plan = fleets.cheapest()
        assert (math.inf if plan.schedule is None else plan.schedule.cost_usd) == pytest.approx(plan.bound)
        return plan.bound

    assert cheapest(max_on_demand=2) == pytest.approx(24.0)
    assert cheapest(max_on_demand=1) == pytest.approx(27.0)
    assert cheapest(max_on_demand=1, max_spot=1) == pytest.approx(27.0)


def test_that_no_plan_keeps_the_limit_of_a_market_is_proved() -> None:
    document = two_cores([4], [6], 10, limit=1).to_document() | {"limits": {"max_on_demand": 1}}
    document["vm_types"].append(document["vm_types"][0] | {"name": "twin"})
    document["tasks"][0]["runtime_s"]["twin"] = 6
    fleets = SlackFleets(Instance.from_document(document, "test"))
    assert fleets.bound == pytest.approx(24.0)
    assert fleets.cheapest().bound == math.inf


def test_that_only_burstable_vms_could_do_is_said() -> None:
    """Ten classes, of 59,049 count vectors, that one VM cannot run in time; a burstable one beside it could, dearly."""
    document = two_cores([2] * 10, list(range(6, 16)), 60, limit=1).to_document()
    credits = {"baseline_fraction": 0.5, "credits_per_hour": 12, "initial_credits": 1, "max_credits": 10}
    offers = {"on-demand": {"price_usd_per_hour": 1e6, "limit": 1}}
    document["vm_types"].append(document["vm_types"][0] | {"name": "burst", "offers": offers, "burstable": credits})
    for task in document["tasks"]:
        task["runtime_s"]["burst"] = task["runtime_s"]["two"]
    result = solve(Instance.from_document(document, "test"), "class-programme")
    assert result.status == "no-plan"
    assert "burstable" in (result.message or "")


def test_all_sets_of_tasks_within_a_slack_are_listed() -> None:
    """Against all pairs of what two cores can run."""
    rng = random.Random("lists")
    rate, fields = 2.0, kernel.Fields(np.array([0, 4]), np.array([7, 7]), (7 - 6) + ((7 - 5) << 4), 8 + (8 << 4))
    loss = 0.5  # of a task of 4 s, above its price
    for allowed in (0.0, 1.5, 4.0):
        patterns = [(a, b) for a in range(6) for b in range(5) if 3 * a + 4 * b <= rng.randint(14, 20)]
        patterns.sort(key=lambda counts: 3 * counts[0] + 4 * counts[1])
        loads = np.array([3 * a + 4 * b for a, b in patterns])
        worth = np.array([rate * load / 2 - loss * b for load, (_, b) in zip(loads, patterns, strict=True)])
        expected: dict[int, float] = {}
        for one, two in combinations_with_replacement(range(len(patterns)), 2):
            counts = [patterns[one][k] + patterns[two][k] for k in (0, 1)]
            slack = rate * max(loads[one], loads[two]) - worth[one] - worth[two]
            if any(counts) and counts[0] <= 6 and counts[1] <= 5 and slack <= allowed + 1e-9:
                key = counts[0] + (counts[1] << 4)
                expected[key] = min(slack, expected.get(key, math.inf))
        packed = np.array([a + (b << 4) for a, b in patterns])
        table = kernel.Columns(
            np.zeros(512, np.int64), np.zeros(512, np.int64), np.zeros(512), np.zeros((512, 2), np.int64),
            np.full(1024, -1, np.int64),
        )  # fmt: skip
        cores = kernel.Cores(loads, packed, worth)
        found = kernel.list_columns(cores, rate, 0.0, allowed + 1e-9, fields, table, np.array([0, 10**9]))
        listed = dict(zip(table.packed[:found].tolist(), table.slack[:found].tolist(), strict=True))
        assert listed == pytest.approx(expected), allowed


def test_an_objective_with_the_makespan_in_it_is_refused() -> None:
    with pytest.raises(ModelRefusal, match="cost alone"):
        SlackFleets(two_cores([1], [3], 10).replace(objective={"goal": "fastest"}))


def _with_classes(seed: int) -> Instance | None:
    """A bag of one to three classes whose limits may bind; None if a draw is no instance."""
    rng = random.Random(f"slack {seed}")
    vm_types: list[dict[str, Any]] = []
    for number in range(rng.randint(1, 3)):
        price = rng.choice([0.1, 0.2, 0.19, 0.21, 0.4])
        markets = rng.choice([["spot"], ["on-demand"], ["spot", "on-demand"]])
        offers = {
            market: {
                "price_usd_per_hour": round(price * (rng.choice([0.3, 0.33, 0.9]) if market == "spot" else 1.0), 4),
                "limit": rng.choice([1, 2, 3, 5]),
            }
            for market in markets
        }
        vcpus = rng.choice([1, 2, 2, 3, 4])
        vm_types.append({"name": f"type{number}", "vcpus": vcpus, "memory_mb": 99999, "offers": offers})
    n_classes = rng.randint(1, 3)
    most = rng.choice([4, 8, 12] if n_classes < 3 else [3, 5, 8])
    tasks = [
        {
            "id": f"t{index}",
            "memory_mb": 1,
            "count": rng.randint(1, most),
            "runtime_s": {vm_type["name"]: rng.randint(3, 25) for vm_type in vm_types},
        }
        for index in range(n_classes)
    ]
    deadline = rng.choice([30, 45, 60, 100, 200])
    document: dict[str, Any] = {
        "format": "spotbag.instance/1",
        "name": "classes",
        "deadline_s": deadline,
        "d_spot_s": rng.randint(deadline // 2, deadline),
        "boot_overhead_s": rng.choice([0, 0, 5]),
        "vm_types": vm_types,
        "tasks": tasks,
        "objective": COST_ALONE,
    }
    if rng.random() < 0.15:
        document["limits"] = {"max_spot": rng.randint(1, 4)}
    return Instance.from_document(document, "classes")


@soak(60, 2000)
def test_the_class_programme_finds_the_same_plans(how_many: int) -> None:
    seen = {"solved": 0, "with gains": 0, "without a plan": 0}
    for seed in range(how_many):
        instance = _with_classes(seed)
        window = makespan_window(instance)
        known = None if window.empty else best_plan(instance, window).schedule
        best = math.inf if known is None else known.cost_usd
        fleets = SlackFleets(instance)
        plan = fleets.cheapest()
        assert plan.bound <= best * (1 + 1e-9), seed
        if plan.schedule is None:
            assert known is None, seed
            assert plan.bound == math.inf, seed
            seen["without a plan"] += 1
        else:
            assert check(instance, plan.schedule).feasible, seed
            assert plan.schedule.cost_usd == pytest.approx(best, rel=1e-9), seed
            assert plan.bound == pytest.approx(best, rel=1e-9), seed
            seen["solved"] += 1
            seen["with gains"] += bool((fleets.prices.gains > 0).any())
    assert min(seen.values()) > 0, seen


@soak(50, 2000)
def test_exhaustive_search_finds_the_same_plans(how_many: int) -> None:
    solved = 0
    for seed in range(how_many):
        for family in FAMILIES:
            instance = with_d_spot(tiny_instance(seed, **FAMILIES[family]))
            question = cheapest_by(instance, instance.deadline_s)
            try:
                fleets = SlackFleets(question)
            except ModelRefusal:
                continue
            best = exhaustive_objective(question)
            least = math.inf if best is None else best
            plan = fleets.cheapest()
            assert plan.bound <= least * (1 + 1e-9), (seed, family)
            if plan.schedule is not None:
                assert check(question, plan.schedule).feasible, (seed, family)
                assert plan.schedule.cost_usd == pytest.approx(least, rel=1e-9), (seed, family)
                solved += 1
            if math.isfinite(least) and family == "cores":
                above, below = (fleets.cheapest(threshold=least * factor) for factor in (1 + 1e-6, 1 - 1e-6))
                assert below.schedule is None, (seed, family)
                assert below.bound > least * (1 - 1e-6) or plan.schedule is None, (seed, family)
                assert above.schedule is not None, (seed, family)
    assert solved > how_many // 3


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("burst-hads/J60", marks=pytest.mark.slow),
        *(pytest.param(name, marks=pytest.mark.soak) for name in ("hads/ED200", "burst-hads/J100")),
    ],
)
def test_fastest_is_proved_for_bags_of_the_papers(name: str) -> None:
    """Also where the longest tasks could run on burstable VMs, had these the credits."""
    result = solve(library_instance(name), goal="fastest", time_limit_s=300)
    assert [stage.proven for stage in result.stages] == [True, True]


@pytest.mark.slow
@pytest.mark.parametrize("size", ["J60", "J80", "J100", "ED200"])
@pytest.mark.parametrize("family", ["hads", "burst-hads"])
def test_cheapest_is_proved_for_the_bags_of_the_papers(family: str, size: str) -> None:
    result = solve(library_instance(f"{family}/{size}"), goal="cheapest", time_limit_s=300)
    assert result.status == "optimal"
    assert [stage.proven for stage in result.stages] == [True, True]
