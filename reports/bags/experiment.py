"""The report on an experiment: methods on instances, policies on days."""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ...charts.bags.plan import plan_chart
from ...charts.chart import Curve, Plot, look_of, range_around
from ...core.errors import SpotbagError, input_error
from ...core.json_documents import format_json, format_of
from ...core.quantities import FloatArray
from ...core.statistics import estimate
from ...core.text_files import read_text
from ...core.text_tables import Column, Table
from ...core.wording import counted
from ...experiments.bags.comparison import Row, row_of
from ...experiments.bags.rows import ABOUT, CLAIRVOYANT, CellRow, read_about, read_rows
from ...heuristics.bags.d_spot import with_d_spot
from ...instances.library import library_instance, library_names
from ...schedules.documents import SCHEDULE_FORMAT
from ...schedules.schedule_files import parse_schedule_document, schedule_of_document
from ..page import Block, Facts, Graph, Heading, Lines, Listing, Paragraph, Report, Section
from ..papers import PAPER_FORMAT, paper_blocks, parse_paper
from .method_runs import method_sections

_MOST_PLANS = 6
_MOST_FILES = 200


@dataclass(slots=True)
class _Rows:
    """Contents of the file of rows, gathered while the file is read."""

    lines: int = 0
    seconds: float = 0.0
    statuses: Counter[str] = field(default_factory=Counter)
    versions: dict[str, None] = field(default_factory=dict)
    machines: dict[str, None] = field(default_factory=dict)
    runs: list[Row] = field(default_factory=list)
    groups: dict[str, dict[str, Days]] = field(default_factory=dict)

    def add(self, line: CellRow) -> None:
        """Take in a line."""
        self.lines += 1
        self.seconds += line.runtime_s or 0.0
        self.versions.setdefault(line.version)
        self.machines.setdefault(line.machine)
        if not line.policy:
            run = row_of(msgspec.structs.asdict(line) | {"status": line.status or "feasible"})
            self.statuses[run.status] += 1
            self.runs.append(run)
            return
        self.statuses[(line.status or "feasible") if line.reason else "replayed"] += 1
        if line.reason and line.cost_usd is None:
            return
        group = self.groups.setdefault(line.replayed, {})
        group.setdefault(line.policy, Days(is_bound=line.policy == CLAIRVOYANT)).add(line)


def experiment_report(folder: str | os.PathLike[str], version: str) -> Report:
    """Report on the results of an experiment so far.

    Parameters
    ----------
    folder : path
        Where its rows are; plans and comparisons with papers that lie there as well are shown with them.
    version : str
        Of spotbag, which writes the report.

    Raises
    ------
    InputError
        If the folder holds no experiment, or rows that cannot be read.
    """
    place = Path(folder)
    about = read_about(place)
    spec = about["spec"]
    try:
        asked = format_json(spec).splitlines()
    except RecursionError:
        raise input_error(str(place / ABOUT), "is nested too deeply") from None
    rows = _read_rows(place)
    description = spec.get("description")
    return Report(
        f"Experiment {place.resolve().name}",
        ", ".join([counted(rows.lines, "row"), *([f"{description}"] if description else [])]),
        [
            Section("What was run", [Facts(_about(about, rows, version)), Lines(asked)]),
            *method_sections(rows.runs),
            *policy_sections(rows.groups),
            *_of_files(place),
        ],
    )


def _read_rows(folder: Path) -> _Rows:
    """Read rows; a last line that was cut is left out."""
    rows = _Rows()
    for _, line in read_rows(folder):
        rows.add(line)
    return rows


def _about(about: Mapping[str, Any], rows: _Rows, version: str) -> list[tuple[str, str]]:
    return [
        ("rows", f"{rows.lines:,}"),
        ("ended as", ", ".join(f"{number:,} {status}" for status, number in rows.statuses.most_common()) or "-"),
        ("time of all", f"{rows.seconds:,.1f} s"),
        ("spotbag", _listed(rows.versions) or str(about.get("version", "-"))),
        ("machine", _listed(rows.machines) or "-"),
        ("report by", f"spotbag {version}"),
    ]


def _listed(names: Iterable[str]) -> str:
    return "; ".join(name for name in names if name)


# ------------------------------------------------------------------------- files


def _of_files(folder: Path) -> list[Section]:
    """Sections on plans and on comparisons with papers that lie in the folder."""
    plans: list[Block] = []
    papers: list[Block] = []
    # Whatever lies in the folder and says by its format what it is.
    for path in sorted(folder.rglob("*.json"))[:_MOST_FILES]:
        text = read_text(path)
        kind = format_of(text)
        if kind == PAPER_FORMAT:
            papers += paper_blocks(parse_paper(text, str(path)))
        elif kind == SCHEDULE_FORMAT and len(plans) < 2 * _MOST_PLANS:
            plans += [Heading(path.relative_to(folder).as_posix()), _gantt(text, str(path))]
    return [Section("Plans", plans), Section("The papers' figures beside ours", papers)]


def _gantt(text: str, source: str) -> Block:
    """Return the Gantt chart of a plan, or why there is none."""
    document = parse_schedule_document(text, source)
    if document.instance not in library_names():
        return Paragraph(f"A plan for {document.instance}, which is not of the library; a report on it alone shows it.")
    problem = with_d_spot(library_instance(document.instance), made_for_s=document.d_spot_s)
    try:
        return plan_chart(schedule_of_document(document, problem, source), document.method, document.survival)
    except SpotbagError as error:
        return Paragraph(f"{error}", True)


# ------------------------------------------------------------------------- policies on days

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
    late_days : int
        Late days of those rows that say so: tasks may be late for deadlines of their own.
    judged_s : array of float
        Makespans of all other rows.
    """

    cost_usd: array[float] = field(default_factory=lambda: array("d"))
    makespan_s: array[float] = field(default_factory=lambda: array("d"))
    deadline_s: float = float("nan")
    is_bound: bool = False
    late_days: int = 0
    # Days whose rows do not say how many are late: that follows from the makespans.
    judged_s: array[float] = field(default_factory=lambda: array("d"))

    def add(self, row: CellRow) -> None:
        """Take in the days of a row."""
        for cost, makespan in zip(row.costs_usd, row.makespans_s, strict=True):
            self.cost_usd.append(float("nan") if cost is None else cost)
            self.makespan_s.append(float("nan") if makespan is None else makespan)
            if row.late_days is None:
                self.judged_s.append(self.makespan_s[-1])
        self.late_days += row.late_days or 0
        if row.deadline_s is not None:
            self.deadline_s = row.deadline_s

    @property
    def late(self) -> int | None:
        """Days on which not all tasks end by the deadline; None of a bound, by which nothing ends."""
        if self.is_bound:
            return None
        makespans = np.frombuffer(self.judged_s)
        return self.late_days + int((np.isnan(makespans) | (makespans > self.deadline_s)).sum())


Groups = Mapping[str, Mapping[str, Days]]
"""Days under each policy, by what was replayed (in words) and then by the policy."""


def policy_sections(groups: Groups) -> list[Section]:
    """Return the sections of a report on policies that were replayed on days; none if there are none.

    Parameters
    ----------
    groups : mapping
        The days, by what was replayed, and then by policy.
    """
    if not groups:
        return []
    policies = list(dict.fromkeys(policy for group in groups.values() for policy in group))
    # One plot for each plan that was replayed: their costs are too far apart for one axis.
    costs: dict[str, Plot] = {}
    makespans: dict[str, Plot] = {}
    means: dict[str, Plot] = {}
    for name, group in groups.items():
        drawn = [(policies.index(policy), policy, days) for policy, days in group.items()]
        means[name] = _intervals(drawn)
        spread = [_spread(days.cost_usd, at, policy, "$ {:.6f}") for at, policy, days in drawn]
        costs[name] = _spreads(spread, "cost ($)")
        # A bound is one of the cost: no tasks end by it.
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
    """Return the curve of a distribution, at no more of its points than a picture shows."""
    known, n = np.sort(_known(values)), len(values)
    # Equally many days between two points, so that steep parts have as many as flat ones.
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
