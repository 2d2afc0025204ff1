"""The library of named instances: ``hads/J60``, ``tiny/two-cores``, ``distinct/1000`` and others."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

from ..core.errors import input_error
from ..core.json_documents import WHO_TAKES
from .instance import Instance
from .instance_files import parse_instance

_SUFFIX = ".json"
_PLANS = "best_known"
"""Folder of the best plans known; see `spotbag.instances.bags.best_known`."""
STREAMS = "streams"
"""Folder of the streams of jobs; see `spotbag.instances.streams.stream_files`."""
PLATFORMS = "platforms"
"""Folder of the hybrid platforms; see `spotbag.instances.platforms.platform_files`."""


def library_data() -> Traversable:
    """Folder of the files that are shipped with the package."""
    return resources.files(__package__).joinpath("data")


def library_names() -> list[str]:
    """Names of all library instances, sorted."""
    families = library_data().iterdir()
    return _names(
        family
        for family in families
        if family.name not in (_PLANS, STREAMS, PLATFORMS) and not family.name.startswith("_")
    )


def stream_names() -> list[str]:
    """Names of all streams of the library, sorted: ``thai/table2``, ``tiny/two-jobs``."""
    return _names(library_data().joinpath(STREAMS).iterdir())


def platform_names() -> list[str]:
    """Names of all hybrid platforms of the library, sorted: ``caron/hybrid``, ``tiny/hybrid``."""
    return _names(library_data().joinpath(PLATFORMS).iterdir())


def who_takes_name(name: str) -> str | None:
    """What to do with a name of the library that was given where one of another kind is wanted."""
    kinds = {"spotbag.instance": library_names, "spotbag.jobs": stream_names, "spotbag.platform": platform_names}
    return next((WHO_TAKES[kind] for kind, names in kinds.items() if name in names()), None)


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
    names = library_names()
    if name not in names:
        close = difflib.get_close_matches(name, names, n=3)
        hint = f"did you mean {' or '.join(close)}?" if close else "'spotbag instance list' shows all"
        raise input_error(name, who_takes_name(name) or f"no library instance has this name ({hint})")
    entry = library_data().joinpath(*PurePosixPath(name + _SUFFIX).parts)
    return parse_instance(entry.read_text(encoding="utf-8"), name)
