"""Files as their tools write them, seen by those who have them: planned right, or refused with the way out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.command_shell import Shell

COMMON = ("--types", "m5.large,c5.xlarge", "--deadline", "3h")
BENCHMARK = "s\th:m:s\tmax_rss\n{}\t0:00:09\t{}\n"
USER_LOG = """000 (4711.000.000) 2026-10-01 09:00:00 Job submitted from host: <10.0.0.5:9618?addrs=10.0.0.5-9618>
...
005 (4711.000.000) 2026-10-01 09:21:00 Job terminated.
\t(1) Normal termination (return value 0)
...
"""
ACCOUNTING = """
Accounting information about jobs that are:
  - submitted by users ann,
------------------------------------------------------------------------------

Job <88130>, User <ann>, Project <default>, Status <DONE>, Queue <normal>,
                     Command <./post>, Share group charged </ann>
Mon Oct  5 09:01:00: Dispatched 1 Task(s) on Host(s) <n7>, Allocated 1 Slot(s) on Host(s) <n7>;
Mon Oct  5 09:31:00: Completed <done>.
"""
SLURM_JSON = {"meta": {"Slurm": {"version": {"major": 23}}}, "jobs": [{"job_id": 7, "time": {"elapsed": 600}}]}


def tasks_of(shell: Shell, name: str, text: str | bytes, *options: str) -> list[dict[str, Any]]:
    """Write a file, import it by what is in it, and return its tasks; what was said is in `shell.err`."""
    path = shell.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    shell.run("instance", "import", "csv", str(path), *COMMON, *options, "--out", "bag.json")
    tasks: list[dict[str, Any]] = json.loads(Path("bag.json").read_text())["tasks"]
    return tasks


def test_parts_of_a_job_that_run_together_are_not_planned_as_if_they_did_not(shell: Shell) -> None:
    rows = "90+0|COMPLETED|00:15:00|4G\n90+1|COMPLETED|00:15:00|4G\n91|COMPLETED|00:10:00|4G\n"
    Path("sacct.txt").write_text(f"JobID|State|Elapsed|ReqMem\n{rows}")
    shell.run("solve", "sacct.txt", *COMMON, code=2)
    assert "90+0" in shell.err
    assert "heterogeneous" in shell.err


def test_a_quarter_of_a_core_that_becomes_a_whole_one_is_said(shell: Shell) -> None:
    needs = [{"value": "512", "type": "MEMORY"}, {"value": "0.25", "type": "VCPU"}]
    job = {"jobId": "a", "status": "SUCCEEDED", "startedAt": 1793700000123, "stoppedAt": 1793700600123}
    text = json.dumps({"jobs": [job | {"container": {"resourceRequirements": needs, "exitCode": 0}}]})
    assert tasks_of(shell, "jobs.json", text) == [{"id": "a", "memory_mb": 512, "base_runtime_s": 600}]
    assert "0.25" in shell.err


def test_a_decimal_comma_is_understood_in_a_column_that_an_option_names(shell: Shell) -> None:
    text = "\ufeffAufgabe;Laufzeit (min);Speicher (GB)\r\nPrüfung 1;71,6;3,5\r\n"
    columns = ("--column", "id=Aufgabe", "--column", "runtime=Laufzeit (min)", "--column", "memory=Speicher (GB)")
    assert tasks_of(shell, "aufgaben.csv", text, *columns) == [
        {"id": "Prüfung 1", "memory_mb": 3584, "base_runtime_s": 4296}
    ]
    assert "decimal commas" in shell.err


def test_the_format_of_the_workflows_that_are_published_today_is_read(shell: Shell) -> None:
    task = {"name": "hog_1", "id": "hog_1", "parents": [], "children": [], "inputFiles": ["in"], "outputFiles": ["out"]}
    run = {"id": "hog_1", "runtimeInSeconds": 99.5, "coreCount": 1, "memoryInBytes": 2**20, "machines": ["a"]}
    metrics = {"numberOfTasks": 1, "numberOfFiles": 2}
    files = [{"id": "in", "sizeInBytes": 1}, {"id": "out", "sizeInBytes": 1}]
    flow = {
        "specification": {"tasks": [task], "files": files, "metrics": metrics},
        "execution": {"makespanInSeconds": 99.5, "executedAt": "2026-08-04T15:20:00-08:00", "tasks": [run]},
    }
    text = json.dumps({"name": "hogs", "schemaVersion": "1.6", "workflow": flow})
    Path("flow.json").write_text(text)
    shell.run("instance", "import", "wfformat", "flow.json", *COMMON, "--out", "bag.json")
    assert json.loads(Path("bag.json").read_text())["tasks"] == [
        {"id": "hog_1", "memory_mb": 1, "base_runtime_s": 99.5}
    ]


@pytest.mark.parametrize(
    ("text", "way_out"),
    [
        pytest.param(USER_LOG, "condor_history", id="log-of-a-condor-job"),
        pytest.param("ClusterId RemoteWallClockTime Cmd\n47 2476.0 /bin/run 1\n", "-af:ht", id="-af:h-with-blanks"),
        pytest.param("ClusterId Args RemoteWallClockTime Env\n47 7 9 60.0\n", "-af:ht", id="-af:h-that-may-have-some"),
        pytest.param(
            " ID     OWNER    SUBMITTED   RUN_TIME     ST COMPLETED   CMD\n"
            "4711.0  ann   10/5  09:00   0+00:20:12 C  10/5  10:01 /home/ann/run.sh -i 0\n",
            "condor_history",
            id="condor_history",
        ),
        pytest.param(ACCOUNTING, "bjobs", id="bacct-l"),
        pytest.param("JOBID STAT RUN_TIME MAX_MEM\n88010 DONE 71 second(s) 1.2 Gbytes\n", "delimiter", id="bjobs-o"),
        pytest.param("JOBID^STAT^RUN_TIME\n88010^DONE^71 second(s)\n", "delimiter", id="bjobs-by-carets"),
        pytest.param(
            "JOBID   USER    STAT  QUEUE      FROM_HOST   EXEC_HOST   JOB_NAME   SUBMIT_TIME\n"
            "88001   ann     DONE  normal     login1      n7          post       Oct  5 09:00\n",
            "bjobs -a -o",
            id="bjobs",
        ),
        pytest.param("JobID|JobName|AllocCPUS|State|ExitCode\n7|a|1|COMPLETED|0:0\n", "Elapsed", id="sacct-P"),
        pytest.param(
            "JobID           JobName    Elapsed      State\n"
            "------------ ---------- ---------- ----------\n"
            "100                   a   00:10:00  COMPLETED\n",
            "sacct -P",
            id="sacct",
        ),
        pytest.param(json.dumps(SLURM_JSON), "sacct -P", id="sacct--json"),
        pytest.param(
            '{"apiVersion": "v1", "items": [{"kind": "Job"}]}', "an object for each task", id="json-of-others"
        ),
        pytest.param(
            "".join(
                json.dumps({"JOBID": "88", "STAT": "DONE", "RUN_TIME": "9 second(s)", "JOB_NAME": f"f[{i}]"}) + "\n"
                for i in (1, 2)
            ),
            "jobindex",
            id="array-without-its-index",
        ),
        pytest.param(
            '{"task": "a", "started_at": "2026-10-25T01:30:00+02:00", "finished_at": "2026-10-25T01:10:12+01:00"}\n',
            "finished_at",
            id="start-and-end-alone",
        ),
    ],
)
def test_what_a_tool_writes_in_another_form_is_refused_with_the_way_to_the_one_that_is_read(
    shell: Shell, text: str, way_out: str
) -> None:
    Path("left behind").write_text(text)
    shell.run("solve", "left behind", *COMMON, "--memory", "1GB", code=2)
    assert way_out in shell.err


def test_cells_that_blanks_divide_are_read_where_none_can_hide_in_them(shell: Shell) -> None:
    heading = "ClusterId ProcId Owner JobStatus RemoteWallClockTime RequestCpus"
    text = f"{heading}\n4711 0 ann 4 2476.0 1\n4711 1 ann 4 60.0 1\n4711 2 ann 5 0.0 1\n"
    assert tasks_of(shell, "history.txt", text, "--memory", "1GB") == [
        {"id": "4711.0", "memory_mb": 1024, "base_runtime_s": 2476},
        {"id": "4711.1", "memory_mb": 1024, "base_runtime_s": 60},
    ]


def test_a_benchmark_that_lacks_something_is_named_by_its_file(shell: Shell) -> None:
    for name, mb in (("align/A.tsv", "50.25"), ("tiny/A.tsv", "NA")):
        path = shell.folder / "benchmarks" / name
        path.parent.mkdir(parents=True)
        path.write_text(BENCHMARK.format("9.5", mb))
    shell.run("solve", "benchmarks", *COMMON, code=2)
    assert "tiny/A" in shell.err


def test_jobs_that_were_queued_again_count_once(shell: Shell) -> None:
    rows = (
        "7|NODE_FAIL|0:0|00:11:40|4G|\n7.batch|CANCELLED||00:11:40||900000K\n"
        "7|COMPLETED|0:0|00:30:00|4G|\n7.batch|COMPLETED|0:0|00:30:00||1048576K\n7.extern|COMPLETED|0:0|00:30:00||0\n"
        "8_3|OUT_OF_MEMORY|0:125|00:10:00|4G|\n8_4|COMPLETED|0:0|00:10:00|4G|\n8_4.batch|COMPLETED|0:0|00:10:00||1.5G\n"
        "8_[5-9%4]|PENDING|0:0|00:00:00|4G|\n9|CANCELLED by 1001|0:0|00:00:00|4G|\n"
    )
    assert tasks_of(shell, "sacct.txt", f"JobID|State|ExitCode|Elapsed|ReqMem|MaxRSS\n{rows}") == [
        {"id": "7", "memory_mb": 1024, "base_runtime_s": 1800},
        {"id": "8_4", "memory_mb": 1536, "base_runtime_s": 600},
    ]
    assert "1 row with State NODE_FAIL left out" in shell.err


def test_a_run_that_was_resumed_counts_each_job_by_its_last_attempt(shell: Shell) -> None:
    rows = "".join(
        f"{number}\t:\t1795874806.{number:03}\t{seconds:10.3f}\t0\t0\t{code}\t0\t./work.sh {number} 'a b;c|d'\n"
        for number, seconds, code in ((2, 27.2, 0), (1, 35.4, 1), (1, 36.2, 1), (1, 37.3, 0))
    )
    heading = "Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\n"
    assert tasks_of(shell, "run.log", heading + rows, "--memory", "1GB") == [
        {"id": "2", "memory_mb": 1024, "base_runtime_s": 27.2, "command": "./work.sh 2 'a b;c|d'"},
        {"id": "1", "memory_mb": 1024, "base_runtime_s": 37.3, "command": "./work.sh 1 'a b;c|d'"},
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(
            "JobID|State|Elapsed|ReqMem\n1|FAILED|00:05:00|1G2|COMPLETED|00:05:00|1G\n3|COMPLETED|00:05:00|1G\n",
            "line 2",
            id="two-jobs-in-a-line",
        ),
        pytest.param(
            "task_id\thash\tname\tstatus\trealtime\t%cpu\tcpus\tpeak_rss\tmemory\n"
            "1\taa/1\tA\tCOMPLETED\t9s\t\t\t2\t1.5 GB\t2 GB\n",
            "line 2",
            id="cells-that-have-moved",
        ),
        pytest.param("s\th:m:s\tmax_rss\tmean_load\n9.5\t0:00:09\t31.48\t99.1\t7\n", "7", id="a-cell-too-many"),
    ],
)
def test_a_row_of_more_cells_than_headings_is_refused_whatever_its_state(shell: Shell, text: str, line: str) -> None:
    Path("table.txt").write_text(text)
    shell.run("solve", "table.txt", *COMMON, "--memory", "1GB", code=2)
    assert line in shell.err
    assert "cells" in shell.err


def test_a_submission_before_the_log_is_refused(shell: Shell) -> None:
    Path("log.swf").write_text(
        "1 100 0 60 1 -1 -1 1 -1 -1 1 7 1 1 1 1 -1 -1\n2 -4 0 60 1 -1 -1 1 -1 -1 1 7 1 1 1 1 -1 -1\n"
    )
    shell.run("instance", "import", "stream", "log.swf", "--types", "m5.large", "--deadline", "1h", code=2)
    assert "line 2: column 2" in shell.err


def test_one_task_in_one_line_is_read_whatever_its_command_is(shell: Shell) -> None:
    text = json.dumps({"id": "a", "runtime": "90s", "memory_mb": 512, "command": ["run", "a b"]}) + "\n"
    assert tasks_of(shell, "one.jsonl", text) == [
        {"id": "a", "memory_mb": 512, "base_runtime_s": 90, "command": "run 'a b'"}
    ]


@pytest.mark.parametrize("stopped", ["1793700600000.0", "1.7937006e12"])
def test_whole_milliseconds_are_whole_however_they_are_written(shell: Shell, stopped: str) -> None:
    job = f'{{"jobId": "a", "status": "SUCCEEDED", "startedAt": 1793700000000, "stoppedAt": {stopped}}}'
    assert tasks_of(shell, "jobs.json", f'{{"jobs": [{job}]}}', "--memory", "1GB") == [
        {"id": "a", "memory_mb": 1024, "base_runtime_s": 600}
    ]


def test_needs_that_are_no_numbers_are_refused(shell: Shell) -> None:
    needs = [{"type": "VCPU", "value": {}}, {"type": "MEMORY", "value": "2048"}]
    job = {"jobId": "a", "status": "SUCCEEDED", "startedAt": 1793700000000, "stoppedAt": 1793700600000}
    Path("jobs.json").write_text(json.dumps({"jobs": [job | {"container": {"resourceRequirements": needs}}]}))
    shell.run("solve", "jobs.json", *COMMON, code=2)
    assert "vcpus '{}'" in shell.err


def test_a_memory_of_nothing_was_not_measured_in_any_table(shell: Shell) -> None:
    assert tasks_of(shell, "tasks.csv", "id,runtime_s,memory_gb\na,5,0\n", "--memory", "1GB") == [
        {"id": "a", "memory_mb": 1024, "base_runtime_s": 5}
    ]
