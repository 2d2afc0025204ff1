"""What is fuzzed: every reader of spotbag, its options, and its commands, each with what must hold of it.

A target takes a `Case`, makes an input of it and hands it to spotbag. It returns if spotbag takes the input, and raises
`SpotbagError` if it refuses it; anything else that is raised is a fault. What is taken is compared with an independent
reading of the same text by Python's `json`, with decimal numbers of any length.
"""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from typer.main import get_command

import spotbag
from spotbag.audits.auditor import audit_traces
from spotbag.audits.bags.plan import check
from spotbag.cli import main
from spotbag.cli.app import make_app
from spotbag.core import records
from spotbag.core.errors import InputError, SpotbagError
from spotbag.core.records import WholeDocument
from spotbag.core.text_files import read_text
from spotbag.executors.logs import execution_state, read_log
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.availability_days import AvailabilityScenario
from spotbag.instances.bags.best_known import best_known, format_best_known
from spotbag.instances.bags.hads_files import hads_files, read_hads_files
from spotbag.instances.bags.scenario_files import format_scenario
from spotbag.instances.bags.scenarios import SCENARIOS, find_scenario
from spotbag.instances.bags.scripted_days import ScriptedScenario
from spotbag.instances.bags.timeline import event_issues, format_timeline, parse_timeline
from spotbag.instances.bags.vm_catalogue import read_catalogue, shipped_catalogue
from spotbag.instances.instance import Instance, instance_warnings
from spotbag.instances.library import library_data, library_instance
from spotbag.instances.platforms.agent_trees import depth_of
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.streams.draws import draw_jobs
from spotbag.instances.streams.stream import Stream
from spotbag.instances.streams.stream_files import stream_of_run_times
from spotbag.models.streams.sizing import problem_of_job
from spotbag.replay.bags.runs import trace_day
from spotbag.replay.platforms.runs import replay_platform_once
from spotbag.replay.streams.runs import replay_stream_once
from spotbag.schedules.events import TaskFinished, VmDraining, VmEnded, VmHibernated
from spotbag.schedules.hads_map import format_hads_map, read_hads_map
from spotbag.schedules.schedule_files import (
    format_schedule,
    read_schedule_document,
    schedule_document_of,
    schedule_of_document,
)
from spotbag.schedules.state import State
from spotbag.solvers.bags.methods import METHODS
from spotbag.solvers.bags.replan import replan
from spotbag.solvers.bags.solve import solve
from spotbag.solvers.streams.sizing import size_job
from spotbag.traces.files import parse_traces, trace_lines
from spotbag.traces.stories import describe_trace
from spotbag.traces.trace import document_sha256
from tests.fuzzing.foreign_targets import FOREIGN
from tests.fuzzing.mutations import HOSTILE_TEXTS, Keys, Mutator, walk
from tests.fuzzing.mutations import tree as tree_of

SMALL = 60
"""Tasks or jobs of what is also planned, sampled and replayed: reading is what is fuzzed."""


class Case:
    """One input: where its random numbers come from, and the files that it writes.

    Parameters
    ----------
    target : str
        What is fuzzed.
    number : int
        Which input; with the target it says everything about it.
    folder : Path
        Where files are written.
    """

    def __init__(self, target: str, number: int, folder: Path) -> None:
        self.rng = random.Random(f"{target}:{number}")
        self.heavy = number % 1000 == 999
        self.folder = folder
        self.written: dict[str, bytes] = {}
        self.words: list[str] = []
        self.aside_s = 0.0

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Do what is not part of the input, and does not count in what it takes."""
        begin = time.process_time()
        try:
            yield
        finally:
            self.aside_s += time.process_time() - begin

    def write(self, name: str, data: bytes) -> str:
        """Write a file; return its path."""
        self.written[name] = data
        path = self.folder / name
        path.write_bytes(data)
        return str(path)

    def document(self, name: str, documents: list[dict[str, Any]]) -> str:
        """Write a mutation of one of some documents; return its path."""
        mutator = Mutator(self.rng, _keys_of(documents))
        text = mutator.text(self.rng.choice(documents), self.heavy)
        return self.write(name, mutator.as_bytes(text))

    def often(self, share: float) -> bool:
        """Whether to do something that is done in a share of the cases."""
        return self.rng.random() < share


_KEYS: dict[int, list[str]] = {}


def _keys_of(documents: list[dict[str, Any]]) -> list[str]:
    """Keys of documents that live as long as the process."""
    if id(documents[0]) not in _KEYS:
        objects = [holder for holder in walk(tree_of(documents)) if isinstance(holder, Keys)]
        _KEYS[id(documents[0])] = sorted({key for one in objects for key, _ in one})
    return _KEYS[id(documents[0])]


# ------------------------------------------------------------------ the independent reading


def independent(path: str) -> Any:
    """Read a JSON file that spotbag has taken, by Python's `json` and without rounding."""
    text = Path(path).read_bytes().decode("utf-8-sig")
    return json.loads(text, parse_float=Decimal, parse_constant=lambda name: NoJson())


class NoJson:
    """``NaN`` and ``Infinity``, which may stand where nobody looks, and are never the same as what was read."""


def assert_same(given: Any, read: Any, place: str = "") -> None:
    """Assert that what was read is what was written: numbers as the nearest floating-point number at least."""
    if isinstance(given, dict) and isinstance(read, dict):
        assert given.keys() == read.keys(), f"{place}: keys {given.keys() ^ read.keys()}"
        for key, value in given.items():
            assert_same(value, read[key], f"{place}.{key}")
    elif isinstance(given, list) and isinstance(read, list):
        assert len(given) == len(read), f"{place}: {len(given)} and {len(read)} entries"
        for index, (one, other) in enumerate(zip(given, read, strict=True)):
            assert_same(one, other, f"{place}[{index}]")
    elif _is_number(given) and _is_number(read):
        whole = isinstance(given, int) and isinstance(read, int)
        assert given == read if whole else float(given) == float(read), f"{place}: {given} was read as {read}"
    else:
        assert type(given) is type(read), f"{place}: {given!r} was read as {read!r}"
        assert given == read, f"{place}: {given!r} was read as {read!r}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def assert_round_trip(document: WholeDocument, path: str) -> None:
    """Assert that a document says what its file says, and that what is written of it does as well."""
    assert_same(independent(path), document.to_document())
    text = document.to_text()
    assert_same(independent(path), json.loads(text, parse_float=Decimal))
    assert type(document).parse(text).to_text() == text


def assert_read_alike(path: str) -> None:
    """Assert that an instance is read alike by the decoder of long documents and by that of short ones."""
    found = []
    for limit in (0, 10**9):
        before, records.SHORT_TEXT = records.SHORT_TEXT, limit
        try:
            found.append(Instance.read(path).to_text())
        except SpotbagError as error:
            found.append(str(error))
        finally:
            records.SHORT_TEXT = before
    assert found[0] == found[1], f"{found[0][:2000]} and {found[1][:2000]}"


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """Let spotbag refuse to go on with something that it could read."""
    try:
        yield
    except SpotbagError as error:
        judge_refusal(error)


def judge_refusal(error: SpotbagError) -> None:
    """Assert that a message can be printed, is not too long, and is about the input."""
    text = str(error)
    text.encode("utf-8")
    assert text.replace("\n", "").replace("\t", "").isprintable() or _only_rare_characters(text), repr(text[:500])
    assert len(text) < 60_000, f"a message of {len(text)} characters: {text[:300]}"
    assert "please report" not in text, text


def _only_rare_characters(text: str) -> bool:
    """Whether what Python calls not printable are joiners, spaces and letters that it does not know."""
    odd = {letter for letter in text if not letter.isprintable() and letter not in "\n\t"}
    return not any(letter in "\x7f" or letter < " " or "\x80" <= letter <= "\x9f" for letter in odd) and not (
        odd & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029\u200b")
    )


# ------------------------------------------------------------------ documents to begin with


@cache
def instances() -> list[dict[str, Any]]:
    """Small instances, one of them with all keys."""
    names = ["tiny/boot", "tiny/two-cores", "tiny/credits", "tiny/memory-parts-them", "tiny/checkpoints"]
    found = [json.loads(library_instance(name).to_text()) for name in names]
    return [*found, FULL_INSTANCE, FULL_INSTANCE, FULL_INSTANCE, STATE_INSTANCE, STATE_INSTANCE]


FULL_INSTANCE: dict[str, Any] = {
    "format": "spotbag.instance/1",
    "name": "full",
    "description": "all keys",
    "provenance": {
        "source": "by hand",
        "notes": "none",
        "generator": "none",
        "seed": 1,
        "optimum": {"objective": 0.5, "cost_usd": 0.25, "makespan_s": 300, "derivation": "none"},
    },
    "deadline_s": 3600,
    "d_spot_s": 2400,
    "boot_overhead_s": 60,
    "migration_overhead_s": 90,
    "allocation_cycle_s": 900,
    "checkpoint": {"overhead_fraction": 0.1, "dump_base_s": 12.5, "dump_s_per_mb": 0.01},
    "limits": {"max_spot": 8, "max_on_demand": 6},
    "markets": ["spot", "on-demand"],
    "objective": {"cost_weight": 0.3, "cost_scale_usd": 2.5, "makespan_scale_s": 3600},
    "vm_types": [
        {
            "name": "c4.large",
            "vcpus": 2,
            "memory_mb": 3840.5,
            "gflops": 40.73,
            "speed": 1.25,
            "offers": {
                "spot": {"price_usd_per_hour": 0.0366, "limit": 5},
                "on-demand": {"price_usd_per_hour": 0.1, "limit": 5},
            },
        },
        {
            "name": "t3.large",
            "vcpus": 2,
            "memory_mb": 8192,
            "offers": {"on-demand": {"price_usd_per_hour": 0.0832, "limit": 5}},
            "burstable": {
                "baseline_fraction": 0.2,
                "credits_per_hour": 24,
                "initial_credits": 12.5,
                "max_credits": 576,
            },
        },
    ],
    "tasks": [
        {"id": "a", "memory_mb": 12.5, "runtime_s": {"c4.large": 168, "t3.large": 119.25}, "command": "echo a"},
        {"id": "b", "memory_mb": 2000, "base_runtime_s": 200.5, "count": 3},
        {"id": "c", "memory_mb": 0.5, "runtime_s": {"c4.large": 61}},
    ],
}

STATE_INSTANCE: dict[str, Any] = FULL_INSTANCE | {
    "name": "full from a state",
    "d_spot_s": 3600,
    "machines": [
        {
            "id": "spot-1",
            "type": "c4.large",
            "market": "spot",
            "ready_s": 0,
            "paid_until_s": 40,
            "running": [{"task": "b#2", "core": 1, "start_s": -30}],
        },
        {
            "id": "burst-1",
            "type": "t3.large",
            "market": "on-demand",
            "credits": 2.5,
            "running": [
                {"task": "a", "core": 0, "start_s": -100, "mode": "baseline"},
                {"task": "b#1", "core": 1, "start_s": 0, "mode": "burst"},
            ],
        },
        {"id": "spot-2", "type": "c4.large", "market": "spot", "ready_s": 30},
        {"id": "spot-3", "type": "c4.large", "market": "spot", "open": False},
    ],
}
FULL_STATE: dict[str, Any] = {
    "format": "spotbag.state/1",
    "instance": "full",
    "time_s": 150.25,
    "spent_usd": 0.0125,
    "done": ["b#1"],
    "saved": {"b#3": 0.25, "a": 0.5},
    "vms": [
        {
            "id": "spot-1",
            "type": "c4.large",
            "market": "spot",
            "status": "draining",
            "ready_s": 60,
            "paid_until_s": 160.5,
            "price_usd_per_hour": 0.0366,
            "running": [{"task": "b#2", "core": 0, "start_s": 60.5, "end_s": 140}],
        },
        {
            "id": "burst-1",
            "type": "t3.large",
            "market": "on-demand",
            "status": "running",
            "ready_s": 60.25,
            "price_usd_per_hour": 0.0832,
            "credits": 12,
            "running": [{"task": "a", "core": 1, "start_s": 61, "mode": "baseline"}],
        },
        {"id": "spot-2", "type": "c4.large", "market": "spot", "status": "launching", "ready_s": 180},
        {"id": "spot-3", "type": "c4.large", "market": "spot", "status": "hibernated", "ready_s": 60},
    ],
}


@cache
def states() -> list[tuple[Instance, dict[str, Any], list[dict[str, Any]]]]:
    """Instances, with a plan of each, and states: those that the plan leads to, and one with all keys."""
    found = []
    for number in (0, 2, 4, 6):
        instance, document = planned()[number]
        plan = schedule_of_document(schedule_document_of(document), instance)
        moments = (0.0, 0.3 * plan.makespan_s, 0.7 * plan.makespan_s)
        found.append((instance, document, [State.planned(plan, moment).to_document() for moment in moments]))
    found[2][2].extend([FULL_STATE] * 3)
    return found


@cache
def log_lines() -> list[dict[str, Any]]:
    """The log of a plan of the instance with all keys: one VM after the other; one of them is started again."""
    instance, document = planned()[4]
    plan = schedule_of_document(schedule_document_of(document), instance)
    lines: list[dict[str, Any]] = []
    for vm, name in enumerate(plan.vm_ids):
        begin = {"at": 1.7e9 + vm, "event": "begin", "format": "spotbag.log/1", "vm": name}
        lines.append(begin)
        mine = [task for task in range(instance.n_tasks) if plan.task_vm[task] == vm]
        for number, task in enumerate(mine, 1):
            run = {"core": int(plan.task_core[task]), "number": number, "task": instance.task_ids[task]}
            end_s = begin["at"] + float(plan.task_end_s[task])
            lines.append({"at": begin["at"] + float(plan.task_start_s[task]), "event": "start", **run})
            if number == len(mine) and vm == 0:
                lines += [{"at": end_s - 1, "event": "stop"}, begin | {"at": end_s + 60}]
            else:
                lines.append({"at": end_s, "event": "end", **run, "exit_code": 0 if number < 3 else 1})
        if vm:
            lines.append({"at": 1.7e9 + 3000.5, "event": "finish"})
    return lines


@cache
def streams() -> list[dict[str, Any]]:
    """Small streams, one of them with all keys."""
    tiny = json.loads(spotbag.library_stream("tiny/two-jobs").to_text())
    return [tiny, FULL_STREAM, FULL_STREAM]


FULL_STREAM: dict[str, Any] = {
    "format": "spotbag.jobs/1",
    "name": "full",
    "description": "all keys",
    "provenance": {"source": "by hand", "notes": "none", "generator": "none", "seed": 1},
    "block_s": 600,
    "creation_overhead_s": 30,
    "vm_types": [
        {"name": "small", "price_usd_per_block": 0.073, "vcpus": 1, "memory_mb": 3840},
        {"name": "big", "price_usd_per_block": 0.146},
    ],
    "applications": [
        {
            "name": "one",
            "description": "none",
            "runtime_s": {
                "small": {"distribution": "constant", "value_s": 20.5},
                "big": {"distribution": "uniform", "low_s": 5, "high_s": 15.5},
            },
        },
        {
            "name": "two",
            "runtime_s": {
                "small": {"distribution": "normal", "mean_s": 30, "sd_s": 5.5, "min_s": 1},
                "big": {"distribution": "lognormal", "mean_s": 12.5, "sd_s": 4},
            },
        },
        {"name": "three", "runtime_s": {"small": {"samples_s": [1, 2.5, 3]}, "big": {"sequence_s": [1, 2, 3, 4.25]}}},
    ],
    "jobs": [
        {"id": "j0", "application": "one", "submitted_s": 0, "deadline_s": 400, "n_tasks": 3},
        {"id": "j1", "application": "two", "submitted_s": 100, "deadline_s": 900, "n_tasks": 4},
        {"id": "j2", "application": "three", "submitted_s": 100, "deadline_s": 1500, "n_tasks": 4},
    ],
}


@cache
def platforms() -> list[dict[str, Any]]:
    """Small platforms, one of them with all keys."""
    tiny = json.loads(spotbag.library_platform("tiny/hybrid").to_text())
    return [tiny, FULL_PLATFORM, FULL_PLATFORM]


FULL_PLATFORM: dict[str, Any] = {
    "format": "spotbag.platform/1",
    "name": "full",
    "description": "all keys",
    "provenance": {"source": "by hand"},
    "agents": [{"id": "root"}, {"id": "left", "parent": "root"}, {"id": "right", "parent": "root"}],
    "resources": [
        {"id": "own", "kind": "dedicated", "parent": "left", "processors": 4},
        {
            "id": "leased",
            "kind": "allocated",
            "parent": "left",
            "cost_per_processor_minute": 1.5,
            "availability": [{"from_s": 0, "processors": 2}, {"from_s": 600, "processors": 8}],
            "repeat_s": 1200,
        },
        {"id": "cloud", "kind": "cloud", "parent": "right", "processors_per_vm": 4, "cost_per_vm_hour": 480.5},
    ],
    "jobs": [
        {
            "id": "j0",
            "size_processor_minutes": 12,
            "priority": 3,
            "arrival_s": 30,
            "deadline_s": 900,
            "budget": 100.5,
        },
        {"id": "j1", "size_processor_minutes": 40, "arrival_s": 60, "deadline_s": 2000, "budget": 1000},
        {"id": "j2", "size_processor_minutes": 7, "deadline_s": 600, "budget": 0},
    ],
}


@cache
def planned() -> list[tuple[Instance, dict[str, Any]]]:
    """Instances with a plan of each."""
    found = []
    for document in (*instances()[:2], FULL_INSTANCE):
        instance = with_d_spot(Instance.from_document(document, "planned"))
        for method in ("greedy", "lpt"):
            schedule = solve(instance, method).schedule
            assert schedule is not None
            found.append((instance, json.loads(format_schedule(schedule, method))))
    burst = library_instance("tiny/credits")
    of_state = Instance.from_document(STATE_INSTANCE, "planned")
    result = solve(of_state, "search", iterations=10_000)
    assert result.schedule is not None
    vm = {"id": "v", "type": "b", "market": "on-demand"}
    task = {"id": "t", "vm": "v", "core": 0, "start_s": 0, "end_s": 120, "mode": "baseline"}
    found.append((burst, {"format": "spotbag.schedule/1", "instance": burst.name, "vms": [vm], "tasks": [task]}))
    found.append((of_state, json.loads(format_schedule(result.schedule, "search"))))
    return found


DAYS: list[dict[str, Any]] = [
    {
        "format": "spotbag.timeline/1",
        "name": "a day",
        "events": [
            {"time_s": 100, "type": "c4.large", "event": "hibernate"},
            {"time_s": 700, "type": "c4.large", "event": "resume"},
            {"time_s": 900, "type": "c4.large", "event": "hibernate"},
        ],
    },
    {"format": "spotbag.timeline/1", "events": []},
]
AVAILABILITIES: list[dict[str, Any]] = [
    {"metadata": {"gap_seconds": 600, "region": "x"}, "data": {"c4.large": [1, 1, 0, 0, 1], "other": [0, 1, 0, 1, 1]}},
    {"gap_seconds": 60.5, "data": [0, 1, 1, 0]},
    {"gap_seconds": 600, "data": [4, 1, 0, 3]},
]
SCENARIO_FILES: list[dict[str, Any]] = [
    {"format": "spotbag.scenario/1", "cloud": "gcp", "vm_interruptions_per_hour": 0.5, "mean_outage_s": 600},
    {"format": "spotbag.scenario/1", "kind": "poisson", "name": "mine", "k_h": 2, "k_r": 1.5, "rate_scale": 0.5},
    {
        "format": "spotbag.scenario/1",
        "kind": "availability",
        "gap_seconds": 300,
        "one_means": "preempted",
        "vms_per_one": 0.5,
        "data": {"c4.large": [1, 0, 3], "other": [0, 1, 2]},
    },
    {
        "format": "spotbag.scenario/1",
        "kind": "prices",
        "start_s": 60,
        "prices": [{"time_s": time_s, "type": "c4.large", "usd_per_hour": 0.05 + time_s / 1e4} for time_s in (0, 300)],
    },
]
PRICE_TABLE = """Timestamp,InstanceType,AvailabilityZone,ProductDescription,SpotPrice
2026-07-09T12:00:00Z,c4.large,us-east-1a,Linux/UNIX,0.03
2026-07-09T12:10:00Z,c4.large,us-east-1a,Linux/UNIX,0.05
2026-07-09T12:20:00Z,m5.large,us-east-1a,Linux/UNIX,0.06
"""


@cache
def bests() -> list[dict[str, Any]]:
    """Files of best known values."""
    whole = json.loads(library_data().joinpath("best_known.json").read_text(encoding="utf-8"))
    return [whole | {"entries": whole["entries"][:3]}]


@cache
def authors_files() -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[dict[str, Any]]]:
    """Jobs, environments and maps of the authors of HADS."""
    instance, plan = planned()[2]
    files = hads_files(instance)
    schedule = schedule_of_document(schedule_document_of(plan), instance)
    return [json.loads(files.job)], [json.loads(files.environment)], [json.loads(format_hads_map(schedule))]


@cache
def price_files() -> dict[str, list[dict[str, Any]]]:
    """A history as the AWS command line prints it, and a catalogue."""
    price = {"AvailabilityZone": "us-east-1a", "InstanceType": "c6i.large", "ProductDescription": "Linux/UNIX"}
    price |= {"SpotPrice": "0.01", "Timestamp": "2026-11-03T12:00:00Z"}
    catalogue = json.loads(shipped_catalogue().to_text())
    return {
        "history.json": [{"SpotPriceHistory": [price, price | {"Timestamp": "2026-11-02T12:00:00Z"}]}],
        "catalogue.json": [catalogue | {"vm_types": catalogue["vm_types"][-3:]}],
    }


@cache
def traces() -> dict[str, list[list[dict[str, Any]]]]:
    """Traces of replays of each system, as records."""
    instance, plan = planned()[4]
    schedule = schedule_of_document(schedule_document_of(plan), instance)
    day = parse_timeline(json.dumps(DAYS[0]))
    bags = [[trace_day(schedule, policy, day)[1]] for policy in ("hads", "burst-hads")]
    stream = Stream.from_document(FULL_STREAM, "stream")
    of_streams = [[replay_stream_once(stream, policy)[1]] for policy in ("known", "unknown")]
    platform = Platform.from_document(FULL_PLATFORM, "platform")
    of_platforms = [[replay_platform_once(platform, policy)[1]] for policy in ("money-saving", "time-saving")]
    return {
        system: [[json.loads(line) for line in trace_lines(each)] for each in found]
        for system, found in (("bags", bags), ("streams", of_streams), ("platforms", of_platforms))
    }


# ------------------------------------------------------------------ readers


def whole(number: int | Decimal) -> int:
    """A number that is written as a whole one, or as one next to it that is none in double precision."""
    return number if isinstance(number, int) else int(float(number))


def read_instances(case: Case) -> None:
    """Instances: read, written, planned."""
    path = case.document("bag.json", instances())
    if case.often(0.5):
        with case.aside():
            assert_read_alike(path)
    instance = Instance.read(path)
    assert_round_trip(instance, path)
    document = independent(path)
    assert instance.n_tasks == sum(whole(task.get("count", 1)) for task in document["tasks"])
    instance_warnings(instance)
    if instance.n_tasks > SMALL:
        return
    for task, row in zip(document["tasks"], instance.given_runtime_s.tolist(), strict=True):
        for vm_type, seconds in zip(instance.vm_types, row, strict=True):
            given = (task.get("runtime_s") or {}).get(vm_type.name)
            assert given is None or float(given) == seconds
    if case.often(0.05):
        assert pickle.loads(pickle.dumps(instance)).to_text() == instance.to_text()
    if case.often(0.2):
        with refusals():
            ready = with_d_spot(instance)
            result = solve(ready, case.rng.choice(("greedy", "lpt")))
            assert result.schedule is not None or result.message
            if result.schedule is not None:
                assert check(ready, result.schedule).feasible
    if case.often(0.05):
        assert Instance.parse(instance.to_text()) == instance
    if case.often(0.05):
        with refusals():
            changes = {
                "deadline_s": case.rng.choice((0, 1, 60, 10**9, 10**40, -1)),
                "d_spot_s": case.rng.choice((0, 1, 10**10)),
            }
            instance.replace(**dict(case.rng.sample(list(changes.items()), case.rng.randrange(1, 3))))


def read_streams(case: Case) -> None:
    """Streams of jobs: read, written, sampled, sized, replayed."""
    path = case.document("stream.json", streams())
    stream = Stream.read(path)
    assert_round_trip(stream, path)
    assert stream.n_tasks == sum(whole(job["n_tasks"]) for job in independent(path)["jobs"])
    if stream.n_tasks > SMALL:
        return
    if case.often(0.2):
        with refusals():
            assert draw_jobs(stream, case.rng.choice((0, 1, 2**40))).instance.n_tasks == stream.n_tasks
    if case.often(0.05):
        with refusals():
            for job in stream.jobs:
                size_job(problem_of_job(stream, job), "dynamic-programme")
    if case.often(0.02) and max(job.deadline_s for job in stream.jobs) < 10_000:
        with refusals():
            replay_stream_once(stream, case.rng.choice(("known", "unknown", "a2ha")))


def read_platforms(case: Case) -> None:
    """Hybrid platforms: read, written, replayed."""
    path = case.document("platform.json", platforms())
    platform = Platform.read(path)
    assert_round_trip(platform, path)
    assert depth_of(platform) >= 1
    if case.often(0.05) and sum(job.size_processor_minutes for job in platform.jobs) < 10_000:
        with refusals():
            replay_platform_once(platform, case.rng.choice(("money-saving", "time-saving", "round-robin")))


def read_plans(case: Case) -> None:
    """Plans: read, checked, derived from their instance."""
    instance, plan = case.rng.choice(planned())
    path = case.document("plan.json", [plan])
    document = read_schedule_document(path)
    given = document.model_dump(mode="json", exclude_unset=True)
    assert_same(independent(path), given)
    if len(document.tasks) > 10 * SMALL:
        return
    report = check(instance, document)
    for violation in report.violations[:50]:
        str(violation).encode("utf-8")
    try:
        schedule = schedule_of_document(document, instance)
    except SpotbagError as error:
        judge_refusal(error)
        assert not report.feasible
        return
    if case.often(0.02):
        with refusals():
            solve(instance, "greedy", initial=schedule)
    assert report.makespan_s == schedule.makespan_s
    assert abs(report.cost_usd - schedule.cost_usd) <= 1e-9 * max(1, abs(schedule.cost_usd))


def read_states(case: Case) -> None:
    """States: read, written, applied to their instance, planned from."""
    instance, document, documents = case.rng.choice(states())
    path = case.document("state.json", documents)
    state = State.read(path)
    assert_round_trip(state, path)
    with refusals():
        _plan_what_is_left(case, instance, document, state)
    if case.often(0.1):
        with refusals():
            names = [vm.id for vm in state.vms]
            later = state.advance(
                state.time_s + case.rng.choice((0, 1, 0.5, 1e9, -1)),
                *map(TaskFinished, state.running_ids[:1]),
                *map(VmEnded, names[:1]),
                *map(VmHibernated, names[1:2]),
                *map(VmDraining, names[2:3]),
            )
            assert State.parse(later.to_text()).to_text() == later.to_text()


def _plan_what_is_left(case: Case, instance: Instance, plan: dict[str, Any], state: State) -> None:
    """Say what a state leaves of an instance, and plan it; the checker reads the plan back from its file."""
    remaining = state.remaining(instance)
    assert set(remaining.task_ids) == set(instance.task_ids) - set(state.done)
    again = Instance.parse(remaining.to_text())
    assert again.to_text() == remaining.to_text()
    assert (again.duration_s == remaining.duration_s).all()
    if not case.often(0.5):
        return
    start = schedule_of_document(schedule_document_of(plan), instance) if case.often(0.5) else None
    result = replan(instance, state, time_limit_s=0.005, start=start, seed=case.rng.randrange(9))
    assert result.schedule is not None or result.message
    if result.schedule is None:
        return
    assert result.bound is None or result.bound <= result.schedule.objective * (1 + 1e-9) + 1e-9
    document = schedule_document_of(json.loads(format_schedule(result.schedule, "search")))
    report = check(again if instance.d_spot_s is not None else with_d_spot(again), document)
    assert report.feasible, report.violations
    assert report.makespan_s == result.schedule.makespan_s
    assert abs(report.cost_usd - result.schedule.cost_usd) <= 1e-9 * max(1, result.schedule.cost_usd)


def read_execution_logs(case: Case) -> None:
    """Logs of plans that were run: read, made a state, planned from."""
    instance, document = planned()[4]
    plan = schedule_of_document(schedule_document_of(document), instance)
    execution = read_log(
        plan, case.write("log.jsonl", _damaged_log(case)), lost=case.rng.choice(((), plan.vm_ids[:1], ("x",)))
    )
    assert len(execution.deviations) == instance.n_tasks
    assert all(run.end_s is None or run.end_s >= run.start_s for run in execution.runs)
    with refusals():
        state = execution_state(plan, execution, ())
        assert State.parse(state.to_text()).to_text() == state.to_text()
        _plan_what_is_left(case, instance, document, state)


def _damaged_log(case: Case) -> bytes:
    """A log with some lines damaged, taken out or doubled."""
    rng, written = case.rng, log_lines()
    mutator = Mutator(rng, _keys_of(written))
    lines = [json.dumps(line) for line in written[: rng.randrange(1, len(written) + 1)]]
    for _ in range(rng.choice((0, 1, 1, 1, 2, 4))):
        place, way = rng.randrange(len(lines)), rng.random()
        if way < 0.7:
            lines[place] = mutator.text(written[min(place, len(written) - 1)], case.heavy)
        elif way < 0.85:
            lines.insert(rng.randrange(len(lines) + 1), lines[place])
        elif len(lines) > 1:
            del lines[place]
    return mutator.as_bytes("\n".join(lines))


def read_days(case: Case) -> None:
    """Days of a replay, and traces of availability, for the instance with all keys."""
    instance = planned()[4][0]
    if case.often(0.5):
        path = case.document("day.json", DAYS)
        options = {} if case.often(0.95) else {"one_means": "available"}
        scenario = find_scenario(path, **options)
        assert isinstance(scenario, ScriptedScenario)
        document = independent(path)
        events = [[event.time_s, event.vm_type, event.kind] for event in scenario.timeline.events]
        given = [[event["time_s"], event["type"], event["event"]] for event in document["events"]]
        assert_same(sorted(given, key=lambda event: event[0]), events)
        assert parse_timeline(format_timeline(scenario.timeline)) == scenario.timeline
        scenario.day(instance, 0, 0)
        return
    if case.often(0.5):
        path = case.document("scenario.json", SCENARIO_FILES)
        if case.often(0.3):
            path = case.write("prices.csv", _damaged(case, PRICE_TABLE))
        found = find_scenario(path)
        case_of_day = case.rng.choice((0, 1, 2**62)), case.rng.choice((0, 1, 10**9))
        timeline = found.day(instance, *case_of_day)
        assert event_issues(timeline.events) == []
        copy = case.write("copy.json", format_scenario(found).encode())
        assert find_scenario(copy).day(instance, *case_of_day) == timeline
        return
    path = case.document("availability.json", AVAILABILITIES)
    one_means = case.rng.choice(("available", "preempted", "available", None, "x\x1b"))
    found = find_scenario(path, one_means=one_means)
    assert isinstance(found, AvailabilityScenario)
    document = independent(path)
    gap = document.get("gap_seconds") or document["metadata"]["gap_seconds"]
    assert float(gap) == found.gap_s
    data = document["data"] if isinstance(document["data"], dict) else {"": document["data"]}
    read = found.data if isinstance(found.data, dict) else {"": found.data}
    assert_same(
        {name: [int(value) for value in column] for name, column in data.items()},
        {name: column.tolist() for name, column in read.items()},
    )
    assert found.one_means == one_means
    found.day(instance, case.rng.choice((0, 1, 2**62)), case.rng.choice((0, 1, 10**9)))


def _with_its_digest(header: str) -> str:
    """The header of a trace with the digest of its instance, without which nothing else of it would be read."""
    try:
        record = json.loads(header)
        record["sha256"] = document_sha256(record["instance"])
        return json.dumps(record)
    except (ValueError, TypeError, KeyError, RecursionError):
        return header


def read_traces(case: Case, system: str) -> None:
    """Traces of replays: read, audited, put into words."""
    written = list(case.rng.choice(traces()[system]))
    mutator = Mutator(case.rng, _keys_of(written))
    lines = [json.dumps(record) for record in written]
    for _ in range(case.rng.choice((1, 1, 1, 2, 4))):
        place = case.rng.randrange(len(lines))
        way = case.rng.random()
        if way < 0.8:
            lines[place] = mutator.text(written[place] if place < len(written) else written[0], case.heavy)
        elif way < 0.87:
            del lines[place]
        elif way < 0.94:
            lines.insert(case.rng.randrange(len(lines) + 1), lines[place])
        else:
            lines.insert(place, case.rng.choice(("", " ", "null", "{}", "[]", "\x0b", "\u2028", "x")))
        if not lines:
            break
    if lines and case.rng.random() < 0.5:
        lines[0] = _with_its_digest(lines[0])
    path = case.write("trace.jsonl", mutator.as_bytes(case.rng.choice(("\n", "\n", "\n", "\r\n")).join(lines)))
    text = read_text(path)
    found = parse_traces(text, path)
    read = [found[0].instance]
    for trace in found:
        read += [trace.run, *trace.events, trace.end]
    given = [json.loads(line, parse_float=Decimal) for line in text.split("\n") if line.strip()]
    given[0] = given[0]["instance"]
    assert_same(given, json.loads(json.dumps(read), parse_float=Decimal))
    if sum(len(trace.events) for trace in found) > 5000:
        return
    reports = audit_traces(found)
    for trace, report in zip(found, reports, strict=True):
        for finding in report.findings[:50]:
            str(finding.message).encode("utf-8", "surrogatepass")
        if report.correct:
            describe_trace(trace)


def read_run_times(case: Case) -> None:
    """Lists of run times."""
    rng = case.rng
    numbers = [str(rng.choice((1, 2.5, 60, 1e-6, 1e9, 100))) for _ in range(rng.randrange(1, 8))]
    odd = (
        "nan", "inf", "-1", "0", "1_0", "１２", "१", "1e400", "1e-400", "0x10", "", "#", "# x", "5 # five", "5#", "1 2",
        "1,5", "1;2", "\x0b", "3\x0b4", "3\x0c4", "3\x1c4", "3\x854", "3\u20284", "\xa07", "\ufeff7", "+7", ".5", "5.",
        "1e2", "1E2", "0" * 400 + "7", "7" + "0" * 400, "0." + "1" * 2000, "--1", "1.2.3", "infinity", "True", "1j",
        "\x00", "\x1b[2J", "𝟙",
    )  # fmt: skip
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        numbers.insert(rng.randrange(len(numbers) + 1), rng.choice(odd))
    if case.heavy:
        numbers = [numbers[0]] * 10 ** rng.randrange(3, 6)
    text = rng.choice(("\n", "\n", "\n", "\r\n", "\r")).join(numbers) + rng.choice(("", "\n"))
    path = case.write("times.txt", Mutator(rng, []).as_bytes(text))
    stream = stream_of_run_times(path)
    lines = Path(path).read_bytes().decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    given = [entry for entry in (line.split("#")[0].strip(" \t") for line in lines) if entry]
    assert all(entry.isascii() and not set(entry) & set("_ \t") for entry in given), given
    model = stream.applications[0].runtime_s["host"]
    assert [float(Decimal(entry)) for entry in given] == list(model.sequence_s)  # type: ignore[union-attr]
    assert Stream.parse(stream.to_text()) == stream


def read_best_known(case: Case) -> None:
    """Files of the best values known."""
    path = case.document("best_known.json", bests())
    entries = best_known(path)
    given = {entry["instance"]: entry for entry in independent(path)["entries"]}
    assert_same(given, {name: entry.model_dump(mode="json", exclude_unset=True) for name, entry in entries.items()})
    again = case.folder / "again.json"
    again.write_text(format_best_known(entries.values()), encoding="utf-8")
    assert best_known(again) == entries


def read_imports(case: Case) -> None:
    """Files of the authors of HADS: job, environment, map."""
    jobs, environments, maps = authors_files()
    damaged = case.rng.randrange(3)

    def written(number: int, name: str, documents: list[dict[str, Any]]) -> str:
        if number == damaged:
            return case.document(name, documents)
        return case.write(name, json.dumps(documents[0]).encode())

    job, environment = written(0, "job.json", jobs), written(1, "env.json", environments)
    deadline_s = case.rng.choice((3600, 3600, 3600, 10**9, 0, -5, 10**30))
    d_spot_s = case.rng.choice((None, 2400, 0, -1, 10**30))
    imported = read_hads_files(job, environment, deadline_s, d_spot_s)
    given = independent(job)
    instance = imported.instance
    assert len(instance.tasks) == len(given["tasks"])
    for entry, task in zip(given["tasks"].values(), instance.tasks, strict=True):
        assert float(entry["memory"]) == task.memory_mb
        assert all(float(entry["runtime"][name]) == seconds for name, seconds in (task.runtime_s or {}).items())
    assert Instance.parse(instance.to_text()).to_text() == instance.to_text()
    schedule, _ = read_hads_map(written(2, "map.json", maps), instance)
    with refusals():
        check(with_d_spot(instance), schedule)


_TABLES = {
    "tasks.csv": "id,command,memory_gb,runtime_min[c6i.large],c7g.large_s,count,arch\n"
    'a,"x, 1",1,10,60,,\nb,,2,,90,3,arm64\n',
    "once.csv": "Task;RAM (MB);Run Time\na;512;1h30m\nb;1024;00:12:30\n",
    "log.swf": "; Version: 2.2\n"
    "1 0 0 100 1 -1 2048 1 200 -1 1 12 1 1 1 1 -1 -1\n2 9 0 50 2 -1 -1 2 200 -1 1 7 1 1 1 1 -1 -1\n",
    "log.gwf": "# grid\n1 0 0 100 1 -1 -1 1 200 512 1 U1 1 1 1 1 S1 S1 BoT b1 -1\n",
}
_PIECES = (
    *'",;\t\n-{}[]',
    "0",
    "1e999",
    "nan",
    "é",
    "\x00",
    "\u2028",
    "\ufeff",
    "9" * 30,
    "x" * 300,
    "GB",
    "runtime_s",
    "#1",
)


def _damaged(case: Case, text: str) -> bytes:
    """A text with some pieces taken out, put in, doubled or swapped."""
    rng, letters = case.rng, [*text]
    for _ in range(rng.choice((0, 1, 1, 1, 2, 4))):
        here, there = sorted(rng.randrange(len(letters) + 1) for _ in range(2))
        kind = rng.randrange(4)
        if kind == 0:
            del letters[here : here + rng.randint(1, 5)]
        elif kind == 1:
            letters[here:here] = rng.choice(_PIECES)
        elif kind == 2:
            letters[here:there] = letters[here:there] * 2
        else:
            letters[here : here + 1], letters[there : there + 1] = letters[there : there + 1], letters[here : here + 1]
    return "".join(letters).encode()


def read_catalogues(case: Case) -> None:
    """Catalogues of VM types and prices."""
    path = case.document("catalogue.json", price_files()["catalogue.json"])
    catalogue = read_catalogue(path)
    assert_same(independent(path), json.loads(catalogue.to_text()))


# ------------------------------------------------------------------ options of the library


_RECORDS: list[tuple[Any, dict[str, Any]]] = [
    (spotbag.Task, FULL_INSTANCE["tasks"][0]),
    (spotbag.VmType, FULL_INSTANCE["vm_types"][1]),
    (spotbag.Offer, {"price_usd_per_hour": 0.1, "limit": 5}),
    (spotbag.Limits, FULL_INSTANCE["limits"]),
    (spotbag.Objective, FULL_INSTANCE["objective"]),
    (Instance, FULL_INSTANCE),
    (Stream, FULL_STREAM),
    (Platform, FULL_PLATFORM),
]
_NUMBERS = (0.0, 0.5, 1.0, -1.0, 2.0, float("nan"), float("inf"), -float("inf"), 1e-300, 5e-324, 1e300)
_WHOLE = (0, 1, -1, 2, 50, 10**6, 2**31, 2**53, 2**63 - 1, 2**63, 10**30)


def use_options(case: Case) -> None:
    """Options of functions: one or two numbers out of range, names unknown, distributions badly spelled."""
    rng = case.rng

    def chosen(usual: dict[str, Any], odd: dict[str, Any]) -> dict[str, Any]:
        names = rng.sample(sorted(odd), min(rng.choice((0, 1, 1, 1, 2, 3)), len(odd)))
        return usual | {name: odd[name]() if callable(odd[name]) else rng.choice(odd[name]) for name in names}

    name = rng.choice(("generate", "solve", "scenario", "draw", "size", "replace", "record"))
    if name == "generate":
        instance = spotbag.generate_instance(
            **chosen(
                {"n_tasks": rng.choice((1, 2, 5, 20)), "seed": rng.randrange(100)},
                {
                    "n_tasks": (0, -1, 10**8, 3),
                    "classes": (1, 2, 0, -1, 10**9),
                    "distinct": (True,),
                    "runtime_s": lambda: _distribution(rng),
                    "memory_mb": lambda: _distribution(rng),
                    "catalogue": ("hads", "", "x\x1b"),
                    "limit": _WHOLE,
                    "max_on_demand": (None, *_WHOLE),
                    "tightness": (0.9, *_NUMBERS),
                    "deadline_s": _WHOLE,
                    "d_spot_fraction": (None, *_NUMBERS),
                    "seed": _WHOLE,
                    "name": HOSTILE_TEXTS,
                },
            )
        )
        assert Instance.parse(instance.to_text()).to_text() == instance.to_text()
    elif name == "solve":
        odd = {
            "method": ("greedy", "lpt", *METHODS, "", "gredy"),
            "time_limit_s": (0.0, -1.0, float("nan"), 1e-300, 1e300, float("inf")),
            "target_gap": _NUMBERS,
            "seed": _WHOLE,
            "threads": (0, -1, 10**9),
            "options": ({"iterations": "nan"}, {"x": "1"}, {"": ""}, {"seed": "-1"}, {"max_iterations": "9" * 400}),
        }
        result = solve(rng.choice(planned())[0], **chosen({"method": "lpt", "time_limit_s": 0.05}, odd))
        assert result.schedule is not None or result.message
    elif name == "scenario":
        usual = {"text": rng.choice((*SCENARIOS, "poisson", "poisson"))}
        usual |= {"k_h": 1.0, "k_r": 0.5} if usual["text"] == "poisson" else {}
        odd = {
            "text": HOSTILE_TEXTS,
            "k_h": _NUMBERS,
            "k_r": _NUMBERS,
            "rate_scale": (10.0, *_NUMBERS),
            "one_means": ("available", "x\x1b"),
            "vms_per_one": (1, "all", *_NUMBERS),
            "since": ("2026-07-09", "x\x1b"),
        }
        scenario = find_scenario(**chosen(usual, odd))
        scenario.day(planned()[4][0], rng.choice((0, 7, 2**62, -1)), rng.choice((0, 1, 10**9, -1)))
    elif name == "draw":
        odd = {
            "number": (0, -1, 10**8),
            "kind": ("big", "mixed", "x"),
            "seed": _WHOLE,
            "max_processors": _WHOLE,
            "mean_gap_s": _NUMBERS,
            "budget_per_processor_minute": [(low, high) for low in _NUMBERS for high in _NUMBERS],
        }
        jobs = spotbag.draw_malleable_jobs(
            **chosen({"number": 5, "kind": "small", "seed": 1, "max_processors": 64}, odd)
        )
        assert all(job.deadline_s > job.arrival_s for job in jobs)
    elif name == "size":
        stream = Stream.from_document(FULL_STREAM, "stream")
        odd = {"n_tasks": _WHOLE, "available_s": _WHOLE}
        problem = problem_of_job(stream, rng.choice(stream.jobs), **chosen({}, odd))
        if problem.n_tasks <= 10_000:
            size_job(problem, "dynamic-programme")
    elif name == "record":
        kind, given = rng.choice(_RECORDS)
        try:
            node = json.loads(Mutator(rng, sorted(given)).text(given))
        except (ValueError, RecursionError):
            node = None
        if isinstance(node, dict):
            made = kind(**node)
            assert_same(node, made.model_dump(mode="json", exclude_unset=True))
    else:
        odd = {"deadline_s": _WHOLE, "d_spot_s": _WHOLE, "boot_overhead_s": _WHOLE, "name": HOSTILE_TEXTS}
        instance = planned()[4][0].replace(**chosen({}, odd))
        assert Instance.parse(instance.to_text()).to_text() == instance.to_text()


def _distribution(rng: random.Random) -> str:
    shape = rng.choice(("constant", "uniform", "normal", "lognormal", "beta", "x", ""))
    numbers = ("1", "10", "100", "0", "-1", "nan", "inf", "1e400", "1e300", "1e-300", "1_0", "", "１", "5e-324", "1e9")
    usual = {"constant": "60", "uniform": "10:90", "normal": "60:10", "lognormal": "60:0.5", "beta": "10:40:90"}
    if shape in usual and rng.random() < 0.5:
        return f"{shape}:{usual[shape]}"
    return ":".join([shape, *(rng.choice(numbers) for _ in range(rng.randrange(4)))])


# ------------------------------------------------------------------ commands

_INTEGERS = (
    "0",
    "1",
    "2",
    "7",
    "60",
    "-1",
    "1e3",
    "nan",
    "9" * 30,
    "9223372036854775807",
    "१२",
    "1_0",
    "",
    "+5",
    " 3",
    "0x1",
)
_FLOATS = ("0", "0.5", "1", "-1", "nan", "inf", "-inf", "1e400", "-0", "1e-320", "", "1_0", "१२", "0.05", "1,5")
_DURATIONS = ("2h", "90m", "1h30m", "1.5s", "5400", "0", "-1", "1x", "", "1e99h", "9" * 30, "१h")
_TEXTS = tuple(text for text in HOSTILE_TEXTS if "\x00" not in text and len(text) < 1000)
_FEW = ("1", "2", "0", "-1", "nan", "", "x")
_LEFT_OUT = {"update", "workers", "dask", "seeds", "bound", "plots", "optimum_s"}
"""Options that take long, start processes or write into the package."""
_COUNTED = {"runs", "number", "numbers", "samples", "points", "classes", "time_limit", "iterations", "days", "n_tasks"}
"""Options by which a command takes as long as they say."""
_READ = {"job", "start", "env", "map_file", "file", "instance", "initial", "run_times", "state", "base"}
"""Options of files that are read; all others are written, too."""
_USUAL = {
    "method": ("greedy", "lpt", "lpt,greedy"),
    "d_spot": ("paper", "10m", "1h30", "0", "1d"),
    "policy": ("hads", "known", "money-saving", "on-demand,hads"),
    "scenario": ("quiet", "hads/sc1", "poisson"),
    "markets": ("spot,on-demand", ","),
    "instance": ("tiny/boot", "tiny/two-cores"),
    "draw": ("small",),
    "types": ("c6i.*", "c6i.large,m6i.xlarge", ","),
    "speed": ("c6i.large=1", "c6i.large=0", "=,"),
    "column": ("memory_gb=id", "id=Task", "=x"),
    "only": ("status=COMPLETED", "="),
    "pairs": ("a=b", "iterations=5", "=", "creation_ratio=0.75", "creation_ratio=nan"),
    "run_times": ("bag.json", "missing"),
    "runtime_s": ("constant:60", "beta:1:2:3", "uniform:1e300:1e301", "normal:1:nan"),
    "one_means": ("available", "preempted"),
}
"""Values that options take, beside those that complete their words: where these take long, or say nothing."""
_SLOW = {"method", "policy", "scenario", "instance"}
"""Options of which not all words that complete them are tried: some take long."""
_PATHS = (
    "out.json", "out.csv", "out.jsonl", "out.svg", ".", "", "-", "missing/x.json", "/dev/null", "/dev/full", "bag.json",
    "out", "out\x1b[2J.json", "out[/bold].json", "out\u202e.json",
)  # fmt: skip


@cache
def commands() -> Any:
    """The commands, put together once."""
    return get_command(make_app())


def use_commands(case: Case) -> None:
    """Commands of small problems, with options of any kind and files of any content."""
    rng = case.rng
    name = rng.choice(names_of_commands())
    words = [*name.split(), *_arguments(case, name)]
    command = commands()
    for part in name.split():
        command = command.commands[part]
    options = [one for one in command.params if one.param_type_name == "option" and one.name not in _LEFT_OUT]
    for option in rng.sample(options, min(rng.choice((0, 0, 0, 1, 1, 2, 4)), len(options))):
        words.append(rng.choice(option.opts))
        if not option.is_flag:
            words.append(_value(rng, option))
    if rng.random() < 0.05:
        words.insert(rng.randrange(1, len(words) + 1), rng.choice(_TEXTS))
    case.words = words
    code, out, err = run(words)
    assert code in (0, 1, 2), f"exit code {code}"
    for text in (out, err):
        judge_refusal(SpotbagError(text[:50_000]))
        assert SpotbagError(text).args[0] == str(SpotbagError(text)), "printed as it is"
    assert "Traceback" not in err
    if code == 2:
        assert err, words
        raise InputError("command", [])
    if "--json" in words and "instance" not in words[0] and "--list" not in words and "--write" not in words:
        json.loads(out)


_TOO_LONG = ("pareto", "bench", "serve")
"""Commands that take long, or read what is no argument."""


@cache
def names_of_commands() -> tuple[str, ...]:
    """Names of all commands but some, in words."""

    def leaves(command: Any, name: tuple[str, ...] = ()) -> Iterator[str]:
        for word, part in getattr(command, "commands", {}).items():
            if hasattr(part, "commands"):
                yield from leaves(part, (*name, word))
            elif (*name, word)[0] not in _TOO_LONG:
                known.update(option.name for option in part.params)
                yield " ".join((*name, word))

    known: set[str] = {"plots", "optimum_s"}
    found = tuple(leaves(commands()))
    named = {*_LEFT_OUT, *_COUNTED, *_READ, *_USUAL} - {"points", "numbers"}  # of commands that take too long
    assert named <= known, f"no option of any command: {named - known}"
    return found


EXPERIMENT_ROWS = [
    {"instance": "tiny/boot", "method": "greedy", "seed": 0, "status": "feasible", "objective": 0.7, "bound": 0.65}
    | {"cost_usd": 0.06, "makespan_s": 80, "runtime_s": 0.003, "reason": "", "version": "0.1.0", "machine": "mine"},
    {"instance": "some/tasks=50/seed=0", "method": "lpt", "status": "no-plan", "reason": "too small"},
    {"instance": "tiny/boot", "policy": "hads", "deadline_s": 100, "cost_usd": [0.1, None], "makespan_s": [90, None]},
]


def _arguments(case: Case, name: str) -> list[str]:
    """Words that a command needs."""
    rng = case.rng

    def bag() -> str:
        if rng.random() < 0.3:
            return rng.choice(("tiny/boot", "tiny/two-cores", "tiny/credits", *_TEXTS))
        path = case.document("bag.json", instances()) if rng.random() < 0.5 else _plain(case, "bag.json", instances())
        with contextlib.suppress(SpotbagError):
            if Instance.read(path).n_tasks > SMALL:
                return _plain(case, "bag.json", instances())
        return path

    def plan() -> str:
        plans = [document for _, document in planned()]
        return case.document("plan.json", plans) if rng.random() < 0.5 else _plain(case, "plan.json", plans)

    if name == "solve":
        return [bag(), "-m", rng.choice(("greedy", "lpt"))]
    if name == "replan":
        instance, running, documents = rng.choice(states())
        start = ["--start", case.document("plan.json", [running])] if rng.random() < 0.5 else []
        bag_path = case.write("bag.json", instance.to_text().encode())
        return [bag_path, case.document("state.json", documents), *start]
    if name in ("check", "show"):
        words = [bag(), plan()] if name == "check" else [rng.choice((bag, plan))()]
        if rng.random() < 0.3:
            instance, _, documents = rng.choice(states())
            words[0] = case.write("bag.json", instance.to_text().encode())
            words += ["--state", case.document("state.json", documents)]
        return words
    if name == "export":
        shutil.rmtree(case.folder / "run", ignore_errors=True)
        with_commands = [
            document | {"tasks": [task | {"command": f"echo {task['id']}"} for task in document["tasks"]]}
            for _, document in planned()
        ]
        return [
            rng.choice((plan, lambda: case.document("plan.json", with_commands)))(),
            *("--out", str(case.folder / "run"), "--to", rng.choice(("shell", "skypilot", "x"))),
        ]
    if name == "import-log":
        instance, document = planned()[4]
        bag_path = case.write("bag.json", instance.to_text().encode())
        plan_path = case.write("plan.json", json.dumps(document).encode())
        return [bag_path, rng.choice((plan_path, plan_path, plan())), case.write("log.jsonl", _damaged_log(case))]
    if name == "bound":
        return [bag()]
    if name == "compare":
        return [bag(), "-m", "greedy", "--time-limit", "0.1"]
    if name == "replay":
        days = ["-s", case.document("day.json", DAYS)] if rng.random() < 0.3 else []
        return [bag(), "-m", "greedy", "--runs", "1", *days]
    if name == "audit":
        return [_damaged_lines(case, "trace.jsonl", rng.choice(traces()["bags"]))]
    if name == "experiment run":
        spec = 'instances = ["tiny/boot"]\nmethods = ["lpt", "greedy"]\ndescription = "some"\n'
        return [case.write("mine.toml", _damaged(case, spec)), "--out", str(case.folder / "made")]
    if name in ("experiment results", "experiment compare", "experiment judge"):
        case.document("experiment.json", [{"format": "spotbag.experiment/1", "spec": {"description": "some"}}])
        _damaged_lines(case, "rows.jsonl", EXPERIMENT_ROWS)
        return [str(case.folder)] * (2 if name == "experiment compare" else 1)
    if name == "experiment show":
        return [rng.choice(("gaps", "scale", *_TEXTS))]
    if name == "report":
        of = rng.choice(("plan", "trace", "experiment"))
        what = plan() if of == "plan" else _damaged_lines(case, "trace.jsonl", rng.choice(traces()["bags"]))
        if of == "experiment":
            what = str(case.folder)
            case.document("experiment.json", [{"format": "spotbag.experiment/1", "spec": {"description": "some"}}])
            _damaged_lines(case, "rows.jsonl", EXPERIMENT_ROWS)
        return [what, "--out", str(case.folder / "report.html")]
    if name in ("stream", "size"):
        path = case.document("stream.json", streams()) if rng.random() < 0.5 else _plain(case, "stream.json", streams())
        with contextlib.suppress(SpotbagError):
            stream = Stream.read(path)
            if stream.n_tasks > SMALL or max(job.deadline_s for job in stream.jobs) > 10_000:
                path = _plain(case, "stream.json", streams())
        return [path, "--once"] if name == "stream" else [path, "-m", "dynamic-programme"]
    if name == "platform":
        path = (
            case.document("platform.json", platforms())
            if rng.random() < 0.5
            else _plain(case, "platform.json", platforms())
        )
        with contextlib.suppress(SpotbagError):
            if sum(job.size_processor_minutes for job in Platform.read(path).jobs) > 10_000:
                path = _plain(case, "platform.json", platforms())
        return [path, "--once"]
    if name == "warm-up":
        return [rng.choice(("replan", *_TEXTS))]
    if name == "schema":
        return [rng.choice(("solve", "error", *_TEXTS))]
    if name == "instance scenario":
        return [rng.choice(("hads/sc1", "vms/calm", "quiet", *_TEXTS))]
    if name in ("instance import stream", "instance import platform"):
        return [case.write("arrivals.csv", _damaged(case, "arrival_s,runtime_s,within_s\n0,60,600\n5,90,600\n"))]
    if name == "instance generate":
        return ["--tasks", rng.choice(("1", "5", "20", "0", "-1", "nan", "10000001"))]
    if name.startswith("instance import ") and name != "instance import hads":
        file = rng.choice([file for file in _TABLES if file.endswith(name[-3:])] or [*_TABLES])
        path = case.write(file, _damaged(case, _TABLES[file]))
        return [path, "--types", "c6i.large", "--memory", "1GB", "--deadline", "2h"]
    if name == "instance prices":
        history = case.document("history.json", price_files()["history.json"])
        return ["--spot-history", history, "--out", str(case.folder / "prices.json")]
    if name == "instance import hads":
        jobs, environments, _ = authors_files()
        job = case.document("job.json", jobs) if rng.random() < 0.5 else _plain(case, "job.json", jobs)
        return ["--job", job, "--env", _plain(case, "env.json", environments), "--deadline", "3600"]
    if name == "instance export":
        return [bag(), "--job", str(case.folder / "j.json"), "--env", str(case.folder / "e.json")]
    return []


def _damaged_lines(case: Case, name: str, written: list[dict[str, Any]]) -> str:
    """Write JSON lines, one of them damaged; return the path."""
    lines = [json.dumps(record) for record in written]
    place = case.rng.randrange(len(lines))
    lines[place] = Mutator(case.rng, _keys_of(written)).text(written[place])
    return case.write(name, "\n".join([*lines, ""]).encode("utf-8", "surrogatepass"))


def _plain(case: Case, name: str, documents: list[dict[str, Any]]) -> str:
    return case.write(name, json.dumps(case.rng.choice(documents)).encode())


def _value(rng: random.Random, option: Any) -> str:
    """Choose a value of an option, by what the command says of it."""
    about = option.type_descriptor
    kind, completes = str(about.annotation), about.parameter_info.autocompletion
    if option.name in _COUNTED:
        return rng.choice(_FEW)
    if option.metavar in ("FILE", "FOLDER", "PLAN", "STATE"):
        return rng.choice([path for path in _PATHS if option.name not in _READ or not path.startswith("/dev")])
    if option.metavar == "TIME":
        return rng.choice(_DURATIONS)
    if "int" in kind:
        return rng.choice(_INTEGERS)
    if "float" in kind:
        return rng.choice(_FLOATS)
    words = [*_USUAL.get(option.name, ()), *getattr(about.annotation, "_value2member_map_", ())]
    words += [] if completes is None or option.name in _SLOW else completes("")[:20]
    return rng.choice([*words, *words, *rng.sample(_TEXTS, 2)])


def run(words: list[str]) -> tuple[int, str, str]:
    """Run a command in this process; return its exit code and what it prints."""
    out, err = io.StringIO(), io.StringIO()
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(b'{"format": "spotbag.instance/1"}'))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
    finally:
        sys.stdin = before
    return code, out.getvalue(), err.getvalue()


@cache
def prepare() -> None:
    """Make what inputs are made of, and have everything loaded and compiled: no input is to be blamed for that."""
    for make in (
        instances,
        streams,
        platforms,
        planned,
        bests,
        authors_files,
        price_files,
        traces,
        states,
        log_lines,
        commands,
    ):
        make()
    spotbag.warm_up()
    for instance, _ in planned():
        for method in METHODS:
            with contextlib.suppress(SpotbagError):
                solve(instance, method, time_limit_s=0.05)
    for words in (
        ["--help"],
        ["solve", "tiny/boot", "--x"],
        ["platform", "tiny/hybrid", "--once"],
        ["bound", "tiny/boot"],
    ):
        run(words)


def _of(system: str) -> Callable[[Case], None]:
    return lambda case: read_traces(case, system)


TARGETS: dict[str, tuple[Callable[[Case], None], float]] = {
    "instance": (read_instances, 0.16),
    "stream": (read_streams, 0.12),
    "platform": (read_platforms, 0.12),
    "plan": (read_plans, 0.10),
    "state": (read_states, 0.05),
    "log of a plan": (read_execution_logs, 0.03),
    "day": (read_days, 0.08),
    "trace of a bag": (_of("bags"), 0.05),
    "trace of a stream": (_of("streams"), 0.04),
    "trace of a platform": (_of("platforms"), 0.04),
    "run times": (read_run_times, 0.05),
    "best known": (read_best_known, 0.04),
    "import": (read_imports, 0.05),
    "catalogue": (read_catalogues, 0.01),
    **{name: (read, 0.03) for name, read in FOREIGN.items()},
    "options": (use_options, 0.02),
    "command": (use_commands, 0.02),
}
"""What is fuzzed, by its name, and the share of the inputs that it gets."""
