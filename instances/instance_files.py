"""Reading and writing instances: JSON of the format ``spotbag.instance/1``."""

from __future__ import annotations

import os

from .instance import Instance

ROUNDING_WARNING_FRACTION = 0.01


def read_instance(path: str | os.PathLike[str]) -> Instance:
    """Read an instance from a JSON file, or from standard input for ``-``.

    Raises
    ------
    InputError
        With everything that is wrong in it.
    """
    return Instance.read(path)


def write_instance(instance: Instance, path: str | os.PathLike[str]) -> None:
    """Write an instance as a JSON file; reading it gives the same instance.

    Raises
    ------
    SpotbagError
        If the file cannot be written.
    """
    instance.write(path)


def instance_warnings(instance: Instance) -> list[str]:
    """Warnings about the reading of an instance: run times that rounding up makes much longer."""
    added = instance.rounding_fraction
    if added <= ROUNDING_WARNING_FRACTION:
        return []
    return [
        f"{instance.name}: run times count in whole seconds; rounding them up adds {100 * added:.1f} % to the work "
        "(give them in a smaller unit, and the deadline with them, if that matters)"
    ]
