"""Forged traces, by class, and what each is answered.

Honest traces of all systems are changed at random, written, read and audited: as they are, with the totals made to fit
where nothing else is found, and at last against what should have been replayed. ``python -m tests.helpers.forgeries
2000`` prints what so many of each class were answered.
"""

from __future__ import annotations

import json
import math
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np

from spotbag.audits.auditor import audit
from spotbag.audits.findings import AuditReport
from spotbag.audits.given import Given
from spotbag.cli.console import print_table
from spotbag.core.errors import InputError
from spotbag.core.text_tables import Column, Table
from spotbag.instances.instance import Instance
from spotbag.instances.platforms.job_draws import JobSet
from spotbag.instances.platforms.platform_files import library_platform
from spotbag.replay.bags.runs import trace_day
from spotbag.replay.platforms.runs import replay_platform_once
from spotbag.replay.streams.runs import replay_stream_once
from spotbag.traces.bags.records import BAG_EVENT_RECORDS
from spotbag.traces.files import parse_traces, trace_lines
from spotbag.traces.trace import Trace, document_sha256
from tests.helpers.hand_made_traces import ALL as HAND_MADE
from tests.helpers.random_days import Anything as AnythingOfBags
from tests.helpers.random_days import random_cloud, random_cloud_day, random_day, random_plan
from tests.helpers.random_platforms import crowded_platform
from tests.helpers.random_streams import Anything, random_stream

Lines: TypeAlias = list[dict[str, Any]]
"""The records of a trace with one replay: header, run, events, end."""
Forge: TypeAlias = Callable[[Lines, random.Random], bool]
"""Changes a trace in place; False if it has nothing of the kind."""

BAGS, STREAMS, PLATFORMS = "bags", "streams", "platforms"
CLOUDS = "bags on days of today's clouds"
SYSTEMS = (BAGS, STREAMS, PLATFORMS)


# ---------------------------------------------------------------- honest traces


@dataclass(frozen=True)
class Honest:
    """A trace as it was replayed, of which system, what was replayed, and its lines."""

    system: str
    given: Given | None
    lines: tuple[str, ...]


def random_bag(rng: np.random.Generator, number: int) -> Instance:
    """A bag with binding memory, checkpoints, burstable VMs, and boots, that hibernations hurt; some with dates."""

    def vm_type(name: str, vcpus: int, spot: bool = True) -> dict[str, Any]:
        offers: dict[str, Any] = {"on-demand": {"price_usd_per_hour": 0.1 * vcpus, "limit": 4}}
        if spot:
            offers["spot"] = {"price_usd_per_hour": 0.031 * vcpus, "limit": 3}
        memory_mb = int(rng.choice([1024, 2048]))
        return {"name": name, "vcpus": vcpus, "memory_mb": memory_mb, "offers": offers, "speed": 1.0 + vcpus / 10}

    credits = {"baseline_fraction": 0.3, "credits_per_hour": 24, "initial_credits": float(rng.choice([0, 5]))}
    types = [vm_type("a", 1), vm_type("b", 2), vm_type("c", 4), vm_type("t", 2, False) | {"burstable": credits}]
    tasks = [
        {
            "id": f"t{place}",
            "memory_mb": float(rng.choice([10, 300.5, 700, 1000])),
            "base_runtime_s": int(rng.integers(20, 300)),
        }
        for place in range(int(rng.integers(4, 13)))
    ]
    deadline_s = int(rng.integers(800, 1400))
    dates = rng.spawn(1)[0]
    for task in tasks if number % 3 == 1 else ():
        ready_s = int(dates.integers(0, 300))
        own = {"ready_s": ready_s, "deadline_s": int(dates.integers(ready_s + 400, deadline_s)), "weight": 2.5}
        task |= {name: value for name, value in own.items() if dates.random() < 0.7}
    document = {
        "format": "spotbag.instance/1",
        "name": f"bag {number}",
        "deadline_s": deadline_s,
        "d_spot_s": 700,
        "boot_overhead_s": int(rng.choice([0, 10])),
        "migration_overhead_s": int(rng.choice([0, 30])),
        "allocation_cycle_s": 200,
        "checkpoint": {"overhead_fraction": 0.1, "dump_base_s": 2, "dump_s_per_mb": 0.005},
        "vm_types": types,
        "tasks": tasks,
    }
    return Instance.from_document(document, "bag")


def _bags(how_many: int) -> Iterator[tuple[Trace, Given | None]]:
    policies = ("hads", "burst-hads", "static", "hads+spare-time-spot+trigger-once+idle-60", "on-demand")
    for make in HAND_MADE:
        trace = make()
        yield trace, Instance.from_document(trace.instance, "by hand")
    number = 0
    while number < how_many:
        rng = np.random.default_rng(number)
        plan = random_plan(random_bag(rng, number), rng)
        assert plan is not None
        yield trace_day(plan, policies[number % len(policies)], random_day(plan.instance, rng))[1], plan.instance
        number += 1


def _clouds(how_many: int) -> Iterator[tuple[Trace, Given | None]]:
    for number in range(how_many):
        rng = np.random.default_rng(number)
        plan = random_plan(random_bag(rng, number), rng)
        assert plan is not None
        policy = (AnythingOfBags(number, preempts=True), "hads", "burst-hads", "static")[number % 4]
        day, cloud = random_cloud_day(plan.instance, rng), random_cloud(rng)
        yield trace_day(plan, policy, day, cloud=cloud)[1], plan.instance


def _streams(how_many: int) -> Iterator[tuple[Trace, Given | None]]:
    for number in range(how_many):
        stream = random_stream(np.random.default_rng(number))
        policy: Any = ("known", "unknown", "unknown-learning", Anything)[number % 4]
        yield replay_stream_once(stream, policy, seed=number)[1], stream


def _platforms(how_many: int) -> Iterator[tuple[Trace, Given | None]]:
    policies = ("money-saving", "least-delay+patient", "round-robin", "time-saving+deadline+exact", "least-overspend")
    for number in range(how_many):
        policy = policies[number % len(policies)]
        if number % 3:
            platform = crowded_platform(np.random.default_rng(number))
            yield replay_platform_once(platform, policy, seed=number)[1], platform
        else:
            platform, jobs = library_platform("caron/hybrid"), JobSet("mixed", 8)
            yield replay_platform_once(platform, policy, job_set=jobs, seed=number)[1], platform


@cache
def honest(system: str, how_many: int = 60) -> tuple[Honest, ...]:
    """Honest traces of a system."""
    make = {BAGS: _bags, CLOUDS: _clouds, STREAMS: _streams, PLATFORMS: _platforms}[system]
    return tuple(Honest(system, given, tuple(trace_lines([trace]))) for trace, given in make(how_many))


# --------------------------------------------------------------------- forging


def _events(lines: Lines) -> Lines:
    return lines[2:-1]


def _place(lines: Lines, rng: random.Random) -> int:
    """The place of an event."""
    return rng.randrange(2, len(lines) - 1)


def _other(value: Any, rng: random.Random, pool: Iterable[Any] = ()) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return max(value + rng.choice([-60, -7, -1, 1, 2, 60]), 0) if value else rng.choice([1, 30])
    if isinstance(value, float):
        return rng.choice([value * 1.01 + 1e-3, value * 0.9, value + 0.001])
    if value is None:
        return 1
    if isinstance(value, list):
        return value[:-1] if value and rng.random() < 0.5 else [*value, rng.choice(sorted(pool) or ["none"])]
    return rng.choice(sorted({*pool, "none"} - {value}))


def _pool(lines: Lines, key: str) -> set[str]:
    """Texts that stand under a key, or under one of the same meaning."""
    alike = {"vm", "from", "to"} if key in ("vm", "from", "to") else {key}
    if key in ("displaced", "job"):
        alike = {"job"}
    if key == "vms":
        alike = {"vm"}
    fixed = {
        "market": {"spot", "on-demand"},
        "mode": {"burst", "baseline"},
        "kind": {"idle", "busy", "new"},
        "event": {"hibernate", "resume"},
    }
    return fixed.get(key) or {entry[name] for entry in _events(lines) for name in alike if name in entry}


def dropped(lines: Lines, rng: random.Random) -> bool:
    del lines[_place(lines, rng)]
    return True


def dropped_of(*kinds: str) -> Forge:
    def forge(lines: Lines, rng: random.Random) -> bool:
        places = [place for place, entry in enumerate(lines) if entry.get("event") in kinds]
        if places:
            del lines[rng.choice(places)]
        return bool(places)

    return forge


def twice(lines: Lines, rng: random.Random) -> bool:
    place = _place(lines, rng)
    lines.insert(place, dict(lines[place]))
    return True


def repeated(lines: Lines, rng: random.Random) -> bool:
    place, later = _place(lines, rng), _place(lines, rng)
    lines.insert(later, lines[place] | {"t": lines[later]["t"]})
    return True


def moved_in_time(lines: Lines, rng: random.Random) -> bool:
    entry = lines[_place(lines, rng)]
    entry["t"] = _other(entry["t"], rng)
    return True


def moved_in_time_and_place(lines: Lines, rng: random.Random) -> bool:
    moved_in_time(lines, rng)
    lines[2:-1] = sorted(_events(lines), key=lambda entry: entry["t"])
    return True


def later_from_somewhere(lines: Lines, rng: random.Random) -> bool:
    place, later_s = _place(lines, rng), rng.choice([1, 10, 100])
    for entry in lines[place:]:
        entry["t"] += later_s
    if lines[-1].get("makespan_s") is not None:
        lines[-1]["makespan_s"] += later_s
    return True


def neighbours_swapped(lines: Lines, rng: random.Random) -> bool:
    place = _place(lines, rng)
    if place + 1 >= len(lines) - 1:
        return False
    lines[place : place + 2] = [lines[place + 1], lines[place]]
    return True


def two_swapped(lines: Lines, rng: random.Random) -> bool:
    one, other = _place(lines, rng), _place(lines, rng)
    lines[one], lines[other] = lines[other], lines[one]
    return True


def moment_shuffled(lines: Lines, rng: random.Random) -> bool:
    times = Counter(entry["t"] for entry in _events(lines))
    shared = [time_s for time_s, count in times.items() if count > 1]
    if not shared:
        return False
    time_s = rng.choice(shared)
    places = [place for place in range(2, len(lines) - 1) if lines[place]["t"] == time_s]
    entries = [lines[place] for place in places]
    rng.shuffle(entries)
    for place, entry in zip(places, entries, strict=True):
        lines[place] = entry
    return True


def changed(key: str, *kinds: str) -> Forge:
    """Another value of a field of an event, maybe only of some kinds."""

    def forge(lines: Lines, rng: random.Random) -> bool:
        entries = [entry for entry in _events(lines) if key in entry and (not kinds or entry["event"] in kinds)]
        if entries:
            entry = rng.choice(entries)
            entry[key] = _other(entry[key], rng, _pool(lines, key))
        return bool(entries)

    return forge


def vm_vanished(lines: Lines, rng: random.Random) -> bool:
    """A VM is on no record, so that nobody pays for it."""
    names = sorted(_pool(lines, "vm"))
    if not names:
        return False
    name = rng.choice(names)
    lines[2:-1] = [
        entry
        for entry in _events(lines)
        if name not in (entry.get("vm"), entry.get("from"), entry.get("to"), *(entry.get("vms") or ()))
    ]
    return True


def vm_renamed(lines: Lines, rng: random.Random) -> bool:
    names = sorted(_pool(lines, "vm"))
    if not names:
        return False
    name = rng.choice(names)
    for entry in _events(lines):
        for key in ("vm", "from", "to"):
            if entry.get(key) == name:
                entry[key] = "renamed"
        if "vms" in entry:
            entry["vms"] = ["renamed" if other == name else other for other in entry["vms"]]
    return True


def ended_early(lines: Lines, rng: random.Random) -> bool:
    """A VM is terminated before its time, which makes it cheaper."""
    places = [place for place, entry in enumerate(lines) if entry.get("event") == "terminate"]
    if not places:
        return False
    entry = lines[rng.choice(places)]
    own = [other["t"] for other in _events(lines) if other.get("vm") == entry["vm"] and other is not entry]
    entry["t"] = max(own, default=0)
    lines[2:-1] = sorted(_events(lines), key=lambda other: other["t"])
    return True


def task_vanished(lines: Lines, rng: random.Random) -> bool:
    """A task or job is on no record, and unfinished where that can be said."""
    key = "task" if "unfinished" in lines[-1] else "job"
    names = sorted(_pool(lines, key))
    if not names:
        return False
    name, end = rng.choice(names), lines[-1]
    lines[2:-1] = [entry for entry in _events(lines) if entry.get(key) != name]
    if "unfinished" in end and name not in end["unfinished"]:
        end.update({"unfinished": [*end["unfinished"], name], "finished": end["finished"] - 1, "makespan_s": None})
    return True


def tasks_exchanged(lines: Lines, rng: random.Random) -> bool:
    """Two tasks or jobs change their names in all events."""
    key = "task" if "unfinished" in lines[-1] else "job"
    names = sorted(_pool(lines, key))
    if len(names) < 2:
        return False
    one, other = rng.sample(names, 2)
    for entry in _events(lines):
        entry[key] = {one: other, other: one}.get(entry.get(key, ""), entry.get(key))
        if entry[key] is None:
            del entry[key]
    return True


def cut_short(lines: Lines, rng: random.Random) -> bool:
    """A replay ends somewhere in the middle."""
    place, end = _place(lines, rng), lines[-1]
    removed = lines[place:-1]
    del lines[place:-1]
    end["t"] = lines[-2]["t"] if place > 2 else 0
    lost = [entry["task"] for entry in removed if entry["event"] == "finish" and "task" in entry]
    if "unfinished" in end and lost:
        end.update({"makespan_s": None, "finished": end["finished"] - len(lost)})
        end["unfinished"] = [*end["unfinished"], *lost]
    return True


def emptied(lines: Lines, rng: random.Random) -> bool:
    """Nothing happens, and all tasks are unfinished."""
    end = lines[-1]
    lost = [entry["task"] for entry in _events(lines) if entry["event"] == "finish" and "task" in entry]
    del lines[2:-1]
    for key, value in end.items():
        if isinstance(value, int | float):
            end[key] = 0
        elif isinstance(value, dict):
            end[key] = dict.fromkeys(value, 0)
    if "unfinished" in end:
        end.update({"makespan_s": None, "unfinished": [*end["unfinished"], *lost]})
    return True


def figure(lines: Lines, rng: random.Random) -> bool:
    """A figure of the end."""
    end = lines[-1]
    key = rng.choice([key for key in end if key != "record"])
    if isinstance(end[key], dict):
        kinds = sorted(end[key])
        if not kinds:
            return False
        kind = rng.choice(kinds)
        end[key][kind] = _other(end[key][kind], rng)
    else:
        end[key] = _other(end[key], rng, _pool(lines, "task") if key == "unfinished" else ())
    return True


def cheaper(lines: Lines, rng: random.Random) -> bool:
    key = "cost_usd" if "cost_usd" in lines[-1] else "cost"
    lines[-1][key] *= rng.choice([0.5, 0.9, 0.999])
    return True


def resume_first(lines: Lines, rng: random.Random) -> bool:
    """A VM resumes before it hibernates."""
    pairs = [
        (place, later)
        for place, entry in enumerate(lines)
        if entry.get("event") == "hibernate"
        for later in range(place, len(lines) - 1)
        if lines[later].get("event") == "resume" and lines[later]["vm"] == entry["vm"]
    ]
    if not pairs:
        return False
    place, later = rng.choice(pairs)
    lines[place]["event"], lines[later]["event"] = "resume", "hibernate"
    return True


# What happens in the second of a decision


def two_dropped(lines: Lines, rng: random.Random) -> bool:
    return dropped(lines, rng) and dropped(lines, rng)


def _struck(lines: Lines, vm: str, t: int, rng: random.Random) -> bool:
    """Strike a VM, by its number among the spot VMs of its type."""
    launch = next(entry for entry in _events(lines) if entry["event"] == "launch" and entry["vm"] == vm)
    of_type = [
        entry["vm"]
        for entry in _events(lines)
        if (entry["event"], entry.get("type"), entry.get("market")) == ("launch", launch["type"], "spot")
    ]
    if launch["market"] != "spot" or not lines[1]["hibernation"]:
        return False
    kind = rng.choice(["hibernate", "stop", "terminate"])
    moment = {"time_s": t, "type": launch["type"], "event": kind, "vm": of_type.index(vm) + 1}
    _day(lines).append(moment | ({"notice_s": 30} if rng.random() < 0.5 else {}))
    _day(lines).sort(key=lambda other: other["time_s"])
    return True


def struck_in_last_second(lines: Lines, rng: random.Random) -> bool:
    """A VM that is up is struck in the second in which the policy ends it."""
    state: dict[str, str] = {}
    ended = []
    for entry in _events(lines):
        if entry["event"] in ("ready", "resume", "notice", "hibernate", "stop", "restart", "reclaim"):
            state[entry["vm"]] = entry["event"]
        elif entry["event"] == "terminate" and entry["t"] < lines[-1]["t"]:
            ended += [entry] if state.get(entry["vm"]) in ("ready", "resume") else []
    if not ended:
        return False
    entry = rng.choice(ended)
    return _struck(lines, entry["vm"], entry["t"], rng)


def struck_in_first_second(lines: Lines, rng: random.Random) -> bool:
    """A VM is struck in the second in which it is up for the first time."""
    first = [entry for entry in _events(lines) if entry["event"] == "ready" and entry["t"] < lines[-1]["t"]]
    requested = {entry["vm"]: entry["t"] for entry in _events(lines) if entry["event"] == "launch"}
    first = [entry for entry in first if requested[entry["vm"]] < entry["t"]]
    if not first:
        return False
    entry = rng.choice(first)
    after = [other["event"] for other in _events(lines) if other["t"] == entry["t"] and other.get("vm") == entry["vm"]]
    return not {"hibernate", "stop", "reclaim", "notice"} & {*after} and _struck(lines, entry["vm"], entry["t"], rng)


def preempted_at_its_end(lines: Lines, rng: random.Random) -> bool:
    """A task is preempted in the second in which it ends, and ends nevertheless."""
    places = [place for place, entry in enumerate(lines[:-1]) if entry.get("event") == "finish"]
    if not places:
        return False
    place = rng.choice(places)
    entry = lines[place]
    fields = {key: entry[key] for key in ("record", "t", "vm", "core", "task")}
    lines.insert(place, fields | {"event": "preempt", "checkpoint": False, "until_s": entry["t"]})
    lines[-1]["preemptions"] = lines[-1].get("preemptions", 0) + 1
    return True


def planned_in_another_order(lines: Lines, rng: random.Random) -> bool:
    """Two VMs of the plan are requested in the other order."""
    names = [vm["vm"] for vm in lines[1]["plan"]]
    if len(names) < 2:
        return False
    one, other = rng.sample(range(2, 2 + len(names)), 2)
    lines[one], lines[other] = lines[other], lines[one]
    return True


def spot_without_hibernation(lines: Lines, rng: random.Random) -> bool:
    lines[1]["hibernation"], lines[1]["timeline"]["events"] = False, []
    return any(vm["market"] == "spot" for vm in lines[1]["plan"])


def day_field(lines: Lines, rng: random.Random) -> bool:
    """An event of the day has a field of another kind, or both a VM and a share."""
    if not _day(lines):
        return False
    moment = rng.choice(_day(lines))
    if moment["event"] in ("resume", "capacity", "price"):
        moment["share"] = 0.5
    else:
        moment |= rng.choice([{"vms": 1}, {"by": "stop"}, {"usd_per_hour": 1.0}, {"vm": 1, "share": 1.0}])
    return True


# What is given: the day, the plan, the instance


def _day(lines: Lines) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = lines[1]["timeline"]["events"]
    return events


def day_dropped(lines: Lines, rng: random.Random) -> bool:
    if not _day(lines):
        return False
    del _day(lines)[rng.randrange(len(_day(lines)))]
    return True


def day_twice(lines: Lines, rng: random.Random) -> bool:
    if not _day(lines):
        return False
    place = rng.randrange(len(_day(lines)))
    _day(lines).insert(place, dict(_day(lines)[place]))
    return True


def day_unordered(lines: Lines, rng: random.Random) -> bool:
    if len({moment["time_s"] for moment in _day(lines)}) < 2:
        return False
    while all(one["time_s"] <= other["time_s"] for one, other in zip(_day(lines), _day(lines)[1:], strict=False)):
        rng.shuffle(_day(lines))
    return True


def day_resume_first(lines: Lines, rng: random.Random) -> bool:
    names = sorted({moment["type"] for moment in _day(lines)})
    if not names:
        return False
    name = rng.choice(names)
    for moment in _day(lines):
        if moment["type"] == name:
            moment["event"] = {"hibernate": "resume", "resume": "hibernate"}[moment["event"]]
    return True


def day_changed(key: str, *values: Any) -> Forge:
    def forge(lines: Lines, rng: random.Random) -> bool:
        if not _day(lines):
            return False
        moment = rng.choice(_day(lines))
        moment[key] = _other(moment[key], rng, values)
        return True

    return forge


def day_added(lines: Lines, rng: random.Random) -> bool:
    names = sorted({entry["type"] for entry in _events(lines) if entry["event"] == "launch"})
    if not names:
        return False
    moment = {"time_s": rng.randrange(lines[-1]["t"] + 1), "type": rng.choice(names)}
    _day(lines).append(moment | {"event": rng.choice(["hibernate", "resume"])})
    _day(lines).sort(key=lambda other: other["time_s"])
    return True


def no_hibernation(lines: Lines, rng: random.Random) -> bool:
    lines[1]["hibernation"] = not lines[1]["hibernation"]
    return bool(_day(lines))


def billing(lines: Lines, rng: random.Random) -> bool:
    rules = lines[1]["billing"]
    key = rng.choice(sorted(rules))
    rules[key] = _other(rules[key], rng)
    return True


def _planned(lines: Lines, rng: random.Random) -> tuple[dict[str, Any], list[dict[str, Any]], int]:
    """A VM, one of its cores and the place of a task there."""
    places = [(vm, core, place) for vm in lines[1]["plan"] for core in vm["cores"] for place in range(len(core))]
    return rng.choice(places)


def plan_task_dropped(lines: Lines, rng: random.Random) -> bool:
    _, core, place = _planned(lines, rng)
    del core[place]
    return True


def plan_task_twice(lines: Lines, rng: random.Random) -> bool:
    _, core, place = _planned(lines, rng)
    core.append(dict(core[place]))
    return True


def plan_task_elsewhere(lines: Lines, rng: random.Random) -> bool:
    vm, core, place = _planned(lines, rng)
    others = [other for other in lines[1]["plan"] if other is not vm]
    if not others:
        return False
    rng.choice(rng.choice(others)["cores"]).append(core.pop(place))
    return True


def plan_tasks_exchanged(lines: Lines, rng: random.Random) -> bool:
    (_, one, place), (_, other, at) = _planned(lines, rng), _planned(lines, rng)
    if one[place]["task"] == other[at]["task"]:
        return False
    one[place]["task"], other[at]["task"] = other[at]["task"], one[place]["task"]
    return True


def plan_start(lines: Lines, rng: random.Random) -> bool:
    """Another start of a task that starts before anything disturbs its VM."""
    moved = {entry["from"]: entry["t"] for entry in reversed(_events(lines)) if "from" in entry}
    moved |= {entry["task"]: entry["t"] for entry in reversed(_events(lines)) if "from" in entry}
    bound = {
        entry["task"]
        for entry in _events(lines)
        if entry["event"] == "start"
        and entry["t"] < moved.get(entry["vm"], entry["t"] + 1)
        and entry["t"] < moved.get(entry["task"], entry["t"] + 1)
    }
    _, core, place = _planned(lines, rng)
    if core[place]["task"] not in bound:
        return False
    core[place]["start_s"] = _other(core[place]["start_s"], rng)
    return True


def plan_start_of_what_never_starts_there(lines: Lines, rng: random.Random) -> bool:
    """A later start of a task that is the last of its core, and moves before its turn."""
    moved = {entry["task"]: entry["from"] for entry in reversed(_events(lines)) if "from" in entry}
    started = {(entry["task"], entry["vm"]) for entry in _events(lines) if entry["event"] == "start"}
    vm, core, place = _planned(lines, rng)
    task = core[place]["task"]
    if place + 1 < len(core) or moved.get(task) != vm["vm"] or (task, vm["vm"]) in started:
        return False
    core[place]["start_s"] += 1
    return True


def plan_core(lines: Lines, rng: random.Random) -> bool:
    vm = rng.choice(lines[1]["plan"])
    if len(vm["cores"]) < 2 or vm["cores"][0] == vm["cores"][1]:
        return False
    vm["cores"][0], vm["cores"][1] = vm["cores"][1], vm["cores"][0]
    return any(entry["event"] == "start" and entry["vm"] == vm["vm"] for entry in _events(lines))


def plan_mode(lines: Lines, rng: random.Random) -> bool:
    _, core, place = _planned(lines, rng)
    core[place]["mode"] = _other(core[place].get("mode", "none"), rng, ("burst", "baseline"))
    return core[place]["mode"] != "none"


def plan_vm(key: str, *values: str) -> Forge:
    def forge(lines: Lines, rng: random.Random) -> bool:
        vm = rng.choice(lines[1]["plan"])
        vm[key] = _other(vm[key], rng, values or [other[key] for other in lines[1]["plan"]])
        return True

    return forge


def plan_vm_dropped(lines: Lines, rng: random.Random) -> bool:
    lines[1]["plan"].pop(rng.randrange(len(lines[1]["plan"])))
    return True


def plan_vm_added(lines: Lines, rng: random.Random) -> bool:
    vm = rng.choice(lines[1]["plan"])
    lines[1]["plan"].append(vm | {"vm": "added", "cores": [[] for _ in vm["cores"]]})
    return True


def _numbers(value: Any) -> Iterator[tuple[Any, Any]]:
    """Places of numbers in a document."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        if isinstance(inner, int | float) and not isinstance(inner, bool):
            yield value, key
        else:
            yield from _numbers(inner)


def document(lines: Lines, rng: random.Random) -> bool:
    """A number of what was replayed, with the right digest: a price, a run time, a limit, a memory, a deadline ..."""
    holder, key = rng.choice(list(_numbers(lines[0]["instance"])))
    holder[key] = _other(holder[key], rng)
    return True


def document_text(lines: Lines, rng: random.Random) -> bool:
    lines[0]["instance"][rng.choice(["name", "description"])] = "another"
    return True


def digest(lines: Lines, rng: random.Random) -> bool:
    """A number of what was replayed, or the digest, with that of before."""
    lines[0]["digest"] = "stale"
    if rng.random() < 0.2:
        lines[0]["sha256"] = lines[0]["sha256"][::-1]
        return True
    return document(lines, rng)


def label(*keys: str) -> Forge:
    """Another label in the run."""

    def forge(lines: Lines, rng: random.Random) -> bool:
        record = lines[1]
        for key in keys[:-1]:
            record = record[key]
        value = record[keys[-1]]
        record[keys[-1]] = value + 1 if isinstance(value, int) else "another"
        return True

    return forge


def version(lines: Lines, rng: random.Random) -> bool:
    lines[0]["spotbag"] = "99.0"
    return True


def job_set(lines: Lines, rng: random.Random) -> bool:
    drawn = lines[1]["job_set"]
    lines[1]["job_set"] = {"kind": "small", "number": 8} if drawn is None or rng.random() < 0.5 else None
    return lines[1]["job_set"] != drawn


def drawn_seed(lines: Lines, rng: random.Random) -> bool:
    lines[1]["seed"] += rng.randint(1, 9)
    return lines[1].get("job_set") is not None or "stream" in lines[1]


def own_seed(lines: Lines, rng: random.Random) -> bool:
    lines[1]["seed"] += rng.randint(1, 9)
    return lines[1]["job_set"] is None


def job(key: str) -> Forge:
    """Another value of a field of a job of a stream."""

    def forge(lines: Lines, rng: random.Random) -> bool:
        entry = rng.choice(lines[1]["jobs"])
        entry[key] = _other(entry[key], rng, ["another"])
        return True

    return forge


def jobs_exchanged(lines: Lines, rng: random.Random) -> bool:
    jobs = lines[1]["jobs"]
    if len(jobs) < 2:
        return False
    one, other = rng.sample(range(len(jobs)), 2)
    jobs[one], jobs[other] = jobs[other], jobs[one]
    return True


def rules(lines: Lines, rng: random.Random) -> bool:
    """By which rules clusters and clouds work."""
    values = {"queue": ("priority", "deadline"), "late_jobs": ("displaced", "stay"), "estimates": ("printed", "exact")}
    key = rng.choice([*values, "displaces"])
    if key == "displaces":
        lines[1][key] = not lines[1][key]
    else:
        lines[1]["rules"][key] = next(value for value in values[key] if value != lines[1]["rules"][key])
    return True


# What is no record


def extra_key(lines: Lines, rng: random.Random) -> bool:
    rng.choice(lines)["extra"] = 1
    return True


def key_missing(lines: Lines, rng: random.Random) -> bool:
    record = rng.choice(lines)
    optional = {"mode", "saved", "recovered", "late", "position", "last", "vms", "block_s", "from_request"}
    keys = [key for key in record if key not in optional and (key != "vm" or record.get("event") != "wake")]
    del record[rng.choice(keys)]
    return True


def wrong_type(lines: Lines, rng: random.Random) -> bool:
    record = rng.choice(lines)
    key = rng.choice(sorted(record))
    record[key] = {"a": 1} if isinstance(record[key], str | int | float | bool) else 7
    return True


def file_cut(lines: Lines, rng: random.Random) -> bool:
    del lines[rng.randrange(1, len(lines)) :]
    return True


def lines_exchanged(lines: Lines, rng: random.Random) -> bool:
    """Header, run or end stand elsewhere."""
    one = rng.choice([0, 1, len(lines) - 1])
    other = rng.choice([place for place in range(len(lines)) if place != one])
    lines[one], lines[other] = lines[other], lines[one]
    return True


# ------------------------------------------------------------------- the classes


@dataclass(frozen=True)
class Forgery:
    """A class of forgeries.

    Attributes
    ----------
    name : str
        What is forged.
    systems : tuple of str
        Of what.
    forge : callable
        How.
    unseen : str
        Why the auditor may see nothing, although what happens is not the same; empty if it may not.
    unseen_in : tuple of str
        In which systems it may not see it; in all of them if empty.
    unseen_first : tuple of str
        In other systems: where the first record that is another is such an event, or lacks such a key.
    """

    name: str
    systems: tuple[str, ...]
    forge: Forge
    unseen: str = ""
    unseen_in: tuple[str, ...] = ()
    unseen_first: tuple[str, ...] = ()


LABEL = "a label"
DECISION = "it could have been decided so"
OLDER = "traces of older versions have it not"
UNREACHED = "nothing comes of it"
BELIEVED = "it is believed"
NOWHERE = ("",)
WHEN_DECIDED = ("terminate", "wake")
"""An idle VM may be kept, and a policy of streams asked, for as long as a policy likes."""
KINDS = tuple(kind for kind in BAG_EVENT_RECORDS if kind not in ("stranded", "idle-limit"))

FORGERIES = (
    Forgery("an event is dropped", SYSTEMS, dropped),
    Forgery("a start is dropped", SYSTEMS, dropped_of("start")),
    Forgery("a finish is dropped", SYSTEMS, dropped_of("finish")),
    Forgery("a launch is dropped", SYSTEMS, dropped_of("launch")),
    Forgery("a terminate is dropped: a VM without a bill", SYSTEMS, dropped_of("terminate")),
    Forgery("a hibernate or resume is dropped", (BAGS,), dropped_of("hibernate", "resume")),
    *(Forgery(f"{kind} is dropped, on a cloud", (CLOUDS,), dropped_of(kind)) for kind in KINDS),
    Forgery("two events are dropped, on a cloud", (CLOUDS,), two_dropped, DECISION),
    Forgery("a VM is struck when it is terminated", (CLOUDS, BAGS), struck_in_last_second),
    Forgery("a VM is struck when it is ready", (CLOUDS, BAGS), struck_in_first_second),
    Forgery("a task is preempted when it ends", (CLOUDS, BAGS), preempted_at_its_end),
    Forgery("the plan: VMs are requested in another order", (CLOUDS,), planned_in_another_order),
    Forgery("spot VMs in the on-demand baseline", (BAGS,), spot_without_hibernation),
    Forgery("the day: a field of another kind of event", (CLOUDS,), day_field),
    Forgery("an event is given twice", SYSTEMS, twice),
    Forgery("an event is repeated elsewhere", SYSTEMS, repeated),
    Forgery("an event has another time", SYSTEMS, moved_in_time, DECISION, NOWHERE, WHEN_DECIDED),
    Forgery(
        "an event has another time and place", SYSTEMS, moved_in_time_and_place, DECISION, (STREAMS,), WHEN_DECIDED
    ),
    Forgery("all is later from some event on", SYSTEMS, later_from_somewhere, DECISION, NOWHERE, WHEN_DECIDED),
    Forgery("two neighbours are swapped", SYSTEMS, neighbours_swapped),
    Forgery("two events are swapped", SYSTEMS, two_swapped),
    Forgery("the events of a moment are shuffled", SYSTEMS, moment_shuffled),
    Forgery("another VM", SYSTEMS, changed("vm")),
    Forgery("another core", (BAGS, STREAMS), changed("core")),
    Forgery("another task", (BAGS, STREAMS), changed("task")),
    Forgery("another VM type", (BAGS, STREAMS), changed("type"), DECISION, (STREAMS,)),
    Forgery("another market", (BAGS, STREAMS), changed("market")),
    Forgery("another duration_s", (BAGS, STREAMS), changed("duration_s")),
    Forgery("another mode", (BAGS,), changed("mode")),
    Forgery("another saved", (BAGS,), changed("saved")),
    Forgery("another recovered", (BAGS,), changed("recovered")),
    Forgery("another late of a migration", (BAGS,), changed("late")),
    Forgery("another kind of a migration", (BAGS,), changed("kind")),
    Forgery("another from of a migration", (BAGS,), changed("from", "migrate")),
    Forgery("another from of a steal", (BAGS,), changed("from", "steal")),
    Forgery("another to of a migration or steal", (BAGS,), changed("to")),
    Forgery("another at_s of a trigger", (BAGS,), changed("at_s")),
    Forgery("another stolen of a steal-attempt", (BAGS,), changed("stolen")),
    Forgery("another tasks of stranded", (BAGS,), changed("tasks")),
    Forgery("another position in a queue", (STREAMS,), changed("position")),
    Forgery("another job", (STREAMS, PLATFORMS), changed("job")),
    Forgery("another resource", (PLATFORMS,), changed("resource")),
    Forgery("another good of a placement", (PLATFORMS,), changed("good")),
    Forgery("another end_s of a placement", (PLATFORMS,), changed("end_s")),
    Forgery("another cost of a placement", (PLATFORMS,), changed("cost")),
    Forgery("another displaced of a placement", (PLATFORMS,), changed("displaced")),
    Forgery("another vms of a start", (PLATFORMS,), changed("vms")),
    Forgery("a VM vanishes", SYSTEMS, vm_vanished, DECISION, (STREAMS,)),
    Forgery("a VM has another name throughout", SYSTEMS, vm_renamed, LABEL),
    Forgery("a VM ends when its last task has", SYSTEMS, ended_early, DECISION, (BAGS, STREAMS)),
    Forgery("a task or job vanishes", SYSTEMS, task_vanished, DECISION, (STREAMS,)),
    Forgery("two tasks or jobs are exchanged throughout", SYSTEMS, tasks_exchanged, DECISION, (STREAMS, PLATFORMS)),
    Forgery("a replay is cut short", SYSTEMS, cut_short, DECISION, (STREAMS,)),
    Forgery("no events, all tasks unfinished", SYSTEMS, emptied),
    Forgery("a figure of the end", SYSTEMS, figure),
    Forgery("a lower cost", SYSTEMS, cheaper),
    Forgery("a VM resumes before it hibernates", (BAGS,), resume_first),
    Forgery("the day: an event is dropped", (BAGS,), day_dropped, UNREACHED),
    Forgery("the day: an event is given twice", (BAGS,), day_twice),
    Forgery("the day: events out of order", (BAGS,), day_unordered),
    Forgery("the day: a resume before the first hibernation", (BAGS,), day_resume_first),
    Forgery("the day: another time", (BAGS,), day_changed("time_s"), UNREACHED),
    Forgery("the day: another type", (BAGS,), day_changed("type", "a", "b", "c"), UNREACHED),
    Forgery("the day: an unknown type", (BAGS,), day_changed("type")),
    Forgery("the day: another kind of event", (BAGS,), day_changed("event", "hibernate", "resume")),
    Forgery("the day: an event is added", (BAGS,), day_added, UNREACHED),
    Forgery("hibernation, or none", (BAGS,), no_hibernation),
    Forgery("the rules of the bill", (BAGS, STREAMS), billing, BELIEVED, (BAGS,)),
    Forgery("the plan: a task is dropped", (BAGS,), plan_task_dropped),
    Forgery("the plan: a task is there twice", (BAGS,), plan_task_twice),
    Forgery("the plan: a task is on another VM", (BAGS,), plan_task_elsewhere),
    Forgery("the plan: two tasks are exchanged", (BAGS,), plan_tasks_exchanged, UNREACHED),
    Forgery("the plan: another start", (BAGS,), plan_start),
    Forgery("the plan: another start of what moves before", (BAGS,), plan_start_of_what_never_starts_there, UNREACHED),
    Forgery("the plan: two cores are exchanged", (BAGS,), plan_core, UNREACHED),
    Forgery("the plan: another mode", (BAGS,), plan_mode),
    Forgery("the plan: another name of a VM", (BAGS,), plan_vm("vm")),
    Forgery("the plan: another type of a VM", (BAGS,), plan_vm("type", "a", "b", "c", "t", "one", "two")),
    Forgery("the plan: another market of a VM", (BAGS,), plan_vm("market", "spot", "on-demand")),
    Forgery("the plan: a VM is dropped", (BAGS,), plan_vm_dropped),
    Forgery("the plan: a VM is added", (BAGS,), plan_vm_added),
    Forgery("a number of what was replayed", SYSTEMS, document),
    Forgery("a name or text of what was replayed", SYSTEMS, document_text),
    Forgery("what was replayed, with the digest of before", SYSTEMS, digest),
    Forgery("label: policy", SYSTEMS, label("policy"), LABEL),
    Forgery("label: day", (BAGS,), label("day"), LABEL),
    Forgery("label: name of the timeline", (BAGS,), label("timeline", "name"), LABEL),
    Forgery("label: version", SYSTEMS, version, LABEL),
    Forgery("label: seed of a platform's own jobs", (PLATFORMS,), own_seed, LABEL),
    Forgery("the seed of what was drawn", (STREAMS, PLATFORMS), drawn_seed, UNREACHED, (STREAMS,)),
    Forgery("the stream: another name", (STREAMS,), label("stream", "name")),
    Forgery("the stream: another digest", (STREAMS,), label("stream", "sha256")),
    Forgery("the jobs that were drawn", (PLATFORMS,), job_set),
    Forgery("a job: another application", (STREAMS,), job("application")),
    Forgery("a job: another submitted_s", (STREAMS,), job("submitted_s")),
    Forgery("a job: another deadline_s", (STREAMS,), job("deadline_s")),
    Forgery("a job: another n_tasks", (STREAMS,), job("n_tasks")),
    Forgery("two jobs are exchanged", (STREAMS,), jobs_exchanged),
    Forgery("the rules of a platform", (PLATFORMS,), rules, UNREACHED),
    Forgery("an extra key", SYSTEMS, extra_key),
    Forgery("a key is missing", SYSTEMS, key_missing, OLDER, NOWHERE, ("cloud",)),
    Forgery("a value of another type", SYSTEMS, wrong_type),
    Forgery("a file is cut", SYSTEMS, file_cut),
    Forgery("header, run or end elsewhere", SYSTEMS, lines_exchanged),
)


# -------------------------------------------------------------------- the answers


@dataclass
class Answers:
    """What the forgeries of a class are answered."""

    refused: int = 0
    found: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    with_instance: int = 0
    same: int = 0
    unseen: int = 0
    missed: list[tuple[Honest, Lines]] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.refused + self.found + self.with_instance + self.same + self.unseen + len(self.missed)


def essence(lines: Sequence[dict[str, Any]]) -> Counter[str]:
    """What happens, whatever is reported beside it, and in whatever order within a moment."""
    reports = {"stranded", "wake", "trigger-set", "cycle-end", "idle-limit", "block-end", "steal-attempt"}
    beside = {"sha256", "late", "position", "steal_attempts", "steals"}
    return Counter(
        json.dumps({key: value for key, value in entry.items() if key not in beside}, sort_keys=True)
        for entry in lines
        if entry.get("event") not in reports
    )


def first_change(before: Lines, lines: Lines) -> str:
    """Kind of the first event that is another; of another record, the first key that it has lost."""
    was, now = next(pair for pair in zip(before, lines, strict=False) if pair[0] != pair[1])
    if was["record"] == "event":
        first: str = min((was, now), key=lambda entry: entry.get("t", math.inf))["event"]
        return first
    return next((key for key in was if key not in now), "")


def fitted(trace: Trace) -> tuple[Trace, AuditReport]:
    """Make the totals those that the auditor finds, as a forger would who has an auditor of his own."""
    end = json.loads(json.dumps(trace.end))
    trace = Trace(trace.instance, trace.run, trace.events, end)
    for finding in audit(trace).findings:
        said = re.match(r"the end says (\S+) \S+; (?:the events come to|it is) ([^,]+)", finding.message)
        assert said is not None, finding.message
        name, _, kind = said[1].partition(".")
        value = None if said[2] == "None" else float(said[2])
        holder, key = (end[name], kind) if kind else (end, name)
        whole = (
            value is not None and (key == "makespan_s" or isinstance(holder.get(key, 0), int)) and value.is_integer()
        )
        holder[key] = int(value) if whole and value is not None else value
    return trace, audit(trace)


def answer(forgery: Forgery, case: Honest, before: Lines, lines: Lines, answers: Answers) -> None:
    """Read and audit a forged trace; ``before`` is the honest one."""
    if lines[0].pop("digest", None) is None and isinstance(lines[0].get("instance"), dict):
        lines[0]["sha256"] = document_sha256(lines[0]["instance"])
    try:
        [trace] = parse_traces("\n".join(json.dumps(line) for line in lines), "forged")
    except (InputError, ValueError):
        answers.refused += 1
        return
    report = audit(trace)
    figures_alone = {finding.rule for finding in report.findings} == {"figures"}
    if figures_alone and essence([*lines[:-1], before[-1]]) != essence(before):
        trace, report = fitted(trace)
        lines = [*lines[:-1], trace.end]
    if not report.correct:
        answers.found += 1
        answers.rules.update({finding.rule for finding in report.findings})
    elif case.given is not None and not audit(trace, given=case.given).correct:
        answers.with_instance += 1
    elif essence(lines) == essence(before):
        answers.same += 1
    elif forgery.unseen and (
        case.system in (forgery.unseen_in or forgery.systems) or first_change(before, lines) in forgery.unseen_first
    ):
        answers.unseen += 1
    else:
        answers.missed.append((case, lines))


def forge(forgery: Forgery, how_many: int, seed: int = 0) -> Answers:
    """Forge so many traces of a class, and say what they are answered."""
    rng, answers = random.Random(f"{forgery.name} {seed}"), Answers()
    while answers.total < how_many:
        case = rng.choice(honest(rng.choice(forgery.systems)))
        before, lines = ([json.loads(line) for line in case.lines] for _ in range(2))
        if forgery.forge(lines, rng) and lines != before:
            answer(forgery, case, before, lines, answers)
    return answers


def _answers(place: int, how_many: int) -> Answers:
    return forge(FORGERIES[place], how_many)


def table(results: Sequence[tuple[Forgery, Answers]]) -> Table:
    """Classes and their answers."""
    columns = [Column("forged"), *(Column(name, True) for name in ("traces", "refused", "found"))]
    columns += [Column("as"), *(Column(name, True) for name in ("--instance", "the same", "unseen", "missed"))]
    columns.append(Column("why unseen"))
    rows = [
        (
            forgery.name,
            *(f"{number:,}" for number in (answers.total, answers.refused, answers.found)),
            ", ".join(rule for rule, _ in answers.rules.most_common(3)),
            *(f"{number:,}" for number in (answers.with_instance, answers.same, answers.unseen, len(answers.missed))),
            forgery.unseen if answers.unseen else "",
        )
        for forgery, answers in results
    ]
    return Table(columns, rows)


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    how_many = int(arguments[0]) if arguments else 100
    with ProcessPoolExecutor() as pool:
        answers = list(pool.map(_answers, range(len(FORGERIES)), repeat(how_many)))
    print_table(table(list(zip(FORGERIES, answers, strict=True))))
    return int(any(given.missed for given in answers))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
