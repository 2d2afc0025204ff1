"""Seeded tiny instances whose memory never binds, and all their plans as sums on cores."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from spotbag.instances.instance import Instance


def hand_instance(runtimes: list[int], vcpus: int = 2, limit: int = 1, **fields: Any) -> Instance:
    """Tasks of these run times on VMs of 0.001 $/s; cost scale 1 $, makespan scale 1000 s."""
    offer = {"price_usd_per_hour": 3.6, "limit": limit}
    base: dict[str, Any] = {
        "name": "by hand",
        "deadline_s": 1000,
        "d_spot_s": 1000,
        "objective": {"cost_scale_usd": 1, "makespan_scale_s": 1000},
        "vm_types": [{"name": "a", "vcpus": vcpus, "memory_mb": 100_000, "offers": {"spot": offer}}],
        "tasks": [{"id": f"t{k}", "memory_mb": 1, "runtime_s": {"a": e}} for k, e in enumerate(runtimes)],
    }
    return Instance(**(base | fields))


def tiny_instance(seed: int, most_tasks: int = 5, most_classes: int = 3) -> Instance:
    """Up to two types, two markets, limits of offers and markets, boot overhead; durations up to 8 s."""
    random = np.random.default_rng(seed)
    names = ["a", "b"][: int(random.integers(1, 3))]

    def offers() -> dict[str, Any]:
        markets = [["spot"], ["on-demand"], ["spot", "on-demand"]][int(random.integers(3))]
        return {
            market: {
                "price_usd_per_hour": float(random.choice([0.5, 1.0, 1.7, 3.6])),
                "limit": int(random.integers(1, 3)),
            }
            for market in markets
        }

    types = [
        {"name": name, "vcpus": int(random.integers(1, 4)), "memory_mb": 100, "offers": offers()} for name in names
    ]
    tasks: list[dict[str, Any]] = []
    left = int(random.integers(1, most_tasks + 1))
    while left and len(tasks) < most_classes:
        count = left if len(tasks) == most_classes - 1 else int(random.integers(1, left + 1))
        able = [name for name in names if random.random() < 0.85] or names
        times = {name: int(random.integers(1, 9)) for name in able}
        tasks.append({"id": f"t{len(tasks)}", "memory_mb": 1, "runtime_s": times, "count": count})
        left -= count
    boot = int(random.choice([0, 0, 3]))
    deadline = int(random.integers(8, 22)) + boot
    document: dict[str, Any] = {
        "name": f"tiny-{seed}",
        "deadline_s": deadline,
        "d_spot_s": int(random.integers(max(1, deadline - 6), deadline + 1)),
        "boot_overhead_s": boot,
        "objective": {
            "cost_weight": float(random.choice([0.0, 0.2, 0.5, 0.8, 1.0])),
            "cost_scale_usd": 0.01,
            "makespan_scale_s": 10,
        },
        "vm_types": types,
        "tasks": tasks,
    }
    if random.random() < 0.5:
        document["limits"] = {"max_spot": int(random.integers(1, 3)), "max_on_demand": int(random.integers(1, 3))}
    try:
        return Instance(**document)
    except ValueError:  # a task that fits nowhere
        return tiny_instance(seed + 100_000, most_tasks, most_classes)


def all_outcomes(instance: Instance) -> set[tuple[int, float]]:
    """Pairs of makespan and cost of all plans, core by core; for instances whose memory never binds."""
    assert instance.d_spot_s is not None
    groups = [instance.tasks[group] for group in instance.task_group]
    vms = [offer for offer in instance.offers for _ in range(min(offer.limit, len(groups)))]
    cores = [(vm, core) for vm, offer in enumerate(vms) for core in range(offer.vcpus)]
    caps = {"spot": instance.limits.max_spot, "on-demand": instance.limits.max_on_demand}
    result = set()
    for choice in itertools.product(cores, repeat=len(groups)):
        loads: dict[tuple[int, int], int] = {}
        for task, place in zip(groups, choice, strict=True):
            seconds = (task.runtime_s or {}).get(vms[place[0]].vm_type.name)
            if seconds is None:
                break
            loads[place] = loads.get(place, 0) + int(seconds)
        else:
            ends: dict[int, int] = {}
            for (vm, _), load in loads.items():
                ends[vm] = max(ends.get(vm, 0), load)
            rented = [vms[vm].market for vm in ends]
            if any(cap is not None and rented.count(market) > cap for market, cap in caps.items()):
                continue
            latest = {"spot": min(instance.d_spot_s, instance.deadline_s), "on-demand": instance.deadline_s}
            boot = instance.boot_overhead_s
            if any(end + boot > latest[vms[vm].market] for vm, end in ends.items()):
                continue
            cost = sum(vms[vm].price_usd_per_hour / 3600 * end for vm, end in ends.items())
            result.add((max(ends.values()) + boot, round(cost, 12)))
    return result


def nondominated(outcomes: set[tuple[int, float]]) -> list[tuple[int, float]]:
    """Outcomes that no other beats in makespan and cost, fastest first."""
    result: list[tuple[int, float]] = []
    for makespan, cost in sorted(outcomes):
        if not result or cost < result[-1][1] - 1e-11:
            result.append((makespan, cost))
    return result


def few_classes_instance(counts: list[int], **fields: Any) -> Instance:
    """Up to three classes of many tasks on three spot types, with three VMs of each."""
    prices = {"a": (2, 0.0299), "b": (4, 0.0767), "c": (2, 0.0312)}
    seconds = [(344, 351, 338), (168, 166, 169), (219, 224, 226)]
    types = [
        {"name": name, "vcpus": vcpus, "memory_mb": 4000, "offers": {"spot": {"price_usd_per_hour": price, "limit": 3}}}
        for name, (vcpus, price) in prices.items()
    ]
    tasks = [
        {"id": f"t{k}", "memory_mb": 10, "runtime_s": dict(zip(prices, each, strict=True)), "count": count}
        for k, (count, each) in enumerate(zip(counts, seconds, strict=False))
    ]
    return hand_instance([], **({"vm_types": types, "tasks": tasks, "deadline_s": 2700, "d_spot_s": 2100} | fields))
