"""A stream of jobs: bags of tasks that are submitted one after the other, each with its own deadline.

Rules between its parts, each of which is valid on its own, stand beside the record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from ...core.bill import Bill
from ...core.errors import Issue, input_error, show_value
from ...core.quantities import MAX_SECONDS, SECONDS_PER_HOUR, Name, is_name
from ...core.records import (
    INTEGRAL,
    Numbered,
    Text,
    WholeDocument,
    concerns,
    duplicates,
    inner_issues,
    valid_parts,
)
from ...core.wording import near_names
from ..entries import Provenance
from .entries import MAX_BLOCK_S, MAX_JOB_TASKS, MAX_JOB_VM_TYPES, Application, Job, StreamVmType
from .run_times import SequenceRunTimes, is_the_same_for_all_seeds

_USD_PER_HOUR = (1e-9, 1e6)
"""Prices by the hour that an instance can hold."""
_MOST_HINTS = 50


def _names(entries: Any) -> list[str] | None:
    """Names of all entries of a list, also of entries that are faulty elsewhere; None if a name is faulty."""
    if not isinstance(entries, list | tuple) or not entries:
        return None
    names = [entry.get("name") if isinstance(entry, Mapping) else getattr(entry, "name", None) for entry in entries]
    return [str(name) for name in names] if all(isinstance(name, str) and is_name(name) for name in names) else None


def _type_issues(vm_types: Numbered[StreamVmType], block_s: int | None) -> Iterator[Issue]:
    yield from duplicates("vm_types", "name", ((index, vm_type.name) for index, vm_type in vm_types))
    # Prices by the hour follow from the block; where that is wrong, they would all seem so.
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
        # Names are compared only where all of them are right, else one fault would bring many.
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


JOBS_FORMAT: Literal["spotbag.jobs/1"] = "spotbag.jobs/1"

_StreamName = Annotated[Name, Field(max_length=170)]


class Stream(WholeDocument):
    """Jobs, their applications, and the VM types that can be rented for them.

    Attributes
    ----------
    name : str
        What it is called.
    description : str, optional
        For people.
    provenance : Provenance, optional
        Where it comes from.
    block_s : int
        Length of a time block in which VMs are billed (Theta).
    creation_overhead_s : int
        From the creation of a VM, when its billing begins, until it is ready (beta).
    vm_types : tuple of StreamVmType
        In an order that decides ties.
    applications : tuple of Application
        What the jobs execute.
    jobs : tuple of Job
        In any order; see `jobs_by_submission`.

    Raises
    ------
    InputError
        With everything that is wrong, each with place, value and rule.
    """

    FORMAT: ClassVar[str] = JOBS_FORMAT
    SCHEMA: ClassVar[str] = "stream.schema.json"
    most_entries: ClassVar[int] = MAX_JOB_TASKS
    format: Literal["spotbag.jobs/1"] = JOBS_FORMAT
    name: _StreamName
    description: Text | None = None
    provenance: Provenance | None = None
    block_s: Annotated[int, Field(ge=1, le=MAX_BLOCK_S), INTEGRAL]
    creation_overhead_s: Annotated[int, Field(ge=0, le=MAX_BLOCK_S), INTEGRAL] = 0
    vm_types: Annotated[tuple[StreamVmType, ...], Field(strict=False, min_length=1, max_length=MAX_JOB_VM_TYPES)]
    applications: Annotated[tuple[Application, ...], Field(strict=False, min_length=1)]
    jobs: Annotated[tuple[Job, ...], Field(strict=False, min_length=1)]

    @classmethod
    def issues_of_parts(cls, fields: Mapping[str, Any]) -> Iterator[Issue]:
        """Faults between the fields of a faulty document that are valid on their own."""
        vm_types, _ = valid_parts(StreamVmType, fields.get("vm_types"))
        applications, _ = valid_parts(Application, fields.get("applications"))
        jobs, _ = valid_parts(Job, fields.get("jobs"))
        block_s = fields.get("block_s")
        valid_block = isinstance(block_s, int) and not isinstance(block_s, bool) and 1 <= block_s <= MAX_BLOCK_S
        yield from _type_issues(vm_types, block_s if valid_block else None)
        yield from _application_issues(applications, _names(fields.get("vm_types")))
        yield from _job_issues(jobs, _names(fields.get("applications")))
        yield from _sequence_issues(jobs, [application for _, application in applications])

    def issues_of_changes(self, changed: Collection[str]) -> Iterator[Issue]:
        """Faults between the fields, as far as they depend on those that are changed."""
        if concerns(changed, "vm_types", "block_s"):
            yield from _type_issues(list(enumerate(self.vm_types)), self.block_s)
        if concerns(changed, "applications", "vm_types"):
            yield from _application_issues(list(enumerate(self.applications)), [*self.type_names])
        if concerns(changed, "jobs", "applications"):
            yield from _job_issues(list(enumerate(self.jobs)), [*self._applications])
            yield from _sequence_issues(list(enumerate(self.jobs)), self.applications)

    @cached_property
    def type_names(self) -> tuple[str, ...]:
        """Names of the VM types."""
        return tuple(vm_type.name for vm_type in self.vm_types)

    @cached_property
    def jobs_by_submission(self) -> tuple[Job, ...]:
        """The jobs in the order in which they are submitted, their times counted from the first arrival.

        At the same second, they stand in the order of the file.
        """
        first_s = min(job.submitted_s for job in self.jobs)
        return tuple(job.since(first_s) for job in sorted(self.jobs, key=lambda job: job.submitted_s))

    @cached_property
    def n_tasks(self) -> int:
        """Number of tasks of all jobs."""
        return sum(job.n_tasks for job in self.jobs)

    @cached_property
    def is_the_same_for_all_seeds(self) -> bool:
        """True if no run time of any job is drawn at random."""
        used = {job.application for job in self.jobs}
        return all(
            is_the_same_for_all_seeds(run_times)
            for name in used
            for run_times in self.application(name).runtime_s.values()
        )

    def application(self, name: str) -> Application:
        """Return an application by its name.

        Raises
        ------
        InputError
            If there is none of that name; close names are suggested.
        """
        return self._applications[self._known("application", name, self._applications)]

    def job(self, job_id: str) -> Job:
        """Return a job by its id.

        Raises
        ------
        InputError
            If there is none of that id; close ids are suggested.
        """
        return self._jobs[self._known("job", job_id, self._jobs)]

    def average_s(self, application: str, vm_type: str) -> Fraction | None:
        """Return the exact mean of an application's run times on a VM type; None if it cannot run there.

        Numbers count as they are written: 0.1 is one tenth.

        Raises
        ------
        InputError
            If there is no such application or VM type; close names are suggested.
        """
        averages = self._averages_s[self.application(application).name]
        return averages.get(self._known("VM type", vm_type, self.type_names))

    def _known(self, what: str, name: str, known: Collection[str]) -> str:
        """Return a name of something that the stream has; refuse any other."""
        if name not in known:
            raise input_error(self.name, f"has no {what} {show_value(name)} ({near_names(name, known)})")
        return name

    @cached_property
    def _applications(self) -> dict[str, Application]:
        return {application.name: application for application in self.applications}

    @cached_property
    def _jobs(self) -> dict[str, Job]:
        return {job.id: job for job in self.jobs}

    @cached_property
    def _averages_s(self) -> dict[str, dict[str, Fraction]]:
        return {
            application.name: {name: run_times.average_s for name, run_times in application.runtime_s.items()}
            for application in self.applications
        }


def bills_of(stream: Stream) -> list[Bill]:
    """Return the bill of a VM of each type: from its request, by blocks, one at least."""
    block_s = stream.block_s
    return [Bill(vm_type.price_usd_per_block, block_s, block_s, least_s=block_s) for vm_type in stream.vm_types]
