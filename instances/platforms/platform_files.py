"""Reading and writing hybrid platforms: JSON of the format ``spotbag.platform/1``; the platforms of the library."""

from __future__ import annotations

import os

from ..library import load
from .platform import Platform


def read_platform(path: str | os.PathLike[str]) -> Platform:
    """Read a hybrid platform from a JSON file, or from standard input for ``-``.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    return Platform.read(path)


def write_platform(platform: Platform, path: str | os.PathLike[str]) -> None:
    """Write a hybrid platform as a JSON file; reading it gives the same platform.

    Raises
    ------
    SpotbagError
        If the file cannot be written.
    """
    platform.write(path)


def library_platform(name: str) -> Platform:
    """Load a hybrid platform of the library by its name.

    Raises
    ------
    InputError
        If there is none of that name; close names are suggested.
    """
    return load(Platform, name)
