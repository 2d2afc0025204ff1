"""Tasks that ask for an architecture run only on VM types that state it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spotbag.audits.bags.plan import check
from spotbag.audits.facts import InstanceFacts
from spotbag.core.errors import InputError
from spotbag.instances.durations import NEVER
from spotbag.instances.instance import Instance
from spotbag.schedules.schedule_files import parse_schedule_document
from spotbag.solvers.bags.solve import solve


def vm_type(name: str, architecture: str | None, price: float) -> dict[str, Any]:
    """A type of two cores, on demand."""
    stated = {} if architecture is None else {"architecture": architecture}
    offers = {"on-demand": {"price_usd_per_hour": price, "limit": 2}}
    return {"name": name, "vcpus": 2, "memory_mb": 4096, "offers": offers} | stated


def bag(tasks: list[dict[str, Any]]) -> Instance:
    """Three types, the cheapest of no stated architecture."""
    types = [vm_type("old", None, 0.01), vm_type("intel", "x86_64", 0.04), vm_type("graviton", "arm64", 0.08)]
    return Instance(name="bag", deadline_s=1000, vm_types=types, tasks=tasks)


TASKS = [
    {"id": "any", "memory_mb": 10, "base_runtime_s": 100},
    {"id": "arm", "memory_mb": 10, "base_runtime_s": 100, "architecture": "arm64"},
    {"id": "x86", "memory_mb": 10, "runtime_s": {"old": 100, "intel": 90, "graviton": 80}, "architecture": "x86_64"},
]


def test_a_task_has_no_run_time_on_types_of_another_architecture_or_of_none() -> None:
    instance = bag(TASKS)
    assert instance.runtime_s.tolist() == [[100, 100, 100], [NEVER, NEVER, 100], [NEVER, 90, NEVER]]
    facts = InstanceFacts(json.loads(instance.to_text()))
    table = [[facts.runtime_s(task["id"], name) for name in ("old", "intel", "graviton")] for task in TASKS]
    assert table == [[100, 100, 100], [None, None, 100], [None, 90, None]]


@pytest.mark.parametrize("method", ["greedy", "auto"])
def test_plans_keep_to_the_architecture(method: str) -> None:
    instance = bag(TASKS)
    result = solve(instance, method=method)
    assert result.schedule is not None
    offers = result.schedule.vm_offer[result.schedule.task_vm]
    used = {name: instance.offers[offer].vm_type.name for name, offer in zip(instance.task_ids, offers, strict=True)}
    assert used["arm"] == "graviton"
    assert used["x86"] == "intel"


def test_the_checker_finds_a_task_on_the_wrong_architecture() -> None:
    plan = """{"format": "spotbag.schedule/1", "instance": "bag", "d_spot_s": 1000,
        "vms": [{"id": "v", "type": "intel", "market": "on-demand"}],
        "tasks": [{"id": "any", "vm": "v", "core": 0, "start_s": 0, "end_s": 100},
                  {"id": "arm", "vm": "v", "core": 1, "start_s": 0, "end_s": 100},
                  {"id": "x86", "vm": "v", "core": 0, "start_s": 100, "end_s": 190}]}"""
    found = check(bag(TASKS), parse_schedule_document(plan)).violations
    assert [(violation.rule, violation.where) for violation in found] == [("placement", "arm")]


def test_an_architecture_that_no_type_has_is_named() -> None:
    with pytest.raises(InputError, match=r"tasks\[0\] 'arm': architecture 'arm64' is that of no VM type"):
        Instance(name="b", deadline_s=1000, vm_types=[vm_type("intel", "x86_64", 0.04)], tasks=[TASKS[1]])


def test_an_unknown_architecture_is_refused() -> None:
    with pytest.raises(InputError, match=r"architecture 'sparc' must be 'x86_64' or 'arm64'"):
        bag([{"id": "t", "memory_mb": 10, "base_runtime_s": 100, "architecture": "sparc"}])
