"""A hybrid platform: clusters and clouds below a tree of scheduling agents, and the malleable jobs sent to it.

Rules between its parts, each of which is valid on its own, stand beside the record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, TypeAdapter

from ...core.errors import Issue
from ...core.quantities import Name, is_name
from ...core.records import (
    FrozenDict,
    Numbered,
    Text,
    WholeDocument,
    concerns,
    duplicates,
    duplicates_anywhere,
    inner_issues,
    valid_parts,
)
from ...core.wording import near_names
from ..entries import Provenance
from .entries import MAX_NODES, MAX_PLATFORM_JOBS, Agent, AllocatedCluster, MalleableJob, Resource

MOST_LEVELS = 64
"""Levels of agents, the root's counted."""
_MOST_HINTS = 50
_SHOWN_ON_CYCLE = 8
_RESOURCES: TypeAdapter[Resource] = TypeAdapter(Resource)


@dataclass(frozen=True)
class _Node:
    """An agent or a resource: its place in the document, its id, and the agent that it says is above it."""

    where: str
    id: str
    parent: str | None


@dataclass(frozen=True)
class _Nodes:
    """The agents or the resources whose ids are valid, and whether all ids, and all parents of these, are."""

    nodes: Sequence[_Node]
    all_ids: bool = True
    all_parents: bool = True


def _nodes(document: Mapping[str, Any], key: str) -> _Nodes:
    """Agents or resources with valid ids, also those that are faulty elsewhere."""
    entries = document.get(key)
    if not isinstance(entries, list | tuple) or not entries:
        return _Nodes([], all_ids=False, all_parents=False)
    nodes, all_ids, all_parents = [], True, True
    for index, entry in enumerate(entries):
        node_id, parent = (_field(entry, name) for name in ("id", "parent"))
        valid_parent = parent if _is_name(parent) else None
        # The root, an agent, is the only node without a parent.
        all_parents &= valid_parent is not None or (parent is None and key == "agents")
        if _is_name(node_id):
            nodes.append(_Node(f"{key}[{index}]", node_id, valid_parent))
        else:
            all_ids = False
    return _Nodes(nodes, all_ids, all_parents)


def _field(entry: Any, name: str) -> Any:
    return entry.get(name) if isinstance(entry, Mapping) else getattr(entry, name, None)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and is_name(value)


def _tree_issues(agents: _Nodes, resources: _Nodes) -> Iterator[Issue]:
    nodes = [*agents.nodes, *resources.nodes]
    yield from duplicates_anywhere("id", ((node.where, node.id) for node in nodes))
    if agents.all_ids and agents.all_parents:
        yield from _root_issues(agents.nodes)
    if agents.all_ids:
        yield from _parent_issues(nodes, agents.nodes, resources.nodes)
    known = {None, *(agent.id for agent in agents.nodes)}
    if agents.all_parents and resources.all_parents and all(node.parent in known for node in nodes):
        # Else an agent may seem to have nothing below it only because something names its parent wrongly.
        yield from _empty_issues(agents.nodes, nodes)
    yield from _cycle_and_level_issues(agents.nodes)


def _root_issues(agents: Sequence[_Node]) -> Iterator[Issue]:
    roots = [agent for agent in agents if agent.parent is None]
    if not roots:
        yield Issue("", "have no root: one agent, to which jobs are submitted, must have no parent", "agents")
    for agent in roots[1:]:
        rule = f"is missing, as it is in {roots[0].where} {roots[0].id!r}: there is one root"
        yield Issue(agent.where, rule, "parent", item=agent.id)


def _empty_issues(agents: Sequence[_Node], nodes: Sequence[_Node]) -> Iterator[Issue]:
    parents = {node.parent for node in nodes}
    for agent in agents:
        if agent.id not in parents:
            rule = "has nothing below it: leave it out, or make it the parent of something"
            yield Issue(agent.where, rule, item=agent.id)


def _parent_issues(nodes: Sequence[_Node], agents: Sequence[_Node], resources: Sequence[_Node]) -> Iterator[Issue]:
    known = {agent.id: agent for agent in agents}
    leaves = {resource.id: resource for resource in resources}
    hints = 0
    for node in nodes:
        if node.parent is None or node.parent in known:
            continue
        if node.parent in leaves:
            rule = f"is a resource ({leaves[node.parent].where}): only agents have something below them"
        else:
            hints += 1
            rule = "is no agent" + (f" ({near_names(node.parent, known)})" if hints <= _MOST_HINTS else "")
        yield Issue(node.where, rule, "parent", node.parent, node.id)


def _cycle_and_level_issues(agents: Sequence[_Node]) -> Iterator[Issue]:
    """Cycles of agents, each reported once, and agents too far below the root."""
    by_id: dict[str, _Node] = {}
    for agent in agents:
        by_id.setdefault(agent.id, agent)
    level: dict[str, int] = {}  # 0 on a cycle, and below one: not on the way to any root
    for agent in by_id.values():
        path: list[_Node] = []
        on_path: dict[str, int] = {}
        here: _Node | None = agent
        while here is not None and here.id not in level and here.id not in on_path:
            on_path[here.id] = len(path)
            path.append(here)
            here = None if here.parent is None else by_id.get(here.parent)
        if here is not None and here.id in on_path:
            yield _cycle_issue(path[on_path[here.id] :])
            level |= dict.fromkeys(on_path, 0)
        for node in reversed(path):
            if node.id in level:
                break
            above = 0 if node.parent is None else level.get(node.parent, 0)
            level[node.id] = above + 1 if above or node.parent is None else 0
            if level[node.id] == MOST_LEVELS + 1:
                yield Issue(
                    node.where, f"is an agent of level {MOST_LEVELS + 1}, more than {MOST_LEVELS}", item=node.id
                )


def _cycle_issue(cycle: Sequence[_Node]) -> Issue:
    first = cycle[0]
    names = [repr(node.id) for node in cycle[:_SHOWN_ON_CYCLE]] + ["..."] * (len(cycle) > _SHOWN_ON_CYCLE)
    rule = f"closes a cycle: {' below '.join([*names, repr(first.id)])}; agents must form a tree"
    return Issue(first.where, rule, "parent", first.parent, first.id)


def _availability_issues(resources: Numbered[Resource]) -> Iterator[Issue]:
    for index, cluster in resources:
        if isinstance(cluster, AllocatedCluster):
            yield from inner_issues(f"resources[{index}]", cluster, cluster.id)


def _job_issues(jobs: Numbered[MalleableJob]) -> Iterator[Issue]:
    yield from duplicates("jobs", "id", ((index, job.id) for index, job in jobs))
    for index, job in jobs:
        yield from inner_issues(f"jobs[{index}]", job, job.id)


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
    def issues_of_parts(cls, fields: Mapping[str, Any]) -> Iterator[Issue]:
        """Faults between the fields of a faulty document that are valid on their own."""
        resources, _ = valid_parts(_RESOURCES, fields.get("resources"))
        jobs, _ = valid_parts(MalleableJob, fields.get("jobs"))
        yield from _tree_issues(_nodes(fields, "agents"), _nodes(fields, "resources"))
        yield from _availability_issues(resources)
        yield from _job_issues(jobs)

    def issues_of_changes(self, changed: Collection[str]) -> Iterator[Issue]:
        """Faults between the fields, as far as they depend on those that are changed."""
        if concerns(changed, "agents", "resources"):
            yield from _tree_issues(_nodes(dict(self), "agents"), _nodes(dict(self), "resources"))
        if concerns(changed, "resources"):
            yield from _availability_issues(list(enumerate(self.resources)))
        if concerns(changed, "jobs"):
            yield from _job_issues(list(enumerate(self.jobs)))

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
