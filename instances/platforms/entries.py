"""Entries of a platform document: agents, clusters, clouds, malleable jobs."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from ...core.bill import Bill
from ...core.errors import Issue
from ...core.quantities import MAX_SECONDS, SECONDS_PER_HOUR, Name, Seconds
from ...core.records import INTEGRAL, Record

SLOT_S = 60
"""Clusters give their processors away by the minute (Caron & de Assuncao 2016, section VI)."""
VM_HOUR_S = SECONDS_PER_HOUR
"""Cloud machines are paid by the started hour."""
MAX_PLATFORM_JOBS = 1_000_000
MAX_PROCESSORS = 10**6
MAX_NODES = 100_000
MAX_MACHINES_PER_JOB = 10_000
"""A cloud runs no job on more machines at once; the paper has no limit, and no job that would need as many."""
MAX_SIZE = 10**9
HIGHEST_PRIORITY = 10**6

Processors: TypeAlias = Annotated[int, Field(ge=1, le=MAX_PROCESSORS), INTEGRAL]
Cost: TypeAlias = Annotated[float, Field(ge=0, le=10**9)]


class Agent(Record):
    """A scheduling agent: it asks those below it for candidates, and hands the best of them up.

    Attributes
    ----------
    id : str
        Unique among agents and resources.
    parent : str, optional
        The agent above it; the one agent without is the root, to which jobs are submitted.
    """

    id: Name
    parent: Name | None = None


class DedicatedCluster(Record):
    """A cluster that is free of charge and always there (section II.A).

    Attributes
    ----------
    id : str
        Unique among agents and resources.
    kind : "dedicated"
        What it is.
    parent : str
        The agent above it.
    processors : int
        All of the same speed.
    """

    id: Name
    kind: Literal["dedicated"]
    parent: Name
    processors: Processors


class AvailabilityStep(Record):
    """Number of available processors from a time on.

    Attributes
    ----------
    from_s : int
        Since when: a whole minute.
    processors : int
        How many.
    """

    from_s: Annotated[Seconds, Field(multiple_of=SLOT_S)]
    processors: Annotated[int, Field(ge=0, le=MAX_PROCESSORS), INTEGRAL]


class AllocatedCluster(Record):
    """A cluster whose processors are reserved by the minute, for money (sections II.B and IV.B).

    Attributes
    ----------
    id : str
        Unique among agents and resources.
    kind : "allocated"
        What it is.
    parent : str
        The agent above it.
    cost_per_processor_minute : float
        The paper's unit of cost is that of its clusters: 1.
    availability : tuple of AvailabilityStep
        Processors that can be reserved; the first step is from 0 s on, the last holds for ever unless all of them
        are repeated.
    repeat_s : int, optional
        After how many seconds the steps begin again, e.g. 86400 for a day: whole minutes, after the last step.
    """

    id: Name
    kind: Literal["allocated"]
    parent: Name
    cost_per_processor_minute: Cost = 1
    availability: Annotated[tuple[AvailabilityStep, ...], Field(strict=False, min_length=1)]
    repeat_s: Annotated[int, Field(ge=SLOT_S, le=MAX_SECONDS, multiple_of=SLOT_S), INTEGRAL] | None = None

    def issues_between_fields(self) -> list[Issue]:
        """Faults between the steps of availability."""
        steps = self.availability
        issues = []
        if steps[0].from_s != 0:
            issues.append(
                Issue(
                    "",
                    "must be 0: the first step tells what is available at first",
                    "availability[0].from_s",
                    steps[0].from_s,
                )
            )
        for number, (before, step) in enumerate(pairwise(steps), 1):
            if step.from_s <= before.from_s:
                rule = f"must be after that of the step before it ({before.from_s})"
                issues.append(Issue("", rule, f"availability[{number}].from_s", step.from_s))
        # Replays go on until all jobs have ended.
        if self.repeat_s is None and steps[-1].processors == 0:
            rule = "is 0 in the last step, which holds for ever: jobs would never end (repeat_s repeats the steps)"
            issues.append(Issue("", rule, f"availability[{len(steps) - 1}].processors", 0))
        if self.repeat_s is not None:
            if self.repeat_s <= steps[-1].from_s:
                rule = f"must be after the last step ({steps[-1].from_s})"
                issues.append(Issue("", rule, "repeat_s", self.repeat_s))
            if not any(step.processors for step in steps):
                issues.append(Issue("", "has no processors in any step: jobs would never end", "availability"))
        return issues


class Cloud(Record):
    """A cloud of equal machines, paid by the started hour (sections II.C and IV.C).

    There are as many as are asked for, but no more than `MAX_MACHINES_PER_JOB` for a job.

    Attributes
    ----------
    id : str
        Unique among agents and resources.
    kind : "cloud"
        What it is.
    parent : str
        The agent above it.
    processors_per_vm : int
        Of each machine, of the speed of those of the clusters.
    cost_per_vm_hour : float
        In the unit of cost; the paper's 960 are 2 for a processor-minute.
    """

    id: Name
    kind: Literal["cloud"]
    parent: Name
    processors_per_vm: Processors = 8
    cost_per_vm_hour: Cost = 960

    @property
    def bill(self) -> Bill:
        """Bill of a machine, from its launch."""
        return Bill(self.cost_per_vm_hour, VM_HOUR_S, VM_HOUR_S)


Resource: TypeAlias = Annotated[DedicatedCluster | AllocatedCluster | Cloud, Field(discriminator="kind")]


class MalleableJob(Record):
    """A job that runs on any number of processors, in proportion faster, as in Algorithms 1 to 3: speed-up is linear.

    Attributes
    ----------
    id : str
        Unique.
    size_processor_minutes : int
        Its work: minutes on one processor.
    priority : int
        A larger number goes first.
    arrival_s : int
        When it becomes known.
    deadline_s : int
        When it should have ended, on the same clock.
    budget : float
        What it may cost, in the unit of cost.
    """

    id: Name
    size_processor_minutes: Annotated[int, Field(ge=1, le=MAX_SIZE), INTEGRAL]
    priority: Annotated[int, Field(ge=0, le=HIGHEST_PRIORITY), INTEGRAL] = 0
    arrival_s: Seconds = 0
    deadline_s: Annotated[int, Field(ge=1, le=MAX_SECONDS), INTEGRAL]
    budget: Annotated[float, Field(ge=0, le=10**15)]

    def issues_between_fields(self) -> list[Issue]:
        """Fault of a deadline before the arrival."""
        if self.deadline_s > self.arrival_s:
            return []
        rule = (
            f"must be after arrival_s ({self.arrival_s}): deadlines are not counted from the arrival, "
            "but on the same clock"
        )
        return [Issue("", rule, "deadline_s", self.deadline_s)]
