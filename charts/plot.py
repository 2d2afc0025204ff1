"""Contents of a plot of curves and points, independent of what draws it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

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
    """

    look: Look
    points: tuple[tuple[float, float] | None, ...]
    steps: bool = False
    name: str = ""
    line: int = 0
    hover: tuple[tuple[str, ...], ...] = ()
    beside: bool = False


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

    @property
    def legend(self) -> list[Look]:
        """Entries of the legend."""
        return [curve.look for curve in self.curves if curve.look.label]
