"""Parts of the report on an experiment: policies on days."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...charts.plot import Curve, Plot, look_of, range_around
from ...core.quantities import FloatArray
from ...core.statistics import estimate
from ...core.text_tables import Column, Table
from ..page import Block, Graph, Listing, Section

_STEPS = 200
"""Points of a curve of a distribution."""


@dataclass(slots=True)
class Days:
    """Costs and lateness of days under a policy.

    Attributes
    ----------
    cost_usd, makespan_s : array of float
        Of each day; not a number where tasks are left unfinished.
    deadline_s : float
        The same for all; not a number if that is not known.
    is_bound : bool
        Whether they are lower bounds of the days, and no policy's.
    """

    cost_usd: array[float] = field(default_factory=lambda: array("d"))
    makespan_s: array[float] = field(default_factory=lambda: array("d"))
    deadline_s: float = float("nan")
    is_bound: bool = False

    def add(self, costs: Iterable[float | None], makespans: Iterable[float | None], deadline_s: float | None) -> None:
        """Take in days."""
        for cost, makespan in zip(costs, makespans, strict=True):
            self.cost_usd.append(float("nan") if cost is None else cost)
            self.makespan_s.append(float("nan") if makespan is None else makespan)
        if deadline_s is not None:
            self.deadline_s = deadline_s

    @property
    def late(self) -> int | None:
        """Days on which not all tasks end by the deadline; None of a bound, by which nothing ends."""
        if self.is_bound:
            return None
        makespans = np.frombuffer(self.makespan_s)
        return int((np.isnan(makespans) | (makespans > self.deadline_s)).sum())


Groups = Mapping[str, Mapping[str, Days]]
"""What was replayed, in words; and what the policies came to."""


def policy_sections(groups: Groups) -> list[Section]:
    """Return sections on policies that met days.

    Parameters
    ----------
    groups : mapping
        By what was replayed, and by policy.
    """
    if not groups:
        return []
    policies = list(dict.fromkeys(policy for group in groups.values() for policy in group))
    costs: dict[str, Plot] = {}
    makespans: dict[str, Plot] = {}
    means: dict[str, Plot] = {}
    for name, group in groups.items():
        drawn = [(policies.index(policy), policy, days) for policy, days in group.items()]
        means[name] = _intervals(drawn)
        spread = [_spread(days.cost_usd, at, policy, "$ {:.6f}") for at, policy, days in drawn]
        costs[name] = _spreads(spread, "cost ($)")
        ended = [_spread(days.makespan_s, at, policy, "{:,.0f} s") for at, policy, days in drawn if not days.is_bound]
        makespans[name] = _spreads([*ended, *_deadlines(group)], "makespan (s)")
    blocks: list[Block] = [
        Listing("", _table(groups)),
        Graph(
            "Mean cost",
            "Over the days on which all tasks end, with intervals of 95 %. Left is better.",
            means,
        ),
        Graph("Days by cost", "On which part of the days a policy costs at most so much. Upper left is better.", costs),
        Graph(
            "Days by makespan",
            "On which part of the days all tasks have ended by then. Upper left is better; where a line does not reach "
            "the top, there are days on which tasks never end.",
            makespans,
        ),
    ]
    return [Section("Policies", blocks)]


def _known(values: array[float]) -> FloatArray:
    found = np.frombuffer(values)
    return found[~np.isnan(found)]


def _table(groups: Groups) -> Table:
    rows = []
    for name, group in groups.items():
        for policy, days in group.items():
            n, late = len(days.cost_usd), days.late
            means = *_mean(_known(days.cost_usd), 6), *_mean(_known(days.makespan_s), 1)
            rows.append((name, policy, f"{n:,}", *means, *_late(late, n)))
    interval = "interval of 95 %"
    columns = [Column("replayed"), Column("policy"), Column("days", True)]
    columns += [Column("mean cost ($)", True), Column(interval), Column("mean makespan (s)", True), Column(interval)]
    return Table([*columns, Column("days too late", True), Column("(%)", True), Column(interval)], rows)


def _late(late: int | None, n: int) -> tuple[str, str, str]:
    """Return the number of days that are late, their share, and its interval."""
    if late is None:
        return "-", "-", "-"
    low, high = _share(late, n)
    return f"{late:,}", f"{100 * late / n:.3f}", f"{100 * low:.3f} to {100 * high:.3f}"


def _mean(values: FloatArray, digits: int) -> tuple[str, str]:
    """Return a mean and its interval."""
    found = estimate(values.tolist())
    if found.mean is None:
        return "-", "-"
    mean = f"{found.mean:,.{digits}f}"
    if found.low is None or found.high is None:
        return mean, "-"
    return mean, f"{found.low:,.{digits}f} to {found.high:,.{digits}f}"


def _share(part: int, whole: int) -> tuple[float, float]:
    """Return the interval of a share, after Wilson: it is one also where nothing or all is late."""
    from scipy.stats import binomtest

    found = binomtest(part, whole).proportion_ci(method="wilson")
    return float(found.low), float(found.high)


def _spread(values: array[float], place: int, policy: str, shown: str) -> Curve:
    """Return the curve of a distribution: at so many of its points as a picture shows."""
    known, n = np.sort(_known(values)), len(values)
    places = np.unique(np.linspace(0, len(known) - 1, min(len(known), _STEPS)).astype(int)).tolist()
    points = tuple((float(known[at]), 100 * (at + 1) / n) for at in places)
    hover = tuple((f"{policy}: {shown.format(x)} at most on {y:.1f} % of the days",) for x, y in points)
    return Curve(look_of(place, policy, signs=False, lines=True), points, steps=True, hover=hover)


def _spreads(curves: list[Curve], x_label: str) -> Plot:
    """Return the plot of distributions."""
    values = [point[0] for curve in curves for point in curve.points if point is not None]
    return Plot("", "", curves, x_label, "days (%)", range_around(values), (0.0, 103.0), whole=False)


def _deadlines(group: Mapping[str, Days]) -> list[Curve]:
    """Return the line of the deadline, if that is known."""
    deadlines = {days.deadline_s for days in group.values() if days.deadline_s == days.deadline_s}
    return [
        Curve(look_of(7, f"deadline ({deadline:,.0f} s)", lines=True), ((deadline, 0.0), (deadline, 100.0)))
        for deadline in sorted(deadlines)
    ]


def _intervals(drawn: Sequence[tuple[int, str, Days]]) -> Plot:
    """Return the plot of mean costs, each with its interval."""
    curves, ends = [], []
    for row, (place, policy, days) in enumerate(drawn):
        found = estimate(_known(days.cost_usd).tolist())
        if found.mean is None:
            continue
        half = found.half_width or 0.0
        hover = ((f"{policy}: $ {found.mean:.6f} ± {half:.2g}",),)
        points = ((found.mean, float(row)),)
        curves.append(Curve(look_of(place, policy), points, hover=hover, spans=(half,), across=True))
        ends += [found.mean - half, found.mean + half]
    names = tuple(policy for _, policy, _ in drawn)
    rows = (-0.5, len(drawn) - 0.5)
    return Plot("", "", curves, "mean cost ($)", "", range_around(ends), rows, whole=False, y_names=names)
