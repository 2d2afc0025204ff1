"""``spotbag stream``: the table, one run, the files, the library, the exit codes."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any

import pytest

from spotbag.instances.library import library_instance
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.instances.streams.stream_files import library_stream, read_stream
from spotbag.replay.streams import runs
from spotbag.replay.streams.policies import KNOWING_POLICIES, SAMPLING_POLICIES
from spotbag.replay.streams.policies.a2ha import A2haSettings
from tests.helpers.command_shell import Shell, interrupt_after_runs, type_in

TINY = ("stream", "tiny/two-jobs")
THAI = ("stream", "thai/table2", "--runs", "4")


def test_a_row_for_each_policy_and_its_blocks(shell: Shell) -> None:
    out = shell.run(*THAI, "--policy", "known", "--policy", "medium.8")
    assert "thai/table2: 6 jobs, 450 tasks, blocks of 600 s, 15 s to launch a VM" in out
    assert "4 runs, seeds 0 to 3; mean ± half of the 95 % interval" in out
    for unit in ("($)", "cost ($)", "time (s)", "(s)"):
        assert unit in out
    rows = [line.split() for line in out.splitlines() if line.strip().startswith("medium.8")]
    assert rows[0][1:4] == ["2.920", "±", "0.000"]
    assert rows[1][1:4] == ["40.0", "±", "0.0"]  # 8 VMs for 5 blocks
    blocks = next(line for line in out.splitlines() if "paid blocks" in line)
    assert blocks.split() == ["paid", "blocks", "m3.medium", "m3.large"]  # nobody rents m3.xlarge
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 100


def test_known_and_unknown_if_no_policy_is_named(shell: Shell) -> None:
    found = shell.json(*TINY, "--runs", "2")
    assert [entry["policy"] for entry in found["policies"]] == ["known", "unknown"]
    again = shell.json(*TINY, "--runs", "2", "-p", "known", "-p", "unknown", "-p", "known")
    assert again == found


def test_json_has_the_means_and_every_run(shell: Shell) -> None:
    found = shell.json(*THAI, "--policy", "unknown", "--policy", "large.4", "--seed", "5")
    assert {"stream", "seed", "runs", "interrupted", "sampling", "a2ha", "policies", "outcomes"} <= found.keys()
    assert [run["seed"] for run in found["outcomes"]] == [5, 6, 7, 8]
    unknown = found["policies"][0]
    runs = [run["policies"]["unknown"] for run in found["outcomes"]]
    for name in ("cost_usd", "late_tasks", "late_s", "idle_s", "makespan_s"):
        assert unknown[name]["mean"] == pytest.approx(sum(run[name] for run in runs) / 4), name
        assert unknown[name]["low"] <= unknown[name]["mean"] <= unknown[name]["high"]
    assert unknown["blocks"]["m3.large"]["mean"] == pytest.approx(sum(run["blocks"]["m3.large"] for run in runs) / 4)
    assert sum(job["late_tasks"] for job in runs[0]["jobs"]) == runs[0]["late_tasks"]


def test_a_run_is_the_same_alone_and_among_others(shell: Shell) -> None:
    among = shell.json(*THAI, "--policy", "known", "--policy", "unknown")["outcomes"][2]["policies"]["unknown"]
    alone = shell.json("stream", "thai/table2", "--once", "--seed", "2", "--policy", "unknown")["outcomes"]
    assert alone == [{"seed": 2, "policies": {"unknown": among}}]


@pytest.mark.slow
@pytest.mark.xdist_group("processes")
def test_a_run_is_the_same_in_another_process(shell: Shell) -> None:
    among = shell.json(*THAI, "--policy", "known", "--policy", "unknown")["outcomes"][2]["policies"]["unknown"]
    parallel = shell.json(*THAI, "--policy", "unknown", "--workers", "2", "--runs", "6")["outcomes"][2]
    assert parallel["policies"]["unknown"] == among


def test_one_run_reports_each_job(shell: Shell) -> None:
    out = shell.run(*TINY, "--once", "--policy", "known")
    assert "the run of seed 0" in out
    assert "±" not in out
    # By hand: 4 tasks of 40 s on two small VMs, ready at 10; 2 of 30 s on a big one, requested at 50.
    assert ["known", "first", "4", "0", "0", "90", "100"] in [line.split() for line in out.splitlines()]
    assert ["known", "second", "2", "0", "0", "120", "150"] in [line.split() for line in out.splitlines()]
    [row] = [line.split() for line in out.splitlines() if line.startswith(" known") and "5.000" in line]
    assert row == ["known", "5.000", "0", "0.000", "0", "20", "120"]


def test_the_trace_of_a_run_is_audited(shell: Shell) -> None:
    shell.run(
        "stream", "thai/table2", "--once", "--seed", "4", "--trace", "stream.jsonl", "-p", "known", "-p", "large.4"
    )
    found = shell.json("audit", "stream.jsonl")
    assert found["status"] == "correct"
    assert [(run["policy"], run["seed"]) for run in found["runs"]] == [("known", 4), ("large.4", 4)]
    shell.run(*TINY, "--runs", "1", "--trace", "tiny.jsonl")
    assert shell.json("audit", "tiny.jsonl")["status"] == "correct"


def test_the_first_run_is_drawn(shell: Shell) -> None:
    shell.run(*TINY, "--runs", "2", "--seed", "7", "--gantt", "stream.svg")
    assert "stream.svg" in shell.err
    text = (shell.folder / "stream.svg").read_text()
    assert "tiny/two-jobs seed 7" in text
    assert "policy known" in text
    assert "policy unknown" in text


def test_streams_of_ones_own(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    text = library_stream("tiny/two-jobs").to_text()
    (shell.folder / "mine.json").write_text(text)
    from_file = shell.json("stream", "mine.json", "--once")
    type_in(monkeypatch, text)
    assert shell.json("stream", "-", "--once") == from_file == shell.json(*TINY, "--once")


def test_a_stream_is_written_to_begin_with(shell: Shell) -> None:
    shell.run(*TINY, "--write", "mine.json")
    assert shell.err == "wrote mine.json: tiny/two-jobs, 2 jobs, 6 tasks\n"
    assert read_stream("mine.json") == library_stream("tiny/two-jobs")
    assert shell.json("stream", "mine.json", "--write", "again.json") == {
        "format": "spotbag.written/1",
        "stream": "tiny/two-jobs",
        "written": ["again.json"],
    }
    assert (shell.folder / "again.json").read_text() == (shell.folder / "mine.json").read_text()
    shell.run("stream", "mine.json", "--write", "mine.json", code=2)
    assert "is another file of this command" in shell.err


def test_sampling_can_be_changed(shell: Shell) -> None:
    def unknown(*words: str) -> dict[str, Any]:
        return shell.json("stream", "thai/table2", "--once", "-p", "unknown", *words)

    usual = unknown()
    assert usual["sampling"] == {"fraction": 0.1, "samples_per_vm": 10}
    assert unknown("--sampling-fraction", "0.1", "--samples", "10") == usual
    assert unknown("--sampling-fraction", "0.3")["outcomes"] != usual["outcomes"]
    assert unknown("--samples", "1")["outcomes"] != usual["outcomes"]


def test_tasks_that_never_end_have_a_column(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    from spotbag.replay.streams.policies.known import Known

    assert "never" not in shell.run(*TINY, "--once")
    monkeypatch.setattr(Known, "submitted", lambda *_: None)  # a policy that does nothing
    out = shell.run(*TINY, "--once", "--policy", "known")
    assert "never" in out
    assert "never: 4" in out
    assert "paid blocks" not in out


def test_the_library_is_listed(shell: Shell) -> None:
    listed = shell.run("stream", "--list")
    for part in ("thai/table2", "tiny/two-jobs", "m3.medium", "2,100"):
        assert part in listed
    streams = shell.json("stream", "--list")["streams"]
    table2 = next(row for row in streams if row["name"] == "thai/table2")
    assert (table2["jobs"], table2["tasks"]) == (6, 450)
    assert "thai/table2" in shell.run("instance", "list")
    assert shell.json("instance", "list")["streams"] == [row["name"] for row in streams]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "STREAM is missing: give a file, - or a stream of the library: a2ha/image"),
        (("thai/table3",), "did you mean thai/table2"),
        (("burst-hads/J60",), "burst-hads/J60: this is an instance: use 'spotbag solve'"),
        (("none.json",), "none.json: no such file"),
        (("bad.json",), "bad.json"),
        (("tiny/two-jobs", "--policy", "knwon"), "did you mean known"),
        (("tiny/two-jobs", "--policy", "small.0"), "must end in a number of VMs"),
        (("tiny/two-jobs", "--policy", "small.2"), "cannot run on small"),
        (("tiny/two-jobs", "--runs", "0"), "--runs"),
        (("tiny/two-jobs", "--workers", "0"), "--workers"),
        (("tiny/two-jobs", "--seed", "-1"), "--seed"),
        (("tiny/two-jobs", "--seed", str(2**64)), "must be from 0 to 2**64 - 1"),
        (("tiny/two-jobs", "--sampling-fraction", "1"), "sampling_fraction 1 must be above 0 and below 1"),
        (("tiny/two-jobs", "--sampling-fraction", "0"), "sampling_fraction 0 must be above 0 and below 1"),
        (("tiny/two-jobs", "--samples", "0"), "samples_per_vm 0 must be 1 or more"),
        (("tiny/two-jobs", "--once", "--runs", "3"), "use one or the other"),
        (("tiny/two-jobs", "--trace", "t.jsonl"), "add --once"),
        (("tiny/two-jobs", "--write", "mine.json", "--gantt", "s.png"), "leave out --trace and --gantt"),
        (("tiny/two-jobs", "--once", "--trace", "no/t.jsonl"), "folder does not exist"),
        (("tiny/two-jobs", "--once", "--trace", "s.png", "--gantt", "s.png"), "another file of this command"),
        (("bad.json", "--gantt", "s.gif"), "must end in .png, .svg, .pdf, .html"),
    ],
)
def test_bad_input_is_refused_with_a_way_out(shell: Shell, words: tuple[str, ...], said: str) -> None:
    (shell.folder / "bad.json").write_text(json.dumps({"format": "spotbag.jobs/1"}))
    shell.run("stream", *words, code=2)
    assert said in shell.err
    assert [path.name for path in shell.folder.iterdir()] == ["bad.json"]


def test_files_of_another_format_are_sent_where_they_belong(shell: Shell) -> None:
    (shell.folder / "jobs.json").write_text(library_stream("tiny/two-jobs").to_text())
    (shell.folder / "bag.json").write_text(library_instance("tiny/two-cores").to_text())
    (shell.folder / "hybrid.json").write_text(library_platform("tiny/hybrid").to_text())
    shell.run("solve", "jobs.json", code=2)
    assert "not 'spotbag.instance/1'; this is a stream of jobs: use 'spotbag stream' or 'spotbag size'" in shell.err
    for command in ("stream", "size"):
        shell.run(command, "bag.json", code=2)
        assert "bag.json: format 'spotbag.instance/1' is not 'spotbag.jobs/1'; this is an instance: use" in shell.err
    for command in ("solve", "stream", "size", "show"):
        shell.run(command, "hybrid.json", code=2)
        assert "; this is a hybrid platform: use 'spotbag platform'" in shell.err


def test_an_interrupt_gives_the_runs_so_far(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_after_runs(monkeypatch, runs, 4)
    found = shell.json(*TINY, "--runs", "50", code=130)
    assert "interrupted: 4 of 50 runs are here" in shell.err
    assert (found["runs"], found["interrupted"]) == (4, True)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_interrupt_before_the_first_run(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    interrupt_after_runs(monkeypatch, runs, 0)
    out = shell.run(*TINY, "--runs", "50", *options, code=130)
    assert "interrupted before the first run" in shell.err
    assert not out if not options else json.loads(out)["interrupted"] is True


def test_help_has_an_example_and_all_policies(shell: Shell) -> None:
    out = shell.run("stream", "--help")
    for name in (*KNOWING_POLICIES, *SAMPLING_POLICIES, "a2ha", "large.4"):
        assert re.search(rf"  {name}[ ,]", out) or f", {name}" in out, name
    assert "Example:  spotbag stream thai/table2" in out


def test_a_job_that_cannot_be_in_time_is_reported(shell: Shell) -> None:
    stream = library_stream("tiny/two-jobs").to_document()
    stream["jobs"][0]["deadline_s"] = 25
    (shell.folder / "tight.json").write_text(json.dumps(stream))
    shell.run("stream", "tight.json", "--once")
    assert "first cannot be in time: no type finishes a task by the deadline: 15 s are left" in shell.err
    assert "second" not in shell.err


def test_what_a_policy_counts_is_shown(shell: Shell) -> None:
    words = ("stream", "a2ha/image", "--runs", "2", "-p", "a2ha", "-p", "known")
    found = shell.json(*words)
    ours, other = (entry["policy_counts"] for entry in found["policies"])
    assert other == {}
    assert list(ours) == ["hosts", "unused_hosts", "interrupted_tasks", "wasted_s", "continued_hosts"]
    runs = [run["policies"]["a2ha"]["policy_counts"] for run in found["outcomes"]]
    for name, value in ours.items():
        assert value["mean"] == pytest.approx(sum(run[name] for run in runs) / 2), name
    out = shell.run("stream", "a2ha/image", "--once", "-p", "a2ha", "-p", "known")
    lines = [line.split() for line in out.splitlines()]
    first = lines.index(["counted", "hosts", "hosts", "tasks", "(s)", "hosts"])
    assert lines[first - 1] == ["unused", "interrupted", "wasted", "continued"]
    assert lines[first + 2] == ["a2ha", *(f"{count:,}" for count in runs[0].values())]
    assert lines[first + 3] == []  # the other policy counts nothing
    assert "counted" not in shell.run(*TINY, "--once", "-p", "known")


def test_a_list_of_run_times_and_the_settings_of_a2ha(shell: Shell) -> None:
    (shell.folder / "seconds.txt").write_text("100\n200 # the second\n\n300\n")
    words = ("stream", "--run-times", "seconds.txt", "-p", "a2ha", "--once")
    # One host: 300 s to launch, 600 s of work. Two from the start: it ends with the last of 300, or of 100 + 200.
    assert shell.json(*words)["outcomes"][0]["policies"]["a2ha"]["makespan_s"] == 900
    assert shell.json(*words)["a2ha"]["initial_hosts"] == 1
    found = shell.json(*words, "-o", "initial_hosts=2", "-o", "creation_ratio=0.75")
    assert found["a2ha"] == asdict(A2haSettings(initial_hosts=2, creation_ratio=0.75))
    two = found["outcomes"][0]["policies"]["a2ha"]
    assert (two["cost_usd"], two["makespan_s"]) == (2.0, pytest.approx(700, abs=100))
    for more, said in (
        (("-o", "initial_host=2"), "did you mean initial_hosts?"),
        (("-o", "initial_hosts=x"), "initial_hosts 'x'"),
        (("-o", "creation_ratio=3"), "creation_ratio 3 must be from 0 to 1"),
        (("-o", "creation_ratio"), "must be NAME=VALUE"),
        (("thai/table2",), "STREAM and --run-times: give one of them"),
    ):
        shell.run(*words, *more, code=2)
        assert said in shell.err


def test_the_story_of_a_run(shell: Shell) -> None:
    words = (*TINY, "--once", "--tell", "-p", "known", "-p", "big.2")
    out = shell.run(*words)
    assert out.count("tiny/two-jobs") == 2
    assert "first arrives: 4 tasks of sort, due by 100 s" in out
    assert "violation" not in out
    [run] = shell.json(*words)["outcomes"]
    assert "\n\n".join("\n".join(policy["story"]) for policy in run["policies"].values()) + "\n" == out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("-p", "known", "--samples", "5"),
            "--samples: is for unknown, unknown-paid-blocks, unknown-learning, and has no",
        ),
        (("-p", "big.1,a2ha", "--sampling-fraction", "0.2"), "has no effect on big.1, a2ha; leave it out, or add"),
        (("-o", "creation_ratio=0.5"), "--option: is for a2ha, and has no effect on known, unknown"),
        (("--tell",), "--tell: is for a single run; add --once (the run of --seed)"),
    ],
)
def test_what_has_no_effect_is_refused_by_name(shell: Shell, words: tuple[str, ...], said: str) -> None:
    shell.run(*TINY, *words, code=2)
    assert said in shell.err


def test_of_many_jobs_those_that_are_late_are_shown(shell: Shell) -> None:
    # 30 jobs of one task of 20 s, all at once and due at 30, on a VM ready at 10: the first is in time, 29 are late.
    # The same on 30 VMs: none is.
    stream = library_stream("tiny/two-jobs").to_document()
    job = {"application": "sort", "submitted_s": 0, "deadline_s": 30, "n_tasks": 1}
    stream["jobs"] = [job | {"id": f"j{number}"} for number in range(30)]
    (shell.folder / "many.json").write_text(json.dumps(stream))
    out = shell.run("stream", "many.json", "--once", "-p", "big.1", "-p", "big.30")
    assert "big.1: 29 of 30 jobs not in time, of which the worst 20 are listed (all jobs: --json)" in out
    assert "big.30: 0 of 30 jobs not in time (all jobs: --json)" in out
    rows = [line.split()[1] for line in out.splitlines() if re.match(r" big\.1 +j", line)]
    assert rows == [f"j{number}" for number in range(29, 9, -1)]


def test_jobs_that_cannot_be_in_time_for_the_same_reason_are_reported_once(shell: Shell) -> None:
    stream = library_stream("tiny/two-jobs").to_document()
    job = {"application": "sort", "submitted_s": 0, "deadline_s": 25, "n_tasks": 1}
    stream["jobs"] = [job | {"id": f"j{number}"} for number in range(1, 31)]
    (shell.folder / "many.json").write_text(json.dumps(stream))
    shell.run("stream", "many.json", "--once", "-p", "big.1")
    assert shell.err.count("cannot be in time") == 1
