"""Hypothesis strategies: small hybrid platforms with resources of every kind, trees of agents, and jobs."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from spotbag.instances import Platform


@st.composite
def _resource(draw: st.DrawFn, name: str, parent: str) -> dict[str, Any]:
    node: dict[str, Any] = {"id": name, "kind": draw(st.sampled_from(["dedicated", "allocated", "cloud"]))}
    node["parent"] = parent
    if node["kind"] == "dedicated":
        return node | {"processors": draw(st.integers(1, 8))}
    if node["kind"] == "cloud":
        return node | draw(st.sampled_from([{}, {"processors_per_vm": 2, "cost_per_vm_hour": 240.5}]))
    minutes = sorted(draw(st.sets(st.integers(1, 20), max_size=3)))
    steps = [{"from_s": 60 * minute, "processors": draw(st.integers(0, 4))} for minute in (0, *minutes)]
    steps[-1]["processors"] += 1
    if draw(st.booleans()):
        node["repeat_s"] = steps[-1]["from_s"] + 60 * draw(st.integers(1, 10))
    if draw(st.booleans()):
        node["cost_per_processor_minute"] = draw(st.sampled_from([0, 1, 2.5]))
    return node | {"availability": steps}


@st.composite
def _job(draw: st.DrawFn, name: str) -> dict[str, Any]:
    arrival_s = draw(st.integers(0, 600))
    return {
        "id": name,
        "size_processor_minutes": draw(st.integers(1, 40)),
        "priority": draw(st.integers(0, 5)),
        "arrival_s": arrival_s,
        "deadline_s": arrival_s + draw(st.integers(1, 1200)),
        "budget": draw(st.sampled_from([0, 10, 300.5, 10**6])),
    }


@st.composite
def platform_documents(draw: st.DrawFn, most_resources: int = 5, most_jobs: int = 4) -> dict[str, Any]:
    """Valid documents of the format ``spotbag.platform/1``."""
    agents: list[dict[str, Any]] = [{"id": "root"}]
    for number in range(draw(st.integers(0, 3))):
        agents.append({"id": f"agent{number}", "parent": draw(st.sampled_from(agents))["id"]})
    parents = [agent.get("parent") for agent in agents]
    places = [agent["id"] for agent in agents if agent["id"] not in parents]  # they need something below them
    spare = max(most_resources - len(places), 0)
    places += draw(st.lists(st.sampled_from([agent["id"] for agent in agents]), max_size=spare))
    document: dict[str, Any] = {
        "format": "spotbag.platform/1",
        "name": "random",
        "agents": draw(st.permutations(agents)),
        "resources": [draw(_resource(f"resource{number}", parent)) for number, parent in enumerate(places)],
    }
    n_jobs = draw(st.integers(0, most_jobs))
    if n_jobs:
        document["jobs"] = [draw(_job(f"job{number}")) for number in range(n_jobs)]
    return document


def random_platforms(most_resources: int = 5, most_jobs: int = 4) -> st.SearchStrategy[Platform]:
    """Valid hybrid platforms."""
    return platform_documents(most_resources, most_jobs).map(
        lambda document: Platform.from_document(document, "random")
    )
