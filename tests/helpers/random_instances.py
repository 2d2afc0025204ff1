"""Hypothesis strategies: instances of every shape, small enough to be looked at second by second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from spotbag.instances.instance import Instance

_LONGEST_S = 127
"""A base run time of 60 s at half speed takes 120 s, with the boot so many: every task fits that time."""

prices = st.sampled_from([0.01, 0.03, 0.1, 0.36, 1.0, 3.6])


def quotas(names: Sequence[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Limits of several types, of vCPUs or of VMs."""
    types = st.lists(st.sampled_from([*names, "*"]), min_size=1, max_size=2, unique=True)
    return st.builds(
        lambda market, unit, most, named: {"market": market, unit: most} | ({"types": named} if named else {}),
        st.sampled_from(["spot", "on-demand"]),
        st.sampled_from(["vcpus", "vcpus", "vms"]),
        st.integers(1, 12),
        st.none() | types,
    )


@st.composite
def offers(draw: st.DrawFn, burstable: bool) -> dict[str, Any]:
    markets = draw(st.sampled_from([["spot"], ["on-demand"], ["spot", "on-demand"]]))
    if burstable and draw(st.booleans()):
        markets = ["on-demand"]
    return {market: {"price_usd_per_hour": draw(prices), "limit": draw(st.integers(1, 3))} for market in markets}


@st.composite
def vm_types(draw: st.DrawFn, name: str) -> dict[str, Any]:
    burstable = draw(st.sampled_from([False, False, False, True]))
    vm_type: dict[str, Any] = {
        "name": name,
        "vcpus": draw(st.integers(1, 4)),
        "memory_mb": draw(st.sampled_from([1024, 2048, 2500.5, 4096])),
        "offers": draw(offers(burstable)),
        "speed": draw(st.sampled_from([0.5, 1.0, 1.7])),
    }
    if draw(st.booleans()):
        vm_type["gflops"] = draw(st.sampled_from([10.0, 20.0, 40.0]))
    if burstable:
        vm_type["burstable"] = {
            "baseline_fraction": draw(st.sampled_from([0.2, 0.3, 0.5, 1.0])),
            "credits_per_hour": draw(st.sampled_from([0, 12, 36])),
            "initial_credits": draw(st.sampled_from([0, 0, 0.5, 2])),
            "max_credits": 100,
        }
    return vm_type


@st.composite
def tasks(draw: st.DrawFn, name: str, type_names: list[str]) -> dict[str, Any]:
    task: dict[str, Any] = {"id": name, "memory_mb": draw(st.sampled_from([0.001, 10, 300.3, 700, 1000, 1024]))}
    times = st.one_of(st.integers(1, 60), st.floats(0.25, 60, allow_nan=False))
    if draw(st.booleans()):
        task["base_runtime_s"] = draw(times)
    else:
        runs_on = draw(st.lists(st.sampled_from(type_names), min_size=1, unique=True))
        task["runtime_s"] = {type_name: draw(times) for type_name in runs_on}
    if draw(st.booleans()):
        task["count"] = draw(st.integers(1, 3))
    return task


@st.composite
def instance_documents(
    draw: st.DrawFn, max_tasks: int = 8, restricted: bool = True, dates: bool = False
) -> dict[str, Any]:
    """Valid documents of the format ``spotbag.instance/1``.

    If they may be restricted, tasks of some are kept off a market, and the system has a part of the memory of VMs; and
    tasks of some have several cores, the same number or not. If they may have ``dates``, tasks of some do.
    """
    names = [f"type{number}" for number in range(draw(st.integers(1, 3)))]
    document: dict[str, Any] = {
        "format": "spotbag.instance/1",
        "name": "random",
        "boot_overhead_s": draw(st.sampled_from([0, 0, 7])),
        "migration_overhead_s": draw(st.sampled_from([0, 5])),
        "vm_types": [draw(vm_types(name)) for name in names],
        "tasks": [draw(tasks(f"t{number}", names)) for number in range(draw(st.integers(1, max_tasks)))],
    }
    deadline = draw(st.integers(_LONGEST_S, 400))
    document["deadline_s"] = deadline
    if draw(st.booleans()) or "on-demand" not in {m for vm_type in document["vm_types"] for m in vm_type["offers"]}:
        document["d_spot_s"] = draw(st.integers(0, deadline))
    if draw(st.booleans()):
        document["checkpoint"] = {
            "overhead_fraction": draw(st.sampled_from([0.05, 0.1, 0.5])),
            "dump_base_s": draw(st.sampled_from([0.5, 1.0, 3.3])),
            "dump_s_per_mb": draw(st.sampled_from([0.0, 0.001])),
        }
    if draw(st.booleans()):
        document["objective"] = {"cost_weight": draw(st.sampled_from([0.0, 0.3, 1.0]))}
    if draw(st.booleans()):
        document["limits"] = {"max_on_demand": draw(st.integers(1, 4)), "max_spot": draw(st.integers(1, 4))}
    if restricted and draw(st.sampled_from([False, True])):
        document.setdefault("d_spot_s", deadline)  # perhaps no VM on demand may be rented, which the estimate asks for
        document["limits"] = document.get("limits", {}) | {
            "quotas": draw(st.lists(quotas(names), min_size=1, max_size=3))
        }
    if restricted and draw(st.sampled_from([False, False, True])):
        for entry in document["vm_types"]:
            entry["reserved_mb"] = draw(st.sampled_from([0, 1, 300.5]))
            entry["memory_mb"] += entry["reserved_mb"]
    if restricted and draw(st.sampled_from([False, False, True])):
        _have_several_cores(draw, document)
    for task in document["tasks"] if restricted and draw(st.sampled_from([False, False, True])) else ():
        types = [entry for entry in document["vm_types"] if entry["name"] in task.get("runtime_s", names)]
        offered = sorted({market for entry in types for market in entry["offers"]})
        if draw(st.booleans()):
            task["markets"] = draw(st.lists(st.sampled_from(offered), min_size=1, unique=True))
            document.setdefault("d_spot_s", deadline)  # that of HADS is for tasks that may be on demand
    for task in document["tasks"] if dates and draw(st.booleans()) else ():
        document.setdefault("d_spot_s", deadline)  # that of HADS knows no dates
        ready_s = draw(st.integers(0, deadline - _LONGEST_S))
        own = {"ready_s": ready_s, "deadline_s": draw(st.integers(ready_s + _LONGEST_S, deadline)), "weight": 2.5}
        task |= {name: own[name] for name in draw(st.lists(st.sampled_from([*own]), unique=True))}
    return document


def _have_several_cores(draw: st.DrawFn, document: dict[str, Any]) -> None:
    """Give tasks several cores, and VMs, none of which is burstable then, enough of them."""
    needs = draw(st.sampled_from([[2], [3], [1, 2], [2, 4], [1, 2, 3, 4]]))
    for vm_type in document["vm_types"]:
        vm_type.pop("burstable", None)
        vm_type["vcpus"] = draw(st.integers(max(needs), 8))
        if len(needs) > 1 and draw(st.booleans()):  # memory does not bind beside cores
            vm_type["memory_mb"] = 8192 + vm_type.get("reserved_mb", 0)
    for task in document["tasks"]:
        task["cores"] = draw(st.sampled_from(needs))


def random_instances(max_tasks: int = 8) -> st.SearchStrategy[Instance]:
    """Valid instances."""
    return instance_documents(max_tasks).map(lambda document: Instance.from_document(document, "random"))
