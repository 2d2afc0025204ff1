"""What a state leaves of a bag, worked out by hand; plans for it, and their files."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
import random
import re
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.audits.bags.plan import check
from spotbag.core.errors import InputError, SpotbagError
from spotbag.heuristics.bags.rescue import survival_of
from spotbag.instances.instance import Instance
from spotbag.replay.bags.runs import replay_day
from spotbag.schedules.events import (
    TaskFinished,
    TaskStarted,
    VmDraining,
    VmEnded,
    VmHibernated,
    VmPriced,
    VmReady,
    VmResumed,
)
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.schedule_files import (
    format_schedule_csv,
    read_schedule,
    read_schedule_document,
    schedule_of_document,
    write_schedule,
)
from spotbag.schedules.state import State
from spotbag.schedules.vm_state import TaskOnVm, VmState, changed
from spotbag.solvers.bags.replan import replan
from spotbag.solvers.bags.solve import solve
from tests.helpers.rescues import carried_on, random_plan, random_rest
from tests.helpers.soaks import soak_of, some

NEVER = 10**12


def look_at_the_rest(seed: int, ticks: int, fraction: float, late_s: float, spent_usd: float) -> None:
    """Compare what is left of a bag, while a random plan is carried out, with numbers worked out from its document."""
    plan = random_plan(seed)
    instance = plan.instance.replace(objective={"goal": "fastest", "budget_usd": 50.0})
    now_s = Fraction(ticks, 4)
    if now_s > instance.deadline_s - 1:
        return
    state = State.planned(plan, float(now_s))
    waiting = state.waiting_ids(instance)
    vms = []
    for number, vm in enumerate(state.vms):
        running = tuple(
            run.model_copy(update={"end_s": run.start_s + late_s if late_s else None}) for run in vm.running
        )
        changes: dict[str, Any] = {"running": running, "paid_until_s": [None, float(now_s) + 3.5][number % 2]}
        if not running and number % 3 == 0:
            changes["status"] = "draining"
        vms.append(vm.model_copy(update=changes))
    saved = dict.fromkeys(waiting[::2], fraction)
    state = state.replace(vms=tuple(vms), saved=saved, spent_usd=spent_usd)
    if not (waiting or state.running_ids):
        return
    rest = state.remaining(instance)
    begin_s = instance.deadline_s - math.floor(instance.deadline_s - now_s)  # whole seconds before the deadline

    assert rest.deadline_s == math.floor(instance.deadline_s - now_s)
    assert rest.d_spot_s == max(math.floor((instance.d_spot_s or 0) - now_s), 0)
    assert rest.objective.budget_usd == pytest.approx(max(50.0 - spent_usd, 1e-6))
    assert list(rest.task_ids) == [name for name in instance.task_ids if name not in state.done]
    lengths_s, slow = (plan.task_end_s - plan.task_start_s).tolist(), plan.task_baseline.tolist()
    seconds = {name: lengths_s[instance.task_index[name]] for name in state.running_ids}
    overruns = {name: Fraction(math.ceil(late_s), taken) for name, taken in seconds.items() if late_s > taken}
    for name in rest.task_ids:
        task, index = rest.tasks[rest.task_group[rest.task_index[name]]], instance.task_index[name]
        given = instance.tasks[instance.task_group[index]]
        assert task.memory_mb == given.memory_mb
        for number, vm_type in enumerate(instance.vm_types):
            whole = _whole_s(given, vm_type, instance)
            left = NEVER if whole is None else whole
            if whole is not None and name in saved:
                left = max(math.ceil(Fraction(whole) * (1 - Fraction(repr(fraction)))), 1)
            found = int(rest.runtime_s[rest.task_group[rest.task_index[name]], number])
            if whole is not None and name in overruns:
                left = math.ceil(whole * overruns[name])
                rounded = instance.checkpoint is not None or slow[instance.task_index[name]]
                assert found == left or (found > left and rounded)
            else:
                assert (NEVER if found > 10**9 else found) == left
    kinds = {vm_type.name: vm_type for vm_type in instance.vm_types}
    for offer in rest.offers:
        exist = sum((vm.type, vm.market) == (offer.vm_type.name, offer.market) for vm in vms)
        room = max(kinds[offer.vm_type.name].offers[offer.market].limit - exist, 0)
        cap = instance.limits.max_spot if offer.market == "spot" else instance.limits.max_on_demand
        if cap is not None:
            room = min(room, max(cap - sum(vm.market == offer.market for vm in vms), 0))
        assert offer.limit == (room if offer.market in instance.markets else 0)
    assert [machine.id for machine in rest.machines] == [vm.id for vm in vms]
    for machine, vm in zip(rest.machines, vms, strict=True):
        assert (machine.type, machine.market, machine.open) == (vm.type, vm.market, vm.status != "draining")
        if not vm.running:
            assert machine.ready_s == max(math.ceil(Fraction(vm.ready_s) - begin_s), 0)
        paid_s = 0 if vm.paid_until_s is None else math.floor(Fraction(vm.paid_until_s) - begin_s)
        assert machine.paid_until_s == paid_s
        assert [(run.task, run.core) for run in machine.running] == [(run.task, run.core) for run in vm.running]
        for entry, run in zip(machine.running, vm.running, strict=True):
            end_s = run.start_s + seconds[run.task] if run.end_s is None else run.end_s
            expected_s = max(math.ceil(Fraction(end_s) - begin_s), int(end_s <= now_s))
            if run.task in overruns:
                assert entry.start_s <= run.start_s - begin_s
                assert rest.running_end_s[rest.running.task.tolist().index(rest.task_index[run.task])] == expected_s
            else:
                assert entry.start_s == min(expected_s - seconds[run.task], 0)
    assert [*zip(*(column.tolist() for column in rest.running), strict=True)] == [
        (rest.task_index[run.task], number, run.core, run.start_s, run.mode == "baseline")
        for number, machine in enumerate(rest.machines)
        for run in machine.running
    ]


def _whole_s(task: Any, vm_type: Any, instance: Instance) -> int | None:
    """Run time of a whole task in whole seconds; None if it has none there."""
    if math.ceil(task.memory_mb * 1024) > math.floor(vm_type.memory_mb * 1024):
        return None
    if task.runtime_s is None:
        return math.ceil(Fraction(repr(task.base_runtime_s)) / Fraction(repr(vm_type.speed)))
    given = task.runtime_s.get(vm_type.name)
    return None if given is None else math.ceil(Fraction(repr(given)))


CASES = (
    st.integers(0, 10**6),
    st.integers(0, 120),
    st.sampled_from([0.1, 0.25, 0.5, 0.9, 0.999]),
    st.sampled_from([0.0, 0.5, 3.25, 40.0]),
    st.sampled_from([0.0, 1.5, 60.0]),
)


@settings(max_examples=60, deadline=None)
@given(*CASES)
def test_what_is_left_is_what_is_worked_out_by_hand(
    seed: int, ticks: int, fraction: float, late_s: float, spent_usd: float
) -> None:
    look_at_the_rest(seed, ticks, fraction, late_s, spent_usd)


@soak_of(*CASES, sample=500, whole=20_000)
def test_what_is_left_of_thousands_is_what_is_worked_out_by_hand(
    seed: int, ticks: int, fraction: float, late_s: float, spent_usd: float
) -> None:
    look_at_the_rest(seed, ticks, fraction, late_s, spent_usd)


def test_a_task_that_ends_at_the_deadline_does_so_from_a_moment_with_a_fraction_of_a_second_too() -> None:
    """At 5.5 s, a task of 10 s that began at 0 s ends at 10 s, the deadline: 4 s after 6 s, from which plans count."""
    offers = {"on-demand": {"price_usd_per_hour": 1, "limit": 1}}
    vm_types = [{"name": "a", "vcpus": 2, "memory_mb": 1000, "offers": offers}]
    tasks = [{"id": name, "memory_mb": 1, "runtime_s": {"a": runtime_s}} for name, runtime_s in (("t", 10), ("u", 4))]
    bag = Instance(name="half", deadline_s=10, vm_types=vm_types, tasks=tasks)
    running = ({"task": "t", "core": 0, "start_s": 0},)
    vm = {"id": "v", "type": "a", "market": "on-demand", "paid_until_s": 10.0, "running": running}
    rest = State(instance="half", time_s=5.5, vms=(vm,)).remaining(bag)
    assert (rest.deadline_s, rest.running_end_s.tolist(), rest.machine_paid_until_s.tolist()) == (4, [4], [4])
    again = State(instance="half", time_s=5.5, vms=({**vm, "running": ()},), done=("t",)).remaining(bag)
    assert (again.deadline_s, again.tasks[0].runtime_s) == (4, {"a": 4.0})
    # One that ends at 6 s leaves its core at 0 s, so that 4 s more end in time.
    ends = ({"task": "t", "core": 0, "start_s": -4},)
    assert State(instance="half", time_s=5.5, vms=({**vm, "running": ends},)).remaining(bag).running_end_s[0] == 0


def test_a_planned_state_has_the_credits_that_the_plan_leaves() -> None:
    """0.02 credits and 12 an hour: 0.02 + 5 * 12/3600 after 5 s of waiting, 1/60 a second less at full speed.

    From 18 s on the task runs at full speed: at 20.5 s there are 0.02 + 20.5 * 12/3600 - 2.5/60 credits, and at 21 s,
    from which plans count, half a second's (12/3600 - 1/60) less.
    """
    credits = {"baseline_fraction": 0.05, "credits_per_hour": 12, "initial_credits": 0.02, "max_credits": 100}
    offers = {"on-demand": {"price_usd_per_hour": 0.36, "limit": 1}}
    vm_types = [{"name": "b", "vcpus": 1, "memory_mb": 1000, "offers": offers, "burstable": credits}]
    tasks = [{"id": "t", "memory_mb": 1, "runtime_s": {"b": 6}}]
    bag = Instance(name="credits", deadline_s=25, vm_types=vm_types, tasks=tasks)
    one = np.zeros(1, dtype=np.int64)
    plan = Schedule(bag, one, one, one, np.array([18]), one > 0)
    assert State.planned(plan, 0.0).vms[0].credits is None  # its first ones
    assert State.planned(plan, 5.0).vms[0].credits == pytest.approx(0.02 + 5 * 12 / 3600)
    late = State.planned(plan, 20.5)
    assert late.vms[0].credits == pytest.approx(0.02 + 20.5 * 12 / 3600 - 2.5 / 60)
    assert late.remaining(bag).machines[0].credits == pytest.approx(0.02 + 21 * 12 / 3600 - 3 / 60)


@pytest.mark.parametrize(
    "billing", some([{"fixed_usd": 0.5, "minimum_s": 7}, {}, {"block_s": 5}, {"boot_s": 3, "block_s": 4}], fast=1)
)
def test_the_rest_of_a_plan_costs_what_has_not_been_spent_and_ends_when_it_did(billing: dict[str, Any]) -> None:
    looked = ready = 0
    for seed in range(20):
        plan = random_plan(seed)
        plan = dataclasses.replace(plan, instance=plan.instance.replace(billing=billing))
        boot_s = plan.instance.boot_overhead_s
        for time_s in sorted({*range(0, plan.makespan_s, 3), boot_s}):
            state = State.planned(plan, time_s)
            rest = carried_on(plan, state)
            report = check(rest.instance, rest)
            assert report.violations == ()
            assert report.cost_usd + state.spent_usd == pytest.approx(plan.cost_usd, abs=1e-9)
            assert report.makespan_s == rest.makespan_s == plan.makespan_s - time_s
            looked += 1
            ready += time_s == boot_s
    assert looked > 60
    assert ready == 20


@pytest.mark.parametrize("billing", [{"fixed_usd": 0.5, "minimum_s": 7}, {"block_s": 5}, {"boot_s": 3, "block_s": 4}])
def test_money_of_a_plan_that_is_carried_out_is_the_cloud_s_bill(billing: dict[str, Any]) -> None:
    """Told when VMs are ready and end, a state has spent what the plan costs until then, and at last all of it."""
    for seed in range(20):
        plan = random_plan(seed)
        types = [vm_type.model_copy(update={"setup_s": seed % 3}) for vm_type in plan.instance.vm_types]
        bag = plan.instance.replace(billing=billing, vm_types=types, deadline_s=plan.instance.deadline_s + 10)
        plan = dataclasses.replace(plan, instance=bag, task_start_s=plan.task_start_s + seed % 3)
        ends_s, ready_s = (dict(zip(plan.vm_ids, of.tolist(), strict=True)) for of in (plan.vm_end_s, plan.vm_ready_s))
        state = State.begin(plan)
        for time_s in range(plan.makespan_s + 1):
            told = [VmReady(name) for name, at_s in ready_s.items() if at_s == time_s and ends_s[name] > time_s]
            gone = [VmEnded(name) for name, at_s in ends_s.items() if at_s == time_s]
            state = state.advance(time_s, *told, *gone)
            assert state.spent_usd == pytest.approx(State.planned(plan, time_s).spent_usd, abs=1e-9)
        assert state.spent_usd == pytest.approx(plan.cost_usd, abs=1e-9)
        again = State.parse(State.planned(plan, ready_s[plan.vm_ids[0]]).to_text())
        later = again.advance(again.time_s + 1.5).spent_usd
        assert again.advance(again.time_s + 0.5).advance(again.time_s + 1.5).spent_usd == pytest.approx(later, abs=1e-9)


def test_a_session_that_begins_anew_is_billed_anew() -> None:
    """A minimum of 60 s at $ 0.001, and $ 0.50 each time: ready at 10 s, away from 30 to 100 s, ended at 180 s."""
    rules = {"fixed_usd": 0.5, "minimum_s": 60}
    vm = {"id": "v", "type": "a", "market": "spot", "status": "launching", "ready_s": 10}
    priced = vm | {"price_usd_per_hour": 3.6, "billing": rules}
    state = State.from_document({"format": "spotbag.state/1", "instance": "bag", "vms": [priced]}, "state")
    usd = []
    for time_s, event in (
        (10, VmReady("v")),
        (20, None),
        (30, VmHibernated("v")),
        (90, None),
        (100, VmResumed("v")),
        (180, VmEnded("v")),
        (500, None),
    ):
        state = state.advance(time_s, *filter(None, [event]))
        usd.append(state.spent_usd)
    assert usd == pytest.approx([0.56, 0.56, 0.56, 0.56, 1.12, 1.14, 1.14])


def test_a_vm_that_runs_a_task_is_billed_from_when_it_was_to_be_ready() -> None:
    vm = {"id": "v", "type": "a", "market": "spot", "status": "launching", "ready_s": 10, "price_usd_per_hour": 3.6}
    priced = vm | {"billing": {"block_s": 100}}
    state = State.from_document({"format": "spotbag.state/1", "instance": "bag", "vms": [priced]}, "state")
    assert state.advance(9, TaskStarted("t", "v", 0)).vms[0].ready_s == 9
    assert state.advance(115, TaskStarted("t", "v", 0)).spent_usd == pytest.approx(0.2)


@pytest.mark.parametrize("boot_s", [0, 30])
def test_a_vm_that_launches_has_paid_nothing_whenever_it_was_to_be_ready(boot_s: int) -> None:
    offers = {"on-demand": {"price_usd_per_hour": 3.6, "limit": 1}}
    bag = Instance(
        name="bag", deadline_s=1000, boot_overhead_s=boot_s, billing={"fixed_usd": 0.5, "minimum_s": 60},
        vm_types=[{"name": "a", "vcpus": 1, "memory_mb": 1000, "offers": offers}],
        tasks=[{"id": "t", "memory_mb": 1, "base_runtime_s": 100, "count": 2}],
    )  # fmt: skip
    plan = solve(bag, "greedy").schedule
    assert plan is not None
    assert plan.cost_usd == pytest.approx(0.70)  # a fixed part, and 200 s at $ 0.001
    begun = State.begin(plan)
    for launching in (begun, begun.advance(boot_s), begun.advance(boot_s + 7.5)):
        rest = replan(bag, launching, iterations=100).schedule
        assert rest is not None
        assert rest.cost_usd == pytest.approx(0.70)
        report = check(bag, rest, state=launching)
        assert report.violations == ()
        assert report.cost_usd == pytest.approx(0.70)
        again = Instance.from_document(rest.instance.to_document(), "again")
        assert again.machines == rest.instance.machines
        assert again.machine_opening_usd.tolist() == rest.instance.machine_opening_usd.tolist()
    ready = begun.advance(boot_s, VmReady(plan.vm_ids[0]))
    assert "launching" not in ready.remaining(bag).to_document()["machines"][0]


def test_what_is_saved_of_a_task_that_runs_is_what_was_saved_when_it_started() -> None:
    offers = {"spot": {"price_usd_per_hour": 1.0, "limit": 1}}
    document = {
        "format": "spotbag.instance/1",
        "name": "one",
        "deadline_s": 500,
        "d_spot_s": 500,
        "checkpoint": {"overhead_fraction": 0.1, "dump_base_s": 5, "dump_s_per_mb": 0},
        "vm_types": [{"name": "a", "vcpus": 1, "memory_mb": 1000, "offers": offers}],
        "tasks": [{"id": "t", "memory_mb": 10, "base_runtime_s": 200}],
    }
    vm = VmState(id="v", type="a", market="spot", running=(TaskOnVm(task="t", core=0, start_s=80.0),))
    state = State(instance="one", time_s=100, saved={"t": 0.5}, vms=(vm,))
    rest = state.remaining(Instance.from_document(document, "one"))
    # 100 s are left of 200 s when it starts at 80 s, and take 105 s with the checkpoint after 50 s: it ends at 185 s.
    assert rest.runtime_s.tolist() == [[100]]
    assert rest.running.start_s.tolist() == [-20]
    assert rest.running_end_s.tolist() == [85]


def test_the_state_in_formats_md_leaves_what_the_page_says() -> None:
    page = (Path(__file__).parents[2] / "docs" / "formats.md").read_text()
    instance = Instance.parse(re.findall(r"```json\n(.*?)```", page, re.DOTALL)[0])
    (text,) = re.findall(r"```json state\n(.*?)```", page, re.DOTALL)
    rest = State.parse(text).remaining(instance)
    assert (rest.deadline_s, rest.task_ids) == (2400, ("b#1", "b#2"))
    # Of b#2, 150 s of 200 s are left; b#1 has run for 150 s, and ends in 50 s.
    assert rest.runtime_s[:, 0].tolist() == [200, 150]
    assert rest.running.start_s.tolist() == [-150]
    assert rest.machine_ready_s.tolist() == [0, 20]


def test_plans_from_a_state_and_their_certificates_are_read_back(tmp_path: Path) -> None:
    for seed in range(8):
        plan = random_rest(seed)
        survival = survival_of(plan, "one-type")
        write_schedule(plan, tmp_path / "plan.json", "by chance", survival)
        again = read_schedule(tmp_path / "plan.json", plan.instance)
        for name in ("vm_offer", "task_vm", "task_core", "task_start_s", "task_baseline", "vm_machine"):
            assert getattr(again, name).tolist() == getattr(plan, name).tolist()
        assert (again.vm_ids, again.cost_usd) == (plan.vm_ids, plan.cost_usd)
        assert read_schedule_document(tmp_path / "plan.json").survival == survival
        rest = Instance.from_document(plan.instance.to_document(), "rest")
        assert check(rest, read_schedule(tmp_path / "plan.json", rest)).violations == ()
        rows = list(csv.DictReader(io.StringIO(format_schedule_csv(plan))))
        starts = dict(zip(plan.instance.task_ids, plan.task_start_s.tolist(), strict=True))
        assert {row["task"]: int(row["start_s"]) for row in rows} == starts


@pytest.mark.parametrize("policy", ["static", "hads", "on-demand"])
def test_a_plan_from_a_state_is_not_replayed(policy: str) -> None:
    plan = random_plan(3)
    rest = carried_on(plan, State.planned(plan, plan.makespan_s - 1))
    with pytest.raises(SpotbagError, match=r"the plan goes on from a state, with .* that exist already; replays begin"):
        replay_day(rest, policy)


def test_times_of_states_are_numbers_and_not_texts() -> None:
    plan = random_plan(1)
    document = State.begin(plan).to_document()
    assert State.from_document(document | {"time_s": 12}, "state").time_s == 12
    with pytest.raises(InputError, match="time_s"):
        State.from_document(document | {"time_s": "12"}, "state")
    document["vms"][0]["ready_s"] = "60"
    with pytest.raises(InputError, match="ready_s"):
        State.from_document(document, "state")


@pytest.mark.parametrize("task", ["b", "b#0", "b#4", "b#01", "b#１", "b#", "#1", "a#1", "c#1", "c#1#4"])
def test_machines_run_tasks_of_the_bag_only(task: str) -> None:
    with pytest.raises(InputError, match="is no task of the bag"):
        _of_one_machine(task, 3)


@pytest.mark.parametrize(("task", "count"), [("a", 3), ("b#1", 3), ("b#3", 3), ("c#1#1", 3), ("b#2", 10**6)])
def test_ids_of_millions_of_tasks_are_not_spelled_out_to_find_those_that_run(task: str, count: int) -> None:
    tracemalloc.start()
    try:
        assert _of_one_machine(task, count).machines[0].running[0].task == task
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()


def _of_one_machine(task: str, count: int) -> Instance:
    tasks = [("a", 1), ("b", count), ("c#1", 3)]
    document = {
        "format": "spotbag.instance/1",
        "name": "one",
        "deadline_s": 500,
        "vm_types": [
            {
                "name": "t",
                "vcpus": 1,
                "memory_mb": 1000,
                "offers": {"spot": {"price_usd_per_hour": 1.0, "limit": 1}},
            }
        ],
        "tasks": [{"id": name, "memory_mb": 1, "runtime_s": {"t": 5}, "count": number} for name, number in tasks],
        "machines": [{"id": "m", "type": "t", "market": "spot", "running": [{"task": task, "core": 0, "start_s": 0}]}],
    }
    return Instance.from_document(document, "one")


_FOLLOWING = (
    *("duration_s", "sustained_s", "checkpoint_interval_s", "memory_kb", "runtime_s", "open_tasks", "open_size"),
    *("offers", "existing_vms", "offer_is_burstable", "offer_price_usd_per_s", "offer_is_spot"),
    *("machine_open", "machine_offer", "machine_ready_s", "machine_paid_until_s", "machine_held_s"),
    *("machine_core_free_s", "running_end_s"),
)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_what_follows_of_a_rest_is_what_follows_of_its_fields(seed: int) -> None:
    """What a state works out at once, or takes from other states of the bag, and what an instance works out itself."""
    rng, plan = random.Random(f"follows {seed}"), random_plan(seed)
    for _ in range(3):  # of the same bag
        state = State.planned(plan, rng.randrange(plan.makespan_s))
        for vm in state.vms:
            happens = rng.choice([None, None, VmEnded, VmDraining, VmHibernated])
            if happens is not None:
                state = state.advance(state.time_s, happens(vm.id))
        waiting = state.waiting_ids(plan.instance)
        saved = {name: 0.5 for name in waiting if rng.random() < 0.2} if rng.random() < 0.5 else {}
        rest = state.replace(saved=saved).remaining(plan.instance)
        anew = Instance.model_construct(**{name: getattr(rest, name) for name in Instance.model_fields})
        for name in _FOLLOWING:
            np.testing.assert_equal(getattr(rest, name), getattr(anew, name), name)
            found = getattr(rest, name)
            assert not isinstance(found, np.ndarray) or not found.flags.writeable


def late_task(end_s: float, deadline_s: int, **fields: Any) -> tuple[Instance, State]:
    """A task of 100 s that has run for 50 s and is expected to end at another moment, and one that waits."""
    offer = {"price_usd_per_hour": 3.6, "limit": 1}
    bag = Instance(
        name="late",
        deadline_s=deadline_s,
        d_spot_s=deadline_s,
        survive="none",
        vm_types=[
            {"name": name, "vcpus": 1, "memory_mb": 100, "offers": {"spot": offer, "on-demand": offer}}
            for name in ("a", "b")
        ],
        tasks=[{"id": name, "memory_mb": 1, "runtime_s": {"a": 100, "b": 40}} for name in ("runs", "waits")],
        **fields,
    )
    runs = TaskOnVm(task="runs", core=0, start_s=0.0, end_s=end_s)
    vm = VmState(id="mine", type="a", market="spot", running=(runs,))
    return bag, State(instance="late", time_s=50.0, vms=(vm,))


def test_a_running_task_that_takes_longer_than_it_should_ends_when_it_is_expected() -> None:
    # It was planned to end at 150 s, its whole run time from now on, and a deadline of 250 s was held to be kept.
    bag, state = late_task(300.0, 600)
    left = state.remaining(bag)
    assert left.running_end_s.tolist() == [250]
    assert left.runtime_s[0].tolist() == [300, 120]  # three times as long as was said, there and anywhere else
    assert left.runtime_s[1].tolist() == [100, 40]
    plan = solve(left, "search").schedule
    assert plan is not None
    assert plan.task_end_s[0] == 250
    assert check(left, plan).feasible


def test_a_running_task_that_ends_after_the_deadline_leaves_no_plan() -> None:
    bag, state = late_task(300.0, 250)
    assert replan(bag, state, time_limit_s=0.05).status == "infeasible"


def test_a_task_that_ends_as_it_should_or_sooner_is_as_long_as_was_said() -> None:
    for end_s, left_s in ((100.0, 50), (70.5, 21), (30.0, 1)):
        bag, state = late_task(end_s, 600)
        left = state.remaining(bag)
        assert left.running_end_s.tolist() == [left_s]
        assert left.runtime_s[0].tolist() == [100, 40]


def test_a_late_task_with_checkpoints_ends_when_it_is_expected() -> None:
    # More checkpoints are taken in a longer time; what follows from a state is what its document says.
    checkpoint = {"overhead_fraction": 0.25, "dump_base_s": 3.0, "dump_s_per_mb": 0.0}
    for end_s in (101.0, 131.5, 199.0, 420.0):
        bag, state = late_task(end_s, 1000, checkpoint=checkpoint)
        left = state.remaining(bag)
        assert left.running_end_s.tolist() == [math.ceil(end_s - 50)]
        again = Instance.from_document(left.to_document(), "again")
        assert again.running_end_s.tolist() == left.running_end_s.tolist()
        assert again.duration_s.tolist() == left.duration_s.tolist()


def test_a_start_with_none_of_the_tasks_that_are_left_is_no_error() -> None:
    # The queue ran empty, and a job came: the last plan has nothing of it, and was refused again and again.
    bag, state = late_task(100.0, 600)
    plan = solve(bag, "greedy").schedule
    grown = bag.replace(tasks=(*bag.tasks, bag.tasks[1].model_copy(update={"id": "new"})))
    empty = state.advance(120.0, TaskFinished("runs"), TaskStarted("waits", "mine", 0)).advance(
        220.0, TaskFinished("waits")
    )
    found = replan(grown, empty, start=plan, time_limit_s=0.05)
    assert found.schedule is not None
    assert found.schedule.instance.task_ids == ("new",)


@pytest.mark.parametrize(("price", "cost_usd", "vm"), [(0.18, 0.005, "v"), (0, 0, "v"), (3.6, 0.01, "a-on-demand-1")])
def test_a_vm_is_billed_at_its_own_price_if_it_has_one(price: float, cost_usd: float, vm: str) -> None:
    # Two tasks of 100 s on the two cores of one VM: 100 s at $ 0.36 an hour, or at what this VM costs.
    offers = {"on-demand": {"price_usd_per_hour": 0.36, "limit": 4}}
    bag = Instance.from_document(
        {
            "format": "spotbag.instance/1",
            "name": "bag",
            "deadline_s": 900,
            "vm_types": [{"name": "a", "vcpus": 2, "memory_mb": 1000, "offers": offers}],
            "tasks": [{"id": f"t{k}", "memory_mb": 100, "runtime_s": {"a": 100}} for k in range(2)],
        },
        "bag",
    )
    vms = (VmState(id="v", type="a", market="on-demand"),)
    state = State(instance="bag", time_s=50, vms=vms).advance(50, VmPriced("v", price))
    rest = state.remaining(bag)
    result = replan(bag, state)
    assert result.schedule is not None
    assert (result.schedule.vm_ids, result.schedule.cost_usd) == ((vm,), pytest.approx(cost_usd))
    assert check(bag, result.schedule, state=state).cost_usd == pytest.approx(cost_usd)
    assert result.bound is not None
    assert result.bound <= cost_usd * (1 + 1e-9)
    # No more VMs may be rented at that price, and a plan that is written is read as the same.
    assert [offer.limit for offer in rest.offers] == [3, 0]
    document = result.schedule.to_document()
    assert schedule_of_document(document, rest).cost_usd == result.schedule.cost_usd
    assert Instance.parse(rest.to_text()).offers == rest.offers


def test_the_checker_reads_a_state_by_itself() -> None:
    """A plan that does not know what the state says is refused: each rule is broken once."""
    offers = {"on-demand": {"price_usd_per_hour": 0.36, "limit": 4}}
    bag = Instance.from_document(
        {
            "format": "spotbag.instance/1",
            "name": "bag",
            "deadline_s": 900,
            "vm_types": [{"name": "a", "vcpus": 2, "memory_mb": 1000, "offers": offers}],
            "tasks": [{"id": f"t{k}", "memory_mb": 100, "runtime_s": {"a": 100}} for k in range(3)],
        },
        "bag",
    )
    run = TaskOnVm(task="t0", core=0, start_s=0)
    vms = [VmState(id=name, type="a", market="on-demand") for name in ("v", "w")]
    known = State(instance="bag", time_s=50, vms=(changed(vms[0], running=(run,)), vms[1]))
    rest = known.remaining(bag)
    plan = Schedule(rest, np.array([0, 0]), [0, 0, 1], [0, 1, 0], [-50, 0, 0], np.zeros(3, dtype=bool), ("v", "w"))
    assert check(bag, plan, state=known).feasible
    # t0 ends at 50 s, t1 on v and t2 on w at 100 s, all from the state on.
    cases: list[tuple[dict[str, Any], str]] = [
        (
            {"running": (run.model_copy(update={"end_s": 300.0}),)},
            "task 't0' ends at 50 s; the state expects it to end at 250 s",
        ),
        ({"running": (run,), "status": "draining"}, "task 't1' is to start on v, which is draining"),
        ({"running": (run,), "status": "draining", "until_s": 80.0}, "task 't0' ends at 50 s; v goes at 30 s"),
        ({"running": (), "status": "launching", "ready_s": 60.0}, "task 't1' starts at 0 s; v is ready at 10 s"),
    ]
    for changes, said in cases:
        state = known.replace(vms=(changed(vms[0], **changes), vms[1]))
        found = {violation.message: violation.rule for violation in check(bag, plan, state=state).violations}
        assert found[said] == "state"


def test_nothing_joins_tasks_that_need_more_memory_than_there_is() -> None:
    """Two tasks of 600 MB run on 1000 MB, as the first was late: replan made a plan that its own check refused."""
    offers = {"on-demand": {"price_usd_per_hour": 0.36, "limit": 4}}
    bag = Instance.from_document(
        {
            "format": "spotbag.instance/1",
            "name": "bag",
            "deadline_s": 900,
            "vm_types": [{"name": "a", "vcpus": 4, "memory_mb": 1000, "offers": offers}],
            "tasks": [{"id": f"t{k}", "memory_mb": 600 if k < 2 else 10, "runtime_s": {"a": 100}} for k in range(4)],
        },
        "bag",
    )
    runs = tuple(TaskOnVm(task=f"t{core}", core=core, start_s=0) for core in range(2))
    state = State(instance="bag", time_s=50, vms=(VmState(id="v", type="a", market="on-demand", running=runs),))
    assert [machine.open for machine in state.remaining(bag).machines] == [False]
    for time_limit_s in (0.05, 2.0):
        result = replan(bag, state, time_limit_s=time_limit_s)
        assert any("need more memory than there is" in text and "v" in text for text in result.warnings)
        assert result.schedule is not None
        assert check(bag, result.schedule, state=state).feasible
    joined = Schedule(
        result.instance, np.array([0]), [0] * 4, [0, 1, 2, 3], [-50, -50, 0, 60], np.zeros(4, dtype=bool), ("v",)
    )
    assert "memory" in {violation.rule for violation in check(bag, joined, state=state).violations}
