"""Parts of the report on an experiment: methods that planned instances."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...charts.chart import Curve, Plot, look_of, range_around
from ...core.quantities import number_of, relative_gap
from ...core.record_lists import grouped_by
from ...core.text_tables import Table, number, table_of, words
from ...core.wording import counted, shortened
from ...experiments.bags.comparison import (
    MethodTotal,
    Reference,
    Row,
    Summary,
    known_values,
    make_references,
    summarise,
    total_by_method,
)
from ...instances.bags.best_known import best_known
from ...instances.library import library_instance, library_names
from ..page import Block, Graph, Listing, Paragraph, Section

_PARAMETER = re.compile(r"([A-Za-z_]\w*)=([^/,]+)")
_MOST_FRONTS = 60


def method_sections(runs: Sequence[Row]) -> list[Section]:
    """Return sections on methods that planned instances.

    Parameters
    ----------
    runs : sequence of Row
        All runs.
    """
    if not runs:
        return []
    labels = list(dict.fromkeys(row.instance for row in runs))
    # Best known values are of instances of the library, as they are there.
    library = set(library_names())
    known = known_values({label: library_instance(label) for label in labels if label in library}, best_known())
    references = make_references(runs, known)
    summaries = summarise(runs, references)
    totals = total_by_method(summaries)
    numbers = {total.method: number for number, total in enumerate(totals)}
    doubts: list[Block] = [Paragraph(entry.contradiction, True) for entry in references.values() if entry.contradiction]
    return [
        Section("Methods", [*doubts, Listing("", _totals(totals)), _profile(summaries, references, numbers)]),
        Section("Gaps", [*_about_time(summaries), Listing("", _gaps(summaries, references))]),
        Section("Gap and time", [_gap_and_time(summaries, numbers), *_growth(summaries, numbers)]),
        Section("Cost and makespan", _fronts(runs, numbers)),
        Section("Open instances", _open(references)),
        Section("Runs without a plan", _without_plan(runs)),
    ]


def _totals(totals: Sequence[MethodTotal]) -> Table:
    return table_of(
        totals,
        words("method"),
        number("instances", form=","),
        number("with a plan", "solved", ","),
        number("proved optimal", "optimal", ","),
        number("mean gap (%)", "gap_mean", ".3f", 100),
        number("worst gap (%)", "gap_worst", ".3f", 100),
        number("time of all runs (s)", "runtime_s", ",.2f"),
    )


def _gaps(summaries: Sequence[Summary], references: Mapping[str, Reference]) -> Table:
    def measure(summary: Summary) -> str:
        return "bound" if references[summary.instance].optimum is None else "optimum"

    return table_of(
        summaries,
        words("instance"),
        words("method"),
        words("plans", lambda summary: f"{summary.plans:,} of {summary.runs:,}"),
        words("ended by time", lambda summary: f"{summary.ended_by_time:,} of {summary.runs:,}"),
        number("mean objective", lambda summary: _number(summary.objective_mean)),
        number("best", lambda summary: _number(references[summary.instance].best)),
        number("bound", lambda summary: _number(references[summary.instance].bound)),
        number("mean gap (%)", "gap_mean", ".3f", 100),
        number("worst gap (%)", "gap_worst", ".3f", 100),
        words("gap to the", measure),
        number("mean time (s)", "runtime_s_mean", ",.3f"),
    )


def _about_time(summaries: Sequence[Summary]) -> list[Block]:
    """Return a paragraph on runs that a time limit has ended, if there are any."""
    runs, ended = (sum(of) for of in zip(*((entry.runs, entry.ended_by_time) for entry in summaries), strict=True))
    if not ended:
        return []
    text = (
        f"Time has ended some of the work of {ended:,} of {counted(runs, 'run')}: made again, on another machine or "
        "with another limit, they may come to something else. All others come to the same."
    )
    return [Paragraph(text)]


def _number(value: float | None) -> str:
    return "-" if value is None or math.isinf(value) else f"{value:,.6g}"


def _profile(summaries: Sequence[Summary], references: Mapping[str, Reference], numbers: Mapping[str, int]) -> Graph:
    """The performance profile of Dolan and Moré (2002), of mean objectives."""
    instances = len(references)
    ratios: dict[str, list[float]] = {method: [] for method in numbers}
    for summary in summaries:
        best = references[summary.instance].best
        if summary.objective_mean is not None and best is not None:
            mean = summary.objective_mean
            # Where the best value is 0 there are no multiples of it: each plan counts as the best.
            ratios[summary.method].append(1.0 if mean <= best or best <= 0 else mean / best)
    last = max((ratio for found in ratios.values() for ratio in found), default=1.0)
    curves = []
    for method, found in ratios.items():
        found.sort()
        steps = [(ratio, 100 * (place + 1) / instances) for place, ratio in enumerate(found)]
        # A curve begins at the left edge, where a method has no plan as good as the best, at 0.
        steps = [(1.0, 100 * sum(ratio <= 1 for ratio in found) / instances), *steps]
        # All curves end at the right edge, whoever has the last step: that a method has no more plans is to be seen.
        steps.append((last * 1.02, steps[-1][1]))
        hover = tuple((f"{method}: at most {x:.4f} times the best on {y:.0f} % of the instances",) for x, y in steps)
        points = tuple((math.log10(x), y) for x, y in steps)
        look = look_of(numbers[method], method, signs=False, lines=True)
        curves.append(Curve(look, points, steps=True, hover=hover))
    ends = (0.0, math.log10(last * 1.02))
    return Graph(
        "Performance profile",
        "For each method, on how many instances its plan is at most so many times worse than the best one known. "
        "Higher is better; at the left edge stands who found the best.",
        {"": Plot("", "", curves, "objective / best", "instances (%)", ends, (0.0, 103.0), whole=False, powers="x")},
    )


def _gap_and_time(summaries: Sequence[Summary], numbers: Mapping[str, int]) -> Graph:
    curves = []
    for method, place in numbers.items():
        mine = [
            (summary.runtime_s_mean, 100 * summary.gap_mean, summary.instance)
            for summary in summaries
            if summary.method == method and summary.runtime_s_mean and summary.gap_mean is not None
        ]
        hover = tuple((instance, f"{method}: {gap:.3f} % after {time_s:.3g} s") for time_s, gap, instance in mine)
        points = tuple((math.log10(time_s), gap) for time_s, gap, _ in mine)
        curves.append(Curve(look_of(place, method), points, hover=hover))
    return Graph(
        "Gap against time",
        "A point for each method on each instance: means over the seeds; the gap is that to the optimum, or to the "
        "best bound. Lower left is better.",
        {"": _plot(curves, "time (s)", "gap (%)", powers="x")},
    )


def _plot(curves: list[Curve], x_label: str, y_label: str, powers: str = "", x_names: tuple[str, ...] = ()) -> Plot:
    """Return the plot of curves, as large as they are; upright from 0 on, if it is not of powers of ten."""
    points = [point for curve in curves for point in curve.points if point is not None]
    x_range = range_around((x for x, _ in points), powers="x" in powers)
    y_range = range_around((y for _, y in points), zero="y" not in powers, powers="y" in powers)
    return Plot("", "", curves, x_label, y_label, x_range, y_range, whole=False, powers=powers, x_names=x_names)


def _parameters(label: str) -> dict[str, str]:
    return dict(_PARAMETER.findall(label))


def _family(label: str) -> str:
    """Name of the family of a generated instance: what stands before its parameters."""
    return re.split("[/,]", label, maxsplit=1)[0]


def _growth(summaries: Sequence[Summary], numbers: Mapping[str, int]) -> list[Block]:
    """Graphs of gap and time over the parameter that is varied in a family of generated instances, named by labels."""
    families: dict[str, dict[str, set[str]]] = {}
    for summary in summaries:
        for name, value in _parameters(summary.instance).items():
            family = _family(summary.instance)
            families.setdefault(family, {}).setdefault(name, set()).add(value)
    gaps: dict[str, Plot] = {}
    times: dict[str, Plot] = {}
    for family, varied in families.items():
        for name, values in varied.items():
            # A parameter that does not change is no axis.
            if len(values) < 2 or name == "seed":
                continue
            title = f"{family}: {name.replace('_', ' ')}"
            mine = [summary for summary in summaries if _family(summary.instance) == family]
            gaps[title] = _grown(mine, name, numbers, "mean gap (%)", _gap_percent)
            times[title] = _grown(mine, name, numbers, "mean time (s)", lambda summary: summary.runtime_s_mean, "y")
    if not gaps:
        return []
    about = "Means over instances and seeds."
    return [Graph("How the gap grows", about, gaps), Graph("How the time grows", about, times)]


def _gap_percent(summary: Summary) -> float | None:
    return None if summary.gap_mean is None else 100 * summary.gap_mean


def _grown(
    summaries: Sequence[Summary], name: str, numbers: Mapping[str, int], label: str, of: Any, powers: str = ""
) -> Plot:
    """Lines of means by the values of a parameter, one for each method."""
    given = dict.fromkeys(value for entry in summaries if (value := _parameters(entry.instance).get(name)) is not None)
    numeric = all(number_of(value) is not None for value in given)
    order = sorted(given, key=float) if numeric else [*given]
    at = {value: float(value) if numeric else float(place) for place, value in enumerate(order)}
    curves = []
    for method, place in numbers.items():
        found: dict[str, list[float]] = {}
        for summary in summaries:
            mean = of(summary) if summary.method == method else None
            # A gap or a time of 0 has no place on an axis of powers.
            if mean is not None and name in _parameters(summary.instance) and (mean > 0 or not powers):
                found.setdefault(_parameters(summary.instance)[name], []).append(mean)
        means = [(value, sum(found[value]) / len(found[value])) for value in order if value in found]
        points = tuple((at[value], math.log10(mean) if powers else mean) for value, mean in means)
        hover = tuple((f"{method}: {mean:.4g} at {value}",) for value, mean in means)
        curves.append(Curve(look_of(place, method, lines=True), points, hover=hover))
    return _plot(curves, name.replace("_", " "), label, powers, () if numeric else tuple(order))


def _fronts(runs: Sequence[Row], numbers: Mapping[str, int]) -> list[Block]:
    """Plans of each instance by cost and makespan."""
    planned = (row for row in runs if row.cost_usd is not None and row.makespan_s is not None)
    by_instance = grouped_by(planned, lambda row: row.instance)
    shown = {label: found for label, found in by_instance.items() if len(found) > 1}
    plots = {label: _front(found, numbers) for label, found in list(shown.items())[:_MOST_FRONTS]}
    if not plots:
        return []
    about = "All plans of an instance; the line joins those that no other one beats in both. Lower left is better."
    return [Graph("Plans by cost and makespan", about, plots)]


def _front(rows: Sequence[Row], numbers: Mapping[str, int]) -> Plot:
    best: list[tuple[float, float]] = []
    # By makespan: a plan is on the front if it is cheaper than all that are faster.
    for makespan, cost in sorted({(float(row.makespan_s or 0), row.cost_usd or 0.0) for row in rows}):
        if not best or cost < best[-1][1]:
            best.append((makespan, cost))
    curves = [Curve(look_of(7, "not beaten", signs=False, lines=True), tuple(best), steps=True)]
    for method in dict.fromkeys(row.method for row in rows):
        mine = [row for row in rows if row.method == method]
        points = tuple((float(row.makespan_s or 0), row.cost_usd or 0.0) for row in mine)
        hover = tuple(
            (f"{method}, seed {row.seed}", f"{x:,.0f} s, $ {y:.6f}") for row, (x, y) in zip(mine, points, strict=True)
        )
        curves.append(Curve(look_of(numbers[method], method), points, hover=hover))
    ends = [point for curve in curves for point in curve.points if point is not None]
    x_range, y_range = (range_around(values) for values in zip(*ends, strict=True))
    return Plot("", "", curves, "makespan (s)", "cost ($)", x_range, y_range)


def _open(references: Mapping[str, Reference]) -> list[Block]:
    """Instances whose best plan is not proved to be that: of all runs, and of what is known of the library."""
    rows = [entry for entry in references.values() if entry.best is not None and entry.optimum is None]
    if not rows:
        text = "Of every instance that has a plan, the best one known is proved optimal."
        return [Paragraph(text)] if references else []
    table = table_of(
        rows,
        words("instance"),
        number("best", lambda entry: _number(entry.best)),
        words("by", "best_by"),
        number("bound", lambda entry: _number(entry.bound)),
        words("by", lambda entry: entry.bound_by or "-"),
        number("gap (%)", lambda entry: relative_gap(entry.best, entry.bound), ".3f", 100),
    )
    text = f"{len(rows):,} of {counted(len(references), 'instance')}: the best plan and the best bound do not meet yet."
    return [Paragraph(text), Listing("", table)]


def _without_plan(runs: Sequence[Row]) -> list[Block]:
    table = table_of(
        (row for row in runs if row.objective is None),
        words("instance"),
        words("method"),
        number("seed"),
        words("status"),
        words("reason", lambda row: shortened(row.reason, 200)),
    )
    return [Listing("", table)] if table.rows else []
