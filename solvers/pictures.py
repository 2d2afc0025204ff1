"""What the pictures of this room share."""

from __future__ import annotations

import os

from ..core.errors import SpotbagError
from ..schedules.gantt import file_ending


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
