"""The library of named instances: ``hads/J60``, ``tiny/two-cores``, ``distinct/1000`` and others."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath
from typing import TypeVar

from ..core.errors import input_error
from ..core.json_documents import WHO_TAKES
from ..core.records import WholeDocument
from ..core.wording import close_names, near_names
from .instance import Instance

_SUFFIX = ".json"
_PLANS = "best_known"
"""Folder of the best plans known; see `spotbag.instances.bags.best_known`."""
_ALL_INSTANCES = "'spotbag instance list' shows all"
STREAMS = "streams"
PLATFORMS = "platforms"

Kind = TypeVar("Kind", bound=WholeDocument)


def library_data() -> Traversable:
    """Folder of the files that are shipped with the package."""
    return resources.files(__package__).joinpath("data")


def library_names() -> list[str]:
    """Names of all library instances, sorted."""
    families = library_data().iterdir()
    return _names(
        family
        for family in families
        # Python may leave folders of its own there, such as __pycache__.
        if family.name not in (_PLANS, STREAMS, PLATFORMS) and not family.name.startswith("_")
    )


def stream_names() -> list[str]:
    """Names of all streams of the library, sorted: ``thai/table2``, ``tiny/two-jobs``."""
    return _names(library_data().joinpath(STREAMS).iterdir())


def platform_names() -> list[str]:
    """Names of all hybrid platforms of the library, sorted: ``caron/hybrid``, ``tiny/hybrid``."""
    return _names(library_data().joinpath(PLATFORMS).iterdir())


_NAMES = {"spotbag.instance": library_names, "spotbag.jobs": stream_names, "spotbag.platform": platform_names}
_FOLDERS = {"spotbag.instance": "", "spotbag.jobs": STREAMS, "spotbag.platform": PLATFORMS}
"""Names, and the folder, of what the library has of each kind, by the name of its format."""


def load(kind: type[Kind], name: str) -> Kind:
    """Load an instance, stream or platform of the library by its name.

    Parameters
    ----------
    kind : type
        Instance, Stream or Platform.
    name : str
        What it is called there.

    Raises
    ------
    InputError
        If there is none of that name; close names are suggested.
    """
    format_name, names = kind.FORMAT.split("/")[0], names_of(kind)
    if name not in names:
        raise input_error(name, _who_takes(name) or _unknown(format_name, name, names))
    entry = library_data().joinpath(_FOLDERS[format_name], *PurePosixPath(name + _SUFFIX).parts)
    return kind.parse(entry.read_text(encoding="utf-8"), name)


def names_of(kind: type[WholeDocument]) -> list[str]:
    """Names that the library has of a kind: instances, streams or platforms."""
    return _NAMES[kind.FORMAT.split("/")[0]]()


def _who_takes(name: str) -> str | None:
    """Advice for a library name of another kind than the wanted one; None if no kind has the name."""
    return next((WHO_TAKES[kind] for kind, names in _NAMES.items() if name in names()), None)


def _unknown(format_name: str, name: str, names: list[str]) -> str:
    """Message for an unknown library name, with close names."""
    if format_name == "spotbag.instance":  # there are many, so that a list of some would not help
        return f"no library instance has this name ({close_names(name, names) or _ALL_INSTANCES})"
    noun = {"spotbag.jobs": "stream", "spotbag.platform": "platform"}[format_name]
    return f"no {noun} of the library has this name ({near_names(name, names)})"


def _names(families: Iterable[Traversable]) -> list[str]:
    return sorted(
        f"{family.name}/{entry.name.removesuffix(_SUFFIX)}"
        for family in families
        if family.is_dir()
        for entry in family.iterdir()
        if entry.name.endswith(_SUFFIX)
    )


def library_instance(name: str) -> Instance:
    """Load a library instance by its name.

    Raises
    ------
    InputError
        If there is none of that name; close names are suggested.
    """
    return load(Instance, name)
