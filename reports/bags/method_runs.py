"""Parts of the report on an experiment: methods that planned instances."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...benchmarks.bags.comparison import (
    MethodTotal,
    Reference,
    Row,
    Summary,
    known_values,
    make_references,
    summarise,
    total_by_method,
)
from ...core.quantities import relative_gap
from ...core.text_tables import Column, Table
from ...core.wording import counted, shortened
from ...instances.bags.best_known import best_known
from ...instances.library import library_instance, library_names
from ..graphs import axes, log_axis, points
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


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.3f}"


def _totals(totals: Sequence[MethodTotal]) -> Table:
    rows = [
        (
            total.method,
            f"{total.instances:,}",
            f"{total.solved:,}",
            f"{total.optimal:,}",
            _percent(total.gap_mean),
            _percent(total.gap_worst),
            f"{total.runtime_s:,.2f}",
        )
        for total in totals
    ]
    names = ("instances", "with a plan", "proved optimal", "mean gap (%)", "worst gap (%)", "time of all runs (s)")
    return Table([Column("method"), *(Column(name, True) for name in names)], rows)


def _gaps(summaries: Sequence[Summary], references: Mapping[str, Reference]) -> Table:
    rows = []
    for summary in summaries:
        reference = references[summary.instance]
        rows.append(
            (
                summary.instance,
                summary.method,
                f"{summary.plans:,} of {summary.runs:,}",
                f"{summary.ended_by_time:,} of {summary.runs:,}",
                _number(summary.objective_mean),
                _number(reference.best),
                _number(reference.bound),
                _percent(summary.gap_mean),
                _percent(summary.gap_worst),
                "optimum" if reference.optimum is not None else "bound",
                "-" if summary.runtime_s_mean is None else f"{summary.runtime_s_mean:,.3f}",
            )
        )
    texts = ("instance", "method", "plans", "ended by time")
    numbers = ("mean objective", "best", "bound", "mean gap (%)", "worst gap (%)")
    columns = [*map(Column, texts), *(Column(name, True) for name in numbers)]
    columns += [Column("gap to the"), Column("mean time (s)", True)]
    return Table(columns, rows)


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
            ratios[summary.method].append(1.0 if mean <= best or best <= 0 else mean / best)
    last = max((ratio for found in ratios.values() for ratio in found), default=1.0)
    traces = []
    for method, found in ratios.items():
        found.sort()
        steps = [(ratio, 100 * (place + 1) / instances) for place, ratio in enumerate(found)]
        steps = [(1.0, 100 * sum(ratio <= 1 for ratio in found) / instances), *steps]
        if steps:
            steps.append((last * 1.02, steps[-1][1]))
        hover = "%{fullData.name}: at most %{x:.4f} times the best on %{y:.0f} % of the instances"
        traces.append(points(numbers[method], method, steps, hover=hover, mode="lines", steps=True))
    return Graph(
        "Performance profile",
        "For each method, on how many instances its plan is at most so many times worse than the best one known. "
        "Higher is better; at the left edge stands who found the best.",
        traces,
        axes("objective / best", "instances (%)", xaxis={"type": "log"}, yaxis={"range": [0, 103]}),
    )


def _gap_and_time(summaries: Sequence[Summary], numbers: Mapping[str, int]) -> Graph:
    traces, times = [], [summary.runtime_s_mean or 0.0 for summary in summaries]
    for method, number in numbers.items():
        mine = [
            (summary.runtime_s_mean, 100 * summary.gap_mean, summary.instance)
            for summary in summaries
            if summary.method == method and summary.runtime_s_mean and summary.gap_mean is not None
        ]
        hover = "%{text}<br>%{fullData.name}: %{y:.3f} % after %{x:.3g} s"
        traces.append(points(number, method, [(x, y) for x, y, _ in mine], [text for *_, text in mine], hover=hover))
    return Graph(
        "Gap against time",
        "A point for each method on each instance: means over the seeds; the gap is that to the optimum, or to the "
        "best bound. Lower left is better.",
        traces,
        axes("time (s)", "gap (%)", xaxis=log_axis(times), yaxis={"rangemode": "tozero"}),
    )


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
    gaps: dict[str, list[dict[str, Any]]] = {}
    times: dict[str, list[dict[str, Any]]] = {}
    for family, varied in families.items():
        for name, values in varied.items():
            if len(values) < 2 or name == "seed":
                continue
            title = f"{family}: {name.replace('_', ' ')}"
            mine = [summary for summary in summaries if _family(summary.instance) == family]
            gaps[title] = _grown(mine, name, numbers, lambda summary: _times_100(summary.gap_mean))
            times[title] = _grown(mine, name, numbers, lambda summary: summary.runtime_s_mean)
    if not gaps:
        return []
    by_gap = axes("", "mean gap (%)", yaxis={"rangemode": "tozero"})
    seconds = (y for traces in times.values() for trace in traces for y in trace["y"])
    by_time = axes("", "mean time (s)", yaxis=log_axis(seconds))
    return [
        Graph("How the gap grows", "Means over instances and seeds.", [], by_gap, gaps),
        Graph("How the time grows", "Means over instances and seeds.", [], by_time, times),
    ]


def _times_100(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _grown(summaries: Sequence[Summary], name: str, numbers: Mapping[str, int], of: Any) -> list[dict[str, Any]]:
    """Lines of means by the values of a parameter, one for each method."""
    traces = []
    for method, number in numbers.items():
        found: dict[str, list[float]] = {}
        for summary in summaries:
            value = of(summary) if summary.method == method else None
            if value is not None and name in _parameters(summary.instance):
                found.setdefault(_parameters(summary.instance)[name], []).append(value)
        numeric = all(_is_number(value) for value in found)
        order = sorted(found, key=float) if numeric else list(found)
        pairs = [(float(value) if numeric else 0.0, sum(found[value]) / len(found[value])) for value in order]
        trace = points(number, method, pairs, hover="%{fullData.name}: %{y:.4g} at %{x}", mode="lines+markers")
        traces.append(trace if numeric else trace | {"x": order})
    return traces


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _fronts(runs: Sequence[Row], numbers: Mapping[str, int]) -> list[Block]:
    """Plans of each instance by cost and makespan."""
    by_instance: dict[str, list[Row]] = {}
    for row in runs:
        if row.cost_usd is not None and row.makespan_s is not None:
            by_instance.setdefault(row.instance, []).append(row)
    shown = {label: found for label, found in by_instance.items() if len(found) > 1}
    choices = {label: _front(found, numbers) for label, found in list(shown.items())[:_MOST_FRONTS]}
    if not choices:
        return []
    about = "All plans of an instance; the line joins those that no other one beats in both. Lower left is better."
    return [Graph("Plans by cost and makespan", about, [], axes("makespan (s)", "cost ($)"), choices)]


def _front(rows: Sequence[Row], numbers: Mapping[str, int]) -> list[dict[str, Any]]:
    best: list[tuple[float, float]] = []
    for makespan, cost in sorted({(float(row.makespan_s or 0), row.cost_usd or 0.0) for row in rows}):
        if not best or cost < best[-1][1]:
            best.append((makespan, cost))
    line = points(7, "not beaten", best, mode="lines", steps=True, hoverinfo="skip")
    traces = [line]
    for method in dict.fromkeys(row.method for row in rows):
        mine = [row for row in rows if row.method == method]
        pairs = [(float(row.makespan_s or 0), row.cost_usd or 0.0) for row in mine]
        hover = "%{fullData.name}, %{text}<br>%{x:,} s, $ %{y:.6f}"
        traces.append(points(numbers[method], method, pairs, [f"seed {row.seed}" for row in mine], hover=hover))
    return traces


def _open(references: Mapping[str, Reference]) -> list[Block]:
    """Instances whose best plan is not proved to be that: of all runs, and of what is known of the library."""
    rows = []
    for reference in references.values():
        if reference.best is not None and reference.optimum is None:
            gap = relative_gap(reference.best, reference.bound)
            best = (_number(reference.best), reference.best_by)
            rows.append((reference.instance, *best, _number(reference.bound), reference.bound_by or "-", _percent(gap)))
    if not rows:
        text = "Of every instance that has a plan, the best one known is proved optimal."
        return [Paragraph(text)] if references else []
    columns = [Column("instance"), Column("best", True), Column("by"), Column("bound", True), Column("by")]
    text = f"{len(rows):,} of {counted(len(references), 'instance')}: the best plan and the best bound do not meet yet."
    return [Paragraph(text), Listing("", Table([*columns, Column("gap (%)", True)], rows))]


def _without_plan(runs: Sequence[Row]) -> list[Block]:
    rows = [
        (row.instance, row.method, str(row.seed), row.status, shortened(row.reason, 200))
        for row in runs
        if row.objective is None
    ]
    columns = [*map(Column, ("instance", "method")), Column("seed", True), *map(Column, ("status", "reason"))]
    return [Listing("", Table(columns, rows))] if rows else []
