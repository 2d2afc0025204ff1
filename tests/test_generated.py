"""Files that commands write are written anew, or named where they are stale."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spotbag import generated
from spotbag.instances.instance import Instance


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like a checkout, with a README of one command, and nothing else that is generated."""
    (tmp_path / "pyproject.toml").touch()
    for folder in ("instances/streams", "instances/platforms", "instances/bags", "schedules"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "README.md").write_text("Sizes:\n\n```console\n$ spotbag size tiny/two-jobs\nold\n```\n\nThe end.\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(generated, "library", dict)
    return tmp_path


def test_what_is_stale_is_named_and_left_alone(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generated.main(["--check"]) == 1
    named = capsys.readouterr().out.splitlines()
    assert "stale: README.md" in named
    assert "stale: instances/instance.schema.json" in named
    assert "old" in (checkout / "README.md").read_text()
    assert not (checkout / "instances" / "instance.schema.json").exists()


def test_what_is_written_is_not_stale(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generated.main([]) == 0
    assert "written: README.md" in capsys.readouterr().out
    page = (checkout / "README.md").read_text()
    assert "\nold\n" not in page
    assert page.startswith("Sizes:\n\n```console\n$ spotbag size tiny/two-jobs\ntiny/two-jobs: ")
    assert page.endswith("\n```\n\nThe end.\n")
    schema = json.loads((checkout / "instances" / "instance.schema.json").read_text())
    assert schema == Instance.model_json_schema()
    assert generated.main(["--check"]) == 0
    assert generated.main([]) == 0
    assert capsys.readouterr().out == ""


def test_elsewhere_it_says_where_it_belongs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert generated.main(["--check"]) == 2
    assert "is no checkout of spotbag" in capsys.readouterr().err
