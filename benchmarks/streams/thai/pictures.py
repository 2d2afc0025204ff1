"""Pictures of our figures of Thai et al., with the printed numbers that are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ...data_files import read_toml
from ...paper_pictures import (
    DIAMOND,
    ERROR,
    Picture,
    Pictures,
    Rows,
    bare_frame,
    halves,
    legend_below,
    mean,
    means,
    number_above,
    panels,
    rows_of,
)
from .settings import KNOWN, UNKNOWN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_OURS = "#2F6DB5"
_KNOWN = "#3FA66B"
_ADAPTIVE, _FIXED = "#2F6DB5", "#9DB7D8"
_TYPE_COLOURS = ("#4C8EDA", "#E8A33D", "#9C6FC4")
_BESIDE = 0.27
"""Distance of a diamond from the middle of its bar, to the right."""


class _Panel(NamedTuple):
    """A panel of bars: what of, decimals of the numbers, words, whether its axis has logarithms or printed numbers."""

    table: str
    quantity: str
    digits: int
    title: str
    label: str
    log: bool = False
    printed: bool = True


def _charts(size_in: tuple[float, float], title: str, printed: str, shown: Sequence[_Panel]) -> Picture:
    """Make a picture of panels of bars."""

    def picture(rows: Rows) -> Figure:
        figure, all_axes = panels(*size_in, title, 1, len(shown))
        for axes, panel in zip(all_axes, shown, strict=True):
            found = rows_of(rows, panel.table, panel.quantity)
            found = found if panel.printed else [replace(row, printed=None) for row in found]
            _bars(axes, found, panel.digits, panel.log)
            _frame(axes, found, panel.title, panel.label)
        _legend(figure, found, printed)
        return figure

    return picture


def _frame(axes: Axes, rows: Rows, title: str, label: str) -> None:
    """Name the policies below, and draw what all bar charts share."""
    axes.set_xticks(range(len(rows)), [row.policy for row in rows], rotation=35, ha="right", fontsize=9)
    bare_frame(axes, title, label, "y")
    if axes.get_yscale() == "linear":
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")


def _bars(axes: Axes, rows: Rows, digits: int, log: bool) -> None:
    """Draw a bar for each policy with its interval and its number, and a diamond for what is printed."""
    heights, up = means(rows), halves(rows)
    if log:
        axes.set_yscale("log")
    colours = [_ADAPTIVE if row.policy in (KNOWN, UNKNOWN) else _FIXED for row in rows]
    axes.bar(range(len(rows)), heights, width=0.66, color=colours)
    # An interval that reaches below 0 ends far below the axis of logarithms.
    down = [min(half, 0.999 * height) if log else half for half, height in zip(up, heights, strict=True)]
    axes.errorbar(range(len(rows)), heights, yerr=[down, up], linestyle="none", **ERROR)
    known = {place + _BESIDE: row.printed for place, row in enumerate(rows) if row.printed is not None}
    if known:
        axes.plot(list(known), list(known.values()), **DIAMOND)
    for place, row in enumerate(rows):
        number_above(axes, place, row, digits, 8, -4 if known else 0)
    if log:
        values = [value for value in (*heights, *known.values()) if value > 0]
        # Room for the numbers above the bars, also where the axis has decades.
        axes.set_ylim(min(values) / 3, max(values) * 4)
    else:
        axes.set_ylim(0, 1.12 * axes.get_ylim()[1])


def _legend(figure: Figure, rows: Rows, printed: str) -> None:
    """Say below what bars, lines and diamonds are."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Patch(color=_ADAPTIVE, label=f"ours, adaptive (mean of {rows[0].ours.n} runs)"),
        Patch(color=_FIXED, label="ours, fixed setting"),
        Line2D([], [], color="#333333", marker="|", markersize=9, linestyle="none", label="95 % interval"),
    ]
    if printed:
        handles.append(Line2D([], [], label=printed, **DIAMOND))
    legend_below(figure, handles, columns=4)


def _blocks(rows: Rows) -> Figure:
    """Stacked bars of the paid blocks of each policy by VM type, with diamonds for the printed ones."""
    figure, [axes] = panels(9, 5, "Fig. 4: paid time blocks by VM type")
    quantities = list(dict.fromkeys(row.quantity for row in rows if row.table == "Fig. 4"))
    first = rows_of(rows, "Fig. 4", quantities[0])
    base = [0.0] * len(first)
    for quantity, colour in zip(quantities, _TYPE_COLOURS, strict=True):
        found = rows_of(rows, "Fig. 4", quantity)
        heights = means(found)
        label = quantity.removeprefix("blocks_")
        axes.bar(range(len(found)), heights, width=0.66, bottom=base, color=colour, label=label)
        tops = [below + height for below, height in zip(base, heights, strict=True)]
        shown = [place for place, height in enumerate(heights) if height > 0]
        half = halves(found[place] for place in shown)
        axes.errorbar(shown, [tops[place] for place in shown], yerr=half, linestyle="none", **ERROR)
        for place in shown:
            middle = base[place] + heights[place] / 2
            axes.text(place, middle, f"{heights[place]:.1f}", ha="center", va="center", fontsize=8.5)
        base = tops
    # The paper prints the costs of fixed settings: over the price of a block of their VM type, they are its blocks.
    implied = {
        place + _BESIDE: sum(row.printed or 0.0 for row in rows if (row.table, row.policy) == ("Fig. 4", of.policy))
        for place, of in enumerate(first)
        if of.policy not in (KNOWN, UNKNOWN)
    }
    axes.plot(list(implied), list(implied.values()), label="printed cost over the price of a block", **DIAMOND)
    axes.set_ylim(0, 1.08 * max(base))
    _frame(axes, first, f"blocks of 600 s, mean of {first[0].ours.n} runs, with 95 % intervals", "blocks")
    legend_below(figure, axes, columns=4, last=("printed",))
    return figure


def _sampling(rows: Rows) -> Figure:
    """Four panels over the length of the sampling phase; ``known``, which samples nothing, is a line across."""
    figure, all_axes = panels(11, 6.6, "unknown by the length of its sampling phase", 2, 2, sharex=True)
    shown = (
        ("cost_usd", "total cost", "cost ($)"),
        ("late_tasks", "tasks that finish after the deadline of their job, of 450", "late tasks"),
        ("violation_cost_usd", "cost of a task in time, times the late tasks", "violation cost ($)"),
        ("excluded_types", "pairs of application and type without a finished sample", "excluded pairs, of 9"),
    )
    for axes, (quantity, title, label) in zip(all_axes, shown, strict=True):
        found = rows_of(rows, "sampling", quantity)
        swept = [row for row in found if row.policy == UNKNOWN]
        percents = [float(row.scenario.split()[1]) for row in swept]
        label_here = f"unknown (mean of {swept[0].ours.n} runs, 95 % interval)"
        axes.errorbar(percents, means(swept), halves(swept), marker="o", color=_OURS, label=label_here, **ERROR)
        for row in found:
            if row.policy == KNOWN:
                [half] = halves([row])
                axes.axhline(mean(row), color=_KNOWN, linestyle="--", label="known (all run times known)")
                axes.axhspan(mean(row) - half, mean(row) + half, color=_KNOWN, alpha=0.2, linewidth=0)
        bare_frame(axes, title, label)
        axes.set_xlim(0, max(percents) + 2)
        axes.set_ylim(bottom=0)
    for axes in all_axes[-2:]:
        axes.set_xlabel("length of the sampling phase (% of the time to the deadline)")
    legend_below(figure, all_axes[0], columns=2)
    return figure


_BARS: Pictures = {
    name: _charts(of["size_in"], of["title"], of["printed"], [_Panel(**panel) for panel in of["panels"]])
    for name, of in read_toml(__package__, "pictures.toml").items()
}
PICTURES: Pictures = dict(sorted({**_BARS, "thai-fig-4-blocks": _blocks, "thai-sampling": _sampling}.items()))
"""Figs 2 to 5, and the sweep of the sampling phase."""
