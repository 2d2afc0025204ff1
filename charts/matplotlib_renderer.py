"""What all our Gantt charts have in common: size, frame, limits, bars, files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..core.quantities import IntArray
from .chart import D_SPOT_COLOUR, DEADLINE_COLOUR, Frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STRIPE_COLOUR = "#F1F3F6"
BAR_HALF = 0.42
"""Half the height of a bar, in rows."""

ROW_GAP = 0.16
"""Space between bars, in rows."""

WIDTH_IN = 13.0
MAX_LABELLED_TASKS = 600
FINE_EDGES_ABOVE = 2000
"""From how many bars on their edges are drawn finely or not at all."""

_ROW_IN = 0.24
_LEAST_ROW_IN = 0.02
_LABELLED_ROW_IN = 0.14
_ROWS_IN = 18.0
_HIGHEST_IN = 100.0
_MARGIN_IN = 1.7
_LABEL_CHARACTER_IN = 0.062
_MAX_VM_LABELS_PER_IN = 6


def span_s(layout: Frame) -> float:
    """Length of the time axis: up to the deadline, unless that would squeeze the plan to nothing."""
    ends = [layout.deadline_s, layout.d_spot_s or 0]
    shown = [end for end in ends if end <= 4 * layout.makespan_s]
    return 1.03 * max([layout.makespan_s, *shown])


def limits_of(layout: Frame) -> list[tuple[int, str, str, bool]]:
    """D_spot and the deadline: moment, name, colour, whether the line is dashed."""
    limits = [(layout.deadline_s, "deadline", DEADLINE_COLOUR, False)]
    if layout.d_spot_s is not None:
        limits.insert(0, (layout.d_spot_s, "D_spot", D_SPOT_COLOUR, True))
    return limits


# ------------------------------------------------------------------ matplotlib


def row_height_in(n_rows: int) -> float:
    """Height of a row, so that charts of many rows stay printable."""
    return max(min(_ROW_IN, _ROWS_IN / n_rows), _LEAST_ROW_IN)


def new_figure(n_rows: int, more_margin_in: float = 0.0) -> tuple[Figure, Axes]:
    """Make a figure that is high enough for its rows, drawn without a display."""
    figure = empty_figure(n_rows, more_margin_in)
    return figure, figure.add_subplot()


def empty_figure(n_rows: int, more_margin_in: float = 0.0) -> Figure:
    """Make a figure that is high enough for its rows, without axes."""
    return figure_of_height(max(_MARGIN_IN + more_margin_in + row_height_in(n_rows) * n_rows, 3.0 + more_margin_in))


def figure_of_height(height_in: float) -> Figure:
    """Make a figure without axes; very high ones are cut short."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_IN, min(height_in, _HIGHEST_IN)), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def draw_bars(
    axes: Axes, row: IntArray, start_s: IntArray, duration_s: IntArray, colour: str, label: str | None, **style: Any
) -> None:
    """Draw many bars as one collection, which stays fast for many thousands of them."""
    from matplotlib.collections import PolyCollection
    from numpy import stack

    left, right = start_s, start_s + duration_s
    top, bottom = row - BAR_HALF, row + BAR_HALF
    corners = stack([stack([left, left, right, right], axis=1), stack([top, bottom, bottom, top], axis=1)], axis=2)
    style = {"edgecolor": "white", "linewidth": 0.5, **style}
    axes.add_collection(PolyCollection(list(corners), facecolor=colour, label=label, **style))


def draw_names(
    axes: Axes, layout: Frame, row: IntArray, start_s: IntArray, duration_s: IntArray, names: Sequence[str]
) -> None:
    """Write names into bars, where they fit; into none of a long bag."""
    if len(row) > MAX_LABELLED_TASKS or row_height_in(layout.n_rows) < _LABELLED_ROW_IN:
        return
    for bar, name in enumerate(names):
        if len(name) * _LABEL_CHARACTER_IN * seconds_per_in(layout) < duration_s[bar]:
            centre = start_s[bar] + duration_s[bar] / 2
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6.5, "color": "white"}
            axes.text(centre, row[bar], name, parse_math=False, **style)


def seconds_per_in(layout: Frame) -> float:
    """Scale of the time axis, about."""
    return span_s(layout) / (WIDTH_IN - 2.2)


def draw_stripes(axes: Axes, layout: Frame) -> None:
    """Shade every other VM."""
    for index, (first, rows) in enumerate(zip(layout.vm_first_row, layout.vm_rows, strict=True)):
        if index % 2 == 0:
            axes.axhspan(first - 0.5, first + rows - 0.5, color=STRIPE_COLOUR, zorder=0)


def draw_limits(axes: Axes, layout: Frame) -> None:
    """Draw D_spot and the deadline, or only name them if they lie far beyond the plan."""
    for moment, name, colour, dashed in limits_of(layout):
        style = "--" if dashed else "-"
        if moment <= span_s(layout):
            axes.axvline(moment, color=colour, linestyle=style, linewidth=1.6, label=f"{name} ({moment:,} s)")
        else:
            axes.plot([], [], color=colour, linestyle=style, label=f"{name} ({moment:,} s, not shown)")


def draw_axes(figure: Figure, axes: Axes, layout: Frame) -> None:
    """Set axes, their labels, titles and the legend, which lies below the data."""
    axes.set_xlim(0, span_s(layout))
    axes.set_ylim(layout.n_rows - 0.5, -0.5)
    label_vms(axes, layout.vm_centre.tolist(), layout.vm_labels, layout.n_rows * row_height_in(layout.n_rows))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_xlabel("time since the start (s)")
    axes.set_ylabel("VM (one row for each core)")
    axes.grid(axis="x", color="#CCCCCC", linewidth=0.5)
    axes.set_axisbelow(True)
    figure.suptitle(layout.title, fontsize=12, fontweight="bold", parse_math=False)
    axes.set_title(layout.subtitle, fontsize=9, color="#444444", parse_math=False)
    figure.legend(loc="outside lower center", ncols=6, fontsize=8, frameon=False)


def label_vms(axes: Axes, centres: Sequence[float], labels: Sequence[str], height_in: float) -> None:
    """Name the VMs at the left edge; only some of them where the rows are too narrow for all names."""
    every = max(1, round(len(labels) / max(height_in * _MAX_VM_LABELS_PER_IN, 1)))
    axes.set_yticks(centres[::every], labels[::every], fontsize=8, parse_math=False)
