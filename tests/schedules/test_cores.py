"""Which cores tasks have in a plan, in its document, and in the states that it leads to."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from spotbag import TaskStarted
from spotbag.audits.bags.plan import check
from spotbag.core.errors import InputError
from spotbag.instances.entries import Slots
from spotbag.instances.instance import Instance
from spotbag.schedules.documents import ScheduleDocument
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.schedule_files import format_schedule, parse_schedule_document, schedule_of_document
from spotbag.schedules.state import State
from spotbag.solvers.bags.replan import replan
from tests.helpers.several_cores import random_cores
from tests.helpers.soaks import soak
from tests.instances.test_cores import bag


def plan(instance: Instance, cores: list[int], starts: list[int]) -> Schedule:
    """All tasks on one VM."""
    nothing = [0] * len(cores)
    return Schedule(instance, [0], nothing, cores, starts, nothing)  # type: ignore[arg-type]


def read_again(made: Schedule) -> tuple[list[dict[str, Any]], Schedule]:
    document = parse_schedule_document(format_schedule(made))
    tasks = [task.model_dump(exclude_none=True) for task in document.tasks]
    return tasks, schedule_of_document(document, made.instance)


def test_a_task_has_the_cores_that_are_free_first_whichever_they_are() -> None:
    made = plan(bag([1, 2, 1, 3]), [0, 0, 0, 0], [0, 0, 0, 100])
    assert made.task_slots == [(0,), (1, 2), (3,), (0, 1, 2)]
    later = plan(bag([1, 2, 3]), [0, 0, 0], [0, 50, 100])  # the second still has cores 0 and 1 then
    assert later.task_cores == [(), (1, 2), (0, 3, 4)]
    tasks, again = read_again(later)
    assert [(task["core"], task.get("cores")) for task in tasks] == [(0, None), (1, (1, 2)), (0, (0, 3, 4))]
    assert (again.task_core == later.task_core).all()


def test_tasks_of_the_same_number_have_slots_of_neighbours() -> None:
    made = plan(bag([2, 2]), [0, 1], [0, 0])
    tasks, again = read_again(made)
    assert [(task["core"], task["cores"]) for task in tasks] == [(0, (0, 1)), (2, (2, 3))]
    assert again.task_core.tolist() == [0, 1]


def test_a_core_within_a_slot_is_none_of_a_plan() -> None:
    document = parse_schedule_document(
        format_schedule(plan(bag([2, 2]), [0, 1], [0, 0])).replace('"core": 2', '"core": 3')
    )
    with pytest.raises(InputError, match="core 3 must be a multiple of 2"):
        schedule_of_document(document, bag([2, 2]))


@pytest.mark.parametrize(
    ("needs", "cores", "kept"),
    [
        ([2, 2], {0: (0, 3), 2: (2, 1)}, {"t0": [0, 1], "t1": [2, 3]}),
        ([2, 1], {0: (0, 2), 1: (1,)}, {"t0": [0, 1], "t1": [2]}),
        ([1, 1], {0: (0,), 1: (1, 2)}, {"t1": [1]}),
    ],
)
def test_cores_that_a_plan_does_not_keep_are_refused(
    needs: list[int], cores: dict[int, tuple[int, ...]], kept: dict[str, list[int]]
) -> None:
    instance = bag(needs, (4,), survive="none")
    whole = plan(instance, [0, 1], [0, 0]).to_document()

    def document(named: bool) -> ScheduleDocument:
        tasks = [
            task.model_copy(update={"core": core, "cores": own if named else None})
            for task, (core, own) in zip(whole.tasks, cores.items(), strict=True)
        ]
        return whole.model_copy(update={"tasks": tuple(tasks)})

    with pytest.raises(InputError) as refused:
        schedule_of_document(document(named=True), instance)
    for name, own in kept.items():
        assert re.search(rf"'{name}': cores .* are not kept: .*, and it has {re.escape(str(own))}", str(refused.value))
    assert check(instance, schedule_of_document(document(named=False), instance)).violations == ()


def test_a_task_that_finds_too_few_cores_has_those_that_there_are() -> None:
    assert plan(bag([3, 4]), [0, 0], [0, 50]).task_slots == [(0, 1, 2), (3, 4)]


@pytest.mark.parametrize(("needs", "slots"), [([2, 2, 2], (2, False)), ([1, 2, 2], (1, True))])
def test_what_runs_stays_on_its_first_core(needs: list[int], slots: tuple[int, bool]) -> None:
    instance = bag(needs)
    made = plan(instance, [0, 1, 0], [0, 20, 100])
    state = State.planned(made, 40)
    firsts = {run.task: run.core for run in state.vms[0].running}
    left = state.remaining(instance)
    assert (left.slots.cores, left.slots.shared) == slots
    (machine,) = left.machines
    assert {run.task: run.core for run in machine.running} == firsts
    # The third task needs what the first one has, until it ends 60 s from the state on.
    goes_on = plan(left, [int(core) for core in left.running.core] + [0], [-40, -20, 60])
    found = Schedule(left, *(getattr(goes_on, name) for name in ("vm_offer", "task_vm", "task_core", "task_start_s")),
                     goes_on.task_baseline, ("c5-on-demand-1",))  # fmt: skip
    cores = {task["id"]: task["core"] for task in read_again(found)[0]}
    assert {name: cores[name] for name in firsts} == firsts
    assert cores["t2"] == 0


def between_cores() -> tuple[Instance, Schedule, State]:
    """A plan at 100 s: t2 runs on cores 2 and 3 of 4, and t3 waits, as t0 and t1 were on cores 0 and 1 before."""
    instance = bag([1, 1, 2, 2], (4,), survive="none")
    made = plan(instance, [0, 1, 2, 0], [0, 0, 1, 100])
    return instance, made, State.planned(made, 100)


def test_a_state_keeps_all_cores_of_tasks_that_run() -> None:
    instance, made, state = between_cores()
    cores = {"t2": (2, 3), "t3": (0, 1)}
    assert {run.task: run.cores for run in State.from_document(state.to_document(), "state").vms[0].running} == cores
    alone = state.model_copy(update={"vms": (state.vms[0].model_copy(update={"running": state.vms[0].running[:1]}),)})
    told = alone.advance(100, TaskStarted("t3", made.vm_ids[0], 0, cores=(0, 1)))
    for state in (alone, told):
        found = replan(instance, state, survive="none", iterations=1000).schedule
        assert found is not None
        assert {task.id: task.cores for task in found.to_document().tasks} == cores
        assert check(instance, found, state=state).violations == ()


def demand_cores_kept(seeds: range) -> int:
    """In plans of states of random plans, what runs keeps its cores; return how many plans there were."""
    plans = 0
    for seed in seeds:
        made = random_cores(seed)
        until_s = min(made.makespan_s, made.instance.deadline_s)
        state = State.planned(made, random.Random(seed).uniform(0, until_s))
        found = replan(made.instance, state, survive="none", iterations=100).schedule
        if found is not None:
            plans += 1
            assert check(made.instance, found, state=state).violations == (), seed
            cores = {task.id: task.cores for task in found.to_document().tasks}
            running = {run.task: run.cores for vm in state.vms for run in vm.running}
            assert running.items() <= cores.items(), seed
    return plans


def test_what_runs_keeps_its_cores() -> None:
    assert demand_cores_kept(range(5))


@soak(100, 1000)
def test_what_runs_keeps_its_cores_in_many_plans(how_many: int) -> None:
    assert demand_cores_kept(range(5, 5 + how_many)) > how_many / 2


def test_a_plan_that_gives_a_task_that_runs_another_core_is_wrong() -> None:
    instance, _, state = between_cores()
    found = replan(instance, state, survive="none", iterations=1000).schedule
    assert found is not None
    document = found.to_document()
    cores = {"t2": (2, 0), "t3": (1, 3)}
    tasks = [task.model_copy(update={"core": cores[task.id][0], "cores": cores[task.id]}) for task in document.tasks]
    report = check(instance, document.model_copy(update={"tasks": tuple(tasks)}), state=state)
    assert [violation.message for violation in report.violations] == [
        "task 't2' runs on cores [2, 3] of c4-on-demand-1; the plan has it on [2, 0]",
        "task 't3' runs on core 0 of c4-on-demand-1 since 0 s; the plan has it on core 1 of c4-on-demand-1 from 0 s on",
    ]


def test_a_plan_without_the_tasks_that_run_is_judged() -> None:
    instance, _, state = between_cores()
    found = replan(instance, state, survive="none", iterations=1000).schedule
    assert found is not None
    report = check(instance, found.to_document().model_copy(update={"tasks": ()}), state=state)
    assert {violation.message for violation in report.violations} >= {
        f"task '{name}' is not in the plan" for name in ("t2", "t3")
    }


@pytest.mark.parametrize(
    ("cores", "message"),
    [
        ((1, 2), "core 2 of 'c4-on-demand-1' runs 't2'"),
        ((0, 1), r"its cores \[0, 1\] are not different ones of which that is the first"),
        ((1, 1), r"its cores \[1, 1\] are not different ones"),
    ],
)
def test_cores_of_tasks_that_start_are_free_and_different(cores: tuple[int, ...], message: str) -> None:
    _, made, state = between_cores()
    alone = state.model_copy(update={"vms": (state.vms[0].model_copy(update={"running": state.vms[0].running[:1]}),)})
    with pytest.raises(InputError, match=message):
        alone.advance(100, TaskStarted("t3", made.vm_ids[0], 1, cores=cores))


def test_cores_of_a_machine_that_no_task_can_have_so_are_refused() -> None:
    def on_machine(core: int, *cores: int) -> Instance:
        running = [{"task": "t0", "core": core, "start_s": 0, "cores": cores}]
        return bag([2], machines=[{"id": "m", "type": "c5", "market": "on-demand", "running": running}])

    for core, cores in ((0, (0, 1, 2)), (1, (0, 1)), (0, (0, 0))):
        with pytest.raises(
            InputError, match=rf"'m': running.cores '?\[{str([*cores])[1:-1]}\]'? must be 2 different ones"
        ):
            on_machine(core, *cores)
    with pytest.raises(InputError, match="c5 has cores 0 to 4"):
        on_machine(4, 4, 5)
    assert on_machine(0, 0, 1).slots == Slots(2, shared=False)
    assert on_machine(1, 1, 3).running_slots == [(1, 3)]  # parts of two slots: all cores are told apart
