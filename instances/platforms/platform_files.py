"""Reading and writing hybrid platforms: JSON of the format ``spotbag.platform/1``; the platforms of the library."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import resources
from pathlib import PurePosixPath
from typing import Any

from ...core.errors import input_error
from ...core.json_documents import check_format, format_json, parse_json
from ...core.text_files import read_text, source_name, write_text
from ...core.wording import near_names
from ..library import PLATFORMS, library_data, platform_names, who_takes_name
from .platform import PLATFORM_FORMAT, Platform


def read_platform(path: str | os.PathLike[str]) -> Platform:
    """Read a hybrid platform from a JSON file, or from standard input for ``-``.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    return parse_platform(read_text(path), source_name(path))


def parse_platform(text: str, source: str = "platform") -> Platform:
    """Read a hybrid platform from a JSON text; ``source`` names it in messages.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    return platform_of_document(parse_json(text, source), source)


def platform_of_document(document: Mapping[str, Any], source: str = "platform") -> Platform:
    """Make a hybrid platform of a parsed JSON document; ``source`` names it in messages.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    check_format(document, PLATFORM_FORMAT, source)
    return Platform.from_document(document, source)


def write_platform(platform: Platform, path: str | os.PathLike[str]) -> None:
    """Write a hybrid platform as a JSON file; reading it gives the same platform.

    Raises
    ------
    SpotbagError
        If the file cannot be written.
    """
    write_text(path, format_platform(platform))


def format_platform(platform: Platform) -> str:
    """Return a hybrid platform as a JSON text; reading it gives the same platform."""
    return format_json(platform.to_document())


def platform_schema() -> str:
    """JSON Schema of ``spotbag.platform/1``, as shipped with the package."""
    return resources.files(__package__).joinpath("platform.schema.json").read_text(encoding="utf-8")


def library_platform(name: str) -> Platform:
    """Load a hybrid platform of the library by its name.

    Raises
    ------
    InputError
        If there is none of that name; close names are suggested.
    """
    names = platform_names()
    if name not in names:
        unknown = f"no platform of the library has this name ({near_names(name, names)})"
        raise input_error(name, who_takes_name(name) or unknown)
    entry = library_data().joinpath(PLATFORMS, *PurePosixPath(f"{name}.json").parts)
    return parse_platform(entry.read_text(encoding="utf-8"), name)
