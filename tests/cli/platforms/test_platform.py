"""``spotbag platform``: the table, one run, the files, the library, the exit codes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from spotbag.instances.library import library_instance
from spotbag.instances.platforms.job_draws import draw_malleable_jobs
from spotbag.instances.platforms.platform_files import library_platform, read_platform
from spotbag.instances.streams.stream_files import library_stream
from spotbag.replay.platforms import runs
from spotbag.replay.platforms.policies import PLATFORM_POLICIES
from tests.helpers.command_shell import Shell, interrupt_after_runs, type_in
from tests.helpers.stops import interrupt_command

TINY = ("platform", "tiny/hybrid")
MIXED = ("platform", "caron/hybrid", "--draw", "mixed", "--number", "40")
DEFAULT_POLICIES = ["money-saving", "time-saving", "round-robin"]


def rows_of(out: str, first: str) -> list[list[str]]:
    """Words of the rows that begin with a word."""
    return [line.split() for line in out.splitlines() if line.strip().startswith(first)]


def test_a_row_for_each_policy(shell: Shell) -> None:
    out = shell.run(*MIXED, "--runs", "4", "-p", "money-saving", "-p", "round-robin")
    assert "caron/hybrid: 40 mixed jobs drawn, 3 resources below 1 agent" in out
    assert "4 runs, seeds 0 to 3; mean ± half of the 95 % interval" in out
    for heading in ("cost", "time (h)", "late", "budget", "displaced", "machines", "placement"):
        assert heading in out, heading
    found = shell.json(*MIXED, "--runs", "4", "-p", "money-saving", "-p", "round-robin")
    cost = found["policies"][0]["cost"]
    [metrics, counts] = rows_of(out, "money-saving")
    assert metrics[1:4] == [f"{cost['mean']:,.0f}", "±", f"{cost['high'] - cost['mean']:,.0f}"]
    assert counts[-3:] == [f"{found['policies'][0]['messages_per_placement']['mean']:.1f}", "±", counts[-1]]
    assert rows_of(out, "round-robin")[1][-3:] == ["2.0", "±", "0.0"]
    assert "$" not in out
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 100


def test_the_policies_of_the_paper_if_none_is_named(shell: Shell) -> None:
    found = shell.json(*TINY, "--runs", "2")
    assert [entry["policy"] for entry in found["policies"]] == DEFAULT_POLICIES
    words = [word for name in (*DEFAULT_POLICIES, "time-saving") for word in ("-p", name)]
    assert shell.json(*TINY, "--runs", "2", *words) == found


def test_every_policy_runs(shell: Shell) -> None:
    words = [word for name in PLATFORM_POLICIES for word in ("-p", name)]
    found = shell.json(*MIXED, "--once", *words)
    assert [entry["policy"] for entry in found["policies"]] == list(PLATFORM_POLICIES)


def test_json_has_the_means_and_every_run(shell: Shell) -> None:
    found = shell.json(*MIXED, "--runs", "4", "--seed", "5", "-p", "time-saving")
    assert found["job_set"] == {"kind": "mixed", "number": 40}
    assert (found["platform"], found["jobs"]) == ("caron/hybrid", 40)
    assert [run["seed"] for run in found["outcomes"]] == [5, 6, 7, 8]
    runs = [run["policies"]["time-saving"] for run in found["outcomes"]]
    for name in ("cost", "execution_time_s", "delay_s", "overspend", "late_jobs", "displaced", "machines", "messages"):
        mean = found["policies"][0][name]
        assert mean["mean"] == pytest.approx(sum(run[name] for run in runs) / 4), name
        assert mean["low"] <= mean["mean"] <= mean["high"]
    for run in runs:
        assert sum(use["jobs"] for use in run["by_resource"]) == 40
        assert sum(use["cost"] for use in run["by_resource"]) == pytest.approx(run["cost"])
        assert not {"machine_bills", "at_least"} & run.keys()


def test_a_run_is_the_same_alone_among_others_and_in_another_process(shell: Shell) -> None:
    shown = shell.run(*MIXED, "--runs", "3", "--json")
    assert shell.run(*MIXED, "--runs", "3", "--json") == shown
    among = json.loads(shown)["outcomes"][2]["policies"]["round-robin"]
    [alone] = shell.json(*MIXED, "--once", "--seed", "2", "-p", "round-robin")["outcomes"]
    run = alone["policies"]["round-robin"]
    assert {name: run[name] for name in among} == among


@pytest.mark.slow
def test_several_processes_say_the_same(shell: Shell) -> None:
    words = (*MIXED, "--runs", "5", "--json")
    assert shell.run(*words, "--workers", "2") == shell.run(*words)


def test_one_run_reports_what_ran_where(shell: Shell) -> None:
    out = shell.run(*TINY, "--once", "-p", "money-saving")
    assert "tiny/hybrid: 5 jobs, 3 resources below 1 agent" in out
    assert "the run of seed 0" in out
    assert "±" not in out
    rows = [line.split() for line in out.splitlines()]
    # By hand: 490 are 10 processor-minutes and two machines for an hour; 'hopeless' ends 7 minutes late.
    assert ["money-saving", "490", "0.72", "0.12", "1", "0", "0"] in rows
    assert ["money-saving", "dedicated", "3", "1", "30", "100", "%", "0"] in rows
    assert ["money-saving", "allocated", "1", "0", "10", "33", "%", "10"] in rows
    assert ["money-saving", "cloud", "1", "0", "40", "17", "%", "480"] in rows
    [run] = shell.json(*TINY, "--once", "-p", "money-saving")["outcomes"]
    described = run["policies"]["money-saving"]
    assert [(job["id"], job["resource"], job["end_s"]) for job in described["jobs"]][1:3] == [
        ("humble", "allocated", 420),
        ("urgent", "dedicated", 720),
    ]
    assert [machine["cost"] for machine in described["machine_bills"]] == [240, 240]


def test_a_policy_whose_rules_are_given_in_another_order_is_replayed_once(shell: Shell) -> None:
    described = shell.json(*TINY, "-p", "time-saving+exact+deadline", "-p", "time-saving+deadline+exact")
    assert [policy["policy"] for policy in described["policies"]] == ["time-saving+deadline+exact"]


def test_rules_that_are_not_the_papers(shell: Shell) -> None:
    names = ["money-saving", "money-saving+exact", "money-saving+deadline"]
    # Enough jobs for the cloud to be asked often: with 40, its exact estimates happen to change nothing here.
    words = ("platform", "caron/hybrid", "--draw", "mixed", "--number", "100", "--once")
    described = shell.json(*words, *(part for name in names for part in ("-p", name)))
    figures = [(policy["cost"]["mean"], policy["execution_time_s"]["mean"]) for policy in described["policies"]]
    assert [policy["policy"] for policy in described["policies"]] == names
    assert len(set(figures)) == len(figures)


def test_bounds_stand_below_what_policies_reach(shell: Shell) -> None:
    words = ("platform", "caron/hybrid", "--draw", "small", "--number", "12", "--runs", "2", "-p", "round-robin")
    found = shell.json(*words, "--bound")
    runs = [run["policies"]["round-robin"] for run in found["outcomes"]]
    for name in ("cost", "execution_time_s", "delay_s"):
        assert all(0 <= run["at_least"][name] <= run[name] for run in runs), name
        mean = found["policies"][0]["at_least"][name]
        assert mean["mean"] == pytest.approx(sum(run["at_least"][name] for run in runs) / 2), name
    assert sum(run["at_least"]["execution_time_s"] for run in runs) > 0
    out = shell.run(*words, "--bound")
    assert "at least: what no policy beats" in out
    assert len(rows_of(out, "round-robin")) == 3
    assert "at least" not in shell.run(*words)


def test_bounds_that_are_interrupted(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: Any) -> Any:
        interrupt_command()
        return bounds_of_run(*given)

    bounds_of_run = runs._bounds_of_run
    monkeypatch.setattr(runs, "_bounds_of_run", interrupted)
    found = shell.json(*TINY, "--runs", "2", "--bound", code=130)
    assert "interrupted: the runs are here, but no bounds" in shell.err
    assert found["runs"] == 2
    assert found["interrupted"] is True
    assert "at_least" not in found["policies"][0]


def test_the_trace_of_a_run_is_audited(shell: Shell) -> None:
    shell.run(*MIXED, "--once", "--seed", "4", "--trace", "platform.jsonl")
    found = shell.json("audit", "platform.jsonl")
    assert found["status"] == "correct"
    assert [run["policy"] for run in found["runs"]] == DEFAULT_POLICIES
    shell.run(*TINY, "--runs", "1", "--trace", "tiny.jsonl", "-p", "time-saving+deadline+patient+exact")
    assert shell.json("audit", "tiny.jsonl")["status"] == "correct"


def test_the_first_run_is_drawn(shell: Shell) -> None:
    shell.run(*TINY, "--runs", "2", "--seed", "7", "--gantt", "platform.svg", "-p", "time-saving")
    text = (shell.folder / "platform.svg").read_text()
    assert "tiny/hybrid seed 7: 5 jobs" in text
    assert "policy time-saving" in text


def test_platforms_of_ones_own(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    text = library_platform("tiny/hybrid").to_text()
    (shell.folder / "mine.json").write_text(text)
    from_file = shell.json("platform", "mine.json", "--once")
    type_in(monkeypatch, text)
    assert shell.json("platform", "-", "--once") == from_file == shell.json(*TINY, "--once")


def test_a_platform_is_written_with_the_jobs_of_a_seed(shell: Shell) -> None:
    shell.run(*MIXED, "--seed", "3", "--write", "mine.json")
    assert shell.err == "wrote mine.json: caron/hybrid, 3 resources, 40 jobs\n"
    assert read_platform("mine.json").jobs == draw_malleable_jobs(40, "mixed", 3, max_processors=64)
    own = shell.json("platform", "mine.json", "--once", "-p", "money-saving")
    sampled = shell.json(*MIXED, "--once", "--seed", "3", "-p", "money-saving")
    assert own["outcomes"][0]["policies"] == sampled["outcomes"][0]["policies"]
    report = shell.json("platform", "caron/hybrid", "--write", "bare.json")
    assert report == {"format": "spotbag.written/1", "platform": "caron/hybrid", "jobs": 0, "written": ["bare.json"]}
    assert read_platform("bare.json") == library_platform("caron/hybrid")
    shell.run("platform", "mine.json", "--write", "mine.json", code=2)
    assert "is another file of this command" in shell.err


def test_drawn_jobs_take_the_place_of_those_of_the_file(shell: Shell) -> None:
    assert shell.json(*TINY, "--once", "-p", "money-saving")["jobs"] == 5
    assert shell.json(*TINY, "--once", "-p", "money-saving", "--draw", "small")["jobs"] == 100


def test_the_library_is_listed(shell: Shell) -> None:
    listed = shell.run("platform", "--list")
    for part in ("caron/hybrid", "caron/two-sites", "tiny/hybrid", "dedicated"):
        assert part in listed
    platforms = {row["name"]: row for row in shell.json("platform", "--list")["platforms"]}
    sites = platforms["caron/two-sites"]
    assert [sites[name] for name in ("agents", "dedicated", "allocated", "cloud", "jobs")] == [3, 2, 2, 1, 0]
    assert platforms["tiny/hybrid"]["jobs"] == 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "PLATFORM is missing: give a file, - or a platform of the library: caron/hybrid"),
        (("caron/hybird",), "did you mean caron/hybrid"),
        (("burst-hads/J60",), "burst-hads/J60: this is an instance: use 'spotbag solve'"),
        (("thai/table2",), "thai/table2: this is a stream of jobs: use 'spotbag stream'"),
        (("none.json",), "none.json: no such file"),
        (("bad.json",), "bad.json: 3 errors\n  name is missing\n  agents is missing"),
        (("own.json",), "own.json: has no jobs: have some drawn"),
        (("tiny/hybrid", "--tell"), "--tell: is for a single run; add --once"),
        (("caron/hybrid",), "caron/hybrid: has no jobs: have some drawn, e.g. --draw mixed --number 100"),
        (("tiny/hybrid", "--policy", "money-savings"), "did you mean money-saving"),
        (("tiny/hybrid", "--draw", "mix"), "did you mean mixed"),
        (("tiny/hybrid", "--draw", "small", "--number", "0"), "--number"),
        (("tiny/hybrid", "--number", "3"), "--number: how many jobs to draw; say which with --draw"),
        (("tiny/hybrid", "-p", "money-saving+exakt"), "changes no rule by 'exakt' (did you mean exact?)"),
        (("tiny/hybrid", "--runs", "0"), "--runs"),
        (("tiny/hybrid", "--workers", "0"), "--workers"),
        (("tiny/hybrid", "--seed", "-1"), "--seed"),
        (("tiny/hybrid", "--seed", str(2**64)), "must be from 0 to 2**64 - 1"),
        (("tiny/hybrid", "--once", "--seed", str(2**64), "--trace", "t.jsonl"), "must be from 0 to 2**64 - 1"),
        (("tiny/hybrid", "--once", "--runs", "3"), "use one or the other"),
        (("tiny/hybrid", "--trace", "t.jsonl"), "add --once"),
        (("tiny/hybrid", "--write", "mine.json", "--gantt", "p.png"), "leave out what is for a replay"),
        (("tiny/hybrid", "--write", "mine.json", "-p", "nonsense"), "leave out what is for a replay"),
        (("tiny/hybrid", "--draw", "huge"), "--draw 'huge': there are no such jobs (known: small"),
        (("tiny/hybrid", "--once", "--trace", "no/t.jsonl"), "folder does not exist"),
        (("tiny/hybrid", "--once", "--trace", "p.png", "--gantt", "p.png"), "another file of this command"),
        (("bad.json", "--gantt", "p.gif"), "must end in .png, .svg, .pdf, .html"),
        (
            (
                "tiny/hybrid",
                "--draw",
                "small",
                "--number",
                "301",
                "--runs",
                "2",
                "-p",
                "money-saving",
                "--gantt",
                "p.png",
            ),
            "jobs cannot be read: 300 at most",
        ),
    ],
)
def test_bad_input_is_refused_with_a_way_out(shell: Shell, words: tuple[str, ...], said: str) -> None:
    (shell.folder / "bad.json").write_text(json.dumps({"format": "spotbag.platform/1"}))
    (shell.folder / "own.json").write_text(library_platform("caron/hybrid").to_text())
    shell.run("platform", *words, code=2)
    assert said in shell.err
    assert sorted(path.name for path in shell.folder.iterdir()) == ["bad.json", "own.json"]


def test_files_of_another_format_are_sent_where_they_belong(shell: Shell) -> None:
    (shell.folder / "platform.json").write_text(library_platform("tiny/hybrid").to_text())
    (shell.folder / "jobs.json").write_text(library_stream("tiny/two-jobs").to_text())
    (shell.folder / "bag.json").write_text(library_instance("tiny/two-cores").to_text())
    for command in ("solve", "stream", "size"):
        shell.run(command, "platform.json", code=2)
        assert "this is a hybrid platform: use 'spotbag platform'" in shell.err
    for name, kind in (("jobs.json", "a stream of jobs"), ("bag.json", "an instance")):
        shell.run("platform", name, code=2)
        assert f"is not 'spotbag.platform/1'; this is {kind}: use" in shell.err


def test_traces_and_documents_are_sent_where_they_belong(shell: Shell) -> None:
    shell.run(*TINY, "--once", "--trace", "run.jsonl")
    for words in (("platform",), ("stream",), ("solve",), ("show",), ("check", "tiny/two-cores")):
        shell.run(*words, "run.jsonl", code=2)
        assert shell.err == "error: run.jsonl: this is a trace: use 'spotbag audit', or 'spotbag replan' with --at\n", (
            words
        )
    platform = library_platform("tiny/hybrid").to_document()
    for indent in (None, 2):
        (shell.folder / "platform.json").write_text(json.dumps(platform, indent=indent))
        shell.run("audit", "platform.json", code=2)
        assert "this is a hybrid platform: use 'spotbag platform'" in shell.err
    (shell.folder / "twice.json").write_text("{}\n{}\n")
    shell.run("platform", "twice.json", code=2)
    assert "is not JSON: Extra data" in shell.err


def test_a_picture_that_cannot_be_read_takes_nothing_from_the_rest(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spotbag.charts.platforms.replay.MOST_MACHINES", 3)
    words = (*TINY, "--once", "-p", "money-saving", "-p", "time-saving", "--gantt", "p.png", "--trace", "t.jsonl")
    out = shell.run(*words, code=2)
    assert shell.err.startswith(
        "wrote t.jsonl\nerror: p.png: not drawn: a picture of 5 rows of cloud machines cannot be read"
    )
    assert "leave out time-saving (which has 3)" in shell.err
    assert len(rows_of(out, "time-saving")) == 6
    report = shell.json(*words, code=2)
    assert report["written"] == ["t.jsonl"]
    assert "leave out time-saving" in report["picture_refused"]
    assert len(report["policies"]) == 2
    assert sorted(path.name for path in shell.folder.iterdir()) == ["t.jsonl"]


def test_what_was_written_is_said(shell: Shell) -> None:
    words = (*TINY, "--once", "-p", "money-saving", "--gantt", "p.html", "--trace", "t.jsonl")
    shell.run(*words)
    assert shell.err == "wrote t.jsonl\nwrote p.html\n"
    assert shell.json(*words)["written"] == ["t.jsonl", "p.html"]
    assert shell.json(*TINY, "--once")["written"] == []


def test_jobs_that_missed_something_are_reported(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("-p", "money-saving", "-p", "time-saving")
    rows = [line.split() for line in shell.run(*TINY, "--once", *words).splitlines()]
    assert ["money-saving", "hopeless", "dedicated", "180", "720", "900", "480", "420", "0", "5"] in rows
    assert ["time-saving", "hopeless", "cloud", "180", "180", "360", "480", "-", "240", "5"] in rows
    assert "... and" not in shell.out
    monkeypatch.setattr("spotbag.cli.platforms.platform._MOST_MISSED", 0)
    assert "... and 1 more of time-saving (in --json)" in shell.run(*TINY, "--once", *words)
    assert "late, or" not in shell.run(*TINY, "--runs", "2", *words)


def test_the_story_of_a_run(shell: Shell) -> None:
    words = (*TINY, "--once", "--tell", "-p", "money-saving", "-p", "time-saving")
    out = shell.run(*words)
    assert out.startswith("tiny/hybrid, policy money-saving, seed 0: 5 jobs on 1 dedicated cluster")
    assert "\n\ntiny/hybrid, policy time-saving, seed 0" in out
    assert "      120 s  allocated starts humble\n" in out
    assert "execution" not in out
    [run] = shell.json(*words)["outcomes"]
    assert "\n\n".join("\n".join(policy["story"]) for policy in run["policies"].values()) + "\n" == out


def test_one_run_where_nothing_is_drawn(shell: Shell) -> None:
    fixed = ("-p", "money-saving", "-p", "fastest-of-all+exact")
    assert shell.run(*TINY, *fixed) == shell.run(*TINY, *fixed, "--once")
    assert shell.json(*TINY, *fixed, "--trace", "t.jsonl")["runs"] == 1
    assert shell.json(*TINY, *fixed, "--runs", "3")["runs"] == 3
    assert shell.json(*TINY, *fixed, "-p", "round-robin")["runs"] == 20
    assert shell.json(*TINY, *fixed, "--draw", "small", "--number", "2")["runs"] == 20


def test_costs_of_platforms_look_alike(shell: Shell) -> None:
    shell.run(*MIXED, "--once", "-p", "time-saving", "--trace", "t.jsonl")
    cost = rows_of(shell.out, "time-saving")[0][1]
    assert "," in cost
    assert rows_of(shell.run("audit", "t.jsonl"), "time-saving")[0][2] == cost


def test_an_interrupt_gives_the_runs_so_far(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt_after_runs(monkeypatch, runs, 2)
    found = shell.json(*TINY, "--runs", "50", "--bound", code=130)
    assert "interrupted: 2 of 50 runs are here" in shell.err
    assert (found["runs"], found["interrupted"]) == (2, True)


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_interrupt_before_the_first_run(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    interrupt_after_runs(monkeypatch, runs, 0)
    out = shell.run(*TINY, "--runs", "50", *options, code=130)
    assert "interrupted before the first run" in shell.err
    assert not out if not options else json.loads(out)["interrupted"] is True


def test_help_has_an_example_and_all_policies(shell: Shell) -> None:
    out = shell.run("platform", "--help")
    for name in PLATFORM_POLICIES:
        assert re.search(rf"  {name}[ ,]", out) or f", {name}" in out, name
    assert "Example:  spotbag platform caron/hybrid" in out
