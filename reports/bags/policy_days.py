"""Parts of the report on an experiment: policies on days."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.quantities import FloatArray
from ...core.statistics import estimate
from ...core.text_tables import Column, Table
from ..graphs import axes, look, points, rounded
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
    parts = axes("", "days (%)", yaxis={"range": [0, 103]})["yaxis"]
    costs: dict[str, list[dict[str, Any]]] = {}
    makespans: dict[str, list[dict[str, Any]]] = {}
    means: dict[str, list[dict[str, Any]]] = {}
    for name, group in groups.items():
        drawn = [(policies.index(policy), policy, days) for policy, days in group.items()]
        costs[name] = [_spread(days.cost_usd, at, policy, "$ %{x:.6f}") for at, policy, days in drawn]
        ended = [each for each in drawn if not each[2].is_bound]
        makespans[name] = [_spread(days.makespan_s, at, policy, "%{x:,.0f} s") for at, policy, days in ended]
        makespans[name] += _deadlines(group)
        means[name] = [_interval(days.cost_usd, at, policy) for at, policy, days in drawn]
    blocks: list[Block] = [
        Listing("", _table(groups)),
        Graph(
            "Mean cost",
            "Over the days on which all tasks end, with intervals of 95 %. Left is better.",
            [],
            axes("mean cost ($)", "", yaxis={"type": "category"}),
            means,
        ),
        Graph(
            "Days by cost",
            "On which part of the days a policy costs at most so much. Upper left is better.",
            [],
            {"xaxis": {"title": {"text": "cost ($)"}}, "yaxis": parts},
            costs,
        ),
        Graph(
            "Days by makespan",
            "On which part of the days all tasks have ended by then. Upper left is better; where a line does not reach "
            "the top, there are days on which tasks never end.",
            [],
            {"xaxis": {"title": {"text": "makespan (s)"}}, "yaxis": parts},
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


def _spread(values: array[float], number: int, policy: str, shown: str) -> dict[str, Any]:
    """Return the curve of a distribution: at so many of its points as a picture shows."""
    known, n = np.sort(_known(values)), len(values)
    places = np.unique(np.linspace(0, len(known) - 1, min(len(known), _STEPS)).astype(int)).tolist()
    pairs = [(float(known[place]), 100 * (place + 1) / n) for place in places]
    hover = f"%{{fullData.name}}: {shown} at most on %{{y:.1f}} % of the days"
    return points(number, policy, pairs, hover=hover, mode="lines", steps=True)


def _deadlines(group: Mapping[str, Days]) -> list[dict[str, Any]]:
    """Return the line of the deadline, if that is known."""
    deadlines = {days.deadline_s for days in group.values() if days.deadline_s == days.deadline_s}
    return [
        points(
            7, f"deadline ({deadline:,.0f} s)", [(deadline, 0), (deadline, 100)], mode="lines+markers", hoverinfo="name"
        )
        for deadline in sorted(deadlines)
    ]


def _interval(costs: array[float], number: int, policy: str) -> dict[str, Any]:
    """Return the mean cost of a policy, with its interval."""
    found = estimate(_known(costs).tolist())
    half = rounded(found.half_width or 0.0)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": policy,
        "x": [] if found.mean is None else [rounded(found.mean)],
        "y": [] if found.mean is None else [policy],
        "error_x": {"type": "data", "array": [half], "thickness": 2, "width": 6},
        "marker": look(number)["marker"] | {"size": 11},
        "hovertemplate": f"%{{y}}: $ %{{x:.6f}} ± {half:.2g}<extra></extra>",
    }
