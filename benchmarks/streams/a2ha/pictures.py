"""Pictures of our figures of the A2HA paper: the sweeps of Figs 9 to 12, Table 2, and what not knowing costs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...paper_pictures import (
    DIAMOND,
    ERROR,
    PRINTED,
    Pictures,
    Rows,
    bare_frame,
    halves,
    legend_below,
    line_with_bars,
    mean,
    means,
    number_above,
    panels,
    rows_of,
)
from ...paper_tables import ComparisonRow
from .runs import AT_THE_START
from .settings import (
    AT_ONCE,
    BOOTING,
    BY_HOSTS,
    LONG_JOB,
    NOT_KNOWING,
    OPTIMAL_HOSTS,
    RATIOS,
    SHORT_JOBS,
    STYLES,
    SWEEP,
    a2ha_figures,
    sweep_name,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_RATIO_COLOURS = ("#9A9A9A", "#B9D7F0", "#6FAEDD", "#2F6DB5", "#16325C")
_STYLE_COLOURS = {"conservative": "#2F6DB5", "aggressive": "#E08A1E"}
_DODGE = 0.016
"""Distance between the lines of a sweep, so that their deviations can be told apart."""

_LEAST_SHARE_PERCENT = 1.5
"""Numbers of hosts that fewer orderings have are not drawn: the panel says how many orderings that are."""

_USABLE = 55 / 60
"""Part of a paid hour in which a host can work."""

_TITLES = {"image": "image rendering", "synthetic": "synthetic job", "test-suite": "software test suite"}


def _by(rows: Rows, table: str, quantity: str) -> dict[tuple[str, str, str], ComparisonRow]:
    """Rows of a quantity by job, scenario and policy."""
    return {(row.job, row.scenario, row.policy): row for row in rows_of(rows, table, quantity)}


def _deviations(rows: Sequence[ComparisonRow]) -> list[float]:
    """Standard deviations to draw; none of a single ordering."""
    return [row.ours.mean or 0.0 for row in rows]


def _sweep(job: str, number: int, rows: Rows) -> Figure:
    """Time, speedup and hosts over creationRatio, a line for each increaseRatio."""
    title = f"Fig. {number}: {_TITLES[job]}, by creationRatio and increaseRatio"
    figure, all_axes = panels(14, 4.8, title, 1, 3)
    right = all_axes[-1]
    walls = _by(rows, SWEEP, "wall_h")
    serial = walls[job, sweep_name((0.0, 0.0)), ""]
    frames = (
        ("wall_h", f"time (both ratios 0, not drawn: one host, {mean(serial):.1f} h)", "time (h)"),
        ("speedup", "speedup", "speedup"),
        ("hosts", "hosts created", "hosts"),
    )
    for axes, (quantity, heading, label) in zip(all_axes, frames, strict=True):
        found, deviations = _by(rows, SWEEP, quantity), _by(rows, SWEEP, f"{quantity}_sd")
        for place, increase in enumerate(RATIOS):
            # With both at 0, no host is ever created: as long as the serial run.
            creations = [creation for creation in RATIOS if creation or increase]
            keys = [(job, sweep_name((creation, increase if creation < 1 else 1.0)), "") for creation in creations]
            places = [creation + (place - 2) * _DODGE for creation in creations]
            line, spread = ([of[key] for key in keys] for of in (found, deviations))
            look: dict[str, Any] = {"color": _RATIO_COLOURS[place], "marker": "o", "markersize": 4}
            line_with_bars(axes, places, line, _deviations(spread), f"increaseRatio {increase:g}", **look)
        bare_frame(axes, heading, label)
        axes.set_xlabel("initial creationRatio")
        axes.set_xticks(RATIOS)
    [optimum] = rows_of(rows, OPTIMAL_HOSTS, "formula_hosts", job)
    assert optimum.printed is not None
    printed = f"optimal hosts, printed: {optimum.printed:g}"
    right.axhline(optimum.printed, color=PRINTED, linestyle="--", linewidth=1.2, label=printed)
    if mean(optimum) != optimum.printed:
        formula = f"... by the formula: {mean(optimum):g}"
        right.axhline(mean(optimum), color=PRINTED, linestyle=":", linewidth=1.4, label=formula)
    right.margins(y=0.1)
    title = f"mean of {serial.ours.n} orderings, lines: ± one standard deviation"
    legend_below(figure, right, columns=7, title=title, last=("opt", "..."))
    return figure


def _speedup(rows: Rows) -> Figure:
    """Speedup over hosts for both styles, a panel for each job."""
    figure, all_axes = panels(12, 4.8, "Fig. 12: speedup by the number of hosts that were created", 1, len(SHORT_JOBS))
    for axes, job in zip(all_axes, SHORT_JOBS, strict=True):
        _speedup_of(axes, rows, job)
    names = {"55/60": "speedup = 55/60 of the hosts (no idle time)", "50 %": "speedup = half of the hosts"}
    title = (
        "larger points: more orderings; a number of hosts that less than "
        f"{_LEAST_SHARE_PERCENT:g} % have is not drawn; lines: ± one standard deviation"
    )
    legend_below(figure, all_axes[0], columns=5, title=title, words=names)
    return figure


def _speedup_of(axes: Axes, rows: Rows, job: str) -> None:
    """Draw the speedup over hosts of a job."""
    from matplotlib.ticker import MaxNLocator

    shares, speedups, spreads = (_by(rows, BY_HOSTS, name) for name in ("share_percent", "speedup", "speedup_sd"))
    seen: list[int] = []
    hidden: list[str] = []
    for style, shift in zip(STYLES, (-0.12, 0.12), strict=True):
        percent = {key: row.ours.mean or 0.0 for key, row in shares.items() if key[::2] == (job, style)}
        keys = [key for key, share in percent.items() if share >= _LEAST_SHARE_PERCENT]
        rest = [key for key in percent if key not in keys]
        if rest:
            most = max(map(_hosts, rest))
            hidden.append(f"{style} {sum(percent[key] for key in rest):.1f} % (up to {most} hosts)")
        hosts, heights = [_hosts(key) for key in keys], means(speedups[key] for key in keys)
        seen += hosts
        places = [number + shift for number in hosts]
        look: dict[str, Any] = {"color": _STYLE_COLOURS[style]}
        spread = _deviations([spreads[key] for key in keys])
        axes.errorbar(places, heights, spread, linestyle="none", capsize=2.5, elinewidth=0.9, **look)
        label = f"{style} ({STYLES[style][0]:g} / {STYLES[style][1]:g})"
        axes.scatter(places, heights, s=[10 + 3 * percent[key] for key in keys], zorder=4, label=label, **look)
    low, high = min(seen) - 1, max(seen) + 1
    ends = [low, high]
    axes.plot(ends, [_USABLE * end for end in ends], color="#555555", linestyle="--", linewidth=1, label="55/60")
    axes.plot(ends, [0.5 * end for end in ends], color="#999999", linestyle=":", linewidth=1.3, label="50 %")
    optimal = a2ha_figures().job(job).optimal_hosts
    axes.axvline(optimal, color=PRINTED, linestyle="--", linewidth=1, label="optimal hosts, printed")
    axes.set_xlim(min(low, optimal - 1), high)
    bare_frame(axes, _TITLES[job], "speedup")
    not_drawn = "\nnot drawn: " + ",\n".join(hidden) if hidden else ""
    axes.set_xlabel(f"hosts created{not_drawn}", fontsize=9)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(bottom=0)


def _hosts(key: tuple[str, str, str]) -> int:
    """Hosts of a row of `BY_HOSTS`."""
    return int(key[1].split()[0])


_QUANTITIES = {"hosts": "hosts", "wall_h": "time (h)", "payment_h": "payment (h)"}


def _table_2(rows: Rows) -> Figure:
    """Hosts, time and payment of the long tasks by initial hosts, ours with and without boot time beside printed."""
    title = "Table 2: 256 tasks of 1.5 h, by the number of initial hosts"
    figure, all_axes = panels(12, 4.6, title, 1, len(_QUANTITIES))
    cases = sorted(a2ha_figures().heuristic_cases, key=lambda case: case.initial_hosts)
    for axes, (quantity, label) in zip(all_axes, _QUANTITIES.items(), strict=True):
        found, deviations = _by(rows, "Table 2", quantity), _by(rows, "Table 2", f"{quantity}_sd")
        offset = -0.3
        for boot, face in ((BOOTING, 1.0), (AT_ONCE, 0.45)):
            for style, colour in _STYLE_COLOURS.items():
                keys = [(LONG_JOB, f"{style}, {boot}", case.case) for case in cases]
                axes.bar(
                    [place + offset for place in range(len(cases))],
                    means(found[key] for key in keys),
                    yerr=_deviations([deviations[key] for key in keys]),
                    width=0.18,
                    color=colour,
                    alpha=face,
                    error_kw=ERROR | {"elinewidth": 0.9, "capsize": 2},
                    label=f"{style}, {boot}",
                )
                offset += 0.2
        beside = [place + 0.44 for place in range(len(cases))]
        printed = [getattr(case, quantity) for case in cases]
        spread = [getattr(case, f"{quantity}_sd") or 0.0 for case in cases]
        axes.errorbar(beside, printed, spread, ecolor=PRINTED, capsize=3, label="printed", **DIAMOND)
        axes.plot(
            beside,
            means(found[LONG_JOB, f"{AT_THE_START}, {AT_ONCE}", case.case] for case in cases),
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
    alone = mean(_by(rows, "Table 2", "payment_h")[LONG_JOB, BOOTING, "1 per task"])
    paid = all_axes[-1]
    paid.axhline(alone, color="#555555", linestyle="--", linewidth=1, label="one host per task, 5 min boot")
    paid.set_ylim(bottom=350)
    title = "lines: ± one standard deviation; the axis of the payment begins at 350 h"
    legend_below(figure, paid, columns=3, title=title)
    return figure


def _price(rows: Rows) -> Figure:
    """Figure of the extra time and cost against known run times."""
    figure, all_axes = panels(10, 4.6, "What not knowing the run times costs", 1, 2)
    shown = (
        ("wall_above_percent", "time above the least found for the same payment", "later by (%)"),
        ("payment_above_percent", "payment above the least found for the same time", "dearer by (%)"),
    )
    for axes, (quantity, title, label) in zip(all_axes, shown, strict=True):
        found = _by(rows, NOT_KNOWING, quantity)
        jobs = list(dict.fromkeys(job for job, _, _ in found))
        for style, shift in zip(STYLES, (-0.2, 0.2), strict=True):
            cells = [found[job, "", style] for job in jobs]
            places = [place + shift for place in range(len(jobs))]
            name = f"{style} (mean of {cells[0].ours.n} orderings, 95 % interval)"
            look: dict[str, Any] = {"color": _STYLE_COLOURS[style], "error_kw": ERROR, "label": name}
            axes.bar(places, means(cells), yerr=halves(cells), width=0.36, **look)
            for place, row in zip(places, cells, strict=True):
                number_above(axes, place, row, 0, 8.5)
        bare_frame(axes, title, label, "y")
        axes.set_xticks(range(len(jobs)), jobs)
        axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
    legend_below(figure, all_axes[0], columns=2)
    return figure


PICTURES: Pictures = {
    **{f"a2ha-fig-{number}-{job}": partial(_sweep, job, number) for number, job in enumerate(SHORT_JOBS, start=9)},
    "a2ha-fig-12-speedup": _speedup,
    "a2ha-table-2": _table_2,
    "a2ha-not-knowing": _price,
}
"""Figs 9 to 12, Table 2, and the price of not knowing."""
