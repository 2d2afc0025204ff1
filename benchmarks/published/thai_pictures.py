"""Pictures of our figures of Thai et al., with the printed numbers that are known."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...instances.errors import SpotbagError
from ...instances.text_files import write_bytes
from ...replay.summary import Estimate
from ...schedules.gantt_style import figure_bytes
from .comparison_rows import ComparisonRow
from .thai_runs import KNOWN, UNKNOWN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_OURS = "#2F6DB5"
_PRINTED = "#C8442E"
_KNOWN = "#3FA66B"
_ADAPTIVE, _FIXED = "#2F6DB5", "#9DB7D8"
_TYPE_COLOURS = ("#4C8EDA", "#E8A33D", "#9C6FC4")
_BESIDE = 0.27
"""Where diamonds are, right of the middle of a bar."""

_ERROR: dict[str, Any] = {"ecolor": "#333333", "elinewidth": 1.0, "capsize": 3}
_DIAMOND: dict[str, Any] = {
    "linestyle": "none",
    "marker": "D",
    "markersize": 6,
    "color": _PRINTED,
    "markeredgecolor": "white",
    "zorder": 5,
}


def prepare_pictures(folder: str) -> None:
    """Make the folder, and see before any work is done that pictures can be drawn.

    Raises
    ------
    SpotbagError
        If the folder cannot be made, or the plotting library is missing.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise SpotbagError(f"a picture needs {error.name}: pip install 'spotbag[plot]'") from None
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SpotbagError(f"{folder}: no folder for pictures can be made there: {reason}") from None


def write_thai_pictures(
    rows: Sequence[ComparisonRow], folder: str | os.PathLike[str], names: Sequence[str] | None = None
) -> list[str]:
    """Draw Figs 2 to 5 and the sweep of the sampling phase.

    Parameters
    ----------
    rows : sequence of ComparisonRow
        Of `bench_thai`.
    folder : path
        Where the files go, as PNG.
    names : sequence of str, optional
        Which `PICTURES`; all if not given.

    Returns
    -------
    list of str
        Their paths.
    """
    paths = []
    for name in PICTURES if names is None else names:
        path = os.path.join(folder, f"{name}.png")
        write_bytes(path, figure_bytes(PICTURES[name](rows), "png"))
        paths.append(path)
    return paths


def _new_figure(width_in: float, height_in: float, title: str) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width_in, height_in), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=12, fontweight="bold")
    return figure


def _rows(rows: Sequence[ComparisonRow], table: str, quantity: str) -> list[ComparisonRow]:
    return [row for row in rows if (row.table, row.quantity) == (table, quantity)]


def _mean(estimate: Estimate) -> float:
    return float("nan") if estimate.mean is None else estimate.mean


def _half(estimate: Estimate) -> float:
    return estimate.half_width or 0.0


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
    means = [_mean(row.ours) for row in rows]
    colours = [_ADAPTIVE if row.policy in (KNOWN, UNKNOWN) else _FIXED for row in rows]
    if log:
        axes.set_yscale("log")
    axes.bar(range(len(rows)), means, width=0.66, color=colours)
    # An interval that reaches below 0 ends far below the axis of logarithms.
    down = [min(_half(row.ours), 0.999 * _mean(row.ours)) if log else _half(row.ours) for row in rows]
    up = [_half(row.ours) for row in rows]
    axes.errorbar(range(len(rows)), means, yerr=[down, up], linestyle="none", **_ERROR)
    known = [(place + _BESIDE, row.printed) for place, row in enumerate(rows) if row.printed is not None]
    if known:
        axes.plot([place for place, _ in known], [value for _, value in known], **_DIAMOND)
    for place, row in enumerate(rows):
        axes.annotate(
            f"{_mean(row.ours):,.{digits}f}",
            (place, _mean(row.ours) + _half(row.ours)),
            xytext=(-4 if known else 0, 4),
            textcoords="offset points",
            ha="center",
            fontsize=8,
        )
    if log:
        values = [value for row in rows for value in (_mean(row.ours), row.printed or 0.0) if value > 0]
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
        handles.append(Line2D([], [], label=printed, **_DIAMOND))
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=8.5, frameon=False)


def _costs(rows: Sequence[ComparisonRow]) -> Figure:
    figure = _new_figure(11, 4.6, "Table 3 and Fig. 2: cost and late tasks")
    left, right = figure.subplots(1, 2)
    costs = _rows(rows, "Table 3", "cost_usd")
    _bars(left, costs, 2)
    _frame(left, costs, "total cost", "cost ($)")
    late = _rows(rows, "Table 3", "late_tasks")
    _bars(right, late, 1, log=True)
    _frame(right, late, "tasks that finish after the deadline of their job, of 450", "late tasks, logarithmic")
    _legend(figure, costs, "printed (mean of 5 runs)")
    return figure


def _violation_cost(rows: Sequence[ComparisonRow]) -> Figure:
    figure = _new_figure(9, 4.8, "Fig. 3: violation cost")
    axes = figure.subplots()
    found = _rows(rows, "Table 3", "violation_cost_usd")
    _bars(axes, found, 3, log=True)
    _frame(axes, found, "cost of a task in time, times the late tasks (eq. 7 and 8)", "violation cost ($), logarithmic")
    _legend(figure, found, "eq. 7 and 8 on the printed Table 3")
    return figure


def _blocks(rows: Sequence[ComparisonRow]) -> Figure:
    figure = _new_figure(9, 5, "Fig. 4: paid time blocks by instance type")
    axes = figure.subplots()
    quantities = list(dict.fromkeys(row.quantity for row in rows if row.table == "Fig. 4"))
    first = _rows(rows, "Fig. 4", quantities[0])
    base = [0.0] * len(first)
    for quantity, colour in zip(quantities, _TYPE_COLOURS, strict=True):
        found = _rows(rows, "Fig. 4", quantity)
        heights = [_mean(row.ours) for row in found]
        label = quantity.removeprefix("blocks_")
        axes.bar(range(len(found)), heights, width=0.66, bottom=base, color=colour, label=label)
        tops = [below + height for below, height in zip(base, heights, strict=True)]
        shown = [place for place, height in enumerate(heights) if height > 0]
        axes.errorbar(
            shown,
            [tops[place] for place in shown],
            yerr=[_half(found[place].ours) for place in shown],
            linestyle="none",
            **_ERROR,
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
    axes.plot(list(implied), list(implied.values()), label="printed cost over the price of a block", **_DIAMOND)
    axes.set_ylim(0, 1.08 * max(base))
    _frame(axes, first, f"blocks of 600 s, mean of {_n_runs(first)} runs, with 95 % intervals", "blocks")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        [*handles[1:], handles[0]],
        [*labels[1:], labels[0]],
        loc="outside lower center",
        ncols=4,
        fontsize=8.5,
        frameon=False,
    )
    return figure


def _mis_utilisation(rows: Sequence[ComparisonRow]) -> Figure:
    figure = _new_figure(11, 4.6, "Fig. 5: mis-utilisation (the printed numbers are lost)")
    left, right = figure.subplots(1, 2)
    idle = [_without_printed(row) for row in _rows(rows, "Fig. 5", "idle_s")]
    _bars(left, idle, 0)
    _frame(left, idle, "over-utilisation: VMs are ready and run no task", "idle time of all VMs (s)")
    late = _rows(rows, "Fig. 5", "late_s")
    _bars(right, late, 0, log=True)
    _frame(right, late, "under-utilisation: tasks are late", "lateness of all tasks (s), logarithmic")
    _legend(figure, idle)
    return figure


def _without_printed(row: ComparisonRow) -> ComparisonRow:
    return replace(row, printed=None)


def _sampling(rows: Sequence[ComparisonRow]) -> Figure:
    """Four panels over the length of the sampling phase; ``known``, which samples nothing, is a line across."""
    figure = _new_figure(11, 6.6, "unknown by the length of its sampling phase")
    panels = (
        ("cost_usd", "total cost", "cost ($)"),
        ("late_tasks", "tasks that finish after the deadline of their job, of 450", "late tasks"),
        ("violation_cost_usd", "cost of a task in time, times the late tasks", "violation cost ($)"),
        ("excluded_types", "pairs of application and type without a finished sample", "excluded pairs, of 9"),
    )
    for axes, (quantity, title, label) in zip(figure.subplots(2, 2, sharex=True).flat, panels, strict=True):
        found = _rows(rows, "sampling", quantity)
        swept = [row for row in found if row.policy == UNKNOWN]
        percents = [float(row.scenario.split()[1]) for row in swept]
        means = [_mean(row.ours) for row in swept]
        halves = [_half(row.ours) for row in swept]
        label_here = f"unknown (mean of {_n_runs(swept)} runs, 95 % interval)"
        axes.errorbar(percents, means, yerr=halves, marker="o", color=_OURS, label=label_here, **_ERROR)
        for row in found:
            if row.policy == KNOWN:
                mean, half = _mean(row.ours), _half(row.ours)
                axes.axhline(mean, color=_KNOWN, linestyle="--", label="known (all run times known)")
                axes.axhspan(mean - half, mean + half, color=_KNOWN, alpha=0.2, linewidth=0)
        axes.set_title(title, fontsize=10)
        axes.set_ylabel(label)
        axes.set_xlim(0, max(percents) + 2)
        axes.set_ylim(bottom=0)
        axes.grid(color="#DDDDDD", linewidth=0.5)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    first, *_, left, right = figure.axes
    for axes in (left, right):
        axes.set_xlabel("length of the sampling phase (% of the time to the deadline)")
    figure.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize=8.5, frameon=False)
    return figure


PICTURES: dict[str, Callable[[Sequence[ComparisonRow]], Figure]] = {
    "thai-fig-2-cost-and-late-tasks": _costs,
    "thai-fig-3-violation-cost": _violation_cost,
    "thai-fig-4-blocks": _blocks,
    "thai-fig-5-mis-utilisation": _mis_utilisation,
    "thai-sampling": _sampling,
}
"""What is drawn, by the name of the file without its ending."""
