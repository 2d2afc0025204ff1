"""Contents of a Gantt chart, independent of what draws it: panels of lanes with bars, marks, links and limits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal, TypeAlias

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
        Lines of what there is to say about it beside its name, place, times and what it stands for.
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
        Lines of what there is to say about it.
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


def by_look(shown: Iterable[Bar]) -> dict[Look, list[Bar]]:
    """Group bars by how they look, the lowest layer first."""
    groups: dict[Look, list[Bar]] = {}
    for bar in shown:
        groups.setdefault(bar.look, []).append(bar)
    return dict(sorted(groups.items(), key=lambda item: item[0].layer))


def marks_by_look(marks: Iterable[Mark]) -> dict[Look, list[Mark]]:
    """Group marks by how they look."""
    groups: dict[Look, list[Mark]] = {}
    for mark in marks:
        groups.setdefault(mark.look, []).append(mark)
    return groups


def job_look(job_colour: str, *, late: bool, label: str = "", text: str = "") -> Look:
    """Look of the bars of a job; those that end late are hatched."""
    if late:
        return Look(label, job_colour, LATE_COLOUR, 1.1, "////", text, layer=2)
    return Look(label, job_colour, "white", text=text)


def late_look(label: str) -> Look:
    """Explain the hatching of bars that end late."""
    return job_look("#DDDDDD", late=True, label=label)
