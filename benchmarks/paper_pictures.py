"""Common parts of the pictures of the papers' figures: folders and files, rows, looks of charts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from spotbag.charts.matplotlib_renderer import figure_bytes
from spotbag.charts.matplotlib_renderer import new_figure as empty_figure
from spotbag.core.errors import SpotbagError
from spotbag.core.text_files import write_bytes

from .paper_tables import ComparisonRow

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


def panels(
    width_in: float, height_in: float, title: str, rows: int = 1, columns: int = 1, **shared: Any
) -> tuple[Figure, list[Axes]]:
    """Make a figure with a title, and its empty panels."""
    figure = empty_figure(width_in, height_in)
    figure.suptitle(title, fontsize=12, fontweight="bold")
    return figure, list(figure.subplots(rows, columns, squeeze=False, **shared).flat)


def rows_of(rows: Rows, table: str, quantity: str, job: str | None = None) -> list[ComparisonRow]:
    """Rows of a quantity of a table, of a job or of all."""
    return [row for row in rows if (row.table, row.quantity) == (table, quantity) and job in (None, row.job)]


def mean(row: ComparisonRow) -> float:
    """A mean to draw; nothing is drawn for none."""
    return float("nan") if row.ours.mean is None else row.ours.mean


def means(rows: Iterable[ComparisonRow]) -> list[float]:
    """Means to draw."""
    return list(map(mean, rows))


def halves(rows: Iterable[ComparisonRow]) -> list[float]:
    """Halves of intervals to draw."""
    return [row.ours.half_width or 0.0 for row in rows]


def line_with_bars(
    axes: Axes, places: Sequence[float], rows: Sequence[ComparisonRow], spread: Sequence[float], label: str, **look: Any
) -> None:
    """Draw means over some places, each with a bar of what it spreads to either side."""
    axes.errorbar(places, means(rows), spread, label=label, **{"capsize": 2.5, "elinewidth": 0.9, **look})


def number_above(axes: Axes, place: float, row: ComparisonRow, digits: int, size: float, shift: int = 0) -> None:
    """Write a mean above its interval."""
    axes.annotate(
        f"{mean(row):,.{digits}f}",
        (place, mean(row) + halves([row])[0]),
        xytext=(shift, 4),
        textcoords="offset points",
        ha="center",
        fontsize=size,
    )


def bare_frame(axes: Axes, title: str, label: str, grid: str = "both") -> None:
    """Give axes a title, a label at the left and a faint grid."""
    axes.set_title(title, fontsize=10)
    axes.set_ylabel(label)
    axes.grid(axis=grid, color="#DDDDDD", linewidth=0.5)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def legend_below(
    figure: Figure,
    of: Axes | Sequence[Artist],
    *,
    columns: int,
    title: str | None = None,
    size: float = 8.5,
    last: tuple[str, ...] = (),
    words: Mapping[str, str] | None = None,
) -> None:
    """Explain below the panels what is drawn: in one of them, or of some handles.

    Labels that begin with some words come last; some labels stand for longer ones.
    """
    handles = list(of) if isinstance(of, Sequence) else of.get_legend_handles_labels()[0]
    named = [(handle, str(handle.get_label())) for handle in handles]
    # The sort is stable: all others stay in the order in which they were drawn.
    labelled = sorted(named, key=lambda pair: pair[1].startswith(last))
    figure.legend(
        [handle for handle, _ in labelled],
        [(words or {}).get(label, label) for _, label in labelled],
        title=title,
        title_fontsize=size,
        loc="outside lower center",
        ncols=columns,
        fontsize=size,
        frameon=False,
    )
