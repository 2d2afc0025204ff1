"""Distributions with entry points, as they lie in a folder when they are installed."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import pytest

_numbers = itertools.count()


class Distributions:
    """Installs distributions in a folder for the time of a test.

    Parameters
    ----------
    folder : Path
        An empty folder.
    monkeypatch : MonkeyPatch
        Undoes it.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        monkeypatch.syspath_prepend(folder)

    def module(self, text: str) -> str:
        """Write a module; return its name, which no other has."""
        name = f"plugged_{next(_numbers)}"
        (self.folder / f"{name}.py").write_text(text, encoding="utf-8")
        self._monkeypatch.setitem(sys.modules, name, None)  # undone, it is as if it had never been imported
        del sys.modules[name]
        return name

    def install(self, name: str, text: str, **groups: dict[str, str]) -> str:
        """Install a distribution with one module, and entry points: attributes of it by their names; return its name.

        Groups are ``methods`` and ``policies``.
        """
        module = self.module(text)
        lines = [
            line
            for group, entries in groups.items()
            for line in (f"[spotbag.{group}]", *(f"{entry} = {module}:{what}" for entry, what in entries.items()))
        ]
        place = self.folder / f"{name}-1.0.dist-info"
        place.mkdir()
        (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        (place / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return module
