"""Pictures of our figures of Caron & de Assuncao: Figs 2 to 7, frontiers, what is not printed, trees of agents."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from spotbag.instances.platforms.job_draws import JobSetKind

from ...claims import is_below
from ...data_files import read_toml
from ...paper_pictures import (
    Pictures,
    Rows,
    bare_frame,
    halves,
    legend_below,
    line_with_bars,
    mean,
    means,
    panels,
    rows_of,
)
from ...paper_tables import ComparisonRow
from .claims import Comparison
from .settings import (
    BOUND,
    CELLS,
    FASTEST,
    FIGURES,
    FRONTIER,
    GAPS,
    GRID_BUDGETS,
    GRID_PROCESSORS,
    METRICS,
    MONEY,
    POLICIES,
    SETS,
    THEIRS,
    TREES,
    Setting,
    grid_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WORDS = read_toml(__package__, "pictures.toml")
"""Words and looks: of sets of jobs, metrics, policies, verdicts and trees."""

_BOUND_LOOK: dict[str, Any] = {"color": "#222222", "linestyle": (0, (1, 1)), "linewidth": 1.6}

_FEW_DECADES = 200
"""Axes that reach no further have numbers between the powers of 10, too."""

_SAVED = "policy A less what could be saved at most"
_SAYS_NOTHING = 99.5
"""Percent that could be saved by a bound that is hardly more than 0."""


def _n_jobs(row: ComparisonRow) -> int:
    """Jobs of a row whose scenario begins with their number."""
    return int(row.scenario.split()[0])


def _line(rows: Rows, table: str, kind: str, policy: str, quantity: str) -> list[ComparisonRow]:
    """Rows of a quantity over the number of jobs."""
    return sorted((row for row in rows_of(rows, table, quantity, kind) if row.policy == policy), key=_n_jobs)


def _set(kind: JobSetKind, rows: Rows) -> Figure:
    """Cost, execution time and delay of a set over the number of jobs."""
    figure, all_axes = panels(14, 5, _WORDS["sets"][kind]["title"], 1, len(METRICS))
    for axes, metric in zip(all_axes, METRICS, strict=True):
        for policy, look in _WORDS["looks"].items():
            line = _line(rows, FIGURES, kind, policy, metric)
            label = _WORDS["labels"].get(policy, policy)
            line_with_bars(axes, list(map(_n_jobs, line)), line, halves(line), label, **{"markersize": 5, **look})
        if metric == "cost":
            _draw_bound(axes, rows, kind)
        ticks = list(map(_n_jobs, line))
        axes.set_xscale("log")
        # Only the numbers of jobs that were replayed: between decades there would be others.
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel("jobs")
        words, where = _WORDS["metrics"][metric], _WORDS["sets"][kind].get(metric)
        bare_frame(axes, f"{where}: {words['title']}" if where else words["title"], words["label"])
        _scale(axes, means(rows_of(rows, FIGURES, metric, kind)), words["linear_to"])
    title = (
        f"mean of {line[0].ours.n} draws, bars: 95 % interval; saved at most: lower bounds of "
        f"{_line(rows, GAPS, kind, MONEY, 'cost')[0].ours.n} of them (cost with no more delay)"
    )
    legend_below(figure, all_axes[0], columns=7, title=title, last=(_SAVED,))
    return figure


def _scale(axes: Axes, values: Sequence[float], linear_to: float) -> None:
    """Let the axis at the left have logarithms, if that helps."""
    from matplotlib.ticker import LogLocator

    if min(values) > 0:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(_plainly)
        axes.yaxis.set_minor_formatter("")
        if max(values) < _FEW_DECADES * min(values):
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    elif max(values) > 10 * linear_to:
        _grow(axes, linear_to)
        axes.set_ylim(top=2 * max(values))
    else:
        axes.set_ylim(bottom=0)


def _draw_bound(axes: Axes, rows: Rows, kind: JobSetKind) -> None:
    """Draw the bound on the cost of policy A, where it is of use.

    Bounds are of few draws: the share that could be saved is theirs, the rest is of all draws.
    """
    gaps = {_n_jobs(row): mean(row) for row in _line(rows, GAPS, kind, MONEY, "cost_gap_percent")}
    costs = {_n_jobs(row): mean(row) for row in _line(rows, FIGURES, kind, MONEY, "cost")}
    least = {number: costs[number] * (1 - gap / 100) for number, gap in gaps.items() if gap < _SAYS_NOTHING}
    axes.plot(list(least), list(least.values()), label=_SAVED, marker=".", **_BOUND_LOOK)


def _grow(axes: Axes, linear_to: float) -> None:
    """Let the axis at the left be logarithmic above a value and linear below, so that it shows 0, too."""
    axes.set_yscale("symlog", linthresh=linear_to, linscale=0.5)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(_plainly)


def _plainly(value: float, _: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _frontiers(rows: Rows) -> Figure:
    """Cost against delay of all policies, above the line that no schedule can be below (`CaronBounds`)."""
    found = [row for row in rows if row.table == FRONTIER]
    title = f"Cost against delay, one draw of {_n_jobs(found[0])} jobs: no schedule lies in the grey"
    figure, all_axes = panels(14, 5, title, 1, len(SETS))
    for axes, kind in zip(all_axes, SETS, strict=True):
        values = {(row.policy, row.quantity): mean(row) for row in found if row.job == kind}
        bounds = [policy for policy, quantity in values if quantity == "cost" and policy.startswith(BOUND)]
        costs = [values[policy, "cost"] for policy in bounds]
        delays = [values[policy, "delay_h"] for policy in bounds]
        most = 2 * max(*costs, *(values[policy, "cost"] for policy in POLICIES))
        # The least delay up to a cost holds for all that cost less, so the line is level from the cost before.
        line_x, line_y = [*costs, costs[-1]], [*delays, 0.0]
        axes.plot(line_x, line_y, drawstyle="steps-pre", label="least delay for the cost", **_BOUND_LOOK)
        axes.fill_between(line_x, line_y, step="pre", color="#E4E4E4", linewidth=0)
        for policy, look in _WORDS["looks"].items():
            axes.plot(
                values[policy, "cost"],
                values[policy, "delay_h"],
                linestyle="none",
                markeredgecolor="white",
                label=_WORDS["labels"].get(policy, policy),
                clip_on=False,
                zorder=4,
                markersize=15 if policy == FASTEST else 10,
                **{name: look[name] for name in ("color", "marker")},
            )
        bare_frame(axes, f"{kind} jobs", _WORDS["metrics"]["delay_h"]["label"])
        top = max([*delays, *(values[policy, "delay_h"] for policy in POLICIES)])
        axes.set_xscale("symlog", linthresh=1000.0, linscale=0.5)
        axes.set_xlim(0, most)
        axes.set_xticks([0, *(10**power for power in (3, 4, 5, 6) if 1.5 * 10**power <= most)])
        axes.xaxis.set_major_formatter(_plainly)
        axes.set_xlabel(_WORDS["metrics"]["cost"]["label"])
        _grow(axes, 0.1)
        axes.set_ylim(0, 2 * top or 1.0)
    legend_below(figure, all_axes[0], columns=7)
    return figure


def _grid(rows: Rows) -> Figure:
    """Picture of the settings that the paper might have had: whether a policy is better than round robin."""
    from matplotlib.patches import Patch, Rectangle

    cells = [row for row in rows if row.table == CELLS]
    verdict = {(row.job, row.scenario, row.policy, row.quantity): _verdict(row) for row in cells}
    numbers = sorted({_n_jobs(row) for row in cells})
    sizes = [size for size in GRID_PROCESSORS if any(f" {size} processors," in row.scenario for row in cells)]
    ends = {row.scenario.rpartition(" ")[2] for row in cells}
    ranges = [(low, high) for low, high in GRID_BUDGETS if f"{low:g}-{high:g}" in ends]
    lines = [(number, budgets) for number in numbers for budgets in ranges]
    title = "Against round robin, by what is not printed (A left, B right)"
    shape = len(SETS), len(METRICS)
    figure, all_axes = panels(13, 2 + 0.7 * len(lines), title, *shape, sharex=True, sharey=True)
    for axes, (kind, metric) in zip(all_axes, product(SETS, METRICS), strict=True):
        for x, processors in enumerate(sizes):
            for y, (number, budgets) in enumerate(lines):
                name = grid_name(Setting(kind, number, processors, budgets))
                for half, (policy, letter) in enumerate(zip(THEIRS, "AB", strict=True)):
                    colour = _WORDS["verdicts"][verdict[kind, name, policy, f"{metric}_less"]]["color"]
                    corner = (x - 0.45 + 0.45 * half, y - 0.42)
                    axes.add_patch(Rectangle(corner, 0.45, 0.84, facecolor=colour, edgecolor="#777777"))
                    axes.text(corner[0] + 0.225, y, letter, ha="center", va="center", fontsize=7)
        axes.set_title(f"{kind} jobs, {_WORDS['metrics'][metric]['title']}", fontsize=10)
        axes.set_xlim(-0.6, len(sizes) - 0.4)
        axes.set_ylim(-0.6, len(lines) - 0.4)
        axes.set_xticks(range(len(sizes)), [str(processors) for processors in sizes])
        names = [f"{number} jobs, {low:g} to {high:g}" for number, (low, high) in lines]
        axes.set_yticks(range(len(lines)), names, fontsize=8)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    for axes in all_axes[-len(METRICS) :]:
        axes.set_xlabel("processors of each cluster")
    for axes in all_axes[:: len(METRICS)]:
        axes.set_ylabel("jobs, budget for a\nprocessor-minute (units)")
    handles = [
        Patch(facecolor=of["color"], edgecolor="#777777", label=of["label"]) for of in _WORDS["verdicts"].values()
    ]
    legend_below(figure, handles, columns=4, size=9)
    return figure


def _verdict(row: ComparisonRow) -> Comparison:
    """Verdict on a difference; alike if there is none in any draw."""
    if row.ours.mean == 0 and not row.ours.half_width:
        return "alike"
    return is_below(row.ours)


def _trees(rows: Rows) -> Figure:
    """Messages over the number of children, for each number of resources."""
    names = list(dict.fromkeys(row.job for row in rows if row.table == TREES))
    title = "Trees of agents above the same resources: what a placement takes"
    figure, all_axes = panels(11, 4.6, title, 1, len(names), sharey=True)
    for axes, name in zip(all_axes, names, strict=True):
        children, depths = (means(rows_of(rows, TREES, quantity, name)) for quantity in ("children", "depth"))
        for quantity, look in _WORDS["trees"].items():
            axes.plot(children, means(rows_of(rows, TREES, quantity, name)), markersize=6, **look)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(children, [f"{n:.0f}\n(m = {m:.0f})" for n, m in zip(children, depths, strict=True)])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.set_xlabel("most children of an agent, n, and levels of agents, m")
        bare_frame(axes, name, "messages, answers" if axes is all_axes[0] else "")
    legend_below(figure, all_axes[0], columns=4)
    return figure


PICTURES: Pictures = {
    **{f"caron-{kind}": partial(_set, kind) for kind in SETS},
    "caron-frontier": _frontiers,
    "caron-grid": _grid,
    "caron-trees": _trees,
}
"""Pictures, by the name of the file without its ending."""
