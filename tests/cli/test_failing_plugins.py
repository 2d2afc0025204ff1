"""Whatever plug-ins raise or print, commands say whose fault it is, and standard output is their answer alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command_shell import Shell
from tests.helpers.failing_plugins import ENDS

_HERE = "tests.helpers.failing_plugins"
_REPLAY = ("replay", "tiny/boot", "-m", "greedy", "--survive", "none", "-s", "hads/sc4", "--runs", "2")
_LONGEST = 50_000

COMMANDS = {
    "bag": (*_REPLAY, "--policy"),
    "unborn": (*_REPLAY, "--policy"),
    "stream": ("stream", "tiny/two-jobs", "--once", "-p"),
    "platform": ("platform", "tiny/hybrid", "--once", "-p"),
    "method": ("solve", "tiny/boot", "-m"),
    "options": ("solve", "tiny/boot", "-m"),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", COMMANDS)
def test_a_plugin_that_ends_by_any_exception_is_blamed(shell: Shell, kind: str, end: str) -> None:
    out = shell.run(*COMMANDS[kind], f"{_HERE}:{kind}_{end}", "--json", code=2)
    assert json.loads(out)["status"] == "error"
    assert "debugging" in shell.err
    assert f"{kind}_{end}" in shell.err or end == "long_and_ours"
    assert len(shell.err) + len(out) < 2 * _LONGEST


def test_a_module_that_exits_is_blamed(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    (shell.folder / "leaves_at_once.py").write_text("print('debugging')\nclass End(BaseException): pass\nraise End\n")
    monkeypatch.syspath_prepend(shell.folder)
    assert json.loads(shell.run("solve", "tiny/boot", "-m", "leaves_at_once:x", "--json", code=2))
    assert "cannot be loaded: End (leaves_at_once.py, line 3)" in shell.err


def test_what_a_plugin_prints_and_says_at_length_leaves_the_answer_whole(shell: Shell) -> None:
    out = shell.run("solve", "tiny/boot", "-m", f"{_HERE}:chatty", "--json", code=1)
    assert json.loads(out)["format"] == "spotbag.solve/1"
    assert shell.err.startswith("debugging\n")
    assert len(shell.err) + len(out) < _LONGEST


@pytest.mark.slow
def test_an_experiment_with_a_plugin_that_exits_has_rows_that_say_so(shell: Shell) -> None:
    spec = shell.folder / "exits.toml"
    policy = f"policies = ['{_HERE}:bag_exits']\ndays = 2\n"
    spec.write_text(
        f"instances = ['tiny/boot']\nmethods = ['lpt', '{_HERE}:method_exits']\n"
        f"[days]\nscenarios = ['hads/sc4']\n{policy}days_a_cell = 1\n"
    )
    done = shell.json("experiment", "run", str(spec), "--out", str(shell.folder / "rows"))
    # Two methods; two cells of one day for each: the second method has no plan to replay.
    assert (done["cells"], done["run"], done["interrupted"]) == (6, 6, False)
    rows = [json.loads(line) for line in (shell.folder / "rows" / "rows.jsonl").read_text().splitlines()]
    assert sorted(row["status"] for row in rows) == ["error"] * 3 + ["no-plan"] * 2 + ["optimal"]


@pytest.mark.slow
@pytest.mark.xdist_group("processes")
def test_other_processes_print_beside_the_answer_too(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from joblib.externals.loky import get_reusable_executor

    get_reusable_executor().shutdown()  # processes of other tests print where standard error was then
    shell = Shell(capfd, tmp_path)  # type: ignore[arg-type]
    out = shell.run(*_REPLAY, "--policy", f"{_HERE}:bag_exits", "--workers", "2", "--json", code=2)
    assert json.loads(out)["message"].startswith(f"the policy {_HERE}:bag_exits failed: SystemExit: 0")
    assert "debugging" in shell.err
