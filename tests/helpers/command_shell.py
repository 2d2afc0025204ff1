"""Commands as a user types them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spotbag.cli import main


class Shell:
    """Runs commands in a folder and keeps what they print."""

    def __init__(self, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        self.capsys = capsys
        self.folder = folder

    def run(self, *words: str, code: int = 0) -> str:
        """Run a command that must end with an exit code; return its standard output."""
        self.capsys.readouterr()
        assert main([*words]) == code, self.capsys.readouterr()
        self.out, self.err = self.capsys.readouterr()
        assert "Traceback" not in self.out + self.err
        return self.out

    def json(self, *words: str, code: int = 0) -> dict[str, Any]:
        """Run a command with --json; return its object."""
        found: dict[str, Any] = json.loads(self.run(*words, "--json", code=code))
        return found
