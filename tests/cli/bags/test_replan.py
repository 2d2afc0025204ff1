"""``spotbag replan``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.library import library_instance
from spotbag.schedules.schedule_files import read_schedule
from spotbag.schedules.state import State
from tests.helpers.command_shell import Shell

BAG = "tiny/memory-parts-them"


@pytest.fixture
def state(shell: Shell) -> State:
    """A bag under way: its plan in plan.json, the state after a second in state.json."""
    shell.run("solve", BAG, "-m", "greedy", "--survive", "none", "--out", "plan.json")
    plan = read_schedule(shell.folder / "plan.json", with_d_spot(library_instance(BAG)))
    state = State.planned(plan, plan.instance.boot_overhead_s + 1)
    assert state.running_ids
    state.write(shell.folder / "state.json")
    return state


def test_what_is_left_is_planned_checked_and_planned_again(shell: Shell, state: State) -> None:
    shell.run("replan", BAG, "state.json", "--start", "plan.json", "--out", "next.json", "--gantt", "next.svg")
    heading, *_ = shell.out.splitlines()
    said = "0 of 2 tasks done, 1 running, $ 0.001000 spent; times and costs count from now"
    assert heading == f"{BAG} at 1 s: {said}"
    assert (shell.folder / "next.svg").exists()
    shell.run("check", BAG, "next.json", "--state", "state.json", "--survive", "none")
    # A plan of a state is one to start from as well.
    found = shell.json("replan", BAG, "state.json", "--start", "next.json", "--survive", "none")
    assert (found["time_s"], found["spent_usd"]) == (state.time_s, state.spent_usd)
    assert {
        row["id"]: row["start_s"] for row in found["plan"]["tasks"] if row["id"] in state.running_ids
    } == dict.fromkeys(state.running_ids, -1)


def test_what_was_left_in_the_middle_of_a_day_is_planned_from_its_trace(shell: Shell) -> None:
    day = ("replay", "hads/J60", "-m", "greedy", "--scenario", "hads/sc4", "--day", "11")
    shell.run(*day, "--policy", "on-time", "--trace", "day.jsonl")
    found = shell.json("replan", "hads/J60", "day.jsonl", "--at", "10m", "--iterations", "5000", "--survive", "none")
    shell.run("replan", "hads/J60", "day.jsonl", "--at", "10m", "--iterations", "5000", "--survive", "none")
    assert "1,500 s (the deadline)" in shell.out  # the rule of HADS knows whole bags only
    finished = [event for event in map(json.loads, (shell.folder / "day.jsonl").read_text().splitlines()[1:])
                if event.get("event") == "finish" and event["t"] <= 600]  # fmt: skip
    assert found["time_s"] == 600
    assert len(finished) + len(found["plan"]["tasks"]) == 60
    shell.run("replan", "hads/J80", "day.jsonl", "--at", "10m", code=2)
    assert "day.jsonl: is of 'hads/J60', not of 'hads/J80'" in shell.err
    shell.run("replan", "hads/J60", "day.jsonl", "--at", "1h", code=2)
    assert "trace: ends at 1278 s, before 3600 s" in shell.err
    shell.run("replan", "hads/J60", "day.jsonl", code=2)
    assert "this is a trace: use 'spotbag audit', or 'spotbag replan' with --at" in shell.err
    shell.run(*day, "--policy", "on-time,hads", "--trace", "two.jsonl")
    shell.run("replan", "hads/J60", "two.jsonl", "--at", "10m", code=2)
    assert "two.jsonl: has 2 traces" in shell.err
    shell.run("stream", "thai/table2", "--policy", "large.4", "--runs", "1", "--trace", "stream.jsonl")
    shell.run("replan", "thai/table2", "stream.jsonl", "--at", "10m", code=2)


def test_a_limit_of_iterations_makes_the_same_plan_each_time(shell: Shell, state: State) -> None:
    for words in (("solve", BAG), ("replan", BAG, "state.json", "--start", "plan.json")):
        first, second = (shell.json(*words, "--iterations", "20000", "--seed", "3") for _ in range(2))
        assert first["plan"] == second["plan"]
        assert first["stats"] == second["stats"]
        assert f"for {first['stats']['counted_iterations']:,} iterations" in shell.run(
            *words, "--iterations", "20000", "--seed", "3"
        )


def test_a_limit_of_iterations_stands_alone(shell: Shell, state: State) -> None:
    shell.run("solve", BAG, "--iterations", "20000", "--time-limit", "1s", code=2)
    assert "iterations: are a limit in place of one of time" in shell.err
    shell.run("solve", "hads/J60", "--iterations", "20000", "--scenario", "hads/sc2", code=2)
    assert "--iterations and --scenario: use one or the other" in shell.err
    shell.run("replan", BAG, "state.json", "--iterations", "20000", "--time-limit", "1s", code=2)
    assert "iterations: are a limit in place of one of time" in shell.err


def test_a_plan_goes_to_standard_output_and_the_table_to_standard_error(shell: Shell, state: State) -> None:
    assert shell.run("replan", BAG, "state.json", "--out", "-").startswith('{\n  "format": "spotbag.schedule/1"')
    assert "times and costs count from now" in shell.err


def test_where_no_plan_is_in_time_the_exit_code_is_1(shell: Shell, state: State) -> None:
    shell.run("replan", BAG, "state.json", "--deadline", "60s", "--d-spot", "60s", code=1)
    assert "no plan" in shell.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((BAG, "state.json", "--start", "other.json"), "is a plan for 'tiny/boot', another instance"),
        (("tiny/boot", "state.json"), f"state: is of the instance '{BAG}', not of 'tiny/boot'"),
        ((BAG, "none.json"), "none.json"),
        ((BAG, "plan.json"), "spotbag.schedule/1"),
        ((BAG, "state.json", "--time-limit", "0"), "must be a positive number of seconds"),
        ((BAG, "state.json", "-m", "greedy,lpt"), "one plan is made by one method"),
        ((BAG, "-", "--start", "-"), "two things cannot be read from standard input"),
        ((BAG, "late.json"), "give the instance a later deadline"),
    ],
)
def test_what_is_wrong_is_said(shell: Shell, state: State, words: tuple[str, ...], said: str) -> None:
    shell.run("solve", "tiny/boot", "-m", "greedy", "--out", "other.json")
    state.replace(time_s=500.0).write(shell.folder / "late.json")
    shell.run("replan", *words, "--out", "next.json", code=2)
    assert said in shell.err
    assert not Path(shell.folder, "next.json").exists()


@pytest.mark.parametrize(
    ("old", "new"), [('"core": 0', '"core": 99'), ('"type": "a"', '"type": "b"'), ('"id": "t#1"', '"id": "z"')]
)
def test_of_a_plan_to_start_from_what_fits_is_used(shell: Shell, state: State, old: str, new: str) -> None:
    text = (shell.folder / "plan.json").read_text()
    assert old in text
    (shell.folder / "plan.json").write_text(text.replace(old, new))
    shell.run("replan", BAG, "state.json", "--start", "plan.json", "--out", "next.json")
    shell.run("check", BAG, "next.json", "--state", "state.json")
