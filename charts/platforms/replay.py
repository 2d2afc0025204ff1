"""Gantt charts of replays on hybrid platforms, one above the other: PNG, SVG and PDF by matplotlib."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from ...core.errors import SpotbagError
from ...core.text_files import write_bytes
from ...core.wording import cut_in_the_middle
from ...traces.trace import Trace
from ..chart import IDLE_COLOUR, JOB_COLOURS
from ..matplotlib_renderer import BAR_HALF, WIDTH_IN, figure_of_height
from ..picture_files import figure_bytes, still_format
from .bar_labels import job_colours, label_with_room, short_labels
from .layout import Lane, PlatformBar, PlatformPanel, PlatformPicture, platform_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURE = "a hybrid platform"
"""What is drawn, in messages about the format of the file."""

_LATE_COLOUR = "#111111"
_END_COLOUR = "#222222"
_DARK_WORDS_ON = frozenset({"#E69F00", "#CC79A7", "#56B4E9", "#B8A800"})
_CLUSTER_IN = 0.62
_MACHINE_IN = 0.19
_CLOUDS_IN = 9.0
"""Height of all machines together; where there are many, rows become narrower."""
_LANE_GAP_IN = 0.24
_ARRIVALS_IN = 0.16
_PANEL_MARGIN_IN = 0.75
_FIGURE_MARGIN_IN = 1.3
_AXIS_IN = WIDTH_IN - 1.9
_CHARACTER_IN = 0.062
_LINE_IN = 0.1
_LONGEST_LABEL = 22
_HOUR_S = 3600


def save_platform_gantt(traces: Trace | Sequence[Trace], path: str | os.PathLike[str]) -> None:
    """Draw replays on a hybrid platform one above the other: a lane for each resource, a bar for each job.

    The height of a cluster is its processors; a cloud has a row for each machine.

    Parameters
    ----------
    traces : Trace or sequence of Trace
        A replay, or several of the same jobs, e.g. by `replay_platform_once` under several policies.
    path : path
        Its ending says the format: ``.png``, ``.svg`` or ``.pdf``.

    Raises
    ------
    SpotbagError
        If the format is unknown, the traces are not of the same jobs on a hybrid platform or contradict themselves,
        there is more in them than can be read, the file cannot be written or matplotlib is missing.
    """
    kind = still_format(path, PICTURE)
    picture = platform_picture([traces] if isinstance(traces, Trace) else traces)
    try:
        data = _picture(picture, kind)
    except ImportError as error:
        raise SpotbagError(f"a picture needs {error.name}: pip install 'spotbag[plot]'") from None
    write_bytes(path, data)


def _picture(picture: PlatformPicture, kind: str) -> bytes:
    n_rows = sum(panel.machine_rows for panel in picture.panels)
    row_in = min(_MACHINE_IN, _CLOUDS_IN / max(n_rows, 1))
    edges = [_edges_in(panel.lanes, row_in) for panel in picture.panels]
    heights = [panel_edges[-1] for panel_edges in edges]
    looks = _Looks(picture)
    figure = figure_of_height(sum(heights) + _PANEL_MARGIN_IN * len(heights) + _FIGURE_MARGIN_IN)
    all_axes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for axes, panel, panel_edges in zip(all_axes, picture.panels, edges, strict=True):
        places = [_Place(axes, lane, top, row_in) for lane, top in zip(panel.lanes, panel_edges, strict=False)]
        for place in places:
            _draw_lane(place, picture.end_s)
        _draw_bars(axes, places, panel, looks)
        _draw_moves(places, panel, looks)
        _draw_arrivals(axes, picture, looks)
        axes.set_ylim(panel_edges[-1], 0)
        labels = ["arrivals", *(f"{cut_in_the_middle(lane.id, _LONGEST_LABEL)}\n{lane.what}" for lane in panel.lanes)]
        centres = [_ARRIVALS_IN / 2, *(place.centre for place in places)]
        axes.set_yticks(centres, labels, fontsize=8, parse_math=False)
        axes.set_title(panel.title, fontsize=11, fontweight="bold", loc="left", parse_math=False)
        axes.tick_params(labelbottom=True)
    start_h, span_h = picture.start_s / _HOUR_S, (picture.end_s - picture.start_s) / _HOUR_S
    all_axes[0].set_xlim(start_h - 0.003 * span_h, start_h + 1.01 * span_h)  # what arrives at once is to be seen
    all_axes[0].ticklabel_format(axis="x", useOffset=False)
    all_axes[-1].set_xlabel("time of the clock (h), from the first arrival on")
    figure.suptitle(picture.title, fontsize=12, parse_math=False)
    figure.legend(handles=_legend(picture), loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return figure_bytes(figure, kind)


class _Looks:
    """How jobs look: colours and labels, and how long a second is."""

    def __init__(self, picture: PlatformPicture) -> None:
        self._names = picture.jobs
        self._short = short_labels(picture.jobs)
        self._colours = [JOB_COLOURS[number] for number in job_colours(picture, len(JOB_COLOURS))]
        self.second_in = _AXIS_IN / (picture.end_s - picture.start_s)

    def colour(self, job: int) -> str:
        """Of a job."""
        return self._colours[job]

    def label(self, job: int, length_in: float) -> str:
        """Of a job, with room in a length; empty if there is too little."""
        return label_with_room(self._names[job], self._short[job], int(length_in / _CHARACTER_IN))


def _edges_in(lanes: Sequence[Lane], row_in: float) -> list[float]:
    """Tops of the lanes, and the bottom of the last one."""
    heights = [(max(lane.rows * row_in, _MACHINE_IN) if lane.cloud else _CLUSTER_IN) + _LANE_GAP_IN for lane in lanes]
    return list(accumulate(heights, initial=_ARRIVALS_IN + _LANE_GAP_IN / 2))


class _Place:
    """Where a lane is drawn."""

    def __init__(self, axes: Axes, lane: Lane, top_in: float, row_in: float) -> None:
        self.axes = axes
        self.lane = lane
        self.top = top_in
        self.height = row_in if lane.cloud else _CLUSTER_IN
        self.bottom = top_in + (lane.rows * row_in if lane.cloud else _CLUSTER_IN)

    @property
    def centre(self) -> float:
        """Middle of the lane."""
        return (self.top + self.bottom) / 2

    def corners(self, profile: Sequence[tuple[float, float]], row: int = 0) -> list[tuple[float, float]]:
        """Outline of something that stands on the ground of a row, with a height that changes over time."""
        gap = (0.5 - BAR_HALF) * self.height if self.lane.cloud else 0.0
        ground = self.top + (row + 1) * self.height - gap
        full = self.height - 2 * gap
        top = [
            (time_s / _HOUR_S, ground - height * full)
            for (start_s, height), (end_s, _) in pairwise(profile)
            for time_s in (start_s, end_s)
        ]
        return [(top[0][0], ground), *top, (top[-1][0], ground)]


def _draw_lane(place: _Place, end_s: float) -> None:
    """Draw what there is: processors of a cluster, machines of a cloud with the ends of their hours."""
    from matplotlib.collections import LineCollection, PolyCollection

    if not place.lane.cloud:
        profile = [*(step for step in place.lane.profile if step[0] < end_s), (end_s, 0.0)]
        place.axes.add_collection(PolyCollection([place.corners(profile)], facecolor=IDLE_COLOUR, zorder=0.5))
        return
    machines = place.lane.machines
    spans = [place.corners([(vm.launched_s, 1.0), (vm.terminated_s, 0.0)], vm.row) for vm in machines]
    style: dict[str, Any] = {"facecolor": "white", "edgecolor": "#A9B1BC", "hatch": "....", "linewidth": 0.5}
    place.axes.add_collection(PolyCollection(spans, zorder=0.5, **style))
    ticks = [
        [
            (time_s / _HOUR_S, place.top + (vm.row + 0.55) * place.height),
            (time_s / _HOUR_S, place.top + (vm.row + 1) * place.height),
        ]
        for vm in machines
        for time_s in vm.hour_ends_s
    ]
    place.axes.add_collection(LineCollection(ticks, colors=_END_COLOUR, linewidth=2.2, zorder=3))


def _draw_bars(axes: Axes, places: Sequence[_Place], panel: PlatformPanel, looks: _Looks) -> None:
    from matplotlib.collections import PolyCollection

    in_time: dict[str, Any] = {"linewidth": 0.5, "edgecolor": "white", "zorder": 1}
    too_late: dict[str, Any] = {"linewidth": 1.1, "edgecolor": _LATE_COLOUR, "hatch": "////", "zorder": 2}
    for late, style in ((False, in_time), (True, too_late)):
        for colour in JOB_COLOURS:
            bars = [bar for bar in panel.bars if bar.late is late and looks.colour(bar.job) == colour]
            outlines = [places[bar.lane].corners(bar.profile, bar.row) for bar in bars]
            axes.add_collection(PolyCollection(outlines, facecolor=colour, **style))
    for bar in panel.bars:
        _name_bar(places[bar.lane], bar, looks)


def _name_bar(place: _Place, bar: PlatformBar, looks: _Looks) -> None:
    """Write the id of a job into its bar, along or across, whichever tells more of it."""
    width_in = (bar.end_s - bar.start_s) * looks.second_in
    height_in = place.height * min(height for _, height in bar.profile[:-1])
    along = looks.label(bar.job, width_in) if height_in > _LINE_IN else ""
    across = looks.label(bar.job, height_in) if width_in > _LINE_IN else ""
    if not along and not across:
        return
    rotation, name = (0, along) if len(along) >= len(across) else (90, across)
    ground = place.top + (bar.row + 1) * place.height
    words: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6.5, "rotation": rotation, "parse_math": False}
    colour = looks.colour(bar.job)
    place.axes.text(
        (bar.start_s + bar.end_s) / 2 / _HOUR_S,
        ground - height_in / 2,
        name,
        color=_END_COLOUR if colour in _DARK_WORDS_ON else "white",
        bbox={"facecolor": colour, "edgecolor": "none", "pad": 1.5} if bar.late else None,
        zorder=4,
        **words,
    )


def _draw_moves(places: Sequence[_Place], panel: PlatformPanel, looks: _Looks) -> None:
    """Draw where jobs that were pushed out of a queue went, from lane to lane."""
    for move in panel.moves:
        origin, goal = places[move.origin], places[move.goal]
        down = origin.top < goal.top
        begin, end = (origin.bottom, goal.top) if down else (origin.top, goal.bottom)
        at_h = move.time_s / _HOUR_S
        arrow: dict[str, Any] = {
            "arrowstyle": "-|>",
            "color": looks.colour(move.job),
            "linewidth": 1.3,
            "shrinkA": 0,
            "shrinkB": 0,
            "mutation_scale": 8,
        }
        origin.axes.annotate("", xy=(at_h, end), xytext=(at_h, begin), arrowprops=arrow, zorder=5)
        origin.axes.plot([at_h], [begin], marker="D", markersize=3.5, color=looks.colour(move.job), zorder=5)


def _draw_arrivals(axes: Axes, picture: PlatformPicture, looks: _Looks) -> None:
    from matplotlib.collections import LineCollection

    ticks = [[(time_s / _HOUR_S, 0), (time_s / _HOUR_S, _ARRIVALS_IN)] for time_s in picture.arrivals_s]
    colours = [looks.colour(job) for job in range(len(picture.jobs))]
    axes.add_collection(LineCollection(ticks, colors=colours, linewidth=1.3))


def _legend(picture: PlatformPicture) -> list[Any]:
    """Entries of the legend: what there is to see."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    lanes = [lane for panel in picture.panels for lane in panel.lanes]
    entries: list[Any] = [Patch(facecolor=JOB_COLOURS[0], label="job (nine colours, in the order of arrival)")]
    if any(bar.late for panel in picture.panels for bar in panel.bars):
        entries.append(Patch(facecolor="#DDDDDD", edgecolor=_LATE_COLOUR, hatch="////", label="job that ends late"))
    if any(panel.moves for panel in picture.panels):
        diamond: dict[str, Any] = {"marker": "D", "markersize": 3.5, "color": _END_COLOUR, "linewidth": 1.3}
        entries.append(Line2D([], [], label="job pushed out of a queue, and where it goes", **diamond))
    if any(not lane.cloud for lane in lanes):
        entries.append(Patch(facecolor=IDLE_COLOUR, label="idle processors of a cluster"))
    if any(lane.machines for lane in lanes):
        tick: dict[str, Any] = {"linestyle": "", "marker": "|", "color": _END_COLOUR, "markersize": 9}
        entries.append(Patch(facecolor="white", edgecolor="#A9B1BC", hatch="....", label="idle machine, paid for"))
        entries.append(Line2D([], [], label="end of a paid hour", markeredgewidth=2.2, **tick))
    return entries
