"""Schedules: derived times and cost, their files, what is refused."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings

from spotbag.audits.bags.plan import check
from spotbag.core.errors import InputError
from spotbag.core.json_documents import format_json
from spotbag.instances.instance import Instance
from spotbag.instances.library import library_instance
from spotbag.schedules.documents import Rescue, RescueTask, RescueVm, ScheduleDocument, Survival
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.schedule_files import (
    format_schedule,
    parse_schedule_document,
    read_schedule,
    schedule_of_document,
    schedule_schema,
    write_schedule,
)
from spotbag.solvers.bags.solve import solve
from tests.helpers.random_instances import random_instances
from tests.helpers.rescues import random_plan


@pytest.fixture(scope="module")
def plan() -> Schedule:
    schedule = solve(library_instance("burst-hads/ED200"), "greedy").schedule
    assert schedule is not None
    return schedule


def test_cost_makespan_and_objective_follow_from_the_instance() -> None:
    instance = library_instance("tiny/boot")
    # Both tasks one after the other on one VM: ready at 20 s, ends at 80 s, 60 s at 0.001 $.
    schedule = Schedule(instance, *(np.array(values) for values in ([0], [0, 0], [0, 0], [20, 70], [False, False])))
    assert schedule.task_end_s.tolist() == [70, 80]
    assert schedule.cost_usd == pytest.approx(0.06)
    assert schedule.makespan_s == 80
    assert schedule.objective == pytest.approx(0.5 * 0.06 / 0.1 + 0.5 * 80 / 100)
    assert schedule.vm_ids == ("a-spot-1",)


def test_a_vm_without_tasks_costs_nothing() -> None:
    instance = library_instance("tiny/boot")
    schedule = Schedule(instance, *(np.array(values) for values in ([0, 0], [0, 0], [0, 0], [20, 70], [False, False])))
    assert schedule.vm_cost_usd.tolist() == pytest.approx([0.06, 0.0])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"vm_offer": [0, 99]}, "vm_offer must hold indices below"),
        ({"task_vm": [0, 5]}, "task_vm must hold indices below"),
        ({"task_core": [0, 1]}, "core that the VM does not have"),
        ({"task_start_s": [20]}, "has shape"),
        ({"task_baseline": [True, False]}, "placed where it cannot run"),
        ({"vm_ids": ("x", "x")}, "name each VM once"),
    ],
)
def test_what_does_not_fit_the_instance_is_refused(change: dict[str, Any], said: str) -> None:
    fields: dict[str, Any] = {
        "vm_offer": [0],
        "task_vm": [0, 0],
        "task_core": [0, 0],
        "task_start_s": [20, 70],
        "task_baseline": [False, False],
    }
    with pytest.raises(ValueError, match=said):
        Schedule(library_instance("tiny/boot"), **(fields | change))


def test_a_schedule_cannot_be_changed(plan: Schedule) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan.task_vm = plan.task_core  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        plan.task_start_s[0] = 5


@given(random_instances())
@settings(max_examples=8, deadline=None)
def test_writing_and_reading_gives_the_same_plan(instance: Instance) -> None:
    result = solve(instance, "greedy")
    if result.schedule is None:
        return
    text = format_schedule(result.schedule, "greedy")
    document = parse_schedule_document(text)
    back = schedule_of_document(document, result.instance)
    for name in ("vm_offer", "task_vm", "task_core", "task_start_s", "task_baseline", "task_end_s"):
        assert (getattr(back, name) == getattr(result.schedule, name)).all()
    assert back.vm_ids == result.schedule.vm_ids
    assert format_schedule(back, "greedy") == text
    assert text == format_json(back.to_document("greedy").model_dump(mode="json", exclude_none=True))
    assert check(result.instance, document).feasible


def test_a_plan_is_written_without_a_record_of_each_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million tasks took 24 s, nearly all of them for the records and what they were turned into.

    The text is what their document would be: names with quotes, checkpoints every 30, 12.345679 and 100000000000001 s.
    """
    offers = {market: {"price_usd_per_hour": 1, "limit": 1} for market in ("spot", "on-demand")}
    credits = {"baseline_fraction": 0.5, "credits_per_hour": 12}
    instance = Instance(
        name="names",
        deadline_s=100,
        d_spot_s=100,
        checkpoint={"overhead_fraction": 1e-6, "dump_base_s": 1e-6, "dump_s_per_mb": 1},
        vm_types=[
            {"name": "é", "vcpus": 2, "memory_mb": 10**9, "offers": offers},
            {"name": "b", "vcpus": 2, "memory_mb": 10**9, "offers": offers, "burstable": credits},
        ],
        tasks=[
            {"id": name, "memory_mb": memory, "runtime_s": {"é": 1, "b": 2}}
            for name, memory in (('a"\\', 29e-6), ("ü</script>", 11.345679e-6), ("c", 10**8), ("d", 1), ("e", 1))
        ],
    )
    baseline = np.array([False, False, False, False, True])
    plan = Schedule(instance, [0, 1, 3], [0, 0, 0, 1, 2], [0, 1, 0, 1, 0], [0, 0, 1, 0, 0], baseline, ("v\\", "w", "x"))
    text = format_json(plan.to_document('by "me"').model_dump(mode="json", exclude_none=True))
    assert '"checkpoint_interval_s": 30}' in text
    assert '"checkpoint_interval_s": 12.345679}' in text
    assert '"checkpoint_interval_s": 100000000000001}' in text
    assert '"mode": "baseline"}' in text
    monkeypatch.setattr("spotbag.schedules.documents.PlacedTask", None)
    assert format_schedule(plan, 'by "me"') == text


def test_plans_obey_the_schema(plan: Schedule) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(schedule_schema()))
    validator.validate(json.loads(format_schedule(plan, "greedy")))
    assert not validator.is_valid({"format": "spotbag.schedule/1"})
    assert json.loads(schedule_schema()) == ScheduleDocument.model_json_schema()


def test_a_plan_carries_its_survival_certificate(plan: Schedule) -> None:
    vms = (RescueVm(id="rescue-1", type="c3.large", new=True, ready_s=460, end_s=660, cost_usd=0.005),)
    tasks = tuple(RescueTask(id=name, vm="rescue-1", core=1, start_s=460, end_s=660) for name in ("b", "c"))
    survival = Survival(
        level="one-type",
        verdict="survives",
        worst_cost_usd=0.85,
        worst_at_s=400,
        worst_types=("c3.large",),
        least_slack_s=12,
        rescue=Rescue(at_s=400, types=("c3.large",), vms=vms, tasks=tasks),
    )
    text = format_schedule(plan, survival=survival)
    jsonschema.validate(json.loads(text), json.loads(schedule_schema()))
    assert parse_schedule_document(text).survival == survival
    assert max(map(len, text.splitlines())) < 200  # its lists, too, have a record to a line


def test_files_round_trip(plan: Schedule, tmp_path: Path) -> None:
    write_schedule(plan, tmp_path / "plan.json", "greedy")
    back = read_schedule(tmp_path / "plan.json", plan.instance)
    assert back.cost_usd == plan.cost_usd
    assert back.makespan_s == plan.makespan_s


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("tasks", 3, "end_s"), 1, "tasks[3] 't1#4': end_s 1 must be"),
        (("tasks", 3, "vm"), "none", "tasks[3] 't1#4': vm 'none' is no VM of the plan"),
        (("tasks", 3, "id"), "t1#1", "is a duplicate of tasks[0]"),
        (("tasks", 3, "id"), "other", "is not a task of the instance"),
        (("tasks", 3, "core"), 2, "must be below"),
        (("tasks", 3, "mode"), "baseline", "does not exist on"),
        (("vms", 0, "type"), "x", "is not offered by the instance"),
        (("vms", 1, "id"), "c4.large-spot-1", "is a duplicate of vms[0]"),
        (("tasks", 3, "core"), -1, "tasks[3] 't1#4': core -1 must be greater than or equal to 0"),
        (("tasks", 3, "start"), 1, "start is an unknown key (did you mean 'start_s'?)"),
        (("vms", 0, "market"), "bazaar", "vms[0] 'c4.large-spot-1': market 'bazaar' must be 'spot' or 'on-demand'"),
        (("cost_usd",), "cheap", "cost_usd 'cheap' must be a number"),
    ],
)
def test_a_faulty_plan_is_refused(plan: Schedule, place: tuple[Any, ...], value: object, said: str) -> None:
    document = json.loads(format_schedule(plan))
    at = document
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    with pytest.raises(InputError) as caught:
        schedule_of_document(parse_schedule_document(json.dumps(document)), plan.instance)
    assert said in str(caught.value)


def test_a_missing_task_is_named(plan: Schedule) -> None:
    document = json.loads(format_schedule(plan))
    del document["tasks"][5]
    with pytest.raises(InputError, match="'t1#6' of the instance is missing"):
        schedule_of_document(parse_schedule_document(json.dumps(document)), plan.instance)


def test_plans_give_the_checkpoint_interval_of_each_task_on_a_spot_vm(plan: Schedule) -> None:
    spot = plan.instance.offer_is_spot[plan.vm_offer[plan.task_vm]]
    memory = np.array([task.memory_mb for task in plan.instance.tasks])[plan.instance.task_group]
    assert plan.checkpoint_interval_s[spot] == pytest.approx((12.99 + 0.022 * memory[spot]) / 0.1)
    assert np.isinf(plan.checkpoint_interval_s[~spot]).all()
    placed = plan.to_document().tasks
    assert [entry.checkpoint_interval_s is not None for entry in placed] == spot.tolist()


def test_a_hundred_thousand_faulty_entries_are_refused_at_once() -> None:
    text = '{"format": "spotbag.schedule/1", "instance": "x", "vms": [], "tasks": [' + '{"idd": 1},' * 100_000 + "{}]}"
    with pytest.raises(InputError, match="only the first 1000 of 100001 entries were looked at"):
        parse_schedule_document(text)


@pytest.mark.parametrize("seed", range(8))
def test_the_next_task_of_each_core_is_that_of_the_document(seed: int) -> None:
    plan = random_plan(seed)
    placed = sorted(plan.to_document().tasks, key=lambda task: task.start_s)
    begun = {task.id for task in placed[::3]}
    for vm in plan.vm_ids:
        for after_s in (0, 0.5, plan.makespan_s // 2, plan.makespan_s):
            for passed in ((), begun):
                following = [t for t in placed if t.vm == vm and t.start_s >= after_s and t.id not in passed]
                first = {task.core: task for task in reversed(following)}
                assert plan.next_tasks(vm, after_s, passed) == first
    with pytest.raises(InputError, match="vm: is 'nobody', which the plan does not have"):
        plan.next_tasks("nobody")
