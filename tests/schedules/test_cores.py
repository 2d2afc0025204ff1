"""Which cores tasks have in a plan, in its document, and in the states that it leads to."""

from __future__ import annotations

from typing import Any

import pytest

from spotbag.core.errors import InputError
from spotbag.instances.instance import Instance
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.schedule_files import format_schedule, parse_schedule_document, schedule_of_document
from spotbag.schedules.state import State
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
