"""A stream of jobs: bags of tasks that are submitted one after the other, each with its own deadline."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from ...core.bill import Bill
from ...core.errors import Issue, input_error, show_value
from ...core.quantities import Name
from ...core.records import INTEGRAL, Text, WholeDocument, first_issues
from ...core.wording import near_names
from ..entries import Provenance
from .entries import MAX_BLOCK_S, MAX_JOB_TASKS, MAX_JOB_VM_TYPES, Application, Job, StreamVmType
from .run_times import is_the_same_for_all_seeds
from .stream_checks import cross_issues, cross_issues_of_parts

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
    def issues_of_parts(cls, fields: Mapping[str, Any]) -> list[Issue]:
        """Faults between the fields that are valid on their own."""
        return first_issues(cross_issues_of_parts(fields))

    def issues_of_changes(self, changed: Collection[str]) -> list[Issue]:
        """Faults between the parts, as far as they depend on the parts that are changed."""
        issues = cross_issues(self.block_s, self.vm_types, self.applications, self.jobs, changed=changed)
        return first_issues(issues)

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
        if name not in self._applications:
            raise input_error(
                self.name, f"has no application {show_value(name)} ({near_names(name, self._applications)})"
            )
        return self._applications[name]

    def job(self, job_id: str) -> Job:
        """Return a job by its id.

        Raises
        ------
        InputError
            If there is none of that id; close ids are suggested.
        """
        if job_id not in self._jobs:
            raise input_error(self.name, f"has no job {show_value(job_id)} ({near_names(job_id, self._jobs)})")
        return self._jobs[job_id]

    def average_s(self, application: str, vm_type: str) -> Fraction | None:
        """Return the exact mean of an application's run times on a VM type; None if it cannot run there.

        Numbers count as they are written: 0.1 is one tenth.

        Raises
        ------
        InputError
            If there is no such application or VM type; close names are suggested.
        """
        averages = self._averages_s.get(self.application(application).name, {})
        if vm_type not in self.type_names:
            raise input_error(
                self.name, f"has no VM type {show_value(vm_type)} ({near_names(vm_type, self.type_names)})"
            )
        return averages.get(vm_type)

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
