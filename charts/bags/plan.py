"""Gantt charts of plans: PNG, SVG and PDF by matplotlib, self-contained HTML by plotly."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...core.errors import SpotbagError
from ...core.text_files import write_bytes
from ...schedules.schedule import Schedule
from ..chart import BOOT_COLOUR, CATEGORIES, IDLE_COLOUR
from ..matplotlib_renderer import (
    BAR_HALF,
    FINE_EDGES_ABOVE,
    MAX_LABELLED_TASKS,
    ROW_GAP,
    draw_axes,
    draw_bars,
    draw_limits,
    draw_names,
    draw_stripes,
    new_figure,
)
from ..picture_files import figure_bytes, picture_format
from ..plotly_renderer import escaped, html_limits, html_page, html_stripes, rows_text
from .plan_layout import GanttLayout, gantt_layout

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def write_gantt(schedule: Schedule, path: str | os.PathLike[str], method: str | None = None) -> None:
    """Draw a plan: one row for each core grouped by VM, coloured by market, with D_spot and the deadline.

    Parameters
    ----------
    schedule : Schedule
        The plan.
    path : path
        Its ending says the format: ``.png``, ``.svg``, ``.pdf``, or ``.html`` (zoom; hovering tells task, VM, times).
    method : str, optional
        What made the plan, for the title.

    Raises
    ------
    SpotbagError
        If the format is unknown, the file cannot be written or the plotting libraries are missing.
    """
    kind = picture_format(path)
    layout = gantt_layout(schedule, method)
    try:
        data = _html(layout) if kind == "html" else _picture(layout, kind)
    except ImportError as error:
        raise SpotbagError(f"a picture needs {error.name}: pip install 'spotbag[plot]'") from None
    write_bytes(path, data)


def _picture(layout: GanttLayout, kind: str) -> bytes:
    figure, axes = new_figure(layout.n_rows)
    _draw_bars(axes, layout)
    draw_stripes(axes, layout)
    if layout.ready_s:
        axes.axvspan(0, layout.ready_s, color=BOOT_COLOUR, zorder=0, label=f"booting ({layout.ready_s} s)")
    draw_limits(axes, layout)
    draw_axes(figure, axes, layout)
    return figure_bytes(figure, kind)


def _draw_bars(axes: Axes, layout: GanttLayout) -> None:
    for first, rows, end in zip(layout.vm_first_row, layout.vm_rows, layout.vm_end_s, strict=True):
        paid = [(layout.ready_s, int(end) - layout.ready_s)]
        label = "rented, idle" if first == 0 else None
        axes.broken_barh(paid, (first - BAR_HALF, rows - ROW_GAP), facecolor=IDLE_COLOUR, zorder=0.5, label=label)
    edge = 0.5 if len(layout.row) <= FINE_EDGES_ABOVE else 0.1
    for index, (name, colour) in enumerate(CATEGORIES.items()):
        mask = layout.category == index
        if mask.any():
            bars = (layout.row[mask], layout.start_s[mask], layout.duration_s[mask])
            draw_bars(axes, *bars, colour, name, linewidth=edge)
    draw_names(axes, layout, layout.row, layout.start_s, layout.duration_s, layout.task_ids)


def _html(layout: GanttLayout) -> bytes:
    from plotly import graph_objects

    figure = graph_objects.Figure()
    ends = layout.start_s + layout.duration_s
    names = rows_text(layout)
    edge = 0.5 if len(layout.row) <= FINE_EDGES_ABOVE else 0
    idle = {"color": IDLE_COLOUR, "line": {"width": 0}}
    figure.add_bar(
        orientation="h",
        y=layout.vm_centre.tolist(),
        x=(layout.vm_end_s - layout.ready_s).tolist(),
        base=layout.ready_s,
        width=(layout.vm_rows - ROW_GAP).tolist(),
        name="rented, idle",
        marker=idle,
        hoverinfo="skip",
    )
    for index, (category, colour) in enumerate(CATEGORIES.items()):
        tasks = [task for task, kind in enumerate(layout.category.tolist()) if kind == index]
        if not tasks:
            continue
        texts = [
            f"<b>{escaped(layout.task_ids[task])}</b><br>{escaped(names[layout.row[task]])}<br>"
            f"{layout.start_s[task]:,} to {ends[task]:,} s ({layout.duration_s[task]:,} s)<br>{category}"
            for task in tasks
        ]
        figure.add_bar(
            orientation="h",
            y=layout.row[tasks].tolist(),
            x=layout.duration_s[tasks].tolist(),
            base=layout.start_s[tasks].tolist(),
            name=category,
            marker={"color": colour, "line": {"color": "white", "width": edge}},
            hovertext=texts,
            hoverinfo="text",
            text=[escaped(layout.task_ids[task]) for task in tasks] if len(layout.row) <= MAX_LABELLED_TASKS else None,
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": "white", "size": 10},
            constraintext="none",
            width=0.84,
        )
    html_limits(figure, layout)
    shapes = html_stripes(layout)
    if layout.ready_s:
        boot = {"type": "rect", "yref": "paper", "y0": 0, "y1": 1, "x0": 0, "x1": layout.ready_s, "layer": "below"}
        shapes.append({**boot, "fillcolor": BOOT_COLOUR, "line": {"width": 0}})
        booting = {"size": 12, "symbol": "square", "color": BOOT_COLOUR}
        name = f"booting ({layout.ready_s:,} s)"
        figure.add_scatter(x=[None], y=[None], mode="markers", marker=booting, name=name)
    return html_page(figure, layout, shapes)
