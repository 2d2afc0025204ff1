"""What two commits are compared on: made once, and written, so that both read the same."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

import spotbag
from spotbag.cli import main
from spotbag.core.errors import SpotbagError
from spotbag.heuristics.bags.d_spot import with_d_spot
from spotbag.instances.bags.timeline import event_documents
from spotbag.instances.clouds import CLOUDS, Cloud
from tests.comparison.commands import examples, write_files
from tests.helpers.random_days import random_cloud, random_cloud_day, random_day, random_plan
from tests.helpers.random_instances import instance_documents
from tests.helpers.random_platforms import crowded_platform
from tests.helpers.random_streams import random_stream

Entry: TypeAlias = dict[str, Any]

_DAYS_OF_A_PLAN = 10
_DRAWN_AT_ONCE = 50
_GOALS = "balanced", "cheapest", "fastest"
_BAGS = "burst-hads/ED200", "hads/J60", "memory-bound/60", "bursting/60"
_SCENARIOS = "hads/sc2", "hads/sc4", "burst-hads/sc5", "vms/busy", "vms/stormy", "vms/shocks", "vms/bathtub", "quiet"
_PAPERS = {"hads": "", "burst-hads": "", "thai": "", "a2ha": "", "caron": "--number 20 --number 100"}


def _document(cloud: Cloud) -> dict[str, Any]:
    """Fields of a cloud; of its bill, what older commits do not know only where it is something."""
    document = dataclasses.asdict(cloud)
    for name in ("boot_s", "fixed_usd"):
        if not document["billing"][name]:
            del document["billing"][name]
    return document


def days(size: int) -> Iterator[Entry]:
    """Random days of random plans, so many in all: all that there is, on all clouds, also on ones that nobody has."""
    return itertools.islice(_days(), -(-size // _DAYS_OF_A_PLAN))


def traces(size: int) -> Iterator[Entry]:
    """The first days of so many plans."""
    return itertools.islice(_days(), size)


def _days() -> Iterator[Entry]:
    policies = _policies("replay")
    number = 0
    for block in itertools.count():
        for document in drawn(instance_documents(max_tasks=14, restricted=False), _DRAWN_AT_ONCE, block):
            rng = np.random.default_rng((block, number))
            schedule = _plan(document, number, rng)
            if schedule is None:
                continue
            clouds = [*CLOUDS.values(), random_cloud(rng), random_cloud(rng)]
            draws = [random_day if rng.random() < 0.2 else random_cloud_day for _ in range(_DAYS_OF_A_PLAN)]
            events = [event_documents(draw(schedule.instance, rng)) for draw in draws]
            common = {"number": number, "cloud": _document(clouds[number % len(clouds)])}
            yield common | _of_schedule(schedule) | {"days": events, "policies": policies}
            number += 1


def _plan(document: Entry, number: int, rng: np.random.Generator) -> spotbag.Schedule | None:
    """A plan: in turns at random, at random where memory never binds, one that survives something, of one long job."""
    kind = number % 5
    if kind == 1:
        document = document | {"tasks": [task | {"memory_mb": 0.001} for task in document["tasks"]]}
    if kind == 4:
        document = _long_job(document)
    try:
        if kind in (2, 3):
            found = spotbag.solve(spotbag.Instance.from_document(document, "random"), "greedy").schedule
            if found is not None:
                return found
        return random_plan(with_d_spot(spotbag.Instance.from_document(document, "random")), rng)
    except SpotbagError:
        return None


def _long_job(document: Entry) -> Entry:
    """One task of hours on one VM type, as policies of one long job want it."""
    vm_type = {key: value for key, value in document["vm_types"][0].items() if key != "burstable"}
    [offer, *_] = vm_type["offers"].values()
    dearer = offer | {"price_usd_per_hour": 3 * offer["price_usd_per_hour"]}
    checkpoint = {"overhead_fraction": 0.1, "dump_base_s": 3.3, "dump_s_per_mb": 0.001}
    return document | {
        "deadline_s": 60 * document["deadline_s"],
        "d_spot_s": 60 * document["deadline_s"],
        "checkpoint": document.get("checkpoint", checkpoint),
        "vm_types": [vm_type | {"offers": {"spot": offer, "on-demand": dearer}}],
        "tasks": [{"id": "long", "memory_mb": 100, "base_runtime_s": 3600}],
    }


def _of_schedule(schedule: spotbag.Schedule) -> Entry:
    names = "vm_offer", "task_vm", "task_core", "task_start_s", "task_baseline"
    columns = {name: getattr(schedule, name).tolist() for name in names}
    return {"instance": schedule.instance.to_document(), "schedule": columns | {"vm_ids": list(schedule.vm_ids)}}


def scenarios(size: int) -> Iterator[Entry]:
    """Bags of the library on so many days of each scenario, and on each cloud in its turn."""
    clouds = itertools.cycle(CLOUDS.values())
    for bag in _BAGS:
        schedule = spotbag.solve(spotbag.library_instance(bag), "greedy").schedule
        assert schedule is not None
        for scenario in _SCENARIOS:
            common = {"bag": bag, "scenario": scenario, "cloud": _document(next(clouds)), "runs": size}
            yield common | _of_schedule(schedule) | {"policies": _policies("replay")}


def streams(size: int) -> Iterator[Entry]:
    """Random streams of jobs."""
    for number in range(size):
        stream = random_stream(np.random.default_rng(number))
        policies = [name for name in _policies("stream") if name != "TYPE.N"]
        fleets = [f"{vm_type.name}.2" for vm_type in stream.vm_types]
        yield {"number": number, "stream": stream.to_document(), "policies": policies + fleets}


def platforms(size: int) -> Iterator[Entry]:
    """Random platforms on which jobs get into each other's way."""
    for number in range(size):
        platform = crowded_platform(np.random.default_rng(number))
        yield {"number": number, "platform": platform.to_document(), "policies": _policies("platform")}


def commands(size: int) -> Iterator[Entry]:
    """All examples of all commands, whatever the size."""
    folder = Path("files").absolute()
    folder.mkdir()
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        write_files()
    return ({"words": words, "files": str(folder)} for words in examples())


def papers(size: int) -> Iterator[Entry]:
    """All papers with so many runs of each cell."""
    for name, words in _PAPERS.items():
        yield {"paper": name, "runs": size, "words": words.split()}


def plans(size: int) -> Iterator[Entry]:
    """The smallest instances of the library by all methods, and for all goals."""
    library = sorted(map(spotbag.library_instance, spotbag.library_names()), key=lambda instance: instance.n_tasks)
    for instance in library[:size]:
        for method, about in _printed("methods")["methods"].items():
            for goal in _GOALS:
                common = {"method": method, "exact": about["exact"], "goal": goal}
                yield common | {"instance": instance.to_document()}


class Part(NamedTuple):
    """A part: what makes its inputs, a size that takes a minute, and one that is worth a night."""

    inputs: Callable[[int], Iterator[Entry]]
    sample: int
    whole: int


PARTS = {
    "days": Part(days, 200, 20_000),
    "scenarios": Part(scenarios, 2, 500),
    "streams": Part(streams, 50, 2_000),
    "platforms": Part(platforms, 50, 2_000),
    "traces": Part(traces, 20, 300),
    "commands": Part(commands, 1, 1),
    "papers": Part(papers, 2, 50),
    "pages": Part(papers, 2, 20),
    "plans": Part(plans, 8, 100),
}
"""By name; sizes are numbers of days, days of a scenario, streams, platforms, days, runs of a cell (twice), and
instances. The pages, with all their other assumptions, take minutes even so."""


def drawn(strategy: SearchStrategy[Any], how_many: int, number: int) -> list[Any]:
    """So many values of a strategy, always the same for a number."""
    found: list[Any] = []

    @seed(number)
    @settings(
        max_examples=how_many,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found


def _policies(command: str) -> list[str]:
    """The policies of a command, each as it is, and with each of its rules."""
    known = [row for row in _printed("policies")["policies"] if row["command"] == command]
    return [name for row in known for name in (row["name"], *(f"{row['name']}+{rule}" for rule in row["rules"]))]


def _printed(command: str) -> Any:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        main([command, "--json"])
    return json.loads(printed.getvalue())
