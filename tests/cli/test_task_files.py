"""Files of tasks of all formats on the command line: recognised, with the options of their imports."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from spotbag.instances.table_formats import FORMATS
from tests.helpers.command_shell import Shell, type_in

FILES = Path(__file__).parents[1] / "instances" / "bags" / "task_files"


def test_solve_and_import_read_the_same_with_the_same_options(shell: Shell) -> None:
    common = ("--types", "m6i.xlarge", "--deadline", "3d", "--memory", "1GB", "--zone", "use1-az6")
    for name in ("nextflow.txt", "sacct.csv", "joblog.txt", "benchmarks", "condor.json", "bjobs.txt", "batch.json"):
        found = shell.json("solve", str(FILES / name), *common, "-m", "greedy")
        shell.run("instance", "import", "csv", str(FILES / name), *common, "--out", "bag.json")
        assert shell.json("solve", "bag.json", "-m", "greedy")["cost_usd"] == found["cost_usd"]
    log = shell.folder / "log"
    log.write_text("1 0 0 60 1 -1 2048 2 200 -1 1 7 1 1 1 1 -1 -1\n")
    assert len(shell.json("solve", "log", *common, "--multi-core", "split", "-m", "greedy")["plan"]["tasks"]) == 2
    shell.run("solve", "log", *common, "--only", "status=1", code=2)
    assert "--only: log has no headings ('spotbag instance import swf --help' has its options)" in shell.err


def test_each_format_has_an_import_whose_help_names_its_columns(shell: Shell) -> None:
    for form in FORMATS.values():
        text = shell.run("instance", "import", form.name, "--help")
        assert f"instance import {form.name} {form.example}" in " ".join(text.split())


@pytest.mark.slow
def test_quotas_rates_and_minimum_bills_are_refused_or_said_by_name(shell: Shell, tmp_path: Path) -> None:
    quota = (FILES / "quota.json").read_text().replace('"max_spot": 16', '"max_spot_vcpus": 64')
    (tmp_path / "q.json").write_text(quota)
    shell.run("solve", str(tmp_path / "q.json"), code=2)
    assert "max_spot_vcpus" in shell.err
    rates = str(FILES / "rates.json")
    shell.run("replay", "hads/J60", "-m", "greedy", "--scenario", rates, "--runs", "2", code=2)
    assert "type_interruptions_per_hour" in shell.err
    short = shell.run("solve", str(FILES / "short.csv"), "--types", "c6i.large,c6i.xlarge", "--deadline", "2h")
    assert "40 tasks on 1 VM" in short  # as many VMs as tasks would each be billed for a minute
    assert "cost $ 0.001607, proved to be the least" in " ".join(short.split())


@pytest.mark.slow
@pytest.mark.parametrize("deadline", ["1h", "4h"])
def test_two_heavy_tasks_are_planned_whatever_the_deadline(shell: Shell, deadline: str) -> None:
    words = ("--types", "c6i.xlarge,m5.large", "--deadline", deadline)
    found = shell.json("solve", str(FILES / "two-heavy.csv"), *words)
    assert (found["status"], found["cost_usd"]) == ("optimal", pytest.approx(0.03894))


@pytest.mark.slow
def test_long_tasks_say_what_their_survival_costs(shell: Shell) -> None:
    words = ("--types", "c6i.large,c6i.xlarge,c5.xlarge,m5.xlarge", "--deadline", "1h", "--max-spot", "16")
    text = " ".join(shell.run("solve", str(FILES / "long.csv"), *words).split())
    assert "$ 2.266667, proved to be the least of plans that survive" in text
    assert "spot VMs are left out so that it survives: $ 0.7820 if it need not (--survive none)" in text


@pytest.mark.slow
def test_types_of_google_cloud_have_its_notice_and_its_bills(shell: Shell) -> None:
    shell.run("instance", "prices", "--skypilot", str(FILES / "gcp.csv"), "--base", "none", "--out", "gcp.json")
    words = (str(FILES / "bag.csv"), "--types", "n2-standard-8", "--prices", "gcp.json", "--deadline", "3h")
    found = shell.json("solve", *words, "--out", "plan.json")
    assert (found["status"], found["cost_usd"]) == ("optimal", pytest.approx(5 * 0.12701 / 3))
    text = shell.run("replay", *words, "--plan", "plan.json", "--policy", "static", "--runs", "1")
    assert "gcp: spot VMs are stopped after 30 s of notice; VMs are billed by the second, at least 60 s" in text


def test_a_price_ceiling_and_a_reserve_of_memory(shell: Shell) -> None:
    (shell.folder / "t.csv").write_text("id,memory_gb,runtime_min,count,market\na,1.95,20,8,on-demand\n")
    common = ("solve", "t.csv", "--types", "c6i.large,c6i.xlarge", "--deadline", "2h")
    plan = shell.json(*common)["plan"]
    assert {(vm["market"], vm["type"]) for vm in plan["vms"]} == {("on-demand", "c6i.large")}
    assert max(task["core"] for task in plan["tasks"]) == 1
    reserved = shell.json(*common, "--memory-reserve", "5%", "--max-price", "0.10")["plan"]
    assert "--max-price leaves out c6i.xlarge on-demand (0.17 $/h)" in shell.err
    assert {task["core"] for task in reserved["tasks"]} == {0}  # 3.8 GB hold one task of 1.95 GB
    shell.run(*common, "--memory-reserve", "196MB", code=0)
    for words, said in (
        (("--memory-reserve", "5"), "must be a share such as 5%, or an amount such as 500MB"),
        (("--memory-reserve", "99%"), "fits no VM type (largest 81.9"),
        (("--max-price", "0.001"), "all offers of t are above it; the cheapest is 0.0305 $/h"),
    ):
        shell.run(*common, *words, code=2)
        assert said in shell.err
    shell.run("instance", "generate", "--tasks", "5", "--out", "bag.json")
    shell.run("solve", "bag.json", "-m", "greedy", "--memory-reserve", "200MB", "--max-price", "100")


def test_what_is_no_file_of_tasks_is_read_as_before(shell: Shell) -> None:
    shell.run("instance", "export", "hads/J60", "--job", "job.json", "--env", "env.json", code=0)
    shell.run("instance", "generate", "--tasks", "5", "--out", "bag")
    assert len(shell.json("solve", "bag", "-m", "greedy")["plan"]["tasks"]) == 5
    shell.run("solve", "bag", "-m", "greedy", "--zone", "use1-az6")
    assert "has VM types of its own: --zone changed nothing" in shell.err
    shell.run("solve", ".", code=2)
    assert "is a folder, not a file" in shell.err


_LOG = "; Version: 2.2\n1 0 0 60 1 -1 2048 2 200 -1 1 7 1 1 1 1 -1 -1\n"
_WORKFLOW = json.dumps(
    {
        "name": "w",
        "schemaVersion": "1.4",
        "workflow": {"tasks": [{"name": "a", "parents": [], "children": [], "runtimeInSeconds": 60}]},
    }
)


@pytest.mark.parametrize("text", [_LOG, _LOG.replace(" ", "\t"), _WORKFLOW, (FILES / "batch.json").read_text()])
def test_standard_input_is_recognised_by_its_content(shell: Shell, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    words = ("--types", "m6i.xlarge", "--deadline", "3d", "--memory", "1GB", "--multi-core", "split")
    (shell.folder / "bag").write_text(text)
    wanted = shell.json("solve", "bag", *words, "-m", "greedy")["plan"]
    type_in(monkeypatch, text)
    assert shell.json("solve", "-", *words, "-m", "greedy")["plan"] == wanted
    for kind in ("csv", "json"):
        type_in(monkeypatch, text)
        shell.run("instance", "import", kind, "-", *words, "--out", "bag.json")
        assert shell.json("solve", "bag.json", "-m", "greedy")["plan"] == wanted


def test_standard_input_without_an_option_of_tasks_is_what_it_says(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_in(monkeypatch, "id,memory_mb,runtime_s\na,512,60\n")
    shell.run("solve", "-", "--deadline", "2h", code=2)
    assert "standard input: no VM types are chosen" in shell.err
    shell.run("instance", "generate", "--tasks", "5", "--out", "bag")
    type_in(monkeypatch, (shell.folder / "bag").read_text())
    assert len(shell.json("solve", "-", "-m", "greedy")["plan"]["tasks"]) == 5
    type_in(monkeypatch, (shell.folder / "bag").read_text())
    assert shell.json("show", "-")["tasks"] == 5


def test_a_log_from_a_pipe_is_recognised_by_its_content(shell: Shell) -> None:
    os.mkfifo(shell.folder / "pipe")
    writer = threading.Thread(target=(shell.folder / "pipe").write_text, args=(_LOG,))
    writer.start()
    words = ("--types", "m6i.xlarge", "--deadline", "3d", "--memory", "1GB", "--multi-core", "split")
    assert len(shell.json("solve", "pipe", *words, "-m", "greedy")["plan"]["tasks"]) == 2
    writer.join()
