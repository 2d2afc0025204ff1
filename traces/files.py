"""Traces of replays as files: JSON lines, ``spotbag.trace/2``; see *Trace of a replay* in ``docs/formats.md``."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from ..core.errors import InputError, Issue, SpotbagError
from ..core.json_documents import check_format, parse_json, refuse_another_document
from ..core.records import Faults, Record, field_issues
from ..core.text_files import read_text, source_name, write_text
from ..instances.instance import Instance
from ..instances.platforms.platform import Platform
from .bags.records import (
    BAG_EVENT_RECORDS,
    EXECUTION_EVENT_RECORDS,
    BagEndRecord,
    BagRunRecord,
    ExecutionEndRecord,
    ExecutionRunRecord,
)
from .platforms.records import PLATFORM_EVENT_RECORDS, PlatformEndRecord, PlatformRunRecord
from .streams.records import STREAM_EVENT_RECORDS, StreamEndRecord, StreamRunRecord
from .trace import Trace, document_of_platform, document_sha256, run_of_execution, run_of_stream
from .vm_records import HeaderRecord

TRACE_FORMAT: Literal["spotbag.trace/2"] = "spotbag.trace/2"
_WITHOUT_PLAN = "spotbag.trace/1"
"""Format of older versions."""
_MOST_ISSUES = 100


@dataclass(frozen=True, slots=True)
class _Models:
    """The models of the records of a replay."""

    run: type[Record]
    events: Mapping[str, type[Record]]
    end: type[Record]


_OF_BAGS = _Models(BagRunRecord, BAG_EVENT_RECORDS, BagEndRecord)
_OF_EXECUTIONS = _Models(ExecutionRunRecord, EXECUTION_EVENT_RECORDS, ExecutionEndRecord)
_OF_STREAMS = _Models(StreamRunRecord, STREAM_EVENT_RECORDS, StreamEndRecord)
_OF_PLATFORMS = _Models(PlatformRunRecord, PLATFORM_EVENT_RECORDS, PlatformEndRecord)
_BEFORE: dict[str, tuple[str, ...]] = {"run": ("header", "end"), "event": ("run", "event"), "end": ("run", "event")}
"""Kinds of records that may stand before one of each kind."""


def trace_lines(traces: Iterable[Trace]) -> Iterator[str]:
    """Yield the lines of a trace file, without line ends; see `trace_records`."""
    return map(_line, trace_records(traces))


def trace_records(traces: Iterable[Trace]) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a trace file.

    Parameters
    ----------
    traces : iterable of Trace
        At least one; all of the same instance or platform.

    Raises
    ------
    SpotbagError
        If there is no trace, or the instances differ: a file holds the replays of one instance.
    """
    from importlib.metadata import version

    instance: dict[str, Any] | None = None
    for trace in traces:
        if instance is None:
            instance = trace.instance
            header = {"record": "header", "format": TRACE_FORMAT, "spotbag": version("spotbag")}
            yield {**header, "sha256": document_sha256(instance), "instance": instance}
        elif trace.instance is not instance and trace.instance != instance:
            kind = "platform" if trace.of_platform else "instance"
            raise SpotbagError(
                f"a trace file holds replays of one {kind}; {trace.instance.get('name')!r} is another one than "
                f"{instance.get('name')!r}, or changed (write it to a file of its own)"
            )
        yield trace.run
        yield from trace.events
        yield trace.end
    if instance is None:
        raise SpotbagError("no trace to write: a trace file holds at least one replay")


def write_traces(path: str | os.PathLike[str], traces: Iterable[Trace]) -> None:
    """Write traces to a file, at once.

    Parameters
    ----------
    path : path
        The file.
    traces : iterable of Trace
        At least one; all of the same instance.

    Raises
    ------
    SpotbagError
        If the file cannot be written, there is no trace, or the traces are of different instances.
    """
    write_text(path, "\n".join(trace_lines(traces)) + "\n")


def read_traces(path: str | os.PathLike[str]) -> list[Trace]:
    """Read a trace file, or standard input for ``-``.

    Every record is checked on its own, and that the records stand in order; whether what they tell can be true is
    the auditor's business.

    Raises
    ------
    InputError
        If the file cannot be read, or with the lines that are wrong.
    """
    source = source_name(path)
    return parse_traces(read_text(path), source)


def parse_traces(text: str, source: str) -> list[Trace]:
    """Read traces from the text of a file.

    Parameters
    ----------
    text : str
        JSON lines.
    source : str
        Its name in messages.

    Raises
    ------
    InputError
        With the lines that are wrong.
    """
    records = ((number, _parsed(line, number, source)) for number, line in numbered_lines(text))
    try:
        return traces_of_records(records, source)
    except InputError:
        # A file that is one document of another kind is no trace: the message says which command takes it.
        refuse_another_document(text, TRACE_FORMAT, source)
        raise


def traces_of_records(records: Iterable[tuple[int, dict[str, Any]]], source: str) -> list[Trace]:
    """Make traces of their records, each with the number of its line; ``source`` names them in messages.

    Raises
    ------
    InputError
        With the lines that are wrong.
    """
    traces: list[Trace] = []
    instance: dict[str, Any] = {}
    run: dict[str, Any] = {}
    events: list[dict[str, Any]] = []
    issues: list[Issue] = []
    models = _OF_BAGS
    texts: dict[str, str] = {}
    before, number = "", 0
    for number, record in records:
        kind = _kind(record, before, number, source)
        if kind == "header":
            instance = _instance(record, source)
        else:
            if kind == "run":
                models = _models(instance, record)
                if models in (_OF_BAGS, _OF_STREAMS) and instance.get("d_spot_s") is None:
                    rule = "is missing; a replay knows it"
                    raise InputError(source, [Issue("instance of the header", rule, "d_spot_s")])
            issues += _issues(record, kind, number, models)
            if len(issues) >= _MOST_ISSUES:
                break
        if kind == "run":
            # A file may hold several replays of one instance: header, then run, events and end of each.
            run, events = record, []
        elif kind == "event":
            events.append(_sharing(record, texts))
        elif kind == "end":
            traces.append(Trace(instance, run, events, record))
        before = kind
    if issues:
        raise InputError(source, issues)
    if before != "end":
        rule = f"the file ends after a {before!r} record; it is cut short"
        raise InputError(source, [Issue(f"line {number + 1}", rule)])
    return traces


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers."""
    number, counted = 1, 0
    for found in re.finditer(r"[^\n]+", text):
        number += text.count("\n", counted, found.start())
        counted = found.start()
        if not found[0].isspace():
            yield number, found[0]


def check_records(trace: Trace) -> None:
    """Refuse a trace made in memory whose records are not those of the format; the instance is not looked at.

    Raises
    ------
    InputError
        With the records that are wrong, by the number of the line they would have in a file of their own.
    """
    models = _models(trace.instance, trace.run)
    issues = _issues(trace.run, "run", 2, models)
    for number, event in enumerate(trace.events, 3):
        issues += _issues(event, "event", number, models)
        if len(issues) >= _MOST_ISSUES:
            break
    issues += _issues(trace.end, "end", 3 + len(trace.events), models)
    if issues:
        raise InputError("trace", issues)


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, allow_nan=False)


def _sharing(event: dict[str, Any], texts: dict[str, str]) -> dict[str, Any]:
    """Return an event whose keys and names are those of other events, and not in memory once more."""
    share = texts.setdefault
    return {share(key, key): share(value, value) if type(value) is str else value for key, value in event.items()}


def _parsed(line: str, number: int, source: str) -> dict[str, Any]:
    try:
        return parse_json(line, source)
    except InputError as error:
        issues = [Issue(f"line {number}", str(issue).replace("in line 1, ", "in ")) for issue in error.issues]
        raise InputError(source, issues) from None


def _kind(record: Mapping[str, Any], before: str, number: int, source: str) -> str:
    """Kind of a record; an error if such a record cannot stand here."""
    where, kind = f"line {number}", record.get("record")
    if not before:
        if kind != "header":
            raise InputError(source, [Issue(where, "must be the header of a trace", "record", kind)])
        if record.get("format") == _WITHOUT_PLAN:
            rule = f"is of an older version, whose traces hold no plan to audit against (now {TRACE_FORMAT!r})"
            raise InputError(source, [Issue(where, f"{rule}; replay again", "format", _WITHOUT_PLAN)])
        check_format(record, TRACE_FORMAT, source)
        return "header"
    if not isinstance(kind, str) or kind not in _BEFORE:
        raise InputError(source, [Issue(where, f"must be one of {', '.join(_BEFORE)}", "record", kind)])
    if before not in _BEFORE[kind]:
        raise InputError(source, [Issue(where, f"a {kind!r} record cannot follow a {before!r} record")])
    return kind


def _models(instance: Mapping[str, Any], run: Mapping[str, Any]) -> _Models:
    """Say which models the records of a replay have, by what is replayed."""
    if document_of_platform(instance):
        return _OF_PLATFORMS
    if run_of_execution(run):
        return _OF_EXECUTIONS
    return _OF_STREAMS if run_of_stream(run) else _OF_BAGS


def _instance(header: dict[str, Any], source: str) -> dict[str, Any]:
    issues = _record_issues(HeaderRecord, header, 1)
    if issues:
        raise InputError(source, issues)
    document: dict[str, Any] = header["instance"]
    what = "platform" if document_of_platform(document) else "instance"
    name = f"{what} of the header"
    if what == "platform":
        platform = Platform.parse_document(document, f"{source}: {name}")
        if not platform.jobs:
            raise InputError(source, [Issue(name, "is missing; a replay has jobs", "jobs")])
    else:
        check_format(document, "spotbag.instance/1", f"{source}: {name}")
        Instance.from_document(document, f"{source}: {name}")
    digest = document_sha256(document)
    if header["sha256"] != digest:
        rule = f"is not the digest of the {what}, {digest}: one of the two has been changed"
        raise InputError(source, [Issue("line 1", rule, "sha256", header["sha256"])])
    return document


def _issues(record: dict[str, Any], kind: str, number: int, models: _Models) -> list[Issue]:
    """Faults of the fields of a record."""
    if kind != "event":
        return _record_issues(models.run if kind == "run" else models.end, record, number)
    name = record.get("event")
    if not isinstance(name, str) or name not in models.events:
        known = ", ".join(models.events)
        rule = "is missing" if name is None else f"is not known (known: {known})"
        return [Issue(f"line {number}", rule, "event", Issue.NOTHING if name is None else name)]
    return _record_issues(models.events[name], record, number)


def _record_issues(model: type[Record], record: dict[str, Any], number: int) -> list[Issue]:
    try:
        model.model_validate(record, context=Faults())
    except ValidationError as error:
        place = f"line {number}"
        found = field_issues(error, model, record)
        # In files the key is "from", which no attribute can be called.
        return [Issue(place, issue.rule.replace("from_vm", "from"), issue.path, issue.value) for issue in found]
    return []
