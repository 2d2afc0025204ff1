"""``spotbag report`` of a plan and of replays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spotbag.instances.library import library_instance
from spotbag.traces.files import write_traces
from spotbag.traces.trace import Trace
from tests.helpers import hand_made_platform_traces, hand_made_stream_traces, hand_made_traces
from tests.helpers.browser import Reader, in_a_browser
from tests.helpers.command_shell import Shell


def read(path: str) -> Reader:
    data = Path(path).read_bytes()
    assert len(data) <= 5_000_000
    found = Reader(data.decode("utf-8"))
    found.texts = {tag: [text.strip() for text in texts] for tag, texts in found.texts.items()}
    return found


def facts(found: Reader) -> dict[str, str]:
    return dict(zip(found.texts["dt"], found.texts["dd"], strict=True))


def test_a_plan(shell: Shell) -> None:
    shell.run("solve", "tiny/two-cores", "--method", "greedy", "--out", "plan.json")
    shell.run("report", "plan.json", "--out", "plan.html")
    found = read("plan.html")
    assert found.texts["h1"] == ["Plan for tiny/two-cores"]
    headings = ["The plan", "Gantt chart", "VMs and bill", "What it survives", "How good it can be", "Tasks"]
    assert found.texts["h2"] == headings
    plan = json.loads(Path("plan.json").read_text(encoding="utf-8"))
    values = facts(found)
    assert values["cost"] == f"$ {plan['cost_usd']:.6f}"
    assert values["makespan"].startswith(f"{plan['makespan_s']:,} s (")
    assert values["best known"]
    assert values["gap"].endswith("of the objective at most")
    assert values["survives"]
    assert {task["id"] for task in plan["tasks"]} <= set(found.texts["td"])


def test_an_answer_of_solve_says_what_was_proved(shell: Shell) -> None:
    out = shell.run("solve", "tiny/two-cores", "--json")
    Path("answer.json").write_text(out, encoding="utf-8")
    shell.run("report", "answer.json", "--out", "answer.html")
    values = facts(read("answer.html"))
    assert values["status"].startswith("optimal: ")
    assert values["gap"].startswith("0.000 %")
    assert values["seed"] == "0"


def test_a_plan_that_breaks_rules_is_said_to(shell: Shell) -> None:
    shell.run("solve", "tiny/two-cores", "--method", "greedy", "--out", "plan.json")
    plan = json.loads(Path("plan.json").read_text(encoding="utf-8"))
    plan["cost_usd"] += 1
    Path("bad.json").write_text(json.dumps(plan), encoding="utf-8")
    shell.run("report", "bad.json", "--out", "bad.html")
    assert "The checker says that the plan is not what it claims." in read("bad.html").texts["p"]
    plan["tasks"][1].update(core=plan["tasks"][0]["core"], vm=plan["tasks"][0]["vm"])
    Path("bad.json").write_text(json.dumps(plan), encoding="utf-8")
    shell.run("report", "bad.json", "--out", "bad.html")
    found = read("bad.html")
    assert facts(found)["status"] == "not feasible"
    assert "The checker says that the plan is not feasible." in found.texts["p"]


@pytest.mark.parametrize(
    ("trace", "cost"),
    [
        (hand_made_traces.recovered, "$ 0.058000"),
        (hand_made_stream_traces.sampled, "$ 0.100000"),
        (hand_made_platform_traces.rented, "420 units"),
    ],
)
def test_a_replay(shell: Shell, trace: object, cost: str) -> None:
    assert callable(trace)
    made: Trace = trace()
    write_traces("trace.jsonl", [made])
    shell.run("report", "trace.jsonl", "--out", "trace.html")
    found = read("trace.html")
    assert {"Figures", "Gantt chart", "Story", "Bill", "Events"} <= set(found.texts["h2"])
    assert facts(found)["cost"] == cost
    assert facts(found)["audit"].startswith("correct")


def test_options_that_change_nothing_are_warned_of(shell: Shell) -> None:
    write_traces("trace.jsonl", [hand_made_traces.recovered()])
    shell.run("report", "trace.jsonl", "--out", "trace.html", "--deadline", "2h")
    assert "trace.jsonl is no plan" in shell.err


def test_replays_side_by_side(shell: Shell) -> None:
    made = hand_made_traces.recovered()
    wrong = hand_made_traces.recovered()
    wrong.end["cost_usd"] += 1
    write_traces("trace.jsonl", [made, wrong])
    shell.run("report", "trace.jsonl", "--out", "trace.html")
    found = read("trace.html")
    assert found.texts["h2"] == ["Runs", "hads, day 0", "hads, day 0"]
    assert [cell for cell in found.texts["td"] if cell in ("correct", "1 finding")] == ["correct", "1 finding"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan.json", "--out", "plan.png"], "must end in .html"),
        (["none.json", "--out", "plan.html"], "no such file"),
        (["plan.html", "--out", "plan.html"], "is another file of this command"),
        (["plan.json", "--out", "no/plan.html"], "the folder does not exist"),
        (["other.json", "--out", "plan.html"], "name that with --instance"),
        (["empty.json", "--out", "plan.html"], "has no plan"),
        (["cut.json", "--out", "plan.html"], "is not what 'spotbag solve --json' prints"),
    ],
)
def test_what_cannot_be_reported_is_refused(shell: Shell, arguments: list[str], message: str) -> None:
    plan = {"format": "spotbag.schedule/1", "instance": "mine", "vms": [], "tasks": []}
    Path("other.json").write_text(json.dumps(plan), encoding="utf-8")
    Path("empty.json").write_text('{"format": "spotbag.solve/1", "plan": null}', encoding="utf-8")
    Path("cut.json").write_text('{"format": "spotbag.solve/1", "plan": {}}', encoding="utf-8")
    shell.run("report", *arguments, code=2)
    assert message in shell.err
    assert not Path("plan.html").exists()


@pytest.mark.slow
def test_a_browser_shows_a_plan_whose_names_are_scripts(shell: Shell, tmp_path: Path) -> None:
    document = library_instance("tiny/two-cores").to_document()
    evil = "<script>document.title = 'owned'</script>"
    document["name"] = evil
    document["tasks"][0]["id"] = evil
    Path("evil.json").write_text(json.dumps(document), encoding="utf-8")
    shell.run("solve", "evil.json", "--method", "greedy", "--out", "plan.json")
    shell.run("report", "plan.json", "--instance", "evil.json", "--out", "plan.html")
    script = """
    answer.title = document.title;
    answer.bars = drawn[0].panels[0].order.filter((bar) => bar.name.startsWith("<script>")).length;
    const cells = [...document.querySelectorAll("td")].map((cell) => cell.textContent);
    answer.cells = cells.filter((text) => text.startsWith("<script>")).length;
    """
    answer = in_a_browser(Path("plan.html").read_bytes(), tmp_path, 1400, script)
    assert answer.get("error") is None
    assert answer["errors"] == []
    assert answer["title"] == f"Plan for {evil}"
    assert answer["bars"] >= 1
    assert answer["cells"] >= 1
