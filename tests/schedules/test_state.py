"""States: what happens, event by event."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.core.errors import InputError
from spotbag.core.record_lists import picked
from spotbag.core.records import made_all
from spotbag.instances.instance import Instance
from spotbag.schedules.events import (
    Event,
    Spent,
    TaskExpected,
    TaskFailed,
    TaskFinished,
    TaskSaved,
    TaskStarted,
    TaskWithdrawn,
    VmCredits,
    VmDraining,
    VmEnded,
    VmExpected,
    VmHibernated,
    VmPaid,
    VmPriced,
    VmReady,
    VmRequested,
    VmResumed,
)
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.state import State
from spotbag.schedules.vm_state import TaskOnVm, VmState
from tests.helpers.rescues import random_plan

BAG = Instance.from_document(
    {
        "format": "spotbag.instance/1",
        "name": "bag",
        "deadline_s": 500,
        "d_spot_s": 400,
        "boot_overhead_s": 10,
        "vm_types": [
            {
                "name": "a",
                "vcpus": 2,
                "memory_mb": 1000,
                "offers": {
                    "spot": {"price_usd_per_hour": 3.6, "limit": 2},
                    "on-demand": {"price_usd_per_hour": 7.2, "limit": 2},
                },
            }
        ],
        "tasks": [{"id": "t", "count": 4, "memory_mb": 100, "runtime_s": {"a": 50}}],
    },
    "bag",
)
T1, T2, T3, T4 = BAG.task_ids
PLAN = Schedule(
    BAG,
    np.array([0, 1]),
    np.array([0, 0, 0, 1]),
    np.array([0, 1, 0, 0]),
    np.array([10, 10, 60, 10]),
    np.zeros(4, dtype=bool),
    ("v", "w"),
)


@pytest.fixture(scope="module")
def state() -> State:
    """At 20 s: both VMs are ready, the first runs two tasks, the second none."""
    begun = State.begin(PLAN).advance(10, VmReady("v"), VmReady("w"))
    return begun.advance(20, TaskStarted(T1, "v", 0), TaskStarted(T2, "v", 1))


def vm_of(state: State, name: str) -> VmState:
    return next(vm for vm in state.vms if vm.id == name)


def test_a_plan_that_is_begun_has_requested_its_vms() -> None:
    begun = State.begin(PLAN)
    assert (begun.instance, begun.time_s, begun.spent_usd, begun.done) == ("bag", 0.0, 0.0, ())
    assert [(vm.id, vm.type, vm.market, vm.status, vm.ready_s) for vm in begun.vms] == [
        ("v", "a", "spot", "launching", 10.0),
        ("w", "a", "on-demand", "launching", 10.0),
    ]
    assert begun.waiting_ids(BAG) == BAG.task_ids
    rest = begun.remaining(BAG)
    assert [(machine.ready_s, machine.open) for machine in rest.machines] == [(10, True)] * 2
    assert begun.advance(4).remaining(BAG).machine_ready_s.tolist() == [6, 6]


def test_tasks_start_end_and_fail(state: State) -> None:
    assert state.running_ids == (T1, T2)
    assert [(run.core, run.start_s) for run in vm_of(state, "v").running] == [(0, 20.0), (1, 20.0)]
    after = state.advance(70, TaskFinished(T1), TaskFailed(T2), TaskSaved(T2, 0.5))
    assert (after.done, after.running_ids, after.waiting_ids(BAG)) == ((T1,), (), (T2, T3, T4))
    rest = after.remaining(BAG)
    assert rest.task_ids == (T2, T3, T4)
    assert rest.runtime_s[:, 0].tolist() == [25, 50, 50]
    assert (rest.deadline_s, rest.d_spot_s) == (430, 330)
    # What is saved is forgotten once the task is done.
    done = after.advance(80, TaskStarted(T2, "v", 0)).advance(110, TaskFinished(T2))
    assert (done.done, dict(done.saved)) == ((T1, T2), {})
    # A core is free for the next one in the same step.
    assert state.advance(70, TaskFinished(T1), TaskStarted(T3, "v", 0)).running_ids == (T2, T3)


def test_vms_drain_hibernate_resume_and_end(state: State) -> None:
    draining = state.advance(30, VmDraining("v"))
    assert (vm_of(draining, "v").status, draining.running_ids) == ("draining", (T1, T2))
    machine, other = draining.remaining(BAG).machines
    assert (machine.open, len(machine.running), other.open) == (False, 2, True)
    asleep = state.advance(30, VmHibernated("v"), TaskSaved(T1, 0.2))
    assert (vm_of(asleep, "v").status, asleep.waiting_ids(BAG)) == ("hibernated", BAG.task_ids)
    rest = asleep.remaining(BAG)
    assert (rest.machines[0].open, rest.runtime_s[:, 0].tolist()) == (False, [40, 50, 50, 50])
    assert vm_of(asleep.advance(40, VmResumed("v")), "v").status == "running"
    gone = state.advance(30, VmEnded("v"))
    assert ([vm.id for vm in gone.vms], gone.waiting_ids(BAG)) == (["w"], BAG.task_ids)
    # Its place among those that may be rented is free again.
    assert [state.remaining(BAG).offers[0].limit, gone.remaining(BAG).offers[0].limit] == [1, 2]


def test_what_a_vm_that_goes_cannot_end_is_planned_elsewhere(state: State) -> None:
    # Its tasks end at 70 s: at 69.9 s it is too early for both, at 80 s for the one that takes longer.
    leaving = state.advance(30, VmDraining("v", until_s=70), TaskExpected(T2, 80))
    rest = leaving.remaining(BAG)
    assert (rest.machines[0].open, [run.task for run in rest.machines[0].running]) == (False, [T1])
    assert rest.running_end_s.tolist() == [40]
    gone = state.advance(30, VmDraining("v", until_s=69.9)).remaining(BAG)
    assert (gone.machines[0].open, gone.machines[0].running, len(gone.open_tasks)) == (False, (), 4)
    # One that stays after all, or is back, takes tasks again.
    back = leaving.advance(35, VmReady("v"))
    assert (vm_of(back, "v").until_s, len(back.remaining(BAG).machines[0].running)) == (None, 2)


def test_a_task_that_is_withdrawn_is_not_planned_whether_the_bag_has_it_or_not(state: State) -> None:
    after = state.advance(70, TaskFinished(T1), TaskWithdrawn(T1), TaskWithdrawn(T2), TaskWithdrawn(T3))
    assert (after.done, after.withdrawn, after.running_ids) == ((), (T1, T2, T3), ())
    assert (after.waiting_ids(BAG), after.remaining(BAG).task_ids) == ((T4,), (T4,))
    smaller = BAG.replace(tasks=[{"id": T4, "memory_mb": 100, "runtime_s": {"a": 50}}])
    assert after.remaining(smaller).task_ids == (T4,)
    assert State.parse(after.to_text()) == after
    with pytest.raises(InputError, match="it is withdrawn"):
        after.advance(80, TaskStarted(T2, "v", 0))


def test_vms_are_requested_and_those_of_a_plan_followed(state: State) -> None:
    new = VmState(id="n", type="a", market="on-demand", status="launching", ready_s=40)
    assert [vm.id for vm in state.advance(30, VmRequested(new)).vms] == ["v", "w", "n"]
    rest = state.remaining(BAG)
    plan = Schedule(
        rest,
        np.array([0, 0]),
        np.array([0, 0, 1, 1]),
        np.array([0, 1, 0, 1]),
        np.array([0, 0, 10, 10]),
        np.zeros(4, dtype=bool),
        ("v", "new"),
    )
    followed = state.follow(plan)
    assert [vm.id for vm in followed.vms] == ["v", "w", "new"]
    assert (vm_of(followed, "new").status, vm_of(followed, "new").ready_s) == ("launching", 30.0)
    # A task that starts on a VM that was launching shows that it is ready.
    assert vm_of(followed.advance(30, TaskStarted(T3, "new", 0)), "new").status == "running"


def test_money_is_spent_by_the_second_unless_the_bill_is_known(state: State) -> None:
    assert state.spent_usd == pytest.approx(10 * (3.6 + 7.2) / 3600)  # from 10 s to 20 s
    assert state.advance(30, Spent(1.5)).spent_usd == 1.5
    assert state.advance(30, VmHibernated("v")).advance(40).spent_usd == pytest.approx(0.03 + 0.01 + 0.02 + 0.02)
    paid = state.replace(vms=(vm_of(state, "w").model_copy(update={"paid_until_s": 60.0}),))
    assert paid.advance(90).spent_usd - state.spent_usd == pytest.approx(30 * 7.2 / 3600)
    budget = BAG.replace(objective={"goal": "fastest", "budget_usd": 1.0})
    assert state.remaining(budget).objective.budget_usd == pytest.approx(1.0 - state.spent_usd)


def test_a_task_that_should_have_ended_ends_a_second_from_now(state: State) -> None:
    rest = state.advance(75).remaining(BAG)
    assert [run.start_s for run in rest.machines[0].running] == [-49, -49]
    longer = vm_of(state, "v").running[0].model_copy(update={"end_s": 90.5})
    vms = (vm_of(state, "v").model_copy(update={"running": (longer,)}),)
    rest = state.replace(vms=vms, time_s=75.0).remaining(BAG)
    assert (rest.machines[0].running[0].start_s, rest.running_end_s[0]) == (-55, 16)  # since 20 s, and so 71 s long


@pytest.mark.parametrize(
    ("time_s", "events", "said"),
    [
        (19, [], "cannot go on to 19 s: it is at 20 s"),
        (float("nan"), [], "cannot go on to nan s"),
        (float("inf"), [], "cannot go on to inf s"),
        (30, [VmReady("x")], "has no VM 'x' (VMs: v, w)"),
        (30, [VmEnded("x")], "has no VM 'x'"),
        (30, [VmHibernated("x")], "has no VM 'x'"),
        (30, [VmResumed("x")], "has no VM 'x'"),
        (30, [VmDraining("x")], "has no VM 'x'"),
        (30, [TaskFinished(T3)], f"does not run the task '{T3}'"),
        (30, [TaskFailed(T3)], f"does not run the task '{T3}'"),
        (30, [VmRequested(VmState(id="v", type="a", market="spot"))], "has a VM 'v' already"),
        (30, [TaskStarted(T3, "x", 0)], f"has no VM 'x' on which the task '{T3}' could start"),
        (30, [TaskStarted(T3, "v", 0)], f"core 0 of 'v' runs '{T1}'"),
        (30, [TaskStarted(T1, "w", 0)], "it runs already"),
        (30, [TaskStarted(T3, "w", 0), TaskStarted(T4, "w", 0)], f"core 0 of 'w' runs '{T3}'"),
        (30, [VmEnded("w"), TaskStarted(T3, "w", 0)], "has no VM 'w'"),
    ],
)
def test_what_cannot_have_happened_is_refused(state: State, time_s: float, events: list[Event], said: str) -> None:
    with pytest.raises(InputError) as caught:
        state.advance(time_s, *events)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"instance": "other"}, "is of the instance 'other', not of 'bag'"),
        ({"done": BAG.task_ids, "vms": ()}, "leaves nothing to be planned: all tasks are done"),
        ({"time_s": 500.0}, "is at 500 s, and the deadline was 500 s: 4 tasks are left; give the instance a later"),
        ({"done": ("x",)}, "names the task 'x', which 'bag' does not have"),
        ({"saved": {"x": 0.5}}, "names the task 'x'"),
        ({"vms": (VmState(id="v", type="a", market="spot", running=(TaskOnVm(task="x", core=0, start_s=0),)),)}, "'x'"),
        ({"vms": (VmState(id="v", type="b", market="spot"),)}, "has the VM 'v', but 'bag' has no spot offer of b"),
        (
            {"vms": (VmState(id="v", type="a", market="spot", running=(TaskOnVm(task=T1, core=2, start_s=0),)),)},
            f"has the task '{T1}' on core 2 of 'v', where it cannot run",
        ),
    ],
)
def test_a_state_that_does_not_suit_the_bag_is_refused(state: State, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        state.replace(**changes).remaining(BAG)
    assert said in str(caught.value)


def test_what_is_left_is_no_bag_to_apply_a_state_to(state: State) -> None:
    with pytest.raises(InputError, match="not to what a state has left of it"):
        state.remaining(state.remaining(BAG))


@pytest.mark.parametrize(
    ("vms", "done", "said"),
    [
        ([{"running": [(T1, 0, 5), (T2, 0, 5)]}], (), "two tasks run on it"),
        ([{"running": [(T1, 0, 5), (T1, 1, 5)]}], (), "runs twice"),
        ([{"running": [(T1, 0, 5)]}], (T1,), "is done, and cannot run here"),
        ([{"running": [(T1, 0, 21)]}], (), "is after the moment of the state (20 s)"),
        ([{"running": [(T1, 0, 5)], "status": "hibernated"}], (), "runs tasks, and is hibernated"),
        ([{"running": [(T1, 0, 5)], "status": "launching"}], (), "runs tasks, and is launching"),
        ([{"until_s": 50}], (), "is of draining VMs; this one is running"),
        ([{}, {}], (), "id"),
        ([], (T1, T1), "id"),
    ],
)
def test_a_state_that_contradicts_itself_is_refused(vms: list[Any], done: tuple[str, ...], said: str) -> None:
    rows = [
        {"id": "v", "type": "a", "market": "spot"}
        | vm
        | {"running": [{"task": task, "core": core, "start_s": at} for task, core, at in vm.get("running", ())]}
        for vm in vms
    ]
    document = {"format": "spotbag.state/1", "instance": "bag", "time_s": 20, "done": list(done), "vms": rows}
    with pytest.raises(InputError) as caught:
        State.from_document(document, "state")
    assert said in str(caught.value)


def test_states_are_written_and_read_back(state: State) -> None:
    full = state.advance(
        30,
        TaskFinished(T1),
        VmHibernated("w"),
        VmRequested(VmState(id="n", type="a", market="spot")),
        TaskSaved(T3, 0.25),
    )
    assert State.parse(full.to_text()) == full
    assert State.from_document(full.to_document(), "state") == full


def follow_the_plan(seed: int, share: float) -> None:
    """Compare a plan that is carried out event by event with what is planned for the same moment."""
    plan = random_plan(seed)
    until_s = round(share * plan.makespan_s)
    ids, state = plan.instance.task_ids, State.begin(plan)
    starts, ends, ready, vm_end = (
        values.tolist() for values in (plan.task_start_s, plan.task_end_s, plan.vm_ready_s, plan.vm_end_s)
    )
    for now in sorted({moment for moment in [*starts, *ends, *ready, *vm_end, until_s] if moment <= until_s}):
        burstable = plan.instance.offer_is_burstable[plan.vm_offer[plan.task_vm]]
        modes = ["baseline" if slow else "burst" for slow in plan.task_baseline.tolist()]
        begin = [
            TaskStarted(
                ids[task],
                plan.vm_ids[plan.task_vm[task]],
                int(plan.task_core[task]),
                modes[task] if burstable[task] else None,  # type: ignore[arg-type]
            )
            for task, at in enumerate(starts)
            if at == now
        ]
        state = state.advance(
            now,
            *[TaskFinished(ids[task]) for task, at in enumerate(ends) if at == now],
            *[VmReady(name) for name, at in zip(plan.vm_ids, ready, strict=True) if at == now],
            *begin,
            *[VmEnded(name) for name, at in zip(plan.vm_ids, vm_end, strict=True) if at == now and at in ends],
        )
    planned = State.planned(plan, until_s)
    assert set(state.done) == set(planned.done)
    assert state.spent_usd == pytest.approx(planned.spent_usd, abs=1e-9)
    assert [(vm.id, vm.status, set(vm.running)) for vm in state.vms] == [
        (vm.id, vm.status, set(vm.running)) for vm in planned.vms
    ]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 1))
def test_a_plan_that_is_followed_is_where_it_was_to_be(seed: int, share: float) -> None:
    follow_the_plan(seed, share)


@pytest.mark.parametrize(
    ("what", "rule"),
    [
        ([TaskFinished(T1), TaskFinished(T1), TaskStarted(T3, "w", 0)], f"does not run the task '{T1}'"),
        ([TaskFinished(T1), TaskFailed(T1)], f"does not run the task '{T1}'"),
        ([TaskFinished(T1), TaskStarted(T1, "w", 0)], "it is done"),
        ([VmHibernated("w"), TaskStarted(T3, "w", 0)], "which is hibernated"),
        ([TaskSaved(T3, 1.0)], "a fraction"),
        ([TaskSaved(T3, float("nan"))], "a fraction"),
        ([TaskStarted(T3, "w", 0, "fast")], "modes are burst or baseline, of started tasks"),  # type: ignore[arg-type]
        ([VmCredits("x", 1.0)], "has no VM 'x'"),
        ([VmCredits("w", -1.0)], "cannot have -1 credits on 'w'"),
        ([VmPaid("w", float("nan"))], "cannot be paid for 'w' until nan s"),
        ([Spent(-1.0)], "cannot have spent"),
        ([Spent(float("nan"))], "cannot have spent"),
    ],
)
def test_what_no_bag_can_do_is_refused(state: State, what: list[Event], rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        state.advance(30, *what)


def test_credits_get_old() -> None:
    vm = VmState(id="t", type="t3", market="on-demand", status="running", credits=5.0)
    state = State(instance="bag", time_s=10, vms=(vm,))
    assert state.advance(10).vms[0].credits == 5.0
    assert state.advance(11).vms[0].credits == 0.0
    told = state.advance(11, VmCredits("t", 4.5), VmPaid("t", 60.0)).vms[0]
    assert (told.credits, told.paid_until_s) == (4.5, 60.0)


def test_credits_that_a_new_vm_has_do_not_come_back_once_it_is_up() -> None:
    vm = VmState(id="t", type="t3", market="on-demand", status="launching", ready_s=10)
    begun = State(instance="bag", vms=(vm,)).advance(10, VmReady("t"))
    assert begun.vms[0].credits is None  # those of its type
    assert begun.advance(70).vms[0].credits == 0.0


def test_a_vm_that_comes_back_begins_a_session(state: State) -> None:
    asleep = state.advance(30, VmPaid("v", 3610), VmHibernated("v"))
    back = vm_of(asleep.advance(100, VmResumed("v")), "v")
    assert (back.ready_s, back.paid_until_s) == (100.0, None)
    hours = BAG.replace(billing={"block_s": 3600})
    rest = asleep.advance(100, VmResumed("v")).advance(200).remaining(hours)
    assert rest.machine_paid_until_s[0] == 3600 + 100 - 200
    # One that has not been away goes on with its session.
    assert vm_of(state.advance(100, VmResumed("v")), "v").ready_s == vm_of(state, "v").ready_s


def test_a_vm_that_comes_late_is_billed_from_then() -> None:
    late = State.begin(PLAN).advance(300, VmReady("v"), VmReady("w"))
    assert late.spent_usd == 0
    assert late.advance(310).spent_usd == pytest.approx(10 * (3.6 + 7.2) / 3600)


def test_a_plan_from_a_state_begins_there_and_is_followed_once(state: State) -> None:
    left = state.remaining(BAG)
    plan = Schedule(
        left,
        np.concatenate([left.machine_offer, [0]]),
        np.array([0, 0, 2, 2]),
        np.array([0, 1, 0, 1]),
        np.array([0, 0, 10, 10]),
        np.zeros(4, dtype=bool),
        vm_machine=np.array([0, 1, -1]),
    )
    for begin in (State.begin, lambda given: State.planned(given, 5)):
        with pytest.raises(InputError, match="was made from a state"):
            begin(plan)
    with pytest.raises(InputError, match="already"):
        state.follow(plan).follow(plan)


def test_machines_of_a_state_are_changed_one_at_a_time() -> None:
    """Records that are made together share the set of the names of their fields, which copies must not."""
    first, second = made_all(TaskOnVm, [{"task": name, "core": 0, "start_s": 0.0} for name in "xy"])
    changed = first.model_copy(update={"end_s": 5.0})
    assert changed.model_fields_set == {"task", "core", "start_s", "end_s"}
    assert first.model_fields_set == second.model_fields_set == {"task", "core", "start_s"}
    assert made_all(TaskOnVm, []) == []


def test_items_are_picked_by_any_number_of_keys() -> None:
    assert [picked("abc", keys) for keys in ([], [2], [2, 0])] == [(), ("c",), ("c", "a")]


def test_memory_that_binds_for_a_whole_bag_only_is_free_for_what_is_left_of_it() -> None:
    tasks = [{"id": f"{mb}", "memory_mb": mb, "runtime_s": {"a": 60, "b": 60}} for mb in (600, 500, 300)]
    types = [
        {
            "name": name,
            "vcpus": 2,
            "memory_mb": mb,
            "offers": {"on-demand": {"price_usd_per_hour": 1, "limit": 2}},
        }
        for name, mb in (("a", 1000), ("b", 2000))
    ]
    bag = Instance(name="memory", deadline_s=1000, tasks=tasks, vm_types=types)
    left = State(instance="memory", time_s=1, done=("600",)).remaining(bag)
    assert (bag.memory_never_binds.tolist(), left.memory_never_binds.tolist()) == ([False, True], [True, True])


def test_no_name_is_used_twice(state: State) -> None:
    # A new VM that had the name of one that was lost got the late events of that one, and traces forbid it.
    lost = state.advance(30, VmEnded("v"))
    assert lost.gone == ("v",)
    with pytest.raises(InputError, match="had a VM 'v', which is gone"):
        lost.advance(40, VmRequested(VmState(id="v", type="a", market="spot")))
    for gone, said in ((["w"], r"vms\[0\].*among those that are gone"), (["v", "v"], r"gone\[1\]")):
        with pytest.raises(InputError, match=said):
            State.from_document(lost.to_document() | {"gone": gone}, "state")
    assert State.parse(lost.to_text()) == lost


def test_what_is_expected_is_known(state: State) -> None:
    later = state.advance(30, TaskExpected(T1, 300), VmPriced("w", 1.5))
    assert vm_of(later, "v").running[0].end_s == 300
    assert later.remaining(BAG).running_end_s[0] == 270
    assert later.advance(3630).spent_usd - later.spent_usd == pytest.approx(1.5 + 3.6)  # an hour of w, and one of v
    launching = State.begin(PLAN).advance(1, VmExpected("v", 90))
    assert vm_of(launching, "v").ready_s == 90
    with pytest.raises(InputError, match="it is running"):
        state.advance(30, VmExpected("v", 90))


def test_words_of_earlier_versions_are_taken_with_a_warning(state: State) -> None:
    with pytest.warns(DeprecationWarning, match="hand in events"):
        by_words = state.advance(
            30, started={T3: ("w", 0)}, modes={T3: "burst"}, finished=[T1], saved={T4: 0.5}, spent_usd=2.0
        )
    events = TaskFinished(T1), TaskSaved(T4, 0.5), TaskStarted(T3, "w", 0, "burst"), Spent(2.0)
    assert by_words == state.advance(30, *events)
    with pytest.warns(DeprecationWarning, match="hand in"), pytest.raises(InputError, match="of started tasks"):
        state.advance(30, modes={T3: "burst"})
    with pytest.raises(TypeError, match="unexpected keyword argument 'begun'"):
        state.advance(30, begun=[T3])
