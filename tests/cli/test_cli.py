"""Every command, as a user types it."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys

import pytest

from spotbag.core.quantities import amount_usd, duration_s
from spotbag.instances.bags.generator import generate_instance
from spotbag.instances.library import library_instance, platform_names
from spotbag.schedules.schedule_files import write_schedule
from spotbag.schedules.state import State
from spotbag.solvers.bags.solve import solve
from tests.helpers.command_shell import Shell, type_in
from tests.helpers.rescues import carried_on


def test_solve_prints_what_to_rent_and_what_it_comes_to(shell: Shell) -> None:
    out = shell.run("solve", "burst-hads/J60", "-m", "greedy")
    for part in (
        "feasible: a plan that the checker passed",
        "makespan",
        "D_spot",
        "c4.large",
        "cost ($)",
        "last end (s)",
    ):
        assert part in out


def test_solve_json_has_the_keys_that_programs_need(shell: Shell) -> None:
    found = shell.json("solve", "burst-hads/J60", "-m", "greedy", "--seed", "4")
    keys = "status method objective bound gap cost_usd makespan_s d_spot_s vms runtime_s seed"
    assert set(keys.split()) <= found.keys()
    assert found["status"] == "feasible"
    assert found["seed"] == 4


def test_solve_explains_which_steps_ran(shell: Shell) -> None:
    out = shell.run("solve", "tiny/two-cores", "-m", "greedy", "--survive", "none", "--explain")
    steps = [line.split()[2] for line in out.split("began (s)")[1].splitlines() if line.strip()[:2] == "0."]
    assert steps[0] == "greedy"
    assert steps[-1] == "check"
    assert "began (s)" not in shell.run("solve", "tiny/two-cores", "-m", "greedy", "--survive", "none")


def test_solve_check_show_go_together(shell: Shell) -> None:
    solved = shell.json("solve", "tiny/two-cores", "-m", "greedy", "--out", "plan.json", "--gantt", "plan.svg")
    assert "</svg>" in (shell.folder / "plan.svg").read_text()
    checked = shell.json("check", "tiny/two-cores", "plan.json")
    assert checked["status"] == "feasible"
    assert checked["cost_usd"] == pytest.approx(solved["cost_usd"])
    assert "plan by greedy for tiny/two-cores" in shell.run("show", "plan.json")
    assert shell.json("show", "plan.json")["makespan_s"] == solved["makespan_s"]
    shell.run("show", "plan.json", "--gantt", "again.svg")
    assert (shell.folder / "again.svg").read_text() == (shell.folder / "plan.svg").read_text()


def test_an_instance_can_come_from_standard_input(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    text = library_instance("tiny/boot").to_text()
    type_in(monkeypatch, text)
    assert shell.json("solve", "-")["instance"] == "tiny/boot"


def test_the_command_line_overrides_the_instance(shell: Shell) -> None:
    options = [
        "--deadline",
        "2600",
        "--d-spot",
        "1000",
        "--cost-weight",
        "0.9",
        "--cost-scale",
        "1",
        "--makespan-scale",
        "1000",
    ]
    found = shell.json("solve", "burst-hads/J60", "-m", "greedy", *options, "--markets", "spot")
    assert (found["deadline_s"], found["d_spot_s"]) == (2600, 1000)
    assert {vm["market"] for vm in found["vms"]} == {"spot"}
    assert found["objective"] == pytest.approx(0.9 * found["cost_usd"] + 0.1 * found["makespan_s"] / 1000)


def test_options_of_the_method(shell: Shell) -> None:
    shell.run("solve", "hads/J60", "-m", "greedy", "-o", "phase1_order=makespan", "--option", "type-limit=shared")
    shell.run("solve", "hads/J60", "-m", "greedy", "-o", "phase1_order", code=2)
    assert "must be NAME=VALUE" in shell.err
    shell.run("solve", "hads/J60", "-m", "greedy", "-o", "phase1_order=luck", code=2)
    assert "must be price or makespan" in shell.err


def test_no_feasible_plan_is_exit_code_1_with_the_reason(shell: Shell) -> None:
    out = shell.run(
        "solve",
        "burst-hads/ED200",
        "-m",
        "greedy",
        "--markets",
        "spot",
        "--out",
        "plan.json",
        "--gantt",
        "plan.png",
        code=1,
    )
    assert "no plan found by greedy" in out
    assert "5 VMs rented, the limit" in out
    assert list(shell.folder.iterdir()) == []
    assert (
        shell.json("solve", "burst-hads/ED200", "-m", "greedy", "--markets", "spot", code=1)["status"] == "infeasible"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["solve", "none.json"], "none.json: no such file"),
        (["solve", "none.csv"], "none.csv: no such file"),  # and not that a file of tasks has no deadline
        (["solve", "none.swf"], "none.swf: no such file"),
        (["solve", "thai/table2"], "thai/table2: this is a stream of jobs: use 'spotbag stream' or 'spotbag size'"),
        (["solve", "caron/hybrid"], "caron/hybrid: this is a hybrid platform: use 'spotbag platform'"),
        (["solve", "hads/J61"], "did you mean hads/J60"),
        (["solve", ".", "-m", "greedy"], "is a folder"),
        (["solve", "hads/J60", "--method", "magic"], "is unknown (known: auto"),
        (
            ["solve", "hads/J60", "-m", "greedy", "--deadline", "50"],
            "J60 with the values of the command line: the deadline of 50 s (--deadline) is too early: t6 takes 304 s",
        ),
        (
            ["solve", "hads/J60", "-m", "greedy", "--deadline", "-5"],
            "--deadline: '-5' must be from 0 to 1000000000 seconds",
        ),
        (["solve", "hads/J60", "-m", "greedy", "--d-spot", "9999"], "--d-spot 9999: is after the deadline"),
        (
            ["solve", "hads/J60", "-m", "greedy", "--cost-weight", "2"],
            "--cost-weight 2: must be less than or equal to 1",
        ),
        (
            ["solve", "hads/J60", "-m", "greedy", "--cost-weight", "nan"],
            "--cost-weight nan: must be a finite number",
        ),
        (["solve", "hads/J60", "-m", "greedy", "--markets", "spt"], "--markets spt: must be spot or on-demand"),
        (["solve", "hads/J60", "-m", "greedy", "--gantt", "plan.gif"], "must end in .png, .svg, .pdf, .html"),
        (["solve", "hads/J60", "-m", "greedy", "--out", "no/such/plan.json"], "the folder does not exist"),
        (["solve", "hads/J60", "-m", "greedy", "--out", "/"], "a plan's name must end in .json or .csv"),
        (["solve", "hads/J60", "-m", "ils", "--convergence", "c.gif"], "must end in .png, .svg, .pdf, .html"),
        (["solve", "hads/J60", "-m", "ils", "--convergence", "no/c.png"], "the folder does not exist"),
        (["solve", "hads/J60", "-m", "search", "--time-limit", "0"], "must be a positive number"),
        (["solve", "hads/J60", "-m", "ils", "-o", "swap_rate=2"], "must be a number from 0 to 1"),
        (["check", "hads/J60", "none.json"], "no such file"),
        (["show", "none.json"], "no such file"),
        (["show", "hads/J60", "--gantt", "x.png"], "is an instance"),
        (["instance", "generate", "--tasks", "0"], "the number of tasks must be from 1"),
        (["instance", "generate", "--runtime", "x:1"], "is not one of"),
        (["instance", "import", "--job", "a", "--env", "b", "--deadline", "5"], "a: no such file"),
        (
            ["instance", "import", "--job", "a", "--env", "b", "--deadline", "5", "--map", "m"],
            "--map and --plan go together",
        ),
        (["instance", "export", "hads/J60", "--job", "a", "--env", "b", "--plan", "p"], "--plan and --map go together"),
    ],
)
def test_bad_input_is_exit_code_2_with_one_clear_message(shell: Shell, words: list[str], said: str) -> None:
    shell.run(*words, code=2)
    assert said in shell.err
    assert shell.out == ""


@pytest.mark.parametrize("words", [["solve"], ["solve", "a", "b"], ["solve", "hads/J60", "--seed", "x"], ["fly"]])
def test_wrong_usage_is_exit_code_2(shell: Shell, words: list[str]) -> None:
    shell.run(*words, code=2)
    assert "Usage" in shell.err


def test_errors_as_json(shell: Shell) -> None:
    (shell.folder / "bad.json").write_text('{"format": "spotbag.instance/1", "name": "x", "tasks": [{"id": "a"}]}')
    found = shell.json("solve", "bad.json", "-m", "greedy", code=2)
    assert found["status"] == "error"
    assert {issue["path"] for issue in found["issues"]} >= {"deadline_s", "vm_types", "tasks[0].memory_mb"}
    assert "No such option: --sed" in shell.json("solve", "hads/J60", "--sed", "3", code=2)["message"]
    assert "'2x' must be a duration" in shell.json("solve", "hads/J60", "--deadline", "2x", code=2)["message"]


def test_check_lists_every_broken_rule_with_its_amount(shell: Shell) -> None:
    shell.run("solve", "burst-hads/J60", "-m", "greedy", "--out", "plan.json")
    plan = json.loads((shell.folder / "plan.json").read_text())
    plan["tasks"][0]["start_s"] += 5000
    plan["tasks"][0]["end_s"] += 5000
    del plan["tasks"][7]
    (shell.folder / "plan.json").write_text(json.dumps(plan))
    out = shell.run("check", "burst-hads/J60", "plan.json", code=1)
    for part in ("not feasible", "task-once", "d-spot", "deadline", "claim", "s after the deadline (2700 s)"):
        assert part in out
    found = shell.json("check", "burst-hads/J60", "plan.json", code=1)
    assert found["status"] == "infeasible"
    assert {violation["rule"] for violation in found["violations"]} >= {"task-once", "d-spot", "deadline", "claim"}


def test_check_says_what_the_plan_was_made_for(shell: Shell) -> None:
    shell.run("solve", "hads/J60", "-m", "greedy", "--d-spot", "1900", "--out", "plan.json")
    shell.run("check", "hads/J60", "plan.json", code=1)
    assert "made for a D_spot of 1900 s; it is judged by 1274 s" in shell.err
    shell.run("check", "hads/J60", "plan.json", "--d-spot", "1900")


def test_check_judges_what_is_left_of_a_plan_from_a_state(shell: Shell) -> None:
    plan = solve(library_instance("burst-hads/J60"), "greedy").schedule
    assert plan is not None
    state = State.planned(plan, 200)
    state.write(shell.folder / "state.json")
    rest = carried_on(plan, state)
    write_schedule(rest, shell.folder / "rest.json")
    out = shell.run("check", "burst-hads/J60", "rest.json", "--state", "state.json", "--survive", "one-type")
    assert f"spent      $ {state.spent_usd:.6f} before" in out
    assert f"cost       $ {plan.cost_usd - state.spent_usd:.6f}" in out
    assert "survives   any one spot type" in out
    found = shell.json("check", "burst-hads/J60", "rest.json", "--state", "state.json")
    assert (found["makespan_s"], found["deadline_s"]) == (plan.makespan_s - 200, 2500)
    moved = json.loads((shell.folder / "rest.json").read_text())
    first = min(moved["tasks"], key=lambda task: task["start_s"])
    first["start_s"] += 1
    first["end_s"] += 1
    (shell.folder / "moved.json").write_text(json.dumps(moved))
    out = shell.run("check", "burst-hads/J60", "moved.json", "--state", "state.json", code=1)
    assert f"task '{first['id']}' runs on core {first['core']} of {first['vm']} since" in out
    shell.run("check", "burst-hads/J60", "rest.json", code=1)
    shell.run("check", "hads/J60", "rest.json", "--state", "state.json", code=2)
    assert "is of the instance 'burst-hads/J60', not of 'hads/J60'" in shell.err
    shell.run("check", "-", "rest.json", "--state", "-", code=2)
    shell.run("check", "burst-hads/J60", "state.json", code=2)
    assert "this is a state: 'spotbag replan' takes it, and others with --state" in shell.err


def test_show_and_replay_of_a_plan_from_a_state(shell: Shell) -> None:
    plan = solve(library_instance("burst-hads/J60"), "greedy").schedule
    assert plan is not None
    state = State.planned(plan, 280)
    state.write(shell.folder / "state.json")
    rest = carried_on(plan, state)
    write_schedule(rest, shell.folder / "rest.json")
    out = shell.run("show", "rest.json", "--state", "state.json")
    assert f"cost       $ {rest.cost_usd:.6f}" in out
    assert shell.err == ""
    # What ran before now is no use of what is paid from now on.
    columns = [line.split() for line in out.splitlines() if " spot " in line]
    assert all(row[3] == "0" and float(row[7]) <= 100 for row in columns)
    shell.run("show", "rest.json", "--state", "state.json", "--gantt", "rest.svg")
    assert "time from now on (s)" in (shell.folder / "rest.svg").read_text()
    assert shell.run("show", "burst-hads/J60", "--state", "state.json").startswith(
        f"burst-hads/J60: {rest.instance.n_tasks} tasks in"
    )
    for words in (["show", "rest.json"], ["replay", "burst-hads/J60", "--plan", "rest.json", "-n1"]):
        shell.run(*words, code=2)
        assert "rest.json: is a plan for what a state has left of 'burst-hads/J60', not for all of it" in shell.err
    shell.run("show", "rest.json", "--state", "rest.json", code=2)
    assert "rest.json: format 'spotbag.schedule/1' is not 'spotbag.state/1'" in shell.err


def test_a_plan_is_judged_by_its_own_d_spot_where_nothing_else_gives_one(shell: Shell) -> None:
    (shell.folder / "bag.json").write_text(generate_instance(5, name="bag", d_spot_fraction=0.8).to_text())
    shell.run("solve", "bag.json", "-m", "greedy", "--out", "plan.json")
    bag = json.loads((shell.folder / "bag.json").read_text())
    made_for_s = bag.pop("d_spot_s")
    (shell.folder / "bag.json").write_text(json.dumps(bag))
    assert made_for_s < bag["deadline_s"]
    assert shell.json("check", "bag.json", "plan.json")["d_spot_s"] == made_for_s
    assert shell.err == ""
    for words in (
        ["show", "plan.json", "--instance", "bag.json"],
        ["replay", "bag.json", "--plan", "plan.json", "-n1"],
    ):
        shell.run(*words)
        assert "D_spot" not in shell.err
    out = shell.run("check", "bag.json", "plan.json", "--d-spot", "10", "--survive", "one-type", code=1)
    assert "judged by 10 s" in shell.err
    assert "survives   not shown to survive any one spot type down for good: the plan is not feasible itself" in out


def test_check_shows_three_violations_of_a_rule_and_how_many_more_there_are(shell: Shell) -> None:
    shell.run("solve", "hads/J60", "-m", "greedy", "--out", "plan.json")
    out = shell.run("check", "hads/J60", "plan.json", "--d-spot", "100", code=1)
    assert out.count("D_spot (100 s)") == 3
    assert re.search(r"d-spot +\.\.\. and \d+ more", out)
    assert "--json lists all" in out


def test_a_plan_of_another_instance_is_said_in_a_line(shell: Shell) -> None:
    shell.run("solve", "hads/J60", "-m", "greedy", "--out", "plan.json")
    said = "is a plan for 'hads/J60', another instance: 11 of its 60 tasks are not in 'hads/ED200'"
    out = shell.run("check", "hads/ED200", "plan.json", code=1)
    assert said in out
    assert len(out.splitlines()) == 2
    shell.run("solve", "hads/ED200", "--initial", "plan.json", "-m", "search", code=2)
    assert said in shell.err


def test_a_plan_of_another_instance_of_the_same_name_is_said_in_a_line(shell: Shell) -> None:
    bag = generate_instance(5, name="bag", d_spot_fraction=0.8).to_document()
    (shell.folder / "bag.json").write_text(json.dumps(bag))
    shell.run("solve", "bag.json", "-m", "greedy", "--out", "plan.json")
    for task in bag["tasks"]:
        task["id"] += "-of-today"
    (shell.folder / "bag.json").write_text(json.dumps(bag))
    said = (
        "is a plan for another 'bag': 5 of its 5 tasks are not in 'bag', and 5 of the 5 tasks there are not in the plan"
    )
    assert said in shell.run("check", "bag.json", "plan.json", code=1)
    assert len(shell.out.splitlines()) == 2
    shell.run("replay", "bag.json", "--plan", "plan.json", code=2)
    assert said in shell.err


def test_a_plan_as_a_table_is_called_so_where_one_is_read(shell: Shell) -> None:
    shell.run("solve", "tiny/two-cores", "-m", "greedy", "--out", "plan.csv")
    for words in (
        ["check", "tiny/two-cores", "plan.csv"],
        ["solve", "tiny/two-cores", "--initial", "plan.csv"],
        ["replay", "tiny/two-cores", "--plan", "plan.csv"],
        ["show", "plan.csv"],
        ["solve", "plan.csv", "--deadline", "1h"],
    ):
        shell.run(*words, code=2)
        assert shell.err == (
            "error: plan.csv: is a plan as a table; only one in JSON (--out plan.json) can be read back\n"
        )


def test_tasks_that_are_missing_are_grouped(shell: Shell) -> None:
    shell.run("solve", "hads/J60", "-m", "greedy", "--out", "plan.json")
    plan = json.loads((shell.folder / "plan.json").read_text())
    plan["tasks"] = plan["tasks"][10:]
    (shell.folder / "plan.json").write_text(json.dumps(plan))
    shell.run("replay", "hads/J60", "--plan", "plan.json", code=2)
    assert "tasks: 7 more are wrong like that" in shell.err


def test_check_judges_what_a_plan_survives_if_asked_or_if_the_plan_says_it(shell: Shell) -> None:
    shell.run("solve", "hads/J60", "-m", "greedy", "--out", "plan.json")
    out = shell.run("check", "hads/J60", "plan.json")
    assert re.search(
        r"  survives   any one spot type down for good, worst case \$ [0-9.]+ \(.*\) as the plan says", out
    )
    plan = json.loads((shell.folder / "plan.json").read_text())
    plan["survival"]["worst_cost_usd"] = 0.01
    (shell.folder / "plan.json").write_text(json.dumps(plan))
    found = shell.json("check", "hads/J60", "plan.json", code=1)
    assert {violation["rule"] for violation in found["violations"]} >= {"survival-claim"}
    assert found["survival"]["verdict"] == "survives"
    del plan["survival"]
    (shell.folder / "plan.json").write_text(json.dumps(plan))
    assert "survive" not in shell.run("check", "hads/J60", "plan.json")
    assert "survives   any spot types" in shell.run("check", "hads/J60", "plan.json", "--survive", "blackout")
    late = "--deadline", "1300", "--d-spot", "1274"
    out = shell.run("check", "hads/J60", "plan.json", *late, "--survive", "one-type", code=1)
    assert "hads/J60: feasible" in out
    assert "does not survive" in out


def test_the_gap_to_plans_that_survive_and_that_to_all_plans_have_their_names(shell: Shell) -> None:
    # Lost after 99 s, a task cannot be done again by 190 s: two on demand cost 0.60 $, and on spot they would 0.20 $.
    prices = {"spot": 3.6, "on-demand": 10.8}
    offers = {market: {"price_usd_per_hour": price, "limit": 5} for market, price in prices.items()}
    bag = {
        "format": "spotbag.instance/1",
        "name": "by hand",
        "deadline_s": 190,
        "migration_overhead_s": 10,
        "vm_types": [{"name": "one", "vcpus": 1, "memory_mb": 1024, "offers": offers}],
        "tasks": [{"id": "t", "memory_mb": 100, "base_runtime_s": 100, "count": 2}],
    }
    (shell.folder / "bag.json").write_text(json.dumps(bag))
    of_all = "gap to that of all plans at most 66.67 % (of the plan's cost)"
    assert f"$ 0.600000, proved to be the least of plans that survive; {of_all}" in shell.run("solve", "bag.json")
    weighted = "--cost-scale", "1", "--cost-weight", "1"
    out = shell.run("solve", "bag.json", *weighted)
    assert "0.600000 of plans that survive; 0.200000 of all plans: gap at most 66.667 %" in out
    assert "0.200000\n" in shell.run("solve", "bag.json", *weighted, "--survive", "none")
    (shell.folder / "answer.json").write_text(shell.run("solve", "bag.json", "--json"))
    shell.run("report", "answer.json", "--instance", "bag.json", "--out", "answer.html")
    page = (shell.folder / "answer.html").read_text(encoding="utf-8")
    assert "optimal: a plan" in page
    assert "$ 0.600000: gap 0.000 % at most" in page


def test_show_an_instance(shell: Shell) -> None:
    out = shell.run("show", "burst-hads/J60")
    for part in (
        "60 tasks in 6 entries",
        "2,700 s",
        "1,874 s (by the rule of HADS)",
        "t3.large",
        "20",
        "102 / 198 / 323",
        "Tables II-III",
    ):
        assert part in out
    assert shell.json("show", "burst-hads/J60")["memory_mb"]["max"] == 12.2
    assert "0.5 * 0.05 / 0.1" in shell.run("show", "tiny/one-task")


def test_show_takes_the_options_of_an_instance(shell: Shell) -> None:
    out = shell.run("show", "hads/J60", "--deadline", "1h", "--goal", "fastest")
    assert "3,600 s" in out
    assert "fastest: the earliest end, then the least cost" in out
    shell.run("solve", "hads/J60", "-m", "greedy", "--out", "plan.json")
    assert "(deadline 900 s)" in shell.run("show", "plan.json", "--deadline", "15m")
    assert "the plan is not feasible as it stands" in shell.err


def test_a_plan_goes_through_standard_output_to_other_commands(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = shell.run("solve", "tiny/two-cores", "-m", "greedy", "--out", "-")
    assert "status" in shell.err
    shell.run("solve", "tiny/two-cores", "-m", "greedy", "--out", "plan.json")
    assert (shell.folder / "plan.json").read_text() == plan
    assert shell.json("solve", "tiny/two-cores", "-m", "greedy")["plan"] == json.loads(plan)
    for words in (("check", "tiny/two-cores", "-"), ("show", "-"), ("replay", "tiny/two-cores", "--plan", "-")):
        type_in(monkeypatch, plan)
        shell.run(*words, *(("--runs", "1", "-p", "static") if words[0] == "replay" else ()))
    shell.run("check", "-", "-", code=2)
    assert "two things cannot be read from standard input" in shell.err
    shell.run("solve", "tiny/two-cores", "--out", "-", "--json", code=2)
    assert "--out - and --json: use one or the other" in shell.err
    assert shell.run("solve", "tiny/credits", "-m", "greedy", "--out", "-", code=1) == ""


def test_a_plan_is_a_table_with_the_commands_of_the_tasks(shell: Shell) -> None:
    tasks = [{"id": "a", "runtime_s": {"a": 10}, "memory_mb": 1, "count": 2, "command": 'run "a", b'}]
    instance = library_instance("tiny/boot")
    (shell.folder / "bag.json").write_text(instance.replace(tasks=[*tasks, {**tasks[0], "id": "c"}]).to_text())
    shell.run("solve", "bag.json", "-m", "greedy", "--out", "plan.csv")
    assert shell.err.endswith("wrote plan.csv\n")
    with open(shell.folder / "plan.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["vm", "type", "market", "core", "task", "start_s", "end_s", "mode", "command"]
    assert {row["task"] for row in rows} == {"a#1", "a#2", "c#1", "c#2"}
    assert {row["command"] for row in rows} == {'run "a", b'}
    plan = shell.json("solve", "bag.json", "-m", "greedy")["plan"]
    assert {task["command"] for task in plan["tasks"]} == {'run "a", b'}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2h", 7200), ("90m", 5400), ("1h30m", 5400), ("1.5h", 5400), ("45s", 45), ("5400", 5400), ("1d", 86400)],
)
def test_durations_are_what_people_write(text: str, seconds: int) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "2x", "1h30", "1:30", "-5", "nan", "30m1h", "1e99", "2 hours later"])
def test_what_is_no_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"2h"):
        duration_s(text)


def test_amounts_are_what_people_write() -> None:
    assert [amount_usd(text) for text in ("1.50", "$1.50", "$ 2")] == [1.5, 1.5, 2.0]
    for text in ("", "1,50", "-1", "€2"):
        with pytest.raises(ValueError, match=r"such as 1.50 or \$1.50"):
            amount_usd(text)


def test_show_a_plan_of_an_unknown_instance_as_it_says_of_itself(shell: Shell) -> None:
    (shell.folder / "mine.json").write_text(
        generate_instance(20, name="mine", d_spot_fraction=0.8, goal="balanced").to_text()
    )
    shell.run("solve", "mine.json", "-m", "greedy", "--out", "plan.json")
    assert "as the file says" in shell.run("show", "plan.json")
    assert shell.json("show", "plan.json")["instance"] == "mine"
    shell.run("show", "plan.json", "--gantt", "x.html", code=2)
    assert "name that with --instance" in shell.err
    shell.run("show", "plan.json", "--instance", "mine.json", "--gantt", "x.html")
    assert (shell.folder / "x.html").exists()


def test_list_generate_and_schema(shell: Shell) -> None:
    listed = shell.run("instance", "list")
    assert "burst-hads/J60" in listed
    assert "Hybrid platforms, for 'spotbag platform': caron/hybrid, caron/two-sites, tiny/hybrid" in listed
    found = shell.json("instance", "list")
    assert len(found["instances"]) >= 20
    assert found["platforms"] == platform_names()
    printed = shell.run("instance", "generate", "--tasks", "12", "--classes", "3", "--seed", "5")
    shell.run("instance", "generate", "--tasks", "12", "--classes", "3", "--seed", "5", "--out", "bag.json")
    assert (shell.folder / "bag.json").read_text() == printed
    assert "12 tasks" in shell.run("show", "bag.json")
    assert json.loads(shell.run("instance", "schema"))["title"] == "Instance"
    assert json.loads(shell.run("instance", "schema", "--of", "schedule"))["title"] == "ScheduleDocument"
    assert json.loads(shell.run("instance", "schema", "--of", "state"))["title"] == "State"
    assert json.loads(shell.run("instance", "schema", "--of", "timeline"))["title"] == "TimelineDocument"
    assert json.loads(shell.run("instance", "schema", "--of", "stream"))["title"] == "Stream"
    assert json.loads(shell.run("instance", "schema", "--of", "platform"))["title"] == "Platform"


def test_export_and_import_hads_files(shell: Shell) -> None:
    shell.run("solve", "hads/J60", "-m", "greedy", "--out", "plan.json")
    files = ["--job", "job.json", "--env", "env.json"]
    found = shell.json("instance", "export", "hads/J60", *files, "--plan", "plan.json", "--map", "map.json")
    assert found["written"] == ["job.json", "env.json", "map.json"]
    assert "left out, their files have no place for it" in shell.err
    assert len(json.loads((shell.folder / "map.json").read_text())["instances"]) == len(
        json.loads((shell.folder / "plan.json").read_text())["vms"]
    )
    words = [
        "instance",
        "import",
        *files,
        "--deadline",
        "2100",
        "--out",
        "back.json",
        "--map",
        "map.json",
        "--plan",
        "back-plan.json",
    ]
    assert shell.json(*words)["tasks"] == 60
    # Their files know no checkpoints: the tasks end sooner than the map says, and it is said.
    assert "end at other times than in the map" in shell.err
    shell.run("check", "back.json", "back-plan.json", "--d-spot", "1274")


def test_methods_are_listed_with_their_options(shell: Shell) -> None:
    out = shell.run("methods")
    assert "greedy" in out
    assert "phase1_order" in out
    assert shell.json("methods")["methods"]["greedy"]["options"]
    out = shell.run("methods", "greedy")
    assert "phase1_order" in out
    assert "burstable" not in shell.run("methods", "lpt")
    assert list(shell.json("methods", "columns")["methods"]) == ["columns"]
    shell.run("methods", "gredy", code=2)
    assert "did you mean 'greedy'?" in shell.err


def test_what_is_to_be_compiled_is_named(shell: Shell) -> None:
    assert "replan" in shell.run("warm-up", "replan")
    shell.run("warm-up", "replan", "solv", code=2)
    assert "did you mean solve?" in shell.err


COMMANDS = [
    [],
    ["solve"],
    ["check"],
    ["show"],
    ["bound"],
    ["compare"],
    ["best-known"],
    ["pareto"],
    ["replay"],
    ["audit"],
    ["report"],
    ["size"],
    ["stream"],
    ["platform"],
    ["methods"],
    ["policies"],
    ["schema"],
    ["warm-up"],
    ["serve"],
    ["instance"],
    *(["instance", name] for name in ("list", "generate", "import", "export", "schema")),
]


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_has_help_and_an_example(shell: Shell, words: list[str]) -> None:
    out = shell.run(*words, "--help")
    assert "Usage" in out
    if words != ["instance"]:
        assert "spotbag " + " ".join(words[:2]) in " ".join(out.split())


def test_a_warning_about_rounding_goes_to_standard_error(shell: Shell) -> None:
    instance = library_instance("tiny/boot")
    tasks = [task.model_copy(update={"runtime_s": {"a": 1.5}}) for task in instance.tasks]
    (shell.folder / "short.json").write_text(instance.replace(tasks=tasks).to_text())
    shell.json("solve", "short.json", "-m", "greedy")
    assert "rounding them up adds 33.3 % to the work" in shell.err


def test_version(shell: Shell) -> None:
    assert shell.run("--version").startswith("spotbag 0.")


def run_process(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "spotbag", *words], capture_output=True, text=True, check=False)


def test_exit_codes_as_a_process() -> None:
    assert run_process("solve", "tiny/credits", "-m", "greedy").returncode == 1
    bad = run_process("solve", "nothing.json")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "error: nothing.json: no such file\n"


def test_help_and_import_load_nothing_heavy() -> None:
    heavy = "{'numpy', 'pydantic', 'matplotlib', 'jinja2', 'ortools', 'highspy', 'pyomo', 'pulp', 'numba', 'joblib'}"
    code = f"import sys, spotbag; assert not {heavy} & set(sys.modules), sys.modules; "
    code += "from spotbag.cli import main; main(['--help']); "
    code += f"assert not {heavy} & set(sys.modules), {heavy} & set(sys.modules); "
    code += "[main([command, '--help']) for command in ('bound', 'compare', 'best-known')]; "
    # Help of commands that compare numbers loads what says their options, and no numbers.
    code += f"heavy = {heavy} - {{'pydantic', 'jinja2'}}; assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("change", [["--cost-weight", "0.9"], ["--deadline", "2500"], ["--cost-scale", "3"]])
def test_a_plan_made_with_other_weights_or_limits_keeps_what_it_claims(shell: Shell, change: list[str]) -> None:
    shell.run("solve", "burst-hads/J60", "-m", "greedy", *change, "--out", "plan.json")
    shell.run("check", "burst-hads/J60", "plan.json")
    assert "the plan states" in shell.err


def test_an_output_never_overwrites_an_input_or_another_output(shell: Shell) -> None:
    (shell.folder / "bag.json").write_text(
        generate_instance(5, name="bag", d_spot_fraction=0.8, goal="balanced").to_text()
    )
    before = (shell.folder / "bag.json").read_text()
    for words in (["--out", "bag.json"], ["--gantt", "./x.png", "--out", "x.png"]):
        shell.run("solve", "bag.json", "-m", "greedy", *words, code=2)
    shell.run("instance", "export", "bag.json", "--job", "a.json", "--env", "./a.json", code=2)
    assert (shell.folder / "bag.json").read_text() == before
    assert [path.name for path in shell.folder.iterdir()] == ["bag.json"]


def test_what_cannot_be_looked_at_is_a_clean_error(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.run("solve", "x" * 5000, code=2)
    assert len(shell.err) < 400
    shell.run("show", "a\0b", code=2)
    monkeypatch.setattr(sys, "stdin", None)
    shell.run("solve", "-", "-m", "greedy", code=2)
    assert "standard input is closed" in shell.err


def test_an_estimate_that_shuts_out_all_spot_vms_is_warned_of(shell: Shell) -> None:
    found = shell.json("solve", "hads/ED200", "-m", "greedy")
    assert found["d_spot_s"] == 150
    assert "D_spot is estimated at 150 s, too early for any task on a spot VM" in found["warnings"][0]
    assert found["warnings"][0] in shell.err
    assert shell.json("solve", "hads/ED200", "-m", "greedy", "--d-spot", "150")["warnings"] == []


def test_a_plan_with_nothing_wrong_but_its_claims_is_called_so(shell: Shell) -> None:
    shell.run("solve", "tiny/two-cores", "-m", "greedy", "--out", "plan.json")
    plan = json.loads((shell.folder / "plan.json").read_text())
    (shell.folder / "plan.json").write_text(json.dumps(plan | {"cost_usd": 0.01}))
    assert "feasible, but not what it claims (1 violation)" in shell.run("check", "tiny/two-cores", "plan.json", code=1)
    shell.run("show", "plan.json", "--gantt", "plan.svg")
    assert "the plan is not feasible as it stands: claim" in shell.err
    assert "NOT FEASIBLE" in (shell.folder / "plan.svg").read_text()


def test_output_that_the_terminal_cannot_encode_is_escaped() -> None:
    text = library_instance("tiny/boot").replace(name="日本").to_text()
    done = subprocess.run(
        [sys.executable, "-m", "spotbag", "show", "-"],
        input=text.encode(),
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert b"\\u65e5\\u672c" in done.stdout


def test_a_closed_pipe_ends_quietly() -> None:
    done = subprocess.run(
        f"{sys.executable} -m spotbag show distinct/1000 | head -c 1", shell=True, capture_output=True, check=False
    )
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("words", "first", "second"),
    [
        (("replay", "tiny/one-task", "--scenario", "quiet", "--runs", "1"), "static", "hads"),
        (("stream", "tiny/two-jobs", "--once"), "unknown", "known"),
        (("platform", "tiny/hybrid", "--once"), "time-saving", "money-saving"),
    ],
)
def test_policies_are_named_one_by_one_or_by_commas(
    shell: Shell, words: tuple[str, ...], first: str, second: str
) -> None:
    for given in (("-p", f"{first}, {second}"), ("-p", first, "-p", second), ("-p", f"{first},{second}", "-p", first)):
        assert [entry["policy"] for entry in shell.json(*words, *given)["policies"]] == [first, second]
    shell.run(*words, "-p", f"{first},", code=2)
    assert "'' is not a policy" in shell.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--goal", "quickest"), "error: --goal quickest: must be cheapest, fastest or balanced"),
        (("--markets", "spt"), "error: --markets spt: must be spot or on-demand; did you mean spot?"),
        (("--survive", "onetype"), "must be one-type, one-pool, blackout, each or none; did you mean one-type?"),
        (("--d-spot", "3h"), "error: --d-spot 10800: is after the deadline (2100 s)"),
        (("--target-gap", "x%"), "--target-gap: 'x%' must be a share that is not negative"),
        (("--out", "p.txt"), "p.txt: a plan's name must end in .json or .csv, or be - for standard output"),
    ],
)
def test_values_of_options_that_do_not_suit_are_called_by_the_option(
    shell: Shell, words: tuple[str, ...], message: str
) -> None:
    shell.run("solve", "hads/J60", *words, code=2)
    assert message in shell.err


def test_a_plan_can_go_to_a_file_and_into_the_json_object(shell: Shell) -> None:
    found = shell.json("solve", "tiny/two-cores", "-m", "lpt", "--out", "plan.json", "--target-gap", "5%")
    written = json.loads((shell.folder / "plan.json").read_text())
    assert found["plan"]["tasks"] == written["tasks"]
