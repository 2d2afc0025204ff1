"""Entries of a stream document: VM types, applications, jobs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ...core.errors import Issue
from ...core.quantities import Name, Price
from ...core.records import FROZEN, INTEGRAL, Record, Text
from .run_times import RunTimes

MAX_JOB_TASKS = 1_000_000
MAX_JOB_VM_TYPES = 1_000
MAX_BLOCK_S = 10**8
LATEST_S = 2**53
"""Last moment of the clock of the jobs, which may have begun at any time: epoch seconds are read."""

# So long that the ids of the tasks, and the names of drawn instances, are names as well.
_JobId = Annotated[Name, Field(max_length=190)]


class StreamVmType(Record):
    """A kind of VM that is billed by the started block. Each executes one task at a time, whatever its cores.

    Attributes
    ----------
    name : str
        E.g. ``m3.medium``.
    price_usd_per_block : float
        Price of one VM for one block of `Stream.block_s`.
    vcpus : int
        Virtual cores; for people, the run times tell what they are worth.
    memory_mb : float, optional
        Memory; for people.
    """

    name: Name
    price_usd_per_block: Annotated[Price, Field(description="the price of one block of block_s seconds")]
    vcpus: Annotated[int, Field(ge=1, le=4096), INTEGRAL] = 1
    memory_mb: Annotated[float, Field(ge=1, le=10**9)] | None = None


class Application(Record):
    """Program of the tasks of some jobs, with its run times.

    Attributes
    ----------
    name : str
        Unique.
    description : str, optional
        For people.
    runtime_s : dict
        VM type name to the distribution of the tasks' run times there. A type left out cannot run it.
    """

    name: Name
    description: Text | None = None
    runtime_s: Annotated[dict[Name, RunTimes], Field(min_length=1), FROZEN]

    def issues_between_fields(self) -> list[Issue]:
        """Faults between the parameters of the distributions."""
        return [
            Issue("", issue.rule, f"runtime_s.{name}.{issue.field}", issue.value)
            for name, run_times in self.runtime_s.items()
            for issue in run_times.issues_between_fields()
        ]


class Job(Record):
    """A bag of tasks of one application.

    Attributes
    ----------
    id : str
        Unique. Its tasks are called ``id#1`` .. ``id#n``.
    application : str
        Name of the application.
    submitted_s : int
        When the job becomes known, on a clock that may have begun at any time.
    deadline_s : int
        When its tasks should have ended, on the same clock.
    n_tasks : int
        Number of tasks.
    """

    id: _JobId
    application: Name
    submitted_s: Annotated[int, Field(ge=0, le=LATEST_S), INTEGRAL]
    deadline_s: Annotated[int, Field(ge=1, le=LATEST_S), INTEGRAL]
    n_tasks: Annotated[int, Field(ge=1, le=MAX_JOB_TASKS), INTEGRAL]

    def since(self, origin_s: int) -> Job:
        """Return the job with its times counted from a moment."""
        if not origin_s:
            return self
        return self.model_copy(
            update={"submitted_s": self.submitted_s - origin_s, "deadline_s": self.deadline_s - origin_s}
        )

    def issues_between_fields(self) -> list[Issue]:
        """Fault of a deadline before the submission."""
        if self.deadline_s > self.submitted_s:
            return []
        rule = (
            f"must be after submitted_s ({self.submitted_s}): deadlines are not counted from the submission, "
            "but on the same clock"
        )
        return [Issue("", rule, "deadline_s", self.deadline_s)]
