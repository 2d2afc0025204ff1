"""A hybrid platform: clusters and clouds below a tree of scheduling agents, and the malleable jobs sent to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import Field, ValidationError

from .errors import Issue
from .json_documents import INTEGRAL, Record, Text, WholeDocument, field_issues
from .problem import MAX_SECONDS, Name, Provenance, Seconds

PLATFORM_FORMAT: Literal["spotbag.platform/1"] = "spotbag.platform/1"
SLOT_S = 60
"""Clusters give their processors away by the minute (Caron & de Assuncao 2016, section VI)."""
VM_HOUR_S = 3600
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
    """How many processors are available from a time on.

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
        """Say what is wrong between the steps."""
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


Resource: TypeAlias = Annotated[DedicatedCluster | AllocatedCluster | Cloud, Field(discriminator="kind")]


class MalleableJob(Record):
    """A job that runs on any number of processors, in proportion faster (section III; speed-up is linear).

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
        """Say what is wrong between the times."""
        if self.deadline_s > self.arrival_s:
            return []
        rule = (
            f"must be after arrival_s ({self.arrival_s}): deadlines are not counted from the arrival, "
            "but on the same clock"
        )
        return [Issue("", rule, "deadline_s", self.deadline_s)]


class Platform(WholeDocument):
    """Resources, the tree of agents above them, and the jobs.

    Attributes
    ----------
    name : str
        What it is called.
    agents : tuple of Agent
        Inner nodes of the tree.
    resources : tuple of DedicatedCluster, AllocatedCluster or Cloud
        Leaves of the tree, in an order that decides ties.
    jobs : tuple of MalleableJob
        In any order; see `jobs_by_arrival`. There may be none: a platform alone.

    Raises
    ------
    InputError
        With everything that is wrong, each with place, value and rule.
    """

    most_entries: ClassVar[int] = MAX_PLATFORM_JOBS
    format: Literal["spotbag.platform/1"] = PLATFORM_FORMAT
    name: Name
    description: Text | None = None
    provenance: Provenance | None = None
    agents: Annotated[tuple[Agent, ...], Field(strict=False, min_length=1, max_length=MAX_NODES)]
    resources: Annotated[tuple[Resource, ...], Field(strict=False, min_length=1, max_length=MAX_NODES)]
    jobs: Annotated[tuple[MalleableJob, ...], Field(strict=False, max_length=MAX_PLATFORM_JOBS)] = ()

    @classmethod
    def issues_of_fields(cls, error: ValidationError, fields: Mapping[str, Any]) -> list[Issue]:
        """Say what is wrong with the fields, and between whatever is valid on its own."""
        from .platform_cross_checks import cross_issues_of_parts

        return field_issues(error, cls, fields) + cross_issues_of_parts(fields)

    def issues_between_fields(self) -> list[Issue]:
        """Say what is wrong between the parts."""
        from .platform_cross_checks import cross_issues

        return cross_issues(self)

    @cached_property
    def jobs_by_arrival(self) -> tuple[MalleableJob, ...]:
        """The jobs in the order in which they arrive; at the same second, in that of the file."""
        return tuple(sorted(self.jobs, key=lambda job: job.arrival_s))

    @cached_property
    def root(self) -> str:
        """Id of the agent to which jobs are submitted."""
        return next(agent.id for agent in self.agents if agent.parent is None)

    @cached_property
    def children(self) -> dict[str, list[str]]:
        """Ids of the agents and of the resources right below each agent, in the order of the file."""
        below: dict[str, list[str]] = {agent.id: [] for agent in self.agents}
        for node in (*self.agents, *self.resources):
            if node.parent is not None:
                below[node.parent].append(node.id)
        return below

    def with_jobs(self, jobs: Sequence[MalleableJob]) -> Self:
        """Return the platform with other jobs."""
        return self.replace(jobs=tuple(jobs))
