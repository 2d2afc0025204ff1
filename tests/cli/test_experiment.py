"""``spotbag experiment``."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_shell import Shell

from spotbag.benchmarks.bags.experiments.specification import ready_names


def test_commands_of_experiments(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('instances = ["tiny/boot"]\nmethods = ["lpt"]\n', encoding="utf-8")
    for folder in ("one", "two"):
        made = shell.json("experiment", "run", "mine.toml", "--out", folder)
        assert (made["cells"], made["run"], made["interrupted"]) == (1, 1, False)
    assert shell.json("experiment", "compare", "one", "two")["methods"][0]["same"] == 1
    [result] = shell.json("experiment", "results", "one")["results"]
    assert (result["plans"], result["status"], result["gap"]) == (1, "optimal", pytest.approx(0, abs=1e-9))
    assert "tiny/boot" in shell.run("experiment", "results", "one")
    assert {entry["name"] for entry in shell.json("experiment", "list")["experiments"]} == set(ready_names())


def test_what_cannot_be_run_is_bad_input(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shell.run("experiment", "run", "gasp", "--out", "x", code=2)
    assert "none of the experiments that are ready" in shell.err
    shell.run("experiment", "compare", "x", "x", code=2)
    assert "has no experiment.json" in shell.err
    assert not (tmp_path / "x").exists()
    (tmp_path / "mine.toml").write_text('instances = ["tiny/boot"]\nmethods = ["lpt"]\n', encoding="utf-8")
    shell.run("experiment", "run", "mine.toml", "--out", "mine.toml", code=2)
    assert "cannot be written" in shell.err
