"""Tasks that ask for an architecture run only on VM types that state it."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import strategies as st

from spotbag.audits.bags.plan import check
from spotbag.audits.facts import InstanceFacts
from spotbag.core.errors import InputError
from spotbag.instances.entries import NEVER
from spotbag.instances.instance import Instance
from spotbag.schedules.schedule_files import format_schedule, parse_schedule_document
from spotbag.solvers.bags.solve import solve
from tests.helpers.random_instances import random_instances
from tests.helpers.soaks import soak_of


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


def with_run_times(instance: Instance) -> Instance:
    """The same bag without architectures: each task has run times on the types that it may use."""
    tasks = []
    for task in instance.tasks:
        fields = task.model_dump(exclude_unset=True, exclude={"architecture", "base_runtime_s", "runtime_s"})
        able = {}
        for vm_type in instance.vm_types:
            seconds = (task.runtime_s or {}).get(vm_type.name)
            if task.base_runtime_s is not None:
                seconds = task.base_runtime_s / vm_type.speed
            if seconds is not None and task.architecture in (None, vm_type.architecture):
                able[vm_type.name] = seconds
        tasks.append(fields | {"runtime_s": able})
    return instance.replace(tasks=tasks)


@soak_of(random_instances(), st.randoms(use_true_random=False), sample=20, whole=1000)
def test_a_bag_with_architectures_is_that_with_run_times_where_tasks_may_run(plain: Instance, rng: Random) -> None:
    types = [vm_type.model_dump(exclude_unset=True) for vm_type in plain.vm_types]
    types = [entry | {"architecture": ("x86_64", "arm64")[index % 2]} for index, entry in enumerate(types)]
    names = [None, "x86_64", "arm64"][: len(types) + 1]
    tasks = [task.model_dump(exclude_unset=True) for task in plain.tasks]
    tasks = [entry | {"architecture": name} if (name := rng.choice(names)) else entry for entry in tasks]
    try:
        instance = plain.replace(vm_types=types, tasks=tasks)
    except InputError:
        return  # a task cannot run anywhere in time
    twin = with_run_times(instance)
    assert (instance.runtime_s == twin.runtime_s).all()
    found = solve(instance, "greedy", seed=1, survive="none").schedule
    again = solve(twin, "greedy", seed=1, survive="none").schedule
    assert (found is None) == (again is None)
    plan = solve(plain, "greedy", seed=1, survive="none").schedule  # it may have tasks on types of another architecture
    for schedule in (found, plan):
        if schedule is not None:
            document = parse_schedule_document(format_schedule(schedule, "greedy"))
            assert check(instance, document).violations == check(twin, document).violations
