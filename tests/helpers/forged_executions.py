"""Forged traces of plans that were really run: what the auditor must find, by class."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any, TypeAlias

from spotbag import audit
from spotbag.core.errors import InputError
from spotbag.traces.trace import Trace

Forge: TypeAlias = Callable[[Trace, random.Random], bool]
"""Changes a trace; False if there is nothing of the kind to change."""


def _an_event(trace: Trace, drawn: random.Random, *kinds: str) -> dict[str, Any] | None:
    found = [event for event in trace.events if not kinds or event["event"] in kinds]
    return drawn.choice(found) if found else None


def dropped(*kinds: str) -> Forge:
    """Leave an event out; that a VM ends as the record does may be left out: it costs the same."""

    def forge(trace: Trace, drawn: random.Random) -> bool:
        event = _an_event(trace, drawn, *kinds)
        if event is None or (event["event"] in ("done", "lost") and event["t"] >= trace.end["t"]):
            return False
        trace.events[:] = [other for other in trace.events if other is not event]
        return True

    return forge


def twice(trace: Trace, drawn: random.Random) -> bool:
    """Have an event twice."""
    place = drawn.randrange(len(trace.events))
    trace.events.insert(place, dict(trace.events[place]))
    return True


def moved(*kinds: str) -> Forge:
    """Have an event happen at another time, in its place by time."""

    def forge(trace: Trace, drawn: random.Random) -> bool:
        event = _an_event(trace, drawn, *kinds)
        if event is not None:
            event["t"] = max(event["t"] + drawn.choice([-1, 1]) * drawn.uniform(0.05, 0.5), 0.0)
            trace.events.sort(key=lambda other: other["t"])
        return event is not None

    return forge


def elsewhere(key: str) -> Forge:
    """Have an event on another VM or core, or of another task."""

    def forge(trace: Trace, drawn: random.Random) -> bool:
        events = [event for event in trace.events if key in event]
        values = {event[key] for event in events} | ({7} if key == "core" else set())
        if len(values) < 2 or not events:
            return False
        event = drawn.choice(events)
        event[key] = drawn.choice(sorted(values - {event[key]}))
        return True

    return forge


def all_elsewhere(trace: Trace, drawn: random.Random) -> bool:
    """Have all attempts at a task that is done on another core."""
    event = _an_event(trace, drawn, "finish")
    if event is None:
        return False
    for other in trace.events:
        if other.get("task") == event["task"]:
            other["core"] += 1
    return True


def rented(key: str, value: str) -> Forge:
    """Have a VM that was rented as something else."""

    def forge(trace: Trace, drawn: random.Random) -> bool:
        event = _an_event(trace, drawn, "launch")
        if event is None or event[key] == value:
            return False
        event[key] = value
        return True

    return forge


def embellished(trace: Trace, drawn: random.Random) -> bool:
    """Have a failure be none, in all figures, too."""
    event = _an_event(trace, drawn, "fail", "cut-off")
    if event is None or any(other["event"] == "finish" and other["task"] == event["task"] for other in trace.events):
        return False
    event["event"] = "finish"
    event.pop("exit_code", None)
    return True


def figure(trace: Trace, drawn: random.Random) -> bool:
    """Have another figure at the end."""
    name = drawn.choice([name for name, value in trace.end.items() if isinstance(value, int | float) and name != "t"])
    trace.end[name] += 1
    return True


def cheaper(trace: Trace, drawn: random.Random) -> bool:
    """Have a lower bill."""
    trace.end["cost_usd"] *= 0.9
    return trace.end["cost_usd"] > 0


def planned(change: Callable[[list[dict[str, Any]], random.Random], None]) -> Forge:
    """Have another plan."""

    def forge(trace: Trace, drawn: random.Random) -> bool:
        before = copy.deepcopy(trace.run["plan"])
        change(trace.run["plan"], drawn)
        return bool(before != trace.run["plan"])

    return forge


def _without_one(plan: list[dict[str, Any]], drawn: random.Random) -> None:
    del plan[drawn.randrange(len(plan))]


def _with_one_twice(plan: list[dict[str, Any]], drawn: random.Random) -> None:
    plan.append(dict(drawn.choice(plan)))


def _nowhere(trace: Trace, drawn: random.Random) -> bool:
    ran = [event["task"] for event in trace.events if event["event"] == "finish"]
    entries = [entry for entry in trace.run["plan"] if entry["task"] in ran]
    if entries:
        drawn.choice(entries)["vm"] = "nowhere"
    return bool(entries)


FORGERIES: dict[str, Forge] = {
    "an event is dropped": dropped(),
    "a start is dropped": dropped("start"),
    "an end is dropped": dropped("finish", "fail", "cut-off"),
    "a launch is dropped": dropped("launch"),
    "a VM is never ready": dropped("ready"),
    "the end of a VM is dropped": dropped("done", "lost"),
    "an event is given twice": twice,
    "a task starts or ends at another time": moved("start", "finish", "fail", "cut-off"),
    "a VM is ready or ends at another time": moved("ready", "done", "lost"),
    "another VM": elsewhere("vm"),
    "another core": elsewhere("core"),
    "another core, all along": all_elsewhere,
    "another task": elsewhere("task"),
    "another type": rented("type", "nothing"),
    "another market": rented("market", "on-demand"),
    "what failed is done": embellished,
    "another figure": figure,
    "a lower bill": cheaper,
    "the plan lacks a task": planned(_without_one),
    "the plan has a task twice": planned(_with_one_twice),
    "the plan has a task elsewhere": _nowhere,
}


def forged_pass(honest: Trace, drawn: random.Random) -> list[str]:
    """Return the classes of forgeries of a trace that the auditor passes."""
    passed = []
    for name, forge in FORGERIES.items():
        trace = Trace(honest.instance, *copy.deepcopy((honest.run, honest.events, honest.end)))
        if not forge(trace, drawn) or (trace.run, trace.events, trace.end) == (honest.run, honest.events, honest.end):
            continue
        try:
            if audit(trace).correct:
                passed.append(name)
        except InputError:  # no record at all
            continue
    return passed
