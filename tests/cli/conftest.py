"""What the tests of the commands share."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from spotbag.cli.app import make_app
from tests.helpers.command_shell import Shell


@cache
def commands(asked: str | None) -> Any:
    return get_command(make_app(asked))


@pytest.fixture(autouse=True)
def commands_are_put_together_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Putting them together takes longer than most commands here."""
    monkeypatch.setattr("spotbag.cli.app.make_app", commands)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(capsys, tmp_path)
