"""Gantt charts of plans that were run: planned against actual."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from ...core.wording import counted, shortened
from ...traces.bags.execution import Execution, TaskRun
from ..chart import Bar, Chart, Limit, Look, Panel, last_shown_s, stretch
from ..picture_files import picture_format, write_chart
from .bag_chart import DEADLINE, RENTED, vm_lanes

PLANNED = Look("planned", "#8FA3B8", "white", text="white")
DONE = Look("done (exit code 0)", "#3B7F5C", "white", text="white")
FAILED = Look("failed (another exit code)", "#C8372D", "#5A0F0A", 0.8, "////", text="white", layer=2)
CUT_OFF = Look("cut off, or its VM was lost", "#DDDDDD", "#777777", hatch="/////", layer=2)
RUNNING = Look("runs still", "#E8C84A", "white", text="#222222", layer=1.5)
TAKES_TASKS = replace(RENTED, label="VM takes tasks, idle")
_OF_RUNS = (TAKES_TASKS, DONE, FAILED, CUT_OFF, RUNNING)


def write_execution(
    execution: Execution, path: str | os.PathLike[str], name: str = "", deadline_s: int | None = None
) -> None:
    """Draw the plan and what really happened to a file, one below the other on the same axis of time.

    Parameters
    ----------
    execution : Execution
        What happened.
    path : path
        Its ending says the format: ``.png``, ``.svg``, ``.pdf``, or ``.html``: a page that fits any screen and zooms.
    name : str
        Name of the plan, for the title.
    deadline_s : int, optional
        The deadline, for a line.

    Raises
    ------
    SpotbagError
        If the format is unknown, the file cannot be written or a plotting library is missing.
    """
    kind = picture_format(path)
    write_chart(execution_chart(execution, name, deadline_s), path, kind)


def execution_chart(execution: Execution, name: str = "", deadline_s: int | None = None) -> Chart:
    """Lay out the chart of a plan that was run: a panel for the plan, and one for what happened."""
    vms = execution.vm_deviations
    lane_of = {found.vm: lane for lane, found in enumerate(vms)}
    lanes = vm_lanes([(found.vm, found.cores) for found in vms])
    planned = [
        Bar(lane_of[task.vm], task.core, stretch(task.start_s, task.end_s), PLANNED, task.task)
        for task in execution.planned
    ]
    happened = [*_stretches(execution, lane_of), *_runs(execution, lane_of)]
    limits = []
    if deadline_s is not None:
        limits = [Limit(deadline_s, replace(DEADLINE, label=f"deadline ({deadline_s:,} s)"))]
    looks = {bar.look for bar in happened}
    end_s = max(execution.planned_makespan_s, execution.until_s, *(bar.end_s for bar in happened), 1)
    return Chart(
        f"{shortened(name, 60)}: planned and actual" if name else "planned and actual",
        [
            Panel(_planned_text(execution), lanes, planned, limits=limits),
            Panel(_happened_text(execution), lanes, happened, limits=limits),
        ],
        [PLANNED, *(look for look in _OF_RUNS if look in looks), *(limit.look for limit in limits)],
        0,
        1.03 * last_shown_s(end_s, () if deadline_s is None else (deadline_s,)),
        "time since the start (s)",
        "VM (one row for each core)",
        row_label="core",
    )


def _stretches(execution: Execution, lane_of: dict[str, int]) -> Iterator[Bar]:
    for found in execution.vms:
        if found.vm in lane_of:
            end_s = execution.until_s if found.end_s is None else found.end_s
            yield Bar(lane_of[found.vm], None, stretch(found.start_s, end_s), TAKES_TASKS)


def _runs(execution: Execution, lane_of: dict[str, int]) -> Iterator[Bar]:
    start_of = {task.task: task.start_s for task in execution.planned}
    for run in execution.runs:
        end_s = execution.until_s if run.end_s is None else run.end_s
        hover = [f"planned start {start_of[run.task]:,} s"] if run.task in start_of else []
        hover += [f"exit code {run.exit_code}"] if run.exit_code is not None else []
        hover += [run.message] if run.message else []
        yield Bar(lane_of[run.vm], run.core, stretch(run.start_s, end_s), _look(run), run.task, hover=tuple(hover))


def _look(run: TaskRun) -> Look:
    if run.runs_still:
        return RUNNING
    return DONE if run.done else FAILED if run.failed else CUT_OFF


def _planned_text(execution: Execution) -> str:
    vms = len({task.vm for task in execution.planned})
    tasks = counted(len(execution.planned), "task")
    return f"planned: {tasks} on {counted(vms, 'VM')}, the last ends at {execution.planned_makespan_s:,.0f} s"


def _happened_text(execution: Execution) -> str:
    total = len(execution.planned)
    done = total - len(execution.unfinished)
    end_s, error_s = execution.makespan_s, execution.median_start_error_s
    ends = f"the last ended at {end_s:,.1f} s" if end_s is not None else f"until {execution.until_s:,.1f} s"
    starts = "" if error_s is None else f", median error of the starts {error_s:.2f} s"
    failures = f", {counted(len(execution.failures), 'failure')}" if execution.failures else ""
    return f"actual: {done:,} of {counted(total, 'task')} done, {ends}{starts}{failures}"
