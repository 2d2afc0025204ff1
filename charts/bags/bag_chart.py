"""Common parts of charts of plans and of their replays: bars of tasks, limits, the axis of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..chart import BOOT_COLOUR, IDLE_COLOUR, Chart, Lane, Limit, Look, Panel, last_shown_s, row_height_in

SPOT, ON_DEMAND, BURST, BASELINE = TASKS = tuple(
    Look(label, colour, "white", text="white")
    for label, colour in (
        ("spot", "#4C8EDA"),
        ("on-demand", "#E8A33D"),
        ("burstable, full speed", "#3FA66B"),
        ("burstable, baseline", "#9C6FC4"),
    )
)
"""Tasks by the market of their VM, or by the mode of a burstable one."""

LATE = Look("late", "#C8372D", "white", text="white")
"""Tasks that end after they are due, wherever they run."""
BOOTING = Look("booting", BOOT_COLOUR, layer=0.5)
RENTED = Look("rented, idle", IDLE_COLOUR, layer=0.5)
DEADLINE = Look("deadline", "#C8372D", line="-", width=1.6, layer=2)
D_SPOT = Look("D_spot", "#7A4FBF", line="--", width=1.6, layer=2)


def task_look(*, spot: bool, burstable: bool, baseline: bool) -> Look:
    """Look of a task."""
    if burstable:
        return BASELINE if baseline else BURST
    return SPOT if spot else ON_DEMAND


def vm_lanes(vms: Sequence[tuple[str, int]]) -> list[Lane]:
    """Lanes of VMs, given with their numbers of cores: a row for each core, every other VM shaded."""
    height_in = row_height_in(sum(cores for _, cores in vms))
    return [Lane(name, cores, height_in, index % 2 == 0) for index, (name, cores) in enumerate(vms)]


def bag_chart(
    title: str,
    panel: Panel,
    explained: Sequence[Look],
    limits_s: tuple[int, int | None],
    span_s: tuple[int, int],
    notes: Sequence[str] = (),
    moments: Sequence[tuple[int, Look]] = (),
    time_label: str = "time since the start (s)",
) -> Chart:
    """Add the deadline and D_spot to a panel, and make a chart of it.

    Parameters
    ----------
    title : str
        Text above the chart.
    panel : Panel
        The plan or the replay; the limits are added.
    explained : sequence of Look
        What the legend explains, in order, before the limits.
    limits_s : (int, int or None)
        Deadline and D_spot; the latter is None if there are no spot VMs.
    span_s : (int, int)
        Where the axis of time begins, and the end of the last thing shown.
    notes : sequence of str
        Lines below the title.
    moments : sequence of (int, Look)
        Other moments of all VMs.
    time_label : str
        Label of the axis.
    """
    (deadline_s, d_spot_s), (start_s, end_s) = limits_s, span_s
    d_spot = [] if d_spot_s is None else [(d_spot_s, D_SPOT)]
    limits = [
        Limit(moment_s, replace(look, label=f"{look.label} ({moment_s:,} s)"))
        for moment_s, look in (*moments, *d_spot, (deadline_s, DEADLINE))
    ]
    return Chart(
        title,
        [replace(panel, limits=limits)],
        [*explained, *(limit.look for limit in limits)],
        start_s,
        1.03 * last_shown_s(end_s, (deadline_s, d_spot_s or 0)),
        time_label,
        "VM (one row for each core)",
        row_label="core",
        notes=tuple(notes),
    )
