"""Pictures of our figures of the A2HA paper: the sweeps of Figs 9 to 12, Table 2, and what not knowing costs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...paper_pictures import (
    DIAMOND,
    PRINTED,
    Pictures,
    Rows,
    bare_frame,
    half_or_0,
    legend_below,
    mean_or_nan,
    new_figure,
    rows_of,
)
from ...paper_result import ComparisonRow
from .printed import a2ha_figures
from .runs import AT_THE_START
from .settings import LONG_JOB, RATIOS, SHORT_JOBS, STYLES
from .tables import AT_ONCE, BOOTING, BY_HOSTS, NOT_KNOWING, OPTIMAL_HOSTS, SWEEP, sweep_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_RATIO_COLOURS = ("#9A9A9A", "#B9D7F0", "#6FAEDD", "#2F6DB5", "#16325C")
_STYLE_COLOURS = {"conservative": "#2F6DB5", "aggressive": "#E08A1E"}
_DODGE = 0.016
"""How far apart the lines of a sweep are, so that their deviations can be told apart."""

_LEAST_SHARE_PERCENT = 1.5
"""Numbers of hosts that fewer orderings have are not drawn: the panel says how many orderings that are."""

_USABLE = 55 / 60


def _by(rows: Rows, table: str, quantity: str) -> dict[tuple[str, str, str], ComparisonRow]:
    """Rows of a quantity by job, scenario and policy."""
    return {(row.job, row.scenario, row.policy): row for row in rows_of(rows, table, quantity)}


def _sweep(job: str, number: int, rows: Rows) -> Figure:
    """Time, speedup and hosts over creationRatio, a line for each increaseRatio."""
    figure = new_figure(14, 4.8, f"Fig. {number}: {_TITLES[job]}, by creationRatio and increaseRatio")
    left, middle, right = figure.subplots(1, 3)
    for axes, quantity in ((left, "wall_h"), (middle, "speedup"), (right, "hosts")):
        means, deviations = _by(rows, SWEEP, quantity), _by(rows, SWEEP, f"{quantity}_sd")
        for place, increase in enumerate(RATIOS):
            # With both at 0, no host is ever created: as long as the serial run.
            creations = [creation for creation in RATIOS if creation or increase]
            keys = [(job, sweep_name((creation, increase if creation < 1 else 1.0)), "") for creation in creations]
            axes.errorbar(
                [creation + (place - 2) * _DODGE for creation in creations],
                [mean_or_nan(means[key].ours) for key in keys],
                yerr=[deviations[key].ours.mean or 0.0 for key in keys],
                color=_RATIO_COLOURS[place],
                marker="o",
                markersize=4,
                capsize=2.5,
                elinewidth=0.9,
                label=f"increaseRatio {increase:g}",
            )
    [optimum] = [row for row in rows_of(rows, OPTIMAL_HOSTS, "formula_hosts") if row.job == job]
    printed, ours = optimum.printed, mean_or_nan(optimum.ours)
    assert printed is not None
    right.axhline(printed, color=PRINTED, linestyle="--", linewidth=1.2, label=f"optimal hosts, printed: {printed:g}")
    if ours != printed:
        right.axhline(ours, color=PRINTED, linestyle=":", linewidth=1.4, label=f"... by the formula: {ours:g}")
    serial = mean_or_nan(_by(rows, SWEEP, "wall_h")[job, sweep_name((0.0, 0.0)), ""].ours)
    bare_frame(left, f"time (both ratios 0, not drawn: one host, {serial:.1f} h)", "time (h)")
    bare_frame(middle, "speedup", "speedup")
    bare_frame(right, "hosts created", "hosts")
    right.margins(y=0.1)
    for axes in (left, middle, right):
        axes.set_xlabel("initial creationRatio")
        axes.set_xticks(RATIOS)
    handles, labels = right.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda index: labels[index].startswith(("opt", "...")))
    legend_below(
        figure,
        [handles[index] for index in order],
        [labels[index] for index in order],
        title=f"mean of {_n_orderings(rows, job)} orderings, lines: ± one standard deviation",
        columns=7,
    )
    return figure


def _n_orderings(rows: Rows, job: str) -> int:
    """Orderings of the sweep of a job."""
    return next(row.ours.n for row in rows if (row.table, row.job) == (SWEEP, job))


_TITLES = {"image": "image rendering", "synthetic": "synthetic job", "test-suite": "software test suite"}


def _speedup(rows: Rows) -> Figure:
    """Speedup over hosts for both styles, a panel for each job."""
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(12, 4.8, "Fig. 12: speedup by the number of hosts that were created")
    found = {name: _by(rows, BY_HOSTS, name) for name in ("speedup", "speedup_sd", "share_percent")}
    panels: Sequence[Axes] = figure.subplots(1, len(SHORT_JOBS))
    for axes, job in zip(panels, SHORT_JOBS, strict=True):
        seen: list[int] = []
        hidden: dict[str, str] = {}
        for style, shift in zip(STYLES, (-0.12, 0.12), strict=True):
            percent = {
                key: share.ours.mean or 0.0 for key, share in found["share_percent"].items() if key[::2] == (job, style)
            }
            keys = [key for key, share in percent.items() if share >= _LEAST_SHARE_PERCENT]
            rest = [key for key in percent if key not in keys]
            if rest:
                most = max(map(_hosts, rest))
                hidden[style] = f"{style} {sum(percent[key] for key in rest):.1f} % (up to {most} hosts)"
            hosts = [_hosts(key) for key in keys]
            seen += hosts
            axes.errorbar(
                [number + shift for number in hosts],
                [mean_or_nan(found["speedup"][key].ours) for key in keys],
                yerr=[found["speedup_sd"][key].ours.mean or 0.0 for key in keys],
                color=_STYLE_COLOURS[style],
                linestyle="none",
                capsize=2.5,
                elinewidth=0.9,
            )
            axes.scatter(
                [number + shift for number in hosts],
                [mean_or_nan(found["speedup"][key].ours) for key in keys],
                s=[10 + 3 * percent[key] for key in keys],
                color=_STYLE_COLOURS[style],
                zorder=4,
                label=f"{style} ({STYLES[style][0]:g} / {STYLES[style][1]:g})",
            )
        low, high = min(seen) - 1, max(seen) + 1
        ends = [low, high]
        axes.plot(ends, [_USABLE * end for end in ends], color="#555555", linestyle="--", linewidth=1, label="55/60")
        axes.plot(ends, [0.5 * end for end in ends], color="#999999", linestyle=":", linewidth=1.3, label="50 %")
        optimal = a2ha_figures().job(job).optimal_hosts
        axes.axvline(optimal, color=PRINTED, linestyle="--", linewidth=1, label="optimal hosts, printed")
        axes.set_xlim(min(low, optimal - 1), high)
        bare_frame(axes, _TITLES[job], "speedup")
        not_sampled = "\nnot drawn: " + ",\n".join(hidden.values()) if hidden else ""
        axes.set_xlabel(f"hosts created{not_sampled}", fontsize=9)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylim(bottom=0)
    handles, labels = panels[0].get_legend_handles_labels()
    names = {"55/60": "speedup = 55/60 of the hosts (no idle time)", "50 %": "speedup = half of the hosts"}
    legend_below(
        figure,
        handles,
        [names.get(label, label) for label in labels],
        title="larger points: more orderings; a number of hosts that less than "
        f"{_LEAST_SHARE_PERCENT:g} % have is not drawn; lines: ± one standard deviation",
        columns=5,
    )
    return figure


def _hosts(key: tuple[str, str, str]) -> int:
    """Hosts of a row of `BY_HOSTS`."""
    return int(key[1].split()[0])


_QUANTITIES = {"hosts": "hosts", "wall_h": "time (h)", "payment_h": "payment (h)"}


def _table_2(rows: Rows) -> Figure:
    """Hosts, time and payment of the long tasks by initial hosts, ours with and without boot time beside printed."""
    figure = new_figure(12, 4.6, "Table 2: 256 tasks of 1.5 h, by the number of initial hosts")
    panels: Sequence[Axes] = figure.subplots(1, len(_QUANTITIES))
    cases = sorted(a2ha_figures().heuristic_cases, key=lambda case: case.initial_hosts or 0)
    for axes, (quantity, label) in zip(panels, _QUANTITIES.items(), strict=True):
        means, deviations = _by(rows, "Table 2", quantity), _by(rows, "Table 2", f"{quantity}_sd")
        offset = -0.3
        for boot, face in ((BOOTING, 1.0), (AT_ONCE, 0.45)):
            for style, colour in _STYLE_COLOURS.items():
                keys = [(LONG_JOB, f"{style}, {boot}", case.case) for case in cases]
                axes.bar(
                    [place + offset for place in range(len(cases))],
                    [mean_or_nan(means[key].ours) for key in keys],
                    yerr=[deviations[key].ours.mean or 0.0 for key in keys],
                    width=0.18,
                    color=colour,
                    alpha=face,
                    error_kw={"ecolor": "#333333", "elinewidth": 0.9, "capsize": 2},
                    label=f"{style}, {boot}",
                )
                offset += 0.2
        axes.errorbar(
            [place + 0.44 for place in range(len(cases))],
            [case.mean(quantity) for case in cases],  # type: ignore[arg-type]
            yerr=[case.sd(quantity) or 0.0 for case in cases],  # type: ignore[arg-type]
            ecolor=PRINTED,
            capsize=3,
            label="printed",
            **DIAMOND,
        )
        keys = [(LONG_JOB, f"{AT_THE_START}, {AT_ONCE}", case.case) for case in cases]
        axes.plot(
            [place + 0.44 for place in range(len(cases))],
            [mean_or_nan(means[key].ours) for key in keys],
            linestyle="none",
            marker="_",
            markersize=16,
            markeredgewidth=1.6,
            color="#333333",
            label="printed number of hosts from the start on, no boot",
        )
        bare_frame(axes, label.split(" (")[0], label, "y")
        axes.set_xticks(range(len(cases)), [f"{case.initial_hosts}" for case in cases])
        axes.set_xlabel("initial hosts")
    alone = mean_or_nan(_by(rows, "Table 2", "payment_h")[LONG_JOB, BOOTING, "1 per task"].ours)
    panels[2].axhline(alone, color="#555555", linestyle="--", linewidth=1, label="one host per task, 5 min boot")
    panels[2].set_ylim(bottom=350)
    legend_below(
        figure,
        *panels[2].get_legend_handles_labels(),
        title="lines: ± one standard deviation; the axis of the payment begins at 350 h",
        columns=3,
    )
    return figure


def _price(rows: Rows) -> Figure:
    """Figure of the extra time and cost against known run times."""
    figure = new_figure(10, 4.6, "What not knowing the run times costs")
    left, right = figure.subplots(1, 2)
    panels = (
        (left, "wall_above_percent", "time above the least found for the same payment", "later by (%)"),
        (right, "payment_above_percent", "payment above the least found for the same time", "dearer by (%)"),
    )
    for axes, quantity, title, label in panels:
        found = _by(rows, NOT_KNOWING, quantity)
        jobs = list(dict.fromkeys(job for job, _, _ in found))
        for style, shift in zip(STYLES, (-0.2, 0.2), strict=True):
            cells = [found[job, "", style] for job in jobs]
            bars = axes.bar(
                [place + shift for place in range(len(jobs))],
                [mean_or_nan(row.ours) for row in cells],
                yerr=[half_or_0(row.ours) for row in cells],
                width=0.36,
                color=_STYLE_COLOURS[style],
                error_kw={"ecolor": "#333333", "elinewidth": 1.0, "capsize": 3},
                label=f"{style} (mean of {cells[0].ours.n} orderings, 95 % interval)",
            )
            for bar, row in zip(bars, cells, strict=True):
                _number_above(axes, bar, row)
        bare_frame(axes, title, label, "y")
        axes.set_xticks(range(len(jobs)), jobs)
        axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    legend_below(figure, *left.get_legend_handles_labels(), columns=2)
    return figure


def _number_above(axes: Axes, bar: Any, row: ComparisonRow) -> None:
    axes.annotate(
        f"{mean_or_nan(row.ours):.0f}",
        (bar.get_x() + bar.get_width() / 2, mean_or_nan(row.ours) + half_or_0(row.ours)),
        xytext=(0, 4),
        textcoords="offset points",
        ha="center",
        fontsize=8.5,
    )


PICTURES: Pictures = {
    **{f"a2ha-fig-{number}-{job}": partial(_sweep, job, number) for number, job in enumerate(SHORT_JOBS, start=9)},
    "a2ha-fig-12-speedup": _speedup,
    "a2ha-table-2": _table_2,
    "a2ha-not-knowing": _price,
}
"""Figs 9 to 12, Table 2, and the price of not knowing."""
