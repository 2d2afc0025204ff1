"""``spotbag audit``."""

from __future__ import annotations

import sys

import pytest

from spotbag.audits.findings import RULES
from spotbag.core.text_files import write_text
from spotbag.instances.library import library_instance
from spotbag.traces.files import write_traces
from tests.helpers import hand_made_platform_traces, hand_made_stream_traces, hand_made_traces
from tests.helpers.command_shell import Shell


def test_a_correct_trace(shell: Shell) -> None:
    write_traces("day.jsonl", [hand_made_traces.recovered()])
    out = shell.run("audit", "day.jsonl")
    assert "by hand: 1 run, correct" in out
    for part in ("hads", "0.058000", "430", "13", "correct"):
        assert part in out
    found = shell.json("audit", "day.jsonl")
    assert found == {
        "format": "spotbag.audit/1",
        "instance": "by hand",
        "status": "correct",
        "runs": [
            {
                "policy": "hads",
                "day": 0,
                "status": "correct",
                "cost_usd": pytest.approx(0.058),
                "makespan_s": 430,
                "events": 13,
                "findings": [],
                "notes": [],
            }
        ],
    }


def test_an_unfinished_bag_is_noted(shell: Shell) -> None:
    write_traces("day.jsonl", [hand_made_traces.stranded()])
    out = shell.run("audit", "day.jsonl")
    assert "1 task unfinished" in " ".join(out.split())
    assert shell.json("audit", "day.jsonl")["runs"][0]["makespan_s"] is None


def test_a_stream(shell: Shell) -> None:
    write_traces("stream.jsonl", [hand_made_stream_traces.sampled()])
    out = " ".join(shell.run("audit", "stream.jsonl").split())
    assert "a stream by hand: 1 run, correct" in out
    assert "0.100000 520 33 correct j3: 1 of 1 task late for its deadline of 500 s, by up to 20 s" in out
    late = hand_made_stream_traces.sampled()
    late.end["idle_s"] -= 5
    write_traces("stream.jsonl", [late])
    assert "the end says idle_s 180; the events come to 185" in shell.run("audit", "stream.jsonl", code=1)


def test_a_hybrid_platform(shell: Shell) -> None:
    trace = hand_made_platform_traces.moved()
    write_traces("platform.jsonl", [trace])
    out = " ".join(shell.run("audit", "platform.jsonl").split())
    assert "moved by hand: 1 run, correct policy seed cost (units) makespan (s)" in out
    assert "by-hand 3 490 900 25 correct 1 of 5 jobs late, by up to 420 s" in out
    assert "$" not in out
    assert shell.json("audit", "platform.jsonl") == {
        "format": "spotbag.audit/1",
        "platform": "moved by hand",
        "status": "correct",
        "runs": [
            {
                "policy": "by-hand",
                "seed": 3,
                "status": "correct",
                "cost": 490,
                "makespan_s": 900,
                "events": 25,
                "findings": [],
                "notes": ["1 of 5 jobs late, by up to 420 s"],
            }
        ],
    }
    trace.end["cost"] += 3
    write_traces("platform.jsonl", [trace])
    out = " ".join(shell.run("audit", "platform.jsonl", code=1).split())
    assert "by-hand 3 figures 3 units of cost the end says cost 493; the events come to 490" in out


def test_many_notes_are_cut(shell: Shell) -> None:
    tasks = [{"id": "t", "memory_mb": 1, "runtime_s": {"small": 10}, "count": 6}]
    jobs = [hand_made_stream_traces.job(f"j{number}", 0, 0, 1) for number in range(6)]
    jobs[-1]["deadline_s"] = 80
    events = [(0, "submit", {"job": job["id"]}) for job in jobs]
    events.append((0, "launch", {"vm": "v", "type": "small", "market": "on-demand"}))
    events += [(0, "assign", {"task": f"t#{number}", "vm": "v"}) for number in range(1, 7)]
    events.append((15, "ready", {"vm": "v"}))
    for number in range(1, 7):
        run = {"vm": "v", "core": 0, "task": f"t#{number}"}
        events += [(5 + 10 * number, "start", run | {"duration_s": 10}), (15 + 10 * number, "finish", run)]
    events.append((75, "terminate", {"vm": "v"}))
    end = {"cost_usd": 0.006, "late_tasks": 5, "late_s": 25 + 35 + 45 + 55 + 65, "on_demand_started": 1}
    write_traces("stream.jsonl", [hand_made_stream_traces.stream_trace(tasks, jobs, events, end)])
    assert "j3: 1 of 1 task late for its deadline of 0 s, by up to 55 s; and 1 more (--json" in " ".join(
        shell.run("audit", "stream.jsonl").split()
    )
    assert len(shell.json("audit", "stream.jsonl")["runs"][0]["notes"]) == 5


def test_a_trace_is_compared_with_what_should_have_been_replayed(shell: Shell) -> None:
    shell.run("stream", "tiny/two-jobs", "--once", "--trace", "stream.jsonl")
    assert "correct" in shell.run("audit", "stream.jsonl", "--instance", "tiny/two-jobs")
    shell.run("audit", "stream.jsonl", "--instance", "tiny/two-cores", code=2)
    shell.run("platform", "tiny/hybrid", "--once", "--trace", "platform.jsonl")
    assert "correct" in shell.run("audit", "platform.jsonl", "--instance", "tiny/hybrid")
    shell.run("replay", "tiny/two-cores", "--policy", "hads", "--day", "0", "--trace", "day.jsonl")
    assert "correct" in shell.run("audit", "day.jsonl", "--instance", "tiny/two-cores")
    write_text("other.json", library_instance("tiny/two-cores").replace(name="other").to_text())
    out = shell.run("audit", "day.jsonl", "--instance", "other.json", code=1)
    assert "name is 'tiny/two-cores' in the trace, 'other' in the instance that is given" in " ".join(out.split())
    found = shell.json("audit", "day.jsonl", "--instance", "other.json", code=1)
    assert [finding["rule"] for finding in found["runs"][0]["findings"]] == ["instance"]


def test_every_finding_is_listed_with_its_amount(shell: Shell) -> None:
    good, bad = hand_made_traces.hibernated_and_resumed(), hand_made_traces.hibernated_and_resumed()
    bad.end["cost_usd"] += 0.25
    bad.events[2]["duration_s"] += 7
    bad.run["day"] = 5
    write_traces("days.jsonl", [good, bad])
    out = shell.run("audit", "days.jsonl", code=1)
    assert "by hand: 2 runs, not correct, 2 findings" in out
    for part in ("run-time", "figures", "0.25", "USD", "it takes 270 s there"):
        assert part in out
    found = shell.json("audit", "days.jsonl", code=1)
    assert found["status"] == "incorrect"
    assert [run["status"] for run in found["runs"]] == ["correct", "incorrect"]
    findings = found["runs"][1]["findings"]
    assert {entry["rule"]: (entry["amount"], entry["unit"]) for entry in findings} == {
        "run-time": (7, "s"),
        "figures": (pytest.approx(0.25), "USD"),
    }
    assert all(entry["rule"] in RULES and entry["message"] for entry in findings)


def test_long_lists_are_cut(shell: Shell) -> None:
    trace = hand_made_traces.hibernated_and_resumed()
    trace.end["cost_usd"] = 1.0
    write_traces("days.jsonl", [trace] * 101)
    out = shell.run("audit", "days.jsonl", code=1)
    assert "... and 1 run more" in out
    assert "... and 61 more" in out
    assert len(shell.json("audit", "days.jsonl", code=1)["runs"]) == 101


def test_bad_input_is_exit_code_2(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.run("audit", "none.jsonl", code=2)
    assert "no such file" in shell.err
    (shell.folder / "plan.json").write_text('{"format": "spotbag.schedule/1"}\n')
    shell.run("audit", "plan.json", code=2)
    assert "is not 'spotbag.trace/2'; this is a plan: use 'spotbag check'" in shell.err
    (shell.folder / "other.json").write_text('{"a": 1}\n')
    shell.run("audit", "other.json", code=2)
    assert "must be the header of a trace" in shell.err
    write_traces("day.jsonl", [hand_made_traces.stolen()])
    text = (shell.folder / "day.jsonl").read_text()
    (shell.folder / "cut.jsonl").write_text("\n".join(text.split("\n")[:-2]))
    shell.run("audit", "cut.jsonl", code=2)
    assert "it is cut short" in shell.err
    (shell.folder / "bad.jsonl").write_text(text.replace('"core": 1', '"core": -1'))
    assert shell.json("audit", "bad.jsonl", code=2)["status"] == "error"
    monkeypatch.setattr(sys, "stdin", None)
    shell.run("audit", "-", code=2)
    assert "standard input is closed" in shell.err


def test_help_has_an_example(shell: Shell) -> None:
    assert "spotbag audit day.jsonl" in " ".join(shell.run("audit", "--help").split())
