"""Methods and policies of one's own on the command line."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

from spotbag.cli import main
from tests.helpers.command_shell import Shell
from tests.helpers.distributions import Distributions

_QUICK = ("--survive", "none")

_POLICY = """
from spotbag.plugins import Policy

class Mine(Policy):
    name = "mine"

    def idle(self, replay, vm):
        replay.terminate(vm)
"""


@pytest.fixture(autouse=True)
def path_of_python_is_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])


def test_a_method_of_a_module_in_the_current_folder_plans(shell: Shell) -> None:
    (shell.folder / "here_is_one.py").write_text("from tests.helpers.own_methods import InTurn, fails")
    solved = shell.json("solve", "tiny/boot", "-m", "here_is_one:InTurn", "-o", "vms=1", *_QUICK, "--out", "plan.json")
    assert solved["method"] == "here_is_one:InTurn"
    shell.run("check", "tiny/boot", "plan.json")
    rows = shell.json("compare", "tiny/boot", "-m", "here_is_one:InTurn,here_is_one:fails,greedy", *_QUICK)["rows"]
    assert [(row["method"], row["status"]) for row in rows] == [
        ("here_is_one:InTurn", "optimal"),
        ("here_is_one:fails", "error"),
        ("greedy", "feasible"),
    ]
    assert rows[1]["reason"].startswith("the method here_is_one:fails failed: ZeroDivisionError")


def test_a_policy_of_a_module_in_the_current_folder_replays(shell: Shell) -> None:
    (shell.folder / "my_policies.py").write_text(_POLICY)
    policy = "my_policies:Mine"
    days = shell.json("replay", "tiny/boot", "-m", "greedy", *_QUICK, "-p", f"{policy},static", "--runs", "2")
    assert [summary["policy"] for summary in days["policies"]] == [policy, "static"]
    shell.run("replay", "tiny/boot", "-m", "greedy", *_QUICK, "-p", policy, "--day", "0", "--trace", "day.jsonl")
    shell.run("audit", "day.jsonl")


def test_a_plug_in_that_fails_ends_a_command_with_one_line(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("solve", "tiny/boot", "-m", "tests.helpers.own_methods:fails")
    shell.run(*words, code=2)
    assert shell.err.startswith(
        "error: the method tests.helpers.own_methods:fails failed: ZeroDivisionError: division by zero (own_"
    )
    assert shell.err.count("\n") == 1
    monkeypatch.setenv("SPOTBAG_DEBUG", "1")
    assert main([*words]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_plug_in_that_is_left_out_is_warned_of_as_all_is(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Distributions(tmp_path, monkeypatch).install(
        "broken",
        "from tests.helpers.own_methods import InTurn",
        methods={"in-turn": "InTurn", "gone": "nothing"},
        policies={"p": "q"},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert shell.json("methods")["methods"]["in-turn"]["distribution"] == "broken 1.0"
        assert shell.err.startswith(
            "warning: the method 'gone' of the distribution broken 1.0 is left out: it cannot be"
        )
        assert shell.err.count("\n") == 1
        assert "hads" in shell.run("policies")
        assert shell.err.startswith("warning: the policy 'p' of the distribution broken 1.0 is left out")
