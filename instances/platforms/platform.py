"""A hybrid platform: clusters and clouds below a tree of scheduling agents, and the malleable jobs sent to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from ...core.errors import Issue
from ...core.quantities import Name
from ...core.records import FrozenDict, Text, WholeDocument, first_issues
from ..entries import Provenance
from .entries import MAX_NODES, MAX_PLATFORM_JOBS, Agent, MalleableJob, Resource
from .platform_checks import cross_issues, cross_issues_of_parts

PLATFORM_FORMAT: Literal["spotbag.platform/1"] = "spotbag.platform/1"


class Platform(WholeDocument):
    """Resources, the tree of agents above them, and the jobs.

    Attributes
    ----------
    name : str
        What it is called.
    description : str, optional
        For people.
    provenance : Provenance, optional
        Where it comes from.
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

    FORMAT: ClassVar[str] = PLATFORM_FORMAT
    SCHEMA: ClassVar[str] = "platform.schema.json"
    most_entries: ClassVar[int] = MAX_PLATFORM_JOBS
    format: Literal["spotbag.platform/1"] = PLATFORM_FORMAT
    name: Name
    description: Text | None = None
    provenance: Provenance | None = None
    agents: Annotated[tuple[Agent, ...], Field(strict=False, min_length=1, max_length=MAX_NODES)]
    resources: Annotated[tuple[Resource, ...], Field(strict=False, min_length=1, max_length=MAX_NODES)]
    jobs: Annotated[tuple[MalleableJob, ...], Field(strict=False, max_length=MAX_PLATFORM_JOBS)] = ()

    @classmethod
    def issues_of_parts(cls, fields: Mapping[str, Any]) -> list[Issue]:
        """Faults between the fields that are valid on their own."""
        return first_issues(cross_issues_of_parts(fields))

    def issues_of_changes(self, changed: Collection[str]) -> list[Issue]:
        """Faults between the parts, as far as they depend on the parts that are changed."""
        issues = cross_issues(self.agents, self.resources, self.jobs, changed=changed)
        return first_issues(issues)

    @cached_property
    def jobs_by_arrival(self) -> tuple[MalleableJob, ...]:
        """The jobs in the order in which they arrive; at the same second, in that of the file."""
        return tuple(sorted(self.jobs, key=lambda job: job.arrival_s))

    @cached_property
    def root(self) -> str:
        """Id of the agent to which jobs are submitted."""
        return next(agent.id for agent in self.agents if agent.parent is None)

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """Ids of the agents and of the resources right below each agent, in the order of the file."""
        below: dict[str, list[str]] = {agent.id: [] for agent in self.agents}
        for node in (*self.agents, *self.resources):
            if node.parent is not None:
                below[node.parent].append(node.id)
        return FrozenDict((agent, tuple(nodes)) for agent, nodes in below.items())

    def with_jobs(self, jobs: Sequence[MalleableJob]) -> Self:
        """Return the platform with other jobs."""
        return self.replace(jobs=tuple(jobs))
