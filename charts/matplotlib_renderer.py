"""Charts as PNG, SVG and PDF: matplotlib."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from ..core.errors import SpotbagError
from ..core.wording import cut_in_the_middle, printable
from .chart import Bar, Chart, Curve, Lane, Limit, Look, Panel, Plot, by_look

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STRIPE_COLOUR = "#F1F3F6"
WIDTH_IN = 13.0
MAX_NAMED_BARS = 1500
"""Number of bars in a panel above which no names are written into them."""

_NEAR_THE_TOP = 0.1
"""Share of the height of a plot in which names of points stand below them."""

FINE_EDGES_ABOVE = 2000
"""Number of bars in a panel above which their edges are drawn finely."""

MAX_LINES = 40
"""Limits in a tier above which only those are drawn that there is room to name."""

_AXIS_IN = WIDTH_IN - 2.2
_HIGHEST_IN = 100.0
_LEAST_IN = 3.0
_LEAST_PANEL_IN = 0.95
_MARGIN_IN = 0.85
_PANEL_MARGIN_IN = 0.7
_TIERS_IN = 0.25
_TITLE_LINE_IN = 0.2
_TIME_AXIS_IN = 0.5
_LEGEND_ROW_IN = 0.17
_LEGEND_CHARACTER_IN = 0.065
_LEGEND_SIGN_IN = 0.65
_MOST_COLUMNS = 6
_MAX_LABELS_PER_IN = 6
_TITLE_CHARACTERS = 120
_SUBTITLE_CHARACTERS = 130
"""Characters of a line that have room, of the title of a chart and of those of its panels."""

_CHARACTER_IN = 0.062
_LINE_IN = 0.1
_SHORTEST_CUT = 6
"""Characters below which a name that is cut says nothing."""

_LIMIT_CHARACTER_IN = 0.075
_LIMIT_GAP_IN = 0.1
_TIERS = {0: (4, -0.8), 1: (15, 0.8)}
"""Height of the names of a tier above the panel, and how far its lines are moved to the side; in points (1/72 in)."""


def draw(chart: Chart | Plot, kind: str) -> bytes:
    """Draw a chart or a plot.

    Parameters
    ----------
    chart : Chart or Plot
        What to draw.
    kind : {"png", "svg", "pdf"}
        The format.

    Returns
    -------
    bytes
        The file; the same chart gives the same file.
    """
    if isinstance(chart, Plot):
        figure = new_figure(*chart.size_in)
        draw_plot(chart, figure)
    else:
        figure = new_figure(*figure_size_in(chart))
        draw_figure(chart, figure)
    return figure_bytes(figure, kind)


def figure_size_in(chart: Chart) -> tuple[float, float]:
    """Width and height of a figure that has room for a chart, in inches."""
    heights = [max(panel.tops_in()[-1], _LEAST_PANEL_IN) for panel in chart.panels]
    margin = _PANEL_MARGIN_IN + _TIERS_IN * any(limit.tier is not None for limit in chart.panels[0].limits)
    lines = sum(text.count("\n") for text in (_title(chart), *(_subtitle(chart, panel) for panel in chart.panels)))
    rows = -(-len(chart.legend) // _legend_columns(chart.legend, WIDTH_IN))
    high = sum(heights) + margin * len(heights) + lines * _TITLE_LINE_IN + rows * _LEGEND_ROW_IN + _MARGIN_IN
    return WIDTH_IN, max(high, _LEAST_IN)


def draw_figure(chart: Chart, figure: Figure) -> list[Axes]:
    """Draw a chart onto an empty figure of the size of `figure_size_in`, and return the axes of its panels."""
    heights = [max(panel.tops_in()[-1], _LEAST_PANEL_IN) for panel in chart.panels]
    all_axes = list(figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0])
    for axes, panel in zip(all_axes, chart.panels, strict=True):
        _draw_panel(axes, chart, panel, _Room(_AXIS_IN, 1.0))
        axes.set_title(
            _subtitle(chart, panel), fontsize=11, loc="left", pad=_pad(panel), color="#222222", parse_math=False
        )
    _draw_time_axis(all_axes[-1], chart)
    # Names may have dollar signs, which begin no formula.
    figure.suptitle(_title(chart), fontsize=12, fontweight="bold", parse_math=False)
    _explain(figure, chart.legend, WIDTH_IN, loc="outside lower center")
    return all_axes


def draw_axes(chart: Chart, axes: Axes) -> None:
    """Draw a chart of one panel onto axes, with its title above them and its legend below.

    How much fits into bars is judged by the size of the axes as they are.
    """
    [panel] = chart.panels
    wide, high = _size_in(axes)
    _draw_panel(axes, chart, panel, _Room(wide, high / panel.tops_in()[-1]))
    _draw_time_axis(axes, chart)
    _set_title(axes, (chart.title, panel.title, *chart.notes), wide, _pad(panel))
    _explain_below(axes, chart.legend, wide)


@contextmanager
def plotting_libraries() -> Iterator[None]:
    """Turn a plotting library that is missing into an error that says how to install it.

    Raises
    ------
    SpotbagError
        If one cannot be imported.
    """
    try:
        yield
    except ImportError as error:
        raise SpotbagError(f"a picture needs {error.name}: pip install 'spotbag[plot]'") from None


@plotting_libraries()
def axes_of_chart(chart: Chart, axes: Axes | None) -> Axes:
    """Draw a chart of one panel onto axes, or onto those of a new figure of pyplot, and return them."""
    if axes is not None:
        draw_axes(chart, axes)
        return axes
    from matplotlib import pyplot

    [drawn] = draw_figure(chart, pyplot.figure(figsize=figure_size_in(chart), layout="constrained"))
    return drawn


def new_figure(width_in: float, height_in: float) -> Figure:
    """Make a figure without axes that needs no display; very high ones are cut short."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_in, min(height_in, _HIGHEST_IN)), layout="constrained")
    # A canvas of its own: pyplot would keep the figure, and may ask for a display.
    FigureCanvasAgg(figure)
    return figure


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """Render a figure; the same figure gives the same file."""
    from matplotlib import rc_context
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_text(printable(text.get_text()))  # an SVG with control characters is no XML
    buffer = io.BytesIO()
    # A fixed salt and no date: the same plan gives the same file.
    with rc_context({"svg.hashsalt": "spotbag", "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # glyphs that the font lacks are shown as boxes
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        figure.savefig(buffer, format=kind, dpi=110, metadata=metadata)
    return buffer.getvalue()


# --------------------------------------------------------------------- panels


@dataclass(frozen=True, slots=True)
class _Room:
    """Width of axes in inches, and inches of theirs for one that is planned."""

    wide_in: float
    high_per_in: float


def _title(chart: Chart) -> str:
    return "\n".join(wrap(chart.title, _TITLE_CHARACTERS))


def _subtitle(chart: Chart, panel: Panel) -> str:
    """Title of a panel, with the notes of the chart if it is the first one."""
    texts = (panel.title, *(chart.notes if panel is chart.panels[0] else ()))
    return "\n".join(line for text in texts for line in wrap(text, _SUBTITLE_CHARACTERS))


def _pad(panel: Panel) -> int:
    """Points between a panel and its title: names of limits lie between them."""
    return 26 if any(limit.tier is not None for limit in panel.limits) else 6


def _draw_time_axis(axes: Axes, chart: Chart) -> None:
    axes.set_xlim(chart.start_s / chart.unit_s, chart.end_s / chart.unit_s)
    axes.set_xlabel(chart.time_label)
    if chart.unit_s == 1:
        axes.locator_params(axis="x", integer=True)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    else:
        axes.ticklabel_format(axis="x", useOffset=False)


def _draw_panel(axes: Axes, chart: Chart, panel: Panel, room: _Room) -> None:
    tops = panel.tops_in()
    for lane, top in zip(panel.lanes, tops, strict=False):
        if lane.shaded:
            axes.axhspan(top, top + lane.rows * lane.height_in, color=STRIPE_COLOUR, zorder=0)
    _draw_bars(axes, chart, panel, tops)
    _write_names(axes, chart, panel, tops, room)
    _draw_marks(axes, chart, panel, tops)
    _draw_links(axes, chart, panel, tops)
    for tier in dict.fromkeys(limit.tier for limit in panel.limits):
        _draw_limits(axes, chart, [limit for limit in panel.limits if limit.tier == tier], room)
    # Lanes lie from the top down.
    axes.set_ylim(tops[-1], 0)
    _label_lanes(axes, panel.lanes, tops)
    axes.set_ylabel(chart.lane_label)
    _name_limits_out_of_sight(axes, chart, panel.limits)
    axes.grid(axis="x", color="#CCCCCC", linewidth=0.5)
    axes.set_axisbelow(True)
    # Axes are shared: all panels but the last would go without times.
    axes.tick_params(labelbottom=True)


def _label_lanes(axes: Axes, lanes: Sequence[Lane], tops: Sequence[float]) -> None:
    """Name the lanes at the left edge; only some of them where they are too narrow for all names."""
    every = max(1, round(len(lanes) / max(tops[-1] * _MAX_LABELS_PER_IN, 1)))
    centres = [top + lane.rows * lane.height_in / 2 for lane, top in zip(lanes, tops, strict=False)]
    axes.set_yticks(centres[::every], [printable(lane.label) for lane in lanes[::every]], fontsize=8, parse_math=False)


# ----------------------------------------------------------------------- bars


def _draw_bars(axes: Axes, chart: Chart, panel: Panel, tops: list[float]) -> None:
    """Draw the bars of each look as one collection, which stays fast for many thousands of them."""
    from matplotlib.collections import PolyCollection

    # Edges of the usual width would cover many thousands of narrow bars.
    fine = len(panel.bars) > FINE_EDGES_ABOVE
    for look, bars in by_look(panel.bars).items():
        style: dict[str, Any] = {"facecolor": _inside(look), "hatch": look.hatch or None, "zorder": look.layer}
        style |= {"linewidth": 0}
        if look.edge:
            style |= {"edgecolor": look.edge, "linewidth": min(look.edge_width, 0.1) if fine else look.edge_width}
        axes.add_collection(PolyCollection([_outline(chart, panel, bar, tops) for bar in bars], **style))


def _inside(look: Look) -> tuple[str, float]:
    """Colour and opacity of a bar."""
    return look.colour, look.opacity


def _outline(chart: Chart, panel: Panel, bar: Bar, tops: list[float]) -> list[tuple[float, float]]:
    """Outline of a bar, which stands on its ground with a height that changes over time."""
    ground, full = panel.ground_and_height_in(bar, tops)
    top = [
        (time_s / chart.unit_s, ground - height * full)
        for (start_s, height), (end_s, _) in pairwise(bar.profile)
        for time_s in (start_s, end_s)
    ]
    return [(top[0][0], ground), *top, (top[-1][0], ground)]


def _write_names(axes: Axes, chart: Chart, panel: Panel, tops: list[float], room: _Room) -> None:
    """Write names into bars, along or across, whichever has room for more of them."""
    if len(panel.bars) > MAX_NAMED_BARS:
        return
    second_in = room.wide_in / (chart.end_s - chart.start_s)
    for bar in panel.bars:
        if not bar.look.text or not bar.name:
            continue
        ground, full = panel.ground_and_height_in(bar, tops)
        # A name must lie in its bar at each moment.
        high = full * min(height for _, height in bar.profile[:-1])
        start_s = max(bar.start_s, chart.start_s)
        wide, tall = (bar.end_s - start_s) * second_in, high * room.high_per_in
        along = fitting_name(bar.name, bar.short, int(wide / _CHARACTER_IN)) if tall > _LINE_IN else ""
        across = fitting_name(bar.name, bar.short, int(tall / _CHARACTER_IN)) if wide > _LINE_IN else ""
        if not along and not across:
            continue
        rotation, name = (0, along) if len(along) >= len(across) else (90, across)
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6.5, "parse_math": False, "clip_on": True}
        # The box keeps names legible on hatching and where arrows cross them.
        style |= {"bbox": {"facecolor": bar.look.colour, "edgecolor": "none", "pad": 0.8}, "zorder": 4}
        centre = (start_s + bar.end_s) / 2 / chart.unit_s
        axes.text(centre, ground - high / 2, name, color=bar.look.text, rotation=rotation, **style)


def fitting_name(name: str, short: str, room: int) -> str:
    """Return as much of a name as there is room for, or of its short form if it has one; else nothing."""
    if len(name) <= room:
        return name
    if len(short) <= room:
        return short
    return cut_in_the_middle(short, room) if room >= _SHORTEST_CUT else ""


# ---------------------------------------------------- marks, links and limits


def _draw_marks(axes: Axes, chart: Chart, panel: Panel, tops: list[float]) -> None:
    from matplotlib.collections import LineCollection

    for look, marks in by_look(panel.marks).items():
        x = [mark.time_s / chart.unit_s for mark in marks]
        y = [panel.height_at_in((mark.lane, mark.top), tops) for mark in marks]
        if not marks[0].upright:
            least = min(panel.lanes[mark.lane].height_in for mark in marks)
            # The size of a sign is an area: in low lanes it shrinks by the square, but not out of sight.
            size = max(min(1.0, (least / 0.2) ** 2) * look.size, 8.0)
            style: dict[str, Any] = {"edgecolor": look.edge or look.colour, "linewidth": look.edge_width}
            axes.scatter(x, y, s=size, marker=look.sign, color=look.colour, zorder=look.layer, **style)
        else:
            ends = [panel.height_at_in((mark.lane, mark.bottom), tops) for mark in marks]
            lines = [[(at, top), (at, bottom)] for at, top, bottom in zip(x, y, ends, strict=True)]
            axes.add_collection(LineCollection(lines, colors=look.colour, linewidth=look.width, zorder=look.layer))


def _draw_links(axes: Axes, chart: Chart, panel: Panel, tops: list[float]) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    for link in panel.links:
        begin, end = panel.height_at_in(link.origin, tops), panel.height_at_in(link.goal, tops)
        at, middle = link.time_s / chart.unit_s, (link.time_s + 2 * link.bend_s) / chart.unit_s
        path = Path([(at, begin), (middle, (begin + end) / 2), (at, end)], [Path.MOVETO, Path.CURVE3, Path.CURVE3])
        look = link.look
        style: dict[str, Any] = {"linestyle": _line_style(look), "linewidth": look.width, "zorder": look.layer}
        axes.add_patch(FancyArrowPatch(path=path, color=look.colour, arrowstyle="-|>", mutation_scale=7, **style))


def _line_style(look: Look) -> Any:
    """Short dashes for thin lines."""
    return (0, (4, 2)) if look.line == "--" and look.width < 1 else look.line


def _draw_limits(axes: Axes, chart: Chart, limits: Sequence[Limit], room: _Room) -> None:
    """Draw the limits of one tier, given in order of time: a line for each, with its name above if there is room."""
    from matplotlib.patheffects import Normal, Stroke
    from matplotlib.transforms import ScaledTranslation

    figure = axes.get_figure()
    assert figure is not None
    free_from_in = float("-inf")
    for limit in [limit for limit in limits if limit.time_s <= chart.end_s]:
        height_pt, aside_pt = (0, 0.0) if limit.tier is None else _TIERS[limit.tier]
        half_in = len(limit.name) * _LIMIT_CHARACTER_IN / 2
        at_in = (limit.time_s - chart.start_s) / (chart.end_s - chart.start_s) * room.wide_in
        named = bool(limit.name) and at_in - half_in >= free_from_in
        if named:
            free_from_in = at_in + half_in + _LIMIT_GAP_IN
            place: dict[str, Any] = {"xy": (limit.time_s / chart.unit_s, 1), "xycoords": ("data", "axes fraction")}
            place |= {"xytext": (0, height_pt), "textcoords": "offset points", "ha": "center", "va": "center"}
            style: dict[str, Any] = {"fontsize": 8, "color": limit.look.colour, "fontweight": "bold"}
            axes.annotate(limit.name, **place, **style, parse_math=False)
        if named or len(limits) <= MAX_LINES:
            look = limit.look
            line = axes.axvline(limit.time_s / chart.unit_s, color=look.colour, linestyle=look.line, zorder=look.layer)
            line.set_linewidth(look.width)
            # A white edge, so that the line is seen on bars of its own colour.
            line.set_path_effects([Stroke(linewidth=look.width + 1.2, foreground="white"), Normal()])
            line.set_transform(line.get_transform() + ScaledTranslation(aside_pt / 72, 0, figure.dpi_scale_trans))


def _name_limits_out_of_sight(axes: Axes, chart: Chart, limits: Sequence[Limit]) -> None:
    """Say at the right edge which limits lie behind it, unless there are tiers of them."""
    behind = [limit for limit in limits if limit.tier is None and limit.time_s > chart.end_s]
    for place, limit in enumerate(behind):
        text = limit.look.label.replace(" (", "\n(") + " →"
        style: dict[str, Any] = {"fontsize": 8, "color": limit.look.colour, "fontweight": "bold", "va": "top"}
        below = (5, -2 - 26 * place)
        axes.annotate(text, (1, 1), below, "axes fraction", textcoords="offset points", parse_math=False, **style)


# ---------------------------------------------------------------------- plots


def draw_plot(plot: Plot, figure: Figure) -> Axes:
    """Draw a plot onto an empty figure of the size of the plot, and return its axes."""
    axes = figure.add_subplot()
    _draw_curves(axes, plot)
    figure.suptitle(plot.title, fontsize=12, fontweight="bold", parse_math=False)
    axes.set_title("\n".join(wrap(plot.subtitle, _SUBTITLE_CHARACTERS)), fontsize=9, color="#444444", parse_math=False)
    _explain(figure, plot.legend, plot.size_in[0], loc="outside lower center")
    return axes


@plotting_libraries()
def axes_of_plot(plot: Plot, axes: Axes | None) -> Axes:
    """Draw a plot onto axes, or onto those of a new figure of pyplot, and return them."""
    if axes is None:
        from matplotlib import pyplot

        return draw_plot(plot, pyplot.figure(figsize=plot.size_in, layout="constrained"))
    wide, _ = _size_in(axes)
    _draw_curves(axes, plot)
    _set_title(axes, (plot.title, plot.subtitle), wide, 6)
    _explain_below(axes, plot.legend, wide)
    return axes


def _draw_curves(axes: Axes, plot: Plot) -> None:
    beside = axes.twinx() if plot.beside_range is not None else axes
    for curve in plot.curves:
        look, nowhere = curve.look, (math.nan, math.nan)
        style: dict[str, Any] = {
            "color": look.colour,
            "linestyle": _line_style(look) or "none",
            "linewidth": look.width,
        }
        style |= {"drawstyle": "steps-post" if curve.steps else "default", "zorder": look.layer, "label": look.label}
        if look.sign:
            style |= {"marker": look.sign, "markersize": look.size**0.5, "markeredgecolor": look.edge or look.colour}
        points = [nowhere if point is None else point for point in curve.points]
        (beside if curve.beside else axes).plot([x for x, _ in points], [y for _, y in points], **style)
        if curve.spans:
            spans: dict[str, Any] = {
                "xerr" if curve.across else "yerr": curve.spans,
                "ecolor": look.colour,
                "capsize": 3,
            }
            axes.errorbar([x for x, _ in points], [y for _, y in points], fmt="none", zorder=look.layer, **spans)
        if curve.name and curve.points:
            _name_curve(axes, plot, curve)
    axes.set_xlim(plot.x_range)
    axes.set_ylim(plot.y_range)
    axes.set_xlabel(plot.x_label)
    axes.set_ylabel(plot.y_label)
    for axis, letter, names in ((axes.xaxis, "x", plot.x_names), (axes.yaxis, "y", plot.y_names)):
        if names:
            axis.set_ticks(range(len(names)), names)
        elif letter in plot.powers:
            axis.set_major_formatter(lambda value, _: f"{10**value:,.4g}")
    if plot.whole and "x" not in plot.powers and not plot.x_names:
        axes.locator_params(axis="x", integer=True)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if plot.beside_range is not None:
        beside.set_ylim(plot.beside_range)
        beside.set_ylabel(plot.beside_label)
    axes.grid(color="#DDDDDD", linewidth=0.5)
    axes.set_axisbelow(True)


def _name_curve(axes: Axes, plot: Plot, curve: Curve) -> None:
    """Write the name of a curve beside its first point, on the side where there is room, and below it near the top."""
    [point, *_] = curve.points
    assert point is not None
    left = point[0] > plot.x_range[0] + 0.8 * (plot.x_range[1] - plot.x_range[0])
    aside, above = -8 if left else 8, 6 + 11 * curve.line
    low, high = plot.y_range
    if point[1] > high - _NEAR_THE_TOP * (high - low):
        above = -above - 6
    place: dict[str, Any] = {"xytext": (aside, above), "textcoords": "offset points"}
    style: dict[str, Any] = {"ha": "right" if left else "left", "fontsize": 8.5, "color": curve.look.colour}
    axes.annotate(curve.name, point, **place, **style, zorder=6, parse_math=False)


# --------------------------------------------------------------------- legend


def _legend_columns(looks: Sequence[Look], width_in: float) -> int:
    longest = max((len(look.label) for look in looks), default=1)
    return max(1, min(int(width_in / (longest * _LEGEND_CHARACTER_IN + _LEGEND_SIGN_IN)), _MOST_COLUMNS))


def _explain(owner: Figure | Axes, looks: Sequence[Look], width_in: float, **place: Any) -> None:
    columns, handles = _legend_columns(looks, width_in), [_handle(look) for look in looks]
    legend = owner.legend(handles=handles, ncols=columns, fontsize=8, frameon=False, **place)
    for text in legend.get_texts():
        text.set_parse_math(False)  # a dollar begins no formula


def _explain_below(axes: Axes, looks: Sequence[Look], wide: float) -> None:
    from matplotlib.transforms import ScaledTranslation

    figure = axes.get_figure()
    assert figure is not None
    below = axes.transAxes + ScaledTranslation(0, -_TIME_AXIS_IN, figure.dpi_scale_trans)
    place: dict[str, Any] = {"bbox_to_anchor": (0.5, 0), "bbox_transform": below, "borderaxespad": 0.0}
    _explain(axes, looks, wide, loc="upper center", **place)


def _set_title(axes: Axes, texts: Sequence[str], wide: float, pad: float) -> None:
    """Write texts above axes, in lines that are no longer than they."""
    lines = [line for text in texts for line in wrap(text, max(int(wide / _CHARACTER_IN), 20))]
    axes.set_title("\n".join(lines), fontsize=9, loc="left", pad=pad, parse_math=False)


def _size_in(axes: Axes) -> tuple[float, float]:
    """Width and height of axes in inches."""
    figure, box = axes.get_figure(), axes.get_window_extent()
    assert figure is not None
    return box.width / figure.dpi, box.height / figure.dpi


def _handle(look: Look) -> Artist:
    """Entry of the legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    label = f" {look.label}" if look.label.startswith("_") else look.label  # names that begin with _ are left out
    if not look.sign and not look.line:
        return Patch(facecolor=_inside(look), edgecolor=look.edge or None, hatch=look.hatch or None, label=label)
    style: dict[str, Any] = {"linestyle": _line_style(look) or "", "linewidth": look.width, "color": look.colour}
    if look.sign:
        edge = look.edge_width if look.sign != "|" else look.width
        style |= {"marker": look.sign, "markersize": look.size**0.5, "markeredgewidth": edge}
        style |= {"markeredgecolor": look.edge or look.colour}
    return Line2D([], [], label=label, **style)
