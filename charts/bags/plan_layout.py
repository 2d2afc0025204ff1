"""What a Gantt chart shows, independent of how it is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core.quantities import IntArray
from ...core.wording import counted, shortened
from ...schedules.schedule import Schedule
from ..chart import Frame


@dataclass(frozen=True, slots=True)
class GanttLayout(Frame):
    """Rows and bars of the Gantt chart of a plan.

    Attributes
    ----------
    vm_end_s : array of int, shape (n_drawn,)
        Until when each VM is paid.
    row : array of int, shape (n_tasks,)
        Row of each task.
    start_s, duration_s : array of int, shape (n_tasks,)
        Where its bar lies.
    category : array of int, shape (n_tasks,)
        Position in `CATEGORIES`.
    task_ids : sequence of str, shape (n_tasks,)
        What to call the tasks.
    ready_s : int
        When the VMs are ready.
    """

    vm_end_s: IntArray
    row: IntArray
    start_s: IntArray
    duration_s: IntArray
    category: IntArray
    task_ids: Sequence[str]
    ready_s: int


def gantt_layout(schedule: Schedule, method: str | None = None) -> GanttLayout:
    """Lay out the Gantt chart of a plan; VMs without tasks are left out."""
    instance = schedule.instance
    used = np.unique(schedule.task_vm)
    order = sorted(used.tolist(), key=lambda vm: (instance.offers[schedule.vm_offer[vm]].market != "spot", vm))
    rows = schedule.vm_vcpus[order]
    first = np.concatenate([[0], np.cumsum(rows)[:-1]]).astype(np.int64)
    first_of_vm = np.zeros(len(schedule.vm_offer), dtype=np.int64)
    first_of_vm[order] = first
    is_spot = instance.offer_is_spot[schedule.vm_offer][schedule.task_vm]
    burstable = np.array([offer.burstable for offer in instance.offers])[schedule.vm_offer][schedule.task_vm]
    category = np.where(is_spot, 0, 1)
    category = np.where(burstable, np.where(schedule.task_baseline, 3, 2), category)
    used_offers = Counter(schedule.vm_offer[order].tolist())
    mix = ", ".join(f"{used_offers[index]} {instance.offers[index]}" for index in sorted(used_offers))
    share = 100 * schedule.makespan_s / instance.deadline_s
    maker = f", {method}" if method else ""
    used_spot = bool(instance.offer_is_spot[schedule.vm_offer[order]].any())
    return GanttLayout(
        title=f"{shortened(instance.name, 60)}{maker}: ${schedule.cost_usd:.4f}, makespan {schedule.makespan_s:,} s",
        subtitle=f"{counted(instance.n_tasks, 'task')} on {counted(len(order), 'VM')} ({shortened(mix, 120)}), "
        f"ends at {share:.0f} % of the deadline",
        vm_labels=[schedule.vm_ids[vm] for vm in order],
        vm_first_row=first,
        vm_rows=rows,
        vm_end_s=schedule.vm_end_s[order],
        row=first_of_vm[schedule.task_vm] + schedule.task_core,
        start_s=schedule.task_start_s,
        duration_s=schedule.task_duration_s,
        category=category,
        task_ids=instance.task_ids,
        deadline_s=instance.deadline_s,
        d_spot_s=instance.d_spot_s if used_spot else None,
        makespan_s=schedule.makespan_s,
        ready_s=instance.boot_overhead_s,
    )
