"""Pictures of our figures of Thai et al., with the printed numbers that are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...paper_pictures import (
    DIAMOND,
    ERROR,
    Pictures,
    bare_frame,
    half_or_0,
    legend_below,
    mean_or_nan,
    new_figure,
    rows_of,
)
from ...paper_result import ComparisonRow
from .settings import KNOWN, UNKNOWN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_OURS = "#2F6DB5"
_KNOWN = "#3FA66B"
_ADAPTIVE, _FIXED = "#2F6DB5", "#9DB7D8"
_TYPE_COLOURS = ("#4C8EDA", "#E8A33D", "#9C6FC4")
_BESIDE = 0.27
"""Where diamonds are, right of the middle of a bar."""


def _n_runs(rows: Sequence[ComparisonRow]) -> int:
    return rows[0].ours.n


def _frame(axes: Axes, rows: Sequence[ComparisonRow], title: str, label: str) -> None:
    """Name the policies below, and draw what all bar charts share."""
    axes.set_xticks(range(len(rows)), [row.policy for row in rows], rotation=35, ha="right", fontsize=9)
    axes.set_title(title, fontsize=10)
    axes.set_ylabel(label)
    if axes.get_yscale() == "linear":
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _bars(axes: Axes, rows: Sequence[ComparisonRow], digits: int, log: bool = False) -> None:
    """Draw a bar for each policy with its interval and its number, and a diamond for what is printed."""
    means = [mean_or_nan(row.ours) for row in rows]
    colours = [_ADAPTIVE if row.policy in (KNOWN, UNKNOWN) else _FIXED for row in rows]
    if log:
        axes.set_yscale("log")
    axes.bar(range(len(rows)), means, width=0.66, color=colours)
    # An interval that reaches below 0 ends far below the axis of logarithms.
    down = [min(half_or_0(row.ours), 0.999 * mean_or_nan(row.ours)) if log else half_or_0(row.ours) for row in rows]
    up = [half_or_0(row.ours) for row in rows]
    axes.errorbar(range(len(rows)), means, yerr=[down, up], linestyle="none", **ERROR)
    known = [(place + _BESIDE, row.printed) for place, row in enumerate(rows) if row.printed is not None]
    if known:
        axes.plot([place for place, _ in known], [value for _, value in known], **DIAMOND)
    for place, row in enumerate(rows):
        axes.annotate(
            f"{mean_or_nan(row.ours):,.{digits}f}",
            (place, mean_or_nan(row.ours) + half_or_0(row.ours)),
            xytext=(-4 if known else 0, 4),
            textcoords="offset points",
            ha="center",
            fontsize=8,
        )
    if log:
        values = [value for row in rows for value in (mean_or_nan(row.ours), row.printed or 0.0) if value > 0]
        axes.set_ylim(min(values) / 3, max(values) * 4)
    else:
        axes.set_ylim(0, 1.12 * axes.get_ylim()[1])


def _legend(figure: Figure, rows: Sequence[ComparisonRow], printed: str = "") -> None:
    """Say below what bars, lines and diamonds are."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Patch(color=_ADAPTIVE, label=f"ours, adaptive (mean of {_n_runs(rows)} runs)"),
        Patch(color=_FIXED, label="ours, fixed setting"),
        Line2D([], [], color="#333333", marker="|", markersize=9, linestyle="none", label="95 % interval"),
    ]
    if printed:
        handles.append(Line2D([], [], label=printed, **DIAMOND))
    legend_below(figure, handles, columns=4)


def _costs(rows: Sequence[ComparisonRow]) -> Figure:
    figure = new_figure(11, 4.6, "Table 3 and Fig. 2: cost and late tasks")
    left, right = figure.subplots(1, 2)
    costs = rows_of(rows, "Table 3", "cost_usd")
    _bars(left, costs, 2)
    _frame(left, costs, "total cost", "cost ($)")
    late = rows_of(rows, "Table 3", "late_tasks")
    _bars(right, late, 1, log=True)
    _frame(right, late, "tasks that finish after the deadline of their job, of 450", "late tasks, logarithmic")
    _legend(figure, costs, "printed (mean of 5 runs)")
    return figure


def _violation_cost(rows: Sequence[ComparisonRow]) -> Figure:
    figure = new_figure(9, 4.8, "Fig. 3: violation cost")
    axes = figure.subplots()
    found = rows_of(rows, "Table 3", "violation_cost_usd")
    _bars(axes, found, 3, log=True)
    _frame(axes, found, "cost of a task in time, times the late tasks (eq. 7 and 8)", "violation cost ($), logarithmic")
    _legend(figure, found, "eq. 7 and 8 on the printed Table 3")
    return figure


def _blocks(rows: Sequence[ComparisonRow]) -> Figure:
    figure = new_figure(9, 5, "Fig. 4: paid time blocks by VM type")
    axes = figure.subplots()
    quantities = list(dict.fromkeys(row.quantity for row in rows if row.table == "Fig. 4"))
    first = rows_of(rows, "Fig. 4", quantities[0])
    base = [0.0] * len(first)
    for quantity, colour in zip(quantities, _TYPE_COLOURS, strict=True):
        found = rows_of(rows, "Fig. 4", quantity)
        heights = [mean_or_nan(row.ours) for row in found]
        label = quantity.removeprefix("blocks_")
        axes.bar(range(len(found)), heights, width=0.66, bottom=base, color=colour, label=label)
        tops = [below + height for below, height in zip(base, heights, strict=True)]
        shown = [place for place, height in enumerate(heights) if height > 0]
        axes.errorbar(
            shown,
            [tops[place] for place in shown],
            yerr=[half_or_0(found[place].ours) for place in shown],
            linestyle="none",
            **ERROR,
        )
        for place in shown:
            middle = base[place] + heights[place] / 2
            text = f"{heights[place]:.1f}"
            axes.text(place, middle, text, ha="center", va="center", fontsize=8.5)
        base = tops
    implied = {
        place + _BESIDE: sum(row.printed or 0.0 for row in rows if (row.table, row.policy) == ("Fig. 4", of.policy))
        for place, of in enumerate(first)
        if of.policy not in (KNOWN, UNKNOWN)
    }
    axes.plot(list(implied), list(implied.values()), label="printed cost over the price of a block", **DIAMOND)
    axes.set_ylim(0, 1.08 * max(base))
    _frame(axes, first, f"blocks of 600 s, mean of {_n_runs(first)} runs, with 95 % intervals", "blocks")
    handles, labels = axes.get_legend_handles_labels()
    legend_below(figure, [*handles[1:], handles[0]], [*labels[1:], labels[0]], columns=4)
    return figure


def _mis_utilisation(rows: Sequence[ComparisonRow]) -> Figure:
    figure = new_figure(11, 4.6, "Fig. 5: mis-utilisation (the printed numbers are lost)")
    left, right = figure.subplots(1, 2)
    idle = [_without_printed(row) for row in rows_of(rows, "Fig. 5", "idle_s")]
    _bars(left, idle, 0)
    _frame(left, idle, "over-utilisation: VMs are ready and run no task", "idle time of all VMs (s)")
    late = rows_of(rows, "Fig. 5", "late_s")
    _bars(right, late, 0, log=True)
    _frame(right, late, "under-utilisation: tasks are late", "lateness of all tasks (s), logarithmic")
    _legend(figure, idle)
    return figure


def _without_printed(row: ComparisonRow) -> ComparisonRow:
    return replace(row, printed=None)


def _sampling(rows: Sequence[ComparisonRow]) -> Figure:
    """Four panels over the length of the sampling phase; ``known``, which samples nothing, is a line across."""
    figure = new_figure(11, 6.6, "unknown by the length of its sampling phase")
    panels = (
        ("cost_usd", "total cost", "cost ($)"),
        ("late_tasks", "tasks that finish after the deadline of their job, of 450", "late tasks"),
        ("violation_cost_usd", "cost of a task in time, times the late tasks", "violation cost ($)"),
        ("excluded_types", "pairs of application and type without a finished sample", "excluded pairs, of 9"),
    )
    for axes, (quantity, title, label) in zip(figure.subplots(2, 2, sharex=True).flat, panels, strict=True):
        found = rows_of(rows, "sampling", quantity)
        swept = [row for row in found if row.policy == UNKNOWN]
        percents = [float(row.scenario.split()[1]) for row in swept]
        means = [mean_or_nan(row.ours) for row in swept]
        halves = [half_or_0(row.ours) for row in swept]
        label_here = f"unknown (mean of {_n_runs(swept)} runs, 95 % interval)"
        axes.errorbar(percents, means, yerr=halves, marker="o", color=_OURS, label=label_here, **ERROR)
        for row in found:
            if row.policy == KNOWN:
                mean, half = mean_or_nan(row.ours), half_or_0(row.ours)
                axes.axhline(mean, color=_KNOWN, linestyle="--", label="known (all run times known)")
                axes.axhspan(mean - half, mean + half, color=_KNOWN, alpha=0.2, linewidth=0)
        bare_frame(axes, title, label)
        axes.set_xlim(0, max(percents) + 2)
        axes.set_ylim(bottom=0)
    first, *_, left, right = figure.axes
    for axes in (left, right):
        axes.set_xlabel("length of the sampling phase (% of the time to the deadline)")
    legend_below(figure, *first.get_legend_handles_labels(), columns=2)
    return figure


PICTURES: Pictures = {
    "thai-fig-2-cost-and-late-tasks": _costs,
    "thai-fig-3-violation-cost": _violation_cost,
    "thai-fig-4-blocks": _blocks,
    "thai-fig-5-mis-utilisation": _mis_utilisation,
    "thai-sampling": _sampling,
}
"""Figs 2 to 5, and the sweep of the sampling phase."""
