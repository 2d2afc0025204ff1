"""Pools: a VM type in several zones is an offer in each, with one limit on demand."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from spotbag.audits.bags.plan import check
from spotbag.core.errors import InputError, ModelRefusal, SpotbagError
from spotbag.core.record_lists import SHORT_TEXT
from spotbag.executors.orders import vm_orders
from spotbag.executors.shell import task_yaml
from spotbag.instances.bags.price_days import price_scenario
from spotbag.instances.bags.spot_price_history import spot_prices_of_document
from spotbag.instances.bags.vm_catalogue import VmChoice, choose_vm_types
from spotbag.instances.instance import Instance
from spotbag.schedules.documents import ScheduleDocument
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.solve import solve
from tests.helpers.exhaustive import exhaustive_objective
from tests.helpers.quotas import Quotas
from tests.helpers.soaks import soak
from tests.helpers.tiny_instances import tiny_instance

EXACT = [name for name, method in METHODS.items() if method.exact]


def zoned(**changes: Any) -> dict[str, Any]:
    offers = {"spot": {"price_usd_per_hour": 0.07, "limit": 3}, "on-demand": {"price_usd_per_hour": 0.2, "limit": 3}}
    vm_type = {"name": "c5.xlarge", "vcpus": 4, "memory_mb": 8192, "offers": offers, "zones": {"a": 0.07, "b": 0.075}}
    task = {"id": "t", "memory_mb": 100, "runtime_s": {"c5.xlarge": 9000}, "count": 22}
    document = {"format": "spotbag.instance/1", "name": "zones", "deadline_s": 20_000}
    return document | {"vm_types": [vm_type], "tasks": [task]} | changes


def test_a_type_with_zones_is_a_pool_in_each_and_its_limit_on_demand_is_shared() -> None:
    bag = Instance.from_document(zoned(), "zones")
    assert [vm_type.name for vm_type in bag.vm_types] == ["c5.xlarge@a", "c5.xlarge@b"]
    assert [str(offer) for offer in bag.offers][:2] == ["c5.xlarge@a spot", "c5.xlarge@a on-demand"]
    assert [vm_type.offers["spot"].price_usd_per_hour for vm_type in bag.vm_types] == [0.07, 0.075]
    assert bag.runtime_s.tolist() == [[9000, 9000]]
    (limit,) = bag.group_limits
    assert (limit.weights.tolist(), limit.most) == ([0, 1, 0, 1], 3)
    assert Instance.from_document(json.loads(bag.to_text()), "again") == bag


def test_zones_are_read_from_a_long_text_as_well() -> None:
    tasks = [{"id": f"t{number}", "memory_mb": 100, "runtime_s": {"c5.xlarge": 9}} for number in range(1500)]
    text = json.dumps(zoned(tasks=tasks))
    assert len(text) > SHORT_TEXT
    assert Instance.parse(text) == Instance.from_document(json.loads(text), "zones")


@pytest.mark.slow
def test_what_goes_down_at_once_is_one_pool_or_one_type() -> None:
    bag = Instance.from_document(zoned(), "zones")
    of_pools, of_types = (solve(bag, "auto", survive=level).schedule for level in ("one-pool", "one-type"))
    # Two pools of 3 VMs run all at once; 3 VMs on demand do again what either of them loses, after 9,000 s.
    assert of_pools is not None
    assert sorted(of_pools.vm_offer.tolist()) == [0, 0, 0, 2, 2, 2]
    assert check(bag, of_pools, survive="one-pool").survival.verdict == "survives"  # type: ignore[union-attr]
    assert check(bag, of_pools, survive="one-type").survival.verdict == "does-not-survive"  # type: ignore[union-attr]
    if of_types is not None:
        assert check(bag, of_types, survive="one-type").survival.verdict == "survives"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"zones": {}}, "zones"),
        ({"zones": {"a": -1}}, "zones"),
        ({"zone": "b"}, "is one of a pool, whose name is that of its type and '@b'"),
        ({"offers": {"on-demand": {"price_usd_per_hour": 0.2, "limit": 3}}}, "it has no spot offer"),
    ],
)
def test_zones_that_are_wrong_are_refused(changes: dict[str, Any], said: str) -> None:
    document = zoned()
    if "zone" in changes:
        del document["vm_types"][0]["zones"]
    document["vm_types"][0] |= changes
    with pytest.raises(InputError, match=said):
        Instance.from_document(document, "zones")


def test_quotas_of_no_type_are_refused() -> None:
    limits = {"quotas": [{"market": "spot", "types": ["c5.xlarge"], "vcpus": 8}]}
    with pytest.raises(InputError, match=r"names no VM type of the catalogue \(c5.xlarge@a, c5.xlarge@b\)"):
        Instance.from_document(zoned(limits=limits), "zones")


def plan_of_a_spot_vm_each(**changes: Any) -> Schedule:
    """A plan of a VM of each spot offer, with a task on each."""
    bag = Instance.from_document(zoned(**changes), "zones")
    spot = [offer.index for offer in bag.offers if offer.market == "spot"]
    vms, nothing = np.arange(bag.n_tasks) % len(spot), np.zeros(bag.n_tasks, dtype=np.int64)
    return Schedule(bag, np.array(spot), vms, nothing, np.arange(bag.n_tasks) * 9000, nothing.astype(bool))


def places(plan: Schedule | ScheduleDocument, infra: str | None) -> list[tuple[str | None, str]]:
    """Places in which SkyPilot looks for the VMs of a plan, and which types it rents there."""
    texts = [task_yaml(order, "vm", Path("vm"), infra) for order in vm_orders(plan)]
    asked = [yaml.safe_load(text)["resources"] for text in texts]
    return [(resources.get("infra"), resources["instance_type"]) for resources in asked]


def test_the_export_asks_for_the_zone() -> None:
    schedule = plan_of_a_spot_vm_each()
    for plan in (schedule, schedule.to_document()):
        for infra, told in ((None, "*/*"), ("aws", "aws/*"), ("aws/us-east-1", "aws/us-east-1")):
            assert places(plan, infra) == [(f"{told}/{zone}", "c5.xlarge") for zone in "ab"]
        with pytest.raises(SpotbagError, match=r"b': names a zone, and c5.xlarge@a has its own: .*, aws/us-east-1$"):
            places(plan, "aws/us-east-1/us-east-1b")


def test_reserved_capacity_is_no_zone() -> None:
    pool = zoned()["vm_types"][0] | {"name": "c5.xlarge@reserved", "zone": "reserved"}
    del pool["zones"]
    plan = plan_of_a_spot_vm_each(vm_types=[pool])
    for infra in (None, "aws/us-east-1/us-east-1b"):
        assert places(plan, infra) == places(plan.to_document(), infra) == [(infra, "c5.xlarge")]


def test_a_type_without_zones_is_asked_for_by_its_whole_name() -> None:
    (pool,) = zoned()["vm_types"]
    del pool["zones"]
    for name in ("c5.xlarge", "c5.xlarge@home"):
        task = {"id": "t", "memory_mb": 100, "runtime_s": {name: 9000}}
        plan = plan_of_a_spot_vm_each(vm_types=[pool | {"name": name}], tasks=[task])
        for infra in (None, "aws/us-east-1/us-east-1b"):
            assert places(plan, infra) == [(infra, name)]


def test_the_catalogue_and_histories_of_prices_give_pools() -> None:
    (vm_type,) = choose_vm_types(VmChoice(types=["c6i.large"], zone="all", region="us-east-1"))
    assert len(vm_type["zones"]) > 1
    two = sorted(vm_type["zones"])[:2]
    (chosen,) = choose_vm_types(VmChoice(types=["c6i.large"], zone=",".join(two), region="us-east-1"))
    assert chosen["zones"] == {zone: vm_type["zones"][zone] for zone in two}
    entry = {"InstanceType": "c5.xlarge", "ProductDescription": "Linux/UNIX"}
    history = [
        entry | {"AvailabilityZone": zone, "SpotPrice": price, "Timestamp": "2026-07-09T12:00:00Z"}
        for zone, price in (("a", "0.05"), ("b", "0.06"))
    ]
    prices = price_scenario(spot_prices_of_document({"SpotPriceHistory": history}, "h"), "h", zone="all")
    bag = Instance.from_document(zoned(), "zones")
    day = prices.day(bag, 0, 0)
    assert {(event.vm_type, event.usd_per_hour) for event in day.events} == {
        ("c5.xlarge@a", 0.05),
        ("c5.xlarge@b", 0.06),
    }


def _in_zones(seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A tiny bag with zones, and the same with a VM type for each zone, made by hand."""
    rng = random.Random(f"zones {seed}")
    document = tiny_instance(seed, memory=True).to_document()
    other = json.loads(json.dumps(document))
    other["vm_types"], quotas = [], list[dict[str, Any]]()
    for vm_type in document["vm_types"]:
        spot = vm_type["offers"].get("spot")
        if spot is None or rng.random() < 0.3:
            other["vm_types"].append(vm_type)
            continue
        price = spot["price_usd_per_hour"]
        vm_type["zones"] = {zone: price * rng.choice([0.8, 1.0, 1.3]) for zone in "ab"[: rng.randint(1, 2)]}
        for zone, usd in vm_type["zones"].items():
            offers = vm_type["offers"] | {"spot": spot | {"price_usd_per_hour": usd}}
            rest = {key: value for key, value in vm_type.items() if key != "zones"}
            other["vm_types"].append(rest | {"name": vm_type["name"] + zone, "offers": offers})
        if "on-demand" in vm_type["offers"]:
            names = [vm_type["name"] + zone for zone in vm_type["zones"]]
            quotas.append({"market": "on-demand", "types": names, "vms": vm_type["offers"]["on-demand"]["limit"]})
    other["limits"] = other.get("limits", {}) | {"quotas": quotas}
    for task in other["tasks"]:
        if "runtime_s" in task:
            task["runtime_s"] = {
                vm_type["name"]: seconds
                for name, seconds in task["runtime_s"].items()
                for vm_type in other["vm_types"]
                if vm_type["name"] in (name, f"{name}a", f"{name}b")
            }
    return document, other


@pytest.mark.parametrize("seed", range(3))
def test_methods_find_the_optimum_in_zones(seed: int) -> None:
    _compare(seed)


@soak(sample=10, whole=500)
def test_methods_find_the_optimum_in_zones_of_hundreds_of_bags(how_many: int) -> None:
    for seed in range(3, how_many):
        _compare(seed)


def _compare(seed: int) -> None:
    zones, by_hand = (Instance.from_document(document, "zones") for document in _in_zones(seed))
    best = exhaustive_objective(by_hand.replace(survive="none"))
    for method in EXACT:
        try:
            result = solve(zones, method, survive="none")
        except ModelRefusal:
            continue
        assert (result.objective is None) == (best is None), (seed, method)
        if best is not None and result.schedule is not None:
            assert result.objective == pytest.approx(best, rel=1e-7), (seed, method)
            assert result.bound is not None, (seed, method)
            assert result.bound <= best * (1 + 1e-7), (seed, method)
            kinds = [(vm.vm_type.name, vm.market) for vm in map(zones.offers.__getitem__, result.schedule.vm_offer)]
            assert Quotas(zones).allow(kinds)
