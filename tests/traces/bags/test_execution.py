"""What really happened to a plan, and its logs: every case by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from spotbag.core.errors import InputError
from spotbag.executors.logs import parse_log, read_logs
from spotbag.traces.bags.execution import Execution, PlannedTask, TaskRun, VmRun

PLANNED = (
    PlannedTask("a", "x", 0, 10, 12),
    PlannedTask("b", "x", 0, 12, 15),
    PlannedTask("c", "x", 1, 10, 14),
    PlannedTask("d", "y", 0, 10, 11),
)


CORES = {"x": 2, "y": 1}


def begin(at: float, vm: str) -> dict[str, Any]:
    return {"at": at, "event": "begin", "format": "spotbag.log/1", "vm": vm}


def start(at: float, core: int, task: str) -> dict[str, Any]:
    return {"at": at, "event": "start", "core": core, "number": 1, "task": task}


def end(at: float, core: int, task: str, code: int = 0) -> dict[str, Any]:
    return {"at": at, "event": "end", "core": core, "number": 1, "task": task, "exit_code": code}


def finish(at: float, event: str = "finish") -> dict[str, Any]:
    return {"at": at, "event": event}


def text_of(lines: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def executed(tmp_path: Path, *logs: Sequence[dict[str, Any]], lost: Sequence[str] = ()) -> Execution:
    paths = []
    for number, lines in enumerate(logs):
        paths.append(tmp_path / f"{number}.jsonl")
        paths[-1].write_text(text_of(lines))
    return read_logs(paths, PLANNED, CORES, 10, lost)


def test_the_first_vm_to_begin_is_ready_when_the_plan_has_it(tmp_path: Path) -> None:
    found = executed(
        tmp_path,
        [begin(1000, "x"), start(1000.5, 0, "a"), start(1000.5, 1, "c"), end(1002.5, 0, "a"), start(1002.75, 0, "b"),
         end(1004.5, 1, "c"), end(1005.25, 0, "b"), finish(1005.5)],
        [begin(1001, "y"), start(1001, 0, "d"), end(1002, 0, "d"), finish(1002)],
    )  # fmt: skip
    assert found.began_at == 990
    assert found.until_s == 15.5
    assert [(run.task, run.start_s, run.end_s) for run in found.runs] == [
        ("a", 10.5, 12.5),
        ("c", 10.5, 14.5),
        ("d", 11.0, 12.0),
        ("b", 12.75, 15.25),
    ]
    assert found.vms == (VmRun("x", 10.0, 15.5), VmRun("y", 11.0, 12.0))
    assert [task.start_error_s for task in found.deviations] == [0.5, 0.75, 0.5, 1.0]
    assert [task.end_error_s for task in found.deviations] == [0.5, 0.25, 0.5, 1.0]
    assert found.median_start_error_s == 0.625
    assert (found.makespan_s, found.planned_makespan_s) == (15.25, 15)
    assert not found.wrong_vm + found.inversions + found.failures + found.unfinished
    [x, y] = found.vm_deviations
    assert (x.tasks, x.done, x.cores, x.planned_start_s, x.planned_end_s, x.start_s, x.end_s) == (
        *(3, 3, 2, 10, 15),
        *(10.5, 15.25),
    )
    assert (y.starts, y.lost) == (1, False)


def test_a_second_begin_shows_what_was_cut_off_and_of_several_attempts_the_one_counts_that_ended_well(
    tmp_path: Path,
) -> None:
    [a, b, c, d] = executed(
        tmp_path,
        [begin(0, "x"), start(0, 0, "a"), start(0, 1, "c"), end(2, 1, "c", 3),
         begin(8, "x"), start(8, 0, "a"), start(8, 1, "c"), end(9, 0, "a"), end(9, 1, "c"), start(9, 0, "b")],
    ).deviations  # fmt: skip
    assert (a.status, a.attempts, a.run) == ("done", 2, TaskRun("a", "x", 0, 18.0, 19.0, 0))
    assert (b.status, b.attempts, b.run) == ("running", 1, TaskRun("b", "x", 0, 19.0))
    assert (c.status, c.attempts, c.start_error_s) == ("done", 2, 8.0)
    assert (d.status, d.attempts, d.start_error_s) == ("waiting", 0, None)


def test_what_a_stop_or_a_loss_cuts_off_does_not_run_still(tmp_path: Path) -> None:
    stopped = executed(tmp_path, [begin(0, "x"), start(1, 0, "a"), finish(2, "stop")])
    assert stopped.runs == (TaskRun("a", "x", 0, 11.0, 12.0),)
    assert stopped.vms == (VmRun("x", 10.0, 12.0, lost=True),)
    assert stopped.deviations[0].status == "cut off"
    lines = [begin(0, "x"), start(1, 0, "a")]
    assert executed(tmp_path, lines).deviations[0].status == "running"
    lost = executed(tmp_path, lines, [begin(0, "y"), start(0, 0, "d"), end(7, 0, "d")], lost=["x"])
    assert lost.deviations[0].run == TaskRun("a", "x", 0, 11.0, 17.0)
    assert lost.vms[0] == VmRun("x", 10.0, 17.0, lost=True)
    assert lost.makespan_s is None
    assert lost.unfinished == ("a", "b", "c")


def test_runs_on_a_wrong_vm_and_out_of_order_are_found() -> None:
    runs = (
        TaskRun("b", "x", 0, 10.0, 13.0, 0),
        TaskRun("c", "y", 0, 10.0, 14.0, 0),
        TaskRun("d", "y", 0, 10.0, 11.0, 5),
        TaskRun("a", "x", 0, 12.0, 14.0, 0),
    )
    found = Execution(PLANNED, runs, (), 20.0)
    assert [run.task for run in found.wrong_vm] == ["c"]
    assert [(early.task, late.task) for early, late in found.inversions] == [("a", "b")]
    assert [run.task for run in found.failures] == ["d"]
    assert found.unfinished == ("d",)
    # A task that is run again does not make what came after it an inversion.
    again = (
        TaskRun("a", "x", 0, 10.0, 12.0, 1),
        TaskRun("b", "x", 0, 12.0, 13.0, 0),
        TaskRun("a", "x", 0, 13.0, 14.0, 0),
    )
    assert not Execution(PLANNED, again, (), 20.0).inversions


def test_a_clock_that_is_set_back_makes_no_negative_times(tmp_path: Path) -> None:
    found = executed(tmp_path, [begin(5, "x"), start(6, 0, "a"), end(4, 0, "a")])
    assert [(run.start_s, run.end_s) for run in found.runs] == [(12.0, 12.0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ('{"format": "spotbag.schedule/1"}\n', "this is a plan"),
        ("no log\n", "is no log of a plan that was run"),
        (text_of([start(0, 0, "a")]), "line 1: event 'start' stands before the first 'begin'"),
        (text_of([begin(0, "x")]) + "{\n" + text_of([start(0, 0, "a")]), "line 2: is no line of a log"),
        (text_of([begin(0, "x"), start(0, 0, "a") | {"core": -1}]), "line 2: core -1 must be"),
        (text_of([begin(0, "x"), start(0, 10**9, "a")]), "line 2: core 1000000000 must be below 2, the cores of x"),
        (text_of([begin(0, "y"), start(0, 0, "d"), end(1, 1, "d")]), "line 3: core 1 must be below 1, the cores of y"),
        (text_of([begin(0, "z")]), "'z' is no VM of the plan that has tasks"),
        (text_of([begin(0, "x"), start(0, 0, "e")]), "'e' is no task of the plan"),
    ],
)
def test_what_is_no_log_of_the_plan_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "log.jsonl").write_text(text)
    with pytest.raises(InputError, match=message):
        read_logs([tmp_path / "log.jsonl"], PLANNED, CORES, 10)


def test_a_line_that_was_cut_short_is_left_out_at_the_end_and_before_a_new_start() -> None:
    text = text_of([begin(0, "x"), start(0, 0, "a")])
    assert len(parse_log(text + '{"at": 1', "log", CORES)) == 2
    assert len(parse_log(text + '{"at": 1\n' + text_of([begin(5, "x")]), "log", CORES)) == 3
