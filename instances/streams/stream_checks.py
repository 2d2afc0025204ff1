"""Rules between the parts of a stream of jobs, each of which is valid on its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...core.errors import Issue
from ...core.quantities import MAX_SECONDS, SECONDS_PER_HOUR, is_name
from ...core.records import Numbered, concerns, duplicates, inner_issues, valid_parts
from ...core.wording import near_names
from .entries import MAX_BLOCK_S, MAX_JOB_TASKS, Application, Job, StreamVmType
from .run_times import SequenceRunTimes

_USD_PER_HOUR = (1e-9, 1e6)
"""Prices by the hour that an instance can hold."""
_MOST_HINTS = 50


def cross_issues(
    block_s: int,
    vm_types: Sequence[StreamVmType],
    applications: Sequence[Application],
    jobs: Sequence[Job],
    changed: Collection[str],
) -> Iterator[Issue]:
    """Faults between the valid parts of a stream, as far as they depend on the parts that are changed."""
    if concerns(changed, "vm_types", "block_s"):
        yield from _type_issues(list(enumerate(vm_types)), block_s)
    if concerns(changed, "applications", "vm_types"):
        yield from _application_issues(list(enumerate(applications)), [vm_type.name for vm_type in vm_types])
    if concerns(changed, "jobs", "applications"):
        yield from _job_issues(list(enumerate(jobs)), [application.name for application in applications])
        yield from _sequence_issues(list(enumerate(jobs)), applications)


def cross_issues_of_parts(document: Mapping[str, Any]) -> Iterator[Issue]:
    """Faults between those parts of a faulty document that are valid on their own."""
    vm_types, _ = valid_parts(StreamVmType, document.get("vm_types"))
    applications, _ = valid_parts(Application, document.get("applications"))
    jobs, _ = valid_parts(Job, document.get("jobs"))
    block_s = document.get("block_s")
    valid_block = isinstance(block_s, int) and not isinstance(block_s, bool) and 1 <= block_s <= MAX_BLOCK_S
    yield from _type_issues(vm_types, block_s if valid_block else None)
    yield from _application_issues(applications, _names(document.get("vm_types")))
    yield from _job_issues(jobs, _names(document.get("applications")))
    yield from _sequence_issues(jobs, [application for _, application in applications])


def _names(entries: Any) -> list[str] | None:
    """Names of all entries of a list, also of entries that are faulty elsewhere; None if a name is faulty."""
    if not isinstance(entries, list | tuple) or not entries:
        return None
    names = [entry.get("name") if isinstance(entry, Mapping) else getattr(entry, "name", None) for entry in entries]
    return [str(name) for name in names] if all(isinstance(name, str) and is_name(name) for name in names) else None


def _type_issues(vm_types: Numbered[StreamVmType], block_s: int | None) -> Iterator[Issue]:
    yield from duplicates("vm_types", "name", ((index, vm_type.name) for index, vm_type in vm_types))
    if block_s is None:
        return
    low, high = _USD_PER_HOUR
    for index, vm_type in vm_types:
        per_hour = vm_type.price_usd_per_block * SECONDS_PER_HOUR / block_s
        if not low <= per_hour <= high:
            rule = f"is {per_hour:g} $ an hour in blocks of {block_s} s; must be between {low:g} and {high:g}"
            yield Issue(f"vm_types[{index}]", rule, "price_usd_per_block", vm_type.price_usd_per_block, vm_type.name)


def _application_issues(applications: Numbered[Application], type_names: list[str] | None) -> Iterator[Issue]:
    yield from duplicates("applications", "name", ((index, application.name) for index, application in applications))
    known, hints = set(type_names or ()), 0
    for index, application in applications:
        where = f"applications[{index}]"
        yield from inner_issues(where, application, application.name)
        if type_names is None:
            continue
        for name in application.runtime_s:
            if name not in known:
                hints += 1
                hint = f" ({near_names(name, type_names)})" if hints <= _MOST_HINTS else ""
                yield Issue(where, f"names no VM type{hint}", f"runtime_s.{name}", item=application.name)


def _job_issues(jobs: Numbered[Job], application_names: list[str] | None) -> Iterator[Issue]:
    total = sum(job.n_tasks for _, job in jobs)
    if total > MAX_JOB_TASKS:
        yield Issue("", f"have {total} tasks in all, more than {MAX_JOB_TASKS}", "jobs")
    yield from duplicates("jobs", "id", ((index, job.id) for index, job in jobs))
    known, hints = set(application_names or ()), 0
    first_s = min((job.submitted_s for _, job in jobs), default=0)
    for index, job in jobs:
        where = f"jobs[{index}]"
        yield from inner_issues(where, job, job.id)
        if job.deadline_s - first_s > MAX_SECONDS:
            rule = f"is more than {MAX_SECONDS} s after the first arrival (submitted_s {first_s})"
            yield Issue(where, rule, "deadline_s", job.deadline_s, job.id)
        if application_names is not None and job.application not in known:
            hints += 1
            hint = f" ({near_names(job.application, application_names)})" if hints <= _MOST_HINTS else ""
            yield Issue(where, f"is no application{hint}", "application", job.application, job.id)


def _sequence_issues(jobs: Numbered[Job], applications: Iterable[Application]) -> Iterator[Issue]:
    """Jobs with more tasks than there are run times in a sequence that they take."""
    shortest = {
        application.name: min(
            (
                (len(run_times.sequence_s), name)
                for name, run_times in application.runtime_s.items()
                if isinstance(run_times, SequenceRunTimes)
            ),
            default=None,
        )
        for application in applications
    }
    for index, job in jobs:
        found = shortest.get(job.application)
        if found is not None and job.n_tasks > found[0]:
            rule = f"is more than the {found[0]} run times of {job.application!r} on {found[1]} (sequence_s)"
            yield Issue(f"jobs[{index}]", rule, "n_tasks", job.n_tasks, job.id)
