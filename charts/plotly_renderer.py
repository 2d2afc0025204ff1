"""Pages that need no network: plotly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .chart import Frame
from .matplotlib_renderer import STRIPE_COLOUR, limits_of, span_s

if TYPE_CHECKING:
    pass

# ---------------------------------------------------------------------- plotly


def html_limits(figure: Any, layout: Frame) -> None:
    """Add the lines of the deadline and D_spot."""
    bottom = layout.n_rows - 0.5
    for moment, name, colour, dashed in reversed(limits_of(layout)):
        label = f"{name} ({moment:,} s)"
        line = {"color": colour, "dash": "dash" if dashed else "solid", "width": 2}
        figure.add_scatter(x=[moment, moment], y=[-0.5, bottom], mode="lines", name=label, line=line, hoverinfo="name")


def html_stripes(layout: Frame) -> list[dict[str, Any]]:
    """Shapes that shade every other VM."""
    return [
        {
            "type": "rect",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": int(first) - 0.5,
            "y1": int(first + rows) - 0.5,
            "fillcolor": STRIPE_COLOUR,
            "line": {"width": 0},
            "layer": "below",
        }
        for first, rows in list(zip(layout.vm_first_row, layout.vm_rows, strict=True))[::2]
    ]


def html_page(figure: Any, layout: Frame, shapes: list[dict[str, Any]], **changes: Any) -> bytes:
    """Set axes and titles of a plotly figure and make a page of it that stands alone."""
    arrangement: dict[str, Any] = {
        "uniformtext": {"minsize": 9, "mode": "hide"},
        "title": {"text": f"<b>{escaped(layout.title)}</b><br><sub>{escaped(layout.subtitle)}</sub>"},
        "barmode": "overlay",
        "template": "plotly_white",
        "height": max(420, min(160 + 22 * layout.n_rows, 6000)),
        "shapes": shapes,
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1, "xanchor": "right", "x": 1},
        "hoverlabel": {"align": "left"},
        "xaxis": {"title": {"text": "time since the start (s)"}, "range": [0, span_s(layout)], "tickformat": ",d"},
        "yaxis": {
            "title": {"text": "VM (one row for each core)"},
            "range": [layout.n_rows - 0.5, -0.5],
            "tickvals": layout.vm_centre.tolist(),
            "ticktext": [escaped(label) for label in layout.vm_labels],
            "automargin": True,
        },
    }
    figure.update_layout(**(arrangement | changes))
    page: str = figure.to_html(include_plotlyjs=True, full_html=True, div_id="gantt", config={"displaylogo": False})
    heading = f"<head><title>{escaped(layout.title)}</title>"
    return page.replace("<head>", heading, 1).encode("utf-8")


def rows_text(layout: Frame) -> list[str]:
    """Text for each row: its VM and core."""
    pairs = zip(layout.vm_labels, layout.vm_rows.tolist(), strict=True)
    return [f"{label}, core {core}" for label, rows in pairs for core in range(rows)]


def escaped(text: str) -> str:
    """Return a text as it must stand in a page."""
    import html

    return html.escape(text)
