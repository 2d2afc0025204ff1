"""Files that tools and people leave behind: read right, or refused with the way out.

Those of GNU parallel and Snakemake were made by them, the others by the documents of their tools.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spotbag.core.errors import InputError, SpotbagError
from spotbag.instances.bags.csv_tasks import instance_of_csv
from spotbag.instances.bags.imported import Asked, Imported
from spotbag.instances.bags.vm_catalogue import VmChoice
from spotbag.instances.table_columns import CsvFormat
from spotbag.instances.table_formats import kind_of_file

FILES = Path(__file__).parent / "task_files"
ASKED = Asked(7 * 86400, VmChoice(types=["m6i.xlarge"]), memory_mb=100)


def read(name: str, form: CsvFormat | None = None, asked: Asked = ASKED) -> Imported:
    """Read one of the files."""
    return instance_of_csv(FILES / name, asked, form)


def tasks(imported: Imported) -> dict[str, tuple[float, float | None]]:
    """Memory (MB) and run time (s) of each task."""
    return {task.id: (task.memory_mb, task.base_runtime_s) for task in imported.instance.tasks}


def said(imported: Imported) -> str:
    """Warnings, as one text."""
    return "\n".join(imported.warnings)


@pytest.mark.parametrize(
    ("name", "title", "expected"),
    [
        (
            "nextflow.txt",
            "a trace of Nextflow",
            {"INDEX": (1228.8, 58.4), "ALIGN (s1)": (6348.8, 1504), "ALIGN (s2)": (6246.4, 1490)},
        ),
        ("sacct.csv", "the table of sacct -P", {"501": (1800, 2530), "502": (2000, 93784)}),
        ("joblog.csv", "a job log of GNU parallel", {"1": (100, 64.795)}),
        ("joblog.txt", "a job log of GNU parallel", {"1": (100, 0.098), "2": (100, 0.211), "4": (100, 0.404)}),
        ("benchmarks", "benchmarks of Snakemake", {"fit/a": None, "fit/b": None, "rep": None}),
        ("condor.json", "a history of HTCondor", {"12.0": (750000 / 1024, 1800), "12.3": (1024, 2100)}),
        ("bjobs.txt", "jobs of LSF", {"501": (512, 1234), "503": (100, 90)}),
        ("batch.json", "jobs of AWS Batch", {"a-1": (2048, 1800.5), "a-3": (512, 300)}),
        ("two-ids.csv", "a trace of Nextflow", {"ALIGN (s1)": (6348.8, 1504), "ALIGN (s2)": (6246.4, 1490)}),
        ("tasks.jsonl", "a list of tasks in JSON", {"a": (1024, 90), "b": (2048, 5400)}),
        ("tasks.json", "a list of tasks in JSON", {"a": (512, 120), "b": (100, 30)}),
    ],
)
def test_files_of_tools_are_recognised_by_what_is_in_them(name: str, title: str, expected: dict[str, Any]) -> None:
    imported = read(name)
    found = tasks(imported)
    assert list(found) == list(expected)
    for task, values in expected.items():
        assert values is None or found[task] == pytest.approx(values)
    assert (f"read as {title}" in said(imported)) == (name not in ("tasks.jsonl", "tasks.json"))


def test_a_trace_of_nextflow_may_have_hashes_alone(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("hash\tstatus\trealtime\nab/1\tCOMPLETED\t345ms\nab/2\tFAILED\t-\n")
    assert tasks(instance_of_csv(tmp_path / "t", ASKED)) == {"ab/1": (100, pytest.approx(0.345))}


def test_what_came_to_nothing_is_counted_and_left_out_and_chosen_by_its_state() -> None:
    text = said(read("nextflow.txt"))
    for state, line in (("FAILED", 4), ("CACHED", 6), ("ABORTED", 7)):
        assert f"1 row with status {state} left out (the first in line {line})" in text
    assert "--only 'status=...' says which are taken" in text
    cached = read("nextflow.txt", CsvFormat(only={"status": ["COMPLETED", "CACHED"]}))
    assert list(tasks(cached)) == ["INDEX", "ALIGN (s1)", "ALIGN (s2)", "ALIGN (s3)"]
    with pytest.raises(
        InputError, match="has no task that can be planned: 6 rows that --only does not choose left out"
    ):
        read("nextflow.txt", CsvFormat(only={"status": ["DONE"]}))
    with pytest.raises(SpotbagError, match=r"--only state=...: there is no such column in .*nextflow.txt"):
        read("nextflow.txt", CsvFormat(only={"state": ["DONE"]}))
    assert list(tasks(read("nextflow.txt", CsvFormat(only={"name": ["ALIGN*"]})))) == ["ALIGN (s1)", "ALIGN (s2)"]


def test_stages_of_a_workflow_are_said_and_one_is_taken_by_its_name() -> None:
    assert "tasks of 2 stages, and the file does not say which wait for others: INDEX (1), ALIGN (2)" in said(
        read("nextflow.txt")
    )
    assert list(tasks(read("nextflow.txt", CsvFormat(stage="INDEX")))) == ["INDEX"]
    with pytest.raises(SpotbagError, match=r"--stage INDEX: .* has no column of stages"):
        read("joblog.txt", CsvFormat(stage="INDEX"))


def test_commands_are_kept_as_they_were() -> None:
    assert [task.command for task in read("joblog.csv").instance.tasks] == ['"./my run.sh" 1']
    assert [task.command for task in read("bjobs.txt").instance.tasks] == ["./fit 1", '"./my fit" 3']
    assert read("batch.json").instance.tasks[0].command == "./fit --seed 'a b'"


def test_repetitions_of_a_benchmark_are_one_task_as_long_as_the_longest() -> None:
    imported = read("benchmarks")
    assert tasks(imported)["rep"] == (3.09, 0.22)
    assert "2 rows that are repetitions, of which the longest is taken, left out" in said(imported)
    [task] = instance_of_csv(FILES / "benchmarks" / "rep.tsv", ASKED).instance.tasks
    assert (task.id, task.base_runtime_s) == ("rep", 0.22)
    with pytest.raises(InputError, match="is a folder without benchmarks of Snakemake"):
        instance_of_csv(FILES.parent.parent / "streams", ASKED)


def test_steps_of_slurm_are_parts_of_their_jobs_and_memory_may_be_what_was_asked_for() -> None:
    asked_for = read("sacct.csv", CsvFormat(columns={"memory": "ReqMem"}))
    assert tasks(asked_for) == {"501": (4096, 2530), "502": (4096, 93784)}
    assert "column 'MaxRSS' left out: --column says which is the memory" in said(asked_for)


def test_memory_of_slurm_is_of_a_node_or_of_each_core(tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    path.write_text(
        "JobID|State|Elapsed|NCPUS|ReqMem|MaxRSS|AllocTRES|\n1|COMPLETED|10:00|4|100Mc||cpu=4|\n"
        "2|COMPLETED|10:00|4|4Gn|0|cpu=4|\n3_1|CANCELLED by 7|10:00|1|4G||cpu=1,gres/gpu=1|\n"
    )
    kept = instance_of_csv(path, Asked(86400, VmChoice(types=("c6i.4xlarge",))))
    assert [(task.memory_mb, task.cores) for task in kept.instance.tasks] == [(400, 4), (4096, 4)]
    split = instance_of_csv(path, ASKED, CsvFormat(multi_core="split"))
    assert [(task.memory_mb, task.count) for task in split.instance.tasks] == [(100, 4), (1024, 4)]
    assert "2 tasks of several cores became a task for each core" in said(split)
    assert "times of two parts are minutes and seconds, as in line 2: Elapsed 10:00 is 10 min 00 s" in said(split)
    with pytest.raises(InputError, match=r"has no task that can be planned: .*2 rows of several cores left out"):
        instance_of_csv(path, ASKED, CsvFormat(multi_core="skip"))
    with pytest.raises(InputError, match="AllocTRES 'cpu=1,gres/gpu=1' cannot be planned: VM types here have no GPUs"):
        instance_of_csv(path, ASKED, CsvFormat(multi_core="split", only={"State": ["CANCELLED by 7"]}))


def test_inputs_of_users_that_were_read_wrongly() -> None:
    assert tasks(read("two-ids.csv", CsvFormat(columns={"id": "task_id"}))) == {
        "1": (6348.8, 1504),
        "2": (6246.4, 1490),
    }
    with pytest.raises(InputError, match="depends_on 'prep' cannot be planned: a bag is of independent tasks"):
        read("depends.csv")
    assert list(tasks(read("depends.csv", CsvFormat(ignored=["depends_on"])))) == ["prep", "fit", "plot"]
    assert tasks(read("failed.csv")) == {"align-1b": (2048, 1500), "align-4": (2048, 1440)}
    thousands = read("thousands.csv")
    assert tasks(thousands) == {"a": (1024, 1234), "b": (2048, 12500)}
    assert "commas in numbers stand between thousands, as in line 2: runtime_s 1,234" in said(thousands)
    assert tasks(read("units.csv")) == {"a": (2048, 2700), "b": (512, 5400.5)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sep=;\nid;memory_mb;runtime\na;1,5;90s\n", {"a": (1.5, 90)}),
        ("id\tmemory_mb\truntime_s\na\t1,024.5\t1,234\n", {"a": (1024.5, 1234)}),
        ("id\tmemory_mb\truntime_s\na\t1,024\t12,5\n", {"a": (1.024, 12.5)}),
        ("id|memory|duration\na|2Gi|1 day, 2:03:04\n", {"a": (2048, 93784)}),
        ("id,memory_mb,runtime\na,1,0:45:00\nb,1,0s\nc,1,\n", {"a": (1, 2700)}),
        ("id,memory_mb,runtime_s,cores,gpus,status\na,1,5,1,0,done\n", {"a": (1, 5)}),
        ('""\n"id";"memory_mb";"runtime"\n"a";"1,5";"90s"\n', {"a": (1.5, 90)}),
        ("JobID|Elapsed|MaxRSS\n1|00:00:05|3145728\n1.batch|00:00:05|2M\n", {"1": (3, 5)}),
        ("JobID|Elapsed|MaxRSS\n+1|00:00:05|3M\n", {"+1": (3, 5)}),
        ('{"COMMAND": "[b]", "RECORDS": [{"JOBID": 7, "STAT": "DONE", "RUN_TIME": "9"}], "JOBS": 1}', {"7": (100, 9)}),
    ],
)
def test_words_and_numbers(tmp_path: Path, text: str, expected: dict[str, tuple[float, float]]) -> None:
    (tmp_path / "t.csv").write_text(text)
    assert tasks(instance_of_csv(tmp_path / "t.csv", ASKED)) == expected


@pytest.mark.parametrize(
    ("heading", "cell", "markets"),
    [
        ("market", "on-demand", ("on-demand",)),
        ("Market", "On Demand", ("on-demand",)),
        ("capacity_type", "SPOT", ("spot",)),
        ("markets", "spot, on-demand", None),
        ("market", "any", None),
        ("market", "", None),
        ("preemptible", "no", ("on-demand",)),
        ("preemptible", "0", ("on-demand",)),
        ("preemptible", "3", None),
        ("interruptible", "true", None),
        ("spot", "FALSE", ("on-demand",)),
    ],
)
def test_a_column_says_where_a_task_may_run(
    tmp_path: Path, heading: str, cell: str, markets: tuple[str, ...] | None
) -> None:
    (tmp_path / "t.csv").write_text(f'id,memory_mb,runtime_s,{heading}\na,1,5,"{cell}"\n')
    assert instance_of_csv(tmp_path / "t.csv", ASKED).instance.tasks[0].markets == markets
    value = {"true": True, "3": 3}.get(cell, cell)
    (tmp_path / "t.json").write_text(json.dumps([{"id": "a", "memory_mb": 1, "runtime_s": 5, heading: value}]))
    assert instance_of_csv(tmp_path / "t.json", ASKED).instance.tasks[0].markets == markets


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,runtime_s,market\na,1,yes\n", "market 'yes' must be spot, on-demand or any"),
        ("id,runtime_s,preemptible\na,1,maybe\n", "preemptible 'maybe' must be spot, on-demand or any; or yes or no"),
        ("id,runtime_s,market,preemptible\na,1,spot,no\n", "--ignore-column preemptible leaves it out"),
        ("command,mean,min,max\nrun,1,1,2\n", "has no column of run times"),
        (
            "id,runtime_s,status\na,1,odd\n",
            "status 'odd' is no state that is known: --only 'status=odd' takes such rows",
        ),
        ("id,runtime_s,status\na,1,FAILED\n", "has no task that can be planned: 1 row with status FAILED left out"),
        ("id,runtime_s,exit\na,1,bad\n", "exit 'bad' must be a number, 0 if all went well"),
        (
            "id,runtime_s,gpus\na,1,2\n",
            "gpus '2' cannot be planned: VM types here have no GPUs (--ignore-column 'gpus'",
        ),
        ("id,runtime_s,cores\na,1,1.5\n", "cores '1.5' must be a whole number of cores"),
        ("task_id\thash\tduration\n1\tab\t1h\n", "is a trace of Nextflow without a column of run times: realtime"),
        ("JobID|Elapsed|Elapsed\n1|1:00|2:00\n", "has 2 columns 'Elapsed': which of them counts?"),
        ("JobID|Elapsed|State\n1.0|1:00|COMPLETED\n1.1|2:00|COMPLETED\n", "JobID '1.0' has several steps and no row"),
        ('[{"id": 1}, 2]', "task 2: 2 must be an object"),
        ('[{"id": "a", "runtime_s": 1, "needs": ["b"]}]', "task 1: needs 'b' is in a column of which nothing is made"),
        ('[{"id": "a", "runtime_s": 1}], "more": [1]', "is not JSON: Extra data"),
        (
            '{"id": "a", "runtime_s": 1}],"more":[{"id": "b", "runtime_s": 1}\n{"id": "c", "runtime_s": 1}',
            "is not JSON",
        ),
        (
            '{"jobs": [{"jobId": "a", "startedAt": 1, "stoppedAt": 9, "container": {"vcpus": {}, "memory": 1}}]}',
            "vcpus '{}' must be a whole number of cores",
        ),
        (
            '{"jobs": [{"jobId": "a", "startedAt": 1, "stoppedAt": 9, "container": {"vcpus": 1, "memory": ""}}]}',
            "memory '\"\"' must be a number",
        ),
        (
            '{"jobs": [{"jobId": "a", "startedAt": 1, "stoppedAt": 9, "container": {"vcpus": 1, "memory": " "}}]}',
            "memory '\" \"' must be a number",
        ),
        (
            '{"jobs": [{"jobId": "a", "startedAt": 1, "stoppedAt": 9, "container": {"vcpus": ["1"], "memory": 1}}]}',
            "vcpus '[\"1\"]' must be a whole number of cores",
        ),
        (
            "ClusterId\tProcId\tRemoteWallClockTime\tProcId\n1\t0\t5\t1\n",
            "has 2 columns 'ProcId': which of them counts?",
        ),
        (
            "Seq\tJobRuntime\tExitval\tCommand\n1\t 20,795\t0\tx\n",
            "JobRuntime '20,795' must be a number with a decimal",
        ),
        ("JobID|Elapsed|ReqMem|MaxRSS\n1|1:00|2G|-4\n", "MaxRSS '-4' must be greater than 0"),
        (
            '{"jobs": [{"jobId": "a", "arrayProperties": {"size": 9}, "startedAt": 1, "stoppedAt": 9}]}',
            "for each child",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises(InputError) as caught:
        instance_of_csv(tmp_path / "t", ASKED)
    assert message in str(caught.value)


def test_a_list_whose_table_would_be_far_larger_than_the_file_is_refused(tmp_path: Path) -> None:
    odd = {f"key {number}": 1 for number in range(3000)}
    (tmp_path / "t").write_text(json.dumps([odd, *({"id": f"t{number}", "runtime_s": 1} for number in range(999))]))
    with pytest.raises(InputError, match="has 1,000 objects with 3,002 different keys: leave out what is not of tasks"):
        instance_of_csv(tmp_path / "t", ASKED)


def test_a_file_of_another_format_than_is_asked_for_is_refused() -> None:
    with pytest.raises(InputError, match=r"is a trace of Nextflow, and not the table of sacct -P \(sacct -P -o JobID"):
        instance_of_csv(FILES / "nextflow.txt", ASKED, None, "sacct")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("id,runtime_s\n", "table"),
        ('{"format": "spotbag.instance/1", "tasks": [\n{', "instance"),
        ('{"record": "header", "format": "spotbag.trace/1"}\n{"a": 1}', "instance"),
        ('{"id": "a"}\n{"id": "b"}', "document"),
        ('{"format": "bam", "id": "a"}\n{"id": "b"}', "document"),
        ('{"format": "bam", "tasks": [{"id": "a"}]}', "instance"),
        ('{"name": "f", "schemaVersion": "1.5", "workflow": {', "wfformat"),
        ("; Version: 2.2\n1 0 0 60 1 -1 2048 1 200 -1 1 7 1 1 1 1 -1 -1\n", "swf"),
        ("# grid\n1 0 0 60 1 -1 2048 1 200 -1 1 U7 1 1 1 1 S1 S1 BoT b1 -1\n", "gwf"),
    ],
)
def test_kinds_of_files(text: str, kind: str) -> None:
    assert kind_of_file(text) == kind


def test_a_large_table_is_made_alike_by_both_decoders(tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    rows = [f"job{number},{number % 7 + 1},{number % 50 + 0.5}" for number in range(3000)]
    path.write_text("\n".join(["id,memory_mb,runtime_min", *rows]))
    many = instance_of_csv(path, replace(ASKED, deadline_s=10**6))
    assert tasks(many)["job2999"] == (4, 49.5 * 60)
    path.write_text("\n".join(["id,memory_mb,runtime_min", *rows, ",1,1"]))
    with pytest.raises(InputError, match="line 3002: id '' must not be empty"):
        instance_of_csv(path, ASKED)


def test_columns_of_tools_that_are_said_have_their_units_and_one_of_a_role_counts(tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    path.write_text("task_id\tname\trealtime\tpeak_rss\trss\tdeadline\n1\tA\t90000\t1048576\t2097152\t5\n")
    found = instance_of_csv(path, ASKED, CsvFormat(columns={"memory": "rss"}))
    assert tasks(found) == {"A": (2, 90)}
    assert "nothing was made of column 'deadline'" in said(found)  # what a tool calls so is none of a task
    assert found.instance.tasks[0].deadline_s is None
    with pytest.raises(InputError, match="columns 'rss' and 'peak_rss' both hold the memory"):
        instance_of_csv(path, ASKED, CsvFormat(columns={"memory": "rss", "memory_b": "peak_rss"}))


def test_a_column_with_a_unit_in_a_table_of_a_tool_is_of_whoever_made_it(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("jobid,elapsed,memory_gb,deadline_s\n1,00:00:05,2,30\n")
    with pytest.raises(InputError) as caught:
        instance_of_csv(path, ASKED)
    for heading in ("memory_gb", "deadline_s"):
        assert f"{heading} '" in str(caught.value)
        assert f"--ignore-column {heading!r} leaves it out, --column ROLE={heading!r} takes it" in str(caught.value)
    said_so = CsvFormat(columns={"memory": "memory_gb", "deadline": "deadline_s"})
    [task] = instance_of_csv(path, ASKED, said_so).instance.tasks
    assert (task.memory_mb, task.deadline_s) == (2048, 30)


def test_dates_hold_in_documents_and_by_option_and_clocks_of_each_column_are_said(tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    path.write_text('[{"id": "a", "runtime_s": 60, "ready_s": 5, "deadline": "10:30", "weight": 2}]')
    [task] = (found := instance_of_csv(path, ASKED)).instance.tasks
    assert (task.ready_s, task.deadline_s, task.weight) == (5, 630, 2)
    assert "as in task 1: deadline 10:30 is 10 min 30 s" in said(found)
    path = tmp_path / "sacct.txt"
    path.write_text("JobID|Elapsed|Deadline\n1|10:00|20:00\n2|10:00|\n")
    found = instance_of_csv(path, ASKED, CsvFormat(columns={"deadline": "Deadline"}))
    assert [task.deadline_s for task in found.instance.tasks] == [1200, None]
    assert "Elapsed 10:00 is" in said(found)
    assert "Deadline 20:00 is" in said(found)
