"""Reading and writing instances: JSON of the format ``spotbag.instance/1``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import resources
from typing import Any

from ..core.json_documents import check_format, format_json, parse_json
from ..core.text_files import read_text, source_name, write_text
from .instance import INSTANCE_FORMAT, Instance

ROUNDING_WARNING_FRACTION = 0.01


def read_instance(path: str | os.PathLike[str]) -> Instance:
    """Read an instance from a JSON file, or from standard input for ``-``.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    return parse_instance(read_text(path), source_name(path))


def parse_instance(text: str, source: str = "instance") -> Instance:
    """Read an instance from a JSON text; ``source`` names it in messages.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    return instance_of_document(parse_json(text, source), source)


def instance_of_document(document: Mapping[str, Any], source: str = "instance") -> Instance:
    """Make an instance of a parsed JSON document; ``source`` names it in messages.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    check_format(document, INSTANCE_FORMAT, source)
    return Instance.from_document(document, source)


def write_instance(instance: Instance, path: str | os.PathLike[str]) -> None:
    """Write an instance as a JSON file; reading it gives the same instance.

    Raises
    ------
    SpotbagError
        If the file cannot be written.
    """
    write_text(path, format_instance(instance))


def format_instance(instance: Instance) -> str:
    """Return an instance as a JSON text; reading it gives the same instance."""
    return format_json(instance.to_document())


def instance_warnings(instance: Instance) -> list[str]:
    """What a user should know about how an instance was understood."""
    added = instance.rounding_fraction
    if added <= ROUNDING_WARNING_FRACTION:
        return []
    return [
        f"{instance.name}: run times count in whole seconds; rounding them up adds {100 * added:.1f} % to the work "
        "(give them in a smaller unit, and the deadline with them, if that matters)"
    ]


def instance_schema() -> str:
    """JSON Schema of ``spotbag.instance/1``, as shipped with the package."""
    return resources.files(__package__).joinpath("instance.schema.json").read_text(encoding="utf-8")
