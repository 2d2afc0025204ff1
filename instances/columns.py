"""Headings of tables: what columns of tasks, and of jobs that arrive, may be called, and the units in their names."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any, Literal, TypeAlias, TypeVar

TaskRole: TypeAlias = Literal[
    "id",
    "command",
    "memory",
    "runtime",
    "count",
    "architecture",
    "ready",
    "deadline",
    "weight",
    "cores",
    "state",
    "exit",
    "stage",
]
JobRole: TypeAlias = Literal[
    "id", "arrival", "runtime", "count", "deadline", "within", "application", "budget", "priority"
]
RoleOf = TypeVar("RoleOf", bound=str)

COMMENTS = "note", "notes", "comment", "comments", "remark", "remarks", "description"
"""Columns that are for people: nothing is made of them, and nothing could be."""

COLUMNS: Mapping[str, Any] = tomllib.loads(
    resources.files(__package__).joinpath("columns.toml").read_text(encoding="utf-8")
)
"""Description of the columns of all files."""


def spelled(headings: Mapping[str, str]) -> dict[Any, tuple[str, ...]]:
    """Roles, or units, to the headings that have them."""
    return {role: tuple(words.split()) for role, words in headings.items()}


OF_TASKS: Mapping[TaskRole, tuple[str, ...]] = spelled(COLUMNS["tasks"])
OF_JOBS: Mapping[JobRole, tuple[str, ...]] = spelled(COLUMNS["jobs"])
"""Roles to the normal headings of their columns (`normal`), in tables that people write."""


def normal(heading: str) -> str:
    """Return a heading in small letters, with ``_`` between its words."""
    return re.sub(r"[\s\-_.:/]+", "_", heading.strip().lower()).strip("_")


def meaning(
    heading: str, spellings: Mapping[RoleOf, tuple[str, ...]], units: Mapping[RoleOf, Mapping[str, float]]
) -> tuple[RoleOf, float | None] | None:
    """Role of a heading, and the factor of its unit, of those of the role; None for no unit, or no role."""
    name = re.sub(r"[\[\](){}]", "_", normal(heading)).replace("__", "_").strip("_")
    head, _, unit = name.rpartition("_")
    for role, names in spellings.items():
        if name in names:
            return role, None
        if head in names and unit in units.get(role, ()):
            return role, units[role][unit]
    return None
