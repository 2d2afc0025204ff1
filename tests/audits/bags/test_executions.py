"""The audit of plans that were really run: honest records pass, whatever was forged is found."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spotbag import Execution, PlannedTask, State, TaskRun, VmRun, VmState, audit, export_plan, read_log, replan
from spotbag.core.errors import InputError
from spotbag.traces.files import parse_traces, trace_lines
from tests.helpers.forged_executions import forged_pass
from tests.helpers.real_runs import begin, random_bag, run_by_scripts
from tests.helpers.soaks import soak
from tests.instances.test_cores import bag as bag_of_cores


def judge(seeds: range, folder: Path) -> None:
    """Run plans, and have what happened judged, as it is and forged."""
    for seed in seeds:
        for execution in run_by_scripts(seed, folder / str(seed)):
            assert audit(execution).findings == (), seed
            assert forged_pass(execution.to_trace(), random.Random(seed)) == [], seed


def test_what_scripts_really_did_passes_and_what_is_forged_does_not(tmp_path: Path) -> None:
    judge(range(2), tmp_path)


@soak(9, 100)
def test_what_many_scripts_really_did_passes_and_what_is_forged_does_not(tmp_path: Path, how_many: int) -> None:
    judge(range(2, 2 + how_many), tmp_path)


def by_hand() -> Execution:
    """Return a run of two tasks of 700 MB each, one after the other on a spot VM of 1000 MB that was ready late."""
    bag = random_bag(random.Random(0))
    bag = bag.replace(tasks=[task.model_copy(update={"memory_mb": 700.0}) for task in bag.tasks[:2]], deadline_s=10)
    planned = (PlannedTask("t0", "a", 0, 1, 2), PlannedTask("t1", "a", 1, 2, 3))
    runs = (TaskRun("t0", "a", 0, 7.5, 9.0, 0), TaskRun("t1", "a", 1, 9.0, 11.0, 0))
    return Execution(planned, runs, (VmRun("a", 7.0, 11.0, type="c2", market="spot"),), 11.0, 0.0, bag)


def test_an_execution_is_judged_by_the_clock_and_not_by_its_plan() -> None:
    report = audit(by_hand(), given=by_hand().instance)
    assert report.correct
    assert report.makespan_s == 11
    assert report.cost_usd == pytest.approx(4 * 0.3 / 3600)  # from when the VM was ready
    assert report.notes == ("1 task after the deadline, by up to 1.0 s",)


@pytest.mark.parametrize(
    ("billing", "setup_s", "billed_s", "fixed_usd"),
    [
        ({"minimum_s": 60}, 0, 60, 0.0),
        ({"block_s": 3, "boot_s": 1}, 0, 6, 0.0),
        ({"fixed_usd": 0.5}, 30, 34, 0.5),
        ({"minimum_s": 60, "fixed_usd": 0.5}, 100, 104, 0.5),
    ],
)
def test_a_vm_is_billed_as_its_cloud_does(
    billing: dict[str, Any], setup_s: int, billed_s: int, fixed_usd: float
) -> None:
    """4 s from when it was ready, at $ 0.3 an hour."""
    bag = by_hand().instance
    assert bag is not None
    types = [vm_type.model_copy(update={"setup_s": setup_s}) for vm_type in bag.vm_types]
    execution = replace(by_hand(), instance=bag.replace(billing=billing, vm_types=types, deadline_s=1000))
    report = audit(execution)
    assert report.findings == ()
    assert report.cost_usd == pytest.approx(fixed_usd + billed_s * 0.3 / 3600)
    assert execution.to_trace().end["cost_usd"] == pytest.approx(report.cost_usd)


def test_a_vm_that_was_there_before_pays_what_is_not_paid_yet() -> None:
    """Of 4 s, 2 s are paid; the rest begins a block of 5 s. One that launches pays the whole minimum and fixed part."""
    bag = by_hand().instance
    assert bag is not None
    machine = {"id": "a", "type": "c2", "market": "spot", "paid_until_s": 9}
    rules = {"minimum_s": 60, "block_s": 5, "fixed_usd": 0.5}
    for more, usd in (({}, 5 * 0.3 / 3600), ({"launching": True}, 0.5 + 60 * 0.3 / 3600)):
        found = replace(by_hand(), instance=bag.replace(billing=rules, machines=[machine | more]))
        report = audit(found)
        assert report.findings == ()
        assert report.cost_usd == pytest.approx(usd)


def test_a_vm_is_billed_at_the_price_at_which_it_was_rented() -> None:
    own = replace(by_hand().vms[0], price_usd_per_hour=0.6)
    trace = replace(by_hand(), vms=(own,)).to_trace()
    report = audit(trace)
    assert report.correct
    assert report.cost_usd == pytest.approx(4 * 0.6 / 3600)
    assert "1 VM at another price than that of the instance" in report.notes
    del trace.events[0]["price_usd_per_hour"]
    assert [finding.rule for finding in audit(trace).findings] == ["figures"]


@pytest.mark.slow
def test_a_plan_that_goes_on_with_a_vm_at_its_own_price_is_billed_by_that(tmp_path: Path) -> None:
    bag = random_bag(random.Random(0)).replace(deadline_s=100)
    vm = VmState(id="a", type="c2", market="spot", price_usd_per_hour=0.01)
    left = replan(bag, State(instance=bag.name, time_s=1.0, vms=(vm,)), time_limit_s=0.1).schedule
    assert left is not None
    for folder in export_plan(left, tmp_path / "run"):
        begin(folder).wait()
    execution = read_log(left, tmp_path / "run")
    prices = {run.vm: run.price_usd_per_hour for run in execution.vms}
    assert prices["a"] == 0.01
    report = audit(execution)
    assert report.findings == ()
    stretches = {run.vm: (run.end_s or 0) - run.start_s for run in execution.vms}
    assert report.cost_usd == pytest.approx(sum(prices[name] * s / 3600 for name, s in stretches.items()))


@pytest.mark.parametrize(
    ("rule", "runs"),
    [
        ("memory", (TaskRun("t0", "a", 0, 7.5, 9.0, 0), TaskRun("t1", "a", 1, 8.9, 11.0, 0))),
        ("core", (TaskRun("t0", "a", 1, 7.5, 9.0, 0), TaskRun("t1", "a", 1, 8.9, 11.0, 0))),
        ("timetable", (TaskRun("t0", "a", 1, 7.5, 9.0, 0), TaskRun("t1", "a", 1, 9.0, 11.0, 0))),
        ("state", (TaskRun("t0", "a", 0, 6.9, 9.0, 0), TaskRun("t1", "a", 1, 9.0, 11.0, 0))),
        ("placement", (TaskRun("t0", "a", 2, 7.5, 9.0, 0), TaskRun("t1", "a", 1, 9.0, 11.0, 0))),
        ("vm", (TaskRun("t0", "a", 0, 7.5, 9.0, 0), TaskRun("t1", "b", 1, 9.0, 11.0, 0))),
        ("task-once", (TaskRun("t0", "a", 0, 7.5, 8.0, 0), TaskRun("t0", "a", 0, 8.0, 9.0, 0))),
    ],
)
def test_what_cannot_have_been_run_is_found(rule: str, runs: tuple[TaskRun, ...]) -> None:
    execution = by_hand()
    vms = (*execution.vms, VmRun("b", 7.0, 11.0, type="c2", market="on-demand")) if rule != "vm" else execution.vms
    trace = replace(execution, runs=runs, vms=vms).to_trace()
    if rule == "vm":  # what ran on a VM that nobody rented is in no record of that VM
        trace.events[-3]["vm"] = "b"
    assert rule in {finding.rule for finding in audit(trace).findings}


def by_cores(needs: list[int], *cores: tuple[int, ...], starts: tuple[int, ...] = (0, 0, 0, 0)) -> Execution:
    """Return a run as planned of tasks of 100 s on a VM of four cores, on which they are to have these."""
    instance = bag_of_cores(needs, (4,))
    planned = tuple(
        PlannedTask(f"t{number}", "v", own[0], start_s, start_s + 100, cores=own)
        for number, (own, start_s) in enumerate(zip(cores, starts, strict=False))
    )
    runs = tuple(TaskRun(one.task, "v", one.core, float(one.start_s), float(one.end_s), 0) for one in planned)
    end_s = max(one.end_s for one in planned)
    return Execution(planned, runs, (VmRun("v", 0, end_s, type="c4", market="on-demand"),), end_s, 0, instance)


def test_more_cores_at_once_than_a_vm_has_are_found() -> None:
    for needs in ([2, 2, 2, 2], [1, 2, 2, 2], [1, 1, 1, 2]):
        execution = by_cores(needs, (0,), (1,), (2,), (3,))
        first_alone = tuple(replace(one, cores=()) for one in execution.planned)
        [*_, found] = audit(replace(execution, planned=first_alone)).findings
        assert (found.rule, found.amount, found.unit) == ("core", sum(needs) - 4, "cores"), needs


@pytest.mark.parametrize(
    ("needs", "cores", "starts", "message"),
    [
        ([2, 2], [(0, 1), (2, 3)], (0, 0), ""),
        ([2, 2], [(0, 3), (2, 1)], (0, 0), ""),  # they need not be neighbours
        ([1, 2], [(0,), (2, 3)], (0, 0), ""),
        ([1, 1], [(4,), (2,)], (0, 0), "cannot run there on c4"),
        ([2, 2], [(99, 98, 97), (2, 3)], (0, 0), r"t0' of 2 cores is on \[99, 98, 97\] of the plan"),
        ([2, 2], [(0, 1), (2, 4)], (0, 0), r"t1' of 2 cores is on \[2, 4\] of the plan"),
        ([2, 2], [(0, 0), (2, 3)], (0, 0), r"t0' of 2 cores is on \[0, 0\] of the plan"),
        ([2, 2], [(0, 1), (2, 1)], (0, 0), "t1' of the plan starts before 't0' ends on the same core"),
        ([2, 2], [(0, 1), (2, 1)], (0, 100), ""),
    ],
)
def test_cores_of_the_plan_of_an_execution_are_judged(
    needs: list[int], cores: list[tuple[int, ...]], starts: tuple[int, ...], message: str
) -> None:
    findings = audit(by_cores(needs, *cores, starts=starts)).findings
    assert bool(findings) == bool(message)
    assert re.search(message, " ".join(finding.message for finding in findings))


def test_a_task_that_does_not_wait_for_its_second_core_is_found() -> None:
    execution = by_cores([2, 2], (0, 1), (2, 1), starts=(0, 100))
    early = replace(execution, runs=(execution.runs[0], replace(execution.runs[1], start_s=50.0)))
    assert [finding.message for finding in audit(early).findings] == [
        "task 't1' starts at 50 s; the plan has it behind 't0'"
    ]


def test_more_vms_than_the_limit_at_a_time_are_found() -> None:
    execution = by_hand()
    more = tuple(VmRun(f"x{number}", 2, 3 + number, type="c2", market="spot") for number in range(3))
    assert [one.rule for one in audit(replace(execution, vms=(*execution.vms, *more))).findings] == ["limit"]
    one_after_another = replace(
        execution, vms=(*execution.vms, *(replace(vm, requested_s=11.5, start_s=12.0, end_s=13.0) for vm in more))
    )
    assert audit(replace(one_after_another, until_s=13.0)).correct


def test_an_execution_that_does_not_say_what_it_is_of_is_refused() -> None:
    with pytest.raises(InputError, match="does not say of which bag it is"):
        audit(replace(by_hand(), instance=None))


def test_a_trace_of_an_execution_is_read_back() -> None:
    trace = by_hand().to_trace()
    text = "\n".join(trace_lines([trace]))
    [read] = parse_traces(text, "run.jsonl")
    assert read == trace
    assert read.of_execution
    late = json.loads(text.splitlines()[3]) | {"t": "soon"}
    with pytest.raises(InputError, match="line 4"):
        parse_traces("\n".join([*text.splitlines()[:3], json.dumps(late), *text.splitlines()[4:]]), "run.jsonl")
