"""Files that commands write are written anew, or named where they are stale."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from spotbag.cli import main
from spotbag.instances.instance import Instance
from spotbag_papers import generated


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like a checkout, with a README of one command, and nothing else that is generated."""
    (tmp_path / "pyproject.toml").touch()
    for path in generated.documents():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "README.md").write_text("Sizes:\n\n```console\n$ spotbag size tiny/two-jobs\nold\n```\n\nThe end.\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(generated, "library", dict)
    monkeypatch.setattr(generated, "index", lambda root: {})
    return tmp_path


def test_what_is_stale_is_named_and_left_alone(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert generated.main(["--check"]) == 1
    printed = capsys.readouterr()
    named = printed.out.splitlines()
    assert "stale: README.md" in named
    assert "stale: instances/instance.schema.json" in named
    assert "by: python -m spotbag_papers.generated\n" in printed.err
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


@pytest.mark.slow
def test_times_that_are_measured_are_left_out(checkout: Path) -> None:
    (checkout / "README.md").write_text("```console\n$ spotbag compare tiny/boot -m greedy,lpt\n```\n")
    assert generated.main([]) == 0
    page = (checkout / "README.md").read_text()
    assert re.search(r" +objective .* status$", page, re.MULTILINE)
    assert "time (s)" not in page
    assert main(["compare", "tiny/boot", "-m", "greedy"]) == 0


TABLES = """\
Before.

<!-- checked: python -m spotbag_papers.few --table two -->
old
<!-- end -->

<!-- measured: python -m spotbag_papers.slow -->
measured
<!-- end -->
"""


@pytest.mark.parametrize(("words", "ran"), [([], ["few"]), (["--measured", "slow"], ["few", "slow"])])
def test_tables_between_marks_are_those_of_their_module(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], ran: list[str]
) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], **how: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        name = command[2].rpartition(".")[2]
        table = f"| {name} |\n|---:|\n| 1 |\n"
        return subprocess.CompletedProcess(command, 0, f"\ntitle\n\n{table}\nmore\n\n{table}")

    monkeypatch.setattr(generated.subprocess, "run", run)
    (checkout / "README.md").write_text(TABLES)
    assert generated.main(words) == 0
    assert [command[2].rpartition(".")[2] for command in commands] == ran
    assert commands[0][1:] == ["-m", "spotbag_papers.few", "--table", "two"]
    page = (checkout / "README.md").read_text()
    few = "| few |\n|---:|\n| 1 |\n"
    mark = "<!-- checked: python -m spotbag_papers.few --table two -->"
    assert page.startswith(f"Before.\n\n{mark}\n\n{few}\n{few}\n<!-- end -->\n\n<!--")
    assert ("measured\n" in page) == (ran == ["few"])
    assert ("| slow |" in page) == ("slow" in ran)
    assert generated.main(["--check"]) == 0


def test_what_is_measured_is_not_checked(checkout: Path) -> None:
    with pytest.raises(SystemExit):
        generated.main(["--check", "--measured", "slow"])


def test_a_module_without_tables_is_an_error(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    block = "<!-- checked: python -m spotbag_papers.none -->\n<!-- end -->\n"
    (checkout / "README.md").write_text(block)
    assert generated.main([]) == 2
    assert "python -m spotbag_papers.none ends with 1, 0 tables" in capsys.readouterr().err


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
        (data / name).write_text('{"provenance": {"generator": "python -m old"}}' if name == "hads/old.json" else "{}")
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


@pytest.mark.parametrize(
    "block",
    [
        "<!-- checked: python -m spotbag_papers.few -->\n| no end |\n",
        "<!-- checked: spotbag size tiny/two-jobs -->\n<!-- end -->\n",
    ],
)
def test_a_table_that_would_not_be_written_is_refused(
    checkout: Path, block: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "README.md").write_text(block)
    assert generated.main(["--check"]) == 2
    assert "README.md: a table is between" in capsys.readouterr().err
