"""Picture files: their formats, what drawing them needs, and how charts are written to them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..core.errors import SpotbagError
from ..core.text_files import write_bytes
from .chart import Chart
from .matplotlib_renderer import draw
from .page import page
from .plot import Plot

PICTURE_FORMATS = ("png", "svg", "pdf", "html")


def picture_format(path: str | os.PathLike[str]) -> str:
    """Format of a picture by the ending of its file.

    Raises
    ------
    SpotbagError
        If it is not one of `PICTURE_FORMATS`.
    """
    kind = file_ending(path)
    if kind not in PICTURE_FORMATS:
        raise SpotbagError(f"{path}: a picture's name must end in .{', .'.join(PICTURE_FORMATS)}")
    return kind


def file_ending(path: str | os.PathLike[str]) -> str:
    """Return the ending of a file's name: the part after the last dot, in small letters."""
    return Path(path).suffix.lower().removeprefix(".")


@contextmanager
def plotting_libraries() -> Iterator[None]:
    """Turn a plotting library that is missing into an error that says how to install it.

    Raises
    ------
    SpotbagError
        If one cannot be imported.
    """
    try:
        yield
    except ImportError as error:
        raise SpotbagError(f"a picture needs {error.name}: pip install 'spotbag[plot]'") from None


def write_chart(chart: Chart | Plot, path: str | os.PathLike[str], kind: str) -> None:
    """Write a chart or a plot to a file of a format.

    Raises
    ------
    SpotbagError
        If the file cannot be written or a plotting library is missing.
    """
    with plotting_libraries():
        data = page(chart) if kind == "html" else draw(chart, kind)
    write_bytes(path, data)
