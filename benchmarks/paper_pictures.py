"""Common parts of the pictures of the papers' figures: folders and files, rows, looks of charts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from spotbag.charts.matplotlib_renderer import figure_bytes
from spotbag.charts.matplotlib_renderer import new_figure as empty_figure
from spotbag.core.errors import SpotbagError
from spotbag.core.statistics import Estimate
from spotbag.core.text_files import write_bytes

from .paper_result import ComparisonRow

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows: TypeAlias = Sequence[ComparisonRow]
Picture: TypeAlias = Callable[[Rows], "Figure"]
"""Draws a figure of the rows of a comparison."""

Pictures: TypeAlias = Mapping[str, Picture]
"""Figures by the name of the file without its ending."""

PRINTED = "#C8442E"
ERROR: dict[str, Any] = {"ecolor": "#333333", "elinewidth": 1.0, "capsize": 3}
DIAMOND: dict[str, Any] = {
    "linestyle": "none",
    "marker": "D",
    "markersize": 6,
    "color": PRINTED,
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


def write_pictures(
    pictures: Pictures, rows: Rows, folder: str | os.PathLike[str], names: Sequence[str] | None = None
) -> list[str]:
    """Draw figures of a paper.

    Parameters
    ----------
    pictures : mapping of str to callable
        What can be drawn.
    rows : sequence of ComparisonRow
        All figures.
    folder : path
        Where the files go, as PNG.
    names : sequence of str, optional
        Which pictures; all if not given.

    Returns
    -------
    list of str
        Their paths.
    """
    paths = []
    for name in pictures if names is None else names:
        path = os.path.join(folder, f"{name}.png")
        write_bytes(path, figure_bytes(pictures[name](rows), "png"))
        paths.append(path)
    return paths


def new_figure(width_in: float, height_in: float, title: str) -> Figure:
    """Make an empty figure with a title."""
    figure = empty_figure(width_in, height_in)
    figure.suptitle(title, fontsize=12, fontweight="bold")
    return figure


def rows_of(rows: Rows, table: str, quantity: str) -> list[ComparisonRow]:
    """Rows of a quantity of a table."""
    return [row for row in rows if (row.table, row.quantity) == (table, quantity)]


def mean_or_nan(estimate: Estimate) -> float:
    """A mean to draw; nothing is drawn for none."""
    return float("nan") if estimate.mean is None else estimate.mean


def half_or_0(estimate: Estimate) -> float:
    """Half of an interval to draw."""
    return estimate.half_width or 0.0


def bare_frame(axes: Axes, title: str, label: str, grid: str = "both") -> None:
    """Give axes a title, a label at the left and a faint grid."""
    axes.set_title(title, fontsize=10)
    axes.set_ylabel(label)
    axes.grid(axis=grid, color="#DDDDDD", linewidth=0.5)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def legend_below(
    figure: Figure,
    handles: Sequence[Artist],
    labels: Sequence[str] | None = None,
    *,
    columns: int,
    title: str | None = None,
    size: float = 8.5,
) -> None:
    """Explain below the panels what is drawn: by the labels of the handles themselves, if no others are given."""
    named = [str(handle.get_label()) for handle in handles] if labels is None else labels
    figure.legend(
        handles,
        named,
        title=title,
        title_fontsize=size,
        loc="outside lower center",
        ncols=columns,
        fontsize=size,
        frameon=False,
    )
