"""Trees of agents: the graph, depths, and other trees above the same resources."""

from __future__ import annotations

import math
from itertools import pairwise

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spotbag.core.errors import InputError
from spotbag.instances.platforms.agent_trees import depth_of, many_resources, platform_tree, regrouped
from spotbag.instances.platforms.platform import Platform
from spotbag.instances.platforms.platform_files import library_platform
from tests.helpers.random_platforms import random_platforms


@given(random_platforms())
@settings(max_examples=15, deadline=None)
def test_the_graph_is_the_tree_of_the_platform(platform: Platform) -> None:
    tree = platform_tree(platform)
    assert networkx.is_arborescence(tree)
    assert networkx.topological_sort(tree).__next__() == platform.root
    assert {name: list(tree.successors(name)) for name in platform.children} == {
        name: list(below) for name, below in platform.children.items()
    }
    leaves = [record for name, record in tree.nodes(data="record") if tree.out_degree(name) == 0]
    assert leaves == list(platform.resources)
    assert depth_of(platform) == networkx.dag_longest_path_length(tree)


@given(st.integers(1, 60), st.integers(2, 9))
@settings(max_examples=25, deadline=None)
def test_regrouped_trees_are_balanced_and_as_low_as_can_be(number: int, fan_out: int) -> None:
    flat = many_resources(number, 0, 0)
    platform = regrouped(flat, fan_out)
    assert depth_of(flat) == 1
    assert [resource.id for resource in platform.resources] == [resource.id for resource in flat.resources]
    levels = next(levels for levels in range(1, 10) if fan_out**levels >= number)
    assert depth_of(platform) == levels
    tree = platform_tree(platform)
    generations = [list(level) for level in networkx.topological_generations(tree)]
    assert generations[-1] == [resource.id for resource in platform.resources]
    for level, below in pairwise(generations):
        assert len(level) == math.ceil(len(below) / fan_out)
        counts = [tree.out_degree(name) for name in level]
        assert max(counts) <= min(fan_out, min(counts) + 1)
    # Below each agent lie neighbours of the platform's order.
    places = {resource.id: place for place, resource in enumerate(platform.resources)}
    for agent in platform.agents:
        below = sorted(places[name] for name in networkx.descendants(tree, agent.id) if name in places)
        assert below == list(range(below[0], below[-1] + 1))


@given(random_platforms(), st.integers(2, 4))
@settings(max_examples=12, deadline=None)
def test_a_regrouped_platform_is_the_same_but_for_its_agents(platform: Platform, fan_out: int) -> None:
    other = regrouped(platform, fan_out)
    assert other.jobs == platform.jobs
    for resource, before in zip(other.resources, platform.resources, strict=True):
        assert resource.model_copy(update={"parent": before.parent}) == before
    assert Platform.parse(other.to_text()) == other
    assert regrouped(other, fan_out) == other


def test_a_tree_of_five_by_twos() -> None:
    platform = many_resources(2, 2, 1, fan_out=2)
    assert {name: list(below) for name, below in platform.children.items()} == {
        "root": ["agent-1", "agent-2"],
        "agent-1": ["agent-3", "agent-4"],
        "agent-2": ["agent-5"],
        "agent-3": ["dedicated-1", "allocated-1"],
        "agent-4": ["cloud-1", "dedicated-2"],
        "agent-5": ["allocated-2"],
    }


def test_agents_do_not_take_the_names_of_resources() -> None:
    nodes = [{"id": name, "kind": "cloud", "parent": "top"} for name in ("root", "agent-2", "c")]
    platform = regrouped(Platform(name="x", agents=[{"id": "top"}], resources=nodes), 2)
    assert [agent.id for agent in platform.agents] == ["agent-1", "agent-3", "agent-4"]
    assert depth_of(platform) == 2


def test_the_kinds_take_turns() -> None:
    platform = many_resources(1, 3, 2, processors=16)
    assert [resource.id for resource in platform.resources] == [
        "dedicated-1", "allocated-1", "cloud-1", "allocated-2", "cloud-2", "allocated-3",
    ]  # fmt: skip
    own, rented, cloud = platform.resources[:3]
    caron = {resource.kind: resource for resource in library_platform("caron/hybrid").resources}
    for resource in (own, rented):
        assert resource.model_dump(exclude={"id"}) == regrouped_to(caron[resource.kind].model_dump(exclude={"id"}), 16)
    assert cloud.model_dump(exclude={"id"}) == caron["cloud"].model_dump(exclude={"id"})


def regrouped_to(resource: dict[str, object], processors: int) -> dict[str, object]:
    """A cluster with so many processors in place of its own."""
    if "processors" in resource:
        return resource | {"processors": processors}
    return resource | {"availability": ({"from_s": 0, "processors": processors},)}


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="fan_out 1 must be 2 or more"):
        regrouped(many_resources(1, 1, 1), 1)
    with pytest.raises(
        InputError, match=r"2 errors\n  n_dedicated -1 must be from 0 to 100000\n  n_clouds 100001 must"
    ):
        many_resources(-1, 0, 100_001)
    with pytest.raises(InputError, match=r"resources .* must have at least 1 entry"):
        many_resources(0, 0, 0)
    with pytest.raises(InputError, match="processors 0 must be greater"):
        many_resources(1, 0, 0, processors=0)
