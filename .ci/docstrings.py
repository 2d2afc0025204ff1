"""Docstrings as they are meant: mkdocstrings takes the first of a set of choices for the default."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Choices(griffe.Extension):
    """Reads ``{"a", "b"}`` of a parameter as ``"a" or "b"``: defaults are those of the signature."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object before it is parsed."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"(?m)^(\w[\w, ]* : )\{(.*)\}", _as_alternatives, obj.docstring.value)


def _as_alternatives(choices: re.Match[str]) -> str:
    return choices[1] + choices[2].replace(", ", " or ")
