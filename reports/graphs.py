"""Graphs of plotly that reports share: colours and signs that all people can tell apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D4F", "#7F7F7F")
"""After Okabe and Ito; without those that are hard to see on white or on black."""

SIGNS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star", "triangle-down")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def look(number: int) -> dict[str, Any]:
    """Return colour, sign and dashes of the trace of a number, all of them different for the first traces."""
    colour = COLOURS[number % len(COLOURS)]
    marker = {"color": colour, "symbol": SIGNS[number % len(SIGNS)], "size": 9}
    return {"marker": marker, "line": {"color": colour, "dash": DASHES[number % len(DASHES)], "width": 2.2}}


def points(
    number: int,
    name: str,
    pairs: Iterable[tuple[float, float]],
    texts: Sequence[str] = (),
    *,
    hover: str = "",
    mode: str = "markers",
    steps: bool = False,
    **more: Any,
) -> dict[str, Any]:
    """Return a trace of points, or of a line through them.

    Parameters
    ----------
    number : int
        Which of the traces it is, for its look.
    name : str
        In the legend.
    pairs : iterable of (float, float)
        Where the points lie.
    texts : sequence of str
        Of each point, for what is said of it.
    hover : str
        What is said, as plotly has it.
    mode : str
        Of plotly.
    steps : bool
        Whether the line stays level up to the next point.
    **more
        What else the trace has.
    """
    pairs = list(pairs)
    drawn = look(number)
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": mode,
        "name": name,
        "x": [rounded(x) for x, _ in pairs],
        "y": [rounded(y) for _, y in pairs],
        "marker": drawn["marker"],
        "line": drawn["line"] | ({"shape": "hv"} if steps else {}),
    }
    if texts:
        trace["text"] = list(texts)
    if hover:
        trace["hovertemplate"] = f"{hover}<extra></extra>"
    return trace | more


def rounded(value: float) -> float:
    """Return a value without more digits than a picture shows."""
    return float(f"{value:.5g}")


def log_axis(values: Iterable[float]) -> dict[str, Any]:
    """Return an axis of powers of ten, of one at least: a shorter one would have no labels."""
    places = [math.log10(value) for value in values if value > 0]
    axis: dict[str, Any] = {"type": "log", "dtick": "D2"}
    if places and max(places) - min(places) < 1:
        middle = (min(places) + max(places)) / 2
        axis["range"] = [middle - 0.55, middle + 0.55]
    return axis


def axes(x: str, y: str, **more: Mapping[str, Any]) -> dict[str, Any]:
    """Return a layout with titles of its axes, and more of either in ``xaxis`` and ``yaxis``."""
    return {
        "xaxis": {"title": {"text": x}, **more.get("xaxis", {})},
        "yaxis": {"title": {"text": y}, **more.get("yaxis", {})},
    }
