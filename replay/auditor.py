"""The auditor: says whether what a trace tells can have happened, and comes to what it claims.

It works on the records of the trace and on the instance document as it is written, in plain Python with exact
arithmetic, and shares no code with the engines: clocks, durations, saved work, memory, cores, queues, limits, credits,
the day of each VM and the bill are worked out here again, from the events alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .audit_facts import InstanceFacts
from .audit_findings import RULES, AuditReport, Finding
from .audit_jobs import JobAudit
from .audit_plans import PlanAudit
from .trace_files import Trace, check_records


def audit(trace: Trace, facts: InstanceFacts | None = None) -> AuditReport:
    """Audit a replay of a plan or of a job stream.

    Parameters
    ----------
    trace : Trace
        As read from a file, or made by a replay.
    facts : InstanceFacts, optional
        Those of ``trace.instance``, to work them out only once for many traces.

    Raises
    ------
    InputError
        If the instance is not valid, or a record is not of the format.
    """
    check_records(trace)
    facts = InstanceFacts(trace.instance) if facts is None else facts
    return (JobAudit if trace.of_jobs else PlanAudit)(trace, facts).report()


def audit_traces(traces: Iterable[Trace]) -> list[AuditReport]:
    """Audit many replays; see `audit`. Traces that share an instance document share what is worked out from it."""
    reports: list[AuditReport] = []
    document: dict[str, Any] | None = None
    facts: InstanceFacts | None = None
    for trace in traces:
        if facts is None or trace.instance is not document:
            document, facts = trace.instance, InstanceFacts(trace.instance)
        reports.append(audit(trace, facts))
    return reports


__all__ = ["RULES", "AuditReport", "Finding", "audit", "audit_traces"]
