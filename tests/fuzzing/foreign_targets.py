"""Files of foreign formats that are damaged: read as their oracle reads them, or refused."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from spotbag.core.errors import SpotbagError
from spotbag.core.text_files import read_text
from spotbag.instances.arrivals import Arrival, Deadlines, arrivals_of_table
from spotbag.instances.bags.csv_tasks import instance_of_csv
from spotbag.instances.bags.imported import Asked, Imported
from spotbag.instances.bags.job_logs import JobFilter, arrivals_of_log, instance_of_log
from spotbag.instances.bags.price_sources import (
    instance_types_of_aws,
    price_list_of_aws,
    retail_prices_of_azure,
    rows_of_skypilot,
    spot_prices_of_aws,
    updated,
)
from spotbag.instances.bags.scenario_files import format_scenario
from spotbag.instances.bags.scenarios import find_scenario
from spotbag.instances.bags.vm_catalogue import Catalogue, VmChoice
from spotbag.instances.instance import Instance
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.platforms.platform_files import library_platform, platform_of_arrivals
from spotbag.instances.streams.entries import StreamVmType
from spotbag.instances.streams.stream import Stream
from spotbag.instances.streams.stream_files import stream_of_arrivals
from spotbag.instances.table_columns import CsvFormat
from spotbag.instances.table_formats import LogFormat
from tests.fuzzing.mutations import Keys, Mutator, Node, Spelled, spell, tree, walk
from tests.fuzzing.oracles.arrivals import jobs_of_log, jobs_of_table, platform_jobs, stream_jobs
from tests.fuzzing.oracles.aws import prices_of_history, steps_of, steps_of_history, types_of_aws
from tests.fuzzing.oracles.csv_tasks import bag_of_csv
from tests.fuzzing.oracles.job_logs import LogAsked, bag_of_log
from tests.fuzzing.oracles.price_lists import LINUX, prices_of_retail, types_of_price_list
from tests.fuzzing.oracles.readings import DEFAULT_MEMORY_MB, Row, Task, Verdict, same
from tests.fuzzing.oracles.skypilot import types_of_skypilot
from tests.fuzzing.oracles.task_tables import TOOLS, bag_of_batch, bag_of_list, bag_of_tool
from tests.fuzzing.oracles.workflows import bag_of_wfformat
from tests.fuzzing.second_opinion import second_bag_of_tool
from tests.fuzzing.second_opinion_of_lists import (
    second_bag_of_batch,
    second_bag_of_csv,
    second_bag_of_list,
    second_bag_of_workflow,
)
from tests.fuzzing.second_opinion_of_logs import (
    second_bag_of_log,
    second_jobs_of_log,
    second_jobs_of_table,
    second_platform_job,
    second_stream_job,
)
from tests.fuzzing.second_opinion_of_prices import (
    second_prices_of_history,
    second_types_of_aws,
    second_types_of_price_list,
    second_types_of_skypilot,
)
from tests.fuzzing.sheets import Sheet

if TYPE_CHECKING:
    from tests.fuzzing.targets import Case

_TYPES = ("c6i.large", "c7g.large")
_HOST = StreamVmType(name="host", price_usd_per_block=1.0)
_DEADLINE_S = 10**9


_ROUNDED = 1e-6
"""Means of prices may be rounded, to a millionth of a dollar."""


def _judge(case: Case, oracles: Sequence[Callable[[], Verdict]], read: Callable[[], Any], near: float = 0.0) -> None:
    """Assert that a file is refused, or read as all oracles read it; `read` returns what spotbag made of it."""
    with case.aside():
        verdicts = [oracle() for oracle in oracles]
    try:
        found = read()
    except SpotbagError as error:
        for number, verdict in enumerate(verdicts, 1):
            says = f"oracle {number} says {_short(verdict.readings[:1])}"
            assert not verdict.must_be_read, f"refused: {str(error)[:300]}; {says}"
        raise
    for number, verdict in enumerate(verdicts, 1):
        if verdict.undecided:
            continue
        says = " or ".join(map(_short, verdict.readings)) or f"it must be refused: {verdict.why}"
        says = f"oracle {number} says {says}; {sorted(verdict.doubts)}"
        assert any(same(found, reading, near) for reading in verdict.readings), f"read as {_short(found)}; {says}"


def _short(reading: Any) -> str:
    text = repr(reading)
    return text if len(text) < 1500 else f"{text[:1500]}..."


# ------------------------------------------------------------------ bags


def _asked() -> Asked:
    return Asked(_DEADLINE_S, VmChoice(types=_TYPES), memory_mb=DEFAULT_MEMORY_MB)


def _bag(imported: Imported) -> list[Task]:
    """Return the tasks of an instance as its file says them."""
    document = json.loads(imported.instance.to_text())
    assert Instance.parse(imported.instance.to_text()) == imported.instance
    return [
        Task(
            task["id"],
            task["memory_mb"],
            {"*": task["base_runtime_s"]} if "base_runtime_s" in task else task["runtime_s"],
            task.get("count", 1),
            task.get("command", "").strip() or None,
            task.get("architecture"),
        )
        for task in document["tasks"]
    ]


def read_csv(case: Case) -> None:
    """Tasks in CSV files."""
    rng = case.rng
    divider = rng.choice((",", ",", ";", "\t"))
    number = 3000 if case.heavy else rng.randrange(1, 5)
    rows = _csv_rows(rng, number)
    if case.heavy and rng.random() < 0.5:
        more = rng.choice((16_000, 30_000))
        rows = [row + ["note" if not number else ""] * more for number, row in enumerate(rows[:3])]
    with case.aside():
        data = Sheet(rng, rows, divider).damaged()
    path = case.write("tasks.csv", data)
    _judge(
        case,
        [lambda: bag_of_csv(data, _TYPES), lambda: second_bag_of_csv(data, _TYPES)],
        lambda: _bag(instance_of_csv(path, _asked())),
    )


def _csv_rows(rng: random.Random, number: int) -> list[list[str]]:
    """Valid tasks, in one of the ways in which they can be written."""
    unit, of_time = rng.choice(("mb", "gb", "kb")), rng.choice(("s", "min", "h"))
    columns: dict[str, Callable[[int], str]] = {
        rng.choice(("id", "Task", "name", "job")): lambda row: f"job{row}",
        rng.choice(("command", "cmd")): lambda row: rng.choice((f"./run {row}", f'./fit --rate "0,1" {row}', "")),
        f"{rng.choice(('memory', 'mem', 'RAM', 'rss'))}_{unit}": lambda _: (
            rng.choice(("0.25", "1.5", "3")) if unit == "gb" else _decimal(rng)
        ),
        "count": lambda _: rng.choice(("1", "3", "")),
        "arch": lambda _: rng.choice(("", "x86_64", "amd64", "arm64")),
        "note": lambda _: rng.choice(("", "some", "a, b", 'so "called"')),
    }
    names = [name for name in columns if rng.random() < 0.7]
    if rng.random() < 0.6:
        names.append(
            rng.choice((f"runtime_{of_time}", f"run time {of_time}", f"Elapsed-{of_time}", f"walltime_{of_time}"))
        )
        columns[names[-1]] = lambda _: rng.choice((_decimal(rng), "90s", "1h30m", "00:12:30", "2min"))
    else:
        for vm_type in _TYPES:
            names.append(
                rng.choice((f"runtime_{of_time}[{vm_type}]", f"{vm_type}_{of_time}", f"duration_{of_time}[{vm_type}]"))
            )
            columns[names[-1]] = lambda _: rng.choice((_decimal(rng), _decimal(rng), "90s", "1h30m"))
    rng.shuffle(names)
    return [names, *([columns[name](row) for name in names] for row in range(number))]


def _decimal(rng: random.Random) -> str:
    return rng.choice((str(rng.randrange(1, 3000)), f"{rng.randrange(50)}.{rng.randrange(1, 10)}", "0.25", "1536"))


def _log_rows(rng: random.Random, kind: str, number: int) -> list[list[str]]:
    """Valid jobs of a log."""
    rows = []
    width = rng.choice((29, 29, 29, 29, 29, 29, 29, 21))
    for job in range(1, number + 1):
        cores = rng.choice((1,) * 9 + (2,))
        row: list[Any] = [job, 50 * job, rng.choice((0, 7)), rng.choice((100, 100, 60, 60, 0.5, 300, 0, -1)), cores, -1]
        row += [
            rng.choice((2048, 512, -1)),
            rng.choice((cores, cores, -1)),
            200,
            rng.choice((-1, 4096)),
            rng.choice((1, 1, 1, 1, 1, -1, -1, 0, 5)),
        ]
        row += [rng.choice((7, 12)) if kind == "swf" else rng.choice(("U7", "U12")), 1, 1, 1, 1]
        if kind == "swf":
            row += [-1, -1]
        else:
            row += ["S1", "S1", *rng.choice((("UNITARY", -1), ("BoT", "b1"), ("BoT", "b2"))), *[-1] * 9]
            row = row[:width]
        rows.append([str(field) for field in row])
    return rows


def _read_log(case: Case, kind: str) -> None:
    rng = case.rng
    rows = _log_rows(rng, kind, 3000 if case.heavy else rng.randrange(1, 6))
    sheet = Sheet(rng, rows, rng.choice((" ", " ", "\t", "  ")), headings=False, quoted=False)
    with case.aside():
        data = sheet.damaged()
    if rng.random() < 0.3:
        data = (b"; Version: 2.2\n;\n" if kind == "swf" else b"# grid\n") + data
    users = (None,) * 6 + (("12", "7") if kind == "swf" else ("U7", "U12"))
    asked = LogAsked(
        cores=rng.choice(("keep", "split", "split", "skip")),
        user=rng.choice(users),
        bag=rng.choice((None,) * 7 + ("b1",)) if kind == "gwf" else None,
        from_s=rng.choice((None,) * 8 + (0, 100)),
        to_s=rng.choice((None,) * 8 + (150,)),
        requested=rng.random() < 0.1,
    )
    wanted = JobFilter(
        user=asked.user,
        bag=asked.bag,
        from_s=asked.from_s,
        to_s=asked.to_s,
        requested_times=asked.requested,
        multi_core=asked.cores,  # type: ignore[arg-type]
    )
    path = case.write(f"log.{kind}", data)
    case.words = [repr(asked)]
    _judge(
        case,
        [lambda: bag_of_log(data, kind, asked), lambda: second_bag_of_log(data, kind, asked)],
        lambda: _bag(instance_of_log(path, kind, _asked(), wanted)),  # type: ignore[arg-type]
    )


def _arrival_rows(rng: random.Random, number: int) -> list[list[str]]:
    """Valid jobs of a table, on a clock of its own or by dates, in one of the ways in which they can be written."""
    by_date, unit = rng.random() < 0.5, rng.choice(("s", "min", "h"))

    def moment(minute: int) -> str:
        if not by_date:
            return str(60 * minute)
        day = f"2026-11-03{rng.choice('T ')}{minute // 60:02}:{minute % 60:02}:00"
        return rng.choice((f"{day}Z", f"{day}.500", f"{day}+00:00", str(1793664000 + 60 * minute)))

    arrival = rng.choice(("arrival", "submitted", "Submit Time")) + ("" if by_date else "_s")
    columns: dict[str, Callable[[int], str]] = {
        rng.choice(("id", "Job", "name")): lambda row: f"job{row}",
        rng.choice(("count", "tasks")): lambda _: rng.choice(("1", "3", "")),
        rng.choice(("app", "application")): lambda _: rng.choice(("fit", "scan", "")),
        rng.choice(("deadline", "due")) + ("" if by_date else "_s"): lambda row: moment(rng.choice((90, 200)) + row),
        rng.choice(("within_min", "time limit h")): lambda _: rng.choice(("5", "0.5", "2h", "00:12:30", "")),
        "budget": lambda _: rng.choice(("7", "2.5", "")),
        "priority": lambda _: rng.choice(("0", "4", "")),
        "note": lambda _: rng.choice(("", "a, b")),
    }
    names = [name for name in columns if rng.random() < 0.5]
    if sum(name.startswith(("deadline", "due", "within", "time")) for name in names) == 2:
        names = [name for name in names if not name.startswith(("deadline", "due"))]
    runtime = f"{rng.choice(('runtime', 'run time', 'Elapsed'))}_{unit}"
    columns |= {arrival: lambda row: moment(7 * row), runtime: lambda _: rng.choice((_decimal(rng), "90s", "1h30m"))}
    names += [arrival, runtime]
    rng.shuffle(names)
    return [names, *([columns[name](row) for name in names] for row in range(number))]


def _judge_arrivals(
    case: Case,
    oracle: Callable[[Any], Verdict],
    second: Callable[[Any], Verdict],
    read: Callable[[], list[Arrival]],
    platform: bool,
) -> None:
    """Judge jobs that arrive as those of a stream, or of a platform; oracles are told what makes these of arrivals."""
    deadlines = Deadlines(3600)
    case.words.append("platform" if platform else "stream")
    names = {"name": "fuzzed", "source": "fuzzed"}

    def jobs_of_stream() -> Any:
        hour = {"block_s": 3600, "creation_overhead_s": 0}
        made = stream_of_arrivals(read(), deadlines, [_HOST], {}, **names, **hour)  # type: ignore[arg-type]
        assert Stream.parse(made.to_text()) == made
        runs_s = {application.name: application.runtime_s["host"] for application in made.applications}
        found = [(job, runs_s[job.application]) for job in made.jobs]
        return [(job.id, job.submitted_s, job.deadline_s, job.n_tasks, run.value_s) for job, run in found]  # type: ignore[union-attr]

    def jobs_of_platform() -> Any:
        made = platform_of_arrivals(read(), deadlines, library_platform("tiny/hybrid"), budget_per_minute=2.0, **names)
        assert Platform.parse(made.to_text()) == made
        return [
            (job.id, job.size_processor_minutes, job.arrival_s, job.deadline_s, job.budget, job.priority)
            for job in made.jobs
        ]

    if platform:
        _judge(case, [lambda: oracle(platform_jobs), lambda: second(second_platform_job)], jobs_of_platform)
    else:
        _judge(case, [lambda: oracle(stream_jobs), lambda: second(second_stream_job)], jobs_of_stream)


def read_arrivals(case: Case) -> None:
    """Jobs that arrive over time in tables."""
    rng = case.rng
    rows = _arrival_rows(rng, 3000 if case.heavy else rng.randrange(1, 5))
    with case.aside():
        data = Sheet(rng, rows, rng.choice((",", ",", ";", "\t"))).damaged()
    path = case.write("arrivals.csv", data)
    _judge_arrivals(
        case,
        lambda wanted: jobs_of_table(data, wanted),
        lambda made: second_jobs_of_table(data, made),
        lambda: arrivals_of_table(read_text(path), path)[0],
        rng.random() < 0.5,
    )


def read_arrivals_of_log(case: Case) -> None:
    """Jobs that arrive over time in logs."""
    rng = case.rng
    kind: LogFormat = rng.choice(("swf", "gwf"))
    rows = _log_rows(rng, kind, 3000 if case.heavy else rng.randrange(1, 6))
    with case.aside():
        data = Sheet(rng, rows, rng.choice((" ", "\t")), headings=False, quoted=False).damaged()
    asked = LogAsked(cores="split", requested=rng.random() < 0.1, user=rng.choice((None, None, "7")))
    wanted = JobFilter(user=asked.user, requested_times=asked.requested)
    path = case.write(f"log.{kind}", data)
    case.words = [repr(asked)]
    _judge_arrivals(
        case,
        lambda made: jobs_of_log(data, kind, asked, made),
        lambda made: second_jobs_of_log(data, kind, asked, made),
        lambda: arrivals_of_log(io.StringIO(read_text(path), newline=None), kind, path, wanted)[0],
        rng.random() < 0.5,
    )


def read_swf(case: Case) -> None:
    """Logs in the Standard Workload Format."""
    _read_log(case, "swf")


def read_gwf(case: Case) -> None:
    """Logs in the Grid Workload Format."""
    _read_log(case, "gwf")


# ------------------------------------------------------------------ JSON

_JSON_VALUES = (
    "NaN", "Infinity", "-Infinity", "1e309", "-1e309", "-1", "-4", "0", "0.5", "2.7", "2.9", "1.0", "2.0", "1e3",
    "1e-400", "true", "null", '"10"', '"1"', '"nan"', '"１２"', '"1_000"', "[]", "{}", "[1]", "9" * 30, "1e9", "1e10",
    '""', '"0,05"', '"$0.085"', '"+1"', '" 1"', '"1e-2"', '"1e309"', '"1,024"', '"0"', '"-1"', '"a"', '"b"', '["b"]',
    '["x86_64"]', '["i386"]', '["x86_64","arm64"]', '"t3.nano"', '"Windows"', '"2026-11-03"', '"us-east-1b"',
    '"2026-11-03T12:00:00+01:00"',
)  # fmt: skip
_NO_JSON = ("1_000", "１２", "+1", "01", ".5", "1.", "0x10", "'a'", "", "nan", "1,5", '"a', 'a"')


def _json_damaged(case: Case, document: dict[str, Any]) -> bytes:
    """Damage a document: other values, keys that stand twice, or anything that a `Mutator` does."""
    rng = case.rng
    way = rng.random()
    if way < 0.1:
        return json.dumps(document).encode()
    if way < 0.35:
        mutator = Mutator(rng, sorted(_keys(document)))
        return mutator.as_bytes(mutator.text(document, case.heavy))
    node = tree(document)
    for _ in range(rng.choice((1, 1, 1, 2))):
        _replace_value(rng, node)
    return spell(node).encode("utf-8", "surrogatepass")


def _replace_value(rng: random.Random, node: Node) -> None:
    """Replace a value by another one, put a member of an object there twice, or take one out."""
    holders = [holder for holder in walk(node) if holder]
    if not holders:
        return
    holder = rng.choice(holders)
    place = rng.randrange(len(holder))
    value = Spelled(rng.choice(_JSON_VALUES if rng.random() < 0.95 else _NO_JSON))
    way = rng.random()
    if way < 0.1:
        del holder[place]
    elif isinstance(holder, Keys):
        key, before = holder[place]
        if way < 0.3:
            holder.append([key, before if way < 0.15 else value])
        elif way < 0.4:
            holder[place][0] = rng.choice((key + "s", key.lower(), key[:-1]))
        else:
            holder[place][1] = value
    else:
        holder[place] = value


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(_keys, value.values()))
    return set().union(*map(_keys, value)) if isinstance(value, list) else set()


def read_wfformat(case: Case) -> None:
    """Workflows of WfCommons."""
    rng = case.rng
    version = rng.choice(("1.4", "1.5"))
    specified: list[dict[str, Any]] = []
    runs: list[dict[str, Any]] = []
    for name in ("a", "b", "c")[: rng.randrange(1, 4)]:
        task: dict[str, Any] = {"id": name, "name": f"task_{name}", "parents": []}
        with_files = rng.random() < 0.5
        if version == "1.5":
            task |= {"children": []} | ({"inputFiles": ["all"], "outputFiles": [f"{name}.out"]} if with_files else {})
        elif with_files:
            links = (("all", "input"), (f"{name}.out", "output"))
            task |= {"files": [{"name": file, "sizeInBytes": 7, "link": link} for file, link in links]}
        specified.append(task)
        run: dict[str, Any] = {"id": name, "runtimeInSeconds": rng.choice((10, 10.5, 300))}
        if rng.random() < 0.7:
            run["memoryInBytes"] = rng.choice((10**6, 2**30))
        if rng.random() < 0.7:
            run["cores" if version == "1.4" else "coreCount"] = rng.choice((1, 1, 1, 1, 1, 2))
        if rng.random() < 0.5:
            run["command"] = {"program": "x", "arguments": rng.choice(([], ["-n", "1"]))}
        runs.append(run)
    execution = {"makespanInSeconds": 300, "executedAt": "2026-11-03T12:00:00Z", "tasks": runs}
    parts: dict[str, Any] = {"specification": {"tasks": specified}, "execution": execution}
    if version == "1.4":
        tasks = [task | {"type": "compute"} | run for task, run in zip(specified, runs, strict=True)]
        parts = execution | {"tasks": tasks}
    document = {"name": "f", "schemaVersion": version, "workflow": parts}
    with case.aside():
        data = _json_damaged(case, document)
    split = rng.random() < 0.5
    path = case.write("flow.json", data)
    case.words = [f"split={split}"]
    _judge(
        case,
        [lambda: bag_of_wfformat(data, split), lambda: second_bag_of_workflow(data, split)],
        lambda: _bag(instance_of_csv(path, _asked(), CsvFormat(multi_core="split" if split else "keep"), "wfformat")),
    )


# ------------------------------------------------------------------ VM types and prices

_AWS_TYPES = ("m9g.large", "m9g.xlarge", "m8i.large")


@cache
def _base() -> Catalogue:
    """A catalogue of types that the files say other things of."""
    price = {"price_usd_per_hour": 0.5, "date": "2020-01-01", "source": "nobody"}
    row = {"region": "us-east-1", "vcpus": 64, "memory_mb": 7, "source": "nobody", "date": "2020-01-01"}
    rows = [row | {"name": name, "prices": {"on-demand": price}} for name in _AWS_TYPES]
    document = {"format": "spotbag.catalogue/1", "name": "base", "provider": "aws", "vm_types": rows}
    return Catalogue.parse(json.dumps(document))


def _rows(catalogue: Catalogue) -> dict[tuple[str, str], Row]:
    document = json.loads(catalogue.to_text())
    assert Catalogue.parse(catalogue.to_text()) == catalogue
    found = {}
    for row in document["vm_types"]:
        prices = row["prices"]
        on_demand = prices.get("on-demand", {}).get("price_usd_per_hour")
        spot = prices.get("spot", {}).get("zones", {})
        if spot:
            mean = sum(spot.values()) / len(spot)
            assert abs(prices["spot"]["price_usd_per_hour"] - mean) < _ROUNDED, "the mean of the zones"
        spot = {zone.strip(): price for zone, price in spot.items()}  # blanks may be kept, or taken off
        key = (row["name"].strip(), row["region"].strip())
        found[key] = Row(row["vcpus"], row["memory_mb"], row.get("architecture"), on_demand, spot)
    return found


def read_aws_types(case: Case) -> None:
    """What ``aws ec2 describe-instance-types`` prints."""
    rng = case.rng
    entries = [
        {
            "InstanceType": name,
            "VCpuInfo": {"DefaultVCpus": rng.choice((2, 4))},
            "MemoryInfo": {"SizeInMiB": rng.choice((8192, 512))},
            "ProcessorInfo": {"SupportedArchitectures": rng.choice((["arm64"], ["x86_64"], ["i386", "x86_64"]))},
            "BurstablePerformanceSupported": False,
        }
        for name in rng.sample(_AWS_TYPES, rng.randrange(1, 4))
    ]
    if rng.random() < 0.1:
        entries.append(entries[0] | {"VCpuInfo": {"DefaultVCpus": rng.choice((2, 4))}})
    with case.aside():
        data = _json_damaged(case, {"InstanceTypes": entries})
    path = case.write("types.json", data)

    def read() -> Any:
        catalogue, _ = updated(_base(), [instance_types_of_aws(path, "2026-01-01")], types=["*"], region="us-east-1")
        rows = {name: row for (name, _), row in _rows(catalogue).items() if row.memory_mb != 7 or row.vcpus != 64}
        return {name: row._replace(on_demand=None) for name, row in rows.items()}

    _judge(case, [lambda: types_of_aws(data), lambda: second_types_of_aws(data)], read)


def _history(rng: random.Random, number: int) -> list[dict[str, str]]:
    entries = []
    for _ in range(number):
        moment = (
            f"2026-11-{rng.randrange(1, 5):02}T{rng.randrange(24):02}:{rng.choice(('00', '30'))}:{rng.randrange(60):02}"
        )
        entries.append(
            {
                "AvailabilityZone": rng.choice(("us-east-1a", "us-east-1a", "us-east-1b", "us-east-1-bos-1a")),
                "InstanceType": rng.choice(_AWS_TYPES),
                "ProductDescription": rng.choice(("Linux/UNIX", "Linux/UNIX", "Linux/UNIX", "Windows")),
                "SpotPrice": rng.choice(("0.01", "0.0299", "0.012300", "1.5")),
                "Timestamp": moment + rng.choice(("Z", "+00:00", "+00:00", ".000Z")),
            }
        )
    return entries


def _history_file(case: Case) -> tuple[str, bytes]:
    """A history as JSON, as ``--output text`` prints it, or as a table."""
    rng = case.rng
    entries = _history(rng, 2000 if case.heavy else rng.randrange(1, 6))
    kind = rng.choice(("json", "text", "table", "table"))
    if kind == "json":
        with case.aside():
            data = _json_damaged(case, {"SpotPriceHistory": entries})
    elif kind == "text":
        rows = [["SPOTPRICEHISTORY", *entry.values()] for entry in entries]
        with case.aside():
            data = Sheet(rng, rows, "\t", headings=False, quoted=False).damaged()
    else:
        names = rng.sample(tuple(entries[0]), 5)
        names = [name for name in names if name != "ProductDescription" or rng.random() < 0.6]
        headings = dict(zip(names, names, strict=True)) if rng.random() < 0.7 else _SHORT
        rows = [[headings[name] for name in names], *([entry[name] for name in names] for entry in entries)]
        if rng.random() < 0.2:
            rows = [[*row, "note" if not number else rng.choice(("", "n"))] for number, row in enumerate(rows)]
        with case.aside():
            data = Sheet(rng, rows, rng.choice((",", ",", ";", "\t"))).damaged()
    return case.write(f"history.{'json' if kind == 'json' else 'csv'}", data), data


_SHORT = {
    "AvailabilityZone": "zone",
    "InstanceType": "instance type",
    "ProductDescription": "os",
    "SpotPrice": "price",
    "Timestamp": "date",
}  # fmt: skip


def read_price_history(case: Case) -> None:
    """Histories of spot prices, for a catalogue and as a scenario."""
    path, data = _history_file(case)
    if case.often(0.5):
        window_s = case.rng.choice((None, None, 86400.0, 7 * 86400.0))
        case.words = [f"window={window_s}"]

        def read() -> Any:
            news = spot_prices_of_aws(path, window_s)
            catalogue, _ = updated(_base(), [news], types=["*"], region="us-east-1")
            found: dict[str, dict[str, float]] = {}
            for (name, _), row in _rows(catalogue).items():
                if row.spot:
                    found.setdefault(name, {}).update(row.spot)
            return found

        _judge(
            case,
            [
                lambda: _known_types(prices_of_history(data, window_s)),
                lambda: second_prices_of_history(data, window_s, _AWS_TYPES),
            ],
            read,
            _ROUNDED,
        )
        return
    case.words = ["scenario"]

    def read_scenario() -> Any:
        found = json.loads(format_scenario(find_scenario(path, zone="us-east-1a")))
        assert found["kind"] == "prices"
        return steps_of((price["time_s"], price["type"], price["usd_per_hour"]) for price in found["prices"])

    _judge(case, [lambda: steps_of_history(data, "us-east-1a")], read_scenario)


def _known_types(verdict: Verdict) -> Verdict:
    """Leave out types that the catalogue does not have, of which prices say too little."""
    verdict.readings = [{name: zones for name, zones in one.items() if name in _AWS_TYPES} for one in verdict.readings]
    return verdict


def read_skypilot(case: Case) -> None:
    """SkyPilot's catalogue of AWS."""
    rng = case.rng
    names = [
        "InstanceType",
        "AcceleratorName",
        "AcceleratorCount",
        "vCPUs",
        "MemoryGiB",
        "GpuInfo",
        "Price",
        "SpotPrice",
    ]
    names += ["Region", "AvailabilityZone", "Arch"]
    rows = [names]
    for number in range(300 if case.heavy else rng.randrange(1, 4)):
        size, region = (
            rng.choice((("2.0", "4.0"), ("1.0", "0.5"), ("64.0", "1952.0"))),
            rng.choice(("us-east-1", "eu-west-1")),
        )
        price, arch = rng.choice(("0.085", "3.06", "")), rng.choice(("x86_64", "arm64"))
        gpu = ("V100", "1.0") if rng.random() < 0.1 else ("", "")
        for zone in range(rng.randrange(1, 4)):
            spot = rng.choice(("0.0354", "0.04", ""))
            zone_name = f"{region.replace('-east-', 'e').replace('-west-', 'w')}-az{zone}"
            rows.append([f"m{number}.large", *gpu, *size, "", price, spot, region, zone_name, arch])
    with case.aside():
        data = Sheet(rng, rows, ",").damaged()
    path = case.write("vms.csv", data)

    def read() -> Any:
        catalogue, _ = updated(None, [rows_of_skypilot(path, "2026-01-01")], types=["*"])
        return {key: row for key, row in _rows(catalogue).items() if row.on_demand is not None or row.spot}

    _judge(case, [lambda: types_of_skypilot(data), lambda: second_types_of_skypilot(data)], read)


_STATES = ("COMPLETED",) * 5 + ("FAILED", "CANCELLED by 1000", "RUNNING")


def _tool_rows(rng: random.Random, kind: str, number: int) -> list[dict[str, Any]]:
    """What a tool says of some tasks, by the names of its fields."""
    rows: list[dict[str, Any]] = []
    for task in range(1, number + 1):
        minutes, code = rng.randrange(1, 50), rng.choice((0,) * 6 + (1, 137))
        state = rng.choice(_STATES)
        clock = f"00:{minutes:02}:{rng.randrange(60):02}"
        if kind == "nextflow":
            times = (
                f"{minutes}m {rng.randrange(60)}s",
                f"{minutes}.5s",
                "345ms",
                f"1h {minutes}m",
                "-",
                str(minutes * 1000),
            )
            row: dict[str, Any] = {"task_id": task, "hash": f"ab/{task:06}", "name": f"ALIGN (s{task})"}
            row |= {"status": state.split()[0], "exit": rng.choice((code, code, "-")), "duration": f"{minutes}h"}
            row |= {"realtime": rng.choice(times), "%cpu": "98.1%", "cpus": rng.choice((1, 1, 1, 1, 2))}
            row |= {"peak_rss": rng.choice(("6.2 MB", "1.5 GB", "0", "-", "52428800")), "memory": "2 GB"}
        elif kind == "sacct":
            row = {"JobID": 500 + task, "JobName": "sim", "State": state, "ExitCode": f"{code}:0"}
            row |= {"Elapsed": rng.choice((clock, clock, f"1-{clock}", "00:00:00")), "AllocCPUS": 1}
            row |= {"ReqMem": rng.choice(("1Gn", "100Mc", "2G", "0")), "MaxRSS": ""}
            row["AllocTRES"] = rng.choice(("cpu=1,mem=1G,node=1",) * 9 + ("cpu=1,gres/gpu=1",))
        elif kind == "joblog":
            row = {"Seq": task, "Host": ":", "Starttime": f"17183136{task}.8", "JobRuntime": f"{minutes:6}.795"}
            command = rng.choice((f'"./my run.sh" {task}', "echo a\tb", "x"))
            row |= {
                "Send": 0,
                "Receive": 247,
                "Exitval": code,
                "Signal": rng.choice((0,) * 9 + (9,)),
                "Command": command,
            }
        elif kind == "snakemake":
            row = {"s": rng.choice((f"{minutes}.25", "NA", "0.00")), "h:m:s": f"0:{minutes:02}:00"}
            row |= {
                "max_rss": rng.choice(("31.48", "NA", "-")),
                "mean_load": "99.1",
                "threads": rng.choice((1, 1, 1, 1, 4)),
            }
        elif kind == "htcondor":
            row = {"ClusterId": 12, "ProcId": task, "JobStatus": rng.choice((4, 4, 4, 3)), "ExitCode": code}
            row |= {
                "RemoteWallClockTime": minutes * 60.0,
                "CommittedTime": rng.choice((minutes * 60, 0)),
                "RequestCpus": 1,
            }
            row |= {"ResidentSetSize": rng.choice((2048, 75000)), "RequestMemory": 128, "Cmd": f"/bin/run {task}"}
            row["RequestGPUs"] = rng.choice((0,) * 9 + (1,))
        else:
            row = {
                "JOBID": 100 + task,
                "STAT": rng.choice(("DONE", "DONE", "DONE", "EXIT")),
                "SLOTS": rng.choice((1, 1, 1, 1, 2)),
            }
            row |= {
                "RUN_TIME": rng.choice((f"{minutes} second(s)", f"{minutes}")),
                "EXIT_CODE": rng.choice(("-", code)),
            }
            row |= {"MAX_MEM": rng.choice(("12 Mbytes", "1.2 Gbytes", "-")), "COMMAND": f"run {task}"}
        rows.append(row)
        if kind == "sacct" and rng.random() < 0.7:
            steps = {"batch": rng.choice(("1843200K", "", "0")), "extern": "900K", "0": "12.5M"}
            for step in rng.sample(tuple(steps), rng.randrange(1, 4)):
                rows.append(row | {"JobID": f"{500 + task}.{step}", "JobName": step, "MaxRSS": steps[step]})
    names = [name for name in rows[0] if name in _NEEDED_OF_TOOLS or rng.random() < 0.85]
    return [{name: row[name] for name in names} for row in rows]


_NEEDED_OF_TOOLS = {
    *(
        "task_id",
        "hash",
        "name",
        "realtime",
        "JobID",
        "Elapsed",
        "Seq",
        "JobRuntime",
        "Exitval",
        "s",
        "h:m:s",
        "max_rss",
    ),
    *("ClusterId", "ProcId", "RemoteWallClockTime", "JOBID", "STAT", "RUN_TIME"),
}


def _read_tool(case: Case, kind: str) -> None:
    """Read what a tool says of tasks, as a table, or as JSON where it prints that."""
    rng = case.rng
    rows = _tool_rows(rng, kind, 1000 if case.heavy else rng.randrange(1, 5))
    with case.aside():
        if kind in ("htcondor", "lsf") and rng.random() < 0.5:
            whole = {"COMMAND": "bjobs", "JOBS": len(rows), "RECORDS": rows} if kind == "lsf" else {"tasks": rows}
            data = _json_damaged(case, whole)
            if kind == "htcondor":
                data = data.replace(b'{"tasks":', b"", 1).lstrip().rstrip().removesuffix(b"}")
        else:
            cells = [[*rows[0]], *([str(cell) for cell in row.values()] for row in rows)]
            data = Sheet(rng, cells, "|" if kind in ("sacct", "lsf") else "\t", quoted=False).damaged()
    path = case.write("bench.txt", data)
    _judge(
        case,
        [lambda: bag_of_tool(data, kind), lambda: second_bag_of_tool(data, kind)],
        lambda: _bag(instance_of_csv(path, _asked(), None, kind)),
    )


def read_batch(case: Case) -> None:
    """What ``aws batch describe-jobs`` prints."""
    rng = case.rng
    jobs: list[dict[str, Any]] = []
    for number in range(rng.randrange(1, 4)):
        needs = [{"type": "VCPU", "value": rng.choice(("1",) * 8 + ("0.25", "2"))}, {"type": "MEMORY", "value": "2048"}]
        needs += [{"type": "GPU", "value": "1"}] if rng.random() < 0.05 else []
        container: dict[str, Any] = {"command": ["./run", f"{number}"], "exitCode": rng.choice((0, 0, 0, 1))}
        container |= {"resourceRequirements": needs} if rng.random() < 0.7 else {"vcpus": 1, "memory": 512}
        job = {
            "jobId": f"j{number}",
            "jobName": "fit",
            "status": rng.choice(("SUCCEEDED",) * 4 + ("FAILED", "RUNNING")),
        }
        job |= {"startedAt": 1700000000000, "stoppedAt": 1700000000000 + rng.choice((61_500, 3_600_000))}
        jobs.append(job | {"dependsOn": rng.choice(([],) * 19 + ([{"jobId": "j0"}],)), "container": container})
    with case.aside():
        data = _json_damaged(case, {"jobs": jobs})
    path = case.write("jobs.json", data)
    _judge(
        case,
        [lambda: bag_of_batch(data), lambda: second_bag_of_batch(data)],
        lambda: _bag(instance_of_csv(path, _asked(), None, "batch")),
    )


def read_task_list(case: Case) -> None:
    """Lists of tasks in JSON, as one list or an object in each line."""
    rng = case.rng
    rows = [
        {
            "id": f"t{number}",
            "memory_mb": rng.choice((512, 0.5, "1.5GB")),
            "runtime": rng.choice(("90s", "1h30m", "PT2M")),
        }
        | ({"count": rng.choice((1, 3, None))} if rng.random() < 0.5 else {})
        | ({"command": rng.choice(("run", ["run", "a b"], []))} if rng.random() < 0.5 else {})
        for number in range(1000 if case.heavy else rng.randrange(1, 5))
    ]
    with case.aside():
        if rng.random() < 0.5:
            data = _json_damaged(case, {"tasks": rows}).replace(b'{"tasks":', b"", 1).strip().removesuffix(b"}")
        else:
            data = b"\n".join(
                _json_damaged(case, row) if rng.random() < 0.3 else json.dumps(row).encode() for row in rows
            )
    path = case.write("tasks.json", data)
    _judge(
        case,
        [lambda: bag_of_list(data), lambda: second_bag_of_list(data)],
        lambda: _bag(instance_of_csv(path, _asked(), None, "json")),
    )


def read_price_list(case: Case) -> None:
    """What ``aws pricing get-products`` prints."""
    rng = case.rng
    entries = []
    for _ in range(rng.randrange(1, 4)):
        name, cores = rng.choice((("m1.large", "2"), ("m2.large", "4"), ("m3.large", "8")))
        attributes = {"instanceType": name, "vcpu": cores, "memory": f"{cores} GiB", "regionCode": "us-east-1"}
        attributes |= LINUX | {"physicalProcessor": "Intel Xeon"} | rng.choice(({}, {}, {}, {"tenancy": "Dedicated"}))
        dimension = {"unit": "Hrs", "pricePerUnit": {"USD": rng.choice(("0.0960000000", "0.0960000000", "0.12"))}}
        product = {"productFamily": "Compute Instance", "attributes": attributes}
        entry = {"product": product, "terms": {"OnDemand": {"t": {"priceDimensions": {"d": dimension}}}}}
        with case.aside():
            damaged = _json_damaged(case, entry) if rng.random() < 0.4 else json.dumps(entry).encode()
        entries.append(damaged.decode("utf-8", "replace"))
    data = json.dumps({"PriceList": entries}).encode()
    path = case.write("list.json", data)

    def read() -> Any:
        return _rows(updated(None, [price_list_of_aws(path, "2026-01-01")])[0])

    _judge(case, [lambda: types_of_price_list(data), lambda: second_types_of_price_list(data)], read)


def read_retail_prices(case: Case) -> None:
    """A page of the retail prices of Azure."""
    rng = case.rng
    items = []
    for _ in range(rng.randrange(1, 4)):
        item: dict[str, Any] = {"currencyCode": "USD", "retailPrice": rng.choice((0.192, 0.192, 0.2, 1))}
        item |= {"armRegionName": "eastus", "armSkuName": rng.choice(("Standard_D4s_v5", "Standard_D8s_v5"))}
        item |= {"productName": rng.choice(("Dsv5 Series",) * 4 + ("Dsv5 Series Windows",)), "unitOfMeasure": "1 Hour"}
        item |= {"skuName": rng.choice(("D4s v5", "D4s v5 Spot")), "serviceName": "Virtual Machines"}
        items.append(item | {"type": rng.choice(("Consumption",) * 4 + ("Reservation",))})
    with case.aside():
        data = _json_damaged(case, {"Items": items})
    path = case.write("page.json", data)

    def read() -> Any:
        quotes = retail_prices_of_azure(path, "2026-01-01").quotes
        return {key: quote.price_usd_per_hour for key, quote in quotes.items()}

    _judge(case, [lambda: prices_of_retail(data)], read)


FOREIGN: dict[str, Callable[[Case], None]] = {
    "CSV": read_csv,
    "SWF": read_swf,
    "GWF": read_gwf,
    "arrivals": read_arrivals,
    "logged arrivals": read_arrivals_of_log,
    "WfFormat": read_wfformat,
    "AWS types": read_aws_types,
    "price history": read_price_history,
    "SkyPilot": read_skypilot,
    **{kind: partial(_read_tool, kind=kind) for kind in TOOLS},
    "batch": read_batch,
    "task list": read_task_list,
    "price list": read_price_list,
    "retail prices": read_retail_prices,
}
