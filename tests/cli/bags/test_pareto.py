"""``spotbag pareto``, as a user types it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from spotbag.cli import main
from spotbag.instances.instance import Instance
from spotbag.solvers.bags.solve import solve
from tests.helpers.command_shell import Shell
from tests.helpers.fake_time import fake_time
from tests.helpers.tiny_core_instances import few_classes_instance, hand_instance


@pytest.fixture
def shell(shell: Shell) -> Shell:
    """A folder with a bag, and one that cannot end in time."""
    (shell.folder / "bag.json").write_text(few_classes_instance([3, 5, 4]).to_text())
    (shell.folder / "late.json").write_text(hand_instance([8, 8, 8], deadline_s=12, d_spot_s=12).to_text())
    return shell


def test_the_table_has_a_row_for_each_point(shell: Shell) -> None:
    found = shell.json("pareto", "bag.json")
    out = shell.run("pareto", "bag.json")
    for part in ("makespan (s)", "cost ($)", "VMs", "proven", "c spot", "the whole front", "class-programme"):
        assert part in out
    assert f"{len(found['points'])} points, {len(found['points'])} proven" in out
    for point in found["points"]:
        assert f"{point['cost_usd']:.6f}" in out


def test_with_survive_each_point_says_whether_it_does_and_its_worst_case(shell: Shell) -> None:
    points = shell.json("pareto", "bag.json", "--survive", "one-type", "--out", "front.csv")["points"]
    assert {point["survives"] for point in points} <= {"survives", "does-not-survive", "not-shown"}
    for point in points:
        assert (point["worst_cost_usd"] is not None) == (point["survives"] == "survives")
        assert point["worst_cost_usd"] is None or point["worst_cost_usd"] >= point["cost_usd"]
    with (shell.folder / "front.csv").open() as file:
        assert [row["survives"] for row in csv.DictReader(file)] == [point["survives"] for point in points]
    out = shell.run("pareto", "bag.json", "--survive", "one-type")
    assert "worst case" in out
    assert "changes nothing" not in shell.err


def test_json_has_what_programs_need(shell: Shell) -> None:
    found = shell.json("pareto", "bag.json")
    assert (found["status"], found["complete"], found["proven"], found["heuristics"]) == ("complete", True, True, [])
    assert (found["deadline_s"], found["d_spot_s"]) == (2700, 2100)
    keys = {"makespan_s", "cost_usd", "bound_cost_usd", "proven", "vms"}
    assert all(set(point) == keys for point in found["points"])
    makespans = [point["makespan_s"] for point in found["points"]]
    assert makespans == sorted(makespans)


def test_the_command_line_overrides_the_instance(shell: Shell) -> None:
    whole = shell.json("pareto", "bag.json")["points"]
    limit = whole[-2]["makespan_s"]
    shorter = shell.json("pareto", "bag.json", "--d-spot", str(limit), "--markets", "spot", "--deadline", "2600")
    assert shorter["deadline_s"] == 2600
    assert shorter["points"] == whole[:-1]
    assert len(shell.json("pareto", "bag.json", "--points", "2")["points"]) == 2


def test_files_of_points_and_plans(shell: Shell) -> None:
    found = shell.json("pareto", "bag.json", "--out", "front.csv", "--plans", "plans")
    with open("front.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["makespan_s"]) for row in rows] == [point["makespan_s"] for point in found["points"]]
    assert [float(row["cost_usd"]) for row in rows] == [point["cost_usd"] for point in found["points"]]
    assert {row["proven"] for row in rows} == {"yes"}
    for point in found["points"]:
        assert main(["check", "bag.json", f"plans/plan-{point['makespan_s']}s.json"]) == 0
    shell.run("pareto", "bag.json", "--out", "front.json")
    assert json.loads(Path("front.json").read_text())["points"] == found["points"]


@pytest.mark.slow
def test_the_picture_has_the_heuristics_and_the_table_how_far_they_are(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_time(monkeypatch)
    plans: dict[str, Any] = {}

    def once(instance: Instance, method: str, **given: Any) -> Any:
        if method not in plans:
            plans[method] = solve(instance, method, **given)
        return plans[method]

    monkeypatch.setattr("spotbag.solvers.bags.solve.solve", once)  # both commands draw the same plans
    found = shell.json("pareto", "bag.json", "--plot", "front.svg", "--time-limit", "3600")
    text = Path("front.svg").read_text()
    for part in ("greedy", "lpt", "ils", "search", "makespan (s)", "front, proven"):
        assert part in text
    assert [row["method"] for row in found["heuristics"]] == ["greedy", "lpt", "ils", "search"]
    for row in found["heuristics"]:
        assert row["cost_of_front_usd"] <= row["cost_usd"] * (1 + 1e-9)
    assert "above the front (%)" in shell.run("pareto", "bag.json", "--plot", "front.png", "--time-limit", "3600")
    assert Path("front.png").read_bytes().startswith(b"\x89PNG")


def test_no_plan_is_exit_code_1_with_the_reason(shell: Shell) -> None:
    out = shell.run("pareto", "late.json", "--plot", "front.png", "--out", "front.csv", "--plans", "plans", code=1)
    assert "proved: no plan exists" in out
    assert "no plan exists: " in out
    assert sorted(path.name for path in Path().iterdir()) == ["bag.json", "late.json"]
    assert shell.json("pareto", "late.json", code=1)["status"] == "infeasible"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.json"], "none.json: no such file"),
        (["bag.json", "--plot", "front.gif"], "must end in .png, .svg, .pdf, .html"),
        (["bag.json", "--out", "front.txt"], "the points are written as .json or .csv"),
        (["bag.json", "--out", "bag.json"], "is another file of this command"),
        (["bag.json", "--out", "no/front.csv"], "the folder does not exist"),
        (["bag.json", "--plans", "bag.json"], "is a file; the plans need a folder"),
        (["bag.json", "--plans", "no/plans"], "the folder around it does not exist"),
        (["bag.json", "--time-limit", "0"], "must be a positive number"),
        (["bag.json", "--markets", "spt"], "must be spot or on-demand"),
    ],
)
def test_bad_input_is_exit_code_2_with_one_clear_message(shell: Shell, words: list[str], said: str) -> None:
    shell.run("pareto", *words, code=2)
    assert said in shell.err
    assert shell.out == ""


def test_one_point_is_no_front(shell: Shell) -> None:
    shell.run("pareto", "bag.json", "--points", "1", code=2)
    assert "--points" in shell.err
