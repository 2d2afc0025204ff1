"""Charts as pages that need no network: plotly."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from ..core.wording import printable
from .chart import Chart, Link, Look, Mark, Panel, by_look, marks_by_look
from .matplotlib_renderer import FINE_EDGES_ABOVE, MAX_NAMED_BARS, STRIPE_COLOUR

_SIGNS = {"v": "triangle-down", "^": "triangle-up", "X": "x", "D": "diamond", "s": "square", "o": "circle"}
_DASHES = {"": "solid", "-": "solid", "--": "dash", ":": "dot"}
_ROW_PX = 22
_LEGEND_ROW_PX = 19
_MARGIN_PX = 160
_LEGEND_MARGIN_PX = 230
_LEAST_PX = 420
_HIGHEST_PX = 6000


def page(chart: Chart) -> bytes:
    """Make a page of a chart of one panel, which stands alone; hovering says more.

    Parameters
    ----------
    chart : Chart
        With one panel and an axis of seconds.

    Returns
    -------
    bytes
        The page.
    """
    from plotly import graph_objects

    [panel] = chart.panels
    tops = panel.tops_in()
    figure = graph_objects.Figure()
    _add_bars(figure, panel, tops)
    for look in dict.fromkeys(link.look for link in panel.links):
        _add_links(figure, panel, tops, look, [link for link in panel.links if link.look == look])
    for look, marks in marks_by_look(panel.marks).items():
        _add_marks(figure, panel, tops, look, marks)
    for limit in panel.limits:
        line = {"color": limit.look.colour, "dash": _DASHES[limit.look.line], "width": 2}
        ends = {"x": [limit.time_s] * 2, "y": [0, tops[-1]]}
        figure.add_scatter(**ends, mode="lines", name=_html(limit.look.label), line=line, hoverinfo="name")
    n_rows = sum(lane.rows for lane in panel.lanes)
    rows_px = min(_MARGIN_PX + _ROW_PX * n_rows, _HIGHEST_PX)
    figure.update_layout(
        uniformtext={"minsize": 9, "mode": "hide"},
        title={"text": f"<b>{_html(chart.title)}</b><br><sub>{_html(panel.title)}</sub>"},
        barmode="overlay",
        template="plotly_white",
        height=max(_LEAST_PX, _LEGEND_MARGIN_PX + _LEGEND_ROW_PX * len(figure.data), rows_px),
        shapes=_stripes(panel, tops),
        legend={"orientation": "v", "yanchor": "top", "y": 1, "xanchor": "left", "x": 1.01},
        hoverlabel={"align": "left"},
        xaxis={"title": {"text": chart.time_label}, "range": [chart.start_s, chart.end_s], "tickformat": ",d"},
        yaxis={
            "title": {"text": chart.lane_label},
            "range": [tops[-1], 0],
            "tickvals": [top + lane.rows * lane.height_in / 2 for lane, top in zip(panel.lanes, tops, strict=False)],
            "ticktext": [_html(lane.label) for lane in panel.lanes],
            "automargin": True,
        },
    )
    text: str = figure.to_html(include_plotlyjs=True, full_html=True, div_id="gantt", config={"displaylogo": False})
    return text.replace("<head>", f"<head><title>{_html(chart.title)}</title>", 1).encode("utf-8")


def _html(text: str) -> str:
    """Return a text of the data as HTML: no mark-up, and nothing that hides or turns what follows."""
    return html.escape(printable(text))


def _stripes(panel: Panel, tops: Sequence[float]) -> list[dict[str, Any]]:
    """Shapes of the shaded lanes."""
    across = {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "layer": "below"}
    return [
        {**across, "y0": top, "y1": top + lane.rows * lane.height_in, "fillcolor": STRIPE_COLOUR, "line": {"width": 0}}
        for lane, top in zip(panel.lanes, tops, strict=False)
        if lane.shaded
    ]


def _add_bars(figure: Any, panel: Panel, tops: list[float]) -> None:
    for look, bars in by_look(panel.bars).items():
        edge_px = look.edge_width if look.edge and len(panel.bars) <= FINE_EDGES_ABOVE else 0
        marker: dict[str, Any] = {"color": look.colour, "line": {"color": "white", "width": edge_px}}
        if look.hatch:
            pattern = {"shape": look.hatch[0], "fgcolor": look.edge, "bgcolor": look.colour, "size": 6}
            marker["pattern"] = {**pattern, "fillmode": "replace"}
        places = [panel.ground_and_height_in(bar, tops) for bar in bars]
        figure.add_bar(
            orientation="h",
            y=[ground - height / 2 for ground, height in places],
            x=[bar.end_s - bar.start_s for bar in bars],
            base=[bar.start_s for bar in bars],
            width=[height for _, height in places],
            name=_html(look.label),
            marker=marker,
            hovertext=[_hover_text((f"<b>{_html(bar.name or look.label)}</b>",), bar.hover) for bar in bars],
            hoverinfo="text",
            text=[_html(bar.name) for bar in bars] if look.text and len(panel.bars) <= MAX_NAMED_BARS else None,
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": look.text or "white", "size": 10},
        )


def _hover_text(heading: tuple[str, ...], lines: Sequence[str]) -> str:
    return "<br>".join((*heading, *(_html(line) for line in lines)))


def _add_marks(figure: Any, panel: Panel, tops: list[float], look: Look, marks: Sequence[Mark]) -> None:
    x: list[float | None] = []
    y: list[float | None] = []
    for mark in marks:
        x.append(mark.time_s)
        y.append(panel.height_at_in((mark.lane, mark.top), tops))
        if mark.upright:
            x += [mark.time_s, None]
            y += [panel.height_at_in((mark.lane, mark.bottom), tops), None]
    if not marks[0].upright:
        edge = {"color": look.edge, "width": 1}
        marker = {"symbol": _SIGNS[look.sign], "color": look.colour, "size": 8, "line": edge}
        hover = {"hovertext": [_hover_text((), mark.hover) for mark in marks], "hoverinfo": "text"}
        figure.add_scatter(x=x, y=y, mode="markers", name=_html(look.label), marker=marker, **hover)
    else:
        line = {"color": look.colour, "width": 3}
        figure.add_scatter(x=x, y=y, mode="lines", name=_html(look.label), line=line, hoverinfo="x+name")


def _add_links(figure: Any, panel: Panel, tops: list[float], look: Look, links: Sequence[Link]) -> None:
    x: list[float | None] = []
    y: list[float | None] = []
    sizes: list[int] = []
    for link in links:
        begin, end = panel.height_at_in(link.origin, tops), panel.height_at_in(link.goal, tops)
        steps = [step / 12 for step in range(13)]
        x += [link.time_s + 4 * link.bend_s * s * (1 - s) for s in steps] + [None]
        y += [begin + (end - begin) * s for s in steps] + [None]
        sizes += [0] * 12 + [11, 0]
    line = {"color": look.colour, "width": 1.2, "dash": _DASHES[look.line]}
    head = {"symbol": "arrow", "angleref": "previous", "size": sizes, "color": look.colour}
    figure.add_scatter(x=x, y=y, mode="lines+markers", name=_html(look.label), line=line, marker=head, hoverinfo="skip")
