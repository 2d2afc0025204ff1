"""A picture of how a search converged."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from ...core.errors import SpotbagError
from ...solvers.bags.result import Result
from ..chart import Look
from ..matplotlib_renderer import axes_of_plot
from ..picture_files import picture_format, plotting_libraries, write_chart
from ..plot import Curve, Plot, Range

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CURRENT = Look("current", "#9AA5B5", line="-", width=1.0)
_BEST = Look("best plan", "#4C8EDA", line="-", layer=2)
_RELAXED = Look("relaxed D_spot", "#7A4FBF", line=":", layer=1.5)


def plot_convergence(result: Result, ax: Axes | None = None) -> Axes:
    """Draw the objective of the current and of the best plan over the iterations onto axes of matplotlib.

    Parameters
    ----------
    result : Result
        Of a search.
    ax : matplotlib.axes.Axes, optional
        Where; axes of a new figure if not given. Where D_spot is relaxed, it has an axis of its own at the right.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with title and legend.

    Raises
    ------
    SpotbagError
        If the method keeps no trace, or matplotlib is missing.
    """
    plot = convergence_plot(result)
    with plotting_libraries():
        return axes_of_plot(plot, ax)


def write_convergence(result: Result, path: str | os.PathLike[str]) -> None:
    """Draw the objective of the current and of the best plan over the iterations, with the bound and D_spot if known.

    Parameters
    ----------
    result : Result
        Of a search.
    path : path
        Its ending says the format: ``.png``, ``.svg``, ``.pdf`` or ``.html``.

    Raises
    ------
    SpotbagError
        If the method keeps no trace, the format is unknown, the file cannot be written or a plotting library is
        missing.
    """
    kind = picture_format(path)
    write_chart(convergence_plot(result), path, kind)


def convergence_plot(result: Result) -> Plot:
    """Lay out the picture of how a search converged.

    Parameters
    ----------
    result : Result
        Of a search.

    Raises
    ------
    SpotbagError
        If the method keeps no trace.
    """
    trace = result.trace
    if not trace:
        raise SpotbagError(f"{result.method} keeps no trace of its convergence; ils and search do but for budgets")
    last = float(trace[-1].iteration)
    current = [(float(point.iteration), point.current) if math.isfinite(point.current) else None for point in trace]
    # The first point of each level: what lies between them is level.
    levels = [next(points) for _, points in groupby(trace, key=lambda point: point.best)]
    better = [(float(point.iteration), point.best) for point in levels if math.isfinite(point.best)]
    best = [*better, (last, better[-1][1])] if better else []
    said = tuple(("best plan", f"iteration {at:,.0f}", f"objective {value:.6g}") for at, value in better)
    curves = [Curve(_CURRENT, tuple(current)), Curve(_BEST, tuple(best), steps=True, hover=said)]
    x_range = _with_margin([0.0 if len(trace) == 1 else float(trace[0].iteration), max(last, 1.0)])
    if result.bound is not None:
        look = Look(f"lower bound ({result.bound:.6g})", "#3FA66B", line="--", layer=3)
        curves.append(Curve(look, tuple((at, result.bound) for at in x_range)))
    d_spots = [float(point.d_spot_s) for point in trace if point.d_spot_s is not None]
    relaxed = len(d_spots) == len(trace) and len(set(d_spots)) > 1
    if relaxed:
        points = tuple(zip((float(point.iteration) for point in trace), d_spots, strict=True))
        curves.append(Curve(_RELAXED, points, steps=True, beside=True))
    values = [point[1] for curve in curves if not curve.beside for point in curve.points if point is not None]
    return Plot(
        _title(result),
        "",
        curves,
        "iteration",
        "objective (1)",
        x_range,
        _with_margin(values or [0.0, 1.0]),
        "relaxed D_spot (s)" if relaxed else "",
        _with_margin(d_spots) if relaxed else None,
        (9.0, 4.5),
    )


def _with_margin(values: Sequence[float]) -> Range:
    low, high = min(values), max(values)
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 0.05
    return low - margin, high + margin


def _title(result: Result) -> str:
    objective = "no plan" if result.objective is None else f"objective {result.objective:.6g}"
    schedule = result.schedule
    burstable = schedule is not None and bool(result.instance.offer_is_burstable[schedule.vm_offer].any())
    if burstable and schedule is not None and schedule.objective > result.trace[-1].best + 1e-9:
        objective += " with its burstable VMs"  # they are added after the search that is drawn
    return f"{result.instance.name[:60]}, {result.method}, seed {result.seed}: {objective}"
