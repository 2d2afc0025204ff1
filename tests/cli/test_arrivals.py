"""Files of jobs that arrive: imported, or read where a stream or a platform is expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotbag.instances.platforms.platform_files import library_platform, read_platform
from spotbag.instances.streams.stream_files import read_stream
from tests.helpers.command_shell import Shell, type_in

DUE = "2026-11-28T10:00Z"
TABLE = f"job,submitted,runtime_min,tasks,due\na,2026-11-28T09:00Z,10,4,{DUE}\nb,2026-11-28T09:05Z,5,1,{DUE}\n"
SWF = "1 100 3 60 2 -1 -1 2 600 -1 1 7 1 5 1 1 -1 -1\n2 160 3 30 1 -1 -1 1 600 -1 0 7 1 5 1 1 -1 -1\n"


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "arrivals.csv"
    path.write_text(TABLE)
    return str(path)


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "log.swf"
    path.write_text(SWF)
    return str(path)


def test_a_table_is_a_stream_with_types_and_prices(shell: Shell, table: str, tmp_path: Path) -> None:
    out = str(tmp_path / "stream.json")
    options = (
        "--types",
        "c6i.large,c5.xlarge",
        "--speed",
        "c6i.large=1,c5.xlarge=2",
        "--block",
        "30m",
        "--launch",
        "60s",
    )
    shell.run("instance", "import", "stream", table, *options, "--out", out)
    made = read_stream(out)
    assert (made.name, made.block_s, made.creation_overhead_s) == ("arrivals", 1800, 60)
    prices = {vm_type.name: vm_type.price_usd_per_block for vm_type in made.vm_types}
    assert prices == {"c6i.large": pytest.approx(0.085 / 2), "c5.xlarge": pytest.approx(0.17 / 2)}
    assert [(job.id, job.submitted_s, job.deadline_s, job.n_tasks) for job in made.jobs] == [
        ("a", 0, 3600, 4),
        ("b", 300, 3600, 1),
    ]
    assert made.average_s(made.job("a").application, "c5.xlarge") == 300
    assert shell.json("stream", table, *options, "--runs", "2") == shell.json("stream", out, "--runs", "2")


def test_spot_prices_by_option(shell: Shell, table: str, tmp_path: Path) -> None:
    out = str(tmp_path / "stream.json")
    shell.run("stream", table, "--types", "c6i.large", "--market", "spot", "--write", out)
    (vm_type,) = read_stream(out).vm_types
    assert vm_type.price_usd_per_block < 0.085


def test_a_log_is_a_platform_with_the_resources_of_another(shell: Shell, log: str, tmp_path: Path) -> None:
    out = str(tmp_path / "platform.json")
    options = ("--resources", "tiny/hybrid", "--stretch", "3", "--budget-rate", "2", "--status", "all")
    shell.run("instance", "import", "platform", log, *options, "--out", out)
    made = read_platform(out)
    assert made.resources == library_platform("tiny/hybrid").resources
    assert [(job.id, job.size_processor_minutes, job.arrival_s, job.deadline_s, job.budget) for job in made.jobs] == [
        ("j1", 2, 0, 180, 4.0),
        ("j2", 1, 60, 150, 2.0),
    ]
    assert shell.json("platform", log, *options) == shell.json("platform", out)


def test_what_is_assumed_is_said(shell: Shell, log: str, tmp_path: Path) -> None:
    shell.run("platform", log, "--deadline", "1h", "--write", str(tmp_path / "platform.json"))
    assert "jobs without a budget may cost 4 for each processor-minute (--budget-rate)" in shell.err
    assert "1 jobs with status 0 left out" in shell.err
    shell.run("stream", log, "--deadline", "1h", "--write", str(tmp_path / "stream.json"))
    assert "all VMs are of one type, 'host', for $ 1 a block" in shell.err


def test_options_of_files_of_arrivals_do_nothing_to_other_streams(shell: Shell, tmp_path: Path) -> None:
    shell.run("stream", "tiny/two-jobs", "--deadline", "1h", "--jobs", "3", "--write", str(tmp_path / "stream.json"))
    assert "tiny/two-jobs is no file of arrivals: --jobs, --deadline changed nothing" in shell.err


def test_a_file_without_deadlines_needs_an_option(shell: Shell, log: str) -> None:
    shell.run("stream", log, code=2)
    assert "line 1 has no deadline" in shell.err
    assert "--deadline 2h" in shell.err


def test_a_table_on_standard_input(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, TABLE)
    assert shell.json("stream", "-", "--once")["jobs"] == 2


def test_lines_of_a_log_may_end_as_on_windows(shell: Shell, tmp_path: Path) -> None:
    path, out = tmp_path / "log.gwf", str(tmp_path / "stream.json")
    path.write_bytes(b"1\t0\t3\t60\t1\t-1\t-1\t1\t600\t-1\t1\tU1\tG1\tprog\tQ\tP\tS\tS\tBoT\tb1\r\n")
    shell.run("stream", str(path), "--stretch", "2", "--write", out)
    (job,) = read_stream(out).jobs
    assert (job.id, job.application, job.deadline_s) == ("j1", "appprog", 120)


def test_options_that_a_file_does_not_have_are_refused(shell: Shell, table: str, log: str) -> None:
    for words, said in (
        ((table, "--user", "3"), "--user: "),
        ((log, "--column", "arrival_s=x"), "--column: "),
        ((table, "--speed", "c6i.large=1"), "--speed: is for VM types"),
    ):
        shell.run("stream", *words, code=2)
        assert said in shell.err
