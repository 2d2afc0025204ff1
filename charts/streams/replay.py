"""Gantt charts of replays of streams, one above the other: PNG, SVG and PDF by matplotlib."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.errors import SpotbagError
from ...core.text_files import write_bytes
from ...core.wording import cut_in_the_middle, shortened
from ...traces.trace import Trace
from ..chart import BOOT_COLOUR, IDLE_COLOUR, JOB_COLOURS
from ..matplotlib_renderer import (
    BAR_HALF,
    FINE_EDGES_ABOVE,
    STRIPE_COLOUR,
    WIDTH_IN,
    draw_bars,
    empty_figure,
    label_vms,
    row_height_in,
)
from ..picture_files import figure_bytes, still_format
from .layout import StreamMark, StreamPanel, StreamPicture, VmRow, stream_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURE = "a stream"
"""What is drawn, in messages about the format of the file."""


MAX_LINES = 40
"""Of more submissions or deadlines, only those are drawn that there is room to name."""

_LATE_COLOUR = "#111111"
_END_COLOUR = "#222222"
_PANEL_MARGIN_IN = 0.85
_LEAST_PANEL_ROWS = 4
_LABEL_CHARACTER_IN = 0.075
_LABEL_GAP_IN = 0.1
_LEGEND_CHARACTER_IN = 0.065
_LEGEND_SIGN_IN = 0.65
_LONGEST_LABEL = 16
_LONGEST_LEGEND_LABEL = 40
_LONGEST_LEGEND_NAME = 18
"""Of a job or an application: there is room for two."""
_AXIS_IN = WIDTH_IN - 1.6


def save_stream_gantt(traces: Sequence[Trace], path: str | os.PathLike[str]) -> None:
    """Draw replays of a stream one above the other: a row for each VM, tasks in the colours of their jobs.

    Parameters
    ----------
    traces : sequence of Trace
        Replays of one stream, e.g. by `replay_stream_once` under several policies.
    path : path
        Its ending says the format: ``.png``, ``.svg`` or ``.pdf``.

    Raises
    ------
    SpotbagError
        If the format is unknown, the traces are not of one stream or contradict themselves, the file cannot be
        written or matplotlib is missing.
    """
    kind = still_format(path, PICTURE)
    picture = stream_picture(traces)
    try:
        data = _picture(picture, kind)
    except ImportError as error:
        raise SpotbagError(f"a picture needs {error.name}: pip install 'spotbag[plot]'") from None
    write_bytes(path, data)


def _picture(picture: StreamPicture, kind: str) -> bytes:
    heights = [max(len(panel.rows), _LEAST_PANEL_ROWS) for panel in picture.panels]
    figure = empty_figure(sum(heights), _PANEL_MARGIN_IN * len(picture.panels))
    row_in = row_height_in(sum(heights))
    all_axes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for axes, panel in zip(all_axes, picture.panels, strict=True):
        _draw_vms(axes, panel)
        _draw_tasks(axes, panel, row_in)
        _draw_jobs(axes, picture)
        axes.set_ylim(max(len(panel.rows), _LEAST_PANEL_ROWS) - 0.5, -0.5)
        label_vms(axes, list(range(len(panel.rows))), [row.name for row in panel.rows], len(panel.rows) * row_in)
        axes.set_ylabel("VM")
        axes.set_title(panel.title, fontsize=11, fontweight="bold", loc="left", pad=26, parse_math=False)
        axes.tick_params(labelbottom=True)
    all_axes[0].set_xlim(0, 1.01 * picture.end_s)
    all_axes[-1].set_xlabel("time since the start of the stream (s)")
    all_axes[-1].xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    figure.suptitle(picture.title, fontsize=12, parse_math=False)
    entries = _legend(picture)
    longest_in = max(len(entry.get_label()) for entry in entries) * _LEGEND_CHARACTER_IN + _LEGEND_SIGN_IN
    columns = max(1, min(int(WIDTH_IN / longest_in), 6))
    legend = figure.legend(handles=entries, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure_bytes(figure, kind)


# ------------------------------------------------------------------------ VMs


def _draw_vms(axes: Axes, panel: StreamPanel) -> None:
    from matplotlib.collections import LineCollection

    for start, end in _groups(panel.rows)[1::2]:
        axes.axhspan(start - 0.5, end - 0.5, color=STRIPE_COLOUR, zorder=0)
    _draw_spans(axes, [(row.requested_s, row.ready_s) for row in panel.rows], facecolor=BOOT_COLOUR, linewidth=0)
    _draw_spans(axes, [(row.ready_s, row.end_s) for row in panel.rows], facecolor=IDLE_COLOUR, linewidth=0)
    unused = [(row.end_s, row.paid_until_s) for row in panel.rows]
    _draw_spans(axes, unused, facecolor="white", edgecolor=IDLE_COLOUR, hatch="....", linewidth=0.5)
    ticks = [
        [(time_s, number + 0.12), (time_s, number + 0.5)]
        for number, row in enumerate(panel.rows)
        for time_s in row.block_ends_s
    ]
    axes.add_collection(LineCollection(ticks, colors=_END_COLOUR, linewidth=2.2, zorder=3))


def _groups(rows: Sequence[VmRow]) -> list[tuple[int, int]]:
    """First row of each VM type, and the one after its last."""
    starts = [number for number, row in enumerate(rows) if number == 0 or row.vm_type != rows[number - 1].vm_type]
    return list(zip(starts, [*starts[1:], len(rows)], strict=True))


def _draw_spans(axes: Axes, spans: Sequence[tuple[int, int]], **style: Any) -> None:
    """Draw one stretch of time in each row."""
    from matplotlib.collections import PolyCollection

    corners = [
        [(start, row - BAR_HALF), (end, row - BAR_HALF), (end, row + BAR_HALF), (start, row + BAR_HALF)]
        for row, (start, end) in enumerate(spans)
        if start < end
    ]
    axes.add_collection(PolyCollection(corners, zorder=0.5, **style))


# ---------------------------------------------------------------------- tasks


def _draw_tasks(axes: Axes, panel: StreamPanel, row_in: float) -> None:
    import numpy as np

    edge = 0.5 if len(panel.bars) <= FINE_EDGES_ABOVE else 0.1
    row = np.array([bar.row for bar in panel.bars], dtype=np.int64)
    start_s = np.array([bar.start_s for bar in panel.bars], dtype=np.int64)
    duration_s = np.array([bar.end_s - bar.start_s for bar in panel.bars], dtype=np.int64)
    late = np.array([bar.late for bar in panel.bars], dtype=bool)
    colour = np.array([bar.job % len(JOB_COLOURS) for bar in panel.bars], dtype=np.int64)
    for index, job_colour in enumerate(JOB_COLOURS):
        for chosen, style in (
            (~late & (colour == index), {"linewidth": edge}),
            (late & (colour == index), {"linewidth": 1.1, "edgecolor": _LATE_COLOUR, "hatch": "////", "zorder": 2}),
        ):
            draw_bars(axes, row[chosen], start_s[chosen], duration_s[chosen], job_colour, None, **style)
    stopped = [bar for bar in panel.bars if bar.suspended]
    axes.scatter(
        [bar.end_s for bar in stopped],
        [bar.row for bar in stopped],
        s=min(60.0, (60 * row_in) ** 2 / 4),
        marker="D",
        color="white",
        edgecolor=_END_COLOUR,
        linewidth=0.9,
        zorder=4,
    )


# ----------------------------------------------------------------------- jobs


def _draw_jobs(axes: Axes, picture: StreamPicture) -> None:
    """Draw when jobs are submitted and due, with their ids above them, in a line for each of both."""
    from matplotlib.patheffects import Normal, Stroke
    from matplotlib.transforms import ScaledTranslation

    figure = axes.get_figure()
    assert figure is not None
    submitted = _moments([job.submitted_s for job in picture.jobs])
    due = _moments([job.deadline_s for job in picture.jobs])
    for moments, word, style, height, side in ((submitted, "in", ":", 15, 1), (due, "due", "--", 4, -1)):
        # Beside each other if one job is due when the next one is submitted.
        beside = ScaledTranslation(0.8 * side / 72, 0, figure.dpi_scale_trans)
        free_from_in = float("-inf")
        for time_s, jobs in moments.items():
            text = f"{_label([picture.jobs[job].id for job in jobs])} {word}"
            colour = _colour(jobs[0]) if len(jobs) == 1 else _END_COLOUR
            half_in = len(text) * _LABEL_CHARACTER_IN / 2
            at_in = time_s / picture.end_s * _AXIS_IN
            labelled = at_in - half_in >= free_from_in
            if labelled:
                free_from_in = at_in + half_in + _LABEL_GAP_IN
                place: dict[str, Any] = {"xy": (time_s, 1), "xycoords": ("data", "axes fraction")}
                place |= {"xytext": (0, height), "textcoords": "offset points", "ha": "center", "va": "center"}
                axes.annotate(text, **place, fontsize=8, color=colour, fontweight="bold", parse_math=False)
            if labelled or len(moments) <= MAX_LINES:
                line = axes.axvline(time_s, color=colour, linestyle=style, linewidth=1.5, zorder=2.5)
                line.set_path_effects([Stroke(linewidth=2.7, foreground="white"), Normal()])  # seen on its own colour
                line.set_transform(line.get_transform() + beside)


def _label(names: Sequence[str]) -> str:
    """Jobs of a moment: all of them if there is room, else the first one and how many there are with it."""
    text = ", ".join(names)
    more = f" +{len(names) - 1}" if len(names) > 1 else ""
    return text if len(text) <= _LONGEST_LABEL else cut_in_the_middle(names[0], _LONGEST_LABEL - len(more)) + more


def _legend_label(jobs: Sequence[StreamMark]) -> str:
    """Jobs of a colour, with their applications if there is room."""
    text = ", ".join(f"{job.id} ({job.application})" for job in jobs)
    if len(text) <= _LONGEST_LEGEND_LABEL:
        return text
    names = [cut_in_the_middle(job.id, _LONGEST_LEGEND_NAME) for job in jobs]
    if len(jobs) == 1:
        return f"{names[0]} ({cut_in_the_middle(jobs[0].application, _LONGEST_LEGEND_NAME)})"
    return shortened(", ".join(names), _LONGEST_LEGEND_LABEL)


def _moments(times_s: Sequence[int]) -> dict[int, list[int]]:
    """Jobs of each moment, by time."""
    found: dict[int, list[int]] = {}
    for job in sorted(range(len(times_s)), key=lambda job: times_s[job]):
        found.setdefault(times_s[job], []).append(job)
    return found


def _colour(job: int) -> str:
    return JOB_COLOURS[job % len(JOB_COLOURS)]


def _legend(picture: StreamPicture) -> list[Any]:
    """Entries of the legend: the jobs, then what else there is to see."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shown = [picture.jobs[place :: len(JOB_COLOURS)] for place in range(len(JOB_COLOURS))]
    entries: list[Any] = [
        # The blank: names that begin with _ are left out of legends.
        Patch(facecolor=colour, label=f" {_legend_label(jobs)}")
        for colour, jobs in zip(JOB_COLOURS, shown, strict=True)
        if jobs
    ]
    bars = [bar for panel in picture.panels for bar in panel.bars]
    if any(bar.late for bar in bars):
        entries.append(Patch(facecolor="#DDDDDD", edgecolor=_LATE_COLOUR, hatch="////", label="task that ends late"))
    if any(bar.suspended for bar in bars):
        diamond: dict[str, Any] = {
            "linestyle": "",
            "marker": "D",
            "markerfacecolor": "white",
            "markeredgecolor": _END_COLOUR,
        }
        entries.append(Line2D([], [], label="task suspended", **diamond))
    line: dict[str, Any] = {"color": "#666666", "linewidth": 1.5}
    tick: dict[str, Any] = {
        "linestyle": "",
        "marker": "|",
        "color": _END_COLOUR,
        "markersize": 9,
        "markeredgewidth": 2.2,
    }
    return [
        *entries,
        Line2D([], [], linestyle=":", label="job submitted (in)", **line),
        Line2D([], [], linestyle="--", label="job due", **line),
        Patch(facecolor=BOOT_COLOUR, label="VM launching"),
        Patch(facecolor=IDLE_COLOUR, label="VM idle"),
        Patch(facecolor="white", edgecolor=IDLE_COLOUR, hatch="....", label="paid for, VM terminated"),
        Line2D([], [], label="end of a paid block", **tick),
    ]
