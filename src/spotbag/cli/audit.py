"""``spotbag audit``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import typer

from ..core.text_tables import number, words
from ..core.wording import counted
from .answers import ABSENT, Answer, Part
from .arguments import load_instance, load_platform, load_stream
from .console import NOT_CORRECT, busy, print_rows
from .options import argument, json_option, option

if TYPE_CHECKING:
    from ..audits.findings import AuditReport, Violation
    from ..audits.given import Given
    from ..traces.trace import Trace

EXAMPLE = "Example:  spotbag audit day.jsonl"

_SHOWN = 40
_SHOWN_RUNS = 100
_SHOWN_NOTES = 4


class AuditedRun(Part):
    """A run of a trace; the amounts of a platform are units of cost, those of bags and streams are dollars."""

    policy: str
    day: int = ABSENT
    seed: int = ABSENT
    status: Literal["correct", "incorrect"]
    cost_usd: float = ABSENT
    cost: float = ABSENT
    makespan_s: float | None
    events: int
    findings: tuple[Violation, ...]
    notes: tuple[str, ...]


class Audit(Answer, kind="audit"):
    """``spotbag audit``."""

    instance: str = ABSENT
    platform: str = ABSENT
    status: Literal["correct", "incorrect"]
    runs: tuple[AuditedRun, ...]

    def print_text(self) -> None:
        """Print a row for each run, of very many the first, and the findings, run by run."""
        in_units = self.instance is ABSENT
        draw = "day" if self.runs[0].seed is ABSENT else "seed"
        found = [(run, finding) for run in self.runs for finding in run.findings]
        verdict = f"not correct, {counted(len(found), 'finding')}" if found else "correct"
        print(f"{self.platform if in_units else self.instance}: {counted(len(self.runs), 'run')}, {verdict}")
        print_rows(
            self.runs[:_SHOWN_RUNS],
            words("policy"),
            number(draw),
            number("cost (units)", "cost", ",.0f") if in_units else number("cost ($)", "cost_usd", ".6f"),
            number("makespan (s)", "makespan_s", ",.0f"),
            number("events", form=","),
            words("verdict", lambda run: counted(len(run.findings), "finding") if run.findings else "correct"),
            words("notes", lambda run: _notes_text(run.notes)),
        )
        if len(self.runs) > _SHOWN_RUNS:
            print(f"... and {counted(len(self.runs) - _SHOWN_RUNS, 'run')} more (--json lists all)")
        if found:
            print_rows(
                found[:_SHOWN],
                words("policy", lambda row: row[0].policy),
                number(draw, lambda row: getattr(row[0], draw)),
                words("rule", lambda row: row[1].rule),
                number("amount", lambda row: row[1].amount, "g"),
                words("unit", lambda row: row[1].unit),
                words("what", lambda row: row[1].message),
            )
        if len(found) > _SHOWN:
            print(f"... and {len(found) - _SHOWN} more (--json lists all)")


def audit_command(
    *,
    trace: str = argument(
        "TRACE", "A trace of replays, or of 'import-log' (JSON lines); - for standard input.", file="read"
    ),
    instance: str | None = option(
        "INSTANCE",
        "What should have been replayed: an instance, stream or platform, by its file or its name in the library. It "
        "is compared with what the trace holds.",
        file="read",
    ),
    as_json: bool = json_option(),
) -> None:
    """Audit the trace of a replay, by code that shares nothing with what replays.

    Of plans, of streams and of jobs on hybrid platforms: bills, times, saved work, memory, cores, queues, credits,
    processors of clusters and all figures are worked out again from the events and the plan; every broken rule is
    listed with its amount. Without --instance, a trace is believed what it says that it is of. Exit code 0: correct;
    1: not correct; 2: bad input.
    """
    from ..audits.auditor import audit_traces
    from ..traces.files import read_traces

    with busy("auditing"):
        traces = read_traces(trace)
        reports = audit_traces(traces, given=None if instance is None else _load(instance, traces[0]))
    wrong = not all(report.correct for report in reports)
    # Bags are replayed on days of a scenario, streams and platforms with draws of a seed.
    draw = "seed" if "seed" in traces[0].run else "day"
    judged: dict[str, Any] = {"platform" if traces[0].of_platform else "instance": traces[0].instance["name"]}
    runs = (_audited(entry, report, draw) for entry, report in zip(traces, reports, strict=True))
    Audit(**judged, status="incorrect" if wrong else "correct", runs=tuple(runs)).show(as_json)
    if wrong:
        raise typer.Exit(NOT_CORRECT)


def _audited(entry: Trace, report: AuditReport, draw: str) -> AuditedRun:
    """Return the verdict on a run; ``draw`` is the key of its number: ``day`` or ``seed``."""
    cost = "cost" if entry.of_platform else "cost_usd"
    status, events = "correct" if report.correct else "incorrect", len(entry.events)
    # The auditor has one field for both; a platform counts in units that are no dollars.
    amounts = {draw: entry.run[draw], "cost_usd": ABSENT, cost: report.cost_usd}
    return AuditedRun.of(report, policy=entry.run["policy"], status=status, events=events, **amounts)


def _load(argument: str, trace: Trace) -> Given:
    """Load the instance, stream or platform that a trace should be of."""
    if trace.of_platform:
        return load_platform(argument)
    return load_stream(argument) if trace.of_stream else load_instance(argument)


def _notes_text(notes: tuple[str, ...]) -> str:
    """Text of notes; of very many, such as one for each job of a stream, the first."""
    more = len(notes) - _SHOWN_NOTES
    return "; ".join([*notes[:_SHOWN_NOTES], *([f"and {more} more (--json lists all)"] if more > 0 else [])])
