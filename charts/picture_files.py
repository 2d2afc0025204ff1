"""Picture files: their formats, and writing them."""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.errors import SpotbagError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

if TYPE_CHECKING:
    pass


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """Render a figure; the same figure gives the same file."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    # A fixed salt and no date: the same plan gives the same file.
    with rc_context({"svg.hashsalt": "spotbag", "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # glyphs that the font lacks are shown as boxes
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        figure.savefig(buffer, format=kind, dpi=110, metadata=metadata)
    return buffer.getvalue()


def still_format(path: str | os.PathLike[str], what: str) -> str:
    """Format of a picture that is no page, by the ending of its file.

    Parameters
    ----------
    path : path
        The file.
    what : str
        What the picture shows, in the message.

    Raises
    ------
    SpotbagError
        If it is not ``.png``, ``.svg`` or ``.pdf``.
    """
    kind = file_ending(path)
    if kind not in ("png", "svg", "pdf"):
        raise SpotbagError(f"{path}: a picture of {what} is .png, .svg or .pdf")
    return kind


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
    """What follows the last dot of a file's name, in small letters."""
    return Path(path).suffix.lower().removeprefix(".")
