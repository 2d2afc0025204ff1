"""The oracles of foreign formats on files whose right reading is plain: what must be read, and what must be refused."""

from __future__ import annotations

import json

import pytest

from tests.fuzzing.oracles.arrivals import jobs_of_log, jobs_of_table, platform_jobs, stream_jobs
from tests.fuzzing.oracles.aws import prices_of_history
from tests.fuzzing.oracles.csv_tasks import bag_of_csv
from tests.fuzzing.oracles.job_logs import LogAsked, bag_of_log
from tests.fuzzing.oracles.readings import Row, Task, Verdict, same
from tests.fuzzing.oracles.skypilot import types_of_skypilot
from tests.fuzzing.oracles.workflows import bag_of_wfformat

TYPES = ("c6i.large", "c7g.large")
SKYPILOT = (
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,"
    "Price,SpotPrice,Region,AvailabilityZone,Arch\n"
)
JOB = "1 0 0 60 1 -1 2048 1 200 -1 1 7 1 1 1 1 -1 -1"


def _flow(specified: str = "ab", run: str = "ab", **of_a: object) -> bytes:
    parts = {
        "specification": {"tasks": [{"id": name, "name": name, "parents": [], "children": []} for name in specified]},
        "execution": {
            "makespanInSeconds": 10,
            "executedAt": "2026-11-03T12:00:00Z",
            "tasks": [{"id": name, "runtimeInSeconds": 10} | (of_a if name == "a" else {}) for name in run],
        },
    }
    return json.dumps({"name": "f", "schemaVersion": "1.5", "workflow": parts}).encode()


def _log(text: str) -> Verdict:
    return bag_of_log(text.encode(), "swf", LogAsked())


def _csv(text: str) -> Verdict:
    return bag_of_csv(text.encode(), TYPES)


def _arrivals(text: str) -> Verdict:
    return jobs_of_table(text.encode(), stream_jobs)


def _history(text: str) -> Verdict:
    return prices_of_history(text.encode(), None)


def _skypilot(rows: str) -> Verdict:
    return types_of_skypilot((SKYPILOT + rows).encode())


@pytest.mark.parametrize(
    ("verdict", "reading"),
    [
        (_csv("id,memory_gb,runtime_min\na,0.5,4\n"), [Task("a", 512, {"*": 240}, 1, None, None)]),
        (_csv('cmd;mem_mb;Run Time\r\n"x; ""y""";1,5;1h30m\r\n'), [Task("t1", 1.5, {"*": 5400}, 1, 'x; "y"', None)]),
        (
            _csv("id\tc6i.large_s\tc7g.large_s\tcount\narm\t\t00:12:30\t3\n"),
            [Task("arm", 100, {"c7g.large": 750}, 3, None, None)],
        ),
        (_log(f"; Version: 2.2\n{JOB}\n{JOB.replace('1 ', '2 ', 1)}"), [Task("j1", 2, {"*": 60}, 2, None, None)]),
        (
            _arrivals("job,Arrival,runtime_min,due,count\na,2026-11-03T12:00:00Z,2,1793710800,3\n"),
            [("a", 0, 3600, 3, 120)],
        ),
        (
            jobs_of_log(JOB.replace("1 0", "7 5.5", 1).encode(), "swf", LogAsked(cores="split"), platform_jobs),
            [("j7", 1, 0, 3599, 2, 0)],
        ),
        (
            bag_of_wfformat(_flow(coreCount=2, memoryInBytes=2**21), split_cores=True),
            [Task("a", 1, {"*": 10}, 2, None, None), Task("b", 100, {"*": 10}, 1, None, None)],
        ),
        (
            _history("SpotPrice,InstanceType,zone,date\n0.02,m5.large,us-east-1a,2026-11-03T12:00:00Z\n"),
            {"m5.large": {"us-east-1a": 0.02}},
        ),
        (
            _skypilot("m5.large,,,2.0,8.0,,0.1,0.04,us-east-1,use1-az1,x86_64\n"),
            {("m5.large", "us-east-1"): Row(2, 8192, "x86_64", 0.1, {"use1-az1": 0.04})},
        ),
    ],
)
def test_what_must_be_read(verdict: Verdict, reading: object) -> None:
    assert verdict.must_be_read
    assert any(same(found, reading) for found in verdict.readings)


def test_prices_that_the_command_line_prints_are_found_where_lines_end_with_cr_alone() -> None:
    verdict = _history("\t\t\rSPOTPRICEHISTORY\tus-east-1a\tm5.large\tLinux/UNIX\t0.02\t2026-11-03T12:00:00Z\r")
    assert verdict.readings == [{"m5.large": {"us-east-1a": 0.02}}]
    assert verdict.doubts


@pytest.mark.parametrize(
    "verdict",
    [
        _csv('id,runtime_s\na,"4\nb,5\n'),
        _csv('id,runtime_s\na,"1,05"\n'),
        _csv("id,runtime_s,depends_on\na,4,b\n"),
        _csv("id,runtime_s\na,1_000\n"),
        _csv("id,runtime_s\na,１２\n"),
        _arrivals("arrival,runtime_s\n5,1\n"),
        _arrivals("arrival_s,runtime_s,deadline\n5,1,2026-11-03\n"),
        _arrivals("arrival_s,runtime_s,count\n5,1,0\n"),
        _arrivals("arrival_s,runtime_s,queue\n5,1,q\n"),
        _log(JOB.replace(" 60 ", " nan ")),
        _log(JOB.replace(" 60 ", " 1_0 ")),
        _log(JOB.replace(" 2048 1 ", " 2048 2.9 ")),
        _log(JOB.removesuffix(" -1")),
        bag_of_wfformat(_flow(run="a"), split_cores=True),
        bag_of_wfformat(_flow(coreCount=-4), split_cores=True),
        bag_of_wfformat(_flow(coreCount=0.5), split_cores=True),
        bag_of_wfformat(_flow().replace(b'"1.5"', b'"2.0"'), split_cores=True),
        _history('SpotPrice,InstanceType,zone,date,note\n0.02,m5.large,us-east-1a,2026-11-03T12:00:00Z,"open\n'),
        _history('SpotPrice,InstanceType,zone,date\n"1,05",m5.large,us-east-1a,2026-11-03T12:00:00Z\n'),
        _history("SpotPrice,price,InstanceType,date\n0.02,0.03,m5.large,2026-11-03T12:00:00Z\n"),
        _skypilot("m5.large,,,2.7,8.0,,0.1,0.04,us-east-1,use1-az1,x86_64\n"),
        _skypilot("m5.large,,,2.0,8.0,,$0.085,0.04,us-east-1,use1-az1,x86_64\n"),
        _skypilot("m5.large,,,2.0,8.0,,0.1,1e309,us-east-1,use1-az1,x86_64\n"),
        _skypilot('m5.large,,,2.0,8.0,,0.1,0.04,us-east-1,use1-az1,"x86_64\n'),
    ],
)
def test_what_must_be_refused(verdict: Verdict) -> None:
    assert not verdict.readings
    assert verdict.why
