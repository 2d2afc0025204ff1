"""Contents of Gantt charts (panels of lanes with bars, marks, links, limits) and of plots, whatever draws them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal, TypeAlias, TypeVar

from ..core.record_lists import grouped_by

Profile: TypeAlias = tuple[tuple[float, float], ...]
"""Times in seconds, and the part of the height that is taken from then on; at the last one it ends."""

BOOT_COLOUR = "#F4E7C5"
IDLE_COLOUR = "#D5DAE1"
DARK_COLOUR = "#222222"
LATE_COLOUR = "#111111"
JOB_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#B8A800", "#7A5195", "#8C6D4F")
"""Colours of jobs, in turns; told apart also by people who see colours differently (after Okabe and Ito)."""

ROW_IN = 0.24
"""Height of a row where there are few."""

_MOST_TIMES_LONGER = 1.8
"""A limit that lies farther behind the end is only named at the edge: most of the picture would be empty."""

MOST_ENDS = 1_000
"""More ends of what a VM is paid by leave no space between their marks."""

_LEAST_ROW_IN = 0.02
_ROWS_IN = 18.0
_INSET = 0.08


@dataclass(frozen=True, slots=True)
class Look:
    """A look of bars, marks, links or limits, and its meaning in the legend.

    Attributes
    ----------
    label : str
        What they stand for, in the legend.
    colour, edge : str
        Of the inside, and of edge and hatching; no edge if empty.
    edge_width : float
        In points.
    hatch : str
        Hatching of a bar, as matplotlib writes it.
    text : str
        Colour in which names are written into bars; no names if empty.
    sign : str
        Sign of a mark, as matplotlib writes it.
    size : float
        Area of a sign in square points, where rows are high enough.
    line : {"", "-", "--", ":"}
        How a line is drawn.
    width : float
        Of a line, in points.
    layer : float
        What is higher is drawn over what is lower.
    opacity : float
        Of the inside of a bar; below 1, it lies over others, which can still be seen.
    """

    label: str
    colour: str
    edge: str = ""
    edge_width: float = 0.5
    hatch: str = ""
    text: str = ""
    sign: str = ""
    size: float = 40.0
    line: Literal["", "-", "--", ":"] = ""
    width: float = 1.5
    layer: float = 1.0
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: a stretch of time on a lane.

    Attributes
    ----------
    lane : int
        Index of its lane.
    row : int, optional
        Row in the lane; None for one over all rows.
    profile : tuple of (float, float)
        When it has which part of the height; a rectangle has two points.
    look : Look
        How it looks.
    name, short : str
        What is written into it if there is room, and where there is not enough for that.
    hover : tuple of str
        Lines of text on it beside its name, place, times and what it stands for.
    """

    lane: int
    row: int | None
    profile: Profile
    look: Look
    name: str = ""
    short: str = ""
    hover: tuple[str, ...] = ()

    @property
    def start_s(self) -> float:
        """Beginning of the bar in seconds."""
        return self.profile[0][0]

    @property
    def end_s(self) -> float:
        """End of the bar in seconds."""
        return self.profile[-1][0]


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment of a lane: a sign if it begins and ends at the same height, else an upright line.

    Attributes
    ----------
    lane : int
        Index of its lane.
    time_s : float
        When.
    top, bottom : float
        Between which heights, in rows from the top of the lane.
    look : Look
        How it looks.
    hover : tuple of str
        Lines of text on it.
    """

    lane: int
    time_s: float
    top: float
    bottom: float
    look: Look
    hover: tuple[str, ...] = ()

    @property
    def upright(self) -> bool:
        """True for the look of a line."""
        return self.top != self.bottom


@dataclass(frozen=True, slots=True)
class Link:
    """An arrow from one lane to another.

    Attributes
    ----------
    time_s : float
        When.
    origin, goal : (int, float)
        From which lane to which, and the heights there, in rows from the top of the lane.
    look : Look
        How it looks.
    bend_s : float
        How far it bends to the right, so that arrows of one moment lie side by side.
    """

    time_s: float
    origin: tuple[int, float]
    goal: tuple[int, float]
    look: Look
    bend_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Limit:
    """A moment of all lanes.

    Attributes
    ----------
    time_s : float
        When.
    look : Look
        How its line looks.
    name : str
        What is written above it if there is room.
    tier : int, optional
        Line above the panel in which the name stands, 0 or 1; lines of both tiers at one moment lie side by side.
    """

    time_s: float
    look: Look
    name: str = ""
    tier: int | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """A VM or a resource.

    Attributes
    ----------
    label : str
        Name at the left edge.
    rows : int
        Number of rows.
    height_in : float
        Height of a row in inches, as a figure is planned.
    shaded : bool
        Whether the ground is shaded.
    """

    label: str
    rows: int
    height_in: float
    shaded: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel: one plan or one replay.

    Attributes
    ----------
    title : str
        Text above it.
    lanes : list of Lane
        From top to bottom.
    bars, marks, links, limits : list
        What is drawn.
    gap_in : float
        Space between lanes, in inches.
    """

    title: str
    lanes: list[Lane]
    bars: list[Bar]
    marks: list[Mark] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    gap_in: float = 0.0

    def tops_in(self) -> list[float]:
        """Return the distance of each lane from the top of the panel, and the height of the panel; in inches."""
        heights = [lane.rows * lane.height_in + self.gap_in for lane in self.lanes]
        tops = list(accumulate(heights, initial=self.gap_in / 2))
        return [*tops[:-1], tops[-1] - self.gap_in / 2]

    def ground_and_height_in(self, bar: Bar, tops_in: list[float]) -> tuple[float, float]:
        """Return where a bar stands, from the top of the panel, and its full height; in inches."""
        lane = self.lanes[bar.lane]
        inset = _INSET * lane.height_in
        first, rows = (0, lane.rows) if bar.row is None else (bar.row, 1)
        return tops_in[bar.lane] + (first + rows) * lane.height_in - inset, rows * lane.height_in - 2 * inset

    def height_at_in(self, place: tuple[int, float], tops_in: list[float]) -> float:
        """Return where a height of a lane, in rows, lies from the top of the panel, in inches."""
        lane, row = place
        return tops_in[lane] + row * self.lanes[lane].height_in


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: panels one above the other, on one axis of time.

    Attributes
    ----------
    title : str
        Text above all panels.
    panels : list of Panel
        At least one.
    legend : list of Look
        What is explained, in order.
    start_s, end_s : float
        What the axis of time shows.
    time_label, lane_label : str
        Labels of the axes.
    unit_s : int
        Seconds that the axis of time counts by.
    row_label : str
        What the rows of a lane are, one of them; empty if there is nothing to say.
    notes : tuple of str
        Lines below the title.
    """

    title: str
    panels: list[Panel]
    legend: list[Look]
    start_s: float
    end_s: float
    time_label: str
    lane_label: str = ""
    unit_s: int = 1
    row_label: str = ""
    notes: tuple[str, ...] = ()


def last_shown_s(end_s: float, limits_s: Iterable[float]) -> float:
    """Return the end of the axis of time: that of all bars and the limits, but for those far behind it."""
    end_s = max(end_s, 1)  # also where nothing happens
    return max([end_s, *(limit_s for limit_s in limits_s if limit_s <= _MOST_TIMES_LONGER * end_s)])


def told_apart(ends: range) -> range:
    """Return the marked ends of paid blocks or hours of a VM: the last ones, where all are too many."""
    return ends if len(ends) <= MOST_ENDS else ends[-1:]


def stretch(start_s: float, end_s: float) -> Profile:
    """Profile of a rectangle."""
    return ((start_s, 1.0), (end_s, 0.0))


def row_height_in(n_rows: int) -> float:
    """Height of a row in inches, so that charts of many rows stay printable."""
    return max(min(ROW_IN, _ROWS_IN / max(n_rows, 1)), _LEAST_ROW_IN)


Drawn = TypeVar("Drawn", Bar, Mark)


def by_look(shown: Iterable[Drawn]) -> dict[Look, list[Drawn]]:
    """Group bars, or marks, by how they look, the lowest layer first."""
    return dict(sorted(grouped_by(shown, lambda one: one.look).items(), key=lambda item: item[0].layer))


def job_look(job_colour: str, *, late: bool, label: str = "", text: str = "") -> Look:
    """Look of the bars of a job; those that end late are hatched."""
    if late:
        return Look(label, job_colour, LATE_COLOUR, 1.1, "////", text, layer=2)
    return Look(label, job_colour, "white", text=text)


def late_look(label: str) -> Look:
    """Explain the hatching of bars that end late."""
    return job_look("#DDDDDD", late=True, label=label)


# ------------------------------------------------------------------------- plots

Range: TypeAlias = tuple[float, float]
"""Beginning and end of an axis."""


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
        Lines of text on each point; empty if there are none.
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
"""Colours after Okabe and Ito, without those that are hard to see on white or on black."""
_SIGNS = "osD^XP*v"
_LINES: tuple[Literal["-", "--", ":"], ...] = ("-", "--", ":")
_ROOM = 0.04
"""Share of the range of the values that is left free on each side of them."""
_LEAST_POWERS = 1.1
"""Least range of an axis of powers of ten: a little more than one, so that it has a label."""


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
    # Else an axis of powers of ten may have no label at all.
    room = max(room, (_LEAST_POWERS - (high - low)) / 2) if powers else room
    return (low if zero and low == 0 else low - room), high + room
