"""What the auditor finds in a trace, and the events of one."""

from __future__ import annotations

from typing import Any

from spotbag.audits.auditor import audit
from spotbag.audits.findings import RULES
from spotbag.traces.trace import Trace


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
