"""``--late least`` of solve, replan and check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command_shell import Shell
from tests.solvers.bags.test_late import nightly, under_way


@pytest.fixture
def bag(shell: Shell) -> str:
    """The file of a bag with a task that takes longer than the deadline."""
    document = nightly().to_document()
    del document["late"]
    path = shell.folder / "bag.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return str(path)


def test_a_late_plan_has_an_exit_code_of_its_own(shell: Shell, bag: str) -> None:
    shell.run("solve", bag, code=2)
    out = shell.run("solve", bag, "--late", "least", "--out", "plan.json", "--gantt", "plan.svg", code=3)
    assert "late         2 tasks, proved to be the fewest, 620 s in all" in out
    assert "a deadline of 760 s" in out
    assert (shell.folder / "plan.svg").exists()
    shell.run("check", bag, "plan.json", code=2)
    assert shell.run("check", bag, "plan.json", "--late", "least", code=3).startswith("nightly: late")
    found = shell.json("check", bag, "plan.json", "--late", "least", code=3)
    assert (found["status"], found["late"]["weight"], found["violations"]) == ("late", 2, [])
    assert "620 s in all (as the plan says)" in shell.run("show", "plan.json", "--instance", bag)


def test_json_has_the_late_tasks(shell: Shell, bag: str) -> None:
    found = shell.json("solve", bag, "--late", "least", code=3)
    assert found["status"] == "late"
    assert [task["late_s"] for task in found["late"]["tasks"]] == [560, 60]
    assert found["plan"]["late"]["lateness_s"] == 620
    assert found["bound"] is found["gap"] is None


def test_replan_late(shell: Shell, bag: str) -> None:
    under_way(100, 3).write(Path(shell.folder / "state.json"))
    found = shell.json("replan", bag, "state.json", "--late", "least", code=3)
    assert [task["id"] for task in found["late"]["tasks"]] == ["index"]


def test_late_is_least_or_an_amount(shell: Shell, bag: str) -> None:
    shell.run("solve", bag, "--late", "soon", code=2)
    assert "'soon' must be an amount in dollars, such as 1.50 or $1.50; or least" in shell.err
    shell.run("solve", bag, "--late", "3", code=2)
    assert "--late is about the days to come: give --scenario as well" in shell.err
