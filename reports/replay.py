"""The report on replays: of a plan, of a stream, on a hybrid platform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..audits.auditor import audit_traces
from ..audits.findings import AuditReport
from ..charts.replay import replay_chart
from ..core.errors import input_error
from ..core.text_tables import Table, number, table_of, words
from ..core.wording import counted
from ..traces.stories import describe_trace
from ..traces.trace import Trace
from .page import Block, Facts, Heading, Lines, Listing, Paragraph, Report, Section

MAX_SHOWN = 6
"""Replays that are told and drawn; of more, those of highest cost."""

_MAX_LINES = 1_000
_FIXED = ("record", "t", "event", "vm")


def replay_report(traces: Sequence[Trace], version: str) -> Report:
    """Report on replays: their figures side by side, and each with its story, its Gantt chart, bill and events.

    Parameters
    ----------
    traces : sequence of Trace
        As they stand in a file.
    version : str
        Of spotbag, which judges them.

    Raises
    ------
    SpotbagError
        If a trace contradicts itself.
    """
    # There is no policy and no day in it that could be told.
    if traces[0].of_execution:
        rule = "is of a plan that was really run: 'spotbag audit' judges it, 'import-log --gantt' draws it"
        raise input_error("trace", rule)
    audits = audit_traces(traces)
    first = traces[0]
    # The costly ones are those that one wants to understand.
    dearest = sorted(range(len(traces)), key=lambda at: -audits[at].cost_usd)[:MAX_SHOWN]
    sections = [Section("Runs", _runs(traces, audits))] if len(traces) > 1 else []
    if len(dearest) < len(traces):
        text = f"{counted(len(dearest), 'run')} of highest cost are told and drawn below, of {len(traces):,}."
        sections.append(Section("What is told", [Paragraph(text)]))
    for at in sorted(dearest):
        parts = _of_one(traces[at], audits[at])
        if len(traces) == 1:
            sections = [Section(title, blocks) for title, blocks in parts]
        else:
            headed = [[Heading(title), *blocks] for title, blocks in parts if blocks]
            sections.append(Section(_name(traces[at]), [block for blocks in headed for block in blocks]))
    what = "hybrid platform" if first.of_platform else "stream" if first.of_stream else "plan"
    return Report(
        f"{counted(len(traces), 'replay')} of {first.instance['name']}",
        f"Replays of a {what}; judged by spotbag {version}",
        sections,
    )


def _name(trace: Trace) -> str:
    draw = "seed" if "seed" in trace.run else "day"
    return f"{trace.run['policy']}, {draw} {trace.run[draw]}"


def _runs(traces: Sequence[Trace], audits: Sequence[AuditReport]) -> list[Block]:
    draw = "seed" if "seed" in traces[0].run else "day"
    table = table_of(
        zip(traces, audits, strict=True),
        words("policy", lambda row: row[0].run["policy"]),
        number(draw, lambda row: row[0].run[draw]),
        number("cost (units)" if traces[0].of_platform else "cost ($)", lambda row: _cost(*row)),
        number("makespan (s)", lambda row: row[1].makespan_s, ","),
        number("events", lambda row: len(row[0].events), ","),
        words("audit", lambda row: "correct" if row[1].correct else counted(len(row[1].findings), "finding")),
    )
    return [Listing("", table)]


def _cost(trace: Trace, report: AuditReport) -> str:
    return f"{report.cost_usd:,.0f}" if trace.of_platform else f"{report.cost_usd:.6f}"


def _of_one(trace: Trace, report: AuditReport) -> list[tuple[str, list[Block]]]:
    """The section on a replay: blocks by their headings."""
    wrong: list[Block] = []
    if not report.correct:
        wrong.append(Paragraph("The auditor says that this cannot have happened as it is told.", True))
        columns = words("rule"), number("amount", form="g"), words("unit"), words("what", "message")
        wrong.append(Listing("Findings", table_of(report.findings, *columns)))
    lines = describe_trace(trace)
    more = [] if len(lines) <= _MAX_LINES else [f"... and {len(lines) - _MAX_LINES:,} more lines"]
    end = f"{report.makespan_s:,} s" if report.makespan_s is not None else "not all tasks are finished"
    facts = [
        ("policy", str(trace.run["policy"])),
        ("cost", f"{_cost(trace, report)} units" if trace.of_platform else f"$ {_cost(trace, report)}"),
        ("makespan", end),
        *([("deadline", f"{trace.instance['deadline_s']:,} s")] if "deadline_s" in trace.instance else []),
        ("audit", "correct: worked out again from the events" if report.correct else "not correct"),
        *((_label(name), _text(value)) for name, value in trace.end.items() if name not in _TOLD),
    ]
    bill = _bill(trace, report)
    return [
        ("Figures", [*wrong, Facts(facts), *map(Paragraph, report.notes)]),
        ("Gantt chart", [replay_chart([trace])]),
        ("Story", [Lines([*lines[:_MAX_LINES], *more])]),
        ("Bill", [Listing("", bill)] if bill.rows else []),
        ("Events", [Listing("", _events(trace))]),
    ]


_TOLD = ("record", "t", "cost_usd", "cost", "makespan_s")


def _label(name: str) -> str:
    """Return the name of a figure of a record as people read it."""
    return f"{name.removesuffix('_s').replace('_', ' ')} (s)" if name.endswith("_s") else name.replace("_", " ")


def _said(name: str, value: Any) -> str:
    """Return a field of an event as people read it."""
    unit = " s" if name.endswith("_s") else ""
    return f"{name.removesuffix('_s').replace('_', ' ')} {_text(value)}{unit}"


def _text(value: Any) -> str:
    """Return a figure of a record as people read it."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(part)}" for name, part in value.items()) or "-"
    if isinstance(value, list):
        return ", ".join(map(_text, value[:20])) + (f" and {len(value) - 20:,} more" if len(value) > 20 else "") or "-"
    return (
        str(value)
        if isinstance(value, str | bool) or value is None
        else f"{value:,}"
        if isinstance(value, int)
        else f"{value:,.6g}"
    )


def _bill(trace: Trace, report: AuditReport) -> Table:
    """The bill of each VM: its cost, and from when to when it was rented."""
    # The bill is that of the auditor; the trace says only what was rented when.
    begun = {event["vm"]: event for event in trace.events if event["event"] == "launch"}
    ended = {event["vm"]: event["t"] for event in trace.events if event["event"] in ("terminate", "reclaim")}
    launches = {name: begun.get(name, {}) for name in report.vm_cost_usd}
    return table_of(
        launches,
        words("VM", str),
        words("type", lambda name: launches[name].get("type", launches[name].get("resource"))),
        words("market", lambda name: launches[name].get("market")),
        number("rented at (s)", lambda name: launches[name].get("t"), ","),
        number("until (s)", ended.get, ","),
        number("cost ($)", report.vm_cost_usd.get, ".6f"),
    )


def _events(trace: Trace) -> Table:
    def else_said(event: Mapping[str, Any]) -> str:
        return ", ".join(_said(name, value) for name, value in event.items() if name not in _FIXED)

    return table_of(
        trace.events,
        number("time (s)", lambda event: event["t"], ","),
        words("event", lambda event: event["event"]),
        words("VM", lambda event: event.get("vm") or ""),
        words("what else", else_said),
    )
