"""Gantt charts of plans."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...core.wording import counted, shortened
from ...schedules.documents import Survival
from ...schedules.lateness import late_s
from ...schedules.plan_text import survival_text
from ...schedules.schedule import Schedule
from ..chart import Bar, Chart, Look, Panel, stretch
from ..matplotlib_renderer import axes_of_chart
from ..picture_files import picture_format, plotting_libraries, write_chart
from .bag_chart import BOOTING, LATE, RENTED, TASKS, bag_chart, task_look, vm_lanes

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
    with plotting_libraries():
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
    kind = picture_format(path)
    write_chart(plan_chart(schedule, method, survival), path, kind)


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
