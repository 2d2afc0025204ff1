"""The second oracles of foreign formats on files whose right reading is plain."""

from __future__ import annotations

import json

import pytest

from tests.fuzzing.oracles.job_logs import LogAsked
from tests.fuzzing.oracles.readings import Row, Task, Verdict, same
from tests.fuzzing.second_opinion import second_bag_of_tool
from tests.fuzzing.second_opinion_of_lists import (
    second_bag_of_batch,
    second_bag_of_csv,
    second_bag_of_list,
    second_bag_of_workflow,
)
from tests.fuzzing.second_opinion_of_logs import second_bag_of_log, second_jobs_of_table, second_stream_job
from tests.fuzzing.second_opinion_of_prices import second_prices_of_history, second_types_of_skypilot

TYPES = ("c6i.large", "c7g.large")
LINE = "1 0 0 60 1 -1 2048 2 200 -1 1 7 1 1 1 1 -1 -1"
TRACE = "task_id\thash\tname\tstatus\texit\trealtime\tpeak_rss\tmemory\n"
SLURM = "JobID|State|ExitCode|Elapsed|ReqMem|MaxRSS\n"
SKYPILOT = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,"


def _tool(kind: str, text: str) -> Verdict:
    return second_bag_of_tool(text.encode(), kind)


def _csv(text: str) -> Verdict:
    return second_bag_of_csv(text.encode(), TYPES)


def _task(name: str, memory_mb: float, runtime_s: float, count: int = 1, command: str | None = None) -> Task:
    return Task(name, memory_mb, {"*": runtime_s}, count, command, None)


def _batch(**job: object) -> Verdict:
    needs = [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "2048"}]
    whole = {"jobId": "a", "status": "SUCCEEDED", "startedAt": 1700000000000, "stoppedAt": 1700000061500} | job
    return second_bag_of_batch(json.dumps({"jobs": [whole | {"container": {"resourceRequirements": needs}}]}).encode())


def _flow(**of_a: object) -> Verdict:
    tasks = [{"id": "a", "name": "x", "parents": [], "runtimeInSeconds": 10, "cores": 2} | of_a]
    document = {"name": "f", "schemaVersion": "1.4", "workflow": {"tasks": tasks}}
    return second_bag_of_workflow(json.dumps(document).encode(), True)


@pytest.mark.parametrize(
    ("verdict", "reading"),
    [
        (
            _tool("nextflow", f"{TRACE}1\ta\tA (1)\tCOMPLETED\t0\t1h 2m\t1.5 GB\t2 GB\n2\tb\tB\tFAILED\t1\t-\t-\t-\n"),
            [_task("A (1)", 1536, 3720)],
        ),
        (
            _tool("sacct", f"{SLURM}7|COMPLETED|0:0|1-00:00:05|4Gn|\n7.batch|COMPLETED|0:0|1-00:00:05||2048K\n"),
            [_task("7", 2, 86405)],
        ),
        (
            _tool("joblog", 'Seq\tJobRuntime\tExitval\tCommand\n1\t     2.500\t0\t"a" b\tc\n2\t1\t3\tx\n'),
            [_task("1", 100, 2.5, command='"a" b\tc')],
        ),
        (_tool("snakemake", "s\th:m:s\tmax_rss\n2.5\t0:00:02\t9\nNA\t0:00:07\tNA\n"), [_task("bench", 100, 7)]),
        (
            _tool("lsf", "JOBID|STAT|RUN_TIME|MAX_MEM\n9|DONE|12 second(s)|1.2 Gbytes\n8|EXIT|7 second(s)|-\n"),
            [_task("9", 1228.8, 12)],
        ),
        (
            _tool(
                "htcondor",
                '[{"ClusterId": 4, "ProcId": 0, "JobStatus": 4, "RemoteWallClockTime": 9.5, "ResidentSetSize": 1024}]',
            ),
            [_task("4.0", 1, 9.5)],
        ),
        (_batch(), [_task("a", 2048, 61.5)]),
        (_flow(memoryInBytes=2**21), [_task("a", 1, 10, 2)]),
        (_csv("Task;Runtime_min;RAM_gb\nx;1,5;0,5\n"), [_task("x", 512, 90)]),
        (_csv("id\truntime_s\tcount\nx\t5\t1,234\n"), [_task("x", 100, 5, 1234)]),
        (
            _csv("id,c6i.large_s,c7g.large_s,arch\nx,5,7,arm64\n"),
            [Task("x", 100, {"c7g.large": 7}, 1, None, "arm64")],
        ),
        (
            second_bag_of_list(b'{"id": "a", "memory_mb": "1.5GB", "runtime": "PT1H2M", "command": "x"}\n'),
            [_task("a", 1536, 3720, command="x")],
        ),
        (second_bag_of_log(LINE.encode(), "swf", LogAsked(cores="split")), [_task("j1", 2, 60, 2)]),
        (
            second_jobs_of_table(
                b"arrival,runtime_s,count\n2026-11-03T12:00:00Z,5,2\n2026-11-03T13:00:00.500+01:00,5,\n",
                second_stream_job,
            ),
            [("j1", 0, 3600, 2, 5), ("j2", 1, 3600, 1, 5)],
        ),
        (
            second_prices_of_history(
                b"SpotPrice,InstanceType,zone,date\n0.02,m9g.large,us-east-1a,2026-11-03T12:00:00Z\n"
                b"0.03,m9g.large,us-east-1a,2026-11-03T11:00:00Z\n",
                None,
                ("m9g.large",),
            ),
            {"m9g.large": {"us-east-1a": 0.02}},
        ),
        (
            second_types_of_skypilot(
                f"{SKYPILOT}AvailabilityZone,Arch\nm5.large,,,2.0,8.0,,0.1,0.04,us-east-1,use1-az1,x86_64\n".encode()
            ),
            {("m5.large", "us-east-1"): Row(2, 8192, "x86_64", 0.1, {"use1-az1": 0.04})},
        ),
    ],
)
def test_what_must_be_read(verdict: Verdict, reading: object) -> None:
    assert any(same(found, reading) for found in verdict.readings), verdict


@pytest.mark.parametrize(
    "verdict",
    [
        _tool("nextflow", f"{TRACE}1\ta\tA\tFAILED\t0\t5s\t1 GB\t1 GB2\tb\tB\tCOMPLETED\t0\t5s\t1 GB\t1 GB\n"),
        _tool("sacct", f"{SLURM}7|COMPLETED|0:0|00:00:05|4Gn|abc\n"),
        _tool("snakemake", "s\th:m:s\tmax_rss\n-5\t0:00:02\t9\n"),
        _batch(dependsOn=[{"jobId": "b"}]),
        _batch(status="FAILED"),
        _flow(cores=1.5),
        _flow(runtimeInSeconds=-1),
        _csv("id,runtime_s\nx,5,7\n"),
        _csv('id,runtime_s\nx,"1,5"\n'),
        _csv("id;runtime_s\nx;1,500\n"),
        _csv("id,runtime_s,gpus\nx,5,1\n"),
        _csv("id,runtime\nx,5\n"),
        second_bag_of_log(LINE.replace(" 60 ", " -4 ").encode(), "swf", LogAsked()),
        second_bag_of_log(LINE.removesuffix(" -1").encode(), "swf", LogAsked()),
    ],
)
def test_what_must_be_refused(verdict: Verdict) -> None:
    assert not verdict.readings
    assert verdict.why
