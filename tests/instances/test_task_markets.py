"""Tasks that are kept to a market, memory that the system has, and offers that are too dear."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spotbag import check, estimate_d_spot, solve
from spotbag.core.errors import InputError, SpotbagError
from spotbag.heuristics.bags.rescue import certify
from spotbag.instances.entries import NEVER, VmType, withdrawn
from spotbag.instances.instance import Instance
from spotbag.replay.bags.plan import on_demand_schedule
from spotbag.schedules.queues import Queue, schedule_of_queues
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.state import State
from tests.helpers.exhaustive import exhaustive_plan
from tests.helpers.soaks import soak
from tests.helpers.tiny_instances import FAMILIES, tiny_instance

OFFERS = {"spot": {"price_usd_per_hour": 0.36, "limit": 2}, "on-demand": {"price_usd_per_hour": 3.6, "limit": 2}}
VM_TYPE = {"name": "a", "vcpus": 1, "memory_mb": 1000, "offers": OFFERS}
SAFE = {"id": "safe", "memory_mb": 400, "base_runtime_s": 100, "markets": ["on-demand"]}
CHEAP = {"id": "cheap", "memory_mb": 400, "base_runtime_s": 200, "markets": ["spot"]}
FREE = {"id": "free", "memory_mb": 400, "base_runtime_s": 50}


def bag(*tasks: dict[str, Any], **fields: Any) -> Instance:
    """Spot for 0.0001 $/s, on demand for 0.001 $/s, a core each; 1,000 s of time."""
    document = {"format": "spotbag.instance/1", "name": "by hand", "deadline_s": 1000, "vm_types": [VM_TYPE]}
    return Instance.from_document(document | {"tasks": list(tasks)} | fields, "by hand")


@pytest.mark.parametrize("method", ["auto", "greedy", "lpt", "ils", "search", "interval", "columns", "first-fit"])
def test_plans_keep_tasks_to_their_markets(method: str) -> None:
    instance = bag(SAFE, CHEAP, FREE, d_spot_s=1000, survive="none")
    plan = solve(instance, method, seed=1, options={"moves": 500} if method == "search" else {}).schedule
    assert plan is not None
    markets = [instance.offers[plan.vm_offer[vm]].market for vm in plan.task_vm.tolist()]
    assert markets[:2] == ["on-demand", "spot"]
    assert check(instance, plan).violations == ()


def test_the_cheapest_plan_is_that_by_hand() -> None:
    # 100 s on demand, and 200 + 50 s on spot; without markets 350 s on spot.
    result = solve(bag(SAFE, CHEAP, FREE, survive="none"))
    assert (result.status, result.objective) == ("optimal", pytest.approx(0.1 + 0.025))
    anywhere = [{key: value for key, value in task.items() if key != "markets"} for task in (SAFE, CHEAP, FREE)]
    assert solve(bag(*anywhere, survive="none")).objective == pytest.approx(0.035)


def test_a_task_cannot_run_on_offers_of_other_markets() -> None:
    instance = bag(SAFE, CHEAP, FREE)
    assert [offer.market for offer in instance.offers] == ["spot", "on-demand"]
    assert (instance.duration_s[:, :, 0] < NEVER).tolist() == [[False, True], [True, False], [True, True]]
    assert instance.offer_runtime_s.tolist() == [[NEVER, 100], [200, NEVER], [50, 50]]
    assert instance.runtime_s.tolist() == [[100], [200], [50]]


def test_the_scale_of_the_cost_takes_each_task_where_it_may_be() -> None:
    instance = bag(SAFE, CHEAP, FREE, objective={"goal": "balanced"}, d_spot_s=1000)
    assert instance.cost_scale_usd == pytest.approx(0.1 + 0.02 + 0.05)
    plan = solve(instance, "greedy").schedule
    assert plan is not None
    assert check(instance, plan).violations == ()


def test_the_checker_finds_a_task_in_a_market_that_is_not_its_own() -> None:
    anywhere = bag(SAFE | {"markets": ["spot", "on-demand"]}, d_spot_s=1000)
    plan = schedule_of_queues(anywhere, [Queue(anywhere.offers[0], [0])])
    assert check(anywhere, plan).violations == ()
    [violation] = check(bag(SAFE, d_spot_s=1000), plan).violations
    assert violation.message.endswith("is on the spot VM a-spot-1; its markets are on-demand")


@pytest.mark.parametrize("level", ["one-type", "blackout", "each"])
def test_nothing_rescues_a_task_that_may_not_be_on_demand_and_that_is_said_by_name(level: Any) -> None:
    instance = bag(CHEAP, FREE, d_spot_s=1000)
    plan = schedule_of_queues(instance, [Queue(instance.offers[0], [0]), Queue(instance.offers[1], [1])])
    certificate = certify(plan, level)
    assert not certificate.survives
    assert "task 'cheap' may not be on demand (markets)" in str(certificate)
    survival = check(instance, plan, survive=level).survival
    assert survival is not None
    assert survival.verdict == "does-not-survive"
    assert "'cheap' may not be on demand (markets)" in survival.reason
    result = solve(bag(CHEAP, FREE, survive=level))
    assert result.schedule is None
    assert "task 'cheap' may not be on demand (markets)" in result.message
    free = solve(bag(FREE, SAFE, survive=level))
    assert free.objective == pytest.approx(0.1 + 0.005)


def test_the_estimate_of_hads_refuses_a_task_that_may_not_be_on_demand() -> None:
    limits = {"max_on_demand": 2}
    assert estimate_d_spot(bag(SAFE, FREE, limits=limits)) == 900
    with pytest.raises(InputError, match="task 'cheap' may not be on demand"):
        estimate_d_spot(bag(CHEAP, FREE, limits=limits))


def test_a_plan_with_such_a_task_has_no_price_on_demand() -> None:
    instance = bag(CHEAP, FREE, d_spot_s=1000)
    plan = schedule_of_queues(instance, [Queue(instance.offers[0], [0, 1])])
    with pytest.raises(SpotbagError, match="task 'cheap' may not be on demand"):
        on_demand_schedule(plan)


def test_what_a_state_leaves_of_a_task_keeps_to_its_markets() -> None:
    instance = bag(SAFE | {"markets": ["spot"]}, FREE, d_spot_s=1000)
    left = State(instance="by hand", time_s=10, saved={"safe": 0.5}).remaining(instance)
    assert left.duration_s[:, :, 0].tolist() == [[50, NEVER], [50, 50]]
    assert left.offer_runtime_s.tolist() == [[50, NEVER], [50, 50]]
    assert left.tasks[0].markets == ("spot",)


@pytest.mark.parametrize("count", [1, 200])
def test_markets_without_an_offer_are_named(count: int) -> None:
    on_demand_only = VM_TYPE | {"offers": {"on-demand": OFFERS["on-demand"]}}
    tasks = [CHEAP | {"id": f"t{number}"} for number in range(count)]
    with pytest.raises(InputError, match=r"tasks\[0\] 't0': markets 'spot' has no offer of a VM type"):
        bag(*tasks, vm_types=[on_demand_only])


@pytest.mark.parametrize(
    ("key", "rule"),
    [
        ("cpus", "are called cores here"),
        ("gpus", "VM types here have no GPUs"),
        ("depends_on", "a bag is of independent tasks"),
        ("status", "a bag has the tasks that are to be run"),
        ("preemptible", r"is called markets here: \[\"on-demand\"\]"),
    ],
)
def test_keys_that_cannot_be_honoured_are_refused_with_the_reason(key: str, rule: str) -> None:
    with pytest.raises(InputError, match=rf"tasks\[0\] 'free': {key} 2 .*{rule}"):
        bag(FREE | {key: 2})


def types_of(plan: Schedule) -> list[str]:
    return sorted(plan.instance.offers[index].vm_type.name for index in plan.vm_offer.tolist())


@pytest.mark.parametrize("usd_per_hour", [0.01, 0])
def test_reserved_capacity_is_a_pool_at_its_own_price_that_is_never_interrupted(usd_per_hour: float) -> None:
    offers = OFFERS | {"reserved": {"price_usd_per_hour": usd_per_hour, "limit": 1}}
    reserved = bag(FREE, vm_types=[VM_TYPE | {"offers": offers}], survive="blackout")
    assert [vm_type.name for vm_type in reserved.vm_types] == ["a", "a@reserved"]
    assert Instance.from_document(json.loads(reserved.to_text()), "again") == reserved
    result = solve(reserved)
    assert result.objective == pytest.approx(50 * usd_per_hour / 3600, abs=1e-9)
    assert result.schedule is not None
    assert types_of(result.schedule) == ["a@reserved"]
    # More tasks than the reservation has room for by the deadline go elsewhere.
    more = bag(FREE | {"count": 3}, vm_types=[VM_TYPE | {"offers": offers}], deadline_s=100)
    plan = solve(more, survive="none").schedule
    assert plan is not None
    assert types_of(plan) == ["a", "a@reserved"]


def test_a_scale_of_the_cost_must_be_given_where_capacity_costs_nothing() -> None:
    offers = OFFERS | {"reserved": {"price_usd_per_hour": 0, "limit": 1}}
    balanced = bag(FREE, vm_types=[VM_TYPE | {"offers": offers}], objective={"goal": "balanced"}, survive="none")
    with pytest.raises(InputError, match=r"cost_scale_usd \(--cost-scale\) is needed .* \(a@reserved\)"):
        solve(balanced)
    assert solve(balanced.replace(objective={"goal": "balanced", "cost_scale_usd": 1})).status == "optimal"


def test_a_vm_type_alone_has_no_reserved_capacity() -> None:
    with pytest.raises(InputError, match="which makes a pool of it"):
        VmType(**(VM_TYPE | {"offers": OFFERS | {"reserved": {"price_usd_per_hour": 0.01, "limit": 1}}}))


def test_memory_that_the_system_has_is_not_there_for_tasks() -> None:
    two_cores = VM_TYPE | {"vcpus": 2}
    fits = bag(FREE | {"count": 2}, vm_types=[two_cores | {"reserved_mb": 200}], d_spot_s=1000)
    less = bag(FREE | {"count": 2}, vm_types=[two_cores | {"reserved_mb": 200.01}], d_spot_s=1000)
    assert [fits.offers[0].memory_kb, less.offers[0].memory_kb] == [800 * 1024, 800 * 1024 - 11]
    at_once = schedule_of_queues(fits, [Queue(fits.offers[0], [0, 1])])
    assert check(fits, at_once).makespan_s == 50
    [violation] = check(less, at_once).violations
    assert violation.rule == "memory"
    one_by_one = schedule_of_queues(less, [Queue(less.offers[0], [0, 1])])
    assert check(less, one_by_one).makespan_s == 100
    with pytest.raises(InputError, match=r"fits no VM type \(largest 399 without what is reserved\)"):
        bag(FREE, vm_types=[VM_TYPE | {"reserved_mb": 601}])
    with pytest.raises(InputError, match="reserved_mb 1000 leaves nothing of the 1000 MB"):
        bag(FREE, vm_types=[VM_TYPE | {"reserved_mb": 1000}])


@soak(sample=30, whole=500)
def test_offers_that_are_too_dear_are_as_good_as_absent(how_many: int) -> None:
    compared = 0
    for seed in range(how_many):
        instance = tiny_instance(seed, **FAMILIES["markets"]).replace(survive="none")
        prices = sorted(offer.price_usd_per_hour for offer in instance.offers)
        ceiling = prices[len(prices) // 2 - 1]
        cheap = instance.replace(vm_types=[withdrawn(vm_type, ceiling) for vm_type in instance.vm_types])
        assert all((offer.limit == 0) >= (offer.price_usd_per_hour > ceiling) for offer in cheap.offers)
        best, found = exhaustive_plan(cheap), solve(cheap)
        assert (best is None) == (found.schedule is None), seed
        if best is not None and found.schedule is not None:
            assert found.objective == pytest.approx(best.objective, rel=1e-7), seed
            used = {found.schedule.instance.offers[index] for index in found.schedule.vm_offer.tolist()}
            assert all(offer.price_usd_per_hour <= ceiling for offer in used)
            compared += 1
    assert compared > how_many / 4


@soak(sample=30, whole=500)
def test_reserved_capacity_is_used_as_the_least_cost_has_it(how_many: int) -> None:
    compared = reserved = 0
    for seed in range(how_many):
        document = tiny_instance(seed, **FAMILIES["markets"]).replace(survive="none").to_document()
        vm_type = document["vm_types"][seed % len(document["vm_types"])]
        usd = min(offer["price_usd_per_hour"] for offer in vm_type["offers"].values())
        vm_type["offers"]["reserved"] = {"price_usd_per_hour": usd * (seed % 3) / 2, "limit": 1}
        document["objective"] = {"cost_scale_usd": 1.0} | document["objective"]
        instance = Instance.from_document(document, "with a reservation")
        best, found = exhaustive_plan(instance), solve(instance)
        assert (best is None) == (found.schedule is None), seed
        if best is not None and found.schedule is not None:
            assert found.objective == pytest.approx(best.objective, rel=1e-7), seed
            assert check(instance, found.schedule).violations == ()
            reserved += any(name.endswith("@reserved") for name in types_of(found.schedule))
            compared += 1
    assert compared > how_many / 4
    assert reserved > how_many / 10
