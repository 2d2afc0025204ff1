"""Commands as a user types them."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import ModuleType
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


def type_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Give the next command a text on standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def interrupt_after_one_batch(monkeypatch: pytest.MonkeyPatch, runs: ModuleType) -> None:
    """Have the user interrupt a command at the second batch of its runs, and at any later one."""
    batch, calls = runs._batch, []

    def stopped(*given: Any) -> Any:
        calls.append(given)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return batch(*given)

    monkeypatch.setattr(runs, "_batch", stopped)
