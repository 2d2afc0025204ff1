"""The auditor: says whether what a trace records can have happened, and has the outcome that it claims.

It works on the records of the trace and on the instance or platform document as it is written, in plain Python with
exact arithmetic, and shares no code with the engines: clocks, durations, saved work, memory, cores, queues, limits,
credits, the day of each VM, the processors of clusters and the bill are worked out here again, from the events alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ..traces.bags.execution import Execution
from ..traces.files import check_records
from ..traces.trace import Trace
from .bags.execution import ExecutionAudit
from .bags.replay import PlanAudit
from .facts import InstanceFacts
from .findings import RULES, AuditReport, Finding
from .given import Given, compare
from .platforms.books import PlatformFacts
from .platforms.replay import PlatformAudit
from .streams.replay import StreamAudit


def audit(
    trace: Trace | Execution, facts: InstanceFacts | PlatformFacts | None = None, *, given: Given | None = None
) -> AuditReport:
    """Audit a replay of a plan, of a stream, or on a hybrid platform, whose unit of cost the costs are then in.

    Or what really happened to a plan: that is judged by the clock, by the run times and boots that there were.

    Parameters
    ----------
    trace : Trace or Execution
        As read from a file, or made by a replay; or what was really run.
    facts : InstanceFacts or PlatformFacts, optional
        Those of ``trace.instance``, to work them out only once for many traces.
    given : Instance, Stream or Platform, optional
        What should have been replayed: it is compared with what the trace says that it is of.

    Raises
    ------
    InputError
        If the instance is not valid, a record is not of the format, or an execution does not say what it is of.
    SpotbagError
        If what is given is not of the kind that the trace is of.
    """
    if isinstance(trace, Execution):
        trace = trace.to_trace()
    check_records(trace)
    facts = _facts(trace) if facts is None else facts
    if isinstance(facts, PlatformFacts):
        report = PlatformAudit(trace, facts).report()
    elif trace.of_execution:
        report = ExecutionAudit(trace, facts).report()
    else:
        report = (StreamAudit if trace.of_stream else PlanAudit)(trace, facts).report()
    if given is None:
        return report
    found = compare(trace, given)
    return replace(report, findings=(*found.findings, *report.findings), notes=(*found.notes, *report.notes))


def audit_traces(traces: Iterable[Trace], *, given: Given | None = None) -> list[AuditReport]:
    """Audit many replays; see `audit`. Traces that share an instance document share what is worked out from it."""
    reports: list[AuditReport] = []
    document: dict[str, Any] | None = None
    facts: InstanceFacts | PlatformFacts | None = None
    for trace in traces:
        if facts is None or trace.instance is not document:
            document, facts = trace.instance, _facts(trace)
        reports.append(audit(trace, facts, given=given))
    return reports


def _facts(trace: Trace) -> InstanceFacts | PlatformFacts:
    return PlatformFacts(trace.instance) if trace.of_platform else InstanceFacts(trace.instance)


__all__ = ["RULES", "AuditReport", "Finding", "audit", "audit_traces"]
