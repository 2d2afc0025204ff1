"""Picture files: their formats, what drawing them needs, and how charts are written to them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec

from ..core.errors import SpotbagError
from ..core.text_files import write_bytes
from .chart import Chart, Plot
from .matplotlib_renderer import draw, plotting_libraries
from .page import page

Given = ParamSpec("Given")
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


def write_chart(
    path: str | os.PathLike[str], lay_out: Callable[Given, Chart | Plot], *given: Given.args, **more: Given.kwargs
) -> None:
    """Lay out a chart or a plot, and write it to a file of the format that its name says.

    Raises
    ------
    SpotbagError
        If the format is unknown, the file cannot be written, a plotting library is missing, or as the layout does.
    """
    # The ending is refused before a large chart is laid out.
    kind = picture_format(path)
    chart = lay_out(*given, **more)
    with plotting_libraries():
        data = page(chart) if kind == "html" else draw(chart, kind)
    write_bytes(path, data)
