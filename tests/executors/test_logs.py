"""The logs of exported plans, read back: what happened, and the state from which one plans anew."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spotbag.core.errors import InputError
from spotbag.executors.logs import execution_state, read_log
from spotbag.executors.shell import export_plan
from spotbag.instances.entries import Offer, Task, VmType
from spotbag.instances.instance import Instance
from spotbag.schedules.schedule import Schedule
from spotbag.schedules.schedule_files import schedule_of_document
from spotbag.schedules.state import State
from spotbag.solvers.bags.replan import replan
from spotbag.traces.bags.events import trace_state
from spotbag.traces.bags.execution import Execution
from tests.helpers.exported_plans import Row, core_of, document_of, drive, exported


def schedule_of(rows: list[Row], **changes: Any) -> Schedule:
    """Return a plan on VMs of two cores that cost 36 cents an hour, and boot for 0 s."""
    tasks = tuple(
        Task(id=row[0], memory_mb=1, runtime_s={"c5.large": float(row[4] - row[3])}, command=row[5]) for row in rows
    )
    offers = {"spot": Offer(price_usd_per_hour=0.36, limit=5)}
    vm_type = VmType(name="c5.large", vcpus=2, memory_mb=1000, offers=offers)
    fields = {"deadline_s": 100, "d_spot_s": 100, "boot_overhead_s": 0} | changes
    instance = Instance(name="own", vm_types=(vm_type,), tasks=tasks, **fields)
    return schedule_of_document(document_of(rows), instance)


def test_what_was_run_is_read_back_from_the_folder_of_the_export(tmp_path: Path) -> None:
    rows = [*core_of(["true", "exit 3"], vm="x"), ("d", "y", 0, 0, 1, "true")]
    schedule = schedule_of(rows)
    x, y = export_plan(document_of(rows), tmp_path / "run")
    with pytest.raises(InputError, match=r"has no log\.jsonl"):
        read_log(schedule, tmp_path / "run")
    drive(x)
    assert [run.task for run in read_log(schedule, tmp_path / "run").runs] == ["t1", "t2"]
    drive(y)
    found = read_log(schedule, x, y / "log.jsonl")
    assert found == read_log(schedule, tmp_path / "run")
    assert [task.status for task in found.deviations] == ["done", "failed", "done"]
    assert not found.inversions + found.wrong_vm
    with pytest.raises(InputError, match="no VM 'z'"):
        read_log(schedule, tmp_path / "run", lost=["z"])


def test_the_state_after_logs_has_what_is_done_runs_and_was_spent(tmp_path: Path) -> None:
    rows: list[Row] = [*core_of(["true"] * 3, vm="x"), ("d", "y", 1, 0, 1, "true"), ("e", "z", 0, 0, 1, "true")]
    schedule = schedule_of([(*row[:3], row[3] + 7, row[4] + 7, row[5]) for row in rows], boot_overhead_s=7)
    lines = [
        {"at": 100.0, "event": "begin", "format": "spotbag.log/1", "vm": "x"},
        {"at": 100.5, "event": "start", "core": 0, "number": 1, "task": "t1"},
        {"at": 109.0, "event": "end", "core": 0, "number": 1, "task": "t1", "exit_code": 0},
        {"at": 110.0, "event": "start", "core": 0, "number": 2, "task": "t2"},
        {"at": 101.0, "event": "begin", "format": "spotbag.log/1", "vm": "y"},
        {"at": 101.0, "event": "start", "core": 1, "number": 1, "task": "d"},
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    execution = read_log(schedule, log)
    state = execution_state(schedule, execution)
    assert (state.time_s, state.done) == (17.0, ("t1",))
    # Its trace tells the same of the VMs that have reported.
    told = trace_state(execution.to_trace())
    assert (told.time_s, told.done, told.spent_usd) == (17.0, ("t1",), pytest.approx(state.spent_usd))
    assert [vm.model_copy(update={"credits": None}) for vm in told.vms] == [*state.vms[:2]]
    assert [(vm.id, vm.status, vm.ready_s) for vm in state.vms] == [
        ("x", "running", 7.0),
        ("y", "running", 8.0),
        ("z", "launching", 17.0),
    ]
    assert [(run.task, run.core, run.start_s) for vm in state.vms for run in vm.running] == [
        ("t2", 0, 17.0),
        ("d", 1, 8.0),
    ]
    assert state.spent_usd == pytest.approx((10 + 9) * 0.36 / 3600)
    assert state.remaining(schedule.instance).n_tasks == 4
    # By a cloud: a minimum of 60 s for each of two VMs, which pays 49 s more of the one, and a fixed part.
    cloud = replace(schedule, instance=schedule.instance.replace(billing={"minimum_s": 60, "fixed_usd": 0.5}))
    billed = execution_state(cloud, read_log(cloud, log))
    assert billed.spent_usd == pytest.approx(2 * (0.5 + 60 * 0.36 / 3600))
    assert billed.advance(66).spent_usd == pytest.approx(billed.spent_usd)
    assert billed.advance(70).spent_usd == pytest.approx(billed.spent_usd + (3 + 2) * 0.36 / 3600)
    # Of a VM that is gone, what it ran last waits again.
    lost = execution_state(schedule, read_log(schedule, log, lost=["x"]), ["x"])
    assert [vm.id for vm in lost.vms] == ["y", "z"]
    assert lost.waiting_ids(schedule.instance) == ("t2", "t3", "e")


def test_a_vm_that_has_run_all_its_tasks_is_rented_no_longer(tmp_path: Path) -> None:
    rows = core_of(["true"])
    schedule = schedule_of(rows)
    drive(exported(rows, tmp_path / "run"))
    state = execution_state(schedule, read_log(schedule, tmp_path / "run"))
    assert not state.vms
    assert state.done == ("t1",)


def test_a_plan_from_a_state_is_run_where_the_one_before_was_stopped(tmp_path: Path) -> None:
    rows: list[Row] = [*core_of(["true"] * 4, vm="x"), ("d", "y", 0, 0, 4, "true")]
    schedule = schedule_of(rows)
    at = 1_790_000_000.0
    lines = [
        {"at": at, "event": "begin", "format": "spotbag.log/1", "vm": "x"},
        {"at": at, "event": "start", "core": 0, "number": 1, "task": "t1"},
        {"at": at + 1, "event": "end", "core": 0, "number": 1, "task": "t1", "exit_code": 0},
        {"at": at + 1, "event": "start", "core": 0, "number": 2, "task": "t2"},
        {"at": at + 1.5, "event": "stop"},
        {"at": at, "event": "begin", "format": "spotbag.log/1", "vm": "y"},
        {"at": at, "event": "start", "core": 0, "number": 1, "task": "d"},
    ]
    log = tmp_path / "log.jsonl"
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    first = read_log(schedule, log, lost=["y"])
    since = execution_state(schedule, first, ["y"])
    told = trace_state(first.to_trace())
    assert [(vm.id, vm.status, vm.running) for vm in told.vms] == [("x", "hibernated", ()), ("y", "hibernated", ())]
    assert (since.time_s, since.done, [vm.id for vm in since.vms]) == (1.5, ("t1",), ["x"])
    assert not since.running_ids
    left = replan(schedule.instance, since).schedule
    assert left is not None
    assert left.instance.task_ids == ("t2", "t3", "t4", "d")
    for vm in export_plan(left, tmp_path / "run"):
        drive(vm)
    second = read_log(left, tmp_path / "run", began_at=first.began_at + since.time_s)
    assert second.began_at == at + 1.5
    assert read_log(left, tmp_path / "run").began_at > second.began_at
    end = execution_state(left, second, since=since)
    with pytest.raises(InputError, match="of a plan that was made from a state"):
        trace_state(second.to_trace())
    assert sorted(end.done) == ["d", "t1", "t2", "t3", "t4"]
    assert end.time_s == since.time_s + second.until_s
    assert end.spent_usd > since.spent_usd


def test_a_vm_of_the_state_is_paid_for_since_then_and_a_new_one_since_it_is_ready(tmp_path: Path) -> None:
    """2 s after the state, the plan goes on: x, which was there, is paid for 4 s more, y, which was not, for 1 s."""
    rows: list[Row] = [*core_of(["true"] * 2, vm="x"), ("d", "y", 0, 0, 1, "true")]
    schedule = schedule_of(rows)
    log, at = tmp_path / "log.jsonl", 100.0

    def read(lines: list[dict[str, object]]) -> Execution:
        log.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return read_log(schedule, log, began_at=at)

    begins = {vm: {"event": "begin", "format": "spotbag.log/1", "vm": vm} for vm in ("x", "y")}
    first = read([{"at": at, **begins["x"]}, {"at": at + 1.5, "event": "stop"}])
    since = execution_state(schedule, first).model_copy(update={"spent_usd": 0.0})
    since = since.model_copy(update={"vms": since.vms[:1]})
    assert [vm.id for vm in since.vms] == ["x"]
    start = {"event": "start", "core": 0, "number": 1}
    second = read(
        [
            {"at": at + 2, **begins["x"]},
            {"at": at + 2, **start, "task": "t1"},
            {"at": at + 3, **begins["y"]},
            {"at": at + 4, **start, "task": "d"},
        ]
    )
    end = execution_state(schedule, second, since=since)
    assert end.spent_usd == pytest.approx((4 + 1) * 0.36 / 3600)
    assert [(vm.id, vm.ready_s) for vm in end.vms] == [("x", since.vms[0].ready_s), ("y", 1.5 + 3)]


def test_a_plan_from_a_state_in_which_tasks_run_is_refused(tmp_path: Path) -> None:
    schedule = schedule_of(core_of(["true"] * 2, vm="x"))
    state = State.planned(schedule, 0.5)
    left = replan(schedule.instance, state).schedule
    assert left is not None
    with pytest.raises(InputError, match=r"1 task of it ran when it was made \(t1\), and would be run again"):
        export_plan(left, tmp_path / "run")
