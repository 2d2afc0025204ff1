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


@pytest.mark.slow
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
    assert "line 1: says makespan_s 1" in printed
    found = shell.json("suite", "rank", "tampered.jsonl", "ours.jsonl")
    assert (found["refused"], {one["what"] for one in found["rankings"]}) == (2, {"plans", "open"})
    assert "2 rows are refused" in shell.err  # the plan that says too much, and the days that are there twice
    (tmp_path / "others.jsonl").write_text(tampered.replace("ours: ", "others: "), encoding="utf-8")
    printed = shell.run("suite", "rank", "ours.jsonl", "others.jsonl")
    assert all(words in printed for words in ("plans: 1 instance", "others: greedy under hads", "p (Holm)"))
    shown = shell.json("suite", "show", "suite-1")
    assert shown["sha256"] == find_suite("suite-1").sha256
    assert [one["seed"] for one in shown["days"]] == [481, None]
    shell.run("suite", "show", "suite-1")
    shell.run("suite", "show", "suite-0", code=2)


def test_reasons_of_refused_rows_have_a_place(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(SPEC.replace("seed = 481", "seed = 482"), encoding="utf-8")
    shell.run("experiment", "run", "mine.toml", "--out", "mine")
    [written] = shell.json("suite", "submit", "mine", "--suite", "suite-1", "--out", "ours.jsonl")["warnings"]
    assert "mine/rows.jsonl, line 2: left out: suite-1: the days of memory/two-sizes hads/sc4 are not those" in written
    assert "1 of 1 rows are what they say" in shell.run("suite", "check", "ours.jsonl")
    text = (tmp_path / "ours.jsonl").read_text(encoding="utf-8")
    (tmp_path / "none.jsonl").write_text(text.replace('"suite-1"', '"suite-0"'), encoding="utf-8")
    assert "refused: none.jsonl, line 1: suite: 'suite-0' is unknown" in shell.run(
        "suite", "check", "none.jsonl", code=1
    )
    shell.run("suite", "rank", "none.jsonl", code=1)


def test_what_is_no_submission_is_bad_input(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "text.jsonl"
    path.write_text("hello world\n", encoding="utf-8")
    for command in ("check", "rank"):
        shell.run("suite", command, str(path), code=2)
        assert "text.jsonl: holds no row of a submission" in shell.err
    (tmp_path / "mine.toml").write_text(SPEC.replace("memory/two-sizes", "tiny/boot"), encoding="utf-8")
    shell.run("experiment", "run", str(tmp_path / "mine.toml"), "--out", str(tmp_path / "mine"))
    shell.run("suite", "submit", str(tmp_path / "mine"), "--suite", "suite-1", "--out", str(tmp_path / "n"), code=2)
    assert "has no row that could be submitted for suite-1" in shell.err
    assert not (tmp_path / "n").exists()
