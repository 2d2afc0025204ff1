"""``spotbag size``: what it prints for jobs, what-if questions, jobs that cannot be done, bad input."""

from __future__ import annotations

import pytest

from spotbag.instances.streams.stream_files import library_stream
from tests.helpers.command_shell import Shell, type_in


def test_every_job_has_a_table_and_all_a_total(shell: Shell) -> None:
    out = shell.run("size", "thai/table2")
    lines = [line.split() for line in out.splitlines()]
    assert "j1: 50 tasks of app1 in 600 s: optimal, $ 0.2920" in out
    # 100 tasks of 48, 24 and 12 s in 585 s: 12, 24 or 48 each. 4 larges and one medium take 108.
    assert ["m3.medium", "48.00", "12", "1", "11", "543.0", "1", "90", "%", "0.0730"] in lines
    assert ["m3.large", "24.00", "24", "1", "23", "567.0", "1", "94", "%", "0.1460"] in lines
    assert ["m3.large", "24.00", "24", "3", "22", "543.0", "3", "90", "%", "0.4380"] in lines
    assert ["m3.xlarge", "12.00", "48", "0", "-", "-", "-", "-", "-"] in lines
    assert ["j6", "5", "5", "0.6570", "0.6570"] in lines
    assert ["all", "19", "19", "2.6280", "2.6280"] in lines


def test_json_has_the_same_numbers_for_both_methods(shell: Shell) -> None:
    found = shell.json("size", "thai/table2")
    other = shell.json("size", "thai/table2", "--method", "dynamic-programme")
    assert (found["method"], other["method"]) == ("milp", "dynamic-programme")
    for one, same in zip(found["jobs"], other["jobs"], strict=True):
        del one["solving_s"], same["solving_s"]
        assert one == same
    assert found["cost_usd"] == pytest.approx(2.628)
    assert found["vms"] == 19
    first = found["jobs"][0]
    assert first["counts"] == {"m3.medium": 0, "m3.large": 2, "m3.xlarge": 0}
    assert first["tasks_per_vm"] == {"m3.medium": 13, "m3.large": 27, "m3.xlarge": 34}
    assert first["uses"] == [
        {
            "vm_type": "m3.large",
            "vms": 2,
            "tasks_each": 25,
            "runs_s": 540.0,
            "started_blocks": 1,
            "full_blocks": 0,
            "last_block_use": pytest.approx(540 / 600),
            "idle_blocks": 0,
        }
    ]


def test_what_if_there_were_more_tasks_or_more_time(shell: Shell) -> None:
    found = shell.json("size", "thai/table2", "--job", "j6", "--job", "j3", "--tasks", "700", "--deadline", "1500")
    assert [job["id"] for job in found["jobs"]] == ["j6", "j3"]
    for job in found["jobs"]:
        # 30, 61 and 123 tasks in 1485 s; 11 larges and a medium take 701.
        assert job["counts"] == {"m3.medium": 1, "m3.large": 11, "m3.xlarge": 0}
        assert job["cost_usd"] == pytest.approx(3 * (0.073 + 11 * 0.146))
    out = shell.run("size", "thai/table2", "--job", "j6", "--tasks", "700", "--deadline", "1500")
    assert "2 full, 42 %" in out
    assert "started only" not in out  # one job needs no total
    assert "1 full, 14 %, 1 idle" in shell.run(
        "size", "thai/table2", "--job", "j1", "--tasks", "16", "--deadline", "1500"
    )


@pytest.mark.parametrize("width", [60, 80, 84, 90, 100, 120])
def test_nothing_is_cut_off_in_a_narrow_terminal(shell: Shell, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr("spotbag.cli.console.terminal_width", lambda: width)
    out = shell.run("size", "thai/table2", "--job", "j6", "--tasks", "700", "--deadline", "1500")
    words = out.split()
    assert words.count("0.2190") == words.count("4.3800") == words.count("0.4380") == 1
    assert width < 80 or max(map(len, out.splitlines())) <= width


def test_a_job_that_cannot_be_done_is_said_with_the_way_out_and_exit_code_1(shell: Shell) -> None:
    out = shell.run("size", "tiny/two-jobs", "--deadline", "35", code=1)
    assert "second: 2 tasks of render in 35 s: infeasible" in out
    assert "a task takes 30 s on the fastest type, big; the deadline would have to be at least 5 s later" in out
    assert "small is left out: it cannot run the application" in out
    assert "first: 4 tasks of sort in 35 s: optimal, $ 12.0000" in out  # the other one can
    found = shell.json("size", "tiny/two-jobs", "--deadline", "35", code=1)
    assert [job["status"] for job in found["jobs"]] == ["optimal", "infeasible"]
    assert found["jobs"][1]["missing_s"] == 5
    assert "small is left out" in shell.run("size", "tiny/two-jobs", "--deadline", "40")
    late = shell.run("size", "thai/table2", "--job", "j1", "--deadline", "10", code=1)
    assert "no VM is ready before the deadline: it is 10 s away, and creating one takes 15 s" in late


def test_streams_come_from_files_too(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    text = library_stream("tiny/two-jobs").to_text()
    (shell.folder / "jobs.json").write_text(text)
    assert shell.run("size", "jobs.json") == shell.run("size", "tiny/two-jobs")
    type_in(monkeypatch, text)
    assert shell.json("size", "-")["stream"] == "tiny/two-jobs"


def test_bad_input_is_exit_code_2(shell: Shell) -> None:
    for words, message in (
        (["thai/tabel2"], "did you mean thai/table2"),
        (["nothing.json"], "nothing.json: no such file"),
        (["thai/table2", "--job", "j7"], "has no job 'j7' (known: j1, j2"),
        (["thai/table2", "--tasks", "-3"], "--tasks"),
        (["thai/table2", "--deadline", str(10**10)], "--deadline"),
        (["thai/table2", "-m", "simplex"], "method 'simplex' is unknown; there are milp and dynamic-programme"),
    ):
        assert shell.run("size", *words, code=2) == ""
        assert message in shell.err


def test_an_earlier_end_that_costs_less_is_said(shell: Shell) -> None:
    # j1: 50 tasks. By 1,500 s one large for 3 blocks, 0.438; by 1,200 s one large, 55 tasks, for 2 blocks, 0.292; by
    # 600 s two larges for one block each, 0.292 as well.
    found = shell.json("size", "thai/table2", "--job", "j1", "--deadline", "1500")["jobs"][0]
    assert found["cheaper_end"] == {"available_s": 1200, "cost_usd": pytest.approx(0.292)}
    out = shell.run("size", "thai/table2", "--job", "j1", "--deadline", "1500")
    assert "to end by 1,200 s costs less, $ 0.2920: see --deadline 1200" in out
    assert shell.json("size", "thai/table2", "--job", "j1")["jobs"][0]["cheaper_end"] is None


def test_one_task_is_one_task(shell: Shell) -> None:
    assert "first: 1 task of sort in 100 s" in shell.run("size", "tiny/two-jobs", "--job", "first", "--tasks", "1")
