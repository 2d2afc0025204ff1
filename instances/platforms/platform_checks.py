"""Rules between the parts of a hybrid platform, each of which is valid on its own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from ...core.errors import Issue
from ...core.quantities import is_name
from ...core.records import Numbered, concerns, duplicates, duplicates_anywhere, inner_issues, valid_parts
from ...core.wording import near_names
from .entries import Agent, AllocatedCluster, MalleableJob, Resource

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


def cross_issues(
    agents: Sequence[Agent],
    resources: Sequence[Resource],
    jobs: Sequence[MalleableJob],
    changed: Collection[str],
) -> Iterator[Issue]:
    """Faults between the valid parts of a platform, as far as they depend on the parts that are changed."""
    if concerns(changed, "agents", "resources"):
        agent_nodes = [_Node(f"agents[{index}]", agent.id, agent.parent) for index, agent in enumerate(agents)]
        resource_nodes = [_Node(f"resources[{index}]", node.id, node.parent) for index, node in enumerate(resources)]
        yield from _tree_issues(_Nodes(agent_nodes), _Nodes(resource_nodes))
    if concerns(changed, "resources"):
        yield from _availability_issues(list(enumerate(resources)))
    if concerns(changed, "jobs"):
        yield from _job_issues(list(enumerate(jobs)))


def cross_issues_of_parts(document: Mapping[str, Any]) -> Iterator[Issue]:
    """Faults between those parts of a faulty document that are valid on their own."""
    resources, _ = valid_parts(_RESOURCES, document.get("resources"))
    jobs, _ = valid_parts(MalleableJob, document.get("jobs"))
    yield from _tree_issues(_nodes(document, "agents"), _nodes(document, "resources"))
    yield from _availability_issues(resources)
    yield from _job_issues(jobs)


def _nodes(document: Mapping[str, Any], key: str) -> _Nodes:
    """Agents or resources with valid ids, also those that are faulty elsewhere."""
    entries = document.get(key)
    if not isinstance(entries, list | tuple) or not entries:
        return _Nodes([], all_ids=False, all_parents=False)
    nodes, all_ids, all_parents = [], True, True
    for index, entry in enumerate(entries):
        node_id, parent = (_field(entry, name) for name in ("id", "parent"))
        valid_parent = parent if _is_name(parent) else None
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
