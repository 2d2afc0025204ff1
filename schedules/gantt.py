"""Gantt charts of plans: PNG, SVG and PDF by matplotlib, self-contained HTML by plotly."""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..instances.errors import SpotbagError
from ..instances.text_files import write_bytes
from .gantt_layout import (
    BOOT_COLOUR,
    CATEGORIES,
    D_SPOT_COLOUR,
    DEADLINE_COLOUR,
    IDLE_COLOUR,
    GanttLayout,
    gantt_layout,
)
from .schedule import Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PICTURE_FORMATS = ("png", "svg", "pdf", "html")

_MAX_LABELLED_TASKS = 600
_ROW_IN = 0.24
_LEAST_ROW_IN = 0.02
_LABELLED_ROW_IN = 0.14
_ROWS_IN = 18.0
_HIGHEST_IN = 100.0
_MARGIN_IN = 1.7
_WIDTH_IN = 13.0
_LABEL_CHARACTER_IN = 0.062
_MAX_VM_LABELS_PER_IN = 6


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


def picture_format(path: str | os.PathLike[str]) -> str:
    """Format of a picture by the ending of its file.

    Raises
    ------
    SpotbagError
        If it is not one of `PICTURE_FORMATS`.
    """
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in PICTURE_FORMATS:
        raise SpotbagError(f"{path}: a picture's name must end in .{', .'.join(PICTURE_FORMATS)}")
    return kind


def _picture(layout: GanttLayout, kind: str) -> bytes:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    row_in = max(min(_ROW_IN, _ROWS_IN / layout.n_rows), _LEAST_ROW_IN)
    height = min(max(_MARGIN_IN + row_in * layout.n_rows, 3.0), _HIGHEST_IN)
    figure = Figure(figsize=(_WIDTH_IN, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    _draw_bars(axes, layout, row_in)
    _draw_frame(figure, axes, layout, row_in)
    buffer = io.BytesIO()
    # A fixed salt and no date: the same plan gives the same file.
    with rc_context({"svg.hashsalt": "spotbag", "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # glyphs that the font lacks are shown as boxes
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        figure.savefig(buffer, format=kind, dpi=110, metadata=metadata)
    return buffer.getvalue()


def _draw_bars(axes: Axes, layout: GanttLayout, row_in: float) -> None:
    """Draw all bars of a category as one collection, which stays fast for many thousands of tasks."""
    from matplotlib.collections import PolyCollection
    from numpy import stack

    for first, rows, end in zip(layout.vm_first_row, layout.vm_rows, layout.vm_end_s, strict=True):
        paid = [(layout.ready_s, int(end) - layout.ready_s)]
        label = "rented, idle" if first == 0 else None
        axes.broken_barh(paid, (first - 0.42, rows - 0.16), facecolor=IDLE_COLOUR, zorder=0.5, label=label)
    left, right = layout.start_s, layout.start_s + layout.duration_s
    top, bottom = layout.row - 0.42, layout.row + 0.42
    corners = stack([stack([left, left, right, right], axis=1), stack([top, bottom, bottom, top], axis=1)], axis=2)
    edge = 0.5 if len(layout.row) <= 2000 else 0.1
    for index, (name, colour) in enumerate(CATEGORIES.items()):
        mask = layout.category == index
        if mask.any():
            axes.add_collection(
                PolyCollection(list(corners[mask]), facecolor=colour, edgecolor="white", linewidth=edge, label=name)
            )
    if len(layout.row) > _MAX_LABELLED_TASKS or row_in < _LABELLED_ROW_IN:
        return
    seconds_per_in = _span_s(layout) / (_WIDTH_IN - 2.2)
    for task, name in enumerate(layout.task_ids):
        if len(name) * _LABEL_CHARACTER_IN * seconds_per_in < layout.duration_s[task]:
            centre = layout.start_s[task] + layout.duration_s[task] / 2
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6.5, "color": "white"}
            axes.text(centre, layout.row[task], name, parse_math=False, **style)


def _span_s(layout: GanttLayout) -> float:
    """Length of the time axis: up to the deadline, unless that would squeeze the plan to nothing."""
    ends = [layout.deadline_s, layout.d_spot_s or 0]
    shown = [end for end in ends if end <= 4 * layout.makespan_s]
    return 1.03 * max([layout.makespan_s, *shown])


def _draw_frame(figure: Figure, axes: Axes, layout: GanttLayout, row_in: float) -> None:
    span = _span_s(layout)
    for index, (first, rows) in enumerate(zip(layout.vm_first_row, layout.vm_rows, strict=True)):
        if index % 2 == 0:
            axes.axhspan(first - 0.5, first + rows - 0.5, color="#F1F3F6", zorder=0)
    if layout.ready_s:
        axes.axvspan(0, layout.ready_s, color=BOOT_COLOUR, zorder=0, label=f"booting ({layout.ready_s} s)")
    limits = [(layout.deadline_s, "deadline", DEADLINE_COLOUR, "-")]
    if layout.d_spot_s is not None:
        limits.insert(0, (layout.d_spot_s, "D_spot", D_SPOT_COLOUR, "--"))
    for moment, name, colour, style in limits:
        if moment <= span:
            axes.axvline(moment, color=colour, linestyle=style, linewidth=1.6, label=f"{name} ({moment:,} s)")
        else:
            axes.plot([], [], color=colour, linestyle=style, label=f"{name} ({moment:,} s, not shown)")
    axes.set_xlim(0, span)
    axes.set_ylim(layout.n_rows - 0.5, -0.5)
    every = max(1, round(len(layout.vm_labels) / max(layout.n_rows * row_in * _MAX_VM_LABELS_PER_IN, 1)))
    axes.set_yticks(layout.vm_centre[::every], layout.vm_labels[::every], fontsize=8, parse_math=False)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("time since the start (s)")
    axes.set_ylabel("VM (one row for each core)")
    axes.grid(axis="x", color="#CCCCCC", linewidth=0.5)
    axes.set_axisbelow(True)
    figure.suptitle(layout.title, fontsize=12, fontweight="bold", parse_math=False)
    axes.set_title(layout.subtitle, fontsize=9, color="#444444", parse_math=False)
    figure.legend(loc="outside lower center", ncols=6, fontsize=8, frameon=False)


def _html(layout: GanttLayout) -> bytes:
    from plotly import graph_objects

    figure = graph_objects.Figure()
    ends = layout.start_s + layout.duration_s
    names = _vm_of_row(layout)
    idle = {"color": IDLE_COLOUR, "line": {"width": 0}}
    figure.add_bar(
        orientation="h",
        y=layout.vm_centre.tolist(),
        x=(layout.vm_end_s - layout.ready_s).tolist(),
        base=layout.ready_s,
        width=(layout.vm_rows - 0.16).tolist(),
        name="rented, idle",
        marker=idle,
        hoverinfo="skip",
    )
    for index, (category, colour) in enumerate(CATEGORIES.items()):
        tasks = [task for task, kind in enumerate(layout.category.tolist()) if kind == index]
        if not tasks:
            continue
        texts = [
            f"<b>{_escape(layout.task_ids[task])}</b><br>{_escape(names[layout.row[task]])}<br>"
            f"{layout.start_s[task]:,} to {ends[task]:,} s ({layout.duration_s[task]:,} s)<br>{category}"
            for task in tasks
        ]
        figure.add_bar(
            orientation="h",
            y=layout.row[tasks].tolist(),
            x=layout.duration_s[tasks].tolist(),
            base=layout.start_s[tasks].tolist(),
            name=category,
            marker={"color": colour, "line": {"color": "white", "width": 0.5 if len(layout.row) <= 2000 else 0}},
            hovertext=texts,
            hoverinfo="text",
            text=[_escape(layout.task_ids[task]) for task in tasks] if len(layout.row) <= _MAX_LABELLED_TASKS else None,
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": "white", "size": 10},
            constraintext="none",
            width=0.84,
        )
    limits = [(layout.deadline_s, "deadline", DEADLINE_COLOUR, "solid")]
    if layout.d_spot_s is not None:
        limits.append((layout.d_spot_s, "D_spot", D_SPOT_COLOUR, "dash"))
    bottom = layout.n_rows - 0.5
    for moment, name, colour, dash in limits:
        label = f"{name} ({moment:,} s)"
        line = {"color": colour, "dash": dash, "width": 2}
        figure.add_scatter(x=[moment, moment], y=[-0.5, bottom], mode="lines", name=label, line=line, hoverinfo="name")
    stripes = [
        {
            "type": "rect",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": int(first) - 0.5,
            "y1": int(first + rows) - 0.5,
            "fillcolor": "#F1F3F6",
            "line": {"width": 0},
            "layer": "below",
        }
        for first, rows in list(zip(layout.vm_first_row, layout.vm_rows, strict=True))[::2]
    ]
    if layout.ready_s:
        boot = {"type": "rect", "yref": "paper", "y0": 0, "y1": 1, "x0": 0, "x1": layout.ready_s, "layer": "below"}
        stripes.append({**boot, "fillcolor": BOOT_COLOUR, "line": {"width": 0}})
        booting = {"size": 12, "symbol": "square", "color": BOOT_COLOUR}
        name = f"booting ({layout.ready_s:,} s)"
        figure.add_scatter(x=[None], y=[None], mode="markers", marker=booting, name=name)
    figure.update_layout(
        uniformtext={"minsize": 9, "mode": "hide"},
        title={"text": f"<b>{_escape(layout.title)}</b><br><sub>{_escape(layout.subtitle)}</sub>"},
        barmode="overlay",
        template="plotly_white",
        height=max(420, min(160 + 22 * layout.n_rows, 6000)),
        shapes=stripes,
        legend={"orientation": "h", "yanchor": "bottom", "y": 1, "xanchor": "right", "x": 1},
        hoverlabel={"align": "left"},
        xaxis={"title": {"text": "time since the start (s)"}, "range": [0, _span_s(layout)], "tickformat": ",d"},
        yaxis={
            "title": {"text": "VM (one row for each core)"},
            "range": [bottom, -0.5],
            "tickvals": layout.vm_centre.tolist(),
            "ticktext": [_escape(label) for label in layout.vm_labels],
            "automargin": True,
        },
    )
    page: str = figure.to_html(include_plotlyjs=True, full_html=True, div_id="gantt", config={"displaylogo": False})
    heading = f"<head><title>{_escape(layout.title)}</title>"
    return page.replace("<head>", heading, 1).encode("utf-8")


def _vm_of_row(layout: GanttLayout) -> list[str]:
    """Text for each row: its VM and core."""
    pairs = zip(layout.vm_labels, layout.vm_rows.tolist(), strict=True)
    return [f"{label}, core {core}" for label, rows in pairs for core in range(rows)]


def _escape(text: str) -> str:
    import html

    return html.escape(text)
