"""What the auditor finds in a trace, the events of one, and changes of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from hypothesis import strategies as st

from spotbag.audits.auditor import audit, audit_traces
from spotbag.audits.findings import RULES
from spotbag.traces.trace import Trace

Change: TypeAlias = Callable[[Trace], object]


def found(trace: Trace) -> dict[str, float]:
    """Rules that are broken, each with its largest amount."""
    amounts: dict[str, float] = {}
    for finding in audit(trace).findings:
        assert finding.rule in RULES
        assert finding.amount > 0
        amounts[finding.rule] = max(finding.amount, amounts.get(finding.rule, 0))
    return amounts


def at(trace: Trace, kind: str, number: int = 0) -> int:
    """The place of the event of a kind with a number."""
    return [place for place, entry in enumerate(trace.events) if entry["event"] == kind][number]


def event(trace: Trace, kind: str, number: int = 0) -> dict[str, Any]:
    """The event of a kind with a number."""
    return trace.events[at(trace, kind, number)]


def happens(time_s: int, kind: str, **fields: Any) -> dict[str, Any]:
    """An event that a test adds."""
    return {"record": "event", "t": time_s, "event": kind, **fields}


def not_found(changes: Iterable[tuple[str, Trace]]) -> tuple[int, list[str]]:
    """How many traces there are, each with its name, and in which of them the auditor finds nothing."""
    names, traces = zip(*changes, strict=True)
    reports = audit_traces(traces)
    for name, report in zip(names, reports, strict=True):
        assert all(finding.amount > 0 and finding.rule in RULES for finding in report.findings), name
    return len(names), [name for name, report in zip(names, reports, strict=True) if report.correct]


def demand_findings_of_disorder(data: st.DataObject, traces: Sequence[Callable[[], Trace]]) -> None:
    """Demand that nothing but findings comes of the events of a trace in another order, or without some."""
    trace = data.draw(st.sampled_from(traces))()
    places = list(range(len(trace.events)))
    described = data.draw(st.lists(st.sampled_from(places), max_size=len(places)) | st.permutations(places))
    report = audit(Trace(trace.instance, trace.run, [trace.events[place] for place in described], trace.end))
    if sorted(described) != places:
        assert not report.correct
    assert all(finding.amount > 0 and finding.rule in RULES for finding in report.findings)


def trace_with(make: Callable[[], Trace], changes: Iterable[Change]) -> Trace:
    """A trace, changed."""
    trace = make()
    for change in changes:
        change(trace)
    return trace


def put(place: int, *entries: dict[str, Any]) -> Change:
    """Put events at a place."""

    def change(trace: Trace) -> None:
        trace.events[place:place] = entries

    return change


def edit(kind: str, number: int = 0, /, **fields: Any) -> Change:
    """Change fields of an event."""
    return lambda trace: event(trace, kind, number).update(fields)


def drop(kind: str, number: int = 0) -> Change:
    """Leave an event out."""
    return lambda trace: trace.events.pop(at(trace, kind, number))


def ends(**figures: Any) -> Change:
    """Change figures of the end."""
    return lambda trace: trace.end.update(figures)


_UNSEEN_IF_DROPPED = {"stranded"}
"""Nothing else in a trace follows from these."""


def changes(trace: Trace) -> Iterator[tuple[str, Trace]]:
    """Small changes of a trace: an event dropped, recorded twice, moved by a second, a field changed."""
    for index, entry in enumerate(trace.events):
        name = f"{index} {entry['event']} at {entry['t']}"
        first_set = entry["event"] == "trigger-set" and trace.events[index + 1]["event"] == "trigger-set"
        ends_vm = entry["event"] == "cycle-end" and trace.events[index + 1]["event"] == "terminate"
        if entry["event"] not in _UNSEEN_IF_DROPPED and not first_set and not ends_vm:
            changed = copy.deepcopy(trace)
            del changed.events[index]
            yield f"{name} dropped", changed
        if entry["event"] not in _UNSEEN_IF_DROPPED | {"trigger-set"}:
            changed = copy.deepcopy(trace)
            changed.events.insert(index, entry)
            yield f"{name} twice", changed
        for shift in (-1, 1):
            if entry["t"] + shift >= 0:
                changed = copy.deepcopy(trace)
                changed.events[index]["t"] += shift
                yield f"{name} moved by {shift}", changed
        for key, value in entry.items():
            if key in ("record", "t", "event", "late"):
                continue
            if key == "at_s" and first_set:
                continue
            if key == "core" and not any(
                (other["event"], other.get("vm")) == ("finish", entry["vm"]) for other in trace.events
            ):
                continue  # never recorded again
            for other in other_values(trace, key, value):
                changed = copy.deepcopy(trace)
                changed.events[index][key] = other
                yield f"{name} {key}={other}", changed
    for key, value in trace.end.items():
        if key in ("record", "migrations", "unfinished"):
            continue
        for other in (1, None) if value is None else (value + 1, value - 1, value * 1.001 + 1e-6):
            if key == "makespan_s" and other is None:
                continue
            if other is None or other < 0 or (isinstance(value, int) and isinstance(other, float)):
                continue
            changed = copy.deepcopy(trace)
            changed.end[key] = other
            yield f"end {key}={other}", changed
    for kind in ("idle", "busy", "new"):
        changed = copy.deepcopy(trace)
        changed.end["migrations"][kind] += 1
        yield f"end migrations {kind}", changed
    for listed in ([], [*trace.end["unfinished"], "long"], [*trace.end["unfinished"], "unknown"]):
        changed = copy.deepcopy(trace)
        changed.end["unfinished"] = listed
        if listed != trace.end["unfinished"] and (listed != ["long"] or trace.events[1]["vm"] != "c"):
            yield f"end unfinished {listed}", changed
    for index in range(len(trace.run["timeline"]["events"])):
        changed = copy.deepcopy(trace)
        changed.run["timeline"]["events"][index]["time_s"] += 1
        yield f"day {index} moved", changed
        changed = copy.deepcopy(trace)
        del changed.run["timeline"]["events"][index]
        yield f"day {index} dropped", changed
        changed = copy.deepcopy(trace)
        changed.run["timeline"]["events"][index]["type"] = "one"
        yield f"day {index} of another type", changed
    if trace.run["timeline"]["events"]:
        changed = copy.deepcopy(trace)
        changed.run["hibernation"] = False
        yield "no hibernation", changed


def other_values(trace: Trace, key: str, value: Any) -> list[Any]:
    """Other values of a field of an event."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1] if value else [value + 1]
    if isinstance(value, float):
        return [value + 1e-6, value - 1e-6]
    others = {
        "vm": {entry["vm"] for entry in trace.events if "vm" in entry} | {"unknown"},
        "task": {task["id"] for task in trace.instance["tasks"]} | {"unknown"},
        "type": {vm_type["name"] for vm_type in trace.instance["vm_types"]} | {"unknown"},
        "market": {"spot", "on-demand"},
        "mode": {"burst", "baseline"},
        "kind": {"idle", "busy", "new"},
    }
    others["from"] = others["to"] = others["vm"]
    return sorted(others[key] - {value})
