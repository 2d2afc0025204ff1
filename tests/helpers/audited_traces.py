"""What the auditor finds in a trace, the events of one, and changes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
