"""Gantt charts of replays: PNG, SVG and PDF by matplotlib, self-contained HTML by plotly."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...core.errors import SpotbagError
from ...core.text_files import write_bytes
from ...traces.trace import Trace
from ..chart import BOOT_COLOUR, CATEGORIES, IDLE_COLOUR
from ..matplotlib_renderer import (
    FINE_EDGES_ABOVE,
    MAX_LABELLED_TASKS,
    ROW_GAP,
    draw_axes,
    draw_bars,
    draw_limits,
    draw_names,
    draw_stripes,
    new_figure,
    row_height_in,
    seconds_per_in,
)
from ..picture_files import figure_bytes, picture_format
from ..plotly_renderer import escaped, html_limits, html_page, html_stripes, rows_text
from .replay_layout import (
    HIBERNATED_COLOUR,
    HIBERNATED_TEXT_COLOUR,
    KEPT,
    MARKERS,
    OUTCOMES,
    Marker,
    ReplayLayout,
    Stretch,
    replay_layout,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_ARROWS = 60
_MORE_MARGIN_IN = 0.5
_LEAST_HTML_PX = 640
_ARROW_COLOUR = "#333333"
_END_COLOUR = "#222222"
_LOST_COLOUR = {
    "spot": "#BCD5F3",
    "on-demand": "#F7DFBB",
    "burstable, full speed": "#B9DFC9",
    "burstable, baseline": "#DBCBEB",
}
_HATCHES = (None, "/////", "xxxxx")
_PATTERNS = ("", "/", "x")
"""How work is hatched by its outcome, for matplotlib and plotly."""

_SIGNS = {
    # matplotlib's and plotly's sign, colour
    "hibernation": ("v", "triangle-down", "#B3264A"),
    "resume": ("^", "triangle-up", "#1B7F4B"),
    "migration trigger": ("X", "x", "#111111"),
    "migration": ("D", "diamond", "#C2410C"),
    "steal": ("s", "square", "#6D28D9"),
    "start from a checkpoint": ("o", "circle", "#FACC15"),
}


def write_replay_gantt(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Draw a replay: one row for each core grouped by VM, with hibernations, migrations, steals and recoveries.

    Parameters
    ----------
    trace : Trace
        The replay.
    path : path
        Its ending says the format: ``.png``, ``.svg``, ``.pdf``, or ``.html`` (zoom; hovering tells more).

    Raises
    ------
    SpotbagError
        If the format is unknown, the trace is not one of a plan or contradicts itself, the file cannot be written
        or the plotting libraries are missing.
    """
    kind = picture_format(path)
    if trace.of_platform:
        raise SpotbagError(
            f"the replay of policy {trace.run['policy']!r} is one on a hybrid platform; this picture shows replays of "
            "plans (spotbag.charts.platforms.replay draws it, describe_trace tells it in words)"
        )
    if trace.of_stream:
        raise SpotbagError(
            f"the replay of policy {trace.run['policy']!r} is one of a stream; this picture shows replays of plans "
            "(spotbag.charts.streams.replay draws it, describe_trace tells it in words)"
        )
    layout = replay_layout(trace)
    try:
        data = _html(layout) if kind == "html" else _picture(layout, kind)
    except ImportError as error:
        raise SpotbagError(f"a picture needs {error.name}: pip install 'spotbag[plot]'") from None
    write_bytes(path, data)


# ------------------------------------------------------------------ matplotlib


def _picture(layout: ReplayLayout, kind: str) -> bytes:
    figure, axes = new_figure(layout.n_rows, _MORE_MARGIN_IN)
    draw_stripes(axes, layout)
    _draw_stretches(axes, layout, layout.booting, BOOT_COLOUR, "booting")
    _draw_stretches(axes, layout, layout.rented, IDLE_COLOUR, "rented, idle")
    _draw_stretches(axes, layout, layout.hibernated, HIBERNATED_COLOUR, "hibernated")
    _draw_pieces(axes, layout)
    _draw_hibernated_labels(axes, layout)
    _draw_ends(axes, layout)
    if len(layout.arrows) <= MAX_ARROWS:
        _draw_arrows(axes, layout)
    _draw_markers(axes, layout)
    draw_limits(axes, layout)
    draw_axes(figure, axes, layout)
    return figure_bytes(figure, kind)


def _draw_stretches(axes: Axes, layout: ReplayLayout, stretches: list[Stretch], colour: str, label: str) -> None:
    from matplotlib.collections import PolyCollection

    corners = []
    for stretch in stretches:
        top, bottom = _edges(layout, stretch.vm)
        left, right = stretch.start_s, stretch.end_s
        corners.append([(left, top), (right, top), (right, bottom), (left, bottom)])
    if corners:
        axes.add_collection(PolyCollection(corners, facecolor=colour, linewidth=0, zorder=0.5, label=label))


def _edges(layout: ReplayLayout, vm: int) -> tuple[float, float]:
    """Top and bottom of the rows of a VM."""
    top = float(layout.vm_first_row[vm]) - 0.5 + ROW_GAP / 2
    return top, top + float(layout.vm_rows[vm]) - ROW_GAP


def _draw_pieces(axes: Axes, layout: ReplayLayout) -> None:
    edge = 0.5 if len(layout.row) <= FINE_EDGES_ABOVE else 0.1
    retained = layout.outcome == KEPT
    for index, (name, colour) in enumerate(CATEGORIES.items()):
        for outcome, hatch in enumerate(_HATCHES):
            chosen = (layout.outcome == outcome) & (layout.category == index)
            if chosen.any():
                bars = (layout.row[chosen], layout.start_s[chosen], layout.duration_s[chosen])
                if outcome == KEPT:
                    draw_bars(axes, *bars, colour, name, linewidth=edge)
                else:
                    style: dict[str, Any] = {"hatch": hatch, "edgecolor": colour, "linewidth": edge}
                    draw_bars(axes, *bars, _LOST_COLOUR[name], None, **style)
    for outcome, label in enumerate(OUTCOMES):
        if outcome != KEPT and (layout.outcome == outcome).any():
            axes.fill_between(
                [], [], [], facecolor="#DDDDDD", hatch=_HATCHES[outcome], edgecolor="#777777", label=label
            )
    bars = (layout.row[retained], layout.start_s[retained], layout.duration_s[retained])
    draw_names(axes, layout, *bars, [name for name, shown in zip(layout.names, retained, strict=True) if shown])


def _draw_hibernated_labels(axes: Axes, layout: ReplayLayout) -> None:
    text_in, text_high_in = 0.65, 0.13
    for stretch in layout.hibernated:
        wide = (stretch.end_s - stretch.start_s) / seconds_per_in(layout) >= text_in
        high = layout.vm_rows[stretch.vm] * row_height_in(layout.n_rows) >= text_high_in
        if wide and high:
            centre = (stretch.start_s + stretch.end_s) / 2
            style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 7.5, "fontstyle": "italic"}
            style |= {"color": HIBERNATED_TEXT_COLOUR, "zorder": 3.5}
            background = {"facecolor": HIBERNATED_COLOUR, "linewidth": 0, "pad": 1}
            axes.text(centre, float(layout.vm_centre[stretch.vm]), "hibernated", bbox=background, **style)


def _draw_ends(axes: Axes, layout: ReplayLayout) -> None:
    from matplotlib.collections import LineCollection

    lines = []
    for stretch in layout.terminated:
        top, bottom = _edges(layout, stretch.vm)
        lines.append([(stretch.end_s, top), (stretch.end_s, bottom)])
    if lines:
        axes.add_collection(LineCollection(lines, colors=_END_COLOUR, linewidth=2.2, zorder=2.5, label="VM terminated"))


def _draw_arrows(axes: Axes, layout: ReplayLayout) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    for steal, style, label in ((False, "-", "migrated from, to"), (True, (0, (4, 2)), "stolen from, to")):
        if any(arrow.steal == steal for arrow in layout.arrows):
            axes.plot([], [], linestyle=style, linewidth=0.9, color=_ARROW_COLOUR, label=label)
    for arrow in layout.arrows:
        middle = (arrow.time_s + 2 * arrow.bend_s, (arrow.from_row + arrow.to_row) / 2)
        corners = [(arrow.time_s, arrow.from_row), middle, (arrow.time_s, arrow.to_row)]
        path = Path(corners, [Path.MOVETO, Path.CURVE3, Path.CURVE3])
        looks: dict[str, Any] = {"linestyle": (0, (4, 2)) if arrow.steal else "-", "linewidth": 0.9}
        looks |= {"color": _ARROW_COLOUR, "arrowstyle": "-|>", "mutation_scale": 7, "zorder": 3}
        axes.add_patch(FancyArrowPatch(path=path, **looks))


def _draw_markers(axes: Axes, layout: ReplayLayout) -> None:
    size = max(min(40.0, 40.0 * (row_height_in(layout.n_rows) / 0.2) ** 2), 8.0)
    for kind, markers in _by_kind(layout).items():
        sign, _, colour = _SIGNS[kind]
        x, y = [marker.time_s for marker in markers], [marker.row for marker in markers]
        edge = "#333333" if kind == "start from a checkpoint" else "white"
        axes.scatter(x, y, s=size, marker=sign, color=colour, edgecolor=edge, linewidth=0.6, zorder=4, label=kind)


def _by_kind(layout: ReplayLayout) -> dict[str, list[Marker]]:
    found = {kind: [marker for marker in layout.markers if marker.kind == kind] for kind in MARKERS}
    return {kind: markers for kind, markers in found.items() if markers}


# ---------------------------------------------------------------------- plotly


def _html(layout: ReplayLayout) -> bytes:
    from plotly import graph_objects

    figure = graph_objects.Figure()
    _html_stretches(figure, layout, layout.booting, BOOT_COLOUR, "booting")
    _html_stretches(figure, layout, layout.rented, IDLE_COLOUR, "rented, idle")
    _html_stretches(figure, layout, layout.hibernated, HIBERNATED_COLOUR, "hibernated", "hibernated")
    _html_pieces(figure, layout)
    _html_ends(figure, layout)
    if len(layout.arrows) <= MAX_ARROWS:
        _html_arrows(figure, layout)
    _html_markers(figure, layout)
    html_limits(figure, layout)
    legend = {"orientation": "v", "yanchor": "top", "y": 1, "xanchor": "left", "x": 1.01}
    height = max(_LEAST_HTML_PX, min(160 + 22 * layout.n_rows, 6000))  # the legend wants its height
    return html_page(figure, layout, html_stripes(layout), legend=legend, height=height)


def _html_stretches(
    figure: Any, layout: ReplayLayout, stretches: list[Stretch], colour: str, name: str, text: str = ""
) -> None:
    if not stretches:
        return
    labels = [layout.vm_labels[stretch.vm] for stretch in stretches]
    figure.add_bar(
        orientation="h",
        y=[float(layout.vm_centre[stretch.vm]) for stretch in stretches],
        x=[stretch.end_s - stretch.start_s for stretch in stretches],
        base=[stretch.start_s for stretch in stretches],
        width=[float(layout.vm_rows[stretch.vm]) - ROW_GAP for stretch in stretches],
        name=name,
        marker={"color": colour, "line": {"width": 0}},
        text=[text] * len(stretches) if text else None,
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        textfont={"color": HIBERNATED_TEXT_COLOUR, "size": 10},
        hovertext=[
            f"<b>{escaped(label)}</b><br>{name}<br>"
            f"{stretch.start_s:,} to {stretch.end_s:,} s ({stretch.end_s - stretch.start_s:,} s)"
            for label, stretch in zip(labels, stretches, strict=True)
        ],
        hoverinfo="text",
    )


def _html_pieces(figure: Any, layout: ReplayLayout) -> None:
    names = rows_text(layout)
    labelled = len(layout.row) <= MAX_LABELLED_TASKS
    edge = 0.5 if len(layout.row) <= FINE_EDGES_ABOVE else 0
    for index, (category, colour) in enumerate(CATEGORIES.items()):
        for outcome, ending in enumerate(OUTCOMES):
            pieces = ((layout.category == index) & (layout.outcome == outcome)).nonzero()[0].tolist()
            if not pieces:
                continue
            marker: dict[str, Any] = {"color": colour, "line": {"color": "white", "width": edge}}
            if outcome != KEPT:
                pattern = {"shape": _PATTERNS[outcome], "fgcolor": colour, "bgcolor": _LOST_COLOUR[category], "size": 6}
                marker["pattern"] = {**pattern, "fillmode": "replace"}
            figure.add_bar(
                orientation="h",
                y=layout.row[pieces].tolist(),
                x=layout.duration_s[pieces].tolist(),
                base=layout.start_s[pieces].tolist(),
                name=category if outcome == KEPT else f"{category}: {ending}",
                marker=marker,
                hovertext=[
                    f"<b>{escaped(layout.names[piece])}</b><br>{escaped(names[layout.row[piece]])}<br>"
                    f"{layout.texts[piece]}"
                    for piece in pieces
                ],
                hoverinfo="text",
                text=[escaped(layout.names[piece]) for piece in pieces] if labelled and outcome == KEPT else None,
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                textfont={"color": "white", "size": 10},
                constraintext="none",
                width=1 - ROW_GAP,
            )


def _html_ends(figure: Any, layout: ReplayLayout) -> None:
    x: list[float | None] = []
    y: list[float | None] = []
    for stretch in layout.terminated:
        x += [stretch.end_s, stretch.end_s, None]
        y += [*_edges(layout, stretch.vm), None]
    line = {"color": _END_COLOUR, "width": 3}
    if x:
        figure.add_scatter(x=x, y=y, mode="lines", name="VM terminated", line=line, hoverinfo="x+name")


def _html_arrows(figure: Any, layout: ReplayLayout) -> None:
    for steal, name in ((False, "migrated from, to"), (True, "stolen from, to")):
        x: list[float | None] = []
        y: list[float | None] = []
        sizes: list[int] = []
        for arrow in layout.arrows:
            if arrow.steal != steal:
                continue
            steps = [step / 12 for step in range(13)]
            x += [arrow.time_s + 4 * arrow.bend_s * s * (1 - s) for s in steps] + [None]
            y += [arrow.from_row + (arrow.to_row - arrow.from_row) * s for s in steps] + [None]
            sizes += [0] * 12 + [11, 0]
        if x:
            line = {"color": _ARROW_COLOUR, "width": 1.2, "dash": "dash" if steal else "solid"}
            head = {"symbol": "arrow", "angleref": "previous", "size": sizes, "color": _ARROW_COLOUR}
            figure.add_scatter(x=x, y=y, mode="lines+markers", name=name, line=line, marker=head, hoverinfo="skip")


def _html_markers(figure: Any, layout: ReplayLayout) -> None:
    for kind, markers in _by_kind(layout).items():
        _, symbol, colour = _SIGNS[kind]
        edge = "#333333" if kind == "start from a checkpoint" else "white"
        figure.add_scatter(
            x=[marker.time_s for marker in markers],
            y=[marker.row for marker in markers],
            mode="markers",
            name=kind,
            marker={"symbol": symbol, "color": colour, "size": 8, "line": {"color": edge, "width": 1}},
            hovertext=["<br>".join(escaped(text) for text in marker.texts) for marker in markers],
            hoverinfo="text",
        )
