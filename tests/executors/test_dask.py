"""Plans carried out on a Dask cluster: every task on its VM and in its place, whatever is lost on the way."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from spotbag import Instance, Schedule, State, audit, replan
from spotbag.core.errors import InputError
from spotbag.executors import dask
from spotbag.executors.dask import LocalVms, Vm, run, vms_of
from spotbag.traces.bags.execution import Execution, TaskRun
from tests.helpers.forged_executions import forged_pass
from tests.helpers.soaks import soak

pytestmark = pytest.mark.xdist_group("dask")

BOOT_S = 5
HERE = "127.0.0.1:0"


def bag(runs_s: Sequence[int], commands: Sequence[str] = (), **changes: Any) -> Instance:
    """Return a bag for VMs of one core and of two."""
    offers = {"on-demand": {"price_usd_per_hour": 0.1, "limit": 4}}
    document = {
        "format": "spotbag.instance/1",
        "name": "bag",
        "deadline_s": 1000,
        "boot_overhead_s": BOOT_S,
        "vm_types": [
            {"name": f"c{vcpus}", "vcpus": vcpus, "memory_mb": 1024 * vcpus, "gflops": 10, "offers": offers}
            for vcpus in (1, 2)
        ],
        "tasks": [
            {"id": f"t{number}", "memory_mb": 100, "runtime_s": {"c1": seconds, "c2": seconds}}
            | ({"command": commands[number]} if commands else {})
            for number, seconds in enumerate(runs_s)
        ],
    }
    return Instance.parse_document(document | changes, "bag")


def plan_of(instance: Instance, vms: Sequence[str], places: Sequence[tuple[int, int]]) -> Schedule:
    """Return a plan: the types of its VMs, and VM and core of each task, one after the other on each core."""
    free: dict[tuple[int, int], int] = {}
    starts = []
    for task, place in enumerate(places):
        starts.append(free.get(place, BOOT_S))
        free[place] = starts[-1] + int(instance.runtime_s[task, 0])
    offers = [{"c1": 0, "c2": 1}[name] for name in vms]
    vm, core = np.array(places).T
    return Schedule(instance, np.array(offers), vm, core, np.array(starts), np.zeros(len(places), dtype=bool))


class Cluster:
    """A cluster whose workers are threads of this process."""

    def __init__(self) -> None:
        from distributed import LocalCluster

        self.cluster = LocalCluster(n_workers=0, processes=False, dashboard_address=HERE)
        self.client = self.cluster.get_client()
        self.workers: dict[str, Any] = {}
        self.stopped: list[str] = []

    def start(self, vm: Vm) -> None:
        """Start a worker."""
        from distributed import Worker

        async def started() -> Any:
            where = self.cluster.scheduler_address
            return await Worker(where, name=vm.id, nthreads=vm.vcpus, dashboard_address=HERE)

        self.workers[vm.id] = self.cluster.sync(started)

    def stop(self, name: str) -> None:
        """End a worker, if it is there still."""
        self.stopped.append(name)
        if name in self.workers:
            worker = self.workers.pop(name)
            self.cluster.sync(worker.close, executor_wait=False, nanny=False)
            while worker.address in self.cluster.scheduler.workers:
                time.sleep(0.001)

    def close(self) -> None:
        """End all."""
        for name in list(self.workers):
            self.stop(name)
        self.client.close()
        self.cluster.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Return a cluster without workers."""
    made = Cluster()
    yield made
    made.close()


def carried_out(plan: Schedule, cluster: Cluster, **how: Any) -> Execution:
    """Carry a plan out on workers that are started when they are asked for; the auditor judges what happened."""
    execution = run(plan, cluster.client, start_vm=cluster.start, stop_vm=cluster.stop, **{"replan": at_once} | how)
    assert audit(execution, given=None if "changes" in how else plan.instance).findings == ()
    return execution


def at_once(instance: Instance, state: State, plan: Schedule) -> Schedule | None:
    """Plan what is left."""
    return replan(instance, state, start=plan).schedule


def nothing(task: str) -> None:
    """Do nothing."""


def all_done(execution: Execution) -> bool:
    """Whether all went by the plan."""
    return not (execution.unfinished or execution.failures or execution.wrong_vm or execution.inversions)


def test_each_task_runs_in_its_place(cluster: Cluster) -> None:
    plan = plan_of(bag([1] * 12), ["c2", "c1"], [(0, 0), (0, 1), (1, 0)] * 4)
    seen: list[TaskRun] = []
    execution = carried_out(plan, cluster, call=nothing, on_run=seen.append)
    assert all_done(execution)
    assert sorted(seen, key=lambda one: one.task) == sorted(execution.runs, key=lambda one: one.task)
    assert {run.task: (run.vm, run.core) for run in seen} == {
        f"t{number}": (plan.vm_ids[plan.task_vm[number]], plan.task_core[number]) for number in range(12)
    }
    for vm in plan.vm_ids:
        assert cluster.stopped.count(vm) == 1
        for core in (0, 1):
            order = [run.task for run in execution.runs if (run.vm, run.core) == (vm, core)]
            assert order == sorted(order, key=lambda name: int(name[1:]))


def test_tasks_wait_for_memory_on_other_cores(cluster: Cluster) -> None:
    instance = bag([1] * 4)
    instance = instance.replace(tasks=[task.model_copy(update={"memory_mb": 1500.0}) for task in instance.tasks])
    plan = replace(plan_of(instance, ["c2"], [(0, 0), (0, 1)] * 2), task_start_s=np.arange(BOOT_S, BOOT_S + 4))
    execution = carried_out(plan, cluster, call=nothing)
    assert [run.task for run in execution.runs] == ["t0", "t1", "t2", "t3"]
    assert all(first.end_s <= second.start_s for first, second in pairwise(execution.runs))


def test_failures_are_told_and_tried_again(cluster: Cluster, tmp_path: Path) -> None:
    once = f"test -e {tmp_path}/seen || {{ touch {tmp_path}/seen; exit 7; }}"
    commands = ["true", once, "echo no such luck >&2; exit 3", 'test "$SPOTBAG_TASK $SPOTBAG_CORE" = "t3 0"', "kill $$"]
    commands.append("-n; exit 0")  # what begins with a dash is a command, too
    commands.append("seq 500 >&2; exit 1")
    execution = carried_out(plan_of(bag([1] * 7, commands), ["c1"], [(0, 0)] * 7), cluster, retries=1)
    codes = {task: [run.exit_code for run in execution.runs if run.task == task] for task in ("t0", "t1", "t2", "t3")}
    assert codes == {"t0": [0], "t1": [7, 0], "t2": [3, 3], "t3": [0]}
    assert {run.exit_code for run in execution.failures if run.task == "t4"} == {128 + signal.SIGTERM}
    assert {run.message for run in execution.failures if run.task == "t2"} == {"no such luck"}
    assert execution.unfinished == ("t2", "t4", "t6")
    (said,) = {run.message for run in execution.failures if run.task == "t6"}
    assert said == "\n".join(map(str, range(377, 501)))  # whole lines, of no more than 500 characters


def test_a_call_that_raises_has_failed(cluster: Cluster) -> None:
    def refuse(task: str) -> None:
        if task == "t1":
            raise RuntimeError("no")

    execution = carried_out(plan_of(bag([1] * 3), ["c1"], [(0, 0)] * 3), cluster, call=refuse)
    assert [(run.task, run.exit_code, run.message) for run in execution.failures] == [("t1", 1, "RuntimeError: no")]
    assert execution.unfinished == ("t1",)


BEGUN, RELEASE = threading.Event(), threading.Event()


def wait_at_some(task: str) -> None:
    """Wait, at two tasks, until they are released."""
    if task == "t5":
        BEGUN.set()
    assert task not in ("t5", "t6") or RELEASE.wait(20)


def test_what_a_lost_vm_had_to_do_is_done_elsewhere(cluster: Cluster) -> None:
    plan = plan_of(bag([1] * 12), ["c2", "c1"], [(0, 0), (0, 1), (1, 0)] * 4)
    lost, kept = plan.vm_ids
    states: list[State] = []

    def lose(ended: TaskRun) -> None:
        if ended.task == "t1":
            assert BEGUN.wait(20)
            cluster.stop(lost)

    def replan_then(instance: Instance, state: State, plan: Schedule) -> Schedule | None:
        RELEASE.set()
        states.append(state)
        return at_once(instance, state, plan)

    execution = carried_out(plan, cluster, call=wait_at_some, on_run=lose, replan=replan_then)
    assert not execution.unfinished
    assert [vm.lost for vm in execution.vms if vm.vm == lost] == [True]
    assert lost not in {vm.id for vm in states[0].vms}
    assert "t5" in states[0].running_ids
    assert [run.vm for run in execution.runs if run.task == "t5"] == [kept]
    assert {one.task for one in execution.planned if one.vm == lost} == {
        run.task for run in execution.runs if run.vm == lost and run.done
    }


def test_a_bag_that_changes_is_planned_anew_and_goes_on(cluster: Cluster, tmp_path: Path) -> None:
    """Tasks come and go midway, and a type is not to be had any more: what runs goes on, each task is done once."""
    before = bag([1, 1, 1], [f"sleep 0.3; echo >> {tmp_path}/{number}" for number in range(3)])
    after = bag([1, 1, 1, 1, 1], [f"sleep 0.1; echo >> {tmp_path}/{number}" for number in range(5)])
    rows = [row for row in after.tasks if row.id != "t2"]
    offer = {"price_usd_per_hour": 0.3, "limit": 1}
    kinds = [
        {"name": f"c{n}", "vcpus": n, "memory_mb": 1024 * n, "gflops": 10, "offers": {"on-demand": offer}}
        for n in (1, 2)
    ]
    after = after.replace(tasks=rows, vm_types=kinds)
    seen: list[TaskRun] = []
    made = run(
        plan_of(before, ["c1"], [(0, 0), (0, 0), (0, 0)]),
        cluster.client,
        start_vm=cluster.start,
        stop_vm=cluster.stop,
        changes=lambda: after if seen else None,
        on_run=seen.append,
    )
    assert not made.unfinished
    assert not made.failures
    assert made.instance is None  # no bag has all of it
    assert sorted(one.task for one in made.runs) == ["t0", "t1", "t3", "t4"]
    assert {one.task: one.plan for one in made.planned}["t3"] == 1
    assert all(len((tmp_path / number).read_text().splitlines()) == 1 for number in "0134")


def test_a_bag_that_cannot_go_on_is_refused(cluster: Cluster) -> None:
    BEGUN.clear()
    RELEASE.clear()
    plan = plan_of(bag([1] * 6), ["c1"], [(0, 0)] * 6)
    fewer = plan.instance.replace(tasks=plan.instance.tasks[:5])  # without one that is asked when it runs
    changes = {"changes": lambda: fewer if BEGUN.is_set() else None}
    with pytest.raises(InputError, match="changes: tasks 't5': must be in the bag: it runs"):
        carried_out(plan, cluster, call=wait_at_some, **changes)
    RELEASE.set()
    within = {"objective": {"goal": "fastest", "budget_usd": 10.0}}  # or it would go on with tasks that are late
    small = plan_of(bag([1] * 2, **within), ["c1"], [(0, 0)] * 2)
    more = {"changes": lambda: bag([1] * 3, **within)}  # made anew each time that it is asked for
    how: dict[str, Any] = {"start_vm": cluster.start, "stop_vm": cluster.stop, "call": nothing}
    with pytest.warns(RuntimeWarning, match="no plan was found with t2"):
        made = run(small, cluster.client, replan=lambda *_: None, **how, **more)
    assert not any(one.task == "t2" for one in made.runs)
    with_commands = plan_of(bag([1], ["true"]), ["c1"], [(0, 0)])
    with pytest.raises(InputError, match=r"changes: tasks .*command is missing"):
        carried_out(with_commands, cluster, changes=lambda: bag([1, 1]))


@pytest.mark.slow
def test_tasks_wait_for_their_release_also_on_a_vm_that_comes_for_one_that_is_lost(cluster: Cluster) -> None:
    """Of the first core, the second task is released a second after the VMs are there, and the third waits for it."""
    given = bag([1] * 4)
    dates: list[dict[str, int]] = [{}, {"ready_s": BOOT_S + 1}, {}, {"ready_s": BOOT_S + 2, "deadline_s": 500}]
    rows = [row.model_dump(exclude_none=True) | own for row, own in zip(given.tasks, dates, strict=True)]
    instance, starts = given.replace(tasks=rows), np.array([BOOT_S, BOOT_S + 1, BOOT_S + 2, BOOT_S + 2])
    plan = Schedule(instance, np.array([0, 0]), np.array([0, 0, 0, 1]), np.zeros(4, int), starts, np.zeros(4, bool))
    for lost in (False, True):
        stop = (lambda run: cluster.stop(run.vm) if run.task == "t0" else None) if lost else None
        execution = carried_out(plan, cluster, call=nothing, on_run=stop)
        begun_s = {run.task: run.start_s for run in execution.runs if run.done}
        assert not execution.unfinished
        assert begun_s["t0"] < BOOT_S + 1 <= begun_s["t1"] < BOOT_S + 2 <= begun_s["t3"]
        assert lost or begun_s["t2"] > begun_s["t1"]
        assert (len(execution.vms) > 2) == lost


@pytest.mark.slow
def test_a_task_that_is_withdrawn_as_it_is_released_is_not_handed_over(cluster: Cluster) -> None:
    """It was looked up in the bag that has it no more, and the run ended with a KeyError."""
    given = bag([1] * 3)
    dates: list[dict[str, int]] = [{}, {"ready_s": BOOT_S + 1}, {}]
    rows = [row.model_dump(exclude_none=True) | own for row, own in zip(given.tasks, dates, strict=True)]
    instance, starts = given.replace(tasks=rows), np.array([BOOT_S, BOOT_S + 1, BOOT_S + 2])
    plan = Schedule(instance, np.array([0]), np.array([0, 0, 0]), np.zeros(3, int), starts, np.zeros(3, bool))
    fewer = instance.replace(tasks=[rows[0], rows[2]])
    seen: list[TaskRun] = []

    def withdraw_late() -> Instance | None:
        """Return the bag without the task, when its release has passed since the last look."""
        if seen:
            time.sleep(1.5)
        return fewer if seen else None

    execution = carried_out(plan, cluster, call=nothing, on_run=seen.append, changes=withdraw_late)
    assert not execution.unfinished
    assert sorted(run.task for run in execution.runs if run.done) == ["t0", "t2"]


def test_a_run_whose_bag_changes_is_audited_as_long_as_one_bag_has_all_of_it(cluster: Cluster) -> None:
    """A VM costs what it did when it was requested; of tasks that ran and were taken out, no bag is left."""
    plan = plan_of(bag([1] * 2), ["c1"], [(0, 0)] * 2)
    rows = [row.model_dump(exclude_none=True) for row in bag([1] * 4).tasks]
    offers = {"on-demand": {"price_usd_per_hour": 0.2, "limit": 4}}
    dearer = bag([1] * 4, vm_types=[kind.model_dump() | {"offers": offers} for kind in plan.instance.vm_types])
    seen: list[TaskRun] = []
    changes = {"changes": lambda: dearer if seen else None, "on_run": seen.append, "call": nothing}
    execution = carried_out(plan, cluster, **changes)
    assert execution.instance is dearer
    assert {vm.price_usd_per_hour for vm in execution.vms if vm.vm == plan.vm_ids[0]} == {0.1}
    seen.clear()
    fewer = dearer.replace(tasks=rows[1:])
    how: dict[str, Any] = {"start_vm": cluster.start, "stop_vm": cluster.stop, "call": nothing, "on_run": seen.append}
    execution = run(plan, cluster.client, changes=lambda: fewer if seen else None, replan=at_once, **how)
    assert execution.unfinished == ()
    with pytest.raises(InputError, match="were taken out of the bag on the way"):
        audit(execution)


BEGUN_THERE: list[str] = []


def note_and_wait(task: str) -> None:
    """Note that a task has begun; wait at some."""
    BEGUN_THERE.append(task)
    wait_at_some(task)


@pytest.mark.slow
def test_tasks_taken_out_do_not_run_on_a_vm_that_comes_late(cluster: Cluster) -> None:
    BEGUN.clear()
    RELEASE.clear()
    plan = plan_of(bag([1] * 7), ["c1", "c1"], [(0, 0)] * 6 + [(1, 0)])
    fewer = plan.instance.replace(tasks=plan.instance.tasks[:6])  # without t6, the one of the second VM
    coming: list[Vm] = []
    calls: list[bool] = []

    def changes() -> Instance | None:
        calls.append(BEGUN.is_set())
        if calls.count(True) == 3:
            cluster.start(coming[0])
        if calls.count(True) == 8:
            RELEASE.set()
        return fewer if BEGUN.is_set() else None

    def start(vm: Vm) -> None:
        coming.append(vm) if vm.id == plan.vm_ids[1] else cluster.start(vm)

    def stop(name: str) -> None:
        time.sleep(0.2)  # in which it could begin with what it has
        cluster.stop(name)

    BEGUN_THERE.clear()
    execution = run(plan, cluster.client, call=note_and_wait, changes=changes, start_vm=start, stop_vm=stop)
    assert audit(execution).findings == ()
    assert plan.vm_ids[1] in {vm.vm for vm in execution.vms}
    assert sorted(BEGUN_THERE) == [f"t{number}" for number in range(6)]


def test_a_vm_that_is_about_to_leave_gets_no_more_tasks(cluster: Cluster) -> None:
    plan = plan_of(bag([1] * 8), ["c1", "c1"], [(0, 0), (1, 0)] * 4)
    leaving: list[str] = []
    execution = carried_out(
        plan,
        cluster,
        call=nothing,
        on_run=lambda ended: leaving.append(plan.vm_ids[0]) if ended.task == "t0" else None,
        leaving=lambda: leaving,
    )
    assert not execution.unfinished
    assert not [vm for vm in execution.vms if vm.lost]
    assert all(
        one.vm != plan.vm_ids[0] or ended.run
        for one, ended in zip(execution.planned, execution.deviations, strict=True)
    )


def test_what_is_stopped_tells_what_has_happened(cluster: Cluster) -> None:
    plan = plan_of(bag([1] * 4, ["true", "true", "sleep 60", "true"]), ["c1"], [(0, 0)] * 4)
    ended: list[TaskRun] = []

    class WhenTwoHaveEnded:
        def is_set(self) -> bool:
            return len(ended) == 2

    execution = carried_out(plan, cluster, on_run=ended.append, stop=WhenTwoHaveEnded())
    assert {"t0", "t1"} == {run.task for run in execution.runs if run.done}
    assert {"t2", "t3"} == {*execution.unfinished}
    assert plan.vm_ids[0] in cluster.stopped
    assert not cluster.workers


def gone_after(attempts: int, cluster: Cluster, patch: pytest.MonkeyPatch) -> Callable[[TaskRun], None]:
    """Return what has the scheduler answer no more, as if it were killed, once so many attempts have been told."""
    from distributed.comm import CommClosedError

    told: list[TaskRun] = []
    nthreads = cluster.client.nthreads

    def answer() -> Any:
        if len(told) >= attempts:
            raise CommClosedError("in <TCP (closed)>: Stream is closed")
        return nthreads()

    patch.setattr(cluster.client, "nthreads", answer)
    patch.setattr(dask, "_REFRESH_S", 0.0)  # it is asked after all that happens
    return told.append


def test_a_run_of_which_all_is_reported_is_told_though_the_scheduler_is_gone(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_run = gone_after(4, cluster, monkeypatch)
    assert all_done(carried_out(plan_of(bag([1] * 4), ["c1"], [(0, 0)] * 4), cluster, call=nothing, on_run=on_run))


def test_what_is_known_is_told_when_the_scheduler_is_gone_and_what_is_missing(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(bag([1] * 6, [*["true"] * 3, *["sleep 60"] * 3]), ["c1"], [(0, 0)] * 6)
    on_run = gone_after(3, cluster, monkeypatch)
    with pytest.warns(RuntimeWarning, match=r"cluster is gone: .* not what has become of t3, t4, t5"):
        execution = carried_out(plan, cluster, on_run=on_run)
    assert [run.task for run in execution.runs if run.done] == ["t0", "t1", "t2"]
    assert {run.task for run in execution.runs if run.cut_off} <= {"t3"}  # its VM is ended
    assert execution.unfinished == ("t3", "t4", "t5")
    assert not cluster.workers


def test_what_a_function_of_the_caller_raises_is_no_fault_of_the_cluster(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(ended: TaskRun) -> None:
        monkeypatch.setattr(cluster.client, "status", "closed")
        raise ConnectionError("the database is gone")

    plan = plan_of(bag([1] * 2), ["c1"], [(0, 0)] * 2)
    with pytest.raises(ConnectionError, match="the database is gone"):
        carried_out(plan, cluster, call=nothing, on_run=refuse)


def test_an_event_that_is_no_mapping_is_passed_over(cluster: Cluster) -> None:
    def send(task: str) -> None:
        from distributed import get_worker

        for event in ("hello", 7, [1], None, {"action": ["add-worker"]}, {"task": task, "vm": "none"}):
            get_worker().log_event("all", event)

    with pytest.warns(RuntimeWarning, match="on the Dask cluster is passed over: .* must be a mapping"):
        assert all_done(carried_out(plan_of(bag([1] * 2), ["c1"], [(0, 0)] * 2), cluster, call=send))


def test_what_cannot_be_run_is_refused(cluster: Cluster) -> None:
    plan = plan_of(bag([1] * 2), ["c2"], [(0, 0), (0, 1)])
    with pytest.raises(InputError, match="command is missing"):
        carried_out(plan, cluster)

    def start_less(vm: Vm) -> None:
        cluster.start(replace(vm, vcpus=1))

    with pytest.raises(InputError, match=r"tasks on 2 cores at a time, and its worker at .* has 1 threads"):
        run(plan, cluster.client, call=nothing, start_vm=start_less, stop_vm=cluster.stop)


@pytest.fixture(scope="module")
def real() -> Schedule:
    """Return a plan of forty commands that take a second or two."""
    seconds = [1 + number % 2 for number in range(40)]
    instance = bag(seconds, [f"sleep {second - 0.06}" for second in seconds])
    return plan_of(instance, ["c2", "c1", "c2"], [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1)] * 8)


@pytest.mark.slow
def test_commands_run_in_processes_of_their_own(real: Schedule) -> None:
    with LocalVms(vms_of(real)) as vms:
        execution = run(real, vms)
    assert all_done(execution)


def listening() -> set[str]:
    """Return the addresses at which this process and those that it has started wait for connections."""
    this = psutil.Process()
    found = []
    for one in (this, *this.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # a command that has just ended
            found += one.net_connections("inet")
    return {socket.laddr.ip for socket in found if socket.status == psutil.CONN_LISTEN}


@pytest.mark.slow
@pytest.mark.parametrize("dashboard", [False, True])
def test_only_this_machine_reaches_what_runs_a_plan_here(dashboard: bool) -> None:
    plan = plan_of(bag([1] * 2, ["true"] * 2), ["c1"], [(0, 0)] * 2)
    seen: list[set[str]] = []

    def look(ended: TaskRun) -> None:
        seen.append(listening())

    before = listening()
    if dashboard:
        with LocalVms(vms_of(plan), dashboard=True) as vms:
            assert all_done(run(plan, vms, on_run=look))
    else:
        assert all_done(run(plan, on_run=look))
    assert before <= {"127.0.0.1"}
    assert seen == [{"127.0.0.1"}] * 2


@pytest.mark.slow
def test_a_worker_that_is_killed_and_a_vm_that_is_taken_away_are_made_good(real: Schedule) -> None:
    with LocalVms(vms_of(real)) as vms:
        gone = [real.vm_ids[0]]

        def lose(ended: TaskRun) -> None:
            if ended.task == "t5" and ended.done:
                os.kill(vms.process(gone[0]), signal.SIGKILL)
            if ended.task == "t12" and ended.done:
                gone.append(ended.vm)
                vms.stop(ended.vm)

        execution = run(real, vms, on_run=lose)
    assert all_done(execution)
    assert [vm.vm for vm in execution.vms if vm.lost][:1] == gone[:1]
    assert {run.vm for run in execution.runs if run.cut_off} <= {*gone}


@pytest.mark.slow
def test_a_scheduler_that_is_killed_takes_no_record_with_it(tmp_path: Path) -> None:
    from distributed import Client

    plan = plan_of(bag([1] * 4, ["true", "true", "sleep 3", "true"]), ["c1"], [(0, 0)] * 4)
    where = ["--host=127.0.0.1", "--dashboard-address=127.0.0.1:0"]
    file = tmp_path / "scheduler.json"
    told = [f"--scheduler-file={file}", *where]
    words = [["scheduler", "--port=0", *told], ["worker", "--no-nanny", f"--name={plan.vm_ids[0]}", *told]]
    begun = [subprocess.Popen([sys.executable, "-m", "dask", *one], stderr=subprocess.DEVNULL) for one in words]
    seen: list[TaskRun] = []

    def kill(ended: TaskRun) -> None:
        seen.append(ended)
        if len(seen) == 2:
            begun[0].kill()

    try:
        with (
            Client(scheduler_file=str(file), timeout=10) as client,
            pytest.warns(RuntimeWarning, match="the Dask cluster is gone"),
        ):
            execution = run(plan, client, on_run=kill)
    finally:
        for process in begun:
            process.kill()
            process.wait()
    assert [run.task for run in execution.runs if run.done] == ["t0", "t1"]
    assert {run.task for run in execution.runs if run.runs_still} <= {"t2"}  # whose start may not have been told
    assert execution.unfinished == ("t2", "t3")


@pytest.mark.slow
def test_a_worker_that_never_comes_is_planned_around(cluster: Cluster) -> None:
    plan = plan_of(bag([1] * 4), ["c1", "c2"], [(0, 0), (1, 0)] * 2)
    late = plan.vm_ids[0]

    def start(vm: Vm) -> None:
        if vm.id != late:
            cluster.start(vm)

    execution = run(plan, cluster.client, call=nothing, start_vm=start, stop_vm=cluster.stop, patience_s=-5.0)
    assert not execution.unfinished
    assert late not in {vm.vm for vm in execution.vms}


@pytest.mark.slow
def test_without_a_way_to_start_vms_those_that_are_left_do_it_all(cluster: Cluster) -> None:
    plan = plan_of(bag([1] * 8), ["c1", "c1"], [(0, 0), (1, 0)] * 4)
    for vm in vms_of(plan):
        cluster.start(replace(vm, id=f"worker of {vm.id}"))
    lost, kept = (f"worker of {name}" for name in plan.vm_ids)
    execution = run(
        plan,
        cluster.client,
        workers={name: f"worker of {name}" for name in plan.vm_ids},
        call=nothing,
        on_run=lambda ended: cluster.stop(lost) if lost in cluster.workers else None,
    )
    cluster.stop(kept)
    assert not execution.unfinished
    assert len(execution.vms) == 2


def at_random(task: str) -> None:
    """Take a moment, and fail now and then."""
    time.sleep(random.random() * 0.004)
    if random.random() < 0.05:
        raise RuntimeError("now and then")


@soak(5, 300)
def test_whatever_is_lost_when_each_task_is_done_once(cluster: Cluster, how_many: int) -> None:
    for seed in range(how_many):
        drawn = random.Random(seed)
        kinds = [drawn.choice(["c1", "c2"]) for _ in range(drawn.randint(1, 4))]
        tasks = drawn.randint(5, 60)
        places = [(vm := drawn.randrange(len(kinds)), drawn.randrange(int(kinds[vm][1]))) for _ in range(tasks)]
        plan = plan_of(bag([drawn.randint(1, 5) for _ in range(tasks)]), kinds, places)
        losses = sorted(drawn.randrange(tasks) for _ in range(drawn.randint(0, 3)))
        ended: list[TaskRun] = []
        leaving: list[str] = []
        execution = carried_out(
            plan,
            cluster,
            call=at_random,
            retries=6,
            leaving=lambda leaving=leaving: leaving,
            on_run=partial(lose_some, drawn, cluster, losses, ended, leaving),
        )
        assert not any((execution.unfinished, execution.wrong_vm, execution.inversions)), seed
        assert max(Counter(run.task for run in execution.runs if run.done).values()) == 1, seed
        by_core: dict[tuple[str, int], list[TaskRun]] = {}
        for one in execution.runs:
            by_core.setdefault((one.vm, one.core), []).append(one)
        for runs in by_core.values():
            assert all(first.end_s <= second.start_s for first, second in pairwise(runs)), seed
        assert not cluster.workers
        assert forged_pass(execution.to_trace(), drawn) == [], seed


def lose_some(
    drawn: random.Random,
    cluster: Cluster,
    losses: list[int],
    ended: list[TaskRun],
    leaving: list[str],
    run: TaskRun,
) -> None:
    """Take a VM away, or say that it is about to leave, when as many attempts have ended as is drawn."""
    ended.append(run)
    if losses and len(ended) > losses[0] and cluster.workers:
        del losses[0]
        name = drawn.choice(sorted(cluster.workers))
        if drawn.random() < 0.3:
            leaving.append(name)
        else:
            cluster.stop(name)
