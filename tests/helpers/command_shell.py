"""Commands as a user types them."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from spotbag.cli import main
from spotbag.cli.answer_schema import schema_of
from spotbag.cli.answers import KINDS
from spotbag.core.limits import stop_point
from tests.helpers.stops import interrupt_command


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
        """Run a command with --json; return its object, which must be of its published schema."""
        found: dict[str, Any] = json.loads(self.run(*words, "--json", code=code))
        kind = kind_of(found)
        if kind in KINDS:
            judge(kind).validate(found)
        else:
            assert kind == "schedule"
        return found


@cache
def judge(kind: str) -> Draft202012Validator:
    """Return what judges objects of a kind: by its schema, and that there is no key which the schema does not have."""
    schema = schema_of(kind)
    for record in (schema, *schema.get("$defs", {}).values()):
        if "properties" in record:
            record.setdefault("additionalProperties", False)
    return Draft202012Validator(schema)


def kind_of(found: dict[str, Any]) -> str:
    """Kind of an object that a command printed, by its format."""
    return str(found["format"]).removeprefix("spotbag.").partition("/")[0]


def type_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Give the next command a text on standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def interrupt_after_runs(monkeypatch: pytest.MonkeyPatch, runs: ModuleType, number: int) -> None:
    """Have the user interrupt a command when so many of its runs are done."""
    usual = runs.replay_batches

    def replay(work: Callable[[range], Iterable[Any]], numbers: range, **options: Any) -> Any:
        def interrupted(numbers: range) -> Iterator[Any]:
            yield from islice(work(numbers), number)
            interrupt_command()
            stop_point()

        return usual(interrupted, numbers, **options)

    monkeypatch.setattr(runs, "replay_batches", replay)
