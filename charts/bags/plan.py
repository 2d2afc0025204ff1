"""Gantt charts of plans, and of plans beside how they were run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...core.wording import counted, shortened
from ...schedules.documents import Survival
from ...schedules.lateness import late_s
from ...schedules.plan_text import survival_text
from ...schedules.schedule import Schedule
from ...traces.bags.execution import Execution, TaskRun
from ..chart import Bar, Chart, Limit, Look, Panel, last_shown_s, stretch
from ..matplotlib_renderer import axes_of_chart
from ..picture_files import write_chart
from .bag_chart import BOOTING, DEADLINE, LATE, RENTED, TASKS, bag_chart, task_look, vm_lanes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WORST_LOSS = Look("worst loss", "#111111", line=":", width=1.6, layer=2)
BEYOND_RESCUE = Look("loss beyond rescue", "#111111", line=":", width=1.6, layer=2)
NOW = Look("now", "#444444", line="-", width=1.2, layer=2)

_MOST_BEFORE = 0.25
"""Share of the time to come that is shown of the time before; of tasks that run for longer, only their ends are."""


def plot_gantt(
    schedule: Schedule, ax: Axes | None = None, method: str | None = None, survival: Survival | None = None
) -> Axes:
    """Draw a plan onto axes of matplotlib: one row for each core grouped by VM, with D_spot and the deadline.

    Parameters
    ----------
    schedule : Schedule
        The plan.
    ax : matplotlib.axes.Axes, optional
        Where; axes of a new figure that has room for it if not given.
    method : str, optional
        What made the plan, for the title.
    survival : Survival, optional
        What the plan survives: a line below the title, and the worst moment.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with title and legend.

    Raises
    ------
    SpotbagError
        If matplotlib is missing.
    """
    return axes_of_chart(plan_chart(schedule, method, survival), ax)


def write_gantt(
    schedule: Schedule, path: str | os.PathLike[str], method: str | None = None, survival: Survival | None = None
) -> None:
    """Draw a plan to a file: one row for each core grouped by VM, coloured by market, with D_spot and the deadline.

    Parameters
    ----------
    schedule : Schedule
        The plan.
    path : path
        Its ending says the format: ``.png``, ``.svg``, ``.pdf``, or ``.html``: a page that fits any screen, zooms, and
        tells VM, core and times of the task that one points at.
    method : str, optional
        What made the plan, for the title.
    survival : Survival, optional
        What the plan survives: a line below the title, and the worst moment.

    Raises
    ------
    SpotbagError
        If the format is unknown, the file cannot be written or a plotting library is missing.
    """
    write_chart(path, plan_chart, schedule, method, survival)


def plan_chart(schedule: Schedule, method: str | None = None, survival: Survival | None = None) -> Chart:
    """Lay out the Gantt chart of a plan; VMs without tasks are left out.

    A plan from a state is shown from now on: what runs already has begun before.

    Parameters
    ----------
    schedule : Schedule
        The plan.
    method : str, optional
        What made it, for the title.
    survival : Survival, optional
        What the plan survives.
    """
    instance = schedule.instance
    offers = [instance.offers[offer] for offer in schedule.vm_offer]
    used = np.unique(schedule.task_vm).tolist()
    order = sorted(used, key=lambda vm: (offers[vm].market != "spot", schedule.vm_machine[vm] < 0, vm))
    lane_of = {vm: lane for lane, vm in enumerate(order)}
    ready_s = {vm: int(schedule.vm_ready_s[vm]) for vm in used}
    # One legend tells the boot of all VMs, where it takes them equally long.
    each = {seconds for seconds in ready_s.values() if seconds}
    booting = replace(BOOTING, label=f"booting ({each.pop():,} s)") if len(each) == 1 else BOOTING
    since_s = np.minimum(schedule.vm_ready_s, 0)
    np.minimum.at(since_s, schedule.task_vm, schedule.task_start_s)
    bars = [Bar(lane, None, stretch(0, ready_s[vm]), booting) for vm, lane in lane_of.items() if ready_s[vm]]
    bars += [
        Bar(lane, None, stretch(ready_s[vm] or int(since_s[vm]), int(schedule.vm_end_s[vm])), RENTED)
        for vm, lane in lane_of.items()
    ]
    late = late_s(schedule, instance) > 0
    for task, name in enumerate(instance.task_ids):
        vm, cores = int(schedule.task_vm[task]), schedule.task_cores[task] or (int(schedule.task_core[task]),)
        start, end = int(schedule.task_start_s[task]), int(schedule.task_end_s[task])
        offer, baseline = offers[vm], bool(schedule.task_baseline[task])
        look = task_look(spot=offer.market == "spot", burstable=offer.burstable, baseline=baseline)
        look = LATE if late[task] else look
        bars += [Bar(lane_of[vm], core, stretch(start, end), look, name) for core in cores]
    found = {bar.look for bar in bars}
    lanes = vm_lanes([(_label(schedule, vm), offers[vm].vm_type.vcpus) for vm in order])
    # Tasks that began long before a state would squeeze what is planned.
    begin_s = max(int(since_s.min()), -int(_MOST_BEFORE * max(schedule.makespan_s, 1)))
    maker = f", {method}" if method else ""
    return bag_chart(
        f"{shortened(instance.name, 60)}{maker}: ${schedule.cost_usd:.4f}, makespan {schedule.makespan_s:,} s",
        Panel(_subtitle(schedule, order), lanes, bars),
        [look for look in (booting, RENTED, *TASKS, LATE) if look in found],
        (instance.deadline_s, instance.d_spot_s if any(offers[vm].market == "spot" for vm in order) else None),
        (begin_s, schedule.makespan_s),
        () if survival is None else (survival_text(survival),),
        [*([(0, NOW)] if begin_s < 0 else []), *_worst_moment(survival)],
        "time from now on (s)" if instance.machines else "time since the start (s)",
    )


def _label(schedule: Schedule, vm: int) -> str:
    name = schedule.vm_ids[vm]
    return f"{name} (machine)" if schedule.vm_machine[vm] >= 0 else name


def _worst_moment(survival: Survival | None) -> list[tuple[int, Look]]:
    if survival is None or survival.worst_at_s is None:
        return []
    return [(survival.worst_at_s, WORST_LOSS if survival.verdict == "survives" else BEYOND_RESCUE)]


def _subtitle(schedule: Schedule, order: list[int]) -> str:
    instance = schedule.instance
    numbers = Counter(schedule.vm_offer[order].tolist())
    mix = ", ".join(f"{numbers[offer]} {instance.offers[offer]}" for offer in sorted(numbers))
    share = 100 * schedule.makespan_s / instance.deadline_s
    idle = len(instance.machines) - int((schedule.vm_machine[order] >= 0).sum())
    return (
        f"{counted(instance.n_tasks, 'task')} on {counted(len(order), 'VM')} ({shortened(mix, 120)}), "
        f"ends at {share:.0f} % of the deadline" + (f", {counted(idle, 'machine')} not used" if idle else "")
    )


# ------------------------------------------------------------------------- executions

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
    write_chart(path, execution_chart, execution, name, deadline_s)


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
