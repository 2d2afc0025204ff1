"""Trees of scheduling agents: as a graph, their depth, other trees above the same resources."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, count, zip_longest
from typing import TYPE_CHECKING

from ...core.errors import InputError, Issue
from .entries import MAX_NODES, Agent, AllocatedCluster, AvailabilityStep, Cloud, DedicatedCluster, Resource
from .platform import Platform

if TYPE_CHECKING:
    import networkx


def platform_tree(platform: Platform) -> networkx.DiGraph:
    """Return the agents and resources of a platform as a graph.

    Returns
    -------
    networkx.DiGraph
        A node for the id of each agent and each resource, with its ``record`` as attribute; an edge from each agent to
        all right below it, in the order of the file.
    """
    import networkx

    tree = networkx.DiGraph()
    for node in (*platform.agents, *platform.resources):
        tree.add_node(node.id, record=node)
    tree.add_edges_from((agent, below) for agent, all_below in platform.children.items() for below in all_below)
    return tree


def depth_of(platform: Platform) -> int:
    """Return the levels of agents above the deepest resource: 1 if all hang below the root.

    It is the maximum leaf depth of section V of Caron & de Assuncao 2016.
    """
    import networkx

    # The deepest node is a resource: no agent is without anything below it.
    return int(networkx.dag_longest_path_length(platform_tree(platform)))


def regrouped(platform: Platform, fan_out: int) -> Platform:
    """Return a platform with the same resources and jobs below another tree, to see what depth costs.

    The tree is balanced: all resources are equally deep, there are as few levels and as few agents on each as can be,
    and what is right below the agents of a level differs by at most one. The resources keep their order.

    Parameters
    ----------
    platform : Platform
        Its own agents are left out.
    fan_out : int
        Most agents and resources right below any agent, 2 or more. From the number of resources on, all of them hang
        below the root.

    Returns
    -------
    Platform
        Its agents are called ``root`` and ``agent-1``, ``agent-2``, ... as far as no resource is called so.

    Raises
    ------
    InputError
        If the fan-out is less than 2.
    """
    if fan_out < 2:
        raise InputError("regrouped platform", [Issue("", "must be 2 or more", "fan_out", fan_out)])
    taken = {resource.id for resource in platform.resources}
    names = (name for name in chain(["root"], (f"agent-{number}" for number in count(1))) if name not in taken)
    n_resources = len(platform.resources)
    numbers = [n_resources]  # of what is on each level, from the resources up
    while numbers[-1] > fan_out:
        numbers.append(-(-numbers[-1] // fan_out))
    agents = [Agent(id=next(names))]
    above = agents
    # From the root down: an agent must name one that is there.
    for number in reversed(numbers[1:]):
        above = [Agent(id=next(names), parent=_parent(above, place, number)) for place in range(number)]
        agents += above
    resources = (
        resource.model_copy(update={"parent": _parent(above, place, n_resources)})
        for place, resource in enumerate(platform.resources)
    )
    return platform.replace(agents=tuple(agents), resources=tuple(resources))


def _parent(above: Sequence[Agent], place: int, number: int) -> str:
    """Id of the agent above what is at a place of a level, of which all agents above have an equal share."""
    return above[place * len(above) // number].id


def many_resources(
    n_dedicated: int, n_allocated: int, n_clouds: int, processors: int = 64, fan_out: int | None = None
) -> Platform:
    """Return a platform of many equal resources without jobs.

    Parameters
    ----------
    n_dedicated, n_allocated, n_clouds : int
        How many resources of each kind. They take turns in the platform: ``dedicated-1``, ``allocated-1``,
        ``cloud-1``, ``dedicated-2``, ...
    processors : int
        Of each cluster; processor-minutes, cloud machines and their costs are those of Caron & de Assuncao 2016.
    fan_out : int, optional
        Most agents and resources right below any agent; see `regrouped`. One agent is above all if absent.

    Raises
    ------
    InputError
        If a number is out of range, or there are no resources at all.
    """
    numbers = {"n_dedicated": n_dedicated, "n_allocated": n_allocated, "n_clouds": n_clouds}
    issues = [
        Issue("", f"must be from 0 to {MAX_NODES}", name, number)
        for name, number in numbers.items()
        if not 0 <= number <= MAX_NODES
    ]
    if issues:
        raise InputError("platform of many resources", issues)
    steps = (AvailabilityStep(from_s=0, processors=processors),)
    kinds: list[list[Resource]] = [
        [
            DedicatedCluster(id=f"dedicated-{number}", kind="dedicated", parent="root", processors=processors)
            for number in range(1, n_dedicated + 1)
        ],
        [
            AllocatedCluster(id=f"allocated-{number}", kind="allocated", parent="root", availability=steps)
            for number in range(1, n_allocated + 1)
        ],
        [Cloud(id=f"cloud-{number}", kind="cloud", parent="root") for number in range(1, n_clouds + 1)],
    ]
    resources = [resource for turn in zip_longest(*kinds) for resource in turn if resource is not None]
    name = f"{n_dedicated} dedicated, {n_allocated} allocated, {n_clouds} clouds"
    platform = Platform(name=name, agents=(Agent(id="root"),), resources=tuple(resources))
    return platform if fan_out is None else regrouped(platform, fan_out)
