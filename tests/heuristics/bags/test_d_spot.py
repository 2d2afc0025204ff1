"""D_spot by hand (HADS Algorithm 1)."""

from __future__ import annotations

from typing import Any

import pytest

from spotbag.core.errors import InputError
from spotbag.heuristics.bags.d_spot import estimate_d_spot, with_d_spot
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance


def instance(**fields: Any) -> Instance:
    """Ten tasks of 10 .. 100 s on a slow type with two cores and a fast one with four."""
    offers = {market: {"price_usd_per_hour": 1, "limit": 5} for market in ("spot", "on-demand")}
    base: dict[str, Any] = {
        "name": "ten",
        "deadline_s": 1000,
        "migration_overhead_s": 30,
        "limits": {"max_on_demand": 3},
        "vm_types": [
            {"name": "slow", "vcpus": 2, "memory_mb": 1000, "offers": offers},
            {"name": "fast", "vcpus": 4, "memory_mb": 1000, "offers": offers},
        ],
        "tasks": [
            {"id": f"t{k}", "memory_mb": 100, "runtime_s": {"slow": 10 * k, "fast": 8 * k}} for k in range(1, 11)
        ],
    }
    return Instance(**(base | fields))


def test_the_longest_tasks_go_longest_first_to_the_slowest_vm() -> None:
    # n = ceil(10 / 3) = 4: 100, 90, 80, 70 on two cores, longest first: {100, 70}, {90, 80}, 170 s.
    assert estimate_d_spot(instance()) == 1000 - (170 + 30)


def test_it_is_never_negative() -> None:
    assert estimate_d_spot(instance(deadline_s=150)) == 0


def test_memory_lengthens_it() -> None:
    tasks = [{"id": f"t{k}", "memory_mb": 600, "runtime_s": {"slow": 10 * k}} for k in range(1, 11)]
    assert estimate_d_spot(instance(tasks=tasks)) == 1000 - (100 + 90 + 80 + 70 + 30)


def test_without_a_limit_the_offers_count() -> None:
    # 5 + 5 on-demand VMs for ten tasks: one task each, 100 s.
    assert estimate_d_spot(instance(limits={})) == 1000 - (100 + 30)


def test_checkpoints_do_not_count_on_the_vms_migrated_to() -> None:
    rules = {"overhead_fraction": 0.1, "dump_base_s": 1}
    assert estimate_d_spot(instance(checkpoint=rules)) == estimate_d_spot(instance())


def test_a_given_value_stays_and_none_is_made_without_spot() -> None:
    assert with_d_spot(instance(d_spot_s=5)).d_spot_s == 5
    assert with_d_spot(instance(markets=["on-demand"])).d_spot_s is None
    assert with_d_spot(instance(d_spot_rule="paper")).d_spot_s == with_d_spot(instance(), "paper").d_spot_s == 800
    assert with_d_spot(instance()).d_spot_s == 1000


def test_no_on_demand_vm_at_all_asks_for_a_value() -> None:
    with pytest.raises(InputError, match="no on-demand VM may be rented to migrate to; give d_spot_s"):
        with_d_spot(instance(limits={"max_on_demand": 0}), "paper")


def test_burstable_types_count_only_without_others() -> None:
    burst = library_instance("burst-hads/J60")
    # n = 3, run times up to 323 s, two cores: 2 * 323 s, and 180 s to migrate; t3.large at 20 % would take far longer.
    assert estimate_d_spot(burst) == 2700 - (2 * 323 + 180)


def test_a_type_that_can_run_no_task_is_no_trouble() -> None:
    tasks = [{"id": "t", "memory_mb": 100, "runtime_s": {"fast": 8}}]
    assert estimate_d_spot(instance(tasks=tasks)) == 1000 - (8 + 30)


def test_no_on_demand_offer_at_all_asks_for_a_value() -> None:
    spot = [vm_type.model_copy(update={"offers": {"spot": vm_type.offers["spot"]}}) for vm_type in instance().vm_types]
    with pytest.raises(InputError, match="give d_spot_s"):
        with_d_spot(instance(vm_types=spot), "paper")


def test_d_spot_is_set_where_all_spot_vms_exist_already() -> None:
    machines = [{"id": f"m{k}", "type": name, "market": "spot"} for k, name in enumerate(["slow", "fast"] * 5)]
    rest = Instance.from_document(instance().to_document() | {"machines": machines}, "rest")
    assert all(offer.limit == 0 for offer in rest.offers if offer.market == "spot")
    assert with_d_spot(rest).d_spot_s == 1000
