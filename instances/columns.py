"""Names of the columns of all files: `columns.toml`, and headings in the spelling that it has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from ..core.text_files import packaged_toml

Role: TypeAlias = str
"""Role of a column: what it holds, by a key of `columns.toml`."""

COMMENTS = "note", "notes", "comment", "comments", "remark", "remarks", "description"
"""Columns that are for people: nothing is made of them, and nothing could be."""

COLUMNS: Mapping[str, Any] = packaged_toml(__package__, "columns.toml")
"""Description of the columns of all files."""


def spelled(headings: Mapping[str, str]) -> dict[Role, tuple[str, ...]]:
    """Roles, or units, to the headings that have them."""
    return {role: tuple(words.split()) for role, words in headings.items()}


OF_TASKS, OF_JOBS = spelled(COLUMNS["tasks"]), spelled(COLUMNS["jobs"])
"""Roles to the normal headings of their columns (`normal`), in tables that people write."""


def normal(heading: str) -> str:
    """Return a heading in small letters, with ``_`` between its words."""
    return re.sub(r"[\s\-_.:/]+", "_", heading.strip().lower()).strip("_")
