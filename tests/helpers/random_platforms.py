"""Hypothesis strategies: small hybrid platforms with resources of every kind, trees of agents, and jobs."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from spotbag.instances.platforms.platform import Platform


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


def crowded_platform(random: np.random.Generator) -> Platform:
    """Draw a platform on which jobs get into each other's way.

    Small clusters, some with minutes without processors and with repeated ones; clouds of small machines, or none;
    arrivals that coincide, few priorities, tight deadlines and budgets, prices that binary numbers do not hit.
    """
    has_clouds = random.random() < 0.6
    kinds = ["dedicated", "allocated", "allocated", "cloud"][: 4 if has_clouds else 3]
    agents = [{"id": "root"}] + [{"id": name, "parent": "root"} for name in ("left", "right")]
    count = int(random.integers(2, 6))
    resources = [
        _crowded_resource(random, str(random.choice(kinds)), f"r{number}", agents[min(number + 1, 2)]["id"])
        for number in range(count)
    ]
    span_s = int(random.choice([300, 3600, 20_000]))
    jobs = [_crowded_job(random, f"j{number}", span_s) for number in range(int(random.integers(1, 25)))]
    document = {"format": "spotbag.platform/1", "name": "crowded", "agents": agents, "resources": resources}
    return Platform.from_document(document | {"jobs": jobs}, "crowded")


def _crowded_resource(random: np.random.Generator, kind: str, name: str, parent: str) -> dict[str, Any]:
    node: dict[str, Any] = {"id": name, "kind": kind, "parent": parent}
    if kind == "dedicated":
        return node | {"processors": int(random.integers(1, 5))}
    if kind == "cloud":
        price = float(random.choice([0.1, 60, 240.5]))
        return node | {"processors_per_vm": int(random.integers(1, 4)), "cost_per_vm_hour": price}
    minutes = [0, *sorted({int(minute) for minute in random.integers(1, 30, size=random.integers(0, 4))})]
    steps = [{"from_s": 60 * minute, "processors": int(random.integers(0, 4))} for minute in minutes]
    steps[int(random.integers(len(steps)))]["processors"] += 1
    if random.random() < 0.5:
        node["repeat_s"] = steps[-1]["from_s"] + 60 * int(random.integers(1, 10))
    else:
        steps[-1]["processors"] = max(steps[-1]["processors"], 1)
    return node | {"cost_per_processor_minute": float(random.choice([0, 0.1, 1])), "availability": steps}


def _crowded_job(random: np.random.Generator, name: str, span_s: int) -> dict[str, Any]:
    arrival_s = int(random.integers(span_s))
    if random.random() < 0.6:
        arrival_s -= arrival_s % int(random.choice([60, 600]))
    size = int(random.choice([random.integers(1, 10), random.integers(1, 60), random.integers(60, 400)]))
    return {
        "id": name,
        "size_processor_minutes": size,
        "priority": int(random.integers(4)),
        "arrival_s": arrival_s,
        "deadline_s": arrival_s + int(random.choice([1, random.integers(1, 60 * size + 1), 20 * size])),
        "budget": float(random.choice([0, 0.3, round(size * random.uniform(0, 4), 2), 10**6])),
    }


def crowded_platforms() -> st.SearchStrategy[Platform]:
    """Platforms on which jobs get into each other's way; see `crowded_platform`."""
    return st.integers(0, 2**32).map(lambda seed: crowded_platform(np.random.default_rng(seed)))
