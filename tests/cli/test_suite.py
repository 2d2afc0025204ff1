"""``spotbag suite``: what a stranger does to submit rows, to check them and to rank them."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotbag.experiments.bags.suite import find_suite
from tests.helpers.command_shell import Shell

SPEC = """
instances = ["memory/two-sizes"]
methods = ["greedy"]
[days]
scenarios = ["hads/sc4"]
policies = ["hads"]
days = 10
seed = 481
"""


def test_a_stranger_submits_checks_and_ranks(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(SPEC, encoding="utf-8")
    shell.run("experiment", "run", "mine.toml", "--out", "mine")
    shell.run("suite", "submit", "mine", "--suite", "suite-1", "--name", "ours", "--out", "ours.jsonl")
    assert "2 of 2 rows are what they say" in shell.run("suite", "check", "ours.jsonl")
    tampered = (tmp_path / "ours.jsonl").read_text(encoding="utf-8").replace('"makespan_s": ', '"makespan_s": 1', 1)
    (tmp_path / "tampered.jsonl").write_text(tampered, encoding="utf-8")
    printed = shell.run("suite", "check", "tampered.jsonl", code=1)
    assert "refused: tampered.jsonl, line 1" in printed
    assert "says makespan_s 1" in printed
    found = shell.json("suite", "rank", "tampered.jsonl", "ours.jsonl")
    assert (found["refused"], {one["what"] for one in found["rankings"]}) == (1, {"plans", "open"})
    assert "1 row is refused" in shell.err
    (tmp_path / "others.jsonl").write_text(tampered.replace("ours: ", "others: "), encoding="utf-8")
    printed = shell.run("suite", "rank", "ours.jsonl", "others.jsonl")
    assert all(words in printed for words in ("plans: 1 instance", "others: greedy under hads", "p (Holm)"))
    shown = shell.json("suite", "show", "suite-1")
    assert shown["sha256"] == find_suite("suite-1").sha256
    assert [one["seed"] for one in shown["days"]] == [481, None]
    shell.run("suite", "show", "suite-1")
    shell.run("suite", "show", "suite-0", code=2)
