"""``spotbag export`` and ``spotbag import-log``, from the plan to the state after it was run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spotbag.schedules.state import State
from tests.helpers.command_shell import Shell
from tests.helpers.exported_plans import BAG_WITH_COMMANDS, drive


@pytest.fixture
def planned(shell: Shell) -> Path:
    (shell.folder / "bag.json").write_text(json.dumps(BAG_WITH_COMMANDS))
    shell.run("solve", "bag.json", "-m", "greedy", "--out", "plan.json")
    return shell.folder


def test_a_plan_is_exported_run_and_read_back(shell: Shell, planned: Path) -> None:
    found = shell.json("export", "plan.json", "--out", "run", "--instance", "bag.json")
    [vm] = found["vms"]
    assert vm == {
        "vm": "two-spot-1",
        "type": "two",
        "market": "spot",
        "folder": "run/two-spot-1",
        "file": None,
        "cores": 2,
        "tasks": 2,
        "end_s": 7,
    }
    drive(planned / vm["folder"])
    files = ("--gantt", "run.svg", "--out", "state.json", "--trace", "run.jsonl")
    read = shell.json("import-log", "bag.json", "plan.json", "run", *files)
    assert [(row["task"], row["status"], row["exit_code"]) for row in read["rows"]] == [
        ("a", "done", 0),
        ("b", "failed", 4),
    ]
    assert (read["done"], read["failures"], read["unfinished"], read["inversions"]) == (1, 1, ["b"], [])
    assert State.read("state.json").done == ("a",)
    verdict = shell.json("audit", "run.jsonl", "--instance", "bag.json")
    assert (verdict["status"], verdict["runs"][0]["policy"]) == ("correct", "executed")
    shell.run("report", "run.jsonl", "--out", "run.html", code=2)
    assert "is of a plan that was really run" in shell.err
    assert "planned and actual" in (planned / "run.svg").read_text()
    text = shell.run("import-log", "bag.json", "plan.json", "run/two-spot-1/log.jsonl", "--full")
    assert "own: 1 of 2 tasks are done" in text
    assert "failures     1 (not done: b)" in text
    assert (planned / "run/two-spot-1/output/1-a.out").read_text() == "it's a\n"


def test_tasks_that_end_after_they_are_due_are_named(shell: Shell, planned: Path) -> None:
    shell.run("export", "plan.json", "--out", "run", "--instance", "bag.json")
    drive(planned / "run/two-spot-1")
    read = ("import-log", "bag.json", "plan.json", "run", "--began-at")
    at_s = json.loads((planned / "run/two-spot-1/log.jsonl").read_text().splitlines()[0])["at"]
    assert shell.json(*read, f"{at_s - 5:.2f}")["late"] == []
    assert shell.json(*read, f"{at_s - 40:.2f}")["late"] == ["a"]
    assert "late         1 (a)" in shell.run(*read, f"{at_s - 40:.2f}")


def test_without_an_instance_a_plan_is_exported_and_tasks_wait_wherever_memory_could_bind(
    shell: Shell, planned: Path
) -> None:
    out = shell.run("export", "plan.json", "--to", "skypilot", "--infra", "aws", "--out", "run")
    assert "sky launch run/two-spot-1.yaml" in out
    assert (planned / "run" / "two-spot-1.yaml").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("export plan.json --out run --to bash", "--to bash: must be shell or skypilot"),
        ("export plan.json --out .", ".: is not an empty folder"),
        ("export plan.json --out run --infra aws", "--to skypilot"),
        ("export none.json --out run", "no such file"),
        ("import-log bag.json plan.json .", "has no log.jsonl"),
        ("import-log bag.json plan.json run --gantt x.gif", "must end in .png"),
        ("import-log bag.json plan.json plan.json", "spotbag.schedule/1"),
        ("import-log bag.json plan.json run --lost z", "the plan has no VM 'z'"),
    ],
)
def test_bad_input_is_said_and_nothing_is_written(shell: Shell, planned: Path, words: str, message: str) -> None:
    before = sorted(planned.iterdir())
    shell.run(*words.split(), code=2)
    assert message in shell.err
    assert sorted(planned.iterdir()) == before


def test_a_plan_without_commands_says_the_way_out(shell: Shell) -> None:
    shell.run("solve", "tiny/two-cores", "-m", "greedy", "--out", "plan.json")
    shell.run("export", "plan.json", "--out", "run", code=2)
    assert "command is missing, and 2 other tasks have none either" in shell.err
    assert "'command' in the bag" in shell.err
