"""Tiny instances of every shape, the same ones for a seed everywhere: small enough for the exhaustive oracle."""

from __future__ import annotations

import random
from typing import Any

from spotbag.core.errors import InputError
from spotbag.instances.instance import Instance

FAMILIES: dict[str, dict[str, bool]] = {
    "cores": {},
    "memory": {"memory": True},
    "burstable": {"burstable": True},
    "markets": {"memory": True, "markets": True},
    "several": {"cores": True},
    "quotas": {"memory": True, "quotas": True},
    "cores and memory": {"cores": True, "memory": True},
    "everything": {"cores": True, "memory": True, "markets": True, "quotas": True},
}
"""What to ask of `tiny_instance`, by name."""


def tiny_instance(
    seed: int,
    *,
    burstable: bool = False,
    memory: bool = False,
    markets: bool = False,
    cores: bool = False,
    quotas: bool = False,
    setups: bool = False,
) -> Instance:
    """Draw a valid instance of 1 to 5 tasks of 1 to 8 s at full speed on 1 to 3 types of VM.

    Parameters
    ----------
    seed : int
        Same seed, same instance.
    burstable : bool
        Whether at least one type is burstable; the memory of about half of these instances may bind.
    memory : bool
        Whether the memory of VMs may bind, and keep tasks off some types.
    markets : bool
        Whether tasks may be kept off a market, and the system has a part of the memory of VMs.
    cores : bool
        Whether tasks have several cores; in a third of these bags all the same number. With ``memory``, memory may bind
        beside them in every bag.
    quotas : bool
        Whether there are limits of several types together, of VMs or of vCPUs.
    setups : bool
        Whether VMs of some types are set up after the boot.
    """
    kinds = " markets" * markets + " cores" * cores + " quotas" * quotas + " setups" * setups
    rng = random.Random(f"tiny {seed} {burstable} {memory}" + kinds)
    while True:
        document = _document(rng, f"tiny-{seed}", burstable, memory or (burstable and rng.random() < 0.5))
        for vm_type in document["vm_types"] if markets else ():
            vm_type["reserved_mb"] = rng.choice([0, 0, 100, 211.3])
        for task in document["tasks"] if markets else ():
            if rng.random() < 0.5:
                task["markets"] = rng.choice([["spot"], ["on-demand"], ["on-demand"], ["spot", "on-demand"]])
        if cores:
            needs = rng.choice([[1, 2], [1, 2, 3, 4], [2, 4], [1, 3], [2], [3]])
            for vm_type in document["vm_types"]:
                vm_type["vcpus"] = rng.choice([2, 3, 4, 4, 6, 8])
                vm_type["memory_mb"] *= rng.choice([1, 1, 2]) if memory else 1
            for task in document["tasks"]:
                task["cores"] = rng.choice(needs)
        if quotas:
            _add_quotas(rng, document, least_vcpus=4 if cores else 1)
        for vm_type in document["vm_types"] if setups else ():
            vm_type["setup_s"] = rng.choice([0, 1, 2, 5])
        try:
            instance = Instance.from_document(document, "tiny")
        except InputError:  # a task that fits nowhere, or markets without an offer: draw again
            continue
        if instance.slots.beside_memory or not (cores and memory):
            return instance


def tiny_billing(seed: int) -> dict[str, Any]:
    """Draw how VMs are billed: a minimum, blocks, a fixed part, or some of them."""
    rng = random.Random(f"billing {seed}")
    rules = {
        "minimum_s": rng.choice([0, 2, 5, 12, 60]),
        "block_s": rng.choice([1, 1, 3, 10, 60]),
        "fixed_usd": rng.choice([0.0, 0.0, 0.0003, 0.002, 0.01]),
        "boot_s": rng.choice([0, 0, 1, 4, 30]),
    }
    return {name: value for name, value in rules.items() if rng.random() < 0.7}


def _add_quotas(rng: random.Random, document: dict[str, Any], least_vcpus: int) -> None:
    """Limits of types by name or by a pattern, which may overlap; most bind some plan."""
    names = [vm_type["name"] for vm_type in document["vm_types"]]
    for vm_type in document["vm_types"]:
        for offer in vm_type["offers"].values():
            offer["limit"] += 1
    quotas = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        quota: dict[str, Any] = {"market": rng.choice(["spot", "on-demand"])}
        if rng.random() < 0.6:
            quota["types"] = rng.choice([["type*"], rng.sample(names, rng.randint(1, len(names)))])
        quota |= (
            {"vcpus": rng.randint(least_vcpus, 8 * least_vcpus)} if rng.random() < 0.7 else {"vms": rng.randint(1, 4)}
        )
        quotas.append(quota)
    document.setdefault("limits", {})["quotas"] = quotas


def earning_instance(seed: int) -> Instance:
    """A tiny instance with burstable VMs that earn at least what they spend at the baseline, and whose cap never binds.

    Memory never binds there either: the credits at the end of a VM decide.
    """
    document = tiny_instance(seed, burstable=True).to_document()
    for vm_type in document["vm_types"]:
        vm_type["memory_mb"] = 8192
        if "burstable" in vm_type:
            credits = vm_type["burstable"]
            at_baseline = 60 * vm_type["vcpus"] * credits["baseline_fraction"]
            credits |= {"credits_per_hour": max(credits["credits_per_hour"], at_baseline), "max_credits": 100}
    return Instance.from_document(document, "tiny")


def _document(rng: random.Random, name: str, burstable: bool, memory: bool) -> dict[str, Any]:
    names = [f"type{number}" for number in range(rng.randint(1, 3))]
    vm_types = [
        _vm_type(rng, type_name, burstable and (number == 0 or rng.random() < 0.3), memory)
        for number, type_name in enumerate(names)
    ]
    rng.shuffle(vm_types)
    deadline = rng.randint(12 if burstable else 8, 30)
    document: dict[str, Any] = {
        "format": "spotbag.instance/1",
        "name": name,
        "deadline_s": deadline,
        "boot_overhead_s": rng.choice([0, 0, 1, 3]),
        "objective": {"cost_weight": rng.choice([0, 0.3, 0.5, 0.5, 1])},
        "vm_types": vm_types,
        "tasks": _tasks(rng, names, memory),
    }
    if rng.random() < 0.4:
        document["objective"] |= {"cost_scale_usd": rng.choice([0.001, 0.01]), "makespan_scale_s": rng.choice([10, 50])}
    if any("spot" in vm_type["offers"] for vm_type in vm_types):
        document["d_spot_s"] = rng.randint(deadline // 3, deadline)
    if rng.random() < 0.4:
        document["checkpoint"] = {
            "overhead_fraction": rng.choice([0.1, 0.25, 0.5]),
            "dump_base_s": rng.choice([0.3, 0.5, 1.0]),
            "dump_s_per_mb": rng.choice([0.0, 0.001]),
        }
    limits = {key: rng.randint(0, 3) for key in ("max_spot", "max_on_demand") if rng.random() < 0.35}
    if limits:
        document["limits"] = limits
    if rng.random() < 0.2:
        document["markets"] = [rng.choice(["spot", "on-demand"])]
    return document


def _vm_type(rng: random.Random, name: str, burstable: bool, memory: bool) -> dict[str, Any]:
    markets = rng.choice([["spot"], ["on-demand"], ["on-demand"], ["spot", "on-demand"], ["spot", "on-demand"]])
    price = rng.choice([0.36, 0.5, 0.9, 1.0, 1.8, 3.6])
    offers = {
        market: {
            "price_usd_per_hour": price * (rng.choice([0.3, 0.5, 1.0]) if market == "spot" else 1.0),
            "limit": rng.choice([1, 1, 2, 3]),
        }
        for market in markets
    }
    vm_type: dict[str, Any] = {
        "name": name,
        "vcpus": rng.choice([1, 2, 2, 3] if burstable else [1, 2, 2, 3, 4]),
        "memory_mb": rng.choice([512, 700, 1024, 1500.5]) if memory else 8192,
        "offers": offers,
        "speed": rng.choice([0.5, 1.0, 1.0, 1.7]),
    }
    if burstable:
        # A second at full speed is 1/60 credit; a VM earns 0.1 to 1.5 such seconds in a second.
        vm_type["burstable"] = {
            "baseline_fraction": rng.choice([0.2, 0.25, 0.4, 0.5, 1.0]),
            "credits_per_hour": rng.choice([6, 12, 24, 36, 48, 90]),
            "initial_credits": rng.choice([0, 0, 0.02, 0.05, 0.1]),
            "max_credits": rng.choice([0.1, 0.15, 100]),
        }
    return vm_type


def _tasks(rng: random.Random, type_names: list[str], memory: bool) -> list[dict[str, Any]]:
    tasks: list[dict[str, Any]] = []
    left = rng.choice([1, 2, 3, 4, 4, 5, 5])
    while left:
        task: dict[str, Any] = {
            "id": f"t{len(tasks)}",
            "memory_mb": rng.choice([100, 300.3, 300.3, 512, 512, 700, 1024]) if memory else rng.choice([10, 100.7]),
        }
        if rng.random() < 0.3:
            task["base_runtime_s"] = rng.choice([0.5, 1, 2, 3, 3.4, 4])
        else:
            runs_on = [name for name in type_names if rng.random() < 0.85] or type_names
            task["runtime_s"] = {name: rng.choice([1, 2, 3, 4, 5, 5.5, 6, 7, 8]) for name in runs_on}
        if left > 1 and rng.random() < 0.3:
            task["count"] = rng.randint(2, left)
        left -= task.get("count", 1)
        tasks.append(task)
    return tasks
