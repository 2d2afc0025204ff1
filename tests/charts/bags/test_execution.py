"""Charts of plans that were run: planned above actual."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotbag.charts.bags.plan import (
    CUT_OFF,
    DONE,
    FAILED,
    PLANNED,
    RUNNING,
    TAKES_TASKS,
    execution_chart,
    write_execution,
)
from spotbag.traces.bags.execution import Execution, PlannedTask, TaskRun, VmRun


@pytest.fixture
def execution() -> Execution:
    planned = tuple(PlannedTask(name, "x", core, 0, 5) for core, name in enumerate("abcd"))
    runs = (
        TaskRun("a", "x", 0, 0.5, 5.0, 0),
        TaskRun("b", "x", 1, 0.5, 1.0, 2, "no space left"),
        TaskRun("c", "x", 2, 0.5, 6.0),
        TaskRun("d", "y", 0, 1.0),
    )
    return Execution(planned, runs, (VmRun("x", 0.25, 6.0, lost=True), VmRun("y", 1.0)), 7.0)


def test_what_was_planned_stands_above_what_happened_on_the_same_axis(execution: Execution) -> None:
    chart = execution_chart(execution, "own", 20)
    planned, actual = chart.panels
    assert [lane.label for lane in planned.lanes] == [lane.label for lane in actual.lanes] == ["x", "y"]
    assert {(bar.name, bar.start_s, bar.end_s, bar.look) for bar in planned.bars} == {
        (name, 0, 5, PLANNED) for name in "abcd"
    }
    assert [(bar.name, bar.lane, bar.row, bar.start_s, bar.end_s, bar.look) for bar in actual.bars] == [
        ("", 0, None, 0.25, 6.0, TAKES_TASKS),
        ("", 1, None, 1.0, 7.0, TAKES_TASKS),
        ("a", 0, 0, 0.5, 5.0, DONE),
        ("b", 0, 1, 0.5, 1.0, FAILED),
        ("c", 0, 2, 0.5, 6.0, CUT_OFF),
        ("d", 1, 0, 1.0, 7.0, RUNNING),
    ]
    assert actual.bars[3].hover == ("planned start 0 s", "exit code 2", "no space left")
    assert chart.legend[0] == PLANNED
    assert "1 of 4 tasks done, until 7.0 s" in actual.title


@pytest.mark.parametrize("kind", ["svg", "html"])
def test_it_is_drawn_to_files(execution: Execution, tmp_path: Path, kind: str) -> None:
    write_execution(execution, tmp_path / f"run.{kind}", "own", 20)
    assert "deadline (20 s)" in (tmp_path / f"run.{kind}").read_text()
