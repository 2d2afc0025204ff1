"""Of plans that cost and take the same, one with fewer VMs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from spotbag.audits.bags.plan import check
from spotbag.core.errors import InputError, ModelRefusal
from spotbag.core.quantities import at_most
from spotbag.heuristics.bags.fewer_vms import with_fewer_vms
from spotbag.instances.entries import GOALS
from spotbag.instances.instance import Instance
from spotbag.schedules.schedule import Schedule
from spotbag.solvers.bags.goals import cheapest_by, plan_of
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.solve import solve
from tests.helpers.random_instances import instance_documents
from tests.helpers.soaks import soak_of, some
from tests.helpers.tiny_instances import FAMILIES, tiny_billing, tiny_instance
from tests.helpers.tiny_states import tiny_state


def bag(*runtimes_s: int, vcpus: int = 1, memory_mb: float = 1, task: Any = None, **fields: Any) -> Instance:
    """Tasks by their seconds; up to nine VMs on demand, which cost a cent a second."""
    vm_type = {"name": "a", "vcpus": vcpus, "memory_mb": 1000}
    document = {
        "format": "spotbag.instance/1",
        "name": "some",
        "deadline_s": 100,
        "survive": "none",
        "vm_types": [vm_type | {"offers": {"on-demand": {"price_usd_per_hour": 36, "limit": 9}}}],
        "tasks": [
            {"id": f"t{number}", "memory_mb": memory_mb, "runtime_s": {"a": seconds}, **(task or {})}
            for number, seconds in enumerate(runtimes_s)
        ],
    }
    return Instance.from_document(document | fields, "some")


def on_fewer(problem: Instance, vms: list[int], cores: list[int], starts_s: list[int]) -> Schedule:
    """Return what becomes of a plan, which is checked."""
    slow = np.zeros(len(vms), dtype=bool)
    plan = Schedule(problem, np.zeros(max(vms) + 1), np.array(vms), np.array(cores), np.array(starts_s), slow)
    assert check(problem, plan).feasible
    fewer = with_fewer_vms(plan, lambda: cheapest_by(problem, plan.makespan_s))
    report = check(problem, plan_of(problem, fewer))
    assert report.feasible
    assert report.cost_usd <= at_most(plan.cost_usd)
    assert fewer.makespan_s <= plan.makespan_s
    return fewer


def test_short_vms_follow_one_another() -> None:
    """50 s on one VM; 20 s and 30 s on two others, which one can do in the same time for the same money."""
    fewer = on_fewer(bag(50, 20, 30), [0, 1, 2], [0, 0, 0], [0, 0, 0])
    assert len(fewer.vm_offer) == 2
    assert fewer.cost_usd == pytest.approx(1.0)


def test_the_tasks_of_a_vm_may_go_to_several() -> None:
    """Of three VMs that run 20 s and 20 s each, two do all within 60 s."""
    fewer = on_fewer(bag(60, 20, 20, 20, 20, 20, 20), [0, 1, 1, 2, 2, 3, 3], [0] * 7, [0, 0, 20, 0, 20, 0, 20])
    assert len(fewer.vm_offer) == 3
    assert fewer.cost_usd == pytest.approx(1.8)


def test_no_vm_is_closed_that_makes_the_end_later_or_the_bill_higher() -> None:
    assert len(on_fewer(bag(50, 30, 30), [0, 1, 2], [0, 0, 0], [0, 0, 0]).vm_offer) == 3
    hours = bag(60, 20, 20, 20, 20, billing={"block_s": 40})
    # One VM would run on into another block for each of the tasks: 80 s are billed in place of 40.
    assert len(on_fewer(hours, [0, 1, 1, 2, 2], [0] * 5, [0, 0, 20, 0, 20]).vm_offer) == 3


def test_a_minimum_makes_fewer_vms_cheaper() -> None:
    fewer = on_fewer(bag(50, 20, 30, billing={"minimum_s": 45}), [0, 1, 2], [0, 0, 0], [0, 0, 0])
    assert len(fewer.vm_offer) == 2
    assert fewer.cost_usd == pytest.approx(1.0)


def test_memory_and_cores_stay_as_they_are() -> None:
    """Two tasks of 600 MB never run side by side; nor do two of two cores on a VM of three."""
    large = bag(50, 20, 30, vcpus=2, memory_mb=600)
    assert len(on_fewer(large, [0, 1, 2], [0, 0, 0], [0, 0, 0]).vm_offer) == 2
    wide = bag(50, 20, 30, vcpus=3, task={"cores": 2})
    assert len(on_fewer(wide, [0, 1, 2], [0, 0, 0], [0, 0, 0]).vm_offer) == 2


def test_idle_cores_are_used() -> None:
    """Tasks of 20, 20 and 10 s run on the core beside one of 50 s, for nothing."""
    fewer = on_fewer(bag(50, 20, 20, 10, vcpus=2), [0, 1, 2, 3], [0, 0, 0, 0], [0, 0, 0, 0])
    assert len(fewer.vm_offer) == 1
    assert fewer.cost_usd == pytest.approx(0.5)


def test_dates_are_kept() -> None:
    early = bag(50, 20, 30, task={"deadline_s": 50})
    assert len(on_fewer(early, [0, 1, 2], [0, 0, 0], [0, 0, 0]).vm_offer) == 2
    tasks = [
        {"id": f"t{k}", "memory_mb": 1, "runtime_s": {"a": s}, "deadline_s": s} for k, s in enumerate((50, 20, 30))
    ]
    assert len(on_fewer(early.replace(tasks=tasks), [0, 1, 2], [0, 0, 0], [0, 0, 0]).vm_offer) == 3


@pytest.mark.parametrize("boot_s", [0, 20])
def test_what_runs_may_end_before_a_new_vm_is_ready(boot_s: int) -> None:
    """The question for a plan by so early an end was no instance, and solving ended in its fault."""
    running = [{"task": "t0", "core": 0, "start_s": -5}]
    machine = {"id": "m", "type": "a", "market": "on-demand", "running": running}
    result = solve(bag(5, machines=[machine], boot_overhead_s=boot_s))
    assert result.schedule is not None
    assert (result.status, result.schedule.makespan_s) == ("optimal", 0)


def test_short_tasks_share_a_vm_where_time_is_no_matter() -> None:
    """The goal balanced with the cost alone: 40 tasks of 10 s, of which one VM does ten by the end of the longest."""
    tasks = [{"id": "long", "memory_mb": 1, "runtime_s": {"a": 100}}]
    tasks += [{"id": "short", "count": 40, "memory_mb": 1, "runtime_s": {"a": 10}}]
    problem = bag(1).replace(tasks=tasks)
    for method in ("auto", "search", "patterns", "columns", "class-programme", "interval"):
        plan = solve(problem, method, iterations=200_000).schedule
        assert plan is not None
        assert plan.cost_usd == pytest.approx(5.0)
        assert plan.makespan_s == 100
        assert len(plan.vm_offer) == 5, method


def compared(problem: Instance, method: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Return the numbers of VMs of a plan as it was made, and as it is handed out, which is no worse."""
    seen: list[Schedule] = []
    closing = "spotbag.heuristics.bags.fewer_vms.with_fewer_vms"
    monkeypatch.setattr(closing, lambda plan, question: (seen.append(plan), with_fewer_vms(plan, question))[1])
    result = solve(problem, method, iterations=20_000)
    plan = result.schedule
    if plan is None or not seen:
        return 0, 0
    assert check(plan.instance, plan).feasible
    assert plan.cost_usd <= at_most(seen[-1].cost_usd)
    assert plan.makespan_s <= seen[-1].makespan_s
    return len(seen[-1].vm_offer), len(plan.vm_offer)


@pytest.mark.parametrize("seeds", some([range(4), range(4, 12)], fast=1), ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_tiny_bags(family: str, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        compared(
            tiny_instance(seed, **FAMILIES[family]).with_goal(GOALS[seed % 3]).replace(billing=tiny_billing(seed)),
            "search",
            monkeypatch,
        )
        for seed in seeds
    ]
    assert all(after <= before for before, after in found)


@pytest.mark.parametrize("seeds", some([range(6), range(6, 20)], fast=1), ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_tiny_states(family: str, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs stays where it is."""
    found = [compared(tiny_state(family, seed).replace(survive="none"), "search", monkeypatch) for seed in seeds]
    assert all(after <= before for before, after in found)


@soak_of(instance_documents(), st.sampled_from(GOALS), st.sampled_from([*METHODS]), sample=60, whole=5000)
def test_random_bags(document: dict[str, Any], goal: str, method: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        try:
            problem = Instance.from_document(document, "random").with_goal(goal)
            before, after = compared(problem, method, patch)
        except (InputError, ModelRefusal):
            return
    assert after <= before
    assert METHODS[method].closes_vms or before == 0
