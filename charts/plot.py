"""Contents of a plot of curves and points, independent of what draws it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .chart import Look

Range: TypeAlias = tuple[float, float]
"""Where an axis begins and ends."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Points, the line through them, or both: what its look has, a sign or a line.

    Attributes
    ----------
    look : Look
        How it looks; no entry in the legend if its label is empty.
    points : tuple of (float, float), or None
        Where they lie; the line is broken at None.
    steps : bool
        Whether the line stays level up to the next point.
    name : str
        What is written beside the first point.
    line : int
        Lines above the point at which the name stands, so that those of neighbours do not overlap.
    hover : tuple of tuple of str
        For each point, lines of what there is to say about it; empty if nothing is said.
    beside : bool
        Whether its values are those of the axis at the right.
    spans : tuple of float
        For each point, half the width of its interval; empty if points have none.
    across : bool
        Whether intervals lie along the axis below, not upright.
    """

    look: Look
    points: tuple[tuple[float, float] | None, ...]
    steps: bool = False
    name: str = ""
    line: int = 0
    hover: tuple[tuple[str, ...], ...] = ()
    beside: bool = False
    spans: tuple[float, ...] = ()
    across: bool = False


@dataclass(frozen=True, slots=True)
class Plot:
    """Curves over an axis.

    Attributes
    ----------
    title, subtitle : str
        Texts above it.
    curves : list of Curve
        In the order of the legend.
    x_label, y_label, beside_label : str
        Labels of the axes; the last one is at the right.
    x_range, y_range, beside_range : (float, float)
        What the axes show; the last one is None if there is no axis at the right.
    size_in : (float, float)
        Width and height in inches, as a figure is planned.
    whole : bool
        Whether the axis below has whole numbers.
    powers : str
        Axes whose values are powers of ten, of ``x`` and ``y``: points and ranges are the exponents.
    x_names, y_names : tuple of str
        Names of the places 0, 1, 2 ... of an axis that has no numbers.
    """

    title: str
    subtitle: str
    curves: list[Curve]
    x_label: str
    y_label: str
    x_range: Range
    y_range: Range
    beside_label: str = ""
    beside_range: Range | None = None
    size_in: tuple[float, float] = (9.5, 6.0)
    whole: bool = True
    powers: str = ""
    x_names: tuple[str, ...] = ()
    y_names: tuple[str, ...] = ()

    @property
    def legend(self) -> list[Look]:
        """Entries of the legend."""
        return [curve.look for curve in self.curves if curve.look.label]


_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D4F", "#7F7F7F")
"""After Okabe and Ito; without those that are hard to see on white or on black."""
_SIGNS = "osD^XP*v"
_LINES: tuple[Literal["-", "--", ":"], ...] = ("-", "--", ":")
_ROOM = 0.04
_LEAST_POWERS = 1.1


def look_of(place: int, label: str, *, signs: bool = True, lines: bool = False) -> Look:
    """Return the look of a curve by its place among others: all of them are different for the first ones."""
    colour = _COLOURS[place % len(_COLOURS)]
    return Look(
        label,
        colour,
        sign=_SIGNS[place % len(_SIGNS)] if signs else "",
        line=_LINES[place % len(_LINES)] if lines else "",
        width=2.2,
    )


def range_around(values: Iterable[float], *, zero: bool = False, powers: bool = False) -> Range:
    """Return a range that shows some values with room beside them, from 0 on if that is to be seen.

    One of powers of ten shows one of them at least: a shorter one would have few labels.
    """
    there = [*values, *([0.0] if zero else [])] or [0.0]
    low, high = min(there), max(there)
    room = _ROOM * (high - low) or abs(high) / 10 or 1.0
    room = max(room, (_LEAST_POWERS - (high - low)) / 2) if powers else room
    return (low if zero and low == 0 else low - room), high + room
