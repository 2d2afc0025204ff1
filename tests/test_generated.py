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


def test_a_file_that_no_generator_makes_is_named(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = checkout / "instances" / "data"
    for name in ("hads/old.json", "best_known.json", "best_known/hads/J60.json"):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text("{}")
    assert generated.main([]) == 0
    capsys.readouterr()
    assert generated.main(["--check"]) == 1
    assert capsys.readouterr().out == "stale: instances/data/hads/old.json (made by no generator)\n"


@pytest.mark.parametrize(
    "block",
    [
        "```console\n$ spotbag size tiny/two-jobs\nits `output`\n```\n",
        "```console\n$ other command\n```\n",
        "- ```console\n  $ spotbag size tiny/two-jobs\n  ```\n",
    ],
)
def test_a_block_that_would_not_be_run_is_refused(
    checkout: Path, block: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "README.md").write_text(f"Sizes:\n\n{block}")
    assert generated.main(["--check"]) == 2
    assert "README.md: a block 'console' is '$ spotbag ...'" in capsys.readouterr().err
