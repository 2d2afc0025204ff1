"""Charts as pages: HTML that stands alone, drawn by a script of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ..core.wording import printable
from .chart import Bar, Chart, Look, Panel, Plot

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

_DRAW_ALL = """const drawn = [...document.querySelectorAll(".chart")].map((root) => {
  return drawings[root.dataset.kind](root, JSON.parse(root.querySelector("script").textContent));
});
"""


def page(chart: Chart | Plot) -> bytes:
    """Make a page of a chart, which needs no network: it fits any width, zooms, and tells more of what one points at.

    Parameters
    ----------
    chart : Chart or Plot
        What to draw.

    Returns
    -------
    bytes
        The page; the same chart gives the same page.
    """
    data, titles = _data_and_titles(chart)
    made = _template("page.html.j2").render(
        chart=data, panels=titles, figure=figure(chart), style=text_of("page.css"), script=drawing_script(chart)
    )
    return made.encode("utf-8")


def figure(chart: Chart | Plot) -> Markup:
    """Make the part of a page that a chart is drawn in, with its data; `drawing_script` draws it.

    Parameters
    ----------
    chart : Chart or Plot
        What to draw.
    """
    data, titles = _data_and_titles(chart)
    is_plot = isinstance(chart, Plot)
    from markupsafe import Markup

    made = _template("figure.html.j2").render(
        kind="plot" if is_plot else "gantt",
        chart=data,
        panels=titles,
        below=chart.x_label if isinstance(chart, Plot) else chart.time_label,
        item="point" if is_plot else "bar",
    )
    return Markup(made)


def drawing_script(*charts: Chart | Plot) -> str:
    """Return the script that draws the charts of a page, each in its element; what it draws is then in ``drawn``."""
    kinds = {"plot" if isinstance(chart, Plot) else "gantt" for chart in charts}
    functions = [f"{kind}(root, chart) {{\n{text_of('page.js')}{text_of(f'{kind}.js')}}},\n" for kind in sorted(kinds)]
    return f"const drawings = {{\n{''.join(functions)}}};\n{_DRAW_ALL}"


def _data_and_titles(chart: Chart | Plot) -> tuple[dict[str, Any], list[str]]:
    if isinstance(chart, Plot):
        return plot_data(chart), _lines([chart.subtitle])
    return chart_data(chart), _lines([panel.title for panel in chart.panels])


def text_of(name: str) -> str:
    """Return the text of a file of this folder."""
    return (files(__package__) / name).read_text(encoding="utf-8")


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    return environment.from_string(text_of(name))


def chart_data(chart: Chart) -> dict[str, Any]:
    """Return a chart as the JSON values that `gantt.js` reads and draws.

    Parameters
    ----------
    chart : Chart
        What to draw.
    """
    looks: dict[Look, int] = {}
    number = partial(_number, looks)
    legend = [number(look) for look in chart.legend]
    panels = [
        {
            "gap": panel.gap_in,
            "lanes": [[printable(lane.label), lane.rows, lane.height_in, lane.shaded] for lane in panel.lanes],
            "bars": [_bar(bar, number(bar.look)) for bar in panel.bars],
            "marks": [
                [mark.lane, _brief(mark.time_s), mark.top, mark.bottom, number(mark.look), _lines(mark.hover)]
                for mark in panel.marks
            ],
            "links": [
                [_brief(link.time_s), link.origin, link.goal, number(link.look), _brief(link.bend_s)]
                for link in panel.links
            ],
            "limits": _limits(panel, number),
        }
        for panel in chart.panels
    ]
    return {
        "title": printable(chart.title),
        "notes": _lines(chart.notes),
        "start": chart.start_s,
        "end": chart.end_s,
        "unit": chart.unit_s,
        "rowLabel": chart.row_label,
        "looks": [_look(look) for look in looks],
        "legend": legend,
        "panels": panels,
    }


def plot_data(plot: Plot) -> dict[str, Any]:
    """Return a plot as the JSON values that `plot.js` reads and draws.

    Parameters
    ----------
    plot : Plot
        What to draw.
    """
    looks: dict[Look, int] = {}
    number = partial(_number, looks)
    alike = ("points", "steps", "line", "beside", "spans", "across")
    curves = [
        {name: getattr(curve, name) for name in alike}
        | {"look": number(curve.look), "name": printable(curve.name), "hover": [*map(_lines, curve.hover)]}
        for curve in plot.curves
    ]
    return {
        "title": printable(plot.title),
        "notes": [],
        "x": plot.x_range,
        "y": plot.y_range,
        "beside": plot.beside_range,
        "whole": {"x": plot.whole, "y": False, "beside": False},
        "powers": plot.powers,
        "names": {"x": _lines(plot.x_names), "y": _lines(plot.y_names), "beside": []},
        "yLabel": plot.y_label,
        "besideLabel": plot.beside_label,
        "looks": [_look(look) for look in looks],
        "legend": [number(look) for look in plot.legend],
        "curves": curves,
    }


def _number(looks: dict[Look, int], look: Look) -> int:
    """Number of a look, a new one if it is met for the first time."""
    return looks.setdefault(look, len(looks))


def _bar(bar: Bar, look: int) -> list[Any]:
    """Return the fields of a bar as a list, without empty ones at its end."""
    start, end = bar.profile[0], bar.profile[-1]
    steps = bar.profile if len(bar.profile) > 2 or start[1] != 1 else None
    row: list[Any] = [bar.lane, bar.row, _brief(start[0]), _brief(end[0]), look]
    row += [printable(bar.name), printable(bar.short), _lines(bar.hover), steps]
    # Most bars have no more than their place and look: a page of thousands stays small.
    while not row[-1] and len(row) > 5:
        row.pop()
    return row


def _limits(panel: Panel, number: Callable[[Look], int]) -> list[list[Any]]:
    return [
        [_brief(limit.time_s), number(limit.look), printable(limit.name), limit.tier]
        for limit in sorted(panel.limits, key=lambda limit: limit.time_s)
    ]


def _look(look: Look) -> dict[str, Any]:
    """Return a look with the names that the script has for its parts."""
    parts = {"edgeWidth" if name == "edge_width" else name: value for name, value in asdict(look).items()}
    return parts | {"label": printable(look.label)}


def _lines(lines: Sequence[str]) -> list[str]:
    return [printable(line) for line in lines]


def _brief(time_s: float) -> float:
    """A time without more digits than a picture shows."""
    return int(time_s) if time_s == int(time_s) else round(time_s, 2)
