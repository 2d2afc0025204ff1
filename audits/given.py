"""Comparison of a trace with the given instance, stream or platform."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..core.errors import SpotbagError, show_value
from ..core.wording import counted
from ..instances.instance import Instance
from ..instances.platforms.job_draws import JobSet
from ..instances.platforms.platform import Platform
from ..instances.streams.draws import draw_jobs
from ..instances.streams.stream import Stream
from ..traces.trace import Trace, document_sha256
from .findings import Finding

Given: TypeAlias = Instance | Stream | Platform

_KINDS: dict[type, str] = {Instance: "an instance", Stream: "a stream", Platform: "a platform"}
_MOST_DIFFERENCES = 20


@dataclass(slots=True)
class Comparison:
    """Differences between a trace and the given document, and notes on parts that could not be compared."""

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def compare(trace: Trace, given: Given) -> Comparison:
    """Compare the document and draws in a trace with the given document.

    Run times that were drawn for a stream, and jobs that were drawn for a platform, are drawn again by the seed.

    Parameters
    ----------
    trace : Trace
        Its records are those of the format.
    given : Instance, Stream or Platform
        What should have been replayed.

    Raises
    ------
    SpotbagError
        If that is not of the kind that the trace is of.
    """
    kind = Platform if trace.of_platform else Stream if trace.of_stream else Instance
    if not isinstance(given, kind):
        raise SpotbagError(f"{given.name}: is {_KINDS[type(given)]}; the trace is to be compared with {_KINDS[kind]}")
    comparison = Comparison()
    differences = list(_differences(trace, given, comparison.notes))
    for where, message in differences[:_MOST_DIFFERENCES]:
        comparison.findings.append(Finding("instance", where, 1, "fields", message))
    more = len(differences) - _MOST_DIFFERENCES
    if more > 0:
        comparison.findings.append(Finding("instance", "", more, "fields", f"{counted(more, 'more field')} differ"))
    return comparison


def _differences(trace: Trace, given: Given, notes: list[str]) -> Iterator[tuple[str, str]]:
    """Yield where what differs, and how."""
    if isinstance(given, Platform):
        yield from _of_platform(trace, given)
    elif isinstance(given, Stream):
        yield from _of_stream(trace, given)
    else:
        held, expected = _content(Instance.from_document(trace.instance, "instance of the trace")), _content(given)
        for name in ("d_spot_s", "survive"):  # those of the plan, where the instance has none
            if getattr(given, name) is None:
                if held[name] is not None:
                    notes.append(f"{name} ({held[name]}) is not compared: {given.name} has none")
                del held[name], expected[name]
        yield from _between(held, expected, "", "the instance that is given")


def _of_platform(trace: Trace, given: Platform) -> Iterator[tuple[str, str]]:
    drawn, seed = trace.run["job_set"], trace.run["seed"]
    jobs = given.jobs if drawn is None else JobSet(**drawn).draw(given, seed)
    held = _content(Platform.from_document(trace.instance, "platform of the trace"))
    expected = _content(given.with_jobs(jobs))
    whose = "the platform that is given" + ("" if drawn is None else f", with {drawn['kind']} jobs of seed {seed}")
    yield from _between(held, expected, "", whose)


def _of_stream(trace: Trace, given: Stream) -> Iterator[tuple[str, str]]:
    held, digest, seed = trace.run["stream"], document_sha256(given.to_document()), trace.run["seed"]
    if (held["name"], held["sha256"]) != (given.name, digest):
        message = f"the trace is of stream {held['name']!r} with the digest {held['sha256'][:64]}"
        yield "stream", f"{message}; that of {given.name!r}, which is given, is {digest}"
    whose = f"the stream that is given, with run times of seed {seed}"
    sampled = _content(draw_jobs(given, seed).instance)
    yield from _between(_content(Instance.from_document(trace.instance, "instance of the trace")), sampled, "", whose)
    fields = ("id", "application", "submitted_s", "deadline_s", "n_tasks")
    jobs = [{name: getattr(job, name) for name in fields} for job in given.jobs_by_submission]
    yield from _between(trace.run["jobs"], jobs, "jobs", whose)
    billing = {"block_s": None, "from_request": False} | trace.run["billing"]
    yield from _between(billing, {"block_s": given.block_s, "from_request": True}, "billing", whose)


def _content(document: Given) -> dict[str, Any]:
    """Fields of a record, with those at their defaults."""
    return document.model_dump(mode="json")


def _between(held: Any, given: Any, path: str, whose: str) -> Iterator[tuple[str, str]]:
    """Yield the places at which two JSON values differ, and how."""
    if held == given:
        return
    if isinstance(held, Mapping) and isinstance(given, Mapping):
        for key in dict.fromkeys((*held, *given)):
            yield from _between(held.get(key), given.get(key), f"{path}.{key}".removeprefix("."), whose)
    elif _is_list(held) and _is_list(given) and len(held) == len(given):
        for place, (one, other) in enumerate(zip(held, given, strict=True)):
            yield from _between(one, other, f"{path}[{place}]", whose)
    else:
        yield path, f"{path} is {_shown(held)} in the trace, {_shown(given)} in {whose}"


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _shown(value: Any) -> str:
    if value is None:
        return "absent"
    return f"a list of {len(value):,}" if _is_list(value) else show_value(value)
