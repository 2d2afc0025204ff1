"""A picture of how a search converged."""

from __future__ import annotations

import os

import numpy as np

from ...core.errors import SpotbagError
from ...core.text_files import write_bytes
from ...solvers.bags.result import Result
from ..matplotlib_renderer import figure_bytes, new_figure
from ..picture_files import plotting_libraries, still_format

CONVERGENCE = "the convergence"


def write_convergence(result: Result, path: str | os.PathLike[str]) -> None:
    """Draw the objective of the current and of the best plan over the iterations, with the bound and D_spot if known.

    Parameters
    ----------
    result : Result
        Of a search.
    path : path
        Its ending says the format: ``.png``, ``.svg`` or ``.pdf``.

    Raises
    ------
    SpotbagError
        If the method keeps no trace, the format is unknown, or the plotting library is missing.
    """
    kind = still_format(path, CONVERGENCE)
    if not result.trace:
        raise SpotbagError(f"{result.method} keeps no trace of its convergence; ils and search do")
    with plotting_libraries():
        figure = new_figure(9, 4.5)
    iterations = [point.iteration for point in result.trace]
    current = np.array([point.current for point in result.trace])
    best = np.array([point.best for point in result.trace])
    axes = figure.add_subplot()
    axes.plot(
        iterations, np.where(np.isfinite(current), current, np.nan), color="#9AA5B5", linewidth=1, label="current"
    )
    axes.step(iterations, np.where(np.isfinite(best), best, np.nan), where="post", color="#4C8EDA", label="best plan")
    if result.bound is not None:
        axes.axhline(result.bound, color="#3FA66B", linestyle="--", label=f"lower bound ({result.bound:.6g})")
    axes.set_xlabel("iteration")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_ylabel("objective (1)")
    lines, labels = axes.get_legend_handles_labels()
    d_spots = [point.d_spot_s for point in result.trace if point.d_spot_s is not None]
    if len(d_spots) == len(iterations) and len(set(d_spots)) > 1:
        beside = axes.twinx()
        beside.step(iterations, d_spots, where="post", color="#7A4FBF", linestyle=":", label="relaxed D_spot")
        beside.set_ylabel("relaxed D_spot (s)")
        lines, labels = [*lines, *beside.get_lines()], [*labels, "relaxed D_spot"]
    figure.legend(lines, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    axes.grid(color="#DDDDDD", linewidth=0.5)
    objective = "no plan" if result.objective is None else f"objective {result.objective:.6g}"
    schedule = result.schedule
    burstable = schedule is not None and bool(result.instance.offer_is_burstable[schedule.vm_offer].any())
    if burstable and schedule is not None and schedule.objective > best[-1] + 1e-9:
        objective += " with its burstable VMs"  # they are added after the search that is drawn
    title = f"{result.instance.name[:60]}, {result.method}, seed {result.seed}: {objective}"
    axes.set_title(title, fontsize=11, fontweight="bold", parse_math=False)
    write_bytes(path, figure_bytes(figure, kind))
